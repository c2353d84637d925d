#ifndef PERPI_IMPLICIT_H
#define PERPI_IMPLICIT_H

#include "step/step.h"

extern const perpi_stepper_ops perpi_stepper_implicit;

#endif
