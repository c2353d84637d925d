/* Hello world: load a scene, run it, ask where the ball is.
 *
 *     cc hello.c $(pkg-config --cflags --libs perp) -o hello && ./hello scenes/hello.json
 */
#include <stdio.h>

#include "perp/perp.h"

int main(int argc, char** argv)
{
    perp_context* context = NULL;
    perp_scene* scene = NULL;
    perp_sim* sim = NULL;
    perp_status status = perp_context_create(NULL, &context);
    if (status == PERP_OK) {
        status = perp_scene_load(context, argc > 1 ? argv[1] : "hello.json", NULL, 0, &scene);
    }
    if (status == PERP_OK) {
        status = perp_sim_create_from_scene(context, scene, &sim);
    }
    if (status == PERP_OK) {
        status = perp_sim_run(sim);
    }
    if (status == PERP_OK) {
        const perp_body_state ball = perp_sim_body(sim, 1);
        printf("t = %g s: the ball is at height %g, certificate %.1e\n", perp_sim_time(sim),
               ball.position[2], perp_sim_step_info(sim).certificate.worst);
    } else {
        fprintf(stderr, "%s\n", context != NULL ? perp_context_error(context) : "out of memory");
    }
    perp_sim_destroy(sim);
    perp_scene_destroy(scene);
    perp_context_destroy(context);
    return status == PERP_OK ? 0 : 1;
}
