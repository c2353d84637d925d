/* src/collide/crossing.h - whether two convex pieces pass through each other within a step.
 *
 * Over a step a body moves by x(s) = x + s dx + s^2 bend, exp(s turn) q, s from 0 to 1. A pair has
 * crossed if it overlaps between s1 and s2, and the separating normals just before s1 and just after
 * s2 differ by more than 90 degrees (still overlapping at the end: the direction of least depth
 * there, by more than 101 degrees). A pair that has reached the middle, where two opposite directions
 * are about as deep, counts as crossed too, since the next step could not decide its side. Normals are
 * compared in a frame that rotates with the pair, so that neither a wheel on a road nor two bodies that
 * rotate together seem to change sides.
 */
#ifndef PERPI_COLLIDE_CROSSING_H
#define PERPI_COLLIDE_CROSSING_H

#include "shape/shape.h"

typedef struct perpi_path {
    perpi_pose start; /* centre of mass, world */
    vec3 dx, bend;    /* x(s) = start.x + s dx + s^2 bend */
    vec3 turn;        /* rotation vector, world */
} perpi_path;

perpi_pose perpi_path_at(const perpi_path* path, double s);

/* A lower bound of the least width of a bounded shape: a ball of this diameter fits into it. */
double perpi_shape_thickness(const perpi_shape* shape);
/* Largest distance of a point of the shape from the body's centre of mass, or a little more. */
double perpi_shape_radius(const perpi_shape* shape);

/* A bounded shape is its core and all points within its rounding (a radius) of it. The point of the
 * core farthest along a direction, both in the shape's frame: GJK works on cores. */
double perpi_shape_rounding(const perpi_shape* shape);
vec3 perpi_shape_core(const perpi_shape* shape, vec3 direction);

/* The contact of two pieces within a step. */
typedef struct perpi_passage {
    bool met;      /* they overlap somewhere, by more than grazing */
    bool crossed;  /* and have changed sides */
    bool inside;   /* they overlap at the end */
    double first;  /* s1 */
    double last;   /* s2 */
    vec3 normal;   /* unit, from a to b, world, just before s1 */
    vec3 after;    /* likewise just after s2, turned back to s1 */
    vec3 point[2]; /* nearest points of a and b at s1, world */
    double depth;  /* least depth at the end, 0 unless inside */
    double beyond; /* separation along `normal` at the end; negative: moved on beyond the first
                 * contact */
} perpi_passage;

/* a, b: bounded shapes. Overlap up to PERPI_GRAZE of the sum of the two thicknesses is grazing. */
#define PERPI_GRAZE 1e-3
perpi_passage perpi_passage_find(int32_t dimension, const perpi_shape* a, const perpi_path* path_a,
                                 const perpi_shape* b, const perpi_path* path_b);

/* Whether direction n (world, at the start) separates the two at the start, halfway and at the end,
 * up to grazing: then perpi_passage_find need not be called. */
bool perpi_passage_none(const perpi_shape* a, const perpi_path* path_a, const perpi_shape* b,
                        const perpi_path* path_b, vec3 n);

/* A direction (world) at s, rotated to `to` with the frame in which normals of the pair are
 * compared. */
vec3 perpi_frame_carry(const perpi_path* a, const perpi_path* b, vec3 n, double s, double to);

/* Whether a point (world) lies in a shape or within `tolerance` of it. */
bool perpi_shape_holds(const perpi_shape* shape, const perpi_pose* body, vec3 point,
                       double tolerance);

#endif
