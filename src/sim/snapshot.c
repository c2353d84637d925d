/* src/sim/snapshot.c - everything a continuation needs, in one block of bytes.
 *
 * Layout: header, q, v, contacts, joints, s. The contacts of the last step are the warm start: their keys and
 * impulses. A snapshot belongs to one build of the library and one model.
 */
#include <string.h>

#include "sim/internal.h"

static const uint64_t MAGIC = 0x34504e5350524550u; /* "PERPSNP4" */

typedef struct header {
    uint64_t magic;
    uint64_t model; /* fingerprint */
    int64_t step, tick;
    double time, clock[3];
    int32_t q_size, v_size, contact_count, contact_size, joint_count, joint_size, s_size, kind,
        impacts_in_a_row, unused; /* no padding: equal states give equal bytes */
} header;

static uint64_t mix(uint64_t h, const void* data, size_t size)
{
    const unsigned char* bytes = data;
    for (size_t i = 0; i < size; ++i) {
        h = (h ^ bytes[i]) * 0x100000001b3u; /* FNV-1a */
    }
    return h;
}

/* Tells a snapshot of another scene apart: names, masses, shapes, step. */
static uint64_t fingerprint(const perp_sim* sim)
{
    const perp_model* model = sim->model;
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < model->body_count; ++i) {
        const perpi_body* body = &model->body[i];
        h = mix(h, body->name, strlen(body->name) + 1);
        h = mix(h, &body->type, sizeof body->type);
        h = mix(h, &body->mass, sizeof body->mass);
        h = mix(h, &body->inertia, sizeof body->inertia);
        h = mix(h, &body->shape_count, sizeof body->shape_count);
        if (body->layer.soft) {
            h = mix(h, &body->layer.K, sizeof body->layer.K);
            h = mix(h, &body->layer.C, sizeof body->layer.C);
        }
    }
    for (size_t i = 0; i < model->joint_count; ++i) {
        const perpi_joint* joint = &model->joint[i];
        h = mix(h, joint->name, strlen(joint->name) + 1);
        h = mix(h, &joint->type, sizeof joint->type);
        h = mix(h, joint->body, sizeof joint->body);
        h = mix(h, joint->at, sizeof joint->at);
    }
    for (size_t i = 0; i < model->controller_count; ++i) {
        h = mix(h, model->controller[i].name, strlen(model->controller[i].name) + 1);
    }
    h = mix(h, &model->dimension, sizeof model->dimension);
    h = sim->adaptive ? mix(h, &sim->def.error, sizeof sim->def.error) : h;
    return mix(h, &sim->def.step, sizeof sim->def.step);
}

perp_status perp_sim_save(const perp_sim* sim, void* buffer, size_t* size)
{
    const size_t q = (size_t)sim->work.q_size * sizeof(double);
    const size_t v = (size_t)sim->work.v_size * sizeof(double);
    const size_t c = sim->state.contacts.count * sizeof(perp_contact);
    const size_t j = sim->model->joint_count * sizeof(perp_joint_record);
    const size_t s = (size_t)sim->work.s_size * sizeof(double);
    const size_t need = sizeof(header) + q + v + c + j + s;
    if (buffer == NULL) {
        *size = need;
        return PERP_OK;
    }
    if (*size < need) {
        return perpi_fail(sim->context, PERP_ERROR_INPUT,
                          "snapshot: the buffer has %zu bytes, %zu are needed", *size, need);
    }
    const header h = {.magic = MAGIC,
                      .model = fingerprint(sim),
                      .step = sim->state.step,
                      .tick = sim->state.tick,
                      .kind = (int32_t)sim->info.kind,
                      .impacts_in_a_row = sim->info.impacts_in_a_row,
                      .time = sim->state.time,
                      .q_size = sim->work.q_size,
                      .v_size = sim->work.v_size,
                      .contact_count = (int32_t)sim->state.contacts.count,
                      .contact_size = (int32_t)sizeof(perp_contact),
                      .joint_count = (int32_t)sim->model->joint_count,
                      .joint_size = (int32_t)sizeof(perp_joint_record),
                      .clock = {sim->halves.clock[0], sim->halves.clock[1], sim->halves.clock[2]},
                      .s_size = sim->work.s_size};
    unsigned char* out = buffer;
    memcpy(out, &h, sizeof h);
    memcpy(out + sizeof h, sim->state.q, q);
    memcpy(out + sizeof h + q, sim->state.v, v);
    if (c > 0) {
        memcpy(out + sizeof h + q + v, sim->state.contacts.item, c);
    }
    if (j > 0) {
        memcpy(out + sizeof h + q + v + c, sim->state.joint, j);
    }
    memcpy(out + sizeof h + q + v + c + j, sim->state.memory, s);
    *size = need;
    return PERP_OK;
}

perp_status perp_sim_restore(perp_sim* sim, const void* buffer, size_t size)
{
    perp_context* context = sim->context;
    header h;
    if (buffer == NULL || size < sizeof h) {
        return perpi_fail(context, PERP_ERROR_INPUT, "snapshot: too short (%zu bytes)", size);
    }
    memcpy(&h, buffer, sizeof h);
    if (h.magic != MAGIC || h.contact_size != (int32_t)sizeof(perp_contact) ||
        h.joint_size != (int32_t)sizeof(perp_joint_record)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "snapshot: not made by this version of perp");
    }
    if (h.model != fingerprint(sim) || h.joint_count != (int32_t)sim->model->joint_count ||
        h.q_size != sim->work.q_size || h.v_size != sim->work.v_size ||
        h.s_size != sim->work.s_size) {
        return perpi_fail(context, PERP_ERROR_INPUT, "snapshot: made from another scene");
    }
    const double time = perpi_sim_tick_time(sim, h.tick);
    if (!sim->adaptive && h.time < sim->def.duration &&
        !(fabs(time - h.time) <= 1e-9 * fabs(h.time))) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "snapshot: made at t = %.12g, where a run to t = %.12g has no step (the "
                          "last two steps of a run are fitted to its duration)",
                          h.time, sim->def.duration);
    }
    const size_t q = (size_t)h.q_size * sizeof(double), v = (size_t)h.v_size * sizeof(double);
    const size_t j = sim->model->joint_count * sizeof(perp_joint_record);
    const size_t s = (size_t)h.s_size * sizeof(double);
    if (h.contact_count < 0 ||
        size != sizeof h + q + v + (size_t)h.contact_count * sizeof(perp_contact) + j + s) {
        return perpi_fail(context, PERP_ERROR_INPUT, "snapshot: cut short (%zu bytes)", size);
    }
    /* the buffer need not be aligned: read through the next-state arrays */
    const unsigned char* in = buffer;
    memcpy(sim->trial.state.q, in + sizeof h, q);
    memcpy(sim->trial.state.v, in + sizeof h + q, v);
    const size_t count = (size_t)h.contact_count;
    const perp_status status =
        perpi_grow(context, &sim->trial.state.contacts.item, &sim->trial.state.contacts.capacity,
                   count, sizeof *sim->trial.state.contacts.item);
    if (status != PERP_OK) {
        return status;
    }
    if (count > 0) {
        memcpy(sim->trial.state.contacts.item, in + sizeof h + q + v, count * sizeof(perp_contact));
    }
    if (j > 0) {
        memcpy(sim->trial.state.joint, in + size - s - j, j);
    }
    memcpy(sim->trial.state.memory, in + size - s, s);
    return perpi_sim_set_state(sim, h.time, h.step, (perp_step_kind)h.kind, h.impacts_in_a_row,
                               sim->adaptive ? h.clock : NULL, sim->trial.state.q,
                               sim->trial.state.v, sim->trial.state.contacts.item, h.contact_count,
                               sim->trial.state.joint, sim->trial.state.memory);
}

static bool joint_sound(const perp_joint_record* r)
{
    double sum = r->applied + (isnan(r->target) ? 0.0 : r->target);
    for (int i = 0; i < 6; ++i) {
        sum += r->impulse[i];
    }
    for (int i = 0; i < 5; ++i) {
        sum += r->law[i];
    }
    return isfinite(sum);
}

static bool all_finite(const double* a, int32_t n)
{
    for (int32_t i = 0; i < n; ++i) {
        if (!isfinite(a[i])) {
            return false;
        }
    }
    return true;
}

perp_status perpi_sim_set_state(perp_sim* sim, double time, int64_t step, perp_step_kind kind,
                                int32_t impacts_in_a_row, const double clock[3], const double* q,
                                const double* v, const perp_contact* contacts, int32_t count,
                                const perp_joint_record* joints, const double* s)
{
    perp_context* context = sim->context;
    const bool known_kind = kind >= PERP_STEP_TIME && kind <= PERP_STEP_DECOMPRESSION &&
                            (kind == PERP_STEP_TIME || sim->impact.f != NULL);
    if (sim->adaptive &&
        !(clock != NULL && clock[0] > 0.0 && clock[1] > 0.0 && clock[2] >= 0.0 &&
          clock[0] < INFINITY && clock[1] < INFINITY && clock[2] <= (double)step)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "state: it has no clock of an adaptive step");
    }
    const int64_t tick = sim->adaptive           ? (int64_t)clock[2]
                         : sim->impact.f != NULL ? perpi_sim_tick_at(sim, time)
                                                 : step;
    if (!known_kind || tick > step) {
        return perpi_fail(
            context, PERP_ERROR_INPUT,
            "state: step %lld at t = %.9g does not fit the scene, whose steps put step %lld "
            "there: continue with the step and restitution it was recorded with",
            (long long)step, time, (long long)tick);
    }
    if (!isfinite(time) || step < 0 || !all_finite(q, sim->work.q_size) ||
        !all_finite(v, sim->work.v_size) || !all_finite(s, sim->work.s_size)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "state: every number must be finite");
    }
    const int32_t bodies = (int32_t)sim->model->body_count;
    for (int32_t i = 0; i < count; ++i) {
        const bool known = contacts[i].body_a >= 0 && contacts[i].body_a < bodies &&
                           contacts[i].body_b >= 0 && contacts[i].body_b < bodies;
        const double theta = contacts[i].layer.theta;
        if (!known || !all_finite(contacts[i].impulse, 4) ||
            !(theta == 0.0 || theta == 0.5 || theta == 1.0) ||
            !all_finite(contacts[i].layer.end, 3)) {
            return perpi_fail(context, PERP_ERROR_INPUT, "state: contact %d is broken", (int)i);
        }
    }
    const size_t joint_count = sim->model->joint_count;
    for (size_t i = 0; i < joint_count; ++i) {
        if (!joint_sound(&joints[i])) {
            return perpi_fail(context, PERP_ERROR_INPUT, "state: joint '%s' is broken",
                              sim->model->joint[i].name);
        }
    }
    const perp_status status =
        perpi_grow(context, &sim->state.contacts.item, &sim->state.contacts.capacity, (size_t)count,
                   sizeof *sim->state.contacts.item);
    if (status != PERP_OK) {
        return status;
    }
    memmove(sim->state.q, q, (size_t)sim->work.q_size * sizeof *q);
    memmove(sim->state.v, v, (size_t)sim->work.v_size * sizeof *v);
    if (sim->work.s_size > 0) {
        memmove(sim->state.memory, s, (size_t)sim->work.s_size * sizeof *s);
    }
    if (count > 0) {
        memmove(sim->state.contacts.item, contacts, (size_t)count * sizeof *contacts);
    }
    sim->state.contacts.count = (size_t)count;
    sim->state.time = time;
    sim->state.step = step;
    sim->state.tick = tick;
    sim->state.h_last = sim->adaptive ? clock[1]
                        : tick > 0    ? perpi_sim_tick_length(sim, tick - 1)
                                      : 1.0;
    sim->state.after_impact = kind != PERP_STEP_TIME;
    sim->state.impacts_in_a_row = impacts_in_a_row;
    sim->user.announced = false;
    if (sim->adaptive) {
        sim->halves.h_next = clock[0];
        perpi_adaptive_clock(sim);
        perpi_adaptive_clear(sim);
    }
    sim->sides.depth = INFINITY; /* not known */
    sim->work.has_problem = false;
    sim->info = (perp_step_info){.kind = kind, .impacts_in_a_row = impacts_in_a_row};
    sim->ledger_total = (perp_ledger){0};
    if (joint_count > 0) {
        memmove(sim->state.joint, joints, joint_count * sizeof *joints);
    }
    perpi_joint_measure(sim->model, sim->state.q, sim->state.joint, sim->info.joint_error);
    if (sim->v_solved != NULL) {
        memcpy(sim->v_solved, sim->state.v, (size_t)sim->work.v_size * sizeof *sim->state.v);
    }
    return PERP_OK;
}
