/* src/study/mpec_run.h - a study's trajectories as runs of a program: the first guess, observations, contacts. */
#ifndef PERPI_MPEC_RUN_H
#define PERPI_MPEC_RUN_H

#include "study/estimate.h"
#include "study/mpec.h"

/* Refuses, by name, channels that are not coordinates of bodies, and losses other than squares. */
PERP_NODISCARD perp_status perpi_mpec_check(const perpi_estimate_run* run);

/* A speed of the data: their range over their duration, the speed that gravity gives in a step. */
double perpi_mpec_speed(const perpi_estimate* e, const perp_sim* sim);

/* Adds a trajectory to the program: states to begin with from the data, where they are observed,
 * else from a simulation with the first parameters. The simulation is the predictor's with these;
 * its state changes. */
PERP_NODISCARD perp_status perpi_mpec_add(perpi_estimate_run* run, perpi_mpec* m, perp_sim* sim,
                                          const perpi_trajectory* t, const double* parameter);

#endif
