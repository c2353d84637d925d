/* src/step/linear_state.c - the state before and after a linearised step: see linear_parts.h. */
#include <string.h>

#include "step/joint_rows.h"
#include "step/linear_parts.h"

/* ---- the change of the residual by the state -------------------------------------------------------*/

/* Where the displacement of column c of a constraint's two bodies stands in x; -1: nowhere. */
int32_t perpi_linear_place(const perpi_linear_step* l, const int32_t body[2], int32_t c)
{
    const int32_t side = c / 6, k = c % 6;
    if (body[side] < 0) {
        return -1;
    }
    return l->step.in.model->dimension == 2 ? 3 * body[side] + (k == 5 ? 2 : k)
                                            : 6 * body[side] + k;
}

/* Where the impulse k of a side stands among the velocities of the problem; -1: nowhere. */
int32_t perpi_linear_dof(const perpi_linear_step* l, const int32_t body[2], int32_t k)
{
    const int32_t b = body[k / 6], j = k % 6;
    const int32_t block = b >= 0 ? l->f->block_of[b] : -1;
    if (block < 0) {
        return -1;
    }
    const int32_t n = l->f->dof[block + 1] - l->f->dof[block];
    const int32_t i = l->step.in.model->dimension == 2 ? (j == 5 ? 2 : j < 2 ? j : -1) : j;
    return i >= 0 && i < n ? l->f->dof[block] + i : -1;
}

static vec3 read_turn(const perpi_linear_step* l, const double* x, int32_t body)
{
    return l->step.in.model->dimension == 2 ? v3(0, 0, x[3 * body + 2])
                                            : v3_from(x + 6 * (size_t)body + 3);
}

void perpi_linear_add_turn(const perpi_linear_step* l, double* x, int32_t body, vec3 add)
{
    if (l->step.in.model->dimension == 2) {
        x[3 * body + 2] += add.z;
        return;
    }
    double* to = x + 6 * (size_t)body + 3;
    v3_to(v3_add(v3_from(to), add), to);
}

static vec3 read_place(const perpi_linear_step* l, const double* x, int32_t body)
{
    return l->step.in.model->dimension == 2 ? v3(x[3 * body], x[3 * body + 1], 0.0)
                                            : v3_from(x + 6 * (size_t)body);
}

void perpi_linear_add_place(const perpi_linear_step* l, double* x, int32_t body, vec3 add)
{
    const int32_t n = l->step.in.model->dimension;
    for (int32_t k = 0; k < n; ++k) {
        x[(n == 2 ? 3 : 6) * body + k] += v3_get(add, k);
    }
}

/* Angular impulses of explicit springs act through the velocity-product term. */
static const perpi_linear_body* spun(const perpi_linear_step* l, int32_t force, int32_t body)
{
    if (!l->force_spring[force] || body < 0 || l->f->block_of[body] < 0) {
        return NULL;
    }
    const perpi_linear_body* b = &l->body[l->f->block_of[body]];
    return b->unround ? b : NULL;
}

/* The rows of a block of the problem as linear and angular parts. */
static vec3 block_turn(const perpi_linear_step* l, const perpi_linear_body* b, const double* x)
{
    const double* at = x + l->f->dof[b->block];
    return !b->turns                          ? v3(0, 0, 0)
           : l->step.in.model->dimension == 2 ? v3(0, 0, at[2])
                                              : v3_from(at + 3);
}

static void add_block_turn(const perpi_linear_step* l, const perpi_linear_body* b, vec3 add,
                           double* x)
{
    double* at = x + l->f->dof[b->block];
    if (b->turns && l->step.in.model->dimension == 2) {
        at[2] += add.z;
    } else if (b->turns) {
        v3_to(v3_add(v3_from(at + 3), add), at + 3);
    }
}

/* Normal velocity of a contact by velocities laid out as those of the state, and its transpose. */
static double start_speed(const perpi_linear_step* l, int32_t i, const double* dv)
{
    const int32_t stride = perpi_v_stride(l->step.in.model);
    const perp_constraint* c = &l->f->constraint[i];
    const int32_t body[2] = {l->step.in.contact[i].body_a, l->step.in.contact[i].body_b};
    const double* J = l->f->J + c->jac;
    double u = 0.0;
    for (int side = 0; side < 2; ++side) {
        const int32_t block = c->block[side];
        const int32_t n = block >= 0 ? l->f->dof[block + 1] - l->f->dof[block] : 0;
        for (int32_t k = 0; k < n; ++k) {
            u += J[k] * dv[stride * body[side] + k];
        }
        J += c->rows * n;
    }
    return u;
}

static void add_start_speed(const perpi_linear_step* l, int32_t i, double weight, double* yv)
{
    const int32_t stride = perpi_v_stride(l->step.in.model);
    const perp_constraint* c = &l->f->constraint[i];
    const int32_t body[2] = {l->step.in.contact[i].body_a, l->step.in.contact[i].body_b};
    const double* J = l->f->J + c->jac;
    for (int side = 0; side < 2; ++side) {
        const int32_t block = c->block[side];
        const int32_t n = block >= 0 ? l->f->dof[block + 1] - l->f->dof[block] : 0;
        for (int32_t k = 0; k < n; ++k) {
            yv[stride * body[side] + k] += weight * J[k];
        }
        J += c->rows * n;
    }
}

/* Efforts of joints and explicit springs. */
static void add_forces(const perpi_linear_step* l, const double* dq, const double* dv, double* r_v)
{
    for (int32_t i = 0; i < l->force_count; ++i) {
        const perpi_constraint_derivative* d = &l->force[i];
        const double* rate = l->force_rate + 144 * (size_t)i;
        double impulse[PERPI_PAIR_DOFS] = {0};
        for (int32_t k = 0; k < l->columns.count; ++k) {
            const int32_t column = l->columns.item[k],
                          place = perpi_linear_place(l, d->body, column);
            for (int32_t a = 0; place >= 0 && a < PERPI_PAIR_DOFS; ++a) {
                impulse[a] += d->impulse[a][column] * dq[place];
                impulse[a] += l->force_spring[i] ? rate[12 * a + column] * dv[place] : 0.0;
            }
        }
        for (int side = 0; side < 2; ++side) {
            const perpi_linear_body* b = spun(l, i, d->body[side]);
            if (b != NULL) {
                v3_to(m3_mul(b->spin_torque, v3_from(impulse + 6 * side + 3)),
                      impulse + 6 * side + 3);
            }
        }
        for (int32_t a = 0; a < l->columns.count; ++a) {
            const int32_t dof = perpi_linear_dof(l, d->body, l->columns.item[a]);
            if (dof >= 0) {
                r_v[dof] += impulse[l->columns.item[a]];
            }
        }
    }
}

static void add_forces_adjoint(const perpi_linear_step* l, const double* m_v, double* yq,
                               double* yv)
{
    for (int32_t i = 0; i < l->force_count; ++i) {
        const perpi_constraint_derivative* d = &l->force[i];
        const double* rate = l->force_rate + 144 * (size_t)i;
        double m[PERPI_PAIR_DOFS] = {0};
        for (int32_t a = 0; a < l->columns.count; ++a) {
            const int32_t dof = perpi_linear_dof(l, d->body, l->columns.item[a]);
            m[l->columns.item[a]] = dof >= 0 ? m_v[dof] : 0.0;
        }
        for (int side = 0; side < 2; ++side) {
            const perpi_linear_body* b = spun(l, i, d->body[side]);
            if (b != NULL) {
                v3_to(m3_tmul(b->spin_torque, v3_from(m + 6 * side + 3)), m + 6 * side + 3);
            }
        }
        for (int32_t k = 0; k < l->columns.count; ++k) {
            const int32_t column = l->columns.item[k],
                          place = perpi_linear_place(l, d->body, column);
            for (int32_t a = 0; place >= 0 && a < PERPI_PAIR_DOFS; ++a) {
                yq[place] += d->impulse[a][column] * m[a];
                yv[place] += l->force_spring[i] ? rate[12 * a + column] * m[a] : 0.0;
            }
        }
    }
}

/* The slip of a rolling contact by the impulse of the step before. */
static void add_push(const perpi_linear_step* l, int32_t constraint, double* r_u)
{
    const perpi_constraint_derivative* d = &l->d[l->d_of[constraint]];
    const perp_constraint* c = &l->f->constraint[constraint];
    if (d->rolling != PERPI_ROLLING_BETWEEN || l->memory_before == NULL) {
        return;
    }
    const double* dp = l->memory_before + 3 * (size_t)d->contact_before;
    for (int32_t r = 1; r < 3 && r < c->rows; ++r) {
        for (int k = 0; k < 3; ++k) {
            r_u[c->row + r] += d->push[r - 1][k] * dp[k];
        }
    }
}

static void add_push_adjoint(const perpi_linear_step* l, int32_t constraint, const double* m_u)
{
    const perpi_constraint_derivative* d = &l->d[l->d_of[constraint]];
    const perp_constraint* c = &l->f->constraint[constraint];
    if (d->rolling != PERPI_ROLLING_BETWEEN || l->memory_before == NULL) {
        return;
    }
    double* y = l->memory_before + 3 * (size_t)d->contact_before;
    for (int32_t r = 1; r < 3 && r < c->rows; ++r) {
        for (int k = 0; k < 3; ++k) {
            y[k] += d->push[r - 1][k] * m_u[c->row + r];
        }
    }
}

/* What constraint i adds to r_v and r_u. */
static void add_constraint(const perpi_linear_step* l, int32_t i, const double* dx, double* r_v,
                           double* r_u)
{
    const perpi_linear_size at = perpi_linear_size_of(l->step.in.model);
    const double *dq = dx + at.q, *dv = dx + at.v;
    const perp_constraint* c = &l->f->constraint[i];
    const perpi_constraint_derivative* d = &l->d[l->d_of[i]];
    add_push(l, i, r_u);
    double impulse[PERPI_PAIR_DOFS] = {0};
    bool pushes = false;
    for (int32_t k = 0; k < l->columns.count; ++k) {
        const int32_t column = l->columns.item[k], place = perpi_linear_place(l, d->body, column);
        const double x = place >= 0 ? dq[place] : 0.0;
        for (int32_t r = 1; d->rolling != PERPI_ROLLING_NONE && place >= 0 && r < 3 && r < c->rows;
             ++r) {
            r_u[c->row + r] += d->rate[r - 1][column] * dv[place] +
                               d->before[r - 1][column] * dx[at.before + place];
        }
        if (d->shifted && place >= 0) {
            r_u[c->row] += d->shift[column] * dx[at.offset + place];
        }
        if (x == 0.0) {
            continue;
        }
        pushes = true;
        for (int32_t r = 0; r < c->rows; ++r) {
            r_u[c->row + r] += d->u[r][column] * x;
        }
        for (int32_t a = 0; a < PERPI_PAIR_DOFS; ++a) {
            impulse[a] += d->impulse[a][column] * x;
        }
    }
    for (int32_t a = 0; pushes && a < l->columns.count; ++a) {
        const int32_t dof = perpi_linear_dof(l, d->body, l->columns.item[a]);
        if (dof >= 0) {
            r_v[dof] += impulse[l->columns.item[a]];
        }
    }
}

/* r_v and r_u of a displacement of the state. */
void perpi_linear_residual(const perpi_linear_step* l, const double* dx, double* r_v, double* r_u)
{
    const perp_model* model = l->step.in.model;
    const perpi_linear_size at = perpi_linear_size_of(model);
    const double *dq = dx + at.q, *dv = dx + at.v, *ds = dx + at.s;
    for (int32_t i = 0; i < l->body_count; ++i) {
        const perpi_linear_body* b = &l->body[i];
        const vec3 turn = read_turn(l, dq, b->body);
        const vec3 linear =
            v3_add(v3_scale(b->mass, read_place(l, dv, b->body)), m3_mul(b->force_turn, turn));
        for (int32_t k = 0; k < model->dimension; ++k) {
            r_v[l->f->dof[b->block] + k] += v3_get(linear, k);
        }
        vec3 angular = m3_mul(b->spin_rate, read_turn(l, dv, b->body));
        angular = v3_add(angular, m3_mul(b->spin_turn, turn));
        angular = v3_add(angular, m3_mul(b->spin_torque, m3_mul(b->torque_turn, turn)));
        angular = v3_sub(angular, m3_mul(b->M_turn, turn));
        add_block_turn(l, b, angular, r_v);
    }
    for (int32_t i = 0; i < l->f->constraints; ++i) {
        if (l->d_of[i] >= 0) {
            add_constraint(l, i, dx, r_v, r_u);
        }
    }
    const int32_t controllers = l->step.impact ? 0 : (int32_t)model->controller_count;
    for (int32_t i = 0; i < controllers; ++i) {
        const int32_t c = l->f->constraints - controllers + i;
        if (l->d_of[c] >= 0) {
            r_u[l->f->constraint[c].row] += l->d[l->d_of[c]].integral * ds[i];
        }
    }
    perpi_linear_terms(l, dx, r_v, r_u);
    perpi_linear_given_residual(l, dv, r_u);
    perpi_linear_roll_residual(l, dv, r_u);
    if (l->met) {
        perpi_linear_meeting_residual(l, dx, r_u);
        return;
    }
    for (int32_t i = 0; l->step.impact && i < l->f->contact_count; ++i) { /* e u-, by velocities */
        if (l->rebound[i] != 0.0) {
            r_u[l->f->constraint[i].row] += l->rebound[i] * start_speed(l, i, dv);
        }
    }
    add_forces(l, dq, dv, r_v);
}

/* Its transpose: y += by the multipliers m_v and m_u. */
void perpi_linear_residual_adjoint(const perpi_linear_step* l, const double* m_v, const double* m_u,
                                   double* y)
{
    const perp_model* model = l->step.in.model;
    const perpi_linear_size at = perpi_linear_size_of(model);
    double *yq = y + at.q, *yv = y + at.v, *ys = y + at.s;
    for (int32_t i = 0; i < l->body_count; ++i) {
        const perpi_linear_body* b = &l->body[i];
        const double* m = m_v + l->f->dof[b->block];
        const vec3 linear = v3(m[0], m[1], model->dimension == 3 ? m[2] : 0.0);
        const vec3 angular = block_turn(l, b, m_v);
        perpi_linear_add_place(l, yv, b->body, v3_scale(b->mass, linear));
        if (!b->turns) {
            continue;
        }
        perpi_linear_add_turn(l, yv, b->body, m3_tmul(b->spin_rate, angular));
        vec3 turn = m3_tmul(b->force_turn, linear);
        turn = v3_add(turn, m3_tmul(b->spin_turn, angular));
        turn = v3_add(turn, m3_tmul(b->torque_turn, m3_tmul(b->spin_torque, angular)));
        turn = v3_sub(turn, m3_tmul(b->M_turn, angular));
        perpi_linear_add_turn(l, yq, b->body, turn);
    }
    for (int32_t i = 0; i < l->f->constraints; ++i) {
        if (l->d_of[i] < 0) {
            continue;
        }
        const perp_constraint* c = &l->f->constraint[i];
        const perpi_constraint_derivative* d = &l->d[l->d_of[i]];
        add_push_adjoint(l, i, m_u);
        double m[PERPI_PAIR_DOFS];
        for (int32_t a = 0; a < l->columns.count; ++a) {
            const int32_t dof = perpi_linear_dof(l, d->body, l->columns.item[a]);
            m[l->columns.item[a]] = dof >= 0 ? m_v[dof] : 0.0;
        }
        for (int32_t k = 0; k < l->columns.count; ++k) {
            const int32_t column = l->columns.item[k],
                          place = perpi_linear_place(l, d->body, column);
            double sum = 0.0;
            for (int32_t r = 0; r < c->rows; ++r) {
                sum += d->u[r][column] * m_u[c->row + r];
            }
            for (int32_t a = 0; a < l->columns.count; ++a) {
                sum += d->impulse[l->columns.item[a]][column] * m[l->columns.item[a]];
            }
            if (place >= 0) {
                yq[place] += sum;
            }
            if (d->shifted && place >= 0) {
                y[at.offset + place] += d->shift[column] * m_u[c->row];
            }
            for (int32_t r = 1;
                 d->rolling != PERPI_ROLLING_NONE && place >= 0 && r < 3 && r < c->rows; ++r) {
                yv[place] += d->rate[r - 1][column] * m_u[c->row + r];
                y[at.before + place] += d->before[r - 1][column] * m_u[c->row + r];
            }
        }
    }
    const int32_t controllers = l->step.impact ? 0 : (int32_t)model->controller_count;
    for (int32_t i = 0; i < controllers; ++i) {
        const int32_t c = l->f->constraints - controllers + i;
        if (l->d_of[c] >= 0) {
            ys[i] += l->d[l->d_of[c]].integral * m_u[l->f->constraint[c].row];
        }
    }
    perpi_linear_terms_adjoint(l, m_v, m_u, y);
    perpi_linear_given_residual_adjoint(l, m_u, yv);
    perpi_linear_roll_residual_adjoint(l, m_u, yv);
    if (l->met) {
        perpi_linear_meeting_residual_adjoint(l, m_u, y);
        return;
    }
    for (int32_t i = 0; l->step.impact && i < l->f->contact_count; ++i) {
        if (l->rebound[i] != 0.0) {
            add_start_speed(l, i, l->rebound[i] * m_u[l->f->constraint[i].row], yv);
        }
    }
    add_forces_adjoint(l, m_v, yq, yv);
}

/* ---- the state after the step ----------------------------------------------------------------------*/

/* Error of a controller at the end of the step counts in its integral unless its effort is at the limit. */
static bool integrates(const perpi_linear_step* l, int32_t controller)
{
    const perp_model* model = l->step.in.model;
    const perpi_controller* c = &model->controller[controller];
    const int32_t at = l->f->constraints - (int32_t)model->controller_count + controller;
    const perp_constraint* row = &l->f->constraint[at];
    const double h = l->step.in.h, p = l->p[row->row], limit = h * c->max_effort;
    double rate[PERPI_LAW_ROWS];
    perpi_linear_speeds(l, at, false, l->v, rate);
    const double error =
        l->f->error[2 * controller] - h * (rate[0] + l->f->error[2 * controller + 1]);
    return !(fabs(p) >= limit * (1.0 - 1e-9) && p * error > 0.0);
}

/* The derivative of the error at the start, -x of the coordinate, and of the rate, as one row: d e'
 * = -dx - h d rate. Of d->u the part by b is slope dx: the rate is u without it. */
static double controller_slope(const perpi_linear_step* l, int32_t controller)
{
    const perp_model* model = l->step.in.model;
    const perpi_controller* c = &model->controller[controller];
    const int32_t at = l->f->constraints - (int32_t)model->controller_count + controller;
    const double h = l->step.in.h, compliance = l->f->compliance[l->f->constraint[at].row];
    return h * compliance * (c->kp + h * c->ki);
}

/* Coordinate of a controller by the displacements of its two bodies. */
static void controller_coordinate(const perpi_linear_step* l, int32_t controller,
                                  double out[PERPI_PAIR_DOFS], int32_t body[2])
{
    const perp_model* model = l->step.in.model;
    const perpi_controller* c = &model->controller[controller];
    memset(out, 0, PERPI_PAIR_DOFS * sizeof *out);
    if (c->joint < 0) {
        body[0] = -1;
        body[1] = c->body;
        v3_to(c->axis, out + 6);
        return;
    }
    perpi_joint_change change[PERPI_PAIR_DOFS];
    perpi_joint_differentiate(model, c->joint, l->step.in.q, l->columns.item, l->columns.count,
                              change);
    body[0] = model->joint[c->joint].body[0];
    body[1] = model->joint[c->joint].body[1];
    for (int32_t k = 0; k < l->columns.count; ++k) {
        out[l->columns.item[k]] = change[k].coordinate[0].b;
    }
}

/* Prescribed bodies whose pose at the end follows from that at the start. */
static bool keeps_displacement(const perpi_body* body)
{
    return body->type != PERP_BODY_KINEMATIC || !perpi_motion_has_pose(&body->motion);
}

static mat3 prescribed_turn(const perpi_linear_step* l, int32_t i)
{
    return l->step.impact ? m3_identity()
                          : q4_matrix(q4_exp(v3_scale(l->step.in.h, l->f->given_w[i])));
}

/* Torques of explicit springs in the momentum that is carried. */
static void carry_forces(const perpi_linear_step* l, const double* dq, const double* dv, double* nv)
{
    for (int32_t i = 0; i < l->force_count && l->step.carries; ++i) {
        const perpi_constraint_derivative* d = &l->force[i];
        const double* rate = l->force_rate + 144 * (size_t)i;
        for (int side = 0; side < 2; ++side) {
            const perpi_linear_body* b = spun(l, i, d->body[side]);
            double torque[3] = {0};
            for (int32_t k = 0; b != NULL && k < l->columns.count; ++k) {
                const int32_t column = l->columns.item[k],
                              place = perpi_linear_place(l, d->body, column);
                for (int a = 0; place >= 0 && a < 3; ++a) {
                    torque[a] += d->impulse[6 * side + 3 + a][column] * dq[place] +
                                 rate[12 * (6 * side + 3 + a) + column] * dv[place];
                }
            }
            if (b != NULL) {
                perpi_linear_add_turn(l, nv, b->body,
                                      m3_mul(b->carry, m3_mul(b->L_torque, v3_from(torque))));
            }
        }
    }
}

static void carry_forces_adjoint(const perpi_linear_step* l, const double* nv, double* yq,
                                 double* yv)
{
    for (int32_t i = 0; i < l->force_count && l->step.carries; ++i) {
        const perpi_constraint_derivative* d = &l->force[i];
        const double* by = l->force_rate + 144 * (size_t)i;
        for (int side = 0; side < 2; ++side) {
            const perpi_linear_body* b = spun(l, i, d->body[side]);
            if (b == NULL) {
                continue;
            }
            const vec3 torque = m3_tmul(b->L_torque, m3_tmul(b->carry, read_turn(l, nv, b->body)));
            for (int32_t k = 0; k < l->columns.count; ++k) {
                const int32_t column = l->columns.item[k],
                              place = perpi_linear_place(l, d->body, column);
                for (int a = 0; place >= 0 && a < 3; ++a) {
                    yq[place] += d->impulse[6 * side + 3 + a][column] * v3_get(torque, a);
                    yv[place] += by[12 * (6 * side + 3 + a) + column] * v3_get(torque, a);
                }
            }
        }
    }
}

/* Integrals of controllers after the step, and the transpose. */
static void advance_integrals(const perpi_linear_step* l, const double* dx,
                              const double* dv_problem, double* next)
{
    const perp_model* model = l->step.in.model;
    const perpi_linear_size at = perpi_linear_size_of(model);
    const double* dq = dx + at.q;
    const double h = l->step.impact ? 0.0 : l->step.in.h;
    for (int32_t i = 0; i < (int32_t)model->controller_count; ++i) {
        next[at.s + i] = dx[at.s + i];
        if (l->step.impact || !integrates(l, i)) {
            continue;
        }
        /* d I' = d I + h d e', d e' = -dx - h d(J v') = -dx - h (J dv' + du - slope dx) */
        const int32_t c = l->f->constraints - (int32_t)model->controller_count + i;
        const perpi_constraint_derivative* d = l->d_of[c] >= 0 ? &l->d[l->d_of[c]] : NULL;
        double coordinate[PERPI_PAIR_DOFS], rate[PERPI_LAW_ROWS];
        int32_t body[2];
        controller_coordinate(l, i, coordinate, body);
        perpi_linear_speeds(l, c, false, dv_problem, rate);
        double error = -h * rate[0];
        for (int32_t k = 0; k < l->columns.count; ++k) {
            const int32_t column = l->columns.item[k], place = perpi_linear_place(l, body, column);
            if (place >= 0) {
                const double u = d != NULL ? d->u[0][column] : 0.0;
                const double slope = d != NULL ? controller_slope(l, i) : 0.0;
                error -= (coordinate[column] * (1.0 - h * slope) + h * u) * dq[place];
            }
        }
        next[at.s + i] += h * error;
    }
}

static void advance_integrals_adjoint(const perpi_linear_step* l, const double* y_next, double* y,
                                      double* m)
{
    const perp_model* model = l->step.in.model;
    const perpi_linear_size at = perpi_linear_size_of(model);
    double* yq = y + at.q;
    const double h = l->step.impact ? 0.0 : l->step.in.h;
    for (int32_t i = 0; i < (int32_t)model->controller_count; ++i) {
        const double s = y_next[at.s + i];
        y[at.s + i] += s;
        if (l->step.impact || !integrates(l, i)) {
            continue;
        }
        const int32_t c = l->f->constraints - (int32_t)model->controller_count + i;
        const perpi_constraint_derivative* d = l->d_of[c] >= 0 ? &l->d[l->d_of[c]] : NULL;
        double coordinate[PERPI_PAIR_DOFS];
        const double rate[PERPI_LAW_ROWS] = {-h * h * s};
        int32_t body[2];
        controller_coordinate(l, i, coordinate, body);
        perpi_linear_add_rows(l, c, false, rate, m);
        for (int32_t k = 0; k < l->columns.count; ++k) {
            const int32_t column = l->columns.item[k], place = perpi_linear_place(l, body, column);
            if (place >= 0) {
                const double u = d != NULL ? d->u[0][column] : 0.0;
                const double slope = d != NULL ? controller_slope(l, i) : 0.0;
                yq[place] -= h * s * (coordinate[column] * (1.0 - h * slope) + h * u);
            }
        }
    }
}

void perpi_linear_advance(const perpi_linear_step* l, const double* dx, const double* dv_problem,
                          double* next)
{
    const perp_model* model = l->step.in.model;
    const perpi_linear_size at = perpi_linear_size_of(model);
    const double *dq = dx + at.q, *dv = dx + at.v;
    double *nq = next + at.q, *nv = next + at.v;
    const double h = l->step.impact ? 0.0 : l->step.in.h;
    const bool shifted = !l->step.impact && l->step.offset != NULL;
    const double gain = l->step.middle ? 2.0 : 1.0; /* v' = 2 v* - v */
    memset(next, 0, (size_t)at.total * sizeof *next);
    for (int32_t i = 0; i < (int32_t)model->body_count; ++i) {
        const perpi_body* body = &model->body[i];
        if (body->dofs > 0 || (!l->step.impact && !keeps_displacement(body))) {
            continue;
        }
        perpi_linear_add_place(l, nq, i, read_place(l, dq, i));
        perpi_linear_add_turn(l, nq, i, m3_mul(prescribed_turn(l, i), read_turn(l, dq, i)));
    }
    for (int32_t i = 0; i < l->body_count; ++i) {
        const perpi_linear_body* b = &l->body[i];
        const double* w = dv_problem + l->f->dof[b->block];
        const vec3 linear = v3(w[0], w[1], model->dimension == 3 ? w[2] : 0.0);
        const vec3 rate = block_turn(l, b, dv_problem), turn = read_turn(l, dq, b->body);
        perpi_linear_add_place(l, nq, b->body, v3_madd(read_place(l, dq, b->body), h, linear));
        perpi_linear_add_place(l, nv, b->body, v3_scale(gain, linear));
        if (l->step.middle) {
            perpi_linear_add_place(l, nv, b->body, v3_neg(read_place(l, dv, b->body)));
        }
        if (shifted) {
            perpi_linear_add_place(l, nq, b->body, read_place(l, dx + at.offset, b->body));
        }
        if (!b->turns) {
            perpi_linear_add_turn(l, nq, b->body, turn);
            continue;
        }
        vec3 turned = v3_add(m3_mul(b->turn_turn, turn), m3_mul(b->turn_rate, rate));
        if (shifted) {
            turned = v3_add(turned, m3_mul(b->turn_offset, read_turn(l, dx + at.offset, b->body)));
        }
        perpi_linear_add_turn(l, nq, b->body, turned);
        if (!b->unround || !l->step.carries) {
            perpi_linear_add_turn(l, nv, b->body, v3_scale(gain, rate));
            if (l->step.middle) {
                perpi_linear_add_turn(l, nv, b->body, v3_neg(read_turn(l, dv, b->body)));
            }
            continue;
        }
        vec3 L = v3_add(m3_mul(b->L_turn, turn), m3_mul(b->L_next, rate));
        L = v3_add(L, m3_mul(b->L_rate, read_turn(l, dv, b->body)));
        L = v3_add(L, m3_mul(b->L_torque, m3_mul(b->torque_turn, turn)));
        perpi_linear_add_turn(l, nv, b->body,
                              v3_add(m3_mul(b->carry_turn, turned), m3_mul(b->carry, L)));
    }
    carry_forces(l, dq, dv, nv);
    advance_integrals(l, dx, dv_problem, next);
    memcpy(next + at.before, dq, (size_t)at.n * sizeof *next);
    if (l->met) {
        perpi_linear_offset(l, dx, dv_problem, next);
    }
}

/* Its transpose: y += of the state, m += of the velocities of the problem. */
void perpi_linear_advance_adjoint(const perpi_linear_step* l, const double* y_next, double* y,
                                  double* m)
{
    const perp_model* model = l->step.in.model;
    const perpi_linear_size at = perpi_linear_size_of(model);
    const double *nq = y_next + at.q, *nv = y_next + at.v;
    double *yq = y + at.q, *yv = y + at.v;
    const double h = l->step.impact ? 0.0 : l->step.in.h;
    const bool shifted = !l->step.impact && l->step.offset != NULL;
    const double gain = l->step.middle ? 2.0 : 1.0; /* v' = 2 v* - v */
    for (int32_t i = 0; i < (int32_t)model->body_count; ++i) {
        const perpi_body* body = &model->body[i];
        if (body->dofs > 0 || (!l->step.impact && !keeps_displacement(body))) {
            continue;
        }
        perpi_linear_add_place(l, yq, i, read_place(l, nq, i));
        perpi_linear_add_turn(l, yq, i, m3_tmul(prescribed_turn(l, i), read_turn(l, nq, i)));
    }
    for (int32_t i = 0; i < l->body_count; ++i) {
        const perpi_linear_body* b = &l->body[i];
        const vec3 place = read_place(l, nq, b->body);
        const vec3 linear = v3_madd(v3_scale(gain, read_place(l, nv, b->body)), h, place);
        for (int32_t k = 0; k < model->dimension; ++k) {
            m[l->f->dof[b->block] + k] += v3_get(linear, k);
        }
        perpi_linear_add_place(l, yq, b->body, place);
        if (l->step.middle) {
            perpi_linear_add_place(l, yv, b->body, v3_neg(read_place(l, nv, b->body)));
        }
        if (shifted) {
            perpi_linear_add_place(l, y + at.offset, b->body, place);
        }
        vec3 turned = read_turn(l, nq, b->body);
        const vec3 rate = read_turn(l, nv, b->body);
        if (!b->turns) {
            perpi_linear_add_turn(l, yq, b->body, turned);
            continue;
        }
        if (!b->unround || !l->step.carries) {
            add_block_turn(l, b, v3_scale(gain, rate), m);
            if (l->step.middle) {
                perpi_linear_add_turn(l, yv, b->body, v3_neg(rate));
            }
        } else {
            const vec3 L = m3_tmul(b->carry, rate);
            turned = v3_add(turned, m3_tmul(b->carry_turn, rate));
            add_block_turn(l, b, m3_tmul(b->L_next, L), m);
            perpi_linear_add_turn(l, yv, b->body, m3_tmul(b->L_rate, L));
            perpi_linear_add_turn(l, yq, b->body, m3_tmul(b->L_turn, L));
            perpi_linear_add_turn(l, yq, b->body, m3_tmul(b->torque_turn, m3_tmul(b->L_torque, L)));
        }
        perpi_linear_add_turn(l, yq, b->body, m3_tmul(b->turn_turn, turned));
        if (shifted) {
            perpi_linear_add_turn(l, y + at.offset, b->body, m3_tmul(b->turn_offset, turned));
        }
        add_block_turn(l, b, m3_tmul(b->turn_rate, turned), m);
    }
    carry_forces_adjoint(l, nv, yq, yv);
    advance_integrals_adjoint(l, y_next, y, m);
    for (int32_t i = 0; i < at.n; ++i) {
        yq[i] += y_next[at.before + i];
    }
    if (l->met) {
        perpi_linear_offset_adjoint(l, y_next, y, m);
    }
}
