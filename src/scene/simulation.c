/* src/scene/simulation.c - the simulation of a scene. */
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "perp/scene.h"

/* Whether the message begins with a member, as "friction/cone: ..." does. */
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
