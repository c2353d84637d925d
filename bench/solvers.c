/* bench/solvers.c - every solver on every problem that it takes: outcome, residuals, iterations, time.
 *
 *     solvers [--json FILE] [--corpus DIR] [--solver NAME] [--time-limit SECONDS] [--tolerance TOL]
 *
 * DIR holds manifest.csv and `.ccp` files; default: ../shared/corpus. Without it, generated problems
 * (seeded, always the same) take its place; they have no plain residual e. A run counts as solved if
 * e <= 1e-10 (complementarity) or 1e-8 (friction); generated ones if the outcome is SOLVED. Then
 * `auto` and `lemke` on the Stewart-Trinkle LCPs of 1 to 50 boxes on a plane and in a stack, 4 to
 * 32 directions.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/table.h"
#include "conform/stewart_trinkle.h"
#include "perp/solve.h"
#include "support/generate.h"

enum { REPEATS = 20, SOLVERS_MAX = 64 };
#define REPEAT_SECONDS 0.05 /* short solves are repeated for this long, the best time counts */

typedef struct settings {
    const char *json, *corpus, *solver;
    perp_solve_options options;
} settings;

/* One problem in the forms that it has. */
typedef struct problem {
    char name[128];
    const char* kind;
    int32_t n; /* z, or r */
    const perp_lcp* lcp;
    const perp_mlcp* mlcp;
    const perp_friction_problem* friction;
    perp_problem_file* file; /* NULL: generated */
} problem;

typedef struct result {
    perp_report report;
    perp_plain_residual plain;
    double seconds;
    bool solved, refused; /* refused: the call failed, the method does not take the problem */
} result;

typedef struct score {
    char name[64];
    int runs, solved;
    double seconds; /* sum over the solved ones */
} score;

typedef struct bench {
    settings set;
    perp_context* context;
    FILE* json;
    int rows;
    score score[SOLVERS_MAX];
    int solvers;
} bench;

/* ---- one solver, one problem -------------------------------------------------------------------------*/

/* A solver of the form that the problem has; exactly one is set. */
typedef struct any_solver {
    perp_lcp_solver* lcp;
    perp_mlcp_solver* mlcp;
    perp_friction_solver* friction;
} any_solver;

static perp_status make_solver(perp_context* context, const char* name, const problem* p,
                               any_solver* s)
{
    return p->friction != NULL ? perp_friction_solver_create(context, name, NULL, 0, &s->friction)
           : p->lcp != NULL    ? perp_lcp_solver_create(context, name, NULL, 0, &s->lcp)
                               : perp_mlcp_solver_create(context, name, NULL, 0, &s->mlcp);
}

static void drop_solver(any_solver* s)
{
    perp_friction_solver_destroy(s->friction);
    perp_lcp_solver_destroy(s->lcp);
    perp_mlcp_solver_destroy(s->mlcp);
}

static perp_status solve_once(any_solver* s, const problem* p, const perp_solve_options* options,
                              double* z, perp_report* report)
{
    return s->friction != NULL
               ? perp_friction_solve(s->friction, p->friction, options, false, z, NULL, report)
           : s->lcp != NULL ? perp_lcp_solve(s->lcp, p->lcp, options, false, z, report)
                            : perp_mlcp_solve(s->mlcp, p->mlcp, options, false, z, report);
}

static void measure(bench* b, const char* name, const problem* p, result* out)
{
    any_solver s = {0};
    const int32_t nv = p->file != NULL ? perp_problem_file_velocity_count(p->file) : 0;
    double* z = calloc((size_t)p->n + 1, sizeof *z);
    double* v = calloc((size_t)nv + 1, sizeof *v);
    *out = (result){.plain = {NAN, NAN}, .seconds = INFINITY};
    bool good = z != NULL && v != NULL && make_solver(b->context, name, p, &s) == PERP_OK;
    const double begin = table_seconds();
    for (int k = 0; good && k < REPEATS && (k == 0 || table_seconds() - begin < REPEAT_SECONDS);
         ++k) {
        const double start = table_seconds();
        good = solve_once(&s, p, &b->set.options, z, &out->report) == PERP_OK;
        const double took = table_seconds() - start;
        out->seconds = took < out->seconds ? took : out->seconds;
    }
    out->solved = good && out->report.outcome == PERP_OUTCOME_SOLVED;
    if (good && p->file != NULL) {
        good = (nv == 0 || perp_problem_file_reconstruct(p->file, z, v) == PERP_OK) &&
               perp_problem_file_residual(p->file, z, v, &out->plain) == PERP_OK;
        out->solved = good && out->plain.e <= (p->friction != NULL ? 1e-8 : 1e-10);
    }
    out->refused = !good;
    drop_solver(&s);
    free(z);
    free(v);
}

/* ---- the table ---------------------------------------------------------------------------------------*/

static void put_number(FILE* f, const char* key, double x)
{
    fprintf(f, isfinite(x) ? ", \"%s\": %.9g" : ", \"%s\": null", key, x);
}

static score* score_of(bench* b, const char* name)
{
    for (int i = 0; i < b->solvers; ++i) {
        if (strcmp(b->score[i].name, name) == 0) {
            return &b->score[i];
        }
    }
    score* s = &b->score[b->solvers < SOLVERS_MAX - 1 ? b->solvers++ : b->solvers];
    snprintf(s->name, sizeof s->name, "%s", name);
    return s;
}

static void add_row(bench* b, const problem* p, const char* name, const result* r)
{
    score* s = score_of(b, name);
    const char* outcome = r->refused ? "refused" : perp_outcome_name(r->report.outcome);
    s->runs += 1;
    s->solved += r->solved ? 1 : 0;
    s->seconds += r->solved ? r->seconds : 0.0;
    printf("%-44s %-6s %6d  %-15s %-11s %9.1e %9.1e %8d %11.4f\n", p->name, p->kind, (int)p->n,
           name, outcome, r->plain.e, r->plain.scaled, (int)r->report.iterations, 1e3 * r->seconds);
    fflush(stdout);
    if (b->json != NULL) {
        fprintf(b->json,
                "%s\n    {\"problem\": \"%s\", \"kind\": \"%s\", \"n\": %d, \"solver\": \"%s\", "
                "\"outcome\": \"%s\", \"solved\": %s, \"iterations\": %d",
                b->rows > 0 ? "," : "", p->name, p->kind, (int)p->n, name, outcome,
                r->solved ? "true" : "false", (int)r->report.iterations);
        put_number(b->json, "judge", r->refused ? NAN : r->report.residual);
        put_number(b->json, "e", r->plain.e);
        put_number(b->json, "scaled", r->plain.scaled);
        put_number(b->json, "milliseconds", 1e3 * r->seconds);
        fputs("}", b->json);
    }
    b->rows += 1;
}

static void run_problem(bench* b, const problem* p)
{
    perp_solver_info info;
    for (int32_t i = 0; perp_solver_list(b->context, i, &info); ++i) {
        const bool takes = p->friction != NULL
                               ? info.takes_friction
                               : info.takes_lcp || info.takes_mlcp || info.takes_ncp;
        result r;
        if (takes && (b->set.solver == NULL || strcmp(b->set.solver, info.name) == 0)) {
            measure(b, info.name, p, &r);
            add_row(b, p, info.name, &r);
        }
    }
}

/* ---- problems ----------------------------------------------------------------------------------------*/

static bool run_corpus(bench* b)
{
    char path[1024], line[4096];
    snprintf(path, sizeof path, "%s/manifest.csv", b->set.corpus);
    FILE* manifest = fopen(path, "r");
    if (manifest == NULL) {
        return false;
    }
    bool header = true;
    while (fgets(line, sizeof line, manifest) != NULL) {
        const char* comma = strchr(line, ',');
        if (header || comma == NULL) {
            header = false;
            continue;
        }
        snprintf(path, sizeof path, "%s/%.*s", b->set.corpus, (int)strcspn(comma + 1, ","),
                 comma + 1);
        problem p = {0};
        if (perp_problem_read(b->context, path, &p.file) != PERP_OK) {
            fprintf(stderr, "solvers: %s\n", perp_context_error(b->context));
            continue;
        }
        snprintf(p.name, sizeof p.name, "%s", perp_problem_file_name(p.file));
        p.kind = perp_problem_kind_name(perp_problem_file_kind(p.file));
        p.lcp = perp_problem_file_lcp(p.file);
        p.mlcp = perp_problem_file_mlcp(p.file);
        p.friction = perp_problem_file_friction(p.file);
        p.n = p.friction != NULL ? p.friction->row_count : p.mlcp->M.cols;
        run_problem(b, &p);
        perp_problem_file_destroy(p.file);
    }
    fclose(manifest);
    return true;
}

static void run_generated_lcp(bench* b, generate_lcp_kind kind, int32_t n)
{
    generated_lcp g;
    if (!generate_lcp(kind, n, 1, &g)) {
        return;
    }
    problem p = {.kind = "lcp", .n = n, .lcp = &g.lcp};
    snprintf(p.name, sizeof p.name, "generated-%s-%d", generate_lcp_name[kind], (int)n);
    run_problem(b, &p);
    generated_lcp_free(&g);
}

static void run_generated_contact(bench* b, generate_contact_kind kind, int32_t contacts)
{
    generate_contact_spec spec = generate_contact_spec_default(kind);
    spec.contacts = contacts;
    generated_contact g;
    perp_reformulation* reformulation = NULL;
    perp_friction_problem friction;
    if (!generate_contact(&spec, &g)) {
        return;
    }
    if (perp_reformulation_create(b->context, &reformulation) == PERP_OK &&
        perp_contact_to_friction(reformulation, &g.problem, &friction) == PERP_OK) {
        problem p = {.kind = "fc3d", .n = friction.row_count, .friction = &friction};
        snprintf(p.name, sizeof p.name, "generated-%s-%d", generate_contact_name[kind],
                 (int)g.problem.constraint_count);
        run_problem(b, &p);
    }
    perp_reformulation_destroy(reformulation);
    generated_contact_free(&g);
}

static void run_generated(bench* b)
{
    for (generate_lcp_kind kind = 0; kind < GENERATE_LCP_KINDS; ++kind) {
        for (int32_t n = 8; n <= 128; n *= 4) {
            run_generated_lcp(b, kind, n);
        }
    }
    for (generate_contact_kind kind = 0; kind < GENERATE_CONTACT_KINDS; ++kind) {
        for (int32_t n = 4; n <= 64; n *= 4) {
            run_generated_contact(b, kind, n);
        }
    }
}

/* ---- Stewart-Trinkle problems -------------------------------------------------------------------------*/

static int ascending(const void* a, const void* b)
{
    const double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

/* |min(z, w)| / |q|, as the problem collections have it. */
static double plain_lcp(const perp_lcp* P, const double* z)
{
    double sum = 0.0, size = 0.0;
    for (int32_t i = 0; i < P->n; ++i) {
        double w = P->q[i];
        for (int32_t j = 0; j < P->n; ++j) {
            w += P->M[(size_t)i * (size_t)P->n + (size_t)j] * z[j];
        }
        const double r = z[i] < w ? z[i] : w;
        sum += r * r;
        size += P->q[i] * P->q[i];
    }
    return sqrt(sum) / (size > 0.0 ? sqrt(size) : 1.0);
}

enum { ST_SEEDS = 3 };

/* Cold, the best of a few repeats; one line per size, then all sizes together. The figures to beat are
 * those of the sizes that PATH's demonstration can load (300 unknowns). */
static void run_stewart_trinkle(bench* b, const char* name)
{
    static const int32_t boxes[] = {1, 2, 3, 5, 10, 20, 50}, directions[] = {4, 8, 16, 32};
    static double loadable[512];
    int solved = 0, total = 0, small = 0;
    perp_lcp_solver* solver = NULL;
    if (perp_lcp_solver_create(b->context, name, NULL, 0, &solver) != PERP_OK) {
        return;
    }
    for (size_t k = 0; k < sizeof boxes / sizeof *boxes; ++k) {
        for (size_t d = 0; d < sizeof directions / sizeof *directions; ++d) {
            double times[2 * ST_SEEDS], worst = 0.0;
            const int32_t n = 4 * boxes[k] * (2 + directions[d]);
            int count = 0, good = 0;
            if (n > 2000) {
                continue; /* a dense LCP of 32 MB and more: the contact form is for these */
            }
            for (int run = 0; run < 2 * ST_SEEDS; ++run) {
                test_lcp t = test_stewart_trinkle(boxes[k], directions[d], (uint64_t)(run / 2),
                                                  run % 2 != 0);
                double *z = calloc((size_t)n, sizeof *z), best = INFINITY;
                const double begin = table_seconds();
                for (int r = 0; z != NULL && r < REPEATS &&
                                (r == 0 || table_seconds() - begin < REPEAT_SECONDS / 5);
                     ++r) {
                    const double start = table_seconds();
                    if (perp_lcp_solve(solver, &t.lcp, &b->set.options, false, z, NULL) ==
                        PERP_OK) {
                        const double took = table_seconds() - start;
                        best = took < best ? took : best;
                    }
                }
                const double e = z != NULL ? plain_lcp(&t.lcp, z) : INFINITY;
                worst = !(e <= worst) ? e : worst;
                good += e <= 1e-10 ? 1 : 0;
                times[count++] = best;
                if (n <= 300) {
                    loadable[small++] = best;
                }
                free(z);
                test_lcp_free(&t);
            }
            qsort(times, (size_t)count, sizeof *times, ascending);
            printf("%-15s %5d %10d %6d %6d of %d %9.1e %11.4f\n", name, (int)boxes[k],
                   (int)directions[d], (int)n, good, count, worst, 1e3 * times[count / 2]);
            fflush(stdout);
            solved += good;
            total += count;
        }
    }
    qsort(loadable, (size_t)small, sizeof *loadable, ascending);
    printf("%-15s %d of %d at 1e-10; median of the %d up to n = 300: %.4f ms\n", name, solved,
           total, small, small > 0 ? 1e3 * loadable[small / 2] : NAN);
    perp_lcp_solver_destroy(solver);
}

/* ---- the program -------------------------------------------------------------------------------------*/

static settings read_arguments(int argc, char** argv)
{
    settings s = {.corpus = "../shared/corpus", .options = perp_solve_options_default()};
    s.options.time_limit = 10.0;
    for (int i = 1; i < argc; i += 2) {
        const char* value = i + 1 < argc ? argv[i + 1] : NULL;
        if (value != NULL && strcmp(argv[i], "--json") == 0) {
            s.json = value;
        } else if (value != NULL && strcmp(argv[i], "--corpus") == 0) {
            s.corpus = value;
        } else if (value != NULL && strcmp(argv[i], "--solver") == 0) {
            s.solver = value;
        } else if (value != NULL && strcmp(argv[i], "--time-limit") == 0) {
            s.options.time_limit = strtod(value, NULL);
        } else if (value != NULL && strcmp(argv[i], "--tolerance") == 0) {
            s.options.tolerance = strtod(value, NULL);
        } else {
            fprintf(stderr, "usage: solvers [--json FILE] [--corpus DIR] [--solver NAME] "
                            "[--time-limit SECONDS] [--tolerance TOL]\n");
            exit(2);
        }
    }
    return s;
}

int main(int argc, char** argv)
{
    bench b = {.set = read_arguments(argc, argv)};
    if (perp_context_create(NULL, &b.context) != PERP_OK) {
        return 3;
    }
    if (b.set.json != NULL && (b.json = fopen(b.set.json, "w")) == NULL) {
        fprintf(stderr, "%s: %s\n", b.set.json, strerror(errno));
        perp_context_destroy(b.context);
        return 3;
    }
    if (b.json != NULL) {
        fputs("{\n  \"bench\": \"solvers\",\n  \"rows\": [", b.json);
    }
    printf("%-44s %-6s %6s  %-15s %-11s %9s %9s %8s %11s\n", "problem", "kind", "n", "solver",
           "outcome", "e", "scaled", "iter", "ms");
    if (!run_corpus(&b)) {
        printf("no problems in %s: generated ones instead\n", b.set.corpus);
        run_generated(&b);
    }
    printf("\n%-15s %6s %8s %16s\n", "solver", "solved", "of", "ms, all solved");
    for (int i = 0; i < b.solvers; ++i) {
        printf("%-15s %6d %8d %16.4f\n", b.score[i].name, b.score[i].solved, b.score[i].runs,
               1e3 * b.score[i].seconds);
    }
    printf("\n%-15s %5s %10s %6s %11s %9s %11s\n", "Stewart-Trinkle", "boxes", "directions", "n",
           "solved", "worst e", "median ms");
    static const char* const pivoting[] = {"auto", "lemke"};
    for (size_t i = 0; i < 2; ++i) {
        if (b.set.solver == NULL || strcmp(b.set.solver, pivoting[i]) == 0) {
            run_stewart_trinkle(&b, pivoting[i]);
        }
    }
    bool good = true;
    if (b.json != NULL) {
        fputs("\n  ]\n}\n", b.json);
        good = fclose(b.json) == 0;
    }
    perp_context_destroy(b.context);
    return good ? 0 : 3;
}
