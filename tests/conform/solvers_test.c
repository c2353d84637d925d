/* tests/conform/solvers_test.c - every registered solver on every problem that meets its needs,
 * checked from the problem alone. */
#include "perp_test.h"

#include <dirent.h>
#include <time.h>

#include "conform/ccp.h"
#include "conform/problems.h"
#include "perp/solve.h"

#ifndef PERP_SOURCE
#define PERP_SOURCE "."
#endif

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* |min(z, w)| / |q|, the corpus's measure. */
static double corpus_residual(const perp_lcp* p, const double* z)
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

/* Methods that approach the answer sweep by sweep: slow where a problem is hard, and asked for less. */
static bool iterative(const char* name)
{
    static const char* const names[] = {"pgs", "psor", "jacobi", "nsgs", "admm", "fixed-point"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        if (strcmp(name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- contact problems ------------------------------------------------------------------------------*/

static void check_contact(perp_context* context, const char* solver_name, test_contact* t)
{
    const perp_contact_problem* P = test_contact_view(t);
    perp_contact_solver* solver = NULL;
    REQUIRE_OK(perp_contact_solver_create(context, solver_name, NULL, 0, &solver));
    double v[TEST_BLOCKS * 6], p[TEST_ROWS];
    test_contact* before = malloc(sizeof *before);
    memcpy(before, t, sizeof *before);
    double* work = malloc(perp_contact_residual_work(P) * sizeof *work);
    perp_solve_options options = perp_solve_options_default();
    options.tolerance = iterative(solver_name) ? 1e-8 : 1e-10;
    perp_report report;
    perp_contact_residual claimed;
    const perp_status status =
        perp_contact_solve(solver, P, &options, false, v, p, &claimed, &report);
    /* The slip speeds of a friction LCP have no diagonal: not a problem for every method of LCPs. */
    const bool lacks = status == PERP_ERROR_INPUT &&
                       strstr(perp_context_error(context), "needs a positive diagonal") != NULL;
    if (status != PERP_OK && !lacks) {
        printf("  %s on %s: %s\n", solver_name, t->name, perp_context_error(context));
    }
    CHECK(status == PERP_OK || lacks);
    if (status == PERP_OK) {
        const perp_contact_residual r = perp_contact_check_residual(P, v, p, work);
        CHECK_AT_MOST(fabs(r.worst - report.residual), 0.0);
        CHECK_AT_MOST(fabs(r.worst - claimed.worst), 0.0);
        CHECK((report.outcome == PERP_OUTCOME_SOLVED) == (r.worst <= options.tolerance));
        const bool excused = iterative(solver_name) && t->hard;
        if (report.outcome != PERP_OUTCOME_SOLVED) {
            printf("  %s on %s: %s after %d, residual %.1e %s\n", solver_name, t->name,
                   perp_outcome_name(report.outcome), (int)report.iterations, r.worst,
                   report.detail);
        }
        CHECK(excused || report.outcome == PERP_OUTCOME_SOLVED);
        CHECK_EQ_INT(memcmp(before, t, sizeof *before), 0);

        /* Warm, from the answer: solved again, at once, without memory. */
        if (report.outcome == PERP_OUTCOME_SOLVED) {
            const uint64_t allocations = perp_context_allocations(context);
            const int32_t cold = report.iterations;
            CHECK_OK(perp_contact_solve(solver, P, &options, true, v, p, NULL, &report));
            CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
            CHECK(report.iterations <= cold + 10);
            CHECK_EQ_U64(perp_context_allocations(context), allocations);
        }
    }
    free(work);
    free(before);
    perp_contact_solver_destroy(solver);
}

TEST(every_solver_solves_every_contact_problem_it_takes)
{
    perp_context* context = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    perp_solver_info info;
    test_contact* t = malloc(sizeof *t);
    for (int32_t s = 0; perp_solver_list(context, s, &info); ++s) {
        if (!info.takes_contact && !info.takes_friction && !info.takes_mlcp && !info.takes_lcp) {
            continue;
        }
        for (int32_t i = 0; test_contact_make(i, t); ++i) {
            check_contact(context, info.name, t);
        }
    }
    free(t);
    perp_context_destroy(context);
}

/* ---- LCPs ------------------------------------------------------------------------------------------*/

/* Symmetric positive definite, diagonally dominant: everybody's. */
static test_lcp easy_lcp(int32_t n, uint64_t seed)
{
    uint64_t random = seed;
    test_lcp t = test_lcp_make(n);
    for (int32_t i = 0; i < n; ++i) {
        for (int32_t j = 0; j < i; ++j) {
            t.M[i * n + j] = t.M[j * n + i] = test_uniform(&random, -1, 1);
        }
        t.q[i] = test_uniform(&random, -5, 5);
    }
    for (int32_t i = 0; i < n; ++i) {
        t.M[i * n + i] = 1.2 * n;
    }
    return t;
}

TEST(every_lcp_solver_solves_diagonally_dominant_problems)
{
    perp_context* context = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    perp_solver_info info;
    for (int32_t s = 0; perp_solver_list(context, s, &info); ++s) {
        if (!info.takes_lcp) {
            continue;
        }
        perp_lcp_solver* solver = NULL;
        REQUIRE_OK(perp_lcp_solver_create(context, info.name, NULL, 0, &solver));
        for (int32_t n = 0; n <= 50; n += n < 8 ? 1 : 7) {
            test_lcp t = easy_lcp(n, (uint64_t)n + 1);
            double* z = calloc((size_t)n + 1, sizeof *z);
            perp_report report;
            CHECK_OK(perp_lcp_solve(solver, &t.lcp, NULL, false, z, &report));
            CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
            CHECK_AT_MOST(corpus_residual(&t.lcp, z), 1e-9);
            CHECK_AT_MOST(fabs(report.residual - perp_lcp_check_residual(&t.lcp, z)), 0.0);
            free(z);
            test_lcp_free(&t);
        }
        perp_lcp_solver_destroy(solver);
    }
    perp_context_destroy(context);
}

static int compare_doubles(const void* a, const void* b)
{
    const double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

TEST(lemke_solves_the_whole_stewart_trinkle_family)
{
    enum { SEEDS = 12 };
    perp_context* context = NULL;
    perp_lcp_solver* solver = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perp_lcp_solver_create(context, "lemke", NULL, 0, &solver));
    static const int32_t directions[] = {4, 8, 16};
    static const int32_t boxes[] = {1, 2, 3, 5, 10};
    int32_t solved = 0, total = 0;
    for (size_t d = 0; d < 3; ++d) {
        for (size_t k = 0; k < 5; ++k) {
            double time[2 * SEEDS];
            int32_t n = 0, count = 0;
            for (uint64_t seed = 0; seed < SEEDS; ++seed) {
                for (int stack = 0; stack < 2; ++stack) {
                    test_lcp t = test_stewart_trinkle(boxes[k], directions[d], seed, stack != 0);
                    n = t.lcp.n;
                    double* z = calloc((size_t)n, sizeof *z);
                    perp_report report;
                    const double begin = seconds();
                    REQUIRE_OK(perp_lcp_solve(solver, &t.lcp, NULL, false, z, &report));
                    time[count++] = seconds() - begin;
                    const double e = corpus_residual(&t.lcp, z);
                    CHECK_AT_MOST(e, 1e-10);
                    CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
                    if (report.outcome != PERP_OUTCOME_SOLVED) {
                        printf(
                            "  boxes %d directions %d seed %d stack %d: judge %.1e, e %.1e, %s\n",
                            (int)boxes[k], (int)directions[d], (int)seed, stack, report.residual, e,
                            report.detail);
                    }
                    solved += e <= 1e-10;
                    ++total;
                    free(z);
                    test_lcp_free(&t);
                }
            }
            qsort(time, (size_t)count, sizeof time[0], compare_doubles);
            TEST_PRINT("%2d boxes, %2d directions, n = %3d: median %.0f us, worst %.0f us",
                       (int)boxes[k], (int)directions[d], (int)n, 1e6 * time[count / 2],
                       1e6 * time[count - 1]);
        }
    }
    TEST_PRINT("%d of %d solved to 1e-10", (int)solved, (int)total);
    CHECK_EQ_INT(solved, total);
    perp_lcp_solver_destroy(solver);
    perp_context_destroy(context);
}

/* ---- the corpus ------------------------------------------------------------------------------------*/

TEST(lemke_solves_the_lcps_of_the_corpus)
{
    const char* source = getenv("PERP_SOURCE");
    char folder[1024], path[1400];
    snprintf(folder, sizeof folder, "%s/../shared/corpus/lcp",
             source != NULL ? source : PERP_SOURCE);
    DIR* dir = opendir(folder);
    if (dir == NULL) {
        SKIP("no corpus next to the source folder");
    }
    perp_context* context = NULL;
    perp_lcp_solver* solver = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perp_lcp_solver_create(context, "lemke", NULL, 0, &solver));
    int32_t count = 0;
    for (struct dirent* entry; (entry = readdir(dir)) != NULL;) {
        const char* dot = strrchr(entry->d_name, '.');
        if (dot == NULL || strcmp(dot, ".ccp") != 0) {
            continue;
        }
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        test_lcp t;
        if (!test_read_ccp_lcp(path, &t)) {
            TEST_PRINT("%s: cannot be read", entry->d_name);
            CHECK(false);
            continue;
        }
        char reference[1400];
        snprintf(reference, sizeof reference, "%.*s.sol", (int)(strlen(path) - 4), path);
        const bool has_reference = access(reference, R_OK) == 0;
        double* z = calloc((size_t)t.lcp.n, sizeof *z);
        perp_report report;
        CHECK_OK(perp_lcp_solve(solver, &t.lcp, NULL, false, z, &report));
        const double e = corpus_residual(&t.lcp, z);
        TEST_PRINT("%-28s n = %3d  %-9s e = %.1e  judge %.1e  %d pivots %s", entry->d_name,
                   (int)t.lcp.n, perp_outcome_name(report.outcome), e, report.residual,
                   (int)report.iterations, report.detail);
        if (has_reference) {
            CHECK_AT_MOST(e, 1e-10);
            ++count;
        }
        free(z);
        test_lcp_free(&t);
    }
    closedir(dir);
    CHECK(count > 0);
    perp_lcp_solver_destroy(solver);
    perp_context_destroy(context);
}
