/* src/step/linear_roll.c - the derivative of a middle step of a rolling body (roll.c): see linear_parts.h.
 *
 * Method     docs/notation.md, "Derivatives of middle steps"
 *
 * The unknowns are v* and p; the body's part is that of linear_middle.c. The contact acts with the
 * geometry of the middle, J_m' p, and its laws hold for speeds s of the end:
 *     s_n = n' . u'/4 + gap'/(2 h),   s_t = t_m . (u' - (n' . u') n')/2,   u' = v' + w' x r'
 * with v' = 2 v* - v, I' w' = 2 I_m w* - L; or, of a body that slides on, s_t = t_m . (v* + w* x r_m).
 * Both depend on the state at the start and on v* through the poses of the middle and of the end, so
 * that the equations become
 *     (M_m + X - d (J_m' p)/dv*) dv* - J_m' dp = r_v,     A (R dv* + r_u) + B dp = g,   R = ds/dv*.
 * The geometry of a contact and its derivatives are those of its frozen features at both poses. Which of the two
 * slips a step had is seen from what it recorded; a speed s that is not the recorded one (the contact of the end
 * has other features) is flagged.
 */
#include <string.h>

#include "base/turn.h"
#include "step/linear_parts.h"

/* Relative: recorded speeds and those of the frozen features. */
static const double SAME = 1e-8;

/* ---- the speeds ------------------------------------------------------------------------------------*/

/* A contact of the middle, its geometry at the end, and the motion of the body. */
typedef struct roll_motion {
    const perp_model* model;
    double h, sign;
    int side; /* of the body */
    int32_t body;
    const perp_contact* contact;
    perpi_contact_geometry end;
    vec3 r, r_end; /* from the centre of the body to its point */
    vec3 v, w, v_end, w_end;
    vec3 now, then, along; /* the speed at the middle and at the end, and its tangential part */
} roll_motion;

static vec3 middle_point(const perp_contact* c, int side)
{
    return side == 0 ? v3_from(c->point) : v3_madd(v3_from(c->point), c->gap, v3_from(c->normal));
}

static int32_t rolling_side(const perp_model* model, const perp_contact* c)
{
    return model->body[c->body_a].dofs > 0 ? 0 : 1;
}

/* The angular velocity at the end: roll.c, rate_at_end. */
static vec3 rate_at_end(const perpi_linear_step* l, const perpi_body* body, int32_t index,
                        const perpi_pose* end, vec3 mean)
{
    const vec3 w = perpi_state_rate(l->step.in.model, l->step.in.v, index);
    if (l->step.in.model->dimension == 2 || perpi_inertia_round(body)) {
        return v3_sub(v3_scale(2.0, mean), w);
    }
    const vec3 L = v3_sub(v3_scale(2.0, m3_mul(perpi_world_inertia(body, &l->f->end[index]), mean)),
                          m3_mul(perpi_world_inertia(body, &l->f->pose[index]), w));
    return m3_mul(end->R, m3_mul(m3_inverse(body->inertia), m3_tmul(end->R, L)));
}

static roll_motion motion_of(const perpi_linear_step* l, const perp_model* model,
                             const perp_contact* c, const perpi_contact_geometry* end)
{
    const int32_t side = rolling_side(model, c), body = side == 0 ? c->body_a : c->body_b;
    const double* v = l->step.v_solved;
    roll_motion m = {.model = model,
                     .h = l->step.in.h,
                     .sign = side == 0 ? -1.0 : 1.0,
                     .side = side,
                     .body = body,
                     .contact = c,
                     .end = *end};
    m.v = perpi_state_velocity(model, v, body);
    m.w = perpi_state_rate(model, v, body);
    m.v_end = v3_sub(v3_scale(2.0, m.v), perpi_state_velocity(model, l->step.in.v, body));
    m.w_end = rate_at_end(l, &model->body[body], body, &l->pose_end[body], m.w);
    m.r = v3_sub(middle_point(c, side), l->f->end[body].x);
    m.r_end = v3_sub(side == 0 ? end->point_a : end->point_b, l->pose_end[body].x);
    m.now = v3_scale(m.sign, v3_add(m.v, v3_cross(m.w, m.r)));
    m.then = v3_scale(m.sign, v3_add(m.v_end, v3_cross(m.w_end, m.r_end)));
    m.along = v3_madd(m.then, -v3_dot(end->normal, m.then), end->normal);
    return m;
}

/* drift of the contact: roll.c, set_drift. */
static void drift_of(const roll_motion* m, bool slides, double drift[3])
{
    const perp_contact* c = m->contact;
    const vec3 n = v3_from(c->normal), t = v3_from(c->tangent), o = v3_cross(n, t);
    drift[0] = 0.25 * v3_dot(m->end.normal, m->then) + 0.5 * m->end.gap / m->h - v3_dot(n, m->now) -
               c->gap / m->h;
    drift[1] = slides ? 0.0 : 0.5 * v3_dot(t, m->along) - v3_dot(t, m->now);
    drift[2] = slides ? 0.0 : 0.5 * v3_dot(o, m->along) - v3_dot(o, m->now);
}

/* ---- by one displacement ---------------------------------------------------------------------------*/

/* What a displacement changes: poses of a body (side `side`) at the middle and the end, and velocities. */
typedef struct roll_change {
    int side;
    vec3 x, turn, x_end, turn_end;
    vec3 v, w, v_end, w_end;
} roll_change;

typedef struct place_change {
    double gap;
    vec3 normal, tangent, point;
} place_change;

static vec3 changed(const double by[3][12], int side, vec3 x, vec3 turn)
{
    double out[3];
    for (int i = 0; i < 3; ++i) {
        const double* d = by[i] + 6 * side;
        out[i] = v3_dot(v3_from(d), x) + v3_dot(v3_from(d + 3), turn);
    }
    return v3_from(out);
}

/* point: that of the rolling body. */
static place_change place_by(const perpi_contact_derivative* g, int of, int side, vec3 x, vec3 turn)
{
    return (place_change){.gap = v3_dot(v3_from(g->gap + 6 * side), x) +
                                 v3_dot(v3_from(g->gap + 6 * side + 3), turn),
                          .normal = changed(g->normal, side, x, turn),
                          .tangent = changed(g->tangent, side, x, turn),
                          .point = changed(of == 0 ? g->point_a : g->point_b, side, x, turn)};
}

/* d s of the rows, and d J_m' p on the body (force, torque). */
static void differentiate(const roll_motion* m, const perpi_contact_derivative* middle,
                          const perpi_contact_derivative* end, bool slides, const double p[4],
                          const roll_change* by, double u[4], double push[6])
{
    const perp_contact* c = m->contact;
    const vec3 n = v3_from(c->normal), t = v3_from(c->tangent), o = v3_cross(n, t);
    const bool own = by->side == m->side;
    const place_change a = place_by(middle, m->side, by->side, by->x, by->turn);
    const place_change b = place_by(end, m->side, by->side, by->x_end, by->turn_end);
    const vec3 dr = own ? v3_sub(a.point, by->x) : a.point;
    const vec3 dr_end = own ? v3_sub(b.point, by->x_end) : b.point;
    const vec3 spin = v3_add(v3_cross(by->w_end, m->r_end), v3_cross(m->w_end, dr_end));
    const vec3 dthen = v3_scale(m->sign, v3_add(by->v_end, spin));
    const vec3 normal = m->end.normal;
    const double away = v3_dot(normal, m->then);
    const double daway = v3_dot(b.normal, m->then) + v3_dot(normal, dthen);
    const vec3 dalong = v3_madd(v3_madd(dthen, -daway, normal), -away, b.normal);
    const vec3 dnow =
        v3_scale(m->sign, v3_add(by->v, v3_add(v3_cross(by->w, m->r), v3_cross(m->w, dr))));
    const vec3 dn = a.normal, dt = a.tangent, d_o = v3_add(v3_cross(dn, t), v3_cross(n, dt));
    u[0] = 0.25 * daway + 0.5 * b.gap / m->h;
    if (slides) {
        u[1] = v3_dot(dt, m->now) + v3_dot(t, dnow);
        u[2] = v3_dot(d_o, m->now) + v3_dot(o, dnow);
    } else {
        u[1] = 0.5 * (v3_dot(dt, m->along) + v3_dot(t, dalong));
        u[2] = 0.5 * (v3_dot(d_o, m->along) + v3_dot(o, dalong));
    }
    u[3] = m->sign * (v3_dot(dn, m->w) + v3_dot(n, by->w));
    const vec3 F = v3_madd(v3_madd(v3_scale(p[0], n), p[1], t), p[2], o);
    const vec3 dF = v3_madd(v3_madd(v3_scale(p[0], dn), p[1], dt), p[2], d_o);
    const vec3 torque = v3_madd(v3_add(v3_cross(dr, F), v3_cross(m->r, dF)), p[3], dn);
    v3_to(v3_scale(m->sign, dF), push);
    v3_to(v3_scale(m->sign, torque), push + 3);
}

/* ---- the contact -----------------------------------------------------------------------------------*/

static vec3 axis(int k)
{
    return v3(k == 0 ? 1.0 : 0.0, k == 1 ? 1.0 : 0.0, k == 2 ? 1.0 : 0.0);
}

/* Column k of a body's displacement at the start, of its velocity there, and of v*. */
static roll_change by_pose(const perpi_linear_body* b, int side, int32_t k, bool own)
{
    const vec3 e = axis(k % 3), none = v3(0, 0, 0);
    roll_change c = {.side = side, .x = k < 3 ? e : none, .x_end = k < 3 ? e : none};
    if (k >= 3 && !own) {
        c.turn = c.turn_end = e;
    } else if (k >= 3) {
        c.turn = m3_mul(b->half_turn, e);
        c.turn_end = m3_mul(b->turn_turn, e);
        if (b->unround) {
            c.w_end =
                v3_add(m3_mul(b->carry_turn, c.turn_end), m3_mul(b->carry, m3_mul(b->L_turn, e)));
        }
    }
    return c;
}

static roll_change by_rate(const perpi_linear_body* b, int side, int32_t k)
{
    const vec3 e = axis(k % 3);
    roll_change c = {.side = side};
    if (k < 3) {
        c.v_end = v3_neg(e);
    } else {
        c.w_end = b->unround ? m3_mul(b->carry, m3_mul(b->L_rate, e)) : v3_neg(e);
    }
    return c;
}

static roll_change by_mean(const perpi_linear_body* b, double h, int side, int32_t k)
{
    const vec3 e = axis(k % 3);
    roll_change c = {.side = side};
    if (k < 3) {
        c.v = e;
        c.v_end = v3_scale(2.0, e);
        c.x = v3_scale(0.5 * h, e);
        c.x_end = v3_scale(h, e);
        return c;
    }
    c.w = e;
    c.turn = m3_mul(b->half_rate, e);
    c.turn_end = m3_mul(b->turn_rate, e);
    c.w_end = !b->unround ? v3_scale(2.0, e)
                          : v3_add(m3_mul(b->carry_turn, c.turn_end),
                                   m3_mul(b->carry, m3_mul(b->L_next, e)));
    return c;
}

/* Rows R of the contact, and what v* changes of its impulse on the body. */
static void add_mean(perpi_linear_step* l, int32_t i, const roll_motion* m,
                     const perpi_contact_derivative* g, const perpi_contact_derivative* g_end,
                     const double p[4], perpi_linear_body* b)
{
    const perp_constraint* c = &l->f->constraint[i];
    const bool planar = m->model->dimension == 2;
    const int32_t n = l->f->dof[b->block + 1] - l->f->dof[b->block];
    for (int32_t k = 0; k < n; ++k) {
        double u[4], push[6];
        const roll_change by = by_mean(b, m->h, m->side, planar && k == 2 ? 5 : k);
        differentiate(m, g, g_end, l->rolling[i].slides, p, &by, u, push);
        for (int32_t r = 0; r < c->rows; ++r) {
            l->R[c->jac + (size_t)(r * n + k)] = u[r];
        }
        for (int32_t a = 0; a < n; ++a) {
            b->push[a][k] += push[planar && a == 2 ? 5 : a];
        }
    }
}

/* The features of a contact at the middle and at the end. */
static perp_status freeze(perpi_linear_step* l, const perp_contact* c, perpi_rolling_contact* x,
                          perpi_contact_geometry* end)
{
    const perp_model* model = l->step.in.model;
    perp_status status = perpi_contact_freeze(model, l->f->end, c, &x->middle);
    if (status == PERP_OK) {
        status = perpi_frozen_at(model, l->pose_end, &x->middle, end);
    }
    if (status != PERP_OK) {
        return status;
    }
    perp_contact moved = *c;
    moved.gap = end->gap;
    v3_to(end->point_a, moved.point);
    v3_to(end->normal, moved.normal);
    v3_to(end->tangent, moved.tangent);
    return perpi_contact_freeze(model, l->pose_end, &moved, &x->end);
}

/* Which slip the step had, and whether it is the recorded one. */
static void recognise(perpi_linear_step* l, const roll_motion* m, perpi_rolling_contact* x)
{
    const perp_contact* c = m->contact;
    double drift[3], off = 0.0;
    const double size = v3_norm(m->v) + v3_norm(m->w) * v3_norm(m->r) + v3_norm(m->v_end) +
                        v3_norm(m->w_end) * v3_norm(m->r_end) + fabs(c->gap) / m->h;
    drift_of(m, false, drift);
    const double slip = perpi_larger(fabs(drift[1]), fabs(drift[2]));
    x->slides = c->drift[1] == 0.0 && c->drift[2] == 0.0 && slip > SAME * size;
    const int32_t rows = c->cone == PERP_CONE_NONE ? 1 : m->model->dimension;
    drift_of(m, x->slides, drift);
    for (int32_t r = 0; r < rows; ++r) {
        off = perpi_larger(off, fabs(drift[r] - c->drift[r]));
    }
    l->report.flags |= !(off <= SAME * size) ? PERPI_LINEAR_CHOICE : 0;
}

static perp_status differentiate_contact(perpi_linear_step* l, int32_t i)
{
    const perp_contact* c = &l->step.in.contact[i];
    const perp_constraint* rows = &l->f->constraint[i];
    perpi_rolling_contact* x = &l->rolling[i];
    perpi_contact_geometry end;
    perpi_contact_derivative g, g_end;
    perp_status status = freeze(l, c, x, &end);
    if (status == PERP_OK) {
        status = perpi_frozen_derivative(l->step.in.model, l->f->end, &x->middle, &g);
    }
    if (status == PERP_OK) {
        status = perpi_frozen_derivative(l->step.in.model, l->pose_end, &x->end, &g_end);
    }
    if (status != PERP_OK) {
        return status;
    }
    const roll_motion m = motion_of(l, l->step.in.model, c, &end);
    perpi_linear_body* b = &l->body[l->f->block_of[m.body]];
    double p[4] = {0};
    memcpy(p, l->p + rows->row, (size_t)rows->rows * sizeof *p);
    recognise(l, &m, x);
    x->d = (perpi_constraint_derivative){.body = {c->body_a, c->body_b}};
    memset(x->rate, 0, sizeof x->rate);
    for (int32_t j = 0; j < l->columns.count; ++j) {
        const int32_t column = l->columns.item[j];
        const int side = column / 6;
        double u[4], push[6];
        const roll_change pose = by_pose(b, side, column % 6, side == m.side);
        differentiate(&m, &g, &g_end, x->slides, p, &pose, u, push);
        for (int32_t r = 0; r < rows->rows; ++r) {
            x->d.u[r][column] = u[r];
        }
        for (int k = 0; k < 6; ++k) { /* on the fixed body it does not act */
            x->d.impulse[6 * m.side + k][column] = push[k];
        }
        if (side == m.side) {
            const roll_change rate = by_rate(b, side, column % 6);
            differentiate(&m, &g, &g_end, x->slides, p, &rate, u, push);
            for (int32_t r = 0; r < rows->rows; ++r) {
                x->rate[r][column] = u[r];
            }
        }
    }
    x->d.border = perpi_contact_at_border(l->step.in.model, l->f->end, c, l->options.threshold);
    add_mean(l, i, &m, &g, &g_end, p, b);
    x->known = true;
    return PERP_OK;
}

perp_status perpi_linear_roll_rows(perpi_linear_step* l)
{
    const perp_model* model = l->step.in.model;
    const int32_t contacts = l->f->contact_count;
    perp_status status = perpi_grow(l->context, &l->rolling, &l->rolling_capacity,
                                    (size_t)contacts + 1, sizeof *l->rolling);
    if (status == PERP_OK) {
        status = perpi_grow(l->context, &l->pose_end, &l->pose_end_capacity, model->body_count,
                            sizeof *l->pose_end);
    }
    for (int32_t i = 0; status == PERP_OK && i < (int32_t)model->body_count; ++i) {
        l->pose_end[i] = perpi_state_pose(model, l->step.q_end, i);
    }
    for (int32_t i = 0; status == PERP_OK && i < contacts; ++i) {
        const perp_constraint* c = &l->f->constraint[i];
        l->rolling[i].known = false;
        if (l->p[c->row] != 0.0) {
            status = differentiate_contact(l, i);
        }
    }
    return status;
}

void perpi_linear_roll_row(perpi_linear_step* l, int32_t contact, perpi_constraint_derivative* d)
{
    const perpi_rolling_contact* x = &l->rolling[contact];
    const perp_contact* c = &l->step.in.contact[contact];
    *d = (perpi_constraint_derivative){.body = {c->body_a, c->body_b}};
    if (x->known) {
        *d = x->d;
    } else { /* about to act */
        l->report.flags |= PERPI_LINEAR_CHOICE;
    }
}

void perpi_linear_roll_residual(const perpi_linear_step* l, const double* dv, double* r_u)
{
    const int32_t contacts = l->step.rolls ? l->f->contact_count : 0;
    for (int32_t i = 0; i < contacts; ++i) {
        const perpi_rolling_contact* x = &l->rolling[i];
        const perp_constraint* c = &l->f->constraint[i];
        for (int32_t k = 0; x->known && k < l->columns.count; ++k) {
            const int32_t column = l->columns.item[k],
                          place = perpi_linear_place(l, x->d.body, column);
            for (int32_t r = 0; place >= 0 && r < c->rows; ++r) {
                r_u[c->row + r] += x->rate[r][column] * dv[place];
            }
        }
    }
}

void perpi_linear_roll_residual_adjoint(const perpi_linear_step* l, const double* m_u, double* yv)
{
    const int32_t contacts = l->step.rolls ? l->f->contact_count : 0;
    for (int32_t i = 0; i < contacts; ++i) {
        const perpi_rolling_contact* x = &l->rolling[i];
        const perp_constraint* c = &l->f->constraint[i];
        for (int32_t k = 0; x->known && k < l->columns.count; ++k) {
            const int32_t column = l->columns.item[k],
                          place = perpi_linear_place(l, x->d.body, column);
            for (int32_t r = 0; place >= 0 && r < c->rows; ++r) {
                yv[place] += x->rate[r][column] * m_u[c->row + r];
            }
        }
    }
}

/* ---- parameters ------------------------------------------------------------------------------------*/

perp_status perpi_linear_roll_vary(const perpi_linear_step* l, const perp_model* model,
                                   bool geometry, int32_t contact, perp_contact* c)
{
    const perpi_rolling_contact* x = &l->rolling[contact];
    perpi_contact_geometry g, end;
    if (!x->known) {
        return PERP_OK; /* flagged */
    }
    const perp_model* at = geometry ? model : l->step.in.model;
    perp_status status = perpi_frozen_at(at, l->pose_end, &x->end, &end);
    if (status == PERP_OK && geometry) {
        status = perpi_frozen_at(at, l->f->end, &x->middle, &g);
        if (status == PERP_OK) {
            c->gap = g.gap;
            v3_to(g.point_a, c->point);
            v3_to(g.normal, c->normal);
            v3_to(g.tangent, c->tangent);
        }
    }
    if (status == PERP_OK) {
        const roll_motion m = motion_of(l, model, c, &end);
        drift_of(&m, x->slides, c->drift);
    }
    return status;
}

/* ---- a step of the start after one of the middle ----------------------------------------------------*/

/* d (rotation half way) by that at the start, A, and by that at the end, B, of a step that turns by x. */
static void half_way(vec3 x, mat3* A, mat3* B)
{
    const mat3 whole = m3_inverse(perpi_turn_derivative(x));
    const mat3 half = m3_mm(perpi_turn_derivative(v3_scale(0.5, x)), whole);
    const mat3 turned = m3_mm(half, q4_matrix(q4_exp(x)));
    *A = q4_matrix(q4_exp(v3_scale(0.5, x)));
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            B->m[i][j] = 0.5 * half.m[i][j];
            A->m[i][j] -= 0.5 * turned.m[i][j];
        }
    }
}

static vec3 turn_between(const perp_model* model, const double* q, const double* q_end,
                         int32_t body)
{
    if (model->dimension == 2) {
        return v3(0, 0, q_end[3 * body + 2] - q[3 * body + 2]);
    }
    const perpi_pose a = perpi_state_pose(model, q, body), b = perpi_state_pose(model, q_end, body);
    return q4_log(q4_mul(b.q, q4_conj(a.q)));
}

perpi_pose perpi_linear_roll_half_way(const perp_model* model, const double* q, const double* q_end,
                                      int32_t body)
{
    perpi_pose pose = perpi_state_pose(model, q, body);
    const perpi_pose end = perpi_state_pose(model, q_end, body);
    const vec3 half = v3_scale(0.5, turn_between(model, q, q_end, body));
    pose.x = v3_scale(0.5, v3_add(pose.x, end.x));
    pose.q = q4_unit(q4_mul(q4_exp(half), pose.q));
    pose.R = q4_matrix(pose.q);
    return pose;
}

/* Columns by a pose half way as columns by that at the start, in place, and by that at the end. */
static void split(const perp_model* model, const double* q, const double* q_end,
                  const int32_t body[2], double row[PERPI_PAIR_DOFS], double now[PERPI_PAIR_DOFS])
{
    memset(now, 0, PERPI_PAIR_DOFS * sizeof *now);
    for (int side = 0; side < 2; ++side) {
        if (body[side] < 0 || model->body[body[side]].dofs == 0) {
            continue; /* fixed: it has one pose */
        }
        double *to = row + 6 * side, *add = now + 6 * side;
        mat3 A, B;
        half_way(turn_between(model, q, q_end, body[side]), &A, &B);
        const vec3 turn = v3_from(to + 3);
        for (int k = 0; k < 3; ++k) {
            add[k] = 0.5 * to[k];
            to[k] *= 0.5;
        }
        v3_to(m3_tmul(B, turn), add + 3);
        v3_to(m3_tmul(A, turn), to + 3);
    }
}

void perpi_linear_roll_before(const perpi_linear_step* l, perpi_constraint_derivative* d)
{
    const perp_model* model = l->step.in.model;
    for (int r = 0; d->rolling != PERPI_ROLLING_NONE && r < 2; ++r) {
        double own[PERPI_PAIR_DOFS], other[PERPI_PAIR_DOFS];
        split(model, l->step.q_before, l->step.in.q, d->body, d->before[r], own);
        for (int c = 0; c < PERPI_PAIR_DOFS; ++c) {
            d->u[r + 1][c] += own[c];
        }
        if (d->full) {
            split(model, l->step.q_before, l->step.in.q, d->body, d->other.before[r], other);
            for (int c = 0; c < PERPI_PAIR_DOFS; ++c) {
                d->other.pose[r][c] += other[c] - own[c];
            }
        }
    }
}
