/* src/solve/interior/second_order_cone.c - see second_order_cone.h. */
#include "solve/interior/second_order_cone.h"

bool perpi_soc_scale(int32_t n, const double* x, const double* z, perpi_soc_scaling* s)
{
    return perpi_soc_scale_n(n, x, z, s);
}

void perpi_soc_apply(int32_t n, const perpi_soc_scaling* s, const double* v, double* out)
{
    perpi_soc_apply_n(n, s, v, out);
}

void perpi_soc_apply_inverse(int32_t n, const perpi_soc_scaling* s, const double* v, double* out)
{
    perpi_soc_apply_inverse_n(n, s, v, out);
}

void perpi_soc_product(int32_t n, const double* a, const double* b, double* out)
{
    perpi_soc_product_n(n, a, b, out);
}

void perpi_soc_divide(int32_t n, const double* lambda, const double* c, double* out)
{
    perpi_soc_divide_n(n, lambda, c, out);
}

double perpi_soc_step(int32_t n, const double* x, const double* d)
{
    return perpi_soc_step_n(n, x, d);
}

void perpi_soc_centre(int32_t n, const double* v, double tau, double* x, double* z)
{
    /* Eigenvalues v_0 -+ |v_1|; each is split as a - b with a b = tau. */
    const double t = sqrt(perpi_soc_dot(n - 1, v + 1, v + 1));
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
