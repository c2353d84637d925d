/* src/step/joint_rows.c - the geometry of joints, and their rows in the step's problem.
 *
 * Source     [W14 2.4, tables 2.1-2.3], [N04] for prismatic, [T03 (16), (38)] for dry friction
 * Notation   frame of a: point p_a, columns x, y, z (z the axis); d = p_b - p_a; R_ab the rotation
 *            from frame a to frame b
 * Rows       position   e . d           ->  e . (v_b(p_b) - v_a(p))   e a world axis, p = p_a; or e a
 *                                           column of frame a, p = p_b: the derivative of a turning e
 *            orientation  angle of R_ab about e  ->  e . (omega_b - omega_a), exact where it is 0
 *            each with the error divided by h in b, as the gap of a contact [Stewart, Trinkle]
 * Departure  [W14] measures orientation by differences of axis entries (table 2.3), which vanish to
 *            first order at 90 degrees; here by angles. The Jacobians of the correction and of the
 *            step are the same ones.
 */
#include "step/joint_rows.h"

#include <string.h>

#include "step/frames.h"
#include "step/gear_rows.h"

static const double TURN = 6.283185307179586;

/* frames: q and F are read, and written. */
static void place_side(const perp_model* model, const perpi_joint* joint, int i, const double* q,
                       bool frames, perpi_joint_side* s)
{
    const int32_t body = joint->body[i];
    s->centre = v3(0, 0, 0);
    s->point = joint->at[i];
    s->angle = 0.0;
    quat turn = q4_identity();
    if (body >= 0) {
        const perpi_pose pose = perpi_state_pose(model, q, body);
        s->centre = pose.x;
        s->point = v3_add(pose.x, m3_mul(pose.R, joint->at[i]));
        s->angle = model->dimension == 2 ? q[3 * body + 2] : 0.0;
        turn = pose.q;
    }
    if (frames) {
        s->q = body >= 0 ? q4_mul(turn, joint->frame[i]) : joint->frame[i];
        s->F = q4_matrix(s->q);
    }
}

/* Members that the type does not read are not written. */
static void place_joint(const perp_model* model, int32_t index, const double* q,
                        const int32_t turns[2], perpi_joint_at* at)
{
    const perpi_joint* joint = &model->joint[index];
    const bool frames = !perpi_joint_ops_of(joint->type)->points;
    at->model = model;
    at->joint = joint;
    place_side(model, joint, 0, q, frames, &at->side[0]);
    place_side(model, joint, 1, q, frames, &at->side[1]);
    at->planar = model->dimension == 2;
    at->turn[0] = turns != NULL ? TURN * turns[0] : 0.0;
    at->turn[1] = turns != NULL ? TURN * turns[1] : 0.0;
    at->d = v3_sub(at->side[1].point, at->side[0].point);
    if (frames) {
        at->x = m3_column(at->side[0].F, 0);
        at->y = m3_column(at->side[0].F, 1);
        at->z = m3_column(at->side[0].F, 2);
    }
}

/* Rows are written when they are added: a view is large, and most joints have few. */
static void evaluate(const perp_model* model, int32_t index, const double* q,
                     const int32_t turns[2], perpi_joint_view* view)
{
    if (model->joint[index].type == PERP_JOINT_GEAR) {
        *view = perpi_gear_evaluate(model, index, q, turns);
        return;
    }
    perpi_joint_at at;
    place_joint(model, index, q, turns, &at);
    view->rows = view->coordinates = 0;
    view->error[0] = view->error[1] = 0.0;
    perpi_joint_ops_of(at.joint->type)->evaluate(&at, view);
}

perpi_joint_view perpi_joint_evaluate(const perp_model* model, int32_t index, const double* q,
                                      const int32_t turns[2])
{
    perpi_joint_view view;
    evaluate(model, index, q, turns, &view);
    return view;
}

void perpi_joint_differentiate(const perp_model* model, int32_t index, const double* q,
                               const int32_t* column, int32_t columns, perpi_joint_change* change)
{
    static const vec3 axis[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    perpi_joint_at at;
    place_joint(model, index, q, NULL, &at);
    for (int32_t i = 0; i < columns; ++i) {
        const int side = column[i] / 6;
        const vec3 e = axis[column[i] % 3];
        perpi_joint_shift by = {.d = v3(0, 0, 0)};
        if (at.joint->body[side] >= 0 && column[i] % 6 < 3) {
            by.centre[side] = by.point[side] = e;
        } else if (at.joint->body[side] >= 0) {
            by.turn[side] = e;
            by.point[side] = v3_cross(e, v3_sub(at.side[side].point, at.side[side].centre));
        }
        by.d = v3_sub(by.point[1], by.point[0]);
        change[i].rows = change[i].coordinates = 0;
        perpi_joint_ops_of(at.joint->type)->differentiate(&at, &by, &change[i]);
    }
}

/* Directions and arms are the mean of both, the rest is that of the start. */
static perpi_row mean_row(const perpi_row* start, const perpi_row* end)
{
    perpi_row row = {.angular = start->angular, .b = start->b};
    row.dir = v3_scale(0.5, v3_add(start->dir, end->dir));
    for (int i = 0; i < 2; ++i) {
        row.arm[i] = v3_scale(0.5, v3_add(start->arm[i], end->arm[i]));
    }
    return row;
}

static void mean_view(const perpi_joint_view* start, const perpi_joint_view* end,
                      perpi_joint_view* view)
{
    view->rows = start->rows;
    view->coordinates = start->coordinates;
    for (int32_t i = 0; i < start->rows; ++i) {
        view->row[i] = mean_row(&start->row[i], &end->row[i]);
    }
    for (int32_t i = 0; i < start->coordinates; ++i) {
        view->coordinate[i] = mean_row(&start->coordinate[i], &end->coordinate[i]);
    }
}

/* The views of a middle step, which are kept: of joint i at the start, and at the end. */
static perpi_joint_view* view_at_start(const perpi_formulation* f, int32_t i)
{
    return &f->view[2 * (size_t)i];
}

static perpi_joint_view* view_at_end(const perpi_formulation* f, int32_t i)
{
    return &f->view[2 * (size_t)i + 1];
}

static perp_status reserve_views(perpi_formulation* f, const perp_model* model)
{
    return perpi_grow(f->context, &f->view, &f->view_capacity, 2 * model->joint_count,
                      sizeof *f->view);
}

perpi_joint_view perpi_joint_evaluate_middle(const perp_model* model, int32_t index,
                                             const double* q, const double* q_end,
                                             const int32_t turns[2])
{
    perpi_joint_view start, end, view = {0};
    evaluate(model, index, q, turns, &start);
    evaluate(model, index, q_end, turns, &end);
    mean_view(&start, &end, &view);
    return view;
}

double perpi_joint_speed(const perp_model* model, int32_t index, const perpi_row* row,
                         const double* v)
{
    double speed = 0.0;
    for (int i = 0; i < 2; ++i) {
        const int32_t body = model->joint[index].body[i];
        if (body < 0) {
            continue;
        }
        const vec3 w = perpi_state_rate(model, v, body);
        const vec3 u = row->angular
                           ? w
                           : v3_add(perpi_state_velocity(model, v, body), v3_cross(w, row->arm[i]));
        speed += (i == 0 ? -1.0 : 1.0) * v3_dot(row->dir, u);
    }
    return speed;
}

double perpi_joint_rate(const perp_model* model, int32_t joint, const double* q, const double* v)
{
    const perpi_joint_view view = perpi_joint_evaluate(model, joint, q, NULL);
    return perpi_joint_speed(model, joint, &view.coordinate[0], v);
}

/* ---- rows ------------------------------------------------------------------------------------------*/

static perp_status append(perpi_formulation* f, const perp_model* model, int32_t joint,
                          int32_t slot, perp_constraint_kind kind, const perpi_row* row,
                          int32_t rows)
{
    const uint64_t key = UINT64_C(1) << 63 | (uint64_t)(uint32_t)joint << 4 | (uint64_t)slot;
    perp_status status =
        perpi_formulation_append(f, model, kind, model->joint[joint].body, row, rows, key);
    if (status == PERP_OK) {
        status = perpi_grow(f->context, &f->place, &f->place_capacity, (size_t)f->joint_count + 1,
                            sizeof *f->place);
    }
    if (status == PERP_OK) {
        f->place[f->joint_count++] = (perpi_joint_place){joint, slot};
    }
    for (int32_t i = f->rows - rows; status == PERP_OK && f->middle && i < f->rows; ++i) {
        f->lower[i] *= f->theta; /* the problem has theta times the impulses of the step */
        f->upper[i] *= f->theta;
        f->compliance[i] /= f->theta;
    }
    return status;
}

/* A force along a row, whose impulse is known: into k. */
static void add_known_impulse(perpi_formulation* f, const perp_model* model,
                              const perpi_joint* joint, const perpi_row* row, double impulse)
{
    for (int i = 0; i < 2; ++i) {
        const int32_t block = joint->body[i] >= 0 ? f->block_of[joint->body[i]] : -1;
        if (block < 0) {
            continue;
        }
        const double p = (i == 0 ? -impulse : impulse) * (f->middle ? f->theta : 1.0);
        const vec3 force = row->angular ? v3(0, 0, 0) : v3_scale(p, row->dir);
        const vec3 torque = row->angular ? v3_scale(p, row->dir) : v3_cross(row->arm[i], force);
        double* k = f->k + f->dof[block];
        const int32_t n = model->body[joint->body[i]].dofs;
        for (int32_t a = 0; a < model->dimension; ++a) {
            k[a] += v3_get(force, a);
        }
        if (model->dimension == 2 && n == 3) {
            k[2] += torque.z;
        } else if (n == 6) {
            k[3] += torque.x;
            k[4] += torque.y;
            k[5] += torque.z;
        }
    }
}

static perpi_row turned_round(perpi_row row)
{
    row.dir = v3_neg(row.dir);
    return row;
}

/* Velocities are solved for, not positions: an existing error may remain. */
static bool without_inertia(perpi_purpose purpose)
{
    return purpose == PERPI_PURPOSE_PROJECT || purpose == PERPI_PURPOSE_IMPACT;
}

/* The time within which an error is closed in a step of h. */
static double closing_time(double h, const perpi_joint_input* input)
{
    return input->ease > 1.0 ? input->ease * h : h;
}

/* What the offset of an impact adds to the gap of a limit or a rope, where it is added to the
 * motion of the step. Equality rows need none: their own impulses in the impact are part of the
 * offset. */
static double offset_along(const perp_model* model, const perpi_joint* joint, const perpi_row* row,
                           perpi_purpose purpose, const double* offset)
{
    double along = 0.0;
    for (int side = 0; side < 2 && purpose == PERPI_PURPOSE_STEP && offset != NULL; ++side) {
        const int32_t body = joint->body[side];
        const double* early = offset + (size_t)perpi_v_stride(model) * model->body_count;
        if (body < 0 || model->body[body].dofs == 0 || early[body] != 0.0) {
            continue;
        }
        const vec3 turn = perpi_state_rate(model, offset, body);
        const vec3 moved = row->angular ? turn
                                        : v3_add(perpi_state_velocity(model, offset, body),
                                                 v3_cross(turn, row->arm[side]));
        along += (side == 0 ? -1.0 : 1.0) * v3_dot(row->dir, moved);
    }
    return along;
}

static perp_status append_limits(perpi_formulation* f, const perp_model* model, int32_t index,
                                 perpi_purpose purpose, double h, const perpi_row* axis,
                                 const perpi_joint_input* input)
{
    const perpi_joint* joint = &model->joint[index];
    perp_status status = PERP_OK;
    for (int side = 0; side < 2 && status == PERP_OK; ++side) {
        if (!isfinite(joint->limits[side]) ||
            (purpose == PERPI_PURPOSE_PROJECT && input->slack[side])) {
            continue;
        }
        perpi_row row = side == 0 ? *axis : turned_round(*axis);
        double gap = side == 0 ? axis->b - joint->limits[0] : joint->limits[1] - axis->b;
        gap += offset_along(model, joint, &row, purpose, input->offset);
        gap = without_inertia(purpose) && gap < 0.0 ? 0.0 : gap;
        row.b = gap / (gap < 0.0 ? closing_time(h, input) : h);
        row.lower = 0.0;
        row.upper = INFINITY;
        status = append(f, model, index, 1 + (side == 0 ? PERPI_LAW_LOWER : PERPI_LAW_UPPER),
                        PERP_CONSTRAINT_BOUNDED, &row, 1);
    }
    return status;
}

static perp_status motor_target(const perp_model* model, const perpi_joint* joint, double t,
                                const perpi_joint_input* input, double* target)
{
    *target = isnan(input->target) ? perpi_value_at(&joint->target, t) : input->target;
    if (isfinite(*target)) {
        return PERP_OK;
    }
    return perpi_fail(
        model->context, PERP_ERROR_NUMERIC,
        "joint '%s': motor/target: the expression '%s' gives %g at t = %.9g", joint->name,
        joint->target.expr != NULL ? perpi_expr_text(joint->target.expr) : "", *target, t);
}

static perp_status asked_effort(const perp_model* model, const perpi_joint* joint, double t,
                                const perpi_joint_input* input, double* effort)
{
    double target;
    const perp_status status = motor_target(model, joint, t, input, &target);
    const double most = joint->max_effort;
    *effort = target > most ? most : target < -most ? -most : target;
    return status;
}

perp_status perpi_joint_motor_effort(const perp_model* model, int32_t index, double t,
                                     const perpi_joint_input* input, double* effort)
{
    const perpi_joint* joint = &model->joint[index];
    *effort = 0.0;
    return joint->motor == PERP_MOTOR_EFFORT && !isfinite(joint->velocity_limit)
               ? asked_effort(model, joint, t, input, effort)
               : PERP_OK;
}

/* An unbounded motor determines the coordinate alone: its target is clamped to the limits, whose
 * rows could only be redundant or contradict it. */
static bool motor_rules(const perpi_joint* joint)
{
    return (joint->motor == PERP_MOTOR_POSITION || joint->motor == PERP_MOTOR_VELOCITY) &&
           !isfinite(joint->max_effort);
}

static double clamp_target(double x, double least, double most)
{
    return x < least ? least : x > most ? most : x;
}

/* The effort E of a motor that does not drive the joint past the limit V of its rate: with E > 0, p
 * = h E at a rate below V, p in [0, h E] at V, none above; mirrored for E < 0. */
static perp_status append_limited_effort(perpi_formulation* f, const perp_model* model,
                                         int32_t index, double t, double h, const perpi_row* axis,
                                         const perpi_joint_input* input)
{
    const perpi_joint* joint = &model->joint[index];
    double effort;
    const double when = f->middle ? t + f->theta * h : t;
    const perp_status known = asked_effort(model, joint, when, input, &effort);
    if (known != PERP_OK || effort == 0.0) {
        return known;
    }
    perpi_row row = *axis;
    row.b = effort > 0.0 ? -joint->velocity_limit : joint->velocity_limit;
    row.lower = effort > 0.0 ? 0.0 : h * effort;
    row.upper = effort > 0.0 ? h * effort : 0.0;
    return append(f, model, index, 1 + PERPI_LAW_MOTOR, PERP_CONSTRAINT_BOUNDED, &row, 1);
}

static perp_status append_motor(perpi_formulation* f, const perp_model* model, int32_t index,
                                double t, double h, const perpi_row* axis,
                                const perpi_joint_input* input)
{
    const perpi_joint* joint = &model->joint[index];
    double target;
    if (joint->motor == PERP_MOTOR_EFFORT && isfinite(joint->velocity_limit)) {
        return append_limited_effort(f, model, index, t, h, axis, input);
    }
    if (joint->motor == PERP_MOTOR_EFFORT) {
        double effort;
        const double when = f->middle ? t + f->theta * h : t;
        const perp_status known = perpi_joint_motor_effort(model, index, when, input, &effort);
        if (known == PERP_OK) {
            add_known_impulse(f, model, joint, axis, h * effort);
        }
        return known;
    }
    const perp_status status = motor_target(model, joint, t + h, input, &target);
    if (status != PERP_OK) {
        return status;
    }
    const double* limits = joint->limits;
    if (motor_rules(joint)) {
        target = joint->motor == PERP_MOTOR_POSITION
                     ? clamp_target(target, limits[0], limits[1])
                     : clamp_target(target, (limits[0] - axis->b) / h, (limits[1] - axis->b) / h);
    }
    perpi_row row = *axis;
    row.b = joint->motor == PERP_MOTOR_POSITION ? (axis->b - target) / h : -target;
    if (joint->motor == PERP_MOTOR_POSITION && input->ease > 1.0 && isfinite(input->ease)) {
        double now; /* the lag is an error; the motion of the target is not */
        const perp_status known = motor_target(model, joint, t, input, &now);
        if (known != PERP_OK) {
            return known;
        }
        now = motor_rules(joint) ? clamp_target(now, limits[0], limits[1]) : now;
        row.b = (axis->b - now) / closing_time(h, input) + (now - target) / h;
    }
    row.b = clamp_target(row.b, -joint->velocity_limit, joint->velocity_limit); /* -b: the rate */
    row.upper = h * joint->max_effort;
    row.lower = -row.upper;
    return append(f, model, index, 1 + PERPI_LAW_MOTOR,
                  isfinite(row.upper) ? PERP_CONSTRAINT_BOUNDED : PERP_CONSTRAINT_EQUALITY, &row,
                  1);
}

/* Damping d and armature A in one row. The rotor's momentum is A times the joint's rate u:
 *     p = -h d u* - A (u_new - u_old),   u* = (1 - theta) u_old + theta u_new,
 * so u* + p / D - (A / theta) u_old / D = 0 with D = h d + A / theta. No rotor in a step without inertia. */
static perp_status append_rotor(perpi_formulation* f, const perp_model* model, int32_t index,
                                double h, const perpi_row* axis)
{
    const perpi_joint* joint = &model->joint[index];
    const double theta = f->middle ? f->theta : 1.0;
    const double A = f->start_v != NULL ? joint->armature / theta : 0.0, D = h * joint->damping + A;
    if (!(D > 0.0)) {
        return PERP_OK;
    }
    perpi_row row = *axis;
    row.b = A > 0.0 ? -A / D * perpi_joint_speed(model, index, axis, f->start_v) : 0.0;
    row.compliance = 1.0 / D;
    return append(f, model, index, 1 + PERPI_LAW_DAMPING, PERP_CONSTRAINT_EQUALITY, &row, 1);
}

/* Dry friction [T03 (38)]: an effort that opposes the rate, at most friction; damping: effort
 * -damping * rate at the end of the step, p = -h damping u0, so u0 + p / (h damping) = 0. */
static perp_status append_losses(perpi_formulation* f, const perp_model* model, int32_t index,
                                 double h, const perpi_row* axis)
{
    const perpi_joint* joint = &model->joint[index];
    perpi_row row = *axis;
    perp_status status = PERP_OK;
    row.b = 0.0;
    if (joint->friction > 0.0) {
        row.upper = h * joint->friction;
        row.lower = -row.upper;
        status = append(f, model, index, 1 + PERPI_LAW_FRICTION, PERP_CONSTRAINT_BOUNDED, &row, 1);
    }
    return status == PERP_OK ? append_rotor(f, model, index, h, axis) : status;
}

/* view: of the joint at the poses of the problem; its b are changed. */
static perp_status formulate_joint(perpi_formulation* f, const perp_model* model, int32_t index,
                                   perpi_purpose purpose, double t, double h,
                                   perpi_joint_view* view, const perpi_joint_input* input)
{
    const perpi_joint* joint = &model->joint[index];
    const bool rope = joint->type == PERP_JOINT_ROPE;
    for (int32_t i = 0; i < view->rows; ++i) {
        perpi_row* row = &view->row[i];
        row->b += rope ? offset_along(model, joint, row, purpose, input->offset) : 0.0;
        const bool keep = !without_inertia(purpose) || (rope && row->b > 0.0);
        const double time = rope && row->b > 0.0 ? h : closing_time(h, input);
        row->b = keep ? row->b / time : 0.0;
        row->upper = INFINITY; /* of a rope */
    }
    if (rope && purpose == PERPI_PURPOSE_PROJECT && input->slack[2]) {
        return PERP_OK;
    }
    perp_status status =
        append(f, model, index, 0, rope ? PERP_CONSTRAINT_BOUNDED : PERP_CONSTRAINT_EQUALITY,
               view->row, view->rows);
    if (status != PERP_OK || !perpi_joint_one_degree(joint->type)) {
        return status;
    }
    const perpi_row* axis = &view->coordinate[0];
    if (purpose != PERPI_PURPOSE_STEP || !motor_rules(joint)) {
        status = append_limits(f, model, index, purpose, h, axis, input);
    }
    if (status == PERP_OK && purpose == PERPI_PURPOSE_IMPACT && joint->armature > 0.0) {
        status = append_rotor(f, model, index, 0.0, axis);
    }
    if (status == PERP_OK && purpose == PERPI_PURPOSE_STEP) {
        status = append_losses(f, model, index, h, axis);
        if (status == PERP_OK && joint->motor != PERP_MOTOR_NONE) {
            status = append_motor(f, model, index, t, h, axis, input);
        }
        if (input->effort != 0.0) {
            add_known_impulse(f, model, joint, axis, h * input->effort);
        }
    }
    return status;
}

perp_status perpi_formulate_joints(perpi_formulation* f, const perp_model* model,
                                   perpi_purpose purpose, double t, double h, const double* q,
                                   const double* q_end, const perpi_joint_input* input)
{
    f->joint_count = 0;
    f->q_end = q_end;
    perp_status status = perpi_frames_share(f, model, q, f->start_v, input);
    if (status == PERP_OK && q_end != NULL) {
        status = reserve_views(f, model);
    }
    for (int32_t i = 0; i < (int32_t)model->joint_count && status == PERP_OK; ++i) {
        perpi_joint_view view;
        if (q_end != NULL) {
            if (!f->again) {
                evaluate(model, i, q, input[i].turns, view_at_start(f, i));
            }
            evaluate(model, i, q_end, input[i].turns, view_at_end(f, i));
            mean_view(view_at_start(f, i), view_at_end(f, i), &view);
        } else {
            evaluate(model, i, q, input[i].turns, &view);
        }
        const bool soft = perpi_gear_soft(&model->joint[i]);
        if (soft && purpose != PERPI_PURPOSE_STEP) {
            continue;
        }
        if (model->joint[i].type == PERP_JOINT_GEAR) {
            const double b = soft ? view.row[0].b
                             : without_inertia(purpose)
                                 ? 0.0
                                 : view.row[0].b / closing_time(h, &input[i]);
            status = perpi_formulate_gear(f, model, i, purpose == PERPI_PURPOSE_IMPACT, b, q, q_end,
                                          input[i].turns);
            continue;
        }
        status = formulate_joint(f, model, i, purpose, t, h, &view, &input[i]);
    }
    if (status == PERP_OK) {
        perpi_frames_follow(f);
    }
    return status;
}

/* ---- after the step ----------------------------------------------------------------------------------*/

/* Where a record keeps the impulses of a constraint. */
static double* impulse_of(const perpi_joint_place* place, perp_joint_record* record)
{
    return place->slot >= PERPI_GEAR_TIE ? &record->impulse[1 + place->slot - PERPI_GEAR_TIE]
           : place->slot > 0             ? &record->law[place->slot - 1]
                                         : record->impulse;
}

void perpi_formulation_gather_joints(const perpi_formulation* f, const perp_joint_record* record,
                                     double* p)
{
    for (int32_t k = 0; k < f->joint_count; ++k) {
        const perpi_joint_place* place = &f->place[k];
        const perp_constraint* c = &f->constraint[f->contact_count + k];
        const perp_joint_record* r = &record[place->joint];
        const double* from = impulse_of(place, (perp_joint_record*)r);
        memcpy(p + c->row, from, (size_t)c->rows * sizeof *p);
        for (int32_t i = c->row; f->middle && i < c->row + c->rows; ++i) {
            p[i] *= f->theta;
        }
    }
}

void perpi_formulation_scatter_joints(const perpi_formulation* f, const perp_model* model,
                                      const double* p, perp_joint_record* record)
{
    for (size_t i = 0; i < model->joint_count; ++i) {
        memset(record[i].impulse, 0, sizeof record[i].impulse);
        memset(record[i].law, 0, sizeof record[i].law);
    }
    for (int32_t k = 0; k < f->joint_count; ++k) {
        const perpi_joint_place* place = &f->place[k];
        const perp_constraint* c = &f->constraint[f->contact_count + k];
        perp_joint_record* r = &record[place->joint];
        double* to = impulse_of(place, r);
        memcpy(to, p + c->row, (size_t)c->rows * sizeof *p);
        for (int32_t i = 0; f->middle && i < c->rows; ++i) {
            to[i] /= f->theta;
        }
    }
}

/* Whether row i of a joint is one of directions: it does not act on the velocities of centres. */
static bool is_angular(const perpi_formulation* f, const perp_constraint* c, int32_t i,
                       int32_t dimension)
{
    const double* J = f->J + c->jac;
    bool angular = true;
    for (int side = 0; side < 2; ++side) {
        const int32_t block = c->block[side];
        const int32_t n = block >= 0 ? f->dof[block + 1] - f->dof[block] : 0;
        for (int32_t a = 0; a < dimension && a < n; ++a) {
            angular = angular && J[i * n + a] == 0.0;
        }
        J += (size_t)c->rows * (size_t)n;
    }
    return angular;
}

void perpi_formulation_round_joints(perpi_formulation* f, const perp_model* model, bool at_end)
{
    if (f->problem.b_error == NULL) {
        if (!at_end || f->rows == 0) {
            return;
        }
        memset(f->b_error, 0, (size_t)f->rows * sizeof *f->b_error);
        f->problem.b_error = f->b_error;
    }
    for (int32_t k = 0; k < f->joint_count; ++k) {
        const perp_constraint* c = &f->constraint[f->contact_count + k];
        const perpi_joint* joint = &model->joint[f->place[k].joint];
        double size = joint->size;
        for (int side = 0; side < 2; ++side) {
            size += joint->body[side] >= 0 ? v3_norm(f->pose[joint->body[side]].x) : 0.0;
        }
        for (int32_t i = 0; i < c->rows && f->place[k].slot == 0; ++i) {
            const double length = is_angular(f, c, i, model->dimension) ? 1.0 : size;
            f->b_error[c->row + i] = at_end ? PERPI_POSE_ROUNDING * length / f->h : 0.0;
        }
    }
}

void perpi_formulation_correct_b(perpi_formulation* f, const perp_model* model, double h,
                                 const double* q_end, const double* v_problem,
                                 const perpi_joint_input* input)
{
    for (int32_t k = 0; k < f->joint_count; ++k) {
        const perpi_joint_place* place = &f->place[k];
        const int32_t index = f->contact_count + k;
        const perp_constraint* c = &f->constraint[index];
        if (place->slot == 0) {
            perpi_joint_view view;
            evaluate(model, place->joint, q_end, input[place->joint].turns, &view);
            for (int32_t i = 0; i < c->rows; ++i) {
                f->b[c->row + i] =
                    view.row[i].b / h - perpi_formulation_speed(f, index, i, v_problem);
            }
        }
    }
    perpi_formulation_round_joints(f, model, true);
    perpi_frames_follow(f);
}

/* The error of a joint at the end of a step, relative to its size. A rope that pulls is off by its
 * slack, too. */
static double end_error(const perp_model* model, int32_t joint, const perpi_joint_view* view,
                        const double* p, int32_t row)
{
    const double size = model->joint[joint].size;
    return model->joint[joint].type == PERP_JOINT_ROPE && p != NULL && p[row] > 0.0
               ? fabs(view->row[0].b) / size /* taut */
               : fmax(view->error[0] / size, view->error[1]);
}

double perpi_formulation_end_rows(const perpi_formulation* f, const perp_model* model, double h,
                                  const double* q_end, const perpi_joint_input* input,
                                  const double* p, double* r, double* R)
{
    const bool kept = q_end == NULL;
    q_end = kept ? f->q_end : q_end;
    double worst = 0.0;
    for (int32_t k = 0; k < f->joint_count; ++k) {
        const perp_constraint* c = &f->constraint[f->contact_count + k];
        const int32_t joint = f->place[k].joint;
        if (model->joint[joint].type == PERP_JOINT_GEAR) {
            perpi_gear_jacobian(f, model, k, q_end, input[joint].turns, R);
        }
        if (f->place[k].slot != 0) {
            continue;
        }
        perpi_joint_view other;
        const perpi_joint_view* view = kept ? view_at_end(f, joint) : &other;
        if (!kept) {
            evaluate(model, joint, q_end, input[joint].turns, &other);
        }
        const double error = end_error(model, joint, view, p, c->row);
        worst = worst >= error ? worst : error; /* keeps a NaN */
        double* J = R + c->jac;
        for (int side = 0; side < 2 && model->joint[joint].type != PERP_JOINT_GEAR; ++side) {
            if (c->block[side] >= 0) {
                J = perpi_joint_jacobian(model, model->joint[joint].body[side], side, view->row,
                                         c->rows, J);
            }
        }
        for (int32_t i = 0; i < c->rows; ++i) {
            r[c->row + i] = view->row[i].b / h;
        }
    }
    return worst;
}

void perpi_formulation_set_b(perpi_formulation* f, const perp_model* model, const double* v_problem,
                             const double* r)
{
    for (int32_t k = 0; k < f->joint_count; ++k) {
        const int32_t index = f->contact_count + k;
        const perp_constraint* c = &f->constraint[index];
        for (int32_t i = 0; i < c->rows && f->place[k].slot == 0; ++i) {
            f->b[c->row + i] = r[c->row + i] - perpi_formulation_speed(f, index, i, v_problem);
        }
    }
    perpi_formulation_round_joints(f, model, true);
    perpi_frames_follow(f);
}

double perpi_formulation_error(const perpi_formulation* f, const perp_model* model,
                               const double* q_end, const perpi_joint_input* input, const double* p)
{
    double worst = 0.0;
    for (int32_t k = 0; k < f->joint_count; ++k) {
        const int32_t joint = f->place[k].joint;
        if (f->place[k].slot == 0) {
            perpi_joint_view view;
            evaluate(model, joint, q_end, input[joint].turns, &view);
            const double error =
                end_error(model, joint, &view, p, f->constraint[f->contact_count + k].row);
            worst = worst >= error ? worst : error; /* keeps a NaN */
        }
    }
    return worst;
}

void perpi_joint_count_turns(const perpi_formulation* f, const perp_model* model, int32_t index,
                             double h, const double* q, const double* q_end, const double* v_end,
                             int32_t turns[2])
{
    const perpi_joint* joint = &model->joint[index];
    for (int i = 0; joint->type == PERP_JOINT_GEAR && i < 2; ++i) { /* those of its joints */
        int32_t own[2] = {turns[i], 0};
        perpi_joint_count_turns(f, model, joint->geared[i], h, q, q_end, v_end, own);
        turns[i] = own[0];
    }
    if (model->dimension == 2 || joint->coordinates == 0 || joint->type == PERP_JOINT_ROPE ||
        joint->type == PERP_JOINT_PRISMATIC) {
        return;
    }
    const perpi_joint_view from = perpi_joint_evaluate(model, index, q, turns);
    const perpi_joint_view to = perpi_joint_evaluate(model, index, q_end, NULL);
    int slot = 0;
    for (int32_t i = 0; i < from.coordinates; ++i) {
        const perpi_row* row = &from.coordinate[i];
        if (!row->angular) {
            continue;
        }
        double speed = 0.0; /* over the step: prescribed bodies at their mean velocity */
        for (int side = 0; side < 2; ++side) {
            const int32_t body = joint->body[side];
            if (body >= 0) {
                const vec3 w = f->block_of[body] >= 0 ? perpi_state_rate(model, v_end, body)
                                                      : f->given_w[body];
                speed += (side == 0 ? -1.0 : 1.0) * v3_dot(row->dir, w);
            }
        }
        const double whole = round((row->b + h * speed - to.coordinate[i].b) / TURN);
        turns[slot++] = fabs(whole) < 2e9 ? (int32_t)whole : 0;
    }
}

void perpi_joint_line(const perp_model* model, const double* q, const perpi_joint* joint, vec3* at,
                      vec3* axis)
{
    perpi_pose pose = {v3(0, 0, 0), q4_identity(), m3_identity()};
    if (joint->body[0] >= 0) {
        pose = perpi_state_pose(model, q, joint->body[0]);
    }
    *at = perpi_pose_point(&pose, joint->at[0]);
    *axis = m3_mul(pose.R, q4_rotate(joint->frame[0], v3(0, 0, 1)));
}
