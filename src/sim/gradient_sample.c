/* src/sim/gradient_sample.c - what the states of a run add to the derivatives of its measure. */
#include "sim/gradient_quantity.h"
#include "sim/gradient_run.h"
#include "sim/gradient_uses.h"
#include "sim/measure.h"
#include "sim/measure_timed.h"

/* Weight of state k in a window (measure_timed.h): the expression is linear in a step. */
double perpi_gradient_window_weight(const perpi_gradient_work* g, int64_t k,
                                    const perp_measure_def* def, double window)
{
    const double every = def->every > 0.0 ? def->every : def->over;
    const double begin = g->time[0], end = begin + window * every;
    double weight = 0.0;
    for (int side = 0; side < 2; ++side) { /* the steps before and after the state */
        const int64_t from = k - 1 + side;
        if (from < 0 || from + 1 >= g->count || !(end > begin)) {
            continue;
        }
        const double t0 = g->time[from], t1 = g->time[from + 1];
        const double a = end - def->over > t0 ? end - def->over : t0, b = end < t1 ? end : t1;
        const double part = (0.5 * (a + b) - t0) / (t1 - t0);
        weight += b > a ? (b - a) * (side == 0 ? part : 1.0 - part) : 0.0;
    }
    return weight / (def->kind == PERP_MEASURE_MEAN ? def->over : 1.0);
}

/* Weight of state k in the measure; of a condition that becomes true, of its margin. */
static double weight_of(const perpi_gradient_work* g, int64_t k)
{
    const int64_t last = g->count - 1;
    const double left = k > 0 ? g->time[k] - g->time[k - 1] : 0.0;
    const double right = k < last ? g->time[k + 1] - g->time[k] : 0.0;
    const double span = g->time[last] - g->time[0];
    const perp_measure_def* def = &g->sim->asked.measure[g->in->measure];
    if (def->over > 0.0) {
        /* the last one that has ended */
        const double every = def->every > 0.0 ? def->every : def->over;
        return perpi_gradient_window_weight(g, k, def,
                                            perpi_timed_passed(g->time[last] - g->time[0], every));
    }
    switch (g->kind) {
    case PERP_MEASURE_MAX:
    case PERP_MEASURE_MIN: return k == g->extreme ? 1.0 : 0.0;
    case PERP_MEASURE_MEAN:
        return span > 0.0 ? 0.5 * (left + right) / span : (k == last ? 1.0 : 0.0);
    case PERP_MEASURE_INTEGRAL: return 0.5 * (left + right);
    case PERP_MEASURE_SUM: {
        const double every = def->every;
        const double begin = g->time[0];
        return k == 0 ? 0.0
                      : perpi_timed_passed(g->time[k] - begin, every) -
                            perpi_timed_passed(g->time[k - 1] - begin, every);
    }
    case PERP_MEASURE_FIRST_TIME:
        return g->crossing > 0 && (k == g->crossing || k == g->crossing - 1) ? 1.0 : 0.0;
    default: return k == last ? 1.0 : 0.0;
    }
}

perpi_view perpi_gradient_view(const perpi_gradient_work* g, size_t frame)
{
    const perpi_tape* t = &g->tape;
    return (perpi_view){.model = g->model,
                        .sim = g->sim,
                        .q = perpi_tape_q(t, frame),
                        .v = perpi_tape_v(t, frame),
                        .memory = perpi_tape_s(t, frame),
                        .joint = perpi_tape_joint(t, frame)};
}

void perpi_gradient_read_slots(const perpi_gradient_work* g, const perpi_expr* expr,
                               const perpi_view* view)
{
    for (int32_t i = 0; i < g->quantity_count; ++i) {
        if (perpi_expr_has_slot(expr, g->slot_base + i)) {
            g->slot[g->slot_base + i] = perpi_quantity_at(view, &g->quantity[i]);
        }
    }
}

/* The margin of the condition at a state. */
static double margin_at(const perpi_gradient_work* g, size_t frame, int64_t k)
{
    double margin = NAN;
    const double t = g->time[k];
    const perpi_view view = perpi_gradient_view(g, frame);
    perpi_uses_read(g->uses, k);
    perpi_gradient_read_slots(g, g->expr, &view);
    (void)perpi_expr_margin(g->expr, t, g->slot, &margin);
    return margin;
}

/* d (time of the crossing) / d (margin at state k): between the states the margin is linear in time. */
static double crossing_weight(const perpi_gradient_work* g, int64_t k, double before, double after)
{
    const double span = g->time[g->crossing] - g->time[g->crossing - 1];
    const double rise = after - before;
    if (!(before <= 0.0) || !(rise > 0.0)) {
        return 0.0; /* the time of a step, which is fixed */
    }
    return span * (k == g->crossing ? before : -after) / (rise * rise);
}

/* Energies, momenta and coordinates of joints depend on the model itself, too. */
bool perpi_gradient_reads_model(const perp_quantity* quantity)
{
    return quantity->kind == PERP_QUANTITY_ENERGY || quantity->kind == PERP_QUANTITY_MOMENTUM ||
           quantity->kind == PERP_QUANTITY_ANGULAR_MOMENTUM ||
           quantity->kind == PERP_QUANTITY_COORDINATE || quantity->kind == PERP_QUANTITY_RATE;
}

void perpi_gradient_add_quantity(const perpi_gradient_work* g, const perpi_view* view,
                                 const perp_quantity* quantity, double weight, double* gradient)
{
    const bool depends = perpi_gradient_reads_model(quantity);
    for (int32_t i = 0; depends && i < g->in->parameter_count; ++i) {
        const perpi_gradient_parameter* p = &g->in->parameter[i];
        for (int n = 0; p->model[0] != NULL && n < PERPI_GRADIENT_MODELS; ++n) {
            perpi_view x = *view;
            x.model = p->model[n];
            gradient[i] += weight * p->weight[n] * perpi_quantity_at(&x, quantity);
        }
    }
}

double perpi_gradient_by_slot(const perpi_gradient_work* g, int32_t measure, double t, int32_t slot)
{
    bool of_step;
    const perpi_expr* expr = perpi_measures_expr(g->sim, measure, &of_step);
    double by = 0.0, margin;
    if (g->sim->asked.measure[measure].kind == PERP_MEASURE_FIRST_TIME) {
        (void)perpi_expr_margin_derivative(expr, t, g->slot, slot, &margin, &by);
        return by;
    }
    return perpi_expr_slot_derivative(expr, t, g->slot, slot);
}

/* y += weight d expression / d state; of the parameters, what the expression itself has of them. */
void perpi_gradient_add_sample(perpi_gradient_work* g, int32_t measure, int64_t k, size_t frame,
                               double weight, double* y)
{
    bool of_step;
    const perpi_expr* own = perpi_measures_expr(g->sim, measure, &of_step);
    const perpi_view view = perpi_gradient_view(g, frame);
    const double t = g->time[k];
    const bool condition = g->sim->asked.measure[measure].kind == PERP_MEASURE_FIRST_TIME;
    perpi_gradient_read_slots(g, own, &view);
    for (int32_t i = 0; i < g->quantity_count; ++i) {
        const int32_t slot = g->slot_base + i;
        if (!perpi_expr_has_slot(own, slot)) {
            continue;
        }
        const double by = perpi_gradient_by_slot(g, measure, t, slot);
        if (by != 0.0) {
            perpi_quantity_differentiate(&view, &g->quantity[i], weight * by, g->q, g->v, y);
            perpi_gradient_add_quantity(g, &view, &g->quantity[i], weight * by, g->gradient);
        }
    }
    for (int32_t i = 0; i < g->in->parameter_count; ++i) {
        const perpi_gradient_parameter* p = &g->in->parameter[i];
        perpi_expr* const* expr =
            p->expr != NULL ? p->expr + PERPI_GRADIENT_MODELS * measure : NULL;
        for (int n = 0; expr != NULL && expr[0] != NULL && n < PERPI_GRADIENT_MODELS; ++n) {
            double value = 0.0;
            if (condition) {
                (void)perpi_expr_margin(expr[n], t, g->slot, &value);
            } else {
                value = perpi_expr_eval_names(expr[n], t, g->slot);
            }
            g->gradient[i] += weight * p->weight[n] * value;
        }
    }
}

void perpi_gradient_sample(perpi_gradient_work* g, int64_t k, size_t frame,
                           const size_t crossing[2], double* y)
{
    double weight = weight_of(g, k);
    if (weight != 0.0 && g->kind == PERP_MEASURE_FIRST_TIME) {
        weight = crossing_weight(g, k, margin_at(g, crossing[0], g->crossing - 1),
                                 margin_at(g, crossing[1], g->crossing));
    }
    if (weight != 0.0 && g->uses == NULL) {
        perpi_gradient_add_sample(g, g->in->measure, k, frame, weight, y);
    }
    if (g->uses != NULL) {
        perpi_uses_sample(g->uses, k, frame, weight, y);
    }
}

/* The expression at a state. */
static double expression_at(const perpi_gradient_work* g, int64_t k, size_t frame)
{
    const perpi_view view = perpi_gradient_view(g, frame);
    perpi_gradient_read_slots(g, g->expr, &view);
    return perpi_expr_eval_names(g->expr, g->time[k], g->slot);
}

double perpi_gradient_sample_time(perpi_gradient_work* g, int64_t k, const size_t* frame)
{
    const int64_t last = g->count - 1;
    const double weight = weight_of(g, k);
    const bool area = g->kind == PERP_MEASURE_INTEGRAL || g->kind == PERP_MEASURE_MEAN;
    double by = 0.0;
    if (g->kind == PERP_MEASURE_FIRST_TIME) {
        if (weight == 0.0) {
            return 0.0;
        }
        const double before = margin_at(g, frame[g->crossing - 1], g->crossing - 1);
        const double after = margin_at(g, frame[g->crossing], g->crossing);
        const bool between = before <= 0.0 && after > before;
        const double part = between ? -before / (after - before) : 1.0;
        return k == g->crossing ? part : 1.0 - part;
    }
    if (weight != 0.0) {
        const perpi_view view = perpi_gradient_view(g, frame[k]);
        perpi_gradient_read_slots(g, g->expr, &view);
        by = weight * perpi_expr_slot_derivative(g->expr, g->time[k], g->slot, -1);
    }
    if (area) { /* the trapezoidal rule */
        const double span = g->time[last] - g->time[0];
        const double f = expression_at(g, k, frame[k]);
        const double left = k > 0 ? expression_at(g, k - 1, frame[k - 1]) + f : 0.0;
        const double right = k < last ? expression_at(g, k + 1, frame[k + 1]) + f : 0.0;
        const double edge = 0.5 * (left - right);
        by += g->kind == PERP_MEASURE_INTEGRAL ? edge : span > 0.0 ? edge / span : 0.0;
    }
    return by;
}
