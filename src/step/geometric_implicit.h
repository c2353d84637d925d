#ifndef PERPI_GEOMETRIC_IMPLICIT_H
#define PERPI_GEOMETRIC_IMPLICIT_H

#include "step/step.h"

extern const perpi_stepper_ops perpi_stepper_geometric_implicit;

#endif
