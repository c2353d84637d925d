/* src/study/particle_dynamic.c - a particle filter with process noise: each particle carries a state.
 *
 * Source     bootstrap filter: Gordon, Salmond, Smith (1993); kernel with shrinkage: Liu and West, "Combined parameter
 *            and state estimation in simulation-based filtering" (2001)
 * Notation   a = (3 delta - 1) / (2 delta): a parameter without noise of its own becomes, when particles are resampled,
 *            a z + (1 - a) mean + sqrt(1 - a^2) times a normal number of the particles' covariance
 * Departure  the kernel acts at resamplings only, not at every row: particles that are all different need none; and it makes up
 *            for the variance that a resampling loses on average. Values are
 *            reflected at the bounds, where [B09 7.6.2] sets negative friction to 0 and so collects particles there.
 */
#include <math.h>
#include <string.h>

#include "linalg/dense.h"
#include "study/particle_filter.h"

typedef struct dynamic_filter {
    const perpi_filter_def* def;
    const perpi_dynamic_model* model;
    perpi_filter_info* info;
    perpi_stream stream;
    int64_t count;
    int32_t n;
    double *z, *copy; /* count x n */
    double *noise, *prediction;
    double *log_weight, *likelihood, *weight; /* count */
    int64_t *ancestor, *copies;
    perpi_blob* state;
    double *mean, *covariance, *factor, *step; /* of the parameters that do not walk */
    int32_t* fixed;                            /* which these are */
    int32_t fixed_count;
    perpi_filter_work work;
} dynamic_filter;

perp_status perpi_blob_set(perp_context* context, perpi_blob* blob, const void* data, size_t size)
{
    const perp_status status = perpi_grow(context, &blob->data, &blob->room, size, 1);
    if (status == PERP_OK && size > 0) {
        memcpy(blob->data, data, size);
        blob->size = size;
    }
    return status;
}

static perp_status create_dynamic(dynamic_filter* f)
{
    perp_context* context = f->def->context;
    const size_t count = (size_t)f->count, n = (size_t)f->n;
    const size_t noises = (size_t)f->model->noises, predictions = (size_t)f->def->predictions;
    double* number = NULL;
    perp_status status =
        perpi_alloc(context, count * (3 + 2 * n + noises + predictions) + 2 * n * (n + 1),
                    sizeof *number, &number);
    if (status == PERP_OK) {
        f->log_weight = number;
        f->likelihood = f->log_weight + count;
        f->weight = f->likelihood + count;
        f->z = f->weight + count;
        f->copy = f->z + count * n;
        f->noise = f->copy + count * n;
        f->prediction = f->noise + count * noises;
        f->mean = f->prediction + count * predictions;
        f->step = f->mean + n;
        f->covariance = f->step + n;
        f->factor = f->covariance + n * n;
        status = perpi_alloc(context, 2 * count, sizeof *f->ancestor, &f->ancestor);
    }
    if (status == PERP_OK) {
        f->copies = f->ancestor + count;
        status = perpi_alloc(context, count, sizeof *f->state, &f->state);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(context, n + 1, sizeof *f->fixed, &f->fixed);
    }
    for (int32_t i = 0; status == PERP_OK && i < f->model->parameters; ++i) {
        if (!(f->model->walk[i] > 0.0)) {
            f->fixed[f->fixed_count++] = i;
        }
    }
    return status == PERP_OK ? perpi_filter_work_create(f->def, &f->work) : status;
}

static void destroy_dynamic(dynamic_filter* f)
{
    perp_context* context = f->def->context;
    for (int64_t k = 0; f->state != NULL && k < f->count; ++k) {
        perpi_free(context, f->state[k].data);
    }
    perpi_free(context, f->state);
    perpi_free(context, f->log_weight);
    perpi_free(context, f->ancestor);
    perpi_free(context, f->fixed);
    perpi_filter_work_destroy(f->def, &f->work);
}

/* ---- one row ------------------------------------------------------------------------------------*/

static void draw_start(dynamic_filter* f)
{
    if (f->model->start != NULL) {
        memcpy(f->z, f->model->start, (size_t)f->count * (size_t)f->n * sizeof *f->z);
        f->stream.stage = UINT32_MAX / 2; /* beyond those of the filter that made them */
        return;
    }
    for (int64_t k = 0; k < f->count; ++k) {
        for (int32_t i = 0; i < f->n; ++i) {
            f->z[k * f->n + i] =
                perpi_prior_draw(&f->def->prior[i], perpi_stream_uniform(&f->stream, k, i));
        }
    }
    f->stream.stage += 1;
}

/* Parameters walk; the model gets its own noise. */
static void draw_noise(dynamic_filter* f, double duration)
{
    const int32_t parameters = f->model->parameters, noises = f->model->noises;
    for (int64_t k = 0; k < f->count; ++k) {
        double* z = f->z + k * f->n;
        for (int32_t i = 0; i < parameters; ++i) {
            const perpi_prior* prior = &f->def->prior[i];
            const double width = f->model->walk[i] * sqrt(duration);
            z[i] = width > 0.0 ? perpi_reflect(z[i] + width * perpi_stream_normal(&f->stream, k, i),
                                               prior->low, prior->high)
                               : z[i];
        }
        for (int32_t i = 0; i < noises; ++i) {
            f->noise[k * noises + i] = perpi_stream_normal(&f->stream, k, parameters + i);
        }
    }
    f->stream.stage += 1;
}

static perp_status advance_all(dynamic_filter* f, int32_t row)
{
    const perpi_dynamic_request request = {.row = row,
                                           .count = f->count,
                                           .z = f->z,
                                           .noise = f->noise,
                                           .state = f->state,
                                           .likelihood = f->likelihood,
                                           .prediction = f->prediction};
    f->info->simulations += f->count;
    const perp_status status = f->model->advance(f->model->user, &request);
    for (int64_t k = 0; status == PERP_OK && k < f->count; ++k) {
        /* of a row that was used already only what cannot be simulated counts */
        const bool used = row < f->model->begun && f->likelihood[k] > -INFINITY;
        f->log_weight[k] += used ? 0.0 : f->likelihood[k];
    }
    return status;
}

/* ---- resampling ---------------------------------------------------------------------------------*/

static void gather_fixed(dynamic_filter* f)
{
    for (int64_t k = 0; k < f->count; ++k) {
        for (int32_t i = 0; i < f->fixed_count; ++i) {
            f->copy[k * f->fixed_count + i] = f->z[k * f->n + f->fixed[i]];
        }
    }
}

/* The kernel of Liu and West, with moments from before the resampling. effective: the sample size
 * then. A weighted sample has on average 1 - 1 / effective of the variance, which would shrink from
 * resampling to resampling: what it lacks is added. */
static void apply_kernel(dynamic_filter* f, double effective)
{
    const double stretch = effective > 2.0 ? 1.0 / sqrt(1.0 - 1.0 / effective) : sqrt(2.0);
    const int32_t m = f->fixed_count;
    const double delta = f->model->discount, a = (3.0 * delta - 1.0) / (2.0 * delta);
    const double width = sqrt(1.0 - a * a);
    for (int64_t k = 0; k < f->count; ++k) {
        for (int32_t i = 0; i < m; ++i) {
            f->step[i] = perpi_stream_normal(&f->stream, k, i);
        }
        for (int32_t i = 0; i < m; ++i) {
            const perpi_prior* prior = &f->def->prior[f->fixed[i]];
            double* z = &f->z[k * f->n + f->fixed[i]];
            const double* L_i = f->factor + (size_t)i * (size_t)m;
            const double noise =
                f->covariance[i * m + i] > 0.0 ? perpi_dot(i + 1, L_i, f->step) : 0.0;
            const double off = a * (*z - f->mean[i]) + width * noise;
            *z = perpi_reflect(f->mean[i] + stretch * off, prior->low, prior->high);
        }
    }
    f->stream.stage += 1;
}

static bool fixed_moments(dynamic_filter* f)
{
    const int32_t m = f->fixed_count;
    gather_fixed(f);
    const perpi_particles particles = {f->count, m, m, f->copy};
    perpi_particle_moments(&particles, f->weight, f->mean, f->covariance);
    return perpi_covariance_factor(m, f->covariance, f->factor);
}

static perp_status resample_all(dynamic_filter* f, double effective)
{
    const bool kernel = f->fixed_count > 0 && f->model->discount < 1.0 && fixed_moments(f);
    perpi_resample(f->count, f->weight, perpi_stream_uniform(&f->stream, 0, 0), f->ancestor);
    f->stream.stage += 1;
    memset(f->copies, 0, (size_t)f->count * sizeof *f->copies);
    for (int64_t i = 0; i < f->count; ++i) {
        f->copies[f->ancestor[i]] += 1;
    }
    /* copies go to the places of the particles that have none; the others stay where they are */
    int64_t place = 0;
    perp_status status = PERP_OK;
    for (int64_t i = 1; status == PERP_OK && i < f->count; ++i) {
        const int64_t from = f->ancestor[i];
        if (f->ancestor[i - 1] != from) {
            continue;
        }
        while (f->copies[place] > 0) {
            ++place;
        }
        memcpy(f->z + place * f->n, f->z + from * f->n, (size_t)f->n * sizeof *f->z);
        status = perpi_blob_set(f->def->context, &f->state[place], f->state[from].data,
                                f->state[from].size);
        ++place;
    }
    memset(f->log_weight, 0, (size_t)f->count * sizeof *f->log_weight);
    f->info->resamplings += 1;
    if (status == PERP_OK && kernel) {
        apply_kernel(f, effective);
    }
    return status;
}

/* ---- the filter ---------------------------------------------------------------------------------*/

static perp_status use_row(dynamic_filter* f, int32_t row)
{
    if (row >= f->model->begun && row > 0) {
        draw_noise(f, f->model->time[row] - f->model->time[row - 1]);
    }
    perp_status status = advance_all(f, row);
    if (status != PERP_OK || row < f->model->begun) {
        return status;
    }
    const double effective = perpi_weights(f->count, f->log_weight, f->weight);
    const double part = effective / (double)f->count;
    f->info->effective = part < f->info->effective ? part : f->info->effective;
    if (!(effective > 0.0)) {
        return perpi_fail(f->def->context, PERP_ERROR_SOLVE,
                          "particle-filter: no particle can follow the data to row %d",
                          (int)row + 1);
    }
    const perpi_filter_view view = {
        .z = f->z, .p = f->prediction, .z_stride = f->n, .p_stride = f->def->predictions};
    status = perpi_filter_summarise(f->def, &f->work, row, &view, f->weight, effective);
    if (status == PERP_OK && part < f->def->threshold) {
        status = resample_all(f, effective);
    }
    return status;
}

perp_status perpi_filter_dynamic(const perpi_filter_def* def, const perpi_dynamic_model* model,
                                 perpi_filter_info* info)
{
    dynamic_filter f = {.def = def,
                        .model = model,
                        .info = info,
                        .stream = {.seed = def->seed},
                        .count = def->particles,
                        .n = def->n};
    *info = (perpi_filter_info){.acceptance = NAN, .effective = 1.0};
    perp_status status = create_dynamic(&f);
    if (status == PERP_OK) {
        draw_start(&f);
    }
    for (int32_t row = 0; status == PERP_OK && row < def->rows; ++row) {
        status = use_row(&f, row);
    }
    destroy_dynamic(&f);
    return status;
}
