/* src/step/linear_point.h - the equations of a step at any point, with their derivatives.
 *
 * Method     docs/notation.md, "All steps as unknowns"
 *
 * A step maps its start (q, v) by the solution (v', p) of its problem to the state after it. An
 * estimate with all steps as unknowns needs these relations at states, velocities and impulses that
 * do not satisfy them:
 *
 *     r = k - M v' + J' p,     u = J v' + b + c p,     (q, v)' = Phi(q, v, v')
 *
 * M, k, J, b at (q, v), which is where the step takes them from. Which of u, p vanish is left to the caller.
 */
#ifndef PERPI_LINEAR_POINT_H
#define PERPI_LINEAR_POINT_H

#include "contact/derivative.h"
#include "step/linear_step.h"

/* The contact of frozen features at other poses: point, normal, tangent and gap of `contact`; and
 * its friction in the model. */
PERP_NODISCARD perp_status perpi_contact_move(const perp_model* model, const perpi_pose* pose,
                                              const perpi_frozen_contact* frozen,
                                              perp_contact* contact);

/* A step at a point. */
typedef struct perpi_step_point {
    perpi_step_input in;
    bool carries;        /* the state keeps angular momentum (momentum.h) */
    const double *v, *p; /* of the problem; the lengths follow from the formulation; NULL: 0 */
    bool derivatives;    /* else the values alone */
} perpi_step_point;

/* Evaluates; with derivatives perpi_linear_residual and perpi_linear_advance (linear_parts.h) then
 * give their products. */
PERP_NODISCARD perp_status perpi_linear_step_at(perpi_linear_step* l,
                                                const perpi_step_point* point);

/* Of the last evaluation. */
const perp_contact_problem* perpi_linear_problem(const perpi_linear_step* l);
const int32_t* perpi_linear_block_of(const perpi_linear_step* l); /* per body; -1: prescribed */
void perpi_linear_dynamics(const perpi_linear_step* l, double* r);
const double* perpi_linear_row_speeds(const perpi_linear_step* l); /* u */
const double* perpi_linear_mobility(const perpi_linear_step* l);   /* per row: J M^-1 J' */
const double* perpi_linear_q_next(const perpi_linear_step* l);     /* flat */
const double* perpi_linear_v_next(const perpi_linear_step* l);

/* Changes of r and u by one of the state, laid out as linear_step.h says, at fixed (v', p); then of
 * the state after the step by one of the state and of v'. The outputs are set, not added to. */
void perpi_linear_point_residual(const perpi_linear_step* l, const double* dx, double* r,
                                 double* u);
void perpi_linear_point_advance(const perpi_linear_step* l, const double* dx, const double* dv,
                                double* next);

#endif
