/* src/problem/reformulate/affine.c - see affine.h. */
#include "problem/reformulate/affine.h"

#include <math.h>
#include <string.h>

void perpi_lcp_columns_free(perp_context* context, perpi_lcp_columns* columns)
{
    perpi_free(context, columns->start);
    perpi_free(context, columns->row);
    perpi_free(context, columns->value);
    perpi_free(context, columns->bound);
}

static perp_status reserve_columns(perp_context* context, perpi_lcp_columns* c, size_t n,
                                   size_t entries)
{
    if (entries > INT32_MAX) {
        return perpi_fail(context, PERP_ERROR_MEMORY, "LCP: too many matrix entries");
    }
    perp_status status =
        perpi_grow(context, &c->start, &c->start_capacity, n + 1, sizeof *c->start);
    if (status == PERP_OK) {
        status = perpi_grow(context, &c->row, &c->row_capacity, entries, sizeof *c->row);
    }
    if (status == PERP_OK) {
        status = perpi_grow(context, &c->value, &c->value_capacity, entries, sizeof *c->value);
    }
    if (status == PERP_OK) {
        status = perpi_grow(context, &c->bound, &c->bound_capacity, 2 * n, sizeof *c->bound);
    }
    return status;
}

perp_status perpi_lcp_to_mlcp(perp_context* context, perpi_lcp_columns* c, const perp_lcp* lcp,
                              size_t room, perp_mlcp* mlcp)
{
    const size_t n = (size_t)lcp->n;
    size_t entries = 0;
    for (size_t e = 0; e < n * n; ++e) {
        entries += lcp->M[e] != 0.0;
    }
    const perp_status status = reserve_columns(context, c, n, entries > room ? entries : room);
    if (status != PERP_OK) {
        return status;
    }
    int32_t used = 0;
    for (size_t j = 0; j < n; ++j) {
        c->start[j] = used;
        c->bound[j] = 0.0;
        c->bound[n + j] = INFINITY;
        for (size_t i = 0; i < n; ++i) {
            if (lcp->M[i * n + j] != 0.0) {
                c->row[used] = (int32_t)i;
                c->value[used++] = lcp->M[i * n + j];
            }
        }
    }
    c->start[n] = used;
    *mlcp = (perp_mlcp){.M = {lcp->n, lcp->n, c->start, c->row, c->value},
                        .q = lcp->q,
                        .lower = c->bound,
                        .upper = c->bound + n};
    return PERP_OK;
}

static perp_status affine_function(void* user, const double* z, double* F)
{
    const perp_mlcp* P = user;
    const int32_t n = P->M.cols;
    memcpy(F, P->q, (size_t)n * sizeof *F);
    for (int32_t j = 0; j < n; ++j) {
        for (int32_t e = P->M.start[j]; e < P->M.start[j + 1]; ++e) {
            F[P->M.row[e]] += P->M.value[e] * z[j];
        }
    }
    return PERP_OK;
}

static perp_status affine_jacobian(void* user, const double* z, double* value)
{
    (void)z;
    const perp_mlcp* P = user;
    const size_t count = (size_t)P->M.start[P->M.cols];
    if (count > 0) { /* a zero matrix has no array */
        memcpy(value, P->M.value, count * sizeof *value);
    }
    return PERP_OK;
}

void perpi_mlcp_to_ncp(const perp_mlcp* mlcp, perp_ncp* ncp)
{
    void* user;
    memcpy(&user, &mlcp, sizeof user); /* the callbacks only read it */
    *ncp = (perp_ncp){.n = mlcp->M.cols,
                      .lower = mlcp->lower,
                      .upper = mlcp->upper,
                      .user = user,
                      .function = affine_function,
                      .pattern = mlcp->M,
                      .jacobian = affine_jacobian};
}
