/* src/study/estimate_filter_work.c - particles as simulations: batches of them go to worker processes.
 *
 * A request has the row range, the unknowns of its particles and, with process noise, their states; a reply has
 * log-likelihoods, predicted columns and the new states. Everything random is drawn by the parent,
 * so that a reply is a function of its request.
 */
#include <math.h>
#include <string.h>

#include "model/model.h"
#include "perp/set.h"
#include "sim/sim.h"
#include "study/estimate_filter.h"

typedef struct batch_head {
    int64_t count;
    int32_t from, to; /* static: rows of records; with process noise: to is the row, from -1 */
} batch_head;

typedef struct reply_head {
    int32_t status;
    int32_t count;
    char message[200];
} reply_head;

static double row_likelihood(const perpi_estimate* e, const double* residual)
{
    double sum = 0.0;
    for (int32_t i = 0; i < e->width; ++i) {
        sum -= isnan(residual[i]) ? 0.0 : perpi_fit_loss(e, residual[i]);
    }
    return isnan(sum) ? -INFINITY : sum;
}

/* ---- unknowns that do not change ----------------------------------------------------------------*/

static size_t record_size(const perpi_filter_run* f, const batch_head* head)
{
    return 1 + (size_t)(head->to - head->from) * (size_t)(1 + f->e->columns);
}

/* Simulates one particle up to the row `to`, over as many trajectories as it takes. */
static perp_status simulate_particle(perpi_filter_run* f, const batch_head* head, const double* z,
                                     double* out)
{
    const perpi_estimate* e = f->e;
    const int32_t columns = e->columns, rows = head->to - head->from;
    double *like = out + 1, *predicted = like + rows;
    out[0] = 0.0;
    for (int32_t i = 0; i < f->count && f->offset[i] < head->to; ++i) {
        const perpi_trajectory* t = &e->data.trajectory[f->trajectory[i]];
        const int32_t left = head->to - f->offset[i];
        perpi_prediction p = {.trajectory = t,
                              .rows = left < t->rows ? left : t->rows,
                              .parameter = z,
                              .start = z + f->parameters + i * e->start_count,
                              .prediction = f->prediction,
                              .residual = f->residual};
        /* rows that are not reached stay so */
        for (int32_t k = 0; k < p.rows * e->width; ++k) {
            f->residual[k] = INFINITY;
        }
        memset(f->prediction, 0, (size_t)p.rows * (size_t)columns * sizeof *f->prediction);
        const perp_status status = perpi_predictor_predict(f->run->predictor, &p);
        if (status != PERP_OK && !p.info.failed) {
            return status;
        }
        for (int32_t r = 0; r < p.rows; ++r) {
            const int32_t at = f->offset[i] + r - head->from;
            const double value = row_likelihood(e, f->residual + (size_t)r * (size_t)e->width);
            if (at < 0) {
                out[0] += value;
            } else {
                like[at] = value;
                memcpy(predicted + (size_t)at * (size_t)columns,
                       f->prediction + (size_t)r * (size_t)columns,
                       (size_t)columns * sizeof *predicted);
            }
        }
    }
    return PERP_OK;
}

/* ---- with process noise -------------------------------------------------------------------------*/

/* The state of a particle: columns at the step before the last, its time, then the arrays of the simulation. */
typedef struct state_head {
    double before;
    double time;
    int64_t step;
    int32_t kind, impacts_in_a_row, contacts, joints;
    double clock[3];
} state_head;

static size_t pack_state(const perpi_filter_run* f, perp_sim* sim, double before,
                         const double* column, unsigned char* out)
{
    const perp_step_info info = perp_sim_step_info(sim);
    state_head h = {.before = before,
                    .time = perp_sim_time(sim),
                    .step = perp_sim_step_count(sim),
                    .kind = (int32_t)info.kind,
                    .impacts_in_a_row = info.impacts_in_a_row};
    const perp_contact* contact = perp_sim_contacts(sim, &h.contacts);
    const perp_joint_record* joint = perp_sim_joint_records(sim, &h.joints);
    if (perpi_sim_adaptive(sim)) {
        memcpy(h.clock, perpi_sim_clock(sim), sizeof h.clock);
    }
    const struct {
        const void* data;
        size_t size;
    } part[] = {
        {&h, sizeof h},
        {column, (size_t)f->e->columns * sizeof *column},
        {perp_sim_q(sim), (size_t)perp_sim_q_size(sim) * sizeof(double)},
        {perp_sim_v(sim), (size_t)perp_sim_v_size(sim) * sizeof(double)},
        {perpi_sim_s(sim), (size_t)perpi_sim_s_size(sim) * sizeof(double)},
        {joint, (size_t)h.joints * sizeof *joint},
        {contact, (size_t)h.contacts * sizeof *contact},
    };
    size_t size = 0;
    for (size_t i = 0; i < sizeof part / sizeof part[0]; ++i) {
        if (out != NULL && part[i].size > 0) {
            memcpy(out + size, part[i].data, part[i].size);
        }
        size += part[i].size;
    }
    return size;
}

/* in: aligned for double. */
static perp_status unpack_state(const perpi_filter_run* f, perp_sim* sim, const unsigned char* in,
                                double* before, const double** column)
{
    state_head h;
    memcpy(&h, in, sizeof h);
    *before = h.before;
    *column = (const double*)(const void*)(in + sizeof h);
    const double* q = *column + f->e->columns;
    const double* v = q + perp_sim_q_size(sim);
    const double* s = v + perp_sim_v_size(sim);
    const perp_joint_record* joint = (const void*)(s + perpi_sim_s_size(sim));
    const perpi_saved saved = {.time = h.time,
                               .step = h.step,
                               .kind = (perp_step_kind)h.kind,
                               .impacts_in_a_row = h.impacts_in_a_row,
                               .clock = perpi_sim_adaptive(sim) ? h.clock : NULL,
                               .q = q,
                               .v = v,
                               .memory = s,
                               .joint = joint,
                               .contact = (const void*)(joint + h.joints),
                               .contact_count = h.contacts};
    return perpi_sim_set_state(sim, &saved);
}

static perp_status start_particle(perpi_filter_run* f, const double* z, perp_sim** sim)
{
    const perpi_estimate* e = f->e;
    const bool planar = perpi_predictor_planar(f->run->predictor);
    const perpi_trajectory* t = &e->data.trajectory[f->trajectory[0]];
    PERPI_TRY(perpi_predictor_nominal(f->run->predictor, t, 0, z, f->state));
    PERPI_TRY(perpi_predictor_sim(f->run->predictor, z, 0.0, sim));
    const perp_model* model = perp_sim_model(*sim);
    for (int32_t i = 0; i < perpi_predictor_bodies(f->run->predictor); ++i) {
        double by[PERPI_START_COORDINATES] = {0};
        for (int32_t k = 0; k < e->start_count; ++k) {
            if (e->start[k].body == i) {
                by[e->start[k].coordinate] = z[f->parameters + k];
            }
        }
        perpi_state_displace(&f->state[i], planar, by);
        if (model->body[i].type == PERP_BODY_DYNAMIC) {
            PERPI_TRY(perp_sim_set_body(*sim, i, &f->state[i]));
        }
    }
    return PERP_OK;
}

static perp_status shake_bodies(const perpi_filter_run* f, perp_sim* sim, double duration,
                                const double* noise)
{
    const bool planar = perpi_predictor_planar(f->run->predictor);
    const double root = sqrt(duration);
    for (int32_t i = 0; i < f->shake_count; ++i) {
        const perpi_filter_shake* s = &f->shake[i];
        perp_body_state b = perp_sim_body(sim, s->body);
        for (int k = 0; k < 3; ++k) {
            b.velocity[k] += planar && k == 2 ? 0.0 : s->linear * root * noise[6 * i + k];
            b.angular_velocity[k] +=
                planar && k < 2 ? 0.0 : s->angular * root * noise[6 * i + 3 + k];
        }
        PERPI_TRY(perp_sim_set_body_velocity(sim, s->body, s->linear > 0.0 ? b.velocity : NULL,
                                             s->angular > 0.0 ? b.angular_velocity : NULL));
    }
    return PERP_OK;
}

/* Steps to the row, and measures there. f->prediction: columns at the step before, then those of the row. */
static perp_status follow_to_row(perpi_filter_run* f, perp_sim* sim, const double* z, double until,
                                 double* before)
{
    const bool planar = perpi_predictor_planar(f->run->predictor);
    double *last = f->prediction, *row = last + f->e->columns, *now = row + f->e->columns;
    const double near = 1e-9 * perpi_sim_nominal_step(sim);
    perpi_predictor_measure(f->run->predictor, z, sim, now);
    while (perp_sim_time(sim) < until - near) {
        memcpy(last, now, (size_t)f->e->columns * sizeof *last);
        *before = perp_sim_time(sim);
        PERPI_TRY(perp_sim_step(sim));
        perpi_predictor_measure(f->run->predictor, z, sim, now);
    }
    const double time = perp_sim_time(sim);
    const double part =
        until >= time - near || !(time > *before) ? 1.0 : (until - *before) / (time - *before);
    perpi_predictor_between(f->e, planar, last, now, part, row);
    return PERP_OK;
}

/* One particle from the row before to this one. reply: log-likelihood, columns, size of the state, state. */
static perp_status advance_particle(perpi_filter_run* f, int32_t row, const double* z,
                                    const double* noise, const unsigned char* state, double* reply)
{
    const perpi_estimate* e = f->e;
    const perpi_trajectory* t = &e->data.trajectory[f->trajectory[0]];
    const size_t columns = (size_t)e->columns;
    double before = 0.0;
    perp_sim* sim = NULL;
    perp_status status = PERP_ERROR_SOLVE; /* it could not even start */
    if (row == 0) {
        status = start_particle(f, z, &sim);
    } else if (state != NULL) {
        const double* column = NULL;
        status = perpi_predictor_sim(f->run->predictor, z, 0.0, &sim);
        if (status == PERP_OK) {
            status = unpack_state(f, sim, state, &before, &column);
            memcpy(f->prediction, column, columns * sizeof *column);
        }
        if (status == PERP_OK) {
            status = shake_bodies(f, sim, t->time[row] - t->time[row - 1], noise);
        }
    }
    if (status == PERP_OK) {
        status = follow_to_row(f, sim, z, t->time[row], &before);
    }
    uint64_t size = 0;
    reply[0] = -INFINITY;
    memset(reply + 1, 0, columns * sizeof *reply);
    if (status == PERP_OK) {
        const double* predicted = f->prediction + columns;
        perpi_predictor_residual(e, perpi_predictor_planar(f->run->predictor),
                                 t->value + (size_t)row * columns, predicted, f->residual);
        reply[0] = row_likelihood(e, f->residual);
        memcpy(reply + 1, predicted, columns * sizeof *reply);
        size = pack_state(f, sim, before, f->prediction, NULL);
        if (size > f->state_size) {
            return perpi_fail(f->run->context, PERP_ERROR_UNSUPPORTED,
                              "process_noise: more than %d contacts", PERPI_FILTER_CONTACTS);
        }
        (void)pack_state(f, sim, before, f->prediction, (unsigned char*)(reply + 2 + columns));
    }
    memcpy(reply + 1 + columns, &size, sizeof size);
    /* a particle that cannot go on has no weight */
    return status == PERP_ERROR_MEMORY || status == PERP_ERROR_CANCELLED ? status : PERP_OK;
}

/* ---- requests and replies -----------------------------------------------------------------------*/

static size_t whole_doubles(size_t bytes)
{
    return (bytes + sizeof(double) - 1) / sizeof(double);
}

void perpi_filter_sizes(const perpi_filter_run* f, size_t* request, size_t* reply)
{
    const size_t n = (size_t)f->n, columns = (size_t)f->e->columns;
    const size_t rows = (size_t)f->offset[f->count], state = whole_doubles(f->state_size) + 1;
    const size_t in = n + (f->dynamic ? (size_t)f->noises + state : 0);
    const size_t fixed = 1 + rows * (1 + columns), moving = 1 + columns + state;
    const size_t out = f->dynamic && moving > fixed ? moving : fixed;
    *request = sizeof(batch_head) + PERPI_FILTER_BATCH * in * sizeof(double);
    *reply = sizeof(reply_head) + PERPI_FILTER_BATCH * out * sizeof(double);
}

size_t perpi_filter_reply(void* user, const void* request, size_t size, void* reply, size_t room)
{
    perpi_filter_run* f = user;
    const batch_head* head = request;
    const double* in = (const double*)(const void*)(head + 1);
    reply_head* answer = reply;
    double* out = (double*)(void*)(answer + 1);
    perp_status status = PERP_OK;
    (void)size;
    (void)room;
    for (int64_t k = 0; status == PERP_OK && k < head->count; ++k) {
        if (head->from >= 0) {
            status = simulate_particle(f, head, in, out);
            in += f->n;
            out += record_size(f, head);
            continue;
        }
        const double* noise = in + f->n;
        const double* state = noise + f->noises;
        uint64_t bytes;
        memcpy(&bytes, state, sizeof bytes);
        const unsigned char* old = bytes > 0 ? (const unsigned char*)(state + 1) : NULL;
        status = advance_particle(f, head->to, in, noise, old, out);
        in = state + 1 + whole_doubles(bytes);
        memcpy(&bytes, out + 1 + f->e->columns, sizeof bytes);
        out += 2 + f->e->columns + (int64_t)whole_doubles(bytes);
    }
    *answer = (reply_head){.status = (int32_t)status, .count = (int32_t)head->count};
    if (status != PERP_OK) {
        (void)snprintf(answer->message, sizeof answer->message, "%s",
                       perp_context_error(f->run->context));
        return sizeof *answer;
    }
    return (size_t)((unsigned char*)out - (unsigned char*)reply);
}

static int64_t batch_count(int64_t particles, int64_t task)
{
    const int64_t left = particles - task * PERPI_FILTER_BATCH;
    return left < PERPI_FILTER_BATCH ? left : PERPI_FILTER_BATCH;
}

static size_t fill_static(void* user, int64_t task, void* request)
{
    const perpi_filter_run* f = user;
    const perpi_static_request* q = f->fixed;
    const int64_t first = task * PERPI_FILTER_BATCH;
    batch_head* head = request;
    double* out = (double*)(void*)(head + 1);
    *head = (batch_head){.count = batch_count(q->count, task), .from = q->from, .to = q->to};
    for (int64_t k = 0; k < head->count; ++k) {
        memcpy(out, q->record + (size_t)(first + k) * q->stride, (size_t)f->n * sizeof *out);
        out += f->n;
    }
    return (size_t)((unsigned char*)out - (unsigned char*)request);
}

static perp_status check_reply(const perpi_filter_run* f, const reply_head* head)
{
    return head->status == PERP_OK
               ? PERP_OK
               : perpi_fail(f->run->context, (perp_status)head->status, "%s", head->message);
}

static perp_status take_static(void* user, int64_t task, const void* reply, size_t size)
{
    const perpi_filter_run* f = user;
    const perpi_static_request* q = f->fixed;
    const reply_head* head = reply;
    const double* in = (const double*)(const void*)(head + 1);
    const batch_head range = {.from = q->from, .to = q->to};
    const size_t numbers = record_size(f, &range);
    (void)size;
    PERPI_TRY(check_reply(f, head));
    for (int64_t k = 0; k < head->count; ++k) {
        const size_t at = (size_t)(task * PERPI_FILTER_BATCH + k) * q->stride + (size_t)f->n;
        memcpy(q->record + at, in, numbers * sizeof *in);
        in += numbers;
    }
    return PERP_OK;
}

static size_t fill_dynamic(void* user, int64_t task, void* request)
{
    const perpi_filter_run* f = user;
    const perpi_dynamic_request* q = f->moving;
    batch_head* head = request;
    double* out = (double*)(void*)(head + 1);
    *head = (batch_head){.count = batch_count(q->count, task), .from = -1, .to = q->row};
    for (int64_t i = 0; i < head->count; ++i) {
        const int64_t k = task * PERPI_FILTER_BATCH + i;
        const uint64_t bytes = q->state[k].size;
        memcpy(out, q->z + k * f->n, (size_t)f->n * sizeof *out);
        out += f->n;
        if (f->noises > 0) {
            memcpy(out, q->noise + k * f->noises, (size_t)f->noises * sizeof *out);
        }
        out += f->noises;
        memcpy(out++, &bytes, sizeof bytes);
        if (bytes > 0) {
            memcpy(out, q->state[k].data, bytes);
        }
        out += whole_doubles(bytes);
    }
    return (size_t)((unsigned char*)out - (unsigned char*)request);
}

static perp_status take_dynamic(void* user, int64_t task, const void* reply, size_t size)
{
    const perpi_filter_run* f = user;
    const perpi_dynamic_request* q = f->moving;
    const reply_head* head = reply;
    const double* in = (const double*)(const void*)(head + 1);
    const int32_t columns = f->e->columns;
    (void)size;
    PERPI_TRY(check_reply(f, head));
    for (int64_t i = 0; i < head->count; ++i) {
        const int64_t k = task * PERPI_FILTER_BATCH + i;
        uint64_t bytes;
        memcpy(&bytes, in + 1 + columns, sizeof bytes);
        q->likelihood[k] = in[0];
        memcpy(q->prediction + k * columns, in + 1, (size_t)columns * sizeof *in);
        in += 2 + columns;
        if (bytes > 0) { /* else it keeps its state, without a weight */
            PERPI_TRY(perpi_blob_set(f->run->context, &q->state[k], in, bytes));
        }
        in += whole_doubles(bytes);
    }
    return PERP_OK;
}

perp_status perpi_filter_simulate(void* user, const perpi_static_request* request)
{
    perpi_filter_run* f = user;
    f->fixed = request;
    const perpi_map map = {.count = (request->count + PERPI_FILTER_BATCH - 1) / PERPI_FILTER_BATCH,
                           .fill = fill_static,
                           .take = take_static,
                           .user = f};
    return perpi_workers_map(f->workers, &map);
}

perp_status perpi_filter_advance(void* user, const perpi_dynamic_request* request)
{
    perpi_filter_run* f = user;
    f->moving = request;
    const perpi_map map = {.count = (request->count + PERPI_FILTER_BATCH - 1) / PERPI_FILTER_BATCH,
                           .fill = fill_dynamic,
                           .take = take_dynamic,
                           .user = f};
    return perpi_workers_map(f->workers, &map);
}
