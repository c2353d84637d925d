/* src/solve/interior/interior_bodies_track.c - the central path followed as a curve, through its folds.
 *
 * Source     pseudo-arclength continuation (H. B. Keller 1977), orientation by the sign of the determinant
 *            (E. Allgower, K. Georg 1990, chapter 2); unknowns and directions as in interior_bodies.c
 * Notation   X: all unknowns. Point tau of the curve: every product is tau, and the linear residuals are
 *            those of the first point times tau / tau_first, so that the start lies on the curve. d_0: the
 *            Newton direction at the same tau; d_1: that to tau = 0; t = d_1 - d_0 the tangent by -tau. A step
 *            beta goes along d_0 + beta t to (1 - beta) tau. Changes are relative, those of the free numbers
 *            of interior_bodies_pairs.c (v of a direction)
 * Method     Coulomb's law is not monotone: the path turns back where the determinant of the linearised
 *            equations changes its sign, and a method that only lowers tau is left without a solution nearby.
 *            Followed as a curve it leads on: tau grows between two folds. beta = beta_0 + sign theta / |t|,
 *            with beta_0 such that the correction is across the curve. Where the point is further off than
 *            NEAR it is corrected; where that does not converge, the step is repeated shorter
 *            A step from a point far off can lead to another branch of solutions, which may be a closed
 *            one: `tight` follows the curve itself, with more factorisations
 * Departure  The problem that is solved has the compliance `regularisation` in every row, exactly: with a
 *            regularisation of the directions alone, corrections do not converge once tau is below it
 */
#include <math.h>
#include <string.h>

#include "linalg/dense.h"
#include "solve/interior/interior_bodies.h"

enum {
    CHANGES_MAX = PERPI_INTERIOR_CHANGES,
    CORRECTIONS = 2,
    RETURNS_MAX = 12,
    AGAIN_MAX = 5,
    TRIALS = 8,
    FAR_CHECK = 8 /* factorisations between residuals that are far above the target */
};

#define NEAR 1.0 /* largest relative change of a correction at a point from which steps are made */
#define TIGHT 0.25      /* the same after a return, until steps are THETA_EASY long again */
#define KEEP 0.1        /* the same at a point that is kept; ... */
#define KEEP_AGAIN 0.05 /* ... after a return to it */
#define FAR_OFF 4.0     /* from here on a correction is not tried */
#define BOUNDARY 0.95   /* of the way to the boundary */
#define THETA_FIRST 0.6
#define THETA_MAX 0.9
#define LENGTH_MIN 0.5
#define THETA_MIN 1e-3
#define THETA_EASY 0.5 /* a step of this length: points need not be near the curve any longer */
#define BETA_MAX 0.97
#define START 5.0     /* sizes of the velocities without impulses: where the curve begins */
#define TAU_END 1e-23 /* relative to the first */
#define FAR 20.0      /* sqrt(tau), relative to the first, of so many targets */

/* ---- the point ----------------------------------------------------------------------------------------------*/

/* The curve at a point. */
typedef struct course {
    double beta;   /* of the correction across the curve */
    double off;    /* its largest relative change */
    double length; /* of the tangent, the same norm, at least 1 */
    int sign;
} course;

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* From d_0 and d_1. */
static course measure(perpi_interior_bodies* s, const perpi_interior_direction* d_0,
                      const perpi_interior_direction* d_1)
{
    double v[CHANGES_MAX], t[CHANGES_MAX], across = 0.0, along = (double)s->P->constraint_count;
    course k = {.length = LENGTH_MIN, .sign = perpi_body_matrix_sign(s->matrix)};
    perpi_interior_choose_free(s);
    for (int32_t i = 0; i < s->P->constraint_count; ++i) {
        const int32_t n = perpi_interior_changes(s, i, d_0, v);
        perpi_interior_changes(s, i, d_1, t);
        for (int32_t r = 0; r < n; ++r) {
            const double tangent = t[r] - v[r];
            across += v[r] * tangent;
            along += tangent * tangent;
            k.length = larger(k.length, fabs(tangent));
        }
    }
    k.beta = -across / along;
    for (int32_t i = 0; i < s->P->constraint_count; ++i) {
        const int32_t n = perpi_interior_changes(s, i, d_0, v);
        perpi_interior_changes(s, i, d_1, t);
        for (int32_t r = 0; r < n; ++r) {
            k.off = larger(k.off, fabs(v[r] + k.beta * (t[r] - v[r])));
        }
    }
    return k;
}

/* ---- steps --------------------------------------------------------------------------------------------------*/

void perpi_interior_combine(const perpi_interior_bodies* s, double beta,
                            perpi_interior_direction* d)
{
    const size_t count =
        (size_t)s->P->dof_count + 6 * (size_t)s->P->row_count + 7 * (size_t)s->P->constraint_count;
    const double *a = s->dir[0].x, *b = s->dir[1].x;
    double* out = d->x; /* the arrays of a direction follow each other */
    for (size_t i = 0; i < count; ++i) {
        out[i] = (1.0 - beta) * a[i] + beta * b[i];
    }
}

double perpi_interior_within(const perpi_interior_bodies* s, const perpi_interior_direction* d)
{
    const double t = BOUNDARY * perpi_interior_reach_free(s, d);
    return t < 1.0 ? t : 1.0;
}

void perpi_interior_take(perpi_interior_bodies* s, const perpi_interior_direction* d, double t,
                         double beta)
{
    s->curve.tau *= 1.0 - t * beta;
    perpi_interior_move_free(s, d, t, s->curve.tau);
}

/* A step across the curve. */
static void correct(perpi_interior_bodies* s, const course* k)
{
    const double beta = k->beta < -0.5 ? -0.5 : k->beta > 0.5 ? 0.5 : k->beta;
    perpi_interior_combine(s, beta, &s->dir[2]);
    perpi_interior_take(s, &s->dir[2], perpi_interior_within(s, &s->dir[2]), beta);
}

void perpi_interior_advance(perpi_interior_bodies* s, perpi_body_matrix* matrix, double base,
                            double go, double most)
{
    perpi_interior_direction *best = &s->dir[2], *next = &s->dir[3];
    double beta = 0.0, t = 0.0;
    for (int i = 0; i < TRIALS; ++i) {
        beta = base + go < most ? base + go : most;
        perpi_interior_combine(s, beta, best);
        const double reach = perpi_interior_reach_free(s, best);
        t = BOUNDARY * reach < 1.0 ? BOUNDARY * reach : 1.0;
        if (t == 1.0) {
            break;
        }
        go *= larger(0.3, 0.8 * reach);
    }
    for (int i = 0; i < CORRECTIONS; ++i) {
        perpi_interior_find(s, matrix, (1.0 - beta) * s->curve.tau, best, next);
        const double within = perpi_interior_within(s, next);
        if (!(within >= BOUNDARY * t)) {
            break;
        }
        perpi_interior_direction* swap = best;
        best = next;
        next = swap;
        t = within;
    }
    perpi_interior_take(s, best, t, beta);
}

/* ---- the curve ----------------------------------------------------------------------------------------------*/

static void keep_point(perpi_interior_bodies* s)
{
    memcpy(s->good, s->x, perpi_interior_unknowns(s->P) * sizeof *s->good);
    s->curve.kept = s->curve.tau;
    s->curve.returns = 0;
}

static void return_to_kept(perpi_interior_bodies* s)
{
    perpi_interior_curve* c = &s->curve;
    memcpy(s->x, s->good, perpi_interior_unknowns(s->P) * sizeof *s->good);
    c->tau = c->kept;
    c->theta = larger(THETA_MIN, 0.35 * c->theta);
    c->corrections = 0;
    c->strict = true;
    c->again = AGAIN_MAX;
    ++c->returns;
}

/* The length of the next step, at a point of the curve. */
static void set_length(perpi_interior_curve* c, double off)
{
    if (c->kept > 0.0) {
        const double factor = c->corrections > 0 ? 0.8 : off < 0.15 ? 1.6 : off < 0.3 ? 1.2 : 0.9;
        c->theta = c->theta * factor < THETA_MAX ? c->theta * factor : THETA_MAX;
    }
}

/* One factorisation and the step that follows. False: the curve cannot be followed. */
static bool follow(perpi_interior_bodies* s, perpi_body_matrix* matrix)
{
    perpi_interior_curve* c = &s->curve;
    if (!perpi_interior_blocks(s) || !perpi_body_matrix_factor(matrix, s->P, s->H, s->D)) {
        return false;
    }
    perpi_interior_find(s, matrix, c->tau, NULL, &s->dir[0]);
    perpi_interior_find(s, matrix, 0.0, NULL, &s->dir[1]);
    const course k = measure(s, &s->dir[0], &s->dir[1]);
    c->strict = c->strict && c->theta < THETA_EASY;
    if (c->again > 0 && k.off > KEEP_AGAIN && k.off < FAR_OFF) {
        --c->again;
        correct(s, &k);
        return true;
    }
    const bool returned = c->again > 0;
    c->again = 0;
    const bool tight = c->strict || c->folds == PERPI_FOLDS_FOLLOW_TIGHT;
    if (k.off < (tight ? TIGHT : NEAR)) {
        const int32_t returns = returned ? c->returns : 0; /* still the same point */
        if (!returned) {
            set_length(c, k.off);
        }
        c->corrections = 0;
        if (k.off < KEEP || !(c->kept > 0.0)) {
            keep_point(s);
        }
        c->returns = returns;
        perpi_interior_advance(s, matrix, k.beta, k.sign * (c->theta / k.length), BETA_MAX);
        return true;
    }
    const bool slow = ++c->corrections > 3 || (c->corrections > 1 && k.off > 0.7 * c->off);
    if (c->kept > 0.0 && (!(k.off < FAR_OFF) || slow)) {
        return_to_kept(s);
        return c->returns <= RETURNS_MAX;
    }
    c->off = k.off;
    correct(s, &k);
    return isfinite(k.off);
}

void perpi_interior_anchor(perpi_interior_bodies* s)
{
    const perp_contact_problem* P = s->P;
    perpi_interior_residuals(s);
    s->curve.tau = s->curve.first = s->tau;
    memcpy(s->rd_first, s->rd, (size_t)P->dof_count * sizeof *s->rd);
    memcpy(s->rt_first, s->rt, (size_t)P->row_count * sizeof *s->rt);
    memcpy(s->rn_first, s->rn, (size_t)P->constraint_count * sizeof *s->rn);
}

perp_status perpi_interior_track_begin(perpi_interior_bodies* s, const perpi_interior_task* task)
{
    const perp_status status = perpi_interior_reserve(s, task->P);
    s->curve = (perpi_interior_curve){.theta = THETA_FIRST, .folds = task->folds};
    if (status != PERP_OK || task->P->constraint_count == 0 || !perpi_interior_scale(s, task)) {
        return status;
    }
    s->matrix = task->matrix;
    s->coupling = 1.0;
    s->curve.on = true;
    s->curve.size = perpi_interior_start(s, START) / START;
    if (task->folds != PERPI_FOLDS_LEAVE) {
        perpi_interior_anchor(s);
        return PERP_OK;
    }
    for (int32_t i = 0; i < task->P->row_count; ++i) {
        s->p[i] = task->from != NULL ? task->from[i] / s->scale[i] : 0.0;
    }
    perpi_interior_descend_begin(s, task->warmth);
    return PERP_OK;
}

void perpi_interior_track(perpi_interior_bodies* s, const perpi_interior_task* task,
                          int32_t* factorisations)
{
    perpi_interior_curve* c = &s->curve;
    *factorisations = 0;
    for (int32_t i = 0; c->on && *factorisations < task->limit && c->tau > TAU_END * c->first;
         ++i) {
        perpi_interior_residuals(s);
        if (i % FAR_CHECK == 0 || sqrt(c->tau / c->first) < FAR * task->target) {
            bool stop = false;
            for (int32_t r = 0; r < s->P->row_count; ++r) {
                s->g[r] = s->scale[r] * s->p[r];
            }
            const double residual = task->residual(task->user, s->g, &stop);
            if (stop || !(residual > task->target)) {
                return;
            }
        }
        ++*factorisations;
        c->on = c->folds == PERPI_FOLDS_LEAVE
                    ? perpi_interior_descend(s, task->matrix, factorisations)
                    : follow(s, task->matrix);
    }
    c->on = c->on && c->tau > TAU_END * c->first;
}
