#ifndef PERPI_ANITESCU_POTRA_H
#define PERPI_ANITESCU_POTRA_H

#include "step/step.h"

extern const perpi_stepper_ops perpi_stepper_anitescu_potra;

#endif
