/* src/sim/candidates.c - see candidates.h. */
#include "sim/candidates.h"

#include <string.h>

#include "sim/internal.h"

static bool is_unbounded(const perp_model* model, const perp_contact* c)
{
    return !isfinite(model->body[c->body_a].reach) || !isfinite(model->body[c->body_b].reach);
}

perp_status perpi_sim_candidates(perp_sim* sim, double t, const double* q, double within,
                                 double far, perpi_contact_list* list)
{
    perpi_step* step = &sim->work;
    const perpi_candidate* candidate;
    size_t count, kept = 0;
    perpi_step_poses(step, q);
    for (size_t i = 0; i < sim->model->body_count; ++i) {
        step->margin[i] = 0.5 * (far > within ? far : within);
    }
    perpi_collider_set_turn(step->collider, NULL, 0);
    perp_status status =
        perpi_collide(step->collider, step->pose, step->margin, &candidate, &count);
    if (status == PERP_OK) {
        status = perpi_build_contacts(step, t, candidate, count, list);
    }
    if (status != PERP_OK) {
        return status;
    }
    for (size_t i = 0; i < list->count; ++i) {
        const perp_contact* c = &list->item[i];
        if (!is_unbounded(sim->model, c) && !(c->gap <= within)) {
            continue;
        }
        if (c->group != 0) {
            return perpi_fail(
                sim->context, PERP_ERROR_UNSUPPORTED,
                "'%s' and '%s' have contacts of which only one must hold (contact model '%s'); "
                "set \"contact\": \"standard\"",
                sim->model->body[c->body_a].name, sim->model->body[c->body_b].name,
                step->contact_model->name);
        }
        list->item[kept++] = *c;
    }
    list->count = kept;
    return PERP_OK;
}

perp_status perpi_sim_check_equations(const perp_sim* sim, const char* what)
{
    const perp_model* model = sim->model;
    const char* why = NULL;
    bool coupled = false, integrals = false;
    for (size_t i = 0; i < model->joint_count; ++i) {
        coupled =
            coupled || model->joint[i].type == PERP_JOINT_GEAR || model->joint[i].armature > 0.0;
    }
    for (size_t i = 0; i < model->controller_count; ++i) {
        integrals = true;
    }
    if (strcmp(sim->stepper->name, "stewart-trinkle") != 0) {
        why = "another stepper than stewart-trinkle";
    } else if (sim->adaptive) {
        why = "adaptive steps";
    } else if (model->bounces) {
        why = "restitution";
    } else if (sim->work.settings.joint_middle) {
        why = "joint_direction 'middle' (give \"joint_direction\": \"start\")";
    } else if (sim->correction.project != NULL) {
        why = "joint_correction (set it to false)";
    } else if (sim->user.on_step != NULL || sim->user.callback_count > 0) {
        why = "user code";
    } else if (model->massless_count > 0) {
        why = "bodies without mass";
    } else if (coupled) {
        why = "gears and armature of joints";
    } else if (integrals) {
        why = "controllers";
    }
    return why == NULL
               ? PERP_OK
               : perpi_fail(sim->context, PERP_ERROR_UNSUPPORTED, "%s does not take %s", what, why);
}
