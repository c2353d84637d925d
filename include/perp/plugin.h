/* perp/plugin.h - user code in the program perp: `perp run SCENE --plugin libmine.so`.
 *
 * A plugin is a shared library that defines one function with PERP_PLUGIN:
 *
 *     static perp_status step(void* user, perp_sim* sim) { ... perp_sim_apply_wrench(...) ... }
 *     PERP_PLUGIN(plugin)
 *     {
 *         plugin->step = step;
 *         return PERP_OK;
 *     }
 *
 *     cc -shared -fPIC mine.c $(pkg-config --cflags perp) -o libmine.so
 *
 * It is loaded before the scene is read, so that it may also register solvers with the context. Its
 * perp_ functions are those of the program: do not link libperp into it. A failure is reported with
 * perp_plugin.message. The forces of a plugin are not in the recording; its name is.
 */
#ifndef PERP_PLUGIN_H
#define PERP_PLUGIN_H

#include "perp/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PERP_PLUGIN_VERSION 1

typedef struct perp_plugin {
    /* set by perp */
    perp_context* context;
    const char* argument; /* what follows the ':' of --plugin libmine.so:argument; "" if nothing */
    /* set by the plugin; NULL: not used */
    void* user;
    perp_status (*start)(void* user, perp_sim* sim); /* the simulation is at its first state */
    perp_status (*step)(void* user, perp_sim* sim);  /* as perp_sim_on_step: before each step */
    void (*end)(void* user, perp_sim* sim); /* the run is over; sim: its last state, or NULL */
    char message[256];                      /* the error message for a status other than PERP_OK */
} perp_plugin;

#if defined(__GNUC__)
#define PERP_PLUGIN_EXPORT __attribute__((visibility("default")))
#else
#define PERP_PLUGIN_EXPORT
#endif

/* Defines the entry of a plugin, and the version of this header for perp to check. */
#define PERP_PLUGIN(plugin)                                                                        \
    PERP_PLUGIN_EXPORT extern const int perp_plugin_version;                                       \
    const int perp_plugin_version = PERP_PLUGIN_VERSION;                                           \
    PERP_PLUGIN_EXPORT perp_status perp_plugin_init(perp_plugin* plugin);                          \
    perp_status perp_plugin_init(perp_plugin* plugin)

#ifdef __cplusplus
}
#endif
#endif
