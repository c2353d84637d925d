/* src/step/linear_parts.h - the parts of a linearised step (linear_step.h), shared by its files.
 *
 * linear_body.c   mass, spin, rotation and carried momentum of each body
 * linear_system.c the matrix in the space of the bodies, and its solution
 * linear_state.c  what the state at the start changes, and the state after the step
 * linear_vary.c   what parameters change
 * linear_terms.c  terms of rows that act on more than a pair of bodies
 * linear_correct.c joints that are closed at the end of a step, and the projection of the velocities
 * linear_middle.c middle steps, whose rows depend on the poses at their end
 * linear_roll.c   middle steps of rolling bodies, whose contacts are those of the middle and of the end
 * linear_given.c  what the velocities of prescribed bodies change
 * linear_impact.c impacts of fixed steps, and the offset of the poses that they leave
 * linear_displaced.c steps that start displaced by such an offset
 * linear_direction.c one-sided derivatives
 * linear_point.c  a step's equations at a point that does not solve it
 */
#ifndef PERPI_LINEAR_PARTS_H
#define PERPI_LINEAR_PARTS_H

#include "contact/derivative.h"
#include "linalg/block_lu.h"
#include "step/active_law.h"
#include "perp/solve.h"
#include "step/linear_step.h"
#include "step/weak_law.h"

/* The part of a dynamic body, angular: 3 x 3 matrices. Of planar bodies [2][2] alone is used. */
typedef struct perpi_linear_body {
    int32_t body, block;
    bool turns;   /* has angular velocities */
    bool unround; /* its inertia depends on its orientation */
    double mass;
    mat3 I;                       /* world, at the start */
    mat3 spin_turn;               /* d (angular part of k) by the rotation, torque apart */
    mat3 spin_rate;               /* by the angular velocity at the start */
    mat3 spin_torque;             /* by h torque */
    mat3 M_turn;                  /* d (M w') by the rotation */
    mat3 force_turn, torque_turn; /* h d (force, torque of wrenches) by the rotation */
    mat3 turn_turn, turn_rate;    /* d (rotation after the step) by that before it, and by w' */
    mat3 turn_offset;             /* and by that of the offset */
    /* angular velocity of the state after the step: dw_s = carry_turn dphi' + carry dL,
     * dL = L_turn dphi + L_next dw' + L_rate dw + L_torque h dtorque */
    mat3 carry_turn, carry, L_turn, L_next, L_rate, L_torque;
    mat3 middle_force,
        middle_torque; /* of a middle step: d (M v* - k) by w*, through the pose at the middle */
    mat3 half_turn, half_rate; /* likewise: the rotation half way by that at the start, and by w* */
    double push[6][6];         /* of a rolling body: d (J' p) by v*, velocities of the problem */
    double M_inverse[12];      /* linear 3, then angular 9 */
} perpi_linear_body;

/* Of a middle step: rows and impulses of a joint by the poses at its end. */
typedef struct perpi_linear_end {
    int32_t constraint; /* -1: a known impulse */
    perpi_constraint_derivative d;
} perpi_linear_end;

/* A contact of a step of a rolling body (roll.c): its features at the middle and at the end, which slip it had, and
 * its speeds and impulse by the pose and the velocity at the start. */
typedef struct perpi_rolling_contact {
    bool known, slides;
    perpi_frozen_contact middle, end;
    perpi_constraint_derivative d;
    double rate[4][PERPI_PAIR_DOFS];
} perpi_rolling_contact;

/* A contact of an impact that has a time: derivatives by q, v, the offset, and the changes of
 * velocity in the step without the contacts of the impact and of free bodies; columns as of
 * perpi_constraint_derivative. */
enum { PERPI_MEETING_PARTS = 5 };
typedef struct perpi_meeting {
    bool impacts;              /* rebounds; else drift is of a contact at rest */
    int32_t first;             /* of its pair: the contact whose time it has */
    double e;                  /* of Newton's law */
    double u, gap, bend, pull; /* normal velocity, gap, its changes in the step (impact.c) */
    double u_meeting, own;     /* u and the time by itself */
    double time[PERPI_MEETING_PARTS][PERPI_PAIR_DOFS];  /* d own */
    double drift[PERPI_MEETING_PARTS][PERPI_PAIR_DOFS]; /* d drift[0] */
} perpi_meeting;
/* The offset of a body changes by -time (v+ - v-); of two bodies that act only on each other the
 * linear part of that along their relative velocity. */
typedef struct perpi_body_time {
    double time;
    int32_t contact; /* whose time it is; -1: none */
    int32_t partner; /* the other of two such bodies; -1: none */
} perpi_body_time;
/* A body that the offset displaces before the step: its rotation there by its own and the offset's,
 * and its angular velocity by both rotations and its own. */
typedef struct perpi_displaced_body {
    int32_t body;
    mat3 turn, turn_offset, rate_turned, rate_turn, rate;
} perpi_displaced_body;

struct perpi_linear_step {
    perp_context* context;
    perpi_formulation *f, *varied;
    perpi_block_lu* lu;
    perpi_taken_step step;
    perpi_linear_options options;
    perpi_linear_report report;
    perpi_columns columns;
    int32_t dofs, rows;
    /* per dof and row */
    double *v, *p, *u, *w, *size, *work;
    size_t v_capacity, p_capacity, u_capacity, w_capacity, size_capacity, work_capacity;
    perpi_law* law;
    size_t law_capacity;
    perpi_constraint_derivative* d; /* those that count */
    int32_t* d_of;                  /* per constraint: its place in d; -1: none */
    size_t d_capacity, d_of_capacity;
    int32_t d_count;
    perpi_row_term* term; /* what their constraints have beyond them */
    size_t term_capacity;
    int32_t term_count;
    perpi_constraint_derivative* force; /* of efforts of joints and explicit springs */
    double* force_rate;                 /* 144 each: by velocities */
    bool* force_spring;
    size_t force_capacity, force_rate_capacity, force_spring_capacity;
    int32_t force_count;
    perpi_linear_body* body;
    size_t body_capacity;
    int32_t body_count;
    double* v_start; /* velocities of the problem at the start */
    double* rebound; /* impacts, per contact: e of its law; 0: it does not rebound */
    size_t v_start_capacity, rebound_capacity;
    /* impulses of the step before, and of this one */
    double *memory_before, *memory_after;
    bool* loose; /* per contact */
    size_t loose_capacity;
    /* impacts with times */
    bool met, knows_gain;
    perpi_linear_step *without, *free; /* the step without their contacts, and with no constraint */
    perpi_meeting* meeting;            /* per contact */
    size_t meeting_capacity;
    perpi_body_time* body_time; /* per body */
    size_t body_time_capacity;
    double*
        gain; /* d changes of velocity in these two, or derivatives by them; room for two states */
    size_t gain_capacity;
    /* a displaced start: poses, velocities, the rest of the offset, and room for a state */
    perpi_displaced_body* displaced;
    size_t displaced_capacity;
    int32_t displaced_count;
    double* displaced_room;
    size_t displaced_room_capacity;
    /* joint_correction: R of the rows, what displacements at the end change of those that hold
     * there (12 a row, over h), three states and the velocities of the problem; the projection
     * after the step, what holds in it, and its velocities */
    double *R, *closed_by, *middle, *carried;
    size_t R_capacity, closed_capacity, middle_capacity, carried_capacity;
    perpi_linear_step* project;
    bool ends; /* rows of joints hold at the end of the step: corrected, or a middle step */
    perpi_linear_end* end;
    size_t end_capacity;
    int32_t end_count;
    perpi_rolling_contact* rolling; /* per contact */
    perpi_pose* pose_end;
    size_t rolling_capacity, pose_end_capacity;
    perpi_joint_input* held;
    int32_t* held_contact; /* their indices in the step */
    size_t held_capacity, held_contact_capacity;
    int32_t held_count;
    /* pattern of K */
    int32_t *start, *column, *fill;
    size_t start_capacity, column_capacity, fill_capacity;
    /* variation of parameters */
    perp_contact* contact;
    size_t contact_capacity;
    perpi_frozen_contact* frozen;
    size_t frozen_capacity;
    double* v_free; /* flat: of a step with no constraint */
    size_t v_free_capacity;
    double *q_next, *v_next, *s_next;
    size_t q_next_capacity, v_next_capacity, s_next_capacity;
    bool frozen_done;
    perpi_given_rows* given;
    size_t given_capacity;
    perpi_solved solved;
    perpi_pose* pose_before;
    size_t pose_before_capacity;
    /* one-sided derivatives */
    perpi_weak_pair* pair;
    size_t pair_capacity;
    int32_t pair_count;
    bool pairs_known; /* all weak constraints have pairs */
    double* weak_room;
    size_t weak_room_capacity;
    int32_t* weak_index;
    size_t weak_index_capacity;
    perp_lcp_solver* lcp;
    struct perpi_smooth_laws* smooth; /* of smoothed steps; else NULL */
};

/* linear_step.c: room for the arrays of the formulated problem; then u, w and the sizes of its rows; then the
 * derivatives of the rows whose law acts or that have an impulse. */
PERP_NODISCARD perp_status perpi_linear_room(perpi_linear_step* l);
void perpi_linear_evaluate_rows(perpi_linear_step* l);
PERP_NODISCARD perp_status perpi_linear_differentiate_rows(perpi_linear_step* l);
/* The right-hand side of a displacement of the state and of a parameter. */
void perpi_linear_right_side(const perpi_linear_step* l, const double* dx, const double* parameter,
                             double* r_v, double* r_u, double* c);
/* The state after the step, from the velocities. */
PERP_NODISCARD perp_status perpi_linear_finish(perpi_linear_step* l, const double* dx,
                                               const double* parameter, const double* dv,
                                               double* dx_next);
/* linear_direction.c: base laws and pairs of weak constraints. */
PERP_NODISCARD perp_status perpi_linear_weaken(perpi_linear_step* l, const perpi_law_input* in);
void perpi_linear_weak_free(perpi_linear_step* l);

/* linear_step.c: of the parameter vector without the part of l->without, and of the step itself. */
int32_t perpi_linear_own_size(const perpi_linear_step* l);
int32_t perpi_linear_plain_size(const perpi_linear_step* l);

/* linear_correct.c: whether the rows of a constraint hold at the end of the step. */
bool perpi_linear_closes(const perpi_linear_step* l, int32_t constraint);
/* The velocities after the step, before they are projected, into l->carried. */
PERP_NODISCARD perp_status perpi_linear_carry(perpi_linear_step* l);
/* These rows: their speeds, R, derivatives; then the part of displacements at the start in r_u, its
 * transpose, and that of a variation, whose end is l->q_next. */
PERP_NODISCARD perp_status perpi_linear_close_rows(perpi_linear_step* l);
void perpi_linear_close(const perpi_linear_step* l, const double* dx, double* r_v, double* r_u);
void perpi_linear_close_adjoint(const perpi_linear_step* l, const double* m_v, const double* m_u,
                                double* y);
void perpi_linear_close_vary(const perpi_linear_step* l, const perpi_step_input* in, double weight,
                             double* r_u);
/* The projection after the step: dx is that after the step, and becomes that of the state. */
PERP_NODISCARD perp_status perpi_linear_make_projection(perpi_linear_step* l);
PERP_NODISCARD perp_status perpi_linear_project(perpi_linear_step* l, const double* parameter,
                                                double* dx);
PERP_NODISCARD perp_status perpi_linear_project_adjoint(perpi_linear_step* l, const double* y_next,
                                                        double* y, double* multiplier);
int32_t perpi_linear_projected_size(const perpi_linear_step* l); /* of its parameters */
PERP_NODISCARD perp_status perpi_linear_project_vary(perpi_linear_step* l, const perp_model* model,
                                                     double weight, double* out);
/* linear_vary.c: out += weight (k - M v' + J' p, J v' + b + c p, mu and bounds) of the formulation l->varied. */
void perpi_linear_add_varied(const perpi_linear_step* l, double weight, double* out);

/* linear_impact.c: the meetings of an impact; flags what does not follow its rules. */
PERP_NODISCARD perp_status perpi_linear_meetings(perpi_linear_step* l);
/* Whether the offset displaces bodies before the step, not by it. */
bool perpi_linear_starts_displaced(const perpi_linear_step* l);
/* The gap of a contact in a step with an offset: adds its derivatives. */
PERP_NODISCARD perp_status perpi_linear_shift_gap(const perpi_linear_step* l, int32_t contact,
                                                  perpi_constraint_derivative* d);
/* What the offset adds to the gap of a contact. */
double perpi_linear_shifted_gap(const perpi_linear_step* l, const perp_contact* contact);
/* Into l->gain; and the transpose: y += by l->gain, multiplier (NULL: none): its last part. */
PERP_NODISCARD perp_status perpi_linear_gain(perpi_linear_step* l, const double* dx,
                                             const double* parameter);
PERP_NODISCARD perp_status perpi_linear_gain_adjoint(perpi_linear_step* l, double* y,
                                                     double* multiplier);
int32_t perpi_linear_gain_size(const perpi_linear_step* l); /* of their parameters */
PERP_NODISCARD perp_status perpi_linear_gain_vary(perpi_linear_step* l, const perpi_variation* by,
                                                  double weight, double* out);
/* The part of meetings in linear_state.c. */
void perpi_linear_meeting_residual(const perpi_linear_step* l, const double* dx, double* r_u);
void perpi_linear_meeting_residual_adjoint(const perpi_linear_step* l, const double* m_u,
                                           double* y);
void perpi_linear_offset(const perpi_linear_step* l, const double* dx, const double* dv_problem,
                         double* next);
void perpi_linear_offset_adjoint(const perpi_linear_step* l, const double* y_next, double* y,
                                 double* m);
/* With other geometries l->contact and another model: adds the drift of each contact to b of
 * l->varied, and weight times the change of the offset. */
void perpi_linear_meeting_vary(const perpi_linear_step* l, const perp_model* model, double weight,
                               double* offset);
/* Where the displacement of column c of two bodies stands; -1: nowhere. */
int32_t perpi_linear_place(const perpi_linear_step* l, const int32_t body[2], int32_t c);

/* linear_body.c: the second for the rotation of forces at a pose, by h times them. */
PERP_NODISCARD perp_status perpi_linear_bodies(perpi_linear_step* l);
void perpi_linear_wrenches(const perp_model* model, double t, double h, const perpi_pose* pose,
                           perpi_linear_body* b);
/* The rotation after the step. */
void perpi_linear_rotation(const perpi_linear_step* l, perpi_linear_body* b, vec3 w);

/* linear_middle.c: of a body; of the rows, and R of those that do not hold at the end. */
PERP_NODISCARD perp_status perpi_linear_middle_body(const perpi_linear_step* l,
                                                    perpi_linear_body* b);
PERP_NODISCARD perp_status perpi_linear_middle_rows(perpi_linear_step* l);
/* M v* - k - J' p changes with v* by M + X: adds X, or its transpose, to the matrix, and subtracts X v from x. */
void perpi_linear_middle_factor(perpi_linear_step* l);
void perpi_linear_middle_subtract(const perpi_linear_step* l, const double* v, double* x);
/* Displacements of the poses at the end, and the transpose. */
void perpi_linear_middle_end(const perpi_linear_step* l, const double* dq, double* r_v,
                             double* r_u);
void perpi_linear_middle_end_adjoint(const perpi_linear_step* l, const double* m_v,
                                     const double* m_u, double* yq);

/* linear_roll.c: of a step of a rolling body. R of its contacts that push, and their part in push of the body; then the
 * rows of one of them, what velocities at the start change of r_u (nothing in other steps), and the transpose. */
PERP_NODISCARD perp_status perpi_linear_roll_rows(perpi_linear_step* l);
void perpi_linear_roll_row(perpi_linear_step* l, int32_t contact, perpi_constraint_derivative* d);
void perpi_linear_roll_residual(const perpi_linear_step* l, const double* dv, double* r_u);
void perpi_linear_roll_residual_adjoint(const perpi_linear_step* l, const double* m_u, double* yv);
/* The contact in another model. */
PERP_NODISCARD perp_status perpi_linear_roll_vary(const perpi_linear_step* l,
                                                  const perp_model* model, bool geometry,
                                                  int32_t contact, perp_contact* c);
/* Of a step of the start after one of a rolling body: the pose at which the contact of the step before was found,
 * between those at its start and its end; and the slip by it as by these two. */
perpi_pose perpi_linear_roll_half_way(const perp_model* model, const double* q, const double* q_end,
                                      int32_t body);
void perpi_linear_roll_before(const perpi_linear_step* l, perpi_constraint_derivative* d);

/* linear_displaced.c: if the offset displaces bodies before the step, its start becomes the
 * displaced one; then its displacements, and derivatives by those of the state. Flags contacts of
 * such bodies that act. */
PERP_NODISCARD perp_status perpi_linear_displace_start(perpi_linear_step* l);
const double* perpi_linear_displaced(const perpi_linear_step* l, const double* dx);
void perpi_linear_displaced_adjoint(const perpi_linear_step* l, double* y);
void perpi_linear_displaced_flag(perpi_linear_step* l);

/* linear_system.c: fills K, or its transpose, and factors it. */
PERP_NODISCARD perp_status perpi_linear_factor(perpi_linear_step* l);
/* The block of the matrix in row a and column b. */
double* perpi_linear_block(const perpi_linear_step* l, int32_t a, int32_t b, int32_t* stride);
/* Forward: M v - J' p = a, A R v + B p = c. Transposed: M v + R' A' p = a, -J v + B' p = c. In: a,
 * c; out: v, p. */
void perpi_linear_solve(perpi_linear_step* l, double* a, double* c, int rounds);
/* out = J v of one constraint, and out += J' x; law: with the rows R of its law. */
void perpi_linear_speeds(const perpi_linear_step* l, int32_t constraint, bool law, const double* v,
                         double* out);
void perpi_linear_add_rows(const perpi_linear_step* l, int32_t constraint, bool law,
                           const double* x, double* out);
/* y = A x, or A' x. */
void perpi_law_multiply(int32_t n, const double* A, bool transposed, const double* x, double* y);
double perpi_linear_largest(const double* x, int32_t n);
/* x <- M^-1 x of one block. */
void perpi_linear_divide(const perpi_linear_step* l, int32_t block, double* x);
enum { PERPI_LINEAR_REFINEMENTS = 8 };

/* linear_terms.c: removes them; appends those of the constraints that count; then their part of r_v
 * and r_u, with that of joints that are closed at the end, and the transpose. */
void perpi_linear_no_terms(perpi_linear_step* l);
PERP_NODISCARD perp_status perpi_linear_make_terms(perpi_linear_step* l);
void perpi_linear_terms(const perpi_linear_step* l, const double* dx, double* r_v, double* r_u);
void perpi_linear_terms_adjoint(const perpi_linear_step* l, const double* m_v, const double* m_u,
                                double* y);
/* Where the impulse k of a pair stands among the velocities of the problem; -1: nowhere. */
int32_t perpi_linear_dof(const perpi_linear_step* l, const int32_t body[2], int32_t k);

/* linear_state.c: r_v and r_u of a displacement of the state, and the transpose: y += by the multipliers. */
void perpi_linear_residual(const perpi_linear_step* l, const double* dx, double* r_v, double* r_u);
void perpi_linear_residual_adjoint(const perpi_linear_step* l, const double* m_v, const double* m_u,
                                   double* y);
/* The state after the step; transposed: y += of the state, m += of the velocities of the problem. */
void perpi_linear_advance(const perpi_linear_step* l, const double* dx, const double* dv_problem,
                          double* next);
void perpi_linear_advance_adjoint(const perpi_linear_step* l, const double* y_next, double* y,
                                  double* m);
/* linear_given.c: impacts, by the velocities of prescribed bodies. */
void perpi_linear_given_residual(const perpi_linear_step* l, const double* dv, double* r_u);
void perpi_linear_given_residual_adjoint(const perpi_linear_step* l, const double* m_u, double* yv);
/* x: laid out as velocities. */
void perpi_linear_add_place(const perpi_linear_step* l, double* x, int32_t body, vec3 add);
void perpi_linear_add_turn(const perpi_linear_step* l, double* x, int32_t body, vec3 add);

#endif
