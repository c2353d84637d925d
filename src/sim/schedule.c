/* src/sim/schedule.c - fixed steps: their number, times and lengths. */
#include <float.h>

#include "sim/internal.h"

/* Number, times and lengths of fixed steps.
 *
 * T / h = n + r, 0 <= r < 1:
 *   within 1e-9 of an integer       that many steps, of h if rounding explains the rest; else the
 *   last
 *                                   one ends at T, so that prescribed bodies are where they are at
 *                                   T
 *   n = 0                           one step of T
 *   r < 1/20                        n steps, of which the last has h + r h
 *   else                            n + 1 steps, of which the last two have (h + r h) / 2 each
 * so that no step except that of n = 0 is shorter than 0.525 h: joint errors and overlaps are
 * corrected at a velocity of error / h. All steps but the last two are the same for any longer
 * duration. */

static const double SHORT_REST = 1.0 / 20.0; /* in steps */

static bool divides(double duration, double h, double tolerance)
{
    const double ratio = duration / h, nearest = round(ratio);
    return nearest >= 1.0 && fabs(ratio - nearest) <= tolerance * ratio;
}

static int64_t count_steps(double duration, double h)
{
    const double ratio = duration / h, whole = floor(ratio);
    if (divides(duration, h, 1e-9)) {
        return (int64_t)round(ratio);
    }
    return (int64_t)whole + (whole < 1.0 || ratio - whole >= SHORT_REST);
}

/* Number of steps at the end that are not of length h: 0, 1 or 2. */
static int64_t count_uneven(const perp_sim* sim)
{
    const double T = sim->def.duration, h = sim->def.step;
    if (divides(T, h, 1e-9)) {
        return divides(T, h, 4.0 * DBL_EPSILON) ? 0 : 1;
    }
    return sim->tick_total > 1 && (double)sim->tick_total > T / h ? 2 : 1;
}

double perpi_sim_tick_length(const perp_sim* sim, int64_t tick)
{
    const int64_t uneven = count_uneven(sim), first = sim->tick_total - uneven;
    if (tick < first || uneven == 0) {
        return sim->def.step;
    }
    return (sim->def.duration - (double)first * sim->def.step) / (double)uneven;
}

double perpi_sim_tick_time(const perp_sim* sim, int64_t tick)
{
    if (tick >= sim->tick_total) {
        return sim->def.duration;
    }
    /* a product, not a sum: no accumulated rounding, and the same from any starting point */
    const int64_t first = sim->tick_total - count_uneven(sim);
    return tick <= first ? (double)tick * sim->def.step
                         : (double)first * sim->def.step + perpi_sim_tick_length(sim, first);
}

int64_t perpi_sim_tick_at(const perp_sim* sim, double time)
{
    const int64_t first = sim->tick_total - count_uneven(sim);
    const double start = (double)first * sim->def.step;
    double nearest = round(time / sim->def.step);
    if (first < sim->tick_total && time > start) {
        nearest = (double)first + round((time - start) / perpi_sim_tick_length(sim, first));
    }
    return time >= sim->def.duration || nearest >= (double)sim->tick_total ? sim->tick_total
                                                                           : (int64_t)nearest;
}

int64_t perpi_sim_count_ticks(const perp_sim* sim)
{
    return sim->adaptive ? INT64_MAX : count_steps(sim->def.duration, sim->def.step);
}
