/* src/solve/clock.c - see clock.h. */
#define _POSIX_C_SOURCE 200809L
#include "solve/clock.h"

#include <time.h>

double perpi_clock_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

perpi_clock perpi_clock_start(double limit)
{
    return (perpi_clock){.start = limit > 0.0 ? perpi_clock_now() : 0.0, .limit = limit};
}

double perpi_clock_elapsed(const perpi_clock* clock)
{
    return perpi_clock_now() - clock->start;
}

bool perpi_clock_expired(const perpi_clock* clock)
{
    return clock->limit > 0.0 && perpi_clock_elapsed(clock) >= clock->limit;
}
