/* src/study/design_search.c - the searches of a design: coordinates, several starts, constraints.
 *
 * A search works in coordinates z in which a start is 0 and the first steps have the length 1.
 *
 * Source     augmented Lagrangian: Birgin, Martinez, Improving ultimate convergence of an augmented Lagrangian method,
 *            Optimization Methods and Software 23 (2008); NLopt's auglag follows the same paper
 * Departure  objective and constraints are divided by their changes over the first steps from the start, so that the penalty
 *            parameter has no unit; constraints are tightened by TIGHTEN of that change, so that the answer satisfies
 *            them exactly and not only in the limit
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "study/design_run.h"

#define TIGHTEN 1e-6 /* of a constraint, in units of its change over the first steps */
#define PENALTY 10.0
#define PENALTY_GROWTH 10.0
enum { ROUNDS = 20 };

typedef struct design_search {
    perpi_design_state* e;
    const double* origin;
    double unit[PERPI_DESIGN_UNKNOWNS];
    double low[PERPI_DESIGN_UNKNOWNS], high[PERPI_DESIGN_UNKNOWNS];
    double* x;      /* candidates of a call */
    int64_t* index; /* their places */
    size_t x_room, index_room;
    int64_t first; /* evaluation at which the present start began */
    bool flat;
    bool folded; /* coordinates are not bounded: beyond a bound they run back */
    /* constraints */
    double objective_unit, rho;
    double constraint_unit[PERPI_DESIGN_CONSTRAINTS], lambda[PERPI_DESIGN_CONSTRAINTS];
} design_search;

/* A constraint of a candidate, tightened, in units of its change; one without a value counts as far outside. */
static double scaled_constraint(const design_search* s, int64_t index, int32_t i)
{
    const perpi_design_state* e = s->e;
    const double g = e->constraint[index * e->d->constraint_count + i];
    return isnan(g) ? 1.0 : g / s->constraint_unit[i] + TIGHTEN;
}

/* What the method minimises. */
static double merit_of(const design_search* s, int64_t index)
{
    const perpi_point* p = &s->e->point[index];
    const double value = isnan(p->objective) ? p->penalty : p->objective;
    if (s->e->d->constraint_count == 0) {
        return value;
    }
    double merit = value / s->objective_unit;
    for (int32_t i = 0; i < s->e->d->constraint_count; ++i) {
        const double shifted = scaled_constraint(s, index, i) + s->lambda[i] / s->rho;
        merit += shifted > 0.0 ? 0.5 * s->rho * shifted * shifted : 0.0;
    }
    return merit;
}

/* The coordinate on a line that is folded at both bounds. */
static double fold(const perp_unknown* u, double x)
{
    const double width = u->high - u->low, turns = (x - u->low) / width;
    const double part = turns - 2.0 * floor(0.5 * turns); /* in [0, 2] */
    return u->low + width * (part <= 1.0 ? part : 2.0 - part);
}

/* Bounds are met exactly, and never exceeded by rounding. */
static double from_z(const design_search* s, int32_t i, double z)
{
    const perp_unknown* u = &s->e->d->unknown[i];
    double x = s->origin[i] + s->unit[i] * z;
    if (s->folded && !(x >= u->low && x <= u->high)) {
        x = fold(u, x);
    } else if (!s->folded && !(z > s->low[i])) {
        return u->low;
    } else if (!s->folded && z >= s->high[i]) {
        return u->high;
    }
    return !(x > u->low) ? u->low : x > u->high ? u->high : x;
}

/* The first steps from the start changed nothing. */
static bool is_flat(const design_search* s)
{
    const perpi_design_state* e = s->e;
    const int64_t first = s->first, n = e->count - first;
    if (e->d->constraint_count > 0 || n < 2 * e->d->unknown_count + 2) {
        return false;
    }
    for (int64_t i = first; i < e->count; ++i) {
        if (!(e->point[i].objective == e->point[first].objective)) {
            return false;
        }
    }
    return true;
}

static bool evaluate_points(void* user, int32_t count, const double* z, double* value)
{
    design_search* s = user;
    perpi_design_state* e = s->e;
    const int32_t n = e->d->unknown_count;
    e->status = perpi_grow(e->context, &s->x, &s->x_room, (size_t)count * (size_t)n, sizeof *s->x);
    if (e->status == PERP_OK) {
        e->status =
            perpi_grow(e->context, &s->index, &s->index_room, (size_t)count, sizeof *s->index);
    }
    if (e->status != PERP_OK) {
        return false;
    }
    for (int32_t k = 0; k < count * n; ++k) {
        s->x[k] = from_z(s, k % n, z[k]);
    }
    if (!perpi_design_evaluate(e, count, s->x, 1.0, s->index)) {
        return false;
    }
    for (int32_t k = 0; k < count; ++k) {
        value[k] = merit_of(s, s->index[k]);
    }
    /* a population sees more of the objective: its method decides by itself */
    s->flat = perpi_design_method_now(e->d) != PERP_DESIGN_CMA_ES && is_flat(s);
    return !s->flat;
}

/* The gradient of what the method minimises, in its coordinates, at the point that was evaluated last. */
static bool slope_of_point(void* user, double* slope, int64_t* flagged)
{
    const design_search* s = user;
    const perpi_design_state* e = s->e;
    const int32_t n = e->d->unknown_count, m = e->d->constraint_count;
    const int64_t index = s->index[0];
    if (!e->point[index].sloped) {
        *flagged = 0;
        return false;
    }
    const double* of = e->slope + index * (1 + m + n) * n;
    *flagged = e->point[index].flagged;
    for (int32_t i = 0; i < n; ++i) {
        double sum = m > 0 ? of[i] / s->objective_unit : of[i];
        for (int32_t j = 0; j < m; ++j) {
            const double shifted = scaled_constraint(s, index, j) + s->lambda[j] / s->rho;
            sum += shifted > 0.0 ? s->rho * shifted * of[(1 + j) * n + i] / s->constraint_unit[j]
                                 : 0.0;
        }
        slope[i] = sum * s->unit[i];
    }
    return true;
}

/* Likewise its curvature: of the objective, and of the penalties that act. */
static bool curvature_of_point(void* user, double* curvature)
{
    const design_search* s = user;
    const perpi_design_state* e = s->e;
    const int32_t n = e->d->unknown_count, m = e->d->constraint_count;
    const int64_t index = s->index[0];
    double size = 0.0;
    if (!e->point[index].sloped) {
        return false;
    }
    const double *of = e->slope + index * (1 + m + n) * n, *own = of + (1 + m) * n;
    for (int32_t i = 0; i < n * n; ++i) {
        const int32_t a = i / n, b = i % n;
        double sum = m > 0 ? own[i] / s->objective_unit : own[i];
        size = fabs(sum) <= size ? size : fabs(sum);
        for (int32_t j = 0; j < m; ++j) {
            const double shifted = scaled_constraint(s, index, j) + s->lambda[j] / s->rho;
            const double* g = of + (1 + j) * n;
            const double unit = s->constraint_unit[j];
            sum += shifted > 0.0 ? s->rho * g[a] * g[b] / (unit * unit) : 0.0;
        }
        curvature[i] = sum * s->unit[a] * s->unit[b];
    }
    return size > 0.0;
}

/* The one-sided derivative of what the method minimises, at a point that was evaluated. */
static bool side_of_point(void* user, const double* z, const double* direction, double* slope)
{
    design_search* s = user;
    perpi_design_state* e = s->e;
    const int32_t n = e->d->unknown_count, m = e->d->constraint_count;
    double x[PERPI_DESIGN_UNKNOWNS], by[PERPI_DESIGN_UNKNOWNS], of[PERPI_DESIGN_CONSTRAINTS];
    double objective;
    int64_t index;
    for (int32_t i = 0; i < n; ++i) {
        x[i] = from_z(s, i, z[i]);
        by[i] = s->unit[i] * direction[i];
    }
    if (!perpi_design_evaluate(e, 1, x, 1.0, &index) || /* finds it */
        !perpi_design_direction(e, index, by, &objective, of)) {
        return false;
    }
    *slope = m > 0 ? objective / s->objective_unit : objective;
    for (int32_t j = 0; j < m; ++j) {
        const double shifted = scaled_constraint(s, index, j) + s->lambda[j] / s->rho;
        *slope += shifted > 0.0 ? s->rho * shifted * of[j] / s->constraint_unit[j] : 0.0;
    }
    return isfinite(*slope);
}

static void note_side(void* user, bool on)
{
    ((design_search*)user)->e->on_side = on;
}

/* Gradients are made, or no more; workers are forked with that. */
static void set_differentiate(perpi_design_state* e, bool on)
{
    if (e->d->method == PERP_DESIGN_GRADIENT && e->d->differentiate != on) {
        perpi_design_end_pool(e);
        e->d->differentiate = on;
    }
}

/* By gradients, until it ends or hands over: then origin and shrink are those of cma-es. */
static perpi_search_end search_gradient(design_search* s, const perpi_search* search,
                                        double* origin, double* shrink)
{
    perpi_design_state* e = s->e;
    perp_design_report* r = &e->report;
    perpi_gradient_outcome out;
    const perpi_search_end end = perpi_search_gradient(e->context, search, &out);
    r->gradient_steps += out.steps;
    r->flagged_steps += out.flagged;
    r->newton_steps += out.newton;
    r->turned_steps += out.turned;
    r->one_sided_steps += out.one_sided;
    r->at_kink = r->at_kink || (out.kink && end == PERPI_SEARCH_CONVERGED);
    if (end == PERPI_SEARCH_HANDED_OVER) {
        for (int32_t i = 0; i < e->d->unknown_count; ++i) {
            origin[i] = from_z(s, i, out.z[i]);
        }
        *shrink *= out.scale;
        set_differentiate(e, false);
        if (r->handed_over == 0) {
            r->handed_over = e->count;
            (void)snprintf(r->handed_over_reason, sizeof r->handed_over_reason, "%s%s%s",
                           out.reason, e->no_gradient[0] != '\0' ? ": " : "", e->no_gradient);
        }
    }
    return end;
}

static perpi_search_end note_end(design_search* s, perpi_search_end end, const char* text)
{
    perpi_design_state* e = s->e;
    if (end == PERPI_SEARCH_MEMORY && e->status == PERP_OK) {
        e->status = perpi_fail(e->context, PERP_ERROR_MEMORY, "out of memory");
    } else if (end == PERPI_SEARCH_FAILED && e->report.message[0] == '\0') {
        (void)snprintf(e->report.message, sizeof e->report.message, "%s ended: %s",
                       perp_design_method_name(e->d->method), text);
    }
    return end;
}

/* One search of the method from a point, with first steps of `shrink` times the scales. */
static perpi_search_end search_from(design_search* s, const double* origin, double shrink,
                                    double tolerance, uint32_t round)
{
    perpi_design_state* e = s->e;
    const perpi_design* d = e->d;
    double step[PERPI_DESIGN_UNKNOWNS];
    /* a simplex whose points are moved onto a bound loses a dimension; the other methods know bounds */
    s->folded = d->method == PERP_DESIGN_NELDER_MEAD;
    s->origin = origin;
    for (int32_t i = 0; i < d->unknown_count; ++i) {
        const perp_unknown* u = &d->unknown[i];
        s->unit[i] = u->scale * shrink;
        s->low[i] = (u->low - origin[i]) / s->unit[i];
        s->high[i] = (u->high - origin[i]) / s->unit[i];
        const double room = 0.4 * (s->high[i] - s->low[i]);
        step[i] = room < 1.0 ? room : 1.0;
        if (s->folded) { /* the first simplex stays inside */
            step[i] = step[i] <= s->high[i] ? step[i] : -step[i];
            s->low[i] = -INFINITY;
            s->high[i] = INFINITY;
        }
    }
    const int32_t start = e->report.start;
    int32_t population = d->population > 0 ? d->population : perpi_cma_population(d->unknown_count);
    for (int32_t k = 1; k < start && population < 5000; ++k) { /* larger ones find wider valleys */
        population *= 2;
    }
    const perp_design_method method = perpi_design_method_now(d);
    const perpi_search search = {.n = d->unknown_count,
                                 .low = s->low,
                                 .high = s->high,
                                 .step = step,
                                 .tolerance = tolerance / shrink,
                                 .budget = 4 * (e->allowed - e->count) + 100,
                                 .seed = e->study->seed,
                                 .stream = ((uint32_t)start << 8) | round,
                                 .population = population,
                                 .evaluate = evaluate_points,
                                 .slope = slope_of_point,
                                 .curvature = curvature_of_point,
                                 .side = side_of_point,
                                 .on_side = note_side,
                                 .user = s};
    const char* text = "";
    if (method == PERP_DESIGN_GRADIENT) {
        double next[PERPI_DESIGN_UNKNOWNS];
        const perpi_search_end end = search_gradient(s, &search, next, &shrink);
        if (end == PERPI_SEARCH_HANDED_OVER) {
            return search_from(s, next, shrink, tolerance, round);
        }
        return note_end(s, end, text);
    }
    const perpi_search_end end = method == PERP_DESIGN_CMA_ES
                                     ? perpi_search_cma(e->context, &search)
                                     : perpi_search_nlopt(method, &search, &text);
    return note_end(s, end, text);
}

/* The candidate of this start with the least merit under the present multipliers. */
static int64_t least_merit(const design_search* s)
{
    int64_t best = s->first;
    for (int64_t i = s->first; i < s->e->count; ++i) {
        best = merit_of(s, i) < merit_of(s, best) ? i : best;
    }
    return best;
}

/* The best point of this start with coordinates that are nearer to a bound than the tolerance moved onto it. */
static bool try_bounds(design_search* s)
{
    perpi_design_state* e = s->e;
    double x[PERPI_DESIGN_UNKNOWNS];
    int64_t index;
    memcpy(x, perpi_design_candidate(e->study, least_merit(s) + 1),
           (size_t)e->d->unknown_count * sizeof *x);
    for (int32_t i = 0; i < e->d->unknown_count; ++i) {
        const perp_unknown* u = &e->d->unknown[i];
        const double near = e->d->tolerance * u->scale;
        x[i] = x[i] - u->low <= near ? u->low : u->high - x[i] <= near ? u->high : x[i];
    }
    return perpi_design_evaluate(e, 1, x, 1.0, &index);
}

/* ---- constraints ------------------------------------------------------------------------------*/

/* How objective and constraints change over the first steps from the start. */
static bool find_units(design_search* s, const double* start)
{
    perpi_design_state* e = s->e;
    const perpi_design* d = e->d;
    const int32_t n = d->unknown_count;
    double x[PERPI_DESIGN_UNKNOWNS];
    int64_t index;
    double low[PERPI_DESIGN_CONSTRAINTS + 1], high[PERPI_DESIGN_CONSTRAINTS + 1];
    for (int32_t j = 0; j <= d->constraint_count; ++j) {
        low[j] = INFINITY;
        high[j] = -INFINITY;
    }
    for (int32_t k = 0; k <= n; ++k) {
        memcpy(x, start, (size_t)n * sizeof *x);
        if (k > 0) {
            const perp_unknown* u = &d->unknown[k - 1];
            const double room = 0.4 * (u->high - u->low);
            const double step = u->scale < room ? u->scale : room;
            x[k - 1] += x[k - 1] + step <= u->high ? step : -step;
        }
        if (!perpi_design_evaluate(e, 1, x, 1.0, &index)) {
            return false;
        }
        for (int32_t j = 0; j <= d->constraint_count; ++j) {
            const double v = j < d->constraint_count
                                 ? e->constraint[index * d->constraint_count + j]
                                 : e->point[index].objective;
            low[j] = v < low[j] ? v : low[j];
            high[j] = v > high[j] ? v : high[j];
        }
    }
    for (int32_t j = 0; j <= d->constraint_count; ++j) {
        const double change = high[j] - low[j], size = fabs(high[j]);
        const double unit = change > 1e-12 * size ? change : size > 0.0 ? size : 1.0;
        const double safe = isfinite(unit) ? unit : 1.0;
        if (j < d->constraint_count) {
            s->constraint_unit[j] = safe;
        } else {
            s->objective_unit = safe;
        }
    }
    return true;
}

static perpi_search_end search_constrained(design_search* s, const double* start)
{
    perpi_design_state* e = s->e;
    const perpi_design* d = e->d;
    double origin[PERPI_DESIGN_UNKNOWNS], shrink = 1.0, before = INFINITY;
    double tolerance = d->tolerance < 1e-2 ? 1e-2 : d->tolerance;
    perpi_search_end end = PERPI_SEARCH_STOPPED;
    if (!find_units(s, start)) {
        return end;
    }
    memcpy(origin, start, (size_t)d->unknown_count * sizeof *origin);
    s->rho = PENALTY;
    memset(s->lambda, 0, sizeof s->lambda);
    for (uint32_t round = 0; round < ROUNDS; ++round) {
        end = search_from(s, origin, shrink, tolerance, round);
        if (e->status != PERP_OK || e->stopped || e->limited) {
            return end;
        }
        const int64_t best = least_merit(s);
        memcpy(origin, perpi_design_candidate(e->study, best + 1),
               (size_t)d->unknown_count * sizeof *origin);
        double error = 0.0; /* of feasibility and complementarity */
        for (int32_t i = 0; i < d->constraint_count; ++i) {
            const double c = scaled_constraint(s, best, i), slack = -s->lambda[i] / s->rho;
            const double one = fabs(c > slack ? c : slack);
            error = one > error ? one : error;
        }
        if (error <= TIGHTEN && tolerance <= d->tolerance) {
            return PERPI_SEARCH_CONVERGED;
        }
        for (int32_t i = 0; i < d->constraint_count; ++i) {
            const double next = s->lambda[i] + s->rho * scaled_constraint(s, best, i);
            s->lambda[i] = next > 0.0 ? next : 0.0;
        }
        s->rho *= error > 0.25 * before ? PENALTY_GROWTH : 1.0;
        before = error;
        tolerance = 0.1 * tolerance > d->tolerance ? 0.1 * tolerance : d->tolerance;
        shrink = shrink > 0.01 ? 0.3 * shrink : shrink;
    }
    return PERPI_SEARCH_BUDGET;
}

/* ---- starts -----------------------------------------------------------------------------------*/

static void start_point(const perpi_design_state* e, int32_t start, double* x)
{
    const perpi_design* d = e->d;
    const perpi_draw draw = {
        .seed = e->study->seed, .block = 0, .trial = start - 2, .trials = d->starts};
    const perpi_sampling method =
        d->unknown_count <= 100 ? PERPI_SAMPLING_SOBOL : PERPI_SAMPLING_LATIN_HYPERCUBE;
    for (int32_t i = 0; i < d->unknown_count; ++i) {
        const perp_unknown* u = &d->unknown[i];
        const double drawn =
            start == 1 ? 0.0 : u->low + (u->high - u->low) * perpi_sample(method, &draw, i);
        x[i] = start == 1 ? u->start : drawn < u->high ? drawn : u->high;
    }
}

static bool all_equal(const perpi_design_state* e)
{
    for (int64_t i = 0; i < e->count; ++i) {
        if (!(e->point[i].objective == e->point[0].objective)) {
            return false;
        }
    }
    return e->count > 1;
}

void perpi_design_search(perpi_design_state* e)
{
    const perpi_design* d = e->d;
    design_search s = {.e = e};
    double x[PERPI_DESIGN_UNKNOWNS];
    perpi_search_end end = PERPI_SEARCH_CONVERGED;
    bool flat = false, converged = false;
    for (int32_t start = 1; start <= d->starts && e->status == PERP_OK && !e->stopped; ++start) {
        int64_t index;
        e->report.start = start;
        e->limited = false;
        set_differentiate(e, true);
        e->allowed = e->count + (d->evaluations - e->count) / (d->starts - start + 1);
        s.first = e->count;
        start_point(e, start, x);
        /* the start itself is the first candidate, whatever points a method begins with */
        if (!perpi_design_evaluate(e, 1, x, 1.0, &index)) {
            continue;
        }
        end = d->constraint_count > 0 ? search_constrained(&s, x)
                                      : search_from(&s, x, 1.0, d->tolerance, 0);
        if (end == PERPI_SEARCH_CONVERGED && !try_bounds(&s)) {
            end = PERPI_SEARCH_STOPPED;
        }
        flat = flat || s.flat;
        converged = converged || end == PERPI_SEARCH_CONVERGED;
    }
    e->report.end = e->stopped            ? PERP_DESIGN_INTERRUPTED
                    : e->report.best == 0 ? PERP_DESIGN_NO_VALUE
                    : (flat || converged) && all_equal(e) && d->constraint_count == 0
                        ? PERP_DESIGN_FLAT
                    : converged ? PERP_DESIGN_CONVERGED
                                : PERP_DESIGN_LIMIT;
    perpi_free(e->context, s.x);
    perpi_free(e->context, s.index);
}
