/* src/contact/polyhedra.h - queries of PEG and LNC about feature pairs of polyhedra. */
#ifndef PERPI_CONTACT_POLYHEDRA_H
#define PERPI_CONTACT_POLYHEDRA_H

#include "collide/polytope/polyhedron.h"

/* ---- the far side: polyhedra_far.c -------------------------------------------------------- */

/* Facets (a mask) behind which the origin lies, by more than -floor, and which face away from the
 * direction of separation. */
uint64_t perpi_meeting_far_side(perpi_meeting* m, double floor);
/* After that, if there are any: tangent planes from the origin, moved out by `out`, to B - A whose
 * edge the origin can reach; at most PERPI_PLANES. Returns their number. */
int32_t perpi_meeting_planes(const perpi_meeting* m, perpi_facet* out);

/* ---- faces flat on each other: flat_faces.c ------------------------------------------------ */

enum { PERPI_FLAT_ROWS = 16 };
/* If all these facets have one normal, and it is that of a face of each body: the facets at the
 * corners of the intersection of the two faces, whose rows are equivalent to the groups. They take
 * the normal of that face, a->flat. Returns their number; 0: it is not such a contact. */
int32_t perpi_flat_rows(perpi_polyhedron_answer* a, uint64_t members, int32_t* row);

/* Before feature pairs are searched: two right prisms whose bases lie flat on each other, and overlap by
 * more than the step can move them sideways. Adds the facets of the rows; false: it is not such a
 * contact, and facets may have been added. */
bool perpi_flat_prisms(struct perpi_polyhedron_answer* a);

/* ---- orders: turn_cells.c ---------------------------------------------------------
 *
 * The signs of the products (bit i: product i is positive) that a rotation |d| <= theta beyond the
 * expected one can produce, each once, at most PERPI_TURN_CELLS. Returns their number. */
int32_t perpi_turn_cells(const perpi_product* product, int32_t count, int32_t end, double theta,
                         uint64_t* cell);

#endif
