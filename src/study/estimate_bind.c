/* src/study/estimate_bind.c - an estimate with its scene: bodies, quantities, parameters, start states, data. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "model/model.h"
#include "study/estimate.h"
#include "study/estimate_inertia.h"

static const char* const kinds[] = {"quantity", "position", "orientation", "velocity",
                                    "angular_velocity"};

typedef struct binding {
    perpi_reader* r;
    perp_study* s;
    perpi_estimate* e;
    const perp_model* model;
    bool planar;
    bool* used; /* parameters that a sensor names */
} binding;

/* ---- channels -----------------------------------------------------------------------------------*/

static perp_status find_body(const binding* b, const char* name, int32_t* body)
{
    for (int32_t i = 0; i < (int32_t)b->model->body_count; ++i) {
        if (strcmp(b->model->body[i].name, name) == 0) {
            *body = i;
            return PERP_OK;
        }
    }
    const char* best = NULL;
    for (int32_t i = 0; i < (int32_t)b->model->body_count; ++i) {
        const char* other = b->model->body[i].name;
        const char* const both[] = {best != NULL ? best : other, other, NULL};
        best = perpi_nearest(name, both);
    }
    return best != NULL
               ? perpi_reader_fail(b->r, PERP_ERROR_INPUT,
                                   "the scene has no body '%.200s' (did you mean '%.200s'?)", name,
                                   best)
               : perpi_reader_fail(b->r, PERP_ERROR_INPUT, "the scene has no body '%.200s'", name);
}

/* A number, or the name of an unknown or of a parameter of the scene: what a sensor measures and
 * what the scene is made of may be one number, as the place of a tracked point in a body whose
 * centre of mass is unknown. */
static perp_status read_sensor_number(const binding* b, const json_t* value,
                                      perpi_sensor_number* number)
{
    if (json_is_number(value)) {
        *number = (perpi_sensor_number){json_number_value(value), -1};
        return PERP_OK;
    }
    const int32_t scene_index =
        json_is_string(value) ? perp_scene_parameter_find(b->s->scene, json_string_value(value))
                              : -1;
    for (int32_t i = 0; json_is_string(value) && i < b->e->parameter_count; ++i) {
        perpi_parameter* p = &b->e->parameter[i];
        if (p->kind != PERPI_PARAMETER_INERTIA &&
            strcmp(p->info.name, json_string_value(value)) == 0) {
            number->parameter = i;
            if (scene_index < 0) {
                p->kind = PERPI_PARAMETER_SENSOR;
            }
            return PERP_OK;
        }
    }
    if (scene_index >= 0) {
        *number = (perpi_sensor_number){perp_scene_parameter(b->s->scene, scene_index).value, -1};
        return PERP_OK;
    }
    return json_is_string(value)
               ? perpi_reader_fail(b->r, PERP_ERROR_INPUT,
                                   "no '%.200s' in /unknown, nor in the parameters of the scene",
                                   json_string_value(value))
               : perpi_reader_fail(b->r, PERP_ERROR_INPUT,
                                   "must be a number or the name of an unknown, got %s",
                                   perpi_json_kind(value));
}

static perp_status read_sensor_vector(const binding* b, const json_t* object, const char* key,
                                      int32_t count, perpi_sensor_number* number)
{
    const json_t* value = json_object_get(object, key);
    if (value == NULL) {
        return PERP_OK;
    }
    const size_t mark = perpi_reader_enter(b->r, key);
    if (count == 1 && !json_is_array(value)) {
        PERPI_TRY(read_sensor_number(b, value, number));
    } else if (json_array_size(value) != (size_t)count) {
        return perpi_reader_fail(b->r, PERP_ERROR_INPUT, "must have %d number%s", count,
                                 count == 1 ? "" : "s");
    }
    for (size_t i = 0; i < json_array_size(value); ++i) {
        const size_t inner = perpi_reader_enter_item(b->r, i);
        PERPI_TRY(read_sensor_number(b, json_array_get(value, i), &number[i]));
        perpi_reader_leave(b->r, inner);
    }
    perpi_reader_leave(b->r, mark);
    return PERP_OK;
}

static perp_status read_sensor(const binding* b, const json_t* value, perpi_channel* c)
{
    static const char* const all[] = {"scale", "offset", "at", "rotation", NULL};
    const json_t* sensor = json_object_get(value, "sensor");
    c->scale = (perpi_sensor_number){1.0, -1};
    for (int i = 0; i < 3; ++i) {
        c->offset[i] = c->at[i] = c->turn[i] = (perpi_sensor_number){0.0, -1};
    }
    if (sensor == NULL) {
        return PERP_OK;
    }
    const size_t mark = perpi_reader_enter(b->r, "sensor");
    PERPI_TRY(perpi_read_object(b->r, sensor, all));
    const bool turned = c->kind == PERPI_CHANNEL_ORIENTATION;
    const bool point = c->kind == PERPI_CHANNEL_POSITION || c->kind == PERPI_CHANNEL_VELOCITY;
    const char* const wrong = !point && json_object_get(sensor, "at")          ? "at"
                              : !turned && json_object_get(sensor, "rotation") ? "rotation"
                              : turned && json_object_get(sensor, "scale")     ? "scale"
                              : turned && json_object_get(sensor, "offset")    ? "offset"
                                                                               : NULL;
    if (wrong != NULL) {
        return perpi_reader_fail_key(b->r, wrong, PERP_ERROR_INPUT,
                                     "not of this channel: 'at' is of a position or velocity, "
                                     "'rotation' of an orientation, 'scale' and "
                                     "'offset' of all others");
    }
    PERPI_TRY(read_sensor_vector(b, sensor, "scale", 1, &c->scale));
    PERPI_TRY(read_sensor_vector(b, sensor, "offset", c->width, c->offset));
    PERPI_TRY(read_sensor_vector(b, sensor, "at", b->planar ? 2 : 3, c->at));
    PERPI_TRY(read_sensor_vector(b, sensor, "rotation", b->planar ? 1 : 3,
                                 b->planar ? &c->turn[2] : c->turn));
    c->has_sensor = true;
    perpi_reader_leave(b->r, mark);
    return PERP_OK;
}

/* Which coordinate of its body's start a quantity is. */
static int32_t start_coordinate(const binding* b, const perp_quantity* q)
{
    static const struct {
        const char* name;
        int32_t first;
    } group[] = {{"position", 0}, {"angle", 5}, {"velocity", 6}, {"angular_velocity", 9}};
    char text[512];
    if (q->owner < 0 || q->second >= 0 ||
        (q->kind != PERP_QUANTITY_POSITION && q->kind != PERP_QUANTITY_ANGLE &&
         q->kind != PERP_QUANTITY_VELOCITY && q->kind != PERP_QUANTITY_SPIN)) {
        return -1;
    }
    for (size_t g = 0; g < sizeof group / sizeof group[0]; ++g) {
        perp_quantity found[8];
        int32_t count = 0;
        (void)snprintf(text, sizeof text, "[%s].%s", b->model->body[q->owner].name, group[g].name);
        if (perp_quantity_find(b->s->context, b->model, text, found, 8, &count) != PERP_OK) {
            continue;
        }
        for (int32_t i = 0; i < count && i < 8; ++i) {
            if (found[i].entry == q->entry && found[i].owner == q->owner) {
                return group[g].first + (count == 1 && group[g].first == 9 ? 2 : i);
            }
        }
    }
    return -1;
}

static perp_status bind_quantity(const binding* b, const char* name, perpi_channel* c)
{
    int32_t count = 0;
    const perp_status status =
        perp_quantity_find(b->r->context, b->model, name, &c->quantity, 1, &count);
    if (status != PERP_OK) {
        char message[1024];
        (void)snprintf(message, sizeof message, "%s", perp_context_error(b->r->context));
        return perpi_reader_fail(b->r, status, "%s", message);
    }
    if (count != 1) {
        return perpi_reader_fail(b->r, PERP_ERROR_INPUT,
                                 "'%.200s' is %d quantities: name one of them, or write "
                                 "{\"position\": BODY, \"columns\": [...]}",
                                 name, count);
    }
    c->kind = PERPI_CHANNEL_QUANTITY;
    c->columns = c->width = 1;
    c->body = c->quantity.owner;
    c->start_coordinate = start_coordinate(b, &c->quantity);
    return PERP_OK;
}

static perp_status bind_columns(const binding* b, const json_t* value, perpi_channel* c)
{
    const json_t* list = json_object_get(value, "columns");
    const char* one = NULL;
    if (c->columns == 1 && list == NULL) {
        PERPI_TRY(perpi_read_string(b->r, value, "column", &one));
        c->column[0] = one != NULL ? one : c->name;
        return PERP_OK;
    }
    const size_t mark = perpi_reader_enter(b->r, "columns");
    if (json_array_size(list) != (size_t)c->columns) {
        return perpi_reader_fail(b->r, PERP_ERROR_INPUT, "must be a list of %d names of columns%s",
                                 c->columns, c->columns == 4 ? " (the quaternion w, x, y, z)" : "");
    }
    for (int32_t i = 0; i < c->columns; ++i) {
        c->column[i] = json_string_value(json_array_get(list, (size_t)i));
        if (c->column[i] == NULL) {
            (void)perpi_reader_enter_item(b->r, (size_t)i);
            return perpi_reader_fail(b->r, PERP_ERROR_INPUT, "must be the name of a column");
        }
    }
    perpi_reader_leave(b->r, mark);
    return PERP_OK;
}

static perp_status bind_channel(const binding* b, const json_t* value, perpi_channel* c)
{
    static const char* const keys[] = {"quantity",         "position", "orientation", "velocity",
                                       "angular_velocity", "column",   "columns",     "frame",
                                       "sensor",           NULL};
    static const char* const frames[] = {"world", "body", NULL};
    c->body = c->start_coordinate = -1;
    c->noise = NAN;
    if (json_is_string(value)) {
        c->column[0] = c->name;
        PERPI_TRY(bind_quantity(b, json_string_value(value), c));
        return read_sensor(b, NULL, c);
    }
    PERPI_TRY(perpi_read_object(b->r, value, keys));
    int kind = -1;
    for (int i = 0; i < 5; ++i) {
        if (json_object_get(value, kinds[i]) != NULL) {
            if (kind >= 0) {
                return perpi_reader_fail(b->r, PERP_ERROR_INPUT, "has both %s and %s", kinds[kind],
                                         kinds[i]);
            }
            kind = i;
        }
    }
    if (kind < 0) {
        return perpi_reader_fail(b->r, PERP_ERROR_INPUT,
                                 "must have one of quantity, position, orientation, velocity, "
                                 "angular_velocity");
    }
    const char* name = NULL;
    PERPI_TRY(perpi_read_string(b->r, value, kinds[kind], &name));
    const size_t mark = perpi_reader_enter(b->r, kinds[kind]);
    if (kind == PERPI_CHANNEL_QUANTITY) {
        PERPI_TRY(bind_quantity(b, name, c));
    } else {
        PERPI_TRY(find_body(b, name, &c->body));
        const bool turns =
            kind == PERPI_CHANNEL_ORIENTATION || kind == PERPI_CHANNEL_ANGULAR_VELOCITY;
        c->kind = (perpi_channel_kind)kind;
        c->width = !b->planar ? 3 : turns ? 1 : 2;
        c->columns = kind == PERPI_CHANNEL_ORIENTATION && !b->planar ? 4 : c->width;
    }
    perpi_reader_leave(b->r, mark);
    int frame = 0;
    PERPI_TRY(perpi_study_word(b->r, value, "frame", frames, &frame));
    if (frame == 1 && kind != PERPI_CHANNEL_VELOCITY && kind != PERPI_CHANNEL_ANGULAR_VELOCITY) {
        return perpi_reader_fail_key(b->r, "frame", PERP_ERROR_INPUT,
                                     "is of velocities and angular velocities");
    }
    c->body_frame = frame == 1;
    PERPI_TRY(bind_columns(b, value, c));
    return read_sensor(b, value, c);
}

static perp_status bind_channels(const binding* b)
{
    perpi_estimate* e = b->e;
    json_t* observe = json_object_get(b->s->root, "observe");
    const size_t mark = perpi_reader_enter(b->r, "observe");
    if (!json_is_object(observe) || json_object_size(observe) == 0 ||
        json_object_size(observe) > PERPI_ESTIMATE_CHANNELS) {
        return perpi_reader_fail(b->r, PERP_ERROR_INPUT,
                                 "must be an object with 1 to %d channels, such as "
                                 "{\"x\": \"cube.position.x\"}",
                                 PERPI_ESTIMATE_CHANNELS);
    }
    PERPI_TRY(
        perpi_alloc(b->r->context, json_object_size(observe), sizeof *e->channel, &e->channel));
    for (void* i = json_object_iter(observe); i != NULL; i = json_object_iter_next(observe, i)) {
        perpi_channel* c = &e->channel[e->channel_count];
        c->name = json_object_iter_key(i);
        const size_t inner = perpi_reader_enter(b->r, c->name);
        PERPI_TRY(bind_channel(b, json_object_iter_value(i), c));
        c->first_column = e->columns;
        c->first_residual = e->width;
        e->columns += c->columns;
        e->width += c->width;
        e->channel_count += 1;
        perpi_reader_leave(b->r, inner);
    }
    perpi_reader_leave(b->r, mark);
    return PERP_OK;
}

/* Columns after an impact: {"v": ["vx1", "vy1"], "w": "w1"}. */
static perp_status bind_after(const binding* b)
{
    perpi_estimate* e = b->e;
    const json_t* after = json_object_get(b->s->root, "after");
    const char* names[PERPI_ESTIMATE_CHANNELS + 1] = {NULL};
    if (after == NULL) {
        return PERP_OK;
    }
    const size_t mark = perpi_reader_enter(b->r, "after");
    for (int32_t i = 0; i < e->channel_count; ++i) {
        names[i] = e->channel[i].name;
    }
    PERPI_TRY(perpi_read_object(b->r, after, names));
    for (int32_t i = 0; i < e->channel_count; ++i) {
        perpi_channel* c = &e->channel[i];
        const json_t* value = json_object_get(after, c->name);
        if (value == NULL) {
            continue;
        }
        const size_t inner = perpi_reader_enter(b->r, c->name);
        bool good = c->columns == 1 ? json_is_string(value) || json_array_size(value) == 1
                                    : json_array_size(value) == (size_t)c->columns;
        for (int32_t k = 0; good && k < c->columns; ++k) {
            c->after[k] =
                json_string_value(json_is_array(value) ? json_array_get(value, (size_t)k) : value);
            good = c->after[k] != NULL;
        }
        if (!good) {
            return perpi_reader_fail(b->r, PERP_ERROR_INPUT,
                                     "must be a list of %d names of columns, as the channel has",
                                     c->columns);
        }
        perpi_reader_leave(b->r, inner);
    }
    perpi_reader_leave(b->r, mark);
    return PERP_OK;
}

static perp_status bind_noise(const binding* b)
{
    perpi_estimate* e = b->e;
    const json_t* noise = json_object_get(b->s->root, "noise");
    if (noise == NULL) {
        return PERP_OK;
    }
    const size_t mark = perpi_reader_enter(b->r, "noise");
    const char* names[PERPI_ESTIMATE_CHANNELS + 1] = {NULL};
    for (int32_t i = 0; i < e->channel_count; ++i) {
        names[i] = e->channel[i].name;
    }
    if (!json_is_number(noise)) {
        PERPI_TRY(perpi_read_object(b->r, noise, names));
    }
    for (int32_t i = 0; i < e->channel_count; ++i) {
        perpi_channel* c = &e->channel[i];
        const json_t* value = json_is_number(noise) ? noise : json_object_get(noise, c->name);
        if (value == NULL) {
            continue;
        }
        c->noise = json_number_value(value);
        c->noise_given = true;
        if (!json_is_number(value) || !(c->noise > 0.0)) {
            return perpi_reader_fail_key(b->r, c->name, PERP_ERROR_INPUT,
                                         "a standard deviation: must be a number > 0");
        }
    }
    perpi_reader_leave(b->r, mark);
    return PERP_OK;
}

/* ---- parameters ---------------------------------------------------------------------------------*/

/* The value at a JSON pointer; NULL: none. */
static const json_t* place_at(const json_t* root, const char* name)
{
    const json_t* at = root;
    for (const char* key = name; at != NULL && *key == '/';) {
        char part[256];
        const size_t length = strcspn(key + 1, "/");
        (void)snprintf(part, sizeof part, "%.*s", (int)length, key + 1);
        at = json_is_array(at) ? json_array_get(at, (size_t)strtoul(part, NULL, 10))
                               : json_object_get(at, part);
        key += 1 + length;
    }
    return at;
}

/* The number of the scene that a name stands for; NaN: none, or not a number. */
static double scene_number(const perp_scene* scene, const char* name)
{
    const int32_t index = perp_scene_parameter_find(scene, name);
    if (index >= 0) {
        return perp_scene_parameter(scene, index).value;
    }
    json_t* root = json_loads(perp_scene_source(scene), 0, NULL);
    const json_t* at = place_at(root, name);
    const double value = json_is_number(at) ? json_number_value(at) : NAN;
    json_decref(root);
    return value;
}

static perp_status set_number(const binding* b, const char* name, double value)
{
    const perp_status status = perp_scene_set_number(b->s->scene, name, value);
    if (status != PERP_OK) {
        char message[1024];
        (void)snprintf(message, sizeof message, "%s", perp_context_error(b->r->context));
        return perpi_reader_fail(b->r, status, "%s%s", message,
                                 name[0] != '/' ? "; and no sensor names it" : "");
    }
    return PERP_OK;
}

static perp_status bind_parameter(const binding* b, perpi_parameter* p)
{
    perp_unknown* u = &p->info;
    if (isnan(u->start)) {
        u->start = p->kind == PERPI_PARAMETER_SENSOR ? 0.0 : scene_number(b->s->scene, u->name);
    }
    if (isnan(u->start)) {
        PERPI_TRY(set_number(b, u->name, 1.0)); /* fails if there is nothing of that name */
        return perpi_reader_fail_key(b->r, "start", PERP_ERROR_INPUT,
                                     "is missing, and the scene has no number to begin with");
    }
    if (!(u->start >= u->low && u->start <= u->high)) {
        return perpi_reader_fail_key(b->r, "start", PERP_ERROR_INPUT,
                                     "must be within the bounds, %.12g to %.12g, got %.12g", u->low,
                                     u->high, u->start);
    }
    if (!(u->scale > 0.0)) {
        const double range = u->high - u->low;
        u->scale = u->start != 0.0 ? fabs(u->start) : isfinite(range) ? 0.1 * range : 1.0;
        if (isfinite(range) && u->scale > range) {
            u->scale = range;
        }
    }
    return p->kind == PERPI_PARAMETER_SCENE ? set_number(b, u->name, u->start) : PERP_OK;
}

static perp_status bind_parameters(const binding* b)
{
    perpi_estimate* e = b->e;
    const size_t mark = perpi_reader_enter(b->r, "unknown");
    for (int32_t i = 0; i < e->parameter_count; ++i) {
        const size_t inner = perpi_reader_enter(b->r, e->parameter[i].info.name);
        PERPI_TRY(bind_parameter(b, &e->parameter[i]));
        perpi_reader_leave(b->r, inner);
    }
    perpi_reader_leave(b->r, mark);
    if (perp_scene_rebuild(b->s->scene) != PERP_OK) {
        char message[1024];
        (void)snprintf(message, sizeof message, "%s", perp_context_error(b->r->context));
        return perpi_reader_fail_key(b->r, "unknown", PERP_ERROR_INPUT,
                                     "the scene cannot be built with the starts: %s", message);
    }
    return PERP_OK;
}

/* ---- start states -------------------------------------------------------------------------------*/

/* A standard deviation, 0 (known) or null (free). */
static perp_status read_prior(const binding* b, const json_t* item, double* prior)
{
    if (json_is_null(item)) {
        return PERP_OK;
    }
    *prior = json_number_value(item);
    return json_is_number(item) && *prior >= 0.0
               ? PERP_OK
               : perpi_reader_fail(b->r, PERP_ERROR_INPUT,
                                   "the standard deviation of a prior: must be a number > 0, 0 for "
                                   "a start that is known, or null for a free one");
}

/* One number for all axes, or one for each. */
static perp_status read_priors(const binding* b, const json_t* value, int32_t count, double* prior)
{
    if (!json_is_array(value)) {
        PERPI_TRY(read_prior(b, value, &prior[0]));
        for (int32_t i = 1; i < count; ++i) {
            prior[i] = prior[0];
        }
        return PERP_OK;
    }
    if (json_array_size(value) != (size_t)count) {
        return perpi_reader_fail(b->r, PERP_ERROR_INPUT, "must be a number, or a list of %d",
                                 (int)count);
    }
    for (int32_t i = 0; i < count; ++i) {
        const size_t mark = perpi_reader_enter_item(b->r, (size_t)i);
        PERPI_TRY(read_prior(b, json_array_get(value, (size_t)i), &prior[i]));
        perpi_reader_leave(b->r, mark);
    }
    return PERP_OK;
}

static perp_status add_initial(const binding* b, int32_t body, const json_t* value)
{
    static const char* const groups[] = {"position", "rotation", "velocity", "angular_velocity",
                                         NULL};
    perpi_estimate* e = b->e;
    if (value != NULL) {
        PERPI_TRY(perpi_read_object(b->r, value, groups));
    }
    for (int32_t g = 0; g < 4; ++g) {
        const bool turns = g % 2 == 1;
        const int32_t count = !b->planar ? 3 : turns ? 1 : 2;
        const json_t* item = json_object_get(value, groups[g]);
        double prior[3] = {NAN, NAN, NAN};
        if (item != NULL) {
            const size_t mark = perpi_reader_enter(b->r, groups[g]);
            PERPI_TRY(read_priors(b, item, count, prior));
            perpi_reader_leave(b->r, mark);
        }
        for (int32_t i = 0; i < count; ++i) {
            if (prior[i] == 0.0 || (turns && b->model->body[body].particle)) {
                continue;
            }
            e->start[e->start_count++] =
                (perpi_start){.body = body,
                              .coordinate = 3 * g + (b->planar && turns ? 2 : i),
                              .prior = prior[i]};
        }
    }
    return PERP_OK;
}

static perp_status bind_body_initial(const binding* b, const char* name, const json_t* value)
{
    int32_t body = -1;
    PERPI_TRY(find_body(b, name, &body));
    for (int32_t i = 0; i < b->e->start_count; ++i) {
        if (b->e->start[i].body == body) {
            return perpi_reader_fail(b->r, PERP_ERROR_INPUT, "'%s' is named twice", name);
        }
    }
    if (b->model->body[body].type != PERP_BODY_DYNAMIC) {
        return perpi_reader_fail(b->r, PERP_ERROR_INPUT,
                                 "'%s' is not dynamic: its motion is prescribed", name);
    }
    if (b->model->body[body].joints > 0) {
        return perpi_reader_fail(
            b->r, PERP_ERROR_INPUT,
            "'%s' has joints, which its start must not part: a body with joints "
            "starts as the scene says",
            name);
    }
    return add_initial(b, body, value);
}

/* Segments begin anywhere, with states that are unknowns: joints would have to hold there. */
static perp_status check_segments(const binding* b)
{
    for (size_t i = 0; b->e->segments > 1 && i < b->model->body_count; ++i) {
        if (b->model->body[i].joints > 0) {
            return perpi_reader_fail_key(b->r, "segments", PERP_ERROR_INPUT,
                                         "body '%s' has joints: a scene with joints is one segment",
                                         b->model->body[i].name);
        }
    }
    return PERP_OK;
}

static perp_status bind_initial(const binding* b)
{
    perpi_estimate* e = b->e;
    json_t* initial = json_object_get(json_object_get(b->s->root, "unknown"), "initial");
    if (initial == NULL) {
        return PERP_OK;
    }
    (void)perpi_reader_enter(b->r, "unknown");
    const size_t mark = perpi_reader_enter(b->r, "initial");
    const size_t count =
        json_is_array(initial) ? json_array_size(initial) : json_object_size(initial);
    if ((!json_is_array(initial) && !json_is_object(initial)) || count == 0) {
        return perpi_reader_fail(b->r, PERP_ERROR_INPUT,
                                 "must be a list of bodies whose start is unknown, or an object of "
                                 "them with standard deviations of priors, such as "
                                 "{\"cube\": {\"position\": 0.001, \"velocity\": 0.1}}");
    }
    PERPI_TRY(
        perpi_alloc(b->r->context, count * PERPI_START_COORDINATES, sizeof *e->start, &e->start));
    for (size_t i = 0; i < json_array_size(initial); ++i) {
        const char* name = json_string_value(json_array_get(initial, i));
        const size_t inner = perpi_reader_enter_item(b->r, i);
        if (name == NULL) {
            return perpi_reader_fail(b->r, PERP_ERROR_INPUT, "must be the name of a body");
        }
        PERPI_TRY(bind_body_initial(b, name, NULL));
        perpi_reader_leave(b->r, inner);
    }
    for (void* i = json_object_iter(initial); i != NULL; i = json_object_iter_next(initial, i)) {
        const size_t inner = perpi_reader_enter(b->r, json_object_iter_key(i));
        PERPI_TRY(bind_body_initial(b, json_object_iter_key(i), json_object_iter_value(i)));
        perpi_reader_leave(b->r, inner);
    }
    perpi_reader_leave(b->r, mark);
    b->r->path_length = 0;
    b->r->path[0] = '\0';
    if (!e->start_from_scene && e->start_rows == 0) {
        e->start_rows = 3; /* a better place to begin than the scene's velocities */
    }
    return PERP_OK;
}

/* ---- data ---------------------------------------------------------------------------------------*/

static perp_status read_file(const binding* b, const char* name)
{
    char* path = NULL;
    PERPI_TRY(perpi_file_beside(b->r->context, b->s->origin, name, &path));
    const perp_status status = perpi_data_read(b->r->context, b->e, path, &b->e->data);
    perpi_free(b->r->context, path);
    return status;
}

/* Trajectories that are fitted end at the horizon; those that are held out are predicted to their ends. */
static void end_at_horizon(perpi_estimate* e)
{
    for (int32_t i = 0; e->horizon > 0.0 && i < e->data.count; ++i) {
        perpi_trajectory* t = &e->data.trajectory[i];
        while (!t->held_out && t->rows > 1 && t->time[t->rows - 1] > e->horizon * (1.0 + 1e-9)) {
            t->rows -= 1;
        }
    }
}

static perp_status bind_data(const binding* b)
{
    const json_t* data = json_object_get(b->s->root, "data");
    if (json_is_string(data)) {
        PERPI_TRY(read_file(b, json_string_value(data)));
    }
    for (size_t i = 0; i < json_array_size(data); ++i) {
        PERPI_TRY(read_file(b, json_string_value(json_array_get(data, i))));
    }
    PERPI_TRY(perpi_data_hold_out(b->r->context, b->e, &b->e->data));
    end_at_horizon(b->e);
    perpi_data_guess_noise(b->e);
    return PERP_OK;
}

/* Whether an unknown is of a body or joint that the scene has from another file or as a copy. */
static bool names_included(const perpi_estimate* e, const json_t* root)
{
    const json_t* bodies = json_object_get(root, "bodies");
    bool missing = false;
    for (int32_t i = 0; i < e->parameter_count; ++i) {
        const char* name = e->parameter[i].info.name;
        const bool part = strncmp(name, "/bodies/", 8) == 0 || strncmp(name, "/joints/", 8) == 0;
        missing = missing || (part && place_at(root, name) == NULL);
    }
    for (int32_t i = 0; i < e->inertia_count; ++i) {
        bool found = false;
        for (size_t k = 0; k < json_array_size(bodies); ++k) {
            const char* name =
                json_string_value(json_object_get(json_array_get(bodies, k), "name"));
            found = found || (name != NULL && strcmp(name, e->inertia[i].body) == 0);
        }
        missing = missing || !found;
    }
    return missing;
}

/* Such unknowns are places of the scene as it is simulated, in which everything is written out. */
static perp_status write_out_included(perp_study* s)
{
    json_t* root = json_loads(perp_scene_source(s->scene), 0, NULL);
    perp_status status = PERP_OK;
    if (names_included(s->estimate, root)) {
        json_t* built = json_loads(perp_scene_text(s->scene), 0, NULL);
        if (built != NULL && !json_equal(root, built)) {
            status = perpi_estimate_replace_scene(s, built);
        }
        json_decref(built);
    }
    json_decref(root);
    return status;
}

perp_status perpi_estimate_bind(perpi_reader* r, perp_study* s)
{
    binding b = {.r = r, .s = s, .e = s->estimate};
    PERPI_TRY(write_out_included(s));
    for (int32_t i = 0; i < b.e->inertia_count; ++i) {
        PERPI_TRY(perpi_inertia_bind(r, s, &b.e->inertia[i]));
    }
    b.model = perp_scene_model(s->scene);
    b.planar = perp_model_dimension(b.model) == 2;
    PERPI_TRY(bind_channels(&b));
    PERPI_TRY(bind_after(&b));
    PERPI_TRY(bind_noise(&b));
    PERPI_TRY(bind_parameters(&b));
    b.model = perp_scene_model(s->scene); /* it was built anew */
    PERPI_TRY(bind_initial(&b));
    PERPI_TRY(check_segments(&b));
    return bind_data(&b);
}
