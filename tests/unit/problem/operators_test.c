/* tests/unit/problem/operators_test.c - J, J', M and its factors against each other. */
#include "perp_test.h"

#include "conform/problems.h"
#include "problem/operators.h"

TEST(J_and_its_transpose_are_adjoint_and_mass_solve_inverts_M)
{
    static test_contact t;
    for (int32_t n = 0; test_contact_make(n, &t); ++n) {
        const perp_contact_problem* P = test_contact_view(&t);
        double v[TEST_BLOCKS * 6], f[TEST_BLOCKS * 6] = {0}, x[TEST_BLOCKS * 6];
        double L[TEST_BLOCKS * 36], u[TEST_ROWS], p[TEST_ROWS];
        for (int32_t i = 0; i < P->dof_count; ++i) {
            v[i] = x[i] = 1.0 + 0.25 * i;
        }
        for (int32_t r = 0; r < P->row_count; ++r) {
            p[r] = 2.0 - 0.125 * r;
        }
        /* p . (J v + b) - p . b = v . J' p */
        perpi_jacobian_apply(P, v, u);
        perpi_jacobian_apply_transposed(P, p, f);
        double left = 0.0, right = 0.0, size = 0.0;
        for (int32_t r = 0; r < P->row_count; ++r) {
            left += p[r] * (u[r] - P->b[r]);
            size += fabs(p[r] * u[r]) + fabs(p[r] * P->b[r]);
        }
        for (int32_t i = 0; i < P->dof_count; ++i) {
            right += v[i] * f[i];
            size += fabs(v[i] * f[i]);
        }
        CHECK_AT_MOST(fabs(left - right), 1e-13 * size);
        /* M (M^-1 x) = x; the masses of these problems are diagonal */
        REQUIRE(perpi_mass_factor(P, L));
        perpi_mass_solve(P, L, x);
        const double* M = P->M;
        for (int32_t b = 0; b < P->block_count; ++b) {
            const int32_t d = P->dof[b], nv = P->dof[b + 1] - d;
            for (int32_t i = 0; i < nv; ++i) {
                CHECK_AT_MOST(fabs(M[i * nv + i] * x[d + i] - v[d + i]), 1e-14 * fabs(v[d + i]));
            }
            M += nv * nv;
        }
        /* without impulses M v = k */
        perpi_motion_of(P, L, NULL, x);
        M = P->M;
        for (int32_t b = 0; b < P->block_count; ++b) {
            const int32_t d = P->dof[b], nv = P->dof[b + 1] - d;
            for (int32_t i = 0; i < nv; ++i) {
                CHECK_AT_MOST(fabs(M[i * nv + i] * x[d + i] - P->k[d + i]),
                              1e-14 * fabs(P->k[d + i]));
            }
            M += nv * nv;
        }
    }
}

TEST(a_mass_block_that_is_not_positive_definite_has_no_factor)
{
    const int32_t dof[] = {0, 2};
    const double M[] = {1, 2, 2, 1};
    const perp_contact_problem P = {.block_count = 1, .dof_count = 2, .dof = dof, .M = M};
    double L[12];
    const double* found = NULL;
    CHECK(!perpi_mass_factor(&P, L));
    CHECK(!perpi_mass_factor_of(&P, L, &found));
}

TEST(a_number_that_is_not_finite_is_found_at_every_place)
{
    for (size_t n = 0; n < 10; ++n) {
        double x[10] = {1e308, -1e308, 0, 5e-324, -0.0, 1, 2, 3, 4, 5};
        CHECK(perpi_all_finite(n, x));
        for (size_t i = 0; i < n; ++i) {
            const double kept = x[i];
            x[i] = i % 2 == 0 ? NAN : -INFINITY;
            CHECK(!perpi_all_finite(n, x));
            x[i] = kept;
        }
    }
}
