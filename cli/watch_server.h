/* cli/watch_server.h - the thread that serves the live page. */
#ifndef PERP_CLI_WATCH_SERVER_H
#define PERP_CLI_WATCH_SERVER_H

#include "watch.h"

/* A state, copied; contacts, q and v lie behind it in the same piece of memory. */
typedef struct watch_frame {
    size_t bytes;
    int64_t step;
    double time;
    perp_energy energy;
    perp_ledger ledger; /* summed since the start */
    double momentum[3], angular[3];
    perp_step_info info;
    perp_contact* contacts;
    int32_t contact_count;
    double *q, *v;
} watch_frame;

typedef struct watch_server watch_server;

int watch_server_start(const cli_watch_def* def, const perp_scene* scene, const perp_sim* sim,
                       watch_server** server);
/* Waits up to a second for each viewer to receive its pending data. */
void watch_server_stop(watch_server* server);

/* These take the frame over. keep: for all viewers, also later ones; show: unless a newer one comes. */
void watch_server_keep(watch_server* server, watch_frame* frame);
void watch_server_show(watch_server* server, watch_frame* frame);
/* The run is over; takes the text (JSON, malloced) over. */
void watch_server_end(watch_server* server, char* text);

/* Whether a viewer can receive a frame now. */
bool watch_server_hungry(const watch_server* server);
/* A viewer has paused the run. */
bool watch_server_holds(const watch_server* server);
bool watch_server_stopped(const watch_server* server);
/* Waits until the next step may be taken; false: until the end was asked for. */
bool watch_server_wait(watch_server* server, bool (*stop)(void* user));

#endif
