/* src/solve/splitting/splitting_rows.c - the sweep of splitting methods over the rows of an LCP or MLCP.
 *
 * Free unknowns are swept like the others, without a bound. Every row needs M_ii > 0.
 */
#include <math.h>
#include <string.h>

#include "linalg/dense.h"
#include "solve/splitting/splitting.h"

typedef perpi_splitting_rows rows;

/* (M z + q)_i */
static double row_value(const rows* s, int32_t i, const double* z)
{
    if (s->lcp != NULL) {
        return s->lcp->q[i] + perpi_dot(s->n, s->lcp->M + (size_t)i * (size_t)s->n, z);
    }
    double w = s->mlcp->q[i];
    for (int32_t e = s->start[i]; e < s->start[i + 1]; ++e) {
        w += s->value[e] * z[s->column[e]];
    }
    return w;
}

static double clip(const rows* s, int32_t i, double z)
{
    const double lower = s->lcp != NULL ? 0.0 : s->mlcp->lower[i];
    const double upper = s->lcp != NULL ? INFINITY : s->mlcp->upper[i];
    const double raised = z < lower ? lower : z; /* keeps a NaN visible; fmax would swallow it */
    return raised > upper ? upper : raised;
}

static void rows_sweep(void* self, double* change, double* largest)
{
    rows* s = self;
    const int32_t n = s->n;
    const double *divisor = s->vector, *root = s->vector + n;
    double* next = s->set.simultaneous ? s->vector + 2 * (size_t)n : s->z;
    for (int32_t i = 0; i < n; ++i) {
        const double t = clip(s, i, s->z[i] - s->set.relax * row_value(s, i, s->z) / divisor[i]);
        const double moved = fabs(t - s->z[i]) * root[i], size = fabs(t) * root[i];
        *change = !(moved <= *change) ? moved : *change;
        *largest = size > *largest ? size : *largest;
        next[i] = t;
    }
    if (s->set.simultaneous) {
        memcpy(s->z, next, (size_t)n * sizeof *next);
    }
}

static double rows_check_residual(void* self)
{
    const rows* s = self;
    return s->lcp != NULL ? perp_lcp_check_residual(s->lcp, s->z)
                          : perp_mlcp_check_residual(s->mlcp, s->z, s->vector + 3 * (size_t)s->n);
}

/* M by rows, and its diagonal into the divisors. */
static perp_status by_rows(rows* s)
{
    const perp_sparse* M = &s->mlcp->M;
    const int32_t n = s->n;
    const size_t entries = (size_t)M->start[n];
    perp_status status =
        perpi_grow(s->context, &s->start, &s->start_capacity, (size_t)n + 2, sizeof *s->start);
    if (status == PERP_OK) {
        status =
            perpi_grow(s->context, &s->column, &s->column_capacity, entries, sizeof *s->column);
    }
    if (status == PERP_OK) {
        status = perpi_grow(s->context, &s->value, &s->value_capacity, entries, sizeof *s->value);
    }
    if (status != PERP_OK) {
        return status;
    }
    memset(s->start, 0, ((size_t)n + 2) * sizeof *s->start);
    for (size_t e = 0; e < entries; ++e) {
        ++s->start[M->row[e] + 2];
    }
    for (int32_t i = 0; i < n; ++i) {
        s->start[i + 2] += s->start[i + 1];
        s->vector[i] = 0.0;
    }
    for (int32_t j = 0; j < n; ++j) {
        for (int32_t e = M->start[j]; e < M->start[j + 1]; ++e) {
            const int32_t i = M->row[e], at = s->start[i + 1]++;
            s->column[at] = j;
            s->value[at] = M->value[e];
            s->vector[i] = i == j ? M->value[e] : s->vector[i];
        }
    }
    return PERP_OK;
}

/* Replaces the diagonal in s->vector by the divisors, and stores its square roots. */
static void make_divisors(rows* s)
{
    const int32_t n = s->n;
    double *divisor = s->vector, *root = s->vector + n;
    for (int32_t i = 0; i < n; ++i) {
        root[i] = sqrt(divisor[i]);
    }
    for (int32_t i = 0; i < n && s->set.simultaneous && s->set.safe; ++i) {
        double sum = 0.0;
        if (s->lcp != NULL) {
            for (int32_t j = 0; j < n; ++j) {
                sum += fabs(s->lcp->M[(size_t)i * (size_t)n + (size_t)j]) / root[j];
            }
        } else {
            for (int32_t e = s->start[i]; e < s->start[i + 1]; ++e) {
                sum += fabs(s->value[e]) / root[s->column[e]];
            }
        }
        divisor[i] = sum * root[i];
    }
}

static perp_status rows_solve(rows* s, const perp_solve_options* options, bool warm, double* z,
                              perp_report* report)
{
    for (int32_t i = 0; i < s->n; ++i) {
        if (!(s->vector[i] > 0.0)) {
            return perpi_fail(s->context, PERP_ERROR_INPUT,
                              "splitting methods divide by the diagonal: M[%d][%d] is %.15g, not "
                              "positive",
                              (int)i, (int)i, s->vector[i]);
        }
    }
    make_divisors(s);
    s->z = z;
    for (int32_t i = 0; i < s->n; ++i) {
        z[i] = clip(s, i, warm ? z[i] : 0.0);
    }
    const perpi_sweeper sweeper = {s, rows_sweep, rows_check_residual};
    perpi_splitting_run(&sweeper, &s->set, options, report);
    return PERP_OK;
}

static perp_status rows_reserve(rows* s, int32_t n)
{
    s->n = n;
    return perpi_grow(s->context, &s->vector, &s->vector_capacity, 5 * (size_t)n,
                      sizeof *s->vector);
}

perp_status perpi_splitting_lcp(void* self, const perp_lcp* problem,
                                const perp_solve_options* options, bool warm, double* z,
                                perp_report* report)
{
    rows* s = &((perpi_splitting*)self)->rows;
    s->lcp = problem;
    s->mlcp = NULL;
    const perp_status status = rows_reserve(s, problem->n);
    if (status != PERP_OK) {
        return status;
    }
    for (size_t i = 0; i < (size_t)problem->n; ++i) {
        s->vector[i] = problem->M[i * (size_t)problem->n + i];
    }
    return rows_solve(s, options, warm, z, report);
}

perp_status perpi_splitting_mlcp(void* self, const perp_mlcp* problem,
                                 const perp_solve_options* options, bool warm, double* z,
                                 perp_report* report)
{
    rows* s = &((perpi_splitting*)self)->rows;
    s->lcp = NULL;
    s->mlcp = problem;
    perp_status status = rows_reserve(s, problem->M.cols);
    if (status == PERP_OK) {
        status = by_rows(s);
    }
    return status == PERP_OK ? rows_solve(s, options, warm, z, report) : status;
}
