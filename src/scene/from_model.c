/* src/scene/from_model.c - the scene of a model that was built in C, or of a simulation. */
#include "perp/scene.h"

#include "base/context.h"
#include "scene/write.h"
#include "sim/sim.h"

perp_status perp_scene_from_model(perp_context* context, const perp_model* model,
                                  const perp_sim_def* def, int32_t record_every, perp_scene** scene)
{
    if (record_every < 1) {
        return perpi_fail(context, PERP_ERROR_INPUT, "record/every: must be >= 1, got %d",
                          (int)record_every);
    }
    const perp_sim_def standard = perp_sim_def_default();
    return perpi_scene_from_model(context, model, def != NULL ? def : &standard, record_every,
                                  scene);
}

perp_status perp_scene_from_sim(perp_context* context, const perp_sim* sim, int32_t record_every,
                                perp_scene** scene)
{
    return perp_scene_from_model(context, perpi_sim_built_model(sim), perpi_sim_asked(sim),
                                 record_every, scene);
}
