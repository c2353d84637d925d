/* src/study/estimate_evaluate.h - residuals and normal equations of all trajectories, by workers.
 *
 * A trajectory is cut into segments for multiple shooting. The states at the cuts (nodes) are unknowns of their own; that each
 * segment ends where the next one begins is a constraint, which is linearised and eliminated ("condensed") [Bock 1983]:
 * with d = (parameters, start coordinates) of the trajectory the nodes move by S_j d + c_j, so that every
 * trajectory has normal equations in d alone. At the solution the gaps at the nodes are 0.
 */
#ifndef PERPI_ESTIMATE_EVALUATE_H
#define PERPI_ESTIMATE_EVALUATE_H

#include "study/estimate.h"

enum { PERPI_PART_MESSAGE = 400 };

/* One trajectory at one point. */
typedef struct perpi_part {
    perp_status status;
    bool failed;
    char message[PERPI_PART_MESSAGE];
    double cost;      /* sum of losses */
    double gap;       /* sum of squares at the nodes, scaled */
    double* residual; /* rows x width */
    /* with derivatives, N = parameters + start coordinates: */
    double *H, *raw, *g; /* J' W J, J' J, J' W r */
    double* node;        /* of each node: S (M x N), c (M) */
} perpi_part;

typedef struct perpi_evaluator {
    perp_context* context;
    perpi_estimate* e;
    perpi_predictor* predictor;
    perpi_workers* workers;
    int32_t n, m, N;  /* parameters, start coordinates, both */
    int32_t nodes, M; /* of a trajectory; coordinates of one */
    size_t bodies;
    bool planar;
    double length;           /* of gaps */
    perpi_start* coordinate; /* of a node: M */
    int32_t* used;           /* trajectories that are fitted */
    int32_t count;
    perpi_part* part;          /* count */
    double *parameter, *start; /* the point: n, count x m */
    perp_body_state* node;     /* count x nodes x bodies */
    double* noise;             /* per channel */
    bool derivatives;
    int64_t evaluations, runs, flagged;
    perpi_derivative derivative;
    bool (*stop)(void* user);
    void* user;
    size_t part_bytes;
    /* of a worker */
    double *jacobian, *end_jacobian, *row;
    perp_body_state* end;
} perpi_evaluator;

PERP_NODISCARD perp_status perpi_evaluator_create(perpi_estimate_run* run, bool held_out,
                                                  perpi_evaluator** evaluator);
void perpi_evaluator_destroy(perpi_evaluator* ev);
/* Fills the parts at the evaluator's point. A trajectory that cannot be simulated is a part that failed. */
PERP_NODISCARD perp_status perpi_evaluator_run(perpi_evaluator* ev, bool derivatives);
/* The loss of a residual; weight: psi(r) / r, slope: psi'(r). */
double perpi_loss_of(const perpi_estimate* e, double r, double* weight, double* slope);

#endif
