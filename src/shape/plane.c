/* src/shape/plane.c - the solid half-space n.x <= offset; offset is a distance, along the unit normal. */
#include "shape/builtin.h"

static perp_status plane_check(perp_context* context, const perp_shape_def* def)
{
    return perpi_check_plane(context, def, 3);
}

static double plane_reach(const perpi_shape* shape)
{
    (void)shape;
    return INFINITY;
}

const perpi_shape_ops perpi_shape_plane = {
    .type = PERP_SHAPE_PLANE,
    .name = "plane",
    .dimension = 3,
    .summary = "normal (points out of the solid), offset (distance from the origin along it)",
    .bounded = false,
    .check = plane_check,
    .mass = NULL,
    .reach = plane_reach,
    .bounds = NULL,
};
