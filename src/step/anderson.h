/* src/step/anderson.h - Anderson acceleration: extrapolates a fixed-point iteration from its
 * iterates. */
#ifndef PERPI_ANDERSON_H
#define PERPI_ANDERSON_H

#include "base/context.h"

enum { PERPI_ANDERSON_DEPTH = 6 };

/* For x = g(x) in n numbers. */
typedef struct perpi_anderson {
    int32_t n, count; /* count: differences kept */
    bool started;
    double *x, *g;  /* x and g of the round before */
    double* dg;     /* PERPI_ANDERSON_DEPTH x n, newest first: differences of successive g ... */
    double* df;     /* ... and of successive g - x */
    double* weight; /* n: scales of the numbers */
    double *Q, *f;  /* scratch */
} perpi_anderson;

PERP_NODISCARD perp_status perpi_anderson_create(perp_context* context, int32_t n,
                                                 perpi_anderson* a);
void perpi_anderson_destroy(perp_context* context, perpi_anderson* a);
void perpi_anderson_forget(perpi_anderson* a);
/* x gave g. next: the next x; may be g itself. */
void perpi_anderson_next(perpi_anderson* a, const double* x, const double* g, double* next);

#endif
