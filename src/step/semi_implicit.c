/* src/step/semi_implicit.c - solution of a step whose laws are linearised about its start: one
 * problem. */
#include "step/step.h"

perp_status perpi_solve_semi_implicit(perpi_step* step)
{
    const perpi_step_input in = perpi_step_inputs(step);
    perp_status status = perpi_step_formulate(step, &in, step->from->v);
    if (status == PERP_OK) {
        const perp_solve_options options = perpi_step_options(step, step->tolerance);
        status =
            perp_contact_solve(step->solver, &step->formulation->problem, &options, true,
                               step->v_problem, step->p_problem, &step->residual, &step->report);
        if (status == PERP_OK && step->formulation->tied_count > 0) {
            status = perpi_step_close_ties(step, options);
        }
    }
    return status == PERP_OK ? perpi_step_accept(step, step->tolerance) : status;
}
