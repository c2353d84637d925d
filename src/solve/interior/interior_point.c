/* src/solve/interior/interior_point.c - see interior_point.h. */
#include "solve/interior/interior_point.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "linalg/dense.h"
#include "solve/builtin.h"
#include "solve/monitor.h"

enum { ITERATIONS = 100 };
#define SMALLEST_MU 1e-26 /* below it the products z s are rounding */
#define SHORT_STEP 1e-9   /* shorter steps end the iteration */
#define SNAP_ABOVE 1e-12  /* above it the relative residual may consist of rounding */
#define LARGE 1e8         /* a z this large suggests that there is no solution */
#define PROOF 1e-8        /* on M'y, for y of size 1, when a proof is tested */

static const perp_setting interior_setting[] = {
    {"boundary", PERP_SETTING_DOUBLE, offsetof(perpi_interior_settings, boundary), 0.5, 0.999999,
     "longest step, as a fraction of the distance to the nearest bound"},
    {"regularise", PERP_SETTING_DOUBLE, offsetof(perpi_interior_settings, regularise), 0.0, 1e-3,
     "added to the scaled diagonal of free unknowns, and of all when a step is singular"},
    {"dense-limit", PERP_SETTING_INT, offsetof(perpi_interior_settings, dense_limit), 0, 10000,
     "most unknowns for which dense factors are used; above, sparse ones"},
};

static void interior_settings_default(void* settings)
{
    *(perpi_interior_settings*)settings =
        (perpi_interior_settings){.boundary = 0.995, .regularise = 1e-9, .dense_limit = 120};
}

static perp_status interior_create(perp_context* context, const void* settings, void** self)
{
    perpi_interior* p = NULL;
    const perp_status status = perpi_alloc(context, 1, sizeof *p, &p);
    if (status == PERP_OK) {
        p->context = context;
        p->set = *(const perpi_interior_settings*)settings;
        *self = p;
    }
    return status;
}

static void interior_destroy(void* self)
{
    perpi_interior* p = self;
    if (p == NULL) {
        return;
    }
    perpi_mlcp_scaled_free(p->context, &p->problem);
    perpi_lcp_columns_free(p->context, &p->columns);
    perpi_sparse_lu_destroy(p->lu);
    perpi_free(p->context, p->vector);
    perpi_free(p->context, p->still);
    perpi_free(p->context, p->K);
    perpi_free(p->context, p->pivot);
    perpi_free(p->context, p);
}

static bool is_dense(const perpi_interior* p)
{
    return p->problem.n <= p->set.dense_limit;
}

static perp_status interior_reserve(perpi_interior* p)
{
    enum { VECTORS = 13 };
    const size_t n = (size_t)p->problem.n;
    const size_t entries = is_dense(p) ? n * n : (size_t)p->problem.M_start[n];
    perp_status status =
        perpi_grow(p->context, &p->vector, &p->capacity[0], VECTORS * n, sizeof *p->vector);
    if (status == PERP_OK) {
        status = perpi_grow(p->context, &p->still, &p->capacity[1], n, sizeof *p->still);
    }
    if (status == PERP_OK) {
        status = perpi_grow(p->context, &p->K, &p->capacity[2], entries, sizeof *p->K);
    }
    if (status == PERP_OK) {
        status = perpi_grow(p->context, &p->pivot, &p->capacity[3], n, sizeof *p->pivot);
    }
    if (status == PERP_OK && !is_dense(p) && p->lu == NULL) {
        status = perpi_sparse_lu_create(p->context, &p->lu);
    }
    if (status != PERP_OK) {
        return status;
    }
    double** const part[VECTORS - 1] = {&p->z, &p->s, &p->t, &p->dz, &p->ds,   &p->dt,
                                        &p->r, &p->c, &p->e, &p->x,  &p->best, &p->work};
    for (size_t i = 0; i < VECTORS - 1; ++i) {
        *part[i] = p->vector + i * n; /* work is last and twice as long */
    }
    return PERP_OK;
}

/* ---- the linear system of a step -----------------------------------------------------------------*/

/* Factorises M + diag(s/z + t/(U - z)) + raise (free unknowns: always a little, so that they do not
 * drift along null vectors of M), with unit rows for fixed unknowns. barrier: without, only M.
 * *good: false if that is singular. */
static perp_status interior_factor(perpi_interior* p, bool barrier, double raise, bool* good)
{
    const perpi_mlcp_scaled* P = &p->problem;
    const int32_t n = P->n;
    const bool dense = is_dense(p);
    if (dense) {
        memset(p->K, 0, (size_t)n * (size_t)n * sizeof *p->K);
    }
    for (int32_t j = 0; j < n; ++j) {
        for (int32_t e = P->M_start[j]; e < P->M_start[j + 1]; ++e) {
            const int32_t i = P->M_row[e];
            double value = p->still[i] ? (i == j ? 1.0 : 0.0) : P->M_value[e];
            if (i == j && !p->still[i]) {
                value += P->kind[i] == PERPI_UNKNOWN_FREE ? p->set.regularise : raise;
                if (barrier && P->kind[i] == PERPI_UNKNOWN_BOUNDED) {
                    value += p->s[i] / p->z[i];
                    value += P->U[i] < INFINITY ? p->t[i] / (P->U[i] - p->z[i]) : 0.0;
                }
            }
            p->K[dense ? (size_t)i * (size_t)n + (size_t)j : (size_t)e] = value;
        }
    }
    if (dense) {
        perpi_lu_info info = {0};
        *good =
            perpi_lu_factor(n, p->K, p->pivot, &info) && info.pivot_min > 1e-12 * info.pivot_max;
        if (barrier && info.pivot_min > 0.0) { /* large diagonals are due to the barrier */
            *good = true;
        }
        return PERP_OK;
    }
    const perp_sparse K = {n, n, P->M_start, P->M_row, p->K};
    bool singular = true;
    const perp_status status = perpi_sparse_lu_factor(p->lu, &K, p->same_pattern, &singular);
    p->same_pattern = true;
    *good = !singular;
    return status;
}

static void solve_step(perpi_interior* p, double* x)
{
    if (is_dense(p)) {
        perpi_lu_solve(p->problem.n, p->K, p->pivot, x);
    } else {
        perpi_sparse_lu_solve(p->lu, 1, x);
    }
}

/* dz, ds, dt from the residual r and the right-hand sides c, e. */
static void make_step(perpi_interior* p)
{
    const perpi_mlcp_scaled* P = &p->problem;
    const int32_t n = P->n;
    for (int32_t i = 0; i < n; ++i) {
        double b = p->still[i] ? 0.0 : -p->r[i];
        if (P->kind[i] == PERPI_UNKNOWN_BOUNDED) {
            b += p->c[i] / p->z[i];
            b -= P->U[i] < INFINITY ? p->e[i] / (P->U[i] - p->z[i]) : 0.0;
        }
        p->dz[i] = b;
    }
    solve_step(p, p->dz);
    for (int32_t i = 0; i < n; ++i) {
        p->ds[i] = p->dt[i] = 0.0;
        if (P->kind[i] == PERPI_UNKNOWN_BOUNDED) {
            p->ds[i] = (p->c[i] - p->s[i] * p->dz[i]) / p->z[i];
            if (P->U[i] < INFINITY) {
                p->dt[i] = (p->e[i] + p->t[i] * p->dz[i]) / (P->U[i] - p->z[i]);
            }
        }
    }
}

/* ---- the point -----------------------------------------------------------------------------------*/

/* r <- M z + q - s + t; returns its largest entry. */
static double interior_residual(perpi_interior* p)
{
    const perpi_mlcp_scaled* P = &p->problem;
    double worst = 0.0;
    for (int32_t i = 0; i < P->n; ++i) {
        p->r[i] = P->q[i] - p->s[i] + p->t[i];
    }
    perpi_sparse_add_product(&P->M, 1.0, p->z, p->r);
    for (int32_t i = 0; i < P->n; ++i) {
        p->r[i] = P->kind[i] == PERPI_UNKNOWN_FIXED ? 0.0 : p->r[i];
        worst = !(fabs(p->r[i]) <= worst) ? fabs(p->r[i]) : worst;
    }
    return worst;
}

/* The mean of the products after a step of length a; *count: how many there are. */
static double mean_product(const perpi_interior* p, double a, int32_t* count)
{
    const perpi_mlcp_scaled* P = &p->problem;
    double sum = 0.0;
    *count = 0;
    for (int32_t i = 0; i < P->n; ++i) {
        if (P->kind[i] != PERPI_UNKNOWN_BOUNDED) {
            continue;
        }
        sum += (p->z[i] + a * p->dz[i]) * (p->s[i] + a * p->ds[i]);
        ++*count;
        if (P->U[i] < INFINITY) {
            sum += (P->U[i] - p->z[i] - a * p->dz[i]) * (p->t[i] + a * p->dt[i]);
            ++*count;
        }
    }
    return *count > 0 ? sum / *count : 0.0;
}

static double limit_step(double a, double value, double step)
{
    return step < 0.0 && -value / step < a ? -value / step : a;
}

/* The longest step of at most 1 / part that keeps everything positive, times part. */
static double step_length(const perpi_interior* p, double part)
{
    const perpi_mlcp_scaled* P = &p->problem;
    double a = 1.0 / part;
    for (int32_t i = 0; i < P->n; ++i) {
        if (P->kind[i] == PERPI_UNKNOWN_BOUNDED) {
            a = limit_step(a, p->z[i], p->dz[i]);
            a = limit_step(a, p->s[i], p->ds[i]);
            if (P->U[i] < INFINITY) {
                a = limit_step(a, P->U[i] - p->z[i], -p->dz[i]);
                a = limit_step(a, p->t[i], p->dt[i]);
            }
        }
    }
    return part * a;
}

static void interior_start(perpi_interior* p, bool warm, const double* guess)
{
    const perpi_mlcp_scaled* P = &p->problem;
    const int32_t n = P->n;
    for (int32_t i = 0; i < n; ++i) {
        const double known = warm ? perpi_mlcp_scaled_to(P, i, guess[i]) : 0.0;
        p->still[i] = P->kind[i] == PERPI_UNKNOWN_FIXED;
        p->s[i] = p->t[i] = 0.0;
        p->z[i] = P->kind[i] == PERPI_UNKNOWN_FREE ? known : 0.0;
        if (P->kind[i] == PERPI_UNKNOWN_BOUNDED) {
            /* A guess is moved to the interior: from a point near the boundary the method takes
             * many steps. */
            const double inside = P->U[i] < 2.0 ? 0.5 * P->U[i] : 1.0;
            p->z[i] = known > inside && known < P->U[i] - inside ? known : inside;
        }
    }
    (void)interior_residual(p);
    for (int32_t i = 0; i < n; ++i) {
        if (P->kind[i] == PERPI_UNKNOWN_BOUNDED) {
            p->s[i] = p->r[i] > 1.0 ? p->r[i] : 1.0;
            p->t[i] = P->U[i] < INFINITY ? (p->r[i] < -1.0 ? -p->r[i] : 1.0) : 0.0;
        }
    }
}

/* Whether the direction of z proves that there is no solution: with y >= 0 where w must be >= 0,
 * y = 0 where w may have any sign and M'y <= 0 where z is unbounded (= 0 where it is free),
 *     0 <= y'w = (M'y)'z + q'y <= sum over bounded z of max(0, (M'y)_j) U_j + q'y < 0. */
static bool proves_none(perpi_interior* p)
{
    const perpi_mlcp_scaled* P = &p->problem;
    double *y = p->dz, *g = p->ds, largest = 0.0, sum = 0.0;
    for (int32_t i = 0; i < P->n; ++i) {
        y[i] = (P->kind[i] == PERPI_UNKNOWN_BOUNDED && P->U[i] < INFINITY) ||
                       P->kind[i] == PERPI_UNKNOWN_FIXED
                   ? 0.0
                   : p->z[i];
        largest = fabs(y[i]) > largest ? fabs(y[i]) : largest;
        g[i] = 0.0;
    }
    if (!(largest > LARGE)) {
        return false;
    }
    for (int32_t i = 0; i < P->n; ++i) {
        y[i] /= largest;
        sum += P->q[i] * y[i];
    }
    perpi_sparse_add_transposed_product(&P->M, 1.0, y, g);
    for (int32_t j = 0; j < P->n; ++j) {
        if (P->kind[j] == PERPI_UNKNOWN_FREE
                ? fabs(g[j]) > PROOF
                : P->U[j] == INFINITY && g[j] > PROOF && P->kind[j] == PERPI_UNKNOWN_BOUNDED) {
            return false;
        }
        sum += P->U[j] < INFINITY && g[j] > 0.0 ? g[j] * P->U[j] : 0.0;
    }
    return sum < -10.0 * PROOF;
}

/* ---- the end -------------------------------------------------------------------------------------*/

/* Checks the candidate c and keeps the best. A diverging point is rejected, however small its
 * relative residual: the iteration then follows a ray. */
static double keep_if_better(perpi_interior* p, const perp_mlcp* mlcp, double* best)
{
    for (int32_t i = 0; i < p->problem.n; ++i) {
        if (!(fabs(p->c[i]) <= LARGE)) {
            return INFINITY;
        }
        p->x[i] = perpi_mlcp_scaled_from(&p->problem, mlcp, i, p->c[i]);
    }
    double e = perp_mlcp_check_residual(mlcp, p->x, p->work);
    if (e > SNAP_ABOVE) {
        perpi_mlcp_scaled_snap(&p->problem, p->x);
        e = perp_mlcp_check_residual(mlcp, p->x, p->work);
    }
    if (e < *best) {
        *best = e;
        memcpy(p->best, p->x, (size_t)p->problem.n * sizeof *p->best);
    }
    return e;
}

/* Checks the point, then the exact solution on the face near it. c holds the candidate in scaled
 * units. */
static perp_status interior_crossover(perpi_interior* p, const perp_mlcp* mlcp, double* best)
{
    const perpi_mlcp_scaled* P = &p->problem;
    const int32_t n = P->n;
    memcpy(p->c, p->z, (size_t)n * sizeof *p->c);
    (void)keep_if_better(p, mlcp, best);
    for (int32_t i = 0; i < n; ++i) {
        if (P->kind[i] == PERPI_UNKNOWN_BOUNDED) {
            const bool low = p->z[i] < p->s[i];
            const bool high = P->U[i] < INFINITY && P->U[i] - p->z[i] < p->t[i];
            p->still[i] = low || high;
            p->c[i] = low ? 0.0 : high ? P->U[i] : p->z[i];
        }
    }
    bool good = false;
    perp_status status = interior_factor(p, false, 0.0, &good);
    if (status == PERP_OK && !good) {
        status = interior_factor(p, false, p->set.regularise, &good);
    }
    for (int32_t round = 0; round < 4 && status == PERP_OK && good; ++round) {
        memcpy(p->dz, P->q, (size_t)n * sizeof *p->dz);
        perpi_sparse_add_product(&P->M, 1.0, p->c, p->dz);
        for (int32_t i = 0; i < n; ++i) {
            p->dz[i] = p->still[i] ? 0.0 : -p->dz[i];
        }
        solve_step(p, p->dz);
        for (int32_t i = 0; i < n; ++i) {
            p->c[i] += p->still[i] ? 0.0 : p->dz[i];
        }
        (void)keep_if_better(p, mlcp, best);
    }
    for (int32_t i = 0; i < n; ++i) {
        p->still[i] = P->kind[i] == PERPI_UNKNOWN_FIXED;
    }
    return status;
}

/* ---- the method ----------------------------------------------------------------------------------*/

/* One predictor-corrector step; *length: how far it went, 0 if the system is singular. */
static perp_status interior_step(perpi_interior* p, double* length)
{
    const perpi_mlcp_scaled* P = &p->problem;
    const int32_t n = P->n;
    bool good = false;
    *length = 0.0;
    perp_status status = interior_factor(p, true, 0.0, &good);
    if (status == PERP_OK && !good) {
        status = interior_factor(p, true, p->set.regularise, &good);
    }
    if (status != PERP_OK || !good) {
        return status;
    }
    int32_t count = 0;
    memset(p->dz, 0, (size_t)n * sizeof *p->dz);
    memset(p->ds, 0, (size_t)n * sizeof *p->ds);
    memset(p->dt, 0, (size_t)n * sizeof *p->dt);
    const double mu = mean_product(p, 0.0, &count);
    for (int32_t i = 0; i < n; ++i) {
        p->c[i] = -p->z[i] * p->s[i];
        p->e[i] = P->U[i] < INFINITY ? -(P->U[i] - p->z[i]) * p->t[i] : 0.0;
    }
    make_step(p);
    if (count > 0) {
        const double a = step_length(p, 1.0);
        const double ratio = mean_product(p, a, &count) / mu;
        const double sigma = ratio < 0.0 ? 0.0 : ratio * ratio * ratio;
        for (int32_t i = 0; i < n; ++i) {
            p->c[i] += sigma * mu - p->dz[i] * p->ds[i];
            p->e[i] += P->U[i] < INFINITY ? sigma * mu + p->dz[i] * p->dt[i] : 0.0;
        }
        make_step(p);
    }
    const double a = count > 0 ? step_length(p, p->set.boundary) : 1.0;
    for (int32_t i = 0; i < n; ++i) {
        p->z[i] += a * p->dz[i];
        p->s[i] += a * p->ds[i];
        p->t[i] += a * p->dt[i];
    }
    *length = a;
    return PERP_OK;
}

static void set_outcome(perp_report* report, perp_outcome outcome, const char* text)
{
    report->outcome = outcome;
    snprintf(report->detail, sizeof report->detail, "%s", text);
}

static perp_status interior_mlcp(void* self, const perp_mlcp* problem,
                                 const perp_solve_options* options, bool warm, double* z,
                                 perp_report* report)
{
    perpi_interior* p = self;
    const int32_t n = problem->M.cols;
    perp_status status = perpi_mlcp_scaled_make(p->context, &p->problem, problem);
    if (status == PERP_OK) {
        status = interior_reserve(p);
    }
    if (status != PERP_OK) {
        return status;
    }
    const perpi_clock clock = perpi_clock_start(options->time_limit);
    const int32_t limit = options->max_iter > 0 ? options->max_iter : ITERATIONS;
    double best = INFINITY;
    p->same_pattern = false;
    report->iterations = 0;
    set_outcome(report, PERP_OUTCOME_MAX_ITER, "");
    interior_start(p, warm, z);
    int32_t lost = 0;
    while (report->iterations < limit && status == PERP_OK) {
        double length = 0.0;
        status = interior_step(p, &length);
        ++report->iterations;
        if (status != PERP_OK) {
            break;
        }
        const double r = interior_residual(p);
        int32_t count = 0;
        const double mu = mean_product(p, 0.0, &count);
        memcpy(p->c, p->z, (size_t)n * sizeof *p->c);
        const double e = keep_if_better(p, problem, &best);
        perpi_monitor_log(options, report->iterations, e);
        if (!isfinite(r) || !isfinite(mu)) {
            set_outcome(report, PERP_OUTCOME_BREAKDOWN, "the steps diverge");
            break;
        }
        if (mu <= 1e-10 && r <= 1e-8) { /* close enough to identify the active set */
            status = interior_crossover(p, problem, &best);
        }
        if (best <= 1e-3 * options->tolerance || (best <= options->tolerance && mu <= 1e-16)) {
            break;
        }
        if (mu <= SMALLEST_MU) {
            set_outcome(report, PERP_OUTCOME_BREAKDOWN, "the products are down to rounding");
            break;
        }
        lost = length <= SHORT_STEP ? lost + 1 : 0;
        if (proves_none(p)) {
            set_outcome(report, PERP_OUTCOME_NO_SOLUTION,
                        "the unknowns grow along a direction that proves there is no solution");
            break;
        }
        if (lost >= 3 || length == 0.0) {
            set_outcome(report, PERP_OUTCOME_BREAKDOWN,
                        "the steps became too short: M is not monotone, or there is no solution");
            break;
        }
        const perp_outcome interrupt = perpi_monitor_interrupt(options, &clock);
        if (interrupt != PERP_OUTCOME_UNSET) {
            set_outcome(report, interrupt, "");
            break;
        }
    }
    if (status != PERP_OK) {
        return status;
    }
    if (best < INFINITY) {
        memcpy(z, p->best, (size_t)n * sizeof *z);
    }
    if (best <= options->tolerance) {
        set_outcome(report, PERP_OUTCOME_SOLVED, "");
    }
    return PERP_OK;
}

static perp_status interior_lcp(void* self, const perp_lcp* problem,
                                const perp_solve_options* options, bool warm, double* z,
                                perp_report* report)
{
    perpi_interior* p = self;
    const size_t n = (size_t)problem->n;
    perp_mlcp mlcp;
    const perp_status status = perpi_lcp_to_mlcp(p->context, &p->columns, problem, n * n, &mlcp);
    return status == PERP_OK ? interior_mlcp(p, &mlcp, options, warm, z, report) : status;
}

const perp_method perpi_method_interior_point = {
    .name = "interior-point",
    .summary = "predictor-corrector for monotone problems; iterations: Newton steps",
    .settings_size = sizeof(perpi_interior_settings),
    .settings = interior_setting,
    .settings_count = sizeof interior_setting / sizeof interior_setting[0],
    .settings_default = interior_settings_default,
    .create = interior_create,
    .destroy = interior_destroy,
    .lcp = interior_lcp,
    .mlcp = interior_mlcp,
};
