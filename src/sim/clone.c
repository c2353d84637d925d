/* src/sim/clone.c - back to the start, and an independent copy. */
#include <string.h>

#include "perp/set.h"
#include "sim/internal.h"

perp_status perp_sim_reset(perp_sim* sim)
{
    const perp_model* model = sim->model;
    sim->contacts.count = 0;
    sim->contacts.groups = 0;
    sim->time = 0.0;
    sim->step = 0;
    sim->tick = 0;
    sim->has_extra = false;
    sim->announced = false;
    sim->has_problem = false;
    sim->info = (perp_step_info){0};
    sim->ledger_total = (perp_ledger){0};
    sim->sides.depth = INFINITY; /* not known */
    memset(sim->s, 0, ((size_t)sim->s_size + 1) * sizeof *sim->s);
    if (model->body_count > 0) {
        memset(sim->extra, 0, 6 * model->body_count * sizeof *sim->extra);
    }
    if (model->joint_count > 0) {
        memset(sim->joint, 0, model->joint_count * sizeof *sim->joint);
        memset(sim->effort, 0, model->joint_count * sizeof *sim->effort);
    }
    if (sim->v_solved != NULL) {
        memset(sim->v_solved, 0, (size_t)sim->v_size * sizeof *sim->v_solved);
    }
    if (sim->adaptive) {
        sim->halves.h_next = sim->def.step;
        sim->halves.h_last = 1.0;
        perpi_sim_adaptive_clock(sim);
        perpi_sim_adaptive_clear(sim);
    }
    perpi_sim_edit_forget(sim);
    perpi_sim_initial_state(sim);
    return perpi_sim_start(sim);
}

static void copy_numbers(double* to, const double* from, int32_t count)
{
    if (to != NULL && from != NULL && count > 0) {
        memcpy(to, from, (size_t)count * sizeof *to);
    }
}

/* What a snapshot leaves out. */
static perp_status copy_rest(const perp_sim* sim, perp_sim* c)
{
    const perp_model* model = sim->model;
    c->tick = sim->tick;
    c->info = sim->info;
    c->ledger_total = sim->ledger_total;
    c->announced = sim->announced;
    c->has_extra = sim->has_extra;
    c->sides.depth = sim->sides.depth;
    copy_numbers(c->extra, sim->extra, 6 * (int32_t)model->body_count);
    copy_numbers(c->effort, sim->effort, (int32_t)model->joint_count);
    copy_numbers(c->v_solved, sim->v_solved, sim->v_size);
    copy_numbers(c->halves.q_half, sim->halves.q_half, sim->q_size);
    copy_numbers(c->halves.v_half, sim->halves.v_half, sim->v_size);
    copy_numbers(c->halves.s_half, sim->halves.s_half, sim->s_size);
    copy_numbers(c->halves.v_end, sim->halves.v_end, sim->v_size);
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
    c->on_step = sim->on_step;
    c->on_step_user = sim->on_step_user;
    c->on_fallback = sim->on_fallback;
    c->on_fallback_user = sim->on_fallback_user;
    c->cancel = sim->cancel;
    c->cancel_user = sim->cancel_user;
    for (size_t i = 0; status == PERP_OK && i < sim->callback_count; ++i) {
        status = perp_sim_add_on_step(c, sim->callback[i].fn, sim->callback[i].user);
    }
    return status == PERP_OK ? perp_sim_set_user_code(c, sim->user_code) : status;
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
    status = perpi_sim_tune_like(c, sim);
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
