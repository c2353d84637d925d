/* src/sim/close_joints.c - joints closed at the end of a step by Newton's method on their impulses.
 *
 * The step M v' = k + J' p has the directions J of its start; p is sought such that the joints have no
 * error at the end q + h v' [SHAKE]. The derivative of that error by p is h J_end M^-1 J': one
 * factorisation at the end that the plain step leads to serves for all corrections, unless they
 * converge slowly (step/joint_system.h). Bounded rows at a bound and contacts without impulse keep
 * their impulses; the residual check decides whether that was right.
 */
#include <string.h>

#include "sim/internal.h"
#include "step/joint_rows.h"
#include "step/pack.h"

enum { MAX_NEWTON = 20 };
/* A correction that leaves more of the error than this is followed by a new factorisation. */
static const double SLOW = 0.1;

static perp_status end_of(perpi_step* step)
{
    perpi_step_take_velocities(step);
    return perpi_step_advance(step);
}

/* Whether the system has rows that are not those of the joints' positions. */
static bool has_laws(const perpi_formulation* f)
{
    bool any = f->constraints > f->contact_count + f->joint_count;
    for (int32_t k = 0; k < f->joint_count; ++k) {
        any = any || f->place[k].slot != 0;
    }
    return any;
}

/* Newton's method from the current answer; r: the errors / h that are left. factored: with the
 * Jacobian of the start, which serves for the first correction. */
static perp_status iterate(perpi_step* step, bool factored, double* r, int32_t* count, bool* closed)
{
    const perpi_formulation* f = step->formulation;
    double* R = perpi_joint_system_R(step->system);
    double before = INFINITY;
    bool fresh = false;
    const bool laws = has_laws(f);
    perp_status status = PERP_OK;
    *closed = false;
    if (laws) {
        memcpy(R, f->J, f->jac * sizeof *R);
    }
    for (*count = 0; status == PERP_OK; *count += 1) {
        if (laws) {
            (void)perpi_joint_system_rows(step->system, f, step->v_problem, step->p_problem, r);
        }
        const double error = perpi_formulation_end_rows(f, step->model, step->h, step->to->q,
                                                        step->input, step->p_problem, r, R);
        if (error <= PERPI_CORRECTION_GOAL ||
            (error <= PERPI_CORRECTION_ENOUGH && error > 0.5 * before)) {
            *closed = true;
            break;
        }
        if (*count == MAX_NEWTON || !isfinite(error) || (fresh && !(error < 0.5 * before))) {
            break;
        }
        const bool slow = *count == 0 ? !factored : *count == 1 || !(error < SLOW * before);
        if (slow && !perpi_joint_system_factor(step->system, f, R)) {
            break;
        }
        fresh = slow;
        before = error;
        perpi_joint_system_solve(step->system, f, r, step->v_problem, step->p_problem);
        status = end_of(step);
    }
    return status;
}

/* The links turn too far for the directions of the start: a middle step. */
static perp_status close_at_middle(perpi_step* step, bool* done)
{
    const perp_contact_residual first = step->residual;
    const perp_report first_report = step->report;
    perp_status status = perpi_solve_middle(step, true, done);
    if (status == PERP_OK && *done) {
        step->report.iterations += first_report.iterations;
        step->attempts.corrections = PERPI_STEP_MIDDLE;
        step->correction->shut = true;
        perpi_unpack(step->formulation, step->model, step->v_problem, step->p_problem,
                     step->to->contacts.item, step->to->joint);
        return end_of(step);
    }
    if (status == PERP_OK && step->formulation->middle) { /* the problem of the start again */
        const perpi_step_input in = perpi_step_inputs(step);
        status = perpi_step_formulate(step, &in, step->from->v);
    }
    if (status == PERP_OK) {
        perpi_restore_answer(step);
        step->residual = first;
        step->report = first_report;
        status = perpi_step_advance(step);
    }
    return status;
}

perp_status perpi_close_joints(perpi_step* step, perpi_joint_closing* closing)
{
    perpi_formulation* f = step->formulation;
    const perp_contact_residual first = step->residual;
    int32_t count = 0;
    bool taken = false, closed = false, within = false;
    *closing = PERPI_CLOSING_OTHERS;
    if (f->tie_count > 0) { /* k depends on b: the rows change with every correction */
        return PERP_OK;
    }
    const bool factored = strcmp(step->report.solver, PERPI_JOINT_SOLVER) == 0;
    perp_status status =
        factored ? PERP_OK
                 : perpi_joint_system_begin(step->system, f, step->p_problem, NULL, &taken);
    if (status != PERP_OK || !(factored || taken)) {
        return status;
    }
    double* r = perpi_joint_system_r(step->system);
    status = iterate(step, factored, r, &count, &closed);
    if (status == PERP_OK && closed && count > 0) {
        perpi_formulation_set_b(f, step->model, step->v_problem, r);
        perpi_unpack(f, step->model, step->v_problem, step->p_problem, step->to->contacts.item,
                     step->to->joint);
    }
    if (status == PERP_OK && closed) {
        status = perpi_step_check(step, &within);
    }
    if (status != PERP_OK) {
        return status;
    }
    *closing = !closed ? PERPI_CLOSING_FAILED : within ? PERPI_CLOSING_DONE : PERPI_CLOSING_OTHERS;
    step->report.iterations += count;
    step->attempts.corrections = *closing == PERPI_CLOSING_DONE ? count : 0;
    step->correction->shut = *closing == PERPI_CLOSING_DONE;
    if (*closing != PERPI_CLOSING_DONE) {
        perpi_restore_answer(step);
        step->residual = first;
        step->report.residual = first.worst;
        status = perpi_step_advance(step);
    }
    if (status == PERP_OK && *closing != PERPI_CLOSING_DONE && factored) { /* not yet checked */
        status = perpi_step_check(step, &within);
    }
    if (status == PERP_OK && *closing == PERPI_CLOSING_FAILED) {
        bool done = false;
        status = close_at_middle(step, &done);
        *closing = done ? PERPI_CLOSING_DONE : PERPI_CLOSING_FAILED;
    }
    return status;
}
