/* src/sim/run.c - perp_sim_step: calls user code and a driver, and commits the trial step.
 *
 * The next state is computed beside the present one (sim->trial), so that a step that fails changes
 * nothing.
 */
#include <string.h>

#include "perp/set.h"
#include "sim/internal.h"
#include "sim/measure.h"
#include "solve/work.h"

static void copy_array(double* to, const double* from, int32_t n)
{
    if (n > 0) {
        memcpy(to, from, (size_t)n * sizeof *to);
    }
}

/* Commits the trial step. Arrays are copied, so that pointers to q and v stay valid for the life
 * of a simulation. The lists of contacts, which may be long, and the information are swapped. */
static void commit(perp_sim* sim)
{
    perpi_trial* trial = &sim->trial;
    perpi_state* state = &sim->state;
    copy_array(state->q, trial->state.q, sim->work.q_size);
    copy_array(state->v, trial->state.v, sim->work.v_size);
    copy_array(state->memory, trial->state.memory, sim->work.s_size);
    if (sim->model->joint_count > 0) {
        memcpy(state->joint, trial->state.joint, sim->model->joint_count * sizeof *state->joint);
    }
    const perpi_contact_list contacts = state->contacts;
    state->contacts = trial->state.contacts;
    trial->state.contacts = contacts;
    perp_step_info* info = sim->info;
    sim->info = trial->info;
    trial->info = info;
    if (sim->v_solved != NULL) {
        copy_array(sim->v_solved, trial->v_solved, sim->work.v_size);
    }
    perp_ledger_add(&sim->ledger_total, &sim->info->ledger);
    state->step += 1;
    state->after_impact = sim->info->kind != PERP_STEP_TIME;
    state->impacts_in_a_row = sim->info->impacts_in_a_row;
    if (!state->after_impact) {
        state->tick += 1;
        state->h_last = trial->state.h_last;
        state->time = sim->adaptive ? trial->state.time : perpi_sim_tick_time(sim, state->tick);
    }
    if (sim->adaptive) {
        perpi_adaptive_commit(sim, state->after_impact);
    }
    perpi_measures_step(sim);
}

/* User code is called once for a step, not again after an impact that comes before it. */
static perp_status call_user_code(perp_sim* sim)
{
    perpi_user* user = &sim->user;
    perp_status status = PERP_OK;
    if (user->announced) {
        return PERP_OK;
    }
    if (user->on_step != NULL) {
        status = user->on_step(user->on_step_user, sim);
    }
    for (size_t i = 0; status == PERP_OK && i < user->callback_count; ++i) {
        status = user->callback[i].fn(user->callback[i].user, sim);
    }
    return status;
}

/* Clears forces that were applied for the last step. */
static void clear_applied(perp_sim* sim)
{
    perpi_step* work = &sim->work;
    if (work->has_extra) {
        memset(work->extra, 0, 6 * sim->model->body_count * sizeof *work->extra);
        work->has_extra = false;
    }
    if (sim->model->joint_count > 0) {
        memset(work->effort, 0, sim->model->joint_count * sizeof *work->effort);
    }
}

/* The work of all solves of a step (src/solve/work.h): some seconds with up to 20 bodies, and with more so many
 * factorisations of the matrix of the bodies, which is a little more than three of the hardest solves of a heap may take (4,000 each). */
static double step_work(const perp_sim* sim)
{
    static const double LEAST = 2e9, FACTORISATIONS = 1.5e4;
    const double n = 6.0 * (double)sim->model->body_count, work = FACTORISATIONS * n * n * n / 6.0;
    return work > LEAST ? work : LEAST;
}

/* Limits the work of the solves that follow; most: 0 for none. Projections after a step have a part of their own: a
 * step stands without them. */
static void begin_work(perp_sim* sim, double most)
{
    static const double PROJECTIONS = 0.1;
    perpi_contact_solver_begin_work(sim->work.solver, most);
    if (sim->correction.solver != NULL) {
        perpi_contact_solver_begin_work(sim->correction.solver, PROJECTIONS * most);
    }
}

perp_status perp_sim_step(perp_sim* sim)
{
    if (perp_sim_finished(sim)) {
        const bool stopped = perp_sim_stopped(sim) >= 0;
        return perpi_fail(sim->context, PERP_ERROR_INPUT, "the simulation has %s%s%s (t = %.9g)",
                          stopped ? "ended at its stop '" : "reached its duration",
                          stopped ? perp_sim_outcome(sim) : "", stopped ? "'" : "",
                          sim->state.time);
    }
    const double h_next = sim->halves.h_next;
    perp_status status = perpi_measures_check(sim);
    if (status == PERP_OK) {
        status = call_user_code(sim);
    }
    if (status == PERP_OK) {
        status = perp_sim_check_state(sim); /* check poses that were set */
    }
    bool failed = status != PERP_OK, unsolved = false;
    while (!failed) { /* keep_going has no effect until all else has failed */
        begin_work(sim, step_work(sim));
        status =
            sim->adaptive ? perpi_drive_adaptive(sim, unsolved) : perpi_drive_fixed(sim, unsolved);
        failed = status != PERP_OK;
        sim->halves.h_next = failed ? h_next : sim->halves.h_next;
        if (!failed || unsolved || status != PERP_ERROR_SOLVE || !sim->def.keep_going) {
            break;
        }
        failed = false;
        unsolved = true;
    }
    begin_work(sim, 0.0);
    /* an impact has no duration: applied forces belong to the step that follows */
    sim->user.announced = status == PERP_OK && sim->trial.info->kind != PERP_STEP_TIME;
    if (!sim->user.announced) {
        clear_applied(sim);
    }
    if (status == PERP_OK) {
        commit(sim);
    }
    return status;
}

perp_status perp_sim_run(perp_sim* sim)
{
    while (!perp_sim_finished(sim)) {
        const perp_status status = perp_sim_step(sim);
        if (status != PERP_OK) {
            return status;
        }
    }
    return PERP_OK;
}
