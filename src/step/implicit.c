/* src/step/implicit.c - wrenches, velocity products and inertia at the end of the step.
 *
 * Source     [B09 2.6.1]: (2.77) with lambda_vp, and here lambda_app and M too, at l + 1; the gap
 *            is
 *            linearised about the start of the step, as in Stewart and Trinkle's
 * Departure  the velocity-product term is not written explicitly: the step balances momenta,
 *                M(q') v' = M(q) v + h f(t + h, q', v') + J' p,
 *            whose difference of inertias is that term. So a free body conserves its angular
 *            momentum
 *            for any h. W, the directions of contacts and joints, is that of the start: with W also
 *            at
 *            the end, alternating contacts prevent the outer iteration of some steps of stacked
 *            bodies
 *            from converging; geometric-implicit has it there, with the gap.
 *            First order in h.
 */
#include "step/step.h"

/* The first guess is the semi-implicit step: exact for a free body, and close in other cases. */
static perp_status implicit_formulate(perpi_formulation* f, const perpi_step_input* in)
{
    return in->q_end == in->q ? perpi_formulate(f, in)
                              : perpi_formulate_at_end(f, in, PERPI_EVALUATE_FORCES);
}

const perpi_stepper_ops perpi_stepper_implicit = {
    .name = "implicit",
    .summary = "wrenches, velocity products and inertia at the end of the step, first order",
    .evaluation = PERPI_EVALUATE_FORCES,
    .formulate = implicit_formulate,
    .solve = perpi_solve_at_end,
    .advance = perpi_advance,
};
