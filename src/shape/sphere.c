/* src/shape/sphere.c */
#include "shape/builtin.h"

static perp_status sphere_check(perp_context* context, const perp_shape_def* def)
{
    return perpi_check_positive(context, "radius", def->radius);
}

static perpi_mass sphere_mass(const perpi_shape* shape)
{
    const double r = shape->radius;
    const double m = 4.0 / 3.0 * PERPI_PI * r * r * r;
    const double I = 0.4 * m * r * r;
    return (perpi_mass){.mass = m, .inertia = {{{I, 0, 0}, {0, I, 0}, {0, 0, I}}}};
}

static double sphere_reach(const perpi_shape* shape)
{
    return shape->radius;
}

static perpi_bounds sphere_bounds(const perpi_shape* shape, const perpi_pose* pose)
{
    return perpi_bounds_around(pose->x, v3(shape->radius, shape->radius, shape->radius));
}

const perpi_shape_ops perpi_shape_sphere = {
    .type = PERP_SHAPE_SPHERE,
    .name = "sphere",
    .dimension = 3,
    .summary = "radius",
    .bounded = true,
    .check = sphere_check,
    .mass = sphere_mass,
    .reach = sphere_reach,
    .bounds = sphere_bounds,
};
