/* tests/unit/solve/pgs_test.c - projected Gauss-Seidel, on LCPs and on contact problems. */
#include "perp_test.h"

#include "conform/problems.h"
#include "perp/solve.h"

/* By hand: z = (2, 0) gives w = (0, 3); the first sweep lands on it. */
TEST(pgs_finds_the_hand_solved_active_set)
{
    perp_context* context = NULL;
    perp_lcp_solver* solver = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perp_lcp_solver_create(context, "pgs", NULL, 0, &solver));
    const double M[] = {2, 1, 1, 2}, q[] = {-4, 1};
    const perp_lcp p = {2, M, q};
    double z[2] = {9, 9};
    perp_report report;
    REQUIRE_OK(perp_lcp_solve(solver, &p, NULL, false, z, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
    CHECK_AT_MOST(fabs(z[0] - 2.0) + fabs(z[1]), 0.0);
    CHECK_AT_MOST(report.residual, 0.0);
    CHECK_EQ_STR(report.solver, "pgs");
    perp_lcp_solver_destroy(solver);
    perp_context_destroy(context);
}

/* For a symmetric positive definite M the method converges for every 0 < relax < 2. */
TEST(pgs_converges_for_every_relaxation)
{
    perp_context* context = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    enum { N = 12 };
    double M[N * N], q[N], z[N];
    uint64_t random = 4;
    for (int i = 0; i < N; ++i) {
        for (int j = 0; j < N; ++j) {
            M[i * N + j] = (i == j ? 1.5 : 0.0) + 0.5 * pow(0.5, abs(i - j));
        }
        q[i] = test_uniform(&random, -1, 1);
    }
    const perp_lcp p = {N, M, q};
    const double relax[] = {0.2, 0.7, 1.0, 1.3, 1.8};
    for (int i = 0; i < 5; ++i) {
        const perp_option option = {"relax", relax[i]};
        perp_lcp_solver* solver = NULL;
        perp_report report;
        REQUIRE_OK(perp_lcp_solver_create(context, "pgs", &option, 1, &solver));
        REQUIRE_OK(perp_lcp_solve(solver, &p, NULL, false, z, &report));
        CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
        perp_lcp_solver_destroy(solver);
    }
    perp_context_destroy(context);
}

TEST(pgs_refuses_a_zero_diagonal)
{
    perp_context* context = NULL;
    perp_lcp_solver* solver = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perp_lcp_solver_create(context, "pgs", NULL, 0, &solver));
    const double M[] = {1, 0, 0, 0}, q[] = {-1, -1};
    const perp_lcp p = {2, M, q};
    double z[2] = {3, 4};
    perp_report report;
    CHECK_EQ_INT(perp_lcp_solve(solver, &p, NULL, false, z, &report), PERP_ERROR_INPUT);
    CHECK_EQ_STR(perp_context_error(context),
                 "solver 'pgs' needs a positive diagonal, M[1][1] is 0");
    CHECK_AT_MOST(fabs(z[0] - 3.0) + fabs(z[1] - 4.0), 0.0);
    perp_lcp_solver_destroy(solver);
    perp_context_destroy(context);
}

TEST(pgs_stops_at_its_sweep_limit_and_says_so)
{
    perp_context* context = NULL;
    perp_lcp_solver* solver = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perp_lcp_solver_create(context, "pgs", NULL, 0, &solver));
    const double M[] = {1, 0.99, 0.99, 1}, q[] = {-1, -1};
    const perp_lcp p = {2, M, q};
    double z[2];
    perp_report report;
    perp_solve_options options = perp_solve_options_default();
    options.max_iter = 3;
    REQUIRE_OK(perp_lcp_solve(solver, &p, &options, false, z, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_MAX_ITER);
    CHECK_EQ_INT(report.iterations, 3);
    CHECK(report.residual > 1e-10);
    perp_lcp_solver_destroy(solver);
    perp_context_destroy(context);
}

/* A matrix for which the sweeps grow without bound: no NaN comes out as a success. */
TEST(pgs_that_diverges_breaks_down)
{
    perp_context* context = NULL;
    perp_lcp_solver* solver = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perp_lcp_solver_create(context, "pgs", NULL, 0, &solver));
    const double M[] = {1, -3, -3, 1}, q[] = {-1, -1};
    const perp_lcp p = {2, M, q};
    double z[2];
    perp_report report;
    REQUIRE_OK(perp_lcp_solve(solver, &p, NULL, false, z, &report));
    CHECK(report.outcome != PERP_OUTCOME_SOLVED);
    CHECK(!(report.residual <= 1e-10));
    perp_lcp_solver_destroy(solver);
    perp_context_destroy(context);
}

/* A particle of 0.1 kg falls at 1 m/s onto the ground while sliding at 1 m/s along x: the impulse
 * is p_n = m (1 + g h), friction takes mu p_n from the sliding speed. */
TEST(pgs_gives_a_sliding_particle_its_closed_form_impulse)
{
    perp_context* context = NULL;
    perp_contact_solver* solver = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perp_contact_solver_create(context, "pgs", NULL, 0, &solver));
    test_contact t = {.name = "particle"};
    const double m[3] = {0.1, 0.1, 0.1}, v0[3] = {1, 0, -1}, f[3] = {0, 0, -0.981}, r[3] = {0};
    test_add_block(&t, 3, m, v0, f);
    test_add_contact(&t, -1, r, 0, r, 4, 0.3, 0.0);
    double v[3], p[3];
    perp_report report;
    REQUIRE_OK(perp_contact_solve(solver, test_contact_view(&t), NULL, false, v, p, NULL, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
    CHECK_NEAR(p[0], 0.1 * (1 + 0.0981), 1e-15);
    CHECK_NEAR(p[1], -0.3 * p[0], 1e-15);
    CHECK_NEAR(p[2], 0.0, 1e-15);
    CHECK_NEAR(v[0], 1.0 - 0.3 * 1.0981, 1e-14);
    CHECK_NEAR(v[2], 0.0, 1e-15);
    perp_contact_solver_destroy(solver);
    perp_context_destroy(context);
}

/* The two methods must agree where the answer is unique: the velocities. */
TEST(pgs_and_lemke_agree_on_the_velocities)
{
    perp_context* context = NULL;
    perp_contact_solver *pgs = NULL, *lemke = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perp_contact_solver_create(context, "pgs", NULL, 0, &pgs));
    REQUIRE_OK(perp_contact_solver_create(context, "lemke", NULL, 0, &lemke));
    test_contact* t = malloc(sizeof *t);
    double v[TEST_BLOCKS * 6], p[TEST_ROWS], w[TEST_BLOCKS * 6];
    perp_report report;
    for (int32_t i = 24; i <= 28; ++i) { /* planar boxes and particles: unique velocities */
        REQUIRE(test_contact_make(i, t));
        const perp_contact_problem* P = test_contact_view(t);
        REQUIRE_OK(perp_contact_solve(pgs, P, NULL, false, v, p, NULL, &report));
        CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
        REQUIRE_OK(perp_contact_solve(lemke, P, NULL, false, w, p, NULL, &report));
        CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
        for (int32_t j = 0; j < P->dof_count; ++j) {
            CHECK_NEAR(v[j], w[j], 1e-8);
        }
    }
    free(t);
    perp_contact_solver_destroy(pgs);
    perp_contact_solver_destroy(lemke);
    perp_context_destroy(context);
}

TEST(pgs_refuses_groups_and_takes_round_cones)
{
    perp_context* context = NULL;
    perp_contact_solver* solver = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perp_contact_solver_create(context, "pgs", NULL, 0, &solver));
    const double mass[1] = {2};
    const int32_t directions[1] = {4};
    test_contact* t = malloc(sizeof *t);
    *t = test_boxes("block", 1, mass, directions, 0, 1);
    const int32_t member[2] = {0, 1};
    const perp_group group = {member, 2, 2};
    test_contact_view(t);
    t->problem.group = &group;
    t->problem.group_count = 1;
    double v[6], p[12];
    perp_report report;
    CHECK_EQ_INT(perp_contact_solve(solver, &t->problem, NULL, false, v, p, NULL, &report),
                 PERP_ERROR_UNSUPPORTED);
    CHECK_EQ_STR(perp_context_error(context), "solver 'pgs' does not take groups of contacts");
    t->problem.group_count = 0;
    t->constraint[2].cone = PERP_CONE_QUADRATIC;
    t->constraint[2].directions = 0;
    perp_contact_residual residual;
    perp_solve_options options = perp_solve_options_default();
    options.tolerance = 1e-8;
    REQUIRE_OK(perp_contact_solve(solver, &t->problem, &options, false, v, p, &residual, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
    CHECK_AT_MOST(residual.worst, 1e-8);
    free(t);
    perp_contact_solver_destroy(solver);
    perp_context_destroy(context);
}
