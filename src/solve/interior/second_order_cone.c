/* src/solve/interior/second_order_cone.c - see second_order_cone.h. */
#include "solve/interior/second_order_cone.h"

#include <math.h>

static double dot(int32_t n, const double* a, const double* b)
{
    double sum = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* x_0 - |x_1|: > 0 inside. */
static double depth(int32_t n, const double* x)
{
    return x[0] - sqrt(dot(n - 1, x + 1, x + 1));
}

/* sqrt(x_0^2 - |x_1|^2), without the squares' cancellation. */
static double size(int32_t n, const double* x)
{
    const double t = sqrt(dot(n - 1, x + 1, x + 1));
    return sqrt((x[0] - t) * (x[0] + t)); /* one root: exact in units of powers of two */
}

bool perpi_soc_scale(int32_t n, const double* x, const double* z, perpi_soc_scaling* s)
{
    if (!(depth(n, x) > 0.0) || !(depth(n, z) > 0.0)) {
        return false;
    }
    const double a = size(n, x), b = size(n, z);
    s->eta = sqrt(b / a);
    double inner = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        inner += (x[i] / a) * (z[i] / b);
    }
    const double gamma = sqrt(0.5 * (1.0 + inner));
    for (int32_t i = 0; i < n; ++i) {
        s->w[i] = 0.5 * (z[i] / b + (i == 0 ? x[i] : -x[i]) / a) / gamma;
    }
    /* w' J w = 1, to rounding */
    s->w[0] = sqrt(1.0 + dot(n - 1, s->w + 1, s->w + 1));
    perpi_soc_apply(n, s, x, s->lambda);
    return isfinite(s->eta) && s->eta > 0.0 && isfinite(s->w[0]) && depth(n, s->lambda) > 0.0;
}

static void transform(int32_t n, const double* w, double sign, double factor, const double* v,
                      double* out)
{
    const double t = dot(n - 1, w + 1, v + 1), v0 = v[0];
    const double along = sign * v0 + t / (1.0 + w[0]);
    for (int32_t i = 1; i < n; ++i) {
        out[i] = factor * (v[i] + along * w[i]);
    }
    out[0] = factor * (w[0] * v0 + sign * t);
}

void perpi_soc_apply(int32_t n, const perpi_soc_scaling* s, const double* v, double* out)
{
    transform(n, s->w, 1.0, s->eta, v, out);
}

void perpi_soc_apply_inverse(int32_t n, const perpi_soc_scaling* s, const double* v, double* out)
{
    transform(n, s->w, -1.0, 1.0 / s->eta, v, out);
}

void perpi_soc_product(int32_t n, const double* a, const double* b, double* out)
{
    out[0] = dot(n, a, b);
    for (int32_t i = 1; i < n; ++i) {
        out[i] = a[0] * b[i] + b[0] * a[i];
    }
}

void perpi_soc_divide(int32_t n, const double* lambda, const double* c, double* out)
{
    const double root = size(n, lambda);
    const double d0 = ((lambda[0] / root) * c[0] - dot(n - 1, lambda + 1, c + 1) / root) / root;
    for (int32_t i = 1; i < n; ++i) {
        out[i] = (c[i] - d0 * lambda[i]) / lambda[0];
    }
    out[0] = d0;
}

double perpi_soc_step(int32_t n, const double* x, const double* d)
{
    /* Scale the cone so that x becomes e; then t = 1 / (|d_1| - d_0). */
    const double root = size(n, x);
    const double along = (x[0] * d[0] - dot(n - 1, x + 1, d + 1)) / root;
    const double part = (along + d[0]) / (x[0] / root + 1.0);
    double sum = 0.0;
    for (int32_t i = 1; i < n; ++i) {
        const double t = d[i] - part * (x[i] / root);
        sum += t * t;
    }
    const double out = (sqrt(sum) - along) / root;
    return out > 0.0 ? 1.0 / out : (out <= 0.0 ? INFINITY : 0.0);
}

void perpi_soc_centre(int32_t n, const double* v, double tau, double* x, double* z)
{
    /* Eigenvalues v_0 -+ |v_1|; each is split as a - b with a b = tau. */
    const double t = sqrt(dot(n - 1, v + 1, v + 1));
    const double value[2] = {v[0] - t, v[0] + t};
    double a[2], b[2];
    for (int k = 0; k < 2; ++k) {
        const double large = 0.5 * (fabs(value[k]) + sqrt(value[k] * value[k] + 4.0 * tau));
        a[k] = value[k] >= 0.0 ? large : tau / large;
        b[k] = value[k] >= 0.0 ? tau / large : large;
    }
    for (int32_t i = 1; i < n; ++i) {
        const double direction = t > 0.0 ? v[i] / t : 0.0;
        x[i] = 0.5 * (a[1] - a[0]) * direction;
        z[i] = 0.5 * (b[1] - b[0]) * direction;
    }
    x[0] = 0.5 * (a[0] + a[1]);
    z[0] = 0.5 * (b[0] + b[1]);
}
