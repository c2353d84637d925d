/* src/step/middle_path.c - middle steps of bodies that turn by a radian and more.
 *
 * Newton's method converges from near the answer alone. The middle steps of all lengths s h, 0 <= s <= 1, form a curve
 * that begins at s = 0 with the velocities nearest to v that the joints allow, and is the only one there (those of
 * the state satisfy the joints on average over the last step). It can be followed: every middle step keeps the
 * energy, so its velocities and impulses are bounded, and of a bounded curve that cannot return to s = 0 the end is at
 * s = 1. On the way s need not increase: the curve may turn back, and forth again.
 *
 * Source     predictor and corrector with the length of the curve as the parameter, [Keller 1977]
 * Method     from the last two points a, b of the curve (v, p, s) the next is expected at a + k (a - b). First at a given
 *            s; where s turns back, on the plane through that point across a - b,
 *                (v_a - v_b)' M (v - v_e) / E + (s_a - s_b) (s - s_e) = 0,   E = v' M v of the start
 *            by Newton's method with one more unknown: the equations are linearised in (v, p), as in middle.c, and
 *            solved a second time with their slope by s.
 */
#include <string.h>

#include "step/middle.h"
#include "step/pack.h"

enum { MOST_SOLVES = 300, MOST_STEPS = 10, FEW_STEPS = 5 };

/* A point of the curve. v: of the problem. */
typedef struct path_point {
    double s, *v, *p;
} path_point;

typedef struct path {
    int32_t dofs, rows;
    path_point a, b; /* the last one and the one before; s = 0: the start of the curve */
    path_point next; /* where the next is expected, or sought */
    double* across;  /* M (v_a - v_b) / E */
    double* now;     /* v of the point at which the equations are linearised */
    double *z, *e, *dv, *dp;
    double energy;
    bool solved;
    int32_t solves;
} path;

size_t perpi_middle_path_size(int32_t dofs, int32_t rows)
{
    return 7 * (size_t)dofs + 5 * (size_t)rows;
}

static path path_of(const perpi_step* step)
{
    const perp_contact_problem* P = &step->formulation->problem;
    path x = {.dofs = P->dof_count, .rows = P->row_count};
    double* at = perpi_middle_path_room(step);
    double** v[] = {&x.a.v, &x.b.v, &x.next.v, &x.across, &x.now, &x.z, &x.dv};
    double** p[] = {&x.a.p, &x.b.p, &x.next.p, &x.e, &x.dp};
    for (size_t i = 0; i < sizeof v / sizeof *v; ++i, at += x.dofs) {
        *v[i] = at;
    }
    for (size_t i = 0; i < sizeof p / sizeof *p; ++i, at += x.rows) {
        *p[i] = at;
    }
    return x;
}

/* y = M x */
static void multiply_mass(const perpi_formulation* f, const double* x, double* y)
{
    const double* M = f->M;
    for (int32_t block = 0; block < f->problem.block_count; ++block) {
        const int32_t first = f->dof[block], n = f->dof[block + 1] - first;
        for (int32_t i = 0; i < n; ++i, M += n) {
            y[first + i] = 0.0;
            for (int32_t j = 0; j < n; ++j) {
                y[first + i] += M[j] * x[first + j];
            }
        }
    }
}

static double dot(int32_t n, const double* a, const double* b)
{
    double sum = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* The start of the curve: velocities of the start without impulses, and the same point twice. */
static void begin_path(perpi_step* step, path* x)
{
    perpi_formulation_gather_v(step->formulation, step->model, step->v_from, x->a.v);
    memcpy(x->b.v, x->a.v, (size_t)x->dofs * sizeof *x->a.v);
    memset(x->a.p, 0, (size_t)x->rows * sizeof *x->a.p);
    memset(x->b.p, 0, (size_t)x->rows * sizeof *x->b.p);
    multiply_mass(step->formulation, x->a.v, x->across);
    x->energy = dot(x->dofs, x->a.v, x->across);
}

/* The next point at the length s, from the last two of the curve, or from the last one. */
static void expect_at(path* x, double s)
{
    const double part = x->b.s > 0.0 ? (s - x->a.s) / (x->a.s - x->b.s) : 0.0;
    for (int32_t i = 0; i < x->dofs; ++i) {
        x->next.v[i] = x->a.v[i] + part * (x->a.v[i] - x->b.v[i]);
    }
    for (int32_t i = 0; i < x->rows; ++i) {
        x->next.p[i] = x->a.p[i] + part * (x->a.p[i] - x->b.p[i]);
    }
    x->next.s = s;
}

/* The point that was found becomes the last one of the curve. */
static void take_point(const perpi_step* step, path* x)
{
    const path_point free = x->b;
    x->b = x->a;
    x->a = (path_point){x->next.s, free.v, free.p};
    memcpy(x->a.v, step->v_problem, (size_t)x->dofs * sizeof *x->a.v);
    memcpy(x->a.p, step->p_problem, (size_t)x->rows * sizeof *x->a.p);
}

/* The square of the distance of two points, 0 .. 1 for the length of the curve up to s = 1 at a constant v. */
static double distance(const perpi_step* step, path* x, const double* v, double s, const double* v0,
                       double s0)
{
    for (int32_t i = 0; i < x->dofs; ++i) {
        x->dv[i] = v[i] - v0[i];
    }
    multiply_mass(step->formulation, x->dv, x->z);
    return dot(x->dofs, x->dv, x->z) / x->energy + (s - s0) * (s - s0);
}

/* Whether the point found is near the one expected at v, s: it else belongs to another curve. */
static bool is_near(const perpi_step* step, path* x, const double* v, double s)
{
    static const double NEAR = 0.25; /* of the square of the way from the last point, or to it */
    const double to = distance(step, x, x->a.v, x->a.s, x->b.v, x->b.s);
    const double from = distance(step, x, v, s, x->a.v, x->a.s);
    return distance(step, x, step->v_problem, x->next.s, v, s) <= NEAR * (to > from ? to : from);
}

/* Newton's method at a given s. */
static perp_status correct_at(perpi_step* step, path* x, double s, bool* good, int32_t* used)
{
    expect_at(x, s);
    perpi_formulation_scatter_v(step->formulation, step->model, x->next.v, step->to->v);
    x->solves += 1;
    const perp_status status =
        perpi_middle_iterate(step, s * step->h, x->solved, x->next.p, MOST_STEPS, good, used);
    *good = *good && (x->b.s == 0.0 || is_near(step, x, x->next.v, s));
    return status;
}

/* The slope of the equations by s where the displacements s h v* stay, so that joints do not open, into z and e. x->now
 * is the point. */
static perp_status find_slope(perpi_step* step, path* x, double s)
{
    static const double PART = 1e-6; /* of s */
    double *z = x->next.v, *e = x->next.p;
    const double longer = s * (1.0 + PART);
    for (int32_t i = 0; i < x->dofs; ++i) {
        x->dv[i] = x->now[i] / (1.0 + PART);
    }
    perpi_formulation_scatter_v(step->formulation, step->model, x->dv, step->to->v);
    perp_status status = perpi_middle_unbalance(step, longer * step->h, x->z, x->e);
    perpi_formulation_scatter_v(step->formulation, step->model, x->now, step->to->v);
    if (status == PERP_OK) {
        status = perpi_middle_unbalance(step, s * step->h, z, e);
    }
    for (int32_t i = 0; i < x->dofs; ++i) {
        x->z[i] = (x->z[i] - z[i]) / (longer - s);
    }
    for (int32_t i = 0; i < x->rows; ++i) {
        x->e[i] = (x->e[i] - e[i]) / (longer - s);
    }
    return status;
}

/* Where the next point is expected at k (a - b) from a, and the plane across a - b. Returns its level. */
static double expect_across(perpi_step* step, path* x, double k)
{
    const double ds = x->a.s - x->b.s;
    for (int32_t i = 0; i < x->dofs; ++i) {
        x->now[i] = x->a.v[i] + k * (x->a.v[i] - x->b.v[i]);
        x->dv[i] = (x->a.v[i] - x->b.v[i]) / x->energy;
    }
    for (int32_t i = 0; i < x->rows; ++i) {
        step->p_problem[i] = x->a.p[i] + k * (x->a.p[i] - x->b.p[i]);
    }
    multiply_mass(step->formulation, x->dv, x->across);
    x->next.s = x->a.s + k * ds;
    return dot(x->dofs, x->across, x->now) + ds * x->next.s;
}

/* The curve by its own length: the next point on that plane. */
static perp_status correct_across(perpi_step* step, path* x, double k, bool* good, int32_t* used)
{
    double before[2] = {INFINITY, INFINITY}, error = INFINITY, *s = &x->next.s;
    const double level = expect_across(step, x, k), ds = x->a.s - x->b.s;
    const perpi_middle_slope slope = {x->z, x->e, x->dv, x->dp};
    perp_status status = PERP_OK;
    x->solves += 1;
    *good = false;
    for (*used = 0; *used<MOST_STEPS&& * s> 0.0 && *s < INFINITY; *used += 1) {
        status = find_slope(step, x, *s);
        if (status == PERP_OK) {
            status =
                perpi_middle_newton(step, *s * step->h, x->solved, before, &error, good, &slope);
        }
        if (status != PERP_OK || *good || !isfinite(error)) {
            break;
        }
        for (int32_t i = 0; i < x->dofs; ++i) {
            x->dv[i] -= x->now[i] / *s; /* with the displacements, v* changes */
        }
        /* of the points v + t dv, p + t dp, s + t the one on the plane */
        const double rest = dot(x->dofs, x->across, step->v_problem) + ds * *s - level;
        const double t = -rest / (dot(x->dofs, x->across, x->dv) + ds);
        for (int32_t i = 0; i < x->dofs; ++i) {
            x->now[i] = step->v_problem[i] + t * x->dv[i];
        }
        for (int32_t i = 0; i < x->rows; ++i) {
            step->p_problem[i] += t * x->dp[i];
        }
        *s += t;
        before[1] = before[0];
        before[0] = error;
    }
    if (*good) {
        const double expected = x->a.s + k * ds;
        for (int32_t i = 0; i < x->dofs; ++i) {
            x->now[i] = x->a.v[i] + k * (x->a.v[i] - x->b.v[i]);
        }
        *good = is_near(step, x, x->now, expected);
    }
    return status;
}

/* As far as s increases. *good: to s = 1. */
static perp_status follow_forwards(perpi_step* step, path* x, bool* good, int32_t* count)
{
    enum { MOST_FAILURES = 4 };
    static const double FIRST = 1.0 / 1024;
    double more = FIRST;
    int32_t failures = 0;
    perp_status status = PERP_OK;
    *good = false;
    while (x->solves < MOST_SOLVES && status == PERP_OK && failures < MOST_FAILURES && !*good) {
        int32_t used = 0;
        const bool last = !(x->a.s + more < 1.0);
        more = last ? 1.0 - x->a.s : more;
        status = correct_at(step, x, last ? 1.0 : x->a.s + more, good, &used);
        *count += used;
        failures = *good ? 0 : failures + 1;
        more *= !*good ? 0.5 : used <= FEW_STEPS ? 2.0 : 1.0;
        if (*good && !last) {
            take_point(step, x);
            *good = false;
        }
    }
    return status;
}

/* Past points at which s turns back. */
static perp_status follow_length(perpi_step* step, path* x, bool* good, int32_t* count)
{
    static const double SHORTEST = 1e-6;
    double k = 1.0;
    perp_status status = PERP_OK;
    *good = false;
    while (x->solves < MOST_SOLVES && status == PERP_OK && k >= SHORTEST && x->b.s > 0.0 &&
           !*good) {
        int32_t used = 0;
        bool found = false;
        status = correct_across(step, x, k, &found, &used);
        *count += used;
        const bool passed = found && x->next.s >= 1.0;
        if (found && !passed) {
            take_point(step, x);
        }
        if (status == PERP_OK && passed) { /* back to s = 1 */
            status = correct_at(step, x, 1.0, good, &used);
            *count += used;
        }
        k = !found || passed ? 0.5 * k : used <= FEW_STEPS ? 2.0 : 1.0;
    }
    return status;
}

perp_status perpi_middle_follow(perpi_step* step, bool solved, bool* good, int32_t* count)
{
    path x = path_of(step);
    x.solved = solved;
    begin_path(step, &x);
    perp_status status = follow_forwards(step, &x, good, count);
    if (status == PERP_OK && !*good) {
        status = follow_length(step, &x, good, count);
    }
    return status;
}
