/* The factorisation of large block systems on the elimination tree: residuals, any number of threads. */
#include <string.h>

#include "linalg/block_lu.h"
#include "linalg/dense.h"
#include "linalg/front_kernels.h"
#include "perp_test.h"

enum { GROUPS_MOST = 1000, BLOCKS_MOST = 12000, ROWS_MOST = 6 * GROUPS_MOST };

static uint64_t seed_state;
static double uniform(void)
{
    seed_state = seed_state * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed_state >> 11) / 9007199254740992.0;
}

typedef struct lattice {
    int32_t groups, size[GROUPS_MOST], row[GROUPS_MOST + 1], start[GROUPS_MOST + 1];
    int32_t column[BLOCKS_MOST];
    double value[BLOCKS_MOST][36];
} lattice;

/* Bodies on a grid, a part of three velocities, neighbours coupled with a probability; unsymmetric. */
static void make(lattice* a, const int32_t n[3], double planar, double density)
{
    int32_t k = 0;
    a->groups = n[0] * n[1] * n[2];
    a->row[0] = 0;
    for (int32_t i = 0; i < a->groups; ++i) {
        a->size[i] = uniform() < planar ? 3 : 6;
        a->row[i + 1] = a->row[i] + a->size[i];
    }
    for (int32_t i = 0; i < a->groups; ++i) {
        a->start[i] = k;
        for (int32_t j = 0; j < a->groups; ++j) {
            const int32_t low = i < j ? i : j, high = i < j ? j : i;
            const int32_t x = abs(i % n[0] - j % n[0]), y = abs(i / n[0] % n[1] - j / n[0] % n[1]);
            const int32_t z = abs(i / n[0] / n[1] - j / n[0] / n[1]);
            const uint64_t mixed =
                ((uint64_t)low * 1000003u + (uint64_t)high) * 0x9E3779B97F4A7C15u;
            const bool coupled = (double)(mixed >> 40) / 16777216.0 < density;
            if (i != j && (x + y + z != 1 || !coupled)) {
                continue;
            }
            for (int32_t e = 0; e < 36; ++e) {
                a->value[k][e] = 2.0 * uniform() - 1.0;
            }
            for (int32_t e = 0; i == j && e < a->size[i]; ++e) {
                a->value[k][e * a->size[i] + e] += 12.0;
            }
            a->column[k++] = j;
        }
    }
    a->start[a->groups] = k;
}

static void fill(perpi_block_lu* lu, const lattice* a)
{
    perpi_block_lu_clear(lu);
    for (int32_t i = 0; i < a->groups; ++i) {
        for (int32_t k = a->start[i]; k < a->start[i + 1]; ++k) {
            const int32_t columns = a->size[a->column[k]];
            int32_t ld;
            double* out = perpi_block_lu_block(lu, k, &ld);
            for (int32_t r = 0; r < a->size[i]; ++r) {
                memcpy(out + (size_t)r * (size_t)ld, a->value[k] + r * columns,
                       (size_t)columns * sizeof *out);
            }
        }
    }
}

/* The largest entry of A x - b. */
static double residual(const lattice* a, const double* x, const double* b)
{
    double worst = 0.0;
    for (int32_t i = 0; i < a->groups; ++i) {
        for (int32_t r = 0; r < a->size[i]; ++r) {
            double t = -b[a->row[i] + r];
            for (int32_t k = a->start[i]; k < a->start[i + 1]; ++k) {
                const int32_t j = a->column[k];
                for (int32_t c = 0; c < a->size[j]; ++c) {
                    t += a->value[k][r * a->size[j] + c] * x[a->row[j] + c];
                }
            }
            worst = !(fabs(t) <= worst) ? fabs(t) : worst;
        }
    }
    return worst;
}

static const int32_t sides[][3] = {{100, 1, 1}, {9, 9, 1},    {30, 30, 1},
                                   {6, 6, 6},   {10, 10, 10}, {900, 1, 1}};
static const double densities[] = {1.0, 0.6, 0.2};

TEST(large_systems_are_solved_with_the_same_bits_by_any_number_of_threads)
{
    static lattice a;
    static double b[ROWS_MOST], x[ROWS_MOST], first[ROWS_MOST];
    const int32_t threads[] = {1, 2, 3, 8};
    double worst = 0.0;
    for (size_t s = 0; s < 3 * sizeof sides / sizeof sides[0]; ++s) {
        seed_state = s;
        make(&a, sides[s / 3], s % 6 < 3 ? 0.1 : 1.0, densities[s % 3]);
        const int32_t rows = a.row[a.groups];
        for (int32_t i = 0; i < rows; ++i) {
            b[i] = 2.0 * uniform() - 1.0;
        }
        for (int t = 0; t < 4; ++t) {
            perp_context* context = NULL;
            perpi_block_lu* lu = NULL;
            REQUIRE_OK(perp_context_create(NULL, &context));
            REQUIRE_OK(perp_context_set_threads(context, threads[t]));
            REQUIRE_OK(perpi_block_lu_create(context, &lu));
            REQUIRE_OK(perpi_block_lu_analyse(lu, a.groups, a.size, a.start, a.column));
            uint64_t before = 0;
            for (int round = 0; round < 2; ++round) { /* the second one requests no memory */
                fill(lu, &a);
                REQUIRE(perpi_block_lu_factor(lu));
                memcpy(x, b, sizeof x);
                perpi_block_lu_solve(lu, x);
                const uint64_t now = perp_context_allocations(context);
                CHECK(round == 0 || now == before);
                before = now;
            }
            if (t == 0) {
                memcpy(first, x, sizeof x);
                const double off = residual(&a, x, b);
                worst = !(off <= worst) ? off : worst;
            }
            CHECK(memcmp(first, x, (size_t)rows * sizeof *x) == 0);
            perpi_block_lu_destroy(lu);
            perp_context_destroy(context);
        }
    }
    printf("  largest residual %.1e\n", worst);
    CHECK_AT_MOST(worst, 1e-13);
}

/* The diagonal is dominant, so the determinant is positive; a row times -1 makes it negative. */
TEST(the_sign_of_the_determinant_changes_with_each_row_that_is_reversed)
{
    static lattice a;
    const int32_t side[3] = {10, 10, 10};
    perp_context* context = NULL;
    perpi_block_lu* lu = NULL;
    seed_state = 7;
    make(&a, side, 0.1, 1.0);
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perpi_block_lu_create(context, &lu));
    REQUIRE_OK(perpi_block_lu_analyse(lu, a.groups, a.size, a.start, a.column));
    int sign = 1;
    for (int32_t at = 0; at < 1000; at += 99) {
        fill(lu, &a);
        REQUIRE(perpi_block_lu_factor(lu));
        CHECK_EQ_INT(perpi_block_lu_sign(lu), sign);
        for (int32_t k = a.start[at]; k < a.start[at + 1]; ++k) {
            for (int32_t e = 0; e < a.size[a.column[k]]; ++e) {
                a.value[k][e] = -a.value[k][e];
            }
        }
        sign = -sign;
    }
    perpi_block_lu_destroy(lu);
    perp_context_destroy(context);
}

TEST(a_large_singular_matrix_is_refused_by_any_number_of_threads)
{
    static lattice a;
    const int32_t side[3] = {10, 10, 10};
    for (int32_t threads = 1; threads <= 3; ++threads) {
        for (int32_t at = 0; at < 1000; at += 333) {
            perp_context* context = NULL;
            perpi_block_lu* lu = NULL;
            seed_state = 7;
            make(&a, side, 0.1, 1.0);
            for (int32_t k = a.start[at]; k < a.start[at + 1]; ++k) {
                memset(a.value[k], 0, sizeof a.value[k]);
            }
            REQUIRE_OK(perp_context_create(NULL, &context));
            REQUIRE_OK(perp_context_set_threads(context, threads));
            REQUIRE_OK(perpi_block_lu_create(context, &lu));
            REQUIRE_OK(perpi_block_lu_analyse(lu, a.groups, a.size, a.start, a.column));
            fill(lu, &a);
            CHECK(!perpi_block_lu_factor(lu));
            perpi_block_lu_destroy(lu);
            perp_context_destroy(context);
        }
    }
}

/* Each entry takes its terms in one order, whatever the width of the registers. */
TEST(products_of_fronts_have_the_same_bits_with_any_registers)
{
    enum { ROWS = 19, INNER = 13, COLUMNS = 79 };
    static double L[ROWS * INNER], U[INNER * COLUMNS], C[3][ROWS * COLUMNS];
    seed_state = 3;
    for (int32_t trial = 0; trial < 200; ++trial) {
        const int32_t rows = 1 + trial % ROWS, n = 1 + trial % INNER, m = 1 + (7 * trial) % COLUMNS;
        for (int32_t i = 0; i < rows * n; ++i) {
            L[i] = uniform() - 0.5;
        }
        for (int32_t i = 0; i < n * m; ++i) {
            U[i] = uniform() - 0.5;
        }
        for (int32_t i = 0; i < rows * m; ++i) {
            C[0][i] = C[1][i] = C[2][i] = uniform();
        }
        perpi_subtract_front(rows, n, m, L, U, C[0]);
        perpi_subtract_by_four(rows, n, m, L, U, C[1]);
        for (int32_t i = 0; i < rows; ++i) {
            for (int32_t j = 0; j < m; ++j) {
                for (int32_t p = 0; p < n; ++p) {
                    C[2][i * m + j] -= L[i * n + p] * U[p * m + j];
                }
            }
        }
        const size_t size = (size_t)rows * (size_t)m * sizeof C[0][0];
        CHECK(memcmp(C[0], C[2], size) == 0);
        CHECK(memcmp(C[1], C[2], size) == 0);
    }
}

/* A front's pivots, its rows to the right and a right-hand side, by single numbers. */
static void check_front(int32_t n, int32_t m)
{
    enum { MOST = 12, COLUMNS = 30 };
    double A[MOST * MOST], LU[MOST * MOST], U[MOST * COLUMNS], V[MOST * COLUMNS];
    double x[MOST], y[MOST], w[COLUMNS], c[COLUMNS], L[COLUMNS * MOST];
    int32_t pivot[MOST], other[MOST];
    for (int32_t i = 0; i < n * n; ++i) {
        A[i] = LU[i] = uniform() - 0.5;
    }
    for (int32_t i = 0; i < n * m; ++i) {
        U[i] = V[i] = uniform() - 0.5;
        L[i] = uniform() - 0.5;
    }
    for (int32_t i = 0; i < n; ++i) {
        x[i] = y[i] = uniform();
    }
    for (int32_t i = 0; i < m; ++i) {
        w[i] = c[i] = uniform();
    }
    REQUIRE(perpi_lu_front(n, A, pivot));
    REQUIRE(perpi_lu_factor(n, LU, other, NULL));
    CHECK(memcmp(A, LU, (size_t)(n * n) * sizeof *A) == 0);
    CHECK(memcmp(pivot, other, (size_t)n * sizeof *pivot) == 0);
    perpi_lu_solve_front(n, A, pivot, x);
    perpi_lu_solve(n, A, pivot, y);
    CHECK(memcmp(x, y, (size_t)n * sizeof *x) == 0);
    perpi_subtract_product(m, n, L, x, w);
    for (int32_t i = 0; i < m; ++i) {
        c[i] -= perpi_dot(n, L + i * n, x);
    }
    CHECK(memcmp(w, c, (size_t)m * sizeof *w) == 0);
    perpi_solve_columns(n, A, pivot, m, U, 0, m);
    for (int32_t j = 0; j < m; ++j) {
        for (int32_t i = 0; i < n; ++i) {
            const double t = V[i * m + j];
            V[i * m + j] = V[pivot[i] * m + j];
            V[pivot[i] * m + j] = t;
        }
        for (int32_t i = 0; i < n; ++i) {
            for (int32_t k = 0; k < i; ++k) {
                V[i * m + j] -= A[i * n + k] * V[k * m + j];
            }
        }
        for (int32_t i = n - 1; i >= 0; --i) {
            for (int32_t k = i + 1; k < n; ++k) {
                V[i * m + j] -= A[i * n + k] * V[k * m + j];
            }
            V[i * m + j] *= 1.0 / A[i * n + i];
        }
    }
    CHECK(memcmp(U, V, (size_t)(n * m) * sizeof *U) == 0);
}

TEST(fronts_of_any_size_have_the_bits_of_plain_loops)
{
    seed_state = 4;
    for (int32_t trial = 0; trial < 20; ++trial) {
        for (int32_t n = 1; n <= 12; ++n) {
            for (int32_t m = 1; m <= 30; ++m) {
                check_front(n, m);
            }
        }
    }
}
