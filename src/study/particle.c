/* src/study/particle.c - see particle.h.
 *
 * Source     systematic resampling: Carpenter, Clifford, Fearnhead (1999); effective sample size: Kong, Liu, Wong (1994)
 */
#include "study/particle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "linalg/dense.h"
#include "study/philox.h"
#include "study/sample.h"

enum { FOR_PARTICLES = 7 }; /* the use of a counter, beside those of sample.c and search_cma.c */

/* ---- random numbers -----------------------------------------------------------------------------*/

double perpi_stream_uniform(const perpi_stream* s, int64_t particle, int32_t variable)
{
    const uint32_t key[2] = {(uint32_t)s->seed, (uint32_t)(s->seed >> 32)};
    const uint32_t counter[4] = {(uint32_t)particle, s->stage, (uint32_t)variable, FOR_PARTICLES};
    const perpi_philox r = perpi_philox4x32(counter, key);
    const uint64_t bits = ((uint64_t)r.v[0] << 20) | (r.v[1] >> 12);
    return ((double)bits + 0.5) * 0x1p-52;
}

double perpi_stream_normal(const perpi_stream* s, int64_t particle, int32_t variable)
{
    return perpi_normal_quantile(perpi_stream_uniform(s, particle, variable));
}

/* ---- priors -------------------------------------------------------------------------------------*/

static double normal_below(double x)
{
    return 0.5 * erfc(-x * 0.70710678118654752440);
}

static double between(double value, double low, double high)
{
    return value < low ? low : value > high ? high : value;
}

double perpi_prior_draw(const perpi_prior* prior, double uniform)
{
    const double low = prior->low, high = prior->high;
    if (prior->kind == PERPI_PRIOR_UNIFORM) {
        return between(low + uniform * (high - low), low, high);
    }
    const double a = normal_below((low - prior->mean) / prior->deviation);
    const double b = normal_below((high - prior->mean) / prior->deviation);
    const double p = a + uniform * (b - a);
    /* far in a tail, or between bounds that are nearly the same, p has no digits left */
    const double x = p > 0.0 && p < 1.0 ? perpi_normal_quantile(p) : 0.0;
    return between(prior->mean + prior->deviation * x, low, high);
}

double perpi_prior_density(int32_t n, const perpi_prior* prior, const double* z)
{
    double sum = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        if (!(z[i] >= prior[i].low && z[i] <= prior[i].high)) {
            return -INFINITY;
        }
        if (prior[i].kind == PERPI_PRIOR_NORMAL) {
            const double r = (z[i] - prior[i].mean) / prior[i].deviation;
            sum -= 0.5 * r * r;
        }
    }
    return sum;
}

double perpi_prior_drawn_density(int32_t n, const perpi_prior* prior, const double* z)
{
    double sum = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        if (prior[i].kind == PERPI_PRIOR_FLAT) {
            const double r = (z[i] - prior[i].mean) / prior[i].deviation;
            sum -= 0.5 * r * r;
        }
    }
    return sum;
}

double perpi_prior_deviation(const perpi_prior* prior)
{
    return prior->kind == PERPI_PRIOR_UNIFORM ? (prior->high - prior->low) / sqrt(12.0)
                                              : prior->deviation;
}

double perpi_reflect(double value, double low, double high)
{
    const double width = high - low;
    if (value >= low && value <= high) {
        return value;
    }
    if (!(width > 0.0)) {
        return low;
    }
    if (isfinite(width)) { /* the mirrored line repeats after twice the width */
        const double turn = fmod(value - low, 2.0 * width);
        const double place = turn < 0.0 ? turn + 2.0 * width : turn;
        return between(low + (place <= width ? place : 2.0 * width - place), low, high);
    }
    return value < low ? low + (low - value) : high - (value - high);
}

/* ---- weights ------------------------------------------------------------------------------------*/

double perpi_weights(int64_t count, const double* log_weight, double* weight)
{
    double largest = -INFINITY;
    for (int64_t k = 0; k < count; ++k) {
        largest = log_weight[k] > largest ? log_weight[k] : largest;
    }
    double sum = 0.0, squares = 0.0;
    for (int64_t k = 0; k < count; ++k) {
        /* a NaN is no evidence */
        weight[k] =
            log_weight[k] > -INFINITY && largest < INFINITY ? exp(log_weight[k] - largest) : 0.0;
        sum += weight[k];
        squares += weight[k] * weight[k];
    }
    if (!(sum > 0.0)) {
        return 0.0;
    }
    for (int64_t k = 0; k < count; ++k) {
        weight[k] /= sum;
    }
    return sum * sum / squares;
}

void perpi_resample(int64_t count, const double* weight, double uniform, int64_t* ancestor)
{
    int64_t k = 0, last = 0;
    double sum = weight[0];
    for (int64_t j = 0; j < count; ++j) { /* where rounding leaves the sum below 1 */
        last = weight[j] > 0.0 ? j : last;
    }
    for (int64_t i = 0; i < count; ++i) {
        const double place = ((double)i + uniform) / (double)count;
        while (sum <= place && k < last) {
            sum += weight[++k];
        }
        ancestor[i] = k;
    }
}

/* ---- summaries ----------------------------------------------------------------------------------*/

void perpi_particle_moments(const perpi_particles* p, const double* weight, double* mean,
                            double* covariance)
{
    const int32_t n = p->n;
    memset(mean, 0, (size_t)n * sizeof *mean);
    memset(covariance, 0, (size_t)n * (size_t)n * sizeof *covariance);
    for (int64_t k = 0; k < p->count; ++k) {
        for (int32_t i = 0; weight[k] > 0.0 && i < n; ++i) {
            mean[i] += weight[k] * p->z[k * p->stride + i];
        }
    }
    for (int64_t k = 0; k < p->count; ++k) {
        const double* z = p->z + k * p->stride;
        for (int32_t i = 0; weight[k] > 0.0 && i < n; ++i) {
            const double a = weight[k] * (z[i] - mean[i]);
            for (int32_t j = 0; j <= i; ++j) {
                covariance[i * n + j] += a * (z[j] - mean[j]);
            }
        }
    }
    for (int32_t i = 0; i < n; ++i) {
        for (int32_t j = 0; j < i; ++j) {
            covariance[j * n + i] = covariance[i * n + j];
        }
    }
}

bool perpi_covariance_factor(int32_t n, const double* covariance, double* factor)
{
    for (double ridge = 1e-12; ridge < 10.0; ridge *= 100.0) {
        memcpy(factor, covariance, (size_t)n * (size_t)n * sizeof *factor);
        for (int32_t i = 0; i < n; ++i) {
            factor[i * n + i] *= 1.0 + ridge;
            if (covariance[i * n + i] > 0.0) {
                continue;
            }
            for (int32_t j = 0; j < n; ++j) {
                factor[i * n + j] = factor[j * n + i] = 0.0;
            }
            factor[i * n + i] = 1.0;
        }
        if (perpi_chol_factor_any(n, factor)) {
            return true;
        }
    }
    return false;
}

static int by_value(const void* a, const void* b)
{
    const perpi_ranked *p = a, *q = b;
    if (p->value != q->value) {
        return p->value < q->value ? -1 : 1;
    }
    return p->weight < q->weight ? -1 : p->weight > q->weight;
}

void perpi_particle_interval(int64_t count, const double* value, int64_t stride,
                             const double* weight, double part, perpi_ranked* work, double* low,
                             double* high)
{
    int64_t used = 0;
    for (int64_t k = 0; k < count; ++k) {
        if (weight[k] > 0.0) {
            work[used++] = (perpi_ranked){value[k * stride], weight[k]};
        }
    }
    *low = *high = NAN;
    if (used == 0) {
        return;
    }
    qsort(work, (size_t)used, sizeof *work, by_value);
    int64_t first = 0, last = used - 1;
    for (double sum = work[0].weight; sum < part && first < used - 1;) {
        sum += work[++first].weight;
    }
    for (double sum = work[last].weight; sum < part && last > 0;) {
        sum += work[--last].weight;
    }
    *low = work[first].value;
    *high = work[last].value;
}
