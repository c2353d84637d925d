/* src/sim/tape.c - see tape.h. */
#include "sim/tape.h"

#include <string.h>

#include "step/linear_step.h"

void perpi_tape_begin(perpi_tape* tape, const perp_sim* sim)
{
    tape->context = sim->context;
    tape->q_size = sim->work.q_size;
    tape->v_size = sim->work.v_size;
    tape->s_size = sim->work.s_size;
    tape->joint_count = (int32_t)sim->model->joint_count;
    tape->count = tape->contact_used = 0;
}

void perpi_tape_free(perpi_tape* tape)
{
    void* const owned[] = {tape->frame, tape->number, tape->joint, tape->contact};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; ++i) {
        perpi_free(tape->context, owned[i]);
    }
}

perp_status perpi_tape_reserve(perpi_tape* t, size_t frames)
{
    const size_t stride = (size_t)(t->q_size + 2 * t->v_size + t->s_size);
    perp_status status =
        perpi_grow(t->context, &t->frame, &t->frame_capacity, frames, sizeof *t->frame);
    if (status == PERP_OK) {
        status = perpi_grow(t->context, &t->number, &t->number_capacity, frames * stride,
                            sizeof *t->number);
    }
    return status != PERP_OK ? status
                             : perpi_grow(t->context, &t->joint, &t->joint_capacity,
                                          frames * (size_t)t->joint_count, sizeof *t->joint);
}

/* What the step reports of laws that were not the scene's. */
static unsigned flags_of(const perp_step_info* info)
{
    const bool other = info->fallbacks > 0 || info->crossings > 0 || info->joints_kept > 0 ||
                       info->semi_implicit > 0 || info->accepted_unsolved || info->corrections != 0;
    return other ? PERPI_LINEAR_FALLBACK : 0;
}

perp_status perpi_tape_push(perpi_tape* t, const perp_sim* sim)
{
    const perpi_state* s = &sim->state;
    const size_t i = t->count, contacts = s->contacts.count;
    perp_status status = perpi_tape_reserve(t, i + 1);
    if (status == PERP_OK) {
        status = perpi_grow(t->context, &t->contact, &t->contact_capacity,
                            t->contact_used + contacts, sizeof *t->contact);
    }
    if (status != PERP_OK) {
        return status;
    }
    const bool first = s->step == 0;
    t->frame[i] = (perpi_tape_frame){.time = s->time,
                                     .h = first || s->after_impact ? 0.0 : s->h_last,
                                     .tick = s->tick,
                                     .kind = sim->info.kind,
                                     .flags = first ? 0 : flags_of(&sim->info),
                                     .contact = t->contact_used,
                                     .contact_count = (int32_t)contacts};
    double* to = t->number + i * (size_t)(t->q_size + 2 * t->v_size + t->s_size);
    const double* const from[] = {s->q, s->v, s->memory,
                                  sim->v_solved != NULL ? sim->v_solved : s->v};
    const int32_t size[] = {t->q_size, t->v_size, t->s_size, t->v_size};
    for (int k = 0; k < 4; ++k) {
        if (size[k] > 0) {
            memcpy(to, from[k], (size_t)size[k] * sizeof *to);
            to += size[k];
        }
    }
    if (t->joint_count > 0) {
        memcpy(t->joint + i * (size_t)t->joint_count, s->joint,
               (size_t)t->joint_count * sizeof *t->joint);
    }
    if (contacts > 0) {
        memcpy(t->contact + t->contact_used, s->contacts.item, contacts * sizeof *t->contact);
    }
    t->contact_used += contacts;
    t->count += 1;
    return PERP_OK;
}
