/* src/study/estimate_report.c - errors of predictions and the report as JSON. */
#include "study/estimate_report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "model/model.h"
#include "study/estimate_predict.h"

#define DEGREES 57.29577951308232
enum { BINS = 20 };

json_t* perpi_json_number(double number)
{
    return isfinite(number) ? json_real(number) : json_null();
}

/* ---- predictions --------------------------------------------------------------------------------*/

/* The errors of one row: squares of channels, lengths and angles of bodies. */
static void row_errors(const perpi_estimate* e, const double* residual, double* place, double* turn)
{
    double squares = 0.0, turns = 0.0;
    bool has_place = false, has_turn = false;
    for (int32_t i = 0; i < e->channel_count; ++i) {
        const perpi_channel* c = &e->channel[i];
        const bool position = c->kind == PERPI_CHANNEL_POSITION ||
                              (c->kind == PERPI_CHANNEL_QUANTITY && c->start_coordinate >= 0 &&
                               c->start_coordinate < 3);
        const bool angle = c->kind == PERPI_CHANNEL_ORIENTATION ||
                           (c->kind == PERPI_CHANNEL_QUANTITY && c->start_coordinate >= 3 &&
                            c->start_coordinate < 6);
        for (int32_t k = 0; (position || angle) && k < c->width; ++k) {
            const double off = c->noise * residual[c->first_residual + k];
            *(position ? &squares : &turns) += off * off; /* NaN: a gap */
        }
        has_place = has_place || position;
        has_turn = has_turn || angle;
    }
    *place = has_place ? sqrt(squares) : NAN;
    *turn = has_turn ? sqrt(turns) : NAN;
}

/* Mean, largest and last of numbers over the rows; NaN are left out. */
typedef struct summary {
    double sum, count, largest, last;
} summary;

static void summarise(summary* s, double x)
{
    if (!isnan(x)) {
        s->sum += x;
        s->count += 1.0;
        s->largest = x > s->largest ? x : s->largest;
        s->last = x;
    }
}

void perpi_report_measure(const perpi_estimate* e, const perpi_trajectory* t, perpi_errors* x)
{
    summary place = {0}, turn = {0};
    for (int32_t r = 0; r < t->rows; ++r) {
        const double* residual = x->residual + (size_t)r * (size_t)e->width;
        double p, q;
        row_errors(e, residual, &p, &q);
        summarise(&place, p);
        summarise(&turn, q);
        for (int32_t i = 0; i < e->channel_count; ++i) {
            const perpi_channel* c = &e->channel[i];
            for (int32_t k = 0; k < c->width; ++k) {
                const double off = c->noise * residual[c->first_residual + k];
                if (!isnan(off)) {
                    x->sum[i] += off * off;
                    x->count[i] += 1.0;
                }
            }
        }
    }
    x->position = place.count > 0.0 ? place.sum / place.count : NAN;
    x->rotation = turn.count > 0.0 ? turn.sum / turn.count : NAN;
    x->last_position = place.count > 0.0 ? place.last : NAN;
    x->last_rotation = turn.count > 0.0 ? turn.last : NAN;
    x->largest_position = place.count > 0.0 ? place.largest : NAN;
    x->largest_rotation = turn.count > 0.0 ? turn.largest : NAN;
}

/* The axis of a body that is nearest to `up`, from an orientation as it is measured: 0 to 5 for x, -x, y, ... */
static int side_on_top(const perpi_channel* c, bool planar, const double* parameter,
                       const double* column, vec3 up)
{
    const vec3 turn =
        v3(perpi_sensor_value(&c->turn[0], parameter), perpi_sensor_value(&c->turn[1], parameter),
           perpi_sensor_value(&c->turn[2], parameter));
    const quat q =
        planar ? q4_exp(v3(0.0, 0.0, column[0] - turn.z))
               : q4_mul((quat){column[0], column[1], column[2], column[3]}, q4_conj(q4_exp(turn)));
    const vec3 top = q4_rotate(q4_conj(q), up);
    int best = 0;
    for (int i = 1; i < 3; ++i) {
        best = fabs(v3_get(top, i)) > fabs(v3_get(top, best)) ? i : best;
    }
    return 2 * best + (v3_get(top, best) < 0.0);
}

/* Whether bodies end on the side that was measured: of each, in the last row that has its
 * orientation. NaN: none has one, or nothing is up. */
static double ends_on_same_face(const perp_estimate* x, const perpi_trajectory* t,
                                const double* prediction)
{
    const perpi_estimate* e = x->e;
    const perp_model* model = perp_scene_model(x->study->scene);
    const size_t columns = (size_t)e->columns;
    const vec3 up = v3_neg(model->gravity);
    const bool planar = model->dimension == 2;
    double same = NAN;
    for (int32_t i = 0; v3_norm(up) > 0.0 && i < e->channel_count; ++i) {
        const perpi_channel* c = &e->channel[i];
        int32_t row = t->rows - 1;
        if (c->kind != PERPI_CHANNEL_ORIENTATION) {
            continue;
        }
        while (row > 0 && isnan(t->value[(size_t)row * columns + (size_t)c->first_column])) {
            --row;
        }
        const size_t at = (size_t)row * columns + (size_t)c->first_column;
        if (!isnan(t->value[at])) {
            const bool equal = side_on_top(c, planar, x->parameter, t->value + at, up) ==
                               side_on_top(c, planar, x->parameter, prediction + at, up);
            same = equal && !(same == 0.0) ? 1.0 : 0.0;
        }
    }
    return same;
}

perp_status perpi_report_room(const perp_estimate* x, int32_t trajectory)
{
    const perpi_estimate* e = x->e;
    const perpi_trajectory* t = &x->data->trajectory[trajectory];
    perpi_errors* error = &x->error[trajectory];
    error->energy = error->same_face = NAN;
    PERPI_TRY(perpi_alloc(x->context, (size_t)e->channel_count, sizeof(double), &error->sum));
    PERPI_TRY(perpi_alloc(x->context, (size_t)e->channel_count, sizeof(double), &error->count));
    PERPI_TRY(perpi_alloc(x->context, (size_t)t->rows * (size_t)e->columns, sizeof(double),
                          &error->prediction));
    PERPI_TRY(perpi_alloc(x->context, (size_t)t->rows * (size_t)e->width, sizeof(double),
                          &error->residual));
    return PERP_OK;
}

static perp_status predict_one(perp_estimate* x, perpi_predictor* predictor, int32_t k)
{
    const perpi_estimate* e = x->e;
    const perpi_trajectory* t = &x->data->trajectory[k];
    perpi_errors* error = &x->error[k];
    const bool fitted = x->answer != NULL && !t->held_out && e->start_count > 0;
    PERPI_TRY(perpi_report_room(x, k));
    perpi_prediction p = {.trajectory = t,
                          .parameter = x->parameter,
                          .start =
                              fitted ? x->answer->start + (size_t)k * (size_t)e->start_count : NULL,
                          .prediction = error->prediction,
                          .residual = error->residual};
    const perp_status status = perpi_predictor_predict(predictor, &p);
    if (status != PERP_OK && !p.info.failed) {
        return status;
    }
    error->failed = status != PERP_OK;
    error->steps = p.info.steps;
    error->certificate = p.info.certificate;
    if (error->failed) {
        (void)snprintf(error->message, sizeof error->message, "%s", perp_context_error(x->context));
        error->position = error->rotation = error->last_position = error->last_rotation = NAN;
        error->largest_position = error->largest_rotation = NAN;
    } else {
        perpi_report_measure(e, t, error);
        error->same_face = ends_on_same_face(x, t, error->prediction);
    }
    return PERP_OK;
}

perp_status perpi_report_predict(perp_estimate* x, perpi_predictor* predictor)
{
    PERPI_TRY(perpi_alloc(x->context, (size_t)x->data->count, sizeof *x->error, &x->error));
    if (x->e->impacts) {
        return perpi_report_impacts(x, predictor);
    }
    for (int32_t k = 0; k < x->data->count; ++k) {
        PERPI_TRY(predict_one(x, predictor, k));
    }
    return PERP_OK;
}

void perpi_report_free(perp_estimate* x)
{
    for (int32_t k = 0; x->error != NULL && k < x->data->count; ++k) {
        perpi_free(x->context, x->error[k].sum);
        perpi_free(x->context, x->error[k].count);
        perpi_free(x->context, x->error[k].prediction);
        perpi_free(x->context, x->error[k].residual);
    }
    perpi_free(x->context, x->error);
}

/* ---- whether the scene follows ------------------------------------------------------------------*/

/* Sum of squares of a column about its mean, of trajectories that were fitted. */
static double variation(const perp_estimate* x, const perpi_channel* c, const perpi_trajectory* t)
{
    double total = 0.0;
    for (int32_t k = 0; k < c->columns; ++k) {
        double sum = 0.0, squares = 0.0, count = 0.0, first = NAN;
        for (int32_t r = 0; r < t->rows; ++r) {
            const double at = t->value[(size_t)r * (size_t)x->e->columns + c->first_column + k];
            if (isnan(at)) {
                continue;
            }
            first = isnan(first) ? at : first;
            sum += at - first;
            squares += (at - first) * (at - first);
            count += 1.0;
        }
        total += count > 0.0 ? squares - sum * sum / count : 0.0;
    }
    return total;
}

perp_status perpi_report_check(const perp_estimate* x)
{
    static const double WORSE = 1.5, TIMES = 10.0;
    const perpi_estimate* e = x->e;
    double left = 0.0, all = 0.0, noise = 0.0;
    for (int32_t i = 0; i < e->channel_count; ++i) {
        const perpi_channel* c = &e->channel[i];
        const double w = 1.0 / (c->first_noise * c->first_noise);
        for (int32_t k = 0; k < x->data->count; ++k) {
            const perpi_errors* error = &x->error[k];
            if (!x->data->trajectory[k].held_out && !error->failed) {
                left += w * error->sum[i];
                noise += error->count[i];
                all += w * variation(x, c, &x->data->trajectory[k]);
            }
        }
    }
    if (left > WORSE * all && left > TIMES * TIMES * noise) {
        return perpi_fail(x->context, PERP_ERROR_SOLVE,
                          "the scene cannot follow the data: with the best values found, residuals "
                          "are %.3g times the noise and larger than those of a constant; check the "
                          "units, the starts, and the frame of the data",
                          sqrt(left / noise));
    }
    return PERP_OK;
}

/* ---- JSON ---------------------------------------------------------------------------------------*/

static json_t* trajectory_json(const perpi_estimate* e, const perpi_trajectory* t,
                               const perpi_errors* error)
{
    json_t *item = json_object(), *rms = json_object();
    json_object_set_new(item, "trajectory", json_integer(t->number));
    json_object_set_new(item, "rows", json_integer(t->rows));
    json_object_set_new(item, "position", perpi_json_number(error->position));
    json_object_set_new(item, "rotation_degrees", perpi_json_number(DEGREES * error->rotation));
    json_object_set_new(item, "final_position", perpi_json_number(error->last_position));
    json_object_set_new(item, "final_rotation_degrees",
                        perpi_json_number(DEGREES * error->last_rotation));
    json_object_set_new(item, "same_face",
                        isnan(error->same_face) ? json_null()
                                                : json_boolean(error->same_face == 1.0));
    for (int32_t i = 0; i < e->channel_count; ++i) {
        json_object_set_new(
            rms, e->channel[i].name,
            perpi_json_number(error->failed ? NAN : sqrt(error->sum[i] / error->count[i])));
    }
    if (e->impacts) {
        json_object_set_new(item, "kinetic_energy_error", perpi_json_number(error->energy));
    }
    json_object_set_new(item, "rms", rms);
    if (error->failed) {
        json_object_set_new(item, "failed", json_string(error->message));
    }
    return item;
}

/* Errors of trajectories, of those held out or of the others. */
static json_t* errors_json(const perp_estimate* x, bool held_out)
{
    const perpi_estimate* e = x->e;
    json_t *object = json_object(), *channels = json_object(), *list = json_array();
    summary place = {0}, turn = {0}, last_place = {0}, last_turn = {0}, energy = {0}, square = {0};
    summary face = {0};
    double certificate = 0.0;
    int64_t count = 0, failed = 0, steps = 0;
    for (int32_t k = 0; k < x->data->count; ++k) {
        const perpi_trajectory* t = &x->data->trajectory[k];
        const perpi_errors* error = &x->error[k];
        if (t->held_out != held_out) {
            continue;
        }
        ++count;
        failed += error->failed;
        summarise(&place, error->position);
        summarise(&turn, error->rotation);
        summarise(&last_place, error->last_position);
        summarise(&last_turn, error->last_rotation);
        summarise(&face, error->same_face);
        certificate = perpi_larger(certificate, error->certificate);
        steps += error->steps;
        summarise(&energy, error->energy);
        summarise(&square, error->energy * error->energy);
        json_array_append_new(list, trajectory_json(e, t, error));
    }
    for (int32_t i = 0; i < e->channel_count; ++i) {
        double sum = 0.0, number = 0.0;
        for (int32_t k = 0; k < x->data->count; ++k) {
            if (x->data->trajectory[k].held_out == held_out && !x->error[k].failed) {
                sum += x->error[k].sum[i];
                number += x->error[k].count[i];
            }
        }
        json_t* item = json_object();
        json_object_set_new(item, "rms", perpi_json_number(sqrt(sum / number)));
        json_object_set_new(item, "rms_over_noise",
                            perpi_json_number(sqrt(sum / number) / e->channel[i].noise));
        json_object_set_new(item, "values", json_integer((json_int_t)number));
        json_object_set_new(channels, e->channel[i].name, item);
    }
    json_object_set_new(object, "trajectories", json_integer(count));
    json_object_set_new(object, "failed", json_integer(failed));
    json_object_set_new(object, "position", perpi_json_number(place.sum / place.count));
    json_object_set_new(object, "rotation_degrees",
                        perpi_json_number(DEGREES * turn.sum / turn.count));
    json_object_set_new(object, "final_position",
                        perpi_json_number(last_place.sum / last_place.count));
    json_object_set_new(object, "final_rotation_degrees",
                        perpi_json_number(DEGREES * last_turn.sum / last_turn.count));
    json_object_set_new(object, "same_face", perpi_json_number(face.sum / face.count));
    if (!e->impacts) {
        json_object_set_new(object, "steps", json_integer(steps));
        json_object_set_new(object, "certificate", perpi_json_number(certificate));
    }
    if (e->impacts) { /* in the norm of the kinetic energy, relative to that before the impact */
        json_object_set_new(object, "kinetic_energy_error",
                            json_pack("{s:o, s:o, s:o}", "rms",
                                      perpi_json_number(sqrt(square.sum / square.count)), "mean",
                                      perpi_json_number(energy.sum / energy.count), "largest",
                                      perpi_json_number(energy.largest)));
    }
    json_object_set_new(object, "channels", channels);
    json_object_set_new(object, "each", list);
    return object;
}

/* Root mean squares in units of the noise, over equal parts of the longest trajectory. */
static json_t* over_time_json(const perp_estimate* x)
{
    const perpi_estimate* e = x->e;
    json_t *object = json_object(), *times = json_array(), *channels = json_object();
    double longest = 0.0;
    for (int32_t k = 0; k < x->data->count; ++k) {
        const perpi_trajectory* t = &x->data->trajectory[k];
        longest = !t->held_out && t->time[t->rows - 1] > longest ? t->time[t->rows - 1] : longest;
    }
    for (int b = 0; b < BINS; ++b) {
        json_array_append_new(times, json_real(longest * (b + 0.5) / BINS));
    }
    for (int32_t i = 0; i < e->channel_count; ++i) {
        const perpi_channel* c = &e->channel[i];
        double sum[BINS] = {0}, count[BINS] = {0};
        for (int32_t k = 0; k < x->data->count; ++k) {
            const perpi_trajectory* t = &x->data->trajectory[k];
            for (int32_t r = 0; !t->held_out && !x->error[k].failed && r < t->rows; ++r) {
                const int at = longest > 0.0 ? (int)(BINS * t->time[r] / longest) : 0;
                const int b = at < BINS ? at : BINS - 1;
                for (int32_t j = 0; j < c->width; ++j) {
                    const double v =
                        x->error[k].residual[(size_t)r * (size_t)e->width + c->first_residual + j];
                    if (!isnan(v)) {
                        sum[b] += v * v;
                        count[b] += 1.0;
                    }
                }
            }
        }
        json_t* list = json_array();
        for (int b = 0; b < BINS; ++b) {
            json_array_append_new(list, perpi_json_number(sqrt(sum[b] / count[b])));
        }
        json_object_set_new(channels, c->name, list);
    }
    json_object_set_new(object, "time", times);
    json_object_set_new(object, "rms_over_noise", channels);
    return object;
}

static json_t* interval_json(double low, double high)
{
    json_t* list = json_array();
    json_array_append_new(list, perpi_json_number(low));
    json_array_append_new(list, perpi_json_number(high));
    return list;
}

static json_t* estimates_json(const perp_estimate* x)
{
    const perpi_answer* a = x->answer;
    json_t* object = json_object();
    for (int32_t i = 0; i < a->n; ++i) {
        json_t* item = json_object();
        json_object_set_new(item, "value", perpi_json_number(a->value[i]));
        json_object_set_new(item, "interval", interval_json(a->low[i], a->high[i]));
        json_object_set_new(item, "standard_deviation",
                            perpi_json_number(sqrt(a->covariance[i * a->n + i])));
        json_object_set_new(item, "identifiable", json_boolean(a->identifiable[i]));
        json_object_set_new(item, "at_bound", json_boolean(a->at_bound[i]));
        json_object_set_new(object, x->e->parameter[i].info.name, item);
    }
    return object;
}

static json_t* correlations_json(const perp_estimate* x)
{
    const perpi_answer* a = x->answer;
    json_t* object = json_object();
    for (int32_t i = 0; i < a->n; ++i) {
        json_t* row = json_object();
        for (int32_t j = 0; j < a->n; ++j) {
            const double both = a->covariance[i * a->n + i] * a->covariance[j * a->n + j];
            json_object_set_new(row, x->e->parameter[j].info.name,
                                perpi_json_number(a->covariance[i * a->n + j] / sqrt(both)));
        }
        json_object_set_new(object, x->e->parameter[i].info.name, row);
    }
    return object;
}

static json_t* combinations_json(const perp_estimate* x)
{
    const perpi_answer* a = x->answer;
    json_t* list = json_array();
    for (int32_t k = 0; k < a->combination_count; ++k) {
        json_t* item = json_object();
        for (int32_t i = 0; i < a->n; ++i) {
            if (fabs(a->combination[k].weight[i]) > 1e-2) {
                json_object_set_new(item, x->e->parameter[i].info.name,
                                    perpi_json_number(a->combination[k].weight[i]));
            }
        }
        json_array_append_new(list, item);
    }
    return list;
}

static json_t* noise_json(const perp_estimate* x)
{
    json_t* object = json_object();
    for (int32_t i = 0; i < x->e->channel_count; ++i) {
        const perpi_channel* c = &x->e->channel[i];
        json_t* item = json_object();
        json_object_set_new(item, "value", perpi_json_number(c->noise));
        json_object_set_new(item, "given", json_boolean(c->noise_given));
        json_object_set_new(object, c->name, item);
    }
    return object;
}

static json_t* initial_json(const perp_estimate* x)
{
    static const char* const part[] = {"x",  "y",  "z",  "rx", "ry", "rz",
                                       "vx", "vy", "vz", "wx", "wy", "wz"};
    const perpi_estimate* e = x->e;
    const perp_model* model = perp_scene_model(x->study->scene);
    json_t* list = json_array();
    (void)model;
    for (int32_t k = 0; k < x->data->count; ++k) {
        if (x->data->trajectory[k].held_out) {
            continue;
        }
        json_t* item = json_object();
        json_object_set_new(item, "trajectory", json_integer(x->data->trajectory[k].number));
        for (int32_t i = 0; i < e->start_count; ++i) {
            char name[300];
            (void)snprintf(name, sizeof name, "%.200s.%s",
                           perp_model_body_name(model, e->start[i].body),
                           part[e->start[i].coordinate]);
            json_object_set_new(
                item, name,
                perpi_json_number(
                    x->answer->start[(size_t)k * (size_t)e->start_count + (size_t)i]));
        }
        json_array_append_new(list, item);
    }
    return list;
}

static json_t* series_json(const perp_estimate* x)
{
    const perpi_answer* a = x->answer;
    json_t* list = json_array();
    for (int32_t k = 0; k < a->series_count; ++k) {
        const perpi_answer_series* s = &a->series[k];
        json_t *item = json_object(), *time = json_array();
        json_object_set_new(item, "trajectory",
                            json_integer(x->data->trajectory[s->trajectory].number));
        for (int32_t r = 0; r < s->rows; ++r) {
            json_array_append_new(time, perpi_json_number(s->time[r]));
        }
        json_object_set_new(item, "time", time);
        for (int32_t i = 0; i < a->n; ++i) {
            const double* const from[] = {s->value, s->low, s->high};
            static const char* const key[] = {"value", "low", "high"};
            json_t* one = json_object();
            for (int c = 0; c < 3; ++c) {
                json_t* numbers = json_array();
                for (int32_t r = 0; r < s->rows; ++r) {
                    json_array_append_new(numbers, perpi_json_number(from[c][r * a->n + i]));
                }
                json_object_set_new(one, key[c], numbers);
            }
            json_object_set_new(item, x->e->parameter[i].info.name, one);
        }
        json_array_append_new(list, item);
    }
    return list;
}

static void answer_json(const perp_estimate* x, json_t* root)
{
    static const char* const derivatives[] = {"none", "forward", "differences"};
    const perpi_answer* a = x->answer;
    bool held_out = false;
    for (int32_t k = 0; k < x->data->count; ++k) {
        held_out = held_out || x->data->trajectory[k].held_out;
    }
    json_object_set_new(root, "method", json_string(perpi_estimate_method_word(x->e->method)));
    json_object_set_new(root, "status", json_string(a->converged ? "converged" : "not-converged"));
    json_object_set_new(root, "message", json_string(a->message));
    json_object_set_new(root, "iterations", json_integer(a->iterations));
    json_object_set_new(root, "evaluations", json_integer(a->evaluations));
    json_object_set_new(root, "runs", json_integer(a->runs));
    json_object_set_new(root, "derivatives", json_string(derivatives[a->derivative]));
    json_object_set_new(root, "flagged_steps", json_integer(a->flagged));
    json_object_set_new(root, "objective", perpi_json_number(a->objective));
    json_object_set_new(root, "degrees_of_freedom", perpi_json_number(a->degrees));
    json_object_set_new(root, "estimates", estimates_json(x));
    json_object_set_new(root, "correlations", correlations_json(x));
    json_object_set_new(root, "unidentifiable", combinations_json(x));
    json_object_set_new(root, "noise", noise_json(x));
    if (x->e->start_count > 0) {
        json_object_set_new(root, "initial", initial_json(x));
    }
    json_t* residuals = errors_json(x, false);
    json_object_set_new(residuals, "over_time", over_time_json(x));
    json_object_set_new(root, "residuals", residuals);
    json_object_set_new(root, "held_out", held_out ? errors_json(x, true) : json_null());
    if (a->series_count > 0) {
        json_object_set_new(root, "series", series_json(x));
    }
    if (a->more != NULL) {
        json_object_update_missing(root, a->more);
    }
}

perp_status perpi_report_write(perp_estimate* x)
{
    json_t* root = json_object();
    json_object_set_new(root, "study", json_string(x->study->name));
    if (x->answer != NULL) {
        answer_json(x, root);
    } else {
        json_t* errors = errors_json(x, false);
        json_object_set_new(root, "status", json_string("predicted"));
        json_object_update(root, errors);
        json_decref(errors);
    }
    x->root = root;
    return root != NULL ? PERP_OK : PERP_ERROR_MEMORY;
}

/* ---- curves -------------------------------------------------------------------------------------*/

static json_t* column_json(const double* from, int32_t columns, int32_t column, int32_t rows,
                           int32_t every)
{
    json_t* list = json_array();
    for (int32_t r = 0; r < rows; r += every) {
        json_array_append_new(
            list, perpi_json_number(from[(size_t)r * (size_t)columns + (size_t)column]));
    }
    return list;
}

perp_status perp_estimate_curves(const perp_estimate* estimate, int32_t trajectories, int32_t rows,
                                 const char** text)
{
    perp_estimate* x = (perp_estimate*)(uintptr_t)estimate;
    const perpi_estimate* e = x->e;
    json_t *root = json_object(), *columns = json_array(), *list = json_array();
    for (int32_t i = 0; i < e->channel_count; ++i) {
        for (int32_t k = 0; k < e->channel[i].columns; ++k) {
            json_t* item = json_object();
            json_object_set_new(item, "column", json_string(e->channel[i].column[k]));
            json_object_set_new(item, "channel", json_string(e->channel[i].name));
            json_object_set_new(item, "noise", perpi_json_number(e->channel[i].noise));
            json_array_append_new(columns, item);
        }
    }
    const int32_t step = x->data->count > trajectories && trajectories > 0
                             ? (x->data->count + trajectories - 1) / trajectories
                             : 1;
    for (int32_t k = 0; k < x->data->count; k += step) {
        const perpi_trajectory* t = &x->data->trajectory[k];
        const int32_t every = rows > 0 && t->rows > rows ? (t->rows + rows - 1) / rows : 1;
        json_t *item = json_object(), *data = json_array(), *fit = json_array();
        for (int32_t c = 0; c < e->columns && !x->error[k].failed; ++c) {
            json_array_append_new(data, column_json(t->value, e->columns, c, t->rows, every));
            json_array_append_new(
                fit, column_json(x->error[k].prediction, e->columns, c, t->rows, every));
        }
        json_object_set_new(item, "trajectory", json_integer(t->number));
        json_object_set_new(item, "held_out", json_boolean(t->held_out));
        json_object_set_new(item, "time", column_json(t->time, 1, 0, t->rows, every));
        json_object_set_new(item, "data", data);
        json_object_set_new(item, "fit", fit);
        json_array_append_new(list, item);
    }
    json_object_set_new(root, "columns", columns);
    json_object_set_new(root, "trajectories", list);
    free(x->curves);
    x->curves = json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(8));
    json_decref(root);
    *text = x->curves;
    return x->curves != NULL ? PERP_OK : PERP_ERROR_MEMORY;
}
