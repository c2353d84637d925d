/* src/shape/outline.h - decomposition of a polygon with inward corners into convex pieces. */
#ifndef PERPI_OUTLINE_H
#define PERPI_OUTLINE_H

#include "base/context.h"

typedef struct perpi_pieces {
    double* xy;     /* the pieces one after another, counter-clockwise */
    bool* inner;    /* per point: no part of the edge that begins there is on the outline */
    int32_t* start; /* count + 1, in points */
    int32_t count;
} perpi_pieces;

/* v: n points of a simple polygon, counter-clockwise, no three neighbours on a line. At most one piece
 * more than there are inward corners. overlap: the pieces overlap so that every point inside the
 * outline is inside a piece, not just on the border of two; else they only touch. Either way their union
 * is the outline, up to 1e-9 of its size. PERP_ERROR_INPUT if it cannot be done. */
PERP_NODISCARD perp_status perpi_outline_split(perp_context* context, const double* v, int32_t n,
                                               bool overlap, perpi_pieces* pieces);
void perpi_pieces_free(perp_context* context, perpi_pieces* pieces);

/* The first pair of edges (by the vertex they begin at) that meet although they are not neighbours, or
 * come nearer than `near`. False: the polygon is simple. */
bool perpi_outline_crosses(const double* v, int32_t n, double near, int32_t edge[2]);

#endif
