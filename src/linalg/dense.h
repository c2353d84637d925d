/* src/linalg/dense.h - small dense kernels with a fixed order of summation.
 *
 * No BLAS here: its bits change with the CPU and the number of threads, ours do not. All matrices
 * are row-major with leading dimension n unless a stride is given. Nothing allocates. A NaN in the
 * input comes out as a NaN or as "singular", never as a quiet success.
 */
#ifndef PERPI_DENSE_H
#define PERPI_DENSE_H

#include <string.h>

#include "perp/base.h"

/* Largest block of a contact problem: six velocities. */
enum { PERPI_BLOCK_MAX = 6 };

/* sum a_i b_i in four interleaved partial sums: (s0 + s1) + (s2 + s3), then the tail. Symmetric in
 * a and b to the bit. */
double perpi_dot(int32_t n, const double* a, const double* b);
/* y = A x, A is m x n. */
void perpi_matvec(int32_t m, int32_t n, const double* A, const double* x, double* y);
/* y += A' x, A is m x n. */
void perpi_matvec_transposed_add(int32_t m, int32_t n, const double* A, const double* x, double* y);

/* z += a x + b y; z overlaps neither. Inline, because inner loops call it with n = 8. */
static inline void perpi_add_pair(int32_t n, double a, const double* restrict x, double b,
                                  const double* restrict y, double* restrict z)
{
    int32_t i = 0;
    for (; i + 4 <= n; i += 4) { /* by four, so that the compiler may use wide registers */
        z[i] += a * x[i] + b * y[i];
        z[i + 1] += a * x[i + 1] + b * y[i + 1];
        z[i + 2] += a * x[i + 2] + b * y[i + 2];
        z[i + 3] += a * x[i + 3] + b * y[i + 3];
    }
    for (; i < n; ++i) {
        z[i] += a * x[i] + b * y[i];
    }
}

/* ---- LU with partial pivoting: P A = L U ---------------------------------------------------------*/

typedef struct perpi_lu_info {
    double pivot_min,
        pivot_max; /* smallest and largest |U_ii|; their ratio hints at the condition */
} perpi_lu_info;

/* In place; pivot: n row exchanges. false: a zero or non-finite pivot (A is then spoilt).
 * info may be NULL. */
bool perpi_lu_factor(int32_t n, double* A, int32_t* pivot, perpi_lu_info* info);
/* x: in: right-hand side, out: solution of A x = b, respectively A' x = b. */
void perpi_lu_solve(int32_t n, const double* LU, const int32_t* pivot, double* x);
/* Of the determinant: 1 or -1. */
int perpi_lu_sign(int32_t n, const double* LU, const int32_t* pivot);
void perpi_lu_solve_transposed(int32_t n, const double* LU, const int32_t* pivot, double* x);

/* ---- Cholesky of a block, n <= PERPI_BLOCK_MAX: A = L L' -------------------------------------------*/

/* Reads the lower triangle of A, writes the lower triangle of L (the upper one is not touched, and
 * is never read). false: not positive definite. L may be A. */
bool perpi_chol_factor(int32_t n, const double* A, double* L);
/* Whether these entries are all 0. */
static inline bool perpi_are_zero(const double* A, const int entry[12])
{
    uint64_t any = 0;
    for (int i = 0; i < 12; ++i) {
        uint64_t bits;
        memcpy(&bits, A + entry[i], sizeof bits);
        any |= bits;
    }
    return any << 1 == 0; /* without the signs of zeros */
}
/* Whether in the lower triangle of a block of six velocities the first three are coupled neither with each
 * other nor with the last three: so for every rigid body whose velocity is that of its centre of mass. The
 * functions below leave out the entries that are then 0. */
static inline bool perpi_is_apart(const double* A)
{
    static const int coupling[12] = {6, 12, 13, 18, 19, 20, 24, 25, 26, 30, 31, 32};
    return perpi_are_zero(A, coupling);
}
/* The same above the diagonal. */
static inline bool perpi_is_apart_above(const double* A)
{
    static const int coupling[12] = {1, 2, 3, 4, 5, 8, 9, 10, 11, 15, 16, 17};
    return perpi_are_zero(A, coupling);
}
/* The factor of such a block. */
bool perpi_chol_factor_apart(const double* A, double* L);
/* x <- L^-1 x for six velocities that are apart. */
static inline void perpi_chol_forward_apart(const double* L, double* x)
{
    x[0] /= L[0], x[1] /= L[7], x[2] /= L[14];
    x[3] /= L[21];
    x[4] = (x[4] - L[27] * x[3]) / L[28];
    x[5] = (x[5] - L[33] * x[3] - L[34] * x[4]) / L[35];
}
/* x <- L^-1 x for six velocities, unrolled: the same operations in the same order as the loop. */
static inline void perpi_chol_forward6(const double* L, double* x)
{
    const double a = x[0] / L[0];
    const double b = (x[1] - L[6] * a) / L[7];
    const double c = (x[2] - L[12] * a - L[13] * b) / L[14];
    const double d = (x[3] - L[18] * a - L[19] * b - L[20] * c) / L[21];
    const double e = (x[4] - L[24] * a - L[25] * b - L[26] * c - L[27] * d) / L[28];
    const double f = (x[5] - L[30] * a - L[31] * b - L[32] * c - L[33] * d - L[34] * e) / L[35];
    x[0] = a, x[1] = b, x[2] = c, x[3] = d, x[4] = e, x[5] = f;
}
/* The same for three velocities, of a body in the plane. */
static inline void perpi_chol_forward3(const double* L, double* x)
{
    const double a = x[0] / L[0];
    const double b = (x[1] - L[3] * a) / L[4];
    const double c = (x[2] - L[6] * a - L[7] * b) / L[8];
    x[0] = a, x[1] = b, x[2] = c;
}
/* x <- L^-1 x, x <- L^-T x, and both: x <- A^-1 x. */
void perpi_chol_forward(int32_t n, const double* L, double* x);
void perpi_chol_backward(int32_t n, const double* L, double* x);
void perpi_chol_solve(int32_t n, const double* L, double* x);
/* inverse: n x n, symmetric to the bit. */
void perpi_chol_inverse(int32_t n, const double* L, double* inverse);

/* ---- symmetric positive semidefinite, possibly singular ---------------------------------------------
 * Cholesky with diagonal pivoting of the matrix scaled to a unit diagonal,
 *     S A S = P' R' R P,  S = diag(scale), R = [R_11 R_12] of rank r,
 * which stops when the largest remaining diagonal is <= tolerance. Scaling first makes the result
 * on the rank independent of the units of the rows. */

typedef struct perpi_psd {
    int32_t n, rank;
    double* R; /* n x n: rows 0..rank-1 of the upper factor in pivoted columns */
    int32_t*
        order;     /* n: order[i] is the original index at position i; the first rank are a basis */
    double* scale; /* n: 1 / sqrt(A_ii), 1 where A_ii is 0 */
} perpi_psd;

/* A: n x n, copied. The arrays of f are the caller's: R n n, order n, scale n. false: not finite. */
bool perpi_psd_factor(int32_t n, const double* A, double tolerance, perpi_psd* f);
/* x: in: b, out: a solution of A x = b with x = 0 outside the basis. Returns the largest violated
 * equation outside the basis, scaled rows: |S (A x - b)|. work: n. */
double perpi_psd_solve_basic(const perpi_psd* f, double* x, double* work);
/* K: (n - rank) x n, null vectors of A as rows in original order and scaled units (S A S k = 0),
 * G: (n - rank)^2 their Cholesky factor; for perpi_psd_least_norm. false: breakdown. */
bool perpi_psd_null_space(const perpi_psd* f, double* K, double* G);
/* Moves a solution x along the null space to where |S^-1 x| is least. work: 2 n. */
void perpi_psd_least_norm(const perpi_psd* f, const double* K, const double* G, double* x,
                          double* work);

/* Cholesky without a limit on n; as perpi_chol_factor otherwise. */
bool perpi_chol_factor_any(int32_t n, double* A);
void perpi_chol_solve_any(int32_t n, const double* L, double* x);

/* ---- LU with complete pivoting and equilibration, possibly singular --------------------------------
 *     P (Dr A Dc) Q = L U, U of rank r: stops when the largest remaining entry is <= tolerance times
 * the largest one. */

typedef struct perpi_luc {
    int32_t n, rank;
    double* LU;      /* n x n, in pivoted order */
    int32_t* row;    /* n: original row at position i */
    int32_t* col;    /* n: original column at position j */
    double *dr, *dc; /* n each */
} perpi_luc;

/* A: n x n, copied. The arrays of f are the caller's. false: not finite. */
bool perpi_luc_factor(int32_t n, const double* A, double tolerance, perpi_luc* f);
/* x: in: b, out: the basic solution (0 outside the basis). Returns the largest violated equation,
 * scaled by dr. work: n. */
double perpi_luc_solve_basic(const perpi_luc* f, double* x, double* work);
/* K: (n - rank) x n null vectors of A as rows, original order and units: A k = 0. */
void perpi_luc_null_space(const perpi_luc* f, double* K);

/* ---- inverse and rank ------------------------------------------------------------------------------*/

/* In place inverse of a k x k matrix by Gauss-Jordan with row pivoting. order: k of scratch. False: a
 * pivot is <= tiny (rows are scaled by the caller), or not finite. */
bool perpi_invert(int32_t k, double tiny, double* A, int32_t* order);
/* Elimination with complete pivoting on scaled columns: the first `rank` entries of column (k) name
 * independent columns. Returns rank, where the largest entry left is <= tiny. A is destroyed. */
int32_t perpi_independent_columns(int32_t k, double tiny, double* A, int32_t* column);

#endif
