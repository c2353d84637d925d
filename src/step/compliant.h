#ifndef PERPI_COMPLIANT_H
#define PERPI_COMPLIANT_H

#include "step/step.h"

extern const perpi_stepper_ops perpi_stepper_compliant;

#endif
