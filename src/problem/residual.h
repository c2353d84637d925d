/* src/problem/residual.h - what the residual checks share. */
#ifndef PERPI_RESIDUAL_H
#define PERPI_RESIDUAL_H

#include <math.h>

static inline double perpi_larger(double a, double b)
{
    return a > b ? a : b; /* both known to be numbers, or caught by the final isfinite */
}

/* Raises *worst to value; a NaN, once in, stays. */
static inline void perpi_raise_to(double* worst, double value)
{
    if (isnan(*worst) || value <= *worst) {
        return;
    }
    *worst = value;
}

#endif
