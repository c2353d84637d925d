#ifndef PERPI_STEWART_TRINKLE_H
#define PERPI_STEWART_TRINKLE_H

#include "step/step.h"

/* Poses onwards by the velocities of the end of the step: what most steppers do. */
PERP_NODISCARD perp_status perpi_advance(const perpi_step_input* in, double* q, double* v);

extern const perpi_stepper_ops perpi_stepper_stewart_trinkle;

#endif
