/* src/solve/monitor.h - what an iteration does each time the judge has looked at its point: log, keep the
 * best, and end where it is good enough or a limit is reached. */
#ifndef PERPI_SOLVE_LOOKOUT_H
#define PERPI_SOLVE_LOOKOUT_H

#include "perp/solve.h"
#include "solve/clock.h"

typedef struct perpi_lookout {
    const perp_solve_options* options;
    perp_report* report; /* its iterations are the method's to count */
    perpi_clock clock;
    double least; /* the judge's, of best */
    double* best;
    size_t count;
    int32_t limit;
    int32_t enough; /* no further than this iteration; 0: not near enough yet */
    bool over;
} perpi_lookout;

/* Clears the report. limit: the method's own, where the caller gives none; best: count numbers of room,
 * filled with the point at hand. */
perpi_lookout perpi_lookout_start(const perp_solve_options* options, perp_report* report,
                                  int32_t limit, const double* point, double* best, size_t count);
/* The judge's residual of a point; true if the solve is over, with the outcome in the report. */
bool perpi_lookout_see(perpi_lookout* l, double residual, const double* point);
/* Whether a limit is reached, for loops between two looks; the look that follows says which. */
bool perpi_lookout_spent(const perpi_lookout* l);

#endif
