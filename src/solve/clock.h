/* src/solve/clock.h - elapsed time of a solve, and its limit. */
#ifndef PERPI_SOLVE_CLOCK_H
#define PERPI_SOLVE_CLOCK_H

#include <stdbool.h>

typedef struct perpi_clock {
    double start, limit; /* seconds; limit 0: none */
} perpi_clock;

double perpi_clock_now(void);
perpi_clock perpi_clock_start(double limit);
double perpi_clock_elapsed(const perpi_clock* clock);
bool perpi_clock_expired(const perpi_clock* clock);

#endif
