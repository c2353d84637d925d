/* perpi_newton_closed: Newton's method for contacts of which some are to be closed. */
#include "perp_test.h"

#include "perp/solve.h"
#include "solve/builtin.h"
#include "solve/frictional/augmented_newton.h"

/* The end of a rod slides on a floor that it is leaving; with much friction it could also jam there (Painleve).
 * m = 1, I = 1/3, the contact at (0.6, -0.8) from the centre, so that W_nn = 1 + 3 * 0.36 = 2.08, W_nt = 1.44,
 * W_tt = 2.92. Without impulses u_n = 0.4, u_t = 10. While it slides p_t = -mu p_n, mu = 2:
 *     u_n = 0.4 + (2.08 - 2 * 1.44) p_n = 0.4 - 0.8 p_n,   u_t = 10 + (1.44 - 2 * 2.92) p_n.
 * The contact's law has the solutions p_n = 0, u_n = 0.4 and p_n = 0.5, u_n = 0, v = (9, 0.9, -1.5). */
static perp_report solve_rod(bool closed, const perpi_newton_choice* choice, double* v, double* p)
{
    static const int32_t dof[] = {0, 3};
    static const double M[] = {1, 0, 0, 0, 1, 0, 0, 0, 1.0 / 3.0};
    static const double J[] = {0, 1, 0.6, 1, 0, 0.8}, k[] = {10, 0.4, 0}, b[] = {0, 0};
    static const perp_constraint contact = {.kind = PERP_CONSTRAINT_CONTACT,
                                            .block = {0, -1},
                                            .rows = 2,
                                            .cone = PERP_CONE_QUADRATIC,
                                            .mu = 2.0};
    const perp_contact_problem P = {.block_count = 1,
                                    .constraint_count = 1,
                                    .dof_count = 3,
                                    .row_count = 2,
                                    .dof = dof,
                                    .M = M,
                                    .J = J,
                                    .k = k,
                                    .b = b,
                                    .constraint = &contact};
    perp_context* context = NULL;
    void* newton = NULL;
    double settings[8]; /* of newton-bodies: fewer bytes */
    perp_report report = {0};
    perp_solve_options options = perp_solve_options_default();
    options.tolerance = 1e-12;
    CHECK_OK(perp_context_create(NULL, &context));
    perpi_method_newton_bodies.settings_default(settings);
    CHECK_OK(perpi_method_newton_bodies.create(context, settings, &newton));
    if (choice != NULL) {
        CHECK_OK(perpi_newton_choosing(newton, &P, choice, &options, true, v, p, &report));
    } else {
        CHECK_OK(perpi_newton_closed(newton, &P, &closed, &options, v, p, &report));
    }
    perpi_method_newton_bodies.destroy(newton);
    perp_context_destroy(context);
    return report;
}

TEST(the_closed_solution_is_found_where_the_law_of_contact_has_two)
{
    double v[3] = {0}, p[2] = {0.2, -0.4};
    CHECK_EQ_INT(solve_rod(true, NULL, v, p).outcome, PERP_OUTCOME_SOLVED);
    CHECK_NEAR(p[0], 0.5, 1e-11);
    CHECK_NEAR(p[1], -1.0, 1e-11);
    CHECK_NEAR(v[0], 9.0, 1e-11);
    CHECK_NEAR(v[1], 0.9, 1e-11);
    CHECK_NEAR(v[2], -1.5, 1e-11);
}

TEST(a_contact_that_need_not_be_closed_opens)
{
    double v[3] = {0}, p[2] = {0.2, -0.4};
    CHECK_EQ_INT(solve_rod(false, NULL, v, p).outcome, PERP_OUTCOME_SOLVED);
    CHECK_NEAR(p[0], 0.0, 1e-11);
    CHECK_NEAR(v[1], 0.4, 1e-11);
}

/* Choices of a problem whose tolerance is 1e-6; nothing changes. */
static const double* accept_near(void* user, double residual, const double* v, const double* p,
                                 bool* answer)
{
    (void)user;
    (void)v;
    (void)p;
    *answer = residual <= 1e-6;
    return NULL;
}

TEST(a_solve_with_choices_ends_where_the_problem_before_them_is_solved)
{
    static const bool closed[] = {true}, pairs = false;
    const perpi_newton_choice choice = {.revise = accept_near, .closed = closed, .pairs = &pairs};
    const double near = 0.5 + 1e-8;
    double v[3] = {0}, p[2] = {near, -2.0 * near};
    const perp_report report = solve_rod(true, &choice, v, p);
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
    CHECK_EQ_INT(report.iterations, 0);
    CHECK(p[0] == near);
}

/* The normal impulse is given, and follows from the opening u_n = 0.4 - 0.8 p_n that it leads to. */
typedef struct given_impulse {
    double p_n, next[2];
} given_impulse;

static const double* follow_opening(void* user, double residual, const double* v, const double* p,
                                    bool* answer)
{
    given_impulse* g = user;
    const double u_n = v[1] + 0.6 * v[2];
    CHECK(p[0] == g->p_n);
    *answer = residual <= 1e-12;
    if (*answer) {
        return NULL;
    }
    g->p_n += u_n / 0.8;
    g->next[0] = g->p_n;
    g->next[1] = p[1];
    return g->next;
}

TEST(a_given_impulse_is_kept_and_slides)
{
    static const bool closed[] = {false}, pairs = true;
    given_impulse g = {.p_n = 0.2};
    const perpi_newton_choice choice = {
        .user = &g, .revise = follow_opening, .closed = closed, .given = &g.p_n, .pairs = &pairs};
    double v[3] = {9.6, 0.64, -0.6}, p[2] = {0.2, -0.4};
    CHECK_EQ_INT(solve_rod(true, &choice, v, p).outcome, PERP_OUTCOME_SOLVED);
    CHECK_NEAR(p[0], 0.5, 1e-11);
    CHECK_NEAR(p[1], -1.0, 1e-11);
    CHECK_NEAR(v[2], -1.5, 1e-11);
}
