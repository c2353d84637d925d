/* tests/unit/solve/search_limit_test.c - a problem without a solution costs a bounded search. */
#include <math.h>
#include <string.h>

#include "perp/solve.h"
#include "perp_test.h"
#include "solve/plan.h"
#include "solve/work.h"

/* A particle among walls, each of which asks it to move away: u = n . v - 1 >= 0 for n in all directions. */
enum { WALLS = 12, ROWS = 3 * WALLS, DOFS = 3 };

typedef struct squeezed {
    int32_t dof[2];
    double M[DOFS * DOFS], k[DOFS], J[ROWS * DOFS], b[ROWS];
    perp_constraint constraint[WALLS];
    perp_contact_problem problem;
} squeezed;

static void make_squeezed(squeezed* s)
{
    memset(s, 0, sizeof *s);
    s->dof[1] = DOFS;
    for (int i = 0; i < DOFS; ++i) {
        s->M[i * DOFS + i] = 1.0;
        s->k[i] = 0.1 * i;
    }
    for (int c = 0; c < WALLS; ++c) {
        const double a = 2.4 * c, z = (2.0 * c + 1.0) / WALLS - 1.0, r = sqrt(1.0 - z * z);
        const double x = cos(a), y = sin(a);
        const double J[9] = {r * x, r * y, z, -y, x, 0.0, -z * x, -z * y, r};
        memcpy(s->J + 9 * c, J, sizeof J);
        s->b[3 * c] = -1.0 - 0.1 * c;
        s->constraint[c] = (perp_constraint){.kind = PERP_CONSTRAINT_CONTACT,
                                             .block = {0, -1},
                                             .row = 3 * c,
                                             .rows = 3,
                                             .jac = 9 * (size_t)c,
                                             .cone = PERP_CONE_QUADRATIC,
                                             .mu = 0.5};
    }
    s->problem = (perp_contact_problem){.block_count = 1,
                                        .constraint_count = WALLS,
                                        .dof_count = DOFS,
                                        .row_count = ROWS,
                                        .dof = s->dof,
                                        .M = s->M,
                                        .k = s->k,
                                        .J = s->J,
                                        .b = s->b,
                                        .constraint = s->constraint};
}

TEST(auto_ends_the_search_for_a_motion_that_does_not_exist)
{
    static squeezed s;
    make_squeezed(&s);
    perp_context* context = NULL;
    perp_contact_solver* solver = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perp_contact_solver_create(context, "auto", NULL, 0, &solver));
    perp_attempt attempt[PERPI_PLAN_MOST];
    perp_attempt_list list = {.attempt = attempt, .capacity = PERPI_PLAN_MOST};
    perp_solve_options options = perp_solve_options_default();
    options.attempts = &list;
    double v[DOFS] = {0}, p[ROWS] = {0};
    perp_report report;
    REQUIRE_OK(perp_contact_solve(solver, &s.problem, &options, false, v, p, NULL, &report));
    CHECK_EQ_INT(report.outcome,
                 PERP_OUTCOME_NO_SOLUTION); /* no velocity moves away from all walls */
    CHECK_EQ_INT(list.count, 2);
    int32_t newton = 0;
    for (int32_t i = 0; i < list.count && i < list.capacity; ++i) {
        if (strcmp(attempt[i].solver, "newton") == 0) {
            newton += 1;
            CHECK(attempt[i].iterations <= PERPI_SEARCH_MOST);
        }
    }
    CHECK(newton >= 2); /* the short one and the search */
    perp_contact_solver_destroy(solver);
    perp_context_destroy(context);
}

static int32_t iterations_of(perp_contact_solver* solver, const squeezed* s)
{
    double v[DOFS] = {0}, p[ROWS] = {0};
    perp_report report = {0};
    CHECK_OK(perp_contact_solve(solver, &s->problem, NULL, false, v, p, NULL, &report));
    CHECK(report.outcome != PERP_OUTCOME_SOLVED);
    return report.iterations;
}

TEST(solves_beyond_the_work_of_a_step_are_short)
{
    static squeezed s;
    make_squeezed(&s);
    perp_context* context = NULL;
    perp_contact_solver* solver = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perp_contact_solver_create(context, "auto", NULL, 0, &solver));
    const int32_t all = iterations_of(solver, &s);
    CHECK(all > PERPI_SEARCH_MOST);
    const double once = perpi_contact_solver_work(solver);
    CHECK(once > 0.0);
    perpi_contact_solver_begin_work(solver, 1.5 * once);
    CHECK(perpi_contact_solver_work(solver) == 0.0);
    CHECK_EQ_INT(iterations_of(solver, &s), all);
    CHECK(perpi_contact_solver_work(solver) == once); /* the same work, to the bit */
    CHECK(!perpi_contact_solver_spent(solver, 1.0) && perpi_contact_solver_spent(solver, 0.5));
    CHECK_EQ_INT(iterations_of(solver, &s), all); /* begun within the limit */
    CHECK(perpi_contact_solver_spent(solver, 1.0));
    CHECK(iterations_of(solver, &s) <= PERPI_FEW);
    perpi_contact_solver_begin_work(solver, 0.0); /* no limit */
    CHECK_EQ_INT(iterations_of(solver, &s), all);
    CHECK_EQ_INT(iterations_of(solver, &s), all);
    perp_contact_solver_destroy(solver);
    perp_context_destroy(context);
}

static bool count_polls(void* user)
{
    ++*(int*)user;
    return false;
}

/* Every linearisation of a problem without a solution has none: pieces are enumerated in the first one only. */
TEST(path_enumerates_pieces_once)
{
    enum { FEW = 4, MOST = 5000 }; /* 4,066; 6,286 with the pieces of every linearisation */
    static squeezed s;
    make_squeezed(&s);
    s.problem.constraint_count = FEW;
    s.problem.row_count = 3 * FEW;
    for (int j = 0; j < 3; ++j) {
        s.J[9 + j] = -s.J[j]; /* the second wall is opposite to the first */
        s.J[12 + j] = s.J[3 + j];
        s.J[15 + j] = s.J[6 + j];
    }
    perp_context* context = NULL;
    perp_contact_solver* solver = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perp_contact_solver_create(context, "path", NULL, 0, &solver));
    int polls = 0;
    perp_solve_options options = perp_solve_options_default();
    options.cancel = count_polls;
    options.user = &polls;
    double v[DOFS] = {0}, p[ROWS] = {0};
    perp_report report = {0};
    REQUIRE_OK(perp_contact_solve(solver, &s.problem, &options, false, v, p, NULL, &report));
    CHECK(report.outcome != PERP_OUTCOME_SOLVED);
    CHECK(polls > 0 && polls < MOST);
    perp_contact_solver_destroy(solver);
    perp_context_destroy(context);
}
