/* src/scene/table.c - files of numbers that a scene names: rows of equally many numbers, separated by
 * blanks, commas or semicolons; # begins a comment. */
#include <string.h>

#include "scene/json_text.h"
#include "scene/reader.h"

static perp_status fail_at(perp_context* context, const char* path, size_t line, const char* what)
{
    return perpi_fail(context, PERP_ERROR_INPUT, "%s:%zu: %s", path, line, what);
}

/* One line as an array; NULL if there is nothing on it. */
static perp_status read_line(perp_context* context, const char* path, size_t number,
                             const char* text, size_t length, json_t** row)
{
    static const char separators[] = " \t\r,;";
    size_t at = 0;
    *row = NULL;
    while (at < length) {
        while (at < length && strchr(separators, text[at]) != NULL && text[at] != '\0') {
            ++at;
        }
        if (at == length || text[at] == '#') {
            break;
        }
        size_t end = at;
        while (end < length && text[end] != '#' &&
               (text[end] == '\0' || strchr(separators, text[end]) == NULL)) {
            ++end;
        }
        /* jansson reads a decimal point in every locale, exactly; it does not accept a plus sign */
        const size_t plus = text[at] == '+' ? 1 : 0;
        json_t* value = json_loadb(text + at + plus, end - at - plus, JSON_DECODE_ANY, NULL);
        if (!json_is_number(value)) {
            json_decref(value);
            json_decref(*row);
            *row = NULL;
            return fail_at(context, path, number, "must be numbers, as in 0.1 -2 3e-4");
        }
        *row = *row == NULL ? json_array() : *row;
        if (*row == NULL || json_array_append_new(*row, value) != 0) {
            json_decref(*row);
            *row = NULL;
            return perpi_fail(context, PERP_ERROR_MEMORY, "%s: out of memory", path);
        }
        at = end;
    }
    return PERP_OK;
}

static perp_status parse_table(perp_context* context, const char* path, const char* text,
                               size_t length, json_t* table)
{
    size_t columns = 0, number = 1;
    for (size_t at = 0; at < length; ++number) {
        const char* end = memchr(text + at, '\n', length - at);
        const size_t size = end != NULL ? (size_t)(end - (text + at)) : length - at;
        json_t* row = NULL;
        PERPI_TRY(read_line(context, path, number, text + at, size, &row));
        at += size + 1;
        if (row == NULL) {
            continue;
        }
        columns = columns == 0 ? json_array_size(row) : columns;
        if (json_array_size(row) != columns) {
            json_decref(row);
            return fail_at(context, path, number,
                           "must have as many numbers as the rows before it");
        }
        if (json_array_append_new(table, row) != 0) {
            return perpi_fail(context, PERP_ERROR_MEMORY, "%s: out of memory", path);
        }
    }
    return PERP_OK;
}

/* name: relative to the folder of origin. */
static perp_status load_table(perp_context* context, const char* origin, const char* name,
                              json_t** table)
{
    const char* slash = name[0] == '/' ? NULL : strrchr(origin, '/');
    const size_t folder = slash != NULL ? (size_t)(slash + 1 - origin) : 0;
    char *path = NULL, *text = NULL;
    size_t length = 0;
    PERPI_TRY(perpi_alloc(context, folder + strlen(name) + 1, 1, &path));
    memcpy(path, origin, folder);
    strcpy(path + folder, name);
    perp_status status = perpi_json_read_file(context, path, &text, &length);
    json_t* rows = status == PERP_OK ? json_array() : NULL;
    if (status == PERP_OK && rows == NULL) {
        status = perpi_fail(context, PERP_ERROR_MEMORY, "%s: out of memory", path);
    }
    if (status == PERP_OK) {
        status = parse_table(context, path, text, length, rows);
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

perp_status perpi_inline_tables(perp_context* context, const char* origin, json_t* root)
{
    json_t* bodies = json_object_get(root, "bodies");
    for (size_t i = 0; i < json_array_size(bodies); ++i) {
        json_t* motion = json_object_get(json_array_get(bodies, i), "motion");
        const char* name = json_string_value(json_object_get(motion, "table"));
        json_t* table = NULL;
        if (name == NULL) {
            continue;
        }
        const perp_status status = load_table(context, origin, name, &table);
        if (status != PERP_OK) {
            char place[512];
            (void)snprintf(place, sizeof place, "%.300s: /bodies/%zu/motion/table", origin, i);
            return perpi_fail_prefix(context, status, place);
        }
        if (json_object_set_new(motion, "table", table) != 0) {
            return perpi_fail(context, PERP_ERROR_MEMORY, "%s: out of memory", origin);
        }
    }
    return PERP_OK;
}
