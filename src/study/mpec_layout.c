/* src/study/mpec_layout.c - a program from its trajectories: constraints of the steps, sizes,
 * bounds, first guess; see mpec.h. */
#include <math.h>
#include <string.h>

#include "sim/candidates.h"
#include "step/force_rows.h"
#include "study/mpec.h"

/* ---- creation --------------------------------------------------------------------------------------*/

static perp_status allocate_bodies(perpi_mpec* m)
{
    const size_t n = (size_t)m->body_count + 1;
    perp_context* c = m->context;
    perp_status status = perpi_alloc(c, n, sizeof *m->place, &m->place);
    status = status == PERP_OK ? perpi_alloc(c, n, sizeof *m->dofs, &m->dofs) : status;
    status = status == PERP_OK ? perpi_alloc(c, n, sizeof *m->length, &m->length) : status;
    status = status == PERP_OK ? perpi_alloc(c, n, sizeof *m->colour, &m->colour) : status;
    status = status == PERP_OK ? perpi_alloc(c, n, sizeof *m->diagonal, &m->diagonal) : status;
    status = status == PERP_OK ? perpi_alloc(c, n, sizeof *m->pose, &m->pose) : status;
    return status;
}

static perp_status allocate_scratch(perpi_mpec* m, const perp_model* model)
{
    perp_context* c = m->context;
    const size_t total = (size_t)perpi_linear_size_of(model).total + 1;
    m->dx_size = total;
    perp_status status = perpi_alloc(c, (size_t)m->q_size + 1, sizeof *m->q, &m->q);
    status =
        status == PERP_OK ? perpi_alloc(c, (size_t)m->v_size + 1, sizeof *m->v, &m->v) : status;
    status = status == PERP_OK
                 ? perpi_alloc(c, (size_t)m->q_size + 1, sizeof *m->q_after, &m->q_after)
                 : status;
    status = status == PERP_OK ? perpi_alloc(c, total, sizeof *m->dx, &m->dx) : status;
    status = status == PERP_OK ? perpi_alloc(c, total, sizeof *m->next, &m->next) : status;
    status = status == PERP_OK
                 ? perpi_alloc(c, (size_t)perpi_s_size(model) + 1, sizeof *m->memory, &m->memory)
                 : status;
    status = status == PERP_OK ? perpi_alloc(c, model->joint_count + 1, sizeof *m->joint, &m->joint)
                               : status;
    for (size_t i = 0; status == PERP_OK && i < model->joint_count; ++i) {
        m->joint[i] = (perpi_joint_input){.target = NAN, .ease = 1.0};
    }
    return status;
}

perp_status perpi_mpec_create(perp_context* context, perp_sim* sim, perpi_mpec_model model_of,
                              const perpi_mpec_parameter* parameter, int32_t count, double speed,
                              perpi_mpec** out)
{
    perpi_mpec* m = NULL;
    perp_status status = perpi_sim_check_equations(sim, "mpec");
    if (status == PERP_OK) {
        status = perpi_alloc(context, 1, sizeof *m, &m);
    }
    if (status != PERP_OK) {
        return status;
    }
    const perp_model* model = perp_sim_model(sim);
    m->context = context;
    m->model_of = model_of;
    m->settings = *perpi_sim_step_settings(sim);
    m->carries = perpi_sim_has_v_solved(sim);
    m->speed = speed;
    m->body_count = (int32_t)model->body_count;
    m->dimension = model->dimension;
    m->q_size = perpi_q_stride(model) * m->body_count;
    m->v_size = perpi_v_stride(model) * m->body_count;
    m->parameter_count = count;
    status = perpi_alloc(context, (size_t)count + 1, sizeof *m->parameter, &m->parameter);
    if (status == PERP_OK) {
        memcpy(m->parameter, parameter, (size_t)count * sizeof *parameter);
        status = perpi_alloc(context, (size_t)count + 1, sizeof *m->general, &m->general);
    }
    status = status == PERP_OK ? allocate_bodies(m) : status;
    status = status == PERP_OK ? allocate_scratch(m, model) : status;
    status = status == PERP_OK ? perpi_linear_step_create(context, &m->linear) : status;
    if (status != PERP_OK) {
        perpi_mpec_destroy(m);
        return status;
    }
    for (int32_t i = 0; i < m->body_count; ++i) {
        const perpi_body* body = &model->body[i];
        m->dofs[i] = body->dofs;
        m->place[i] = body->dofs > 0 ? m->nd : -1;
        m->nd += body->dofs;
        m->length[i] = isfinite(body->reach) && body->reach > 0.0 ? body->reach : 1.0;
        m->diagonal[i] = m->dimension == 2 || body->particle;
    }
    m->stride = 2 * m->nd;
    *out = m;
    return PERP_OK;
}

void perpi_mpec_destroy(perpi_mpec* m)
{
    if (m == NULL) {
        return;
    }
    perpi_linear_step_destroy(m->linear);
    void* const owned[] = {m->parameter,
                           m->general,
                           m->place,
                           m->dofs,
                           m->length,
                           m->colour,
                           m->diagonal,
                           m->pose,
                           m->trajectory,
                           m->step,
                           m->contact,
                           m->frozen,
                           m->constraint,
                           m->pair,
                           m->observation,
                           m->start,
                           m->reference_q,
                           m->reference_v,
                           m->local,
                           m->slope,
                           m->z,
                           m->low,
                           m->high,
                           m->unit,
                           m->row_unit,
                           m->jacobian_row,
                           m->jacobian_column,
                           m->hessian_row,
                           m->hessian_column,
                           m->at,
                           m->value,
                           m->jacobian,
                           m->joint,
                           m->q,
                           m->v,
                           m->q_after,
                           m->dx,
                           m->r_v,
                           m->r_u,
                           m->next,
                           m->memory,
                           m->other,
                           m->moved,
                           m->tight};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; ++i) {
        perpi_free(m->context, owned[i]);
    }
    perpi_free(m->context, m);
}

/* Room for `more` further items. */
#define GROW(m, array, room, count, more)                                                          \
    perpi_grow((m)->context, &(m)->array, &(m)->room, (count) + (more), sizeof *(m)->array)

static perp_status add_contacts(perpi_mpec* m, const perpi_mpec_run* run, int32_t step,
                                const perp_model* model, perpi_mpec_step* s)
{
    const int32_t first = run->contact_start[step], count = run->contact_start[step + 1] - first;
    s->contact = m->contact_count;
    s->contact_count = count;
    perp_status status = GROW(m, contact, contact_room, m->contact_count, (size_t)count);
    if (status == PERP_OK) {
        status = GROW(m, frozen, frozen_room, m->contact_count, (size_t)count);
    }
    for (int32_t i = 0; i < m->body_count; ++i) {
        m->pose[i] = perpi_state_pose(model, run->q + (size_t)step * (size_t)m->q_size, i);
    }
    for (int32_t i = 0; status == PERP_OK && i < count; ++i) {
        perp_contact* c = &m->contact[m->contact_count];
        *c = run->contact[first + i];
        memset(c->impulse, 0, sizeof c->impulse);
        status = perpi_contact_freeze(model, m->pose, c, &m->frozen[m->contact_count]);
        m->contact_count += 1;
    }
    return status;
}

perp_status perpi_mpec_add_trajectory(perpi_mpec* m, const perpi_mpec_run* run)
{
    const perp_model* model;
    double* start = NULL;
    perp_status status =
        perpi_alloc(m->context, (size_t)m->parameter_count + 1, sizeof *start, &start);
    for (int32_t i = 0; status == PERP_OK && i < m->parameter_count; ++i) {
        start[i] = m->parameter[i].start;
    }
    status = status == PERP_OK ? m->model_of.at(m->model_of.user, start, &model) : status;
    perpi_free(m->context, start);
    const size_t states = (size_t)run->steps + 1, observations = (size_t)run->observation_count;
    status =
        status == PERP_OK ? GROW(m, trajectory, trajectory_room, m->trajectory_count, 1) : status;
    status =
        status == PERP_OK ? GROW(m, step, step_room, m->step_count, (size_t)run->steps) : status;
    status = status == PERP_OK
                 ? GROW(m, observation, observation_room, m->observation_count, observations)
                 : status;
    status =
        status == PERP_OK ? GROW(m, start, start_room, m->start_count, (size_t)m->stride) : status;
    status = status == PERP_OK ? GROW(m, reference_q, reference_q_room, m->reference_q_count,
                                      states * (size_t)m->q_size)
                               : status;
    status = status == PERP_OK ? GROW(m, reference_v, reference_v_room, m->reference_v_count,
                                      states * (size_t)m->v_size)
                               : status;
    if (status != PERP_OK) {
        return status;
    }
    m->trajectory[m->trajectory_count] =
        (perpi_mpec_trajectory){.step = m->step_count,
                                .steps = run->steps,
                                .reference_q = m->reference_q_count,
                                .reference_v = m->reference_v_count,
                                .start = m->start_count,
                                .observation = m->observation_count,
                                .observation_count = run->observation_count};
    memcpy(m->reference_q + m->reference_q_count, run->q,
           states * (size_t)m->q_size * sizeof(double));
    memcpy(m->reference_v + m->reference_v_count, run->v,
           states * (size_t)m->v_size * sizeof(double));
    memcpy(m->start + m->start_count, run->start, (size_t)m->stride * sizeof *m->start);
    if (observations > 0) {
        memcpy(m->observation + m->observation_count, run->observation,
               observations * sizeof *m->observation);
    }
    for (int32_t i = 0; status == PERP_OK && i < run->steps; ++i) {
        perpi_mpec_step* s = &m->step[m->step_count + (size_t)i];
        *s = (perpi_mpec_step){.t = run->time[i], .h = run->time[i + 1] - run->time[i]};
        status = add_contacts(m, run, i, model, s);
    }
    m->trajectory_count += 1;
    m->step_count += (size_t)run->steps;
    m->observation_count += observations;
    m->start_count += (size_t)m->stride;
    m->reference_q_count += states * (size_t)m->q_size;
    m->reference_v_count += states * (size_t)m->v_size;
    return status;
}

int32_t perpi_mpec_place(const perpi_mpec* m, int32_t body, int32_t k, bool velocity)
{
    if (body < 0 || m->place[body] < 0 || k < 0 || k >= m->dofs[body]) {
        return -1;
    }
    return m->place[body] + k + (velocity ? m->nd : 0);
}

void perpi_mpec_state(const perpi_mpec* m, const perpi_mpec_trajectory* t, int32_t state,
                      const double* z, double* q, double* v)
{
    const double* x = z + t->x;
    const int32_t index = state;
    if (index > 0) {
        x = z + m->step[t->step + (size_t)index - 1].x_next;
    }
    memcpy(q, m->reference_q + t->reference_q + (size_t)index * (size_t)m->q_size,
           (size_t)m->q_size * sizeof *q);
    memcpy(v, m->reference_v + t->reference_v + (size_t)index * (size_t)m->v_size,
           (size_t)m->v_size * sizeof *v);
    for (int32_t b = 0; b < m->body_count; ++b) {
        const double *d = x + m->place[b], *rate = d + m->nd;
        if (m->place[b] < 0) {
            continue;
        }
        if (m->dimension == 2) {
            for (int32_t k = 0; k < m->dofs[b]; ++k) {
                q[3 * b + k] += d[k];
                v[3 * b + k] = rate[k];
            }
            continue;
        }
        double *pose = q + 7 * (size_t)b, *to = v + 6 * (size_t)b;
        for (int32_t k = 0; k < m->dofs[b]; ++k) {
            to[k] = rate[k];
        }
        v3_to(v3_add(v3_from(pose), v3_from(d)), pose);
        if (m->dofs[b] == 6) {
            const quat turned =
                q4_unit(q4_mul(q4_exp(v3_from(d + 3)), (quat){pose[3], pose[4], pose[5], pose[6]}));
            pose[3] = turned.w;
            pose[4] = turned.x;
            pose[5] = turned.y;
            pose[6] = turned.z;
        }
    }
}

/* ---- constraints of the steps ----------------------------------------------------------------------*/

static int32_t body_of_block(const perpi_mpec* m, const int32_t* block_of, int32_t block)
{
    for (int32_t i = 0; block >= 0 && i < m->body_count; ++i) {
        if (block_of[i] == block) {
            return i;
        }
    }
    return -1;
}

static perp_status classify(perpi_mpec* m, const perp_model* model, const perp_constraint* c,
                            perpi_mpec_constraint* out)
{
    out->law_count = c->rows;
    switch (c->kind) {
    case PERP_CONSTRAINT_EQUALITY: out->kind = PERPI_MPEC_EQUALITY; return PERP_OK;
    case PERP_CONSTRAINT_BOUNDED: out->kind = PERPI_MPEC_BOUNDED; return PERP_OK;
    default: break;
    }
    if (c->rows == 1) {
        out->kind = PERPI_MPEC_FRICTIONLESS;
    } else if (c->rows == 2) {
        out->kind = PERPI_MPEC_PLANAR;
    } else if (c->rows == 3 && c->cone == PERP_CONE_QUADRATIC) {
        out->kind = PERPI_MPEC_ROUND;
    } else if (c->rows == 3 && c->cone == PERP_CONE_POLYGON &&
               c->directions <= PERPI_MPEC_DIRECTIONS) {
        out->kind = PERPI_MPEC_POLYGON;
        out->directions = c->directions;
    } else {
        return perpi_fail(m->context, PERP_ERROR_UNSUPPORTED,
                          "mpec takes friction cones 'quadratic' and 'polygon' with at most %d "
                          "directions, not that of '%s' and '%s'",
                          PERPI_MPEC_DIRECTIONS,
                          out->body[0] >= 0 ? model->body[out->body[0]].name : "the ground",
                          out->body[1] >= 0 ? model->body[out->body[1]].name : "the ground");
    }
    return PERP_OK;
}

static perp_status add_constraint(perpi_mpec* m, const perp_model* model,
                                  const perp_contact_problem* P, int32_t index,
                                  const perpi_mpec_step* s, int32_t* support)
{
    const perp_constraint* c = &P->constraint[index];
    perp_status status = GROW(m, constraint, constraint_room, m->constraint_count, 1);
    if (status != PERP_OK) {
        return status;
    }
    perpi_mpec_constraint* out = &m->constraint[m->constraint_count++];
    *out = (perpi_mpec_constraint){.row = c->row, .rows = c->rows, .point = -1};
    const int32_t* block_of = perpi_linear_block_of(m->linear);
    for (int side = 0; side < 2; ++side) {
        const int32_t block = c->block[side];
        out->block[side] = block;
        out->dofs[side] = block >= 0 ? P->dof[block + 1] - P->dof[block] : 0;
        out->body[side] = body_of_block(m, block_of, block);
        out->turns[side] = out->body[side] >= 0 ? out->dofs[side] : 0;
    }
    if (c->rows > PERPI_MPEC_ROWS) {
        return perpi_fail(m->context, PERP_ERROR_UNSUPPORTED, "mpec: a constraint with %d rows",
                          c->rows);
    }
    if (index < s->contact_count) {
        out->key = m->contact[s->contact + (size_t)index].key;
    } else if (c->kind == PERP_CONSTRAINT_CONTACT) {
        out->point = (*support)++;
    }
    const double* w = perpi_linear_mobility(m->linear);
    out->w_n = w[c->row];
    for (int32_t r = 0; r < c->rows; ++r) {
        out->w_t[r] = w[c->row + r];
    }
    if (c->kind == PERP_CONSTRAINT_CONTACT && c->rows > 2 && out->w_t[2] > out->w_t[1]) {
        out->w_t[1] = out->w_t[2];
    }
    return classify(m, model, c, out);
}

/* Bodies on which one row depends, each pair once. */
static perp_status add_pairs(perpi_mpec* m, const perp_model* model, perpi_mpec_step* s)
{
    s->pair = m->pair_count;
    const size_t more = (size_t)s->constraint_count + model->spring_count + model->joint_count;
    perp_status status = GROW(m, pair, pair_room, m->pair_count, more);
    for (size_t i = 0; status == PERP_OK && i < more; ++i) {
        int32_t a, b;
        if (i < (size_t)s->constraint_count) {
            a = m->constraint[s->constraint + i].body[0];
            b = m->constraint[s->constraint + i].body[1];
        } else if (i < (size_t)s->constraint_count + model->spring_count) {
            const perpi_spring* spring = &model->spring[i - (size_t)s->constraint_count];
            a = spring->body[0];
            b = spring->body[1];
        } else {
            const perpi_joint* joint =
                &model->joint[i - (size_t)s->constraint_count - model->spring_count];
            a = joint->body[0];
            b = joint->body[1];
        }
        bool known = a < 0 || b < 0 || m->place[a] < 0 || m->place[b] < 0;
        for (int32_t k = 0; !known && k < s->pair_count; ++k) {
            const int32_t* other = m->pair[s->pair + (size_t)k].body;
            known = (other[0] == a && other[1] == b) || (other[0] == b && other[1] == a);
        }
        if (!known) {
            m->pair[m->pair_count++] = (perpi_mpec_pair){{a, b}};
            s->pair_count += 1;
        }
    }
    return status;
}

perp_status perpi_mpec_evaluate_reference(perpi_mpec* m, const perp_model* model,
                                          const perpi_mpec_trajectory* t, int32_t index,
                                          const double* v)
{
    const perpi_mpec_step* s = &m->step[t->step + (size_t)index];
    const double* q = m->reference_q + t->reference_q + (size_t)index * (size_t)m->q_size;
    const double* rate = m->reference_v + t->reference_v + (size_t)index * (size_t)m->v_size;
    const perpi_step_point point = {.in = {.model = model,
                                           .t = s->t,
                                           .h = s->h,
                                           .q = q,
                                           .v = rate,
                                           .contact = m->contact + s->contact,
                                           .contact_count = s->contact_count,
                                           .joint = m->joint,
                                           .s = m->memory,
                                           .q_end = q,
                                           .v_end = rate,
                                           .settings = &m->settings},
                                    .carries = m->carries,
                                    .v = v};
    return perpi_linear_step_at(m->linear, &point);
}

static perp_status find_constraints(perpi_mpec* m, const perp_model* model)
{
    perp_status status = PERP_OK;
    for (size_t k = 0; status == PERP_OK && k < m->trajectory_count; ++k) {
        const perpi_mpec_trajectory* t = &m->trajectory[k];
        for (int32_t i = 0; status == PERP_OK && i < t->steps; ++i) {
            perpi_mpec_step* s = &m->step[t->step + (size_t)i];
            status = perpi_mpec_evaluate_reference(m, model, t, i, NULL);
            if (status != PERP_OK) {
                return status;
            }
            const perp_contact_problem* P = perpi_linear_problem(m->linear);
            int32_t support = 0;
            s->dofs = P->dof_count;
            s->rows = P->row_count;
            s->constraint = m->constraint_count;
            s->constraint_count = P->constraint_count;
            for (int32_t c = 0; status == PERP_OK && c < P->constraint_count; ++c) {
                status = add_constraint(m, model, P, c, s, &support);
            }
            status = status == PERP_OK ? add_pairs(m, model, s) : status;
        }
    }
    return status;
}

/* Colours: two bodies of one colour have no pair and no common partner. */
static perp_status colour_bodies(perpi_mpec* m)
{
    const size_t n = (size_t)m->body_count;
    unsigned char* near = NULL;
    perp_status status = perpi_alloc(m->context, n * n + n + 1, sizeof *near, &near);
    if (status != PERP_OK) {
        return status;
    }
    for (size_t i = 0; i < m->pair_count; ++i) {
        const int32_t* b = m->pair[i].body;
        near[(size_t)b[0] * n + (size_t)b[1]] = near[(size_t)b[1] * n + (size_t)b[0]] = 1;
    }
    for (size_t i = 0; i < n; ++i) {
        near[i * n + i] = 1;
    }
    unsigned char* taken = near + n * n;
    m->colours = 0;
    for (size_t i = 0; i < n; ++i) {
        if (m->place[i] < 0) {
            continue;
        }
        memset(taken, 0, n);
        for (size_t k = 0; k < n; ++k) {
            for (size_t j = 0; near[i * n + k] != 0 && j < i; ++j) {
                if (near[k * n + j] != 0 && m->place[j] >= 0) {
                    taken[m->colour[j]] = 1;
                }
            }
        }
        int32_t colour = 0;
        while (taken[colour] != 0) {
            ++colour;
        }
        m->colour[i] = colour;
        m->colours = colour >= m->colours ? colour + 1 : m->colours;
    }
    perpi_free(m->context, near);
    return PERP_OK;
}

/* ---- sizes, bounds, first guess ----------------------------------------------------------------------*/

static double angle_unit(const perpi_mpec* m, int32_t body, int32_t k, double length)
{
    return k < m->dimension ? length : length / m->length[body];
}

static void set_state_units(perpi_mpec* m, double* unit, double h)
{
    for (int32_t b = 0; b < m->body_count; ++b) {
        for (int32_t k = 0; m->place[b] >= 0 && k < m->dofs[b]; ++k) {
            unit[m->place[b] + k] = angle_unit(m, b, k, m->speed * h);
            unit[m->nd + m->place[b] + k] = angle_unit(m, b, k, m->speed);
        }
    }
}

static void set_units(perpi_mpec* m, const perp_model* model)
{
    for (int32_t i = 0; i < m->parameter_count; ++i) {
        const perpi_mpec_parameter* p = &m->parameter[i];
        const double span = p->high - p->low;
        m->unit[i] = isfinite(span) && span > 0.0 ? span : p->start != 0.0 ? fabs(p->start) : 1.0;
    }
    for (size_t k = 0; k < m->trajectory_count; ++k) {
        const perpi_mpec_trajectory* t = &m->trajectory[k];
        set_state_units(m, m->unit + t->x, m->step[t->step].h);
        for (int32_t i = 0; i < t->steps; ++i) {
            const perpi_mpec_step* s = &m->step[t->step + (size_t)i];
            set_state_units(m, m->unit + s->x_next, s->h);
            set_state_units(m, m->row_unit + s->state, s->h);
            for (int32_t j = 0; j < s->dofs; ++j) {
                m->unit[s->v + j] = m->speed;
                m->row_unit[s->dynamics + j] = m->speed; /* times the mass: below */
            }
            for (int32_t b = 0; b < m->body_count; ++b) {
                const perpi_body* body = &model->body[b];
                for (int32_t j = 0; m->place[b] >= 0 && j < m->dofs[b]; ++j) {
                    m->unit[s->v + m->place[b] + j] = angle_unit(m, b, j, m->speed);
                    m->row_unit[s->dynamics + m->place[b] + j] =
                        j < m->dimension ? body->mass * m->speed
                                         : body->mass * m->speed * m->length[b];
                }
            }
            for (int32_t c = 0; c < s->constraint_count; ++c) {
                const perpi_mpec_constraint* a = &m->constraint[s->constraint + (size_t)c];
                for (int32_t r = 0; r < a->rows; ++r) {
                    m->unit[s->p + a->row + r] = m->speed / a->w_t[r];
                }
                for (int32_t r = 0; r < a->law_count; ++r) {
                    m->row_unit[a->law + r] = m->speed;
                }
            }
        }
    }
}

/* What noise explains of the coordinates of a start: of velocities that are not observed, between two states. */
static void set_tight(perpi_mpec* m)
{
    for (int32_t i = 0; i < m->stride; ++i) {
        m->tight[i] = INFINITY;
    }
    for (size_t i = 0; i < m->observation_count; ++i) {
        const perpi_mpec_observation* o = &m->observation[i];
        m->tight[o->place] = o->noise < m->tight[o->place] ? o->noise : m->tight[o->place];
    }
    for (int32_t i = 0; i < m->nd; ++i) {
        const double rate = m->tight[i] / m->step[0].h;
        m->tight[m->nd + i] = rate < m->tight[m->nd + i] ? rate : m->tight[m->nd + i];
    }
}

static void guess_point(perpi_mpec* m)
{
    const int32_t vs = m->dimension == 2 ? 3 : 6;
    for (int32_t i = 0; i < m->n; ++i) {
        m->z[i] = 0.0;
        m->low[i] = -INFINITY;
        m->high[i] = INFINITY;
    }
    for (int32_t i = 0; i < m->parameter_count; ++i) {
        m->z[i] = m->parameter[i].start;
        m->low[i] = m->parameter[i].low;
        m->high[i] = m->parameter[i].high;
    }
    for (size_t k = 0; k < m->trajectory_count; ++k) {
        const perpi_mpec_trajectory* t = &m->trajectory[k];
        for (int32_t i = 0; i <= t->steps; ++i) {
            const double* v = m->reference_v + t->reference_v + (size_t)i * (size_t)m->v_size;
            const perpi_mpec_step* s = i > 0 ? &m->step[t->step + (size_t)i - 1] : NULL;
            double* x = m->z + (s == NULL ? t->x : s->x_next);
            for (int32_t b = 0; b < m->body_count; ++b) {
                for (int32_t j = 0; m->place[b] >= 0 && j < m->dofs[b]; ++j) {
                    x[m->nd + m->place[b] + j] = v[vs * b + j];
                    if (s != NULL) {
                        m->z[s->v + m->place[b] + j] = v[vs * b + j];
                    }
                }
            }
        }
        for (int32_t i = 0; i < m->stride; ++i) {
            if (!m->start[t->start + (size_t)i].free) {
                m->low[t->x + i] = m->high[t->x + i] = m->z[t->x + i];
            }
        }
    }
}

static perp_status allocate_program(perpi_mpec* m)
{
    perp_context* c = m->context;
    const size_t n = (size_t)m->n + 1, rows = (size_t)m->m + 1;
    struct {
        double** array;
        size_t size;
    } numbers[] = {{&m->tight, (size_t)m->stride + 1},
                   {&m->z, n},
                   {&m->low, n},
                   {&m->high, n},
                   {&m->unit, n},
                   {&m->at, n},
                   {&m->row_unit, rows},
                   {&m->value, rows},
                   {&m->other, 4 * rows},
                   {&m->jacobian, m->jacobian_count + 1}};
    perp_status status = PERP_OK;
    for (size_t i = 0; status == PERP_OK && i < sizeof numbers / sizeof numbers[0]; ++i) {
        status = perpi_alloc(c, numbers[i].size, sizeof(double), numbers[i].array);
    }
    struct {
        int32_t** array;
        size_t size;
    } indices[] = {{&m->jacobian_row, m->jacobian_count + 1},
                   {&m->jacobian_column, m->jacobian_count + 1},
                   {&m->hessian_row, m->hessian_count + 1},
                   {&m->hessian_column, m->hessian_count + 1}};
    for (size_t i = 0; status == PERP_OK && i < sizeof indices / sizeof indices[0]; ++i) {
        status = perpi_alloc(c, indices[i].size, sizeof(int32_t), indices[i].array);
    }
    size_t contacts = 1, dofs = 1, most = 1;
    for (size_t k = 0; k < m->step_count; ++k) {
        const perpi_mpec_step* s = &m->step[k];
        contacts = (size_t)s->contact_count > contacts ? (size_t)s->contact_count : contacts;
        dofs = (size_t)s->dofs > dofs ? (size_t)s->dofs : dofs;
        most = (size_t)s->rows > most ? (size_t)s->rows : most;
    }
    status = status == PERP_OK ? perpi_alloc(c, contacts, sizeof *m->moved, &m->moved) : status;
    status = status == PERP_OK ? perpi_alloc(c, 2 * dofs, sizeof *m->r_v, &m->r_v) : status;
    status = status == PERP_OK ? perpi_alloc(c, most, sizeof *m->r_u, &m->r_u) : status;
    return status;
}

perp_status perpi_mpec_build(perpi_mpec* m)
{
    const perp_model* model;
    double* start = NULL;
    perp_status status =
        perpi_alloc(m->context, (size_t)m->parameter_count + 1, sizeof *start, &start);
    for (int32_t i = 0; status == PERP_OK && i < m->parameter_count; ++i) {
        start[i] = m->parameter[i].start;
    }
    status = status == PERP_OK ? m->model_of.at(m->model_of.user, start, &model) : status;
    status = status == PERP_OK ? find_constraints(m, model) : status;
    status = status == PERP_OK ? colour_bodies(m) : status;
    status = status == PERP_OK ? perpi_mpec_examine_parameters(m) : status;
    status = status == PERP_OK ? perpi_mpec_number(m) : status;
    if (status == PERP_OK) { /* first counted, then filled in */
        perpi_mpec_pattern(m);
        status = allocate_program(m);
    }
    status = status == PERP_OK ? m->model_of.at(m->model_of.user, start, &model) : status;
    if (status == PERP_OK) {
        perpi_mpec_pattern(m);
        set_units(m, model);
        set_tight(m);
        guess_point(m);
    }
    perpi_free(m->context, start);
    return status;
}
