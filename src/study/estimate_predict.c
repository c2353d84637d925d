/* src/study/estimate_predict.c - one trajectory predicted by a simulation, and its derivatives. */
#include "study/estimate_predict.h"

#include <math.h>
#include <string.h>

#include "base/vec.h"
#include "model/model.h"
#include "perp/set.h"
#include "sim/sim.h"
#include "study/estimate_inertia.h"

/* A row within this part of a step from its end is at its end. */
#define SAME_TIME 1e-9
/* Central differences: the step, as a part of the size of an unknown. Its square is the error that
 * the third derivative makes; rounding divided by it that of the difference. */
#define DIFFERENCE 6e-6
/* Runs differ by more than what was moved: adaptive steps are others, with other errors; iterative
 * solvers end within their tolerance. A difference whose halves disagree by more than this part of
 * it is taken over a hundred times the distance. */
#define DISAGREE 0.2
enum { TRIES = 2, ADAPTIVE_TRIES = 3 };
/* Rounding of a run, as a part of the largest number. */
#define ROUNDING 1e-13

/* ---- creating -----------------------------------------------------------------------------------*/

void perpi_predictor_destroy(perpi_predictor* p)
{
    if (p == NULL) {
        return;
    }
    perp_context* context = p->context;
    perpi_forward_destroy(p);
    perp_sim_destroy(p->sim);
    perpi_free(context, p->set);
    perpi_free(context, p->state);
    perpi_free(context, p->from);
    perpi_free(context, p->to);
    perpi_free(context, p->row_a);
    perpi_free(context, p->row_b);
    perpi_free(context, p->moved);
    perpi_free(context, p->plus);
    perpi_free(context, p->minus);
    perpi_free(context, p->end);
    perpi_free(context, p->centre);
    perpi_free(context, p->end_plus);
    perpi_free(context, p->end_minus);
    perpi_free(context, p->flight);
    perpi_free(context, p);
}

static perp_status allocate(perpi_predictor* p)
{
    const perpi_estimate* e = p->e;
    const size_t n = (size_t)e->parameter_count + PERPI_START_COORDINATES * p->bodies + 1;
    PERPI_TRY(perpi_alloc(p->context, n, sizeof *p->set, &p->set));
    PERPI_TRY(perpi_alloc(p->context, n, sizeof *p->moved, &p->moved));
    PERPI_TRY(perpi_alloc(p->context, p->bodies, sizeof *p->state, &p->state));
    PERPI_TRY(perpi_alloc(p->context, p->bodies, sizeof *p->from, &p->from));
    PERPI_TRY(perpi_alloc(p->context, p->bodies, sizeof *p->to, &p->to));
    PERPI_TRY(perpi_alloc(p->context, p->bodies, sizeof *p->end, &p->end));
    PERPI_TRY(perpi_alloc(p->context, 3 * p->bodies, sizeof *p->centre, &p->centre));
    PERPI_TRY(perpi_alloc(p->context, p->bodies, sizeof *p->end_plus, &p->end_plus));
    PERPI_TRY(perpi_alloc(p->context, p->bodies, sizeof *p->end_minus, &p->end_minus));
    PERPI_TRY(perpi_alloc(p->context, (size_t)e->columns, sizeof *p->row_a, &p->row_a));
    return perpi_alloc(p->context, (size_t)e->columns, sizeof *p->row_b, &p->row_b);
}

perp_status perpi_predictor_create(perp_context* context, perp_study* study,
                                   perpi_predictor** predictor)
{
    perpi_predictor* p = NULL;
    PERPI_TRY(perpi_alloc(context, 1, sizeof *p, &p));
    const perp_model* model = perp_scene_model(study->scene);
    p->context = context;
    p->study = study;
    p->e = study->estimate;
    p->planar = model->dimension == 2;
    p->bodies = model->body_count;
    p->length = model->length;
    p->derivative = PERPI_DERIVATIVE_DIFFERENCES;
    for (int32_t i = 0; i < p->e->data.count; ++i) {
        const perpi_trajectory* t = &p->e->data.trajectory[i];
        p->duration = t->time[t->rows - 1] > p->duration ? t->time[t->rows - 1] : p->duration;
    }
    perp_status status = allocate(p);
    if (status == PERP_OK) {
        status = perpi_forward_create(p);
    }
    if (status != PERP_OK) {
        perpi_predictor_destroy(p);
        return status;
    }
    *predictor = p;
    return PERP_OK;
}

int32_t perpi_predictor_bodies(const perpi_predictor* p)
{
    return (int32_t)p->bodies;
}

bool perpi_predictor_planar(const perpi_predictor* p)
{
    return p->planar;
}

perpi_derivative perpi_predictor_derivative(const perpi_predictor* p)
{
    return p->derivative;
}

/* ---- the scene with values ----------------------------------------------------------------------*/

void perpi_predictor_centres(perpi_predictor* p, const double* parameter)
{
    for (int32_t i = 0; i < p->e->inertia_count; ++i) {
        const perpi_inertia* inertia = &p->e->inertia[i];
        double physical[PERPI_INERTIA_PARTS];
        perpi_inertia_physical(inertia, parameter + inertia->first, physical);
        for (int k = 0; inertia->centre && k < (p->planar ? 2 : 3); ++k) {
            p->centre[3 * inertia->moved + k] = physical[(p->planar ? 2 : 7) + k];
        }
    }
}

perp_status perpi_predictor_scene(perpi_predictor* p, const double* parameter, perp_scene** scene)
{
    const perpi_estimate* e = p->e;
    *scene = p->study->scene;
    if (p->is_set &&
        (e->parameter_count == 0 ||
         memcmp(p->set, parameter, (size_t)e->parameter_count * sizeof *parameter) == 0)) {
        return PERP_OK;
    }
    perp_sim_destroy(p->sim);
    p->sim = NULL;
    perpi_forward_forget(p);
    p->is_set = false;
    for (int32_t i = 0; i < e->parameter_count; ++i) {
        if (e->parameter[i].kind == PERPI_PARAMETER_SCENE) {
            PERPI_TRY(perp_scene_set_number(*scene, e->parameter[i].info.name, parameter[i]));
        }
    }
    for (int32_t i = 0; i < e->inertia_count; ++i) {
        PERPI_TRY(perpi_inertia_set(&e->inertia[i], *scene, parameter + e->inertia[i].first));
    }
    perpi_predictor_centres(p, parameter);
    PERPI_TRY(perp_scene_rebuild(*scene));
    if (e->parameter_count > 0) {
        memcpy(p->set, parameter, (size_t)e->parameter_count * sizeof *parameter);
    }
    p->is_set = true;
    return PERP_OK;
}

/* Long enough for the longest trajectory, without a last step of another length. Bodies that
 * overlap a little, because the start was measured, are moved apart. */
perp_sim_def perpi_predictor_def(const perpi_predictor* p, const perp_scene* scene)
{
    perp_sim_def def = perp_sim_def_from_scene(scene);
    if (def.error > 0.0) {
        def.step = isnan(def.step) ? def.duration / 1000.0 : def.step;
        def.step_max = isnan(def.step_max) ? def.duration / 10.0 : def.step_max;
        def.step_min = isnan(def.step_min) ? 1e-9 * def.step_max : def.step_min;
    }
    def.duration = (ceil(p->duration / def.step) + 1.0) * def.step;
    def.measure_count = def.stop_count = 0;
    def.allow_overlap = def.allow_overlap || !p->e->start_from_scene || p->e->start_count > 0;
    return def;
}

static perp_status create_sim(perpi_predictor* p, const perp_scene* scene)
{
    const perp_sim_def def = perpi_predictor_def(p, scene);
    return perp_sim_create_from_scene_def(p->context, scene, &def, &p->sim);
}

/* Joints and forces as at a start, bodies where they are; the time that of the step nearest to it. */
static perp_status set_time(perpi_predictor* p, double time)
{
    perp_sim* sim = p->sim;
    const perp_sim_def* def = perpi_sim_asked(sim);
    if (def->error > 0.0) {
        return perpi_fail(p->context, PERP_ERROR_UNSUPPORTED,
                          "a trajectory cannot begin between its rows with an adaptive step: give "
                          "the scene a fixed one");
    }
    int32_t joints = 0;
    const perp_joint_record* joint = perp_sim_joint_records(sim, &joints);
    const perpi_saved saved = {.time = round(time / def->step) * def->step,
                               .step = (int64_t)round(time / def->step),
                               .q = perp_sim_q(sim),
                               .v = perp_sim_v(sim),
                               .memory = perpi_sim_s(sim),
                               .joint = joint};
    return perpi_sim_set_state(sim, &saved);
}

perp_status perpi_predictor_sim(perpi_predictor* p, const double* parameter, double time,
                                perp_sim** sim)
{
    perp_scene* scene = NULL;
    PERPI_TRY(perpi_predictor_scene(p, parameter, &scene));
    if (p->sim != NULL && time > perp_sim_duration(p->sim)) {
        perp_sim_destroy(p->sim);
        p->sim = NULL;
    }
    p->duration = time > p->duration ? time : p->duration;
    if (p->sim == NULL) {
        PERPI_TRY(create_sim(p, scene));
    } else {
        PERPI_TRY(perp_sim_reset(p->sim));
    }
    if (time > 0.0) {
        PERPI_TRY(set_time(p, time));
    }
    *sim = p->sim;
    return PERP_OK;
}

/* ---- one run ------------------------------------------------------------------------------------*/

static bool same_state(const perp_body_state* a, const perp_body_state* b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

static perp_status set_start(perpi_predictor* p, perp_sim* sim, const perpi_prediction* x)
{
    const perp_model* model = perp_sim_model(sim);
    for (size_t i = 0; i < p->bodies; ++i) {
        double by[PERPI_START_COORDINATES] = {0};
        const perp_body_state now = perp_sim_body(sim, (int32_t)i);
        perp_body_state* s = &p->from[i];
        for (int32_t k = 0; x->start != NULL && k < x->coordinates; ++k) {
            if (x->coordinate[k].body == (int32_t)i) {
                by[x->coordinate[k].coordinate] = x->start[k];
            }
        }
        perpi_state_displace(s, p->planar, by);
        if (model->body[i].type == PERP_BODY_DYNAMIC && !same_state(s, &now)) {
            PERPI_TRY(perp_sim_set_body(sim, (int32_t)i, s));
        }
    }
    return PERP_OK;
}

static void take_states(const perpi_predictor* p, const perp_sim* sim, perp_body_state* state)
{
    for (size_t i = 0; i < p->bodies; ++i) {
        state[i] = perp_sim_body(sim, (int32_t)i);
    }
}

static void states_between(const perpi_predictor* p, double part, perp_body_state* end)
{
    for (size_t i = 0; i < p->bodies; ++i) {
        double by[PERPI_START_COORDINATES];
        perpi_state_difference(&p->from[i], &p->to[i], p->planar, by);
        for (int k = 0; k < PERPI_START_COORDINATES; ++k) {
            by[k] *= part;
        }
        end[i] = part == 1.0 ? p->to[i] : p->from[i];
        if (part != 1.0) {
            perpi_state_displace(&end[i], p->planar, by);
        }
    }
}

static void put_row(perpi_predictor* p, perpi_prediction* x, int32_t row, double part)
{
    const perpi_estimate* e = p->e;
    const size_t columns = (size_t)e->columns;
    double* column = p->plus + (size_t)row * columns;
    perpi_predictor_between(e, p->planar, p->row_a, p->row_b, part, column);
    if (x->prediction != NULL) {
        memcpy(x->prediction + (size_t)row * columns, column, columns * sizeof *column);
    }
    if (x->residual != NULL) {
        perpi_predictor_residual(e, p->planar,
                                 x->trajectory->value + (size_t)(x->first + row) * columns, column,
                                 x->residual + (size_t)row * (size_t)e->width);
    }
    if (x->end != NULL && row == x->rows - 1) {
        states_between(p, part, x->end);
    }
}

static void swap_rows(perpi_predictor* p)
{
    double* row = p->row_a;
    perp_body_state* from = p->from;
    p->row_a = p->row_b;
    p->row_b = row;
    p->from = p->to;
    p->to = from;
}

static perp_status follow(perpi_predictor* p, perp_sim* sim, perpi_prediction* x)
{
    const perpi_trajectory* t = x->trajectory;
    const double begin = perp_sim_time(sim), first = t->time[x->first];
    double before = 0.0;
    int32_t row = 0;
    perpi_predictor_measure(p, x->parameter, sim, p->row_b);
    take_states(p, sim, p->to);
    swap_rows(p);
    memcpy(p->row_b, p->row_a, (size_t)p->e->columns * sizeof *p->row_b);
    memcpy(p->to, p->from, p->bodies * sizeof *p->to);
    put_row(p, x, row++, 1.0);
    while (row < x->rows) {
        const perp_status status = perp_sim_step(sim);
        if (status != PERP_OK) {
            x->info.time = perp_sim_time(sim);
            return status;
        }
        const double now = perp_sim_time(sim) - begin, h = perp_sim_last_step(sim);
        const perp_step_info info = perp_sim_step_info(sim);
        x->info.steps += 1;
        x->info.certificate = perpi_larger(x->info.certificate, info.certificate.worst);
        perpi_predictor_measure(p, x->parameter, sim, p->row_b);
        if (x->end != NULL) {
            take_states(p, sim, p->to);
        }
        while (row < x->rows && t->time[x->first + row] - first <= now + SAME_TIME * h) {
            const double at = t->time[x->first + row] - first;
            const double part = at >= now - SAME_TIME * h ? 1.0 : (at - before) / (now - before);
            put_row(p, x, row++, part);
        }
        before = now;
        swap_rows(p);
    }
    return PERP_OK;
}

perp_status perpi_predictor_simulate(perpi_predictor* p, perpi_prediction* x)
{
    const perpi_trajectory* t = x->trajectory;
    const double last = t->time[x->first + x->rows - 1];
    perp_sim* sim = NULL;
    x->info.runs += 1;
    p->duration = last > p->duration ? last : p->duration;
    if (p->sim != NULL && last > perp_sim_duration(p->sim)) {
        perp_sim_destroy(p->sim);
        p->sim = NULL;
        perpi_forward_forget(p);
    }
    PERPI_TRY(perpi_grow(p->context, &p->plus, &p->plus_room,
                         (size_t)x->rows * (size_t)p->e->columns, sizeof *p->plus));
    perp_status status = PERP_OK;
    if (x->state != NULL) {
        memcpy(p->from, x->state, p->bodies * sizeof *p->from);
    } else {
        status = perpi_predictor_nominal(p, t, x->first, x->parameter, p->from);
    }
    if (status == PERP_OK && (x->state != NULL || t->time[x->first] > 0.0)) {
        status = perpi_predictor_sim(p, x->parameter, t->time[x->first], &sim);
    } else {
        sim = p->sim; /* at its start */
    }
    if (status == PERP_OK) {
        status = set_start(p, sim, x);
    }
    if (status == PERP_OK) {
        status = follow(p, sim, x);
    }
    x->info.failed = status != PERP_OK && status != PERP_ERROR_MEMORY &&
                     status != PERP_ERROR_CANCELLED && status != PERP_ERROR_UNSUPPORTED;
    return status;
}

/* ---- derivatives by differences -----------------------------------------------------------------*/

/* The part of an unknown by which it is moved. */
static double difference_of(const perpi_predictor* p, const perpi_prediction* x, int32_t k)
{
    const perpi_estimate* e = p->e;
    if (k < e->parameter_count) {
        const double size = fabs(x->parameter[k]);
        return DIFFERENCE * (size > e->parameter[k].info.scale ? size : e->parameter[k].info.scale);
    }
    const perpi_trajectory* t = x->trajectory;
    const int32_t coordinate = x->coordinate[k - e->parameter_count].coordinate;
    const double time = t->time[x->first + x->rows - 1] - t->time[x->first];
    double length = p->length;
    for (int32_t i = 0; !(length > 0.0) && i < e->channel_count; ++i) {
        const perpi_channel* c = &e->channel[i];
        const bool position =
            c->kind == PERPI_CHANNEL_POSITION ||
            (c->kind == PERPI_CHANNEL_QUANTITY && c->quantity.kind == PERP_QUANTITY_POSITION);
        for (int32_t r = 0; position && r < t->rows; ++r) {
            const double off = fabs(t->value[(size_t)r * (size_t)e->columns + c->first_column] -
                                    t->value[c->first_column]);
            length = off > length ? off : length;
        }
    }
    length = length > 0.0 ? length : 1.0;
    return DIFFERENCE * (coordinate / 3 % 2 == 0 ? length : 1.0) *
           (coordinate < 6 || !(time > 0.0) ? 1.0 : 1.0 / time);
}

/* One run with unknown k moved by d; columns to `to`. */
static perp_status moved_run(perpi_predictor* p, const perpi_prediction* x, int32_t k, double d,
                             double* to, perp_body_state* end, perpi_prediction_info* info)
{
    const perpi_estimate* e = p->e;
    const int32_t n = e->parameter_count;
    perpi_prediction y = {.trajectory = x->trajectory,
                          .first = x->first,
                          .rows = x->rows,
                          .parameter = p->moved,
                          .start = p->moved + n,
                          .state = x->state,
                          .coordinate = x->coordinate,
                          .coordinates = x->coordinates,
                          .prediction = to,
                          .end = x->end_jacobian != NULL ? end : NULL};
    for (int32_t i = 0; i < n + x->coordinates; ++i) {
        p->moved[i] = i < n ? x->parameter[i] : x->start != NULL ? x->start[i - n] : 0.0;
    }
    p->moved[k] += d;
    const perp_status status = perpi_predictor_simulate(p, &y);
    info->runs += y.info.runs;
    info->steps += y.info.steps;
    info->failed = y.info.failed;
    info->time = y.info.time;
    return status;
}

/* The largest number that a residual is the difference of, over all rows. */
static double size_of_column(const perpi_predictor* p, const perpi_prediction* x, const double* a,
                             int32_t residual)
{
    const perpi_estimate* e = p->e;
    int32_t i = 0;
    while (residual >= e->channel[i].first_residual + e->channel[i].width) {
        ++i;
    }
    const perpi_channel* c = &e->channel[i];
    if (c->kind == PERPI_CHANNEL_ORIENTATION) {
        return 1.0 / c->noise;
    }
    double size = 0.0;
    for (int32_t r = 0; r < x->rows; ++r) {
        const double at = fabs(
            a[(size_t)r * (size_t)e->columns + c->first_column + residual - c->first_residual]);
        size = at > size ? at : size;
    }
    return size / c->noise;
}

/* Columns a, b of two runs whose unknown differs by d: the derivatives of residuals by it.
 * Differences that rounding explains are 0, so that what has no influence is seen to have none. */
static void differences_of_rows(const perpi_predictor* p, const perpi_prediction* x, int32_t k,
                                const double* a, const double* b, double d)
{
    const perpi_estimate* e = p->e;
    const size_t n = (size_t)e->parameter_count + (size_t)x->coordinates;
    double ra[PERPI_ESTIMATE_CHANNELS * PERPI_CHANNEL_WIDTH],
        rb[PERPI_ESTIMATE_CHANNELS * PERPI_CHANNEL_WIDTH],
        least[PERPI_ESTIMATE_CHANNELS * PERPI_CHANNEL_WIDTH];
    for (int32_t i = 0; i < e->width; ++i) {
        least[i] = ROUNDING * size_of_column(p, x, a, i);
    }
    for (int32_t r = 0; r < x->rows; ++r) {
        const size_t at = (size_t)r * (size_t)e->columns;
        const double* data = x->trajectory->value + (size_t)x->first * (size_t)e->columns + at;
        perpi_predictor_residual(e, p->planar, data, a + at, ra);
        perpi_predictor_residual(e, p->planar, data, b + at, rb);
        double* row = x->jacobian + (size_t)r * (size_t)e->width * n;
        for (int32_t i = 0; i < e->width; ++i) {
            const double by = (rb[i] - ra[i]) / d;
            row[(size_t)i * n + (size_t)k] = fabs(rb[i] - ra[i]) > least[i] ? by : 0.0;
        }
    }
}

static void differences_of_end(const perpi_predictor* p, const perpi_prediction* x, int32_t k,
                               const perp_body_state* a, const perp_body_state* b, double d)
{
    const size_t n = (size_t)p->e->parameter_count + (size_t)x->coordinates;
    for (size_t i = 0; i < p->bodies; ++i) {
        double by[PERPI_START_COORDINATES];
        perpi_state_difference(&a[i], &b[i], p->planar, by);
        for (size_t c = 0; c < PERPI_START_COORDINATES; ++c) {
            x->end_jacobian[(PERPI_START_COORDINATES * i + c) * n + (size_t)k] = by[c] / d;
        }
    }
}

/* Whether the two halves of a central difference disagree. */
static bool is_rough(const perpi_predictor* p, const perpi_prediction* x, const double* a,
                     const double* middle, const double* b)
{
    double whole = 0.0, off = 0.0;
    for (int32_t r = 0; r < x->rows; ++r) {
        const size_t at = (size_t)r * (size_t)p->e->columns;
        for (int32_t i = 0; i < p->e->channel_count; ++i) {
            const perpi_channel* c = &p->e->channel[i];
            for (int32_t j = c->first_column; j < c->first_column + c->columns; ++j) {
                const double bend =
                    b[at + (size_t)j] - 2.0 * middle[at + (size_t)j] + a[at + (size_t)j];
                const double by = b[at + (size_t)j] - a[at + (size_t)j];
                whole += by * by / (c->noise * c->noise);
                off += bend * bend / (c->noise * c->noise);
            }
        }
    }
    return off > DISAGREE * DISAGREE * whole;
}

/* Over the distance d: central; one-sided where one side is out of bounds or cannot be simulated.
 * *rough: it has no two halves that agree. */
static perp_status differentiate_over(perpi_predictor* p, perpi_prediction* x, int32_t k, double d,
                                      const double* middle, const perp_body_state* end, bool* rough)
{
    const perpi_estimate* e = p->e;
    const size_t size = (size_t)x->rows * (size_t)e->columns;
    const perp_unknown* u = k < e->parameter_count ? &e->parameter[k].info : NULL;
    double up = u != NULL && x->parameter[k] + d > u->high ? 0.0 : d;
    double down = u != NULL && x->parameter[k] - d < u->low ? 0.0 : d;
    const double *a = middle, *b = middle;
    const perp_body_state *end_a = end, *end_b = end;
    perp_status status = PERP_OK;
    if (down > 0.0) {
        status = moved_run(p, x, k, -d, p->minus, p->end_minus, &x->info);
        a = p->minus;
        end_a = p->end_minus;
        if (status != PERP_OK && !x->info.failed) {
            return status;
        }
        if (status != PERP_OK) {
            down = 0.0;
            a = middle;
            end_a = end;
        }
    }
    double* const other = p->minus + size;
    if (up > 0.0) {
        status = moved_run(p, x, k, d, other, p->end_plus, &x->info);
        b = other;
        end_b = p->end_plus;
        if (status != PERP_OK && !x->info.failed) {
            return status;
        }
        if (status != PERP_OK) {
            up = 0.0;
            b = middle;
            end_b = end;
        }
    }
    if (up + down == 0.0) {
        return status != PERP_OK
                   ? status
                   : perpi_fail(p->context, PERP_ERROR_INPUT,
                                "the bounds of '%s' are too near to each other", u->name);
    }
    x->info.failed = false;
    *rough = !(up > 0.0 && down > 0.0) || is_rough(p, x, a, middle, b);
    if (x->jacobian != NULL) {
        differences_of_rows(p, x, k, a, b, up + down);
    }
    if (x->end_jacobian != NULL) {
        differences_of_end(p, x, k, end_a, end_b, up + down);
    }
    return PERP_OK;
}

static perp_status differentiate(perpi_predictor* p, perpi_prediction* x, int32_t k,
                                 const double* middle, const perp_body_state* end)
{
    const bool adaptive = perp_sim_def_from_scene(p->study->scene).error > 0.0;
    const double d = difference_of(p, x, k);
    const int most = adaptive ? ADAPTIVE_TRIES : k < p->e->parameter_count ? TRIES : 1;
    bool rough = true;
    double times = 1.0;
    for (int i = 0; rough && i < most; ++i, times *= 100.0) {
        PERPI_TRY(differentiate_over(p, x, k, times * d, middle, end, &rough));
    }
    return PERP_OK;
}

/* The same of derivatives that came along with the run: what differences could not see is 0. */
static void drop_rounding(const perpi_predictor* p, const perpi_prediction* x)
{
    const perpi_estimate* e = p->e;
    const int32_t n = e->parameter_count + x->coordinates;
    for (int32_t i = 0; i < e->width; ++i) {
        const double least = ROUNDING * size_of_column(p, x, p->plus, i);
        for (int32_t k = 0; k < n; ++k) {
            const double limit = least / (2.0 * difference_of(p, x, k));
            for (int32_t r = 0; r < x->rows; ++r) {
                double* by =
                    x->jacobian + ((size_t)r * (size_t)e->width + (size_t)i) * (size_t)n + k;
                *by = fabs(*by) > limit ? *by : 0.0;
            }
        }
    }
}

/* Whether parameter k is at a bound, and has no influence there by derivatives that came along with the run. */
static bool is_flat_at_bound(const perpi_predictor* p, const perpi_prediction* x, int32_t k)
{
    const size_t n = (size_t)p->e->parameter_count + (size_t)x->coordinates;
    const perp_unknown* u = &p->e->parameter[k].info;
    if (x->parameter[k] > u->low && x->parameter[k] < u->high) {
        return false;
    }
    for (size_t i = 0; x->jacobian != NULL && i < (size_t)x->rows * (size_t)p->e->width; ++i) {
        if (x->jacobian[i * n + (size_t)k] != 0.0) {
            return false;
        }
    }
    for (size_t i = 0; x->end_jacobian != NULL && i < PERPI_START_COORDINATES * p->bodies; ++i) {
        if (x->end_jacobian[i * n + (size_t)k] != 0.0) {
            return false;
        }
    }
    return true;
}

/* The run and its derivatives together; *can: false if the scene does not allow it. A coefficient
 * of friction that is 0 has only a one-sided derivative, which these do not see: at a bound it is
 * that of a difference into the interval. */
static perp_status predict_forward(perpi_predictor* p, perpi_prediction* x, bool* can)
{
    const size_t size = (size_t)x->rows * (size_t)p->e->columns;
    PERPI_TRY(perpi_forward_predict(p, x, can));
    if (*can && x->jacobian != NULL) {
        drop_rounding(p, x);
    }
    bool kept = false;
    for (int32_t k = 0; *can && k < p->e->parameter_count; ++k) {
        if (!is_flat_at_bound(p, x, k)) {
            continue;
        }
        if (!kept) { /* other runs overwrite it */
            PERPI_TRY(
                perpi_grow(p->context, &p->minus, &p->minus_room, 3 * size, sizeof *p->minus));
            memcpy(p->minus + 2 * size, p->plus, size * sizeof *p->minus);
            kept = true;
        }
        const perp_status status = differentiate(p, x, k, p->minus + 2 * size, x->end);
        if (status != PERP_OK && !x->info.failed) {
            return status;
        }
        x->info.failed = false; /* the run itself did not */
    }
    return PERP_OK;
}

perp_status perpi_predictor_predict(perpi_predictor* p, perpi_prediction* x)
{
    const perpi_estimate* e = p->e;
    if (x->rows == 0) {
        x->rows = x->trajectory->rows - x->first;
    }
    x->info = (perpi_prediction_info){0};
    if (x->coordinate == NULL) {
        x->coordinate = e->start;
        x->coordinates = e->start_count;
    }
    const size_t size = (size_t)x->rows * (size_t)e->columns;
    if (x->jacobian == NULL && x->end_jacobian == NULL) {
        return perpi_predictor_simulate(p, x);
    }
    perp_body_state* const end_given = x->end;
    if (x->end_jacobian != NULL && x->end == NULL) {
        x->end = p->end;
    }
    bool can = false;
    const perp_status forward = predict_forward(p, x, &can);
    if (can || forward != PERP_OK) {
        x->end = end_given;
        return forward;
    }
    x->info.derivative = PERPI_DERIVATIVE_DIFFERENCES;
    PERPI_TRY(perpi_grow(p->context, &p->minus, &p->minus_room, 3 * size, sizeof *p->minus));
    double* const prediction_given = x->prediction;
    x->prediction = p->minus + 2 * size;
    const perp_body_state* const end = x->end;
    perp_status status = perpi_predictor_simulate(p, x);
    for (int32_t k = 0; status == PERP_OK && k < e->parameter_count + x->coordinates; ++k) {
        status = differentiate(p, x, k, p->minus + 2 * size, end);
    }
    if (prediction_given != NULL) {
        memcpy(prediction_given, p->minus + 2 * size, size * sizeof *prediction_given);
    }
    x->prediction = prediction_given;
    x->end = end_given;
    return status;
}

perp_status perpi_predictor_run(perpi_predictor* p, int32_t trajectory, const double* parameter,
                                const double* start, double* prediction, double* residual,
                                double* jacobian, perpi_prediction_info* info)
{
    perpi_prediction x = {.trajectory = &p->e->data.trajectory[trajectory],
                          .parameter = parameter,
                          .start = start,
                          .prediction = prediction,
                          .residual = residual,
                          .jacobian = jacobian};
    const perp_status status = perpi_predictor_predict(p, &x);
    if (info != NULL) {
        *info = x.info;
    }
    return status;
}
