/* src/shape/box.c - a cuboid, centred on its frame. */
#include "shape/builtin.h"
#include "shape/polyhedron.h"

static perp_status box_check(perp_context* context, const perp_shape_def* def)
{
    return perpi_check_size(context, def->size, 3);
}

static perp_status box_make(perp_context* context, const perp_shape_def* def, perpi_shape* shape)
{
    (void)def;
    return perpi_polyhedron_box(context, shape->half, &shape->polyhedron);
}

static perpi_mass box_mass(const perpi_shape* shape)
{
    const vec3 h = shape->half;
    const double m = 8.0 * h.x * h.y * h.z;
    const double xx = h.x * h.x, yy = h.y * h.y, zz = h.z * h.z;
    const double k = m / 3.0;
    return (perpi_mass){
        .mass = m,
        .inertia = {{{k * (yy + zz), 0, 0}, {0, k * (xx + zz), 0}, {0, 0, k * (xx + yy)}}}};
}

static double box_reach(const perpi_shape* shape)
{
    return v3_norm(shape->half);
}

static perpi_bounds box_bounds(const perpi_shape* shape, const perpi_pose* pose)
{
    const vec3 h = shape->half;
    double e[3];
    for (int i = 0; i < 3; ++i) {
        const double* R_i = pose->R.m[i];
        e[i] = fabs(R_i[0]) * h.x + fabs(R_i[1]) * h.y + fabs(R_i[2]) * h.z;
    }
    return perpi_bounds_around(pose->x, v3_from(e));
}

const perpi_shape_ops perpi_shape_box = {
    .type = PERP_SHAPE_BOX,
    .name = "box",
    .dimension = 3,
    .summary = "size (full edge lengths: x, y, z)",
    .bounded = true,
    .check = box_check,
    .make = box_make,
    .mass = box_mass,
    .reach = box_reach,
    .bounds = box_bounds,
};
