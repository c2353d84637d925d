/* src/solve/newton/minmap.c - see minmap.h. */
#include "solve/newton/minmap.h"

#include <math.h>
#include <string.h>

#define POLISH_STEPS 8  /* min-map steps of a polish */
#define POLISH_EPS 1e-9 /* regularisation when the active rows are dependent */
#define FINISHED 1e-14  /* residual below which no polish is needed */
/* Relative to the largest scaled unknown: smaller values may be rounding. Where all free unknowns
 * vanish (bodies at rest), the residual has no scale to compare them with. */
#define SNAP 1e-13

void perpi_minmap_element(const perpi_box* box, const double* y, const double* G, double* Phi,
                          double* a, double* b)
{
    for (int32_t i = 0; i < box->n; ++i) {
        const double t = y[i] - G[i];
        a[i] = 1.0;
        b[i] = 0.0;
        if (t <= box->l[i]) {
            Phi[i] = y[i] - box->l[i];
        } else if (t >= box->u[i]) {
            Phi[i] = y[i] - box->u[i];
        } else {
            Phi[i] = G[i];
            a[i] = 0.0;
            b[i] = 1.0;
        }
    }
}

/* ---- polish --------------------------------------------------------------------------------------*/

double perpi_largest_of(int32_t n, const double* x)
{
    double largest = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        const double m = fabs(x[i]);
        largest = !(m <= largest) ? m : largest;
    }
    return largest;
}

typedef struct checked_point {
    double *best, *residual;
} checked_point;

static void keep_better(perpi_box* box, const double* y, checked_point j)
{
    const double residual = perpi_box_residual(box, y);
    if (residual < *j.residual) {
        *j.residual = residual;
        memcpy(j.best, y, (size_t)box->n * sizeof *y);
    }
}

perp_status perpi_newton_polish(perpi_newton_linear* linear, perpi_box* box, const double* y_start,
                                const double* G_start, double tolerance, double* best,
                                double* residual, double* work)
{
    const int32_t n = box->n;
    double *y = work, *G = y + n, *Phi = G + n, *a = Phi + n, *b = a + n, *d = b + n, *x = d + n;
    const checked_point j = {best, residual};
    double last = INFINITY;
    memcpy(y, y_start, (size_t)n * sizeof *y);
    memcpy(G, G_start, (size_t)n * sizeof *G);
    for (int32_t k = 0; k<POLISH_STEPS&& * residual> tolerance; ++k) {
        perpi_minmap_element(box, y, G, Phi, a, b);
        const double size = perpi_largest_of(n, Phi);
        if (!(size < 0.5 * last)) {
            break;
        }
        last = size;
        for (int32_t i = 0; i < n; ++i) {
            x[i] = -Phi[i];
        }
        if (!perpi_newton_linear_solve(linear, box, a, b, 0.0, x, d) &&
            !perpi_newton_linear_solve(linear, box, a, b, POLISH_EPS, x, d)) {
            return linear->status;
        }
        for (int32_t i = 0; i < n; ++i) {
            y[i] += d[i];
        }
        keep_better(box, y, j);
        if (*residual > tolerance) {
            const double rounding = SNAP * perpi_largest_of(n, y);
            for (int32_t i = 0; i < n; ++i) {
                x[i] = fabs(y[i]) <= rounding ? 0.0 : y[i];
            }
            keep_better(box, x, j);
        }
        perp_status status = perpi_box_function(box, y, G);
        if (status == PERP_OK) {
            status = perpi_box_jacobian(box, y);
        }
        if (status != PERP_OK) {
            return status;
        }
    }
    return PERP_OK;
}

perp_status perpi_newton_finish(perpi_newton_linear* linear, perpi_box* box, double* best,
                                double* residual, double* work)
{
    const int32_t n = box->n;
    double *y = work, *G = y + n;
    if (*residual <= FINISHED) {
        return PERP_OK;
    }
    memcpy(y, best, (size_t)n * sizeof *y);
    perp_status status = perpi_box_function(box, y, G);
    if (status == PERP_OK) {
        status = perpi_box_jacobian(box, y);
    }
    return status != PERP_OK
               ? status
               : perpi_newton_polish(linear, box, y, G, FINISHED, best, residual, G + n);
}
