/* src/sim/gradient_uses.c - see gradient_uses.h. */
#include "sim/gradient_uses.h"

#include <string.h>

#include "sim/internal.h"
#include "sim/measure.h"
#include "sim/measure_timed.h"

/* A measure that others are measures of. Derivatives of the result by its value at state k come in
 * by `value`, and are kept until the samples that the value is made of are reached. */
typedef struct use_back {
    int32_t measure;
    const perp_measure_def* def;
    const perpi_expr* expr;
    double value; /* of the present state */
    double kept;  /* of this and later states */
    double window,
        previous; /* number of the window of the present value, and of the one after it */
    double kept_previous;
    double margin_weight; /* of a condition, for the state before the crossing */
    int64_t first;        /* of a mean: the state of its first sample; -1: not looked up yet */
} use_back;

struct perpi_uses {
    perpi_gradient_work* g;
    use_back* use; /* ascending by measure */
    int32_t count;
    double* value; /* of each use at each state */
    size_t value_capacity;
    int64_t states;
};

perp_status perpi_uses_create(perpi_gradient_work* g, perpi_uses** out)
{
    const int32_t target = g->in->measure;
    bool* used = NULL;
    perpi_uses* u = NULL;
    bool of_step;
    perp_status status = perpi_alloc(g->context, (size_t)target + 1, sizeof *used, &used);
    if (status != PERP_OK) {
        return status;
    }
    int32_t count = 0;
    used[target] = true;
    for (int32_t i = target; i >= 0; --i) {
        const perpi_expr* expr = perpi_measures_expr(g->sim, i, &of_step);
        for (int32_t k = 0; used[i] && k < i; ++k) {
            used[k] = used[k] || perpi_expr_has_slot(expr, k);
        }
        count += i < target && used[i] ? 1 : 0;
    }
    if (count > 0) {
        status = perpi_alloc(g->context, 1, sizeof *u, &u);
    }
    if (status == PERP_OK && u != NULL) {
        u->g = g;
        status = perpi_alloc(g->context, (size_t)count, sizeof *u->use, &u->use);
    }
    for (int32_t i = 0; status == PERP_OK && u != NULL && i < target; ++i) {
        if (used[i]) {
            u->use[u->count++] = (use_back){.measure = i,
                                            .def = &g->sim->asked.measure[i],
                                            .expr = perpi_measures_expr(g->sim, i, &of_step),
                                            .first = -1,
                                            .window = -1.0,
                                            .previous = -1.0};
        }
    }
    perpi_free(g->context, used);
    if (status != PERP_OK) {
        perpi_uses_destroy(u);
        return status;
    }
    *out = u;
    return PERP_OK;
}

void perpi_uses_destroy(perpi_uses* u)
{
    if (u == NULL) {
        return;
    }
    perp_context* context = u->g->context;
    perpi_free(context, u->use);
    perpi_free(context, u->value);
    perpi_free(context, u);
}

perp_status perpi_uses_note(perpi_uses* u)
{
    const size_t n = (size_t)u->count, at = (size_t)u->states * n;
    const perp_status status =
        perpi_grow(u->g->context, &u->value, &u->value_capacity, at + n, sizeof *u->value);
    for (size_t i = 0; status == PERP_OK && i < n; ++i) {
        u->value[at + i] = perp_sim_measure(u->g->sim, u->use[i].measure);
    }
    u->states += status == PERP_OK ? 1 : 0;
    return status;
}

static double value_at(const perpi_uses* u, int32_t use, int64_t k)
{
    return k >= 0 ? u->value[(size_t)k * (size_t)u->count + (size_t)use] : NAN;
}

/* Whether the measure was sampled before state k. Of a mean, of an integral and of extremes the value tells. */
static bool begun_before(const perpi_uses* u, int32_t use, int64_t k)
{
    return k > 0 && !isnan(value_at(u, use, k - 1));
}

void perpi_uses_read(const perpi_uses* u, int64_t k)
{
    for (int32_t i = 0; u != NULL && i < u->count; ++i) {
        u->g->slot[u->use[i].measure] = value_at(u, i, k);
    }
}

static double margin_at(const perpi_uses* u, const use_back* use, int64_t k, size_t frame)
{
    perpi_gradient_work* g = u->g;
    const perpi_view view = perpi_gradient_view(g, frame);
    double margin = NAN;
    perpi_uses_read(u, k);
    perpi_gradient_read_slots(g, use->expr, &view);
    (void)perpi_expr_margin(use->expr, g->time[k], g->slot, &margin);
    return margin;
}

/* The states before and at which the condition becomes true; the value is NaN before. */
static double condition_weight(const perpi_uses* u, int32_t i, int64_t k, size_t frame)
{
    use_back* use = &u->use[i];
    const double* time = u->g->time;
    if (use->margin_weight != 0.0) {
        const double weight = use->margin_weight;
        use->margin_weight = 0.0;
        return weight;
    }
    if (k == 0 || use->kept == 0.0 || begun_before(u, i, k)) {
        return 0.0;
    }
    const double before = margin_at(u, use, k - 1, frame - 1), after = margin_at(u, use, k, frame);
    const double rise = after - before;
    if (!(before <= 0.0) || !(rise > 0.0)) {
        return 0.0;
    }
    const double by = use->kept * (time[k] - time[k - 1]) / (rise * rise);
    use->kept = 0.0;
    use->margin_weight = -after * by;
    return before * by;
}

static double area_weight(const perpi_uses* u, int32_t i, int64_t k)
{
    use_back* use = &u->use[i];
    const double* time = u->g->time;
    const bool begun = begun_before(u, i, k);
    const double later = use->kept;
    double now = use->value;
    if (use->def->kind == PERP_MEASURE_MEAN && now != 0.0) {
        /* the value is divided by the time since the first sample */
        while (use->first < 0 || isnan(value_at(u, i, use->first))) {
            use->first += 1;
        }
        const double span = time[k] - time[use->first];
        if (!(span > 0.0)) {
            return now + (k + 1 < u->states ? 0.5 * (time[k + 1] - time[k]) * later : 0.0);
        }
        now /= span;
    }
    use->kept += now;
    const double left = begun ? time[k] - time[k - 1] : 0.0;
    const double right = k + 1 < u->states ? time[k + 1] - time[k] : 0.0;
    return 0.5 * (left * use->kept + right * later);
}

static double window_weight(const perpi_uses* u, int32_t i, int64_t k)
{
    use_back* use = &u->use[i];
    const perpi_gradient_work* g = u->g;
    const double every = use->def->every > 0.0 ? use->def->every : use->def->over;
    const double passed = perpi_timed_passed(g->time[k] - g->time[0], every);
    if (passed != use->window) {
        use->previous = use->window;
        use->kept_previous = use->kept;
        use->window = passed;
        use->kept = 0.0;
    }
    use->kept += use->value;
    double weight = 0.0;
    if (use->kept != 0.0) {
        weight += use->kept * perpi_gradient_window_weight(g, k, use->def, use->window);
    }
    if (use->kept_previous != 0.0) {
        weight += use->kept_previous * perpi_gradient_window_weight(g, k, use->def, use->previous);
    }
    return weight;
}

/* Weight of the sample of state k. */
static double weight_at(const perpi_uses* u, int32_t i, int64_t k, size_t frame)
{
    use_back* use = &u->use[i];
    const double* time = u->g->time;
    if (use->def->over > 0.0) {
        return window_weight(u, i, k);
    }
    if (use->def->kind == PERP_MEASURE_MEAN || use->def->kind == PERP_MEASURE_INTEGRAL) {
        return area_weight(u, i, k);
    }
    if (use->def->kind == PERP_MEASURE_END) {
        return use->value;
    }
    use->kept += use->value;
    double weight = 0.0;
    switch (use->def->kind) {
    case PERP_MEASURE_MAX:
    case PERP_MEASURE_MIN:
        if (value_at(u, i, k) != value_at(u, i, k - 1)) {
            weight = use->kept;
            use->kept = 0.0;
        }
        break;
    case PERP_MEASURE_SUM: {
        const double every = use->def->every, begin = time[0];
        const double before =
            begun_before(u, i, k) ? perpi_timed_passed(time[k - 1] - begin, every) : 0.0;
        const bool sampled = !isnan(value_at(u, i, k));
        weight = sampled ? use->kept * (perpi_timed_passed(time[k] - begin, every) - before) : 0.0;
        break;
    }
    default: weight = condition_weight(u, i, k, frame); break;
    }
    return weight;
}

/* y += by the quantities of an expression; the uses by the measures of it. */
static void pass_on(perpi_uses* u, int32_t measure, int64_t k, size_t frame, double weight,
                    double* y)
{
    perpi_gradient_work* g = u->g;
    bool of_step;
    const perpi_expr* expr = perpi_measures_expr(g->sim, measure, &of_step);
    perpi_gradient_add_sample(g, measure, k, frame, weight, y);
    for (int32_t i = 0; i < u->count; ++i) {
        if (perpi_expr_has_slot(expr, u->use[i].measure)) {
            u->use[i].value +=
                weight * perpi_gradient_by_slot(g, measure, g->time[k], u->use[i].measure);
        }
    }
}

void perpi_uses_sample(perpi_uses* u, int64_t k, size_t frame, double weight, double* y)
{
    perpi_gradient_work* g = u->g;
    for (int32_t i = 0; i < u->count; ++i) {
        u->use[i].value = 0.0;
    }
    perpi_uses_read(u, k);
    if (weight != 0.0) {
        pass_on(u, g->in->measure, k, frame, weight, y);
    }
    for (int32_t i = u->count - 1; i >= 0; --i) {
        const double own = weight_at(u, i, k, frame);
        if (own != 0.0) {
            pass_on(u, u->use[i].measure, k, frame, own, y);
        }
    }
}
