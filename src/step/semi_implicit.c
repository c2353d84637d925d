/* src/step/semi_implicit.c - solution of a step whose laws are linearised about its start: one
 * problem. */
#include "step/pack.h"
#include "step/roll.h"
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

/* Corrected joints that would not be closed with the directions of the start: a middle step at once, of which
 * *done says whether it was found. The formulated problem stands if not. */
static perp_status solve_tense_joints(perpi_step* step, const perpi_step_input* in, bool* done)
{
    bool tense = false;
    perp_status status = PERP_OK;
    *done = false;
    if (step->direct && step->smooth == NULL && !step->kept.joints &&
        !has_inequalities(step->formulation)) {
        status = perpi_middle_expected(step, &tense);
    }
    if (status == PERP_OK && tense) {
        status = perpi_solve_middle(step, false, done);
    }
    if (status == PERP_OK && tense && !*done) {
        status = perpi_step_formulate(step, in, step->from->v);
    }
    return status;
}

/* The problem with the directions of the start. */
static perp_status solve_formulated(perpi_step* step, const perpi_step_input* in)
{
    perp_status status = perpi_step_formulate(step, in, step->from->v);
    bool solved = false;
    if (status == PERP_OK && !step->settings.joint_middle) {
        status = solve_tense_joints(step, in, &solved);
    }
    if (status != PERP_OK || solved) {
        return status;
    }
    if (status == PERP_OK && step->smooth != NULL) {
        return perpi_smooth_solve(step->smooth, in, step->v_problem, step->p_problem,
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
        if (status == PERP_OK) {
            status = perpi_step_refine(step, &options);
        }
    }
    return status;
}

/* Whether contacts hold the spins of the bodies otherwise than the problem has it, by its solution. */
static bool have_holds_changed(perpi_step* step)
{
    perpi_formulation* f = step->formulation;
    if (step->smooth != NULL || !f->midway || f->middle ||
        step->report.outcome != PERP_OUTCOME_SOLVED || !perpi_holds_expected(f, step->model)) {
        return false;
    }
    perpi_unpack(f, step->model, step->v_problem, step->p_problem, step->to->contacts.item,
                 step->to->joint);
    return perpi_holds_differ(f, step->model, step->to->contacts.item,
                              (int32_t)step->to->contacts.count);
}

/* A contact that was expected to act holds the spin of a body at the middle of the step, and the body
 * gains energy if it does not act after all: a neighbour that would have fallen onto it is held by others.
 * Such a body turns as a free one, in a second solve; if it is pushed there, the first one stands. */
static perp_status solve_start(perpi_step* step)
{
    perpi_step_input in = perpi_step_inputs(step);
    perp_status status = solve_formulated(step, &in);
    for (int i = 0; i < 2 && status == PERP_OK && have_holds_changed(step); ++i) {
        const int32_t iterations = step->report.iterations;
        in.acted = i == 0;
        status = solve_formulated(step, &in);
        step->report.iterations += iterations;
    }
    return status;
}

/* What a joint has of the velocities: errors of its rows, and the sums of what enters its linear
 * and its angular rows. */
typedef struct joint_speeds {
    double off[6], size[2];
    bool angular[6];
} joint_speeds;

static joint_speeds speeds_of(const perpi_step* step, int32_t k)
{
    const perpi_formulation* f = step->formulation;
    const perp_constraint* c = &f->constraint[f->contact_count + k];
    const int32_t linear = step->model->dimension;
    const double* J = f->J + c->jac;
    joint_speeds s = {.angular = {true, true, true, true, true, true}};
    double size[6] = {0};
    for (int32_t side = 0; side < 2; ++side) {
        const int32_t block = c->block[side];
        const int32_t n = block >= 0 ? f->dof[block + 1] - f->dof[block] : 0;
        for (int32_t r = 0; r < c->rows; ++r, J += n) {
            for (int32_t j = 0; j < n; ++j) {
                const double u = J[j] * step->v_problem[f->dof[block] + j];
                s.off[r] += u;
                size[r] += fabs(u);
                s.angular[r] = s.angular[r] && !(j < linear && J[j] != 0.0);
            }
        }
    }
    for (int32_t r = 0; r < c->rows; ++r) {
        s.off[r] = fabs(s.off[r] + f->b[c->row + r]);
        s.size[s.angular[r]] += size[r];
    }
    return s;
}

/* Whether the velocities at a joint are those of the scene or of a program: there was no step, or
 * edit.c has cleared its impulses. */
static bool is_set(const perpi_step* step, int32_t joint)
{
    const double* impulse = step->from->joint[joint].impulse;
    bool any = false;
    for (int i = 0; i < 6; ++i) {
        any = any || impulse[i] != 0.0;
    }
    return step->from->tick == 0 || !any;
}

/* Whether velocities that were set contradict the joints: a middle step, in which the joints hold
 * on average, would only reverse what is wrong in them. A corrected step with the directions of the
 * start removes it. Velocities of a scene may be wrong by rounding. Those of a middle step are by
 * the square of the turn: a link that turns back while others move has small velocities of its own,
 * so no part of these is a limit for them. */
static bool contradicts_joints(const perpi_step* step)
{
    static const double LARGEST = 1e-3; /* of what enters a row */
    static const double STILL = 1e-6;   /* of the largest of that in the mechanism */
    static const double CLOSED = 1e-9;  /* of the size of a joint, in a step */
    const perpi_formulation* f = step->formulation;
    double most[2] = {0.0, 0.0};
    bool contradicts = false;
    for (int pass = 0; pass < 2; ++pass) {
        for (int32_t k = 0; k < f->joint_count; ++k) {
            const int32_t rows = f->constraint[f->contact_count + k].rows;
            const int32_t joint = f->place[k].joint;
            if (f->place[k].slot != 0 || (pass == 1 && !is_set(step, joint))) {
                continue;
            }
            const joint_speeds s = speeds_of(step, k);
            for (int i = 0; i < 2 && pass == 0; ++i) {
                most[i] = s.size[i] > most[i] ? s.size[i] : most[i];
            }
            for (int32_t r = 0; pass == 1 && r < rows; ++r) {
                const int kind = s.angular[r];
                const double size = kind ? 1.0 : step->model->joint[joint].size;
                contradicts = contradicts ||
                              (s.off[r] > LARGEST * s.size[kind] && s.off[r] > STILL * most[kind] &&
                               s.off[r] > CLOSED * size / step->h);
            }
        }
    }
    return contradicts;
}

/* A middle step, from the impulses of the last step. Where contacts, limits or bounds could act, or that
 * does not converge, a start step comes first: it shows whether they act, and gives a first guess.
 * *done: as of perpi_solve_middle; *solved: the start step stands. */
static perp_status solve_joints_at_middle(perpi_step* step, bool* done, bool* solved)
{
    const perpi_step_input in = perpi_step_inputs(step);
    perp_status status = perpi_step_formulate(step, &in, step->from->v);
    const bool middle =
        status == PERP_OK && !(step->settings.joint_chosen && contradicts_joints(step));
    if (middle && !has_inequalities(step->formulation)) {
        status = perpi_solve_middle(step, false, done);
    }
    if (status == PERP_OK && !*done) {
        status = solve_start(step);
        *solved = true;
        if (middle && status == PERP_OK && step->report.outcome == PERP_OUTCOME_SOLVED) {
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
    if (step->settings.rolling_middle) {
        status = perpi_solve_rolling(step, &done);
    } else if (step->settings.joint_middle) {
        status = solve_joints_at_middle(step, &done, &solved);
    }
    if (status == PERP_OK && !done && !solved) {
        status = solve_start(step);
    }
    return status == PERP_OK ? perpi_step_accept(step, step->tolerance) : status;
}
