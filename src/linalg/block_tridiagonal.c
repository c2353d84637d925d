/* src/linalg/block_tridiagonal.c - see block_tridiagonal.h.
 *
 * Method     D_g <- A_gg - L_(g-1) U_(g-1),  U_g <- D_g^-1 A_g(g+1),  L_g = A_(g+1)g; then
 *            y_g = D_g^-1 (x_g - L_(g-1) y_(g-1)),  x_g = y_g - U_g x_(g+1)
 * Order      of sums: as written. Sizes of three are unrolled by the compiler, which does not change the bits.
 */
#include "linalg/block_tridiagonal.h"

#include <math.h>
#include <string.h>

bool perpi_tridiagonal_fits(int32_t count, const int32_t* size, const int32_t* start,
                            const int32_t* column)
{
    bool fits = true;
    for (int32_t g = 0; g < count && fits; ++g) {
        fits = size[g] > 0 && size[g] <= PERPI_TRIDIAGONAL_MAX;
        for (int32_t k = start[g]; k < start[g + 1]; ++k) {
            fits = fits && column[k] >= g - 1 && column[k] <= g + 1;
        }
    }
    return fits;
}

perp_status perpi_tridiagonal_shape(perp_context* context, perpi_tridiagonal* t, int32_t count,
                                    const int32_t* size)
{
    const size_t n = (size_t)count;
    perp_status status = perpi_grow(context, &t->size, &t->size_capacity, n, sizeof *t->size);
    if (status == PERP_OK) {
        status = perpi_grow(context, &t->at, &t->at_capacity, n, sizeof *t->at);
    }
    if (status != PERP_OK) {
        return status;
    }
    size_t used = 0, rows = 0;
    for (int32_t g = 0; g < count; ++g) {
        const size_t own = (size_t)size[g], next = g + 1 < count ? (size_t)size[g + 1] : 0;
        t->size[g] = size[g];
        t->at[g] = used;
        used += own * (own + 2 * next);
        rows += own;
    }
    t->count = count;
    t->used = used;
    status = perpi_grow(context, &t->value, &t->value_capacity, used, sizeof *t->value);
    return status == PERP_OK
               ? perpi_grow(context, &t->pivot, &t->pivot_capacity, rows, sizeof *t->pivot)
               : status;
}

void perpi_tridiagonal_free(perp_context* context, perpi_tridiagonal* t)
{
    perpi_free(context, t->size);
    perpi_free(context, t->at);
    perpi_free(context, t->value);
    perpi_free(context, t->pivot);
    *t = (perpi_tridiagonal){0};
}

void perpi_tridiagonal_clear(perpi_tridiagonal* t)
{
    memset(t->value, 0, t->used * sizeof *t->value);
}

double* perpi_tridiagonal_block(const perpi_tridiagonal* t, int32_t row, int32_t column,
                                int32_t* stride)
{
    const int32_t g = row < column ? row : column, n = t->size[g];
    double* D = t->value + t->at[g];
    *stride = t->size[column];
    return row == column ? D : row < column ? D + n * n : D + n * n + n * t->size[row];
}

/* LU with partial pivoting of D, n x n. */
static inline bool factor_block(int32_t n, double* restrict D, int32_t* restrict pivot)
{
    for (int32_t k = 0; k < n; ++k) {
        int32_t best = k;
        double size = fabs(D[k * n + k]);
        for (int32_t i = k + 1; i < n; ++i) {
            const double a = fabs(D[i * n + k]);
            if (!(a <= size)) { /* a NaN is selected, and fails the test below */
                size = a;
                best = i;
            }
        }
        if (!(size > 0.0) || !isfinite(size)) {
            return false;
        }
        pivot[k] = best;
        for (int32_t j = 0; best != k && j < n; ++j) {
            const double d = D[k * n + j];
            D[k * n + j] = D[best * n + j];
            D[best * n + j] = d;
        }
        for (int32_t i = k + 1; i < n; ++i) {
            D[i * n + k] /= D[k * n + k];
            for (int32_t j = k + 1; j < n; ++j) {
                D[i * n + j] -= D[i * n + k] * D[k * n + j];
            }
        }
    }
    return true;
}

/* X <- D^-1 X, n x m. */
static inline void divide_block(int32_t n, int32_t m, const double* restrict D,
                                const int32_t* restrict pivot, double* restrict X)
{
    for (int32_t k = 0; k < n; ++k) {
        for (int32_t j = 0; pivot[k] != k && j < m; ++j) {
            const double x = X[k * m + j];
            X[k * m + j] = X[pivot[k] * m + j];
            X[pivot[k] * m + j] = x;
        }
    }
    for (int32_t i = 1; i < n; ++i) {
        for (int32_t k = 0; k < i; ++k) {
            for (int32_t j = 0; j < m; ++j) {
                X[i * m + j] -= D[i * n + k] * X[k * m + j];
            }
        }
    }
    for (int32_t i = n - 1; i >= 0; --i) {
        for (int32_t k = i + 1; k < n; ++k) {
            for (int32_t j = 0; j < m; ++j) {
                X[i * m + j] -= D[i * n + k] * X[k * m + j];
            }
        }
        for (int32_t j = 0; j < m; ++j) {
            X[i * m + j] /= D[i * n + i];
        }
    }
}

/* C <- C - A B; A: n x k, B: k x m */
static inline void subtract_product(int32_t n, int32_t k, int32_t m, const double* restrict A,
                                    const double* restrict B, double* restrict C)
{
    for (int32_t i = 0; i < n; ++i) {
        for (int32_t l = 0; l < k; ++l) {
            for (int32_t j = 0; j < m; ++j) {
                C[i * m + j] -= A[i * k + l] * B[l * m + j];
            }
        }
    }
}

static inline bool eliminate(int32_t n, int32_t next, double* D, int32_t* pivot)
{
    double *U = D + n * n, *L = U + n * next, *below = L + n * next;
    if (!factor_block(n, D, pivot)) {
        return false;
    }
    divide_block(n, next, D, pivot, U);
    subtract_product(next, n, next, L, U, below);
    return true;
}

bool perpi_tridiagonal_factor(perpi_tridiagonal* t)
{
    int32_t* pivot = t->pivot;
    bool regular = true;
    for (int32_t g = 0; g < t->count && regular; ++g) {
        const int32_t n = t->size[g], next = g + 1 < t->count ? t->size[g + 1] : 0;
        double* D = t->value + t->at[g];
        regular = n == 3 && next == 3 ? eliminate(3, 3, D, pivot) : eliminate(n, next, D, pivot);
        pivot += n;
    }
    return regular;
}

void perpi_tridiagonal_solve(const perpi_tridiagonal* t, double* x)
{
    const int32_t* pivot = t->pivot;
    for (int32_t g = 0; g < t->count; ++g) {
        const int32_t n = t->size[g], next = g + 1 < t->count ? t->size[g + 1] : 0;
        const double *D = t->value + t->at[g], *L = D + n * n + n * next;
        if (n == 3 && next == 3) {
            divide_block(3, 1, D, pivot, x);
            subtract_product(3, 3, 1, L, x, x + 3);
        } else {
            divide_block(n, 1, D, pivot, x);
            subtract_product(next, n, 1, L, x, x + n);
        }
        pivot += n;
        x += n;
    }
    for (int32_t g = t->count - 1; g >= 0; --g) {
        const int32_t n = t->size[g], next = g + 1 < t->count ? t->size[g + 1] : 0;
        const double* U = t->value + t->at[g] + n * n;
        x -= n;
        if (n == 3 && next == 3) {
            subtract_product(3, 3, 1, U, x + 3, x);
        } else {
            subtract_product(n, next, 1, U, x + n, x);
        }
    }
}
