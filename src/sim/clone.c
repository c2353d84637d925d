/* src/sim/clone.c - reset to the initial state, and independent copies. */
#include <string.h>

#include "perp/set.h"
#include "sim/internal.h"
#include "sim/measure.h"

perp_status perp_sim_reset(perp_sim* sim)
{
    const perp_model* model = sim->model;
    sim->state.contacts.count = 0;
    sim->state.contacts.groups = 0;
    sim->state.time = 0.0;
    sim->state.step = 0;
    sim->state.tick = 0;
    sim->state.h_last = 1.0;
    sim->state.after_impact = false;
    sim->state.impacts_in_a_row = 0;
    sim->work.has_extra = false;
    sim->user.announced = false;
    sim->work.has_problem = false;
    *sim->info = (perp_step_info){0};
    sim->ledger_total = (perp_ledger){0};
    sim->sides.depth = INFINITY; /* not known */
    memset(sim->state.memory, 0, ((size_t)sim->work.s_size + 1) * sizeof *sim->state.memory);
    if (model->body_count > 0) {
        memset(sim->work.extra, 0, 6 * model->body_count * sizeof *sim->work.extra);
    }
    if (model->joint_count > 0) {
        memset(sim->state.joint, 0, model->joint_count * sizeof *sim->state.joint);
        memset(sim->work.effort, 0, model->joint_count * sizeof *sim->work.effort);
    }
    if (sim->v_solved != NULL) {
        memset(sim->v_solved, 0, (size_t)sim->work.v_size * sizeof *sim->v_solved);
    }
    if (sim->adaptive) {
        sim->halves.h_next = sim->def.step;
        perpi_adaptive_clock(sim);
        perpi_adaptive_clear(sim);
    }
    perpi_sim_edit_forget(sim);
    perpi_sim_initial_state(sim);
    const perp_status status = perpi_sim_start(sim);
    perpi_measures_begin(sim);
    return status;
}

static void copy_numbers(double* to, const double* from, int32_t count)
{
    if (to != NULL && from != NULL && count > 0) {
        memcpy(to, from, (size_t)count * sizeof *to);
    }
}

/* State that is not part of a snapshot. */
static perp_status copy_rest(const perp_sim* sim, perp_sim* c)
{
    const perp_model* model = sim->model;
    c->state.tick = sim->state.tick;
    c->state.h_last = sim->state.h_last;
    *c->info = *sim->info;
    c->ledger_total = sim->ledger_total;
    c->user.announced = sim->user.announced;
    c->work.has_extra = sim->work.has_extra;
    c->sides.depth = sim->sides.depth;
    copy_numbers(c->work.extra, sim->work.extra, 6 * (int32_t)model->body_count);
    copy_numbers(c->work.effort, sim->work.effort, (int32_t)model->joint_count);
    copy_numbers(c->v_solved, sim->v_solved, sim->work.v_size);
    copy_numbers(c->halves.q_half, sim->halves.q_half, sim->work.q_size);
    copy_numbers(c->halves.v_half, sim->halves.v_half, sim->work.v_size);
    copy_numbers(c->halves.s_half, sim->halves.s_half, sim->work.s_size);
    copy_numbers(c->halves.v_end, sim->halves.v_end, sim->work.v_size);
    perpi_edit edit = sim->edit;
    edit.moved = NULL;
    c->edit = edit;
    perp_status status = PERP_OK;
    if (sim->edit.moved != NULL) {
        status = perpi_sim_edit_room(c);
        for (size_t i = 0; status == PERP_OK && i < model->body_count; ++i) {
            c->edit.moved[i] = sim->edit.moved[i];
        }
    }
    c->user.on_step = sim->user.on_step;
    c->user.on_step_user = sim->user.on_step_user;
    c->work.on_fallback = sim->work.on_fallback;
    c->work.on_fallback_user = sim->work.on_fallback_user;
    c->work.cancel = sim->work.cancel;
    c->work.cancel_user = sim->work.cancel_user;
    for (size_t i = 0; status == PERP_OK && i < sim->user.callback_count; ++i) {
        status = perp_sim_add_on_step(c, sim->user.callback[i].fn, sim->user.callback[i].user);
    }
    return status == PERP_OK ? perp_sim_set_user_code(c, sim->user.code) : status;
}

static perp_status copy_state(const perp_sim* sim, perp_sim* c)
{
    size_t size = 0;
    void* buffer = NULL;
    perp_status status = perp_sim_save(sim, NULL, &size);
    if (status == PERP_OK) {
        status = perpi_alloc(c->context, size, 1, &buffer);
    }
    if (status == PERP_OK) {
        status = perp_sim_save(sim, buffer, &size);
    }
    if (status == PERP_OK) {
        status = perp_sim_restore(c, buffer, size);
    }
    perpi_free(c->context, buffer);
    return status;
}

perp_status perp_sim_clone(const perp_sim* sim, perp_context* context, perp_sim** clone)
{
    perp_sim* c = NULL;
    perp_status status = perpi_sim_create_quietly(context != NULL ? context : sim->context,
                                                  sim->built, &sim->asked, &c);
    if (status != PERP_OK) {
        return status;
    }
    status = perpi_collider_find_reach(c->work.collider, sim->work.collider);
    if (status == PERP_OK) {
        status = perpi_sim_tune_like(c, sim);
    }
    if (status == PERP_OK) {
        status = copy_state(sim, c);
    }
    if (status == PERP_OK) {
        status = copy_rest(sim, c);
    }
    if (status != PERP_OK) {
        perp_sim_destroy(c);
        return status;
    }
    *clone = c;
    return PERP_OK;
}
