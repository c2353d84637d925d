/* src/solve/dispatch_lcp.c - an LCP, solved by a method of the form LCP, else MLCP, else NCP. */
#include "solve/clock.h"
#include "solve/solve.h"

struct perp_lcp_solver {
    perpi_vector_solver vector;
};

perp_status perp_lcp_solver_create(perp_context* context, const char* name,
                                   const perp_option* option, int32_t count,
                                   perp_lcp_solver** solver)
{
    static const perpi_form forms[] = {PERPI_FORM_LCP, PERPI_FORM_MLCP, PERPI_FORM_NCP,
                                       PERPI_FORM_NONE};
    perp_lcp_solver* s = NULL;
    perp_status status = perpi_alloc(context, 1, sizeof *s, &s);
    if (status == PERP_OK) {
        status = perpi_vector_create(context, name, forms, "an LCP", option, count, &s->vector);
    }
    if (status != PERP_OK) {
        perpi_free(context, s);
        return status;
    }
    *solver = s;
    return PERP_OK;
}

void perp_lcp_solver_destroy(perp_lcp_solver* solver)
{
    if (solver != NULL) {
        perp_context* context = solver->vector.context;
        perpi_vector_free(&solver->vector);
        perpi_free(context, solver);
    }
}

perp_status perpi_lcp_solve_checked(perp_lcp_solver* solver, const perp_lcp* problem,
                                    const perp_solve_options* options, bool warm, double* z,
                                    perp_report* report)
{
    perpi_vector_solver* s = &solver->vector;
    const perp_status status =
        perpi_run_lcp(&s->method, &s->carrier, problem, options, warm, z, report);
    if (status == PERP_OK) {
        const double residual =
            perpi_vector_judged(s, report) ? report->residual : perp_lcp_judge(problem, z);
        perpi_settle(report, residual, options->tolerance, "");
    }
    return status;
}

perp_status perp_lcp_solve(perp_lcp_solver* solver, const perp_lcp* problem,
                           const perp_solve_options* options, bool warm, double* z,
                           perp_report* report)
{
    perpi_vector_solver* s = &solver->vector;
    const double begin = perpi_clock_now();
    perp_solve_options chosen;
    perp_status status = perpi_check_options(s->context, options, &chosen);
    if (status == PERP_OK) {
        status = perp_lcp_check(s->context, problem);
    }
    if (status == PERP_OK) {
        status = perpi_vector_take(s, warm, "z", z, problem->n);
    }
    perp_report made = {0};
    if (status == PERP_OK) {
        status = perpi_lcp_solve_checked(solver, problem, &chosen, warm, s->z, &made);
    }
    if (status == PERP_OK) {
        perpi_vector_give(s, begin, &chosen, &made, problem->n, z, report);
    }
    return status;
}
