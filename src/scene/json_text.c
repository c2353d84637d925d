/* src/scene/json_text.c - reading, comments, nesting; the grammar itself is jansson's.
 *
 * Jansson's tree is allocated on the C library's heap: its allocator is a global of the process, which a
 * library must not change.
 */
#include "scene/json_text.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"

/* ---- files -------------------------------------------------------------------------------------*/

static perp_status too_large(perp_context* context, const char* origin)
{
    return perpi_fail(context, PERP_ERROR_INPUT, "%s: file too large: the limit is %d MB", origin,
                      PERPI_JSON_SIZE_LIMIT / (1024 * 1024));
}

/* The mark that an HDF5 file begins with. */
static bool is_recording(const char* text, size_t length)
{
    return length >= 8 && memcmp(text, "\x89HDF\r\n\x1a\n", 8) == 0;
}

static perp_status refuse_recording(perp_context* context, const char* origin)
{
    return perpi_fail(context, PERP_ERROR_INPUT,
                      "%s: this is a recording (HDF5), not a scene: use --resume, export or verify",
                      origin);
}

/* Whether the file begins like a recording, which is often larger than the limit of a scene. */
static bool begins_as_recording(const char* path)
{
    char head[8];
    FILE* file = fopen(path, "rb");
    const size_t n = file != NULL ? fread(head, 1, sizeof head, file) : 0;
    if (file != NULL) {
        fclose(file);
    }
    return is_recording(head, n);
}

perp_status perpi_json_read_file(perp_context* context, const char* path, char** text,
                                 size_t* length)
{
    const perp_status status = perpi_file_read(context, path, PERPI_JSON_SIZE_LIMIT, text, length);
    if (status == PERP_ERROR_INPUT && begins_as_recording(path)) {
        return refuse_recording(context, path);
    }
    return status;
}

/* ---- text --------------------------------------------------------------------------------------*/

/* Replaces // comments outside strings by blanks, which keeps lines and columns, and measures the
 * nesting. Returns false at the bracket that exceeds the limit. */
static bool blank_comments(char* text, size_t length, size_t* line, size_t* column)
{
    bool in_string = false;
    int depth = 0;
    *line = 1;
    *column = 0;
    for (size_t i = 0; i < length; ++i) {
        const char c = text[i];
        if (c == '\n') {
            ++*line;
            *column = 0;
            in_string = false; /* JSON strings do not span lines; jansson reports it */
            continue;
        }
        if (((unsigned char)c & 0xc0u) != 0x80u) {
            ++*column; /* characters, not bytes */
        }
        if (in_string) {
            if (c == '\\' && i + 1 < length && text[i + 1] != '\n') {
                ++i;
                ++*column;
            } else if (c == '"') {
                in_string = false;
            }
        } else if (c == '"') {
            in_string = true;
        } else if (c == '/' && i + 1 < length && text[i + 1] == '/') {
            for (; i < length && text[i] != '\n'; ++i) {
                text[i] = ' ';
            }
            --i; /* the loop must process the end of the line */
        } else if (c == '{' || c == '[') {
            if (++depth > PERPI_JSON_NESTING_LIMIT) {
                return false;
            }
        } else if (c == '}' || c == ']') {
            depth -= depth > 0 ? 1 : 0;
        }
    }
    return true;
}

static bool is_blank(const char* text, size_t length)
{
    for (size_t i = 0; i < length; ++i) {
        if (text[i] != ' ' && text[i] != '\t' && text[i] != '\n' && text[i] != '\r') {
            return false;
        }
    }
    return true;
}

/* The likely cause of jansson's message for a misplaced token; "" if unknown. position: just after
 * the token. */
static const char* syntax_hint(const char* text, size_t length, const json_error_t* error)
{
    const size_t end = error->position > 0 ? (size_t)error->position : 0;
    if (end == 0 || end > length) {
        return "";
    }
    const char last = text[end - 1];
    size_t before = end - 1;
    while (before > 0 && is_blank(text + before - 1, 1)) {
        --before;
    }
    const char previous = before > 0 ? text[before - 1] : '\0';
    if ((last == ']' || last == '}') && previous == ',') {
        return "; remove the comma before it: none follows the last entry";
    }
    if (last == '\'') {
        return "; strings must be in double quotes";
    }
    if (strstr(error->text, "expected near") != NULL && strchr("\"{[", last) != NULL &&
        strncmp(error->text, "':'", 3) != 0) {
        return "; is a comma missing before it?";
    }
    return "";
}

static perp_status load_tree(perp_context* context, const char* text, size_t length,
                             const char* origin, json_t** root)
{
    json_error_t error;
    json_t* tree = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    if (tree != NULL) {
        *root = tree;
        return PERP_OK;
    }
    if (json_error_code(&error) == json_error_out_of_memory) {
        return perpi_fail(context, PERP_ERROR_MEMORY, "%s: out of memory", origin);
    }
    /* jansson's message names its flags, which a user cannot set */
    const bool zero = json_error_code(&error) == json_error_null_character ||
                      json_error_code(&error) == json_error_null_byte_in_key;
    return perpi_fail(context, PERP_ERROR_INPUT, "%s: line %d, column %d: %s%s", origin,
                      error.line > 0 ? error.line : 1, error.column > 0 ? error.column : 1,
                      zero ? "a string must not hold the character \\u0000" : error.text,
                      zero ? "" : syntax_hint(text, length, &error));
}

perp_status perpi_json_parse(perp_context* context, const char* text, size_t length,
                             const char* origin, json_t** root)
{
    if (length > PERPI_JSON_SIZE_LIMIT) {
        return too_large(context, origin);
    }
    if (is_recording(text, length)) {
        return refuse_recording(context, origin);
    }
    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "%s: line 1, column 1: begins with a byte order mark: save the file as "
                          "UTF-8 without one",
                          origin);
    }
    char* copy = NULL;
    perp_status status = perpi_strndup(context, text, length, &copy);
    if (status != PERP_OK) {
        return status;
    }
    size_t line, column;
    if (!blank_comments(copy, length, &line, &column)) {
        status = perpi_fail(context, PERP_ERROR_INPUT,
                            "%s: line %zu, column %zu: nested deeper than %d levels", origin, line,
                            column, PERPI_JSON_NESTING_LIMIT);
    } else if (is_blank(copy, length)) {
        status =
            perpi_fail(context, PERP_ERROR_INPUT, "%s: is empty: expected a JSON object", origin);
    } else {
        status = load_tree(context, copy, length, origin, root);
    }
    perpi_free(context, copy);
    return status;
}

bool perpi_json_may_roll(const json_t* root)
{
    static const char* const round[] = {"ellipsoid", "superquadric", "superellipse", "cylinder",
                                        "capsule",   "sphere",       "circle"};
    size_t i, k;
    const json_t *body, *shape;
    bool rolls = json_object_get(root, "include") != NULL;
    json_array_foreach(json_object_get(root, "bodies"), i, body)
    {
        json_array_foreach(json_object_get(body, "shapes"), k, shape)
        {
            const char* type = json_string_value(json_object_get(shape, "type"));
            for (size_t j = 0; type != NULL && j < sizeof round / sizeof round[0]; ++j) {
                rolls = rolls || strcmp(type, round[j]) == 0;
            }
        }
    }
    return rolls;
}

/* Appends `"key": "value", ` to the text of a scene. */
static void put_default(char* text, size_t size, const char* key, const char* value)
{
    const size_t used = strlen(text);
    (void)snprintf(text + used, size - used, "\"%s\": \"%s\", ", key, value);
}

perp_status perpi_json_name_defaults(perp_context* context, const char* text, size_t length,
                                     const char* model, const char* direction, char** named)
{
    *named = NULL;
    const char* brace = length > 0 ? memchr(text, '{', length) : NULL;
    json_t* root = brace != NULL ? json_loadb(text, length, 0, NULL) : NULL;
    const bool contact = json_is_object(root) && json_object_get(root, "contact") == NULL;
    const bool joints =
        json_object_get(root, "joint_direction") == NULL &&
        (json_object_get(root, "joints") != NULL || json_object_get(root, "include") != NULL);
    const bool rolls =
        json_object_get(root, "contact_direction") == NULL && perpi_json_may_roll(root);
    const bool alone = json_object_size(root) == 0;
    json_decref(root);
    if (!contact && !joints && !rolls) {
        return PERP_OK;
    }
    const size_t size = length + strlen(model) + 2 * strlen(direction) + 128;
    const perp_status status = perpi_alloc(context, size, 1, named);
    if (status != PERP_OK) {
        return status;
    }
    (void)snprintf(*named, size, "{"); /* only blanks precede the brace */
    if (contact) {
        put_default(*named, size, "contact", model);
    }
    if (joints) {
        put_default(*named, size, "joint_direction", direction);
    }
    if (rolls) {
        put_default(*named, size, "contact_direction", direction);
    }
    const size_t used = strlen(*named) - (alone ? 2 : 0); /* no member follows the comma */
    (void)snprintf(*named + used, size - used, "%.*s", (int)(text + length - (brace + 1)),
                   brace + 1);
    return PERP_OK;
}
