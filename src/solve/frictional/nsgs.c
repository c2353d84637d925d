/* src/solve/frictional/nsgs.c - nonsmooth Gauss-Seidel: one constraint after another, each solved
 * exactly with the others held.
 *
 * Source     [Jourdan, Alart, Jean, "A Gauss-Seidel like algorithm to solve frictional contact
 *            problems", 1998]; local solves in friction_local.c
 * Notation   theirs and ours: W, q, r, u
 * Departure  the order is fixed (or alternates with `symmetric`); the stopping test is the
 *            residual, not the size of the last change
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "solve/builtin.h"
#include "solve/frictional/friction_local.h"
#include "solve/monitor.h"

typedef struct nsgs_settings {
    double relax;
    int32_t check_every;
    bool symmetric;
} nsgs_settings;

static const perp_setting nsgs_setting[] = {
    {"relax", PERP_SETTING_DOUBLE, offsetof(nsgs_settings, relax), 0.01, 1.99,
     "relaxation of each local answer; 1: plain Gauss-Seidel"},
    {"judge-every", PERP_SETTING_INT, offsetof(nsgs_settings, check_every), 1, 1000000,
     "sweeps between two checks of the residual"},
    {"symmetric", PERP_SETTING_BOOL, offsetof(nsgs_settings, symmetric), 0, 1,
     "every other sweep runs backwards"},
};

static void nsgs_settings_default(void* settings)
{
    *(nsgs_settings*)settings =
        (nsgs_settings){.relax = 1.0, .check_every = 10, .symmetric = false};
}

typedef struct nsgs {
    perp_context* context;
    nsgs_settings set;
    perpi_friction_sweeper sweeper;
    double* best; /* row_count */
    size_t best_capacity;
    double* work; /* the residual check's */
    size_t work_capacity;
} nsgs;

static perp_status nsgs_create(perp_context* context, const void* settings, void** self)
{
    nsgs* s = NULL;
    const perp_status status = perpi_alloc(context, 1, sizeof *s, &s);
    if (status == PERP_OK) {
        s->context = context;
        s->set = *(const nsgs_settings*)settings;
        perpi_friction_sweeper_init(&s->sweeper, context);
        *self = s;
    }
    return status;
}

static void nsgs_destroy(void* self)
{
    nsgs* s = self;
    if (s == NULL) {
        return;
    }
    perpi_friction_sweeper_free(&s->sweeper);
    perpi_free(s->context, s->best);
    perpi_free(s->context, s->work);
    perpi_free(s->context, s);
}

static perp_status nsgs_reserve(nsgs* s, const perp_friction_problem* P)
{
    perp_status status = perpi_friction_sweeper_prepare(&s->sweeper, P);
    if (status == PERP_OK) {
        status = perpi_grow(s->context, &s->best, &s->best_capacity, (size_t)P->row_count,
                            sizeof *s->best);
    }
    if (status == PERP_OK) {
        status = perpi_grow(s->context, &s->work, &s->work_capacity, perp_friction_residual_work(P),
                            sizeof *s->work);
    }
    return status;
}

static perp_status nsgs_solve(void* self, const perp_friction_problem* P,
                              const perp_solve_options* options, bool warm, double* r,
                              perp_report* report)
{
    nsgs* s = self;
    const perp_status status = nsgs_reserve(s, P);
    if (status != PERP_OK) {
        return status;
    }
    const size_t bytes = (size_t)P->row_count * sizeof *r;
    if (!warm) {
        memset(r, 0, bytes);
    }
    perpi_friction_project_guess(P, r);
    perpi_monitor out =
        perpi_monitor_start(options, report, 10000, r, s->best, (size_t)P->row_count);
    for (int32_t sweep = 0; sweep <= out.limit; ++sweep) {
        if (sweep > 0) {
            perpi_friction_sweep(&s->sweeper, P, s->set.relax, s->set.symmetric && sweep % 2 == 0,
                                 r);
        }
        report->iterations = sweep;
        /* check the guess and every early sweep: small problems often converge there */
        if (sweep % s->set.check_every != 0 && sweep != out.limit && sweep != 1 && sweep != 3) {
            continue;
        }
        const double residual = perp_friction_check_residual(P, r, s->work).worst;
        if (perpi_monitor_check(&out, residual, r)) {
            break;
        }
        if (!isfinite(residual)) {
            report->outcome = PERP_OUTCOME_BREAKDOWN;
            snprintf(report->detail, sizeof report->detail, "the sweeps diverge");
            break;
        }
    }
    memcpy(r, s->best, bytes);
    return PERP_OK;
}

const perp_method perpi_method_nsgs = {
    .name = "nsgs",
    .summary = "block Gauss-Seidel with an exact solve per contact and joint; iterations: sweeps",
    .takes = PERP_TAKES_NONE | PERP_TAKES_POLYGON | PERP_TAKES_QUADRATIC | PERP_TAKES_ELLIPSOID,
    .settings_size = sizeof(nsgs_settings),
    .settings = nsgs_setting,
    .settings_count = sizeof nsgs_setting / sizeof nsgs_setting[0],
    .settings_default = nsgs_settings_default,
    .create = nsgs_create,
    .destroy = nsgs_destroy,
    .friction = nsgs_solve,
};
