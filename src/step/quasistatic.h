/* src/step/quasistatic.h */
#ifndef PERPI_QUASISTATIC_H
#define PERPI_QUASISTATIC_H

#include "step/step.h"

extern const perpi_stepper_ops perpi_stepper_quasistatic;

#endif
