/* tests/unit/solve/cost_test.c - what one solve costs beside its methods: one residual check per run of a
 * method, one factorisation of each mass block.
 *
 * Counted by the linker: it puts the functions below between the library and what they count
 * (cmake/PerpTests.cmake, --wrap), so that the library itself has no counters. */
#include "perp_test.h"

#include "conform/problems.h"
#include "linalg/dense.h"
#include "solve/builtin.h"

static int32_t factorisations, checks, runs;

bool __real_perpi_chol_factor(int32_t n, const double* A, double* L);
bool __wrap_perpi_chol_factor(int32_t n, const double* A, double* L);
bool __wrap_perpi_chol_factor(int32_t n, const double* A, double* L)
{
    ++factorisations;
    return __real_perpi_chol_factor(n, A, L);
}

bool __real_perpi_chol_factor_apart(const double* A, double* L);
bool __wrap_perpi_chol_factor_apart(const double* A, double* L);
bool __wrap_perpi_chol_factor_apart(const double* A, double* L)
{
    ++factorisations;
    return __real_perpi_chol_factor_apart(A, L);
}

perp_contact_residual __real_perp_contact_check_residual(const perp_contact_problem* problem,
                                                         const double* v, const double* p,
                                                         double* work);
perp_contact_residual __wrap_perp_contact_check_residual(const perp_contact_problem* problem,
                                                         const double* v, const double* p,
                                                         double* work);
perp_contact_residual __wrap_perp_contact_check_residual(const perp_contact_problem* problem,
                                                         const double* v, const double* p,
                                                         double* work)
{
    ++checks;
    return __real_perp_contact_check_residual(problem, v, p, work);
}

/* newton and lemke under other names, with their runs counted. */
static perp_status counted_newton(void* self, const perp_friction_problem* problem,
                                  const perp_solve_options* options, bool warm, double* r,
                                  perp_report* report)
{
    ++runs;
    return perpi_method_newton.friction(self, problem, options, warm, r, report);
}

static perp_status counted_lemke(void* self, const perp_lcp* problem,
                                 const perp_solve_options* options, bool warm, double* z,
                                 perp_report* report)
{
    ++runs;
    return perpi_method_lemke.lcp(self, problem, options, warm, z, report);
}

static int32_t count_islands(const perp_contact_problem* P)
{
    int32_t root[TEST_BLOCKS], islands = 0;
    for (int32_t i = 0; i < P->block_count; ++i) {
        root[i] = i;
    }
    for (int32_t pass = 0; pass < P->block_count; ++pass) {
        for (int32_t c = 0; c < P->constraint_count; ++c) {
            const int32_t a = P->constraint[c].block[0], b = P->constraint[c].block[1];
            if (a >= 0 && b >= 0) {
                root[a] = root[b] = root[a] < root[b] ? root[a] : root[b];
            }
        }
    }
    for (int32_t i = 0; i < P->block_count; ++i) {
        islands += root[i] == i;
    }
    return islands;
}

static int32_t solve_all(const char* name)
{
    perp_method newton = perpi_method_newton, lemke = perpi_method_lemke;
    newton.name = "counted-newton";
    newton.friction = counted_newton;
    lemke.name = "counted-lemke";
    lemke.lcp = counted_lemke;
    perp_context* context = NULL;
    perp_contact_solver* solver = NULL;
    int32_t solved = 0;
    CHECK_OK(perp_context_create(NULL, &context));
    CHECK_OK(perp_register_method(context, &newton));
    CHECK_OK(perp_register_method(context, &lemke));
    CHECK_OK(perp_contact_solver_create(context, name, NULL, 0, &solver));
    static test_contact t;
    for (int32_t i = 0; test_contact_make(i, &t); ++i) {
        const perp_contact_problem* P = test_contact_view(&t);
        double v[TEST_BLOCKS * 6] = {0}, p[TEST_ROWS] = {0};
        perp_report report;
        factorisations = checks = runs = 0;
        const perp_status status = perp_contact_solve(solver, P, NULL, false, v, p, NULL, &report);
        if (status != PERP_OK) {
            continue; /* not a problem for this method */
        }
        const bool counted = strcmp(name, "auto") != 0;
        TEST_PRINT("%s: %s: %d blocks, %d factorisations, %d runs, %d checks", name, t.name,
                   P->block_count, factorisations, runs, checks);
        CHECK_EQ_INT(factorisations, P->block_count);
        if (counted && report.outcome == PERP_OUTCOME_SOLVED) {
            const int32_t islands = count_islands(P);
            /* the composed point once more: its scales are those of the whole */
            CHECK_EQ_INT(checks, runs + (islands > 1 ? 1 : 0));
            ++solved;
        }
    }
    perp_contact_solver_destroy(solver);
    perp_context_destroy(context);
    return solved;
}

TEST(each_run_is_checked_once_and_each_mass_block_factored_once)
{
    CHECK(solve_all("counted-newton") > 0);
    CHECK(solve_all("counted-lemke") > 0);
    solve_all("auto");
}
