/* src/shape/superquadric.c - (|x/a|^r + |y/b|^r)^(t/r) + |z/c|^t <= 1, exponents r, t. */
#include "shape/builtin.h"
#include "shape/smooth.h"

static perp_status superquadric_check(perp_context* context, const perp_shape_def* def)
{
    perp_status status = perpi_check_radii(context, def->radii, 3);
    if (status == PERP_OK) {
        status = perpi_check_exponent(context, "exponents/0", def->exponents[0]);
    }
    return status == PERP_OK ? perpi_check_exponent(context, "exponents/1", def->exponents[1])
                             : status;
}

static double beta(double p, double q)
{
    return exp(lgamma(p) + lgamma(q) - lgamma(p + q));
}

/* The section at height c zeta is the superellipse shrunk by k = (1 - zeta^t)^(1/t), so everything is
 * a moment of that times the integral of k^2, k^4 or zeta^2 k^2 over zeta: Euler's beta function. */
static perpi_mass superquadric_mass(const perpi_shape* shape)
{
    const vec3 a = shape->radii;
    const double r = shape->exponent[0], t = shape->exponent[1];
    const double area = a.x * a.y * perpi_superellipse_moment(r, 1, 1);
    const double second = a.x * a.y * perpi_superellipse_moment(r, 3, 1);
    const double k2 = 2.0 * a.z / t * beta(1.0 / t, 1.0 + 2.0 / t);
    const double k4 = 2.0 * a.z / t * beta(1.0 / t, 1.0 + 4.0 / t);
    const double z2 = 2.0 * a.z / t * beta(3.0 / t, 1.0 + 2.0 / t);
    const double x = second * a.x * a.x * k4, y = second * a.y * a.y * k4,
                 z = area * a.z * a.z * z2;
    return (perpi_mass){.mass = area * k2,
                        .inertia = {{{y + z, 0, 0}, {0, x + z, 0}, {0, 0, x + y}}}};
}

static double superquadric_reach(const perpi_shape* shape)
{
    const vec3 a = shape->radii;
    return perpi_power_reach(shape->exponent[1], perpi_power_reach(shape->exponent[0], a.x, a.y),
                             a.z);
}

const perpi_shape_ops perpi_shape_superquadric = {
    .type = PERP_SHAPE_SUPERQUADRIC,
    .name = "superquadric",
    .dimension = 3,
    .summary = "radii, exponents r, t: (|x/a|^r + |y/b|^r)^(t/r) + |z/c|^t <= 1",
    .bounded = true,
    .check = superquadric_check,
    .mass = superquadric_mass,
    .reach = superquadric_reach,
    .bounds = perpi_smooth_bounds,
};
