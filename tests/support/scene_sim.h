/* tests/support/scene_sim.h - a simulation from scene text, for physics tests. */
#ifndef PERP_TEST_SCENE_SIM_H
#define PERP_TEST_SCENE_SIM_H

#include "perp/perp.h"

typedef struct scene_sim {
    perp_context* context;
    perp_scene* scene;
    perp_sim* sim;
    char error[1024];
} scene_sim;

/* printf-style scene text. On failure sim is NULL and error says why. */
scene_sim scene_sim_open(const char* format, ...) PERP_PRINTF(1, 2);
/* The same with single quotes instead of double ones: scenes that can be read. */
scene_sim scene_sim_quoted(const char* format, ...) PERP_PRINTF(1, 2);
/* From a file of the source tree ("scenes/hello.json"). */
scene_sim scene_sim_load(const char* relative);
void scene_sim_close(scene_sim* s);
/* Runs to the end; returns the worst certificate over all steps, INFINITY if a step failed. */
double scene_sim_run(scene_sim* s);
perp_body_state scene_sim_body(const scene_sim* s, const char* name);

#endif
