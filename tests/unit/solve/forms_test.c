/* tests/unit/solve/forms_test.c - a problem reaches methods of other forms, and comes back checked. */
#include "perp_test.h"

#include "perp/solve.h"

/* ---- small methods of one form each ------------------------------------------------------------------*/

static int token;

static perp_status create(perp_context* context, const void* settings, void** self)
{
    (void)context;
    (void)settings;
    *self = &token;
    return PERP_OK;
}

static void destroy(void* self)
{
    (void)self;
}

static double clip(double x, double lower, double upper)
{
    return x < lower ? lower : (x > upper ? upper : x);
}

/* Projected Gauss-Seidel by columns; fine for the diagonally dominant problems here. */
static perp_status mlcp_solve(void* self, const perp_mlcp* P, const perp_solve_options* options,
                              bool warm, double* z, perp_report* report)
{
    (void)self;
    (void)options;
    (void)warm;
    for (int sweep = 0; sweep < 200; ++sweep) {
        for (int32_t i = 0; i < P->M.cols; ++i) {
            double w = P->q[i], d = 1.0;
            for (int32_t j = 0; j < P->M.cols; ++j) {
                for (int32_t e = P->M.start[j]; e < P->M.start[j + 1]; ++e) {
                    if (P->M.row[e] == i) {
                        w += P->M.value[e] * z[j];
                        d = i == j ? P->M.value[e] : d;
                    }
                }
            }
            z[i] = clip(z[i] - w / d, P->lower[i], P->upper[i]);
        }
    }
    report->outcome = PERP_OUTCOME_SOLVED;
    report->iterations = 200;
    return PERP_OK;
}

static perp_status ncp_solve(void* self, const perp_ncp* P, const perp_solve_options* options,
                             bool warm, double* z, perp_report* report)
{
    (void)self;
    (void)options;
    (void)warm;
    double F[8], value[64];
    for (int step = 0; step < 500; ++step) {
        perp_status status = P->function(P->user, z, F);
        if (status == PERP_OK) {
            status = P->jacobian(P->user, z, value);
        }
        if (status != PERP_OK) {
            return status;
        }
        for (int32_t j = 0; j < P->n; ++j) {
            for (int32_t e = P->pattern.start[j]; e < P->pattern.start[j + 1]; ++e) {
                if (P->pattern.row[e] == j) {
                    z[j] = clip(z[j] - 0.5 * F[j] / value[e], P->lower[j], P->upper[j]);
                }
            }
        }
    }
    report->outcome = PERP_OUTCOME_SOLVED;
    return PERP_OK;
}

static int friction_calls;

/* Normal rows only, one scalar at a time; stops as soon as the tolerance it was asked for is met. */
static perp_status friction_solve(void* self, const perp_friction_problem* P,
                                  const perp_solve_options* options, bool warm, double* r,
                                  perp_report* report)
{
    (void)self;
    (void)warm;
    double work[256];
    ++friction_calls;
    report->outcome = PERP_OUTCOME_MAX_ITER;
    for (report->iterations = 0; report->iterations < 1000; ++report->iterations) {
        if (perp_friction_check_residual(P, r, work).worst <= options->tolerance) {
            report->outcome = PERP_OUTCOME_SOLVED;
            break;
        }
        for (int32_t i = 0; i < P->constraint_count; ++i) {
            double u = P->q[i], d = 1.0;
            for (int32_t e = P->W.start[i]; e < P->W.start[i + 1]; ++e) {
                u += P->W.value[P->W.at[e]] * r[P->W.column[e]];
                d = P->W.column[e] == i ? P->W.value[P->W.at[e]] : d;
            }
            r[i] = clip(r[i] - u / d, 0.0, INFINITY);
        }
    }
    return PERP_OK;
}

static const perp_mlcp_solver_ops only_mlcp = {
    .name = "only-mlcp", .create = create, .destroy = destroy, .solve = mlcp_solve};
static const perp_ncp_solver_ops only_ncp = {
    .name = "only-ncp", .create = create, .destroy = destroy, .solve = ncp_solve};
static const perp_friction_solver_ops only_friction = {.name = "only-friction",
                                                       .takes = PERP_TAKES_NONE,
                                                       .create = create,
                                                       .destroy = destroy,
                                                       .solve = friction_solve};
static const perp_mlcp_solver_ops needy = {.name = "needy",
                                           .needs =
                                               PERP_NEEDS_SYMMETRIC | PERP_NEEDS_POSITIVE_DIAGONAL,
                                           .create = create,
                                           .destroy = destroy,
                                           .solve = mlcp_solve};

static perp_context* context;

static void set_up(void)
{
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perp_register_mlcp_solver(context, &only_mlcp));
    REQUIRE_OK(perp_register_mlcp_solver(context, &needy));
    REQUIRE_OK(perp_register_ncp_solver(context, &only_ncp));
    REQUIRE_OK(perp_register_friction_solver(context, &only_friction));
}

/* ---- problems ----------------------------------------------------------------------------------------*/

/* z = (2, 0), w = (0, 3) by hand. */
static const double lcp_M[] = {2, 1, 1, 2}, lcp_q[] = {-4, 1};
static const perp_lcp lcp = {2, lcp_M, lcp_q};

/* Free z_0, 0 <= z_1, z_2 <= 1: M = [2 1 0; -1 2 0; 0 0 1], q = (-3, -1, -5).
 * z_0 = (3 - z_1) / 2, w_1 = -z_0 + 2 z_1 - 1 = 0: z_1 = 1, z_0 = 1; z_2 = 1 with w_2 = -4. */
static const int32_t mlcp_start[] = {0, 2, 4, 5}, mlcp_row[] = {0, 1, 0, 1, 2};
static const double mlcp_value[] = {2, -1, 1, 2, 1}, mlcp_q[] = {-3, -1, -5};
static const double mlcp_lower[] = {-INFINITY, 0, 0}, mlcp_upper[] = {INFINITY, INFINITY, 1};
static const perp_mlcp mlcp = {
    {3, 3, mlcp_start, mlcp_row, mlcp_value}, mlcp_q, mlcp_lower, mlcp_upper};

TEST(an_lcp_is_solved_by_methods_of_every_form)
{
    set_up();
    static const char* const names[] = {"lemke", "only-mlcp", "only-ncp"};
    for (size_t i = 0; i < 3; ++i) {
        perp_lcp_solver* solver = NULL;
        perp_report report;
        double z[2] = {-1, -1};
        REQUIRE_OK(perp_lcp_solver_create(context, names[i], NULL, 0, &solver));
        CHECK_OK(perp_lcp_solve(solver, &lcp, NULL, false, z, &report));
        CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
        CHECK_EQ_STR(report.solver, names[i]);
        CHECK_NEAR(z[0], 2.0, 1e-12);
        CHECK_NEAR(z[1], 0.0, 1e-12);
        const uint64_t before = perp_context_allocations(context);
        CHECK_OK(perp_lcp_solve(solver, &lcp, NULL, true, z, &report));
        CHECK_EQ_U64(perp_context_allocations(context), before);
        perp_lcp_solver_destroy(solver);
    }
    perp_context_destroy(context);
}

TEST(an_mlcp_is_solved_by_methods_of_every_form)
{
    set_up();
    static const char* const names[] = {"lemke", "only-mlcp", "only-ncp", "auto"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        perp_mlcp_solver* solver = NULL;
        perp_report report;
        double z[3] = {0};
        REQUIRE_OK(perp_mlcp_solver_create(context, names[i], NULL, 0, &solver));
        CHECK_OK(perp_mlcp_solve(solver, &mlcp, NULL, false, z, &report));
        CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
        for (int k = 0; k < 3; ++k) {
            CHECK_NEAR(z[k], 1.0, 1e-9);
        }
        const uint64_t before = perp_context_allocations(context);
        CHECK_OK(perp_mlcp_solve(solver, &mlcp, NULL, true, z, &report));
        CHECK_EQ_U64(perp_context_allocations(context), before);
        perp_mlcp_solver_destroy(solver);
    }
    perp_context_destroy(context);
}

static perp_status exponential(void* user, const double* z, double* F)
{
    (void)user;
    F[0] = exp(z[0]) - 2.0; /* z = log 2 */
    F[1] = z[1] + 1.0;      /* z = 0 */
    return PERP_OK;
}

static perp_status exponential_jacobian(void* user, const double* z, double* value)
{
    (void)user;
    value[0] = exp(z[0]);
    value[1] = 1.0;
    return PERP_OK;
}

static perp_status refuse(void* user, const double* z, double* F)
{
    (void)user;
    (void)z;
    (void)F;
    return PERP_ERROR_CANCELLED;
}

TEST(an_ncp_is_solved_judged_and_checked)
{
    set_up();
    const double lower[] = {0, 0}, upper[] = {INFINITY, INFINITY};
    const int32_t start[] = {0, 1, 2}, row[] = {0, 1};
    perp_ncp ncp = {.n = 2,
                    .lower = lower,
                    .upper = upper,
                    .function = exponential,
                    .pattern = {2, 2, start, row, NULL},
                    .jacobian = exponential_jacobian};
    perp_ncp_solver* solver = NULL;
    perp_report report;
    double z[2] = {7, 7};
    CHECK_EQ_INT(perp_ncp_solver_create(context, "lemke", NULL, 0, &solver),
                 PERP_ERROR_UNSUPPORTED);
    REQUIRE_OK(perp_ncp_solver_create(context, "only-ncp", NULL, 0, &solver));
    CHECK_OK(perp_ncp_solve(solver, &ncp, NULL, false, z, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
    CHECK_NEAR(z[0], log(2.0), 1e-12);
    CHECK_NEAR(z[1], 0.0, 1e-12);
    ncp.function = refuse;
    z[0] = 5.0;
    CHECK_EQ_INT(perp_ncp_solve(solver, &ncp, NULL, false, z, &report), PERP_ERROR_CANCELLED);
    CHECK(z[0] == 5.0);
    ncp.function = NULL;
    CHECK_EQ_INT(perp_ncp_solve(solver, &ncp, NULL, false, z, &report), PERP_ERROR_INPUT);
    perp_ncp_solver_destroy(solver);
    perp_context_destroy(context);
}

TEST(what_a_method_needs_of_m_is_checked_in_sparse_form)
{
    set_up();
    perp_mlcp_solver* solver = NULL;
    perp_report report;
    double z[3];
    REQUIRE_OK(perp_mlcp_solver_create(context, "needy", NULL, 0, &solver));
    CHECK_EQ_INT(perp_mlcp_solve(solver, &mlcp, NULL, false, z, &report), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context), "symmetric");
    const int32_t start[] = {0, 0}, *row = NULL;
    const double q[] = {1}, lower[] = {0}, upper[] = {1};
    const perp_mlcp empty = {{1, 1, start, row, NULL}, q, lower, upper};
    CHECK_EQ_INT(perp_mlcp_solve(solver, &empty, NULL, false, z, &report), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context), "positive diagonal");
    perp_mlcp_solver_destroy(solver);
    perp_context_destroy(context);
}

/* A unit mass on a second one on the ground: two normal contacts, k = (-1, -2) after one step of
 * gravity; the ground carries 3, the joint between them 1. A third block flies free. */
static perp_contact_problem stack(void)
{
    static const int32_t dof[] = {0, 1, 2, 3};
    static const double M[] = {1, 2, 5}, k[] = {-1, -2, 10}, J[] = {1, -1, 1}, b[] = {0, 0};
    static const perp_constraint c[] = {
        {.block = {1, 0}, .row = 0, .rows = 1, .jac = 1},
        {.block = {-1, 1}, .row = 1, .rows = 1, .jac = 0},
    };
    return (perp_contact_problem){.block_count = 3,
                                  .constraint_count = 2,
                                  .dof_count = 3,
                                  .row_count = 2,
                                  .dof = dof,
                                  .M = M,
                                  .k = k,
                                  .J = J,
                                  .b = b,
                                  .constraint = c};
}

TEST(a_contact_problem_is_solved_in_contact_friction_and_lcp_form)
{
    set_up();
    static const char* const names[] = {"pgs", "lemke", "only-friction"};
    const perp_contact_problem P = stack();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        perp_contact_solver* solver = NULL;
        perp_report report;
        perp_contact_residual residual;
        double v[3], p[2];
        REQUIRE_OK(perp_contact_solver_create(context, names[i], NULL, 0, &solver));
        CHECK_OK(perp_contact_solve(solver, &P, NULL, false, v, p, &residual, &report));
        CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
        CHECK_NEAR(p[0], 1.0, 1e-9);
        CHECK_NEAR(p[1], 3.0, 1e-9);
        CHECK_NEAR(v[2], 2.0, 1e-15);
        CHECK_AT_MOST(residual.dynamics, strcmp(names[i], "only-friction") == 0 ? 1e-15 : 1e-10);
        const uint64_t before = perp_context_allocations(context);
        CHECK_OK(perp_contact_solve(solver, &P, NULL, true, v, p, &residual, &report));
        CHECK_EQ_U64(perp_context_allocations(context), before);
        perp_contact_solver_destroy(solver);
    }
    CHECK_AT_LEAST(friction_calls, 2.0);
    perp_context_destroy(context);
}

TEST(a_friction_problem_takes_friction_methods_only_and_their_cones_only)
{
    set_up();
    const perp_contact_problem P = stack();
    perp_reformulation* lowering = NULL;
    perp_friction_problem F;
    REQUIRE_OK(perp_reformulation_create(context, &lowering));
    REQUIRE_OK(perp_contact_to_friction(lowering, &P, &F));
    perp_friction_solver* solver = NULL;
    perp_report report;
    perp_contact_residual residual;
    double r[2] = {0};
    CHECK_EQ_INT(perp_friction_solver_create(context, "lemke", NULL, 0, &solver),
                 PERP_ERROR_UNSUPPORTED);
    CHECK_CONTAINS(perp_context_error(context), "friction problem");
    CHECK_EQ_INT(perp_friction_solver_create(context, "only-fricton", NULL, 0, &solver),
                 PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context), "only-friction");
    REQUIRE_OK(perp_friction_solver_create(context, "only-friction", NULL, 0, &solver));
    CHECK_OK(perp_friction_solve(solver, &F, NULL, false, r, &residual, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
    CHECK_NEAR(r[1], 3.0, 1e-9);
    CHECK(report.residual == residual.worst);
    r[0] = NAN;
    CHECK_EQ_INT(perp_friction_solve(solver, &F, NULL, true, r, NULL, NULL), PERP_ERROR_INPUT);
    perp_constraint c[2] = {F.constraint[0], F.constraint[1]};
    const double W[] = {1, 0, 0, 1}, q[] = {1, 1};
    const int32_t start[] = {0, 1}, column[] = {0};
    const size_t at[] = {0};
    c[0].rows = 2;
    c[0].cone = PERP_CONE_QUADRATIC;
    F = (perp_friction_problem){1, 2, {start, column, at, W}, q, NULL, NULL, c};
    CHECK_EQ_INT(perp_friction_solve(solver, &F, NULL, false, r, NULL, NULL),
                 PERP_ERROR_UNSUPPORTED);
    CHECK_CONTAINS(perp_context_error(context), "quadratic");
    perp_friction_solver_destroy(solver);
    perp_reformulation_destroy(lowering);
    perp_context_destroy(context);
}

TEST(friction_methods_are_listed_and_their_names_are_taken)
{
    set_up();
    bool seen = false;
    perp_solver_info info;
    for (int32_t i = 0; perp_solver_list(context, i, &info); ++i) {
        if (strcmp(info.name, "only-friction") == 0) {
            seen = info.takes_friction && !info.takes_lcp && !info.takes_contact;
        }
    }
    CHECK(seen);
    CHECK_EQ_INT(perp_register_friction_solver(context, &only_friction), PERP_ERROR_INPUT);
    perp_context_destroy(context);
}
