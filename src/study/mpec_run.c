/* src/study/mpec_run.c - see mpec_run.h.
 *
 * Source     [B09 7.6.1]: the first guess is q = data, impulses 0
 * Departure  velocities are differences of these positions; coordinates that are not observed come from a simulation
 */
#include "study/mpec_run.h"

#include <math.h>
#include <string.h>

#include "perp/set.h"
#include "shape/builtin.h"
#include "sim/candidates.h"

/* ---- channels --------------------------------------------------------------------------------------*/

static bool is_zero(const perpi_sensor_number n[3])
{
    bool zero = true;
    for (int i = 0; i < 3; ++i) {
        zero = zero && n[i].parameter < 0 && n[i].value == 0.0;
    }
    return zero;
}

/* Coordinate (as of perpi_start) of component k of a channel; -1: it is none. Of spatial orientations 3, 4, 5. */
static int32_t coordinate_of(const perpi_channel* c, bool planar, int32_t k)
{
    switch (c->kind) {
    case PERPI_CHANNEL_QUANTITY: return c->start_coordinate;
    case PERPI_CHANNEL_POSITION: return is_zero(c->at) ? k : -1;
    case PERPI_CHANNEL_ORIENTATION: return !is_zero(c->turn) ? -1 : planar ? 5 : 3 + k;
    case PERPI_CHANNEL_VELOCITY: return c->body_frame || !is_zero(c->at) ? -1 : 6 + k;
    case PERPI_CHANNEL_ANGULAR_VELOCITY: return planar ? 11 : c->body_frame ? -1 : 9 + k;
    }
    return -1;
}

/* Number of a coordinate among the displacements or velocities of a body; -1: it has none. */
static int32_t dof_of(const perpi_mpec* m, int32_t body, int32_t coordinate)
{
    const int32_t k = coordinate % 6;
    const int32_t dof = m->dimension == 3 ? k : k < 2 ? k : k == 5 ? 2 : -1;
    return dof < m->dofs[body] ? dof : -1;
}

perp_status perpi_mpec_check(const perpi_estimate_run* run)
{
    const perpi_estimate* e = run->e;
    const bool planar = perpi_predictor_planar(run->predictor);
    if (e->loss != PERPI_LOSS_SQUARES) {
        return perpi_fail(run->context, PERP_ERROR_UNSUPPORTED,
                          "method 'mpec' takes the loss 'squares' only; use 'shooting'");
    }
    for (int32_t i = 0; i < e->channel_count; ++i) {
        const perpi_channel* c = &e->channel[i];
        for (int32_t k = 0; k < c->width; ++k) {
            if (c->body < 0 || coordinate_of(c, planar, k) < 0) {
                return perpi_fail(run->context, PERP_ERROR_UNSUPPORTED,
                                  "method 'mpec': channel '%s' is not a coordinate or velocity of "
                                  "a body's centre of mass in world axes; use 'shooting'",
                                  c->name);
            }
        }
    }
    return PERP_OK;
}

double perpi_mpec_speed(const perpi_estimate* e, const perp_sim* sim)
{
    const perp_model* model = perp_sim_model(sim);
    const double h = perpi_sim_nominal_step(sim);
    double speed = 0.0;
    for (size_t i = 0; i < model->body_count; ++i) {
        const double g = v3_norm(model->body[i].gravity) * h;
        speed = model->body[i].dofs > 0 && g > speed ? g : speed;
    }
    for (int32_t k = 0; k < e->data.count; ++k) {
        const perpi_trajectory* t = &e->data.trajectory[k];
        const double time = t->time[t->rows - 1];
        for (int32_t i = 0; i < e->channel_count && time > 0.0; ++i) {
            const perpi_channel* c = &e->channel[i];
            const int32_t coordinate = coordinate_of(c, model->dimension == 2, 0);
            for (int32_t j = 0; coordinate >= 0 && coordinate / 3 % 2 == 0 && j < c->columns; ++j) {
                double low = INFINITY, high = -INFINITY;
                for (int32_t r = 0; r < t->rows; ++r) {
                    const double x = t->value[(size_t)r * (size_t)e->columns + c->first_column + j];
                    low = x < low ? x : low;
                    high = x > high ? x : high;
                }
                const double by = coordinate < 3 ? (high - low) / time : 0.5 * (high - low);
                speed = by > speed ? by : speed;
            }
        }
    }
    return speed > 0.0 ? speed : 1.0;
}

/* ---- the first guess ---------------------------------------------------------------------------------*/

typedef struct guess {
    perpi_estimate_run* run;
    perpi_mpec* m;
    perp_sim* sim;
    const perpi_trajectory* t;
    const double* parameter;
    double h;
    int32_t steps;
    double *time, *q, *v;
    perp_body_state* state;
    perpi_mpec_start* start;
    perpi_mpec_observation* observation;
    int32_t observations;
    perpi_contact_list contact, found;
    int32_t* first;
} guess;

static void free_guess(guess* g)
{
    void* const owned[] = {g->time,         g->q,          g->v,
                           g->state,        g->start,      g->observation,
                           g->contact.item, g->found.item, g->first};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; ++i) {
        perpi_free(g->run->context, owned[i]);
    }
}

static perp_status allocate_guess(guess* g)
{
    perp_context* c = g->run->context;
    const size_t states = (size_t)g->steps + 1;
    PERPI_TRY(perpi_alloc(c, states, sizeof *g->time, &g->time));
    PERPI_TRY(perpi_alloc(c, states * (size_t)g->m->q_size, sizeof *g->q, &g->q));
    PERPI_TRY(perpi_alloc(c, states * (size_t)g->m->v_size, sizeof *g->v, &g->v));
    PERPI_TRY(perpi_alloc(c, (size_t)g->m->body_count, sizeof *g->state, &g->state));
    PERPI_TRY(perpi_alloc(c, (size_t)g->m->stride + 1, sizeof *g->start, &g->start));
    PERPI_TRY(perpi_alloc(c, (size_t)g->t->rows * (size_t)g->run->e->width + 1,
                          sizeof *g->observation, &g->observation));
    return perpi_alloc(c, states + 1, sizeof *g->first, &g->first);
}

/* The nominal start, and where a simulation leads from it: for what is not observed. A step that
 * fails leaves bodies where they are. */
static perp_status simulate(guess* g)
{
    const perpi_mpec* m = g->m;
    PERPI_TRY(perpi_predictor_nominal(g->run->predictor, g->t, 0, g->parameter, g->state));
    for (int32_t i = 0; i < m->body_count; ++i) {
        if (m->place[i] >= 0) {
            PERPI_TRY(perp_sim_set_body(g->sim, i, &g->state[i]));
        }
    }
    bool moves = true;
    for (int32_t i = 0; i <= g->steps; ++i) {
        g->time[i] = i * g->h;
        memcpy(g->q + (size_t)i * (size_t)m->q_size, perp_sim_q(g->sim),
               (size_t)m->q_size * sizeof *g->q);
        memcpy(g->v + (size_t)i * (size_t)m->v_size, perp_sim_v(g->sim),
               (size_t)m->v_size * sizeof *g->v);
        moves = moves && i < g->steps && perp_sim_step(g->sim) == PERP_OK;
    }
    return PERP_OK;
}

/* Rows before and after a time where the columns of a channel have no gap; -1: none. */
static void rows_around(const guess* g, const perpi_channel* c, double time, int32_t row[2])
{
    const perpi_estimate* e = g->run->e;
    row[0] = row[1] = -1;
    for (int32_t r = 0; r < g->t->rows && row[1] < 0; ++r) {
        bool whole = true;
        for (int32_t k = 0; k < c->columns; ++k) {
            whole =
                whole && !isnan(g->t->value[(size_t)r * (size_t)e->columns + c->first_column + k]);
        }
        if (whole && g->t->time[r] <= time + 1e-9 * g->h) {
            row[0] = r;
        } else if (whole) {
            row[1] = r;
        }
    }
    row[0] = row[0] < 0 ? row[1] : row[0];
    row[1] = row[1] < 0 ? row[0] : row[1];
}

static double sensor_value(const perpi_sensor_number* n, const double* parameter)
{
    return n->parameter >= 0 ? parameter[n->parameter] : n->value;
}

/* A number of the data as the coordinate that it measures. */
static double unmeasured(const guess* g, const perpi_channel* c, int32_t row, int32_t k)
{
    const double x = g->t->value[(size_t)row * (size_t)g->run->e->columns + c->first_column + k];
    if (!c->has_sensor || c->kind == PERPI_CHANNEL_ORIENTATION) {
        return x;
    }
    return (x - sensor_value(&c->offset[k], g->parameter)) / sensor_value(&c->scale, g->parameter);
}

static quat quat_at(const double* x)
{
    return (quat){x[0], x[1], x[2], x[3]};
}

static quat row_quat(const guess* g, const perpi_channel* c, int32_t row)
{
    return q4_unit(
        quat_at(g->t->value + (size_t)row * (size_t)g->run->e->columns + c->first_column));
}

static quat quat_between(quat a, quat b, double part)
{
    return q4_mul(q4_exp(v3_scale(part, q4_log(q4_mul(b, q4_conj(a))))), a);
}

/* Coordinates of one channel at the states after the first, which is the nominal start. */
static void take_data(guess* g, const perpi_channel* c)
{
    const perpi_mpec* m = g->m;
    const bool planar = m->dimension == 2;
    const int32_t qs = planar ? 3 : 7, vs = planar ? 3 : 6;
    for (int32_t i = 1; i <= g->steps; ++i) {
        int32_t row[2];
        rows_around(g, c, g->time[i], row);
        if (row[0] < 0) {
            return;
        }
        const double from = g->t->time[row[0]], to = g->t->time[row[1]];
        double part = to > from ? (g->time[i] - from) / (to - from) : 0.0;
        part = part < 0.0 ? 0.0 : part > 1.0 ? 1.0 : part;
        double* q = g->q + (size_t)i * (size_t)m->q_size + (size_t)(qs * c->body);
        double* v = g->v + (size_t)i * (size_t)m->v_size + (size_t)(vs * c->body);
        if (c->kind == PERPI_CHANNEL_ORIENTATION && !planar) {
            const quat x = quat_between(row_quat(g, c, row[0]), row_quat(g, c, row[1]), part);
            memcpy(q + 3, (double[]){x.w, x.x, x.y, x.z}, 4 * sizeof *q);
            continue;
        }
        for (int32_t k = 0; k < c->columns; ++k) {
            const int32_t coordinate = coordinate_of(c, planar, k);
            const int32_t dof = dof_of(m, c->body, coordinate);
            const double a = unmeasured(g, c, row[0], k), b = unmeasured(g, c, row[1], k);
            double x = a + part * (b - a);
            if (coordinate == 5 && planar && c->kind == PERPI_CHANNEL_ORIENTATION) {
                x += 2.0 * PERPI_PI * round((q[2 - qs * m->body_count] - x) / (2.0 * PERPI_PI));
            }
            if (dof >= 0) {
                *(coordinate < 6 ? q + dof : v + dof) = x;
            }
        }
    }
}

/* Velocities of observed displacements: differences, as the step relates them. */
static void take_rates(guess* g, const perpi_channel* c)
{
    const perpi_mpec* m = g->m;
    const bool planar = m->dimension == 2;
    const int32_t qs = planar ? 3 : 7, vs = planar ? 3 : 6;
    for (int32_t i = 1; i <= g->steps; ++i) {
        const double* q = g->q + (size_t)i * (size_t)m->q_size + (size_t)(qs * c->body);
        double* v = g->v + (size_t)i * (size_t)m->v_size + (size_t)(vs * c->body);
        const double *before = q - m->q_size, h = g->time[i] - g->time[i - 1];
        if (c->kind == PERPI_CHANNEL_ORIENTATION && !planar) {
            const vec3 turn = q4_log(q4_mul(quat_at(q + 3), q4_conj(quat_at(before + 3))));
            v3_to(v3_scale(1.0 / h, turn), v + 3);
            continue;
        }
        for (int32_t k = 0; k < c->columns; ++k) {
            const int32_t coordinate = coordinate_of(c, planar, k);
            const int32_t dof = dof_of(m, c->body, coordinate);
            if (coordinate < 6 && dof >= 0) {
                v[dof] = (q[dof] - before[dof]) / h;
            }
        }
    }
}

/* ---- what was measured -------------------------------------------------------------------------------*/

/* The state at or before a row, and how far it is to the next. */
static void place_row(const guess* g, double time, int32_t* state, double* part)
{
    const double at = time / g->h;
    *state = (int32_t)floor(at + 1e-9);
    *state = *state > g->steps ? g->steps : *state;
    *part = at - *state;
    *part = *part < 1e-9 ? 0.0 : *part;
    if (*state == g->steps) {
        *part = 0.0;
    }
}

/* Coordinate of the reference there. */
static double reference_at(const guess* g, const perpi_channel* c, int32_t dof, int32_t state,
                           double part)
{
    const size_t qs = g->m->dimension == 2 ? 3 : 7, n = (size_t)g->m->q_size;
    const double* q = g->q + (size_t)state * n + qs * (size_t)c->body + (size_t)dof;
    return part > 0.0 ? q[0] + part * (q[n] - q[0]) : q[0];
}

static void observe_row(guess* g, const perpi_channel* c, int32_t row)
{
    const perpi_mpec* m = g->m;
    const bool planar = m->dimension == 2;
    const double* data = g->t->value + (size_t)row * (size_t)g->run->e->columns + c->first_column;
    int32_t state;
    double part;
    place_row(g, g->t->time[row], &state, &part);
    vec3 turn = v3(0, 0, 0);
    if (c->kind == PERPI_CHANNEL_ORIENTATION && !planar) {
        /* rotations are small between the data and the reference, which is taken from them */
        const double* q = g->q + (size_t)state * (size_t)m->q_size + 7 * (size_t)c->body;
        const quat next = part > 0.0 ? quat_at(q + m->q_size + 3) : quat_at(q + 3);
        const quat here = quat_between(quat_at(q + 3), next, part);
        turn = q4_log(q4_mul(row_quat(g, c, row), q4_conj(here)));
    }
    for (int32_t k = 0; k < c->width; ++k) {
        const int32_t coordinate = coordinate_of(c, planar, k);
        const int32_t dof = dof_of(m, c->body, coordinate);
        const bool spatial = c->kind == PERPI_CHANNEL_ORIENTATION && !planar;
        if (dof < 0 || isnan(data[spatial ? 0 : k])) {
            continue;
        }
        perpi_mpec_observation o = {.state = state,
                                    .part = part,
                                    .place = perpi_mpec_place(m, c->body, dof, coordinate >= 6),
                                    .noise = c->noise,
                                    .channel = (int32_t)(c - g->run->e->channel),
                                    .value = spatial ? v3_get(turn, k) : data[k],
                                    .scale = 1.0,
                                    .scale_parameter = -1,
                                    .offset_parameter = -1};
        if (!spatial && coordinate < 6) {
            o.base = reference_at(g, c, dof, state, part);
        }
        if (c->kind == PERPI_CHANNEL_ORIENTATION && planar) { /* the nearest turn */
            const double whole = 2.0 * PERPI_PI;
            o.value += whole * round((o.base - o.value) / whole);
        } else if (c->has_sensor && !spatial) {
            o.scale = c->scale.value;
            o.scale_parameter = c->scale.parameter;
            o.offset = c->offset[k].value;
            o.offset_parameter = c->offset[k].parameter;
        }
        if (o.place >= 0) {
            g->observation[g->observations++] = o;
        }
    }
}

/* ---- contacts ------------------------------------------------------------------------------------------*/

/* How far bodies may be from their first guess: twice their longest way in a step, and what noise explains. */
static double nearness(const guess* g)
{
    const perpi_mpec* m = g->m;
    const int32_t qs = m->dimension == 2 ? 3 : 7;
    double longest = 0.0, noise = 0.0;
    for (int32_t i = 1; i <= g->steps; ++i) {
        const double* q = g->q + (size_t)i * (size_t)m->q_size;
        for (int32_t b = 0; b < m->body_count; ++b) {
            double way = 0.0;
            for (int32_t k = 0; k < m->dimension; ++k) {
                const double d = q[qs * b + k] - (q - m->q_size)[qs * b + k];
                way += d * d;
            }
            longest = sqrt(way) > longest ? sqrt(way) : longest;
        }
    }
    for (int32_t i = 0; i < g->run->e->channel_count; ++i) {
        const perpi_channel* c = &g->run->e->channel[i];
        const int32_t coordinate = coordinate_of(c, m->dimension == 2, 0);
        noise = coordinate >= 0 && coordinate < 3 && c->noise > noise ? c->noise : noise;
    }
    return 2.0 * longest + 6.0 * noise;
}

static perp_status find_contacts(guess* g)
{
    const perpi_mpec* m = g->m;
    const double within = nearness(g), far = 1e3 * (within + m->speed * g->h * g->steps);
    for (int32_t i = 0; i < g->steps; ++i) {
        PERPI_TRY(perpi_sim_candidates(g->sim, g->time[i], g->q + (size_t)i * (size_t)m->q_size,
                                       within, far, &g->found));
        PERPI_TRY(perpi_grow(g->run->context, &g->contact.item, &g->contact.capacity,
                             g->contact.count + g->found.count, sizeof *g->contact.item));
        if (g->found.count > 0) {
            memcpy(g->contact.item + g->contact.count, g->found.item,
                   g->found.count * sizeof *g->found.item);
        }
        g->contact.count += g->found.count;
        g->first[i + 1] = (int32_t)g->contact.count;
    }
    return PERP_OK;
}

static perp_status fill(guess* g)
{
    const perpi_estimate* e = g->run->e;
    PERPI_TRY(allocate_guess(g));
    PERPI_TRY(simulate(g));
    for (int32_t i = 0; i < e->channel_count; ++i) {
        take_data(g, &e->channel[i]);
    }
    for (int32_t i = 0; i < e->channel_count; ++i) {
        take_rates(g, &e->channel[i]);
    }
    for (int32_t row = 0; row < g->t->rows; ++row) {
        for (int32_t i = 0; i < e->channel_count; ++i) {
            observe_row(g, &e->channel[i], row);
        }
    }
    for (int32_t i = 0; i < e->start_count; ++i) {
        const int32_t dof = dof_of(g->m, e->start[i].body, e->start[i].coordinate);
        const int32_t place =
            perpi_mpec_place(g->m, e->start[i].body, dof, e->start[i].coordinate >= 6);
        if (place >= 0) {
            g->start[place] = (perpi_mpec_start){true, e->start[i].prior};
        }
    }
    return find_contacts(g);
}

perp_status perpi_mpec_add(perpi_estimate_run* run, perpi_mpec* m, perp_sim* sim,
                           const perpi_trajectory* t, const double* parameter)
{
    guess g = {.run = run,
               .m = m,
               .sim = sim,
               .t = t,
               .parameter = parameter,
               .h = perpi_sim_nominal_step(sim),
               .contact = {.context = run->context},
               .found = {.context = run->context}};
    g.steps = (int32_t)ceil(t->time[t->rows - 1] / g.h - 1e-9);
    g.steps = g.steps > 0 ? g.steps : 1;
    perp_status status = fill(&g);
    if (status == PERP_OK) {
        status =
            perpi_mpec_add_trajectory(m, &(perpi_mpec_run){.steps = g.steps,
                                                           .time = g.time,
                                                           .q = g.q,
                                                           .v = g.v,
                                                           .start = g.start,
                                                           .contact = g.contact.item,
                                                           .contact_start = g.first,
                                                           .observation = g.observation,
                                                           .observation_count = g.observations});
    }
    free_guess(&g);
    return status;
}
