/* bench/polyhedra.c - polyhedra in contact: cost of finding features, of a step, and many tosses.
 *
 * 1. Two round bodies of n vertices that touch locally: time of the narrow phase against n, and the
 *    slope of log(time) over log(n), by least squares. Testing all pairs of features would give 2.
 * 2. A stack of ten staggered cubes over 5,000 steps: gaps and drift.
 * 3. Ten polyhedra in a box: microseconds of a step with peg and with corrective over 5 s. And at equal
 *    contacts: 25 piles of a prism on a prism on a floor, 1e-11 deep, so that they enter the
 *    corrective model, too.
 * 4. Random tosses at h = 0.01: how many meet, the deepest overlap, fallbacks, contacts found.
 *
 * usage: polyhedra [--json FILE]
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collide/collide.h"
#include "contact/rules.h"
#include "common/table.h"
#include "common/toss.h"
#include "perp/perp.h"

enum { TOSSES = 10000, STACK = 10, POURED = 10, WALLS = 5, PILES = 25, REPEATS = 20, POSES = 20 };

static uint64_t state = 1;

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
        fprintf(stderr, "polyhedra: %s\n", perp_context_error(context));
        exit(1);
    }
}

/* ---- 1: growth ------------------------------------------------------------------------------------- */

/* n points spread evenly over an ellipsoid. */
static perpi_shape make_round(perp_context* context, int n, double rx, double rz)
{
    double* v = malloc(3 * (size_t)n * sizeof *v);
    if (v == NULL) {
        exit(1);
    }
    for (int i = 0; i < n; ++i) {
        const double z = 1.0 - (2.0 * i + 1.0) / n, angle = i * M_PI * (3.0 - sqrt(5.0));
        v[3 * i] = rx * sqrt(1.0 - z * z) * cos(angle);
        v[3 * i + 1] = rx * sqrt(1.0 - z * z) * sin(angle);
        v[3 * i + 2] = rz * z;
    }
    perp_shape_def def = perp_shape_def_default(PERP_SHAPE_POLYHEDRON);
    def.vertices = v;
    def.vertex_count = n;
    perpi_shape shape;
    require(perpi_shape_make(context, &def, 3, &shape), context);
    free(v);
    return shape;
}

/* b any way round and anywhere about a, 0.001 apart. */
static perpi_pose touching(perp_context* context, perpi_pair_fn find, const perpi_shape* a,
                           const perpi_pose* pose_a, const perpi_shape* b)
{
    const vec3 way = v3_unit(v3(uniform(-1, 1), uniform(-1, 1), uniform(-1, 1)));
    const quat q = q4_exp(v3(uniform(-3, 3), uniform(-3, 3), uniform(-3, 3)));
    perpi_pose pose = {v3_scale(3.0, way), q, q4_matrix(q)};
    perpi_candidate_list probe = {.context = context, .rule = &perpi_rule_peg, .turn = INFINITY};
    double lo = 1.5, hi = 2.1;
    for (int k = 0; k < 16; ++k) {
        pose.x = v3_scale(0.5 * (lo + hi), way);
        probe.count = 0;
        require(find(a, pose_a, b, &pose, 0.001, &probe), context);
        if (probe.count > 0) {
            lo = 0.5 * (lo + hi);
        } else {
            hi = 0.5 * (lo + hi);
        }
    }
    pose.x = v3_scale(lo, way);
    perpi_free(context, probe.item);
    return pose;
}

/* Microseconds to find the features of two bodies that touch; *touches: how many. */
static double time_pair(perp_context* context, int n, double* candidates)
{
    perpi_shape a = make_round(context, n, 1.0, 1.0), b = make_round(context, n, 0.8, 1.0);
    perpi_candidate_list list = {.context = context, .rule = &perpi_rule_peg, .turn = 0.005};
    bool flipped;
    const perpi_pair_fn find = perpi_pair_find(true, a.type, b.type, &flipped);
    const perpi_pose pose_a = {v3(0, 0, 0), q4_identity(), m3_identity()};
    perpi_pose pose[POSES];
    double best = INFINITY;
    state = 7;
    for (int i = 0; i < POSES; ++i) {
        pose[i] = touching(context, find, &a, &pose_a, &b);
    }
    for (int round = 0; round < 10; ++round) {
        double found = 0.0;
        const double begin = table_seconds();
        for (int i = 0; i < 10 * POSES; ++i) {
            list.count = 0;
            require(find(&a, &pose_a, &b, &pose[i % POSES], 0.005, &list), context);
            found += (double)list.count;
        }
        best = fmin(best, (table_seconds() - begin) / (10 * POSES));
        *candidates = found / (10 * POSES);
    }
    perpi_free(context, list.item);
    perpi_shape_free(context, &a);
    perpi_shape_free(context, &b);
    return 1e6 * best;
}

static void growth(table* t, perp_context* context)
{
    const int count[] = {10, 20, 50, 100, 200, 500, 1000};
    const int n = (int)(sizeof count / sizeof count[0]);
    double sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (int i = 0; i < n; ++i) {
        double candidates;
        const double us = time_pair(context, count[i], &candidates);
        char name[64];
        snprintf(name, sizeof name, "features of two bodies with %d vertices", count[i]);
        table_add(t, name, us, "us");
        snprintf(name, sizeof name, "  found, on average");
        table_add(t, name, candidates, "");
        const double x = log(count[i]), y = log(us);
        sx += x;
        sy += y;
        sxx += x * x;
        sxy += x * y;
    }
    table_add(t, "fitted exponent in the number of vertices",
              (n * sxy - sx * sy) / (n * sxx - sx * sx), "");
}

/* ---- scenes ----------------------------------------------------------------------------------------- */

static perp_model* make_model(perp_context* context, double gravity, double mu)
{
    perp_model_def how = perp_model_def_default();
    perp_model* model = NULL;
    how.dimension = 3;
    how.friction_default = mu;
    memset(how.gravity, 0, sizeof how.gravity);
    how.gravity[2] = -gravity;
    require(perp_model_create(context, &how, &model), context);
    return model;
}

static void add_box(perp_context* context, perp_model* model, bool moves, const double* at,
                    const double* size)
{
    static int number;
    char name[32];
    perp_shape_def shape = perp_shape_def_default(PERP_SHAPE_BOX);
    perp_body_def body = perp_body_def_default();
    memcpy(shape.size, size, sizeof shape.size);
    memcpy(body.position, at, sizeof body.position);
    snprintf(name, sizeof name, "box%d", number++);
    body.name = name;
    body.type = moves ? PERP_BODY_DYNAMIC : PERP_BODY_STATIC;
    if (moves) {
        body.density = 1.0;
    }
    body.shapes = &shape;
    body.shape_count = 1;
    require(perp_model_add_body(model, &body, NULL), context);
}

/* ---- 2: the stack ------------------------------------------------------------------------------------ */

static void stack(table* t, perp_context* context)
{
    const double x[STACK] = {0.0312,  -0.0871, 0.0534,  -0.0106, 0.0925,
                             -0.0448, 0.0067,  -0.0753, 0.0688,  -0.0291};
    const double unit[3] = {1, 1, 1};
    perp_model* model = make_model(context, 9.81, 0.0);
    for (int i = 0; i < STACK; ++i) {
        const double at[3] = {x[i], x[(i + 3) % STACK], 1.25 * i};
        add_box(context, model, i > 0, at, unit);
    }
    perp_sim_def def = perp_sim_def_default();
    def.contact = "peg";
    def.step = 0.005;
    def.margin = 0.07;
    def.duration = 25.0;
    perp_sim* sim = NULL;
    require(perp_sim_create(context, model, &def, &sim), context);
    const double begin = table_seconds();
    int fallbacks = 0;
    while (!perp_sim_finished(sim)) {
        require(perp_sim_step(sim), context);
        fallbacks += perp_sim_step_info(sim).fallbacks;
    }
    const double seconds = table_seconds() - begin;
    double gap = 0.0, drift = 0.0;
    for (int32_t i = 0; i < STACK; ++i) {
        const perp_body_state b = perp_sim_body(sim, i);
        gap = fmax(gap, fabs(b.position[2] - i));
        drift = fmax(drift, hypot(b.position[0] - x[i], b.position[1] - x[(i + 3) % STACK]));
    }
    table_add(t, "stack of ten cubes, 5,000 steps: largest gap", gap, "m");
    table_add(t, "  drift", drift, "m");
    table_add(t, "  fallbacks", fallbacks, "");
    table_add(t, "  a step", 1e6 * seconds / 5000, "us");
    perp_sim_destroy(sim);
    perp_model_destroy(model);
}

/* ---- 3: the box --------------------------------------------------------------------------------------- */

static perp_model* poured(perp_context* context)
{
    static const double at[WALLS][3] = {
        {0, 0, -0.5}, {1.1, 0, 4}, {-1.1, 0, 4}, {0, 1.1, 4}, {0, -1.1, 4}};
    static const double wide[WALLS][3] = {
        {3, 3, 1}, {1, 3, 10}, {1, 3, 10}, {3, 1, 10}, {3, 1, 10}};
    perp_model* model = make_model(context, 9.81, 0.0);
    for (int i = 0; i < WALLS; ++i) {
        add_box(context, model, false, at[i], wide[i]);
    }
    state = 11;
    for (int i = 0; i < POURED; ++i) {
        double v[30];
        for (int k = 0; k < 30; ++k) {
            v[k] = uniform(-0.25, 0.25);
        }
        char name[32];
        perp_shape_def shape = perp_shape_def_default(PERP_SHAPE_POLYHEDRON);
        perp_body_def body = perp_body_def_default();
        shape.vertices = v;
        shape.vertex_count = 10;
        snprintf(name, sizeof name, "p%d", i);
        body.name = name;
        body.type = PERP_BODY_DYNAMIC;
        body.density = 1.0;
        body.position[0] = i % 2 == 0 ? 0.29 : -0.29;
        body.position[1] = i % 4 < 2 ? 0.29 : -0.29;
        body.position[2] = 0.5 + 0.25 * i;
        body.shapes = &shape;
        body.shape_count = 1;
        require(perp_model_add_body(model, &body, NULL), context);
    }
    return model;
}

static void box(table* t, perp_context* context)
{
    static const char* const name[] = {"peg", "corrective"};
    for (int k = 0; k < 2; ++k) {
        perp_model* model = poured(context);
        perp_sim_def def = perp_sim_def_default();
        perp_sim* sim = NULL;
        def.contact = name[k];
        def.step = 0.01;
        def.duration = 5.0;
        require(perp_sim_create(context, model, &def, &sim), context);
        double wall = 0.0, found = 0.0, steps = 0.0;
        while (!perp_sim_finished(sim)) {
            const double begin = table_seconds();
            require(perp_sim_step(sim), context);
            wall += table_seconds() - begin;
            found += perp_sim_step_info(sim).candidates;
            steps += 1.0;
        }
        char line[64];
        snprintf(line, sizeof line, "ten polyhedra in a box, %s: a step", name[k]);
        table_add(t, line, 1e6 * wall / steps, "us");
        table_add(t, "  contacts in its problem", found / steps, "");
        table_add(t, "  contacts found", found / wall, "1/s");
        perp_sim_destroy(sim);
        perp_model_destroy(model);
    }
}

/* Prisms of six sides, the upper one smaller and turned: six vertices over a face each. */
static perp_model* piles(perp_context* context)
{
    const double at[3] = {0, 0, -0.5}, wide[3] = {30, 30, 1}, deep = 1e-11;
    perp_model* model = make_model(context, 9.81, 0.0);
    add_box(context, model, false, at, wide);
    for (int i = 0; i < 2 * PILES; ++i) {
        const double r = i % 2 == 0 ? 0.5 : 0.4;
        double v[36];
        for (int k = 0; k < 12; ++k) {
            v[3 * k] = r * cos((k % 6 + 0.3 * (i % 2)) * M_PI / 3.0);
            v[3 * k + 1] = r * sin((k % 6 + 0.3 * (i % 2)) * M_PI / 3.0);
            v[3 * k + 2] = k < 6 ? 0.25 : -0.25;
        }
        char name[32];
        perp_shape_def shape = perp_shape_def_default(PERP_SHAPE_POLYHEDRON);
        perp_body_def body = perp_body_def_default();
        shape.vertices = v;
        shape.vertex_count = 12;
        snprintf(name, sizeof name, "prism%d", i);
        body.name = name;
        body.type = PERP_BODY_DYNAMIC;
        body.density = 1.0;
        body.position[0] = 2.0 * (i / 2 % 5) - 4.0;
        body.position[1] = 2.0 * (i / 10) - 4.0;
        body.position[2] = i % 2 == 0 ? 0.25 - deep : 0.75 - 2.0 * deep;
        body.shapes = &shape;
        body.shape_count = 1;
        require(perp_model_add_body(model, &body, NULL), context);
    }
    return model;
}

/* The same step again and again; the best of them. */
static void equal(table* t, perp_context* context)
{
    static const char* const name[] = {"peg", "corrective"};
    double seconds[2];
    for (int k = 0; k < 2; ++k) {
        perp_model* model = piles(context);
        perp_sim_def def = perp_sim_def_default();
        perp_sim* sim = NULL;
        size_t size = 0;
        def.contact = name[k];
        require(perp_sim_create(context, model, &def, &sim), context);
        require(perp_sim_save(sim, NULL, &size), context);
        void* bytes = malloc(size);
        require(bytes == NULL ? PERP_ERROR_MEMORY : perp_sim_save(sim, bytes, &size), context);
        seconds[k] = INFINITY;
        for (int i = 0; i < REPEATS; ++i) {
            require(perp_sim_restore(sim, bytes, size), context);
            const double begin = table_seconds();
            require(perp_sim_step(sim), context);
            seconds[k] = fmin(seconds[k], table_seconds() - begin);
        }
        char line[80];
        snprintf(line, sizeof line, "25 piles of prisms, %s: a step", name[k]);
        table_add(t, line, 1e6 * seconds[k], "us");
        table_add(t, "  contacts in its problem", perp_sim_step_info(sim).candidates, "");
        free(bytes);
        perp_sim_destroy(sim);
        perp_model_destroy(model);
    }
    table_add(t, "peg over corrective, at equal contacts", seconds[0] / seconds[1], "");
}

/* ---- 4: tosses ------------------------------------------------------------------------------------------ */

static vec3 direction(void)
{
    for (;;) {
        const vec3 u = v3(uniform(-1, 1), uniform(-1, 1), uniform(-1, 1));
        const double r = v3_norm(u);
        if (r <= 1.0 && r > 0.1) {
            return v3_scale(1.0 / r, u);
        }
    }
}

static void toss(perp_context* context, bool floor, double mu, toss_sum* sum)
{
    perp_model* model = make_model(context, 0.0, mu);
    vec3 way = direction();
    const double speed = uniform(0.5, 3);
    if (floor) {
        const double at[3] = {0, 0, -0.6}, size[3] = {4, 4, 1};
        way.z = fabs(way.z) + 0.3;
        add_box(context, model, false, at, size);
    }
    for (int k = floor ? 1 : 0; k < 2; ++k) {
        double v[36];
        const int n = 4 + (int)uniform(0, 9);
        const double r[3] = {uniform(0.15, 0.3), uniform(0.15, 0.3), uniform(0.15, 0.3)};
        for (int i = 0; i < n; ++i) {
            const vec3 u = direction();
            v[3 * i] = r[0] * u.x;
            v[3 * i + 1] = r[1] * u.y;
            v[3 * i + 2] = r[2] * u.z;
        }
        perp_shape_def shape = perp_shape_def_default(PERP_SHAPE_POLYHEDRON);
        perp_body_def body = perp_body_def_default();
        shape.vertices = v;
        shape.vertex_count = n;
        body.name = k == 0 ? "a" : "b";
        body.type = PERP_BODY_DYNAMIC;
        body.density = 1.0;
        body.shapes = &shape;
        body.shape_count = 1;
        v3_to(v3(uniform(-3, 3), uniform(-3, 3), uniform(-3, 3)), body.angular_velocity);
        if (k == 1) {
            v3_to(way, body.position);
            v3_to(v3_scale(-speed, way), body.velocity);
        }
        require(perp_model_add_body(model, &body, NULL), context);
    }
    require(toss_run(context, model, 1.2 / speed, sum), context);
    perp_model_destroy(model);
}

int main(int argc, char** argv)
{
    table t = table_begin("polyhedra", argc, argv);
    perp_context* context = NULL;
    if (perp_context_create(NULL, &context) != PERP_OK) {
        return 1;
    }
    growth(&t, context);
    stack(&t, context);
    box(&t, context);
    equal(&t, context);
    toss_sum sum = {0};
    for (int i = 0; i < TOSSES; ++i) {
        state = (uint64_t)i + 1;
        toss(context, i % 3 == 0, i % 2 == 0 ? 0.0 : 0.4, &sum);
    }
    toss_report(&t, &sum, "step of a toss");
    perp_context_destroy(context);
    return table_end(&t);
}
