/* tests/unit/solve/newton_cases.h - problems for the Newton methods, whose answers are known
 * otherwise; each check takes the method's name. */
#ifndef PERP_TEST_NEWTON_CASES_H
#define PERP_TEST_NEWTON_CASES_H

#include "perp_test.h"

#include <dirent.h>

#include "conform/stewart_trinkle.h"
#include "perp/solve.h"

/* ---- MLCPs with their arrays -----------------------------------------------------------------------*/

typedef struct test_mlcp {
    perp_mlcp mlcp;
    int32_t *start, *row;
    double *value, *q, *lower, *upper;
} test_mlcp;

/* From a dense row-major matrix, zeros left out; lower 0, upper infinite. */
static inline test_mlcp test_mlcp_from_dense(int32_t n, const double* M, const double* q)
{
    const size_t m = (size_t)n;
    test_mlcp t = {.start = calloc(m + 1, sizeof(int32_t)),
                   .row = calloc(m * m + 1, sizeof(int32_t)),
                   .value = calloc(m * m + 1, sizeof(double)),
                   .q = calloc(m + 1, sizeof(double)),
                   .lower = calloc(m + 1, sizeof(double)),
                   .upper = calloc(m + 1, sizeof(double))};
    int32_t e = 0;
    for (int32_t j = 0; j < n; ++j) {
        t.start[j] = e;
        for (int32_t i = 0; i < n; ++i) {
            const double value = M[(size_t)i * m + (size_t)j];
            if (value != 0.0) {
                t.row[e] = i;
                t.value[e++] = value;
            }
        }
        t.q[j] = q[j];
        t.upper[j] = INFINITY;
    }
    t.start[n] = e;
    t.mlcp = (perp_mlcp){{n, n, t.start, t.row, t.value}, t.q, t.lower, t.upper};
    return t;
}

/* The five-point Laplacian on a grid of w x h, rows of -(h^2) u'' + load. */
static inline test_mlcp test_obstacle(int32_t width, int32_t height, double load, double floor)
{
    const int32_t n = width * height;
    const size_t m = (size_t)n;
    test_mlcp t = {.start = calloc(m + 1, sizeof(int32_t)),
                   .row = calloc(5 * m + 1, sizeof(int32_t)),
                   .value = calloc(5 * m + 1, sizeof(double)),
                   .q = calloc(m + 1, sizeof(double)),
                   .lower = calloc(m + 1, sizeof(double)),
                   .upper = calloc(m + 1, sizeof(double))};
    int32_t e = 0;
    for (int32_t j = 0; j < n; ++j) {
        const int32_t x = j % width, y = j / width;
        const int32_t near[5] = {y > 0 ? j - width : -1, x > 0 ? j - 1 : -1, j,
                                 x + 1 < width ? j + 1 : -1, y + 1 < height ? j + width : -1};
        t.start[j] = e;
        for (int32_t k = 0; k < 5; ++k) {
            if (near[k] >= 0) {
                t.row[e] = near[k];
                t.value[e++] = k != 2 ? -1.0 : height > 1 ? 4.0 : 2.0;
            }
        }
        t.q[j] = load;
        t.lower[j] = floor;
        t.upper[j] = INFINITY;
    }
    t.start[n] = e;
    t.mlcp = (perp_mlcp){{n, n, t.start, t.row, t.value}, t.q, t.lower, t.upper};
    return t;
}

static inline void test_mlcp_free(test_mlcp* t)
{
    free(t->start);
    free(t->row);
    free(t->value);
    free(t->q);
    free(t->lower);
    free(t->upper);
}

/* |z - mid(lower, z - w, upper)|_inf, plain, recomputed here. */
static inline double test_mlcp_residual(const perp_mlcp* p, const double* z)
{
    const int32_t n = p->M.cols;
    double* w = calloc((size_t)n + 1, sizeof *w);
    double worst = 0.0;
    for (int32_t j = 0; j < n; ++j) {
        w[j] += p->q[j];
        for (int32_t e = p->M.start[j]; e < p->M.start[j + 1]; ++e) {
            w[p->M.row[e]] += p->M.value[e] * z[j];
        }
    }
    for (int32_t i = 0; i < n; ++i) {
        const double t = z[i] - w[i];
        const double m = t < p->lower[i] ? p->lower[i] : t > p->upper[i] ? p->upper[i] : t;
        const double r = fabs(z[i] - m);
        worst = r <= worst ? worst : r; /* a NaN stays */
    }
    free(w);
    return worst;
}

/* ---- NCPs ------------------------------------------------------------------------------------------*/

enum { TEST_NCP_SIZE = 4 };

/* A dense pattern of n <= 4. */
static inline perp_sparse test_full_pattern(int32_t n)
{
    static const int32_t start[TEST_NCP_SIZE + 1][TEST_NCP_SIZE + 1] = {
        {0}, {0, 1}, {0, 2, 4}, {0, 3, 6, 9}, {0, 4, 8, 12, 16}};
    static const int32_t row[TEST_NCP_SIZE + 1][16] = {
        {0},
        {0},
        {0, 1, 0, 1},
        {0, 1, 2, 0, 1, 2, 0, 1, 2},
        {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3}};
    return (perp_sparse){n, n, start[n], row[n], NULL};
}

static const double test_zeros[TEST_NCP_SIZE] = {0};
static const double test_infinite[TEST_NCP_SIZE] = {INFINITY, INFINITY, INFINITY, INFINITY};
static const double test_minus_infinite[TEST_NCP_SIZE] = {-INFINITY, -INFINITY, -INFINITY,
                                                          -INFINITY};

/* user: 0 Kojima-Shindo, 1 Josephy; they share the quadratic part. */
static inline perp_status test_kojima_F(void* user, const double* x, double* F)
{
    const int josephy = *(const int*)user;
    F[0] = 3 * x[0] * x[0] + 2 * x[0] * x[1] + 2 * x[1] * x[1] + x[2] + 3 * x[3] - 6;
    F[1] = 2 * x[0] * x[0] + x[0] + x[1] * x[1] + (josephy ? 3 : 10) * x[2] + 2 * x[3] - 2;
    F[2] = 3 * x[0] * x[0] + x[0] * x[1] + 2 * x[1] * x[1] + 2 * x[2] + (josephy ? 3 : 9) * x[3] -
           (josephy ? 1 : 9);
    F[3] = x[0] * x[0] + 3 * x[1] * x[1] + 2 * x[2] + 3 * x[3] - 3;
    return PERP_OK;
}

static inline perp_status test_kojima_J(void* user, const double* x, double* v)
{
    const int josephy = *(const int*)user;
    const double J[16] = {6 * x[0] + 2 * x[1],
                          4 * x[0] + 1,
                          6 * x[0] + x[1],
                          2 * x[0],
                          2 * x[0] + 4 * x[1],
                          2 * x[1],
                          x[0] + 4 * x[1],
                          6 * x[1],
                          1,
                          josephy ? 3.0 : 10.0,
                          2,
                          2,
                          3,
                          2,
                          josephy ? 3.0 : 9.0,
                          3};
    memcpy(v, J, sizeof J);
    return PERP_OK;
}

/* A market: a good is made in town 1 (supply p1^2) and wanted in town 2 (demand 7 - p2); shipping x
 * costs 1 a piece; a second source y sells in town 2 at 5. By hand: p = (2, 3), x = 4, y = 0. */
static inline perp_status test_market_F(void* user, const double* z, double* F)
{
    (void)user;
    F[0] = z[0] * z[0] - z[2];         /* perp p1: supply covers shipment */
    F[1] = z[2] + z[3] - (7.0 - z[1]); /* perp p2: arrivals cover demand */
    F[2] = z[0] + 1.0 - z[1];          /* perp x: no profit in shipping */
    F[3] = 5.0 - z[1];                 /* perp y */
    return PERP_OK;
}

static inline perp_status test_market_J(void* user, const double* z, double* v)
{
    (void)user;
    const double J[16] = {2 * z[0], 0, 1, 0, 0, 1, -1, -1, -1, 1, 0, 0, 0, 1, 0, 0};
    memcpy(v, J, sizeof J);
    return PERP_OK;
}

/* log z in [0, inf): -infinity at the start, 0 at 1. */
static inline perp_status test_log_F(void* user, const double* z, double* F)
{
    (void)user;
    F[0] = log(z[0]);
    return PERP_OK;
}

static inline perp_status test_log_J(void* user, const double* z, double* v)
{
    (void)user;
    v[0] = 1.0 / z[0];
    return PERP_OK;
}

/* 1 + z^2 = 0: none. */
static inline perp_status test_rootless_F(void* user, const double* z, double* F)
{
    (void)user;
    F[0] = 1.0 + z[0] * z[0];
    return PERP_OK;
}

static inline perp_status test_rootless_J(void* user, const double* z, double* v)
{
    (void)user;
    v[0] = 2.0 * z[0];
    return PERP_OK;
}

static inline perp_status test_failing_F(void* user, const double* z, double* F)
{
    (void)user;
    (void)z;
    F[0] = 1.0;
    return PERP_ERROR_NUMERIC;
}

/* A membrane over a floor, with springs that resist by u^3. */
typedef struct test_membrane {
    test_mlcp plane;
    double stiffness;
} test_membrane;

static inline perp_status test_membrane_F(void* user, const double* z, double* F)
{
    const perp_mlcp* p = &((const test_membrane*)user)->plane.mlcp;
    const double c = ((const test_membrane*)user)->stiffness;
    for (int32_t i = 0; i < p->M.cols; ++i) {
        F[i] = p->q[i] + c * z[i] * z[i] * z[i];
    }
    for (int32_t j = 0; j < p->M.cols; ++j) {
        for (int32_t e = p->M.start[j]; e < p->M.start[j + 1]; ++e) {
            F[p->M.row[e]] += p->M.value[e] * z[j];
        }
    }
    return PERP_OK;
}

static inline perp_status test_membrane_J(void* user, const double* z, double* v)
{
    const perp_mlcp* p = &((const test_membrane*)user)->plane.mlcp;
    const double c = ((const test_membrane*)user)->stiffness;
    for (int32_t j = 0; j < p->M.cols; ++j) {
        for (int32_t e = p->M.start[j]; e < p->M.start[j + 1]; ++e) {
            v[e] = p->M.value[e] + (p->M.row[e] == j ? 3.0 * c * z[j] * z[j] : 0.0);
        }
    }
    return PERP_OK;
}

/* ---- checks ----------------------------------------------------------------------------------------*/

static inline void check_hand_solved_mlcps(const char* name)
{
    perp_context* context = NULL;
    perp_mlcp_solver* solver = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perp_mlcp_solver_create(context, name, NULL, 0, &solver));
    perp_report report;

    /* z = (2, 0), w = (0, 3). */
    const double M1[] = {2, 1, 1, 2}, q1[] = {-4, 1};
    test_mlcp t = test_mlcp_from_dense(2, M1, q1);
    double z[4] = {0};
    CHECK_OK(perp_mlcp_solve(solver, &t.mlcp, NULL, false, z, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
    CHECK_NEAR(z[0], 2.0, 1e-12);
    CHECK_NEAR(z[1], 0.0, 1e-12);
    test_mlcp_free(&t);

    /* All kinds of bounds, M = I: z = mid(lower, -q, upper). */
    const double M2[] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, q2[] = {5, -3, -7, 9};
    t = test_mlcp_from_dense(4, M2, q2);
    t.lower[0] = -INFINITY; /* free: -5 */
    t.lower[1] = -1.0;      /* [-1, 2]: 2 */
    t.upper[1] = 2.0;
    t.lower[2] = -INFINITY; /* up to 4: 4 */
    t.upper[2] = 4.0;
    t.lower[3] = -6.0; /* from -6: -6 */
    CHECK_OK(perp_mlcp_solve(solver, &t.mlcp, NULL, false, z, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
    CHECK_NEAR(z[0], -5.0, 1e-12);
    CHECK_NEAR(z[1], 2.0, 1e-12);
    CHECK_NEAR(z[2], 4.0, 1e-12);
    CHECK_NEAR(z[3], -6.0, 1e-12);

    /* An unknown that cannot move. */
    t.lower[0] = t.upper[0] = 0.25;
    CHECK_OK(perp_mlcp_solve(solver, &t.mlcp, NULL, false, z, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
    CHECK_NEAR(z[0], 0.25, 0.0);
    test_mlcp_free(&t);

    /* A saddle with zero diagonal: v free, p >= 0; v - p = -1 (falls), v >= 0: v = 0, p = 1. */
    const double M3[] = {1, -1, 1, 0}, q3[] = {1, 0};
    t = test_mlcp_from_dense(2, M3, q3);
    t.lower[0] = -INFINITY;
    CHECK_OK(perp_mlcp_solve(solver, &t.mlcp, NULL, false, z, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
    CHECK_NEAR(z[0], 0.0, 1e-12);
    CHECK_NEAR(z[1], 1.0, 1e-12);
    test_mlcp_free(&t);
    perp_mlcp_solver_destroy(solver);
    perp_context_destroy(context);
}

/* w* and z* are drawn so that they fit the bounds, q = w* - M z*. M = B B' of the given rank, with a
 * skew part or not; every third unknown is free, has two bounds, or one; some rows are degenerate. */
static inline test_mlcp test_planted_mlcp(uint64_t seed, int32_t n, int32_t rank, bool skew)
{
    uint64_t random = seed;
    const size_t m = (size_t)n;
    double* M = calloc(m * m, sizeof *M);
    double* B = calloc(m * (size_t)rank, sizeof *B);
    double* z = calloc(m, sizeof *z);
    double* q = calloc(m, sizeof *q);
    for (size_t i = 0; i < m * (size_t)rank; ++i) {
        B[i] = test_uniform(&random, -1, 1);
    }
    for (int32_t i = 0; i < n; ++i) {
        for (int32_t j = 0; j < n; ++j) {
            for (int32_t k = 0; k < rank; ++k) {
                M[i * n + j] += B[i * rank + k] * B[j * rank + k];
            }
            if (skew && i < j) {
                const double s = test_uniform(&random, -1, 1);
                M[i * n + j] += s;
                M[j * n + i] -= s;
            }
        }
    }
    test_mlcp t = test_mlcp_from_dense(n, M, q);
    for (int32_t i = 0; i < n; ++i) {
        const double x = test_uniform(&random, -1, 1), gap = test_uniform(&random, 0, 1);
        const int32_t kind = i % 4;
        t.lower[i] = kind == 0 ? -INFINITY : test_uniform(&random, -2, 1);
        t.upper[i] = kind == 1 ? t.lower[i] + 1.0 : INFINITY;
        if (kind == 0) {
            z[i] = x;
        } else if (x > 0.3) { /* at the lower bound, half of them with w = 0 */
            z[i] = t.lower[i];
            t.q[i] = x > 0.6 ? x : 0.0;
        } else if (kind == 1 && x < -0.3) {
            z[i] = t.upper[i];
            t.q[i] = x < -0.6 ? x : 0.0;
        } else {
            z[i] = t.lower[i] + gap;
        }
    }
    for (int32_t i = 0; i < n; ++i) {
        for (int32_t j = 0; j < n; ++j) {
            t.q[i] -= M[i * n + j] * z[j];
        }
    }
    free(M);
    free(B);
    free(z);
    free(q);
    return t;
}

static inline void check_planted_mlcps(const char* name)
{
    perp_context* context = NULL;
    perp_mlcp_solver* solver = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perp_mlcp_solver_create(context, name, NULL, 0, &solver));
    int32_t solved[2] = {0}, total[2] = {0}, steps = 0;
    for (int32_t n = 1; n <= 60; n += n < 12 ? 1 : 6) {
        for (int32_t k = 0; k < 8; ++k) {
            const bool full = k % 2 == 0;
            test_mlcp t = test_planted_mlcp((uint64_t)(100 * n + k), n, full ? n + 2 : n / 2 + 1,
                                            k / 2 % 2 == 0);
            double* z = calloc((size_t)n, sizeof *z);
            perp_report report;
            CHECK_OK(perp_mlcp_solve(solver, &t.mlcp, NULL, false, z, &report));
            if (report.outcome == PERP_OUTCOME_SOLVED) {
                CHECK_AT_MOST(test_mlcp_residual(&t.mlcp, z), 1e-7);
                ++solved[full];
            }
            ++total[full];
            steps += report.iterations;
            free(z);
            test_mlcp_free(&t);
        }
    }
    TEST_PRINT("%s: %d of %d definite, %d of %d semidefinite MLCPs with bounds; %.1f steps", name,
               (int)solved[1], (int)total[1], (int)solved[0], (int)total[0],
               (double)steps / (total[0] + total[1]));
    CHECK_EQ_INT(solved[1], total[1]);
    CHECK_EQ_INT(solved[0], total[0]);
    perp_mlcp_solver_destroy(solver);
    perp_context_destroy(context);
}

/* -u'' = -8 on (0, 1) above -1/2: free up to a = sqrt(1/8), where u = -1/2 + 4 (x - a)^2. */
static inline void check_obstacles(const char* name)
{
    perp_context* context = NULL;
    perp_mlcp_solver* solver = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perp_mlcp_solver_create(context, name, NULL, 0, &solver));
    perp_report report;
    for (int32_t n = 99; n <= 999; n += 300) {
        const double h = 1.0 / (n + 1), a = sqrt(0.125);
        test_mlcp t = test_obstacle(n, 1, 8.0 * h * h, -0.5);
        double* z = calloc((size_t)n, sizeof *z);
        CHECK_OK(perp_mlcp_solve(solver, &t.mlcp, NULL, false, z, &report));
        CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
        double worst = 0.0;
        for (int32_t i = 0; i < n; ++i) {
            const double x = (i + 1) * h, s = x < 0.5 ? x : 1.0 - x;
            const double u = s < a ? -0.5 + 4.0 * (s - a) * (s - a) : -0.5;
            worst = fmax(worst, fabs(z[i] - u));
        }
        CHECK_AT_MOST(worst, 4.0 * h * h);
        TEST_PRINT("%s: string of %d: %d steps, %.2f ms, off the exact curve by %.1e", name, (int)n,
                   (int)report.iterations, 1e3 * report.seconds, worst);
        free(z);
        test_mlcp_free(&t);
    }
    test_mlcp t = test_obstacle(30, 30, 0.01, -0.3);
    double* z = calloc(900, sizeof *z);
    CHECK_OK(perp_mlcp_solve(solver, &t.mlcp, NULL, false, z, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
    CHECK_AT_MOST(test_mlcp_residual(&t.mlcp, z), 1e-11);
    TEST_PRINT("%s: membrane of 900: %d steps, %.2f ms", name, (int)report.iterations,
               1e3 * report.seconds);
    free(z);
    test_mlcp_free(&t);
    perp_mlcp_solver_destroy(solver);
    perp_context_destroy(context);
}

/* Kojima-Shindo has (sqrt(6)/2, 0, 0, 1/2), degenerate, and (1, 0, 3, 0); Josephy the first only. */
static inline void check_hand_solved_ncps(const char* name)
{
    perp_context* context = NULL;
    perp_ncp_solver* solver = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perp_ncp_solver_create(context, name, NULL, 0, &solver));
    perp_report report;
    static const double starts[][4] = {{0, 0, 0, 0}, {1, 1, 1, 1}, {1.25, 0, 0, 0.5},
                                       {1, 0, 1, 0}, {1, 0, 0, 0}, {100, 100, 100, 100}};
    for (int josephy = 0; josephy < 2; ++josephy) {
        for (size_t s = 0; s < sizeof starts / sizeof starts[0]; ++s) {
            const perp_ncp p = {4,
                                test_zeros,
                                test_infinite,
                                &josephy,
                                test_kojima_F,
                                test_full_pattern(4),
                                test_kojima_J};
            double z[4];
            memcpy(z, starts[s], sizeof z);
            CHECK_OK(perp_ncp_solve(solver, &p, NULL, true, z, &report));
            CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
            const bool first =
                fabs(z[0] - sqrt(1.5)) + fabs(z[1]) + fabs(z[2]) + fabs(z[3] - 0.5) <=
                1e-5; /* degenerate: the root is soft */
            const bool second =
                !josephy && fabs(z[0] - 1) + fabs(z[1]) + fabs(z[2] - 3) + fabs(z[3]) <= 1e-8;
            CHECK(first || second);
            if (report.outcome != PERP_OUTCOME_SOLVED || !(first || second)) {
                TEST_PRINT("%s from start %d of %s: %s, (%g, %g, %g, %g), %.1e", name, (int)s,
                           josephy ? "Josephy" : "Kojima-Shindo", perp_outcome_name(report.outcome),
                           z[0], z[1], z[2], z[3], report.residual);
            }
        }
    }
    const perp_ncp market = {
        4, test_zeros, test_infinite, NULL, test_market_F, test_full_pattern(4), test_market_J};
    double z[4] = {0};
    CHECK_OK(perp_ncp_solve(solver, &market, NULL, false, z, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
    CHECK_NEAR(z[0], 2.0, 1e-8);
    CHECK_NEAR(z[1], 3.0, 1e-8);
    CHECK_NEAR(z[2], 4.0, 1e-8);
    CHECK_NEAR(z[3], 0.0, 1e-8);
    TEST_PRINT("%s: market in %d steps", name, (int)report.iterations);

    /* Not finite where it begins: it begins elsewhere. */
    const perp_ncp logarithm = {1,          test_zeros,           test_infinite, NULL,
                                test_log_F, test_full_pattern(1), test_log_J};
    double x[1] = {0};
    CHECK_OK(perp_ncp_solve(solver, &logarithm, NULL, false, x, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
    CHECK_NEAR(x[0], 1.0, 1e-9);
    perp_ncp_solver_destroy(solver);
    perp_context_destroy(context);
}

static inline void check_membrane(const char* name)
{
    perp_context* context = NULL;
    perp_ncp_solver* solver = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perp_ncp_solver_create(context, name, NULL, 0, &solver));
    for (int32_t width = 10; width <= 30; width += 10) {
        test_membrane m = {test_obstacle(width, width, 20.0 / (width * width), -0.6),
                           5.0 / (width * width)};
        const perp_mlcp* plane = &m.plane.mlcp;
        const int32_t n = width * width;
        const perp_ncp p = {n,        plane->lower,   plane->upper, &m, test_membrane_F,
                            plane->M, test_membrane_J};
        double* z = calloc((size_t)n, sizeof *z);
        double* F = calloc((size_t)n, sizeof *z);
        perp_report report;
        CHECK_OK(perp_ncp_solve(solver, &p, NULL, false, z, &report));
        CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
        CHECK_OK(test_membrane_F(&m, z, F));
        int32_t touching = 0;
        for (int32_t i = 0; i < n; ++i) {
            const double gap = z[i] + 0.6;
            CHECK_AT_MOST(fabs(gap < F[i] ? gap : F[i]), 1e-9);
            touching += gap < 1e-9;
        }
        TEST_PRINT("%s: membrane of %d, %d on the floor: %d steps, %.2f ms", name, (int)n,
                   (int)touching, (int)report.iterations, 1e3 * report.seconds);
        CHECK(touching > 0 && touching < n);
        free(z);
        free(F);
        test_mlcp_free(&m.plane);
    }
    perp_ncp_solver_destroy(solver);
    perp_context_destroy(context);
}

/* Nothing that has no solution is called solved; what comes back is finite. */
static inline void check_unsolvable(const char* name)
{
    perp_context* context = NULL;
    perp_mlcp_solver* mlcp = NULL;
    perp_ncp_solver* ncp = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perp_mlcp_solver_create(context, name, NULL, 0, &mlcp));
    REQUIRE_OK(perp_ncp_solver_create(context, name, NULL, 0, &ncp));
    perp_report report;
    const double M1[] = {-1}, q1[] = {-1}, M2[] = {1, -1, -1, 1}, q2[] = {-1, -1},
                 M3[] = {0, 0, 0, 1};
    const double q3[] = {1, -1};
    for (int k = 0; k < 3; ++k) {
        test_mlcp t = k == 0   ? test_mlcp_from_dense(1, M1, q1)
                      : k == 1 ? test_mlcp_from_dense(2, M2, q2)
                               : test_mlcp_from_dense(2, M3, q3);
        if (k == 2) {
            t.lower[0] = -INFINITY; /* an equation 0 = 1 */
        }
        double z[2] = {0};
        CHECK_OK(perp_mlcp_solve(mlcp, &t.mlcp, NULL, false, z, &report));
        CHECK(report.outcome != PERP_OUTCOME_SOLVED && report.outcome != PERP_OUTCOME_UNSET);
        CHECK(isfinite(z[0]) && isfinite(z[1]));
        CHECK(report.detail[0] != '\0');
        test_mlcp_free(&t);
    }
    const perp_ncp rootless = {1,
                               test_minus_infinite,
                               test_infinite,
                               NULL,
                               test_rootless_F,
                               test_full_pattern(1),
                               test_rootless_J};
    double z[1] = {0};
    CHECK_OK(perp_ncp_solve(ncp, &rootless, NULL, false, z, &report));
    CHECK(report.outcome != PERP_OUTCOME_SOLVED && report.outcome != PERP_OUTCOME_UNSET);
    CHECK(isfinite(z[0]));

    /* A callback that fails ends the call with its status, and the point is left alone. */
    const perp_ncp failing = {
        1, test_zeros, test_infinite, NULL, test_failing_F, test_full_pattern(1), test_rootless_J};
    z[0] = 3.0;
    CHECK_EQ_INT(perp_ncp_solve(ncp, &failing, NULL, true, z, &report), PERP_ERROR_NUMERIC);
    CHECK_NEAR(z[0], 3.0, 0.0);
    perp_mlcp_solver_destroy(mlcp);
    perp_ncp_solver_destroy(ncp);
    perp_context_destroy(context);
}

typedef struct test_log {
    int32_t count, cancel_after;
    double last;
} test_log;

static inline void test_write_log(void* user, int32_t iteration, double residual)
{
    test_log* log = user;
    (void)iteration;
    ++log->count;
    log->last = residual;
}

static inline bool test_cancel(void* user)
{
    test_log* log = user;
    return log->cancel_after-- <= 0;
}

/* Limits, cancel, log, no change of the input, no memory in the second solve. */
static inline void check_manners(const char* name)
{
    perp_context* context = NULL;
    perp_mlcp_solver* solver = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perp_mlcp_solver_create(context, name, NULL, 0, &solver));
    const int32_t n = 64;
    test_mlcp t = test_planted_mlcp(7, n, n + 2, true);
    const size_t count = (size_t)t.start[n];
    double* value = malloc(count * sizeof *value);
    double* q = malloc((size_t)n * sizeof *q);
    double* z = calloc((size_t)n, sizeof *z);
    memcpy(value, t.value, count * sizeof *value);
    memcpy(q, t.q, (size_t)n * sizeof *q);
    perp_report report;
    perp_solve_options options = perp_solve_options_default();
    test_log log = {.cancel_after = 1000};
    options.log = test_write_log;
    options.cancel = test_cancel;
    options.user = &log;
    CHECK_OK(perp_mlcp_solve(solver, &t.mlcp, &options, false, z, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
    CHECK_AT_LEAST(log.count, 1);
    CHECK_EQ_INT(memcmp(value, t.value, count * sizeof *value), 0);
    CHECK_EQ_INT(memcmp(q, t.q, (size_t)n * sizeof *q), 0);

    const uint64_t before = perp_context_allocations(context);
    test_mlcp other = test_planted_mlcp(8, n, n / 2, false);
    CHECK_OK(perp_mlcp_solve(solver, &other.mlcp, NULL, false, z, &report));
    CHECK_OK(perp_mlcp_solve(solver, &t.mlcp, NULL, true, z, &report));
    CHECK_OK(perp_mlcp_solve(solver, &t.mlcp, NULL, true, z, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
    CHECK_EQ_INT(report.iterations, 0); /* from the answer */
    CHECK_EQ_U64(perp_context_allocations(context), before);
    test_mlcp_free(&other);

    log = (test_log){.cancel_after = 0};
    CHECK_OK(perp_mlcp_solve(solver, &t.mlcp, &options, false, z, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_CANCELLED);
    options = perp_solve_options_default();
    options.time_limit = 1e-9;
    CHECK_OK(perp_mlcp_solve(solver, &t.mlcp, &options, false, z, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_TIME_LIMIT);
    /* One step is not enough for a market from far away. */
    const perp_ncp market = {
        4, test_zeros, test_infinite, NULL, test_market_F, test_full_pattern(4), test_market_J};
    perp_ncp_solver* ncp = NULL;
    double far[4] = {1e6, 1e6, 1e6, 1e6};
    REQUIRE_OK(perp_ncp_solver_create(context, name, NULL, 0, &ncp));
    options = perp_solve_options_default();
    options.max_iter = 1;
    CHECK_OK(perp_ncp_solve(ncp, &market, &options, true, far, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_MAX_ITER);
    CHECK_AT_MOST(report.iterations, 1);
    perp_ncp_solver_destroy(ncp);
    free(value);
    free(q);
    free(z);
    test_mlcp_free(&t);
    perp_mlcp_solver_destroy(solver);
    perp_context_destroy(context);
}

/* Rows and unknowns in other units: the same answer. */
static inline void check_units(const char* name)
{
    perp_context* context = NULL;
    perp_mlcp_solver* solver = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perp_mlcp_solver_create(context, name, NULL, 0, &solver));
    for (uint64_t seed = 0; seed < 12; ++seed) {
        const int32_t n = 20;
        test_mlcp t = test_planted_mlcp(seed, n, n + 2, true),
                  s = test_planted_mlcp(seed, n, n + 2, true);
        double unit[20], z[20] = {0}, y[20] = {0};
        uint64_t random = seed;
        for (int32_t i = 0; i < n; ++i) { /* in powers of ten */
            unit[i] = pow(10.0, round(test_uniform(&random, -6, 6)));
        }
        for (int32_t j = 0; j < n; ++j) { /* rows times 1e4 unit, unknowns times 1e-3 / unit */
            for (int32_t e = s.start[j]; e < s.start[j + 1]; ++e) {
                s.value[e] *= 1e4 * unit[s.row[e]] * unit[j] * 1e3;
            }
            s.q[j] *= 1e4 * unit[j];
            s.lower[j] *= 1e-3 / unit[j];
            s.upper[j] *= 1e-3 / unit[j];
        }
        perp_report first, second;
        CHECK_OK(perp_mlcp_solve(solver, &t.mlcp, NULL, false, z, &first));
        CHECK_OK(perp_mlcp_solve(solver, &s.mlcp, NULL, false, y, &second));
        CHECK_EQ_INT(first.outcome, PERP_OUTCOME_SOLVED);
        CHECK(isfinite(second.residual));
        for (int32_t i = 0; i < n; ++i) {
            CHECK_NEAR(y[i] * unit[i] * 1e3, z[i], 1e-6);
        }
        test_mlcp_free(&t);
        test_mlcp_free(&s);
    }
    perp_mlcp_solver_destroy(solver);
    perp_context_destroy(context);
}

/* One time step of boxes as an MLCP (through the LCP's columns); prints and returns the rate. */
static inline double stewart_trinkle_rate(const char* name, int32_t seeds)
{
    perp_context* context = NULL;
    perp_mlcp_solver* solver = NULL;
    CHECK_OK(perp_context_create(NULL, &context));
    CHECK_OK(perp_mlcp_solver_create(context, name, NULL, 0, &solver));
    static const int32_t directions[] = {4, 8, 16}, boxes[] = {1, 2, 3, 5};
    int32_t solved = 0, total = 0;
    for (size_t d = 0; d < 3; ++d) {
        for (size_t b = 0; b < 4; ++b) {
            int32_t here = 0, count = 0, steps = 0, n = 0;
            double time = 0.0;
            for (int32_t k = 0; k < 2 * seeds; ++k) {
                test_lcp lcp =
                    test_stewart_trinkle(boxes[b], directions[d], (uint64_t)(k / 2), k % 2);
                n = lcp.lcp.n;
                if (n <= 220) {
                    test_mlcp t = test_mlcp_from_dense(n, lcp.M, lcp.q);
                    double* z = calloc((size_t)n, sizeof *z);
                    perp_report report;
                    CHECK_OK(perp_mlcp_solve(solver, &t.mlcp, NULL, false, z, &report));
                    if (report.outcome == PERP_OUTCOME_SOLVED) {
                        CHECK_AT_MOST(perp_lcp_check_residual(&lcp.lcp, z), 1e-9);
                        ++here;
                    }
                    ++count;
                    steps += report.iterations;
                    time += report.seconds;
                    free(z);
                    test_mlcp_free(&t);
                }
                test_lcp_free(&lcp);
            }
            if (count > 0) {
                TEST_PRINT("%s: boxes %d, directions %2d, n = %3d: %d of %d, %.1f steps, %.2f ms",
                           name, (int)boxes[b], (int)directions[d], (int)n, (int)here, (int)count,
                           (double)steps / count, 1e3 * time / count);
            }
            solved += here;
            total += count;
        }
    }
    perp_mlcp_solver_destroy(solver);
    perp_context_destroy(context);
    return (double)solved / total;
}

/* The corpus kind `kind` (lcp, mlcp, blcp): solved, of; 0 if it is not there. */
static inline int32_t corpus_solved(const char* name, const char* kind, int32_t* solved)
{
    const char* source = getenv("PERP_SOURCE");
    char folder[4096];
    snprintf(folder, sizeof folder, "%s/../shared/corpus/%s", source ? source : PERP_SOURCE_DIR,
             kind);
    DIR* directory = opendir(folder);
    perp_context* context = NULL;
    perp_mlcp_solver* solver = NULL;
    int32_t total = 0;
    *solved = 0;
    if (directory == NULL) {
        return 0;
    }
    CHECK_OK(perp_context_create(NULL, &context));
    CHECK_OK(perp_mlcp_solver_create(context, name, NULL, 0, &solver));
    for (const struct dirent* entry; (entry = readdir(directory)) != NULL;) {
        char path[8192];
        perp_problem_file* file = NULL;
        if (strstr(entry->d_name, ".ccp") == NULL) {
            continue;
        }
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        CHECK_OK(perp_problem_read(context, path, &file));
        const perp_mlcp* p = file != NULL ? perp_problem_file_mlcp(file) : NULL;
        if (p != NULL) {
            double* z = calloc((size_t)p->M.cols + 1, sizeof *z);
            perp_report report;
            perp_plain_residual e;
            CHECK_OK(perp_mlcp_solve(solver, p, NULL, false, z, &report));
            CHECK_OK(perp_problem_file_residual(file, z, NULL, &e));
            const bool good = report.outcome == PERP_OUTCOME_SOLVED && e.e <= 1e-10;
            if (!good) {
                TEST_PRINT("%s: %s: %s, residual %.1e, e %.1e", name, entry->d_name,
                           perp_outcome_name(report.outcome), report.residual, e.e);
            }
            *solved += good;
            ++total;
            free(z);
        }
        perp_problem_file_destroy(file);
    }
    closedir(directory);
    perp_mlcp_solver_destroy(solver);
    perp_context_destroy(context);
    return total;
}

static inline void check_corpus(const char* name)
{
    static const char* const kinds[] = {"lcp", "mlcp", "blcp"};
    for (size_t k = 0; k < 3; ++k) {
        int32_t solved = 0;
        const int32_t total = corpus_solved(name, kinds[k], &solved);
        if (total == 0) {
            SKIP("no corpus beside the source");
        }
        TEST_PRINT("%s: %d of %d problems of kind %s", name, (int)solved, (int)total, kinds[k]);
        CHECK_AT_LEAST(solved, total); /* measured: all of those here */
    }
}

/* ---- LCPs ------------------------------------------------------------------------------------------*/

/* z* and w* are drawn, q = w* - M z*; M = B B' (+ skew). Some rows are degenerate: z = w = 0. */
static inline test_lcp test_planted_lcp(uint64_t seed, int32_t n, int32_t rank, bool skew)
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
        for (int32_t j = 0; j < i && skew; ++j) {
            const double s = test_uniform(&random, -1, 1);
            t.M[i * n + j] += s;
            t.M[j * n + i] -= s;
        }
    }
    for (int32_t i = 0; i < n; ++i) {
        const double x = test_uniform(&random, -1, 1);
        z[i] = x > 0.0 ? x : 0.0;
        t.q[i] = x < -0.3 ? -x : 0.0;
    }
    for (int32_t i = 0; i < n; ++i) {
        for (int32_t j = 0; j < n; ++j) {
            t.q[i] -= t.M[i * n + j] * z[j];
        }
    }
    free(B);
    free(z);
    return t;
}

static inline double test_lcp_residual(const perp_lcp* p, const double* z)
{
    double worst = 0.0;
    for (int32_t i = 0; i < p->n; ++i) {
        double w = p->q[i];
        for (int32_t j = 0; j < p->n; ++j) {
            w += p->M[i * p->n + j] * z[j];
        }
        const double e = fabs(z[i] < w ? z[i] : w);
        worst = e <= worst ? worst : e;
    }
    return worst;
}

static inline void check_lcps(const char* name)
{
    perp_context* context = NULL;
    perp_lcp_solver* solver = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perp_lcp_solver_create(context, name, NULL, 0, &solver));
    perp_report report;
    double* z = calloc(64, sizeof *z);

    /* Murty: 2 below the diagonal, 1 on it, q = -1: z = (1, 0, ..., 0). */
    int32_t murty = 0;
    for (int32_t n = 1; n <= 24; ++n) {
        test_lcp t = test_lcp_make(n);
        for (int32_t i = 0; i < n; ++i) {
            for (int32_t j = 0; j <= i; ++j) {
                t.M[i * n + j] = i == j ? 1.0 : 2.0;
            }
            t.q[i] = -1.0;
        }
        memset(z, 0, 64 * sizeof *z);
        CHECK_OK(perp_lcp_solve(solver, &t.lcp, NULL, false, z, &report));
        if (report.outcome == PERP_OUTCOME_SOLVED) {
            CHECK_NEAR(z[0], 1.0, 1e-8);
            ++murty;
        }
        test_lcp_free(&t);
    }
    TEST_PRINT("%s: %d of 24 of Murty's family", name, (int)murty);

    /* Copies of one contact: rank one. */
    test_lcp copies = test_lcp_make(20);
    for (int32_t i = 0; i < 400; ++i) {
        copies.M[i] = 1.0;
        copies.q[i % 20] = -3.0;
    }
    CHECK_OK(perp_lcp_solve(solver, &copies.lcp, NULL, false, z, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
    CHECK_AT_MOST(test_lcp_residual(&copies.lcp, z), 1e-9);
    test_lcp_free(&copies);

    /* Definite, semidefinite, with and without a skew part. */
    int32_t solved = 0, total = 0;
    for (int32_t n = 2; n <= 60; ++n) {
        for (int32_t k = 0; k < 4; ++k) {
            test_lcp t = test_planted_lcp((uint64_t)n, n, k < 2 ? n + 2 : n / 2, k % 2 == 0);
            const size_t bytes = (size_t)n * (size_t)n * sizeof(double);
            double* M = malloc(bytes);
            memcpy(M, t.M, bytes);
            CHECK_OK(perp_lcp_solve(solver, &t.lcp, NULL, false, z, &report));
            if (report.outcome == PERP_OUTCOME_SOLVED) {
                CHECK_AT_MOST(test_lcp_residual(&t.lcp, z), 1e-7);
                ++solved;
            }
            CHECK_EQ_INT(memcmp(M, t.M, bytes), 0);
            ++total;
            free(M);
            test_lcp_free(&t);
        }
    }
    TEST_PRINT("%s: %d of %d planted LCPs", name, (int)solved, (int)total);
    CHECK_EQ_INT(solved, total);

    /* The second solve of a size allocates nothing, whatever the pattern. */
    test_lcp friction = test_stewart_trinkle(1, 10, 3, true); /* n = 48 */
    test_lcp full = test_planted_lcp(5, friction.lcp.n, friction.lcp.n, true);
    CHECK_OK(perp_lcp_solve(solver, &friction.lcp, NULL, false, z, &report));
    const uint64_t before = perp_context_allocations(context);
    CHECK_OK(perp_lcp_solve(solver, &full.lcp, NULL, false, z, &report));
    CHECK_OK(perp_lcp_solve(solver, &friction.lcp, NULL, false, z, &report));
    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
    CHECK_EQ_U64(perp_context_allocations(context), before);
    test_lcp_free(&friction);
    test_lcp_free(&full);
    free(z);
    perp_lcp_solver_destroy(solver);
    perp_context_destroy(context);
}

/* Small integers, no class at all: most have several solutions or none. What is claimed is checked;
 * the rate among those that have a planted solution is printed. */
static inline void check_wild_lcps(const char* name)
{
    perp_context* context = NULL;
    perp_mlcp_solver* solver = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perp_mlcp_solver_create(context, name, NULL, 0, &solver));
    uint64_t random = 11;
    int32_t solved = 0, total = 0;
    for (int32_t trial = 0; trial < 400; ++trial) {
        const int32_t n = 2 + (int32_t)(test_random(&random) % 9);
        test_lcp t = test_lcp_make(n);
        double z[10] = {0}, planted[10];
        for (int32_t i = 0; i < n; ++i) {
            const int32_t pick = (int32_t)(test_random(&random) % 4);
            planted[i] = pick > 1 ? pick : 0.0;
            t.q[i] = pick == 1 ? 1.0 : 0.0;
        }
        for (int32_t i = 0; i < n; ++i) {
            for (int32_t j = 0; j < n; ++j) {
                t.M[i * n + j] = (double)(test_random(&random) % 7) - 3.0;
                t.q[i] -= t.M[i * n + j] * planted[j];
            }
        }
        test_mlcp m = test_mlcp_from_dense(n, t.M, t.q);
        perp_report report;
        CHECK_OK(perp_mlcp_solve(solver, &m.mlcp, NULL, false, z, &report));
        if (report.outcome == PERP_OUTCOME_SOLVED) {
            CHECK_AT_MOST(test_lcp_residual(&t.lcp, z), 1e-6);
            ++solved;
        }
        ++total;
        test_mlcp_free(&m);
        test_lcp_free(&t);
    }
    TEST_PRINT("%s: %d of %d LCPs of no class", name, (int)solved, (int)total);
    CHECK_AT_LEAST(solved, total / 2);
    perp_mlcp_solver_destroy(solver);
    perp_context_destroy(context);
}

/* ---- failing memory --------------------------------------------------------------------------------*/

typedef struct test_failing {
    int32_t left; /* allocations until one fails */
} test_failing;

static inline void* test_failing_resize(void* user, void* p, size_t size)
{
    test_failing* f = user;
    if (size == 0) {
        free(p);
        return NULL;
    }
    return f->left-- == 0 ? NULL : realloc(p, size);
}

/* The n-th allocation fails, for every n: a status, no leak, and z as it was. */
static inline void check_failing_allocations(const char* name)
{
    test_mlcp t = test_obstacle(8, 8, 0.2, -0.3);
    bool done = false;
    int32_t points = 0;
    for (int32_t fail = 1; !done && fail < 1000; ++fail) {
        test_failing failing = {.left = INT32_MAX};
        perp_context_def def = perp_context_def_default();
        def.allocator = (perp_allocator){test_failing_resize, &failing};
        perp_context* context = NULL;
        perp_mlcp_solver* solver = NULL;
        REQUIRE_OK(perp_context_create(&def, &context));
        failing.left = fail;
        double z[64] = {[0] = 0.125};
        perp_report report;
        perp_status status = perp_mlcp_solver_create(context, name, NULL, 0, &solver);
        if (status == PERP_OK) {
            status = perp_mlcp_solve(solver, &t.mlcp, NULL, true, z, &report);
        }
        done = status == PERP_OK;
        CHECK(done || status == PERP_ERROR_MEMORY);
        CHECK(done || z[0] == 0.125);
        CHECK(!done || report.outcome == PERP_OUTCOME_SOLVED);
        ++points;
        perp_mlcp_solver_destroy(solver);
        perp_context_destroy(context);
    }
    CHECK(done);
    TEST_PRINT("%s: %d points of failure", name, (int)points - 1);
    test_mlcp_free(&t);
}

#endif
