/* src/solve/interior/central_path.h - steps along the central path of a friction problem over its cones.
 *
 * Source     the change of variables of [De Saxce, Feng 1998], u^ = u + s e_n with s = mu |u_t|,
 *            which turns a contact's law into r in K, u^ in K*, r . u^ = 0 as in [Acary, Cadoux
 *            2013]; the scaling of Nesterov and Todd, the predictor-corrector of [Mehrotra 1992]
 *            and the share 1 - sigma of the residual that a step removes as in [Vandenberghe 2010]
 * Notation   y here is u^, tau the path's parameter, D the metric of friction_local.h
 *                W r + q = u(y),  u_n = y_n - s, u_t = y_t;  joints: u = y
 *                x o z = tau weight e  for every cone: x = (mu r_n, r_t / e), z = (y_n / mu, e y_t)
 *                x z = tau weight      for every facet x = f . r + g >= 0; y = the sum of its f z
 *            Round cones in space are second-order cones. Polygons, planar and frictionless contacts
 *            and bounded rows have facets, whose slacks are unknowns of their own and so stay
 *            accurate at any tau. Equality rows have y = 0. Rows that cannot move (p_t without
 *            friction, lower = upper) are held.
 * Step       dy = h - H dr from the linearised complementarity, so with R = du/dy one system
 *                (W + R H + delta D) dr = R h - (1 - sigma)(W r + q - u(y))
 *            with the pattern of W serves predictor and corrector. delta D is a proximal term: it
 *            changes the step, not the solution, and keeps the system regular where rows are
 *            redundant.
 * Departure  s is part of the system ([Acary, Armand, Nguyen, Shpakovych 2023] take it in, too): R is
 *            exact for s = mu |y_t| (SLIP_NORM), or for s = -y_t . r_t / r_n with r held
 *            (SLIP_DIRECTION; the same at an answer). SLIP_FIXED keeps s: the step of a convex problem.
 *            The weights are energies, U^2 / D or U times a load, U the largest q, so that heavy and
 *            light bodies have comparable weights; the second-order term is damped by the
 *            predictor's step squared.
 */
#ifndef PERPI_CENTRAL_PATH_H
#define PERPI_CENTRAL_PATH_H

#include "base/context.h"
#include "linalg/block_lu.h"
#include "perp/problem.h"
#include "solve/interior/second_order_cone.h"

typedef enum perpi_slip {
    PERPI_SLIP_NORM,
    PERPI_SLIP_DIRECTION,
    PERPI_SLIP_FIXED,
} perpi_slip;

/* x = f . r + g >= 0 over `count` rows from `row` on, and its multiplier z. */
typedef struct perpi_facet {
    int32_t row, count;
    double f[3], g;
    double share, weight; /* share: of the constraint's weight */
    double x, z;
    double dx, dz; /* of the last direction */
} perpi_facet;

/* One constraint's part. */
typedef struct perpi_path_member {
    bool cone;             /* a second-order cone of its rows; else facets */
    int32_t facet, facets; /* the first, and how many */
    double weight;
    double impulse;              /* natural size of r */
    double s;                    /* of SLIP_FIXED */
    double scale[PERPI_SOC_MAX]; /* x = scale r, y = scale z */
    double x[PERPI_SOC_MAX], z[PERPI_SOC_MAX];
    double y[PERPI_SOC_MAX];                     /* contacts */
    double slope[PERPI_SOC_MAX];                 /* d u_n / d y */
    double d[PERPI_SOC_MAX];                     /* lambda \ (right-hand side) */
    double dx[PERPI_SOC_MAX], dz[PERPI_SOC_MAX]; /* P dx, P^-1 dz of the last direction */
    perpi_soc_scaling nt;
} perpi_path_member;

typedef struct perpi_central_path {
    perp_context* context;
    perpi_block_lu* lu; /* of W's pattern; the polish uses it between steps */
    perpi_slip slip;
    double U;                /* size of the velocities */
    int32_t facets, pairs;   /* pairs: cones and facets */
    double *r, *D;           /* row_count each; r: the point */
    double *u, *g;           /* W r + q, and W r + q - u(y) */
    double *rhs, *dr, *more; /* of a step */
    double* H;               /* 4 a row: of a contact its rows, of a joint the diagonal */
    bool* fixed;             /* row_count */
    perpi_path_member* member;
    perpi_facet* facet;
    double* vector;
    int32_t* size;
    size_t capacity[6];
} perpi_central_path;

PERP_NODISCARD perp_status perpi_central_path_init(perpi_central_path* path, perp_context* context);
void perpi_central_path_free(perpi_central_path* path);
/* For a problem: memory, cones and sizes; s = 0. */
PERP_NODISCARD perp_status perpi_central_path_prepare(perpi_central_path* path,
                                                      const perp_friction_problem* P);

/* The natural sizes, and with them the weights: impulses that change each velocity by U; with loads
 * also the impulses that stop all motion, because contacts under a heavy body have large impulses.
 * Call it before a start. */
void perpi_central_path_size(perpi_central_path* path, const perp_friction_problem* P, bool loads);

/* The point of the path for tau that is nearest to the guess in path->r, or to zero. */
void perpi_central_path_start(perpi_central_path* path, const perp_friction_problem* P, double tau,
                              bool guess);
/* u, y and g at the point; returns max |g| / U. tau: the mean over the pairs. */
double perpi_central_path_measure(perpi_central_path* path, const perp_friction_problem* P,
                                  double* tau);
/* One predictor-corrector step from the point just measured; boundary: the largest fraction of the
 * distance to the nearest boundary. Returns the step's length, < 0 if there is none: the point is
 * on a boundary, or the system is singular. */
double perpi_central_path_step(perpi_central_path* path, const perp_friction_problem* P, double tau,
                               double boundary, double delta);
/* s <- the slip speeds of y, for SLIP_FIXED; returns the largest change / U. */
double perpi_central_path_update_slip(perpi_central_path* path, const perp_friction_problem* P);

#endif
