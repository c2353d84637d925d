/* A plugin: how far the joints of a scene are apart, step by step, into a file for gnuplot.
 *
 *     cc -shared -fPIC plugin_joint_error.c $(pkg-config --cflags perp) -o libjoint_error.so
 *     perp run SCENE --plugin ./libjoint_error.so:error.dat
 *     gnuplot -p -e 'set logscale y; set xlabel "t"; set key autotitle columnhead;
 *                    plot for [i=2:3] "error.dat" using 1:i with lines'
 *
 * The file has a row for each step: time, largest distance between the frames of a joint, largest
 * angle between them. The argument names the file; without one it is joint_error.dat.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perp/plugin.h"

typedef struct log {
    perp_plugin* plugin;
    FILE* file;
} log_file;

static perp_status write_row(void* user, perp_sim* sim)
{
    log_file* l = user;
    double error[2];
    perp_sim_joint_error(sim, error);
    if (fprintf(l->file, "%.9g %.6e %.6e\n", perp_sim_time(sim), error[0], error[1]) < 0) {
        snprintf(l->plugin->message, sizeof l->plugin->message, "%s: %s", l->plugin->argument,
                 strerror(errno));
        return PERP_ERROR_IO;
    }
    return PERP_OK;
}

/* The callback sees the state before each step: the last one is still to be written. */
static void finish(void* user, perp_sim* sim)
{
    log_file* l = user;
    if (sim != NULL) {
        (void)write_row(l, sim);
    }
    fclose(l->file);
    free(l);
}

PERP_PLUGIN(plugin)
{
    const char* path = plugin->argument[0] != '\0' ? plugin->argument : "joint_error.dat";
    log_file* l = calloc(1, sizeof *l);
    if (l == NULL) {
        return PERP_ERROR_MEMORY;
    }
    l->plugin = plugin;
    l->file = fopen(path, "w");
    if (l->file == NULL) {
        snprintf(plugin->message, sizeof plugin->message, "%s: %s", path, strerror(errno));
        free(l);
        return PERP_ERROR_INPUT;
    }
    fprintf(l->file, "t distance angle\n");
    plugin->user = l;
    plugin->step = write_row;
    plugin->end = finish;
    return PERP_OK;
}
