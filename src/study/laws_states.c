/* src/study/laws_states.c - pairs of measured states from the rows of the data.
 *
 * A body's velocity is that of its channels; where these have none, it is the difference of poses:
 * backward at the first state, forward at the second, so that neither contains the contact between
 * them.
 */
#include <math.h>
#include <string.h>

#include "model/model.h"
#include "study/laws.h"

/* ---- which rows ----------------------------------------------------------------------------------*/

/* Coordinates 0-2 position, 3-5 rotation, 6-8 velocity, 9-11 angular velocity that a channel observes, as bits. */
static unsigned observed_by(const perpi_channel* c)
{
    static const unsigned THREE = 7u;
    switch (c->kind) {
    case PERPI_CHANNEL_POSITION: return THREE;
    case PERPI_CHANNEL_ORIENTATION: return THREE << 3;
    case PERPI_CHANNEL_VELOCITY: return THREE << 6;
    case PERPI_CHANNEL_ANGULAR_VELOCITY: return THREE << 9;
    case PERPI_CHANNEL_QUANTITY:
    default: break;
    }
    return c->start_coordinate >= 0 ? 1u << c->start_coordinate : 0u;
}

static perp_status find_observed(perpi_laws* x, const perp_model* model)
{
    const bool planar = model->dimension == 2;
    const unsigned position = planar ? 3u : 7u, rotation = planar ? 4u << 3 : 7u << 3;
    for (int32_t b = 0; b < x->bodies; ++b) {
        const perpi_body* body = &model->body[b];
        unsigned seen = 0;
        for (int32_t i = 0; i < x->e->channel_count; ++i) {
            seen |= x->e->channel[i].body == b ? observed_by(&x->e->channel[i]) : 0u;
        }
        const unsigned turns = body->particle ? 0u : rotation;
        if (body->type == PERP_BODY_DYNAMIC &&
            ((seen & position) != position || (seen & turns) != turns)) {
            return perpi_fail(x->context, PERP_ERROR_INPUT,
                              "the method laws reads states from the data: /observe must have the "
                              "%s of body '%.200s'",
                              (seen & position) != position ? "position" : "orientation",
                              body->name);
        }
        x->has_velocity[b] = (seen >> 6 & position) == position;
        x->has_spin[b] = (seen >> 6 & turns) == turns;
    }
    return PERP_OK;
}

/* Whether the row has all numbers of poses, and those of velocities that are read from it. */
static bool is_complete(const perpi_laws* x, const perpi_trajectory* t, int32_t row, bool poses,
                        bool velocities)
{
    for (int32_t i = 0; i < x->e->channel_count; ++i) {
        const perpi_channel* c = &x->e->channel[i];
        const unsigned seen = c->body >= 0 ? observed_by(c) : 0u;
        const bool wanted = ((seen & 63u) != 0 && poses) || (seen >> 6 != 0 && velocities);
        for (int32_t k = 0; wanted && k < c->columns; ++k) {
            if (isnan(t->value[(size_t)row * (size_t)x->e->columns +
                               (size_t)(c->first_column + k)])) {
                return false;
            }
        }
    }
    return true;
}

static bool needs_differences(const perpi_laws* x, const perp_model* model)
{
    bool needs = false;
    for (int32_t b = 0; b < x->bodies; ++b) {
        needs = needs || (model->body[b].type == PERP_BODY_DYNAMIC &&
                          !(x->has_velocity[b] && x->has_spin[b]));
    }
    return needs;
}

static perp_status add_pairs(perpi_laws* x, int32_t index, bool differences)
{
    const perpi_trajectory* t = &x->data->trajectory[index];
    const int32_t before = differences ? 1 : 0;
    for (int32_t row = before; row + x->stride + before < t->rows; ++row) {
        const int32_t after = row + x->stride;
        bool complete =
            is_complete(x, t, row, true, true) && is_complete(x, t, after, !x->e->impacts, true);
        if (differences) {
            complete = complete && is_complete(x, t, row - 1, true, false) &&
                       is_complete(x, t, after + 1, true, false);
        }
        if (!complete) {
            x->skipped += 1;
            continue;
        }
        const double time = t->time[after] - t->time[row];
        /* a difference is the velocity at the middle of its interval */
        const double half = differences ? 0.5 * (t->time[row] - t->time[row - 1]) +
                                              0.5 * (t->time[after + 1] - t->time[after])
                                        : 0.0;
        const perp_status status = perpi_grow(x->context, &x->pair, &x->pair_room,
                                              (size_t)x->pair_count + 1, sizeof *x->pair);
        if (status != PERP_OK) {
            return status;
        }
        x->pair[x->pair_count++] = (perpi_laws_pair){.trajectory = index,
                                                     .row = row,
                                                     .after = after,
                                                     .time = time,
                                                     .span = time + half,
                                                     .weight = 1.0};
    }
    return PERP_OK;
}

perp_status perpi_laws_use(perpi_laws* x, const perpi_data* data, bool held_out)
{
    perp_scene* scene = NULL;
    double start[PERPI_ESTIMATE_PARAMETERS];
    for (int32_t i = 0; i < x->e->parameter_count; ++i) {
        start[i] = x->e->parameter[i].info.start;
    }
    perp_status status = perpi_predictor_scene(x->predictor, start, &scene);
    const perp_model* model = status == PERP_OK ? perp_scene_model(scene) : NULL;
    if (status == PERP_OK) {
        status = find_observed(x, model);
    }
    x->data = data;
    x->pair_count = x->skipped = 0;
    for (int32_t i = 0; status == PERP_OK && i < data->count; ++i) {
        if (data->trajectory[i].held_out == held_out) {
            status = add_pairs(x, i, !x->e->impacts && needs_differences(x, model));
        }
    }
    if (status == PERP_OK && x->e->impacts && needs_differences(x, model)) {
        status = perpi_fail(x->context, PERP_ERROR_INPUT,
                            "impacts have no times: /observe must have velocity and angular "
                            "velocity of every dynamic body");
    }
    return status;
}

/* ---- states --------------------------------------------------------------------------------------*/

/* Into the flat arrays of a state (step/formulate.h). */
static void put_body(const perp_model* model, int32_t b, const perp_body_state* s, double* q,
                     double* v)
{
    if (model->dimension == 2) {
        const double pose[3] = {s->position[0], s->position[1], s->angle};
        const double rate[3] = {s->velocity[0], s->velocity[1], s->angular_velocity[2]};
        memcpy(q + 3 * b, pose, sizeof pose);
        memcpy(v + 3 * b, rate, sizeof rate);
        return;
    }
    memcpy(q + 7 * b, s->position, sizeof s->position);
    memcpy(q + 7 * b + 3, s->orientation, sizeof s->orientation);
    memcpy(v + 6 * b, s->velocity, sizeof s->velocity);
    memcpy(v + 6 * b + 3, s->angular_velocity, sizeof s->angular_velocity);
}

static perp_status read_row(perpi_laws* x, const perpi_laws_pair* pair, int32_t row,
                            const double* parameter, const perp_model* model, double* q, double* v)
{
    const perp_status status = perpi_predictor_nominal(
        x->predictor, &x->data->trajectory[pair->trajectory], row, parameter, x->state);
    for (int32_t b = 0; status == PERP_OK && b < x->bodies; ++b) {
        put_body(model, b, &x->state[b], q, v);
    }
    return status;
}

/* Velocities of bodies without channels: from the state in x->q_middle to that in `to`, or the other way round. */
static void difference(perpi_laws* x, const perp_model* model, const double* from, const double* to,
                       double time, double* v)
{
    const bool planar = model->dimension == 2;
    for (int32_t b = 0; b < x->bodies; ++b) {
        if (model->body[b].type != PERP_BODY_DYNAMIC) {
            continue;
        }
        const perpi_pose A = perpi_state_pose(model, from, b), B = perpi_state_pose(model, to, b);
        vec3 velocity = perpi_state_velocity(model, v, b), spin = perpi_state_rate(model, v, b);
        if (!x->has_velocity[b]) {
            velocity = v3_scale(1.0 / time, v3_sub(B.x, A.x));
        }
        if (!x->has_spin[b] && planar) {
            spin = v3(0.0, 0.0, (to[3 * b + 2] - from[3 * b + 2]) / time);
        } else if (!x->has_spin[b]) {
            perp_body_state one = {.angle = 0.0}, two = {.angle = 0.0};
            double by[PERPI_START_COORDINATES];
            memcpy(one.orientation, from + 7 * b + 3, sizeof one.orientation);
            memcpy(two.orientation, to + 7 * b + 3, sizeof two.orientation);
            perpi_state_difference(&one, &two, false, by);
            spin = v3_scale(1.0 / time, v3(by[3], by[4], by[5]));
        }
        perpi_state_set_velocity(model, v, b, velocity, spin);
    }
}

/* Poses half way between two states. */
static void middle_poses(const perp_model* model, const double* a, const double* b, int32_t size,
                         double* middle)
{
    const bool planar = model->dimension == 2;
    for (int32_t i = 0; i < size; ++i) {
        middle[i] = 0.5 * (a[i] + b[i]);
    }
    for (int32_t i = 0; !planar && i < (int32_t)model->body_count; ++i) {
        double* r = middle + 7 * i + 3;
        const double *r_a = a + 7 * i + 3, *r_b = b + 7 * i + 3;
        double dot = 0.0, length = 0.0;
        for (int k = 0; k < 4; ++k) {
            dot += r_a[k] * r_b[k];
        }
        for (int k = 0; k < 4; ++k) {
            r[k] = r_a[k] + (dot < 0.0 ? -r_b[k] : r_b[k]);
            length += r[k] * r[k];
        }
        for (int k = 0; k < 4; ++k) {
            r[k] /= sqrt(length);
        }
    }
}

perp_status perpi_laws_states(perpi_laws* x, const perpi_laws_pair* pair, const double* parameter,
                              const perp_model* model)
{
    const perpi_trajectory* t = &x->data->trajectory[pair->trajectory];
    perp_status status = read_row(x, pair, pair->row, parameter, model, x->q, x->v);
    if (status == PERP_OK) {
        status = read_row(x, pair, pair->after, parameter, model, x->q_after, x->v_after);
    }
    if (x->e->impacts) { /* the pose of an impact does not change */
        memcpy(x->q_after, x->q, (size_t)x->q_size * sizeof *x->q);
    } else if (status == PERP_OK && needs_differences(x, model)) {
        const int32_t before = pair->row - 1, next = pair->after + 1;
        status = read_row(x, pair, before, parameter, model, x->q_middle, x->v_next);
        difference(x, model, x->q_middle, x->q, t->time[pair->row] - t->time[before], x->v);
        if (status == PERP_OK) {
            status = read_row(x, pair, next, parameter, model, x->q_middle, x->v_next);
        }
        difference(x, model, x->q_after, x->q_middle, t->time[next] - t->time[pair->after],
                   x->v_after);
    }
    if (status == PERP_OK) {
        middle_poses(model, x->q, x->q_after, x->q_size, x->q_middle);
    }
    return status;
}
