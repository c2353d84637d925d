/* src/step/linear_body.c - the parts of bodies in a linearised step: see linear_parts.h. */
#include <string.h>

#include "base/turn.h"
#include "step/chord.h"
#include "step/linear_parts.h"

/* ---- small matrices ------------------------------------------------------------------------------*/

static const mat3 ZERO = {{{0, 0, 0}, {0, 0, 0}, {0, 0, 0}}};

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

/* d (I a) by a rotation, a fixed: dphi x (I a) - I (dphi x a). */
static mat3 inertia_turn(mat3 I, vec3 a)
{
    return m3_madd(m3_mm(I, m3_cross(a)), -1.0, m3_cross(m3_mul(I, a)));
}

/* ---- bodies --------------------------------------------------------------------------------------*/

/* Forces of wrenches by the rotation of the body: those given in its frame, and arms. */
void perpi_linear_wrenches(const perp_model* model, double t, double h, const perpi_pose* pose,
                           perpi_linear_body* b)
{
    b->force_turn = b->torque_turn = ZERO;
    for (int32_t i = model->body[b->body].wrench; i >= 0; i = model->wrench[i].next) {
        const perpi_wrench* w = &model->wrench[i];
        vec3 f = v3(perpi_value_at(&w->force[0], t), perpi_value_at(&w->force[1], t),
                    perpi_value_at(&w->force[2], t));
        vec3 m = v3(perpi_value_at(&w->torque[0], t), perpi_value_at(&w->torque[1], t),
                    perpi_value_at(&w->torque[2], t));
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
        b->force_turn = m3_madd(b->force_turn, h, df);
        b->torque_turn = m3_madd(b->torque_turn, h, dm);
    }
}

/* The velocity-product term: k = R I W, I W = exp(-h' W) Lambda (free_rotation.c), h' = part h. */
static void differentiate_spin(const perpi_linear_step* l, const perpi_body* body,
                               perpi_linear_body* b, vec3 w, vec3 torque)
{
    const perpi_step_input* in = &l->step.in;
    const perpi_formulation* f = l->f;
    const mat3 R = f->pose[b->body].R, I = body->inertia;
    const vec3 spin = v3_add(f->gyroscopic[b->body], v3_madd(m3_mul(b->I, w), in->h, torque));
    const double part = f->midway ? perpi_spin_part(body, f->hold[b->body], in->h, w) : 1.0;
    const double h = part * in->h;
    const mat3 I_inverse = m3_inverse(I);
    const vec3 W = m3_mul(I_inverse, m3_tmul(R, spin)), turned = m3_tmul(R, spin);
    const mat3 turn = q4_matrix(q4_exp(v3_scale(-h, W)));
    /* F(W) = I W - exp(-h W) Lambda, dF = D dW - turn dLambda + W x turned dh */
    mat3 D = m3_mm(m3_cross(turned), perpi_turn_derivative(v3_scale(-h, W)));
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
    if (f->midway && body->joints == 0 && part > 0.5 && part < 1.0) {
        /* part = 1/2 + (h |w|)^2 */
        const vec3 dpart = v3_scale(2.0 * in->h * in->h, w);
        const vec3 dW = m3_mul(m3_general_inverse(D), v3_scale(-in->h, v3_cross(W, turned)));
        b->spin_rate = m3_madd(b->spin_rate, 1.0, m3_outer(m3_mul(RI, dW), dpart));
    }
}

/* The step turns the body from where the offset of an impact has turned it: R' = exp(r) exp(phi) R. */
static void shift_rotation(const perpi_linear_step* l, perpi_linear_body* b)
{
    if (l->step.offset != NULL) {
        const vec3 phi = perpi_state_rate(l->step.in.model, l->step.offset, b->body);
        b->turn_offset = m3_mm(b->turn_turn, perpi_turn_derivative(phi));
        b->turn_turn = m3_mm(b->turn_turn, q4_matrix(q4_exp(phi)));
    }
}

/* The rotation after the step: exp(r) with r = h w', or of the linear update w' 2 atan(h |w'| / 2) / |w'|. */
void perpi_linear_rotation(const perpi_linear_step* l, perpi_linear_body* b, vec3 w)
{
    const double h = l->step.in.h, rate = v3_norm(w);
    if (!l->step.in.settings->linear_rotation && !perpi_turns_by_chord(&l->step.in, b->body)) {
        b->turn_turn = q4_matrix(q4_exp(v3_scale(h, w)));
        b->turn_rate = m3_madd(ZERO, h, perpi_turn_derivative(v3_scale(h, w)));
        shift_rotation(l, b);
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
    b->turn_rate = m3_mm(perpi_turn_derivative(r), dr);
    shift_rotation(l, b);
}

static void differentiate_carry(const perpi_linear_step* l, const perpi_body* body,
                                perpi_linear_body* b, vec3 w, vec3 w_next)
{
    const perp_model* model = l->step.in.model;
    const perpi_pose end = perpi_state_pose(model, l->step.q_end, b->body);
    const mat3 inverse = m3_mm(end.R, m3_mm(m3_inverse(body->inertia), m3_transpose(end.R)));
    const vec3 w_state =
        perpi_state_rate(model, l->step.corrected ? l->carried : l->step.v_end, b->body);
    const vec3 L = v3_sub(m3_mul(b->I, w_next), l->f->gyroscopic[b->body]);
    b->carry = inverse;
    b->carry_turn = m3_madd(m3_mm(inverse, m3_cross(L)), -1.0, m3_cross(w_state));
    b->L_next = b->I;
    b->L_turn = m3_madd(inertia_turn(b->I, w_next), 1.0, inertia_turn(b->I, w));
    b->L_turn = m3_madd(b->L_turn, -1.0, b->spin_turn);
    b->L_rate = m3_madd(b->I, -1.0, b->spin_rate);
    b->L_torque = m3_madd(m3_identity(), -1.0, b->spin_torque);
}

/* An impact: M v' = M v + J' p at the same pose. */
static void make_body_of_impact(perpi_linear_step* l, const perpi_body* body, perpi_linear_body* b)
{
    const perpi_step_input* in = &l->step.in;
    const int32_t index = b->body;
    for (int i = 0; i < 3; ++i) {
        b->M_inverse[i] = 1.0 / body->mass;
    }
    b->turn_turn = m3_identity();
    if (!b->turns) {
        return;
    }
    if (in->model->dimension == 2) {
        b->I.m[2][2] = b->spin_rate.m[2][2] = body->inertia.m[2][2];
        b->M_inverse[11] = 1.0 / b->I.m[2][2];
        return;
    }
    b->I = b->spin_rate = perpi_world_inertia(body, &l->f->pose[index]);
    const mat3 inverse = m3_inverse(b->I);
    memcpy(b->M_inverse + 3, inverse.m, sizeof inverse.m);
    if (b->unround) {
        b->spin_turn = inertia_turn(b->I, perpi_state_rate(in->model, in->v, index));
        b->M_turn = inertia_turn(b->I, v3_from(l->v + l->f->dof[b->block] + 3));
    }
}

static perp_status make_body(perpi_linear_step* l, int32_t index, perpi_linear_body* b)
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
    if (l->step.impact) {
        make_body_of_impact(l, body, b);
        return PERP_OK;
    }
    if (l->step.middle) {
        return perpi_linear_middle_body(l, b);
    }
    const double linear = body->mass + in->h * body->drag_linear;
    for (int i = 0; i < 3; ++i) {
        b->M_inverse[i] = 1.0 / linear;
    }
    perpi_linear_wrenches(model, in->t, in->h, &f->pose[index], b);
    if (!b->turns) {
        return PERP_OK;
    }
    if (model->dimension == 2) {
        b->I.m[2][2] = body->inertia.m[2][2];
        b->spin_rate.m[2][2] = b->I.m[2][2];
        b->spin_torque.m[2][2] = b->turn_turn.m[2][2] = b->turn_offset.m[2][2] = 1.0;
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
    perpi_linear_rotation(l, b, w_next);
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

perp_status perpi_linear_bodies(perpi_linear_step* l)
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
