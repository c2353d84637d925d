/* src/sim/account.c - the accounts of the step at hand: energy and momentum.
 *
 * Called when the next state is complete and before it is taken over: sim->q, v are the start of the step,
 * sim->q_next, v_next its end. docs/notation.md derives the accounts.
 */
#include "sim/internal.h"
#include "step/force_rows.h"
#include "step/layers.h"
#include "step/momentum.h"

/* Energy of springs and soft layers. */
static double stored_energy(const perp_sim* sim, const double* q,
                            const perpi_contact_list* contacts)
{
    double energy = sim->model->spring_count > 0 ? perpi_spring_energy(sim->model, q) : 0.0;
    if (sim->stepper->layered) {
        energy += perpi_layer_energy(sim->model, contacts->item, (int32_t)contacts->count);
    }
    return energy;
}

perp_status perpi_sim_account(perp_sim* sim, const perpi_formulation* f, double h)
{
    const bool impact = f == sim->impact, projected = !impact && sim->project != NULL;
    const bool inertia = !sim->stepper->settles;
    const double* q_answer = projected ? sim->q_answer : sim->q_next;
    const double* v_carried = projected ? sim->v_carried : sim->v_next;
    perpi_ledger_input in = {
        .f = f,
        .model = sim->model,
        .look = sim->stepper->settles ? PERPI_LOOK_REST : sim->stepper->look,
        .impact = impact,
        .t = sim->time,
        .h = impact ? 0.0 : h,
        .q = sim->q_from,
        .v = sim->v_from,
        .extra = sim->has_extra ? sim->extra : NULL,
        .v_problem = sim->v_problem,
        .p_problem = sim->p_problem,
        .contact = sim->next.item,
        .joint = sim->joint_next,
        .joint_input = sim->input,
        .q_end = q_answer,
        .v_state = v_carried,
        .offset = perpi_sim_offset(sim),
        .compression = sim->contacts.item,
        .compression_count =
            sim->info.kind == PERP_STEP_DECOMPRESSION ? (int32_t)sim->contacts.count : 0,
        .q_final = projected ? sim->q_next : NULL,
        .v_final = projected ? sim->v_next : NULL,
    };
    perp_ledger* ledger = &sim->info.ledger;
    perpi_ledger_terms(&in, ledger);
    ledger->impacts += perpi_sim_offset_energy(sim, impact);
    const double before = stored_energy(sim, sim->q, &sim->contacts);
    const double answer = stored_energy(sim, q_answer, &sim->next);
    ledger->spring_error += answer - before;
    ledger->change = perpi_energy_change(sim->model, inertia, sim->q, sim->v, q_answer, v_carried) +
                     (answer - before);
    if (projected) {
        ledger->projection = perpi_energy_change(sim->model, inertia, q_answer, v_carried,
                                                 sim->q_next, sim->v_next) +
                             (stored_energy(sim, sim->q_next, &sim->next) - answer);
        ledger->change += ledger->projection;
    }
    perpi_ledger_close(ledger);
    sim->info.momentum_error[0] = sim->info.momentum_error[1] = 0.0;
    if (impact && perpi_sim_offset(sim) != NULL) { /* momentum is that of the displaced poses */
        perpi_sim_displaced(sim, sim->s_next + sim->offset_at, sim->v_next, sim->q_to, sim->v_to);
        in.q_end = sim->q_to;
        in.v_state = sim->v_to;
    }
    return inertia ? perpi_momentum_account(&in, &sim->momentum_work, sim->info.momentum_error)
                   : PERP_OK;
}

/* ---- sums and scales -------------------------------------------------------------------------------*/

perp_ledger perp_sim_ledger_total(const perp_sim* sim)
{
    return sim->ledger_total;
}

double perpi_weight_scale(const perp_model* model, const double* q)
{
    double sum = 0.0;
    for (int32_t i = 0; i < (int32_t)model->body_count; ++i) {
        const perpi_body* body = &model->body[i];
        if (body->dofs > 0) {
            const double size = isfinite(body->reach) ? body->reach : model->length;
            sum += body->mass * v3_norm(body->gravity) *
                   (size + v3_norm(perpi_state_pose(model, q, i).x));
        }
    }
    return sum;
}

double perp_sim_energy_scale(const perp_sim* sim)
{
    return perp_sim_energy(sim).kinetic + perpi_weight_scale(sim->model, sim->q);
}
