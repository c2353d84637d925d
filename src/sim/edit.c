/* src/sim/edit.c - sets the state of bodies, and updates what depends on it.
 *
 * The memory of the last step belongs to its poses. For a body that is moved, its contacts (warm
 * start, sides, deflections of soft layers) and the impulses of its joints are cleared; for every
 * body that is set, the offset that an impact left for the next step, and with middle steps by
 * choice the impulses of its joints. The accounts restart at 0.
 */
#include <string.h>

#include "perp/set.h"
#include "sim/internal.h"
#include "sim/measure.h"
#include "step/joint_rows.h"

/* Tolerance, relative to size, for the overlap of a body that was set and for the error of its
 * joints: states of a running simulation have such errors. At its start 1e-6 is the limit
 * (start.c). */
static const double TOLERANCE = 1e-3;

/* ---- consequences ----------------------------------------------------------------------------------*/

static void forget_contacts(perp_sim* sim, int32_t body)
{
    size_t kept = 0;
    for (size_t i = 0; i < sim->state.contacts.count; ++i) {
        const perp_contact* c = &sim->state.contacts.item[i];
        if (c->body_a != body && c->body_b != body) {
            sim->state.contacts.item[kept++] = *c;
        }
    }
    sim->state.contacts.count = kept;
}

static void forget_joints(perp_sim* sim, int32_t body)
{
    for (size_t i = 0; i < sim->model->joint_count; ++i) {
        const perpi_joint* joint = &sim->model->joint[i];
        if (joint->body[0] == body || joint->body[1] == body) {
            memset(sim->state.joint[i].impulse, 0, sizeof sim->state.joint[i].impulse);
            memset(sim->state.joint[i].law, 0, sizeof sim->state.joint[i].law);
        }
    }
}

static void forget_offset(perp_sim* sim, int32_t body)
{
    if (sim->work.offset_at < 0) {
        return;
    }
    const int32_t stride = perpi_v_stride(sim->model);
    double* offset = sim->state.memory + sim->work.offset_at;
    memset(offset + stride * body, 0, (size_t)stride * sizeof *offset);
    offset[stride * (int32_t)sim->model->body_count + body] = 0.0; /* see state.c */
}

perp_status perpi_sim_edit_room(perp_sim* sim)
{
    return sim->edit.moved != NULL ? PERP_OK
                                   : perpi_alloc(sim->context, sim->model->body_count + 1,
                                                 sizeof *sim->edit.moved, &sim->edit.moved);
}

void perpi_sim_edit_body(perp_sim* sim, int32_t body, bool moved)
{
    forget_offset(sim, body);
    if (sim->work.settings
            .joint_chosen) { /* semi_implicit.c: whether velocities fit their joints */
        forget_joints(sim, body);
    }
    if (moved) {
        forget_contacts(sim, body);
        forget_joints(sim, body);
        sim->edit.moved[body] = true;
        sim->edit.pending = true;
        sim->sides.depth = INFINITY; /* not known */
        if (sim->adaptive && sim->halves.h_next > sim->def.step) {
            sim->halves.h_next = sim->def.step; /* as at the start */
        }
    }
}

void perpi_sim_new_account(perp_sim* sim)
{
    const perp_step_kind kind = sim->info->kind;
    sim->ledger_total = (perp_ledger){0};
    *sim->info = (perp_step_info){.kind = kind == PERP_STEP_COMPRESSION ? PERP_STEP_TIME : kind};
    sim->state.after_impact = sim->info->kind != PERP_STEP_TIME;
    sim->state.impacts_in_a_row = 0;
    sim->work.has_problem = false;
    perpi_joint_measure(sim->model, sim->state.q, sim->state.joint, sim->info->joint_error);
}

void perpi_sim_edit_end(perp_sim* sim)
{
    sim->edit.states += 1;
    sim->edit.since_start = true;
    perpi_sim_new_account(sim);
    if (sim->adaptive) {
        perpi_adaptive_clock(sim);
        perpi_adaptive_clear(sim);
    }
    if (sim->v_solved != NULL) {
        memcpy(sim->v_solved, sim->state.v, (size_t)sim->work.v_size * sizeof *sim->state.v);
    }
    perpi_measures_edit(sim);
}

void perpi_sim_edit_forget(perp_sim* sim)
{
    if (sim->edit.moved != NULL) {
        memset(sim->edit.moved, 0, sim->model->body_count * sizeof *sim->edit.moved);
    }
    sim->edit.pending = false;
    sim->edit.since_start = false;
    sim->edit.states += 1;
}

/* ---- setting ---------------------------------------------------------------------------------------*/

perp_status perpi_sim_check_body(const perp_sim* sim, const char* what, int32_t body)
{
    if (body < 0 || (size_t)body >= sim->model->body_count) {
        return perpi_fail(sim->context, PERP_ERROR_INPUT, "%s: there is no body %d", what,
                          (int)body);
    }
    return PERP_OK;
}

static perp_status check_settable(const perp_sim* sim, const char* what, int32_t body)
{
    const perp_status status = perpi_sim_check_body(sim, what, body);
    if (status != PERP_OK) {
        return status;
    }
    const perpi_body* b = &sim->model->body[body];
    if (b->type == PERP_BODY_STATIC) {
        return perpi_fail(sim->context, PERP_ERROR_INPUT,
                          "%s: '%s' is static; a body that is to be moved is kinematic or dynamic",
                          what, b->name);
    }
    if (b->type == PERP_BODY_KINEMATIC && perpi_motion_has_pose(&b->motion)) {
        return perpi_fail(sim->context, PERP_ERROR_INPUT,
                          "%s: the motion of '%s' gives its pose at every time", what, b->name);
    }
    return PERP_OK;
}

static bool finite_all(const double* a, int count)
{
    for (int i = 0; a != NULL && i < count; ++i) {
        if (!isfinite(a[i])) {
            return false;
        }
    }
    return true;
}

static perp_status fail_finite(const perp_sim* sim, const char* what, int32_t body)
{
    return perpi_fail(sim->context, PERP_ERROR_INPUT,
                      "%s: every number for '%s' must be finite, and a quaternion longer than 0",
                      what, sim->model->body[body].name);
}

/* A quaternion of unit length up to rounding keeps its bits, so that setting a value that was
 * read changes nothing. */
static bool make_unit(const double e[4], quat* q)
{
    const quat given = {e[0], e[1], e[2], e[3]};
    const double square = e[0] * e[0] + e[1] * e[1] + e[2] * e[2] + e[3] * e[3];
    if (!(square > 0.0) || !isfinite(square)) {
        return false;
    }
    *q = fabs(square - 1.0) <= 1e-14 ? given : q4_unit(given);
    return true;
}

static bool same_bits(const double* a, const double* b, int32_t count)
{
    return memcmp(a, b, (size_t)count * sizeof *a) == 0;
}

/* q, v: those of the body, in the layout of the state; checked. */
static void put_body(perp_sim* sim, int32_t body, const double* q, const double* v)
{
    const int32_t q_stride = perpi_q_stride(sim->model), v_stride = perpi_v_stride(sim->model);
    double* q_at = sim->state.q + q_stride * body;
    double* v_at = sim->state.v + v_stride * body;
    const bool moved = !same_bits(q_at, q, q_stride), kicked = !same_bits(v_at, v, v_stride);
    if (moved || kicked) {
        memcpy(q_at, q, (size_t)q_stride * sizeof *q);
        memcpy(v_at, v, (size_t)v_stride * sizeof *v);
        perpi_sim_edit_body(sim, body, moved);
    }
}

/* The velocity of a kinematic body without a motion is a constant of the model. */
static perp_status put_constant_velocity(perp_sim* sim, int32_t body, const double* v)
{
    perp_model* model = NULL;
    const perp_status status = perpi_sim_tuned(sim, &model);
    if (status == PERP_OK) {
        model->body[body].v = perpi_state_velocity(model, v, 0);
        model->body[body].w = perpi_state_rate(model, v, 0);
        return perpi_sim_tune_end(sim);
    }
    return status;
}

static perp_status set_body(perp_sim* sim, const char* what, int32_t body, const double* q,
                            const double* v)
{
    perp_status status = perpi_sim_edit_room(sim);
    const perpi_body* b = &sim->model->body[body];
    const int32_t stride = perpi_v_stride(sim->model);
    const bool kicked = !same_bits(sim->state.v + stride * body, v, stride);
    if (status == PERP_OK && kicked && b->type == PERP_BODY_KINEMATIC) {
        if (b->motion.type != PERP_MOTION_NONE) {
            return perpi_fail(sim->context, PERP_ERROR_INPUT,
                              "%s: the motion of '%s' gives its velocity", what, b->name);
        }
        status = put_constant_velocity(sim, body, v);
    }
    if (status == PERP_OK) {
        put_body(sim, body, q, v);
        perpi_sim_edit_end(sim);
    }
    return status;
}

perp_status perp_sim_set_body(perp_sim* sim, int32_t body, const perp_body_state* state)
{
    perp_status status = check_settable(sim, "set_body", body);
    if (status != PERP_OK) {
        return status;
    }
    const perp_model* model = sim->model;
    const bool planar = model->dimension == 2;
    quat unit = q4_identity();
    if (!finite_all(state->position, 3) || !finite_all(state->velocity, 3) ||
        !finite_all(state->angular_velocity, 3) || !(planar ? isfinite(state->angle) : true) ||
        !(planar ? true : make_unit(state->orientation, &unit))) {
        return fail_finite(sim, "set_body", body);
    }
    double q[7], v[6];
    const perpi_pose pose = {.x = v3_from(state->position), .q = unit};
    const vec3 rate = model->body[body].particle ? v3(0, 0, 0) : v3_from(state->angular_velocity);
    perpi_state_set_pose(model, q, 0, &pose, state->angle); /* of one body: the first */
    perpi_state_set_velocity(model, v, 0, v3_from(state->velocity), rate);
    return set_body(sim, "set_body", body, q, v);
}

perp_status perp_sim_set_body_pose(perp_sim* sim, int32_t body, const double position[3],
                                   const double orientation[4])
{
    perp_status status = check_settable(sim, "set_body_pose", body);
    if (status != PERP_OK) {
        return status;
    }
    perp_body_state state = perp_sim_body(sim, body);
    if (position != NULL) {
        memcpy(state.position, position, sizeof state.position);
    }
    quat unit;
    if (!finite_all(position, 3) || (orientation != NULL && !make_unit(orientation, &unit))) {
        return fail_finite(sim, "set_body_pose", body);
    }
    if (orientation != NULL && sim->model->dimension == 2) {
        if (unit.x != 0.0 || unit.y != 0.0) {
            return perpi_fail(sim->context, PERP_ERROR_INPUT,
                              "set_body_pose: the orientation of '%s' must be about z in the plane",
                              sim->model->body[body].name);
        }
        const double turn = 2.0 * atan2(unit.z, unit.w) - state.angle;
        state.angle += remainder(turn, 6.283185307179586);
    } else if (orientation != NULL) {
        memcpy(state.orientation, orientation, sizeof state.orientation);
    }
    return perp_sim_set_body(sim, body, &state);
}

perp_status perp_sim_set_body_velocity(perp_sim* sim, int32_t body, const double velocity[3],
                                       const double angular_velocity[3])
{
    perp_status status = check_settable(sim, "set_body_velocity", body);
    if (status != PERP_OK) {
        return status;
    }
    perp_body_state state = perp_sim_body(sim, body);
    if (velocity != NULL) {
        memcpy(state.velocity, velocity, sizeof state.velocity);
    }
    if (angular_velocity != NULL) {
        memcpy(state.angular_velocity, angular_velocity, sizeof state.angular_velocity);
    }
    return perp_sim_set_body(sim, body, &state);
}

perp_status perp_sim_set_state(perp_sim* sim, const double* q, const double* v)
{
    const perp_model* model = sim->model;
    const int32_t q_stride = perpi_q_stride(model), v_stride = perpi_v_stride(model);
    const int32_t bodies = (int32_t)model->body_count;
    perp_status status = perpi_sim_edit_room(sim);
    for (int32_t i = 0; status == PERP_OK && i < bodies; ++i) { /* all checks before any change */
        quat unit;
        const bool good =
            (q == NULL || (finite_all(q + q_stride * i, q_stride) &&
                           (model->dimension == 2 || make_unit(q + q_stride * i + 3, &unit)))) &&
            (v == NULL || finite_all(v + v_stride * i, v_stride));
        if (model->body[i].type == PERP_BODY_DYNAMIC && !good) {
            status = fail_finite(sim, "set_state", i);
        }
    }
    if (status != PERP_OK) {
        return status;
    }
    for (int32_t i = 0; i < bodies; ++i) {
        if (model->body[i].type != PERP_BODY_DYNAMIC) {
            continue;
        }
        double q_new[7], v_new[6];
        memcpy(q_new, (q != NULL ? q : sim->state.q) + q_stride * i,
               (size_t)q_stride * sizeof *q_new);
        memcpy(v_new, (v != NULL ? v : sim->state.v) + v_stride * i,
               (size_t)v_stride * sizeof *v_new);
        quat unit;
        if (model->dimension == 3 && make_unit(q_new + 3, &unit)) {
            const double e[4] = {unit.w, unit.x, unit.y, unit.z};
            memcpy(q_new + 3, e, sizeof e);
        }
        if (model->body[i].particle) {
            memset(v_new + model->dimension, 0,
                   (size_t)(v_stride - model->dimension) * sizeof *v_new);
        }
        put_body(sim, i, q_new, v_new);
    }
    perpi_sim_edit_end(sim);
    return PERP_OK;
}

/* ---- the check -------------------------------------------------------------------------------------*/

static perp_status check_joints(const perp_sim* sim)
{
    for (size_t i = 0; i < sim->model->joint_count; ++i) {
        const perpi_joint* joint = &sim->model->joint[i];
        bool moved = false;
        for (int side = 0; side < 2; ++side) {
            moved = moved || (joint->body[side] >= 0 && sim->edit.moved[joint->body[side]]);
        }
        const double* error = sim->state.joint[i].error;
        if (moved && !(error[0] <= TOLERANCE * joint->size && error[1] <= TOLERANCE)) {
            return perpi_fail(sim->context, PERP_ERROR_INPUT,
                              "state: joint '%s' is off by %.6g and %.6g radians after its bodies "
                              "were set; perp_sim_set_joints moves connected bodies",
                              joint->name, error[0], error[1]);
        }
    }
    return PERP_OK;
}

static perp_status check_overlap(perp_sim* sim, bool* apart)
{
    const perp_model* model = sim->model;
    const perpi_candidate* candidate;
    size_t count;
    perpi_step_poses(&sim->work, sim->state.q);
    perpi_collider_set_rule(sim->work.collider, NULL, NULL, 0);
    memset(sim->work.margin, 0, model->body_count * sizeof *sim->work.margin);
    perp_status status =
        perpi_collide(sim->work.collider, sim->work.pose, sim->work.margin, &candidate, &count);
    for (size_t i = 0; status == PERP_OK && i < count; ++i) {
        const int32_t a = candidate[i].body_a, b = candidate[i].body_b;
        const double depth = -candidate[i].gap - perpi_layer_depth(sim->model, a, b);
        if ((!sim->edit.moved[a] && !sim->edit.moved[b]) ||
            depth <= TOLERANCE * perpi_sim_pair_size(model, &candidate[i])) {
            continue;
        }
        if (sim->def.allow_overlap) {
            *apart = true;
            return PERP_OK;
        }
        status =
            perpi_fail(sim->context, PERP_ERROR_INPUT,
                       "state: '%s' and '%s' overlap by %.6g after a pose was set; set another "
                       "one, or let the simulation allow overlap",
                       model->body[a].name, model->body[b].name, depth);
    }
    return status;
}

perp_status perp_sim_check_state(perp_sim* sim)
{
    if (!sim->edit.pending) {
        return PERP_OK;
    }
    bool apart = false;
    perp_status status = check_joints(sim);
    if (status == PERP_OK) {
        status = check_overlap(sim, &apart);
    }
    if (status == PERP_OK && apart) {
        status = perpi_sim_start(sim);
    } else if (status == PERP_OK && sim->stepper->layered) {
        status = perpi_sim_press_layers(sim);
    }
    if (status != PERP_OK) {
        return status;
    }
    memset(sim->edit.moved, 0, sim->model->body_count * sizeof *sim->edit.moved);
    sim->edit.pending = false;
    if (apart || sim->stepper->layered) { /* the state is not the one that was set */
        perpi_sim_edit_end(sim);
    }
    return PERP_OK;
}

/* ---- for recordings --------------------------------------------------------------------------------*/

perpi_edit_marks perpi_sim_edit_marks(const perp_sim* sim)
{
    return (perpi_edit_marks){.states = sim->edit.states,
                              .changes = sim->edit.changes,
                              .since_start = sim->edit.since_start,
                              .parameters = sim->edit.parameters};
}
