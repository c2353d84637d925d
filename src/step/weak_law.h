/* src/step/weak_law.h - constraints at the border of two states, as pairs of a small linear
 * complementarity problem.
 *
 * Along a direction the laws of such a constraint are not linear: a contact that just touches opens
 * or pushes, one that is about to slide slides or sticks. Each has a base law, in which nothing has
 * been decided against a motion (open, sliding, at the bound), and pairs 0 <= x perp y >= 0: x is
 * added to the right-hand side of the base law, y is read from the velocities and impulses that
 * follow.
 */
#ifndef PERPI_WEAK_LAW_H
#define PERPI_WEAK_LAW_H

#include "step/active_law.h"

typedef struct perpi_weak_pair {
    int32_t constraint;
    double push[PERPI_LAW_ROWS];                 /* right-hand side of the law for x = 1 */
    double u[PERPI_LAW_ROWS], p[PERPI_LAW_ROWS]; /* y = u . du + p . dp */
    int32_t slip; /* of a direction of friction: the pair of its slip; else -1 */
    int32_t part; /* direction along a frame: which column, from 0; else -1 */
    double sign;  /* of that column */
    double scale; /* unit of x; 1 / scale: of y */
} perpi_weak_pair;

/* At most this many pairs of a constraint. */
int32_t perpi_weak_pairs_most(const perp_constraint* c);

/* Replaces the law of a weak constraint, which belongs to no group, by its base law, and writes its
 * pairs; pair[0] will have the index `first`. False: it has no such pairs (a tie of two corners of
 * a polygon). */
bool perpi_weak_law(const perpi_law_input* in, int32_t constraint, int32_t first, perpi_law* law,
                    perpi_weak_pair* pair, int32_t* count);

/* The directions of friction of a contact that touches without slip, round cone: +- each axis of a
 * frame whose first axis is d (unit length, tangential rows in coordinates scaled by e). */
void perpi_weak_align(const perp_constraint* c, const double* d, perpi_weak_pair* pair,
                      int32_t count);

#endif
