/* src/study/mpec.h - an estimate as a mathematical program with equilibrium constraints: all steps
 * are unknowns.
 *
 * Source     [B09 (7.6)-(7.9)]
 * Notation   docs/notation.md, "All steps as unknowns"
 * Departure  complementarity is smoothed by a parameter tau that goes to 0 in a few warm-started rounds; friction
 *            has no slip speed of its own: its law is a projection, which is regular also for contacts without impulse
 *
 * Unknowns: the parameters; the states x_0 .. x_N of each trajectory (displacements from a
 * reference, velocities); of each step the velocities v' and the impulses p of its problem.
 * Constraints,
 * all equalities: dynamics, laws and the state after the step. The file knows nothing of the study's keys:
 *
 *     perpi_mpec_create -> perpi_mpec_add_trajectory ... -> perpi_mpec_build -> perpi_mpec_solve -> read `z`
 *
 * mpec_law.c      smoothed laws with first and second derivatives
 * mpec_layout.c   trajectories, constraints of their steps, sizes, first guess
 * mpec_parameter.c how parameters enter
 * mpec_pattern.c  numbers of unknowns and equations, where derivatives are not 0
 * mpec_evaluate.c values and derivatives
 * mpec_ipopt.c    the solver
 */
#ifndef PERPI_MPEC_H
#define PERPI_MPEC_H

#include "contact/contact.h"
#include "sim/sim.h"
#include "step/linear_point.h"

/* A number that was measured: scale * x + offset, x a coordinate of a body between two states. */
typedef struct perpi_mpec_observation {
    int32_t state; /* the state at or before it */
    double part;   /* 0 .. 1: between it and the next one */
    int32_t place; /* displacement (0 ..) or, after these, velocity of the dynamic bodies */
    double value, noise;
    double base; /* the coordinate of the reference there; 0 of velocities */
    double scale, offset;
    int32_t scale_parameter, offset_parameter; /* -1: the numbers above */
    int32_t channel;                           /* of the study: for the caller */
} perpi_mpec_observation;

typedef struct perpi_mpec_parameter {
    double start, low, high;
    double prior;  /* standard deviation about the start; NaN: none */
    bool of_scene; /* the model depends on it */
} perpi_mpec_parameter;

/* A coordinate of the start state: fixed, or free with or without a prior about its value. */
typedef struct perpi_mpec_start {
    bool free;
    double prior; /* NaN: none */
} perpi_mpec_start;

typedef enum perpi_mpec_law_kind {
    PERPI_MPEC_EQUALITY,
    PERPI_MPEC_BOUNDED,
    PERPI_MPEC_FRICTIONLESS,
    PERPI_MPEC_PLANAR,
    PERPI_MPEC_ROUND,
    PERPI_MPEC_POLYGON,
} perpi_mpec_law_kind;

enum {
    PERPI_MPEC_ROWS = 6,        /* of one constraint */
    PERPI_MPEC_DIRECTIONS = 16, /* of a polygon */
    PERPI_MPEC_LAWS = PERPI_MPEC_ROWS,
    PERPI_MPEC_LOCAL = PERPI_MPEC_ROWS + 24 + 8, /* unknowns of one constraint */
    PERPI_MPEC_MU = 8, /* parameters that one coefficient of friction depends on, at most */
};

/* A constraint of a step: what is fixed for the whole solve, and its numbers at the present point. */
typedef struct perpi_mpec_constraint {
    perpi_mpec_law_kind kind;
    int32_t row, rows;         /* of the step's problem */
    int32_t block[2], body[2]; /* -1: none */
    int32_t dofs[2],
        turns[2]; /* velocities of a block; displacements of its body (0 of a support's block) */
    int32_t directions;
    uint64_t key;                     /* of a contact; 0: a support's point, or no contact */
    int32_t point;                    /* of a support, else -1 */
    int32_t law, law_count;           /* equations */
    double w_n, w_t[PERPI_MPEC_ROWS]; /* speeds per impulse */
    /* parameters that mu is a linear function of */
    int32_t mu_count, mu_parameter[PERPI_MPEC_MU];
    double mu_slope[PERPI_MPEC_MU];
    /* unknowns that its laws depend on: p, v' of both blocks, displacements of both bodies, parameters */
    int32_t local_count;
    size_t local; /* into perpi_mpec.local */
    size_t jacobian,
        hessian; /* its entries: law_count x local_count; lower triangle of local_count */
    /* at the present point */
    double mu, u[PERPI_MPEC_ROWS], lower[PERPI_MPEC_ROWS], upper[PERPI_MPEC_ROWS],
        compliance[PERPI_MPEC_ROWS];
    size_t
        slope; /* into perpi_mpec.slope: d u by v' of both blocks, then by displacements; rows x (dofs + turns) */
} perpi_mpec_constraint;

typedef struct perpi_mpec_pair {
    int32_t body[2];
} perpi_mpec_pair;

typedef struct perpi_mpec_step {
    double t, h;
    size_t contact;
    int32_t contact_count;
    size_t constraint;
    int32_t constraint_count;
    size_t pair; /* of bodies that depend on each other */
    int32_t pair_count;
    int32_t dofs, rows;
    int32_t x, x_next, v, p; /* unknowns: the states before and after it, velocities, impulses */
    int32_t dynamics, laws, state; /* equations */
    size_t jacobian;               /* its first entry: see mpec_evaluate.c for the order */
} perpi_mpec_step;

typedef struct perpi_mpec_trajectory {
    size_t step;
    int32_t steps;
    int32_t x; /* unknowns of its first state; states follow with perpi_mpec.stride */
    size_t reference_q,
        reference_v; /* flat states that displacements refer to, steps + 1 of each */
    size_t start;    /* 2 nd, of perpi_mpec.start */
    size_t observation;
    int32_t observation_count;
} perpi_mpec_trajectory;

typedef struct perpi_mpec_model {
    /* The model with these parameters; valid until the next call. */
    perp_status (*at)(void* user, const double* parameter, const perp_model** model);
    void* user;
} perpi_mpec_model;

/* How starts that have no prior are held near their first guess. */
typedef enum perpi_mpec_hold {
    PERPI_MPEC_FREE = 0,
    PERPI_MPEC_LOOSE, /* by the speed of the problem */
    PERPI_MPEC_TIGHT, /* by what the noise explains */
} perpi_mpec_hold;

typedef struct perpi_mpec {
    perp_context* context;
    perpi_mpec_model model_of;
    perpi_step_settings settings;
    bool carries;
    double speed; /* a speed of the problem: scale of all others */
    perpi_mpec_parameter* parameter;
    int32_t parameter_count;
    bool* general; /* per parameter: it changes more than coefficients of friction: differences */
    /* bodies */
    int32_t body_count, dimension, q_size, v_size;
    int32_t* place;  /* per body: its first displacement, -1: prescribed */
    int32_t* dofs;   /* per body */
    double* length;  /* per body: of its turns; 1 where it has none */
    int32_t* colour; /* per body: those of one colour do not act on a common one */
    bool* diagonal;  /* per body: each coordinate after a step depends on its own velocity alone */
    int32_t colours, nd, stride; /* nd: displacements; stride: unknowns of a state, 2 nd */

    perpi_mpec_trajectory* trajectory;
    perpi_mpec_step* step;
    perp_contact* contact;
    perpi_frozen_contact* frozen;
    perpi_mpec_constraint* constraint;
    perpi_mpec_pair* pair;
    perpi_mpec_observation* observation;
    perpi_mpec_start* start;
    double *reference_q, *reference_v;
    int32_t* local;
    double* slope;
    size_t trajectory_count, step_count, contact_count, constraint_count, pair_count,
        observation_count, start_count, reference_q_count, reference_v_count, local_count,
        slope_count;
    size_t trajectory_room, step_room, contact_room, frozen_room, constraint_room, pair_room,
        observation_room, start_room, reference_q_room, reference_v_room, local_room, slope_room;

    /* the program */
    int32_t n, m; /* unknowns, equations */
    size_t jacobian_count, hessian_count, general_jacobian;
    double *z, *low, *high;  /* n: point, bounds */
    double *unit, *row_unit; /* sizes of unknowns and of equations */
    int32_t *jacobian_row, *jacobian_column, *hessian_row, *hessian_column;
    double tau;           /* a speed */
    perpi_mpec_hold hold; /* of starts without a prior, in early rounds */
    double*
        tight; /* per coordinate of a start: what noise explains of it; INFINITY: not observed */

    /* the present point */
    double *at, *value, *jacobian; /* n: where values and derivatives were evaluated; m; entries */
    bool has_value, has_jacobian;
    perpi_linear_step* linear;
    perpi_joint_input* joint;
    double *q, *v, *q_after, *dx, *r_v, *r_u, *next, *memory, *other; /* scratch */
    size_t dx_size;
    perp_contact* moved;
    perpi_pose* pose;
    perp_status status; /* of the last evaluation that failed */
    int64_t evaluations;
} perpi_mpec;

/* parameter: copied. sim: at the start values; read for settings only. */
PERP_NODISCARD perp_status perpi_mpec_create(perp_context* context, perp_sim* sim,
                                             perpi_mpec_model model_of,
                                             const perpi_mpec_parameter* parameter, int32_t count,
                                             double speed, perpi_mpec** mpec);
void perpi_mpec_destroy(perpi_mpec* m);

/* A trajectory: times of its steps (steps + 1), flat states to begin with, which of the start is
 * free (2 nd), contacts of each step (contact_start: steps + 1 numbers), what was measured. */
typedef struct perpi_mpec_run {
    int32_t steps;
    const double *time, *q, *v;
    const perpi_mpec_start* start;
    const perp_contact* contact;
    const int32_t* contact_start;
    const perpi_mpec_observation* observation;
    int32_t observation_count;
} perpi_mpec_run;
PERP_NODISCARD perp_status perpi_mpec_add_trajectory(perpi_mpec* m, const perpi_mpec_run* run);

/* Unknowns, equations, patterns and the first guess: the reference states, impulses 0, parameters
 * at their start. */
PERP_NODISCARD perp_status perpi_mpec_build(perpi_mpec* m);
/* The linear step `index` of a trajectory at its reference states, with velocities v of the state after it. */
PERP_NODISCARD perp_status perpi_mpec_evaluate_reference(perpi_mpec* m, const perp_model* model,
                                                         const perpi_mpec_trajectory* t,
                                                         int32_t index, const double* v);
/* mpec_parameter.c, for perpi_mpec_build: which parameters change friction alone, and by how much. */
PERP_NODISCARD perp_status perpi_mpec_examine_parameters(perpi_mpec* m);
/* mpec_pattern.c, for perpi_mpec_build. */
PERP_NODISCARD perp_status perpi_mpec_number(perpi_mpec* m);
/* Counts the entries of the derivatives, and names them where there is room for it. */
void perpi_mpec_pattern(perpi_mpec* m);
/* Number of the displacement k of a body among the places of an observation; -1: none. */
int32_t perpi_mpec_place(const perpi_mpec* m, int32_t body, int32_t k, bool velocity);
/* The flat state number `state` of a trajectory at the point z. Prescribed bodies have their reference. */
void perpi_mpec_state(const perpi_mpec* m, const perpi_mpec_trajectory* t, int32_t state,
                      const double* z, double* q, double* v);

/* mpec_evaluate.c. Each is PERP_OK or the status of a model or geometry that does not exist there. */
double perpi_mpec_residual(const perpi_mpec* m, const perpi_mpec_trajectory* t,
                           const perpi_mpec_observation* o, const double* z);
double perpi_mpec_objective(const perpi_mpec* m, const double* z);
void perpi_mpec_gradient(const perpi_mpec* m, const double* z, double* gradient);
PERP_NODISCARD perp_status perpi_mpec_values(perpi_mpec* m, const double* z);   /* into m->value */
PERP_NODISCARD perp_status perpi_mpec_jacobian(perpi_mpec* m, const double* z); /* m->jacobian */
PERP_NODISCARD perp_status perpi_mpec_hessian(perpi_mpec* m, const double* z, double factor,
                                              const double* lambda, double* value);
/* Entries of the Hessian of the objective; fills rows and columns from `at` on if these are not NULL. */
size_t perpi_mpec_objective_pattern(const perpi_mpec* m, size_t at);

/* mpec_law.c: values (law_count), and if not NULL the derivatives by the local unknowns (law_count
 * x local_count) and the sum of lambda times second derivatives (lower triangle by rows), both
 * set. */
void perpi_mpec_law(const perpi_mpec* m, const perpi_mpec_constraint* c, const double* p,
                    const double* lambda, double* value, double* jacobian, double* hessian);

/* mpec_ipopt.c, or without_ipopt.c. */
typedef struct perpi_mpec_options {
    int64_t iterations; /* of all rounds together, at most */
    bool (*progress)(void* user, int64_t iteration, double objective); /* true: end; may be NULL */
    void* user;
    bool again; /* from the solution of the last solve: the last round alone */
} perpi_mpec_options;

typedef struct perpi_mpec_report {
    int64_t iterations;
    int32_t rounds;
    bool solved, cancelled;
    double tau;           /* the smallest that was solved, relative to the speed of the problem */
    double objective;     /* half the sum of squares */
    double infeasibility; /* largest violation of an equation, in its unit */
    double
        complementarity; /* largest min(u, w p) of a contact at the end, a speed relative to the scale */
    char message[160];
} perpi_mpec_report;
bool perpi_mpec_available(void);
PERP_NODISCARD perp_status perpi_mpec_solve(perpi_mpec* m, const perpi_mpec_options* options,
                                            perpi_mpec_report* report);

#endif
