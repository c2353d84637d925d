/* src/step/rolling_derivative.c - the derivative of the slip of rolling contacts.
 *
 * Notation   src/sim/rolling.c: u the slip by the velocities of the start, gain what the motion of the point adds to it
 *            in a step; the drift is part u, part = min(1, f (gain . u) / (2 u . u)), f in [1, 2].
 */
#include <math.h>

#include "step/rolling.h"

static const vec3 AXIS[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};

static vec3 column3(const double d[3][12], int c)
{
    return v3(d[0][c], d[1][c], d[2][c]);
}

static vec3 gap_middle(const perp_contact* c)
{
    return v3_madd(v3_from(c->point), 0.5 * c->gap, v3_from(c->normal));
}

static vec3 middle_change(const perp_contact* c, const perpi_contact_derivative* g, int column)
{
    return v3_madd(v3_madd(column3(g->point_a, column), 0.5 * g->gap[column], v3_from(c->normal)),
                   0.5 * c->gap, column3(g->normal, column));
}

/* The velocity that corresponds to the momentum at the start with the orientation at the end, and
 * its derivatives by the rotation and the angular velocity. */
typedef struct spin {
    vec3 w;
    mat3 by_turn, by_rate;
} spin;

static mat3 cross_matrix(vec3 a)
{
    return (mat3){{{0, -a.z, a.y}, {a.z, 0, -a.x}, {-a.y, a.x, 0}}};
}

static mat3 add_scaled(mat3 A, double s, mat3 B)
{
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            A.m[i][j] += s * B.m[i][j];
        }
    }
    return A;
}

static spin spin_before(const perpi_rolling_input* in, int32_t index)
{
    const perpi_body* body = &in->model->body[index];
    const vec3 w = perpi_state_rate(in->model, in->v, index);
    spin s = {.w = w, .by_rate = m3_identity()};
    if (in->model->dimension == 2 || body->dofs == 0 || body->particle ||
        perpi_inertia_round(body)) {
        return s;
    }
    const mat3 R = in->pose[index].R, I = body->inertia, inverse = m3_inverse(I);
    const perpi_hold hold = perpi_hold_at(body, &in->pose[index], w, in->contact->point);
    const double part = perpi_spin_part(body, hold, in->h, w), h = part * in->h;
    const vec3 W = m3_tmul(R, w), L = m3_mul(I, W);
    const vec3 turn = m3_mul(R, m3_mul(inverse, v3_cross(W, L)));
    s.w = v3_madd(w, h, turn);
    /* d turn by W, then by w and the rotation: dW = R' (dw - phi x w) */
    const mat3 by_W =
        m3_mm(R, m3_mm(inverse, add_scaled(m3_mm(cross_matrix(W), I), -1.0, cross_matrix(L))));
    const mat3 by_w = m3_mm(by_W, m3_transpose(R));
    s.by_rate = add_scaled(s.by_rate, h, by_w);
    s.by_turn = add_scaled((mat3){{{0}}}, h, m3_mm(by_w, cross_matrix(w)));
    s.by_turn = add_scaled(s.by_turn, -h, cross_matrix(turn));
    if (body->joints == 0 && part > 0.5 && part < 1.0) { /* part = 1/2 + (h |w|)^2 */
        const vec3 dpart = v3_scale(2.0 * in->h * in->h, w);
        for (int i = 0; i < 3; ++i) {
            for (int j = 0; j < 3; ++j) {
                s.by_rate.m[i][j] += in->h * v3_get(turn, i) * v3_get(dpart, j);
            }
        }
    }
    return s;
}

/* The slip and its gain along (t, o), and the rule. */
typedef struct rule {
    double u[2], gain[2], size, raw, part, factor;
    double pushes, whole;
    double reach; /* f raw, of which part is at most 1 */
    perpi_rolling_case rolling;
} rule;

/* d drift, from d u and d gain. */
static void drift_change(const rule* r, const perp_contact* before, const double du[2],
                         const double dgain[2], double out[2])
{
    if (r->rolling == PERPI_ROLLING_FULL) {
        out[0] = du[0];
        out[1] = du[1];
        return;
    }
    const double along = r->gain[0] * r->u[0] + r->gain[1] * r->u[1];
    const double dalong =
        dgain[0] * r->u[0] + dgain[1] * r->u[1] + r->gain[0] * du[0] + r->gain[1] * du[1];
    const double dsize = 2.0 * (r->u[0] * du[0] + r->u[1] * du[1]);
    const double draw = 0.5 * (dalong / r->size - along * dsize / (r->size * r->size));
    double dfactor = 0.0;
    if (r->rolling == PERPI_ROLLING_BETWEEN) {
        const double dpushes = before->impulse[1] * du[0] + before->impulse[2] * du[1];
        dfactor = (dpushes - r->pushes * 0.5 * dsize / r->size) / r->whole;
    }
    const double dpart = draw * r->factor + r->raw * dfactor;
    out[0] = dpart * r->u[0] + r->part * du[0];
    out[1] = dpart * r->u[1] + r->part * du[1];
}

/* The motion at the contact. */
typedef struct rolling_motion {
    vec3 t, o, now, gain, arm[2], way[2], w[2];
    spin s[2];
    double speeds;
} rolling_motion;

static rolling_motion motion_of(const perpi_rolling_input* in)
{
    const perp_contact* c = in->contact;
    const int32_t body[2] = {c->body_a, c->body_b};
    const vec3 middle = gap_middle(c), moved = v3_sub(middle, gap_middle(in->before));
    rolling_motion m = {.t = v3_from(c->tangent)};
    m.o = v3_cross(v3_from(c->normal), m.t);
    for (int side = 0; side < 2; ++side) {
        const double sign = side == 0 ? -1.0 : 1.0;
        const vec3 v = perpi_state_velocity(in->model, in->v, body[side]);
        m.w[side] = perpi_state_rate(in->model, in->v, body[side]);
        m.s[side] = spin_before(in, body[side]);
        m.arm[side] = v3_sub(middle, in->pose[body[side]].x);
        m.way[side] = v3_madd(moved, -in->h_before, v);
        m.now = v3_madd(m.now, sign, v3_add(v, v3_cross(m.s[side].w, m.arm[side])));
        m.gain = v3_madd(m.gain, sign, v3_cross(m.w[side], m.way[side]));
        m.speeds += v3_norm(v) + v3_norm(m.w[side]) * v3_norm(m.arm[side]);
    }
    return m;
}

/* In a given case; else that which the rule has. */
static rule rule_of(const rolling_motion* m, const perp_contact* old, perpi_rolling_case given)
{
    rule r = {.u = {v3_dot(m->t, m->now), v3_dot(m->o, m->now)},
              .gain = {v3_dot(m->t, m->gain), v3_dot(m->o, m->gain)},
              .rolling = given};
    r.size = r.u[0] * r.u[0] + r.u[1] * r.u[1];
    if (!(sqrt(r.size) > PERPI_ROLLING_NOISE * m->speeds)) {
        r.rolling = PERPI_ROLLING_NONE;
        return r;
    }
    r.raw = 0.5 * (r.gain[0] * r.u[0] + r.gain[1] * r.u[1]) / r.size;
    r.pushes = old->impulse[1] * r.u[0] + old->impulse[2] * r.u[1];
    r.whole = PERPI_ROLLING_BLEND * old->mu * old->impulse[0] * sqrt(r.size);
    if (given == PERPI_ROLLING_NONE && r.raw > PERPI_ROLLING_LEAST_PART) {
        r.rolling = r.pushes > r.whole ? PERPI_ROLLING_TWICE
                    : r.pushes > 0.0   ? PERPI_ROLLING_BETWEEN
                                       : PERPI_ROLLING_ONCE;
    }
    r.factor = r.rolling == PERPI_ROLLING_TWICE     ? 2.0
               : r.rolling == PERPI_ROLLING_BETWEEN ? 1.0 + r.pushes / r.whole
                                                    : 1.0;
    r.reach = r.raw * r.factor;
    r.part = r.rolling == PERPI_ROLLING_FULL ? 1.0 : r.reach;
    if (given == PERPI_ROLLING_NONE && r.rolling != PERPI_ROLLING_NONE && !(r.part < 1.0)) {
        r.rolling = PERPI_ROLLING_FULL;
        r.part = 1.0;
    }
    return r;
}

void perpi_rolling_drift(const perpi_rolling_input* in, perpi_rolling_case rolling, double drift[2])
{
    const rolling_motion m = motion_of(in);
    const rule r = rule_of(&m, in->before, rolling);
    drift[0] = r.part * r.u[0];
    drift[1] = r.part * r.u[1];
}

static bool at_border_of_rolling(const rule* r, double threshold)
{
    return r->raw != 0.0 && fabs(r->raw - PERPI_ROLLING_LEAST_PART) <= threshold;
}

bool perpi_rolling_applies(const perpi_rolling_input* in, bool* border)
{
    const rolling_motion m = motion_of(in);
    const rule r = rule_of(&m, in->before, PERPI_ROLLING_NONE);
    *border = at_border_of_rolling(&r, in->threshold);
    return r.rolling != PERPI_ROLLING_NONE;
}

/* part = raw (1 + pushes / whole) */
static void differentiate_by_impulse(const rule* r, const perp_contact* old,
                                     perpi_rolling_derivative* d)
{
    for (int i = 0; r->rolling == PERPI_ROLLING_BETWEEN && i < 2; ++i) {
        const double by = r->raw * r->u[i];
        d->impulse[i][0] = -by * r->pushes / (r->whole * old->impulse[0]);
        d->impulse[i][1] = by * r->u[0] / r->whole;
        d->impulse[i][2] = by * r->u[1] / r->whole;
        d->mu[i] = -by * r->pushes / (r->whole * old->mu);
    }
}

static void set_column(const rule* r, const perp_contact* before, const double du[2],
                       const double dgain[2], int column, double to[2][12])
{
    double out[2];
    drift_change(r, before, du, dgain, out);
    to[0][column] = out[0];
    to[1][column] = out[1];
}

/* Of a contact that rolls exactly: the case that meets its own there. */
static perpi_rolling_case other_case(const rule* r)
{
    return r->rolling != PERPI_ROLLING_FULL ? PERPI_ROLLING_FULL
           : r->pushes > r->whole           ? PERPI_ROLLING_TWICE
           : r->pushes > 0.0                ? PERPI_ROLLING_BETWEEN
                                            : PERPI_ROLLING_ONCE;
}

perpi_rolling_derivative perpi_rolling_differentiate(const perpi_rolling_input* in,
                                                     perpi_rolling_derivative* other)
{
    const perp_contact *c = in->contact, *old = in->before;
    const rolling_motion m = motion_of(in);
    const rule r = rule_of(&m, old, PERPI_ROLLING_NONE);
    const bool full = r.rolling != PERPI_ROLLING_NONE && fabs(r.reach - 1.0) <= in->threshold;
    const rule r_other = full ? rule_of(&m, old, other_case(&r)) : r;
    const vec3 n = v3_from(c->normal), t = m.t, o = m.o, now = m.now, gain = m.gain;
    const vec3 *arm = m.arm, *way = m.way, *w = m.w;
    const spin* s = m.s;
    perpi_rolling_derivative d = {.rolling = r.rolling};
    d.border = at_border_of_rolling(&r, in->threshold);
    if (d.rolling == PERPI_ROLLING_NONE) {
        return d;
    }
    d.full = full;
    d.border = d.border || fabs(r.pushes) <= in->threshold * r.whole ||
               fabs(r.pushes - r.whole) <= in->threshold * r.whole;
    differentiate_by_impulse(&r, old, &d);
    if (full) {
        *other = (perpi_rolling_derivative){.rolling = r_other.rolling};
        differentiate_by_impulse(&r_other, old, other);
    }
    for (int column = 0; column < 12; ++column) {
        const int side = column / 6, k = column % 6;
        const double sign = side == 0 ? -1.0 : 1.0;
        const vec3 e = AXIS[k % 3];
        const bool turns = k >= 3;
        /* by the pose */
        const vec3 dm = middle_change(c, in->change, column);
        vec3 dnow = v3(0, 0, 0), dgain = v3(0, 0, 0);
        for (int i = 0; i < 2; ++i) {
            const double own = i == 0 ? -1.0 : 1.0;
            const vec3 darm = i == side && !turns ? v3_sub(dm, e) : dm;
            dnow = v3_madd(dnow, own, v3_cross(s[i].w, darm));
            dgain = v3_madd(dgain, own, v3_cross(w[i], dm));
        }
        if (turns) {
            dnow = v3_madd(dnow, sign, v3_cross(m3_mul(s[side].by_turn, e), arm[side]));
        }
        const vec3 dn = column3(in->change->normal, column);
        const vec3 dt = column3(in->change->tangent, column);
        const vec3 doo = v3_add(v3_cross(dn, t), v3_cross(n, dt));
        const double du[2] = {v3_dot(dt, now) + v3_dot(t, dnow),
                              v3_dot(doo, now) + v3_dot(o, dnow)};
        const double dg[2] = {v3_dot(dt, gain) + v3_dot(t, dgain),
                              v3_dot(doo, gain) + v3_dot(o, dgain)};
        /* by the velocity */
        const vec3 speed = turns ? v3_cross(m3_mul(s[side].by_rate, e), arm[side]) : e;
        const vec3 more =
            turns ? v3_cross(e, way[side]) : v3_scale(-in->h_before, v3_cross(w[side], e));
        const double du_rate[2] = {sign * v3_dot(t, speed), sign * v3_dot(o, speed)};
        const double dg_rate[2] = {sign * v3_dot(t, more), sign * v3_dot(o, more)};
        /* by the pose of the step before */
        const vec3 back = middle_change(old, in->change_before, column);
        const vec3 less = v3_cross(v3_sub(w[1], w[0]), v3_neg(back));
        const double du_before[2] = {0.0, 0.0};
        const double dg_before[2] = {v3_dot(t, less), v3_dot(o, less)};
        for (int i = 0; i < (full ? 2 : 1); ++i) {
            const rule* by = i == 0 ? &r : &r_other;
            perpi_rolling_derivative* to = i == 0 ? &d : other;
            set_column(by, old, du, dg, column, to->pose);
            set_column(by, old, du_rate, dg_rate, column, to->rate);
            set_column(by, old, du_before, dg_before, column, to->before);
        }
    }
    return d;
}
