/* bench/steps.c - what a step costs: one box on a plane (4 contacts; polygon of 8 directions, then
 * the round cone) at rest and sliding, then stacks, a heavy box on a light one, walls. Instructions
 * per step are counted by callgrind where it is there.
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

/* The bodies on the floor. */
typedef struct stand {
    int boxes;    /* a stack of that many unit boxes */
    int courses;  /* or a wall: courses of ten bricks, every other one half a brick further on */
    double top;   /* density of the topmost box; the others have 1 */
    double speed; /* initial sliding velocity of the lowest box */
    double mu;
    const char* cone;
} stand;

static int write_bodies(char* at, const stand* s)
{
    int n = 0;
    for (int i = 0; i < s->boxes; ++i) {
        n +=
            sprintf(at + n,
                    ",{\"name\":\"b%d\",\"density\":%g,\"position\":[0,0,%g],\"velocity\":[%g,0,0"
                    "],\"shapes\":[{\"type\":\"box\",\"size\":[1,1,1]}]}",
                    i, i > 0 && i + 1 == s->boxes ? s->top : 1.0, i + 0.5, i == 0 ? s->speed : 0.0);
    }
    for (int i = 0; i < 10 * s->courses; ++i) {
        n += sprintf(at + n,
                     ",{\"name\":\"w%d\",\"density\":1000,\"position\":[%.17g,0,%.17g],\"shapes\":["
                     "{\"type\":\"box\",\"size\":[0.4,0.2,0.2]}]}",
                     i, 0.4 * (i % 10) + (i / 10 % 2) * 0.2, 0.1 + 0.2 * (i / 10));
    }
    return n;
}

static job make(const stand* s)
{
    job j = {0};
    char* text = malloc(1024 + 256 * (size_t)(s->boxes + 10 * s->courses));
    int n = sprintf(text,
                    "{\"gravity\":[0,0,-9.81],\"step\":0.01,\"duration\":1e6,"
                    "\"friction\":{\"cone\":\"%s\",\"directions\":8,\"default\":%g},"
                    "\"bodies\":[%s",
                    s->cone, s->mu, FLOOR);
    n += write_bodies(text + n, s);
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

static void take_steps(job* j, int steps)
{
    for (int i = 0; i < steps; ++i) {
        if (perp_sim_step(j->sim) != PERP_OK) {
            fprintf(stderr, "steps: %s\n", perp_context_error(j->context));
            exit(3);
        }
    }
}

/* Best of five batches, so that a busy machine disturbs less. */
static double microseconds(stand s, int steps)
{
    job j = make(&s);
    take_steps(&j, s.courses > 0 ? 3 : 20);
    double best = INFINITY;
    for (int k = 0; k < 5; ++k) {
        const double start = table_seconds();
        take_steps(&j, steps);
        const double each = 1e6 * (table_seconds() - start) / steps;
        best = each < best ? each : best;
    }
    drop(&j);
    return best;
}

/* Runs this program again under callgrind, collecting inside a function only. */
static double instructions(const char* self, int steps, const char* cone, const char* function)
{
    char command[4500], line[512];
    double total = NAN;
    snprintf(command, sizeof command,
             "valgrind --tool=callgrind --callgrind-out-file=/dev/null "
             "--toggle-collect=%s '%s' --count %d %s 2>&1",
             function, self, steps, cone);
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
    static const char* const cones[] = {"polygon", "quadratic"};
    if (argc == 4 && strcmp(argv[1], "--count") == 0) {
        job j = make(&(stand){.boxes = 1, .mu = 0.5, .cone = argv[3]});
        take_steps(&j, atoi(argv[2]));
        drop(&j);
        return 0;
    }
    table t = table_begin("steps", argc, argv);
    for (int c = 0; c < 2; ++c) {
        char name[96];
        const double rest = microseconds((stand){.boxes = 1, .mu = 0.5, .cone = cones[c]}, 20000);
        snprintf(name, sizeof name, "%s: box on a plane, at rest: steps per second", cones[c]);
        table_add(&t, name, 1e6 / rest, "1/s");
        snprintf(name, sizeof name, "%s: box on a plane, at rest", cones[c]);
        table_add(&t, name, rest, "us/step");
        snprintf(name, sizeof name, "%s: box on a plane, sliding", cones[c]);
        table_add(
            &t, name,
            microseconds((stand){.boxes = 1, .speed = 1000.0, .mu = 0.001, .cone = cones[c]}, 5000),
            "us/step");
        /* twice, so that the warm-up drops out */
        double few = instructions(argv[0], 200, cones[c], "perp_sim_step");
        double many = instructions(argv[0], 1200, cones[c], "perp_sim_step");
        snprintf(name, sizeof name, "%s: box on a plane, at rest: instructions per step", cones[c]);
        table_add(&t, name, (many - few) / 1000.0, "(callgrind)");
        few = instructions(argv[0], 200, cones[c], "perpi_sim_account");
        many = instructions(argv[0], 1200, cones[c], "perpi_sim_account");
        snprintf(name, sizeof name, "%s: of these, accounts of energy and momentum", cones[c]);
        table_add(&t, name, (many - few) / 1000.0, "(callgrind)");
        for (int n = 2; n <= 10; n += n < 4 ? 2 : 6) {
            snprintf(name, sizeof name, "%s: stack of %d boxes, at rest (%d contacts)", cones[c], n,
                     4 * n);
            table_add(&t, name,
                      microseconds((stand){.boxes = n, .top = 1.0, .mu = 0.5, .cone = cones[c]},
                                   2000 / (n * n) + 10),
                      "us/step");
        }
    }
    table_add(&t, "quadratic: 1000 kg on 1 kg, at rest",
              microseconds((stand){.boxes = 2, .top = 1000.0, .mu = 0.5, .cone = "quadratic"}, 500),
              "us/step");
    for (int courses = 10; courses <= 20; courses += 10) {
        char name[96];
        snprintf(name, sizeof name, "quadratic: wall of %d bricks", 10 * courses);
        table_add(&t, name,
                  microseconds((stand){.courses = courses, .mu = 0.5, .cone = "quadratic"}, 5),
                  "us/step");
    }
    return table_end(&t);
}
