/* The dense kernels, by multiplying back, and against LAPACK where it is there. */
#include "perp_test.h"

#include "linalg/dense.h"

#ifdef PERP_HAVE_LAPACKE
#include <lapacke.h>
#endif

enum { N_MAX = 40 };

/* A small generator of our own, so that a failure can be repeated. */
static uint64_t seed = 1;
static double uniform(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed >> 11) / 4503599627370496.0 - 1.0; /* [-1, 1) */
}

static void fill(int n, double* x)
{
    for (int i = 0; i < n; ++i) {
        x[i] = uniform();
    }
}

/* A = B B', B is n x r. */
static void semidefinite(int n, int r, double* A)
{
    static double B[N_MAX * N_MAX];
    fill(n * r, B);
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
            A[i * n + j] = perpi_dot(r, B + i * r, B + j * r);
        }
    }
}

static double largest_difference(int n, const double* a, const double* b)
{
    double worst = 0.0;
    for (int i = 0; i < n; ++i) {
        const double d = fabs(a[i] - b[i]);
        worst = d <= worst ? worst : d;
    }
    return worst;
}

TEST(a_dot_product_sums_every_term_for_every_length)
{
    double a[N_MAX], b[N_MAX];
    for (int n = 0; n <= N_MAX; ++n) {
        double exact = 0.0;
        for (int i = 0; i < n; ++i) {
            a[i] = i + 1;
            b[i] = 2 * i - 7;
            exact += a[i] * b[i]; /* whole numbers: no rounding */
        }
        CHECK_AT_MOST(fabs(perpi_dot(n, a, b) - exact), 0.0);
        CHECK(perpi_dot(n, a, b) == perpi_dot(n, b, a));
    }
}

TEST(a_matrix_times_a_vector_and_its_transpose_agree_with_hand_sums)
{
    const double A[] = {1, 2, 3, 4, 5, 6}, x[] = {1, -1, 2}, t[] = {1, 10};
    double y[2], z[3] = {100, 200, 300};
    perpi_matvec(2, 3, A, x, y);
    CHECK_AT_MOST(fabs(y[0] - 5), 0.0);
    CHECK_AT_MOST(fabs(y[1] - 11), 0.0);
    perpi_matvec_transposed_add(2, 3, A, t, z);
    CHECK_AT_MOST(fabs(z[0] - 141) + fabs(z[1] - 252) + fabs(z[2] - 363), 0.0);
}

TEST(lu_solves_multiply_back_for_the_matrix_and_its_transpose)
{
    double A[N_MAX * N_MAX], LU[N_MAX * N_MAX], T[N_MAX * N_MAX], b[N_MAX], x[N_MAX], r[N_MAX];
    int32_t pivot[N_MAX];
    for (int n = 1; n <= N_MAX; n += 3) {
        fill(n * n, A);
        fill(n, b);
        memcpy(LU, A, sizeof A);
        perpi_lu_info info;
        REQUIRE(perpi_lu_factor(n, LU, pivot, &info));
        CHECK(info.pivot_min > 0.0 && info.pivot_min <= info.pivot_max);
        memcpy(x, b, sizeof x);
        perpi_lu_solve(n, LU, pivot, x);
        perpi_matvec(n, n, A, x, r);
        CHECK_AT_MOST(largest_difference(n, r, b), 1e-11);
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j < n; ++j) {
                T[i * n + j] = A[j * n + i];
            }
        }
        memcpy(x, b, sizeof x);
        perpi_lu_solve_transposed(n, LU, pivot, x);
        perpi_matvec(n, n, T, x, r);
        CHECK_AT_MOST(largest_difference(n, r, b), 1e-11);
    }
}

TEST(lu_knows_the_sign_of_the_determinant)
{
    int negative = 0;
    for (int k = 0; k < 100; ++k) {
        double A[9];
        int32_t pivot[3];
        fill(9, A);
        const double det = A[0] * (A[4] * A[8] - A[5] * A[7]) - A[1] * (A[3] * A[8] - A[5] * A[6]) +
                           A[2] * (A[3] * A[7] - A[4] * A[6]);
        REQUIRE(perpi_lu_factor(3, A, pivot, NULL));
        CHECK_EQ_INT(perpi_lu_sign(3, A, pivot), det < 0.0 ? -1 : 1);
        negative += det < 0.0;
    }
    CHECK(negative > 20 && negative < 80);
}

TEST(lu_refuses_a_singular_matrix_and_one_with_a_nan)
{
    double A[] = {1, 2, 2, 4}, B[] = {1, NAN, 3, 4}, C[] = {NAN, 1, 1, 1};
    int32_t pivot[2];
    CHECK(!perpi_lu_factor(2, A, pivot, NULL));
    CHECK(!perpi_lu_factor(2, B, pivot, NULL));
    CHECK(!perpi_lu_factor(2, C, pivot, NULL));
}

TEST(cholesky_of_a_block_multiplies_back_and_its_inverse_is_symmetric_to_the_bit)
{
    for (int n = 1; n <= 6; ++n) {
        double A[36], L[36], inverse[36], x[6], b[6], r[6];
        semidefinite(n, n + 2, A);
        fill(n, b);
        REQUIRE(perpi_chol_factor(n, A, L));
        memcpy(x, b, sizeof x);
        perpi_chol_solve(n, L, x);
        perpi_matvec(n, n, A, x, r);
        CHECK_AT_MOST(largest_difference(n, r, b), 1e-11);
        perpi_chol_inverse(n, L, inverse);
        perpi_matvec(n, n, inverse, b, r);
        CHECK_AT_MOST(largest_difference(n, r, x), 1e-10);
        for (int i = 0; i < n * n; ++i) {
            CHECK(inverse[i] == inverse[(i % n) * n + i / n]);
        }
    }
}

/* The block of a rigid body, whose zeros are left out, beside the loop that leaves nothing out; and blocks that
 * have one coupling more, which must not be left out. */
TEST(cholesky_of_a_rigid_body_is_that_of_the_whole_block_also_with_one_coupling_more)
{
    static const int coupling[] = {-1, 6, 12, 13, 18, 19, 20, 24, 25, 26, 30, 31, 32};
    for (size_t k = 0; k < sizeof coupling / sizeof coupling[0]; ++k) {
        double A[36] = {0}, turning[9], L[36], whole[36], x[6], y[6];
        semidefinite(3, 5, turning);
        for (int i = 0; i < 3; ++i) {
            A[7 * i] = 2.5;
            memcpy(A + 6 * (3 + i) + 3, turning + 3 * (ptrdiff_t)i, 3 * sizeof *A);
        }
        if (coupling[k] >= 0) {
            A[coupling[k]] = A[6 * (coupling[k] % 6) + coupling[k] / 6] = 0.01;
        }
        memcpy(whole, A, sizeof whole);
        REQUIRE(perpi_chol_factor(6, A, L));
        REQUIRE(perpi_chol_factor_any(6, whole));
        for (int i = 0; i < 6; ++i) {
            for (int j = 0; j <= i; ++j) {
                CHECK_AT_MOST(fabs(L[6 * i + j] - whole[6 * i + j]), 1e-15);
            }
        }
        fill(6, x);
        memcpy(y, x, sizeof y);
        perpi_chol_solve(6, L, x);
        perpi_chol_solve_any(6, whole, y);
        CHECK_AT_MOST(largest_difference(6, x, y), 1e-12);
        A[21] = -A[21];
        CHECK(!perpi_chol_factor(6, A, L));
    }
}

TEST(cholesky_of_three_and_six_velocities_has_the_bits_of_plain_loops)
{
    for (int n = 3; n <= 6; n += 3) {
        double A[36], L[36], x[6], y[6];
        semidefinite(n, n + 2, A);
        fill(n, x);
        memcpy(y, x, sizeof y);
        REQUIRE(perpi_chol_factor(n, A, L));
        perpi_chol_forward(n, L, x);
        perpi_chol_backward(n, L, x);
        for (int i = 0; i < n; ++i) {
            for (int k = 0; k < i; ++k) {
                y[i] -= L[i * n + k] * y[k];
            }
            y[i] /= L[i * n + i];
        }
        for (int i = n - 1; i >= 0; --i) {
            for (int k = i + 1; k < n; ++k) {
                y[i] -= L[k * n + i] * y[k];
            }
            y[i] /= L[i * n + i];
        }
        CHECK(memcmp(x, y, (size_t)n * sizeof *x) == 0);
    }
}

TEST(cholesky_refuses_what_is_not_positive_definite)
{
    const double indefinite[] = {1, 2, 2, 1}, zero[] = {0}, bad[] = {1, 0, NAN, 1};
    double L[4];
    CHECK(!perpi_chol_factor(2, indefinite, L));
    CHECK(!perpi_chol_factor(1, zero, L));
    CHECK(!perpi_chol_factor(2, bad, L));
}

TEST(a_large_cholesky_multiplies_back)
{
    double A[N_MAX * N_MAX], L[N_MAX * N_MAX], x[N_MAX], b[N_MAX], r[N_MAX];
    semidefinite(30, 30, A);
    for (int i = 0; i < 30; ++i) {
        A[i * 30 + i] += 1.0;
    }
    memcpy(L, A, sizeof A);
    fill(30, b);
    memcpy(x, b, sizeof b);
    REQUIRE(perpi_chol_factor_any(30, L));
    perpi_chol_solve_any(30, L, x);
    perpi_matvec(30, 30, A, x, r);
    CHECK_AT_MOST(largest_difference(30, r, b), 1e-12);
}

static double psd_R[N_MAX * N_MAX], psd_scale[N_MAX], psd_K[N_MAX * N_MAX], psd_G[N_MAX * N_MAX];
static int32_t psd_order[N_MAX];

TEST(a_semidefinite_factor_finds_the_rank_whatever_the_units_of_the_rows)
{
    double A[N_MAX * N_MAX];
    for (int rank = 0; rank <= 12; ++rank) {
        const int n = 12;
        semidefinite(n, rank, A);
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j < n; ++j) {
                A[i * n + j] *= pow(10.0, (i % 5) - 2) * pow(10.0, (j % 5) - 2);
            }
        }
        perpi_psd f = {.R = psd_R, .order = psd_order, .scale = psd_scale};
        REQUIRE(perpi_psd_factor(n, A, 1e-12, &f));
        CHECK_EQ_INT(f.rank, rank);
    }
}

TEST(a_redundant_system_is_solved_and_its_least_norm_is_least)
{
    const int n = 9, rank = 6;
    double A[N_MAX * N_MAX], x[N_MAX], b[N_MAX], r[N_MAX], work[2 * N_MAX], truth[N_MAX];
    semidefinite(n, rank, A);
    fill(n, truth);
    perpi_matvec(n, n, A, truth, b);
    perpi_psd f = {.R = psd_R, .order = psd_order, .scale = psd_scale};
    REQUIRE(perpi_psd_factor(n, A, 1e-12, &f));
    REQUIRE(f.rank == rank);
    memcpy(x, b, sizeof x);
    CHECK_AT_MOST(perpi_psd_solve_basic(&f, x, work), 1e-12);
    perpi_matvec(n, n, A, x, r);
    CHECK_AT_MOST(largest_difference(n, r, b), 1e-11);
    int zeros = 0;
    for (int i = 0; i < n; ++i) {
        zeros += x[i] == 0.0;
    }
    CHECK_EQ_INT(zeros, n - rank);

    REQUIRE(perpi_psd_null_space(&f, psd_K, psd_G));
    perpi_psd_least_norm(&f, psd_K, psd_G, x, work);
    perpi_matvec(n, n, A, x, r);
    CHECK_AT_MOST(largest_difference(n, r, b), 1e-11);
    for (int c = 0; c < n - rank; ++c) { /* least: orthogonal to the null space, in scaled units */
        double dot = 0.0, image[N_MAX], k[N_MAX];
        for (int i = 0; i < n; ++i) {
            k[i] = psd_scale[i] * psd_K[c * n + i];
            dot += psd_K[c * n + i] * x[i] / psd_scale[i];
        }
        CHECK_AT_MOST(fabs(dot), 1e-12);
        perpi_matvec(n, n, A, k, image);
        memset(r, 0, sizeof r);
        CHECK_AT_MOST(largest_difference(n, image, r), 1e-12);
    }
}

TEST(an_inconsistent_redundant_system_is_reported)
{
    const double A[] = {4, 4, 4, 4}; /* rows say the same; the right-hand side does not */
    double x[] = {2, 3}, work[4];
    perpi_psd f = {.R = psd_R, .order = psd_order, .scale = psd_scale};
    REQUIRE(perpi_psd_factor(2, A, 1e-12, &f));
    CHECK_EQ_INT(f.rank, 1);
    CHECK_NEAR(perpi_psd_solve_basic(&f, x, work), 0.5, 1e-15); /* (3 - 2) / sqrt(4) */
}

TEST(a_semidefinite_factor_refuses_nan_and_a_negative_diagonal)
{
    const double bad[] = {1, NAN, NAN, 1}, negative[] = {-1};
    perpi_psd f = {.R = psd_R, .order = psd_order, .scale = psd_scale};
    CHECK(!perpi_psd_factor(2, bad, 1e-12, &f));
    CHECK(!perpi_psd_factor(1, negative, 1e-12, &f));
}

static double luc_LU[N_MAX * N_MAX], luc_dr[N_MAX], luc_dc[N_MAX];
static int32_t luc_row[N_MAX], luc_col[N_MAX];

TEST(complete_pivoting_finds_rank_solution_and_null_space_in_mixed_units)
{
    const int n = 12;
    for (int rank = 1; rank <= n; ++rank) {
        static double B[N_MAX * N_MAX], C[N_MAX * N_MAX], A[N_MAX * N_MAX];
        double truth[N_MAX], b[N_MAX], x[N_MAX], r[N_MAX], work[N_MAX];
        fill(n * rank, B);
        fill(n * rank, C);
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j < n; ++j) {
                A[i * n + j] = pow(10.0, (i % 3) * 2 - 2) *
                               perpi_dot(rank, B + i * rank, C + j * rank) * pow(10.0, (j % 4) - 2);
            }
        }
        fill(n, truth);
        perpi_matvec(n, n, A, truth, b);
        perpi_luc f = {.LU = luc_LU, .row = luc_row, .col = luc_col, .dr = luc_dr, .dc = luc_dc};
        REQUIRE(perpi_luc_factor(n, A, 1e-12, &f));
        CHECK_EQ_INT(f.rank, rank);
        memcpy(x, b, sizeof x);
        CHECK_AT_MOST(perpi_luc_solve_basic(&f, x, work), 1e-10);
        perpi_matvec(n, n, A, x, r);
        CHECK_AT_MOST(largest_difference(n, r, b), 1e-8);
        static double K[N_MAX * N_MAX];
        perpi_luc_null_space(&f, K);
        for (int c = 0; c < n - rank; ++c) {
            perpi_matvec(n, n, A, K + c * n, r);
            double size = 0.0;
            for (int i = 0; i < n; ++i) {
                size += fabs(K[c * n + i]);
            }
            CHECK(size > 1e-3);
            memset(x, 0, sizeof x);
            CHECK_AT_MOST(largest_difference(n, r, x), 1e-9 * size);
        }
    }
}

TEST(complete_pivoting_reports_a_contradiction)
{
    const double A[] = {1, 1, 1, 1};
    double x[] = {1, 2}, work[2];
    perpi_luc f = {.LU = luc_LU, .row = luc_row, .col = luc_col, .dr = luc_dr, .dc = luc_dc};
    REQUIRE(perpi_luc_factor(2, A, 1e-12, &f));
    CHECK_EQ_INT(f.rank, 1);
    CHECK_NEAR(perpi_luc_solve_basic(&f, x, work), 1.0, 1e-15);
    const double bad[] = {1, 2, INFINITY, 4};
    CHECK(!perpi_luc_factor(2, bad, 1e-12, &f));
}

#ifdef PERP_HAVE_LAPACKE
TEST(lu_and_cholesky_agree_with_lapack)
{
    static double A[N_MAX * N_MAX], LU[N_MAX * N_MAX], B[N_MAX * N_MAX];
    for (int n = 1; n <= N_MAX; n += 13) {
        double b[N_MAX], x[N_MAX], y[N_MAX];
        int32_t pivot[N_MAX];
        lapack_int ipiv[N_MAX];
        fill(n * n, A);
        fill(n, b);
        memcpy(LU, A, sizeof A);
        memcpy(B, A, sizeof A);
        memcpy(x, b, sizeof b);
        memcpy(y, b, sizeof b);
        REQUIRE(perpi_lu_factor(n, LU, pivot, NULL));
        perpi_lu_solve(n, LU, pivot, x);
        REQUIRE(LAPACKE_dgesv(LAPACK_ROW_MAJOR, n, 1, B, n, ipiv, y, 1) == 0);
        CHECK_AT_MOST(largest_difference(n, x, y), 1e-10);
        for (int i = 0; i < n; ++i) {
            CHECK_EQ_INT(pivot[i] + 1, ipiv[i]);
        }
    }
    double S[36], L[36], P[36];
    semidefinite(6, 8, S);
    REQUIRE(perpi_chol_factor(6, S, L));
    memcpy(P, S, sizeof S);
    REQUIRE(LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', 6, P, 6) == 0);
    for (int i = 0; i < 6; ++i) {
        for (int j = 0; j <= i; ++j) {
            CHECK_NEAR(L[i * 6 + j], P[i * 6 + j], 1e-13);
        }
    }
}
#endif
