/* cli/scene_diff.c - the scenes of two recordings, member by member. */
#include "scene_diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_SIZE 1024

/* Where the comparison is: a JSON pointer that grows and shrinks, and the name last passed. */
typedef struct place {
    char path[PATH_SIZE];
    size_t length;
    const char* name;
    json_t* found;
} place;

static void compare_values(place* p, const json_t* a, const json_t* b);

static void add_difference(place* p, const json_t* a, const json_t* b)
{
    json_t* o = json_object();
    json_object_set_new(o, "path", cli_text(p->path));
    if (p->name != NULL) {
        json_object_set_new(o, "name", cli_text(p->name));
    }
    if (a != NULL) {
        json_object_set_new(o, "a", json_deep_copy(a));
    }
    if (b != NULL) {
        json_object_set_new(o, "b", json_deep_copy(b));
    }
    json_array_append_new(p->found, o);
}

/* Compares below one more reference token; '~' and '/' are escaped as RFC 6901 says. */
static void compare_below(place* p, const char* token, const json_t* a, const json_t* b)
{
    const size_t length = p->length;
    size_t n = length;
    if (n + 2 * strlen(token) + 2 < PATH_SIZE) {
        p->path[n++] = '/';
        for (const char* c = token; *c != '\0'; ++c) {
            if (*c == '~' || *c == '/') {
                p->path[n++] = '~';
                p->path[n++] = *c == '~' ? '0' : '1';
            } else {
                p->path[n++] = *c;
            }
        }
        p->path[n] = '\0';
    }
    p->length = n;
    compare_values(p, a, b);
    p->length = length;
    p->path[length] = '\0';
}

static const char* name_of(const json_t* value)
{
    return json_string_value(json_object_get(value, "name"));
}

/* The member of a list with that name and its place; NULL if there is none. */
static const json_t* find_named(const json_t* list, const char* name, size_t* at)
{
    for (*at = 0; *at < json_array_size(list); ++*at) {
        const json_t* item = json_array_get(list, *at);
        const char* other = name_of(item);
        if (other != NULL && strcmp(other, name) == 0) {
            return item;
        }
    }
    return NULL;
}

static bool all_are_named(const json_t* list)
{
    for (size_t i = 0; i < json_array_size(list); ++i) {
        if (name_of(json_array_get(list, i)) == NULL) {
            return false;
        }
    }
    return true;
}

static void compare_item(place* p, size_t index, const char* name, const json_t* a, const json_t* b)
{
    char token[24];
    const char* outer = p->name;
    (void)snprintf(token, sizeof token, "%zu", index);
    p->name = name != NULL ? name : outer;
    compare_below(p, token, a, b);
    p->name = outer;
}

static void compare_named_lists(place* p, const json_t* a, const json_t* b)
{
    size_t at;
    for (size_t i = 0; i < json_array_size(a); ++i) {
        const json_t* item = json_array_get(a, i);
        compare_item(p, i, name_of(item), item, find_named(b, name_of(item), &at));
    }
    for (size_t i = 0; i < json_array_size(b); ++i) {
        const json_t* item = json_array_get(b, i);
        if (find_named(a, name_of(item), &at) == NULL) {
            compare_item(p, i, name_of(item), NULL, item);
        }
    }
}

static bool holds_objects(const json_t* list)
{
    for (size_t i = 0; i < json_array_size(list); ++i) {
        if (json_is_object(json_array_get(list, i))) {
            return true;
        }
    }
    return false;
}

static void compare_objects(place* p, const json_t* a, const json_t* b)
{
    const char* key;
    json_t* value;
    json_object_foreach((json_t*)a, key, value)
    {
        compare_below(p, key, value, json_object_get(b, key));
    }
    json_object_foreach((json_t*)b, key, value)
    {
        if (json_object_get(a, key) == NULL) {
            compare_below(p, key, NULL, value);
        }
    }
}

static bool equal_values(const json_t* a, const json_t* b)
{
    if (json_is_number(a) && json_is_number(b)) {
        return json_number_value(a) == json_number_value(b);
    }
    if (json_is_array(a) && json_is_array(b)) {
        bool equal = json_array_size(a) == json_array_size(b);
        for (size_t i = 0; equal && i < json_array_size(a); ++i) {
            equal = equal_values(json_array_get(a, i), json_array_get(b, i));
        }
        return equal;
    }
    return json_equal(a, b) == 1;
}

static void compare_values(place* p, const json_t* a, const json_t* b)
{
    if (a == NULL || b == NULL) {
        add_difference(p, a, b);
    } else if (json_is_object(a) && json_is_object(b)) {
        compare_objects(p, a, b);
    } else if (json_is_array(a) && json_is_array(b) && (holds_objects(a) || holds_objects(b))) {
        if (all_are_named(a) && all_are_named(b)) {
            compare_named_lists(p, a, b);
            return;
        }
        const size_t na = json_array_size(a), nb = json_array_size(b);
        for (size_t i = 0; i < na || i < nb; ++i) {
            compare_item(p, i, NULL, json_array_get(a, i), json_array_get(b, i));
        }
    } else if (!equal_values(a, b)) {
        add_difference(p, a, b);
    }
}

json_t* scene_diff(const char* a, const char* b)
{
    place p = {.found = json_array()};
    json_t* x = json_loads(a, 0, NULL);
    json_t* y = json_loads(b, 0, NULL);
    if (x != NULL && y != NULL) {
        compare_values(&p, x, y);
    }
    json_decref(x);
    json_decref(y);
    return p.found;
}

void scene_diff_text(const json_t* value, char* text, size_t size)
{
    const size_t flags = JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15);
    char* dump = value != NULL ? json_dumps(value, flags) : NULL;
    const char* from = value == NULL ? "not given" : dump != NULL ? dump : "?";
    if (strlen(from) < size) {
        (void)snprintf(text, size, "%s", from);
    } else { /* not inside a UTF-8 character */
        size_t n = size - 4;
        while (n > 0 && ((unsigned char)from[n] & 0xc0u) == 0x80u) {
            --n;
        }
        (void)snprintf(text, size, "%.*s...", (int)n, from);
    }
    free(dump);
}
