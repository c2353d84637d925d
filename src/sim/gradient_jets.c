/* src/sim/gradient_jets.c - see gradient_jets.h. The rules of sampling are those of measure.c and
 * measure_timed.c. */
#include "sim/gradient_jets.h"

#include <string.h>

#include "sim/gradient_quantity.h"
#include "sim/measure.h"
#include "sim/measure_timed.h"

enum {
    MOST_CURVED = PERPI_EXPR_SQUARE_SLOTS
}; /* slots of an expression whose curvature is computed */

/* A measure that takes part. Jets: value, gradient, curvature. */
typedef struct jet_measure {
    bool used, wanted;
    const perp_measure_def* def;
    const perpi_expr* expr;
    bool seen, settled;
    double first_time, last_time;
    double next, since; /* perpi_timed */
    double *value, *last, *area;
} jet_measure;

struct perpi_jets {
    perpi_gradient_work* g;
    jet_measure* measure;
    int32_t measure_count;
    int32_t n, width; /* parameters; numbers of a jet */
    bool curvature;
    double* room;
    double* quantity;     /* jets of quantities, at state quantity_at */
    int64_t* quantity_at; /* -1: none */
    double *sample, *part, *row;
    bool* need;
    int64_t k; /* the present state */
    size_t frame;
};

/* ---- creation ------------------------------------------------------------------------------------*/

static void mark_used(perpi_jets* j, int32_t measure)
{
    const perp_sim* sim = j->g->sim;
    bool of_step;
    jet_measure* m = &j->measure[measure];
    m->used = true;
    m->def = &sim->asked.measure[measure];
    m->expr = perpi_measures_expr(sim, measure, &of_step);
}

perp_status perpi_jets_create(perpi_gradient_work* g, const int32_t* measure, int32_t count,
                              bool curvature, perpi_jets** out)
{
    perpi_jets* j = NULL;
    const size_t n = (size_t)g->in->parameter_count;
    const size_t width = (size_t)perpi_jet_width((int32_t)n, curvature);
    const size_t measures = (size_t)g->sim->asked.measure_count,
                 quantities = (size_t)g->quantity_count;
    perp_status status = perpi_alloc(g->context, 1, sizeof *j, &j);
    if (status != PERP_OK) {
        return status;
    }
    *j = (perpi_jets){.g = g,
                      .measure_count = (int32_t)measures,
                      .n = (int32_t)n,
                      .width = (int32_t)width,
                      .curvature = curvature};
    status = perpi_alloc(g->context, measures + 1, sizeof *j->measure, &j->measure);
    if (status == PERP_OK) {
        status = perpi_alloc(g->context, measures + 1, sizeof *j->need, &j->need);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(g->context, quantities + 1, sizeof *j->quantity_at, &j->quantity_at);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(g->context, width * (3 * measures + quantities + 3), sizeof *j->room,
                             &j->room);
    }
    if (status != PERP_OK) {
        perpi_jets_destroy(j);
        return status;
    }
    double* at = j->room;
    for (size_t i = 0; i < measures; ++i, at += 3 * width) {
        j->measure[i].value = at;
        j->measure[i].last = at + width;
        j->measure[i].area = at + 2 * width;
    }
    j->quantity = at;
    j->sample = at + width * quantities;
    j->part = j->sample + width;
    j->row = j->part + width;
    for (int32_t i = 0; i < count; ++i) {
        mark_used(j, measure[i]);
        j->measure[measure[i]].wanted = true;
    }
    for (int32_t i = (int32_t)measures - 1; i >= 0; --i) { /* measures stand before those of them */
        for (int32_t k = 0; j->measure[i].used && k < i; ++k) {
            if (perpi_expr_has_slot(j->measure[i].expr, k)) {
                mark_used(j, k);
            }
        }
    }
    *out = j;
    return PERP_OK;
}

void perpi_jets_destroy(perpi_jets* j)
{
    if (j == NULL) {
        return;
    }
    void* const owned[] = {j->measure, j->need, j->quantity_at, j->room};
    perp_context* context = j->g->context;
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; ++i) {
        perpi_free(context, owned[i]);
    }
    perpi_free(context, j);
}

void perpi_jets_begin(perpi_jets* j)
{
    for (int32_t i = 0; i < j->measure_count; ++i) {
        jet_measure* m = &j->measure[i];
        m->seen = m->settled = false;
        m->next = m->since = 0.0;
        memset(m->value, 0, 3 * (size_t)j->width * sizeof *m->value);
        m->value[0] = NAN;
    }
    for (int32_t i = 0; i < j->g->quantity_count; ++i) {
        j->quantity_at[i] = -1;
    }
}

const double* perpi_jets_of(const perpi_jets* j, int32_t measure)
{
    return j->measure[measure].value;
}

/* ---- the jet of an expression ----------------------------------------------------------------------*/

static void add_scaled(const perpi_jets* j, double scale, const double* from, double* to)
{
    for (int32_t i = 0; i < j->width; ++i) {
        to[i] += scale * from[i];
    }
}

static const double* quantity_jet(perpi_jets* j, int32_t i)
{
    perpi_gradient_work* g = j->g;
    double* to = j->quantity + (size_t)i * (size_t)j->width;
    if (j->quantity_at[i] == j->k) {
        return to;
    }
    const perpi_view view = perpi_gradient_view(g, j->frame);
    memset(to, 0, (size_t)j->width * sizeof *to);
    to[0] = g->slot[g->slot_base + i];
    memset(g->y, 0, (size_t)g->size.total * sizeof *g->y);
    perpi_quantity_differentiate(&view, &g->quantity[i], 1.0, g->q, g->v, g->y);
    for (int32_t p = 0; p < j->n; ++p) {
        to[1 + p] =
            perpi_gradient_dot(g->size.total, g->y, g->forward + (size_t)p * (size_t)g->size.total);
    }
    perpi_gradient_add_quantity(g, &view, &g->quantity[i], 1.0, to + 1);
    j->quantity_at[i] = j->k;
    return to;
}

static const double* slot_jet(perpi_jets* j, int32_t slot)
{
    return slot < j->measure_count ? j->measure[slot].value
                                   : quantity_jet(j, slot - j->g->slot_base);
}

static double by_slot(const jet_measure* m, double t, const double* slots, int32_t slot)
{
    double margin, by = 0.0;
    if (m->def->kind == PERP_MEASURE_FIRST_TIME) {
        (void)perpi_expr_margin_derivative(m->expr, t, slots, slot, &margin, &by);
        return by;
    }
    return perpi_expr_slot_derivative(m->expr, t, slots, slot);
}

/* A term of the curvature of an expression: weight x x^T, x by its slots. */
typedef struct curvature_sum {
    perpi_jets* j;
    const int32_t* slot;
    int32_t count;
    double* out;
} curvature_sum;

static void add_square(void* user, double weight, const double* x)
{
    const curvature_sum* s = user;
    perpi_jets* j = s->j;
    double* row = j->row;
    memset(row, 0, (size_t)j->n * sizeof *row);
    for (int32_t i = 0; i < s->count; ++i) {
        const double* by = x[i] != 0.0 ? slot_jet(j, s->slot[i]) + 1 : NULL;
        for (int32_t p = 0; by != NULL && p < j->n; ++p) {
            row[p] += x[i] * by[p];
        }
    }
    double* to = s->out + 1 + j->n;
    for (int32_t p = 0; p < j->n; ++p) {
        for (int32_t q = 0; q <= p; ++q) {
            *to++ += weight * row[p] * row[q];
        }
    }
}

/* What the expression has of the parameters themselves. */
static void add_explicit(const perpi_jets* j, int32_t index, double t, double* out)
{
    const perpi_gradient_work* g = j->g;
    const bool condition = j->measure[index].def->kind == PERP_MEASURE_FIRST_TIME;
    for (int32_t p = 0; p < j->n; ++p) {
        const perpi_gradient_parameter* by = &g->in->parameter[p];
        perpi_expr* const* expr =
            by->expr != NULL ? by->expr + PERPI_GRADIENT_MODELS * index : NULL;
        for (int i = 0; expr != NULL && expr[0] != NULL && i < PERPI_GRADIENT_MODELS; ++i) {
            double value = 0.0;
            if (condition) {
                (void)perpi_expr_margin(expr[i], t, g->slot, &value);
            } else {
                value = perpi_expr_eval_names(expr[i], t, g->slot);
            }
            out[1 + p] += by->weight[i] * value;
        }
    }
}

/* The jet of the expression of a measure at the present state; of a condition, of its margin. */
static void evaluate_jet(perpi_jets* j, int32_t index, double t, double* out)
{
    perpi_gradient_work* g = j->g;
    const jet_measure* m = &j->measure[index];
    int32_t slot[MOST_CURVED], curved = 0;
    const int32_t slots = g->slot_base + g->quantity_count;
    memset(out, 0, (size_t)j->width * sizeof *out);
    for (int32_t s = 0; s < slots; ++s) {
        if (!perpi_expr_has_slot(m->expr, s)) {
            continue;
        }
        const double by = by_slot(m, t, g->slot, s);
        if (by != 0.0) {
            add_scaled(j, by, slot_jet(j, s), out);
        }
        if (curved < MOST_CURVED) {
            slot[curved] = s;
        }
        curved += 1;
    }
    if (m->def->kind == PERP_MEASURE_FIRST_TIME) {
        (void)perpi_expr_margin(m->expr, t, g->slot, &out[0]);
    } else {
        out[0] = perpi_expr_eval_names(m->expr, t, g->slot);
    }
    add_explicit(j, index, t, out);
    if (j->curvature && curved <= MOST_CURVED) {
        perpi_expr_squares(m->expr, t, g->slot, slot, curved, add_square,
                           &(curvature_sum){j, slot, curved, out});
    }
}

/* ---- sampling --------------------------------------------------------------------------------------*/

static double window_every(const perp_measure_def* def)
{
    return def->every > 0.0 ? def->every : def->over;
}

static bool is_window(const perp_measure_def* def)
{
    return def->over > 0.0;
}

/* Whether the expression counts at state k, before it is known whether others need it. */
static bool counts(const perpi_jets* j, const jet_measure* m, int64_t k)
{
    const perpi_gradient_work* g = j->g;
    const int64_t last = g->count - 1;
    const double begin = g->time[0], t = g->time[k];
    if (is_window(m->def)) { /* a step to either side lies in a window */
        const double from = g->time[k > 0 ? k - 1 : 0], to = g->time[k < last ? k + 1 : last];
        const double every = window_every(m->def);
        const double end = begin + ceil((from - begin) / every) * every;
        return m->next == 0.0 || end - m->def->over <= to || end - every >= from;
    }
    switch (m->def->kind) {
    case PERP_MEASURE_END: return m->wanted && k == last;
    case PERP_MEASURE_SUM: return perpi_timed_passed(t - begin, m->def->every) > m->next;
    default: return !m->settled;
    }
}

static void take_extreme(const perpi_jets* j, jet_measure* m, const double* x)
{
    const bool largest = m->def->kind == PERP_MEASURE_MAX;
    const bool replaces = largest ? !(x[0] <= m->value[0]) : !(x[0] >= m->value[0]);
    if (!m->seen || (replaces && !isnan(m->value[0]))) {
        memcpy(m->value, x, (size_t)j->width * sizeof *x);
    }
}

static void take_area(const perpi_jets* j, jet_measure* m, const double* x, double t)
{
    if (!m->seen) {
        m->first_time = t;
        memset(m->area, 0, (size_t)j->width * sizeof *m->area);
    } else {
        add_scaled(j, 0.5 * (t - m->last_time), m->last, m->area);
        add_scaled(j, 0.5 * (t - m->last_time), x, m->area);
    }
    const double time = t - m->first_time;
    if (m->def->kind == PERP_MEASURE_MEAN && !(time > 0.0)) {
        memcpy(m->value, x, (size_t)j->width * sizeof *x);
        return;
    }
    memset(m->value, 0, (size_t)j->width * sizeof *m->value);
    add_scaled(j, m->def->kind == PERP_MEASURE_MEAN ? 1.0 / time : 1.0, m->area, m->value);
}

static void take_sum(const perpi_jets* j, jet_measure* m, const double* x, double elapsed)
{
    const double passed = perpi_timed_passed(elapsed, m->def->every);
    if (!(passed > m->next)) {
        return;
    }
    if (m->since == 0.0) {
        m->value[0] = 0.0;
    }
    add_scaled(j, passed - m->next, x, m->value);
    m->since = 1.0;
    m->next = passed;
}

/* area += the integral from `from` to `to` within the step that led to the sample. */
static void add_area_in_step(const perpi_jets* j, jet_measure* m, const double* x, double t,
                             double from, double to)
{
    const double t0 = m->last_time;
    const double a = from > t0 ? from : t0, b = to < t ? to : t;
    if (b > a) {
        const double part = (0.5 * (a + b) - t0) / (t - t0);
        add_scaled(j, (b - a) * (1.0 - part), m->last, m->area);
        add_scaled(j, (b - a) * part, x, m->area);
    }
}

static bool take_window(const perpi_jets* j, jet_measure* m, const double* x, double t)
{
    static const double REACHED = 1e-9; /* of measure_timed.c */
    const double begin = j->g->time[0], every = window_every(m->def), over = m->def->over;
    const double passed = perpi_timed_passed(t - begin, every);
    bool has = false;
    if (m->next == 0.0) {
        m->since = m->last_time = t;
        memcpy(m->last, x, (size_t)j->width * sizeof *x);
        m->next = perpi_timed_passed(t - begin, every) + 1.0;
    }
    if (passed >= m->next) {
        if (passed > m->next) {
            m->next = passed;
            memset(m->area, 0, (size_t)j->width * sizeof *m->area);
        }
        const double end = begin + m->next * every;
        add_area_in_step(j, m, x, t, end - over, end);
        if (m->since <= end - over + REACHED * every) {
            memset(m->value, 0, (size_t)j->width * sizeof *m->value);
            add_scaled(j, m->def->kind == PERP_MEASURE_MEAN ? 1.0 / over : 1.0, m->area, m->value);
            has = true;
        }
        m->next += 1.0;
        memset(m->area, 0, (size_t)j->width * sizeof *m->area);
    }
    const double end = begin + m->next * every;
    add_area_in_step(j, m, x, t, end - over, end);
    return has;
}

/* Between the samples the margin is linear in time. */
static void take_first_time(const perpi_jets* j, jet_measure* m, const double* x, double t)
{
    const double before = m->last[0], after = x[0];
    const bool holds =
        perpi_expr_eval_names(m->expr, t, j->g->slot) != 0.0; /* the comparison itself */
    const bool crossed = m->seen && before <= 0.0 && after > before;
    if (!holds) {
        return;
    }
    m->settled = true;
    memset(m->value, 0, (size_t)j->width * sizeof *m->value);
    m->value[0] = t;
    if (crossed) {
        const double span = t - m->last_time, rise = after - before;
        for (int32_t i = 1; i <= j->n; ++i) {
            m->value[i] = span * (before * x[i] - after * m->last[i]) / (rise * rise);
        }
        m->value[0] = m->last_time - before / rise * span;
    }
}

static bool uses_have_values(const perpi_jets* j, int32_t index)
{
    const jet_measure* m = &j->measure[index];
    bool all = true;
    for (int32_t i = 0; i < index; ++i) {
        const jet_measure* use = &j->measure[i];
        if (use->used && perpi_expr_has_slot(m->expr, i)) {
            all = all && use->seen && (use->def->kind != PERP_MEASURE_FIRST_TIME || use->settled);
        }
    }
    return all;
}

static void sample_measure(perpi_jets* j, int32_t index, double t)
{
    jet_measure* m = &j->measure[index];
    const double* x = j->sample;
    bool seen = true;
    evaluate_jet(j, index, t, j->sample);
    if (is_window(m->def)) {
        seen = take_window(j, m, x, t) || m->seen;
    } else {
        switch (m->def->kind) {
        case PERP_MEASURE_MAX:
        case PERP_MEASURE_MIN: take_extreme(j, m, x); break;
        case PERP_MEASURE_MEAN:
        case PERP_MEASURE_INTEGRAL: take_area(j, m, x, t); break;
        case PERP_MEASURE_SUM: take_sum(j, m, x, t - j->g->time[0]); break;
        case PERP_MEASURE_FIRST_TIME: take_first_time(j, m, x, t); break;
        default: memcpy(m->value, x, (size_t)j->width * sizeof *x); break;
        }
    }
    m->seen = seen;
    memcpy(m->last, x, (size_t)j->width * sizeof *x);
    m->last_time = t;
}

void perpi_jets_sample(perpi_jets* j, int64_t k, size_t frame)
{
    perpi_gradient_work* g = j->g;
    const double t = g->time[k];
    bool any = false;
    for (int32_t i = j->measure_count - 1; i >= 0; --i) {
        const jet_measure* m = &j->measure[i];
        j->need[i] = m->used && counts(j, m, k);
        for (int32_t v = i + 1; m->used && !j->need[i] && v < j->measure_count; ++v) {
            j->need[i] = m->def->kind == PERP_MEASURE_END && j->need[v] &&
                         perpi_expr_has_slot(j->measure[v].expr, i);
        }
        any = any || j->need[i];
    }
    if (!any) {
        return;
    }
    const perpi_view view = perpi_gradient_view(g, frame);
    j->k = k;
    j->frame = frame;
    for (int32_t i = 0; i < g->quantity_count; ++i) {
        bool read = false;
        for (int32_t m = 0; m < j->measure_count; ++m) {
            read =
                read || (j->need[m] && perpi_expr_has_slot(j->measure[m].expr, g->slot_base + i));
        }
        if (read) {
            g->slot[g->slot_base + i] = perpi_quantity_at(&view, &g->quantity[i]);
        }
    }
    for (int32_t i = 0; i < j->measure_count; ++i) {
        if (j->need[i] && uses_have_values(j, i)) {
            sample_measure(j, i, t);
        }
        if (j->measure[i].used) {
            g->slot[i] = j->measure[i].value[0];
        }
    }
}
