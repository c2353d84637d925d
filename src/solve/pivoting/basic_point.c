/* src/solve/pivoting/basic_point.c - see basic_point.h.
 *
 * Notation   a: the support (k indices), R: diagonal row scaling, L U = P R M_aa
 * Why        the rows of a friction LCP have different units (velocities, impulses), so partial
 *            pivoting compares rows after scaling them to a largest entry of 1. Only the columns
 *            in a are read: with n = 40 and k = 10 this is the simulator's hot path.
 */
#include "solve/pivoting/basic_point.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "linalg/dense.h"

#define FLOOR_RATIO 1e-4 /* rows smaller than this part of the largest q are checked by that */
#define SINGULAR 1e-13   /* a pivot below this part of what it was computed from is rounding */

void perpi_support_init(perpi_support* s, perp_context* context)
{
    *s = (perpi_support){.context = context};
}

void perpi_support_free(perpi_support* s)
{
    perpi_free(s->context, s->lu);
    perpi_free(s->context, s->vector);
    perpi_free(s->context, s->order);
    *s = (perpi_support){.context = s->context};
}

perp_status perpi_support_reserve(perpi_support* s, int32_t n, int32_t k)
{
    const size_t kk = (size_t)k * (size_t)k;
    perp_status status = perpi_grow(s->context, &s->lu, &s->lu_capacity, kk, sizeof *s->lu);
    if (status == PERP_OK) {
        status = perpi_grow(s->context, &s->vector, &s->vector_capacity, 6 * (size_t)n,
                            sizeof *s->vector);
    }
    if (status == PERP_OK) {
        status = perpi_grow(s->context, &s->order, &s->order_capacity, (size_t)n, sizeof *s->order);
    }
    return status;
}

void perpi_lcp_equilibrate(const perp_lcp* lcp, double* D)
{
    const int32_t n = lcp->n;
    int32_t open = 0;
    for (int32_t i = 0; i < n; ++i) {
        const double m = fabs(lcp->M[(size_t)i * (size_t)n + (size_t)i]);
        D[i] = m > 0.0 ? 1.0 / sqrt(m) : 0.0;
        open += D[i] == 0.0;
    }
    while (open > 0) {
        int32_t left = 0, set = 0;
        for (int32_t i = 0; i < n; ++i) {
            if (D[i] != 0.0) {
                continue;
            }
            double coupling = 0.0;
            for (int32_t j = 0; j < n; ++j) {
                if (D[j] > 0.0) {
                    const double row = fabs(lcp->M[(size_t)i * (size_t)n + (size_t)j]) * D[j];
                    const double col = fabs(lcp->M[(size_t)j * (size_t)n + (size_t)i]) * D[j];
                    coupling = row > coupling ? row : coupling;
                    coupling = col > coupling ? col : coupling;
                }
            }
            if (coupling > 0.0) {
                D[i] = -1.0 / coupling; /* negative: set in this round */
                ++set;
            } else {
                ++left;
            }
        }
        for (int32_t i = 0; i < n; ++i) {
            if (D[i] < 0.0) {
                D[i] = -D[i];
            } else if (D[i] == 0.0 && set == 0) { /* an island without a diagonal */
                double largest = 0.0;
                for (int32_t j = 0; j < n; ++j) {
                    const double m = fabs(lcp->M[(size_t)i * (size_t)n + (size_t)j]);
                    largest = m > largest ? m : largest;
                }
                D[i] = largest > 0.0 ? 1.0 / sqrt(largest) : 1.0;
                --left;
                set = 1; /* one such row is enough; the others are scaled through their coupling */
            }
        }
        open = left;
    }
}

/* lu <- R M_aa, r <- the scaling; false if a row is zero or not finite. */
static bool gather_scaled(const perp_lcp* lcp, const int32_t* a, int32_t k, double* lu, double* r)
{
    const size_t n = (size_t)lcp->n;
    for (int32_t i = 0; i < k; ++i) {
        const double* M_i = lcp->M + (size_t)a[i] * n;
        double* row = lu + (size_t)i * (size_t)k;
        double largest = 0.0;
        for (int32_t j = 0; j < k; ++j) {
            row[j] = M_i[a[j]];
            const double m = fabs(row[j]);
            largest = m > largest ? m : largest;
        }
        if (!(largest > 0.0) || !(largest <= DBL_MAX)) {
            return false;
        }
        r[i] = 1.0 / largest;
        for (int32_t j = 0; j < k; ++j) {
            row[j] *= r[i];
        }
    }
    return true;
}

/* In place P A = L U, unit L; order[i]: the row that became row i. False if a pivot is of the size
 * of the rounding of its column. */
static bool factor_support(double* A, int32_t k, int32_t* order)
{
    for (int32_t i = 0; i < k; ++i) {
        order[i] = i;
    }
    for (int32_t c = 0; c < k; ++c) {
        int32_t best = c;
        double largest = fabs(A[(size_t)c * k + c]);
        for (int32_t i = c + 1; i < k; ++i) {
            const double m = fabs(A[(size_t)i * k + c]);
            if (m > largest) {
                largest = m;
                best = i;
            }
        }
        double above = 0.0; /* the size of what was subtracted to get here */
        for (int32_t i = 0; i < c; ++i) {
            const double m = fabs(A[(size_t)i * k + c]);
            above = m > above ? m : above;
        }
        if (!(largest > SINGULAR * above) || !(largest > 0.0)) {
            return false;
        }
        double* A_c = A + (size_t)c * k;
        if (best != c) {
            double* A_b = A + (size_t)best * k;
            for (int32_t j = 0; j < k; ++j) {
                const double t = A_c[j];
                A_c[j] = A_b[j];
                A_b[j] = t;
            }
            const int32_t t = order[c];
            order[c] = order[best];
            order[best] = t;
        }
        const double inverse = 1.0 / A_c[c];
        for (int32_t i = c + 1; i < k; ++i) {
            double* restrict A_i = A + (size_t)i * k;
            const double* restrict U_c = A_c;
            const double l = A_i[c] * inverse;
            A_i[c] = l;
            if (l == 0.0) {
                continue;
            }
            for (int32_t j = c + 1; j < k; ++j) {
                A_i[j] -= l * U_c[j];
            }
        }
    }
    return true;
}

/* x <- A^-1 b from the factors; b (k) is in the original row order; x and b differ. */
static void substitute(const double* LU, const int32_t* order, int32_t k, const double* b,
                       double* x)
{
    for (int32_t i = 0; i < k; ++i) {
        const double* L_i = LU + (size_t)i * k;
        double t = b[order[i]];
        for (int32_t j = 0; j < i; ++j) {
            t -= L_i[j] * x[j];
        }
        x[i] = t;
    }
    for (int32_t i = k - 1; i >= 0; --i) {
        const double* U_i = LU + (size_t)i * k;
        double t = x[i];
        for (int32_t j = i + 1; j < k; ++j) {
            t -= U_i[j] * x[j];
        }
        x[i] = t / U_i[i];
    }
}

/* w_a <- M_aa x + q_a; returns the largest |w_i| over the largest term of its row. */
static double support_residual(const perp_lcp* lcp, const int32_t* a, int32_t k, const double* x,
                               double* w_a)
{
    const size_t n = (size_t)lcp->n;
    double worst = 0.0;
    for (int32_t i = 0; i < k; ++i) {
        const double* M_i = lcp->M + (size_t)a[i] * n;
        double w = lcp->q[a[i]];
        double scale = fabs(w);
        for (int32_t j = 0; j < k; ++j) {
            const double t = M_i[a[j]] * x[j];
            w += t;
            scale = fabs(t) > scale ? fabs(t) : scale;
        }
        w_a[i] = w;
        const double e = fabs(w);
        if (e > 0.0 && !(e <= worst * scale)) {
            worst = e / scale;
        }
    }
    return worst;
}

/* How far x on the support is from a solution: rows with x_i > 0 must vanish, others must not be
 * negative, each relative to its largest term and at least floor / D_i. w: n, scratch. */
static double support_violation(const perp_lcp* lcp, const int32_t* a, int32_t k, const double* x,
                                double* w, const double* D, double floor)
{
    const int32_t n = lcp->n;
    double worst = 0.0;
    memset(w, 0, (size_t)n * sizeof *w);
    for (int32_t i = 0; i < k; ++i) {
        w[a[i]] = x[i];
    }
    for (int32_t i = 0; i < n; ++i) {
        const double* M_i = lcp->M + (size_t)i * (size_t)n;
        double w_i = lcp->q[i];
        double scale = fabs(w_i);
        for (int32_t j = 0; j < k; ++j) {
            const double t = M_i[a[j]] * x[j];
            w_i += t;
            scale = fabs(t) > scale ? fabs(t) : scale;
        }
        if (!isfinite(w_i)) {
            return INFINITY;
        }
        const double e = w[i] > 0.0 ? fabs(w_i) : -w_i;
        if (e > 0.0) {
            const double least = D != NULL ? floor / D[i] : 0.0;
            scale = least > scale ? least : scale;
            if (!(e <= worst * scale)) {
                worst = e / scale;
            }
        }
    }
    return worst;
}

double perpi_support_solve(perpi_support* s, const perp_lcp* lcp, const int32_t* a, int32_t k,
                           double* z)
{
    const int32_t n = lcp->n;
    double* r = s->vector;
    double* rhs = r + n;
    double* x = rhs + n;
    double* dx = x + n;
    if (k > 0) {
        if (!gather_scaled(lcp, a, k, s->lu, r) || !factor_support(s->lu, k, s->order)) {
            return INFINITY;
        }
        for (int32_t i = 0; i < k; ++i) {
            rhs[i] = -r[i] * lcp->q[a[i]];
        }
        substitute(s->lu, s->order, k, rhs, x);
        /* One step of refinement against the original data. */
        if (support_residual(lcp, a, k, x, rhs) > 2.0 * DBL_EPSILON) {
            for (int32_t i = 0; i < k; ++i) {
                rhs[i] *= -r[i];
            }
            substitute(s->lu, s->order, k, rhs, dx);
            for (int32_t i = 0; i < k; ++i) {
                x[i] += dx[i];
            }
        }
    }
    for (int32_t i = 0; i < k; ++i) {
        if (!isfinite(x[i])) {
            return INFINITY;
        }
        x[i] = x[i] > 0.0 ? x[i] : 0.0; /* also turns -0 into 0 */
    }
    double* w = dx + n;
    double* D = w + n;
    double worst = support_violation(lcp, a, k, x, w, NULL, 0.0);
    if (worst > 4.0 * DBL_EPSILON && worst < INFINITY) {
        /* Some row is all rounding, or the point is wrong: measure again with a lower limit on the
         * scale. */
        perpi_lcp_equilibrate(lcp, D);
        double q_max = 0.0, x_max = 0.0;
        for (int32_t i = 0; i < n; ++i) {
            const double m = fabs(lcp->q[i] * D[i]);
            q_max = m > q_max ? m : q_max;
        }
        for (int32_t i = 0; i < k; ++i) {
            const double m = x[i] / D[a[i]];
            x_max = m > x_max ? m : x_max;
        }
        for (int32_t i = 0; i < k; ++i) {
            rhs[i] = x[i] / D[a[i]] <= 8.0 * DBL_EPSILON * x_max ? 0.0 : x[i];
        }
        worst = support_violation(lcp, a, k, x, w, D, FLOOR_RATIO * q_max);
        const double snapped = support_violation(lcp, a, k, rhs, w, D, FLOOR_RATIO * q_max);
        if (snapped <= worst || snapped <= 1e-13) {
            worst = snapped;
            x = rhs;
        }
    }
    if (worst < INFINITY) {
        memset(z, 0, (size_t)n * sizeof *z);
        for (int32_t i = 0; i < k; ++i) {
            z[a[i]] = x[i];
        }
    }
    return worst;
}

double perpi_support_measure(perpi_support* s, const perp_lcp* lcp, const int32_t* a, int32_t k,
                             const double* z)
{
    const int32_t n = lcp->n;
    double* x = s->vector;
    double* w = x + n;
    double* D = w + n;
    perpi_lcp_equilibrate(lcp, D);
    double q_max = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        const double m = fabs(lcp->q[i] * D[i]);
        q_max = m > q_max ? m : q_max;
    }
    for (int32_t i = 0; i < k; ++i) {
        x[i] = z[a[i]] > 0.0 ? z[a[i]] : 0.0;
    }
    return support_violation(lcp, a, k, x, w, D, FLOOR_RATIO * q_max);
}

#define TIE 1e-10

int32_t perpi_support_complete(const perp_lcp* lcp, const double* z, int32_t* a, int32_t k)
{
    const int32_t n = lcp->n;
    const int32_t given = k;
    for (int32_t s = 0; s < given; ++s) {
        const double* M_i = lcp->M + (size_t)a[s] * (size_t)n;
        bool empty = M_i[a[s]] == 0.0;
        for (int32_t t = 0; t < k && empty; ++t) {
            empty = M_i[a[t]] == 0.0;
        }
        if (!empty) {
            continue;
        }
        int32_t partner = -1;
        double lowest = INFINITY;
        for (int32_t j = 0; j < n; ++j) {
            const double* M_j = lcp->M + (size_t)j * (size_t)n;
            if (M_i[j] == 0.0 || M_j[a[s]] == 0.0) {
                continue;
            }
            double w = lcp->q[j], size = fabs(w);
            for (int32_t t = 0; t < given; ++t) {
                w += M_j[a[t]] * z[a[t]];
                size += fabs(M_j[a[t]] * z[a[t]]);
            }
            if (partner < 0 || w < lowest - TIE * size) { /* independent of rounding */
                lowest = w;
                partner = j;
            }
        }
        if (partner >= 0) { /* the row was empty on a, so the partner is new */
            a[k++] = partner;
        }
    }
    for (int32_t s = given; s < k; ++s) { /* ascending again */
        const int32_t j = a[s];
        int32_t t = s;
        for (; t > 0 && a[t - 1] > j; --t) {
            a[t] = a[t - 1];
        }
        a[t] = j;
    }
    return k;
}

int32_t perpi_support_independent(perpi_support* s, const perp_lcp* lcp, int32_t* a, int32_t k)
{
    double* A = s->lu;
    double* r = s->vector;
    int32_t* column = s->order;
    /* A zero row cannot stay: w_i would be fixed at q_i. */
    int32_t kept = 0;
    for (int32_t i = 0; i < k; ++i) {
        double largest = 0.0;
        for (int32_t j = 0; j < k; ++j) {
            const double m = fabs(lcp->M[(size_t)a[i] * (size_t)lcp->n + (size_t)a[j]]);
            largest = m > largest ? m : largest;
        }
        if (largest > 0.0) {
            a[kept++] = a[i];
        }
    }
    k = kept;
    if (k == 0 || !gather_scaled(lcp, a, k, A, r)) {
        return 0;
    }
    const int32_t rank = perpi_independent_columns(k, 1e-9, A, column);
    /* Keep the first `rank` columns, in ascending order. */
    for (int32_t j = 0; j < k; ++j) {
        r[j] = 0.0;
    }
    for (int32_t j = 0; j < rank; ++j) {
        r[column[j]] = 1.0;
    }
    kept = 0;
    for (int32_t j = 0; j < k; ++j) {
        if (r[j] != 0.0) {
            a[kept++] = a[j];
        }
    }
    return kept;
}
