/* src/solve/frictional/body_kernels.h - the products of body_matrix.c for a constraint of three rows and
 * bodies of six velocities, and for one of two rows and bodies of three (in the plane), unrolled.
 *
 * In the plane a row of Y has three numbers and three zeros: a register of four holds the three.
 * Every entry takes its terms in the order of the general loops in body_matrix.c, so the bits are
 * the same as theirs.
 */
#ifndef PERPI_BODY_KERNELS_H
#define PERPI_BODY_KERNELS_H

#include <stdint.h>

#include "linalg/wide.h"

typedef double perpi_four __attribute__((vector_size(32), aligned(8), may_alias));
typedef double perpi_two __attribute__((vector_size(16), aligned(8), may_alias));

/* The rows of a body while they are summed: its own block of at most 6 x 6 numbers, and at its right that with
 * another body. */
enum { PERPI_SUM_ROWS = 6, PERPI_SUM_ROW = 12 };
typedef struct perpi_row_sum {
    double at[PERPI_SUM_ROWS * PERPI_SUM_ROW];
} perpi_row_sum;

/* Both blocks += Y D (Y X)' of three rows: Y, X are 3 x 6, D is 3 x 3. */
PERPI_INLINE void perpi_fill_pair(const double* restrict D, const double* restrict Y,
                                  const double* restrict X, perpi_row_sum* restrict sum)
{
    const double *y1 = Y + 6, *y2 = Y + 12, *x1 = X + 6, *x2 = X + 12;
    const perpi_four middle0 = {Y[4], Y[5], X[0], X[1]}, middle1 = {y1[4], y1[5], x1[0], x1[1]},
                     middle2 = {y2[4], y2[5], x2[0], x2[1]};
    perpi_four T[3][3]; /* D times the rows of Y and X together */
    for (int r = 0; r < 3; ++r) {
        const double* d = D + 3 * r;
        T[r][0] = d[0] * *(const perpi_four*)Y;
        T[r][0] += d[1] * *(const perpi_four*)y1;
        T[r][0] += d[2] * *(const perpi_four*)y2;
        T[r][1] = d[0] * middle0;
        T[r][1] += d[1] * middle1;
        T[r][1] += d[2] * middle2;
        T[r][2] = d[0] * *(const perpi_four*)(X + 2);
        T[r][2] += d[1] * *(const perpi_four*)(x1 + 2);
        T[r][2] += d[2] * *(const perpi_four*)(x2 + 2);
    }
    for (int a = 0; a < PERPI_SUM_ROWS; ++a) {
        perpi_four* row = (perpi_four*)(sum->at + PERPI_SUM_ROW * a);
        for (int q = 0; q < 3; ++q) {
            perpi_four s = row[q];
            s += Y[a] * T[0][q];
            s += y1[a] * T[1][q];
            s += y2[a] * T[2][q];
            row[q] = s;
        }
    }
}

/* The body's own block += Y D Y' of three rows. */
PERPI_INLINE void perpi_fill_own(const double* restrict D, const double* restrict Y,
                                 perpi_row_sum* restrict sum)
{
    perpi_four T[3]; /* D Y': columns 0 to 3 ... */
    perpi_two t[3];  /* ... and 4, 5 */
    for (int r = 0; r < 3; ++r) {
        T[r] = D[3 * r] * *(const perpi_four*)Y;
        t[r] = D[3 * r] * *(const perpi_two*)(Y + 4);
        for (int q = 1; q < 3; ++q) {
            T[r] += D[3 * r + q] * *(const perpi_four*)(Y + 6 * q);
            t[r] += D[3 * r + q] * *(const perpi_two*)(Y + 6 * q + 4);
        }
    }
    for (int a = 0; a < PERPI_SUM_ROWS; ++a) {
        double* row = sum->at + PERPI_SUM_ROW * a;
        perpi_four S = *(perpi_four*)row;
        perpi_two s = *(perpi_two*)(row + 4);
        for (int r = 0; r < 3; ++r) {
            S += Y[6 * r + a] * T[r];
            s += Y[6 * r + a] * t[r];
        }
        *(perpi_four*)row = S;
        *(perpi_two*)(row + 4) = s;
    }
}

/* u += Y' x of three rows, each sum on its own first: the products of a velocity with two rows are brought into
 * one register. */
PERPI_INLINE void perpi_add_velocities_three(const double* restrict Y, const double* restrict x,
                                             double* restrict u)
{
    perpi_two t = {0.0, 0.0};
    double s = 0.0;
    for (int k = 0; k < 6; k += 2) {
        const perpi_two X = *(const perpi_two*)(x + k), a = *(const perpi_two*)(Y + k) * X,
                        b = *(const perpi_two*)(Y + 6 + k) * X,
                        c = *(const perpi_two*)(Y + 12 + k) * X;
        t += (perpi_two){a[0], b[0]};
        t += (perpi_two){a[1], b[1]};
        s += c[0];
        s += c[1];
    }
    u[0] += t[0];
    u[1] += t[1];
    u[2] += s;
}

/* ---- in the plane: two rows, bodies of three velocities ---------------------------------------------------*/

/* D X' */
PERPI_INLINE void perpi_weigh_two(const double* restrict D, const double* restrict X, perpi_four* T)
{
    const perpi_four x0 = *(const perpi_four*)X, x1 = *(const perpi_four*)(X + 6);
    for (int r = 0; r < 2; ++r) {
        T[r] = D[2 * r] * x0;
        T[r] += D[2 * r + 1] * x1;
    }
}

/* A block of three columns, rows of ld numbers, += Y T, T as perpi_weigh_two gives it. */
PERPI_INLINE void perpi_add_two(const double* restrict Y, const perpi_four* T, double* restrict out,
                                int32_t ld)
{
    for (int a = 0; a < 3; ++a, out += ld) {
        perpi_four s = {out[0], out[1], out[2], 0.0};
        s += Y[a] * T[0];
        s += Y[6 + a] * T[1];
        out[0] = s[0], out[1] = s[1], out[2] = s[2];
    }
}

/* u += Y' x, each sum on its own first. */
PERPI_INLINE void perpi_add_velocities_two(const double* restrict Y, const double* restrict x,
                                           double* restrict u)
{
    double s = 0.0, t = 0.0;
    for (int k = 0; k < 3; ++k) {
        s += Y[k] * x[k];
        t += Y[6 + k] * x[k];
    }
    u[0] += s;
    u[1] += t;
}

#endif
