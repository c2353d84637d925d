/* src/step/kinetic.h - kinetic energy in the problem of a step. */
#ifndef PERPI_KINETIC_H
#define PERPI_KINETIC_H

#include "step/formulate.h"

/* v' M v/2. v: the velocities of the problem. */
double perpi_kinetic_energy(const perpi_formulation* f, const double* v);
/* k' M^-1 k/2: the energy at the end of the step without any impulse. */
double perpi_kinetic_energy_free(const perpi_formulation* f);

#endif
