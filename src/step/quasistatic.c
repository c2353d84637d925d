/* src/step/quasistatic.c - motion in which all forces balance at every moment.
 *
 * Source     [B09 3.4]: Model-DQC (round cone) and Model-DLC (polygon), (3.29), (3.36)-(3.43)
 * Notation   paper lambda, q^{l+1} -> p = h lambda, v = (q^{l+1} - q^l) / h: (3.37) divided by h is
 *            the normal row of any step, (3.38)-(3.40) its friction
 * Departure  the velocity is an unknown of the step, not part of the state: the next step does not
 *            read it. A contact problem has a mass matrix, so the one that is solved and recorded
 *            has the bodies' own, with k = M v_end + h f; at its end v = v_end, and what remains of
 *            the dynamics is the balance of forces. equilibrium.c finds it, and describes the
 *            choice
 *            among several solutions.
 */
#include "step/step.h"

static perp_status quasistatic_solve(perpi_step* step)
{
    const perpi_step_input in = perpi_step_inputs(step);
    perp_status status = perpi_step_formulate(step, &in, step->from->v);
    if (status == PERP_OK) {
        status = perpi_search_equilibrium(step, &in);
    }
    if (status == PERP_OK) {
        status = perpi_step_accept(step, step->tolerance);
    }
    return status == PERP_OK ? perpi_indeterminacy(step, &step->equilibrium.indeterminacy) : status;
}

const perpi_stepper_ops perpi_stepper_quasistatic = {
    .name = "quasistatic",
    .summary = "no inertia: forces balance at the end of every step, what is pushed moves",
    .equilibrium_search = true,
    .formulate = perpi_formulate_at_rest,
    .solve = quasistatic_solve,
    .advance = perpi_advance,
};
