/* src/solve/monitor.c - see monitor.h. */
#include "solve/monitor.h"

#include <math.h>
#include <string.h>

enum { MORE = 20 }; /* iterations beyond options.enough in which the tolerance must be reached */

perpi_monitor perpi_monitor_start(const perp_solve_options* options, perp_report* report,
                                  int32_t limit, const double* point, double* best, size_t count)
{
    report->outcome = PERP_OUTCOME_MAX_ITER;
    report->iterations = 0;
    report->detail[0] = '\0';
    if (count > 0) {
        memcpy(best, point, count * sizeof *best);
    }
    return (perpi_monitor){.options = options,
                           .report = report,
                           .clock = perpi_clock_start(options->time_limit),
                           .least = INFINITY,
                           .best = best,
                           .count = count,
                           .more = MORE,
                           .limit = options->max_iter > 0 ? options->max_iter : limit};
}

perp_outcome perpi_monitor_interrupt(const perp_solve_options* options, const perpi_clock* clock)
{
    if (perpi_clock_expired(clock)) {
        return PERP_OUTCOME_TIME_LIMIT;
    }
    const bool cancelled = options->cancel != NULL && options->cancel(options->user);
    return cancelled ? PERP_OUTCOME_CANCELLED : PERP_OUTCOME_UNSET;
}

void perpi_monitor_log(const perp_solve_options* options, int32_t iteration, double residual)
{
    if (options->log != NULL) {
        options->log(options->user, iteration, residual);
    }
}

bool perpi_monitor_spent(const perpi_monitor* l)
{
    return l->report->iterations >= l->limit ||
           perpi_monitor_interrupt(l->options, &l->clock) != PERP_OUTCOME_UNSET;
}

bool perpi_monitor_check(perpi_monitor* l, double residual, const double* point)
{
    const perp_solve_options* options = l->options;
    perp_report* report = l->report;
    perpi_monitor_log(options, report->iterations, residual);
    if (residual < l->least) {
        l->least = residual;
        if (l->count > 0) {
            memcpy(l->best, point, l->count * sizeof *point);
        }
    }
    if (!l->reached && residual <= options->enough) {
        l->enough = report->iterations + l->more;
        l->reached = true;
    }
    if (residual <= options->tolerance) {
        report->outcome = PERP_OUTCOME_SOLVED;
    } else if (report->iterations >= l->limit || (l->reached && report->iterations >= l->enough)) {
        report->outcome = PERP_OUTCOME_MAX_ITER;
    } else {
        const perp_outcome interrupt = perpi_monitor_interrupt(options, &l->clock);
        if (interrupt == PERP_OUTCOME_UNSET) {
            return false;
        }
        report->outcome = interrupt;
    }
    l->over = true;
    return true;
}
