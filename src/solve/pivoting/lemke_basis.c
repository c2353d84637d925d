/* src/solve/pivoting/lemke_basis.c - see lemke_basis.h. */
#include "solve/pivoting/lemke_basis.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "linalg/dense.h"

/* Four partial sums in a fixed order: the compiler may use vectors without changing a bit. */
static double dot4(int32_t n, const double* restrict a, const double* restrict b)
{
    double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
    int32_t i = 0;
    for (; i + 4 <= n; i += 4) {
        s0 += a[i] * b[i];
        s1 += a[i + 1] * b[i + 1];
        s2 += a[i + 2] * b[i + 2];
        s3 += a[i + 3] * b[i + 3];
    }
    for (; i < n; ++i) {
        s0 += a[i] * b[i];
    }
    return (s0 + s1) + (s2 + s3);
}

static void add_scaled(int32_t n, double t, const double* restrict a, double* restrict b)
{
    for (int32_t i = 0; i < n; ++i) {
        b[i] += t * a[i];
    }
}

perp_status perpi_lemke_basis_reserve(perp_context* context, perpi_lemke_basis* b, int32_t n)
{
    const size_t m = (size_t)n;
    struct {
        void* array;
        size_t need, size;
    } item[] = {
        {&b->inverse, m * m, sizeof(double)}, {&b->x, m, sizeof(double)},
        {&b->work, m * m, sizeof(double)},    {&b->vector, 2 * m, sizeof(double)},
        {&b->var, m, sizeof(int32_t)},        {&b->where, 2 * m + 1, sizeof(int32_t)},
        {&b->slot, m, sizeof(int32_t)},       {&b->row, m, sizeof(int32_t)},
        {&b->order, m, sizeof(int32_t)},      {&b->late, m, sizeof(int32_t)},
    };
    for (size_t i = 0; i < sizeof item / sizeof item[0]; ++i) {
        const perp_status status =
            perpi_grow(context, item[i].array, &b->capacity[i], item[i].need, item[i].size);
        if (status != PERP_OK) {
            return status;
        }
    }
    b->n = n;
    b->ld = m;
    return PERP_OK;
}

void perpi_lemke_basis_free(perp_context* context, perpi_lemke_basis* b)
{
    perpi_free(context, b->inverse);
    perpi_free(context, b->x);
    perpi_free(context, b->work);
    perpi_free(context, b->vector);
    perpi_free(context, b->var);
    perpi_free(context, b->where);
    perpi_free(context, b->slot);
    perpi_free(context, b->row);
    perpi_free(context, b->order);
    perpi_free(context, b->late);
    *b = (perpi_lemke_basis){0};
}

void perpi_lemke_basis_cold(perpi_lemke_basis* b)
{
    b->k = 0;
    for (int32_t i = 0; i < b->n; ++i) {
        b->var[i] = i;
        b->where[i] = i;
        b->where[b->n + i] = -1;
        b->slot[i] = -1;
        b->x[i] = b->q[i];
    }
    b->where[2 * b->n] = -1;
}

bool perpi_lemke_basis_warm(perpi_lemke_basis* b, const int32_t* a, int32_t k)
{
    perpi_lemke_basis_cold(b);
    for (int32_t s = 0; s < k; ++s) {
        const int32_t i = a[s];
        b->var[i] = b->n + i;
        b->where[i] = -1;
        b->where[b->n + i] = i;
    }
    return perpi_lemke_basis_refactor(b);
}

/* The non-unit column of variable j at row i; j is a z or z0. */
static inline double coefficient(const perpi_lemke_basis* b, int32_t i, int32_t j)
{
    const int32_t n = b->n;
    return j == 2 * n ? -b->h[i] : -b->M[(size_t)(j - n) * (size_t)n + (size_t)i];
}

void perpi_lemke_basis_column(perpi_lemke_basis* b, int32_t j, double* d)
{
    const int32_t n = b->n, k = b->k;
    if (j < n) { /* a unit column: read the inverse */
        const int32_t s = b->slot[j];
        PERP_ASSERT(s >= 0);
        for (int32_t p = 0; p < n; ++p) {
            d[p] = b->inverse[(size_t)p * b->ld + (size_t)s];
        }
        return;
    }
    double* g = b->vector;
    const double* column = j == 2 * n ? b->h : b->M + (size_t)(j - n) * (size_t)n;
    bool any = false;
    for (int32_t s = 0; s < k; ++s) {
        g[s] = -column[b->row[s]];
        any = any || g[s] != 0.0;
    }
    for (int32_t p = 0; p < n; ++p) {
        double t = any ? dot4(k, b->inverse + (size_t)p * b->ld, g) : 0.0;
        if (b->var[p] < n) {
            t -= column[b->var[p]];
        }
        d[p] = t;
    }
}

double perpi_lemke_basis_entry(const perpi_lemke_basis* b, int32_t p, int32_t i)
{
    const int32_t s = b->slot[i];
    return s >= 0 ? b->inverse[(size_t)p * b->ld + (size_t)s] : (b->var[p] == i ? 1.0 : 0.0);
}

int32_t perpi_lemke_basis_pivot(perpi_lemke_basis* b, int32_t p, int32_t j, const double* d)
{
    const int32_t n = b->n;
    const int32_t leaving = b->var[p];

    /* Values. */
    double t = b->x[p] / d[p];
    t = t < 0.0 ? 0.0 : t;
    for (int32_t i = 0; i < n; ++i) {
        b->x[i] -= t * d[i];
    }
    b->x[p] = t;

    /* Stored columns: row p divided by the pivot, then subtracted from the others. */
    const double inverse = 1.0 / d[p];
    double* row_p = b->inverse + (size_t)p * b->ld;
    for (int32_t s = 0; s < b->k; ++s) {
        row_p[s] *= inverse;
    }
    for (int32_t i = 0; i < n; ++i) {
        if (i != p && d[i] != 0.0) {
            add_scaled(b->k, -d[i], row_p, b->inverse + (size_t)i * b->ld);
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
        for (int32_t i = 0; i < n; ++i) {
            b->inverse[(size_t)i * b->ld + (size_t)s] = -d[i] * inverse;
        }
        row_p[s] = inverse;
        b->row[s] = leaving;
        b->slot[leaving] = s;
    } else if (s >= 0) {
        const int32_t last = --b->k;
        if (s != last) {
            for (int32_t i = 0; i < n; ++i) {
                double* row_i = b->inverse + (size_t)i * b->ld;
                row_i[s] = row_i[last];
            }
            b->row[s] = b->row[last];
            b->slot[b->row[s]] = s;
        }
    }
    b->var[p] = j;
    b->where[j] = p;
    b->where[leaving] = -1;
    return leaving;
}

bool perpi_lemke_basis_refactor(perpi_lemke_basis* b)
{
    const int32_t n = b->n;
    int32_t* late = b->late; /* positions that hold a z or z0 */
    int32_t k = 0, rows = 0;
    for (int32_t i = 0; i < n; ++i) {
        b->slot[i] = -1;
        if (b->where[i] < 0) {
            b->slot[i] = rows;
            b->row[rows++] = i;
        }
        if (b->var[i] >= n) {
            late[k++] = i;
        }
    }
    PERP_ASSERT(k == rows);
    b->k = k;

    /* The kernel: rows whose w is not basic, columns that are not unit columns. */
    double* K = b->work;
    for (int32_t r = 0; r < k; ++r) {
        for (int32_t c = 0; c < k; ++c) {
            K[(size_t)r * k + c] = coefficient(b, b->row[r], b->var[late[c]]);
        }
    }
    if (!perpi_invert(k, 1e-14, K, b->order)) {
        return false;
    }
    for (int32_t c = 0; c < k; ++c) {
        memcpy(b->inverse + (size_t)late[c] * b->ld, K + (size_t)c * k, (size_t)k * sizeof *K);
    }
    /* A row with basic w_i: x_p = q_i - B_i,late (K^-1 q_r). */
    for (int32_t p = 0; p < n; ++p) {
        if (b->var[p] >= n) {
            continue;
        }
        double* row_p = b->inverse + (size_t)p * b->ld;
        memset(row_p, 0, (size_t)k * sizeof *row_p);
        for (int32_t c = 0; c < k; ++c) {
            const double t = coefficient(b, b->var[p], b->var[late[c]]);
            if (t != 0.0) {
                add_scaled(k, -t, K + (size_t)c * k, row_p);
            }
        }
    }
    double* g = b->vector;
    for (int32_t s = 0; s < k; ++s) {
        g[s] = b->q[b->row[s]];
    }
    for (int32_t p = 0; p < n; ++p) {
        const double t = dot4(k, b->inverse + (size_t)p * b->ld, g);
        b->x[p] = b->var[p] < n ? t + b->q[b->var[p]] : t;
    }
    (void)perpi_lemke_basis_residual(b, true);
    return true;
}

double perpi_lemke_basis_residual(perpi_lemke_basis* b, bool correct)
{
    const int32_t n = b->n;
    double* r = b->vector;
    double* g = b->vector + n;
    memcpy(r, b->q, (size_t)n * sizeof *r);
    double scale = 1.0; /* q is scaled to a largest entry of 1 */
    for (int32_t p = 0; p < n; ++p) {
        const int32_t j = b->var[p];
        const double x = b->x[p];
        scale = fabs(x) > scale ? fabs(x) : scale;
        if (j < n) {
            r[j] -= x;
        } else if (x != 0.0) {
            const double* column = j == 2 * n ? b->h : b->M + (size_t)(j - n) * (size_t)n;
            add_scaled(n, x, column, r);
        }
    }
    double worst = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        const double e = fabs(r[i]);
        if (!(e <= worst)) {
            worst = e;
        }
    }
    if (correct) {
        for (int32_t s = 0; s < b->k; ++s) {
            g[s] = r[b->row[s]];
        }
        for (int32_t p = 0; p < n; ++p) {
            const double t = dot4(b->k, b->inverse + (size_t)p * b->ld, g);
            b->x[p] += b->var[p] < n ? t + r[b->var[p]] : t;
        }
    }
    return worst / scale;
}
