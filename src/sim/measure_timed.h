/* src/sim/measure_timed.h - measures that refer to times of their own: sums at intervals, and windows.
 *
 * A sum takes the value of its expression at the first state at or after each begin + k every, k =
 * 1, 2, ...; a step that is longer than `every` counts for all the times that it passes. A window
 * is [T_k - over, T_k] with T_k = begin + k every; its integral takes the expression as linear in a
 * step (constant, if it is a mean over the step), so that windows need not begin or end with a
 * step. Windows do not overlap (over <= every): one number for the window that is being filled is
 * all that has to be kept, and a run can be resumed from it.
 */
#ifndef PERPI_SIM_MEASURE_TIMED_H
#define PERPI_SIM_MEASURE_TIMED_H

#include "perp/measure.h"

/* Part of the accumulators, so doubles only. */
typedef struct perpi_timed {
    double
        next; /* sum: times that have passed; window: the k of the one that is being filled, 0: no sample yet */
    double area;   /* of the window that is being filled, so far */
    double since;  /* since when there are samples */
    double last_x; /* the last sample */
    double last_time;
} perpi_timed;

enum { PERPI_TIMED = (int)(sizeof(perpi_timed) / sizeof(double)) };

typedef struct perpi_timed_sample {
    double x, t;
    double length; /* of the step that x is a mean over; 0: x is a value at t */
    double begin;  /* of the measures */
} perpi_timed_sample;

/* Whether it has `every` or `over`. */
static inline bool perpi_timed_has(const perp_measure_def* def)
{
    return def->every != 0.0 || def->over != 0.0;
}
/* `every` and `over` of a definition. */
PERP_NODISCARD perp_status perpi_timed_check(perp_context* context, const perp_measure_def* def);
/* How many of the times k every have come; elapsed: since the measures began. */
double perpi_timed_passed(double elapsed, double every);
/* Whether there is a value (now, or since an earlier sample it stays as it is); *value is set if it changes. */
/* Whether a time of the sum has come. elapsed: since the measures began. */
bool perpi_timed_sum_due(const perpi_timed* timed, const perp_measure_def* def, double elapsed);
bool perpi_timed_sum(perpi_timed* timed, const perp_measure_def* def,
                     const perpi_timed_sample* sample, double* value);
bool perpi_timed_window(perpi_timed* timed, const perp_measure_def* def,
                        const perpi_timed_sample* sample, double* value);

#endif
