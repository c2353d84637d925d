/* src/study/estimate_flight.c - the start of a trajectory from its first rows, before anything touches.
 *
 * Poses that are measured well give velocities badly: a difference of two rows has the noise of
 * both, divided by their distance in time. All rows of a flight together give them well. The free
 * motion is simulated from the start so far, so that gravity, gyroscopic terms and drag are in it;
 * what the rows differ from it by gives corrections of pose and velocity, by least squares:
 *
 *     positions   a + b t
 *     rotations   R(t) a + t J(t) b,   R the rotation since the start, J its mean from the start to t
 *
 * (rotation vectors in the world frame; exact to first order while the angular velocity is
 * constant). Repeated until the corrections are small. The rows that count end one row before the
 * first contact of that simulation.
 */
#include <math.h>
#include <string.h>

#include "base/vec.h"
#include "linalg/dense.h"
#include "model/model.h"
#include "perp/set.h"
#include "study/estimate_predict.h"

#define MOST_ITERATIONS 12
/* Corrections below this part of the size of the scene, and of a radian, end the iteration. */
#define SMALL 1e-9
/* Fewer rows do not determine a start any better than its first row does. */
#define FEWEST_ROWS 3

/* Sums of a regression on (1, t). */
typedef struct line_fit {
    double n, t, tt;
    double y[3], ty[3];
} line_fit;

static void line_add(line_fit* fit, double t, const double* y, double scale, int32_t width)
{
    for (int32_t i = 0; i < width; ++i) {
        if (isnan(y[i])) {
            return;
        }
    }
    fit->n += 1.0;
    fit->t += t;
    fit->tt += t * t;
    for (int32_t i = 0; i < width; ++i) {
        fit->y[i] += scale * y[i];
        fit->ty[i] += t * scale * y[i];
    }
}

/* y = a + b t. False: the rows do not determine it. */
static bool line_solve(const line_fit* fit, double a[3], double b[3])
{
    const double d = fit->n * fit->tt - fit->t * fit->t;
    if (!(fit->n >= FEWEST_ROWS && d > 0.0)) {
        return false;
    }
    for (int i = 0; i < 3; ++i) {
        b[i] = (fit->n * fit->ty[i] - fit->t * fit->y[i]) / d;
        a[i] = (fit->y[i] - b[i] * fit->t) / fit->n;
    }
    return true;
}

/* ---- the free motion ----------------------------------------------------------------------------*/

static perp_status place_bodies(const perpi_predictor* p, perp_sim* sim,
                                const perp_body_state* state)
{
    const perp_model* model = perp_sim_model(sim);
    for (size_t i = 0; i < p->bodies; ++i) {
        if (model->body[i].type == PERP_BODY_DYNAMIC) {
            PERPI_TRY(perp_sim_set_body(sim, (int32_t)i, &state[i]));
        }
    }
    return PERP_OK;
}

/* Simulates from the states; residuals and columns of the rows to the predictor's. Rows until
 * `until`, or until the first contact. */
static perp_status fly(perpi_predictor* p, const perpi_trajectory* t, int32_t row, int32_t until,
                       const double* parameter, const perp_body_state* state, int32_t* rows)
{
    const perpi_estimate* e = p->e;
    perp_sim* sim = NULL;
    PERPI_TRY(perpi_predictor_sim(p, parameter, t->time[row], &sim));
    PERPI_TRY(place_bodies(p, sim, state));
    const double begin = perp_sim_time(sim), first = t->time[row];
    double before = 0.0, now = 0.0;
    perpi_predictor_measure(p, parameter, sim, p->row_b);
    memcpy(p->row_a, p->row_b, (size_t)e->columns * sizeof *p->row_a);
    *rows = 0;
    while (*rows < until) {
        const double at = t->time[row + *rows] - first;
        while (now < at * (1.0 - 1e-12)) {
            double* swap = p->row_a;
            p->row_a = p->row_b;
            p->row_b = swap;
            before = now;
            PERPI_TRY(perp_sim_step(sim));
            if (perp_sim_step_info(sim).contacts > 0) {
                return PERP_OK;
            }
            now = perp_sim_time(sim) - begin;
            perpi_predictor_measure(p, parameter, sim, p->row_b);
        }
        const double part = now > before ? (at - before) / (now - before) : 1.0;
        double* column = p->flight_column + (size_t)*rows * (size_t)e->columns;
        perpi_predictor_between(e, p->planar, p->row_a, p->row_b, part < 1.0 ? part : 1.0, column);
        perpi_predictor_residual(e, p->planar,
                                 t->value + (size_t)(row + *rows) * (size_t)e->columns, column,
                                 p->flight + (size_t)*rows * (size_t)e->width);
        *rows += 1;
    }
    return PERP_OK;
}

/* ---- corrections --------------------------------------------------------------------------------*/

/* What a channel's rows say of the start: 0 a position, 1 an orientation, -1 neither. */
static int pose_of(const perpi_channel* c)
{
    return c->body < 0                                           ? -1
           : c->kind == PERPI_CHANNEL_POSITION                   ? 0
           : c->kind == PERPI_CHANNEL_ORIENTATION                ? 1
           : c->kind != PERPI_CHANNEL_QUANTITY                   ? -1
           : c->start_coordinate >= 0 && c->start_coordinate < 6 ? c->start_coordinate / 3
                                                                 : -1;
}

/* Corrections a, b of an orientation in space, as above. False: the rows do not determine them. */
static bool fit_turn(const perpi_predictor* p, const perpi_channel* c, const double* time,
                     int32_t rows, double a[3], double b[3])
{
    const perpi_estimate* e = p->e;
    const double unit = time[rows - 1] - time[0];
    double N[36] = {0}, L[36], x[6] = {0};
    int32_t count = 0;
    const double* first = p->flight_column + c->first_column;
    const quat back = q4_conj((quat){first[0], first[1], first[2], first[3]});
    for (int32_t k = 0; k < rows; ++k) {
        const double* q = first + (size_t)k * (size_t)e->columns;
        const double* r = p->flight + (size_t)k * (size_t)e->width + c->first_residual;
        if (isnan(r[0]) || isnan(r[1]) || isnan(r[2])) {
            continue;
        }
        /* J is the mean of the rotations on the way: Simpson's rule */
        const vec3 turn = q4_log(q4_mul((quat){q[0], q[1], q[2], q[3]}, back));
        const mat3 R = q4_matrix(q4_exp(turn)), H = q4_matrix(q4_exp(v3_scale(0.5, turn)));
        const double t = (time[k] - time[0]) / unit;
        double M[3][6];
        for (int i = 0; i < 3; ++i) {
            for (int j = 0; j < 3; ++j) {
                M[i][j] = R.m[i][j];
                M[i][3 + j] = t * ((i == j ? 1.0 : 0.0) + 4.0 * H.m[i][j] + R.m[i][j]) / 6.0;
            }
        }
        for (int m = 0; m < 3; ++m) {
            for (int i = 0; i < 6; ++i) {
                x[i] += M[m][i] * c->noise * r[m];
                for (int j = 0; j < 6; ++j) {
                    N[6 * i + j] += M[m][i] * M[m][j];
                }
            }
        }
        ++count;
    }
    if (count < FEWEST_ROWS || !(unit > 0.0) || !perpi_chol_factor(6, N, L)) {
        return false;
    }
    perpi_chol_solve(6, L, x);
    for (int i = 0; i < 3; ++i) {
        a[i] = x[i];
        b[i] = x[3 + i] / unit;
    }
    return true;
}

static bool fit_place(const perpi_predictor* p, const perpi_channel* c, const double* time,
                      int32_t rows, double scale, double a[3], double b[3])
{
    line_fit fit = {0};
    for (int32_t k = 0; k < rows; ++k) {
        line_add(&fit, time[k] - time[0],
                 p->flight + (size_t)k * (size_t)p->e->width + c->first_residual, c->noise / scale,
                 c->width);
    }
    return line_solve(&fit, a, b);
}

/* Corrects the body of a channel; returns how large the correction was, relative to the size of the scene. */
static double correct(const perpi_predictor* p, const perpi_channel* c, const perpi_trajectory* t,
                      int32_t row, int32_t rows, const double* parameter, perp_body_state* state)
{
    const int pose = pose_of(c);
    const double* time = t->time + row;
    const bool turns = c->kind == PERPI_CHANNEL_ORIENTATION && !p->planar;
    double a[3], b[3], by[PERPI_START_COORDINATES] = {0};
    if (pose < 0 ||
        !(turns ? fit_turn(p, c, time, rows, a, b)
                : fit_place(p, c, time, rows, perpi_predictor_sensor_scale(c, parameter), a, b))) {
        return 0.0;
    }
    const int32_t first = c->kind == PERPI_CHANNEL_QUANTITY ? c->start_coordinate
                          : pose == 1 && p->planar          ? 5
                                                            : 3 * pose;
    const double unit = pose == 0 && p->length > 0.0 ? p->length : 1.0;
    double largest = 0.0;
    for (int32_t i = 0; i < c->width; ++i) {
        by[first + i] = a[i];
        by[first + i + 6] = b[i];
        largest =
            perpi_larger(largest, (fabs(a[i]) + fabs(b[i]) * (time[rows - 1] - time[0])) / unit);
    }
    perpi_state_displace(&state[c->body], p->planar, by);
    return largest;
}

/* Of so many rows without contact, those that count: the last one may have touched already. */
static int32_t rows_that_count(int32_t rows, int32_t asked)
{
    return rows < asked ? rows - 1 : rows;
}

perp_status perpi_predictor_flight(perpi_predictor* p, const perpi_trajectory* t, int32_t row,
                                   const double* parameter, perp_body_state* state)
{
    const perpi_estimate* e = p->e;
    const int32_t left = t->rows - row;
    const int32_t asked = e->start_rows < left ? e->start_rows : left;
    PERPI_TRY(perpi_grow(p->context, &p->flight, &p->flight_room,
                         (size_t)asked * (size_t)(e->width + e->columns), sizeof *p->flight));
    p->flight_column = p->flight + (size_t)asked * (size_t)e->width;
    p->flight_rows = 0;
    double change = INFINITY;
    int32_t counted = 0;
    for (int i = 0; i < MOST_ITERATIONS && change > SMALL; ++i) {
        int32_t rows = 0;
        PERPI_TRY(fly(p, t, row, asked, parameter, state, &rows));
        /* Rows that the simulation reaches may change from one iteration to the next; no longer
         * after the third. */
        if (i < 3 || rows_that_count(rows, asked) < counted) {
            counted = rows_that_count(rows, asked);
        }
        if (counted < FEWEST_ROWS) {
            break;
        }
        change = 0.0;
        for (int32_t k = 0; k < e->channel_count; ++k) {
            change =
                perpi_larger(change, correct(p, &e->channel[k], t, row, counted, parameter, state));
        }
        p->flight_rows = counted;
    }
    return perp_sim_reset(p->sim);
}
