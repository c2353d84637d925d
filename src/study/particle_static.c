/* src/study/particle_static.c - a particle filter for unknowns that do not change.
 *
 * Source     Chopin, "A sequential particle filter method for static models", Biometrika 89 (2002); resample-move: Gilks
 *            and Berzuini (2001); rows that say much are used in parts: Del Moral, Doucet, Jasra (2012)
 * Notation   particle z; target density at part phi of a group of rows: prior(z) L(rows before) L(group)^phi
 * Departure  moves alternate between independent proposals (Student's t with 4 degrees of freedom, moments
 *            of the particles) and a random walk (2.38 / sqrt(n) of their covariance), until nine of ten particles have
 *            moved. A proposal outside the bounds has density 0 and is rejected: nothing is clamped.
 *
 * The motion is a function of z, so a particle carries no state: it is simulated from the start, for a range
 * of rows ahead, whose log-likelihoods are kept. Ranges double, so that all rows cost about two
 * runs, a resampling a run for each pass of moves; resamplings become rare, since the posterior
 * changes less and less.
 */
#include <math.h>
#include <string.h>

#include "linalg/dense.h"
#include "study/particle_filter.h"

/* Numbers that the records may have in all; ranges of rows are cut to it. */
#define RECORD_LIMIT 3e7
#define UNMOVED 0.1          /* part of the particles that need not move */
#define PART_MINIMUM 0x1p-40 /* of a group, relative to what is left of it */

enum { FIRST_RANGE = 8, PARTS_LIMIT = 1000 };

typedef struct static_filter {
    const perpi_filter_def* def;
    const perpi_static_model* model;
    perpi_filter_info* info;
    perpi_stream stream;
    int64_t count;
    int32_t n;
    int32_t from, to; /* rows of the records */
    size_t stride;
    double *record, *proposal; /* count x stride */
    size_t record_room, proposal_room;
    double *log_weight, *trial, *weight; /* count */
    int64_t *ancestor, *index;           /* count */
    double *mean, *covariance, *factor;  /* n, n x n, its Cholesky factor */
    double* step;                        /* n */
    perpi_filter_work work;
    double accepted; /* sum over passes */
} static_filter;

/* Where the filter is: group, the part of it that is used, rows before it. */
typedef struct static_place {
    int32_t group, begin;
    double part;
} static_place;

/* ---- densities ----------------------------------------------------------------------------------*/

static int32_t released_before(const static_filter* f, int32_t group)
{
    return group > 0 ? f->model->group[group - 1].released : f->model->parameters;
}

static double sum_rows(const static_filter* f, const double* record, int32_t first, int32_t end)
{
    double sum = 0.0;
    for (int32_t row = first; row < end; ++row) {
        sum += record[f->n + 1 + row - f->from];
    }
    return sum;
}

/* The change of the log-density from part 0 of the group to part 1. */
static double group_gain(const static_filter* f, int32_t group, int32_t begin, const double* record)
{
    const int32_t first = released_before(f, group);
    const int32_t count = f->model->group[group].released - first;
    const double gain = sum_rows(f, record, begin, f->model->group[group].end);
    return gain - perpi_prior_drawn_density(count, f->def->prior + first, record + first);
}

static double log_target(const static_filter* f, const static_place* at, const double* record)
{
    const int32_t first = released_before(f, at->group);
    double sum = perpi_prior_density(f->n, f->def->prior, record) +
                 perpi_prior_drawn_density(f->n - first, f->def->prior + first, record + first);
    sum += record[f->n] + sum_rows(f, record, f->from, at->begin);
    /* 0 times -infinity has no value */
    return at->part > 0.0 ? sum + at->part * group_gain(f, at->group, at->begin, record) : sum;
}

/* ---- records ------------------------------------------------------------------------------------*/

static perp_status simulate(static_filter* f, double* record, int64_t count)
{
    const perpi_static_request request = {
        .count = count, .record = record, .stride = f->stride, .from = f->from, .to = f->to};
    f->info->simulations += count;
    return count > 0 ? f->model->simulate(f->model->user, &request) : PERP_OK;
}

/* Simulates all particles anew for a range of rows that begins at `from` and contains the group. */
static perp_status new_range(static_filter* f, int32_t from, int32_t group_end)
{
    const int32_t rows = f->def->rows, predictions = f->def->predictions;
    int32_t to = from + (from > FIRST_RANGE ? from : FIRST_RANGE);
    const double limit = RECORD_LIMIT / (double)f->count / (1.0 + predictions);
    to = (double)(to - from) > limit ? from + (int32_t)limit : to;
    to = to < group_end ? group_end : to > rows ? rows : to;
    const size_t old = f->stride;
    f->from = from;
    f->to = to;
    f->stride = (size_t)f->n + 1 + (size_t)(to - from) * (size_t)(1 + predictions);
    /* the unknowns go from the old records to the new ones by way of the proposals */
    perp_context* context = f->def->context;
    const size_t need = (size_t)f->count * f->stride, n = (size_t)f->n;
    perp_status status =
        perpi_grow(context, &f->proposal, &f->proposal_room, need, sizeof *f->proposal);
    for (int64_t k = 0; status == PERP_OK && k < f->count; ++k) {
        memcpy(f->proposal + (size_t)k * n, f->record + (size_t)k * old, n * sizeof *f->record);
    }
    if (status == PERP_OK) {
        status = perpi_grow(context, &f->record, &f->record_room, need, sizeof *f->record);
    }
    for (int64_t k = 0; status == PERP_OK && k < f->count; ++k) {
        memcpy(f->record + (size_t)k * f->stride, f->proposal + (size_t)k * n,
               n * sizeof *f->record);
    }
    return status == PERP_OK ? simulate(f, f->record, f->count) : status;
}

/* Copies go to the places of the particles that have none; the others stay where they are. */
static void resample_records(static_filter* f)
{
    const double uniform = perpi_stream_uniform(&f->stream, 0, 0);
    f->stream.stage += 1;
    perpi_resample(f->count, f->weight, uniform, f->ancestor);
    int64_t place = 0; /* the next that may be without a copy; ancestors ascend */
    memset(f->index, 0, (size_t)f->count * sizeof *f->index);
    for (int64_t i = 0; i < f->count; ++i) {
        f->index[f->ancestor[i]] += 1;
    }
    for (int64_t i = 0; i < f->count; ++i) {
        const int64_t from = f->ancestor[i];
        if (i == 0 || f->ancestor[i - 1] != from) {
            continue; /* the first copy is the particle itself */
        }
        while (f->index[place] > 0) {
            ++place;
        }
        memcpy(f->record + (size_t)place * f->stride, f->record + (size_t)from * f->stride,
               f->stride * sizeof *f->record);
        ++place;
    }
    memset(f->log_weight, 0, (size_t)f->count * sizeof *f->log_weight);
    f->info->resamplings += 1;
}

/* ---- moves --------------------------------------------------------------------------------------*/

/* Moments of the weighted particles, and the Cholesky factor of the covariance. */
static bool fit_normal(static_filter* f)
{
    const int32_t n = f->n;
    const perpi_particles particles = {f->count, (int64_t)f->stride, n, f->record};
    perpi_particle_moments(&particles, f->weight, f->mean, f->covariance);
    return perpi_covariance_factor(n, f->covariance, f->factor);
}

/* out = factor * step, 0 in unknowns that all particles share. */
static void along_factor(const static_filter* f, double scale, double* out)
{
    const int32_t n = f->n;
    for (int32_t i = 0; i < n; ++i) {
        const double sum = perpi_dot(i + 1, f->factor + (size_t)i * (size_t)n, f->step);
        out[i] += f->covariance[i * n + i] > 0.0 ? scale * sum : 0.0;
    }
}

static double log_student(const static_filter* f, const double* z)
{
    const int32_t n = f->n;
    double square = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        const double* L_i = f->factor + (size_t)i * (size_t)n;
        f->step[i] = (z[i] - f->mean[i] - perpi_dot(i, L_i, f->step)) / L_i[i];
        square += f->covariance[i * n + i] > 0.0 ? f->step[i] * f->step[i] : 0.0;
    }
    return -0.5 * (4.0 + n) * log1p(square / 4.0);
}

/* Writes a proposal for particle k, and returns the log-ratio of the densities of proposing back and forth. */
static double propose(static_filter* f, int64_t k, bool independent, double* z)
{
    const int32_t n = f->n;
    const double* now = f->record + (size_t)k * f->stride;
    for (int32_t i = 0; i < n; ++i) {
        f->step[i] = perpi_stream_normal(&f->stream, k, i);
    }
    if (!independent) {
        memcpy(z, now, (size_t)n * sizeof *z);
        along_factor(f, 2.38 / sqrt(n), z);
        return 0.0;
    }
    const double chi_square = -2.0 * (log(perpi_stream_uniform(&f->stream, k, n)) +
                                      log(perpi_stream_uniform(&f->stream, k, n + 1)));
    memcpy(z, f->mean, (size_t)n * sizeof *z);
    along_factor(f, sqrt(4.0 / chi_square), z);
    for (int32_t i = 0; i < n; ++i) { /* what all share, without the rounding of the mean */
        z[i] = f->covariance[i * n + i] > 0.0 ? z[i] : now[i];
    }
    return log_student(f, now) - log_student(f, z);
}

/* One Metropolis step of every particle; *part: of them that moved. */
static perp_status move_pass(static_filter* f, const static_place* at, bool independent,
                             double* part)
{
    int64_t proposals = 0, moved = 0;
    for (int64_t k = 0; k < f->count; ++k) {
        double* z = f->proposal + (size_t)proposals * f->stride;
        const double ratio = propose(f, k, independent, z);
        if (perpi_prior_density(f->n, f->def->prior, z) > -INFINITY) {
            f->trial[proposals] = ratio;
            f->index[proposals++] = k;
        }
    }
    const perp_status status = simulate(f, f->proposal, proposals);
    for (int64_t i = 0; status == PERP_OK && i < proposals; ++i) {
        double* now = f->record + (size_t)f->index[i] * f->stride;
        const double* next = f->proposal + (size_t)i * f->stride;
        const double gain = log_target(f, at, next) - log_target(f, at, now) + f->trial[i];
        if (gain > log(perpi_stream_uniform(&f->stream, f->index[i], f->n + 2))) {
            memcpy(now, next, f->stride * sizeof *now);
            ++moved;
        }
    }
    f->stream.stage += 1;
    *part = (double)moved / (double)f->count;
    return status;
}

static perp_status move_particles(static_filter* f, const static_place* at)
{
    perp_status status = PERP_OK;
    double unmoved = 1.0;
    for (int32_t pass = 0; status == PERP_OK && pass < f->model->passes && unmoved > UNMOVED;
         ++pass) {
        double part = 0.0;
        status = move_pass(f, at, pass % 2 == 0, &part);
        unmoved *= 1.0 - part;
        f->accepted += part;
        f->info->passes += 1;
    }
    return status;
}

/* ---- a group of rows ----------------------------------------------------------------------------*/

/* Effective sample size when so much more of the group is used; weights are in f->weight,
 * logarithms in f->trial. */
static double weigh(static_filter* f, const static_place* at, double part)
{
    for (int64_t k = 0; k < f->count; ++k) {
        const double* record = f->record + (size_t)k * f->stride;
        f->trial[k] = f->log_weight[k] + part * group_gain(f, at->group, at->begin, record);
    }
    return perpi_weights(f->count, f->trial, f->weight);
}

/* The largest part of what is left after which the effective sample size is not below the threshold. */
static double part_to_use(static_filter* f, const static_place* at, double least)
{
    const double left = 1.0 - at->part;
    double low = left * PART_MINIMUM, high = left;
    while (high > low * 1.01) {
        const double middle = sqrt(low * high);
        if (weigh(f, at, middle) >= least) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

static perp_status use_group(static_filter* f, static_place* at, double* effective)
{
    const double least = f->def->threshold * (double)f->count;
    perp_status status = PERP_OK;
    for (int parts = 0; status == PERP_OK; ++parts) {
        *effective = weigh(f, at, 1.0 - at->part);
        if (*effective >= least) {
            memcpy(f->log_weight, f->trial, (size_t)f->count * sizeof *f->trial);
            at->part = 1.0;
            return PERP_OK;
        }
        const double part = part_to_use(f, at, least);
        if (!(weigh(f, at, part) > 0.0) || parts == PARTS_LIMIT) {
            return perpi_fail(f->def->context, PERP_ERROR_SOLVE,
                              "particle-filter: no particle can follow the data to row %d",
                              (int)f->model->group[at->group].end);
        }
        at->part += part;
        const bool spread = fit_normal(f);
        resample_records(f);
        status = spread ? move_particles(f, at) : PERP_OK;
    }
    return status;
}

/* ---- the filter ---------------------------------------------------------------------------------*/

static perp_status create_static(static_filter* f)
{
    perp_context* context = f->def->context;
    const size_t count = (size_t)f->count, n = (size_t)f->n;
    perp_status status =
        perpi_alloc(context, 3 * count + n * (2 * n + 2), sizeof *f->log_weight, &f->log_weight);
    if (status == PERP_OK) {
        f->trial = f->log_weight + count;
        f->weight = f->trial + count;
        f->mean = f->weight + count;
        f->step = f->mean + n;
        f->covariance = f->step + n;
        f->factor = f->covariance + n * n;
        status = perpi_alloc(context, 2 * count, sizeof *f->ancestor, &f->ancestor);
    }
    if (status == PERP_OK) {
        f->index = f->ancestor + count;
        status = perpi_grow(context, &f->record, &f->record_room, count * n, sizeof *f->record);
    }
    return status == PERP_OK ? perpi_filter_work_create(f->def, &f->work) : status;
}

static void draw_particles(static_filter* f)
{
    f->stride = (size_t)f->n;
    for (int64_t k = 0; k < f->count; ++k) {
        for (int32_t i = 0; i < f->n; ++i) {
            f->record[(size_t)k * f->stride + (size_t)i] =
                perpi_prior_draw(&f->def->prior[i], perpi_stream_uniform(&f->stream, k, i));
        }
    }
    f->stream.stage += 1;
}

static perp_status run_groups(static_filter* f)
{
    perp_status status = PERP_OK;
    int32_t begin = 0;
    for (int32_t i = 0; status == PERP_OK && i < f->model->group_count; ++i) {
        const int32_t end = f->model->group[i].end;
        if (end > f->to) {
            status = new_range(f, begin, end);
        }
        static_place at = {.group = i, .begin = begin};
        double effective = 0.0;
        if (status == PERP_OK) {
            status = use_group(f, &at, &effective);
        }
        if (status == PERP_OK) {
            const double part = effective / (double)f->count;
            f->info->effective = part < f->info->effective ? part : f->info->effective;
            const int32_t rows = f->to - f->from;
            const perpi_filter_view view = {.z = f->record,
                                            .p = f->record + f->n + 1 + rows +
                                                 (end - 1 - f->from) * f->def->predictions,
                                            .z_stride = (int64_t)f->stride,
                                            .p_stride = (int64_t)f->stride};
            status = perpi_filter_summarise(f->def, &f->work, end - 1, &view, f->weight, effective);
        }
        begin = end;
    }
    return status;
}

static double best_likelihood(const static_filter* f)
{
    double best = -INFINITY;
    for (int64_t k = 0; k < f->count; ++k) {
        const double* record = f->record + (size_t)k * f->stride;
        const double value = record[f->n] + sum_rows(f, record, f->from, f->def->rows);
        best = value > best ? value : best;
    }
    return best;
}

static void keep_last(static_filter* f)
{
    perpi_resample(f->count, f->weight, perpi_stream_uniform(&f->stream, 0, 0), f->ancestor);
    for (int64_t k = 0; k < f->count; ++k) {
        memcpy(f->def->last + k * f->n, f->record + (size_t)f->ancestor[k] * f->stride,
               (size_t)f->n * sizeof *f->record);
    }
}

perp_status perpi_filter_static(const perpi_filter_def* def, const perpi_static_model* model,
                                perpi_filter_info* info)
{
    static_filter f = {.def = def,
                       .model = model,
                       .info = info,
                       .stream = {.seed = def->seed},
                       .count = def->particles,
                       .n = def->n};
    *info = (perpi_filter_info){.acceptance = NAN, .effective = 1.0};
    perp_status status = create_static(&f);
    if (status == PERP_OK) {
        draw_particles(&f);
        status = run_groups(&f);
    }
    if (status == PERP_OK) {
        info->best = best_likelihood(&f);
    }
    if (status == PERP_OK && def->last != NULL) {
        keep_last(&f);
    }
    info->acceptance = info->passes > 0 ? f.accepted / (double)info->passes : NAN;
    perpi_free(def->context, f.record);
    perpi_free(def->context, f.proposal);
    perpi_free(def->context, f.log_weight);
    perpi_free(def->context, f.ancestor);
    perpi_filter_work_destroy(def, &f.work);
    return status;
}
