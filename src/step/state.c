/* src/step/state.c - reading and writing the flat state; forces and prescribed motion at a time. */
#include "step/formulate.h"

#include <string.h>

perpi_pose perpi_planar_pose(const double* s)
{
    const double c = cos(s[2]), d = sin(s[2]);
    return (perpi_pose){v3(s[0], s[1], 0.0), q4_exp(v3(0.0, 0.0, s[2])),
                        (mat3){{{c, -d, 0}, {d, c, 0}, {0, 0, 1}}}};
}

void perpi_state_set_pose(const perp_model* model, double* q, int32_t body, const perpi_pose* pose,
                          double angle)
{
    double* s = q + (size_t)body * (size_t)perpi_q_stride(model);
    if (model->dimension == 2) {
        s[0] = pose->x.x;
        s[1] = pose->x.y;
        s[2] = angle;
        return;
    }
    v3_to(pose->x, s);
    s[3] = pose->q.w;
    s[4] = pose->q.x;
    s[5] = pose->q.y;
    s[6] = pose->q.z;
}

void perpi_state_set_velocity(const perp_model* model, double* v, int32_t body, vec3 velocity,
                              vec3 rate)
{
    double* s = v + (size_t)body * (size_t)perpi_v_stride(model);
    if (model->dimension == 2) {
        s[0] = velocity.x;
        s[1] = velocity.y;
        s[2] = rate.z;
        return;
    }
    v3_to(velocity, s);
    v3_to(rate, s + 3);
}

mat3 perpi_world_inertia(const perpi_body* body, const perpi_pose* pose)
{
    if (perpi_inertia_round(body)) {
        return body->inertia;
    }
    return m3_mm(pose->R, m3_mm(body->inertia, m3_transpose(pose->R)));
}

/* The angular velocity at orientation `to` with the momentum that w has at `from`. */
static vec3 carried_rate(const perpi_body* body, mat3 from, mat3 to, vec3 w)
{
    const vec3 L = m3_mul(from, m3_mul(body->inertia, m3_tmul(from, w)));
    return m3_mul(to, m3_mul(m3_inverse(body->inertia), m3_tmul(to, L)));
}

void perpi_carry_spin(const perp_model* model, const double* q, const double* q_to, double* v)
{
    for (int32_t i = 0; model->dimension == 3 && i < (int32_t)model->body_count; ++i) {
        const perpi_body* body = &model->body[i];
        const size_t turn = 7 * (size_t)i + 3;
        if (body->dofs == 0 || body->particle || perpi_inertia_round(body) ||
            memcmp(q + turn, q_to + turn, 4 * sizeof *q) == 0) {
            continue;
        }
        const vec3 w =
            carried_rate(body, perpi_state_pose(model, q, i).R, perpi_state_pose(model, q_to, i).R,
                         perpi_state_rate(model, v, i));
        v3_to(w, v + 6 * (size_t)i + 3);
    }
}

void perpi_displace(const perp_model* model, const double* offset, bool before, double* q)
{
    const double* early = offset + (size_t)perpi_v_stride(model) * model->body_count;
    for (int32_t i = 0; i < (int32_t)model->body_count; ++i) {
        const vec3 moved = perpi_state_velocity(model, offset, i);
        const vec3 turn = perpi_state_rate(model, offset, i);
        if (model->body[i].dofs == 0 || (early[i] != 0.0) != before ||
            v3_dot(moved, moved) + v3_dot(turn, turn) == 0.0) {
            continue; /* keeps its bits */
        }
        perpi_pose pose = perpi_state_pose(model, q, i);
        pose.x = v3_add(pose.x, moved);
        if (model->dimension == 3 && !model->body[i].particle) {
            pose.q = q4_unit(q4_mul(q4_exp(turn), pose.q));
        }
        perpi_state_set_pose(model, q, i, &pose,
                             model->dimension == 2 ? q[3 * i + 2] + turn.z : 0.0);
    }
}

static perp_status wrench_vector(const perp_model* model, const perpi_wrench* wrench,
                                 const char* member, const perpi_value* value, double t, vec3* out)
{
    double a[3];
    for (int i = 0; i < 3; ++i) {
        a[i] = perpi_value_at(&value[i], t);
        if (!isfinite(a[i])) {
            return perpi_fail(model->context, PERP_ERROR_NUMERIC,
                              "force on body '%s': %s/%d: the expression '%s' gives %g at t = %.9g",
                              model->body[wrench->body].name, member, i,
                              value[i].expr != NULL ? perpi_expr_text(value[i].expr) : "", a[i], t);
        }
    }
    *out = v3_from(a);
    return PERP_OK;
}

perp_status perpi_add_wrenches(const perp_model* model, double t, const perpi_pose* pose,
                               const double* extra, int32_t body, vec3* force, vec3* torque)
{
    if (extra != NULL) {
        *force = v3_add(*force, v3_from(extra + 6 * (size_t)body));
        *torque = v3_add(*torque, v3_from(extra + 6 * (size_t)body + 3));
    }
    for (int32_t i = model->body[body].wrench; i >= 0; i = model->wrench[i].next) {
        const perpi_wrench* w = &model->wrench[i];
        vec3 f, m;
        perp_status status = wrench_vector(model, w, "force", w->force, t, &f);
        if (status == PERP_OK) {
            status = wrench_vector(model, w, "torque", w->torque, t, &m);
        }
        if (status != PERP_OK) {
            return status;
        }
        if (w->body_frame) {
            f = m3_mul(pose->R, f);
            m = m3_mul(pose->R, m);
        }
        *force = v3_add(*force, f);
        *torque = v3_add(*torque, v3_add(m, v3_cross(m3_mul(pose->R, w->at), f)));
    }
    return PERP_OK;
}

perp_status perpi_kinematic_velocity(const perp_model* model, int32_t index, double t, double h,
                                     const double* q, vec3* v, vec3* w)
{
    const perpi_body* body = &model->body[index];
    if (body->motion.type == PERP_MOTION_NONE) {
        *v = body->v;
        *w = body->w;
        return PERP_OK;
    }
    if (body->motion.type == PERP_MOTION_VELOCITY) {
        return perpi_motion_velocity(model, index, t + 0.5 * h, v, w); /* midpoint rule */
    }
    if (body->motion.follows) {
        const perpi_pose pose = perpi_state_pose(model, q, index);
        const double angle = model->dimension == 2 ? q[3 * index + 2] : 0.0;
        return perpi_motion_follow(model, index, t, h, &pose, angle, v, w);
    }
    perpi_pose from, to;
    double angle_from, angle_to;
    perp_status status = perpi_motion_pose(model, index, t, &from, &angle_from, NULL, NULL);
    if (status == PERP_OK) {
        status = perpi_motion_pose(model, index, t + h, &to, &angle_to, NULL, NULL);
    }
    if (status != PERP_OK) {
        return status;
    }
    *v = v3_scale(1.0 / h, v3_sub(to.x, from.x));
    *w = model->dimension == 2 ? v3(0, 0, (angle_to - angle_from) / h)
                               : v3_scale(1.0 / h, q4_log(q4_mul(to.q, q4_conj(from.q))));
    return PERP_OK;
}
