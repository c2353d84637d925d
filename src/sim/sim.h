/* src/sim/sim.h - the interface of the simulation for other modules (record, scene). */
#ifndef PERPI_SIM_H
#define PERPI_SIM_H

#include "perp/query.h"
#include "perp/sim.h"
#include "step/step.h"

/* The requested definition, and the model that the simulation was created with. */
const perp_sim_def* perpi_sim_asked(const perp_sim* sim);
const perp_model* perpi_sim_built_model(const perp_sim* sim);
/* Changes by the caller, for recordings: how often the state was set, whether it was since the
 * start or the last restored state, whether parameters differ from the model's. */
typedef struct perpi_edit_marks {
    int64_t states, changes;
    bool since_start, parameters;
} perpi_edit_marks;
perpi_edit_marks perpi_sim_edit_marks(const perp_sim* sim);
/* A state as a snapshot or a recorded frame has it. */
typedef struct perpi_saved {
    double time;
    int64_t step;
    perp_step_kind kind; /* of the step that led there */
    int32_t impacts_in_a_row;
    const double* clock; /* 3 numbers, of an adaptive step; else NULL */
    const double *q, *v, *memory;
    const perp_contact* contact; /* keys and impulses are the warm start */
    int32_t contact_count;
    const perp_joint_record* joint; /* one for each joint of the model */
    const void* measure;  /* the measures so far: measure_size doubles, aligned or not; of other */
    int32_t measure_size; /* measures than the simulation's, or 0: they begin at this state */
} perpi_saved;
/* Sets the simulation to this state. Refuses numbers that are not finite. */
PERP_NODISCARD perp_status perpi_sim_set_state(perp_sim* sim, const perpi_saved* saved);
/* The memory of springs and controllers: part of the state. */
int32_t perpi_sim_s_size(const perp_sim* sim);
const double* perpi_sim_s(const perp_sim* sim);
/* Whether the velocities that solve a step may differ from those of the state it leads to; a recording
 * keeps both then. */
bool perpi_sim_has_v_solved(const perp_sim* sim);
/* The velocities that solved the last step; perp_sim_v if they never differ. */
const double* perpi_sim_v_solved(const perp_sim* sim);
/* The stepper's settings, the scene's default friction cone included. */
const perpi_step_settings* perpi_sim_step_settings(const perp_sim* sim);
/* Per joint: it is part of a closed loop (step/repair.h). */
const bool* perpi_sim_loops(const perp_sim* sim);
/* The stepper that replaces the scene's in a step without a solution
 * (perp_step_info.semi_implicit); NULL: none. */
const perpi_stepper_ops* perpi_sim_second_stepper(const perp_sim* sim);
/* Whether a step may be replaced so, or keep the errors of joints (perp_step_info.joints_kept). */
bool perpi_sim_falls_back(const perp_sim* sim);
/* Whether some bodies may have middle steps beside others with steps of the start (perp_contact.middle). */
bool perpi_sim_has_parts(const perp_sim* sim);
/* Whether contacts have soft layers (perp_contact.layer). */
bool perpi_sim_layered(const perp_sim* sim);
/* Whether the contact model makes groups of contacts. */
bool perpi_sim_grouped(const perp_sim* sim);
/* Fixed steps: the length of step number `tick`, counted without impacts, from 0 (the last two
 * may differ from the others, see schedule.c); the time at which it starts; and the number of
 * the step that starts at a time. */
double perpi_sim_tick_length(const perp_sim* sim, int64_t tick);
double perpi_sim_tick_time(const perp_sim* sim, int64_t tick);
int64_t perpi_sim_tick_at(const perp_sim* sim, double time);
/* The length of the fixed step that ends at `time`, of a run of `duration` by steps of h; 0 at the start. */
double perpi_step_ending_at(double duration, double h, double time);
/* The length of the last step in time; 1 before the first. */
double perpi_sim_last_length(const perp_sim* sim);
/* The scene's step. */
double perpi_sim_nominal_step(const perp_sim* sim);
/* An adaptive step: its clock (length to try next, last length, steps without impacts), and the
 * input of its second half: state and memory at its start, velocities that solved it. */
bool perpi_sim_adaptive(const perp_sim* sim);
/* For a step of length h where h_next was the length to try: the factor of h within which its
 * joint errors are closed (perpi_joint_input.ease). */
double perpi_adaptive_ease(const perp_sim* sim, double h_next, double h);
const double* perpi_sim_clock(const perp_sim* sim);
typedef struct perpi_half {
    const double *q, *v, *s, *v_end;
} perpi_half;
perpi_half perpi_sim_half(const perp_sim* sim);
/* Sum over the bodies of weight times (size + distance from the origin): scale of the rounding
 * of the potential energy. */
double perpi_weight_scale(const perp_model* model, const double* q);
/* Momenta of the dynamic bodies at a state, as perp_sim_momentum. */
void perpi_momentum_of(const perp_model* model, const double* q, const double* v, double linear[3],
                       double angular[3]);
/* perp_sim_distance at any state q. */
PERP_NODISCARD perp_status perpi_sim_distance(perp_sim* sim, const double* q, int32_t a, int32_t b,
                                              perp_distance* distance);
/* The time over which the impulses of the last step acted: adaptive, its second half; an impact, 0. */
double perpi_sim_impulse_time(const perp_sim* sim);
/* Effort of a joint from its record, whose impulses acted over `time`; 0 where that is 0. */
double perpi_joint_effort(const perp_joint_record* record, double time);
/* Whether masses, gravity and friction enter the equations of a step by their own terms alone: no
 * joint_correction, no feed-forward of gravity. */
bool perpi_sim_plain_numbers(const perp_sim* sim);
/* Whether steps may be impacts. */
bool perpi_sim_bounces(const perp_sim* sim);
/* How far the next step displaces the poses (state.c): the last part of the state's memory.
 * NULL: impacts have no times (adaptive steps), or restitution is 0. */
const double* perpi_sim_offset(const perp_sim* sim);

#endif
