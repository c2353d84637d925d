/* src/step/force_rows.c - springs, dampers and controllers as compliant rows.
 *
 * Source     [B09 (2.125)-(2.133)] for the explicit spring and damper
 * Notation   paper L, L_0, K, C -> length, rest, stiffness, damping
 * Departure  implicit by default. Along a direction with coordinate x, x' = x + h J v, the force of
 *            the end of the step, f = -k (x' - x0) - d J v, p = h f, is the row
 *                J v + b + c p = 0,   c = 1 / (h^2 k + h d),   b = h k (x - x0) c
 *            The directions are those of the start of the step. A controller is the same with the
 *            target r and its rate r_dot at the end of the step, its integral I likewise:
 *                f = kp e' + ki (I + h e') + kd (r_dot - J v),   e' = r - x - h J v
 *            so that kp + h ki takes the place of k, and x0, the force at rest, moves into b. On a joint with a
 *            velocity limit it has a second row: limit_rate().
 */
#include "step/force_rows.h"

#include <float.h>

#include "step/feed_forward.h"
#include "step/joint_rows.h"

/* ---- springs -------------------------------------------------------------------------------------*/

/* A spring at given poses. */
typedef struct spring_view {
    vec3 arm[2]; /* from the centres of mass */
    vec3 d;      /* from the point on a to the point on b */
    double length;
    vec3 n; /* unit, from a to b */
} spring_view;

static spring_view evaluate_spring(const perpi_spring* s, const perpi_pose* a, const perpi_pose* b)
{
    const perpi_pose* const pose[2] = {a, b};
    spring_view view;
    vec3 point[2];
    for (int side = 0; side < 2; ++side) {
        const bool world = pose[side] == NULL;
        view.arm[side] = world ? v3(0, 0, 0) : m3_mul(pose[side]->R, s->at[side]);
        point[side] = world ? s->at[side] : v3_add(pose[side]->x, view.arm[side]);
    }
    view.d = v3_sub(point[1], point[0]);
    view.length = v3_norm(view.d);
    /* Coincident points define no line; any direction serves for this step. */
    view.n = view.length > DBL_MIN ? v3_scale(1.0 / view.length, view.d) : v3(1, 0, 0);
    return view;
}

static spring_view placed_spring(const perpi_pose* pose, const perpi_spring* s)
{
    return evaluate_spring(s, s->body[0] >= 0 ? &pose[s->body[0]] : NULL,
                           s->body[1] >= 0 ? &pose[s->body[1]] : NULL);
}

/* Two unit vectors perpendicular to n; planar: one, in the plane. */
static void across(int32_t dimension, vec3 n, vec3 out[2])
{
    if (dimension == 2) {
        out[0] = v3(-n.y, n.x, 0.0);
        return;
    }
    const vec3 other = fabs(n.x) < 0.7 ? v3(1, 0, 0) : v3(0, 1, 0);
    const vec3 t = v3_cross(n, other);
    out[0] = v3_scale(1.0 / v3_norm(t), t);
    out[1] = v3_cross(n, out[0]);
}

static perp_status append_spring(perpi_formulation* f, const perp_model* model, double h,
                                 const perpi_spring* s)
{
    const spring_view view = placed_spring(f->pose, s);
    const double both = 1.0 / (h * h * s->stiffness + h * s->damping);
    perpi_row row[3];
    for (int32_t i = 0; i < s->rows; ++i) {
        row[i] = (perpi_row){.arm = {view.arm[0], view.arm[1]}, .compliance = both};
    }
    if (s->rest == 0.0) {
        static const vec3 axis[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
        for (int32_t i = 0; i < s->rows; ++i) {
            row[i].dir = axis[i];
            row[i].b = h * s->stiffness * v3_dot(axis[i], view.d) * both;
        }
    } else {
        vec3 side[2];
        across(model->dimension, view.n, side);
        row[0].dir = view.n;
        row[0].b = h * s->stiffness * (view.length - s->rest) * both;
        for (int32_t i = 1; i < s->rows; ++i) {
            row[i].dir = side[i - 1];
            row[i].compliance = 1.0 / (h * s->damping);
        }
    }
    return perpi_formulation_append(f, model, PERP_CONSTRAINT_EQUALITY, s->body, row, s->rows, 0);
}

static vec3 point_velocity(const perp_model* model, const double* v, int32_t body, vec3 arm)
{
    if (body < 0) {
        return v3(0, 0, 0);
    }
    return v3_add(perpi_state_velocity(model, v, body),
                  v3_cross(perpi_state_rate(model, v, body), arm));
}

void perpi_add_spring_forces(const perp_model* model, const perpi_pose* pose, bool all,
                             const double* v, double* out)
{
    for (size_t i = 0; i < model->spring_count; ++i) {
        const perpi_spring* s = &model->spring[i];
        if (s->implicit && !all) {
            continue;
        }
        const spring_view view = placed_spring(pose, s);
        const vec3 rate = v3_sub(point_velocity(model, v, s->body[1], view.arm[1]),
                                 point_velocity(model, v, s->body[0], view.arm[0]));
        const vec3 damped = s->isotropic ? rate : v3_scale(v3_dot(rate, view.n), view.n);
        vec3 force = s->rest == 0.0 ? v3_scale(-s->stiffness, view.d)
                                    : v3_scale(-s->stiffness * (view.length - s->rest), view.n);
        force = v3_madd(force, -s->damping, damped);
        for (int side = 0; side < 2; ++side) {
            if (s->body[side] < 0) {
                continue;
            }
            const vec3 on = side == 0 ? v3_scale(-1.0, force) : force;
            const vec3 torque = v3_cross(view.arm[side], on);
            double* w = out + 6 * (size_t)s->body[side];
            for (int k = 0; k < 3; ++k) {
                w[k] += v3_get(on, k);
                w[3 + k] += v3_get(torque, k);
            }
        }
    }
}

/* Velocity of a point of a body by the solution of a step; prescribed bodies at their mean
 * velocity. */
static vec3 solved_velocity(const perpi_formulation* f, const perp_model* model, const double* v,
                            int32_t body, vec3 arm)
{
    if (body < 0) {
        return v3(0, 0, 0);
    }
    if (f->block_of[body] < 0) {
        return v3_add(f->given_v[body], v3_cross(f->given_w[body], arm));
    }
    const double* at = v + f->dof[f->block_of[body]];
    const bool planar = model->dimension == 2;
    const vec3 w = model->body[body].particle ? v3(0, 0, 0)
                   : planar                   ? v3(0, 0, at[2])
                                              : v3_from(at + 3);
    return v3_add(planar ? v3(at[0], at[1], 0.0) : v3_from(at), v3_cross(w, arm));
}

double perpi_spring_damping(const perpi_formulation* f, const perp_model* model, bool at_end,
                            double h, const double* v_used, const double* v_problem)
{
    double work = 0.0;
    for (size_t i = 0; i < model->spring_count; ++i) {
        const perpi_spring* s = &model->spring[i];
        if (s->implicit || !(s->damping > 0.0)) {
            continue;
        }
        const spring_view view = placed_spring(at_end ? f->end : f->pose, s);
        const vec3 used = v3_sub(point_velocity(model, v_used, s->body[1], view.arm[1]),
                                 point_velocity(model, v_used, s->body[0], view.arm[0]));
        const vec3 damped = s->isotropic ? used : v3_scale(v3_dot(used, view.n), view.n);
        const vec3 rate = v3_sub(solved_velocity(f, model, v_problem, s->body[1], view.arm[1]),
                                 solved_velocity(f, model, v_problem, s->body[0], view.arm[0]));
        work -= h * s->damping * v3_dot(damped, rate);
    }
    return work;
}

/* Uncertainty of the spring's force by the rounding of the poses: that of the terms whose
 * difference is its length. a, b: NULL for the world. */
static double force_rounding(const perpi_spring* s, const perpi_pose* a, const perpi_pose* b)
{
    const perpi_pose* const pose[2] = {a, b};
    double size = s->rest + evaluate_spring(s, a, b).length;
    for (int side = 0; side < 2; ++side) {
        size += pose[side] == NULL ? v3_norm(s->at[side])
                                   : v3_norm(pose[side]->x) + v3_norm(s->at[side]);
    }
    return PERPI_POSE_ROUNDING * s->stiffness * size;
}

double perpi_spring_force_rounding(const perp_model* model, const double* q, const perpi_spring* s)
{
    perpi_pose pose[2];
    for (int side = 0; side < 2; ++side) {
        if (s->body[side] >= 0) {
            pose[side] = perpi_state_pose(model, q, s->body[side]);
        }
    }
    return force_rounding(s, s->body[0] >= 0 ? &pose[0] : NULL, s->body[1] >= 0 ? &pose[1] : NULL);
}

void perpi_add_spring_errors(const perp_model* model, const perpi_pose* pose, double* out)
{
    for (size_t i = 0; i < model->spring_count; ++i) {
        const perpi_spring* s = &model->spring[i];
        if (s->implicit) {
            continue;
        }
        const spring_view view = placed_spring(pose, s);
        const double error = force_rounding(s, s->body[0] >= 0 ? &pose[s->body[0]] : NULL,
                                            s->body[1] >= 0 ? &pose[s->body[1]] : NULL);
        for (int side = 0; side < 2; ++side) {
            if (s->body[side] < 0) {
                continue;
            }
            double* w = out + 6 * (size_t)s->body[side];
            for (int k = 0; k < 3; ++k) {
                w[k] += error;
                w[3 + k] += error * v3_norm(view.arm[side]);
            }
        }
    }
}

int32_t perpi_force_constraint(const perpi_formulation* f, const perp_model* model)
{
    int32_t index = f->problem.constraint_count - (int32_t)model->controller_count;
    for (size_t i = 0; i < model->spring_count; ++i) {
        index -= model->spring[i].implicit;
    }
    return index;
}

double perpi_spring_energy(const perp_model* model, const double* q)
{
    double energy = 0.0;
    for (size_t i = 0; i < model->spring_count; ++i) {
        const perpi_spring* s = &model->spring[i];
        perpi_pose pose[2];
        for (int side = 0; side < 2; ++side) {
            if (s->body[side] >= 0) {
                pose[side] = perpi_state_pose(model, q, s->body[side]);
            }
        }
        const spring_view view = evaluate_spring(s, s->body[0] >= 0 ? &pose[0] : NULL,
                                                 s->body[1] >= 0 ? &pose[1] : NULL);
        const double stretch = view.length - s->rest;
        energy += 0.5 * s->stiffness * stretch * stretch;
    }
    return energy;
}

/* ---- controllers -----------------------------------------------------------------------------------*/

static double compliance_of(const perpi_controller* c, double h)
{
    return 1.0 / (h * h * (c->kp + h * c->ki) + h * c->kd);
}

static perp_status target_of(const perp_model* model, const perpi_controller* c, double t,
                             double* target, double* rate)
{
    *target = perpi_value_eval(&c->target, t, rate);
    if (isfinite(*target) && isfinite(*rate)) {
        return PERP_OK;
    }
    return perpi_fail(model->context, PERP_ERROR_NUMERIC,
                      "controller '%s': target: the expression '%s' gives %g (rate %g) at t = %.9g",
                      c->name, perpi_value_text(&c->target), *target, *rate, t);
}

/* A controller that asks for more than the limit V of the joint's rate. Its effort p = (w - u) / c
 * is 0 at the rate w = -b; with w > V (w < -V: mirrored) the law becomes
 *     p = (w - u) / c for u < V,   p in [0, (w - V) / c] at u = V,   p = (V - u) / c, a brake, for u > V,
 * which is the sum of two rows: one towards the rate V with the compliance c, one without that
 * gives up to the excess (w - V) / c as long as the rate is below V. Both within the largest
 * impulse `most`. */
static void limit_rate(double V, double most, perpi_row rows[2])
{
    const double w = -rows[0].b, c = rows[0].compliance, sign = w < 0.0 ? -1.0 : 1.0;
    const bool beyond = fabs(w) > V;
    const double asked = beyond ? (fabs(w) - V) / c : 0.0, excess = asked > most ? most : asked;
    rows[1].compliance = 0.0;
    rows[1].lower = sign > 0.0 ? 0.0 : -excess;
    rows[1].upper = sign > 0.0 ? excess : 0.0;
    if (beyond) {
        rows[0].b = rows[1].b = -sign * V;
        rows[0].lower = sign > 0.0 ? -most : excess - most;
        rows[0].upper = sign > 0.0 ? most - excess : most;
    }
}

/* f->error: the target at the end of the step minus the coordinate at its start, and the rate that
 * prescribed bodies give it. */
static perp_status append_controller(perpi_formulation* f, const perp_model* model, size_t index,
                                     double t, double h, const double* q,
                                     const perpi_joint_input* joints, double integral)
{
    const perpi_controller* c = &model->controller[index];
    double* error = &f->error[2 * index];
    double target, target_rate;
    const perp_status status = target_of(model, c, t + h, &target, &target_rate);
    if (status != PERP_OK) {
        return status;
    }
    int32_t body[2] = {-1, c->body};
    perpi_row row = {.dir = c->axis};
    double x;
    if (c->joint >= 0) {
        const perpi_joint_view view =
            perpi_joint_evaluate(model, c->joint, q, joints[c->joint].turns);
        row = view.coordinate[0];
        x = row.b;
        body[0] = model->joint[c->joint].body[0];
        body[1] = model->joint[c->joint].body[1];
    } else {
        x = v3_dot(c->axis, f->pose[c->body].x);
    }
    error[0] = target - x;
    row.compliance = compliance_of(c, h);
    row.b = -h * row.compliance *
            ((c->kp + h * c->ki) * error[0] + c->ki * integral + c->kd * target_rate);
    if (c->gravity) {
        row.b -= h * row.compliance * perpi_feed_forward(model, q, c);
    }
    row.lower = -h * c->max_effort;
    row.upper = h * c->max_effort;
    perpi_row rows[2] = {row, row};
    if (c->rows == 2) {
        limit_rate(model->joint[c->joint].velocity_limit, h * c->max_effort, rows);
    }
    const perp_constraint_kind kind =
        isinf(c->max_effort) && c->rows == 1 ? PERP_CONSTRAINT_EQUALITY : PERP_CONSTRAINT_BOUNDED;
    const perp_status made = perpi_formulation_append(f, model, kind, body, rows, c->rows, 0);
    error[1] = made == PERP_OK ? f->b[f->rows - 1] - rows[c->rows - 1].b : 0.0;
    return made;
}

perp_status perpi_formulate_forces(perpi_formulation* f, const perp_model* model, double t,
                                   double h, const double* q, const perpi_joint_input* joints,
                                   const double* s)
{
    perp_status status = perpi_grow(f->context, &f->error, &f->error_capacity,
                                    2 * model->controller_count, sizeof *f->error);
    f->force_row = f->rows;
    for (size_t i = 0; status == PERP_OK && i < model->spring_count; ++i) {
        if (model->spring[i].implicit) {
            status = append_spring(f, model, h, &model->spring[i]);
        }
    }
    const double* integral = s + perpi_s_forces(model) + perpi_force_row_count(model);
    for (size_t i = 0; status == PERP_OK && i < model->controller_count; ++i) {
        status = append_controller(f, model, i, t, h, q, joints, integral[i]);
    }
    return status;
}

/* J v of the only row of a constraint. */
static double row_rate(const perp_contact_problem* P, const perp_constraint* c, const double* v)
{
    const double* J = P->J + c->jac;
    double rate = 0.0;
    for (int side = 0; side < 2; ++side) {
        for (int32_t i = c->block[side] >= 0 ? P->dof[c->block[side]] : 0;
             c->block[side] >= 0 && i < P->dof[c->block[side] + 1]; ++i) {
            rate += *J++ * v[i];
        }
    }
    return rate;
}

void perpi_forces_gather(const perpi_formulation* f, const perp_model* model, const double* s,
                         double* p_problem)
{
    for (int32_t i = 0; f->supported && i < perpi_support_row_count(model); ++i) {
        p_problem[f->support_row + i] = s[i];
    }
    for (int32_t i = 0; i < perpi_force_row_count(model); ++i) {
        p_problem[f->force_row + i] = s[perpi_s_forces(model) + i];
    }
}

void perpi_forces_remember(const perpi_formulation* f, const perp_model* model, double h,
                           const double* v_problem, const double* p_problem, const double* s,
                           double* s_next)
{
    const int32_t rows = perpi_force_row_count(model);
    const int32_t controllers = (int32_t)model->controller_count;
    for (int32_t i = 0; i < perpi_support_row_count(model); ++i) {
        s_next[i] = f->supported ? p_problem[f->support_row + i] : 0.0;
    }
    s += perpi_s_forces(model);
    s_next += perpi_s_forces(model);
    for (int32_t i = 0; i < rows; ++i) {
        s_next[i] = p_problem[f->force_row + i];
    }
    for (int32_t i = 0; i < controllers; ++i) {
        const perpi_controller* c = &model->controller[i];
        const perp_constraint* row =
            &f->problem.constraint[f->problem.constraint_count - controllers + i];
        const double* own = p_problem + row->row;
        const double p = c->rows == 2 ? own[0] + own[1] : own[0], limit = h * c->max_effort;
        const double rate = row_rate(&f->problem, row, v_problem) + f->error[2 * i + 1];
        const double error = f->error[2 * i] - h * rate; /* at the end of the step */
        bool full = fabs(p) >= limit * (1.0 - 1e-9) && p * error > 0.0;
        if (c->rows == 2) { /* nor where the limit of the rate holds back what it asks for */
            const double most = f->upper[row->row + 1] + f->lower[row->row + 1];
            full = full || (fabs(own[1]) < fabs(most) * (1.0 - 1e-9) && most * error > 0.0);
        }
        s_next[rows + i] = s[rows + i] + (full ? 0.0 : h * error);
    }
}
