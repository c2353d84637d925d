/* cli/watch.h - the live page of `perp run --watch`.
 *
 * A thread serves the page and streams frames as server-sent events; the simulation gives it copies
 * of the state and never waits for a viewer. Pages can pause it, step it and stop it.
 */
#ifndef PERP_CLI_WATCH_H
#define PERP_CLI_WATCH_H

#include "cli.h"

typedef struct cli_watch cli_watch;

/* The options of `perp run --watch`. */
typedef struct cli_watch_def {
    const char* bind; /* an address; NULL: 127.0.0.1 */
    int port;         /* 0: any that is free */
    bool anywhere;    /* addresses beyond loopback are meant */
    bool paused;      /* begin paused */
    bool json;
} cli_watch_def;

/* From the options; *wanted: --watch is among them. */
int cli_watch_options(const cli_args* args, cli_watch_def* def, bool* wanted);
/* Binds, prints the address on stderr, starts the thread, shows the present state. */
int cli_watch_begin(const cli_watch_def* def, const perp_scene* scene, const perp_sim* sim,
                    cli_watch** watch);
/* After each step. Waits while a viewer has paused, until `stop` says true. False: a viewer asked to
 * stop, or `stop` did. */
bool cli_watch_step(cli_watch* watch, const perp_sim* sim, bool (*stop)(void* user));
/* Shows the last state and how it ended. */
void cli_watch_end(cli_watch* watch, const perp_sim* sim, const char* status, const char* message);
/* Serves on for so many seconds, or until `stop` says true. */
void cli_watch_linger(double seconds, bool (*stop)(void* user));
void cli_watch_destroy(cli_watch* watch);

/* The options, for the table of `run`. */
#define CLI_WATCH_OPTIONS                                                                          \
    {"--watch", NULL, "serve a live page of the run on this machine"},                             \
        {"--port", "N", "of the live page; without it, any that is free"},                         \
        {"--bind", "ADDRESS", "of the live page; without it, 127.0.0.1"},                          \
        {"--bind-anywhere", NULL, "allow --bind to leave this machine: anyone there can watch"},   \
        {"--paused", NULL, "with --watch: begin paused"},                                          \
    {                                                                                              \
        "--linger", "S",                                                                           \
            "with --watch: serve on for S seconds after the end (terminal: until Ctrl-C)"          \
    }

#endif
