/* The lowerings: both roads from a contact problem to an LCP agree, and solutions of the LCP, found
 * here by trying every complementary basis, lift to points that the residual check accepts. */
#include "perp_test.h"

#include <time.h>

#include "builder.h"
#include "linalg/dense.h"

enum { N_MAX = 160 };

static uint64_t seed = 3;
static double uniform(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed >> 11) / 4503599627370496.0 - 1.0;
}

static perp_context* context;
static perp_reformulation* lowering;
static double work[8192], z[N_MAX], x[N_MAX], v[96], p[96], v2[96], p2[96];

static void begin(void)
{
    if (perp_context_create(NULL, &context) != PERP_OK ||
        perp_reformulation_create(context, &lowering) != PERP_OK) {
        abort();
    }
}

static void end(void)
{
    perp_reformulation_destroy(lowering);
    perp_context_destroy(context);
    context = NULL;
    lowering = NULL;
}

/* Solves the LCP by trying the complementary bases in order; n <= 18. false: none is feasible. */
static bool enumerate(const perp_lcp* lcp, double* solution)
{
    static double A[18 * 18], b[18];
    int32_t pivot[18] = {0}, index[18];
    const int32_t n = lcp->n;
    if (n > 18) {
        abort();
    }
    for (uint32_t basis = 0; basis < (1u << n); ++basis) {
        int32_t m = 0;
        for (int32_t i = 0; i < n; ++i) {
            if (basis >> i & 1u) {
                index[m++] = i;
            }
        }
        for (int32_t i = 0; i < m; ++i) {
            for (int32_t j = 0; j < m; ++j) {
                A[i * m + j] = lcp->M[index[i] * n + index[j]];
            }
            b[i] = -lcp->q[index[i]];
        }
        perpi_lu_info info = {1, 1};
        if (m > 0 &&
            (!perpi_lu_factor(m, A, pivot, &info) || info.pivot_min < 1e-10 * info.pivot_max)) {
            continue;
        }
        perpi_lu_solve(m, A, pivot, b);
        for (int32_t i = 0; i < n; ++i) {
            solution[i] = 0.0;
        }
        for (int32_t i = 0; i < m; ++i) {
            solution[index[i]] = b[i];
        }
        bool feasible = true;
        for (int32_t i = 0; i < n && feasible; ++i) {
            const double w = lcp->q[i] + perpi_dot(n, lcp->M + i * n, solution);
            feasible = solution[i] >= -1e-11 && w >= -1e-11;
        }
        if (feasible) {
            return true;
        }
    }
    return false;
}

static double worst(const builder* B, const double* a, const double* b)
{
    return perp_contact_check_residual(&B->P, a, b, work).worst;
}

/* Solves by both roads, and checks that the residual check accepts both and that they give one motion. */
static void check_both_roads(const builder* B, bool unique)
{
    perp_lcp lcp;
    perp_mlcp mlcp;
    REQUIRE_OK(perp_contact_check(context, &B->P));
    REQUIRE_OK(perp_contact_to_lcp(lowering, &B->P, &lcp));
    REQUIRE_OK(perp_lcp_check(context, &lcp));
    REQUIRE(enumerate(&lcp, z));
    CHECK_AT_MOST(perp_lcp_check_residual(&lcp, z), 1e-11);
    perp_reformulation_contact_lcp_reconstruct(lowering, &B->P, z, v, p);
    CHECK_AT_MOST(worst(B, v, p), 1e-11);
    const int32_t n = lcp.n;

    REQUIRE_OK(perp_contact_to_mlcp(lowering, &B->P, &mlcp));
    REQUIRE_OK(perp_mlcp_check(context, &mlcp));
    REQUIRE_OK(perp_mlcp_to_lcp(lowering, &mlcp, &lcp));
    REQUIRE_EQ_INT(lcp.n, n);
    REQUIRE(enumerate(&lcp, z));
    perp_reformulation_lcp_reconstruct(lowering, &mlcp, z, x);
    CHECK_AT_MOST(perp_mlcp_check_residual(&mlcp, x, work), 1e-11);
    perp_reformulation_mlcp_reconstruct(lowering, &B->P, x, v2, p2);
    CHECK_AT_MOST(worst(B, v2, p2), 1e-11);
    for (int32_t i = 0; unique && i < B->P.dof_count; ++i) {
        CHECK_NEAR(v[i], v2[i], 1e-10);
    }

    /* down again: the guess made from the answer is itself a solution, with exact zeros */
    perp_reformulation_mlcp_guess(lowering, &B->P, v2, p2, x);
    CHECK_AT_MOST(perp_mlcp_check_residual(&mlcp, x, work), 1e-9);
    perp_reformulation_lcp_guess(lowering, &mlcp, x, z);
    CHECK_AT_MOST(perp_lcp_check_residual(&lcp, z), 1e-9);
    REQUIRE_OK(perp_contact_to_lcp(lowering, &B->P, &lcp));
    perp_reformulation_contact_lcp_guess(lowering, &B->P, v, p, z);
    CHECK_AT_MOST(perp_lcp_check_residual(&lcp, z), 1e-9);
    perp_reformulation_contact_lcp_reconstruct(lowering, &B->P, z, v2, p2);
    for (int32_t r = 0; r < B->P.row_count; ++r) {
        CHECK_NEAR(p[r], p2[r], 1e-12);
    }
}

/* Both LCPs entry by entry; they have the same order if there are no slacks and contacts come
 * first. */
static void check_same_lcp(const builder* B)
{
    static double M[N_MAX * N_MAX], q[N_MAX];
    perp_lcp lcp;
    perp_mlcp mlcp;
    REQUIRE_OK(perp_contact_to_lcp(lowering, &B->P, &lcp));
    REQUIRE(lcp.n <= N_MAX);
    memcpy(M, lcp.M, sizeof *M * (size_t)(lcp.n * lcp.n));
    memcpy(q, lcp.q, sizeof *q * (size_t)lcp.n);
    const int32_t n = lcp.n;
    REQUIRE_OK(perp_contact_to_mlcp(lowering, &B->P, &mlcp));
    REQUIRE_OK(perp_mlcp_check(context, &mlcp));
    REQUIRE_OK(perp_mlcp_to_lcp(lowering, &mlcp, &lcp));
    REQUIRE_EQ_INT(lcp.n, n);
    for (int32_t i = 0; i < n; ++i) {
        CHECK_NEAR(lcp.q[i], q[i], 1e-11);
        for (int32_t j = 0; j < n; ++j) {
            CHECK_NEAR(lcp.M[i * n + j], M[i * n + j], 1e-11);
        }
    }
}

static int32_t random_block(builder* B, int32_t nv)
{
    double G[36], M[36], k[6];
    for (int32_t i = 0; i < nv * nv; ++i) {
        G[i] = uniform();
    }
    for (int32_t i = 0; i < nv; ++i) {
        k[i] = 2.0 * uniform();
        for (int32_t j = 0; j < nv; ++j) {
            M[i * nv + j] = (i == j ? 1.0 : 0.0) + perpi_dot(nv, G + i * nv, G + j * nv);
        }
    }
    return builder_block(B, nv, M, NULL, k);
}

static const double* random_rows(double* J, int32_t count)
{
    for (int32_t i = 0; i < count; ++i) {
        J[i] = uniform();
    }
    return J;
}

TEST(one_particle_on_the_ground_gives_the_lcp_of_the_textbook)
{
    begin();
    static builder B;
    builder_new(&B);
    builder_block(&B, 2, NULL, (const double[]){2, 2}, (const double[]){6, -2});
    builder_contact(&B, -1, 0, 2, (const double[]){0, 1, 1, 0}, NULL, PERP_CONE_POLYGON, 2, 0.5);
    const double M[] = {0.5, 0, 0, 0, 0, 0.5, -0.5, 1, 0, -0.5, 0.5, 1, 0.5, -1, -1, 0};
    const double q[] = {-1, 3, -3, 0};
    perp_lcp lcp;
    REQUIRE_OK(perp_contact_to_lcp(lowering, &B.P, &lcp));
    REQUIRE_EQ_INT(lcp.n, 4);
    for (int i = 0; i < 16; ++i) {
        CHECK_NEAR(lcp.M[i], M[i], 1e-15);
    }
    for (int i = 0; i < 4; ++i) {
        CHECK_NEAR(lcp.q[i], q[i], 1e-15);
    }
    /* p_n = 2, beta = (0, 1), sigma = 2.5 */
    perp_reformulation_contact_lcp_reconstruct(lowering, &B.P, (const double[]){2, 0, 1, 2.5}, v,
                                               p);
    CHECK_NEAR(v[0], 2.5, 1e-15);
    CHECK_NEAR(v[1], 0.0, 1e-15);
    CHECK_NEAR(p[1], -1.0, 0.0);
    perp_reformulation_contact_lcp_guess(lowering, &B.P, (const double[]){2.5, 0},
                                         (const double[]){2, -1}, z);
    CHECK(z[0] == 2.0 && z[1] == 0.0 && z[2] == 1.0 && z[3] == 2.5);
    perp_reformulation_contact_lcp_guess(lowering, &B.P, (const double[]){0, 0},
                                         (const double[]){2, -0.5}, z);
    CHECK(z[1] == 0.0 && z[2] == 0.5 && z[3] == 0.0); /* sticks */
    check_both_roads(&B, true);
    end();
}

TEST(both_roads_give_the_same_lcp_for_random_bodies_in_contact)
{
    begin();
    for (int trial = 0; trial < 20; ++trial) {
        static builder B;
        double J[64], b[4];
        builder_new(&B);
        random_block(&B, 6);
        random_block(&B, 3);
        random_block(&B, 1);
        builder_contact(&B, 0, 1, 3, random_rows(J, 27), random_rows(b, 3), PERP_CONE_POLYGON, 5,
                        0.4);
        builder_contact(&B, 1, 0, 3, random_rows(J, 27), random_rows(b, 3), PERP_CONE_POLYGON, 8,
                        0.3);
        builder_contact(&B, -1, 2, 2, random_rows(J, 2), random_rows(b, 2), PERP_CONE_POLYGON, 2,
                        0.0);
        builder_contact(&B, 2, 1, 1, random_rows(J, 4), random_rows(b, 1), PERP_CONE_NONE, 0, 0.0);
        if (trial % 2 == 1) {
            builder_bounded(&B, 0, -1, random_rows(J, 6), 0.3, -0.5, INFINITY);
            builder_bounded(&B, 1, 2, random_rows(J, 4), 0.3, -INFINITY, 0.25);
        }
        if (trial % 4 >= 2) {
            builder_constraint(&B, PERP_CONSTRAINT_EQUALITY, 0, 1, 2, random_rows(J, 18),
                               random_rows(b, 2));
            builder_bounded(&B, 0, -1, random_rows(J, 6), 0.1, -INFINITY, INFINITY);
        }
        if (trial % 5 >= 3) {
            builder_group(&B, 1, 3, (const int32_t[]){2, 3, 0});
            builder_group(&B, 2, 2, (const int32_t[]){1, 2});
        }
        check_same_lcp(&B);
    }
    end();
}

TEST(random_frictional_problems_solve_alike_by_both_roads)
{
    begin();
    for (int trial = 0; trial < 30; ++trial) {
        static builder B;
        double J[64], b[4];
        builder_new(&B);
        random_block(&B, 6);
        random_block(&B, 6);
        builder_contact(&B, 0, 1, 3, random_rows(J, 36), random_rows(b, 3), PERP_CONE_POLYGON, 4,
                        0.15);
        builder_contact(&B, -1, 1, 3, random_rows(J, 18), random_rows(b, 3), PERP_CONE_POLYGON, 3,
                        0.1);
        check_both_roads(&B, true);
    }
    end();
}

TEST(bounded_rows_of_every_kind_solve_alike_by_both_roads)
{
    begin();
    int low = 0, high = 0, between = 0;
    for (int trial = 0; trial < 60; ++trial) {
        static builder B;
        double J[64], b[4];
        builder_new(&B);
        random_block(&B, 6);
        random_block(&B, 3);
        builder_bounded(&B, 0, -1, random_rows(J, 6), uniform(), -0.3, 0.4);
        builder_bounded(&B, 1, 0, random_rows(J, 9), uniform(), -INFINITY, 0.2);
        builder_bounded(&B, 1, -1, random_rows(J, 3), uniform(), 0.1, INFINITY);
        builder_bounded(&B, 0, 1, random_rows(J, 9), uniform(), -INFINITY, INFINITY);
        builder_contact(&B, 0, 1, 2, random_rows(J, 18), random_rows(b, 2), PERP_CONE_POLYGON, 2,
                        0.2);
        builder_bounded(&B, 1, -1, random_rows(J, 3), uniform(), 0.25, 0.25);
        check_both_roads(&B, true);
        low += p[0] == -0.3;
        high += fabs(p[0] - 0.4) < 1e-12;
        between += p[0] > -0.29 && p[0] < 0.39;
        CHECK_AT_MOST(p[1], 0.2 + 1e-12);
        CHECK_AT_LEAST(p[2], 0.1 - 1e-12);
        CHECK_NEAR(p[6], 0.25, 1e-12);
    }
    CHECK(low > 0 && high > 0 && between > 0); /* the trials met every case */
    end();
}

/* A corner as in residual_test, with friction, and an optional third member. */
static void corner(builder* B, int32_t primary, int32_t count, double kx, double ky)
{
    builder_new(B);
    builder_block(B, 2, NULL, (const double[]){1, 1}, (const double[]){kx, ky});
    builder_contact(B, -1, 0, 2, (const double[]){0, 1, 1, 0}, NULL, PERP_CONE_POLYGON, 2, 0.3);
    builder_contact(B, -1, 0, 1, (const double[]){1, 0}, NULL, PERP_CONE_NONE, 0, 0);
    builder_contact(B, -1, 0, 1, (const double[]){0.6, 0.8}, (const double[]){-0.1}, PERP_CONE_NONE,
                    0, 0);
    builder_group(B, primary, count, (const int32_t[]){0, 1, 2});
}

TEST(a_group_with_one_primary_pushes_only_if_no_member_is_open)
{
    begin();
    static builder B;
    corner(&B, 1, 2, 2, -3); /* contact 1 opens by itself */
    B.P.constraint_count = 2, B.P.row_count = 3;
    check_both_roads(&B, true);
    CHECK(p[0] == 0.0 && v[0] == 2.0 && v[1] == -3.0);
    corner(&B, 1, 2, -2, -3); /* nothing opens: contact 0 stops it, with friction */
    B.P.constraint_count = 2, B.P.row_count = 3;
    check_both_roads(&B, true);
    CHECK_NEAR(p[0], 3.0, 1e-14);
    CHECK_NEAR(p[1], 0.9, 1e-14);
    CHECK(p[2] == 0.0);                        /* silent */
    for (int trial = 0; trial < 40; ++trial) { /* contact 0 alone can always open, so it solves */
        corner(&B, 1, 3, 3.0 * uniform(), 3.0 * uniform());
        check_both_roads(&B, false);
        CHECK(p[2] == 0.0 && p[3] == 0.0);
    }
    end();
}

TEST(a_group_with_several_primaries_pushes_at_the_contact_that_closes)
{
    begin();
    static builder B;
    int pushes[3] = {0, 0, 0};
    for (int trial = 0; trial < 40; ++trial) {
        corner(&B, 2 + trial % 2, 2 + trial % 2, 3.0 * uniform(), 3.0 * uniform());
        if (trial % 2 == 0) {
            B.P.constraint_count = 2, B.P.row_count = 3;
        }
        check_both_roads(&B, false);
        pushes[0] += p[0] > 1e-9;
        pushes[1] += p[2] > 1e-9;
        pushes[2] += p[0] <= 1e-9 && p[2] <= 1e-9;
        CHECK(!(p[0] > 1e-9 && p[2] > 1e-9) || fabs(v[0]) + fabs(v[1]) < 1e-9);
    }
    CHECK(pushes[0] > 0 && pushes[2] > 0);
    end();
}

TEST(a_contact_that_is_primary_in_two_groups_keeps_both_open)
{
    begin();
    static builder B;
    for (int trial = 0; trial < 40; ++trial) {
        builder_new(&B);
        builder_block(&B, 2, NULL, (const double[]){1, 1},
                      (const double[]){3.0 * uniform(), 3.0 * uniform()});
        builder_contact(&B, -1, 0, 1, (const double[]){0, 1}, NULL, PERP_CONE_NONE, 0, 0);
        builder_contact(&B, -1, 0, 1, (const double[]){1, 0}, NULL, PERP_CONE_NONE, 0, 0);
        builder_contact(&B, -1, 0, 1, (const double[]){-1, 0}, NULL, PERP_CONE_NONE, 0, 0);
        builder_group(&B, 1, 2, (const int32_t[]){0, 1});
        builder_group(&B, 1, 2, (const int32_t[]){0, 2});
        check_same_lcp(&B);
        /* falling while moving sideways, one group is open and forbids the push that the other
         * needs: the law has no solution, and none may be made up */
        perp_lcp lcp;
        REQUIRE_OK(perp_contact_to_lcp(lowering, &B.P, &lcp));
        const bool solvable = B.k[1] >= 0.0;
        CHECK(enumerate(&lcp, z) == solvable);
    }
    B.k[0] = 0.0, B.k[1] = -2.0; /* straight down: solvable, p = 2 */
    check_both_roads(&B, true);
    CHECK_NEAR(p[0], 2.0, 1e-14);
    end();
}

TEST(redundant_equality_rows_share_the_load_and_do_not_change_the_motion)
{
    begin();
    static builder B;
    double J[64], b[4];
    for (int trial = 0; trial < 10; ++trial) {
        builder_new(&B);
        random_block(&B, 6);
        random_block(&B, 6);
        random_rows(J, 24);
        random_rows(b, 2);
        builder_constraint(&B, PERP_CONSTRAINT_EQUALITY, 0, 1, 2, J, b);
        /* the first row again, and three times the second, in other units */
        double K[24], c[2] = {b[0], -3.0e3 * b[1]};
        for (int i = 0; i < 6; ++i) {
            K[i] = J[i], K[6 + i] = -3.0e3 * J[6 + i];
            K[12 + i] = J[12 + i], K[18 + i] = -3.0e3 * J[18 + i];
        }
        builder_constraint(&B, PERP_CONSTRAINT_EQUALITY, 0, 1, 2, K, c);
        double G[36], g[3];
        builder_contact(&B, 0, 1, 3, random_rows(G, 36), random_rows(g, 3), PERP_CONE_POLYGON, 6,
                        0.2);
        builder_contact(&B, -1, 1, 1, random_rows(G, 6), random_rows(g, 1), PERP_CONE_NONE, 0, 0.0);
        check_both_roads(&B, true);
        CHECK_NEAR(p[0], p[2], 1e-9 * (1.0 + fabs(p[0]))); /* least norm: equal shares */
        perp_mlcp mlcp;
        perp_lcp lcp;
        REQUIRE_OK(perp_contact_to_mlcp(lowering, &B.P, &mlcp));
        REQUIRE_OK(perp_mlcp_to_lcp(lowering, &mlcp, &lcp));
        REQUIRE(enumerate(&lcp, z));
        perp_reformulation_lcp_reconstruct(lowering, &mlcp, z, x);
        perp_reformulation_mlcp_reconstruct(lowering, &B.P, x, v2, p2);
        CHECK_NEAR(p2[0], p2[2], 1e-9 * (1.0 + fabs(p2[0])));
    }
    end();
}

TEST(contradicting_equality_rows_are_bad_input_by_both_roads)
{
    begin();
    static builder B;
    perp_lcp lcp;
    perp_mlcp mlcp;
    builder_new(&B);
    builder_block(&B, 2, NULL, (const double[]){1, 1}, (const double[]){1, 1});
    builder_constraint(&B, PERP_CONSTRAINT_EQUALITY, 0, -1, 1, (const double[]){1, 0},
                       (const double[]){0.5});
    builder_constraint(&B, PERP_CONSTRAINT_EQUALITY, 0, -1, 1, (const double[]){1, 0},
                       (const double[]){0.4});
    CHECK_EQ_INT(perp_contact_to_lcp(lowering, &B.P, &lcp), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context), "contradicts");
    REQUIRE_OK(perp_contact_to_mlcp(lowering, &B.P, &mlcp));
    CHECK_EQ_INT(perp_mlcp_to_lcp(lowering, &mlcp, &lcp), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context), "contradicts");
    B.b[1] = 0.5;
    CHECK_OK(perp_contact_to_lcp(lowering, &B.P, &lcp));
    CHECK_OK(perp_contact_to_mlcp(lowering, &B.P, &mlcp));
    CHECK_OK(perp_mlcp_to_lcp(lowering, &mlcp, &lcp));
    end();
}

TEST(free_unknowns_that_no_equation_determines_are_refused)
{
    begin();
    perp_lcp lcp;
    const int32_t start[] = {0, 1, 2}, row[] = {1, 0};
    const double value[] = {1, 1}, q[] = {-1, 0};
    const double lower[] = {-INFINITY, 0}, upper[] = {INFINITY, INFINITY};
    /* w_0 = z_1 - 1 = 0 fixes a bounded unknown, z_0 is free and enters w_1 only */
    const perp_mlcp mlcp = {{2, 2, start, row, value}, q, lower, upper};
    REQUIRE_OK(perp_mlcp_check(context, &mlcp));
    CHECK_EQ_INT(perp_mlcp_to_lcp(lowering, &mlcp, &lcp), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context), "cannot be eliminated");
    end();
}

TEST(round_cones_have_no_linear_form)
{
    begin();
    static builder B;
    perp_lcp lcp;
    perp_mlcp mlcp;
    builder_new(&B);
    builder_block(&B, 2, NULL, (const double[]){1, 1}, (const double[]){1, 1});
    builder_contact(&B, 0, -1, 2, (const double[]){1, 0, 0, 1}, NULL, PERP_CONE_QUADRATIC, 0, 0.5);
    CHECK_EQ_INT(perp_contact_to_lcp(lowering, &B.P, &lcp), PERP_ERROR_UNSUPPORTED);
    CHECK_CONTAINS(perp_context_error(context), "constraint 0");
    CHECK_EQ_INT(perp_contact_to_mlcp(lowering, &B.P, &mlcp), PERP_ERROR_UNSUPPORTED);
    end();
}

TEST(empty_problems_lower_to_empty_ones)
{
    begin();
    static builder B;
    perp_lcp lcp;
    perp_mlcp mlcp;
    builder_new(&B);
    REQUIRE_OK(perp_contact_to_lcp(lowering, &B.P, &lcp));
    CHECK_EQ_INT(lcp.n, 0);
    builder_block(&B, 1, NULL, (const double[]){2}, (const double[]){3});
    REQUIRE_OK(perp_contact_to_lcp(lowering, &B.P, &lcp));
    CHECK_EQ_INT(lcp.n, 0);
    perp_reformulation_contact_lcp_reconstruct(lowering, &B.P, z, v, p);
    CHECK_NEAR(v[0], 1.5, 1e-15);
    REQUIRE_OK(perp_contact_to_mlcp(lowering, &B.P, &mlcp));
    REQUIRE_OK(perp_mlcp_to_lcp(lowering, &mlcp, &lcp));
    CHECK_EQ_INT(lcp.n, 0);
    perp_reformulation_lcp_reconstruct(lowering, &mlcp, z, x);
    CHECK_NEAR(x[0], 1.5, 1e-15);
    end();
}

/* Four contacts of a box on the ground, eight directions each: 40 unknowns. */
static void box(builder* B)
{
    builder_new(B);
    builder_block(B, 6, NULL, (const double[]){1, 1, 1, 0.1, 0.1, 0.1},
                  (const double[]){0.3, 0.1, -0.1, 0, 0, 0.01});
    for (int i = 0; i < 4; ++i) {
        const double rx = i & 1 ? 0.5 : -0.5, ry = i & 2 ? 0.5 : -0.5, rz = -0.5;
        const double J[] = {0, 0, 1, ry, -rx, 0, 1, 0, 0, 0, rz, -ry, 0, 1, 0, -rz, 0, rx};
        builder_contact(B, -1, 0, 3, J, NULL, PERP_CONE_POLYGON, 8, 0.5);
    }
}

TEST(a_second_lowering_of_the_same_size_asks_for_no_memory)
{
    begin();
    static builder B;
    perp_lcp lcp;
    perp_mlcp mlcp;
    box(&B);
    check_same_lcp(&B);
    builder_constraint(&B, PERP_CONSTRAINT_EQUALITY, 0, -1, 1, (const double[]){1, 0, 0, 0, 0, 0},
                       NULL);
    builder_constraint(&B, PERP_CONSTRAINT_EQUALITY, 0, -1, 1, (const double[]){1, 0, 0, 0, 0, 0},
                       NULL);
    check_same_lcp(&B);
    const uint64_t before = perp_context_allocations(context);
    for (int i = 0; i < 3; ++i) {
        REQUIRE_OK(perp_contact_to_lcp(lowering, &B.P, &lcp));
        REQUIRE_OK(perp_contact_to_mlcp(lowering, &B.P, &mlcp));
        REQUIRE_OK(perp_mlcp_to_lcp(lowering, &mlcp, &lcp));
    }
    CHECK_EQ_INT(perp_context_allocations(context) - before, 0);
    end();
}

/* Fails the n-th request for memory. */
static long left;
static void* scarce(void* user, void* memory, size_t size)
{
    (void)user;
    if (size == 0) {
        free(memory);
        return NULL;
    }
    return left-- > 0 ? realloc(memory, size) : NULL;
}

TEST(running_out_of_memory_at_any_point_is_reported_and_leaks_nothing)
{
    static builder B;
    const perp_context_def def = {.allocator = {scarce, NULL}};
    box(&B);
    builder_constraint(&B, PERP_CONSTRAINT_EQUALITY, 0, -1, 1, (const double[]){1, 0, 0, 0, 0, 0},
                       NULL);
    builder_constraint(&B, PERP_CONSTRAINT_EQUALITY, 0, -1, 1, (const double[]){1, 0, 0, 0, 0, 0},
                       NULL);
    builder_group(&B, 2, 3, (const int32_t[]){0, 1, 2});
    for (int road = 0; road < 2; ++road) {
        bool done = false;
        for (long n = 1; !done && n < 400; ++n) {
            perp_context* c = NULL;
            perp_reformulation* l = NULL;
            perp_lcp lcp;
            perp_mlcp mlcp;
            left = n;
            REQUIRE_OK(perp_context_create(&def, &c));
            perp_status status = perp_reformulation_create(c, &l);
            if (status == PERP_OK && road == 0) {
                status = perp_contact_to_lcp(l, &B.P, &lcp);
            } else if (status == PERP_OK) {
                status = perp_contact_to_mlcp(l, &B.P, &mlcp);
                status = status == PERP_OK ? perp_mlcp_to_lcp(l, &mlcp, &lcp) : status;
            }
            done = status == PERP_OK;
            CHECK(done || status == PERP_ERROR_MEMORY);
            perp_reformulation_destroy(l);
            perp_context_destroy(c);
        }
        CHECK(done);
    }
}

TEST(lowering_four_contacts_with_eight_directions_is_quick)
{
    begin();
    static builder B;
    perp_lcp lcp;
    box(&B);
    double best[3] = {INFINITY, INFINITY, INFINITY};
    for (int round = 0; round < 20; ++round) {
        double t[4];
        for (int what = 0; what < 4; ++what) {
            struct timespec now;
            timespec_get(&now, TIME_UTC);
            t[what] = 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
            for (int i = 0; what < 3 && i < 500; ++i) {
                if (what == 0) {
                    REQUIRE_OK(perp_contact_to_lcp(lowering, &B.P, &lcp));
                } else if (what == 1) {
                    perp_reformulation_contact_lcp_reconstruct(lowering, &B.P, z, v, p);
                } else {
                    (void)perp_contact_check_residual(&B.P, v, p, work);
                }
            }
        }
        for (int what = 0; what < 3; ++what) {
            const double mean = (t[what + 1] - t[what]) / 500.0;
            best[what] = mean < best[what] ? mean : best[what];
        }
        memset(z, 0, sizeof z);
        z[0] = z[10] = 0.1, z[3] = 0.01;
    }
    CHECK_EQ_INT(lcp.n, 40);
    TEST_PRINT("lower %.2f us, lift %.2f us, judge %.2f us", best[0], best[1], best[2]);
    CHECK_AT_MOST(best[0], 200.0); /* a guard against a change of order, not a benchmark */
    end();
}
