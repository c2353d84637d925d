/* src/sim/gradient_motion.h - parameters of prescribed motions in a gradient.
 *
 * Such a parameter enters a step by the velocity of its body over the step, and the state after it
 * by the body's pose and velocity: eighteen numbers, whose derivatives are functions of time. The
 * rows of the step by the velocity are found once for all parameters.
 */
#ifndef PERPI_GRADIENT_MOTION_H
#define PERPI_GRADIENT_MOTION_H

#include "sim/gradient_run.h"

typedef struct perpi_motions perpi_motions;
/* *motions stays NULL if no parameter has `motion`. */
PERP_NODISCARD perp_status perpi_motions_create(perpi_gradient_work* g, perpi_motions** motions);
void perpi_motions_destroy(perpi_motions* m);
/* For the step of g->linear, of length h from t; NULL: there are none. Not of an impact. */
PERP_NODISCARD perp_status perpi_motions_step(perpi_motions* m, double t, double h);
/* change += what a parameter changes of that step. */
void perpi_motions_add(const perpi_motions* m, int32_t parameter, double* change);
/* Backwards: the multipliers of that step; then what it adds to the derivative by a parameter. */
void perpi_motions_contract(perpi_motions* m, const double* multiplier);
double perpi_motions_product(const perpi_motions* m, int32_t parameter, const double* multiplier);

#endif
