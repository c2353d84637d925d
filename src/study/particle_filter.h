/* src/study/particle_filter.h - sequential Monte Carlo estimates of unknowns from rows of measurements.
 *
 * Two filters with one summary. perpi_filter_static: the unknowns do not change and the motion is a
 * function of them. After a resampling the particles are moved by Metropolis steps that leave the
 * posterior unchanged, so that the result converges to the posterior with the number of particles.
 * perpi_filter_dynamic: unknowns and motion have process noise; each particle carries a state from
 * row to row. Neither knows simulations: a model does the rest.
 */
#ifndef PERPI_PARTICLE_FILTER_H
#define PERPI_PARTICLE_FILTER_H

#include "study/particle.h"

/* After a row: moments and 95 % intervals of the unknowns and of what the model predicts for the row. */
typedef struct perpi_filter_row {
    int32_t row;
    const double *mean, *low, *high;                          /* n */
    const double* covariance;                                 /* n x n */
    const double *predicted, *predicted_low, *predicted_high; /* predictions */
    double effective;                                         /* sample size */
} perpi_filter_row;

typedef struct perpi_filter_def {
    perp_context* context;
    int64_t particles;
    uint64_t seed;
    double threshold; /* part of the particles: a smaller effective sample size is resampled */
    int32_t n;        /* unknowns */
    const perpi_prior* prior;
    int32_t rows, predictions;
    /* Anything but PERP_OK ends the filter with that status. */
    perp_status (*summary)(void* user, const perpi_filter_row* row);
    void* user;
    double*
        last; /* static: particles x n, the particles after the last row, resampled; NULL: not wanted */
} perpi_filter_def;

typedef struct perpi_filter_info {
    int64_t resamplings;
    int64_t simulations; /* static: runs; dynamic: advances of a particle by a row */
    int64_t passes;      /* static: proposals to every particle */
    double
        acceptance; /* static: mean part of the proposals that were accepted; NaN: there were none */
    double effective; /* smallest effective sample size after a row, part of the particles */
    double best;      /* static: the largest log-likelihood of all rows that a particle has */
} perpi_filter_info;

/* ---- unknowns that do not change ----------------------------------------------------------------*/

/* Rows that are used together: up to `end`. From then on the data alone determine the flat unknowns before
 * `released`. Groups ascend; all but the first of a trajectory usually have one row. */
typedef struct perpi_filter_group {
    int32_t end, released;
} perpi_filter_group;

/* Records of `stride` numbers. In: n unknowns. Out: the sum of the log-likelihoods of the rows
 * before `from`, then those of the rows from .. to - 1, then their predictions, row by row.
 * -INFINITY: the unknowns cannot be simulated so far. */
typedef struct perpi_static_request {
    int64_t count;
    double* record;
    size_t stride;
    int32_t from, to;
} perpi_static_request;

typedef struct perpi_static_model {
    const perpi_filter_group* group;
    int32_t group_count;
    int32_t parameters; /* unknowns that no group releases: the first ones */
    int32_t passes;     /* of moves after a resampling, at most */
    perp_status (*simulate)(void* user, const perpi_static_request* request);
    void* user;
} perpi_static_model;

PERP_NODISCARD perp_status perpi_filter_static(const perpi_filter_def* def,
                                               const perpi_static_model* model,
                                               perpi_filter_info* info);

/* ---- with process noise -------------------------------------------------------------------------*/

/* What a particle carries from row to row; memory of the context. */
typedef struct perpi_blob {
    unsigned char* data;
    size_t size, room;
} perpi_blob;
PERP_NODISCARD perp_status perpi_blob_set(perp_context* context, perpi_blob* blob, const void* data,
                                          size_t size);

typedef struct perpi_dynamic_request {
    int32_t row; /* 0: from the unknowns; else from the state after the row before */
    int64_t count;
    const double* z;     /* count x n */
    const double* noise; /* count x noises, independent, standard normal */
    perpi_blob* state;
    double* likelihood; /* out: logarithms */
    double* prediction; /* out: count x predictions */
} perpi_dynamic_request;

typedef struct perpi_dynamic_model {
    const double* time; /* of the rows */
    int32_t parameters; /* the first unknowns; the others matter at row 0 only */
    /* of each parameter: standard deviation of its random walk per square root of time, reflected
     * at the bounds; 0: it does not change, and its particles are kept apart by the kernel of Liu
     * and West */
    const double* walk;
    double discount; /* of that kernel, in (1/3, 1] */
    int32_t noises;
    /* particles x n, with which the rows before `begun` have been used already: these are passed
     * without noise; NULL: drawn from the priors */
    const double* start;
    int32_t begun;
    perp_status (*advance)(void* user, const perpi_dynamic_request* request);
    void* user;
} perpi_dynamic_model;

PERP_NODISCARD perp_status perpi_filter_dynamic(const perpi_filter_def* def,
                                                const perpi_dynamic_model* model,
                                                perpi_filter_info* info);

/* ---- shared -------------------------------------------------------------------------------------*/

/* Memory for summaries. */
typedef struct perpi_filter_work {
    double *mean, *low, *high, *covariance, *predicted, *predicted_low, *predicted_high;
    perpi_ranked* ranked;
} perpi_filter_work;
PERP_NODISCARD perp_status perpi_filter_work_create(const perpi_filter_def* def,
                                                    perpi_filter_work* work);
void perpi_filter_work_destroy(const perpi_filter_def* def, perpi_filter_work* work);
/* Arrays of numbers at a stride: unknowns at z, predictions at p. */
typedef struct perpi_filter_view {
    const double *z, *p;
    int64_t z_stride, p_stride;
} perpi_filter_view;
PERP_NODISCARD perp_status perpi_filter_summarise(const perpi_filter_def* def,
                                                  perpi_filter_work* work, int32_t row,
                                                  const perpi_filter_view* view,
                                                  const double* weight, double effective);

#endif
