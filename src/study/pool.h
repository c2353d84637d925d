/* src/study/pool.h - what the pool and its workers share. */
#ifndef PERPI_POOL_H
#define PERPI_POOL_H

#include "perp/study.h"

/* A request: the id of a run, and of a design its candidate. */
enum { PERPI_REQUEST_SIZE = 2048 };
/* Writes the request, and returns its size. */
size_t perpi_pool_request(const perp_study* study, int64_t id, char* message);

/* A run is cancelled at its limit of CPU time; a process that does not react ends by SIGPROF at
 * this factor of the limit, plus the extra seconds. */
#define PERPI_ALARM_FACTOR 1.25
#define PERPI_ALARM_EXTRA 0.25

#endif
