/* src/study/estimate_shooting.h - what the files of estimate_shooting*.c share.
 *
 *   estimate_shooting.c          from the first point to the answer; noise that is estimated
 *   estimate_shooting_search.c   steps until none reduces the merit; segments and their gaps
 *   estimate_shooting_restart.c  where derivatives do not lead on: plateaus, bounds, other points to begin with
 *   estimate_shooting_step.c     one step: priors, evaluation, the reduced system, moving the point
 */
#ifndef PERPI_STUDY_ESTIMATE_SHOOTING_H
#define PERPI_STUDY_ESTIMATE_SHOOTING_H

#include "study/estimate_evaluate.h"

#define PERPI_SHOOTING_DAMPING 1e-4 /* of the first step of a search */
/* Residuals larger than the noise explains, by so many standard deviations of their sum of squares,
 * widen intervals. */
#define PERPI_SHOOTING_EXCESS 5.0

typedef struct perpi_shooting {
    perpi_estimate_run* run;
    perp_context* context;
    perpi_estimate* e;
    perpi_evaluator* ev;
    perpi_answer* answer;
    int32_t n, m, N; /* parameters, own unknowns of a trajectory, both */
    double damping;
    double *A, *b;           /* reduced system */
    double *step, *moved;    /* of the parameters; count x m of the starts behind them */
    double *factor, *solved; /* of one trajectory: m x m, m x (n + 1) */
    double* row;             /* N */
    bool* fixed;             /* parameters kept for the step */
    bool hold;               /* the starts are kept */
    bool tried;              /* a search is over */
    bool adaptive;           /* steps */
    double *kept_parameter, *kept_start;
    perp_body_state* kept_node;
    double cost, merit; /* at the point */
    int slow;           /* successive steps that hardly reduced the cost */
    bool cancelled;
} perpi_shooting;

/* ---- estimate_shooting_step.c ---- */

/* Sets cost and merit of the point; infinite if a trajectory cannot be simulated there. */
perp_status perpi_shooting_evaluate(perpi_shooting* s, bool derivatives, double* cost,
                                    double* merit);
/* The first trajectory that cannot be simulated; NULL: none. */
const perpi_part* perpi_shooting_first_failure(const perpi_shooting* s, int32_t* trajectory);
/* Of the parameters: A and b, the starts eliminated; diagonal (may be NULL): that of A before. */
void perpi_shooting_reduce(perpi_shooting* s, double damping, double* diagonal);
void perpi_shooting_step_parameters(perpi_shooting* s);
/* Of the starts, after that of the parameters; returns the reduction that the step promises. */
double perpi_shooting_step_starts(perpi_shooting* s);
perp_status perpi_shooting_allocate_point(perpi_shooting* s);
void perpi_shooting_free_point(perpi_shooting* s);
void perpi_shooting_keep_point(perpi_shooting* s);
void perpi_shooting_restore_point(perpi_shooting* s);
void perpi_shooting_move_point(perpi_shooting* s);
/* Measured values that have a residual. */
double perpi_shooting_count_values(const perpi_shooting* s);

/* ---- estimate_shooting_search.c ---- */

void perpi_shooting_use_evaluator(perpi_shooting* s, perpi_evaluator* ev);
perp_status perpi_shooting_first_evaluation(perpi_shooting* s);
/* Steps until none reduces the merit; derivatives at the point are there before and after. */
perp_status perpi_shooting_descend(perpi_shooting* s);
/* From where the unknowns are. */
perp_status perpi_shooting_search_on(perpi_shooting* s);
perp_status perpi_shooting_search(perpi_shooting* s);

/* ---- estimate_shooting_restart.c ---- */

/* The cost is flat in parameters without influence: other values between their bounds are tried.
 * *moved: one was better. */
perp_status perpi_shooting_leave_plateaus(perpi_shooting* s, bool* moved);
perp_status perpi_shooting_leave_bounds(perpi_shooting* s);
/* After a first search whose residuals exceed the noise: searches from elsewhere, whose result
 * stays if it is better. */
perp_status perpi_shooting_restart(perpi_shooting* s);

#endif
