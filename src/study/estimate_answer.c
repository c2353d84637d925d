/* src/study/estimate_answer.c - intervals from the information, and what the data cannot tell.
 *
 * The information matrix is scaled by what counts as a large change of each parameter: half the
 * distance of its bounds, or its own size. A direction of the scaled matrix is not identifiable if
 * its eigenvalue is below 1e-12 of the largest, or of the largest diagonal entry before start
 * states were eliminated (there rounding decides), or below 1e-6 (its standard deviation exceeds a
 * thousand large changes). A parameter that has a part of more than 1e-3 in such directions has an
 * infinite interval; the others have theirs from the rest.
 */
#include <math.h>
#include <string.h>

#include "study/estimate.h"
#include "study/estimate_inertia.h"

#define RELATIVE PERPI_INFORMATION_RELATIVE
#define ABSOLUTE PERPI_INFORMATION_ABSOLUTE
#define PART 1e-3
#define NORMAL_95 1.959963984540054

perp_status perpi_answer_create(perp_context* context, const perpi_estimate* e,
                                perpi_answer** answer)
{
    perpi_answer* a = NULL;
    const size_t n = (size_t)e->parameter_count;
    PERPI_TRY(perpi_alloc(context, 1, sizeof *a, &a));
    a->n = e->parameter_count;
    perp_status status = perpi_alloc(context, n, sizeof *a->value, &a->value);
    status = status == PERP_OK ? perpi_alloc(context, n, sizeof *a->low, &a->low) : status;
    status = status == PERP_OK ? perpi_alloc(context, n, sizeof *a->high, &a->high) : status;
    status = status == PERP_OK ? perpi_alloc(context, n, sizeof *a->search, &a->search) : status;
    status = status == PERP_OK ? perpi_alloc(context, n, sizeof(double), &a->unreduced) : status;
    status = status == PERP_OK ? perpi_alloc(context, n, sizeof(bool), &a->identifiable) : status;
    status = status == PERP_OK ? perpi_alloc(context, n, sizeof(bool), &a->at_bound) : status;
    status =
        status == PERP_OK ? perpi_alloc(context, n * n, sizeof(double), &a->covariance) : status;
    status = status == PERP_OK ? perpi_alloc(context, n, sizeof *a->combination, &a->combination)
                               : status;
    status = status == PERP_OK
                 ? perpi_alloc(context, (size_t)e->channel_count, sizeof(double), &a->noise)
                 : status;
    status = status == PERP_OK
                 ? perpi_alloc(context, (size_t)e->data.count * (size_t)e->start_count,
                               sizeof(double), &a->start)
                 : status;
    if (status != PERP_OK) {
        perpi_answer_destroy(context, a);
        return status;
    }
    *answer = a;
    return PERP_OK;
}

void perpi_answer_destroy(perp_context* context, perpi_answer* a)
{
    if (a == NULL) {
        return;
    }
    for (int32_t i = 0; i < a->combination_count; ++i) {
        perpi_free(context, a->combination[i].weight);
    }
    for (int32_t i = 0; i < a->series_count; ++i) {
        perpi_free(context, a->series[i].time);
        perpi_free(context, a->series[i].value);
        perpi_free(context, a->series[i].low);
        perpi_free(context, a->series[i].high);
    }
    json_decref(a->more);
    perpi_free(context, a->series);
    perpi_free(context, a->combination);
    perpi_free(context, a->value);
    perpi_free(context, a->low);
    perpi_free(context, a->high);
    perpi_free(context, a->search);
    perpi_free(context, a->unreduced);
    perpi_free(context, a->identifiable);
    perpi_free(context, a->at_bound);
    perpi_free(context, a->covariance);
    perpi_free(context, a->noise);
    perpi_free(context, a->start);
    perpi_free(context, a);
}

/* ---- Student's t --------------------------------------------------------------------------------*/

/* The expansion of Cornish and Fisher in 1 / degrees: within 1e-3 from 5 on; exact for 1 and 2. */
double perpi_student_quantile(double degrees)
{
    static const double few[] = {12.706204736, 4.302652730, 3.182446305, 2.776445105};
    const double z = NORMAL_95, n = degrees;
    if (!(n >= 1.0)) {
        return INFINITY;
    }
    if (n < 5.0) { /* between the tabulated ones, linear in 1 / n */
        const int i = (int)n;
        const double next = i < 4 ? few[i] : 2.570581836;
        const double part = (1.0 / i - 1.0 / n) / (1.0 / i - 1.0 / (i + 1));
        return few[i - 1] + part * (next - few[i - 1]);
    }
    const double z2 = z * z;
    return z * (1.0 + (z2 + 1.0) / (4.0 * n) + ((5.0 * z2 + 16.0) * z2 + 3.0) / (96.0 * n * n) +
                (((3.0 * z2 + 19.0) * z2 + 17.0) * z2 - 15.0) / (384.0 * n * n * n));
}

/* ---- eigenvectors -------------------------------------------------------------------------------*/

/* Cyclic Jacobi rotations: A becomes diagonal, columns of V are the eigenvectors. */
void perpi_symmetric_eigen(int32_t n, double* A, double* V)
{
    enum { SWEEPS = 60 };
    for (int32_t i = 0; i < n * n; ++i) {
        V[i] = i / n == i % n ? 1.0 : 0.0;
    }
    for (int sweep = 0; sweep < SWEEPS; ++sweep) {
        bool moved = false;
        for (int32_t p = 0; p < n; ++p) {
            for (int32_t q = p + 1; q < n; ++q) {
                const double off = A[p * n + q];
                if (!(fabs(off) > 1e-17 * sqrt(fabs(A[p * n + p] * A[q * n + q])))) {
                    continue;
                }
                moved = true;
                const double theta = (A[q * n + q] - A[p * n + p]) / (2.0 * off);
                const double t =
                    (theta >= 0.0 ? 1.0 : -1.0) / (fabs(theta) + sqrt(theta * theta + 1.0));
                const double c = 1.0 / sqrt(t * t + 1.0), s = t * c;
                for (int32_t k = 0; k < n; ++k) {
                    const double a = A[k * n + p], b = A[k * n + q];
                    A[k * n + p] = c * a - s * b;
                    A[k * n + q] = s * a + c * b;
                }
                for (int32_t k = 0; k < n; ++k) {
                    const double a = A[p * n + k], b = A[q * n + k];
                    A[p * n + k] = c * a - s * b;
                    A[q * n + k] = s * a + c * b;
                }
                for (int32_t k = 0; k < n; ++k) {
                    const double a = V[k * n + p], b = V[k * n + q];
                    V[k * n + p] = c * a - s * b;
                    V[k * n + q] = s * a + c * b;
                }
                A[p * n + q] = A[q * n + p] = 0.0;
            }
        }
        if (!moved) {
            break;
        }
    }
}

/* ---- values for people --------------------------------------------------------------------------*/

/* Search coordinates to what is reported: those of inertias become masses and moments. D: n x n,
 * their derivatives; may be NULL. */
void perpi_answer_physical(const perpi_estimate* e, const double* search, double* value, double* D)
{
    const int32_t n = e->parameter_count;
    memcpy(value, search, (size_t)n * sizeof *value);
    for (int32_t i = 0; D != NULL && i < n * n; ++i) {
        D[i] = i / n == i % n ? 1.0 : 0.0;
    }
    for (int32_t k = 0; k < e->inertia_count; ++k) {
        const perpi_inertia* x = &e->inertia[k];
        double at[PERPI_INERTIA_PARTS], a[PERPI_INERTIA_PARTS], b[PERPI_INERTIA_PARTS];
        perpi_inertia_physical(x, search + x->first, value + x->first);
        for (int32_t j = 0; D != NULL && j < x->parts; ++j) {
            const double d = 1e-6 * e->parameter[x->first + j].info.scale;
            memcpy(at, search + x->first, (size_t)x->parts * sizeof *at);
            at[j] = search[x->first + j] + d;
            perpi_inertia_physical(x, at, b);
            at[j] = search[x->first + j] - d;
            perpi_inertia_physical(x, at, a);
            for (int32_t i = 0; i < x->parts; ++i) {
                D[(x->first + i) * n + x->first + j] = (b[i] - a[i]) / (2.0 * d);
            }
        }
    }
}

double perpi_parameter_size(const perpi_estimate* e, int32_t i, double value)
{
    const perpi_parameter* p = &e->parameter[i];
    const double range = 0.5 * (p->info.high - p->info.low);
    if (isfinite(range)) {
        return range;
    }
    if (p->kind ==
        PERPI_PARAMETER_INERTIA) { /* off the diagonal and of the centre: by the size of the body */
        const perpi_inertia* x = &e->inertia[p->inertia];
        double physical[PERPI_INERTIA_PARTS], zero[PERPI_INERTIA_PARTS] = {0};
        perpi_inertia_physical(x, zero, physical);
        return p->part == 0                    ? physical[0]
               : p->part < (x->planar ? 2 : 7) ? physical[1]
                                               : sqrt(physical[1] / physical[0]);
    }
    return fabs(value) > p->info.scale ? fabs(value) : p->info.scale;
}

/* ---- intervals ----------------------------------------------------------------------------------*/

typedef struct spectrum {
    int32_t n;
    double *size, *A, *V, *D, *inverse;
} spectrum;

static void free_spectrum(perp_context* context, spectrum* s)
{
    perpi_free(context, s->size);
    perpi_free(context, s->A);
    perpi_free(context, s->V);
    perpi_free(context, s->D);
    perpi_free(context, s->inverse);
}

/* Solves D X = B by elimination with pivots; B, n x n, becomes X. D is lost. */
static bool solve_square(int32_t n, double* D, double* B)
{
    for (int32_t k = 0; k < n; ++k) {
        int32_t best = k;
        for (int32_t i = k + 1; i < n; ++i) {
            best = fabs(D[i * n + k]) > fabs(D[best * n + k]) ? i : best;
        }
        if (D[best * n + k] == 0.0) {
            return false;
        }
        for (int32_t j = 0; j < n; ++j) {
            const double a = D[k * n + j], b = B[k * n + j];
            D[k * n + j] = D[best * n + j];
            D[best * n + j] = a;
            B[k * n + j] = B[best * n + j];
            B[best * n + j] = b;
        }
        for (int32_t i = 0; i < n; ++i) {
            const double f = i == k ? 0.0 : D[i * n + k] / D[k * n + k];
            for (int32_t j = 0; f != 0.0 && j < n; ++j) {
                D[i * n + j] -= f * D[k * n + j];
                B[i * n + j] -= f * B[k * n + j];
            }
        }
    }
    for (int32_t k = 0; k < n; ++k) {
        for (int32_t j = 0; j < n; ++j) {
            B[k * n + j] /= D[k * n + k];
        }
    }
    return true;
}

/* A = S D^-T I D^-1 S: the information of what is reported, scaled. */
static void scale_information(const perpi_estimate* e, const double* information, spectrum* s)
{
    const int32_t n = s->n;
    for (int32_t i = 0; i < n * n; ++i) {
        s->V[i] = i / n == i % n ? 1.0 : 0.0;
    }
    if (e->inertia_count == 0 || !solve_square(n, s->D, s->V)) {
        for (int32_t i = 0; i < n * n; ++i) {
            s->V[i] = i / n == i % n ? 1.0 : 0.0;
        }
    }
    for (int32_t i = 0; i < n; ++i) { /* inverse = I V */
        for (int32_t j = 0; j < n; ++j) {
            double sum = 0.0;
            for (int32_t k = 0; k < n; ++k) {
                sum += information[i * n + k] * s->V[k * n + j];
            }
            s->inverse[i * n + j] = sum;
        }
    }
    for (int32_t i = 0; i < n; ++i) {
        for (int32_t j = 0; j < n; ++j) {
            double sum = 0.0;
            for (int32_t k = 0; k < n; ++k) {
                sum += s->V[k * n + i] * s->inverse[k * n + j];
            }
            s->A[i * n + j] = s->size[i] * s->size[j] * sum;
        }
    }
}

static perp_status add_combination(perp_context* context, const spectrum* s, int32_t k,
                                   perpi_answer* a)
{
    double* weight = NULL;
    double largest = 0.0;
    PERPI_TRY(perpi_alloc(context, (size_t)s->n, sizeof *weight, &weight));
    for (int32_t i = 0; i < s->n; ++i) {
        const double part = s->V[i * s->n + k];
        weight[i] = part;
        if (fabs(part) > fabs(largest)) {
            largest = part;
        }
        a->identifiable[i] = a->identifiable[i] && fabs(part) <= PART;
    }
    for (int32_t i = 0; i < s->n; ++i) {
        weight[i] /= largest;
    }
    a->combination[a->combination_count++].weight = weight;
    return PERP_OK;
}

static perp_status read_spectrum(perp_context* context, spectrum* s, perpi_answer* a)
{
    const int32_t n = s->n;
    double largest = 0.0;
    for (int32_t k = 0; k < n; ++k) {
        const double before = s->size[k] * s->size[k] * a->unreduced[k];
        largest = s->A[k * n + k] > largest ? s->A[k * n + k] : largest;
        largest = before > largest ? before : largest;
        a->identifiable[k] = true;
    }
    memset(a->covariance, 0, (size_t)n * (size_t)n * sizeof *a->covariance);
    for (int32_t k = 0; k < n; ++k) {
        const double lambda = s->A[k * n + k];
        if (!(lambda > RELATIVE * largest && lambda > ABSOLUTE)) {
            PERPI_TRY(add_combination(context, s, k, a));
            continue;
        }
        for (int32_t i = 0; i < n; ++i) {
            for (int32_t j = 0; j < n; ++j) {
                a->covariance[i * n + j] +=
                    s->size[i] * s->size[j] * s->V[i * n + k] * s->V[j * n + k] / lambda;
            }
        }
    }
    return PERP_OK;
}

static void set_interval(const perpi_estimate* e, int32_t i, double quantile, perpi_answer* a)
{
    const perp_unknown* u = &e->parameter[i].info;
    const double width = quantile * sqrt(a->covariance[i * a->n + i]);
    if (!a->identifiable[i]) {
        a->low[i] = -INFINITY;
        a->high[i] = INFINITY;
        for (int32_t j = 0; j < a->n; ++j) {
            a->covariance[i * a->n + j] = a->covariance[j * a->n + i] = NAN;
        }
        return;
    }
    a->low[i] = a->value[i] - width;
    a->high[i] = a->value[i] + width;
    if (e->parameter[i].kind != PERPI_PARAMETER_INERTIA) {
        a->low[i] = a->low[i] < u->low ? u->low : a->low[i];
        a->high[i] = a->high[i] > u->high ? u->high : a->high[i];
        a->at_bound[i] = a->value[i] <= u->low || a->value[i] >= u->high;
    }
}

perp_status perpi_answer_intervals(perp_context* context, const perpi_estimate* e,
                                   const double* information, perpi_answer* a)
{
    const int32_t n = a->n;
    const size_t square = (size_t)n * (size_t)n;
    spectrum s = {.n = n};
    perp_status status = perpi_alloc(context, (size_t)n, sizeof(double), &s.size);
    status = status == PERP_OK ? perpi_alloc(context, square, sizeof(double), &s.A) : status;
    status = status == PERP_OK ? perpi_alloc(context, square, sizeof(double), &s.V) : status;
    status = status == PERP_OK ? perpi_alloc(context, square, sizeof(double), &s.D) : status;
    status = status == PERP_OK ? perpi_alloc(context, square, sizeof(double), &s.inverse) : status;
    if (status == PERP_OK && n > 0) {
        bool estimated = false;
        perpi_answer_physical(e, a->search, a->value, s.D);
        for (int32_t i = 0; i < n; ++i) {
            s.size[i] = perpi_parameter_size(e, i, a->value[i]);
        }
        scale_information(e, information, &s);
        perpi_symmetric_eigen(n, s.A, s.V);
        status = read_spectrum(context, &s, a);
        for (int32_t i = 0; i < e->channel_count; ++i) {
            estimated = estimated || !e->channel[i].noise_given;
        }
        for (int32_t i = 0; status == PERP_OK && i < n; ++i) {
            set_interval(e, i, estimated ? perpi_student_quantile(a->degrees) : NORMAL_95, a);
        }
    }
    free_spectrum(context, &s);
    return status;
}
