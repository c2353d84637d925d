/* cli/scene_args.c - from the command line to a scene: what is overridden. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* Options that override one value of the scene. */
static const struct {
    const char* option;
    const char* pointer;
} shorthand[] = {
    {"--step", "/step"},
    {"--duration", "/duration"},
    {"--stepper", "/stepper"},
    {"--contact", "/contact"},
    {"--friction", "/friction/cone"},
    {"--directions", "/friction/directions"},
    {"--solver", "/solver"},
};

static const char* pointer_of(const char* option)
{
    for (size_t i = 0; i < sizeof shorthand / sizeof shorthand[0]; ++i) {
        if (strcmp(shorthand[i].option, option) == 0) {
            return shorthand[i].pointer;
        }
    }
    return NULL;
}

static bool is_number(const char* text)
{
    char* end = NULL;
    (void)strtod(text, &end);
    return end != text && *end == '\0';
}

/* --set POINTER=VALUE, --param NAME=VALUE: the copy is cut at the first '='. */
static int split_set(const cli_args* args, bool param, const char* text, char** copy,
                     perp_override* override)
{
    const char* equals = strchr(text, '=');
    if (equals == NULL || equals == text) {
        return cli_fail(args->json, CLI_BAD_INPUT,
                        param ? "--param: expected NAME=VALUE, such as --param mu=0.2, got '%s'"
                              : "--set: expected POINTER=VALUE, such as --set /bodies/1/mass=2, "
                                "got '%s'",
                        text);
    }
    if (param == (text[0] == '/')) {
        return cli_fail(args->json, CLI_BAD_INPUT,
                        param ? "--param: expected the name of a parameter; for a place of the "
                                "scene give --set %s"
                              : "--set: a pointer begins with '/', as in /bodies/1/mass; for a "
                                "parameter of the scene give --param %s",
                        text);
    }
    *copy = strdup(text);
    if (*copy == NULL) {
        return cli_fail(args->json, CLI_FAILED, "out of memory");
    }
    (*copy)[equals - text] = '\0';
    *override = (perp_override){*copy, *copy + (equals - text) + 1};
    return CLI_DONE;
}

int cli_overrides_gather(const cli_args* args, cli_overrides* overrides)
{
    const size_t room = (size_t)args->given_count + 1;
    *overrides = (cli_overrides){.item = calloc(room, sizeof(perp_override)),
                                 .owned = calloc(room, sizeof(char*))};
    if (overrides->item == NULL || overrides->owned == NULL) {
        return cli_fail(args->json, CLI_FAILED, "out of memory");
    }
    for (int i = 0; i < args->given_count; ++i) {
        const cli_given* given = &args->given[i];
        const char* pointer = pointer_of(given->option->name);
        const int32_t n = overrides->count;
        if (strcmp(given->option->name, "--friction") == 0 && is_number(given->value)) {
            return cli_fail(
                args->json, CLI_BAD_INPUT,
                "--friction takes the name of a cone (perp help run); for a coefficient of "
                "%s give --set /friction/default=%s",
                given->value, given->value);
        }
        if (pointer != NULL) {
            overrides->item[n] = (perp_override){pointer, given->value};
        } else if (strcmp(given->option->name, "--set") == 0 ||
                   strcmp(given->option->name, "--param") == 0) {
            const bool param = strcmp(given->option->name, "--param") == 0;
            const int status =
                split_set(args, param, given->value, &overrides->owned[n], &overrides->item[n]);
            if (status != CLI_DONE) {
                return status;
            }
        } else {
            continue;
        }
        overrides->count = n + 1;
    }
    return CLI_DONE;
}

void cli_overrides_free(cli_overrides* overrides)
{
    for (int32_t i = 0; i < overrides->count; ++i) {
        free(overrides->owned[i]);
    }
    free(overrides->owned);
    free(overrides->item);
}

/* ---- robots -----------------------------------------------------------------------------------*/

perp_urdf_options cli_urdf_options(const cli_args* args)
{
    perp_urdf_options options = perp_urdf_options_default();
    options.package = cli_value(args, "--package");
    options.floating = cli_flag(args, "--floating");
    options.no_self_collision = cli_flag(args, "--no-self-collision");
    options.keyframe = cli_value(args, "--keyframe");
    options.strict = cli_flag(args, "--strict");
    options.floor = cli_flag(args, "--floor");
    options.decompose = cli_flag(args, "--decompose");
    return options;
}

/* The option that put something at the place that a message is about, or NULL: then it stands in
 * the file. */
static const char* option_at_fault(const cli_overrides* overrides, const char* message)
{
    for (int32_t i = overrides->count - 1; i >= 0; --i) {
        char place[600];
        const char* pointer = overrides->item[i].pointer;
        const bool param = pointer[0] != '/';
        if (param) {
            (void)snprintf(place, sizeof place, "/parameters/%.500s", pointer);
            pointer = place;
        }
        const char* found = strstr(message, pointer);
        const size_t length = strlen(pointer);
        if (found == NULL || found - message < 2 || strncmp(found - 2, ": ", 2) != 0 ||
            (found[length] != ':' && found[length] != '/')) {
            continue;
        }
        for (size_t k = 0; k < sizeof shorthand / sizeof shorthand[0]; ++k) {
            if (shorthand[k].pointer == pointer) {
                return shorthand[k].option;
            }
        }
        return param ? "--param" : "--set";
    }
    return NULL;
}

int cli_scene_load(const cli_args* args, perp_context* context, const char* path,
                   const cli_overrides* overrides, perp_scene** scene)
{
    const bool robot = perp_scene_is_robot(path);
    const perp_urdf_options options = cli_urdf_options(args);
    if (!robot && (options.package != NULL || options.floating || options.no_self_collision ||
                   options.keyframe != NULL)) {
        return cli_fail(args->json, CLI_BAD_INPUT,
                        "--%s is for robots: %s is not a .urdf or .xml file",
                        options.package != NULL    ? "package"
                        : options.floating         ? "floating"
                        : options.keyframe != NULL ? "keyframe"
                                                   : "no-self-collision",
                        path);
    }
    const perp_status status =
        robot ? perp_scene_load_urdf(context, path, &options, overrides->item, overrides->count,
                                     scene)
              : perp_scene_load(context, path, overrides->item, overrides->count, scene);
    if (status == PERP_OK) {
        return CLI_DONE;
    }
    const char* message = perp_context_error(context);
    const char* option = option_at_fault(overrides, message);
    return option == NULL
               ? cli_fail(args->json, cli_exit_of(status), "%s", message)
               : cli_fail(args->json, cli_exit_of(status), "%s (given by %s)", message, option);
}

int cli_scene_with(const cli_args* args, cli_scene_work work)
{
    cli_overrides overrides;
    perp_scene* scene = NULL;
    perp_sim* sim = NULL;
    perp_context* context = cli_context(args->json);
    if (context == NULL) {
        return CLI_FAILED;
    }
    char* path = NULL;
    int exit_status = cli_overrides_gather(args, &overrides);
    if (exit_status == CLI_DONE) {
        exit_status = cli_scene_find(args->word[0], args->json, &path);
    }
    if (exit_status == CLI_DONE) {
        exit_status = work(args, path, &overrides, context, &scene, &sim);
    }
    perp_sim_destroy(sim);
    perp_scene_destroy(scene);
    perp_context_destroy(context);
    cli_overrides_free(&overrides);
    free(path);
    return exit_status;
}
