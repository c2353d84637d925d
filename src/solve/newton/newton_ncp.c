/* src/solve/newton/newton_ncp.c - semismooth Newton for l <= y <= u perp G(y).
 *
 * Source     T. De Luca, F. Facchinei, C. Kanzow, Math. Prog. 75 (1996) 407-439 (Newton, gradient
 *            fallback, element at degenerate rows); S. C. Billups, thesis, Wisconsin 1995 (boxes);
 *            B. Chen, X. Chen, C. Kanzow, Math. Prog. 88 (2000) 211-216 (penalised function);
 *            L. Grippo, F. Lampariello, S. Lucidi, SINUM 23 (1986) 707-716 (non-monotone search);
 *            J.-S. Pang, Math. Prog. 51 (1991) 101-131 (min map)
 * Notation   phi(a, b) = (1 - p)(a + b - |(a, b)|) + p a+ b+, zero iff 0 <= a perp b >= 0; p penalty
 *            Phi_i = phi(y - l, G)                    lower bound only
 *                    -phi(u - y, -G)                  upper bound only
 *                    phi(y - l, -phi(u - y, -G))      both, the inner one with p = 0
 *                    G                                free
 *            H = diag(a) + diag(b) J in the generalised Jacobian of Phi; merit |Phi|^2 / 2
 * Departure  - rows and columns are equilibrated first (newton_box.h); the stopping test is the
 *              residual check.
 *            - where the Newton step fails, the Newton step of the regularised problem G + eps (y -
 *              y_k) and a Levenberg-Marquardt step are tried before the gradient.
 *            - minmap-newton takes its direction from the min map, everything else from Phi.
 *            - close to the solution plain min-map steps are tried on a copy ("polish"): one step
 *              suffices where the active set is right, whatever the rank of the rest.
 *            - after a stall it is restarted from pseudo-random points of a fixed seed.
 */
#include "solve/newton/newton_ncp.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "solve/builtin.h"
#include "solve/monitor.h"
#include "solve/newton/restart.h"

#define DESCENT 1e-10     /* a direction must have -g.d >= this |g| |d| */
#define SHORTEST 1e-10    /* shorter steps count as zero */
#define POLISH_FROM 1e-2  /* largest entry of the min map at which the active set may be right */
#define SINGULAR_SKIP 3   /* after a singular Jacobian the next is usually singular, too */
#define OTHER_PENALTY 0.1 /* of the attempts in between, if the setting is 0 */
#define OTHER_MEMORY 8    /* likewise, if it is 1 */
#define STUCK_STEPS 25    /* steps over which the best merit must fall ... */
#define STUCK_RATIO 0.9   /* ... to this fraction */

const perp_setting perpi_newton_setting[PERPI_NEWTON_SETTINGS] = {
    {"penalty", PERP_SETTING_DOUBLE, offsetof(perpi_newton_settings, penalty), 0.0, 0.5,
     "weight of the product of the positive parts beside the Fischer-Burmeister function"},
    {"armijo", PERP_SETTING_DOUBLE, offsetof(perpi_newton_settings, armijo), 1e-12, 0.49,
     "fraction of the predicted decrease of the merit that a step must bring"},
    {"regularise", PERP_SETTING_DOUBLE, offsetof(perpi_newton_settings, regularise), 1e-14, 1.0,
     "smallest diagonal added to a singular scaled Jacobian"},
    {"memory", PERP_SETTING_INT, offsetof(perpi_newton_settings, memory), 1, PERPI_NEWTON_MEMORY,
     "merit values whose largest a step is compared with; 1: monotone"},
    {"restarts", PERP_SETTING_INT, offsetof(perpi_newton_settings, restarts), 0, 1000,
     "further starting points when the merit no longer decreases"},
    {"start-steps", PERP_SETTING_INT, offsetof(perpi_newton_settings, start_steps), 1, 1000000,
     "most steps from one starting point"},
};

void perpi_fischer_settings_default(void* settings)
{
    *(perpi_newton_settings*)settings = (perpi_newton_settings){
        .penalty = 0.1,
        .armijo = 1e-4,
        .regularise = 1e-13,
        .memory = 8,
        .restarts = 8,
        .start_steps = 150,
    };
}

void perpi_minmap_settings_default(void* settings)
{
    perpi_fischer_settings_default(settings);
    ((perpi_newton_settings*)settings)->penalty = 0.0;
    ((perpi_newton_settings*)settings)->memory = 1;
}

/* ---- the functions -------------------------------------------------------------------------------*/

static double fb(double a, double b)
{
    const double sum = a + b, r = sqrt(a * a + b * b);
    return sum > 0.0 ? 2.0 * a * (b / (sum + r)) : sum - r; /* no cancellation on either side */
}

static double phi(double penalty, double a, double b)
{
    const double plus = a > 0.0 && b > 0.0 ? a * b : 0.0;
    return (1.0 - penalty) * fb(a, b) + penalty * plus;
}

/* The gradient of phi at (a, b); at the origin of the limit along (x_a, x_b). */
static void phi_gradient(double penalty, double a, double b, double x_a, double x_b, double* g_a,
                         double* g_b)
{
    double r = sqrt(a * a + b * b);
    if (!(r > 0.0)) {
        a = x_a;
        b = x_b;
        r = sqrt(a * a + b * b);
        penalty = 0.0;
    }
    *g_a = (1.0 - penalty) * (1.0 - a / r);
    *g_b = (1.0 - penalty) * (1.0 - b / r);
    if (penalty > 0.0 && a > 0.0 && b > 0.0) {
        *g_a += penalty * b;
        *g_b += penalty * a;
    }
}

typedef enum bound_kind {
    BOUND_FREE,
    BOUND_LOWER,
    BOUND_UPPER,
    BOUND_BOTH,
    BOUND_FIXED
} bound_kind;

static bound_kind kind_of(const perpi_box* box, int32_t i)
{
    const bool l = box->l[i] > -INFINITY, u = box->u[i] < INFINITY;
    if (l && u) {
        return box->l[i] < box->u[i] ? BOUND_BOTH : BOUND_FIXED;
    }
    return l ? BOUND_LOWER : u ? BOUND_UPPER : BOUND_FREE;
}

double perpi_fischer(const perpi_box* box, double penalty, const double* y, const double* G,
                     double* Phi)
{
    double sum = 0.0;
    for (int32_t i = 0; i < box->n; ++i) {
        switch (kind_of(box, i)) {
        case BOUND_FREE: Phi[i] = G[i]; break;
        case BOUND_LOWER: Phi[i] = phi(penalty, y[i] - box->l[i], G[i]); break;
        case BOUND_UPPER: Phi[i] = -phi(penalty, box->u[i] - y[i], -G[i]); break;
        case BOUND_BOTH:
            Phi[i] = phi(penalty, y[i] - box->l[i], -fb(box->u[i] - y[i], -G[i]));
            break;
        case BOUND_FIXED: Phi[i] = y[i] - box->l[i]; break;
        }
        sum += Phi[i] * Phi[i];
    }
    return isfinite(sum) ? 0.5 * sum : INFINITY;
}

bool perpi_fischer_degenerate(const perpi_box* box, const double* y, const double* G, double* x)
{
    bool any = false;
    for (int32_t i = 0; i < box->n; ++i) {
        const bool zero = G[i] == 0.0;
        x[i] = zero && y[i] == box->l[i] ? 1.0 : zero && y[i] == box->u[i] ? -1.0 : 0.0;
        any = any || x[i] != 0.0;
    }
    return any;
}

void perpi_fischer_element(const perpi_box* box, double penalty, const double* y, const double* G,
                           const double* Jx, double* a, double* b)
{
    for (int32_t i = 0; i < box->n; ++i) {
        double inner_a, inner_b;
        a[i] = 0.0;
        b[i] = 1.0;
        switch (kind_of(box, i)) {
        case BOUND_FREE: break;
        case BOUND_LOWER:
            phi_gradient(penalty, y[i] - box->l[i], G[i], 1.0, Jx[i], &a[i], &b[i]);
            break;
        case BOUND_UPPER:
            phi_gradient(penalty, box->u[i] - y[i], -G[i], 1.0, -Jx[i], &a[i], &b[i]);
            break;
        case BOUND_BOTH:
            phi_gradient(0.0, box->u[i] - y[i], -G[i], 1.0, -Jx[i], &inner_a, &inner_b);
            phi_gradient(penalty, y[i] - box->l[i], -fb(box->u[i] - y[i], -G[i]), 1.0, Jx[i], &a[i],
                         &b[i]);
            a[i] += b[i] * inner_a;
            b[i] *= inner_b;
            break;
        case BOUND_FIXED:
            a[i] = 1.0;
            b[i] = 0.0;
            break;
        }
    }
}

/* ---- the object ----------------------------------------------------------------------------------*/

struct perpi_newton {
    perp_context* context;
    perpi_newton_kind kind;
    perpi_newton_settings set;
    perpi_box_store store;
    perpi_box box;
    perpi_newton_linear linear;
    double* memory; /* 25 n */
    size_t memory_capacity;
};

static perp_status newton_ncp_create(perp_context* context, const void* settings,
                                     perpi_newton_kind kind, void** self)
{
    perpi_newton* s = NULL;
    const perp_status status = perpi_alloc(context, 1, sizeof *s, &s);
    if (status != PERP_OK) {
        return status;
    }
    s->context = context;
    s->kind = kind;
    s->set = *(const perpi_newton_settings*)settings;
    perpi_box_store_init(&s->store, context);
    perpi_box_init(&s->box, context);
    perpi_newton_linear_init(&s->linear, context);
    *self = s;
    return PERP_OK;
}

perp_status perpi_fischer_create(perp_context* context, const void* settings, void** self)
{
    return newton_ncp_create(context, settings, PERPI_NEWTON_FISCHER, self);
}

perp_status perpi_minmap_create(perp_context* context, const void* settings, void** self)
{
    return newton_ncp_create(context, settings, PERPI_NEWTON_MINMAP, self);
}

void perpi_newton_destroy(void* self)
{
    perpi_newton* s = self;
    if (s == NULL) {
        return;
    }
    perpi_box_store_free(&s->store);
    perpi_box_free(&s->box);
    perpi_newton_linear_free(&s->linear);
    perpi_free(s->context, s->memory);
    perpi_free(s->context, s);
}

/* ---- one solve -----------------------------------------------------------------------------------*/

typedef enum newton_end {
    END_SOLVED,
    END_STUCK,
    END_LIMIT,
    END_TIME,
    END_CANCELLED,
    END_NOT_FINITE
} newton_end;

typedef struct run {
    perpi_newton* s;
    perpi_box* box;
    const perp_solve_options* options;
    perpi_clock clock;
    int32_t n, steps, limit;
    double *y, *G, *Phi, *a, *b, *g, *d;   /* the iterate, its Phi, H, gradient H'Phi, direction */
    double *y_try, *G_try, *Phi_try;       /* a trial point */
    double *m_a, *m_b, *m_Phi;             /* the min map's */
    double *best, *x;                      /* the point of the smallest residual; scratch */
    double* polish_work;                   /* 9 n */
    double merit, best_residual, residual; /* residual: of y */
    double penalty;                        /* of this attempt, as is the memory */
    int32_t memory;
    double history[PERPI_NEWTON_MEMORY];
    int32_t history_count;
    int32_t skip;   /* steps for which the unregularised system is assumed singular */
    double* first;  /* the guess */
    newton_end end; /* of the last attempt */
} run;

static double dot(int32_t n, const double* a, const double* b)
{
    double sum = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        sum += a[i] * b[i];
    }
    return sum;
}

static void newton_ncp_check_residual(run* r, const double* y)
{
    r->residual = perpi_box_residual(r->box, y);
    if (r->residual < r->best_residual) {
        r->best_residual = r->residual;
        memcpy(r->best, y, (size_t)r->n * sizeof *r->best);
    }
}

/* H and the gradient at y; the Jacobian there is in the box. */
static void linearise(run* r)
{
    memset(r->m_a, 0, (size_t)r->n * sizeof *r->m_a);
    if (perpi_fischer_degenerate(r->box, r->y, r->G, r->x)) {
        perpi_box_multiply_add(r->box, r->x, r->m_a);
    }
    perpi_fischer_element(r->box, r->penalty, r->y, r->G, r->m_a, r->a, r->b);
    for (int32_t i = 0; i < r->n; ++i) {
        r->x[i] = r->b[i] * r->Phi[i];
        r->g[i] = r->a[i] * r->Phi[i];
    }
    perpi_box_multiply_transposed_add(r->box, r->x, r->g);
}

/* Whether d is a descent direction, steep enough for its length. */
static bool descends(const run* r)
{
    const double slope = dot(r->n, r->g, r->d);
    const double size = sqrt(dot(r->n, r->g, r->g)) * sqrt(dot(r->n, r->d, r->d));
    return slope < 0.0 && -slope >= DESCENT * size;
}

/* d from H or the min map with eps on the diagonal of J. */
static bool newton_direction(run* r, double eps)
{
    const double *a = r->a, *b = r->b, *Phi = r->Phi;
    if (r->s->kind == PERPI_NEWTON_MINMAP) {
        perpi_minmap_element(r->box, r->y, r->G, r->m_Phi, r->m_a, r->m_b);
        a = r->m_a;
        b = r->m_b;
        Phi = r->m_Phi;
    }
    for (int32_t i = 0; i < r->n; ++i) {
        r->x[i] = -Phi[i];
    }
    return perpi_newton_linear_solve(&r->s->linear, r->box, a, b, eps, r->x, r->d) && descends(r);
}

static void gradient_direction(run* r)
{
    /* The Cauchy step: to the minimum of the linearised merit along -g. */
    memset(r->x, 0, (size_t)r->n * sizeof *r->x);
    perpi_box_multiply_add(r->box, r->g, r->x);
    double Hg = 0.0;
    for (int32_t i = 0; i < r->n; ++i) {
        const double h = r->a[i] * r->g[i] + r->b[i] * r->x[i];
        Hg += h * h;
    }
    const double t = Hg > 0.0 ? dot(r->n, r->g, r->g) / Hg : 1.0;
    for (int32_t i = 0; i < r->n; ++i) {
        r->d[i] = -t * r->g[i];
    }
}

typedef enum direction_rank {
    DIRECTION_NEWTON,
    DIRECTION_REGULAR,
    DIRECTION_DAMPED,
    DIRECTION_GRADIENT,
    DIRECTION_NONE
} direction_rank;

/* The first direction from `rank` on that descends. */
static direction_rank choose_direction(run* r, direction_rank rank)
{
    if (rank <= DIRECTION_NEWTON && r->skip-- <= 0) {
        if (newton_direction(r, 0.0)) {
            return DIRECTION_NEWTON;
        }
        r->skip = SINGULAR_SKIP;
    }
    if (rank <= DIRECTION_REGULAR) {
        const double least = r->s->set.regularise, wish = 1e-2 * sqrt(2.0 * r->merit);
        double eps = wish < least ? least : wish < 1e-2 ? wish : 1e-2;
        for (int32_t t = 0; t < 3; ++t, eps *= 30.0) {
            if (newton_direction(r, eps)) {
                return DIRECTION_REGULAR;
            }
        }
    }
    if (rank <= DIRECTION_DAMPED) {
        const double mu = sqrt(2.0 * r->merit);
        for (int32_t i = 0; i < r->n; ++i) {
            r->x[i] = -r->g[i];
        }
        if (perpi_newton_linear_damped(&r->s->linear, r->box, r->a, r->b, mu < 1e-2 ? mu : 1e-2,
                                       r->x, r->d) &&
            descends(r)) {
            return DIRECTION_DAMPED;
        }
    }
    if (rank <= DIRECTION_GRADIENT) {
        gradient_direction(r);
        return descends(r) ? DIRECTION_GRADIENT : DIRECTION_NONE;
    }
    return DIRECTION_NONE;
}

/* Armijo along d against the largest merit remembered. *moved: whether a step was taken. */
static perp_status line_search(run* r, double shortest, bool* moved)
{
    double reference = r->merit;
    for (int32_t k = 0; k < r->history_count && r->memory > 1; ++k) {
        reference = r->history[k] > reference ? r->history[k] : reference;
    }
    const double slope = dot(r->n, r->g, r->d);
    *moved = false;
    for (double t = 1.0; t >= shortest; t *= 0.5) {
        for (int32_t i = 0; i < r->n; ++i) {
            r->y_try[i] = r->y[i] + t * r->d[i];
        }
        const perp_status status = perpi_box_function(r->box, r->y_try, r->G_try);
        if (status != PERP_OK) {
            return status;
        }
        const double merit = perpi_fischer(r->box, r->penalty, r->y_try, r->G_try, r->Phi_try);
        if (merit <= reference + r->s->set.armijo * t * slope) {
            const size_t bytes = (size_t)r->n * sizeof *r->y;
            memcpy(r->y, r->y_try, bytes);
            memcpy(r->G, r->G_try, bytes);
            memcpy(r->Phi, r->Phi_try, bytes);
            r->history[r->steps % r->memory] = r->merit;
            r->history_count += r->history_count < r->memory;
            r->merit = merit;
            *moved = true;
            return PERP_OK;
        }
    }
    return PERP_OK;
}

/* Whether the iteration must end here, and how. */
static bool must_end(const run* r, bool stuck, newton_end* end)
{
    if (r->best_residual <= r->options->tolerance) {
        *end = END_SOLVED;
    } else if (r->steps >= r->limit) {
        *end = END_LIMIT;
    } else if (stuck) {
        *end = END_STUCK;
    } else {
        const perp_outcome interrupt = perpi_monitor_interrupt(r->options, &r->clock);
        if (interrupt == PERP_OUTCOME_UNSET) {
            return false;
        }
        *end = interrupt == PERP_OUTCOME_TIME_LIMIT ? END_TIME : END_CANCELLED;
    }
    return true;
}

/* Iterates from r->y until solved or stalled. */
static perp_status newton_ncp_iterate(run* r, newton_end* end)
{
    const int32_t last_step = r->steps + r->s->set.start_steps;
    double record = INFINITY, polished = INFINITY;
    int32_t record_step = r->steps;
    r->history_count = 0;
    r->skip = 0;
    perp_status status = perpi_box_function(r->box, r->y, r->G);
    if (status != PERP_OK) {
        return status;
    }
    r->merit = perpi_fischer(r->box, r->penalty, r->y, r->G, r->Phi);
    if (!(r->merit < INFINITY)) {
        *end = END_NOT_FINITE;
        return PERP_OK;
    }
    for (;;) {
        newton_ncp_check_residual(r, r->y);
        perpi_monitor_log(r->options, r->steps, r->residual);
        if (r->merit <= STUCK_RATIO * record) {
            record = r->merit;
            record_step = r->steps;
        }
        if (must_end(r, r->steps - record_step >= STUCK_STEPS || r->steps >= last_step, end)) {
            return PERP_OK;
        }
        status = perpi_box_jacobian(r->box, r->y);
        perpi_minmap_element(r->box, r->y, r->G, r->m_Phi, r->m_a, r->m_b);
        const double natural = perpi_largest_of(r->n, r->m_Phi);
        if (status == PERP_OK && natural <= POLISH_FROM && natural <= 0.5 * polished) {
            polished = natural;
            status = perpi_newton_polish(&r->s->linear, r->box, r->y, r->G, r->options->tolerance,
                                         r->best, &r->best_residual, r->polish_work);
            status = status == PERP_OK ? perpi_box_jacobian(r->box, r->y) : status;
            if (status == PERP_OK && r->best_residual <= r->options->tolerance) {
                *end = END_SOLVED;
                return PERP_OK;
            }
        }
        if (status != PERP_OK) {
            return status;
        }
        linearise(r);
        bool moved = false;
        direction_rank rank = DIRECTION_NEWTON;
        while (!moved && (rank = choose_direction(r, rank)) != DIRECTION_NONE) {
            status = line_search(r, rank < DIRECTION_GRADIENT ? 1e-4 : SHORTEST, &moved);
            if (status != PERP_OK) {
                return status;
            }
            rank = (direction_rank)(rank + 1);
        }
        ++r->steps;
        if (!moved && r->s->linear.status != PERP_OK) {
            return r->s->linear.status;
        }
        if (!moved) {
            *end = END_STUCK;
            return PERP_OK;
        }
    }
}

/* What an attempt changes: the second, the merit function and the line search; later ones also the
 * starting point: in the box, at random distances from its bounds, every second one near the best
 * point so far. */
static void newton_ncp_vary(run* r, int32_t attempt)
{
    const perpi_newton_settings* set = &r->s->set;
    const bool other = attempt % 2 != 0;
    r->penalty = !other ? set->penalty : set->penalty > 0.0 ? 0.0 : OTHER_PENALTY;
    r->memory = !other ? set->memory : set->memory > 1 ? 1 : OTHER_MEMORY;
    if (attempt < 2) {
        memcpy(r->y, r->first, (size_t)r->n * sizeof *r->y);
        return;
    }
    perpi_box_random(r->box, (uint64_t)attempt, r->y);
    for (int32_t i = 0; i < r->n && attempt / 2 % 2 == 0; ++i) {
        r->y[i] = r->best[i] + 0.25 * r->y[i];
    }
    perpi_box_project(r->box, r->y, r->y);
}

static perp_status newton_attempt(void* run_of, int32_t attempt, perpi_restart_end* end)
{
    run* r = run_of;
    newton_ncp_vary(r, attempt);
    const perp_status status = newton_ncp_iterate(r, &r->end);
    *end = r->end == END_SOLVED                              ? PERPI_RESTART_SOLVED
           : r->end == END_STUCK || r->end == END_NOT_FINITE ? PERPI_RESTART_STUCK
                                                             : PERPI_RESTART_OVER;
    return status;
}

static void newton_ncp_describe(const run* r, newton_end end, int32_t attempts, perp_report* report)
{
    static const perp_outcome outcome[] = {
        [END_SOLVED] = PERP_OUTCOME_SOLVED,       [END_STUCK] = PERP_OUTCOME_BREAKDOWN,
        [END_LIMIT] = PERP_OUTCOME_MAX_ITER,      [END_TIME] = PERP_OUTCOME_TIME_LIMIT,
        [END_CANCELLED] = PERP_OUTCOME_CANCELLED, [END_NOT_FINITE] = PERP_OUTCOME_BREAKDOWN,
    };
    report->outcome = outcome[end];
    report->iterations = r->steps;
    report->detail[0] = '\0';
    if (end == END_STUCK) {
        snprintf(report->detail, sizeof report->detail,
                 "the merit has a local minimum at each of %d starting points; best residual %.1e",
                 (int)attempts, r->best_residual);
    } else if (end == END_NOT_FINITE) {
        snprintf(report->detail, sizeof report->detail,
                 "the function is not finite at the starting point");
    }
}

static perp_status newton_ncp_solve(perpi_newton* s, const perpi_box_form* form,
                                    const perp_solve_options* options, double* z,
                                    perp_report* report)
{
    const size_t n = (size_t)form->ncp.n;
    perp_status status = perpi_box_setup(&s->box, form, z);
    if (status == PERP_OK) {
        status = perpi_newton_linear_reserve(&s->linear, &s->box);
    }
    if (status == PERP_OK) {
        status = perpi_grow(s->context, &s->memory, &s->memory_capacity, 25 * n, sizeof *s->memory);
    }
    if (status != PERP_OK) {
        return status;
    }
    run r = {.s = s,
             .box = &s->box,
             .options = options,
             .clock = perpi_clock_start(options->time_limit),
             .n = form->ncp.n,
             .best_residual = INFINITY};
    double** const vector[] = {&r.y,     &r.G,     &r.Phi,   &r.a,       &r.b,   &r.g,
                               &r.d,     &r.y_try, &r.G_try, &r.Phi_try, &r.m_a, &r.m_b,
                               &r.m_Phi, &r.best,  &r.x,     &r.first};
    for (size_t i = 0; i < sizeof vector / sizeof vector[0]; ++i) {
        *vector[i] = s->memory + i * n;
    }
    r.polish_work = s->memory + 16 * n;
    const int32_t every = s->set.start_steps * (s->set.restarts + 1);
    r.limit = options->max_iter > 0 ? options->max_iter : every;
    const perpi_restarts restarts = {.box = &s->box,
                                     .linear = &s->linear,
                                     .tolerance = options->tolerance,
                                     .restarts = s->set.restarts,
                                     .first = r.first,
                                     .best = r.best,
                                     .best_residual = &r.best_residual,
                                     .work = r.polish_work,
                                     .run = &r,
                                     .attempt = newton_attempt};
    int32_t attempts = 0;
    status = perpi_newton_restarts(&restarts, z, &attempts);
    if (status == PERP_OK) {
        newton_ncp_describe(&r, r.end, attempts, report);
    }
    return status;
}

perp_status perpi_newton_solve_lcp(void* self, const perp_lcp* problem,
                                   const perp_solve_options* options, bool warm, double* z,
                                   perp_report* report)
{
    (void)warm;
    perpi_newton* s = self;
    perpi_box_form form;
    const perp_status status = perpi_box_from_lcp(&s->store, problem, &form);
    return status == PERP_OK ? newton_ncp_solve(s, &form, options, z, report) : status;
}

perp_status perpi_newton_solve_mlcp(void* self, const perp_mlcp* problem,
                                    const perp_solve_options* options, bool warm, double* z,
                                    perp_report* report)
{
    (void)warm;
    perpi_box_form form;
    perpi_box_from_mlcp(problem, &form);
    return newton_ncp_solve(self, &form, options, z, report);
}

perp_status perpi_newton_solve_ncp(void* self, const perp_ncp* problem,
                                   const perp_solve_options* options, bool warm, double* z,
                                   perp_report* report)
{
    (void)warm;
    perpi_box_form form;
    perpi_box_from_ncp(problem, &form);
    return newton_ncp_solve(self, &form, options, z, report);
}

const perp_method perpi_method_fischer_newton = {
    .name = "fischer-newton",
    .summary =
        "semismooth Newton on the penalised Fischer-Burmeister function; iterations: Newton steps",
    .settings_size = sizeof(perpi_newton_settings),
    .settings = perpi_newton_setting,
    .settings_count = PERPI_NEWTON_SETTINGS,
    .settings_default = perpi_fischer_settings_default,
    .create = perpi_fischer_create,
    .destroy = perpi_newton_destroy,
    .lcp = perpi_newton_solve_lcp,
    .mlcp = perpi_newton_solve_mlcp,
    .ncp = perpi_newton_solve_ncp,
};

const perp_method perpi_method_minmap_newton = {
    .name = "minmap-newton",
    .summary =
        "Newton on the min map (active sets), Fischer-Burmeister merit; iterations: Newton steps",
    .settings_size = sizeof(perpi_newton_settings),
    .settings = perpi_newton_setting,
    .settings_count = PERPI_NEWTON_SETTINGS,
    .settings_default = perpi_minmap_settings_default,
    .create = perpi_minmap_create,
    .destroy = perpi_newton_destroy,
    .lcp = perpi_newton_solve_lcp,
    .mlcp = perpi_newton_solve_mlcp,
    .ncp = perpi_newton_solve_ncp,
};
