/* src/study/particle.h - weighted particles: random streams, priors, resampling, summaries.
 *
 * Every random number is a function of (seed, stage, particle, variable) by Philox: a stage is one use of
 * random numbers by all particles (a draw, a proposal, a resampling). So a result does not depend
 * on how the particles are divided among workers.
 */
#ifndef PERPI_PARTICLE_H
#define PERPI_PARTICLE_H

#include "base/context.h"

/* ---- random numbers -----------------------------------------------------------------------------*/

typedef struct perpi_stream {
    uint64_t seed;
    uint32_t stage;
} perpi_stream;

/* In (0, 1), never 0 or 1. */
double perpi_stream_uniform(const perpi_stream* s, int64_t particle, int32_t variable);
double perpi_stream_normal(const perpi_stream* s, int64_t particle, int32_t variable);

/* ---- priors -------------------------------------------------------------------------------------*/

typedef enum perpi_prior_kind {
    PERPI_PRIOR_UNIFORM, /* between finite bounds */
    PERPI_PRIOR_NORMAL,  /* cut off at the bounds, which may be infinite */
    PERPI_PRIOR_FLAT, /* the same density everywhere: only the data determine it. Particles are drawn from
                            the normal distribution given here, and weighted by its inverse density */
} perpi_prior_kind;

typedef struct perpi_prior {
    perpi_prior_kind kind;
    double low, high;
    double mean, deviation;
} perpi_prior;

/* The value at a uniform number; always within the bounds. */
double perpi_prior_draw(const perpi_prior* prior, double uniform);
/* Up to a constant; -INFINITY outside the bounds and of NaN. */
double perpi_prior_density(int32_t n, const perpi_prior* prior, const double* z);
/* Of the flat ones: that of the distribution from which they are drawn. */
double perpi_prior_drawn_density(int32_t n, const perpi_prior* prior, const double* z);
/* Standard deviation; of a flat one that of the drawn values. */
double perpi_prior_deviation(const perpi_prior* prior);
/* Mirrors a value at the bounds until it is between them. */
double perpi_reflect(double value, double low, double high);

/* ---- weights ------------------------------------------------------------------------------------*/

/* Weights that sum to 1 from logarithms, and the effective sample size (sum w)^2 / sum w^2, 0 if
 * all weights are. */
double perpi_weights(int64_t count, const double* log_weight, double* weight);
/* Systematic resampling: particle i of the new population is a copy of ancestor[i], which ascends.
 * Each has floor or ceil of count times its weight copies. uniform in (0, 1). */
void perpi_resample(int64_t count, const double* weight, double uniform, int64_t* ancestor);

/* ---- summaries ----------------------------------------------------------------------------------*/

/* Weighted mean and covariance (n x n) of n numbers each, at a stride. */
typedef struct perpi_particles {
    int64_t count, stride;
    int32_t n;
    const double* z;
} perpi_particles;
void perpi_particle_moments(const perpi_particles* p, const double* weight, double* mean,
                            double* covariance);
/* Cholesky factor of a covariance whose rank may be too small: a little is added to the diagonal. Row i of an
 * unknown without variance is that of the unit matrix. False: not finite. */
bool perpi_covariance_factor(int32_t n, const double* covariance, double* factor);
typedef struct perpi_ranked {
    double value, weight;
} perpi_ranked;
/* Quantiles at part and 1 - part of numbers value[0], value[stride], ... ; work: count. */
void perpi_particle_interval(int64_t count, const double* value, int64_t stride,
                             const double* weight, double part, perpi_ranked* work, double* low,
                             double* high);

#endif
