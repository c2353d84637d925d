/* src/study/laws_evaluate.c - the loss of all pairs of states at given parameters, and its derivatives.
 *
 * For each pair: contacts of the candidate geometry at the measured poses, rows half way between
 * them, the least residual over the impulses (laws_pair.c). Derivatives of residuals by a parameter
 * are central differences at fixed impulses and fixed pieces: by the envelope theorem these are
 * those of the least loss, and what a change of the impulses could remove is removed afterwards,
 * which gives the Gauss-Newton matrix of the loss itself. The scene is built once for each change
 * of a parameter, not for each pair.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "linalg/dense.h"
#include "model/model.h"
#include "sim/internal.h"
#include "study/laws.h"

/* Change of a parameter for a difference, relative to its scale: the cube root of the rounding. */
static const double DIFFERENCE = 6e-6;
/* Contacts are looked for within the motion of a pair times this, and a part of the size of the
 * scene for noise. */
static const double REACH_MOTION = 2.0, REACH_SIZE = 0.05;
enum { MOST_VELOCITIES = 600 };

/* ---- memory --------------------------------------------------------------------------------------*/

static perp_status allocate(perpi_laws* x, const perp_model* model)
{
    const size_t bodies = model->body_count;
    struct {
        void* array;
        size_t count, size;
    } need[] = {
        {&x->has_velocity, bodies, sizeof(bool)},  {&x->has_spin, bodies, sizeof(bool)},
        {&x->state, bodies, sizeof *x->state},     {&x->q, 7 * bodies, sizeof(double)},
        {&x->v, 6 * bodies, sizeof(double)},       {&x->q_after, 7 * bodies, sizeof(double)},
        {&x->v_after, 6 * bodies, sizeof(double)}, {&x->q_middle, 7 * bodies, sizeof(double)},
        {&x->v_next, 6 * bodies, sizeof(double)}};
    perp_status status = PERP_OK;
    for (size_t i = 0; status == PERP_OK && i < sizeof need / sizeof need[0]; ++i) {
        status = perpi_alloc(x->context, need[i].count, need[i].size, need[i].array);
    }
    x->bodies = (int32_t)bodies;
    x->q_size = perpi_q_stride(model) * x->bodies;
    x->v_size = perpi_v_stride(model) * x->bodies;
    return status == PERP_OK ? perpi_measured_create(x->context, &x->measured) : status;
}

/* What pairs of states alone cannot describe. */
static perp_status refuse(perpi_laws* x, const perp_model* model)
{
    const char* what = NULL;
    for (size_t i = 0; i < model->body_count; ++i) {
        what = model->body[i].type == PERP_BODY_KINEMATIC &&
                       model->body[i].motion.type != PERP_MOTION_NONE
                   ? "bodies with a prescribed motion"
                   : what;
    }
    return what == NULL
               ? PERP_OK
               : perpi_fail(x->context, PERP_ERROR_UNSUPPORTED,
                            "the method laws does not take scenes with %s; use shooting", what);
}

perp_status perpi_laws_create(perp_context* context, perpi_predictor* predictor,
                              const perpi_estimate* e, perpi_laws** laws)
{
    perpi_laws* x = NULL;
    perp_scene* scene = NULL;
    double start[PERPI_ESTIMATE_PARAMETERS];
    perp_status status = perpi_alloc(context, 1, sizeof *x, &x);
    if (status != PERP_OK) {
        return status;
    }
    x->context = x->minimise.context = x->first.context = x->last.context = context;
    x->predictor = predictor;
    x->e = e;
    x->stride = 1;
    x->closed = 0.02;
    x->gap_time = NAN;
    for (int32_t i = 0; i < e->parameter_count; ++i) {
        start[i] = e->parameter[i].info.start;
    }
    status = perpi_predictor_scene(predictor, start, &scene);
    if (status == PERP_OK) {
        status = refuse(x, perp_scene_model(scene));
    }
    if (status == PERP_OK) {
        status = allocate(x, perp_scene_model(scene));
    }
    if (status != PERP_OK) {
        perpi_laws_destroy(x);
        return status;
    }
    *laws = x;
    return PERP_OK;
}

void perpi_laws_destroy(perpi_laws* x)
{
    if (x == NULL) {
        return;
    }
    perp_context* context = x->context;
    void* const owned[] = {x->pair,    x->has_velocity, x->has_spin,  x->state,    x->q,
                           x->v,       x->q_after,      x->v_after,   x->q_middle, x->v_next,
                           x->mass,    x->first.item,   x->last.item, x->p,        x->contact,
                           x->impulse, x->residual,     x->derivative};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; ++i) {
        perpi_free(context, owned[i]);
    }
    perpi_measured_destroy(x->measured);
    perpi_law_pair_free(context, &x->work);
    perpi_law_work_free(&x->minimise);
    perpi_free(context, x);
}

/* ---- options -------------------------------------------------------------------------------------*/

static perp_status bad_option(const perpi_laws* x, const char* origin, const char* key,
                              const char* text)
{
    return perpi_fail(x->context, PERP_ERROR_INPUT, "%s: /options/%s: %s", origin, key, text);
}

static perp_status read_option(perpi_laws* x, const char* origin, const char* key,
                               const json_t* value)
{
    static const char* const known[] = {"stride", "closed", "gap_time", "residual"};
    const double number = json_number_value(value);
    int which = 0;
    while (which < 4 && strcmp(known[which], key) != 0) {
        ++which;
    }
    if (which == 4) {
        return bad_option(x, origin, key,
                          "laws has the options stride, closed, gap_time and residual");
    }
    if (which < 3 && !(json_is_number(value) && number > 0.0)) {
        return bad_option(x, origin, key, "must be a number > 0");
    }
    if (which == 0) {
        if (number != floor(number) || number > 1e6 || x->e->impacts) {
            return bad_option(x, origin, key,
                              "the rows between two states: must be a whole number, and impacts "
                              "have none");
        }
        x->stride = (int32_t)number;
    } else if (which == 1) {
        x->closed = number;
    } else if (which == 2) {
        x->gap_time = number;
    } else {
        const char* word = json_is_string(value) ? json_string_value(value) : "";
        const bool prediction = strcmp(word, "prediction") == 0;
        if ((!prediction && strcmp(word, "laws") != 0) || (prediction && !x->e->impacts)) {
            return bad_option(x, origin, key,
                              "must be \"laws\", or for impacts (/after) \"prediction\"");
        }
        x->residual_kind = prediction ? PERPI_LAWS_PREDICTION : PERPI_LAWS_CONTACT;
    }
    return PERP_OK;
}

perp_status perpi_laws_options(perpi_laws* x, const char* origin)
{
    json_t* options = (json_t*)(uintptr_t)x->e->options; /* read only */
    perp_status status = PERP_OK;
    if (options != NULL && !json_is_object(options)) {
        return perpi_fail(x->context, PERP_ERROR_INPUT, "%s: /options: must be an object", origin);
    }
    for (void* i = json_object_iter(options); status == PERP_OK && i != NULL;
         i = json_object_iter_next(options, i)) {
        status = read_option(x, origin, json_object_iter_key(i), json_object_iter_value(i));
    }
    return status;
}

/* ---- one pair ------------------------------------------------------------------------------------*/

/* How far contacts may be from the measured poses. */
static double reach_of(const perpi_laws* x, const perpi_laws_pair* pair, const perp_model* model)
{
    const double size = perpi_scene_size(model);
    double most = 0.0;
    if (x->e->impacts) {
        return size;
    }
    for (int32_t i = 0; i < x->bodies; ++i) {
        const double reach = isfinite(model->body[i].reach) ? model->body[i].reach : 0.0;
        const double a = v3_norm(perpi_state_velocity(model, x->v, i)) +
                         reach * v3_norm(perpi_state_rate(model, x->v, i));
        const double b = v3_norm(perpi_state_velocity(model, x->v_after, i)) +
                         reach * v3_norm(perpi_state_rate(model, x->v_after, i));
        most = a > most ? a : most;
        most = b > most ? b : most;
    }
    return REACH_MOTION * most * pair->time + REACH_SIZE * size;
}

static perp_status copy_contacts(const perpi_measured* m, perpi_contact_list* list)
{
    const perp_status status = perpi_grow(list->context, &list->item, &list->capacity,
                                          m->contacts.count, sizeof *list->item);
    if (status == PERP_OK) {
        if (m->contacts.count > 0) {
            memcpy(list->item, m->contacts.item, m->contacts.count * sizeof *list->item);
        }
        list->count = m->contacts.count;
    }
    return status;
}

static const perp_contact* find_contact(const perpi_contact_list* list, const perp_contact* c)
{
    for (size_t i = 0; i < list->count; ++i) {
        if (list->item[i].key == c->key && list->item[i].body_a == c->body_a &&
            list->item[i].body_b == c->body_b) {
            return &list->item[i];
        }
    }
    return NULL;
}

/* Of an impact: those as near as the nearest one of their bodies. */
static void keep_nearest(perpi_laws* x, const perp_model* model)
{
    perpi_contact_list* list = &x->measured->contacts;
    double least = INFINITY;
    size_t kept = 0;
    for (size_t i = 0; i < list->count; ++i) {
        least = list->item[i].gap < least ? list->item[i].gap : least;
    }
    for (size_t i = 0; i < list->count; ++i) {
        if (list->item[i].gap <= least + x->closed * perpi_scene_size(model)) {
            list->item[kept++] = list->item[i];
        }
    }
    list->count = kept;
}

/* Contacts at the middle in x->measured, those of both ends in first and last. */
static perp_status find_contacts(perpi_laws* x, const perpi_laws_pair* pair, perp_sim* sim)
{
    perpi_measured* m = x->measured;
    const perp_model* model = sim->model;
    const double t = x->data->trajectory[pair->trajectory].time[pair->row];
    const double reach = reach_of(x, pair, model);
    perp_status status = PERP_OK;
    if (!x->e->impacts) {
        status = perpi_measured_contacts(m, sim, t, x->q, reach);
        if (status == PERP_OK) {
            status = copy_contacts(m, &x->first);
        }
        if (status == PERP_OK) {
            status = perpi_measured_contacts(m, sim, t, x->q_after, reach);
        }
        if (status == PERP_OK) {
            status = copy_contacts(m, &x->last);
        }
    }
    if (status == PERP_OK) {
        status = perpi_measured_contacts(m, sim, t, x->q_middle, reach);
    }
    if (status == PERP_OK && x->e->impacts) {
        keep_nearest(x, model);
    }
    return status;
}

/* The least gap between the two states: where the lines of the gap before and after meet, if that
 * is between them. */
static double least_gap(const perpi_laws* x, const perp_contact* c, const perpi_law_contact* law,
                        double time)
{
    const double u = law->before[0], u_after = law->after[0];
    const perp_contact *a = find_contact(&x->first, c), *b = find_contact(&x->last, c);
    const double g = a != NULL ? a->gap : c->gap - 0.5 * time * u;
    const double g_after = b != NULL ? b->gap : c->gap + 0.5 * time * u_after;
    const double least = g < g_after ? g : g_after;
    const double meet = (g_after - u_after * time - g) / (u - u_after);
    if (u < u_after && meet > 0.0 && meet < time) {
        const double corner = g + u * meet;
        return corner < least ? corner : least;
    }
    return least;
}

/* J of a constraint times its velocities. */
static double row_speed(const perpi_formulation* f, int32_t constraint, int32_t row,
                        const double* v)
{
    return perpi_formulation_speed(f, constraint, row, v);
}

/* A = M^-1 J', column by column. */
static perp_status divide_rows(perpi_laws* x, const perpi_formulation* f)
{
    perpi_law_pair* w = &x->work;
    const size_t n = (size_t)w->n, r = (size_t)w->r;
    memset(w->A, 0, n * r * sizeof *w->A);
    for (int32_t i = 0; i < f->problem.constraint_count; ++i) {
        const perp_constraint* c = &f->constraint[i];
        const double* J = f->J + c->jac;
        for (int side = 0; side < 2; ++side) {
            if (c->block[side] < 0) {
                continue;
            }
            const int32_t first = f->dof[c->block[side]];
            const int32_t size = f->dof[c->block[side] + 1] - first;
            for (int32_t k = 0; k < c->rows; ++k) {
                for (int32_t j = 0; j < size; ++j) {
                    w->A[(size_t)(first + j) * r + (size_t)(c->row + k)] = *J++;
                }
            }
        }
    }
    const double* M = f->M;
    for (int32_t i = 0; i < f->problem.block_count; ++i) {
        const int32_t size = f->dof[i + 1] - f->dof[i];
        double L[PERPI_BLOCK_MAX * PERPI_BLOCK_MAX], column[PERPI_BLOCK_MAX];
        if (!perpi_chol_factor(size, M, L)) {
            return perpi_fail(x->context, PERP_ERROR_NUMERIC, "a mass is not positive definite");
        }
        perpi_chol_solve(size, L, w->c + f->dof[i]);
        for (size_t k = 0; k < r; ++k) {
            for (int32_t j = 0; j < size; ++j) {
                column[j] = w->A[(size_t)(f->dof[i] + j) * r + k];
            }
            perpi_chol_solve(size, L, column);
            for (int32_t j = 0; j < size; ++j) {
                w->A[(size_t)(f->dof[i] + j) * r + k] = column[j];
            }
        }
        M += size * size;
    }
    return PERP_OK;
}

/* U' U = M0. The masses of the start of the search weigh: with those of the parameters a lighter
 * body would always fit better. Rotational ones turn with the body. */
static void weigh(perpi_laws* x, const perp_sim* sim, const perpi_formulation* f)
{
    perpi_law_pair* w = &x->work;
    const size_t n = (size_t)w->n;
    const double* M = x->mass;
    memset(w->U, 0, n * n * sizeof *w->U);
    for (int32_t b = 0; b < x->bodies; ++b) {
        const int32_t block = f->block_of[b];
        if (block < 0) {
            continue;
        }
        const int32_t first = f->dof[block], size = f->dof[block + 1] - first;
        double W[PERPI_BLOCK_MAX * PERPI_BLOCK_MAX] = {0}, L[PERPI_BLOCK_MAX * PERPI_BLOCK_MAX];
        for (int32_t i = 0; i < size * size; ++i) {
            W[i] = M[36 * (size_t)b + (size_t)i];
        }
        if (size == 6) { /* kept in the axes of the body */
            const mat3 R = perpi_state_pose(sim->model, x->q_middle, b).R;
            mat3 I;
            for (int i = 0; i < 3; ++i) {
                for (int k = 0; k < 3; ++k) {
                    I.m[i][k] = W[(3 + i) * 6 + 3 + k];
                }
            }
            I = m3_mm(m3_mm(R, I), m3_transpose(R));
            for (int i = 0; i < 3; ++i) {
                for (int k = 0; k < 3; ++k) {
                    W[(3 + i) * 6 + 3 + k] = I.m[i][k];
                }
            }
        }
        if (!perpi_chol_factor(size, W, L)) {
            continue;
        }
        for (int32_t i = 0; i < size; ++i) {
            for (int32_t k = 0; k <= i; ++k) {
                w->U[(size_t)(first + k) * n + (size_t)(first + i)] = L[i * size + k];
            }
        }
    }
}

/* J M^-1 J' of one row; its inverse is the effective mass. */
static double row_mobility(const perpi_laws* x, const perpi_formulation* f, int32_t constraint,
                           int32_t row)
{
    const perpi_law_pair* w = &x->work;
    const perp_constraint* c = &f->constraint[constraint];
    const double* J = f->J + c->jac;
    double sum = 0.0;
    for (int side = 0; side < 2; ++side) {
        if (c->block[side] < 0) {
            continue;
        }
        const int32_t first = f->dof[c->block[side]], size = f->dof[c->block[side] + 1] - first;
        for (int32_t j = 0; j < size; ++j) {
            sum += J[row * size + j] *
                   w->A[(size_t)(first + j) * (size_t)w->r + (size_t)(c->row + row)];
        }
        J += c->rows * size;
    }
    return sum;
}

static void write_contact(perpi_laws* x, const perpi_laws_pair* pair, const perp_sim* sim,
                          int32_t i, const double* before, const double* after)
{
    const perpi_formulation* f = x->measured->f;
    const perp_contact* c = &x->measured->contacts.item[i];
    const perp_constraint* row = &f->constraint[i];
    perpi_law_contact* law = &x->work.contact[i];
    *law = (perpi_law_contact){.key = c->key,
                               .body_a = c->body_a,
                               .body_b = c->body_b,
                               .row = row->row,
                               .tangents = row->rows - 1,
                               .mu = row->mu,
                               .e = perp_model_pair_restitution(sim->model, c->body_a, c->body_b),
                               .compression = NAN};
    double slip = 0.0;
    for (int32_t k = 0; k < row->rows; ++k) {
        const double given = f->given[row->row + k];
        law->before[k] = row_speed(f, i, k, before) + given;
        law->after[k] = row_speed(f, i, k, after) + given;
        const double mobility = row_mobility(x, f, i, k);
        if (k == 0) {
            law->m_n = 1.0 / mobility;
        } else {
            slip += mobility / (row->rows - 1);
        }
    }
    law->m_t = slip > 0.0 ? 1.0 / slip : law->m_n;
    law->gap = x->e->impacts ? 0.0 : least_gap(x, c, law, pair->time);
}

/* Time that divides gaps: the ratio of the noise of positions and of velocities where both are given. */
static double gap_time(const perpi_laws* x, const perpi_laws_pair* pair)
{
    double position = 0.0, velocity = 0.0;
    if (!isnan(x->gap_time) || x->e->impacts) {
        return x->e->impacts ? 0.0 : x->gap_time;
    }
    for (int32_t i = 0; i < x->e->channel_count; ++i) {
        const perpi_channel* c = &x->e->channel[i];
        position = c->kind == PERPI_CHANNEL_POSITION && c->noise_given ? c->noise : position;
        velocity = c->kind == PERPI_CHANNEL_VELOCITY && c->noise_given ? c->noise : velocity;
    }
    return position > 0.0 && velocity > 0.0 ? position / velocity : pair->time;
}

static perp_status set_compressions(perpi_laws* x, perp_sim* sim)
{
    perpi_law_pair* w = &x->work;
    double* p = NULL;
    bool solved = false;
    perp_status status = perpi_alloc(x->context, (size_t)w->contacts, sizeof *p, &p);
    if (status == PERP_OK) {
        status = perpi_measured_compression(x->measured, sim, x->q_middle, x->v, p, &solved);
    }
    for (int32_t i = 0; status == PERP_OK && solved && i < w->contacts; ++i) {
        w->contact[i].compression = p[i];
    }
    perpi_free(x->context, p);
    return status;
}

/* The weights of the laws: effective masses at the start of the search, the mean of the contacts. */
static void weigh_laws(perpi_laws* x, perpi_laws_pair* pair)
{
    perpi_law_pair* w = &x->work;
    if (!(pair->w_n > 0.0)) {
        for (int32_t i = 0; i < w->contacts; ++i) {
            pair->w_n += w->contact[i].m_n / w->contacts;
            pair->w_t += w->contact[i].m_t / w->contacts;
        }
    }
    w->w_n = pair->w_n;
    w->w_t = pair->w_t;
}

/* The pair at the parameters of the simulation, into x->work. */
static perp_status build_pair(perpi_laws* x, perpi_laws_pair* pair, perp_sim* sim,
                              const double* parameter)
{
    perpi_measured* m = x->measured;
    double before[MOST_VELOCITIES], after[MOST_VELOCITIES];
    const double t = x->data->trajectory[pair->trajectory].time[pair->row];
    perp_status status = perpi_laws_states(x, pair, parameter, sim->model);
    if (status == PERP_OK) {
        status = find_contacts(x, pair, sim);
    }
    if (status == PERP_OK) {
        status = perpi_measured_formulate(m, sim, t, pair->span, x->q_middle, x->v);
    }
    if (status != PERP_OK) {
        return status;
    }
    const perpi_formulation* f = m->f;
    const int32_t n = f->problem.dof_count;
    for (int32_t i = 0; i < f->contact_count; ++i) {
        if (f->constraint[i].rows > 3) {
            return perpi_fail(x->context, PERP_ERROR_UNSUPPORTED,
                              "the method laws does not take friction with torsion "
                              "(/friction/cone ellipsoid); use shooting");
        }
    }
    for (int32_t i = f->contact_count; i < f->problem.constraint_count; ++i) {
        if (f->constraint[i].kind != PERP_CONSTRAINT_EQUALITY) {
            return perpi_fail(x->context, PERP_ERROR_UNSUPPORTED,
                              "the method laws does not take scenes with motors, limits, springs, "
                              "supports or friction of joints; use shooting");
        }
    }
    if (n > MOST_VELOCITIES) {
        return perpi_fail(x->context, PERP_ERROR_UNSUPPORTED,
                          "the method laws takes at most %d velocities, the scene has %d",
                          MOST_VELOCITIES, n);
    }
    status = perpi_law_pair_room(x->context, &x->work, n, f->problem.row_count, f->contact_count);
    if (status != PERP_OK) {
        return status;
    }
    perpi_formulation_gather_v(f, sim->model, x->v, before);
    perpi_formulation_gather_v(f, sim->model, x->v_after, after);
    memcpy(x->work.c, f->k, (size_t)n * sizeof *f->k);
    status = divide_rows(x, f);
    if (status != PERP_OK) {
        return status;
    }
    for (int32_t i = 0; i < n; ++i) {
        x->work.c[i] = after[i] - x->work.c[i];
    }
    x->work.time = gap_time(x, pair);
    for (int32_t i = 0; i < f->contact_count; ++i) {
        write_contact(x, pair, sim, i, before, after);
    }
    weigh(x, sim, f);
    weigh_laws(x, pair);
    if (x->e->impacts && perpi_measured_poisson(sim) && x->work.contacts > 0) {
        status = set_compressions(x, sim);
    }
    return status;
}

/* Masses of the bodies in their own axes, 36 numbers each: those of the start of the search weigh. */
static perp_status keep_masses(perpi_laws* x, const perp_sim* sim)
{
    const perp_model* model = sim->model;
    if (x->mass != NULL) {
        return PERP_OK;
    }
    const perp_status status =
        perpi_alloc(x->context, 36 * model->body_count + 1, sizeof(double), &x->mass);
    for (size_t b = 0; status == PERP_OK && b < model->body_count; ++b) {
        const perpi_body* body = &model->body[b];
        const int32_t n = body->dofs;
        double* M = x->mass + 36 * b;
        for (int32_t i = 0; i < n; ++i) {
            M[i * n + i] = body->mass;
        }
        if (n == 3 && model->dimension == 2) {
            M[8] = body->inertia.m[2][2];
        }
        for (int i = 0; n == 6 && i < 3; ++i) {
            for (int k = 0; k < 3; ++k) {
                M[(3 + i) * 6 + 3 + k] = body->inertia.m[i][k];
            }
        }
    }
    return status;
}

/* ---- all pairs -----------------------------------------------------------------------------------*/

/* The residual of an impact's prediction, as that of a pair without impulses; U c. */
static perp_status prediction_residual(perpi_laws* x, perp_sim* sim, double* R, double* loss)
{
    perpi_law_pair* w = &x->work;
    bool solved = false;
    double after[MOST_VELOCITIES], predicted[MOST_VELOCITIES];
    perp_status status =
        perpi_measured_impact(x->measured, sim, x->q_middle, x->v, x->v_next, &solved);
    if (status != PERP_OK) {
        return status;
    }
    perpi_formulation_gather_v(x->measured->f, sim->model, x->v_after, after);
    perpi_formulation_gather_v(x->measured->f, sim->model, x->v_next, predicted);
    *loss = 0.0;
    for (int32_t i = 0; i < w->n; ++i) {
        R[i] = 0.0;
        for (int32_t k = i; k < w->n; ++k) {
            R[i] += w->U[(size_t)i * (size_t)w->n + (size_t)k] * (after[k] - predicted[k]);
        }
        *loss += 0.5 * R[i] * R[i];
    }
    return PERP_OK;
}

/* Room for a pair's part of the arrays; writes where it is. */
static perp_status reserve(perpi_laws* x, perpi_laws_pair* pair, size_t at[3])
{
    const bool predicted = x->residual_kind == PERPI_LAWS_PREDICTION;
    pair->contacts = predicted ? 0 : x->work.contacts;
    pair->impulses = predicted ? 0 : x->work.r;
    pair->rows = predicted ? x->work.n : perpi_law_rows(&x->work);
    pair->contact = at[0];
    pair->impulse = at[1];
    pair->residual = at[2];
    at[0] += (size_t)pair->contacts;
    at[1] += (size_t)pair->impulses;
    at[2] += (size_t)pair->rows;
    perp_status status =
        perpi_grow(x->context, &x->contact, &x->contact_room, at[0] + 1, sizeof *x->contact);
    if (status == PERP_OK) {
        status = perpi_grow(x->context, &x->impulse, &x->impulse_room, at[1] + 1, sizeof(double));
    }
    if (status == PERP_OK) {
        status = perpi_grow(x->context, &x->residual, &x->residual_room, at[2] + 1, sizeof(double));
    }
    return status;
}

static perp_status evaluate_pairs(perpi_laws* x, const double* parameter, perp_sim* sim)
{
    size_t at[3] = {0, 0, 0};
    perp_status status = keep_masses(x, sim);
    for (int32_t i = 0; status == PERP_OK && i < x->pair_count; ++i) {
        perpi_laws_pair* pair = &x->pair[i];
        status = build_pair(x, pair, sim, parameter);
        if (status == PERP_OK) {
            status = reserve(x, pair, at);
        }
        if (status != PERP_OK) {
            break;
        }
        double* R = x->residual + pair->residual;
        x->evaluations += 1;
        if (x->residual_kind == PERPI_LAWS_PREDICTION) {
            status = prediction_residual(x, sim, R, &pair->loss);
            continue;
        }
        double* p = x->impulse + pair->impulse;
        status = perpi_law_minimise(&x->minimise, &x->work, p, &pair->loss);
        if (status == PERP_OK) {
            perpi_law_residual(&x->work, p, true, R);
            memcpy(x->contact + pair->contact, x->work.contact,
                   (size_t)pair->contacts * sizeof *x->contact);
        }
    }
    return status;
}

/* Contacts and pieces as at the base: a contact that is not found at the changed parameters stays as it was. */
static bool match_contacts(perpi_laws* x, const perpi_laws_pair* pair)
{
    perpi_law_pair* w = &x->work;
    bool same = w->contacts == pair->contacts && w->r == pair->impulses;
    for (int32_t i = 0; same && i < w->contacts; ++i) {
        const perpi_law_contact* base = &x->contact[pair->contact + (size_t)i];
        same = w->contact[i].key == base->key && w->contact[i].body_a == base->body_a &&
               w->contact[i].body_b == base->body_b;
        w->contact[i].pushes = base->pushes;
        w->contact[i].sticks = base->sticks;
    }
    return same;
}

/* Adds `factor` times the residuals at changed parameters to column j of the derivatives. */
static perp_status add_difference(perpi_laws* x, const double* parameter, perp_sim* sim, int32_t j,
                                  double factor)
{
    const size_t columns = (size_t)x->e->parameter_count;
    perp_status status = PERP_OK;
    for (int32_t i = 0; status == PERP_OK && i < x->pair_count; ++i) {
        perpi_laws_pair* pair = &x->pair[i];
        double* R = NULL;
        double loss;
        status = build_pair(x, pair, sim, parameter);
        if (status == PERP_OK) {
            status = perpi_grow(x->context, &x->p, &x->p_room, (size_t)pair->rows + 1, sizeof *R);
        }
        if (status != PERP_OK) {
            break;
        }
        R = x->p;
        memcpy(R, x->residual + pair->residual, (size_t)pair->rows * sizeof *R);
        if (x->residual_kind == PERPI_LAWS_PREDICTION) {
            status = prediction_residual(x, sim, R, &loss);
        } else if (match_contacts(x, pair)) {
            perpi_law_residual(&x->work, x->impulse + pair->impulse, true, R);
        }
        for (int32_t k = 0; k < pair->rows; ++k) {
            x->derivative[(pair->residual + (size_t)k) * columns + (size_t)j] += factor * R[k];
        }
    }
    return status;
}

/* The ends of the difference by parameter j, within its bounds. */
static void difference_ends(const perpi_laws* x, const double* parameter, int32_t j, double end[2])
{
    const perp_unknown* u = &x->e->parameter[j].info;
    const double step =
        DIFFERENCE * (fabs(parameter[j]) > 1e-3 * u->scale ? fabs(parameter[j]) : u->scale);
    end[0] = parameter[j] - step >= u->low ? parameter[j] - step : parameter[j];
    end[1] = parameter[j] + step <= u->high ? parameter[j] + step : parameter[j];
}

static perp_status differentiate(perpi_laws* x, const double* parameter)
{
    const int32_t columns = x->e->parameter_count;
    const perpi_laws_pair* last = &x->pair[x->pair_count - 1];
    const size_t rows = last->residual + (size_t)last->rows;
    double changed[PERPI_ESTIMATE_PARAMETERS];
    perp_status status = perpi_grow(x->context, &x->derivative, &x->derivative_room,
                                    rows * (size_t)columns + 1, sizeof(double));
    if (status != PERP_OK) {
        return status;
    }
    memset(x->derivative, 0, rows * (size_t)columns * sizeof *x->derivative);
    memcpy(changed, parameter, (size_t)columns * sizeof *changed);
    for (int32_t j = 0; status == PERP_OK && j < columns; ++j) {
        double end[2];
        difference_ends(x, parameter, j, end);
        for (int side = 0; status == PERP_OK && side < 2; ++side) {
            perp_sim* sim = NULL;
            changed[j] = end[side];
            status = perpi_predictor_sim(x->predictor, changed, 0.0, &sim);
            if (status == PERP_OK) {
                status = add_difference(x, changed, sim, j,
                                        (side == 0 ? -1.0 : 1.0) / (end[1] - end[0]));
            }
        }
        changed[j] = parameter[j];
    }
    return status;
}

/* Removes from the derivatives what a change of the impulses removes. */
static perp_status project_pairs(perpi_laws* x, const double* parameter, perp_sim* sim)
{
    const size_t columns = (size_t)x->e->parameter_count;
    perp_status status = PERP_OK;
    for (int32_t i = 0; status == PERP_OK && i < x->pair_count; ++i) {
        perpi_laws_pair* pair = &x->pair[i];
        if (pair->impulses == 0) {
            continue;
        }
        status = build_pair(x, pair, sim, parameter);
        if (status == PERP_OK && match_contacts(x, pair)) {
            status = perpi_law_project(&x->minimise, &x->work, x->impulse + pair->impulse,
                                       (int32_t)columns, x->derivative + pair->residual * columns);
        }
    }
    return status;
}

perp_status perpi_laws_evaluate(perpi_laws* x, const double* parameter, bool derivatives)
{
    perp_sim* sim = NULL;
    perp_status status = perpi_predictor_sim(x->predictor, parameter, 0.0, &sim);
    if (status == PERP_OK) {
        status = evaluate_pairs(x, parameter, sim);
    }
    if (status == PERP_OK && derivatives && x->pair_count > 0) {
        status = differentiate(x, parameter);
        if (status == PERP_OK) {
            status = perpi_predictor_sim(x->predictor, parameter, 0.0, &sim);
        }
        if (status == PERP_OK) {
            status = project_pairs(x, parameter, sim);
        }
    }
    return status;
}

/* ---- predictions ---------------------------------------------------------------------------------*/

static double energy_norm(const perpi_formulation* f, const double* v)
{
    const double* M = f->M;
    double sum = 0.0;
    for (int32_t i = 0; i < f->problem.block_count; ++i) {
        const int32_t n = f->dof[i + 1] - f->dof[i];
        for (int32_t a = 0; a < n; ++a) {
            for (int32_t b = 0; b < n; ++b) {
                sum += v[f->dof[i] + a] * M[a * n + b] * v[f->dof[i] + b];
            }
        }
        M += n * n;
    }
    return sum;
}

perp_status perpi_laws_impact(perpi_laws* x, const perpi_laws_pair* pair, const double* parameter,
                              double* error)
{
    double before[MOST_VELOCITIES], after[MOST_VELOCITIES], found[MOST_VELOCITIES];
    perp_sim* sim = NULL;
    bool solved = false;
    perp_status status = perpi_predictor_sim(x->predictor, parameter, 0.0, &sim);
    if (status == PERP_OK) {
        status = perpi_laws_states(x, pair, parameter, sim->model);
    }
    if (status == PERP_OK) {
        status = find_contacts(x, pair, sim);
    }
    if (status == PERP_OK) {
        status = perpi_measured_impact(x->measured, sim, x->q_middle, x->v, x->v_next, &solved);
    }
    if (status != PERP_OK) {
        return status;
    }
    const perpi_formulation* f = x->measured->f;
    perpi_formulation_gather_v(f, sim->model, x->v, before);
    perpi_formulation_gather_v(f, sim->model, x->v_after, after);
    perpi_formulation_gather_v(f, sim->model, x->v_next, found);
    for (int32_t k = 0; k < f->problem.dof_count; ++k) {
        found[k] -= after[k];
    }
    *error = solved && x->measured->contacts.count > 0
                 ? sqrt(energy_norm(f, found) / energy_norm(f, before))
                 : NAN;
    return PERP_OK;
}
