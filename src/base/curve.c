/* src/base/curve.c - see curve.h. Slopes are found once; evaluation is a search and a polynomial. */
#include "base/curve.h"

#include <math.h>

struct perpi_curve {
    perpi_curve_kind kind;
    int32_t count;
    double* t; /* count, then x, then slopes (cubic) in the same block */
    double *x, *m;
};

const char* const perpi_curve_names[PERPI_CURVE_KIND_COUNT + 1] = {"linear", "cubic", "quintic",
                                                                   NULL};

/* Slopes of the cubic spline with m_0 = m_{n-1} = 0: continuous curvature at each inner point is
 * m_{i-1}/a + 2 m_i (1/a + 1/b) + m_{i+1}/b = 3 (s_a/a + s_b/b), a and b the lengths of the pieces
 * before and after, s their secants. Tridiagonal and dominant: no pivoting. diagonal: count. */
static void find_slopes(perpi_curve* c, double* diagonal)
{
    const int32_t n = c->count;
    c->m[0] = c->m[n - 1] = 0.0;
    for (int32_t i = 1; i + 1 < n; ++i) {
        const double a = c->t[i] - c->t[i - 1], b = c->t[i + 1] - c->t[i];
        diagonal[i] = 2.0 / a + 2.0 / b;
        c->m[i] = 3.0 * ((c->x[i] - c->x[i - 1]) / a / a + (c->x[i + 1] - c->x[i]) / b / b);
        if (i > 1) {
            const double f = 1.0 / a / diagonal[i - 1];
            diagonal[i] -= f / a;
            c->m[i] -= f * c->m[i - 1];
        }
    }
    for (int32_t i = n - 2; i > 0; --i) {
        c->m[i] = (c->m[i] - c->m[i + 1] / (c->t[i + 1] - c->t[i])) / diagonal[i];
    }
}

static perp_status check_points(perp_context* context, int32_t count, const double* point,
                                int32_t stride, int32_t at)
{
    for (int32_t i = 0; i < count; ++i) {
        const double* row = point + (size_t)i * (size_t)stride;
        if (!isfinite(row[0]) || !isfinite(row[at])) {
            return perpi_fail(context, PERP_ERROR_INPUT, "%d: must be finite", (int)i);
        }
        if (i > 0 && !(row[0] > row[-stride])) {
            return perpi_fail(context, PERP_ERROR_INPUT, "%d: times must ascend, got %g after %g",
                              (int)i, row[0], row[-stride]);
        }
    }
    return PERP_OK;
}

perp_status perpi_curve_create(perp_context* context, perpi_curve_kind kind, int32_t count,
                               const double* point, int32_t stride, int32_t at, perpi_curve** curve)
{
    if (count < 1) {
        return perpi_fail(context, PERP_ERROR_INPUT, "0: there must be at least one point");
    }
    perp_status status = check_points(context, count, point, stride, at);
    perpi_curve* c = NULL;
    if (status == PERP_OK) {
        status = perpi_alloc(context, 1, sizeof *c, &c);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(context, 4 * (size_t)count, sizeof *c->t, &c->t);
    }
    if (status != PERP_OK) {
        perpi_free(context, c);
        return status;
    }
    c->kind = kind;
    c->count = count;
    c->x = c->t + count;
    c->m = c->x + count;
    for (int32_t i = 0; i < count; ++i) {
        c->t[i] = point[(size_t)i * (size_t)stride];
        c->x[i] = point[(size_t)i * (size_t)stride + (size_t)at];
    }
    if (kind == PERPI_CURVE_CUBIC) {
        find_slopes(c, c->m + count);
    }
    *curve = c;
    return PERP_OK;
}

perp_status perpi_curve_create_slopes(perp_context* context, int32_t count, const double* point,
                                      perpi_curve** curve)
{
    perp_status status = count < 1 ? PERP_OK : check_points(context, count, point, 3, 2);
    if (status == PERP_OK) { /* its own slopes are replaced */
        status = perpi_curve_create(context, PERPI_CURVE_CUBIC, count, point, 3, 1, curve);
    }
    for (int32_t i = 0; status == PERP_OK && i < count; ++i) {
        (*curve)->m[i] = point[3 * (size_t)i + 2];
    }
    return status;
}

void perpi_curve_destroy(perp_context* context, perpi_curve* curve)
{
    if (curve != NULL) {
        perpi_free(context, curve->t);
        perpi_free(context, curve);
    }
}

double perpi_curve_at(const perpi_curve* c, double t, double* slope)
{
    int32_t from = 0, to = c->count; /* t[from] <= t < t[to], where there are such */
    *slope = 0.0;
    if (isnan(t)) {
        return *slope = t;
    }
    if (t < c->t[0]) {
        return c->x[0];
    }
    while (to - from > 1) {
        const int32_t middle = from + (to - from) / 2;
        if (c->t[middle] <= t) {
            from = middle;
        } else {
            to = middle;
        }
    }
    if (to == c->count) {
        return c->x[from];
    }
    const double d = c->t[to] - c->t[from], s = (t - c->t[from]) / d;
    const double rise = c->x[to] - c->x[from];
    switch (c->kind) {
    case PERPI_CURVE_CUBIC: {
        /* Hermite: x0 + s (d m0 + s (3 rise - d (2 m0 + m1) + s (d (m0 + m1) - 2 rise))) */
        const double a = d * c->m[from], b = d * c->m[to];
        const double k2 = 3.0 * rise - 2.0 * a - b, k3 = a + b - 2.0 * rise;
        *slope = (a + s * (2.0 * k2 + 3.0 * s * k3)) / d;
        return c->x[from] + s * (a + s * (k2 + s * k3));
    }
    case PERPI_CURVE_QUINTIC: {
        const double r = 1.0 - s;
        *slope = 30.0 * s * s * r * r * rise / d;
        return c->x[from] + rise * s * s * s * (10.0 + s * (6.0 * s - 15.0));
    }
    default: *slope = rise / d; return c->x[from] + s * rise;
    }
}

bool perpi_curve_equal(const perpi_curve* a, const perpi_curve* b)
{
    bool same = a->kind == b->kind && a->count == b->count;
    for (int32_t i = 0; same && i < a->count; ++i) {
        same = a->t[i] == b->t[i] && a->x[i] == b->x[i] && a->m[i] == b->m[i];
    }
    return same;
}
