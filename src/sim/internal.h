/* src/sim/internal.h - the inside of a simulation, shared by the files of this room. */
#ifndef PERPI_SIM_INTERNAL_H
#define PERPI_SIM_INTERNAL_H

#include "base/arena.h"
#include "collide/collide.h"
#include "contact/contact.h"
#include "sim/mix.h"
#include "sim/sim.h"
#include "step/step.h"

typedef struct perpi_step_callback {
    perp_step_fn fn;
    void* user;
} perpi_step_callback;

struct perp_sim {
    perp_context* context;
    const perp_model* model;
    perp_sim_def def; /* strings and options are not kept beyond create */
    const perpi_stepper_ops* stepper;
    perpi_step_settings step_settings;
    const perpi_contact_model_ops* contact_model;
    perpi_contact_rules rules;
    perp_contact_solver* solver;
    perpi_collider* collider;
    perpi_formulation* formulation;

    int64_t step; /* steps done */
    int64_t step_total;
    double time;
    int32_t q_size, v_size;
    double *q, *v;
    double *q_next, *v_next; /* a step is worked out here, then taken over whole */
    int32_t s_size;
    double *s, *s_next; /* what springs and controllers remember (force_rows.h) */
    perpi_pose* pose;   /* per body */
    double* margin;     /* per body */
    perpi_turn* turn;   /* per body: how far it turns in the step; see margin.c */
    int32_t spins;      /* of each of these */
    double* extra;      /* 6 a body: wrenches applied for the coming step */
    bool has_extra;

    perp_joint_record* joint;      /* per joint, after the last step: state and warm start */
    perp_joint_record* joint_next; /* of the step being worked out */
    perpi_joint_input* input;      /* per joint, for the step being worked out */
    double* effort;                /* per joint: added for the coming step */
    double* v_solved;              /* of the last step, before velocities were projected; NULL if
                                      they never are */
    double* v_end;                 /* where a step that settles has got to; NULL if none does */
    double* settled;               /* the best of it: velocities, impulses */
    double* basis;                 /* scratch of perpi_sim_freedom */
    size_t settled_capacity, basis_capacity;
    perpi_formulation* project; /* the projection's, with its solver; NULL likewise */
    perp_contact_solver* project_solver;
    perpi_contact_list closed;
    double* keep; /* of the correction: velocities, impulses, b */
    size_t keep_capacity;

    perpi_touch_exception* exception; /* pairs that fell back in the step being worked out */
    size_t exception_count, exception_capacity;
    perp_fallback_fn on_fallback;
    void* on_fallback_user;

    perpi_contact_list contacts; /* of the last step: the warm start of the next */
    perpi_contact_list next;     /* of the step being worked out */
    perpi_contact_list looked;   /* the round before, of steppers that collide at the end */
    perpi_mix mix;               /* of these rounds */
    double* v_looked;            /* the velocities they were formulated at */
    double* judged;              /* scratch of the judge */
    size_t judged_capacity;
    double *v_problem, *p_problem;
    size_t v_capacity, p_capacity;
    bool has_problem;

    perpi_arena scratch; /* of questions, not of steps */

    perp_step_info info;
    perp_step_fn on_step;
    void* on_step_user;
    perpi_step_callback* callback; /* after on_step, in order */
    size_t callback_count, callback_capacity;
    char* user_code; /* NULL: none */
    bool (*cancel)(void* user);
    void* cancel_user;
};

/* Poses of all bodies from sim->q. */
void perpi_sim_poses(perp_sim* sim);
/* Room for the problem's velocities and impulses. */
PERP_NODISCARD perp_status perpi_sim_room(perp_sim* sim, size_t dofs, size_t rows);

/* How deep the soft layers between two bodies go: overlap up to there is none. */
double perpi_sim_give(const perp_sim* sim, int32_t a, int32_t b);

/* start.c: refuses or resolves bodies that overlap at the start. */
PERP_NODISCARD perp_status perpi_sim_start(perp_sim* sim);
/* joint.c: what the joints bring into the coming step. */
void perpi_sim_joint_input(perp_sim* sim);
/* Coordinates and errors of the records at a state; returns the largest errors. */
void perpi_sim_joint_measure(const perp_sim* sim, const double* q, perp_joint_record* record,
                             double error[2]);
/* correct.c: poses and velocities at the end of a step to the nearest that joints and contacts
 * allow. moves: counts solves that moved poses. */
PERP_NODISCARD perp_status perpi_sim_project(perp_sim* sim, double h, perp_report* report,
                                             int32_t* moves);
/* Errors of joints, relative to their size: a correction ends at the first, or at the second once
 * it makes no more progress. */
#define PERPI_CORRECTION_GOAL 1e-13
#define PERPI_CORRECTION_ENOUGH 1e-11
/* settle.c: for a stepper that settles: velocities and impulses of which the formulated problem ends
 * where it starts, into v_problem and p_problem. Whether it got there is report->outcome. */
PERP_NODISCARD perp_status perpi_sim_settle(perp_sim* sim, const perpi_step_input* in,
                                            perp_contact_residual* residual, perp_report* report);
/* freedom.c: in how many directions the bodies could move besides, at the solution at hand and with
 * forces alone; -1: more bodies than it looks at. */
PERP_NODISCARD perp_status perpi_sim_freedom(perp_sim* sim, int32_t* freedom);
/* margin.c: how far each body may come in a step. */
PERP_NODISCARD perp_status perpi_sim_margins(perp_sim* sim, double h);
/* Whether a body came further than its margin; raises the margins of those that did. */
bool perpi_sim_margins_exceeded(perp_sim* sim, double h, const double* v_new);

#endif
