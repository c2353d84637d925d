/* src/study/estimate_shooting_restart.c - where derivatives do not lead on: parameters without
 * influence, bounds, and searches from other points. */
#include <math.h>
#include <string.h>

#include "base/vec.h"
#include "study/estimate_shooting.h"

/* Values that are tried of a parameter without influence. */
#define PLATEAU_POINTS 8
/* Residuals so many times the noise at the end: a search from the best of so many points between the bounds. */
#define LOST 5.0
#define OTHER_POINTS 32

/* Whether a parameter has no influence at the point: a body that sticks does not feel how rough the ground is. */
static bool is_without_influence(const perpi_shooting* s, int32_t i)
{
    double sum = 0.0;
    for (int32_t k = 0; k < s->ev->count; ++k) {
        sum += s->ev->part[k].H[i * s->N + i];
    }
    return sum == 0.0;
}

/* The cost is flat in such a parameter, and no derivative leads away: equidistant values between
 * its bounds are tried, and the best is taken. *moved: there was a better one. */
perp_status perpi_shooting_leave_plateaus(perpi_shooting* s, bool* moved)
{
    *moved = false;
    for (int32_t i = 0; i < s->n; ++i) {
        const perp_unknown* u = &s->e->parameter[i].info;
        if (!isfinite(u->high - u->low) || !is_without_influence(s, i)) {
            continue;
        }
        double best = s->ev->parameter[i], least = s->merit;
        for (int k = 0; k < PLATEAU_POINTS; ++k) {
            double cost, merit;
            s->ev->parameter[i] = u->low + (u->high - u->low) * (k + 0.5) / PLATEAU_POINTS;
            s->answer->iterations += 1;
            PERPI_TRY(perpi_shooting_evaluate(s, false, &cost, &merit));
            if (merit < least) {
                best = s->ev->parameter[i];
                least = merit;
                *moved = true;
            }
        }
        s->ev->parameter[i] = best;
        /* residuals and derivatives are those of the last value that was tried */
        PERPI_TRY(perpi_shooting_evaluate(s, true, &s->cost, &s->merit));
    }
    return PERP_OK;
}

/* One parameter a little inside its bounds, and a search from there; *better: it found less. */
static perp_status descend_inside(perpi_shooting* s, int32_t i, bool* better)
{
    static const double INSIDE = 0.01; /* of the distance of the bounds */
    const perp_unknown* u = &s->e->parameter[i].info;
    const double range = u->high - u->low, by = INSIDE * (isfinite(range) ? range : u->scale);
    const double merit = s->merit;
    const bool converged = s->answer->converged;
    s->ev->parameter[i] += s->ev->parameter[i] <= u->low ? by : -by;
    PERPI_TRY(perpi_shooting_evaluate(s, true, &s->cost, &s->merit));
    *better = false;
    if (isfinite(s->merit) && !is_without_influence(s, i)) {
        s->damping = PERPI_SHOOTING_DAMPING;
        s->answer->converged = false;
        PERPI_TRY(perpi_shooting_descend(s));
        *better = s->merit < merit;
    }
    s->answer->converged = *better ? s->answer->converged : converged;
    return PERP_OK;
}

/* A step that is cut off at a bound may end where the parameter has no influence, but would have
 * inside: friction that is 0 has no derivative. The starts have followed it there, so that other
 * values of the parameter alone are no better. */
perp_status perpi_shooting_leave_bounds(perpi_shooting* s)
{
    perp_status status = PERP_OK;
    for (int32_t i = 0; status == PERP_OK && i < s->n; ++i) {
        const perp_unknown* u = &s->e->parameter[i].info;
        const double at = s->ev->parameter[i];
        perpi_shooting kept = *s;
        bool better = false;
        if ((at > u->low && at < u->high) || !is_without_influence(s, i)) {
            continue;
        }
        perpi_shooting_keep_point(s);
        s->kept_parameter = s->kept_start = NULL;
        s->kept_node = NULL;
        status = perpi_shooting_allocate_point(s);
        if (status == PERP_OK) {
            status = descend_inside(s, i, &better);
        }
        perpi_shooting_free_point(s);
        s->kept_parameter = kept.kept_parameter;
        s->kept_start = kept.kept_start;
        s->kept_node = kept.kept_node;
        if (status == PERP_OK && !better) {
            perpi_shooting_restore_point(s);
            status = perpi_shooting_evaluate(s, true, &s->cost, &s->merit);
        }
    }
    return status;
}

/* Whether residuals are more than so many times the noise, and more than their own scatter explains. */
static bool exceeds_noise(const perpi_shooting* s, double times)
{
    const double degrees = perpi_shooting_count_values(s) - s->n - (double)s->ev->m * s->ev->count;
    return degrees > 0.0 &&
           2.0 * s->merit >
               degrees * times * times * (1.0 + PERPI_SHOOTING_EXCESS * sqrt(2.0 / degrees));
}

/* From the first values, the parameters alone at first: while they are wrong, starts of bodies that
 * touch others are moved to where they are pushed out or fall, and residuals have kinks that hold
 * the search. */
static perp_status search_in_stages(perpi_shooting* s)
{
    for (int32_t i = 0; i < s->n; ++i) {
        s->ev->parameter[i] = s->e->parameter[i].info.start;
    }
    memset(s->ev->start, 0, (size_t)s->ev->count * (size_t)s->m * sizeof *s->ev->start);
    s->hold = true;
    const perp_status status = perpi_shooting_search_on(s);
    s->hold = false;
    return status == PERP_OK ? perpi_shooting_search_on(s) : status;
}

/* The digits of `index` in the base, mirrored at the point. */
static double radical_inverse(int32_t index, int32_t base)
{
    double x = 0.0, place = 1.0;
    for (; index > 0; index /= base) {
        place /= base;
        x += place * (index % base);
    }
    return x;
}

/* The point of this number: in the box of the bounds [Halton 1960]; parameters without bounds keep
 * their first value. */
static void set_other_point(perpi_shooting* s, int32_t number)
{
    static const int32_t prime[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29};
    enum { PRIMES = sizeof prime / sizeof prime[0] };
    if (s->m > 0) {
        memset(s->ev->start, 0, (size_t)s->ev->count * (size_t)s->m * sizeof *s->ev->start);
    }
    for (int32_t i = 0, bounded = 0; i < s->n; ++i) {
        const perp_unknown* u = &s->e->parameter[i].info;
        const double range = u->high - u->low;
        s->ev->parameter[i] =
            isfinite(range) ? u->low + range * radical_inverse(number, prime[bounded++ % PRIMES])
                            : u->start;
    }
}

/* From the best of points that fill the box of the bounds. */
static perp_status search_elsewhere(perpi_shooting* s)
{
    double least = INFINITY;
    int32_t best = 1;
    for (int32_t k = 1; k <= OTHER_POINTS; ++k) {
        double cost, merit;
        set_other_point(s, k);
        s->answer->iterations += 1;
        PERPI_TRY(perpi_shooting_evaluate(s, false, &cost, &merit));
        best = merit < least ? k : best;
        least = merit < least ? merit : least;
    }
    set_other_point(s, best);
    return isfinite(least) ? perpi_shooting_search_on(s) : PERP_OK;
}

/* Another search, whose result stays if it is better. */
static perp_status try_search(perpi_shooting* s, perp_status (*other)(perpi_shooting*))
{
    const double merit = s->merit;
    const bool converged = s->answer->converged;
    const int64_t most = s->e->iterations;
    perpi_shooting best = *s;
    best.kept_parameter = best.kept_start = NULL;
    best.kept_node = NULL;
    perp_status status = perpi_shooting_allocate_point(&best);
    if (status == PERP_OK) {
        perpi_shooting_keep_point(&best);
        s->e->iterations += s->answer->iterations; /* each may use as many */
        status = other(s);
        s->e->iterations = most;
    }
    const bool failed = status == PERP_ERROR_SOLVE; /* it came to where nothing can be simulated */
    if (failed || (status == PERP_OK && !(s->merit < merit))) {
        perpi_shooting_restore_point(&best);
        s->answer->converged = converged;
        status = perpi_shooting_evaluate(s, true, &s->cost, &s->merit);
    }
    perpi_shooting_free_point(&best);
    return status;
}

static bool has_bounds(const perpi_shooting* s)
{
    for (int32_t i = 0; i < s->n; ++i) {
        if (isfinite(s->e->parameter[i].info.high - s->e->parameter[i].info.low)) {
            return true;
        }
    }
    return false;
}

perp_status perpi_shooting_restart(perpi_shooting* s)
{
    if (s->m > 0 && exceeds_noise(s, 1.0)) {
        PERPI_TRY(try_search(s, search_in_stages));
    }
    if (has_bounds(s) && exceeds_noise(s, LOST)) {
        PERPI_TRY(try_search(s, search_elsewhere));
    }
    return PERP_OK;
}
