/* src/step/formulate.h - from a state and a list of contacts to a contact problem.
 *
 * Depends only on its arguments: the stepper calls it while running, and `verify` calls it again on
 * recorded numbers.
 *
 * Flat state: spatial 7 + 6 numbers a body (x, quaternion; v, omega), planar 3 + 3 (x, y, angle).
 * Problem: one block for each dynamic body, in order; planar 3 (particle 2), spatial 6 (3).
 */
#ifndef PERPI_FORMULATE_H
#define PERPI_FORMULATE_H

#include <float.h>

#include "contact/contact.h"
#include "model/joints/joint_type.h"
#include "model/model.h"
#include "perp/problem.h"

static inline int32_t perpi_q_stride(const perp_model* model)
{
    return model->dimension == 2 ? 3 : 7;
}

static inline int32_t perpi_v_stride(const perp_model* model)
{
    return model->dimension == 2 ? 3 : 6;
}

perpi_pose perpi_planar_pose(const double* s); /* x, y, angle */
static inline perpi_pose perpi_state_pose(const perp_model* model, const double* q, int32_t body)
{
    if (model->dimension == 2) {
        return perpi_planar_pose(q + 3 * (size_t)body);
    }
    const double* s = q + 7 * (size_t)body;
    const quat turn = {s[3], s[4], s[5], s[6]};
    return (perpi_pose){v3_from(s), turn, q4_matrix(turn)};
}
static inline vec3 perpi_state_velocity(const perp_model* model, const double* v, int32_t body)
{
    return model->dimension == 2 ? v3(v[3 * (size_t)body], v[3 * (size_t)body + 1], 0.0)
                                 : v3_from(v + 6 * (size_t)body);
}

static inline vec3 perpi_state_rate(const perp_model* model, const double* v, int32_t body)
{
    return model->dimension == 2 ? v3(0.0, 0.0, v[3 * (size_t)body + 2])
                                 : v3_from(v + 6 * (size_t)body + 3);
}
void perpi_state_set_pose(const perp_model* model, double* q, int32_t body, const perpi_pose* pose,
                          double angle);
void perpi_state_set_velocity(const perp_model* model, double* v, int32_t body, vec3 velocity,
                              vec3 rate);
/* The offset that an impact leaves: displacements and rotations laid out as v, then for each
 * body whether it is displaced before the step that follows (1) or by it (0).
 * src/sim/impact_time.c gives the reason. */
static inline int32_t perpi_offset_size(const perp_model* model)
{
    return (perpi_v_stride(model) + 1) * (int32_t)model->body_count;
}
/* Displaces the bodies marked `before`. */
void perpi_displace(const perp_model* model, const double* offset, bool before, double* q);
/* Angular velocities at poses q_to with the momentum that v has at poses q. */
void perpi_carry_spin(const perp_model* model, const double* q, const double* q_to, double* v);

/* Whether the inertia is the same about every axis, so that it does not depend on the
 * orientation. */
static inline bool perpi_inertia_round(const perpi_body* body)
{
    return body->round_inertia;
}

/* Inertia in world axes. */
mat3 perpi_world_inertia(const perpi_body* body, const perpi_pose* pose);

/* Force and torque about the centre of mass at time t from gravity and wrenches; not the
 * gyroscopic torque. extra: 6 numbers a body, or NULL. */
PERP_NODISCARD perp_status perpi_add_wrenches(const perp_model* model, double t,
                                              const perpi_pose* pose, const double* extra,
                                              int32_t body, vec3* force, vec3* torque);
PERP_NODISCARD static inline perp_status perpi_external_wrench(const perp_model* model, double t,
                                                               const perpi_pose* pose,
                                                               const double* extra, int32_t body,
                                                               vec3* force, vec3* torque)
{
    const perpi_body* b = &model->body[body];
    *force = v3_scale(b->mass, b->gravity);
    *torque = v3(0, 0, 0);
    return extra == NULL && b->wrench < 0
               ? PERP_OK
               : perpi_add_wrenches(model, t, pose, extra, body, force, torque);
}

/* Angular velocity that the body would have at the end of the step without contacts: torque and
 * gyroscopic term, implicitly, so that angular momentum is conserved for any h. */
vec3 perpi_free_rate(const perpi_body* body, const perpi_pose* pose, vec3 w, double h, vec3 torque);

/* What contacts say about the spin of a body (notation.md, "Rolling and spinning"). */
typedef enum perpi_hold {
    PERPI_HOLD_NONE = 0, /* no contact */
    PERPI_HOLD_PLAIN,
    PERPI_HOLD_DAMPED, /* the velocity-product term after the middle of the step takes energy */
    PERPI_HOLD_LOST,   /* likewise: a contact that was expected to act has no impulse */
} perpi_hold;
/* Of a body with a contact at the point. perpi_hold_against: of one whose spin changes by itself. */
perpi_hold perpi_hold_against(const perpi_body* body, const perpi_pose* pose, vec3 w,
                              const double point[3]);
static inline perpi_hold perpi_hold_at(const perpi_body* body, const perpi_pose* pose, vec3 w,
                                       const double point[3])
{
    return body->dofs < 6 || perpi_inertia_round(body) ? PERPI_HOLD_DAMPED /* N = 0 */
                                                       : perpi_hold_against(body, pose, w, point);
}

/* Time within the step at which the velocity-product term is evaluated, as a part of h
 * (notation.md, "Rolling and spinning"): its end, 1, or near its middle for a body with joints
 * or contacts. */
double perpi_spin_part(const perpi_body* body, perpi_hold hold, double h, vec3 w);

/* Whether a belt or a driven wheel is at the contact: then it determines the drift. */
static inline bool perpi_contact_driven(const perp_model* model, const perp_contact* contact)
{
    return model->surface[perpi_key_shape_a(contact->key)].moving ||
           model->surface[perpi_key_shape_b(contact->key)].moving;
}

/* Mean velocity of a kinematic body over the step (t, t + h), so that x(t) + h v is where it will
 * be: the gap then uses its pose at the end of the step. Static bodies: 0. q: the flat state, for a
 * body that follows its motion with limited speed. */
PERP_NODISCARD perp_status perpi_kinematic_velocity(const perp_model* model, int32_t body, double t,
                                                    double h, const double* q, vec3* v, vec3* w);
PERP_NODISCARD static inline perp_status perpi_prescribed_velocity(const perp_model* model,
                                                                   int32_t body, double t, double h,
                                                                   const double* q, vec3* v,
                                                                   vec3* w)
{
    *v = *w = v3(0, 0, 0);
    return model->body[body].type == PERP_BODY_KINEMATIC
               ? perpi_kinematic_velocity(model, body, t, h, q, v, w)
               : PERP_OK;
}

/* Input of a joint to a step, beside the state: one for each joint. */
typedef struct perpi_joint_input {
    int32_t turns[2];     /* whole turns of its angles at the start of the step */
    double target;        /* of its motor; NaN: the scene's */
    double effort;        /* effort along the axis added by user code and controllers */
    double ease;          /* above 1: errors are closed within ease * h (adaptive.c); INFINITY: they
                             are kept, except the lag of motors (fallback.c) */
    bool slack[3];        /* lower limit, upper limit, rope: open, no row of a projection */
    const double* offset; /* that an impact before the step left (perpi_displace), or NULL */
} perpi_joint_input;

/* What rounding leaves uncertain of a length, relative to the positions that it was computed from. */
#define PERPI_POSE_ROUNDING (8.0 * DBL_EPSILON)

/* Purpose of a formulation. */
typedef enum perpi_purpose {
    PERPI_PURPOSE_STEP,    /* the step's problem */
    PERPI_PURPOSE_MOVE,    /* displacements without speed: k = 0, b = gap or error, h = 1 */
    PERPI_PURPOSE_PROJECT, /* the nearest velocities that the joints allow: k = M v */
    PERPI_PURPOSE_IMPACT,  /* a jump of the velocities: k = M v, b of a contact is its drift */
} perpi_purpose;

/* The constraint of a joint: slot 0 its equality rows (a rope's row), 1 + i its law i. */
typedef struct perpi_joint_place {
    int32_t joint, slot;
} perpi_joint_place;

/* The block of the soft layer of a contact (layers.h). */
typedef struct perpi_layer_place {
    int32_t contact, block;
    int32_t side;     /* the contact's block that it replaces */
    int32_t ties;     /* its first velocities: those of the point on A, held by tie rows; 0: A or B
                         is prescribed, none are needed */
    int32_t yields;   /* then the rates of deflection, 1..3 */
    int32_t tie;      /* constraint that holds them */
    int32_t tie_row;  /* -1: none */
    int32_t core_row; /* -1: none */
    double m, y[3];   /* the mass transferred to the ties, and their velocities at the start */
} perpi_layer_place;

/* Midpoint: the part of the step in which a contact's layer acts as used in a round of
 * perpi_layers_revise() (its share, or the push of one that separates), and the value that
 * resulted. */
typedef struct perpi_layer_way {
    double used, led;
    double low, high;   /* earlier values that gave more, and less; 0: none yet */
    bool touched, left; /* within the step; neither: the layer acts in all of it */
    bool pushed;        /* used is a push */
} perpi_layer_way;

/* Mass that two bodies of a chain share across a joint (frames.c). Twists and wrenches about the
 * origin, scaled. */
typedef struct perpi_frame_tie {
    int32_t joint, constraint, rows;
    int32_t body[2];
    double sign; /* +1: body[1] is b of the joint */
    vec3 origin;
    double length;
    double D[36];      /* moved from body[1] to body[0] */
    double lift[6][6]; /* wrench -> impulses of the joint's rows */
    double y[6];       /* twist of body[0] that the momentum was moved with */
    double b[6];       /* of the rows, that k contains */
} perpi_frame_tie;

/* How a dynamic body takes part in a step with contacts of the middle (roll.c). */
typedef enum perpi_step_part {
    PERPI_PART_START,  /* everything is that of a step of the start */
    PERPI_PART_MIDDLE, /* a middle step */
    PERPI_PART_ABSENT, /* not in the problem; `contact` has none of its contacts */
} perpi_step_part;

typedef struct perpi_formulation perpi_formulation;
struct perpi_formulation {
    perp_context* context;
    perp_contact_problem problem;
    int32_t contact_count; /* constraints: the contacts first, then the joints' */
    int32_t joint_count;   /* constraints of joints */
    perpi_joint_place* place;
    /* owned arrays behind it */
    int32_t* dof;
    int32_t* block_of; /* per body: block, or -1 */
    perpi_pose* pose;  /* per body, at the start of the step */
    perpi_pose* end;   /* at its end, where the stepper evaluates laws there */
    mat3* inertia;     /* per body that turns: in world axes at `end`, where that is evaluated */
    vec3* spin;        /* likewise: angular momentum at the start of the step */
    vec3* given_v;     /* per body: prescribed velocity over the step */
    vec3* given_w;
    double *M, *k, *J, *b, *lower, *upper, *compliance, *b_error;
    double* given;   /* per row: the part of b that is the motion of prescribed bodies and belts */
    double* applied; /* 6 a body: force without gravity, torque; only if any_applied */
    bool any_applied;
    bool midway;      /* the settings' */
    int32_t* nearest; /* per body: its contact with the least gap, -1: none */
    perpi_hold* hold; /* per body: by that contact */
    vec3* gyroscopic; /* per body: I w_free - (I w + theta h torque); 0 where it is not in k */
    perp_constraint* constraint;
    perp_group* group;
    int32_t* member; /* of all groups, one after another */
    size_t group_capacity, member_capacity;
    size_t body_room; /* bodies for which the arrays of bodies have room */
    size_t dof_capacity, block_capacity, pose_capacity, end_capacity, given_v_capacity,
        given_w_capacity, inertia_capacity, spin_capacity;
    size_t M_capacity, k_capacity, J_capacity, b_capacity, constraint_capacity;
    size_t lower_capacity, upper_capacity, compliance_capacity, place_capacity, b_error_capacity;
    size_t given_capacity, applied_capacity, gyroscopic_capacity, hold_capacity, nearest_capacity;
    double*
        wrench; /* 6 a body: what user code and explicit springs add; only where there are such */
    int32_t force_row; /* rows of springs and controllers: the first */
    double* error;     /* per controller: see force_rows.c */
    size_t wrench_capacity, error_capacity;
    double* rounding; /* of k, where it is formulated at the end of the step */
    size_t rounding_capacity;
    bool supported;                          /* bodies lie on the plane: support_rows.h */
    int32_t support_row, support_constraint; /* the first of these */
    int32_t body_dofs; /* velocities of bodies; those of layers' and supports' blocks follow */
    double h, theta;   /* of the step; its velocities are (1 - theta) v_old + theta v_new */
    const double*
        start_v;         /* flat velocities at the start, for rotors; NULL: no inertia. Borrowed */
    bool middle;         /* a middle step (middle.c): `end` are the poses of its middle */
    bool again;          /* of the input */
    const double* q_end; /* likewise, of a middle step. Borrowed */
    bool rolls;          /* and its contacts are those of the middle (roll.c) */
    const uint8_t* part; /* of the input. Borrowed */
    perpi_frame_tie* tie;
    int32_t tie_count;
    size_t tie_capacity;
    perpi_layer_place* layer;
    int32_t layer_count;
    size_t layer_capacity;
    struct perpi_tied* tied; /* bodies with ties: layer_ties.c */
    int32_t tied_count;
    size_t tied_capacity;
    perpi_joint_view* view; /* of a middle step, per joint: at the start, then at the end */
    size_t view_capacity;
    double* force; /* k + J' p, where there are ties */
    size_t force_capacity;
    double* check; /* scratch of a residual check, where there are ties */
    size_t check_capacity;
    perpi_layer_way* way; /* per contact */
    size_t way_capacity;
    int32_t constraints, rows; /* while it is being built */
    size_t jac, M_used;
};

/* Whether a body has a middle step, and theta of its step. */
static inline bool perpi_body_middle(const perpi_formulation* f, int32_t body)
{
    return f->middle && (f->part == NULL || f->part[body] == PERPI_PART_MIDDLE);
}

static inline double perpi_body_theta(const perpi_formulation* f, int32_t body)
{
    return f->part == NULL || f->part[body] == PERPI_PART_MIDDLE ? f->theta : 1.0;
}

/* Likewise of a contact: both of its bodies are of one part, or fixed. */
static inline double perpi_contact_theta(const perpi_formulation* f, const perp_contact* c)
{
    return f->part == NULL || f->part[c->body_a] == PERPI_PART_MIDDLE ||
                   f->part[c->body_b] == PERPI_PART_MIDDLE
               ? f->theta
               : 1.0;
}

PERP_NODISCARD perp_status perpi_formulation_create(perp_context* context,
                                                    perpi_formulation** formulation);
void perpi_formulation_destroy(perpi_formulation* formulation);

/* Reserves so many more constraints, rows and entries of J. */
PERP_NODISCARD perp_status perpi_formulation_room(perpi_formulation* f, size_t constraints,
                                                  size_t rows, size_t jac);
/* Appends a constraint between two bodies (-1: the world) that is not a contact; motion of
 * prescribed bodies enters b. Used by joint_rows.c, force_rows.c and others. */
PERP_NODISCARD perp_status perpi_formulation_append(perpi_formulation* f, const perp_model* model,
                                                    perp_constraint_kind kind,
                                                    const int32_t body[2], const perpi_row* row,
                                                    int32_t rows, uint64_t key);

/* The rows of a joint, a spring or the like on one of its bodies, which must be dynamic; returns the end. */
double* perpi_joint_jacobian(const perp_model* model, int32_t body, int side, const perpi_row* row,
                             int32_t rows, double* J);

/* A middle step: k_error from the rounding of the joints' arms, which act on impulses p. */
void perpi_formulation_round_arms(perpi_formulation* f, const perp_model* model, const double* p);

/* Reserves so many blocks in total. */
PERP_NODISCARD perp_status perpi_formulation_blocks(perpi_formulation* f, size_t blocks);
/* The rows of a contact on one of its bodies, which must be dynamic; returns the end. pose: per
 * body; start: those at the start of the step where these are of its end, else NULL. */
double* perpi_contact_rows(const perp_model* model, const perpi_pose* pose, const perpi_pose* start,
                           const perp_contact* contact, int side, int32_t rows, double* J);

/* The settings of all steppers; each has a table of those it reads (step.h). */
typedef struct perpi_step_settings {
    bool linear_rotation; /* the scene's "rotation": q + h G nu as in the papers */
    perp_cone cone;       /* the scene's cone, for supports */
    int32_t directions;   /* of a polygon */
    double inertia;       /* quasistatic: s of perpi_formulate_at_rest, 1 when it is checked */
    bool midpoint;        /* compliant: forces of the layers at the middle of the step */
    bool midway;          /* spin and rolling as at the middle of the step: perpi_spin_part */
    bool limits_joints;   /* errors of joints are closed slowly where that would gain energy */
    bool joint_middle;    /* directions of joints at the middle of the step: middle.c */
    bool joint_chosen;    /* because that was chosen, not asked for */
    bool rolling_middle;  /* contacts of rolling bodies at the middle of the step: roll.c */
    bool rolling_chosen;  /* likewise */
    double smooth;        /* barrier parameter of smoothed laws (smooth_step.h); 0: none */
    double smooth_time;   /* likewise: the duration of the run */
    bool no_gap;          /* rows of contacts read u_n >= 0, not psi/h + u_n >= 0 */
    double closed_gap;    /* anitescu-potra: closed gap, relative to a body's size */
} perpi_step_settings;

/* Input of the formulation of a step. */
typedef struct perpi_step_input {
    const perp_model* model;
    double t, h;
    const double *q, *v;    /* flat state at t */
    const perpi_pose* pose; /* of the bodies at q; NULL: made from it */
    const double* extra;    /* 6 numbers a body (force, torque), or NULL */
    const perp_contact* contact;
    int32_t contact_count;
    const perpi_hold* hold; /* per body: how contacts hold its spin; NULL: found from them */
    bool acted; /* `contact` has the impulses of a solution: only what has one holds a spin */
    const perpi_joint_input* joint; /* one for each joint of the model */
    const double* s;                /* memory of springs and controllers (force_rows.h) */
    /* The state at t + h as found in the previous outer iteration, for steppers that evaluate
     * laws at the end of the step; q and v in the first one. A recording's verifier passes the
     * recorded ones. */
    const double *q_end, *v_end;
    /* A middle step (middle.c): v_end are its mean velocities, which lead from q to q_end. */
    bool middle;
    bool again; /* likewise: q and turns are those of the last problem of f, a middle step's, too */
    bool rolls; /* likewise, and `contact` are those of the middle (roll.c) */
    const uint8_t*
        part; /* per body: its perpi_step_part in such a step; NULL: all bodies have the middle */
    const perpi_step_settings* settings;
} perpi_step_input;

/* Whether the spin of any body depends on whether a contact holds it. */
bool perpi_holds_expected(const perpi_formulation* f, const perp_model* model);
/* Whether these impulses hold the spins otherwise than the problem has it: a body without joints that was
 * expected to be held has none, or one that had lost its contact has one. */
bool perpi_holds_differ(perpi_formulation* f, const perp_model* model, const perp_contact* contact,
                        int32_t count);

/* Value of perp_step_info.corrections for a middle step. */
#define PERPI_STEP_MIDDLE (-2)
/* Likewise for one whose contacts are those of the middle. -1 and -3: repair.h. */
#define PERPI_STEP_ROLLING (-4)
/* Likewise of some bodies, beside others with a step of the start. */
#define PERPI_STEP_PARTS (-5)

/* The pose of a body after half of a middle step from `pose` with the mean velocities v. */
perpi_pose perpi_middle_pose(const perpi_step_input* in, const double* v, int32_t body,
                             perpi_pose pose);

/* [B09 (2.78)] in the form of perp/problem.h. */
PERP_NODISCARD perp_status perpi_formulate(perpi_formulation* f, const perpi_step_input* in);

/* Which quantities a stepper evaluates at the end of the step instead of its start. */
typedef enum perpi_evaluation {
    PERPI_EVALUATE_START = 0,    /* nothing: one problem a step */
    PERPI_EVALUATE_FORCES = 1,   /* wrenches, springs that are not rows, inertia */
    PERPI_EVALUATE_GEOMETRY = 2, /* and the contacts: in->contact are those at q_end, and their gaps
                               there are what the laws read */
    PERPI_EVALUATE_REST = 3      /* v_end only, and no inertia: perpi_formulate_at_rest */
} perpi_evaluation;
/* The problem with forces (and contacts) at in->q_end, in->v_end, t + h. At a fixed point, where
 * its solution leads to (q_end, v_end) again, the laws hold at the end of the step. */
PERP_NODISCARD perp_status perpi_formulate_at_end(perpi_formulation* f, const perpi_step_input* in,
                                                  perpi_evaluation evaluation);
/* The same without inertia: forces alone must balance, [B09 (3.29)]. The problem has M = s M^ +
 * h D, k = s M^ v_end + h f, s = settings->inertia and M^ the masses: a solution with v = v_end
 * satisfies 0 = h (f - D v) + J' p. */
PERP_NODISCARD perp_status perpi_formulate_at_rest(perpi_formulation* f,
                                                   const perpi_step_input* in);
/* Bodies at their poses, and their contacts and joints. */
typedef struct perpi_placed {
    const double *q, *v; /* flat */
    const perp_contact* contact;
    int32_t contact_count;
    const perpi_joint_input* joint; /* one for each joint of the model */
} perpi_placed;
/* A formulation for another purpose than a step. Contacts have one row then, with b = gap / h
 * (>= 0 when projecting: penetration may remain), joints their equality rows, ropes and limits. */
PERP_NODISCARD perp_status perpi_formulate_other(perpi_formulation* f, const perp_model* model,
                                                 perpi_purpose purpose, double h,
                                                 const perpi_placed* at);

/* J v of a row of a constraint. */
double perpi_formulation_speed(const perpi_formulation* f, int32_t constraint, int32_t row,
                               const double* v_problem);
/* Flat velocities <-> the problem's. Bodies that are not dynamic are not changed. */
void perpi_formulation_gather_v(const perpi_formulation* f, const perp_model* model,
                                const double* v_flat, double* v_problem);
void perpi_formulation_scatter_v(const perpi_formulation* f, const perp_model* model,
                                 const double* v_problem, double* v_flat);
/* Impulses of the contacts <-> the rows of the problem. */
void perpi_formulation_gather_p(const perpi_formulation* f, const perp_contact* contacts,
                                double* p);
void perpi_formulation_scatter_p(const perpi_formulation* f, const double* p,
                                 perp_contact* contacts);

#endif
