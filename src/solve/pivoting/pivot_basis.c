/* src/solve/pivoting/pivot_basis.c - see pivot_basis.h: the explicit inverse. */
#include "solve/pivoting/pivot_basis.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "linalg/dense.h"

#define SINGULAR 1e-13 /* on a pivot of the equilibrated kernel, relative to its row */

static inline void subtract_scaled(int32_t n, double t, const double* restrict a,
                                   double* restrict b)
{
    for (int32_t i = 0; i < n; ++i) {
        b[i] -= t * a[i];
    }
}

perp_status perpi_pivot_basis_reserve(perp_context* context, perpi_pivot_basis* b, int32_t n,
                                      int32_t nnz, bool dense)
{
    const size_t m = (size_t)n, square = dense ? m * m : 0;
    struct {
        void* array;
        size_t need, size;
    } item[] = {
        {&b->var, m, sizeof(int32_t)},         {&b->where, 2 * m + 1, sizeof(int32_t)},
        {&b->inverse, square, sizeof(double)}, {&b->kernel, square, sizeof(double)},
        {&b->slot, m, sizeof(int32_t)},        {&b->row, m, sizeof(int32_t)},
        {&b->order, m, sizeof(int32_t)},       {&b->late, m, sizeof(int32_t)},
    };
    for (size_t i = 0; i < sizeof item / sizeof item[0]; ++i) {
        const perp_status status =
            perpi_grow(context, item[i].array, &b->capacity[i], item[i].need, item[i].size);
        if (status != PERP_OK) {
            return status;
        }
    }
    b->n = n;
    b->dense = dense;
    return dense ? PERP_OK : perpi_pivot_sparse_reserve(context, &b->sparse, n, nnz);
}

void perpi_pivot_basis_free(perp_context* context, perpi_pivot_basis* b)
{
    perpi_free(context, b->var);
    perpi_free(context, b->where);
    perpi_free(context, b->inverse);
    perpi_free(context, b->kernel);
    perpi_free(context, b->slot);
    perpi_free(context, b->row);
    perpi_free(context, b->order);
    perpi_free(context, b->late);
    perpi_pivot_sparse_free(b->sparse);
    *b = (perpi_pivot_basis){0};
}

void perpi_pivot_basis_unit(perpi_pivot_basis* b)
{
    b->k = 0;
    for (int32_t i = 0; i < b->n; ++i) {
        b->var[i] = i;
        b->where[i] = i;
        b->where[b->n + i] = -1;
        b->slot[i] = -1;
    }
    b->where[2 * b->n] = -1;
}

void perpi_pivot_basis_assign(perpi_pivot_basis* b, const bool* basic)
{
    perpi_pivot_basis_unit(b);
    for (int32_t i = 0; i < b->n; ++i) {
        if (basic[i]) {
            b->var[i] = b->n + i;
            b->where[i] = -1;
            b->where[b->n + i] = i;
        }
    }
}

void perpi_pivot_basis_add_column(const perpi_pivot_basis* b, int32_t j, double t, double* y)
{
    const int32_t n = b->n;
    if (j < n) {
        y[j] += t;
    } else if (j < 2 * n) {
        for (int32_t e = b->M.start[j - n]; e < b->M.start[j - n + 1]; ++e) {
            y[b->M.row[e]] -= t * b->M.value[e];
        }
    } else {
        for (int32_t i = 0; i < n; ++i) {
            y[i] -= t * b->h[i];
        }
    }
}

/* d += t (column of row i in B^-1) */
static inline void add_row_column(const perpi_pivot_basis* b, int32_t i, double t, double* d)
{
    if (b->slot[i] >= 0) {
        subtract_scaled(b->n, -t, b->inverse + (size_t)b->slot[i] * (size_t)b->n, d);
    } else {
        d[b->where[i]] += t;
    }
}

void perpi_pivot_basis_column(perpi_pivot_basis* b, int32_t j, double* d)
{
    const int32_t n = b->n;
    if (!b->dense) {
        perpi_pivot_sparse_column(b, j, d);
        return;
    }
    memset(d, 0, (size_t)n * sizeof *d);
    if (j < n) {
        add_row_column(b, j, 1.0, d);
    } else if (j < 2 * n) {
        for (int32_t e = b->M.start[j - n]; e < b->M.start[j - n + 1]; ++e) {
            add_row_column(b, b->M.row[e], -b->M.value[e], d);
        }
    } else {
        for (int32_t i = 0; i < n; ++i) {
            add_row_column(b, i, -b->h[i], d);
        }
    }
}

void perpi_pivot_basis_solve(perpi_pivot_basis* b, const double* r, double* x)
{
    if (!b->dense) {
        perpi_pivot_sparse_solve(b, r, x);
        return;
    }
    memset(x, 0, (size_t)b->n * sizeof *x);
    for (int32_t i = 0; i < b->n; ++i) {
        if (r[i] != 0.0) {
            add_row_column(b, i, r[i], x);
        }
    }
}

/* The dense inverse after variable j has entered at position p. */
static void update_inverse(perpi_pivot_basis* b, int32_t p, int32_t j, const double* d)
{
    const int32_t n = b->n;
    const int32_t leaving = b->var[p];
    const double inverse = 1.0 / d[p];
    for (int32_t s = 0; s < b->k; ++s) {
        double* column = b->inverse + (size_t)s * (size_t)n;
        if (column[p] != 0.0) {
            const double t = column[p] * inverse;
            subtract_scaled(n, t, d, column);
            column[p] = t;
        }
    }
    /* The column of an entering w becomes a unit column; that of a leaving w ceases to be one. */
    int32_t s = -1;
    if (j < n) {
        s = b->slot[j];
        b->slot[j] = -1;
    }
    if (leaving < n) {
        if (s < 0) {
            s = b->k++;
        }
        double* column = b->inverse + (size_t)s * (size_t)n;
        for (int32_t i = 0; i < n; ++i) {
            column[i] = -d[i] * inverse;
        }
        column[p] = inverse;
        b->row[s] = leaving;
        b->slot[leaving] = s;
    } else if (s >= 0) {
        const int32_t last = --b->k;
        if (s != last) {
            memcpy(b->inverse + (size_t)s * (size_t)n, b->inverse + (size_t)last * (size_t)n,
                   (size_t)n * sizeof *b->inverse);
            b->row[s] = b->row[last];
            b->slot[b->row[s]] = s;
        }
    }
}

void perpi_pivot_basis_exchange(perpi_pivot_basis* b, int32_t p, int32_t j, const double* d)
{
    const int32_t leaving = b->var[p];
    if (b->dense) {
        update_inverse(b, p, j, d);
    } else {
        perpi_pivot_sparse_update(b, p, d);
    }
    b->var[p] = j;
    b->where[j] = p;
    b->where[leaving] = -1;
}

bool perpi_pivot_basis_full(const perpi_pivot_basis* b)
{
    return !b->dense && perpi_pivot_sparse_full(b);
}

/* The inverse from the data. */
static bool factor_dense(perpi_pivot_basis* b)
{
    const int32_t n = b->n;
    int32_t k = 0, rows = 0;
    for (int32_t i = 0; i < n; ++i) {
        b->slot[i] = -1;
        if (b->where[i] < 0) {
            b->slot[i] = rows;
            b->row[rows++] = i;
        }
        if (b->var[i] >= n) {
            b->late[k++] = i;
        }
    }
    PERP_ASSERT(k == rows);
    b->k = k;
    /* The kernel: rows whose w is not basic, columns that are not unit columns. */
    double* K = b->kernel;
    memset(K, 0, (size_t)k * (size_t)k * sizeof *K);
    for (int32_t c = 0; c < k; ++c) {
        const int32_t j = b->var[b->late[c]];
        if (j == 2 * n) {
            for (int32_t r = 0; r < k; ++r) {
                K[(size_t)r * k + c] = -b->h[b->row[r]];
            }
            continue;
        }
        for (int32_t e = b->M.start[j - n]; e < b->M.start[j - n + 1]; ++e) {
            const int32_t r = b->slot[b->M.row[e]];
            if (r >= 0) {
                K[(size_t)r * k + c] = -b->M.value[e];
            }
        }
    }
    if (!perpi_invert(k, SINGULAR, K, b->order)) {
        return false;
    }
    memset(b->inverse, 0, (size_t)k * (size_t)n * sizeof *b->inverse);
    for (int32_t c = 0; c < k; ++c) {
        const double* K_c = K + (size_t)c * k;
        const int32_t p = b->late[c], j = b->var[p];
        for (int32_t s = 0; s < k; ++s) {
            b->inverse[(size_t)s * (size_t)n + (size_t)p] = K_c[s];
        }
        /* Positions that hold a w: minus what the late columns put into their row. */
        const int32_t count = j == 2 * n ? n : b->M.start[j - n + 1] - b->M.start[j - n];
        for (int32_t e = 0; e < count; ++e) {
            const int32_t i = j == 2 * n ? e : b->M.row[b->M.start[j - n] + e];
            const double t = j == 2 * n ? -b->h[e] : -b->M.value[b->M.start[j - n] + e];
            const int32_t p_i = b->where[i];
            if (p_i < 0 || t == 0.0) {
                continue;
            }
            for (int32_t s = 0; s < k; ++s) {
                b->inverse[(size_t)s * (size_t)n + (size_t)p_i] -= t * K_c[s];
            }
        }
    }
    return true;
}

perp_status perpi_pivot_basis_factor(perpi_pivot_basis* b, bool* good)
{
    if (!b->dense) {
        return perpi_pivot_sparse_factor(b, good);
    }
    *good = factor_dense(b);
    return PERP_OK;
}
