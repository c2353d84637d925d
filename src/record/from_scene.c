/* src/record/from_scene.c - the simulation that a scene asks for. */
#include "perp/record.h"

#include <stdio.h>
#include <string.h>

#include "base/context.h"

perp_sim_def perp_sim_def_from_scene(const perp_scene* scene)
{
    const perp_scene_run run = perp_scene_run_settings(scene);
    perp_sim_def def = perp_sim_def_default();
    def.step = run.step;
    def.error = run.error;
    def.step_min = run.step_min;
    def.step_max = run.step_max;
    def.duration = run.duration;
    def.stepper = run.stepper;
    def.stepper_option = run.stepper_option;
    def.stepper_option_count = run.stepper_option_count;
    def.contact = run.contact;
    def.single_primary = run.single_primary;
    def.solver = run.solver;
    def.solver_option = run.solver_option;
    def.solver_option_count = run.solver_option_count;
    def.cone = run.cone;
    def.directions = run.directions;
    for (int i = 0; i < 3; ++i) {
        def.e[i] = run.e[i];
    }
    def.margin = run.margin;
    def.tolerance = run.tolerance;
    def.allow_overlap = run.allow_overlap;
    def.joint_correction = run.joint_correction;
    def.linear_rotation = run.linear_rotation;
    return def;
}

/* Does the message begin with a member, as "friction/cone: ..." does? */
static bool names_member(const char* message)
{
    const size_t n = strspn(message, "abcdefghijklmnopqrstuvwxyz_/0123456789");
    return n > 0 && message[0] != '/' && message[n] == ':';
}

perp_status perp_sim_create_from_scene_def(perp_context* context, const perp_scene* scene,
                                           const perp_sim_def* def, perp_sim** sim)
{
    const perp_status status = perp_sim_create(context, perp_scene_model(scene), def, sim);
    if ((status == PERP_ERROR_INPUT || status == PERP_ERROR_UNSUPPORTED) &&
        names_member(perp_context_error(context))) {
        char message[2048]; /* as long as the context's */
        (void)snprintf(message, sizeof message, "%s", perp_context_error(context));
        return perpi_fail(context, status, "/%s", message);
    }
    return status;
}

perp_status perp_sim_create_from_scene(perp_context* context, const perp_scene* scene,
                                       perp_sim** sim)
{
    const perp_sim_def def = perp_sim_def_from_scene(scene);
    return perp_sim_create_from_scene_def(context, scene, &def, sim);
}
