/* src/sim/joint.c - joints of a simulation: their state and their motor targets. */
#include <string.h>

#include "sim/internal.h"
#include "step/joint_rows.h"

void perpi_joint_inputs(perpi_step* step)
{
    for (size_t i = 0; i < step->model->joint_count; ++i) {
        const perp_joint_record* r = &step->from->joint[i];
        step->input[i] = (perpi_joint_input){.turns = {r->turns[0], r->turns[1]},
                                             .target = r->target,
                                             .effort = step->effort[i],
                                             .ease = step->filter->ease,
                                             .offset = perpi_step_offset(step)};
    }
}

void perpi_joint_measure(const perp_model* model, const double* q, perp_joint_record* record,
                         double error[2])
{
    error[0] = error[1] = 0.0;
    for (int32_t i = 0; i < (int32_t)model->joint_count; ++i) {
        perp_joint_record* r = &record[i];
        const perpi_joint_view view = perpi_joint_evaluate(model, i, q, r->turns);
        for (int32_t k = 0; k < 3; ++k) {
            r->coordinate[k] = k < view.coordinates ? view.coordinate[k].b : 0.0;
        }
        for (int k = 0; k < 2; ++k) {
            r->error[k] = view.error[k];
            error[k] = error[k] >= view.error[k] ? error[k] : view.error[k]; /* keeps a NaN */
        }
    }
}

double perpi_joint_effort(const perp_joint_record* r, double time)
{
    const double law = r->law[PERPI_LAW_LOWER] - r->law[PERPI_LAW_UPPER] +
                       r->law[PERPI_LAW_FRICTION] + r->law[PERPI_LAW_MOTOR] +
                       r->law[PERPI_LAW_DAMPING];
    return time > 0.0 ? law / time + r->applied : 0.0;
}

perp_joint_state perp_sim_joint(const perp_sim* sim, int32_t joint)
{
    const perp_joint_record* r = &sim->state.joint[joint];
    const perpi_joint_view view = perpi_joint_evaluate(sim->model, joint, sim->state.q, r->turns);
    perp_joint_state state = {.error = {view.error[0], view.error[1]}};
    for (int32_t k = 0; k < view.coordinates; ++k) {
        state.coordinate[k] = view.coordinate[k].b;
        state.rate[k] = perpi_joint_speed(sim->model, joint, &view.coordinate[k], sim->state.v);
    }
    memcpy(state.impulse, r->impulse, sizeof state.impulse);
    state.effort = perpi_joint_effort(r, perpi_sim_impulse_time(sim));
    return state;
}

const perp_joint_record* perp_sim_joint_records(const perp_sim* sim, int32_t* count)
{
    *count = (int32_t)sim->model->joint_count;
    return sim->state.joint;
}

void perp_sim_joint_error(const perp_sim* sim, double error[2])
{
    error[0] = error[1] = 0.0;
    for (size_t i = 0; i < sim->model->joint_count; ++i) {
        for (int k = 0; k < 2; ++k) {
            const double e = sim->state.joint[i].error[k];
            error[k] = error[k] >= e ? error[k] : e;
        }
    }
}

bool perpi_sim_has_v_solved(const perp_sim* sim)
{
    return sim->v_solved != NULL;
}

const double* perpi_sim_v_solved(const perp_sim* sim)
{
    return sim->v_solved != NULL ? sim->v_solved : sim->state.v;
}

static perp_status check_joint(const perp_sim* sim, const char* what, int32_t joint)
{
    const perp_model* model = sim->model;
    if (joint < 0 || (size_t)joint >= model->joint_count) {
        return perpi_fail(sim->context, PERP_ERROR_INPUT, "%s: there is no joint %d", what,
                          (int)joint);
    }
    return PERP_OK;
}

perp_status perp_sim_apply_joint_effort(perp_sim* sim, int32_t joint, double effort)
{
    const perp_status status = check_joint(sim, "apply_joint_effort", joint);
    if (status != PERP_OK) {
        return status;
    }
    const perpi_joint* j = &sim->model->joint[joint];
    const bool particle =
        sim->model->dimension == 2 && ((j->body[0] >= 0 && sim->model->body[j->body[0]].particle) ||
                                       (j->body[1] >= 0 && sim->model->body[j->body[1]].particle));
    if (!perpi_joint_one_degree(j->type) || particle) {
        return perpi_fail(
            sim->context, PERP_ERROR_INPUT,
            "apply_joint_effort: '%s' is %s: only revolute and prismatic joints between "
            "bodies that turn take an effort",
            j->name, perp_joint_type_name(j->type));
    }
    if (!isfinite(effort)) {
        return perpi_fail(sim->context, PERP_ERROR_NUMERIC,
                          "apply_joint_effort: the effort on '%s' must be finite", j->name);
    }
    sim->work.effort[joint] += effort;
    return PERP_OK;
}

perp_status perp_sim_set_joint_target(perp_sim* sim, int32_t joint, double target)
{
    const perp_status status = check_joint(sim, "set_joint_target", joint);
    if (status != PERP_OK) {
        return status;
    }
    const perpi_joint* j = &sim->model->joint[joint];
    if (j->motor == PERP_MOTOR_NONE) {
        return perpi_fail(sim->context, PERP_ERROR_INPUT, "set_joint_target: '%s' has no motor",
                          j->name);
    }
    if (isinf(target)) {
        return perpi_fail(sim->context, PERP_ERROR_NUMERIC,
                          "set_joint_target: the target of '%s' must be finite", j->name);
    }
    sim->state.joint[joint].target = target;
    return PERP_OK;
}

/* Names of version 0.1. */
perp_status perp_sim_joint_effort(perp_sim* sim, int32_t joint, double effort)
{
    return perp_sim_apply_joint_effort(sim, joint, effort);
}

perp_status perp_sim_joint_target(perp_sim* sim, int32_t joint, double target)
{
    return perp_sim_set_joint_target(sim, joint, target);
}
