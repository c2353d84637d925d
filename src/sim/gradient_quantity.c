/* src/sim/gradient_quantity.c - see gradient_quantity.h.
 *
 * Entries of poses and velocities are differentiated exactly. Others are functions of few bodies: their central
 * differences of sixth order have errors near rounding, because the steps are small against the
 * size of the bodies and the functions analytic.
 */
#include "sim/gradient_quantity.h"

#include <string.h>

#include "sim/internal.h"
#include "step/force_rows.h"
#include "step/joint_rows.h"
#include "step/linear_step.h"

perp_status perpi_quantity_differentiable(perp_context* context, const perp_model* model,
                                          const perp_quantity* quantity)
{
    char name[600];
    switch (quantity->kind) {
    case PERP_QUANTITY_POSITION:
    case PERP_QUANTITY_ANGLE:
    case PERP_QUANTITY_ORIENTATION:
    case PERP_QUANTITY_VELOCITY:
    case PERP_QUANTITY_SPIN:
    case PERP_QUANTITY_DISTANCE:
    case PERP_QUANTITY_COORDINATE:
    case PERP_QUANTITY_RATE:
    case PERP_QUANTITY_INTEGRAL:
    case PERP_QUANTITY_ENERGY:
    case PERP_QUANTITY_MOMENTUM:
    case PERP_QUANTITY_ANGULAR_MOMENTUM: return PERP_OK;
    default: break;
    }
    (void)perp_quantity_name(model, quantity, name, sizeof name);
    return perpi_fail(
        context, PERP_ERROR_UNSUPPORTED,
        "gradient: the quantity '%.200s' of the measure has no derivative by the state", name);
}

static perp_energy energy_of(const perpi_view* x)
{
    const perp_model* model = x->model;
    perp_energy e = {0};
    for (int32_t i = 0; i < (int32_t)model->body_count; ++i) {
        const perpi_body* body = &model->body[i];
        if (body->dofs == 0) {
            continue;
        }
        const perpi_pose pose = perpi_state_pose(model, x->q, i);
        const vec3 v = perpi_state_velocity(model, x->v, i);
        const vec3 w = m3_tmul(pose.R, perpi_state_rate(model, x->v, i));
        e.kinetic += 0.5 * body->mass * v3_dot(v, v);
        e.kinetic += body->particle ? 0.0 : 0.5 * v3_dot(w, m3_mul(body->inertia, w));
        e.potential -= body->mass * v3_dot(body->gravity, pose.x);
    }
    for (int32_t i = 0; i < (int32_t)model->joint_count; ++i) {
        if (model->joint[i].armature > 0.0) {
            const double rate = perpi_joint_rate(model, i, x->q, x->v);
            e.kinetic += 0.5 * model->joint[i].armature * rate * rate;
        }
    }
    e.potential += perpi_spring_energy(model, x->q);
    e.total = e.kinetic + e.potential;
    return e;
}

double perpi_quantity_at(const perpi_view* view, const perp_quantity* quantity)
{
    perpi_view x = *view;
    perp_energy energy;
    if (quantity->kind == PERP_QUANTITY_ENERGY) {
        energy = energy_of(view);
        x.energy = &energy;
    }
    if (quantity->kind == PERP_QUANTITY_COORDINATE) { /* of the state, not of the record */
        char name[600];
        (void)perp_quantity_name(x.model, quantity, name, sizeof name);
        const int k = name[strlen(name) - 1] - '1';
        return perpi_joint_evaluate(x.model, quantity->owner, x.q, x.joint[quantity->owner].turns)
            .coordinate[k]
            .b;
    }
    return perpi_quantity_value(&x, quantity);
}

/* The state displaced by `by` along number k of body i. */
static void displace(const perp_model* model, int32_t i, int32_t k, double by, bool speeds,
                     double* q, double* v)
{
    if (speeds) {
        v[perpi_v_stride(model) * i + k] += by;
    } else if (model->dimension == 2) {
        q[3 * i + k] += by;
    } else if (k < 3) {
        q[7 * i + k] += by;
    } else {
        const vec3 turn = v3(k == 3 ? by : 0.0, k == 4 ? by : 0.0, k == 5 ? by : 0.0);
        perpi_pose pose = perpi_state_pose(model, q, i);
        pose.q = q4_unit(q4_mul(q4_exp(turn), pose.q));
        perpi_state_set_pose(model, q, i, &pose, 0.0);
    }
}

static void differentiate_by_body(const perpi_view* view, const perp_quantity* quantity,
                                  double weight, int32_t i, double* q, double* v, double* y)
{
    static const double at[3] = {1.0, 2.0, 3.0}, factor[3] = {45.0 / 60.0, -9.0 / 60.0, 1.0 / 60.0};
    const perp_model* model = view->model;
    const perpi_linear_size size = perpi_linear_size_of(model);
    const int32_t vn = perpi_v_stride(model), linear = model->dimension;
    const bool near = quantity->kind == PERP_QUANTITY_DISTANCE;
    perpi_view x = *view;
    x.q = q;
    x.v = v;
    for (int speeds = 0; speeds < (near ? 1 : 2); ++speeds) {
        for (int32_t k = 0; k < vn; ++k) {
            const double length = perpi_scene_size(model);
            const double unit = speeds ? 1.0 : k < linear ? length : 1.0;
            const double delta = (near ? 1e-5 : 1e-3) * unit;
            double sum = 0.0;
            for (int n = 0; n < 6; ++n) {
                const double by = (n % 2 == 0 ? 1.0 : -1.0) * at[n / 2] * delta;
                memcpy(q, view->q, (size_t)perpi_q_stride(model) * model->body_count * sizeof *q);
                memcpy(v, view->v, (size_t)vn * model->body_count * sizeof *v);
                displace(model, i, k, by, speeds, q, v);
                sum += (n % 2 == 0 ? 1.0 : -1.0) * factor[n / 2] * perpi_quantity_at(&x, quantity);
            }
            y[(speeds ? size.v : size.q) + vn * i + k] += weight * sum / delta;
        }
    }
}

void perpi_quantity_differentiate(const perpi_view* view, const perp_quantity* quantity,
                                  double weight, double* q, double* v, double* y)
{
    const perp_model* model = view->model;
    const perpi_linear_size size = perpi_linear_size_of(model);
    const int32_t vn = perpi_v_stride(model), qn = perpi_q_stride(model);
    char name[600];
    (void)perp_quantity_name(model, quantity, name, sizeof name);
    const char* dot = strrchr(name, '.');
    const char* end = dot != NULL ? dot + 1 : name;
    const int32_t axis = end[0] == 'x' ? 0 : end[0] == 'y' ? 1 : 2;
    switch (quantity->kind) {
    case PERP_QUANTITY_POSITION: y[size.q + vn * quantity->owner + axis] += weight; return;
    case PERP_QUANTITY_ANGLE: y[size.q + vn * quantity->owner + 2] += weight; return;
    case PERP_QUANTITY_SPIN:
        y[size.v + vn * quantity->owner + (model->dimension == 2 ? 2 : 3 + axis)] += weight;
        return;
    case PERP_QUANTITY_VELOCITY:
        if (strcmp(end, "speed") != 0) {
            y[size.v + vn * quantity->owner + axis] += weight;
            return;
        }
        for (int32_t k = 0; k < model->dimension; ++k) {
            const double speed = perpi_quantity_at(view, quantity);
            const double* own = view->v + vn * quantity->owner;
            y[size.v + vn * quantity->owner + k] += speed > 0.0 ? weight * own[k] / speed : 0.0;
        }
        return;
    case PERP_QUANTITY_ORIENTATION: { /* d q = (0, r/2) q */
        const double* s = view->q + qn * quantity->owner + 3;
        const quat own = {s[0], s[1], s[2], s[3]};
        for (int k = 0; k < 3; ++k) {
            const quat half = {0.0, k == 0 ? 0.5 : 0.0, k == 1 ? 0.5 : 0.0, k == 2 ? 0.5 : 0.0};
            const quat d = q4_mul(half, own);
            const double by = end[0] == 'w' ? d.w : axis == 0 ? d.x : axis == 1 ? d.y : d.z;
            y[size.q + vn * quantity->owner + 3 + k] += weight * by;
        }
        return;
    }
    case PERP_QUANTITY_INTEGRAL: y[size.s + quantity->owner] += weight; return;
    default: break;
    }
    const bool joint =
        quantity->kind == PERP_QUANTITY_COORDINATE || quantity->kind == PERP_QUANTITY_RATE;
    if (joint || quantity->kind == PERP_QUANTITY_DISTANCE) {
        const int32_t body[2] = {joint ? model->joint[quantity->owner].body[0] : quantity->owner,
                                 joint ? model->joint[quantity->owner].body[1] : quantity->second};
        for (int side = 0; side < 2; ++side) {
            if (body[side] >= 0) {
                differentiate_by_body(view, quantity, weight, body[side], q, v, y);
            }
        }
        return;
    }
    for (int32_t i = 0; i < (int32_t)model->body_count; ++i) {
        differentiate_by_body(view, quantity, weight, i, q, v, y);
    }
}
