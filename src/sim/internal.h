/* src/sim/internal.h - the inside of a simulation, shared by the files of this room. */
#ifndef PERPI_SIM_INTERNAL_H
#define PERPI_SIM_INTERNAL_H

#include "base/arena.h"
#include "collide/broad.h"
#include "collide/collide.h"
#include "collide/crossing.h"
#include "contact/contact.h"
#include "sim/mix.h"
#include "sim/sim.h"
#include "step/momentum.h"
#include "step/step.h"

typedef struct perpi_step_callback {
    perp_step_fn fn;
    void* user;
} perpi_step_callback;

/* A contact of an impact. */
typedef struct perpi_hit {
    double e;          /* coefficient of restitution */
    double u;          /* normal velocity before */
    double gap;        /* with the offset of the poses that earlier impacts left */
    double time, gain; /* see perp_contact_impact */
    double part;       /* of the gain in a step: 1/2 + time / h */
    double bend;       /* change of the normal velocity in a step in which it is free */
    double p;          /* normal impulse of compression */
    bool struck;       /* else it takes part, but does not bounce */
    bool fast;         /* comes nearer faster than what else acts can make it */
    int32_t chosen;    /* of a group that is struck: 1 for the member that acts, -1 for others */
} perpi_hit;
/* So many impacts may follow each other before time must go on: a ball between walls that are nearer
 * than it moves in a step would never end. */
enum { PERPI_IMPACTS_IN_A_ROW = 32 };

/* An open contact that has sunk in at the start of a step, and leaves. */
typedef struct perpi_sunk {
    uint64_t key;
    double gap;
} perpi_sunk;

/* Overlap that a step does not resolve, because its contacts contradict each other (loop.c). */
typedef struct perpi_kept_overlap {
    int32_t body_a, body_b; /* of these two bodies */
    bool any, all;          /* of all */
    bool joints;            /* and the errors of the joints */
    double deepest;
} perpi_kept_overlap;

/* How hard a contact that moves is pulled shut, found by a step without it. */
typedef struct perpi_pull {
    uint64_t key;
    vec3 normal, point[2];
    int32_t body[2];
    double u, pull; /* normal velocity; acceleration, of fixed steps the speed gained in one */
    double gain;    /* of fixed steps: change of the normal velocity in one */
    bool found;     /* the step without the contact had an answer, and no contacts of its bodies */
} perpi_pull;

/* An adaptive step: the clock, the state it started from, and what the halves found. */
typedef struct perpi_adaptive {
    double h_next, h_last; /* the length to try next, part of the state; the last one */
    double ease;           /* of the joints' errors in the step being worked out (formulate.h) */
    double time_next, time0;
    double clock[3];      /* h_next, h_last and steps without impacts, as a recording keeps them */
    double *q0, *v0, *s0; /* the state at the start */
    perp_joint_record* joint0;
    perpi_contact_list contacts0;
    double *q_whole, *v_whole, *s_whole; /* after one step of h */
    double *q_half, *v_half, *s_half;    /* after h/2: where the second half starts */
    double* v_end;                       /* the velocities that solved the second half */
    double *q_plain, *v_plain, *s_plain; /* the state after it, before extrapolation */
    uint64_t* key;                       /* contacts that took part */
    size_t key_count, key_capacity;
    perpi_sunk* sunk;
    size_t sunk_count, sunk_capacity;
    perpi_pull* pull;
    size_t pull_count, pull_capacity;
    unsigned char* standing; /* scratch: per contact of sim->next, by itself or by its group */
    size_t standing_capacity;
} perpi_adaptive;

/* A pair of pieces that overlaps on its way through a step. */
typedef struct perpi_sim_passage {
    perpi_broad_pair pair;
    perpi_passage passage;
} perpi_sim_passage;

/* A constraint that a step lacked: all plain contacts of two bodies, or a contact of its own. */
typedef struct perpi_missing {
    bool built; /* a contact of its own */
    int32_t body[2], shape[2];
    vec3 local[2];   /* its points, in the bodies' frames */
    vec3 normal;     /* world, at the first touch */
    vec3 normal_end; /* the same, turned with the pair to the end of the step */
    int32_t ball;    /* 0, 1: instead of the point on this body, the ball about its centre of mass
                          that holds the piece; -1: the points */
    double shift;    /* of the gap at the start: what rotation adds to the linearised motion */
} perpi_missing;

/* The side check; see crossing.c. */
typedef struct perpi_sides {
    double* thickness; /* per shape; 0: a point */
    double *radius,
        *travel;  /* per body: of its bounded shapes; the most that a point of it moves */
    double least; /* the smaller thickness of the thinnest pair; INFINITY if there is none */
    double depth; /* no pair is deeper in another at the end of the last step; see holds_plainly */
    double farthest;  /* relative motion in the step */
    bool looked;      /* and whether it was enough to look at pairs */
    perpi_path* path; /* per body */
    perpi_broad broad;
    perpi_sim_passage* passage;
    size_t passage_count, passage_capacity;
    perpi_missing* missing; /* of the step being worked out */
    size_t missing_count, missing_capacity;
} perpi_sides;

/* What was set from outside (edit.c, tune.c). */
typedef struct perpi_edit {
    int64_t states;   /* how often the state was */
    int64_t changes;  /* how often parameters were */
    bool since_start; /* the state was, since the start or the last snapshot */
    bool parameters;  /* some are not those of the model */
    bool pending;     /* a pose was, and has not been checked */
    bool* moved;      /* per body: its pose; NULL: none ever was */
} perpi_edit;

struct perp_sim {
    perp_context* context;
    const perp_model* built; /* the model it was created with */
    const perp_model* model; /* the same, or its own copy with other parameters (tune.c) */
    perp_model* tuned;       /* that copy; NULL: none */
    perpi_edit edit;
    perp_sim_def asked;     /* as given, with its own strings and options */
    perpi_arena asked_text; /* these */
    perp_sim_def def;       /* asked, with what it left open */
    const perpi_stepper_ops* stepper;
    const perpi_stepper_ops*
        second; /* takes over steps of which that fails; NULL: none (fallback.c) */
    perpi_step_settings step_settings;
    const perpi_contact_model_ops* contact_model;
    bool contact_chosen; /* by `auto` */
    perpi_contact_rules rules;
    perp_contact_solver* solver;
    perpi_collider* collider;
    perpi_formulation* formulation;

    int64_t step; /* calls that succeeded */
    int64_t tick; /* of these, steps in time: all but impacts */
    int64_t tick_total;
    bool adaptive;
    bool
        without_struck; /* a step is worked out to see what pulls the contacts in halves.pull shut */
    perpi_adaptive halves;
    double time;
    int32_t q_size, v_size;
    double *q, *v;
    double *q_next, *v_next; /* a step is worked out here, then taken over whole */
    const double *q_from,
        *v_from; /* where its poses advance from: q and v, displaced after an impact */
    double *q_start, *v_start; /* room for them; NULL: they are never displaced */
    double *q_to, *v_to;       /* where the step after an impact will start; likewise */
    int32_t s_size;
    double *s, *s_next; /* what springs and controllers remember (force_rows.h), then the offset */
    int32_t offset_at;  /* of the poses (impact_time.c) in them; -1: there is none */
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
    double* before; /* of a step that may fail: v_solved, and what adaptive steps record */
    size_t before_capacity;
    double* v_solved; /* velocities that solved the last step, before momentum was
                                      carried and velocities were projected; NULL if neither is */
    double *q_answer,
        *v_carried; /* before poses were moved and velocities projected; NULL likewise */
    double *v_project, *p_project; /* the answer of the projection */
    size_t v_project_capacity, p_project_capacity;
    perpi_momentum_work momentum_work;
    double* v_end;   /* where a step that settles has got to; NULL if none does */
    double* settled; /* the best of it: velocities, impulses */
    double* basis;   /* scratch of perpi_sim_freedom */
    size_t settled_capacity, basis_capacity;
    perpi_formulation* project; /* the projection's, with its solver; NULL likewise */
    perp_contact_solver* project_solver;
    perpi_contact_list closed;
    bool* loop;    /* per joint: it is part of a closed loop (repair.h) */
    bool any_loop; /* one of them is */
    double* start; /* velocities that the joints' errors are compared with: repair.c */
    size_t start_capacity;
    double* keep; /* of the correction: velocities, impulses, b */
    size_t keep_capacity;

    perpi_touch_exception* exception; /* pairs that fell back in the step being worked out */
    size_t exception_count, exception_capacity;
    perpi_touch_side* side; /* on which side of each other pairs were, for the collider */
    size_t side_count, side_capacity;
    perp_fallback_fn on_fallback;
    void* on_fallback_user;
    perpi_sides sides;

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
    bool take_unsolved; /* the whole step has failed, and keep_going wants its best iterate */
    perpi_kept_overlap kept;

    perpi_formulation* impact; /* of impacts; NULL if nothing bounces */
    perpi_hit* hit;            /* per contact of sim->next */
    size_t hit_capacity;
    double* hit_work;
    size_t hit_work_capacity;
    unsigned char* hit_island; /* scratch of impact_time.c */
    size_t hit_island_capacity;
    perp_contact_residual hit_residual;
    perp_report hit_report;
    bool hit_converged;
    int32_t hit_evaluations; /* of the law of the impact being worked out */
    perpi_arena hit_scratch; /* of decompression */
    bool announced;          /* user code was called for the coming step, before an impact */
    perpi_arena scratch;     /* of questions, not of steps */

    perp_step_info info;
    perp_ledger ledger_total; /* of all steps since the simulation was created or restored */
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

/* sim.c: a simulation without the warnings about the start. */
PERP_NODISCARD perp_status perpi_sim_create_quietly(perp_context* context, const perp_model* model,
                                                    const perp_sim_def* def, perp_sim** sim);
/* The bodies as the model has them at the start; motors with its targets. */
void perpi_sim_initial_state(perp_sim* sim);
/* edit.c: room for the marks; then for each body that is set (moved: its pose differs), before or after its
 * numbers are put in place; then at the end. */
PERP_NODISCARD perp_status perpi_sim_edit_room(perp_sim* sim);
void perpi_sim_edit_body(perp_sim* sim, int32_t body, bool moved);
void perpi_sim_edit_end(perp_sim* sim);
/* The whole state is another one, which needs no check. */
void perpi_sim_edit_forget(perp_sim* sim);
/* The ledger is 0 again, and nothing is said about a last step. */
void perpi_sim_new_account(perp_sim* sim);
PERP_NODISCARD perp_status perpi_sim_check_body(const perp_sim* sim, const char* what,
                                                int32_t body);
/* tune.c: the model with parameters of the simulation's own, made on first use. */
PERP_NODISCARD perp_status perpi_sim_tuned(perp_sim* sim, perp_model** model);
/* Its parameters hold from now on. */
PERP_NODISCARD perp_status perpi_sim_tune_end(perp_sim* sim);
PERP_NODISCARD perp_status perpi_sim_tune_like(perp_sim* sim, const perp_sim* other);
void perpi_sim_tuned_destroy(perp_sim* sim);
/* start.c: the size that an overlap is compared with; layers that are pressed in, remembering deflections. */
double perpi_sim_pair_size(const perp_model* model, const perpi_touch* touch);
PERP_NODISCARD perp_status perpi_sim_press_layers(perp_sim* sim);
/* def.c: keeps a copy of the definition that was asked for. */
PERP_NODISCARD perp_status perpi_sim_keep_def(perp_sim* sim, const perp_sim_def* def);
/* start.c: refuses or resolves bodies that overlap at the start. */
PERP_NODISCARD perp_status perpi_sim_start(perp_sim* sim);
/* spring_stability.c: refuses explicit springs that a fixed step cannot follow; on joints it warns. */
PERP_NODISCARD perp_status perpi_sim_check_springs(const perp_sim* sim);

/* crossing_warning.c: warns, through the log, if a body can cross an obstacle within a step unnoticed. */
void perpi_sim_warn_of_crossing(const perp_sim* sim);
/* joint.c: what the joints bring into the coming step. */
void perpi_sim_joint_input(perp_sim* sim);
/* Coordinates and errors of the records at a state; returns the largest errors. */
void perpi_sim_joint_measure(const perp_sim* sim, const double* q, perp_joint_record* record,
                             double error[2]);
/* correct.c: whether the first row of a constraint of the step is held by its impulse. By complementarity
 * one of u and p is 0, and the larger tells; p as the speed W p that it gives. */
bool perpi_sim_row_holds(const perp_sim* sim, int32_t constraint);
/* correct.c: poses and velocities at the end of a step to the nearest that joints and contacts
 * allow. moves: counts solves that moved poses. */
PERP_NODISCARD perp_status perpi_sim_project(perp_sim* sim, double h, perp_report* report,
                                             int32_t* moves);
/* Errors of joints, relative to their size: a correction ends at the first, or at the second once
 * it makes no more progress. */
#define PERPI_CORRECTION_GOAL 1e-13
#define PERPI_CORRECTION_ENOUGH 1e-11
/* fallback.c: a step of length h from the state into the next one. */
PERP_NODISCARD perp_status perpi_sim_work_out(perp_sim* sim, double h);
/* Last resort but one: the errors of the joints stay as they are in the step at hand, where closing them
 * contradicts other constraints. False: there are none, or they do already. */
bool perpi_sim_keep_joints(perp_sim* sim);
/* ": body 'a' is held between ..." if a moving prescribed body presses a body against another prescribed one
 * in sim->next; else "". */
void perpi_sim_name_jam(const perp_sim* sim, char text[320]);
/* loop.c: the same by sim->stepper, whether it finds an answer or not; and the next one becomes the
 * state. */
PERP_NODISCARD perp_status perpi_sim_work_out_once(perp_sim* sim, double h);
void perpi_sim_swap(perp_sim* sim);
/* adaptive.c: the next step, or the impact that comes before it. */
PERP_NODISCARD perp_status perpi_sim_work_out_adaptive(perp_sim* sim);
PERP_NODISCARD perp_status perpi_sim_adaptive_create(perp_sim* sim);
/* halves.clock, from the present ones. */
void perpi_sim_adaptive_clock(perp_sim* sim);
void perpi_sim_adaptive_destroy(perp_sim* sim);
/* A contact whose pull is to be found, of normal velocity u; the pull that was found, or 0. */
PERP_NODISCARD perp_status perpi_sim_remember_moving(perp_sim* sim, const perp_contact* c,
                                                     double u);
double perpi_sim_found_pull(const perp_sim* sim, uint64_t key);
/* Normal speeds that remembered contacts have lost between sim->v and sim->v_next, as their pulls. */
void perpi_sim_measure_gains(perp_sim* sim);
/* There was no second half: what a recording keeps of it is 0. */
void perpi_sim_adaptive_clear(perp_sim* sim);
/* Only closed contacts stay in sim->next. */
PERP_NODISCARD perp_status perpi_sim_keep_closed(perp_sim* sim, double h);
/* A length that errors and gaps are compared with. */
double perpi_sim_size(const perp_sim* sim);
/* rolling.c: what the slip of the contacts in sim->next changes by until the middle of the coming step of h,
 * into their drift; and 0 there, of contacts that are to be an impact's. */
void perpi_sim_roll(perp_sim* sim, double h);
void perpi_sim_roll_not(perp_sim* sim);
/* account.c: the energy ledger and the momentum account of the step at hand, of length h, into
 * sim->info; f: its problem, or that of the impact. */
PERP_NODISCARD perp_status perpi_sim_account(perp_sim* sim, const perpi_formulation* f, double h);
/* impact.c: which contacts of the step just worked out are struck; they go to sim->hit. */
/* With fixed steps: what the pulls of sim->halves say counts as gained. */
PERP_NODISCARD perp_status perpi_sim_find_struck(perp_sim* sim, double h, bool* any);
/* An impact at the present pose, of the contacts in sim->next, struck as sim->hit says; works out the
 * next state like a step. After compression, decompression. */
PERP_NODISCARD perp_status perpi_sim_impact(perp_sim* sim);
/* x <- M^-1 x, block by block. */
void perpi_sim_divide_by_mass(const perpi_formulation* f, double* x);
PERP_NODISCARD perp_status perpi_sim_decompress(perp_sim* sim);
/* impact_time.c: when within a step of length h the pairs of an impact meet, into sim->hit. */
void perpi_sim_impact_times(perp_sim* sim, double h);
/* How much the normal velocity of a contact changes in a step without it: the pulls tell; else `gain`, by
 * forces alone. */
double perpi_sim_found_gain(const perp_sim* sim, uint64_t key, double gain);
/* The offset that an impact leaves, into sim->s_next: f is its problem, p its impulses. */
PERP_NODISCARD perp_status perpi_sim_add_offset(perp_sim* sim, const perpi_formulation* f,
                                                const double* p);
/* Sets q_from and v_from of a step or impact at the present state. */
void perpi_sim_start_from(perp_sim* sim);
/* The state's poses with an offset, and velocities v with the momentum they had without. */
void perpi_sim_displaced(const perp_sim* sim, const double* offset, const double* v, double* q_to,
                         double* v_to);
/* What displacing the state did to its energy, in the step or impact just worked out. */
double perpi_sim_offset_energy(const perp_sim* sim, bool impact);
/* Contacts of the step being worked out: points move with the offset, gaps change by it (their drift). */
void perpi_sim_offset_gaps(perp_sim* sim, double h);
/* How far the offset moves points of a body at most. */
double perpi_sim_offset_travel(const perp_sim* sim, int32_t body);
/* settle.c: for a stepper that settles: velocities and impulses of which the formulated problem ends
 * where it starts, into v_problem and p_problem. Whether it got there is report->outcome. */
PERP_NODISCARD perp_status perpi_sim_settle(perp_sim* sim, const perpi_step_input* in,
                                            perp_contact_residual* residual, perp_report* report);
/* freedom.c: in how many directions the bodies could move besides, at the solution at hand and with
 * forces alone; -1: more bodies than it looks at. */
PERP_NODISCARD perp_status perpi_sim_freedom(perp_sim* sim, int32_t* freedom);
/* crossing.c: pairs that change sides between the state and the next one. The last of them goes to
 * *crossed, NULL if there is none; what was missing is then there when the step is worked out again. */
PERP_NODISCARD perp_status perpi_sim_sides_create(perp_sim* sim);
void perpi_sim_sides_destroy(perp_sim* sim);
/* Whether a pair changes sides on the way to the next state, of poses that were moved after the check. */
PERP_NODISCARD perp_status perpi_sim_moved_across(perp_sim* sim, double h, double deepest,
                                                  bool* across);
PERP_NODISCARD perp_status perpi_sim_check_sides(perp_sim* sim, double h, double deepest,
                                                 const perpi_sim_passage** crossed);
/* Contacts that were missing, at the poses in sim->pose. at_end: those are of the end of the step. */
PERP_NODISCARD perp_status perpi_sim_add_missing(perp_sim* sim, double t, double h, bool at_end,
                                                 perpi_contact_list* list);
/* Steppers without a gap term: contacts deeper than half of the pair's smaller thickness are pushed out, by
 * their drift, or a body would sink through a plate step by step. */
void perpi_sim_part_deep(perp_sim* sim, double h);
/* Whether contacts that were missing could have a simpler form. */
bool perpi_sim_missing_points(const perp_sim* sim);
/* Gives contacts that were missing their simplest form; *changed: they did not have it yet. */
PERP_NODISCARD perp_status perpi_sim_missing_balls(perp_sim* sim, bool* changed);
/* Whether a contact must stay although it is open. */
bool perpi_sim_keeps_open(const perp_sim* sim, const perp_contact* c);
/* Adaptive steps: *gap becomes smaller where a pair passes through another, or meets it on the way. */
PERP_NODISCARD perp_status perpi_sim_path_gap(perp_sim* sim, double h, double* gap);
/* The sum of the thicknesses of the pair of shapes in a contact's key. */
double perpi_sim_pair_thickness(const perp_sim* sim, uint64_t key);
/* loop.c: in this step the pair of shapes has another rule than the contact model's. */
PERP_NODISCARD perp_status perpi_sim_make_exception(perp_sim* sim, int32_t shape_a, int32_t shape_b,
                                                    perpi_touch_rule rule);
/* margin.c: how far each body may come in a step. */
PERP_NODISCARD perp_status perpi_sim_margins(perp_sim* sim, double h);
/* Whether a body came further than its margin; raises the margins of those that did. */
bool perpi_sim_margins_exceeded(perp_sim* sim, double h, const double* v_new);

#endif
