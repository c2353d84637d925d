/* src/sim/gradient_motion.c - see gradient_motion.h. */
#include "sim/gradient_motion.h"

#include <math.h>
#include <string.h>

#include "base/turn.h"
#include "model/oscillation_slope.h"

/* Of a step: times that differ by less are the same. */
static const double SAME_TIME = 1e-9;

/* The motion of a body by one parameter. Vectors: displacements or velocities, then rotations;
 * planar: of these the last. */
typedef struct motion_item {
    int32_t parameter, moved;
    double given[6];             /* of the velocity over the step */
    double pose[6], velocity[6]; /* of the state after it */
} motion_item;

/* A time, with the derivatives by all parameters of a body. */
typedef struct instant {
    double t;
    quat q;
    vec3 w;
    double *pose, *velocity; /* 6 for each item */
} instant;

typedef struct moved_body {
    int32_t body;
    int32_t first, count;           /* of motions->order */
    perpi_oscillation_slope* slope; /* NULL: by models at other values */
    instant at[2];
    double by_given[6]; /* derivatives by the velocity over the step */
} moved_body;

struct perpi_motions {
    perpi_gradient_work* g;
    motion_item* item; /* in the order of the parameters */
    int32_t count;
    int32_t* first; /* per parameter, and one more */
    int32_t* order; /* items, body by body */
    moved_body* moved;
    int32_t moved_count;
    bool* wanted; /* per body */
    double* room;
    const perpi_given_rows* rows;
    int32_t row_count;
    int32_t* slot; /* per body: of moved; -1: none */
};

/* ---- making them ---------------------------------------------------------------------------------*/

void perpi_motions_destroy(perpi_motions* m)
{
    if (m == NULL) {
        return;
    }
    perp_context* c = m->g->context;
    for (int32_t i = 0; i < m->moved_count; ++i) {
        perpi_oscillation_slope_destroy(c, m->moved[i].slope);
    }
    void* const owned[] = {m->item, m->first, m->order, m->moved, m->wanted, m->room, m->slot};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; ++i) {
        perpi_free(c, owned[i]);
    }
    perpi_free(c, m);
}

static perp_status allocate(perpi_motions* m, size_t items)
{
    perp_context* c = m->g->context;
    const size_t bodies = m->g->model->body_count, parameters = (size_t)m->g->in->parameter_count;
    perp_status status = perpi_alloc(c, items, sizeof *m->item, &m->item);
    if (status == PERP_OK) {
        status = perpi_alloc(c, parameters + 1, sizeof *m->first, &m->first);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(c, items, sizeof *m->order, &m->order);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(c, bodies, sizeof *m->moved, &m->moved);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(c, bodies, sizeof *m->wanted, &m->wanted);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(c, bodies, sizeof *m->slot, &m->slot);
    }
    return status == PERP_OK ? perpi_alloc(c, 24 * items, sizeof *m->room, &m->room) : status;
}

/* The items of each parameter, then the bodies that they move. */
static void list_items(perpi_motions* m)
{
    const perpi_gradient_input* in = m->g->in;
    for (int32_t i = 0; i < in->parameter_count; ++i) {
        m->first[i] = m->count;
        for (int32_t k = 0; k < in->parameter[i].motion_count; ++k) {
            const int32_t body = in->parameter[i].motion[k];
            m->item[m->count++] = (motion_item){.parameter = i, .moved = body};
            m->wanted[body] = true;
        }
    }
    m->first[in->parameter_count] = m->count;
    double* room = m->room;
    int32_t used = 0;
    for (int32_t body = 0; body < (int32_t)m->g->model->body_count; ++body) {
        m->slot[body] = -1;
        if (!m->wanted[body]) {
            continue;
        }
        moved_body* x = &m->moved[m->moved_count];
        *x = (moved_body){.body = body, .first = used};
        for (int32_t i = 0; i < m->count; ++i) {
            if (m->item[i].moved == body) {
                m->order[used++] = i;
            }
        }
        x->count = used - x->first;
        for (int k = 0; k < 2; ++k) {
            x->at[k] = (instant){.t = NAN, .pose = room, .velocity = room + 6 * x->count};
            room += 12 * x->count;
        }
        m->slot[body] = m->moved_count++;
    }
    for (int32_t i = 0; i < m->count; ++i) {
        m->item[i].moved = m->slot[m->item[i].moved];
    }
}

static perp_status make_slope(perpi_motions* m, moved_body* x)
{
    enum { MODELS = PERPI_GRADIENT_MODELS };
    perp_context* c = m->g->context;
    const perpi_motion* motion = &m->g->model->body[x->body].motion;
    const perpi_oscillation** other = NULL;
    double* weight = NULL;
    if (motion->type != PERP_MOTION_ACCELERATION) {
        return PERP_OK;
    }
    const size_t n = (size_t)(MODELS * x->count);
    perp_status status = perpi_alloc(c, n, sizeof *other, &other);
    if (status == PERP_OK) {
        status = perpi_alloc(c, n, sizeof *weight, &weight);
    }
    for (int32_t i = 0; status == PERP_OK && i < x->count; ++i) {
        const perpi_gradient_parameter* p =
            &m->g->in->parameter[m->item[m->order[x->first + i]].parameter];
        for (int k = 0; k < MODELS; ++k) {
            weight[MODELS * i + k] = p->weight[k];
            other[MODELS * i + k] = p->model[k]->body[x->body].motion.oscillation;
        }
    }
    if (status == PERP_OK) {
        status = perpi_oscillation_slope_create(c, motion->oscillation, x->count, MODELS, other,
                                                weight, &x->slope);
    }
    perpi_free(c, other);
    perpi_free(c, weight);
    return status;
}

perp_status perpi_motions_create(perpi_gradient_work* g, perpi_motions** motions)
{
    size_t items = 0;
    for (int32_t i = 0; i < g->in->parameter_count; ++i) {
        items += (size_t)g->in->parameter[i].motion_count;
    }
    if (items == 0) {
        return PERP_OK;
    }
    perpi_motions* m = NULL;
    perp_status status = perpi_alloc(g->context, 1, sizeof *m, &m);
    if (status != PERP_OK) {
        return status;
    }
    m->g = g;
    status = allocate(m, items);
    if (status == PERP_OK) {
        list_items(m);
    }
    for (int32_t i = 0; status == PERP_OK && i < m->moved_count; ++i) {
        status = make_slope(m, &m->moved[i]);
    }
    if (status != PERP_OK) {
        perpi_motions_destroy(m);
        return status;
    }
    *motions = m;
    return PERP_OK;
}

/* ---- at a time -----------------------------------------------------------------------------------*/

/* The motion of a body in a model. */
typedef struct motion_state {
    perpi_pose pose;
    double angle;
    vec3 v, w;
} motion_state;

static perp_status motion_at(const perp_model* model, int32_t body, double t, motion_state* s)
{
    const perpi_body* b = &model->body[body];
    *s = (motion_state){.pose = b->pose, .v = b->v, .w = b->w};
    if (perpi_motion_has_pose(&b->motion)) {
        return perpi_motion_pose(model, body, t, &s->pose, &s->angle, &s->v, &s->w);
    }
    return b->motion.type == PERP_MOTION_VELOCITY
               ? perpi_motion_velocity(model, body, t, &s->v, &s->w)
               : PERP_OK;
}

/* to += weight (a - b) */
static void add_difference(double weight, vec3 a, vec3 b, double* to)
{
    v3_to(v3_madd(v3_from(to), weight, v3_sub(a, b)), to);
}

/* By the models at other values of the parameters. */
static perp_status evaluate_by_models(perpi_motions* m, const moved_body* x, double t, instant* to)
{
    const perp_model* model = m->g->model;
    motion_state own, other;
    perp_status status = motion_at(model, x->body, t, &own);
    to->q = own.pose.q;
    to->w = own.w;
    memset(to->pose, 0, 12 * (size_t)x->count * sizeof *to->pose); /* velocity follows */
    for (int32_t i = 0; i < x->count; ++i) {
        const perpi_gradient_parameter* p =
            &m->g->in->parameter[m->item[m->order[x->first + i]].parameter];
        double *pose = to->pose + 6 * i, *velocity = to->velocity + 6 * i;
        for (int k = 0; status == PERP_OK && k < PERPI_GRADIENT_MODELS; ++k) {
            if (p->weight[k] == 0.0 || p->model[k] == model) {
                continue;
            }
            status = motion_at(p->model[k], x->body, t, &other);
            if (status != PERP_OK) {
                break;
            }
            const vec3 turn = model->dimension == 2
                                  ? v3(0, 0, other.angle - own.angle)
                                  : q4_log(q4_mul(other.pose.q, q4_conj(own.pose.q)));
            add_difference(p->weight[k], other.pose.x, own.pose.x, pose);
            add_difference(p->weight[k], turn, v3(0, 0, 0), pose + 3);
            add_difference(p->weight[k], other.v, own.v, velocity);
            add_difference(p->weight[k], other.w, own.w, velocity + 3);
        }
    }
    return status;
}

/* The place of a time in x->at; -1: it is not there. */
static int find_instant(const moved_body* x, double t, double h)
{
    return fabs(x->at[0].t - t) <= SAME_TIME * h   ? 0
           : fabs(x->at[1].t - t) <= SAME_TIME * h ? 1
                                                   : -1;
}

/* Into x->at[*which]; that of `other` stays. */
static perp_status evaluate(perpi_motions* m, moved_body* x, double t, double h, int other,
                            int* which)
{
    *which = find_instant(x, t, h);
    if (*which >= 0) {
        return PERP_OK;
    }
    *which = other == 0 ? 1 : 0;
    instant* to = &x->at[*which];
    to->t = NAN;
    if (x->slope == NULL) {
        const perp_status status = evaluate_by_models(m, x, t, to);
        if (status != PERP_OK) {
            return status;
        }
    } else {
        perpi_oscillation_slope_at(x->slope, t, &to->q, to->pose, to->velocity);
    }
    to->t = t;
    return PERP_OK;
}

/* ---- a step --------------------------------------------------------------------------------------*/

/* A motion with a pose: the velocity over the step is the mean one. */
static perp_status move_by_pose(perpi_motions* m, moved_body* x, double t, double h)
{
    int begin = -1, end = -1;
    /* one of the two is often known from the step before */
    perp_status status = evaluate(m, x, t, h, find_instant(x, t + h, h), &begin);
    if (status == PERP_OK) {
        status = evaluate(m, x, t + h, h, begin, &end);
    }
    if (status != PERP_OK) {
        return status;
    }
    const instant *from = &x->at[begin], *to = &x->at[end];
    const bool planar = m->g->model->dimension == 2;
    const vec3 r = planar ? v3(0, 0, 0) : q4_log(q4_mul(to->q, q4_conj(from->q)));
    const mat3 R = q4_matrix(q4_exp(r));
    for (int32_t i = 0; i < x->count; ++i) {
        motion_item* item = &m->item[m->order[x->first + i]];
        const double *a = from->pose + 6 * i, *b = to->pose + 6 * i;
        const vec3 moved = v3_sub(v3_from(b), v3_from(a));
        const vec3 turned = v3_sub(v3_from(b + 3), m3_mul(R, v3_from(a + 3)));
        v3_to(v3_scale(1.0 / h, moved), item->given);
        v3_to(v3_scale(1.0 / h, perpi_turn_back(r, turned)), item->given + 3);
        memcpy(item->pose, b, sizeof item->pose);
        memcpy(item->velocity, to->velocity + 6 * i, sizeof item->velocity);
    }
    return PERP_OK;
}

/* A motion with velocities: that of the middle of the step moves the body. */
static perp_status move_by_velocity(perpi_motions* m, moved_body* x, double t, double h)
{
    instant *middle = &x->at[0], *end = &x->at[1];
    perp_status status = evaluate_by_models(m, x, t + 0.5 * h, middle);
    if (status == PERP_OK) {
        status = evaluate_by_models(m, x, t + h, end);
    }
    const mat3 J = perpi_turn_derivative(v3_scale(h, middle->w));
    for (int32_t i = 0; i < x->count; ++i) {
        motion_item* item = &m->item[m->order[x->first + i]];
        memcpy(item->given, middle->velocity + 6 * i, sizeof item->given);
        memcpy(item->velocity, end->velocity + 6 * i, sizeof item->velocity);
        v3_to(v3_scale(h, v3_from(item->given)), item->pose);
        v3_to(v3_scale(h, m3_mul(J, v3_from(item->given + 3))), item->pose + 3);
    }
    return status;
}

perp_status perpi_motions_step(perpi_motions* m, double t, double h)
{
    if (m == NULL || perpi_linear_step_is_impact(m->g->linear)) {
        return PERP_OK;
    }
    perp_status status = PERP_OK;
    for (int32_t i = 0; status == PERP_OK && i < m->moved_count; ++i) {
        moved_body* x = &m->moved[i];
        status = perpi_motion_has_pose(&m->g->model->body[x->body].motion)
                     ? move_by_pose(m, x, t, h)
                     : move_by_velocity(m, x, t, h);
    }
    return status == PERP_OK
               ? perpi_linear_step_given(m->g->linear, m->wanted, &m->rows, &m->row_count)
               : status;
}

static const int PLANAR[3] = {0, 1, 5};

/* Where the state after the step has a body. */
static int32_t place_of(const perpi_motions* m, int32_t body, int32_t part)
{
    const int32_t stride = m->g->model->dimension == 2 ? 3 : 6;
    return perpi_linear_step_next_at(m->g->linear) + part + stride * body;
}

void perpi_motions_add(const perpi_motions* m, int32_t parameter, double* change)
{
    const bool planar = m->g->model->dimension == 2;
    const int n = planar ? 3 : 6;
    double* u = change + perpi_linear_step_rows_at(m->g->linear);
    for (int32_t i = m->first[parameter]; i < m->first[parameter + 1]; ++i) {
        const motion_item* item = &m->item[i];
        const int32_t body = m->moved[item->moved].body;
        for (int32_t k = 0; k < m->row_count; ++k) {
            const perpi_given_rows* rows = &m->rows[k];
            for (int32_t r = 0; rows->body == body && r < rows->rows; ++r) {
                u[rows->row + r] += perpi_gradient_dot(6, rows->J[r], item->given);
            }
        }
        double *q = change + place_of(m, body, m->g->size.q),
               *v = change + place_of(m, body, m->g->size.v);
        for (int k = 0; k < n; ++k) {
            q[k] += item->pose[planar ? PLANAR[k] : k];
            v[k] += item->velocity[planar ? PLANAR[k] : k];
        }
    }
}

void perpi_motions_contract(perpi_motions* m, const double* multiplier)
{
    if (m == NULL || perpi_linear_step_is_impact(m->g->linear)) {
        return;
    }
    const double* u = multiplier + perpi_linear_step_rows_at(m->g->linear);
    for (int32_t i = 0; i < m->moved_count; ++i) {
        memset(m->moved[i].by_given, 0, sizeof m->moved[i].by_given);
    }
    for (int32_t k = 0; k < m->row_count; ++k) {
        const perpi_given_rows* rows = &m->rows[k];
        double* to = m->moved[m->slot[rows->body]].by_given;
        for (int32_t r = 0; r < rows->rows; ++r) {
            for (int c = 0; c < 6; ++c) {
                to[c] += rows->J[r][c] * u[rows->row + r];
            }
        }
    }
}

double perpi_motions_product(const perpi_motions* m, int32_t parameter, const double* multiplier)
{
    const bool planar = m->g->model->dimension == 2;
    const int n = planar ? 3 : 6;
    double sum = 0.0;
    for (int32_t i = m->first[parameter]; i < m->first[parameter + 1]; ++i) {
        const motion_item* item = &m->item[i];
        const moved_body* x = &m->moved[item->moved];
        const double *q = multiplier + place_of(m, x->body, m->g->size.q),
                     *v = multiplier + place_of(m, x->body, m->g->size.v);
        sum += perpi_gradient_dot(6, item->given, x->by_given);
        for (int k = 0; k < n; ++k) {
            sum += item->pose[planar ? PLANAR[k] : k] * q[k] +
                   item->velocity[planar ? PLANAR[k] : k] * v[k];
        }
    }
    return sum;
}
