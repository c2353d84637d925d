/* cli/plugin.h - the shared libraries of --plugin. */
#ifndef PERP_CLI_PLUGIN_H
#define PERP_CLI_PLUGIN_H

#include "cli.h"
#include "perp/plugin.h"

enum { CLI_PLUGIN_LIMIT = 16 };

typedef struct cli_plugin {
    const char* given; /* the word of the command line */
    char* path;
    void* library;
    bool started;
    perp_plugin ops;
} cli_plugin;

typedef struct cli_plugins {
    cli_plugin item[CLI_PLUGIN_LIMIT];
    int count;
    bool json;
    char names[512]; /* of all, for the recording */
} cli_plugins;

/* Loads the libraries of all --plugin options. CLI_DONE, or CLI_BAD_INPUT after saying why and what
 * would help. */
int cli_plugins_load(const cli_args* args, perp_context* context, cli_plugins* plugins);
/* Passes the simulation to the plugins. user: the cli_plugins. PERP_ERROR_INPUT with the context's
 * message. */
perp_status cli_plugins_start(void* user, perp_sim* sim);
/* The plugin's error message, else that of the context. */
const char* cli_plugins_message(const cli_plugins* plugins, perp_context* context);
/* sim: the last state, or NULL. */
void cli_plugins_end(cli_plugins* plugins, perp_sim* sim);
/* After the context is gone: it may have held what the libraries registered. */
void cli_plugins_free(cli_plugins* plugins);

#endif
