/* src/study/sample.h - numbers in (0, 1) for draw k of variable j, by three methods.
 *
 * All are functions of (seed, block, draw, variable): a block is a grid point, and has `trials`
 * draws. Nothing is kept between calls, so that any worker computes any draw.
 */
#ifndef PERPI_SAMPLE_H
#define PERPI_SAMPLE_H

#include <stdint.h>

typedef enum perpi_sampling {
    PERPI_SAMPLING_RANDOM,         /* independent */
    PERPI_SAMPLING_SOBOL,          /* Sobol's sequence with a random digital shift per block */
    PERPI_SAMPLING_LATIN_HYPERCUBE /* one draw in each of `trials` strata of every variable */
} perpi_sampling;

typedef struct perpi_draw {
    uint64_t seed;
    int64_t block; /* >= 0 */
    int64_t trial; /* 0 <= trial < trials */
    int64_t trials;
} perpi_draw;

/* Sobol: variable < PERPI_SOBOL_DIMENSIONS, trials <= 2^32. Never 0 or 1. */
double perpi_sample(perpi_sampling method, const perpi_draw* draw, int32_t variable);

/* Point `index` of Sobol's sequence, as 32 bits behind the binary point; point 0 is 0. */
uint32_t perpi_sobol(uint32_t index, int32_t dimension);

/* The inverse of the standard normal distribution function, to 1e-15 relative. */
double perpi_normal_quantile(double p);

#endif
