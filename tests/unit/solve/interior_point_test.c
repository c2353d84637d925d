/* tests/unit/solve/interior_point_test.c - the interior-point method on monotone problems. */
#include "perp_test.h"

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
    CHECK_OK(perp_mlcp_solver_create(b.context, "interior-point", option, count, &b.solver));
    return b;
}

static void bench_free(bench* b)
{
    perp_mlcp_solver_destroy(b->solver);
    perp_context_destroy(b->context);
    free(b->c);
}

/* By hand: z = (2, 0) gives w = (0, 3). */
TEST(an_lcp_goes_to_its_hand_solved_answer)
{
    perp_context* context = NULL;
    perp_lcp_solver* solver = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perp_lcp_solver_create(context, "interior-point", NULL, 0, &solver));
    const double M[] = {2, 1, 1, 2}, q[] = {-4, 1};
    const perp_lcp p = {2, M, q};
    double z[2] = {7, 7};
    perp_report report;
    REQUIRE_OK(perp_lcp_solve(solver, &p, NULL, false, z, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
    CHECK_NEAR(z[0], 2.0, 1e-14);
    CHECK_NEAR(z[1], 0.0, 1e-14);
    CHECK_EQ_STR(report.solver, "interior-point");
    perp_lcp_solver_destroy(solver);
    perp_context_destroy(context);
}

/* Semidefinite plus skew, rank-deficient, with free, one-sided and two-sided unknowns. */
static void check_monotone(bench* b, int32_t n, uint64_t* random)
{
    double z[CASE_MAX];
    perp_report report;
    case_clear(b->c, n);
    case_semidefinite(b->c, 1 + (int32_t)test_uniform(random, 0, n), random);
    for (int32_t i = 0; i < n; ++i) {
        for (int32_t j = 0; j < i; ++j) {
            const double skew = n % 2 == 0 ? test_uniform(random, -1, 1) : 0.0;
            b->c->M[i][j] += skew;
            b->c->M[j][i] -= skew;
        }
        const double coin = test_uniform(random, 0, 1);
        b->c->lower[i] = coin < 0.5 ? -INFINITY : -0.5;
        b->c->upper[i] = coin < 0.3 || coin > 0.7 ? INFINITY : 0.7;
    }
    case_plant(b->c, random);
    const perp_mlcp* p = case_view(b->c);
    REQUIRE_OK(perp_mlcp_solve(b->solver, p, NULL, false, z, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
    CHECK_AT_MOST(case_residual(b->c, z), 1e-8);
    CHECK(report.iterations <= 40);
    const uint64_t allocations = perp_context_allocations(b->context);
    REQUIRE_OK(perp_mlcp_solve(b->solver, p, NULL, true, z, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
    CHECK_EQ_U64(perp_context_allocations(b->context), allocations);
}

TEST(monotone_problems_are_solved_in_a_few_steps)
{
    bench b = bench_make(NULL, 0);
    uint64_t random = 7;
    for (int32_t trial = 0; trial < 200; ++trial) {
        check_monotone(&b, 1 + trial % 40, &random);
    }
    bench_free(&b);
}

TEST(sparse_factors_do_as_well)
{
    const perp_option sparse = {"dense-limit", 0};
    bench b = bench_make(&sparse, 1);
    uint64_t random = 8;
    for (int32_t trial = 0; trial < 100; ++trial) {
        check_monotone(&b, 1 + trial % 40, &random);
    }
    bench_free(&b);
}

/* -z_1 - 1 >= 0 and z_1 >= 0 contradict each other; M is skew, hence monotone. */
TEST(an_infeasible_monotone_problem_is_proved_to_be_so)
{
    bench b = bench_make(NULL, 0);
    case_clear(b.c, 2);
    b.c->M[0][1] = -1.0;
    b.c->M[1][0] = 1.0;
    b.c->q[0] = -1.0;
    b.c->q[1] = 1.0;
    double z[2];
    perp_report report;
    REQUIRE_OK(perp_mlcp_solve(b.solver, case_view(b.c), NULL, false, z, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_NO_SOLUTION);
    bench_free(&b);
}

/* Not monotone: whatever it says, a point that does not solve is not called a solution. */
TEST(a_problem_that_is_not_monotone_is_not_called_solved_in_vain)
{
    bench b = bench_make(NULL, 0);
    uint64_t random = 9;
    int32_t unsolved = 0;
    for (int32_t trial = 0; trial < 200; ++trial) {
        const int32_t n = 1 + trial % 10;
        double z[10], known[10];
        perp_report report;
        case_clear(b.c, n);
        for (int32_t i = 0; i < n; ++i) {
            for (int32_t j = 0; j < n; ++j) {
                b.c->M[i][j] = test_uniform(&random, -1, 1);
            }
            b.c->q[i] = test_uniform(&random, -1, 1);
        }
        REQUIRE_OK(perp_mlcp_solve(b.solver, case_view(b.c), NULL, false, z, &report));
        const bool solved = report.outcome == PERP_OUTCOME_SOLVED;
        unsolved += !solved;
        CHECK(!solved || case_residual(b.c, z) <= 1e-6);
        CHECK(report.outcome != PERP_OUTCOME_NO_SOLUTION || !case_enumerated(b.c, known));
    }
    CHECK(unsolved > 0);
    bench_free(&b);
}

static bool stop_at_once(void* user)
{
    (void)user;
    return true;
}

static void count_log(void* user, int32_t iteration, double residual)
{
    int32_t* calls = user;
    CHECK_EQ_INT(iteration, ++*calls);
    CHECK(residual >= 0.0);
}

TEST(limits_cancellation_and_log_are_respected)
{
    bench b = bench_make(NULL, 0);
    uint64_t random = 3;
    int32_t calls = 0;
    double z[CASE_MAX];
    perp_report report;
    case_clear(b.c, 30);
    case_semidefinite(b.c, 30, &random);
    case_plant(b.c, &random);
    const perp_mlcp* p = case_view(b.c);
    perp_solve_options options = perp_solve_options_default();
    options.log = count_log;
    options.user = &calls;
    REQUIRE_OK(perp_mlcp_solve(b.solver, p, &options, false, z, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
    CHECK_EQ_INT(calls, report.iterations);
    options.log = NULL;
    options.max_iter = 2;
    REQUIRE_OK(perp_mlcp_solve(b.solver, p, &options, false, z, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_MAX_ITER);
    options.max_iter = 0;
    options.cancel = stop_at_once;
    REQUIRE_OK(perp_mlcp_solve(b.solver, p, &options, false, z, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_CANCELLED);
    CHECK_EQ_INT(report.iterations, 1);
    bench_free(&b);
}
