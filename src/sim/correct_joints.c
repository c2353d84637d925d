/* src/sim/correct_joints.c - joint correction at the end of a step: solves the step again with the
 * joint errors there.
 *
 * In closed loops near singular configurations, where closing the errors at once would gain energy,
 * they are closed slowly (repair.h). The projection that follows is in project.c.
 */
#include <string.h>

#include "sim/internal.h"
#include "step/joint_rows.h"
#include "step/pack.h"
#include "step/repair.h"

enum { MAX_CORRECTIONS = 20 };

/* The solution and the problem that correct_positions() saved. */
void perpi_restore_answer(perpi_step* step)
{
    perpi_formulation* f = step->formulation;
    const size_t dofs = (size_t)f->problem.dof_count, rows = (size_t)f->problem.row_count;
    memcpy(step->v_problem, step->correction->keep, dofs * sizeof(double));
    memcpy(step->p_problem, step->correction->keep + dofs, rows * sizeof(double));
    memcpy(f->b, step->correction->keep + dofs + rows, rows * sizeof(double));
    perpi_formulation_round_joints(f, step->model, false);
    perpi_unpack(f, step->model, step->v_problem, step->p_problem, step->to->contacts.item,
                 step->to->joint);
    perpi_step_take_velocities(step);
}

/* Saves the current solution and its b. */
perp_status perpi_keep_answer(perpi_step* step)
{
    const perpi_formulation* f = step->formulation;
    const size_t dofs = (size_t)f->problem.dof_count, rows = (size_t)f->problem.row_count;
    const perp_status status =
        perpi_grow(step->context, &step->correction->keep, &step->correction->keep_capacity,
                   dofs + 2 * rows, sizeof(double));
    if (status == PERP_OK) {
        memcpy(step->correction->keep, step->v_problem, dofs * sizeof(double));
        memcpy(step->correction->keep + dofs, step->p_problem, rows * sizeof(double));
        memcpy(step->correction->keep + dofs + rows, f->b, rows * sizeof(double));
    }
    return status;
}

/* Whether the laws hold with the errors that the joints have at the end of the current answer: the
 * solve had those of the answer before it, and may have failed. */
static perp_status check_end(perpi_step* step, bool solved, bool* within)
{
    perpi_formulation* f = step->formulation;
    *within = solved;
    if (step->attempts.corrections == 0 || f->tie_count > 0) { /* ties: p depends on b, frames.c */
        return PERP_OK;
    }
    perpi_formulation_correct_b(f, step->model, step->h, step->to->q, step->v_problem, step->input);
    return perpi_step_check(step, within);
}

/* [W14 algorithm 1], position level: as long as the joints have errors at the end of the step,
 * the step is solved again with these errors in b. The laws of contacts, friction and motors
 * hold in every solve, so no body is pushed into its neighbour and no sticking contact slips.
 * The Jacobians stay those of the start of the step, which conserves the energy. Velocity level:
 * complete_state. */
static perp_status correct_positions(perpi_step* step)
{
    perpi_formulation* f = step->formulation;
    perp_report* report = &step->report;
    int32_t* corrections = &step->attempts.corrections;
    double before = INFINITY;
    perpi_joint_closing closing = PERPI_CLOSING_OTHERS;
    perp_status status = perpi_keep_answer(step);
    if (status == PERP_OK && step->direct) {
        status = perpi_close_joints(step, &closing);
    }
    const perp_contact_residual first = step->residual;
    const perp_report first_report = *report;
    while (status == PERP_OK && closing != PERPI_CLOSING_DONE) {
        const double error =
            perpi_formulation_error(f, step->model, step->to->q, step->input, step->p_problem);
        if (error <= PERPI_CORRECTION_GOAL ||
            (error <= PERPI_CORRECTION_ENOUGH && error > 0.5 * before)) {
            bool within = false;
            status = check_end(step, before > 0.0, &within);
            if (status != PERP_OK || within) {
                break;
            }
        }
        if (closing == PERPI_CLOSING_FAILED || !(error < 0.5 * before) ||
            *corrections == MAX_CORRECTIONS) {
            /* the links rotate too far in a step for this: use the plain step, then project the
             * poses */
            const int32_t iterations = report->iterations;
            perpi_restore_answer(step);
            step->residual = first;
            *report = first_report;
            report->iterations = iterations;
            *corrections = 0;
            status = perpi_step_advance(step);
            break;
        }
        before = error;
        perpi_formulation_correct_b(f, step->model, step->h, step->to->q, step->v_problem,
                                    step->input);
        const int32_t iterations = report->iterations;
        status = perpi_step_solve_to(step, step->tolerance);
        report->iterations += iterations;
        *corrections += 1;
        if (status == PERP_ERROR_SOLVE) { /* no solution closes them: the next round gives up */
            before = 0.0;
            status = PERP_OK;
        }
        if (status == PERP_OK) {
            status = perpi_step_advance(step);
        }
    }
    return status;
}

/* Not in the first step: velocities given by a scene need not satisfy the joints, and satisfying
 * them corrects no error. */
static bool limits_repair(const perpi_step* step)
{
    return step->settings.limits_joints && step->formulation->theta == 1.0 &&
           step->model->joint_count > 0 && !step->kept.joints && step->from->step > 0;
}

/* Whether the joints gain energy in this step; projection: energy added by the projection after
 * it. */
static perp_status repair_gains(perpi_step* step, const bool* loop, double projection, bool* gains)
{
    const perpi_formulation* f = step->formulation;
    const size_t dofs = (size_t)f->problem.dof_count, rows = (size_t)f->problem.row_count;
    perp_status status = perpi_grow(step->context, &step->correction->start,
                                    &step->correction->start_capacity, dofs, sizeof(double));
    if (status == PERP_OK) { /* reserve memory now, so that no later step allocates */
        status = perpi_grow(step->context, &step->correction->keep,
                            &step->correction->keep_capacity, dofs + 2 * rows, sizeof(double));
    }
    *gains = false;
    if (status == PERP_OK) {
        perpi_repair_before(f, step->model, step->from->v, step->correction->start);
        *gains = perpi_repair_gains(f, loop, step->correction->start, step->v_problem,
                                    step->p_problem, projection);
    }
    return status;
}

/* Solves the step again with errors that are closed slowly. If that has no solution, the current
 * one is kept, of which step->correction->keep has a copy. */
static perp_status limit_repair(perpi_step* step, const bool* loop)
{
    perpi_formulation* f = step->formulation;
    const perp_contact_residual first = step->residual;
    const perp_report first_report = step->report;
    perpi_repair_limit(f, loop, step->model->dimension, step->correction->start);
    perp_status status = perpi_step_solve_to(step, step->tolerance);
    step->report.iterations += first_report.iterations;
    step->attempts.corrections = loop != NULL ? PERPI_REPAIR_LIMITED : PERPI_REPAIR_LIMITED_ALL;
    if (status == PERP_ERROR_SOLVE) {
        perpi_restore_answer(step);
        step->residual = first;
        step->report = first_report;
        step->attempts.corrections = 0;
        status = PERP_OK;
    }
    return status == PERP_OK ? perpi_step_advance(step) : status;
}

/* Without correction: errors of the start of the step are closed slowly if that gains energy. *again: if that has no solution or
 * gains energy, too, the step is solved with errors that are kept, u+ = 0, which gains none. */
static perp_status limit_plain(perpi_step* step, bool* again)
{
    bool gains = false;
    const bool* loop = step->correction->any_loop ? step->correction->loop : NULL;
    perp_status status = PERP_OK;
    if (loop != NULL) {
        status = repair_gains(step, loop, 0.0, &gains);
    }
    if (status == PERP_OK && !gains && step->correction->project == NULL) {
        loop = NULL;
        status = repair_gains(step, loop, 0.0, &gains);
    }
    if (status == PERP_OK && gains) {
        status = perpi_keep_answer(step);
        if (status == PERP_OK) {
            status = limit_repair(step, loop);
        }
        if (status == PERP_OK && loop == NULL &&
            perpi_repair_gains_still(step->formulation, step->correction->start, step->v_problem,
                                     step->p_problem)) {
            *again = step->attempts.simpler = perpi_keep_joint_errors(step);
        }
    }
    return status;
}

static bool is_limited(int32_t corrections)
{
    return corrections == PERPI_REPAIR_LIMITED || corrections == PERPI_REPAIR_LIMITED_ALL;
}

/* From the velocities that solved the step to those of the state: angular momentum is kept at
 * the new orientation (momentum.h), and where joints are corrected, poses and velocities are
 * projected. */
static perp_status complete_state(perpi_step* step)
{
    perpi_correction* correction = step->correction;
    int32_t* moves = &step->attempts.moves;
    *moves = 0;
    correction->pushed_count = 0;
    if (step->trial->v_solved != NULL) {
        memcpy(step->trial->v_solved, step->to->v,
               (size_t)step->v_size * sizeof *step->trial->v_solved);
        if (step->formulation->middle) { /* the mean velocities, which advance the poses */
            perpi_formulation_scatter_v(step->formulation, step->model, step->v_problem,
                                        step->trial->v_solved);
        }
        if (step->stepper->evaluation == PERPI_EVALUATE_START &&
            !step->stepper->equilibrium_search) {
            perpi_momentum_carry(step->formulation, step->model, step->v_from, step->to->q,
                                 step->to->v);
        }
    }
    if (correction->project == NULL) {
        return PERP_OK;
    }
    /* the velocities of a middle step satisfy the joints on average; projecting them costs energy */
    const bool closes = !is_limited(step->attempts.corrections) &&
                        !(step->formulation->middle && step->settings.joint_middle);
    memcpy(correction->q_answer, step->to->q, (size_t)step->q_size * sizeof *step->to->q);
    memcpy(correction->v_carried, step->to->v, (size_t)step->v_size * sizeof *step->to->v);
    bool across = false;
    perp_status status = closes ? perpi_project(step, step->h, &step->report, moves) : PERP_OK;
    if (status == PERP_OK && *moves > 0) {
        status = perpi_moved_across(step, step->h, step->deepest, &across);
    }
    const bool gains = status == PERP_OK && *moves > 0 &&
                       perpi_energy_change(step->model, true, correction->q_answer,
                                           correction->v_carried, step->to->q, step->to->v) > 0.0;
    if (across || gains) { /* the joints stay open in this step; their error is reported */
        memcpy(step->to->q, correction->q_answer, (size_t)step->q_size * sizeof *step->to->q);
        memcpy(step->to->v, correction->v_carried, (size_t)step->v_size * sizeof *step->to->v);
        *moves = 0;
        correction->pushed_count = 0;
    }
    if (status == PERP_OK && *moves > 0 && !step->stepper->equilibrium_search) {
        const perpi_ledger_input in = {.f = step->formulation,
                                       .model = step->model,
                                       .contact = step->to->contacts.item,
                                       .q_end = correction->q_answer,
                                       .v_state = correction->v_carried,
                                       .q_final = step->to->q,
                                       .pushed = correction->pushed,
                                       .pushed_count = correction->pushed_count};
        status = perpi_momentum_restore(&in, &step->momentum_work, step->to->v);
    }
    return status;
}

/* Members of the joint records besides the impulses. */
static perp_status finish_joints(perpi_step* step)
{
    const double h = step->h;
    const perp_model* model = step->model;
    for (int32_t i = 0; i < (int32_t)model->joint_count; ++i) {
        perp_joint_record* r = &step->to->joint[i];
        double effort;
        const perpi_formulation* f = step->formulation;
        const double when = step->from->time + (f->middle ? f->theta * h : 0.0);
        const perp_status status =
            perpi_joint_motor_effort(model, i, when, &step->input[i], &effort);
        if (status != PERP_OK) {
            return status;
        }
        if (effort != 0.0) {
            r->law[PERPI_LAW_MOTOR] = h * effort;
        }
        r->applied = step->input[i].effort;
        r->target = step->input[i].target;
        memcpy(r->turns, step->input[i].turns, sizeof r->turns);
        perpi_joint_count_turns(step->formulation, model, i, h, step->from->q, step->to->q,
                                step->to->v, r->turns);
    }
    return PERP_OK;
}

/* Corrected joints: the energy that they gain in the step is removed by the projection after it.
 * If it is not, the step is solved again from the plain solution, which correct_positions() saved. */
static perp_status limit_corrected(perpi_step* step)
{
    const double h = step->h;
    double projection = perpi_energy_change(step->model, true, step->correction->q_answer,
                                            step->correction->v_carried, step->to->q, step->to->v);
    for (int32_t i = 0; i < (int32_t)step->model->body_count; ++i) { /* of E + (h/2) m g . v */
        const perpi_body* body = &step->model->body[i];
        const vec3 change =
            v3_sub(perpi_state_velocity(step->model, step->to->v, i),
                   perpi_state_velocity(step->model, step->correction->v_carried, i));
        projection += body->dofs > 0 ? 0.5 * h * body->mass * v3_dot(body->gravity, change) : 0.0;
    }
    bool gains = false, across = false;
    const bool* loop = step->correction->any_loop ? step->correction->loop : NULL;
    perp_status status = repair_gains(step, loop, projection, &gains);
    if (status == PERP_OK && !gains && loop != NULL) {
        loop = NULL;
        status = repair_gains(step, loop, projection, &gains);
    }
    if (status != PERP_OK || !gains) {
        return status;
    }
    perpi_restore_answer(step);
    status = limit_repair(step, loop);
    if (status == PERP_OK) {
        status = complete_state(step);
    }
    if (status == PERP_OK) {
        status = perpi_moved_across(step, step->h, step->deepest, &across);
    }
    return status == PERP_OK && across
               ? perpi_fail(step->context, PERP_ERROR_SOLVE,
                            "step %lld (t = %.9g): joints near a singular configuration carry a "
                            "body through another one; use a smaller step",
                            (long long)step->from->step + 1, step->from->time)
               : status;
}

perp_status perpi_advance_and_correct(perpi_step* step, bool* again)
{
    perp_status status = perpi_step_advance(step);
    step->attempts.corrections = 0;
    step->correction->shut = false;
    if (step->formulation->middle) { /* closed already */
        step->attempts.corrections = step->formulation->part != NULL ? PERPI_STEP_PARTS
                                     : step->formulation->rolls      ? PERPI_STEP_ROLLING
                                                                     : PERPI_STEP_MIDDLE;
        step->correction->shut = true;
        return status;
    }
    if (status == PERP_OK && limits_repair(step)) {
        status = limit_plain(step, again);
    }
    if (status == PERP_OK && step->correction->project != NULL && !step->kept.joints && !*again &&
        step->attempts.corrections == 0) {
        status = correct_positions(step);
    }
    return status;
}

perp_status perpi_complete_state(perpi_step* step)
{
    perp_status status = complete_state(step);
    if (status == PERP_OK && step->correction->project != NULL && limits_repair(step) &&
        !is_limited(step->attempts.corrections) && !step->formulation->middle) {
        status = limit_corrected(step);
    }
    return status == PERP_OK ? finish_joints(step) : status;
}
