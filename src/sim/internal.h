/* src/sim/internal.h - internal structures of a simulation, shared by the files of this module. */
#ifndef PERPI_SIM_INTERNAL_H
#define PERPI_SIM_INTERNAL_H

#include "base/arena.h"
#include "collide/broad.h"
#include "collide/crossing.h"
#include "sim/sim.h"
#include "step/step.h"

/* ---- the trial step -------------------------------------------------------------------------- */

/* Result of a trial step, beside the state that it started from. */
typedef struct perpi_trial {
    perpi_state state;
    perp_step_info* info;
    double* v_solved; /* velocities that solved it, before the momentum update and the
                         projection; NULL if there is neither */
} perpi_trial;

/* Closing acceleration of a contact, found by a step without it. */
typedef struct perpi_closing {
    uint64_t key;
    vec3 normal, point[2];
    int32_t body[2];
    double u;       /* normal velocity */
    double closing; /* acceleration; of fixed steps the speed gained in one */
    double gain;    /* of fixed steps: change of the normal velocity in one */
    bool found;     /* the step was solved, and its bodies had no other contacts */
} perpi_closing;

typedef struct perpi_closing_list {
    perpi_closing* item;
    size_t count, capacity;
} perpi_closing_list;

/* Which contacts take part in a step, and other options of the step. */
typedef struct perpi_filter {
    const perpi_closing_list* closing;    /* known closing accelerations; NULL: none */
    bool without;                         /* these contacts are left out */
    bool closed;                          /* adaptive steps: only closed contacts take part */
    struct perpi_standing_list* standing; /* scratch of these, see closed.h */
    const perpi_state*
        before;           /* of the second half of an adaptive step: the state after the first */
    double ease;          /* of adaptive steps: perpi_joint_input.ease; else 0 */
    bool accept_unsolved; /* keep_going: the step has failed, and its best iterate is accepted */
} perpi_filter;

/* step.c: computes a trial step of length h from a state, by the stepper, into `to`. Writes
 * nothing else but the workspace. PERP_ERROR_SOLVE: it has no solution, and the message says
 * why. */
PERP_NODISCARD perp_status perpi_try_step(perpi_step* step, const perpi_stepper_ops* stepper,
                                          const perpi_state* from, double h,
                                          const perpi_filter* filter, perpi_trial* to);
/* Sets the arguments of a step, for callers that use parts of it. */
void perpi_step_bind(perpi_step* step, const perpi_state* from, double h,
                     const perpi_filter* filter, perpi_trial* to);
PERP_NODISCARD perp_status perpi_trial_create(const perpi_step* step, bool v_solved,
                                              perpi_trial* trial);
void perpi_trial_destroy(perp_context* context, perpi_trial* trial);

/* ---- workspaces ------------------------------------------------------------------------------------*/

/* A contact of an impact. */
typedef struct perpi_hit {
    double e;          /* coefficient of restitution */
    double u;          /* normal velocity before */
    double gap;        /* includes the offset of the poses that earlier impacts left */
    double time, gain; /* see perp_contact_impact */
    double part;       /* of the gain in a step: 1/2 + time / h */
    double bend;       /* change of the normal velocity in a step in which it is free */
    double p;          /* normal impulse of compression */
    double slow;       /* drift of a contact whose overlap is pushed out slowly (fallback.c) */
    bool impacting;    /* else it takes part and does not rebound */
    bool fast;         /* approaches faster than the other forces can explain */
    int32_t chosen;    /* in an impacting group: 1 for the member that acts, -1 for others */
} perpi_hit;
/* Limit of successive impacts without a step in time: a ball between walls closer than its
 * motion in a step would never advance. */
enum { PERPI_IMPACTS_IN_A_ROW = 32 };

typedef struct perpi_impact {
    perpi_formulation* f; /* NULL: restitution is 0 everywhere */
    perpi_hit* hit;       /* per contact of the trial */
    size_t hit_capacity;
    double* work;
    size_t work_capacity;
    unsigned char* island; /* scratch of impact_time.c */
    size_t island_capacity;
    perp_contact_residual residual;
    perp_report report;
    bool converged;
    int32_t evaluations; /* evaluations of the law in the current impact */
    bool solved;         /* the last of them was: its point starts the next */
    bool jammed, few;    /* one had no solution; this one has few iterations */
    bool failed;         /* the problem that was solved last is the impact's, and had none */
    perpi_arena scratch; /* of decompression */
} perpi_impact;

/* Correction of joints at the end of a step (correct_joints.c, project.c). */
typedef struct perpi_correction {
    perpi_formulation*
        project; /* problem and solver of the projection; NULL: joints are not corrected */
    perp_contact_solver* solver;
    double *q_answer, *v_carried; /* before poses were moved and velocities projected */
    double *v, *p;                /* the solution of the projection */
    size_t v_capacity, p_capacity;
    perpi_contact_list closed;
    int32_t* pushed; /* pairs of bodies of an impact whose contact pushed while poses were moved */
    size_t pushed_count, pushed_capacity;
    bool* loop;    /* per joint: it is part of a closed loop (repair.h) */
    bool any_loop; /* one of them is */
    double* start; /* reference velocities for the joints' errors: repair.c */
    size_t start_capacity;
    double* keep; /* velocities, impulses, b */
    size_t keep_capacity;
    bool shut; /* close_joints.c closed the joints: the poses need no projection */
} perpi_correction;

/* An open contact that penetrates at the start of a step and is separating. */
typedef struct perpi_penetration {
    uint64_t key;
    double gap;
} perpi_penetration;

/* An adaptive step: its lengths, and the results of its halves. */
typedef struct perpi_adaptive {
    double h_next;     /* the length to try next, part of the state */
    double clock[3];   /* h_next, h_last and steps without impacts, as a recording keeps them */
    perpi_trial whole; /* one step of h */
    perpi_trial half;  /* h/2: start of the second half */
    double *q_half, *v_half, *s_half, *v_end; /* of the last step: its second half */
    double* v_end_next;                  /* velocities that solved the second half of the trial */
    double *q_plain, *v_plain, *s_plain; /* the state after it, before extrapolation */
    uint64_t* key;                       /* contacts that took part */
    bool* pushed;                        /* likewise: it had an impulse in the second half */
    size_t key_count, key_capacity, pushed_capacity;
    perpi_penetration* penetration;
    size_t penetration_count, penetration_capacity;
    struct perpi_standing_list* standing; /* per contact of the trial, by itself or by its group */
    double ease;                          /* of the joints in the trial */
} perpi_adaptive;

/* A pair of pieces that overlaps at some time within a step. */
typedef struct perpi_sim_passage {
    perpi_broad_pair pair;
    perpi_passage passage;
} perpi_sim_passage;

/* A constraint that was missing in a step: all plain contacts of two bodies, or an additional
 * contact. */
typedef struct perpi_missing {
    bool built; /* an additional contact, not one of a feature pair */
    int32_t body[2], shape[2];
    vec3 local[2];   /* its points, in the bodies' frames */
    vec3 normal;     /* world, at the first contact */
    vec3 normal_end; /* the same, turned with the pair to the end of the step */
    int32_t ball;    /* 0, 1: instead of the point on this body, the ball about its centre of
                        mass that contains the piece; -1: the points */
    double shift;    /* of the gap at the start: effect of rotation */
    double beyond;   /* how far the pair had moved on beyond the first contact */
    double push; /* by how much the ball is pushed back, where keeping its side was not enough */
} perpi_missing;

/* The side check; see crossing.c. */
typedef struct perpi_sides {
    double* thickness; /* per shape; 0: a point */
    double *radius,
        *travel;     /* per body: radius of its bounded shapes; bound of the motion of its points */
    double least;    /* the smaller thickness of the thinnest pair; INFINITY if there is none */
    double depth;    /* upper bound of the overlap at the end of the last step; see holds_plainly */
    double farthest; /* relative motion in the step */
    bool checked;    /* whether it was enough to check pairs */
    perpi_path* path; /* per body */
    perpi_broad broad;
    perpi_sim_passage* passage;
    size_t passage_count, passage_capacity;
    perpi_missing* missing; /* of the step being computed */
    size_t missing_count, missing_capacity;
} perpi_sides;

typedef struct perpi_step_callback {
    perp_step_fn fn;
    void* user;
} perpi_step_callback;

/* Code of the user that runs with the simulation. */
typedef struct perpi_user {
    perp_step_fn on_step;
    void* on_step_user;
    perpi_step_callback* callback; /* after on_step, in order */
    size_t callback_count, callback_capacity;
    bool announced; /* it was called for the coming step already, before an impact */
    char* code;     /* its name; NULL: none */
} perpi_user;

/* Changes by the caller (edit.c, tune.c). */
typedef struct perpi_edit {
    int64_t states;   /* how often the state was set */
    int64_t changes;  /* how often parameters were set */
    bool since_start; /* the state was set since the start or the last snapshot */
    bool parameters;  /* some parameters differ from the model's */
    bool pending;     /* a pose was set and has not been checked */
    bool* moved;      /* per body: its pose was set; NULL: none */
} perpi_edit;

/* ---- the simulation -------------------------------------------------------------------------- */

struct perp_sim {
    perp_context* context;
    const perp_model* built; /* the model it was created with */
    const perp_model* model; /* the same, or its own copy with other parameters (tune.c) */
    perp_model* tuned;       /* that copy; NULL: none */
    /* configuration */
    perp_sim_def asked;     /* as given, with its own strings and options */
    perpi_arena asked_text; /* these */
    perp_sim_def def;       /* as requested, with defaults filled in */
    const perpi_stepper_ops* stepper;
    bool contact_chosen; /* selected by `auto` */
    bool adaptive;
    int64_t tick_total; /* of fixed steps */
    /* the state, and the results of the last step */
    perpi_state state;        /* its arrays stay where they are for the life of the simulation */
    perp_step_info* info;     /* its place changes with every step */
    double* v_solved;         /* velocities that solved the last step; NULL: as in perpi_trial */
    perp_ledger ledger_total; /* of all steps since the simulation was created or restored */
    /* the trial step and its workspace */
    perpi_trial trial;
    perpi_step work;
    perpi_adaptive halves;
    perpi_closing_list closing;
    perpi_sides sides;
    perpi_correction correction;
    perpi_impact impact;
    perpi_edit edit;
    perpi_user user;
    struct perpi_tape* without; /* of a gradient: keeps the steps of fixed.c's find_closing; NULL */
    struct perpi_measures* measures; /* measures and stops (measure.h); NULL: there are none */
    perpi_arena scratch;             /* scratch of queries, not of steps */
};

/* ---- creation -------------------------------------------------------------------------------- */

/* schedule.c: the number of fixed steps. */
int64_t perpi_sim_count_ticks(const perp_sim* sim);
/* create.c: a simulation without the warnings about the start. */
PERP_NODISCARD perp_status perpi_sim_create_quietly(perp_context* context, const perp_model* model,
                                                    const perp_sim_def* def, perp_sim** sim);
/* The bodies as the model has them at the start; motors with its targets. */
void perpi_sim_initial_state(perp_sim* sim);
/* edit.c: allocates the marks; then called for each body that is set (moved: its pose differs),
 * before or after its numbers are written; then at the end. */
PERP_NODISCARD perp_status perpi_sim_edit_room(perp_sim* sim);
void perpi_sim_edit_body(perp_sim* sim, int32_t body, bool moved);
void perpi_sim_edit_end(perp_sim* sim);
/* The whole state was replaced by one that needs no check. */
void perpi_sim_edit_forget(perp_sim* sim);
/* Resets the ledger and the information about the last step. */
void perpi_sim_new_account(perp_sim* sim);
PERP_NODISCARD perp_status perpi_sim_check_body(const perp_sim* sim, const char* what,
                                                int32_t body);
/* tune.c: the model with parameters of the simulation's own, made on first use. */
PERP_NODISCARD perp_status perpi_sim_tuned(perp_sim* sim, perp_model** model);
/* Activates its parameters. */
PERP_NODISCARD perp_status perpi_sim_tune_end(perp_sim* sim);
PERP_NODISCARD perp_status perpi_sim_tune_like(perp_sim* sim, const perp_sim* other);
void perpi_sim_tuned_destroy(perp_sim* sim);
/* start.c: the size that an overlap is compared with; initial deflections of compressed layers. */
double perpi_sim_pair_size(const perp_model* model, const perpi_candidate* candidate);
PERP_NODISCARD perp_status perpi_sim_press_layers(perp_sim* sim);
/* def.c: keeps a copy of the requested definition. */
PERP_NODISCARD perp_status perpi_sim_keep_def(perp_sim* sim, const perp_sim_def* def);
/* start.c: refuses or resolves bodies that overlap at the start. */
PERP_NODISCARD perp_status perpi_sim_start(perp_sim* sim);
/* spring_stability.c: refuses explicit springs that are unstable with a fixed step; on joints it
 * warns. */
PERP_NODISCARD perp_status perpi_sim_check_springs(const perp_sim* sim);

/* crossing_warning.c: warns, through the log, if a body can cross an obstacle within a step unnoticed. */
void perpi_sim_warn_of_crossing(const perp_sim* sim);
PERP_NODISCARD perp_status perpi_sim_adaptive_create(perp_sim* sim);
void perpi_sim_adaptive_destroy(perp_sim* sim);
PERP_NODISCARD perp_status perpi_sides_create(perp_context* context, const perp_model* model,
                                              perpi_sides* sides);
void perpi_sides_destroy(perp_context* context, perpi_sides* sides);

/* ---- drivers: compute the next state, or that of the impact before it, into sim->trial ------- */

/* fixed.c */
PERP_NODISCARD perp_status perpi_drive_fixed(perp_sim* sim, bool accept_unsolved);
/* adaptive.c */
PERP_NODISCARD perp_status perpi_drive_adaptive(perp_sim* sim, bool accept_unsolved);
/* Of the trial that is committed: clock and second half, as a recording keeps them. An impact has no second
 * half: what a recording keeps of it is 0. */
void perpi_adaptive_commit(perp_sim* sim, bool impact);
void perpi_adaptive_clear(perp_sim* sim);
/* Sets halves.clock from the present state. */
void perpi_adaptive_clock(perp_sim* sim);

/* ---- a step, in the order of perpi_try_step ----------------------------------------------------------*/

/* impact_time.c: sets q_from and v_from of a step or impact. */
void perpi_start_from(perpi_step* step);
/* joint.c: the joint inputs of the step. */
void perpi_joint_inputs(perpi_step* step);
/* Coordinates and errors of the records at a state; returns the largest errors. */
void perpi_joint_measure(const perp_model* model, const double* q, perp_joint_record* record,
                         double error[2]);
/* margin.c: how far each body may move in a step. */
PERP_NODISCARD perp_status perpi_find_margins(perpi_step* step, double h);
/* Whether a body moved further than its margin; raises the margins of those that did. */
bool perpi_margins_exceeded(perpi_step* step, double h, const double* v_new);

/* find_contacts.c: the contacts of the step, into step->to. *same: a larger margin has found
 * nothing new. */
PERP_NODISCARD perp_status perpi_find_contacts(perpi_step* step, bool* same);
/* rolling.c: the change of slip of the contacts in step->to until the middle of the coming step
 * of h, into their drift; 0 for contacts that take part in an impact. */
void perpi_set_rolling(perpi_step* step, double h);
void perpi_clear_rolling(perpi_step* step);
/* rolling_choice.c: whether a body has a surface whose contact moves over it while it rolls. */
bool perpi_body_can_roll(const perp_model* model, int32_t body);
/* closed.c: removes all but closed contacts from step->to. */
PERP_NODISCARD perp_status perpi_keep_closed(perpi_step* step);

/* fallback.c: after a solve without a solution, simpler contacts or kept overlap; *again: solve
 * again. */
PERP_NODISCARD perp_status perpi_fall_back(perpi_step* step, bool* again);
/* Keeps the errors of joints in this step; false: there are none, or they are kept already. */
bool perpi_keep_joint_errors(perpi_step* step);
/* After a solution in which a group acts by a feature that overlaps although another one is open, and gains
 * energy by that: a simpler model for the pair; *again: solve again. */
PERP_NODISCARD perp_status perpi_leave_switch(perpi_step* step, bool* again);
/* After a solution: whether overlap of bodies that turn by more than half a radian in a step pushes and raises the kinetic
 * energy. The step is then to be solved again, in which perpi_push_slowly changes the contacts. */
bool perpi_slow_push(perpi_step* step);
void perpi_push_slowly(perpi_step* step);
/* Whether the overlap of a contact can be kept: not in groups, which fall back first, nor in soft
 * layers, nor that of bodies which would pass through each other. */
bool perpi_overlap_counts(const perpi_step* step, const perp_contact* c);
/* Whether a contact is open by less than `close` times the smaller body's size: where all overlap is kept such contacts
 * count as closed. */
bool perpi_is_close(const perpi_step* step, const perp_contact* c, double close);
/* Gives the pair of shapes of a contact another rule than the contact model's in this step. */
PERP_NODISCARD perp_status perpi_make_exception(perpi_step* step, uint64_t key,
                                                const perpi_candidate_rule* rule);

/* correct_joints.c: poses at the end of the step, and the step solved again with the joint
 * errors there. *again: the errors of joints are to be kept, solve again. */
PERP_NODISCARD perp_status perpi_advance_and_correct(perpi_step* step, bool* again);
/* From the velocities that solved the step to those of the state. */
PERP_NODISCARD perp_status perpi_complete_state(perpi_step* step);
/* The solution and its b, kept by the first and restored by the second. */
PERP_NODISCARD perp_status perpi_keep_answer(perpi_step* step);
void perpi_restore_answer(perpi_step* step);
/* close_joints.c: how closing the joints by Newton's method ended. */
typedef enum perpi_joint_closing {
    PERPI_CLOSING_DONE,
    PERPI_CLOSING_FAILED, /* it does not converge */
    PERPI_CLOSING_OTHERS, /* contacts or bounds take part: not for this method */
} perpi_joint_closing;
/* Closes the joints at the end of the step; the answer is kept before. Unless it is done, the
 * answer is as it was. */
PERP_NODISCARD perp_status perpi_close_joints(perpi_step* step, perpi_joint_closing* closing);
/* project.c: whether the first row of a constraint of the step is active. By complementarity one
 * of u and p is 0: compares u with the speed W p that p produces. */
bool perpi_row_holds(const perpi_step* step, int32_t constraint);
/* Moves poses and velocities at the end of a step to the nearest that joints and contacts allow.
 * moves: counts solves that moved poses. */
PERP_NODISCARD perp_status perpi_project(perpi_step* step, double h, perp_report* report,
                                         int32_t* moves);
/* Errors of joints, relative to their size: a correction stops below the first, or below the
 * second if it makes no more progress. */
#define PERPI_CORRECTION_GOAL 1e-13
#define PERPI_CORRECTION_ENOUGH 1e-11

/* crossing.c: pairs that change sides between the state and the next one. The last of them goes
 * to *crossed, NULL if there is none; the missing constraint is then added for the next attempt. */
PERP_NODISCARD perp_status perpi_check_sides(perpi_step* step, double h, double deepest,
                                             const perpi_sim_passage** crossed);
/* Whether a pair changes sides on the way to the next state, for poses that were moved after the
 * check. */
PERP_NODISCARD perp_status perpi_moved_across(perpi_step* step, double h, double deepest,
                                              bool* across);
/* Adds contacts that were missing, at the poses in step->pose. at_end: those are of the end of
 * the step. */
PERP_NODISCARD perp_status perpi_add_missing(perpi_step* step, double t, double h, bool at_end,
                                             perpi_contact_list* list);
/* Steppers without a gap term: contacts deeper than half of the pair's smaller thickness are
 * separated by their drift; otherwise a body would pass through a plate over several steps. */
void perpi_part_deep(perpi_step* step, double h);
/* Whether a contact is an additional one of the side check, and one that pushes a body back. */
bool perpi_keeps_side(const perpi_step* step, const perp_contact* c);
bool perpi_pushes_back(const perpi_step* step, const perp_contact* c);
/* Whether missing contacts could have a simpler form. */
bool perpi_missing_points(const perpi_step* step);
/* Gives missing contacts their simplest form; *changed: they did not have it yet. */
PERP_NODISCARD perp_status perpi_missing_balls(perpi_step* step, bool* changed);
/* Whether a contact must be kept although it is open. */
bool perpi_keeps_open(const perpi_step* step, const perp_contact* c);
/* Adaptive steps: reduces *gap where a pair passes through another, or meets it within the step.
 * key: those of contacts that took part. */
PERP_NODISCARD perp_status perpi_path_gap(perpi_step* step, double h, const uint64_t* key,
                                          size_t count, double* gap);
/* The sum of the thicknesses of the pair of shapes in a contact's key. */
double perpi_pair_thickness(const perpi_step* step, uint64_t key);

/* account.c: the energy ledger and the momentum account of the step of length h, into the trial;
 * f: its problem, or that of the impact. */
PERP_NODISCARD perp_status perpi_account(perpi_step* step, const perpi_formulation* f, double h);

/* ---- impacts ---------------------------------------------------------------------------------------*/

/* impact.c: which contacts of the last trial step are impacting, into step->impact->hit. With
 * fixed steps the closing accelerations of the filter count as gained. */
PERP_NODISCARD perp_status perpi_find_impacting(perpi_step* step, double h, bool* any);
/* Computes an impact at the present pose, of the contacts in step->to, according to
 * step->impact->hit; into the trial, like a step. After compression, decompression. */
PERP_NODISCARD perp_status perpi_impact_step(perpi_step* step);
PERP_NODISCARD perp_status perpi_decompression_step(perpi_step* step);
/* x <- M^-1 x, block by block. */
void perpi_divide_by_mass(const perpi_formulation* f, double* x);
/* impact_time.c: when within a step of length h the pairs of an impact meet, into step->impact->hit. */
void perpi_impact_times(perpi_step* step, double h);
/* Change of the normal velocity of a contact in a step without it: that of the filter; else
 * `gain`, by forces alone. */
double perpi_found_gain(const perpi_step* step, uint64_t key, double gain);
/* The offset that an impact leaves, into step->to: f is its problem, p its impulses. */
PERP_NODISCARD perp_status perpi_add_offset(perpi_step* step, const perpi_formulation* f,
                                            const double* p);
/* The state's poses with an offset, and velocities v with the momentum they had without. */
void perpi_displaced(const perpi_step* step, const double* offset, const double* v, double* q_to,
                     double* v_to);
/* Change of energy by displacing the state, in the current step or impact. */
double perpi_offset_energy(const perpi_step* step, bool impact);
/* Contacts of the step: points move with the offset, gaps change by it (their drift). */
void perpi_offset_gaps(perpi_step* step, double h);
/* Upper bound of the displacement of a body's points by the offset. */
double perpi_offset_travel(const perpi_step* step, int32_t body);

/* closed.c: closing accelerations, and closed contacts. Adds a contact, of normal velocity u,
 * whose closing acceleration is to be found; then the one found, or 0. */
PERP_NODISCARD perp_status perpi_remember_closing(perp_context* context, perpi_closing_list* list,
                                                  const perp_contact* c, double u);
double perpi_found_closing(const perpi_step* step, uint64_t key);
/* Normal speeds that the contacts of the list lose in the last trial step, which excluded them. */
void perpi_measure_closing(const perpi_step* step, perpi_closing_list* list);

/* ---- lengths ---------------------------------------------------------------------------------------*/

/* The length that errors and gaps are relative to. */
double perpi_scene_size(const perp_model* model);
/* Depth of the soft layers between two bodies: overlap within the layer is not penetration. */
double perpi_layer_depth(const perp_model* model, int32_t a, int32_t b);

#endif
