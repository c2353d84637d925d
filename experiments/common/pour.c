#include "common/pour.h"

#include <stdio.h>

#include "common/polygons.h"

/* Holds the polygons that are not released yet. */
static perp_status hold(void* user, perp_sim* sim)
{
    (void)user;
    for (int i = 0; i < POUR_POLYGONS; ++i) {
        if (perp_sim_time(sim) < 0.25 * i - 1e-9) {
            const double force[3] = {
                0.0, 9.81 * perp_model_body_info(perp_sim_model(sim), POUR_WALLS + i).mass, 0.0};
            const perp_status status = perp_sim_apply_wrench(sim, POUR_WALLS + i, force, NULL);
            if (status != PERP_OK) {
                return status;
            }
        }
    }
    return PERP_OK;
}

scene_run pour_open(const pour* p)
{
    char bodies[32768], friction[64];
    const double height = p->height > 0.0 ? p->height : 1.7;
    random_begin(p->seed);
    size_t used = (size_t)snprintf(bodies, sizeof bodies,
                                   "{\"name\":\"floor\",\"type\":\"static\",\"position\":[0,-0.5],"
                                   "\"shapes\":[{\"type\":\"box\",\"size\":[5,1]}]},"
                                   "{\"name\":\"left\",\"type\":\"static\",\"position\":[-2,4],"
                                   "\"shapes\":[{\"type\":\"box\",\"size\":[1,10]}]},"
                                   "{\"name\":\"right\",\"type\":\"static\",\"position\":[2,4],"
                                   "\"shapes\":[{\"type\":\"box\",\"size\":[1,10]}]}");
    for (int i = 0; i < POUR_POLYGONS; ++i) {
        const polygon one = random_polygon(0.25);
        const double spin = p->spin > 0.0 ? random_uniform(-p->spin, p->spin) : 0.0;
        used += (size_t)snprintf(
            bodies + used, sizeof bodies - used,
            ",{\"name\":\"p%d\",\"density\":1,\"position\":[%.17g,%.17g],\"angular_velocity\":%."
            "17g,"
            "\"velocity\":[0,-0.48],\"shapes\":[{\"type\":\"polygon\",\"vertices\":",
            i, -1.16 + 0.58 * (i % 5), height + 0.48 * 0.25 * i, spin);
        used += polygon_text(&one, bodies + used, sizeof bodies - used);
        used += (size_t)snprintf(bodies + used, sizeof bodies - used, "}]}");
    }
    if (p->mu > 0.0) {
        snprintf(friction, sizeof friction, "{\"default\":%g}", p->mu);
    } else {
        snprintf(friction, sizeof friction, "{\"cone\":\"none\"}");
    }
    scene_run run = scene_run_open(
        "{\"dimension\":2,\"gravity\":[0,-9.81],\"step\":%.17g,\"duration\":5,\"contact\":\"%s\","
        "\"friction\":%s,\"bodies\":[%s]}",
        p->h, p->contact, friction, bodies);
    perp_sim_on_step(run.sim, hold, NULL);
    return run;
}
