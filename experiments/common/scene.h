/* experiments/common/scene.h - a simulation from scene text; a failure ends the experiment. */
#ifndef EXPERIMENT_SCENE_H
#define EXPERIMENT_SCENE_H

#include "perp/perp.h"

typedef struct scene_run {
    perp_context* context;
    perp_scene* scene;
    perp_sim* sim;
} scene_run;

/* printf-style scene text. */
scene_run scene_run_open(const char* format, ...) PERP_PRINTF(1, 2);
void scene_run_close(scene_run* run);
/* False (and *error, if not NULL, says why) where the simulation cannot go on. */
bool scene_run_step(scene_run* run, const char** error);
/* The q-th quantile of n values, which are sorted. */
double quantile(double* value, int n, double q);

#endif
