/* src/base/context_lanes.h - what a context keeps for its threads; for context.c and threads.c. */
#ifndef PERPI_CONTEXT_LANES_H
#define PERPI_CONTEXT_LANES_H

#include "base/threads.h"

typedef struct perpi_context_lanes {
    perpi_threads* pool; /* NULL: not started */
    int32_t threads;     /* asked for; 0: as many as the environment says, or all processors */
    int32_t refused;     /* so many could not be started */
    bool inside;         /* a region runs */
    bool always;         /* threads are used however small the gain */
    perp_context* lane[PERPI_LANES_MOST]; /* from 1; NULL: not made */
} perpi_context_lanes;

/* NULL where a region would have one lane: in another region. */
perpi_context_lanes* perpi_context_lanes_of(perp_context* context);

/* Ends the threads of a pool and frees it. NULL is allowed. */
void perpi_threads_stop(perpi_threads* pool);

#endif
