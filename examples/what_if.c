/* A model built in C: run it, try variants in clones, query distances, record it, and write it as a
 * scene file.
 *
 *     cc what_if.c $(pkg-config --cflags --libs perp) -lm -o what_if && ./what_if
 *
 * A box slides on a floor towards a wall. How fast may it start, and how slippery may the floor be, so that it
 * does not reach the wall?
 */
#include <math.h>
#include <stdio.h>

#include "perp/perp.h"

static perp_status add_plane(perp_model* model, const char* name, double x, double z, double offset)
{
    perp_shape_def plane = perp_shape_def_default(PERP_SHAPE_PLANE);
    plane.normal[0] = x;
    plane.normal[2] = z;
    plane.offset = offset;
    perp_body_def body = perp_body_def_default();
    body.name = name;
    body.shapes = &plane;
    body.shape_count = 1;
    return perp_model_add_body(model, &body, NULL);
}

static perp_status build(perp_context* context, perp_model** model, int32_t* box)
{
    perp_model_def def = perp_model_def_default();
    def.name = "sliding-box";
    def.gravity[2] = -9.81;
    def.friction_default = 0.4;
    perp_status status = perp_model_create(context, &def, model);
    if (status == PERP_OK) {
        status = add_plane(*model, "floor", 0, 1, 0);
    }
    if (status == PERP_OK) {
        status = add_plane(*model, "wall", -1, 0, -2); /* solid where x > 2 */
    }
    perp_shape_def cube = perp_shape_def_default(PERP_SHAPE_BOX);
    cube.size[0] = cube.size[1] = cube.size[2] = 0.2;
    perp_body_def body = perp_body_def_default();
    body.name = "box";
    body.type = PERP_BODY_DYNAMIC;
    body.density = 500;
    body.position[2] = 0.1;
    body.shapes = &cube;
    body.shape_count = 1;
    return status == PERP_OK ? perp_model_add_body(*model, &body, box) : status;
}

/* Whether a box that starts with this speed, on this friction, reaches the wall. The given
 * simulation is not changed. */
static perp_status reaches_wall(const perp_sim* sim, int32_t box, double speed, double mu,
                                bool* reaches)
{
    perp_sim* trial = NULL;
    perp_status status = perp_sim_clone(sim, NULL, &trial);
    const double velocity[3] = {speed, 0, 0};
    if (status == PERP_OK) {
        status = perp_sim_set_body_velocity(trial, box, velocity, NULL);
    }
    if (status == PERP_OK) {
        status = perp_sim_set_pair_friction(trial, 0, box, mu);
    }
    perp_contact_sum wall = {0};
    for (*reaches = false; status == PERP_OK && !*reaches && !perp_sim_finished(trial);) {
        status = perp_sim_step(trial);
        if (status == PERP_OK) {
            status = perp_sim_contact_sum(trial, box, 1, NULL, &wall);
        }
        *reaches = wall.contacts > 0;
    }
    perp_sim_destroy(trial);
    return status;
}

static perp_status explore(perp_sim* sim, int32_t box)
{
    /* how far it is: along a ray from the box, and as a distance */
    const perp_body_state state = perp_sim_body(sim, box);
    const double ahead[3] = {1, 0, 0};
    perp_ray_hit hit;
    perp_distance gap;
    perp_status status = perp_sim_ray(sim, state.position, ahead, INFINITY, box, &hit);
    if (status == PERP_OK) {
        status = perp_sim_distance(sim, box, 1, &gap);
    }
    if (status == PERP_OK) {
        printf("the %s is %g ahead of the centre, %g from the box\n",
               perp_model_body_name(perp_sim_model(sim), hit.body), hit.distance, gap.distance);
    }
    /* the speed at which it just gets there, by bisection: v^2 = 2 mu g d */
    for (double mu = 0.2; status == PERP_OK && mu < 0.7; mu += 0.2) {
        double slow = 0.0, fast = 10.0;
        while (status == PERP_OK && fast - slow > 1e-3) {
            const double middle = 0.5 * (slow + fast);
            bool reaches = false;
            status = reaches_wall(sim, box, middle, mu, &reaches);
            *(reaches ? &fast : &slow) = middle;
        }
        printf("friction %.1f: it reaches the wall from %.2f m/s on (%.2f by hand)\n", mu, fast,
               sqrt(2 * mu * 9.81 * gap.distance));
    }
    return status;
}

/* Records a run with a kick in the middle: the set state is a frame, so that every step can be verified. */
static perp_status record(perp_context* context, perp_sim* sim, int32_t box)
{
    perp_recorder* recorder = NULL;
    perp_verification verification;
    perp_status status = perp_recorder_create(context, "what_if.h5", NULL, sim, &recorder);
    for (int i = 0; status == PERP_OK && i < 60; ++i) {
        if (i == 30) {
            const double kick[3] = {1, 0, 2};
            status = perp_sim_set_body_velocity(sim, box, kick, NULL);
            if (status == PERP_OK) {
                status = perp_recorder_step(recorder, sim, 0.0);
            }
        }
        if (status == PERP_OK) {
            status = perp_sim_step(sim);
        }
        if (status == PERP_OK) {
            status = perp_recorder_step(recorder, sim, 0.0);
        }
    }
    if (status == PERP_OK) {
        status = perp_recorder_finish(recorder, sim);
    }
    perp_recorder_destroy(recorder);
    if (status == PERP_OK) {
        status = perp_recording_verify(context, "what_if.h5", &verification);
    }
    if (status == PERP_OK) {
        printf("what_if.h5: %s\n", verification.message);
    }
    return status == PERP_OK ? perp_sim_reset(sim) : status;
}

int main(void)
{
    perp_context* context = NULL;
    perp_model* model = NULL;
    perp_sim* sim = NULL;
    perp_scene* scene = NULL;
    int32_t box = -1;
    perp_sim_def def = perp_sim_def_default();
    def.duration = 4.0;
    perp_status status = perp_context_create(NULL, &context);
    if (status == PERP_OK) {
        status = build(context, &model, &box);
    }
    if (status == PERP_OK) {
        status = perp_sim_create(context, model, &def, &sim);
    }
    if (status == PERP_OK) {
        status = explore(sim, box);
    }
    if (status == PERP_OK) {
        status = record(context, sim, box);
    }
    if (status == PERP_OK) {
        status = perp_scene_from_sim(context, sim, 1, &scene);
    }
    if (status == PERP_OK) {
        status = perp_scene_save(scene, "what_if.json"); /* perp run what_if.json */
    }
    if (status != PERP_OK) {
        fprintf(stderr, "%s\n", context != NULL ? perp_context_error(context) : "out of memory");
    }
    perp_scene_destroy(scene);
    perp_sim_destroy(sim);
    perp_model_destroy(model);
    perp_context_destroy(context);
    return status == PERP_OK ? 0 : 1;
}
