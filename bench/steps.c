/* bench/steps.c - what a step costs: one box on a plane (4 contacts, 8 directions) at rest, sliding
 * and tumbling, then stacks. Instructions per step are counted by callgrind where it is there.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/table.h"
#include "perp/perp.h"

typedef struct job {
    perp_context* context;
    perp_scene* scene;
    perp_sim* sim;
} job;

static const char FLOOR[] = "{\"name\":\"floor\",\"type\":\"static\",\"shapes\":[{\"type\":"
                            "\"plane\",\"normal\":[0,0,1]}]}";

/* boxes: a stack of that many unit boxes; speed: initial sliding velocity of the lowest. */
static job make(int boxes, double speed, double mu)
{
    job j = {0};
    char* text = malloc(1024 + 256 * (size_t)boxes);
    int n = sprintf(text,
                    "{\"gravity\":[0,0,-9.81],\"step\":0.01,\"duration\":1e6,"
                    "\"friction\":{\"directions\":8,\"default\":%g},\"bodies\":[%s",
                    mu, FLOOR);
    for (int i = 0; i < boxes; ++i) {
        n += sprintf(text + n,
                     ",{\"name\":\"b%d\",\"density\":1,\"position\":[0,0,%g],\"velocity\":[%g,0,0],"
                     "\"shapes\":[{\"type\":\"box\",\"size\":[1,1,1]}]}",
                     i, i + 0.5, i == 0 ? speed : 0.0);
    }
    n += sprintf(text + n, "]}");
    perp_status status = perp_context_create(NULL, &j.context);
    if (status == PERP_OK) {
        status = perp_scene_parse(j.context, text, (size_t)n, "bench", NULL, 0, &j.scene);
    }
    if (status == PERP_OK) {
        status = perp_sim_create_from_scene(j.context, j.scene, &j.sim);
    }
    free(text);
    if (status != PERP_OK) {
        fprintf(stderr, "steps: %s\n", perp_context_error(j.context));
        exit(3);
    }
    return j;
}

static void drop(job* j)
{
    perp_sim_destroy(j->sim);
    perp_scene_destroy(j->scene);
    perp_context_destroy(j->context);
}

static void take(job* j, int steps)
{
    for (int i = 0; i < steps; ++i) {
        if (perp_sim_step(j->sim) != PERP_OK) {
            fprintf(stderr, "steps: %s\n", perp_context_error(j->context));
            exit(3);
        }
    }
}

/* Best of five batches, so that a busy machine disturbs less. */
static double microseconds(int boxes, double speed, double mu, int steps)
{
    job j = make(boxes, speed, mu);
    take(&j, 20);
    double best = INFINITY;
    for (int k = 0; k < 5; ++k) {
        const double start = table_seconds();
        take(&j, steps);
        const double each = 1e6 * (table_seconds() - start) / steps;
        best = each < best ? each : best;
    }
    drop(&j);
    return best;
}

/* Runs this program again under callgrind, collecting inside perp_sim_step only. */
static double instructions(const char* self, int steps)
{
    char command[4500], line[512];
    double total = NAN;
    snprintf(command, sizeof command,
             "valgrind --tool=callgrind --callgrind-out-file=/dev/null "
             "--toggle-collect=perp_sim_step '%s' --count %d 2>&1",
             self, steps);
    FILE* f = popen(command, "r");
    if (f == NULL) {
        return NAN;
    }
    while (fgets(line, sizeof line, f) != NULL) {
        const char* at = strstr(line, "Collected : ");
        if (at != NULL) {
            total = strtod(at + strlen("Collected : "), NULL);
        }
    }
    pclose(f);
    return total;
}

int main(int argc, char** argv)
{
    if (argc == 3 && strcmp(argv[1], "--count") == 0) {
        job j = make(1, 0.0, 0.5);
        take(&j, atoi(argv[2]));
        drop(&j);
        return 0;
    }
    table t = table_begin("steps", argc, argv);
    const double rest = microseconds(1, 0.0, 0.5, 20000);
    table_add(&t, "box on a plane, at rest: steps per second", 1e6 / rest, "1/s");
    table_add(&t, "box on a plane, at rest", rest, "us/step");
    table_add(&t, "box on a plane, sliding (mu 0.001)", microseconds(1, 1000.0, 0.001, 5000),
              "us/step");
    /* twice, so that the warm-up drops out */
    const double few = instructions(argv[0], 200), many = instructions(argv[0], 1200);
    table_add(&t, "box on a plane, at rest: instructions per step (callgrind)",
              (many - few) / 1000.0, "");
    for (int n = 2; n <= 10; n += n < 4 ? 1 : 3) {
        char name[64];
        snprintf(name, sizeof name, "stack of %d boxes, at rest (%d contacts)", n, 4 * n);
        table_add(&t, name, microseconds(n, 0.0, 0.5, 2000 / (n * n) + 10), "us/step");
    }
    return table_end(&t);
}
