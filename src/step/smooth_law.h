/* src/step/smooth_law.h - the laws of contacts, limits and bounds on the central path of a barrier parameter.
 *
 * Method     docs/notation.md, "Smoothed steps"
 *
 * Each product of a complementarity condition is kappa > 0 instead of 0. With q the impulse on the
 * path, y = u_n > 0 and q_t = mu q_n xi, xi inside the friction set of radius 1:
 *
 *     normal            q_n y = kappa
 *     friction, round   (mu q_n, q_t) o (sigma, u_t) = kappa e (Jordan product of the second-order cone), that is
 *                       mu u_t + y xi / (1 - |xi|^2) = 0          (ellipsoid: in scaled coordinates)
 *     friction, polygon u_t = -sum lambda_j n_j,  lambda_j (a mu q_n - n_j . q_t) = kappa / 2, that is
 *                       mu u_t + y sum n_j / (2 (a - n_j . xi)) = 0    n_j, a: normals and apothem of the sides
 *     bounded           u = lambda_l - lambda_u,  lambda_l (q - lower) = lambda_u (upper - q) = kappa / 2; of one bound: kappa
 *     equality          u = 0
 *
 * A contact acts with p = fade(y) q, fade = (1 - (y/reach)^2)^3 up to the speed `reach`, beyond it
 * 0: a pair that comes near enough to be found starts with no impulse, and its first two
 * derivatives are continuous.
 *
 * Unit of kappa: an energy, (barrier parameter) (reduced mass of the two blocks) (speed of the
 * step)^2, the speed being that which gravity gives in a step.
 */
#ifndef PERPI_SMOOTH_LAW_H
#define PERPI_SMOOTH_LAW_H

#include "model/model.h"
#include "perp/problem.h"
#include "step/active_law.h"
#include "step/formulate.h"

/* Numbers beside the impulses of a constraint: of a contact y, xi, and 1 / (1 - |xi|^2) or 1 / (2
 * (a - n_j . xi)); of bounded rows two multipliers each. */
int32_t perpi_smooth_dual_count(const perp_constraint* c);

/* The speed that the barrier parameter is relative to, in a step of h: what gravity adds in it;
 * without gravity a hundredth of the radius of the largest body over the duration of the run. 0:
 * there is neither. It must not depend on the start, which is no part of a step's parameters. */
double perpi_smooth_speed(const perp_model* model, const perpi_step_settings* settings, double h);
/* The speed up to which contacts act. */
double perpi_smooth_reach(double barrier, double speed);
/* kappa of each constraint; mass: room for block_count. */
void perpi_smooth_kappa(const perp_contact_problem* problem, double barrier, double speed,
                        double* mass, double* kappa);

/* fade(y) and its derivative. */
double perpi_smooth_fade(double y, double reach, double* slope);

/* A constraint near or on the path, rows x rows, row-major: A du + B dq = -F. du without compliance. */
typedef struct perpi_smooth_form {
    double A[PERPI_LAW_SIZE], B[PERPI_LAW_SIZE], F[PERPI_LAW_ROWS];
} perpi_smooth_form;

typedef struct perpi_smooth_point {
    const perp_contact_problem* problem;
    int32_t constraint;
    double kappa;
    const double *q, *u; /* of its rows */
    double* dual;
} perpi_smooth_point;

/* A point inside all bounds: q, and the numbers beside it. speed: of its first impulse. */
void perpi_smooth_begin(const perpi_smooth_point* at, double mass, double speed, double* q);
/* The numbers that belong to q. */
void perpi_smooth_duals(const perpi_smooth_point* at);
/* q_t of a contact by its q_n and xi. */
void perpi_smooth_place(const perpi_smooth_point* at, double* q);
void perpi_smooth_linearise(const perpi_smooth_point* at, perpi_smooth_form* form);
/* On the path: changes of F for changes of kappa, mu and the bounds. Linear in these, and they
 * alone may come from differences: near a border F is far from linear. lower, upper: of the
 * rows. */
typedef struct perpi_smooth_change {
    double kappa, mu;
    const double *lower, *upper;
} perpi_smooth_change;
void perpi_smooth_vary(const perpi_smooth_point* at, const perpi_smooth_form* form,
                       const perpi_smooth_change* by, double* dF);
/* Changes of the numbers beside q for those of q and u, and the largest part of them, at most
 * `most`, that stays inside. */
double perpi_smooth_direction(const perpi_smooth_point* at, const double* dq, const double* du,
                              double* ddual, double most);
/* The products of a constraint, divided by what they are to be: those that are to be kappa, and
 * those of friction sets of radius 1. */
typedef struct perpi_smooth_products {
    double sum, least, least_friction;
    int32_t count;
} perpi_smooth_products;
void perpi_smooth_add_products(const perpi_smooth_point* at, perpi_smooth_products* to);

#endif
