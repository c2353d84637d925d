/* src/solve/interior/second_order_cone_kernels.h - the functions of second_order_cone.h, to be compiled into
 * loops over many cones: where n is known there, their loops are unrolled. The same operations in
 * the same order.
 */
#ifndef PERPI_SECOND_ORDER_CONE_KERNELS_H
#define PERPI_SECOND_ORDER_CONE_KERNELS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "linalg/wide.h"

enum { PERPI_SOC_MAX = 4 };

typedef struct perpi_soc_scaling {
    double eta;
    double w[PERPI_SOC_MAX];
    double lambda[PERPI_SOC_MAX];
    double root;                /* sqrt(lambda' J lambda) */
    double unit[PERPI_SOC_MAX]; /* lambda / root */
    double inverse;             /* 1 / eta */
} perpi_soc_scaling;

PERPI_INLINE double perpi_soc_dot(int32_t n, const double* a, const double* b)
{
    double sum = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* |a|. In base 2 the root of a rounded square is the number itself, unless the square overflows or is subnormal
 * (S. Boldo 2015): of one number no root is taken, and the bits are the same. */
PERPI_INLINE double perpi_soc_norm(int32_t n, const double* a)
{
    if (n == 1 && fabs(a[0]) > 1e-150 && fabs(a[0]) < 1e150) {
        return fabs(a[0]);
    }
    return sqrt(perpi_soc_dot(n, a, a));
}

/* x_0 - |x_1|: > 0 inside. */
PERPI_INLINE double perpi_soc_depth(int32_t n, const double* x)
{
    return x[0] - perpi_soc_norm(n - 1, x + 1);
}

/* sqrt(x_0^2 - |x_1|^2), without the squares' cancellation. */
PERPI_INLINE double perpi_soc_size(int32_t n, const double* x)
{
    const double t = perpi_soc_norm(n - 1, x + 1);
    return sqrt((x[0] - t) * (x[0] + t)); /* one root: exact in units of powers of two */
}

PERPI_INLINE void perpi_soc_transform(int32_t n, const double* w, double sign, double factor,
                                      const double* v, double* out)
{
    const double t = perpi_soc_dot(n - 1, w + 1, v + 1), v0 = v[0];
    const double along = sign * v0 + t / (1.0 + w[0]);
    for (int32_t i = 1; i < n; ++i) {
        out[i] = factor * (v[i] + along * w[i]);
    }
    out[0] = factor * (w[0] * v0 + sign * t);
}

PERPI_INLINE void perpi_soc_apply_n(int32_t n, const perpi_soc_scaling* s, const double* v,
                                    double* out)
{
    perpi_soc_transform(n, s->w, 1.0, s->eta, v, out);
}

PERPI_INLINE void perpi_soc_apply_inverse_n(int32_t n, const perpi_soc_scaling* s, const double* v,
                                            double* out)
{
    perpi_soc_transform(n, s->w, -1.0, s->inverse, v, out);
}

PERPI_INLINE bool perpi_soc_scale_n(int32_t n, const double* x, const double* z,
                                    perpi_soc_scaling* s)
{
    if (!(perpi_soc_depth(n, x) > 0.0) || !(perpi_soc_depth(n, z) > 0.0)) {
        return false;
    }
    const double a = perpi_soc_size(n, x), b = perpi_soc_size(n, z);
    s->eta = sqrt(b / a);
    s->inverse = 1.0 / s->eta;
    double inner = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        inner += (x[i] / a) * (z[i] / b);
    }
    const double gamma = sqrt(0.5 * (1.0 + inner));
    for (int32_t i = 0; i < n; ++i) {
        s->w[i] = 0.5 * (z[i] / b + (i == 0 ? x[i] : -x[i]) / a) / gamma;
    }
    /* w' J w = 1, to rounding */
    s->w[0] = sqrt(1.0 + perpi_soc_dot(n - 1, s->w + 1, s->w + 1));
    perpi_soc_apply_n(n, s, x, s->lambda);
    s->root = perpi_soc_size(n, s->lambda);
    for (int32_t i = 0; i < n; ++i) {
        s->unit[i] = s->lambda[i] / s->root;
    }
    return isfinite(s->eta) && s->eta > 0.0 && isfinite(s->w[0]) &&
           perpi_soc_depth(n, s->lambda) > 0.0;
}

PERPI_INLINE void perpi_soc_product_n(int32_t n, const double* a, const double* b, double* out)
{
    out[0] = perpi_soc_dot(n, a, b);
    for (int32_t i = 1; i < n; ++i) {
        out[i] = a[0] * b[i] + b[0] * a[i];
    }
}

/* root: of lambda, as perpi_soc_size gives it; first: lambda_0 / root */
PERPI_INLINE void perpi_soc_divide_by(int32_t n, const double* lambda, double root, double first,
                                      const double* c, double* out)
{
    const double d0 = (first * c[0] - perpi_soc_dot(n - 1, lambda + 1, c + 1) / root) / root;
    for (int32_t i = 1; i < n; ++i) {
        out[i] = (c[i] - d0 * lambda[i]) / lambda[0];
    }
    out[0] = d0;
}

PERPI_INLINE void perpi_soc_divide_n(int32_t n, const double* lambda, const double* c, double* out)
{
    const double root = perpi_soc_size(n, lambda);
    perpi_soc_divide_by(n, lambda, root, lambda[0] / root, c, out);
}

/* 1 / t of the largest t with x + t d in L; <= 0: there is none. root: of x; unit: x / root */
PERPI_INLINE double perpi_soc_rate(int32_t n, const double* x, double root, const double* unit,
                                   const double* d)
{
    /* Scale the cone so that x becomes e; then t = 1 / (|d_1| - d_0). */
    const double along = (x[0] * d[0] - perpi_soc_dot(n - 1, x + 1, d + 1)) / root;
    const double part = (along + d[0]) / (unit[0] + 1.0);
    double tail[PERPI_SOC_MAX] = {0.0};
    for (int32_t i = 1; i < n; ++i) {
        tail[i] = d[i] - part * unit[i];
    }
    return (perpi_soc_norm(n - 1, tail + 1) - along) / root;
}

PERPI_INLINE double perpi_soc_step_of(double rate)
{
    return rate > 0.0 ? 1.0 / rate : (rate <= 0.0 ? INFINITY : 0.0);
}

PERPI_INLINE double perpi_soc_step_n(int32_t n, const double* x, const double* d)
{
    const double root = perpi_soc_size(n, x);
    double unit[PERPI_SOC_MAX];
    for (int32_t i = 0; i < n; ++i) {
        unit[i] = x[i] / root;
    }
    return perpi_soc_step_of(perpi_soc_rate(n, x, root, unit, d));
}

/* The lesser of t and the step from lambda along d. Where that is clearly longer, nothing is divided. */
PERPI_INLINE double perpi_soc_step_within(int32_t n, const perpi_soc_scaling* s, const double* d,
                                          double t)
{
    const double rate = perpi_soc_rate(n, s->lambda, s->root, s->unit, d);
    if (rate * t < 0.999999) {
        return t;
    }
    const double step = perpi_soc_step_of(rate);
    return step < t ? step : t;
}

#endif
