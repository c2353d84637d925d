/* src/sim/snapshot.c - the complete state in one block of bytes.
 *
 * Layout: header, q, v, contacts, joints, s, measures. The contacts of the last step are the warm start:
 * their keys and impulses. A snapshot is valid for one build of the library and one model.
 */
#include <string.h>

#include "sim/internal.h"
#include "sim/measure.h"

static const uint64_t MAGIC = 0x34504e5350524550u; /* "PERPSNP4" */

typedef struct header {
    uint64_t magic;
    uint64_t model; /* fingerprint */
    int64_t step, tick;
    double time, clock[3];
    int32_t q_size, v_size, contact_count, contact_size, joint_count, joint_size, s_size, kind,
        impacts_in_a_row, measure_size; /* no padding: equal states give equal bytes */
} header;

static uint64_t hash_bytes(uint64_t h, const void* data, size_t size)
{
    const unsigned char* bytes = data;
    for (size_t i = 0; i < size; ++i) {
        h = (h ^ bytes[i]) * 0x100000001b3u; /* FNV-1a */
    }
    return h;
}

/* Hash that identifies the scene of a snapshot: names, masses, shapes, step. */
static uint64_t fingerprint(const perp_sim* sim)
{
    const perp_model* model = sim->model;
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < model->body_count; ++i) {
        const perpi_body* body = &model->body[i];
        h = hash_bytes(h, body->name, strlen(body->name) + 1);
        h = hash_bytes(h, &body->type, sizeof body->type);
        h = hash_bytes(h, &body->mass, sizeof body->mass);
        h = hash_bytes(h, &body->inertia, sizeof body->inertia);
        h = hash_bytes(h, &body->shape_count, sizeof body->shape_count);
        if (body->layer.soft) {
            h = hash_bytes(h, &body->layer.K, sizeof body->layer.K);
            h = hash_bytes(h, &body->layer.C, sizeof body->layer.C);
        }
    }
    for (size_t i = 0; i < model->joint_count; ++i) {
        const perpi_joint* joint = &model->joint[i];
        h = hash_bytes(h, joint->name, strlen(joint->name) + 1);
        h = hash_bytes(h, &joint->type, sizeof joint->type);
        h = hash_bytes(h, joint->body, sizeof joint->body);
        h = hash_bytes(h, joint->at, sizeof joint->at);
    }
    for (size_t i = 0; i < model->controller_count; ++i) {
        h = hash_bytes(h, model->controller[i].name, strlen(model->controller[i].name) + 1);
    }
    h = hash_bytes(h, &model->dimension, sizeof model->dimension);
    h = sim->adaptive ? hash_bytes(h, &sim->def.error, sizeof sim->def.error) : h;
    return hash_bytes(h, &sim->def.step, sizeof sim->def.step);
}

perp_status perp_sim_save(const perp_sim* sim, void* buffer, size_t* size)
{
    const size_t q = (size_t)sim->work.q_size * sizeof(double);
    const size_t v = (size_t)sim->work.v_size * sizeof(double);
    const size_t c = sim->state.contacts.count * sizeof(perp_contact);
    const size_t j = sim->model->joint_count * sizeof(perp_joint_record);
    const size_t s = (size_t)sim->work.s_size * sizeof(double);
    const size_t m = (size_t)perpi_measures_size(sim) * sizeof(double);
    const size_t need = sizeof(header) + q + v + c + j + s + m;
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
                      .kind = (int32_t)sim->info->kind,
                      .impacts_in_a_row = sim->info->impacts_in_a_row,
                      .time = sim->state.time,
                      .q_size = sim->work.q_size,
                      .v_size = sim->work.v_size,
                      .contact_count = (int32_t)sim->state.contacts.count,
                      .contact_size = (int32_t)sizeof(perp_contact),
                      .joint_count = (int32_t)sim->model->joint_count,
                      .joint_size = (int32_t)sizeof(perp_joint_record),
                      .clock = {sim->halves.clock[0], sim->halves.clock[1], sim->halves.clock[2]},
                      .s_size = sim->work.s_size,
                      .measure_size = perpi_measures_size(sim)};
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
    if (m > 0) {
        memcpy(out + need - m, perpi_measures_state(sim), m);
    }
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
    const size_t m = h.measure_size > 0 ? (size_t)h.measure_size * sizeof(double) : 0;
    if (h.contact_count < 0 || h.measure_size < 0 ||
        size != sizeof h + q + v + (size_t)h.contact_count * sizeof(perp_contact) + j + s + m) {
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
        memcpy(sim->trial.state.joint, in + size - m - s - j, j);
    }
    memcpy(sim->trial.state.memory, in + size - m - s, s);
    const perpi_saved saved = {.step = h.step,
                               .time = h.time,
                               .kind = (perp_step_kind)h.kind,
                               .impacts_in_a_row = h.impacts_in_a_row,
                               .clock = sim->adaptive ? h.clock : NULL,
                               .q = sim->trial.state.q,
                               .v = sim->trial.state.v,
                               .memory = sim->trial.state.memory,
                               .joint = sim->trial.state.joint,
                               .contact = sim->trial.state.contacts.item,
                               .contact_count = h.contact_count,
                               .measure = in + size - m,
                               .measure_size = h.measure_size};
    return perpi_sim_set_state(sim, &saved);
}

static bool joint_is_valid(const perp_joint_record* r)
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

/* Refuses a state that cannot belong to a run of this scene; *tick: its number of steps in time. */
static perp_status check_state(const perp_sim* sim, const perpi_saved* saved, int64_t* tick)
{
    const double* clock = saved->clock;
    const perp_step_kind kind = saved->kind;
    perp_context* context = sim->context;
    const perpi_step* work = &sim->work;
    const bool known_kind = kind >= PERP_STEP_TIME && kind <= PERP_STEP_DECOMPRESSION &&
                            (kind == PERP_STEP_TIME || sim->impact.f != NULL);
    if (sim->adaptive &&
        !(clock != NULL && clock[0] > 0.0 && clock[1] > 0.0 && clock[2] >= 0.0 &&
          clock[0] < INFINITY && clock[1] < INFINITY && clock[2] <= (double)saved->step)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "state: it has no clock of an adaptive step");
    }
    *tick = sim->adaptive           ? (int64_t)clock[2]
            : sim->impact.f != NULL ? perpi_sim_tick_at(sim, saved->time)
                                    : saved->step;
    if (!known_kind || *tick > saved->step) {
        return perpi_fail(
            context, PERP_ERROR_INPUT,
            "state: step %lld at t = %.9g does not fit the scene, whose steps put step %lld "
            "there: continue with the step and restitution it was recorded with",
            (long long)saved->step, saved->time, (long long)*tick);
    }
    if (!isfinite(saved->time) || saved->step < 0 || !all_finite(saved->q, work->q_size) ||
        !all_finite(saved->v, work->v_size) || !all_finite(saved->memory, work->s_size)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "state: every number must be finite");
    }
    return PERP_OK;
}

static perp_status check_records(const perp_sim* sim, const perpi_saved* saved)
{
    const int32_t bodies = (int32_t)sim->model->body_count;
    for (int32_t i = 0; i < saved->contact_count; ++i) {
        const perp_contact* c = &saved->contact[i];
        const bool known =
            c->body_a >= 0 && c->body_a < bodies && c->body_b >= 0 && c->body_b < bodies;
        const double theta = c->layer.theta;
        if (!known || !all_finite(c->impulse, 4) ||
            !(theta == 0.0 || theta == 0.5 || theta == 1.0) || !all_finite(c->layer.end, 3)) {
            return perpi_fail(sim->context, PERP_ERROR_INPUT, "state: contact %d is invalid",
                              (int)i);
        }
    }
    for (size_t i = 0; i < sim->model->joint_count; ++i) {
        if (!joint_is_valid(&saved->joint[i])) {
            return perpi_fail(sim->context, PERP_ERROR_INPUT, "state: joint '%s' is invalid",
                              sim->model->joint[i].name);
        }
    }
    return PERP_OK;
}

/* The arrays of a state; both may be the same. */
static void copy_state(const perp_sim* sim, const perpi_saved* from, perpi_state* to)
{
    const perpi_step* work = &sim->work;
    const size_t contacts = (size_t)from->contact_count, joints = sim->model->joint_count;
    memmove(to->q, from->q, (size_t)work->q_size * sizeof *to->q);
    memmove(to->v, from->v, (size_t)work->v_size * sizeof *to->v);
    if (work->s_size > 0) {
        memmove(to->memory, from->memory, (size_t)work->s_size * sizeof *to->memory);
    }
    if (contacts > 0) {
        memmove(to->contacts.item, from->contact, contacts * sizeof *to->contacts.item);
    }
    to->contacts.count = contacts;
    if (joints > 0) {
        memmove(to->joint, from->joint, joints * sizeof *to->joint);
    }
}

perp_status perpi_sim_set_state(perp_sim* sim, const perpi_saved* saved)
{
    const double* clock = saved->clock;
    int64_t tick = 0;
    perpi_state* to = &sim->state;
    perp_status status = check_state(sim, saved, &tick);
    if (status == PERP_OK) {
        status = check_records(sim, saved);
    }
    if (status == PERP_OK) {
        status = perpi_grow(sim->context, &to->contacts.item, &to->contacts.capacity,
                            (size_t)saved->contact_count, sizeof *to->contacts.item);
    }
    if (status != PERP_OK) {
        return status;
    }
    copy_state(sim, saved, to);
    to->time = saved->time;
    to->step = saved->step;
    to->tick = tick;
    to->h_last = sim->adaptive ? clock[1] : tick > 0 ? perpi_sim_tick_length(sim, tick - 1) : 1.0;
    to->after_impact = saved->kind != PERP_STEP_TIME;
    to->impacts_in_a_row = saved->impacts_in_a_row;
    sim->user.announced = false;
    perpi_sim_edit_forget(sim);
    if (sim->adaptive) {
        sim->halves.h_next = clock[0];
        perpi_adaptive_clock(sim);
        perpi_adaptive_clear(sim);
    }
    sim->sides.depth = INFINITY; /* not known */
    sim->work.has_problem = false;
    *sim->info = (perp_step_info){.kind = saved->kind, .impacts_in_a_row = saved->impacts_in_a_row};
    sim->ledger_total = (perp_ledger){0};
    perpi_joint_measure(sim->model, to->q, to->joint, sim->info->joint_error);
    if (sim->v_solved != NULL) {
        memcpy(sim->v_solved, to->v, (size_t)sim->work.v_size * sizeof *to->v);
    }
    perpi_measures_restore(sim, saved->measure, saved->measure_size);
    return PERP_OK;
}
