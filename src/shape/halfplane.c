/* src/shape/halfplane.c - the solid half-plane n.x <= offset; offset is a distance, along the unit normal. */
#include "shape/builtin.h"

static perp_status halfplane_check(perp_context* context, const perp_shape_def* def)
{
    return perpi_check_plane(context, def, 2);
}

static double halfplane_reach(const perpi_shape* shape)
{
    (void)shape;
    return INFINITY;
}

const perpi_shape_ops perpi_shape_halfplane = {
    .type = PERP_SHAPE_HALFPLANE,
    .name = "halfplane",
    .dimension = 2,
    .summary = "normal (points out of the solid), offset (distance from the origin along it)",
    .bounded = false,
    .check = halfplane_check,
    .mass = NULL,
    .reach = halfplane_reach,
    .bounds = NULL,
};
