/* tests/unit/solve/mlcp_cases.h - small MLCPs from dense matrices, and measures that do not use the
 * library's check. */
#ifndef PERP_TEST_MLCP_CASES_H
#define PERP_TEST_MLCP_CASES_H

#include "conform/stewart_trinkle.h"
#include "perp/solve.h"

enum { CASE_MAX = 60 };

typedef struct mlcp_case {
    int32_t n;
    double M[CASE_MAX][CASE_MAX], q[CASE_MAX], lower[CASE_MAX], upper[CASE_MAX];
    int32_t start[CASE_MAX + 1], row[CASE_MAX * CASE_MAX];
    double value[CASE_MAX * CASE_MAX];
    perp_mlcp mlcp;
} mlcp_case;

/* Bounds 0 and infinity; the rest zero. */
static inline void case_clear(mlcp_case* c, int32_t n)
{
    memset(c, 0, sizeof *c);
    c->n = n;
    for (int32_t i = 0; i < n; ++i) {
        c->upper[i] = INFINITY;
    }
}

static inline const perp_mlcp* case_view(mlcp_case* c)
{
    int32_t at = 0;
    for (int32_t j = 0; j < c->n; ++j) {
        c->start[j] = at;
        for (int32_t i = 0; i < c->n; ++i) {
            if (c->M[i][j] != 0.0) {
                c->row[at] = i;
                c->value[at++] = c->M[i][j];
            }
        }
    }
    c->start[c->n] = at;
    c->mlcp = (perp_mlcp){{c->n, c->n, c->start, c->row, c->value}, c->q, c->lower, c->upper};
    return &c->mlcp;
}

/* The largest |z - clip(z - w)|, plain. */
static inline double case_residual(const mlcp_case* c, const double* z)
{
    double worst = 0.0;
    for (int32_t i = 0; i < c->n; ++i) {
        double w = c->q[i];
        for (int32_t j = 0; j < c->n; ++j) {
            w += c->M[i][j] * z[j];
        }
        double t = z[i] - w;
        t = t < c->lower[i] ? c->lower[i] : t;
        t = t > c->upper[i] ? c->upper[i] : t;
        const double e = fabs(z[i] - t);
        worst = !(e <= worst) ? e : worst;
    }
    return worst;
}

/* M = G G' of rank r, entries of G in [-1, 1]. */
static inline void case_semidefinite(mlcp_case* c, int32_t r, uint64_t* random)
{
    double G[CASE_MAX][CASE_MAX];
    for (int32_t i = 0; i < c->n; ++i) {
        for (int32_t k = 0; k < r; ++k) {
            G[i][k] = test_uniform(random, -1, 1);
        }
    }
    for (int32_t i = 0; i < c->n; ++i) {
        for (int32_t j = 0; j < c->n; ++j) {
            for (int32_t k = 0; k < r; ++k) {
                c->M[i][j] += G[i][k] * G[j][k];
            }
        }
    }
}

/* q such that a random point of the bounds solves the problem. */
static inline void case_plant(mlcp_case* c, uint64_t* random)
{
    double z[CASE_MAX], push[CASE_MAX];
    for (int32_t i = 0; i < c->n; ++i) {
        const bool low = c->lower[i] > -INFINITY, high = c->upper[i] < INFINITY;
        const double coin = test_uniform(random, 0, 1), far = test_uniform(random, 0, 1);
        z[i] = low && high ? c->lower[i] + far * (c->upper[i] - c->lower[i])
               : low       ? c->lower[i] + far
               : high      ? c->upper[i] - far
                           : 2.0 * far - 1.0;
        push[i] = 0.0;
        if (low && coin < 0.4) {
            z[i] = c->lower[i];
            push[i] = test_uniform(random, 0, 1);
        } else if (high && coin > 0.7) {
            z[i] = c->upper[i];
            push[i] = -test_uniform(random, 0, 1);
        }
    }
    for (int32_t i = 0; i < c->n; ++i) {
        c->q[i] = push[i];
        for (int32_t j = 0; j < c->n; ++j) {
            c->q[i] -= c->M[i][j] * z[j];
        }
    }
}

/* Whether some regular complementary basis solves the LCP c: all 2^n are tried, n <= 12. z: one. */
static inline bool case_enumerated(const mlcp_case* c, double* z)
{
    const int32_t n = c->n;
    for (uint32_t set = 0; set < (1u << n); ++set) {
        double A[12][13];
        int32_t a[12], k = 0;
        for (int32_t i = 0; i < n; ++i) {
            if (set >> i & 1u) {
                a[k++] = i;
            }
        }
        for (int32_t i = 0; i < k; ++i) {
            for (int32_t j = 0; j < k; ++j) {
                A[i][j] = c->M[a[i]][a[j]];
            }
            A[i][k] = -c->q[a[i]];
        }
        bool regular = true;
        for (int32_t p = 0; p < k && regular; ++p) {
            int32_t best = p;
            for (int32_t i = p + 1; i < k; ++i) {
                best = fabs(A[i][p]) > fabs(A[best][p]) ? i : best;
            }
            regular = fabs(A[best][p]) > 1e-10;
            for (int32_t j = 0; j <= k && regular; ++j) {
                const double t = A[p][j];
                A[p][j] = A[best][j];
                A[best][j] = t;
            }
            for (int32_t i = 0; i < k && regular; ++i) {
                const double l = i == p ? 0.0 : A[i][p] / A[p][p];
                for (int32_t j = p; j <= k && l != 0.0; ++j) {
                    A[i][j] -= l * A[p][j];
                }
            }
        }
        bool good = regular;
        memset(z, 0, (size_t)n * sizeof *z);
        for (int32_t i = 0; i < k && good; ++i) {
            z[a[i]] = A[i][k] / A[i][i];
            good = z[a[i]] >= -1e-9;
        }
        for (int32_t i = 0; i < n && good; ++i) {
            double w = c->q[i];
            for (int32_t j = 0; j < n; ++j) {
                w += c->M[i][j] * z[j];
            }
            good = w >= -1e-9;
        }
        if (good) {
            return true;
        }
    }
    return false;
}

#endif
