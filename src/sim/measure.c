/* src/sim/measure.c - see measure.h and perp/measure.h.
 *
 * Samples are taken at the start and after every step. Rules:
 *   - integrals are those of the trapezoidal rule;
 *   - a quantity of a step (a force, a certificate) has no value at the start, nor after the state was set: an
 *     expression with one is not sampled there. Such a quantity is a mean over the step, so that in an integral
 *     it counts with its value for the whole step (the integral of a force is its impulse), and impacts, which
 *     have no duration, do not count;
 *   - an expression may have measures that stand before it: their present values. While one of them has no value
 *     yet, the expression is not sampled;
 *   - sums and windows: measure_timed.h;
 *   - a sample that is not a number makes the measure NaN; a stop that is not a number fails the next step,
 *     because neither "it holds" nor "it does not" would be true.
 */
#include "sim/measure.h"

#include <stdio.h>
#include <string.h>

#include "sim/internal.h"
#include "sim/measure_timed.h"

/* Accumulators: a head, then some for each measure, then the ledger since the start, then more for each measure
 * if one has `every` or `over`. */
enum { SIGNATURE, BEGIN, STOPPED, FAILED, HEAD };
enum { SEEN, VALUE, LAST, LAST_TIME, FIRST_TIME, ACCUMULATORS };
enum { UNSEEN, SAMPLED, SETTLED }; /* SEEN; SETTLED: no further sample changes it */

struct perpi_measures {
    perpi_expr** expr; /* of measures, then of stops */
    bool* of_step;     /* likewise */
    int32_t measure_count, stop_count;
    perp_quantity* quantity;
    size_t quantity_count;
    double* slot; /* values of the measures, then of the quantities */
    int32_t* use; /* of expression i: the measures use[use_end[i-1]] .. use[use_end[i] - 1] */
    size_t* use_end;
    perpi_timed* timed; /* in the state, one for each measure; NULL: none has a time */
    double* state;
    int32_t state_size;
};
typedef struct perpi_measures perpi_measures;

/* ---- expressions -----------------------------------------------------------------------------------*/

static perp_status use_quantity(perpi_measure_names* x, const perp_quantity* quantity,
                                perpi_symbol* symbol)
{
    size_t i = 0;
    while (i < x->quantity_count &&
           (x->quantity[i].entry != quantity->entry || x->quantity[i].owner != quantity->owner ||
            x->quantity[i].second != quantity->second)) {
        ++i;
    }
    if (i == x->quantity_count) {
        const perp_status status =
            perpi_grow(x->context, &x->quantity, &x->quantity_capacity, i + 1, sizeof *x->quantity);
        if (status != PERP_OK) {
            return status;
        }
        x->quantity[x->quantity_count++] = *quantity;
    }
    x->of_step = x->of_step || quantity->of_step;
    *symbol = (perpi_symbol){.varies = true, .slot = x->slot_base + (int32_t)i};
    return PERP_OK;
}

static perp_status use_measure(perpi_measure_names* x, int32_t measure, perpi_symbol* symbol)
{
    const perp_status status =
        perpi_grow(x->context, &x->use, &x->use_capacity, x->use_count + 1, sizeof *x->use);
    if (status != PERP_OK) {
        return status;
    }
    x->use[x->use_count++] = measure;
    x->of_step = x->of_step || (x->measure_of_step != NULL && x->measure_of_step[measure]);
    *symbol = (perpi_symbol){.varies = true, .slot = measure};
    return PERP_OK;
}

/* Suggests a parameter or a quantity. */
static perp_status unknown_name(const perpi_measure_names* x, const char* name)
{
    char nearest[600];
    perpi_quantity_nearest(x->model, name, nearest, sizeof nearest);
    const char* best = nearest[0] != '\0' ? nearest : NULL;
    for (int32_t i = 0; i < x->parameter_count; ++i) {
        const char* other = x->parameter[i].name;
        const char* const both[] = {best != NULL ? best : other, other, NULL};
        best = perpi_nearest(name, both);
    }
    for (int32_t i = 0; i < x->measure_count; ++i) {
        const char* other = x->measure[i].name;
        const char* const both[] = {best != NULL ? best : other, other, NULL};
        best = perpi_nearest(name, both);
    }
    return best != NULL
               ? perpi_fail(x->context, PERP_ERROR_INPUT,
                            "no quantity or parameter '%.200s' (did you mean '%.200s'?)", name,
                            best)
               : perpi_fail(x->context, PERP_ERROR_INPUT,
                            "no quantity or parameter '%.200s' (perp list quantities SCENE "
                            "shows their names)",
                            name);
}

static perp_status find_name(void* user, const perpi_expr_name* name, perpi_symbol* symbol)
{
    perpi_measure_names* x = user;
    for (int32_t i = 0; i < x->parameter_count; ++i) {
        if (strcmp(x->parameter[i].name, name->text) == 0) {
            *symbol = (perpi_symbol){.value = x->parameter[i].value};
            if (x->used != NULL) {
                x->used[i] = true;
            }
            return PERP_OK;
        }
    }
    perp_quantity found[1];
    int32_t count = 0;
    perpi_quantity_match(x->model, name->text, found, 1, &count);
    if (count == 1) {
        return use_quantity(x, found, symbol);
    }
    if (count > 1) {
        char first[600];
        (void)perp_quantity_name(x->model, found, first, sizeof first);
        return perpi_fail(x->context, PERP_ERROR_INPUT,
                          "'%.200s' are %d numbers: name one of them, as %.200s,", name->text,
                          (int)count, first);
    }
    for (int32_t i = 0; i < x->measure_count; ++i) {
        if (strcmp(x->measure[i].name, name->text) == 0) {
            return use_measure(x, i, symbol);
        }
    }
    return unknown_name(x, name->text);
}

perp_status perpi_measure_compile(perpi_measure_names* names, const char* text, perpi_expr** expr,
                                  bool* of_step)
{
    const perpi_expr_names known = {.find = find_name, .user = names};
    names->of_step = false;
    const perp_status status = perpi_expr_compile_names(names->context, text, &known, expr);
    *of_step = names->of_step;
    return status;
}

/* ---- the definition --------------------------------------------------------------------------------*/

const char* perp_measure_kind_name(perp_measure_kind kind)
{
    static const char* const names[] = {"end",      "max",        "min", "mean",
                                        "integral", "first_time", "sum"};
    return kind >= 0 && kind < PERP_MEASURE_KIND_COUNT ? names[kind] : NULL;
}

static perp_status check_parameter(perp_context* context, const perp_sim_def* def, int32_t i)
{
    const char* name = def->parameter[i].name;
    if (name == NULL || !perpi_expr_is_identifier(name) || perpi_expr_is_reserved(name)) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "parameters/%d: the name must be an identifier that expressions do not "
                          "use themselves (t, pi, e, sin, ...), got '%.80s'",
                          (int)i, name != NULL ? name : "NULL");
    }
    if (!isfinite(def->parameter[i].value)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "parameters/%.200s: must be finite, got %g",
                          name, def->parameter[i].value);
    }
    for (int32_t k = 0; k < i; ++k) {
        if (strcmp(def->parameter[k].name, name) == 0) {
            return perpi_fail(context, PERP_ERROR_INPUT, "parameters/%.200s: is there twice", name);
        }
    }
    return PERP_OK;
}

static perp_status check_measure(perp_context* context, const perp_sim_def* def, int32_t i)
{
    const perp_measure_def* m = &def->measure[i];
    if (m->name == NULL || m->name[0] == '\0' || m->expression == NULL ||
        perp_measure_kind_name(m->kind) == NULL) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "measures/%d: needs a name, a kind and an expression", (int)i);
    }
    const perp_status status = perpi_timed_check(context, m);
    if (status != PERP_OK) {
        return status;
    }
    for (int32_t k = 0; k < i; ++k) {
        if (strcmp(def->measure[k].name, m->name) == 0) {
            return perpi_fail(context, PERP_ERROR_INPUT, "measures/%.200s: is there twice",
                              m->name);
        }
    }
    return PERP_OK;
}

static perp_status check_stop(perp_context* context, const perp_sim_def* def, int32_t i)
{
    const perp_stop_def* s = &def->stop[i];
    if (s->name == NULL || s->name[0] == '\0' || s->when == NULL) {
        return perpi_fail(context, PERP_ERROR_INPUT, "stop/%d: needs a name and a condition",
                          (int)i);
    }
    if (strcmp(s->name, "end") == 0) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "stop/%d/name: 'end' is what a run is called that reaches its duration",
                          (int)i);
    }
    for (int32_t k = 0; k < i; ++k) {
        if (strcmp(def->stop[k].name, s->name) == 0) {
            return perpi_fail(context, PERP_ERROR_INPUT, "stop/%d/name: '%.200s' is there twice",
                              (int)i, s->name);
        }
    }
    return PERP_OK;
}

perp_status perpi_measures_check_def(perp_context* context, const perp_sim_def* def)
{
    perp_status status = PERP_OK;
    for (int32_t i = 0; status == PERP_OK && i < def->parameter_count; ++i) {
        status = check_parameter(context, def, i);
    }
    for (int32_t i = 0; status == PERP_OK && i < def->measure_count; ++i) {
        status = check_measure(context, def, i);
    }
    for (int32_t i = 0; status == PERP_OK && i < def->stop_count; ++i) {
        status = check_stop(context, def, i);
    }
    return status;
}

/* ---- creating --------------------------------------------------------------------------------------*/

/* Identifies the definitions, in 48 bits, which a double has: accumulators of others are not taken over. */
static double signature(const perp_sim_def* def)
{
    uint64_t h = 0xcbf29ce484222325u;
    const int32_t count = def->measure_count + def->stop_count;
    for (int32_t i = 0; i < count; ++i) {
        const bool stop = i >= def->measure_count;
        const int32_t k = i - def->measure_count;
        const char* const text[2] = {stop ? def->stop[k].name : def->measure[i].name,
                                     stop ? def->stop[k].when : def->measure[i].expression};
        h = (h ^ (stop ? 255u : (uint64_t)def->measure[i].kind)) * 0x100000001b3u; /* FNV-1a */
        if (!stop && perpi_timed_has(&def->measure[i])) {
            uint64_t bits[2];
            memcpy(&bits[0], &def->measure[i].every, sizeof bits[0]);
            memcpy(&bits[1], &def->measure[i].over, sizeof bits[1]);
            h = ((h ^ bits[0]) * 0x100000001b3u ^ bits[1]) * 0x100000001b3u;
        }
        for (int part = 0; part < 2; ++part) {
            for (const char* c = text[part];; ++c) {
                h = (h ^ (unsigned char)*c) * 0x100000001b3u;
                if (*c == '\0') {
                    break;
                }
            }
        }
    }
    return (double)(h >> 16);
}

static perp_status compile_all(perp_sim* sim, perpi_measures* m)
{
    const perp_sim_def* def = &sim->asked;
    perpi_measure_names names = {.context = sim->context,
                                 .model = sim->model,
                                 .parameter = def->parameter,
                                 .parameter_count = def->parameter_count,
                                 .measure = def->measure,
                                 .measure_of_step = m->of_step,
                                 .slot_base = m->measure_count};
    perp_status status = PERP_OK;
    for (int32_t i = 0; status == PERP_OK && i < m->measure_count + m->stop_count; ++i) {
        const bool stop = i >= m->measure_count;
        const int32_t k = stop ? i - m->measure_count : i;
        names.measure_count = stop ? m->measure_count : i;
        status =
            perpi_measure_compile(&names, stop ? def->stop[k].when : def->measure[k].expression,
                                  &m->expr[i], &m->of_step[i]);
        if (status == PERP_ERROR_INPUT) {
            char member[300];
            if (stop) {
                (void)snprintf(member, sizeof member, "stop/%d/when", (int)k);
            } else {
                (void)snprintf(member, sizeof member, "measures/%.200s", def->measure[k].name);
            }
            (void)perpi_fail_prefix(sim->context, status, member);
        }
        m->use_end[i] = names.use_count;
    }
    m->use = names.use;
    m->quantity = names.quantity;
    m->quantity_count = names.quantity_count;
    return status;
}

perp_status perpi_measures_create(perp_sim* sim)
{
    const perp_sim_def* def = &sim->asked;
    const size_t count = (size_t)def->measure_count + (size_t)def->stop_count;
    if (count == 0) {
        return PERP_OK;
    }
    perp_context* context = sim->context;
    perp_status status = perpi_alloc(context, 1, sizeof *sim->measures, &sim->measures);
    if (status != PERP_OK) {
        return status;
    }
    perpi_measures* m = sim->measures;
    m->measure_count = def->measure_count;
    m->stop_count = def->stop_count;
    m->state_size = HEAD + ACCUMULATORS * def->measure_count + PERP_LEDGER_COUNT;
    const int32_t untimed = m->state_size;
    for (int32_t i = 0; i < def->measure_count && m->state_size == untimed; ++i) {
        m->state_size += perpi_timed_has(&def->measure[i]) ? PERPI_TIMED * def->measure_count : 0;
    }
    status = perpi_alloc(context, count, sizeof *m->expr, &m->expr);
    if (status == PERP_OK) {
        status = perpi_alloc(context, count, sizeof *m->use_end, &m->use_end);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(context, count, sizeof *m->of_step, &m->of_step);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(context, (size_t)m->state_size, sizeof *m->state, &m->state);
    }
    if (status == PERP_OK) {
        m->timed = m->state_size > untimed ? (perpi_timed*)(m->state + untimed) : NULL;
        status = compile_all(sim, m);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(context, count + m->quantity_count + 1, sizeof *m->slot, &m->slot);
    }
    if (status == PERP_OK) {
        perpi_measures_begin(sim);
    }
    return status; /* what was made belongs to the simulation */
}

void perpi_measures_destroy(perp_sim* sim)
{
    perpi_measures* m = sim->measures;
    if (m == NULL) {
        return;
    }
    for (int32_t i = 0; m->expr != NULL && i < m->measure_count + m->stop_count; ++i) {
        perpi_expr_destroy(sim->context, m->expr[i]);
    }
    void* const owned[] = {m->expr, m->of_step, m->quantity, m->slot,
                           m->use,  m->use_end, m->state,    m};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; ++i) {
        perpi_free(sim->context, owned[i]);
    }
    sim->measures = NULL;
}

/* ---- sampling --------------------------------------------------------------------------------------*/

static double* accumulators(const perpi_measures* m, int32_t measure)
{
    return m->state + HEAD + ACCUMULATORS * measure;
}

static perp_ledger* ledger_of(const perpi_measures* m)
{
    return (perp_ledger*)(m->state + HEAD + ACCUMULATORS * m->measure_count);
}
_Static_assert(sizeof(perpi_timed) == PERPI_TIMED * sizeof(double), "doubles only");
_Static_assert(sizeof(perp_ledger) == PERP_LEDGER_COUNT * sizeof(double), "doubles only");

/* A NaN stays. */
static void take_extreme(double* a, double x, bool largest)
{
    const bool replaces = largest ? !(x <= a[VALUE]) : !(x >= a[VALUE]);
    if (a[SEEN] == UNSEEN || (replaces && !isnan(a[VALUE]))) {
        a[VALUE] = x;
    }
}

/* length: of the step that x is a mean over; 0: x is a value at t. */
static void take_area(double* a, double x, double t, double length)
{
    if (a[SEEN] == UNSEEN) {
        a[VALUE] = 0.0;
        a[FIRST_TIME] = t - length;
    }
    if (length > 0.0) {
        a[VALUE] += x * length;
    } else if (a[SEEN] == SAMPLED) {
        a[VALUE] += 0.5 * (a[LAST] + x) * (t - a[LAST_TIME]);
    }
}

/* a[LAST]: how far the comparison held in the sample before; NaN: it is no comparison. */
static void take_first_time(double* a, double x, double t, double margin)
{
    if (isnan(x)) {
        a[VALUE] = NAN;
        a[SEEN] = SETTLED;
        return;
    }
    const double before = a[LAST];
    const bool crossed = a[SEEN] == SAMPLED && before <= 0.0 && margin > before;
    a[SEEN] = SAMPLED;
    a[LAST] = margin;
    if (x != 0.0) {
        const double part = crossed ? -before / (margin - before) : 1.0;
        a[VALUE] = crossed ? a[LAST_TIME] + part * (t - a[LAST_TIME]) : t;
        a[SEEN] = SETTLED;
    }
    a[LAST_TIME] = t;
}

/* The value if the run ended now; NaN: none. */
static double value_of(const perpi_measures* m, const perp_measure_def* def, int32_t measure)
{
    const double* a = accumulators(m, measure);
    const double time = a[LAST_TIME] - a[FIRST_TIME];
    if (a[SEEN] == UNSEEN) {
        return NAN;
    }
    if (def->kind == PERP_MEASURE_MEAN && !(def->over > 0.0)) {
        return time > 0.0 ? a[VALUE] / time : a[LAST];
    }
    return a[VALUE];
}

/* Whether every measure that expression i has has a value. */
static bool uses_have_values(const perpi_measures* m, const perp_sim_def* def, int32_t i)
{
    for (size_t k = i > 0 ? m->use_end[i - 1] : 0; k < m->use_end[i]; ++k) {
        const double* a = accumulators(m, m->use[k]);
        if (a[SEEN] == UNSEEN ||
            (def->measure[m->use[k]].kind == PERP_MEASURE_FIRST_TIME && a[SEEN] != SETTLED)) {
            return false;
        }
    }
    return true;
}

static void sample_timed(const perpi_measures* m, int32_t i, const perp_measure_def* def, double t,
                         double length)
{
    double* a = accumulators(m, i);
    const bool sum = def->kind == PERP_MEASURE_SUM;
    if (sum && !perpi_timed_sum_due(&m->timed[i], def, t - m->state[BEGIN])) {
        return; /* most steps */
    }
    const double x = perpi_expr_eval_names(m->expr[i], t, m->slot);
    const perpi_timed_sample sample = {.x = x, .t = t, .length = length, .begin = m->state[BEGIN]};
    const bool has = sum ? perpi_timed_sum(&m->timed[i], def, &sample, &a[VALUE])
                         : perpi_timed_window(&m->timed[i], def, &sample, &a[VALUE]);
    a[SEEN] = has ? SAMPLED : a[SEEN];
    a[LAST] = x;
    a[LAST_TIME] = t;
}

static void sample_measure(const perpi_measures* m, int32_t i, perp_measure_kind kind, double t,
                           double length)
{
    double* a = accumulators(m, i);
    if (a[SEEN] == SETTLED) {
        return;
    }
    const double x = perpi_expr_eval_names(m->expr[i], t, m->slot);
    double margin = NAN;
    switch (kind) {
    case PERP_MEASURE_MAX:
    case PERP_MEASURE_MIN: take_extreme(a, x, kind == PERP_MEASURE_MAX); break;
    case PERP_MEASURE_MEAN:
    case PERP_MEASURE_INTEGRAL: take_area(a, x, t, length); break;
    case PERP_MEASURE_FIRST_TIME:
        (void)perpi_expr_margin(m->expr[i], t, m->slot, &margin);
        take_first_time(a, x, t, margin);
        return;
    case PERP_MEASURE_END:
    case PERP_MEASURE_SUM: /* in sample_timed */
    case PERP_MEASURE_KIND_COUNT: a[VALUE] = x; break;
    }
    a[SEEN] = SAMPLED;
    a[LAST] = x;
    a[LAST_TIME] = t;
}

/* stepped: the state is the end of a step. */
static void sample(perp_sim* sim, bool stepped)
{
    perpi_measures* m = sim->measures;
    const perp_sim_def* def = &sim->asked;
    const double t = sim->state.time;
    const bool impact = stepped && sim->info->kind != PERP_STEP_TIME;
    if (stepped) {
        perp_ledger_add(ledger_of(m), &sim->info->ledger);
    }
    const perpi_view view = perpi_view_of_sim(sim, ledger_of(m));
    for (size_t i = 0; i < m->quantity_count; ++i) {
        m->slot[(size_t)m->measure_count + i] = perpi_quantity_value(&view, &m->quantity[i]);
    }
    for (int32_t i = 0; i < m->measure_count; ++i) {
        const perp_measure_def* measure = &def->measure[i];
        const bool area =
            measure->kind == PERP_MEASURE_MEAN || measure->kind == PERP_MEASURE_INTEGRAL;
        const bool has_value = !m->of_step[i] || (stepped && !(impact && area));
        if (has_value && uses_have_values(m, def, i)) {
            const double length = m->of_step[i] ? sim->state.h_last : 0.0;
            if (!perpi_timed_has(measure)) {
                sample_measure(m, i, measure->kind, t, length);
            } else {
                sample_timed(m, i, measure, t, length);
            }
        }
        m->slot[i] = value_of(m, measure, i);
    }
    for (int32_t i = 0; i < m->stop_count && m->state[STOPPED] == 0.0; ++i) {
        const int32_t k = m->measure_count + i;
        if ((m->of_step[k] && !stepped) || !uses_have_values(m, def, k)) {
            continue;
        }
        const double x = perpi_expr_eval_names(m->expr[k], t, m->slot);
        if (isnan(x)) {
            m->state[FAILED] = i + 1;
        } else if (x != 0.0) {
            m->state[STOPPED] = i + 1;
        }
    }
}

void perpi_measures_begin(perp_sim* sim)
{
    perpi_measures* m = sim->measures;
    if (m == NULL) {
        return;
    }
    memset(m->state, 0, (size_t)m->state_size * sizeof *m->state);
    m->state[SIGNATURE] = signature(&sim->asked);
    m->state[BEGIN] = sim->state.time;
    for (int32_t i = 0; i < m->measure_count; ++i) {
        accumulators(m, i)[VALUE] = NAN;
    }
    sample(sim, false);
}

void perpi_measures_step(perp_sim* sim)
{
    if (sim->measures != NULL) {
        sample(sim, true);
    }
}

void perpi_measures_edit(perp_sim* sim)
{
    if (sim->measures == NULL) {
        return;
    }
    if (sim->state.step == 0) {
        perpi_measures_begin(sim); /* it is another start */
        return;
    }
    sim->measures->state[STOPPED] = sim->measures->state[FAILED] = 0.0;
    sample(sim, false);
}

bool perpi_measures_failed(const perp_sim* sim)
{
    return sim->measures != NULL && sim->measures->state[FAILED] != 0.0;
}

perp_status perpi_measures_check(const perp_sim* sim)
{
    const perpi_measures* m = sim->measures;
    if (!perpi_measures_failed(sim)) {
        return PERP_OK;
    }
    const int32_t stop = (int32_t)m->state[FAILED] - 1;
    return perpi_fail(sim->context, PERP_ERROR_NUMERIC,
                      "stop/%d/when: '%.200s' is not a number at t = %.9g", (int)stop,
                      sim->asked.stop[stop].when, sim->state.time);
}

const perpi_expr* perpi_measures_expr(const perp_sim* sim, int32_t measure, bool* of_step)
{
    *of_step = sim->measures->of_step[measure];
    return sim->measures->expr[measure];
}

const perp_quantity* perpi_measures_quantities(const perp_sim* sim, int32_t* count)
{
    *count = (int32_t)sim->measures->quantity_count;
    return sim->measures->quantity;
}

/* ---- the state -------------------------------------------------------------------------------------*/

int32_t perpi_measures_size(const perp_sim* sim)
{
    return sim->measures != NULL ? sim->measures->state_size : 0;
}

const double* perpi_measures_state(const perp_sim* sim)
{
    return sim->measures != NULL ? sim->measures->state : NULL;
}

void perpi_measures_restore(perp_sim* sim, const void* state, int32_t size)
{
    perpi_measures* m = sim->measures;
    if (m == NULL) {
        return;
    }
    double head[HEAD] = {0};
    if (size == m->state_size) {
        memcpy(head, state, sizeof head);
    }
    const bool whole = head[STOPPED] >= 0.0 && head[STOPPED] <= m->stop_count &&
                       head[FAILED] >= 0.0 && head[FAILED] <= m->stop_count;
    if (head[SIGNATURE] == signature(&sim->asked) && whole) {
        memcpy(m->state, state, (size_t)size * sizeof *m->state);
    } else {
        perpi_measures_begin(sim);
    }
}

/* ---- results ---------------------------------------------------------------------------------------*/

int32_t perp_sim_measure_count(const perp_sim* sim)
{
    return sim->asked.measure_count;
}

const char* perp_sim_measure_name(const perp_sim* sim, int32_t measure)
{
    return sim->asked.measure[measure].name;
}

int32_t perp_sim_measure_find(const perp_sim* sim, const char* name)
{
    for (int32_t i = 0; i < sim->asked.measure_count; ++i) {
        if (strcmp(sim->asked.measure[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

double perp_sim_measure(const perp_sim* sim, int32_t measure)
{
    return value_of(sim->measures, &sim->asked.measure[measure], measure);
}

double perp_sim_measure_begin(const perp_sim* sim)
{
    return sim->measures != NULL ? sim->measures->state[BEGIN] : 0.0;
}

int32_t perp_sim_stopped(const perp_sim* sim)
{
    return sim->measures != NULL ? (int32_t)sim->measures->state[STOPPED] - 1 : -1;
}

const char* perp_sim_outcome(const perp_sim* sim)
{
    const int32_t stop = perp_sim_stopped(sim);
    return stop >= 0 ? sim->asked.stop[stop].name : perp_sim_finished(sim) ? "end" : "";
}
