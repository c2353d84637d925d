/* src/solve/interior/friction_interior_point.c - a predictor-corrector interior-point method over the friction
 * cones, polished by Newton steps on the natural map.
 *
 * Source     central_path.h for the steps; the fixed point on s = mu |u_t| as in [Acary, Cadoux 2013];
 *            [Alart, Curnier 1991] for Newton's method on the natural map of friction_local.h
 * Method     1. Coulomb's law inside the Newton system (SLIP_NORM): measured on the friction problems of
 *               the corpus this needs a fifth of the steps of 4, and solves eight more of them.
 *            2. Where that path ends before tau is small: again with weights from the loads. This
 *               helps with large mass ratios and harms where redundant rows disagree, so it is
 *               tried second.
 *            3. As in 1, with the slip direction fixed.
 *            4. The fixed point: with s fixed the problem is convex and the path leads to its
 *               solution; s is updated from it, repeatedly.
 *            The path identifies which contacts are open, stick or slide, but its last digits are
 *            expensive in floating point: r_n - |r_t| / mu suffers cancellation, and at a contact
 *            with u_n = r_n = 0 the error decreases only with sqrt(tau). Therefore, at intervals of
 *            tau, a few Newton steps are tried from a copy of the point, as long as each halves the
 *            residual.
 * Departure  A direction d of the impulses without bound is tested as a proof that there is no answer:
 *            d_n >= 0, d_t = 0 and W' d = 0 mean d . u = d . q for every r, and d . u >= 0 by the laws.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "solve/builtin.h"
#include "solve/interior/central_path.h"
#include "solve/frictional/friction_local.h"
#include "solve/monitor.h"

#define TAU_MIN 1e-24       /* the path ends here */
#define TAU_WARM 1e-8       /* smallest tau at which a warm start begins */
#define POLISH_AGAIN 1e-2   /* the next polish when tau has fallen by this */
#define PROGRESS 0.5        /* tau must fall by this */
#define IDLE 25             /* in so many steps */
#define SHORT 0.1           /* a step shorter than this */
#define SHORT_COUNTS 3      /* counts as so many */
#define FIXED_POINT_MAX 200 /* changes of s */
#define PROOF 1e-9          /* on W' d, relative to its terms */
#define PROOF_GAIN 1e-6     /* on -d . q, likewise */

typedef struct interior_settings {
    double boundary;
    double start;
    double regularise;
    double polish;
    int32_t polish_steps;
    bool fold;
} interior_settings;

static const perp_setting interior_setting[] = {
    {"boundary", PERP_SETTING_DOUBLE, offsetof(interior_settings, boundary), 0.5, 0.999999,
     "longest step, as a fraction of the distance to the nearest boundary"},
    {"start", PERP_SETTING_DOUBLE, offsetof(interior_settings, start), 1e-8, 1e8,
     "tau of a cold start; 1: impulses that would change each velocity by the largest q"},
    {"regularise", PERP_SETTING_DOUBLE, offsetof(interior_settings, regularise), 0.0, 1e-3,
     "proximal weight of a change of impulses, relative to the diagonal of W"},
    {"polish", PERP_SETTING_DOUBLE, offsetof(interior_settings, polish), 0.0, 1.0,
     "tau below which Newton steps on the natural map are tried"},
    {"polish-steps", PERP_SETTING_INT, offsetof(interior_settings, polish_steps), 0, 1000,
     "most of them in a row; 0: none"},
    {"fold", PERP_SETTING_BOOL, offsetof(interior_settings, fold), 0.0, 1.0,
     "include the slip speed in the Newton system; false: fixed point only"},
};

static void interior_settings_default(void* settings)
{
    *(interior_settings*)settings = (interior_settings){.boundary = 0.99,
                                                        .start = 1.0,
                                                        .regularise = 1e-10,
                                                        .polish = 1e-4,
                                                        .polish_steps = 10,
                                                        .fold = true};
}

typedef struct interior {
    perp_context* context;
    interior_settings set;
    perpi_central_path path;
    double* vector; /* 7 row_count, then the residual check's scratch */
    size_t vector_capacity;
    double* block; /* A, B of the widest constraint */
    size_t block_capacity;
    double *w, *F, *trial, *best;
    double* d; /* 3 row_count, of a proof */
    double* work;
} interior;

static perp_status interior_create(perp_context* context, const void* settings, void** self)
{
    interior* s = NULL;
    perp_status status = perpi_alloc(context, 1, sizeof *s, &s);
    if (status != PERP_OK) {
        return status;
    }
    s->context = context;
    s->set = *(const interior_settings*)settings;
    status = perpi_central_path_init(&s->path, context);
    if (status != PERP_OK) {
        perpi_free(context, s);
        return status;
    }
    *self = s;
    return PERP_OK;
}

static void interior_destroy(void* self)
{
    interior* s = self;
    if (s == NULL) {
        return;
    }
    perpi_central_path_free(&s->path);
    perpi_free(s->context, s->vector);
    perpi_free(s->context, s->block);
    perpi_free(s->context, s);
}

static perp_status friction_interior_reserve(interior* s, const perp_friction_problem* P)
{
    const size_t n = (size_t)P->row_count;
    size_t widest = 1;
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const size_t rows = (size_t)P->constraint[i].rows;
        widest = rows > widest ? rows : widest;
    }
    perp_status status = perpi_central_path_prepare(&s->path, P);
    if (status == PERP_OK) {
        status = perpi_grow(s->context, &s->vector, &s->vector_capacity,
                            7 * n + perp_friction_residual_work(P), sizeof *s->vector);
    }
    if (status == PERP_OK) {
        status = perpi_grow(s->context, &s->block, &s->block_capacity, 2 * widest * widest,
                            sizeof *s->block);
    }
    if (status == PERP_OK) {
        s->w = s->vector;
        s->F = s->w + n;
        s->trial = s->F + n;
        s->best = s->trial + n;
        s->d = s->best + n;
        s->work = s->d + 3 * n;
        perpi_friction_weights(P, s->w);
    }
    return status;
}

/* ---- no answer ----------------------------------------------------------------------------------------*/

/* Projects a direction so that d . u >= 0 follows from the laws. */
static double one_sided(const perp_friction_problem* P, const perp_constraint* c, int32_t row,
                        double d)
{
    if (c->kind == PERP_CONSTRAINT_EQUALITY) {
        return d;
    }
    if (c->kind == PERP_CONSTRAINT_BOUNDED) {
        return (d > 0.0 && P->upper[row] == INFINITY) || (d < 0.0 && P->lower[row] == -INFINITY)
                   ? d
                   : 0.0;
    }
    return row == c->row && d > 0.0 ? d : 0.0;
}

/* Whether the direction proves that no r satisfies the laws. */
static bool proves_no_answer(interior* s, const perp_friction_problem* P, const double* direction)
{
    double *d = s->d, *sum = d + P->row_count, *size = sum + P->row_count;
    double gain = 0.0, terms = 0.0;
    memset(sum, 0, (size_t)P->row_count * sizeof *sum);
    memset(size, 0, (size_t)P->row_count * sizeof *size);
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        for (int32_t row = c->row; row < c->row + c->rows; ++row) {
            d[row] = one_sided(P, c, row, direction[row]);
            gain -= d[row] * P->q[row];
            terms += fabs(d[row] * P->q[row]);
        }
        for (int32_t k = P->W.start[i]; k < P->W.start[i + 1]; ++k) {
            const perp_constraint* b = &P->constraint[P->W.column[k]];
            const double* W = P->W.value + P->W.at[k];
            for (int32_t a = 0; a < c->rows; ++a) {
                for (int32_t l = 0; l < b->rows; ++l) {
                    const double t = d[c->row + a] * W[a * b->rows + l];
                    sum[b->row + l] += t;
                    size[b->row + l] += fabs(t);
                }
            }
        }
    }
    for (int32_t k = 0; k < P->row_count; ++k) {
        if (!(fabs(sum[k]) <= PROOF * size[k])) {
            return false;
        }
    }
    return isfinite(terms) && gain > PROOF_GAIN * terms;
}

/* ---- the residual of a point --------------------------------------------------------------------*/

/* The data of one solve. */
typedef struct course {
    const perp_friction_problem* P;
    perpi_monitor out;
    int32_t polished, slips;
} course;

/* Computes the residual of r; true if the solve is over. Where a point within the tolerance also
 * proves infeasibility, its impulses are so large that the remaining violation is relatively
 * small. */
static bool check_point(interior* s, course* k, const double* r)
{
    const double residual = perp_friction_check_residual(k->P, r, s->work).worst;
    if (residual <= k->out.options->tolerance && proves_no_answer(s, k->P, r)) {
        k->out.report->outcome = PERP_OUTCOME_NO_SOLUTION;
        k->out.over = true;
        return true;
    }
    return perpi_monitor_check(&k->out, residual, r);
}

/* ---- the polish ---------------------------------------------------------------------------------------*/

/* u and F at r; returns |F|. */
static double evaluate_natural_map(interior* s, const perp_friction_problem* P, const double* r)
{
    double* u = s->path.u;
    double sum = 0.0;
    perpi_friction_velocities(P, r, u);
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const int32_t row = P->constraint[i].row;
        perpi_friction_map(P, i, s->w + row, r + row, u + row, s->F + row);
    }
    for (int32_t k = 0; k < P->row_count; ++k) {
        sum += s->F[k] * s->F[k];
    }
    return sqrt(sum);
}

/* r <- r - (A + B (W + delta D))^-1 F, u and F those of r; false: singular. */
static bool polish_step(interior* s, const perp_friction_problem* P, double* r)
{
    perpi_central_path* path = &s->path;
    perpi_block_lu_clear(path->lu);
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        const int32_t n = c->rows, row = c->row;
        double *A = s->block, *B = s->block + (size_t)n * (size_t)n;
        perpi_friction_map_jacobian(P, i, s->w + row, r + row, path->u + row, A, B);
        for (int32_t k = P->W.start[i]; k < P->W.start[i + 1]; ++k) {
            const int32_t j = P->W.column[k], nj = P->constraint[j].rows;
            const double* W = P->W.value + P->W.at[k];
            int32_t ld;
            double* out = perpi_block_lu_block(path->lu, k, &ld);
            for (int32_t a = 0; a < n; ++a) {
                double* restrict y = out + (size_t)a * (size_t)ld;
                for (int32_t b = 0; b < n; ++b) {
                    const double t = B[a * n + b];
                    for (int32_t l = 0; l < nj && t != 0.0; ++l) {
                        y[l] += t * W[b * nj + l];
                    }
                    y[b] += i == j ? A[a * n + b] + t * s->set.regularise * path->D[row + b] : 0.0;
                }
            }
        }
    }
    if (!perpi_block_lu_factor(path->lu)) {
        return false;
    }
    perpi_block_lu_solve(path->lu, s->F);
    for (int32_t k = 0; k < P->row_count; ++k) {
        r[k] -= s->F[k];
    }
    return true;
}

/* Newton steps from a copy of r while each halves |F|. Uses the path's u. */
static void polish_point(interior* s, course* k, const double* r)
{
    memcpy(s->trial, r, (size_t)k->P->row_count * sizeof *r);
    double merit = evaluate_natural_map(s, k->P, s->trial), before = INFINITY;
    for (int32_t i = 0; i < s->set.polish_steps && merit <= 0.5 * before && !k->out.over; ++i) {
        ++k->out.report->iterations;
        ++k->polished;
        if (!polish_step(s, k->P, s->trial)) {
            return;
        }
        before = merit;
        merit = evaluate_natural_map(s, k->P, s->trial);
        check_point(s, k, s->trial);
    }
}

/* ---- the iteration ------------------------------------------------------------------------------------*/

/* The direction of a failed path may prove that there is no solution. */
static void seek_proof(interior* s, course* k)
{
    if (!k->out.over &&
        (proves_no_answer(s, k->P, s->path.r) || proves_no_answer(s, k->P, s->path.dr))) {
        k->out.report->outcome = PERP_OUTCOME_NO_SOLUTION;
        k->out.over = true;
    }
}

/* Follows the path from its point until tau and the residual are at most `until`, or the steps
 * fail. */
static void follow_central_path(interior* s, course* k, double until)
{
    perpi_central_path* path = &s->path;
    double next_polish = s->set.polish, mark = INFINITY, length = 1.0;
    for (int32_t idle = 0; length >= 0.0;) {
        double tau;
        const double off = perpi_central_path_measure(path, k->P, &tau);
        if (check_point(s, k, path->r)) {
            return;
        }
        const double now = path->pairs > 0 ? tau : off;
        idle = now <= PROGRESS * mark ? 0 : idle + (length < SHORT ? SHORT_COUNTS : 1);
        mark = idle == 0 ? now : mark;
        const bool last = idle >= IDLE || !(now > TAU_MIN) || (tau <= until && off <= until);
        if (tau <= next_polish || last) {
            polish_point(s, k, path->r);
            if (k->out.over || last) {
                return;
            }
            next_polish = POLISH_AGAIN * tau;
        }
        ++k->out.report->iterations;
        length = perpi_central_path_step(path, k->P, tau, s->set.boundary, s->set.regularise);
    }
    polish_point(s, k, path->r);
}

/* Solves convex problems with s fixed until s is consistent with the solution. */
static void fixed_point(interior* s, course* k)
{
    perpi_central_path* path = &s->path;
    double tau = s->set.start, until = 1e-7;
    path->slip = PERPI_SLIP_FIXED;
    perpi_central_path_size(path, k->P, true);
    for (int32_t i = 0; i < FIXED_POINT_MAX && !k->out.over; ++i) {
        perpi_central_path_start(path, k->P, tau, i > 0);
        follow_central_path(s, k, until);
        const double change = perpi_central_path_update_slip(path, k->P);
        ++k->slips;
        if (!isfinite(change)) {
            return;
        }
        seek_proof(s, k);
        /* start and tolerance of the next problem follow from the change of s */
        const double near = change * change;
        tau = near > 1.0 ? 1.0 : (near > 1e-6 ? near : 1e-6);
        until = near > 1e-4 ? 1e-7 : (near > 1e-11 ? 1e-3 * near : 1e-14);
    }
}

static perp_status interior_solve(void* self, const perp_friction_problem* P,
                                  const perp_solve_options* options, bool warm, double* r,
                                  perp_report* report)
{
    interior* s = self;
    const perp_status status = friction_interior_reserve(s, P);
    if (status != PERP_OK) {
        return status;
    }
    perpi_central_path* path = &s->path;
    const size_t bytes = (size_t)P->row_count * sizeof *r;
    if (!warm) {
        memset(r, 0, bytes);
    }
    perpi_friction_project_guess(P, r);
    course k = {.P = P,
                .out = perpi_monitor_start(options, report, 500, r, s->best, (size_t)P->row_count)};
    report->outcome = PERP_OUTCOME_BREAKDOWN;
    memcpy(path->r, r, bytes);
    memset(path->dr, 0, bytes);
    if (!check_point(s, &k, r) && warm) {
        polish_point(s, &k, r);
    }
    static const struct {
        perpi_slip slip;
        bool loads;
    } way[] = {{PERPI_SLIP_NORM, false}, {PERPI_SLIP_NORM, true}, {PERPI_SLIP_DIRECTION, false}};
    for (size_t i = 0; i < sizeof way / sizeof way[0] && s->set.fold && !k.out.over; ++i) {
        const bool guess = warm && i == 0;
        double tau = s->set.start;
        path->slip = way[i].slip;
        perpi_central_path_size(path, P, way[i].loads);
        if (guess) { /* tau according to the residual of the best point */
            memcpy(path->r, s->best, bytes);
            perpi_friction_project_guess(P, path->r);
            tau = k.out.least < tau ? k.out.least : tau;
            tau = tau > TAU_WARM ? tau : TAU_WARM;
        }
        perpi_central_path_start(path, P, tau, guess);
        follow_central_path(s, &k, 0.0);
        seek_proof(s, &k);
    }
    if (!k.out.over) {
        fixed_point(s, &k);
    }
    memcpy(r, s->best, bytes);
    if (report->outcome == PERP_OUTCOME_NO_SOLUTION) {
        snprintf(report->detail, sizeof report->detail,
                 "no solution: a combination of rows that no impulse changes violates its law");
    } else if (report->outcome == PERP_OUTCOME_BREAKDOWN) {
        snprintf(report->detail, sizeof report->detail, "the central path stalled after %d steps",
                 report->iterations);
    } else {
        snprintf(report->detail, sizeof report->detail,
                 "%d steps, %d of them Newton's, %d changes of the slip", report->iterations,
                 k.polished, k.slips);
    }
    return PERP_OK;
}

const perp_method perpi_method_friction_interior_point = {
    .name = "interior-point",
    .summary = "predictor-corrector over the friction cones, Newton at the end; iterations: steps",
    .takes = PERP_TAKES_NONE | PERP_TAKES_POLYGON | PERP_TAKES_QUADRATIC | PERP_TAKES_ELLIPSOID,
    .settings_size = sizeof(interior_settings),
    .settings = interior_setting,
    .settings_count = sizeof interior_setting / sizeof interior_setting[0],
    .settings_default = interior_settings_default,
    .create = interior_create,
    .destroy = interior_destroy,
    .friction = interior_solve,
};
