/* src/study/estimate_read.c - the keys of an estimate. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "study/estimate.h"
#include "study/estimate_inertia.h"

#define DEFAULT_ITERATIONS 200
#define DEFAULT_TOLERANCE 1e-6
#define DEFAULT_WINDOW 20
#define DEFAULT_PARTICLES 1000
/* Beyond so many standard deviations a robust loss grows less than a square: 95 % efficient for normal noise. */
#define DEFAULT_HUBER 1.345
#define DEFAULT_CAUCHY 2.385

static const char* const methods[] = {"shooting",      "mpec", "particle-filter",
                                      "moving-window", "laws", NULL};
static const char* const ours[] = {
    "data",      "time",     "rate",       "trajectory", "observe", "noise",
    "loss",      "hold_out", "horizon",    "segments",   "window",  "process_noise",
    "particles", "options",  "candidates", "start",      "seed",    NULL};

const char* perpi_estimate_method_word(perpi_estimate_method method)
{
    return methods[method];
}

bool perpi_estimate_is(const json_t* root)
{
    return json_object_get(root, "observe") != NULL || json_object_get(root, "data") != NULL;
}

perp_status perpi_estimate_refuse(perpi_reader* r, const json_t* root)
{
    for (int i = 0; ours[i] != NULL; ++i) {
        if (json_object_get(root, ours[i]) != NULL) {
            return perpi_reader_fail_key(r, ours[i], PERP_ERROR_INPUT,
                                         "is a key of an estimate, which has /observe too");
        }
    }
    return PERP_OK;
}

perp_status perpi_estimate_keep_name(perp_context* context, perpi_estimate* e, const char* text,
                                     const char** kept)
{
    char* copy = NULL;
    PERPI_TRY(perpi_grow(context, &e->name, &e->name_room, e->name_count + 1, sizeof *e->name));
    PERPI_TRY(perpi_strndup(context, text, strlen(text), &copy));
    e->name[e->name_count++] = copy;
    *kept = copy;
    return PERP_OK;
}

/* ---- unknowns -----------------------------------------------------------------------------------*/

static perp_status read_bounds(perpi_reader* r, const json_t* value, perp_unknown* u)
{
    double bound[2];
    if (json_object_get(value, "bounds") == NULL) {
        return PERP_OK;
    }
    const size_t mark = perpi_reader_enter(r, "bounds");
    PERPI_TRY(perpi_study_numbers(r, json_object_get(value, "bounds"), 2, bound));
    u->low = bound[0];
    u->high = bound[1];
    if (!(u->low < u->high)) {
        return perpi_reader_fail(
            r, PERP_ERROR_INPUT,
            "the lower bound must be less than the upper one, got %.12g and %.12g", u->low,
            u->high);
    }
    perpi_reader_leave(r, mark);
    return PERP_OK;
}

static perp_status read_positive(perpi_reader* r, const json_t* object, const char* key,
                                 double* number)
{
    const json_t* value = json_object_get(object, key);
    if (value == NULL) {
        return PERP_OK;
    }
    *number = json_number_value(value);
    if (!json_is_number(value) || !(*number > 0.0)) {
        return perpi_reader_fail_key(r, key, PERP_ERROR_INPUT, "must be a number > 0");
    }
    return PERP_OK;
}

static perp_status read_unknown(perpi_reader* r, const json_t* value, perpi_parameter* p)
{
    static const char* const keys[] = {"start", "bounds", "scale", "prior", NULL};
    perp_unknown* u = &p->info;
    PERPI_TRY(perpi_read_object(r, value, keys));
    u->start = NAN; /* of the scene */
    u->low = -INFINITY;
    u->high = INFINITY;
    u->scale = NAN;
    p->prior = NAN;
    const json_t* start = json_object_get(value, "start");
    if (start != NULL && !json_is_number(start)) {
        return perpi_reader_fail_key(r, "start", PERP_ERROR_INPUT, "must be a number, got %s",
                                     perpi_json_kind(start));
    }
    if (start != NULL) {
        u->start = json_number_value(start);
    }
    PERPI_TRY(read_bounds(r, value, u));
    PERPI_TRY(read_positive(r, value, "scale", &u->scale));
    return read_positive(r, value, "prior", &p->prior);
}

static perp_status read_unknowns(perpi_reader* r, perp_study* s)
{
    perpi_estimate* e = s->estimate;
    json_t* unknown = json_object_get(s->root, "unknown");
    if (unknown == NULL) {
        return PERP_OK; /* a fitted scene, for predictions */
    }
    const size_t mark = perpi_reader_enter(r, "unknown");
    if (!json_is_object(unknown)) {
        return perpi_reader_fail(
            r, PERP_ERROR_INPUT,
            "must be an object of unknowns, such as "
            "{\"mu\": {\"start\": 0.5, \"bounds\": [0, 1]}, \"initial\": [\"cube\"]}");
    }
    const size_t count = json_object_size(unknown);
    PERPI_TRY(
        perpi_alloc(r->context, PERPI_ESTIMATE_PARAMETERS, sizeof *e->parameter, &e->parameter));
    PERPI_TRY(perpi_alloc(r->context, count + 1, sizeof *e->inertia, &e->inertia));
    for (void* i = json_object_iter(unknown); i != NULL; i = json_object_iter_next(unknown, i)) {
        const char* name = json_object_iter_key(i);
        const json_t* value = json_object_iter_value(i);
        if (strcmp(name, "initial") == 0) {
            continue; /* needs the scene */
        }
        const size_t inner = perpi_reader_enter(r, name);
        if (e->parameter_count >= PERPI_ESTIMATE_PARAMETERS) {
            return perpi_reader_fail(r, PERP_ERROR_INPUT, "more than %d unknowns",
                                     PERPI_ESTIMATE_PARAMETERS);
        }
        if (json_object_get(value, "inertia") != NULL) {
            PERPI_TRY(perpi_inertia_read(r, value, name, &e->inertia[e->inertia_count]));
            e->inertia_count += 1;
        } else {
            perpi_parameter* p = &e->parameter[e->parameter_count];
            p->info.name = name;
            PERPI_TRY(read_unknown(r, value, p));
            e->parameter_count += 1;
        }
        perpi_reader_leave(r, inner);
    }
    perpi_reader_leave(r, mark);
    return PERP_OK;
}

/* ---- data, noise, choices -----------------------------------------------------------------------*/

static perp_status read_times(perpi_reader* r, perp_study* s)
{
    perpi_estimate* e = s->estimate;
    PERPI_TRY(perpi_read_string(r, s->root, "time", &e->time_column));
    PERPI_TRY(read_positive(r, s->root, "rate", &e->rate));
    PERPI_TRY(perpi_read_string(r, s->root, "trajectory", &e->trajectory_column));
    e->impacts = json_object_get(s->root, "after") != NULL;
    if (e->impacts && (e->time_column != NULL || e->rate > 0.0)) {
        return perpi_reader_fail_key(r, e->rate > 0.0 ? "rate" : "time", PERP_ERROR_INPUT,
                                     "the rows are impacts (/after), which have no times");
    }
    const bool none = e->time_column == NULL && !(e->rate > 0.0);
    if (!e->impacts && (none ? json_object_get(s->root, "data") != NULL
                             : e->time_column != NULL && e->rate > 0.0)) {
        return perpi_reader_fail(r, PERP_ERROR_INPUT,
                                 "must have one of /time (the name of a column) and /rate "
                                 "(rows per unit of time)%s",
                                 e->time_column != NULL ? ", not both" : "");
    }
    const json_t* data = json_object_get(s->root, "data");
    bool good = data == NULL || json_is_string(data) || json_array_size(data) > 0;
    for (size_t i = 0; i < json_array_size(data); ++i) {
        good = good && json_is_string(json_array_get(data, i));
    }
    if (!good) {
        return perpi_reader_fail_key(r, "data", PERP_ERROR_INPUT,
                                     "must be the name of a CSV file, or a list of such names");
    }
    return PERP_OK;
}

static perp_status read_loss(perpi_reader* r, perp_study* s)
{
    static const char* const words[] = {"squares", "huber", "cauchy", NULL};
    static const char* const keys[] = {"kind", "scale", NULL};
    perpi_estimate* e = s->estimate;
    const json_t* loss = json_object_get(s->root, "loss");
    int kind = PERPI_LOSS_SQUARES;
    if (json_is_object(loss)) {
        const size_t mark = perpi_reader_enter(r, "loss");
        PERPI_TRY(perpi_read_object(r, loss, keys));
        PERPI_TRY(perpi_require(r, loss, "kind"));
        PERPI_TRY(perpi_study_word(r, loss, "kind", words, &kind));
        PERPI_TRY(read_positive(r, loss, "scale", &e->loss_scale));
        perpi_reader_leave(r, mark);
    } else {
        PERPI_TRY(perpi_study_word(r, s->root, "loss", words, &kind));
    }
    e->loss = (perpi_loss)kind;
    if (!(e->loss_scale > 0.0)) {
        e->loss_scale = e->loss == PERPI_LOSS_CAUCHY ? DEFAULT_CAUCHY : DEFAULT_HUBER;
    }
    return PERP_OK;
}

static perp_status read_stop(perpi_reader* r, perp_study* s)
{
    perpi_estimate* e = s->estimate;
    e->iterations = DEFAULT_ITERATIONS;
    e->tolerance = DEFAULT_TOLERANCE;
    return perpi_study_stop(r, s, "iterations", 1000000, &e->iterations, &e->tolerance);
}

static perp_status read_start(perpi_reader* r, perp_study* s)
{
    static const char* const words[] = {"data", "scene", NULL};
    static const char* const keys[] = {"from", "rows", "flight", NULL};
    perpi_estimate* e = s->estimate;
    const json_t* start = json_object_get(s->root, "start");
    int from = 0;
    int64_t rows = 0;
    if (json_is_object(start)) {
        const size_t mark = perpi_reader_enter(r, "start");
        PERPI_TRY(perpi_read_object(r, start, keys));
        PERPI_TRY(perpi_study_word(r, start, "from", words, &from));
        PERPI_TRY(perpi_study_whole(r, start, "rows", 2, 1000, &rows));
        PERPI_TRY(perpi_read_bool(r, start, "flight", &e->start_flight));
        if (e->start_flight && (rows < 3 || from == 1)) {
            return perpi_reader_fail_key(r, "flight", PERP_ERROR_INPUT,
                                         "needs /start/rows, at least 3, and a start from data");
        }
        perpi_reader_leave(r, mark);
    } else {
        PERPI_TRY(perpi_study_word(r, s->root, "start", words, &from));
    }
    e->start_from_scene = from == 1;
    e->start_rows = (int32_t)rows;
    return PERP_OK;
}

static perp_status read_choices(perpi_reader* r, perp_study* s)
{
    perpi_estimate* e = s->estimate;
    int method = PERPI_ESTIMATE_SHOOTING;
    int64_t seed = 0, segments = 1, window = DEFAULT_WINDOW;
    PERPI_TRY(perpi_study_word(r, s->root, "method", methods, &method));
    PERPI_TRY(perpi_study_whole(r, s->root, "seed", 0, INT64_MAX, &seed));
    PERPI_TRY(perpi_study_whole(r, s->root, "segments", 1, 10000, &segments));
    PERPI_TRY(perpi_study_whole(r, s->root, "window", 2, 1000000, &window));
    e->particles = DEFAULT_PARTICLES;
    PERPI_TRY(perpi_study_whole(r, s->root, "particles", 2, 1000000000, &e->particles));
    if (e->impacts && method != PERPI_ESTIMATE_LAWS) {
        return perpi_reader_fail_key(
            r, "method", PERP_ERROR_INPUT,
            "the rows are impacts (/after): the method must be laws, got %s", methods[method]);
    }
    e->method = (perpi_estimate_method)method;
    e->seed = (uint64_t)seed;
    e->segments = (int32_t)segments;
    e->window = (int32_t)window;
    e->process_noise = json_object_get(s->root, "process_noise");
    e->options = json_object_get(s->root, "options");
    e->candidates = json_object_get(s->root, "candidates");
    PERPI_TRY(read_positive(r, s->root, "horizon", &e->horizon));
    PERPI_TRY(perpi_read_number(r, s->root, "hold_out", &e->hold_out));
    if (!(e->hold_out >= 0.0 && e->hold_out < 1.0)) {
        return perpi_reader_fail_key(r, "hold_out", PERP_ERROR_INPUT,
                                     "the part of the trajectories that is held out: must be >= 0 "
                                     "and < 1, got %.12g",
                                     e->hold_out);
    }
    return PERP_OK;
}

perp_status perpi_estimate_read(perpi_reader* r, perp_study* s)
{
    static const char* const others[] = {"vary",   "sample",     "keep",       "limit",
                                         "cases",  "minimise",   "robust",     "combine",
                                         "starts", "subject_to", "population", NULL};
    for (int i = 0; others[i] != NULL; ++i) {
        if (json_object_get(s->root, others[i]) != NULL) {
            return perpi_reader_fail_key(r, others[i], PERP_ERROR_INPUT,
                                         "is not a key of an estimate, which /observe makes it");
        }
    }
    PERPI_TRY(perpi_require(r, s->root, "observe"));
    PERPI_TRY(perpi_alloc(r->context, 1, sizeof *s->estimate, &s->estimate));
    s->estimate->data.context = r->context;
    PERPI_TRY(read_unknowns(r, s));
    PERPI_TRY(read_times(r, s));
    PERPI_TRY(read_loss(r, s));
    PERPI_TRY(read_stop(r, s));
    PERPI_TRY(read_start(r, s));
    return read_choices(r, s);
}

void perpi_estimate_destroy(perp_context* context, perpi_estimate* e)
{
    if (e == NULL) {
        return;
    }
    for (size_t i = 0; i < e->name_count; ++i) {
        perpi_free(context, e->name[i]);
    }
    perpi_free(context, e->name);
    perpi_data_destroy(&e->data);
    perpi_free(context, e->channel);
    perpi_free(context, e->parameter);
    perpi_free(context, e->start);
    perpi_free(context, e->inertia);
    perpi_free(context, e);
}
