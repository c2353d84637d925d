/* src/solve/splitting/fixed_point.c - see fixed_point.h. */
#include "solve/splitting/fixed_point.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "linalg/dense.h"
#include "solve/builtin.h"
#include "solve/monitor.h"

#define NU 0.9  /* < 1: NU of the step rule */
#define LOW 0.4 /* below it the next step is longer */
#define SHORTEN 0.6667
#define LENGTHEN 1.5
enum { SHORTER = 60, LIMIT = 100000 };

const perp_setting perpi_fixed_point_setting[PERPI_FIXED_POINT_SETTINGS] = {
    {"step", PERP_SETTING_DOUBLE, offsetof(perpi_fixed_point_settings, step), 1e-12, 1e12,
     "first step, relative to the diagonal; it adapts"},
    {"judge-every", PERP_SETTING_INT, offsetof(perpi_fixed_point_settings, check_every), 1, 1000000,
     "iterations between two checks of the residual"},
};

void perpi_fixed_point_settings_default(void* settings)
{
    *(perpi_fixed_point_settings*)settings =
        (perpi_fixed_point_settings){.step = 1.0, .check_every = 10};
}

typedef struct fixed_point {
    perp_context* context;
    perpi_fixed_point_settings set;
    double* vector; /* d, y, F(z), F(y), best, then the residual check's scratch */
    size_t vector_capacity;
    /* of the running solve: one of the two */
    const perp_lcp* lcp;
    const perp_ncp* ncp;
    int32_t n;
    double *d, *y, *Fz, *Fy, *best, *work;
} fixed_point;

perp_status perpi_fixed_point_create(perp_context* context, const void* settings, void** self)
{
    fixed_point* s = NULL;
    const perp_status status = perpi_alloc(context, 1, sizeof *s, &s);
    if (status == PERP_OK) {
        s->context = context;
        s->set = *(const perpi_fixed_point_settings*)settings;
        *self = s;
    }
    return status;
}

void perpi_fixed_point_destroy(void* self)
{
    fixed_point* s = self;
    if (s != NULL) {
        perpi_free(s->context, s->vector);
        perpi_free(s->context, s);
    }
}

static perp_status fixed_point_reserve(fixed_point* s, int32_t n, size_t check_residual)
{
    const size_t m = (size_t)n;
    const perp_status status = perpi_grow(s->context, &s->vector, &s->vector_capacity,
                                          5 * m + check_residual + 1, sizeof *s->vector);
    if (status == PERP_OK) {
        s->n = n;
        s->d = s->vector;
        s->y = s->d + m;
        s->Fz = s->y + m;
        s->Fy = s->Fz + m;
        s->best = s->Fy + m;
        s->work = s->best + m;
    }
    return status;
}

static perp_status evaluate_function(const fixed_point* s, const double* z, double* F)
{
    if (s->ncp != NULL) {
        return s->ncp->function(s->ncp->user, z, F);
    }
    for (int32_t i = 0; i < s->n; ++i) {
        F[i] = s->lcp->q[i] + perpi_dot(s->n, s->lcp->M + (size_t)i * (size_t)s->n, z);
    }
    return PERP_OK;
}

static double fixed_point_check_residual(const fixed_point* s, const double* z)
{
    return s->ncp != NULL ? perp_ncp_check_residual(s->ncp, z, s->work)
                          : perp_lcp_check_residual(s->lcp, z);
}

static double clip(const fixed_point* s, int32_t i, double z)
{
    const double lower = s->ncp != NULL ? s->ncp->lower[i] : 0.0;
    const double upper = s->ncp != NULL ? s->ncp->upper[i] : INFINITY;
    const double raised = z < lower ? lower : z; /* keeps a NaN visible */
    return raised > upper ? upper : raised;
}

/* Computes the scales d from the diagonal (in d) and the largest entry of each row (in Fz). */
static void make_scales(fixed_point* s)
{
    for (int32_t i = 0; i < s->n; ++i) {
        const double size = fabs(s->d[i]) > 0.0 ? fabs(s->d[i]) : s->Fz[i];
        s->d[i] = size > 0.0 && isfinite(size) ? 1.0 / size : 1.0;
    }
}

/* Reduces tau until the step rule holds; y and F(y) belong to the accepted tau. *ratio: tau |F(z) -
 * F(y)| / |z - y|; 0 if y = z. */
static perp_status predict(fixed_point* s, const double* z, double* tau, double* ratio)
{
    for (int h = 0; h < SHORTER; ++h) {
        double moved = 0.0, changed = 0.0;
        for (int32_t i = 0; i < s->n; ++i) {
            s->y[i] = clip(s, i, z[i] - *tau * s->d[i] * s->Fz[i]);
        }
        const perp_status status = evaluate_function(s, s->y, s->Fy);
        if (status != PERP_OK) {
            return status;
        }
        for (int32_t i = 0; i < s->n; ++i) {
            const double a = z[i] - s->y[i], b = s->Fz[i] - s->Fy[i];
            moved += a * a / s->d[i];
            changed += b * b * s->d[i];
        }
        *ratio = moved > 0.0 ? *tau * sqrt(changed / moved) : 0.0;
        if (*ratio <= NU) {
            break;
        }
        *tau *= *ratio > 2.0 * NU ? NU / *ratio : SHORTEN;
    }
    return PERP_OK;
}

static perp_status fixed_point_iterate(fixed_point* s, const perp_solve_options* options, double* z,
                                       perp_report* report)
{
    perpi_monitor out = perpi_monitor_start(options, report, LIMIT, z, s->best, (size_t)s->n);
    double tau = s->set.step;
    for (int32_t k = 0;; ++k) {
        report->iterations = k;
        if (k % s->set.check_every == 0 || k == out.limit) {
            const double residual = fixed_point_check_residual(s, z);
            if (perpi_monitor_check(&out, residual, z)) {
                break;
            }
            if (!isfinite(residual)) {
                report->outcome = PERP_OUTCOME_BREAKDOWN;
                snprintf(report->detail, sizeof report->detail, "the iteration diverges");
                break;
            }
        }
        double ratio = 0.0;
        perp_status status = evaluate_function(s, z, s->Fz);
        if (status == PERP_OK) {
            status = predict(s, z, &tau, &ratio);
        }
        if (status != PERP_OK) {
            return status;
        }
        for (int32_t i = 0; i < s->n; ++i) {
            z[i] = clip(s, i, z[i] - tau * s->d[i] * s->Fy[i]);
        }
        tau *= ratio < LOW ? LENGTHEN : 1.0;
        tau = tau < 1e150 ? tau : 1e150;
    }
    memcpy(z, s->best, (size_t)s->n * sizeof *z);
    return PERP_OK;
}

perp_status perpi_fixed_point_solve_lcp(void* self, const perp_lcp* problem,
                                        const perp_solve_options* options, bool warm, double* z,
                                        perp_report* report)
{
    fixed_point* s = self;
    const int32_t n = problem->n;
    s->lcp = problem;
    s->ncp = NULL;
    const perp_status status = fixed_point_reserve(s, n, 0);
    if (status != PERP_OK) {
        return status;
    }
    for (int32_t i = 0; i < n; ++i) {
        const double* row = problem->M + (size_t)i * (size_t)n;
        s->d[i] = row[i];
        s->Fz[i] = 0.0;
        for (int32_t j = 0; j < n; ++j) {
            s->Fz[i] = fabs(row[j]) > s->Fz[i] ? fabs(row[j]) : s->Fz[i];
        }
        z[i] = clip(s, i, warm ? z[i] : 0.0);
    }
    make_scales(s);
    return fixed_point_iterate(s, options, z, report);
}

perp_status perpi_fixed_point_solve_ncp(void* self, const perp_ncp* problem,
                                        const perp_solve_options* options, bool warm, double* z,
                                        perp_report* report)
{
    fixed_point* s = self;
    const int32_t n = problem->n;
    const perp_sparse* J = &problem->pattern;
    const size_t entries = (size_t)J->start[n];
    s->lcp = NULL;
    s->ncp = problem;
    perp_status status = fixed_point_reserve(s, n, 2 * (size_t)n + entries);
    if (status != PERP_OK) {
        return status;
    }
    for (int32_t i = 0; i < n; ++i) {
        z[i] = clip(s, i, warm ? z[i] : 0.0);
    }
    status = problem->jacobian(problem->user, z, s->work);
    if (status != PERP_OK) {
        return status;
    }
    memset(s->d, 0, (size_t)n * sizeof *s->d);
    memset(s->Fz, 0, (size_t)n * sizeof *s->Fz);
    for (int32_t j = 0; j < n; ++j) {
        for (int32_t e = J->start[j]; e < J->start[j + 1]; ++e) {
            const int32_t i = J->row[e];
            const double size = fabs(s->work[e]);
            s->d[i] = i == j ? s->work[e] : s->d[i];
            s->Fz[i] = size > s->Fz[i] ? size : s->Fz[i];
        }
    }
    make_scales(s);
    return fixed_point_iterate(s, options, z, report);
}

const perp_method perpi_method_fixed_point = {
    .name = "fixed-point",
    .summary = "proximal fixed point with an adaptive step; iterations: proximal steps",
    .settings_size = sizeof(perpi_fixed_point_settings),
    .settings = perpi_fixed_point_setting,
    .settings_count = PERPI_FIXED_POINT_SETTINGS,
    .settings_default = perpi_fixed_point_settings_default,
    .create = perpi_fixed_point_create,
    .destroy = perpi_fixed_point_destroy,
    .lcp = perpi_fixed_point_solve_lcp,
    .ncp = perpi_fixed_point_solve_ncp,
};
