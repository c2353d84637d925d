/* src/sim/account.c - energy ledger and momentum account of a step.
 *
 * Called when the trial step is complete and before it is committed: step->from->q, v are the start
 * of the step, step->to->q, v_next its end. docs/notation.md derives both accounts.
 */
#include "sim/internal.h"
#include "step/force_rows.h"
#include "step/layers.h"
#include "step/momentum.h"

/* Energy of springs and soft layers. */
static double stored_energy(const perpi_step* step, const double* q,
                            const perpi_contact_list* contacts)
{
    double energy = step->model->spring_count > 0 ? perpi_spring_energy(step->model, q) : 0.0;
    if (step->stepper->layered) {
        energy += perpi_layer_energy(step->model, contacts->item, (int32_t)contacts->count);
    }
    return energy;
}

perp_status perpi_account(perpi_step* step, const perpi_formulation* f, double h)
{
    const bool impact = f == step->impact->f,
               projected = !impact && step->correction->project != NULL;
    const bool inertia = !step->stepper->equilibrium_search;
    const double* q_answer = projected ? step->correction->q_answer : step->to->q;
    const double* v_carried = projected ? step->correction->v_carried : step->to->v;
    perpi_ledger_input in = {
        .f = f,
        .model = step->model,
        .evaluation =
            step->stepper->equilibrium_search ? PERPI_EVALUATE_REST : step->stepper->evaluation,
        .impact = impact,
        .t = step->from->time,
        .h = impact ? 0.0 : h,
        .q = step->q_from,
        .v = step->v_from,
        .extra = step->has_extra ? step->extra : NULL,
        .v_problem = step->v_problem,
        .p_problem = step->p_problem,
        .contact = step->to->contacts.item,
        .joint = step->to->joint,
        .joint_input = step->input,
        .q_end = q_answer,
        .v_state = v_carried,
        .offset = perpi_step_offset(step),
        .compression = step->from->contacts.item,
        .compression_count = step->trial->info->kind == PERP_STEP_DECOMPRESSION
                                 ? (int32_t)step->from->contacts.count
                                 : 0,
        .q_final = projected ? step->to->q : NULL,
        .v_final = projected ? step->to->v : NULL,
        .pushed = step->correction->pushed,
        .pushed_count = projected ? step->correction->pushed_count : 0,
    };
    perp_ledger* ledger = &step->trial->info->ledger;
    perpi_ledger_terms(&in, ledger);
    ledger->impacts += step->offset_at >= 0 ? perpi_offset_energy(step, impact) : 0.0;
    const double before = stored_energy(step, step->from->q, &step->from->contacts);
    const double answer = stored_energy(step, q_answer, &step->to->contacts);
    ledger->spring_error += answer - before;
    ledger->change = perpi_energy_change(step->model, inertia, step->from->q, step->from->v,
                                         q_answer, v_carried) +
                     (answer - before);
    if (projected) {
        ledger->projection = perpi_energy_change(step->model, inertia, q_answer, v_carried,
                                                 step->to->q, step->to->v) +
                             (stored_energy(step, step->to->q, &step->to->contacts) - answer);
        ledger->change += ledger->projection;
    }
    perpi_ledger_close(ledger);
    step->trial->info->momentum_error[0] = step->trial->info->momentum_error[1] = 0.0;
    if (impact && perpi_step_offset(step) != NULL) { /* at displaced poses */
        perpi_displaced(step, step->to->memory + step->offset_at, step->to->v, step->q_to,
                        step->v_to);
        in.q_end = step->q_to;
        in.v_state = step->v_to;
    }
    return inertia ? perpi_momentum_account(&in, &step->momentum_work,
                                            step->trial->info->momentum_error)
                   : PERP_OK;
}

/* ---- sums and scales -------------------------------------------------------------------------------*/

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
