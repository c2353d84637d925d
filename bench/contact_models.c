/* bench/contact_models.c - what a step costs under PEG and under the corrective model at equal contacts.
 *
 * Equal contacts: the same bodies at the same place, at rest on each other and enlarged by 1e-7 of
 * their size, so that every load-bearing contact is violated and enters the corrective model. The
 * same step is repeated from there without a warm start. The contacts with an impulse are then the
 * same; PEG has further members of groups, which is its additional cost. The least of five means,
 * processor time. The paper's ratio of solve times, at unequal contacts, is 1.85 [W14 5.2.4].
 *
 * usage: contact_models [--json FILE]
 *        contact_models MODEL CASE STEPS    one case so many times, for a profiler; CASE counts from 0
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/table.h"
#include "perp/perp.h"

enum { PILE = 20, STACK = 10, REPEAT = 200, ROUNDS = 5 };

static const double SWELL = 1e-7;

static uint64_t state;

static double uniform(double lo, double hi) /* splitmix64 */
{
    uint64_t z = (state += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return lo + (hi - lo) * (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static void require(perp_status status, perp_context* context)
{
    if (status != PERP_OK) {
        fprintf(stderr, "contact_models: %s\n", perp_context_error(context));
        exit(1);
    }
}

static double processor_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

typedef struct block {
    double vertex[2 * 16];
    int32_t count;
    double x, y, angle;
} block;

static perp_model* make_model(perp_context* context, const block* b, int n, double mu, double swell)
{
    perp_model_def how = perp_model_def_default();
    how.dimension = 2;
    how.friction_default = mu;
    how.gravity[0] = how.gravity[2] = 0.0;
    how.gravity[1] = -9.81;
    perp_model* model = NULL;
    require(perp_model_create(context, &how, &model), context);
    static const double wall[3][4] = {{0, -0.5, 5, 1}, {-1.3, 4, 1, 10}, {1.3, 4, 1, 10}};
    for (int i = 0; i < 3; ++i) {
        perp_shape_def shape = perp_shape_def_default(PERP_SHAPE_BOX2);
        shape.size[0] = wall[i][2];
        shape.size[1] = wall[i][3];
        perp_body_def body = perp_body_def_default();
        body.name = i == 0 ? "floor" : i == 1 ? "left" : "right";
        body.position[0] = wall[i][0];
        body.position[1] = wall[i][1];
        body.shapes = &shape;
        body.shape_count = 1;
        require(perp_model_add_body(model, &body, NULL), context);
    }
    for (int i = 0; i < n; ++i) {
        double v[32];
        for (int k = 0; k < 2 * b[i].count; ++k) {
            v[k] = (1.0 + swell) * b[i].vertex[k];
        }
        perp_shape_def shape = perp_shape_def_default(PERP_SHAPE_POLYGON);
        shape.vertices = v;
        shape.vertex_count = b[i].count;
        char name[16];
        snprintf(name, sizeof name, "b%d", i);
        perp_body_def body = perp_body_def_default();
        body.name = name;
        body.type = PERP_BODY_DYNAMIC;
        body.density = 1.0;
        body.position[0] = b[i].x;
        body.position[1] = b[i].y;
        body.angle = b[i].angle;
        body.shapes = &shape;
        body.shape_count = 1;
        require(perp_model_add_body(model, &body, NULL), context);
    }
    return model;
}

static perp_sim* make_sim(perp_context* context, const perp_model* model, const char* contact,
                          double duration)
{
    perp_sim_def def = perp_sim_def_default();
    def.contact = contact;
    def.step = 0.005;
    def.duration = duration;
    perp_sim* sim = NULL;
    require(perp_sim_create(context, model, &def, &sim), context);
    return sim;
}

/* Polygons about their centre of mass, settled in the bin. */
static void drop_into_bin(perp_context* context, block* b)
{
    state = 7;
    for (int i = 0; i < PILE; ++i) {
        b[i] = (block){.count = 3 + (int)uniform(0, 6)};
        const double rx = uniform(0.1, 0.25), ry = uniform(0.1, 0.25);
        for (int k = 0; k < b[i].count; ++k) {
            const double angle = 2 * M_PI * (k + uniform(0, 0.7)) / b[i].count;
            b[i].vertex[2 * k] = rx * cos(angle);
            b[i].vertex[2 * k + 1] = ry * sin(angle);
        }
        b[i].x = -0.5 + 0.5 * (i % 3);
        b[i].y = 0.4 + 0.55 * (i / 3);
    }
    perp_model* model = make_model(context, b, PILE, 0.3, 0.0);
    perp_sim* sim = make_sim(context, model, "peg", 4.0);
    while (!perp_sim_finished(sim)) {
        require(perp_sim_step(sim), context);
    }
    for (int i = 0; i < PILE; ++i) {
        /* the body's frame is its centre of mass, the shape's is where the vertices count from */
        const perp_body_state s = perp_sim_body(sim, 3 + i);
        const perp_shape_def shape = perp_model_body_shape(model, 3 + i, 0);
        const double c = cos(s.angle), n = sin(s.angle);
        b[i].x = s.position[0] + c * shape.position[0] - n * shape.position[1];
        b[i].y = s.position[1] + n * shape.position[0] + c * shape.position[1];
        b[i].angle = s.angle;
    }
    perp_sim_destroy(sim);
    perp_model_destroy(model);
}

static void stack(block* b)
{
    for (int i = 0; i < STACK; ++i) {
        const double half = 0.25, x[] = {half, half, -half, -half},
                     y[] = {-half, half, half, -half};
        b[i] = (block){.count = 4, .x = 0.02 * ((7 * i) % 5 - 2), .y = half + 2 * half * i};
        for (int k = 0; k < 4; ++k) {
            b[i].vertex[2 * k] = x[k];
            b[i].vertex[2 * k + 1] = y[k];
        }
    }
}

typedef struct figures {
    double us;
    int32_t found, pushing, groups;
} figures;

static figures measure(perp_context* context, const block* b, int n, double mu, const char* contact,
                       int steps, int rounds)
{
    perp_model* model = make_model(context, b, n, mu, SWELL);
    perp_sim* sim = make_sim(context, model, contact, 1.0);
    size_t size = 0;
    require(perp_sim_save(sim, NULL, &size), context);
    void* start = malloc(size);
    if (start == NULL) {
        exit(1);
    }
    require(perp_sim_save(sim, start, &size), context);
    figures f = {.us = INFINITY};
    for (int round = 0; round < rounds; ++round) {
        const double begin = processor_seconds();
        for (int i = 0; i < steps; ++i) {
            require(perp_sim_restore(sim, start, size), context);
            require(perp_sim_step(sim), context);
        }
        f.us = fmin(f.us, 1e6 * (processor_seconds() - begin) / steps);
    }
    const perp_step_info info = perp_sim_step_info(sim);
    f.found = info.candidates;
    f.pushing = info.contacts;
    f.groups = perp_sim_problem(sim)->group_count;
    free(start);
    perp_sim_destroy(sim);
    perp_model_destroy(model);
    return f;
}

int main(int argc, char** argv)
{
    /* a power of two of them */
    static const struct {
        const char* name;
        bool pile;
        double mu;
    } cases[] = {{"stack of 10", false, 0.0},
                 {"stack of 10, mu 0.3", false, 0.3},
                 {"pile of 20", true, 0.0},
                 {"pile of 20, mu 0.3", true, 0.3}};
    enum { CASES = sizeof cases / sizeof cases[0] };
    perp_context* context = NULL;
    if (perp_context_create(NULL, &context) != PERP_OK) {
        return 1;
    }
    const bool one = argc == 4 && argv[1][0] != '-';
    table t = {0};
    if (!one) {
        t = table_begin("contact_models", argc, argv);
    }
    block boxes[STACK], polygons[PILE];
    stack(boxes);
    if (!one || cases[atoi(argv[2]) & (CASES - 1)].pile) {
        drop_into_bin(context, polygons);
    }
    for (int i = 0; i < CASES; ++i) {
        const block* b = cases[i].pile ? polygons : boxes;
        const int n = cases[i].pile ? PILE : STACK;
        if (one) {
            if (atoi(argv[2]) == i) {
                const figures f = measure(context, b, n, cases[i].mu, argv[1], atoi(argv[3]), 1);
                printf("%s, %s: %d contacts found, %d push, %d groups\n", argv[1], cases[i].name,
                       f.found, f.pushing, f.groups);
            }
            continue;
        }
        static const char* const model[] = {"corrective", "standard", "peg"};
        double us[3];
        for (int k = 0; k < 3; ++k) {
            const figures f = measure(context, b, n, cases[i].mu, model[k], REPEAT, ROUNDS);
            char name[96];
            us[k] = f.us;
            snprintf(name, sizeof name, "%s, %s: a step", cases[i].name, model[k]);
            table_add(&t, name, f.us, "us");
            snprintf(name, sizeof name, "%s, %s: contacts found", cases[i].name, model[k]);
            table_add(&t, name, f.found, "");
            snprintf(name, sizeof name, "%s, %s: contacts that push", cases[i].name, model[k]);
            table_add(&t, name, f.pushing, "");
        }
        char name[96];
        snprintf(name, sizeof name, "%s: step with peg over step with corrective", cases[i].name);
        table_add(&t, name, us[2] / us[0], "");
    }
    perp_context_destroy(context);
    return one ? 0 : table_end(&t);
}
