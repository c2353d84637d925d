/* src/scene/pointer.c - see pointer.h. */
#include "scene/pointer.h"

#include <stdio.h>
#include <string.h>

#include "scene/json_text.h"

enum { TOKEN_SIZE = 256 };

static perp_status fail_pointer(perp_context* context, const char* origin, const char* pointer,
                                const char* reason)
{
    return perpi_fail(context, PERP_ERROR_INPUT, "%s: %s: cannot be set: %s", origin, pointer,
                      reason);
}

/* The token that begins at *at (behind a slash), with ~1 and ~0 resolved; *at moves to the next
 * slash or the end. False: too long, or a stray ~. */
static bool next_token(const char** at, char token[TOKEN_SIZE])
{
    size_t n = 0;
    const char* s = *at;
    for (; *s != '\0' && *s != '/'; ++s) {
        char c = *s;
        if (c == '~') {
            ++s;
            if (*s != '0' && *s != '1') {
                return false;
            }
            c = *s == '0' ? '~' : '/';
        }
        if (n + 1 >= TOKEN_SIZE) {
            return false;
        }
        token[n++] = c;
    }
    token[n] = '\0';
    *at = s;
    return true;
}

/* An array index without sign or leading zero; -1 otherwise. */
static long index_of(const char* token)
{
    const size_t length = strlen(token);
    if (length == 0 || length > 9 || (length > 1 && token[0] == '0')) {
        return -1;
    }
    long value = 0;
    for (size_t i = 0; i < length; ++i) {
        if (token[i] < '0' || token[i] > '9') {
            return -1;
        }
        value = 10 * value + (token[i] - '0');
    }
    return value;
}

static perp_status parse_value(perp_context* context, const char* origin, const char* text,
                               json_t** value)
{
    const perp_status status = perpi_json_parse(context, text, strlen(text), origin, value);
    if (status != PERP_ERROR_INPUT) {
        return status;
    }
    *value = json_string(text);
    return *value != NULL
               ? PERP_OK
               : perpi_fail(context, PERP_ERROR_INPUT, "%s: the value is not UTF-8", origin);
}

static const char* nearest_key(const json_t* object, const char* token)
{
    const char* keys[65];
    size_t n = 0;
    for (void* i = json_object_iter((json_t*)object); i != NULL && n < 64;
         i = json_object_iter_next((json_t*)object, i)) {
        keys[n++] = json_object_iter_key(i);
    }
    keys[n] = NULL;
    return perpi_nearest(token, keys);
}

/* One step down towards the parent of the place. */
static perp_status descend_pointer(perp_context* context, const char* origin, const char* pointer,
                                   json_t* root, const char* token, json_t** node)
{
    char reason[2 * TOKEN_SIZE + 64];
    if (json_is_object(*node)) {
        json_t* child = json_object_get(*node, token);
        const bool optional = strcmp(token, "friction") == 0 || strcmp(token, "record") == 0;
        if (child == NULL && *node == root && optional) {
            child = json_object();
            if (json_object_set_new(*node, token, child) != 0) {
                return perpi_fail(context, PERP_ERROR_MEMORY, "%s: out of memory", origin);
            }
        }
        if (child == NULL) {
            const char* nearest = nearest_key(*node, token);
            snprintf(reason, sizeof reason, "there is no key '%s'%s%s%s", token,
                     nearest != NULL ? ": did you mean '" : "", nearest != NULL ? nearest : "",
                     nearest != NULL ? "'?" : "");
            return fail_pointer(context, origin, pointer, reason);
        }
        *node = child;
        return PERP_OK;
    }
    if (json_is_array(*node)) {
        const long index = index_of(token);
        if (index < 0 || (size_t)index >= json_array_size(*node)) {
            snprintf(reason, sizeof reason, "the array has %zu items, there is no item '%s'",
                     json_array_size(*node), token);
            return fail_pointer(context, origin, pointer, reason);
        }
        *node = json_array_get(*node, (size_t)index);
        return PERP_OK;
    }
    snprintf(reason, sizeof reason, "the parent of '%s' is neither an object nor an array", token);
    return fail_pointer(context, origin, pointer, reason);
}

/* Takes ownership of value in every case. */
static perp_status set_value(perp_context* context, const char* origin, const char* pointer,
                             json_t* parent, const char* token, json_t* value)
{
    char reason[TOKEN_SIZE + 96];
    int failed = 0;
    if (json_is_object(parent)) {
        failed = json_object_set_new(parent, token, value);
    } else if (json_is_array(parent) && strcmp(token, "-") == 0) {
        failed = json_array_append_new(parent, value);
    } else if (json_is_array(parent)) {
        const long index = index_of(token);
        if (index < 0 || (size_t)index >= json_array_size(parent)) {
            json_decref(value);
            snprintf(reason, sizeof reason,
                     "the array has %zu items, there is no item '%s' ('-' appends)",
                     json_array_size(parent), token);
            return fail_pointer(context, origin, pointer, reason);
        }
        failed = json_array_set_new(parent, (size_t)index, value);
    } else {
        json_decref(value);
        snprintf(reason, sizeof reason, "the parent of '%s' is neither an object nor an array",
                 token);
        return fail_pointer(context, origin, pointer, reason);
    }
    if (failed != 0) {
        return fail_pointer(context, origin, pointer, "the key is not UTF-8, or memory ran out");
    }
    return PERP_OK;
}

/* The parent of a place, and its last token. */
static perp_status find_parent(perp_context* context, const char* origin, json_t* root,
                               const char* pointer, char token[TOKEN_SIZE], json_t** parent)
{
    if (pointer == NULL || pointer[0] != '/') {
        return fail_pointer(context, origin, pointer != NULL ? pointer : "",
                            "a pointer begins with '/', as in /bodies/1/mass");
    }
    json_t* node = root;
    const char* at = pointer;
    for (;;) {
        ++at; /* the slash */
        if (!next_token(&at, token)) {
            return fail_pointer(context, origin, pointer, "not a JSON pointer (RFC 6901)");
        }
        if (*at == '\0') {
            *parent = node;
            return PERP_OK;
        }
        const perp_status status = descend_pointer(context, origin, pointer, root, token, &node);
        if (status != PERP_OK) {
            return status;
        }
    }
}

/* A name without a slash: a parameter, which must be there. */
static perp_status find_named(perp_context* context, const char* origin, const json_t* root,
                              const char* name, json_t** parameters)
{
    json_t* object = json_object_get(root, "parameters");
    if (json_object_get(object, name) != NULL) {
        *parameters = object;
        return PERP_OK;
    }
    const char* nearest = object != NULL ? nearest_key(object, name) : NULL;
    if (nearest != NULL) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "%s: /parameters: there is no parameter '%.80s': did you mean '%.80s'?",
                          origin, name, nearest);
    }
    return perpi_fail(
        context, PERP_ERROR_INPUT,
        "%s: /parameters: there is no parameter '%.80s'%s (a pointer begins with '/', "
        "as in /bodies/1/mass)",
        origin, name, json_object_size(object) > 0 ? "" : ": the scene has none");
}

static perp_status find_place(perp_context* context, const char* origin, json_t* root,
                              const char* name, char token[TOKEN_SIZE], json_t** parent)
{
    if (name == NULL || name[0] == '/' || name[0] == '\0') {
        return find_parent(context, origin, root, name, token, parent);
    }
    if (strlen(name) >= TOKEN_SIZE) {
        return fail_pointer(context, origin, name, "the name is too long");
    }
    strcpy(token, name);
    return find_named(context, origin, root, name, parent);
}

perp_status perpi_json_override(perp_context* context, const char* origin, json_t* root,
                                const perp_override* override)
{
    char token[TOKEN_SIZE];
    json_t* parent = NULL;
    if (override->value == NULL) {
        return fail_pointer(context, origin, override->pointer != NULL ? override->pointer : "",
                            "a pointer begins with '/', as in /bodies/1/mass");
    }
    perp_status status = find_place(context, origin, root, override->pointer, token, &parent);
    json_t* value = NULL;
    if (status == PERP_OK) {
        status = parse_value(context, origin, override->value, &value);
    }
    return status == PERP_OK ? set_value(context, origin, override->pointer, parent, token, value)
                             : status;
}

/* Keys whose value is taken from a file, or replaced by what is in it. */
static bool is_of_file(const char* token)
{
    static const char* const keys[] = {"file",  "scale",  "table",  "type",   "vertices",
                                       "faces", "source", "shapes", "motion", "bodies"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; ++i) {
        if (strcmp(token, keys[i]) == 0) {
            return true;
        }
    }
    return false;
}

perp_status perpi_json_place(perp_context* context, const char* origin, json_t* root,
                             const char* name, json_t* value, json_t** old, bool* of_file)
{
    char token[TOKEN_SIZE];
    json_t* parent = NULL;
    const perp_status status = find_place(context, origin, root, name, token, &parent);
    if (status != PERP_OK) {
        return status;
    }
    const long index = index_of(token);
    *old = json_is_object(parent) ? json_object_get(parent, token)
           : index >= 0           ? json_array_get(parent, (size_t)index)
                                  : NULL;
    *of_file = is_of_file(token) || (name[0] == '/' && strstr(name, "/scale/") != NULL);
    json_incref(*old);
    const perp_status set = set_value(context, origin, name, parent, token, json_incref(value));
    if (set != PERP_OK) {
        json_decref(*old);
        *old = NULL;
    }
    return set;
}
