/* src/sim/fixed.c - fixed steps, and the impacts before them. */
#include "sim/internal.h"
#include "sim/tape.h"

/* Bodies that are pressed together by friction, springs or motors do not rebound. These act
 * through the problem of the step, so a step without the impacting contacts gives their closing
 * accelerations. Then the step itself is computed again. */
static perp_status find_closing(perp_sim* sim, double h, const perpi_filter* plain)
{
    perpi_filter without = *plain;
    const perpi_contact_list* contacts = &sim->trial.state.contacts;
    perp_status status = PERP_OK;
    without.without = true;
    for (size_t i = 0; status == PERP_OK && i < contacts->count; ++i) {
        if (sim->impact.hit[i].e > 0.0) {
            status = perpi_remember_closing(sim->context, &sim->closing, &contacts->item[i], 0.0);
        }
    }
    if (status == PERP_OK) {
        status = perpi_try_step(&sim->work, sim->stepper, &sim->state, h, &without, &sim->trial);
    }
    if (status == PERP_OK) {
        perpi_measure_closing(&sim->work, &sim->closing);
        status = sim->without != NULL ? perpi_tape_push_trial(sim->without, sim) : PERP_OK;
    }
    if (status != PERP_OK && status != PERP_ERROR_SOLVE) { /* no solution: nothing known */
        return status;
    }
    return perpi_try_step(&sim->work, sim->stepper, &sim->state, h, plain, &sim->trial);
}

perp_status perpi_drive_fixed(perp_sim* sim, bool accept_unsolved)
{
    perpi_step* step = &sim->work;
    const perpi_filter plain = {.closing = &sim->closing, .accept_unsolved = accept_unsolved};
    const double h = perpi_sim_tick_length(sim, sim->state.tick);
    bool impacting = false;
    sim->closing.count = 0;
    if (sim->info.kind == PERP_STEP_COMPRESSION) {
        step->stepper = sim->stepper;
        perpi_step_bind(step, &sim->state, h, &plain, &sim->trial);
        return perpi_decompression_step(step);
    }
    perp_status status = perpi_try_step(step, sim->stepper, &sim->state, h, &plain, &sim->trial);
    if (status == PERP_OK && sim->impact.f != NULL) {
        status = perpi_find_impacting(step, h, &impacting);
    }
    if (status == PERP_OK && impacting) {
        status = find_closing(sim, h, &plain);
        if (status == PERP_OK) {
            status = perpi_find_impacting(step, h, &impacting);
        }
    }
    return status == PERP_OK && impacting ? perpi_impact_step(step) : status;
}
