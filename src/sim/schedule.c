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

typedef struct schedule {
    double T, h;
    int64_t total;
} schedule;

static schedule schedule_of(const perp_sim* sim)
{
    return (schedule){sim->def.duration, sim->def.step, sim->tick_total};
}

enum { MOST_UNEVEN = 2 };

/* Number of steps at the end that are not of length h: 0, 1 or 2. */
static int64_t count_uneven(const schedule* s)
{
    if (divides(s->T, s->h, 1e-9)) {
        return divides(s->T, s->h, 4.0 * DBL_EPSILON) ? 0 : 1;
    }
    return s->total > 1 && (double)s->total > s->T / s->h ? 2 : 1;
}

static double tick_length(const schedule* s, int64_t tick)
{
    if (tick < s->total - MOST_UNEVEN) {
        return s->h;
    }
    const int64_t uneven = count_uneven(s), first = s->total - uneven;
    if (tick < first || uneven == 0) {
        return s->h;
    }
    return (s->T - (double)first * s->h) / (double)uneven;
}

static int64_t tick_at(const schedule* s, double time)
{
    const int64_t first = s->total - count_uneven(s);
    const double start = (double)first * s->h;
    double nearest = round(time / s->h);
    if (first < s->total && time > start) {
        nearest = (double)first + round((time - start) / tick_length(s, first));
    }
    return time >= s->T || nearest >= (double)s->total ? s->total : (int64_t)nearest;
}

double perpi_sim_tick_length(const perp_sim* sim, int64_t tick)
{
    const schedule s = schedule_of(sim);
    return tick_length(&s, tick);
}

double perpi_sim_tick_time(const perp_sim* sim, int64_t tick)
{
    if (tick >= sim->tick_total) {
        return sim->def.duration;
    }
    /* a product, not a sum: no accumulated rounding, and the same from any starting point */
    const schedule s = schedule_of(sim);
    if (tick <= s.total - MOST_UNEVEN) {
        return (double)tick * s.h;
    }
    const int64_t first = s.total - count_uneven(&s);
    return tick <= first ? (double)tick * s.h : (double)first * s.h + tick_length(&s, first);
}

int64_t perpi_sim_tick_at(const perp_sim* sim, double time)
{
    const schedule s = schedule_of(sim);
    return tick_at(&s, time);
}

double perpi_step_ending_at(double duration, double h, double time)
{
    const schedule s = {duration, h, count_steps(duration, h)};
    const int64_t tick = tick_at(&s, time);
    return tick > 0 ? tick_length(&s, tick - 1) : 0.0;
}

int64_t perpi_sim_count_ticks(const perp_sim* sim)
{
    return sim->adaptive ? INT64_MAX : count_steps(sim->def.duration, sim->def.step);
}
