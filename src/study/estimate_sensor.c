/* src/study/estimate_sensor.c - what channels measure of a state, residuals, and the start that a row says. */
#include <math.h>
#include <string.h>

#include "base/vec.h"
#include "model/model.h"
#include "study/estimate_predict.h"

/* Rows whose mean rates are the first guess of a start that is fitted to a flight. */
#define FLIGHT_GUESS 4

double perpi_sensor_value(const perpi_sensor_number* n, const double* parameter)
{
    return n->parameter >= 0 ? parameter[n->parameter] : n->value;
}

static vec3 vector_of(const perpi_sensor_number n[3], const double* parameter)
{
    return v3(perpi_sensor_value(&n[0], parameter), perpi_sensor_value(&n[1], parameter),
              perpi_sensor_value(&n[2], parameter));
}

static quat quat_of(const double* x)
{
    return (quat){x[0], x[1], x[2], x[3]};
}

static void put_quat(quat q, double* x)
{
    x[0] = q.w;
    x[1] = q.x;
    x[2] = q.y;
    x[3] = q.z;
}

double perpi_predictor_sensor_scale(const perpi_channel* c, const double* parameter)
{
    return c->has_sensor ? perpi_sensor_value(&c->scale, parameter) : 1.0;
}

/* To (-pi, pi]. */
static double wrapped(double angle)
{
    static const double TURN = 6.283185307179586;
    return angle - TURN * ceil(angle / TURN - 0.5);
}

static quat orientation_of(const perp_body_state* b, bool planar)
{
    return planar ? q4_exp(v3(0.0, 0.0, b->angle)) : quat_of(b->orientation);
}

/* ---- measuring ----------------------------------------------------------------------------------*/

/* The scene's centre of mass seen from that of the body, whose inertia may be unknown, world. */
static vec3 scene_centre(const perpi_predictor* p, int32_t body, quat q)
{
    return v3_neg(q4_rotate(q, v3_from(p->centre + 3 * (size_t)body)));
}

static void measure_body(const perpi_predictor* p, const perpi_channel* c, const perp_body_state* b,
                         const double* parameter, double* x)
{
    const bool planar = p->planar;
    const quat q = orientation_of(b, planar);
    const vec3 centre = scene_centre(p, c->body, q);
    vec3 v = {0};
    switch (c->kind) {
    case PERPI_CHANNEL_POSITION:
        v = v3_add(v3_from(b->position), q4_rotate(q, vector_of(c->at, parameter)));
        v = v3_add(v, centre);
        break;
    case PERPI_CHANNEL_VELOCITY:
        v = v3_add(centre, q4_rotate(q, vector_of(c->at, parameter)));
        v = v3_add(v3_from(b->velocity), v3_cross(v3_from(b->angular_velocity), v));
        break;
    case PERPI_CHANNEL_ANGULAR_VELOCITY: v = v3_from(b->angular_velocity); break;
    case PERPI_CHANNEL_ORIENTATION:
        if (planar) {
            x[0] = b->angle + perpi_sensor_value(&c->turn[2], parameter);
        } else {
            put_quat(q4_mul(q, q4_exp(vector_of(c->turn, parameter))), x);
        }
        return;
    case PERPI_CHANNEL_QUANTITY: return;
    }
    if (c->body_frame && !(planar && c->kind == PERPI_CHANNEL_ANGULAR_VELOCITY)) {
        v = q4_rotate(q4_conj(q), v);
    }
    if (planar && c->kind == PERPI_CHANNEL_ANGULAR_VELOCITY) {
        x[0] = v.z;
        return;
    }
    for (int32_t i = 0; i < c->columns; ++i) {
        x[i] = v3_get(v, i);
    }
}

void perpi_measure_sensor(const perpi_channel* c, const double* parameter, double* x)
{
    if (c->has_sensor && c->kind != PERPI_CHANNEL_ORIENTATION) {
        const double scale = perpi_sensor_value(&c->scale, parameter);
        for (int32_t k = 0; k < c->columns; ++k) {
            x[k] = scale * x[k] + perpi_sensor_value(&c->offset[k], parameter);
        }
    }
}

void perpi_measure_bodies(const perpi_predictor* p, const double* parameter,
                          const perp_body_state* state, double* column)
{
    for (int32_t i = 0; i < p->e->channel_count; ++i) {
        const perpi_channel* c = &p->e->channel[i];
        if (c->kind != PERPI_CHANNEL_QUANTITY) {
            measure_body(p, c, &state[c->body], parameter, column + c->first_column);
            perpi_measure_sensor(c, parameter, column + c->first_column);
        }
    }
}

void perpi_predictor_measure(perpi_predictor* p, const double* parameter, perp_sim* sim,
                             double* column)
{
    const perpi_estimate* e = p->e;
    for (int32_t i = 0; i < e->channel_count; ++i) {
        const perpi_channel* c = &e->channel[i];
        double* x = column + c->first_column;
        if (c->kind == PERPI_CHANNEL_QUANTITY) {
            x[0] = perp_sim_quantity(sim, &c->quantity);
        } else {
            const perp_body_state b = perp_sim_body(sim, c->body);
            measure_body(p, c, &b, parameter, x);
        }
        perpi_measure_sensor(c, parameter, x);
    }
}

void perpi_predictor_residual(const perpi_estimate* e, bool planar, const double* measured,
                              const double* predicted, double* residual)
{
    for (int32_t i = 0; i < e->channel_count; ++i) {
        const perpi_channel* c = &e->channel[i];
        const double *m = measured + c->first_column, *x = predicted + c->first_column;
        double* r = residual + c->first_residual;
        if (c->kind == PERPI_CHANNEL_ORIENTATION && !planar) {
            const vec3 turn = q4_log(q4_mul(quat_of(m), q4_conj(quat_of(x))));
            v3_to(v3_scale(1.0 / c->noise, turn), r);
            continue;
        }
        for (int32_t k = 0; k < c->width; ++k) {
            const double off = m[k] - x[k];
            r[k] = (c->kind == PERPI_CHANNEL_ORIENTATION ? wrapped(off) : off) / c->noise;
        }
    }
}

void perpi_predictor_between(const perpi_estimate* e, bool planar, const double* a, const double* b,
                             double part, double* column)
{
    for (int32_t i = 0; i < e->channel_count; ++i) {
        const perpi_channel* c = &e->channel[i];
        const double *from = a + c->first_column, *to = b + c->first_column;
        double* x = column + c->first_column;
        if (c->kind == PERPI_CHANNEL_ORIENTATION && !planar) {
            const vec3 turn = q4_log(q4_mul(quat_of(to), q4_conj(quat_of(from))));
            put_quat(
                part == 1.0 ? quat_of(to) : q4_mul(q4_exp(v3_scale(part, turn)), quat_of(from)), x);
            continue;
        }
        for (int32_t k = 0; k < c->columns; ++k) {
            x[k] = part == 1.0 ? to[k] : from[k] + part * (to[k] - from[k]);
        }
    }
}

/* ---- states -------------------------------------------------------------------------------------*/

void perpi_state_displace(perp_body_state* s, bool planar, const double* by)
{
    for (int i = 0; i < 3; ++i) {
        s->position[i] += by[i];
        s->velocity[i] += by[6 + i];
        s->angular_velocity[i] += by[9 + i];
    }
    if (planar) {
        s->angle += by[5];
    } else if (by[3] != 0.0 || by[4] != 0.0 || by[5] != 0.0) {
        put_quat(q4_unit(q4_mul(q4_exp(v3_from(by + 3)), quat_of(s->orientation))), s->orientation);
    }
}

void perpi_state_difference(const perp_body_state* a, const perp_body_state* b, bool planar,
                            double* by)
{
    for (int i = 0; i < 3; ++i) {
        by[i] = b->position[i] - a->position[i];
        by[6 + i] = b->velocity[i] - a->velocity[i];
        by[9 + i] = b->angular_velocity[i] - a->angular_velocity[i];
    }
    if (planar) {
        by[3] = by[4] = 0.0;
        by[5] = b->angle - a->angle;
    } else {
        v3_to(q4_log(q4_mul(quat_of(b->orientation), q4_conj(quat_of(a->orientation)))), by + 3);
    }
}

/* ---- the start that a row says ------------------------------------------------------------------*/

/* Numbers of a row without scale and offset of their sensor. False: a gap. */
static bool unscaled(const perpi_channel* c, const double* row, const double* parameter, double* x)
{
    for (int32_t k = 0; k < c->columns; ++k) {
        x[k] = row[c->first_column + k];
        if (isnan(x[k])) {
            return false;
        }
        if (c->has_sensor && c->kind != PERPI_CHANNEL_ORIENTATION) {
            x[k] = (x[k] - perpi_sensor_value(&c->offset[k], parameter)) /
                   perpi_sensor_value(&c->scale, parameter);
        }
    }
    return true;
}

static void start_of_quantity(int32_t coordinate, double x, bool planar, perp_body_state* s)
{
    if (coordinate < 3) {
        s->position[coordinate] = x;
    } else if (coordinate < 6) {
        if (planar) {
            s->angle = x;
        }
    } else if (coordinate < 9) {
        s->velocity[coordinate - 6] = x;
    } else {
        s->angular_velocity[coordinate - 9] = x;
    }
}

/* Orientations come first, then angular velocities: others refer to them. */
static void start_of_channel(const perpi_predictor* p, const perpi_channel* c, const double* row,
                             const double* parameter, int pass, perp_body_state* state)
{
    const bool planar = p->planar;
    const int mine = c->kind == PERPI_CHANNEL_ORIENTATION        ? 0
                     : c->kind == PERPI_CHANNEL_ANGULAR_VELOCITY ? 1
                                                                 : 2;
    double x[PERPI_CHANNEL_COLUMNS] = {0};
    const perp_model* model = perp_scene_model(p->study->scene);
    if (c->body < 0 || (c->kind == PERPI_CHANNEL_QUANTITY && c->start_coordinate < 0) ||
        model->body[c->body].joints > 0 || /* a noisy pose would part them */
        mine != pass || !unscaled(c, row, parameter, x)) {
        return;
    }
    perp_body_state* s = &state[c->body];
    const quat q = orientation_of(s, planar);
    const vec3 centre = scene_centre(p, c->body, q);
    vec3 v = v3_from(x);
    if (planar) {
        v.z = 0.0;
    }
    if (c->body_frame) {
        v = q4_rotate(q, v);
    }
    switch (c->kind) {
    case PERPI_CHANNEL_QUANTITY: start_of_quantity(c->start_coordinate, x[0], planar, s); break;
    case PERPI_CHANNEL_POSITION:
        v = v3_sub(v3_sub(v, q4_rotate(q, vector_of(c->at, parameter))), centre);
        memcpy(s->position, (double[]){v.x, v.y, planar ? s->position[2] : v.z},
               sizeof s->position);
        break;
    case PERPI_CHANNEL_ORIENTATION:
        if (planar) {
            s->angle = x[0] - perpi_sensor_value(&c->turn[2], parameter);
        } else {
            put_quat(q4_mul(quat_of(x), q4_conj(q4_exp(vector_of(c->turn, parameter)))),
                     s->orientation);
        }
        break;
    case PERPI_CHANNEL_VELOCITY:
        v = v3_sub(v, v3_cross(v3_from(s->angular_velocity),
                               v3_add(centre, q4_rotate(q, vector_of(c->at, parameter)))));
        v3_to(v, s->velocity);
        break;
    case PERPI_CHANNEL_ANGULAR_VELOCITY:
        if (planar) {
            s->angular_velocity[2] = x[0];
        } else {
            v3_to(v, s->angular_velocity);
        }
        break;
    }
}

static void start_of_row(const perpi_predictor* p, const double* row, const double* parameter,
                         perp_body_state* state)
{
    for (int pass = 0; pass < 3; ++pass) {
        for (int32_t i = 0; i < p->e->channel_count; ++i) {
            start_of_channel(p, &p->e->channel[i], row, parameter, pass, state);
        }
    }
}

/* Velocities of a body that are not observed, from the poses of the next rows: mean rates from the
 * first row to the last of them. */
static void rates_of_rows(const perpi_predictor* p, const perpi_trajectory* t, int32_t row,
                          int32_t rows, const double* parameter, perp_body_state* state,
                          perp_body_state* later)
{
    const perpi_estimate* e = p->e;
    const int32_t last = row + rows - 1 < t->rows ? row + rows - 1 : t->rows - 1;
    if (last <= row) {
        return;
    }
    const double time = t->time[last] - t->time[row];
    memcpy(later, state, p->bodies * sizeof *later);
    start_of_row(p, t->value + (size_t)last * (size_t)e->columns, parameter, later);
    for (size_t b = 0; b < p->bodies; ++b) {
        bool seen[4] = {false}; /* position, rotation, velocity, angular velocity */
        for (int32_t i = 0; i < e->channel_count; ++i) {
            const perpi_channel* c = &e->channel[i];
            if (c->body != (int32_t)b) {
                continue;
            }
            const int32_t group = c->kind == PERPI_CHANNEL_POSITION           ? 0
                                  : c->kind == PERPI_CHANNEL_ORIENTATION      ? 1
                                  : c->kind == PERPI_CHANNEL_VELOCITY         ? 2
                                  : c->kind == PERPI_CHANNEL_ANGULAR_VELOCITY ? 3
                                  : c->start_coordinate >= 0 ? c->start_coordinate / 3
                                                             : -1;
            if (group >= 0) {
                seen[group] = true;
            }
        }
        double by[PERPI_START_COORDINATES];
        perpi_state_difference(&state[b], &later[b], p->planar, by);
        for (int i = 0; i < 3; ++i) {
            if (seen[0] && !seen[2]) {
                state[b].velocity[i] = by[i] / time;
            }
            if (seen[1] && !seen[3]) {
                state[b].angular_velocity[i] = by[3 + i] / time;
            }
        }
    }
}

void perpi_nominal_of_row(perpi_predictor* p, const perpi_trajectory* t, int32_t row,
                          const double* parameter, perp_body_state* state)
{
    for (size_t i = 0; i < p->bodies; ++i) {
        perp_body_state* s = &state[i];
        *s = perp_sim_body(p->sim, (int32_t)i);
        const vec3 centre = scene_centre(p, (int32_t)i, orientation_of(s, p->planar));
        if (v3_dot(centre, centre) > 0.0) { /* the scene says where its own centre is */
            v3_to(v3_sub(v3_from(s->position), centre), s->position);
            v3_to(v3_sub(v3_from(s->velocity), v3_cross(v3_from(s->angular_velocity), centre)),
                  s->velocity);
        }
    }
    if (!p->e->start_from_scene || row > 0) {
        start_of_row(p, t->value + (size_t)row * (size_t)p->e->columns, parameter, state);
        const bool flight = p->e->start_flight && row == 0;
        const int32_t rows = flight ? FLIGHT_GUESS
                             : row > 0 && !(p->e->start_rows >= 3 && !p->e->start_flight)
                                 ? 3
                                 : p->e->start_rows;
        if (rows > 1) { /* between the ends nobody knows velocities otherwise */
            rates_of_rows(p, t, row, rows, parameter, state, p->state);
        }
    }
}

perp_status perpi_predictor_nominal(perpi_predictor* p, const perpi_trajectory* t, int32_t row,
                                    const double* parameter, perp_body_state* state)
{
    perp_sim* sim = NULL;
    PERPI_TRY(perpi_predictor_sim(p, parameter, 0.0, &sim));
    perpi_nominal_of_row(p, t, row, parameter, state);
    return p->e->start_flight && row == 0 ? perpi_predictor_flight(p, t, row, parameter, state)
                                          : PERP_OK;
}
