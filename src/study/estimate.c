/* src/study/estimate.c - an estimate from its study to its report; predictions. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "study/estimate_report.h"

perp_estimate_def perp_estimate_def_default(void)
{
    return (perp_estimate_def){.struct_size = sizeof(perp_estimate_def)};
}

bool perp_study_is_estimate(const perp_study* study)
{
    return study->estimate != NULL;
}

/* ---- what was found -----------------------------------------------------------------------------*/

void perp_estimate_destroy(perp_estimate* x)
{
    if (x == NULL) {
        return;
    }
    perpi_report_free(x);
    perpi_answer_destroy(x->context, x->answer);
    perpi_data_destroy(&x->own);
    json_decref(x->root);
    free(x->text);
    free(x->curves);
    perpi_free(x->context, x->parameter);
    perpi_free(x->context, x);
}

int32_t perp_estimate_count(const perp_estimate* x)
{
    return x->answer != NULL ? x->answer->n : 0;
}

perp_estimated perp_estimate_value(const perp_estimate* x, int32_t i)
{
    const perpi_answer* a = x->answer;
    return (perp_estimated){.name = x->e->parameter[i].info.name,
                            .value = a->value[i],
                            .low = a->low[i],
                            .high = a->high[i],
                            .deviation =
                                a->identifiable[i] ? sqrt(a->covariance[i * a->n + i]) : INFINITY,
                            .identifiable = a->identifiable[i],
                            .at_bound = a->at_bound[i]};
}

bool perp_estimate_converged(const perp_estimate* x)
{
    return x->answer == NULL || x->answer->converged;
}

const char* perp_estimate_json(const perp_estimate* estimate)
{
    perp_estimate* x = (perp_estimate*)(uintptr_t)estimate;
    if (x->text == NULL) {
        x->text = json_dumps(x->root, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    }
    return x->text != NULL ? x->text : "{}";
}

/* ---- checks -------------------------------------------------------------------------------------*/

static perp_status check_study(perp_context* context, const perp_study* study)
{
    if (study->estimate == NULL) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "%s: is not an estimate: it has no /observe (docs/studies.md)",
                          study->origin);
    }
    return PERP_OK;
}

/* A trajectory of one row is its start, which is followed without an error. */
static perp_status check_rows(perp_context* context, const perpi_data* data)
{
    for (int32_t k = 0; k < data->count; ++k) {
        const perpi_trajectory* t = &data->trajectory[k];
        if (t->rows < 2) {
            return perpi_fail(context, PERP_ERROR_INPUT,
                              "%s:%lld: trajectory %lld has one row: too few for a motion; leave "
                              "it out",
                              t->file, (long long)t->line, (long long)t->number);
        }
    }
    return PERP_OK;
}

/* A value for every unknown, in every trajectory for its start. */
static perp_status check_counts(perp_context* context, const perp_study* study)
{
    const perpi_estimate* e = study->estimate;
    int64_t all = 0, needed = 0, own = 0;
    for (int32_t i = 0; i < e->parameter_count; ++i) {
        needed += isnan(e->parameter[i].prior);
    }
    for (int32_t i = 0; i < e->start_count; ++i) {
        own += isnan(e->start[i].prior);
    }
    for (int32_t k = 0; k < e->data.count; ++k) {
        const perpi_trajectory* t = &e->data.trajectory[k];
        int64_t values = 0;
        for (int32_t i = 0; i < t->rows * e->columns; ++i) {
            values += !isnan(t->value[i]);
        }
        if (t->held_out) {
            continue;
        }
        all += values;
        needed += own;
        if (values < own) {
            return perpi_fail(context, PERP_ERROR_INPUT,
                              "%s:%lld: trajectory %lld has %d row%s and %lld values: too few for "
                              "the %lld unknowns of its start; leave it out, or give the start a "
                              "prior in /unknown/initial",
                              t->file, (long long)t->line, (long long)t->number, t->rows,
                              t->rows == 1 ? "" : "s", (long long)values, (long long)own);
        }
    }
    if (all < needed) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "%s: /data: %lld values are too few for %lld unknowns; measure more, or "
                          "give unknowns a prior",
                          study->origin, (long long)all, (long long)needed);
    }
    return PERP_OK;
}

/* Times in another unit than the scene's would be simulated for days. */
static perp_status check_times(perp_context* context, const perp_study* study,
                               const perpi_data* data)
{
    static const double MOST_STEPS = 1e8;
    const double step = perp_sim_def_from_scene(study->scene).step;
    for (int32_t k = 0; k < data->count; ++k) {
        const perpi_trajectory* t = &data->trajectory[k];
        const double end = t->time[t->rows - 1];
        if (end / step > MOST_STEPS) {
            return perpi_fail(context, PERP_ERROR_INPUT,
                              "%s:%lld: trajectory %lld lasts %.6g, which is %.3g steps of the "
                              "scene: check the unit of the times",
                              t->file, (long long)t->line, (long long)t->number, end, end / step);
        }
    }
    return PERP_OK;
}

/* Noise that is not given is guessed from the data, which must have a size for it. */
static perp_status check_size(perp_context* context, const perp_study* study)
{
    const perpi_estimate* e = study->estimate;
    for (int32_t i = 0; i < e->channel_count; ++i) {
        if (e->channel[i].noise_given) {
            return PERP_OK;
        }
    }
    for (int32_t k = 0; k < e->data.count; ++k) {
        const perpi_trajectory* t = &e->data.trajectory[k];
        for (int64_t i = 0; i < (int64_t)t->rows * e->columns; ++i) {
            if (!isnan(t->value[i]) && t->value[i] != 0.0) {
                return PERP_OK;
            }
        }
    }
    return perpi_fail(context, PERP_ERROR_INPUT,
                      "%s: /data: all values are 0, and the noise cannot be estimated from them: "
                      "check the data, or give /noise",
                      study->origin);
}

static perp_status check_estimate(perp_context* context, const perp_study* study)
{
    PERPI_TRY(check_study(context, study));
    const perpi_estimate* e = study->estimate;
    if (e->data.count == 0) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "%s: has no /data: name a CSV file, or predict one (--predict)",
                          study->origin);
    }
    if (e->parameter_count + e->start_count == 0) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "%s: has no /unknown: nothing is to be estimated", study->origin);
    }
    PERPI_TRY(check_rows(context, &e->data));
    PERPI_TRY(check_times(context, study, &e->data));
    PERPI_TRY(check_counts(context, study));
    return check_size(context, study);
}

/* ---- running ------------------------------------------------------------------------------------*/

static bool progress(perpi_estimate_run* run, int64_t iteration, double objective)
{
    const perp_estimate_def* def = run->user;
    return def->progress != NULL && !def->progress(def->user, iteration, objective);
}

static int32_t jobs_of(const perp_estimate_def* def)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    return def->jobs > 0 ? def->jobs : processors > 0 ? (int32_t)processors : 1;
}

static perp_status run_method(perpi_estimate_run* run, perpi_answer* answer)
{
    switch (run->e->method) {
    case PERPI_ESTIMATE_SHOOTING: return perpi_estimate_shooting(run, answer);
    case PERPI_ESTIMATE_MPEC: return perpi_estimate_mpec(run, answer);
    case PERPI_ESTIMATE_PARTICLE_FILTER: return perpi_estimate_filter(run, answer);
    case PERPI_ESTIMATE_MOVING_WINDOW: return perpi_estimate_window(run, answer);
    case PERPI_ESTIMATE_LAWS: return perpi_estimate_laws(run, answer);
    }
    return PERP_ERROR_UNSUPPORTED;
}

/* An object of the study's data; parameters where they start. */
static perp_status create(perp_context* context, perp_study* study, const perp_estimate_def* def,
                          perp_estimate** estimate)
{
    perp_estimate* x = NULL;
    perpi_estimate* e = study->estimate;
    PERPI_TRY(perpi_alloc(context, 1, sizeof *x, &x));
    *x = (perp_estimate){
        .context = context, .study = study, .e = e, .data = &e->data, .jobs = jobs_of(def)};
    const perp_status status =
        perpi_alloc(context, (size_t)e->parameter_count, sizeof *x->parameter, &x->parameter);
    if (status != PERP_OK) {
        perp_estimate_destroy(x);
        return status;
    }
    for (int32_t i = 0; i < e->parameter_count; ++i) {
        x->parameter[i] = e->parameter[i].info.start;
    }
    *estimate = x;
    return PERP_OK;
}

perp_status perpi_estimate_fit(perp_estimate* x, const perp_estimate_def* def,
                               perpi_predictor* predictor)
{
    perpi_estimate_run run = {.context = x->context,
                              .study = x->study,
                              .e = x->e,
                              .predictor = predictor,
                              .jobs = x->jobs,
                              .progress = progress,
                              .user = (void*)(uintptr_t)def};
    PERPI_TRY(perpi_answer_create(x->context, x->e, &x->answer));
    PERPI_TRY(run_method(&run, x->answer));
    if (x->e->parameter_count > 0) {
        memcpy(x->parameter, x->answer->search,
               (size_t)x->e->parameter_count * sizeof *x->parameter);
    }
    return PERP_OK;
}

/* States are compared only where one run with constant values should follow all of a trajectory. */
static bool follows_in_time(const perpi_estimate* e)
{
    return e->method == PERPI_ESTIMATE_SHOOTING || e->method == PERPI_ESTIMATE_MPEC ||
           (e->method == PERPI_ESTIMATE_PARTICLE_FILTER && e->process_noise == NULL);
}

perp_status perp_estimate_run(perp_context* context, perp_study* study,
                              const perp_estimate_def* def, perp_estimate** estimate)
{
    perp_estimate* x = NULL;
    perpi_predictor* predictor = NULL;
    PERPI_TRY(perpi_check_struct(context, "perp_estimate_def", def->struct_size, sizeof *def));
    PERPI_TRY(check_estimate(context, study));
    PERPI_TRY(create(context, study, def, &x));
    perp_status status = perpi_predictor_create(context, study, &predictor);
    if (status == PERP_OK) {
        status = perpi_estimate_fit(x, def, predictor);
    }
    if (status == PERP_OK) {
        status = perpi_report_predict(x, predictor);
    }
    if (status == PERP_OK && follows_in_time(x->e)) {
        status = perpi_report_check(x);
    }
    if (status == PERP_OK) {
        status = perpi_report_write(x);
    }
    perpi_predictor_destroy(predictor);
    if (status != PERP_OK) {
        perp_estimate_destroy(x);
        return status;
    }
    *estimate = x;
    return PERP_OK;
}

perp_status perp_estimate_predict(perp_context* context, perp_study* study, const char* const* path,
                                  int32_t count, const perp_estimate_def* def,
                                  perp_estimate** estimate)
{
    perp_estimate* x = NULL;
    perpi_predictor* predictor = NULL;
    PERPI_TRY(perpi_check_struct(context, "perp_estimate_def", def->struct_size, sizeof *def));
    PERPI_TRY(check_study(context, study));
    PERPI_TRY(create(context, study, def, &x));
    x->own.context = context;
    perp_status status = PERP_OK;
    for (int32_t i = 0; status == PERP_OK && i < count; ++i) {
        status = perpi_data_read(context, x->e, path[i], &x->own);
    }
    x->data = &x->own;
    if (status == PERP_OK) {
        status = check_times(context, study, x->data);
    }
    if (status == PERP_OK) {
        status = check_rows(context, x->data);
    }
    if (status == PERP_OK) {
        status = perpi_predictor_create(context, study, &predictor);
    }
    if (status == PERP_OK) {
        status = perpi_report_predict(x, predictor);
    }
    if (status == PERP_OK) {
        status = perpi_report_write(x);
    }
    perpi_predictor_destroy(predictor);
    if (status != PERP_OK) {
        perp_estimate_destroy(x);
        return status;
    }
    *estimate = x;
    return PERP_OK;
}

perp_status perp_estimate_plan(perp_context* context, perp_study* study,
                               const perp_estimate_def* def, perp_estimate** estimate)
{
    perp_estimate* x = NULL;
    PERPI_TRY(perpi_check_struct(context, "perp_estimate_def", def->struct_size, sizeof *def));
    PERPI_TRY(check_study(context, study));
    if (study->estimate->data.count > 0) {
        PERPI_TRY(check_estimate(context, study));
    }
    PERPI_TRY(create(context, study, def, &x));
    const perp_status status = perpi_plan_run(x, def);
    if (status != PERP_OK) {
        perp_estimate_destroy(x);
        return status;
    }
    *estimate = x;
    return PERP_OK;
}
