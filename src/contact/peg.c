/* src/contact/peg.c - polytope exact geometry: all features within reach enter, and the problem
 * decides which of them act.
 *
 * Source     [W14 4.2 to 4.4], algorithms 8 to 17; the laws of a group are those of perp/problem.h
 * Departure  which features form a group is told by the difference of the two polytopes: see
 *            src/collide/polygon.c and polyhedron.c. Every member of a group may push (4.10)-(4.13): the reduction to a
 *            single primary (4.14) can push along one edge while another one closes.
 *            Cylinders and smooth bodies: src/collide/choice.h. Shapes without corners or rims meet as in
 *            `standard`: nothing about them is disjunctive.
 */
#include "contact/models.h"

const perpi_contact_model_ops perpi_contact_peg = {
    .name = "peg",
    .summary =
        "polytope exact geometry: bodies pass each other's corners freely, and never through",
    .rule = PERPI_TOUCH_PEG,
    .groups = true,
    .single_primary = true,
    .build = perpi_contact_build,
};
