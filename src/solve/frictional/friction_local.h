/* src/solve/frictional/friction_local.h - one constraint of a friction problem at a time: exact local solves,
 * the natural map and its generalised Jacobian, and the block Gauss-Seidel sweep built on them.
 *
 * Notation   u = W r + q; of a contact n is row 0, t the rest. For an ELLIPSOID everything happens in
 *            the coordinates r_t / e, e u_t, in which its friction set is a ball.
 */
#ifndef PERPI_FRICTION_LOCAL_H
#define PERPI_FRICTION_LOCAL_H

#include <math.h>

#include "base/context.h"
#include "problem/reformulate/reduced_units.h"

/* u_i <- q_i + sum_j W_ij r_j for one constraint, and for all of them; the first without the
 * constraint's own impulse if own is false. */
void perpi_friction_velocity(const perp_friction_problem* P, int32_t i, bool own, const double* r,
                             double* u_i);
void perpi_friction_velocities(const perp_friction_problem* P, const double* r, double* u);

/* ---- one contact ---------------------------------------------------------------------------------
 * u = W r + q, W: rows x rows. r: in: a guess (read for its slip only), out: an answer of the
 * contact's law, to rounding. Where several exist the open one comes first, then sticking. W may be
 * unsymmetric or singular; false: no answer was found and r is one projected step from the guess. */
bool perpi_friction_solve_contact(const perp_constraint* c, const double* W, const double* q,
                                  double* r);

/* ---- the natural map -------------------------------------------------------------------------------
 * In velocities, with a weight w > 0 per row (the same for the tangential rows of a contact):
 *     contact   F_n = w_n r_n - max(0, w_n r_n - u_n)
 *               F_t = w_t r_t - Proj(w_t r_t - u_t) onto w_t F(mu max(r_n, 0))
 *     equality  F = u
 *     bounded   F = w r - clip(w r - u, w lower, w upper)
 * F = 0 exactly where the laws hold; with the weights of residual.c, F is the numerator of the
 * residual. */

/* The weights of residual.c: the diagonal of W, for the tangential rows of a contact its largest
 * entry; 1 where that is not > 0. w: row_count. */
void perpi_friction_weights(const perp_friction_problem* P, double* w);
/* All three: values of constraint i's own rows. */
void perpi_friction_map(const perp_friction_problem* P, int32_t i, const double* w, const double* r,
                        const double* u, double* F);
/* dF = A dr + B du, rows x rows each, of the piece at which the map is evaluated. */
void perpi_friction_map_jacobian(const perp_friction_problem* P, int32_t i, const double* w,
                                 const double* r, const double* u, double* A, double* B);

/* dProj = G dx + h dradius of the projection of x onto F(radius), n x n and n, n = rows - 1; in scaled
 * coordinates for an ELLIPSOID. */
void perpi_friction_project_jacobian(const perp_constraint* c, double radius, const double* x,
                                     double* G, double* h);

/* The same for a disc. */
static inline void perpi_disc_jacobian(double radius, const double x[2], double G[4], double h[2])
{
    const double length = sqrt(x[0] * x[0] + x[1] * x[1]);
    G[0] = G[1] = G[2] = G[3] = h[0] = h[1] = 0.0;
    if (length == 0.0 && !(radius > 0.0)) {
        return; /* no direction to follow */
    }
    if (radius > 0.0 && length <= radius) {
        G[0] = G[3] = 1.0;
        return;
    }
    const double ratio = radius / length;
    h[0] = x[0] / length;
    h[1] = x[1] / length;
    G[0] = ratio * (1.0 - h[0] * h[0]);
    G[1] = ratio * (0.0 - h[0] * h[1]);
    G[2] = ratio * (0.0 - h[1] * h[0]);
    G[3] = ratio * (1.0 - h[1] * h[1]);
}

/* The same for an interval: G and h are numbers. */
static inline void perpi_interval_jacobian(double radius, double x, double* G, double* h)
{
    const double length = sqrt(x * x);
    *G = *h = 0.0;
    if (length == 0.0 && !(radius > 0.0)) {
        return; /* no direction to follow */
    }
    if (radius > 0.0 && length <= radius) {
        *G = 1.0;
        return;
    }
    *h = x / length;
    *G = radius / length * (1.0 - *h * *h);
}

/* ---- the laws over K = { r_n >= 0, r_t in F(mu r_n) } ----------------------------------------------
 * With u^ = u + s e_n, s the largest -u_t . d over d in F(mu) (for a round cone mu |u_t|), a contact's
 * law says r in K, u^ in the dual of K, r . u^ = 0. */

/* s for one contact; u_t: its tangential rows. */
double perpi_friction_support(const perp_constraint* c, const double* u_t);
/* A weight per row, the same for all rows of a constraint: the largest diagonal entry of its block
 * of W, over e^2 in the tangential rows of an ELLIPSOID. w: row_count. */
void perpi_friction_metric(const perp_friction_problem* P, double* w);
/* r <- the nearest point, in that metric, of all the K and bounds. */
void perpi_friction_project(const perp_friction_problem* P, double* r);

/* Moves r into the same sets by the laws' own projections: r_n first, then r_t into F(mu r_n). */
void perpi_friction_project_guess(const perp_friction_problem* P, double* r);

/* ---- the sweep ----------------------------------------------------------------------------------------*/

/* A contact with u_n = 0 eliminated: r_n = r0 - a . r_t, u_t = S r_t + b. */
typedef struct perpi_friction_closed {
    int32_t n; /* tangential rows */
    double mu, r0, trace;
    double a[3], S[9], b[3];
} perpi_friction_closed;

typedef struct perpi_friction_local {
    const double* W; /* the constraint's diagonal block */
    bool closed;     /* whether k is filled */
    perpi_friction_closed k;
} perpi_friction_local;

/* Quantities of W that every sweep needs. */
typedef struct perpi_friction_sweeper {
    perp_context* context;
    perpi_friction_local* local; /* constraint_count */
    size_t local_capacity;
    double* inverse; /* pseudo-inverse of the equality blocks, one after another */
    size_t inverse_capacity;
    size_t* at; /* constraint_count: where each starts */
    size_t at_capacity;
    double* work;
    size_t work_capacity;
    int32_t* index;
    size_t index_capacity;
} perpi_friction_sweeper;

void perpi_friction_sweeper_init(perpi_friction_sweeper* s, perp_context* context);
void perpi_friction_sweeper_free(perpi_friction_sweeper* s);
/* For a problem and each time its W changes. */
PERP_NODISCARD perp_status perpi_friction_sweeper_prepare(perpi_friction_sweeper* s,
                                                          const perp_friction_problem* P);
/* One pass over the constraints in order (backward: from the last to the first), each solved exactly
 * with the others held; the new impulse is r + relax (local answer - r). */
void perpi_friction_sweep(perpi_friction_sweeper* s, const perp_friction_problem* P, double relax,
                          bool backward, double* r);

#endif
