#ifndef PERPI_STEWART_TRINKLE_H
#define PERPI_STEWART_TRINKLE_H

#include "step/step.h"

extern const perpi_stepper_ops perpi_stepper_stewart_trinkle;

#endif
