/* src/study/pool.c - worker processes: started, given runs, watched, replaced.
 *
 * A worker answers its runs in order, each row as soon as it is there; so when it ends, the first
 * run without an answer is the one that ended it, and the others go to its successor. A worker that
 * was killed from outside (SIGKILL: by a user, or because memory is short) is not evidence against
 * its run, which is tried once more.
 */
#include "study/pool.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "study/design.h"
#include "study/study.h"

enum {
    QUEUE_LIMIT = 128, /* runs that a worker may hold */
    FRUITLESS_LIMIT = 5,
    STALL_SAMPLES =
        5, /* seconds without CPU time after which a run beyond its limit counts as blocked */
};
#define QUEUE_SECONDS 0.02 /* of work that a worker holds */
#define GATHER_SECONDS 0.003

typedef struct pool_worker {
    pid_t pid;
    int fd; /* a socket; -1: not started */
    int64_t queue[QUEUE_LIMIT];
    int32_t first, count;
    char* buffer; /* bytes of rows that have come */
    size_t used, room;
    double began; /* wall clock: the first run of the queue */
    double sampled, cpu;
    int32_t stalled;
    bool stopped_by_us;
} pool_worker;

struct perp_pool {
    perp_context* context;
    perp_pool_def def;
    pool_worker* worker;
    struct pollfd* watched;
    int64_t* again; /* runs of workers that ended */
    size_t again_count, again_room;
    int64_t* killed; /* runs whose worker was killed from outside once */
    size_t killed_count, killed_room;
    int32_t pending;
    int32_t fruitless; /* workers that ended without having been given a run, in a row */
    double mean;       /* seconds of a run */
};

extern char** environ;

static double wall_seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- starting and ending ----------------------------------------------------------------------*/

/* The life of a forked worker. */
static _Noreturn void be_worker(perp_pool* pool, int fd, pid_t parent)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(1); /* it ended before the line above */
    }
    for (int32_t i = 0; i < pool->def.jobs; ++i) { /* an open end would hide that another closed */
        if (pool->worker[i].fd >= 0) {
            (void)close(pool->worker[i].fd);
        }
    }
    (void)signal(SIGINT, SIG_IGN); /* of the terminal: the parent decides */
    (void)signal(SIGHUP, SIG_IGN);
    (void)signal(SIGTERM, SIG_DFL);
    const perp_status status =
        perp_study_serve(pool->def.study, fd, fd, pool->def.folder, pool->def.options);
    _exit(status == PERP_OK ? 0 : 1);
}

static bool spawn_worker(const perp_pool* pool, int fd, pid_t* pid)
{
    posix_spawn_file_actions_t actions;
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_adddup2(&actions, fd, 0);
    (void)posix_spawn_file_actions_adddup2(&actions, fd, 1);
    const int error = posix_spawnp(pid, pool->def.argument[0], &actions, NULL,
                                   (char* const*)(uintptr_t)pool->def.argument, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    errno = error;
    return error == 0;
}

static perp_status start_worker(perp_pool* pool, pool_worker* w)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        return perpi_fail(pool->context, PERP_ERROR_IO, "cannot start a worker: %s",
                          strerror(errno));
    }
    const pid_t parent = getpid();
    pid_t pid = -1;
    bool started;
    if (pool->def.argument != NULL) {
        started = spawn_worker(pool, pair[1], &pid);
    } else {
        pid = fork();
        started = pid >= 0;
        if (pid == 0) {
            (void)close(pair[0]);
            be_worker(pool, pair[1], parent);
        }
    }
    const int error = errno;
    (void)close(pair[1]);
    if (!started) {
        (void)close(pair[0]);
        return perpi_fail(pool->context, PERP_ERROR_IO, "cannot start a worker: %s",
                          strerror(error));
    }
    w->pid = pid;
    w->fd = pair[0];
    w->used = 0;
    w->stopped_by_us = false;
    return PERP_OK;
}

perp_status perp_pool_create(perp_context* context, const perp_pool_def* def, perp_pool** pool)
{
    perp_pool* p = NULL;
    perp_status status = perpi_alloc(context, 1, sizeof *p, &p);
    if (status != PERP_OK) {
        return status;
    }
    p->context = context;
    p->def = *def;
    status = perpi_alloc(context, (size_t)def->jobs, sizeof *p->worker, &p->worker);
    if (status == PERP_OK) {
        status = perpi_alloc(context, (size_t)def->jobs, sizeof *p->watched, &p->watched);
    }
    for (int32_t i = 0; status == PERP_OK && i < def->jobs; ++i) {
        p->worker[i].fd = -1;
    }
    for (int32_t i = 0; status == PERP_OK && i < def->jobs; ++i) {
        status = start_worker(p, &p->worker[i]);
    }
    if (status != PERP_OK) {
        perp_pool_destroy(p);
        return status;
    }
    *pool = p;
    return PERP_OK;
}

void perp_pool_destroy(perp_pool* pool)
{
    if (pool == NULL) {
        return;
    }
    for (int32_t i = 0; pool->worker != NULL && i < pool->def.jobs; ++i) {
        pool_worker* w = &pool->worker[i];
        if (w->pid > 0) {
            if (w->count > 0) {
                (void)kill(w->pid, SIGKILL); /* in the middle of a run */
            }
            (void)close(w->fd);
            while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR) {
            }
        }
        perpi_free(pool->context, w->buffer);
    }
    perpi_free(pool->context, pool->worker);
    perpi_free(pool->context, pool->watched);
    perpi_free(pool->context, pool->again);
    perpi_free(pool->context, pool->killed);
    perpi_free(pool->context, pool);
}

/* ---- giving runs ------------------------------------------------------------------------------*/

/* Runs that a worker should hold: enough to be busy until the parent looks again. */
static int32_t queue_depth(const perp_pool* pool)
{
    const double runs = pool->mean > 0.0 ? QUEUE_SECONDS / pool->mean : 0.0;
    return runs < 1.0 ? 1 : runs < QUEUE_LIMIT - 2 ? (int32_t)runs + 1 : QUEUE_LIMIT;
}

int32_t perp_pool_room(const perp_pool* pool)
{
    const int32_t depth = queue_depth(pool);
    int32_t room = 0;
    for (int32_t i = 0; i < pool->def.jobs; ++i) {
        room += pool->worker[i].count < depth ? depth - pool->worker[i].count : 0;
    }
    return room - (int32_t)pool->again_count > 0 ? room - (int32_t)pool->again_count : 0;
}

int32_t perp_pool_pending(const perp_pool* pool)
{
    return pool->pending;
}

size_t perpi_pool_request(const perp_study* study, int64_t id, char* message)
{
    memcpy(message, &id, sizeof id);
    if (study->design == NULL) {
        return sizeof id;
    }
    const double* candidate =
        perpi_design_candidate(study, (id - 1) / perpi_design_runs(study) + 1);
    const size_t size = ((size_t)study->design->unknown_count + 1) * sizeof *candidate;
    PERP_ASSERT(candidate != NULL && sizeof id + size <= PERPI_REQUEST_SIZE);
    memcpy(message + sizeof id, candidate, size);
    return sizeof id + size;
}

/* False: the socket is full. The parent never waits here: a worker may itself be waiting until its
 * rows are read. A worker that has ended keeps the run in its queue, from which its end is
 * handled. */
static bool send_run(const perp_pool* pool, pool_worker* w, int64_t id)
{
    char message[PERPI_REQUEST_SIZE];
    const char* at = message;
    const size_t size = perpi_pool_request(pool->def.study, id, message);
    size_t left = size;
    while (left > 0) {
        /* the rest of a request that was sent in part is a matter of a few bytes */
        const ssize_t n = send(w->fd, at, left, MSG_NOSIGNAL | (left == size ? MSG_DONTWAIT : 0));
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            return false;
        }
        if (n < 0 && errno != EINTR) {
            break;
        }
        at += n > 0 ? n : 0;
        left -= n > 0 ? (size_t)n : 0;
    }
    if (w->count == 0) {
        w->began = w->sampled = wall_seconds();
        w->stalled = 0;
    }
    w->queue[(w->first + w->count) % QUEUE_LIMIT] = id;
    w->count += 1;
    return true;
}

static pool_worker* least_loaded(perp_pool* pool)
{
    pool_worker* best = &pool->worker[0];
    for (int32_t i = 1; i < pool->def.jobs; ++i) {
        best = pool->worker[i].count < best->count ? &pool->worker[i] : best;
    }
    return best;
}

static void give_again(perp_pool* pool)
{
    size_t given = 0;
    while (given < pool->again_count) {
        pool_worker* w = least_loaded(pool);
        if ((w->count > 0 && w->count >= queue_depth(pool)) ||
            !send_run(pool, w, pool->again[given])) {
            break;
        }
        ++given;
    }
    memmove(pool->again, pool->again + given, (pool->again_count - given) * sizeof *pool->again);
    pool->again_count -= given;
}

static perp_status append_id(perp_pool* pool, int64_t** list, size_t* count, size_t* room,
                             int64_t id)
{
    const perp_status status = perpi_grow(pool->context, list, room, *count + 1, sizeof **list);
    if (status == PERP_OK) {
        (*list)[(*count)++] = id;
    }
    return status;
}

perp_status perp_pool_give(perp_pool* pool, const int64_t* id, int32_t count)
{
    for (int32_t i = 0; i < count; ++i) {
        const perp_status status =
            append_id(pool, &pool->again, &pool->again_count, &pool->again_room, id[i]);
        if (status != PERP_OK) {
            return status;
        }
        pool->pending += 1;
    }
    give_again(pool);
    return PERP_OK;
}

/* ---- a worker has ended -----------------------------------------------------------------------*/

static const char* signal_name(int number)
{
    switch (number) {
    case SIGABRT: return "SIGABRT (abort)";
    case SIGSEGV: return "SIGSEGV (invalid memory reference)";
    case SIGBUS: return "SIGBUS (invalid memory access)";
    case SIGFPE: return "SIGFPE (arithmetic error)";
    case SIGILL: return "SIGILL (illegal instruction)";
    case SIGKILL: return "SIGKILL (killed twice; memory may be short)";
    case SIGTERM: return "SIGTERM (ended twice)";
    default: return "another signal";
    }
}

static void describe_end(const perp_pool* pool, const pool_worker* w, int state, perp_run_row* row,
                         char* text, size_t size)
{
    const double limit = pool->def.study->limit_seconds;
    row->status = PERP_RUN_CRASHED;
    if (w->stopped_by_us) {
        row->status = PERP_RUN_TIMEOUT;
        (void)snprintf(text, size, "limit of %.6g seconds: the run did not go on", limit);
    } else if (WIFSIGNALED(state) && WTERMSIG(state) == SIGPROF) {
        row->status = PERP_RUN_TIMEOUT;
        (void)snprintf(text, size, "limit of %.6g seconds of CPU", limit);
    } else if (WIFSIGNALED(state)) {
        (void)snprintf(text, size, "the process ended by signal %d, %s", WTERMSIG(state),
                       signal_name(WTERMSIG(state)));
    } else {
        (void)snprintf(text, size, "the process ended with exit status %d", WEXITSTATUS(state));
    }
    row->message = text;
}

/* SIGTERM goes to all processes of a job: the parent ends the sweep, and the run is done when it is resumed. */
static bool is_from_outside(int number)
{
    return number == SIGKILL || number == SIGTERM;
}

static bool was_killed_before(const perp_pool* pool, int64_t id)
{
    for (size_t i = 0; i < pool->killed_count; ++i) {
        if (pool->killed[i] == id) {
            return true;
        }
    }
    return false;
}

typedef perp_status (*row_fn)(void* user, const perp_run_row* row);

/* The run that ended a worker becomes a row, or is tried again; the runs behind it go to others. */
static perp_status replace_worker(perp_pool* pool, pool_worker* w, row_fn fn, void* user)
{
    int state = 0;
    while (waitpid(w->pid, &state, 0) < 0 && errno == EINTR) {
    }
    (void)close(w->fd);
    w->fd = -1;
    w->pid = 0;
    perp_status status = PERP_OK;
    int32_t skip = 0;
    if (w->count > 0) {
        const int64_t id = w->queue[w->first];
        const bool from_outside =
            WIFSIGNALED(state) && is_from_outside(WTERMSIG(state)) && !w->stopped_by_us;
        if (from_outside && !was_killed_before(pool, id)) {
            status = append_id(pool, &pool->killed, &pool->killed_count, &pool->killed_room, id);
        } else {
            char text[200];
            perp_run_row row = {.id = id,
                                .outcome = "",
                                .recording = "",
                                .certificate = NAN,
                                .energy_error = NAN,
                                .seconds = wall_seconds() - w->began};
            describe_end(pool, w, state, &row, text, sizeof text);
            skip = 1;
            pool->pending -= 1;
            status = fn(user, &row);
        }
        pool->fruitless = 0;
    } else if (++pool->fruitless >= FRUITLESS_LIMIT) {
        return perpi_fail(pool->context, PERP_ERROR_IO,
                          "workers end before their first run (%s %d)",
                          WIFSIGNALED(state) ? "signal" : "exit status",
                          WIFSIGNALED(state) ? WTERMSIG(state) : WEXITSTATUS(state));
    }
    for (int32_t i = skip; status == PERP_OK && i < w->count; ++i) {
        status = append_id(pool, &pool->again, &pool->again_count, &pool->again_room,
                           w->queue[(w->first + i) % QUEUE_LIMIT]);
    }
    w->first = w->count = 0;
    return status == PERP_OK ? start_worker(pool, w) : status;
}

/* A run beyond its limit whose process uses no CPU time waits for something that does not come. */
static void stop_stalled(perp_pool* pool, pool_worker* w, double now)
{
    const double limit = pool->def.study->limit_seconds;
    if (!(limit > 0.0) || w->count == 0 || now - w->began < limit + 1.0 || now - w->sampled < 1.0) {
        return;
    }
    clockid_t clock;
    struct timespec t = {0};
    if (clock_getcpuclockid(w->pid, &clock) != 0 || clock_gettime(clock, &t) != 0) {
        return;
    }
    const double cpu = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
    w->stalled = cpu - w->cpu < 1e-3 ? w->stalled + 1 : 0;
    w->cpu = cpu;
    w->sampled = now;
    if (w->stalled >= STALL_SAMPLES) {
        w->stopped_by_us = true;
        (void)kill(w->pid, SIGKILL);
    }
}

/* ---- rows -------------------------------------------------------------------------------------*/

static perp_status take_rows(perp_pool* pool, pool_worker* w, row_fn fn, void* user)
{
    size_t at = 0;
    perp_status status = PERP_OK;
    while (status == PERP_OK) {
        perp_run_row row;
        const size_t n = perp_run_row_unpack(w->buffer + at, w->used - at, &row);
        if (n == 0) {
            break;
        }
        at += n;
        if (w->count > 0) {
            w->first = (w->first + 1) % QUEUE_LIMIT;
            w->count -= 1;
            pool->pending -= 1;
        }
        w->began = w->sampled = wall_seconds();
        w->stalled = 0;
        pool->fruitless = 0;
        pool->mean =
            pool->mean > 0.0 ? pool->mean + 0.05 * (row.seconds - pool->mean) : row.seconds;
        status = fn(user, &row);
    }
    memmove(w->buffer, w->buffer + at, w->used - at);
    w->used -= at;
    return status;
}

static perp_status read_worker(perp_pool* pool, pool_worker* w, row_fn fn, void* user)
{
    enum { CHUNK = 65536 };
    perp_status status = perpi_grow(pool->context, &w->buffer, &w->room, w->used + CHUNK, 1);
    if (status != PERP_OK) {
        return status;
    }
    const ssize_t n = recv(w->fd, w->buffer + w->used, w->room - w->used, MSG_DONTWAIT);
    if (n > 0) {
        w->used += (size_t)n;
        return take_rows(pool, w, fn, user);
    }
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return PERP_OK;
    }
    return replace_worker(pool, w, fn, user);
}

perp_status perp_pool_wait(perp_pool* pool, int32_t milliseconds, row_fn fn, void* user)
{
    /* Many short runs: look now and then instead of waking up for each. */
    if (pool->pending > pool->def.jobs && pool->mean > 0.0 && pool->mean < GATHER_SECONDS) {
        const struct timespec pause = {.tv_nsec = (long)(1e9 * GATHER_SECONDS)};
        (void)nanosleep(&pause, NULL);
    }
    for (int32_t i = 0; i < pool->def.jobs; ++i) {
        pool->watched[i] = (struct pollfd){.fd = pool->worker[i].fd, .events = POLLIN};
    }
    const int ready = poll(pool->watched, (nfds_t)pool->def.jobs, milliseconds);
    perp_status status = PERP_OK;
    for (int32_t i = 0; ready > 0 && status == PERP_OK && i < pool->def.jobs; ++i) {
        if (pool->watched[i].revents != 0) {
            status = read_worker(pool, &pool->worker[i], fn, user);
        }
    }
    const double now = wall_seconds();
    for (int32_t i = 0; i < pool->def.jobs; ++i) {
        stop_stalled(pool, &pool->worker[i], now);
    }
    if (status == PERP_OK) {
        give_again(pool);
    }
    return status;
}
