/* src/linalg/dense.c - see dense.h. */
#include "linalg/dense.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "linalg/pair.h"

double perpi_dot(int32_t n, const double* a, const double* b)
{
    perpi_pair2 s01 = {0.0, 0.0}, s23 = {0.0, 0.0};
    int32_t i = 0;
    for (; i + 4 <= n; i += 4) {
        s01 += perpi_pair2_at(a + i) * perpi_pair2_at(b + i);
        s23 += perpi_pair2_at(a + i + 2) * perpi_pair2_at(b + i + 2);
    }
    double s = perpi_pair2_sum(s01) + perpi_pair2_sum(s23);
    for (; i < n; ++i) {
        s += a[i] * b[i];
    }
    return s;
}

void perpi_matvec(int32_t m, int32_t n, const double* A, const double* x, double* y)
{
    for (int32_t i = 0; i < m; ++i) {
        y[i] = perpi_dot(n, A + (size_t)i * (size_t)n, x);
    }
}

void perpi_matvec_transposed_add(int32_t m, int32_t n, const double* A, const double* x, double* y)
{
    for (int32_t i = 0; i < m; ++i) {
        const double* A_i = A + (size_t)i * (size_t)n;
        const double x_i = x[i];
        for (int32_t j = 0; j < n; ++j) {
            y[j] += A_i[j] * x_i;
        }
    }
}

/* y -= t x, the inner loop of every elimination. By pairs, because most n are small. */
static inline void subtract_multiple(int32_t n, double t, const double* restrict x,
                                     double* restrict y)
{
    const perpi_pair2 by = perpi_pair2_both(t);
    const double* end = x + n;
    for (; end - x >= 4; x += 4, y += 4) {
        perpi_pair2_put(perpi_pair2_at(y) - by * perpi_pair2_at(x), y);
        perpi_pair2_put(perpi_pair2_at(y + 2) - by * perpi_pair2_at(x + 2), y + 2);
    }
    if (end - x >= 2) {
        perpi_pair2_put(perpi_pair2_at(y) - by * perpi_pair2_at(x), y);
        x += 2, y += 2;
    }
    if (end > x) {
        *y -= t * *x;
    }
}

static void swap_rows(int32_t n, double* a, double* b)
{
    for (int32_t j = 0; j < n; ++j) {
        const double t = a[j];
        a[j] = b[j];
        b[j] = t;
    }
}

static void swap_int(int32_t* a, int32_t* b)
{
    const int32_t t = *a;
    *a = *b;
    *b = t;
}

/* ---- LU, partial pivoting ------------------------------------------------------------------------*/

bool perpi_lu_factor(int32_t n, double* A, int32_t* pivot, perpi_lu_info* info)
{
    const size_t ld = (size_t)n;
    perpi_lu_info seen = {0.0, 0.0};
    for (int32_t k = 0; k < n; ++k) {
        int32_t best = k;
        double size = fabs(A[(size_t)k * ld + (size_t)k]);
        for (int32_t i = k + 1; i < n; ++i) {
            const double a = fabs(A[(size_t)i * ld + (size_t)k]);
            if (!(a <= size)) { /* a NaN is selected, and fails the test below */
                size = a;
                best = i;
            }
        }
        if (!(size > 0.0) || !isfinite(size)) {
            return false;
        }
        pivot[k] = best;
        double* A_k = A + (size_t)k * ld;
        if (best != k) {
            swap_rows(n, A_k, A + (size_t)best * ld);
        }
        seen.pivot_min = k == 0 || size < seen.pivot_min ? size : seen.pivot_min;
        seen.pivot_max = size > seen.pivot_max ? size : seen.pivot_max;
        for (int32_t i = k + 1; i < n; ++i) {
            double* A_i = A + (size_t)i * ld;
            if (A_i[k] != 0.0) {
                A_i[k] /= A_k[k];
                subtract_multiple(n - k - 1, A_i[k], A_k + k + 1, A_i + k + 1);
            }
        }
    }
    if (info != NULL) {
        *info = seen;
    }
    return true;
}

int perpi_lu_sign(int32_t n, const double* LU, const int32_t* pivot)
{
    int sign = 1;
    for (int32_t i = 0; i < n; ++i) {
        const bool turns = (LU[(size_t)i * (size_t)n + (size_t)i] < 0.0) != (pivot[i] != i);
        sign = turns ? -sign : sign;
    }
    return sign;
}

void perpi_lu_solve(int32_t n, const double* LU, const int32_t* pivot, double* x)
{
    const size_t ld = (size_t)n;
    for (int32_t i = 0; i < n; ++i) {
        const double t = x[pivot[i]];
        x[pivot[i]] = x[i];
        x[i] = t;
    }
    for (int32_t i = 1; i < n; ++i) {
        x[i] -= perpi_dot(i, LU + (size_t)i * ld, x);
    }
    for (int32_t i = n - 1; i >= 0; --i) {
        const double* U_i = LU + (size_t)i * ld;
        x[i] = (x[i] - perpi_dot(n - i - 1, U_i + i + 1, x + i + 1)) / U_i[i];
    }
}

void perpi_lu_solve_transposed(int32_t n, const double* LU, const int32_t* pivot, double* x)
{
    const size_t ld = (size_t)n;
    /* U' y = b, column-wise so that rows of U are read in order */
    for (int32_t i = 0; i < n; ++i) {
        const double* U_i = LU + (size_t)i * ld;
        x[i] /= U_i[i];
        subtract_multiple(n - i - 1, x[i], U_i + i + 1, x + i + 1);
    }
    for (int32_t i = n - 1; i > 0; --i) {
        subtract_multiple(i, x[i], LU + (size_t)i * ld, x);
    }
    for (int32_t i = n - 1; i >= 0; --i) {
        const double t = x[pivot[i]];
        x[pivot[i]] = x[i];
        x[i] = t;
    }
}

/* ---- Cholesky --------------------------------------------------------------------------------------*/

/* False: not positive. */
static inline bool root_of(double s, double* root)
{
    *root = sqrt(s);
    return s > 0.0 && isfinite(s);
}

bool perpi_chol_factor_apart(const double* A, double* L)
{
    double d0, d1, d2, d3, d4, d5;
    if (!root_of(A[0], &d0) || !root_of(A[7], &d1) || !root_of(A[14], &d2) ||
        !root_of(A[21], &d3)) {
        return false;
    }
    const double e4 = A[27] / d3, e5 = A[33] / d3;
    if (!root_of(A[28] - e4 * e4, &d4)) {
        return false;
    }
    const double f5 = (A[34] - e5 * e4) / d4;
    if (!root_of(A[35] - e5 * e5 - f5 * f5, &d5)) {
        return false;
    }
    L[0] = d0;
    L[6] = 0.0, L[7] = d1;
    L[12] = 0.0, L[13] = 0.0, L[14] = d2;
    L[18] = 0.0, L[19] = 0.0, L[20] = 0.0, L[21] = d3;
    L[24] = 0.0, L[25] = 0.0, L[26] = 0.0, L[27] = e4, L[28] = d4;
    L[30] = 0.0, L[31] = 0.0, L[32] = 0.0, L[33] = e5, L[34] = f5, L[35] = d5;
    return true;
}

/* Six velocities, unrolled: the same operations in the same order as the loop. */
static bool chol_factor6(const double* A, double* L)
{
    double d0, d1, d2, d3, d4, d5;
    if (!root_of(A[0], &d0)) {
        return false;
    }
    const double a1 = A[6] / d0;
    if (!root_of(A[7] - a1 * a1, &d1)) {
        return false;
    }
    const double a2 = A[12] / d0, b2 = (A[13] - a2 * a1) / d1;
    if (!root_of(A[14] - a2 * a2 - b2 * b2, &d2)) {
        return false;
    }
    const double a3 = A[18] / d0, b3 = (A[19] - a3 * a1) / d1;
    const double c3 = (A[20] - a3 * a2 - b3 * b2) / d2;
    if (!root_of(A[21] - a3 * a3 - b3 * b3 - c3 * c3, &d3)) {
        return false;
    }
    const double a4 = A[24] / d0, b4 = (A[25] - a4 * a1) / d1;
    const double c4 = (A[26] - a4 * a2 - b4 * b2) / d2;
    const double e4 = (A[27] - a4 * a3 - b4 * b3 - c4 * c3) / d3;
    if (!root_of(A[28] - a4 * a4 - b4 * b4 - c4 * c4 - e4 * e4, &d4)) {
        return false;
    }
    const double a5 = A[30] / d0, b5 = (A[31] - a5 * a1) / d1;
    const double c5 = (A[32] - a5 * a2 - b5 * b2) / d2;
    const double e5 = (A[33] - a5 * a3 - b5 * b3 - c5 * c3) / d3;
    const double f5 = (A[34] - a5 * a4 - b5 * b4 - c5 * c4 - e5 * e4) / d4;
    if (!root_of(A[35] - a5 * a5 - b5 * b5 - c5 * c5 - e5 * e5 - f5 * f5, &d5)) {
        return false;
    }
    L[0] = d0;
    L[6] = a1, L[7] = d1;
    L[12] = a2, L[13] = b2, L[14] = d2;
    L[18] = a3, L[19] = b3, L[20] = c3, L[21] = d3;
    L[24] = a4, L[25] = b4, L[26] = c4, L[27] = e4, L[28] = d4;
    L[30] = a5, L[31] = b5, L[32] = c5, L[33] = e5, L[34] = f5, L[35] = d5;
    return true;
}

bool perpi_chol_factor(int32_t n, const double* A, double* L)
{
    if (n == 6) {
        return perpi_is_apart(A) ? perpi_chol_factor_apart(A, L) : chol_factor6(A, L);
    }
    for (int32_t i = 0; i < n; ++i) {
        for (int32_t j = 0; j <= i; ++j) {
            double s = A[i * n + j];
            for (int32_t k = 0; k < j; ++k) {
                s -= L[i * n + k] * L[j * n + k];
            }
            if (j < i) {
                L[i * n + j] = s / L[j * n + j];
            } else {
                if (!(s > 0.0) || !isfinite(s)) {
                    return false;
                }
                L[i * n + i] = sqrt(s);
            }
        }
    }
    return true;
}

void perpi_chol_forward(int32_t n, const double* L, double* x)
{
    if (n == 6) {
        perpi_chol_forward6(L, x);
        return;
    }
    if (n == 3) {
        perpi_chol_forward3(L, x);
        return;
    }
    for (int32_t i = 0; i < n; ++i) {
        double s = x[i];
        for (int32_t k = 0; k < i; ++k) {
            s -= L[i * n + k] * x[k];
        }
        x[i] = s / L[i * n + i];
    }
}

static void chol_backward_apart(const double* L, double* x)
{
    x[5] /= L[35];
    x[4] = (x[4] - L[34] * x[5]) / L[28];
    x[3] = (x[3] - L[27] * x[4] - L[33] * x[5]) / L[21];
    x[2] /= L[14], x[1] /= L[7], x[0] /= L[0];
}

/* Six velocities, unrolled: the same operations in the same order as the loop. */
static void chol_backward6(const double* L, double* x)
{
    const double f = x[5] / L[35];
    const double e = (x[4] - L[34] * f) / L[28];
    const double d = (x[3] - L[27] * e - L[33] * f) / L[21];
    const double c = (x[2] - L[20] * d - L[26] * e - L[32] * f) / L[14];
    const double b = (x[1] - L[13] * c - L[19] * d - L[25] * e - L[31] * f) / L[7];
    const double a = (x[0] - L[6] * b - L[12] * c - L[18] * d - L[24] * e - L[30] * f) / L[0];
    x[0] = a, x[1] = b, x[2] = c, x[3] = d, x[4] = e, x[5] = f;
}

static void chol_backward3(const double* L, double* x)
{
    const double c = x[2] / L[8];
    const double b = (x[1] - L[7] * c) / L[4];
    const double a = (x[0] - L[3] * b - L[6] * c) / L[0];
    x[0] = a, x[1] = b, x[2] = c;
}

void perpi_chol_backward(int32_t n, const double* L, double* x)
{
    if (n == 6) {
        chol_backward6(L, x);
        return;
    }
    if (n == 3) {
        chol_backward3(L, x);
        return;
    }
    for (int32_t i = n - 1; i >= 0; --i) {
        double s = x[i];
        for (int32_t k = i + 1; k < n; ++k) {
            s -= L[k * n + i] * x[k];
        }
        x[i] = s / L[i * n + i];
    }
}

void perpi_chol_solve(int32_t n, const double* L, double* x)
{
    if (n == 6 && perpi_is_apart(L)) {
        perpi_chol_forward_apart(L, x);
        chol_backward_apart(L, x);
        return;
    }
    perpi_chol_forward(n, L, x);
    perpi_chol_backward(n, L, x);
}

void perpi_chol_inverse(int32_t n, const double* L, double* inverse)
{
    /* A^-1 = Y' Y with the columns of Y = L^-1; the product is symmetric to the bit */
    double Y[PERPI_BLOCK_MAX][PERPI_BLOCK_MAX] = {{0.0}}; /* Y[j]: column j */
    for (int32_t j = 0; j < n; ++j) {
        Y[j][j] = 1.0;
        perpi_chol_forward(n, L, Y[j]);
    }
    for (int32_t i = 0; i < n; ++i) {
        for (int32_t j = 0; j < n; ++j) {
            double s = 0.0;
            for (int32_t k = 0; k < n; ++k) {
                s += Y[i][k] * Y[j][k];
            }
            inverse[i * n + j] = s;
        }
    }
}

bool perpi_chol_factor_any(int32_t n, double* A)
{
    const size_t ld = (size_t)n;
    for (int32_t i = 0; i < n; ++i) {
        double* A_i = A + (size_t)i * ld;
        for (int32_t j = 0; j <= i; ++j) {
            const double* A_j = A + (size_t)j * ld;
            const double s = A_i[j] - perpi_dot(j, A_i, A_j);
            if (j < i) {
                A_i[j] = s / A_j[j];
            } else {
                if (!(s > 0.0) || !isfinite(s)) {
                    return false;
                }
                A_i[i] = sqrt(s);
            }
        }
    }
    return true;
}

void perpi_chol_solve_any(int32_t n, const double* L, double* x)
{
    const size_t ld = (size_t)n;
    for (int32_t i = 0; i < n; ++i) {
        const double* L_i = L + (size_t)i * ld;
        x[i] = (x[i] - perpi_dot(i, L_i, x)) / L_i[i];
    }
    for (int32_t i = n - 1; i >= 0; --i) {
        const double* L_i = L + (size_t)i * ld;
        x[i] /= L_i[i];
        subtract_multiple(i, x[i], L_i, x);
    }
}

/* ---- positive semidefinite ---------------------------------------------------------------------------*/

bool perpi_psd_factor(int32_t n, const double* A, double tolerance, perpi_psd* f)
{
    const size_t ld = (size_t)n;
    double* R = f->R;
    for (int32_t i = 0; i < n; ++i) {
        const double d = A[(size_t)i * ld + (size_t)i];
        if (!(d >= 0.0) || !isfinite(d)) {
            return false;
        }
        f->scale[i] = d > 0.0 ? 1.0 / sqrt(d) : 1.0;
        f->order[i] = i;
    }
    for (int32_t i = 0; i < n; ++i) {
        for (int32_t j = 0; j < n; ++j) {
            const double a = f->scale[i] * A[(size_t)i * ld + (size_t)j] * f->scale[j];
            if (!isfinite(a)) {
                return false;
            }
            R[(size_t)i * ld + (size_t)j] = a;
        }
    }
    /* Right-looking; the trailing matrix is kept whole, so that exchanging is plain. */
    int32_t k = 0;
    for (; k < n; ++k) {
        int32_t best = k;
        for (int32_t i = k + 1; i < n; ++i) {
            if (R[(size_t)i * ld + (size_t)i] > R[(size_t)best * ld + (size_t)best]) {
                best = i;
            }
        }
        const double d = R[(size_t)best * ld + (size_t)best];
        if (!(d > tolerance)) {
            break;
        }
        if (best != k) {
            swap_int(&f->order[k], &f->order[best]);
            swap_rows(n, R + (size_t)k * ld, R + (size_t)best * ld);
            for (int32_t i = 0; i < n; ++i) {
                double* R_i = R + (size_t)i * ld;
                const double t = R_i[k];
                R_i[k] = R_i[best];
                R_i[best] = t;
            }
        }
        double* R_k = R + (size_t)k * ld;
        R_k[k] = sqrt(d);
        for (int32_t j = k + 1; j < n; ++j) {
            R_k[j] /= R_k[k];
        }
        for (int32_t i = k + 1; i < n; ++i) {
            subtract_multiple(n - k - 1, R_k[i], R_k + k + 1, R + (size_t)i * ld + k + 1);
        }
    }
    f->n = n;
    f->rank = k;
    return true;
}

double perpi_psd_solve_basic(const perpi_psd* f, double* x, double* work)
{
    const int32_t n = f->n, r = f->rank;
    const size_t ld = (size_t)n;
    for (int32_t i = 0; i < n; ++i) {
        work[i] = f->scale[f->order[i]] * x[f->order[i]];
    }
    /* R_11' y = b; what is left of the other equations is their violation */
    for (int32_t i = 0; i < r; ++i) {
        const double* R_i = f->R + (size_t)i * ld;
        work[i] /= R_i[i];
        subtract_multiple(n - i - 1, work[i], R_i + i + 1, work + i + 1);
    }
    double worst = 0.0;
    for (int32_t i = r; i < n; ++i) {
        const double e = fabs(work[i]);
        worst = e <= worst ? worst : e;
        work[i] = 0.0;
    }
    for (int32_t i = r - 1; i >= 0; --i) {
        const double* R_i = f->R + (size_t)i * ld;
        work[i] = (work[i] - perpi_dot(r - i - 1, R_i + i + 1, work + i + 1)) / R_i[i];
    }
    for (int32_t i = 0; i < n; ++i) {
        x[f->order[i]] = f->scale[f->order[i]] * work[i];
    }
    return worst;
}

bool perpi_psd_null_space(const perpi_psd* f, double* K, double* G)
{
    const int32_t n = f->n, r = f->rank, m = n - r;
    const size_t ld = (size_t)n;
    for (int32_t c = 0; c < m; ++c) {
        /* [-R_11^-1 R_12 e_c; e_c]: order[] is a permutation, so solve in its first r places */
        double* k = K + (size_t)c * ld;
        memset(k, 0, ld * sizeof *k);
        for (int32_t i = r - 1; i >= 0; --i) {
            const double* R_i = f->R + (size_t)i * ld;
            double s = -R_i[r + c];
            for (int32_t j = i + 1; j < r; ++j) {
                s -= R_i[j] * k[f->order[j]];
            }
            k[f->order[i]] = s / R_i[i];
        }
        k[f->order[r + c]] = 1.0;
    }
    for (int32_t a = 0; a < m; ++a) {
        for (int32_t b = 0; b < m; ++b) {
            G[(size_t)a * (size_t)m + (size_t)b] =
                perpi_dot(n, K + (size_t)a * ld, K + (size_t)b * ld);
        }
    }
    return perpi_chol_factor_any(m, G);
}

void perpi_psd_least_norm(const perpi_psd* f, const double* K, const double* G, double* x,
                          double* work)
{
    const int32_t n = f->n, m = n - f->rank;
    double* y = work;
    double* t = work + n;
    for (int32_t i = 0; i < n; ++i) {
        y[i] = x[i] / f->scale[i];
    }
    perpi_matvec(m, n, K, y, t);
    perpi_chol_solve_any(m, G, t);
    for (int32_t c = 0; c < m; ++c) {
        subtract_multiple(n, t[c], K + (size_t)c * (size_t)n, y);
    }
    for (int32_t i = 0; i < n; ++i) {
        x[i] = f->scale[i] * y[i];
    }
}

/* ---- LU, complete pivoting ---------------------------------------------------------------------------*/

/* Ruiz scaling: rows and columns are brought towards a largest entry of 1 together, so that the
 * rank does not depend on the units of either. */
static void equilibrate(int32_t n, perpi_luc* f)
{
    enum { ROUNDS = 8 };
    const size_t ld = (size_t)n;
    for (int32_t i = 0; i < n; ++i) {
        f->dr[i] = f->dc[i] = 1.0;
    }
    for (int round = 0; round < ROUNDS; ++round) {
        for (int side = 0; side < 2; ++side) {
            for (int32_t i = 0; i < n; ++i) {
                const size_t first = side == 0 ? (size_t)i * ld : (size_t)i;
                const size_t step = side == 0 ? 1 : ld;
                double size = 0.0;
                for (int32_t j = 0; j < n; ++j) {
                    const double a = fabs(f->LU[first + (size_t)j * step]);
                    size = a > size ? a : size;
                }
                if (!(size > 0.0)) {
                    continue;
                }
                const double t = 1.0 / sqrt(size);
                for (int32_t j = 0; j < n; ++j) {
                    f->LU[first + (size_t)j * step] *= t;
                }
                (side == 0 ? f->dr : f->dc)[i] *= t;
            }
        }
    }
}

bool perpi_luc_factor(int32_t n, const double* A, double tolerance, perpi_luc* f)
{
    const size_t ld = (size_t)n;
    double* LU = f->LU;
    for (size_t i = 0; i < ld * ld; ++i) {
        if (!isfinite(A[i])) {
            return false;
        }
        LU[i] = A[i];
    }
    for (int32_t i = 0; i < n; ++i) {
        f->row[i] = f->col[i] = i;
    }
    equilibrate(n, f);
    double largest = 0.0;
    int32_t k = 0;
    for (; k < n; ++k) {
        int32_t bi = k, bj = k;
        double size = -1.0;
        for (int32_t i = k; i < n; ++i) {
            const double* LU_i = LU + (size_t)i * ld;
            for (int32_t j = k; j < n; ++j) {
                const double a = fabs(LU_i[j]);
                if (!(a <= size)) {
                    size = a;
                    bi = i;
                    bj = j;
                }
            }
        }
        if (!isfinite(size)) {
            return false;
        }
        largest = k == 0 ? size : largest;
        if (!(size > tolerance * largest)) {
            break;
        }
        if (bi != k) {
            swap_rows(n, LU + (size_t)k * ld, LU + (size_t)bi * ld);
            swap_int(&f->row[k], &f->row[bi]);
        }
        if (bj != k) {
            for (int32_t i = 0; i < n; ++i) {
                double* LU_i = LU + (size_t)i * ld;
                const double t = LU_i[k];
                LU_i[k] = LU_i[bj];
                LU_i[bj] = t;
            }
            swap_int(&f->col[k], &f->col[bj]);
        }
        const double* LU_k = LU + (size_t)k * ld;
        for (int32_t i = k + 1; i < n; ++i) {
            double* LU_i = LU + (size_t)i * ld;
            if (LU_i[k] != 0.0) {
                LU_i[k] /= LU_k[k];
                subtract_multiple(n - k - 1, LU_i[k], LU_k + k + 1, LU_i + k + 1);
            }
        }
    }
    f->n = n;
    f->rank = k;
    return true;
}

double perpi_luc_solve_basic(const perpi_luc* f, double* x, double* work)
{
    const int32_t n = f->n, r = f->rank;
    const size_t ld = (size_t)n;
    for (int32_t i = 0; i < n; ++i) {
        work[i] = f->dr[f->row[i]] * x[f->row[i]];
    }
    for (int32_t i = 1; i < n; ++i) {
        const int32_t m = i < r ? i : r;
        work[i] -= perpi_dot(m, f->LU + (size_t)i * ld, work);
    }
    double worst = 0.0;
    for (int32_t i = r; i < n; ++i) {
        const double e = fabs(work[i]);
        worst = e <= worst ? worst : e;
        work[i] = 0.0;
    }
    for (int32_t i = r - 1; i >= 0; --i) {
        const double* U_i = f->LU + (size_t)i * ld;
        work[i] = (work[i] - perpi_dot(r - i - 1, U_i + i + 1, work + i + 1)) / U_i[i];
    }
    for (int32_t i = 0; i < n; ++i) {
        x[f->col[i]] = f->dc[f->col[i]] * work[i];
    }
    return worst;
}

void perpi_luc_null_space(const perpi_luc* f, double* K)
{
    const int32_t n = f->n, r = f->rank;
    const size_t ld = (size_t)n;
    for (int32_t c = r; c < n; ++c) {
        double* k = K + (size_t)(c - r) * ld;
        memset(k, 0, ld * sizeof *k);
        for (int32_t i = r - 1; i >= 0; --i) {
            const double* U_i = f->LU + (size_t)i * ld;
            double s = -U_i[c];
            for (int32_t j = i + 1; j < r; ++j) {
                s -= U_i[j] * k[f->col[j]];
            }
            k[f->col[i]] = s / U_i[i];
        }
        k[f->col[c]] = 1.0;
        for (int32_t i = 0; i < n; ++i) {
            k[i] *= f->dc[i];
        }
    }
}

/* ---- inverse and rank ------------------------------------------------------------------------------*/

static void subtract_row(int32_t n, double t, const double* restrict a, double* restrict b)
{
    for (int32_t i = 0; i < n; ++i) {
        b[i] -= t * a[i];
    }
}

bool perpi_invert(int32_t k, double tiny, double* A, int32_t* order)
{
    for (int32_t c = 0; c < k; ++c) {
        int32_t best = c;
        double largest = 0.0;
        for (int32_t i = c; i < k; ++i) {
            const double m = fabs(A[(size_t)i * k + c]);
            if (m > largest) {
                largest = m;
                best = i;
            }
        }
        if (!(largest > tiny) || !(largest <= DBL_MAX)) {
            return false;
        }
        order[c] = best;
        double* A_c = A + (size_t)c * k;
        if (best != c) {
            double* A_b = A + (size_t)best * k;
            for (int32_t j = 0; j < k; ++j) {
                const double t = A_c[j];
                A_c[j] = A_b[j];
                A_b[j] = t;
            }
        }
        const double inverse = 1.0 / A_c[c];
        A_c[c] = 1.0;
        for (int32_t j = 0; j < k; ++j) {
            A_c[j] *= inverse;
        }
        for (int32_t i = 0; i < k; ++i) {
            double* A_i = A + (size_t)i * k;
            const double l = A_i[c];
            if (i == c || l == 0.0) {
                continue;
            }
            A_i[c] = 0.0;
            subtract_row(k, l, A_c, A_i);
        }
    }
    for (int32_t c = k - 1; c >= 0; --c) { /* undo the exchanges: they permute columns */
        if (order[c] != c) {
            for (int32_t i = 0; i < k; ++i) {
                double* A_i = A + (size_t)i * k;
                const double t = A_i[c];
                A_i[c] = A_i[order[c]];
                A_i[order[c]] = t;
            }
        }
    }
    return true;
}

/* Columns to a largest entry of 1. */
static void scale_columns(int32_t k, double* A)
{
    for (int32_t j = 0; j < k; ++j) {
        double largest = 0.0;
        for (int32_t i = 0; i < k; ++i) {
            const double m = fabs(A[(size_t)i * k + j]);
            largest = m > largest ? m : largest;
        }
        for (int32_t i = 0; i < k && largest > 0.0; ++i) {
            A[(size_t)i * k + j] /= largest;
        }
    }
}

static void exchange_rows(int32_t k, double* A, int32_t p, int32_t q)
{
    for (int32_t j = 0; j < k && p != q; ++j) {
        const double t = A[(size_t)p * k + j];
        A[(size_t)p * k + j] = A[(size_t)q * k + j];
        A[(size_t)q * k + j] = t;
    }
}

static void exchange_columns(int32_t k, double* A, int32_t c, int32_t q)
{
    for (int32_t i = 0; i < k && c != q; ++i) {
        const double t = A[(size_t)i * k + c];
        A[(size_t)i * k + c] = A[(size_t)i * k + q];
        A[(size_t)i * k + q] = t;
    }
}

int32_t perpi_independent_columns(int32_t k, double tiny, double* A, int32_t* column)
{
    scale_columns(k, A);
    for (int32_t j = 0; j < k; ++j) {
        column[j] = j;
    }
    int32_t rank = 0;
    for (; rank < k; ++rank) {
        int32_t p = rank, c = rank;
        double largest = 0.0;
        for (int32_t i = rank; i < k; ++i) {
            for (int32_t j = rank; j < k; ++j) {
                const double m = fabs(A[(size_t)i * k + j]);
                if (m > largest) {
                    largest = m;
                    p = i;
                    c = j;
                }
            }
        }
        if (!(largest > tiny)) {
            break;
        }
        exchange_rows(k, A, p, rank);
        exchange_columns(k, A, c, rank);
        const int32_t t = column[c];
        column[c] = column[rank];
        column[rank] = t;
        for (int32_t i = rank + 1; i < k; ++i) {
            const double l = A[(size_t)i * k + rank] / A[(size_t)rank * k + rank];
            for (int32_t j = rank + 1; j < k; ++j) {
                A[(size_t)i * k + j] -= l * A[(size_t)rank * k + j];
            }
        }
    }
    return rank;
}
