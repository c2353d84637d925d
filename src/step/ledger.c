/* src/step/ledger.c - the energy ledger of one step.
 *
 * Source     the identity of an implicit step, E' - E = v' . (impulses) - (v' - v)' M (v' - v) / 2,
 *            with
 *            the work of the impulses split by law; derived in docs/notation.md for every stepper
 * Notation   v* the velocities of the problem, v* = (1 - theta) v + theta v'; theta = 1 but for
 *            midpoint
 *            steps, whose problem has impulses theta p. w_r = J_r v* + given_r: relative velocity
 *            of a
 *            row, prescribed bodies and belts included
 *
 * Every row gives  p J v* = p w - p given:  `prescribed` contains the second part, the term of the
 * row's law the first. Where p u = 0, u = w + (b - given), the first is -p (b - given): -p_n psi /
 * h of a contact, -p error / h of a joint. The residual of p u = 0 is work of that row too, and is
 * included; the certificate bounds it. `unexplained` is not 0 if the motion does not follow from
 * the impulses and forces of the step.
 */
#include "step/ledger.h"

#include "step/force_rows.h"
#include "step/frames.h"
#include "step/joint_rows.h"
#include "step/layer_parts.h"
#include "step/layers.h"
#include "step/momentum.h"

/* ---- bodies ----------------------------------------------------------------------------------------*/

static double quadratic(mat3 I, vec3 w)
{
    return v3_dot(w, m3_mul(I, w));
}

/* w . (R I R') w */
static double turning(const perpi_body* body, const perpi_pose* pose, vec3 w)
{
    return perpi_inertia_round(body) ? body->inertia.m[0][0] * v3_dot(w, w)
                                     : quadratic(body->inertia, m3_tmul(pose->R, w));
}

/* Work of wrenches, drag, inertia. */
static void add_body(const perpi_ledger_input* in, int32_t i, perp_ledger* sum)
{
    const perpi_formulation* f = in->f;
    const perp_model* model = in->model;
    const perpi_body* body = &model->body[i];
    const double h = in->h, theta = in->impact ? 1.0 : perpi_body_theta(f, i);
    const double* at = in->v_problem + f->dof[f->block_of[i]];
    const bool planar = model->dimension == 2, turns = !body->particle;
    const vec3 v = planar ? v3(at[0], at[1], 0.0) : v3_from(at);
    const vec3 w = !turns ? v3(0, 0, 0) : planar ? v3(0, 0, at[2]) : v3_from(at + 3);
    if (f->any_applied && !in->impact) {
        const double* a = f->applied + 6 * (size_t)i;
        sum->forces += h * (v3_dot(v3_from(a), v) + v3_dot(v3_from(a + 3), w));
    }
    if (!in->impact) {
        sum->drag -= h * (body->drag_linear * v3_dot(v, v) + body->drag_angular * v3_dot(w, w));
    }
    if (in->evaluation == PERPI_EVALUATE_REST) {
        return;
    }
    /* velocities: at the start, and those that the answer gives at the end */
    const vec3 v0 = perpi_state_velocity(model, in->v, i), w0 = perpi_state_rate(model, in->v, i);
    const vec3 dv = v3_scale(1.0 / theta, v3_sub(v, v0));
    const vec3 dw = turns ? v3_scale(1.0 / theta, v3_sub(w, w0)) : v3(0, 0, 0);
    double loss = body->mass * v3_dot(dv, dv);
    if (turns && planar) {
        loss += body->inertia.m[2][2] * dw.z * dw.z;
    } else if (turns) {
        loss += turning(body, &f->pose[i], dw);
    }
    if (in->impact) {
        sum->impacts -= 0.5 * loss;
        return;
    }
    sum->step_loss -= (theta - 0.5) * loss;
    if (!turns || planar || perpi_inertia_round(body)) {
        return;
    }
    /* the velocity-product term, and the change of the angular velocity that conserves momentum */
    const perpi_pose end = perpi_state_pose(model, in->q_end, i);
    const vec3 w_state = perpi_state_rate(model, in->v_state, i);
    if (perpi_body_middle(
            f, i)) { /* the work w . (I w - L) / theta, I of the middle, is accounted for by row */
        const double before = v3_dot(w, m3_mul(perpi_world_inertia(body, &f->pose[i]), w0));
        sum->gyroscopic += 0.5 * (turning(body, &end, w_state) - turning(body, &f->pose[i], w0)) -
                           (turning(body, &f->end[i], w) - before) / theta;
        return;
    }
    const vec3 w_end = v3_add(w0, dw);
    if (in->evaluation == PERPI_EVALUATE_START) {
        sum->gyroscopic += v3_dot(w, f->gyroscopic[i]) / theta;
    }
    sum->gyroscopic +=
        in->evaluation == PERPI_EVALUATE_START
            ? 0.5 * (turning(body, &end, w_state) - turning(body, &f->pose[i], w_end))
            : 0.5 * (turning(body, &f->pose[i], w_end) - turning(body, &end, w_end));
}

/* ---- contacts and supports -------------------------------------------------------------------------*/

/* p . (J v* + given) of a row, and the part of it that is work of prescribed motion. */
static double row_work(const perpi_ledger_input* in, int32_t constraint, int32_t r, double p,
                       perp_ledger* sum)
{
    const perpi_formulation* f = in->f;
    const double given = f->given[f->constraint[constraint].row + r];
    sum->prescribed -= p * given;
    return p * (perpi_formulation_speed(f, constraint, r, in->v_problem) + given);
}

/* Soft layers: bodies do the work p . w_layer on the layer; the part of it that damping
 * dissipates. */
static void add_layers(const perpi_ledger_input* in, perp_ledger* sum)
{
    const perpi_formulation* f = in->f;
    for (int32_t i = 0; i < f->layer_count; ++i) {
        const perpi_layer_place* place = &f->layer[i];
        const perp_contact* c = &in->contact[place->contact];
        const perpi_layer layer = perpi_layer_of(in->model, c);
        const double* rate = in->v_problem + f->dof[place->block] + place->ties;
        const double* p = in->p_problem + f->constraint[place->contact].row;
        const int32_t rows = f->constraint[place->contact].rows;
        double given = 0.0, damped = 0.0;
        for (int32_t r = 0; r < place->yields; ++r) {
            given += r < rows ? p[r] * rate[r] : 0.0;
            for (int32_t k = 0; k < place->yields; ++k) {
                damped += rate[r] * layer.C.m[r][k] * rate[k];
            }
        }
        sum->springs -= in->h * damped;
        sum->spring_error += in->h * damped - given / f->theta;
    }
}

static inline double dot6(const double* a, const double* b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4] + a[5] * b[5];
}

/* w_r of all rows of a contact: any number of rows and degrees of freedom. */
static void contact_speeds(const perpi_ledger_input* in, const perp_constraint* c,
                           const double* given, double w[4])
{
    const perpi_formulation* f = in->f;
    const double* J = f->J + c->jac;
    for (int32_t r = 0; r < c->rows; ++r) {
        w[r] = given[r];
    }
    for (int side = 0; side < 2; ++side) {
        const int32_t block = c->block[side];
        const double* v = in->v_problem + (block >= 0 ? f->dof[block] : 0);
        const int32_t n = block >= 0 ? f->dof[block + 1] - f->dof[block] : 0;
        for (int32_t r = 0; r < c->rows; ++r, J += n) {
            for (int32_t k = 0; k < n; ++k) {
                w[r] += J[k] * v[k];
            }
        }
    }
}

/* The slip of the friction law is w_t + b_t - given_t, at the middle of the step where bodies
 * roll (notation.md); its difference from w_t belongs to the scheme, with the gap. */
static void add_contacts(const perpi_ledger_input* in, perp_ledger* sum)
{
    const perpi_formulation* f = in->f;
    double normal = 0.0, friction = 0.0, prescribed = 0.0;
    for (int32_t i = 0; i < f->contact_count; ++i) {
        const perp_constraint* c = &f->constraint[i];
        const double *p = in->p_problem + c->row, *given = f->given + c->row, *b = f->b + c->row;
        const double scale = in->impact ? 1.0 : 1.0 / perpi_contact_theta(f, &in->contact[i]);
        const double push = in->contact[i].layer.push;
        if (push != 0.0) { /* impulse of a layer that separated within the step */
            sum->spring_error += row_work(in, i, 0, push, sum);
        }
        if (p[0] == 0.0) {
            continue; /* no normal impulse, no friction */
        }
        const int32_t alone = c->block[0] < 0 ? c->block[1] : c->block[1] < 0 ? c->block[0] : -1;
        if (alone >= 0 && c->rows == 3 && f->dof[alone + 1] - f->dof[alone] == 6) {
            /* fast path for the most frequent case: a spatial body and a prescribed one */
            const double *J = f->J + c->jac, *v = in->v_problem + f->dof[alone];
            const double ahead = p[1] * (b[1] - given[1]) + p[2] * (b[2] - given[2]);
            normal += scale * (p[0] * (given[0] + dot6(J, v)) - ahead);
            friction += scale * (p[1] * (given[1] + dot6(J + 6, v)) +
                                 p[2] * (given[2] + dot6(J + 12, v)) + ahead);
            prescribed += scale * (p[0] * given[0] + p[1] * given[1] + p[2] * given[2]);
            continue;
        }
        double w[4];
        contact_speeds(in, c, given, w);
        normal += scale * p[0] * w[0];
        prescribed += scale * p[0] * given[0];
        for (int32_t r = 1; r < c->rows; ++r) {
            const double ahead = p[r] * (b[r] - given[r]);
            normal -= scale * ahead;
            friction += scale * (p[r] * w[r] + ahead);
            prescribed += scale * p[r] * given[r];
        }
    }
    *(in->impact ? &sum->impacts : &sum->gap) += normal;
    sum->friction += friction;
    sum->prescribed -= prescribed;
    if (!in->impact && f->layer_count > 0) {
        add_layers(in, sum);
    }
}

static void add_supports(const perpi_ledger_input* in, perp_ledger* sum)
{
    const perpi_formulation* f = in->f;
    const int32_t points = f->supported ? in->model->support_points : 0;
    for (int32_t i = f->support_constraint; i < f->support_constraint + points; ++i) {
        const perp_constraint* c = &f->constraint[i];
        for (int32_t r = 1; r < c->rows; ++r) {
            sum->friction += row_work(in, i, r, in->p_problem[c->row + r], sum);
        }
    }
}

/* ---- joints ----------------------------------------------------------------------------------------*/

/* The ledger entry of a joint's constraint. */
static double* joint_term(int32_t slot, perp_ledger* sum)
{
    switch (slot) {
    case 1 + PERPI_LAW_FRICTION:
    case 1 + PERPI_LAW_DAMPING: return &sum->joints;
    case 1 + PERPI_LAW_MOTOR: return &sum->motors;
    default: return &sum->joint_error;
    }
}

/* The row of a joint as the step had it. */
static perpi_row axis_row(const perpi_ledger_input* in, int32_t joint)
{
    const int32_t* turns = in->joint_input[joint].turns;
    return in->f->middle ? perpi_joint_evaluate_middle(in->model, joint, in->q, in->q_end, turns)
                               .coordinate[0]
                         : perpi_joint_evaluate(in->model, joint, in->q, turns).coordinate[0];
}

static double rotor_energy(const perp_model* model, int32_t joint, const double* q, const double* v)
{
    const double u = perpi_joint_rate(model, joint, q, v);
    return 0.5 * model->joint[joint].armature * u * u;
}

/* Damping and the rotor of a joint, p = -h d u* - A (u' - u): of its work p u* the change of the rotor's energy
 * belongs to the energy, (theta - 1/2) A (u' - u)^2 to the loss of the step; the axis turns within the step. */
static void add_rotor(const perpi_ledger_input* in, int32_t constraint, int32_t joint, double p,
                      perp_ledger* sum)
{
    const perpi_formulation* f = in->f;
    const double theta = !in->impact && f->middle ? f->theta : 1.0;
    const double A = in->model->joint[joint].armature;
    const perpi_row row = axis_row(in, joint);
    const double given = f->given[f->constraint[constraint].row];
    const double u = perpi_joint_speed(in->model, joint, &row, in->v);
    const double middle = perpi_formulation_speed(f, constraint, 0, in->v_problem) + given;
    const double change = (middle - u) / theta, end = u + change;
    sum->prescribed -= p * given;
    if (in->impact) {
        sum->impacts -= 0.5 * A * change * change;
        return;
    }
    sum->joints -= in->h * in->model->joint[joint].damping * middle * middle;
    sum->step_loss -= (theta - 0.5) * A * change * change;
    sum->gyroscopic += rotor_energy(in->model, joint, in->q_end, in->v_state) -
                       0.5 * A * end * end -
                       (rotor_energy(in->model, joint, in->q, in->v) - 0.5 * A * u * u);
}

static void add_joint_rows(const perpi_ledger_input* in, perp_ledger* sum)
{
    const perpi_formulation* f = in->f;
    const double scale = !in->impact && f->middle ? 1.0 / f->theta : 1.0;
    for (int32_t k = 0; k < f->joint_count; ++k) {
        const int32_t index = f->contact_count + k;
        const perp_constraint* c = &f->constraint[index];
        for (int32_t r = 0; r < c->rows; ++r) {
            const int32_t joint = f->place[k].joint;
            const bool shared = f->place[k].slot == 0 && perpi_frames_hold(f, joint);
            const double p = shared ? in->joint[joint].impulse[r] /* that of the mechanism */
                                    : scale * in->p_problem[c->row + r];
            if (f->place[k].slot == 1 + PERPI_LAW_DAMPING && f->start_v != NULL &&
                in->model->joint[joint].armature > 0.0) {
                add_rotor(in, index, joint, p, sum);
                continue;
            }
            if (p == 0.0) {
                continue;
            }
            *joint_term(f->place[k].slot, sum) += row_work(in, index, r, p, sum);
        }
    }
}

/* Relative velocity along a joint's axis, and the part of it that prescribed bodies have. */
static double axis_speed(const perpi_ledger_input* in, int32_t joint, double* given)
{
    const perpi_formulation* f = in->f;
    const perpi_row row = axis_row(in, joint);
    double speed = 0.0;
    *given = 0.0;
    for (int side = 0; side < 2; ++side) {
        const int32_t body = in->model->joint[joint].body[side];
        if (body < 0) {
            continue;
        }
        const bool free = f->block_of[body] >= 0;
        vec3 v = f->given_v[body], w = f->given_w[body];
        if (free) {
            const double* at = in->v_problem + f->dof[f->block_of[body]];
            const bool planar = in->model->dimension == 2;
            v = planar ? v3(at[0], at[1], 0.0) : v3_from(at);
            w = in->model->body[body].particle ? v3(0, 0, 0)
                : planar                       ? v3(0, 0, at[2])
                                               : v3_from(at + 3);
        }
        const vec3 u = row.angular ? w : v3_add(v, v3_cross(w, row.arm[side]));
        const double along = (side == 0 ? -1.0 : 1.0) * v3_dot(row.dir, u);
        speed += along;
        *given += free ? 0.0 : along;
    }
    return speed;
}

/* Efforts that are known before the step: motors of type effort, user code. */
static void add_efforts(const perpi_ledger_input* in, perp_ledger* sum)
{
    for (int32_t i = 0; i < (int32_t)in->model->joint_count; ++i) {
        const perpi_joint* joint = &in->model->joint[i];
        double impulse = in->h * in->joint_input[i].effort;
        if (joint->motor == PERP_MOTOR_EFFORT && !isfinite(joint->velocity_limit)) {
            impulse += in->joint[i].law[PERPI_LAW_MOTOR];
        }
        if (impulse != 0.0) {
            double given;
            sum->motors += impulse * axis_speed(in, i, &given);
            sum->prescribed -= impulse * given;
        }
    }
}

/* ---- springs and controllers -----------------------------------------------------------------------*/

static void add_force_rows(const perpi_ledger_input* in, perp_ledger* sum)
{
    const perpi_formulation* f = in->f;
    const perp_model* model = in->model;
    int32_t rows = 0, index = perpi_force_constraint(f, model);
    for (size_t i = 0; i < model->spring_count; ++i) {
        const perpi_spring* s = &model->spring[i];
        if (!s->implicit) {
            continue;
        }
        for (int32_t r = 0; r < s->rows; ++r, ++rows) {
            const double p = in->p_problem[f->force_row + rows];
            const double w =
                perpi_formulation_speed(f, index, r, in->v_problem) + f->given[f->force_row + rows];
            const double damped = in->h * s->damping * w * w;
            sum->springs -= damped;
            sum->spring_error += row_work(in, index, r, p, sum) + damped;
        }
        index += 1;
    }
    for (size_t i = 0; i < model->controller_count; ++i, ++index) {
        for (int32_t r = 0; r < model->controller[i].rows; ++r, ++rows) {
            sum->motors += row_work(in, index, r, in->p_problem[f->force_row + rows], sum);
        }
    }
}

/* Explicit springs act through f->wrench, as user code does. */
static void add_explicit_springs(const perpi_ledger_input* in, perp_ledger* sum)
{
    const perpi_formulation* f = in->f;
    const perp_model* model = in->model;
    double work = 0.0;
    bool any = false;
    for (size_t i = 0; i < model->spring_count; ++i) {
        any = any || !model->spring[i].implicit;
    }
    for (int32_t i = 0; any && i < (int32_t)model->body_count; ++i) {
        if (f->block_of[i] < 0) {
            continue;
        }
        const double* v = in->v_problem + f->dof[f->block_of[i]];
        const int32_t linear = model->dimension, n = model->body[i].dofs;
        for (int32_t k = 0; k < n; ++k) {
            const int32_t entry = k < linear ? k : linear == 2 ? 5 : k;
            const double user = in->extra != NULL ? in->extra[6 * i + entry] : 0.0;
            work += in->h * (f->wrench[6 * i + entry] - user) * v[k];
        }
    }
    /* it is also part of `forces`, which contains all of f->applied */
    const double damped =
        any ? perpi_spring_damping(f, model, in->evaluation != PERPI_EVALUATE_START, in->h,
                                   in->evaluation != PERPI_EVALUATE_START ? in->v_state : in->v,
                                   in->v_problem)
            : 0.0;
    sum->forces -= work;
    sum->springs += damped;
    sum->spring_error += work - damped;
}

/* ---- the whole -------------------------------------------------------------------------------------*/

void perpi_ledger_terms(const perpi_ledger_input* in, perp_ledger* ledger)
{
    const perp_model* model = in->model;
    *ledger = (perp_ledger){0};
    for (int32_t i = 0; i < (int32_t)model->body_count; ++i) {
        if (in->f->block_of[i] >= 0) {
            add_body(in, i, ledger);
        }
    }
    add_contacts(in, ledger);
    if (model->joint_count > 0) {
        add_joint_rows(in, ledger);
    }
    if (in->impact) {
        return;
    }
    if (model->joint_count > 0) {
        add_efforts(in, ledger);
    }
    add_supports(in, ledger);
    if (model->spring_count > 0 || model->controller_count > 0) {
        add_force_rows(in, ledger);
        add_explicit_springs(in, ledger);
    }
}

static vec3 centre(const perp_model* model, const double* q, int32_t body)
{
    const double* at = q + (size_t)body * (size_t)perpi_q_stride(model);
    return model->dimension == 2 ? v3(at[0], at[1], 0.0) : v3_from(at);
}

/* Twice the change of the energy of rotation; in the body frame the inertia is the same at both ends. */
static double turning_change(const perp_model* model, int32_t i, const double* q, const double* v,
                             const double* q_end, const double* v_end)
{
    const perpi_body* body = &model->body[i];
    vec3 w0 = perpi_state_rate(model, v, i), w1 = perpi_state_rate(model, v_end, i);
    if (body->particle) {
        return 0.0;
    }
    if (model->dimension == 2) {
        return body->inertia.m[2][2] * (w1.z - w0.z) * (w1.z + w0.z);
    }
    if (perpi_inertia_round(body)) {
        return body->inertia.m[0][0] * v3_dot(v3_sub(w1, w0), v3_add(w1, w0));
    }
    w0 = m3_tmul(perpi_state_pose(model, q, i).R, w0);
    w1 = m3_tmul(perpi_state_pose(model, q_end, i).R, w1);
    return v3_dot(v3_sub(w1, w0), m3_mul(body->inertia, v3_add(w1, w0)));
}

double perpi_energy_change(const perp_model* model, bool kinetic, const double* q, const double* v,
                           const double* q_end, const double* v_end)
{
    double change = 0.0;
    for (int32_t i = 0; i < (int32_t)model->body_count; ++i) {
        const perpi_body* body = &model->body[i];
        if (body->dofs == 0) {
            continue;
        }
        const vec3 moved = v3_sub(centre(model, q_end, i), centre(model, q, i));
        change -= body->mass * v3_dot(body->gravity, moved);
        if (kinetic) {
            const vec3 v0 = perpi_state_velocity(model, v, i);
            const vec3 v1 = perpi_state_velocity(model, v_end, i);
            change += 0.5 * body->mass * v3_dot(v3_sub(v1, v0), v3_add(v1, v0));
            change += 0.5 * turning_change(model, i, q, v, q_end, v_end);
        }
    }
    for (int32_t i = 0; kinetic && i < (int32_t)model->joint_count; ++i) {
        if (model->joint[i].armature > 0.0) {
            change += rotor_energy(model, i, q_end, v_end) - rotor_energy(model, i, q, v);
        }
    }
    return change;
}

void perpi_ledger_close(perp_ledger* l)
{
    const double sum = l->forces + l->drag + l->springs + l->motors + l->prescribed + l->friction +
                       l->impacts + l->joints + l->gap + l->joint_error + l->gyroscopic +
                       l->spring_error + l->step_loss + l->projection + l->extrapolation;
    l->unexplained = l->change - sum;
    l->magnitude = fabs(l->forces) + fabs(l->drag) + fabs(l->springs) + fabs(l->motors) +
                   fabs(l->prescribed) + fabs(l->friction) + fabs(l->impacts) + fabs(l->joints) +
                   fabs(l->gap) + fabs(l->joint_error) + fabs(l->gyroscopic) +
                   fabs(l->spring_error) + fabs(l->step_loss) + fabs(l->projection) +
                   fabs(l->extrapolation);
}
