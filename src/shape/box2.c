/* src/shape/box2.c - a rectangle in the plane, centred on its frame; "box" in a planar scene. */
#include "shape/builtin.h"

static perp_status box2_check(perp_context* context, const perp_shape_def* def)
{
    return perpi_check_size(context, def->size, 2);
}

static perpi_mass box2_mass(const perpi_shape* shape)
{
    const vec3 h = shape->half;
    const double m = 4.0 * h.x * h.y;
    return (perpi_mass){.mass = m, .inertia.m[2][2] = m / 3.0 * (h.x * h.x + h.y * h.y)};
}

static double box2_reach(const perpi_shape* shape)
{
    return v3_norm(shape->half);
}

static perpi_bounds box2_bounds(const perpi_shape* shape, const perpi_pose* pose)
{
    const vec3 h = shape->half;
    const mat3* R = &pose->R;
    return perpi_bounds_around(pose->x, v3(fabs(R->m[0][0]) * h.x + fabs(R->m[0][1]) * h.y,
                                           fabs(R->m[1][0]) * h.x + fabs(R->m[1][1]) * h.y, 0.0));
}

const perpi_shape_ops perpi_shape_box2 = {
    .type = PERP_SHAPE_BOX2,
    .name = "box",
    .dimension = 2,
    .summary = "size (full edge lengths: x, y)",
    .bounded = true,
    .check = box2_check,
    .mass = box2_mass,
    .reach = box2_reach,
    .bounds = box2_bounds,
};
