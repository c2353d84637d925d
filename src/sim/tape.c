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
static unsigned flags_of(const perp_step_info* info, bool middle)
{
    const bool other = info->fallbacks > 0 || info->crossings > 0 || info->joints_kept > 0 ||
                       info->semi_implicit > 0 || info->accepted_unsolved ||
                       (info->corrections < 0 && !middle) || info->unsolved_impact > 0;
    return other ? PERPI_LINEAR_FALLBACK : 0;
}

/* A state and the solution of the step that led to it. */
typedef struct tape_source {
    const double *q, *v, *s, *v_solved;
    const perp_joint_record* joint;
    const perpi_contact_list* contacts;
} tape_source;

static perp_status push_frame(perpi_tape* t, const perpi_tape_frame* frame, const tape_source* from)
{
    const size_t i = t->count, contacts = from->contacts->count;
    perp_status status = perpi_tape_reserve(t, i + 1);
    if (status == PERP_OK) {
        status = perpi_grow(t->context, &t->contact, &t->contact_capacity,
                            t->contact_used + contacts, sizeof *t->contact);
    }
    if (status != PERP_OK) {
        return status;
    }
    t->frame[i] = *frame;
    t->frame[i].contact = t->contact_used;
    t->frame[i].contact_count = (int32_t)contacts;
    double* to = t->number + i * (size_t)(t->q_size + 2 * t->v_size + t->s_size);
    const double* const part[] = {from->q, from->v, from->s, from->v_solved};
    const int32_t size[] = {t->q_size, t->v_size, t->s_size, t->v_size};
    for (int k = 0; k < 4; ++k) {
        if (size[k] > 0) {
            memcpy(to, part[k], (size_t)size[k] * sizeof *to);
            to += size[k];
        }
    }
    if (t->joint_count > 0) {
        memcpy(t->joint + i * (size_t)t->joint_count, from->joint,
               (size_t)t->joint_count * sizeof *t->joint);
    }
    if (contacts > 0) {
        memcpy(t->contact + t->contact_used, from->contacts->item, contacts * sizeof *t->contact);
    }
    t->contact_used += contacts;
    t->count += 1;
    return PERP_OK;
}

/* The three steps that an adaptive step is extrapolated from; the state at its start is the last frame. */
static perp_status push_parts(perpi_tape* t, const perp_sim* sim)
{
    const perpi_adaptive* a = &sim->halves;
    const perpi_state *s = &sim->state, *whole = &a->whole.state, *half = &a->half.state;
    const bool solved = sim->v_solved != NULL;
    const double h = s->h_last, start = s->time - h;
    const unsigned flags =
        flags_of(a->whole.info, false) | flags_of(a->half.info, false) | flags_of(sim->info, false);
    perp_status status = push_frame(
        t,
        &(perpi_tape_frame){
            .role = PERPI_TAPE_WHOLE, .time = s->time, .h = h, .ease = a->ease, .flags = flags},
        &(tape_source){whole->q, whole->v, whole->memory, solved ? a->whole.v_solved : whole->v,
                       whole->joint, &whole->contacts});
    if (status == PERP_OK) {
        status = push_frame(
            t,
            &(perpi_tape_frame){
                .role = PERPI_TAPE_HALF, .time = start + 0.5 * h, .h = 0.5 * h, .ease = a->ease},
            &(tape_source){half->q, half->v, half->memory, solved ? a->half.v_solved : half->v,
                           half->joint, &half->contacts});
    }
    if (status == PERP_OK) {
        status = push_frame(
            t,
            &(perpi_tape_frame){
                .role = PERPI_TAPE_SECOND, .time = s->time, .h = 0.5 * h, .ease = a->ease},
            &(tape_source){a->q_plain, a->v_plain, a->s_plain, a->v_end, s->joint, &s->contacts});
    }
    return status;
}

perp_status perpi_tape_push(perpi_tape* t, const perp_sim* sim)
{
    const perpi_state* s = &sim->state;
    const bool first = s->step == 0;
    const bool rolls = !first && sim->info->corrections == PERPI_STEP_ROLLING;
    const bool middle = rolls || (!first && sim->work.settings.joint_middle &&
                                  sim->info->corrections == PERPI_STEP_MIDDLE);
    perp_status status = PERP_OK;
    if (sim->adaptive && !first && !s->after_impact) {
        status = push_parts(t, sim);
    }
    const perpi_tape_frame frame = {.role = PERPI_TAPE_STATE,
                                    .time = s->time,
                                    .h = first || s->after_impact ? 0.0 : s->h_last,
                                    .tick = s->tick,
                                    .step = s->step,
                                    .kind = first ? PERP_STEP_TIME : sim->info->kind,
                                    .middle = middle,
                                    .rolls = rolls,
                                    .flags = first ? 0 : flags_of(sim->info, middle)};
    return status != PERP_OK
               ? status
               : push_frame(t, &frame,
                            &(tape_source){s->q, s->v, s->memory,
                                           sim->v_solved != NULL ? sim->v_solved : s->v, s->joint,
                                           &s->contacts});
}

perp_status perpi_tape_push_trial(perpi_tape* t, const perp_sim* sim)
{
    const perpi_state* s = &sim->trial.state;
    const perpi_tape_frame frame = {.role = PERPI_TAPE_WITHOUT,
                                    .time = s->time,
                                    .h = s->h_last,
                                    .tick = s->tick,
                                    .step = sim->state.step + 1,
                                    .kind = PERP_STEP_TIME,
                                    .flags = flags_of(sim->trial.info, false)};
    if (t->count > 0 && t->frame[t->count - 1].step >= frame.step) { /* the step is tried again */
        t->count -= 1;
        t->contact_used = t->frame[t->count].contact;
    }
    return push_frame(t, &frame,
                      &(tape_source){s->q, s->v, s->memory,
                                     sim->trial.v_solved != NULL ? sim->trial.v_solved : s->v,
                                     s->joint, &s->contacts});
}

const perpi_tape_frame* perpi_tape_find(const perpi_tape* t, int64_t step)
{
    size_t low = 0, high = t->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (t->frame[middle].step < step) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < t->count && t->frame[low].step == step ? &t->frame[low] : NULL;
}
