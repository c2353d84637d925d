/* src/shape/superellipse.c - |x/a|^n + |y/b|^n <= 1 in the plane. */
#include "shape/builtin.h"
#include "shape/smooth.h"

static perp_status superellipse_check(perp_context* context, const perp_shape_def* def)
{
    const perp_status status = perpi_check_radii(context, def->radii, 2);
    return status == PERP_OK ? perpi_check_exponent(context, "exponent", def->exponents[0])
                             : status;
}

static perpi_mass superellipse_mass(const perpi_shape* shape)
{
    const double a = shape->radii.x, b = shape->radii.y, n = shape->exponent[0];
    const double second = a * b * perpi_superellipse_moment(n, 3, 1);
    return (perpi_mass){.mass = a * b * perpi_superellipse_moment(n, 1, 1),
                        .inertia.m[2][2] = second * (a * a + b * b)};
}

static double superellipse_reach(const perpi_shape* shape)
{
    return perpi_power_reach(shape->exponent[0], shape->radii.x, shape->radii.y);
}

const perpi_shape_ops perpi_shape_superellipse = {
    .type = PERP_SHAPE_SUPERELLIPSE,
    .name = "superellipse",
    .dimension = 2,
    .summary = "radii, exponent n: |x/a|^n + |y/b|^n <= 1",
    .bounded = true,
    .check = superellipse_check,
    .mass = superellipse_mass,
    .reach = superellipse_reach,
    .bounds = perpi_smooth_bounds,
};
