/* src/sim/gradient_rolling.c - whether the gradient depends on the case of the rule where contacts
 * roll exactly.
 *
 * Where contacts roll exactly two cases of the rule of their slip meet, whose derivatives by the
 * state differ; but all states of the run roll, so that the gradient hardly depends on the case.
 * Beside the adjoint a second one is carried with the other case: if both give the same gradient,
 * these steps are not flagged. The equations of the active set are the same in both cases, so that
 * a step costs one more solution with its factors.
 */
#include <string.h>

#include "sim/gradient_motion.h"

static bool rolls_exactly(const perpi_gradient_work* g)
{
    return (perpi_linear_step_report(g->linear)->flags & PERPI_LINEAR_ROLLS) != 0;
}

static perp_status allocate(perpi_gradient_work* g)
{
    perpi_roll_other* r = &g->roll;
    const size_t n = (size_t)g->size.total;
    perp_status status = perpi_alloc(g->context, 2 * n + (size_t)g->in->parameter_count + 1,
                                     sizeof *r->room, &r->room);
    if (status == PERP_OK && g->light_room != NULL) {
        status = perpi_alloc(g->context, perpi_gradient_light_size(g->model), sizeof *r->light_room,
                             &r->light_room);
    }
    if (status == PERP_OK) {
        r->y = r->room;
        r->y_next = r->y + n;
        r->off = r->y_next + n;
    }
    return status;
}

/* Until the first step that rolls exactly both adjoints are the same. */
static void copy_own(perpi_gradient_work* g, int32_t contacts)
{
    perpi_roll_other* r = &g->roll;
    memcpy(r->y_next, g->y_next, (size_t)g->size.total * sizeof *r->y_next);
    memcpy(r->memory[0], g->memory[0], 3 * (size_t)contacts * sizeof *r->memory[0]);
    if (r->light_room != NULL) {
        memcpy(r->light_room, g->light_room,
               perpi_gradient_light_size(g->model) * sizeof *r->light_room);
        r->light = perpi_gradient_light(g->model, r->light_room);
    }
}

perp_status perpi_roll_begin(perpi_gradient_work* g, int32_t contacts, int32_t contacts_before)
{
    perpi_roll_other* r = &g->roll;
    if (!r->begun && !rolls_exactly(g)) {
        return PERP_OK;
    }
    const size_t most = (size_t)(contacts > contacts_before ? contacts : contacts_before);
    perp_status status = PERP_OK;
    for (int i = 0; status == PERP_OK && i < 2; ++i) {
        status = perpi_grow(g->context, &r->memory[i], &r->memory_capacity[i], 3 * most + 1,
                            sizeof *r->memory[i]);
    }
    if (status == PERP_OK && !r->begun) {
        status = allocate(g);
        if (status == PERP_OK) {
            copy_own(g, contacts);
            r->begun = true;
        }
    }
    if (status == PERP_OK) {
        memset(r->memory[1], 0, 3 * (size_t)contacts_before * sizeof *r->memory[1]);
    }
    return status;
}

void perpi_roll_back(perpi_gradient_work* g, double* multiplier)
{
    perpi_roll_other* r = &g->roll;
    if (!r->begun || r->failed) {
        return;
    }
    const perpi_linear_report report = *perpi_linear_step_report(g->linear);
    if (rolls_exactly(g)) {
        perpi_linear_step_roll_otherwise(g->linear);
    }
    perpi_linear_step_memory(g->linear, r->memory[1], r->memory[0]);
    perp_status status = perpi_linear_step_adjoint(g->linear, r->y_next, r->y, multiplier);
    if (status == PERP_OK && g->in->light_count > 0) {
        perpi_linear_step_light(g->linear, multiplier, &r->light);
    }
    if (status == PERP_OK) {
        perpi_motions_contract(g->motions, multiplier);
    }
    for (int32_t i = 0; status == PERP_OK && i < g->in->parameter_count; ++i) {
        if (perpi_gradient_enters(g, &g->in->parameter[i])) {
            double sum = 0.0;
            status = perpi_gradient_product(g, i, multiplier, &sum);
            r->off[i] += sum;
        }
    }
    r->failed = status != PERP_OK;
    double* const memory = r->memory[0];
    const size_t capacity = r->memory_capacity[0];
    r->memory[0] = r->memory[1];
    r->memory_capacity[0] = r->memory_capacity[1];
    r->memory[1] = memory;
    r->memory_capacity[1] = capacity;
    perpi_linear_step_set_report(g->linear, &report);
}

void perpi_roll_sample(perpi_gradient_work* g, double sign)
{
    perpi_roll_other* r = &g->roll;
    for (int32_t i = 0; r->begun && i < g->size.total; ++i) {
        r->y[i] += sign * g->y[i];
    }
    if (r->begun && sign > 0.0) {
        double* const next = r->y_next;
        r->y_next = r->y;
        r->y = next;
    }
}

/* r->y_next has the derivatives by the start: it was exchanged at the last sample. */
static bool gives_the_same(const perpi_gradient_work* g)
{
    static const double SAME_ROLLING = 1e-7; /* relative to the largest derivative */
    const perpi_roll_other* r = &g->roll;
    const int32_t n = g->in->parameter_count;
    double size = 0.0, off = 0.0;
    if (r->failed || n == 0) {
        return !r->failed && perpi_gradient_same(g->y, r->y_next, g->size.total);
    }
    for (int32_t i = 0; i < g->in->light_count; ++i) {
        const perpi_light_number* x = &g->in->light[i];
        r->off[x->parameter] += x->value * (perpi_gradient_light_at(&r->light, x) -
                                            perpi_gradient_light_at(&g->light, x));
    }
    for (int32_t i = 0; i < n; ++i) {
        const double* start = g->in->parameter[i].start;
        r->off[i] += perpi_gradient_dot(g->size.total, r->y_next, start) -
                     perpi_gradient_dot(g->size.total, g->y, start);
        size = perpi_larger(size, fabs(g->gradient[i]));
        off = perpi_larger(off, fabs(r->off[i]));
    }
    return off <= SAME_ROLLING * size;
}

void perpi_roll_finish(perpi_gradient_work* g)
{
    if (g->roll.begun && g->rolls > 0 && gives_the_same(g)) {
        g->flags->flagged -= g->rolls;
        g->flags->choice -= g->rolls;
        g->flags->immaterial += g->rolls;
        g->flags->first_time = g->first_other;
    }
}

void perpi_roll_free(perpi_gradient_work* g)
{
    void* const owned[] = {g->roll.room, g->roll.light_room, g->roll.memory[0], g->roll.memory[1]};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; ++i) {
        perpi_free(g->context, owned[i]);
    }
}
