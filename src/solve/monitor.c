/* src/solve/monitor.c - see lookout.h. */
#include "solve/monitor.h"

#include <math.h>
#include <string.h>

enum { MORE = 20 }; /* iterations beyond options.enough in which the tolerance must be reached */

perpi_lookout perpi_lookout_start(const perp_solve_options* options, perp_report* report,
                                  int32_t limit, const double* point, double* best, size_t count)
{
    report->outcome = PERP_OUTCOME_MAX_ITER;
    report->iterations = 0;
    report->detail[0] = '\0';
    if (count > 0) {
        memcpy(best, point, count * sizeof *best);
    }
    return (perpi_lookout){.options = options,
                           .report = report,
                           .clock = perpi_clock_start(options->time_limit),
                           .least = INFINITY,
                           .best = best,
                           .count = count,
                           .limit = options->max_iter > 0 ? options->max_iter : limit};
}

static bool cancelled(const perpi_lookout* l)
{
    return l->options->cancel != NULL && l->options->cancel(l->options->user);
}

bool perpi_lookout_spent(const perpi_lookout* l)
{
    return l->report->iterations >= l->limit || perpi_clock_expired(&l->clock) || cancelled(l);
}

bool perpi_lookout_see(perpi_lookout* l, double residual, const double* point)
{
    const perp_solve_options* options = l->options;
    perp_report* report = l->report;
    if (options->log != NULL) {
        options->log(options->user, report->iterations, residual);
    }
    if (residual < l->least) {
        l->least = residual;
        if (l->count > 0) {
            memcpy(l->best, point, l->count * sizeof *point);
        }
    }
    if (l->enough == 0 && residual <= options->enough) {
        l->enough = report->iterations + MORE;
    }
    if (residual <= options->tolerance) {
        report->outcome = PERP_OUTCOME_SOLVED;
    } else if (report->iterations >= l->limit ||
               (l->enough > 0 && report->iterations >= l->enough)) {
        report->outcome = PERP_OUTCOME_MAX_ITER;
    } else if (perpi_clock_expired(&l->clock)) {
        report->outcome = PERP_OUTCOME_TIME_LIMIT;
    } else if (cancelled(l)) {
        report->outcome = PERP_OUTCOME_CANCELLED;
    } else {
        return false;
    }
    l->over = true;
    return true;
}
