/* src/step/repair.h - slow closing of joint errors where closing them at once would gain energy. */
#ifndef PERPI_REPAIR_H
#define PERPI_REPAIR_H

#include "step/formulate.h"

/* Value of perp_step_info.corrections for a step in which joints close their errors slowly. */
#define PERPI_REPAIR_LIMITED (-1)
/* Likewise where these are all joints, and not those of closed loops only. */
#define PERPI_REPAIR_LIMITED_ALL (-3)

/* Per joint: whether it belongs to a mechanism with a closed loop, the world's fixed points included; open ones
 * have no singular configurations. tree: scratch, one for each body. */
void perpi_repair_find_loops(const perp_model* model, int32_t* tree, bool* loop);
/* The problem's velocities before the step: v of the state, without the change by the spin. */
void perpi_repair_before(const perpi_formulation* f, const perp_model* model, const double* v,
                         double* before);
/* Whether the joints would gain more energy than allowed by the solution v, p; projection:
 * energy added after the step. loop NULL, here and below: all joints. */
bool perpi_repair_gains(const perpi_formulation* f, const bool* loop, const double* before,
                        const double* v, const double* p, double projection);
/* Whether joints and contacts together do, of a step that closes errors slowly: the velocities of joints are reversed
 * there, and contacts can gain by it. */
bool perpi_repair_gains_still(const perpi_formulation* f, const double* before, const double* v,
                              const double* p);
/* Writes f->b so that errors are closed slowly; linear: the dimension of the model. */
void perpi_repair_limit(perpi_formulation* f, const bool* loop, int32_t linear,
                        const double* before);

#endif
