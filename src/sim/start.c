/* src/sim/start.c - bodies that overlap at the start.
 *
 * They are refused by name and depth, unless the scene allows overlap. Then they are moved apart
 * before the first step without gaining speed: the gap rows alone are solved as displacements,
 *     M dq = J' p,  0 <= p perp psi + J dq >= 0,
 * and applied to the pose, repeatedly until no overlap is left, with the joints closed. The psi/h
 * term of the stepper would do it in one step, but would leave the bodies with the velocity
 * depth/h.
 */
#include "sim/internal.h"
#include "step/layers.h"

/* Overlaps below this part of the smaller body's size are rounding in the scene's numbers. */
static const double TOLERANCE = 1e-6;
enum { MAX_ROUNDS = 200 };

double perpi_sim_pair_size(const perp_model* model, const perpi_candidate* candidate)
{
    const double a = model->body[candidate->body_a].reach, b = model->body[candidate->body_b].reach;
    const double smaller = a < b ? a : b;
    if (smaller > 0.0 && isfinite(smaller)) {
        return smaller;
    }
    if (model->length > 0.0) {
        return model->length;
    }
    /* points against planes: rounding is relative to their coordinates */
    const double place = v3_norm(candidate->point_a);
    return place > 0.0 ? place : INFINITY;
}

/* The worst overlap relative to its pair's size; NULL if all are within the tolerance. */
static const perpi_candidate* worst_overlap(const perp_sim* sim, const perpi_candidate* candidate,
                                            size_t count)
{
    const perp_model* model = sim->model;
    const perpi_candidate* worst = NULL;
    double most = TOLERANCE;
    for (size_t i = 0; i < count; ++i) {
        const double give = perpi_layer_depth(sim->model, candidate[i].body_a, candidate[i].body_b);
        const double depth = (-candidate[i].gap - give) / perpi_sim_pair_size(model, &candidate[i]);
        if (depth > most) {
            most = depth;
            worst = &candidate[i];
        }
    }
    return worst;
}

static perp_status push_apart(perp_sim* sim, const perpi_candidate* candidate, size_t count)
{
    const perp_model* model = sim->model;
    const perpi_contact_rules frictionless = {.cone = PERP_CONE_NONE};
    sim->trial.state.contacts.count = 0;
    sim->trial.state.contacts.groups = 0;
    perp_status status = sim->work.contact_model->build(
        model, &frictionless, 0.0, sim->work.pose, candidate, count, &sim->trial.state.contacts);
    if (status != PERP_OK) {
        return status;
    }
    for (size_t i = 0; i < sim->trial.state.contacts.count; ++i) { /* layers may stay compressed */
        perp_contact* c = &sim->trial.state.contacts.item[i];
        const double give = perpi_layer_depth(sim->model, c->body_a, c->body_b);
        c->gap = isfinite(give) ? c->gap + give : c->gap > 0.0 ? c->gap : 0.0;
    }
    perpi_formulation* f = sim->work.formulation;
    static const perpi_filter filter = {0};
    perpi_step_bind(&sim->work, &sim->state, 1.0, &filter, &sim->trial);
    perpi_joint_inputs(&sim->work);
    status = perpi_formulate_other(
        f, model, PERPI_PURPOSE_MOVE, 1.0,
        &(perpi_placed){sim->state.q, sim->state.v, sim->trial.state.contacts.item,
                        (int32_t)sim->trial.state.contacts.count, sim->work.input});
    if (status == PERP_OK) {
        status = perpi_step_room(&sim->work, f);
    }
    if (status != PERP_OK) {
        return status;
    }
    /* displacements instead of velocities: belts have no effect */
    for (size_t i = 0; i < sim->trial.state.contacts.count; ++i) {
        f->b[f->constraint[i].row] = sim->trial.state.contacts.item[i].gap;
    }
    perp_solve_options options = perp_solve_options_default();
    perp_report report;
    status = perp_contact_solve(sim->work.solver, &f->problem, &options, false, sim->work.v_problem,
                                sim->work.p_problem, NULL, &report);
    if (status != PERP_OK) {
        return status;
    }
    for (int32_t i = 0; i < sim->work.v_size; ++i) {
        sim->trial.state.v[i] = 0.0;
    }
    perpi_formulation_scatter_v(f, model, sim->work.v_problem, sim->trial.state.v);
    for (int32_t i = 0; i < (int32_t)model->body_count; ++i) {
        if (model->body[i].dofs == 0) {
            continue;
        }
        perpi_pose pose = sim->work.pose[i];
        const vec3 turn = perpi_state_rate(model, sim->trial.state.v, i);
        pose.x = v3_add(pose.x, perpi_state_velocity(model, sim->trial.state.v, i));
        pose.q = q4_unit(q4_mul(q4_exp(turn), pose.q));
        const double angle = model->dimension == 2 ? sim->state.q[3 * i + 2] + turn.z : 0.0;
        perpi_state_set_pose(model, sim->state.q, i, &pose, angle);
    }
    return PERP_OK;
}

/* Layers that are compressed at the start store energy from the start. */
perp_status perpi_sim_press_layers(perp_sim* sim)
{
    const perpi_candidate* candidate;
    size_t count;
    perpi_collider_set_rule(sim->work.collider, sim->work.contact_model->rule, NULL, 0);
    for (size_t i = 0; i < sim->model->body_count; ++i) {
        sim->work.margin[i] = 0.0;
    }
    perp_status status =
        perpi_collide(sim->work.collider, sim->work.pose, sim->work.margin, &candidate, &count);
    sim->trial.state.contacts.count = 0;
    sim->trial.state.contacts.groups = 0;
    if (status == PERP_OK) {
        status = sim->work.contact_model->build(sim->model, &sim->work.rules, sim->state.time,
                                                sim->work.pose, candidate, count,
                                                &sim->trial.state.contacts);
    }
    if (status == PERP_OK) {
        perpi_layers_recall(sim->model, sim->work.settings.midpoint, sim->state.contacts.item,
                            (int32_t)sim->state.contacts.count, sim->trial.state.contacts.item,
                            (int32_t)sim->trial.state.contacts.count);
        const perpi_contact_list old = sim->state.contacts;
        sim->state.contacts = sim->trial.state.contacts;
        sim->trial.state.contacts = old;
    }
    return status;
}

perp_status perpi_sim_start(perp_sim* sim)
{
    const perp_model* model = sim->model;
    const perpi_candidate* candidate;
    size_t count;
    perpi_collider_set_rule(sim->work.collider, NULL, NULL, 0); /* each overlap by itself */
    for (int round = 0; round <= MAX_ROUNDS; ++round) {
        perpi_step_poses(&sim->work, sim->state.q);
        for (size_t i = 0; i < model->body_count; ++i) {
            /* once bodies move apart, neighbours within a fraction of their size must be
             * included */
            const double reach = model->body[i].reach;
            sim->work.margin[i] = round == 0 || !isfinite(reach) ? 0.0 : 0.05 * reach;
        }
        perp_status status =
            perpi_collide(sim->work.collider, sim->work.pose, sim->work.margin, &candidate, &count);
        if (status != PERP_OK) {
            return status;
        }
        const perpi_candidate* worst = worst_overlap(sim, candidate, count);
        if (worst == NULL) {
            return sim->stepper->layered ? perpi_sim_press_layers(sim) : PERP_OK;
        }
        if (!sim->def.allow_overlap || round == MAX_ROUNDS) {
            return perpi_fail(
                sim->context, PERP_ERROR_INPUT,
                "bodies: '%s' and '%s' overlap at the start by %.6g%s",
                model->body[worst->body_a].name, model->body[worst->body_b].name, -worst->gap,
                sim->def.allow_overlap ? " and could not be moved apart: there is no room"
                                       : "; move them apart, or set \"allow_overlap\": true");
        }
        status = push_apart(sim, candidate, count);
        if (status != PERP_OK) {
            return status;
        }
    }
    return PERP_OK;
}
