/* bench/growth.c - how the cost of one iteration grows with the number of contacts.
 *
 *     growth [--json FILE]
 *
 * Seeded boxes of mass 1..1000 with friction 0..1, four contacts where two faces meet, 100 to 10,000
 * contacts, always HEIGHT courses high: the neighbours of a body stay bounded, only the width
 * grows.
 *     stacks  separate columns
 *     wall    bricks laid half over half
 * The velocities are eliminated first (row `lower`: the reformulation). A solver then gets a fixed
 * number of iterations, or fewer if it solves the problem. Time: processor time of one solve with
 * its checks, set-up and factors, over its iterations; the best of some repeats. Memory: the most
 * that the solver holds of the context's allocator, in a first solve; `again` the memory allocated
 * in a second solve of the same problem. Exponents: slope of log(cost) over log(contacts), least
 * squares.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/table.h"
#include "perp/solve.h"
#include "support/generate.h"

enum { HEIGHT = 5, SIZES = 5, REPEATS_LEAST = 4, REPEATS = 50 };
#define POINT_SECONDS 5.0  /* one solver on one problem */
#define REPEAT_SECONDS 0.3 /* short solves are repeated for this long */
#define TOTAL_SECONDS 55.0 /* what is left after that is not run */

static const int32_t sizes[SIZES] = {100, 320, 1000, 3200, 10000};

typedef struct row_kind {
    const char* name;
    int32_t iterations;
} row_kind;

/* The first row is the elimination of the velocities, no solver. */
static const row_kind costs[] = {{"lower", 1}, {"nsgs", 50}, {"newton", 20}, {"admm", 50}};
enum { COSTS = sizeof costs / sizeof *costs };

typedef struct point {
    int32_t contacts, iterations;
    double seconds; /* per iteration */
    double bytes, again, residual;
    const char* outcome;
} point;

/* ---- memory ------------------------------------------------------------------------------------------*/

typedef struct counter {
    size_t held, most, asked; /* bytes */
} counter;

typedef union header {
    size_t size;
    max_align_t align;
} header;

static void* counted_resize(void* user, void* p, size_t size)
{
    counter* c = user;
    header* old = p != NULL ? (header*)p - 1 : NULL;
    const size_t before = old != NULL ? old->size : 0;
    if (size == 0) {
        c->held -= before;
        free(old);
        return NULL;
    }
    header* made = realloc(old, sizeof *made + size);
    if (made == NULL) {
        return NULL;
    }
    made->size = size;
    c->held += size - before;
    c->asked += size > before ? size - before : 0;
    c->most = c->held > c->most ? c->held : c->most;
    return made + 1;
}

/* ---- problems ----------------------------------------------------------------------------------------*/

static bool make_pile(generated_contact* p, bool wall, int32_t contacts)
{
    generate_contact_spec spec =
        generate_contact_spec_default(wall ? GENERATE_WALL : GENERATE_STACKS);
    spec.contacts = contacts;
    spec.height = HEIGHT;
    return generate_contact(&spec, p);
}

/* Of this process (the solvers have one thread): other programs on the machine count less. */
static double processor_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- one point ---------------------------------------------------------------------------------------*/

static point measure_reformulation(perp_context* context, counter* memory,
                                   const generated_contact* p, perp_reformulation** reformulation,
                                   perp_friction_problem* friction)
{
    point r = {.contacts = p->problem.constraint_count,
               .iterations = 1,
               .seconds = INFINITY,
               .outcome = "refused",
               .residual = NAN};
    const size_t before = memory->held;
    memory->most = before;
    bool good = perp_reformulation_create(context, reformulation) == PERP_OK;
    const double begin = table_seconds();
    for (int k = 0;
         good && k < REPEATS && (k < REPEATS_LEAST || table_seconds() - begin < REPEAT_SECONDS);
         ++k) {
        const double start = processor_seconds();
        const size_t asked = memory->asked;
        good = perp_contact_to_friction(*reformulation, &p->problem, friction) == PERP_OK;
        r.seconds = fmin(r.seconds, processor_seconds() - start);
        r.again = (double)(memory->asked - asked);
    }
    r.bytes = (double)(memory->most - before);
    r.outcome = good ? "done" : r.outcome;
    return r;
}

static point measure_solver(perp_context* context, counter* memory, const row_kind* kind,
                            const perp_friction_problem* friction)
{
    point r = {.contacts = friction->constraint_count,
               .seconds = INFINITY,
               .outcome = "refused",
               .residual = NAN};
    perp_solve_options options = perp_solve_options_default();
    options.max_iter = kind->iterations;
    const size_t before = memory->held;
    memory->most = before;
    perp_friction_solver* solver = NULL;
    double* z = calloc((size_t)friction->row_count, sizeof *z);
    bool good =
        z != NULL && perp_friction_solver_create(context, kind->name, NULL, 0, &solver) == PERP_OK;
    const double begin = table_seconds();
    for (int k = 0; good && k < REPEATS; ++k) {
        const double start = table_seconds();
        const size_t asked = memory->asked;
        options.time_limit = POINT_SECONDS - (start - begin);
        if (options.time_limit <= 0.0 || (k >= REPEATS_LEAST && start - begin > REPEAT_SECONDS)) {
            break;
        }
        perp_report report;
        const double ticks = processor_seconds();
        good = perp_friction_solve(solver, friction, &options, false, z, NULL, &report) == PERP_OK;
        const double took = processor_seconds() - ticks;
        if (good && report.iterations > 0 && (k == 0 || report.iterations == r.iterations)) {
            r.iterations = report.iterations;
            r.seconds = fmin(r.seconds, took / report.iterations);
            r.residual = report.residual;
            r.outcome = perp_outcome_name(report.outcome);
        }
        r.again = k > 0 ? (double)(memory->asked - asked) : NAN;
    }
    r.bytes = (double)(memory->most - before);
    perp_friction_solver_destroy(solver);
    free(z);
    return r;
}

/* ---- the table ---------------------------------------------------------------------------------------*/

static void put_number(FILE* f, const char* key, double x)
{
    fprintf(f, isfinite(x) ? ", \"%s\": %.9g" : ", \"%s\": null", key, x);
}

/* Slope of log y over log contacts; points without a value are left out. */
static double exponent(const point* p, int count, bool bytes)
{
    double n = 0.0, sx = 0.0, sy = 0.0, sxx = 0.0, sxy = 0.0;
    for (int i = 0; i < count; ++i) {
        const double y = bytes ? p[i].bytes : p[i].seconds;
        if (p[i].contacts > 0 && isfinite(y) && y > 0.0) {
            const double x = log(p[i].contacts);
            n += 1.0;
            sx += x;
            sy += log(y);
            sxx += x * x;
            sxy += x * log(y);
        }
    }
    return n < 2.0 ? NAN : (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

static void print_point(FILE* json, bool first, const char* family, const char* name,
                        const point* r)
{
    printf("%-7s %-7s %8d %5d %-10s %9.1e %14.2f %12.1f %10.0f %10.0f\n", family, name,
           (int)r->contacts, (int)r->iterations, r->outcome, r->residual, 1e6 * r->seconds,
           1e9 * r->seconds / r->contacts, r->bytes / r->contacts, r->again);
    fflush(stdout);
    if (json != NULL) {
        fprintf(json,
                "%s\n    {\"family\": \"%s\", \"solver\": \"%s\", \"contacts\": %d, "
                "\"iterations\": %d, \"outcome\": \"%s\"",
                first ? "" : ",", family, name, (int)r->contacts, (int)r->iterations, r->outcome);
        put_number(json, "judge", r->residual);
        put_number(json, "seconds", r->seconds);
        put_number(json, "bytes", r->bytes);
        put_number(json, "again", r->again);
        fputs("}", json);
    }
}

static bool run_family(perp_context* context, counter* memory, bool wall, double deadline,
                       FILE* json, point points[COSTS][SIZES])
{
    const char* family = wall ? "wall" : "stacks";
    for (int s = 0; s < SIZES && table_seconds() < deadline; ++s) {
        generated_contact p;
        perp_reformulation* reformulation = NULL;
        perp_friction_problem friction = {0};
        if (!make_pile(&p, wall, sizes[s])) {
            fprintf(stderr, "growth: out of memory\n");
            return false;
        }
        points[0][s] = measure_reformulation(context, memory, &p, &reformulation, &friction);
        print_point(json, !wall && s == 0, family, costs[0].name, &points[0][s]);
        const bool good = friction.constraint_count > 0;
        if (!good) {
            fprintf(stderr, "growth: %s\n", perp_context_error(context));
        }
        for (int c = 1; good && c < COSTS && table_seconds() < deadline; ++c) {
            points[c][s] = measure_solver(context, memory, &costs[c], &friction);
            print_point(json, false, family, costs[c].name, &points[c][s]);
        }
        perp_reformulation_destroy(reformulation);
        generated_contact_free(&p);
        if (!good) {
            return false;
        }
    }
    return true;
}

static int run_growth(perp_context* context, counter* memory, FILE* json)
{
    static point all[2][COSTS][SIZES];
    const double deadline = table_seconds() + TOTAL_SECONDS;
    bool good = true;
    printf("%-7s %-7s %8s %5s %-10s %9s %14s %12s %10s %10s\n", "family", "solver", "contacts",
           "iter", "outcome", "residual", "us/iteration", "ns/contact", "B/contact", "again, B");
    for (int wall = 0; wall < 2; ++wall) {
        good = run_family(context, memory, wall == 1, deadline, json, all[wall]) && good;
    }
    if (table_seconds() >= deadline) {
        printf("out of time: the rest was not run\n");
    }
    printf("\n%-7s %-7s %15s %15s\n", "family", "solver", "time exponent", "bytes exponent");
    if (json != NULL) {
        fputs("\n  ],\n  \"exponents\": [", json);
    }
    for (int i = 0; i < 2 * COSTS; ++i) {
        const char *family = i < COSTS ? "stacks" : "wall", *name = costs[i % COSTS].name;
        const point* points = all[i / COSTS][i % COSTS];
        const double time = exponent(points, SIZES, false), bytes = exponent(points, SIZES, true);
        printf("%-7s %-7s %15.3f %15.3f\n", family, name, time, bytes);
        if (json != NULL) {
            fprintf(json, "%s\n    {\"family\": \"%s\", \"solver\": \"%s\"", i > 0 ? "," : "",
                    family, name);
            put_number(json, "time", time);
            put_number(json, "bytes", bytes);
            fputs("}", json);
        }
    }
    return good ? 0 : 1;
}

int main(int argc, char** argv)
{
    FILE* json = NULL;
    if (argc != 1 && (argc != 3 || strcmp(argv[1], "--json") != 0)) {
        fprintf(stderr, "usage: growth [--json FILE]\n");
        return 2;
    }
    if (argc == 3 && (json = fopen(argv[2], "w")) == NULL) {
        fprintf(stderr, "%s: %s\n", argv[2], strerror(errno));
        return 3;
    }
    counter memory = {0};
    perp_context_def def = perp_context_def_default();
    def.allocator = (perp_allocator){counted_resize, &memory};
    perp_context* context = NULL;
    if (perp_context_create(&def, &context) != PERP_OK) {
        return 3;
    }
    if (json != NULL) {
        fputs("{\n  \"bench\": \"growth\",\n  \"rows\": [", json);
    }
    int code = run_growth(context, &memory, json);
    if (json != NULL) {
        fputs("\n  ]\n}\n", json);
        code = fclose(json) == 0 ? code : 3;
    }
    perp_context_destroy(context);
    return code;
}
