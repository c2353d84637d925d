/* src/solve/dispatch_mlcp.c - an MLCP, solved by a method of the form MLCP, else LCP, else NCP. */
#include <string.h>

#include "solve/clock.h"
#include "solve/dispatch.h"

struct perp_mlcp_solver {
    perp_context* context;
    perpi_method method;
    perpi_carrier carrier;
    double* z; /* n, then the judge's scratch */
    size_t z_capacity;
};

perp_status perp_mlcp_solver_create(perp_context* context, const char* name,
                                    const perp_option* option, int32_t count,
                                    perp_mlcp_solver** solver)
{
    static const perpi_form forms[] = {PERPI_FORM_MLCP, PERPI_FORM_LCP, PERPI_FORM_NCP,
                                       PERPI_FORM_NONE};
    perp_mlcp_solver* s = NULL;
    perp_status status = perpi_alloc(context, 1, sizeof *s, &s);
    if (status != PERP_OK) {
        return status;
    }
    s->context = context;
    status = perpi_method_create(context, name, forms, "an MLCP", option, count, &s->method);
    if (status != PERP_OK) {
        perpi_free(context, s);
        return status;
    }
    *solver = s;
    return PERP_OK;
}

void perp_mlcp_solver_destroy(perp_mlcp_solver* solver)
{
    if (solver == NULL) {
        return;
    }
    perpi_method_destroy(&solver->method);
    perpi_carrier_free(solver->context, &solver->carrier);
    perpi_free(solver->context, solver->z);
    perpi_free(solver->context, solver);
}

perp_status perp_mlcp_solve(perp_mlcp_solver* solver, const perp_mlcp* problem,
                            const perp_solve_options* options, bool warm, double* z,
                            perp_report* report)
{
    perp_context* context = solver->context;
    const double begin = perpi_clock_now();
    perp_solve_options chosen;
    perp_status status = perpi_check_options(context, options, &chosen);
    if (status == PERP_OK) {
        status = perp_mlcp_check(context, problem);
    }
    if (status == PERP_OK && warm) {
        status = perpi_check_guess(context, "z", z, problem->M.cols);
    }
    const size_t n = (size_t)problem->M.cols;
    if (status == PERP_OK) {
        status = perpi_grow(context, &solver->z, &solver->z_capacity, 3 * n, sizeof *solver->z);
    }
    if (status != PERP_OK) {
        return status;
    }
    for (size_t i = 0; i < n; ++i) {
        solver->z[i] = warm ? z[i] : 0.0;
    }
    perp_report made = {.solver = solver->method.name};
    status =
        perpi_run_mlcp(&solver->method, &solver->carrier, problem, &chosen, warm, solver->z, &made);
    if (status != PERP_OK) {
        return status;
    }
    if (n > 0) {
        memcpy(z, solver->z, n * sizeof *z);
    }
    made.solver = made.solver != NULL ? made.solver : solver->method.name;
    perpi_settle(&made, n > 0 ? perp_mlcp_judge(problem, z, solver->z + n) : 0.0, chosen.tolerance,
                 "");
    made.seconds = perpi_clock_now() - begin;
    if (report != NULL) {
        *report = made;
    }
    return PERP_OK;
}
