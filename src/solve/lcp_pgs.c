/* src/solve/lcp_pgs.c - projected Gauss-Seidel for LCP(M, q), diag(M) > 0.
 *
 * Source     [W14 (2.45), (2.46)]
 * Notation   paper A, b, x -> here M, q, z
 * Departure  relaxation and sweep in one loop; w_i from the newest z. Stops when a sweep changes no
 *            z_i by more than `change` of the largest and every row is complementary to the
 *            tolerance; a sweep that changes nothing ends the iteration whatever the residual.
 */
#include <math.h>
#include <stdio.h>

#include "linalg/dense.h"
#include "solve/builtin.h"
#include "solve/clock.h"

typedef struct pgs_settings {
    double relax;
    double change;
} pgs_settings;

static const perp_setting pgs_setting[] = {
    {"relax", PERP_SETTING_DOUBLE, offsetof(pgs_settings, relax), 0.01, 1.99,
     "relaxation of each update; 1: plain Gauss-Seidel"},
    {"change", PERP_SETTING_DOUBLE, offsetof(pgs_settings, change), 0.0, 1.0,
     "largest change of a sweep, relative to the largest unknown, at which the residual is looked "
     "at"},
};

static void pgs_settings_default(void* settings)
{
    *(pgs_settings*)settings = (pgs_settings){.relax = 1.0, .change = 1e-9};
}

typedef struct pgs {
    perp_context* context;
    pgs_settings set;
} pgs;

static perp_status pgs_create(perp_context* context, const void* settings, void** self)
{
    pgs* s = NULL;
    const perp_status status = perpi_alloc(context, 1, sizeof *s, &s);
    if (status == PERP_OK) {
        s->context = context;
        s->set = *(const pgs_settings*)settings;
        *self = s;
    }
    return status;
}

static void pgs_destroy(void* self)
{
    pgs* s = self;
    if (s != NULL) {
        perpi_free(s->context, s);
    }
}

static perp_status pgs_solve(void* self, const perp_lcp* problem, const perp_solve_options* options,
                             bool warm, double* z, perp_report* report)
{
    const pgs* s = self;
    const int32_t n = problem->n;
    const int32_t limit = options->max_iter > 0 ? options->max_iter : 10000;
    const perpi_clock clock = perpi_clock_start(options->time_limit);
    report->outcome = PERP_OUTCOME_MAX_ITER;
    report->detail[0] = '\0';
    for (int32_t i = 0; i < n; ++i) {
        z[i] = warm && z[i] > 0.0 ? z[i] : 0.0;
    }
    int32_t sweep = 0;
    while (sweep < limit) {
        double largest = 0.0, change = 0.0;
        for (int32_t i = 0; i < n; ++i) {
            const double* M_i = problem->M + (size_t)i * (size_t)n;
            const double w_i = problem->q[i] + perpi_dot(n, M_i, z);
            const double t = z[i] - s->set.relax * w_i / M_i[i];
            const double next = t < 0.0 ? 0.0 : t; /* keeps a NaN visible; fmax would swallow it */
            const double moved = fabs(next - z[i]);
            change = !(moved <= change) ? moved : change;
            largest = next > largest ? next : largest;
            z[i] = next;
        }
        ++sweep;
        if (!isfinite(change)) {
            report->outcome = PERP_OUTCOME_BREAKDOWN;
            snprintf(report->detail, sizeof report->detail, "the sweeps diverge");
            break;
        }
        const bool quiet = change <= s->set.change * largest;
        if (quiet || options->log != NULL) {
            const double residual = perp_lcp_judge(problem, z);
            if (options->log != NULL) {
                options->log(options->user, sweep, residual);
            }
            if (quiet && residual <= options->tolerance) {
                report->outcome = PERP_OUTCOME_SOLVED;
                break;
            }
        }
        if (change == 0.0) {
            report->outcome = PERP_OUTCOME_BREAKDOWN;
            snprintf(report->detail, sizeof report->detail,
                     "the sweeps stand still short of the tolerance");
            break;
        }
        if (sweep % 16 == 0 && perpi_clock_expired(&clock)) {
            report->outcome = PERP_OUTCOME_TIME_LIMIT;
            break;
        }
        if (sweep % 16 == 0 && options->cancel != NULL && options->cancel(options->user)) {
            report->outcome = PERP_OUTCOME_CANCELLED;
            break;
        }
    }
    report->iterations = sweep;
    return PERP_OK;
}

const perp_lcp_solver_ops perpi_lcp_pgs = {
    .name = "pgs",
    .summary = "projected Gauss-Seidel, matrix-free on contact problems; iterations: sweeps",
    .needs = PERP_NEEDS_POSITIVE_DIAGONAL,
    .settings_size = sizeof(pgs_settings),
    .settings = pgs_setting,
    .settings_count = sizeof pgs_setting / sizeof pgs_setting[0],
    .settings_default = pgs_settings_default,
    .create = pgs_create,
    .destroy = pgs_destroy,
    .solve = pgs_solve,
};
