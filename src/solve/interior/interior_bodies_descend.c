/* src/solve/interior/interior_bodies_descend.c - the central path with a tau that only falls: at a fold it is left for
 * another branch.
 *
 * Source     the problem with D_tn = 0 is that of Tresca's friction with a given bound, whose fixed point
 *            is Coulomb's law (J. Haslinger 1983); steps with less than the whole D_tn are those of
 *            pseudo-transient continuation (C. T. Kelley, D. E. Keyes 1998), with the bound as what lags
 * Notation   as in interior_bodies_track.c. coupling: the factor of D_tn in the matrix and its right-hand side.
 *            The equations stay the same: a step with a reduced coupling is not Newton's, and its fixed points are
 *            those of the equations
 * Method     Behind a fold tau has no point nearby, and Newton's method at the same tau does not converge. With
 *            coupling 0 the matrix is symmetric and positive definite: friction bounds follow the
 *            normal impulses one iteration later, as sliding does in time, and lead to a branch that is stable under
 *            that. So the coupling is reduced where the determinant is not positive, and where corrections
 *            do not converge, for a few iterations; else the path is followed by tangents. It is left for
 *            larger tau only if many corrections have not led to a branch: a new path then begins
 *            near the present impulses
 *            Followed as a curve through its folds (interior_bodies_track.c) the path of a heap of 1,000
 *            boxes takes 216 factorisations a step in the median and up to 2,400; this takes 181 and up to 580
 */
#include <math.h>

#include "solve/interior/interior_bodies.h"

enum {
    CORRECTIONS_MAX = 2, /* in a row, before the coupling is reduced for ... */
    REDUCED_SLOW = 4,    /* ... so many iterations */
    REDUCED_FOLD = 2,    /* the same where the determinant is not positive */
    HERE_LEAST = 30,     /* corrections at one tau: so many, ... */
    HERE_PART = 20,      /* ... or one for so many constraints: parts of a heap converge in turn */
    RETURNS_MAX = 100
};

#define GROWTH 20.0 /* in distances a number that grows counts so much less than one that falls */
#define GROWTH_MAX 10.0 /* of a number in a correction */
#define NEAR 1.0 /* relative change of a correction at a point from which steps are made; ... */
#define NEAR_ROUGH 0.3     /* ... where a correction did not come nearer */
#define RADIUS 3.0         /* of a correction: norm of the relative changes; ... */
#define RADIUS_REDUCED 1.5 /* ... with reduced coupling. For up to ... */
#define RADIUS_COUNT 900.0 /* ... so many constraints, growing with the root of their number; ... */
#define RADIUS_AGAIN 4.0   /* ... of every second path a multiple */
#define CHANGE_MOST 10.0   /* that one constraint counts for in it */
#define LENGTH_MIN 0.5
#define THETA_FIRST 0.6
#define THETA_MAX 0.9
#define LEFT_MIN 0.03 /* part of tau that a step leaves */
#define LEFT_MAX 0.5
#define LEFT_FIRST 0.2
#define DAMPING_MIN 0.125

/* Where a new path begins, in sizes of the velocities without impulses: one that failed fails again from the same
 * tau. */
static const double warmths[] = {1.0, 3.0, 0.5, 5.0, 2.0, 0.7};
enum { WARMTHS = sizeof warmths / sizeof warmths[0] };

/* How a correction changes the free numbers, relative to them. */
typedef struct change {
    double growth; /* the largest */
    double off;    /* the largest decrease, or GROWTH'th part of the growth */
    double norm;
} change;

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double within(double low, double x, double high)
{
    return x < low ? low : x > high ? high : x;
}

static change measure(const perpi_interior_bodies* s, const perpi_interior_direction* d)
{
    double v[PERPI_INTERIOR_CHANGES], fall = 0.0, square = 0.0;
    change c = {0};
    for (int32_t i = 0; i < s->P->constraint_count; ++i) {
        const int32_t n = perpi_interior_changes(s, i, d, v);
        double most = 0.0;
        for (int32_t r = 0; r < n; ++r) {
            fall = larger(fall, -v[r]);
            c.growth = larger(c.growth, v[r]);
            most = larger(most, fabs(v[r]));
        }
        most = most < CHANGE_MOST ? most : CHANGE_MOST;
        square += most * most;
    }
    c.off = larger(fall, c.growth / GROWTH);
    c.norm = sqrt(square / larger(1.0, (double)s->P->constraint_count / RADIUS_COUNT));
    return c;
}

/* Of the tangent d_1 - d_0, as `off`. */
static double tangent_length(const perpi_interior_bodies* s)
{
    double v[PERPI_INTERIOR_CHANGES], t[PERPI_INTERIOR_CHANGES], length = LENGTH_MIN;
    for (int32_t i = 0; i < s->P->constraint_count; ++i) {
        const int32_t n = perpi_interior_changes(s, i, &s->dir[0], v);
        perpi_interior_changes(s, i, &s->dir[1], t);
        for (int32_t r = 0; r < n; ++r) {
            const double tangent = t[r] - v[r];
            length = larger(length, tangent < 0.0 ? -tangent : tangent / GROWTH);
        }
    }
    return length;
}

/* Factors the matrix, with the largest coupling of a few for which its determinant is positive. */
static bool factor(perpi_interior_bodies* s, perpi_body_matrix* matrix, int32_t* made)
{
    perpi_interior_curve* c = &s->curve;
    if (c->reduced > 0) {
        --c->reduced;
    } else {
        s->coupling = 1.0;
    }
    while (perpi_interior_blocks(s) && perpi_body_matrix_factor(matrix, s->P, s->H, s->D)) {
        if (s->coupling == 0.0 || perpi_body_matrix_sign(matrix) > 0) {
            return true;
        }
        s->coupling = s->coupling > 0.9 ? 0.9 : s->coupling > 0.5 ? 0.5 : 0.0;
        c->reduced = REDUCED_FOLD;
        ++*made;
    }
    return false;
}

/* Whether the point is near enough to the path to step from it; sets the damping of a correction if not. */
static bool is_near(perpi_interior_curve* c, double off)
{
    if (c->off > 0.0) {
        const bool nearer = off <= 0.8 * c->off;
        c->rough = c->rough || !nearer;
        c->damping = within(DAMPING_MIN, (nearer ? 2.0 : 0.5) * c->damping, 1.0);
    }
    return off < (c->rough ? NEAR_ROUGH : NEAR);
}

/* A step along the path, whose length depends on how far off the last one ended. */
static void step_on(perpi_interior_bodies* s, perpi_body_matrix* matrix, double off)
{
    perpi_interior_curve* c = &s->curve;
    const double factor = c->corrections > 0 ? 0.8 : off < 0.15 ? 1.6 : off < 0.3 ? 1.2 : 0.9;
    c->theta = within(0.0, factor * c->theta, THETA_MAX);
    if (c->here == 0 && off < 0.15) {
        c->left = larger(LEFT_MIN, 0.5 * c->left);
    } else if (c->here > 0 || off > 0.5) {
        c->left = within(0.0, 2.0 * c->left, LEFT_MAX);
    }
    c->off = 0.0;
    c->damping = 1.0;
    c->corrections = c->here = 0;
    c->rough = false;
    perpi_interior_find(s, matrix, 0.0, NULL, &s->dir[1]);
    perpi_interior_advance(s, matrix, 0.0, c->theta / tangent_length(s), 1.0 - c->left);
}

void perpi_interior_descend_begin(perpi_interior_bodies* s, double warmth)
{
    perpi_interior_curve* c = &s->curve;
    const double root = warmth * c->size;
    s->coupling = 1.0;
    c->theta = THETA_FIRST;
    c->left = LEFT_FIRST;
    c->off = 0.0;
    c->damping = 1.0;
    c->corrections = c->here = c->reduced = 0;
    c->rough = false;
    perpi_interior_start_near(s, root * root);
    perpi_interior_anchor(s);
}

static int32_t here_most(const perp_contact_problem* P)
{
    const int32_t most = P->constraint_count / HERE_PART;
    return most > HERE_LEAST ? most : HERE_LEAST;
}

bool perpi_interior_descend(perpi_interior_bodies* s, perpi_body_matrix* matrix, int32_t* made)
{
    perpi_interior_curve* c = &s->curve;
    if (!factor(s, matrix, made)) {
        return false;
    }
    perpi_interior_find(s, matrix, c->tau, NULL, &s->dir[0]);
    perpi_interior_choose_free(s);
    const change k = measure(s, &s->dir[0]);
    double radius = RADIUS_REDUCED;
    if (s->coupling == 1.0) {
        if (is_near(c, k.off)) {
            step_on(s, matrix, k.off);
            return true;
        }
        radius = RADIUS;
        c->off = k.off;
        if (++c->corrections > CORRECTIONS_MAX) {
            c->corrections = 0;
            c->reduced = REDUCED_SLOW;
            s->coupling = 0.9;
        }
    } else {
        c->off = 0.0;
        c->damping = 1.0;
    }
    if (++c->here > here_most(s->P) && c->returns < RETURNS_MAX) {
        perpi_interior_descend_begin(s, warmths[c->returns++ % WARMTHS]);
        return true;
    }
    double t = perpi_interior_within(s, &s->dir[0]);
    t = t * k.growth > GROWTH_MAX ? GROWTH_MAX / k.growth : t;
    radius *= c->returns % 2 == 0 ? 1.0 : RADIUS_AGAIN;
    t = t * k.norm > radius ? radius / k.norm : t;
    perpi_interior_take(s, &s->dir[0], c->damping * t, 0.0);
    return isfinite(k.growth);
}
