/* src/problem/residual_vector.c - the residual check of LCP, MLCP and NCP: see residual.c.
 *
 * LCP         max_i |min(w_i / S_i, z_i / Z)|, Z = max_j |z_j|, each scale 1 if it is 0,
 *             S_i = |q_i| + sum_j |M_ij| max(|z_j|, 1e-3 Z)
 *             The floor on |z_j| is for rows whose unknowns are all 0 up to rounding (friction of an
 *             open contact): without it the residual of such a row would be a ratio of rounding
 *             errors.
 * MLCP        free i: |w_i| / S_i. Others: |x - mid(lower_i / Z, x - w_i / S_i, upper_i / Z)| with
 *             x = z_i / Z. Z is taken over the unknowns that are not free; in S_i, the floor of a
 *             free unknown is 1e-3 times the largest free one
 * NCP         as the MLCP with S_i = |F_i| + sum_j |dF_i/dz_j| max(|z_j|, floor) at z: for an affine
 *             F within a factor of two the same
 */
#include <math.h>

#include "problem/operators.h"
#include "problem/residual.h"

#define UNKNOWN_FLOOR                                                                              \
    1e-3 /* an unknown much smaller than the largest is compared with that instead */

double perp_lcp_check_residual(const perp_lcp* problem, const double* z)
{
    const int32_t n = problem->n;
    double Z = 0.0, worst = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        if (!isfinite(z[i])) {
            return INFINITY;
        }
        Z = perpi_larger(Z, fabs(z[i]));
    }
    const double floor_z = UNKNOWN_FLOOR * Z;
    Z = Z == 0.0 ? 1.0 : Z;
    for (int32_t i = 0; i < n; ++i) {
        const double* M_i = problem->M + (size_t)i * (size_t)n;
        double w = problem->q[i], S = fabs(w);
        for (int32_t j = 0; j < n; ++j) {
            w += M_i[j] * z[j];
            S += fabs(M_i[j]) * perpi_larger(fabs(z[j]), floor_z);
        }
        if (!isfinite(S) || !isfinite(w)) {
            return INFINITY;
        }
        const double open = w / (S == 0.0 ? 1.0 : S), push = z[i] / Z;
        perpi_raise_to(&worst, fabs(open < push ? open : push));
    }
    return worst;
}

/* The largest unknowns: [0] of those with a bound, [1] of the free ones. */
typedef struct unknown_sizes {
    double of[2];
} unknown_sizes;

static int is_free(const double* lower, const double* upper, int32_t i)
{
    return isinf(lower[i]) && isinf(upper[i]) ? 1 : 0;
}

static unknown_sizes measure_unknowns(int32_t n, const double* lower, const double* upper,
                                      const double* z)
{
    unknown_sizes Z = {{0.0, 0.0}};
    for (int32_t i = 0; i < n; ++i) {
        double* size = &Z.of[is_free(lower, upper, i)];
        *size = perpi_larger(*size, fabs(z[i]));
    }
    return Z;
}

/* The natural map of a box, rows scaled by S, unknowns by Z. */
static double box_residual(int32_t n, const double* lower, const double* upper, const double* z,
                           const double* w, const double* S, unknown_sizes sizes)
{
    const double Z = sizes.of[0] == 0.0 ? 1.0 : sizes.of[0];
    double worst = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        if (!isfinite(w[i]) || !isfinite(S[i])) {
            return INFINITY;
        }
        const double open = w[i] / (S[i] == 0.0 ? 1.0 : S[i]);
        if (is_free(lower, upper, i)) {
            perpi_raise_to(&worst, fabs(open));
            continue;
        }
        const double x = z[i] / Z, l = lower[i] / Z, u = upper[i] / Z;
        const double t = x - open;
        perpi_raise_to(&worst, fabs(x - (t < l ? l : (t > u ? u : t))));
    }
    return isfinite(worst) ? worst : INFINITY;
}

double perp_mlcp_check_residual(const perp_mlcp* problem, const double* z, double* work)
{
    const perp_sparse* M = &problem->M;
    const int32_t n = M->cols;
    double *w = work, *S = work + n;
    if (!perpi_all_finite((size_t)n, z)) {
        return INFINITY;
    }
    const unknown_sizes Z = measure_unknowns(n, problem->lower, problem->upper, z);
    for (int32_t i = 0; i < n; ++i) {
        w[i] = problem->q[i];
        S[i] = fabs(w[i]);
    }
    for (int32_t j = 0; j < n; ++j) {
        const double least = UNKNOWN_FLOOR * Z.of[is_free(problem->lower, problem->upper, j)];
        const double size = perpi_larger(fabs(z[j]), least);
        for (int32_t e = M->start[j]; e < M->start[j + 1]; ++e) {
            w[M->row[e]] += M->value[e] * z[j];
            S[M->row[e]] += fabs(M->value[e]) * size;
        }
    }
    return box_residual(n, problem->lower, problem->upper, z, w, S, Z);
}

double perp_ncp_check_residual(const perp_ncp* problem, const double* z, double* work)
{
    const perp_sparse* pattern = &problem->pattern;
    const int32_t n = problem->n;
    double *w = work, *S = work + n, *value = work + 2 * (size_t)n;
    if (!perpi_all_finite((size_t)n, z) || problem->function(problem->user, z, w) != PERP_OK ||
        problem->jacobian(problem->user, z, value) != PERP_OK) {
        return INFINITY;
    }
    const unknown_sizes Z = measure_unknowns(n, problem->lower, problem->upper, z);
    for (int32_t i = 0; i < n; ++i) {
        S[i] = fabs(w[i]);
    }
    for (int32_t j = 0; j < n; ++j) {
        const double least = UNKNOWN_FLOOR * Z.of[is_free(problem->lower, problem->upper, j)];
        const double size = perpi_larger(fabs(z[j]), least);
        for (int32_t e = pattern->start[j]; e < pattern->start[j + 1]; ++e) {
            S[pattern->row[e]] += fabs(value[e]) * size;
        }
    }
    return box_residual(n, problem->lower, problem->upper, z, w, S, Z);
}
