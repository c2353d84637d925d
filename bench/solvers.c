/* bench/solvers.c - every solver on every problem that it takes: outcome, residuals, iterations, time.
 *
 *     solvers [--json FILE] [--corpus DIR] [--solver NAME] [--time-limit SECONDS] [--tolerance TOL]
 *
 * DIR holds manifest.csv and `.ccp` files; default: ../shared/corpus. Without it, generated problems
 * (seeded, always the same) take its place; they have no plain residual e. A run counts as solved if
 * e <= 1e-10 (complementarity) or 1e-8 (friction); generated ones if the judge says so.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/table.h"
#include "perp/solve.h"

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
        good = (nv == 0 || perp_problem_file_lift(p->file, z, v) == PERP_OK) &&
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

/* Numbers in (-1, 1), the same on every machine. */
static double noise(uint64_t* state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int32_t)(*state >> 32) / 2147483648.0;
}

/* M = A A' / n + I with a planted solution: half of z positive, w the other half. */
static void run_planted_lcp(bench* b, int32_t n)
{
    const size_t nn = (size_t)n * (size_t)n;
    double* A = calloc(2 * nn + (size_t)n, sizeof *A);
    if (A == NULL) {
        return;
    }
    double *M = A + nn, *q = M + nn;
    uint64_t state = (uint64_t)n;
    for (size_t i = 0; i < nn; ++i) {
        A[i] = noise(&state);
    }
    for (int32_t i = 0; i < n; ++i) {
        for (int32_t j = 0; j < n; ++j) {
            double sum = i == j ? 1.0 : 0.0;
            for (int32_t k = 0; k < n; ++k) {
                sum += A[i * n + k] * A[j * n + k] / n;
            }
            M[i * n + j] = sum;
        }
    }
    for (int32_t i = 0; i < n; ++i) {
        q[i] = i % 2 == 0 ? 0.0 : 1.0;
        for (int32_t j = 0; j < n; j += 2) {
            q[i] -= M[i * n + j] * (1.0 + 0.1 * (j % 7));
        }
    }
    const perp_lcp lcp = {n, M, q};
    problem p = {.kind = "lcp", .n = n, .lcp = &lcp};
    snprintf(p.name, sizeof p.name, "generated-planted-%d", (int)n);
    run_problem(b, &p);
    free(A);
}

/* A chain of bodies with random contact frames, pulled down: bodies - 1 contacts and the ground's. */
static void run_chain(bench* b, int32_t bodies)
{
    const size_t n = (size_t)bodies;
    int32_t* dof = calloc(n + 1, sizeof *dof);
    double* M = calloc(36 * n + 6 * n + 36 * n + 3 * n, sizeof *M);
    perp_constraint* c = calloc(n, sizeof *c);
    perp_lowering* lowering = NULL;
    if (dof == NULL || M == NULL || c == NULL ||
        perp_lowering_create(b->context, &lowering) != PERP_OK) {
        free(dof);
        free(M);
        free(c);
        return;
    }
    double *k = M + 36 * n, *J = k + 6 * n, *gap = J + 36 * n;
    uint64_t state = 1000 + (uint64_t)bodies;
    size_t jac = 0;
    for (int32_t i = 0; i < bodies; ++i) {
        dof[i + 1] = 6 * (i + 1);
        for (int d = 0; d < 6; ++d) {
            M[36 * i + 7 * d] = d < 3 ? 1.0 : 0.1;
            k[6 * i + d] = d == 2 ? -0.1 : 0.02 * noise(&state);
        }
        c[i] = (perp_constraint){.block = {i - 1, i},
                                 .row = 3 * i,
                                 .rows = 3,
                                 .jac = jac,
                                 .cone = PERP_CONE_QUADRATIC,
                                 .mu = 0.5};
        static const int axis[3] = {2, 0, 1}; /* normal, two tangents */
        double arm[2][3];
        for (int side = i == 0 ? 1 : 0; side < 2; ++side) {
            const double sign = side == 0 ? -1.0 : 1.0;
            for (int d = 0; d < 3; ++d) {
                arm[side][d] = d == 2 ? -0.5 * sign : 0.3 * noise(&state);
            }
            for (int r = 0; r < 3; ++r) {
                double* row = J + jac + 6 * r;
                const int a = axis[r];
                row[a] = sign;
                row[3 + (a + 1) % 3] = sign * arm[side][(a + 2) % 3];
                row[3 + (a + 2) % 3] = -sign * arm[side][(a + 1) % 3];
            }
            jac += 18;
        }
    }
    const perp_contact_problem contact = {.block_count = bodies,
                                          .constraint_count = bodies,
                                          .dof_count = 6 * bodies,
                                          .row_count = 3 * bodies,
                                          .dof = dof,
                                          .M = M,
                                          .k = k,
                                          .J = J,
                                          .b = gap,
                                          .constraint = c};
    perp_friction_problem friction;
    if (perp_lower_contact_to_friction(lowering, &contact, &friction) == PERP_OK) {
        problem p = {.kind = "fc3d", .n = friction.row_count, .friction = &friction};
        snprintf(p.name, sizeof p.name, "generated-chain-%d", (int)bodies);
        run_problem(b, &p);
    }
    perp_lowering_destroy(lowering);
    free(dof);
    free(M);
    free(c);
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
        for (int32_t n = 8; n <= 256; n *= 2) {
            run_planted_lcp(&b, n);
        }
        for (int32_t n = 1; n <= 64; n *= 4) {
            run_chain(&b, n);
        }
    }
    printf("\n%-15s %6s %8s %16s\n", "solver", "solved", "of", "ms, all solved");
    for (int i = 0; i < b.solvers; ++i) {
        printf("%-15s %6d %8d %16.4f\n", b.score[i].name, b.score[i].solved, b.score[i].runs,
               1e3 * b.score[i].seconds);
    }
    bool good = true;
    if (b.json != NULL) {
        fputs("\n  ]\n}\n", b.json);
        good = fclose(b.json) == 0;
    }
    perp_context_destroy(b.context);
    return good ? 0 : 3;
}
