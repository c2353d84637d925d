/* bench/design.c - what one evaluation of a design costs: the circle of experiments/p09-design-circle.
 *
 * Five radii, 41.89 s each with h = 0.0005: 418,900 steps of one particle on a moving plate, with
 * measures. CPU time, the best of three, at the optimum of the paper, where the particle sticks,
 * slides and leaves the plate in every period.
 *
 * usage: design [--json FILE]      in the folder of the sources
 */
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "common/table.h"
#include "perp/perp.h"

enum { RADII = 5, ROUNDS = 3 };

static void must(perp_status status, perp_context* context)
{
    if (status != PERP_OK) {
        fprintf(stderr, "design: %s\n", perp_context_error(context));
        exit(1);
    }
}

static double cpu_seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char** argv)
{
    static const char scene_file[] = "experiments/p09-design-circle/circle.json";
    table t = table_begin("design", argc, argv);
    perp_context* context = NULL;
    perp_scene* scene = NULL;
    must(perp_context_create(NULL, &context), context);
    must(perp_scene_load(context, scene_file, NULL, 0, &scene), context);
    must(perp_scene_set_number(scene, "A6", 40.8332), context);
    must(perp_scene_set_number(scene, "A3", 15.3654), context);
    must(perp_scene_set_number(scene, "C3", 6.5374), context);
    double best = INFINITY, objective = 0.0;
    int64_t steps = 0;
    for (int round = 0; round < ROUNDS; ++round) {
        const double from = cpu_seconds();
        objective = 0.0;
        steps = 0;
        for (int i = 0; i < RADII; ++i) {
            perp_sim* sim = NULL;
            must(perp_scene_set_number(scene, "r0", 0.04 + 0.01 * i), context);
            must(perp_scene_rebuild(scene), context);
            must(perp_sim_create_from_scene(context, scene, &sim), context);
            must(perp_sim_run(sim), context);
            objective += perp_sim_measure(sim, perp_sim_measure_find(sim, "radial")) +
                         perp_sim_measure(sim, perp_sim_measure_find(sim, "velocity"));
            steps += perp_sim_step_count(sim);
            perp_sim_destroy(sim);
        }
        const double seconds = cpu_seconds() - from;
        best = seconds < best ? seconds : best;
    }
    table_add(&t, "objective of the circle", objective, "cm^2 + (cm/s)^2");
    table_add(&t, "steps of an evaluation", (double)steps, "");
    table_add(&t, "an evaluation, one core (asked: <= 3)", best, "s");
    table_add(&t, "a step with its measures", 1e6 * best / (double)steps, "us");
    perp_scene_destroy(scene);
    perp_context_destroy(context);
    return table_end(&t);
}
