/* src/study/design_evaluate.c - the value of a candidate: its runs in the workers, its rows in the database.
 *
 * Evaluations are numbered in the order in which the method asks for them, and a batch is evaluated
 * as a whole before its rows are written in order; so neither the numbers nor the rows depend on
 * which run ends first. Runs that are in the database are not made again: a method that is given
 * the same values asks for the same candidates.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "study/design_run.h"

#define COMMIT_SECONDS 1.0
#define PROGRESS_SECONDS 0.1

static double wall_seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- one run ----------------------------------------------------------------------------------*/

static void describe_missing(const perpi_design_state* e, const perp_run_row* row,
                             const double* measure, char* text, size_t size)
{
    if (row->status != PERP_RUN_OK) {
        (void)snprintf(text, size, "run %lld: %s: %.300s", (long long)row->id,
                       perp_run_status_name(row->status), row->message);
        return;
    }
    for (int32_t i = 0; i < perp_study_measure_count(e->study); ++i) {
        if (isnan(measure[i])) {
            (void)snprintf(text, size, "run %lld: measure '%.200s' has no value",
                           (long long)row->id, perp_study_measure_name(e->study, i));
            return;
        }
    }
    (void)snprintf(text, size, "run %lld: the objective or a constraint has no value",
                   (long long)row->id);
}

/* Numbers of the gradient of a run or a candidate; 0 if there is none to keep. */
static int64_t slope_size(const perpi_design_state* e)
{
    return e->d->method != PERP_DESIGN_GRADIENT
               ? 0
               : (int64_t)(1 + e->d->constraint_count + e->d->unknown_count) * e->d->unknown_count;
}

/* Objective and constraints of a run, the same whether it was made or found. */
static perp_status note_run(perpi_design_state* e, const perp_run_row* row)
{
    const int32_t measures = perp_study_measure_count(e->study), m = e->d->constraint_count;
    const int64_t k = row->id - e->batch_first;
    if (k < 0 || k >= e->batch_runs || e->run_done[k] != 0) {
        return PERP_OK;
    }
    double* measure = NULL;
    perp_status status = perpi_alloc(e->context, (size_t)measures + 1, sizeof *measure, &measure);
    if (status != PERP_OK) {
        return status;
    }
    for (int32_t i = 0; i < measures; ++i) { /* as a database keeps it */
        const double x = row->measure != NULL && i < row->measure_count ? row->measure[i] : NAN;
        measure[i] = isfinite(x) ? x + 0.0 : NAN;
    }
    double cost = NAN, *margin = e->margin + k * m;
    bool valid = row->status == PERP_RUN_OK;
    if (valid) {
        cost = perpi_design_cost(e->study, row->id, measure, margin);
        valid = isfinite(cost);
        for (int32_t i = 0; i < m; ++i) {
            valid = valid && isfinite(margin[i]);
        }
    }
    e->run_flagged[k] = -1;
    char reason[PERPI_DESIGN_REASON];
    if (valid && e->d->differentiate && perpi_design_step_factor(e->study, row->id) == 1.0 &&
        !perpi_design_slope(e->study, row->gradient, e->run_slope + k * slope_size(e),
                            &e->run_flagged[k], reason)) {
        e->run_flagged[k] = -1;
        if (e->no_gradient_run == 0 || row->id < e->no_gradient_run) {
            e->no_gradient_run = row->id;
            memcpy(e->no_gradient, reason, sizeof reason);
        }
    }
    e->cost[k] = valid ? cost : NAN;
    e->run_seconds[k] = row->seconds;
    e->run_done[k] = 1;
    e->batch_pending -= 1;
    e->report.simulations += 1;
    if (!valid) {
        const int64_t candidate = k / perpi_design_runs(e->study);
        e->report.failed += 1;
        if (e->message_run[candidate] == 0 || row->id < e->message_run[candidate]) {
            e->message_run[candidate] = row->id;
            describe_missing(e, row, measure, e->message[candidate], sizeof e->message[0]);
        }
    }
    perpi_free(e->context, measure);
    return PERP_OK;
}

/* ---- runs of a batch --------------------------------------------------------------------------*/

static perp_status take_found(void* user, const perp_run_row* row, const double* unknown)
{
    perpi_design_state* e = user;
    const int32_t n = e->d->unknown_count;
    const double* candidate =
        perpi_design_candidate(e->study, (row->id - 1) / perpi_design_runs(e->study) + 1);
    if (unknown[n] != candidate[n]) {
        return PERP_OK; /* a repetition with half the step, which a longer search replaces */
    }
    for (int32_t i = 0; i < n; ++i) {
        if (!(unknown[i] == candidate[i])) {
            return perpi_fail(e->context, PERP_ERROR_INPUT,
                              "%s: run %lld has another candidate than the method asks for now: "
                              "the database was begun by another build of perp or of NLopt",
                              e->def->out, (long long)row->id);
        }
    }
    return note_run(e, row);
}

static perp_status take_row(void* user, const perp_run_row* row)
{
    perpi_design_state* e = user;
    perp_status status = perpi_writer_remove(e->writer, row->id);
    if (status == PERP_OK) {
        status = perpi_writer_add(e->writer, row);
    }
    return status == PERP_OK ? note_run(e, row) : status;
}

static void show_progress(perpi_design_state* e)
{
    const double now = wall_seconds();
    e->report.seconds = now - e->begun;
    e->report.evaluations = e->count;
    if (e->def->progress != NULL && now - e->shown >= PROGRESS_SECONDS) {
        e->shown = now;
        if (!e->def->progress(e->def->user, &e->report)) {
            e->stopped = true;
        }
    }
}

static perp_status start_pool(perpi_design_state* e)
{
    const perp_pool_def def = {
        .study = e->study, .jobs = e->report.jobs, .options = e->def->options, .folder = e->folder};
    return e->pool != NULL ? PERP_OK : perp_pool_create(e->context, &def, &e->pool);
}

void perpi_design_end_pool(perpi_design_state* e)
{
    perp_pool_destroy(e->pool);
    e->pool = NULL;
}

static perp_status give_runs(perpi_design_state* e, int64_t* next)
{
    int32_t room = perp_pool_room(e->pool);
    perp_status status = PERP_OK;
    while (status == PERP_OK && room > 0 && *next < e->batch_runs) {
        if (e->run_done[*next] == 0) {
            const int64_t id = e->batch_first + *next;
            status = perp_pool_give(e->pool, &id, 1);
            --room;
        }
        ++*next;
    }
    return status;
}

static perp_status run_batch(perpi_design_state* e)
{
    int64_t next = 0;
    perp_status status = e->batch_pending > 0 ? start_pool(e) : PERP_OK;
    while (status == PERP_OK && e->batch_pending > 0 && !e->stopped) {
        status = give_runs(e, &next);
        if (status == PERP_OK) {
            status = perp_pool_wait(e->pool, (int32_t)(1000.0 * PROGRESS_SECONDS), take_row, e);
        }
        if (status == PERP_OK) {
            status = perpi_writer_commit(e->writer, COMMIT_SECONDS);
        }
        show_progress(e);
    }
    return status;
}

static perp_status prepare_batch(perpi_design_state* e, int64_t first, int64_t candidates)
{
    const int64_t runs = perpi_design_runs(e->study);
    const size_t total = (size_t)(candidates * runs), m = (size_t)e->d->constraint_count;
    e->batch_first = (first - 1) * runs + 1;
    e->batch_runs = e->batch_pending = (int64_t)total;
    perp_context* c = e->context;
    PERPI_TRY(perpi_grow(c, &e->cost, &e->cost_room, total, sizeof *e->cost));
    PERPI_TRY(perpi_grow(c, &e->margin, &e->margin_room, total * m + 1, sizeof *e->margin));
    PERPI_TRY(perpi_grow(c, &e->run_seconds, &e->seconds_room, total, sizeof *e->run_seconds));
    PERPI_TRY(perpi_grow(c, &e->run_done, &e->done_room, total, 1));
    PERPI_TRY(perpi_grow(c, &e->run_slope, &e->run_slope_room, total * (size_t)slope_size(e) + 1,
                         sizeof *e->run_slope));
    PERPI_TRY(perpi_grow(c, &e->run_flagged, &e->run_flagged_room, total, sizeof *e->run_flagged));
    const size_t n = (size_t)candidates;
    PERPI_TRY(perpi_grow(c, &e->message, &e->message_room, n, sizeof *e->message));
    PERPI_TRY(perpi_grow(c, &e->message_run, &e->message_run_room, n, sizeof *e->message_run));
    PERPI_TRY(perpi_grow(c, &e->fresh, &e->fresh_room, n, sizeof *e->fresh));
    memset(e->run_done, 0, total);
    memset(e->message_run, 0, n * sizeof *e->message_run);
    if (e->def->resume) {
        PERPI_TRY(perpi_writer_find(e->writer, e->batch_first, e->batch_first + (int64_t)total - 1,
                                    take_found, e));
    }
    for (int64_t k = 0; k < candidates; ++k) {
        e->message[k][0] = e->message_run[k] == 0 ? '\0' : e->message[k][0];
        e->fresh[k] = false;
        for (int64_t i = 0; i < runs; ++i) {
            e->fresh[k] = e->fresh[k] || e->run_done[k * runs + i] == 0;
        }
    }
    return PERP_OK;
}

/* ---- the value of a candidate -----------------------------------------------------------------*/

double perpi_design_combine(const perpi_design_state* e, const double* cost)
{
    const perpi_design* d = e->d;
    const int64_t draws = e->study->run_count;
    double total = d->combine == PERPI_COMBINE_MAX ? -INFINITY : 0.0;
    for (int32_t c = 0; c < d->case_count; ++c) {
        double value = d->worst ? -INFINITY : 0.0;
        for (int64_t i = 0; i < draws; ++i) {
            const double x = cost[c * draws + i];
            value = d->worst ? (x <= value ? value : x) : value + x; /* a NaN stays */
        }
        value = d->worst ? value : value / (double)draws;
        total = d->combine == PERPI_COMBINE_MAX ? (value <= total ? total : value) : total + value;
    }
    return d->combine == PERPI_COMBINE_MEAN ? total / (double)d->case_count : total;
}

static void add_slope(int32_t n, double weight, const double* from, double* to)
{
    for (int32_t i = 0; i < n; ++i) {
        to[i] += weight * from[i];
    }
}

/* The derivative of perpi_design_combine: of a worst draw or case, that of the run that is the worst. */
static void combine_slopes(const perpi_design_state* e, int64_t first, double* slope)
{
    const perpi_design* d = e->d;
    const int64_t draws = e->study->run_count, size = slope_size(e);
    const int32_t n = d->unknown_count, curvature = (1 + d->constraint_count) * n;
    double total = -INFINITY;
    memset(slope, 0, (size_t)size * sizeof *slope);
    for (int32_t c = 0; c < d->case_count; ++c) {
        const int64_t at = first + c * draws;
        int64_t worst = at;
        double mean = 0.0;
        for (int64_t i = at; i < at + draws; ++i) {
            worst = e->cost[i] <= e->cost[worst] ? worst : i;
            mean += e->cost[i];
        }
        const double value = d->worst ? e->cost[worst] : mean / (double)draws;
        if (d->combine == PERPI_COMBINE_MAX) {
            if (value <= total) {
                continue;
            }
            total = value;
            memset(slope, 0, (size_t)n * sizeof *slope);
            memset(slope + curvature, 0, (size_t)(n * n) * sizeof *slope);
        }
        const double share = d->combine == PERPI_COMBINE_MEAN ? 1.0 / (double)d->case_count : 1.0;
        for (int64_t i = at; i < at + draws; ++i) {
            if (!d->worst || i == worst) {
                const double weight = d->worst ? share : share / (double)draws;
                const double* of = e->run_slope + i * size;
                add_slope(n, weight, of, slope);
                add_slope(n * n, weight, of + curvature, slope + curvature);
            }
        }
    }
    for (int32_t j = 0; j < d->constraint_count; ++j) { /* the largest of all runs */
        int64_t worst = first;
        for (int64_t i = first; i < first + draws * d->case_count; ++i) {
            const int32_t m = d->constraint_count;
            worst = e->margin[i * m + j] <= e->margin[worst * m + j] ? worst : i;
        }
        memcpy(slope + (1 + j) * n, e->run_slope + worst * size + (1 + j) * n,
               (size_t)n * sizeof *slope);
    }
}

/* The gradient of a candidate with a value, if all its runs have theirs. */
static void finish_slope(perpi_design_state* e, int64_t evaluation, int64_t k)
{
    const int64_t runs = perpi_design_runs(e->study);
    perpi_point* p = &e->point[evaluation - 1];
    p->sloped = e->d->differentiate && !isnan(p->objective);
    for (int64_t i = k * runs; p->sloped && i < (k + 1) * runs; ++i) {
        p->sloped = e->run_flagged[i] >= 0;
        p->flagged += e->run_flagged[i];
    }
    p->flagged = p->sloped ? p->flagged : 0;
    if (p->sloped) {
        combine_slopes(e, k * runs, e->slope + (evaluation - 1) * slope_size(e));
    }
}

bool perpi_point_better(const perpi_point* a, const perpi_point* b)
{
    if (isnan(a->objective) || isnan(b->objective)) {
        return !isnan(a->objective);
    }
    if (a->violation > 0.0 || b->violation > 0.0) {
        return a->violation < b->violation;
    }
    return a->objective < b->objective;
}

/* What the method is given for a candidate without a value: worse than all so far, the more so the
 * more of its runs have none. */
static double penalty_of(const perpi_design_state* e, int64_t failed)
{
    if (isnan(e->worst)) {
        return 1e30;
    }
    const double best = e->report.best > 0 ? e->point[e->report.best - 1].objective : e->worst;
    double spread = e->worst - best;
    spread = spread > 0.0 ? spread : e->worst != 0.0 ? fabs(e->worst) : 1.0;
    return e->worst + spread * (1.0 + (double)failed / (double)perpi_design_runs(e->study));
}

static void note_best(perpi_design_state* e, int64_t evaluation)
{
    const perpi_point* p = &e->point[evaluation - 1];
    perp_design_report* r = &e->report;
    if (!isnan(p->objective) && !(p->objective <= e->worst)) {
        e->worst = p->objective;
    }
    if (evaluation == 1) {
        r->start_value = p->objective;
        r->start_violation = p->violation;
    }
    if (!isnan(p->objective) && (r->best == 0 || perpi_point_better(p, &e->point[r->best - 1]))) {
        r->best = evaluation;
        r->best_value = p->objective;
        r->best_violation = p->violation;
        r->feasible = p->violation <= 0.0;
        r->best_constraint = -1;
        const double* constraint = e->constraint + (evaluation - 1) * e->d->constraint_count;
        for (int32_t i = 0; i < e->d->constraint_count; ++i) {
            const double most = r->best_constraint < 0 ? 0.0 : constraint[r->best_constraint];
            r->best_constraint = constraint[i] > most ? i : r->best_constraint;
        }
    }
}

static perp_status finish_candidate(perpi_design_state* e, int64_t evaluation, int64_t k,
                                    double factor)
{
    const int64_t runs = perpi_design_runs(e->study);
    const int32_t m = e->d->constraint_count;
    perpi_point* p = &e->point[evaluation - 1];
    double* constraint = e->constraint + (evaluation - 1) * m;
    double seconds = 0.0;
    *p = (perpi_point){.start = e->report.start};
    for (int32_t i = 0; i < m; ++i) {
        constraint[i] = -INFINITY;
    }
    for (int64_t i = k * runs; i < (k + 1) * runs; ++i) {
        p->failed += isnan(e->cost[i]) ? 1 : 0;
        seconds += e->run_seconds[i];
        for (int32_t j = 0; j < m; ++j) {
            const double g = isnan(e->cost[i]) ? NAN : e->margin[i * m + j];
            constraint[j] = g <= constraint[j] ? constraint[j] : g;
        }
    }
    p->objective = p->failed > 0 ? NAN : perpi_design_combine(e, e->cost + k * runs);
    for (int32_t j = 0; j < m; ++j) {
        constraint[j] = p->failed > 0 ? NAN : constraint[j];
        p->violation = constraint[j] <= p->violation ? p->violation : constraint[j];
    }
    if (!isfinite(p->objective)) { /* also a sum beyond the range of numbers */
        p->objective = p->violation = NAN;
        p->penalty = penalty_of(e, p->failed);
    }
    const bool half_step = factor != 1.0;
    if (e->d->method == PERP_DESIGN_GRADIENT && !half_step) {
        finish_slope(e, evaluation, k);
    }
    if (!half_step) {
        e->report.found += e->fresh[k] ? 0 : 1;
        note_best(e, evaluation);
    } else {
        e->report.half_step = true;
        e->report.half_value = p->objective;
        e->report.half_violation = p->violation;
    }
    if (e->message[k][0] != '\0' && e->report.message[0] == '\0') {
        (void)snprintf(e->report.message, sizeof e->report.message, "%s", e->message[k]);
    }
    const perp_evaluation row = {
        .id = evaluation,
        .unknown = perpi_design_candidate(e->study, evaluation),
        .objective = p->objective,
        .constraint = constraint,
        .violation = p->violation,
        .merit = isnan(p->objective) ? p->penalty : p->objective,
        .best = e->report.best > 0 && e->report.feasible ? e->report.best_value : NAN,
        .feasible = p->violation <= 0.0,
        .half_step = half_step,
        .start = p->start,
        .failed = p->failed,
        .seconds = seconds,
        .message = e->message[k],
        .searched_by = half_step    ? ""
                       : e->on_side ? "one-sided"
                                    : perp_design_method_name(perpi_design_method_now(e->d)),
        .flagged = p->flagged,
    };
    return perpi_writer_evaluation(e->writer, &row);
}

/* ---- candidates -------------------------------------------------------------------------------*/

/* The evaluation of the same numbers; 0: there is none. */
static int64_t find_candidate(const perpi_design_state* e, const double* x, double factor)
{
    const int32_t n = e->d->unknown_count;
    for (int64_t k = e->d->candidate_count; k >= 1; --k) {
        const double* c = perpi_design_candidate(e->study, k);
        bool same = c[n] == factor;
        for (int32_t i = 0; same && i < n; ++i) {
            same = c[i] == x[i];
        }
        if (same) {
            return k;
        }
    }
    return 0;
}

static perp_status add_candidates(perpi_design_state* e, int32_t count, const double* x,
                                  double factor, int64_t* index)
{
    const int32_t n = e->d->unknown_count;
    double candidate[PERPI_DESIGN_UNKNOWNS + 1];
    for (int32_t k = 0; k < count; ++k) {
        const int64_t known = find_candidate(e, x + k * n, factor);
        if (known > 0) {
            index[k] = known - 1;
            continue;
        }
        index[k] = e->d->candidate_count;
        memcpy(candidate, x + k * n, (size_t)n * sizeof *candidate);
        candidate[n] = factor;
        PERPI_TRY(perpi_design_put(e->study, e->d->candidate_count + 1, candidate));
    }
    const size_t total = (size_t)e->d->candidate_count;
    PERPI_TRY(perpi_grow(e->context, &e->point, &e->point_room, total, sizeof *e->point));
    PERPI_TRY(perpi_grow(e->context, &e->slope, &e->slope_room, total * (size_t)slope_size(e) + 1,
                         sizeof *e->slope));
    return perpi_grow(e->context, &e->constraint, &e->constraint_room,
                      total * (size_t)e->d->constraint_count + 1, sizeof *e->constraint);
}

bool perpi_design_evaluate(perpi_design_state* e, int32_t count, const double* x, double factor,
                           int64_t* index)
{
    const int64_t first = e->count + 1;
    perp_status status = add_candidates(e, count, x, factor, index);
    const int64_t fresh = e->d->candidate_count - e->count;
    if (status == PERP_OK && factor == 1.0 && e->d->candidate_count > e->allowed) {
        e->d->candidate_count = e->count;
        e->limited = true;
        return false;
    }
    if (status == PERP_OK && fresh > 0) {
        status = prepare_batch(e, first, fresh);
        if (status == PERP_OK) {
            status = run_batch(e);
        }
        for (int64_t k = 0; status == PERP_OK && !e->stopped && k < fresh; ++k) {
            status = finish_candidate(e, first + k, k, factor);
            e->count += status == PERP_OK && factor == 1.0 ? 1 : 0;
        }
        if (status == PERP_OK) {
            status = perpi_writer_commit(e->writer, COMMIT_SECONDS);
        }
        show_progress(e);
    }
    e->status = e->status == PERP_OK ? status : e->status;
    return e->status == PERP_OK && !e->stopped;
}
