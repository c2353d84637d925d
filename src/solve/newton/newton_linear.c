/* src/solve/newton/newton_linear.c - see newton_linear.h. */
#include "solve/newton/newton_linear.h"

#include <math.h>
#include <string.h>

#include "linalg/dense.h"

#define SINGULAR 1e-14     /* smallest over largest pivot; rows and columns are scaled to 1 */
#define DAMPED_LARGEST 400 /* limit on n for forming H'H, which is dense */
#define DENSE_LARGEST 48   /* unknowns up to which dense is faster whatever the pattern */
#define DENSE_FULL 0.3     /* and fill ratio above which dense is faster for larger n */

void perpi_newton_linear_init(perpi_newton_linear* linear, perp_context* context)
{
    *linear = (perpi_newton_linear){.context = context};
}

void perpi_newton_linear_free(perpi_newton_linear* linear)
{
    perpi_sparse_lu_destroy(linear->lu);
    perpi_free(linear->context, linear->index);
    perpi_free(linear->context, linear->value);
    perpi_free(linear->context, linear->A);
    perpi_free(linear->context, linear->B);
    perpi_free(linear->context, linear->vector);
    perpi_free(linear->context, linear->pivot);
}

static perp_status reserve_sparse(perpi_newton_linear* linear, const perpi_box* box)
{
    const size_t n = (size_t)box->n, most = (size_t)box->nnz + n;
    perp_status status = PERP_OK;
    if (linear->lu == NULL) {
        status = perpi_sparse_lu_create(linear->context, &linear->lu);
    }
    if (status == PERP_OK) {
        status = perpi_grow(linear->context, &linear->index, &linear->index_capacity, n + 1 + most,
                            sizeof *linear->index);
    }
    if (status == PERP_OK) {
        status = perpi_grow(linear->context, &linear->value, &linear->value_capacity, most,
                            sizeof *linear->value);
    }
    if (status == PERP_OK) {
        perpi_box_pattern(box, linear->index, linear->index + n + 1);
    }
    return status;
}

perp_status perpi_newton_linear_reserve(perpi_newton_linear* linear, const perpi_box* box)
{
    const size_t n = (size_t)box->n;
    perp_context* context = linear->context;
    linear->n = box->n;
    linear->status = PERP_OK;
    linear->analysed = false;
    linear->sparse =
        box->n > DENSE_LARGEST && (double)box->nnz < DENSE_FULL * (double)box->n * (double)box->n;
    perp_status status = linear->sparse ? reserve_sparse(linear, box) : PERP_OK;
    if (status == PERP_OK && (!linear->sparse || n <= DAMPED_LARGEST)) {
        status = perpi_grow(context, &linear->A, &linear->A_capacity, n * n, sizeof *linear->A);
    }
    if (status == PERP_OK && n <= DAMPED_LARGEST) {
        status = perpi_grow(context, &linear->B, &linear->B_capacity, n * n, sizeof *linear->B);
    }
    if (status == PERP_OK) {
        status = perpi_grow(context, &linear->vector, &linear->vector_capacity, n,
                            sizeof *linear->vector);
    }
    if (status == PERP_OK) {
        status =
            perpi_grow(context, &linear->pivot, &linear->pivot_capacity, n, sizeof *linear->pivot);
    }
    return status;
}

static void fill_dense(const perpi_box* box, const double* a, const double* b, double eps,
                       double* A)
{
    const size_t n = (size_t)box->n;
    memset(A, 0, n * n * sizeof *A);
    for (size_t j = 0; j < n; ++j) {
        for (int32_t e = box->start[j]; e < box->start[j + 1]; ++e) {
            const size_t i = (size_t)box->row[e];
            A[i * n + j] = b[i] * box->value[e];
        }
        A[j * n + j] += a[j] + b[j] * eps;
    }
}

/* t <- r - H d */
static void linear_residual(const perpi_box* box, const double* a, const double* b, double eps,
                            const double* r, const double* d, double* t)
{
    const int32_t n = box->n;
    memset(t, 0, (size_t)n * sizeof *t);
    perpi_box_multiply_add(box, d, t);
    for (int32_t i = 0; i < n; ++i) {
        t[i] = r[i] - a[i] * d[i] - b[i] * (t[i] + eps * d[i]);
    }
}

static bool factor_dense(perpi_newton_linear* linear, const perpi_box* box, const double* a,
                         const double* b, double eps)
{
    perpi_lu_info info;
    fill_dense(box, a, b, eps, linear->A);
    return perpi_lu_factor(box->n, linear->A, linear->pivot, &info) &&
           info.pivot_min > SINGULAR * info.pivot_max;
}

static bool factor_sparse(perpi_newton_linear* linear, const perpi_box* box, const double* a,
                          const double* b, double eps)
{
    const int32_t n = box->n;
    const int32_t *start = linear->index, *row = start + n + 1;
    for (int32_t j = 0; j < n; ++j) {
        int32_t e = box->start[j];
        for (int32_t f = start[j]; f < start[j + 1]; ++f) {
            const int32_t i = row[f];
            linear->value[f] = i == j ? a[i] + b[i] * eps : 0.0;
            if (e < box->start[j + 1] && box->row[e] == i) {
                linear->value[f] += b[i] * box->value[e++];
            }
        }
    }
    const perp_sparse H = {n, n, start, row, linear->value};
    bool singular = true;
    linear->status = perpi_sparse_lu_factor(linear->lu, &H, linear->analysed, &singular);
    if (linear->status != PERP_OK) {
        return false;
    }
    linear->analysed = true;
    return !singular;
}

static void substitute(perpi_newton_linear* linear, double* x)
{
    if (linear->sparse) {
        perpi_sparse_lu_solve(linear->lu, 1, x);
    } else {
        perpi_lu_solve(linear->n, linear->A, linear->pivot, x);
    }
}

bool perpi_newton_linear_solve(perpi_newton_linear* linear, const perpi_box* box, const double* a,
                               const double* b, double eps, const double* r, double* d)
{
    const int32_t n = box->n;
    if (linear->sparse ? !factor_sparse(linear, box, a, b, eps)
                       : !factor_dense(linear, box, a, b, eps)) {
        return false;
    }
    memcpy(d, r, (size_t)n * sizeof *d);
    substitute(linear, d);
    double* t = linear->vector;
    linear_residual(box, a, b, eps, r, d, t);
    substitute(linear, t);
    bool finite = true;
    for (int32_t i = 0; i < n; ++i) {
        d[i] += t[i];
        finite = finite && isfinite(d[i]);
    }
    return finite;
}

bool perpi_newton_linear_damped(perpi_newton_linear* linear, const perpi_box* box, const double* a,
                                const double* b, double mu, const double* g, double* d)
{
    const size_t n = (size_t)box->n;
    if (n > DAMPED_LARGEST) {
        return false;
    }
    double *A = linear->A, *B = linear->B;
    fill_dense(box, a, b, 0.0, A);
    memset(B, 0, n * n * sizeof *B);
    for (size_t k = 0; k < n; ++k) { /* sum of outer products of the rows of H */
        const double* row = A + k * n;
        for (size_t i = 0; i < n; ++i) {
            if (row[i] != 0.0) {
                double* B_i = B + i * n;
                for (size_t j = 0; j <= i; ++j) {
                    B_i[j] += row[i] * row[j];
                }
            }
        }
    }
    for (size_t i = 0; i < n; ++i) {
        B[i * n + i] += mu;
    }
    if (!perpi_chol_factor_any(box->n, B)) {
        return false;
    }
    memcpy(d, g, n * sizeof *d);
    perpi_chol_solve_any(box->n, B, d);
    for (size_t i = 0; i < n; ++i) {
        if (!isfinite(d[i])) {
            return false;
        }
    }
    return true;
}
