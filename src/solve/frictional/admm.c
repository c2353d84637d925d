/* src/solve/frictional/admm.c - alternating directions: a linear system that is factored once, and a
 * projection onto the cones.
 *
 * Source     [Boyd et al. 2011, 3.3-3.4] for the method, its relaxation and the balancing of rho; the
 *            fixed point on s = mu |u_t| that makes the law associated as in [Acary, Cadoux 2013]
 * Notation   (W + rho D) x = rho D (z - y) - (q + s),  z <- P(a x + (1 - a) z + y), y the scaled dual:
 *            at the answer -rho D y = W z + q + s. D: the metric of friction_local.h, P the projection
 *            in it, a the relaxation. The iterate is z, which is always inside the cones
 * Departure  s is updated in every step from the tangential rows of -rho D y; rho changes by a
 *            factor of at least 2, at most `refactor` times, and is then constant
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "linalg/block_lu.h"
#include "solve/builtin.h"
#include "solve/frictional/friction_local.h"
#include "solve/monitor.h"

typedef struct admm_settings {
    double penalty;
    double relax;
    int32_t refactor;
    int32_t check_every;
} admm_settings;

static const perp_setting admm_setting[] = {
    {"penalty", PERP_SETTING_DOUBLE, offsetof(admm_settings, penalty), 1e-9, 1e9,
     "first rho, relative to each constraint's largest diagonal entry of W"},
    {"relax", PERP_SETTING_DOUBLE, offsetof(admm_settings, relax), 0.5, 1.95, "over-relaxation a"},
    {"refactor", PERP_SETTING_INT, offsetof(admm_settings, refactor), 0, 1000000,
     "how often rho may change"},
    {"judge-every", PERP_SETTING_INT, offsetof(admm_settings, check_every), 1, 1000000,
     "steps between two checks of the residual and of rho"},
};

static void admm_settings_default(void* settings)
{
    *(admm_settings*)settings =
        (admm_settings){.penalty = 0.1, .relax = 1.6, .refactor = 30, .check_every = 10};
}

typedef struct admm {
    perp_context* context;
    admm_settings set;
    perpi_block_lu* lu;
    double* vector; /* 6 row_count */
    size_t vector_capacity;
    int32_t* size; /* constraint_count */
    size_t size_capacity;
    double* work;
    size_t work_capacity;
    double *D, *x, *y, *z, *last, *best;
} admm;

static perp_status admm_create(perp_context* context, const void* settings, void** self)
{
    admm* s = NULL;
    perp_status status = perpi_alloc(context, 1, sizeof *s, &s);
    if (status != PERP_OK) {
        return status;
    }
    s->context = context;
    s->set = *(const admm_settings*)settings;
    status = perpi_block_lu_create(context, &s->lu);
    if (status != PERP_OK) {
        perpi_free(context, s);
        return status;
    }
    *self = s;
    return PERP_OK;
}

static void admm_destroy(void* self)
{
    admm* s = self;
    if (s == NULL) {
        return;
    }
    perpi_block_lu_destroy(s->lu);
    perpi_free(s->context, s->vector);
    perpi_free(s->context, s->size);
    perpi_free(s->context, s->work);
    perpi_free(s->context, s);
}

static perp_status admm_reserve(admm* s, const perp_friction_problem* P)
{
    const size_t n = (size_t)P->row_count, nc = (size_t)P->constraint_count;
    perp_status status =
        perpi_grow(s->context, &s->vector, &s->vector_capacity, 6 * n, sizeof(double));
    if (status == PERP_OK) {
        status = perpi_grow(s->context, &s->size, &s->size_capacity, nc, sizeof *s->size);
    }
    if (status == PERP_OK) {
        status = perpi_grow(s->context, &s->work, &s->work_capacity, perp_friction_residual_work(P),
                            sizeof(double));
    }
    if (status != PERP_OK) {
        return status;
    }
    double** const view[] = {&s->D, &s->x, &s->y, &s->z, &s->last, &s->best};
    for (size_t i = 0; i < 6; ++i) {
        *view[i] = s->vector + i * n;
    }
    for (size_t i = 0; i < nc; ++i) {
        s->size[i] = P->constraint[i].rows;
    }
    return perpi_block_lu_analyse(s->lu, P->constraint_count, s->size, P->W.start, P->W.column);
}

/* Factors W + rho D. */
static bool admm_factor(admm* s, const perp_friction_problem* P, double rho)
{
    perpi_block_lu_clear(s->lu);
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        for (int32_t k = P->W.start[i]; k < P->W.start[i + 1]; ++k) {
            const int32_t j = P->W.column[k], nj = P->constraint[j].rows;
            const double* W = P->W.value + P->W.at[k];
            int32_t ld;
            double* out = perpi_block_lu_block(s->lu, k, &ld);
            for (int32_t a = 0; a < c->rows; ++a) {
                memcpy(out + (size_t)a * (size_t)ld, W + (size_t)a * (size_t)nj,
                       (size_t)nj * sizeof *out);
                if (j == i) {
                    out[(size_t)a * (size_t)ld + (size_t)a] += rho * s->D[c->row + a];
                }
            }
        }
    }
    return perpi_block_lu_factor(s->lu);
}

/* y such that -rho D y = W z + q + s at z: a dual to start from. */
static void start_dual(admm* s, const perp_friction_problem* P, double rho)
{
    perpi_friction_velocities(P, s->z, s->y);
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        if (c->kind == PERP_CONSTRAINT_CONTACT && c->rows > 1) {
            s->y[c->row] += perpi_friction_support(c, s->y + c->row + 1);
        }
    }
    for (int32_t k = 0; k < P->row_count; ++k) {
        s->y[k] /= -rho * s->D[k];
    }
}

/* One step; primal and dual: |x - z| and |z - last| in the metric. */
static void admm_step(admm* s, const perp_friction_problem* P, double rho, double* primal,
                      double* dual)
{
    const int32_t n = P->row_count;
    for (int32_t k = 0; k < n; ++k) {
        s->x[k] = rho * s->D[k] * (s->z[k] - s->y[k]) - P->q[k];
    }
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        if (c->kind == PERP_CONSTRAINT_CONTACT && c->rows > 1) {
            double u_t[3];
            for (int32_t k = 1; k < c->rows; ++k) {
                u_t[k - 1] = -rho * s->D[c->row + k] * s->y[c->row + k];
            }
            s->x[c->row] -= perpi_friction_support(c, u_t);
        }
    }
    perpi_block_lu_solve(s->lu, s->x);
    memcpy(s->last, s->z, (size_t)n * sizeof *s->last);
    for (int32_t k = 0; k < n; ++k) {
        const double a = s->set.relax * s->x[k] + (1.0 - s->set.relax) * s->z[k];
        s->y[k] += a;
        s->z[k] = s->y[k];
    }
    perpi_friction_project(P, s->z);
    *primal = *dual = 0.0;
    for (int32_t k = 0; k < n; ++k) {
        s->y[k] -= s->z[k];
        const double p = s->x[k] - s->z[k], d = s->z[k] - s->last[k];
        *primal += s->D[k] * p * p;
        *dual += s->D[k] * d * d;
    }
    *primal = sqrt(*primal);
    *dual = sqrt(*dual);
}

/* The rho that balances primal and dual residual; the old one if they are close. */
static double balance(double rho, double primal, double dual)
{
    double ratio = sqrt(primal / (rho * dual));
    if (!isfinite(ratio) || !(ratio > 0.0)) {
        return rho;
    }
    ratio = ratio > 10.0 ? 10.0 : (ratio < 0.1 ? 0.1 : ratio);
    const double next = rho * ratio;
    return ratio < 2.0 && ratio > 0.5 ? rho : (next < 1e-9 ? 1e-9 : (next > 1e9 ? 1e9 : next));
}

static perp_status admm_solve(void* self, const perp_friction_problem* P,
                              const perp_solve_options* options, bool warm, double* r,
                              perp_report* report)
{
    admm* s = self;
    const perp_status status = admm_reserve(s, P);
    if (status != PERP_OK) {
        return status;
    }
    const size_t bytes = (size_t)P->row_count * sizeof *r;
    if (!warm) {
        memset(r, 0, bytes);
    }
    perpi_friction_metric(P, s->D);
    memcpy(s->z, r, bytes);
    perpi_friction_project(P, s->z);
    perpi_monitor out =
        perpi_monitor_start(options, report, 10000, s->z, s->best, (size_t)P->row_count);
    double rho = s->set.penalty, primal = 0.0, dual = 0.0;
    int32_t factored = 0;
    bool ready = false;
    for (int32_t it = 0; it <= out.limit; ++it) {
        report->iterations = it;
        if (it % s->set.check_every == 0 || it == out.limit) {
            const double residual = perp_friction_check_residual(P, s->z, s->work).worst;
            if (perpi_monitor_check(&out, residual, s->z)) {
                break;
            }
            if (!isfinite(residual)) {
                report->outcome = PERP_OUTCOME_BREAKDOWN;
                snprintf(report->detail, sizeof report->detail, "the steps diverge");
                break;
            }
            const double next =
                ready && factored < s->set.refactor ? balance(rho, primal, dual) : rho;
            if (!ready || next != rho) {
                for (int32_t k = 0; k < P->row_count && ready; ++k) {
                    s->y[k] *= rho / next; /* keeps -rho D y */
                }
                rho = next;
                ++factored;
                if (!admm_factor(s, P, rho)) {
                    report->outcome = PERP_OUTCOME_BREAKDOWN;
                    snprintf(report->detail, sizeof report->detail,
                             "W + rho D is singular at rho = %g", rho);
                    break;
                }
                if (!ready) {
                    start_dual(s, P, rho);
                    ready = true;
                }
            }
        }
        admm_step(s, P, rho, &primal, &dual);
    }
    memcpy(r, s->best, bytes);
    if (report->outcome != PERP_OUTCOME_BREAKDOWN) {
        snprintf(report->detail, sizeof report->detail, "rho %.3g, factored %d times", rho,
                 factored);
    }
    return PERP_OK;
}

const perp_method perpi_method_admm = {
    .name = "admm",
    .summary = "alternating directions: factor once, project onto the cones; iterations: steps",
    .takes = PERP_TAKES_NONE | PERP_TAKES_POLYGON | PERP_TAKES_QUADRATIC | PERP_TAKES_ELLIPSOID,
    .settings_size = sizeof(admm_settings),
    .settings = admm_setting,
    .settings_count = sizeof admm_setting / sizeof admm_setting[0],
    .settings_default = admm_settings_default,
    .create = admm_create,
    .destroy = admm_destroy,
    .friction = admm_solve,
};
