/* src/solve/dispatch_friction.c - a friction problem, solved by a method of that form. */
#include <math.h>
#include <string.h>

#include "solve/clock.h"
#include "solve/dispatch.h"

struct perp_friction_solver {
    perp_context* context;
    perpi_method method;
    double* r; /* row_count, then the judge's scratch */
    size_t r_capacity;
};

perp_status perp_friction_solver_create(perp_context* context, const char* name,
                                        const perp_option* option, int32_t count,
                                        perp_friction_solver** solver)
{
    static const perpi_form forms[] = {PERPI_FORM_FRICTION, PERPI_FORM_NONE};
    perp_friction_solver* s = NULL;
    perp_status status = perpi_alloc(context, 1, sizeof *s, &s);
    if (status != PERP_OK) {
        return status;
    }
    s->context = context;
    status =
        perpi_method_create(context, name, forms, "a friction problem", option, count, &s->method);
    if (status != PERP_OK) {
        perpi_free(context, s);
        return status;
    }
    *solver = s;
    return PERP_OK;
}

void perp_friction_solver_destroy(perp_friction_solver* solver)
{
    if (solver == NULL) {
        return;
    }
    perpi_method_destroy(&solver->method);
    perpi_free(solver->context, solver->r);
    perpi_free(solver->context, solver);
}

perp_status perp_friction_solve(perp_friction_solver* solver, const perp_friction_problem* problem,
                                const perp_solve_options* options, bool warm, double* r,
                                perp_contact_residual* residual, perp_report* report)
{
    perp_context* context = solver->context;
    const perpi_method* method = &solver->method;
    const double begin = perpi_clock_now();
    perp_solve_options chosen;
    perp_status status = perpi_check_options(context, options, &chosen);
    if (status == PERP_OK) {
        status = perp_friction_check(context, problem);
    }
    if (status == PERP_OK) {
        status = perpi_check_cones(context, method->name, method->ops.friction->takes,
                                   problem->constraint, problem->constraint_count);
    }
    if (status == PERP_OK && warm) {
        status = perpi_check_guess(context, "r", r, problem->row_count);
    }
    const size_t n = (size_t)problem->row_count;
    if (status == PERP_OK) {
        status = perpi_grow(context, &solver->r, &solver->r_capacity,
                            n + perp_friction_residual_work(problem), sizeof *solver->r);
    }
    if (status != PERP_OK) {
        return status;
    }
    for (size_t i = 0; i < n; ++i) {
        solver->r[i] = warm ? r[i] : 0.0;
    }
    perp_report made = {.solver = method->name};
    if (n > 0) {
        status =
            method->ops.friction->solve(method->self, problem, &chosen, warm, solver->r, &made);
    } else {
        made.outcome = PERP_OUTCOME_SOLVED;
    }
    if (status != PERP_OK) {
        return status;
    }
    made.solver = made.solver != NULL ? made.solver : method->name;
    perp_contact_residual verdict = perp_friction_judge(problem, solver->r, solver->r + n);
    char where[64];
    perpi_name_worst(&verdict, where, sizeof where);
    perpi_settle(&made, verdict.worst, chosen.tolerance, where);
    if (!isfinite(verdict.worst)) {
        /* Nothing usable: hand back no impulses, judged as such. */
        memset(solver->r, 0, n * sizeof *solver->r);
        verdict = perp_friction_judge(problem, solver->r, solver->r + n);
        made.residual = verdict.worst;
    }
    if (n > 0) {
        memcpy(r, solver->r, n * sizeof *r);
    }
    made.seconds = perpi_clock_now() - begin;
    if (residual != NULL) {
        *residual = verdict;
    }
    if (report != NULL) {
        *report = made;
    }
    return PERP_OK;
}
