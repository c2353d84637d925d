/* src/step/semi_implicit.c - solution of a step whose laws are linearised about its start: one
 * problem. */
#include "step/smooth_step.h"
#include "step/step.h"

/* Mechanisms whose rows are all equalities: one factorisation. */
static perp_status solve_joints(perpi_step* step, bool* solved)
{
    perp_status status = perpi_joint_system_solve_all(step->system, step->formulation,
                                                      step->v_problem, step->p_problem, solved);
    if (status == PERP_OK && *solved) {
        step->report = (perp_report){
            .outcome = PERP_OUTCOME_SOLVED, .solver = PERPI_JOINT_SOLVER, .iterations = 1};
        if (step->kept.joints) { /* else checked when the joints are closed */
            status = perpi_step_check(step, solved);
        }
    }
    return status;
}

static bool has_inequalities(const perpi_formulation* f)
{
    bool any = false;
    for (int32_t i = 0; i < f->constraints; ++i) {
        any = any || f->constraint[i].kind != PERP_CONSTRAINT_EQUALITY;
    }
    return any;
}

/* The problem with the directions of the start. */
static perp_status solve_start(perpi_step* step)
{
    const perpi_step_input in = perpi_step_inputs(step);
    perp_status status = perpi_step_formulate(step, &in, step->from->v);
    bool solved = false;
    if (status == PERP_OK && step->smooth != NULL) {
        return perpi_smooth_solve(step->smooth, &in, step->v_problem, step->p_problem,
                                  &step->report);
    }
    if (status == PERP_OK && step->direct) {
        status = solve_joints(step, &solved);
        if (status == PERP_OK && !solved) {
            perpi_step_guess(step, step->from->v);
        }
    }
    if (status == PERP_OK && !solved) {
        const perp_solve_options options = perpi_step_options(step, step->tolerance);
        status =
            perp_contact_solve(step->solver, &step->formulation->problem, &options, true,
                               step->v_problem, step->p_problem, &step->residual, &step->report);
        if (status == PERP_OK && step->formulation->tied_count > 0) {
            status = perpi_step_close_ties(step, options);
        }
    }
    return status;
}

/* A middle step, from the impulses of the last step. Where contacts, limits or bounds could act, or that
 * does not converge, a start step comes first: it shows whether they act, and gives a first guess.
 * *done: as of perpi_solve_middle; *solved: the start step stands. */
static perp_status solve_joints_at_middle(perpi_step* step, bool* done, bool* solved)
{
    const perpi_step_input in = perpi_step_inputs(step);
    perp_status status = perpi_step_formulate(step, &in, step->from->v);
    if (status == PERP_OK && !has_inequalities(step->formulation)) {
        status = perpi_solve_middle(step, false, done);
    }
    if (status == PERP_OK && !*done) {
        status = solve_start(step);
        *solved = true;
        if (status == PERP_OK && step->report.outcome == PERP_OUTCOME_SOLVED) {
            status = perpi_solve_middle(step, true, done);
            *solved = !step->formulation->middle;
        }
    }
    return status;
}

perp_status perpi_solve_semi_implicit(perpi_step* step)
{
    bool done = false, solved = false;
    perp_status status = PERP_OK;
    if (step->settings.joint_middle) {
        status = solve_joints_at_middle(step, &done, &solved);
    }
    if (status == PERP_OK && !done && !solved) {
        status = solve_start(step);
    }
    return status == PERP_OK ? perpi_step_accept(step, step->tolerance) : status;
}
