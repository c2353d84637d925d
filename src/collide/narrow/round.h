/* src/collide/narrow/round.h - what the pair routines share: round shapes, segments, boxes, tolerances.
 *
 * A particle, a sphere, a circle and a capsule are one family: a segment of half-length l >= 0
 * swept by a ball of radius r >= 0. Any ball on the segment belongs to the body, so a row "this ball does not
 * penetrate that convex body" is always a valid constraint; the routines choose the balls.
 */
#ifndef PERPI_COLLIDE_ROUND_H
#define PERPI_COLLIDE_ROUND_H

#include "collide/collide.h"

/* All lengths below are relative to the size of the smaller partner. */
/* Where bodies overlap, features up to about the least depth count. Of soft layers, features up to this
 * many times that, in directions within SOFT_ALONG (a cosine) of the shallowest: their springs would
 * appear and vanish with energy when another direction, a little turned, becomes the shallowest. */
#define PERPI_SOFT_DEPTH 4.0
#define PERPI_SOFT_ALONG 0.98
#define PERPI_CANDIDATE_TIE                                                                        \
    1e-9                             /* two gaps, or a point and a border, count as equal within
                                      * this */
#define PERPI_CANDIDATE_SAME 1e-6    /* two closer contacts with the same normal are one */
#define PERPI_CANDIDATE_VANISH 1e-10 /* a shorter distance defines no direction */
#define PERPI_CANDIDATE_PARALLEL                                                                   \
    1e-2 /* sine of the angle below which two edges count as parallel */
#define PERPI_CANDIDATE_OBLIQUE                                                                    \
    0.3 /* sine of the angle of two axes up to which the ends of their common part have rows of their own, within the margin */

/* Times the margin: tangent lines and planes of an obstacle are taken from a point at least this
 * far from it. By so much a corner may be cut, and a body that rests at one can leave it. */
#define PERPI_CANDIDATE_CUT 0.02
/* How far such a point is moved out, for a point at the given distance (negative: depth). */
static inline double perpi_candidate_step_out(double gap, double margin)
{
    const double lacking = PERPI_CANDIDATE_CUT * margin - gap;
    return lacking > 0.0 ? lacking : 0.0;
}

typedef struct perpi_round {
    vec3 c, u; /* centre; unit axis (any, if l is 0) */
    vec3 side; /* unit, perpendicular to u, fixed in the shape: the normal where no other is
                * defined */
    double l, r;
} perpi_round;

perpi_round perpi_round_of(const perpi_shape* shape, const perpi_pose* pose);

/* A segment c + t u, |t| <= l. */
typedef struct perpi_segment {
    vec3 c, u;
    double l;
} perpi_segment;

/* Parameters of two points, one on each of two segments. */
typedef struct perpi_chord {
    double s, t;
    double d2; /* squared distance */
} perpi_chord;

static inline vec3 perpi_segment_at(const perpi_segment* a, double s)
{
    return v3_madd(a->c, s, a->u);
}

/* The closest points; safe for parallel segments and for l = 0. */
perpi_chord perpi_segment_closest(const perpi_segment* a, const perpi_segment* b);
/* The two ends of the interval over which the projections of the segments on the first overlap:
 * chord[0] at its low end. False if they do not overlap (by more than tiny). */
bool perpi_segment_overlap(const perpi_segment* a, const perpi_segment* b, double tiny,
                           perpi_chord chord[2]);

static inline double perpi_clamp(double x, double lo, double hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

/* The pair routines, listed in pairs.c. */
perp_status perpi_plane_round(const perpi_shape* a, const perpi_pose* pose_a, const perpi_shape* b,
                              const perpi_pose* pose_b, double margin, perpi_candidate_list* list);
perp_status perpi_plane_box(const perpi_shape* a, const perpi_pose* pose_a, const perpi_shape* b,
                            const perpi_pose* pose_b, double margin, perpi_candidate_list* list);
perp_status perpi_round_round(const perpi_shape* a, const perpi_pose* pose_a, const perpi_shape* b,
                              const perpi_pose* pose_b, double margin, perpi_candidate_list* list);
perp_status perpi_box_ball(const perpi_shape* a, const perpi_pose* pose_a, const perpi_shape* b,
                           const perpi_pose* pose_b, double margin, perpi_candidate_list* list);
perp_status perpi_box_capsule(const perpi_shape* a, const perpi_pose* pose_a, const perpi_shape* b,
                              const perpi_pose* pose_b, double margin, perpi_candidate_list* list);
perp_status perpi_box_box(const perpi_shape* a, const perpi_pose* pose_a, const perpi_shape* b,
                          const perpi_pose* pose_b, double margin, perpi_candidate_list* list);
perp_status perpi_plane_cylinder(const perpi_shape* a, const perpi_pose* pose_a,
                                 const perpi_shape* b, const perpi_pose* pose_b, double margin,
                                 perpi_candidate_list* list);
perp_status perpi_cylinder_ball(const perpi_shape* a, const perpi_pose* pose_a,
                                const perpi_shape* b, const perpi_pose* pose_b, double margin,
                                perpi_candidate_list* list);
/* smooth.c */
perp_status perpi_plane_smooth(const perpi_shape* a, const perpi_pose* pose_a, const perpi_shape* b,
                               const perpi_pose* pose_b, double margin, perpi_candidate_list* list);
perp_status perpi_smooth_smooth(const perpi_shape* a, const perpi_pose* pose_a,
                                const perpi_shape* b, const perpi_pose* pose_b, double margin,
                                perpi_candidate_list* list);
perp_status perpi_smooth_smooth_planar(const perpi_shape* a, const perpi_pose* pose_a,
                                       const perpi_shape* b, const perpi_pose* pose_b,
                                       double margin, perpi_candidate_list* list);
perp_status perpi_polygon_smooth(const perpi_shape* a, const perpi_pose* pose_a,
                                 const perpi_shape* b, const perpi_pose* pose_b, double margin,
                                 perpi_candidate_list* list);
perp_status perpi_cylinder_capsule(const perpi_shape* a, const perpi_pose* pose_a,
                                   const perpi_shape* b, const perpi_pose* pose_b, double margin,
                                   perpi_candidate_list* list);

/* smooth_polytope.c; a box is a polyhedron there */
perp_status perpi_capsule_smooth(const perpi_shape* a, const perpi_pose* pose_a,
                                 const perpi_shape* b, const perpi_pose* pose_b, double margin,
                                 perpi_candidate_list* list);
perp_status perpi_cylinder_smooth(const perpi_shape* a, const perpi_pose* pose_a,
                                  const perpi_shape* b, const perpi_pose* pose_b, double margin,
                                  perpi_candidate_list* list);
perp_status perpi_polyhedron_smooth(const perpi_shape* a, const perpi_pose* pose_a,
                                    const perpi_shape* b, const perpi_pose* pose_b, double margin,
                                    perpi_candidate_list* list);

/* polyhedron_round.c; a box is a polyhedron too. */
perp_status perpi_plane_polyhedron(const perpi_shape* a, const perpi_pose* pose_a,
                                   const perpi_shape* b, const perpi_pose* pose_b, double margin,
                                   perpi_candidate_list* list);
perp_status perpi_polyhedron_ball(const perpi_shape* a, const perpi_pose* pose_a,
                                  const perpi_shape* b, const perpi_pose* pose_b, double margin,
                                  perpi_candidate_list* list);
perp_status perpi_polyhedron_capsule(const perpi_shape* a, const perpi_pose* pose_a,
                                     const perpi_shape* b, const perpi_pose* pose_b, double margin,
                                     perpi_candidate_list* list);

/* cylinder_polyhedron.c */
perp_status perpi_polyhedron_cylinder(const perpi_shape* a, const perpi_pose* pose_a,
                                      const perpi_shape* b, const perpi_pose* pose_b, double margin,
                                      perpi_candidate_list* list);

/* cylinder_cylinder.c */
perp_status perpi_cylinder_cylinder(const perpi_shape* a, const perpi_pose* pose_a,
                                    const perpi_shape* b, const perpi_pose* pose_b, double margin,
                                    perpi_candidate_list* list);

#endif
