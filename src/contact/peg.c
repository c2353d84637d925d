/* src/contact/peg.c - polytope exact geometry: all features within the margin enter, and
 * the solution of the problem selects the active ones.
 *
 * Source     [W14 4.2 to 4.4], algorithms 8 to 17; the laws of a group are those of perp/problem.h
 * Departure  which features form a group is derived from the difference of the two polytopes: see
 *            peg_polygons.c and peg_polyhedra.c. Every member of a group may have an impulse
 *            (4.10)-(4.13): with a single primary (4.14) the impulse can act along one edge while another
 *            one closes.
 *            Cylinders and smooth bodies: src/collide/narrow/choice.h. Shapes without corners or
 *            rims have the contacts of `standard`: their constraints are not disjunctive.
 */
#include "contact/models.h"
#include "contact/rules.h"

const perpi_candidate_rule perpi_rule_peg = {
    .near = 2.0,
    .orders = true,
    .polygons = perpi_peg_polygons,
    .polyhedra = perpi_peg_polyhedra,
    .flat = perpi_flat_prisms,
};

const perpi_contact_model_ops perpi_contact_model_peg = {
    .name = "peg",
    .summary =
        "polytope exact geometry: bodies pass each other's corners freely, and never through",
    .rule = &perpi_rule_peg,
    .simpler = &perpi_contact_model_lnc,
    .groups = true,
    .single_primary = true,
    .build = perpi_contact_build,
};
