/* src/solve/dispatch_friction.c - a friction problem, solved by a method of that form. */
#include <math.h>
#include <string.h>

#include "solve/clock.h"
#include "solve/solve.h"
#include "solve/frictional/friction_units.h"

struct perp_friction_solver {
    perpi_vector_solver vector;
    perpi_friction_units units;
};

perp_status perp_friction_solver_create(perp_context* context, const char* name,
                                        const perp_option* option, int32_t count,
                                        perp_friction_solver** solver)
{
    static const perpi_form forms[] = {PERPI_FORM_FRICTION, PERPI_FORM_NONE};
    perp_friction_solver* s = NULL;
    perp_status status = perpi_alloc(context, 1, sizeof *s, &s);
    if (status == PERP_OK) {
        status = perpi_vector_create(context, name, forms, "a friction problem", option, count,
                                     &s->vector);
    }
    if (status != PERP_OK) {
        perpi_free(context, s);
        return status;
    }
    *solver = s;
    return PERP_OK;
}

void perp_friction_solver_destroy(perp_friction_solver* solver)
{
    if (solver != NULL) {
        perp_context* context = solver->vector.context;
        perpi_vector_free(&solver->vector);
        perpi_friction_units_free(context, &solver->units);
        perpi_free(context, solver);
    }
}

/* The judge's word over the method's. A point that is not finite becomes no impulses at all. */
static perp_contact_residual settle(perpi_vector_solver* s, const perp_friction_problem* problem,
                                    double tolerance, double* r, perp_report* report)
{
    perp_contact_residual verdict = perp_friction_judge(problem, r, s->work);
    char where[64] = "";
    if (!(verdict.worst <= tolerance)) {
        perpi_name_worst(&verdict, where, sizeof where);
    }
    perpi_settle(report, verdict.worst, tolerance, where);
    if (!isfinite(verdict.worst)) {
        memset(r, 0, (size_t)problem->row_count * sizeof *r);
        verdict = perp_friction_judge(problem, r, s->work);
        report->residual = verdict.worst;
    }
    return verdict;
}

perp_status perpi_friction_solve_checked(perp_friction_solver* solver,
                                         const perp_friction_problem* problem,
                                         const perp_solve_options* options, bool warm, double* r,
                                         perp_contact_residual* verdict, perp_report* report)
{
    perpi_vector_solver* s = &solver->vector;
    const perpi_method* method = &s->method;
    perp_status status = perpi_check_cones(s->context, method->name, method->ops.friction->takes,
                                           problem->constraint, problem->constraint_count);
    if (status == PERP_OK) {
        status = perpi_grow(s->context, &s->work, &s->work_capacity,
                            perp_friction_residual_work(problem), sizeof *s->work);
    }
    if (status == PERP_OK && problem->row_count == 0) {
        report->outcome = PERP_OUTCOME_SOLVED;
    } else if (status == PERP_OK && method->judged) { /* each method of the portfolio comes here */
        status = method->ops.friction->solve(method->self, problem, options, warm, r, report);
    } else if (status == PERP_OK) {
        perp_friction_problem scaled;
        status = perpi_friction_units_scale(s->context, &solver->units, problem, &scaled);
        if (status == PERP_OK) {
            perpi_friction_units_enter(&solver->units, r);
            status = method->ops.friction->solve(method->self, &scaled, options, warm, r, report);
            perpi_friction_units_leave(&solver->units, r);
        }
    }
    if (status != PERP_OK) {
        return status;
    }
    if (verdict == NULL && perpi_vector_judged(s, report) &&
        report->outcome == PERP_OUTCOME_SOLVED) {
        return PERP_OK; /* the judge has seen this very point */
    }
    const perp_contact_residual made = settle(s, problem, options->tolerance, r, report);
    if (verdict != NULL) {
        *verdict = made;
    }
    return PERP_OK;
}

perp_status perp_friction_solve(perp_friction_solver* solver, const perp_friction_problem* problem,
                                const perp_solve_options* options, bool warm, double* r,
                                perp_contact_residual* residual, perp_report* report)
{
    perpi_vector_solver* s = &solver->vector;
    const double begin = perpi_clock_now();
    perp_solve_options chosen;
    perp_status status = perpi_check_options(s->context, options, &chosen);
    if (status == PERP_OK) {
        status = perp_friction_check(s->context, problem);
    }
    if (status == PERP_OK) {
        status = perpi_vector_take(s, warm, "r", r, problem->row_count);
    }
    perp_report made = {0};
    if (status == PERP_OK) {
        status =
            perpi_friction_solve_checked(solver, problem, &chosen, warm, s->z, residual, &made);
    }
    if (status == PERP_OK) {
        perpi_vector_give(s, begin, &chosen, &made, problem->row_count, r, report);
    }
    return status;
}
