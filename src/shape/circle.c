/* src/shape/circle.c - a disc in the plane. */
#include "shape/builtin.h"

static perp_status circle_check(perp_context* context, const perp_shape_def* def)
{
    return perpi_check_positive(context, "radius", def->radius);
}

static perpi_mass circle_mass(const perpi_shape* shape)
{
    const double r = shape->radius;
    const double m = PERPI_PI * r * r;
    return (perpi_mass){.mass = m, .inertia.m[2][2] = 0.5 * m * r * r};
}

static double circle_reach(const perpi_shape* shape)
{
    return shape->radius;
}

static perpi_bounds circle_bounds(const perpi_shape* shape, const perpi_pose* pose)
{
    return perpi_bounds_around(pose->x, v3(shape->radius, shape->radius, 0.0));
}

const perpi_shape_ops perpi_shape_circle = {
    .type = PERP_SHAPE_CIRCLE,
    .name = "circle",
    .dimension = 2,
    .summary = "radius",
    .bounded = true,
    .check = circle_check,
    .mass = circle_mass,
    .reach = circle_reach,
    .bounds = circle_bounds,
};
