/* tests/unit/linalg/sparse_test.c - sparse factors and products against sums by hand. */
#include "perp_test.h"

#include "linalg/sparse.h"

/* [2 0 1; 0 0 3; 4 5 0] by columns: needs pivoting, has a zero diagonal. */
static const int32_t start[] = {0, 2, 3, 5}, row[] = {0, 2, 2, 0, 1};
static const double value[] = {2, 4, 5, 1, 3};
static const perp_sparse A = {3, 3, start, row, value};

TEST(an_unsymmetric_matrix_with_a_zero_diagonal_is_solved_both_ways)
{
    perp_context* context = NULL;
    perpi_sparse_lu* lu = NULL;
    bool singular = true;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perpi_sparse_lu_create(context, &lu));
    for (int again = 0; again < 2; ++again) {
        REQUIRE_OK(perpi_sparse_lu_factor(lu, &A, again == 1, &singular));
        REQUIRE(!singular);
        CHECK(perpi_sparse_lu_rcond(lu) > 1e-3);
        double x[] = {5, 9, 14, 0, 0, 0}; /* A (1, 2, 3) and A 0 */
        perpi_sparse_lu_solve(lu, 2, x);
        for (int i = 0; i < 6; ++i) {
            CHECK_NEAR(x[i], i < 3 ? i + 1.0 : 0.0, 1e-15);
        }
        double y[] = {14, 15, 7}; /* A' (1, 2, 3) */
        perpi_sparse_lu_solve_transposed(lu, 1, y);
        for (int i = 0; i < 3; ++i) {
            CHECK_NEAR(y[i], i + 1.0, 1e-15);
        }
    }
    perpi_sparse_lu_destroy(lu);
    perp_context_destroy(context);
}

TEST(a_singular_matrix_is_said_to_be_one)
{
    const double twin[] = {2, 4, 0, 1, 3};
    const perp_sparse B = {3, 3, start, row, twin};
    perp_context* context = NULL;
    perpi_sparse_lu* lu = NULL;
    bool singular = false;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perpi_sparse_lu_create(context, &lu));
    CHECK_OK(perpi_sparse_lu_factor(lu, &B, false, &singular));
    CHECK(singular);
    CHECK_OK(perpi_sparse_lu_factor(lu, &A, false, &singular));
    CHECK(!singular);
    const double bad[] = {2, 4, NAN, 1, 3};
    const perp_sparse C = {3, 3, start, row, bad};
    CHECK_OK(perpi_sparse_lu_factor(lu, &C, false, &singular));
    CHECK(singular);
    perpi_sparse_lu_destroy(lu);
    perp_context_destroy(context);
}

TEST(products_add_to_what_is_there)
{
    const double x[] = {1, 2, 3};
    double y[] = {1, 1, 1}, t[] = {1, 1, 1};
    perpi_sparse_add_product(&A, 2.0, x, y);
    CHECK(y[0] == 11 && y[1] == 19 && y[2] == 29);
    perpi_sparse_add_transposed_product(&A, -1.0, x, t);
    CHECK(t[0] == -13 && t[1] == -14 && t[2] == -6);
}
