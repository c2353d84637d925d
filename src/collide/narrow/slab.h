/* src/collide/narrow/slab.h - the two tangent planes of a pair of convex bodies with one normal,
 * and the normal at which they are farthest apart: see smooth.c.
 *
 * The bodies are those of shape/smooth.h. One that has edges and faces is taken feature by feature: a vertex is
 * a particle there, an edge one as well, on the arc of normals between its two faces.
 */
#ifndef PERPI_COLLIDE_SLAB_H
#define PERPI_COLLIDE_SLAB_H

#include "shape/shape.h"

typedef struct perpi_slab_pair {
    const perpi_shape *a, *b;
    const perpi_pose *pose_a, *pose_b;
    double size;
} perpi_slab_pair;

typedef struct perpi_slab {
    vec3 n, p_a, p_b; /* unit, from a to b; the points in which the planes touch the bodies */
    double s;         /* n . w, w = p_b - p_a: the separation along n */
    vec3 off;         /* w - s n: the slope of s over the sphere of normals */
} perpi_slab;

perpi_slab_pair perpi_slab_pair_of(const perpi_shape* a, const perpi_pose* pose_a,
                                   const perpi_shape* b, const perpi_pose* pose_b);
/* The planes with unit normal n; H (may be NULL): the sum of the Hessians of both support functions. */
perpi_slab perpi_slab_at(const perpi_slab_pair* c, vec3 n, mat3* H);
/* A Newton step over the sphere of normals, at most half a radian; H as perpi_slab_at gives it. */
vec3 perpi_slab_step(const perpi_slab* x, mat3 H);
/* Ascent from a start to the next maximum of s, or near it: on flat surfaces Newton's method
 * stalls. */
perpi_slab perpi_slab_newton(const perpi_slab_pair* c, perpi_slab start);
/* The same, also on flat surfaces; costs thousands of evaluations there. */
perpi_slab perpi_slab_climb(const perpi_slab_pair* c, perpi_slab start);
/* The global maximum of s over all normals. */
perpi_slab perpi_slab_top(const perpi_slab_pair* c);
/* The maximum of s at cos(angle) f + sin(angle) g, f and g orthonormal, between low, where it
 * rises, and high, where it falls. */
perpi_slab perpi_slab_arc(const perpi_slab_pair* c, vec3 f, vec3 g, double low, double high);

#endif
