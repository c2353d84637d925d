/* src/step/stewart_trinkle.c - the semi-implicit step of Stewart and Trinkle.
 *
 * Source     [T03 3], [B09 2.6], [W14 2.3]: geometry and forces at t, velocities at t + h,
 *            q^{l+1} = q^l + h G nu^{l+1}
 * Departure  rotation is advanced by the exponential map, q <- exp(h omega) q, which keeps the
 *            quaternion's length and is exact for a constant omega; "rotation": "linear" gives the
 *            papers' update, followed by normalisation. First order in h.
 */
#include "step/chord.h"
#include "step/step.h"

/* q + h G(q) omega [B09 (2.16)], back to unit length. */
static quat linear_update(quat q, double h, vec3 w)
{
    const quat turned = q4_mul((quat){0.0, w.x, w.y, w.z}, q);
    const double s = 0.5 * h;
    return q4_unit(
        (quat){q.w + s * turned.w, q.x + s * turned.x, q.y + s * turned.y, q.z + s * turned.z});
}

static perp_status advance_prescribed(const perp_model* model, int32_t i, double t, double h,
                                      double* q, double* v)
{
    const perpi_body* body = &model->body[i];
    vec3 velocity, rate;
    perpi_pose pose;
    double angle;
    perp_status status = PERP_OK;
    if (body->type != PERP_BODY_KINEMATIC) {
        return PERP_OK;
    }
    if (perpi_motion_has_pose(&body->motion)) {
        status = perpi_motion_pose(model, i, t + h, &pose, &angle, &velocity, &rate);
        if (status == PERP_OK) {
            perpi_state_set_pose(model, q, i, &pose, angle);
            perpi_state_set_velocity(model, v, i, velocity, rate);
        }
        return status;
    }
    status = perpi_prescribed_velocity(model, i, t, h, q, &velocity, &rate);
    if (status != PERP_OK) {
        return status;
    }
    pose = perpi_state_pose(model, q, i);
    pose.x = v3_madd(pose.x, h, velocity);
    pose.q = q4_unit(q4_mul(q4_exp(v3_scale(h, rate)), pose.q));
    angle = model->dimension == 2 ? q[3 * i + 2] + h * rate.z : 0.0;
    perpi_state_set_pose(model, q, i, &pose, angle);
    if (body->motion.type == PERP_MOTION_VELOCITY) {
        status = perpi_motion_velocity(model, i, t + h, &velocity, &rate);
    }
    if (status == PERP_OK) {
        perpi_state_set_velocity(model, v, i, velocity, rate);
    }
    return status;
}

perp_status perpi_advance(const perpi_step_input* in, double* q, double* v)
{
    const perp_model* model = in->model;
    const double t = in->t, h = in->h;
    for (int32_t i = 0; i < (int32_t)model->body_count; ++i) {
        const perpi_body* body = &model->body[i];
        if (body->dofs == 0) {
            const perp_status status = advance_prescribed(model, i, t, h, q, v);
            if (status != PERP_OK) {
                return status;
            }
            continue;
        }
        if (model->dimension == 2) {
            for (int32_t j = 0; j < body->dofs; ++j) {
                q[3 * i + j] +=
                    j < 2 ? h * v[3 * i + j] : perpi_turn_of(in, i, v3(0, 0, v[3 * i + 2])).z;
            }
            continue;
        }
        double* s = q + 7 * (size_t)i;
        const vec3 x = v3_madd(v3_from(s), h, perpi_state_velocity(model, v, i));
        v3_to(x, s);
        if (body->particle) {
            continue;
        }
        const vec3 w = perpi_state_rate(model, v, i);
        const quat old = {s[3], s[4], s[5], s[6]};
        const quat next = in->settings->linear_rotation
                              ? linear_update(old, h, w)
                              : q4_unit(q4_mul(q4_exp(perpi_turn_of(in, i, w)), old));
        s[3] = next.w;
        s[4] = next.x;
        s[5] = next.y;
        s[6] = next.z;
    }
    return PERP_OK;
}

const perpi_stepper_ops perpi_stepper_stewart_trinkle = {
    .name = "stewart-trinkle",
    .summary = "semi-implicit Euler with gap/h term and dry friction, first order",
    .midway = true,
    .bounces = true,
    .step_control = true,
    .formulate = perpi_formulate,
    .solve = perpi_solve_semi_implicit,
    .advance = perpi_advance,
};
