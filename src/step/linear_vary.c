/* src/step/linear_vary.c - what parameters change of a step: see linear_step.h. */
#include <string.h>

#include "step/force_rows.h"
#include "step/linear_parts.h"
#include "step/rolling.h"
#include "step/smooth_step.h"

/* ---- parameters ----------------------------------------------------------------------------------*/

static perp_status room_for_contacts(perpi_linear_step* l)
{
    return perpi_grow(l->context, &l->contact, &l->contact_capacity,
                      (size_t)l->step.in.contact_count, sizeof *l->contact);
}

/* The features of contacts that count, once for a step. */
static perp_status freeze_contacts(perpi_linear_step* l)
{
    const perpi_step_input* in = &l->step.in;
    const size_t n = (size_t)in->contact_count;
    if (l->frozen_done) {
        return PERP_OK;
    }
    perp_status status =
        perpi_grow(l->context, &l->frozen, &l->frozen_capacity, n, sizeof *l->frozen);
    for (size_t i = 0; status == PERP_OK && i < n; ++i) {
        if (l->d_of[i] >= 0) {
            status = perpi_contact_freeze(in->model, l->f->pose, &in->contact[i], &l->frozen[i]);
        }
    }
    l->frozen_done = status == PERP_OK;
    return status;
}

/* The drift of a rolling contact with both geometries moved by a part of their difference from the step's own. */
static void moved_drift(const perpi_linear_step* l, const perp_model* model,
                        const perp_contact* const own[2], const perp_contact* const other[2],
                        perpi_rolling_case rolling, double part, double drift[2])
{
    perp_contact c[2] = {*own[0], *own[1]};
    for (int i = 0; i < 2; ++i) {
        c[i].gap += part * (other[i]->gap - own[i]->gap);
        for (int k = 0; k < 3; ++k) {
            c[i].point[k] += part * (other[i]->point[k] - own[i]->point[k]);
            c[i].normal[k] += part * (other[i]->normal[k] - own[i]->normal[k]);
            c[i].tangent[k] += part * (other[i]->tangent[k] - own[i]->tangent[k]);
        }
    }
    perpi_rolling_drift(&(perpi_rolling_input){.model = model,
                                               .pose = l->f->pose,
                                               .v = l->step.in.v,
                                               .h = l->step.in.h,
                                               .h_before = l->step.h_before,
                                               .contact = &c[0],
                                               .before = &c[1]},
                        rolling, drift);
}

/* The slip of a rolling contact in another model: it depends on the contact of the step before,
 * too. It is a small difference of large speeds, and the rule is linear only over changes that are
 * small against it; so its derivative along the change of the geometry is taken. own: the contact
 * of the step. */
static perp_status vary_rolling(perpi_linear_step* l, const perp_model* model, bool geometry,
                                perpi_rolling_case rolling, const perp_contact* own,
                                perp_contact* c)
{
    static const double PART = 1e-5;
    const perp_contact* own_before = perpi_rolling_before(&l->solved, own);
    perp_contact same = *own_before, before;
    same.mu = perpi_model_friction(model, perpi_key_shape_a(own->key), perpi_key_shape_b(own->key));
    before = same;
    const perp_contact* const pair[2] = {own, &same};
    const perp_contact* const other[2] = {c, &before};
    double here[2], up[2], down[2];
    moved_drift(l, model, pair, pair, rolling, 0.0, here);
    if (geometry) {
        perpi_frozen_contact frozen;
        perpi_contact_geometry g;
        perp_status status =
            perpi_contact_freeze(l->step.in.model, l->pose_before, own_before, &frozen);
        if (status == PERP_OK) {
            status = perpi_frozen_at(model, l->pose_before, &frozen, &g);
        }
        if (status != PERP_OK) {
            return status;
        }
        before.gap = g.gap;
        v3_to(g.point_a, before.point);
        v3_to(g.normal, before.normal);
        moved_drift(l, l->step.in.model, pair, other, rolling, PART, up);
        moved_drift(l, l->step.in.model, pair, other, rolling, -PART, down);
        for (int k = 0; k < 2; ++k) {
            here[k] += (up[k] - down[k]) / (2.0 * PART);
        }
    }
    c->drift[1] = here[0];
    c->drift[2] = l->step.in.model->dimension == 3 ? here[1] : 0.0;
    return PERP_OK;
}

/* A contact of the step in another model. */
static perp_status vary_contact(perpi_linear_step* l, const perp_model* model, bool geometry,
                                int32_t i)
{
    const perpi_step_input* in = &l->step.in;
    perp_contact* c = &l->contact[i];
    const int32_t shape[2] = {perpi_key_shape_a(c->key), perpi_key_shape_b(c->key)};
    if (l->step.rolls) {
        if (c->cone != PERP_CONE_NONE) {
            c->mu = perpi_model_friction(model, shape[0], shape[1]);
        }
        return perpi_linear_roll_vary(l, model, geometry, i, c);
    }
    if (geometry) {
        perpi_contact_geometry g;
        const perp_status status = perpi_frozen_at(model, l->f->pose, &l->frozen[i], &g);
        if (status != PERP_OK) {
            return status;
        }
        const perpi_body *a = &model->body[c->body_a], *b = &model->body[c->body_b];
        const bool particles = a->dofs > 0 && b->dofs > 0 && (a->particle || b->particle);
        c->gap = g.gap;
        v3_to(g.normal, c->normal);
        v3_to(g.tangent, c->tangent);
        v3_to(!particles    ? g.point_a
              : a->particle ? l->f->pose[c->body_a].x
                            : v3_madd(l->f->pose[c->body_b].x, -g.gap, g.normal),
              c->point);
    }
    if (c->cone != PERP_CONE_NONE) {
        c->mu = perpi_model_friction(model, shape[0], shape[1]);
    }
    if (l->step.impact) {
        c->drift[0] = 0.0;
    } else if (geometry && l->step.offset != NULL) {
        c->drift[0] = perpi_linear_shifted_gap(l, c) / in->h;
    }
    if (l->d[l->d_of[i]].rolling != PERPI_ROLLING_NONE) {
        return vary_rolling(l, model, geometry, l->d[l->d_of[i]].rolling, &in->contact[i], c);
    }
    if (perpi_contact_driven(model, c)) {
        const vec3 t = v3_from(c->tangent), o = v3_cross(v3_from(c->normal), t);
        vec3 relative = v3(0, 0, 0);
        for (int side = 0; side < 2; ++side) {
            const perpi_surface* surface = &model->surface[shape[side]];
            const vec3 local = v3(perpi_value_at(&surface->velocity[0], in->t),
                                  perpi_value_at(&surface->velocity[1], in->t),
                                  perpi_value_at(&surface->velocity[2], in->t));
            const vec3 world = m3_mul(l->f->pose[side == 0 ? c->body_a : c->body_b].R, local);
            relative =
                surface->moving ? v3_madd(relative, side == 0 ? -1.0 : 1.0, world) : relative;
        }
        c->drift[1] = v3_dot(t, relative);
        c->drift[2] = v3_dot(o, relative);
    }
    return PERP_OK;
}

void perpi_linear_add_varied(const perpi_linear_step* l, double weight, double* out)
{
    const perpi_formulation* f = l->varied;
    const perp_contact_problem* P = &f->problem;
    double *r_v = out, *r_u = out + l->dofs, *g = r_u + l->rows;
    const double* M = P->M;
    for (int32_t b = 0; b < P->block_count; ++b) {
        const int32_t first = P->dof[b], n = P->dof[b + 1] - first;
        for (int32_t i = 0; i < n; ++i) {
            double sum = P->k[first + i];
            for (int32_t j = 0; j < n; ++j) {
                sum -= M[i * n + j] * l->v[first + j];
            }
            r_v[first + i] += weight * sum;
        }
        M += n * n;
    }
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        if (l->d_of[i] < 0) {
            continue;
        }
        const perp_constraint* c = &P->constraint[i];
        const double* J = P->J + c->jac;
        const bool contact = c->kind == PERP_CONSTRAINT_CONTACT, smooth = l->law[i].smooth;
        const bool closes = perpi_linear_closes(l, i); /* perpi_linear_close_vary */
        for (int32_t r = 0; r < c->rows; ++r) {
            const int32_t row = c->row + r;
            const double soft =
                contact || P->compliance == NULL ? 0.0 : P->compliance[row] * l->p[row];
            r_u[row] += closes ? 0.0 : weight * (P->b[row] + soft);
            if (l->law[i].bound[r] != 0) {
                g[row] += weight * (l->law[i].bound[r] < 0 ? P->lower[row] : P->upper[row]);
            }
        }
        g[c->row] += contact && !smooth ? weight * c->mu : 0.0;
        for (int side = 0; side < 2; ++side) {
            const int32_t block = c->block[side];
            const int32_t n = block >= 0 ? P->dof[block + 1] - P->dof[block] : 0;
            for (int32_t r = 0; r < c->rows && n > 0; ++r, J += n) {
                for (int32_t k = 0; k < n; ++k) {
                    r_u[c->row + r] += closes ? 0.0 : weight * J[k] * l->v[P->dof[block] + k];
                    r_v[P->dof[block] + k] += weight * J[k] * l->p[c->row + r];
                }
            }
        }
    }
}

/* The end that the velocities of the step lead to: l->q_next, l->v_next. */
static perp_status advance_varied(perpi_linear_step* l, const perpi_step_input* in)
{
    const perp_model* model = in->model;
    const size_t q = (size_t)perpi_q_stride(model) * model->body_count,
                 v = (size_t)perpi_v_stride(model) * model->body_count;
    perp_status status = perpi_grow(l->context, &l->q_next, &l->q_next_capacity, q, sizeof(double));
    if (status == PERP_OK) {
        status = perpi_grow(l->context, &l->v_next, &l->v_next_capacity, v, sizeof(double));
    }
    if (status != PERP_OK) {
        return status;
    }
    memcpy(l->q_next, in->q, q * sizeof *l->q_next);
    memcpy(l->v_next, l->step.v_solved, v * sizeof *l->v_next);
    if (l->step.offset != NULL) {
        perpi_displace(model, l->step.offset, false, l->q_next);
    }
    return perpi_advance(in, l->q_next, l->v_next);
}

/* A middle step: v' = 2 v* - v. */
static void extend_varied(perpi_linear_step* l, const perpi_step_input* in)
{
    const int32_t n = perpi_v_stride(in->model);
    for (int32_t i = 0; i < (int32_t)in->model->body_count; ++i) {
        for (int32_t k = n * i; k < n * i + in->model->body[i].dofs; ++k) {
            l->v_next[k] = 2.0 * l->v_next[k] - in->v[k];
        }
    }
}

/* out += weight (the state after the step, at the same v' and p). all: the length of the step differs. */
static perp_status add_next_state(perpi_linear_step* l, const perpi_step_input* in, bool all,
                                  double weight, double* out)
{
    const perp_model* model = in->model;
    const perpi_linear_size at = perpi_linear_size_of(model);
    const int32_t vn = perpi_v_stride(model);
    const int32_t bodies = (int32_t)model->body_count, s = perpi_s_size(model);
    perp_status status = advance_varied(l, in);
    if (status == PERP_OK) {
        status =
            perpi_grow(l->context, &l->s_next, &l->s_next_capacity, (size_t)s + 1, sizeof(double));
    }
    if (status != PERP_OK) {
        return status;
    }
    if (l->step.middle) {
        extend_varied(l, in);
    }
    if (l->step.carries) {
        perpi_momentum_carry(l->varied, model, in->v, l->q_next, l->v_next);
    }
    const double* v_end =
        l->step.corrected ? l->carried : l->step.v_end; /* before the projection */
    for (int32_t i = 0; i < bodies; ++i) {
        for (int32_t k = 0; k < vn; ++k) {
            out[at.v + vn * i + k] += weight * (l->v_next[vn * i + k] - v_end[vn * i + k]);
        }
        if (model->body[i].dofs > 0 && !all) {
            continue; /* moved by v' alone */
        }
        const perpi_pose a = perpi_state_pose(model, l->step.q_end, i);
        const perpi_pose b = perpi_state_pose(model, l->q_next, i);
        const vec3 moved = v3_sub(b.x, a.x);
        perpi_linear_add_place(l, out + at.q, i, v3_scale(weight, moved));
        perpi_linear_add_turn(
            l, out + at.q, i,
            model->dimension == 2
                ? v3(0, 0, weight * (l->q_next[3 * i + 2] - l->step.q_end[3 * i + 2]))
                : v3_scale(weight, q4_log(q4_mul(b.q, q4_conj(a.q)))));
    }
    if (model->controller_count > 0) {
        perpi_forces_remember(l->varied, model, in->h, l->v, l->p, in->s, l->s_next);
        const int32_t first = s - (int32_t)model->controller_count;
        for (int32_t i = 0; i < (int32_t)model->controller_count; ++i) {
            out[at.s + i] += weight * l->s_next[first + i];
        }
    }
    return PERP_OK;
}

/* The problem of the step with the contacts l->contact. */
static perp_status formulate_varied(perpi_linear_step* l, const perpi_step_input* in)
{
    if (l->step.middle) { /* v* leads to another end */
        const perp_status moved = advance_varied(l, in);
        if (moved != PERP_OK) {
            return moved;
        }
    }
    if (!l->step.impact) {
        perpi_step_input of_step = *in;
        of_step.q_end = l->step.middle ? l->q_next : in->q_end;
        of_step.hold = l->f->hold; /* gaps of contacts that do not act are not varied */
        return perpi_formulate(l->varied, &of_step);
    }
    /* drift[0] is e times the normal velocity before the impact: linear_step.c */
    const perp_status status = perpi_formulate_other(
        l->varied, in->model, PERPI_PURPOSE_IMPACT, 1.0,
        &(perpi_placed){in->q, in->v, in->contact, in->contact_count, in->joint});
    for (int32_t i = 0; status == PERP_OK && !l->met && i < in->contact_count; ++i) {
        if (l->rebound[i] != 0.0) {
            const double e = l->rebound[i] *
                             perp_model_pair_restitution(in->model, in->contact[i].body_a,
                                                         in->contact[i].body_b) /
                             perp_model_pair_restitution(l->step.in.model, in->contact[i].body_a,
                                                         in->contact[i].body_b);
            double* b = &l->varied->b[l->varied->constraint[i].row];
            *b += e * (perpi_formulation_speed(l->varied, i, 0, l->v_start) + *b);
        }
    }
    return status;
}

/* Joints of a step that is cut short close their errors within the time that it should have had
 * (adaptive.c), which does not depend on its length. */
static perp_status ease_joints(perpi_linear_step* l, perpi_step_input* in)
{
    const size_t joints = in->model->joint_count;
    const perp_status status =
        perpi_grow(l->context, &l->held, &l->held_capacity, joints, sizeof *l->held);
    for (size_t i = 0; status == PERP_OK && i < joints; ++i) {
        l->held[i] = in->joint[i];
        l->held[i].ease *= l->held[i].ease > 1.0 ? l->step.in.h / in->h : 1.0;
    }
    in->joint = status == PERP_OK && joints > 0 ? l->held : in->joint;
    return status;
}

perp_status perpi_linear_step_vary(perpi_linear_step* l, const perpi_variation* by, double weight,
                                   double* out)
{
    const perp_model* model = by->model;
    const bool geometry = by->geometry;
    perpi_step_input in = l->step.in;
    perp_status status = room_for_contacts(l);
    if (status == PERP_OK && geometry && !l->step.rolls) {
        status = freeze_contacts(l);
    }
    if (status != PERP_OK) {
        return status;
    }
    in.t += by->dt;
    in.h += by->dh;
    status = by->dh != 0.0 ? ease_joints(l, &in) : PERP_OK;
    if (in.contact_count > 0) {
        memcpy(l->contact, in.contact, (size_t)in.contact_count * sizeof *l->contact);
    }
    for (int32_t i = 0; status == PERP_OK && i < in.contact_count; ++i) {
        if (l->d_of[i] >= 0) {
            status = vary_contact(l, model, geometry, i);
        }
    }
    if (status != PERP_OK) {
        return status;
    }
    in.model = model;
    in.contact = l->contact;
    status = formulate_varied(l, &in);
    if (status == PERP_OK &&
        (l->varied->problem.dof_count != l->dofs || l->varied->problem.row_count != l->rows)) {
        return perpi_fail(l->context, PERP_ERROR_UNSUPPORTED,
                          "gradient: a parameter changes the rows of the step at t = %.9g", in.t);
    }
    if (status == PERP_OK && l->met) {
        perpi_linear_meeting_vary(l, model, weight,
                                  out + l->dofs + 2 * l->rows + perpi_linear_size_of(model).offset);
        status = perpi_linear_gain_vary(l, by, weight, out + perpi_linear_own_size(l));
    }
    if (status == PERP_OK) {
        perpi_linear_add_varied(l, weight, out);
        if (in.settings->smooth > 0.0 && !l->step.free) {
            perpi_smooth_laws_vary(l, model, weight, out + l->dofs + l->rows);
        }
        status = l->step.impact
                     ? PERP_OK
                     : add_next_state(l, &in, by->dh != 0.0, weight, out + l->dofs + 2 * l->rows);
    }
    if (status == PERP_OK && l->ends) {
        perpi_linear_close_vary(l, &in, weight, out + l->dofs);
    }
    if (status == PERP_OK && l->step.corrected) {
        status = perpi_linear_project_vary(l, model, weight, out + perpi_linear_plain_size(l));
    }
    return status;
}

/* The coefficients that mu of a contact comes from: a pair's, or two whose geometric mean it is. */
typedef struct friction_source {
    int32_t pair;     /* -1: the two */
    bool shape[2];    /* of a shape, else of a body */
    int32_t index[2]; /* of it */
    double slope[2];  /* d mu */
} friction_source;

static friction_source friction_of(const perp_model* model, const perp_contact* c)
{
    const int32_t shape[2] = {perpi_key_shape_a(c->key), perpi_key_shape_b(c->key)};
    const perpi_surface* s[2] = {&model->surface[shape[0]], &model->surface[shape[1]]};
    const bool own = !isnan(s[0]->friction) || !isnan(s[1]->friction);
    const perpi_pair* pair = own ? NULL : perpi_model_pair(model, s[0]->body, s[1]->body);
    friction_source f = {.pair = -1};
    if (pair != NULL && !isnan(pair->mu)) {
        f.pair = (int32_t)(pair - model->pair);
        return f;
    }
    double mu[2];
    for (int side = 0; side < 2; ++side) {
        f.shape[side] = !isnan(s[side]->friction);
        f.index[side] = f.shape[side] ? shape[side] : s[side]->body;
        mu[side] = f.shape[side] ? s[side]->friction : model->body[s[side]->body].friction;
    }
    for (int side = 0; side < 2; ++side) {
        f.slope[side] = mu[side] > 0.0 ? 0.5 * sqrt(mu[1 - side] / mu[side]) : 0.0;
    }
    return f;
}

static void add_friction(const perp_model* model, const perp_contact* c, double weight,
                         perpi_linear_light* light)
{
    const friction_source f = friction_of(model, c);
    if (f.pair >= 0) {
        light->friction_pair[f.pair] += weight;
        return;
    }
    for (int side = 0; side < 2; ++side) {
        double* of = f.shape[side] ? light->friction_shape : light->friction_body;
        of[f.index[side]] += weight * f.slope[side];
    }
}

/* What mu changes of the slip of a rolling contact, by the multipliers of its rows. */
static double rolling_friction(const perpi_linear_step* l, int32_t contact, const double* m_u)
{
    double sum = 0.0;
    const perp_constraint* c = &l->f->constraint[contact];
    const perpi_constraint_derivative* d = l->d_of[contact] >= 0 ? &l->d[l->d_of[contact]] : NULL;
    for (int32_t r = 1; d != NULL && d->rolling == PERPI_ROLLING_BETWEEN && r < 3 && r < c->rows;
         ++r) {
        sum += d->push_mu[r - 1] * m_u[c->row + r];
    }
    return sum;
}

void perpi_linear_step_light(const perpi_linear_step* l, const double* multiplier,
                             perpi_linear_light* light)
{
    const perpi_step_input* in = &l->step.in;
    const perp_model* model = in->model;
    const double h = l->step.middle ? l->f->theta * in->h : in->h; /* of forces */
    for (int32_t i = 0; i < l->body_count; ++i) {
        const perpi_linear_body* b = &l->body[i];
        const perpi_body* body = &model->body[b->body];
        const double* m = multiplier + l->f->dof[b->block];
        const double* next = l->v + l->f->dof[b->block];
        const double* v = in->v + (size_t)perpi_v_stride(model) * (size_t)b->body;
        for (int32_t k = 0; k < model->dimension; ++k) {
            const double g = v3_get(body->gravity, k);
            light->mass[b->body] += m[k] * (v[k] + h * g - next[k]);
            light->gravity[3 * b->body + k] += m[k] * h * body->mass;
            light->drag[2 * b->body] -= m[k] * h * next[k];
        }
        for (int32_t k = model->dimension; k < body->dofs; ++k) {
            light->inertia[b->body] += m[k] * (v[k] - next[k]);
            light->drag[2 * b->body + 1] -= m[k] * h * next[k];
        }
    }
    const double* g = multiplier + l->dofs + l->rows;
    for (int32_t i = 0; i < l->f->contact_count; ++i) {
        const double weight =
            g[l->f->constraint[i].row] + rolling_friction(l, i, multiplier + l->dofs);
        if (weight != 0.0) {
            add_friction(model, &in->contact[i], weight, light);
        }
    }
}

/* d mu of a contact by one coefficient. */
static double friction_slope(const perp_model* model, const perp_contact* c, perpi_light_kind kind,
                             int32_t index)
{
    const friction_source f = friction_of(model, c);
    double sum = 0.0;
    if (f.pair >= 0 || kind == PERPI_LIGHT_FRICTION_PAIR) {
        return f.pair == index && kind == PERPI_LIGHT_FRICTION_PAIR ? 1.0 : 0.0;
    }
    for (int side = 0; side < 2; ++side) {
        const bool same =
            f.shape[side] == (kind == PERPI_LIGHT_FRICTION_SHAPE) && f.index[side] == index;
        sum += same ? f.slope[side] : 0.0;
    }
    return sum;
}

void perpi_linear_step_light_change(const perpi_linear_step* l, perpi_light_kind kind,
                                    int32_t index, int32_t part, double value, double* parameter)
{
    const perp_model* model = l->step.in.model;
    const double h = l->step.middle ? l->f->theta * l->step.in.h : l->step.in.h;
    if (kind >= PERPI_LIGHT_FRICTION_BODY) {
        double* mu = parameter + l->dofs + l->rows;
        for (int32_t i = 0; i < l->f->contact_count; ++i) {
            const perp_contact* c = &l->step.in.contact[i];
            if (l->d_of[i] < 0 || c->cone == PERP_CONE_NONE) {
                continue;
            }
            const double by = value * friction_slope(model, c, kind, index);
            const perp_constraint* x = &l->f->constraint[i];
            const perpi_constraint_derivative* d = &l->d[l->d_of[i]];
            mu[x->row] += by;
            for (int32_t r = 1; d->rolling == PERPI_ROLLING_BETWEEN && r < 3 && r < x->rows; ++r) {
                parameter[l->dofs + x->row + r] += by * d->push_mu[r - 1];
            }
        }
        return;
    }
    const int32_t block = l->f->block_of[index];
    if (block < 0) {
        return;
    }
    const perpi_body* body = &model->body[index];
    double* r = parameter + l->f->dof[block];
    const double *next = l->v + l->f->dof[block],
                 *v = l->step.in.v + (size_t)perpi_v_stride(model) * (size_t)index;
    const int32_t linear = model->dimension;
    switch (kind) {
    case PERPI_LIGHT_MASS:
        for (int32_t k = 0; k < linear; ++k) {
            r[k] += value * (v[k] + h * v3_get(body->gravity, k) - next[k]);
        }
        break;
    case PERPI_LIGHT_INERTIA:
        for (int32_t k = linear; k < body->dofs; ++k) {
            r[k] += value * (v[k] - next[k]);
        }
        break;
    case PERPI_LIGHT_GRAVITY: r[part] += part < linear ? value * h * body->mass : 0.0; break;
    default:
        for (int32_t k = part == 0 ? 0 : linear; k < (part == 0 ? linear : body->dofs); ++k) {
            r[k] -= value * h * next[k];
        }
        break;
    }
}
