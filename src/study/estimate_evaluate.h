/* src/study/estimate_evaluate.h - residuals and normal equations of all trajectories, by workers.
 *
 * A trajectory is cut into segments for multiple shooting. The states at the cuts (nodes) are
 * unknowns of their own, and a segment that does not end where the next one begins costs w |gap|^2
 * / 2, with w driven up until no gap is left. While w is small each segment follows its own data,
 * whatever the others do: nothing that is wrong at the start of a long run makes its end useless.
 * The unknowns of a trajectory beside the parameters (its own) are its start coordinates, then the
 * coordinates of its nodes, which count from where the nodes are.
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
    double gap;       /* the largest at the nodes, in units */
    double* residual; /* rows x width */
    /* with derivatives, N = parameters and own unknowns: */
    double *H, *raw, *g; /* J' W J, J' J, J' W r */
} perpi_part;

typedef struct perpi_evaluator {
    perp_context* context;
    perpi_estimate* e;
    perpi_predictor* predictor;
    perpi_workers* workers;
    int32_t n, m, own, N; /* parameters, start coordinates, these and those of nodes, all */
    int32_t nodes, M;     /* of a trajectory; coordinates of one */
    size_t bodies;
    bool planar;
    double* unit;            /* of gaps: M */
    double weight;           /* w */
    perpi_start* coordinate; /* of a node: M */
    int32_t* used;           /* trajectories that are fitted */
    int32_t count;
    perpi_part* part;          /* count */
    double *parameter, *start; /* the point: n, count x own; nodes: 0 */
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

/* estimate_profile.c: moves ends of intervals outwards where the cost does not rise beyond them.
 * The evaluator is at the estimate; its parts are lost. widening: of the intervals, as a factor of
 * variances. */
PERP_NODISCARD perp_status perpi_answer_profile(perpi_evaluator* ev, double widening,
                                                perpi_answer* answer);

#endif
