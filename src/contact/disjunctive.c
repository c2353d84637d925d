/* src/contact/disjunctive.c - a vertex near a corner: one edge of the corner or the other must hold.
 *
 * Source     [B09 3.2], the first non-convex formulation: (3.3)-(3.5)
 * Notation   paper psi_i, p_in -> h u_n, p_n of the members of a group
 * Departure  the thesis expresses max{psi_1, psi_2} by complementarity with the variables c, d, g, h
 *            and a large constant gamma, (3.6)-(3.15). A group of contacts (perp/problem.h) is that law
 *            itself: 0 <= p_i perp max_j u_j + max(0, -u_i) >= 0 is (3.14) with d - gamma + 1 and h_i
 *            put in. So nothing needs tuning, and each contact brings its friction.
 *            tests/physics/disjunctive_test.c solves both and compares.
 *            (3.4), (3.5) also let an edge push that the vertex could touch only from inside its own
 *            body: a box on a plate, its corner over the plate's, could be held there by the plate's
 *            side. Such edges are secondary members without impulse, as in `lnc`, which is this law in
 *            its later form: the two models have the same groups.
 */
#include "contact/models.h"
#include "contact/rules.h"

const perpi_contact_model_ops perpi_contact_model_disjunctive = {
    .name = "disjunctive",
    .summary = "a vertex near a corner keeps off one edge or the other (planar)",
    .rule = &perpi_rule_lnc,
    .simpler = &perpi_contact_model_standard,
    .groups = true,
    .planar = true,
    .build = perpi_contact_build,
};
