/* cli/sweep_mpi.c - a sweep under mpirun: process 0 gives runs out and writes the database; each of
 * the others hands its runs to a child, `perp worker`, which it starts by exec, so that a crash is
 * a row here too.
 *
 * A message to process 0 is a number of runs that are wanted, then rows. The answer is a list of
 * ids; an empty one says that all runs are given out. Batches shrink as the end comes near
 * (perp_sweep_next).
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sweep.h"
#include "transport.h"

#ifndef PERP_MODULE_FOLDER
#define PERP_MODULE_FOLDER "../lib/perp"
#endif

enum { BATCH = 256 };
#define SEND_SECONDS 0.5
#define PROGRESS_SECONDS 0.1

/* Set by the launchers of OpenMPI, MPICH and its relatives, MVAPICH, and by srun with PMIx. */
static const char* const size_names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE"};
static const char* const rank_names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK"};

static int number_of(const char* name)
{
    const char* text = getenv(name);
    return text != NULL ? atoi(text) : 0;
}

int sweep_mpi_size(int* rank)
{
    for (size_t i = 0; i < sizeof size_names / sizeof size_names[0]; ++i) {
        const int size = number_of(size_names[i]);
        if (size > 0) {
            *rank = number_of(rank_names[i]);
            return size;
        }
    }
    if (getenv("PMIX_RANK") != NULL && number_of("SLURM_NTASKS") > 0) {
        *rank = number_of("PMIX_RANK");
        return number_of("SLURM_NTASKS");
    }
    *rank = 0;
    return 1;
}

/* Beside the program, or where it was installed. */
static const cli_transport* load_module(void)
{
    static const char* const folder[] = {".", PERP_MODULE_FOLDER};
    char exe[PATH_MAX], path[PATH_MAX + 256];
    const ssize_t length = readlink("/proc/self/exe", exe, sizeof exe - 1);
    char* slash = NULL;
    if (length > 0) {
        exe[length] = '\0';
        slash = strrchr(exe, '/');
    }
    for (size_t i = 0; slash != NULL && i < sizeof folder / sizeof folder[0]; ++i) {
        (void)snprintf(path, sizeof path, "%.*s/%s/perp-mpi.so", (int)(slash - exe), exe,
                       folder[i]);
        /* OpenMPI loads parts of its own that look for its symbols among the global ones */
        void* library = access(path, R_OK) == 0 ? dlopen(path, RTLD_NOW | RTLD_GLOBAL) : NULL;
        const cli_transport* t = library != NULL ? dlsym(library, CLI_TRANSPORT_SYMBOL) : NULL;
        if (t != NULL && t->version == CLI_TRANSPORT_VERSION) {
            return t;
        }
    }
    return NULL;
}

/* Waiting for messages must not take a processor from the runs. */
static void rest(void)
{
    const struct timespec pause = {.tv_nsec = 500000};
    (void)nanosleep(&pause, NULL);
}

static double since(double begin)
{
    return cli_clock() - begin;
}

/* ---- process 0 --------------------------------------------------------------------------------*/

typedef struct scheduler {
    const cli_transport* t;
    perp_context* context;
    perp_sweep* sweep;
    double* buffer; /* for alignment */
    size_t room;
    int left; /* workers that have not ended */
} scheduler;

/* A message is a multiple of eight bytes: the number wanted, then rows. */
static perp_status take_message(scheduler* s, int from, size_t size)
{
    if (size > s->room) {
        double* larger = realloc(s->buffer, size + 65536);
        if (larger == NULL) {
            return PERP_ERROR_MEMORY;
        }
        s->buffer = larger;
        s->room = size + 65536;
    }
    if (s->t->receive(from, s->buffer, size) != 0 || size < sizeof(int64_t)) {
        return PERP_ERROR_IO;
    }
    int64_t wanted;
    memcpy(&wanted, s->buffer, sizeof wanted);
    const char* at = (const char*)s->buffer + sizeof wanted;
    const char* end = (const char*)s->buffer + size;
    perp_status status = PERP_OK;
    while (status == PERP_OK && at < end) {
        perp_run_row row;
        const size_t n = perp_run_row_unpack(at, (size_t)(end - at), &row);
        if (n == 0) {
            return PERP_ERROR_IO;
        }
        at += n;
        status = perp_sweep_add(s->sweep, &row);
    }
    if (status == PERP_OK && wanted > 0) {
        int64_t id[BATCH];
        const int32_t n = perp_sweep_next(s->sweep, wanted < BATCH ? (int32_t)wanted : BATCH,
                                          s->t->size() - 1, id);
        return s->t->send(from, id, (size_t)n * sizeof *id) == 0 ? PERP_OK : PERP_ERROR_IO;
    }
    s->left -= wanted < 0; /* its last message */
    return status;
}

static perp_status schedule(scheduler* s, sweep_line* line)
{
    double shown = cli_clock();
    perp_status status = PERP_OK;
    while (status == PERP_OK && s->left > 0 && !sweep_stop_asked()) {
        int from;
        size_t size;
        if (s->t->waiting(&from, &size)) {
            status = take_message(s, from, size);
        } else {
            rest();
            status = perp_sweep_flush(s->sweep);
        }
        if (since(shown) > PROGRESS_SECONDS) {
            shown = cli_clock();
            const perp_sweep_report report = perp_sweep_state(s->sweep);
            sweep_line_draw(line, &report);
        }
    }
    const perp_status finished = perp_sweep_finish(s->sweep);
    return status == PERP_OK ? finished : status;
}

static int be_scheduler(const cli_args* args, const cli_transport* t, const perp_sweep_def* def,
                        perp_context* context, perp_study* study)
{
    scheduler s = {.t = t, .context = context, .left = t->size() - 1};
    perp_status status = perp_sweep_create(context, study, def, &s.sweep);
    (void)t->share(status == PERP_OK);
    if (status != PERP_OK) {
        return cli_fail(args->json, cli_exit_of(status), "%s", perp_context_error(context));
    }
    sweep_line line;
    sweep_line_begin(&line, cli_flag(args, "--quiet") || args->json);
    sweep_watch_signals();
    status = schedule(&s, &line);
    sweep_line_end(&line);
    perp_sweep_report report = perp_sweep_state(s.sweep);
    report.jobs = t->size() - 1;
    perp_sweep_destroy(s.sweep);
    free(s.buffer);
    const int exit_status = status == PERP_OK ? sweep_after(args, context, study, &report, def->out)
                                              : cli_fail(args->json, cli_exit_of(status), "%s",
                                                         perp_context_error(context));
    if (status != PERP_OK || s.left > 0) {
        (void)fflush(stdout);
        t->end_all(exit_status);
    }
    return exit_status;
}

/* ---- the others -------------------------------------------------------------------------------*/

typedef struct runner_rank {
    const cli_transport* t;
    perp_pool* pool;
    int64_t id[BATCH]; /* not given to the pool yet */
    int32_t first, count;
    char* out; /* the message: the number wanted, then rows */
    size_t used, room;
    bool asked, all_given_out;
    double sent;
} runner_rank;

static perp_status keep_row(void* user, const perp_run_row* row)
{
    runner_rank* r = user;
    size_t need = perp_run_row_pack(row, r->out + r->used, r->room - r->used);
    if (r->used + need > r->room) {
        char* larger = realloc(r->out, 2 * (r->used + need));
        if (larger == NULL) {
            return PERP_ERROR_MEMORY;
        }
        r->out = larger;
        r->room = 2 * (r->used + need);
        need = perp_run_row_pack(row, r->out + r->used, r->room - r->used);
    }
    r->used += need;
    return PERP_OK;
}

static perp_status send_rows(runner_rank* r, int64_t wanted)
{
    memcpy(r->out, &wanted, sizeof wanted);
    const int failed = r->t->send(0, r->out, r->used);
    r->used = sizeof wanted;
    r->sent = cli_clock();
    r->asked = r->asked || wanted > 0;
    return failed == 0 ? PERP_OK : PERP_ERROR_IO;
}

static perp_status take_ids(runner_rank* r)
{
    int from;
    size_t size;
    if (!r->t->waiting(&from, &size)) {
        return PERP_OK;
    }
    if (size > sizeof r->id || r->t->receive(from, r->id, size) != 0) {
        return PERP_ERROR_IO;
    }
    r->first = 0;
    r->count = (int32_t)(size / sizeof r->id[0]);
    r->asked = false;
    r->all_given_out = r->count == 0;
    return PERP_OK;
}

static perp_status work(runner_rank* r)
{
    perp_status status = PERP_OK;
    while (status == PERP_OK && !(r->all_given_out && perp_pool_pending(r->pool) == 0)) {
        int32_t room = perp_pool_room(r->pool);
        room = room < r->count ? room : r->count;
        if (room > 0) {
            status = perp_pool_give(r->pool, r->id + r->first, room);
            r->first += room;
            r->count -= room;
        }
        if (status == PERP_OK && !r->asked && !r->all_given_out && r->count == 0) {
            status = send_rows(r, BATCH);
        } else if (status == PERP_OK && r->used > sizeof(int64_t) &&
                   since(r->sent) > SEND_SECONDS) {
            status = send_rows(r, 0);
        }
        if (status == PERP_OK) {
            status = perp_pool_wait(r->pool, r->asked ? 1 : 100, keep_row, r);
        }
        if (status == PERP_OK && r->asked) {
            status = take_ids(r);
        }
    }
    return status == PERP_OK ? send_rows(r, -1) : status;
}

static int be_runner(const cli_args* args, const cli_transport* t, const perp_sweep_def* def,
                     perp_context* context, perp_study* study)
{
    if (!t->share(0)) {
        return CLI_DONE; /* process 0 has said why */
    }
    char exe[PATH_MAX], folder[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", exe, sizeof exe - 1);
    exe[length > 0 ? length : 0] = '\0';
    const char* slash = strrchr(def->out, '/');
    (void)snprintf(folder, sizeof folder, "%.*s",
                   slash == NULL      ? 1
                   : slash > def->out ? (int)(slash - def->out)
                                      : 1,
                   slash == NULL ? "." : def->out);
    const char* argument[8 + 2 * CLI_PLUGIN_LIMIT] = {exe,       "worker",   args->word[0],
                                                      "--study", "--frames", folder};
    int n = 6;
    for (int i = 0; i < args->given_count; ++i) {
        if (strcmp(args->given[i].option->name, "--plugin") == 0) {
            argument[n++] = "--plugin";
            argument[n++] = args->given[i].value;
        }
    }
    runner_rank r = {.t = t, .used = sizeof(int64_t), .room = 65536, .out = malloc(65536)};
    const perp_pool_def pool = {.study = study, .jobs = 1, .argument = argument, .folder = folder};
    perp_status status =
        r.out != NULL ? perp_pool_create(context, &pool, &r.pool) : PERP_ERROR_MEMORY;
    if (status == PERP_OK) {
        status = work(&r);
    }
    perp_pool_destroy(r.pool);
    free(r.out);
    if (status != PERP_OK) {
        (void)cli_fail(args->json, CLI_FAILED, "process %d: %s", t->rank(),
                       perp_context_error(context));
        t->end_all(CLI_FAILED);
    }
    return CLI_DONE;
}

int sweep_run_mpi(const cli_args* args, const perp_sweep_def* def, const char* study_path,
                  cli_plugins* plugins)
{
    int rank = 0;
    const int size = sweep_mpi_size(&rank);
    const cli_transport* t = load_module();
    if (t == NULL) {
        return rank > 0
                   ? CLI_BAD_INPUT
                   : cli_fail(
                         args->json, CLI_BAD_INPUT,
                         "started %d times by mpirun, but this perp was built without MPI: install "
                         "libopenmpi-dev and build again, or use --jobs or --shard",
                         size);
    }
    if (t->start() != 0) {
        return cli_fail(args->json, CLI_FAILED, "MPI does not start");
    }
    perp_context* context = sweep_context(args->json);
    perp_study* study = NULL;
    int exit_status = CLI_FAILED;
    if (context != NULL) {
        perp_sweep_def d = *def;
        d.user_code = plugins->names;
        perp_status status = PERP_OK;
        if (t->rank() == 0) {
            status = perp_study_load(context, study_path, &study);
            (void)t->share(status == PERP_OK);
        } else if (t->share(0)) {
            status = perp_study_load(context, study_path, &study);
        }
        if (study != NULL) {
            exit_status = t->rank() == 0 ? be_scheduler(args, t, &d, context, study)
                                         : be_runner(args, t, &d, context, study);
        } else if (status != PERP_OK) {
            exit_status =
                cli_fail(args->json, cli_exit_of(status), "%s", perp_context_error(context));
            if (t->rank() > 0) {
                t->end_all(exit_status); /* it cannot read what process 0 could */
            }
        } else {
            exit_status = CLI_DONE;
        }
    }
    perp_study_destroy(study);
    perp_context_destroy(context);
    t->finish();
    return exit_status;
}
