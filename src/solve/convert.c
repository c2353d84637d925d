/* src/solve/convert.c - problems carried between LCP, MLCP and NCP to where a method takes them; see
 * dispatch.h.
 *
 *     LCP -> MLCP   bounds 0 .. inf, M by columns without its zeros
 *     MLCP -> LCP   perp_lower_mlcp_to_lcp: free unknowns eliminated, bounds split
 *     MLCP -> NCP   F(z) = M z + q, constant Jacobian
 */
#include <math.h>
#include <string.h>

#include "solve/solve.h"

#define SYMMETRY_TOLERANCE 1e-12 /* on |M_ij - M_ji| / max(|M_ij|, |M_ji|) */

void perpi_carrier_free(perp_context* context, perpi_carrier* carrier)
{
    perp_lowering_destroy(carrier->lowering);
    perpi_free(context, carrier->start);
    perpi_free(context, carrier->row);
    perpi_free(context, carrier->value);
    perpi_free(context, carrier->bound);
    perpi_free(context, carrier->z);
}

/* ---- what a method needs of M ------------------------------------------------------------------------*/

static perp_status check_diagonal(perp_context* context, const char* name, int32_t i, double M_ii)
{
    if (!(M_ii > 0.0)) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "solver '%s' needs a positive diagonal, M[%d][%d] is %.15g", name, (int)i,
                          (int)i, M_ii);
    }
    return PERP_OK;
}

static perp_status check_pair(perp_context* context, const char* name, int32_t i, int32_t j,
                              double M_ij, double M_ji)
{
    const double largest = fabs(M_ij) > fabs(M_ji) ? fabs(M_ij) : fabs(M_ji);
    if (!(fabs(M_ij - M_ji) <= SYMMETRY_TOLERANCE * largest)) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "solver '%s' needs a symmetric M, M[%d][%d] is %.15g and M[%d][%d] is "
                          "%.15g",
                          name, (int)i, (int)j, M_ij, (int)j, (int)i, M_ji);
    }
    return PERP_OK;
}

static perp_status check_lcp_needs(perp_context* context, const char* name, uint32_t needs,
                                   const perp_lcp* lcp)
{
    const size_t n = (size_t)lcp->n;
    perp_status status = PERP_OK;
    for (size_t i = 0; i < n && (needs & PERP_NEEDS_POSITIVE_DIAGONAL) != 0; ++i) {
        status = check_diagonal(context, name, (int32_t)i, lcp->M[i * n + i]);
        if (status != PERP_OK) {
            return status;
        }
    }
    for (size_t i = 0; i < n && (needs & PERP_NEEDS_SYMMETRIC) != 0; ++i) {
        for (size_t j = 0; j < i && status == PERP_OK; ++j) {
            status = check_pair(context, name, (int32_t)i, (int32_t)j, lcp->M[i * n + j],
                                lcp->M[j * n + i]);
        }
    }
    return status;
}

/* M_ij of compressed columns; rows ascend. */
static double entry(const perp_sparse* M, int32_t i, int32_t j)
{
    int32_t low = M->start[j], high = M->start[j + 1];
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (M->row[middle] < i) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < M->start[j + 1] && M->row[low] == i ? M->value[low] : 0.0;
}

static perp_status check_mlcp_needs(perp_context* context, const char* name, uint32_t needs,
                                    const perp_mlcp* mlcp)
{
    const perp_sparse* M = &mlcp->M;
    perp_status status = PERP_OK;
    for (int32_t j = 0; j < M->cols && status == PERP_OK; ++j) {
        if ((needs & PERP_NEEDS_POSITIVE_DIAGONAL) != 0) {
            status = check_diagonal(context, name, j, entry(M, j, j));
        }
        for (int32_t e = M->start[j]; e < M->start[j + 1] && status == PERP_OK; ++e) {
            if ((needs & PERP_NEEDS_SYMMETRIC) != 0 && M->row[e] != j) {
                status =
                    check_pair(context, name, M->row[e], j, M->value[e], entry(M, j, M->row[e]));
            }
        }
    }
    return status;
}

/* ---- from form to form -------------------------------------------------------------------------------*/

static perp_status lcp_as_mlcp(perp_context* context, perpi_carrier* c, const perp_lcp* lcp,
                               perp_mlcp* mlcp)
{
    const size_t n = (size_t)lcp->n;
    size_t entries = 0;
    for (size_t e = 0; e < n * n; ++e) {
        entries += lcp->M[e] != 0.0 ? 1 : 0;
    }
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
    for (int32_t i = 0; i < P->M.cols; ++i) {
        F[i] = P->q[i];
    }
    for (int32_t j = 0; j < P->M.cols; ++j) {
        for (int32_t e = P->M.start[j]; e < P->M.start[j + 1]; ++e) {
            F[P->M.row[e]] += P->M.value[e] * z[j];
        }
    }
    return PERP_OK;
}

static perp_status affine_jacobian(void* user, const double* z, double* value)
{
    const perp_mlcp* P = user;
    (void)z;
    for (int32_t e = 0; e < P->M.start[P->M.cols]; ++e) {
        value[e] = P->M.value[e];
    }
    return PERP_OK;
}

static perp_status run_as_lcp(perpi_method* m, perpi_carrier* c, const perp_mlcp* problem,
                              const perp_solve_options* options, bool warm, double* z,
                              perp_report* report)
{
    perp_lcp lcp;
    perp_status status =
        c->lowering == NULL ? perp_lowering_create(m->context, &c->lowering) : PERP_OK;
    if (status == PERP_OK) {
        status = perp_lower_mlcp_to_lcp(c->lowering, problem, &lcp);
    }
    if (status != PERP_OK) {
        return status;
    }
    const size_t n = (size_t)lcp.n;
    status = perpi_grow(m->context, &c->z, &c->z_capacity, n, sizeof *c->z);
    if (status != PERP_OK) {
        return status;
    }
    if (n > 0) {
        memset(c->z, 0, n * sizeof *c->z);
    }
    if (warm) {
        perp_lowering_lcp_guess(c->lowering, problem, z, c->z);
    }
    status = perpi_run_lcp(m, c, &lcp, options, warm, c->z, report);
    if (status == PERP_OK) {
        perp_lowering_lcp_lift(c->lowering, problem, c->z, z);
    }
    return status;
}

perp_status perpi_run_lcp(perpi_method* m, perpi_carrier* c, const perp_lcp* problem,
                          const perp_solve_options* options, bool warm, double* z,
                          perp_report* report)
{
    if (problem->n == 0) {
        report->outcome = PERP_OUTCOME_SOLVED;
        return PERP_OK;
    }
    perp_status status;
    if (m->form == PERPI_FORM_LCP) {
        status = check_lcp_needs(m->context, m->name, m->ops.lcp->needs, problem);
        return status == PERP_OK ? m->ops.lcp->solve(m->self, problem, options, warm, z, report)
                                 : status;
    }
    perp_mlcp mlcp;
    status = lcp_as_mlcp(m->context, c, problem, &mlcp);
    return status == PERP_OK ? perpi_run_mlcp(m, c, &mlcp, options, warm, z, report) : status;
}

perp_status perpi_run_mlcp(perpi_method* m, perpi_carrier* c, const perp_mlcp* problem,
                           const perp_solve_options* options, bool warm, double* z,
                           perp_report* report)
{
    if (problem->M.cols == 0) {
        report->outcome = PERP_OUTCOME_SOLVED;
        return PERP_OK;
    }
    if (m->form == PERPI_FORM_MLCP) {
        const perp_status status =
            check_mlcp_needs(m->context, m->name, m->ops.mlcp->needs, problem);
        return status == PERP_OK ? m->ops.mlcp->solve(m->self, problem, options, warm, z, report)
                                 : status;
    }
    if (m->form == PERPI_FORM_LCP) {
        return run_as_lcp(m, c, problem, options, warm, z, report);
    }
    perp_mlcp affine = *problem; /* its address is the callbacks' user */
    const perp_ncp ncp = {.n = problem->M.cols,
                          .lower = problem->lower,
                          .upper = problem->upper,
                          .user = &affine,
                          .function = affine_function,
                          .pattern = problem->M,
                          .jacobian = affine_jacobian};
    return m->ops.ncp->solve(m->self, &ncp, options, warm, z, report);
}
