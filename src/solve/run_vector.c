/* src/solve/run_vector.c - runs a method on a problem with one vector of unknowns, in the form that the
 * method takes. See solve.h.
 *
 *     LCP -> MLCP   bounds 0 .. inf (reformulate/affine.h)
 *     MLCP -> LCP   free unknowns eliminated, bounds split (reformulate/mlcp_to_lcp.c)
 *     MLCP -> NCP   F(z) = M z + q, constant Jacobian (reformulate/affine.h)
 */
#include <math.h>
#include <string.h>

#include "solve/solve.h"

#define SYMMETRY_TOLERANCE 1e-12 /* on |M_ij - M_ji| / max(|M_ij|, |M_ji|) */

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

perp_status perpi_check_lcp_needs(perp_context* context, const perp_method* method,
                                  const perp_lcp* lcp)
{
    const char* name = method->name;
    const uint32_t needs = method->needs;
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

perp_status perpi_check_mlcp_needs(perp_context* context, const perp_method* method,
                                   const perp_mlcp* mlcp)
{
    const char* name = method->name;
    const uint32_t needs = method->needs;
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

/* ---- the runs ----------------------------------------------------------------------------------------*/

static perp_status call_lcp(perp_context* context, perpi_slot* slot, const perp_lcp* problem,
                            const perp_solve_options* options, bool warm, double* z,
                            perp_report* report)
{
    if (problem->n == 0) {
        report->outcome = PERP_OUTCOME_SOLVED;
        return PERP_OK;
    }
    const perp_status status = perpi_check_lcp_needs(context, slot->method, problem);
    return status == PERP_OK ? slot->method->lcp(slot->self, problem, options, warm, z, report)
                             : status;
}

/* A method of the form MLCP or NCP. */
static perp_status call_mlcp(perp_context* context, perpi_slot* slot, const perp_mlcp* problem,
                             const perp_solve_options* options, bool warm, double* z,
                             perp_report* report)
{
    if (problem->M.cols == 0) {
        report->outcome = PERP_OUTCOME_SOLVED;
        return PERP_OK;
    }
    if (slot->form == PERPI_FORM_MLCP) {
        const perp_status status = perpi_check_mlcp_needs(context, slot->method, problem);
        return status == PERP_OK ? slot->method->mlcp(slot->self, problem, options, warm, z, report)
                                 : status;
    }
    perp_ncp ncp;
    perpi_mlcp_to_ncp(problem, &ncp);
    return slot->method->ncp(slot->self, &ncp, options, warm, z, report);
}

perp_status perpi_run_lcp(perpi_solver* s, perpi_slot* slot, const perpi_problem* problem,
                          const perp_solve_options* options, bool warm, double* x, perpi_made* made)
{
    const perp_lcp* lcp = problem->lcp;
    if (slot->form == PERPI_FORM_LCP || lcp->n == 0) {
        return call_lcp(s->context, slot, lcp, options, warm, x, &made->report);
    }
    perp_status status = PERP_OK;
    if ((s->ready & PERPI_READY_MLCP) == 0) {
        status = perpi_lcp_to_mlcp(s->context, &s->columns, lcp, 0, &s->mlcp);
    }
    if (status != PERP_OK) {
        return status;
    }
    s->ready |= PERPI_READY_MLCP;
    return call_mlcp(s->context, slot, &s->mlcp, options, warm, x, &made->report);
}

/* The MLCP as an LCP, made once. */
static perp_status make_lcp(perpi_solver* s, const perp_mlcp* problem)
{
    if ((s->ready & PERPI_READY_LCP) != 0) {
        return PERP_OK;
    }
    perp_status status =
        s->linear == NULL ? perp_reformulation_create(s->context, &s->linear) : PERP_OK;
    if (status == PERP_OK) {
        status = perp_mlcp_to_lcp(s->linear, problem, &s->lcp);
    }
    s->ready |= status == PERP_OK ? PERPI_READY_LCP : 0u;
    return status;
}

perp_status perpi_run_mlcp(perpi_solver* s, perpi_slot* slot, const perpi_problem* problem,
                           const perp_solve_options* options, bool warm, double* x,
                           perpi_made* made)
{
    const perp_mlcp* mlcp = problem->mlcp;
    if (slot->form != PERPI_FORM_LCP || mlcp->M.cols == 0) {
        return call_mlcp(s->context, slot, mlcp, options, warm, x, &made->report);
    }
    const perpi_arena_mark mark = perpi_arena_get_mark(&s->arena);
    double* z = NULL;
    perp_status status = make_lcp(s, mlcp);
    if (status == PERP_OK) {
        status = perpi_arena_take(&s->arena, (size_t)s->lcp.n, sizeof *z, &z);
    }
    if (status == PERP_OK) {
        memset(z, 0, (size_t)s->lcp.n * sizeof *z);
        if (warm) {
            perp_reformulation_lcp_guess(s->linear, mlcp, x, z);
        }
        status = call_lcp(s->context, slot, &s->lcp, options, warm, z, &made->report);
    }
    if (status == PERP_OK) {
        perp_reformulation_lcp_reconstruct(s->linear, mlcp, z, x);
    }
    perpi_arena_rewind(&s->arena, mark);
    return status;
}

perp_status perpi_run_ncp(perpi_solver* s, perpi_slot* slot, const perpi_problem* problem,
                          const perp_solve_options* options, bool warm, double* x, perpi_made* made)
{
    (void)s;
    if (problem->ncp->n == 0) {
        made->report.outcome = PERP_OUTCOME_SOLVED;
        return PERP_OK;
    }
    return slot->method->ncp(slot->self, problem->ncp, options, warm, x, &made->report);
}

perp_status perpi_run_friction(perpi_solver* s, perpi_slot* slot, const perpi_problem* problem,
                               const perp_solve_options* options, bool warm, double* x,
                               perpi_made* made)
{
    if (problem->friction->row_count == 0) {
        made->report.outcome = PERP_OUTCOME_SOLVED;
        return PERP_OK;
    }
    perpi_reduced* reduced = &s->reduced;
    perp_status status = PERP_OK;
    if ((s->ready & PERPI_READY_REDUCED) == 0) {
        status = perpi_reduced_units_scale(s->context, &reduced->units, problem->friction,
                                           &reduced->scaled);
    }
    if (status != PERP_OK) {
        return status;
    }
    s->ready |= PERPI_READY_REDUCED;
    perpi_reduced_units_enter(&reduced->units, x);
    status = slot->method->friction(slot->self, &reduced->scaled, options, warm, x, &made->report);
    perpi_reduced_units_leave(&reduced->units, x);
    return status;
}
