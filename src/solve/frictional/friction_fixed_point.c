/* src/solve/frictional/friction_fixed_point.c - extragradient steps on the friction problem as a variational
 * inequality over the cones, with an adaptive step size.
 *
 * Source     [Khobotov 1987] as used for friction in [Acary, Bremond, Huber 2018] (their VI-EG):
 *            s = P(r - rho T u^(r)), r <- P(r - rho T u^(s)), u^ = u + (support of F at u_t) e_n, which
 *            makes the law associated; P the projection onto the cones and bounds
 * Notation   T = diag(1/w), w the largest diagonal entry of W of each constraint: rho is a number
 * Departure  rho is kept while tau = rho |u^(r) - u^(s)| / |r - s| <= 0.9 (in T's metric), shrunk until
 *            that holds, and grown where tau is small
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "solve/builtin.h"
#include "solve/frictional/friction_local.h"
#include "solve/monitor.h"

/* With the method's own limit of iterations: it has stalled if the best residual of PATIENCE steps is
 * not below PROGRESS of the one before them. Impacts without a solution took all 100,000 steps, seconds
 * each, at a residual that no longer changed. */
enum { PATIENCE = 10000 };
static const double PROGRESS = 0.5;

typedef struct fixed_settings {
    double step;
    double shrink, grow;
    int32_t check_every;
} fixed_settings;

static const perp_setting fixed_setting[] = {
    {"step", PERP_SETTING_DOUBLE, offsetof(fixed_settings, step), 1e-12, 1e12,
     "first rho, relative to the inverse of each constraint's largest diagonal entry of W"},
    {"shrink", PERP_SETTING_DOUBLE, offsetof(fixed_settings, shrink), 0.01, 0.99,
     "factor on rho after a step that changed u too much"},
    {"grow", PERP_SETTING_DOUBLE, offsetof(fixed_settings, grow), 1.0, 10.0,
     "factor on rho after a step that changed u little"},
    {"judge-every", PERP_SETTING_INT, offsetof(fixed_settings, check_every), 1, 1000000,
     "steps between two checks of the residual"},
};

static void fixed_settings_default(void* settings)
{
    *(fixed_settings*)settings =
        (fixed_settings){.step = 1.0, .shrink = 2.0 / 3.0, .grow = 1.5, .check_every = 10};
}

typedef struct fixed_point {
    perp_context* context;
    fixed_settings set;
    double* vector; /* 6 row_count */
    size_t vector_capacity;
    double* work;
    size_t work_capacity;
    double *w, *u, *u_s, *trial, *next, *best;
} fixed_point;

static perp_status fixed_create(perp_context* context, const void* settings, void** self)
{
    fixed_point* s = NULL;
    const perp_status status = perpi_alloc(context, 1, sizeof *s, &s);
    if (status == PERP_OK) {
        s->context = context;
        s->set = *(const fixed_settings*)settings;
        *self = s;
    }
    return status;
}

static void fixed_destroy(void* self)
{
    fixed_point* s = self;
    if (s == NULL) {
        return;
    }
    perpi_free(s->context, s->vector);
    perpi_free(s->context, s->work);
    perpi_free(s->context, s);
}

static perp_status extragradient_reserve(fixed_point* s, const perp_friction_problem* P)
{
    const size_t n = (size_t)P->row_count;
    perp_status status =
        perpi_grow(s->context, &s->vector, &s->vector_capacity, 6 * n, sizeof(double));
    if (status == PERP_OK) {
        status = perpi_grow(s->context, &s->work, &s->work_capacity, perp_friction_residual_work(P),
                            sizeof(double));
    }
    if (status == PERP_OK) {
        double** const view[] = {&s->w, &s->u, &s->u_s, &s->trial, &s->next, &s->best};
        for (size_t i = 0; i < 6; ++i) {
            *view[i] = s->vector + i * n;
        }
    }
    return status;
}

/* u <- W r + q made associated. */
static void associated_velocities(const perp_friction_problem* P, const double* r, double* u)
{
    perpi_friction_velocities(P, r, u);
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        if (c->kind == PERP_CONSTRAINT_CONTACT && c->rows > 1) {
            u[c->row] += perpi_friction_support(c, u + c->row + 1);
        }
    }
}

/* out <- P(r - rho T u) */
static void project_step(const fixed_point* s, const perp_friction_problem* P, const double* r,
                         double rho, const double* u, double* out)
{
    for (int32_t k = 0; k < P->row_count; ++k) {
        out[k] = r[k] - rho * u[k] / s->w[k];
    }
    perpi_friction_project(P, out);
}

/* |x - y| with weights w (impulses) or 1/w (velocities). */
static double weighted_distance(const fixed_point* s, int32_t n, bool impulses, const double* x,
                                const double* y)
{
    double sum = 0.0;
    for (int32_t k = 0; k < n; ++k) {
        const double d = x[k] - y[k];
        sum += impulses ? d * d * s->w[k] : d * d / s->w[k];
    }
    return sqrt(sum);
}

static perp_status fixed_solve(void* self, const perp_friction_problem* P,
                               const perp_solve_options* options, bool warm, double* r,
                               perp_report* report)
{
    fixed_point* s = self;
    const perp_status status = extragradient_reserve(s, P);
    if (status != PERP_OK) {
        return status;
    }
    const int32_t n = P->row_count;
    const size_t bytes = (size_t)n * sizeof *r;
    if (!warm) {
        memset(r, 0, bytes);
    }
    perpi_friction_metric(P, s->w);
    perpi_friction_project(P, r);
    perpi_monitor out =
        perpi_monitor_start(options, report, 100000, r, s->best, (size_t)P->row_count);
    double rho = s->set.step, before = INFINITY;
    for (int32_t it = 0; it <= out.limit; ++it) {
        report->iterations = it;
        if (it % s->set.check_every == 0 || it == out.limit) {
            const double residual = perp_friction_check_residual(P, r, s->work).worst;
            if (perpi_monitor_check(&out, residual, r)) {
                break;
            }
            if (options->max_iter == 0 && it / PATIENCE != (it - s->set.check_every) / PATIENCE) {
                if (!(out.least < PROGRESS * before)) {
                    report->outcome = PERP_OUTCOME_MAX_ITER;
                    snprintf(report->detail, sizeof report->detail, "no progress in %d iterations",
                             PATIENCE);
                    break;
                }
                before = out.least;
            }
            if (!isfinite(residual)) {
                report->outcome = PERP_OUTCOME_BREAKDOWN;
                snprintf(report->detail, sizeof report->detail, "the steps diverge");
                break;
            }
        }
        associated_velocities(P, r, s->u);
        double tau = INFINITY;
        for (int32_t tries = 0; tries < 60 && !(tau <= 0.9); ++tries) {
            project_step(s, P, r, rho, s->u, s->trial);
            associated_velocities(P, s->trial, s->u_s);
            const double moved = weighted_distance(s, n, true, r, s->trial);
            tau = moved > 0.0 ? rho * weighted_distance(s, n, false, s->u, s->u_s) / moved : 0.0;
            if (!(tau <= 0.9)) {
                const double factor = tau > 0.0 && 1.0 / tau < 1.0 ? 1.0 / tau : 1.0;
                rho *= s->set.shrink * factor;
            }
        }
        project_step(s, P, r, rho, s->u_s, s->next);
        memcpy(r, s->next, bytes);
        rho *= tau < 0.3 ? s->set.grow : 1.0;
        rho = rho > 1e12 ? 1e12 : rho;
    }
    memcpy(r, s->best, bytes);
    return PERP_OK;
}

const perp_method perpi_method_friction_fixed_point = {
    .name = "fixed-point",
    .summary = "extragradient with an adaptive step over the friction cones; iterations: steps",
    .takes = PERP_TAKES_NONE | PERP_TAKES_POLYGON | PERP_TAKES_QUADRATIC | PERP_TAKES_ELLIPSOID,
    .settings_size = sizeof(fixed_settings),
    .settings = fixed_setting,
    .settings_count = sizeof fixed_setting / sizeof fixed_setting[0],
    .settings_default = fixed_settings_default,
    .create = fixed_create,
    .destroy = fixed_destroy,
    .friction = fixed_solve,
};
