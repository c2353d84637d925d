/* src/solve/pivoting/pivot.c - a pivotal method for MLCPs with bounds; free unknowns stay in the basis.
 *
 * Source     Lemke's scheme I (Cottle, Pang, Stone, "The Linear Complementarity Problem", 4.4) with
 *            the bounded ratio test of the simplex method; free unknowns as in S. P. Dirkse, M. C.
 *            Ferris, "The PATH solver", 1995
 * Notation   w = M z + q + h z0; B basis, d = B^-1 (entering column), x values of basic variables
 * Departure  - equilibration and normal form first (mlcp_scaled.h), so one tolerance fits all rows
 *              and the path is the same in metres and millimetres.
 *            - any complementary basis may start a path: h = B c with c_p = +-1 where a basic
 *              variable has one bound, 0 where it is free. Cold: free unknowns basic, the others at
 *              a bound; warm: the unknowns of the guess that lie between their bounds are basic.
 *            - ties are broken by a symbolic random perturbation carried along as a second
 *              right-hand side, instead of the rows of B^-1: the sparse basis has no rows at hand.
 *            - the final point is recomputed from the original data by iterative refinement, and
 *              its residual is checked. If it is not accepted, the path is continued from there
 *              with a smaller tie tolerance, then restarted with another covering vector or a
 *              perturbed q; after a ray also from other bases. A small problem on which all that
 *              fails is enumerated, which can also prove that there is no solution.
 */
#include "solve/pivoting/pivot.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "solve/builtin.h"

#define FINE_TIE 1e-14         /* tie tolerance while a basis is repaired */
#define OTHER_CORNERS 8        /* starts from other bases after a ray, on problems up to ... */
#define OTHER_CORNERS_SIZE 128 /* ... this many unknowns */
#define REPAIR_LIMIT 1000      /* most unknowns for which a singular start is repaired */
#define RAISED 1e-7            /* onto the diagonal of M' when a larger start is singular */
#define REFINEMENTS 40         /* most corrections of a final point */

static const perp_setting pivot_setting[] = {
    {"pivot-tolerance", PERP_SETTING_DOUBLE, offsetof(perpi_pivot_settings, pivot_tolerance), 0.0,
     1e-3, "smallest pivot relative to the largest entry of its scaled column"},
    {"tie-tolerance", PERP_SETTING_DOUBLE, offsetof(perpi_pivot_settings, tie_tolerance), 0.0, 1e-3,
     "values this close to a bound, relative to the largest basic value, tie"},
    {"accept-tolerance", PERP_SETTING_DOUBLE, offsetof(perpi_pivot_settings, accept_tolerance), 0.0,
     1e-3, "residual at which a final basis is accepted at once"},
    {"refactor-every", PERP_SETTING_INT, offsetof(perpi_pivot_settings, refactor_every), 1, 1000000,
     "pivots between recomputations of the inverse"},
    {"attempts", PERP_SETTING_INT, offsetof(perpi_pivot_settings, attempts), 1, 100,
     "cold starts, all but the first with a perturbed q or another covering vector"},
    {"dense-limit", PERP_SETTING_INT, offsetof(perpi_pivot_settings, dense_limit), 0, 10000,
     "most unknowns for which the inverse is kept explicitly; above, sparse factors"},
    {"enumerate-limit", PERP_SETTING_INT, offsetof(perpi_pivot_settings, enumerate_limit), 0, 16,
     "most bounded unknowns for which all complementary pieces are tried when the paths fail"},
};

static void pivot_settings_default(void* settings)
{
    *(perpi_pivot_settings*)settings = (perpi_pivot_settings){
        .pivot_tolerance = 1e-8,
        .tie_tolerance = 1e-10,
        .accept_tolerance = 1e-13,
        .refactor_every = 60,
        .attempts = 6,
        .dense_limit = 250,
        .enumerate_limit = 12,
    };
}

static perp_status pivot_create(perp_context* context, const void* settings, void** self)
{
    perpi_pivot* s = NULL;
    const perp_status status = perpi_alloc(context, 1, sizeof *s, &s);
    if (status == PERP_OK) {
        s->context = context;
        s->set = *(const perpi_pivot_settings*)settings;
        *self = s;
    }
    return status;
}

static void pivot_destroy(void* self)
{
    perpi_pivot* s = self;
    if (s == NULL) {
        return;
    }
    perpi_mlcp_scaled_free(s->context, &s->problem);
    perpi_pivot_basis_free(s->context, &s->basis);
    perpi_free(s->context, s->vector);
    perpi_free(s->context, s->index);
    perpi_free(s->context, s->flag);
    perpi_free(s->context, s->enumeration);
    perpi_free(s->context, s);
}

/* Everything a solve of this size can need, so that the next one allocates nothing. */
static perp_status pivot_reserve(perpi_pivot* s, const perp_mlcp* mlcp)
{
    enum { VECTORS = 15 };
    const size_t m = (size_t)mlcp->M.cols;
    perp_status status =
        perpi_grow(s->context, &s->vector, &s->capacity[0], VECTORS * m, sizeof *s->vector);
    if (status == PERP_OK) {
        status = perpi_grow(s->context, &s->index, &s->capacity[1], 2 * m, sizeof *s->index);
    }
    if (status == PERP_OK) {
        status = perpi_grow(s->context, &s->flag, &s->capacity[2], 2 * m, sizeof *s->flag);
    }
    if (status == PERP_OK) {
        status = perpi_pivot_basis_reserve(s->context, &s->basis, mlcp->M.cols,
                                           mlcp->M.start[mlcp->M.cols] + mlcp->M.cols,
                                           mlcp->M.cols <= s->set.dense_limit);
    }
    if (status != PERP_OK) {
        return status;
    }
    double** const part[VECTORS - 1] = {&s->x, &s->x2, &s->d, &s->lo, &s->up, &s->cover, &s->q,
                                        &s->r, &s->r2, &s->h, &s->w,  &s->z,  &s->best,  &s->work};
    for (size_t i = 0; i < VECTORS - 1; ++i) {
        *part[i] = s->vector + i * m; /* work is last and twice as long */
    }
    s->tied = s->index;
    s->partner = s->index + m;
    s->at_upper = s->flag;
    s->wanted = s->flag + m;
    return PERP_OK;
}

/* ---- the end of a path: the point from the original data ------------------------------------------*/

/* w <- M z + q; returns the largest |w_i| over the size of its row, over rows that must vanish. */
static double row_residual(perpi_pivot* s, const double* z)
{
    const perp_sparse* M = &s->mlcp->M;
    const int32_t n = M->cols;
    double *w = s->w, *size = s->work;
    for (int32_t i = 0; i < n; ++i) {
        w[i] = s->mlcp->q[i];
        size[i] = fabs(w[i]);
    }
    for (int32_t j = 0; j < n; ++j) {
        if (z[j] == 0.0) {
            continue;
        }
        for (int32_t e = M->start[j]; e < M->start[j + 1]; ++e) {
            const double t = M->value[e] * z[j];
            w[M->row[e]] += t;
            size[M->row[e]] += fabs(t);
        }
    }
    double worst = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        const double m = fabs(w[i]);
        if (s->basis.where[i] < 0 && m > 0.0 && !(m <= worst * size[i])) {
            worst = m / size[i];
        }
    }
    return worst;
}

/* Checks z and remembers it if it is the best so far. */
static double pivot_keep_if_better(perpi_pivot* s)
{
    const double residual = perp_mlcp_check_residual(s->mlcp, s->z, s->work);
    if (residual < s->best_residual) {
        s->best_residual = residual;
        memcpy(s->best, s->z, (size_t)s->basis.n * sizeof *s->best);
    }
    return residual;
}

/* z of the current basis, refined; returns its residual and keeps the best point. */
static double pivot_polish(perpi_pivot* s)
{
    const perpi_mlcp_scaled* P = &s->problem;
    perpi_pivot_basis* b = &s->basis;
    const int32_t n = b->n;
    memcpy(s->q, P->q, (size_t)n * sizeof *s->q);
    perpi_pivot_values(s);
    for (int32_t j = 0; j < n; ++j) {
        const int32_t p = b->where[n + j];
        s->z[j] = p >= 0 ? P->base[j] + P->sign[j] * P->size * P->column[j] * s->x[p]
                         : perpi_mlcp_scaled_from(P, s->mlcp, j, s->at_upper[j] ? P->U[j] : 0.0);
    }
    double before = INFINITY;
    for (int32_t k = 0; k < REFINEMENTS; ++k) {
        const double worst = row_residual(s, s->z);
        if (!(worst > 2.0 * DBL_EPSILON) || !(worst < 0.5 * before)) {
            break;
        }
        before = worst;
        for (int32_t i = 0; i < n; ++i) {
            s->r[i] = b->where[i] < 0 ? P->sign[i] * P->row[i] * s->w[i] / P->size : 0.0;
        }
        perpi_pivot_basis_solve(b, s->r, s->x);
        for (int32_t j = 0; j < n; ++j) {
            const int32_t p = b->where[n + j];
            if (p >= 0) {
                s->z[j] += P->sign[j] * P->size * P->column[j] * s->x[p];
            }
        }
    }
    for (int32_t j = 0; j < n; ++j) {
        const double raised = s->z[j] < s->mlcp->lower[j] ? s->mlcp->lower[j] : s->z[j];
        s->z[j] = raised > s->mlcp->upper[j] ? s->mlcp->upper[j] : raised;
    }
    double residual = pivot_keep_if_better(s);
    if (residual > s->set.accept_tolerance && residual < INFINITY) {
        perpi_mlcp_scaled_snap(&s->problem, s->z);
        const double snapped = pivot_keep_if_better(s);
        residual = snapped < residual ? snapped : residual;
    }
    return residual;
}

static bool pivot_is_final(const perpi_pivot* s, perpi_path_end end)
{
    return end == PERPI_PATH_TIME || end == PERPI_PATH_CANCELLED || s->status != PERP_OK ||
           s->pivots >= s->limit;
}

static bool is_accepted(const perpi_pivot* s)
{
    return s->best_residual <= s->set.accept_tolerance;
}

/* Whether a point is accurate enough that no restart is needed. */
static bool is_sufficient(const perpi_pivot* s)
{
    return is_accepted(s) || s->best_residual <= 0.01 * s->options->tolerance;
}

/* The basis just reached. A false tie leaves a small violation: the path is then continued from
 * there with a smaller tie tolerance, and the better point is kept. */
static void pivot_finish(perpi_pivot* s, perpi_path_end* end)
{
    const double residual = pivot_polish(s);
    if (residual <= s->set.accept_tolerance || !(residual < INFINITY)) {
        return;
    }
    s->tie = FINE_TIE;
    const perpi_path_end repaired = perpi_pivot_follow(s, 0, s->basis.n + 20);
    s->tie = s->set.tie_tolerance;
    if (repaired == PERPI_PATH_SOLVED) {
        (void)pivot_polish(s);
    } else if (pivot_is_final(s, repaired)) {
        *end = repaired;
    }
}

/* ---- starts ---------------------------------------------------------------------------------------*/

/* A basis with the wanted unknowns in it. A singular one is repaired; where that would need too
 * large a dense inverse, the diagonal of M' is increased slightly, which the refinement of the
 * final point corrects (a proximal point iteration). */
static bool pivot_make_start(perpi_pivot* s)
{
    perpi_mlcp_scaled* P = &s->problem;
    const int32_t n = s->basis.n;
    if (perpi_pivot_start(s, true)) {
        return true;
    }
    if (s->status != PERP_OK || s->regularised) {
        return false;
    }
    if (!s->basis.dense && n <= REPAIR_LIMIT) {
        s->status = perpi_pivot_basis_reserve(s->context, &s->basis, n, P->M_start[n], true);
        return s->status == PERP_OK && perpi_pivot_start(s, true);
    }
    for (int32_t i = 0; i < n; ++i) {
        P->M_value[P->diagonal[i]] += RAISED;
    }
    s->regularised = true;
    return perpi_pivot_start(s, true);
}

static void want_nothing(perpi_pivot* s)
{
    memset(s->wanted, 0, (size_t)s->basis.n * sizeof *s->wanted);
    memset(s->at_upper, 0, (size_t)s->basis.n * sizeof *s->at_upper);
}

/* What an attempt changes: the first nothing; later ones the covering vector, because each has
 * problems on which it takes exponentially many pivots; every second one also perturbs q, against
 * ties. */
static void pivot_vary(perpi_pivot* s, int32_t attempt)
{
    static const double size[] = {1e-7, 1e-9, 1e-5, 1e-8, 1e-6};
    uint64_t state = (uint64_t)attempt;
    const double eps = attempt % 2 == 0 ? 0.0 : size[attempt / 2 % 5];
    for (int32_t i = 0; i < s->basis.n; ++i) {
        s->q[i] = s->problem.q[i] + eps * (0.5 + perpi_pivot_uniform(&state));
    }
}

/* Cold starts until one is accepted; the limit of pivots is for all of them together. */
static void pivot_cold_starts(perpi_pivot* s, perpi_path_end* end)
{
    for (int32_t attempt = 0; attempt < s->set.attempts; ++attempt) {
        want_nothing(s);
        if (!pivot_make_start(s)) {
            *end = PERPI_PATH_BREAKDOWN;
            return;
        }
        pivot_vary(s, attempt);
        *end = perpi_pivot_follow(s, attempt < 2 ? 0 : (uint64_t)attempt, 10 * s->basis.n + 100);
        if (*end == PERPI_PATH_SOLVED) {
            pivot_finish(s, end);
        }
        if (is_sufficient(s) || pivot_is_final(s, *end)) {
            return;
        }
    }
}

/* After a ray: for some classes of M every path from the bounds ends in a ray (bimatrix games: M >=
 * 0 with a zero diagonal). Starts from other bases: all unknowns, then random halves. */
static void pivot_other_bases(perpi_pivot* s, perpi_path_end* end)
{
    uint64_t state = 1;
    const int32_t n = s->basis.n;
    for (int32_t corner = 0; corner < OTHER_CORNERS && n <= OTHER_CORNERS_SIZE; ++corner) {
        want_nothing(s);
        for (int32_t i = 0; i < n; ++i) {
            s->wanted[i] = corner == 0 || perpi_pivot_uniform(&state) < 0.5;
            s->at_upper[i] = s->problem.U[i] < INFINITY && perpi_pivot_uniform(&state) < 0.5;
        }
        if (!pivot_make_start(s)) {
            continue;
        }
        pivot_vary(s, 0);
        perpi_path_end here = perpi_pivot_follow(s, (uint64_t)corner, 4 * n + 20);
        if (here == PERPI_PATH_SOLVED) {
            pivot_finish(s, &here);
        }
        if (pivot_is_final(s, here)) {
            *end = here;
        }
        if (is_sufficient(s) || pivot_is_final(s, here)) {
            return;
        }
    }
}

/* Warm start: tries the guess itself, then the basis that it suggests, then the path from there. */
static void pivot_warm_start(perpi_pivot* s, const double* guess, perpi_path_end* end)
{
    const perpi_mlcp_scaled* P = &s->problem;
    const int32_t n = s->basis.n;
    for (int32_t i = 0; i < n; ++i) {
        const double z = perpi_mlcp_scaled_to(P, i, guess[i]);
        s->at_upper[i] = z >= P->U[i];
        s->wanted[i] = z > 0.0 && !s->at_upper[i];
    }
    if (!pivot_make_start(s)) {
        return;
    }
    if (pivot_polish(s) <= s->set.accept_tolerance) {
        return;
    }
    *end = perpi_pivot_follow(s, 0, n + 20);
    if (*end == PERPI_PATH_SOLVED) {
        pivot_finish(s, end);
    }
}

/* ---- the method -----------------------------------------------------------------------------------*/

static void pivot_describe(perpi_pivot* s, perpi_path_end end, bool none, perp_report* report)
{
    static const perp_outcome outcome[] = {
        [PERPI_PATH_SOLVED] = PERP_OUTCOME_BREAKDOWN,
        [PERPI_PATH_RAY] = PERP_OUTCOME_RAY,
        [PERPI_PATH_LIMIT] = PERP_OUTCOME_MAX_ITER,
        [PERPI_PATH_TIME] = PERP_OUTCOME_TIME_LIMIT,
        [PERPI_PATH_CANCELLED] = PERP_OUTCOME_CANCELLED,
        [PERPI_PATH_BREAKDOWN] = PERP_OUTCOME_BREAKDOWN,
    };
    static const char* const text[] = {
        [PERPI_PATH_SOLVED] = "",
        [PERPI_PATH_RAY] =
            ("the path ends in a ray: M is not of a kind the method always solves, or "
             "there is no solution"),
        [PERPI_PATH_LIMIT] = "pivot limit reached",
        [PERPI_PATH_TIME] = "time limit reached",
        [PERPI_PATH_CANCELLED] = "cancelled",
        [PERPI_PATH_BREAKDOWN] = "a basis became singular to rounding",
    };
    report->iterations = s->pivots;
    report->detail[0] = '\0';
    if (s->best_residual <= s->options->tolerance) {
        report->outcome = PERP_OUTCOME_SOLVED;
    } else if (none) {
        report->outcome = PERP_OUTCOME_NO_SOLUTION;
        snprintf(report->detail, sizeof report->detail,
                 "every complementary piece was tried, none has a point");
    } else {
        report->outcome = outcome[end];
        snprintf(report->detail, sizeof report->detail, "%s", text[end]);
        if (end == PERPI_PATH_SOLVED) {
            snprintf(report->detail, sizeof report->detail,
                     "the final basis leaves a residual of %.1e", s->best_residual);
        }
    }
}

static perp_status pivot_solve(void* self, const perp_mlcp* problem,
                               const perp_solve_options* options, bool warm, double* z,
                               perp_report* report)
{
    perpi_pivot* s = self;
    const int32_t n = problem->M.cols;
    s->status = pivot_reserve(s, problem);
    if (s->status == PERP_OK) {
        s->best_residual = warm ? perp_mlcp_check_residual(problem, z, s->work) : INFINITY;
        if (warm && is_accepted(s)) {
            report->outcome = PERP_OUTCOME_SOLVED;
            report->iterations = 0;
            report->detail[0] = '\0';
            return PERP_OK;
        }
        s->status = perpi_mlcp_scaled_make(s->context, &s->problem, problem);
    }
    if (s->status != PERP_OK) {
        return s->status;
    }
    s->mlcp = problem;
    s->options = options;
    s->clock = perpi_clock_start(options->time_limit);
    s->basis.M = s->problem.M;
    s->basis.h = s->h;
    s->pivots = 0;
    s->limit = options->max_iter > 0 ? options->max_iter : (50 * n > 1000 ? 50 * n : 1000);
    s->tie = s->set.tie_tolerance;
    s->regularised = false;
    perpi_path_end end = PERPI_PATH_SOLVED;
    bool none = false;

    if (warm) {
        memcpy(s->best, z, (size_t)n * sizeof *z);
        pivot_warm_start(s, z, &end);
    }
    if (!is_sufficient(s) && !pivot_is_final(s, end)) {
        pivot_cold_starts(s, &end);
        if (!is_sufficient(s) && end == PERPI_PATH_RAY) {
            pivot_other_bases(s, &end);
        }
        if (!is_sufficient(s) && !pivot_is_final(s, end)) {
            const perpi_path_end last = perpi_pivot_enumerate(s);
            none = last == PERPI_PATH_RAY;
            end = pivot_is_final(s, last) ? last : end;
            if (last == PERPI_PATH_SOLVED) {
                s->best_residual = perp_mlcp_check_residual(problem, s->z, s->work);
                memcpy(s->best, s->z, (size_t)n * sizeof *z);
            }
        }
    }
    if (s->status != PERP_OK) {
        return s->status;
    }
    if (s->best_residual < INFINITY) {
        memcpy(z, s->best, (size_t)n * sizeof *z);
    }
    pivot_describe(s, end, none, report);
    return PERP_OK;
}

const perp_method perpi_method_pivot = {
    .name = "pivot",
    .summary = "Lemke's path with bounds, free unknowns kept in a sparse basis; iterations: pivots",
    .settings_size = sizeof(perpi_pivot_settings),
    .settings = pivot_setting,
    .settings_count = sizeof pivot_setting / sizeof pivot_setting[0],
    .settings_default = pivot_settings_default,
    .create = pivot_create,
    .destroy = pivot_destroy,
    .mlcp = pivot_solve,
};
