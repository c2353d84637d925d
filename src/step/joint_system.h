/* src/step/joint_system.h - direct solution of the rows of joints: one sparse factorisation.
 *
 * Rows r(v, p) = 0 hold together with M v = k + J' p. Newton's method on p has the matrix
 *     A = R M^-1 J' + C,   R = dr/dv, C = dr/dp (the compliance),
 * which couples two joints only if they share a body. A mechanism without closed loops is a tree, and
 * its factors in an order of least degree have no fill: the cost grows with the number of joints.
 * Open mechanisms have independent rows, so A is regular; closed ones are not for this.
 */
#ifndef PERPI_JOINT_SYSTEM_H
#define PERPI_JOINT_SYSTEM_H

#include "step/formulate.h"

typedef struct perpi_joint_system perpi_joint_system;

/* Name in reports. */
#define PERPI_JOINT_SOLVER "joint-system"

PERP_NODISCARD perp_status perpi_joint_system_create(perp_context* context,
                                                     perpi_joint_system** system);
void perpi_joint_system_destroy(perpi_joint_system* system);

/* Room for r and R of a problem; also part of begin(). */
PERP_NODISCARD perp_status perpi_joint_system_reserve(perpi_joint_system* system,
                                                      const perpi_formulation* f);
/* Chooses the rows that hold, and prepares M^-1 J' and the pattern of A. p: the impulses of a solution;
 * bounded rows at a bound and contacts without impulse then keep their impulses. NULL: equality rows
 * alone are taken. K: NULL, or nine numbers a block: M - K takes the place of M in the rotational part.
 * *takes: false if other rows are there (contacts that push). */
PERP_NODISCARD perp_status perpi_joint_system_begin(perpi_joint_system* system,
                                                    const perpi_formulation* f, const double* p,
                                                    const double* K, bool* takes);
/* Relative to the diagonal of A: what is added to it, for mechanisms with redundant joints. */
void perpi_joint_system_regularise(perpi_joint_system* system, double part);
/* x <- (M - K)^-1 x */
void perpi_joint_system_apply(const perpi_joint_system* system, const perpi_formulation* f,
                              double* x);
/* Factors A. R: laid out as f->J; NULL: R = J. false: singular. */
bool perpi_joint_system_factor(perpi_joint_system* system, const perpi_formulation* f,
                               const double* R);
/* v and p become those of a Newton step: p -= A^-1 r, v = v - M^-1 J' A^-1 r. r: one for each row of
 * the problem, and scratch. */
void perpi_joint_system_solve(perpi_joint_system* system, const perpi_formulation* f, double* r,
                              double* v, double* p);
/* r = J v + C p + b of the chosen rows, 0 in the others. Returns the largest relative to its terms. */
double perpi_joint_system_rows(perpi_joint_system* system, const perpi_formulation* f,
                               const double* v, const double* p, double* r);
/* v = M^-1 (k + J' p) with all rows. */
void perpi_joint_system_motion(perpi_joint_system* system, const perpi_formulation* f,
                               const double* p, double* v);
/* r -= R x of the chosen rows, x a velocity. */
void perpi_joint_system_subtract(const perpi_joint_system* system, const perpi_formulation* f,
                                 const double* R, const double* x, double* r);
/* Room for r of all rows, and for R. */
double* perpi_joint_system_r(perpi_joint_system* system);
double* perpi_joint_system_R(perpi_joint_system* system);

/* The nearest velocities (in the kinetic energy at the poses q) that satisfy R v = 0, R as in
 * perpi_joint_system_R. false: not found; v is then of no use. */
bool perpi_joint_system_project(perpi_joint_system* system, const perpi_formulation* f,
                                const perp_model* model, const double* q, double* v);

/* Solves a problem whose rows are all equalities, from the first guess p. *solved: false: it is not such a
 * problem, or the equations do not hold afterwards; v and p are then of no use. */
PERP_NODISCARD perp_status perpi_joint_system_solve_all(perpi_joint_system* system,
                                                        const perpi_formulation* f, double* v,
                                                        double* p, bool* solved);

#endif
