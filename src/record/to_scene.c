/* src/record/to_scene.c - the scene of a model that was built in C, or of a simulation. */
#include "perp/record.h"

#include "base/context.h"
#include "scene/write.h"
#include "sim/sim.h"

static perp_scene_run run_of(const perp_sim_def* def)
{
    return (perp_scene_run){.step = def->step,
                            .duration = def->duration,
                            .error = def->error,
                            .step_min = def->step_min,
                            .step_max = def->step_max,
                            .stepper = def->stepper,
                            .stepper_option = def->stepper_option,
                            .stepper_option_count = def->stepper_option_count,
                            .contact = def->contact,
                            .single_primary = def->single_primary,
                            .solver = def->solver,
                            .solver_option = def->solver_option,
                            .solver_option_count = def->solver_option_count,
                            .cone = def->cone,
                            .directions = def->directions,
                            .e = {def->e[0], def->e[1], def->e[2]},
                            .margin = def->margin,
                            .tolerance = def->tolerance,
                            .allow_overlap = def->allow_overlap,
                            .joint_correction = def->joint_correction,
                            .linear_rotation = def->linear_rotation};
}

perp_status perp_scene_from_model(perp_context* context, const perp_model* model,
                                  const perp_sim_def* def, int32_t record_every, perp_scene** scene)
{
    if (record_every < 1) {
        return perpi_fail(context, PERP_ERROR_INPUT, "record/every: must be >= 1, got %d",
                          (int)record_every);
    }
    const perp_sim_def standard = perp_sim_def_default();
    const perp_scene_run run = run_of(def != NULL ? def : &standard);
    return perpi_scene_from_model(context, model, &run, record_every, scene);
}

perp_status perp_scene_from_sim(perp_context* context, const perp_sim* sim, int32_t record_every,
                                perp_scene** scene)
{
    return perp_scene_from_model(context, perpi_sim_built_model(sim), perpi_sim_asked(sim),
                                 record_every, scene);
}
