/* src/step/anderson.c - Anderson acceleration of a fixed-point iteration.
 *
 * Source     D. G. Anderson, Iterative procedures for nonlinear integral equations, J. ACM 12
 *            (1965);
 *            in the form of H. Walker and P. Ni, SIAM J. Numer. Anal. 49 (2011), (2.2)
 * Notation   Delta F, Delta G -> df, dg;  gamma = argmin |f - df gamma|, next = g - dg gamma
 * Departure  differences that are nearly linear combinations of newer ones are left out, instead of
 *            monitoring a condition number. On a linear map of d dimensions the iteration ends
 *            after
 *            d + 1 rounds whether or not the map contracts.
 */
#include "step/anderson.h"

#include <math.h>
#include <string.h>

/* A difference whose component orthogonal to the newer ones is smaller than this is left out. */
static const double NEW = 1e-6;

perp_status perpi_anderson_create(perp_context* context, int32_t n, perpi_anderson* a)
{
    const size_t one = (size_t)n + 1, all = (size_t)PERPI_ANDERSON_DEPTH * one;
    struct {
        double** array;
        size_t count;
    } arrays[] = {{&a->x, one},      {&a->g, one}, {&a->dg, all}, {&a->df, all},
                  {&a->weight, one}, {&a->Q, all}, {&a->f, one}};
    perp_status status = PERP_OK;
    a->n = n;
    for (size_t i = 0; status == PERP_OK && i < sizeof arrays / sizeof arrays[0]; ++i) {
        status = perpi_alloc(context, arrays[i].count, sizeof(double), arrays[i].array);
    }
    return status;
}

void perpi_anderson_destroy(perp_context* context, perpi_anderson* a)
{
    double* const owned[] = {a->x, a->g, a->dg, a->df, a->weight, a->Q, a->f};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; ++i) {
        perpi_free(context, owned[i]);
    }
}

void perpi_anderson_forget(perpi_anderson* a)
{
    a->count = 0;
    a->started = false;
}

static double dot(int32_t n, const double* a, const double* b)
{
    double sum = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* Stores the newest difference at the front. */
static void store_difference(perpi_anderson* a, const double* x, const double* g)
{
    const size_t n = (size_t)a->n, size = n * sizeof(double);
    const int32_t kept = a->count < PERPI_ANDERSON_DEPTH - 1 ? a->count : PERPI_ANDERSON_DEPTH - 1;
    memmove(a->dg + n, a->dg, (size_t)kept * size);
    memmove(a->df + n, a->df, (size_t)kept * size);
    for (size_t i = 0; i < n; ++i) {
        a->dg[i] = g[i] - a->g[i];
        a->df[i] = (a->dg[i] - (x[i] - a->x[i])) * a->weight[i];
    }
    a->count = kept + 1;
}

void perpi_anderson_next(perpi_anderson* a, const double* x, const double* g, double* next)
{
    const int32_t n = a->n;
    const size_t size = (size_t)n * sizeof(double);
    if (a->started) {
        store_difference(a, x, g);
    }
    a->started = true;
    memcpy(a->x, x, size);
    memcpy(a->g, g, size);
    for (int32_t i = 0; i < n; ++i) {
        a->f[i] = (g[i] - x[i]) * a->weight[i];
    }
    /* df = Q R by Gram-Schmidt, the newest first; the components of f along Q are subtracted on
     * the way */
    double R[PERPI_ANDERSON_DEPTH][PERPI_ANDERSON_DEPTH] = {{0}}, rhs[PERPI_ANDERSON_DEPTH] = {0};
    int32_t column[PERPI_ANDERSON_DEPTH], used = 0;
    for (int32_t j = 0; j < a->count; ++j) {
        double* q = a->Q + (size_t)used * (size_t)n;
        memcpy(q, a->df + (size_t)j * (size_t)n, size);
        const double whole = sqrt(dot(n, q, q));
        for (int32_t i = 0; i < used; ++i) {
            const double* other = a->Q + (size_t)i * (size_t)n;
            R[i][used] = dot(n, other, q);
            for (int32_t k = 0; k < n; ++k) {
                q[k] -= R[i][used] * other[k];
            }
        }
        const double rest = sqrt(dot(n, q, q));
        if (!(rest > NEW * whole)) {
            continue;
        }
        R[used][used] = rest;
        for (int32_t k = 0; k < n; ++k) {
            q[k] /= rest;
        }
        rhs[used] = dot(n, q, a->f);
        for (int32_t k = 0; k < n; ++k) {
            a->f[k] -= rhs[used] * q[k];
        }
        column[used++] = j;
    }
    memmove(next, g, size);
    for (int32_t i = used - 1; i >= 0; --i) {
        double gamma = rhs[i];
        for (int32_t j = i + 1; j < used; ++j) {
            gamma -= R[i][j] * rhs[j]; /* rhs[j] now holds gamma_j */
        }
        rhs[i] = gamma / R[i][i];
        const double* dg = a->dg + (size_t)column[i] * (size_t)n;
        for (int32_t k = 0; k < n; ++k) {
            next[k] -= rhs[i] * dg[k];
        }
    }
}
