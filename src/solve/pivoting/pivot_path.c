/* src/solve/pivoting/pivot_path.c - one path of the pivotal method, from a basis to z0 = 0.
 *
 * A step moves the entering variable from its bound until a basic variable meets one of its bounds
 * (or the entering one meets its other bound: no exchange then), and the complement of the one that
 * stopped comes next. z_i moves between 0 and U_i; w_i is >= 0 while z_i rests at 0, <= 0 while it
 * rests at U_i. Free unknowns have no bounds and never leave.
 *
 * Ties: q + epsilon r2 with random r2 > 0 and symbolic epsilon; x2 holds the epsilon parts. Rows
 * within a tie's width of each other (Harris) are compared by these.
 */
#include <math.h>
#include <string.h>

#include "solve/monitor.h"
#include "solve/pivoting/pivot.h"

#define NOISE 1e-10      /* on epsilon parts, relative to the largest of the tied rows */
#define SMALL_PIVOT 1e-5 /* relative to its column: only from a fresh inverse, and renew it after */
#define CHECK_EVERY 16   /* pivots between two checks of B x = r */
#define ROUNDING 1e-3    /* relative to a tie: a smaller violation is rounding */
#define DRIFT 1e-11 /* of B x - r, relative to the largest x, above which the inverse is renewed */

double perpi_pivot_uniform(uint64_t* state)
{
    uint64_t t = (*state += 0x9e3779b97f4a7c15u);
    t = (t ^ (t >> 30)) * 0xbf58476d1ce4e5b9u;
    t = (t ^ (t >> 27)) * 0x94d049bb133111ebu;
    return (double)((t ^ (t >> 31)) >> 11) * 0x1.0p-53;
}

/* The bounds of variable v when it is basic at position p. */
static void set_bounds(perpi_pivot* s, int32_t p, int32_t v)
{
    const int32_t n = s->basis.n;
    const perpi_unknown* kind = s->problem.kind;
    double lo = 0.0, up = INFINITY;
    if (v < n) {
        if (kind[v] == PERPI_UNKNOWN_FIXED) {
            lo = -INFINITY;
        } else if (kind[v] == PERPI_UNKNOWN_FREE) { /* artificial, or of a redundant equation */
            up = s->partner[v] == PERPI_PIVOT_REDUNDANT ? INFINITY : 0.0;
            lo = up > 0.0 ? -INFINITY : 0.0;
        } else if (s->at_upper[v]) {
            lo = -INFINITY;
            up = 0.0;
        }
    } else if (v < 2 * n) {
        lo = kind[v - n] == PERPI_UNKNOWN_FREE ? -INFINITY : 0.0;
        up = s->problem.U[v - n];
    }
    s->lo[p] = lo;
    s->up[p] = up;
}

void perpi_pivot_values(perpi_pivot* s)
{
    const perpi_pivot_basis* b = &s->basis;
    const int32_t n = b->n;
    memcpy(s->r, s->q, (size_t)n * sizeof *s->r);
    for (int32_t i = 0; i < n; ++i) {
        if (s->at_upper[i] && b->where[n + i] < 0) {
            perpi_pivot_basis_add_column(b, n + i, -s->problem.U[i], s->r);
        }
    }
    perpi_pivot_basis_solve(&s->basis, s->r, s->x);
    perpi_pivot_basis_solve(&s->basis, s->r2, s->x2);
}

/* Renews the inverse and the values. */
static bool renew_inverse(perpi_pivot* s)
{
    bool good = false;
    const perp_status status = perpi_pivot_basis_factor(&s->basis, &good);
    if (status != PERP_OK) {
        s->status = status;
        return false;
    }
    if (good) {
        perpi_pivot_values(s);
    }
    return good;
}

/* One correction of x against B x = r; returns how far it was off, relative to the largest x. */
static double correct_values(perpi_pivot* s)
{
    perpi_pivot_basis* b = &s->basis;
    const int32_t n = b->n;
    double* rho = s->w;
    double size = 1.0, worst = 0.0;
    memcpy(rho, s->r, (size_t)n * sizeof *rho);
    for (int32_t p = 0; p < n; ++p) {
        const double m = fabs(s->x[p]);
        size = m > size ? m : size;
        if (s->x[p] != 0.0) {
            perpi_pivot_basis_add_column(b, b->var[p], -s->x[p], rho);
        }
    }
    for (int32_t i = 0; i < n; ++i) {
        const double m = fabs(rho[i]);
        worst = !(m <= worst) ? m : worst;
    }
    if (worst > 0.0) {
        perpi_pivot_basis_solve(b, rho, s->work);
        for (int32_t p = 0; p < n; ++p) {
            s->x[p] += s->work[p];
        }
    }
    return worst / size;
}

/* ---- the ratio test ------------------------------------------------------------------------------*/

typedef enum stop_kind { STOP_RAY, STOP_FLIP, STOP_LOWER, STOP_UPPER } stop_kind;

typedef struct stop {
    stop_kind kind;
    int32_t p;   /* the position that leaves */
    bool small;  /* its pivot is small */
    double step; /* of the entering variable */
} stop;

/* Among the tied positions the one with the smallest epsilon part of its ratio; within rounding the
 * one with the larger pivot. An artificial variable is preferred to all. */
static int32_t pivot_break_ties(const perpi_pivot* s, const double* d, double sigma, int32_t count,
                                double* least)
{
    double size = 0.0, smallest = INFINITY;
    int32_t best = -1;
    for (int32_t t = 0; t < count; ++t) {
        const int32_t p = s->tied[t];
        if (s->lo[p] == s->up[p] && (best < 0 || fabs(d[p]) > fabs(d[best]))) {
            best = p;
        }
        const double e = s->x2[p] / (sigma * d[p]);
        size = fabs(e) > size ? fabs(e) : size;
        smallest = e < smallest ? e : smallest;
    }
    *least = best >= 0 ? -INFINITY : smallest;
    for (int32_t t = 0; t < count && !(*least == -INFINITY); ++t) {
        const int32_t p = s->tied[t];
        const double e = s->x2[p] / (sigma * d[p]);
        if (e <= smallest + NOISE * size && (best < 0 || fabs(d[p]) > fabs(d[best]))) {
            best = p;
        }
    }
    return best;
}

/* The entering variable moves in direction sigma; `range`: how far until its other bound. */
static stop pivot_ratio_test(perpi_pivot* s, double sigma, double range)
{
    const perpi_pivot_basis* b = &s->basis;
    const int32_t n = b->n;
    const double *d = s->d, *x = s->x, *lo = s->lo, *up = s->up;
    double d_max = 0.0, x_max = 1.0;
    for (int32_t p = 0; p < n; ++p) {
        const double m = fabs(d[p]);
        d_max = m > d_max ? m : d_max;
        if ((lo[p] > -INFINITY || up[p] < INFINITY) && fabs(x[p]) > x_max) {
            x_max = fabs(x[p]);
        }
    }
    const double smallest = s->set.pivot_tolerance * d_max;
    const double tie = s->tie * x_max;
    /* How far the path may go if every row may be violated by a tie's width (Harris): a row with a
     * tiny pivot, whose ratio is mostly rounding, then does not hide one that is well determined. */
    double step = INFINITY;
    for (int32_t p = 0; p < n; ++p) {
        const double g = sigma * d[p];
        double room;
        if (g > smallest) {
            room = x[p] - lo[p];
        } else if (g < -smallest) {
            room = up[p] - x[p];
        } else {
            continue;
        }
        const double t = ((room < 0.0 ? 0.0 : room) + tie) / fabs(g);
        step = t < step ? t : step;
    }
    if (!(step < INFINITY) && !(range < INFINITY)) {
        return (stop){.kind = STOP_RAY, .p = -1};
    }
    int32_t count = 0, z0 = -1;
    for (int32_t p = 0; p < n; ++p) {
        const double g = sigma * d[p];
        if ((g > smallest && x[p] - lo[p] <= step * g) ||
            (g < -smallest && up[p] - x[p] <= step * -g)) {
            z0 = b->var[p] == 2 * n ? p : z0;
            s->tied[count++] = p;
        }
    }
    int32_t best = z0; /* z0 can leave: the end */
    double least = -INFINITY;
    if (best < 0 && count > 0) {
        best = pivot_break_ties(s, d, sigma, count, &least);
    }
    const double g = best >= 0 ? sigma * d[best] : 0.0;
    double t = best < 0 ? INFINITY : (g > 0.0 ? x[best] - lo[best] : x[best] - up[best]) / g;
    t = t < 0.0 ? 0.0 : t;
    if (range < t || (range <= step && z0 < 0 && (range <= t || least >= 0.0))) {
        return (stop){.kind = STOP_FLIP, .p = -1, .step = range};
    }
    return (stop){.kind = g > 0.0 ? STOP_LOWER : STOP_UPPER,
                  .p = best,
                  .small = fabs(g) < SMALL_PIVOT * d_max,
                  .step = t};
}

/* ---- the path ------------------------------------------------------------------------------------*/

typedef struct mover {
    int32_t variable;
    double sigma; /* direction */
    double from;  /* its value at rest */
    double range; /* to its other bound */
} mover;

/* The variable that enters after v has reached its lower or upper bound. */
static mover next_entering(const perpi_pivot* s, int32_t v)
{
    const int32_t n = s->basis.n;
    const int32_t i = v < n ? v : v - n;
    const double sigma = s->at_upper[i] ? -1.0 : 1.0;
    if (v >= n) {
        return (mover){i, sigma, 0.0, INFINITY};
    }
    const double U = s->problem.U[i];
    return (mover){n + i, sigma, s->at_upper[i] ? U : 0.0, U};
}

/* Performs the exchange or bound flip `at`; returns the next entering variable. */
static mover pivot_advance(perpi_pivot* s, const mover* m, const stop* at)
{
    perpi_pivot_basis* b = &s->basis;
    const int32_t n = b->n;
    const double t = at->step, sigma = m->sigma;
    const bool enters_z = m->variable >= n && m->variable < 2 * n;
    const int32_t i = enters_z ? m->variable - n : -1;
    if (at->kind == STOP_FLIP) {
        for (int32_t p = 0; p < n; ++p) {
            s->x[p] -= sigma * t * s->d[p];
        }
        if (m->variable == 2 * n) { /* z0 came to 0 without an exchange */
            return *m;
        }
        perpi_pivot_basis_add_column(b, m->variable, s->at_upper[i] ? t : -t, s->r);
        s->at_upper[i] = !s->at_upper[i];
        return next_entering(s, m->variable);
    }
    const int32_t p = at->p, leaving = b->var[p];
    const bool artificial = s->lo[p] == s->up[p];
    const double t2 = artificial ? 0.0 : s->x2[p] / (sigma * s->d[p]);
    for (int32_t k = 0; k < n; ++k) {
        s->x[k] -= sigma * t * s->d[k];
        s->x2[k] -= sigma * t2 * s->d[k];
    }
    s->x[p] = m->from + sigma * t;
    s->x2[p] = sigma * t2;
    if (enters_z && s->at_upper[i]) {
        perpi_pivot_basis_add_column(b, m->variable, s->problem.U[i], s->r);
    }
    perpi_pivot_basis_exchange(b, p, m->variable, s->d);
    set_bounds(s, p, m->variable);
    if (leaving == 2 * n) {
        return *m;
    }
    if (leaving >= n) {
        s->at_upper[leaving - n] = at->kind == STOP_UPPER;
        if (at->kind == STOP_UPPER) {
            perpi_pivot_basis_add_column(b, leaving, -s->problem.U[leaving - n], s->r);
        }
    } else if (s->problem.kind[leaving] == PERPI_UNKNOWN_FREE) {
        /* The direction of the entering free unknown keeps the last variable moving in its
         * direction. */
        const int32_t c = n + s->partner[leaving];
        perpi_pivot_basis_column(b, c, s->d);
        return (mover){c, sigma * s->d[p] > 0.0 ? -1.0 : 1.0, 0.0, INFINITY};
    }
    return next_entering(s, leaving);
}

static perpi_path_end pivot_interrupted(const perpi_pivot* s)
{
    const perp_outcome interrupt = perpi_monitor_interrupt(s->options, &s->clock);
    return interrupt == PERP_OUTCOME_TIME_LIMIT  ? PERPI_PATH_TIME
           : interrupt == PERP_OUTCOME_CANCELLED ? PERPI_PATH_CANCELLED
                                                 : PERPI_PATH_SOLVED;
}

/* Follows the path until z0 is at rest at 0. */
static perpi_path_end pivot_follow_path(perpi_pivot* s, mover m, int32_t limit)
{
    perpi_pivot_basis* b = &s->basis;
    const int32_t n = b->n;
    int32_t age = 1;
    for (int32_t count = 0;; ++count) {
        if (count >= limit || s->pivots >= s->limit) {
            return PERPI_PATH_LIMIT;
        }
        if (!b->dense || s->pivots % CHECK_EVERY == CHECK_EVERY - 1) {
            const perpi_path_end end = pivot_interrupted(s);
            if (end != PERPI_PATH_SOLVED) {
                return end;
            }
        }
        if (count > 0) { /* r does not contain the initial value of z0 */
            const bool due = age > 0 && age % CHECK_EVERY == 0;
            if (age >= s->set.refactor_every || perpi_pivot_basis_full(b) ||
                (due && !(correct_values(s) <= DRIFT))) {
                if (!renew_inverse(s)) {
                    return PERPI_PATH_BREAKDOWN;
                }
                age = 0;
            }
            perpi_pivot_basis_column(b, m.variable, s->d);
        }
        stop at = pivot_ratio_test(s, m.sigma, m.range);
        if (age > 0 && count > 0 && (at.kind == STOP_RAY || at.small)) {
            if (!renew_inverse(
                    s)) { /* accept a ray or a tiny pivot only from a recomputed inverse */
                return PERPI_PATH_BREAKDOWN;
            }
            age = 0;
            perpi_pivot_basis_column(b, m.variable, s->d);
            at = pivot_ratio_test(s, m.sigma, m.range);
        }
        if (at.kind == STOP_RAY) {
            return PERPI_PATH_RAY;
        }
        m = pivot_advance(s, &m, &at);
        ++s->pivots;
        age = at.small ? s->set.refactor_every : age + 1;
        if (s->options->log != NULL) { /* z0 bounds the remaining violation */
            const int32_t p0 = b->where[2 * n];
            s->options->log(s->options->user, s->pivots, p0 < 0 ? 0.0 : s->x[p0]);
        }
        if (b->where[2 * n] < 0) {
            return PERPI_PATH_SOLVED;
        }
    }
}

perpi_path_end perpi_pivot_follow(perpi_pivot* s, uint64_t seed, int32_t limit)
{
    perpi_pivot_basis* b = &s->basis;
    const int32_t n = b->n;
    uint64_t state = seed + 1;
    for (int32_t i = 0; i < n; ++i) {
        s->r2[i] = 0.5 + perpi_pivot_uniform(&state);
    }
    perpi_pivot_values(s);
    /* The least z0 at which every variable with one bound is feasible. */
    double z0 = 0.0, largest = 1.0;
    bool between = false;
    for (int32_t p = 0; p < n; ++p) {
        set_bounds(s, p, b->var[p]);
        const bool below = s->lo[p] > -INFINITY, above = s->up[p] < INFINITY;
        const double speed = seed == 0 ? 1.0 : exp2(8.0 * perpi_pivot_uniform(&state) - 4.0);
        s->cover[p] = 0.0;
        largest = fabs(s->x[p]) > largest ? fabs(s->x[p]) : largest;
        if (below != above) {
            s->cover[p] = below ? speed : -speed;
            const double short_of = (below ? s->lo[p] - s->x[p] : s->x[p] - s->up[p]) / speed;
            z0 = short_of > z0 ? short_of : z0;
        } else if (below && !(s->x[p] >= s->lo[p] && s->x[p] <= s->up[p])) {
            between = true;
        }
    }
    if (!(z0 > ROUNDING * s->tie * largest) && !between) {
        return PERPI_PATH_SOLVED;
    }
    z0 = z0 > 0.0 ? z0 : 1.0;
    for (int32_t p = 0; p < n; ++p) { /* variables with two bounds start at the middle */
        if (s->lo[p] > -INFINITY && s->up[p] < INFINITY &&
            !(s->x[p] >= s->lo[p] && s->x[p] <= s->up[p])) {
            s->cover[p] = (0.5 * (s->lo[p] + s->up[p]) - s->x[p]) / z0;
        }
    }
    /* h = B cover; z0 then comes down from its start. */
    memset(s->h, 0, (size_t)n * sizeof *s->h);
    for (int32_t p = 0; p < n; ++p) {
        if (s->cover[p] != 0.0) {
            perpi_pivot_basis_add_column(b, b->var[p], s->cover[p], s->h);
        }
        s->x[p] += z0 * s->cover[p];
        s->d[p] = -s->cover[p];
    }
    return pivot_follow_path(s, (mover){2 * n, -1.0, z0, z0}, limit);
}
