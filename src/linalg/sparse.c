/* src/linalg/sparse.c - see sparse.h. */
#include "linalg/sparse.h"

#include <klu.h>
#include <math.h>

#include "base/context.h"

#define SINGULAR 1e-15 /* on min |U_ii| / max |U_ii| after row scaling */

struct perpi_sparse_lu {
    perp_context* context;
    int32_t n;
    klu_symbolic* symbolic;
    klu_numeric* numeric;
    klu_common common;
};

perp_status perpi_sparse_lu_create(perp_context* context, perpi_sparse_lu** lu)
{
    perpi_sparse_lu* made = NULL;
    const perp_status status = perpi_alloc(context, 1, sizeof *made, &made);
    if (status != PERP_OK) {
        return status;
    }
    made->context = context;
    klu_defaults(&made->common);
    made->common.scale = 2; /* rows by their largest entry */
    made->common.halt_if_singular = 1;
    *lu = made;
    return PERP_OK;
}

void perpi_sparse_lu_destroy(perpi_sparse_lu* lu)
{
    if (lu == NULL) {
        return;
    }
    klu_free_numeric(&lu->numeric, &lu->common);
    klu_free_symbolic(&lu->symbolic, &lu->common);
    perpi_free(lu->context, lu);
}

perp_status perpi_sparse_lu_factor(perpi_sparse_lu* lu, const perp_sparse* A, bool same_pattern,
                                   bool* singular)
{
    /* KLU's interface is not const, but it reads these only. */
    int* start = (int*)(uintptr_t)A->start;
    int* row = (int*)(uintptr_t)A->row;
    double* value = (double*)(uintptr_t)A->value;
    klu_common* common = &lu->common;
    *singular = true;
    klu_free_numeric(&lu->numeric, common);
    if (!same_pattern || lu->symbolic == NULL || lu->n != A->cols) {
        klu_free_symbolic(&lu->symbolic, common);
        lu->symbolic = klu_analyze(A->cols, start, row, common);
        lu->n = A->cols;
    }
    if (lu->symbolic != NULL) {
        lu->numeric = klu_factor(start, row, value, lu->symbolic, common);
    }
    if (common->status == KLU_OUT_OF_MEMORY || common->status == KLU_TOO_LARGE) {
        return perpi_fail(lu->context, PERP_ERROR_MEMORY,
                          "sparse factorisation of %d unknowns: out of memory", (int)A->cols);
    }
    if (lu->symbolic == NULL || lu->numeric == NULL) {
        return PERP_OK;
    }
    klu_rcond(lu->symbolic, lu->numeric, common);
    *singular = !(common->rcond >= SINGULAR);
    return PERP_OK;
}

double perpi_sparse_lu_rcond(const perpi_sparse_lu* lu)
{
    return lu->common.rcond;
}

void perpi_sparse_lu_solve(perpi_sparse_lu* lu, int32_t count, double* x)
{
    klu_solve(lu->symbolic, lu->numeric, lu->n, count, x, &lu->common);
}

void perpi_sparse_lu_solve_transposed(perpi_sparse_lu* lu, int32_t count, double* x)
{
    klu_tsolve(lu->symbolic, lu->numeric, lu->n, count, x, &lu->common);
}

void perpi_sparse_add_product(const perp_sparse* A, double factor, const double* x, double* y)
{
    for (int32_t j = 0; j < A->cols; ++j) {
        const double t = factor * x[j];
        for (int32_t e = A->start[j]; e < A->start[j + 1]; ++e) {
            y[A->row[e]] += A->value[e] * t;
        }
    }
}

void perpi_sparse_add_transposed_product(const perp_sparse* A, double factor, const double* x,
                                         double* y)
{
    for (int32_t j = 0; j < A->cols; ++j) {
        double sum = 0.0;
        for (int32_t e = A->start[j]; e < A->start[j + 1]; ++e) {
            sum += A->value[e] * x[A->row[e]];
        }
        y[j] += factor * sum;
    }
}
