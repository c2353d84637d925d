/* tests/unit/solve/splitting_test.c - pgs, psor and jacobi, on every form they take. */
#include "perp_test.h"

#include "conform/problems.h"
#include "mlcp_cases.h"

static const char* const names[] = {"pgs", "psor", "jacobi"};
enum { NAMES = 3 };

/* By hand: z = (2, 0) gives w = (0, 3). */
TEST(all_three_find_the_hand_solved_active_set)
{
    perp_context* context = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    const double M[] = {2, 1, 1, 2}, q[] = {-4, 1};
    const perp_lcp p = {2, M, q};
    for (int32_t k = 0; k < NAMES; ++k) {
        perp_lcp_solver* solver = NULL;
        double z[2] = {9, 9};
        perp_report report;
        REQUIRE_OK(perp_lcp_solver_create(context, names[k], NULL, 0, &solver));
        REQUIRE_OK(perp_lcp_solve(solver, &p, NULL, false, z, &report));
        CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
        CHECK_NEAR(z[0], 2.0, 1e-9);
        CHECK_NEAR(z[1], 0.0, 0.0);
        CHECK_EQ_STR(report.solver, names[k]);
        perp_lcp_solver_destroy(solver);
    }
    perp_context_destroy(context);
}

/* Symmetric positive definite with free and bounded unknowns: a solution is planted. */
TEST(mlcps_with_free_and_bounded_unknowns_are_swept)
{
    perp_context* context = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    mlcp_case* c = malloc(sizeof *c);
    for (int32_t k = 0; k < NAMES; ++k) {
        perp_mlcp_solver* solver = NULL;
        uint64_t random = 31;
        REQUIRE_OK(perp_mlcp_solver_create(context, names[k], NULL, 0, &solver));
        for (int32_t trial = 0; trial < 40; ++trial) {
            const int32_t n = 1 + trial;
            double z[CASE_MAX];
            perp_report report;
            case_clear(c, n);
            case_semidefinite(c, n, &random);
            for (int32_t i = 0; i < n; ++i) {
                c->M[i][i] += 1.0;
                c->lower[i] = i % 3 == 0 ? -INFINITY : -0.5;
                c->upper[i] = i % 2 == 0 ? 0.7 : INFINITY;
            }
            case_plant(c, &random);
            const perp_mlcp* p = case_view(c);
            REQUIRE_OK(perp_mlcp_solve(solver, p, NULL, false, z, &report));
            CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
            CHECK_AT_MOST(case_residual(c, z), 1e-7);
            const int32_t cold = report.iterations;
            const uint64_t allocations = perp_context_allocations(context);
            REQUIRE_OK(perp_mlcp_solve(solver, p, NULL, true, z, &report));
            CHECK(report.iterations <= cold);
            CHECK_EQ_U64(perp_context_allocations(context), allocations);
        }
        perp_mlcp_solver_destroy(solver);
    }
    free(c);
    perp_context_destroy(context);
}

TEST(a_free_row_without_a_diagonal_is_refused)
{
    perp_context* context = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    mlcp_case* c = malloc(sizeof *c);
    case_clear(c, 2);
    c->M[0][1] = -1.0;
    c->M[1][0] = 1.0;
    c->M[1][1] = 1.0;
    c->lower[0] = -INFINITY;
    for (int32_t k = 0; k < NAMES; ++k) {
        perp_mlcp_solver* solver = NULL;
        double z[2] = {3, 4};
        perp_report report;
        REQUIRE_OK(perp_mlcp_solver_create(context, names[k], NULL, 0, &solver));
        CHECK_EQ_INT(perp_mlcp_solve(solver, case_view(c), NULL, false, z, &report),
                     PERP_ERROR_INPUT);
        CHECK(strstr(perp_context_error(context), "positive diagonal, M[0][0] is 0") != NULL);
        CHECK_AT_MOST(fabs(z[0] - 3.0) + fabs(z[1] - 4.0), 0.0);
        perp_mlcp_solver_destroy(solver);
    }
    free(c);
    perp_context_destroy(context);
}

/* Three rows that nearly say the same, as contacts of one body do: the largest eigenvalue 2.8 of M
 * is more than twice the diagonal, so that plain Jacobi goes to and fro. */
TEST(jacobi_needs_its_safe_divisors_where_rows_are_coupled)
{
    perp_context* context = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    const double M[] = {1, 0.9, 0.9, 0.9, 1, 0.9, 0.9, 0.9, 1}, q[] = {-1, -1, -1};
    const perp_lcp p = {3, M, q};
    for (int32_t safe = 0; safe < 2; ++safe) {
        const perp_option option[] = {{"safe", safe}, {"relax", 1.0}};
        perp_lcp_solver* solver = NULL;
        double z[3];
        perp_report report;
        REQUIRE_OK(perp_lcp_solver_create(context, "jacobi", option, 2, &solver));
        REQUIRE_OK(perp_lcp_solve(solver, &p, NULL, false, z, &report));
        CHECK((report.outcome == PERP_OUTCOME_SOLVED) == (safe == 1));
        perp_lcp_solver_destroy(solver);
    }
    perp_context_destroy(context);
}

/* The velocities are unique on planar boxes and particles: the three agree with a pivoting method. */
TEST(all_three_agree_with_lemke_on_the_velocities)
{
    perp_context* context = NULL;
    perp_contact_solver* lemke = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perp_contact_solver_create(context, "lemke", NULL, 0, &lemke));
    test_contact* t = malloc(sizeof *t);
    double v[TEST_BLOCKS * 6], p[TEST_ROWS], w[TEST_BLOCKS * 6];
    perp_report report;
    for (int32_t k = 0; k < NAMES; ++k) {
        perp_contact_solver* solver = NULL;
        REQUIRE_OK(perp_contact_solver_create(context, names[k], NULL, 0, &solver));
        for (int32_t i = 24; i <= 28; ++i) {
            REQUIRE(test_contact_make(i, t));
            const perp_contact_problem* P = test_contact_view(t);
            REQUIRE_OK(perp_contact_solve(solver, P, NULL, false, v, p, NULL, &report));
            CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
            REQUIRE_OK(perp_contact_solve(lemke, P, NULL, false, w, p, NULL, &report));
            for (int32_t j = 0; j < P->dof_count; ++j) {
                CHECK_NEAR(v[j], w[j], 1e-8);
            }
        }
        perp_contact_solver_destroy(solver);
    }
    free(t);
    perp_contact_solver_destroy(lemke);
    perp_context_destroy(context);
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

/* Nearly singular: more sweeps than the limits below allow. */
TEST(limits_cancellation_and_log_are_respected)
{
    perp_context* context = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    const double M[] = {1, 0.999, 0.999, 1}, q[] = {-1, -1};
    const perp_lcp p = {2, M, q};
    for (int32_t k = 0; k < NAMES; ++k) {
        perp_lcp_solver* solver = NULL;
        double z[2];
        int32_t calls = 0;
        perp_report report;
        perp_solve_options options = perp_solve_options_default();
        const perp_option relax = {"relax", 0.5};
        REQUIRE_OK(perp_lcp_solver_create(context, names[k], &relax, 1, &solver));
        options.max_iter = 3;
        options.log = count_log;
        options.user = &calls;
        REQUIRE_OK(perp_lcp_solve(solver, &p, &options, false, z, &report));
        CHECK_EQ_INT(report.outcome, PERP_OUTCOME_MAX_ITER);
        CHECK_EQ_INT(report.iterations, 3);
        CHECK_EQ_INT(calls, 3);
        options.max_iter = 0;
        options.log = NULL;
        options.cancel = stop_at_once;
        REQUIRE_OK(perp_lcp_solve(solver, &p, &options, false, z, &report));
        CHECK(report.outcome == PERP_OUTCOME_CANCELLED || report.iterations < 16);
        perp_lcp_solver_destroy(solver);
    }
    perp_context_destroy(context);
}
