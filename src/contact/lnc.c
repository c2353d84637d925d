/* src/contact/lnc.c - locally non-convex: of the edges near a vertex one must hold.
 *
 * Source     [W14 (4.2)-(4.5)] after Nguyen: I-constraints (4.10)-(4.13) alone; edges without
 *            applicability or feasibility are the secondary members
 * Departure  none. It never traps a vertex at a corner, but lets two corners pass through each other
 *            (figure 4.4): kept as the reference for PEG, and as its fallback.
 */
#include "contact/models.h"
#include "contact/rules.h"

const perpi_candidate_rule perpi_rule_lnc = {
    .near = 1.0,
    .polygons = perpi_lnc_polygons,
    .polyhedra = perpi_lnc_polyhedra,
};

const perpi_contact_model_ops perpi_contact_model_lnc = {
    .name = "lnc",
    .summary = "locally non-convex: of the edges near a vertex one must hold",
    .rule = &perpi_rule_lnc,
    .simpler = &perpi_contact_model_standard,
    .groups = true,
    .single_primary = true,
    .build = perpi_contact_build,
};
