/* bench/pyramid.c - a pyramid of boxes that must stand: row on row, every box on two of the row below.
 *
 *     pyramid [--rows N] [--steps N] [--tolerance T] [--json FILE]     50 rows (1,275 boxes), 2,000 steps
 *
 * Once with the default tolerance, once with 1e-11 (or with T only): how far any box has moved, the processor
 * time of a step.
 * Runs minutes: `scripts/run-bench build/release pyramid`. tests/physics/pyramid_test.c has a small one.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "common/table.h"
#include "perp/perp.h"

#define PITCH 1.125 /* of unit cubes: neighbours in a row do not touch */

static char* write_scene(int rows, double tolerance)
{
    const size_t boxes = (size_t)rows * (size_t)(rows + 1) / 2;
    char* text = malloc(512 + 160 * boxes);
    if (text == NULL) {
        return NULL;
    }
    char* at = text;
    at += sprintf(at,
                  "{\"gravity\":[0,0,-9.81],\"step\":0.01,\"duration\":1e6,\"tolerance\":%g,"
                  "\"friction\":{\"default\":0.5},\"bodies\":[{\"name\":\"floor\",\"type\":"
                  "\"static\",\"shapes\":[{\"type\":\"plane\",\"normal\":[0,0,1]}]}",
                  tolerance);
    for (int r = 0; r < rows; ++r) {
        for (int i = 0; i < rows - r; ++i) {
            at += sprintf(at,
                          ",{\"name\":\"r%d_%d\",\"density\":1,\"position\":[%.17g,0,%.17g],"
                          "\"shapes\":[{\"type\":\"box\",\"size\":[1,1,1]}]}",
                          r, i, PITCH * (i - 0.5 * (rows - r - 1)), r + 0.5);
        }
    }
    sprintf(at, "]}");
    return text;
}

/* Of all threads: what else runs on the machine does not count. */
static double processor_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double farthest(perp_sim* sim, const perp_body_state* start, int32_t bodies)
{
    double most = 0.0;
    for (int32_t i = 0; i < bodies; ++i) {
        const perp_body_state now = perp_sim_body(sim, i);
        for (int k = 0; k < 3; ++k) {
            const double d = fabs(now.position[k] - start[i].position[k]);
            most = !(d <= most) ? d : most;
        }
    }
    return most;
}

/* Steps and prints; the failure of a step ends it with a message. */
static int stand(perp_context* context, perp_sim* sim, int steps, const char* title, table* t)
{
    const int32_t bodies = perp_model_body_count(perp_sim_model(sim));
    perp_body_state* start = malloc((size_t)bodies * sizeof *start);
    if (start == NULL) {
        return 3;
    }
    for (int32_t i = 0; i < bodies; ++i) {
        start[i] = perp_sim_body(sim, i);
    }
    double drift = 0.0, certificate = 0.0, first = 0.0, least = INFINITY;
    int done = 0, status = 0;
    const double begin = processor_seconds();
    for (; done < steps; ++done) {
        const double at = processor_seconds();
        if (perp_sim_step(sim) != PERP_OK) {
            fprintf(stderr, "pyramid: step %d: %s\n", done + 1, perp_context_error(context));
            status = 1;
            break;
        }
        const double each = processor_seconds() - at;
        first = done == 0 ? each : first;
        least = each < least ? each : least;
        const double worst = perp_sim_step_info(sim).certificate.worst;
        certificate = !(worst <= certificate) ? worst : certificate;
        const double moved = farthest(sim, start, bodies);
        drift = !(moved <= drift) ? moved : drift;
    }
    char name[96];
    const struct {
        const char* what;
        double value;
        const char* unit;
    } figures[] = {
        {"largest displacement", drift, "m"},
        {"largest certificate", certificate, ""},
        {"steps", done, ""},
        {"contacts", perp_sim_step_info(sim).candidates, ""},
        {"mean step", 1e6 * (processor_seconds() - begin) / (done > 0 ? done : 1), "us"},
        {"first step (cold)", 1e6 * first, "us"},
        {"shortest step", 1e6 * least, "us"},
    };
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; ++i) {
        snprintf(name, sizeof name, "%s: %s", title, figures[i].what);
        table_add(t, name, figures[i].value, figures[i].unit);
    }
    free(start);
    return status;
}

static int run(int rows, int steps, double tolerance, const char* title, table* t)
{
    perp_context* context = NULL;
    perp_scene* scene = NULL;
    perp_sim* sim = NULL;
    int result = 3;
    char* text = write_scene(rows, tolerance);
    if (text == NULL || perp_context_create(NULL, &context) != PERP_OK) {
        fprintf(stderr, "pyramid: out of memory\n");
    } else if (perp_scene_parse(context, text, strlen(text), "pyramid", NULL, 0, &scene) !=
                   PERP_OK ||
               perp_sim_create_from_scene(context, scene, &sim) != PERP_OK) {
        fprintf(stderr, "pyramid: %s\n", perp_context_error(context));
    } else {
        result = stand(context, sim, steps, title, t);
    }
    perp_sim_destroy(sim);
    perp_scene_destroy(scene);
    perp_context_destroy(context);
    free(text);
    return result;
}

int main(int argc, char** argv)
{
    int rows = 50, steps = 2000, kept = 1;
    double only = NAN;
    for (int i = 1; i < argc; ++i) {
        const char* value = i + 1 < argc ? argv[i + 1] : NULL;
        if (value != NULL && strcmp(argv[i], "--rows") == 0) {
            rows = atoi(argv[++i]);
        } else if (value != NULL && strcmp(argv[i], "--steps") == 0) {
            steps = atoi(argv[++i]);
        } else if (value != NULL && strcmp(argv[i], "--tolerance") == 0) {
            only = atof(argv[++i]);
        } else {
            argv[kept++] = argv[i]; /* the table's own */
        }
    }
    if (rows < 1 || rows > 1000 || steps < 1) {
        fprintf(stderr, "usage: pyramid [--rows N] [--steps N] [--tolerance T] [--json FILE]\n");
        return 2;
    }
    table t = table_begin("pyramid", kept, argv);
    const double tolerances[] = {perp_sim_def_default().tolerance, 1e-11};
    int result = 0;
    for (int k = 0; k < (isnan(only) ? 2 : 1); ++k) {
        char title[48];
        const double tolerance = isnan(only) ? tolerances[k] : only;
        snprintf(title, sizeof title, "tolerance %g", tolerance);
        const int ended = run(rows, steps, tolerance, title, &t);
        result = ended > result ? ended : result;
    }
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    table_add(&t, "largest memory in use", (double)use.ru_maxrss, "KiB");
    const int written = table_end(&t);
    return result != 0 ? result : written;
}
