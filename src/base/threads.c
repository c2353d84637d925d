/* src/base/threads.c - the pool of a context. See threads.h.
 *
 * POSIX threads and C11 atomics: the threads of C11 are the same ones in the C library, but the thread
 * sanitizer does not know them, and OpenMP decides itself when its threads start and what they do
 * after a fork.
 *
 * A thread that waits for another spins for some microseconds and then sleeps, so that it does not take
 * the processor from others; where waits are long, as on a busy machine, it hardly spins. All waits
 * are at gates: `turn` is increased when the gate opens. Either the waiting thread sees the new
 * turn after it has counted itself as asleep, or the opening one sees that it sleeps and wakes it:
 * both counters are accessed in one order (seq_cst).
 */
#define _GNU_SOURCE /* sched_getaffinity */
#include "base/threads.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/context_lanes.h"

/* How long a thread spins before it sleeps: SPIN_MOST, about what it costs to sleep and be woken,
 * as long as its waits are not much longer; after each long one half of that, down to
 * SPIN_LEAST. */
#define SPIN_MOST 200e-6
#define SPIN_LEAST 20e-6
enum { PAUSES = 32 }; /* between two looks at the clock */

typedef struct gate {
    atomic_uint turn;
    atomic_int asleep;
    pthread_mutex_t lock;
    pthread_cond_t wake;
} gate;

typedef struct worker {
    perpi_threads* pool;
    pthread_t thread;
    int32_t lane;
    gate begin; /* of its next region */
} worker;

struct perpi_threads {
    perp_context* context;
    pid_t process;                 /* in which the threads run */
    int32_t lanes;                 /* with the caller's */
    double spin[PERPI_LANES_MOST]; /* of the thread of each lane, seconds */
    atomic_int running;
    atomic_bool stop;
    gate end; /* of the region: no worker runs */
    /* the region */
    perpi_lane_fn function;
    void* data;
    int32_t count;
    perp_status status[PERPI_LANES_MOST];
    int64_t at[PERPI_LANES_MOST];
    perp_context* own[PERPI_LANES_MOST]; /* the lanes' contexts */
    /* perpi_lane_wait */
    atomic_int arrived;
    gate phase;
    /* whether the processors are free (lane 0, seconds) */
    double spent, lost;              /* in regions; of it asleep, waiting for others */
    double pause, until;             /* how long regions had one lane, and until when */
    worker worker[PERPI_LANES_MOST]; /* from 1 */
};

/* A program that shares its processors waits for threads that do not run. Then regions have one lane for a
 * while; results do not depend on it. */
#define LOST_MOST 0.6     /* of the time in regions */
#define SAMPLE 2e-3       /* seconds in regions after which this is decided */
#define PAUSE_FIRST 20e-3 /* doubled each time up to */
#define PAUSE_MOST 0.5

static double seconds_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* ---- gates -----------------------------------------------------------------------------------------*/

static void make_gate(gate* g)
{
    atomic_init(&g->turn, 0);
    atomic_init(&g->asleep, 0);
    (void)pthread_mutex_init(&g->lock, NULL);
    (void)pthread_cond_init(&g->wake, NULL);
}

static void free_gate(gate* g)
{
    (void)pthread_cond_destroy(&g->wake);
    (void)pthread_mutex_destroy(&g->lock);
}

static void open_gate(gate* g)
{
    atomic_fetch_add(&g->turn, 1);
    if (atomic_load(&g->asleep) > 0) {
        (void)pthread_mutex_lock(&g->lock);
        (void)pthread_cond_broadcast(&g->wake);
        (void)pthread_mutex_unlock(&g->lock);
    }
}

static bool spin_at(gate* g, unsigned seen, double seconds)
{
    for (double until = 0.0;;) {
        for (int32_t i = 0; i < PAUSES; ++i) {
            if (atomic_load(&g->turn) != seen) {
                return true;
            }
            pause_briefly();
        }
        const double now = seconds_now();
        until = until > 0.0 ? until : now + seconds;
        if (now >= until) {
            return false;
        }
    }
}

/* Until the turn is no longer `seen`. Returns the seconds asleep. spin: of the thread; becomes that of its next
 * wait. */
static double wait_at(gate* g, unsigned seen, double* spin)
{
    if (spin_at(g, seen, *spin)) {
        return 0.0;
    }
    const double begin = seconds_now();
    (void)pthread_mutex_lock(&g->lock);
    atomic_fetch_add(&g->asleep, 1);
    while (atomic_load(&g->turn) == seen) {
        (void)pthread_cond_wait(&g->wake, &g->lock);
    }
    atomic_fetch_sub(&g->asleep, 1);
    (void)pthread_mutex_unlock(&g->lock);
    const double asleep = seconds_now() - begin;
    if (*spin > 0.0) {
        const double less = 0.5 * *spin > SPIN_LEAST ? 0.5 * *spin : SPIN_LEAST;
        *spin = *spin + asleep < 2.0 * SPIN_MOST ? SPIN_MOST : less;
    }
    return asleep;
}

/* ---- the number of threads ------------------------------------------------------------------------*/

static int32_t processor_count(void)
{
#ifdef __linux__
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        return CPU_COUNT(&set);
    }
#endif
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 && online < PERPI_LANES_MOST ? (int32_t)online : 1;
}

/* The number of the context; without one that of the environment; else all processors. */
static int32_t chosen_count(perp_context* context)
{
    int32_t chosen = perp_context_threads(context);
    const char* text = chosen == 0 ? getenv("PERP_THREADS") : NULL;
    if (text != NULL) {
        char* end;
        const long given = strtol(text, &end, 10);
        chosen = end != text && *end == '\0' && given >= 1 && given <= PERPI_LANES_MOST
                     ? (int32_t)given
                     : 0;
    }
    chosen = chosen == 0 ? processor_count() : chosen;
    return chosen < PERPI_LANES_MOST ? chosen : PERPI_LANES_MOST;
}

/* ---- workers ---------------------------------------------------------------------------------------*/

static void run_lane(perpi_threads* pool, int32_t index)
{
    perpi_lane lane = {.index = index,
                       .count = pool->count,
                       .context = pool->own[index],
                       .threads = pool,
                       .at = index};
    pool->status[index] = pool->function(&lane, pool->data);
    pool->at[index] = lane.at;
}

static void* work(void* user)
{
    worker* self = user;
    perpi_threads* pool = self->pool;
    for (unsigned seen = 0;; ++seen) { /* the caller waits for the end before it begins the next */
        (void)wait_at(&self->begin, seen, &pool->spin[self->lane]);
        if (atomic_load(&pool->stop)) {
            return NULL;
        }
        run_lane(pool, self->lane);
        if (atomic_fetch_sub(&pool->running, 1) == 1) {
            open_gate(&pool->end);
        }
    }
}

/* ---- the pool --------------------------------------------------------------------------------------*/

/* Signals are delivered to the program's own threads. */
static int start_worker(worker* w)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failed = pthread_create(&w->thread, NULL, work, w);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

static perpi_threads* start_pool(perp_context* context, int32_t lanes)
{
    perpi_threads* pool = NULL;
    if (perpi_alloc(context, 1, sizeof *pool, &pool) != PERP_OK) {
        return NULL;
    }
    pool->context = context;
    pool->process = getpid();
    for (int32_t i = 0; i < lanes; ++i) { /* with more threads than processors none spins */
        pool->spin[i] = lanes <= processor_count() ? SPIN_MOST : 0.0;
    }
    atomic_init(&pool->running, 0);
    atomic_init(&pool->stop, false);
    atomic_init(&pool->arrived, 0);
    make_gate(&pool->end);
    make_gate(&pool->phase);
    for (pool->lanes = 1; pool->lanes < lanes; ++pool->lanes) {
        worker* w = &pool->worker[pool->lanes];
        w->pool = pool;
        w->lane = pool->lanes;
        make_gate(&w->begin);
        if (perpi_lane_context(context, w->lane, &pool->own[w->lane]) != PERP_OK ||
            start_worker(w) != 0) {
            free_gate(&w->begin);
            break;
        }
    }
    pool->own[0] = context;
    return pool;
}

void perpi_threads_stop(perpi_threads* pool)
{
    if (pool == NULL) {
        return;
    }
    if (pool->process == getpid()) { /* in the child of a fork there are no threads */
        atomic_store(&pool->stop, true);
        for (int32_t i = 1; i < pool->lanes; ++i) {
            open_gate(&pool->worker[i].begin);
            (void)pthread_join(pool->worker[i].thread, NULL);
            free_gate(&pool->worker[i].begin);
        }
        free_gate(&pool->end);
        free_gate(&pool->phase);
    }
    perpi_free(pool->context, pool);
}

static void note_region(perpi_threads* pool, double seconds)
{
    pool->spent += seconds;
    if (pool->spent < SAMPLE) {
        return;
    }
    if (pool->lost > LOST_MOST * pool->spent) {
        pool->pause = pool->pause > 0.0 ? 2.0 * pool->pause : PAUSE_FIRST;
        pool->pause = pool->pause < PAUSE_MOST ? pool->pause : PAUSE_MOST;
        pool->until = seconds_now() + pool->pause;
    } else {
        pool->pause = 0.0;
    }
    pool->spent = pool->lost = 0.0;
}

/* ---- regions ---------------------------------------------------------------------------------------*/

int32_t perpi_lanes_for(perp_context* context, int64_t items, int64_t grain)
{
    perpi_context_lanes* x = perpi_context_lanes_of(context);
    grain = x != NULL && x->always ? 1 : grain;
    if (x == NULL || items < 2 * grain) {
        return 1;
    }
    if (x->pool != NULL && x->pool->process != getpid()) {
        perpi_threads_stop(x->pool);
        x->pool = NULL;
    }
    if (x->pool == NULL) {
        const int32_t chosen = chosen_count(context);
        if (chosen < 2 || x->refused == chosen) {
            return 1;
        }
        x->pool = start_pool(context, chosen);
        if (x->pool == NULL) {
            x->refused = chosen;
            return 1;
        }
    }
    if (x->pool->until > 0.0 && !x->always && seconds_now() < x->pool->until) {
        return 1;
    }
    x->pool->until = 0.0;
    const int64_t gain = items / grain;
    return gain < x->pool->lanes ? (int32_t)gain : x->pool->lanes;
}

void perpi_threads_always(perp_context* context)
{
    perpi_context_lanes* x = perpi_context_lanes_of(context);
    x->always = true;
}

perp_status perpi_run_lanes(perp_context* context, int32_t lanes, perpi_lane_fn function,
                            void* data)
{
    if (lanes == 1) {
        perpi_lane lane = {.count = 1, .context = context};
        return function(&lane, data);
    }
    perpi_context_lanes* x = perpi_context_lanes_of(context);
    perpi_threads* pool = x->pool;
    pool->function = function;
    pool->data = data;
    pool->count = lanes;
    const double begin = seconds_now();
    const unsigned end = atomic_load(&pool->end.turn);
    atomic_store(&pool->running, lanes - 1);
    x->inside = true;
    for (int32_t i = 1; i < lanes; ++i) {
        open_gate(&pool->worker[i].begin);
    }
    run_lane(pool, 0);
    pool->lost += wait_at(&pool->end, end, &pool->spin[0]);
    x->inside = false;
    note_region(pool, seconds_now() - begin);
    int32_t first = -1;
    for (int32_t i = 0; i < lanes; ++i) {
        if (pool->status[i] != PERP_OK && (first < 0 || pool->at[i] < pool->at[first])) {
            first = i;
        }
    }
    if (first < 0) {
        return PERP_OK;
    }
    return first == 0 ? pool->status[0]
                      : perpi_fail(context, pool->status[first], "%s",
                                   perp_context_error(pool->own[first]));
}

typedef struct part_job {
    perpi_part_fn function;
    void* data;
    int32_t items;
} part_job;

static perp_status run_part(perpi_lane* lane, void* data)
{
    const part_job* job = data;
    size_t begin, end;
    perpi_lane_part(lane, (size_t)job->items, &begin, &end);
    job->function((int32_t)begin, (int32_t)end, job->data);
    return PERP_OK;
}

void perpi_for_parts(perp_context* context, int32_t items, int32_t grain, perpi_part_fn function,
                     void* data)
{
    const int32_t lanes = perpi_lanes_for(context, items, grain);
    part_job job = {function, data, items};
    if (lanes == 1 || perpi_run_lanes(context, lanes, run_part, &job) != PERP_OK) {
        function(0, items, data);
    }
}

void perpi_lane_wait(const perpi_lane* lane)
{
    perpi_threads* pool = lane->threads;
    if (lane->count == 1) {
        return;
    }
    const unsigned phase = atomic_load(&pool->phase.turn);
    if (atomic_fetch_add(&pool->arrived, 1) + 1 == lane->count) {
        atomic_store(&pool->arrived, 0);
        open_gate(&pool->phase);
        return;
    }
    const double lost = wait_at(&pool->phase, phase, &pool->spin[lane->index]);
    if (lane->index == 0) {
        pool->lost += lost;
    }
}
