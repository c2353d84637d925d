/* src/study/estimate_profile.c - whether the cost rises beyond the intervals.
 *
 * Intervals come from derivatives at the estimate. Where residuals have a kink there, that is not
 * enough: a body that sticks does not feel how rough the ground is, so that the cost is flat above
 * the least friction that holds it, and the best value, by chance of the noise, is just below. So
 * each end of an interval is moved outwards while the cost there, all else as it is, is no more
 * than that of the interval's end; the likelihood with other unknowns fitted again could only be
 * larger.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "study/estimate_evaluate.h"

/* Values that are tried, as parts of the way to the bound; without bounds, in sizes of the parameter. */
static const double part[] = {0.03, 0.3, 1.0};
static const double sizes[] = {0.1, 1.0, 10.0};
enum { POINTS = sizeof part / sizeof part[0] };

static double prior_cost(const perpi_parameter* p, double value)
{
    const double off = value - p->info.start;
    return isnan(p->prior) ? 0.0 : 0.5 * off * off / (p->prior * p->prior);
}

/* Without priors of other unknowns. */
static perp_status cost_at(perpi_evaluator* ev, int32_t i, double value, double* cost)
{
    const double was = ev->parameter[i];
    ev->parameter[i] = value;
    const perp_status status = perpi_evaluator_run(ev, false);
    ev->parameter[i] = was;
    *cost = prior_cost(&ev->e->parameter[i], value);
    for (int32_t k = 0; k < ev->count; ++k) {
        *cost += ev->part[k].status == PERP_OK ? ev->part[k].cost : INFINITY;
    }
    return status;
}

/* One end, towards `bound`. */
static perp_status move_end(perpi_evaluator* ev, int32_t i, double most, double bound, double* end)
{
    const bool bounded = isfinite(bound);
    const double from = *end, side = bound > from ? 1.0 : -1.0;
    const double size = perpi_parameter_size(ev->e, i, ev->parameter[i]);
    if (from == bound) {
        return PERP_OK;
    }
    for (int k = 0; k < POINTS; ++k) {
        double cost;
        const double to = !bounded         ? from + side * size * sizes[k]
                          : part[k] == 1.0 ? bound
                                           : from + (bound - from) * part[k];
        PERPI_TRY(cost_at(ev, i, to, &cost));
        if (!(cost <= most)) {
            return PERP_OK;
        }
        *end = to;
    }
    *end = bound;
    return PERP_OK;
}

static void say_flat(const char* name, perpi_answer* a)
{
    const size_t used = strlen(a->message);
    (void)snprintf(a->message + used, sizeof a->message - used,
                   "%s'%.100s' may be anywhere in its interval: the residuals do not grow on one "
                   "side of the value",
                   used > 0 ? "; " : "", name);
}

perp_status perpi_answer_profile(perpi_evaluator* ev, double widening, perpi_answer* a)
{
    static const double HALF_CHI2_95 = 1.92; /* of one degree */
    double cost = 0.0;
    for (int32_t k = 0; k < ev->count; ++k) {
        cost += ev->part[k].cost;
    }
    for (int32_t i = 0; i < a->n; ++i) {
        const perpi_parameter* p = &ev->e->parameter[i];
        if (!a->identifiable[i] || p->kind == PERPI_PARAMETER_INERTIA) {
            continue;
        }
        const double low = a->low[i], high = a->high[i];
        const double most = cost + prior_cost(p, ev->parameter[i]) + HALF_CHI2_95 * widening;
        PERPI_TRY(move_end(ev, i, most, p->info.low, &a->low[i]));
        PERPI_TRY(move_end(ev, i, most, p->info.high, &a->high[i]));
        if (a->low[i] != low || a->high[i] != high) {
            a->identifiable[i] = isfinite(a->high[i]) && isfinite(a->low[i]);
            for (int32_t j = 0; j < a->n; ++j) { /* no standard deviation describes that */
                a->covariance[i * a->n + j] = a->covariance[j * a->n + i] = NAN;
            }
            say_flat(p->info.name, a);
        }
    }
    return PERP_OK;
}
