/* src/study/estimate_window.c - method moving-window: at each row a fit to the last k rows.
 *
 * Source     [B09 7.6.2], figure 7.7: the estimate at time l from the previous k observations; moving horizon: [B09 7.3]
 * Notation   k: e->window; z: parameters and the start coordinates of the window
 * Departure  each window is a shooting fit (the state at its first row and the parameters), begun at the solution of the window
 *            before; the first windows are as long as the rows so far. With the option "arrival" the rows that have
 *            left the window act through their information, linearised where they left it; without it they do not.
 */
#include <math.h>
#include <string.h>

#include "linalg/dense.h"
#include "study/estimate_fit.h"

#define NO_INFLUENCE 1e-6 /* information, of a change from bound to bound */

enum { PLATEAU_POINTS = 8 };

typedef struct window_state {
    perpi_estimate_run* run;
    const perpi_estimate* e;
    perpi_fit* fit;
    perpi_answer* answer;
    perp_body_state *state,
        *next; /* of bodies at the first row of the window, without the start coordinates */
    double *mean, *prior; /* of z: n, n x n */
    double *information, *transition, *scratch;
    int32_t* pivot;
    bool arrival;
    /* of these, ended by the limit of iterations; with residuals larger than the noise explains */
    int64_t windows, stopped, excessive;
} window_state;

/* ---- priors -------------------------------------------------------------------------------------*/

/* Of the parameters always, of start coordinates only at the start of the trajectory. */
static void set_prior(window_state* w, bool at_start)
{
    const int32_t n = w->fit->n, p = w->fit->parameters;
    memset(w->prior, 0, (size_t)n * (size_t)n * sizeof *w->prior);
    memset(w->mean, 0, (size_t)n * sizeof *w->mean);
    for (int32_t i = 0; i < n; ++i) {
        const double deviation = i < p ? w->e->parameter[i].prior : w->e->start[i - p].prior;
        if (deviation > 0.0 && (i < p || at_start)) {
            w->prior[i * n + i] = 1.0 / (deviation * deviation);
        }
        w->mean[i] = i < p ? w->e->parameter[i].info.start : 0.0;
    }
}

/* Removes the start coordinates from the prior: what it says of the parameters alone. */
static perp_status keep_parameters(window_state* w)
{
    const int32_t n = w->fit->n, p = w->fit->parameters;
    memcpy(w->fit->H, w->prior, (size_t)n * (size_t)n * sizeof *w->prior);
    PERPI_TRY(perpi_fit_parameters(w->fit, w->information));
    memset(w->prior, 0, (size_t)n * (size_t)n * sizeof *w->prior);
    for (int32_t i = 0; i < p; ++i) {
        for (int32_t j = 0; j < p; ++j) {
            w->prior[i * n + j] = w->information[i * p + j];
        }
    }
    return PERP_OK;
}

/* The prior of the next window: that of this one with its first row, carried on to the second row.
 * z: of this window. */
static perp_status carry_prior(window_state* w, perpi_prediction* one, const double* end_jacobian)
{
    perpi_fit* f = w->fit;
    const int32_t n = f->n, p = f->parameters;
    double *g = w->scratch, *F = w->transition;
    /* gradient at z of the prior and the first row; the minimum of both is z - H^-1 g */
    for (int32_t i = 0; i < n; ++i) {
        g[i] = 0.0;
        for (int32_t j = 0; j < n; ++j) {
            g[i] += w->prior[i * n + j] * (f->z[j] - w->mean[j]);
        }
    }
    for (int32_t r = 0; r < w->e->width; ++r) {
        const double e = one->residual[r], weight = isnan(e) ? 0.0 : perpi_fit_weight(w->e, e);
        const double* J = one->jacobian + (size_t)r * (size_t)n;
        for (int32_t i = 0; weight > 0.0 && i < n; ++i) {
            g[i] += weight * e * J[i];
            for (int32_t j = 0; j < n; ++j) {
                w->prior[i * n + j] += weight * J[i] * J[j];
            }
        }
    }
    /* z' = F z with parameters unchanged: H' = F^-T H F^-1, g' = F^-T g, and z' is 0 in its start coordinates */
    memset(F, 0, (size_t)n * (size_t)n * sizeof *F);
    for (int32_t i = 0; i < n; ++i) {
        const perpi_start* s = i < p ? NULL : &w->e->start[i - p];
        for (int32_t j = 0; s != NULL && j < n; ++j) {
            F[i * n + j] =
                end_jacobian[(PERPI_START_COORDINATES * s->body + s->coordinate) * n + j];
        }
        F[i * n + i] = s == NULL ? 1.0 : F[i * n + i];
    }
    perpi_lu_info info;
    if (!perpi_lu_factor(n, F, w->pivot, &info)) {
        /* a sticking contact ends the memory of velocities */
        PERPI_TRY(keep_parameters(w));
        memcpy(w->mean, f->z, (size_t)p * sizeof *w->mean);
        memset(w->mean + p, 0, (size_t)(n - p) * sizeof *w->mean);
        return PERP_OK;
    }
    for (int pass = 0; pass < 2; ++pass) { /* F^-T on the columns, then on the rows */
        for (int32_t j = 0; j < n; ++j) {
            double* x = w->scratch + n;
            for (int32_t i = 0; i < n; ++i) {
                x[i] = pass == 0 ? w->prior[i * n + j] : w->prior[j * n + i];
            }
            perpi_lu_solve_transposed(n, F, w->pivot, x);
            for (int32_t i = 0; i < n; ++i) {
                *(pass == 0 ? &w->prior[i * n + j] : &w->prior[j * n + i]) = x[i];
            }
        }
    }
    perpi_lu_solve_transposed(n, F, w->pivot, g);
    /* the minimum, with a little added to the diagonal where the prior says nothing */
    double* A = w->transition;
    memcpy(A, w->prior, (size_t)n * (size_t)n * sizeof *A);
    for (int32_t i = 0; i < n; ++i) {
        A[i * n + i] += A[i * n + i] > 0.0 ? 1e-12 * A[i * n + i] : 1.0;
    }
    const bool solved = perpi_chol_factor_any(n, A);
    if (solved) {
        perpi_chol_solve_any(n, A, g);
    }
    for (int32_t i = 0; i < n; ++i) {
        w->mean[i] = (i < p ? f->z[i] : 0.0) - (solved ? g[i] : 0.0);
    }
    return PERP_OK;
}

/* ---- one window ---------------------------------------------------------------------------------*/

/* Moves the start of the window from row `first` to the next. */
static perp_status move_start(window_state* w, const perpi_trajectory* t, int32_t first)
{
    perpi_fit* f = w->fit;
    const size_t n = (size_t)f->n, width = (size_t)w->e->width;
    const size_t bodies = (size_t)perpi_predictor_bodies(w->run->predictor);
    double* number = NULL;
    PERPI_TRY(perpi_alloc(w->run->context,
                          2 * width * (n + 1) + PERPI_START_COORDINATES * bodies * n,
                          sizeof *number, &number));
    perpi_prediction p = {.trajectory = t,
                          .first = first,
                          .rows = 2,
                          .parameter = f->z,
                          .start = f->z + f->parameters,
                          .state = w->state,
                          .residual = number,
                          .end = w->next};
    if (w->arrival) {
        p.jacobian = number + 2 * width;
        p.end_jacobian = p.jacobian + 2 * width * n;
    }
    perp_status status = perpi_predictor_predict(w->run->predictor, &p);
    f->runs += p.info.runs;
    if (status == PERP_OK && w->arrival) {
        status = carry_prior(w, &p, p.end_jacobian);
    } else if (status == PERP_OK) {
        set_prior(w, false);
    }
    if (status == PERP_OK) {
        memcpy(w->state, w->next, bodies * sizeof *w->state);
        memset(f->z + f->parameters, 0, (n - (size_t)f->parameters) * sizeof *f->z);
    }
    perpi_free(w->run->context, number);
    return status;
}

/* A sticking contact hides its friction: no derivative, however wrong the value. Where the fit is
 * bad and a parameter has no influence, values between its bounds are tried. */
static perp_status leave_plateau(window_state* w, const perpi_fit_def* def)
{
    perpi_fit* f = w->fit;
    const int32_t n = f->n;
    double *first = w->scratch, *best = first + n;
    for (int32_t i = 0; i < f->parameters; ++i) {
        const perp_unknown* u = &w->e->parameter[i].info;
        const double range = u->high - u->low;
        const double information = f->H[i * n + i] - w->prior[i * n + i];
        const double excess = perpi_fit_excess(w->e, f->squares, (double)(f->values - n));
        if (!isfinite(range) || information * range * range > NO_INFLUENCE || !(excess > 1.0)) {
            continue;
        }
        double cost = f->cost;
        memcpy(first, f->z, (size_t)n * sizeof *first);
        memcpy(best, first, (size_t)n * sizeof *best);
        for (int k = 0; k < PLATEAU_POINTS; ++k) {
            memcpy(f->z, first, (size_t)n * sizeof *first);
            f->z[i] = u->low + (k + 0.5) / PLATEAU_POINTS * range;
            if (perpi_fit_run(f, def) == PERP_OK && f->cost < cost) {
                cost = f->cost;
                memcpy(best, f->z, (size_t)n * sizeof *best);
            }
        }
        memcpy(f->z, best, (size_t)n * sizeof *best);
        PERPI_TRY(perpi_fit_run(f, def));
    }
    return PERP_OK;
}

/* Where the fit is bad: from `begin` with the parameters alone at first, as starts of bodies that
 * touch others give residuals kinks that hold the search. The better one stays. */
static perp_status fit_in_stages(window_state* w, const perpi_fit_def* def, const double* begin)
{
    perpi_fit* f = w->fit;
    const size_t size = (size_t)f->n * sizeof *f->z;
    double* kept = w->scratch + 3 * f->n;
    const double cost = f->cost;
    perpi_fit_def held = *def;
    held.hold_start = true;
    memcpy(kept, f->z, size);
    memcpy(f->z, begin, size);
    perp_status status = perpi_fit_run(f, &held);
    if (status == PERP_OK) {
        status = perpi_fit_run(f, def);
    }
    if (status == PERP_OK && f->cost < cost) {
        return PERP_OK;
    }
    memcpy(f->z, kept, size);
    return perpi_fit_run(f, def);
}

static perp_status fit_window(window_state* w, const perpi_trajectory* t, int32_t first,
                              int32_t row)
{
    const perpi_fit_def def = {.trajectory = t,
                               .first = first,
                               .rows = row - first + 1,
                               .state = w->state,
                               .mean = w->mean,
                               .information = w->prior};
    perpi_fit* f = w->fit;
    double* begin = w->scratch + 2 * f->n;
    memcpy(begin, f->z, (size_t)f->n * sizeof *begin);
    perp_status status = perpi_fit_run(f, &def);
    if (status == PERP_OK) {
        status = leave_plateau(w, &def);
    }
    if (status == PERP_OK && perpi_fit_excess(w->e, f->squares, (double)(f->values - f->n)) > 1.0) {
        status = fit_in_stages(w, &def, begin);
    }
    w->answer->iterations += f->iterations;
    w->windows += 1;
    w->stopped += !f->converged;
    if (status != PERP_OK) {
        char place[80];
        (void)snprintf(place, sizeof place, "moving-window: rows %d to %d", (int)first + 1,
                       (int)row + 1);
        return perpi_fail_prefix(w->run->context, status, place);
    }
    return PERP_OK;
}

/* Estimates of the window that ends at `row` become those of the answer. */
static perp_status take_window(window_state* w)
{
    perpi_fit* f = w->fit;
    perpi_answer* a = w->answer;
    for (int32_t i = 0; i < f->parameters; ++i) {
        const perp_unknown* u = &w->e->parameter[i].info;
        a->search[i] = f->z[i];
        a->at_bound[i] = f->z[i] <= u->low || f->z[i] >= u->high;
    }
    a->objective = f->cost;
    a->degrees = (double)(f->values - f->n);
    for (int32_t i = 0; i < a->combination_count; ++i) { /* of the window before */
        perpi_free(w->run->context, a->combination[i].weight);
    }
    a->combination_count = 0;
    PERPI_TRY(perpi_fit_parameters(f, w->information));
    const double excess = perpi_fit_excess(w->e, f->squares, a->degrees);
    w->excessive += excess > 1.0;
    for (int32_t i = 0; i < f->parameters * f->parameters; ++i) {
        w->information[i] /= excess;
    }
    return perpi_answer_intervals(w->run->context, w->e, w->information, a);
}

/* ---- trajectories -------------------------------------------------------------------------------*/

static perp_status slide(window_state* w, int32_t trajectory, int32_t least)
{
    const perpi_trajectory* t = &w->e->data.trajectory[trajectory];
    const int32_t p = w->fit->parameters, s = w->e->start_count;
    perpi_answer_series* series = NULL;
    PERPI_TRY(perpi_answer_add_series(w->run->context, w->answer, trajectory, t->rows - least + 1,
                                      &series));
    PERPI_TRY(perpi_predictor_nominal(w->run->predictor, t, 0, w->fit->z, w->state));
    memset(w->fit->z + p, 0, (size_t)s * sizeof *w->fit->z);
    set_prior(w, true);
    int32_t first = 0;
    for (int32_t row = least - 1; row < t->rows; ++row) {
        for (; row - first + 1 > w->e->window; ++first) {
            PERPI_TRY(move_start(w, t, first));
        }
        PERPI_TRY(fit_window(w, t, first, row));
        PERPI_TRY(take_window(w));
        if (first == 0) { /* the last fit that has the start of the trajectory */
            memcpy(w->answer->start + (size_t)trajectory * (size_t)s, w->fit->z + p,
                   (size_t)s * sizeof *w->fit->z);
        }
        const size_t at = (size_t)(row - least + 1), size = (size_t)p * sizeof(double);
        series->time[at] = t->time[row];
        memcpy(series->value + at * (size_t)p, w->answer->value, size);
        memcpy(series->low + at * (size_t)p, w->answer->low, size);
        memcpy(series->high + at * (size_t)p, w->answer->high, size);
        if (w->run->progress != NULL && w->run->progress(w->run, w->windows, w->fit->cost)) {
            return perpi_fail(w->run->context, PERP_ERROR_CANCELLED, "the estimate was ended");
        }
    }
    return PERP_OK;
}

static perp_status read_options(window_state* w)
{
    const json_t* options = w->e->options;
    const char* key;
    json_t* value;
    json_object_foreach((json_t*)(uintptr_t)options, key, value)
    {
        if (strcmp(key, "arrival") != 0 || !json_is_boolean(value)) {
            return perpi_fail(w->run->context, PERP_ERROR_INPUT,
                              "/options/%s: of moving-window there is only \"arrival\": true or "
                              "false",
                              key);
        }
        w->arrival = json_is_true(value);
    }
    return PERP_OK;
}

static perp_status create_window(window_state* w)
{
    perp_context* context = w->run->context;
    const size_t bodies = (size_t)perpi_predictor_bodies(w->run->predictor);
    PERPI_TRY(perpi_fit_create(w->run, &w->fit));
    const size_t n = (size_t)w->fit->n;
    PERPI_TRY(perpi_alloc(context, 2 * bodies, sizeof *w->state, &w->state));
    w->next = w->state + bodies;
    PERPI_TRY(perpi_alloc(context, n * (3 * n + 5), sizeof *w->mean, &w->mean));
    w->scratch = w->mean + n;
    w->prior = w->scratch + 4 * n;
    w->information = w->prior + n * n;
    w->transition = w->information + n * n;
    return perpi_alloc(context, n, sizeof *w->pivot, &w->pivot);
}

static perp_status slide_all(window_state* w)
{
    const perpi_estimate* e = w->e;
    if (e->start_count == 0) {
        return perpi_fail(w->run->context, PERP_ERROR_INPUT,
                          "/unknown/initial: the state at the start of a window is unknown: name "
                          "the bodies that move, such as \"initial\": [\"block\"]");
    }
    const int32_t least = (w->fit->n + e->width - 1) / e->width + 1;
    if (e->window < least) {
        return perpi_fail(w->run->context, PERP_ERROR_INPUT,
                          "/window: %d rows of %d values cannot determine %d unknowns: at least %d",
                          (int)e->window, (int)e->width, (int)w->fit->n, (int)least);
    }
    for (int32_t i = 0; i < e->parameter_count; ++i) {
        w->fit->z[i] = e->parameter[i].info.start;
    }
    for (int32_t i = 0; i < e->data.count; ++i) {
        if (e->data.trajectory[i].held_out) {
            continue;
        }
        if (e->data.trajectory[i].rows < least) {
            return perpi_fail(w->run->context, PERP_ERROR_INPUT,
                              "trajectory %lld has %d rows; %d unknowns need %d",
                              (long long)e->data.trajectory[i].number,
                              (int)e->data.trajectory[i].rows, (int)w->fit->n, (int)least);
        }
        PERPI_TRY(slide(w, i, least));
    }
    return PERP_OK;
}

perp_status perpi_estimate_window(perpi_estimate_run* run, perpi_answer* answer)
{
    window_state w = {.run = run, .e = run->e, .answer = answer};
    perp_status status = read_options(&w);
    if (status == PERP_OK) {
        status = create_window(&w);
    }
    if (status == PERP_OK) {
        status = slide_all(&w);
    }
    if (status == PERP_OK) {
        answer->evaluations = w.fit->evaluations;
        answer->runs = w.fit->runs;
        answer->flagged = w.fit->flagged;
        answer->derivative = w.fit->derivative;
        answer->converged = w.stopped == 0;
        for (int32_t i = 0; i < run->e->channel_count; ++i) {
            answer->noise[i] = run->e->channel[i].noise;
        }
        (void)snprintf(answer->message, sizeof answer->message,
                       "%lld windows of at most %d rows; the estimate is that of the last one%s",
                       (long long)w.windows, (int)run->e->window,
                       w.excessive == 0 ? ""
                                        : "; in some windows residuals are larger than the noise "
                                          "explains, and the intervals that much wider");
    }
    perpi_fit_destroy(w.fit);
    perpi_free(run->context, w.state);
    perpi_free(run->context, w.mean);
    perpi_free(run->context, w.pivot);
    return status;
}
