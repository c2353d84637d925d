/* src/sim/mix.h - a fixed point sooner: the answers of earlier rounds, mixed. */
#ifndef PERPI_MIX_H
#define PERPI_MIX_H

#include "base/context.h"

enum { PERPI_MIX_DEPTH = 6 };

/* For x = g(x) in n numbers. */
typedef struct perpi_mix {
    int32_t n, count; /* count: differences kept */
    bool started;
    double *x, *g;  /* of the round before */
    double* dg;     /* PERPI_MIX_DEPTH x n, newest first: differences of successive g ... */
    double* df;     /* ... and of successive g - x */
    double* weight; /* n: what makes the numbers comparable */
    double *Q, *f;  /* scratch */
} perpi_mix;

PERP_NODISCARD perp_status perpi_mix_create(perp_context* context, int32_t n, perpi_mix* mix);
void perpi_mix_destroy(perp_context* context, perpi_mix* mix);
void perpi_mix_forget(perpi_mix* mix);
/* x gave g. next: where to go on; may be g itself. */
void perpi_mix_next(perpi_mix* mix, const double* x, const double* g, double* next);

#endif
