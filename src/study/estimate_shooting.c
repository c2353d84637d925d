/* src/study/estimate_shooting.c - Levenberg and Marquardt's method on simulations.
 *
 * Minimises the sum of losses of all residuals, priors included, over the parameters (between bounds) and the start
 * coordinates of each trajectory. The matrix of a step has the form of an arrow: start coordinates of one trajectory meet only
 * themselves and the parameters, so they are eliminated trajectory by trajectory (Schur complement), and the cost is linear in the
 * trajectories. A parameter at a bound that the gradient presses against it is kept there for the step.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "study/estimate_evaluate.h"

#define FIRST_DAMPING 1e-4
/* Not less: directions of which the data say nothing must not run away by rounding. */
#define LEAST_DAMPING 1e-10
/* The longest step of a parameter, in its sizes. */
#define LONGEST 3.0
#define MOST_DAMPING 1e12
/* Damping up to which a step counts as one of Gauss and Newton's method. */
#define SMALL_DAMPING 1e-2
/* A reduction below this part of the cost is rounding. */
#define ROUNDING 1e-13
/* Pivots below this part of their diagonal are 0: the data say nothing of that direction. */
#define PIVOT 1e-13
/* So many steps in a row that reduce the cost by less than the tolerance, relatively, end the search: where residuals have kinks
 * (a bounce more or less) there is always a shorter step. */
#define SLOW_STEPS 5
/* Values that are tried of a parameter without influence. */
#define PLATEAU_POINTS 8
/* Residuals so many times the noise at the end: a search from the best of so many points between the bounds. */
#define LOST 5.0
#define OTHER_POINTS 32
/* Weights of gaps between segments, in units that are about the noise. */
#define FIRST_WEIGHT 1e-6
#define LAST_WEIGHT 1e8
#define JOIN_WEIGHT 1e2
#define WEIGHT_FACTOR 100.0
/* A gap that counts as none, in units. */
#define NO_GAP 1e-3
/* Residuals larger than the noise explains, by so many standard deviations of their sum of squares, widen intervals. */
#define EXCESS 5.0
/* Estimated noise: rounds, and the relative change that ends them. */
#define NOISE_ROUNDS 30
#define NOISE_CHANGE 1e-3
/* The least noise, as a part of the largest value of a channel. */
#define NOISE_LEAST 1e-10
#define EXACT 1e-3 /* residuals, in parts of the noise */
/* Runs with adaptive steps have errors that jump from run to run: where no step reduces the cost, and none promised to reduce
 * it by more than this part of the number of values, that is the end. */
#define ADAPTIVE 1e-2

typedef struct shooting {
    perpi_estimate_run* run;
    perp_context* context;
    perpi_estimate* e;
    perpi_evaluator* ev;
    perpi_answer* answer;
    int32_t n, m, N; /* parameters, own unknowns of a trajectory, both */
    double damping;
    double *A, *b;           /* reduced system */
    double *step, *moved;    /* of the parameters; count x m of the starts behind them */
    double *factor, *solved; /* of one trajectory: m x m, m x (n + 1) */
    double* row;             /* N */
    bool* fixed;             /* parameters kept for the step */
    bool hold;               /* the starts are kept */
    bool tried;              /* a search is over */
    bool adaptive;           /* steps */
    double *kept_parameter, *kept_start;
    perp_body_state* kept_node;
    double cost, merit; /* at the point */
    int slow;           /* successive steps that hardly reduced the cost */
    bool cancelled;
} shooting;

/* ---- small dense algebra ------------------------------------------------------------------------*/

/* L L' of a symmetric positive semidefinite matrix, in its lower part; columns without a pivot are 0. */
static void factor_semidefinite(int32_t n, double* A)
{
    for (int32_t k = 0; k < n; ++k) {
        const double before = A[k * n + k];
        double pivot = before;
        for (int32_t j = 0; j < k; ++j) {
            pivot -= A[k * n + j] * A[k * n + j];
        }
        const bool usable = pivot > PIVOT * before && pivot > 0.0;
        const double root = usable ? sqrt(pivot) : 0.0;
        A[k * n + k] = root;
        for (int32_t i = k + 1; i < n; ++i) {
            double x = A[i * n + k];
            for (int32_t j = 0; j < k; ++j) {
                x -= A[i * n + j] * A[k * n + j];
            }
            A[i * n + k] = usable ? x / root : 0.0;
        }
    }
}

static void solve_lower(int32_t n, const double* L, double* x, int32_t stride)
{
    for (int32_t i = 0; i < n; ++i) {
        double y = x[i * stride];
        for (int32_t j = 0; j < i; ++j) {
            y -= L[i * n + j] * x[j * stride];
        }
        x[i * stride] = L[i * n + i] > 0.0 ? y / L[i * n + i] : 0.0;
    }
}

static void solve_upper(int32_t n, const double* L, double* x, int32_t stride)
{
    for (int32_t i = n - 1; i >= 0; --i) {
        double y = x[i * stride];
        for (int32_t j = i + 1; j < n; ++j) {
            y -= L[j * n + i] * x[j * stride];
        }
        x[i * stride] = L[i * n + i] > 0.0 ? y / L[i * n + i] : 0.0;
    }
}

/* ---- priors -------------------------------------------------------------------------------------*/

static double precision(double prior)
{
    return isnan(prior) ? 0.0 : 1.0 / (prior * prior);
}

/* Of an own unknown of a trajectory: nodes have none. */
static double own_precision(const shooting* s, int32_t i)
{
    return i < s->e->start_count ? precision(s->e->start[i].prior) : 0.0;
}

static double prior_cost(const shooting* s)
{
    const perpi_evaluator* ev = s->ev;
    double cost = 0.0;
    for (int32_t i = 0; i < s->n; ++i) {
        const double off = ev->parameter[i] - s->e->parameter[i].info.start;
        cost += 0.5 * precision(s->e->parameter[i].prior) * off * off;
    }
    for (int32_t k = 0; k < ev->count; ++k) {
        for (int32_t i = 0; i < s->m; ++i) {
            const double off = ev->start[(size_t)k * (size_t)s->m + (size_t)i];
            cost += 0.5 * own_precision(s, i) * off * off;
        }
    }
    return cost;
}

/* ---- evaluation ---------------------------------------------------------------------------------*/

/* Sets cost and merit of the point; infinite if a trajectory cannot be simulated there. */
static perp_status evaluate(shooting* s, bool derivatives, double* cost, double* merit)
{
    PERPI_TRY(perpi_evaluator_run(s->ev, derivatives));
    *cost = prior_cost(s);
    for (int32_t k = 0; k < s->ev->count; ++k) {
        const perpi_part* part = &s->ev->part[k];
        *cost += part->status == PERP_OK && isfinite(part->cost) ? part->cost : INFINITY;
    }
    *merit = isnan(*cost) ? INFINITY : *cost;
    return PERP_OK;
}

static const perpi_part* first_failure(const shooting* s, int32_t* trajectory)
{
    for (int32_t k = 0; k < s->ev->count; ++k) {
        if (s->ev->part[k].status != PERP_OK) {
            *trajectory = s->ev->used[k];
            return &s->ev->part[k];
        }
    }
    return NULL;
}

/* ---- one step -----------------------------------------------------------------------------------*/

/* The start block of a trajectory, damped and factored; solved = L^-1 [H_sp, g_s]. */
static void eliminate_start(shooting* s, int32_t k, double damping)
{
    const perpi_part* part = &s->ev->part[k];
    const int32_t n = s->n, m = s->m, N = s->N;
    for (int32_t i = 0; i < m; ++i) {
        const double prior = own_precision(s, i);
        for (int32_t j = 0; j < m; ++j) {
            s->factor[i * m + j] = part->H[(n + i) * N + n + j];
        }
        s->factor[i * m + i] += prior;
        s->factor[i * m + i] *= 1.0 + damping;
        for (int32_t j = 0; j < n; ++j) {
            s->solved[i * (n + 1) + j] = part->H[(n + i) * N + j];
        }
        s->solved[i * (n + 1) + n] =
            part->g[n + i] + prior * s->ev->start[(size_t)k * (size_t)m + (size_t)i];
    }
    factor_semidefinite(m, s->factor);
    for (int32_t j = 0; j <= n; ++j) {
        solve_lower(m, s->factor, s->solved + j, n + 1);
    }
}

/* The reduced matrix A and right-hand side b = -(reduced gradient). diagonal: without elimination; may be NULL. */
static void reduce(shooting* s, double damping, double* diagonal)
{
    const int32_t n = s->n, N = s->N;
    memset(s->A, 0, (size_t)n * (size_t)n * sizeof *s->A);
    for (int32_t i = 0; i < n; ++i) {
        const perpi_parameter* p = &s->e->parameter[i];
        s->A[i * n + i] = precision(p->prior);
        s->b[i] = -precision(p->prior) * (s->ev->parameter[i] - p->info.start);
    }
    for (int32_t k = 0; k < s->ev->count; ++k) {
        const perpi_part* part = &s->ev->part[k];
        for (int32_t i = 0; i < n; ++i) {
            s->b[i] -= part->g[i];
            for (int32_t j = 0; j < n; ++j) {
                s->A[i * n + j] += part->H[i * N + j];
            }
        }
    }
    for (int32_t i = 0; i < n; ++i) {
        if (diagonal != NULL) {
            diagonal[i] = s->A[i * n + i];
        }
        s->A[i * n + i] *= 1.0 + damping;
    }
    for (int32_t k = 0; k < s->ev->count && s->m > 0 && !s->hold; ++k) {
        eliminate_start(s, k, damping);
        for (int32_t r = 0; r < s->m; ++r) {
            const double* x = s->solved + (size_t)r * ((size_t)n + 1);
            for (int32_t i = 0; i < n; ++i) {
                s->b[i] += x[i] * x[n];
                for (int32_t j = 0; x[i] != 0.0 && j < n; ++j) {
                    s->A[i * n + j] -= x[i] * x[j];
                }
            }
        }
    }
}

/* Parameters of which the data say nothing here stay: rounding would carry them away, and others with them. Those of inertias are
 * not as they are reported, and have their own size, 1. */
static void fix_negligible(shooting* s)
{
    const int32_t n = s->n;
    double largest = 0.0;
    for (int pass = 0; pass < 2; ++pass) {
        for (int32_t i = 0; i < n; ++i) {
            const perpi_parameter* p = &s->e->parameter[i];
            const double size = p->kind == PERPI_PARAMETER_INERTIA
                                    ? p->info.scale
                                    : perpi_parameter_size(s->e, i, s->ev->parameter[i]);
            double of = precision(p->prior);
            for (int32_t k = 0; k < s->ev->count; ++k) {
                of += s->ev->part[k].H[i * s->N + i];
            }
            of *= size * size;
            largest = of > largest ? of : largest;
            s->fixed[i] =
                !(of > PERPI_INFORMATION_ABSOLUTE && of > PERPI_INFORMATION_RELATIVE * largest);
        }
    }
}

/* The step of the parameters: one that would lead out of its bounds ends on the bound, and the others are found again with that, so
 * that the step reduces the model. */
static void step_parameters(shooting* s)
{
    const int32_t n = s->n;
    double* M = s->moved; /* scratch of n x n + n, see allocate */
    double* x = M + (size_t)n * (size_t)n;
    fix_negligible(s);
    for (int32_t i = 0; i < n; ++i) {
        s->step[i] = 0.0;
    }
    for (bool again = true; again;) {
        again = false;
        for (int32_t i = 0; i < n; ++i) {
            x[i] = s->fixed[i] ? 0.0 : s->b[i];
            for (int32_t j = 0; j < n; ++j) {
                M[i * n + j] = s->fixed[i] || s->fixed[j] ? 0.0 : s->A[i * n + j];
                x[i] -= !s->fixed[i] && s->fixed[j] ? s->A[i * n + j] * s->step[j] : 0.0;
            }
        }
        factor_semidefinite(n, M);
        solve_lower(n, M, x, 1);
        solve_upper(n, M, x, 1);
        for (int32_t i = 0; i < n; ++i) {
            const perp_unknown* u = &s->e->parameter[i].info;
            const double at = s->ev->parameter[i];
            if (!s->fixed[i] && (at + x[i] < u->low || at + x[i] > u->high)) {
                s->step[i] = (x[i] < 0.0 ? u->low : u->high) - at;
                s->fixed[i] = again = true;
            }
        }
    }
    double longest = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        const double at = fabs(s->ev->parameter[i]), scale = s->e->parameter[i].info.scale;
        s->step[i] = s->fixed[i] ? s->step[i] : x[i];
        const double by = fabs(s->step[i]) / (at > scale ? at : scale);
        longest = by > longest ? by : longest;
    }
    for (int32_t i = 0; longest > LONGEST && i < n; ++i) {
        s->step[i] *= LONGEST / longest;
    }
}

/* The steps of the starts that belong to it, and the reduction that the model predicts. */
static double step_starts(shooting* s)
{
    const int32_t n = s->n, m = s->m, N = s->N;
    double predicted = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        const perpi_parameter* p = &s->e->parameter[i];
        const double w = precision(p->prior), off = s->ev->parameter[i] - p->info.start;
        predicted -= w * (off * s->step[i] + 0.5 * s->step[i] * s->step[i]);
    }
    for (int32_t k = 0; k < s->ev->count; ++k) {
        const perpi_part* part = &s->ev->part[k];
        double* start = s->step + n + (size_t)k * (size_t)m;
        if (s->hold) {
            memset(start, 0, (size_t)m * sizeof *start);
        } else if (m > 0) {
            eliminate_start(s, k, s->damping);
            for (int32_t r = 0; r < m; ++r) {
                const double* x = s->solved + (size_t)r * ((size_t)n + 1);
                start[r] = -x[n];
                for (int32_t i = 0; i < n; ++i) {
                    start[r] -= x[i] * s->step[i];
                }
            }
            solve_upper(m, s->factor, start, 1);
        }
        memcpy(s->row, s->step, (size_t)n * sizeof *s->row);
        if (m > 0) {
            memcpy(s->row + n, start, (size_t)m * sizeof *s->row);
        }
        for (int32_t i = 0; i < N; ++i) {
            double sum = part->g[i];
            for (int32_t j = 0; j < N; ++j) {
                sum += 0.5 * part->H[i * N + j] * s->row[j];
            }
            predicted -= sum * s->row[i];
        }
        for (int32_t i = 0; i < m; ++i) {
            const double w = own_precision(s, i);
            predicted -=
                w * start[i] * (s->ev->start[(size_t)k * (size_t)m + (size_t)i] + 0.5 * start[i]);
        }
    }
    return predicted;
}

static perp_status allocate_point(shooting* s)
{
    const perpi_evaluator* ev = s->ev;
    const size_t count = (size_t)ev->count;
    PERPI_TRY(perpi_alloc(s->context, (size_t)s->n + 1, sizeof(double), &s->kept_parameter));
    PERPI_TRY(perpi_alloc(s->context, count * (size_t)s->m + 1, sizeof(double), &s->kept_start));
    return perpi_alloc(s->context, count * (size_t)ev->nodes * ev->bodies + 1, sizeof *s->kept_node,
                       &s->kept_node);
}

static void free_point(shooting* s)
{
    perpi_free(s->context, s->kept_parameter);
    perpi_free(s->context, s->kept_start);
    perpi_free(s->context, s->kept_node);
}

static void keep_point(shooting* s)
{
    const perpi_evaluator* ev = s->ev;
    const size_t nodes = (size_t)ev->count * (size_t)ev->nodes * ev->bodies;
    memcpy(s->kept_parameter, ev->parameter, (size_t)s->n * sizeof *ev->parameter);
    if (s->m > 0) {
        memcpy(s->kept_start, ev->start, (size_t)ev->count * (size_t)s->m * sizeof *ev->start);
    }
    if (nodes > 0) {
        memcpy(s->kept_node, ev->node, nodes * sizeof *ev->node);
    }
}

static void restore_point(shooting* s)
{
    perpi_evaluator* ev = s->ev;
    const size_t nodes = (size_t)ev->count * (size_t)ev->nodes * ev->bodies;
    memcpy(ev->parameter, s->kept_parameter, (size_t)s->n * sizeof *ev->parameter);
    if (s->m > 0) {
        memcpy(ev->start, s->kept_start, (size_t)ev->count * (size_t)s->m * sizeof *ev->start);
    }
    if (nodes > 0) {
        memcpy(ev->node, s->kept_node, nodes * sizeof *ev->node);
    }
}

/* Nodes move by their coordinates of the step. */
static void move_nodes(shooting* s, int32_t k, const double* step)
{
    perpi_evaluator* ev = s->ev;
    for (int32_t j = 0; j < ev->nodes; ++j) {
        perp_body_state* state =
            ev->node + ((size_t)k * (size_t)ev->nodes + (size_t)j) * ev->bodies;
        const double* own = step + ev->m + j * ev->M;
        for (size_t b = 0; b < ev->bodies; ++b) {
            double by[PERPI_START_COORDINATES] = {0};
            for (int32_t i = 0; i < ev->M; ++i) {
                if (ev->coordinate[i].body == (int32_t)b) {
                    by[ev->coordinate[i].coordinate] = own[i];
                }
            }
            perpi_state_displace(&state[b], ev->planar, by);
        }
    }
}

static void move_point(shooting* s)
{
    perpi_evaluator* ev = s->ev;
    for (int32_t i = 0; i < s->n; ++i) {
        const perp_unknown* u = &s->e->parameter[i].info;
        const double was = ev->parameter[i], by = s->step[i], at = was + by;
        /* a step to a bound ends on it, not a rounding beside it */
        ev->parameter[i] = at < u->low || by == u->low - was     ? u->low
                           : at > u->high || by == u->high - was ? u->high
                                                                 : at;
    }
    for (int32_t k = 0; k < ev->count; ++k) {
        const double* start = s->step + s->n + (size_t)k * (size_t)s->m;
        for (int32_t i = 0; i < ev->m; ++i) {
            ev->start[(size_t)k * (size_t)s->m + (size_t)i] += start[i];
        }
        move_nodes(s, k, start);
    }
}

static double count_values(const shooting* s)
{
    double count = 0.0;
    for (int32_t k = 0; k < s->ev->count; ++k) {
        const int32_t rows = s->e->data.trajectory[s->ev->used[k]].rows;
        for (int32_t i = 0; i < rows * s->e->width; ++i) {
            count += !isnan(s->ev->part[k].residual[i]);
        }
    }
    return count;
}

/* ---- the search ---------------------------------------------------------------------------------*/

static bool user_stops(shooting* s)
{
    if (s->run->progress != NULL && s->run->progress(s->run, s->answer->iterations, s->cost)) {
        s->cancelled = true;
    }
    return s->cancelled;
}

static bool stop_now(void* user)
{
    return user_stops(user);
}

/* Derivatives at the point are there. Tries steps until one reduces the merit; *done: no step does, or the last one was
 * negligible. */
static perp_status advance(shooting* s, bool* done)
{
    perpi_answer* a = s->answer;
    double promised = 0.0; /* by the first step */
    keep_point(s);
    while (a->iterations < s->e->iterations) {
        double cost, merit;
        a->iterations += 1;
        reduce(s, s->damping, NULL);
        step_parameters(s);
        const double predicted = step_starts(s);
        /* the decrement is half the square of the step in standard deviations */
        const bool reduces = predicted >= 0.0;
        promised = promised == 0.0 ? predicted : promised;
        const bool small = reduces && predicted <= 0.5 * s->e->tolerance * s->e->tolerance &&
                           s->damping <= SMALL_DAMPING;
        move_point(s);
        PERPI_TRY(evaluate(s, false, &cost, &merit));
        if (merit < s->merit) {
            s->damping = s->damping / 10.0 > LEAST_DAMPING ? s->damping / 10.0 : LEAST_DAMPING;
            s->slow = s->merit - merit < s->e->tolerance * s->merit ? s->slow + 1 : 0;
            s->cost = cost;
            s->merit = merit;
            *done = small || s->slow >= SLOW_STEPS;
            a->converged = a->converged || *done;
            return PERP_OK;
        }
        restore_point(s);
        if (small || (reduces && predicted <= ROUNDING * fabs(s->merit))) {
            a->converged = *done = true;
            return PERP_OK;
        }
        s->damping = s->damping < 1e-6 ? 1e-4 : s->damping * 10.0;
        if (s->damping > MOST_DAMPING) {
            /* exact data: what is left is rounding, which no step reduces */
            const bool limited = s->adaptive && promised <= ADAPTIVE * count_values(s);
            a->converged = a->converged || limited || s->cost <= EXACT * EXACT * count_values(s);
            if (limited) {
                (void)snprintf(a->message, sizeof a->message,
                               "the errors of adaptive steps jump from run to run: the values are "
                               "exact to about %.2g standard deviations; a fixed step, or a "
                               "smaller error of the step, gives more",
                               sqrt(2.0 * perpi_larger(promised, 0.0)));
            }
            *done = true;
            return PERP_OK;
        }
    }
    *done = true;
    return PERP_OK;
}

static perp_status first_evaluation(shooting* s)
{
    PERPI_TRY(evaluate(s, true, &s->cost, &s->merit));
    int32_t k = 0;
    const perpi_part* bad = first_failure(s, &k);
    if (bad != NULL || !isfinite(s->cost)) {
        return perpi_fail(s->context, PERP_ERROR_SOLVE,
                          "trajectory %lld cannot be simulated at the start of the search: %s",
                          (long long)s->e->data.trajectory[k].number,
                          bad != NULL ? bad->message : "its residuals are not finite");
    }
    return PERP_OK;
}

/* Whether a parameter has no influence at the point: a body that sticks does not feel how rough the ground is. */
static bool is_without_influence(const shooting* s, int32_t i)
{
    double sum = 0.0;
    for (int32_t k = 0; k < s->ev->count; ++k) {
        sum += s->ev->part[k].H[i * s->N + i];
    }
    return sum == 0.0;
}

/* The cost is flat in such a parameter, and no derivative leads away: equidistant values between its bounds are tried, and
 * the best is taken. *moved: there was a better one. */
static perp_status leave_plateaus(shooting* s, bool* moved)
{
    *moved = false;
    for (int32_t i = 0; i < s->n; ++i) {
        const perp_unknown* u = &s->e->parameter[i].info;
        if (!isfinite(u->high - u->low) || !is_without_influence(s, i)) {
            continue;
        }
        double best = s->ev->parameter[i], least = s->merit;
        for (int k = 0; k < PLATEAU_POINTS; ++k) {
            double cost, merit;
            s->ev->parameter[i] = u->low + (u->high - u->low) * (k + 0.5) / PLATEAU_POINTS;
            s->answer->iterations += 1;
            PERPI_TRY(evaluate(s, false, &cost, &merit));
            if (merit < least) {
                best = s->ev->parameter[i];
                least = merit;
                *moved = true;
            }
        }
        s->ev->parameter[i] = best;
        /* residuals and derivatives are those of the last value that was tried */
        PERPI_TRY(evaluate(s, true, &s->cost, &s->merit));
    }
    return PERP_OK;
}

static perp_status descend(shooting* s)
{
    bool done = false;
    s->slow = 0;
    while (!done && !user_stops(s)) {
        PERPI_TRY(advance(s, &done));
        PERPI_TRY(evaluate(s, true, &s->cost, &s->merit));
    }
    return s->cancelled ? perpi_fail(s->context, PERP_ERROR_CANCELLED, "interrupted") : PERP_OK;
}

/* One parameter a little inside its bounds, and a search from there; *better: it found less. */
static perp_status descend_inside(shooting* s, int32_t i, bool* better)
{
    static const double INSIDE = 0.01; /* of the distance of the bounds */
    const perp_unknown* u = &s->e->parameter[i].info;
    const double range = u->high - u->low, by = INSIDE * (isfinite(range) ? range : u->scale);
    const double merit = s->merit;
    const bool converged = s->answer->converged;
    s->ev->parameter[i] += s->ev->parameter[i] <= u->low ? by : -by;
    PERPI_TRY(evaluate(s, true, &s->cost, &s->merit));
    *better = false;
    if (isfinite(s->merit) && !is_without_influence(s, i)) {
        s->damping = FIRST_DAMPING;
        s->answer->converged = false;
        PERPI_TRY(descend(s));
        *better = s->merit < merit;
    }
    s->answer->converged = *better ? s->answer->converged : converged;
    return PERP_OK;
}

/* A step that is cut off at a bound may end where the parameter has no influence, but would have inside: friction that
 * is 0 has no derivative. The starts have followed it there, so that other values of the parameter alone are no better. */
static perp_status leave_bounds(shooting* s)
{
    perp_status status = PERP_OK;
    for (int32_t i = 0; status == PERP_OK && i < s->n; ++i) {
        const perp_unknown* u = &s->e->parameter[i].info;
        const double at = s->ev->parameter[i];
        shooting kept = *s;
        bool better = false;
        if ((at > u->low && at < u->high) || !is_without_influence(s, i)) {
            continue;
        }
        keep_point(s);
        s->kept_parameter = s->kept_start = NULL;
        s->kept_node = NULL;
        status = allocate_point(s);
        if (status == PERP_OK) {
            status = descend_inside(s, i, &better);
        }
        free_point(s);
        s->kept_parameter = kept.kept_parameter;
        s->kept_start = kept.kept_start;
        s->kept_node = kept.kept_node;
        if (status == PERP_OK && !better) {
            restore_point(s);
            status = evaluate(s, true, &s->cost, &s->merit);
        }
    }
    return status;
}

static void use_evaluator(shooting* s, perpi_evaluator* ev)
{
    s->ev = ev;
    s->m = ev->own;
    s->N = ev->N;
    ev->stop = stop_now;
    ev->user = s;
}

/* Goes on without segments, if a run through all of a trajectory follows its segments: then the last steps and the
 * information are not burdened with the weights of gaps. Where motion is chaotic it does not. */
static perp_status join_segments(shooting* s, bool* joined)
{
    static const double WORSE = 4.0, MORE = 100.0;
    perpi_evaluator *parts = s->ev, *whole = NULL;
    const int32_t segments = s->e->segments;
    const double cost = s->cost;
    *joined = false;
    s->e->segments = 1;
    const perp_status status = perpi_evaluator_create(s->run, false, &whole);
    s->e->segments = segments;
    PERPI_TRY(status);
    memcpy(whole->parameter, parts->parameter, (size_t)s->n * sizeof *whole->parameter);
    memcpy(whole->noise, parts->noise, (size_t)s->e->channel_count * sizeof *whole->noise);
    for (int32_t k = 0; k < whole->count && whole->m > 0; ++k) {
        memcpy(whole->start + (size_t)k * (size_t)whole->m,
               parts->start + (size_t)k * (size_t)parts->own,
               (size_t)whole->m * sizeof *whole->start);
    }
    whole->evaluations = parts->evaluations;
    whole->runs = parts->runs;
    use_evaluator(s, whole);
    const perp_status first = evaluate(s, false, &s->cost, &s->merit);
    *joined = first == PERP_OK && s->cost <= WORSE * cost + MORE;
    perpi_evaluator_destroy(*joined ? parts : whole);
    if (!*joined) {
        use_evaluator(s, parts);
    }
    return first;
}

/* Gaps become dearer from search to search, until a run without segments can go on, or none is left. */
static perp_status close_gaps(shooting* s)
{
    bool joined = false;
    s->ev->weight = FIRST_WEIGHT;
    for (;;) {
        s->damping = FIRST_DAMPING;
        PERPI_TRY(first_evaluation(s));
        PERPI_TRY(descend(s));
        if (s->ev->weight >= JOIN_WEIGHT) {
            PERPI_TRY(join_segments(s, &joined));
        }
        if (joined || s->ev->weight >= LAST_WEIGHT) {
            return PERP_OK;
        }
        s->ev->weight *= WEIGHT_FACTOR;
    }
}

/* From where the unknowns are. */
static perp_status search_on(shooting* s)
{
    bool moved = false;
    s->damping = FIRST_DAMPING;
    s->answer->converged = false;
    PERPI_TRY(first_evaluation(s));
    PERPI_TRY(leave_plateaus(s, &moved));
    PERPI_TRY(descend(s));
    PERPI_TRY(leave_plateaus(s, &moved)); /* where it came to a plateau on the way */
    if (moved) {
        s->damping = FIRST_DAMPING;
        s->answer->converged = false;
        PERPI_TRY(descend(s));
    }
    return leave_bounds(s);
}

/* Whether residuals are more than so many times the noise, and more than their own scatter explains. */
static bool exceeds_noise(const shooting* s, double times)
{
    const double degrees = count_values(s) - s->n - (double)s->ev->m * s->ev->count;
    return degrees > 0.0 &&
           2.0 * s->merit > degrees * times * times * (1.0 + EXCESS * sqrt(2.0 / degrees));
}

/* From the first values, the parameters alone at first: while they are wrong, starts of bodies that touch others are
 * moved to where they are pushed out or fall, and residuals have kinks that hold the search. */
static perp_status search_in_stages(shooting* s)
{
    for (int32_t i = 0; i < s->n; ++i) {
        s->ev->parameter[i] = s->e->parameter[i].info.start;
    }
    memset(s->ev->start, 0, (size_t)s->ev->count * (size_t)s->m * sizeof *s->ev->start);
    s->hold = true;
    const perp_status status = search_on(s);
    s->hold = false;
    return status == PERP_OK ? search_on(s) : status;
}

/* The digits of `index` in the base, mirrored at the point. */
static double radical_inverse(int32_t index, int32_t base)
{
    double x = 0.0, place = 1.0;
    for (; index > 0; index /= base) {
        place /= base;
        x += place * (index % base);
    }
    return x;
}

/* The point of this number: in the box of the bounds [Halton 1960]; parameters without bounds keep their first value. */
static void set_other_point(shooting* s, int32_t number)
{
    static const int32_t prime[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29};
    enum { PRIMES = sizeof prime / sizeof prime[0] };
    if (s->m > 0) {
        memset(s->ev->start, 0, (size_t)s->ev->count * (size_t)s->m * sizeof *s->ev->start);
    }
    for (int32_t i = 0, bounded = 0; i < s->n; ++i) {
        const perp_unknown* u = &s->e->parameter[i].info;
        const double range = u->high - u->low;
        s->ev->parameter[i] =
            isfinite(range) ? u->low + range * radical_inverse(number, prime[bounded++ % PRIMES])
                            : u->start;
    }
}

/* From the best of points that fill the box of the bounds. */
static perp_status search_elsewhere(shooting* s)
{
    double least = INFINITY;
    int32_t best = 1;
    for (int32_t k = 1; k <= OTHER_POINTS; ++k) {
        double cost, merit;
        set_other_point(s, k);
        s->answer->iterations += 1;
        PERPI_TRY(evaluate(s, false, &cost, &merit));
        best = merit < least ? k : best;
        least = merit < least ? merit : least;
    }
    set_other_point(s, best);
    return isfinite(least) ? search_on(s) : PERP_OK;
}

/* Another search, whose result stays if it is better. */
static perp_status try_search(shooting* s, perp_status (*other)(shooting*))
{
    const double merit = s->merit;
    const bool converged = s->answer->converged;
    const int64_t most = s->e->iterations;
    shooting best = *s;
    best.kept_parameter = best.kept_start = NULL;
    best.kept_node = NULL;
    perp_status status = allocate_point(&best);
    if (status == PERP_OK) {
        keep_point(&best);
        s->e->iterations += s->answer->iterations; /* each may use as many */
        status = other(s);
        s->e->iterations = most;
    }
    const bool failed = status == PERP_ERROR_SOLVE; /* it came to where nothing can be simulated */
    if (failed || (status == PERP_OK && !(s->merit < merit))) {
        restore_point(&best);
        s->answer->converged = converged;
        status = evaluate(s, true, &s->cost, &s->merit);
    }
    free_point(&best);
    return status;
}

static bool has_bounds(const shooting* s)
{
    for (int32_t i = 0; i < s->n; ++i) {
        if (isfinite(s->e->parameter[i].info.high - s->e->parameter[i].info.low)) {
            return true;
        }
    }
    return false;
}

static perp_status search(shooting* s)
{
    const bool again = s->tried || s->ev->nodes > 0;
    if (s->ev->nodes > 0 && s->ev->weight == 0.0) {
        PERPI_TRY(close_gaps(s));
    }
    PERPI_TRY(search_on(s));
    s->tried = true;
    if (!again && s->m > 0 && exceeds_noise(s, 1.0)) {
        PERPI_TRY(try_search(s, search_in_stages));
    }
    if (!again && has_bounds(s) && exceeds_noise(s, LOST)) {
        PERPI_TRY(try_search(s, search_elsewhere));
    }
    return PERP_OK;
}

/* ---- noise --------------------------------------------------------------------------------------*/

static int compare(const void* a, const void* b)
{
    const double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

/* The standard deviation of a channel's residuals in units of its noise: from squares, or of a robust loss from the median
 * of sizes. */
static double spread_of(const shooting* s, const perpi_channel* c, double part, double* room,
                        double* largest)
{
    size_t count = 0;
    double sum = 0.0;
    *largest = 0.0;
    for (int32_t k = 0; k < s->ev->count; ++k) {
        const perpi_trajectory* t = &s->e->data.trajectory[s->ev->used[k]];
        for (int32_t r = 0; r < t->rows; ++r) {
            for (int32_t i = 0; i < c->width; ++i) {
                const double x =
                    s->ev->part[k]
                        .residual[(size_t)r * (size_t)s->e->width + c->first_residual + i];
                if (!isnan(x)) {
                    room[count++] = fabs(x);
                    sum += x * x;
                }
            }
            for (int32_t i = 0; i < c->columns; ++i) {
                const double x =
                    fabs(t->value[(size_t)r * (size_t)s->e->columns + c->first_column + i]);
                *largest = x > *largest ? x : *largest;
            }
        }
    }
    if (count == 0) {
        return 1.0;
    }
    if (s->e->loss == PERPI_LOSS_SQUARES) {
        return sqrt(sum / ((double)count * part));
    }
    qsort(room, count, sizeof *room, compare);
    return room[count / 2] / 0.6744897501960817;
}

/* New noise of the channels that have none; returns the largest relative change. */
static perp_status update_noise(shooting* s, double* change)
{
    const double values = count_values(s);
    const double unknowns = s->n + (double)s->ev->m * s->ev->count;
    const double part = values > unknowns ? 1.0 - unknowns / values : 1.0 / values;
    double* room = NULL;
    *change = 0.0;
    PERPI_TRY(perpi_alloc(s->context, (size_t)values + 1, sizeof *room, &room));
    for (int32_t i = 0; i < s->e->channel_count; ++i) {
        const perpi_channel* c = &s->e->channel[i];
        double largest = 0.0;
        if (c->noise_given) {
            continue;
        }
        const double was = s->ev->noise[i];
        double now = was * spread_of(s, c, part, room, &largest);
        now = now > NOISE_LEAST * largest ? now : largest > 0.0 ? NOISE_LEAST * largest : was;
        const double by = fabs(now - was) / was;
        *change = by > *change ? by : *change;
        s->ev->noise[i] = now;
    }
    perpi_free(s->context, room);
    return PERP_OK;
}

/* ---- the answer ---------------------------------------------------------------------------------*/

/* The information of the parameters: of robust losses that of J'J with the variance of an M-estimate [Huber 1981]. */
static perp_status fill_answer(shooting* s)
{
    perpi_answer* a = s->answer;
    perpi_evaluator* ev = s->ev;
    double squares = 0.0, slopes = 0.0;
    const double values = count_values(s);
    a->degrees = values - s->n - (double)ev->m * ev->count;
    for (int32_t k = 0; k < ev->count; ++k) {
        const int32_t rows = s->e->data.trajectory[ev->used[k]].rows;
        for (int32_t i = 0; i < rows * s->e->width; ++i) {
            double weight, slope;
            const double r = ev->part[k].residual[i];
            if (isnan(r)) {
                continue;
            }
            (void)perpi_loss_of(s->e, r, &weight, &slope);
            squares += weight * r * weight * r;
            slopes += slope;
        }
    }
    double excess = a->degrees > 0.0 ? squares / a->degrees : 1.0;
    const bool exceeds = s->e->loss == PERPI_LOSS_SQUARES && a->degrees > 0.0 &&
                         excess > 1.0 + EXCESS * sqrt(2.0 / a->degrees);
    excess = exceeds ? excess : 1.0;
    if (exceeds) {
        for (int32_t k = 0; k < ev->count; ++k) {
            for (int32_t i = 0; i < s->N * s->N; ++i) {
                ev->part[k].H[i] /= excess;
            }
        }
        if (a->message[0] == '\0') {
            (void)snprintf(a->message, sizeof a->message,
                           "residuals are %.3g times the noise: the intervals are that much wider; "
                           "the scene, the noise or some of the data are not as they should be",
                           sqrt(excess));
        }
    } else if (s->e->loss != PERPI_LOSS_SQUARES) {
        const double mean = slopes / values;
        const double variance = squares / (a->degrees > 1.0 ? a->degrees : 1.0) / (mean * mean);
        for (int32_t k = 0; k < ev->count; ++k) {
            for (int32_t i = 0; i < s->N * s->N; ++i) {
                ev->part[k].H[i] = ev->part[k].raw[i] / variance;
            }
        }
    }
    reduce(s, 0.0, a->unreduced);
    memcpy(a->search, ev->parameter, (size_t)s->n * sizeof *a->search);
    for (int32_t k = 0; k < ev->count && ev->m > 0; ++k) {
        memcpy(a->start + (size_t)ev->used[k] * (size_t)ev->m, ev->start + (size_t)k * (size_t)s->m,
               (size_t)ev->m * sizeof *a->start);
    }
    for (int32_t i = 0; i < s->e->channel_count; ++i) {
        a->noise[i] = s->e->channel[i].noise = ev->noise[i];
    }
    a->objective = s->cost;
    a->evaluations = ev->evaluations;
    a->runs = ev->runs;
    a->flagged = ev->flagged;
    a->derivative = ev->derivative;
    PERPI_TRY(perpi_answer_intervals(s->context, s->e, s->A, a));
    return ev->nodes == 0 ? perpi_answer_profile(ev, excess, a) : PERP_OK;
}

static void say_end(shooting* s)
{
    perpi_answer* a = s->answer;
    double gap = 0.0;
    for (int32_t k = 0; k < s->ev->count; ++k) {
        gap = s->ev->part[k].gap > gap ? s->ev->part[k].gap : gap;
    }
    if (a->converged && gap > NO_GAP) {
        a->converged = false;
        (void)snprintf(a->message, sizeof a->message,
                       "gaps of up to %.3g times the noise are left between segments: use fewer "
                       "segments, or more iterations",
                       gap);
    } else if (!a->converged) {
        (void)snprintf(a->message, sizeof a->message, "%s",
                       a->iterations >= s->e->iterations
                           ? "the iterations are used up"
                           : "no step reduces the residuals: they may jump with the unknowns");
    }
}

static perp_status allocate(shooting* s)
{
    perp_context* context = s->context;
    const perpi_evaluator* ev = s->ev;
    const size_t n = (size_t)s->n, m = (size_t)s->m, count = (size_t)ev->count;
    PERPI_TRY(perpi_alloc(context, n * n + 1, sizeof(double), &s->A));
    PERPI_TRY(perpi_alloc(context, n + 1, sizeof(double), &s->b));
    PERPI_TRY(perpi_alloc(context, n + count * m + 1, sizeof(double), &s->step));
    PERPI_TRY(perpi_alloc(context, n * n + n + 1, sizeof(double), &s->moved));
    PERPI_TRY(perpi_alloc(context, m * m + 1, sizeof(double), &s->factor));
    PERPI_TRY(perpi_alloc(context, m * (n + 1) + 1, sizeof(double), &s->solved));
    PERPI_TRY(perpi_alloc(context, n + m + 1, sizeof(double), &s->row));
    PERPI_TRY(perpi_alloc(context, n + 1, sizeof(bool), &s->fixed));
    return allocate_point(s);
}

static void release(shooting* s)
{
    perpi_free(s->context, s->A);
    perpi_free(s->context, s->b);
    perpi_free(s->context, s->step);
    perpi_free(s->context, s->moved);
    perpi_free(s->context, s->factor);
    perpi_free(s->context, s->solved);
    perpi_free(s->context, s->row);
    perpi_free(s->context, s->fixed);
    free_point(s);
    perpi_evaluator_destroy(s->ev);
}

/* Parameters at their starts, nodes as the data say. */
static perp_status first_point(shooting* s)
{
    perpi_evaluator* ev = s->ev;
    for (int32_t i = 0; i < s->n; ++i) {
        ev->parameter[i] = s->e->parameter[i].info.start;
    }
    for (int32_t k = 0; k < ev->count; ++k) {
        const perpi_trajectory* t = &s->e->data.trajectory[ev->used[k]];
        for (int32_t j = 0; j < ev->nodes; ++j) {
            const int32_t row = (int32_t)((int64_t)(t->rows - 1) * (j + 1) / (ev->nodes + 1));
            PERPI_TRY(perpi_predictor_nominal(
                s->run->predictor, t, row, ev->parameter,
                ev->node + ((size_t)k * (size_t)ev->nodes + (size_t)j) * ev->bodies));
        }
    }
    return PERP_OK;
}

static perp_status shoot(shooting* s)
{
    double change = INFINITY;
    PERPI_TRY(allocate(s));
    PERPI_TRY(first_point(s));
    bool estimated = false;
    for (int32_t i = 0; i < s->e->channel_count; ++i) {
        estimated = estimated || !s->e->channel[i].noise_given;
    }
    for (int round = 0; round < NOISE_ROUNDS && change > NOISE_CHANGE; ++round) {
        PERPI_TRY(search(s));
        change = 0.0;
        if (estimated) {
            PERPI_TRY(update_noise(s, &change));
        }
    }
    if (estimated) { /* with the last noise */
        PERPI_TRY(evaluate(s, true, &s->cost, &s->merit));
    }
    say_end(s);
    return fill_answer(s);
}

perp_status perpi_estimate_shooting(perpi_estimate_run* run, perpi_answer* answer)
{
    shooting s = {.run = run,
                  .context = run->context,
                  .e = run->e,
                  .answer = answer,
                  .n = run->e->parameter_count,
                  .adaptive = perp_sim_def_from_scene(run->study->scene).error > 0.0};
    perp_status status = perpi_evaluator_create(run, false, &s.ev);
    if (status == PERP_OK) {
        use_evaluator(&s, s.ev);
        status = shoot(&s);
    }
    if (s.ev != NULL) {
        release(&s);
    }
    return status;
}
