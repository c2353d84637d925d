/* src/step/linear_impact.c - the derivative of an impact of fixed steps: see linear_parts.h.
 *
 * Method     docs/notation.md, "Gradients along a run"; src/sim/impact.c, src/sim/impact_time.c
 * Notation   u normal velocity before the impact, g its change in the step without the impact (bend), a = (1/2 + t/h) pull
 *            its change until the time t of the meeting, s the offset of the poses
 *
 * A pair meets at the time t of the contact of the pair that closes first, and its contacts follow
 * Newton's law there:
 *     gap + (u + g/2) t + g t^2/(2 h) = 0,    drift = e (u + a) + a,    s+ = s - t (v+ - v-)
 * dt = -(dgap + t du + (t/2 + t^2/(2 h)) dg) / (u + g/2 + g t/h), and the rest by the chain rule.
 * gap contains the offset s of earlier impacts, as rows of the contact. g and pull are rows of the
 * contact times changes of velocity: in the step without the contacts of the impact (l->without),
 * or of free bodies (l->free), linearised steps of their own. Each of these rows is
 *     n . (V_b + W_b x r_b - V_a - W_a x r_a)
 * of some velocities (V, W) that do not depend on the pose. What the recorded impact has, and these
 * rules do not give (times of islands with joints, bodies that act only on each other, coefficients
 * that were reduced), is flagged.
 */
#include <string.h>

#include "step/linear_parts.h"

enum { BY_Q, BY_V, BY_OFFSET, BY_GAIN, BY_FREE };
/* Relative: a recorded number that follows the rules. */
static const double SAME_RULE = 1e-7;

/* Velocities, or the like, of the two bodies of a contact. */
typedef struct pair_field {
    vec3 v[2], w[2];
} pair_field;

typedef struct contact_place {
    vec3 n, point;
    double gap;
    vec3 x[2]; /* centres of mass */
} contact_place;

static contact_place place_of_contact(const perpi_linear_step* l, const perp_contact* c)
{
    return (contact_place){.n = v3_from(c->normal),
                           .point = v3_from(c->point),
                           .gap = c->gap,
                           .x = {l->f->pose[c->body_a].x, l->f->pose[c->body_b].x}};
}

static vec3 arm_of(const contact_place* p, const double part[2], int side)
{
    return v3_sub(v3_madd(p->point, part[side] * p->gap, p->n), p->x[side]);
}

static double row_value(const contact_place* p, const pair_field* f, const double part[2])
{
    double sum = 0.0;
    for (int side = 0; side < 2; ++side) {
        const vec3 at = v3_add(f->v[side], v3_cross(f->w[side], arm_of(p, part, side)));
        sum += (side == 0 ? -1.0 : 1.0) * v3_dot(p->n, at);
    }
    return sum;
}

/* Adds scale times d row_value: by displacements, and by the field. */
static void add_row(const contact_place* p, const perpi_contact_derivative* g, const pair_field* f,
                    const double part[2], double scale, double by_q[PERPI_PAIR_DOFS],
                    double by_field[PERPI_PAIR_DOFS])
{
    static const vec3 axis[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    for (int c = 0; c < PERPI_PAIR_DOFS; ++c) {
        const vec3 dn = v3(g->normal[0][c], g->normal[1][c], g->normal[2][c]);
        const vec3 dp = v3(g->point_a[0][c], g->point_a[1][c], g->point_a[2][c]);
        for (int side = 0; side < 2; ++side) {
            const double sign = side == 0 ? -scale : scale;
            const vec3 arm = arm_of(p, part, side);
            vec3 darm = v3_madd(v3_madd(dp, part[side] * g->gap[c], p->n), part[side] * p->gap, dn);
            if (c / 6 == side && c % 6 < 3) {
                darm = v3_sub(darm, axis[c % 3]);
            }
            by_q[c] += sign * (v3_dot(dn, v3_add(f->v[side], v3_cross(f->w[side], arm))) +
                               v3_dot(p->n, v3_cross(f->w[side], darm)));
            if (by_field != NULL && c / 6 == side) {
                by_field[c] +=
                    sign * (c % 6 < 3 ? v3_get(p->n, c % 3) : v3_get(v3_cross(arm, p->n), c % 3));
            }
        }
    }
}

/* Columns of prescribed bodies, whose number is none of the state. */
static void leave_out_prescribed(const perpi_linear_step* l, const perp_contact* c,
                                 double by[PERPI_PAIR_DOFS])
{
    for (int column = 0; column < PERPI_PAIR_DOFS; ++column) {
        const int32_t body = column < 6 ? c->body_a : c->body_b;
        by[column] = l->step.in.model->body[body].dofs > 0 ? by[column] : 0.0;
    }
}

/* ---- the velocities of the rows ------------------------------------------------------------------*/

static pair_field field_of(const perpi_linear_step* l, const perp_contact* c, const double* flat)
{
    const perp_model* model = l->step.in.model;
    const int32_t body[2] = {c->body_a, c->body_b};
    pair_field f = {{{0, 0, 0}, {0, 0, 0}}, {{0, 0, 0}, {0, 0, 0}}};
    for (int side = 0; flat != NULL && side < 2; ++side) {
        f.v[side] = perpi_state_velocity(model, flat, body[side]);
        f.w[side] = perpi_state_rate(model, flat, body[side]);
    }
    return f;
}

/* Velocities before the impact; prescribed: those of the problem, or the mean over the step of
 * `moves`; NULL: not asked for. */
static perp_status field_before(const perpi_linear_step* l, const perp_contact* c,
                                const perp_model* moves, pair_field* f)
{
    const perp_model* model = l->step.in.model;
    const int32_t body[2] = {c->body_a, c->body_b};
    perp_status status = PERP_OK;
    *f = field_of(l, c, l->step.in.v);
    for (int side = 0; status == PERP_OK && side < 2; ++side) {
        if (model->body[body[side]].dofs > 0) {
            continue;
        }
        f->v[side] = l->f->given_v[body[side]];
        f->w[side] = l->f->given_w[body[side]];
        if (moves != NULL) {
            status = perpi_prescribed_velocity(moves, body[side], l->step.in.t, l->step.h_meeting,
                                               l->step.in.q, &f->v[side], &f->w[side]);
        }
    }
    return status;
}

/* Whether the velocity-product term changes the angular velocity of a body. */
static bool body_spins(const perp_model* model, int32_t body)
{
    const perpi_body* b = &model->body[body];
    return model->dimension == 3 && b->dofs > 0 && !b->particle && !perpi_inertia_round(b);
}

/* Whether the step without the impact tells how the contact's bodies move: no other contact stops them there. */
static bool gain_found(const perpi_linear_step* l, const perp_contact* c)
{
    const perpi_taken_step* w = l->step.without;
    bool found = w != NULL;
    for (int32_t i = 0; found && i < w->in.contact_count; ++i) {
        const perp_contact* other = &w->in.contact[i];
        const int32_t body[2] = {c->body_a, c->body_b};
        for (int side = 0; side < 2 && other->impulse[0] > 0.0; ++side) {
            found = found && (l->step.in.model->body[body[side]].dofs == 0 ||
                              (other->body_a != body[side] && other->body_b != body[side]));
        }
    }
    return found;
}

/* The change of velocity in the step without the impact, by whichever of the two is known. */
static pair_field field_gained(const perpi_linear_step* l, const perp_contact* c)
{
    const pair_field before = field_of(l, c, l->step.in.v);
    pair_field f = field_of(l, c, gain_found(l, c) ? l->step.without->v_end : l->free->step.v_end);
    for (int side = 0; side < 2; ++side) {
        f.v[side] = v3_sub(f.v[side], before.v[side]);
        f.w[side] = v3_sub(f.w[side], before.w[side]);
    }
    return f;
}

/* What forces change, without the velocity-product term (allowed_velocities in impact.c). */
static pair_field field_forced(const perpi_linear_step* l, const perp_contact* c)
{
    const perp_model* model = l->step.in.model;
    const int32_t body[2] = {c->body_a, c->body_b};
    const pair_field before = field_of(l, c, l->step.in.v);
    pair_field f = field_of(l, c, l->free->step.v_end);
    for (int side = 0; side < 2; ++side) {
        const bool given = model->body[body[side]].dofs == 0;
        f.v[side] = given ? v3(0, 0, 0) : v3_sub(f.v[side], before.v[side]);
        f.w[side] = given || body_spins(model, body[side]) ? v3(0, 0, 0)
                                                           : v3_sub(f.w[side], before.w[side]);
    }
    return f;
}

/* ---- values --------------------------------------------------------------------------------------*/

static const double ENDS[2] = {0.0, 1.0};

static void acting_parts(const perpi_linear_step* l, const perp_contact* c, double part[2])
{
    for (int side = 0; side < 2; ++side) {
        part[side] = perpi_acting_part(l->step.in.model, c, side);
    }
}

/* The numbers of a meeting at a geometry, with the motions of a model. */
static perp_status evaluate_meeting(const perpi_linear_step* l, const perp_model* moves,
                                    const perp_contact* c, perpi_meeting* m)
{
    const contact_place p = place_of_contact(l, c);
    const pair_field offset = field_of(l, c, l->step.offset);
    double part[2];
    pair_field before, mean;
    acting_parts(l, c, part);
    perp_status status = field_before(l, c, NULL, &before);
    if (status == PERP_OK) {
        status = field_before(l, c, moves, &mean);
    }
    if (status != PERP_OK) {
        return status;
    }
    m->gap = c->gap + row_value(&p, &offset, m->impacts ? ENDS : part);
    m->u = row_value(&p, &before, part);
    if (!m->impacts) {
        return PERP_OK;
    }
    const double h = l->step.h_meeting;
    m->u_meeting = row_value(&p, &mean, part);
    const pair_field gained = field_gained(l, c), forced = field_forced(l, c);
    m->bend = row_value(&p, &gained, gain_found(l, c) ? ENDS : part);
    m->pull = row_value(&p, &forced, part);
    const double slope = m->u_meeting + 0.5 * m->bend;
    const double square = slope * slope - 2.0 * m->gap * m->bend / h;
    const double speed = square > 0.0 && slope < 0.0 ? 0.5 * (sqrt(square) - slope) : -m->u_meeting;
    const double t = speed > 0.0 ? m->gap / speed : 0.0;
    m->own = t < 0.0 ? 0.0 : t > h ? h : t;
    return PERP_OK;
}

/* The first of the pair; contacts of a pair follow each other. */
static int32_t first_of_pair(const perp_contact* c, const perpi_meeting* m, int32_t count,
                             int32_t i)
{
    int32_t from = i, best = i;
    while (from > 0 && c[from - 1].body_a == c[i].body_a && c[from - 1].body_b == c[i].body_b) {
        --from;
    }
    for (int32_t k = from; k < count && c[k].body_a == c[i].body_a && c[k].body_b == c[i].body_b;
         ++k) {
        best = m[k].impacts && m[k].own < m[best].own ? k : best;
    }
    return best;
}

/* d of the law at rest, of the step that follows. */
static bool rest_drift(const perpi_linear_step* l, const perp_contact* c, const perpi_meeting* m)
{
    (void)l;
    return m->gap > 0.0 || c->group != 0;
}

/* u + a, and the drift by the law. */
static double met_velocity(const perpi_linear_step* l, const perpi_meeting* m, double time)
{
    const double met = m->u + (0.5 + time / l->step.h_meeting) * m->pull;
    return met < 0.0 ? met : 0.0;
}

static double drift_of(const perpi_linear_step* l, const perp_contact* c, const perpi_meeting* m,
                       double time)
{
    if (!m->impacts) {
        return rest_drift(l, c, m) ? m->gap / l->step.h_nominal : 0.0;
    }
    const double met = met_velocity(l, m, time);
    return m->e * met + met - m->u;
}

/* ---- derivatives ---------------------------------------------------------------------------------*/

static perp_status differentiate_meeting(const perpi_linear_step* l, int32_t i, perpi_meeting* m)
{
    const perp_contact* c = &l->step.in.contact[i];
    const contact_place p = place_of_contact(l, c);
    const pair_field offset = field_of(l, c, l->step.offset);
    double part[2], gap[PERPI_MEETING_PARTS][PERPI_PAIR_DOFS] = {{0}};
    pair_field before, mean;
    perpi_contact_derivative g;
    acting_parts(l, c, part);
    perp_status status = perpi_contact_change(l->step.in.model, l->f->pose, c, &g);
    if (status == PERP_OK) {
        status = field_before(l, c, NULL, &before);
    }
    if (status == PERP_OK) {
        status = field_before(l, c, l->step.in.model, &mean);
    }
    if (status != PERP_OK) {
        return status;
    }
    memcpy(gap[BY_Q], g.gap, sizeof gap[BY_Q]);
    add_row(&p, &g, &offset, m->impacts ? ENDS : part, 1.0, gap[BY_Q], gap[BY_OFFSET]);
    memset(m->time, 0, sizeof m->time);
    memset(m->drift, 0, sizeof m->drift);
    if (!m->impacts) {
        const double scale = rest_drift(l, c, m) ? 1.0 / l->step.h_nominal : 0.0;
        for (int k = 0; k < PERPI_MEETING_PARTS; ++k) {
            for (int column = 0; column < PERPI_PAIR_DOFS; ++column) {
                m->drift[k][column] = scale * gap[k][column];
            }
        }
        return PERP_OK;
    }
    const double h = l->step.h_meeting, t = m->own;
    const pair_field gained = field_gained(l, c);
    const bool found = gain_found(l, c);
    const double fall = m->u_meeting + 0.5 * m->bend + m->bend * t / h;
    if (t > 0.0 && t < h && fall < 0.0) {
        for (int k = 0; k < PERPI_MEETING_PARTS; ++k) {
            for (int column = 0; column < PERPI_PAIR_DOFS; ++column) {
                m->time[k][column] = -gap[k][column] / fall;
            }
        }
        add_row(&p, &g, &mean, part, -t / fall, m->time[BY_Q], m->time[BY_V]);
        leave_out_prescribed(l, c, m->time[BY_V]); /* the mean of a motion */
        add_row(&p, &g, &gained, found ? ENDS : part, -(0.5 * t + 0.5 * t * t / h) / fall,
                m->time[BY_Q], m->time[found ? BY_GAIN : BY_FREE]);
        leave_out_prescribed(l, c, m->time[BY_FREE]);
    }
    return PERP_OK;
}

/* d drift = (1 + e) (du + pull dt/h + (1/2 + t/h) dpull) - du, or -du where the forces stop the approach. */
static perp_status differentiate_drift(const perpi_linear_step* l, int32_t i, perpi_meeting* m)
{
    const perp_contact* c = &l->step.in.contact[i];
    const perpi_meeting* first = &l->meeting[m->first];
    const contact_place p = place_of_contact(l, c);
    const double h = l->step.h_meeting, part_of_step = 0.5 + first->own / h;
    const double by_met = m->u + part_of_step * m->pull < 0.0 ? 1.0 + m->e : 0.0;
    double part[2];
    pair_field before;
    perpi_contact_derivative g;
    acting_parts(l, c, part);
    perp_status status = perpi_contact_change(l->step.in.model, l->f->pose, c, &g);
    if (status == PERP_OK) {
        status = field_before(l, c, NULL, &before);
    }
    if (status != PERP_OK) {
        return status;
    }
    add_row(&p, &g, &before, part, by_met - 1.0, m->drift[BY_Q], m->drift[BY_V]);
    const pair_field forced = field_forced(l, c);
    double by_forces[PERPI_PAIR_DOFS] = {0};
    add_row(&p, &g, &forced, part, by_met * part_of_step, m->drift[BY_Q], by_forces);
    leave_out_prescribed(l, c, by_forces);
    for (int column = 0; column < PERPI_PAIR_DOFS; ++column) {
        const bool spins =
            body_spins(l->step.in.model, column < 6 ? c->body_a : c->body_b) && column % 6 >= 3;
        m->drift[BY_FREE][column] += spins ? 0.0 : by_forces[column];
    }
    for (int k = 0; k < PERPI_MEETING_PARTS; ++k) {
        for (int column = 0; column < PERPI_PAIR_DOFS; ++column) {
            m->drift[k][column] += by_met * m->pull / h * first->time[k][column];
        }
    }
    return PERP_OK;
}

/* Velocity of a body after and before the impact, flat. */
static double jump_of(const perpi_linear_step* l, int32_t k)
{
    return l->step.v_solved[k] - l->step.in.v[k];
}

/* Whether the impact leaves an offset that displaces the body before the step that follows. */
static bool displaces_early(const perpi_linear_step* l, int32_t body)
{
    const perp_model* model = l->step.in.model;
    const size_t at = (size_t)perpi_v_stride(model) * model->body_count + (size_t)body;
    return l->step.offset_end[at] != 0.0 && (l->step.offset == NULL || l->step.offset[at] == 0.0);
}

/* Of two bodies that act only on each other, the relative velocity after the impact. */
static vec3 velocity_between(const perpi_linear_step* l, int32_t body, int32_t partner)
{
    const perp_model* model = l->step.in.model;
    return v3_sub(perpi_state_velocity(model, l->step.v_solved, body),
                  perpi_state_velocity(model, l->step.v_solved, partner));
}

/* The part of a along r. */
static vec3 part_along(vec3 r, vec3 a)
{
    const double square = v3_dot(r, r);
    return v3_scale(square > 0.0 ? v3_dot(a, r) / square : 0.0, r);
}

static vec3 jump_linear(const perpi_linear_step* l, int32_t body)
{
    const perp_model* model = l->step.in.model;
    return v3_sub(perpi_state_velocity(model, l->step.v_solved, body),
                  perpi_state_velocity(model, l->step.in.v, body));
}

/* A body that acts on one other body only: the contact between them that has the time. What the
 * recorded offset has and this rule does not give (islands of more bodies) is flagged. */
static void find_pair_time(perpi_linear_step* l, int32_t body)
{
    const perp_model* model = l->step.in.model;
    const int32_t n = perpi_v_stride(model), first = n * body;
    perpi_body_time* b = &l->body_time[body];
    for (int32_t i = 0; i < l->f->contact_count; ++i) {
        const perp_contact* c = &l->step.in.contact[i];
        const bool own = c->body_a == body || c->body_b == body;
        if (!own || !(c->impulse[0] > 0.0)) {
            continue;
        }
        const int32_t other = c->body_a == body ? c->body_b : c->body_a;
        l->report.flags |= b->partner >= 0 && b->partner != other ? PERPI_LINEAR_CHOICE : 0;
        b->partner = other;
        b->contact = l->meeting[i].impacts && b->contact < 0 ? i : b->contact;
        b->time = b->contact == i ? c->impact.time : b->time;
    }
    if (b->contact < 0 || model->body[b->partner].dofs == 0) {
        l->report.flags |= PERPI_LINEAR_CHOICE;
        *b = (perpi_body_time){.contact = -1, .partner = -1};
        return;
    }
    const vec3 linear =
        part_along(velocity_between(l, body, b->partner), v3_scale(-b->time, jump_linear(l, body)));
    double off = 0.0, moved = 0.0;
    for (int32_t k = 0; k < n; ++k) {
        const double s = l->step.offset_end[first + k] -
                         (l->step.offset != NULL ? l->step.offset[first + k] : 0.0);
        const double rule =
            k < model->dimension ? v3_get(linear, k) : -b->time * jump_of(l, first + k);
        /* of the whole: the part along the relative velocity may be 0 */
        moved = perpi_larger(moved, fabs(b->time * jump_of(l, first + k)));
        off = perpi_larger(off, fabs(s - rule));
    }
    l->report.flags |= !(off <= SAME_RULE * moved) ? PERPI_LINEAR_CHOICE : 0;
}

/* The time by which the offset of a body changed, and the contact that has it. */
static void find_body_time(perpi_linear_step* l, int32_t body)
{
    const int32_t n = perpi_v_stride(l->step.in.model), first = n * body;
    const perp_contact* c = l->step.in.contact;
    double along = 0.0, size = 0.0, off = 0.0, moved = 0.0;
    perpi_body_time* b = &l->body_time[body];
    *b = (perpi_body_time){.contact = -1, .partner = -1};
    if (displaces_early(l, body)) {
        find_pair_time(l, body);
        return;
    }
    for (int32_t k = 0; k < n; ++k) {
        const double jump = jump_of(l, first + k);
        const double s = l->step.offset_end[first + k] -
                         (l->step.offset != NULL ? l->step.offset[first + k] : 0.0);
        along -= s * jump;
        size += jump * jump;
        moved = perpi_larger(moved, fabs(s));
    }
    b->time = size > 0.0 ? along / size : 0.0;
    for (int32_t k = 0; k < n; ++k) {
        const double s = l->step.offset_end[first + k] -
                         (l->step.offset != NULL ? l->step.offset[first + k] : 0.0);
        off = perpi_larger(off, fabs(s + b->time * jump_of(l, first + k)));
    }
    double nearest = INFINITY;
    for (int32_t i = 0; i < l->f->contact_count; ++i) {
        const bool own = c[i].body_a == body || c[i].body_b == body;
        const double away =
            fabs(c[i].impact.time - b->time) + (own ? 0.0 : 0.5 * SAME_RULE * l->step.h_meeting);
        if (l->meeting[i].impacts && c[i].impulse[0] > 0.0 && away < nearest) {
            nearest = away;
            b->contact = i;
        }
    }
    const bool known = off <= SAME_RULE * (moved + b->time * sqrt(size)) &&
                       (moved == 0.0 || nearest <= SAME_RULE * l->step.h_meeting);
    if (!known) {
        l->report.flags |= PERPI_LINEAR_CHOICE;
    }
    if (!known || moved == 0.0) {
        b->contact = moved == 0.0 && nearest <= SAME_RULE * l->step.h_meeting ? b->contact : -1;
    }
}

static perp_status room_for_meetings(perpi_linear_step* l)
{
    const size_t contacts = (size_t)l->step.in.contact_count;
    const perp_model* model = l->step.in.model;
    const perpi_linear_size at = perpi_linear_size_of(model);
    perp_status status =
        perpi_grow(l->context, &l->meeting, &l->meeting_capacity, contacts, sizeof *l->meeting);
    if (status == PERP_OK) {
        status = perpi_grow(l->context, &l->body_time, &l->body_time_capacity, model->body_count,
                            sizeof *l->body_time);
    }
    if (status == PERP_OK) {
        status = perpi_grow(l->context, &l->rebound, &l->rebound_capacity, contacts + 1,
                            sizeof *l->rebound);
    }
    return status == PERP_OK ? perpi_grow(l->context, &l->gain, &l->gain_capacity,
                                          (size_t)(2 * at.n + 2 * at.total), sizeof *l->gain)
                             : status;
}

/* Whether the recorded drift follows the law with the model's coefficient, and another contact has
 * no equal right to the time of the pair. */
static bool follows_rules(const perpi_linear_step* l, int32_t i)
{
    const perp_contact* c = &l->step.in.contact[i];
    const perpi_meeting *m = &l->meeting[i], *first = &l->meeting[m->first];
    const double h = l->step.h_meeting;
    const double speed = fabs(m->u) + fabs(m->pull) + fabs(c->drift[0]);
    const double drift = drift_of(l, c, m, first->own);
    if (!(fabs(drift - c->drift[0]) <= SAME_RULE * speed)) {
        return false;
    }
    if (!m->impacts) {
        return true;
    }
    return fabs(first->own - c->impact.time) <= SAME_RULE * h &&
           (m->first == i || m->own - first->own > l->options.threshold * h);
}

/* Linearises the step without the impact, and that of free bodies. */
static perp_status make_gains(perpi_linear_step* l)
{
    perpi_linear_options options = l->options;
    options.other = options.shifted = options.one_sided = false;
    perp_status status = PERP_OK;
    l->met = true;
    if (l->free == NULL) {
        status = perpi_linear_step_create(l->context, &l->free);
    }
    if (status == PERP_OK && l->without == NULL) {
        status = perpi_linear_step_create(l->context, &l->without);
    }
    if (status == PERP_OK) {
        perpi_taken_step free = {.in = l->step.in, .free = true};
        free.in.h = l->step.h_meeting;
        status = perpi_linear_step_make(l->free, &free, &options);
    }
    if (status == PERP_OK && l->step.without != NULL) {
        status = perpi_linear_step_make(l->without, l->step.without, &options);
        l->knows_gain = status == PERP_OK;
        l->report.flags |= status == PERP_OK ? l->without->report.flags : 0;
    }
    return status;
}

perp_status perpi_linear_meetings(perpi_linear_step* l)
{
    const perpi_step_input* in = &l->step.in;
    const int32_t count = in->contact_count;
    perp_status status = room_for_meetings(l);
    if (status != PERP_OK) {
        return status;
    }
    status = make_gains(l);
    for (int32_t i = 0; status == PERP_OK && i < count; ++i) {
        const perp_contact* c = &in->contact[i];
        perpi_meeting* m = &l->meeting[i];
        *m = (perpi_meeting){.impacts = c->impact.time != 0.0 || c->impact.gain != 0.0,
                             .first = i,
                             .e = perp_model_pair_restitution(in->model, c->body_a, c->body_b)};
        l->rebound[i] = 0.0;
        status = evaluate_meeting(l, in->model, c, m);
    }
    for (int32_t i = 0; status == PERP_OK && i < count; ++i) {
        perpi_meeting* m = &l->meeting[i];
        if (m->impacts) {
            m->first = first_of_pair(in->contact, l->meeting, count, i);
        }
        if (in->contact[i].impulse[0] > 0.0 || m->impacts) {
            status = differentiate_meeting(l, i, m);
        }
    }
    for (int32_t i = 0; status == PERP_OK && i < count; ++i) {
        if (l->meeting[i].impacts) {
            status = differentiate_drift(l, i, &l->meeting[i]);
        }
        if (in->contact[i].impulse[0] > 0.0 && !follows_rules(l, i)) {
            l->report.flags |= PERPI_LINEAR_CHOICE;
        }
    }
    for (int32_t i = 0; status == PERP_OK && i < (int32_t)in->model->body_count; ++i) {
        l->body_time[i] = (perpi_body_time){.contact = -1, .partner = -1};
        if (in->model->body[i].dofs > 0) {
            find_body_time(l, i);
        }
    }
    return status;
}

bool perpi_linear_starts_displaced(const perpi_linear_step* l)
{
    const perp_model* model = l->step.in.model;
    bool any = false;
    for (int32_t i = 0; l->step.offset != NULL && i < (int32_t)model->body_count; ++i) {
        any = any ||
              l->step.offset[(size_t)perpi_v_stride(model) * model->body_count + (size_t)i] != 0.0;
    }
    return any;
}

perp_status perpi_linear_shift_gap(const perpi_linear_step* l, int32_t contact,
                                   perpi_constraint_derivative* d)
{
    const perp_contact* c = &l->step.in.contact[contact];
    const contact_place p = place_of_contact(l, c);
    const pair_field offset = field_of(l, c, l->step.offset);
    perpi_contact_derivative g;
    const perp_status status = perpi_contact_change(l->step.in.model, l->f->pose, c, &g);
    if (status == PERP_OK) {
        d->shifted = true;
        add_row(&p, &g, &offset, ENDS, 1.0 / l->step.in.h, d->u[0], d->shift);
    }
    return status;
}

double perpi_linear_shifted_gap(const perpi_linear_step* l, const perp_contact* c)
{
    const contact_place p = place_of_contact(l, c);
    const pair_field offset = field_of(l, c, l->step.offset);
    return row_value(&p, &offset, ENDS);
}

/* ---- linear functions of displacements -----------------------------------------------------------*/

static double apply(const perpi_linear_step* l, const perp_contact* c,
                    const double by[PERPI_MEETING_PARTS][PERPI_PAIR_DOFS], const double* dx)
{
    const perpi_linear_size at = perpi_linear_size_of(l->step.in.model);
    const double* part[] = {dx + at.q, dx + at.v, dx + at.offset, l->gain, l->gain + at.n};
    const int32_t body[2] = {c->body_a, c->body_b};
    double sum = 0.0;
    for (int32_t k = 0; k < l->columns.count; ++k) {
        const int32_t column = l->columns.item[k], place = perpi_linear_place(l, body, column);
        for (int i = 0; i < PERPI_MEETING_PARTS && place >= 0; ++i) {
            sum += by[i][column] * part[i][place];
        }
    }
    return sum;
}

static void apply_adjoint(const perpi_linear_step* l, const perp_contact* c,
                          const double by[PERPI_MEETING_PARTS][PERPI_PAIR_DOFS], double weight,
                          double* y)
{
    const perpi_linear_size at = perpi_linear_size_of(l->step.in.model);
    double* part[] = {y + at.q, y + at.v, y + at.offset, l->gain, l->gain + at.n};
    const int32_t body[2] = {c->body_a, c->body_b};
    for (int32_t k = 0; k < l->columns.count; ++k) {
        const int32_t column = l->columns.item[k], place = perpi_linear_place(l, body, column);
        for (int i = 0; i < PERPI_MEETING_PARTS && place >= 0; ++i) {
            part[i][place] += weight * by[i][column];
        }
    }
}

void perpi_linear_meeting_residual(const perpi_linear_step* l, const double* dx, double* r_u)
{
    for (int32_t i = 0; i < l->f->contact_count; ++i) {
        if (l->d_of[i] >= 0) {
            r_u[l->f->constraint[i].row] +=
                apply(l, &l->step.in.contact[i], l->meeting[i].drift, dx);
        }
    }
}

void perpi_linear_meeting_residual_adjoint(const perpi_linear_step* l, const double* m_u, double* y)
{
    for (int32_t i = 0; i < l->f->contact_count; ++i) {
        if (l->d_of[i] >= 0) {
            apply_adjoint(l, &l->step.in.contact[i], l->meeting[i].drift,
                          m_u[l->f->constraint[i].row], y);
        }
    }
}

static vec3 linear_of(const perpi_linear_step* l, const double* x)
{
    return l->step.in.model->dimension == 2 ? v3(x[0], x[1], 0.0) : v3_from(x);
}

static void write_linear(const perpi_linear_step* l, vec3 a, double* x)
{
    for (int32_t k = 0; k < l->step.in.model->dimension; ++k) {
        x[k] = v3_get(a, k);
    }
}

/* Two bodies that act only on each other are moved along their relative velocity r by the part of s
 * there, r (r . s) /
 * |r|^2: its change by ds (in and out: moved) and dr. */
static void turn_to_partner(const perpi_linear_step* l, int32_t body, const double* dv_problem,
                            double* moved)
{
    const perpi_body_time* time = &l->body_time[body];
    const double *own = dv_problem + l->f->dof[l->f->block_of[body]],
                 *other = dv_problem + l->f->dof[l->f->block_of[time->partner]];
    const vec3 r = velocity_between(l, body, time->partner);
    const vec3 s = v3_scale(-time->time, jump_linear(l, body));
    const vec3 dr = v3_sub(linear_of(l, own), linear_of(l, other));
    const double square = v3_dot(r, r), along = v3_dot(r, s) / square;
    const double change = (v3_dot(dr, s) + v3_dot(r, linear_of(l, moved))) / square -
                          2.0 * along * v3_dot(r, dr) / square;
    write_linear(l, v3_madd(v3_scale(along, dr), change, r), moved);
}

static void turn_to_partner_adjoint(const perpi_linear_step* l, int32_t body, double* weight,
                                    double* m)
{
    const perpi_body_time* time = &l->body_time[body];
    double *own = m + l->f->dof[l->f->block_of[body]],
           *other = m + l->f->dof[l->f->block_of[time->partner]];
    const vec3 r = velocity_between(l, body, time->partner);
    const vec3 s = v3_scale(-time->time, jump_linear(l, body)), by = linear_of(l, weight);
    const double square = v3_dot(r, r), along = v3_dot(r, s) / square,
                 push = v3_dot(by, r) / square;
    vec3 by_r = v3_madd(v3_scale(along, by), push, s);
    by_r = v3_madd(by_r, -2.0 * along * push, r);
    for (int32_t k = 0; k < l->step.in.model->dimension; ++k) {
        own[k] += v3_get(by_r, k);
        other[k] -= v3_get(by_r, k);
    }
    write_linear(l, v3_scale(push, r), weight);
}

/* ds+ = ds - dt (v+ - v-) - t (dv+ - dv-) */
void perpi_linear_offset(const perpi_linear_step* l, const double* dx, const double* dv_problem,
                         double* next)
{
    const perpi_linear_size at = perpi_linear_size_of(l->step.in.model);
    const int32_t n = perpi_v_stride(l->step.in.model);
    memcpy(next + at.offset, dx + at.offset, (size_t)at.n * sizeof *next);
    for (int32_t i = 0; i < l->body_count; ++i) {
        const perpi_linear_body* b = &l->body[i];
        const perpi_body_time* time = &l->body_time[b->body];
        const int32_t k = time->contact >= 0 ? l->meeting[time->contact].first : -1;
        const double dt = k >= 0 ? apply(l, &l->step.in.contact[k], l->meeting[k].time, dx) : 0.0;
        const int32_t dofs = l->f->dof[b->block + 1] - l->f->dof[b->block];
        double moved[6] = {0};
        for (int32_t j = 0; j < dofs; ++j) {
            const int32_t flat = n * b->body + j;
            moved[j] = -dt * jump_of(l, flat) -
                       time->time * (dv_problem[l->f->dof[b->block] + j] - dx[at.v + flat]);
        }
        if (time->partner >= 0) {
            turn_to_partner(l, b->body, dv_problem, moved);
        }
        for (int32_t j = 0; j < dofs; ++j) {
            next[at.offset + n * b->body + j] += moved[j];
        }
    }
}

void perpi_linear_offset_adjoint(const perpi_linear_step* l, const double* y_next, double* y,
                                 double* m)
{
    const perpi_linear_size at = perpi_linear_size_of(l->step.in.model);
    const int32_t n = perpi_v_stride(l->step.in.model);
    for (int32_t i = 0; i < at.n; ++i) {
        y[at.offset + i] += y_next[at.offset + i];
    }
    for (int32_t i = 0; i < l->body_count; ++i) {
        const perpi_linear_body* b = &l->body[i];
        const perpi_body_time* time = &l->body_time[b->body];
        const int32_t k = time->contact >= 0 ? l->meeting[time->contact].first : -1;
        const int32_t dofs = l->f->dof[b->block + 1] - l->f->dof[b->block];
        double dt = 0.0, weight[6] = {0};
        memcpy(weight, y_next + at.offset + n * b->body, (size_t)dofs * sizeof *weight);
        if (time->partner >= 0) {
            turn_to_partner_adjoint(l, b->body, weight, m);
        }
        for (int32_t j = 0; j < dofs; ++j) {
            const int32_t flat = n * b->body + j;
            const double by = weight[j];
            dt -= by * jump_of(l, flat);
            m[l->f->dof[b->block] + j] -= time->time * by;
            y[at.v + flat] += time->time * by;
        }
        if (k >= 0) {
            apply_adjoint(l, &l->step.in.contact[k], l->meeting[k].time, dt, y);
        }
    }
}

/* ---- the change of velocity in the step without the impact ----------------------------------------*/

static perpi_linear_step* gain_source(const perpi_linear_step* l, int which)
{
    return which == 1 ? l->free : l->knows_gain ? l->without : NULL;
}

perp_status perpi_linear_gain(perpi_linear_step* l, const double* dx, const double* parameter)
{
    const perpi_linear_size at = perpi_linear_size_of(l->step.in.model);
    double* after = l->gain + 2 * at.n;
    const double* own = parameter != NULL ? parameter + perpi_linear_own_size(l) : NULL;
    perp_status status = PERP_OK;
    memset(l->gain, 0, (size_t)(2 * at.n) * sizeof *l->gain);
    for (int which = 0; status == PERP_OK && which < 2; ++which) {
        perpi_linear_step* source = gain_source(l, which);
        if (source == NULL) {
            continue;
        }
        status = perpi_linear_step_forward(source, dx, own, after);
        own = own != NULL ? own + perpi_linear_own_size(source) : NULL;
        for (int32_t i = 0; i < at.n; ++i) {
            l->gain[which * at.n + i] = after[at.v + i] - dx[at.v + i];
        }
    }
    return status;
}

perp_status perpi_linear_gain_adjoint(perpi_linear_step* l, double* y, double* multiplier)
{
    const perpi_linear_size at = perpi_linear_size_of(l->step.in.model);
    double *seed = l->gain + 2 * at.n, *start = seed + at.total;
    double* own = multiplier != NULL ? multiplier + perpi_linear_own_size(l) : NULL;
    perp_status status = PERP_OK;
    for (int which = 0; status == PERP_OK && which < 2; ++which) {
        perpi_linear_step* source = gain_source(l, which);
        const double* gain = l->gain + which * at.n;
        if (source == NULL) {
            continue;
        }
        memset(seed, 0, (size_t)at.total * sizeof *seed);
        memcpy(seed + at.v, gain, (size_t)at.n * sizeof *seed);
        status = perpi_linear_step_adjoint(source, seed, start, own);
        own = own != NULL ? own + perpi_linear_own_size(source) : NULL;
        for (int32_t i = 0; status == PERP_OK && i < at.total; ++i) {
            y[i] += start[i];
        }
        for (int32_t i = 0; status == PERP_OK && i < at.n; ++i) {
            y[at.v + i] -= gain[i];
        }
    }
    return status;
}

int32_t perpi_linear_gain_size(const perpi_linear_step* l)
{
    int32_t size = 0;
    for (int which = 0; l->met && which < 2; ++which) {
        const perpi_linear_step* source = gain_source(l, which);
        size += source != NULL ? perpi_linear_own_size(source) : 0;
    }
    return size;
}

perp_status perpi_linear_gain_vary(perpi_linear_step* l, const perpi_variation* by, double weight,
                                   double* out)
{
    perp_status status = PERP_OK;
    for (int which = 0; status == PERP_OK && which < 2; ++which) {
        perpi_linear_step* source = gain_source(l, which);
        if (source != NULL) {
            status = perpi_linear_step_vary(source, by, weight, out);
            out += perpi_linear_own_size(source);
        }
    }
    return status;
}

/* ---- parameters ----------------------------------------------------------------------------------*/

void perpi_linear_meeting_vary(const perpi_linear_step* l, const perp_model* model, double weight,
                               double* offset)
{
    const int32_t n = perpi_v_stride(model);
    for (int32_t i = 0; i < l->f->contact_count; ++i) {
        const perp_contact* c = &l->contact[i];
        perpi_meeting *own = &l->meeting[i], m = *own, first = l->meeting[own->first];
        if (l->d_of[i] < 0) {
            continue;
        }
        m.e = perp_model_pair_restitution(model, c->body_a, c->body_b);
        /* these have been evaluated at the step's own geometry: they cannot fail */
        (void)evaluate_meeting(l, model, c, &m);
        (void)evaluate_meeting(l, model, &l->contact[own->first], &first);
        l->varied->b[l->varied->constraint[i].row] += drift_of(l, c, &m, first.own);
    }
    for (int32_t i = 0; i < l->body_count; ++i) {
        const perpi_linear_body* b = &l->body[i];
        const int32_t contact = l->body_time[b->body].contact;
        if (contact < 0 || l->d_of[l->meeting[contact].first] < 0) {
            continue;
        }
        const int32_t k = l->meeting[contact].first;
        perpi_meeting m = l->meeting[k];
        (void)evaluate_meeting(l, model, &l->contact[k], &m);
        const int32_t dofs = l->f->dof[b->block + 1] - l->f->dof[b->block];
        const int32_t partner = l->body_time[b->body].partner;
        double moved[6] = {0};
        for (int32_t j = 0; j < dofs; ++j) {
            moved[j] = -weight * (m.own - l->meeting[k].own) * jump_of(l, n * b->body + j);
        }
        if (partner >= 0) {
            write_linear(l, part_along(velocity_between(l, b->body, partner), linear_of(l, moved)),
                         moved);
        }
        for (int32_t j = 0; j < dofs; ++j) {
            offset[n * b->body + j] += moved[j];
        }
    }
}
