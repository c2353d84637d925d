/* src/shape/ellipsoid.c - half axes along x, y and z. */
#include "shape/builtin.h"
#include "shape/smooth.h"

static perp_status ellipsoid_check(perp_context* context, const perp_shape_def* def)
{
    return perpi_check_radii(context, def->radii, 3);
}

static perpi_mass ellipsoid_mass(const perpi_shape* shape)
{
    const vec3 a = shape->radii;
    const double m = 4.0 / 3.0 * PERPI_PI * a.x * a.y * a.z;
    const double x = m / 5.0 * a.x * a.x, y = m / 5.0 * a.y * a.y, z = m / 5.0 * a.z * a.z;
    return (perpi_mass){.mass = m, .inertia = {{{y + z, 0, 0}, {0, x + z, 0}, {0, 0, x + y}}}};
}

static double ellipsoid_reach(const perpi_shape* shape)
{
    const vec3 a = shape->radii;
    const double most = a.x > a.y ? a.x : a.y;
    return a.z > most ? a.z : most;
}

const perpi_shape_ops perpi_shape_ellipsoid = {
    .type = PERP_SHAPE_ELLIPSOID,
    .name = "ellipsoid",
    .dimension = 3,
    .summary = "radii (half axes along x, y, z)",
    .bounded = true,
    .check = ellipsoid_check,
    .mass = ellipsoid_mass,
    .reach = ellipsoid_reach,
    .bounds = perpi_smooth_bounds,
};
