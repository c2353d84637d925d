/* src/sim/smooth.c - runs with smoothed laws (step/smooth_step.h), for smoothed gradients. */
#include <math.h>

#include "sim/gradient.h"
#include "sim/internal.h"
#include "step/smooth_law.h"
#include "step/smooth_step.h"

static perp_status refuse(const perp_sim* sim, const char* what)
{
    return perpi_fail(sim->context, PERP_ERROR_UNSUPPORTED, "gradient: %s", what);
}

static perp_status check_smooth(const perp_sim* sim)
{
    if (sim->adaptive) {
        return refuse(sim, "adaptive steps have no smoothed gradient; use a fixed step");
    }
    if (sim->model->bounces) {
        return refuse(sim, "impacts with restitution have no smoothed gradient; set restitution to "
                           "0");
    }
    if (sim->work.settings.joint_middle) {
        return refuse(sim, "middle steps have no smoothed gradient; give \"joint_direction\": "
                           "\"start\"");
    }
    if (sim->correction.project != NULL) {
        return refuse(sim, "joint_correction has no smoothed gradient; set it to false");
    }
    for (size_t i = 0; i < sim->model->controller_count; ++i) {
        if (sim->model->controller[i].rows == 2) {
            return refuse(sim, "controllers of joints with a velocity_limit have no smoothed "
                               "gradient");
        }
    }
    if (sim->work.contact_model->groups) {
        return perpi_fail(sim->context, PERP_ERROR_UNSUPPORTED,
                          "gradient: the contact model '%s' has groups of contacts, which have no "
                          "smoothed gradient; use 'standard'",
                          sim->work.contact_model->name);
    }
    return perpi_smooth_speed(sim->model, &sim->work.settings, sim->work.nominal_h) > 0.0
               ? PERP_OK
               : refuse(sim,
                        "the barrier parameter of a smoothed gradient is relative to the speed "
                        "that gravity gives in a step; particles without gravity have none");
}

perp_status perpi_sim_smooth(perp_sim* sim, double barrier)
{
    if (!(barrier >= PERPI_SMOOTH_LEAST && barrier <= PERPI_SMOOTH_MOST)) {
        return perpi_fail(sim->context, PERP_ERROR_INPUT,
                          "gradient: smooth: expected a barrier parameter from %g to %g, got %g",
                          PERPI_SMOOTH_LEAST, PERPI_SMOOTH_MOST, barrier);
    }
    perp_status status = perpi_gradient_check_sim(sim);
    sim->work.settings.smooth_time = sim->def.duration;
    if (status == PERP_OK) {
        status = check_smooth(sim);
    }
    if (status == PERP_OK && sim->work.smooth == NULL) {
        status = perpi_smooth_solver_create(sim->context, &sim->work.smooth);
    }
    if (status == PERP_OK) {
        sim->work.settings.smooth = barrier;
    }
    return status;
}
