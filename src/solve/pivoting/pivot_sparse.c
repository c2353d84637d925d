/* src/solve/pivoting/pivot_sparse.c - the sparse inverse of pivot_basis.h.
 *
 * B = B_0 E_1 ... E_k: B_0 is factorised by KLU (whose block triangular form takes the unit columns
 * out at no cost), E_i is the identity but for one column, the d of the i-th pivot since (product
 * form). Only the entries of d that are not zero are kept.
 */
#include <math.h>
#include <string.h>

#include "linalg/sparse.h"
#include "solve/pivoting/pivot_basis.h"

enum { ETAS = 64 }; /* most elementary matrices before the basis is factorised anew */

struct perpi_pivot_sparse {
    perp_context* context;
    perpi_sparse_lu* lu;
    int32_t* B_start; /* n + 1 */
    int32_t* B_row;
    double* B_value;
    int32_t etas;
    int32_t at[ETAS];       /* position of the pivot */
    double pivot[ETAS];     /* its value */
    size_t start[ETAS + 1]; /* into eta_row and eta_value */
    int32_t* eta_row;       /* other positions with an entry */
    double* eta_value;
    double* work; /* n */
    size_t capacity[6];
};

perp_status perpi_pivot_sparse_reserve(perp_context* context, perpi_pivot_sparse** sparse,
                                       int32_t n, int32_t nnz)
{
    perpi_pivot_sparse* s = *sparse;
    perp_status status = PERP_OK;
    if (s == NULL) {
        status = perpi_alloc(context, 1, sizeof *s, &s);
        if (status != PERP_OK) {
            return status;
        }
        s->context = context;
        *sparse = s;
    }
    if (s->lu == NULL) {
        status = perpi_sparse_lu_create(context, &s->lu);
    }
    const size_t m = (size_t)n, entries = (size_t)nnz + 2 * m; /* M, h, unit columns */
    struct {
        void* array;
        size_t need, size;
    } item[] = {
        {&s->B_start, m + 1, sizeof(int32_t)},     {&s->B_row, entries, sizeof(int32_t)},
        {&s->B_value, entries, sizeof(double)},    {&s->eta_row, ETAS * m, sizeof(int32_t)},
        {&s->eta_value, ETAS * m, sizeof(double)}, {&s->work, m, sizeof(double)},
    };
    for (size_t i = 0; i < sizeof item / sizeof item[0] && status == PERP_OK; ++i) {
        status = perpi_grow(context, item[i].array, &s->capacity[i], item[i].need, item[i].size);
    }
    return status;
}

void perpi_pivot_sparse_free(perpi_pivot_sparse* s)
{
    if (s == NULL) {
        return;
    }
    perpi_sparse_lu_destroy(s->lu);
    perpi_free(s->context, s->B_start);
    perpi_free(s->context, s->B_row);
    perpi_free(s->context, s->B_value);
    perpi_free(s->context, s->eta_row);
    perpi_free(s->context, s->eta_value);
    perpi_free(s->context, s->work);
    perpi_free(s->context, s);
}

perp_status perpi_pivot_sparse_factor(perpi_pivot_basis* b, bool* good)
{
    perpi_pivot_sparse* s = b->sparse;
    const int32_t n = b->n;
    int32_t at = 0;
    for (int32_t p = 0; p < n; ++p) {
        const int32_t j = b->var[p];
        s->B_start[p] = at;
        if (j < n) {
            s->B_row[at] = j;
            s->B_value[at++] = 1.0;
        } else if (j < 2 * n) {
            for (int32_t e = b->M.start[j - n]; e < b->M.start[j - n + 1]; ++e) {
                if (b->M.value[e] != 0.0) {
                    s->B_row[at] = b->M.row[e];
                    s->B_value[at++] = -b->M.value[e];
                }
            }
        } else {
            for (int32_t i = 0; i < n; ++i) {
                if (b->h[i] != 0.0) {
                    s->B_row[at] = i;
                    s->B_value[at++] = -b->h[i];
                }
            }
        }
    }
    s->B_start[n] = at;
    s->etas = 0;
    s->start[0] = 0;
    const perp_sparse B = {n, n, s->B_start, s->B_row, s->B_value};
    bool singular = true;
    const perp_status status = perpi_sparse_lu_factor(s->lu, &B, false, &singular);
    *good = !singular;
    return status;
}

void perpi_pivot_sparse_solve(perpi_pivot_basis* b, const double* r, double* x)
{
    perpi_pivot_sparse* s = b->sparse;
    memcpy(x, r, (size_t)b->n * sizeof *x);
    perpi_sparse_lu_solve(s->lu, 1, x);
    for (int32_t i = 0; i < s->etas; ++i) {
        double* x_p = &x[s->at[i]];
        if (*x_p == 0.0) {
            continue;
        }
        const double t = *x_p / s->pivot[i];
        *x_p = t;
        for (size_t e = s->start[i]; e < s->start[i + 1]; ++e) {
            x[s->eta_row[e]] -= t * s->eta_value[e];
        }
    }
}

void perpi_pivot_sparse_column(perpi_pivot_basis* b, int32_t j, double* d)
{
    double* r = b->sparse->work;
    memset(r, 0, (size_t)b->n * sizeof *r);
    perpi_pivot_basis_add_column(b, j, 1.0, r);
    perpi_pivot_sparse_solve(b, r, d);
}

void perpi_pivot_sparse_update(perpi_pivot_basis* b, int32_t p, const double* d)
{
    perpi_pivot_sparse* s = b->sparse;
    PERP_ASSERT(s->etas < ETAS);
    size_t at = s->start[s->etas];
    for (int32_t i = 0; i < b->n; ++i) {
        if (i != p && d[i] != 0.0) {
            s->eta_row[at] = i;
            s->eta_value[at++] = d[i];
        }
    }
    s->at[s->etas] = p;
    s->pivot[s->etas] = d[p];
    s->start[++s->etas] = at;
}

bool perpi_pivot_sparse_full(const perpi_pivot_basis* b)
{
    return b->sparse->etas >= ETAS;
}
