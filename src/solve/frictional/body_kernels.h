/* src/solve/frictional/body_kernels.h - the products of body_matrix.c for a constraint of three rows and
 * bodies of six velocities, unrolled.
 *
 * Every entry takes its terms in the order of the general loops in body_matrix.c, so the bits are
 * the same as theirs.
 */
#ifndef PERPI_BODY_KERNELS_H
#define PERPI_BODY_KERNELS_H

#include "linalg/wide.h"

/* A block of at most 6 x 6 numbers while it is summed; rows of eight, so that they lie in whole registers. */
enum { PERPI_SUM_ROWS = 6, PERPI_SUM_ROW = 8 };
typedef struct perpi_block_sum {
    double at[PERPI_SUM_ROWS * PERPI_SUM_ROW];
} perpi_block_sum;

typedef double perpi_four __attribute__((vector_size(32), aligned(8), may_alias));
typedef double perpi_two __attribute__((vector_size(16), aligned(8), may_alias));

/* sum += Y D X' of three rows: Y, X are 3 x 6, D is 3 x 3. */
PERPI_INLINE void perpi_add_three(const double* restrict D, const double* restrict Y,
                                  const double* restrict X, perpi_block_sum* restrict sum)
{
    const perpi_four *X0 = (const perpi_four*)X, *X1 = (const perpi_four*)(X + 6),
                     *X2 = (const perpi_four*)(X + 12);
    const perpi_two *x0 = (const perpi_two*)(X + 4), *x1 = (const perpi_two*)(X + 10),
                    *x2 = (const perpi_two*)(X + 16);
    perpi_four T[3]; /* D X': columns 0 to 3 ... */
    perpi_two t[3];  /* ... and 4, 5 */
    for (int r = 0; r < 3; ++r) {
        T[r] = D[3 * r] * *X0;
        t[r] = D[3 * r] * *x0;
        T[r] += D[3 * r + 1] * *X1;
        t[r] += D[3 * r + 1] * *x1;
        T[r] += D[3 * r + 2] * *X2;
        t[r] += D[3 * r + 2] * *x2;
    }
    for (int a = 0; a < PERPI_SUM_ROWS; ++a) {
        double* row = sum->at + PERPI_SUM_ROW * a;
        perpi_four S = *(perpi_four*)row;
        perpi_two s = *(perpi_two*)(row + 4);
        for (int r = 0; r < 3; ++r) {
            const double y = Y[6 * r + a];
            S += y * T[r];
            s += y * t[r];
        }
        *(perpi_four*)row = S;
        *(perpi_two*)(row + 4) = s;
    }
}

/* u += Y' x of three rows, each sum on its own first. */
PERPI_INLINE void perpi_add_velocities_three(const double* restrict Y, const double* restrict x,
                                             double* restrict u)
{
    for (int r = 0; r < 3; ++r, Y += PERPI_SUM_ROWS) {
        double t = 0.0;
        for (int k = 0; k < PERPI_SUM_ROWS; ++k) {
            t += Y[k] * x[k];
        }
        u[r] += t;
    }
}

#endif
