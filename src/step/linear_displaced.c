/* src/step/linear_displaced.c - a step whose bodies an impact displaced before it: see linear_parts.h.
 *
 * Two bodies that act only on each other in an impact are displaced before the step that follows
 * (src/sim/impact_time.c):
 *     x' = x + s,   R' = exp(s_phi) R,   w' = I'^-1 I w
 * and the step is one from there. So displacements of the start pass through this map first.
 */
#include <string.h>

#include "base/turn.h"
#include "step/linear_parts.h"

static mat3 cross_of(vec3 a) /* a x */
{
    return (mat3){{{0, -a.z, a.y}, {a.z, 0, -a.x}, {-a.y, a.x, 0}}};
}

static mat3 sub(mat3 A, mat3 B)
{
    for (int k = 0; k < 9; ++k) {
        A.m[k / 3][k % 3] -= B.m[k / 3][k % 3];
    }
    return A;
}

static const double* early_of(const perpi_linear_step* l, const double* offset)
{
    return offset + (size_t)perpi_v_stride(l->step.in.model) * l->step.in.model->body_count;
}

static void make_body(perpi_linear_step* l, int32_t i, const double* offset, const double* q_to,
                      const double* v_to)
{
    const perp_model* model = l->step.in.model;
    const perpi_body* body = &model->body[i];
    perpi_displaced_body* b = &l->displaced[l->displaced_count++];
    const vec3 phi = perpi_state_rate(model, offset, i);
    *b = (perpi_displaced_body){
        .body = i, .turn = m3_identity(), .turn_offset = m3_identity(), .rate = m3_identity()};
    if (model->dimension == 2 || body->particle) {
        return;
    }
    b->turn = q4_matrix(q4_exp(phi));
    b->turn_offset = perpi_turn_derivative(phi);
    if (perpi_inertia_round(body)) {
        return;
    }
    const perpi_pose from = perpi_state_pose(model, l->step.in.q, i),
                     to = perpi_state_pose(model, q_to, i);
    const mat3 I = perpi_world_inertia(body, &from);
    const mat3 inverse = m3_mm(to.R, m3_mm(m3_inverse(body->inertia), m3_transpose(to.R)));
    const vec3 w = perpi_state_rate(model, l->step.in.v, i), L = m3_mul(I, w);
    b->rate = m3_mm(inverse, I);
    b->rate_turn = m3_mm(inverse, sub(m3_mm(I, cross_of(w)), cross_of(L)));
    b->rate_turned = sub(m3_mm(inverse, cross_of(L)), cross_of(perpi_state_rate(model, v_to, i)));
}

perp_status perpi_linear_displace_start(perpi_linear_step* l)
{
    const perp_model* model = l->step.in.model;
    const size_t bodies = model->body_count, q = (size_t)perpi_q_stride(model) * bodies,
                 v = (size_t)perpi_v_stride(model) * bodies;
    l->displaced_count = 0;
    if (l->step.impact || !perpi_linear_starts_displaced(l)) {
        return PERP_OK;
    }
    const double* offset = l->step.offset;
    perp_status status =
        perpi_grow(l->context, &l->displaced, &l->displaced_capacity, bodies, sizeof *l->displaced);
    if (status == PERP_OK) {
        status = perpi_grow(l->context, &l->displaced_room, &l->displaced_room_capacity,
                            q + 2 * v + bodies + (size_t)perpi_linear_size_of(model).total,
                            sizeof *l->displaced_room);
    }
    if (status != PERP_OK) {
        return status;
    }
    double *q_to = l->displaced_room, *v_to = q_to + q, *rest = v_to + v;
    memcpy(q_to, l->step.in.q, q * sizeof *q_to);
    memcpy(v_to, l->step.in.v, v * sizeof *v_to);
    memcpy(rest, offset, (v + bodies) * sizeof *rest);
    perpi_displace(model, offset, true, q_to);
    perpi_carry_spin(model, l->step.in.q, q_to, v_to);
    for (int32_t i = 0; i < (int32_t)bodies; ++i) {
        if (early_of(l, offset)[i] != 0.0 && model->body[i].dofs > 0) {
            make_body(l, i, offset, q_to, v_to);
            memset(rest + (size_t)perpi_v_stride(model) * (size_t)i, 0,
                   (size_t)perpi_v_stride(model) * sizeof *rest);
            rest[v + (size_t)i] = 0.0;
        }
    }
    l->step.in.q = l->step.in.q_end = q_to;
    l->step.in.v = l->step.in.v_end = v_to;
    l->step.offset = rest;
    return PERP_OK;
}

void perpi_linear_displaced_flag(perpi_linear_step* l)
{
    for (int32_t i = 0; l->displaced_count > 0 && i < l->f->contact_count; ++i) {
        const perp_contact* c = &l->step.in.contact[i];
        for (int32_t k = 0; l->law[i].acts && k < l->displaced_count; ++k) {
            const int32_t body = l->displaced[k].body;
            if (c->body_a == body || c->body_b == body) {
                l->report.flags |= PERPI_LINEAR_CHOICE; /* its geometry is that of the state */
            }
        }
    }
}

static vec3 read_turn(const perpi_linear_step* l, const double* x, int32_t body)
{
    return l->step.in.model->dimension == 2 ? v3(0, 0, x[3 * body + 2])
                                            : v3_from(x + 6 * (size_t)body + 3);
}

static void write_turn(const perpi_linear_step* l, vec3 turn, int32_t body, double* x)
{
    if (l->step.in.model->dimension == 2) {
        x[3 * body + 2] = turn.z;
    } else {
        v3_to(turn, x + 6 * (size_t)body + 3);
    }
}

const double* perpi_linear_displaced(const perpi_linear_step* l, const double* dx)
{
    const perp_model* model = l->step.in.model;
    const perpi_linear_size at = perpi_linear_size_of(model);
    const size_t bodies = model->body_count;
    const int32_t n = perpi_v_stride(model);
    if (l->displaced_count == 0) {
        return dx;
    }
    double* to = l->displaced_room + (size_t)perpi_q_stride(model) * bodies +
                 2 * (size_t)n * bodies + bodies;
    memcpy(to, dx, (size_t)at.total * sizeof *to);
    for (int32_t i = 0; i < l->displaced_count; ++i) {
        const perpi_displaced_body* b = &l->displaced[i];
        const vec3 turn = read_turn(l, dx + at.q, b->body);
        const vec3 turned = v3_add(m3_mul(b->turn, turn),
                                   m3_mul(b->turn_offset, read_turn(l, dx + at.offset, b->body)));
        for (int32_t k = 0; k < model->dimension; ++k) {
            to[at.q + n * b->body + k] += dx[at.offset + n * b->body + k];
        }
        write_turn(l, turned, b->body, to + at.q);
        vec3 rate =
            v3_add(m3_mul(b->rate, read_turn(l, dx + at.v, b->body)), m3_mul(b->rate_turn, turn));
        rate = v3_add(rate, m3_mul(b->rate_turned, turned));
        write_turn(l, rate, b->body, to + at.v);
        memset(to + at.offset + n * b->body, 0, (size_t)n * sizeof *to);
    }
    return to;
}

void perpi_linear_displaced_adjoint(const perpi_linear_step* l, double* y)
{
    const perp_model* model = l->step.in.model;
    const perpi_linear_size at = perpi_linear_size_of(model);
    const int32_t n = perpi_v_stride(model);
    for (int32_t i = 0; i < l->displaced_count; ++i) {
        const perpi_displaced_body* b = &l->displaced[i];
        const vec3 rate = read_turn(l, y + at.v, b->body);
        const vec3 turned = v3_add(read_turn(l, y + at.q, b->body), m3_tmul(b->rate_turned, rate));
        for (int32_t k = 0; k < model->dimension; ++k) {
            y[at.offset + n * b->body + k] = y[at.q + n * b->body + k];
        }
        write_turn(l, m3_tmul(b->turn_offset, turned), b->body, y + at.offset);
        write_turn(l, m3_tmul(b->rate, rate), b->body, y + at.v);
        write_turn(l, v3_add(m3_tmul(b->turn, turned), m3_tmul(b->rate_turn, rate)), b->body,
                   y + at.q);
    }
}
