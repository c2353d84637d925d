/* tests/conform/auto_corpus_test.c - the portfolio against the shared corpus, cold, default options and
 * a time limit: e <= 1e-10 for lcp, mlcp, blcp, e <= 1e-8 for the friction kinds. e is computed by
 * src/problem/io/corpus_residual.c from the file's own data, not by the residual check. Looks in
 * $PERP_SOURCE/../shared/corpus; skipped where that is not. Also: what has no solution is not called
 * solved.
 */
#include "perp_test.h"

#include <time.h>

#include "perp/solve.h"

#define TIME_LIMIT 60.0 /* seconds a problem; the slowest needs 2 on a machine that is not busy */
#define E_COMPLEMENTARITY 1e-10
#define E_FRICTION 1e-8

typedef struct tally {
    int problems, solved, exempt, left_out,
        unscaled;        /* unscaled: e passes, the scaled one does not */
    int friction, sharp; /* of these, e <= 1e-12 */
    double milliseconds;
} tally;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void corpus_path(char* path, size_t size, const char* name)
{
    const char* source = getenv("PERP_SOURCE");
    snprintf(path, size, "%s/../shared/corpus/%s", source != NULL ? source : PERP_SOURCE_DIR, name);
}

/* A sanitizer makes these two take minutes. */
static bool too_slow_here(const char* name)
{
#ifdef PERP_TEST_SANITIZED
    return strstr(name, "RockPile") != NULL || strstr(name, "granularflowonwall_07002") != NULL;
#else
    (void)name;
    return false;
#endif
}

/* Whatever form the file has. */
static perp_status solve_file(perp_context* context, perp_problem_file* file,
                              const perp_solve_options* options, double* z, perp_report* report)
{
    perp_lcp_solver* lcp = NULL;
    perp_mlcp_solver* mlcp = NULL;
    perp_friction_solver* friction = NULL;
    perp_status status;
    if (perp_problem_file_friction(file) != NULL) {
        status = perp_friction_solver_create(context, "auto", NULL, 0, &friction);
        if (status == PERP_OK) {
            status = perp_friction_solve(friction, perp_problem_file_friction(file), options, false,
                                         z, NULL, report);
        }
    } else if (perp_problem_file_lcp(file) != NULL) {
        status = perp_lcp_solver_create(context, "auto", NULL, 0, &lcp);
        if (status == PERP_OK) {
            status = perp_lcp_solve(lcp, perp_problem_file_lcp(file), options, false, z, report);
        }
    } else {
        status = perp_mlcp_solver_create(context, "auto", NULL, 0, &mlcp);
        if (status == PERP_OK) {
            status = perp_mlcp_solve(mlcp, perp_problem_file_mlcp(file), options, false, z, report);
        }
    }
    perp_friction_solver_destroy(friction);
    perp_lcp_solver_destroy(lcp);
    perp_mlcp_solver_destroy(mlcp);
    return status;
}

static void check_problem(perp_context* context, perp_problem_file* file, tally* t)
{
    const char* name = perp_problem_file_name(file);
    const perp_friction_problem* friction = perp_problem_file_friction(file);
    const int32_t n = friction != NULL ? friction->row_count : perp_problem_file_mlcp(file)->M.cols;
    const int32_t nv = perp_problem_file_velocity_count(file);
    double* z = calloc((size_t)n + 1, sizeof *z);
    double* v = calloc((size_t)nv + 1, sizeof *v);
    perp_solve_options options = perp_solve_options_default();
    options.time_limit = TIME_LIMIT;
    perp_report report = {0};
    perp_plain_residual r = {NAN, NAN};
    const double begin = now();
    CHECK_OK(solve_file(context, file, &options, z, &report));
    const double took = now() - begin;
    if (nv > 0) {
        CHECK_OK(perp_problem_file_reconstruct(file, z, v));
    }
    CHECK_OK(perp_problem_file_residual(file, z, v, &r));
    const double bound = friction != NULL ? E_FRICTION : E_COMPLEMENTARITY;
    const bool solved = r.e <= bound;
    const bool exempt = strstr(name, "RockPile") != NULL;
    TEST_PRINT("%-44s %9.1e %9.1e %9.1e %9.2f ms  %-6s %s: %s", name, r.e, r.scaled,
               report.residual, 1e3 * took, solved ? "" : (exempt ? "exempt" : "MISSED"),
               report.solver != NULL ? report.solver : "-", report.detail);
    t->problems += 1;
    t->solved += solved ? 1 : 0;
    t->exempt += !solved && exempt ? 1 : 0;
    t->unscaled += solved && r.scaled > 1e-6 ? 1 : 0;
    t->friction += friction != NULL ? 1 : 0;
    t->sharp += friction != NULL && r.e <= 1e-12 ? 1 : 0;
    t->milliseconds += 1e3 * took;
    CHECK_AT_MOST(took, 2.0 * TIME_LIMIT);
    if (!exempt) {
        CHECK_AT_MOST(r.e, bound);
    }
    free(z);
    free(v);
}

TEST(auto_solves_every_problem_of_the_corpus)
{
    char path[600], line[4096];
    corpus_path(path, sizeof path, "manifest.csv");
    FILE* manifest = fopen(path, "r");
    if (manifest == NULL) {
        SKIP("the corpus is not here");
    }
    perp_context* context = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    tally t = {0};
    TEST_PRINT("%-44s %9s %9s %9s", "problem", "e", "scaled", "judge");
    const bool header = fgets(line, sizeof line, manifest) != NULL;
    while (header && fgets(line, sizeof line, manifest) != NULL) {
        const char* comma = strchr(line, ',');
        char relative[256];
        if (comma == NULL) {
            continue;
        }
        snprintf(relative, sizeof relative, "%.*s", (int)strcspn(comma + 1, ","), comma + 1);
        if (too_slow_here(relative)) {
            t.left_out += 1;
            continue;
        }
        corpus_path(path, sizeof path, relative);
        perp_problem_file* file = NULL;
        CHECK_OK(perp_problem_read(context, path, &file));
        if (file != NULL) {
            check_problem(context, file, &t);
        }
        perp_problem_file_destroy(file);
    }
    fclose(manifest);
    TEST_PRINT(
        "%d of %d solved, %d exempt, %d left out; %d of %d friction problems at 1e-12; %d with "
        "a scaled residual above 1e-6; %.1f ms in all",
        t.solved, t.problems, t.exempt, t.left_out, t.sharp, t.friction, t.unscaled,
        t.milliseconds);
    CHECK(t.problems > 0);
    CHECK_EQ_INT(t.solved + t.exempt, t.problems);
    perp_context_destroy(context);
}

/* ---- no solution -----------------------------------------------------------------------------------*/

static void check_unsolvable(const perp_lcp* problem)
{
    perp_context* context = NULL;
    perp_lcp_solver* lcp = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perp_lcp_solver_create(context, "auto", NULL, 0, &lcp));
    perp_solve_options options = perp_solve_options_default();
    for (int limited = 0; limited < 2; ++limited) {
        double z[8] = {0};
        perp_report report = {0};
        options.time_limit = limited ? 0.05 : 0.0;
        options.max_iter = limited ? 50 : 0;
        const double begin = now();
        CHECK_OK(perp_lcp_solve(lcp, problem, &options, false, z, &report));
        const double took = now() - begin;
        CHECK(report.outcome != PERP_OUTCOME_SOLVED);
        CHECK(report.residual > options.tolerance);
        CHECK_AT_MOST(took, limited ? 0.1 : 2.0);
        TEST_PRINT("%s, residual %.1e, %.2f ms; %s", perp_outcome_name(report.outcome),
                   report.residual, 1e3 * took, report.detail);
    }
    perp_lcp_solver_destroy(lcp);
    perp_context_destroy(context);
}

/* w = (-z2 - z3, z1 - 1, 1 - shift - z1): z1 = 1 for shift = 0, infeasible for shift > 0. */
TEST(an_isolated_solution_perturbed_away_is_not_found)
{
    const double M[9] = {0, -1, -1, 1, 0, 0, -1, 0, 0};
    const double shift[] = {1e-1, 1e-3, 1e-6};
    for (size_t i = 0; i < sizeof shift / sizeof shift[0]; ++i) {
        const double q[3] = {0.0, -1.0, 1.0 - shift[i]};
        check_unsolvable(&(perp_lcp){3, M, q});
    }
}

TEST(a_zero_matrix_does_not_lift_a_negative_q)
{
    const double M[4] = {0}, q[2] = {-1.0, 0.0};
    check_unsolvable(&(perp_lcp){2, M, q});
}

/* Painleve's paradox at acceleration level: a rod of length 2 l slides on its lower end, at angle a to
 * the floor; the rate of separation is M f + q with M = (1 + k c (c - mu s)) / m < 0 (k = 3: thin rod,
 * c = cos a, s = sin a) and q < 0: every force drives it deeper. */
TEST(painleves_paradox_has_no_solution_at_acceleration_level)
{
    const double a = 1.0, k = 3.0, mu = 3.0, g = 9.81;
    const double M = 1.0 + k * cos(a) * (cos(a) - mu * sin(a)), q = -g;
    CHECK(M < 0.0);
    check_unsolvable(&(perp_lcp){1, &M, &q});
}
