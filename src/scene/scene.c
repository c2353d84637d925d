/* src/scene/scene.c - the scene as an object: text, tree, model, settings. */
#include "perp/scene.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "scene/json_text.h"
#include "scene/parameter.h"
#include "scene/pointer.h"
#include "scene/object.h"
#include "scene/reader.h"
#include "scene/expand.h"
#include "scene/ignore_overlaps.h"
#include "scene/mjcf.h"
#include "scene/urdf.h"
#include "scene/variant.h"
#include "scene/write.h"
#include "sim/measure.h"

static const char* const known[] = {"name",
                                    "description",
                                    "$schema",
                                    "dimension",
                                    "gravity",
                                    "step",
                                    "duration",
                                    "stepper",
                                    "contact",
                                    "solver",
                                    "friction",
                                    "restitution",
                                    "bodies",
                                    "joints",
                                    "forces",
                                    "controllers",
                                    "record",
                                    "joint_correction",
                                    "rotation",
                                    "margin",
                                    "tolerance",
                                    "allow_overlap",
                                    "measures",
                                    "stop",
                                    "parameters",
                                    "joint_direction",
                                    "contact_direction",
                                    NULL};

/* The stem of the file name, for a scene without a name. */
static perp_status set_name(perp_context* context, const char* origin, json_t* root)
{
    if (!json_is_object(root) || json_object_get(root, "name") != NULL) {
        return PERP_OK;
    }
    const char* slash = strrchr(origin, '/');
    const char* stem = slash != NULL ? slash + 1 : origin;
    const char* dot = strrchr(stem, '.');
    const size_t length = dot != NULL && dot != stem ? (size_t)(dot - stem) : strlen(stem);
    json_t* name = length > 0 ? json_stringn(stem, length) : NULL;
    if (name == NULL) { /* no stem, or not UTF-8 */
        name = json_string("scene");
    }
    if (json_object_set_new(root, "name", name) != 0) {
        return perpi_fail(context, PERP_ERROR_MEMORY, "%s: out of memory", origin);
    }
    return PERP_OK;
}

/* The text of a scene names its contact model and the directions of its joints and of contacts of round
 * bodies, so that the meaning of a recording does not change with the defaults. */
static perp_status set_defaults(perp_context* context, const char* origin, json_t* root)
{
    const bool joints = json_object_get(root, "joints") != NULL || perpi_expands(root);
    const struct {
        const char *key, *value;
        bool asked;
    } defaults[] = {{"contact", PERPI_SCENE_CONTACT, true},
                    {"joint_direction", PERPI_SCENE_DIRECTION, joints},
                    {"contact_direction", PERPI_SCENE_DIRECTION, perpi_json_may_roll(root)}};
    for (size_t i = 0; json_is_object(root) && i < sizeof defaults / sizeof defaults[0]; ++i) {
        if (defaults[i].asked && json_object_get(root, defaults[i].key) == NULL &&
            json_object_set_new(root, defaults[i].key, json_string(defaults[i].value)) != 0) {
            return perpi_fail(context, PERP_ERROR_MEMORY, "%s: out of memory", origin);
        }
    }
    return PERP_OK;
}

static perp_status read_record(perpi_reader* r, const json_t* root, int32_t* every)
{
    static const char* const keys[] = {"every", NULL};
    const json_t* record = json_object_get(root, "record");
    if (record == NULL) {
        return PERP_OK;
    }
    const size_t mark = perpi_reader_enter(r, "record");
    PERPI_TRY(perpi_read_object(r, record, keys));
    PERPI_TRY(perpi_read_integer(r, record, "every", 1, INT32_MAX, every));
    perpi_reader_leave(r, mark);
    return PERP_OK;
}

static perp_status read_model_head(perpi_reader* r, const json_t* root, perp_model_def* def)
{
    const char* ignored = NULL;
    PERPI_TRY(perpi_read_string(r, root, "description", &def->description));
    PERPI_TRY(perpi_read_string(r, root, "$schema", &ignored));
    PERPI_TRY(perpi_read_string(r, root, "name", &def->name));
    if (json_is_string(json_object_get(root, "dimension"))) {
        return perpi_reader_fail_key(r, "dimension", PERP_ERROR_INPUT,
                                     "must be 2 or 3, got a string");
    }
    PERPI_TRY(perpi_read_integer(r, root, "dimension", 2, 3, &def->dimension));
    r->dimension = def->dimension;
    PERPI_TRY(perpi_read_space(r, root, "gravity", def->gravity, NULL));
    const json_t* friction = json_object_get(root, "friction");
    const size_t mark = perpi_reader_enter(r, "friction");
    PERPI_TRY(perpi_read_number(r, friction, "default", &def->friction_default));
    perpi_reader_leave(r, mark);
    bool given;
    return perpi_read_restitution(r, root, &def->restitution_default, &def->impact_law, &given);
}

/* Names of measures and stops, which the simulation checks. */
static perp_status check_def(perpi_reader* r, const perp_sim_def* def)
{
    const perp_status status = perpi_measures_check_def(r->context, def);
    return status == PERP_OK ? status : perpi_reader_fail_member(r, status);
}

/* A study in place of a scene: says which verb runs it. */
static perp_status refuse_study(perpi_reader* r, const json_t* root)
{
    const bool design = json_object_get(root, "unknown") != NULL;
    if (json_object_get(root, "scene") == NULL ||
        (!design && json_object_get(root, "vary") == NULL)) {
        return PERP_OK;
    }
    return perpi_reader_fail_key(r, design ? "unknown" : "vary", PERP_ERROR_INPUT,
                                 "is a key of a study, not of a scene: 'perp %s' runs it",
                                 design ? "design" : "sweep");
}

static perp_status read_parts(perpi_reader* r, const json_t* root, perpi_scene_parts* parts)
{
    PERPI_TRY(refuse_study(r, root));
    PERPI_TRY(perpi_read_object(r, root, known));
    PERPI_TRY(perpi_read_parameters(r, root, &parts->parameters));
    perp_model_def def = perp_model_def_default();
    PERPI_TRY(read_model_head(r, root, &def));
    PERPI_TRY(perpi_read_run(r, root, &parts->run, &parts->options, &parts->stepper_options));
    PERPI_TRY(read_record(r, root, &parts->record_every));
    const perp_status status = perp_model_create(r->context, &def, &parts->model);
    if (status != PERP_OK) {
        return perpi_reader_fail_member(r, status);
    }
    r->model = parts->model;
    PERPI_TRY(perpi_read_bodies(r, root));
    PERPI_TRY(perpi_read_pairs(r, root));
    PERPI_TRY(perpi_read_joints(r, root));
    PERPI_TRY(perpi_read_forces(r, root));
    PERPI_TRY(perpi_read_controllers(r, root));
    PERPI_TRY(perpi_read_measures(r, root, &parts->measures, &parts->run.measure_count));
    PERPI_TRY(perpi_read_stops(r, root, parts->measures, parts->run.measure_count, &parts->stops,
                               &parts->run.stop_count));
    perpi_parameters_spread_use(&parts->parameters);
    parts->run.measure = parts->measures;
    parts->run.stop = parts->stops;
    parts->run.parameter = parts->parameters.item;
    parts->run.parameter_count = parts->parameters.count;
    return check_def(r, &parts->run);
}

void perpi_scene_parts_free(perp_context* context, perpi_scene_parts* parts)
{
    perp_model_destroy(parts->model);
    perpi_free(context, parts->options);
    perpi_free(context, parts->stepper_options);
    perpi_free(context, parts->measures);
    perpi_free(context, parts->stops);
    perpi_parameters_free(context, &parts->parameters);
    *parts = (perpi_scene_parts){0};
}

static perp_status dump_tree(perp_context* context, const json_t* tree, int precision, char** text)
{
    perpi_free(context, *text);
    *text = NULL;
    const size_t flags = JSON_REAL_PRECISION(precision);
    const size_t size = json_dumpb(tree, NULL, 0, flags);
    if (size == 0) {
        return perpi_fail(context, PERP_ERROR_MEMORY, "out of memory");
    }
    PERPI_TRY(perpi_alloc(context, size + 1, 1, text));
    return json_dumpb(tree, *text, size, flags) == size
               ? PERP_OK
               : perpi_fail(context, PERP_ERROR_MEMORY, "out of memory");
}

/* A tree as text. 17 digits preserve every double, but print 9.81 as 9.8100000000000005; 15
 * digits suffice for most given numbers. */
static perp_status write_text(perp_context* context, const json_t* tree, char** text)
{
    for (int precision = 15; precision < 17; ++precision) {
        PERPI_TRY(dump_tree(context, tree, precision, text));
        json_t* again = json_loads(*text, 0, NULL);
        const bool same = json_equal(tree, again); /* compare reals bit by bit */
        json_decref(again);
        if (same) {
            return PERP_OK;
        }
    }
    return dump_tree(context, tree, 17, text);
}

perp_status perpi_scene_read(perp_scene* scene, perpi_scene_parts* out)
{
    perp_context* context = scene->context;
    perpi_scene_parts parts = {.record_every = 1};
    perpi_reader r = {.context = context,
                      .origin = scene->origin,
                      .dimension = 3,
                      .arena = scene->arena,
                      .places = scene->places};
    char* first = NULL; /* so that rewinding, body by body, does not give the block back */
    perp_status status = perpi_arena_take(&r.arena, 1, 1, &first);
    if (status == PERP_OK) {
        status = read_parts(&r, scene->root, &parts);
    }
    const perp_status emptied = perpi_arena_reset(&r.arena);
    status = status == PERP_OK ? emptied : status;
    scene->arena = r.arena;
    if (status != PERP_OK) {
        perpi_scene_parts_free(context, &parts);
        return status;
    }
    *out = parts;
    return PERP_OK;
}

perp_status perpi_scene_build(perp_scene* scene)
{
    perp_context* context = scene->context;
    perpi_scene_parts parts;
    PERPI_TRY(perpi_scene_read(scene, &parts));
    for (int32_t i = 0; scene->embeds && i < parts.parameters.count && i < scene->embed_count;
         ++i) {
        parts.parameters.used[i] = parts.parameters.used[i] || scene->embed_used[i];
    }
    perpi_scene_parts_free(context, &scene->parts);
    scene->parts = parts;
    json_decref(scene->retired);
    scene->retired = NULL;
    return PERP_OK;
}

perp_status perpi_scene_retire(perp_scene* scene, json_t* value)
{
    if (value == NULL) {
        return PERP_OK;
    }
    if (scene->retired == NULL) {
        scene->retired = json_array();
    }
    return scene->retired != NULL && json_array_append(scene->retired, value) == 0
               ? PERP_OK
               : perpi_fail(scene->context, PERP_ERROR_MEMORY, "%s: out of memory", scene->origin);
}

bool perpi_scene_has_files(const json_t* root)
{
    if (perpi_has_trajectories(root)) {
        return true;
    }
    const json_t* bodies = json_object_get(root, "bodies");
    for (size_t i = 0; i < json_array_size(bodies); ++i) {
        const json_t* body = json_array_get(bodies, i);
        const json_t* shapes = json_object_get(body, "shapes");
        if (json_is_string(json_object_get(json_object_get(body, "motion"), "table"))) {
            return true;
        }
        for (size_t k = 0; k < json_array_size(shapes); ++k) {
            if (json_object_get(json_array_get(shapes, k), "file") != NULL) {
                return true;
            }
        }
    }
    return false;
}

enum { INCLUDE_DEPTH = 8 };

static perp_status load_included(const perp_scene* scene, const char* path, perp_scene** made);

/* One entry of `include`. */
static perp_status include_entry(const perp_scene* scene, perpi_reader* r, json_t* root,
                                 const json_t* entry)
{
    const char* name = NULL;
    char* path = NULL;
    perp_scene* other = NULL;
    if (!json_is_object(entry)) {
        return perpi_reader_fail(r, PERP_ERROR_INPUT, "must be an object, got %s",
                                 perpi_json_kind(entry));
    }
    PERPI_TRY(perpi_require(r, entry, "file"));
    PERPI_TRY(perpi_read_string(r, entry, "file", &name));
    PERPI_TRY(perpi_file_beside(scene->context, scene->origin, name, &path));
    perp_status status = scene->depth < INCLUDE_DEPTH
                             ? load_included(scene, path, &other)
                             : perpi_reader_fail_key(r, "file", PERP_ERROR_INPUT,
                                                     "included deeper than %d levels: does a scene "
                                                     "include itself?",
                                                     INCLUDE_DEPTH);
    perpi_free(scene->context, path);
    if (status == PERP_OK) {
        json_t* tree = json_deep_copy(other->root);
        status = tree != NULL ? perpi_expand_include(r, root, entry, tree, other->places)
                              : perpi_reader_fail(r, PERP_ERROR_MEMORY, "out of memory");
        json_t* parameters = json_object_get(tree, "parameters");
        if (status == PERP_OK && parameters != NULL) { /* those of this scene take precedence */
            json_t* own = json_object_get(root, "parameters");
            const int failed = own != NULL ? json_object_update_missing(own, parameters)
                                           : json_object_set(root, "parameters", parameters);
            status =
                failed == 0 ? PERP_OK : perpi_reader_fail(r, PERP_ERROR_MEMORY, "out of memory");
        }
        json_decref(tree);
    }
    perp_scene_destroy(other);
    return status;
}

static perp_status expand_tree(const perp_scene* scene, perpi_reader* r, json_t* root)
{
    json_t* includes = json_incref(json_object_get(root, "include"));
    perp_status status = PERP_OK;
    if (json_object_get(root, "bodies") == NULL && includes != NULL) {
        (void)json_object_set_new(root, "bodies", json_array());
    }
    status = perpi_expand_copies(r, root);
    if (status == PERP_OK && includes != NULL) {
        const size_t mark = perpi_reader_enter(r, "include");
        status = perpi_read_array(r, includes);
        for (size_t i = 0; status == PERP_OK && i < json_array_size(includes); ++i) {
            const size_t item = perpi_reader_enter_item(r, i);
            status = include_entry(scene, r, root, json_array_get(includes, i));
            if (status == PERP_OK) {
                perpi_reader_leave(r, item);
            }
        }
        if (status == PERP_OK) {
            perpi_reader_leave(r, mark);
            (void)json_object_del(root, "include");
        }
    }
    json_decref(includes);
    return status == PERP_OK ? perpi_expand_configuration(r, root, root) : status;
}

perp_status perpi_scene_embed(perp_scene* scene, perpi_notices* notices)
{
    perp_context* context = scene->context;
    json_t* root = json_deep_copy(scene->source);
    if (root == NULL) {
        return perpi_fail(context, PERP_ERROR_MEMORY, "%s: out of memory", scene->origin);
    }
    perp_status status = perpi_inline_tables(context, scene->origin, root);
    if (status == PERP_OK) {
        status = perpi_inline_trajectories(context, scene->origin, root);
    }
    perpi_parameters parameters = {0};
    perpi_reader r = {
        .context = context, .origin = scene->origin, .dimension = 3, .notices = notices};
    perpi_arena_init(&r.arena, context);
    json_decref(scene->places);
    scene->places = r.places = scene->expanded ? json_object() : NULL;
    if (scene->expanded && scene->places == NULL) {
        status = perpi_reader_fail(&r, PERP_ERROR_MEMORY, "out of memory");
    }
    if (status == PERP_OK) {
        status = perpi_read_parameters(&r, root, &parameters);
    }
    if (status == PERP_OK) {
        status = perpi_read_integer(&r, root, "dimension", 2, 3, &r.dimension);
    }
    if (status == PERP_OK) {
        status = perpi_embed_meshes(&r, root);
    }
    if (status == PERP_OK && scene->expanded) {
        status = expand_tree(scene, &r, root);
    }
    perpi_arena_free(&r.arena);
    scene->embed_always = false; /* unless the scale of a mesh is an expression */
    for (int32_t i = 0; status == PERP_OK && i < parameters.count; ++i) {
        scene->embed_always = scene->embed_always || parameters.used[i];
    }
    perpi_free(context, scene->embed_used);
    scene->embed_used = parameters.used;
    scene->embed_count = parameters.count;
    parameters.used = NULL;
    perpi_parameters_free(context, &parameters);
    if (status == PERP_OK) {
        status = perpi_scene_retire(scene, scene->root);
    }
    if (status != PERP_OK) {
        json_decref(root);
        return status;
    }
    json_decref(scene->root);
    scene->root = root;
    scene->embed_next = false;
    return PERP_OK;
}

/* Builds the model and settings from scene->source. */
static perp_status build_scene(perp_scene* scene, const perp_override* override, int32_t count,
                               perpi_notices* notices)
{
    perp_context* context = scene->context;
    for (int32_t i = 0; i < count; ++i) {
        PERPI_TRY(perpi_json_override(context, scene->origin, scene->source, &override[i]));
    }
    PERPI_TRY(set_name(context, scene->origin, scene->source));
    PERPI_TRY(set_defaults(context, scene->origin, scene->source));
    scene->expanded = perpi_expands(scene->source);
    scene->embeds = scene->expanded || perpi_scene_has_files(scene->source);
    if (scene->embeds) {
        PERPI_TRY(perpi_scene_embed(scene, notices));
    } else {
        scene->root = json_incref(scene->source);
    }
    PERPI_TRY(perpi_scene_build(scene));
    perpi_arena_free(&scene->arena); /* most scenes are never built again */
    perpi_arena_init(&scene->arena, context);
    scene->text_old = true; /* written when it is asked for */
    return PERP_OK;
}

static perp_status new_scene(perp_context* context, const char* origin, perp_scene** scene)
{
    perp_scene* s = NULL;
    PERPI_TRY(perpi_alloc(context, 1, sizeof *s, &s));
    s->context = context;
    perpi_arena_init(&s->arena, context);
    const perp_status status = perpi_strndup(context, origin, strlen(origin), &s->origin);
    if (status != PERP_OK) {
        perp_scene_destroy(s);
        return status;
    }
    *scene = s;
    return PERP_OK;
}

/* Meshes whose convex hulls collide because they are nearly convex. */
static perp_status notice_meshes(const perp_scene* s, perpi_notices* notices)
{
    const perp_model* model = s->parts.model;
    double most = 0.0;
    int32_t count = 0;
    for (size_t i = 0; i < model->shape_count; ++i) {
        const perpi_mesh* mesh = model->shape[i].mesh;
        count += mesh != NULL && mesh->missing > 0.0 ? 1 : 0;
        if (mesh != NULL && mesh->missing > most) {
            most = mesh->missing;
        }
    }
    return count == 0 ? PERP_OK
                      : perpi_notice_add(notices,
                                         "%d mesh%s nearly convex (off by at most %.2g of the "
                                         "volume): the convex hull collides",
                                         (int)count, count == 1 ? " is" : "es are", most);
}

/* Links of a robot that overlap at the start do not collide with each other. */
static perp_status ignore_overlaps(perp_scene* s, perpi_notices* notices)
{
    bool any = false;
    PERPI_TRY(perpi_ignore_overlaps(s->context, s->parts.model, s->source, s->root, notices, &any));
    return any ? perp_scene_rebuild(s) : PERP_OK;
}

/* The text of a scene. */
typedef struct scene_text {
    const char* text;
    size_t length;
    const char* origin;
    const perp_urdf_options* urdf; /* NULL: it is JSON */
    int32_t depth;                 /* of includes */
} scene_text;

static perp_status create_scene(perp_context* context, const scene_text* from,
                                const perp_override* override, int32_t count, perp_scene** scene)
{
    const char* text = from->text;
    const size_t length = from->length;
    const perp_urdf_options* urdf = from->urdf;
    perp_scene* s = NULL;
    PERPI_TRY(new_scene(context, from->origin != NULL ? from->origin : "scene", &s));
    s->depth = from->depth;
    perpi_arena arena;
    perpi_arena_init(&arena, context);
    perpi_notices notices = {.arena = &arena};
    perp_status status =
        urdf == NULL ? perpi_json_parse(context, text, length, s->origin, &s->source)
        : perpi_is_mjcf(text, length)
            ? perpi_mjcf_scene(context, text, length, s->origin, urdf, &notices, &s->source)
            : perpi_urdf_scene(context, text, length, s->origin, urdf, &notices, &s->source);
    if (status == PERP_OK) {
        status = build_scene(s, override, count, &notices);
    }
    if (status == PERP_OK) {
        status = notice_meshes(s, &notices);
    }
    if (status == PERP_OK && urdf != NULL) {
        status = ignore_overlaps(s, &notices);
    }
    if (status == PERP_OK) {
        status = perpi_notices_report(context, s->origin, &notices, urdf != NULL && urdf->strict);
    }
    perpi_arena_free(&arena);
    if (status != PERP_OK) {
        perp_scene_destroy(s);
        return status;
    }
    *scene = s;
    return PERP_OK;
}

perp_status perp_scene_parse(perp_context* context, const char* text, size_t length,
                             const char* origin, const perp_override* override, int32_t count,
                             perp_scene** scene)
{
    return create_scene(context, &(scene_text){text, length, origin, NULL, 0}, override, count,
                        scene);
}

perp_status perpi_scene_from_model(perp_context* context, const perp_model* model,
                                   const perp_scene_run* run, int32_t record_every,
                                   perp_scene** scene)
{
    perp_scene* s = NULL;
    PERPI_TRY(new_scene(context, "model", &s));
    perp_status status = perpi_scene_tree(context, model, run, record_every, &s->source);
    if (status == PERP_OK) {
        status = build_scene(s, NULL, 0, NULL);
    }
    if (status != PERP_OK) {
        perp_scene_destroy(s);
        return status;
    }
    *scene = s;
    return PERP_OK;
}

perp_status perp_scene_save(const perp_scene* scene, const char* path)
{
    const char* text = perp_scene_text(scene);
    return text != NULL ? perpi_file_write(scene->context, path, text, strlen(text))
                        : PERP_ERROR_MEMORY;
}

perp_urdf_options perp_urdf_options_default(void)
{
    return (perp_urdf_options){.package = NULL};
}

perp_status perp_scene_parse_urdf(perp_context* context, const char* text, size_t length,
                                  const char* origin, const perp_urdf_options* options,
                                  const perp_override* override, int32_t count, perp_scene** scene)
{
    return create_scene(context, &(scene_text){text, length, origin, options, 0}, override, count,
                        scene);
}

perp_status perp_scene_load_urdf(perp_context* context, const char* path,
                                 const perp_urdf_options* options, const perp_override* override,
                                 int32_t count, perp_scene** scene)
{
    char* text = NULL;
    size_t length = 0;
    PERPI_TRY(perpi_file_read(context, path, PERPI_XML_SIZE_LIMIT, &text, &length));
    const perp_status status =
        perp_scene_parse_urdf(context, text, length, path, options, override, count, scene);
    perpi_free(context, text);
    return status;
}

bool perp_scene_is_robot(const char* path)
{
    const size_t length = strlen(path);
    return (length > 5 && strcmp(path + length - 5, ".urdf") == 0) ||
           (length > 4 && strcmp(path + length - 4, ".xml") == 0);
}

static perp_status load_included(const perp_scene* scene, const char* path, perp_scene** made)
{
    const perp_urdf_options options = perp_urdf_options_default();
    const bool robot = perp_scene_is_robot(path);
    char* text = NULL;
    size_t length = 0;
    PERPI_TRY(robot ? perpi_file_read(scene->context, path, PERPI_XML_SIZE_LIMIT, &text, &length)
                    : perpi_json_read_file(scene->context, path, &text, &length));
    const scene_text from = {text, length, path, robot ? &options : NULL, scene->depth + 1};
    const perp_status status = create_scene(scene->context, &from, NULL, 0, made);
    perpi_free(scene->context, text);
    return status;
}

perp_status perp_scene_load(perp_context* context, const char* path, const perp_override* override,
                            int32_t count, perp_scene** scene)
{
    if (perp_scene_is_robot(path)) {
        const perp_urdf_options options = perp_urdf_options_default();
        return perp_scene_load_urdf(context, path, &options, override, count, scene);
    }
    char* text = NULL;
    size_t length = 0;
    PERPI_TRY(perpi_json_read_file(context, path, &text, &length));
    const perp_status status =
        perp_scene_parse(context, text, length, path, override, count, scene);
    perpi_free(context, text);
    return status;
}

void perp_scene_destroy(perp_scene* scene)
{
    if (scene == NULL) {
        return;
    }
    perp_context* context = scene->context;
    perpi_scene_parts_free(context, &scene->parts);
    perpi_arena_free(&scene->arena);
    perpi_free(context, scene->embed_used);
    perpi_free(context, scene->text);
    perpi_free(context, scene->source_text);
    perpi_free(context, scene->origin);
    json_decref(scene->retired);
    json_decref(scene->places);
    json_decref(scene->root);
    json_decref(scene->source);
    perpi_free(context, scene);
}

const perp_model* perp_scene_model(const perp_scene* scene)
{
    return scene->parts.model;
}

const char* perp_scene_name(const perp_scene* scene)
{
    return perp_model_name(scene->parts.model);
}

const char* perp_scene_text(const perp_scene* scene)
{
    perp_scene* owner = (perp_scene*)scene; /* the text is made when it is asked for */
    if (scene->text_old && write_text(scene->context, scene->root, &owner->text) != PERP_OK) {
        return NULL;
    }
    owner->text_old = false;
    return scene->text;
}

const char* perp_scene_source(const perp_scene* scene)
{
    perp_scene* owner = (perp_scene*)scene;
    if (!scene->expanded && !scene->embed_always) {
        return perp_scene_text(scene);
    }
    return write_text(scene->context, scene->source, &owner->source_text) == PERP_OK
               ? scene->source_text
               : NULL;
}

const char* perpi_scene_origin(const perp_scene* scene)
{
    return scene->origin;
}

int32_t perp_scene_record_every(const perp_scene* scene)
{
    return scene->parts.record_every;
}

perp_sim_def perp_sim_def_from_scene(const perp_scene* scene)
{
    return scene->parts.run;
}

perp_scene_run perp_scene_run_settings(const perp_scene* scene)
{
    return scene->parts.run;
}
