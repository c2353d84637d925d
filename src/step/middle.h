/* src/step/middle.h - the equations of a middle step (middle.c), for the path of such steps (middle_path.c).
 *
 * Unknowns are the mean velocities v*, flat in step->to->v, and the impulses step->p_problem, which are those of the
 * problem; equations are the balance of momentum and the closed joints. The length h of the step is an argument.
 */
#ifndef PERPI_MIDDLE_H
#define PERPI_MIDDLE_H

#include "step/step.h"

/* Newton's method for a step of length h from the mean velocities step->to->v. p: the impulses to begin with;
 * NULL: those of step->p_problem, and the problem is formulated. solved: they solve the problem of the start, with
 * motors and friction. *good: it has converged, after *count steps, at most `most`. */
PERP_NODISCARD perp_status perpi_middle_iterate(perpi_step* step, double h, bool solved,
                                                const double* p, int32_t most, bool* good,
                                                int32_t* count);
/* What the equations leave at the point: z of momentum, one for each velocity, and e of the joints, errors / h,
 * one for each row. */
PERP_NODISCARD perp_status perpi_middle_unbalance(perpi_step* step, double h, double* z, double* e);
/* What the equations have by another variable: z and e (z is changed), and the change of velocities and impulses
 * that balances them. */
typedef struct perpi_middle_slope {
    double* z;
    const double* e;
    double *dv, *dp;
} perpi_middle_slope;

/* One step of Newton's method for joints without motors and friction, into step->v_problem and p_problem, unless the
 * point is good. before: errors of the two points before. The slope is balanced with the same matrix. */
PERP_NODISCARD perp_status perpi_middle_newton(perpi_step* step, double h, bool solved,
                                               const double before[2], double* error, bool* good,
                                               const perpi_middle_slope* slope);

/* middle_path.c: a middle step whose answer is far from the state. *good: found; *count: iterations are added. */
PERP_NODISCARD perp_status perpi_middle_follow(perpi_step* step, bool solved, bool* good,
                                               int32_t* count);
/* Numbers of its scratch for so many velocities and rows, and where that is. */
size_t perpi_middle_path_size(int32_t dofs, int32_t rows);
double* perpi_middle_path_room(const perpi_step* step);

#endif
