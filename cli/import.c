/* cli/import.c - `perp import`: a robot as a scene that can be read and edited. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"

/* ---- a scene for people to read ---------------------------------------------------------------*/

static bool is_flat(const json_t* value)
{
    size_t i;
    json_t* item;
    json_array_foreach((json_t*)value, i, item)
    {
        if (json_is_array(item) || json_is_object(item)) {
            return false;
        }
    }
    return json_is_array(value);
}

static void indent(FILE* file, int depth)
{
    fputc('\n', file);
    for (int i = 0; i < depth; ++i) {
        fputs("  ", file);
    }
}

/* A number with the fewest digits that give it back: 9.81, not 9.8100000000000005. */
static void write_scalar(FILE* file, const json_t* value)
{
    size_t precision = 15;
    for (; json_is_real(value) && precision < 17; ++precision) {
        char text[64];
        const size_t n =
            json_dumpb(value, text, sizeof text, JSON_ENCODE_ANY | JSON_REAL_PRECISION(precision));
        json_t* again = n <= sizeof text ? json_loadb(text, n, JSON_DECODE_ANY, NULL) : NULL;
        const bool same = json_equal(value, again) != 0;
        json_decref(again);
        if (same) {
            break;
        }
    }
    (void)json_dumpf(value, file, JSON_ENCODE_ANY | JSON_REAL_PRECISION(precision));
}

/* Lists of numbers and words in one line, everything else one entry a line. */
static void write_value(FILE* file, const json_t* value, int depth)
{
    if (json_is_object(value)) {
        bool first = true;
        fputc('{', file);
        for (void* i = json_object_iter((json_t*)value); i != NULL;
             i = json_object_iter_next((json_t*)value, i)) {
            fputs(first ? "" : ",", file);
            first = false;
            indent(file, depth + 1);
            json_t* key = json_string(json_object_iter_key(i));
            write_scalar(file, key);
            json_decref(key);
            fputs(": ", file);
            write_value(file, json_object_iter_value(i), depth + 1);
        }
        if (!first) {
            indent(file, depth);
        }
        fputc('}', file);
    } else if (json_is_array(value)) {
        const bool flat = is_flat(value);
        fputc('[', file);
        for (size_t i = 0; i < json_array_size(value); ++i) {
            fputs(i == 0 ? "" : flat ? ", " : ",", file);
            if (!flat) {
                indent(file, depth + 1);
            }
            write_value(file, json_array_get(value, i), depth + 1);
        }
        if (!flat) {
            indent(file, depth);
        }
        fputc(']', file);
    } else {
        write_scalar(file, value);
    }
}

static int write_scene(const cli_args* args, const perp_scene* scene, const char* out)
{
    json_t* root = json_loads(perp_scene_text(scene), 0, NULL);
    if (root == NULL) {
        return cli_fail(args->json, CLI_FAILED, "out of memory");
    }
    FILE* file = out != NULL ? fopen(out, "w") : stdout;
    if (file == NULL) {
        json_decref(root);
        return cli_fail(args->json, CLI_BAD_INPUT, "%s: cannot write: %s", out, strerror(errno));
    }
    write_value(file, root, 0);
    fputc('\n', file);
    json_decref(root);
    int failed = fflush(file) != 0 || ferror(file);
    if (file != stdout) {
        failed |= fclose(file) != 0;
    }
    return failed == 0 ? CLI_DONE
                       : cli_fail(args->json, CLI_FAILED, "%s: cannot write: %s",
                                  out != NULL ? out : "standard output", strerror(errno));
}

/* ---- the verb ---------------------------------------------------------------------------------*/

static bool same_file(const char* a, const char* b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static int import(const cli_args* args, perp_context* context, const cli_overrides* overrides,
                  perp_scene** scene)
{
    const char* path = args->word[0];
    const char* given = cli_value(args, "--out");
    const char* out = given != NULL && strcmp(given, "-") == 0 ? NULL : given;
    const perp_urdf_options options = cli_urdf_options(args);
    if (args->json && out == NULL) {
        return cli_fail(true, CLI_BAD_INPUT,
                        "--json: give --out with a file too: both would go to stdout");
    }
    if (out != NULL && same_file(out, path)) {
        return cli_fail(args->json, CLI_BAD_INPUT,
                        "--out: %s is the robot itself: give the scene another name", out);
    }
    const perp_status status =
        perp_scene_load_urdf(context, path, &options, overrides->item, overrides->count, scene);
    if (status != PERP_OK) {
        return cli_fail(args->json, cli_exit_of(status), "%s", perp_context_error(context));
    }
    const int exit_status = write_scene(args, *scene, out);
    if (exit_status != CLI_DONE || out == NULL) {
        return exit_status;
    }
    const perp_model* model = perp_scene_model(*scene);
    const int bodies = (int)perp_model_body_count(model);
    const int joints = (int)perp_model_joint_count(model);
    if (args->json) {
        cli_print_json(json_pack("{s:s, s:o, s:o, s:i, s:i}", "status", "ok", "scene",
                                 cli_text(perp_scene_name(*scene)), "file", cli_text(out), "bodies",
                                 bodies, "joints", joints));
    } else if (!cli_flag(args, "--quiet")) {
        cli_put(out);
        printf(": %d bodies, %d joints\n", bodies, joints);
    }
    return CLI_DONE;
}

static int verb_import(const cli_args* args)
{
    cli_overrides overrides;
    perp_scene* scene = NULL;
    perp_context* context = cli_context(args->json);
    if (context == NULL) {
        return CLI_FAILED;
    }
    int exit_status = cli_overrides_gather(args, &overrides);
    if (exit_status == CLI_DONE) {
        exit_status = import(args, context, &overrides, &scene);
    }
    perp_scene_destroy(scene);
    perp_context_destroy(context);
    cli_overrides_free(&overrides);
    return exit_status;
}

static const cli_option options[] = {
    {"--out", "SCENE",
     "write the scene to this file (-o); without it, or with -, to standard output"},
    CLI_URDF_OPTIONS,
    {"--step", "H", "length of a step"},
    {"--duration", "T", "how long to simulate"},
    {"--set", "POINTER=VALUE", "override any place of the scene"},
    {"--param", "NAME=VALUE", "set a parameter of the scene"},
    {"--json", NULL, "print one JSON object about it (with --out)"},
    {"--quiet", NULL, "print nothing but errors and notices"},
    {0},
};

const cli_verb cli_verb_import = {
    .name = "import",
    .usage = "ROBOT [-o SCENE] [options]",
    .summary = "turn a robot (URDF, MJCF) into a scene",
    .text = "URDF: links become bodies, at joint coordinates 0; the root link is part of the world "
            "unless\n"
            "--floating. MJCF (a file whose root is <mujoco>): bodies at the keyframe home, or at "
            "the pose of\n"
            "the file. Meshes are written into the scene. See docs/urdf.md and docs/mjcf.md for "
            "what is read.",
    .words_min = 1,
    .words_max = 1,
    .option = options,
    .run = verb_import,
};
