/* bench/polygons.c - polygons in contact: cost of finding features, of a step, and many tosses.
 *
 * 1. Two polygons of n vertices that touch locally: time of the narrow phase against n, and the slope
 *    of log(time) over log(n), by least squares. Testing all pairs of features would give 2.
 * 2. Random tosses at h = 0.01: how many meet, the deepest overlap, fallbacks, contacts found and
 *    microseconds per step.
 *
 * usage: polygons [--json FILE]
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collide/collide.h"
#include "contact/rules.h"
#include "common/table.h"
#include "common/toss.h"
#include "perp/perp.h"

enum { TOSSES = 10000 };

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
        fprintf(stderr, "polygons: %s\n", perp_context_error(context));
        exit(1);
    }
}

static perp_shape_def ellipse(double* v, int n, double rx, double ry, double jitter)
{
    for (int i = 0; i < n; ++i) {
        const double angle = 2.0 * M_PI * (i + uniform(0.0, jitter)) / n;
        v[2 * i] = rx * cos(angle);
        v[2 * i + 1] = ry * sin(angle);
    }
    perp_shape_def def = perp_shape_def_default(PERP_SHAPE_POLYGON);
    def.vertices = v;
    def.vertex_count = n;
    return def;
}

/* Microseconds to find the features of two polygons that touch; *touches: how many. */
static double time_pair(perp_context* context, int n, size_t* candidates)
{
    double v[2 * PERP_POLYGON_LIMIT];
    perpi_shape a, b;
    perp_shape_def def = ellipse(v, n, 1.0, 1.0, 0.0);
    require(perpi_shape_make(context, &def, 2, &a), context);
    def = ellipse(v, n, 1.0, 0.7, 0.0);
    require(perpi_shape_make(context, &def, 2, &b), context);
    perpi_candidate_list list = {.context = context, .rule = &perpi_rule_peg};
    bool flipped;
    const perpi_pair_fn find = perpi_pair_find(true, a.type, b.type, &flipped);
    const perpi_pose pa = {v3(0, 0, 0), q4_identity(), m3_identity()};
    perpi_pose pb = {v3(2.0, 0, 0), q4_identity(), m3_identity()};
    double best = INFINITY;
    for (int round = 0; round < 5; ++round) {
        const double begin = table_seconds();
        for (int i = 0; i < 200; ++i) {
            list.count = 0;
            pb.x.y = 1e-3 * i;
            require(find(&a, &pa, &b, &pb, 0.005, &list), context);
        }
        best = fmin(best, (table_seconds() - begin) / 200);
    }
    *candidates = list.count;
    perpi_free(context, list.item);
    perpi_shape_free(context, &a);
    perpi_shape_free(context, &b);
    return 1e6 * best;
}

static void growth(table* t, perp_context* context)
{
    double sx = 0, sy = 0, sxx = 0, sxy = 0;
    int count = 0;
    for (int n = 8; n <= 1000; n = n < 512 ? 2 * n : n == 512 ? 1000 : 1001) {
        size_t candidates;
        const double us = time_pair(context, n, &candidates);
        char name[64];
        snprintf(name, sizeof name, "features of two polygons with %d vertices", n);
        table_add(t, name, us, "us");
        const double x = log(n), y = log(us);
        sx += x;
        sy += y;
        sxx += x * x;
        sxy += x * y;
        count += 1;
    }
    table_add(t, "fitted exponent in the number of vertices",
              (count * sxy - sx * sy) / (count * sxx - sx * sx), "");
}

static void toss(perp_context* context, double mu, toss_sum* sum)
{
    perp_model_def how = perp_model_def_default();
    how.dimension = 2;
    how.friction_default = mu;
    memset(how.gravity, 0, sizeof how.gravity);
    perp_model* model = NULL;
    require(perp_model_create(context, &how, &model), context);
    const double way = uniform(0, 2 * M_PI), aim = way + uniform(-0.3, 0.3),
                 speed = uniform(0.5, 3);
    for (int k = 0; k < 2; ++k) {
        double v[24];
        const perp_shape_def shape =
            ellipse(v, 3 + (int)uniform(0, 6), uniform(0.1, 0.3), uniform(0.1, 0.3), 0.7);
        perp_body_def body = perp_body_def_default();
        body.name = k == 0 ? "a" : "b";
        body.type = PERP_BODY_DYNAMIC;
        body.density = 1.0;
        body.angle = uniform(0, 6);
        body.angular_velocity[2] = uniform(-3, 3);
        body.shapes = &shape;
        body.shape_count = 1;
        if (k == 1) {
            body.position[0] = cos(way);
            body.position[1] = sin(way);
            body.velocity[0] = -speed * cos(aim);
            body.velocity[1] = -speed * sin(aim);
        }
        require(perp_model_add_body(model, &body, NULL), context);
    }
    require(toss_run(context, model, 1.5 / speed, sum), context);
    perp_model_destroy(model);
}

int main(int argc, char** argv)
{
    table t = table_begin("polygons", argc, argv);
    perp_context* context = NULL;
    if (perp_context_create(NULL, &context) != PERP_OK) {
        return 1;
    }
    growth(&t, context);
    toss_sum sum = {0};
    for (int i = 0; i < TOSSES; ++i) {
        state = (uint64_t)i + 1;
        toss(context, i % 2 == 0 ? 0.0 : 0.4, &sum);
    }
    toss_report(&t, &sum, "step with two polygons");
    perp_context_destroy(context);
    return table_end(&t);
}
