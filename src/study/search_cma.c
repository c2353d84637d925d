/* src/study/search_cma.c - covariance matrix adaptation.
 *
 * Source     N. Hansen, The CMA Evolution Strategy: A Tutorial, arXiv:1604.00772, (mu/mu_w, lambda) with the default
 *            settings of its table 1, positive weights only; bounds after Hansen, Niederberger, Guzzella, Koumoutsakos
 *            (2009): a point outside is evaluated at its projection, and ranked with a penalty for the distance
 * Notation   m, sigma, C, p_sigma, p_c, B, D, c_1, c_mu, c_c, c_s, d_s as there; lambda -> population
 * Departure  random numbers are a function of (seed, stream, generation, member, coordinate), so that the search is the
 *            same on any number of workers; the weight of the distance penalty is that of the present generation, not
 *            adapted over time
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "study/design.h"
#include "study/philox.h"

#define CONDITION 1e20 /* of C, at which the search ends */
enum { FOR_CMA = 5 };  /* the use of a counter, beside those of sample.c */

typedef struct cma_state {
    perp_context* context;
    const perpi_search* s;
    int32_t n, lambda, mu;
    double *weight, mu_w, c_c, c_s, c_1, c_mu, d_s, chi;
    double *m, sigma;
    double *C, *B, *D, *p_c, *p_s;
    double *x, *y, *inside, *value, *rank; /* lambda x n: points, steps, their projections */
    int32_t* order;
    double *work, *history;
    int32_t history_size, history_count;
    uint32_t generation;
    double* memory;
} cma_state;

int32_t perpi_cma_population(int32_t n)
{
    return 4 + (int32_t)floor(3.0 * log((double)n));
}

static perp_status cma_allocate(cma_state* a)
{
    const size_t n = (size_t)a->n, l = (size_t)a->lambda;
    a->history_size = 10 + (30 * a->n + a->lambda - 1) / a->lambda;
    const size_t total = l + 6 * n + 2 * n * n + 3 * l * n + 2 * l + (size_t)a->history_size;
    perp_status status = perpi_alloc(a->context, total, sizeof *a->memory, &a->memory);
    if (status == PERP_OK) {
        status = perpi_alloc(a->context, l, sizeof *a->order, &a->order);
    }
    if (status != PERP_OK) {
        return status;
    }
    double* at = a->memory;
    a->weight = at, at += l;
    a->m = at, at += n;
    a->D = at, at += n;
    a->p_c = at, at += n;
    a->p_s = at, at += n;
    a->work = at, at += 2 * n;
    a->C = at, at += n * n;
    a->B = at, at += n * n;
    a->x = at, at += l * n;
    a->y = at, at += l * n;
    a->inside = at, at += l * n;
    a->value = at, at += l;
    a->rank = at, at += l;
    a->history = at;
    return PERP_OK;
}

static void cma_settings(cma_state* a)
{
    const double n = a->n;
    double sum = 0.0, squares = 0.0;
    a->mu = a->lambda / 2;
    for (int32_t i = 0; i < a->mu; ++i) {
        a->weight[i] = log(((double)a->lambda + 1.0) / 2.0) - log((double)i + 1.0);
        sum += a->weight[i];
    }
    for (int32_t i = 0; i < a->mu; ++i) {
        a->weight[i] /= sum;
        squares += a->weight[i] * a->weight[i];
    }
    a->mu_w = 1.0 / squares;
    a->c_c = (4.0 + a->mu_w / n) / (n + 4.0 + 2.0 * a->mu_w / n);
    a->c_s = (a->mu_w + 2.0) / (n + a->mu_w + 5.0);
    a->c_1 = 2.0 / ((n + 1.3) * (n + 1.3) + a->mu_w);
    const double c_mu = 2.0 * (a->mu_w - 2.0 + 1.0 / a->mu_w) / ((n + 2.0) * (n + 2.0) + a->mu_w);
    a->c_mu = c_mu < 1.0 - a->c_1 ? c_mu : 1.0 - a->c_1;
    const double root = sqrt((a->mu_w - 1.0) / (n + 1.0)) - 1.0;
    a->d_s = 1.0 + 2.0 * (root > 0.0 ? root : 0.0) + a->c_s;
    a->chi = sqrt(n) * (1.0 - 1.0 / (4.0 * n) + 1.0 / (21.0 * n * n));
    a->sigma = 1.0;
    for (int32_t i = 0; i < a->n; ++i) { /* first steps may differ between coordinates */
        a->C[i * a->n + i] = a->s->step[i] * a->s->step[i];
        a->B[i * a->n + i] = 1.0;
        a->D[i] = a->s->step[i];
    }
}

/* ---- eigenvalues: cyclic Jacobi ---------------------------------------------------------------*/

/* False: the element is small already, relative to its diagonal elements, which keeps small
 * eigenvalues accurate. */
static bool rotate_pair(cma_state* a, double* A, int32_t p, int32_t q)
{
    const int32_t n = a->n;
    const double apq = A[p * n + q];
    if (!(fabs(apq) > DBL_EPSILON * sqrt(fabs(A[p * n + p] * A[q * n + q])))) {
        return false;
    }
    const double theta = (A[q * n + q] - A[p * n + p]) / (2.0 * apq);
    const double t = (theta >= 0.0 ? 1.0 : -1.0) / (fabs(theta) + sqrt(theta * theta + 1.0));
    const double c = 1.0 / sqrt(t * t + 1.0), s = t * c;
    for (int32_t k = 0; k < n; ++k) {
        const double akp = A[k * n + p], akq = A[k * n + q];
        A[k * n + p] = c * akp - s * akq;
        A[k * n + q] = s * akp + c * akq;
    }
    for (int32_t k = 0; k < n; ++k) {
        const double apk = A[p * n + k], aqk = A[q * n + k];
        A[p * n + k] = c * apk - s * aqk;
        A[q * n + k] = s * apk + c * aqk;
        const double bkp = a->B[k * n + p], bkq = a->B[k * n + q];
        a->B[k * n + p] = c * bkp - s * bkq;
        a->B[k * n + q] = s * bkp + c * bkq;
    }
    return true;
}

/* C = B D^2 B^T. False: C is not positive definite. scratch: n x n. */
static bool cma_decompose(cma_state* a, double* A)
{
    const int32_t n = a->n;
    memcpy(A, a->C, (size_t)n * (size_t)n * sizeof *A);
    for (int32_t i = 0; i < n * n; ++i) {
        a->B[i] = i % (n + 1) == 0 ? 1.0 : 0.0;
    }
    bool turned = true;
    for (int sweep = 0; sweep < 60 && turned; ++sweep) {
        turned = false;
        for (int32_t p = 0; p < n; ++p) {
            for (int32_t q = p + 1; q < n; ++q) {
                turned = rotate_pair(a, A, p, q) || turned;
            }
        }
    }
    double least = INFINITY, most = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        const double d = A[i * n + i];
        if (!(d > 0.0)) {
            return false;
        }
        least = d < least ? d : least;
        most = d > most ? d : most;
        a->D[i] = sqrt(d);
    }
    return most < CONDITION * least;
}

/* ---- a generation -----------------------------------------------------------------------------*/

static double cma_normal(const cma_state* a, int32_t member, int32_t coordinate)
{
    const uint32_t key[2] = {(uint32_t)a->s->seed, (uint32_t)(a->s->seed >> 32)};
    const uint32_t counter[4] = {((uint32_t)member << 12) | (uint32_t)coordinate, a->generation,
                                 a->s->stream, FOR_CMA};
    const perpi_philox r = perpi_philox4x32(counter, key);
    const uint64_t bits = ((uint64_t)r.v[0] << 20) | (r.v[1] >> 12);
    return perpi_normal_quantile(((double)bits + 0.5) * 0x1p-52);
}

/* x = m + sigma B D z; inside: its projection onto the bounds. */
static void cma_sample(cma_state* a)
{
    const int32_t n = a->n;
    for (int32_t k = 0; k < a->lambda; ++k) {
        for (int32_t i = 0; i < n; ++i) {
            a->work[i] = a->D[i] * cma_normal(a, k, i);
        }
        for (int32_t i = 0; i < n; ++i) {
            double y = 0.0;
            for (int32_t j = 0; j < n; ++j) {
                y += a->B[i * n + j] * a->work[j];
            }
            const double x = a->m[i] + a->sigma * y;
            a->y[k * n + i] = y;
            a->x[k * n + i] = x;
            a->inside[k * n + i] = x < a->s->low[i]    ? a->s->low[i]
                                   : x > a->s->high[i] ? a->s->high[i]
                                                       : x;
        }
    }
}

static void cma_sort(const cma_state* a, const double* key, int32_t* order)
{
    for (int32_t i = 0; i < a->lambda; ++i) { /* by insertion: equal ones keep their order */
        int32_t k = i;
        while (k > 0 && key[i] < key[order[k - 1]]) {
            order[k] = order[k - 1];
            --k;
        }
        order[k] = i;
    }
}

static void cma_rank(cma_state* a)
{
    const int32_t n = a->n;
    cma_sort(a, a->value, a->order);
    const double spread = a->value[a->order[3 * a->lambda / 4]] - a->value[a->order[a->lambda / 4]];
    for (int32_t k = 0; k < a->lambda; ++k) {
        double outside = 0.0;
        for (int32_t i = 0; i < n; ++i) {
            const double d = a->x[k * n + i] - a->inside[k * n + i];
            outside += d * d / (a->sigma * a->sigma * a->C[i * n + i]);
        }
        a->rank[k] = a->value[k] + 2.0 * spread * outside / n;
    }
    cma_sort(a, a->rank, a->order);
}

static void cma_update(cma_state* a)
{
    const int32_t n = a->n;
    double* step = a->work;
    double* rotated = a->work + n;
    for (int32_t i = 0; i < n; ++i) {
        step[i] = 0.0;
        for (int32_t k = 0; k < a->mu; ++k) {
            step[i] += a->weight[k] * a->y[a->order[k] * n + i];
        }
        a->m[i] += a->sigma * step[i];
    }
    for (int32_t i = 0; i < n; ++i) { /* D^-1 B^T step */
        rotated[i] = 0.0;
        for (int32_t j = 0; j < n; ++j) {
            rotated[i] += a->B[j * n + i] * step[j];
        }
        rotated[i] /= a->D[i];
    }
    double length = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        double z = 0.0;
        for (int32_t j = 0; j < n; ++j) {
            z += a->B[i * n + j] * rotated[j];
        }
        a->p_s[i] = (1.0 - a->c_s) * a->p_s[i] + sqrt(a->c_s * (2.0 - a->c_s) * a->mu_w) * z;
        length += a->p_s[i] * a->p_s[i];
    }
    length = sqrt(length);
    const double faded = 1.0 - pow(1.0 - a->c_s, 2.0 * ((double)a->generation + 1.0));
    const double h = length / sqrt(faded) < (1.4 + 2.0 / (n + 1.0)) * a->chi ? 1.0 : 0.0;
    for (int32_t i = 0; i < n; ++i) {
        a->p_c[i] =
            (1.0 - a->c_c) * a->p_c[i] + h * sqrt(a->c_c * (2.0 - a->c_c) * a->mu_w) * step[i];
    }
    const double keep = 1.0 - a->c_1 - a->c_mu + a->c_1 * (1.0 - h) * a->c_c * (2.0 - a->c_c);
    for (int32_t i = 0; i < n; ++i) {
        for (int32_t j = 0; j <= i; ++j) {
            double sum = 0.0;
            for (int32_t k = 0; k < a->mu; ++k) {
                const double* y = a->y + a->order[k] * n;
                sum += a->weight[k] * y[i] * y[j];
            }
            const double c =
                keep * a->C[i * n + j] + a->c_1 * a->p_c[i] * a->p_c[j] + a->c_mu * sum;
            a->C[i * n + j] = a->C[j * n + i] = c;
        }
    }
    const double growth = (a->c_s / a->d_s) * (length / a->chi - 1.0);
    a->sigma *= exp(growth < 1.0 ? growth : 1.0);
}

/* Steps below the tolerance, or values that differ no more than their rounding, for some generations. */
static bool cma_converged(cma_state* a)
{
    double largest = 0.0;
    for (int32_t i = 0; i < a->n; ++i) {
        const double d = a->sigma * sqrt(a->C[i * a->n + i]);
        largest = d > largest ? d : largest;
    }
    if (!(largest >= a->s->tolerance)) {
        return true;
    }
    const double best = a->value[a->order[0]];
    a->history[a->history_count++ % a->history_size] = best;
    if (a->history_count < a->history_size) {
        return false;
    }
    double low = best, high = best;
    for (int32_t i = 0; i < a->history_size; ++i) {
        low = a->history[i] < low ? a->history[i] : low;
        high = a->history[i] > high ? a->history[i] : high;
    }
    for (int32_t k = 0; k < a->lambda; ++k) {
        high = a->value[k] > high ? a->value[k] : high;
    }
    return high - low <= 1e-14 * fabs(low);
}

static perpi_search_end cma_loop(cma_state* a)
{
    const perpi_search* s = a->s;
    const double gap = 1.0 / (10.0 * a->n * (a->c_1 + a->c_mu));
    double since = 0.0;
    int64_t left = s->budget;
    while (left >= a->lambda) {
        cma_sample(a);
        if (!s->evaluate(s->user, a->lambda, a->inside, a->value)) {
            return PERPI_SEARCH_STOPPED;
        }
        left -= a->lambda;
        cma_rank(a);
        if (cma_converged(a)) {
            return PERPI_SEARCH_CONVERGED;
        }
        cma_update(a);
        a->generation += 1;
        since += 1.0;
        if (since >= gap) {
            since = 0.0;
            if (!cma_decompose(a, a->x)) { /* the points are not needed any more */
                return PERPI_SEARCH_CONVERGED;
            }
        }
    }
    return PERPI_SEARCH_BUDGET;
}

perpi_search_end perpi_search_cma(perp_context* context, const perpi_search* search)
{
    cma_state a = {.context = context,
                   .s = search,
                   .n = search->n,
                   .lambda = search->population > 0 ? search->population
                                                    : perpi_cma_population(search->n)};
    perpi_search_end end = PERPI_SEARCH_MEMORY;
    if (cma_allocate(&a) == PERP_OK) {
        cma_settings(&a);
        end = cma_loop(&a);
    }
    perpi_free(context, a.memory);
    perpi_free(context, a.order);
    return end;
}
