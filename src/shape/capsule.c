/* src/shape/capsule.c - a cylinder about z with a half sphere on either end. */
#include "shape/builtin.h"

static perp_status capsule_check(perp_context* context, const perp_shape_def* def)
{
    const perp_status status = perpi_check_positive(context, "radius", def->radius);
    return status != PERP_OK ? status : perpi_check_not_negative(context, "length", def->length);
}

/* The two half spheres have together the mass m_s. About the transverse axis through the centre of
 * its full sphere a half sphere has 2/5 m r^2; its own centre of mass lies 3/8 r further out, so
 * moving the axis from there by L/2 adds m (L^2/4 + 2 (L/2) (3/8) r). */
static perpi_mass capsule_mass(const perpi_shape* shape)
{
    const double r = shape->radius, L = shape->length;
    const double m_c = PERPI_PI * r * r * L;
    const double m_s = 4.0 / 3.0 * PERPI_PI * r * r * r;
    const double I_z = 0.5 * m_c * r * r + 0.4 * m_s * r * r;
    const double I_x =
        m_c * (r * r / 4.0 + L * L / 12.0) + m_s * (0.4 * r * r + L * L / 4.0 + 3.0 / 8.0 * L * r);
    return (perpi_mass){.mass = m_c + m_s, .inertia = {{{I_x, 0, 0}, {0, I_x, 0}, {0, 0, I_z}}}};
}

static double capsule_reach(const perpi_shape* shape)
{
    return 0.5 * shape->length + shape->radius;
}

static perpi_bounds capsule_bounds(const perpi_shape* shape, const perpi_pose* pose)
{
    const vec3 z = m3_column(pose->R, 2);
    const double l = 0.5 * shape->length, r = shape->radius;
    return perpi_bounds_around(pose->x,
                               v3(l * fabs(z.x) + r, l * fabs(z.y) + r, l * fabs(z.z) + r));
}

const perpi_shape_ops perpi_shape_capsule = {
    .type = PERP_SHAPE_CAPSULE,
    .name = "capsule",
    .dimension = 3,
    .summary = "radius, length (axis z, without the caps)",
    .bounded = true,
    .check = capsule_check,
    .mass = capsule_mass,
    .reach = capsule_reach,
    .bounds = capsule_bounds,
};
