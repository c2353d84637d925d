/* src/study/estimate_fit.h - a least-squares fit to a range of rows of one trajectory: parameters,
 * and the start coordinates of the range. A moving window is a series of such fits; the particle
 * filter draws unknown starts around one. */
#ifndef PERPI_ESTIMATE_FIT_H
#define PERPI_ESTIMATE_FIT_H

#include "study/estimate.h"

typedef struct perpi_fit_def {
    const perpi_trajectory* trajectory;
    int32_t first, rows;
    const perp_body_state* state; /* the nominal start of the range, of every body */
    /* quadratic prior (z - mean)' information (z - mean) / 2; NULL: none */
    const double *mean, *information;
    bool hold_start; /* only the parameters move */
} perpi_fit_def;

typedef struct perpi_fit {
    perp_context* context;
    const perpi_estimate* e;
    perpi_predictor* predictor;
    int32_t n, parameters; /* unknowns; of these, parameters: the first ones */
    double* z;             /* in: first guess; out: the minimum */
    double* H;             /* out: n x n, information at the minimum, prior included */
    double cost;           /* half the sum of squares (losses) and of the prior */
    double squares;        /* sum of squares of the residuals alone, weighted as the loss does */
    int64_t values;        /* residuals that are not gaps */
    int64_t iterations;    /* of the last fit */
    int64_t evaluations, runs, flagged; /* of all fits */
    bool converged, hold_start;
    perpi_derivative derivative;
    /* scratch */
    double *g, *try_z, *step, *diagonal, *A, *residual, *jacobian;
    size_t residual_room, jacobian_room;
} perpi_fit;

PERP_NODISCARD perp_status perpi_fit_create(const perpi_estimate_run* run, perpi_fit** fit);
void perpi_fit_destroy(perpi_fit* fit);
/* Levenberg-Marquardt between the bounds. An error only where the first guess cannot be simulated. */
PERP_NODISCARD perp_status perpi_fit_run(perpi_fit* fit, const perpi_fit_def* def);
/* Information of the parameters, the start coordinates eliminated: parameters x parameters. */
PERP_NODISCARD perp_status perpi_fit_parameters(perpi_fit* fit, double* information);

/* Of a residual in standard deviations: its loss, and the weight of its square (derivative of the
 * loss by half its square). */
double perpi_fit_loss(const perpi_estimate* e, double residual);
double perpi_fit_weight(const perpi_estimate* e, double residual);

/* Sum of squares over degrees of freedom where it is more than the noise explains (by five standard
 * deviations), else 1. Of other losses than squares 1: they expect outliers. */
double perpi_fit_excess(const perpi_estimate* e, double squares, double degrees);
/* Adds a series of so many rows to an answer. */
PERP_NODISCARD perp_status perpi_answer_add_series(perp_context* context, perpi_answer* answer,
                                                   int32_t trajectory, int32_t rows,
                                                   perpi_answer_series** series);

#endif
