/* src/sim/gradient_along.c - derivatives of many outputs along one run: see gradient.h. */
#include <string.h>

#include "sim/gradient_quantity.h"
#include "sim/gradient_run.h"

struct perpi_along {
    perpi_gradient_work g;
    perpi_gradient_input in;
    perp_gradient_flags flags;
    perp_step_info* info; /* per state */
    size_t info_capacity;
};

perp_status perpi_along_create(perp_sim* sim, const perpi_gradient_input* in, perpi_along** out)
{
    perpi_along* a = NULL;
    perp_status status = perpi_gradient_check_sim(sim);
    if (status == PERP_OK && sim->adaptive) {
        status = perpi_fail(sim->context, PERP_ERROR_UNSUPPORTED,
                            "gradient: adaptive steps have no forward derivative");
    }
    if (status == PERP_OK) {
        status = perpi_alloc(sim->context, 1, sizeof *a, &a);
    }
    if (status != PERP_OK) {
        return status;
    }
    a->in = *in;
    a->in.mode = PERP_GRADIENT_FORWARD;
    a->in.checkpoints = false;
    a->g = (perpi_gradient_work){.sim = sim,
                                 .context = sim->context,
                                 .model = sim->model,
                                 .in = &a->in,
                                 .size = perpi_linear_size_of(sim->model),
                                 .flags = &a->flags};
    perpi_tape_begin(&a->g.tape, sim);
    perpi_tape_begin(&a->g.without, sim);
    status = perpi_gradient_allocate(&a->g);
    if (status != PERP_OK) {
        perpi_along_destroy(a);
        return status;
    }
    *out = a;
    return PERP_OK;
}

void perpi_along_destroy(perpi_along* a)
{
    if (a == NULL) {
        return;
    }
    perpi_free(a->g.context, a->info);
    perpi_gradient_free(&a->g);
    perpi_free(a->g.context, a);
}

/* The state just reached, with what its step reports. */
static perp_status keep_state(perpi_along* a)
{
    perpi_gradient_work* g = &a->g;
    const size_t count = (size_t)g->count;
    perp_status status =
        perpi_grow(g->context, &g->time, &g->time_capacity, count + 1, sizeof *g->time);
    if (status == PERP_OK) {
        status = perpi_grow(g->context, &a->info, &a->info_capacity, count + 1, sizeof *a->info);
    }
    if (status == PERP_OK) {
        status = perpi_tape_push(&g->tape, g->sim);
    }
    if (status == PERP_OK) {
        g->time[count] = g->sim->state.time;
        a->info[count] = count > 0 ? *g->sim->info : (perp_step_info){0};
        g->count += 1;
    }
    return status;
}

static perp_status run_until(perpi_along* a, double until)
{
    perpi_gradient_work* g = &a->g;
    perp_sim* sim = g->sim;
    g->count = 0;
    g->tape.count = g->tape.contact_used = 0;
    g->without.count = g->without.contact_used = 0;
    sim->without = sim->work.offset_at >= 0 ? &g->without : NULL;
    perp_status status = keep_state(a);
    while (status == PERP_OK && sim->state.time < until && !perp_sim_finished(sim)) {
        status = perp_sim_step(sim);
        if (status == PERP_OK) {
            status = keep_state(a);
        }
    }
    sim->without = NULL;
    return status;
}

perp_status perpi_along_run(perpi_along* a, double until, bool derivatives, perpi_along_fn fn,
                            void* user, perp_gradient_flags* flags)
{
    perpi_gradient_work* g = &a->g;
    bool more = true;
    a->flags = (perp_gradient_flags){.margin = INFINITY, .margin_time = NAN, .first_time = NAN};
    perp_status status = run_until(a, until);
    if (status == PERP_OK && derivatives) {
        perpi_gradient_begin_forward(g);
    }
    for (int64_t k = 0; status == PERP_OK && more && k < g->count; ++k) {
        const int64_t flagged = a->flags.flagged;
        if (k > 0 && derivatives) {
            status = perpi_gradient_step_forward(g, (size_t)k);
            a->flags.steps += 1;
        }
        if (status != PERP_OK) {
            break;
        }
        const perpi_along_state state = {.time = g->time[k],
                                         .q = perpi_tape_q(&g->tape, (size_t)k),
                                         .v = perpi_tape_v(&g->tape, (size_t)k),
                                         .tangent = derivatives ? g->forward : NULL,
                                         .stride = g->size.total,
                                         .at = g->size,
                                         .parameter_count = g->in->parameter_count,
                                         .flagged = a->flags.flagged > flagged,
                                         .info = a->info[k],
                                         .run = a,
                                         .frame = (size_t)k};
        more = fn(user, &state);
    }
    if (flags != NULL) {
        *flags = a->flags;
    }
    return status;
}

void perpi_along_quantity(const perpi_along_state* state, const perp_quantity* quantity,
                          double* value, double* derivative)
{
    perpi_gradient_work* g = &state->run->g;
    const perpi_view view = perpi_gradient_view(g, state->frame);
    *value = perpi_quantity_at(&view, quantity);
    if (derivative == NULL) {
        return;
    }
    memset(g->y, 0, (size_t)g->size.total * sizeof *g->y);
    perpi_quantity_differentiate(&view, quantity, 1.0, g->q, g->v, g->y);
    for (int32_t i = 0; i < g->in->parameter_count; ++i) {
        derivative[i] =
            perpi_gradient_dot(g->size.total, g->y, g->forward + (size_t)i * (size_t)g->size.total);
    }
    perpi_gradient_add_quantity(g, &view, quantity, 1.0, derivative);
}
