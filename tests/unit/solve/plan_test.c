/* tests/unit/solve/plan_test.c - which methods "auto" tries first, and one table for several forms. */
#include "perp_test.h"

#include "conform/problems.h"
#include "solve/methods.h"
#include "solve/plan.h"

/* rows and velocities decide before anything in the constraints is read, but for groups */
static const char* first_of(int32_t rows, int32_t dofs, int32_t groups, bool warm)
{
    const perp_constraint equality = {
        .kind = PERP_CONSTRAINT_EQUALITY, .block = {0, -1}, .rows = 1};
    const perp_contact_problem P = {.constraint_count = 1,
                                    .constraint = &equality,
                                    .row_count = rows,
                                    .dof_count = dofs,
                                    .group_count = groups};
    int32_t work[2] = {0};
    return perpi_plan_contact(&P, warm, work)[0].name;
}

TEST(the_plan_of_a_contact_problem_depends_on_groups_size_and_cones)
{
    CHECK_EQ_STR(first_of(10, 12, 1, false), "switching");
    CHECK_EQ_STR(first_of(1000, 12, 1, false), "switching");
    CHECK_EQ_STR(first_of(100, 60, 0, false), "newton-bodies");
    CHECK_EQ_STR(first_of(10, 12, 0, false), "lemke"); /* equality rows alone */
    static test_contact t;
    for (int32_t i = 0; test_contact_make(i, &t); ++i) {
        const perp_contact_problem* P = test_contact_view(&t);
        int32_t work[2 * TEST_BLOCKS];
        const perpi_entry* plan = perpi_plan_contact(P, false, work);
        bool round = false;
        for (int32_t c = 0; c < P->constraint_count; ++c) {
            const perp_constraint* k = &P->constraint[c];
            round = round || (k->kind == PERP_CONSTRAINT_CONTACT && k->cone >= PERP_CONE_QUADRATIC);
        }
        if (round) {
            CHECK_EQ_STR(plan[0].name, "newton");
        }
    }
}

TEST(every_entry_of_a_plan_is_a_method_and_every_plan_ends)
{
    perp_context* context = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    const perp_lcp lcp = {.n = 3}, large = {.n = 5000};
    const perpi_entry* const plans[] = {perpi_plan_lcp(&lcp), perpi_plan_lcp(&large),
                                        perpi_plan_mlcp, perpi_plan_ncp, perpi_plan_friction};
    for (size_t i = 0; i < sizeof plans / sizeof plans[0]; ++i) {
        int32_t count = 0;
        for (const perpi_entry* e = plans[i]; e->name != NULL; ++e, ++count) {
            bool known = false;
            for (perpi_form form = PERPI_FORM_LCP; form < PERPI_FORM_COUNT; ++form) {
                known = known || perpi_find_method(context, e->name, form) != NULL;
            }
            CHECK(known);
            REQUIRE(count < PERPI_PLAN_MOST);
        }
        CHECK(count >= 3);
    }
    perp_context_destroy(context);
}

/* ---- one table, two forms ----------------------------------------------------------------------------*/

static perp_status none_create(perp_context* context, const void* settings, void** self)
{
    (void)context;
    (void)settings;
    *self = NULL;
    return PERP_OK;
}

static void none_destroy(void* self)
{
    (void)self;
}

static perp_status zero_lcp(void* self, const perp_lcp* problem, const perp_solve_options* options,
                            bool warm, double* z, perp_report* report)
{
    (void)self;
    (void)options;
    (void)warm;
    memset(z, 0, (size_t)problem->n * sizeof *z);
    report->outcome = PERP_OUTCOME_SOLVED;
    return PERP_OK;
}

static perp_status zero_friction(void* self, const perp_friction_problem* problem,
                                 const perp_solve_options* options, bool warm, double* r,
                                 perp_report* report)
{
    (void)self;
    (void)options;
    (void)warm;
    memset(r, 0, (size_t)problem->row_count * sizeof *r);
    report->outcome = PERP_OUTCOME_SOLVED;
    return PERP_OK;
}

TEST(one_table_serves_every_form_that_it_has_a_function_for)
{
    const perp_method zero = {.name = "zero",
                              .summary = "always 0",
                              .takes = PERP_TAKES_QUADRATIC,
                              .create = none_create,
                              .destroy = none_destroy,
                              .lcp = zero_lcp,
                              .friction = zero_friction};
    perp_method formless = zero;
    formless.name = "formless";
    formless.lcp = NULL;
    formless.friction = NULL;
    perp_context* context = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perp_register_method(context, &zero));
    CHECK_EQ_INT(perp_register_method(context, &zero), PERP_ERROR_INPUT);
    CHECK_EQ_INT(perp_register_method(context, &formless), PERP_ERROR_INPUT);

    /* By hand: z = 0 gives w = q >= 0, and r = 0 gives u_n = 1 > 0: both solved. */
    const double M[] = {1}, q[] = {2}, W[] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, u[] = {1, 3, 0};
    const int32_t start[] = {0, 1}, column[] = {0};
    const size_t at[] = {0};
    const perp_lcp lcp = {1, M, q};
    const perp_constraint contact = {.rows = 3, .cone = PERP_CONE_QUADRATIC, .mu = 0.5};
    const perp_friction_problem friction = {1, 3, {start, column, at, W}, u, NULL, NULL, &contact};
    perp_lcp_solver* a = NULL;
    perp_friction_solver* b = NULL;
    perp_ncp_solver* c = NULL;
    perp_report report;
    double z[1], r[3];
    REQUIRE_OK(perp_lcp_solver_create(context, "zero", NULL, 0, &a));
    REQUIRE_OK(perp_friction_solver_create(context, "zero", NULL, 0, &b));
    CHECK_EQ_INT(perp_ncp_solver_create(context, "zero", NULL, 0, &c), PERP_ERROR_UNSUPPORTED);
    REQUIRE_OK(perp_lcp_solve(a, &lcp, NULL, false, z, &report));
    CHECK(report.outcome == PERP_OUTCOME_SOLVED && strcmp(report.solver, "zero") == 0);
    REQUIRE_OK(perp_friction_solve(b, &friction, NULL, false, r, NULL, &report));
    CHECK(report.outcome == PERP_OUTCOME_SOLVED && strcmp(report.solver, "zero") == 0);
    perp_lcp_solver_destroy(a);
    perp_friction_solver_destroy(b);
    perp_context_destroy(context);
}
