/* src/sim/sim.c - a simulation: queries, and input by user code. */
#include <string.h>

#include "sim/internal.h"
#include "sim/measure.h"
#include "step/joint_rows.h"
#include "step/force_rows.h"
#include "step/layers.h"

/* ---- queries --------------------------------------------------------------------------------- */

bool perp_sim_finished(const perp_sim* sim)
{
    if (perpi_measures_failed(sim)) {
        return false; /* the next step says so */
    }
    if (perp_sim_stopped(sim) >= 0) {
        return true;
    }
    return sim->adaptive ? sim->state.time >= sim->def.duration
                         : sim->state.tick >= sim->tick_total;
}

int64_t perp_sim_step_total(const perp_sim* sim)
{
    return sim->adaptive ? 0 : sim->tick_total + (sim->state.step - sim->state.tick);
}

int32_t perp_sim_pairs_out_of_reach(const perp_sim* sim)
{
    return perpi_collider_out_of_reach(sim->work.collider);
}

double perp_sim_duration(const perp_sim* sim)
{
    return sim->def.duration;
}

double perp_sim_last_step(const perp_sim* sim)
{
    return perpi_sim_last_length(sim);
}

double perp_sim_time(const perp_sim* sim)
{
    return sim->state.time;
}

int64_t perp_sim_step_count(const perp_sim* sim)
{
    return sim->state.step;
}

int64_t perp_sim_impact_count(const perp_sim* sim)
{
    return sim->state.step - sim->state.tick;
}

const perp_model* perp_sim_model(const perp_sim* sim)
{
    return sim->model;
}

perp_body_state perp_sim_body(const perp_sim* sim, int32_t body)
{
    perp_body_state state = {0};
    const perpi_pose pose = perpi_state_pose(sim->model, sim->state.q, body);
    v3_to(pose.x, state.position);
    state.orientation[0] = pose.q.w;
    state.orientation[1] = pose.q.x;
    state.orientation[2] = pose.q.y;
    state.orientation[3] = pose.q.z;
    state.angle = sim->model->dimension == 2 ? sim->state.q[3 * body + 2] : 0.0;
    v3_to(perpi_state_velocity(sim->model, sim->state.v, body), state.velocity);
    v3_to(perpi_state_rate(sim->model, sim->state.v, body), state.angular_velocity);
    return state;
}

int32_t perp_sim_q_size(const perp_sim* sim)
{
    return sim->work.q_size;
}

int32_t perp_sim_v_size(const perp_sim* sim)
{
    return sim->work.v_size;
}

const double* perp_sim_q(const perp_sim* sim)
{
    return sim->state.q;
}

const double* perp_sim_v(const perp_sim* sim)
{
    return sim->state.v;
}

const perp_contact* perp_sim_contacts(const perp_sim* sim, int32_t* count)
{
    *count = (int32_t)sim->state.contacts.count;
    return sim->state.contacts.item;
}

perp_step_info perp_sim_step_info(const perp_sim* sim)
{
    return *sim->info;
}

const perp_contact_problem* perp_sim_problem(const perp_sim* sim)
{
    const perpi_impact* impact = sim->work.impact;
    if (impact != NULL && impact->f != NULL && impact->failed) {
        return &impact->f->problem;
    }
    return sim->work.has_problem ? &sim->work.formulation->problem : NULL;
}

int32_t perpi_sim_s_size(const perp_sim* sim)
{
    return sim->work.s_size;
}

const double* perpi_sim_s(const perp_sim* sim)
{
    return sim->state.memory;
}

perp_controller_state perp_sim_controller(const perp_sim* sim, int32_t controller)
{
    const double* s = sim->state.memory;
    /* with adaptive steps, impulses are those of the second half */
    const double h = (sim->adaptive ? 0.5 : 1.0) * perpi_sim_last_length(sim);
    return (perp_controller_state){
        .effort = perpi_controller_impulse(sim->model, s, controller) / h,
        .integral = perpi_controller_integral(sim->model, s, controller)};
}

double perpi_sim_last_length(const perp_sim* sim)
{
    return sim->state.h_last;
}

perp_support_state perp_sim_support(const perp_sim* sim, int32_t body)
{
    const perp_model* model = sim->model;
    const perpi_support* support = &model->body[body].support;
    const perpi_pose pose = perpi_state_pose(model, sim->state.q, body);
    perp_support_state state = {.points = support->points};
    const double* s = sim->state.memory;
    for (int32_t i = 0; i < body; ++i) {
        s += PERPI_SUPPORT_ROWS * model->body[i].support.points;
    }
    for (int32_t i = 0; i < support->points; ++i) {
        const vec3 at = v3_add(pose.x, m3_mul(pose.R, support->at[i]));
        state.point[i][0] = at.x;
        state.point[i][1] = at.y;
        memcpy(state.impulse[i], s + PERPI_SUPPORT_ROWS * i, sizeof state.impulse[i]);
    }
    return state;
}

perp_energy perp_sim_energy(const perp_sim* sim)
{
    const perp_model* model = sim->model;
    perp_energy e = {0};
    for (int32_t i = 0; i < (int32_t)model->body_count; ++i) {
        const perpi_body* body = &model->body[i];
        if (body->dofs == 0) {
            continue;
        }
        const perpi_pose pose = perpi_state_pose(model, sim->state.q, i);
        const vec3 v = perpi_state_velocity(model, sim->state.v, i);
        const vec3 w = perpi_state_rate(model, sim->state.v, i);
        e.kinetic += 0.5 * body->mass * v3_dot(v, v);
        if (!body->particle) {
            const vec3 w_B = m3_tmul(pose.R, w);
            e.kinetic += 0.5 * v3_dot(w_B, m3_mul(body->inertia, w_B));
        }
        e.potential -= body->mass * v3_dot(body->gravity, pose.x);
    }
    for (int32_t i = 0; i < (int32_t)model->joint_count; ++i) {
        if (model->joint[i].armature > 0.0) {
            const double u = perpi_joint_rate(model, i, sim->state.q, sim->state.v);
            e.kinetic += 0.5 * model->joint[i].armature * u * u;
        }
    }
    e.potential += perpi_spring_energy(model, sim->state.q);
    e.potential +=
        perpi_layer_energy(model, sim->state.contacts.item, (int32_t)sim->state.contacts.count);
    e.total = e.kinetic + e.potential;
    return e;
}

void perpi_momentum_of(const perp_model* model, const double* q, const double* v, double linear[3],
                       double angular[3])
{
    vec3 P = v3(0, 0, 0), L = v3(0, 0, 0);
    for (int32_t i = 0; i < (int32_t)model->body_count; ++i) {
        const perpi_body* body = &model->body[i];
        if (body->dofs == 0) {
            continue;
        }
        const perpi_pose pose = perpi_state_pose(model, q, i);
        const vec3 p = v3_scale(body->mass, perpi_state_velocity(model, v, i));
        P = v3_add(P, p);
        L = v3_add(L, v3_cross(pose.x, p));
        if (!body->particle) {
            const mat3 I = perpi_world_inertia(body, &pose);
            L = v3_add(L, m3_mul(I, perpi_state_rate(model, v, i)));
        }
    }
    v3_to(P, linear);
    v3_to(L, angular);
}

void perp_sim_momentum(const perp_sim* sim, double linear[3], double angular[3])
{
    perpi_momentum_of(sim->model, sim->state.q, sim->state.v, linear, angular);
}

perp_status perp_sim_penetration(perp_sim* sim, double* depth)
{
    const perpi_candidate* candidate;
    size_t count;
    perpi_step_poses(&sim->work, sim->state.q);
    perpi_collider_set_rule(sim->work.collider, NULL, NULL, 0);
    memset(sim->work.margin, 0, sim->model->body_count * sizeof *sim->work.margin);
    const perp_status status =
        perpi_collide(sim->work.collider, sim->work.pose, sim->work.margin, &candidate, &count);
    if (status != PERP_OK) {
        return status;
    }
    double deepest = 0.0;
    for (size_t i = 0; i < count; ++i) {
        const double over = -candidate[i].gap -
                            perpi_layer_depth(sim->model, candidate[i].body_a, candidate[i].body_b);
        deepest = over > deepest ? over : deepest;
    }
    *depth = deepest;
    return PERP_OK;
}

double perpi_sim_nominal_step(const perp_sim* sim)
{
    return sim->def.step;
}

bool perpi_sim_adaptive(const perp_sim* sim)
{
    return sim->adaptive;
}

const double* perpi_sim_clock(const perp_sim* sim)
{
    return sim->halves.clock;
}

perpi_half perpi_sim_half(const perp_sim* sim)
{
    const perpi_adaptive* a = &sim->halves;
    return (perpi_half){.q = a->q_half, .v = a->v_half, .s = a->s_half, .v_end = a->v_end};
}

perp_ledger perp_sim_ledger_total(const perp_sim* sim)
{
    return sim->ledger_total;
}

double perp_sim_energy_scale(const perp_sim* sim)
{
    return perp_sim_energy(sim).kinetic + perpi_weight_scale(sim->model, sim->state.q);
}

const double* perpi_sim_offset(const perp_sim* sim)
{
    return sim->work.offset_at >= 0 ? sim->state.memory + sim->work.offset_at : NULL;
}

bool perpi_sim_plain_numbers(const perp_sim* sim)
{
    bool plain = sim->correction.project == NULL;
    for (size_t i = 0; i < sim->model->controller_count; ++i) {
        plain = plain && !sim->model->controller[i].gravity;
    }
    return plain;
}

bool perpi_sim_bounces(const perp_sim* sim)
{
    return sim->impact.f != NULL;
}

const bool* perpi_sim_loops(const perp_sim* sim)
{
    return sim->correction.loop;
}

const perpi_step_settings* perpi_sim_step_settings(const perp_sim* sim)
{
    return &sim->work.settings;
}

const perpi_stepper_ops* perpi_sim_second_stepper(const perp_sim* sim)
{
    return sim->work.second;
}

bool perpi_sim_falls_back(const perp_sim* sim)
{
    return sim->work.second != NULL || (sim->model->joint_count > 0 && !sim->adaptive);
}

bool perpi_sim_has_parts(const perp_sim* sim)
{
    return sim->work.roll.part != NULL;
}

bool perpi_sim_layered(const perp_sim* sim)
{
    return sim->stepper->layered;
}

double perpi_layer_depth(const perp_model* model, int32_t a, int32_t b)
{
    const perpi_layer layer = perpi_model_layer(model, a, b);
    return layer.soft ? layer.limit : 0.0;
}

bool perpi_sim_grouped(const perp_sim* sim)
{
    return sim->work.contact_model->groups;
}

void perp_sim_on_fallback(perp_sim* sim, perp_fallback_fn fn, void* user)
{
    sim->work.on_fallback = fn;
    sim->work.on_fallback_user = user;
}

void perp_sim_on_step(perp_sim* sim, perp_step_fn fn, void* user)
{
    sim->user.on_step = fn;
    sim->user.on_step_user = user;
}

perp_status perp_sim_add_on_step(perp_sim* sim, perp_step_fn fn, void* user)
{
    const perp_status status =
        perpi_grow(sim->context, &sim->user.callback, &sim->user.callback_capacity,
                   sim->user.callback_count + 1, sizeof *sim->user.callback);
    if (status == PERP_OK) {
        sim->user.callback[sim->user.callback_count++] = (perpi_step_callback){fn, user};
    }
    return status;
}

perp_status perp_sim_set_user_code(perp_sim* sim, const char* name)
{
    char* copy = NULL;
    if (name != NULL && name[0] != '\0') {
        const perp_status status = perpi_strndup(sim->context, name, strlen(name), &copy);
        if (status != PERP_OK) {
            return status;
        }
    }
    perpi_free(sim->context, sim->user.code);
    sim->user.code = copy;
    return PERP_OK;
}

const char* perp_sim_user_code(const perp_sim* sim)
{
    return sim->user.code != NULL ? sim->user.code : "";
}

void perp_sim_on_cancel(perp_sim* sim, bool (*cancel)(void* user), void* user)
{
    sim->work.cancel = cancel;
    sim->work.cancel_user = user;
}

perp_status perp_sim_apply_wrench(perp_sim* sim, int32_t body, const double force[3],
                                  const double torque[3])
{
    const perp_model* model = sim->model;
    if (body < 0 || (size_t)body >= model->body_count ||
        model->body[body].type != PERP_BODY_DYNAMIC) {
        return perpi_fail(sim->context, PERP_ERROR_INPUT,
                          "apply_wrench: body %d is not a dynamic body", (int)body);
    }
    double* w = sim->work.extra + 6 * (size_t)body;
    for (int i = 0; i < 3; ++i) {
        const double f = force != NULL ? force[i] : 0.0, m = torque != NULL ? torque[i] : 0.0;
        if (!isfinite(f) || !isfinite(m)) {
            return perpi_fail(sim->context, PERP_ERROR_NUMERIC,
                              "apply_wrench: force and torque on '%s' must be finite",
                              model->body[body].name);
        }
        w[i] += f;
        w[3 + i] += m;
    }
    sim->work.has_extra = true;
    return PERP_OK;
}

bool perp_stepper_list(const perp_context* context, int32_t index, perp_piece_info* info)
{
    (void)context;
    const perpi_stepper_ops* ops;
    if (!perpi_stepper_at(index, &info->name, &ops)) {
        return false;
    }
    info->built = ops != NULL;
    info->summary = ops != NULL ? ops->summary
                    : strcmp(info->name, "instantaneous") == 0
                        ? "no way to step: 'perp forces' gives forces and accelerations at a state"
                        : "does not exist yet";
    return true;
}

bool perp_contact_list(const perp_context* context, int32_t index, perp_piece_info* info)
{
    (void)context;
    const perpi_contact_model_ops* ops;
    if (!perpi_contact_model_at(index, &info->name, &ops)) {
        return false;
    }
    info->built = ops != NULL;
    info->summary = ops != NULL ? ops->summary : "does not exist yet";
    return true;
}
