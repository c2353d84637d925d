/* src/shape/cylinder.c - a solid cylinder about z, flat at both ends, centred on its frame. */
#include "shape/builtin.h"

static perp_status cylinder_check(perp_context* context, const perp_shape_def* def)
{
    const perp_status status = perpi_check_positive(context, "radius", def->radius);
    return status != PERP_OK ? status : perpi_check_positive(context, "length", def->length);
}

static perpi_mass cylinder_mass(const perpi_shape* shape)
{
    const double r = shape->radius, L = shape->length;
    const double m = PERPI_PI * r * r * L;
    const double I_x = m * (r * r / 4.0 + L * L / 12.0), I_z = 0.5 * m * r * r;
    return (perpi_mass){.mass = m, .inertia = {{{I_x, 0, 0}, {0, I_x, 0}, {0, 0, I_z}}}};
}

static double cylinder_reach(const perpi_shape* shape)
{
    return sqrt(shape->radius * shape->radius + 0.25 * shape->length * shape->length);
}

/* A disc with unit normal z extends r sqrt(1 - z_i^2) along axis i; the root is computed from the
 * other two entries, which is exact where z is parallel to i. */
static perpi_bounds cylinder_bounds(const perpi_shape* shape, const perpi_pose* pose)
{
    const vec3 z = m3_column(pose->R, 2);
    const double l = 0.5 * shape->length, r = shape->radius;
    const vec3 half = {l * fabs(z.x) + r * sqrt(z.y * z.y + z.z * z.z),
                       l * fabs(z.y) + r * sqrt(z.x * z.x + z.z * z.z),
                       l * fabs(z.z) + r * sqrt(z.x * z.x + z.y * z.y)};
    return perpi_bounds_around(pose->x, half);
}

const perpi_shape_ops perpi_shape_cylinder = {
    .type = PERP_SHAPE_CYLINDER,
    .name = "cylinder",
    .dimension = 3,
    .summary = "radius, length (axis z)",
    .bounded = true,
    .check = cylinder_check,
    .mass = cylinder_mass,
    .reach = cylinder_reach,
    .bounds = cylinder_bounds,
};
