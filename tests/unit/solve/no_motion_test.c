/* Contact problems that no velocities satisfy (solve/no_motion.h). */
#include <math.h>
#include <string.h>

#include "perp/solve.h"
#include "perp_test.h"
#include "solve/no_motion.h"

/* Masses on a line between two walls. Row 0: v_0 + b_0 >= 0, row i: v_i - v_i-1 + b_i, the last: -v_n-1 + b_n. Their sum does not
 * contain v, so that velocities exist if and only if the sum of b is not negative. */
enum { MASSES = 3, ROWS = MASSES + 1, FACTOR_STRIDE = 6 };

typedef struct line {
    int32_t dof[MASSES + 1];
    double M[MASSES], L[FACTOR_STRIDE * MASSES], k[MASSES];
    double J[2 * ROWS], b[ROWS], lower[ROWS], upper[ROWS];
    perp_constraint constraint[ROWS];
    int32_t member[ROWS];
    perp_group group;
    perp_contact_problem problem;
} line;

static void make_line(line* l, const double* b)
{
    memset(l, 0, sizeof *l);
    for (int i = 0; i < MASSES; ++i) {
        const double mass = i == 0 ? 1e-3 : 4.0 * i;
        l->dof[i + 1] = i + 1;
        l->M[i] = mass;
        l->L[FACTOR_STRIDE * i] = sqrt(mass);
        l->k[i] = 0.1 * mass;
    }
    for (int i = 0; i < ROWS; ++i) {
        const int first = i > 0 ? i - 1 : -1, second = i < MASSES ? i : -1;
        l->constraint[i] = (perp_constraint){.kind = PERP_CONSTRAINT_CONTACT,
                                             .block = {first, second},
                                             .row = i,
                                             .rows = 1,
                                             .jac = 2 * (size_t)i,
                                             .cone = PERP_CONE_NONE};
        l->J[2 * i] = first < 0 ? 1.0 : -1.0;
        l->J[2 * i + 1] = 1.0;
        l->b[i] = b[i];
        l->lower[i] = 0.0;
        l->upper[i] = INFINITY;
        l->member[i] = i;
    }
    l->problem = (perp_contact_problem){.block_count = MASSES,
                                        .constraint_count = ROWS,
                                        .dof_count = MASSES,
                                        .row_count = ROWS,
                                        .dof = l->dof,
                                        .M = l->M,
                                        .k = l->k,
                                        .J = l->J,
                                        .b = l->b,
                                        .lower = l->lower,
                                        .upper = l->upper,
                                        .constraint = l->constraint};
}

static bool has_no_motion(line* l)
{
    perp_context* context = NULL;
    perpi_arena arena = {0};
    bool none = false;
    CHECK_OK(perp_context_create(NULL, &context));
    perpi_arena_init(&arena, context);
    l->problem.M_factor = l->L;
    CHECK_OK(perpi_has_no_motion(&arena, &l->problem, &none));
    l->problem.M_factor = NULL;
    perpi_arena_free(&arena);
    perp_context_destroy(context);
    return none;
}

TEST(masses_in_a_gap_that_is_too_short_have_no_motion)
{
    line l;
    make_line(&l, (double[]){0.5, -2.0, 1.0, 0.4}); /* the sum is -0.1 */
    CHECK(has_no_motion(&l));
}

TEST(masses_that_just_fit_have_one)
{
    line l;
    make_line(&l, (double[]){0.5, -2.0, 1.0, 0.5}); /* the sum is 0: one motion satisfies all */
    CHECK(!has_no_motion(&l));
    make_line(&l, (double[]){0.5, -2.0, 1.0, 0.6});
    CHECK(!has_no_motion(&l));
}

TEST(a_joint_counts_in_both_directions)
{
    line l;
    make_line(&l, (double[]){-1.0, 2.0, 0.0, 5.0}); /* v_0 >= 1 and v_1 = v_0 - 2 */
    l.constraint[1].kind = PERP_CONSTRAINT_EQUALITY;
    CHECK(!has_no_motion(&l));
    l.constraint[0].kind =
        PERP_CONSTRAINT_EQUALITY; /* v_0 = 1, v_1 = -1, and v_2 = 5 from the last row */
    l.constraint[3].kind = PERP_CONSTRAINT_EQUALITY;
    CHECK(!has_no_motion(&l)); /* v_2 >= v_1 */
    l.b[2] = -7.0;             /* v_2 >= v_1 + 7 */
    CHECK(has_no_motion(&l));
}

TEST(a_row_with_a_bound_of_its_impulse_yields)
{
    line l;
    make_line(&l, (double[]){0.5, -2.0, 1.0, 0.4});
    l.constraint[1].kind = PERP_CONSTRAINT_BOUNDED;
    l.lower[1] = 0.0;
    l.upper[1] = INFINITY; /* a limit: as the contact */
    CHECK(has_no_motion(&l));
    l.upper[1] = 3.0;
    CHECK(!has_no_motion(&l));
}

TEST(members_of_a_group_do_not_count)
{
    line l;
    make_line(&l, (double[]){0.5, -2.0, 1.0, 0.4});
    l.group = (perp_group){.member = l.member + 1, .count = 2, .primary = 2};
    l.problem.group = &l.group;
    l.problem.group_count = 1;
    CHECK(!has_no_motion(&l));
}

TEST(auto_reports_that_there_is_no_solution)
{
    line l;
    perp_context* context = NULL;
    perp_contact_solver* solver = NULL;
    perp_report report;
    double v[MASSES] = {0}, p[ROWS] = {0};
    make_line(&l, (double[]){0.5, -2.0, 1.0, 0.4});
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perp_contact_solver_create(context, "auto", NULL, 0, &solver));
    const perp_solve_options options = perp_solve_options_default();
    REQUIRE_OK(perp_contact_solve(solver, &l.problem, &options, false, v, p, NULL, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_NO_SOLUTION);
    perp_contact_solver_destroy(solver);
    perp_context_destroy(context);
}
