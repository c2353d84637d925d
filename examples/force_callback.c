/* A force of one's own: a spring-damper written in C holds a block against gravity.
 *
 * The callback runs at the start of every step; it reads the state and applies a wrench for the
 * coming step. The model is built in C, without a scene file.
 */
#include <math.h>
#include <stdio.h>

#include "perp/perp.h"

typedef struct spring {
    int32_t body;
    double stiffness, damping, height; /* rest height */
} spring;

static perp_status pull(void* user, perp_sim* sim)
{
    const spring* s = user;
    const perp_body_state b = perp_sim_body(sim, s->body);
    const double force[3] = {
        0.0, 0.0, s->stiffness * (s->height - b.position[2]) - s->damping * b.velocity[2]};
    return perp_sim_apply_wrench(sim, s->body, force, NULL);
}

static perp_status build(perp_context* context, perp_model** model, int32_t* body)
{
    perp_model_def def = perp_model_def_default();
    def.gravity[2] = -9.81;
    perp_status status = perp_model_create(context, &def, model);
    if (status != PERP_OK) {
        return status;
    }
    perp_shape_def box = perp_shape_def_default(PERP_SHAPE_BOX);
    box.size[0] = box.size[1] = box.size[2] = 0.2;
    perp_body_def block = perp_body_def_default();
    block.name = "block";
    block.type = PERP_BODY_DYNAMIC;
    block.mass = 2.0;
    block.shapes = &box;
    block.shape_count = 1;
    block.position[2] = 1.0;
    return perp_model_add_body(*model, &block, body);
}

int main(void)
{
    perp_context* context = NULL;
    perp_model* model = NULL;
    perp_sim* sim = NULL;
    spring s = {.stiffness = 200.0, .damping = 40.0, .height = 1.0};
    perp_sim_def def = perp_sim_def_default();
    def.step = 0.001;
    def.duration = 5.0;
    perp_status status = perp_context_create(NULL, &context);
    if (status == PERP_OK) {
        status = build(context, &model, &s.body);
    }
    if (status == PERP_OK) {
        status = perp_sim_create(context, model, &def, &sim);
    }
    if (status == PERP_OK) {
        perp_sim_on_step(sim, pull, &s);
        status = perp_sim_run(sim);
    }
    int result = 1;
    if (status == PERP_OK) {
        const double sag = 2.0 * 9.81 / 200.0; /* m g / k */
        const double height = perp_sim_body(sim, s.body).position[2];
        printf("the block hangs at %.9f, expected %.9f\n", height, 1.0 - sag);
        result = fabs(height - (1.0 - sag)) < 1e-6 ? 0 : 1;
    } else {
        fprintf(stderr, "%s\n", context != NULL ? perp_context_error(context) : "out of memory");
    }
    perp_sim_destroy(sim);
    perp_model_destroy(model);
    perp_context_destroy(context);
    return result;
}
