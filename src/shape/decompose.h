/* src/shape/decompose.h - overlapping convex decomposition of a closed surface. */
#ifndef PERPI_DECOMPOSE_H
#define PERPI_DECOMPOSE_H

#include "shape/polyhedron.h"

/* Limits of the decomposition. */
#define PERPI_DECOMPOSE_TRIANGLES 2000
#define PERPI_DECOMPOSE_PIECES 400

/* The union of the pieces is the solid; neighbours overlap, or a third piece covers their seam.
 * def: vertices and triangles, closed, counter-clockwise as seen from outside. *pieces and what it
 * points to belong to the caller (perpi_decompose_free). */
PERP_NODISCARD perp_status perpi_decompose(perp_context* context, const perp_shape_def* def,
                                           perpi_polyhedron*** pieces, int32_t* count);
void perpi_decompose_free(perp_context* context, perpi_polyhedron** pieces, int32_t count);

#endif
