/* src/scene/scene.c - the scene as an object: text, tree, model, settings. */
#include "perp/scene.h"

#include <string.h>

#include "base/file.h"
#include "scene/json_text.h"
#include "scene/pointer.h"
#include "scene/reader.h"
#include "scene/urdf.h"
#include "scene/write.h"

struct perp_scene {
    perp_context* context;
    json_t* root; /* owns the strings of run */
    perp_model* model;
    perp_sim_def run;
    perp_option* options; /* of the solver */
    perp_option* stepper_options;
    int32_t record_every;
    char* text;
};

static const char* const known[] = {
    "name",     "description", "$schema",   "dimension",     "gravity",         "step",
    "duration", "stepper",     "contact",   "solver",        "friction",        "restitution",
    "bodies",   "joints",      "forces",    "controllers",   "record",          "joint_correction",
    "rotation", "margin",      "tolerance", "allow_overlap", "joint_direction", NULL};

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

/* The text of a scene names its contact model, so that the meaning of a recording does not change
 * with the default. */
static perp_status set_contact(perp_context* context, const char* origin, json_t* root)
{
    if (!json_is_object(root) || json_object_get(root, "contact") != NULL) {
        return PERP_OK;
    }
    if (json_object_set_new(root, "contact", json_string(PERPI_SCENE_CONTACT)) != 0) {
        return perpi_fail(context, PERP_ERROR_MEMORY, "%s: out of memory", origin);
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

static perp_status read_scene(perpi_reader* r, perp_scene* scene)
{
    const json_t* root = scene->root;
    PERPI_TRY(perpi_read_object(r, root, known));
    perp_model_def def = perp_model_def_default();
    PERPI_TRY(read_model_head(r, root, &def));
    PERPI_TRY(perpi_read_run(r, root, &scene->run, &scene->options, &scene->stepper_options));
    PERPI_TRY(read_record(r, root, &scene->record_every));
    const perp_status status = perp_model_create(r->context, &def, &scene->model);
    if (status != PERP_OK) {
        return perpi_reader_fail_member(r, status);
    }
    r->model = scene->model;
    PERPI_TRY(perpi_embed_meshes(r, scene->root));
    PERPI_TRY(perpi_read_bodies(r, root));
    PERPI_TRY(perpi_read_pairs(r, root));
    PERPI_TRY(perpi_read_joints(r, root));
    PERPI_TRY(perpi_read_forces(r, root));
    return perpi_read_controllers(r, root);
}

static perp_status dump_tree(perp_scene* scene, int precision)
{
    perpi_free(scene->context, scene->text);
    scene->text = NULL;
    const size_t flags = JSON_REAL_PRECISION(precision);
    const size_t size = json_dumpb(scene->root, NULL, 0, flags);
    if (size == 0) {
        return perpi_fail(scene->context, PERP_ERROR_MEMORY, "out of memory");
    }
    PERPI_TRY(perpi_alloc(scene->context, size + 1, 1, &scene->text));
    return json_dumpb(scene->root, scene->text, size, flags) == size
               ? PERP_OK
               : perpi_fail(scene->context, PERP_ERROR_MEMORY, "out of memory");
}

/* The tree as text. 17 digits preserve every double, but print 9.81 as 9.8100000000000005; 15
 * digits suffice for most given numbers. */
static perp_status write_text(perp_scene* scene)
{
    for (int precision = 15; precision < 17; ++precision) {
        PERPI_TRY(dump_tree(scene, precision));
        json_t* again = json_loads(scene->text, 0, NULL);
        const bool same = json_equal(scene->root, again); /* compare reals bit by bit */
        json_decref(again);
        if (same) {
            return PERP_OK;
        }
    }
    return dump_tree(scene, 17);
}

/* Builds the model and settings from scene->root. */
static perp_status build_scene(perp_scene* scene, const char* origin, const perp_override* override,
                               int32_t count)
{
    perp_context* context = scene->context;
    for (int32_t i = 0; i < count; ++i) {
        PERPI_TRY(perpi_json_override(context, origin, scene->root, &override[i]));
    }
    PERPI_TRY(perpi_inline_tables(context, origin, scene->root));
    PERPI_TRY(set_name(context, origin, scene->root));
    PERPI_TRY(set_contact(context, origin, scene->root));
    scene->record_every = 1;
    perpi_reader r = {.context = context, .origin = origin, .dimension = 3};
    perpi_arena_init(&r.arena, context);
    const perp_status status = read_scene(&r, scene);
    perpi_arena_free(&r.arena);
    PERPI_TRY(status);
    return write_text(scene);
}

/* urdf: NULL for JSON. */
static perp_status create_scene(perp_context* context, const char* text, size_t length,
                                const char* origin, const perp_urdf_options* urdf,
                                const perp_override* override, int32_t count, perp_scene** scene)
{
    perp_scene* s = NULL;
    PERPI_TRY(perpi_alloc(context, 1, sizeof *s, &s));
    s->context = context;
    origin = origin != NULL ? origin : "scene";
    perp_status status = urdf != NULL
                             ? perpi_urdf_scene(context, text, length, origin, urdf, &s->root)
                             : perpi_json_parse(context, text, length, origin, &s->root);
    if (status == PERP_OK) {
        status = build_scene(s, origin, override, count);
    }
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
    return create_scene(context, text, length, origin, NULL, override, count, scene);
}

perp_status perpi_scene_from_model(perp_context* context, const perp_model* model,
                                   const perp_scene_run* run, int32_t record_every,
                                   perp_scene** scene)
{
    perp_scene* s = NULL;
    PERPI_TRY(perpi_alloc(context, 1, sizeof *s, &s));
    s->context = context;
    perp_status status = perpi_scene_tree(context, model, run, record_every, &s->root);
    if (status == PERP_OK) {
        status = build_scene(s, "model", NULL, 0);
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
    return perpi_file_write(scene->context, path, scene->text, strlen(scene->text));
}

perp_urdf_options perp_urdf_options_default(void)
{
    return (perp_urdf_options){.package = NULL};
}

perp_status perp_scene_parse_urdf(perp_context* context, const char* text, size_t length,
                                  const char* origin, const perp_urdf_options* options,
                                  const perp_override* override, int32_t count, perp_scene** scene)
{
    return create_scene(context, text, length, origin, options, override, count, scene);
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

static bool is_urdf(const char* path)
{
    const size_t length = strlen(path);
    return length > 5 && strcmp(path + length - 5, ".urdf") == 0;
}

perp_status perp_scene_load(perp_context* context, const char* path, const perp_override* override,
                            int32_t count, perp_scene** scene)
{
    if (is_urdf(path)) {
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
    perp_model_destroy(scene->model);
    perpi_free(context, scene->options);
    perpi_free(context, scene->stepper_options);
    perpi_free(context, scene->text);
    json_decref(scene->root);
    perpi_free(context, scene);
}

const perp_model* perp_scene_model(const perp_scene* scene)
{
    return scene->model;
}

const char* perp_scene_name(const perp_scene* scene)
{
    return perp_model_name(scene->model);
}

const char* perp_scene_text(const perp_scene* scene)
{
    return scene->text;
}

int32_t perp_scene_record_every(const perp_scene* scene)
{
    return scene->record_every;
}

perp_sim_def perp_sim_def_from_scene(const perp_scene* scene)
{
    return scene->run;
}

perp_scene_run perp_scene_run_settings(const perp_scene* scene)
{
    return scene->run;
}
