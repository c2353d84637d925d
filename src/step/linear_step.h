/* src/step/linear_step.h - the derivative of a step that was taken, from its solution.
 *
 * Method     docs/notation.md, "Derivatives of a step"
 * Notation   x = (displacements of the poses, velocities, integrals of controllers, displacements of the poses of the
 *            step before, the offset of an impact), laid out as perpi_linear_size says; v', p the solution of the step's problem
 *
 * With its active set frozen (open, sticking, sliding, at a bound, which member of a group acts)
 * the laws of a step are equations, and their linear form is
 *     M dv' - J' dp = r_v,     A (R dv' + r_u) + B dp = g
 * with r_v, r_u, g what the start of the step and the parameters change at fixed (v', p). R = J, except where a
 * member of a group pushes while another one closes. One factorisation in the space of the bodies,
 *     K = M + J' D R,  D = B~^-1 A,  B~ = B with a small part added where a row is rigid,
 * and iterative refinement with B itself. The adjoint has K', so that one factorisation serves one of the two.
 */
#ifndef PERPI_LINEAR_STEP_H
#define PERPI_LINEAR_STEP_H

#include "step/row_derivative.h"
#include "step/step.h"

/* What a step cannot be differentiated through exactly, or what makes its derivative one-sided. */
typedef enum perpi_linear_flag {
    PERPI_LINEAR_WEAK = 1,     /* a contact, limit or bound is at the border of its state */
    PERPI_LINEAR_CHOICE = 2,   /* a rule of the scheme is at the border of its cases */
    PERPI_LINEAR_FALLBACK = 4, /* the step was solved with other laws than the scene's */
    PERPI_LINEAR_SINGULAR = 8, /* the linear system has no unique solution */
    PERPI_LINEAR_UNDETERMINED =
        16,                  /* impulses are not unique, and the derivative may depend on them */
    PERPI_LINEAR_ROLLS = 32, /* a contact rolls exactly, where two cases of its rule meet */
} perpi_linear_flag;

/* A step in time that was taken. */
typedef struct perpi_taken_step {
    perpi_step_input in; /* its start; contacts with the impulses of its solution */
    const double*
        s_end; /* impulses of springs, supports and controllers, and the integrals after it */
    const perp_joint_record* joint_end;
    const double* v_solved;      /* flat: velocities that solved it */
    const double *q_end, *v_end; /* flat: the state after it */
    bool carries;                /* the state keeps angular momentum (momentum.h) */
    bool free;      /* no constraint acts; its end is that of free bodies and not read */
    bool corrected; /* joints are closed at its end, and velocities projected (joint_correction) */
    bool
        middle; /* a middle step (middle.c): v_solved are its mean velocities. Not with corrected */
    bool rolls; /* and the contacts are those of its middle (roll.c) */
    bool impact; /* an impact by Newton's law instead of a step in time; h is not read */
    /* The step before, for the slip of rolling contacts (rolling.c); NULL: there was none. */
    const double* q_before;
    const perp_contact* contact_before;
    int32_t contact_before_count;
    double h_before;
    bool rolled_before;       /* its contacts are those of its middle */
    const bool* loose_before; /* per contact of it: perpi_linear_step_loose; NULL: not known */
    /* Fixed steps with restitution: impacts have times, and leave an offset of the poses
     * (src/sim/impact_time.c). */
    const double* offset;        /* at the start (perpi_offset_size); NULL: there is none */
    const double* offset_end;    /* after an impact; NULL: impacts have no times */
    double h_meeting, h_nominal; /* of an impact: the step in which it happens, the scene's step */
    /* of an impact: the step that follows without its contacts, for the change of velocity until
     * its time; NULL: not known */
    const struct perpi_taken_step* without;
} perpi_taken_step;

typedef struct perpi_linear_report {
    double margin;             /* the smallest distance from a change of state, relative */
    int32_t margin_constraint; /* where */
    int32_t weak;              /* constraints below the threshold */
    unsigned flags;            /* perpi_linear_flag */
} perpi_linear_report;

typedef struct perpi_linear_step perpi_linear_step;
PERP_NODISCARD perp_status perpi_linear_step_create(perp_context* context, perpi_linear_step** l);
void perpi_linear_step_destroy(perpi_linear_step* l);

/* Numbers of a displacement of the state, and where its parts begin. */
typedef struct perpi_linear_size {
    int32_t n; /* velocities: 6 (planar 3) a body, prescribed ones included */
    int32_t q, v, s, before;
    int32_t offset; /* of the poses, after an impact; total: the model has no restitution */
    int32_t total;
} perpi_linear_size;
perpi_linear_size perpi_linear_size_of(const perp_model* model);

typedef struct perpi_linear_options {
    bool transposed;    /* for the adjoint */
    double threshold;   /* of the margin */
    bool other;         /* constraints below the threshold have their other state */
    bool shifted;       /* other impulses, where they are not unique */
    bool other_rolling; /* contacts that roll exactly have the other case of their rule */
    bool one_sided;     /* for perpi_linear_step_direction; not with the three above */
    bool
        memory; /* perpi_linear_step_memory is used: without it, slips that depend on impulses of the step before are
                       * flagged */
} perpi_linear_options;

/* Reads the solution, chooses the active set, differentiates the rows. The step must stay until the next call.
 * PERP_ERROR_UNSUPPORTED: a contact without a derivative; the message names it. */
PERP_NODISCARD perp_status perpi_linear_step_make(perpi_linear_step* l,
                                                  const perpi_taken_step* step,
                                                  const perpi_linear_options* options);
const perpi_linear_report* perpi_linear_step_report(const perpi_linear_step* l);
/* That of another choice, where this one is only compared with it. */
void perpi_linear_step_set_report(perpi_linear_step* l, const perpi_linear_report* report);

bool perpi_linear_step_is_impact(const perpi_linear_step* l);
/* Whether no constraint has an impulse or an active law. */
bool perpi_linear_step_free(const perpi_linear_step* l);

/* What a change of parameters alone changes of a step, at its state and its solution: the rows of
 * the residual, and the state after it. Laid out as perpi_linear_step_parameter_size says. */
int32_t perpi_linear_step_parameter_size(const perpi_linear_step* l);
/* These numbers with another model of the same structure, at another time or with another length of
 * the step; weight times them is added to out. Differences over several variations give
 * derivatives. */
typedef struct perpi_variation {
    const perp_model* model;
    bool geometry; /* sizes or places of shapes differ */
    double dt, dh;
} perpi_variation;
PERP_NODISCARD perp_status perpi_linear_step_vary(perpi_linear_step* l, const perpi_variation* by,
                                                  double weight, double* out);

/* Derivatives by numbers of the model that need no variation of the whole step, per body, shape and
 * pair; inertia: of planar bodies about z, of round ones about any axis. */
typedef struct perpi_linear_light {
    double *mass, *inertia, *gravity, *drag; /* 1, 1, 3, 2 a body */
    double *friction_body, *friction_shape, *friction_pair;
} perpi_linear_light;
/* Adds those of the step by the multipliers of its adjoint. */
void perpi_linear_step_light(const perpi_linear_step* l, const double* multiplier,
                             perpi_linear_light* light);

/* One such number: value times what it changes of the step is added to a parameter vector. Not of impacts. */
typedef enum perpi_light_kind {
    PERPI_LIGHT_MASS,
    PERPI_LIGHT_INERTIA,
    PERPI_LIGHT_GRAVITY, /* part 0..2 */
    PERPI_LIGHT_DRAG,    /* part 0, 1 */
    PERPI_LIGHT_FRICTION_BODY,
    PERPI_LIGHT_FRICTION_SHAPE,
    PERPI_LIGHT_FRICTION_PAIR,
} perpi_light_kind;
void perpi_linear_step_light_change(const perpi_linear_step* l, perpi_light_kind kind,
                                    int32_t index, int32_t part, double value, double* parameter);

/* The rows of a step in time by the velocity of a prescribed body over it: d u = J (dv, dw), and
 * they are `row` and those after it of the rows. A parameter of its motion changes these velocities
 * and the state after the step, and nothing else, as long as contacts alone connect the body with
 * others (perpi_linear_meets_contacts_only). */
typedef struct perpi_given_rows {
    int32_t body, row, rows;
    double J[4][6];
} perpi_given_rows;
bool perpi_linear_meets_contacts_only(const perp_model* model, int32_t body);
/* Those of the bodies for which `wanted` (per body) is true; valid until the next call. */
PERP_NODISCARD perp_status perpi_linear_step_given(perpi_linear_step* l, const bool* wanted,
                                                   const perpi_given_rows** rows, int32_t* count);
/* Where the rows, and the state after the step, begin in a parameter vector. */
int32_t perpi_linear_step_rows_at(const perpi_linear_step* l);
int32_t perpi_linear_step_next_at(const perpi_linear_step* l);

/* The slip of some rolling contacts depends on impulses of the step before (rolling.h). Beside the
 * displacements of the state a caller carries those of the impulses of contacts, three each:
 * before: of the contacts of the step before, after: of this step's. Forward before is read and
 * after written; the adjoint adds to before, and reads after. They hold for the calls that follow;
 * NULL: nothing is carried. */
void perpi_linear_step_memory(perpi_linear_step* l, double* before, double* after);
/* From here on contacts that roll exactly have the other case of their rule. */
void perpi_linear_step_roll_otherwise(perpi_linear_step* l);
/* Whether the impulse of a contact is not unique, so that its displacement is not known. */
bool perpi_linear_step_loose(const perpi_linear_step* l, int32_t contact);

/* dx: at the start; parameter: NULL, or the change by a parameter as above; dx_next: after the step. */
PERP_NODISCARD perp_status perpi_linear_step_forward(perpi_linear_step* l, const double* dx,
                                                     const double* parameter, double* dx_next);
/* The same at a step with weak constraints, for the direction (dx, parameter): what a positive
 * multiple of it changes, to first order. Not linear in the direction. resolved: false if a weak
 * constraint has no one-sided law, or their problem was not solved; its base law holds then. */
PERP_NODISCARD perp_status perpi_linear_step_direction(perpi_linear_step* l, const double* dx,
                                                       const double* parameter, double* dx_next,
                                                       bool* resolved);
/* y_next: derivatives of a number by the state after the step; y: by the state at its start.
 * multiplier: NULL, or room for those of the changes by parameters: the derivative by a parameter
 * is their product. */
PERP_NODISCARD perp_status perpi_linear_step_adjoint(perpi_linear_step* l, const double* y_next,
                                                     double* y, double* multiplier);

#endif
