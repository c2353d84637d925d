/* src/base/threads.h - regions in which several threads work on parts of one task.
 *
 * A context has a pool of threads. It starts with the first region that is large enough to gain, so a
 * program that simulates small scenes never has a second thread, and one that forks before its first
 * large scene has nothing to lose; a pool that was started before a fork is not used in the child,
 * which starts its own. A thread that waits spins for some microseconds, then sleeps.
 *
 * A region has lanes 0..count-1; lane 0 is the calling thread. What a lane does depends on its index
 * alone, never on time: items are split into contiguous parts, and a result is written by one lane to
 * one place, or is a sum whose order does not depend on the number of lanes. So a program computes the
 * same bits with any number of threads, memory is requested at the same places of the program in each
 * run, and of several errors the one of the first item is reported.
 *
 * A lane may use its own context alone (memory, errors), and regions inside a region have one lane.
 */
#ifndef PERPI_THREADS_H
#define PERPI_THREADS_H

#include "base/context.h"

enum { PERPI_LANES_MOST = 64 };

typedef struct perpi_threads perpi_threads; /* the pool */

typedef struct perpi_lane {
    int32_t index, count;
    perp_context* context; /* of this lane; lane 0 has the caller's */
    perpi_threads* threads;
    int64_t at; /* the item in work, if the function fails: of several the lowest is reported */
} perpi_lane;

typedef perp_status (*perpi_lane_fn)(perpi_lane* lane, void* data);

/* How many lanes a task of `items` should have if fewer than `grain` items for each do not gain: at
 * most the number of threads of the context; 1 inside a region. Starts the pool if it is more than 1;
 * threads that cannot be started only make it fewer. */
int32_t perpi_lanes_for(perp_context* context, int64_t items, int64_t grain);

/* For tests: from now on two items are enough for two lanes, so that small problems use threads too. */
void perpi_threads_always(perp_context* context);

/* Runs the function in each lane, and returns when all have; lanes: from perpi_lanes_for. On failure the
 * status and message of the lane with the lowest `at`. */
PERP_NODISCARD perp_status perpi_run_lanes(perp_context* context, int32_t lanes,
                                           perpi_lane_fn function, void* data);

/* Items begin to end - 1 of a task that cannot fail and in which each item is independent. */
typedef void (*perpi_part_fn)(int32_t begin, int32_t end, void* data);
/* Calls it for 0..items-1, in parts of at least `grain` items if there are several lanes. */
void perpi_for_parts(perp_context* context, int32_t items, int32_t grain, perpi_part_fn function,
                     void* data);

/* Within a region: waits until every lane has come here. All lanes must call it equally often. */
void perpi_lane_wait(const perpi_lane* lane);

/* The part of n items of a lane: from *begin to *end - 1. */
static inline void perpi_lane_part(const perpi_lane* lane, size_t n, size_t* begin, size_t* end)
{
    *begin = n * (size_t)lane->index / (size_t)lane->count;
    *end = n * ((size_t)lane->index + 1) / (size_t)lane->count;
}

/* The context of a lane, for objects that it uses in several regions; made when first asked for, outside
 * of regions. Lane 0: the context itself. */
PERP_NODISCARD perp_status perpi_lane_context(perp_context* context, int32_t lane,
                                              perp_context** own);

#endif
