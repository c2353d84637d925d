/* bench/estimate.c - do the intervals of 95 % contain the truth as often as they say?
 *
 *     bench/estimate [REPEATS | --json FILE]      200 repeats if not given; docs/measurements.md has 1,000
 *
 * The particle of [B09 7.6.1] falls, lands and slides; its trajectory gets uniform noise many
 * times, and friction is estimated with the start known and estimated, at each noise of table 7.1.
 * A sliding block likewise, with normal noise that is given and that is estimated. Prints coverage,
 * bias and spread in predicted standard deviations, and iterations.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/folder.h"
#include "common/table.h"
#include "perp/perp.h"

enum { ROWS = 101 };

typedef struct problem {
    const char* title;
    const char* scene;
    const char* study; /* %.17g: the noise */
    double truth, epsilon;
    bool uniform;
    double row[ROWS][3];
    int columns;
} problem;

static const char particle_scene[] =
    "{\"dimension\": 2, \"gravity\": [0, -9.81], \"step\": 0.05, \"duration\": 5,"
    " \"parameters\": {\"mu\": 0.2}, \"friction\": {\"default\": \"mu\"},"
    " \"bodies\": [{\"name\": \"floor\", \"type\": \"static\","
    "   \"shapes\": [{\"type\": \"halfplane\", \"normal\": [0, 1]}]},"
    "  {\"name\": \"p\", \"mass\": 1, \"position\": [0, 3], \"shapes\": [{\"type\": "
    "\"particle\"}]}],"
    " \"forces\": [{\"type\": \"wrench\", \"body\": \"p\", \"force\": [5, 0]}]}";
static const char particle_known[] =
    "{\"scene\": \"bench-scene.json\", \"data\": \"bench-data.csv\", \"rate\": 20, \"start\": "
    "\"scene\","
    " \"observe\": {\"x\": \"p.position.x\", \"y\": \"p.position.y\"}, \"noise\": %.17g,"
    " \"unknown\": {\"mu\": {\"start\": 1, \"bounds\": [0, 1]}}}";
static const char particle_estimated[] =
    "{\"scene\": \"bench-scene.json\", \"data\": \"bench-data.csv\", \"rate\": 20, \"start\": "
    "\"scene\","
    " \"observe\": {\"x\": \"p.position.x\", \"y\": \"p.position.y\"}, \"noise\": %.17g,"
    " \"unknown\": {\"mu\": {\"start\": 1, \"bounds\": [0, 1]}, \"initial\": [\"p\"]}}";

static const char block_scene[] =
    "{\"dimension\": 2, \"gravity\": [0, -9.81], \"step\": 0.01, \"duration\": 1,"
    " \"parameters\": {\"mu\": 0.3}, \"friction\": {\"default\": \"mu\"},"
    " \"bodies\": [{\"name\": \"floor\", \"type\": \"static\","
    "   \"shapes\": [{\"type\": \"halfplane\", \"normal\": [0, 1]}]},"
    "  {\"name\": \"b\", \"mass\": 1, \"position\": [0, 0.05], \"velocity\": [2, 0],"
    "   \"shapes\": [{\"type\": \"box\", \"size\": [0.2, 0.1]}]}]}";
static const char block_given[] = "{\"scene\": \"bench-scene.json\", \"data\": \"bench-data.csv\", "
                                  "\"rate\": 100, \"start\": \"scene\","
                                  " \"observe\": {\"x\": \"b.position.x\"}, \"noise\": %.17g,"
                                  " \"unknown\": {\"mu\": {\"start\": 0.5, \"bounds\": [0, 2]}}}";
/* the noise is read, but not given */
static const char block_estimated[] =
    "{\"scene\": \"bench-scene.json\", \"data\": \"bench-data.csv\", \"rate\": 100, \"start\": "
    "\"scene\","
    " \"description\": \"%.3g\", \"observe\": {\"x\": \"b.position.x\"},"
    " \"unknown\": {\"mu\": {\"start\": 0.5, \"bounds\": [0, 2]},"
    "   \"initial\": {\"b\": {\"position\": [null, 0], \"velocity\": [null, 0], \"rotation\": 0,"
    "     \"angular_velocity\": 0}}}}";

static void make_particle(problem* p)
{
    const double h = 0.05, g = 9.81, mu = 0.2;
    double x = 0.0, y = 3.0, vx = 0.0, vy = 0.0;
    p->columns = 2;
    for (int k = 0; k < ROWS; ++k) {
        p->row[k][0] = x;
        p->row[k][1] = y;
        const double free = -y / h - (vy - h * g), impulse = free > 0.0 ? free : 0.0;
        vy += impulse - h * g;
        vx += h * 5.0;
        vx -= mu * impulse < vx ? mu * impulse : vx;
        x += h * vx;
        y += h * vy;
    }
}

static void make_block(problem* p)
{
    double x = 0.0, v = 2.0;
    p->columns = 1;
    for (int k = 0; k < ROWS; ++k) {
        p->row[k][0] = x;
        v = v > 0.01 * 0.3 * 9.81 ? v - 0.01 * 0.3 * 9.81 : 0.0;
        x += 0.01 * v;
    }
}

static unsigned long long state = 1;
static double uniform(void) /* of (0, 1): splitmix64 */
{
    unsigned long long z = (state += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return ((double)((z ^ (z >> 31)) >> 11) + 0.5) / 9007199254740992.0;
}

static double noise(const problem* p)
{
    return p->uniform
               ? p->epsilon * (2.0 * uniform() - 1.0)
               : p->epsilon * sqrt(-2.0 * log(uniform())) * cos(6.283185307179586 * uniform());
}

static char folder[BENCH_FOLDER];

static const char* path_of(const char* name)
{
    static char path[BENCH_FOLDER + 100];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_text(const char* path, const char* text)
{
    FILE* f = fopen(path, "w");
    if (f == NULL || fputs(text, f) < 0 || fclose(f) != 0) {
        fprintf(stderr, "cannot write %s\n", path);
        exit(3);
    }
}

static void write_data(const problem* p)
{
    FILE* f = fopen(path_of("bench-data.csv"), "w");
    if (f == NULL) {
        exit(3);
    }
    fprintf(f, "%s\n", p->columns == 2 ? "x,y" : "x");
    for (int k = 0; k < ROWS; ++k) {
        for (int c = 0; c < p->columns; ++c) {
            fprintf(f, "%s%.17g", c > 0 ? "," : "", p->row[k][c] + noise(p));
        }
        fprintf(f, "\n");
    }
    if (fclose(f) != 0) {
        exit(3);
    }
}

typedef struct tally {
    int repeats, inside, failed;
    double bias, spread, deviation, iterations, most;
} tally;

static void repeat(perp_context* context, const problem* p, const char* study_text, tally* t)
{
    perp_study* study = NULL;
    perp_estimate* found = NULL;
    perp_estimate_def def = perp_estimate_def_default();
    def.jobs = 1;
    write_data(p);
    t->repeats += 1;
    if (perp_study_parse(context, study_text, strlen(study_text), path_of("bench.json"), &study) !=
            PERP_OK ||
        perp_estimate_run(context, study, &def, &found) != PERP_OK ||
        !perp_estimate_converged(found)) {
        t->failed += 1;
    } else {
        const perp_estimated x = perp_estimate_value(found, 0);
        const double off = (x.value - p->truth) / x.deviation;
        const char* at = strstr(perp_estimate_json(found), "\"iterations\":");
        const double iterations = at != NULL ? atof(at + 13) : NAN;
        t->inside += x.low <= p->truth && p->truth <= x.high;
        t->bias += off;
        t->spread += off * off;
        t->deviation += x.deviation;
        t->iterations += iterations;
        t->most = iterations > t->most ? iterations : t->most;
    }
    perp_estimate_destroy(found);
    perp_study_destroy(study);
}

static void run(perp_context* context, problem* p, int repeats, table* out)
{
    char study[2000];
    tally t = {0};
    write_text(path_of("bench-scene.json"), p->scene);
    (void)snprintf(study, sizeof study, p->study, p->uniform ? p->epsilon / sqrt(3.0) : p->epsilon);
    for (int i = 0; i < repeats; ++i) {
        repeat(context, p, study, &t);
    }
    const double good = t.repeats - t.failed;
    printf("%-36s %8.0e %6d %6.1f %% %9.2e %7.3f %7.3f %8.1f %5.0f %7d\n", p->title, p->epsilon,
           t.repeats, 100.0 * t.inside / t.repeats, t.deviation / good, t.bias / good,
           sqrt(t.spread / good), t.iterations / good, t.most, t.failed);
    (void)fflush(stdout);
    if (out->json != NULL) {
        char name[100];
        (void)snprintf(name, sizeof name, "%s, %.0e: in 95 %%", p->title, p->epsilon);
        table_add(out, name, 100.0 * t.inside / t.repeats, "%");
    }
}

int main(int argc, char** argv)
{
    static const double level[] = {5e-5, 5e-4, 5e-3, 5e-2, 5e-1};
    const int given = argc == 2 ? atoi(argv[1]) : 0, repeats = given > 0 ? given : 200;
    table out = {0};
    if (given <= 0) {
        out = table_begin("estimate", argc, argv);
    }
    perp_context* context = NULL;
    problem p = {.scene = particle_scene, .truth = 0.2, .uniform = true};
    if (!bench_folder_make(folder, "perp-bench") ||
        perp_context_create(NULL, &context) != PERP_OK) {
        return 2;
    }
    printf("%-36s %8s %6s %8s %9s %7s %7s %8s %5s %7s\n", "estimate of friction", "noise", "runs",
           "in 95 %", "deviation", "bias", "spread", "iter.", "most", "failed");
    make_particle(&p);
    for (size_t i = 0; i < sizeof level / sizeof level[0]; ++i) {
        p.epsilon = level[i];
        p.title = "particle, start known";
        p.study = particle_known;
        run(context, &p, repeats, &out);
        p.title = "particle, start estimated";
        p.study = particle_estimated;
        run(context, &p, repeats, &out);
    }
    p = (problem){.scene = block_scene, .truth = 0.3, .epsilon = 1e-3};
    make_block(&p);
    p.title = "block, noise given";
    p.study = block_given;
    run(context, &p, repeats, &out);
    p.title = "block, noise and start estimated";
    p.study = block_estimated;
    run(context, &p, repeats, &out);
    (void)unlink(path_of("bench-scene.json"));
    (void)unlink(path_of("bench-data.csv"));
    (void)rmdir(folder);
    perp_context_destroy(context);
    return given > 0 ? 0 : table_end(&out);
}
