/* src/sim/mix.c - Anderson's mixing.
 *
 * Source     D. G. Anderson, Iterative procedures for nonlinear integral equations, J. ACM 12 (1965);
 *            in the form of H. Walker and P. Ni, SIAM J. Numer. Anal. 49 (2011), (2.2)
 * Notation   Delta F, Delta G -> df, dg;  gamma = argmin |f - df gamma|, next = g - dg gamma
 * Departure  differences that are nearly spanned by newer ones are left out, instead of a
 *            condition number that is watched. On a linear map of d dimensions it ends after d + 1
 *            rounds whether or not the map contracts.
 */
#include "sim/mix.h"

#include <math.h>
#include <string.h>

/* A difference whose part beyond the newer ones is smaller than this tells nothing new. */
static const double NEW = 1e-6;

perp_status perpi_mix_create(perp_context* context, int32_t n, perpi_mix* mix)
{
    const size_t one = (size_t)n + 1, all = (size_t)PERPI_MIX_DEPTH * one;
    struct {
        double** array;
        size_t count;
    } arrays[] = {{&mix->x, one},      {&mix->g, one}, {&mix->dg, all}, {&mix->df, all},
                  {&mix->weight, one}, {&mix->Q, all}, {&mix->f, one}};
    perp_status status = PERP_OK;
    mix->n = n;
    for (size_t i = 0; status == PERP_OK && i < sizeof arrays / sizeof arrays[0]; ++i) {
        status = perpi_alloc(context, arrays[i].count, sizeof(double), arrays[i].array);
    }
    return status;
}

void perpi_mix_destroy(perp_context* context, perpi_mix* mix)
{
    double* const owned[] = {mix->x, mix->g, mix->dg, mix->df, mix->weight, mix->Q, mix->f};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; ++i) {
        perpi_free(context, owned[i]);
    }
}

void perpi_mix_forget(perpi_mix* mix)
{
    mix->count = 0;
    mix->started = false;
}

static double dot(int32_t n, const double* a, const double* b)
{
    double sum = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* The newest difference goes to the front. */
static void keep(perpi_mix* mix, const double* x, const double* g)
{
    const size_t n = (size_t)mix->n, size = n * sizeof(double);
    const int32_t kept = mix->count < PERPI_MIX_DEPTH - 1 ? mix->count : PERPI_MIX_DEPTH - 1;
    memmove(mix->dg + n, mix->dg, (size_t)kept * size);
    memmove(mix->df + n, mix->df, (size_t)kept * size);
    for (size_t i = 0; i < n; ++i) {
        mix->dg[i] = g[i] - mix->g[i];
        mix->df[i] = (mix->dg[i] - (x[i] - mix->x[i])) * mix->weight[i];
    }
    mix->count = kept + 1;
}

void perpi_mix_next(perpi_mix* mix, const double* x, const double* g, double* next)
{
    const int32_t n = mix->n;
    const size_t size = (size_t)n * sizeof(double);
    if (mix->started) {
        keep(mix, x, g);
    }
    mix->started = true;
    memcpy(mix->x, x, size);
    memcpy(mix->g, g, size);
    for (int32_t i = 0; i < n; ++i) {
        mix->f[i] = (g[i] - x[i]) * mix->weight[i];
    }
    /* df = Q R by Gram-Schmidt, the newest first; what is left of f is subtracted as we go */
    double R[PERPI_MIX_DEPTH][PERPI_MIX_DEPTH] = {{0}}, rhs[PERPI_MIX_DEPTH] = {0};
    int32_t column[PERPI_MIX_DEPTH], used = 0;
    for (int32_t j = 0; j < mix->count; ++j) {
        double* q = mix->Q + (size_t)used * (size_t)n;
        memcpy(q, mix->df + (size_t)j * (size_t)n, size);
        const double whole = sqrt(dot(n, q, q));
        for (int32_t i = 0; i < used; ++i) {
            const double* other = mix->Q + (size_t)i * (size_t)n;
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
        rhs[used] = dot(n, q, mix->f);
        for (int32_t k = 0; k < n; ++k) {
            mix->f[k] -= rhs[used] * q[k];
        }
        column[used++] = j;
    }
    memmove(next, g, size);
    for (int32_t i = used - 1; i >= 0; --i) {
        double gamma = rhs[i];
        for (int32_t j = i + 1; j < used; ++j) {
            gamma -= R[i][j] * rhs[j]; /* rhs[j] holds gamma_j by now */
        }
        rhs[i] = gamma / R[i][i];
        const double* dg = mix->dg + (size_t)column[i] * (size_t)n;
        for (int32_t k = 0; k < n; ++k) {
            next[k] -= rhs[i] * dg[k];
        }
    }
}
