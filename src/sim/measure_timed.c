/* src/sim/measure_timed.c - see measure_timed.h. */
#include "sim/measure_timed.h"

#include <math.h>

#include "base/context.h"

/* Of `every`: a time that a step misses by rounding counts as reached. */
static const double REACHED = 1e-9;

perp_status perpi_timed_check(perp_context* context, const perp_measure_def* def)
{
    const bool sum = def->kind == PERP_MEASURE_SUM;
    const bool area = def->kind == PERP_MEASURE_MEAN || def->kind == PERP_MEASURE_INTEGRAL;
    if (!(def->every >= 0.0) || !isfinite(def->every) || (sum && def->every == 0.0)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "measures/%.200s/every: must be > 0, got %g",
                          def->name, def->every);
    }
    if (!(def->over >= 0.0) || !isfinite(def->over)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "measures/%.200s/over: must be > 0, got %g",
                          def->name, def->over);
    }
    if (def->over > 0.0 && !area) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "measures/%.200s/over: is for \"mean\" and \"integral\", got \"%s\"",
                          def->name, perp_measure_kind_name(def->kind));
    }
    if (def->every > 0.0 && !sum && !(def->over > 0.0)) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "measures/%.200s/every: is for \"sum\", and for \"mean\" and "
                          "\"integral\" with \"over\"",
                          def->name);
    }
    if (def->every > 0.0 && def->over > def->every) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "measures/%.200s/over: must be at most every = %g, got %g", def->name,
                          def->every, def->over);
    }
    return PERP_OK;
}

/* How many of the times begin + k every have come. */
static double times_passed(double elapsed, double every)
{
    return floor(elapsed / every + REACHED);
}

double perpi_timed_passed(double elapsed, double every)
{
    return times_passed(elapsed, every);
}

bool perpi_timed_sum_due(const perpi_timed* timed, const perp_measure_def* def, double elapsed)
{
    return times_passed(elapsed, def->every) > timed->next;
}

bool perpi_timed_sum(perpi_timed* timed, const perp_measure_def* def,
                     const perpi_timed_sample* sample, double* value)
{
    const double passed = times_passed(sample->t - sample->begin, def->every);
    if (!(passed > timed->next)) {
        return false;
    }
    const double term = (passed - timed->next) * sample->x;
    *value = isnan(*value) && timed->since == 0.0 ? term : *value + term;
    timed->since = 1.0; /* from now on a NaN is one of its samples */
    timed->next = passed;
    return true;
}

/* The integral from `from` to `to` within the step that led to the sample. */
static double area_in_step(const perpi_timed* timed, const perpi_timed_sample* s, double from,
                           double to)
{
    const double t0 = s->length > 0.0 ? s->t - s->length : timed->last_time;
    const double a = from > t0 ? from : t0, b = to < s->t ? to : s->t;
    if (!(b > a)) {
        return 0.0;
    }
    if (s->length > 0.0) {
        return (b - a) * s->x;
    }
    const double part = (0.5 * (a + b) - t0) / (s->t - t0);
    return (b - a) * (timed->last_x + part * (s->x - timed->last_x));
}

bool perpi_timed_window(perpi_timed* timed, const perp_measure_def* def,
                        const perpi_timed_sample* sample, double* value)
{
    const double every = def->every > 0.0 ? def->every : def->over;
    const double passed = times_passed(sample->t - sample->begin, every);
    bool has = false;
    if (timed->next == 0.0) {
        timed->since = sample->t - sample->length;
        timed->last_x = sample->x;
        timed->last_time = timed->since;
        timed->next = times_passed(timed->since - sample->begin, every) + 1.0;
    }
    if (passed >= timed->next) {
        /* Windows before the last that ended lie within this step as well: their values are not kept. */
        if (passed > timed->next) {
            timed->next = passed;
            timed->area = 0.0;
        }
        const double end = sample->begin + timed->next * every;
        timed->area += area_in_step(timed, sample, end - def->over, end);
        if (timed->since <= end - def->over + REACHED * every) {
            *value = timed->area / (def->kind == PERP_MEASURE_MEAN ? def->over : 1.0);
            has = true;
        }
        timed->next += 1.0;
        timed->area = 0.0;
    }
    const double end = sample->begin + timed->next * every;
    timed->area += area_in_step(timed, sample, end - def->over, end);
    timed->last_x = sample->x;
    timed->last_time = sample->t;
    return has;
}
