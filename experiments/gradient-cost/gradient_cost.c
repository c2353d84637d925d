/* experiments/gradient-cost - processor time of a run and of its gradient, over bodies, steps and parameters.
 *
 * Balls slide and roll apart on a plane, so that every step has as many contacts as bodies and no
 * pair of balls. The smallest of several measurements each; figures without an expected value,
 * because they are those of the machine.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/report.h"
#include "perp/perp.h"

enum { MOST_BODIES = 64, TEXT = 1 << 16, REPEATS = 5 };

typedef struct setting {
    int bodies, steps, parameters;
    perp_gradient_mode mode;
    bool checkpoints;
} setting;

static double cpu_seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void write_scene(const setting* s, char* text)
{
    int used = snprintf(text, TEXT,
                        "{\"gravity\": [0, 0, -10], \"step\": 0.002, \"duration\": %.17g, "
                        "\"friction\": {\"default\": 0.2}, \"parameters\": {\"v\": 2",
                        0.002 * s->steps);
    for (int i = 0; i < s->parameters; ++i) {
        used += snprintf(text + used, TEXT - (size_t)used, ", \"p%d\": %g", i, 1.0 + 0.01 * i);
    }
    used += snprintf(text + used, TEXT - (size_t)used,
                     "}, \"bodies\": [{\"name\": \"floor\", \"type\": \"static\", \"shapes\": "
                     "[{\"type\": \"plane\", \"normal\": [0, 0, 1]}]}");
    for (int i = 0; i < s->bodies; ++i) {
        used += snprintf(text + used, TEXT - (size_t)used,
                         ", {\"name\": \"b%d\", \"mass\": \"p%d\", \"position\": [0, %d, 0.1], "
                         "\"velocity\": [\"v\", 0.1, 0], \"shapes\": [{\"type\": \"sphere\", "
                         "\"radius\": 0.1}]}",
                         i, i % s->parameters, i);
    }
    (void)snprintf(text + used, TEXT - (size_t)used,
                   "], \"measures\": {\"m\": \"b0.position.x\"}}");
}

/* The smallest times of a run, and of a run with its gradient. */
static void measure(const setting* s, double* run, double* both)
{
    static char text[TEXT], names[MOST_BODIES][8];
    const char* parameter[MOST_BODIES];
    perp_gradient_def def = perp_gradient_def_default();
    def.measure = "m";
    def.mode = s->mode;
    def.checkpoints = s->checkpoints;
    def.parameter = parameter;
    def.parameter_count = s->parameters;
    for (int i = 0; i < s->parameters; ++i) {
        (void)snprintf(names[i], sizeof names[i], "p%d", i);
        parameter[i] = names[i];
    }
    write_scene(s, text);
    *run = *both = INFINITY;
    for (int k = 0; k < REPEATS; ++k) {
        perp_context* context = NULL;
        perp_scene* scene = NULL;
        perp_sim* sim = NULL;
        perp_gradient* g = NULL;
        if (perp_context_create(NULL, &context) != PERP_OK ||
            perp_scene_parse(context, text, strlen(text), NULL, NULL, 0, &scene) != PERP_OK ||
            perp_sim_create_from_scene(context, scene, &sim) != PERP_OK) {
            exit(3);
        }
        double begin = cpu_seconds();
        const perp_status ran = perp_sim_run(sim);
        *run = fmin(*run, cpu_seconds() - begin);
        perp_sim_destroy(sim);
        begin = cpu_seconds();
        if (ran != PERP_OK || perp_gradient_create(context, scene, &def, &g) != PERP_OK) {
            fprintf(stderr, "gradient-cost: %s\n", perp_context_error(context));
            exit(3);
        }
        *both = fmin(*both, cpu_seconds() - begin);
        perp_gradient_destroy(g);
        perp_scene_destroy(scene);
        perp_context_destroy(context);
    }
}

static void add(report* r, FILE* table, const char* over, const setting* s)
{
    char label[160];
    double run, both;
    measure(s, &run, &both);
    (void)snprintf(label, sizeof label,
                   "%s: %d bodies, %d steps, %d parameters: run and gradient over the run",
                   s->mode == PERP_GRADIENT_FORWARD ? "forward"
                   : s->checkpoints                 ? "checkpoints"
                                                    : "adjoint",
                   s->bodies, s->steps, s->parameters);
    report_note(r, label, both / run);
    fprintf(table, "%s %d %d %d %.6g %.6g\n", over, s->bodies, s->steps, s->parameters, run, both);
}

int main(int argc, char** argv)
{
    report r;
    report_begin(&r, "gradient-cost", argc, argv);
    FILE* table = report_file(&r, "cost.dat");
    for (int n = 1; n <= MOST_BODIES; n *= 4) {
        add(&r, table, "bodies", &(setting){.bodies = n, .steps = 400, .parameters = 1});
    }
    for (int n = 100; n <= 1600; n *= 4) {
        add(&r, table, "steps", &(setting){.bodies = 8, .steps = n, .parameters = 1});
        add(&r, table, "steps-checkpoints",
            &(setting){.bodies = 8, .steps = n, .parameters = 1, .checkpoints = true});
    }
    for (int n = 1; n <= 16; n *= 4) {
        add(&r, table, "parameters", &(setting){.bodies = 16, .steps = 400, .parameters = n});
        add(&r, table, "parameters-forward",
            &(setting){.bodies = 16, .steps = 400, .parameters = n, .mode = PERP_GRADIENT_FORWARD});
    }
    fclose(table);
    return report_end(&r);
}
