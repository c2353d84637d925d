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

/* The step of bodies that should rebound, where the problem of their impact has no solution, or none was
 * found (groups that exclude each other at the pose of the start; jammed bodies). The step in time has one,
 * with contacts that became simpler where they had to, and it is the law of impact with coefficients 0:
 * energy does not grow, and bodies that met do not approach each other afterwards. */
static perp_status step_without_impact(perp_sim* sim, double h, const perpi_filter* plain)
{
    const perp_status status =
        perpi_try_step(&sim->work, sim->stepper, &sim->state, h, plain, &sim->trial);
    sim->trial.info->unsolved_impact = 1;
    return status;
}

perp_status perpi_drive_fixed(perp_sim* sim, bool accept_unsolved)
{
    perpi_step* step = &sim->work;
    const perpi_filter plain = {.closing = &sim->closing, .accept_unsolved = accept_unsolved};
    const double h = perpi_sim_tick_length(sim, sim->state.tick);
    bool impacting = false;
    perp_status status = PERP_OK;
    sim->closing.count = 0;
    if (sim->info->kind == PERP_STEP_COMPRESSION) {
        step->stepper = sim->stepper;
        perpi_step_bind(step, &sim->state, h, &plain, &sim->trial);
        status = perpi_decompression_step(step);
        return status == PERP_ERROR_SOLVE ? step_without_impact(sim, h, &plain) : status;
    }
    status = perpi_try_step(step, sim->stepper, &sim->state, h, &plain, &sim->trial);
    if (status == PERP_OK && sim->impact.f != NULL) {
        status = perpi_find_impacting(step, h, &impacting);
    }
    if (status == PERP_OK && impacting) {
        status = find_closing(sim, h, &plain);
        if (status == PERP_OK) {
            status = perpi_find_impacting(step, h, &impacting);
        }
    }
    if (status == PERP_OK && impacting) {
        status = perpi_impact_step(step);
        status = status == PERP_ERROR_SOLVE ? step_without_impact(sim, h, &plain) : status;
    }
    return status;
}
