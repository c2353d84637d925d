/* src/sim/correct.c - velocities at the end of a step that the joints allow where they now stand.
 *
 * Source     [W14 algorithm 1], velocity level
 * Departure  the paper ignores contacts here. With J and M at the end of the step:
 *                M (v' - v) = J' p,  J_joint v' = 0,  0 <= p_n perp u_n >= 0 at closed contacts,
 *            limits and taut ropes likewise. Contacts act without friction: a friction impulse of
 *            its own would be invented. What slips by it, by the square of h, is stopped by the
 *            friction of the next step before it moves anything.
 */
#include <string.h>

#include "sim/internal.h"
#include "step/joint_rows.h"

/* The step's contacts without friction, with the gaps that its answer leaves. */
static perp_status close_contacts(perp_sim* sim, double h)
{
    const perpi_formulation* f = sim->formulation;
    const size_t count = sim->next.count;
    const perp_status status = perpi_grow(sim->context, &sim->closed.item, &sim->closed.capacity,
                                          count, sizeof *sim->closed.item);
    if (status != PERP_OK) {
        return status;
    }
    sim->closed.count = count;
    for (size_t i = 0; i < count; ++i) {
        perp_contact* contact = &sim->closed.item[i];
        *contact = sim->next.item[i];
        contact->cone = PERP_CONE_NONE;
        const double u = perpi_formulation_speed(f, (int32_t)i, 0, sim->v_problem) +
                         f->b[f->constraint[i].row] - contact->drift[0];
        contact->gap = u > 0.0 ? h * u : 0.0;
    }
    return PERP_OK;
}

perp_status perpi_sim_project(perp_sim* sim, double h, perp_report* report)
{
    perpi_formulation* f = sim->project;
    perp_status status = close_contacts(sim, h);
    if (status == PERP_OK) {
        status =
            perpi_formulate_other(f, sim->model, PERPI_PURPOSE_PROJECT, h, sim->q_next, sim->v_next,
                                  sim->closed.item, (int32_t)sim->closed.count, sim->input);
    }
    if (status == PERP_OK) {
        status = perpi_sim_room(sim, (size_t)f->problem.dof_count, (size_t)f->problem.row_count);
    }
    if (status != PERP_OK) {
        return status;
    }
    perp_solve_options options = perp_solve_options_default();
    options.tolerance = sim->def.tolerance;
    options.cancel = sim->cancel;
    options.user = sim->cancel_user;
    perp_report made;
    status = perp_contact_solve(sim->project_solver, &f->problem, &options, false, sim->v_problem,
                                sim->p_problem, NULL, &made);
    if (status != PERP_OK) {
        return status;
    }
    report->iterations += made.iterations;
    if (made.outcome == PERP_OUTCOME_CANCELLED) {
        return perpi_fail(sim->context, PERP_ERROR_CANCELLED, "step %lld (t = %.9g): cancelled",
                          (long long)sim->step + 1, sim->time);
    }
    if (made.outcome != PERP_OUTCOME_SOLVED) {
        if (sim->def.keep_going) {
            return PERP_OK; /* the velocities that solved the step stand */
        }
        return perpi_fail(sim->context, PERP_ERROR_SOLVE,
                          "step %lld (t = %.9g): the velocities could not be projected onto the "
                          "joints: %s ended with '%s', residual %.3g",
                          (long long)sim->step + 1, sim->time, made.solver,
                          perp_outcome_name(made.outcome), made.residual);
    }
    perpi_formulation_scatter_v(f, sim->model, sim->v_problem, sim->v_next);
    return PERP_OK;
}
