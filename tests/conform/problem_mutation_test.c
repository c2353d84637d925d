/* tests/conform/problem_mutation_test.c - thousands of random problems and mutated problem files through
 * every solver, always the same ones: no crash, no work beyond the time limit, and "solved" is said only
 * of a finite point that the residual check accepts. Most problems are bad on purpose: singular,
 * unscaled, without a solution.
 *
 * Time is counted, not measured: the clock of this program (linked with --wrap=clock_gettime) advances by
 * TICK each time it is read, which a method does once in each of its iterations or in SWEEPS of them. So
 * the limit comes after the same iteration on every machine and under every load.
 */
#include "perp_test.h"

#include <time.h>

#include "conform/problems.h"
#include "perp/solve.h"

#ifdef PERP_TEST_SANITIZED
enum { SHARE = 6 }; /* one of so many problems */
#else
enum { SHARE = 3 };
#endif

enum { SOLVERS = 32, N_MAX = 10, TEXT_MAX = 4096 };
#define TICK 1e-3
enum {
    READS = 250, /* readings of the clock until the limit */
    SWEEPS = 16, /* sweeps of a splitting method between two readings */
    GRACE = 30   /* set-up, the start of each attempt, the residual check */
};

/* All methods of one form, used for one problem after another as a simulation does. */
typedef struct method {
    const char* name;
    perp_lcp_solver* lcp;
    perp_mlcp_solver* mlcp;
    perp_friction_solver* friction;
    perp_contact_solver* contact;
    int runs, solved, refused, limited;
    int wild; /* not solved, and the point is not finite */
    bool last_solved;
    perp_report last;
    int64_t longest; /* readings of the clock in one solve */
} method;

typedef enum form { LCP, MLCP, FRICTION, CONTACT } form;

typedef struct field {
    perp_context* context;
    method at[SOLVERS];
    int count;
    form form;
    int free_runs; /* problems without an iteration limit that some method solved */
    int missed;    /* of these, not by auto */
} field;

static int64_t reads;

int __wrap_clock_gettime(clockid_t clock, struct timespec* t);

int __wrap_clock_gettime(clockid_t clock, struct timespec* t)
{
    (void)clock;
    const double now = TICK * (double)++reads;
    t->tv_sec = (time_t)now;
    t->tv_nsec = (long)(1e9 * (now - (double)t->tv_sec));
    return 0;
}

static perp_status make(field* f, method* m)
{
    switch (f->form) {
    case LCP: return perp_lcp_solver_create(f->context, m->name, NULL, 0, &m->lcp);
    case MLCP: return perp_mlcp_solver_create(f->context, m->name, NULL, 0, &m->mlcp);
    case FRICTION: return perp_friction_solver_create(f->context, m->name, NULL, 0, &m->friction);
    case CONTACT: return perp_contact_solver_create(f->context, m->name, NULL, 0, &m->contact);
    }
    return PERP_ERROR_INPUT;
}

static void drop(method* m)
{
    perp_lcp_solver_destroy(m->lcp);
    perp_mlcp_solver_destroy(m->mlcp);
    perp_friction_solver_destroy(m->friction);
    perp_contact_solver_destroy(m->contact);
    m->lcp = NULL;
    m->mlcp = NULL;
    m->friction = NULL;
    m->contact = NULL;
}

static field open_field(form which)
{
    field f = {.form = which};
    if (perp_context_create(NULL, &f.context) != PERP_OK) {
        return f;
    }
    perp_solver_info info;
    for (int32_t i = 0; f.count < SOLVERS && perp_solver_list(f.context, i, &info); ++i) {
        f.at[f.count] = (method){.name = info.name};
        if (make(&f, &f.at[f.count]) == PERP_OK) {
            ++f.count;
        }
    }
    return f;
}

static void close_field(field* f, const char* title)
{
    int64_t longest = 0;
    for (int i = 0; i < f->count; ++i) {
        const method* m = &f->at[i];
        TEST_PRINT("%-9s %-15s %6d runs %6d solved %6d refused %4d at the time limit, most "
                   "readings %3d; %d not finite",
                   title, m->name, m->runs, m->solved, m->refused, m->limited, (int)m->longest,
                   m->wild);
        longest = m->longest > longest ? m->longest : longest;
        drop(&f->at[i]);
    }
    if (f->free_runs > 0) {
        TEST_PRINT(
            "%-9s %d problems that a method solved in its own limits, %d of them not by auto",
            title, f->free_runs, f->missed);
    }
    CHECK_AT_MOST((double)longest, READS + GRACE);
    perp_context_destroy(f->context);
}

/* After all methods have seen a problem: was the portfolio worth its name? */
static void compare(field* f, const perp_solve_options* o, int problem)
{
    const char *by = NULL, *tried = "";
    bool portfolio = false;
    for (int i = 0; i < f->count; ++i) {
        const bool is_auto = strcmp(f->at[i].name, "auto") == 0;
        portfolio = portfolio || (is_auto && f->at[i].last_solved);
        tried = is_auto ? f->at[i].last.detail : tried;
        by = !is_auto && f->at[i].last_solved ? f->at[i].name : by;
    }
    if (o->max_iter == 0 && by != NULL) {
        f->free_runs += 1;
        f->missed += portfolio ? 0 : 1;
        if (!portfolio) {
            TEST_PRINT("problem %d: %s solves it, auto does not: %s", problem, by, tried);
        }
    }
}

static perp_solve_options some_options(uint64_t* random)
{
    static const int32_t iterations[] = {1, 3, 10, 30, 100, 300, 0, 1000};
    perp_solve_options o = perp_solve_options_default();
    o.max_iter = iterations[test_random(random) % 8];
    o.time_limit = TICK * READS;
    o.tolerance = test_random(random) % 4 == 0 ? 1e-6 : 1e-10;
    return o;
}

/* Books one run; returns whether the answer claims to be a solution. */
static bool book(method* m, perp_status status, const perp_report* report, int64_t took)
{
    m->last = *report;
    m->last_solved = status == PERP_OK && report->outcome == PERP_OUTCOME_SOLVED;
    m->runs += 1;
    /* a method that does not read the clock is found by its iterations */
    const int64_t least_reads = report->iterations / SWEEPS;
    took = least_reads > took ? least_reads : took;
    m->longest = took > m->longest ? took : m->longest;
    if (status != PERP_OK) {
        /* a method may refuse a problem, and a callback fail; nothing else is excused */
        m->refused += 1;
        if (status != PERP_ERROR_INPUT && status != PERP_ERROR_UNSUPPORTED) {
            CHECK_OK(status);
        }
        return false;
    }
    CHECK(report->outcome != PERP_OUTCOME_UNSET);
    m->limited += report->outcome == PERP_OUTCOME_TIME_LIMIT ? 1 : 0;
    m->solved += m->last_solved ? 1 : 0;
    return m->last_solved;
}

/* The point of the run just booked. */
static void check_finite(method* m, const double* x, int32_t n, int problem)
{
    int32_t i = 0;
    while (i < n && isfinite(x[i])) {
        ++i;
    }
    if (i < n && m->last_solved) {
        TEST_PRINT("%s on problem %d: entry %d is %g", m->name, problem, (int)i, x[i]);
        CHECK(isfinite(x[i]));
    }
    m->wild += i < n ? 1 : 0;
}

static void check_verdict(const method* m, const perp_solve_options* o, double checked_point,
                          int problem)
{
    if (!(checked_point <= o->tolerance)) {
        TEST_PRINT("%s on problem %d: solved, but the residual check finds %.1e", m->name, problem,
                   checked_point);
        CHECK_AT_MOST(checked_point, o->tolerance);
    }
}

static void run_lcp(method* m, const perp_lcp* P, const perp_solve_options* o, bool warm,
                    const double* guess, int problem)
{
    double z[N_MAX] = {0};
    perp_report report = {0};
    memcpy(z, guess, (size_t)P->n * sizeof *z);
    const int64_t begin = reads;
    const perp_status status = perp_lcp_solve(m->lcp, P, o, warm, z, &report);
    if (book(m, status, &report, reads - begin)) {
        check_verdict(m, o, perp_lcp_check_residual(P, z), problem);
    }
    check_finite(m, z, P->n, problem);
}

static void run_mlcp(method* m, const perp_mlcp* P, const perp_solve_options* o, bool warm,
                     const double* guess, int problem)
{
    double z[N_MAX] = {0}, work[2 * N_MAX];
    perp_report report = {0};
    memcpy(z, guess, (size_t)P->M.cols * sizeof *z);
    const int64_t begin = reads;
    const perp_status status = perp_mlcp_solve(m->mlcp, P, o, warm, z, &report);
    if (book(m, status, &report, reads - begin)) {
        check_verdict(m, o, perp_mlcp_check_residual(P, z, work), problem);
    }
    check_finite(m, z, P->M.cols, problem);
}

static void run_friction(method* m, const perp_friction_problem* P, const perp_solve_options* o,
                         int problem)
{
    const size_t n = (size_t)P->row_count;
    double* r = calloc(n + 1 + perp_friction_residual_work(P), sizeof *r);
    perp_report report = {0};
    const int64_t begin = reads;
    const perp_status status = perp_friction_solve(m->friction, P, o, false, r, NULL, &report);
    if (book(m, status, &report, reads - begin)) {
        check_verdict(m, o, perp_friction_check_residual(P, r, r + n + 1).worst, problem);
    }
    check_finite(m, r, P->row_count, problem);
    free(r);
}

static void run_contact(method* m, const perp_contact_problem* P, const perp_solve_options* o,
                        int problem)
{
    const size_t nv = (size_t)P->dof_count, nr = (size_t)P->row_count;
    double* v = calloc(nv + nr + 1 + perp_contact_residual_work(P), sizeof *v);
    double *p = v + nv, *work = p + nr + 1;
    perp_report report = {0};
    const int64_t begin = reads;
    const perp_status status = perp_contact_solve(m->contact, P, o, false, v, p, NULL, &report);
    if (book(m, status, &report, reads - begin)) {
        check_verdict(m, o, perp_contact_check_residual(P, v, p, work).worst, problem);
    }
    check_finite(m, v, P->dof_count + P->row_count, problem);
    free(v);
}

/* ---- random problems -------------------------------------------------------------------------------*/

static double scale_of(uint64_t* random)
{
    static const double scale[] = {1, 1, 1, 1e-8, 1e8, 1e-100, 1e100, 1e200};
    return scale[test_random(random) % 8];
}

/* Small whole numbers, halves and noise: ties and zeros are common. */
static double entry_of(uint64_t* random)
{
    switch (test_random(random) % 6) {
    case 0: return 0.0;
    case 1: return 1.0;
    case 2: return -1.0;
    case 3: return (double)(test_random(random) % 7) / 2.0 - 1.5;
    default: return test_uniform(random, -1, 1);
    }
}

static void random_matrix(uint64_t* random, int32_t n, double* M)
{
    const uint64_t style = test_random(random) % 8;
    double A[N_MAX * N_MAX];
    const int32_t rank = 1 + (int32_t)(test_random(random) % (uint64_t)n);
    for (int32_t i = 0; i < n * n; ++i) {
        A[i] = entry_of(random);
        M[i] = style == 0 ? 0.0 : A[i];
    }
    if (style >= 3) { /* A A' of low rank, perhaps with a skew part or a diagonal */
        for (int32_t i = 0; i < n; ++i) {
            for (int32_t j = 0; j < n; ++j) {
                double sum = 0.0;
                for (int32_t k = 0; k < rank; ++k) {
                    sum += A[i * n + k] * A[j * n + k];
                }
                M[i * n + j] = sum + (style == 4 ? A[i * n + j] - A[j * n + i] : 0.0) +
                               (style == 5 && i == j ? 1.0 : 0.0) +
                               (style == 6 && i == j ? 1e-13 : 0.0);
            }
        }
    }
    if (style == 7) { /* unlike rows */
        for (int32_t i = 0; i < n * n; ++i) {
            M[i] *= pow(10.0, (double)(i / n) * 3.0);
        }
    }
    const double scale = scale_of(random);
    for (int32_t i = 0; i < n * n; ++i) {
        M[i] *= scale;
    }
}

TEST(random_lcps)
{
    field f = open_field(LCP);
    REQUIRE(f.count > 4);
    uint64_t random = 1;
    for (int problem = 0; problem < 1200 / SHARE; ++problem) {
        double M[N_MAX * N_MAX], q[N_MAX], guess[N_MAX];
        const int32_t n = 1 + (int32_t)(test_random(&random) % N_MAX);
        random_matrix(&random, n, M);
        const double scale = scale_of(&random);
        for (int32_t i = 0; i < n; ++i) {
            q[i] = scale * entry_of(&random);
            guess[i] = 10.0 * entry_of(&random);
        }
        const perp_solve_options o = some_options(&random);
        const bool warm = test_random(&random) % 3 == 0;
        for (int i = 0; i < f.count; ++i) {
            run_lcp(&f.at[i], &(perp_lcp){n, M, q}, &o, warm, guess, problem);
        }
        compare(&f, &o, problem);
    }
    close_field(&f, "lcp");
}

TEST(random_mlcps)
{
    field f = open_field(MLCP);
    REQUIRE(f.count > 4);
    uint64_t random = 2;
    for (int problem = 0; problem < 1200 / SHARE; ++problem) {
        double M[N_MAX * N_MAX], value[N_MAX * N_MAX], q[N_MAX], guess[N_MAX];
        double lower[N_MAX], upper[N_MAX];
        int32_t start[N_MAX + 1] = {0}, row[N_MAX * N_MAX];
        const int32_t n = 1 + (int32_t)(test_random(&random) % N_MAX);
        random_matrix(&random, n, M);
        for (int32_t j = 0; j < n; ++j) {
            start[j + 1] = start[j];
            for (int32_t i = 0; i < n; ++i) {
                if (M[i * n + j] != 0.0) {
                    row[start[j + 1]] = i;
                    value[start[j + 1]++] = M[i * n + j];
                }
            }
            const uint64_t bounds = test_random(&random) % 6;
            const double a = entry_of(&random), b = entry_of(&random);
            lower[j] = bounds == 0 || bounds == 1 ? -INFINITY : bounds == 2 ? 0.0 : fmin(a, b);
            upper[j] = bounds == 0 || bounds == 2 ? INFINITY : fmax(a, b);
            q[j] = entry_of(&random) * (problem % 5 == 0 ? scale_of(&random) : 1.0);
            guess[j] = 10.0 * entry_of(&random);
        }
        const perp_mlcp P = {{n, n, start, row, value}, q, lower, upper};
        const perp_solve_options o = some_options(&random);
        const bool warm = test_random(&random) % 3 == 0;
        for (int i = 0; i < f.count; ++i) {
            run_mlcp(&f.at[i], &P, &o, warm, guess, problem);
        }
        compare(&f, &o, problem);
    }
    close_field(&f, "mlcp");
}

/* Up to four bodies, any constraint between them, masses and friction of any size. */
static void random_contact(uint64_t* random, bool groups, test_contact* t, int32_t* member,
                           perp_group* group)
{
    *t = (test_contact){.name = "random"};
    const int32_t blocks = 1 + (int32_t)(test_random(random) % 4);
    for (int32_t b = 0; b < blocks; ++b) {
        const int32_t nv = 1 + (int32_t)(test_random(random) % 6);
        double diagonal[6], v[6], f[6];
        for (int32_t i = 0; i < nv; ++i) {
            diagonal[i] = pow(10.0, test_uniform(random, -3, 3));
            v[i] = 3.0 * entry_of(random);
            f[i] = 10.0 * entry_of(random);
        }
        test_add_block(t, nv, diagonal, v, f);
    }
    const int32_t constraints = 1 + (int32_t)(test_random(random) % 8);
    static const double mus[] = {0.0, 0.1, 0.5, 1.0, 2.0, 1000.0};
    int32_t members = 0;
    for (int32_t k = 0; k < constraints; ++k) {
        const uint64_t kind = test_random(random) % 8;
        const int32_t a = (int32_t)(test_random(random) % (uint64_t)blocks);
        int32_t b = (int32_t)(test_random(random) % (uint64_t)(blocks + 1)) - 1;
        b = b == a ? -1 : b;
        const bool contact = kind > 1;
        const perp_cone cone = contact ? (perp_cone)(test_random(random) % 4) : PERP_CONE_NONE;
        const int32_t rows = !contact                      ? 1 + (int32_t)(test_random(random) % 4)
                             : cone == PERP_CONE_NONE      ? 1
                             : cone == PERP_CONE_ELLIPSOID ? 4
                                                           : 2 + (int32_t)(test_random(random) % 2);
        const size_t from = t->J_used;
        test_add_constraint(t,
                            contact ? PERP_CONSTRAINT_CONTACT
                            : kind  ? PERP_CONSTRAINT_BOUNDED
                                    : PERP_CONSTRAINT_EQUALITY,
                            b, a, rows);
        perp_constraint* c = &t->constraint[k];
        c->cone = cone;
        c->directions = cone != PERP_CONE_POLYGON ? 0
                        : rows == 2               ? 2
                                                  : 3 + (int32_t)(test_random(random) % 8);
        c->mu = cone == PERP_CONE_NONE ? 0.0 : mus[test_random(random) % 6];
        for (size_t i = from; i < t->J_used; ++i) {
            t->J[i] = entry_of(random);
        }
        if (kind == 7 && k > 0 && t->J_used - from <= from) { /* the same rows once more */
            memcpy(t->J + from, t->J + from - (t->J_used - from),
                   (t->J_used - from) * sizeof *t->J);
        }
        for (int32_t r = c->row; r < c->row + rows; ++r) {
            const double lo = entry_of(random), hi = entry_of(random);
            t->b[r] = kind == 5 ? 0.0 : entry_of(random);
            t->lower[r] = fmin(lo, hi);
            t->upper[r] = fmax(lo, hi);
            t->compliance[r] = kind < 2 ? fabs(entry_of(random)) : 0.0;
        }
        t->compliant = t->compliant || kind == 1;
        if (contact && groups && members < 3) {
            member[members++] = k;
        }
    }
    if (members >= 2) {
        *group = (perp_group){member, members, 1 + (int32_t)(test_random(random) % 2)};
        t->problem.group = group;
        t->problem.group_count = 1;
    }
}

TEST(random_contact_problems)
{
    field f = open_field(CONTACT);
    REQUIRE(f.count > 4);
    uint64_t random = 3;
    test_contact* t = malloc(sizeof *t);
    int sound = 0, made = 1000 / SHARE;
    for (int problem = 0; problem < made; ++problem) {
        int32_t member[4];
        perp_group group;
        random_contact(&random, problem % 4 == 0, t, member, &group);
        const perp_contact_problem* P = test_contact_view(t);
        const perp_solve_options o = some_options(&random);
        sound += perp_contact_check(f.context, P) == PERP_OK ? 1 : 0;
        for (int i = 0; i < f.count; ++i) {
            run_contact(&f.at[i], P, &o, problem);
        }
        compare(&f, &o, problem);
    }
    free(t);
    TEST_PRINT("%d of %d sound", sound, made);
    CHECK(sound > made / 2);
    close_field(&f, "contact");
}

TEST(random_friction_problems)
{
    field f = open_field(FRICTION);
    REQUIRE(f.count > 2);
    uint64_t random = 4;
    perp_reformulation* lowering = NULL;
    REQUIRE_OK(perp_reformulation_create(f.context, &lowering));
    test_contact* t = malloc(sizeof *t);
    int sound = 0, made = 1000 / SHARE;
    for (int problem = 0; problem < made; ++problem) {
        int32_t member[4];
        perp_group group;
        perp_friction_problem P;
        random_contact(&random, false, t, member, &group);
        const perp_solve_options o = some_options(&random);
        const uint64_t spoil = test_random(&random);
        if (perp_contact_to_friction(lowering, test_contact_view(t), &P) != PERP_OK) {
            continue;
        }
        ++sound;
        /* a W that comes from no body: some entries are not what they were */
        size_t entries = 0;
        for (int32_t i = 0; i < P.constraint_count; ++i) {
            for (int32_t e = P.W.start[i]; e < P.W.start[i + 1]; ++e) {
                entries += (size_t)P.constraint[i].rows * (size_t)P.constraint[P.W.column[e]].rows;
            }
        }
        double* W = malloc((entries + 1) * sizeof *W);
        memcpy(W, P.W.value, entries * sizeof *W);
        for (uint64_t k = 0; k < spoil % 4 && entries > 0; ++k) {
            const size_t at = (size_t)(test_random(&random) % entries);
            W[at] = spoil % 3 == 0 ? 0.0 : W[at] * test_uniform(&random, -1, 2) * scale_of(&random);
        }
        P.W.value = W;
        for (int i = 0; i < f.count; ++i) {
            run_friction(&f.at[i], &P, &o, problem);
        }
        compare(&f, &o, problem);
        free(W);
    }
    free(t);
    perp_reformulation_destroy(lowering);
    TEST_PRINT("%d of %d could be lowered", sound, made);
    CHECK(sound > made / 2);
    close_field(&f, "friction");
}

/* ---- mutated files ---------------------------------------------------------------------------------*/

static const char* const sample[] = {
    "ccp 1\nname a\nkind lcp\nn 3\nmatrix M 3 3 5\n0 0 2.0\n1 0 -1.0\n1 1 2.0\n2 1 -1\n2 2 1e0\n"
    "vector q 3\n-1.0\n0.5 -2.0\nend\n",
    "ccp 1 name b kind mlcp n 3 n_eq 1 n_comp 2 matrix M 3 3 5 0 0 1 1 0 -1 0 1 1 1 1 2 2 2 3 "
    "vector q 3 1 -1 -0.5 end",
    "ccp 1 name c kind blcp n 2 matrix M 2 2 2 0 0 1 1 1 0.5 vector q 2 3 -1 vector lb 2 -1 -1 "
    "vector "
    "ub 2 1 1 end",
    "ccp 1 name d kind fc2d n 4 dim 2 nc 2 matrix W 4 4 6 0 0 1 1 1 1 3 1 0.1 2 2 1 1 3 0.1 3 3 1 "
    "vector q 4 -1 0.5 -2 0 vector mu 2 0.3 0.8 end",
    "ccp 1 name e kind fc3d n 3 dim 3 nc 1 matrix W 3 3 5 0 0 2 1 1 2 2 1 0.1 1 2 0.1 2 2 2 vector "
    "q "
    "3 -1 0.7 -0.3 vector mu 1 0.5 end",
    "ccp 1 name f kind gfc3d n 3 dim 3 nc 1 matrix M 3 3 3 0 0 1 1 1 1 2 2 1 matrix H 3 3 3 0 0 1 "
    "1 1 "
    "1 2 2 1 vector q 3 -1 0.3 0.2 vector b 3 0 0 0 vector mu 1 0.7 end",
};
enum { SAMPLES = sizeof sample / sizeof sample[0] };

/* A few edits of bytes, digits, tokens and lines; the length stays below TEXT_MAX. */
static size_t mutate(uint64_t* random, const char* from, char* text)
{
    static const char* const token[] = {"nan",  "inf",        "-inf", "1e308", "-1e308", "1e-320",
                                        "-1",   "2147483647", "0",    "end",   "vector", "matrix",
                                        "kind", "1e400",      "4e9",  "1e150", "-1e150", "0x1p3"};
    size_t n = strlen(from);
    memcpy(text, from, n + 1);
    const uint64_t edits = test_random(random) % 4;
    for (uint64_t k = 0; k < edits && n > 2; ++k) {
        const size_t at = (size_t)(test_random(random) % n);
        const uint64_t what = test_random(random) % 10;
        if (what == 0) {
            text[at] = (char)(test_random(random) % 256);
        } else if (what < 4) { /* another digit */
            size_t digit = at;
            while (digit < n && (text[digit] < '0' || text[digit] > '9')) {
                ++digit;
            }
            if (digit < n) {
                text[digit] = (char)('0' + test_random(random) % 10);
            }
        } else if (what == 4) {
            n = at;                                 /* cut off */
        } else if (what == 5 && 2 * n < TEXT_MAX) { /* a part twice */
            memmove(text + at + (n - at), text + at, n - at);
            n += n - at;
        } else { /* another token */
            const char* word = token[test_random(random) % (sizeof token / sizeof token[0])];
            size_t begin = at, end = at;
            while (begin > 0 && text[begin - 1] > ' ') {
                --begin;
            }
            while (end < n && text[end] > ' ') {
                ++end;
            }
            const size_t length = strlen(word);
            if (n - (end - begin) + length < TEXT_MAX) {
                memmove(text + begin + length, text + end, n - end);
                memcpy(text + begin, word, length);
                n = n - (end - begin) + length;
            }
        }
    }
    return n;
}

TEST(mutated_problem_files)
{
    field friction = open_field(FRICTION), mlcp = open_field(MLCP), lcp = open_field(LCP);
    REQUIRE(friction.count > 2 && mlcp.count > 4 && lcp.count > 4);
    static const char* const path = "mutated.ccp";
    uint64_t random = 5;
    char* text = malloc(TEXT_MAX);
    int taken = 0, made = 4500 / SHARE;
    for (int problem = 0; problem < made; ++problem) {
        const size_t n = mutate(&random, sample[problem % SAMPLES], text);
        FILE* out = fopen(path, "wb");
        REQUIRE(out != NULL);
        CHECK(fwrite(text, 1, n, out) == n);
        fclose(out);
        perp_problem_file* file = NULL;
        const perp_solve_options o = some_options(&random);
        const perp_status status = perp_problem_read(lcp.context, path, &file);
        if (status != PERP_OK) {
            CHECK(file == NULL && perp_context_error(lcp.context)[0] != '\0');
            continue;
        }
        ++taken;
        const double zero[N_MAX] = {0};
        if (perp_problem_file_friction(file) != NULL) {
            const perp_friction_problem* P = perp_problem_file_friction(file);
            for (int i = 0; i < friction.count; ++i) {
                run_friction(&friction.at[i], P, &o, problem);
            }
        } else if (perp_problem_file_mlcp(file)->M.cols <= N_MAX) {
            for (int i = 0; i < mlcp.count; ++i) {
                run_mlcp(&mlcp.at[i], perp_problem_file_mlcp(file), &o, false, zero, problem);
            }
            for (int i = 0; i < lcp.count && perp_problem_file_lcp(file) != NULL; ++i) {
                run_lcp(&lcp.at[i], perp_problem_file_lcp(file), &o, false, zero, problem);
            }
        }
        perp_problem_file_destroy(file);
    }
    remove(path);
    free(text);
    TEST_PRINT("%d of %d files were taken", taken, made);
    CHECK(taken > made / 4 && taken < made);
    close_field(&friction, "friction");
    close_field(&mlcp, "mlcp");
    close_field(&lcp, "lcp");
}
