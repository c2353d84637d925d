/* src/step/geometric_implicit.c - contact geometry at the end of the step.
 *
 * Source     [B09 3.5.1]: (3.82), (3.83) single convex functions, (3.84)-(3.87) intersections
 * Notation   the closest points a_1, a_2 of the bodies at q^{l+1} -> perp_contact.point, gap,
 *            normal
 *            of contacts that are found at the end of the step; W_n, W_t, W_o, W_r^{l+1} -> J there
 * Departure  a_1, a_2 and their multipliers are no unknowns of one large NCP. The outer iteration
 *            detects contacts at the end of the previous iteration (src/collide solves (3.70),
 *            unions
 *            and intersections included, and distinguishes contact from overlap by the sign of the
 *            gap), linearises gaps about that end and solves, until the laws hold where the bodies
 *            then are. At such a fixed point (3.82), (3.83) hold;
 *            tests/physics/geometric_implicit_test.c compares with that NCP. Forces and inertia are
 *            at the end too, as in implicit.c, so that all of (2.77) is. First order in h; but gaps
 *            are exact at the end of each step, for any rotation of the bodies.
 */
#include "step/step.h"

static perp_status geometric_implicit_formulate(perpi_formulation* f, const perpi_step_input* in)
{
    return in->q_end == in->q ? perpi_formulate(f, in)
                              : perpi_formulate_at_end(f, in, PERPI_EVALUATE_GEOMETRY);
}

const perpi_stepper_ops perpi_stepper_geometric_implicit = {
    .name = "geometric-implicit",
    .summary = "contact geometry, forces and inertia at the end of the step, first order",
    .evaluation = PERPI_EVALUATE_GEOMETRY,
    .formulate = geometric_implicit_formulate,
    .solve = perpi_solve_at_end,
    .advance = perpi_advance,
};
