/* src/linalg/front_kernels.h - the loops over the numbers of a front, for fronts_factor.c.
 *
 * Bodies in space have six velocities, so that the rows and columns of fronts come in sixes, and in threes
 * in the plane; other numbers of them are taken as well. A tile of twelve or six columns stays in registers. Every entry takes
 * its terms one after the other in the order of the elimination, whatever the tiles are.
 */
#ifndef PERPI_FRONT_KERNELS_H
#define PERPI_FRONT_KERNELS_H

#include <math.h>
#include <stdint.h>

#include "linalg/wide.h"

typedef double perpi_lanes4 __attribute__((vector_size(32), aligned(8), may_alias));
typedef double perpi_lanes2 __attribute__((vector_size(16), aligned(8), may_alias));

enum { PERPI_TILE = 12, PERPI_HALF = 6, PERPI_QUARTER = 3, PERPI_STRIP = 2000, PERPI_LU_MOST = 64 };

/* ---- C -= A B ------------------------------------------------------------------------------------------*/

/* `rows` (1 to 3) rows of twelve columns; A has rows of lda numbers, of which n count. */
PERPI_INLINE void perpi_subtract_tile(int rows, int32_t n, const double* restrict A, size_t lda,
                                      const double* restrict B, size_t ldb, double* restrict C,
                                      size_t ldc)
{
    perpi_lanes4 t[3][3];
    for (int r = 0; r < rows; ++r) {
        for (int q = 0; q < 3; ++q) {
            t[r][q] = *(const perpi_lanes4*)(C + (size_t)r * ldc + 4 * q);
        }
    }
    for (int32_t p = 0; p < n; ++p, B += ldb) {
        const perpi_lanes4 b0 = ((const perpi_lanes4*)B)[0], b1 = ((const perpi_lanes4*)B)[1],
                           b2 = ((const perpi_lanes4*)B)[2];
        for (int r = 0; r < rows; ++r) {
            const double a = A[(size_t)r * lda + (size_t)p];
            t[r][0] -= a * b0;
            t[r][1] -= a * b1;
            t[r][2] -= a * b2;
        }
    }
    for (int r = 0; r < rows; ++r) {
        for (int q = 0; q < 3; ++q) {
            *(perpi_lanes4*)(C + (size_t)r * ldc + 4 * q) = t[r][q];
        }
    }
}

/* `rows` (1, 2 or 6) rows of six columns. */
PERPI_INLINE void perpi_subtract_half(int rows, int32_t n, const double* restrict A, size_t lda,
                                      const double* restrict B, size_t ldb, double* restrict C,
                                      size_t ldc)
{
    perpi_lanes4 t[PERPI_HALF];
    perpi_lanes2 s[PERPI_HALF];
    for (int r = 0; r < rows; ++r) {
        t[r] = *(const perpi_lanes4*)(C + (size_t)r * ldc);
        s[r] = *(const perpi_lanes2*)(C + (size_t)r * ldc + 4);
    }
    for (int32_t p = 0; p < n; ++p, B += ldb) {
        const perpi_lanes4 b = *(const perpi_lanes4*)B;
        const perpi_lanes2 c = *(const perpi_lanes2*)(B + 4);
        for (int r = 0; r < rows; ++r) {
            const double a = A[(size_t)r * lda + (size_t)p];
            t[r] -= a * b;
            s[r] -= a * c;
        }
    }
    for (int r = 0; r < rows; ++r) {
        *(perpi_lanes4*)(C + (size_t)r * ldc) = t[r];
        *(perpi_lanes2*)(C + (size_t)r * ldc + 4) = s[r];
    }
}

/* `rows` (1 or 3) rows of three columns. */
PERPI_INLINE void perpi_subtract_quarter(int rows, int32_t n, const double* restrict A, size_t lda,
                                         const double* restrict B, size_t ldb, double* restrict C,
                                         size_t ldc)
{
    perpi_lanes2 t[PERPI_QUARTER];
    double s[PERPI_QUARTER];
    for (int r = 0; r < rows; ++r) {
        t[r] = *(const perpi_lanes2*)(C + (size_t)r * ldc);
        s[r] = C[(size_t)r * ldc + 2];
    }
    for (int32_t p = 0; p < n; ++p, B += ldb) {
        const perpi_lanes2 b = *(const perpi_lanes2*)B;
        const double c = B[2];
        for (int r = 0; r < rows; ++r) {
            const double a = A[(size_t)r * lda + (size_t)p];
            t[r] -= a * b;
            s[r] -= a * c;
        }
    }
    for (int r = 0; r < rows; ++r) {
        *(perpi_lanes2*)(C + (size_t)r * ldc) = t[r];
        C[(size_t)r * ldc + 2] = s[r];
    }
}

/* One row of `width` columns, fewer than six. */
PERPI_INLINE void perpi_subtract_few(int32_t n, const double* restrict a, const double* restrict B,
                                     size_t ldb, double* restrict C, int32_t width)
{
    for (int32_t k = 0; k < width; ++k) {
        double t = C[k];
        for (int32_t p = 0; p < n; ++p) {
            t -= a[p] * B[(size_t)p * ldb + (size_t)k];
        }
        C[k] = t;
    }
}

/* C (rows x m) -= L (rows x n) U (n x m) in the columns from .. to - 1, whole tiles. */
PERPI_INLINE void perpi_subtract_strip(int32_t rows, int32_t n, int32_t from, int32_t to, size_t ld,
                                       const double* L, const double* U, double* C)
{
    const size_t n_ = (size_t)n;
    int32_t i = 0;
    for (; i + 3 <= rows; i += 3) {
        for (int32_t j = from; j < to; j += PERPI_TILE) {
            perpi_subtract_tile(3, n, L + (size_t)i * n_, n_, U + j, ld, C + (size_t)i * ld + j,
                                ld);
        }
    }
    for (; i < rows; ++i) {
        for (int32_t j = from; j < to; j += PERPI_TILE) {
            perpi_subtract_tile(1, n, L + (size_t)i * n_, n_, U + j, ld, C + (size_t)i * ld + j,
                                ld);
        }
    }
}

/* C (rows x m) -= L (rows x n) U (n x m) in the columns from `first` on. */
PERPI_INLINE void perpi_subtract_columns(int32_t rows, int32_t n, int32_t m, int32_t first,
                                         const double* L, const double* U, double* C)
{
    const size_t ld = (size_t)m, n_ = (size_t)n;
    const int32_t tiles = m - (m - first) % PERPI_TILE;
    const int32_t width = PERPI_TILE * (1 + PERPI_STRIP / PERPI_TILE / n);
    for (int32_t from = first; from < tiles;
         from += width) { /* this much of U stays in the cache */
        const int32_t to = from + width < tiles ? from + width : tiles;
        perpi_subtract_strip(rows, n, from, to, ld, L, U, C);
    }
    int32_t j = tiles;
    if (j + PERPI_HALF <= m) {
        int32_t i = 0;
        for (; i + PERPI_HALF <= rows; i += PERPI_HALF) {
            perpi_subtract_half(PERPI_HALF, n, L + (size_t)i * n_, n_, U + j, ld,
                                C + (size_t)i * ld + j, ld);
        }
        for (; i < rows; ++i) {
            perpi_subtract_half(1, n, L + (size_t)i * n_, n_, U + j, ld, C + (size_t)i * ld + j,
                                ld);
        }
        j += PERPI_HALF;
    }
    if (j + PERPI_QUARTER <= m) {
        int32_t i = 0;
        for (; i + PERPI_QUARTER <= rows; i += PERPI_QUARTER) {
            perpi_subtract_quarter(PERPI_QUARTER, n, L + (size_t)i * n_, n_, U + j, ld,
                                   C + (size_t)i * ld + j, ld);
        }
        for (; i < rows; ++i) {
            perpi_subtract_quarter(1, n, L + (size_t)i * n_, n_, U + j, ld, C + (size_t)i * ld + j,
                                   ld);
        }
        j += PERPI_QUARTER;
    }
    for (int32_t i = 0; j < m && i < rows; ++i) {
        perpi_subtract_few(n, L + (size_t)i * n_, U + j, ld, C + (size_t)i * ld + j, m - j);
    }
}

PERPI_WIDE static void perpi_subtract_by_four(int32_t rows, int32_t n, int32_t m, const double* L,
                                              const double* U, double* C)
{
    perpi_subtract_columns(rows, n, m, 0, L, U, C);
}

#ifdef PERPI_WIDER
typedef double perpi_lanes8 __attribute__((vector_size(64), aligned(8), may_alias));

/* `rows` (1 or 6) rows of 24 columns. */
PERPI_WIDER PERPI_INLINE void perpi_subtract_wide(int rows, int32_t n, const double* restrict A,
                                                  size_t lda, const double* restrict B, size_t ldb,
                                                  double* restrict C, size_t ldc)
{
    perpi_lanes8 t[6][3];
    for (int r = 0; r < rows; ++r) {
        for (int q = 0; q < 3; ++q) {
            t[r][q] = ((const perpi_lanes8*)(C + (size_t)r * ldc))[q];
        }
    }
    for (int32_t p = 0; p < n; ++p, B += ldb) {
        const perpi_lanes8 b0 = ((const perpi_lanes8*)B)[0], b1 = ((const perpi_lanes8*)B)[1],
                           b2 = ((const perpi_lanes8*)B)[2];
        for (int r = 0; r < rows; ++r) {
            const double a = A[(size_t)r * lda + (size_t)p];
            t[r][0] -= a * b0;
            t[r][1] -= a * b1;
            t[r][2] -= a * b2;
        }
    }
    for (int r = 0; r < rows; ++r) {
        for (int q = 0; q < 3; ++q) {
            ((perpi_lanes8*)(C + (size_t)r * ldc))[q] = t[r][q];
        }
    }
}

PERPI_WIDER static void perpi_subtract_by_eight(int32_t rows, int32_t n, int32_t m, const double* L,
                                                const double* U, double* C)
{
    enum { WIDE = 2 * PERPI_TILE };
    const size_t ld = (size_t)m, n_ = (size_t)n;
    const int32_t tiles = m - m % WIDE, width = WIDE * (1 + PERPI_STRIP / WIDE / n);
    for (int32_t from = 0; from < tiles; from += width) {
        const int32_t to = from + width < tiles ? from + width : tiles;
        int32_t i = 0;
        for (; i + 6 <= rows; i += 6) {
            for (int32_t j = from; j < to; j += WIDE) {
                perpi_subtract_wide(6, n, L + (size_t)i * n_, n_, U + j, ld, C + (size_t)i * ld + j,
                                    ld);
            }
        }
        for (; i < rows; ++i) {
            for (int32_t j = from; j < to; j += WIDE) {
                perpi_subtract_wide(1, n, L + (size_t)i * n_, n_, U + j, ld, C + (size_t)i * ld + j,
                                    ld);
            }
        }
    }
    perpi_subtract_columns(rows, n, m, tiles, L, U, C);
}
#endif

/* C (rows x m) -= L (rows x n) U (n x m) */
static inline void perpi_subtract_front(int32_t rows, int32_t n, int32_t m, const double* L,
                                        const double* U, double* C)
{
#ifdef PERPI_WIDER
    if (PERPI_HAS_WIDER) {
        perpi_subtract_by_eight(rows, n, m, L, U, C);
        return;
    }
#endif
    perpi_subtract_by_four(rows, n, m, L, U, C);
}

/* ---- D = L U, with pivots ------------------------------------------------------------------------------*/

/* The row of the largest entry of column k; -1: it is zero or not finite. */
PERPI_INLINE int32_t perpi_find_pivot(int32_t n, const double* A, int32_t k)
{
    const size_t ld = (size_t)n;
    int32_t best = k;
    double size = fabs(A[(size_t)k * ld + (size_t)k]);
    for (int32_t i = k + 1; i < n; ++i) {
        const double a = fabs(A[(size_t)i * ld + (size_t)k]);
        if (!(a <= size)) { /* a NaN is selected, and fails the test below */
            size = a;
            best = i;
        }
    }
    return size > 0.0 && isfinite(size) ? best : -1;
}

/* By whole registers: see perpi_lu_below. */
PERPI_INLINE void perpi_swap_rows(int32_t n, double* restrict a, double* restrict b)
{
    int32_t j = 0;
    for (; j + 4 <= n; j += 4) {
        const perpi_lanes4 t = *(perpi_lanes4*)(a + j);
        *(perpi_lanes4*)(a + j) = *(perpi_lanes4*)(b + j);
        *(perpi_lanes4*)(b + j) = t;
    }
    if (j + 2 <= n) {
        const perpi_lanes2 t = *(perpi_lanes2*)(a + j);
        *(perpi_lanes2*)(a + j) = *(perpi_lanes2*)(b + j);
        *(perpi_lanes2*)(b + j) = t;
        j += 2;
    }
    if (j < n) {
        const double t = a[j];
        a[j] = b[j];
        b[j] = t;
    }
}

typedef int64_t perpi_bits4 __attribute__((vector_size(32), aligned(8), may_alias));

/* The rows below pivot k. Columns are taken by four from a multiple of four on, of which `done` are up to k:
 * rows are read and written by whole registers, which the processor passes on at once. In columns that are
 * done zero is subtracted, and the factor takes its place with the rest. */
PERPI_INLINE void perpi_lu_below(int32_t n, double* A, int32_t k, int done)
{
    const perpi_bits4 right = {done > 0 ? 0 : -1, done > 1 ? 0 : -1, done > 2 ? 0 : -1, -1};
    const perpi_bits4 here = {done == 1 ? -1 : 0, done == 2 ? -1 : 0, done == 3 ? -1 : 0, 0};
    const double* A_k = A + (size_t)k * (size_t)n;
    const int32_t from = k + 1 - done;
    const perpi_bits4 kept = right & *(const perpi_bits4*)(A_k + from);
    const perpi_lanes4 first = (perpi_lanes4)kept;
    const double pivot = A_k[k];
    for (int32_t i = k + 1; i < n; ++i) {
        double* A_i = A + (size_t)i * (size_t)n;
        if (A_i[k] == 0.0) {
            continue;
        }
        const double t = A_i[k] / pivot;
        const perpi_lanes4 factor = {t, t, t, t};
        const perpi_lanes4 next = *(const perpi_lanes4*)(A_i + from) - factor * first;
        if (done == 0) {
            A_i[k] = t;
        }
        *(perpi_bits4*)(A_i + from) = (~here & (perpi_bits4)next) | (here & (perpi_bits4)factor);
        int32_t j = from + 4;
        for (; j + 4 <= n; j += 4) {
            *(perpi_lanes4*)(A_i + j) -= t * *(const perpi_lanes4*)(A_k + j);
        }
        if (j + 2 <= n) {
            *(perpi_lanes2*)(A_i + j) -= t * *(const perpi_lanes2*)(A_k + j);
            j += 2;
        }
        if (j < n) {
            A_i[j] -= t * A_k[j];
        }
    }
}

/* The same with fewer than four columns left. */
PERPI_INLINE void perpi_lu_below_few(int32_t n, double* A, int32_t k)
{
    const double* A_k = A + (size_t)k * (size_t)n;
    for (int32_t i = k + 1; i < n; ++i) {
        double* A_i = A + (size_t)i * (size_t)n;
        if (A_i[k] != 0.0) {
            A_i[k] /= A_k[k];
            for (int32_t j = k + 1; j < n; ++j) {
                A_i[j] -= A_i[k] * A_k[j];
            }
        }
    }
}

/* Pivot k; done = (k + 1) % 4. */
PERPI_INLINE bool perpi_lu_step(int32_t n, double* A, int32_t* pivot, int32_t k, int done)
{
    const int32_t best = perpi_find_pivot(n, A, k);
    if (best < 0) {
        return false;
    }
    pivot[k] = best;
    if (best != k) {
        perpi_swap_rows(n, A + (size_t)k * (size_t)n, A + (size_t)best * (size_t)n);
    }
    if (k + 1 - done + 4 <= n) {
        perpi_lu_below(n, A, k, done);
    } else {
        perpi_lu_below_few(n, A, k);
    }
    return true;
}

/* The same numbers as perpi_lu_factor gives. */
PERPI_INLINE bool perpi_lu_columns(int32_t n, double* A, int32_t* pivot)
{
    bool good = true;
    for (int32_t k = 0; good && k < n; k += 4) {
        good = perpi_lu_step(n, A, pivot, k, 1) &&
               (k + 1 >= n || perpi_lu_step(n, A, pivot, k + 1, 2)) &&
               (k + 2 >= n || perpi_lu_step(n, A, pivot, k + 2, 3)) &&
               (k + 3 >= n || perpi_lu_step(n, A, pivot, k + 3, 0));
    }
    return good;
}

PERPI_WIDE static bool perpi_lu_front(int32_t n, double* A, int32_t* pivot)
{
    if (n == PERPI_QUARTER) {
        return perpi_lu_columns(PERPI_QUARTER, A, pivot);
    }
    if (n == PERPI_HALF) {
        return perpi_lu_columns(PERPI_HALF, A, pivot);
    }
    if (n == PERPI_TILE) {
        return perpi_lu_columns(PERPI_TILE, A, pivot);
    }
    return perpi_lu_columns(n, A, pivot);
}

/* ---- U <- D^-1 U ---------------------------------------------------------------------------------------*/

/* Row i of a tile of `width` columns less multiples of `count` others. */
PERPI_INLINE void perpi_subtract_rows(int32_t count, const double* a, const double* B, size_t ld,
                                      double* row, int32_t width)
{
    if (width == 2 * PERPI_TILE) {
        perpi_lanes4 t[6];
        for (int q = 0; q < 6; ++q) {
            t[q] = ((const perpi_lanes4*)row)[q];
        }
        for (int32_t p = 0; p < count; ++p, B += ld) {
            for (int q = 0; q < 6; ++q) {
                t[q] -= a[p] * ((const perpi_lanes4*)B)[q];
            }
        }
        for (int q = 0; q < 6; ++q) {
            ((perpi_lanes4*)row)[q] = t[q];
        }
    } else if (width == PERPI_TILE) {
        perpi_subtract_tile(1, count, a, 0, B, ld, row, 0);
    } else if (width == PERPI_HALF) {
        perpi_subtract_half(1, count, a, 0, B, ld, row, 0);
    } else if (width == PERPI_QUARTER) {
        perpi_subtract_quarter(1, count, a, 0, B, ld, row, 0);
    } else {
        perpi_subtract_few(count, a, B, ld, row, width);
    }
}

PERPI_INLINE void perpi_scale_row(double* row, double factor, int32_t width)
{
    int32_t k = 0;
    for (; k + 4 <= width; k += 4) {
        *(perpi_lanes4*)(row + k) *= factor;
    }
    if (k + 2 <= width) {
        *(perpi_lanes2*)(row + k) *= factor;
        k += 2;
    }
    if (k < width) {
        row[k] *= factor;
    }
}

/* `width` columns of U, from P on. */
PERPI_INLINE void perpi_solve_tile(int32_t n, const double* D, const int32_t* pivot, double* P,
                                   size_t ld, int32_t width)
{
    const size_t n_ = (size_t)n;
    for (int32_t i = 0; i < n; ++i) {
        if (pivot[i] != i) {
            perpi_swap_rows(width, P + (size_t)i * ld, P + (size_t)pivot[i] * ld);
        }
    }
    for (int32_t i = 1; i < n; ++i) {
        perpi_subtract_rows(i, D + (size_t)i * n_, P, ld, P + (size_t)i * ld, width);
    }
    for (int32_t i = n - 1; i >= 0; --i) {
        const double* D_i = D + (size_t)i * n_;
        perpi_subtract_rows(n - i - 1, D_i + i + 1, P + (size_t)(i + 1) * ld, ld,
                            P + (size_t)i * ld, width);
        perpi_scale_row(P + (size_t)i * ld, 1.0 / D_i[i], width);
    }
}

/* Columns begin .. end - 1 of U (n x m). */
PERPI_INLINE void perpi_solve_columns_of(int32_t n, const double* D, const int32_t* pivot,
                                         int32_t m, double* U, int32_t begin, int32_t end)
{
    const size_t ld = (size_t)m;
    int32_t j = begin;
    for (; j + 2 * PERPI_TILE <= end; j += 2 * PERPI_TILE) {
        perpi_solve_tile(n, D, pivot, U + j, ld, 2 * PERPI_TILE);
    }
    for (; j + PERPI_TILE <= end; j += PERPI_TILE) {
        perpi_solve_tile(n, D, pivot, U + j, ld, PERPI_TILE);
    }
    for (; j + PERPI_HALF <= end; j += PERPI_HALF) {
        perpi_solve_tile(n, D, pivot, U + j, ld, PERPI_HALF);
    }
    for (; j + PERPI_QUARTER <= end; j += PERPI_QUARTER) {
        perpi_solve_tile(n, D, pivot, U + j, ld, PERPI_QUARTER);
    }
    if (j < end) {
        perpi_solve_tile(n, D, pivot, U + j, ld, end - j);
    }
}

PERPI_WIDE static void perpi_solve_columns(int32_t n, const double* D, const int32_t* pivot,
                                           int32_t m, double* U, int32_t begin, int32_t end)
{
    if (n == PERPI_QUARTER) {
        perpi_solve_columns_of(PERPI_QUARTER, D, pivot, m, U, begin, end);
    } else if (n == PERPI_HALF) {
        perpi_solve_columns_of(PERPI_HALF, D, pivot, m, U, begin, end);
    } else {
        perpi_solve_columns_of(n, D, pivot, m, U, begin, end);
    }
}

/* ---- rows ----------------------------------------------------------------------------------------------*/

/* y += x */
PERPI_INLINE void perpi_add_row(int32_t n, const double* restrict x, double* restrict y)
{
    int32_t i = 0;
    for (; i + 4 <= n; i += 4) {
        *(perpi_lanes4*)(y + i) += *(const perpi_lanes4*)(x + i);
    }
    if (i + 2 <= n) {
        *(perpi_lanes2*)(y + i) += *(const perpi_lanes2*)(x + i);
        i += 2;
    }
    if (i < n) {
        y[i] += x[i];
    }
}

/* Y += X, rows of n numbers */
PERPI_INLINE void perpi_add_rows(int32_t rows, int32_t n, const double* restrict X, size_t ldx,
                                 double* restrict Y, size_t ldy)
{
    if (n == PERPI_HALF) {
        for (int32_t r = 0; r < rows; ++r, X += ldx, Y += ldy) {
            perpi_add_row(PERPI_HALF, X, Y);
        }
        return;
    }
    if (n == PERPI_QUARTER) {
        for (int32_t r = 0; r < rows; ++r, X += ldx, Y += ldy) {
            perpi_add_row(PERPI_QUARTER, X, Y);
        }
        return;
    }
    for (int32_t r = 0; r < rows; ++r, X += ldx, Y += ldy) {
        perpi_add_row(n, X, Y);
    }
}

/* The sum of four products as perpi_dot makes it. */
PERPI_INLINE double perpi_dot_four(const double* a, double x0, double x1, double x2, double x3)
{
    return ((0.0 + a[0] * x0) + (0.0 + a[1] * x1)) + ((0.0 + a[2] * x2) + (0.0 + a[3] * x3));
}

/* x <- (L U)^-1 x of six rows, in registers. */
PERPI_INLINE void perpi_lu_solve_six(const double* A, const int32_t* pivot, double* x)
{
    for (int i = 0; i < 6; ++i) {
        const double t = x[pivot[i]];
        x[pivot[i]] = x[i];
        x[i] = t;
    }
    double x0 = x[0], x1 = x[1], x2 = x[2], x3 = x[3], x4 = x[4], x5 = x[5];
    x1 -= 0.0 + A[6] * x0;
    x2 -= (0.0 + A[12] * x0) + A[13] * x1;
    x3 -= ((0.0 + A[18] * x0) + A[19] * x1) + A[20] * x2;
    x4 -= perpi_dot_four(A + 24, x0, x1, x2, x3);
    x5 -= perpi_dot_four(A + 30, x0, x1, x2, x3) + A[34] * x4;
    x5 = (x5 - 0.0) / A[35];
    x4 = (x4 - (0.0 + A[29] * x5)) / A[28];
    x3 = (x3 - ((0.0 + A[22] * x4) + A[23] * x5)) / A[21];
    x2 = (x2 - (((0.0 + A[15] * x3) + A[16] * x4) + A[17] * x5)) / A[14];
    x1 = (x1 - perpi_dot_four(A + 8, x2, x3, x4, x5)) / A[7];
    x0 = (x0 - (perpi_dot_four(A + 1, x1, x2, x3, x4) + A[5] * x5)) / A[0];
    x[0] = x0, x[1] = x1, x[2] = x2, x[3] = x3, x[4] = x4, x[5] = x5;
}

/* The same of three rows. */
PERPI_INLINE void perpi_lu_solve_three(const double* A, const int32_t* pivot, double* x)
{
    for (int i = 0; i < 3; ++i) {
        const double t = x[pivot[i]];
        x[pivot[i]] = x[i];
        x[i] = t;
    }
    double x0 = x[0], x1 = x[1], x2 = x[2];
    x1 -= 0.0 + A[3] * x0;
    x2 -= (0.0 + A[6] * x0) + A[7] * x1;
    x2 = (x2 - 0.0) / A[8];
    x1 = (x1 - (0.0 + A[5] * x2)) / A[4];
    x0 = (x0 - ((0.0 + A[1] * x1) + A[2] * x2)) / A[0];
    x[0] = x0, x[1] = x1, x[2] = x2;
}

/* The sum of a_j x_j, j < 4 blocks, of up to four rows of A: four sums each, added in pairs. */
PERPI_INLINE void perpi_dot_blocks(int rows, int32_t blocks, const double* A, size_t ld,
                                   const perpi_lanes4* x, double* out)
{
    perpi_lanes4 s[4] = {{0.0, 0.0, 0.0, 0.0}};
    for (int r = 1; r < rows; ++r) {
        s[r] = s[0];
    }
    for (int32_t c = 0; c < blocks; ++c) {
        for (int r = 0; r < rows; ++r) {
            s[r] += *(const perpi_lanes4*)(A + (size_t)r * ld + 4 * (size_t)c) * x[c];
        }
    }
    for (int r = 0; r < rows; ++r) {
        out[r] = (s[r][0] + s[r][1]) + (s[r][2] + s[r][3]);
    }
}

/* y -= A x, A (rows x n); the sums are those of perpi_dot. */
PERPI_INLINE void perpi_subtract_dots(int rows, int32_t n, const double* A, const double* x,
                                      double* y)
{
    const size_t ld = (size_t)n;
    const int32_t whole = n - n % 4;
    double s[4];
    perpi_dot_blocks(rows, n / 4, A, ld, (const perpi_lanes4*)x, s);
    for (int r = 0; r < rows; ++r) {
        for (int32_t j = whole; j < n; ++j) {
            s[r] += A[(size_t)r * ld + (size_t)j] * x[j];
        }
        y[r] -= s[r];
    }
}

PERPI_INLINE void perpi_subtract_product(int32_t rows, int32_t n, const double* restrict A,
                                         const double* restrict x, double* restrict y)
{
    int32_t i = 0;
    for (; n == PERPI_HALF && i + 2 <= rows; i += 2, A += 2 * PERPI_HALF) {
        perpi_subtract_dots(2, PERPI_HALF, A, x, y + i);
    }
    for (; i + 4 <= rows; i += 4, A += 4 * (size_t)n) {
        perpi_subtract_dots(4, n, A, x, y + i);
    }
    if (i + 3 == rows) {
        perpi_subtract_dots(3, n, A, x, y + i);
        return;
    }
    for (; i < rows; ++i, A += n) {
        perpi_subtract_dots(1, n, A, x, y + i);
    }
}

/* x <- L^-1 x. Four rows at a time; those that are done are kept in whole registers, because the
 * processor waits where a register is read from memory that was just written in parts. */
PERPI_INLINE void perpi_forward_rows(int32_t n, const double* A, double* x)
{
    const size_t ld = (size_t)n;
    perpi_lanes4 done[PERPI_LU_MOST / 4];
    double s[4];
    int32_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const double *A0 = A + (size_t)i * ld, *A1 = A0 + ld + i, *A2 = A1 + ld, *A3 = A2 + ld;
        perpi_dot_blocks(4, i / 4, A0, ld, done, s);
        const double x0 = x[i] - s[0];
        const double x1 = x[i + 1] - (s[1] + A1[0] * x0);
        const double x2 = x[i + 2] - ((s[2] + A2[0] * x0) + A2[1] * x1);
        const double x3 = x[i + 3] - (((s[3] + A3[0] * x0) + A3[1] * x1) + A3[2] * x2);
        done[i / 4] = (perpi_lanes4){x0, x1, x2, x3};
        *(perpi_lanes4*)(x + i) = done[i / 4];
    }
    for (int32_t first = i; i < n; ++i) {
        const double* A_i = A + (size_t)i * ld;
        perpi_dot_blocks(1, first / 4, A_i, ld, done, s);
        for (int32_t j = first; j < i; ++j) {
            s[0] += A_i[j] * x[j];
        }
        x[i] -= s[0];
    }
}

/* x <- U^-1 x; the last four that are done are in a register. */
PERPI_INLINE void perpi_backward_rows(int32_t n, const double* A, double* x)
{
    perpi_lanes4 next = {0.0, 0.0, 0.0, 0.0};
    for (int32_t i = n - 1; i >= 0; --i) {
        const double* a = A + (size_t)i * (size_t)n + i + 1;
        const double* y = x + i + 1;
        const int32_t count = n - i - 1;
        int32_t j = 0;
        double s = 0.0;
        if (count >= 4) {
            perpi_lanes4 sums = {0.0, 0.0, 0.0, 0.0};
            sums += *(const perpi_lanes4*)a * next;
            for (j = 4; j + 4 <= count; j += 4) {
                sums += *(const perpi_lanes4*)(a + j) * *(const perpi_lanes4*)(y + j);
            }
            s = (sums[0] + sums[1]) + (sums[2] + sums[3]);
        }
        for (; j < count; ++j) {
            s += a[j] * y[j];
        }
        x[i] = (x[i] - s) / a[-1];
        next = (perpi_lanes4){x[i], next[0], next[1], next[2]};
    }
}

/* x <- (L U)^-1 x; the same numbers as perpi_lu_solve gives. n at most PERPI_LU_MOST. */
PERPI_INLINE void perpi_lu_solve_front(int32_t n, const double* LU, const int32_t* pivot, double* x)
{
    if (n == PERPI_HALF) {
        perpi_lu_solve_six(LU, pivot, x);
        return;
    }
    if (n == PERPI_QUARTER) {
        perpi_lu_solve_three(LU, pivot, x);
        return;
    }
    for (int32_t i = 0; i < n; ++i) {
        const double t = x[pivot[i]];
        x[pivot[i]] = x[i];
        x[i] = t;
    }
    perpi_forward_rows(n, LU, x);
    perpi_backward_rows(n, LU, x);
}

/* y <- 0, of few numbers: no call. */
PERPI_INLINE void perpi_clear_row(int32_t n, double* y)
{
    const perpi_lanes4 zeros = {0.0, 0.0, 0.0, 0.0};
    int32_t i = 0;
    for (; i + 4 <= n; i += 4) {
        *(perpi_lanes4*)(y + i) = zeros;
    }
    if (i + 2 <= n) {
        *(perpi_lanes2*)(y + i) = (perpi_lanes2){0.0, 0.0};
        i += 2;
    }
    if (i < n) {
        y[i] = 0.0;
    }
}

/* y <- x, of few numbers. */
PERPI_INLINE void perpi_copy_row(int32_t n, const double* restrict x, double* restrict y)
{
    if (n == PERPI_HALF) {
        *(perpi_lanes4*)y = *(const perpi_lanes4*)x;
        *(perpi_lanes2*)(y + 4) = *(const perpi_lanes2*)(x + 4);
        return;
    }
    int32_t i = 0;
    for (; i + 4 <= n; i += 4) {
        *(perpi_lanes4*)(y + i) = *(const perpi_lanes4*)(x + i);
    }
    if (i + 2 <= n) {
        *(perpi_lanes2*)(y + i) = *(const perpi_lanes2*)(x + i);
        i += 2;
    }
    if (i < n) {
        y[i] = x[i];
    }
}

#endif
