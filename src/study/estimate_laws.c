/* src/study/estimate_laws.c - the method `laws`: parameters whose contact laws explain the measured
 * changes of momentum.
 *
 * Source     ContactNets [PHP20]: forces are unknown, the residual of the laws over pairs of states is the loss
 * Departure  parameters of the scene instead of a network; Levenberg-Marquardt on the projected residuals (laws_evaluate.c);
 *            the residual of laws_pair.c. No step is simulated, so that chaos does not matter and impacts need no times.
 *
 * Intervals: the residuals are errors of the laws and of the states rather than independent noise,
 * and rows of one trajectory go together. So the covariance is that of the estimating equation,
 * H^-1 G H^-1 with G the sum over trajectories of the squares of their gradients (the sandwich
 * formula), where there are enough trajectories; else that of the curvature H alone with the
 * variance of the residuals. What is identifiable is read from H.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "linalg/dense.h"
#include "study/estimate_evaluate.h"
#include "study/laws.h"

enum { CLUSTERS_PER_PARAMETER = 10, MAX_TRIES = 30, MAX_RESTARTS = 3 };
static const double FIRST_DAMPING = 1e-3, MOST_DAMPING = 1e12, LEAST_DAMPING = 1e-12;
/* A side of a parameter is flat if the objective rises by less than this far away; at four standard
 * deviations a square has risen by 8. */
static const double RISE = 6.0, FAR = 10.0;

typedef struct search {
    perpi_estimate_run* run;
    const perpi_estimate* e;
    perpi_laws* laws;
    int32_t n;
    double *value, *next, *step, *H, *A, *g;
    double* sorted; /* losses of pairs */
    double scale;   /* standard deviation of a residual, for robust losses and priors */
    double loss;    /* of all pairs, robust, divided by the square of scale; with priors */
    double degrees;
    bool *flat_low, *flat_high; /* per parameter: the data give no limit on that side */
} search;

/* ---- the objective -------------------------------------------------------------------------------*/

static int compare(const void* a, const void* b)
{
    const double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

static int32_t pair_degrees(const search* s, const perpi_laws_pair* pair)
{
    int32_t degrees = pair->rows < s->laws->work.n ? pair->rows : s->laws->work.n;
    for (int32_t k = 0; k < pair->contacts; ++k) {
        degrees += pair->time > 0.0 && s->laws->contact[pair->contact + (size_t)k].pushes;
    }
    return degrees;
}

/* The standard deviation of a residual: of squares the mean, of a robust loss from the median of
 * pairs in contact. */
static void find_scale(search* s)
{
    const perpi_laws* laws = s->laws;
    int32_t count = 0;
    double sum = 0.0, degrees = 0.0;
    for (int32_t i = 0; i < laws->pair_count; ++i) {
        const perpi_laws_pair* pair = &laws->pair[i];
        bool touching = laws->residual_kind == PERPI_LAWS_PREDICTION;
        for (int32_t k = 0; k < pair->contacts; ++k) {
            touching = touching || laws->contact[pair->contact + (size_t)k].pushes;
        }
        if (touching) {
            s->sorted[count++] = 2.0 * pair->loss / pair_degrees(s, pair);
        }
        sum += 2.0 * pair->loss;
        degrees += pair_degrees(s, pair);
    }
    s->degrees = degrees - s->n;
    const double mean = s->degrees > 0.0 ? sum / s->degrees : 0.0;
    double square = mean;
    if (s->e->loss != PERPI_LOSS_SQUARES && count > 0) {
        qsort(s->sorted, (size_t)count, sizeof *s->sorted, compare);
        square =
            s->sorted[count / 2] / 0.789; /* the median of chi^2 of three degrees, over three */
    }
    s->scale = square > 0.0 ? sqrt(square) : 1.0;
}

static double objective(const search* s, const double* value)
{
    const double per = 1.0 / (s->scale * s->scale);
    double sum = 0.0;
    for (int32_t i = 0; i < s->laws->pair_count; ++i) {
        perpi_laws_pair* pair = &s->laws->pair[i];
        const double degrees = pair_degrees(s, pair);
        double slope;
        /* by the mean of its residuals, so that pairs with many are no outliers for that alone */
        sum += degrees *
               perpi_loss_of(s->e, sqrt(2.0 * pair->loss * per / degrees), &pair->weight, &slope);
    }
    for (int32_t j = 0; j < s->n; ++j) {
        const perpi_parameter* p = &s->e->parameter[j];
        const double off = isnan(p->prior) ? 0.0 : (value[j] - p->info.start) / p->prior;
        sum += 0.5 * off * off;
    }
    return sum;
}

/* H and g of the objective at the last evaluation with derivatives. */
static void assemble(search* s)
{
    const perpi_laws* laws = s->laws;
    const size_t n = (size_t)s->n;
    const double per = 1.0 / (s->scale * s->scale);
    memset(s->H, 0, n * n * sizeof *s->H);
    memset(s->g, 0, n * sizeof *s->g);
    for (int32_t i = 0; i < laws->pair_count; ++i) {
        const perpi_laws_pair* pair = &laws->pair[i];
        for (int32_t k = 0; k < pair->rows; ++k) {
            const size_t row = pair->residual + (size_t)k;
            const double* D = laws->derivative + row * n;
            const double w = pair->weight * per;
            for (size_t a = 0; a < n; ++a) {
                s->g[a] += w * D[a] * laws->residual[row];
                for (size_t b = 0; D[a] != 0.0 && b < n; ++b) {
                    s->H[a * n + b] += w * D[a] * D[b];
                }
            }
        }
    }
    for (size_t j = 0; j < n; ++j) {
        const perpi_parameter* p = &s->e->parameter[j];
        if (!isnan(p->prior)) {
            s->H[j * n + j] += 1.0 / (p->prior * p->prior);
            s->g[j] += (s->value[j] - p->info.start) / (p->prior * p->prior);
        }
    }
}

/* ---- the search ----------------------------------------------------------------------------------*/

/* The step with a damping; parameters at a bound that the gradient holds there stay. false: singular. */
static bool damped_step(search* s, double damping)
{
    const size_t n = (size_t)s->n;
    double most = 0.0;
    memcpy(s->A, s->H, n * n * sizeof *s->A);
    for (size_t j = 0; j < n; ++j) {
        const double size =
            s->H[j * n + j] * s->e->parameter[j].info.scale * s->e->parameter[j].info.scale;
        most = size > most ? size : most;
    }
    for (size_t j = 0; j < n; ++j) {
        const perp_unknown* u = &s->e->parameter[j].info;
        const bool held =
            (s->value[j] <= u->low && s->g[j] > 0.0) || (s->value[j] >= u->high && s->g[j] < 0.0);
        /* what the data do not see moves little */
        s->A[j * n + j] += damping * s->H[j * n + j] + 1e-8 * most / (u->scale * u->scale);
        s->step[j] = held ? 0.0 : -s->g[j];
        for (size_t k = 0; held && k < n; ++k) {
            s->A[j * n + k] = s->A[k * n + j] = 0.0;
        }
        if (held || !(s->A[j * n + j] > 0.0)) {
            s->A[j * n + j] = 1.0;
        }
    }
    if (!perpi_chol_factor_any(s->n, s->A)) {
        return false;
    }
    perpi_chol_solve_any(s->n, s->A, s->step);
    for (size_t j = 0; j < n; ++j) {
        const perp_unknown* u = &s->e->parameter[j].info;
        double to = s->value[j] + s->step[j];
        to = to < u->low ? u->low : to;
        s->next[j] = to > u->high ? u->high : to;
        s->step[j] = s->next[j] - s->value[j];
    }
    return true;
}

/* Size of the step in standard deviations, or relative to the scale where that is smaller. */
static double step_size(const search* s)
{
    double most = 0.0;
    for (int32_t j = 0; j < s->n; ++j) {
        const double h = s->H[(size_t)j * (size_t)s->n + (size_t)j];
        const double by =
            fabs(s->step[j]) * (h > 0.0 ? sqrt(h) : 1.0 / s->e->parameter[j].info.scale);
        most = by > most ? by : most;
    }
    return most;
}

/* One iteration: *ended if no step is better. */
static perp_status iterate(search* s, double* damping, bool* ended, bool* converged)
{
    for (int tries = 0; tries < MAX_TRIES && *damping <= MOST_DAMPING; ++tries) {
        if (damped_step(s, *damping)) {
            const bool small = step_size(s) <= s->e->tolerance;
            const perp_status status = perpi_laws_evaluate(s->laws, s->next, false);
            if (status != PERP_OK && status != PERP_ERROR_INPUT) {
                return status;
            }
            const double found = status == PERP_OK ? objective(s, s->next) : INFINITY;
            if (found < s->loss) {
                memcpy(s->value, s->next, (size_t)s->n * sizeof *s->value);
                *converged = small || s->loss - found <= 1e-12 * found;
                *ended = *converged;
                *damping = *damping * 0.2 > LEAST_DAMPING ? *damping * 0.2 : LEAST_DAMPING;
                return PERP_OK;
            }
            if (small) {
                *ended = *converged = true;
                return PERP_OK;
            }
        }
        *damping *= 5.0;
    }
    *ended = true;
    return PERP_OK;
}

static perp_status run_search(search* s, perpi_answer* answer)
{
    double damping = FIRST_DAMPING;
    bool ended = false;
    perp_status status = PERP_OK;
    while (!ended && answer->iterations < s->e->iterations) {
        status = perpi_laws_evaluate(s->laws, s->value, true);
        if (status != PERP_OK) {
            return status;
        }
        find_scale(s);
        s->loss = objective(s, s->value);
        assemble(s);
        answer->iterations += 1;
        if (s->n == 0 ||
            (s->run->progress != NULL && s->run->progress(s->run, answer->iterations, s->loss))) {
            break;
        }
        status = iterate(s, &damping, &ended, &answer->converged);
        if (status != PERP_OK) {
            return status;
        }
    }
    status = perpi_laws_evaluate(s->laws, s->value, true);
    if (status == PERP_OK) {
        find_scale(s);
        s->loss = objective(s, s->value);
        assemble(s);
    }
    return status;
}

/* ---- one-sided parameters ------------------------------------------------------------------------*/

/* Goes from the value of parameter j towards one side in growing steps until the objective has
 * risen. *flat: it never does. A better point than the best so far becomes s->next, with its
 * objective. */
static perp_status probe_side(search* s, int32_t j, double side, bool* flat, double* best)
{
    const perp_unknown* u = &s->e->parameter[j].info;
    const double h = s->H[(size_t)j * (size_t)s->n + (size_t)j], from = s->value[j];
    const double size = fabs(from) > u->scale ? fabs(from) : u->scale;
    const double bound = side < 0.0 ? u->low : u->high;
    const double end = isfinite(bound) ? bound : from + side * FAR * size;
    *flat = true;
    for (double by = 4.0 / sqrt(h); *flat; by *= 4.0) {
        const bool last = by >= fabs(end - from);
        const double at = last ? end : from + side * by;
        s->value[j] = at;
        const perp_status status =
            at != from ? perpi_laws_evaluate(s->laws, s->value, false) : PERP_ERROR_INPUT;
        const double found = status == PERP_OK ? objective(s, s->value) : INFINITY;
        if (status == PERP_OK && found < *best) {
            *best = found;
            memcpy(s->next, s->value, (size_t)s->n * sizeof *s->next);
        }
        s->value[j] = from;
        if (status != PERP_OK && status != PERP_ERROR_INPUT) {
            return status;
        }
        *flat = found < s->loss + RISE;
        if (last) {
            break;
        }
    }
    return PERP_OK;
}

/* A contact that sticks bounds friction from below only, and noise makes a minimum at that bound:
 * both sides of each parameter are probed. *better: a probe is, and s->value is moved there. */
static perp_status probe(search* s, bool* better)
{
    double best = s->loss;
    for (int32_t j = 0; j < s->n; ++j) {
        s->flat_low[j] = s->flat_high[j] = false;
        if (s->H[(size_t)j * (size_t)s->n + (size_t)j] > 0.0) {
            perp_status status = probe_side(s, j, -1.0, &s->flat_low[j], &best);
            if (status == PERP_OK) {
                status = probe_side(s, j, 1.0, &s->flat_high[j], &best);
            }
            if (status != PERP_OK) {
                return status;
            }
        }
    }
    *better = best < s->loss * (1.0 - 1e-9);
    if (*better) {
        memcpy(s->value, s->next, (size_t)s->n * sizeof *s->value);
    }
    return PERP_OK;
}

static perp_status search_and_probe(search* s, perpi_answer* answer)
{
    bool better = true;
    perp_status status = PERP_OK;
    for (int i = 0; status == PERP_OK && better && i <= MAX_RESTARTS; ++i) {
        status = run_search(s, answer);
        better = false;
        if (status == PERP_OK && i < MAX_RESTARTS) {
            status = probe(s, &better);
        }
    }
    if (status == PERP_OK && s->n > 0) { /* the numbers at the end, which a probe has replaced */
        status = perpi_laws_evaluate(s->laws, s->value, true);
        s->loss = objective(s, s->value);
        assemble(s);
    }
    return status;
}

/* ---- the answer ----------------------------------------------------------------------------------*/

/* G: the sum over trajectories of the squares of their gradients; returns how many. */
static int32_t gradient_squares(const search* s, double* sum, double* G)
{
    const perpi_laws* laws = s->laws;
    const size_t n = (size_t)s->n;
    const double per = 1.0 / (s->scale * s->scale);
    int32_t clusters = 0;
    memset(G, 0, n * n * sizeof *G);
    for (int32_t i = 0; i < laws->pair_count;) {
        const int32_t trajectory = laws->pair[i].trajectory;
        memset(sum, 0, n * sizeof *sum);
        for (; i < laws->pair_count && laws->pair[i].trajectory == trajectory; ++i) {
            const perpi_laws_pair* pair = &laws->pair[i];
            for (int32_t k = 0; k < pair->rows; ++k) {
                const size_t row = pair->residual + (size_t)k;
                for (size_t a = 0; a < n; ++a) {
                    sum[a] +=
                        pair->weight * per * laws->derivative[row * n + a] * laws->residual[row];
                }
            }
        }
        for (size_t a = 0; a < n * n; ++a) {
            G[a] += sum[a / n] * sum[a % n];
        }
        clusters += 1;
    }
    return clusters;
}

/* C <- H^-1 C H^-1 with the Cholesky factor of H, by columns, then by rows. */
static void divide_both(int32_t n, const double* H, double* C, double* column)
{
    const size_t N = (size_t)n;
    for (int pass = 0; pass < 2; ++pass) {
        for (size_t b = 0; b < N; ++b) {
            for (size_t a = 0; a < N; ++a) {
                column[a] = C[pass == 0 ? a * N + b : b * N + a];
            }
            perpi_chol_solve_any(n, H, column);
            for (size_t a = 0; a < N; ++a) {
                C[pass == 0 ? a * N + b : b * N + a] = column[a];
            }
        }
    }
}

/* C <- D C D': of what is reported. work: n x n. */
static void transform(int32_t n, const double* D, double* C, double* work)
{
    const size_t N = (size_t)n;
    for (int pass = 0; pass < 2; ++pass) { /* twice C <- (D C)' */
        for (size_t a = 0; a < N; ++a) {
            for (size_t b = 0; b < N; ++b) {
                work[b * N + a] = 0.0;
                for (size_t k = 0; k < N; ++k) {
                    work[b * N + a] += D[a * N + k] * C[k * N + b];
                }
            }
        }
        memcpy(C, work, N * N * sizeof *C);
    }
}

/* H of what is identifiable, factored; the others are kept apart. false: singular. */
static bool factor_identifiable(const search* s, const perpi_answer* answer, double* H)
{
    const size_t n = (size_t)s->n;
    for (size_t a = 0; a < n; ++a) {
        for (size_t b = 0; b < n; ++b) {
            const bool in = answer->identifiable[a] && answer->identifiable[b];
            H[a * n + b] = in ? s->H[a * n + b] : a == b ? 1.0 : 0.0;
        }
    }
    return perpi_chol_factor_any(s->n, H);
}

static void write_intervals(const search* s, int32_t clusters, const double* C,
                            perpi_answer* answer)
{
    const size_t n = (size_t)s->n;
    const double factor = (double)clusters / (double)(clusters - s->n);
    const double quantile = perpi_student_quantile((double)(clusters - s->n));
    for (size_t a = 0; a < n; ++a) {
        const double half = quantile * sqrt(factor * C[a * n + a]);
        for (size_t b = 0; b < n; ++b) {
            const bool in = answer->identifiable[a] && answer->identifiable[b];
            answer->covariance[a * n + b] = in ? factor * C[a * n + b] : NAN;
        }
        if (answer->identifiable[a]) {
            const perp_unknown* u = &s->e->parameter[a].info;
            const bool bounded = s->e->parameter[a].kind != PERPI_PARAMETER_INERTIA;
            const double low = answer->value[a] - half, high = answer->value[a] + half;
            answer->low[a] = bounded && low < u->low ? u->low : low;
            answer->high[a] = bounded && high > u->high ? u->high : high;
        }
    }
}

/* Covariance and intervals of what is identifiable by the sandwich formula, where there are
 * trajectories enough. */
static perp_status sandwich(search* s, perpi_answer* answer)
{
    const size_t n = (size_t)s->n;
    double* memory = NULL;
    const perp_status status =
        perpi_alloc(s->run->context, 4 * n * n + 2 * n + 1, sizeof *memory, &memory);
    if (status != PERP_OK) {
        return status;
    }
    double *C = memory, *H = C + n * n, *D = H + n * n, *work = D + n * n, *column = work + n * n;
    const int32_t clusters = gradient_squares(s, column, C);
    if (n > 0 && clusters >= CLUSTERS_PER_PARAMETER * s->n && factor_identifiable(s, answer, H)) {
        divide_both(s->n, H, C, column);
        perpi_answer_physical(s->e, answer->search, column + n, D);
        transform(s->n, D, C, work);
        write_intervals(s, clusters, C, answer);
    }
    perpi_free(s->run->context, memory);
    return PERP_OK;
}

/* Parameters without a limit on one side: an infinite interval, and what is known of the other side. */
static perp_status write_one_sided(search* s, perpi_answer* answer, json_t* more)
{
    json_t* limits = json_object();
    for (int32_t j = 0; j < s->n; ++j) {
        if (!answer->identifiable[j] || !(s->flat_low[j] || s->flat_high[j])) {
            continue;
        }
        if (!(s->flat_low[j] && s->flat_high[j])) {
            json_object_set_new(limits, s->e->parameter[j].info.name,
                                json_pack("{s:f}", s->flat_high[j] ? "at_least" : "at_most",
                                          s->flat_high[j] ? answer->low[j] : answer->high[j]));
        }
        double* weight = NULL;
        const perp_status status =
            perpi_alloc(s->run->context, (size_t)s->n, sizeof *weight, &weight);
        if (status != PERP_OK) {
            json_decref(limits);
            return status;
        }
        weight[j] = 1.0;
        answer->combination[answer->combination_count++].weight = weight;
        answer->identifiable[j] = false;
        answer->low[j] = -INFINITY;
        answer->high[j] = INFINITY;
        for (int32_t k = 0; k < s->n; ++k) {
            answer->covariance[j * s->n + k] = answer->covariance[k * s->n + j] = NAN;
        }
    }
    json_object_set_new(more, "limits", limits);
    return PERP_OK;
}

static json_t* count_modes(const perpi_laws* laws)
{
    int64_t pushing = 0, sliding = 0, sticking = 0, without = 0;
    for (int32_t i = 0; i < laws->pair_count; ++i) {
        const perpi_laws_pair* pair = &laws->pair[i];
        bool any = false;
        for (int32_t k = 0; k < pair->contacts; ++k) {
            const perpi_law_contact* c = &laws->contact[pair->contact + (size_t)k];
            any = any || c->pushes;
            sliding += c->pushes && !c->sticks;
            sticking += c->pushes && c->sticks;
        }
        pushing += any;
        without += !any;
    }
    return json_pack("{s:i, s:i, s:I, s:I, s:I, s:I}", "pairs", (int)laws->pair_count, "skipped",
                     (int)laws->skipped, "in_contact", (json_int_t)pushing, "free",
                     (json_int_t)without, "sliding", (json_int_t)sliding, "sticking",
                     (json_int_t)sticking);
}

static perp_status finish(search* s, perpi_answer* answer)
{
    if (s->n > 0) {
        memcpy(answer->search, s->value, (size_t)s->n * sizeof *s->value);
    }
    answer->objective = s->loss;
    answer->degrees = s->degrees;
    answer->evaluations = s->laws->evaluations;
    answer->derivative = PERPI_DERIVATIVE_DIFFERENCES;
    for (int32_t i = 0; i < s->e->channel_count; ++i) {
        answer->noise[i] = s->e->channel[i].noise;
    }
    perp_status status = perpi_answer_intervals(s->run->context, s->e, s->H, answer);
    if (status == PERP_OK) {
        status = sandwich(s, answer);
    }
    if (status == PERP_OK) {
        json_t* more = json_object();
        json_object_set_new(more, "laws", count_modes(s->laws));
        answer->more = more;
        status = write_one_sided(s, answer, more);
        (void)snprintf(answer->message, sizeof answer->message, "%s after %lld iterations",
                       answer->converged ? "converged" : "ended", (long long)answer->iterations);
    }
    return status;
}

static perp_status prepare(search* s)
{
    const size_t n = (size_t)s->n, pairs = (size_t)s->laws->pair_count;
    struct {
        double** array;
        size_t count;
    } need[] = {{&s->value, n}, {&s->next, n},  {&s->step, n},      {&s->g, n},
                {&s->H, n * n}, {&s->A, n * n}, {&s->sorted, pairs}};
    perp_status status = PERP_OK;
    for (size_t i = 0; status == PERP_OK && i < sizeof need / sizeof need[0]; ++i) {
        status = perpi_alloc(s->run->context, need[i].count + 1, sizeof(double), need[i].array);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(s->run->context, n + 1, sizeof(bool), &s->flat_low);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(s->run->context, n + 1, sizeof(bool), &s->flat_high);
    }
    for (size_t j = 0; status == PERP_OK && j < n; ++j) {
        s->value[j] = s->e->parameter[j].info.start;
    }
    return status;
}

perp_status perpi_estimate_laws(perpi_estimate_run* run, perpi_answer* answer)
{
    search s = {.run = run, .e = run->e, .n = run->e->parameter_count, .scale = 1.0};
    perp_status status = perpi_laws_create(run->context, run->predictor, run->e, &s.laws);
    if (status == PERP_OK && run->e->start_count > 0) {
        status = perpi_fail(run->context, PERP_ERROR_INPUT,
                            "%s: /unknown/initial: the method laws has no start states",
                            run->study->origin);
    }
    if (status == PERP_OK) {
        status = perpi_laws_options(s.laws, run->study->origin);
    }
    if (status == PERP_OK) {
        status = perpi_laws_use(s.laws, &run->e->data, false);
    }
    if (status == PERP_OK && s.laws->pair_count == 0) {
        status = perpi_fail(run->context, PERP_ERROR_INPUT,
                            "%s: no two rows of a trajectory have poses and velocities: the method "
                            "laws has nothing to compare",
                            run->study->origin);
    }
    if (status == PERP_OK) {
        status = prepare(&s);
    }
    if (status == PERP_OK) {
        status = search_and_probe(&s, answer);
    }
    if (status == PERP_OK && s.degrees <= 0.0) {
        status = perpi_fail(run->context, PERP_ERROR_INPUT,
                            "%s: fewer measured numbers than unknowns", run->study->origin);
    }
    if (status == PERP_OK) {
        status = finish(&s, answer);
    }
    double* const owned[] = {s.value, s.next, s.step, s.g, s.H, s.A, s.sorted};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; ++i) {
        perpi_free(run->context, owned[i]);
    }
    perpi_free(run->context, s.flat_low);
    perpi_free(run->context, s.flat_high);
    perpi_laws_destroy(s.laws);
    return status;
}
