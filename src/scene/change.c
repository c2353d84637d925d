/* src/scene/change.c - parameters and places of a scene: set for good, or for one other model. */
#include <stdlib.h>
#include <string.h>

#include "model/model.h"
#include "scene/object.h"
#include "scene/pointer.h"
#include "scene/variant.h"

/* ---- parameters ------------------------------------------------------------------------------------*/

int32_t perp_scene_parameter_count(const perp_scene* scene)
{
    return scene->parts.parameters.count;
}

perp_parameter perp_scene_parameter(const perp_scene* scene, int32_t parameter)
{
    return scene->parts.parameters.item[parameter];
}

int32_t perp_scene_parameter_find(const perp_scene* scene, const char* name)
{
    const perpi_parameters* p = &scene->parts.parameters;
    for (int32_t i = 0; i < p->count; ++i) {
        if (strcmp(p->item[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

bool perp_scene_parameter_used(const perp_scene* scene, int32_t parameter)
{
    return scene->parts.parameters.used[parameter];
}

/* Puts a value, which stays the caller's, at a place of one tree. */
static perp_status set_in_tree(perp_scene* scene, json_t* tree, const char* name, json_t* value,
                               bool* of_file)
{
    json_t* old = NULL;
    PERPI_TRY(perpi_json_place(scene->context, scene->origin, tree, name, value, &old, of_file));
    const perp_status status = perpi_scene_retire(scene, old);
    json_decref(old);
    return status;
}

static perp_status set_place(perp_scene* scene, const char* name, json_t* value)
{
    bool of_file = false;
    PERPI_TRY(set_in_tree(scene, scene->source, name, value, &of_file));
    scene->embeds = scene->embeds || (of_file && perpi_scene_has_files(scene->source));
    scene->embed_next = scene->embed_next || (scene->embeds && of_file) || scene->expanded;
    if (scene->root == scene->source || scene->embed_next) {
        return PERP_OK;
    }
    /* a place that the other tree does not have comes there when files are read again */
    const perp_status status = set_in_tree(scene, scene->root, name, value, &of_file);
    scene->embed_next = status == PERP_ERROR_INPUT;
    return status == PERP_ERROR_INPUT ? PERP_OK : status;
}

static perp_status set_value(perp_scene* scene, const char* name, json_t* value)
{
    if (value == NULL) {
        return perpi_fail(scene->context, PERP_ERROR_INPUT,
                          "%s: %.200s: must be a finite number or UTF-8 text", scene->origin, name);
    }
    const perp_status status = set_place(scene, name, value);
    json_decref(value);
    return status;
}

perp_status perp_scene_set_number(perp_scene* scene, const char* name, double value)
{
    return set_value(scene, name, json_real(value));
}

perp_status perp_scene_set_string(perp_scene* scene, const char* name, const char* value)
{
    return set_value(scene, name, json_string(value));
}

perp_status perp_scene_rebuild(perp_scene* scene)
{
    if (scene->embeds && (scene->embed_next || scene->embed_always)) {
        PERPI_TRY(perpi_scene_embed(scene, NULL));
    }
    PERPI_TRY(perpi_scene_build(scene));
    scene->text_old = true;
    return PERP_OK;
}

/* ---- variants --------------------------------------------------------------------------------------*/

/* Puts a value at a place of both trees, or makes the tree with the contents of files again. old: what was in
 * source. Places that root lacks are in files. */
static perp_status exchange_value(perp_scene* scene, const char* name, json_t* value, json_t** old)
{
    bool of_file = false;
    json_t* in_root = NULL;
    PERPI_TRY(
        perpi_json_place(scene->context, scene->origin, scene->source, name, value, old, &of_file));
    if (scene->root == scene->source) {
        return PERP_OK;
    }
    if (!scene->embed_always && !of_file &&
        perpi_json_place(scene->context, scene->origin, scene->root, name, value, &in_root,
                         &of_file) == PERP_OK) {
        json_decref(in_root);
        return PERP_OK;
    }
    return perpi_scene_embed(scene, NULL);
}

/* The value at a JSON pointer; NULL: there is none. */
static const json_t* json_at(const json_t* at, const char* name)
{
    char token[256];
    while (at != NULL && name[0] == '/') {
        size_t n = 0;
        for (++name; *name != '\0' && *name != '/' && n + 1 < sizeof token; ++name) {
            const bool escaped = name[0] == '~' && (name[1] == '0' || name[1] == '1');
            token[n++] = !escaped ? *name : name[1] == '0' ? '~' : '/';
            name += escaped ? 1 : 0;
        }
        token[n] = '\0';
        const bool index = n > 0 && strspn(token, "0123456789") == n;
        at = json_is_object(at) ? json_object_get(at, token)
             : index            ? json_array_get(at, (size_t)strtoul(token, NULL, 10))
                                : NULL;
    }
    return *name == '\0' ? at : NULL;
}

static perp_status no_number(perp_scene* scene, const char* name)
{
    return perpi_fail(scene->context, PERP_ERROR_INPUT,
                      "%s: %.200s: must be a number of the scene, or the name of a parameter",
                      scene->origin, name);
}

perp_status perpi_scene_number(perp_scene* scene, const char* name, double* value)
{
    const int32_t parameter = perp_scene_parameter_find(scene, name);
    if (parameter >= 0) {
        *value = perp_scene_parameter(scene, parameter).value;
        return PERP_OK;
    }
    const json_t* place = json_at(scene->source, name);
    if (!json_is_number(place)) {
        return no_number(scene, name);
    }
    *value = json_number_value(place);
    return PERP_OK;
}

/* Puts back what was there, the last first. */
static perp_status put_back(perp_scene* scene, const char* const* name, json_t** old, int32_t count)
{
    perp_status status = PERP_OK;
    for (int32_t i = count - 1; i >= 0; --i) {
        json_t* back = NULL;
        const perp_status restored = exchange_value(scene, name[i], old[i], &back);
        json_decref(back);
        json_decref(old[i]);
        status = status == PERP_OK ? restored : status;
    }
    return status;
}

perp_status perpi_scene_variant_of(perp_scene* scene, const char* const* name, const double* value,
                                   int32_t count, perp_model** model, perp_sim_def* numbers)
{
    json_t** old = NULL;
    int32_t put = 0;
    perp_status status = perpi_alloc(scene->context, (size_t)count + 1, sizeof *old, &old);
    while (status == PERP_OK && put < count) {
        json_t* number = json_real(value[put]);
        if (number == NULL) {
            status =
                perpi_fail(scene->context, PERP_ERROR_INPUT, "%s: %.200s: must be finite, got %g",
                           scene->origin, name[put], value[put]);
            break;
        }
        status = exchange_value(scene, name[put], number, &old[put]);
        json_decref(number);
        put += old[put] != NULL ? 1 : 0;
    }
    perpi_scene_parts parts = {0};
    if (status == PERP_OK) {
        status = perpi_scene_read(scene, &parts);
    }
    if (status == PERP_OK) {
        *model = parts.model;
        *numbers = parts.run;
        parts.model = NULL;
        perpi_scene_parts_free(scene->context, &parts);
    }
    const perp_status restored = old != NULL ? put_back(scene, name, old, put) : PERP_OK;
    if (status == PERP_OK && restored != PERP_OK) {
        perp_model_destroy(*model);
        *model = NULL;
        status = restored;
    }
    perpi_free(scene->context, old);
    return status;
}

perp_status perpi_scene_variant(perp_scene* scene, const char* name, double value,
                                perp_model** model, perp_sim_def* numbers)
{
    return perpi_scene_variant_of(scene, &name, &value, 1, model, numbers);
}

/* ---- where a parameter stands ------------------------------------------------------------------------*/

/* Whether a text has one of the names as a word. */
static bool text_has(const char* text, const json_t* names)
{
    for (const char* at = text; *at != '\0';) {
        const bool word = *at == '_' || (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z');
        size_t n = 1;
        while (word && (at[n] == '_' || (at[n] >= 'a' && at[n] <= 'z') ||
                        (at[n] >= 'A' && at[n] <= 'Z') || (at[n] >= '0' && at[n] <= '9'))) {
            ++n;
        }
        if (word && json_object_getn(names, at, n) != NULL) {
            return true;
        }
        at += n;
    }
    return false;
}

static bool tree_has(json_t* tree, const json_t* names)
{
    bool has = json_is_string(tree) && text_has(json_string_value(tree), names);
    const char* key;
    json_t* value;
    json_object_foreach(tree, key, value)
    {
        has = has || tree_has(value, names);
    }
    for (size_t i = 0; !has && i < json_array_size(tree); ++i) {
        has = tree_has(json_array_get(tree, i), names);
    }
    return has;
}

/* The parameters that depend on one, itself included. */
static json_t* dependent_names(const perp_scene* scene, const char* name)
{
    json_t* names = json_object();
    json_t* parameters = json_object_get(scene->root, "parameters");
    size_t before = 0;
    (void)json_object_set_new(names, name, json_true());
    while (json_object_size(names) > before) {
        const char* key;
        json_t* value;
        before = json_object_size(names);
        json_object_foreach(parameters, key, value)
        {
            if (tree_has(value, names)) {
                (void)json_object_set_new(names, key, json_true());
            }
        }
    }
    return names;
}

bool perpi_scene_stands_in(const perp_scene* scene, const char* name, bool* body)
{
    static const char* const apart[] = {"name",   "description", "$schema",   "measures",
                                        "record", "stop",        "parameters"};
    json_t* bodies = json_object_get(scene->root, "bodies");
    const size_t count = json_array_size(bodies);
    if (scene->root != scene->source || count != scene->parts.model->body_count) {
        return false;
    }
    if (name[0] == '/') {
        char* end = NULL;
        const unsigned long index =
            strncmp(name, "/bodies/", 8) == 0 ? strtoul(name + 8, &end, 10) : count;
        if (end == NULL || *end != '/' || index >= count) {
            return false;
        }
        body[index] = true;
        return true;
    }
    json_t* names = dependent_names(scene, name);
    bool only = true;
    const char* key;
    json_t* value;
    json_object_foreach(scene->root, key, value)
    {
        bool skipped = strcmp(key, "bodies") == 0;
        for (size_t i = 0; i < sizeof apart / sizeof apart[0]; ++i) {
            skipped = skipped || strcmp(key, apart[i]) == 0;
        }
        only = only && (skipped || !tree_has(value, names));
    }
    for (size_t i = 0; i < count; ++i) {
        body[i] = tree_has(json_array_get(bodies, i), names);
    }
    json_decref(names);
    return only;
}
