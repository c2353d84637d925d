/* src/solve/newton/path.c - Newton on the normal map with a path search, for l <= y <= u perp G(y).
 *
 * Source     D. Ralph, Math. Oper. Res. 19 (1994) 352-389 (path search); S. P. Dirkse, M. C. Ferris,
 *            "The PATH solver", Optim. Methods Softw. 5 (1995) 123-156 (watchdog, pivoting) and
 *            "Crash techniques for large-scale complementarity problems", 1997 (crash)
 * Notation   normal map r(x) = G(p(x)) + x - p(x), p the projection onto the box; a zero gives the
 *            answer y = p(x), G = p(x) - x. Linearised at x_k: M = J(y_k), q = G(y_k) - M y_k.
 *            The Newton path x(t), t in [0, 1]: the linearised normal map equals (1 - t) r(x_k); its
 *            points are the solutions of MLCP(M, q - (1 - t) r(x_k)), x = y - w.
 * Departure  - rows and columns are equilibrated first (newton_box.h); the stopping test is the
 *              residual check.
 *            - the path is not stored pivot by pivot: the search computes the point at t by the
 *              MLCP method `pivot`, warm-started, and so needs only that method's interface.
 *            - an MLCP that pivot cannot solve is made regular, M + eps I, q - eps y_k, with growing
 *              eps: a proximal step. For an affine problem the first linearisation is the problem.
 *            - when the search fails, it is restarted from pseudo-random points of a fixed seed.
 */
#include "solve/newton/path.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "solve/builtin.h"
#include "solve/monitor.h"
#include "solve/newton/newton_ncp.h"
#include "solve/newton/restart.h"
#include "solve/pivoting/pivot.h"

#define INEXACT 1e-6     /* a linearisation whose answer is this good is solved */
#define LINEAR_TOL 1e-13 /* tolerance given to pivot */
#define PROXIMAL_TRIES 5 /* values of eps > 0, each PROXIMAL_GROWTH times the last */
#define PROXIMAL_GROWTH 1e2
#define SHORTEST 1e-5 /* path parameter below which the search gives up */
#define CRASH_SHORTEST 0.05
#define POLISH_FROM 1e-6 /* scaled residual */

const perp_setting perpi_path_setting[PERPI_PATH_SETTINGS] = {
    {"armijo", PERP_SETTING_DOUBLE, offsetof(perpi_path_settings, armijo), 1e-12, 0.49,
     "fraction of the predicted decrease of the residual that a step must bring"},
    {"proximal", PERP_SETTING_DOUBLE, offsetof(perpi_path_settings, proximal), 1e-14, 1.0,
     "smallest diagonal added to the scaled Jacobian when a linearisation cannot be solved"},
    {"crash", PERP_SETTING_INT, offsetof(perpi_path_settings, crash), 0, 1000,
     "most projected Newton steps before the first linearisation"},
    {"watchdog", PERP_SETTING_INT, offsetof(perpi_path_settings, watchdog), 0, 100,
     "full steps that may increase the residual before a return to the best point"},
    {"memory", PERP_SETTING_INT, offsetof(perpi_path_settings, memory), 1, PERPI_PATH_MEMORY,
     "residuals whose largest a step is compared with; 1: monotone"},
    {"restarts", PERP_SETTING_INT, offsetof(perpi_path_settings, restarts), 0, 1000,
     "further starting points when the path search fails"},
    {"start-steps", PERP_SETTING_INT, offsetof(perpi_path_settings, start_steps), 1, 1000000,
     "most linearisations from one starting point"},
};

void perpi_path_settings_default(void* settings)
{
    *(perpi_path_settings*)settings = (perpi_path_settings){
        .armijo = 1e-2,
        .proximal = 1e-8,
        .crash = 10,
        .watchdog = 4,
        .memory = 5,
        .restarts = 6,
        .start_steps = 60,
    };
}

typedef struct path {
    perp_context* context;
    perpi_path_settings set;
    void* pivot;
    perpi_box box;
    perpi_newton_linear linear; /* of the crash */
    double* vector;             /* VECTORS n, then work */
    size_t vector_capacity;
    int32_t* index; /* the linearisation: start n + 1, rows */
    size_t index_capacity;
    double* value;
    size_t value_capacity;
    size_t warm_n, warm_entries; /* size of the largest linearisation given to pivot */
} path;

enum { VECTORS = 21 };

/* ---- the object ----------------------------------------------------------------------------------*/

/* The state of `pivot`, with its default settings. */
static perp_status create_pivot(path* s)
{
    const perp_method* pivot = &perpi_method_pivot;
    void* settings = NULL;
    perp_status status = perpi_alloc(s->context, 1, pivot->settings_size, &settings);
    if (status == PERP_OK) {
        pivot->settings_default(settings);
        status = pivot->create(s->context, settings, &s->pivot);
        perpi_free(s->context, settings);
    }
    return status;
}

perp_status perpi_path_create(perp_context* context, const void* settings, void** self)
{
    path* s = NULL;
    perp_status status = perpi_alloc(context, 1, sizeof *s, &s);
    if (status != PERP_OK) {
        return status;
    }
    s->context = context;
    s->set = *(const perpi_path_settings*)settings;
    status = create_pivot(s);
    if (status != PERP_OK) {
        perpi_free(context, s);
        return status;
    }
    perpi_box_init(&s->box, context);
    perpi_newton_linear_init(&s->linear, context);
    *self = s;
    return PERP_OK;
}

void perpi_path_destroy(void* self)
{
    path* s = self;
    if (s == NULL) {
        return;
    }
    perpi_method_pivot.destroy(s->pivot);
    perpi_box_free(&s->box);
    perpi_newton_linear_free(&s->linear);
    perpi_free(s->context, s->vector);
    perpi_free(s->context, s->index);
    perpi_free(s->context, s->value);
    perpi_free(s->context, s);
}

/* ---- one solve -----------------------------------------------------------------------------------*/

/* A point: x, its projection y, G(y), the normal map r and its norm. */
typedef struct point {
    double *x, *y, *G, *r;
    double size; /* |r|; INFINITY if something is not finite */
} point;

typedef enum path_end {
    END_SOLVED,
    END_STUCK,
    END_LIMIT,
    END_TIME,
    END_CANCELLED,
    END_NO_SOLUTION
} path_end;

typedef struct run {
    path* s;
    perpi_box* box;
    const perp_solve_options* options;
    perpi_clock clock;
    int32_t n, steps, limit, pivots;
    point now, next, checkpoint;
    double *q, *q_t, *answer, *best; /* answer: of the MLCP, in: its guess */
    double *a, *b, *d, *phi;         /* of the crash */
    double* work;                    /* 9 n: the residual check's, the polish's */
    double best_residual;
    double history[PERPI_PATH_MEMORY];
    int32_t history_count, history_next;
    perp_outcome linear_outcome; /* of the last MLCP without eps */
    const double* guess;         /* the caller's z until the first attempt has begun */
    bool warm;
    double* first; /* the guess in the box */
    path_end end;  /* of the last attempt */
} run;

static void copy_point(const run* r, point* to, const point* from)
{
    const size_t bytes = (size_t)r->n * sizeof *to->x;
    memcpy(to->x, from->x, bytes);
    memcpy(to->y, from->y, bytes);
    memcpy(to->G, from->G, bytes);
    memcpy(to->r, from->r, bytes);
    to->size = from->size;
}

static void path_check_residual(run* r, const point* p)
{
    const double residual = perpi_box_residual(r->box, p->y);
    if (residual < r->best_residual) {
        r->best_residual = residual;
        memcpy(r->best, p->y, (size_t)r->n * sizeof *r->best);
    }
    perpi_monitor_log(r->options, r->steps, residual);
}

/* Polishes a point whose residual is nearly zero. p: a point whose residual is known. */
static perp_status path_polish(run* r, const point* p)
{
    if (!(p->size <= POLISH_FROM) || r->best_residual <= r->options->tolerance) {
        return PERP_OK;
    }
    const perp_status status = perpi_box_jacobian(r->box, p->y);
    return status != PERP_OK
               ? status
               : perpi_newton_polish(&r->s->linear, r->box, p->y, p->G, r->options->tolerance,
                                     r->best, &r->best_residual, r->work);
}

/* y, G, r and size of p from its x. */
static perp_status path_evaluate(run* r, point* p)
{
    perpi_box_project(r->box, p->x, p->y);
    const perp_status status = perpi_box_function(r->box, p->y, p->G);
    double sum = 0.0;
    for (int32_t i = 0; i < r->n; ++i) {
        p->r[i] = p->G[i] + (p->x[i] - p->y[i]);
        sum += p->r[i] * p->r[i];
    }
    p->size = isfinite(sum) ? sqrt(sum) : INFINITY;
    return status;
}

/* Sets p from y (in the box): x = y - G where the bound allows that sign of G. */
static perp_status start_at(run* r, point* p, const double* y)
{
    perpi_box_project(r->box, y, p->x);
    perp_status status = perpi_box_function(r->box, p->x, p->G);
    for (int32_t i = 0; i < r->n && status == PERP_OK; ++i) {
        const bool lower = p->x[i] == r->box->l[i] && p->G[i] > 0.0;
        const bool upper = p->x[i] == r->box->u[i] && p->G[i] < 0.0;
        p->x[i] -= lower || upper ? p->G[i] : 0.0;
    }
    return status == PERP_OK ? path_evaluate(r, p) : status;
}

/* Whether the run must end now. */
static bool path_interrupted(run* r, path_end* end)
{
    if (r->best_residual <= r->options->tolerance) {
        *end = END_SOLVED;
    } else if (r->steps >= r->limit) {
        *end = END_LIMIT;
    } else {
        perp_outcome interrupt = perpi_monitor_interrupt(r->options, &r->clock);
        if (interrupt == PERP_OUTCOME_UNSET && r->linear_outcome == PERP_OUTCOME_CANCELLED) {
            interrupt = PERP_OUTCOME_CANCELLED;
        }
        if (interrupt == PERP_OUTCOME_UNSET) {
            return false;
        }
        *end = interrupt == PERP_OUTCOME_TIME_LIMIT ? END_TIME : END_CANCELLED;
    }
    return true;
}

/* ---- crash: a projected Newton method finds a first active set ------------------------------------*/

static perp_status path_crash(run* r, path_end* end)
{
    for (int32_t k = 0; k < r->s->set.crash && !path_interrupted(r, end); ++k) {
        perp_status status = perpi_box_jacobian(r->box, r->now.y);
        if (status != PERP_OK) {
            return status;
        }
        for (int32_t i = 0; i < r->n; ++i) {
            const bool fixed = r->now.x[i] != r->now.y[i] || r->box->l[i] == r->box->u[i];
            r->a[i] = fixed ? 1.0 : 0.0;
            r->b[i] = fixed ? 0.0 : 1.0;
            r->phi[i] = fixed ? 0.0 : -r->now.G[i];
        }
        if (!perpi_newton_linear_solve(&r->s->linear, r->box, r->a, r->b, 0.0, r->phi, r->d) &&
            !perpi_newton_linear_solve(&r->s->linear, r->box, r->a, r->b, r->s->set.proximal,
                                       r->phi, r->d)) {
            return r->s->linear.status;
        }
        bool moved = false;
        for (double t = 1.0; t >= CRASH_SHORTEST && !moved; t *= 0.5) {
            for (int32_t i = 0; i < r->n; ++i) {
                r->phi[i] = r->now.y[i] + t * r->d[i];
            }
            status = start_at(r, &r->next, r->phi);
            if (status != PERP_OK) {
                return status;
            }
            moved = r->next.size <= (1.0 - 0.1 * t) * r->now.size;
        }
        if (!moved) {
            break;
        }
        ++r->steps;
        copy_point(r, &r->now, &r->next);
        path_check_residual(r, &r->now);
        status = path_polish(r, &r->now);
        if (status != PERP_OK || r->best_residual <= r->options->tolerance) {
            return status;
        }
    }
    return PERP_OK;
}

/* ---- the linearisation ----------------------------------------------------------------------------*/

/* M = J + eps I; q = G - M y. */
static void build_linear(run* r, double eps)
{
    const int32_t n = r->n;
    const int32_t *start = r->s->index, *row = start + n + 1;
    memcpy(r->q, r->now.G, (size_t)n * sizeof *r->q);
    for (int32_t j = 0; j < n; ++j) {
        int32_t e = r->box->start[j];
        for (int32_t f = start[j]; f < start[j + 1]; ++f) {
            double M = row[f] == j ? eps : 0.0;
            if (e < r->box->start[j + 1] && r->box->row[e] == row[f]) {
                M += r->box->value[e++];
            }
            r->s->value[f] = M;
            r->q[row[f]] -= M * r->now.y[j];
        }
    }
}

/* The point of the Newton path at t into next.x; false: the MLCP was not solved. */
static perp_status path_point(run* r, double t, bool* solved)
{
    const int32_t n = r->n;
    for (int32_t i = 0; i < n; ++i) {
        r->q_t[i] = r->q[i] - (t < 1.0 ? (1.0 - t) * r->now.r[i] : 0.0);
    }
    const perp_mlcp linear = {
        .M = {n, n, r->s->index, r->s->index + n + 1, r->s->value},
        .q = r->q_t,
        .lower = r->box->l,
        .upper = r->box->u,
    };
    perp_solve_options options = *r->options;
    options.tolerance = LINEAR_TOL;
    options.max_iter = 0;
    options.log = NULL;
    if (r->options->time_limit > 0.0) {
        const double left = r->options->time_limit - perpi_clock_elapsed(&r->clock);
        options.time_limit = left > 1e-6 ? left : 1e-6;
    }
    perp_report report = {0};
    memcpy(r->answer, r->now.y, (size_t)n * sizeof *r->answer);
    perpi_pivot_enumerates(r->s->pivot, r->pivots == 0); /* a linear problem is the first one */
    const perp_status status =
        perpi_method_pivot.mlcp(r->s->pivot, &linear, &options, true, r->answer, &report);
    if (status != PERP_OK) {
        return status;
    }
    r->pivots += report.iterations;
    r->linear_outcome = report.outcome;
    perpi_box_project(r->box, r->answer, r->answer);
    *solved = perp_mlcp_check_residual(&linear, r->answer, r->work) <= INEXACT;
    /* x = y - w with w at active bounds only, so that rounding errors in basic rows are dropped. */
    memcpy(r->work, r->q_t, (size_t)n * sizeof *r->work);
    for (int32_t j = 0; j < n; ++j) {
        for (int32_t e = linear.M.start[j]; e < linear.M.start[j + 1]; ++e) {
            r->work[linear.M.row[e]] += linear.M.value[e] * r->answer[j];
        }
    }
    for (int32_t i = 0; i < n; ++i) {
        const double w = r->work[i];
        const bool out =
            (r->answer[i] == r->box->l[i] && w > 0.0) || (r->answer[i] == r->box->u[i] && w < 0.0);
        r->next.x[i] = r->answer[i] - (out ? w : 0.0);
    }
    return PERP_OK;
}

/* ---- the search -----------------------------------------------------------------------------------*/

static double reference_residual(const run* r)
{
    double largest = r->now.size;
    for (int32_t k = 0; k < r->history_count; ++k) {
        largest = r->history[k] > largest ? r->history[k] : largest;
    }
    return largest;
}

static void remember_residual(run* r, double size)
{
    r->history[r->history_next] = size;
    r->history_next = (r->history_next + 1) % r->s->set.memory;
    r->history_count += r->history_count < r->s->set.memory;
}

/* Linearises at now, with the smallest eps for which pivot finds the end of the path; next: that
 * end. */
static perp_status newton_point(run* r, bool* solved)
{
    double eps = 0.0;
    *solved = false;
    perp_status status = perpi_box_jacobian(r->box, r->now.y);
    for (int32_t k = 0; k <= PROXIMAL_TRIES && status == PERP_OK && !*solved; ++k) {
        build_linear(r, eps);
        status = path_point(r, 1.0, solved);
        if (k == 0 && r->box->form->affine && r->linear_outcome == PERP_OUTCOME_NO_SOLUTION) {
            break;
        }
        if (perpi_clock_expired(&r->clock)) {
            break;
        }
        eps = k == 0 ? r->s->set.proximal : eps * PROXIMAL_GROWTH;
    }
    return status == PERP_OK && *solved ? path_evaluate(r, &r->next) : status;
}

/* Reduces t along the path of the present linearisation until the residual decreases. */
static perp_status path_search(run* r, bool* moved)
{
    const double reference_size = reference_residual(r);
    *moved = false;
    for (double t = 0.5; t >= SHORTEST && !*moved; t *= t > 0.1 ? 0.5 : 0.1) {
        bool solved = false;
        perp_status status = path_point(r, t, &solved);
        if (status == PERP_OK && solved) {
            status = path_evaluate(r, &r->next);
            *moved = r->next.size <= (1.0 - r->s->set.armijo * t) * reference_size;
        }
        if (status != PERP_OK) {
            return status;
        }
        if (perpi_clock_expired(&r->clock)) {
            break;
        }
    }
    return PERP_OK;
}

/* Iterates from `now` until solved or stalled. uphill: full steps since the checkpoint (the best
 * point so far). */
static perp_status path_iterate(run* r, path_end* end)
{
    const int32_t last_step = r->steps + r->s->set.start_steps;
    int32_t uphill = 0;
    r->history_count = r->history_next = 0;
    copy_point(r, &r->checkpoint, &r->now);
    for (;;) {
        if (path_interrupted(r, end)) {
            return PERP_OK;
        }
        if (r->steps >= last_step) {
            *end = END_STUCK;
            return PERP_OK;
        }
        bool solved = false, moved = false;
        perp_status status = newton_point(r, &solved);
        if (status != PERP_OK) {
            return status;
        }
        ++r->steps;
        if (!solved && r->linear_outcome == PERP_OUTCOME_NO_SOLUTION && r->box->form->affine) {
            *end = END_NO_SOLUTION;
            return PERP_OK;
        }
        if (solved) {
            path_check_residual(r, &r->next);
            status = path_polish(r, &r->next);
            if (status != PERP_OK || path_interrupted(r, end)) {
                return status;
            }
            const double size = r->next.size;
            if (size <= (1.0 - r->s->set.armijo) * reference_residual(r)) {
                moved = true;
                uphill = size < r->checkpoint.size ? 0 : uphill + 1;
            } else if (uphill < r->s->set.watchdog && size < INFINITY) {
                moved = true;
                ++uphill;
            }
            moved = moved && uphill <= r->s->set.watchdog;
        }
        if (!moved && uphill > 0) { /* watchdog: return to the best point */
            copy_point(r, &r->now, &r->checkpoint);
            r->history_count = r->history_next = 0;
            uphill = 0;
            status = newton_point(r, &solved);
            if (status != PERP_OK) {
                return status;
            }
        }
        if (!moved && solved) {
            status = path_search(r, &moved);
            if (status != PERP_OK) {
                return status;
            }
            if (moved) {
                path_check_residual(r, &r->next);
            }
        }
        if (!moved) {
            *end = END_STUCK;
            return PERP_OK;
        }
        remember_residual(r, r->now.size);
        copy_point(r, &r->now, &r->next);
        if (r->now.size < r->checkpoint.size) {
            copy_point(r, &r->checkpoint, &r->now);
        }
    }
}

static void path_describe(const run* r, path_end end, int32_t attempts, perp_report* report)
{
    static const perp_outcome outcome[] = {
        [END_SOLVED] = PERP_OUTCOME_SOLVED,       [END_STUCK] = PERP_OUTCOME_BREAKDOWN,
        [END_LIMIT] = PERP_OUTCOME_MAX_ITER,      [END_TIME] = PERP_OUTCOME_TIME_LIMIT,
        [END_CANCELLED] = PERP_OUTCOME_CANCELLED, [END_NO_SOLUTION] = PERP_OUTCOME_NO_SOLUTION,
    };
    report->outcome = outcome[end];
    report->iterations = r->steps;
    report->detail[0] = '\0';
    if (end == END_STUCK) {
        snprintf(report->detail, sizeof report->detail,
                 "the path search failed from each of %d starting points; best residual %.1e",
                 (int)attempts, r->best_residual);
    } else if (end == END_NO_SOLUTION) {
        snprintf(report->detail, sizeof report->detail, "every complementary piece is infeasible");
    }
}

static perp_status path_reserve(path* s, const perpi_box_form* form, const double* z)
{
    const size_t n = (size_t)form->ncp.n, most = form->room + n;
    perp_status status = perpi_box_setup(&s->box, form, z);
    if (status == PERP_OK) {
        status = perpi_newton_linear_reserve(&s->linear, &s->box);
    }
    if (status == PERP_OK) {
        status = perpi_grow(s->context, &s->vector, &s->vector_capacity, (VECTORS + 9) * n,
                            sizeof *s->vector);
    }
    if (status == PERP_OK) {
        status =
            perpi_grow(s->context, &s->index, &s->index_capacity, n + 1 + most, sizeof *s->index);
    }
    if (status == PERP_OK) {
        status = perpi_grow(s->context, &s->value, &s->value_capacity, most, sizeof *s->value);
    }
    return status;
}

/* Solves a first linearisation with a limit of few pivots so that pivot allocates its memory here:
 * otherwise, after a problem that the crash solves, the next one of this size would allocate. */
static perp_status warm_up(run* r)
{
    path* s = r->s;
    const int32_t n = r->n;
    const size_t entries = (size_t)s->index[n];
    if ((size_t)n <= s->warm_n && entries <= s->warm_entries) {
        return PERP_OK;
    }
    memset(r->now.y, 0, (size_t)n * sizeof *r->now.y);
    memset(r->answer, 0, (size_t)n * sizeof *r->answer);
    for (int32_t i = 0; i < n; ++i) {
        r->now.G[i] = -1.0;
    }
    build_linear(r, 0.0);
    const perp_mlcp linear = {
        .M = {n, n, s->index, s->index + n + 1, s->value},
        .q = r->q,
        .lower = r->box->l,
        .upper = r->box->u,
    };
    const perp_solve_options options = {.tolerance = LINEAR_TOL, .max_iter = 1};
    perp_report report = {0};
    const perp_status status =
        perpi_method_pivot.mlcp(s->pivot, &linear, &options, false, r->answer, &report);
    if (status == PERP_OK) {
        s->warm_n = (size_t)n > s->warm_n ? (size_t)n : s->warm_n;
        s->warm_entries = entries > s->warm_entries ? entries : s->warm_entries;
    }
    return status;
}

static void cut_vectors(run* r, double* memory, size_t n)
{
    double** const vector[VECTORS] = {&r->now.x,
                                      &r->now.y,
                                      &r->now.G,
                                      &r->now.r,
                                      &r->next.x,
                                      &r->next.y,
                                      &r->next.G,
                                      &r->next.r,
                                      &r->checkpoint.x,
                                      &r->checkpoint.y,
                                      &r->checkpoint.G,
                                      &r->checkpoint.r,
                                      &r->q,
                                      &r->q_t,
                                      &r->answer,
                                      &r->best,
                                      &r->a,
                                      &r->b,
                                      &r->d,
                                      &r->phi,
                                      &r->first};
    for (size_t i = 0; i < VECTORS; ++i) {
        *vector[i] = memory + i * n;
    }
    r->work = memory + VECTORS * n;
}

/* From the guess, or from a random point of the box. */
static perp_status path_attempt(void* run_of, int32_t attempt, perpi_restart_end* end)
{
    run* r = run_of;
    if (attempt > 0) {
        perpi_box_random(r->box, (uint64_t)attempt, r->answer);
    } else {
        perpi_box_to_y(r->box, r->guess, r->answer);
    }
    perp_status status = start_at(r, &r->now, r->answer);
    r->end = END_STUCK;
    if (status == PERP_OK && r->now.size < INFINITY) {
        path_check_residual(r, &r->now);
        if (!path_interrupted(r, &r->end)) {
            /* A warm start already has an active set, and a random start must not fall back to the
             * old one. */
            status = r->warm || attempt > 0 ? PERP_OK : path_crash(r, &r->end);
            status = status == PERP_OK ? path_iterate(r, &r->end) : status;
        }
    }
    *end = r->end == END_SOLVED  ? PERPI_RESTART_SOLVED
           : r->end == END_STUCK ? PERPI_RESTART_STUCK
                                 : PERPI_RESTART_OVER;
    return status;
}

static perp_status path_solve(path* s, const perpi_box_form* form,
                              const perp_solve_options* options, bool warm, double* z,
                              perp_report* report)
{
    const size_t n = (size_t)form->ncp.n;
    perp_status status = path_reserve(s, form, z);
    if (status != PERP_OK) {
        return status;
    }
    run r = {.s = s,
             .box = &s->box,
             .options = options,
             .clock = perpi_clock_start(options->time_limit),
             .n = form->ncp.n,
             .best_residual = INFINITY,
             .guess = z,
             .warm = warm};
    cut_vectors(&r, s->vector, n);
    r.limit =
        options->max_iter > 0 ? options->max_iter : s->set.start_steps * (s->set.restarts + 1);
    perpi_box_pattern(&s->box, s->index, s->index + n + 1);
    status = warm_up(&r);
    if (status != PERP_OK) {
        return status;
    }
    const perpi_restarts restarts = {.box = &s->box,
                                     .linear = &s->linear,
                                     .tolerance = options->tolerance,
                                     .restarts = s->set.restarts,
                                     .first = r.first,
                                     .best = r.best,
                                     .best_residual = &r.best_residual,
                                     .work = r.work,
                                     .run = &r,
                                     .attempt = path_attempt};
    int32_t attempts = 0;
    status = perpi_newton_restarts(&restarts, z, &attempts);
    if (status == PERP_OK) {
        path_describe(&r, r.end, attempts, report);
    }
    return status;
}

perp_status perpi_path_solve_mlcp(void* self, const perp_mlcp* problem,
                                  const perp_solve_options* options, bool warm, double* z,
                                  perp_report* report)
{
    perpi_box_form form;
    perpi_box_from_mlcp(problem, &form);
    return path_solve(self, &form, options, warm, z, report);
}

perp_status perpi_path_solve_ncp(void* self, const perp_ncp* problem,
                                 const perp_solve_options* options, bool warm, double* z,
                                 perp_report* report)
{
    perpi_box_form form;
    perpi_box_from_ncp(problem, &form);
    return path_solve(self, &form, options, warm, z, report);
}

const perp_method perpi_method_path = {
    .name = "path",
    .summary = "Newton on the normal map, linearisations by pivot; iterations: Newton steps",
    .settings_size = sizeof(perpi_path_settings),
    .settings = perpi_path_setting,
    .settings_count = PERPI_PATH_SETTINGS,
    .settings_default = perpi_path_settings_default,
    .create = perpi_path_create,
    .destroy = perpi_path_destroy,
    .mlcp = perpi_path_solve_mlcp,
    .ncp = perpi_path_solve_ncp,
};
