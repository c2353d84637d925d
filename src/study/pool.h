/* src/study/pool.h - constants that the pool and its workers share. */
#ifndef PERPI_POOL_H
#define PERPI_POOL_H

/* A run is cancelled at its limit of CPU time; a process that does not react ends by SIGPROF at this factor of the
 * limit, plus the extra seconds. */
#define PERPI_ALARM_FACTOR 1.25
#define PERPI_ALARM_EXTRA 0.25

#endif
