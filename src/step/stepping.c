/* src/step/stepping.c - functions shared by steppers: input, formulation, solution, advance. */
#include <string.h>

#include "problem/operators.h"
#include "step/gear_rows.h"
#include "step/layer_ties.h"
#include "step/pack.h"
#include "step/step.h"

/* Missing a sharper tolerance than the scene's is accepted up to here. */
static const double ENOUGH = 1e-10;

perpi_step_input perpi_step_inputs(const perpi_step* step)
{
    return (perpi_step_input){.model = step->model,
                              .t = step->from->time,
                              .h = step->h,
                              .q = step->q_from,
                              .pose = step->posed == step->q_from ? step->pose : NULL,
                              .v = step->v_from,
                              .extra = step->has_extra ? step->extra : NULL,
                              .contact = step->to->contacts.item,
                              .contact_count = (int32_t)step->to->contacts.count,
                              .hold = NULL,
                              .acted = false,
                              .joint = step->input,
                              .s = step->from->memory,
                              .q_end = step->q_from,
                              .v_end = step->v_from,
                              .middle = false,
                              .rolls = false,
                              .part = NULL,
                              .settings = &step->settings};
}

perp_status perpi_step_room(perpi_step* step, const perpi_formulation* f)
{
    const perp_status status = perpi_grow(step->context, &step->v_problem, &step->v_capacity,
                                          (size_t)f->problem.dof_count, sizeof(double));
    return status != PERP_OK ? status
                             : perpi_grow(step->context, &step->p_problem, &step->p_capacity,
                                          (size_t)f->problem.row_count, sizeof(double));
}

void perpi_step_guess(perpi_step* step, const double* v)
{
    const perpi_point guess = {.v = v,
                               .contact = step->to->contacts.item,
                               .joint = step->from->joint,
                               .memory = step->from->memory,
                               .v_start = step->from->v};
    perpi_pack(step->formulation, step->model, &guess, step->v_problem, step->p_problem);
}

perp_status perpi_step_formulate(perpi_step* step, const perpi_step_input* in, const double* v)
{
    perpi_formulation* f = step->formulation;
    perp_status status = step->stepper->formulate(f, in);
    if (status == PERP_OK) {
        status = perpi_step_room(step, f);
    }
    if (status == PERP_OK) {
        step->has_problem = true;
        perpi_step_guess(step, v);
    }
    return status;
}

perp_solve_options perpi_step_options(const perpi_step* step, double tolerance)
{
    perp_solve_options options = perp_solve_options_default();
    options.tolerance = tolerance;
    options.enough = tolerance < ENOUGH && ENOUGH < step->tolerance ? ENOUGH : 0.0;
    options.cancel = step->cancel;
    options.user = step->cancel_user;
    return options;
}

void perpi_step_take_velocities(perpi_step* step)
{
    memcpy(step->to->v, step->from->v, (size_t)step->v_size * sizeof *step->to->v);
    perpi_formulation_scatter_v(step->formulation, step->model, step->v_problem, step->to->v);
}

perp_status perpi_step_accept(perpi_step* step, double tolerance)
{
    perpi_formulation* f = step->formulation;
    perp_report* report = &step->report;
    if (tolerance < step->tolerance && report->outcome != PERP_OUTCOME_CANCELLED &&
        step->residual.worst <= step->tolerance) {
        report->outcome = PERP_OUTCOME_SOLVED;
    }
    perpi_unpack(f, step->model, step->v_problem, step->p_problem, step->to->contacts.item,
                 step->to->joint);
    /* checked again: the residual check may have accepted the point of a cancelled method */
    const bool cancelled = step->cancel != NULL && step->cancel(step->cancel_user);
    if (report->outcome == PERP_OUTCOME_CANCELLED || cancelled) {
        return perpi_fail(step->context, PERP_ERROR_CANCELLED, "step %lld (t = %.9g): cancelled",
                          (long long)step->from->step + 1, step->from->time);
    }
    if (report->outcome != PERP_OUTCOME_SOLVED && !step->accept_unsolved) {
        return perpi_step_diagnose(step);
    }
    if (!perpi_all_finite((size_t)f->problem.dof_count, step->v_problem)) {
        return perpi_step_diagnose(step); /* not even keep_going accepts this */
    }
    perpi_step_take_velocities(step);
    return PERP_OK;
}

/* Whether gears have blocks of their own. Recordings have the velocities of bodies, from which theirs follow. */
static bool has_gears(const perpi_formulation* f)
{
    bool any = false;
    for (int32_t k = 0; k < f->joint_count; ++k) {
        any = any || f->place[k].slot >= PERPI_GEAR_TIE;
    }
    return any;
}

/* Replaces the answer by the point that is recorded (layer_ties.h, gear_rows.h), and solves on to a smaller
 * tolerance while that is not within the tolerance asked for. */
static perp_status close_ties(perpi_step* step, perp_solve_options options)
{
    enum { MAX_MORE = 3 };
    static const double SHARPER = 1e-2;
    perpi_formulation* f = step->formulation;
    const double tolerance = options.tolerance;
    perp_status status = PERP_OK;
    if (f->tied_count == 0 && !has_gears(f)) {
        return PERP_OK;
    }
    for (int i = 0; status == PERP_OK && step->report.outcome != PERP_OUTCOME_CANCELLED; ++i) {
        status = perpi_grow(step->context, &f->check, &f->check_capacity,
                            perp_contact_residual_work(&f->problem), sizeof *f->check);
        if (status != PERP_OK ||
            (f->tied_count > 0 && !perpi_ties_close(f, step->v_problem, step->p_problem))) {
            break;
        }
        perpi_gears_gather(f, step->v_problem);
        step->residual =
            perp_contact_check_residual(&f->problem, step->v_problem, step->p_problem, f->check);
        step->report.residual = step->residual.worst;
        if (step->residual.worst <= tolerance) {
            step->report.outcome = PERP_OUTCOME_SOLVED;
            break;
        }
        if (step->report.outcome != PERP_OUTCOME_SOLVED || i == MAX_MORE) {
            step->report.outcome = step->report.outcome == PERP_OUTCOME_SOLVED
                                       ? PERP_OUTCOME_MAX_ITER
                                       : step->report.outcome;
            break;
        }
        const int32_t iterations = step->report.iterations;
        options.tolerance *= SHARPER;
        options.enough = 0.0;
        status = perp_contact_solve(step->solver, &f->problem, &options, true, step->v_problem,
                                    step->p_problem, &step->residual, &step->report);
        step->report.iterations += iterations;
    }
    return status;
}

perp_status perpi_step_refine(perpi_step* step, const perp_solve_options* options)
{
    const perpi_formulation* f = step->formulation;
    perp_status status = PERP_OK;
    if (f->joint_count > 0 && f->tied_count == 0) {
        status = perpi_step_sharpen_joints(step, *options);
    }
    if (status == PERP_OK && (f->joint_count > 0 || f->tied_count > 0)) {
        status = close_ties(step, *options);
    }
    return status;
}

perp_status perpi_step_check(perpi_step* step, bool* within)
{
    const perp_contact_problem* P = &step->formulation->problem;
    const perp_status status = perpi_grow(step->context, &step->check, &step->check_capacity,
                                          perp_contact_residual_work(P), sizeof *step->check);
    if (status == PERP_OK) {
        step->residual =
            perp_contact_check_residual(P, step->v_problem, step->p_problem, step->check);
        step->report.residual = step->residual.worst;
        *within = step->residual.worst <= step->tolerance;
    }
    return status;
}

perp_status perpi_step_solve_to(perpi_step* step, double tolerance)
{
    const perp_solve_options options = perpi_step_options(step, tolerance);
    perp_status status =
        perp_contact_solve(step->solver, &step->formulation->problem, &options, true,
                           step->v_problem, step->p_problem, &step->residual, &step->report);
    if (status == PERP_OK) {
        status = perpi_step_refine(step, &options);
    }
    return status == PERP_OK ? perpi_step_accept(step, tolerance) : status;
}

perp_status perpi_step_advance(perpi_step* step)
{
    const double* offset = perpi_step_offset(step);
    memcpy(step->to->q, step->q_from, (size_t)step->q_size * sizeof *step->to->q);
    if (offset != NULL) {
        perpi_displace(step->model, offset, false, step->to->q);
    }
    perpi_step_input in = perpi_step_inputs(step);
    in.middle = step->formulation->middle;
    in.rolls = step->formulation->rolls;
    const perp_status status = step->stepper->advance(&in, step->to->q, step->to->v);
    if (status == PERP_OK && step->formulation->middle) {
        perpi_step_extend(step);
    }
    return status;
}
