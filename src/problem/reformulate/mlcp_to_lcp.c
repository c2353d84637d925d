/* src/problem/reformulate/mlcp_to_lcp.c - MLCP -> LCP.
 *
 * Source     Schur complement [T03 (39)-(47)], [W14 (2.37)]
 * Notation   F: free unknowns (both bounds infinite), B: the others. Each z_i, i in B, becomes
 *            x_i >= 0 with z_i = base_i + sign_i x_i:
 *     lower finite                 base = lower, sign = +1
 *     only upper finite            base = upper, sign = -1
 *     both finite                  as lower, and a slack t: 0 <= t perp (upper - lower) - x >= 0,
 *                                  w_i + t takes w_i's place
 *     z_F = X (x, 1),  X = -M_FF^+ [M_FB sign, q_F + M_FB base]
 * Departure  M_FF may be singular through redundant equality rows. Then M_FF x = r must have a
 *            solution for every column that occurs (else the rows contradict each other, or the
 *            unknowns cannot be eliminated at all), its null vectors must be orthogonal to the rows
 *            of B, and of all solutions the one of least norm, in equilibrated units, is taken.
 * Unknowns   B in ascending order, then the slacks in ascending order.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/context.h"
#include "problem/reformulate/reformulate.h"

#define RANK_TOLERANCE 1e-12 /* pivot against the largest, equilibrated */
#define INCONSISTENT 1e-6    /* left-over of a redundant row against its terms */
#define AT_BOUND 1e-12       /* relative distance from the upper bound that counts as at it */

void perpi_to_lcp_free(perp_context* context, perpi_to_lcp* t)
{
    perpi_ints* ints[] = {&t->place, &t->slack, &t->lu_row, &t->lu_col};
    perpi_doubles* doubles[] = {&t->sign, &t->base, &t->A, &t->X,      &t->LU,   &t->dr, &t->dc,
                                &t->K,    &t->G,    &t->M, &t->column, &t->work, &t->q};
    for (size_t i = 0; i < sizeof ints / sizeof ints[0]; ++i) {
        perpi_free(context, ints[i]->at);
    }
    for (size_t i = 0; i < sizeof doubles / sizeof doubles[0]; ++i) {
        perpi_free(context, doubles[i]->at);
    }
}

/* Sorts the unknowns into F and B. */
static perp_status classify(perp_context* context, const perp_mlcp* mlcp, perpi_to_lcp* t)
{
    const int32_t n = mlcp->M.cols;
    perp_status status = perpi_need_ints(context, &t->place, (size_t)n);
    if (status == PERP_OK) {
        status = perpi_need_ints(context, &t->slack, (size_t)n);
    }
    if (status == PERP_OK) {
        status = perpi_need_doubles(context, &t->sign, (size_t)n);
    }
    if (status == PERP_OK) {
        status = perpi_need_doubles(context, &t->base, (size_t)n);
    }
    if (status != PERP_OK) {
        return status;
    }
    t->n = n;
    t->n_free = t->n_box = 0;
    for (int32_t i = 0; i < n; ++i) {
        const bool low = mlcp->lower[i] > -INFINITY, high = mlcp->upper[i] < INFINITY;
        t->place.at[i] = low || high ? t->n_box++ : -1 - t->n_free++;
        t->sign.at[i] = low ? 1.0 : -1.0;
        t->base.at[i] = low ? mlcp->lower[i] : (high ? mlcp->upper[i] : 0.0);
    }
    t->n_lcp = t->n_box;
    for (int32_t i = 0; i < n; ++i) {
        const bool both = mlcp->lower[i] > -INFINITY && mlcp->upper[i] < INFINITY;
        t->slack.at[i] = both ? t->n_lcp++ : -1;
    }
    return PERP_OK;
}

static perp_status mlcp_make_room(perp_context* context, perpi_to_lcp* t)
{
    const size_t nf = (size_t)t->n_free, nb = (size_t)t->n_box, nl = (size_t)t->n_lcp;
    const struct {
        perpi_doubles* array;
        size_t need;
    } rooms[] = {{&t->A, nf * nf},
                 {&t->X, nf * (nb + 1)},
                 {&t->LU, nf * nf},
                 {&t->dr, nf},
                 {&t->dc, nf},
                 {&t->column, nf},
                 {&t->work, 2 * nf + (size_t)t->n},
                 {&t->M, nl * nl},
                 {&t->q, nl}};
    for (size_t i = 0; i < sizeof rooms / sizeof rooms[0]; ++i) {
        const perp_status status = perpi_need_doubles(context, rooms[i].array, rooms[i].need);
        if (status != PERP_OK) {
            return status;
        }
    }
    perp_status status = perpi_need_ints(context, &t->lu_row, nf);
    if (status == PERP_OK) {
        status = perpi_need_ints(context, &t->lu_col, nf);
    }
    return status;
}

/* Copies the parts of M that do not need the elimination: A = M_FF, X = the right-hand sides, and
 * the B rows and columns of the LCP. */
static void scatter(const perp_mlcp* mlcp, perpi_to_lcp* t)
{
    const size_t nf = (size_t)t->n_free, nb = (size_t)t->n_box, nl = (size_t)t->n_lcp;
    for (size_t i = 0; i < nf * nf; ++i) {
        t->A.at[i] = 0.0;
    }
    for (size_t i = 0; i < nf * (nb + 1); ++i) {
        t->X.at[i] = 0.0;
    }
    for (size_t i = 0; i < nl * nl; ++i) {
        t->M.at[i] = 0.0;
    }
    for (int32_t i = 0; i < t->n; ++i) {
        const int32_t f = t->place.at[i];
        if (f < 0) {
            t->X.at[(size_t)(-1 - f) * (nb + 1) + nb] = -mlcp->q[i];
        } else {
            t->q.at[f] = t->sign.at[i] * mlcp->q[i];
        }
    }
    for (int32_t j = 0; j < t->n; ++j) {
        const int32_t pj = t->place.at[j];
        for (int32_t e = mlcp->M.start[j]; e < mlcp->M.start[j + 1]; ++e) {
            const int32_t i = mlcp->M.row[e], pi = t->place.at[i];
            const double m = mlcp->M.value[e];
            if (pi < 0 && pj < 0) {
                t->A.at[(size_t)(-1 - pi) * nf + (size_t)(-1 - pj)] = m;
            } else if (pi < 0) {
                double* X_i = t->X.at + (size_t)(-1 - pi) * (nb + 1);
                X_i[pj] = -m * t->sign.at[j];
                X_i[nb] -= m * t->base.at[j];
            } else if (pj >= 0) {
                t->M.at[(size_t)pi * nl + (size_t)pj] = t->sign.at[i] * m * t->sign.at[j];
                t->q.at[pi] += t->sign.at[i] * m * t->base.at[j];
            }
        }
    }
    for (int32_t i = 0; i < t->n; ++i) {
        const int32_t s = t->slack.at[i];
        if (s >= 0) {
            const size_t x = (size_t)t->place.at[i];
            t->M.at[x * nl + (size_t)s] = 1.0;
            t->M.at[(size_t)s * nl + x] = -1.0;
            t->q.at[s] = mlcp->upper[i] - mlcp->lower[i];
        }
    }
}

/* The unknown that sits at position f among the free ones, for a message. */
static int32_t free_unknown(const perpi_to_lcp* t, int32_t f)
{
    for (int32_t i = 0; i < t->n; ++i) {
        if (t->place.at[i] == -1 - f) {
            return i;
        }
    }
    return -1;
}

/* Checks that null vectors do not change the rows of B: otherwise w would depend on which solution
 * is chosen. Then scales them (k / dc) and factors their Gram matrix. */
static perp_status prepare_null_space(perp_context* context, const perp_mlcp* mlcp,
                                      const perpi_luc* lu, perpi_to_lcp* t)
{
    const size_t nf = (size_t)t->n_free, m = nf - (size_t)lu->rank;
    perp_status status = perpi_need_doubles(context, &t->K, m * nf);
    if (status == PERP_OK) {
        status = perpi_need_doubles(context, &t->G, m * m);
    }
    if (status != PERP_OK) {
        return status;
    }
    perpi_luc_null_space(lu, t->K.at);
    for (size_t c = 0; c < m; ++c) {
        double* k = t->K.at + c * nf;
        double* w = t->work.at + 2 * nf;
        double largest = 0.0;
        memset(w, 0, (size_t)t->n * sizeof *w);
        for (int32_t j = 0; j < t->n; ++j) {
            if (t->place.at[j] >= 0) {
                continue;
            }
            for (int32_t e = mlcp->M.start[j]; e < mlcp->M.start[j + 1]; ++e) {
                const double term = mlcp->M.value[e] * k[-1 - t->place.at[j]];
                w[mlcp->M.row[e]] += term;
                largest = fabs(term) > largest ? fabs(term) : largest;
            }
        }
        for (int32_t i = 0; i < t->n; ++i) {
            if (t->place.at[i] >= 0 && !(fabs(w[i]) <= INCONSISTENT * largest)) {
                return perpi_fail(
                    context, PERP_ERROR_INPUT,
                    "free unknown %" PRId32
                    " cannot be eliminated: no equation determines it, yet row %" PRId32
                    " depends on it",
                    free_unknown(t, lu->col[lu->rank + (int32_t)c]), i);
            }
        }
        for (size_t i = 0; i < nf; ++i) {
            k[i] /= t->dc.at[i];
        }
    }
    for (size_t a = 0; a < m; ++a) {
        for (size_t b = 0; b < m; ++b) {
            t->G.at[a * m + b] = perpi_dot(t->n_free, t->K.at + a * nf, t->K.at + b * nf);
        }
    }
    if (!perpi_chol_factor_any((int32_t)m, t->G.at)) {
        return perpi_fail(context, PERP_ERROR_NUMERIC,
                          "MLCP: the null space could not be computed");
    }
    return PERP_OK;
}

/* Moves x along the null space to the least norm of x / dc. */
static void least_norm(const perpi_luc* lu, const perpi_to_lcp* t, double* x, double* coefficient)
{
    const int32_t n = t->n_free, m = n - lu->rank;
    for (int32_t i = 0; i < n; ++i) {
        x[i] /= t->dc.at[i];
    }
    perpi_matvec(m, n, t->K.at, x, coefficient);
    perpi_chol_solve_any(m, t->G.at, coefficient);
    for (int32_t c = 0; c < m; ++c) {
        const double* k = t->K.at + (size_t)c * (size_t)n;
        for (int32_t i = 0; i < n; ++i) {
            x[i] -= coefficient[c] * k[i];
        }
    }
    for (int32_t i = 0; i < n; ++i) {
        x[i] *= t->dc.at[i];
    }
}

/* Turns the right-hand sides in X into solutions. */
static perp_status eliminate(perp_context* context, const perp_mlcp* mlcp, perpi_to_lcp* t)
{
    const int32_t nf = t->n_free, nb = t->n_box;
    perpi_luc lu = {0, 0, t->LU.at, t->lu_row.at, t->lu_col.at, t->dr.at, t->dc.at};
    if (!perpi_luc_factor(nf, t->A.at, RANK_TOLERANCE, &lu)) {
        return perpi_fail(context, PERP_ERROR_NUMERIC,
                          "MLCP: the equations of the free unknowns are not finite");
    }
    if (lu.rank < nf) {
        const perp_status status = prepare_null_space(context, mlcp, &lu, t);
        if (status != PERP_OK) {
            return status;
        }
    }
    double* x = t->column.at;
    for (int32_t j = 0; j <= nb; ++j) {
        const size_t ld = (size_t)nb + 1;
        double size = 0.0;
        bool any = false;
        for (int32_t i = 0; i < nf; ++i) {
            x[i] = t->X.at[(size_t)i * ld + (size_t)j];
            any = any || x[i] != 0.0;
            const double s = fabs(t->dr.at[i] * x[i]);
            size = s > size ? s : size;
        }
        if (!any) {
            continue;
        }
        const double left = perpi_luc_solve_basic(&lu, x, t->work.at);
        if (!(left <= INCONSISTENT * size)) {
            const int32_t row = free_unknown(t, lu.row[lu.rank]);
            return j == nb ? perpi_fail(context, PERP_ERROR_INPUT,
                                        "equality row %" PRId32 " contradicts the others", row)
                           : perpi_fail(context, PERP_ERROR_INPUT,
                                        "equality row %" PRId32
                                        " restricts unknowns that have bounds and determines no "
                                        "free one: it cannot be eliminated",
                                        row);
        }
        if (lu.rank < nf) {
            least_norm(&lu, t, x, t->work.at);
        }
        for (int32_t i = 0; i < nf; ++i) {
            t->X.at[(size_t)i * ld + (size_t)j] = x[i];
        }
    }
    return PERP_OK;
}

perp_status perp_mlcp_to_lcp(perp_reformulation* reformulation, const perp_mlcp* mlcp,
                             perp_lcp* lcp)
{
    perpi_to_lcp* t = &reformulation->lcp;
    perp_status status = classify(reformulation->context, mlcp, t);
    if (status == PERP_OK) {
        status = mlcp_make_room(reformulation->context, t);
    }
    if (status != PERP_OK) {
        return status;
    }
    scatter(mlcp, t);
    if (t->n_free > 0) {
        status = eliminate(reformulation->context, mlcp, t);
        if (status != PERP_OK) {
            return status;
        }
    }
    /* rows of B: + M_BF z_F, column by column of M so that its zeros cost nothing */
    const size_t nb = (size_t)t->n_box, nl = (size_t)t->n_lcp;
    for (int32_t j = 0; j < t->n; ++j) {
        if (t->place.at[j] >= 0) {
            continue;
        }
        const double* X_j = t->X.at + (size_t)(-1 - t->place.at[j]) * (nb + 1);
        for (int32_t e = mlcp->M.start[j]; e < mlcp->M.start[j + 1]; ++e) {
            const int32_t i = mlcp->M.row[e];
            if (t->place.at[i] < 0) {
                continue;
            }
            const double m = t->sign.at[i] * mlcp->M.value[e];
            double* M_i = t->M.at + (size_t)t->place.at[i] * nl;
            for (size_t c = 0; c < nb; ++c) {
                M_i[c] += m * X_j[c];
            }
            t->q.at[t->place.at[i]] += m * X_j[nb];
        }
    }
    *lcp = (perp_lcp){t->n_lcp, t->M.at, t->q.at};
    return PERP_OK;
}

void perp_reformulation_lcp_guess(const perp_reformulation* reformulation, const perp_mlcp* mlcp,
                                  const double* z_mlcp, double* z_lcp)
{
    const perpi_to_lcp* t = &reformulation->lcp;
    double* w = t->work.at; /* at least n */
    for (int32_t i = 0; i < t->n; ++i) {
        w[i] = mlcp->q[i];
    }
    for (int32_t j = 0; j < t->n; ++j) {
        for (int32_t e = mlcp->M.start[j]; e < mlcp->M.start[j + 1]; ++e) {
            w[mlcp->M.row[e]] += mlcp->M.value[e] * z_mlcp[j];
        }
    }
    for (int32_t i = 0; i < t->n; ++i) {
        if (t->place.at[i] < 0) {
            continue;
        }
        const double x = t->sign.at[i] * (z_mlcp[i] - t->base.at[i]);
        z_lcp[t->place.at[i]] = x > 0.0 ? x : 0.0;
        if (t->slack.at[i] >= 0) {
            const double width = mlcp->upper[i] - mlcp->lower[i];
            const bool at_upper = x >= width * (1.0 - AT_BOUND);
            z_lcp[t->slack.at[i]] = at_upper && w[i] < 0.0 ? -w[i] : 0.0;
        }
    }
}

void perp_reformulation_lcp_reconstruct(const perp_reformulation* reformulation,
                                        const perp_mlcp* mlcp, const double* z_lcp, double* z_mlcp)
{
    const perpi_to_lcp* t = &reformulation->lcp;
    (void)mlcp;
    for (int32_t i = 0; i < t->n; ++i) {
        if (t->place.at[i] >= 0) {
            z_mlcp[i] = t->base.at[i] + t->sign.at[i] * z_lcp[t->place.at[i]];
        } else {
            const double* X_i = t->X.at + (size_t)(-1 - t->place.at[i]) * ((size_t)t->n_box + 1);
            z_mlcp[i] = perpi_dot(t->n_box, X_i, z_lcp) + X_i[t->n_box];
        }
    }
}
