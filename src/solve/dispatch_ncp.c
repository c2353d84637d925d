/* src/solve/dispatch_ncp.c - an NCP, solved by a method of that form. */
#include "problem/check.h"
#include "solve/clock.h"
#include "solve/solve.h"

struct perp_ncp_solver {
    perpi_vector_solver vector;
};

perp_status perp_ncp_solver_create(perp_context* context, const char* name,
                                   const perp_option* option, int32_t count,
                                   perp_ncp_solver** solver)
{
    static const perpi_form forms[] = {PERPI_FORM_NCP, PERPI_FORM_NONE};
    perp_ncp_solver* s = NULL;
    perp_status status = perpi_alloc(context, 1, sizeof *s, &s);
    if (status == PERP_OK) {
        status = perpi_vector_create(context, name, forms, "an NCP", option, count, &s->vector);
    }
    if (status != PERP_OK) {
        perpi_free(context, s);
        return status;
    }
    *solver = s;
    return PERP_OK;
}

void perp_ncp_solver_destroy(perp_ncp_solver* solver)
{
    if (solver != NULL) {
        perp_context* context = solver->vector.context;
        perpi_vector_free(&solver->vector);
        perpi_free(context, solver);
    }
}

perp_status perpi_ncp_solve_checked(perp_ncp_solver* solver, const perp_ncp* problem,
                                    const perp_solve_options* options, bool warm, double* z,
                                    perp_report* report)
{
    perpi_vector_solver* s = &solver->vector;
    perp_status status = perpi_grow(
        s->context, &s->work, &s->work_capacity,
        2 * (size_t)problem->n + (size_t)problem->pattern.start[problem->n], sizeof *s->work);
    if (status == PERP_OK && problem->n == 0) {
        report->outcome = PERP_OUTCOME_SOLVED;
    } else if (status == PERP_OK) {
        status = s->method.ops.ncp->solve(s->method.self, problem, options, warm, z, report);
    }
    if (status == PERP_OK) {
        const double residual =
            perpi_vector_judged(s, report) ? report->residual : perp_ncp_judge(problem, z, s->work);
        perpi_settle(report, residual, options->tolerance, "");
    }
    return status;
}

perp_status perp_ncp_solve(perp_ncp_solver* solver, const perp_ncp* problem,
                           const perp_solve_options* options, bool warm, double* z,
                           perp_report* report)
{
    perpi_vector_solver* s = &solver->vector;
    const double begin = perpi_clock_now();
    perp_solve_options chosen;
    perp_status status = perpi_check_options(s->context, options, &chosen);
    if (status == PERP_OK) {
        status = perpi_ncp_check(s->context, problem);
    }
    if (status == PERP_OK) {
        status = perpi_vector_take(s, warm, "z", z, problem->n);
    }
    perp_report made = {0};
    if (status == PERP_OK) {
        status = perpi_ncp_solve_checked(solver, problem, &chosen, warm, s->z, &made);
    }
    if (status == PERP_OK) {
        perpi_vector_give(s, begin, &chosen, &made, problem->n, z, report);
    }
    return status;
}
