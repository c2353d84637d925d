/* src/study/estimate_forward.c - a prediction with the derivatives that come along with its run
 * (scene/gradient.h).
 *
 * The run gives displacements of every state by numbers of the scene and by start coordinates. Here
 * they become derivatives of residuals: through the channels (and what an unknown changes of a
 * sensor by itself), through the coordinates of an inertia, and through a start that is read from
 * the data by a sensor with unknowns.
 */
#include <math.h>
#include <string.h>

#include "base/vec.h"
#include "model/model.h"
#include "perp/set.h"
#include "scene/gradient.h"
#include "sim/gradient_quantity.h"
#include "sim/sim.h"
#include "study/estimate_inertia.h"
#include "study/estimate_predict.h"

#define SAME_TIME 1e-9
/* Of differences of sensors and inertias, which are smooth. */
#define DIFFERENCE 1e-6

/* A run that is being read. */
typedef struct reading {
    perpi_predictor* p;
    perpi_prediction* x;
    perp_sim* sim;
    int32_t n, coordinates, N;
    const int32_t* column;  /* of each start coordinate: its index among the unknowns of the run */
    const double* of_start; /* d start / d parameter: (12 * bodies) x n; NULL: none */
    double begin, before, first;
    int32_t row;
    bool started;
    perp_status status;
} reading;

void perpi_forward_forget(perpi_predictor* p)
{
    perpi_scene_along_destroy(p->along);
    p->along = NULL;
}

void perpi_forward_destroy(perpi_predictor* p)
{
    perpi_forward_forget(p);
    perpi_free(p->context, p->along_name);
    perpi_free(p->context, p->along_by);
    perpi_free(p->context, p->along_body);
    perpi_free(p->context, p->tangent_a);
    perpi_free(p->context, p->tangent_b);
    perpi_free(p->context, p->spread);
    perpi_free(p->context, p->flat_q);
    perpi_free(p->context, p->flat_v);
}

/* ---- what the unknowns are ----------------------------------------------------------------------*/

static bool names(const perpi_sensor_number* n, int32_t count, int32_t parameter)
{
    for (int32_t i = 0; i < count; ++i) {
        if (n[i].parameter == parameter) {
            return true;
        }
    }
    return false;
}

/* Whether a parameter changes what channels measure of a given state: it is a number of a sensor
 * (and may be one of the scene too), or moves a centre of mass. */
static bool changes_sensors(const perpi_estimate* e, int32_t j)
{
    const perpi_parameter* x = &e->parameter[j];
    if (x->kind == PERPI_PARAMETER_INERTIA) {
        return e->inertia[x->inertia].centre;
    }
    for (int32_t i = 0; i < e->channel_count; ++i) {
        const perpi_channel* c = &e->channel[i];
        if (names(&c->scale, 1, j) || names(c->offset, 3, j) || names(c->at, 3, j) ||
            names(c->turn, 3, j)) {
            return true;
        }
    }
    return false;
}

static bool has_sensors(const perpi_estimate* e)
{
    for (int32_t i = 0; i < e->parameter_count; ++i) {
        if (changes_sensors(e, i)) {
            return true;
        }
    }
    return false;
}

/* Whether unknowns of sensors move a start: one that is measured, or that of a body whose centre of
 * mass is unknown, as the scene says where its own centre starts. */
static bool moves_start(const perpi_estimate* e)
{
    bool centre = false;
    for (int32_t i = 0; i < e->inertia_count; ++i) {
        centre = centre || e->inertia[i].centre;
    }
    return has_sensors(e) && (centre || !e->start_from_scene);
}

/* Bodies whose start may be moved: all dynamic ones if segments, or unknowns of sensors, may do so. */
static void list_bodies(perpi_predictor* p, const perp_model* model)
{
    const bool all = p->e->segments > 1 || moves_start(p->e);
    for (size_t b = 0; b < p->bodies; ++b) {
        bool wanted = all && model->body[b].type == PERP_BODY_DYNAMIC;
        for (int32_t i = 0; i < p->e->start_count; ++i) {
            wanted = wanted || p->e->start[i].body == (int32_t)b;
        }
        if (wanted) {
            p->along_body[p->along_bodies++] = (int32_t)b;
        }
    }
}

static void list_names(perpi_predictor* p)
{
    const perpi_estimate* e = p->e;
    for (int32_t i = 0; i < e->parameter_count; ++i) {
        if (e->parameter[i].kind == PERPI_PARAMETER_SCENE) {
            p->along_by[p->along_names * e->parameter_count + i] = 1.0;
            p->along_name[p->along_names++] = e->parameter[i].info.name;
        }
    }
    for (int32_t k = 0; k < e->inertia_count; ++k) {
        for (int32_t i = 0; i < e->inertia[k].parts; ++i) {
            p->along_name[p->along_names++] = e->inertia[k].place[i];
        }
    }
}

/* Derivatives of the numbers of inertias by their coordinates, at the parameters. */
static void differentiate_inertias(perpi_predictor* p, const double* parameter)
{
    const perpi_estimate* e = p->e;
    int32_t row = 0;
    for (int32_t i = 0; i < e->parameter_count; ++i) {
        row += e->parameter[i].kind == PERPI_PARAMETER_SCENE;
    }
    for (int32_t k = 0; k < e->inertia_count; ++k) {
        const perpi_inertia* x = &e->inertia[k];
        for (int32_t j = 0; j < x->parts; ++j) {
            double at[PERPI_INERTIA_PARTS], a[PERPI_INERTIA_PARTS], b[PERPI_INERTIA_PARTS];
            const double d = DIFFERENCE * e->parameter[x->first + j].info.scale;
            memcpy(at, parameter + x->first, (size_t)x->parts * sizeof *at);
            at[j] += d;
            perpi_inertia_physical(x, at, b);
            at[j] -= 2.0 * d;
            perpi_inertia_physical(x, at, a);
            for (int32_t i = 0; i < x->parts; ++i) {
                p->along_by[(row + i) * e->parameter_count + x->first + j] =
                    (b[i] - a[i]) / (2.0 * d);
            }
        }
        row += x->parts;
    }
}

/* Whether all channels have derivatives. */
static bool are_differentiable(perpi_predictor* p, const perp_model* model)
{
    for (int32_t i = 0; i < p->e->channel_count; ++i) {
        const perpi_channel* c = &p->e->channel[i];
        if (c->kind == PERPI_CHANNEL_QUANTITY &&
            perpi_quantity_differentiable(p->context, model, &c->quantity) != PERP_OK) {
            return false;
        }
    }
    return true;
}

/* Whether a number of the scene that is unknown changes where the scene starts. */
static perp_status find_start_dependence(perpi_predictor* p)
{
    const perpi_estimate* e = p->e;
    double* at = p->moved;
    perp_sim* sim = NULL;
    for (int32_t i = 0; i < e->parameter_count; ++i) {
        at[i] = e->parameter[i].info.start;
    }
    PERPI_TRY(perpi_predictor_sim(p, at, 0.0, &sim));
    for (size_t b = 0; b < p->bodies; ++b) {
        p->from[b] = perp_sim_body(sim, (int32_t)b);
    }
    for (int32_t i = 0; i < e->parameter_count; ++i) {
        const perp_unknown* u = &e->parameter[i].info;
        if (e->parameter[i].kind != PERPI_PARAMETER_SCENE) {
            continue;
        }
        const double d = 1e-4 * u->scale;
        at[i] = u->start + d <= u->high ? u->start + d : u->start - d;
        if (perpi_predictor_sim(p, at, 0.0, &sim) == PERP_OK) {
            for (size_t b = 0; b < p->bodies; ++b) {
                const perp_body_state now = perp_sim_body(sim, (int32_t)b);
                p->start_depends = p->start_depends || memcmp(&now, &p->from[b], sizeof now) != 0;
            }
        }
        at[i] = u->start;
    }
    return PERP_OK;
}

perp_status perpi_forward_create(perpi_predictor* p)
{
    const perpi_estimate* e = p->e;
    const perp_model* model = perp_scene_model(p->study->scene);
    const size_t n = (size_t)e->parameter_count, bodies = p->bodies;
    PERPI_TRY(perpi_alloc(p->context, n + 1, sizeof *p->along_name, &p->along_name));
    PERPI_TRY(perpi_alloc(p->context, (n + 1) * (n + 1), sizeof *p->along_by, &p->along_by));
    PERPI_TRY(perpi_alloc(p->context, bodies, sizeof *p->along_body, &p->along_body));
    PERPI_TRY(perpi_alloc(p->context, 7 * bodies, sizeof *p->flat_q, &p->flat_q));
    PERPI_TRY(perpi_alloc(p->context, 6 * bodies, sizeof *p->flat_v, &p->flat_v));
    list_bodies(p, model);
    list_names(p);
    p->derivative = are_differentiable(p, model) && !e->impacts && !e->start_flight
                        ? PERPI_DERIVATIVE_FORWARD
                        : PERPI_DERIVATIVE_DIFFERENCES;
    /* built with the starts of the unknowns; what is refused there is refused when it is needed */
    if (p->derivative == PERPI_DERIVATIVE_FORWARD && find_start_dependence(p) != PERP_OK) {
        p->derivative = PERPI_DERIVATIVE_DIFFERENCES;
    }
    return PERP_OK;
}

/* The object for the present values. A scene without derivatives has none from now on. */
static perp_status make_along(perpi_predictor* p, const double* parameter)
{
    perp_scene* scene = NULL;
    PERPI_TRY(perpi_predictor_scene(p, parameter, &scene));
    if (p->along != NULL || p->derivative != PERPI_DERIVATIVE_FORWARD) {
        return PERP_OK;
    }
    perp_sim_destroy(p->sim); /* the scene is built anew */
    p->sim = NULL;
    perp_sim_def def = perpi_predictor_def(p, scene);
    def.allow_overlap = perp_sim_def_from_scene(scene).allow_overlap; /* see run_forward */
    const perpi_scene_along_def along = {.parameter = p->along_name,
                                         .parameter_count = p->along_names,
                                         .body = p->along_body,
                                         .body_count = p->along_bodies,
                                         .sim = &def};
    const perp_status status = perpi_scene_along_create(p->context, scene, &along, &p->along);
    if (status == PERP_ERROR_UNSUPPORTED) {
        p->derivative = PERPI_DERIVATIVE_DIFFERENCES;
        return PERP_OK;
    }
    differentiate_inertias(p, parameter);
    return status;
}

/* ---- rotations ---------------------------------------------------------------------------------*/

/* Of the exponential map: exp(r + e a) = exp(e left(r, a)) exp(r). */
static vec3 left(vec3 r, vec3 a)
{
    const double angle = v3_norm(r);
    const double f = angle < 1e-4 ? 0.5 : (1.0 - cos(angle)) / (angle * angle);
    const double g = angle < 1e-4 ? 1.0 / 6.0 : (angle - sin(angle)) / (angle * angle * angle);
    const vec3 once = v3_cross(r, a);
    return v3_madd(v3_madd(a, f, once), g, v3_cross(r, once));
}

/* The inverse of its right Jacobian at r, times a: d log(exp(r) exp(-e a)) / d e = -this. At -r it
 * is the inverse of left(r, .). */
static vec3 inverse_right(vec3 r, vec3 a)
{
    const double angle = v3_norm(r);
    const double f = angle < 1e-4
                         ? 1.0 / 12.0
                         : 1.0 / (angle * angle) - (1.0 + cos(angle)) / (2.0 * angle * sin(angle));
    const vec3 once = v3_cross(r, a);
    return v3_madd(v3_madd(a, 0.5, once), f, v3_cross(r, once));
}

/* ---- derivatives of one state -------------------------------------------------------------------*/

/* The rotation vector by which a prediction turns the start of a body. */
static vec3 start_turn(const perpi_prediction* x, int32_t body)
{
    double r[3] = {0};
    for (int32_t i = 0; x->start != NULL && i < x->coordinates; ++i) {
        const int32_t c = x->coordinate[i].coordinate;
        if (x->coordinate[i].body == body && c >= 3 && c < 6) {
            r[c - 3] = x->start[i];
        }
    }
    return v3_from(r);
}

/* Number `at` of the state by start coordinate i. A rotation vector that is not 0 turns further by left(r, .). */
static double by_coordinate(const reading* g, const perpi_along_state* state, int32_t i, int32_t at)
{
    const perpi_start* s = &g->x->coordinate[i];
    const double* tangent = state->tangent + at;
    const size_t stride = (size_t)state->stride;
    if (g->p->planar || s->coordinate < 3 || s->coordinate >= 6) {
        return tangent[(size_t)g->column[i] * stride];
    }
    const int32_t part = s->coordinate - 3;
    const vec3 turn = left(start_turn(g->x, s->body),
                           v3(part == 0 ? 1.0 : 0.0, part == 1 ? 1.0 : 0.0, part == 2 ? 1.0 : 0.0));
    const size_t first = (size_t)(g->column[i] - part);
    return turn.x * tangent[first * stride] + turn.y * tangent[(first + 1) * stride] +
           turn.z * tangent[(first + 2) * stride];
}

/* d state by the unknowns of the prediction: coordinate c of body b by unknown j at (12 b + c) N + j. */
static void spread_state(reading* g, const perpi_along_state* state)
{
    perpi_predictor* p = g->p;
    const int32_t N = g->N, stride = p->planar ? 3 : 6;
    static const int32_t planar[] = {0, 1, 5};
    memset(p->spread, 0, PERPI_START_COORDINATES * p->bodies * (size_t)N * sizeof *p->spread);
    for (size_t b = 0; b < p->bodies; ++b) {
        for (int32_t k = 0; k < 2 * stride; ++k) {
            const int32_t part = k % stride;
            const int32_t coordinate = (k < stride ? 0 : 6) + (p->planar ? planar[part] : part);
            const int32_t at =
                (k < stride ? state->at.q : state->at.v) + stride * (int32_t)b + part;
            double* to = p->spread + (PERPI_START_COORDINATES * b + (size_t)coordinate) * (size_t)N;
            for (int32_t i = 0; i < p->along_names; ++i) {
                const double by = state->tangent[(size_t)i * (size_t)state->stride + (size_t)at];
                for (int32_t j = 0; by != 0.0 && j < g->n; ++j) {
                    to[j] += by * p->along_by[i * g->n + j];
                }
            }
            for (int32_t i = 0; i < g->coordinates; ++i) {
                to[g->n + i] = by_coordinate(g, state, i, at);
            }
            if (g->of_start == NULL) {
                continue;
            }
            /* through the start that the data and the sensors give */
            int32_t column = p->along_names;
            for (int32_t s = 0; s < p->along_bodies; ++s) {
                for (int32_t c = 0; c < (p->planar ? 6 : 12); ++c, ++column) {
                    static const int32_t plane[] = {0, 1, 5, 6, 7, 11};
                    const double* of = g->of_start + (PERPI_START_COORDINATES * p->along_body[s] +
                                                      (p->planar ? plane[c] : c)) *
                                                         g->n;
                    const double by =
                        state->tangent[(size_t)column * (size_t)state->stride + (size_t)at];
                    for (int32_t j = 0; by != 0.0 && j < g->n; ++j) {
                        to[j] += by * of[j];
                    }
                }
            }
        }
    }
}

/* One channel of a body by one unknown, which moves the body by d (12 numbers). out: width. */
static void move_channel(const perpi_predictor* p, const perpi_channel* c, const perp_body_state* b,
                         const double* parameter, const double* d, double* out)
{
    const quat q = p->planar ? q4_exp(v3(0.0, 0.0, b->angle))
                             : (quat){b->orientation[0], b->orientation[1], b->orientation[2],
                                      b->orientation[3]};
    const vec3 at =
        v3(perpi_sensor_value(&c->at[0], parameter), perpi_sensor_value(&c->at[1], parameter),
           perpi_sensor_value(&c->at[2], parameter));
    const vec3 arm = q4_rotate(q, v3_sub(at, v3_from(p->centre + 3 * (size_t)c->body)));
    const vec3 dx = v3_from(d), turn = v3_from(d + 3), dv = v3_from(d + 6), dw = v3_from(d + 9);
    const vec3 w = v3_from(b->angular_velocity);
    vec3 change = {0}, value = {0};
    switch (c->kind) {
    case PERPI_CHANNEL_POSITION: change = v3_add(dx, v3_cross(turn, arm)); break;
    case PERPI_CHANNEL_ORIENTATION: change = turn; break;
    case PERPI_CHANNEL_VELOCITY:
        value = v3_add(v3_from(b->velocity), v3_cross(w, arm));
        change = v3_add(v3_add(dv, v3_cross(dw, arm)), v3_cross(w, v3_cross(turn, arm)));
        break;
    case PERPI_CHANNEL_ANGULAR_VELOCITY:
        value = w;
        change = dw;
        break;
    case PERPI_CHANNEL_QUANTITY: break;
    }
    if (c->body_frame && !(p->planar && c->kind == PERPI_CHANNEL_ANGULAR_VELOCITY)) {
        change = q4_rotate(q4_conj(q), v3_sub(change, v3_cross(turn, value)));
    }
    const double scale =
        c->kind == PERPI_CHANNEL_ORIENTATION ? 1.0 : perpi_sensor_value(&c->scale, parameter);
    if (c->width == 1) {
        out[0] = scale * change.z;
        return;
    }
    for (int32_t i = 0; i < c->width; ++i) {
        out[i] = scale * v3_get(change, i);
    }
}

/* Columns a, b as residuals have them: b - a; rotations as vectors. */
static void column_difference(const perpi_predictor* p, const perpi_channel* c, const double* a,
                              const double* b, double* out)
{
    if (c->kind == PERPI_CHANNEL_ORIENTATION && !p->planar) {
        const quat qa = {a[0], a[1], a[2], a[3]}, qb = {b[0], b[1], b[2], b[3]};
        v3_to(q4_log(q4_mul(qb, q4_conj(qa))), out);
        return;
    }
    for (int32_t i = 0; i < c->width; ++i) {
        out[i] = b[i] - a[i];
    }
}

/* What a parameter changes of the columns by itself: unknowns of sensors, a centre of mass that moves. */
static void add_sensor(reading* g, int32_t j, const perp_body_state* body, double* tangent)
{
    perpi_predictor* p = g->p;
    const perpi_estimate* e = p->e;
    const double d = DIFFERENCE * e->parameter[j].info.scale;
    double *a = p->minus, *b = p->minus + e->columns; /* room of the prediction */
    memcpy(p->moved, g->x->parameter, (size_t)g->n * sizeof *p->moved);
    memcpy(a, p->row_b, (size_t)e->columns * sizeof *a);
    memcpy(b, p->row_b, (size_t)e->columns * sizeof *b);
    for (int side = 0; side < 2; ++side) {
        double* to = side == 0 ? a : b;
        p->moved[j] = g->x->parameter[j] + (side == 0 ? -d : d);
        perpi_predictor_centres(p, p->moved);
        perpi_measure_bodies(p, p->moved, body, to);
        for (int32_t i = 0; i < e->channel_count; ++i) {
            const perpi_channel* c = &e->channel[i];
            if (c->kind == PERPI_CHANNEL_QUANTITY && c->has_sensor) {
                const double scale = perpi_sensor_value(&c->scale, g->x->parameter);
                const double offset = perpi_sensor_value(&c->offset[0], g->x->parameter);
                to[c->first_column] = (p->row_b[c->first_column] - offset) / scale;
                perpi_measure_sensor(c, p->moved, to + c->first_column);
            }
        }
    }
    perpi_predictor_centres(p, g->x->parameter);
    for (int32_t i = 0; i < e->channel_count; ++i) {
        const perpi_channel* c = &e->channel[i];
        double by[PERPI_CHANNEL_WIDTH];
        column_difference(p, c, a + c->first_column, b + c->first_column, by);
        for (int32_t k = 0; k < c->width; ++k) {
            tangent[(size_t)(c->first_residual + k) * (size_t)g->N + (size_t)j] +=
                by[k] / (2.0 * d);
        }
    }
}

static void take_bodies(const perpi_predictor* p, const perpi_along_state* state,
                        perp_body_state* body)
{
    for (size_t b = 0; b < p->bodies; ++b) {
        perp_body_state* s = &body[b];
        *s = (perp_body_state){.orientation = {1.0}};
        if (p->planar) {
            const double *q = state->q + 3 * b, *v = state->v + 3 * b;
            s->position[0] = q[0];
            s->position[1] = q[1];
            s->angle = q[2];
            s->velocity[0] = v[0];
            s->velocity[1] = v[1];
            s->angular_velocity[2] = v[2];
        } else {
            memcpy(s->position, state->q + 7 * b, sizeof s->position);
            memcpy(s->orientation, state->q + 7 * b + 3, sizeof s->orientation);
            memcpy(s->velocity, state->v + 6 * b, sizeof s->velocity);
            memcpy(s->angular_velocity, state->v + 6 * b + 3, sizeof s->angular_velocity);
        }
    }
}

/* Columns of a state (row_b) and their derivatives (tangent_b). */
static void measure_state(reading* g, const perpi_along_state* state)
{
    perpi_predictor* p = g->p;
    const perpi_estimate* e = p->e;
    const size_t N = (size_t)g->N;
    take_bodies(p, state, p->to);
    perpi_measure_bodies(p, g->x->parameter, p->to, p->row_b);
    spread_state(g, state);
    memset(p->tangent_b, 0, (size_t)e->width * N * sizeof *p->tangent_b);
    for (int32_t i = 0; i < e->channel_count; ++i) {
        const perpi_channel* c = &e->channel[i];
        double* to = p->tangent_b + (size_t)c->first_residual * N;
        if (c->kind == PERPI_CHANNEL_QUANTITY) {
            /* by the unknowns of the run, into the room behind the spread */
            double* by = p->spread + PERPI_START_COORDINATES * p->bodies * N;
            const double scale = perpi_sensor_value(&c->scale, g->x->parameter);
            perpi_along_quantity(state, &c->quantity, &p->row_b[c->first_column], by);
            perpi_measure_sensor(c, g->x->parameter, &p->row_b[c->first_column]);
            for (int32_t k = 0; k < p->along_names; ++k) {
                for (int32_t j = 0; by[k] != 0.0 && j < g->n; ++j) {
                    to[j] += scale * by[k] * p->along_by[k * g->n + j];
                }
            }
            for (int32_t k = 0; k < g->coordinates; ++k) {
                const perpi_along_state one = {.tangent = by, .stride = 1};
                to[g->n + k] = scale * by_coordinate(g, &one, k, 0);
            }
            int32_t column = p->along_names;
            for (int32_t s = 0; g->of_start != NULL && s < p->along_bodies; ++s) {
                for (int32_t d = 0; d < (p->planar ? 6 : 12); ++d, ++column) {
                    static const int32_t plane[] = {0, 1, 5, 6, 7, 11};
                    const double* of = g->of_start + (PERPI_START_COORDINATES * p->along_body[s] +
                                                      (p->planar ? plane[d] : d)) *
                                                         g->n;
                    for (int32_t j = 0; j < g->n; ++j) {
                        to[j] += scale * by[column] * of[j];
                    }
                }
            }
            continue;
        }
        for (size_t j = 0; j < N; ++j) {
            double d[PERPI_START_COORDINATES], by[PERPI_CHANNEL_WIDTH];
            bool moves = false;
            for (size_t k = 0; k < PERPI_START_COORDINATES; ++k) {
                d[k] = p->spread[(PERPI_START_COORDINATES * (size_t)c->body + k) * N + j];
                moves = moves || d[k] != 0.0;
            }
            if (moves) {
                move_channel(p, c, &p->to[c->body], g->x->parameter, d, by);
                for (int32_t k = 0; k < c->width; ++k) {
                    to[(size_t)k * N + j] = by[k];
                }
            }
        }
    }
    for (int32_t j = 0; j < g->n; ++j) {
        if (changes_sensors(e, j)) {
            add_sensor(g, j, p->to, p->tangent_b);
        }
    }
}

/* ---- rows ---------------------------------------------------------------------------------------*/

/* The derivatives of an orientation between two steps, at q = exp(part w) q_a with exp(w) = q_b q_a^-1. */
static void turn_between(const reading* g, const perpi_channel* c, double part, double* J)
{
    const perpi_predictor* p = g->p;
    const double *a = p->row_a + c->first_column, *b = p->row_b + c->first_column;
    const quat qa = {a[0], a[1], a[2], a[3]}, qb = {b[0], b[1], b[2], b[3]};
    const quat whole = q4_mul(qb, q4_conj(qa));
    const vec3 w = q4_log(whole), now = v3_scale(part, w);
    const size_t N = (size_t)g->N, first = (size_t)c->first_residual * N;
    for (size_t j = 0; j < N; ++j) {
        const double *ta = p->tangent_a + first + j, *tb = p->tangent_b + first + j;
        const vec3 by_a = v3(ta[0], ta[N], ta[2 * N]), by_b = v3(tb[0], tb[N], tb[2 * N]);
        const vec3 dw = inverse_right(v3_neg(w), v3_sub(by_b, q4_rotate(whole, by_a)));
        const vec3 by = v3_add(v3_scale(part, left(now, dw)), q4_rotate(q4_exp(now), by_a));
        J[j] = -by.x / c->noise;
        J[N + j] = -by.y / c->noise;
        J[2 * N + j] = -by.z / c->noise;
    }
}

static void put_row(reading* g, double part)
{
    perpi_predictor* p = g->p;
    perpi_prediction* x = g->x;
    const perpi_estimate* e = p->e;
    const size_t columns = (size_t)e->columns, N = (size_t)g->N;
    double* column = p->plus + (size_t)g->row * columns;
    double r[PERPI_ESTIMATE_CHANNELS * PERPI_CHANNEL_WIDTH];
    perpi_predictor_between(e, p->planar, p->row_a, p->row_b, part, column);
    perpi_predictor_residual(
        e, p->planar, x->trajectory->value + (size_t)(x->first + g->row) * columns, column, r);
    if (x->prediction != NULL) {
        memcpy(x->prediction + (size_t)g->row * columns, column, columns * sizeof *column);
    }
    if (x->residual != NULL) {
        memcpy(x->residual + (size_t)g->row * (size_t)e->width, r, (size_t)e->width * sizeof *r);
    }
    if (x->jacobian == NULL) {
        return;
    }
    double* J = x->jacobian + (size_t)g->row * (size_t)e->width * N;
    for (int32_t i = 0; i < e->channel_count; ++i) {
        const perpi_channel* c = &e->channel[i];
        const size_t first = (size_t)c->first_residual * N;
        for (size_t k = 0; k < (size_t)c->width * N; ++k) {
            const double a = p->tangent_a[first + k], b = p->tangent_b[first + k];
            const double gap = r[c->first_residual + (int32_t)(k / N)];
            J[first + k] = isnan(gap) ? 0.0 : -(part == 1.0 ? b : a + part * (b - a)) / c->noise;
        }
        if (c->kind == PERPI_CHANNEL_ORIENTATION && !p->planar && part != 1.0 &&
            !isnan(r[c->first_residual])) {
            turn_between(g, c, part, J + first);
        }
        if (c->kind == PERPI_CHANNEL_ORIENTATION && !p->planar && !isnan(r[c->first_residual])) {
            const vec3 at = v3_scale(c->noise, v3_from(r + c->first_residual));
            for (size_t j = 0; j < N; ++j) {
                const vec3 by =
                    inverse_right(at, v3(J[first + j], J[first + N + j], J[first + 2 * N + j]));
                J[first + j] = by.x;
                J[first + N + j] = by.y;
                J[first + 2 * N + j] = by.z;
            }
        }
    }
}

/* The states at the last row, and their derivatives: those of the step that ends there, if it does. */
static void put_end(reading* g, double part)
{
    perpi_predictor* p = g->p;
    perpi_prediction* x = g->x;
    for (size_t i = 0; i < p->bodies; ++i) {
        double by[PERPI_START_COORDINATES];
        perp_body_state state = part == 1.0 ? p->to[i] : p->from[i];
        if (part != 1.0) {
            perpi_state_difference(&p->from[i], &p->to[i], p->planar, by);
            for (int k = 0; k < PERPI_START_COORDINATES; ++k) {
                by[k] *= part;
            }
            perpi_state_displace(&state, p->planar, by);
        }
        if (x->end != NULL) {
            x->end[i] = state;
        }
    }
    if (x->end_jacobian != NULL) {
        memcpy(x->end_jacobian, p->spread,
               PERPI_START_COORDINATES * p->bodies * (size_t)g->N * sizeof *p->spread);
    }
}

static bool read_state(void* user, const perpi_along_state* state)
{
    reading* g = user;
    perpi_predictor* p = g->p;
    perpi_prediction* x = g->x;
    const double now = state->time - g->begin, h = now - g->before;
    measure_state(g, state);
    if (!g->started) {
        g->started = true;
        memcpy(p->row_a, p->row_b, (size_t)p->e->columns * sizeof *p->row_a);
        memcpy(p->from, p->to, p->bodies * sizeof *p->from);
        memcpy(p->tangent_a, p->tangent_b,
               (size_t)p->e->width * (size_t)g->N * sizeof *p->tangent_a);
        put_row(g, 1.0);
        if (x->rows == 1) {
            put_end(g, 1.0);
        }
        ++g->row;
        return g->row < x->rows;
    }
    x->info.steps += 1;
    x->info.certificate = perpi_larger(x->info.certificate, state->info.certificate.worst);
    while (g->row < x->rows &&
           x->trajectory->time[x->first + g->row] - g->first <= now + SAME_TIME * h) {
        const double at = x->trajectory->time[x->first + g->row] - g->first;
        const double part = at >= now - SAME_TIME * h ? 1.0 : (at - g->before) / h;
        put_row(g, part);
        if (g->row == x->rows - 1) {
            put_end(g, part);
        }
        ++g->row;
    }
    g->before = now;
    double *row = p->row_a, *tangent = p->tangent_a;
    perp_body_state* from = p->from;
    p->row_a = p->row_b;
    p->row_b = row;
    p->tangent_a = p->tangent_b;
    p->tangent_b = tangent;
    p->from = p->to;
    p->to = from;
    return g->row < x->rows;
}

/* ---- the run ------------------------------------------------------------------------------------*/

/* d nominal start / d parameter, of those that sensors and centres change: (12 * bodies) x n. */
static perp_status differentiate_start(perpi_predictor* p, const perpi_prediction* x, double* of)
{
    const perpi_estimate* e = p->e;
    const int32_t n = e->parameter_count;
    for (int32_t j = 0; j < n; ++j) {
        if (!changes_sensors(e, j)) {
            continue;
        }
        const double d = DIFFERENCE * e->parameter[j].info.scale;
        for (int side = 0; side < 2; ++side) {
            memcpy(p->moved, x->parameter, (size_t)n * sizeof *p->moved);
            p->moved[j] += side == 0 ? -d : d;
            perpi_predictor_centres(p, p->moved);
            perpi_nominal_of_row(p, x->trajectory, x->first, p->moved,
                                 side == 0 ? p->end_minus : p->end_plus);
        }
        perpi_predictor_centres(p, x->parameter);
        for (size_t b = 0; b < p->bodies; ++b) {
            double by[PERPI_START_COORDINATES];
            perpi_state_difference(&p->end_minus[b], &p->end_plus[b], p->planar, by);
            if (!p->planar) { /* the start coordinates turn it further */
                v3_to(q4_rotate(q4_exp(start_turn(x, (int32_t)b)), v3_from(by + 3)), by + 3);
            }
            for (int k = 0; k < PERPI_START_COORDINATES; ++k) {
                of[(PERPI_START_COORDINATES * b + (size_t)k) * (size_t)n + (size_t)j] =
                    by[k] / (2.0 * d);
            }
        }
    }
    return PERP_OK;
}

/* Which unknown of the run each start coordinate is. False: the run has none of its body. */
static bool map_coordinates(const perpi_predictor* p, const perpi_prediction* x, int32_t* column)
{
    static const int32_t plane[] = {0, 1, -1, -1, -1, 2, 3, 4, -1, -1, -1, 5};
    for (int32_t i = 0; i < x->coordinates; ++i) {
        int32_t found = -1;
        for (int32_t s = 0; s < p->along_bodies; ++s) {
            if (p->along_body[s] == x->coordinate[i].body) {
                found =
                    p->along_names + s * (p->planar ? 6 : 12) +
                    (p->planar ? plane[x->coordinate[i].coordinate] : x->coordinate[i].coordinate);
            }
        }
        if (found < 0) {
            return false;
        }
        column[i] = found;
    }
    return true;
}

static void flatten(const perpi_predictor* p, const perpi_prediction* x)
{
    for (size_t b = 0; b < p->bodies; ++b) {
        double by[PERPI_START_COORDINATES] = {0};
        perp_body_state s = p->from[b];
        for (int32_t k = 0; x->start != NULL && k < x->coordinates; ++k) {
            if (x->coordinate[k].body == (int32_t)b) {
                by[x->coordinate[k].coordinate] = x->start[k];
            }
        }
        perpi_state_displace(&s, p->planar, by);
        if (p->planar) {
            memcpy(p->flat_q + 3 * b, (double[]){s.position[0], s.position[1], s.angle},
                   3 * sizeof(double));
            memcpy(p->flat_v + 3 * b,
                   (double[]){s.velocity[0], s.velocity[1], s.angular_velocity[2]},
                   3 * sizeof(double));
        } else {
            memcpy(p->flat_q + 7 * b, s.position, 3 * sizeof(double));
            memcpy(p->flat_q + 7 * b + 3, s.orientation, 4 * sizeof(double));
            memcpy(p->flat_v + 6 * b, s.velocity, 3 * sizeof(double));
            memcpy(p->flat_v + 6 * b + 3, s.angular_velocity, 3 * sizeof(double));
        }
    }
}

static perp_status allocate(perpi_predictor* p, const reading* g)
{
    const size_t unknowns = (size_t)p->along_names + 12 * (size_t)p->along_bodies;
    const size_t N = (size_t)g->N > unknowns ? (size_t)g->N : unknowns;
    const size_t width = (size_t)p->e->width * N;
    const size_t spread = PERPI_START_COORDINATES * p->bodies * ((size_t)g->N + (size_t)g->n) + N;
    if (width > p->tangent_room) {
        size_t other = p->tangent_room;
        PERPI_TRY(perpi_grow(p->context, &p->tangent_a, &other, width, sizeof *p->tangent_a));
        PERPI_TRY(
            perpi_grow(p->context, &p->tangent_b, &p->tangent_room, width, sizeof *p->tangent_b));
    }
    PERPI_TRY(perpi_grow(p->context, &p->spread, &p->spread_room, spread + N, sizeof *p->spread));
    PERPI_TRY(perpi_grow(p->context, &p->minus, &p->minus_room,
                         3 * (size_t)g->x->rows * (size_t)p->e->columns, sizeof *p->minus));
    return perpi_grow(p->context, &p->plus, &p->plus_room,
                      (size_t)g->x->rows * (size_t)p->e->columns, sizeof *p->plus);
}

static perp_status run_forward(perpi_predictor* p, perpi_prediction* x, reading* g,
                               double* of_start)
{
    const perpi_trajectory* t = x->trajectory;
    const double step = perpi_sim_asked(perpi_scene_along_sim(p->along))->step;
    perp_gradient_flags flags;
    if (x->state != NULL) {
        memcpy(p->from, x->state, p->bodies * sizeof *p->from);
    } else {
        PERPI_TRY(perpi_predictor_nominal(p, t, x->first, x->parameter, p->from));
        if (of_start != NULL) {
            PERPI_TRY(differentiate_start(p, x, of_start));
            g->of_start = of_start;
        }
    }
    g->first = t->time[x->first];
    g->begin = round(g->first / step) * step;
    flatten(p, x);
    perpi_scene_along_begin(p->along, g->begin);
    /* one step more: the last row may be a rounding behind its step */
    const perp_status status = perpi_scene_along_run(p->along, p->flat_q, p->flat_v,
                                                     g->begin + t->time[x->first + x->rows - 1] -
                                                         g->first - SAME_TIME * step,
                                                     true, read_state, g, &flags);
    x->info.flagged += flags.flagged;
    x->info.runs += 1;
    if (status != PERP_OK) {
        x->info.time = perp_sim_time(perpi_scene_along_sim(p->along));
    }
    return status;
}

perp_status perpi_forward_predict(perpi_predictor* p, perpi_prediction* x, bool* can)
{
    const perpi_estimate* e = p->e;
    const double last = x->trajectory->time[x->first + x->rows - 1];
    reading g = {.p = p, .x = x, .n = e->parameter_count, .coordinates = x->coordinates};
    int32_t* column = NULL;
    double* of_start = NULL;
    const bool sensors = moves_start(e) && x->state == NULL;
    *can = false;
    /* a start that the data give must not move as the scene's does */
    if (p->derivative != PERPI_DERIVATIVE_FORWARD ||
        (p->start_depends && (!e->start_from_scene || x->state != NULL))) {
        return PERP_OK;
    }
    g.N = g.n + x->coordinates;
    if (last > p->duration) {
        p->duration = last;
        perpi_forward_forget(p);
    }
    perp_status status = make_along(p, x->parameter);
    if (status != PERP_OK || p->along == NULL) {
        x->info.failed = status != PERP_OK && status != PERP_ERROR_MEMORY;
        return status;
    }
    status = perpi_alloc(p->context, (size_t)x->coordinates + 1, sizeof *column, &column);
    if (status == PERP_OK && sensors) {
        status = perpi_alloc(p->context, PERPI_START_COORDINATES * p->bodies * (size_t)g.n,
                             sizeof *of_start, &of_start);
    }
    if (status == PERP_OK && map_coordinates(p, x, column)) {
        g.column = column;
        x->info.derivative = PERPI_DERIVATIVE_FORWARD;
        status = allocate(p, &g);
        if (status == PERP_OK) {
            *can = true;
            status = run_forward(p, x, &g, of_start);
        }
        /* a contact without a derivative; or bodies overlap at a measured start, and would have to be moved */
        if (status == PERP_ERROR_UNSUPPORTED || (status == PERP_ERROR_INPUT && g.row == 0)) {
            p->derivative = status == PERP_ERROR_UNSUPPORTED ? PERPI_DERIVATIVE_DIFFERENCES
                                                             : PERPI_DERIVATIVE_FORWARD;
            x->info = (perpi_prediction_info){0};
            *can = false;
            status = PERP_OK;
        }
    }
    perpi_free(p->context, column);
    perpi_free(p->context, of_start);
    x->info.failed = status != PERP_OK && status != PERP_ERROR_MEMORY &&
                     status != PERP_ERROR_CANCELLED && status != PERP_ERROR_UNSUPPORTED;
    return status;
}
