/* bench/broad_phase.c - how the cost of finding contacts grows with the number of bodies.
 *
 * Equal boxes in random poses at constant density: the pairs grow like n, so the time should grow
 * like n log n. The fitted exponent is the slope of log(time) over log(n), by least squares.
 *
 * usage: broad_phase [--json FILE] [--max N]
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collide/broad.h"
#include "collide/collide.h"

enum { MOST = 8 };

typedef struct row {
    size_t n, pairs, contacts;
    double broad_us, all_us; /* per call, the best of several */
} row;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

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
        fprintf(stderr, "broad_phase: %s\n", perp_context_error(context));
        exit(1);
    }
}

/* A model by hand: the public way checks that names are unique, which is not what is timed here. */
static perp_model make_model(perp_context* context, size_t n)
{
    perp_model model = {.context = context, .dimension = 3, .body_count = n, .shape_count = n};
    require(perpi_alloc(context, n, sizeof *model.body, &model.body), context);
    require(perpi_alloc(context, n, sizeof *model.shape, &model.shape), context);
    for (size_t i = 0; i < n; ++i) {
        model.body[i].type = PERP_BODY_DYNAMIC;
        model.body[i].shape = (int32_t)i;
        model.body[i].shape_count = 1;
        model.shape[i] = (perpi_shape){
            .type = PERP_SHAPE_BOX,
            .half = {0.5, 0.5, 0.5},
            .local = {.q = q4_identity(), .R = m3_identity()},
        };
    }
    return model;
}

static row measure(perp_context* context, size_t n)
{
    perp_model model = make_model(context, n);
    perpi_collider* collider = NULL;
    perpi_pose* pose = NULL;
    double* margin = NULL;
    perpi_broad broad = {.context = context};
    require(perpi_collider_create(context, &model, &collider), context);
    require(perpi_alloc(context, n, sizeof *pose, &pose), context);
    require(perpi_alloc(context, n, sizeof *margin, &margin), context);
    require(perpi_grow(context, &broad.item, &broad.item_capacity, n, sizeof *broad.item), context);

    /* a cube in which every body has a volume of 2 to itself */
    const double side = cbrt(2.0 * (double)n);
    for (size_t i = 0; i < n; ++i) {
        const double x = uniform(0, side), y = uniform(0, side), z = uniform(0, side);
        const double rx = uniform(-2, 2), ry = uniform(-2, 2);
        const quat q = q4_exp(v3(rx, ry, uniform(-2, 2)));
        pose[i] = (perpi_pose){v3(x, y, z), q, q4_matrix(q)};
        margin[i] = 0.01;
    }

    row r = {.n = n, .broad_us = INFINITY, .all_us = INFINITY};
    const perpi_candidate* candidate = NULL;
    const int repeats = n < 10000 ? 20 : 5;
    for (int k = 0; k < repeats; ++k) {
        broad.item_count = n;
        broad.pair_count = 0;
        const double t0 = now();
        for (size_t i = 0; i < n; ++i) {
            const perpi_shape_ops* ops = perpi_shape_ops_of(model.shape[i].type);
            broad.item[i] = (perpi_broad_item){ops->bounds(&model.shape[i], &pose[i]), (int32_t)i,
                                               (int32_t)i, true};
        }
        require(perpi_broad_find(&broad), context);
        require(perpi_broad_sort(&broad, n, n), context);
        const double t1 = now();
        require(perpi_collide(collider, pose, margin, &candidate, &r.contacts), context);
        const double t2 = now();
        r.broad_us = 1e6 * (t1 - t0) < r.broad_us ? 1e6 * (t1 - t0) : r.broad_us;
        r.all_us = 1e6 * (t2 - t1) < r.all_us ? 1e6 * (t2 - t1) : r.all_us;
    }
    r.pairs = perpi_collider_candidates(collider);

    perpi_collider_destroy(collider);
    perpi_broad_free(&broad);
    perpi_free(context, pose);
    perpi_free(context, margin);
    perpi_free(context, model.body);
    perpi_free(context, model.shape);
    return r;
}

static double exponent(const row* rows, int count)
{
    double sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (int i = 0; i < count; ++i) {
        const double x = log((double)rows[i].n), y = log(rows[i].broad_us);
        sx += x;
        sy += y;
        sxx += x * x;
        sxy += x * y;
    }
    return (count * sxy - sx * sy) / (count * sxx - sx * sx);
}

static int write_json(const char* path, const row* rows, int count)
{
    FILE* f = fopen(path, "w");
    if (f == NULL) {
        fprintf(stderr, "broad_phase: cannot write %s\n", path);
        return 1;
    }
    fprintf(f, "{\"bench\": \"broad_phase\", \"exponent\": %.4f, \"rows\": [\n",
            exponent(rows, count));
    for (int i = 0; i < count; ++i) {
        fprintf(f,
                "  {\"n\": %zu, \"pairs\": %zu, \"contacts\": %zu, \"broad_microseconds\": %.2f, "
                "\"collide_microseconds\": %.2f}%s\n",
                rows[i].n, rows[i].pairs, rows[i].contacts, rows[i].broad_us, rows[i].all_us,
                i + 1 < count ? "," : "");
    }
    fprintf(f, "]}\n");
    return fclose(f) == 0 ? 0 : 1;
}

int main(int argc, char** argv)
{
    const char* json = NULL;
    size_t most = 100000;
    for (int i = 1; i < argc; ++i) {
        if (strcmp(argv[i], "--json") == 0 && i + 1 < argc) {
            json = argv[++i];
        } else if (strcmp(argv[i], "--max") == 0 && i + 1 < argc) {
            most = (size_t)strtoul(argv[++i], NULL, 10);
        } else {
            fprintf(stderr, "usage: broad_phase [--json FILE] [--max N]\n");
            return 2;
        }
    }
    static const size_t sizes[MOST] = {100, 300, 1000, 3000, 10000, 30000, 100000};
    perp_context* context = NULL;
    if (perp_context_create(NULL, &context) != PERP_OK) {
        return 1;
    }
    row rows[MOST];
    int count = 0;
    printf("%8s %10s %10s %14s %14s %12s\n", "bodies", "pairs", "contacts", "broad [us]",
           "collide [us]", "ns per body");
    for (int i = 0; i < MOST && sizes[i] > 0 && sizes[i] <= most; ++i) {
        const row r = rows[count++] = measure(context, sizes[i]);
        printf("%8zu %10zu %10zu %14.1f %14.1f %12.1f\n", r.n, r.pairs, r.contacts, r.broad_us,
               r.all_us, 1e3 * r.broad_us / (double)r.n);
    }
    if (count > 1) {
        printf("fitted exponent of the broad phase: %.3f\n", exponent(rows, count));
    }
    perp_context_destroy(context);
    return json != NULL ? write_json(json, rows, count) : 0;
}
