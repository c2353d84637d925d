/* src/sim/forces.c - contact forces and accelerations at a state; see perp/forces.h.
 *
 * Source     [T03 (17)-(24)], [B09 (2.71)]
 * Notation   M a = g + J' z;  a_row = J a + d/dt(J) v + (what prescribed bodies and belts add)
 * Departure  d/dt(J) v of gaps and slips, which the papers leave to the reader, contains the
 *            curvature of the surfaces. It is taken from the geometry itself: the row's velocity along
 *            the motion without accelerations, at four neighbouring times, differentiated by the
 *            formula of fourth order (exact to 1e-10 of the largest term).
 */
#include "perp/forces.h"

#include <stdio.h>
#include <string.h>

#include "linalg/dense.h"
#include "problem/cone.h"
#include "sim/forces_solve.h"
#include "sim/internal.h"
#include "step/force_rows.h"
#include "step/joint_rows.h"

static const double CLOSED_GAP = 1e-6; /* closed gap, relative to the smaller body's size */
static const double STILL = 1e-9;      /* zero speed, relative to those of the bodies */
static const double NEIGHBOUR =
    1e-3; /* displacement to a neighbouring time, relative to sizes; radians */

typedef struct forces {
    perp_forces public;
    perp_context* context;
    perp_contact_force* contact;
    perp_body_acceleration* body;
    double (*joint)[6];
} forces;

typedef struct finder {
    perp_sim* sim;
    const perp_model* model;
    perpi_formulation* f;
    perpi_contact_list contacts, moved;
    double *q, *v; /* a neighbouring state */
    double* margin;
    double* rate; /* d/dt of each row's velocity without accelerations: 3 a contact, then joints */
    double* g;    /* M^-1 of the forces: accelerations without contact, per velocity */
    double* B;    /* dofs x n */
    double* z;
    int32_t* mode;        /* 0: no friction, 1: rolling, 2: sliding */
    double (*slip)[3];    /* of each contact: u_n, u_t, u_o */
    double (*against)[2]; /* sliding: friction force per normal force, along t and o */
    perpi_force_problem problem;
    forces* out;
} finder;

const char* perp_existence_name(perp_existence existence)
{
    static const char* const name[] = {"one", "several", "none", "found", "not-found", "impact"};
    return name[existence];
}

const char* perp_contact_mode_name(perp_contact_mode mode)
{
    static const char* const name[] = {"separating", "rolling", "sliding"};
    return name[mode];
}

void perp_forces_destroy(perp_forces* public)
{
    forces* f = (forces*)public; /* its first member */
    if (f == NULL) {
        return;
    }
    perp_context* context = f->context;
    perpi_free(context, f->contact);
    perpi_free(context, f->body);
    perpi_free(context, f->joint);
    perpi_free(context, f);
}

static perp_status refuse(const finder* x)
{
    const perp_model* model = x->model;
    const char* what = NULL;
    for (size_t i = 0; i < model->joint_count; ++i) {
        const perpi_joint* j = &model->joint[i];
        what = j->motor != PERP_MOTOR_NONE               ? "motors"
               : j->has_limits                           ? "limits of joints"
               : j->friction > 0.0 || j->damping > 0.0   ? "friction and damping of joints"
               : j->armature > 0.0 || j->stiffness > 0.0 ? "armature of joints and soft gears"
               : j->type == PERP_JOINT_ROPE              ? "ropes"
               : j->type == PERP_JOINT_GEAR              ? "gears"
                                                         : what;
    }
    for (size_t i = 0; i < model->body_count; ++i) {
        what = model->body[i].support.points > 0 ? "supports" : what;
        what = model->body[i].massless ? "bodies without mass" : what;
        what = model->body[i].layer.soft ? "soft layers (a body's compliance)" : what;
    }
    what = model->controller_count > 0 ? "controllers" : what;
    what = perpi_sim_grouped(x->sim) && !x->sim->contact_chosen
               ? "contact models with groups (lnc, peg, disjunctive)"
               : what;
    what = x->sim->work.rules.cone == PERP_CONE_ELLIPSOID ? "the friction cone 'ellipsoid'" : what;
    if (what == NULL) {
        return PERP_OK;
    }
    return perpi_fail(x->sim->context, PERP_ERROR_UNSUPPORTED,
                      "forces: %s do not exist at the level of accelerations yet", what);
}

/* ---- the motion near the present time -------------------------------------------------------- */

/* State at time t + dt of a motion without accelerations; prescribed bodies as prescribed. */
static perp_status move_to(finder* x, double dt)
{
    const perp_model* model = x->model;
    const double t = x->sim->state.time + dt;
    memcpy(x->q, x->sim->state.q, (size_t)x->sim->work.q_size * sizeof *x->q);
    memcpy(x->v, x->sim->state.v, (size_t)x->sim->work.v_size * sizeof *x->v);
    for (int32_t i = 0; i < (int32_t)model->body_count; ++i) {
        const perpi_body* body = &model->body[i];
        perpi_pose pose = perpi_state_pose(model, x->q, i);
        vec3 v = perpi_state_velocity(model, x->v, i), w = perpi_state_rate(model, x->v, i);
        double angle = model->dimension == 2 ? x->q[3 * i + 2] : 0.0;
        perp_status status = PERP_OK;
        if (body->type == PERP_BODY_STATIC) {
            continue;
        }
        if (body->type == PERP_BODY_KINEMATIC && body->motion.type == PERP_MOTION_POSE &&
            !body->motion.follows) {
            status = perpi_motion_pose(model, i, t, &pose, &angle, &v, &w);
        } else {
            vec3 mean_v = v, mean_w = w;
            if (body->type == PERP_BODY_KINEMATIC && body->motion.type == PERP_MOTION_VELOCITY) {
                status = perpi_motion_velocity(model, i, t - 0.5 * dt, &mean_v, &mean_w);
                if (status == PERP_OK) {
                    status = perpi_motion_velocity(model, i, t, &v, &w);
                }
            }
            pose.x = v3_madd(pose.x, dt, mean_v);
            pose.q = q4_unit(q4_mul(q4_exp(v3_scale(dt, mean_w)), pose.q));
            angle += dt * mean_w.z;
        }
        if (status != PERP_OK) {
            return status;
        }
        perpi_state_set_pose(model, x->q, i, &pose, angle);
        perpi_state_set_velocity(model, x->v, i, v, w);
    }
    return PERP_OK;
}

/* Velocity of B's surface relative to A's at a contact, at a state. */
static vec3 relative_velocity(const perp_model* model, const double* q, const double* v,
                              const perp_contact* c)
{
    const vec3 n = v3_from(c->normal), t = v3_from(c->tangent), on_a = v3_from(c->point);
    const vec3 point[2] = {on_a, v3_madd(on_a, c->gap, n)};
    const int32_t body[2] = {c->body_a, c->body_b};
    vec3 u = v3_madd(v3_scale(c->drift[1], t), c->drift[2], v3_cross(n, t));
    for (int side = 0; side < 2; ++side) {
        const perpi_pose pose = perpi_state_pose(model, q, body[side]);
        const vec3 at =
            v3_add(perpi_state_velocity(model, v, body[side]),
                   v3_cross(perpi_state_rate(model, v, body[side]), v3_sub(point[side], pose.x)));
        u = v3_madd(u, side == 0 ? -1.0 : 1.0, at);
    }
    return u;
}

/* Contacts at the state x->q. */
static perp_status collide(finder* x, double dt, perpi_contact_list* list)
{
    perp_sim* sim = x->sim;
    const perpi_candidate* candidate;
    size_t count;
    for (int32_t i = 0; i < (int32_t)x->model->body_count; ++i) {
        sim->work.pose[i] = perpi_state_pose(x->model, x->q, i);
    }
    /* there are no groups here: `auto` means standard */
    perpi_collider_set_rule(sim->work.collider,
                            sim->contact_chosen ? NULL : sim->work.contact_model->rule, NULL, 0);
    perp_status status =
        perpi_collide(sim->work.collider, sim->work.pose, x->margin, &candidate, &count);
    list->count = 0;
    list->groups = 0;
    return status == PERP_OK
               ? sim->work.contact_model->build(x->model, &sim->work.rules, sim->state.time + dt,
                                                sim->work.pose, candidate, count, list)
               : status;
}

/* A time in which no body moves far; 0 if nothing moves. */
static double neighbour_time(const finder* x)
{
    const double size = perpi_scene_size(x->model);
    double speed = 0.0;
    bool driven = false;
    for (int32_t i = 0; i < (int32_t)x->model->body_count; ++i) {
        speed = fmax(speed, v3_norm(perpi_state_velocity(x->model, x->sim->state.v, i)) / size);
        speed = fmax(speed, v3_norm(perpi_state_rate(x->model, x->sim->state.v, i)));
        driven = driven || (x->model->body[i].type == PERP_BODY_KINEMATIC &&
                            x->model->body[i].motion.type != PERP_MOTION_NONE);
    }
    for (size_t i = 0; i < x->model->shape_count; ++i) {
        driven = driven || x->model->surface[i].moving;
    }
    if (speed == 0.0) {
        return driven ? 1e-4 * x->sim->def.duration : 0.0;
    }
    return driven ? fmin(NEIGHBOUR / speed, 1e-4 * x->sim->def.duration) : NEIGHBOUR / speed;
}

/* x->rate. f' = (8 (f1 - f-1) - (f2 - f-2)) / (12 dt). */
static perp_status differentiate(finder* x)
{
    const perp_model* model = x->model;
    const double dt = neighbour_time(x);
    static const double at[] = {-2, -1, 1, 2}, weight[] = {1, -8, 8, -1};
    const size_t contacts = x->contacts.count;
    if (dt == 0.0) {
        return PERP_OK;
    }
    for (int k = 0; k < 4; ++k) {
        perp_status status = move_to(x, at[k] * dt);
        if (status == PERP_OK) {
            status = collide(x, at[k] * dt, &x->moved);
        }
        if (status != PERP_OK) {
            return status;
        }
        size_t j = 0;
        for (size_t i = 0; i < contacts; ++i) {
            const perp_contact* c = &x->contacts.item[i];
            while (j < x->moved.count && perpi_contact_before(&x->moved.item[j], c)) {
                ++j;
            }
            if (j == x->moved.count || x->moved.item[j].key != c->key) {
                return perpi_fail(x->sim->context, PERP_ERROR_NUMERIC,
                                  "forces: the contact of '%s' and '%s' does not last",
                                  model->body[c->body_a].name, model->body[c->body_b].name);
            }
            const vec3 u = relative_velocity(model, x->q, x->v, &x->moved.item[j]);
            const vec3 t = v3_from(c->tangent);
            const double s = weight[k] / (12.0 * dt);
            x->rate[3 * i] += s * v3_dot(v3_from(x->moved.item[j].normal), u);
            x->rate[3 * i + 1] += s * v3_dot(t, u);
            x->rate[3 * i + 2] += s * v3_dot(v3_cross(v3_from(c->normal), t), u);
        }
        double* rate = x->rate + 3 * contacts;
        for (int32_t i = 0; i < (int32_t)model->joint_count; ++i) {
            const perpi_joint_view view = perpi_joint_evaluate(model, i, x->q, NULL);
            for (int32_t r = 0; r < view.rows; ++r) {
                rate[r] +=
                    weight[k] / (12.0 * dt) * perpi_joint_speed(model, i, &view.row[r], x->v);
            }
            rate += view.rows;
        }
    }
    return PERP_OK;
}

/* ---- the problem -----------------------------------------------------------------------------------*/

/* Accelerations without contacts and joints. */
static perp_status free_accelerations(finder* x)
{
    const perp_model* model = x->model;
    const perpi_formulation* f = x->f;
    const double* M = f->M;
    double* springs = NULL;
    perp_status status =
        perpi_alloc(x->sim->context, 6 * model->body_count, sizeof *springs, &springs);
    if (status == PERP_OK) {
        perpi_add_spring_forces(model, f->pose, true, x->sim->state.v, springs);
        for (size_t i = 0; x->sim->work.has_extra && i < 6 * model->body_count; ++i) {
            springs[i] += x->sim->work.extra[i];
        }
    }
    for (int32_t i = 0; status == PERP_OK && i < (int32_t)model->body_count; ++i) {
        const perpi_body* b = &model->body[i];
        const int32_t n = b->dofs;
        if (n == 0) {
            continue;
        }
        vec3 force, torque;
        status = perpi_external_wrench(model, x->sim->state.time, &f->pose[i], springs, i, &force,
                                       &torque);
        const vec3 v = perpi_state_velocity(model, x->sim->state.v, i);
        const vec3 w = perpi_state_rate(model, x->sim->state.v, i);
        force = v3_madd(force, -b->drag_linear, v);
        torque = v3_madd(torque, -b->drag_angular, w);
        double* g = x->g + f->dof[f->block_of[i]];
        for (int32_t k = 0; k < model->dimension; ++k) {
            g[k] = v3_get(force, k);
        }
        if (model->dimension == 2 && !b->particle) {
            g[2] = torque.z;
        } else if (model->dimension == 3 && !b->particle) {
            const mat3 I = perpi_world_inertia(b, &f->pose[i]);
            torque = v3_sub(torque, v3_cross(w, m3_mul(I, w)));
            v3_to(torque, g + 3);
        }
        double L[PERPI_BLOCK_MAX * PERPI_BLOCK_MAX];
        if (perpi_chol_factor(n, M, L)) {
            perpi_chol_solve(n, L, g);
        }
        M += n * n;
    }
    perpi_free(x->sim->context, springs);
    return status;
}

/* Modes of the contacts, and which of them take part; false: bodies approach each other. */
static bool sort_contacts(finder* x)
{
    const perp_model* model = x->model;
    bool apart = true;
    for (size_t i = 0; i < x->contacts.count; ++i) {
        const perp_contact* c = &x->contacts.item[i];
        const vec3 n = v3_from(c->normal), t = v3_from(c->tangent);
        const vec3 u = relative_velocity(model, x->sim->state.q, x->sim->state.v, c);
        const double slip[3] = {v3_dot(n, u), v3_dot(t, u), v3_dot(v3_cross(n, t), u)};
        double speeds = v3_norm(u);
        for (int side = 0; side < 2; ++side) {
            const int32_t b = side == 0 ? c->body_a : c->body_b;
            const double reach = isfinite(model->body[b].reach) ? model->body[b].reach : 0.0;
            speeds += v3_norm(perpi_state_velocity(model, x->sim->state.v, b)) +
                      reach * v3_norm(perpi_state_rate(model, x->sim->state.v, b));
        }
        memcpy(x->slip[i], slip, sizeof slip);
        const double along = model->dimension == 2 ? fabs(slip[1]) : hypot(slip[1], slip[2]);
        x->mode[i] = c->cone == PERP_CONE_NONE ? 0 : along > STILL * speeds ? 2 : 1;
        x->against[i][0] = x->against[i][1] = 0.0;
        if (x->mode[i] == 2 && c->cone == PERP_CONE_POLYGON && model->dimension == 3) {
            /* the corner of the polygon that opposes the slip most */
            double best = -INFINITY;
            for (int32_t k = 0; k < c->directions; ++k) {
                double d[2];
                perpi_polygon_direction(c->directions, k, d);
                const double work = -(d[0] * slip[1] + d[1] * slip[2]);
                if (work > best) {
                    best = work;
                    x->against[i][0] = c->mu * d[0];
                    x->against[i][1] = c->mu * d[1];
                }
            }
        } else if (x->mode[i] == 2) {
            x->against[i][0] = -c->mu * slip[1] / along;
            x->against[i][1] = model->dimension == 2 ? 0.0 : -c->mu * slip[2] / along;
        }
        if (slip[0] < -STILL * speeds) {
            apart = false;
            (void)snprintf(x->out->public.message, sizeof x->out->public.message,
                           "'%.60s' and '%.60s' touch and come nearer at %.6g: that is an impact, "
                           "which no finite force stops",
                           model->body[c->body_a].name, model->body[c->body_b].name, -slip[0]);
        }
        if (slip[0] > STILL * speeds) {
            x->mode[i] = -1; /* already separating */
        }
    }
    return apart;
}

/* J_r of a constraint as a dense row of all velocities. */
static void dense_row(const perpi_formulation* f, const perp_constraint* c, int32_t r, double scale,
                      double* out)
{
    const double* J = f->J + c->jac;
    for (int side = 0; side < 2; ++side) {
        const int32_t block = c->block[side];
        if (block < 0) {
            continue;
        }
        const int32_t n = f->dof[block + 1] - f->dof[block];
        for (int32_t i = 0; i < n; ++i) {
            out[f->dof[block] + i] += scale * J[r * n + i];
        }
        J += (size_t)(c->rows * n);
    }
}

static void divide_by_mass(const perpi_formulation* f, double* x)
{
    const double* M = f->M;
    double L[PERPI_BLOCK_MAX * PERPI_BLOCK_MAX];
    for (int32_t i = 0; i < f->problem.block_count; ++i) {
        const int32_t n = f->dof[i + 1] - f->dof[i];
        if (perpi_chol_factor(n, M, L)) {
            perpi_chol_solve(n, L, x + f->dof[i]);
        }
        M += n * n;
    }
}

/* Units, W, q and B. Rows of sliding contacts: the normal one; their friction is in the column. */
static perp_status build_problem(finder* x)
{
    const perpi_formulation* f = x->f;
    perp_context* context = x->sim->context;
    perpi_force_problem* p = &x->problem;
    const size_t dofs = (size_t)f->problem.dof_count;
    const size_t most = (size_t)f->problem.row_count;
    double *row = NULL, *column = NULL, *rate = NULL;
    p->context = context;
    p->dofs = f->problem.dof_count;
    perp_status status =
        perpi_alloc(context, (size_t)f->problem.constraint_count, sizeof *p->unit, &p->unit);
    double** const arrays[] = {&p->W, &p->q, &p->B, &row, &column, &rate};
    const size_t sizes[] = {most * most, most, most * dofs, most * dofs, dofs, most};
    for (int i = 0; status == PERP_OK && i < 6; ++i) {
        status = perpi_alloc(context, sizes[i], sizeof(double), arrays[i]);
    }
    const double* joint_rate = x->rate + 3 * x->contacts.count;
    for (int32_t i = 0; status == PERP_OK && i < f->problem.constraint_count; ++i) {
        const perp_constraint* c = &f->constraint[i];
        const bool is_contact = i < f->contact_count;
        if (is_contact && x->mode[i] < 0) {
            continue;
        }
        perpi_unit* u = &p->unit[p->units++];
        *u = (perpi_unit){.kind = !is_contact       ? PERPI_UNIT_HELD
                                  : x->mode[i] == 1 ? PERPI_UNIT_ROLLING
                                                    : PERPI_UNIT_NORMAL,
                          .row = p->n,
                          .mu = is_contact ? c->mu : 0.0,
                          .cone = c->cone,
                          .directions = c->directions};
        u->rows = u->kind == PERPI_UNIT_NORMAL ? 1 : c->rows;
        for (int32_t r = 0; r < u->rows; ++r) {
            dense_row(f, c, r, 1.0, row + (size_t)(p->n + r) * dofs);
            rate[p->n + r] = is_contact ? x->rate[3 * i + r] : *joint_rate++;
        }
        p->n += u->rows;
    }
    /* columns: accelerations by a unit force, friction of sliding included */
    int32_t at = 0;
    for (int32_t i = 0; status == PERP_OK && i < f->problem.constraint_count; ++i) {
        const perp_constraint* c = &f->constraint[i];
        const bool is_contact = i < f->contact_count;
        if (is_contact && x->mode[i] < 0) {
            continue;
        }
        const int32_t rows = is_contact && x->mode[i] != 1 ? 1 : c->rows;
        for (int32_t r = 0; r < rows; ++r, ++at) {
            memset(column, 0, dofs * sizeof *column);
            dense_row(f, c, r, 1.0, column);
            for (int32_t k = 1; is_contact && x->mode[i] == 2 && k < c->rows; ++k) {
                dense_row(f, c, k, x->against[i][k - 1], column);
            }
            divide_by_mass(f, column);
            for (int32_t k = 0; k < p->n; ++k) {
                p->W[k * p->n + at] = perpi_dot((int32_t)dofs, row + (size_t)k * dofs, column);
            }
            for (size_t k = 0; k < dofs; ++k) {
                p->B[k * (size_t)p->n + (size_t)at] = column[k];
            }
        }
    }
    for (int32_t k = 0; status == PERP_OK && k < p->n; ++k) {
        p->q[k] = perpi_dot((int32_t)dofs, row + (size_t)k * dofs, x->g) + rate[k];
    }
    perpi_free(context, row);
    perpi_free(context, column);
    perpi_free(context, rate);
    return status;
}

/* ---- the answer ------------------------------------------------------------------------------------*/

static void write_bodies(finder* x)
{
    const perpi_formulation* f = x->f;
    const perpi_force_problem* p = &x->problem;
    for (int32_t i = 0; i < (int32_t)x->model->body_count; ++i) {
        const int32_t n = x->model->body[i].dofs;
        perp_body_acceleration* a = &x->out->body[i];
        for (int32_t k = 0; k < n; ++k) {
            const size_t d = (size_t)(f->dof[f->block_of[i]] + k);
            const double value = x->g[d] + perpi_dot(p->n, p->B + d * (size_t)p->n, x->z);
            if (k < x->model->dimension) {
                a->linear[k] = value;
            } else {
                a->angular[x->model->dimension == 2 ? 2 : k - 3] = value;
            }
        }
    }
}

static void write_contacts(finder* x)
{
    const perpi_force_problem* p = &x->problem;
    const int32_t tangents = x->model->dimension - 1;
    int32_t u = 0;
    for (size_t i = 0; i < x->contacts.count; ++i) {
        const perp_contact* c = &x->contacts.item[i];
        perp_contact_force* out = &x->out->contact[i];
        double force[3] = {0}, accel[3] = {0};
        *out = (perp_contact_force){.body_a = c->body_a,
                                    .body_b = c->body_b,
                                    .gap = c->gap,
                                    .mu = c->cone == PERP_CONE_NONE ? 0.0 : c->mu};
        memcpy(out->point, c->point, sizeof out->point);
        memcpy(out->normal, c->normal, sizeof out->normal);
        memcpy(out->tangent, c->tangent, sizeof out->tangent);
        memcpy(out->speed, x->slip[i], sizeof out->speed);
        if (x->mode[i] >= 0 && p->units > 0) {
            const perpi_unit* unit = &p->unit[u++];
            for (int32_t k = 0; k < unit->rows; ++k) {
                force[k] = x->z[unit->row + k];
            }
            for (int32_t k = 0; x->mode[i] == 2 && k < tangents; ++k) {
                force[1 + k] = x->against[i][k] * force[0];
            }
        }
        /* the rows of all contacts, also of those that took no part */
        const perp_constraint* row = &x->f->constraint[i];
        const vec3 n = v3_from(c->normal), t = v3_from(c->tangent);
        const vec3 direction[3] = {n, t, v3_cross(n, t)};
        const vec3 on_a = v3_from(c->point);
        const vec3 point[2] = {on_a, v3_madd(on_a, c->gap, n)};
        (void)row;
        for (int32_t k = 0; k <= tangents; ++k) {
            accel[k] = x->rate[3 * i + (size_t)k];
            for (int side = 0; side < 2; ++side) {
                const int32_t b = side == 0 ? c->body_a : c->body_b;
                const perp_body_acceleration* a = &x->out->body[b];
                const vec3 at =
                    v3_add(v3_from(a->linear),
                           v3_cross(v3_from(a->angular), v3_sub(point[side], x->f->pose[b].x)));
                accel[k] += (side == 0 ? -1.0 : 1.0) * v3_dot(direction[k], at);
            }
        }
        memcpy(out->force, force, sizeof force);
        memcpy(out->acceleration, accel, sizeof accel);
        double biggest = fabs(accel[0]);
        for (size_t b = 0; b < x->model->body_count; ++b) {
            biggest = fmax(biggest, v3_norm(v3_from(x->out->body[b].linear)));
            biggest = fmax(
                biggest, v3_norm(v3_scale(
                             1.0 / (x->model->body[b].dofs > 0 ? x->model->body[b].mass : INFINITY),
                             v3_from(force))));
        }
        const double slipping = hypot(accel[1], accel[2]);
        out->mode = x->mode[i] < 0 || !(force[0] > 0.0) ? PERP_MODE_SEPARATING
                    : x->mode[i] == 2                   ? PERP_MODE_SLIDING
                    : slipping > 1e-7 * biggest         ? PERP_MODE_SLIDING
                                                        : PERP_MODE_ROLLING;
    }
}

static void write_joints(finder* x)
{
    const perpi_force_problem* p = &x->problem;
    for (int32_t u = 0; u < p->units; ++u) {
        const int32_t first = p->units - x->f->joint_count;
        if (u >= first) {
            const int32_t joint = x->f->place[u - first].joint;
            for (int32_t k = 0; k < p->unit[u].rows && k < 6; ++k) {
                x->out->joint[joint][k] = x->z[p->unit[u].row + k];
            }
        }
    }
}

static void describe_existence(finder* x)
{
    perp_forces* f = &x->out->public;
    static const char* const text[] = {
        "one solution",
        "several solutions (Painleve): the laws allow more than one set of accelerations",
        ("no solution (Painleve): no finite forces satisfy the laws; what happens is an "
         "impact without a collision, which 'perp run' simulates"),
        "a solution; whether there are others was not decided",
        "no solution was found; whether there is one was not decided",
    };
    if (f->existence != PERP_EXISTENCE_IMPACT) {
        (void)snprintf(f->message, sizeof f->message, "%s", text[f->existence]);
    }
}

static perp_status allocate_forces(finder* x)
{
    perp_sim* sim = x->sim;
    perp_context* context = sim->context;
    const perp_model* model = x->model;
    perp_status status = perpi_alloc(context, (size_t)sim->work.q_size, sizeof(double), &x->q);
    if (status == PERP_OK) {
        status = perpi_alloc(context, (size_t)sim->work.v_size, sizeof(double), &x->v);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(context, model->body_count, sizeof(double), &x->margin);
    }
    if (status != PERP_OK) {
        return status;
    }
    /* closed contacts first; then a larger margin, for the neighbouring times */
    const double size = perpi_scene_size(sim->model);
    for (size_t i = 0; i < model->body_count; ++i) {
        x->margin[i] = 0.5 * CLOSED_GAP * size;
    }
    x->contacts.context = x->moved.context = context;
    memcpy(x->q, sim->state.q, (size_t)sim->work.q_size * sizeof *x->q);
    status = collide(x, 0.0, &x->contacts);
    for (size_t i = 0; i < model->body_count; ++i) {
        x->margin[i] = 4.0 * NEIGHBOUR * size + CLOSED_GAP * size;
    }
    const size_t n = x->contacts.count;
    if (status == PERP_OK) {
        status = perpi_alloc(context, 3 * n + 6 * model->joint_count + 1, sizeof(double), &x->rate);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(context, n, sizeof *x->mode, &x->mode);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(context, n, sizeof *x->slip, &x->slip);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(context, n, sizeof *x->against, &x->against);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(context, n, sizeof *x->out->contact, &x->out->contact);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(context, model->body_count, sizeof *x->out->body, &x->out->body);
    }
    if (status == PERP_OK) {
        status =
            perpi_alloc(context, model->joint_count + 1, sizeof *x->out->joint, &x->out->joint);
    }
    if (status == PERP_OK) {
        status = perpi_formulation_create(context, &x->f);
    }
    if (status == PERP_OK) {
        static const perpi_filter filter = {0};
        perpi_step_bind(&sim->work, &sim->state, 1.0, &filter, &sim->trial);
        perpi_joint_inputs(&sim->work);
        status = perpi_formulate_other(x->f, model, PERPI_PURPOSE_IMPACT, 1.0,
                                       &(perpi_placed){sim->state.q, sim->state.v, x->contacts.item,
                                                       (int32_t)n, sim->work.input});
    }
    if (status == PERP_OK) {
        status = perpi_alloc(context, (size_t)x->f->problem.dof_count, sizeof(double), &x->g);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(context, (size_t)x->f->problem.row_count, sizeof(double), &x->z);
    }
    return status;
}

static perp_status solve_forces(finder* x)
{
    perp_forces* f = &x->out->public;
    perp_status status = refuse(x);
    if (status == PERP_OK) {
        status = allocate_forces(x);
    }
    if (status == PERP_OK) {
        status = free_accelerations(x);
    }
    if (status == PERP_OK) {
        status = differentiate(x);
    }
    if (status != PERP_OK) {
        return status;
    }
    if (!sort_contacts(x)) {
        f->existence = PERP_EXISTENCE_IMPACT;
        f->residual = INFINITY;
    } else {
        status = build_problem(x);
        if (status == PERP_OK) {
            status =
                perpi_forces_solve(&x->problem, x->z, &f->existence, &f->solutions, &f->residual);
        }
    }
    if (status == PERP_OK) {
        write_bodies(x);
        write_contacts(x);
        write_joints(x);
        describe_existence(x);
    }
    return status;
}

perp_status perp_forces_find(perp_sim* sim, perp_forces** result)
{
    perp_context* context = sim->context;
    forces* out = NULL;
    perp_status status = perpi_alloc(context, 1, sizeof *out, &out);
    if (status != PERP_OK) {
        return status;
    }
    out->context = context;
    finder x = {.sim = sim, .model = sim->model, .out = out};
    status = solve_forces(&x);
    void* const owned[] = {x.q,          x.v,         x.margin,    x.rate,      x.g,
                           x.z,          x.mode,      x.slip,      x.against,   x.contacts.item,
                           x.moved.item, x.problem.W, x.problem.q, x.problem.B, x.problem.unit};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; ++i) {
        perpi_free(context, owned[i]);
    }
    perpi_formulation_destroy(x.f);
    perpi_step_poses(&sim->work, sim->state.q);
    if (status != PERP_OK) {
        perp_forces_destroy(&out->public);
        return status;
    }
    out->public.contact_count = (int32_t)x.contacts.count;
    out->public.contact = out->contact;
    out->public.body_count = (int32_t)sim->model->body_count;
    out->public.body = out->body;
    out->public.joint_count = (int32_t)sim->model->joint_count;
    out->public.joint = (const double(*)[6])out->joint;
    *result = &out->public;
    return PERP_OK;
}
