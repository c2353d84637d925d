/* src/step/linear_step.c - see linear_step.h. */
#include "step/linear_step.h"

#include <string.h>

#include "contact/derivative.h"
#include "linalg/block_lu.h"
#include "step/active_law.h"
#include "step/force_rows.h"
#include "step/joint_rows.h"
#include "step/pack.h"
#include "step/rolling.h"

enum { MAX_REFINEMENTS = 8 };
static const double REFINED = 1e-15; /* residual relative to the right-hand side */

/* The part of a dynamic body, angular: 3 x 3 matrices. Of planar bodies [2][2] alone is used. */
typedef struct body_part {
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
    /* angular velocity of the state after the step: dw_s = carry_turn dphi' + carry dL,
     * dL = L_turn dphi + I dw' + L_rate dw + L_torque h dtorque */
    mat3 carry_turn, carry, L_turn, L_rate, L_torque;
    double M_inverse[12]; /* linear 3, then angular 9 */
} body_part;

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
    perpi_constraint_derivative* force; /* of efforts of joints and explicit springs */
    double* force_rate;                 /* 144 each: by velocities */
    bool* force_spring;
    size_t force_capacity, force_rate_capacity, force_spring_capacity;
    int32_t force_count;
    body_part* body;
    size_t body_capacity;
    int32_t body_count;
    /* pattern of K */
    int32_t *start, *column, *fill;
    size_t start_capacity, column_capacity, fill_capacity;
    /* variation of parameters */
    perp_contact* contact;
    size_t contact_capacity;
    perpi_frozen_contact* frozen;
    size_t frozen_capacity;
    double *q_next, *v_next, *s_next;
    size_t q_next_capacity, v_next_capacity, s_next_capacity;
    bool frozen_done;
    perpi_solved solved;
    perpi_pose* pose_before;
    size_t pose_before_capacity;
};

perpi_linear_size perpi_linear_size_of(const perp_model* model)
{
    const int32_t n = perpi_v_stride(model) * (int32_t)model->body_count;
    const int32_t c = (int32_t)model->controller_count;
    return (perpi_linear_size){
        .n = n, .q = 0, .v = n, .s = 2 * n, .before = 2 * n + c, .total = 3 * n + c};
}

perp_status perpi_linear_step_create(perp_context* context, perpi_linear_step** out)
{
    perpi_linear_step* l = NULL;
    perp_status status = perpi_alloc(context, 1, sizeof *l, &l);
    if (status != PERP_OK) {
        return status;
    }
    l->context = context;
    status = perpi_formulation_create(context, &l->f);
    if (status == PERP_OK) {
        status = perpi_formulation_create(context, &l->varied);
    }
    if (status == PERP_OK) {
        status = perpi_block_lu_create(context, &l->lu);
    }
    if (status != PERP_OK) {
        perpi_linear_step_destroy(l);
        return status;
    }
    *out = l;
    return PERP_OK;
}

void perpi_linear_step_destroy(perpi_linear_step* l)
{
    if (l == NULL) {
        return;
    }
    void* const owned[] = {
        l->v,          l->p,    l->u,       l->w,      l->size,       l->work,         l->law,
        l->d,          l->d_of, l->force,   l->body,   l->force_rate, l->force_spring, l->start,
        l->column,     l->fill, l->contact, l->frozen, l->q_next,     l->v_next,       l->s_next,
        l->pose_before};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; ++i) {
        perpi_free(l->context, owned[i]);
    }
    perpi_formulation_destroy(l->f);
    perpi_formulation_destroy(l->varied);
    perpi_block_lu_destroy(l->lu);
    perpi_free(l->context, l);
}

const perpi_linear_report* perpi_linear_step_report(const perpi_linear_step* l)
{
    return &l->report;
}

/* ---- small matrices ------------------------------------------------------------------------------*/

static const mat3 ZERO = {{{0, 0, 0}, {0, 0, 0}, {0, 0, 0}}};

static mat3 m3_cross(vec3 a) /* a x */
{
    return (mat3){{{0, -a.z, a.y}, {a.z, 0, -a.x}, {-a.y, a.x, 0}}};
}

static mat3 m3_madd(mat3 A, double s, mat3 B)
{
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            A.m[i][j] += s * B.m[i][j];
        }
    }
    return A;
}

static mat3 m3_outer(vec3 a, vec3 b)
{
    return (mat3){{{a.x * b.x, a.x * b.y, a.x * b.z},
                   {a.y * b.x, a.y * b.y, a.y * b.z},
                   {a.z * b.x, a.z * b.y, a.z * b.z}}};
}

static mat3 m3_general_inverse(mat3 A)
{
    const vec3 a = m3_column(A, 0), b = m3_column(A, 1), c = m3_column(A, 2);
    const vec3 r0 = v3_cross(b, c), r1 = v3_cross(c, a), r2 = v3_cross(a, b);
    const double s = 1.0 / v3_dot(a, r0);
    return (mat3){{{s * r0.x, s * r0.y, s * r0.z},
                   {s * r1.x, s * r1.y, s * r1.z},
                   {s * r2.x, s * r2.y, s * r2.z}}};
}

/* exp(x + d) = exp(J d) exp(x) to first order in d. */
static mat3 exp_derivative(vec3 x)
{
    const double a = v3_norm(x), q = a * a;
    const double s = a < 1e-3 ? 1.0 - q / 6.0 + q * q / 120.0 : sin(a) / a;
    const double c = a < 1e-3 ? 0.5 - q / 24.0 + q * q / 720.0 : (1.0 - cos(a)) / q;
    const double d = a < 1e-3 ? 1.0 / 6.0 - q / 120.0 : (1.0 - s) / q;
    mat3 J = m3_madd(ZERO, s, m3_identity());
    J = m3_madd(J, c, m3_cross(x));
    return m3_madd(J, d, m3_outer(x, x));
}

/* d (I a) by a rotation, a fixed: dphi x (I a) - I (dphi x a). */
static mat3 inertia_turn(mat3 I, vec3 a)
{
    return m3_madd(m3_mm(I, m3_cross(a)), -1.0, m3_cross(m3_mul(I, a)));
}

/* ---- bodies --------------------------------------------------------------------------------------*/

/* Forces of wrenches by the rotation of the body: those given in its frame, and arms. */
static void differentiate_wrenches(const perpi_step_input* in, const perpi_pose* pose, body_part* b)
{
    const perp_model* model = in->model;
    b->force_turn = b->torque_turn = ZERO;
    for (int32_t i = model->body[b->body].wrench; i >= 0; i = model->wrench[i].next) {
        const perpi_wrench* w = &model->wrench[i];
        vec3 f = v3(perpi_value_at(&w->force[0], in->t), perpi_value_at(&w->force[1], in->t),
                    perpi_value_at(&w->force[2], in->t));
        vec3 m = v3(perpi_value_at(&w->torque[0], in->t), perpi_value_at(&w->torque[1], in->t),
                    perpi_value_at(&w->torque[2], in->t));
        const vec3 arm = m3_mul(pose->R, w->at);
        mat3 df = ZERO, dm = ZERO;
        if (w->body_frame) {
            f = m3_mul(pose->R, f);
            m = m3_mul(pose->R, m);
            df = m3_madd(ZERO, -1.0, m3_cross(f));
            dm = m3_madd(ZERO, -1.0, m3_cross(m));
        }
        /* d(r x f) = (phi x r) x f + r x df = f x (r x phi) + r x df */
        dm = m3_madd(dm, 1.0, m3_mm(m3_cross(f), m3_cross(arm)));
        dm = m3_madd(dm, 1.0, m3_mm(m3_cross(arm), df));
        b->force_turn = m3_madd(b->force_turn, in->h, df);
        b->torque_turn = m3_madd(b->torque_turn, in->h, dm);
    }
}

/* The velocity-product term: k = R I W, I W = exp(-h' W) Lambda (free_rotation.c), h' = part h. */
static void differentiate_spin(const perpi_linear_step* l, const perpi_body* body, body_part* b,
                               vec3 w, vec3 torque)
{
    const perpi_step_input* in = &l->step.in;
    const perpi_formulation* f = l->f;
    const mat3 R = f->pose[b->body].R, I = body->inertia;
    const vec3 spin = v3_add(f->gyroscopic[b->body], v3_madd(m3_mul(b->I, w), in->h, torque));
    const double part = f->midway ? perpi_spin_part(body, f->touched[b->body], in->h, w) : 1.0;
    const double h = part * in->h;
    const mat3 I_inverse = m3_inverse(I);
    const vec3 W = m3_mul(I_inverse, m3_tmul(R, spin)), turned = m3_tmul(R, spin);
    const mat3 turn = q4_matrix(q4_exp(v3_scale(-h, W)));
    /* F(W) = I W - exp(-h W) Lambda, dF = D dW - turn dLambda + W x turned dh */
    mat3 D = m3_mm(m3_cross(turned), exp_derivative(v3_scale(-h, W)));
    D = m3_madd(I, -h, D);
    const mat3 W_Lambda = m3_mm(m3_general_inverse(D), turn);
    const mat3 RI = m3_mm(R, I), RIW = m3_mm(RI, W_Lambda), Rt = m3_transpose(R);
    /* dLambda = I R' (dw - phi x w) + R' (h dtorque - phi x h torque) */
    const mat3 back = m3_mm(RIW, Rt);
    const mat3 rate = m3_mm(RIW, m3_mm(I, Rt));
    b->spin_torque = back;
    b->spin_rate = rate;
    b->spin_turn = m3_madd(ZERO, -1.0, m3_cross(spin));
    b->spin_turn = m3_madd(b->spin_turn, 1.0, m3_mm(rate, m3_cross(w)));
    b->spin_turn = m3_madd(b->spin_turn, 1.0, m3_mm(back, m3_cross(v3_scale(in->h, torque))));
    if (f->midway && body->joints == 0 && f->touched[b->body] && part < 1.0) {
        /* part = 1/2 + (h |w|)^2 */
        const vec3 dpart = v3_scale(2.0 * in->h * in->h, w);
        const vec3 dW = m3_mul(m3_general_inverse(D), v3_scale(-in->h, v3_cross(W, turned)));
        b->spin_rate = m3_madd(b->spin_rate, 1.0, m3_outer(m3_mul(RI, dW), dpart));
    }
}

/* The rotation after the step: exp(r) with r = h w', or of the linear update w' 2 atan(h |w'| / 2) / |w'|. */
static void differentiate_rotation(const perpi_linear_step* l, body_part* b, vec3 w)
{
    const double h = l->step.in.h, rate = v3_norm(w);
    if (!l->step.in.settings->linear_rotation) {
        b->turn_turn = q4_matrix(q4_exp(v3_scale(h, w)));
        b->turn_rate = m3_madd(ZERO, h, exp_derivative(v3_scale(h, w)));
        return;
    }
    const double half = 0.5 * h * rate;
    const double factor = half < 1e-4 ? h * (1.0 - half * half / 3.0) : 2.0 * atan(half) / rate;
    /* r = factor(|w|) w; d factor / d|w| = (h / (1 + half^2) - factor) / |w| */
    const double slope =
        half < 1e-4 ? -h * h * h / 6.0 : (h / (1.0 + half * half) - factor) / (rate * rate);
    const mat3 dr = m3_madd(m3_madd(ZERO, factor, m3_identity()), slope, m3_outer(w, w));
    const vec3 r = v3_scale(factor, w);
    b->turn_turn = q4_matrix(q4_exp(r));
    b->turn_rate = m3_mm(exp_derivative(r), dr);
}

static void differentiate_carry(const perpi_linear_step* l, const perpi_body* body, body_part* b,
                                vec3 w, vec3 w_next)
{
    const perp_model* model = l->step.in.model;
    const perpi_pose end = perpi_state_pose(model, l->step.q_end, b->body);
    const mat3 inverse = m3_mm(end.R, m3_mm(m3_inverse(body->inertia), m3_transpose(end.R)));
    const vec3 w_state = perpi_state_rate(model, l->step.v_end, b->body);
    const vec3 L = v3_sub(m3_mul(b->I, w_next), l->f->gyroscopic[b->body]);
    b->carry = inverse;
    b->carry_turn = m3_madd(m3_mm(inverse, m3_cross(L)), -1.0, m3_cross(w_state));
    b->L_turn = m3_madd(inertia_turn(b->I, w_next), 1.0, inertia_turn(b->I, w));
    b->L_turn = m3_madd(b->L_turn, -1.0, b->spin_turn);
    b->L_rate = m3_madd(b->I, -1.0, b->spin_rate);
    b->L_torque = m3_madd(m3_identity(), -1.0, b->spin_torque);
}

static perp_status make_body(perpi_linear_step* l, int32_t index, body_part* b)
{
    const perpi_step_input* in = &l->step.in;
    const perp_model* model = in->model;
    const perpi_body* body = &model->body[index];
    const perpi_formulation* f = l->f;
    memset(b, 0, sizeof *b);
    b->body = index;
    b->block = f->block_of[index];
    b->mass = body->mass;
    b->turns = !body->particle;
    b->unround = model->dimension == 3 && b->turns && !perpi_inertia_round(body);
    const double linear = body->mass + in->h * body->drag_linear;
    for (int i = 0; i < 3; ++i) {
        b->M_inverse[i] = 1.0 / linear;
    }
    differentiate_wrenches(in, &f->pose[index], b);
    if (!b->turns) {
        return PERP_OK;
    }
    if (model->dimension == 2) {
        b->I.m[2][2] = body->inertia.m[2][2];
        b->spin_rate.m[2][2] = b->I.m[2][2];
        b->spin_torque.m[2][2] = b->turn_turn.m[2][2] = 1.0;
        b->turn_rate.m[2][2] = in->h;
        b->M_inverse[11] = 1.0 / (b->I.m[2][2] + in->h * body->drag_angular);
        return PERP_OK;
    }
    b->I = perpi_world_inertia(body, &f->pose[index]);
    mat3 M = b->I;
    for (int i = 0; i < 3; ++i) {
        M.m[i][i] += in->h * body->drag_angular;
    }
    const mat3 inverse = m3_inverse(M);
    memcpy(b->M_inverse + 3, inverse.m, sizeof inverse.m);
    const vec3 w = perpi_state_rate(model, in->v, index);
    const vec3 w_next = v3_from(l->v + f->dof[b->block] + 3);
    differentiate_rotation(l, b, w_next);
    b->spin_rate = b->I;
    b->spin_torque = m3_identity();
    if (!b->unround) {
        return PERP_OK;
    }
    vec3 force, torque;
    /* explicit springs act through `extra`, as in the formulation */
    const double* extra = f->any_applied ? f->applied : NULL;
    if (extra != NULL) {
        torque = v3_from(extra + 6 * (size_t)index + 3);
    } else {
        const perp_status status =
            perpi_external_wrench(model, in->t, &f->pose[index], in->extra, index, &force, &torque);
        if (status != PERP_OK) {
            return status;
        }
    }
    differentiate_spin(l, body, b, w, torque);
    b->M_turn = inertia_turn(b->I, w_next);
    if (l->step.carries) {
        differentiate_carry(l, body, b, w, w_next);
    }
    return PERP_OK;
}

static perp_status make_bodies(perpi_linear_step* l)
{
    const perp_model* model = l->step.in.model;
    l->body_count = 0;
    perp_status status =
        perpi_grow(l->context, &l->body, &l->body_capacity, model->body_count, sizeof *l->body);
    for (int32_t i = 0; status == PERP_OK && i < (int32_t)model->body_count; ++i) {
        if (model->body[i].dofs > 0) {
            status = make_body(l, i, &l->body[l->body_count++]);
        }
    }
    return status;
}

/* ---- rows and laws -------------------------------------------------------------------------------*/

static perp_status room_for_problem(perpi_linear_step* l)
{
    const size_t dofs = (size_t)l->dofs, rows = (size_t)l->rows;
    perp_context* c = l->context;
    struct {
        double** array;
        size_t* capacity;
        size_t need;
    } arrays[] = {
        {&l->v, &l->v_capacity, dofs},       {&l->p, &l->p_capacity, rows},
        {&l->u, &l->u_capacity, rows},       {&l->w, &l->w_capacity, rows},
        {&l->size, &l->size_capacity, rows}, {&l->work, &l->work_capacity, 4 * (dofs + rows)}};
    perp_status status = PERP_OK;
    for (size_t i = 0; status == PERP_OK && i < sizeof arrays / sizeof arrays[0]; ++i) {
        status = perpi_grow(c, arrays[i].array, arrays[i].capacity, arrays[i].need, sizeof(double));
    }
    if (status == PERP_OK) {
        status =
            perpi_grow(c, &l->law, &l->law_capacity, (size_t)l->f->constraints, sizeof *l->law);
    }
    if (status == PERP_OK) {
        status =
            perpi_grow(c, &l->d_of, &l->d_of_capacity, (size_t)l->f->constraints, sizeof *l->d_of);
    }
    return status;
}

/* x <- M^-1 x of one block. */
static void divide_block(const perpi_linear_step* l, int32_t block, double* x)
{
    const perpi_formulation* f = l->f;
    const int32_t n = f->dof[block + 1] - f->dof[block];
    if (block >= l->body_count) { /* of a support: a block of one velocity */
        const double* M = f->M + f->M_used - (f->problem.block_count - block);
        x[0] /= M[0];
        return;
    }
    const body_part* b = &l->body[block];
    const int32_t linear = l->step.in.model->dimension;
    for (int32_t i = 0; i < linear; ++i) {
        x[i] *= b->M_inverse[i];
    }
    if (n == 3 && linear == 2) {
        x[2] *= b->M_inverse[11];
    } else if (n == 6) {
        mat3 inverse;
        memcpy(inverse.m, b->M_inverse + 3, sizeof inverse.m);
        v3_to(m3_mul(inverse, v3_from(x + 3)), x + 3);
    }
}

/* u, w and the sizes of the terms, row by row. */
static void evaluate_rows(perpi_linear_step* l)
{
    const perpi_formulation* f = l->f;
    const perp_contact_problem* P = &f->problem;
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        const double* J = P->J + c->jac;
        for (int32_t r = 0; r < c->rows; ++r) {
            const int32_t row = c->row + r;
            const double soft = c->kind != PERP_CONSTRAINT_CONTACT && P->compliance != NULL
                                    ? P->compliance[row] * l->p[row]
                                    : 0.0;
            l->u[row] = P->b[row] + soft;
            l->size[row] = fabs(P->b[row]) + fabs(soft);
            l->w[row] = 0.0;
        }
        for (int side = 0; side < 2; ++side) {
            const int32_t block = c->block[side];
            if (block < 0) {
                continue;
            }
            const int32_t n = P->dof[block + 1] - P->dof[block];
            const double* v = l->v + P->dof[block];
            for (int32_t r = 0; r < c->rows; ++r, J += n) {
                double x[6];
                for (int32_t k = 0; k < n; ++k) {
                    l->u[c->row + r] += J[k] * v[k];
                    l->size[c->row + r] += fabs(J[k] * v[k]);
                    x[k] = J[k];
                }
                divide_block(l, block, x);
                for (int32_t k = 0; k < n; ++k) {
                    l->w[c->row + r] += J[k] * x[k];
                }
            }
        }
        for (int32_t r = 0; r < c->rows; ++r) {
            l->w[c->row + r] = l->w[c->row + r] > 0.0 ? l->w[c->row + r] : 1.0;
        }
    }
}

static void choose_laws(perpi_linear_step* l)
{
    const perp_contact_problem* P = &l->f->problem;
    const perpi_law_input in = {.problem = P,
                                .p = l->p,
                                .u = l->u,
                                .w = l->w,
                                .size = l->size,
                                .threshold = l->options.threshold,
                                .other = l->options.other};
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        if (!perpi_law_choose(&in, i, &l->law[i])) {
            l->report.flags |= PERPI_LINEAR_SINGULAR;
        }
    }
    perpi_law_groups(&in, l->law);
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        l->report.weak += l->law[i].weak;
        if (!(l->law[i].margin >= l->report.margin)) {
            l->report.margin = l->law[i].margin;
            l->report.margin_constraint = i;
        }
    }
    l->report.flags |= l->report.weak > 0 ? PERPI_LINEAR_WEAK : 0;
}

/* Constraints with an impulse or an active law. */
static bool matters(const perpi_linear_step* l, int32_t i)
{
    const perp_constraint* c = &l->f->constraint[i];
    bool any = l->law[i].acts;
    for (int32_t r = 0; r < c->rows; ++r) {
        any = any || l->p[c->row + r] != 0.0;
    }
    return any;
}

static perp_status add_derivative(perpi_linear_step* l, const perpi_solved* at, int32_t i)
{
    if (l->d_of[i] >= 0) {
        return PERP_OK;
    }
    perp_status status =
        perpi_grow(l->context, &l->d, &l->d_capacity, (size_t)l->d_count + 1, sizeof *l->d);
    if (status == PERP_OK) {
        status = perpi_constraint_differentiate(at, i, &l->d[l->d_count]);
    }
    if (status == PERP_OK) {
        l->report.flags |= l->d[l->d_count].border ? PERPI_LINEAR_CHOICE : 0;
        l->d_of[i] = l->d_count++;
    }
    return status;
}

static perp_status differentiate_rows(perpi_linear_step* l)
{
    const perp_model* model = l->step.in.model;
    perp_status status = perpi_grow(l->context, &l->pose_before, &l->pose_before_capacity,
                                    model->body_count, sizeof *l->pose_before);
    if (status != PERP_OK) {
        return status;
    }
    const bool rolls = l->step.in.settings->midway && l->step.q_before != NULL;
    for (int32_t i = 0; rolls && i < (int32_t)model->body_count; ++i) {
        l->pose_before[i] = perpi_state_pose(model, l->step.q_before, i);
    }
    l->solved = (perpi_solved){.in = &l->step.in,
                               .f = l->f,
                               .v = l->v,
                               .p = l->p,
                               .pose_before = l->pose_before,
                               .contact_before = rolls ? l->step.contact_before : NULL,
                               .contact_before_count = l->step.contact_before_count,
                               .h_before = l->step.h_before,
                               .threshold = l->options.threshold};
    const perpi_solved at = l->solved;
    l->d_count = 0;
    for (int32_t i = 0; i < l->f->constraints; ++i) {
        l->d_of[i] = -1;
    }
    for (int32_t i = 0; status == PERP_OK && i < l->f->constraints; ++i) {
        if (matters(l, i)) {
            status = add_derivative(l, &at, i);
            if (status == PERP_OK && l->law[i].closing != i) {
                status = add_derivative(l, &at, l->law[i].closing);
            }
        }
    }
    l->force_count = 0;
    const size_t forces = model->joint_count + model->spring_count;
    if (status == PERP_OK) {
        status = perpi_grow(l->context, &l->force, &l->force_capacity, forces, sizeof *l->force);
    }
    if (status == PERP_OK) {
        status = perpi_grow(l->context, &l->force_rate, &l->force_rate_capacity, 144 * forces,
                            sizeof *l->force_rate);
    }
    if (status == PERP_OK) {
        status = perpi_grow(l->context, &l->force_spring, &l->force_spring_capacity, forces,
                            sizeof *l->force_spring);
    }
    for (int32_t i = 0; status == PERP_OK && i < (int32_t)model->joint_count; ++i) {
        bool any = false;
        status = perpi_effort_differentiate(&at, i, &l->force[l->force_count], &any);
        if (any) {
            l->force_spring[l->force_count++] = false;
        }
    }
    for (int32_t i = 0; status == PERP_OK && i < (int32_t)model->spring_count; ++i) {
        if (!model->spring[i].implicit) {
            perpi_spring_differentiate(
                &at, i, &l->force[l->force_count],
                (double(*)[PERPI_PAIR_DOFS])(l->force_rate + 144 * (size_t)l->force_count));
            l->force_spring[l->force_count++] = true;
        }
    }
    return status;
}

/* ---- the matrix ----------------------------------------------------------------------------------*/

/* Rows of a constraint on one side: of J, or of R with the normal row of the member that closes. */
static const double* side_rows(const perpi_linear_step* l, int32_t i, int side, int32_t* n)
{
    const perp_contact_problem* P = &l->f->problem;
    const perp_constraint* c = &P->constraint[i];
    const int32_t first = c->block[0] >= 0 ? P->dof[c->block[0] + 1] - P->dof[c->block[0]] : 0;
    *n = c->block[side] >= 0 ? P->dof[c->block[side] + 1] - P->dof[c->block[side]] : 0;
    return P->J + c->jac + (side == 1 ? (size_t)(c->rows * first) : 0);
}

static void law_rows(const perpi_linear_step* l, int32_t i, int side, double* R, int32_t* n)
{
    const double* J = side_rows(l, i, side, n);
    memcpy(R, J, (size_t)(l->f->constraint[i].rows * *n) * sizeof *R);
    if (l->law[i].closing != i) {
        memcpy(R, side_rows(l, l->law[i].closing, side, n), (size_t)*n * sizeof *R);
    }
}

static bool acts_between(const perpi_linear_step* l, int32_t i)
{
    return l->law[i].acts && l->f->constraint[i].block[0] >= 0 && l->f->constraint[i].block[1] >= 0;
}

/* Blocks of K: the diagonal, and pairs of blocks with an acting constraint; ascending, each once. */
static perp_status find_pattern(perpi_linear_step* l)
{
    const perp_contact_problem* P = &l->f->problem;
    const size_t blocks = (size_t)P->block_count;
    perp_context* x = l->context;
    size_t pairs = blocks;
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        pairs += acts_between(l, i) ? 2 : 0;
    }
    perp_status status = perpi_grow(x, &l->start, &l->start_capacity, blocks + 1, sizeof *l->start);
    if (status == PERP_OK) {
        status = perpi_grow(x, &l->fill, &l->fill_capacity, 2 * blocks + 1, sizeof *l->fill);
    }
    if (status == PERP_OK) {
        status = perpi_grow(x, &l->column, &l->column_capacity, pairs, sizeof *l->column);
    }
    if (status != PERP_OK) {
        return status;
    }
    for (size_t b = 0; b <= blocks; ++b) {
        l->fill[b] = b < blocks ? 1 : 0;
    }
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        if (acts_between(l, i)) {
            l->fill[P->constraint[i].block[0]] += 1;
            l->fill[P->constraint[i].block[1]] += 1;
        }
    }
    l->start[0] = 0;
    for (size_t b = 0; b < blocks; ++b) {
        l->start[b + 1] = l->start[b] + l->fill[b];
        l->column[l->start[b]] = (int32_t)b;
        l->fill[b] = l->start[b] + 1;
    }
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        if (acts_between(l, i)) {
            const int32_t a = P->constraint[i].block[0], b = P->constraint[i].block[1];
            l->column[l->fill[a]++] = b;
            l->column[l->fill[b]++] = a;
        }
    }
    int32_t kept = 0;
    for (size_t b = 0; b < blocks; ++b) { /* sort, and remove those that are there twice */
        int32_t* item = l->column + l->start[b];
        const int32_t n = l->start[b + 1] - l->start[b], first = kept;
        for (int32_t i = 1; i < n; ++i) {
            const int32_t y = item[i];
            int32_t k = i;
            for (; k > 0 && item[k - 1] > y; --k) {
                item[k] = item[k - 1];
            }
            item[k] = y;
        }
        for (int32_t i = 0; i < n; ++i) {
            if (i == 0 || item[i] != item[i - 1]) {
                l->column[kept++] = item[i];
            }
        }
        l->fill[b] = first;
    }
    for (size_t b = 0; b < blocks; ++b) {
        l->start[b] = l->fill[b];
    }
    l->start[blocks] = kept;
    for (size_t b = 0; b < blocks; ++b) {
        l->fill[b] = P->dof[b + 1] - P->dof[b];
    }
    return perpi_block_lu_analyse(l->lu, (int32_t)blocks, l->fill, l->start, l->column);
}

static double* block_at(const perpi_linear_step* l, int32_t a, int32_t b, int32_t* stride)
{
    int32_t low = l->start[a], high = l->start[a + 1];
    while (low < high) {
        const int32_t middle = (low + high) / 2;
        if (l->column[middle] < b) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return perpi_block_lu_block(l->lu, low, stride);
}

/* K += J' D R, or its transpose R' D' J. */
static void add_constraint(perpi_linear_step* l, int32_t i)
{
    const perp_constraint* c = &l->f->constraint[i];
    const perpi_law* law = &l->law[i];
    const int32_t rows = c->rows;
    double D[PERPI_LAW_SIZE];
    for (int32_t a = 0; a < rows; ++a) {
        for (int32_t b = 0; b < rows; ++b) {
            double sum = 0.0;
            for (int32_t k = 0; k < rows; ++k) {
                sum += law->E[a * rows + k] * law->A[k * rows + b];
            }
            D[l->options.transposed ? b * rows + a : a * rows + b] = sum;
        }
    }
    double right[2][PERPI_LAW_SIZE];
    double left[2][PERPI_LAW_SIZE];
    int32_t n[2];
    for (int side = 0; side < 2; ++side) {
        law_rows(l, i, side, l->options.transposed ? left[side] : right[side], &n[side]);
        const double* J = side_rows(l, i, side, &n[side]);
        memcpy(l->options.transposed ? right[side] : left[side], J,
               (size_t)(rows * n[side]) * sizeof *J);
    }
    for (int s = 0; s < 2; ++s) {
        for (int t = 0; t < 2; ++t) {
            if (c->block[s] < 0 || c->block[t] < 0) {
                continue;
            }
            int32_t stride;
            double* K = block_at(l, c->block[s], c->block[t], &stride);
            for (int32_t a = 0; a < rows; ++a) {
                double x[6] = {0};
                for (int32_t b = 0; b < rows; ++b) {
                    for (int32_t j = 0; j < n[t]; ++j) {
                        x[j] += D[a * rows + b] * right[t][b * n[t] + j];
                    }
                }
                for (int32_t k = 0; k < n[s]; ++k) {
                    for (int32_t j = 0; j < n[t]; ++j) {
                        K[k * stride + j] += left[s][a * n[s] + k] * x[j];
                    }
                }
            }
        }
    }
}

static perp_status factor(perpi_linear_step* l)
{
    const perp_contact_problem* P = &l->f->problem;
    const perp_status status = find_pattern(l);
    if (status != PERP_OK) {
        return status;
    }
    perpi_block_lu_clear(l->lu);
    const double* M = P->M;
    for (int32_t b = 0; b < P->block_count; ++b) {
        int32_t stride;
        double* K = block_at(l, b, b, &stride);
        const int32_t n = P->dof[b + 1] - P->dof[b];
        for (int32_t i = 0; i < n; ++i) {
            memcpy(K + i * stride, M + i * n, (size_t)n * sizeof *M);
        }
        M += n * n;
    }
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        if (l->law[i].acts) {
            add_constraint(l, i);
        }
    }
    if (!perpi_block_lu_factor(l->lu)) {
        l->report.flags |= PERPI_LINEAR_SINGULAR;
    }
    return PERP_OK;
}

/* ---- solving -------------------------------------------------------------------------------------*/

/* out += J' x, or R' x, of one constraint. */
static void add_transposed(const perpi_linear_step* l, int32_t i, bool law, const double* x,
                           double* out)
{
    const perp_constraint* c = &l->f->constraint[i];
    double rows[PERPI_LAW_SIZE];
    for (int side = 0; side < 2; ++side) {
        int32_t n;
        const double* J = side_rows(l, i, side, &n);
        if (law && l->law[i].closing != i) {
            law_rows(l, i, side, rows, &n);
            J = rows;
        }
        double* to = c->block[side] >= 0 ? out + l->f->dof[c->block[side]] : NULL;
        for (int32_t r = 0; to != NULL && r < c->rows; ++r) {
            for (int32_t k = 0; k < n; ++k) {
                to[k] += J[r * n + k] * x[r];
            }
        }
    }
}

static void row_speeds(const perpi_linear_step* l, int32_t i, bool law, const double* v,
                       double* out)
{
    const perp_constraint* c = &l->f->constraint[i];
    double rows[PERPI_LAW_SIZE];
    for (int32_t r = 0; r < c->rows; ++r) {
        out[r] = 0.0;
    }
    for (int side = 0; side < 2; ++side) {
        int32_t n;
        const double* J = side_rows(l, i, side, &n);
        if (law && l->law[i].closing != i) {
            law_rows(l, i, side, rows, &n);
            J = rows;
        }
        const double* from = c->block[side] >= 0 ? v + l->f->dof[c->block[side]] : NULL;
        for (int32_t r = 0; from != NULL && r < c->rows; ++r) {
            for (int32_t k = 0; k < n; ++k) {
                out[r] += J[r * n + k] * from[k];
            }
        }
    }
}

static void law_multiply(int32_t n, const double* A, bool transposed, const double* x, double* y)
{
    for (int32_t i = 0; i < n; ++i) {
        y[i] = 0.0;
        for (int32_t j = 0; j < n; ++j) {
            y[i] += (transposed ? A[j * n + i] : A[i * n + j]) * x[j];
        }
    }
}

/* x <- x - M v */
static void subtract_mass(const perpi_linear_step* l, const double* v, double* x)
{
    const perp_contact_problem* P = &l->f->problem;
    const double* M = P->M;
    for (int32_t b = 0; b < P->block_count; ++b) {
        const int32_t first = P->dof[b], n = P->dof[b + 1] - first;
        for (int32_t i = 0; i < n; ++i) {
            for (int32_t j = 0; j < n; ++j) {
                x[first + i] -= M[i * n + j] * v[first + j];
            }
        }
        M += n * n;
    }
}

static double largest(const double* x, int32_t n)
{
    double most = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        most = perpi_larger(most, fabs(x[i]));
    }
    return most;
}

/* Forward: M v - J' p = a, A R v + B p = c. Transposed: M v + R' A' p = a, -J v + B' p = c. In: a, c; out: v, p. The
 * refinement stops where it no longer halves the residual. */
static void solve_system(perpi_linear_step* l, double* a, double* c, int rounds)
{
    const perp_contact_problem* P = &l->f->problem;
    const int32_t dofs = l->dofs, rows = l->rows;
    const bool t = l->options.transposed;
    double *v = l->work, *p = v + dofs, *dv = p + rows, *dp = dv + dofs;
    double *ra = dp + rows, *rc = ra + dofs;
    memset(v, 0, (size_t)(dofs + rows) * sizeof *v);
    memcpy(ra, a, (size_t)dofs * sizeof *ra);
    memcpy(rc, c, (size_t)rows * sizeof *rc);
    double last = INFINITY;
    for (int round = 0; round < rounds; ++round) {
        /* the regularised system */
        memcpy(dv, ra, (size_t)dofs * sizeof *dv);
        for (int32_t i = 0; i < P->constraint_count; ++i) {
            const perp_constraint* x = &P->constraint[i];
            const perpi_law* law = &l->law[i];
            double y[PERPI_LAW_ROWS], z[PERPI_LAW_ROWS];
            law_multiply(x->rows, law->E, t, rc + x->row, y); /* E c, or E' c */
            if (t) {
                law_multiply(x->rows, law->A, true, y, z);
                for (int32_t r = 0; r < x->rows; ++r) {
                    y[r] = -z[r];
                }
            }
            if (!t || law->acts) {
                add_transposed(l, i, t, y, dv);
            }
        }
        perpi_block_lu_solve(l->lu, dv);
        for (int32_t i = 0; i < P->constraint_count; ++i) {
            const perp_constraint* x = &P->constraint[i];
            const perpi_law* law = &l->law[i];
            double y[PERPI_LAW_ROWS], z[PERPI_LAW_ROWS];
            row_speeds(l, i, !t, dv, y);
            if (!t) {
                law_multiply(x->rows, law->A, false, y, z);
            }
            for (int32_t r = 0; r < x->rows; ++r) {
                z[r] = t ? rc[x->row + r] + y[r] : rc[x->row + r] - z[r];
            }
            law_multiply(x->rows, law->E, t, z, dp + x->row);
        }
        for (int32_t i = 0; i < dofs; ++i) {
            v[i] += dv[i];
        }
        for (int32_t i = 0; i < rows; ++i) {
            p[i] += dp[i];
        }
        /* its residual in the system itself */
        memcpy(ra, a, (size_t)dofs * sizeof *ra);
        subtract_mass(l, v, ra);
        for (int32_t i = 0; i < P->constraint_count; ++i) {
            const perp_constraint* x = &P->constraint[i];
            const perpi_law* law = &l->law[i];
            double y[PERPI_LAW_ROWS], z[PERPI_LAW_ROWS];
            if (t) {
                law_multiply(x->rows, law->A, true, p + x->row, y);
                for (int32_t r = 0; r < x->rows; ++r) {
                    y[r] = -y[r];
                }
                add_transposed(l, i, true, y, ra);
                row_speeds(l, i, false, v, y);
                law_multiply(x->rows, law->B, true, p + x->row, z);
                for (int32_t r = 0; r < x->rows; ++r) {
                    rc[x->row + r] = c[x->row + r] + y[r] - z[r];
                }
            } else {
                double s[PERPI_LAW_ROWS];
                add_transposed(l, i, false, p + x->row, ra);
                row_speeds(l, i, true, v, s);
                law_multiply(x->rows, law->A, false, s, y);
                law_multiply(x->rows, law->B, false, p + x->row, z);
                for (int32_t r = 0; r < x->rows; ++r) {
                    rc[x->row + r] = c[x->row + r] - y[r] - z[r];
                }
            }
        }
        const double size = largest(v, dofs), step = largest(dv, dofs);
        if (!(step > REFINED * size) || !(step < 0.5 * last)) {
            break;
        }
        last = step;
    }
    memcpy(a, v, (size_t)dofs * sizeof *a);
    memcpy(c, p, (size_t)rows * sizeof *c);
}

/* ---- impulses that are not unique ------------------------------------------------------------------*/

/* Relative to the regularisation: impulses of a random right-hand side that are larger belong to the null space. */
static const double NULL_SPACE = 1e6;
/* Part of the largest impulse by which impulses are shifted along the null space. */
static const double SHIFT = 1e-2;

static bool slides_somewhere(const perpi_linear_step* l)
{
    for (int32_t i = 0; i < l->f->constraints; ++i) {
        if (l->law[i].slides) {
            return true;
        }
    }
    return false;
}

/* More contacts than a body needs leave the impulses undetermined: they can change without changing the motion. With
 * sliding on a round cone the derivative depends on them. A fixed pseudo-random right-hand side shows such impulses,
 * which then stand in l->work: they are as large as the regularisation is small. */
static bool find_null_impulses(perpi_linear_step* l)
{
    const perp_contact_problem* P = &l->f->problem;
    double *a = l->work + 3 * (l->dofs + l->rows), *c = a + l->dofs;
    memset(a, 0, (size_t)l->dofs * sizeof *a);
    memset(c, 0, (size_t)l->rows * sizeof *c);
    uint32_t random = 12345u;
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* x = &P->constraint[i];
        for (int32_t r = 0; l->law[i].acts && r < x->rows; ++r) {
            random = random * 1664525u + 1013904223u;
            const double value = (double)(random >> 8) / 8388608.0 - 1.0;
            c[x->row + r] = r == 0 || !l->law[i].slides ? l->w[x->row + r] * value : 0.0;
        }
    }
    solve_system(l, a, c, 1);
    double most = 0.0;
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        most = l->law[i].slides ? perpi_larger(most, fabs(c[P->constraint[i].row])) : most;
    }
    return most > NULL_SPACE;
}

static void shift_impulses(perpi_linear_step* l)
{
    const double* c = l->work + 3 * (l->dofs + l->rows) + l->dofs;
    const double by = SHIFT * largest(l->p, l->rows) / largest(c, l->rows);
    for (int32_t i = 0; i < l->rows; ++i) {
        l->p[i] += by * c[i];
    }
}

perp_status perpi_linear_step_make(perpi_linear_step* l, const perpi_taken_step* step,
                                   const perpi_linear_options* options)
{
    l->step = *step;
    l->options = *options;
    l->report = (perpi_linear_report){.margin = INFINITY, .margin_constraint = -1};
    l->columns = perpi_pair_columns(step->in.model);
    l->frozen_done = false;
    perp_status status = perpi_formulate(l->f, &l->step.in);
    if (status != PERP_OK) {
        return status;
    }
    l->dofs = l->f->problem.dof_count;
    l->rows = l->f->problem.row_count;
    status = room_for_problem(l);
    if (status != PERP_OK) {
        return status;
    }
    const perpi_point point = {.v = step->v_solved,
                               .contact = step->in.contact,
                               .joint = step->joint_end,
                               .memory = step->s_end,
                               .v_start = step->in.v};
    perpi_pack(l->f, step->in.model, &point, l->v, l->p);
    status = make_bodies(l);
    if (status != PERP_OK) {
        return status;
    }
    evaluate_rows(l);
    choose_laws(l);
    status = factor(l);
    if (status == PERP_OK && slides_somewhere(l) && find_null_impulses(l)) {
        l->report.flags |= PERPI_LINEAR_UNDETERMINED;
        if (options->shifted) {
            l->options.transposed =
                false; /* the null space of the system itself, not of its transpose */
            status = factor(l);
            if (status == PERP_OK && find_null_impulses(l)) {
                shift_impulses(l);
            }
            l->options.transposed = options->transposed;
            choose_laws(l);
            status = status == PERP_OK ? factor(l) : status;
        }
    }
    return status == PERP_OK ? differentiate_rows(l) : status;
}

/* ---- the change of the residual by the state -------------------------------------------------------*/

/* Where the displacement of column c of a constraint's two bodies stands in x; -1: nowhere. */
static int32_t place_of(const perpi_linear_step* l, const int32_t body[2], int32_t c)
{
    const int32_t side = c / 6, k = c % 6;
    if (body[side] < 0) {
        return -1;
    }
    return l->step.in.model->dimension == 2 ? 3 * body[side] + (k == 5 ? 2 : k)
                                            : 6 * body[side] + k;
}

/* Where the impulse k of a side stands among the velocities of the problem; -1: nowhere. */
static int32_t dof_of(const perpi_linear_step* l, const int32_t body[2], int32_t k)
{
    const int32_t b = body[k / 6], j = k % 6;
    const int32_t block = b >= 0 ? l->f->block_of[b] : -1;
    if (block < 0) {
        return -1;
    }
    const int32_t n = l->f->dof[block + 1] - l->f->dof[block];
    const int32_t i = l->step.in.model->dimension == 2 ? (j == 5 ? 2 : j < 2 ? j : -1) : j;
    return i >= 0 && i < n ? l->f->dof[block] + i : -1;
}

static vec3 read_turn(const perpi_linear_step* l, const double* x, int32_t body)
{
    return l->step.in.model->dimension == 2 ? v3(0, 0, x[3 * body + 2])
                                            : v3_from(x + 6 * (size_t)body + 3);
}

static void add_turn(const perpi_linear_step* l, double* x, int32_t body, vec3 add)
{
    if (l->step.in.model->dimension == 2) {
        x[3 * body + 2] += add.z;
        return;
    }
    double* to = x + 6 * (size_t)body + 3;
    v3_to(v3_add(v3_from(to), add), to);
}

static vec3 read_place(const perpi_linear_step* l, const double* x, int32_t body)
{
    return l->step.in.model->dimension == 2 ? v3(x[3 * body], x[3 * body + 1], 0.0)
                                            : v3_from(x + 6 * (size_t)body);
}

static void add_place(const perpi_linear_step* l, double* x, int32_t body, vec3 add)
{
    const int32_t n = l->step.in.model->dimension;
    for (int32_t k = 0; k < n; ++k) {
        x[(n == 2 ? 3 : 6) * body + k] += v3_get(add, k);
    }
}

/* Angular impulses of explicit springs act through the velocity-product term. */
static const body_part* spun(const perpi_linear_step* l, int32_t force, int32_t body)
{
    if (!l->force_spring[force] || body < 0 || l->f->block_of[body] < 0) {
        return NULL;
    }
    const body_part* b = &l->body[l->f->block_of[body]];
    return b->unround ? b : NULL;
}

/* The rows of a block of the problem as linear and angular parts. */
static vec3 block_turn(const perpi_linear_step* l, const body_part* b, const double* x)
{
    const double* at = x + l->f->dof[b->block];
    return !b->turns                          ? v3(0, 0, 0)
           : l->step.in.model->dimension == 2 ? v3(0, 0, at[2])
                                              : v3_from(at + 3);
}

static void add_block_turn(const perpi_linear_step* l, const body_part* b, vec3 add, double* x)
{
    double* at = x + l->f->dof[b->block];
    if (b->turns && l->step.in.model->dimension == 2) {
        at[2] += add.z;
    } else if (b->turns) {
        v3_to(v3_add(v3_from(at + 3), add), at + 3);
    }
}

/* r_v and r_u of a displacement of the state. */
static void residual_forward(const perpi_linear_step* l, const double* dx, double* r_v, double* r_u)
{
    const perp_model* model = l->step.in.model;
    const perpi_linear_size at = perpi_linear_size_of(model);
    const double *dq = dx + at.q, *dv = dx + at.v, *ds = dx + at.s;
    for (int32_t i = 0; i < l->body_count; ++i) {
        const body_part* b = &l->body[i];
        const vec3 turn = read_turn(l, dq, b->body);
        const vec3 linear =
            v3_add(v3_scale(b->mass, read_place(l, dv, b->body)), m3_mul(b->force_turn, turn));
        for (int32_t k = 0; k < model->dimension; ++k) {
            r_v[l->f->dof[b->block] + k] += v3_get(linear, k);
        }
        vec3 angular = m3_mul(b->spin_rate, read_turn(l, dv, b->body));
        angular = v3_add(angular, m3_mul(b->spin_turn, turn));
        angular = v3_add(angular, m3_mul(b->spin_torque, m3_mul(b->torque_turn, turn)));
        angular = v3_sub(angular, m3_mul(b->M_turn, turn));
        add_block_turn(l, b, angular, r_v);
    }
    for (int32_t i = 0; i < l->f->constraints; ++i) {
        if (l->d_of[i] < 0) {
            continue;
        }
        const perp_constraint* c = &l->f->constraint[i];
        const perpi_constraint_derivative* d = &l->d[l->d_of[i]];
        for (int32_t k = 0; k < l->columns.count; ++k) {
            const int32_t column = l->columns.item[k], place = place_of(l, d->body, column);
            const double x = place >= 0 ? dq[place] : 0.0;
            for (int32_t r = 1;
                 d->rolling != PERPI_ROLLING_NONE && place >= 0 && r < 3 && r < c->rows; ++r) {
                r_u[c->row + r] += d->rate[r - 1][column] * dv[place] +
                                   d->before[r - 1][column] * dx[at.before + place];
            }
            if (x == 0.0) {
                continue;
            }
            for (int32_t r = 0; r < c->rows; ++r) {
                r_u[c->row + r] += d->u[r][column] * x;
            }
            for (int32_t a = 0; a < l->columns.count; ++a) {
                const int32_t dof = dof_of(l, d->body, l->columns.item[a]);
                if (dof >= 0) {
                    r_v[dof] += d->impulse[l->columns.item[a]][column] * x;
                }
            }
        }
    }
    const int32_t controllers = (int32_t)model->controller_count;
    for (int32_t i = 0; i < controllers; ++i) {
        const int32_t c = l->f->constraints - controllers + i;
        if (l->d_of[c] >= 0) {
            r_u[l->f->constraint[c].row] += l->d[l->d_of[c]].integral * ds[i];
        }
    }
    for (int32_t i = 0; i < l->force_count; ++i) {
        const perpi_constraint_derivative* d = &l->force[i];
        const double* rate = l->force_rate + 144 * (size_t)i;
        double impulse[PERPI_PAIR_DOFS] = {0};
        for (int32_t k = 0; k < l->columns.count; ++k) {
            const int32_t column = l->columns.item[k], place = place_of(l, d->body, column);
            for (int32_t a = 0; place >= 0 && a < PERPI_PAIR_DOFS; ++a) {
                impulse[a] += d->impulse[a][column] * dq[place];
                impulse[a] += l->force_spring[i] ? rate[12 * a + column] * dv[place] : 0.0;
            }
        }
        for (int side = 0; side < 2; ++side) {
            const body_part* b = spun(l, i, d->body[side]);
            if (b != NULL) {
                v3_to(m3_mul(b->spin_torque, v3_from(impulse + 6 * side + 3)),
                      impulse + 6 * side + 3);
            }
        }
        for (int32_t a = 0; a < l->columns.count; ++a) {
            const int32_t dof = dof_of(l, d->body, l->columns.item[a]);
            if (dof >= 0) {
                r_v[dof] += impulse[l->columns.item[a]];
            }
        }
    }
}

/* Its transpose: y += by the multipliers m_v and m_u. */
static void residual_adjoint(const perpi_linear_step* l, const double* m_v, const double* m_u,
                             double* y)
{
    const perp_model* model = l->step.in.model;
    const perpi_linear_size at = perpi_linear_size_of(model);
    double *yq = y + at.q, *yv = y + at.v, *ys = y + at.s;
    for (int32_t i = 0; i < l->body_count; ++i) {
        const body_part* b = &l->body[i];
        const double* m = m_v + l->f->dof[b->block];
        const vec3 linear = v3(m[0], m[1], model->dimension == 3 ? m[2] : 0.0);
        const vec3 angular = block_turn(l, b, m_v);
        add_place(l, yv, b->body, v3_scale(b->mass, linear));
        if (!b->turns) {
            continue;
        }
        add_turn(l, yv, b->body, m3_tmul(b->spin_rate, angular));
        vec3 turn = m3_tmul(b->force_turn, linear);
        turn = v3_add(turn, m3_tmul(b->spin_turn, angular));
        turn = v3_add(turn, m3_tmul(b->torque_turn, m3_tmul(b->spin_torque, angular)));
        turn = v3_sub(turn, m3_tmul(b->M_turn, angular));
        add_turn(l, yq, b->body, turn);
    }
    for (int32_t i = 0; i < l->f->constraints; ++i) {
        if (l->d_of[i] < 0) {
            continue;
        }
        const perp_constraint* c = &l->f->constraint[i];
        const perpi_constraint_derivative* d = &l->d[l->d_of[i]];
        double m[PERPI_PAIR_DOFS];
        for (int32_t a = 0; a < l->columns.count; ++a) {
            const int32_t dof = dof_of(l, d->body, l->columns.item[a]);
            m[l->columns.item[a]] = dof >= 0 ? m_v[dof] : 0.0;
        }
        for (int32_t k = 0; k < l->columns.count; ++k) {
            const int32_t column = l->columns.item[k], place = place_of(l, d->body, column);
            double sum = 0.0;
            for (int32_t r = 0; r < c->rows; ++r) {
                sum += d->u[r][column] * m_u[c->row + r];
            }
            for (int32_t a = 0; a < l->columns.count; ++a) {
                sum += d->impulse[l->columns.item[a]][column] * m[l->columns.item[a]];
            }
            if (place >= 0) {
                yq[place] += sum;
            }
            for (int32_t r = 1;
                 d->rolling != PERPI_ROLLING_NONE && place >= 0 && r < 3 && r < c->rows; ++r) {
                yv[place] += d->rate[r - 1][column] * m_u[c->row + r];
                y[at.before + place] += d->before[r - 1][column] * m_u[c->row + r];
            }
        }
    }
    const int32_t controllers = (int32_t)model->controller_count;
    for (int32_t i = 0; i < controllers; ++i) {
        const int32_t c = l->f->constraints - controllers + i;
        if (l->d_of[c] >= 0) {
            ys[i] += l->d[l->d_of[c]].integral * m_u[l->f->constraint[c].row];
        }
    }
    for (int32_t i = 0; i < l->force_count; ++i) {
        const perpi_constraint_derivative* d = &l->force[i];
        const double* rate = l->force_rate + 144 * (size_t)i;
        double m[PERPI_PAIR_DOFS] = {0};
        for (int32_t a = 0; a < l->columns.count; ++a) {
            const int32_t dof = dof_of(l, d->body, l->columns.item[a]);
            m[l->columns.item[a]] = dof >= 0 ? m_v[dof] : 0.0;
        }
        for (int side = 0; side < 2; ++side) {
            const body_part* b = spun(l, i, d->body[side]);
            if (b != NULL) {
                v3_to(m3_tmul(b->spin_torque, v3_from(m + 6 * side + 3)), m + 6 * side + 3);
            }
        }
        for (int32_t k = 0; k < l->columns.count; ++k) {
            const int32_t column = l->columns.item[k], place = place_of(l, d->body, column);
            for (int32_t a = 0; place >= 0 && a < PERPI_PAIR_DOFS; ++a) {
                yq[place] += d->impulse[a][column] * m[a];
                yv[place] += l->force_spring[i] ? rate[12 * a + column] * m[a] : 0.0;
            }
        }
    }
}

/* ---- the state after the step ----------------------------------------------------------------------*/

/* Error of a controller at the end of the step counts in its integral unless its effort is at the limit. */
static bool integrates(const perpi_linear_step* l, int32_t controller)
{
    const perp_model* model = l->step.in.model;
    const perpi_controller* c = &model->controller[controller];
    const int32_t at = l->f->constraints - (int32_t)model->controller_count + controller;
    const perp_constraint* row = &l->f->constraint[at];
    const double h = l->step.in.h, p = l->p[row->row], limit = h * c->max_effort;
    double rate[PERPI_LAW_ROWS];
    row_speeds(l, at, false, l->v, rate);
    const double error =
        l->f->error[2 * controller] - h * (rate[0] + l->f->error[2 * controller + 1]);
    return !(fabs(p) >= limit * (1.0 - 1e-9) && p * error > 0.0);
}

/* The derivative of the error at the start, -x of the coordinate, and of the rate, as one row: d e' = -dx - h d rate.
 * Of d->u the part by b is slope dx: the rate is u without it. */
static double controller_slope(const perpi_linear_step* l, int32_t controller)
{
    const perp_model* model = l->step.in.model;
    const perpi_controller* c = &model->controller[controller];
    const int32_t at = l->f->constraints - (int32_t)model->controller_count + controller;
    const double h = l->step.in.h, compliance = l->f->compliance[l->f->constraint[at].row];
    return h * compliance * (c->kp + h * c->ki);
}

/* Coordinate of a controller by the displacements of its two bodies. */
static void controller_coordinate(const perpi_linear_step* l, int32_t controller,
                                  double out[PERPI_PAIR_DOFS], int32_t body[2])
{
    const perp_model* model = l->step.in.model;
    const perpi_controller* c = &model->controller[controller];
    memset(out, 0, PERPI_PAIR_DOFS * sizeof *out);
    if (c->joint < 0) {
        body[0] = -1;
        body[1] = c->body;
        v3_to(c->axis, out + 6);
        return;
    }
    perpi_joint_change change[PERPI_PAIR_DOFS];
    perpi_joint_differentiate(model, c->joint, l->step.in.q, l->columns.item, l->columns.count,
                              change);
    body[0] = model->joint[c->joint].body[0];
    body[1] = model->joint[c->joint].body[1];
    for (int32_t k = 0; k < l->columns.count; ++k) {
        out[l->columns.item[k]] = change[k].coordinate[0].b;
    }
}

/* Prescribed bodies whose pose at the end follows from that at the start. */
static bool keeps_displacement(const perpi_body* body)
{
    return body->type != PERP_BODY_KINEMATIC || !perpi_motion_has_pose(&body->motion);
}

static mat3 prescribed_turn(const perpi_linear_step* l, int32_t i)
{
    return q4_matrix(q4_exp(v3_scale(l->step.in.h, l->f->given_w[i])));
}

static void advance_forward(const perpi_linear_step* l, const double* dx, const double* dv_problem,
                            double* next)
{
    const perp_model* model = l->step.in.model;
    const perpi_linear_size at = perpi_linear_size_of(model);
    const double *dq = dx + at.q, *dv = dx + at.v;
    double *nq = next + at.q, *nv = next + at.v;
    const double h = l->step.in.h;
    memset(next, 0, (size_t)at.total * sizeof *next);
    for (int32_t i = 0; i < (int32_t)model->body_count; ++i) {
        const perpi_body* body = &model->body[i];
        if (body->dofs > 0 || !keeps_displacement(body)) {
            continue;
        }
        add_place(l, nq, i, read_place(l, dq, i));
        add_turn(l, nq, i, m3_mul(prescribed_turn(l, i), read_turn(l, dq, i)));
    }
    for (int32_t i = 0; i < l->body_count; ++i) {
        const body_part* b = &l->body[i];
        const double* w = dv_problem + l->f->dof[b->block];
        const vec3 linear = v3(w[0], w[1], model->dimension == 3 ? w[2] : 0.0);
        const vec3 rate = block_turn(l, b, dv_problem), turn = read_turn(l, dq, b->body);
        add_place(l, nq, b->body, v3_madd(read_place(l, dq, b->body), h, linear));
        add_place(l, nv, b->body, linear);
        if (!b->turns) {
            add_turn(l, nq, b->body, turn);
            continue;
        }
        const vec3 turned = v3_add(m3_mul(b->turn_turn, turn), m3_mul(b->turn_rate, rate));
        add_turn(l, nq, b->body, turned);
        if (!b->unround || !l->step.carries) {
            add_turn(l, nv, b->body, rate);
            continue;
        }
        vec3 L = v3_add(m3_mul(b->L_turn, turn), m3_mul(b->I, rate));
        L = v3_add(L, m3_mul(b->L_rate, read_turn(l, dv, b->body)));
        L = v3_add(L, m3_mul(b->L_torque, m3_mul(b->torque_turn, turn)));
        add_turn(l, nv, b->body, v3_add(m3_mul(b->carry_turn, turned), m3_mul(b->carry, L)));
    }
    /* torques of explicit springs in the momentum that is carried */
    for (int32_t i = 0; i < l->force_count && l->step.carries; ++i) {
        const perpi_constraint_derivative* d = &l->force[i];
        const double* rate = l->force_rate + 144 * (size_t)i;
        for (int side = 0; side < 2; ++side) {
            const body_part* b = spun(l, i, d->body[side]);
            double torque[3] = {0};
            for (int32_t k = 0; b != NULL && k < l->columns.count; ++k) {
                const int32_t column = l->columns.item[k], place = place_of(l, d->body, column);
                for (int a = 0; place >= 0 && a < 3; ++a) {
                    torque[a] += d->impulse[6 * side + 3 + a][column] * dq[place] +
                                 rate[12 * (6 * side + 3 + a) + column] * dv[place];
                }
            }
            if (b != NULL) {
                add_turn(l, nv, b->body, m3_mul(b->carry, m3_mul(b->L_torque, v3_from(torque))));
            }
        }
    }
    for (int32_t i = 0; i < (int32_t)model->controller_count; ++i) {
        next[at.s + i] = dx[at.s + i];
        if (!integrates(l, i)) {
            continue;
        }
        /* d I' = d I + h d e', d e' = -dx - h d(J v') = -dx - h (J dv' + du - slope dx) */
        const int32_t c = l->f->constraints - (int32_t)model->controller_count + i;
        const perpi_constraint_derivative* d = l->d_of[c] >= 0 ? &l->d[l->d_of[c]] : NULL;
        double coordinate[PERPI_PAIR_DOFS], rate[PERPI_LAW_ROWS];
        int32_t body[2];
        controller_coordinate(l, i, coordinate, body);
        row_speeds(l, c, false, dv_problem, rate);
        double error = -h * rate[0];
        for (int32_t k = 0; k < l->columns.count; ++k) {
            const int32_t column = l->columns.item[k], place = place_of(l, body, column);
            if (place >= 0) {
                const double u = d != NULL ? d->u[0][column] : 0.0;
                const double slope = d != NULL ? controller_slope(l, i) : 0.0;
                error -= (coordinate[column] * (1.0 - h * slope) + h * u) * dq[place];
            }
        }
        next[at.s + i] += h * error;
    }
    memcpy(next + at.before, dq, (size_t)at.n * sizeof *next);
}

/* Its transpose: y += of the state, m += of the velocities of the problem. */
static void advance_adjoint(const perpi_linear_step* l, const double* y_next, double* y, double* m)
{
    const perp_model* model = l->step.in.model;
    const perpi_linear_size at = perpi_linear_size_of(model);
    const double *nq = y_next + at.q, *nv = y_next + at.v;
    double *yq = y + at.q, *yv = y + at.v;
    const double h = l->step.in.h;
    for (int32_t i = 0; i < (int32_t)model->body_count; ++i) {
        const perpi_body* body = &model->body[i];
        if (body->dofs > 0 || !keeps_displacement(body)) {
            continue;
        }
        add_place(l, yq, i, read_place(l, nq, i));
        add_turn(l, yq, i, m3_tmul(prescribed_turn(l, i), read_turn(l, nq, i)));
    }
    for (int32_t i = 0; i < l->body_count; ++i) {
        const body_part* b = &l->body[i];
        const vec3 place = read_place(l, nq, b->body);
        const vec3 linear = v3_madd(read_place(l, nv, b->body), h, place);
        for (int32_t k = 0; k < model->dimension; ++k) {
            m[l->f->dof[b->block] + k] += v3_get(linear, k);
        }
        add_place(l, yq, b->body, place);
        vec3 turned = read_turn(l, nq, b->body);
        const vec3 rate = read_turn(l, nv, b->body);
        if (!b->turns) {
            add_turn(l, yq, b->body, turned);
            continue;
        }
        if (!b->unround || !l->step.carries) {
            add_block_turn(l, b, rate, m);
        } else {
            const vec3 L = m3_tmul(b->carry, rate);
            turned = v3_add(turned, m3_tmul(b->carry_turn, rate));
            add_block_turn(l, b, m3_tmul(b->I, L), m);
            add_turn(l, yv, b->body, m3_tmul(b->L_rate, L));
            add_turn(l, yq, b->body, m3_tmul(b->L_turn, L));
            add_turn(l, yq, b->body, m3_tmul(b->torque_turn, m3_tmul(b->L_torque, L)));
        }
        add_turn(l, yq, b->body, m3_tmul(b->turn_turn, turned));
        add_block_turn(l, b, m3_tmul(b->turn_rate, turned), m);
    }
    for (int32_t i = 0; i < l->force_count && l->step.carries; ++i) {
        const perpi_constraint_derivative* d = &l->force[i];
        const double* by = l->force_rate + 144 * (size_t)i;
        for (int side = 0; side < 2; ++side) {
            const body_part* b = spun(l, i, d->body[side]);
            if (b == NULL) {
                continue;
            }
            const vec3 torque = m3_tmul(b->L_torque, m3_tmul(b->carry, read_turn(l, nv, b->body)));
            for (int32_t k = 0; k < l->columns.count; ++k) {
                const int32_t column = l->columns.item[k], place = place_of(l, d->body, column);
                for (int a = 0; place >= 0 && a < 3; ++a) {
                    yq[place] += d->impulse[6 * side + 3 + a][column] * v3_get(torque, a);
                    yv[place] += by[12 * (6 * side + 3 + a) + column] * v3_get(torque, a);
                }
            }
        }
    }
    for (int32_t i = 0; i < (int32_t)model->controller_count; ++i) {
        const double s = y_next[at.s + i];
        y[at.s + i] += s;
        if (!integrates(l, i)) {
            continue;
        }
        const int32_t c = l->f->constraints - (int32_t)model->controller_count + i;
        const perpi_constraint_derivative* d = l->d_of[c] >= 0 ? &l->d[l->d_of[c]] : NULL;
        double coordinate[PERPI_PAIR_DOFS];
        const double rate[PERPI_LAW_ROWS] = {-h * h * s};
        int32_t body[2];
        controller_coordinate(l, i, coordinate, body);
        add_transposed(l, c, false, rate, m);
        for (int32_t k = 0; k < l->columns.count; ++k) {
            const int32_t column = l->columns.item[k], place = place_of(l, body, column);
            if (place >= 0) {
                const double u = d != NULL ? d->u[0][column] : 0.0;
                const double slope = d != NULL ? controller_slope(l, i) : 0.0;
                yq[place] -= h * s * (coordinate[column] * (1.0 - h * slope) + h * u);
            }
        }
    }
    for (int32_t i = 0; i < at.n; ++i) {
        yq[i] += y_next[at.before + i];
    }
}

/* ---- forward and adjoint -------------------------------------------------------------------------*/

/* c = g - A r_u; the normal row of a law may be that of another constraint. */
static void law_right_side(const perpi_linear_step* l, const double* r_u, double* c)
{
    for (int32_t i = 0; i < l->f->constraints; ++i) {
        const perp_constraint* x = &l->f->constraint[i];
        const perpi_law* law = &l->law[i];
        double u[PERPI_LAW_ROWS], y[PERPI_LAW_ROWS];
        memcpy(u, r_u + x->row, (size_t)x->rows * sizeof *u);
        u[0] = r_u[l->f->constraint[law->closing].row];
        law_multiply(x->rows, law->A, false, u, y);
        for (int32_t r = 0; r < x->rows; ++r) {
            c[x->row + r] -= y[r];
        }
    }
}

static perp_status check_solution(perpi_linear_step* l, const double* x, int32_t n)
{
    const double size = largest(x, n);
    if (!isfinite(size)) {
        l->report.flags |= PERPI_LINEAR_SINGULAR;
        return perpi_fail(l->context, PERP_ERROR_NUMERIC,
                          "gradient: the equations of the active set have no solution at t = %.9g",
                          l->step.in.t);
    }
    return PERP_OK;
}

/* Parts of the parameter vector: r_v, r_u, g, then the state after the step. */
int32_t perpi_linear_step_parameter_size(const perpi_linear_step* l)
{
    return l->dofs + 2 * l->rows + perpi_linear_size_of(l->step.in.model).total;
}

perp_status perpi_linear_step_forward(perpi_linear_step* l, const double* dx,
                                      const double* parameter, double* dx_next)
{
    PERP_ASSERT(!l->options.transposed);
    const size_t dofs = (size_t)l->dofs, rows = (size_t)l->rows;
    const perp_status status = perpi_grow(l->context, &l->work, &l->work_capacity,
                                          3 * (dofs + rows) + dofs + 2 * rows, sizeof *l->work);
    if (status != PERP_OK) {
        return status;
    }
    double *r_v = l->work + 3 * (dofs + rows), *r_u = r_v + dofs, *c = r_u + rows;
    memset(r_v, 0, (dofs + 2 * rows) * sizeof *r_v);
    residual_forward(l, dx, r_v, r_u);
    if (parameter != NULL) {
        for (size_t i = 0; i < dofs; ++i) {
            r_v[i] += parameter[i];
        }
        for (size_t i = 0; i < rows; ++i) {
            r_u[i] += parameter[dofs + i];
        }
        for (int32_t i = 0; i < l->f->constraints; ++i) {
            const perp_constraint* x = &l->f->constraint[i];
            for (int32_t r = 0; r < x->rows; ++r) {
                const double* g = parameter + dofs + rows;
                c[x->row + r] = l->law[i].g[r] *
                                (x->kind == PERP_CONSTRAINT_CONTACT ? g[x->row] : g[x->row + r]);
            }
        }
    }
    law_right_side(l, r_u, c);
    solve_system(l, r_v, c, MAX_REFINEMENTS);
    advance_forward(l, dx, r_v, dx_next);
    if (parameter != NULL) {
        const int32_t total = perpi_linear_size_of(l->step.in.model).total;
        for (int32_t i = 0; i < total; ++i) {
            dx_next[i] += parameter[dofs + 2 * rows + (size_t)i];
        }
    }
    return check_solution(l, dx_next, perpi_linear_size_of(l->step.in.model).total);
}

perp_status perpi_linear_step_adjoint(perpi_linear_step* l, const double* y_next, double* y,
                                      double* multiplier)
{
    PERP_ASSERT(l->options.transposed);
    const size_t dofs = (size_t)l->dofs, rows = (size_t)l->rows;
    const int32_t total = perpi_linear_size_of(l->step.in.model).total;
    const perp_status status = perpi_grow(l->context, &l->work, &l->work_capacity,
                                          3 * (dofs + rows) + dofs + 2 * rows, sizeof *l->work);
    if (status != PERP_OK) {
        return status;
    }
    double *m_v = l->work + 3 * (dofs + rows), *m_p = m_v + dofs, *m_u = m_p + rows;
    memset(m_v, 0, (dofs + 2 * rows) * sizeof *m_v);
    memset(y, 0, (size_t)total * sizeof *y);
    advance_adjoint(l, y_next, y, m_v);
    solve_system(l, m_v, m_p, MAX_REFINEMENTS);
    /* the law's right-hand side is g - A r_u */
    for (int32_t i = 0; i < l->f->constraints; ++i) {
        const perp_constraint* x = &l->f->constraint[i];
        const perpi_law* law = &l->law[i];
        double z[PERPI_LAW_ROWS];
        law_multiply(x->rows, law->A, true, m_p + x->row, z);
        m_u[l->f->constraint[law->closing].row] -= z[0];
        for (int32_t r = 1; r < x->rows; ++r) {
            m_u[x->row + r] -= z[r];
        }
    }
    residual_adjoint(l, m_v, m_u, y);
    if (multiplier != NULL) {
        double* g = multiplier + dofs + rows;
        memcpy(multiplier, m_v, dofs * sizeof *m_v);
        memcpy(multiplier + dofs, m_u, rows * sizeof *m_u);
        memset(g, 0, rows * sizeof *g);
        for (int32_t i = 0; i < l->f->constraints; ++i) {
            const perp_constraint* x = &l->f->constraint[i];
            for (int32_t r = 0; r < x->rows; ++r) {
                g[x->kind == PERP_CONSTRAINT_CONTACT ? x->row : x->row + r] +=
                    l->law[i].g[r] * m_p[x->row + r];
            }
        }
        memcpy(g + rows, y_next, (size_t)total * sizeof *y_next);
    }
    return check_solution(l, y, total);
}

/* ---- parameters ----------------------------------------------------------------------------------*/

/* The features of contacts that count, once for a step. */
static perp_status freeze_contacts(perpi_linear_step* l)
{
    const perpi_step_input* in = &l->step.in;
    const size_t n = (size_t)in->contact_count;
    if (l->frozen_done) {
        return PERP_OK;
    }
    perp_status status =
        perpi_grow(l->context, &l->frozen, &l->frozen_capacity, n, sizeof *l->frozen);
    if (status == PERP_OK) {
        status = perpi_grow(l->context, &l->contact, &l->contact_capacity, n, sizeof *l->contact);
    }
    for (size_t i = 0; status == PERP_OK && i < n; ++i) {
        if (l->d_of[i] >= 0) {
            status = perpi_contact_freeze(in->model, l->f->pose, &in->contact[i], &l->frozen[i]);
        }
    }
    l->frozen_done = status == PERP_OK;
    return status;
}

/* The slip of a rolling contact in another model: it depends on the contact of the step before, too. */
static perp_status vary_rolling(perpi_linear_step* l, const perp_model* model, bool geometry,
                                perpi_rolling_case rolling, perp_contact* c)
{
    const perp_contact* own = perpi_rolling_before(&l->solved, c);
    perp_contact before = *own;
    if (geometry) {
        perpi_frozen_contact frozen;
        perpi_contact_geometry g;
        perp_status status = perpi_contact_freeze(l->step.in.model, l->pose_before, own, &frozen);
        if (status == PERP_OK) {
            status = perpi_frozen_at(model, l->pose_before, &frozen, &g);
        }
        if (status != PERP_OK) {
            return status;
        }
        before.gap = g.gap;
        v3_to(g.point_a, before.point);
        v3_to(g.normal, before.normal);
    }
    double drift[2];
    perpi_rolling_drift(&(perpi_rolling_input){.model = model,
                                               .pose = l->f->pose,
                                               .v = l->step.in.v,
                                               .h = l->step.in.h,
                                               .h_before = l->step.h_before,
                                               .contact = c,
                                               .before = &before},
                        rolling, drift);
    c->drift[1] = drift[0];
    c->drift[2] = l->step.in.model->dimension == 3 ? drift[1] : 0.0;
    return PERP_OK;
}

/* A contact of the step in another model. */
static perp_status vary_contact(perpi_linear_step* l, const perp_model* model, bool geometry,
                                int32_t i)
{
    const perpi_step_input* in = &l->step.in;
    perp_contact* c = &l->contact[i];
    const int32_t shape[2] = {perpi_key_shape_a(c->key), perpi_key_shape_b(c->key)};
    if (geometry) {
        perpi_contact_geometry g;
        const perp_status status = perpi_frozen_at(model, l->f->pose, &l->frozen[i], &g);
        if (status != PERP_OK) {
            return status;
        }
        const perpi_body *a = &model->body[c->body_a], *b = &model->body[c->body_b];
        const bool particles = a->dofs > 0 && b->dofs > 0 && (a->particle || b->particle);
        c->gap = g.gap;
        v3_to(g.normal, c->normal);
        v3_to(g.tangent, c->tangent);
        v3_to(!particles    ? g.point_a
              : a->particle ? l->f->pose[c->body_a].x
                            : v3_madd(l->f->pose[c->body_b].x, -g.gap, g.normal),
              c->point);
    }
    if (c->cone != PERP_CONE_NONE) {
        c->mu = perpi_model_friction(model, shape[0], shape[1]);
    }
    if (l->d[l->d_of[i]].rolling != PERPI_ROLLING_NONE) {
        return vary_rolling(l, model, geometry, l->d[l->d_of[i]].rolling, c);
    }
    if (perpi_contact_driven(model, c)) {
        const vec3 t = v3_from(c->tangent), o = v3_cross(v3_from(c->normal), t);
        vec3 relative = v3(0, 0, 0);
        for (int side = 0; side < 2; ++side) {
            const perpi_surface* surface = &model->surface[shape[side]];
            const vec3 local = v3(perpi_value_at(&surface->velocity[0], in->t),
                                  perpi_value_at(&surface->velocity[1], in->t),
                                  perpi_value_at(&surface->velocity[2], in->t));
            const vec3 world = m3_mul(l->f->pose[side == 0 ? c->body_a : c->body_b].R, local);
            relative =
                surface->moving ? v3_madd(relative, side == 0 ? -1.0 : 1.0, world) : relative;
        }
        c->drift[1] = v3_dot(t, relative);
        c->drift[2] = v3_dot(o, relative);
    }
    return PERP_OK;
}

/* out += weight (k - M v' + J' p, J v' + b + c p, mu and bounds) of the formulation l->varied. */
static void add_residual(const perpi_linear_step* l, double weight, double* out)
{
    const perpi_formulation* f = l->varied;
    const perp_contact_problem* P = &f->problem;
    double *r_v = out, *r_u = out + l->dofs, *g = r_u + l->rows;
    const double* M = P->M;
    for (int32_t b = 0; b < P->block_count; ++b) {
        const int32_t first = P->dof[b], n = P->dof[b + 1] - first;
        for (int32_t i = 0; i < n; ++i) {
            double sum = P->k[first + i];
            for (int32_t j = 0; j < n; ++j) {
                sum -= M[i * n + j] * l->v[first + j];
            }
            r_v[first + i] += weight * sum;
        }
        M += n * n;
    }
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        if (l->d_of[i] < 0) {
            continue;
        }
        const perp_constraint* c = &P->constraint[i];
        const double* J = P->J + c->jac;
        const bool contact = c->kind == PERP_CONSTRAINT_CONTACT;
        for (int32_t r = 0; r < c->rows; ++r) {
            const int32_t row = c->row + r;
            const double soft =
                contact || P->compliance == NULL ? 0.0 : P->compliance[row] * l->p[row];
            r_u[row] += weight * (P->b[row] + soft);
            if (l->law[i].bound[r] != 0) {
                g[row] += weight * (l->law[i].bound[r] < 0 ? P->lower[row] : P->upper[row]);
            }
        }
        g[c->row] += contact ? weight * c->mu : 0.0;
        for (int side = 0; side < 2; ++side) {
            const int32_t block = c->block[side];
            const int32_t n = block >= 0 ? P->dof[block + 1] - P->dof[block] : 0;
            for (int32_t r = 0; r < c->rows && n > 0; ++r, J += n) {
                for (int32_t k = 0; k < n; ++k) {
                    r_u[c->row + r] += weight * J[k] * l->v[P->dof[block] + k];
                    r_v[P->dof[block] + k] += weight * J[k] * l->p[c->row + r];
                }
            }
        }
    }
}

/* out += weight (the state after the step, at the same v' and p). */
static perp_status add_next_state(perpi_linear_step* l, const perpi_step_input* in, double weight,
                                  double* out)
{
    const perp_model* model = in->model;
    const perpi_linear_size at = perpi_linear_size_of(model);
    const int32_t qn = perpi_q_stride(model), vn = perpi_v_stride(model);
    const int32_t bodies = (int32_t)model->body_count, s = perpi_s_size(model);
    perp_status status = perpi_grow(l->context, &l->q_next, &l->q_next_capacity,
                                    (size_t)(qn * bodies), sizeof(double));
    if (status == PERP_OK) {
        status = perpi_grow(l->context, &l->v_next, &l->v_next_capacity, (size_t)(vn * bodies),
                            sizeof(double));
    }
    if (status == PERP_OK) {
        status =
            perpi_grow(l->context, &l->s_next, &l->s_next_capacity, (size_t)s + 1, sizeof(double));
    }
    if (status != PERP_OK) {
        return status;
    }
    memcpy(l->q_next, in->q, (size_t)(qn * bodies) * sizeof *l->q_next);
    memcpy(l->v_next, l->step.v_solved, (size_t)(vn * bodies) * sizeof *l->v_next);
    status = perpi_advance(in, l->q_next, l->v_next);
    if (status != PERP_OK) {
        return status;
    }
    if (l->step.carries) {
        perpi_momentum_carry(l->varied, model, in->v, l->q_next, l->v_next);
    }
    for (int32_t i = 0; i < bodies; ++i) {
        for (int32_t k = 0; k < vn; ++k) {
            out[at.v + vn * i + k] += weight * (l->v_next[vn * i + k] - l->step.v_end[vn * i + k]);
        }
        if (model->body[i].dofs > 0) {
            continue; /* moved by v' alone */
        }
        const perpi_pose a = perpi_state_pose(model, l->step.q_end, i);
        const perpi_pose b = perpi_state_pose(model, l->q_next, i);
        const vec3 moved = v3_sub(b.x, a.x);
        add_place(l, out + at.q, i, v3_scale(weight, moved));
        add_turn(l, out + at.q, i,
                 model->dimension == 2
                     ? v3(0, 0, weight * (l->q_next[3 * i + 2] - l->step.q_end[3 * i + 2]))
                     : v3_scale(weight, q4_log(q4_mul(b.q, q4_conj(a.q)))));
    }
    if (model->controller_count > 0) {
        perpi_forces_remember(l->varied, model, in->h, l->v, l->p, in->s, l->s_next);
        const int32_t first = s - (int32_t)model->controller_count;
        for (int32_t i = 0; i < (int32_t)model->controller_count; ++i) {
            out[at.s + i] += weight * l->s_next[first + i];
        }
    }
    return PERP_OK;
}

perp_status perpi_linear_step_vary(perpi_linear_step* l, const perp_model* model, bool geometry,
                                   double weight, double* out)
{
    perpi_step_input in = l->step.in;
    perp_status status = freeze_contacts(l);
    if (status != PERP_OK) {
        return status;
    }
    if (in.contact_count > 0) {
        memcpy(l->contact, in.contact, (size_t)in.contact_count * sizeof *l->contact);
    }
    for (int32_t i = 0; status == PERP_OK && i < in.contact_count; ++i) {
        if (l->d_of[i] >= 0) {
            status = vary_contact(l, model, geometry, i);
        }
    }
    if (status != PERP_OK) {
        return status;
    }
    in.model = model;
    in.contact = l->contact;
    status = perpi_formulate(l->varied, &in);
    if (status == PERP_OK &&
        (l->varied->problem.dof_count != l->dofs || l->varied->problem.row_count != l->rows)) {
        return perpi_fail(l->context, PERP_ERROR_UNSUPPORTED,
                          "gradient: a parameter changes the rows of the step at t = %.9g", in.t);
    }
    if (status == PERP_OK) {
        add_residual(l, weight, out);
        status = add_next_state(l, &in, weight, out + l->dofs + 2 * l->rows);
    }
    return status;
}
