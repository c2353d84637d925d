/* src/solve/pivoting/lemke_small.c - see lemke_small.h.
 *
 * Source     as lemke.c: scheme I of Cottle, Pang, Stone, 4.4
 * Notation   T = B^-1 N | x: one row per basic variable, one column per nonbasic one, the values last;
 *            variables w_i = i, z_i = n + i, z0 = 2 n
 * Why        with a dozen unknowns the bookkeeping of a basis with factors costs more than the pivots.
 *            Rounding errors accumulate in a tableau. It therefore gives up at a nearly tied ratio
 *            test, and only its final support is used: the caller solves on it from the original
 *            data, and uses the revised method if that is not a solution. Otherwise it takes the
 *            same pivots as lemke.c.
 */
#include "solve/pivoting/lemke_small.h"

#include <math.h>
#include <stdbool.h>

enum { LANES = 4 }; /* handled together: a length that the compiler knows */

typedef struct tableau {
    int32_t n, width; /* n + 2, rounded up to whole lanes; the rest is zero */
    int32_t basic[PERPI_LEMKE_SMALL], nonbasic[PERPI_LEMKE_SMALL + 1];
    double T[PERPI_LEMKE_SMALL * (PERPI_LEMKE_SMALL + 2 + LANES)];
} tableau;

/* y <- y - f x, over whole lanes. */
static inline void subtract(int32_t width, double f, const double* restrict x, double* restrict y)
{
    for (int32_t j = 0; j < width; j += LANES) {
        y[j] -= f * x[j];
        y[j + 1] -= f * x[j + 1];
        y[j + 2] -= f * x[j + 2];
        y[j + 3] -= f * x[j + 3];
    }
}

/* The basic variable of row p and the nonbasic one of column c change places. */
static void small_exchange(tableau* t, int32_t p, int32_t c)
{
    const int32_t width = t->width;
    double* T_p = t->T + p * width;
    const double inverse = 1.0 / T_p[c];
    T_p[c] = 1.0;
    for (int32_t j = 0; j < width; ++j) {
        T_p[j] *= inverse;
    }
    for (int32_t i = 0; i < t->n; ++i) {
        double* T_i = t->T + i * width;
        const double f = T_i[c];
        if (i != p && f != 0.0) {
            T_i[c] = 0.0;
            subtract(width, f, T_p, T_i);
        }
    }
    const int32_t leaves = t->basic[p];
    t->basic[p] = t->nonbasic[c];
    t->nonbasic[c] = leaves;
}

/* The row that leaves for column c, -1 if the ratio test is nearly tied or there is none. */
static int32_t leaving_row(const tableau* t, int32_t c, const perpi_lemke_rules* rules)
{
    const int32_t n = t->n, width = t->width, value = n + 1;
    double d_max = 0.0, x_max = 1.0;
    for (int32_t i = 0; i < n; ++i) {
        const double *T_i = t->T + i * width, m = fabs(T_i[c]);
        d_max = m > d_max ? m : d_max;
        x_max = T_i[value] > x_max ? T_i[value] : x_max;
    }
    const double smallest = rules->pivot_tolerance * d_max, tie = rules->tie_tolerance * x_max;
    double step = INFINITY;
    for (int32_t i = 0; i < n; ++i) {
        const double *T_i = t->T + i * width, d = T_i[c], x = T_i[value];
        if (d > smallest && (x < 0.0 ? 0.0 : x) + tie < step * d) {
            step = ((x < 0.0 ? 0.0 : x) + tie) / d;
        }
    }
    int32_t best = -1;
    for (int32_t i = 0; i < n && step < INFINITY; ++i) {
        const double *T_i = t->T + i * width, d = T_i[c];
        if (d > smallest && T_i[value] <= step * d) {
            if (t->basic[i] == 2 * n) {
                return i; /* z0 can leave: the end */
            }
            if (best >= 0) {
                return -1; /* tied: needs the lexicographic rule */
            }
            best = i;
        }
    }
    return best >= 0 && t->T[best * width + c] >= rules->small_pivot * d_max ? best : -1;
}

/* w basic, z and z0 not. */
static void small_set_up(tableau* t, int32_t n, const double* M, const double* D, const double* q)
{
    t->n = n;
    t->width = (n + 2 + LANES - 1) / LANES * LANES;
    for (int32_t i = 0; i < n; ++i) {
        double* T_i = t->T + i * t->width;
        for (int32_t j = 0; j < n; ++j) {
            T_i[j] = -(D[i] * M[i * n + j] * D[j]);
        }
        T_i[n] = -1.0;
        T_i[n + 1] = q[i];
        for (int32_t j = n + 2; j < t->width; ++j) {
            T_i[j] = 0.0;
        }
        t->basic[i] = i;
        t->nonbasic[i] = n + i;
    }
    t->nonbasic[n] = 2 * n;
}

int32_t perpi_lemke_small(int32_t n, const double* M, const double* D, const double* q,
                          const perpi_lemke_rules* rules, int32_t* a, int32_t* pivots)
{
    tableau t;
    small_set_up(&t, n, M, D, q);
    double lowest = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        lowest = q[i] < lowest ? q[i] : lowest;
    }
    int32_t p = 0, c = n;
    for (int32_t i = 0; i < n; ++i) { /* lexicographic for the first pivot: the last of the tied */
        p = q[i] - lowest <= rules->tie_tolerance ? i : p;
    }
    for (*pivots = 0; *pivots < rules->limit;) {
        small_exchange(&t, p, c);
        ++*pivots;
        const int32_t left = t.nonbasic[c];
        if (left == 2 * n) {
            int32_t k = 0;
            bool in[PERPI_LEMKE_SMALL] = {false};
            for (int32_t i = 0; i < n; ++i) {
                if (t.basic[i] >= n) {
                    in[t.basic[i] - n] = true;
                }
            }
            for (int32_t i = 0; i < n; ++i) {
                if (in[i]) {
                    a[k++] = i;
                }
            }
            return k;
        }
        const int32_t enters = left < n ? left + n : left - n; /* the complement of what left */
        for (c = 0; t.nonbasic[c] != enters;) {
            ++c;
        }
        p = leaving_row(&t, c, rules);
        if (p < 0) {
            return -1;
        }
    }
    return -1;
}
