/* src/scene/trajectory.c - joint trajectories in CSV files.
 *
 *     time, shoulder, elbow, elbow.velocity
 *     0,    0,        0.1,   0
 *     1,    0.5,      0.3,   0.2
 *
 * The names of the columns are those of joints; a controller takes the column of its joint, and its rates
 * if there are some. Fields are separated by commas, semicolons or tabs; # begins a comment.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/number.h"
#include "scene/json_text.h"
#include "scene/reader.h"

enum { ROW_LIMIT = 1000000 };

typedef struct csv {
    perp_context* context;
    const char* path;
    const char *at, *end; /* of the rest of the text */
    size_t line;
    const char *from, *to; /* of the rest of the line, without its comment */
} csv;

typedef struct columns {
    int count, position, velocity; /* -1: none */
} columns;

/* The next line with something on it; false at the end. */
static bool next_line(csv* c)
{
    while (c->at < c->end) {
        const char* stop = memchr(c->at, '\n', (size_t)(c->end - c->at));
        c->from = c->at;
        c->to = stop != NULL ? stop : c->end;
        c->at = stop != NULL ? stop + 1 : c->end;
        c->line += 1;
        const char* comment = memchr(c->from, '#', (size_t)(c->to - c->from));
        c->to = comment != NULL ? comment : c->to;
        for (const char* p = c->from; p < c->to; ++p) {
            if (*p != ' ' && *p != '\t' && *p != '\r') {
                return true;
            }
        }
    }
    return false;
}

/* The next field of the line, without blanks and quotation marks around it; false at its end. */
static bool next_field(csv* c, const char** text, size_t* length)
{
    if (c->from > c->to) {
        return false;
    }
    const char* end = c->from;
    while (end < c->to && *end != ',' && *end != ';' && *end != '\t') {
        ++end;
    }
    const char *a = c->from, *b = end;
    while (a < b && (*a == ' ' || *a == '\r')) {
        ++a;
    }
    while (b > a && (b[-1] == ' ' || b[-1] == '\r')) {
        --b;
    }
    if (b - a >= 2 && *a == '"' && b[-1] == '"') {
        ++a;
        --b;
    }
    *text = a;
    *length = (size_t)(b - a);
    c->from = end + 1;
    return true;
}

static bool is_name(const char* text, size_t length, const char* name, const char* ending)
{
    const size_t n = strlen(name), e = strlen(ending);
    return length == n + e && memcmp(text, name, n) == 0 && memcmp(text + n, ending, e) == 0;
}

static perp_status read_header(csv* c, const char* name, columns* found)
{
    *found = (columns){0, -1, -1};
    const char* text = NULL;
    size_t length = 0;
    if (!next_line(c)) {
        return perpi_fail(c->context, PERP_ERROR_INPUT, "%s:%zu: there is no line of column names",
                          c->path, c->line);
    }
    for (; next_field(c, &text, &length); ++found->count) {
        if (found->count == 0 && !is_name(text, length, "t", "") &&
            !is_name(text, length, "time", "")) {
            return perpi_fail(c->context, PERP_ERROR_INPUT,
                              "%s:%zu: the first column must be named 't' or 'time', got '%.*s'",
                              c->path, c->line, length > 80 ? 80 : (int)length, text);
        }
        int* column = is_name(text, length, name, "") || is_name(text, length, name, ".position")
                          ? &found->position
                      : is_name(text, length, name, ".velocity") ? &found->velocity
                                                                 : NULL;
        if (column != NULL && found->count > 0) {
            if (*column >= 0) {
                return perpi_fail(c->context, PERP_ERROR_INPUT,
                                  "%s:%zu: the column '%.*s' stands there twice", c->path, c->line,
                                  length > 80 ? 80 : (int)length, text);
            }
            *column = found->count;
        }
    }
    return found->position >= 0
               ? PERP_OK
               : perpi_fail(c->context, PERP_ERROR_INPUT,
                            "%s:%zu: there is no column named '%.80s'", c->path, c->line, name);
}

/* time: of the row before. */
static perp_status read_row(csv* c, const columns* wanted, double* time, json_t** row)
{
    double x[3] = {NAN, NAN, NAN};
    int count = 0;
    const char* text = NULL;
    size_t length = 0;
    for (; next_field(c, &text, &length); ++count) {
        const int to = count == 0                  ? 0
                       : count == wanted->position ? 1
                       : count == wanted->velocity ? 2
                                                   : -1;
        if (to >= 0 && !perpi_number_parse(text, length, &x[to])) {
            return perpi_fail(c->context, PERP_ERROR_INPUT,
                              "%s:%zu: column %d must be a finite number, got '%.*s'", c->path,
                              c->line, count + 1, length > 80 ? 80 : (int)length, text);
        }
    }
    if (count != wanted->count) {
        return perpi_fail(c->context, PERP_ERROR_INPUT,
                          "%s:%zu: must have %d columns like the line of names, got %d", c->path,
                          c->line, wanted->count, count);
    }
    if (!(x[0] > *time)) {
        return perpi_fail(c->context, PERP_ERROR_INPUT,
                          "%s:%zu: times must ascend, got %g after %g", c->path, c->line, x[0],
                          *time);
    }
    *time = x[0];
    *row = wanted->velocity >= 0 ? json_pack("[f, f, f]", x[0], x[1], x[2])
                                 : json_pack("[f, f]", x[0], x[1]);
    return *row != NULL ? PERP_OK
                        : perpi_fail(c->context, PERP_ERROR_MEMORY, "%s: out of memory", c->path);
}

static perp_status read_rows(csv* c, const char* name, json_t* table)
{
    columns wanted;
    double time = -INFINITY;
    PERPI_TRY(read_header(c, name, &wanted));
    while (next_line(c)) {
        json_t* row = NULL;
        PERPI_TRY(read_row(c, &wanted, &time, &row));
        if (json_array_append_new(table, row) != 0) {
            return perpi_fail(c->context, PERP_ERROR_MEMORY, "%s: out of memory", c->path);
        }
        if (json_array_size(table) > ROW_LIMIT) {
            return perpi_fail(c->context, PERP_ERROR_INPUT, "%s:%zu: more than %d rows", c->path,
                              c->line, ROW_LIMIT);
        }
    }
    return json_array_size(table) > 0 ? PERP_OK
                                      : perpi_fail(c->context, PERP_ERROR_INPUT,
                                                   "%s:%zu: there are no rows", c->path, c->line);
}

static perp_status load_column(perp_context* context, const char* origin, const char* file,
                               const char* name, json_t** table)
{
    char *path = NULL, *text = NULL;
    size_t length = 0;
    PERPI_TRY(perpi_file_beside(context, origin, file, &path));
    perp_status status = perpi_json_read_file(context, path, &text, &length);
    json_t* rows = status == PERP_OK ? json_array() : NULL;
    if (status == PERP_OK) {
        csv c = {.context = context, .path = path, .at = text, .end = text + length};
        status = rows != NULL ? read_rows(&c, name, rows)
                              : perpi_fail(context, PERP_ERROR_MEMORY, "%s: out of memory", path);
    }
    perpi_free(context, text);
    perpi_free(context, path);
    if (status != PERP_OK) {
        json_decref(rows);
        return status;
    }
    *table = rows;
    return PERP_OK;
}

bool perpi_has_trajectories(const json_t* root)
{
    const json_t* list = json_object_get(root, "controllers");
    for (size_t i = 0; i < json_array_size(list); ++i) {
        const json_t* trajectory = json_object_get(json_array_get(list, i), "trajectory");
        if (json_is_string(json_object_get(trajectory, "table"))) {
            return true;
        }
    }
    return false;
}

perp_status perpi_inline_trajectories(perp_context* context, const char* origin, json_t* root)
{
    const json_t* list = json_object_get(root, "controllers");
    for (size_t i = 0; i < json_array_size(list); ++i) {
        const json_t* controller = json_array_get(list, i);
        json_t* trajectory = json_object_get(controller, "trajectory");
        const char* file = json_string_value(json_object_get(trajectory, "table"));
        const char* name = json_string_value(json_object_get(trajectory, "column"));
        name = name != NULL ? name : json_string_value(json_object_get(controller, "joint"));
        name = name != NULL ? name : json_string_value(json_object_get(controller, "body"));
        json_t* table = NULL;
        if (file == NULL || name == NULL) {
            continue; /* refused by the reader */
        }
        const perp_status status = load_column(context, origin, file, name, &table);
        if (status != PERP_OK) {
            char place[512];
            (void)snprintf(place, sizeof place, "%.300s: /controllers/%zu/trajectory/table", origin,
                           i);
            return perpi_fail_prefix(context, status, place);
        }
        (void)json_object_del(trajectory, "column");
        if (json_object_set_new(trajectory, "table", table) != 0) {
            return perpi_fail(context, PERP_ERROR_MEMORY, "%s: out of memory", origin);
        }
    }
    return PERP_OK;
}
