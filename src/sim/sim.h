/* src/sim/sim.h - the simulation as the rooms above may touch it. */
#ifndef PERPI_SIM_H
#define PERPI_SIM_H

#include "perp/sim.h"
#include "step/step.h"

/* Puts the simulation where a recorded frame stood: the contacts' keys and impulses are the warm
 * start. joints: one for each joint of the model. Refuses numbers that are not finite. */
PERP_NODISCARD perp_status perpi_sim_set_state(perp_sim* sim, double time, int64_t step,
                                               const double* q, const double* v,
                                               const perp_contact* contacts, int32_t count,
                                               const perp_joint_record* joints, const double* s);
/* What springs and controllers remember from the last step: part of the state. */
int32_t perpi_sim_s_size(const perp_sim* sim);
const double* perpi_sim_s(const perp_sim* sim);
/* The velocities that solved the last step; other than perp_sim_v if the scene corrects joints. */
const double* perpi_sim_v_solved(const perp_sim* sim);
/* The stepper's settings, the scene's default friction cone included. */
const perpi_step_settings* perpi_sim_step_settings(const perp_sim* sim);
/* Whether contacts have soft layers (perp_contact.layer). */
bool perpi_sim_layered(const perp_sim* sim);
/* Whether the contact model makes groups of contacts. */
bool perpi_sim_grouped(const perp_sim* sim);
/* The length of the step that would come next from step number `step` (the last one may be
 * shorter), and the time at which it starts. */
double perpi_sim_step_length(const perp_sim* sim, int64_t step);
double perpi_sim_step_time(const perp_sim* sim, int64_t step);

#endif
