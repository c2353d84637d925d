/* The proximal fixed point on LCPs and NCPs: where it must converge, and how it ends elsewhere. */
#include <stdlib.h>

#include "perp/perp.h"
#include "perp_test.h"

static perp_report solve_lcp(const perp_lcp* lcp, double tolerance, int32_t max_iter, double* z)
{
    perp_context* context = NULL;
    perp_lcp_solver* solver = NULL;
    perp_report report = {0};
    CHECK_OK(perp_context_create(NULL, &context));
    CHECK_OK(perp_lcp_solver_create(context, "fixed-point", NULL, 0, &solver));
    perp_solve_options options = perp_solve_options_default();
    options.tolerance = tolerance;
    options.max_iter = max_iter;
    CHECK_OK(perp_lcp_solve(solver, lcp, &options, false, z, &report));
    perp_lcp_solver_destroy(solver);
    perp_context_destroy(context);
    return report;
}

TEST(a_hand_solved_lcp)
{
    /* z = (4/3, 7/3), w = 0 */
    const double M[] = {2, 1, 1, 2}, q[] = {-5, -6};
    const perp_lcp lcp = {2, M, q};
    double z[2];
    const perp_report report = solve_lcp(&lcp, 1e-12, 0, z);
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
    CHECK_NEAR(z[0], 4.0 / 3.0, 1e-10);
    CHECK_NEAR(z[1], 7.0 / 3.0, 1e-10);
}

TEST(a_game_without_a_diagonal_converges)
{
    /* Skew: z <- P(z - tau F(z)) circles around (1, 1) for ever; the second evaluation ends that. */
    const double M[] = {0, 1, -1, 0}, q[] = {-1, 1};
    const perp_lcp lcp = {2, M, q};
    double z[2];
    const perp_report report = solve_lcp(&lcp, 1e-10, 0, z);
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
    CHECK_NEAR(z[0], 1.0, 1e-8);
    CHECK_NEAR(z[1], 1.0, 1e-8);
    TEST_PRINT("%d iterations", report.iterations);
}

TEST(monotone_problems_of_any_scale_agree_with_lemke)
{
    enum { N = 12 };
    perp_context* context = NULL;
    perp_lcp_solver* lemke = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perp_lcp_solver_create(context, "lemke", NULL, 0, &lemke));
    uint64_t state = 11;
    for (int trial = 0; trial < 40; ++trial) {
        double A[N * N], M[N * N], q[N], z[N], y[N] = {0}, scale[N];
        for (int i = 0; i < N * N; ++i) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            A[i] = (double)(state >> 40) / (double)(1 << 24) - 0.5;
        }
        for (int i = 0; i < N; ++i) {
            q[i] = 4.0 * A[(i * 7 + trial) % (N * N)];
            scale[i] = pow(10.0, trial % 2 == 0 ? 0.0 : 6.0 * A[i]);
        }
        for (int i = 0; i < N; ++i) {
            for (int j = 0; j < N; ++j) { /* A A' + I + skew, then other units per row */
                double t = i == j ? 1.0 : A[i * N + j] - A[j * N + i];
                for (int k = 0; k < N; ++k) {
                    t += A[i * N + k] * A[j * N + k];
                }
                M[i * N + j] = scale[i] * t * scale[j];
            }
            q[i] *= scale[i];
        }
        const perp_lcp lcp = {N, M, q};
        const perp_report report = solve_lcp(&lcp, 1e-10, 0, z);
        perp_report exact;
        const perp_solve_options options = perp_solve_options_default();
        CHECK_OK(perp_lcp_solve(lemke, &lcp, &options, false, y, &exact));
        CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
        CHECK_EQ_INT(exact.outcome, PERP_OUTCOME_SOLVED);
        for (int i = 0; i < N; ++i) {
            CHECK_NEAR(z[i] * scale[i], y[i] * scale[i], 1e-7);
        }
    }
    perp_lcp_solver_destroy(lemke);
    perp_context_destroy(context);
}

TEST(limits_are_kept_and_nothing_is_called_solved_that_is_not)
{
    const double M[] = {0, 0, 0, 0}, q[] = {-1, 1}; /* no solution: w_0 = -1 */
    const perp_lcp lcp = {2, M, q};
    double z[2];
    const perp_report report = solve_lcp(&lcp, 1e-10, 50, z);
    CHECK(report.outcome != PERP_OUTCOME_SOLVED);
    CHECK(report.iterations <= 50);
    CHECK(isfinite(z[0]) && isfinite(z[1]));
}

/* F_i = z_i^3 + z_i - i + 1/2: a root each, 0 where it would be negative; upper bound on the last. */
static perp_status cubic(void* user, const double* z, double* F)
{
    const int32_t n = *(const int32_t*)user;
    for (int32_t i = 0; i < n; ++i) {
        F[i] = z[i] * z[i] * z[i] + z[i] - (double)i + 0.5;
    }
    return PERP_OK;
}

static perp_status cubic_slope(void* user, const double* z, double* value)
{
    const int32_t n = *(const int32_t*)user;
    for (int32_t i = 0; i < n; ++i) {
        value[i] = 3.0 * z[i] * z[i] + 1.0;
    }
    return PERP_OK;
}

TEST(a_nonlinear_problem_with_bounds)
{
    enum { N = 4 };
    int32_t n = N, start[N + 1] = {0, 1, 2, 3, 4}, row[N] = {0, 1, 2, 3};
    const double lower[N] = {0, 0, 0, 0}, upper[N] = {INFINITY, INFINITY, INFINITY, 0.25};
    const perp_ncp ncp = {.n = N,
                          .lower = lower,
                          .upper = upper,
                          .user = &n,
                          .function = cubic,
                          .pattern = {.rows = N, .cols = N, .start = start, .row = row},
                          .jacobian = cubic_slope};
    perp_context* context = NULL;
    perp_ncp_solver* solver = NULL;
    perp_report report;
    double z[N] = {0};
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perp_ncp_solver_create(context, "fixed-point", NULL, 0, &solver));
    perp_solve_options options = perp_solve_options_default();
    options.tolerance = 1e-12;
    CHECK_OK(perp_ncp_solve(solver, &ncp, &options, false, z, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
    CHECK_NEAR(z[0], 0.0, 1e-12);
    CHECK_NEAR(z[1] * z[1] * z[1] + z[1], 0.5, 1e-10);
    CHECK_NEAR(z[2] * z[2] * z[2] + z[2], 1.5, 1e-10);
    CHECK_NEAR(z[3], 0.25, 0.0);
    perp_ncp_solver_destroy(solver);
    perp_context_destroy(context);
}
