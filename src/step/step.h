/* src/step/step.h - a step, and the steppers that compute it.
 *
 * A stepper owns its step: from the contacts that were found, solve() formulates the contact
 * problem, solves it (repeatedly, if the laws are those of the end of the step), and writes
 * velocities and impulses; advance() turns velocities at the end of the step into the next state.
 * `verify` uses formulate() alone to check recorded numbers. Nothing is kept between steps but the
 * state.
 */
#ifndef PERPI_STEP_H
#define PERPI_STEP_H

#include "collide/collide.h"
#include "perp/solve.h"
#include "step/anderson.h"
#include "step/formulate.h"
#include "step/joint_system.h"
#include "step/momentum.h"
#include "step/state.h"

typedef struct perpi_step perpi_step;

typedef struct perpi_stepper_ops {
    const char* name;
    const char* summary;
    /* Members of perpi_step_settings that a scene may set: {"type": name, ...}. */
    const perp_setting* setting;
    int32_t setting_count;
    /* Refuses models that it cannot step, with the reason; the message starts with the member at
     * fault ("friction/cone: ..."). NULL: accepts all. Incompatible steppers, contact models and
     * settings are in one table: src/sim/compatibility.c. */
    perp_status (*check)(perp_context* context, const perp_model* model,
                         const perpi_step_settings* settings);
    /* Properties. evaluation: what formulate takes from q_end and v_end. */
    perpi_evaluation evaluation;
    bool equilibrium_search; /* no inertia: forces alone balance */
    bool layered; /* contacts of soft bodies have layers (layers.h); else these are refused */
    bool
        touching; /* contacts enter the problem when they close (settings->closed_gap), not before */
    bool midway;  /* fixed steps take spin and rolling as at the middle of the step (rolling.c) */
    bool bounces;      /* impacts may come between its steps (sim/impact.c) */
    bool step_control; /* steps may be adaptive: the error of one is of second order in h */
    /* The problem of `in`, with q_end and v_end as the end of the step. */
    perp_status (*formulate)(perpi_formulation* f, const perpi_step_input* in);
    /* Computes the solution: velocities and impulses into step->v_problem and p_problem, and
     * from there into step->to. PERP_ERROR_SOLVE: there is none; the message says why. */
    perp_status (*solve)(perpi_step* step);
    /* q: in: at t, out: at t + h. v: in: the dynamic bodies' at t + h; out: the prescribed ones'
     * too. Of `in` only model, t, h, v and settings are used. */
    perp_status (*advance)(const perpi_step_input* in, double* q, double* v);
} perpi_stepper_ops;

/* The default settings with a scene's options; unknown ones are refused by name. */
PERP_NODISCARD perp_status perpi_stepper_settings(perp_context* context,
                                                  const perpi_stepper_ops* ops,
                                                  const perp_option* option, int32_t count,
                                                  perpi_step_settings* settings);

PERP_NODISCARD perp_status perpi_stepper_find(perp_context* context, const char* name,
                                              const perpi_stepper_ops** ops);
/* NULL: there is none of that name. */
const perpi_stepper_ops* perpi_stepper_named(const char* name);
bool perpi_stepper_at(int32_t index, const char** name, const perpi_stepper_ops** built);

/* ---- the step being computed -----------------------------------------------------------------------*/

/* Pairs of shapes that have a simpler contact model in this step. */
typedef struct perpi_exceptions {
    perpi_candidate_exception* item;
    size_t count, capacity;
} perpi_exceptions;

/* On which side of each other pairs were, for the collider. */
typedef struct perpi_pair_sides {
    perpi_candidate_side* item;
    size_t count, capacity;
} perpi_pair_sides;

/* Overlap that a step does not correct, because its contacts contradict each other. */
typedef struct perpi_kept_overlap {
    int32_t body_a, body_b; /* of these two bodies */
    bool any, all;          /* of all */
    double close;           /* with all: gaps below this part of a body's size are read as 0 */
    bool slow;              /* that of bodies which turn far is pushed out slowly */
    bool joints;            /* and the errors of the joints */
    bool smooth;            /* before that: their overlap is corrected without friction */
    double deepest;
} perpi_kept_overlap;

/* Workspace of the outer iteration (outer.c); empty for steppers without one. */
typedef struct perpi_outer {
    perpi_contact_list contacts; /* those of the iteration before */
    perpi_anderson anderson;
    double* v;     /* the velocities that the problem was formulated at */
    double* check; /* scratch of the residual check */
    size_t check_capacity;
    int32_t iterations; /* of the last attempt */
    int32_t spent;      /* of all attempts; an expensive one counts as several */
} perpi_outer;

/* Workspace of middle steps with contacts (roll.c); they use perpi_outer, too. */
typedef struct perpi_roll {
    perpi_contact_list start, middle, end; /* contacts at these poses */
    uint8_t* able;                         /* per body: 1: it may have middle steps */
    /* of scenes with several dynamic bodies; else NULL and empty */
    uint8_t* part; /* per body: its perpi_step_part in the problem being solved, and in the step */
    uint8_t* rolled;         /* per body: 1: it has a middle step */
    double* v;               /* flat: the mean velocities of these */
    perpi_contact_list kept; /* their contacts */
} perpi_roll;

/* Workspace of the equilibrium search (equilibrium.c). */
typedef struct perpi_equilibrium {
    double* v_end; /* current velocities; NULL: the stepper has inertia */
    double* best;  /* velocities, impulses */
    double* basis; /* scratch, also of indeterminacy.c */
    size_t best_capacity, basis_capacity;
    int32_t indeterminacy; /* of the answer */
} perpi_equilibrium;

/* How often a step was tried again, and why. */
typedef struct perpi_attempts {
    int32_t rounds, first_round; /* solves; at which the contacts of a crossing came in */
    int32_t fallbacks;           /* to simpler contacts */
    bool simpler;                /* the last solve was followed by one */
    int32_t corrections, moves;  /* of joints */
    int32_t crossings;           /* solves with contacts from the side check */
    int32_t iterations;          /* of the solver, before the last of these */
} perpi_attempts;

struct perpi_sides;         /* sim/crossing.c */
struct perpi_correction;    /* sim/correct_joints.c */
struct perpi_impact;        /* sim/impact.c */
struct perpi_filter;        /* sim/internal.h */
struct perpi_smooth_solver; /* smooth_step.h */
struct perpi_trial;

/* Everything that a step reads and writes. */
struct perpi_step {
    /* constant for the life of the simulation */
    perp_context* context;
    const perp_model* model;
    const perpi_stepper_ops* second; /* used if the stepper finds no solution; NULL: none */
    perpi_step_settings settings;
    const perpi_contact_model_ops* contact_model;
    perpi_contact_rules rules;
    perp_contact_solver* solver;
    struct perpi_smooth_solver* smooth; /* of a smoothed run; else NULL */
    perpi_collider* collider;
    perpi_formulation* formulation;
    double tolerance;        /* of the residual check */
    double margin_given;     /* by the scene; NaN: from the motion */
    double margin_least;     /* of a body, from the motion */
    double nominal_h, error; /* the scene's step; the error of adaptive steps, 0: fixed */
    double longest;          /* the longest step */
    int32_t q_size, v_size, s_size;
    int32_t offset_at; /* of the offset after an impact in the memory; -1: there is none */
    bool (*cancel)(void* user);
    void* cancel_user;
    void (*on_fallback)(void* user, const perp_contact_problem* problem, int32_t body_a,
                        int32_t body_b, const char* simpler);
    void* on_fallback_user;

    /* arguments of the step */
    const perpi_stepper_ops* stepper;
    const perpi_state* from;
    perpi_state* to;
    struct perpi_trial* trial; /* `to` belongs to it */
    double h;
    const struct perpi_filter* filter;
    bool accept_unsolved; /* accept the best iterate */

    /* the initial state, and applied forces */
    const double *q_from, *v_from; /* the state's, displaced after an impact: */
    double *q_start, *v_start;     /* room for them; NULL: they are never displaced */
    double *q_to, *v_to;           /* where the step after an impact will start; likewise */
    double* extra;                 /* 6 a body: wrenches applied for the coming step */
    bool has_extra;
    double* effort;           /* per joint: added for the coming step */
    perpi_joint_input* input; /* per joint */

    /* contacts */
    perpi_pose* pose;          /* per body */
    const double* posed;       /* the state that they were made from in this step */
    double* margin;            /* per body */
    perpi_turn* turn;          /* per body: how far it turns in the step; see margin.c */
    double* turn_most;         /* per body: a bound of that */
    bool lean;                 /* features whose gaps follow from those of others are left out */
    perpi_body_motion* motion; /* per body: expected in the step */
    bool relative;             /* pairs are searched within what they move against each other */
    int32_t spins;             /* of each of these */
    perpi_exceptions exception;
    perpi_pair_sides side;
    perpi_kept_overlap kept;
    struct perpi_sides* sides;
    /* contacts at the end of the step from the side check */
    perp_status (*add_at_end)(perpi_step* step, perpi_contact_list* list);

    /* problem and solution */
    bool has_problem;
    double *v_problem, *p_problem;
    size_t v_capacity, p_capacity;
    perp_contact_residual residual;
    perp_report report;
    double deepest; /* overlap at the start */
    perpi_attempts attempts;
    perpi_outer outer;
    perpi_roll roll;
    perpi_equilibrium equilibrium;
    struct perpi_correction* correction;
    struct perpi_impact* impact; /* NULL: restitution is 0 everywhere */
    perpi_momentum_work momentum_work;
    perpi_joint_system* system; /* of joints that are corrected or have middle steps; else NULL */
    bool direct;                /* it also solves steps with the directions of the start */
    double *check, *middle;     /* scratch of residual checks, and of middle.c */
    size_t check_capacity, middle_capacity;
};

/* ---- for steppers (stepping.c) ---------------------------------------------------------------------*/

/* The input of formulate: in the first iteration the end of the step is not known, and taken to be its
 * start. */
perpi_step_input perpi_step_inputs(const perpi_step* step);
/* Reserves the velocities and impulses of the formulated problem. */
PERP_NODISCARD perp_status perpi_step_room(perpi_step* step, const perpi_formulation* f);
/* Formulates the problem and packs the first guess: velocities v at the end of the step, last step's
 * impulses. */
PERP_NODISCARD perp_status perpi_step_formulate(perpi_step* step, const perpi_step_input* in,
                                                const double* v);
/* The first guess alone. */
void perpi_step_guess(perpi_step* step, const double* v);
/* Options of a solve; tolerance: the scene's or a sharper one. */
perp_solve_options perpi_step_options(const perpi_step* step, double tolerance);
/* Copies the solver's answer into step->to, if it is accepted. An answer that misses a sharper
 * tolerance is accepted if it meets the scene's. */
PERP_NODISCARD perp_status perpi_step_accept(perpi_step* step, double tolerance);
/* After a solve with these options: sharpens joints, and replaces the answer by the point that is recorded
 * (layer_ties.h, gear_rows.h). Nothing where there are neither. */
PERP_NODISCARD perp_status perpi_step_refine(perpi_step* step, const perp_solve_options* options);
/* The residual is relative to the terms of a row, and the impulses of a light body between heavy ones are
 * much larger than its motion: where an answer opens joints by more than a part of 1e-7 of their size, or of a radian, it
 * is solved on to a smaller tolerance. */
PERP_NODISCARD perp_status perpi_step_sharpen_joints(perpi_step* step, perp_solve_options options);
/* Solves the formulated problem from the current point, and accepts the answer. */
PERP_NODISCARD perp_status perpi_step_solve_to(perpi_step* step, double tolerance);
/* Residual of the current point, into step->residual and the report: whether it is within the tolerance. */
PERP_NODISCARD perp_status perpi_step_check(perpi_step* step, bool* within);
/* Velocities of the answer into step->to->v. */
void perpi_step_take_velocities(perpi_step* step);
/* Poses at the end of the step, into step->to, and velocities of prescribed bodies. */
PERP_NODISCARD perp_status perpi_step_advance(perpi_step* step);
/* The offset that an impact left, in the state; NULL: impacts have no times. */
static inline const double* perpi_step_offset(const perpi_step* step)
{
    return step->offset_at >= 0 ? step->from->memory + step->offset_at : NULL;
}

/* middle.c: tries a middle step, from the impulses of the last step, or if `solved`, from those of the
 * solution of the problem at the start. *done: false: contacts, limits or ropes act, or it does not
 * converge; the formulation is then of no use. */
PERP_NODISCARD perp_status perpi_solve_middle(perpi_step* step, bool solved, bool* done);
/* Whether joints pull at a body so hard that a step with the directions of the start would be
 * unstable, by the impulses of the first guess. */
PERP_NODISCARD perp_status perpi_middle_expected(perpi_step* step, bool* expected);
/* From the mean velocities of a middle step in step->to->v to those of its end. */
void perpi_step_extend(perpi_step* step);

/* stewart_trinkle.c: advances poses by the velocities of the end of the step, as most steppers
 * do. */
PERP_NODISCARD perp_status perpi_advance(const perpi_step_input* in, double* q, double* v);
/* semi_implicit.c: one problem, at the start of the step. */
PERP_NODISCARD perp_status perpi_solve_semi_implicit(perpi_step* step);
/* outer.c: the semi-implicit answer first, then problems at the end that the last answer led to, until one
 * satisfies the laws there. */
PERP_NODISCARD perp_status perpi_solve_at_end(perpi_step* step);
/* equilibrium.c: velocities and impulses that solve the problem formulated at these velocities.
 * step->report.outcome says whether they were found. */
PERP_NODISCARD perp_status perpi_search_equilibrium(perpi_step* step, const perpi_step_input* in);
/* indeterminacy.c: number of directions in which the bodies could also move at the current
 * solution, with forces alone; -1: not counted for so many bodies. */
PERP_NODISCARD perp_status perpi_indeterminacy(perpi_step* step, int32_t* directions);

/* find.c: on which side of each other the pairs of a list are, into step->side. */
PERP_NODISCARD perp_status perpi_remember_sides(perpi_step* step, const perpi_contact_list* list);
/* Features within the margin at the poses step->pose, and the contacts that they give at time t.
 * at_end: pairs that have passed behind each other are found too. */
PERP_NODISCARD perp_status perpi_find_features(perpi_step* step, bool at_end,
                                               const perpi_candidate** candidate, size_t* count);
PERP_NODISCARD perp_status perpi_build_contacts(perpi_step* step, double t,
                                                const perpi_candidate* candidate, size_t count,
                                                perpi_contact_list* list);
/* Poses of all bodies in q into step->pose. */
void perpi_step_poses(perpi_step* step, const double* q);
/* Impulses of the same features in another list. */
void perpi_carry_impulses(const perpi_contact_list* from, perpi_contact_list* to);
/* The exception of a pair of shapes; the count if there is none. */
size_t perpi_exception_of(const perpi_step* step, uint64_t key);
/* Whether the contact model matters to a pair of shapes: a body on a plane has the same contacts under any. */
bool perpi_may_have_groups(const perpi_step* step, uint64_t key);

/* diagnose.c: PERP_ERROR_SOLVE with the remaining residual and its location. */
PERP_NODISCARD perp_status perpi_step_diagnose(const perpi_step* step);
/* ", furthest off between 'a' and 'b'", or in a joint; else the largest impulse; "" where neither is known. */
void perpi_step_name_worst(const perpi_step* step, bool or_largest, char where[256]);

#endif
