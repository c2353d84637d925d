/* src/study/search_gradient.c - a quasi-Newton search between bounds, by the gradients of runs.
 *
 * Source     Bertsekas, Projected Newton methods for optimization problems with simple constraints, SIAM J. Control
 *            Optim. 20 (1982): bounds that hold are left out, steps are projected onto the others;
 *            Lewis, Overton, Nonsmooth optimization via quasi-Newton methods, Math. Program. 141 (2013): BFGS with the
 *            weak conditions of Wolfe, which also descends along kinks;
 *            Fletcher, Xu, Hybrid methods for nonlinear least squares, IMA J. Numer. Anal. 7 (1987): the curvature of Gauss and
 *            Newton as long as steps reduce the value by a fifth (or by a quarter of what it expects), else BFGS from there;
 *            Nielsen, Damping parameter in Marquardt's method, IMM-REP-1999-05, TU Denmark (1999): damping by the part of the
 *            expected fall that a step brings
 * Departure  the second derivatives B are kept, not their inverse: the step of the unknowns that are free is then that of
 *            B alone, whichever bounds held before
 *
 * A step whose runs have flagged steps (perp/gradient.h) goes on by the gradient of the states that
 * the runs had. Where that brings no descent the point may lie on a kink, and the derivative to the
 * other side is not its negative. Then the one-sided derivatives decide: of the direction and its
 * opposite, and if neither descends of each unknown, the side that falls most steeply is taken; if
 * none falls, the point is a minimum as far as these directions show, and the search ends. Where
 * one-sided derivatives are not known both sides are tried, and the better value is taken. Three
 * such steps in a row hand over: another method goes on from there.
 */
#include <math.h>
#include <string.h>

#include "study/design.h"

#define DESCENT 1e-4   /* of the expected one, at least */
#define CURVATURE 0.9  /* slopes must fall to this part */
#define ROUNDING 1e-14 /* of the value: a smaller descent cannot be seen */
#define GOOD_FALL 0.2  /* of the value, in a step: the curvature of Gauss and Newton describes it */
#define GOOD_PART 0.25 /* likewise, of the fall that it expects */
#define FIRST_DAMPING 1e-1
#define LEAST_DAMPING 1e-7
#define RAISED_DAMPING 1e-3 /* at least, after a step that does not descend */
#define MOST_DAMPING 1e2
#define NEWTON_REACH 8.0 /* of the first steps */
enum { FLAGGED_FAILURES = 3, FLAGGED_TRIALS = 10, TRIALS = 60 };

typedef struct point {
    double *z, *g;
    double* c; /* curvature */
    double f;
    bool sloped, curved;
} point;

typedef struct quasi_newton {
    const perpi_search* search;
    perpi_gradient_outcome* out;
    double* room;
    int32_t* free; /* unknowns that no bound holds */
    int32_t n, free_count;
    point at, trial, kept; /* kept: the last point that descends enough */
    double *b, *factor, *d, *work;
    bool fresh;  /* B is a multiple of the identity */
    bool newton; /* B is the curvature of the present point, and damping times its diagonal */
    double damping, growth; /* growth: of the damping, with the next step that does not descend */
    double expected;        /* the fall by B, of the whole direction */
    double predicted;       /* the fall by the curvature without damping */
    double reach;           /* the longest step */
    double length;          /* of the last trial */
    double accepted;        /* of the last step */
    bool flagged;           /* a trial of the present step has flagged steps */
    int32_t flag_failed;    /* such steps in a row without descent */
} quasi_newton;

static double dot(int32_t n, const double* a, const double* b)
{
    double sum = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        sum += a[i] * b[i];
    }
    return sum;
}

static double largest(int32_t n, const double* a)
{
    double most = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        most = fabs(a[i]) <= most ? most : fabs(a[i]);
    }
    return most;
}

static bool evaluate(quasi_newton* q, point* p)
{
    const perpi_search* s = q->search;
    int64_t flagged = 0;
    if (!s->evaluate(s->user, 1, p->z, &p->f)) {
        return false;
    }
    p->sloped = s->slope(s->user, p->g, &flagged);
    p->curved = p->sloped && s->curvature != NULL && s->curvature(s->user, p->c);
    q->flagged = q->flagged || flagged > 0;
    return true;
}

static void swap(point* a, point* b)
{
    const point c = *a;
    *a = *b;
    *b = c;
}

/* B such that the next step goes straight down, with a given length of its largest part. */
static void reset(quasi_newton* q, double length)
{
    const double size = largest(q->n, q->at.g);
    memset(q->b, 0, (size_t)q->n * (size_t)q->n * sizeof *q->b);
    for (int32_t i = 0; i < q->n; ++i) {
        q->b[i * q->n + i] = size > 0.0 ? size / length : 1.0;
    }
    q->fresh = true;
    q->newton = false;
}

/* B by the curvature of the present point. False: it has none. */
static bool use_curvature(quasi_newton* q)
{
    const int32_t n = q->n;
    double most = 0.0;
    for (int32_t i = 0; q->at.curved && i < n; ++i) {
        most = q->at.c[i * n + i] <= most ? most : q->at.c[i * n + i];
    }
    if (!(most > 0.0) || !isfinite(most)) {
        return false;
    }
    memcpy(q->b, q->at.c, (size_t)n * (size_t)n * sizeof *q->b);
    for (int32_t i = 0; i < n; ++i) { /* unknowns that hardly count keep a finite step */
        const double own = q->b[i * n + i], least = 1e-8 * most;
        q->b[i * n + i] += q->damping * (own > least ? own : least);
    }
    q->newton = true;
    q->fresh = false;
    return true;
}

/* A step by the curvature that does not descend: with more damping. False: there is none, or it is
 * large already. */
static bool damp(quasi_newton* q)
{
    if (!q->newton || !(q->damping < MOST_DAMPING)) {
        return false;
    }
    q->damping *= q->growth;
    q->damping = q->damping < RAISED_DAMPING ? RAISED_DAMPING : q->damping;
    q->growth *= 2.0;
    return use_curvature(q);
}

/* ---- directions -------------------------------------------------------------------------------*/

/* B of the free unknowns = L L^T. False: it is not positive definite. */
static bool factor(quasi_newton* q)
{
    const int32_t m = q->free_count;
    double* l = q->factor;
    for (int32_t i = 0; i < m; ++i) {
        for (int32_t j = 0; j <= i; ++j) {
            double sum = q->b[q->free[i] * q->n + q->free[j]];
            sum -= dot(j, l + i * m, l + j * m);
            if (i == j && !(sum > 0.0 && isfinite(sum))) {
                return false;
            }
            l[i * m + j] = i == j ? sqrt(sum) : sum / l[j * m + j];
        }
    }
    return true;
}

static void solve_free(quasi_newton* q)
{
    const int32_t m = q->free_count;
    const double* l = q->factor;
    double* x = q->work;
    for (int32_t i = 0; i < m; ++i) {
        x[i] = (-q->at.g[q->free[i]] - dot(i, l + i * m, x)) / l[i * m + i];
    }
    for (int32_t i = m - 1; i >= 0; --i) {
        for (int32_t j = i + 1; j < m; ++j) {
            x[i] -= l[j * m + i] * x[j];
        }
        x[i] /= l[i * m + i];
    }
    memset(q->d, 0, (size_t)q->n * sizeof *q->d);
    for (int32_t i = 0; i < m; ++i) {
        q->d[q->free[i]] = x[i];
    }
}

static bool leaves(const quasi_newton* q, int32_t i, double direction)
{
    const perpi_search* s = q->search;
    return (q->at.z[i] <= s->low[i] && direction < 0.0) ||
           (q->at.z[i] >= s->high[i] && direction > 0.0);
}

/* The step of B, without unknowns that it would take out of their bounds at once. False: there is none. */
static bool find_direction(quasi_newton* q)
{
    q->free_count = 0;
    for (int32_t i = 0; i < q->n; ++i) {
        if (!leaves(q, i, -q->at.g[i])) {
            q->free[q->free_count++] = i;
        }
    }
    bool again = true;
    while (again && q->free_count > 0) {
        if (!factor(q)) {
            reset(q, q->accepted);
            continue;
        }
        solve_free(q);
        int32_t kept = 0;
        for (int32_t i = 0; i < q->free_count; ++i) {
            if (!leaves(q, q->free[i], q->d[q->free[i]])) {
                q->free[kept++] = q->free[i];
            }
        }
        again = kept < q->free_count;
        q->free_count = kept;
    }
    if (q->free_count == 0 || !(dot(q->n, q->at.g, q->d) < 0.0)) {
        return false;
    }
    const double size = largest(q->n, q->d);
    for (int32_t i = 0; size > q->reach && i < q->n; ++i) {
        q->d[i] *= q->reach / size;
    }
    return true;
}

/* ---- steps ------------------------------------------------------------------------------------*/

/* The trial at `part` of the direction, moved onto bounds; its slope times the step. */
static double place_trial(quasi_newton* q, double part, bool* clipped)
{
    const perpi_search* s = q->search;
    double slope = 0.0;
    q->length = 0.0;
    *clipped = false;
    for (int32_t i = 0; i < q->n; ++i) {
        const double z = q->at.z[i] + part * q->d[i];
        const double to = z < s->low[i] ? s->low[i] : z > s->high[i] ? s->high[i] : z;
        *clipped = *clipped || to != z;
        q->trial.z[i] = to;
        slope += q->at.g[i] * (to - q->at.z[i]);
        q->length = fabs(to - q->at.z[i]) <= q->length ? q->length : fabs(to - q->at.z[i]);
    }
    return slope;
}

typedef enum step_end {
    STEP_DESCENT, /* q->kept */
    STEP_NONE,
    STEP_DAMPED, /* none yet: with more damping */
    STEP_STOPPED,
} step_end;

/* d' B d */
static double curvature_along(const quasi_newton* q, const double* b)
{
    double sum = 0.0;
    for (int32_t i = 0; i < q->n; ++i) {
        sum += q->d[i] * dot(q->n, b + i * q->n, q->d);
    }
    return sum;
}

/* The weak conditions of Wolfe by bisection; the first parts by a parabola. */
static step_end search_line(quasi_newton* q)
{
    const double down = dot(q->n, q->at.g, q->d), size = largest(q->n, q->d);
    q->expected = -down - 0.5 * curvature_along(q, q->b);
    q->predicted = q->newton ? -down - 0.5 * curvature_along(q, q->at.c) : 0.0;
    double low = 0.0, high = INFINITY, part = 1.0;
    bool found = false;
    q->flagged = false;
    for (int trial = 1; trial <= TRIALS; ++trial) {
        bool clipped;
        const double slope = place_trial(q, part, &clipped);
        if (!evaluate(q, &q->trial)) {
            return STEP_STOPPED;
        }
        const double f = q->trial.f;
        if (f < q->at.f && f <= q->at.f + DESCENT * slope) {
            swap(&q->kept, &q->trial);
            found = true;
            low = part;
            /* a step by the curvature is not prolonged: damping tells its length */
            if (clipped || !q->kept.sloped || q->newton ||
                dot(q->n, q->kept.g, q->d) >= CURVATURE * down) {
                return STEP_DESCENT;
            }
        } else {
            high = part;
        }
        if (!found && damp(q)) {
            return STEP_DAMPED;
        }
        if (isinf(high)) {
            part *= 2.0;
        } else if (low == 0.0) {
            const double curve = f - q->at.f - down * part; /* a penalty is none of a parabola */
            const double least =
                q->trial.sloped && curve > 0.0 ? -0.5 * down * part * part / curve : 0.5 * part;
            part = least < 0.1 * part ? 0.1 * part : least > 0.5 * part ? 0.5 * part : least;
        } else {
            part = 0.5 * (low + high);
        }
        if ((high - low) * size <= 0.5 * q->search->tolerance ||
            (q->flagged && trial >= FLAGGED_TRIALS)) {
            break;
        }
    }
    return found ? STEP_DESCENT : STEP_NONE;
}

/* BFGS with the step from at to kept, which becomes the present point. */
static void take_step(quasi_newton* q)
{
    const int32_t n = q->n;
    double *s = q->d, *y = q->work, *bs = q->factor; /* none of them is needed any more */
    for (int32_t i = 0; i < n; ++i) {
        s[i] = q->kept.z[i] - q->at.z[i];
        y[i] = q->kept.g[i] - q->at.g[i];
    }
    const double sy = dot(n, s, y), yy = dot(n, y, y);
    q->accepted = largest(n, s);
    q->reach = q->accepted >= 0.9 * q->reach ? 2.0 * q->reach : q->reach;
    if (q->kept.sloped && sy > 1e-10 * sqrt(dot(n, s, s) * yy)) {
        if (q->fresh) {
            memset(q->b, 0, (size_t)n * (size_t)n * sizeof *q->b);
            for (int32_t i = 0; i < n; ++i) {
                q->b[i * n + i] = yy / sy;
            }
        }
        for (int32_t i = 0; i < n; ++i) {
            bs[i] = dot(n, q->b + i * n, s);
        }
        const double sbs = dot(n, s, bs);
        for (int32_t i = 0; i < n; ++i) {
            for (int32_t j = 0; j < n; ++j) {
                q->b[i * n + j] += y[i] * y[j] / sy - bs[i] * bs[j] / sbs;
            }
        }
        q->fresh = false;
    }
    const double fall = q->at.f - q->kept.f;
    const bool good = fall >= GOOD_FALL * fabs(q->at.f) ||
                      (q->newton && fall >= GOOD_PART * q->expected && q->expected > 0.0);
    if (q->newton) {
        const double gain = q->predicted > 0.0 ? 2.0 * fall / q->predicted - 1.0 : 0.0;
        const double less = 1.0 - gain * gain * gain;
        q->damping *= less > 1.0 / 3.0 ? less : 1.0 / 3.0;
        q->growth = 2.0;
        q->damping = q->damping < LEAST_DAMPING ? LEAST_DAMPING : q->damping;
        q->out->newton += 1;
    }
    swap(&q->at, &q->kept);
    q->newton = false;
    if (good && q->damping <= MOST_DAMPING) {
        (void)use_curvature(q);
    }
}

/* Both sides of a flagged point, a tenth of the last step away: the better one, if it descends.
 * False: end the search. */
static bool try_both_sides(quasi_newton* q, bool* better)
{
    const double size = largest(q->n, q->d), least = 10.0 * q->search->tolerance;
    const double length = 0.1 * q->accepted > least ? 0.1 * q->accepted : least;
    *better = false;
    q->kept.f = q->at.f;
    for (int side = 0; size > 0.0 && side < 2; ++side) {
        bool clipped;
        (void)place_trial(q, (side == 0 ? 1.0 : -1.0) * length / size, &clipped);
        if (!evaluate(q, &q->trial)) {
            return false;
        }
        if (q->trial.f < q->kept.f && q->trial.sloped) {
            swap(&q->kept, &q->trial);
            *better = true;
        }
    }
    return true;
}

/* The one-sided derivative along a direction, scaled to the length 1, without what leaves the
 * bounds; INFINITY: nothing is left of it. False: it is not known. */
static bool side_slope(quasi_newton* q, double* d, double* slope)
{
    const perpi_search* s = q->search;
    for (int32_t i = 0; i < q->n; ++i) {
        d[i] = leaves(q, i, d[i]) ? 0.0 : d[i];
    }
    const double size = largest(q->n, d);
    *slope = INFINITY;
    if (!(size > 0.0)) {
        return true;
    }
    for (int32_t i = 0; i < q->n; ++i) {
        d[i] /= size;
    }
    return s->side(s->user, q->at.z, d, slope);
}

/* The steepest of the direction, its opposite and, if neither descends, each unknown to both sides;
 * into q->d. False: not known. */
static bool find_side(quasi_newton* q, double* steepest)
{
    const size_t n = (size_t)q->n;
    double *d = q->work, *best = q->factor;                   /* neither is needed any more */
    const bool only = q->n == 1 && largest(q->n, q->d) > 0.0; /* the direction is the unknown */
    *steepest = INFINITY;
    for (int32_t k = 0; k < 2 + 2 * q->n; ++k) {
        double slope;
        if (k == 2 && (only || *steepest < 0.0)) {
            break;
        }
        for (int32_t i = 0; i < q->n; ++i) {
            const double part = k < 2 ? q->d[i] : i == (k - 2) / 2 ? 1.0 : 0.0;
            d[i] = k % 2 == 0 ? part : -part;
        }
        if (!side_slope(q, d, &slope)) {
            return false;
        }
        if (slope < *steepest) {
            *steepest = slope;
            memcpy(best, d, n * sizeof *best);
        }
    }
    if (*steepest < 0.0) {
        memcpy(q->d, best, n * sizeof *best);
    }
    return true;
}

/* Along q->d, of length 1: the first of ever shorter steps that descends. False: end the search. */
static bool step_aside(quasi_newton* q, bool* better)
{
    enum { MAX_STEPS = 8 };
    const double least = 0.5 * q->search->tolerance;
    double length = 0.1 * q->accepted > 10.0 * least ? 0.1 * q->accepted : 10.0 * least;
    *better = false;
    q->search->on_side(q->search->user, true);
    bool going = true;
    for (int i = 0; going && !*better && i < MAX_STEPS && length > least; ++i, length *= 0.25) {
        bool clipped;
        (void)place_trial(q, length, &clipped);
        going = evaluate(q, &q->trial);
        if (going && q->trial.f < q->at.f && q->trial.sloped) {
            swap(&q->kept, &q->trial);
            *better = true;
        }
    }
    q->search->on_side(q->search->user, false);
    return going;
}

/* A flagged step without descent: to the better side, if there is one. False: end the search. */
static bool turn_aside(quasi_newton* q, bool* better)
{
    double slope;
    bool going = true;
    if (q->search->side != NULL && find_side(q, &slope)) {
        *better = false;
        if (slope < 0.0) {
            going = step_aside(q, better);
            q->out->one_sided += *better ? 1 : 0;
        } else {
            q->out->kink = true;
        }
    } else {
        going = try_both_sides(q, better);
    }
    if (*better) {
        q->out->turned += 1;
        swap(&q->at, &q->kept);
    }
    return going;
}

/* A gradient that is zero: is there something beside it? False: end the search. */
static bool look_around(quasi_newton* q, bool* better)
{
    *better = false;
    for (int32_t i = 0; i < q->n; ++i) {
        const double by = q->search->step[i];
        memcpy(q->trial.z, q->at.z, (size_t)q->n * sizeof *q->trial.z);
        q->trial.z[i] += q->trial.z[i] + by <= q->search->high[i] ? by : -by;
        if (!evaluate(q, &q->trial)) {
            return false;
        }
        if (q->trial.f < q->at.f && q->trial.sloped) {
            swap(&q->at, &q->trial);
            reset(q, 1.0);
            *better = true;
            return true;
        }
    }
    return true;
}

static perpi_search_end hand_over(quasi_newton* q, const char* reason)
{
    const double least = 100.0 * q->search->tolerance;
    q->out->reason = reason;
    q->out->scale = q->accepted < least ? least : q->accepted;
    q->out->scale = q->out->scale < 1.0 ? q->out->scale : 1.0;
    return PERPI_SEARCH_HANDED_OVER;
}

/* A step without descent. Converged: nothing else is left to try. */
static bool note_failure(quasi_newton* q)
{
    const double tolerance = q->search->tolerance;
    q->flag_failed = q->flagged ? q->flag_failed + 1 : 0;
    if (!q->flagged && q->fresh) {
        return false;
    }
    reset(q, q->length > tolerance ? q->length : q->accepted);
    return true;
}

static perpi_search_end run(quasi_newton* q)
{
    const double tolerance = q->search->tolerance;
    if (!evaluate(q, &q->at)) {
        return PERPI_SEARCH_STOPPED;
    }
    reset(q, 1.0);
    if (use_curvature(q)) {
        q->reach = NEWTON_REACH;
    }
    for (bool first = true;; first = false) {
        if (!q->at.sloped) {
            return hand_over(q, "a candidate has no gradient");
        }
        if (first && largest(q->n, q->at.g) == 0.0) {
            bool better = false;
            if (q->flagged) { /* that of one side of a kink */
                memset(q->d, 0, (size_t)q->n * sizeof *q->d);
                if (!turn_aside(q, &better)) {
                    return PERPI_SEARCH_STOPPED;
                }
                q->out->kink = false;
            }
            if (better) {
                reset(q, q->length);
            } else if (!look_around(q, &better)) {
                return PERPI_SEARCH_STOPPED;
            }
            if (!better) {
                return PERPI_SEARCH_CONVERGED;
            }
        }
        if (!find_direction(q)) {
            return PERPI_SEARCH_CONVERGED;
        }
        bool clipped;
        const double expected = place_trial(q, 1.0, &clipped);
        if (q->length <= tolerance || -expected <= ROUNDING * fabs(q->at.f)) {
            if (damp(q)) { /* moved onto bounds the step may not descend */
                continue;
            }
            return PERPI_SEARCH_CONVERGED;
        }
        const step_end end = search_line(q);
        if (end == STEP_STOPPED) {
            return PERPI_SEARCH_STOPPED;
        }
        if (end == STEP_DAMPED) {
            continue;
        }
        q->out->steps += 1;
        q->out->flagged += q->flagged ? 1 : 0;
        if (end == STEP_NONE) {
            bool better = false;
            if (q->flagged && !turn_aside(q, &better)) {
                return PERPI_SEARCH_STOPPED;
            }
            if (q->out->kink) {
                return PERPI_SEARCH_CONVERGED;
            }
            if (!note_failure(q) && !better) {
                return PERPI_SEARCH_CONVERGED;
            }
            if (q->flag_failed >= FLAGGED_FAILURES) {
                return hand_over(q, "three steps in a row with flagged gradients brought no "
                                    "descent along them");
            }
            continue;
        }
        q->flag_failed = 0;
        take_step(q);
        if (q->accepted <= tolerance && q->at.sloped) {
            return PERPI_SEARCH_CONVERGED;
        }
    }
}

perpi_search_end perpi_search_gradient(perp_context* context, const perpi_search* search,
                                       perpi_gradient_outcome* out)
{
    const int32_t n = search->n;
    const size_t m = (size_t)n;
    quasi_newton q = {.search = search,
                      .out = out,
                      .n = n,
                      .reach = 1.0,
                      .accepted = 1.0,
                      .length = 1.0,
                      .damping = FIRST_DAMPING,
                      .growth = 2.0};
    *out = (perpi_gradient_outcome){.reason = "", .scale = 1.0};
    perp_status status = perpi_alloc(context, 8 * m + 5 * m * m, sizeof *q.room, &q.room);
    if (status == PERP_OK) {
        status = perpi_alloc(context, m, sizeof *q.free, &q.free);
    }
    perpi_search_end end = PERPI_SEARCH_MEMORY;
    if (status == PERP_OK) {
        point* const points[] = {&q.at, &q.trial, &q.kept};
        for (size_t i = 0; i < 3; ++i) {
            points[i]->z = q.room + 2 * i * m;
            points[i]->g = q.room + (2 * i + 1) * m;
            points[i]->c = q.room + 8 * m + (2 + i) * m * m;
        }
        q.d = q.room + 6 * m;
        q.work = q.room + 7 * m;
        q.b = q.room + 8 * m;
        q.factor = q.b + m * m;
        end = run(&q);
        memcpy(out->z, q.at.z, m * sizeof *out->z);
    }
    perpi_free(context, q.room);
    perpi_free(context, q.free);
    return end;
}
