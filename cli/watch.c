/* cli/watch.c - the simulation's side of the live page: copies of the state, pause and step.
 *
 * Frames reach a viewer in two ways. The past is a list of states, evenly spread over the duration
 * (PAST_FRAMES of them, or as many as PAST_BYTES hold), so that a page opened late, or after a very
 * short run, still shows it from the beginning. The present is one slot that the server reads about
 * thirty times a second; frames in between are overwritten.
 */
#include "watch.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "page.h"
#include "watch_server.h"

#define PAST_FRAMES 1000
#define PAST_BYTES ((size_t)64 << 20)

/* ---- options ----------------------------------------------------------------------------------*/

static bool read_number(const char* text, double low, double high, double* value)
{
    char* end;
    errno = 0;
    *value = strtod(text, &end);
    return end != text && *end == '\0' && *value >= low && *value <= high;
}

int cli_watch_options(const cli_args* args, cli_watch_def* def, bool* wanted)
{
    static const char* const own[] = {"--port", "--bind", "--bind-anywhere", "--paused",
                                      "--linger"};
    *wanted = cli_flag(args, "--watch");
    *def = (cli_watch_def){.bind = cli_value(args, "--bind"),
                           .anywhere = cli_flag(args, "--bind-anywhere"),
                           .paused = cli_flag(args, "--paused"),
                           .json = args->json};
    for (size_t i = 0; !*wanted && i < sizeof own / sizeof own[0]; ++i) {
        if (cli_flag(args, own[i])) {
            return cli_fail(args->json, CLI_BAD_INPUT, "%s: only together with --watch", own[i]);
        }
    }
    double number;
    const char* port = cli_value(args, "--port");
    if (port != NULL) {
        if (!read_number(port, 0, 65535, &number) || number != floor(number)) {
            return cli_fail(args->json, CLI_BAD_INPUT,
                            "--port: must be a whole number from 0 to 65535, got '%s'", port);
        }
        def->port = (int)number;
    }
    const char* linger = cli_value(args, "--linger");
    if (linger != NULL && !read_number(linger, 0, INFINITY, &number)) {
        return cli_fail(args->json, CLI_BAD_INPUT, "--linger: must be seconds >= 0, got '%s'",
                        linger);
    }
    return *wanted && !page_available() ? page_complain_missing(args->json) : CLI_DONE;
}

/* ---- copies of the state ------------------------------------------------------------------------*/

static watch_frame* copy_frame(const perp_sim* sim)
{
    int32_t count = 0;
    const perp_contact* contacts = perp_sim_contacts(sim, &count);
    const size_t nq = (size_t)perp_sim_q_size(sim), nv = (size_t)perp_sim_v_size(sim);
    const size_t contact_bytes = (size_t)count * sizeof *contacts;
    const size_t size = sizeof(watch_frame) + contact_bytes + (nq + nv) * sizeof(double);
    watch_frame* f = malloc(size);
    if (f == NULL) {
        return NULL;
    }
    *f = (watch_frame){.bytes = size,
                       .step = perp_sim_step_count(sim),
                       .time = perp_sim_time(sim),
                       .energy = perp_sim_energy(sim),
                       .ledger = perp_sim_ledger_total(sim),
                       .info = perp_sim_step_info(sim),
                       .contact_count = count};
    perp_sim_momentum(sim, f->momentum, f->angular);
    char* at = (char*)(f + 1);
    f->contacts = (perp_contact*)(void*)at;
    f->q = (double*)(void*)(at + contact_bytes);
    f->v = f->q + nq;
    if (count > 0) {
        memcpy(f->contacts, contacts, contact_bytes);
    }
    memcpy(f->q, perp_sim_q(sim), nq * sizeof *f->q);
    memcpy(f->v, perp_sim_v(sim), nv * sizeof *f->v);
    return f;
}

/* ---- the run's side -----------------------------------------------------------------------------*/

struct cli_watch {
    watch_server* server;
    double past_every, past_next; /* simulated time */
    size_t past_bytes;
};

/* Shows the state, and keeps it if it is due. If memory is short it is not shown. */
static void publish(cli_watch* w, const perp_sim* sim, bool keep)
{
    watch_frame* frame = copy_frame(sim);
    if (frame == NULL) {
        return;
    }
    if (keep && w->past_bytes + frame->bytes <= PAST_BYTES) {
        w->past_bytes += frame->bytes;
        watch_server_keep(w->server, frame);
    } else {
        watch_server_show(w->server, frame);
    }
}

int cli_watch_begin(const cli_watch_def* def, const perp_scene* scene, const perp_sim* sim,
                    cli_watch** watch)
{
    cli_watch* w = calloc(1, sizeof *w);
    if (w == NULL) {
        return cli_fail(def->json, CLI_FAILED, "out of memory");
    }
    const int exit_status = watch_server_start(def, scene, sim, &w->server);
    if (exit_status != CLI_DONE) {
        free(w);
        return exit_status;
    }
    /* reserve as much memory for contacts as for the state */
    const size_t size = 2 * sizeof(double) * (size_t)(perp_sim_q_size(sim) + perp_sim_v_size(sim)) +
                        sizeof(watch_frame);
    const double most = (double)(PAST_BYTES / size);
    const double left = perp_scene_run_settings(scene).duration - perp_sim_time(sim);
    w->past_every = left / (most < PAST_FRAMES ? most : PAST_FRAMES);
    w->past_next = perp_sim_time(sim) + w->past_every;
    publish(w, sim, true);
    *watch = w;
    return CLI_DONE;
}

bool cli_watch_step(cli_watch* w, const perp_sim* sim, bool (*stop)(void* user))
{
    const double time = perp_sim_time(sim);
    const bool keep = time >= w->past_next * (1.0 - 1e-12);
    if (keep) {
        w->past_next = time + w->past_every;
    }
    const bool holds = watch_server_holds(w->server);
    if (keep || holds || watch_server_hungry(w->server)) {
        publish(w, sim, keep);
    }
    return holds ? watch_server_wait(w->server, stop) : !watch_server_stopped(w->server);
}

void cli_watch_end(cli_watch* w, const perp_sim* sim, const char* status, const char* message)
{
    publish(w, sim, true);
    json_t* end = json_object();
    json_object_set_new(end, "status", json_string(status));
    json_object_set_new(end, "message", page_text(message != NULL ? message : ""));
    char* text = page_dump(end);
    json_decref(end);
    watch_server_end(w->server, text);
}

void cli_watch_linger(double seconds, bool (*stop)(void* user))
{
    const double begin = cli_clock();
    while (!stop(NULL) && cli_clock() - begin < seconds) {
        const struct timespec pause = {.tv_nsec = 20000000};
        (void)nanosleep(&pause, NULL);
    }
}

void cli_watch_destroy(cli_watch* w)
{
    if (w != NULL) {
        watch_server_stop(w->server);
        free(w);
    }
}
