/* src/solve/monitor.h - the iteration monitor: limits, time, cancellation, log, and the best point.
 *
 * A method that computes the residual of its iterates uses perpi_monitor. A method with a loop of its own
 * (pivots, linearisations) asks perpi_monitor_interrupt between its steps and logs with
 * perpi_monitor_log. */
#ifndef PERPI_SOLVE_MONITOR_H
#define PERPI_SOLVE_MONITOR_H

#include "perp/solve.h"
#include "solve/clock.h"

typedef struct perpi_monitor {
    const perp_solve_options* options;
    perp_report* report; /* the method counts its iterations */
    perpi_clock clock;
    double least; /* the residual of best */
    double* best;
    size_t count;
    int32_t limit;
    int32_t more;   /* iterations beyond options.enough in which the tolerance must be reached */
    bool reached;   /* options.enough; then: */
    int32_t enough; /* stop at this iteration */
    bool over;
} perpi_monitor;

/* Clears the report. limit: the method's own, where the caller gives none; best: count numbers of room,
 * filled with the point at hand. */
perpi_monitor perpi_monitor_start(const perp_solve_options* options, perp_report* report,
                                  int32_t limit, const double* point, double* best, size_t count);
/* The residual of a point: logs it and keeps the best; true if the solve is over, with the outcome in the
 * report. */
bool perpi_monitor_check(perpi_monitor* l, double residual, const double* point);
/* Whether a limit is reached, for loops between two checks; the check that follows says which. */
bool perpi_monitor_spent(const perpi_monitor* l);

/* TIME_LIMIT or CANCELLED if the solve must end now, else UNSET. */
perp_outcome perpi_monitor_interrupt(const perp_solve_options* options, const perpi_clock* clock);
void perpi_monitor_log(const perp_solve_options* options, int32_t iteration, double residual);

#endif
