/* src/study/estimate_workers.c - forked processes that answer requests; replies are taken in the
 * order of the tasks. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "study/estimate.h"

enum { WAIT_MILLISECONDS = 200 };

typedef struct worker {
    pid_t pid;
    int fd;
    int64_t task; /* -1: none */
} worker;

typedef struct reply {
    void* bytes;
    size_t size;
} reply;

struct perpi_workers {
    perp_context* context;
    int32_t jobs;
    size_t request_room, reply_room;
    perpi_work_fn work;
    void* user;
    worker* worker; /* NULL: work is done here */
    struct pollfd* watched;
    unsigned char *request, *reply;
};

/* ---- bytes --------------------------------------------------------------------------------------*/

static bool send_bytes(int fd, const void* bytes, size_t size)
{
    const char* at = bytes;
    while (size > 0) {
        const ssize_t sent = send(fd, at, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent <= 0) {
            return false;
        }
        at += sent;
        size -= (size_t)sent;
    }
    return true;
}

static bool receive_bytes(int fd, void* bytes, size_t size)
{
    char* at = bytes;
    while (size > 0) {
        const ssize_t got = recv(fd, at, size, 0);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return false;
        }
        at += got;
        size -= (size_t)got;
    }
    return true;
}

static bool send_message(int fd, const void* bytes, size_t size)
{
    return send_bytes(fd, &size, sizeof size) && send_bytes(fd, bytes, size);
}

static bool receive_message(int fd, void* bytes, size_t room, size_t* size)
{
    return receive_bytes(fd, size, sizeof *size) && *size <= room &&
           receive_bytes(fd, bytes, *size);
}

/* ---- processes ----------------------------------------------------------------------------------*/

static _Noreturn void be_worker(perpi_workers* w, int fd, pid_t parent)
{
    size_t size = 0;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(1); /* it ended before the line above */
    }
    (void)signal(SIGINT, SIG_IGN); /* of the terminal: the parent decides */
    (void)signal(SIGHUP, SIG_IGN);
    (void)signal(SIGTERM, SIG_DFL);
    while (receive_message(fd, w->request, w->request_room, &size)) {
        size = w->work(w->user, w->request, size, w->reply, w->reply_room);
        if (!send_message(fd, w->reply, size)) {
            _exit(1);
        }
    }
    _exit(0);
}

static perp_status start_worker(perpi_workers* w, int32_t index)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        return perpi_fail(w->context, PERP_ERROR_IO, "cannot start a worker: %s", strerror(errno));
    }
    const pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        (void)close(pair[0]);
        for (int32_t i = 0; i < index; ++i) { /* an open end would hide that another closed */
            (void)close(w->worker[i].fd);
        }
        be_worker(w, pair[1], parent);
    }
    const int error = errno;
    (void)close(pair[1]);
    if (pid < 0) {
        (void)close(pair[0]);
        return perpi_fail(w->context, PERP_ERROR_IO, "cannot start a worker: %s", strerror(error));
    }
    w->worker[index] = (worker){.pid = pid, .fd = pair[0], .task = -1};
    return PERP_OK;
}

perp_status perpi_workers_create(perp_context* context, int32_t jobs, size_t request, size_t answer,
                                 perpi_work_fn work, void* user, perpi_workers** workers)
{
    perpi_workers* w = NULL;
    PERPI_TRY(perpi_alloc(context, 1, sizeof *w, &w));
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    jobs = jobs > 0 ? jobs : processors > 0 ? (int32_t)processors : 1;
    *w = (perpi_workers){.context = context,
                         .request_room = request + 8,
                         .reply_room = answer + 8,
                         .work = work,
                         .user = user};
    perp_status status = perpi_alloc(context, w->request_room, 1, &w->request);
    if (status == PERP_OK) {
        status = perpi_alloc(context, w->reply_room, 1, &w->reply);
    }
    if (status == PERP_OK && jobs > 1) {
        status = perpi_alloc(context, (size_t)jobs, sizeof *w->worker, &w->worker);
        if (status == PERP_OK) {
            status = perpi_alloc(context, (size_t)jobs, sizeof *w->watched, &w->watched);
        }
    }
    for (int32_t i = 0; status == PERP_OK && i < jobs && jobs > 1; ++i) {
        status = start_worker(w, i);
        w->jobs = status == PERP_OK ? i + 1 : i;
    }
    if (status != PERP_OK) {
        perpi_workers_destroy(w);
        return status;
    }
    *workers = w;
    return PERP_OK;
}

void perpi_workers_destroy(perpi_workers* w)
{
    if (w == NULL) {
        return;
    }
    for (int32_t i = 0; i < w->jobs; ++i) {
        (void)close(w->worker[i].fd);
        if (w->worker[i].task >= 0) {
            (void)kill(w->worker[i].pid, SIGKILL); /* its answer is not wanted any more */
        }
    }
    for (int32_t i = 0; i < w->jobs; ++i) {
        while (waitpid(w->worker[i].pid, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    perp_context* context = w->context;
    perpi_free(context, w->worker);
    perpi_free(context, w->watched);
    perpi_free(context, w->request);
    perpi_free(context, w->reply);
    perpi_free(context, w);
}

int32_t perpi_workers_jobs(const perpi_workers* w)
{
    return w->worker != NULL ? w->jobs : 1;
}

/* ---- a map --------------------------------------------------------------------------------------*/

static perp_status map_here(perpi_workers* w, const perpi_map* map)
{
    for (int64_t i = 0; i < map->count; ++i) {
        if (map->stop != NULL && map->stop(map->user)) {
            return perpi_fail(w->context, PERP_ERROR_CANCELLED, "interrupted");
        }
        const size_t size = map->fill(map->user, i, w->request);
        const size_t answer = w->work(w->user, w->request, size, w->reply, w->reply_room);
        PERPI_TRY(map->take(map->user, i, w->reply, answer));
    }
    return PERP_OK;
}

static perp_status worker_ended(perpi_workers* w, worker* x)
{
    int how = 0;
    const int64_t task = x->task;
    x->task = -1;
    (void)waitpid(x->pid, &how, WNOHANG);
    return perpi_fail(w->context, PERP_ERROR_SOLVE, "a worker ended in task %lld (%s %d)",
                      (long long)task, WIFSIGNALED(how) ? "signal" : "status",
                      WIFSIGNALED(how) ? WTERMSIG(how) : WEXITSTATUS(how));
}

static perp_status give_task(perpi_workers* w, const perpi_map* map, worker* x, int64_t task)
{
    const size_t size = map->fill(map->user, task, w->request);
    x->task = task;
    return send_message(x->fd, w->request, size) ? PERP_OK : worker_ended(w, x);
}

/* The answer of a worker is kept until those of all earlier tasks are there. */
static perp_status keep_reply(perpi_workers* w, worker* x, reply* kept)
{
    size_t size = 0;
    if (!receive_message(x->fd, w->reply, w->reply_room, &size)) {
        return worker_ended(w, x);
    }
    reply* k = &kept[x->task];
    x->task = -1;
    PERPI_TRY(perpi_alloc(w->context, size + 1, 1, &k->bytes));
    memcpy(k->bytes, w->reply, size);
    k->size = size;
    return PERP_OK;
}

static perp_status wait_for_replies(perpi_workers* w, const perpi_map* map, reply* kept)
{
    int32_t count = 0;
    for (int32_t i = 0; i < w->jobs; ++i) {
        if (w->worker[i].task >= 0) {
            w->watched[count++] = (struct pollfd){.fd = w->worker[i].fd, .events = POLLIN};
        }
    }
    const int ready = poll(w->watched, (nfds_t)count, WAIT_MILLISECONDS);
    if (map->stop != NULL && map->stop(map->user)) {
        return perpi_fail(w->context, PERP_ERROR_CANCELLED, "interrupted");
    }
    for (int32_t k = 0; ready > 0 && k < count; ++k) {
        for (int32_t i = 0; w->watched[k].revents != 0 && i < w->jobs; ++i) {
            if (w->worker[i].fd == w->watched[k].fd) {
                PERPI_TRY(keep_reply(w, &w->worker[i], kept));
            }
        }
    }
    return PERP_OK;
}

static perp_status map_away(perpi_workers* w, const perpi_map* map, reply* kept)
{
    int64_t given = 0, taken = 0;
    while (taken < map->count) {
        for (int32_t i = 0; i < w->jobs && given < map->count; ++i) {
            if (w->worker[i].task < 0) {
                PERPI_TRY(give_task(w, map, &w->worker[i], given++));
            }
        }
        PERPI_TRY(wait_for_replies(w, map, kept));
        for (; taken < map->count && kept[taken].bytes != NULL; ++taken) {
            const perp_status status =
                map->take(map->user, taken, kept[taken].bytes, kept[taken].size);
            perpi_free(w->context, kept[taken].bytes);
            kept[taken].bytes = NULL;
            PERPI_TRY(status);
        }
    }
    return PERP_OK;
}

perp_status perpi_workers_map(perpi_workers* w, const perpi_map* map)
{
    if (w->worker == NULL) {
        return map_here(w, map);
    }
    reply* kept = NULL;
    PERPI_TRY(perpi_alloc(w->context, (size_t)map->count, sizeof *kept, &kept));
    const perp_status status = map_away(w, map, kept);
    for (int64_t i = 0; i < map->count; ++i) {
        perpi_free(w->context, kept[i].bytes);
    }
    perpi_free(w->context, kept);
    return status;
}
