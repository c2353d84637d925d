/* Block tridiagonal systems, by multiplying back. */
#include "perp_test.h"

#include "linalg/block_tridiagonal.h"
#include "perp/perp.h"

enum { BLOCKS_MAX = 40, ROWS_MAX = BLOCKS_MAX * PERPI_TRIDIAGONAL_MAX };

/* A small generator of our own, so that a failure can be repeated. */
static uint64_t seed = 1;
static double uniform(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed >> 11) / 4503599627370496.0 - 1.0; /* [-1, 1) */
}

static double A[ROWS_MAX][ROWS_MAX]; /* the same matrix, dense */

/* Unsymmetric blocks; the diagonal ones have zeros on their diagonal, so that rows are exchanged. */
static int32_t fill(perpi_tridiagonal* t, const int32_t* size, int32_t count, double coupling)
{
    int32_t first[BLOCKS_MAX + 1] = {0};
    for (int32_t g = 0; g < count; ++g) {
        first[g + 1] = first[g] + size[g];
    }
    memset(A, 0, sizeof A);
    perpi_tridiagonal_clear(t);
    for (int32_t g = 0; g < count; ++g) {
        for (int32_t other = g > 0 ? g - 1 : 0; other <= g + 1 && other < count; ++other) {
            int32_t stride;
            double* to = perpi_tridiagonal_block(t, g, other, &stride);
            for (int32_t i = 0; i < size[g]; ++i) {
                for (int32_t j = 0; j < size[other]; ++j) {
                    const bool largest = other == g && j == (i + 1) % size[g];
                    const double a = other != g ? coupling * uniform()
                                     : largest  ? 4.0 + uniform()
                                     : i == j   ? 0.0
                                                : 0.3 * uniform();
                    to[i * stride + j] = a;
                    A[first[g] + i][first[other] + j] = a;
                }
            }
        }
    }
    return first[count];
}

static double error_of_solution(perpi_tridiagonal* t, int32_t rows)
{
    double x[ROWS_MAX], b[ROWS_MAX], worst = 0.0;
    for (int32_t i = 0; i < rows; ++i) {
        b[i] = x[i] = uniform();
    }
    perpi_tridiagonal_solve(t, x);
    for (int32_t i = 0; i < rows; ++i) {
        double sum = -b[i];
        for (int32_t j = 0; j < rows; ++j) {
            sum += A[i][j] * x[j];
        }
        worst = fabs(sum) <= worst ? worst : fabs(sum);
    }
    return worst;
}

TEST(chains_of_blocks_of_all_sizes_are_solved)
{
    perp_context* context = NULL;
    perpi_tridiagonal t = {0};
    CHECK(perp_context_create(NULL, &context) == PERP_OK);
    for (int32_t kind = 0; kind <= PERPI_TRIDIAGONAL_MAX; ++kind) { /* 0: mixed */
        for (int32_t count = 1; count <= BLOCKS_MAX; count += 13) {
            int32_t size[BLOCKS_MAX];
            for (int32_t g = 0; g < count; ++g) {
                size[g] = kind > 0 ? kind : 1 + (7 * g + 2) % PERPI_TRIDIAGONAL_MAX;
            }
            CHECK(perpi_tridiagonal_shape(context, &t, count, size) == PERP_OK);
            const int32_t rows = fill(&t, size, count, 0.3);
            CHECK(perpi_tridiagonal_factor(&t));
            CHECK_AT_MOST(error_of_solution(&t, rows), 1e-13);
        }
    }
    perpi_tridiagonal_free(context, &t);
    perp_context_destroy(context);
}

TEST(a_singular_or_undefined_block_is_said_to_be_one)
{
    perp_context* context = NULL;
    perpi_tridiagonal t = {0};
    const int32_t size[4] = {3, 3, 3, 2};
    CHECK(perp_context_create(NULL, &context) == PERP_OK);
    CHECK(perpi_tridiagonal_shape(context, &t, 4, size) == PERP_OK);
    for (int32_t g = 0; g < 4; ++g) {
        for (int kind = 0; kind < 2; ++kind) {
            int32_t stride;
            (void)fill(&t, size, 4, 0.0);
            double* D = perpi_tridiagonal_block(&t, g, g, &stride);
            for (int32_t i = 0; i < size[g]; ++i) {
                D[i] = kind == 0 ? 0.0 : NAN;
            }
            CHECK(!perpi_tridiagonal_factor(&t));
        }
    }
    perpi_tridiagonal_free(context, &t);
    perp_context_destroy(context);
}

TEST(only_patterns_of_neighbours_fit)
{
    const int32_t size[4] = {3, 5, 1, 6}, start[5] = {0, 2, 5, 8, 10};
    int32_t column[10] = {0, 1, 0, 1, 2, 2, 1, 3, 3, 2};
    CHECK(perpi_tridiagonal_fits(4, size, start, column));
    column[1] = 2;
    CHECK(!perpi_tridiagonal_fits(4, size, start, column));
    const int32_t large[4] = {3, 7, 1, 6};
    column[1] = 1;
    CHECK(!perpi_tridiagonal_fits(4, large, start, column));
}
