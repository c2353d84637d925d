/* src/shape/particle.c - a point, in the plane and in space. Its mass is the body's. */
#include "shape/builtin.h"

static perp_status particle_check(perp_context* context, const perp_shape_def* def)
{
    (void)context;
    (void)def;
    return PERP_OK;
}

static double particle_reach(const perpi_shape* shape)
{
    (void)shape;
    return 0.0;
}

static perpi_bounds particle_bounds(const perpi_shape* shape, const perpi_pose* pose)
{
    (void)shape;
    return (perpi_bounds){pose->x, pose->x};
}

const perpi_shape_ops perpi_shape_particle = {
    .type = PERP_SHAPE_PARTICLE,
    .name = "particle",
    .dimension = 0,
    .summary = "a point; no parameters",
    .bounded = true,
    .check = particle_check,
    .mass = NULL,
    .reach = particle_reach,
    .bounds = particle_bounds,
};
