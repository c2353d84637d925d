/* src/model/motion.c - pose and velocity of a kinematic body at a given time.
 *
 * Velocities of a pose given by expressions are exact: the expressions carry their derivatives.
 */
#include "model/model.h"

typedef struct sample {
    double x, dx;
} sample;

static perp_status evaluate_value(const perp_model* model, int32_t body, const char* member,
                                  int index, const perpi_value* value, double t, sample* s)
{
    s->x = perpi_value_eval(value, t, &s->dx);
    if (isfinite(s->x)) {
        return PERP_OK;
    }
    return perpi_fail(model->context, PERP_ERROR_NUMERIC,
                      "body '%s': motion/%s/%d: the expression '%s' gives %g at t = %.9g",
                      model->body[body].name, member, index, perpi_value_text(value), s->x, t);
}

static perp_status evaluate_values(const perp_model* model, int32_t body, const char* member,
                                   int count, const perpi_value* value, double t, sample* s)
{
    for (int i = 0; i < count; ++i) {
        const perp_status status = evaluate_value(model, body, member, i, &value[i], t, &s[i]);
        if (status != PERP_OK) {
            return status;
        }
    }
    return PERP_OK;
}

/* Unit quaternion and world angular velocity of the raw quaternion r(t): with e = r / |r|,
 * omega = 2 vec(e' e*) and only the part of r' orthogonal to r turns anything. */
static perp_status from_quaternion(const perp_model* model, int32_t body, const sample* r, double t,
                                   quat* q, vec3* w)
{
    const quat raw = {r[0].x, r[1].x, r[2].x, r[3].x};
    const quat rate = {r[0].dx, r[1].dx, r[2].dx, r[3].dx};
    const double rr = raw.w * raw.w + raw.x * raw.x + raw.y * raw.y + raw.z * raw.z;
    if (!(rr > 0.0)) {
        return perpi_fail(model->context, PERP_ERROR_NUMERIC,
                          "body '%s': motion/orientation has length 0 at t = %.9g",
                          model->body[body].name, t);
    }
    *q = q4_unit(raw);
    const quat product = q4_mul(rate, q4_conj(raw));
    *w = v3_scale(2.0 / rr, v3(product.x, product.y, product.z));
    return PERP_OK;
}

/* Rotation by angle a about the direction of n, both varying:
 * omega = a' u + sin(a) u' + (1 - cos(a)) u x u', u = n / |n|. */
static perp_status from_axis_angle(const perp_model* model, int32_t body, const sample* s, double t,
                                   quat* q, vec3* w)
{
    const vec3 n = v3(s[0].x, s[1].x, s[2].x), dn = v3(s[0].dx, s[1].dx, s[2].dx);
    const double length = v3_norm(n);
    if (!(length > 0.0)) {
        return perpi_fail(model->context, PERP_ERROR_NUMERIC,
                          "body '%s': motion/axis_angle has a zero axis at t = %.9g",
                          model->body[body].name, t);
    }
    const vec3 u = v3_scale(1.0 / length, n);
    const vec3 du = v3_scale(1.0 / length, v3_madd(dn, -v3_dot(dn, u), u));
    const double a = s[3].x;
    *q = q4_exp(v3_scale(a, u));
    *w = v3_add(v3_scale(s[3].dx, u),
                v3_add(v3_scale(sin(a), du), v3_scale(1.0 - cos(a), v3_cross(u, du))));
    return PERP_OK;
}

perp_status perpi_motion_pose(const perp_model* model, int32_t index, double t, perpi_pose* pose,
                              double* angle, vec3* v, vec3* w)
{
    const perpi_body* body = &model->body[index];
    const perpi_motion* motion = &body->motion;
    if (motion->type == PERP_MOTION_ACCELERATION) {
        perpi_oscillation_at(motion->oscillation, t, &pose->x, &pose->q, angle, v, w);
        pose->R = q4_matrix(pose->q);
        return PERP_OK;
    }
    sample x[3], r[4];
    quat q = body->pose.q;
    vec3 rate = v3(0, 0, 0);
    double turn = body->angle;
    /* A motion without a position (or rotation) keeps that of the body. */
    const bool moves = perpi_value_varies(&motion->position[0]) ||
                       perpi_value_varies(&motion->position[1]) ||
                       perpi_value_varies(&motion->position[2]);
    for (int i = 0; i < 3; ++i) {
        x[i] = (sample){v3_get(body->pose.x, i), 0.0};
    }
    perp_status status = PERP_OK;
    if (moves) {
        status = evaluate_values(model, index, "position", 3, motion->position, t, x);
    }
    if (status == PERP_OK && model->dimension == 2 && perpi_value_varies(&motion->angle)) {
        status = evaluate_value(model, index, "angle", 0, &motion->angle, t, r);
        if (status == PERP_OK) {
            turn = r[0].x;
            rate = v3(0, 0, r[0].dx);
            q = q4_exp(v3(0, 0, turn));
        }
    } else if (status == PERP_OK && motion->has_orientation) {
        status = evaluate_values(model, index, "orientation", 4, motion->orientation, t, r);
        if (status == PERP_OK) {
            status = from_quaternion(model, index, r, t, &q, &rate);
        }
    } else if (status == PERP_OK && motion->has_axis_angle) {
        status = evaluate_values(model, index, "axis_angle", 4, motion->axis_angle, t, r);
        if (status == PERP_OK) {
            status = from_axis_angle(model, index, r, t, &q, &rate);
        }
    }
    if (status != PERP_OK) {
        return status;
    }
    *pose = (perpi_pose){v3(x[0].x, x[1].x, x[2].x), q, q4_matrix(q)};
    *angle = turn;
    if (v != NULL) {
        *v = v3(x[0].dx, x[1].dx, x[2].dx);
    }
    if (w != NULL) {
        *w = rate;
    }
    return PERP_OK;
}

perp_status perpi_motion_velocity(const perp_model* model, int32_t index, double t, vec3* v,
                                  vec3* w)
{
    const perpi_motion* motion = &model->body[index].motion;
    sample s[3], r[3];
    perp_status status = evaluate_values(model, index, "velocity", 3, motion->velocity, t, s);
    if (status == PERP_OK) {
        status =
            evaluate_values(model, index, "angular_velocity", 3, motion->angular_velocity, t, r);
    }
    if (status == PERP_OK) {
        *v = v3(s[0].x, s[1].x, s[2].x);
        *w = v3(r[0].x, r[1].x, r[2].x);
    }
    return status;
}

static double shorter(double length, double limit)
{
    return length > limit ? limit / length : 1.0;
}

perp_status perpi_motion_follow(const perp_model* model, int32_t index, double t, double h,
                                const perpi_pose* pose, double angle, vec3* v, vec3* w)
{
    const perpi_motion* motion = &model->body[index].motion;
    perpi_pose to;
    double angle_to;
    const perp_status status = perpi_motion_pose(model, index, t + h, &to, &angle_to, NULL, NULL);
    if (status != PERP_OK) {
        return status;
    }
    *v = v3_scale(1.0 / h, v3_sub(to.x, pose->x));
    *w = model->dimension == 2 ? v3(0, 0, (angle_to - angle) / h)
                               : v3_scale(1.0 / h, q4_log(q4_mul(to.q, q4_conj(pose->q))));
    *v = v3_scale(shorter(v3_norm(*v), motion->max_speed), *v);
    *w = v3_scale(shorter(v3_norm(*w), motion->max_rate), *w);
    return PERP_OK;
}
