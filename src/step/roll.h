/* src/step/roll.h - middle steps of bodies that roll, spin or slide on one contact each. */
#ifndef PERPI_ROLL_H
#define PERPI_ROLL_H

#include "step/step.h"

/* Tries one. *done: false: there is none, and the contacts of the step are again those of its start. Else
 * the problem, its solution and the contacts are those of the middle; perpi_formulation.rolls is true. */
PERP_NODISCARD perp_status perpi_solve_rolling(perpi_step* step, bool* done);

#endif
