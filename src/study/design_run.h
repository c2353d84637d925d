/* src/study/design_run.h - a design while it runs: candidates, their values, the database and the workers. */
#ifndef PERPI_DESIGN_RUN_H
#define PERPI_DESIGN_RUN_H

#include "study/design.h"
#include "study/results.h"

/* What is known of a candidate that was evaluated. */
typedef struct perpi_point {
    double objective; /* NaN: none */
    double penalty;   /* what takes its place then */
    double violation; /* >= 0 */
    int64_t failed;
    int32_t start;
    bool sloped;     /* all its runs have gradients */
    int64_t flagged; /* steps of these, in all runs */
} perpi_point;

typedef struct perpi_design_state {
    perp_context* context;
    perp_study* study;
    perpi_design* d;
    const perp_design_def* def;
    perpi_writer* writer;
    perp_pool* pool; /* NULL: not started yet */
    char folder[4096];
    perp_status status; /* of the first failure */
    bool stopped;       /* by the user */
    perp_design_report report;
    double begun, shown;

    /* evaluated candidates; constraint: count x constraint_count */
    perpi_point* point;
    double* constraint;
    size_t point_room, constraint_room;
    /* by gradients: derivatives of objective and constraints by the unknowns, and the curvature of
     * the objective, count x (1 + constraint_count + unknown_count) x unknown_count */
    double* slope;
    size_t slope_room;
    int64_t count;
    int64_t allowed; /* candidates that the present start may reach */
    double worst;    /* largest objective so far; NaN: none */
    bool limited;    /* it was reached */
    bool on_side;    /* candidates are on the better side of a kink, by one-sided derivatives */

    /* runs of the candidates that are being evaluated */
    int64_t batch_first, batch_runs; /* first id; number */
    double* cost;                    /* NaN: not done, or without a value */
    double* margin;                  /* batch_runs x constraint_count */
    double* run_seconds;
    uint8_t* run_done;
    double* run_slope;    /* of the runs, likewise */
    int64_t* run_flagged; /* -1: no gradient */
    size_t run_slope_room, run_flagged_room;
    char no_gradient[PERPI_DESIGN_REASON]; /* why a run with a value has none; "": they all have */
    int64_t no_gradient_run;               /* the first such one; 0: none */
    int64_t batch_pending;
    size_t cost_room, margin_room, seconds_room, done_room;
    char (*message)[400]; /* of the first run without a value of each candidate */
    int64_t* message_run;
    size_t message_room, message_run_room;
    bool* fresh; /* a candidate needed a run that was not there */
    size_t fresh_room;
} perpi_design_state;

/* Evaluates count candidates (count x unknown_count numbers within the bounds) at a factor of the
 * step; index: their places in `point`. A candidate that was evaluated before is not evaluated
 * again. False: stop, see status, stopped, limited. */
bool perpi_design_evaluate(perpi_design_state* e, int32_t count, const double* x, double factor,
                           int64_t* index);
/* The objective of the costs of its runs. */
double perpi_design_combine(const perpi_design_state* e, const double* cost);
/* design_direction.c: one-sided derivatives of the objective and the constraints of a candidate
 * that was evaluated, along a direction of the unknowns. False: a run has none, or its steps are
 * flagged all the same. */
bool perpi_design_direction(perpi_design_state* e, int64_t index, const double* direction,
                            double* objective, double* constraint);
/* Whether a is better than b: less violation if one is infeasible, else a smaller objective. */
bool perpi_point_better(const perpi_point* a, const perpi_point* b);
/* Ends the workers. */
void perpi_design_end_pool(perpi_design_state* e);
/* All searches, from all starts. */
void perpi_design_search(perpi_design_state* e);

#endif
