/* experiments/common/particles.h - the particles of [B09 7.6.1]: they fall, touch a surface and
 * slide along it, pulled by a known force.
 *
 * h = 0.05, 100 steps, mass 1, force (5, 0); the data are the positions of all steps plus noise,
 * uniform in [-eps, eps]. The objectives of the paper's tables are sums of squares of this noise: 2
 * n 101 eps^2 / 3 on average.
 */
#ifndef EXPERIMENT_PARTICLES_H
#define EXPERIMENT_PARTICLES_H

#include "common/study.h"

enum { PARTICLES_STEPS = 100 };

typedef struct particles_def {
    const char* name; /* of the files in the output directory */
    int count;
    const double* mu;     /* the true coefficients, count */
    const double* height; /* at the start, count */
    const double* place;  /* x at the start */
    double noise;         /* eps */
    unsigned seed;
} particles_def;

typedef struct particles_found {
    bool solved;
    long long iterations;
    double squares;       /* sum of squares of the residuals, as in the tables */
    double rms;           /* error of mu */
    double mu, deviation; /* of the first particle */
    double seconds;       /* of CPU: this process and its workers */
    char message[200];
} particles_found;

/* Simulates, adds noise, and writes scene and data; then an estimate by `method` ("mpec",
 * "shooting"), all mu from 1, the start known or estimated. */
void particles_write(perp_context* context, const report* r, const particles_def* def);
particles_found particles_estimate(perp_context* context, const report* r, const particles_def* def,
                                   const char* method, bool start_estimated);

#endif
