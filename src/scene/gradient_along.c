/* src/scene/gradient_along.c - derivatives of many outputs along runs of a scene: see gradient.h. */
#include <math.h>

#include "base/context.h"
#include "perp/set.h"
#include "scene/gradient.h"
#include "scene/gradient_parameter.h"
#include "sim/sim.h"

struct perpi_scene_along {
    perp_context* context;
    perp_sim* sim;
    perpi_gradient_parameters of;
    perpi_along* along;
    double begin;
};

void perpi_scene_along_destroy(perpi_scene_along* a)
{
    if (a == NULL) {
        return;
    }
    perpi_along_destroy(a->along);
    perp_sim_destroy(a->sim);
    perpi_gradient_parameters_free(a->context, &a->of);
    perpi_free(a->context, a);
}

static perp_status check_bodies(perp_context* context, const perp_model* model,
                                const perpi_scene_along_def* def)
{
    for (int32_t i = 0; i < def->body_count; ++i) {
        const int32_t body = def->body[i];
        if (body < 0 || body >= (int32_t)model->body_count ||
            model->body[body].type != PERP_BODY_DYNAMIC) {
            return perpi_fail(context, PERP_ERROR_INPUT,
                              "gradient: start coordinates are those of dynamic bodies, not of "
                              "body %d",
                              (int)body);
        }
    }
    return PERP_OK;
}

perp_status perpi_scene_along_create(perp_context* context, perp_scene* scene,
                                     const perpi_scene_along_def* def, perpi_scene_along** out)
{
    static const double THRESHOLD = 1e-6;
    perpi_scene_along* a = NULL;
    perp_status status = check_bodies(context, perp_scene_model(scene), def);
    if (status == PERP_OK) {
        status = perpi_alloc(context, 1, sizeof *a, &a);
    }
    if (status != PERP_OK) {
        return status;
    }
    a->context = context;
    a->of.start_body = def->body;
    a->of.start_body_count = def->body_count;
    /* builds the scene anew: before the simulation */
    status = perpi_sensitivity_create(
        context, scene,
        &(perpi_sensitivity_def){.name = def->parameter, .count = def->parameter_count},
        &a->of.sensitivity);
    if (status == PERP_OK) {
        status = def->sim != NULL
                     ? perp_sim_create_from_scene_def(context, scene, def->sim, &a->sim)
                     : perp_sim_create_from_scene(context, scene, &a->sim);
    }
    if (status == PERP_OK) {
        status = perpi_gradient_parameters_fill(
            context, perp_scene_model(scene),
            perpi_sim_plain_numbers(a->sim) ? PERPI_LIGHT_FORWARD : PERPI_LIGHT_NONE, &a->of);
    }
    if (status == PERP_OK) {
        const perpi_gradient_input in = {.parameter = a->of.parameter,
                                         .parameter_count = a->of.count,
                                         .threshold =
                                             def->threshold > 0.0 ? def->threshold : THRESHOLD,
                                         .light = a->of.light,
                                         .light_count = a->of.light_count};
        status = perpi_along_create(a->sim, &in, &a->along);
    }
    a->of.start_body = NULL; /* the caller's */
    if (status != PERP_OK) {
        perpi_scene_along_destroy(a);
        return status;
    }
    *out = a;
    return PERP_OK;
}

int32_t perpi_scene_along_unknowns(const perpi_scene_along* a)
{
    return a->of.count;
}

perp_sim* perpi_scene_along_sim(perpi_scene_along* a)
{
    return a->sim;
}

void perpi_scene_along_begin(perpi_scene_along* a, double time)
{
    a->begin = time;
}

/* The same state at the time at which runs begin. */
static perp_status set_time(perpi_scene_along* a)
{
    const double h = perpi_sim_asked(a->sim)->step;
    int32_t joints = 0;
    const perpi_saved saved = {.time = a->begin,
                               .step = (int64_t)round(a->begin / h),
                               .q = perp_sim_q(a->sim),
                               .v = perp_sim_v(a->sim),
                               .memory = perpi_sim_s(a->sim),
                               .joint = perp_sim_joint_records(a->sim, &joints)};
    return perpi_sim_set_state(a->sim, &saved);
}

perp_status perpi_scene_along_run(perpi_scene_along* a, const double* q, const double* v,
                                  double until, bool derivatives, perpi_along_fn fn, void* user,
                                  perp_gradient_flags* flags)
{
    perp_status status = perp_sim_reset(a->sim);
    if (status == PERP_OK && a->begin > 0.0) {
        status = set_time(a);
    }
    if (status == PERP_OK && (q != NULL || v != NULL)) {
        status = perp_sim_set_state(a->sim, q, v);
    }
    return status == PERP_OK ? perpi_along_run(a->along, until, derivatives, fn, user, flags)
                             : status;
}
