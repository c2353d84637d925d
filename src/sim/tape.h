/* src/sim/tape.h - the states of a run, one after the other, with the solutions of their steps. */
#ifndef PERPI_SIM_TAPE_H
#define PERPI_SIM_TAPE_H

#include "sim/internal.h"

/* What a frame is: a state of the run; or of an adaptive step the ends of the whole step, of its
 * first half and of its second half, before the state that is extrapolated from them. */
typedef enum perpi_tape_role {
    PERPI_TAPE_STATE = 0,
    PERPI_TAPE_WHOLE,
    PERPI_TAPE_HALF,
    PERPI_TAPE_SECOND,
    PERPI_TAPE_WITHOUT, /* of a step without the contacts of the impact before it (fixed.c) */
} perpi_tape_role;

typedef struct perpi_tape_frame {
    perpi_tape_role role;
    double time, h;     /* h: of the step that led there; 0 of the first and of impacts */
    double ease;        /* of the joints in parts of adaptive steps; else 0 */
    int64_t tick, step; /* step: steps and impacts up to the state */
    perp_step_kind kind;
    bool middle;    /* a middle step (step/middle.c) of a run whose joints have them */
    bool rolls;     /* a middle step of a rolling body (step/roll.c); middle, too */
    unsigned flags; /* perpi_linear_flag: what the step itself reports */
    size_t contact;
    int32_t contact_count;
} perpi_tape_frame;

typedef struct perpi_tape {
    perp_context* context;
    int32_t q_size, v_size, s_size, joint_count;
    perpi_tape_frame* frame;
    double* number; /* a frame: q, v, s, v_solved */
    perp_joint_record* joint;
    perp_contact* contact;
    size_t count, contact_used;
    size_t frame_capacity, number_capacity, joint_capacity, contact_capacity;
} perpi_tape;

void perpi_tape_begin(perpi_tape* tape, const perp_sim* sim);
void perpi_tape_free(perpi_tape* tape);
/* Room for so many frames in total. */
PERP_NODISCARD perp_status perpi_tape_reserve(perpi_tape* tape, size_t frames);
/* Appends the present state of the simulation; after an adaptive step, its parts before it. */
PERP_NODISCARD perp_status perpi_tape_push(perpi_tape* tape, const perp_sim* sim);

/* Appends the trial, which is not taken, of the step that follows the present state. */
PERP_NODISCARD perp_status perpi_tape_push_trial(perpi_tape* tape, const perp_sim* sim);
/* The frame of a step by its number; NULL: none. Steps ascend. */
const perpi_tape_frame* perpi_tape_find(const perpi_tape* tape, int64_t step);

static inline const double* perpi_tape_q(const perpi_tape* t, size_t i)
{
    return t->number + i * (size_t)(t->q_size + 2 * t->v_size + t->s_size);
}
static inline const double* perpi_tape_v(const perpi_tape* t, size_t i)
{
    return perpi_tape_q(t, i) + t->q_size;
}
static inline const double* perpi_tape_s(const perpi_tape* t, size_t i)
{
    return perpi_tape_v(t, i) + t->v_size;
}
static inline const double* perpi_tape_v_solved(const perpi_tape* t, size_t i)
{
    return perpi_tape_s(t, i) + t->s_size;
}
static inline const perp_joint_record* perpi_tape_joint(const perpi_tape* t, size_t i)
{
    return t->joint + i * (size_t)t->joint_count;
}
static inline const perp_contact* perpi_tape_contact(const perpi_tape* t, size_t i)
{
    return t->contact + t->frame[i].contact;
}

#endif
