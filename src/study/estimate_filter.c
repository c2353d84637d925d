/* src/study/estimate_filter.c - method particle-filter: the posterior of the unknowns by weighted simulations.
 *
 * Source     [B09 7.2, 7.6.2]; particle_static.c and particle_dynamic.c name the algorithms
 * Departure  without process noise the unknowns do not change, as in [B09 (7.4)], and the filter converges to their
 *            posterior; with it they walk at random, as in a usual filter. Bounds are part of the prior (nothing is set to
 *            0), velocities are not made from differences of positions, whose errors are not independent.
 *
 * Every particle is a run of the scene. Batches of particles go to worker processes (estimate_filter_work.c).
 */
#include "study/estimate_filter.h"

#include <math.h>
#include <string.h>

#include "sim/sim.h"

/* A parameter with a uniform prior is not identifiable if the posterior is as wide as that in a
 * direction it is part of: variance, relative; and the part. */
#define WIDE 0.8
#define PART 0.1
#define FEW 10.0 /* particles that carry an estimate: fewer are too few */

perp_status perpi_answer_add_series(perp_context* context, perpi_answer* answer, int32_t trajectory,
                                    int32_t rows, perpi_answer_series** series)
{
    const size_t n = (size_t)answer->n, count = (size_t)answer->series_count, r = (size_t)rows;
    perpi_answer_series* all = NULL;
    PERPI_TRY(perpi_alloc(context, count + 1, sizeof *all, &all));
    if (count > 0) {
        memcpy(all, answer->series, count * sizeof *all);
    }
    perpi_free(context, answer->series);
    answer->series = all;
    answer->series_count += 1;
    *series = &all[count];
    **series = (perpi_answer_series){.trajectory = trajectory, .rows = rows};
    PERPI_TRY(perpi_alloc(context, r, sizeof(double), &(*series)->time));
    PERPI_TRY(perpi_alloc(context, r * n, sizeof(double), &(*series)->value));
    PERPI_TRY(perpi_alloc(context, r * n, sizeof(double), &(*series)->low));
    return perpi_alloc(context, r * n, sizeof(double), &(*series)->high);
}

/* ---- after a row --------------------------------------------------------------------------------*/

static void append(json_t* array, double number)
{
    (void)json_array_append_new(array, isfinite(number) ? json_real(number) : json_null());
}

static json_t* array_of(json_t* object, const char* key)
{
    json_t* array = json_object_get(object, key);
    if (array == NULL) {
        array = json_array();
        (void)json_object_set_new(object, key, array);
    }
    return array;
}

/* What the particles predict of the data columns at the row: means and 95 % intervals. */
static void keep_predicted(const perpi_filter_run* f, int32_t index, double time,
                           const perpi_filter_row* row)
{
    json_t* all = array_of(f->answer->more, "filtered");
    while ((int32_t)json_array_size(all) <= index) {
        json_t* object = json_object();
        const int32_t i = f->trajectory[json_array_size(all)];
        (void)json_object_set_new(object, "trajectory",
                                  json_integer(f->e->data.trajectory[i].number));
        (void)json_array_append_new(all, object);
    }
    json_t* object = json_array_get(all, (size_t)index);
    append(array_of(object, "time"), time);
    append(array_of(object, "effective"), row->effective);
    for (int32_t i = 0; i < f->e->channel_count; ++i) {
        const perpi_channel* c = &f->e->channel[i];
        for (int32_t k = 0; k < c->columns; ++k) {
            const int32_t at = c->first_column + k;
            json_t* column = json_object_get(object, c->column[k]);
            if (column == NULL) {
                column = json_object();
                (void)json_object_set_new(object, c->column[k], column);
            }
            append(array_of(column, "value"), row->predicted[at]);
            append(array_of(column, "low"), row->predicted_low[at]);
            append(array_of(column, "high"), row->predicted_high[at]);
        }
    }
}

static perp_status summarise(void* user, const perpi_filter_row* row)
{
    perpi_filter_run* f = user;
    const int32_t p = f->parameters, n = f->n;
    int32_t i = 0;
    while (row->row >= f->offset[i + 1]) {
        ++i;
    }
    const perpi_trajectory* t = &f->e->data.trajectory[f->trajectory[i]];
    perpi_answer_series* s = &f->answer->series[i];
    const int32_t local = row->row - f->offset[i];
    const size_t at = (size_t)(local - (t->rows - s->rows)), size = (size_t)p * sizeof(double);
    s->time[at] = t->time[local];
    memcpy(s->value + at * (size_t)p, row->mean, size);
    memcpy(s->low + at * (size_t)p, row->low, size);
    memcpy(s->high + at * (size_t)p, row->high, size);
    keep_predicted(f, i, t->time[local], row);
    /* the last row's are the answer */
    memcpy(f->mean, row->mean, (size_t)n * sizeof *f->mean);
    memcpy(f->answer->search, row->mean, size);
    memcpy(f->answer->low, row->low, size);
    memcpy(f->answer->high, row->high, size);
    for (int32_t k = 0; k < p; ++k) {
        memcpy(f->answer->covariance + k * p, row->covariance + k * n, size);
    }
    f->answer->iterations += 1;
    perpi_estimate_run* run = f->run;
    return run->progress != NULL && run->progress(run, row->row + 1, row->effective)
               ? perpi_fail(run->context, PERP_ERROR_CANCELLED, "interrupted")
               : PERP_OK;
}

/* ---- the answer ---------------------------------------------------------------------------------*/

/* Directions in which the posterior is as wide as a uniform prior. */
static perp_status find_unidentifiable(const perpi_filter_run* f)
{
    perpi_answer* a = f->answer;
    const int32_t p = f->parameters;
    const size_t square = (size_t)p * (size_t)p;
    double* A = NULL;
    PERPI_TRY(perpi_alloc(f->run->context, 2 * square + 1, sizeof *A, &A));
    double* V = A + square;
    for (int32_t i = 0; i < p; ++i) {
        a->identifiable[i] = true;
        for (int32_t j = 0; j < p; ++j) { /* a given prior is knowledge: without weight here */
            const bool both =
                f->prior[i].kind == PERPI_PRIOR_UNIFORM && f->prior[j].kind == PERPI_PRIOR_UNIFORM;
            A[i * p + j] = both ? a->covariance[i * p + j] / perpi_prior_deviation(&f->prior[i]) /
                                      perpi_prior_deviation(&f->prior[j])
                                : 0.0;
        }
    }
    perpi_symmetric_eigen(p, A, V);
    perp_status status = PERP_OK;
    for (int32_t k = 0; status == PERP_OK && k < p; ++k) {
        if (!(A[k * p + k] > WIDE) || f->dynamic) {
            continue;
        }
        double *weight = NULL, largest = 0.0;
        status = perpi_alloc(f->run->context, (size_t)p, sizeof *weight, &weight);
        for (int32_t i = 0; status == PERP_OK && i < p; ++i) {
            weight[i] = V[i * p + k];
            largest = fabs(weight[i]) > fabs(largest) ? weight[i] : largest;
            a->identifiable[i] = a->identifiable[i] && fabs(weight[i]) <= PART;
        }
        for (int32_t i = 0; status == PERP_OK && i < p; ++i) {
            weight[i] /= largest;
        }
        if (status == PERP_OK) {
            a->combination[a->combination_count++].weight = weight;
        }
    }
    perpi_free(f->run->context, A);
    return status;
}

/* Values as they are reported; those of inertias have intervals from their standard deviations. */
static perp_status report_values(const perpi_filter_run* f)
{
    perpi_answer* a = f->answer;
    const int32_t p = f->parameters;
    const size_t square = (size_t)p * (size_t)p;
    double* D = NULL;
    PERPI_TRY(perpi_alloc(f->run->context, 2 * square + 1, sizeof *D, &D));
    double* DC = D + square;
    perpi_answer_physical(f->e, a->search, a->value, D);
    for (int32_t i = 0; f->e->inertia_count > 0 && i < p * p; ++i) {
        DC[i] = 0.0;
        for (int32_t k = 0; k < p; ++k) {
            DC[i] += D[i / p * p + k] * a->covariance[k * p + i % p];
        }
    }
    for (int32_t i = 0; f->e->inertia_count > 0 && i < p * p; ++i) {
        a->covariance[i] = 0.0;
        for (int32_t k = 0; k < p; ++k) {
            a->covariance[i] += DC[i / p * p + k] * D[i % p * p + k];
        }
    }
    for (int32_t i = 0; i < p; ++i) {
        if (f->e->parameter[i].kind == PERPI_PARAMETER_INERTIA) {
            const double width = 1.959963984540054 * sqrt(a->covariance[i * p + i]);
            a->low[i] = a->value[i] - width;
            a->high[i] = a->value[i] + width;
        }
        if (!a->identifiable[i]) {
            a->low[i] = -INFINITY;
            a->high[i] = INFINITY;
            for (int32_t j = 0; j < p; ++j) {
                a->covariance[i * p + j] = a->covariance[j * p + i] = NAN;
            }
        }
    }
    perpi_free(f->run->context, D);
    return PERP_OK;
}

/* The objective at the mean of the posterior. */
static perp_status measure_mean(perpi_filter_run* f)
{
    perpi_answer* a = f->answer;
    const perpi_estimate* e = f->e;
    int64_t values = 0;
    a->objective = 0.0;
    for (int32_t i = 0; i < f->count; ++i) {
        const int32_t t = f->trajectory[i];
        const double* start = f->mean + f->parameters + i * e->start_count;
        if (e->start_count > 0) {
            memcpy(a->start + (size_t)t * (size_t)e->start_count, start,
                   (size_t)e->start_count * sizeof *start);
        }
        perpi_prediction_info info = {0};
        const perp_status status = perpi_predictor_run(f->run->predictor, t, f->mean, start, NULL,
                                                       f->residual, NULL, &info);
        if (status != PERP_OK && !info.failed) {
            return status;
        }
        const int32_t count = status == PERP_OK ? e->data.trajectory[t].rows * e->width : 0;
        for (int32_t k = 0; k < count; ++k) {
            a->objective += isnan(f->residual[k]) ? 0.0 : perpi_fit_loss(e, f->residual[k]);
            values += !isnan(f->residual[k]);
        }
    }
    a->objective -= perpi_prior_density(f->n, f->prior, f->mean);
    a->objective = f->dynamic ? NAN : a->objective; /* of unknowns that change there is none */
    a->degrees = (double)(values - f->n);
    return PERP_OK;
}

/* Residuals beyond the noise widen the intervals; returns the factor. */
static double widen(const perpi_filter_run* f)
{
    perpi_answer* a = f->answer;
    const double factor = sqrt(perpi_fit_excess(f->e, -2.0 * f->info.best, a->degrees));
    if (f->dynamic || !(factor > 1.0)) {
        return 1.0;
    }
    for (int32_t i = 0; i < f->parameters; ++i) {
        const perp_unknown* u = &f->e->parameter[i].info;
        const double low = a->value[i] - factor * (a->value[i] - a->low[i]);
        const double high = a->value[i] + factor * (a->high[i] - a->value[i]);
        const bool bounded = f->e->parameter[i].kind != PERPI_PARAMETER_INERTIA;
        if (a->identifiable[i]) {
            a->low[i] = bounded && low < u->low ? u->low : low;
            a->high[i] = bounded && high > u->high ? u->high : high;
        }
    }
    for (int32_t i = 0; i < f->parameters * f->parameters; ++i) {
        a->covariance[i] *= factor * factor;
    }
    return factor;
}

static void describe_end(const perpi_filter_run* f, double factor)
{
    perpi_answer* a = f->answer;
    const double particles = (double)f->e->particles, least = f->info.effective * particles;
    const char* kind = f->dynamic ? "with process noise" : "posterior";
    const int used =
        snprintf(a->message, sizeof a->message,
                 "%.0f particles, %s: %lld resamplings, smallest effective sample size %.0f",
                 particles, kind, (long long)f->info.resamplings, least);
    const size_t at = used > 0 && (size_t)used < sizeof a->message ? (size_t)used : 0;
    if (factor > 1.0) {
        (void)snprintf(a->message + at, sizeof a->message - at,
                       "; residuals are %.3g times the noise: the intervals are that much wider; "
                       "the scene, the noise or some of the data are not as they should be",
                       factor);
    } else if (least < FEW) {
        (void)snprintf(a->message + at, sizeof a->message - at,
                       ": too few to trust the estimate; more particles, or more noise");
    }
    for (int32_t i = 0; f->dynamic && i < f->parameters; ++i) {
        const size_t end = strlen(a->message);
        if (!(f->walk[i] > 0.0)) {
            (void)snprintf(a->message + end, sizeof a->message - end,
                           "; '%s' has no noise of its own: its interval is an approximation",
                           f->e->parameter[i].info.name);
        }
    }
}

static perp_status finish(perpi_filter_run* f)
{
    perpi_answer* a = f->answer;
    const perpi_estimate* e = f->e;
    PERPI_TRY(find_unidentifiable(f));
    PERPI_TRY(report_values(f));
    PERPI_TRY(measure_mean(f));
    for (int32_t i = 0; i < e->channel_count; ++i) {
        a->noise[i] = e->channel[i].noise;
    }
    a->evaluations = a->runs = f->info.simulations;
    a->converged = true;
    a->derivative = PERPI_DERIVATIVE_NONE;
    describe_end(f, widen(f));
    json_t* filter =
        json_pack("{s:I, s:I, s:I, s:I, s:f, s:s}", "particles", e->particles, "resamplings",
                  f->info.resamplings, "simulations", f->info.simulations, "passes", f->info.passes,
                  "effective", f->info.effective, "kind", f->dynamic ? "dynamic" : "static");
    if (isfinite(f->info.acceptance)) {
        (void)json_object_set_new(filter, "acceptance", json_real(f->info.acceptance));
    }
    (void)json_object_set_new(a->more, "filter", filter);
    return PERP_OK;
}

/* ---- the method ---------------------------------------------------------------------------------*/

/* Room for the state of a particle: without contacts, and as many of them as may be carried. */
static perp_status find_state_size(perpi_filter_run* f)
{
    perp_sim* sim = NULL;
    size_t size = 0;
    for (int32_t i = 0; i < f->parameters; ++i) {
        f->mean[i] = f->e->parameter[i].info.start;
    }
    PERPI_TRY(perpi_predictor_sim(f->run->predictor, f->mean, 0.0, &sim));
    PERPI_TRY(perp_sim_save(sim, NULL, &size));
    f->state_size = size + (size_t)f->e->columns * sizeof(double) + 256 +
                    PERPI_FILTER_CONTACTS * sizeof(perp_contact);
    return PERP_OK;
}

static perp_status add_all_series(perpi_filter_run* f)
{
    int32_t group = 0;
    for (int32_t i = 0; i < f->count; ++i) {
        perpi_answer_series* series = NULL;
        const int32_t rows = f->offset[i + 1] - f->offset[i];
        while (f->group[group].end <= f->offset[i]) {
            ++group;
        }
        const bool from_start = f->dynamic && f->begun == 0;
        const int32_t first = from_start ? 0 : f->group[group].end - 1 - f->offset[i];
        PERPI_TRY(perpi_answer_add_series(f->run->context, f->answer, f->trajectory[i],
                                          rows - first, &series));
    }
    return PERP_OK;
}

static perp_status filter_static(perpi_filter_run* f, perpi_filter_def* def, int32_t groups)
{
    const perpi_static_model model = {.group = f->group,
                                      .group_count = groups,
                                      .parameters = f->parameters,
                                      .passes = (int32_t)f->passes,
                                      .simulate = perpi_filter_simulate,
                                      .user = f};
    def->rows = f->group[groups - 1].end;
    return perpi_filter_static(def, &model, &f->info);
}

/* With an unknown start its first rows are used without process noise. */
static perp_status filter_dynamic(perpi_filter_run* f, perpi_filter_def* def)
{
    const perpi_estimate* e = f->e;
    double* start = NULL;
    perp_status status = PERP_OK;
    perpi_filter_info first = {.effective = 1.0};
    if (f->begun > 0) {
        status = perpi_alloc(f->run->context, (size_t)e->particles * (size_t)f->n, sizeof *start,
                             &start);
        def->last = start;
        if (status == PERP_OK) {
            status = filter_static(f, def, f->begun - f->group[0].end + 1);
            first = f->info;
        }
    }
    const perpi_dynamic_model model = {.time = e->data.trajectory[f->trajectory[0]].time,
                                       .parameters = f->parameters,
                                       .walk = f->walk,
                                       .discount = f->discount,
                                       .noises = f->noises,
                                       .start = start,
                                       .begun = f->begun,
                                       .advance = perpi_filter_advance,
                                       .user = f};
    def->rows = f->offset[f->count];
    if (status == PERP_OK) {
        status = perpi_filter_dynamic(def, &model, &f->info);
        f->info.resamplings += first.resamplings;
        f->info.simulations += first.simulations;
    }
    perpi_free(f->run->context, start);
    return status;
}

static perp_status filter_all(perpi_filter_run* f)
{
    perpi_filter_def def = {.context = f->run->context,
                            .particles = f->e->particles,
                            .seed = f->e->seed,
                            .threshold = f->threshold,
                            .n = f->n,
                            .prior = f->prior,
                            .predictions = f->e->columns,
                            .summary = summarise,
                            .user = f};
    return f->dynamic ? filter_dynamic(f, &def) : filter_static(f, &def, f->group_count);
}

static void destroy_filter(perpi_filter_run* f)
{
    perp_context* context = f->run->context;
    perpi_workers_destroy(f->workers);
    perpi_free(context, f->prior);
    perpi_free(context, f->trajectory);
    perpi_free(context, f->offset);
    perpi_free(context, f->group);
    perpi_free(context, f->walk);
    perpi_free(context, f->shake);
    perpi_free(context, f->state);
    perpi_free(context, f->mean);
    perpi_free(context, f->prediction);
    perpi_free(context, f->residual);
}

perp_status perpi_estimate_filter(perpi_estimate_run* run, perpi_answer* answer)
{
    perpi_filter_run f = {.run = run, .e = run->e, .answer = answer};
    if (answer->more == NULL) {
        answer->more = json_object();
    }
    perp_status status = perpi_filter_prepare(&f);
    if (status == PERP_OK) {
        status = find_state_size(&f);
    }
    if (status == PERP_OK) {
        status = add_all_series(&f);
    }
    if (status == PERP_OK) {
        size_t request = 0, reply = 0;
        perpi_filter_sizes(&f, &request, &reply);
        status = perpi_workers_create(run->context, run->jobs, request, reply, perpi_filter_reply,
                                      &f, &f.workers);
    }
    if (status == PERP_OK) {
        status = filter_all(&f);
    }
    if (status == PERP_OK) {
        status = finish(&f);
    }
    destroy_filter(&f);
    return status;
}
