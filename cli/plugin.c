/* cli/plugin.c - loading, starting and ending plugins (perp/plugin.h). */
#include "plugin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "libmine.so:argument"; a file whose own name has a ':' goes first. Without a slash dlopen would
 * look among the system's libraries: here it means the present folder. */
static char* split(const char* given, const char** argument)
{
    const char* colon = access(given, F_OK) == 0 ? NULL : strchr(given, ':');
    const size_t length = colon != NULL ? (size_t)(colon - given) : strlen(given);
    const bool plain = memchr(given, '/', length) == NULL;
    char* path = malloc(length + 3);
    if (path != NULL) {
        (void)snprintf(path, length + 3, "%s%.*s", plain ? "./" : "", (int)length, given);
    }
    *argument = colon != NULL ? colon + 1 : "";
    return path;
}

static int load(cli_plugin* p, perp_context* context, bool json)
{
    p->path = split(p->given, &p->ops.argument);
    if (p->path == NULL) {
        return cli_fail(json, CLI_FAILED, "out of memory");
    }
    if (access(p->path, R_OK) != 0) {
        return cli_fail(json, CLI_BAD_INPUT,
                        "--plugin: %s cannot be read: give the path of a shared library, made with "
                        "'cc -shared -fPIC mine.c $(pkg-config --cflags perp) -o libmine.so'",
                        p->path);
    }
    p->library = dlopen(p->path, RTLD_NOW | RTLD_LOCAL);
    if (p->library == NULL) {
        return cli_fail(json, CLI_BAD_INPUT,
                        "--plugin: %s is not a shared library that can be loaded here: %s", p->path,
                        dlerror());
    }
    const int* version = dlsym(p->library, "perp_plugin_version");
    void* entry = dlsym(p->library, "perp_plugin_init");
    if (version == NULL || entry == NULL) {
        return cli_fail(json, CLI_BAD_INPUT,
                        "--plugin: %s has no perp_plugin_%s: define the entry with PERP_PLUGIN of "
                        "perp/plugin.h",
                        p->path, version == NULL ? "version" : "init");
    }
    if (*version != PERP_PLUGIN_VERSION) {
        return cli_fail(json, CLI_BAD_INPUT,
                        "--plugin: %s was made for version %d of perp/plugin.h, this perp has %d: "
                        "compile it again",
                        p->path, *version, PERP_PLUGIN_VERSION);
    }
    perp_status (*init)(perp_plugin*);
    memcpy(&init, &entry, sizeof init); /* ISO C has no cast from object to function */
    p->ops.context = context;
    if (init(&p->ops) != PERP_OK) {
        return cli_fail(json, CLI_BAD_INPUT, "--plugin: %s: %s", p->path,
                        p->ops.message[0] != '\0' ? p->ops.message : perp_context_error(context));
    }
    return CLI_DONE;
}

int cli_plugins_load(const cli_args* args, perp_context* context, cli_plugins* plugins)
{
    int exit_status = CLI_DONE;
    plugins->json = args->json;
    for (int i = 0; exit_status == CLI_DONE && i < args->given_count; ++i) {
        if (strcmp(args->given[i].option->name, "--plugin") != 0) {
            continue;
        }
        if (plugins->count == CLI_PLUGIN_LIMIT) {
            return cli_fail(args->json, CLI_BAD_INPUT, "--plugin: at most %d of them",
                            CLI_PLUGIN_LIMIT);
        }
        cli_plugin* p = &plugins->item[plugins->count++];
        p->given = args->given[i].value;
        exit_status = load(p, context, args->json);
        const size_t used = strlen(plugins->names);
        (void)snprintf(plugins->names + used, sizeof plugins->names - used, "%s%s",
                       used > 0 ? " " : "", p->given);
    }
    return exit_status;
}

perp_status cli_plugins_start(void* user, perp_sim* sim)
{
    cli_plugins* plugins = user;
    if (plugins->count == 0) {
        return PERP_OK;
    }
    perp_status status = perp_sim_set_user_code(sim, plugins->names);
    for (int i = 0; status == PERP_OK && i < plugins->count; ++i) {
        cli_plugin* p = &plugins->item[i];
        if (p->ops.start != NULL) {
            status = p->ops.start(p->ops.user, sim);
        }
        p->started = status == PERP_OK;
        if (status == PERP_OK && p->ops.step != NULL) {
            status = perp_sim_add_on_step(sim, p->ops.step, p->ops.user);
        }
    }
    return status;
}

const char* cli_plugins_message(const cli_plugins* plugins, perp_context* context)
{
    for (int i = 0; i < plugins->count; ++i) {
        if (plugins->item[i].ops.message[0] != '\0') {
            return plugins->item[i].ops.message;
        }
    }
    return perp_context_error(context);
}

void cli_plugins_end(cli_plugins* plugins, perp_sim* sim)
{
    for (int i = 0; i < plugins->count; ++i) {
        cli_plugin* p = &plugins->item[i];
        if (p->ops.end != NULL) {
            p->ops.end(p->ops.user, p->started ? sim : NULL);
            p->ops.end = NULL;
        }
    }
}

void cli_plugins_free(cli_plugins* plugins)
{
    for (int i = 0; i < plugins->count; ++i) {
        if (plugins->item[i].library != NULL) {
            (void)dlclose(plugins->item[i].library);
        }
        free(plugins->item[i].path);
    }
}
