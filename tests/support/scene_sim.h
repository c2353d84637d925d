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

/* perp_scene_parse of a text in which single quotes stand for double ones (quotes.h). */
PERP_NODISCARD perp_status scene_parse(perp_context* context, const char* text, const char* name,
                                       perp_scene** scene);
/* printf-style scene text, likewise. On failure sim is NULL and error says why. */
scene_sim scene_sim_open(const char* format, ...) PERP_PRINTF(1, 2);
#define scene_sim_quoted scene_sim_open /* the name it had while scene_sim_open took only " */
/* From a file of the source tree ("scenes/hello.json"). */
scene_sim scene_sim_load(const char* relative);
void scene_sim_close(scene_sim* s);
/* Runs to the end; returns the worst certificate over all steps, INFINITY if a step failed. */
double scene_sim_run(scene_sim* s);
perp_body_state scene_sim_body(const scene_sim* s, const char* name);

#endif
