/* tests/unit/solve/lemke_test.c - Lemke's method on problems whose answer is known otherwise. */
#include "perp_test.h"

#include "conform/stewart_trinkle.h"
#include "perp/solve.h"

enum { SMALL = 6 };

typedef struct bench {
    perp_context* context;
    perp_lcp_solver* solver;
} bench;

static bench bench_make(void)
{
    bench b = {0};
    CHECK_OK(perp_context_create(NULL, &b.context));
    CHECK_OK(perp_lcp_solver_create(b.context, "lemke", NULL, 0, &b.solver));
    return b;
}

static void bench_free(bench* b)
{
    perp_lcp_solver_destroy(b->solver);
    perp_context_destroy(b->context);
}

/* The corpus residual |min(z, w)| / |q|, recomputed here. */
static double residual_of(const perp_lcp* p, const double* z)
{
    double sum = 0.0, size = 0.0;
    for (int32_t i = 0; i < p->n; ++i) {
        double w = p->q[i];
        for (int32_t j = 0; j < p->n; ++j) {
            w += p->M[(size_t)i * (size_t)p->n + (size_t)j] * z[j];
        }
        const double e = z[i] < w ? z[i] : w;
        sum += e * e;
        size += p->q[i] * p->q[i];
    }
    return sqrt(sum) / (size > 0.0 ? sqrt(size) : 1.0);
}

/* Whether some complementary basis solves the LCP (n <= 6): all 2^n are tried. */
static bool enumerated_solvable(const perp_lcp* p)
{
    const int32_t n = p->n;
    for (uint32_t set = 0; set < (1u << n); ++set) {
        double A[SMALL][SMALL + 1];
        int32_t a[SMALL], k = 0;
        for (int32_t i = 0; i < n; ++i) {
            if (set >> i & 1u) {
                a[k++] = i;
            }
        }
        for (int32_t i = 0; i < k; ++i) {
            for (int32_t j = 0; j < k; ++j) {
                A[i][j] = p->M[a[i] * n + a[j]];
            }
            A[i][k] = -p->q[a[i]];
        }
        bool regular = true;
        for (int32_t c = 0; c < k && regular; ++c) {
            int32_t best = c;
            for (int32_t i = c + 1; i < k; ++i) {
                best = fabs(A[i][c]) > fabs(A[best][c]) ? i : best;
            }
            regular = fabs(A[best][c]) > 1e-10;
            for (int32_t j = 0; j <= k && regular; ++j) {
                const double t = A[c][j];
                A[c][j] = A[best][j];
                A[best][j] = t;
            }
            for (int32_t i = 0; i < k && regular; ++i) {
                if (i != c) {
                    const double l = A[i][c] / A[c][c];
                    for (int32_t j = c; j <= k; ++j) {
                        A[i][j] -= l * A[c][j];
                    }
                }
            }
        }
        if (!regular) {
            continue;
        }
        double z[SMALL] = {0};
        bool good = true;
        for (int32_t i = 0; i < k; ++i) {
            z[a[i]] = A[i][k] / A[i][i];
            good = good && z[a[i]] >= -1e-9;
        }
        for (int32_t i = 0; i < n && good; ++i) {
            double w = p->q[i];
            for (int32_t j = 0; j < n; ++j) {
                w += p->M[i * n + j] * z[j];
            }
            good = w >= -1e-9;
        }
        if (good) {
            return true;
        }
    }
    return false;
}

/* By hand: z = (2, 0) gives w = (0, 3). */
TEST(a_hand_solved_problem_is_solved_exactly)
{
    bench b = bench_make();
    const double M[] = {2, 1, 1, 2}, q[] = {-4, 1};
    const perp_lcp p = {2, M, q};
    double z[2] = {7, 7};
    perp_report report;
    REQUIRE_OK(perp_lcp_solve(b.solver, &p, NULL, false, z, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
    CHECK_AT_MOST(fabs(z[0] - 2.0), 0.0);
    CHECK_AT_MOST(fabs(z[1]), 0.0);
    CHECK_AT_MOST(report.residual, 0.0);
    CHECK_EQ_STR(report.solver, "lemke");
    bench_free(&b);
}

/* q >= 0 is solved by z = 0, without a pivot. */
TEST(a_nonnegative_q_takes_no_pivot)
{
    bench b = bench_make();
    const double M[] = {-1, 5, 0, -2}, q[] = {0, 3};
    const perp_lcp p = {2, M, q};
    double z[2];
    perp_report report;
    REQUIRE_OK(perp_lcp_solve(b.solver, &p, NULL, false, z, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
    CHECK_EQ_INT(report.iterations, 0);
    CHECK_AT_MOST(z[0] + z[1], 0.0);
    bench_free(&b);
}

/* Cottle, Pang, Stone: Murty's matrix, on which the least-index method needs 2^n - 1 pivots; the
 * solution of M = 2 below the diagonal, 1 on it, q = -1 is z = (1, 0, ..., 0). */
TEST(murtys_exponential_family_is_solved)
{
    bench b = bench_make();
    for (int32_t n = 1; n <= 24; ++n) {
        test_lcp t = test_lcp_make(n);
        for (int32_t i = 0; i < n; ++i) {
            for (int32_t j = 0; j <= i; ++j) {
                t.M[i * n + j] = i == j ? 1.0 : 2.0;
            }
            t.q[i] = -1.0;
        }
        double z[24];
        perp_report report;
        REQUIRE_OK(perp_lcp_solve(b.solver, &t.lcp, NULL, false, z, &report));
        CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
        CHECK_NEAR(z[0], 1.0, 0.0);
        CHECK_AT_MOST(residual_of(&t.lcp, z), 0.0);
        test_lcp_free(&t);
    }
    bench_free(&b);
}

/* Kostreva's example, on which Lemke's method cycles without a rule for ties: M is a P-matrix, the
 * solution is z = (1, 1, 1)/3... by hand: M z = 1 for z = 1/3 each, rows sum to 3. */
TEST(a_problem_full_of_ties_does_not_cycle)
{
    bench b = bench_make();
    const double M[] = {1, 2, 0, 0, 1, 2, 2, 0, 1}, q[] = {-1, -1, -1};
    const perp_lcp p = {3, M, q};
    double z[3];
    perp_report report;
    REQUIRE_OK(perp_lcp_solve(b.solver, &p, NULL, false, z, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
    for (int i = 0; i < 3; ++i) {
        CHECK_NEAR(z[i], 1.0 / 3.0, 1e-15);
    }
    bench_free(&b);
}

/* Copies of one contact: rank one, every ratio test is a tie. */
TEST(twenty_copies_of_the_same_row_are_solved)
{
    bench b = bench_make();
    enum { N = 20 };
    double M[N * N], q[N], z[N];
    for (int i = 0; i < N * N; ++i) {
        M[i] = 1.0;
    }
    for (int i = 0; i < N; ++i) {
        q[i] = -3.0;
    }
    const perp_lcp p = {N, M, q};
    perp_report report;
    REQUIRE_OK(perp_lcp_solve(b.solver, &p, NULL, false, z, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
    double sum = 0.0;
    for (int i = 0; i < N; ++i) {
        sum += z[i];
    }
    CHECK_NEAR(sum, 3.0, 1e-15);
    bench_free(&b);
}

/* w = -z - 1 < 0 for every z >= 0. */
TEST(a_problem_without_solution_ends_in_a_ray)
{
    bench b = bench_make();
    const double M[] = {-1}, q[] = {-1};
    const perp_lcp p = {1, M, q};
    double z[1];
    perp_report report;
    REQUIRE_OK(perp_lcp_solve(b.solver, &p, NULL, false, z, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_RAY);
    CHECK_CONTAINS(report.detail, "ray");

    /* Two rows that ask for z1 >= z2 + 1 and z2 >= z1 + 1. */
    const double M2[] = {1, -1, -1, 1}, q2[] = {-1, -1};
    const perp_lcp p2 = {2, M2, q2};
    double z2[2];
    REQUIRE_OK(perp_lcp_solve(b.solver, &p2, NULL, false, z2, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_RAY);
    CHECK(isfinite(z2[0]) && isfinite(z2[1]));
    bench_free(&b);
}

TEST(nan_and_infinity_are_refused_and_outputs_left_alone)
{
    bench b = bench_make();
    const double bad[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 3; ++i) {
        double M[] = {2, 0, 0, 2}, q[] = {-1, -1}, z[] = {5, 6};
        const perp_lcp p = {2, M, q};
        perp_report report = {.iterations = 77};
        M[1] = bad[i];
        CHECK_EQ_INT(perp_lcp_solve(b.solver, &p, NULL, false, z, &report), PERP_ERROR_INPUT);
        M[1] = 0.0;
        q[0] = bad[i];
        CHECK_EQ_INT(perp_lcp_solve(b.solver, &p, NULL, false, z, &report), PERP_ERROR_INPUT);
        q[0] = -1.0;
        z[1] = bad[i];
        CHECK_EQ_INT(perp_lcp_solve(b.solver, &p, NULL, true, z, &report), PERP_ERROR_INPUT);
        CHECK_AT_MOST(fabs(z[0] - 5.0), 0.0);
        CHECK_EQ_INT(report.iterations, 77);
    }
    bench_free(&b);
}

/* Small integers, so that ties and zeros abound. Lemke may end in a ray on a matrix of no class;
 * for P and for copositive-plus with a feasible point it may not. */
TEST(every_small_lcp_agrees_with_enumeration)
{
    bench b = bench_make();
    uint64_t random = 11;
    int32_t solved = 0, rays = 0, unsolvable = 0;
    for (int32_t trial = 0; trial < 6000; ++trial) {
        const int32_t n = 1 + (int32_t)(test_random(&random) % SMALL);
        double M[SMALL * SMALL], q[SMALL], z[SMALL], B[SMALL * SMALL];
        const bool psd = trial % 2 == 0;
        for (int32_t i = 0; i < n * n; ++i) {
            B[i] = (double)(test_random(&random) % 7) - 3.0;
        }
        for (int32_t i = 0; i < n; ++i) {
            for (int32_t j = 0; j < n; ++j) {
                M[i * n + j] = B[i * n + j];
                if (psd) { /* B B' of low rank plus a skew part */
                    M[i * n + j] = B[i * n] * B[j * n] + (i < j ? B[i * n + j] : 0.0) -
                                   (i > j ? B[j * n + i] : 0.0);
                }
            }
            q[i] = (double)(test_random(&random) % 9) - 5.0;
        }
        const perp_lcp p = {n, M, q};
        perp_report report;
        REQUIRE_OK(perp_lcp_solve(b.solver, &p, NULL, false, z, &report));
        const bool solvable = enumerated_solvable(&p);
        if (report.outcome == PERP_OUTCOME_SOLVED) {
            CHECK(solvable);
            CHECK_AT_MOST(residual_of(&p, z), 1e-10);
            ++solved;
        } else {
            CHECK_EQ_INT(report.outcome, PERP_OUTCOME_RAY);
            if (psd) { /* positive semidefinite: a ray proves that there is no solution */
                CHECK(!solvable);
            }
            rays += solvable;
            unsolvable += !solvable;
        }
    }
    TEST_PRINT("%d solved, %d rays without solution, %d rays although one exists", solved,
               unsolvable, rays);
    bench_free(&b);
}

/* z* and w* are drawn, q = w* - M z*. The answer need not be z*, its residual must vanish. */
static void solve_planted(bench* b, uint64_t seed, int32_t n, int32_t rank, bool skew)
{
    uint64_t random = seed;
    test_lcp t = test_lcp_make(n);
    double* B = calloc((size_t)n * (size_t)rank, sizeof *B);
    double* z = calloc((size_t)n, sizeof *z);
    for (int32_t i = 0; i < n * rank; ++i) {
        B[i] = test_uniform(&random, -1, 1);
    }
    for (int32_t i = 0; i < n; ++i) {
        for (int32_t j = 0; j < n; ++j) {
            for (int32_t k = 0; k < rank; ++k) {
                t.M[i * n + j] += B[i * rank + k] * B[j * rank + k];
            }
        }
    }
    for (int32_t i = 0; i < n && skew; ++i) {
        for (int32_t j = 0; j < i; ++j) {
            const double s = test_uniform(&random, -1, 1);
            t.M[i * n + j] += s;
            t.M[j * n + i] -= s;
        }
    }
    for (int32_t i = 0; i < n; ++i) {
        const double x = test_uniform(&random, -1, 1);
        z[i] = x > 0.0 ? x : 0.0;
        t.q[i] = x < -0.3 ? -x : 0.0; /* some rows degenerate: z = w = 0 */
    }
    for (int32_t i = 0; i < n; ++i) {
        for (int32_t j = 0; j < n; ++j) {
            t.q[i] -= t.M[i * n + j] * z[j];
        }
    }
    perp_report report;
    REQUIRE_OK(perp_lcp_solve(b->solver, &t.lcp, NULL, false, z, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
    CHECK_AT_MOST(residual_of(&t.lcp, z), 1e-10);
    free(B);
    free(z);
    test_lcp_free(&t);
}

TEST(planted_solutions_of_positive_definite_problems_are_found)
{
    bench b = bench_make();
    for (int32_t n = 1; n <= 60; ++n) {
        solve_planted(&b, (uint64_t)n, n, n + 2, false);
        solve_planted(&b, (uint64_t)n, n, n + 2, true);
    }
    bench_free(&b);
}

TEST(planted_solutions_of_semidefinite_problems_are_found)
{
    bench b = bench_make();
    for (int32_t n = 2; n <= 60; ++n) {
        solve_planted(&b, (uint64_t)n, n, n / 2, false);
        solve_planted(&b, (uint64_t)n, n, n / 3 + 1, false);
        solve_planted(&b, (uint64_t)n, n, n / 2, true);
    }
    bench_free(&b);
}

TEST(a_warm_start_from_the_solution_takes_no_pivot)
{
    bench b = bench_make();
    for (uint64_t seed = 0; seed < 12; ++seed) {
        test_lcp t = test_stewart_trinkle(1 + (int32_t)(seed % 5), 8, seed, seed % 2 == 0);
        double* z = calloc((size_t)t.lcp.n, sizeof *z);
        double* again = calloc((size_t)t.lcp.n, sizeof *z);
        perp_report report;
        REQUIRE_OK(perp_lcp_solve(b.solver, &t.lcp, NULL, false, z, &report));
        REQUIRE_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
        CHECK(report.iterations > 0);
        memcpy(again, z, (size_t)t.lcp.n * sizeof *z);
        REQUIRE_OK(perp_lcp_solve(b.solver, &t.lcp, NULL, true, again, &report));
        CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
        CHECK_EQ_INT(report.iterations, 0);
        free(z);
        free(again);
        test_lcp_free(&t);
    }
    bench_free(&b);
}

/* A block on two contacts with friction, per contact p_n, two directions, lambda; q: its free fall in a step. */
static void block_at_rest(double* M, double* q)
{
    enum { ROWS = 4, N = 8 };
    const double mu = 0.5, half = 0.5, inertia = 1.0 / 6.0;
    for (int32_t c = 0; c < 2; ++c) {
        for (int32_t d = 0; d < 2; ++d) {
            const double x[] = {c == 0 ? -half : half, d == 0 ? -half : half};
            const double J[2][3][3] = {{{0, 1, x[0]}, {1, 0, half}, {-1, 0, -half}},
                                       {{0, 1, x[1]}, {1, 0, half}, {-1, 0, -half}}};
            for (int32_t i = 0; i < 3; ++i) {
                for (int32_t j = 0; j < 3; ++j) {
                    M[(ROWS * c + i) * N + ROWS * d + j] = J[0][i][0] * J[1][j][0] +
                                                           J[0][i][1] * J[1][j][1] +
                                                           J[0][i][2] * J[1][j][2] / inertia;
                }
            }
        }
        q[ROWS * c] = -0.0981;
        for (int32_t i = 1; i < 3; ++i) {
            M[(ROWS * c + i) * N + ROWS * c + 3] = 1.0;
            M[(ROWS * c + 3) * N + ROWS * c + i] = -1.0;
        }
        M[(ROWS * c + 3) * N + ROWS * c] = mu;
    }
}

/* At rest the gaps of each step are rounding, and with them which friction would carry it: that is no reason
 * to pivot. A change that is not rounding is one. */
TEST(a_warm_start_takes_no_pivot_where_only_rounding_has_changed)
{
    enum { N = 8, STEPS = 40 };
    bench b = bench_make();
    double M[N * N] = {0}, q[N] = {0}, now[N], z[N] = {0};
    block_at_rest(M, q);
    const perp_lcp p = {N, M, now};
    for (int32_t step = 0; step < STEPS; ++step) {
        const double off = 1e-14 * ((7 * step) % 11 - 5), side = 1e-14 * ((5 * step) % 7 - 3);
        memcpy(now, q, sizeof q);
        now[0] += off;
        now[4] -= 0.5 * off;
        now[1] = now[5] = side;
        now[2] = now[6] = -side;
        perp_report report;
        REQUIRE_OK(perp_lcp_solve(b.solver, &p, NULL, step > 0, z, &report));
        CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
        CHECK_AT_MOST(residual_of(&p, z), 1e-12);
        CHECK(step == 0 || report.iterations == 0);
    }
    now[1] = now[5] = 1e-6;
    now[2] = now[6] = -1e-6;
    perp_report report;
    REQUIRE_OK(perp_lcp_solve(b.solver, &p, NULL, true, z, &report));
    CHECK(report.iterations > 0);
    CHECK_AT_MOST(residual_of(&p, z), 1e-13);
    bench_free(&b);
}

TEST(a_useless_warm_start_does_no_harm)
{
    bench b = bench_make();
    uint64_t random = 3;
    for (uint64_t seed = 0; seed < 30; ++seed) {
        test_lcp t = test_stewart_trinkle(1 + (int32_t)(seed % 3), 4 + (int32_t)(seed % 5), seed,
                                          seed % 2 == 0);
        double* z = calloc((size_t)t.lcp.n, sizeof *z);
        for (int32_t i = 0; i < t.lcp.n; ++i) {
            z[i] = test_uniform(&random, -1, 1);
        }
        perp_report report;
        REQUIRE_OK(perp_lcp_solve(b.solver, &t.lcp, NULL, true, z, &report));
        CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
        CHECK_AT_MOST(residual_of(&t.lcp, z), 1e-10);
        free(z);
        test_lcp_free(&t);
    }
    bench_free(&b);
}

TEST(the_problem_is_not_changed_and_the_second_solve_allocates_nothing)
{
    bench b = bench_make();
    test_lcp t = test_stewart_trinkle(3, 8, 4, true);
    const size_t n = (size_t)t.lcp.n;
    double* M = malloc(n * n * sizeof *M);
    double* q = malloc(n * sizeof *q);
    double* z = calloc(n, sizeof *z);
    memcpy(M, t.M, n * n * sizeof *M);
    memcpy(q, t.q, n * sizeof *q);
    perp_report report;
    CHECK_OK(perp_lcp_solve(b.solver, &t.lcp, NULL, false, z, &report));
    CHECK_EQ_INT(memcmp(M, t.M, n * n * sizeof *M), 0);
    CHECK_EQ_INT(memcmp(q, t.q, n * sizeof *q), 0);
    const uint64_t before = perp_context_allocations(b.context);
    for (uint64_t seed = 5; seed < 9; ++seed) {
        test_lcp other = test_stewart_trinkle(3, 8, seed, true);
        CHECK_OK(perp_lcp_solve(b.solver, &other.lcp, NULL, seed % 2 == 0, z, &report));
        test_lcp_free(&other);
    }
    CHECK_EQ_U64(perp_context_allocations(b.context), before);
    free(M);
    free(q);
    free(z);
    test_lcp_free(&t);
    bench_free(&b);
}

/* Other units: rows and unknowns multiplied; the answer is the same, by the same pivots but for the
 * rare tie that rounding decides. */
TEST(units_change_neither_the_answer_nor_the_path)
{
    bench b = bench_make();
    int32_t detours = 0;
    for (uint64_t seed = 0; seed < 24; ++seed) {
        const int32_t directions = 8, boxes = 1 + (int32_t)(seed % 4), nc = 4 * boxes;
        test_lcp t = test_stewart_trinkle(boxes, directions, seed, seed % 2 == 0);
        const int32_t n = t.lcp.n;
        test_lcp s = test_lcp_make(n);
        /* Impulses in a unit a times smaller, velocities c times: rows of u scale by c, sigma rows
         * by a; unknowns p by a, sigma by c. */
        const double a = 1e6, c = 1e3;
        for (int32_t i = 0; i < n; ++i) {
            const double row = i < nc * (1 + directions) ? c : a;
            for (int32_t j = 0; j < n; ++j) {
                const double col = j < nc * (1 + directions) ? a : c;
                s.M[i * n + j] = t.M[i * n + j] * row / col;
            }
            s.q[i] = t.q[i] * row;
        }
        double* z = calloc((size_t)n, sizeof *z);
        double* y = calloc((size_t)n, sizeof *y);
        perp_report first, second;
        REQUIRE_OK(perp_lcp_solve(b.solver, &t.lcp, NULL, false, z, &first));
        REQUIRE_OK(perp_lcp_solve(b.solver, &s.lcp, NULL, false, y, &second));
        CHECK_EQ_INT(first.outcome, PERP_OUTCOME_SOLVED);
        CHECK_EQ_INT(second.outcome, PERP_OUTCOME_SOLVED);
        detours += first.iterations != second.iterations;
        double largest = 0.0;
        for (int32_t i = 0; i < n; ++i) {
            largest = z[i] > largest ? z[i] : largest;
        }
        for (int32_t i = 0; i < n; ++i) {
            CHECK_NEAR(y[i] / (i < nc * (1 + directions) ? a : c), z[i], 1e-11 * largest);
        }
        free(z);
        free(y);
        test_lcp_free(&t);
        test_lcp_free(&s);
    }
    TEST_PRINT("%d of 24 paths differ in length", (int)detours);
    CHECK_AT_MOST(detours, 2);
    bench_free(&b);
}

static bool always(void* user)
{
    ++*(int*)user;
    return true;
}

TEST(a_pivot_limit_and_a_cancel_are_honoured)
{
    bench b = bench_make();
    test_lcp t = test_stewart_trinkle(5, 8, 4, true);
    double* z = calloc((size_t)t.lcp.n, sizeof *z);
    perp_report report;
    perp_solve_options options = perp_solve_options_default();
    options.max_iter = 5;
    REQUIRE_OK(perp_lcp_solve(b.solver, &t.lcp, &options, false, z, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_MAX_ITER);
    CHECK_AT_MOST(report.iterations, 5);
    int asked = 0;
    options = perp_solve_options_default();
    options.cancel = always;
    options.user = &asked;
    REQUIRE_OK(perp_lcp_solve(b.solver, &t.lcp, &options, false, z, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_CANCELLED);
    CHECK_EQ_INT(asked, 1);
    options = perp_solve_options_default();
    options.time_limit = 1e-9;
    REQUIRE_OK(perp_lcp_solve(b.solver, &t.lcp, &options, false, z, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_TIME_LIMIT);
    free(z);
    test_lcp_free(&t);
    bench_free(&b);
}
