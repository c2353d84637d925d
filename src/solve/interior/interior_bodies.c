/* src/solve/interior/interior_bodies.c - interior point method in the space of the bodies' velocities.
 *
 * Source     primal-dual path following with Nesterov-Todd scaling and Mehrotra's choice of the
 *            centring, on Coulomb's law in split form: the slip speed s is a variable of its own, so
 *            that the law has no kink at rest
 * Notation   M = L L', x = L' v, y = L^-1 k, H the rows of J L^-T scaled by S, so that the friction cone
 *            is the unit second-order cone and the largest diagonal entry of a contact's H H' is 1:
 *                x = y + H' p,   u = H x + b        (p, u, b scaled: p_problem = S p)
 *            Contact   w = u_n >= 0 perp p_n >= 0;   (p_n, p_t) in K, (s, u_t) in K, their product 0
 *            with K the second-order cone; z = (s, z_t), z_t = u_t. At the answer s = |u_t| where the
 *            contact slides, and nothing else is asked of s.
 *            Bounded row   u + c p = a_low - a_up, a_low (p - lower) = 0, a_up (upper - p) = 0
 *            Equality row  u + c p = 0
 * Method     every product is asked to be tau, tau -> 0. Eliminating all but dx leaves
 *                (I + H' D H) dx = right-hand side,
 *            a block for each body and pair of bodies, unsymmetric only in D_tn. Each iteration: one
 *            factorisation, the affine direction, the centred one, two second-order corrections.
 * Polar      A contact that slides has p_t and u_t on opposite sides of a circle whose direction turns from
 *            iteration to iteration; in Cartesian coordinates the curved boundary then blocks every step.
 *            Where |p_t| and |z_t| are near p_n and s, the unknowns are the direction phi, the lengths
 *            rp = |p_t|, ru = |z_t| and the gaps g2 = p_n - rp, g1 = s - ru:
 *                p_t = rp e(phi), z_t = -ru e(phi), (p_n + rp) g1 = tau, g2 (s + ru) = tau
 * Folds      The central path can turn back: the determinant of I + H' D H becomes negative. Steps that stay
 *            short twice are followed by two without the coupling D_tn of friction to the normal impulse; an
 *            iterate that leaves the path far behind its best centred point returns there with a larger
 *            centring. interior_bodies_descend.c and interior_bodies_track.c go on where this does not.
 */
#include "solve/interior/interior_bodies.h"

#include <math.h>
#include <string.h>

#include "linalg/dense.h"

enum {
    CORRECTIONS = 2, /* second-order corrections of the centred direction */
    AWAY_MAX = 4,    /* iterations away from the central path before the return to it */
    RETURNS_MAX = 12,
    SHORT_MAX = 2, /* short steps in a row, before ... */
    UNCOUPLED = 2, /* ... so many iterations without D_tn */
    STALLED = 14,  /* iterations without a smaller residual: the best point is handed over */
};

#define SHORT 0.15    /* the length of a short step */
#define BOUNDARY 0.99 /* of the way to the boundary */
#define CENTRING_MIN 1e-6
#define CENTRING_INFEASIBLE 0.1 /* times infeasibility^2 / tau: the least centring */
#define FAR 1e-2                /* tau relative to its start: no residual is computed before */
#define PATH_END 1e-13          /* tau relative to its start: rounding rules below */

perp_status perpi_interior_bodies_create(perp_context* context, perpi_interior_bodies** s)
{
    perpi_interior_bodies* made = NULL;
    const perp_status status = perpi_alloc(context, 1, sizeof *made, &made);
    if (status == PERP_OK) {
        made->context = context;
        *s = made;
    }
    return status;
}

void perpi_interior_bodies_destroy(perpi_interior_bodies* s)
{
    if (s == NULL) {
        return;
    }
    perpi_free(s->context, s->memory);
    perpi_free(s->context, s->cone);
    perpi_free(s->context, s->law_of);
    perpi_free(s->context, s->polar);
    perpi_free(s->context, s->sticks);
    perpi_free(s->context, s);
}

/* ---- the iteration ------------------------------------------------------------------------------------------*/

static double lesser(double a, double b)
{
    return b < a ? b : a;
}

static double step_length(const perpi_interior_bodies* s, const perpi_interior_direction* d,
                          double part)
{
    return lesser(1.0, part * perpi_interior_reach(s, d));
}

static void swap_directions(perpi_interior_direction** a, perpi_interior_direction** b)
{
    perpi_interior_direction* t = *a;
    *a = *b;
    *b = t;
}

/* The best direction that can be found with the present factors; *length is the step along it. */
static const perpi_interior_direction* choose_direction(perpi_interior_bodies* s,
                                                        perpi_body_matrix* matrix, double* length)
{
    perpi_interior_direction *affine = &s->dir[0], *best = &s->dir[1], *of = &s->dir[2],
                             *next = &s->dir[3];
    perpi_interior_find(s, matrix, 0.0, NULL, affine);
    const double after = perpi_interior_tau_after(s, affine, step_length(s, affine, 1.0)) / s->tau;
    double centring = after > 0.0 ? after * after * after : 0.0;
    centring = centring > CENTRING_MIN ? centring : CENTRING_MIN;
    const double least = CENTRING_INFEASIBLE * s->infeasible / s->tau;
    centring = centring > least ? centring : least;
    centring = centring > s->centring_least ? centring : s->centring_least;
    centring = lesser(centring, 1.0);
    perpi_interior_find(s, matrix, centring * s->tau, NULL, best);
    *length = step_length(s, best, BOUNDARY);
    for (int k = 0; k < CORRECTIONS; ++k) {
        perpi_interior_find(s, matrix, centring * s->tau, best, next);
        const double t = step_length(s, next, BOUNDARY);
        if (!(t >= 0.8 * *length)) {
            break;
        }
        swap_directions(&best, &next);
        *length = t;
    }
    const double more[] = {centring > 0.3 ? centring : 0.3, 0.8};
    const int tries = *length < 0.1 ? 2 : *length < 0.3 ? 1 : 0;
    for (int k = 0; k < tries; ++k) {
        perpi_interior_find(s, matrix, more[k] * s->tau, NULL, of);
        const double t = step_length(s, of, BOUNDARY);
        if (t > 1.5 * *length) {
            swap_directions(&best, &of);
            *length = t;
        }
    }
    return best;
}

/* Where the iteration stands beside the central path. */
typedef struct course {
    double good_tau, first_tau; /* good_tau < 0: no centred point kept */
    int32_t away, returns, short_steps, uncoupled;
    double least; /* residual, and its iterate */
    int32_t least_at;
} course;

/* Keeps centred points; returns to the last one where the iteration has gone astray. */
static void follow_path(perpi_interior_bodies* s, course* k)
{
    const size_t size = perpi_interior_unknowns(s->P) * sizeof *s->good;
    const bool centred = s->infeasible < s->tau;
    if (centred && (k->good_tau < 0.0 || s->tau < 1.5 * k->good_tau)) {
        if (k->good_tau >= 0.0 && s->tau < k->good_tau) {
            s->centring_least =
                s->centring_least > 0.05 ? s->centring_least * s->centring_least : 0.0;
        }
        memcpy(s->good, s->x, size);
        k->good_tau = s->tau;
        k->away = 0;
        return;
    }
    if (k->good_tau < 0.0 || !(k->good_tau < 1e-2 * k->first_tau)) {
        return;
    }
    ++k->away;
    if ((k->away < AWAY_MAX && s->tau <= 3.0 * k->good_tau) || k->uncoupled > 0 ||
        k->returns >= RETURNS_MAX) {
        return;
    }
    memcpy(s->x, s->good, size);
    k->away = k->short_steps = 0;
    ++k->returns;
    const double root = sqrt(s->centring_least);
    s->centring_least = root > 0.3 ? root : 0.3;
    if (s->centring_least > 0.95) {
        k->uncoupled = UNCOUPLED;
        k->good_tau = -1.0;
        s->centring_least = 0.0;
    }
    perpi_interior_residuals(s);
}

/* The impulses in the problem's units. */
static const double* impulses(perpi_interior_bodies* s)
{
    for (int32_t i = 0; i < s->P->row_count; ++i) {
        s->g[i] = s->scale[i] * s->p[i];
    }
    return s->g;
}

/* Whether iterate i is the last one. Far out on the path its residual is not worth computing. */
static bool is_finished(perpi_interior_bodies* s, const perpi_interior_task* task, course* k,
                        int32_t i)
{
    if (s->tau > FAR * k->first_tau && i < task->limit) {
        return false;
    }
    bool stop = false;
    const double residual = task->residual(task->user, impulses(s), &stop);
    if (residual < k->least) {
        k->least = residual;
        k->least_at = i;
    }
    return stop || !(residual > task->target) || !(s->tau > PATH_END * k->first_tau) ||
           i >= task->limit || i - k->least_at >= STALLED;
}

perp_status perpi_interior_bodies_run(perpi_interior_bodies* s, const perpi_interior_task* task,
                                      int32_t* factorisations)
{
    const perp_status status = perpi_interior_reserve(s, task->P);
    *factorisations = 0;
    if (status != PERP_OK || task->P->constraint_count == 0 || !perpi_interior_scale(s, task)) {
        return status;
    }
    s->matrix = task->matrix;
    s->curve.on = false;
    perpi_interior_start(s, 1.0);
    s->centring_least = 0.0;
    course k = {.good_tau = -1.0, .least = INFINITY};
    for (int32_t i = 0; i <= task->limit; ++i) {
        perpi_interior_residuals(s);
        k.first_tau = i == 0 ? s->tau : k.first_tau;
        if (is_finished(s, task, &k, i)) {
            break;
        }
        follow_path(s, &k);
        s->coupling = k.uncoupled > 0 ? 0.0 : 1.0;
        if (!perpi_interior_blocks(s) ||
            !perpi_body_matrix_factor(task->matrix, s->P, s->H, s->D)) {
            break;
        }
        ++*factorisations;
        double length = 0.0;
        const perpi_interior_direction* d = choose_direction(s, task->matrix, &length);
        if (!(length > 0.0)) {
            break;
        }
        perpi_interior_move(s, d, length);
        k.short_steps = length < SHORT ? k.short_steps + 1 : 0;
        if (k.uncoupled > 0) {
            --k.uncoupled;
        } else if (k.short_steps >= SHORT_MAX) {
            k.uncoupled = UNCOUPLED;
            k.short_steps = 0;
        }
    }
    return PERP_OK;
}
