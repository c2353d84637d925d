/* tests/unit/solve/compliance_test.c - rows that give way: u = J v + b + c p.
 *
 * Four islands, one velocity a block, solved by hand; every number is exact in binary.
 *   0  m = 2, k = 4. Equality v + 1 + p/2 = 0 with 2 v = 4 + p: p = -3, v = 1/2.
 *   1  the same bounded, -2 <= p <= 2: the bound holds, p = -2, v = 1, u = 1 + 1 - 1 = 1 >= 0.
 *   2  the same bounded, -8 <= p <= 8: as the equality.
 *   3  m = 1 on the ground (a contact), k = -1, and above it m = 1, k = -1, on a spring
 *      v_4 - v_3 + p = 0: contact 3/2, spring 1/2, v_3 = 0, v_4 = -1/2.
 */
#include "perp_test.h"

#include "perp/solve.h"

enum { BLOCKS = 5, ROWS = 5 };

static const double exact_v[BLOCKS] = {0.5, 1.0, 0.5, 0.0, -0.5};
static const double exact_p[ROWS] = {-3.0, -2.0, -3.0, 1.5, 0.5};

static perp_contact_problem by_hand(void)
{
    static const int32_t dof[] = {0, 1, 2, 3, 4, 5};
    static const double M[] = {2, 2, 2, 1, 1}, k[] = {4, 4, 4, -1, -1};
    static const double J[] = {1, 1, 1, 1, -1, 1}, b[] = {1, 1, 1, 0, 0};
    static const double lower[] = {0, -2, -8, 0, 0}, upper[] = {0, 2, 8, 0, 0};
    static const double c[] = {0.5, 0.5, 0.5, NAN, 1}; /* a contact's is not read */
    static const perp_constraint constraint[] = {
        {.kind = PERP_CONSTRAINT_EQUALITY, .block = {0, -1}, .row = 0, .rows = 1, .jac = 0},
        {.kind = PERP_CONSTRAINT_BOUNDED, .block = {1, -1}, .row = 1, .rows = 1, .jac = 1},
        {.kind = PERP_CONSTRAINT_BOUNDED, .block = {2, -1}, .row = 2, .rows = 1, .jac = 2},
        {.kind = PERP_CONSTRAINT_CONTACT, .block = {-1, 3}, .row = 3, .rows = 1, .jac = 3},
        {.kind = PERP_CONSTRAINT_EQUALITY, .block = {3, 4}, .row = 4, .rows = 1, .jac = 4},
    };
    return (perp_contact_problem){.block_count = BLOCKS,
                                  .constraint_count = 5,
                                  .dof_count = BLOCKS,
                                  .row_count = ROWS,
                                  .dof = dof,
                                  .M = M,
                                  .k = k,
                                  .J = J,
                                  .b = b,
                                  .lower = lower,
                                  .upper = upper,
                                  .compliance = c,
                                  .constraint = constraint};
}

TEST(the_judge_knows_the_hand_solved_rows)
{
    perp_contact_problem P = by_hand();
    double work[256];
    REQUIRE(perp_contact_residual_work(&P) <= 256);
    CHECK_AT_MOST(perp_contact_check_residual(&P, exact_v, exact_p, work).worst, 0.0);
    P.compliance = NULL; /* hard rows: another problem */
    CHECK(perp_contact_check_residual(&P, exact_v, exact_p, work).joints > 0.1);
}

TEST(every_method_of_every_form_finds_them)
{
    perp_context* context = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    const perp_contact_problem P = by_hand();
    perp_solver_info info;
    int tried = 0;
    for (int32_t s = 0; perp_solver_list(context, s, &info); ++s) {
        perp_contact_solver* solver = NULL;
        REQUIRE_OK(perp_contact_solver_create(context, info.name, NULL, 0, &solver));
        perp_solve_options options = perp_solve_options_default();
        options.tolerance = 1e-11;
        double v[BLOCKS], p[ROWS];
        perp_report report;
        const perp_status status =
            perp_contact_solve(solver, &P, &options, false, v, p, NULL, &report);
        CHECK_OK(status);
        if (status != PERP_OK || report.outcome != PERP_OUTCOME_SOLVED) {
            printf("  %s: %s %s\n", info.name, perp_context_error(context), report.detail);
        }
        CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
        for (int i = 0; i < BLOCKS; ++i) {
            CHECK_NEAR(v[i], exact_v[i], 1e-9);
            CHECK_NEAR(p[i], exact_p[i], 1e-9);
        }
        ++tried;
        perp_contact_solver_destroy(solver);
    }
    CHECK(tried >= 10);
    perp_context_destroy(context);
}

/* The three ways down, each solved by a method of that form. */
TEST(every_lowering_holds_the_compliance)
{
    perp_context* context = NULL;
    perp_reformulation* lowering = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perp_reformulation_create(context, &lowering));
    const perp_contact_problem P = by_hand();
    double work[256], v[BLOCKS], p[ROWS];

    perp_mlcp mlcp;
    double z[64], z_lcp[64];
    REQUIRE_OK(perp_contact_to_mlcp(lowering, &P, &mlcp));
    perp_reformulation_mlcp_guess(lowering, &P, exact_v, exact_p, z);
    CHECK_AT_MOST(perp_mlcp_check_residual(&mlcp, z, work), 0.0);

    perp_lcp lcp;
    perp_lcp_solver* lemke = NULL;
    perp_report report;
    REQUIRE_OK(perp_lcp_solver_create(context, "lemke", NULL, 0, &lemke));
    REQUIRE_OK(perp_mlcp_to_lcp(lowering, &mlcp, &lcp));
    REQUIRE_OK(perp_lcp_solve(lemke, &lcp, NULL, false, z_lcp, &report));
    perp_reformulation_lcp_reconstruct(lowering, &mlcp, z_lcp, z);
    perp_reformulation_mlcp_reconstruct(lowering, &P, z, v, p);
    CHECK_AT_MOST(perp_contact_check_residual(&P, v, p, work).worst, 1e-14);

    REQUIRE_OK(perp_contact_to_lcp(lowering, &P, &lcp));
    perp_reformulation_contact_lcp_guess(lowering, &P, exact_v, exact_p, z);
    CHECK_AT_MOST(perp_lcp_check_residual(&lcp, z), 1e-15);
    REQUIRE_OK(perp_lcp_solve(lemke, &lcp, NULL, false, z_lcp, &report));
    perp_reformulation_contact_lcp_reconstruct(lowering, &P, z_lcp, v, p);
    CHECK_AT_MOST(perp_contact_check_residual(&P, v, p, work).worst, 1e-14);

    perp_friction_problem friction;
    REQUIRE_OK(perp_contact_to_friction(lowering, &P, &friction));
    CHECK_AT_MOST(perp_friction_check_residual(&friction, exact_p, work).worst, 1e-15);
    perp_reformulation_friction_reconstruct(lowering, &P, exact_p, v);
    CHECK_AT_MOST(perp_contact_check_residual(&P, v, exact_p, work).worst, 1e-15);

    perp_lcp_solver_destroy(lemke);
    perp_reformulation_destroy(lowering);
    perp_context_destroy(context);
}

/* Two springs along one line: hard rows would be redundant and contradict each other. */
TEST(two_springs_on_one_line_share_the_load)
{
    /* m = 1, k = 0: v + 1 + p_0 = 0, v - 3 + p_1 = 0, v = p_0 + p_1: v = 2/3 */
    static const int32_t dof[] = {0, 1};
    static const double M[] = {1}, k[] = {0}, J[] = {1, 1}, b[] = {1, -3}, c[] = {1, 1};
    static const perp_constraint constraint[] = {
        {.kind = PERP_CONSTRAINT_EQUALITY, .block = {0, -1}, .row = 0, .rows = 1, .jac = 0},
        {.kind = PERP_CONSTRAINT_EQUALITY, .block = {0, -1}, .row = 1, .rows = 1, .jac = 1},
    };
    const perp_contact_problem P = {.block_count = 1,
                                    .constraint_count = 2,
                                    .dof_count = 1,
                                    .row_count = 2,
                                    .dof = dof,
                                    .M = M,
                                    .k = k,
                                    .J = J,
                                    .b = b,
                                    .compliance = c,
                                    .constraint = constraint};
    perp_context* context = NULL;
    perp_contact_solver* solver = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perp_contact_solver_create(context, "auto", NULL, 0, &solver));
    double v[1], p[2];
    perp_report report;
    REQUIRE_OK(perp_contact_solve(solver, &P, NULL, false, v, p, NULL, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
    CHECK_NEAR(v[0], 2.0 / 3.0, 1e-15);
    CHECK_NEAR(p[0], -5.0 / 3.0, 1e-14);
    CHECK_NEAR(p[1], 7.0 / 3.0, 1e-14);
    perp_contact_solver_destroy(solver);
    perp_context_destroy(context);
}

TEST(a_compliance_below_zero_or_not_a_number_is_refused)
{
    perp_context* context = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    const double bad[] = {-1e-300, NAN, INFINITY};
    perp_contact_problem P = by_hand();
    CHECK_OK(perp_contact_check(context, &P));
    double c[ROWS] = {0};
    P.compliance = c;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        c[1] = bad[i];
        CHECK_EQ_INT(perp_contact_check(context, &P), PERP_ERROR_INPUT);
        CHECK_CONTAINS(perp_context_error(context), "constraint 1: compliance[1]");
    }
    perp_context_destroy(context);
}
