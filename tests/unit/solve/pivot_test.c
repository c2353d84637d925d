/* tests/unit/solve/pivot_test.c - the pivotal method on MLCPs whose answer is known otherwise. */
#include "perp_test.h"

#include <dirent.h>

#include "conform/problems.h"
#include "mlcp_cases.h"

typedef struct bench {
    perp_context* context;
    perp_mlcp_solver* solver;
    mlcp_case* c;
} bench;

static bench bench_make(const perp_option* option, int32_t count)
{
    bench b = {.c = malloc(sizeof *b.c)};
    CHECK_OK(perp_context_create(NULL, &b.context));
    CHECK_OK(perp_mlcp_solver_create(b.context, "pivot", option, count, &b.solver));
    return b;
}

static void bench_free(bench* b)
{
    perp_mlcp_solver_destroy(b->solver);
    perp_context_destroy(b->context);
    free(b->c);
}

/* By hand: free z_0, 0 <= z_1, z_2 <= 1. z = (-1, 3, 1): w_0 = 2 z_0 + z_1 - 1 = 0,
 * w_1 = -z_0 + z_1 - 4 = 0, w_2 = z_2 - 2 = -1 <= 0 at the upper bound. */
TEST(a_hand_solved_problem_with_a_free_and_a_bounded_unknown_is_solved_exactly)
{
    bench b = bench_make(NULL, 0);
    case_clear(b.c, 3);
    b.c->lower[0] = -INFINITY;
    b.c->upper[2] = 1.0;
    b.c->M[0][0] = 2.0;
    b.c->M[0][1] = 1.0;
    b.c->M[1][0] = -1.0;
    b.c->M[1][1] = 1.0;
    b.c->M[2][2] = 1.0;
    b.c->q[0] = -1.0;
    b.c->q[1] = -4.0;
    b.c->q[2] = -2.0;
    double z[3];
    perp_report report;
    REQUIRE_OK(perp_mlcp_solve(b.solver, case_view(b.c), NULL, false, z, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
    CHECK_NEAR(z[0], -1.0, 1e-15);
    CHECK_NEAR(z[1], 3.0, 1e-15);
    CHECK_NEAR(z[2], 1.0, 0.0);
    CHECK_EQ_STR(report.solver, "pivot");
    bench_free(&b);
}

/* Families in which Lemke's path alone may end in a ray, and integers that tie everywhere. */
static void fill_lcp(mlcp_case* c, int32_t family, int32_t n, uint64_t* random)
{
    case_clear(c, n);
    for (int32_t i = 0; i < n; ++i) {
        for (int32_t j = 0; j < n && family != 1; ++j) {
            c->M[i][j] = family == 0 ? test_uniform(random, -1, 1)
                                     : floor(test_uniform(random, -2, 3)); /* often singular */
        }
        c->q[i] = family == 0 ? test_uniform(random, -1, 1) : floor(test_uniform(random, -2, 3));
    }
    if (family == 1) { /* positive definite: one solution */
        case_semidefinite(c, n, random);
        for (int32_t i = 0; i < n; ++i) {
            c->M[i][i] += 0.1;
            c->q[i] = test_uniform(random, -1, 1);
        }
    }
}

TEST(every_lcp_up_to_12_unknowns_gets_a_member_of_its_enumerated_solution_set)
{
    bench b = bench_make(NULL, 0);
    uint64_t random = 11;
    int32_t with = 0, without = 0;
    for (int32_t trial = 0; trial < 300; ++trial) {
        const int32_t n = trial % 10 == 0 ? 12 : 1 + trial % 9, family = trial % 3;
        double z[12], known[12];
        perp_report report;
        fill_lcp(b.c, family, n, &random);
        REQUIRE_OK(perp_mlcp_solve(b.solver, case_view(b.c), NULL, false, z, &report));
        const bool solvable = case_enumerated(b.c, known);
        with += solvable;
        without += !solvable;
        if (report.outcome == PERP_OUTCOME_SOLVED) {
            double size = 1.0;
            for (int32_t i = 0; i < n; ++i) {
                size = fabs(z[i]) > size ? fabs(z[i]) : size;
            }
            CHECK_AT_MOST(case_residual(b.c, z), 1e-10 * size);
        } else { /* then it must have proved that there is none */
            CHECK_EQ_INT(report.outcome, PERP_OUTCOME_NO_SOLUTION);
            CHECK(!solvable);
        }
        for (int32_t i = 0; i < n && family == 1; ++i) { /* a P-matrix: they agree */
            CHECK_NEAR(z[i], known[i], 1e-8);
        }
    }
    CHECK(with > 100);
    CHECK(without > 50);
    bench_free(&b);
}

/* M = 0 in a row: z_1 may be anything that keeps w_0 = 0, a whole ray of solutions. */
TEST(a_continuum_of_solutions_gives_one_of_them)
{
    bench b = bench_make(NULL, 0);
    case_clear(b.c, 2);
    b.c->M[0][0] = 1.0;
    b.c->M[0][1] = -1.0;
    b.c->M[1][0] = -1.0;
    b.c->M[1][1] = 1.0;
    b.c->q[0] = -1.0;
    b.c->q[1] = 1.0;
    double z[2];
    perp_report report;
    REQUIRE_OK(perp_mlcp_solve(b.solver, case_view(b.c), NULL, false, z, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
    CHECK_AT_MOST(fabs(z[0] - z[1] - 1.0), 1e-15);
    bench_free(&b);
}

/* With both bounds finite a solution always exists, whatever M is. */
TEST(boxes_are_always_solved)
{
    bench b = bench_make(NULL, 0);
    uint64_t random = 5;
    for (int32_t trial = 0; trial < 400; ++trial) {
        const int32_t n = 1 + trial % 15;
        double z[16];
        perp_report report;
        case_clear(b.c, n);
        for (int32_t i = 0; i < n; ++i) {
            for (int32_t j = 0; j < n; ++j) {
                b.c->M[i][j] = test_uniform(&random, -1, 1);
            }
            b.c->q[i] = test_uniform(&random, -1, 1);
            b.c->lower[i] = -test_uniform(&random, 0, 1);
            b.c->upper[i] = i % 7 == 6 ? b.c->lower[i] : test_uniform(&random, 0, 1);
        }
        REQUIRE_OK(perp_mlcp_solve(b.solver, case_view(b.c), NULL, false, z, &report));
        CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
        CHECK_AT_MOST(case_residual(b.c, z), 1e-13);
    }
    bench_free(&b);
}

/* Semidefinite with singular free blocks, and one-sided bounds from above: a solution is planted. */
static void check_planted(bench* b, int32_t n, uint64_t* random)
{
    double z[CASE_MAX];
    perp_report report;
    case_clear(b->c, n);
    case_semidefinite(b->c, 1 + (int32_t)test_uniform(random, 0, n), random);
    for (int32_t i = 0; i < n; ++i) {
        const double coin = test_uniform(random, 0, 1);
        b->c->lower[i] = coin < 0.6 ? -INFINITY : -0.5;
        b->c->upper[i] = coin < 0.4 || coin > 0.8 ? INFINITY : 0.7;
    }
    case_plant(b->c, random);
    const perp_mlcp* p = case_view(b->c);
    REQUIRE_OK(perp_mlcp_solve(b->solver, p, NULL, false, z, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
    CHECK_AT_MOST(case_residual(b->c, z), 1e-10);
    const uint64_t allocations = perp_context_allocations(b->context);
    REQUIRE_OK(perp_mlcp_solve(b->solver, p, NULL, false, z, &report));
    REQUIRE_OK(perp_mlcp_solve(b->solver, p, NULL, true, z, &report));
    CHECK_EQ_U64(perp_context_allocations(b->context), allocations);
    CHECK_EQ_INT(report.iterations, 0); /* from its own answer */
}

TEST(singular_free_blocks_do_not_stop_it)
{
    bench b = bench_make(NULL, 0);
    uint64_t random = 17;
    for (int32_t trial = 0; trial < 200; ++trial) {
        check_planted(&b, 1 + trial % 40, &random);
    }
    bench_free(&b);
}

TEST(the_sparse_basis_does_as_well)
{
    const perp_option sparse = {"dense-limit", 0};
    bench b = bench_make(&sparse, 1);
    uint64_t random = 18;
    for (int32_t trial = 0; trial < 100; ++trial) {
        check_planted(&b, 1 + trial % 40, &random);
    }
    bench_free(&b);
}

/* w_0 = -1 whatever z is: no solution, and with one unknown that is proved. */
TEST(what_has_no_solution_is_reported_as_such)
{
    bench b = bench_make(NULL, 0);
    case_clear(b.c, 2);
    b.c->M[1][1] = 1.0;
    b.c->q[0] = -1.0;
    double z[2];
    perp_report report;
    REQUIRE_OK(perp_mlcp_solve(b.solver, case_view(b.c), NULL, false, z, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_NO_SOLUTION);
    const perp_option off = {"enumerate-limit", 0};
    bench path = bench_make(&off, 1);
    REQUIRE_OK(perp_mlcp_solve(path.solver, &b.c->mlcp, NULL, false, z, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_RAY);
    bench_free(&path);
    bench_free(&b);
}

/* Rows and columns in other units: w_i -> s_i w_i, z_i -> z_i / c_i. */
TEST(units_do_not_change_the_answer)
{
    bench b = bench_make(NULL, 0);
    uint64_t random = 23;
    for (int32_t trial = 0; trial < 50; ++trial) {
        const int32_t n = 2 + trial % 20;
        double z[CASE_MAX], y[CASE_MAX], s[CASE_MAX];
        perp_report report;
        case_clear(b.c, n);
        case_semidefinite(b.c, n, &random);
        for (int32_t i = 0; i < n; ++i) {
            b.c->M[i][i] += 0.1;
            b.c->q[i] = test_uniform(&random, -1, 1);
            b.c->lower[i] = i % 3 == 0 ? -INFINITY : 0.0;
            b.c->upper[i] = i % 3 == 1 ? 0.3 : INFINITY;
        }
        REQUIRE_OK(perp_mlcp_solve(b.solver, case_view(b.c), NULL, false, z, &report));
        CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
        for (int32_t i = 0; i < n; ++i) {
            s[i] = exp2(floor(test_uniform(&random, -30, 30)));
        }
        for (int32_t i = 0; i < n; ++i) {
            for (int32_t j = 0; j < n; ++j) {
                b.c->M[i][j] *= s[i] * s[j];
            }
            b.c->q[i] *= s[i];
            b.c->upper[i] /= s[i];
        }
        REQUIRE_OK(perp_mlcp_solve(b.solver, case_view(b.c), NULL, false, y, &report));
        CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
        for (int32_t i = 0; i < n; ++i) {
            CHECK_NEAR(y[i] * s[i], z[i], 1e-9);
        }
    }
    bench_free(&b);
}

TEST(a_problem_without_unknowns_or_entries_is_solved)
{
    bench b = bench_make(NULL, 0);
    double z[2] = {1, 1};
    perp_report report;
    case_clear(b.c, 0);
    REQUIRE_OK(perp_mlcp_solve(b.solver, case_view(b.c), NULL, false, z, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
    case_clear(b.c, 2);
    b.c->lower[1] = -INFINITY;
    REQUIRE_OK(perp_mlcp_solve(b.solver, case_view(b.c), NULL, false, z, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
    bench_free(&b);
}

/* The basis of the guess is the start: a neighbouring problem takes a few pivots. */
TEST(a_warm_start_from_a_neighbouring_problem_saves_most_pivots)
{
    bench b = bench_make(NULL, 0);
    uint64_t random = 41;
    int32_t cold = 0, warm = 0;
    for (int32_t trial = 0; trial < 20; ++trial) {
        double z[CASE_MAX];
        perp_report report;
        case_clear(b.c, 40);
        case_semidefinite(b.c, 40, &random);
        for (int32_t i = 0; i < 40; ++i) {
            b.c->q[i] = test_uniform(&random, -1, 1);
            b.c->lower[i] = i % 4 == 0 ? -INFINITY : 0.0;
            b.c->upper[i] = i % 4 == 1 ? 0.5 : INFINITY;
        }
        REQUIRE_OK(perp_mlcp_solve(b.solver, case_view(b.c), NULL, false, z, &report));
        cold += report.iterations;
        for (int32_t i = 0; i < 40; ++i) {
            b.c->q[i] += 1e-3 * test_uniform(&random, -1, 1);
        }
        REQUIRE_OK(perp_mlcp_solve(b.solver, case_view(b.c), NULL, true, z, &report));
        CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
        CHECK_AT_MOST(case_residual(b.c, z), 1e-9);
        warm += report.iterations;
    }
    CHECK(3 * warm < cold);
    bench_free(&b);
}

typedef struct watch {
    int32_t calls, stop_after;
} watch;

static bool stop_soon(void* user)
{
    watch* w = user;
    return ++w->calls > w->stop_after;
}

static void count_log(void* user, int32_t iteration, double residual)
{
    watch* w = user;
    CHECK(iteration == ++w->calls);
    CHECK(residual >= -1e-9);
}

TEST(limits_cancellation_and_log_are_respected)
{
    const perp_option one = {"attempts", 1};
    bench b = bench_make(&one, 1);
    uint64_t random = 3;
    double z[CASE_MAX];
    perp_report report;
    case_clear(b.c, 50);
    case_semidefinite(b.c, 50, &random);
    for (int32_t i = 0; i < 50; ++i) {
        b.c->q[i] = -test_uniform(&random, 0, 1);
    }
    const perp_mlcp* p = case_view(b.c);
    perp_solve_options options = perp_solve_options_default();
    watch w = {0};
    options.log = count_log;
    options.user = &w;
    REQUIRE_OK(perp_mlcp_solve(b.solver, p, &options, false, z, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
    CHECK_EQ_INT(w.calls, report.iterations);
    CHECK(report.iterations > 20);
    options.log = NULL;
    options.max_iter = 5;
    REQUIRE_OK(perp_mlcp_solve(b.solver, p, &options, false, z, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_MAX_ITER);
    CHECK_EQ_INT(report.iterations, 5);
    options.max_iter = 0;
    options.cancel = stop_soon;
    w = (watch){0};
    REQUIRE_OK(perp_mlcp_solve(b.solver, p, &options, false, z, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_CANCELLED);
    bench_free(&b);
}

/* Steps of boxes with friction, the velocities kept as free unknowns. */
TEST(contact_problems_are_solved_as_mlcps)
{
    perp_context* context = NULL;
    perp_contact_solver* solver = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perp_contact_solver_create(context, "pivot", NULL, 0, &solver));
    test_contact* t = malloc(sizeof *t);
    double v[TEST_BLOCKS * 6], p[TEST_ROWS];
    perp_report report;
    for (int32_t i = 0; test_contact_make(i, t); ++i) {
        REQUIRE_OK(
            perp_contact_solve(solver, test_contact_view(t), NULL, false, v, p, NULL, &report));
        CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
    }
    free(t);
    perp_contact_solver_destroy(solver);
    perp_context_destroy(context);
}

static void check_folder(bench* b, const char* kind, int32_t least)
{
    char folder[1024], path[2048];
    const char* source = getenv("PERP_SOURCE");
    snprintf(folder, sizeof folder, "%s/../shared/corpus/%s", source != NULL ? source : ".", kind);
    DIR* d = opendir(folder);
    if (d == NULL) {
        SKIP("no corpus next to the source folder");
    }
    int32_t count = 0;
    for (struct dirent* e; (e = readdir(d)) != NULL;) {
        if (strstr(e->d_name, ".ccp") == NULL) {
            continue;
        }
        perp_problem_file* file = NULL;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        REQUIRE_OK(perp_problem_read(b->context, path, &file));
        const perp_mlcp* p = perp_problem_file_mlcp(file);
        double* z = malloc((size_t)p->M.cols * sizeof *z);
        perp_report report;
        perp_plain_residual plain = {INFINITY, INFINITY};
        REQUIRE_OK(perp_mlcp_solve(b->solver, p, NULL, false, z, &report));
        REQUIRE_OK(perp_problem_file_residual(file, z, NULL, &plain));
        if (!(plain.e <= 1e-10)) {
            printf("  %s: %s, e = %.1e\n", e->d_name, perp_outcome_name(report.outcome), plain.e);
        }
        CHECK(report.outcome == PERP_OUTCOME_SOLVED ? plain.e <= 1e-10
                                                    : strstr(e->d_name, "perturbed") != NULL);
        ++count;
        free(z);
        perp_problem_file_destroy(file);
    }
    closedir(d);
    CHECK(count >= least);
}

TEST(the_mlcps_of_the_corpus_are_solved)
{
    bench b = bench_make(NULL, 0);
    check_folder(&b, "mlcp", 10);
    check_folder(&b, "blcp", 4);
    check_folder(&b, "lcp", 10);
    bench_free(&b);
}
