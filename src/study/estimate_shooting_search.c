/* src/study/estimate_shooting_search.c - steps until none reduces the merit; trajectories in
 * segments, whose gaps are closed. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/vec.h"
#include "study/estimate_shooting.h"

/* Not less: directions of which the data say nothing must not run away by rounding. */
#define LEAST_DAMPING 1e-10
#define MOST_DAMPING 1e12
/* Damping up to which a step counts as one of Gauss and Newton's method. */
#define SMALL_DAMPING 1e-2
/* A reduction below this part of the cost is rounding. */
#define ROUNDING 1e-13
/* So many steps in a row that reduce the cost by less than the tolerance, relatively, end the
 * search: where residuals have kinks (a bounce more or less) there is always a shorter step. */
#define SLOW_STEPS 5
/* Weights of gaps between segments, in units that are about the noise. */
#define FIRST_WEIGHT 1e-6
#define LAST_WEIGHT 1e8
#define JOIN_WEIGHT 1e2
#define WEIGHT_FACTOR 100.0
#define EXACT 1e-3 /* residuals, in parts of the noise */
/* Runs with adaptive steps have errors that jump from run to run: where no step reduces the cost,
 * and none promised to reduce it by more than this part of the number of values, that is the
 * end. */
#define ADAPTIVE 1e-2

static bool user_stops(perpi_shooting* s)
{
    if (s->run->progress != NULL && s->run->progress(s->run, s->answer->iterations, s->cost)) {
        s->cancelled = true;
    }
    return s->cancelled;
}

static bool stop_now(void* user)
{
    return user_stops(user);
}

/* Derivatives at the point are there. Tries steps until one reduces the merit; *done: no step does,
 * or the last one was negligible. */
static perp_status advance(perpi_shooting* s, bool* done)
{
    perpi_answer* a = s->answer;
    double promised = 0.0; /* by the first step */
    perpi_shooting_keep_point(s);
    while (a->iterations < s->e->iterations) {
        double cost, merit;
        a->iterations += 1;
        perpi_shooting_reduce(s, s->damping, NULL);
        perpi_shooting_step_parameters(s);
        const double predicted = perpi_shooting_step_starts(s);
        /* the decrement is half the square of the step in standard deviations */
        const bool reduces = predicted >= 0.0;
        promised = promised == 0.0 ? predicted : promised;
        const bool small = reduces && predicted <= 0.5 * s->e->tolerance * s->e->tolerance &&
                           s->damping <= SMALL_DAMPING;
        perpi_shooting_move_point(s);
        PERPI_TRY(perpi_shooting_evaluate(s, false, &cost, &merit));
        if (merit < s->merit) {
            s->damping = s->damping / 10.0 > LEAST_DAMPING ? s->damping / 10.0 : LEAST_DAMPING;
            s->slow = s->merit - merit < s->e->tolerance * s->merit ? s->slow + 1 : 0;
            s->cost = cost;
            s->merit = merit;
            *done = small || s->slow >= SLOW_STEPS;
            a->converged = a->converged || *done;
            return PERP_OK;
        }
        perpi_shooting_restore_point(s);
        if (small || (reduces && predicted <= ROUNDING * fabs(s->merit))) {
            a->converged = *done = true;
            return PERP_OK;
        }
        s->damping = s->damping < 1e-6 ? 1e-4 : s->damping * 10.0;
        if (s->damping > MOST_DAMPING) {
            /* exact data: what is left is rounding, which no step reduces */
            const bool limited =
                s->adaptive && promised <= ADAPTIVE * perpi_shooting_count_values(s);
            a->converged = a->converged || limited ||
                           s->cost <= EXACT * EXACT * perpi_shooting_count_values(s);
            if (limited) {
                (void)snprintf(a->message, sizeof a->message,
                               "the errors of adaptive steps jump from run to run: the values are "
                               "exact to about %.2g standard deviations; a fixed step, or a "
                               "smaller error of the step, gives more",
                               sqrt(2.0 * perpi_larger(promised, 0.0)));
            }
            *done = true;
            return PERP_OK;
        }
    }
    *done = true;
    return PERP_OK;
}

perp_status perpi_shooting_first_evaluation(perpi_shooting* s)
{
    PERPI_TRY(perpi_shooting_evaluate(s, true, &s->cost, &s->merit));
    int32_t k = 0;
    const perpi_part* bad = perpi_shooting_first_failure(s, &k);
    if (bad != NULL || !isfinite(s->cost)) {
        return perpi_fail(s->context, PERP_ERROR_SOLVE,
                          "trajectory %lld cannot be simulated at the start of the search: %s",
                          (long long)s->e->data.trajectory[k].number,
                          bad != NULL ? bad->message : "its residuals are not finite");
    }
    return PERP_OK;
}

perp_status perpi_shooting_descend(perpi_shooting* s)
{
    bool done = false;
    s->slow = 0;
    while (!done && !user_stops(s)) {
        PERPI_TRY(advance(s, &done));
        PERPI_TRY(perpi_shooting_evaluate(s, true, &s->cost, &s->merit));
    }
    return s->cancelled ? perpi_fail(s->context, PERP_ERROR_CANCELLED, "interrupted") : PERP_OK;
}

void perpi_shooting_use_evaluator(perpi_shooting* s, perpi_evaluator* ev)
{
    s->ev = ev;
    s->m = ev->own;
    s->N = ev->N;
    ev->stop = stop_now;
    ev->user = s;
}

/* Goes on without segments, if a run through all of a trajectory follows its segments: then the
 * last steps and the information are not burdened with the weights of gaps. Where motion is chaotic
 * it does not. */
static perp_status join_segments(perpi_shooting* s, bool* joined)
{
    static const double WORSE = 4.0, MORE = 100.0;
    perpi_evaluator *parts = s->ev, *whole = NULL;
    const int32_t segments = s->e->segments;
    const double cost = s->cost;
    *joined = false;
    s->e->segments = 1;
    const perp_status status = perpi_evaluator_create(s->run, false, &whole);
    s->e->segments = segments;
    PERPI_TRY(status);
    memcpy(whole->parameter, parts->parameter, (size_t)s->n * sizeof *whole->parameter);
    memcpy(whole->noise, parts->noise, (size_t)s->e->channel_count * sizeof *whole->noise);
    for (int32_t k = 0; k < whole->count && whole->m > 0; ++k) {
        memcpy(whole->start + (size_t)k * (size_t)whole->m,
               parts->start + (size_t)k * (size_t)parts->own,
               (size_t)whole->m * sizeof *whole->start);
    }
    whole->evaluations = parts->evaluations;
    whole->runs = parts->runs;
    perpi_shooting_use_evaluator(s, whole);
    const perp_status first = perpi_shooting_evaluate(s, false, &s->cost, &s->merit);
    *joined = first == PERP_OK && s->cost <= WORSE * cost + MORE;
    perpi_evaluator_destroy(*joined ? parts : whole);
    if (!*joined) {
        perpi_shooting_use_evaluator(s, parts);
    }
    return first;
}

/* Gaps become dearer from search to search, until a run without segments can go on, or none is left. */
static perp_status close_gaps(perpi_shooting* s)
{
    bool joined = false;
    s->ev->weight = FIRST_WEIGHT;
    for (;;) {
        s->damping = PERPI_SHOOTING_DAMPING;
        PERPI_TRY(perpi_shooting_first_evaluation(s));
        PERPI_TRY(perpi_shooting_descend(s));
        if (s->ev->weight >= JOIN_WEIGHT) {
            PERPI_TRY(join_segments(s, &joined));
        }
        if (joined || s->ev->weight >= LAST_WEIGHT) {
            return PERP_OK;
        }
        s->ev->weight *= WEIGHT_FACTOR;
    }
}

/* From where the unknowns are. */
perp_status perpi_shooting_search_on(perpi_shooting* s)
{
    bool moved = false;
    s->damping = PERPI_SHOOTING_DAMPING;
    s->answer->converged = false;
    PERPI_TRY(perpi_shooting_first_evaluation(s));
    PERPI_TRY(perpi_shooting_leave_plateaus(s, &moved));
    PERPI_TRY(perpi_shooting_descend(s));
    PERPI_TRY(perpi_shooting_leave_plateaus(s, &moved)); /* where it came to a plateau on the way */
    if (moved) {
        s->damping = PERPI_SHOOTING_DAMPING;
        s->answer->converged = false;
        PERPI_TRY(perpi_shooting_descend(s));
    }
    return perpi_shooting_leave_bounds(s);
}

perp_status perpi_shooting_search(perpi_shooting* s)
{
    const bool again = s->tried || s->ev->nodes > 0;
    if (s->ev->nodes > 0 && s->ev->weight == 0.0) {
        PERPI_TRY(close_gaps(s));
    }
    PERPI_TRY(perpi_shooting_search_on(s));
    s->tried = true;
    return again ? PERP_OK : perpi_shooting_restart(s);
}
