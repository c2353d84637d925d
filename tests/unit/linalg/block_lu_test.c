/* tests/unit/linalg/block_lu_test.c - the block LU against dense LU, and its habits. */
#include "linalg/block_lu.h"
#include "linalg/dense.h"
#include "perp_test.h"

static uint64_t seed_state;
static double uniform(void)
{
    seed_state = seed_state * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed_state >> 11) / 9007199254740992.0;
}

enum { GROUPS = 40, ROWS = 4 * GROUPS };

typedef struct pattern {
    int32_t groups, size[GROUPS], row[GROUPS], start[GROUPS + 1], column[GROUPS * GROUPS], rows;
    double dense[ROWS * ROWS];
} pattern;

/* Random couplings, not necessarily stored on both sides; diagonally dominant. */
static void make(pattern* p, int32_t groups, double density)
{
    memset(p, 0, sizeof *p);
    p->groups = groups;
    for (int32_t i = 0; i < groups; ++i) {
        p->size[i] = 1 + (int32_t)(4.0 * uniform());
        p->row[i] = p->rows;
        p->rows += p->size[i];
    }
    int32_t k = 0;
    for (int32_t i = 0; i < groups; ++i) {
        p->start[i] = k;
        for (int32_t j = 0; j < groups; ++j) {
            if (i != j && uniform() > density) {
                continue;
            }
            p->column[k++] = j;
            for (int32_t a = 0; a < p->size[i]; ++a) {
                for (int32_t b = 0; b < p->size[j]; ++b) {
                    p->dense[(p->row[i] + a) * p->rows + p->row[j] + b] =
                        2.0 * uniform() - 1.0 + (i == j && a == b ? 20.0 : 0.0);
                }
            }
        }
    }
    p->start[groups] = k;
}

static bool fill_and_factor(perpi_block_lu* lu, const pattern* p)
{
    perpi_block_lu_clear(lu);
    for (int32_t i = 0; i < p->groups; ++i) {
        for (int32_t k = p->start[i]; k < p->start[i + 1]; ++k) {
            int32_t ld;
            double* out = perpi_block_lu_block(lu, k, &ld);
            for (int32_t a = 0; a < p->size[i]; ++a) {
                for (int32_t b = 0; b < p->size[p->column[k]]; ++b) {
                    out[a * ld + b] =
                        p->dense[(p->row[i] + a) * p->rows + p->row[p->column[k]] + b];
                }
            }
        }
    }
    return perpi_block_lu_factor(lu);
}

TEST(block_lu_solves_what_dense_lu_solves)
{
    static pattern p;
    static double A[ROWS * ROWS];
    double worst = 0.0;
    perp_context* context = NULL;
    perpi_block_lu* lu = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perpi_block_lu_create(context, &lu));
    for (int t = 0; t < 200; ++t) {
        seed_state = (uint64_t)t;
        make(&p, 1 + t % GROUPS, 0.02 * (t % 12));
        double x[ROWS], y[ROWS];
        int32_t pivot[ROWS];
        for (int32_t i = 0; i < p.rows; ++i) {
            x[i] = y[i] = uniform();
        }
        REQUIRE_OK(perpi_block_lu_analyse(lu, p.groups, p.size, p.start, p.column));
        REQUIRE(fill_and_factor(lu, &p));
        perpi_block_lu_solve(lu, x);
        memcpy(A, p.dense, sizeof A);
        REQUIRE(perpi_lu_factor(p.rows, A, pivot, NULL));
        perpi_lu_solve(p.rows, A, pivot, y);
        CHECK_EQ_INT(perpi_block_lu_sign(lu), perpi_lu_sign(p.rows, A, pivot));
        for (int32_t i = 0; i < p.rows; ++i) {
            worst = fmax(worst, fabs(x[i] - y[i]));
        }
    }
    TEST_PRINT("largest difference %.1e", worst);
    CHECK_AT_MOST(worst, 1e-14);
    perpi_block_lu_destroy(lu);
    perp_context_destroy(context);
}

TEST(the_same_pattern_is_not_analysed_twice_and_allocates_nothing)
{
    static pattern p;
    perp_context* context = NULL;
    perpi_block_lu* lu = NULL;
    seed_state = 5;
    make(&p, GROUPS, 0.1);
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perpi_block_lu_create(context, &lu));
    REQUIRE_OK(perpi_block_lu_analyse(lu, p.groups, p.size, p.start, p.column));
    const uint64_t before = perp_context_allocations(context);
    REQUIRE_OK(perpi_block_lu_analyse(lu, p.groups, p.size, p.start, p.column));
    CHECK(fill_and_factor(lu, &p));
    CHECK_EQ_U64(perp_context_allocations(context), before);
    perpi_block_lu_destroy(lu);
    perp_context_destroy(context);
}

/* A chain of groups has no fill: 2 off-diagonal blocks per link. */
TEST(a_chain_fills_in_nothing_and_cost_grows_linearly)
{
    enum { LONG = 20000 };
    perp_context* context = NULL;
    perpi_block_lu* lu = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perpi_block_lu_create(context, &lu));
    int32_t* size = malloc(LONG * sizeof *size);
    int32_t* start = malloc((LONG + 1) * sizeof *start);
    int32_t* column = malloc(3 * LONG * sizeof *column);
    int32_t k = 0;
    for (int32_t i = 0; i < LONG; ++i) {
        size[i] = 3;
        start[i] = k;
        for (int32_t j = i - 1; j <= i + 1; ++j) {
            if (j >= 0 && j < LONG) {
                column[k++] = j;
            }
        }
    }
    start[LONG] = k;
    CHECK_OK(perpi_block_lu_analyse(lu, LONG, size, start, column));
    CHECK_AT_MOST((double)perpi_block_lu_fill(lu), 9.0 * (3.0 * LONG - 2.0));
    free(size);
    free(start);
    free(column);
    perpi_block_lu_destroy(lu);
    perp_context_destroy(context);
}

TEST(a_singular_matrix_is_refused)
{
    const int32_t size[] = {2}, start[] = {0, 1}, column[] = {0};
    perp_context* context = NULL;
    perpi_block_lu* lu = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perpi_block_lu_create(context, &lu));
    REQUIRE_OK(perpi_block_lu_analyse(lu, 1, size, start, column));
    perpi_block_lu_clear(lu);
    CHECK(!perpi_block_lu_factor(lu));
    perpi_block_lu_destroy(lu);
    perp_context_destroy(context);
}
