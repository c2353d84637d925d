/* perp/query.h - queries of the present state: rays, distances, and contact forces between two
 * bodies.
 *
 * Queries change nothing: a run with queries has the bits of one without. Shapes that are visual
 * only or that collide with nothing are ignored.
 */
#ifndef PERP_QUERY_H
#define PERP_QUERY_H

#include "perp/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- rays ----------------------------------------------------------------------------------------*/

typedef struct perp_ray_hit {
    int32_t body;     /* -1: nothing was hit */
    int32_t shape;    /* of the body, as perp_model_body_shape counts */
    double distance;  /* from the origin */
    double point[3];  /* world */
    double normal[3]; /* of the surface, unit, outward; 0 where the ray starts inside */
} perp_ray_hit;

/* The first surface on a ray, no farther than max_distance (INFINITY: however far). A ray that starts inside
 * a shape hits it at distance 0. direction: any length > 0 (planar: z is not read). ignore: a body that the ray
 * passes through, such as that which carries the sensor; -1: none. Particles have no surface. All shapes are
 * exact up to rounding. No allocation. */
PERP_API PERP_NODISCARD perp_status perp_sim_ray(const perp_sim* sim, const double origin[3],
                                                 const double direction[3], double max_distance,
                                                 int32_t ignore, perp_ray_hit* hit);

/* ---- distances -----------------------------------------------------------------------------------*/

typedef struct perp_distance {
    double
        distance; /* > 0: between the closest points; < 0: minus the depth, as perp_sim_penetration;
                        INFINITY: one of them has no shape, or both are endless planes */
    double point_a[3], point_b[3]; /* closest points, world; overlapping: the deepest ones */
    double normal[3];              /* unit, from a to b; 0 where it is not defined */
    int32_t shape_a, shape_b;      /* as perp_model_body_shape counts; -1: none */
} perp_distance;

/* The distance of two bodies, whether they may collide or not. Of polytopes and round shapes exact up to
 * rounding; of cylinders, ellipsoids and superquadrics by an iteration (tests: 2e-14 of their size). */
PERP_API PERP_NODISCARD perp_status perp_sim_distance(perp_sim* sim, int32_t a, int32_t b,
                                                      perp_distance* distance);

/* ---- contact forces ------------------------------------------------------------------------------*/

/* Sums over contacts with an impulse in the last step. */
typedef struct perp_contact_sum {
    int32_t contacts;
    double impulse[3];         /* on the body, world */
    double angular_impulse[3]; /* about the point that was asked for */
    double time; /* over which they acted: the step (adaptive: its second half); impact: 0 */
    double force[3], moment[3]; /* impulses / time: means over it; 0 where time is */
} perp_contact_sum;

/* Contact impulses of `other` (-1: all bodies) on `body`. about: world; NULL: the present centre
 * of mass of the body. Supports (2.5-D) and joints are not contacts. */
PERP_API PERP_NODISCARD perp_status perp_sim_contact_sum(const perp_sim* sim, int32_t body,
                                                         int32_t other, const double about[3],
                                                         perp_contact_sum* sum);

#ifdef __cplusplus
}
#endif
#endif
