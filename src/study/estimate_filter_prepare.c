/* src/study/estimate_filter_prepare.c - options, process noise, priors and groups of rows of the
 * method particle-filter.
 *
 * A parameter has a normal prior about its start ("prior"), cut off at its bounds, or a uniform one
 * between them. A start coordinate without prior has a flat one: only the data determine it. Its
 * particles are drawn from a normal distribution around a fit to the first rows, three times as
 * wide, and weighted so that the distribution does not matter; these rows are used together.
 */
#include <math.h>
#include <string.h>

#include "linalg/dense.h"
#include "model/model.h"
#include "study/estimate_filter.h"

#define WIDEN 3.0
#define DETERMINED 1e-7 /* smallest pivot of the information with a unit diagonal */

static perp_status bad_study(const perpi_filter_run* f, const char* pointer, const char* text)
{
    return perpi_fail(f->run->context, PERP_ERROR_INPUT, "%s: %s: %s", f->run->study->origin,
                      pointer, text);
}

/* ---- options ------------------------------------------------------------------------------------*/

static perp_status read_options(perpi_filter_run* f)
{
    const char* key;
    json_t* value;
    f->threshold = 0.5;
    f->discount = 0.98;
    f->passes = 10;
    f->first_rows = 10;
    json_object_foreach((json_t*)(uintptr_t)f->e->options, key, value)
    {
        const double number = json_number_value(value);
        char pointer[200];
        (void)snprintf(pointer, sizeof pointer, "/options/%s", key);
        if (strcmp(key, "threshold") == 0) {
            if (!(number > 0.0 && number < 1.0)) {
                return bad_study(f, pointer,
                                 "the part of the particles below which the effective sample size "
                                 "is resampled: must be > 0 and < 1");
            }
            f->threshold = number;
        } else if (strcmp(key, "discount") == 0) {
            if (!(number > 0.5 && number <= 1.0)) {
                return bad_study(f, pointer,
                                 "of the kernel of Liu and West: must be > 0.5 and <= 1");
            }
            f->discount = number;
        } else if (strcmp(key, "moves") == 0) {
            if (!(number >= 1.0 && number <= 1000.0)) {
                return bad_study(f, pointer, "passes after a resampling, at most: 1 to 1000");
            }
            f->passes = (int64_t)number;
        } else if (strcmp(key, "first_rows") == 0) {
            if (!(number >= 1.0 && number <= 1e6)) {
                return bad_study(f, pointer,
                                 "rows that an unknown start is determined by before process noise "
                                 "begins: 1 or more");
            }
            f->first_rows = (int64_t)number;
        } else {
            return bad_study(f, pointer,
                             "of particle-filter there are threshold, moves, discount, first_rows");
        }
    }
    return PERP_OK;
}

/* ---- process noise ------------------------------------------------------------------------------*/

/* "NAME.velocity" or "NAME.angular_velocity" of a dynamic body. */
static perp_status read_shake(perpi_filter_run* f, const char* name, double deviation, bool* found)
{
    const perp_model* model = perp_scene_model(f->run->study->scene);
    const char* dot = strrchr(name, '.');
    const bool linear = dot != NULL && strcmp(dot, ".velocity") == 0;
    const bool angular = dot != NULL && strcmp(dot, ".angular_velocity") == 0;
    *found = false;
    for (size_t i = 0; (linear || angular) && i < model->body_count; ++i) {
        const perpi_body* b = &model->body[i];
        if (b->type != PERP_BODY_DYNAMIC || strlen(b->name) != (size_t)(dot - name) ||
            strncmp(b->name, name, (size_t)(dot - name)) != 0) {
            continue;
        }
        int32_t at = 0;
        while (at < f->shake_count && f->shake[at].body != (int32_t)i) {
            ++at;
        }
        f->shake_count = at < f->shake_count ? f->shake_count : at + 1;
        f->shake[at].body = (int32_t)i;
        *(linear ? &f->shake[at].linear : &f->shake[at].angular) = deviation;
        *found = true;
    }
    return PERP_OK;
}

static perp_status read_process_noise(perpi_filter_run* f)
{
    perp_context* context = f->run->context;
    const perpi_estimate* e = f->e;
    PERPI_TRY(perpi_alloc(context, (size_t)e->parameter_count + 1, sizeof *f->walk, &f->walk));
    if (e->process_noise == NULL) {
        return PERP_OK;
    }
    if (!json_is_object(e->process_noise)) {
        return bad_study(f, "/process_noise",
                         "must be an object of standard deviations per square root of time, such "
                         "as {\"mu\": 0.01, \"block.velocity\": 0.02}");
    }
    PERPI_TRY(
        perpi_alloc(context, json_object_size(e->process_noise) + 1, sizeof *f->shake, &f->shake));
    const char* key;
    json_t* value;
    json_object_foreach((json_t*)(uintptr_t)e->process_noise, key, value)
    {
        const double deviation = json_is_number(value) ? json_number_value(value) : NAN;
        bool found = false;
        char pointer[300];
        (void)snprintf(pointer, sizeof pointer, "/process_noise/%s", key);
        if (!(deviation >= 0.0) || !isfinite(deviation)) {
            return bad_study(f, pointer, "must be a number >= 0");
        }
        for (int32_t i = 0; i < e->parameter_count; ++i) {
            if (strcmp(e->parameter[i].info.name, key) == 0) {
                f->walk[i] = deviation;
                found = true;
            }
        }
        if (!found) {
            PERPI_TRY(read_shake(f, key, deviation, &found));
        }
        if (!found) {
            return bad_study(
                f, pointer,
                "is neither an unknown nor BODY.velocity or BODY.angular_velocity of a "
                "dynamic body");
        }
        f->dynamic = f->dynamic || deviation > 0.0;
    }
    f->noises = 6 * f->shake_count;
    if (f->dynamic && f->count != 1) {
        return bad_study(f, "/process_noise", "takes one trajectory that is not held out");
    }
    return PERP_OK;
}

/* ---- priors -------------------------------------------------------------------------------------*/

static perp_status parameter_priors(perpi_filter_run* f)
{
    for (int32_t i = 0; i < f->parameters; ++i) {
        const perpi_parameter* p = &f->e->parameter[i];
        perpi_prior* prior = &f->prior[i];
        *prior = (perpi_prior){.kind = PERPI_PRIOR_NORMAL,
                               .low = p->info.low,
                               .high = p->info.high,
                               .mean = p->info.start,
                               .deviation = p->prior};
        if (p->prior > 0.0) {
            continue;
        }
        prior->kind = PERPI_PRIOR_UNIFORM;
        if (!isfinite(p->info.high - p->info.low)) {
            char pointer[300];
            (void)snprintf(pointer, sizeof pointer, "/unknown/%s", p->info.name);
            return bad_study(f, pointer,
                             "particles need a distribution to be drawn from: give \"bounds\", or "
                             "\"prior\", a standard deviation about the start");
        }
    }
    return PERP_OK;
}

/* Information of the priors, for a fit. */
static void prior_information(const perpi_filter_run* f, double* mean, double* information)
{
    const int32_t p = f->parameters, n = p + f->e->start_count;
    memset(information, 0, (size_t)n * (size_t)n * sizeof *information);
    for (int32_t i = 0; i < n; ++i) {
        const double s = i < p ? perpi_prior_deviation(&f->prior[i]) : f->e->start[i - p].prior;
        mean[i] = i >= p ? 0.0
                  : f->prior[i].kind == PERPI_PRIOR_UNIFORM
                      ? 0.5 * (f->prior[i].low + f->prior[i].high)
                      : f->prior[i].mean;
        information[i * n + i] = s > 0.0 ? 1.0 / (s * s) : 0.0;
    }
}

/* Variances from the information of a fit; false: it does not determine all unknowns. inverse: n x n. */
static bool fit_variances(const perpi_fit* fit, double* inverse, double* variance)
{
    const int32_t n = fit->n;
    for (int32_t i = 0; i < n; ++i) {
        for (int32_t j = 0; j < n; ++j) {
            const double scale = sqrt(fit->H[i * n + i]) * sqrt(fit->H[j * n + j]);
            inverse[i * n + j] = fit->H[i * n + j] / scale;
        }
    }
    if (!perpi_chol_factor_any(n, inverse)) {
        return false;
    }
    for (int32_t i = 0; i < n; ++i) {
        if (!(inverse[i * n + i] > DETERMINED)) {
            return false;
        }
    }
    double* x = variance + n;
    for (int32_t i = 0; i < n; ++i) {
        for (int32_t j = 0; j < n; ++j) {
            x[j] = i == j ? 1.0 : 0.0;
        }
        perpi_chol_solve_any(n, inverse, x);
        variance[i] = x[i] / fit->H[i * n + i];
    }
    return true;
}

/* Fits the first rows of a trajectory, more and more of them until they determine its start. *rows: how many. */
static perp_status fit_start(perpi_filter_run* f, perpi_fit* fit, int32_t index, double* scratch,
                             int32_t* rows)
{
    const int32_t p = f->parameters, s = f->e->start_count, n = p + s;
    const perpi_trajectory* t = &f->e->data.trajectory[f->trajectory[index]];
    double *mean = scratch, *variance = mean + n, *information = variance + 2 * n;
    double* inverse = information + n * n;
    prior_information(f, mean, information);
    memset(fit->z, 0, (size_t)n * sizeof *fit->z);
    for (int32_t i = 0; i < p; ++i) {
        fit->z[i] = f->e->parameter[i].info.start;
    }
    PERPI_TRY(perpi_predictor_nominal(f->run->predictor, t, 0, fit->z, f->state));
    for (*rows = 2; *rows <= t->rows && *rows <= PERPI_FILTER_FIRST_ROWS; ++*rows) {
        const perpi_fit_def def = {.trajectory = t,
                                   .rows = *rows,
                                   .state = f->state,
                                   .mean = mean,
                                   .information = information};
        PERPI_TRY(perpi_fit_run(fit, &def));
        if (!fit_variances(fit, inverse, variance)) {
            continue;
        }
        for (int32_t i = 0; i < s; ++i) {
            perpi_prior* prior = &f->prior[p + index * s + i];
            if (prior->kind == PERPI_PRIOR_FLAT) {
                prior->mean = fit->z[p + i];
                prior->deviation = WIDEN * sqrt(variance[p + i]);
            }
        }
        return PERP_OK;
    }
    return bad_study(f, "/unknown/initial",
                     "the first rows do not determine the start: give standard deviations, such as "
                     "{\"block\": {\"position\": 0.01, \"velocity\": 1}}");
}

static perp_status start_priors(perpi_filter_run* f, perpi_fit* fit, double* scratch)
{
    const int32_t s = f->e->start_count;
    for (int32_t i = 0; i < f->count; ++i) {
        const perpi_trajectory* t = &f->e->data.trajectory[f->trajectory[i]];
        const int32_t released = f->parameters + (i + 1) * s;
        int32_t together = 1;
        bool flat = false;
        for (int32_t k = 0; k < s; ++k) {
            const double deviation = f->e->start[k].prior;
            f->prior[f->parameters + i * s + k] =
                (perpi_prior){.kind = deviation > 0.0 ? PERPI_PRIOR_NORMAL : PERPI_PRIOR_FLAT,
                              .low = -INFINITY,
                              .high = INFINITY,
                              .deviation = deviation};
            flat = flat || !(deviation > 0.0);
        }
        if (flat) {
            PERPI_TRY(fit_start(f, fit, i, scratch, &together));
        }
        for (int32_t row = together; row <= t->rows; ++row) {
            f->group[f->group_count++] = (perpi_filter_group){f->offset[i] + row, released};
        }
    }
    return PERP_OK;
}

/* ---- everything ---------------------------------------------------------------------------------*/

static perp_status list_trajectories(perpi_filter_run* f)
{
    const perpi_data* data = &f->e->data;
    perp_context* context = f->run->context;
    const size_t count = (size_t)data->count;
    PERPI_TRY(perpi_alloc(context, count + 1, sizeof *f->trajectory, &f->trajectory));
    PERPI_TRY(perpi_alloc(context, count + 1, sizeof *f->offset, &f->offset));
    int32_t longest = 0;
    for (int32_t i = 0; i < data->count; ++i) {
        const perpi_trajectory* t = &data->trajectory[i];
        if (!t->held_out) {
            f->trajectory[f->count] = i;
            f->offset[f->count + 1] = f->offset[f->count] + t->rows;
            f->count += 1;
            longest = t->rows > longest ? t->rows : longest;
        }
    }
    f->parameters = f->e->parameter_count;
    f->n = f->parameters + f->count * f->e->start_count;
    const size_t rows = longest > 3 ? (size_t)longest : 3;
    PERPI_TRY(perpi_alloc(context, (size_t)f->offset[f->count], sizeof *f->group, &f->group));
    PERPI_TRY(perpi_alloc(context, (size_t)f->n + 1, sizeof *f->prior, &f->prior));
    PERPI_TRY(perpi_alloc(context, (size_t)f->n + 1, sizeof *f->mean, &f->mean));
    PERPI_TRY(
        perpi_alloc(context, rows * (size_t)f->e->columns, sizeof *f->prediction, &f->prediction));
    PERPI_TRY(perpi_alloc(context, rows * (size_t)f->e->width, sizeof *f->residual, &f->residual));
    return perpi_alloc(context, (size_t)perpi_predictor_bodies(f->run->predictor), sizeof *f->state,
                       &f->state);
}

perp_status perpi_filter_prepare(perpi_filter_run* f)
{
    PERPI_TRY(list_trajectories(f));
    PERPI_TRY(read_options(f));
    PERPI_TRY(read_process_noise(f));
    PERPI_TRY(parameter_priors(f));
    const size_t n = (size_t)f->parameters + (size_t)f->e->start_count;
    perpi_fit* fit = NULL;
    double* scratch = NULL;
    PERPI_TRY(perpi_fit_create(f->run, &fit));
    perp_status status =
        perpi_alloc(f->run->context, n * (2 * n + 3) + 1, sizeof *scratch, &scratch);
    if (status == PERP_OK) {
        status = start_priors(f, fit, scratch);
    }
    perpi_free(f->run->context, scratch);
    perpi_fit_destroy(fit);
    if (status == PERP_OK && f->dynamic && f->e->start_count > 0) {
        const int64_t least = f->group[0].end, most = f->offset[1];
        const int64_t rows = f->first_rows < least ? least : f->first_rows;
        f->begun = (int32_t)(rows < most ? rows : most);
    }
    return status;
}
