/* src/scene/reader.c - see reader.h. */
#include "scene/reader.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scene/parameter.h"

/* ---- the current place ------------------------------------------------------------------------ */

/* A path that does not fit is truncated: it is only used in messages. */
static void append(perpi_reader* r, char c)
{
    if (r->path_length + 1 < sizeof r->path) {
        r->path[r->path_length++] = c;
        r->path[r->path_length] = '\0';
    }
}

size_t perpi_reader_enter(perpi_reader* r, const char* key)
{
    const size_t mark = r->path_length;
    append(r, '/');
    for (; *key != '\0'; ++key) {
        if (*key == '~' || *key == '/') {
            append(r, '~');
            append(r, *key == '~' ? '0' : '1');
        } else {
            append(r, *key);
        }
    }
    return mark;
}

size_t perpi_reader_enter_item(perpi_reader* r, size_t index)
{
    char text[32]; /* from its end */
    size_t n = sizeof text - 1;
    text[n] = '\0';
    do { /* snprintf took a tenth of the time of building a scene */
        text[--n] = (char)('0' + index % 10);
        index /= 10;
    } while (index > 0);
    return perpi_reader_enter(r, text + n);
}

void perpi_reader_leave(perpi_reader* r, size_t mark)
{
    r->path_length = mark;
    r->path[mark] = '\0';
}

/* Where the path "/bodies/57/mass" of an expanded scene comes from: the place of the item in its file, and
 * which copy it is. *rest: what remains of the path. NULL: it is in the file as it is. */
static const char* place_in_file(const perpi_reader* r, const char** rest, const char** note)
{
    char list[32];
    const char* key = r->path_length > 0 ? r->path + 1 : "";
    const size_t n = strcspn(key, "/");
    if (r->places == NULL || n >= sizeof list || key[n] != '/') {
        return NULL;
    }
    memcpy(list, key, n);
    list[n] = '\0';
    char* end = NULL;
    const unsigned long index = strtoul(key + n + 1, &end, 10);
    const json_t* item = json_array_get(json_object_get(r->places, list), index);
    *rest = end;
    *note = json_string_value(json_array_get(item, 1));
    return json_string_value(json_array_get(item, 0));
}

static perp_status fail_with(perpi_reader* r, perp_status status, const char* format, va_list args)
{
    char message[1024];
    vsnprintf(message, sizeof message, format, args);
    const char *rest, *note = NULL, *place = place_in_file(r, &rest, &note);
    if (place != NULL) {
        return perpi_fail(r->context, status, "%s: %s%s: %s%s%s", r->origin, place, rest,
                          note != NULL ? note : "", note != NULL ? ": " : "", message);
    }
    return perpi_fail(r->context, status, "%s: %s%s%s", r->origin, r->path,
                      r->path_length > 0 ? ": " : "", message);
}

perp_status perpi_reader_fail(perpi_reader* r, perp_status status, const char* format, ...)
{
    va_list args;
    va_start(args, format);
    fail_with(r, status, format, args);
    va_end(args);
    return status;
}

perp_status perpi_reader_fail_key(perpi_reader* r, const char* key, perp_status status,
                                  const char* format, ...)
{
    const size_t mark = perpi_reader_enter(r, key);
    va_list args;
    va_start(args, format);
    fail_with(r, status, format, args);
    va_end(args);
    perpi_reader_leave(r, mark);
    return status;
}

/* The length of "shapes/0" in "shapes/0: ..."; 0 if no member's name stands there. */
static size_t member_length(const char* message)
{
    const size_t n = strspn(message, "abcdefghijklmnopqrstuvwxyz_/0123456789");
    return n > 0 && message[n] == ':' && message[n + 1] == ' ' ? n : 0;
}

perp_status perpi_reader_fail_member(perpi_reader* r, perp_status status)
{
    if (status != PERP_ERROR_INPUT && status != PERP_ERROR_UNSUPPORTED) {
        return status;
    }
    char message[1024];
    snprintf(message, sizeof message, "%s", perp_context_error(r->context));
    const char* rest = message;
    /* "body 'x': motion/position/0: ...": the pointer already names the body */
    const char* quoted = strncmp(rest, "body '", 6) == 0 ? strstr(rest, "': ") : NULL;
    rest = quoted != NULL ? quoted + 3 : rest;
    /* "shapes/0: radius: must be > 0" names the member in two parts */
    for (size_t n = member_length(rest); n > 0; n = member_length(rest)) {
        append(r, '/');
        for (size_t i = 0; i < n; ++i) {
            append(r, rest[i]);
        }
        rest += n + 2;
    }
    return perpi_reader_fail(r, status, "%s", rest);
}

/* ---- getters -----------------------------------------------------------------------------------*/

const char* perpi_json_kind(const json_t* value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT: return "an object";
    case JSON_ARRAY: return "an array";
    case JSON_STRING: return "a string";
    case JSON_INTEGER:
    case JSON_REAL: return "a number";
    case JSON_TRUE: return "true";
    case JSON_FALSE: return "false";
    case JSON_NULL: return "null";
    }
    return "nothing";
}

static perp_status unknown_key(perpi_reader* r, const char* key, const char* const* known)
{
    const char* nearest = perpi_nearest(key, known);
    if (nearest != NULL) {
        return perpi_reader_fail(r, PERP_ERROR_INPUT, "unknown key '%.80s': did you mean '%s'?",
                                 key, nearest);
    }
    char list[640] = "";
    size_t n = 0;
    for (size_t i = 0; known[i] != NULL && n < sizeof list; ++i) {
        const int written =
            snprintf(list + n, sizeof list - n, "%s%s", i > 0 ? ", " : "", known[i]);
        n += written > 0 ? (size_t)written : 0;
    }
    return perpi_reader_fail(r, PERP_ERROR_INPUT, "unknown key '%.80s': known here are %s", key,
                             list);
}

perp_status perpi_read_object(perpi_reader* r, const json_t* value, const char* const* known)
{
    if (!json_is_object(value)) {
        return perpi_reader_fail(r, PERP_ERROR_INPUT, "must be an object, got %s",
                                 perpi_json_kind(value));
    }
    json_t* object = (json_t*)value; /* jansson iterates over a non-const object only */
    for (void* i = json_object_iter(object); i != NULL; i = json_object_iter_next(object, i)) {
        const char* key = json_object_iter_key(i);
        size_t k = 0;
        while (known[k] != NULL && strcmp(known[k], key) != 0) {
            ++k;
        }
        if (known[k] == NULL) {
            return unknown_key(r, key, known);
        }
    }
    return PERP_OK;
}

perp_status perpi_read_array(perpi_reader* r, const json_t* value)
{
    if (json_is_array(value)) {
        return PERP_OK;
    }
    return perpi_reader_fail(r, PERP_ERROR_INPUT, "must be an array, got %s",
                             perpi_json_kind(value));
}

perp_status perpi_require(perpi_reader* r, const json_t* object, const char* key)
{
    if (json_object_get(object, key) != NULL) {
        return PERP_OK;
    }
    return perpi_reader_fail(r, PERP_ERROR_INPUT, "missing key '%s'", key);
}

/* nan, inf or 1e400 from the command line: not JSON, so it is a string. */
static bool is_infinite_text(const json_t* value)
{
    const char* text = json_is_string(value) ? json_string_value(value) : "";
    char* end;
    const double number = strtod(text, &end);
    return end != text && *end == '\0' && !isfinite(number);
}

/* At a string that must be an expression of parameters. */
static perp_status read_constant(perpi_reader* r, const json_t* value, const char* what,
                                 double* number)
{
    const char* given = json_string_value(value);
    const char* none = NULL;
    double x = NAN;
    if (given[0] == '\0') {
        return perpi_reader_fail(r, PERP_ERROR_INPUT, "%s, got a string", what);
    }
    const perp_status status = perpi_read_expression(r, given, true, &x, &none);
    if (status == PERP_ERROR_INPUT) {
        char message[1024];
        snprintf(message, sizeof message, "%.1000s", perp_context_error(r->context));
        return perpi_reader_fail(r, status, "%s, got a string: %s", what, message);
    }
    if (status == PERP_OK && !isfinite(x)) {
        return perpi_reader_fail(r, PERP_ERROR_INPUT, "%s, got a string: '%.80s' is %g", what,
                                 given, x);
    }
    *number = status == PERP_OK ? x : *number;
    return status;
}

perp_status perpi_read_item(perpi_reader* r, const json_t* value, const char* what, double* number)
{
    if (json_is_number(value)) {
        *number = json_number_value(value);
        return PERP_OK;
    }
    if (is_infinite_text(value)) {
        return perpi_reader_fail(r, PERP_ERROR_INPUT, "must be a finite number, got '%.40s'",
                                 json_string_value(value));
    }
    if (json_is_string(value)) {
        return read_constant(r, value, what, number);
    }
    return perpi_reader_fail(r, PERP_ERROR_INPUT, "%s, got %s", what,
                             value != NULL ? perpi_json_kind(value) : "nothing");
}

perp_status perpi_read_number(perpi_reader* r, const json_t* object, const char* key,
                              double* number)
{
    const json_t* value = json_object_get(object, key);
    if (value == NULL) {
        return PERP_OK;
    }
    const size_t mark = perpi_reader_enter(r, key);
    PERPI_TRY(perpi_read_item(r, value, "must be a number", number));
    perpi_reader_leave(r, mark);
    return PERP_OK;
}

perp_status perpi_read_integer(perpi_reader* r, const json_t* object, const char* key,
                               int32_t minimum, int32_t maximum, int32_t* number)
{
    double value = NAN;
    PERPI_TRY(perpi_read_number(r, object, key, &value));
    if (json_object_get(object, key) == NULL) {
        return PERP_OK;
    }
    if (maximum == minimum + 1 && !(value == minimum || value == maximum)) {
        return perpi_reader_fail_key(r, key, PERP_ERROR_INPUT, "must be %d or %d, got %.17g",
                                     (int)minimum, (int)maximum, value);
    }
    /* 8.0 is accepted as 8: programs write it */
    if (!(value == floor(value))) {
        return perpi_reader_fail_key(r, key, PERP_ERROR_INPUT, "must be a whole number, got %g",
                                     value);
    }
    if (!(value >= minimum)) {
        return perpi_reader_fail_key(r, key, PERP_ERROR_INPUT, "must be >= %d, got %.17g",
                                     (int)minimum, value);
    }
    if (!(value <= maximum)) {
        return perpi_reader_fail_key(r, key, PERP_ERROR_INPUT, "must be <= %d, got %.17g",
                                     (int)maximum, value);
    }
    *number = (int32_t)value;
    return PERP_OK;
}

perp_status perpi_read_bool(perpi_reader* r, const json_t* object, const char* key, bool* value)
{
    const json_t* item = json_object_get(object, key);
    if (item == NULL) {
        return PERP_OK;
    }
    if (!json_is_boolean(item)) {
        return perpi_reader_fail_key(r, key, PERP_ERROR_INPUT, "must be true or false, got %s",
                                     perpi_json_kind(item));
    }
    *value = json_is_true(item);
    return PERP_OK;
}

perp_status perpi_read_string(perpi_reader* r, const json_t* object, const char* key,
                              const char** text)
{
    const json_t* value = json_object_get(object, key);
    if (value == NULL) {
        return PERP_OK;
    }
    if (!json_is_string(value)) {
        return perpi_reader_fail_key(r, key, PERP_ERROR_INPUT, "must be a string, got %s",
                                     perpi_json_kind(value));
    }
    if (json_string_length(value) == 0) {
        return perpi_reader_fail_key(r, key, PERP_ERROR_INPUT, "must not be empty");
    }
    *text = json_string_value(value);
    return PERP_OK;
}

/* At an array: checks that it has count items. */
static perp_status check_length(perpi_reader* r, const json_t* value, int32_t count)
{
    const char* planar = r->dimension == 2 ? " in a planar scene" : "";
    if (!json_is_array(value)) {
        return perpi_reader_fail(r, PERP_ERROR_INPUT, "must be an array of %d numbers%s, got %s",
                                 (int)count, planar, perpi_json_kind(value));
    }
    if (json_array_size(value) != (size_t)count) {
        return perpi_reader_fail(r, PERP_ERROR_INPUT, "must be an array of %d numbers%s, got %zu",
                                 (int)count, planar, json_array_size(value));
    }
    return PERP_OK;
}

perp_status perpi_read_vector(perpi_reader* r, const json_t* object, const char* key, int32_t count,
                              double* vector, bool* given)
{
    const json_t* value = json_object_get(object, key);
    if (value == NULL) {
        return PERP_OK;
    }
    const size_t mark = perpi_reader_enter(r, key);
    PERPI_TRY(check_length(r, value, count));
    for (int32_t i = 0; i < count; ++i) {
        const size_t item = perpi_reader_enter_item(r, (size_t)i);
        PERPI_TRY(
            perpi_read_item(r, json_array_get(value, (size_t)i), "must be a number", &vector[i]));
        perpi_reader_leave(r, item);
    }
    perpi_reader_leave(r, mark);
    if (given != NULL) {
        *given = true;
    }
    return PERP_OK;
}

perp_status perpi_read_space(perpi_reader* r, const json_t* object, const char* key,
                             double vector[3], bool* given)
{
    return perpi_read_vector(r, object, key, r->dimension, vector, given);
}

/* A number as text, exactly; jansson writes a decimal point in every locale. */
size_t perpi_number_write(double x, char* text, size_t size)
{
    json_t* value = json_real(x);
    const size_t n = value == NULL
                         ? 0
                         : json_dumpb(value, text, size, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
    json_decref(value);
    PERP_ASSERT(n < size);
    return n;
}

/* {"points": [[t, x], ...], "interpolation": "cubic"} as the equivalent expression. */
static perp_status curve_text(perpi_reader* r, const json_t* value, const char** text)
{
    static const char* const keys[] = {"points", "interpolation", NULL};
    enum { NUMBER = 40 };
    PERPI_TRY(perpi_read_object(r, value, keys));
    PERPI_TRY(perpi_require(r, value, "points"));
    const char* kind = "linear";
    PERPI_TRY(perpi_read_string(r, value, "interpolation", &kind));
    if (strcmp(kind, "linear") != 0 && strcmp(kind, "cubic") != 0 && strcmp(kind, "quintic") != 0) {
        return perpi_reader_fail_key(r, "interpolation", PERP_ERROR_INPUT,
                                     "must be linear, cubic or quintic, got '%.80s'", kind);
    }
    const json_t* points = json_object_get(value, "points");
    const size_t mark = perpi_reader_enter(r, "points");
    PERPI_TRY(perpi_read_array(r, points));
    const size_t count = json_array_size(points);
    if (count == 0 || count > 1500) {
        return perpi_reader_fail(r, PERP_ERROR_INPUT, "must have 1 to 1500 points, got %zu", count);
    }
    char* out = NULL;
    PERPI_TRY(perpi_arena_take(&r->arena, 16 + count * 2 * NUMBER, 1, &out));
    size_t used = (size_t)sprintf(out, "%s(t", kind);
    double before = -INFINITY, time = NAN;
    for (size_t i = 0; i < count; ++i) {
        const json_t* point = json_array_get(points, i);
        const size_t item = perpi_reader_enter_item(r, i);
        PERPI_TRY(check_length(r, point, 2));
        for (size_t k = 0; k < 2; ++k) {
            double x = NAN;
            PERPI_TRY(perpi_read_item(r, json_array_get(point, k), "must be [t, value]", &x));
            time = k == 0 ? x : time;
            out[used++] = ',';
            used += perpi_number_write(x, out + used, NUMBER - 2);
        }
        if (!(time > before)) {
            return perpi_reader_fail(r, PERP_ERROR_INPUT, "times must ascend, got %g after %g",
                                     time, before);
        }
        before = time;
        perpi_reader_leave(r, item);
    }
    perpi_reader_leave(r, mark);
    strcpy(out + used, ")");
    *text = out;
    return PERP_OK;
}

static perp_status number_text(perpi_reader* r, double x, const char** text)
{
    enum { SIZE = 40 };
    char* digits = NULL;
    PERPI_TRY(perpi_arena_take(&r->arena, SIZE, 1, &digits));
    digits[perpi_number_write(x, digits, SIZE - 1)] = '\0';
    *text = digits;
    return PERP_OK;
}

/* At a value. */
static perp_status number_or_expression(perpi_reader* r, const json_t* value, double* number,
                                        const char** text)
{
    if (json_is_number(value) && number != NULL) {
        *number = json_number_value(value);
        return PERP_OK;
    }
    if (json_is_number(value)) {
        return number_text(r, json_number_value(value), text);
    }
    const char* written = json_string_value(value);
    if (json_is_object(value)) {
        PERPI_TRY(curve_text(r, value, &written));
    }
    if (written == NULL) {
        return perpi_reader_fail(r, PERP_ERROR_INPUT,
                                 "must be a number, an expression in t or {\"points\": ...}, "
                                 "got %s",
                                 perpi_json_kind(value));
    }
    double x = NAN;
    const perp_status status = perpi_read_expression(r, written, false, &x, text);
    if (status != PERP_OK) {
        return perpi_reader_fail_member(r, status);
    }
    if (*text != NULL) {
        return PERP_OK;
    }
    if (!isfinite(x)) {
        return perpi_reader_fail(r, PERP_ERROR_INPUT, "must be finite, got '%.80s', which is %g",
                                 written, x);
    }
    if (number == NULL) {
        return number_text(r, x, text);
    }
    *number = x;
    return PERP_OK;
}

perp_status perpi_read_value(perpi_reader* r, const json_t* object, const char* key, double* number,
                             const char** text, bool* given)
{
    const json_t* value = json_object_get(object, key);
    if (value == NULL) {
        return PERP_OK;
    }
    const size_t mark = perpi_reader_enter(r, key);
    PERPI_TRY(number_or_expression(r, value, number, text));
    perpi_reader_leave(r, mark);
    if (given != NULL) {
        *given = true;
    }
    return PERP_OK;
}

perp_status perpi_read_values(perpi_reader* r, const json_t* object, const char* key, int32_t count,
                              double* number, const char** text, bool* given)
{
    const json_t* value = json_object_get(object, key);
    if (value == NULL) {
        return PERP_OK;
    }
    const size_t mark = perpi_reader_enter(r, key);
    PERPI_TRY(check_length(r, value, count));
    for (int32_t i = 0; i < count; ++i) {
        const size_t item = perpi_reader_enter_item(r, (size_t)i);
        PERPI_TRY(number_or_expression(r, json_array_get(value, (size_t)i),
                                       number != NULL ? &number[i] : NULL, &text[i]));
        perpi_reader_leave(r, item);
    }
    perpi_reader_leave(r, mark);
    if (given != NULL) {
        *given = true;
    }
    return PERP_OK;
}

perp_status perpi_read_axial(perpi_reader* r, const json_t* object, const char* key, double* number,
                             const char** text, bool* given)
{
    if (r->dimension == 2) {
        return perpi_read_value(r, object, key, number != NULL ? &number[2] : NULL, &text[2],
                                given);
    }
    return perpi_read_values(r, object, key, 3, number, text, given);
}

/* ---- rotations ---------------------------------------------------------------------------------*/

perp_status perpi_check_rotation_keys(perpi_reader* r, const json_t* object)
{
    const bool orientation = json_object_get(object, "orientation") != NULL;
    const bool axis_angle = json_object_get(object, "axis_angle") != NULL;
    const bool angle = json_object_get(object, "angle") != NULL;
    if (r->dimension == 3 && angle) {
        return perpi_reader_fail_key(r, "angle", PERP_ERROR_INPUT,
                                     "is for planar scenes: use 'orientation' or 'axis_angle'");
    }
    if (r->dimension == 2 && (orientation || axis_angle)) {
        return perpi_reader_fail_key(r, orientation ? "orientation" : "axis_angle",
                                     PERP_ERROR_INPUT, "is for spatial scenes: use 'angle'");
    }
    if (orientation && axis_angle) {
        return perpi_reader_fail_key(r, "axis_angle", PERP_ERROR_INPUT,
                                     "give 'orientation' or 'axis_angle', not both");
    }
    return PERP_OK;
}

perp_status perpi_read_rotation(perpi_reader* r, const json_t* object, double orientation[4],
                                double* angle)
{
    PERPI_TRY(perpi_check_rotation_keys(r, object));
    bool given = false;
    PERPI_TRY(perpi_read_vector(r, object, "orientation", 4, orientation, &given));
    if (given) {
        const double* e = orientation;
        if (e[0] == 0.0 && e[1] == 0.0 && e[2] == 0.0 && e[3] == 0.0) {
            return perpi_reader_fail_key(r, "orientation", PERP_ERROR_INPUT,
                                         "must be a quaternion [w,x,y,z] of length > 0, got 0");
        }
        return PERP_OK;
    }
    double a[4] = {0};
    PERPI_TRY(perpi_read_vector(r, object, "axis_angle", 4, a, &given));
    if (given) {
        /* hypot: an axis of any length that a double can hold */
        const double length = hypot(hypot(a[0], a[1]), a[2]);
        if (!(length > 0.0) || !isfinite(length)) {
            return perpi_reader_fail_key(r, "axis_angle", PERP_ERROR_INPUT,
                                         "must have an axis of length > 0, got %g", length);
        }
        const double s = sin(0.5 * a[3]);
        orientation[0] = cos(0.5 * a[3]);
        for (int i = 0; i < 3; ++i) {
            orientation[i + 1] = s * (a[i] / length);
        }
        return PERP_OK;
    }
    return perpi_read_number(r, object, "angle", angle);
}

/* A number, or {"law": "newton" | "poisson", "e": number}. */
perp_status perpi_read_restitution(perpi_reader* r, const json_t* object, double* e,
                                   perp_impact_law* law, bool* given)
{
    static const char* const known[] = {"law", "e", NULL};
    const json_t* value = json_object_get(object, "restitution");
    *given = value != NULL;
    if (json_is_string(value)) {
        const size_t place = perpi_reader_enter(r, "restitution");
        PERPI_TRY(perpi_read_item(r, value, "must be a number from 0 to 1", e));
        perpi_reader_leave(r, place);
        return PERP_OK;
    }
    if (value == NULL || json_is_number(value)) {
        return perpi_read_number(r, object, "restitution", e);
    }
    if (!json_is_object(value)) {
        return perpi_reader_fail_key(r, "restitution", PERP_ERROR_INPUT,
                                     "must be a number from 0 to 1, or an object with \"e\" and "
                                     "\"law\", got %s",
                                     perpi_json_kind(value));
    }
    const size_t mark = perpi_reader_enter(r, "restitution");
    const char* name = NULL;
    PERPI_TRY(perpi_read_object(r, value, known));
    PERPI_TRY(perpi_require(r, value, "e"));
    PERPI_TRY(perpi_read_number(r, value, "e", e));
    if (!(*e >= 0.0 && *e <= 1.0)) {
        return perpi_reader_fail_key(r, "e", PERP_ERROR_INPUT, "must be from 0 to 1, got %g", *e);
    }
    PERPI_TRY(perpi_read_string(r, value, "law", &name));
    if (name != NULL && strcmp(name, "newton") != 0 && strcmp(name, "poisson") != 0) {
        return perpi_reader_fail_key(r, "law", PERP_ERROR_INPUT,
                                     "must be newton or poisson, got '%.80s'", name);
    }
    if (name != NULL) {
        const perp_impact_law wanted =
            strcmp(name, "poisson") == 0 ? PERP_IMPACT_POISSON : PERP_IMPACT_NEWTON;
        if (r->model != NULL && wanted != perp_model_impact_law(r->model)) {
            return perpi_reader_fail_key(
                r, "law", PERP_ERROR_INPUT,
                "a scene has one impact law, and this is not the scene's: set the law in "
                "/restitution, and leave it out here");
        }
        *law = wanted;
    }
    perpi_reader_leave(r, mark);
    return PERP_OK;
}

perp_status perpi_refuse(perpi_reader* r, const json_t* object, const char* key, const char* what)
{
    if (json_object_get(object, key) == NULL) {
        return PERP_OK;
    }
    return perpi_reader_fail_key(r, key, PERP_ERROR_UNSUPPORTED, "%s", what);
}

perp_status perpi_read_point(perpi_reader* r, const json_t* object, const char* key,
                             const char* name, double point[3])
{
    PERPI_TRY(perpi_read_space(r, object, key, point, NULL));
    const int32_t body = name != NULL ? perp_model_body_find(r->model, name) : -1;
    if (body >= 0 && json_object_get(object, key) != NULL) {
        const perp_body_info info = perp_model_body_info(r->model, body);
        for (int i = 0; i < 3; ++i) {
            point[i] -= info.offset[i];
        }
    }
    return PERP_OK;
}
