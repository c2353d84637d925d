/* src/study/philox.h - counter-based random numbers: Philox4x32-10.
 *
 * Source     Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011
 * Departure  none; tests/unit/study/sample_test.c has the known answers that Random123 publishes
 *
 * A number is a function of (key, counter), without state: draw k of a study is the same on any worker, rank
 * or shard. Written here rather than taken from Random123: one of its generators is twenty lines, and the build
 * needs one package less.
 */
#ifndef PERPI_PHILOX_H
#define PERPI_PHILOX_H

#include <stdint.h>

typedef struct perpi_philox {
    uint32_t v[4];
} perpi_philox;

perpi_philox perpi_philox4x32(const uint32_t counter[4], const uint32_t key[2]);

#endif
