/* src/study/estimate_shooting.c - Levenberg and Marquardt's method on simulations.
 *
 * Minimises the sum of losses of all residuals, priors included, over the parameters (between
 * bounds) and the start coordinates of each trajectory; noise that is not given is estimated from
 * the residuals, in turns with the search.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "study/estimate_shooting.h"

/* A gap that counts as none, in units. */
#define NO_GAP 1e-3
/* Estimated noise: rounds, and the relative change that ends them. */
#define NOISE_ROUNDS 30
#define NOISE_CHANGE 1e-3
/* The least noise, as a part of the largest value of a channel. */
#define NOISE_LEAST 1e-10

static int compare(const void* a, const void* b)
{
    const double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

/* The standard deviation of a channel's residuals in units of its noise: from squares, or of a
 * robust loss from the median of sizes. */
static double spread_of(const perpi_shooting* s, const perpi_channel* c, double part, double* room,
                        double* largest)
{
    size_t count = 0;
    double sum = 0.0;
    *largest = 0.0;
    for (int32_t k = 0; k < s->ev->count; ++k) {
        const perpi_trajectory* t = &s->e->data.trajectory[s->ev->used[k]];
        for (int32_t r = 0; r < t->rows; ++r) {
            for (int32_t i = 0; i < c->width; ++i) {
                const double x =
                    s->ev->part[k]
                        .residual[(size_t)r * (size_t)s->e->width + c->first_residual + i];
                if (!isnan(x)) {
                    room[count++] = fabs(x);
                    sum += x * x;
                }
            }
            for (int32_t i = 0; i < c->columns; ++i) {
                const double x =
                    fabs(t->value[(size_t)r * (size_t)s->e->columns + c->first_column + i]);
                *largest = x > *largest ? x : *largest;
            }
        }
    }
    if (count == 0) {
        return 1.0;
    }
    if (s->e->loss == PERPI_LOSS_SQUARES) {
        return sqrt(sum / ((double)count * part));
    }
    qsort(room, count, sizeof *room, compare);
    return room[count / 2] / 0.6744897501960817;
}

/* New noise of the channels that have none; returns the largest relative change. */
static perp_status update_noise(perpi_shooting* s, double* change)
{
    const double values = perpi_shooting_count_values(s);
    const double unknowns = s->n + (double)s->ev->m * s->ev->count;
    const double part = values > unknowns ? 1.0 - unknowns / values : 1.0 / values;
    double* room = NULL;
    *change = 0.0;
    PERPI_TRY(perpi_alloc(s->context, (size_t)values + 1, sizeof *room, &room));
    for (int32_t i = 0; i < s->e->channel_count; ++i) {
        const perpi_channel* c = &s->e->channel[i];
        double largest = 0.0;
        if (c->noise_given) {
            continue;
        }
        const double was = s->ev->noise[i];
        double now = was * spread_of(s, c, part, room, &largest);
        now = now > NOISE_LEAST * largest ? now : largest > 0.0 ? NOISE_LEAST * largest : was;
        const double by = fabs(now - was) / was;
        *change = by > *change ? by : *change;
        s->ev->noise[i] = now;
    }
    perpi_free(s->context, room);
    return PERP_OK;
}

/* The information of the parameters: of robust losses that of J'J with the variance of an
 * M-estimate [Huber 1981]. */
static perp_status fill_answer(perpi_shooting* s)
{
    perpi_answer* a = s->answer;
    perpi_evaluator* ev = s->ev;
    double squares = 0.0, slopes = 0.0;
    const double values = perpi_shooting_count_values(s);
    a->degrees = values - s->n - (double)ev->m * ev->count;
    for (int32_t k = 0; k < ev->count; ++k) {
        const int32_t rows = s->e->data.trajectory[ev->used[k]].rows;
        for (int32_t i = 0; i < rows * s->e->width; ++i) {
            double weight, slope;
            const double r = ev->part[k].residual[i];
            if (isnan(r)) {
                continue;
            }
            (void)perpi_loss_of(s->e, r, &weight, &slope);
            squares += weight * r * weight * r;
            slopes += slope;
        }
    }
    double excess = a->degrees > 0.0 ? squares / a->degrees : 1.0;
    const bool exceeds = s->e->loss == PERPI_LOSS_SQUARES && a->degrees > 0.0 &&
                         excess > 1.0 + PERPI_SHOOTING_EXCESS * sqrt(2.0 / a->degrees);
    excess = exceeds ? excess : 1.0;
    if (exceeds) {
        for (int32_t k = 0; k < ev->count; ++k) {
            for (int32_t i = 0; i < s->N * s->N; ++i) {
                ev->part[k].H[i] /= excess;
            }
        }
        if (a->message[0] == '\0') {
            (void)snprintf(a->message, sizeof a->message,
                           "residuals are %.3g times the noise: the intervals are that much wider; "
                           "the scene, the noise or some of the data are not as they should be",
                           sqrt(excess));
        }
    } else if (s->e->loss != PERPI_LOSS_SQUARES) {
        const double mean = slopes / values;
        const double variance = squares / (a->degrees > 1.0 ? a->degrees : 1.0) / (mean * mean);
        for (int32_t k = 0; k < ev->count; ++k) {
            for (int32_t i = 0; i < s->N * s->N; ++i) {
                ev->part[k].H[i] = ev->part[k].raw[i] / variance;
            }
        }
    }
    perpi_shooting_reduce(s, 0.0, a->unreduced);
    memcpy(a->search, ev->parameter, (size_t)s->n * sizeof *a->search);
    for (int32_t k = 0; k < ev->count && ev->m > 0; ++k) {
        memcpy(a->start + (size_t)ev->used[k] * (size_t)ev->m, ev->start + (size_t)k * (size_t)s->m,
               (size_t)ev->m * sizeof *a->start);
    }
    for (int32_t i = 0; i < s->e->channel_count; ++i) {
        a->noise[i] = s->e->channel[i].noise = ev->noise[i];
    }
    a->objective = s->cost;
    a->evaluations = ev->evaluations;
    a->runs = ev->runs;
    a->flagged = ev->flagged;
    a->derivative = ev->derivative;
    PERPI_TRY(perpi_answer_intervals(s->context, s->e, s->A, a));
    return ev->nodes == 0 ? perpi_answer_profile(ev, excess, a) : PERP_OK;
}

static void say_end(perpi_shooting* s)
{
    perpi_answer* a = s->answer;
    double gap = 0.0;
    for (int32_t k = 0; k < s->ev->count; ++k) {
        gap = s->ev->part[k].gap > gap ? s->ev->part[k].gap : gap;
    }
    if (a->converged && gap > NO_GAP) {
        a->converged = false;
        (void)snprintf(a->message, sizeof a->message,
                       "gaps of up to %.3g times the noise are left between segments: use fewer "
                       "segments, or more iterations",
                       gap);
    } else if (!a->converged) {
        (void)snprintf(a->message, sizeof a->message, "%s",
                       a->iterations >= s->e->iterations
                           ? "the iterations are used up"
                           : "no step reduces the residuals: they may jump with the unknowns");
    }
}

static perp_status allocate(perpi_shooting* s)
{
    perp_context* context = s->context;
    const perpi_evaluator* ev = s->ev;
    const size_t n = (size_t)s->n, m = (size_t)s->m, count = (size_t)ev->count;
    PERPI_TRY(perpi_alloc(context, n * n + 1, sizeof(double), &s->A));
    PERPI_TRY(perpi_alloc(context, n + 1, sizeof(double), &s->b));
    PERPI_TRY(perpi_alloc(context, n + count * m + 1, sizeof(double), &s->step));
    PERPI_TRY(perpi_alloc(context, n * n + n + 1, sizeof(double), &s->moved));
    PERPI_TRY(perpi_alloc(context, m * m + 1, sizeof(double), &s->factor));
    PERPI_TRY(perpi_alloc(context, m * (n + 1) + 1, sizeof(double), &s->solved));
    PERPI_TRY(perpi_alloc(context, n + m + 1, sizeof(double), &s->row));
    PERPI_TRY(perpi_alloc(context, n + 1, sizeof(bool), &s->fixed));
    return perpi_shooting_allocate_point(s);
}

static void release(perpi_shooting* s)
{
    perpi_free(s->context, s->A);
    perpi_free(s->context, s->b);
    perpi_free(s->context, s->step);
    perpi_free(s->context, s->moved);
    perpi_free(s->context, s->factor);
    perpi_free(s->context, s->solved);
    perpi_free(s->context, s->row);
    perpi_free(s->context, s->fixed);
    perpi_shooting_free_point(s);
    perpi_evaluator_destroy(s->ev);
}

/* Parameters at their starts, nodes as the data say. */
static perp_status first_point(perpi_shooting* s)
{
    perpi_evaluator* ev = s->ev;
    for (int32_t i = 0; i < s->n; ++i) {
        ev->parameter[i] = s->e->parameter[i].info.start;
    }
    for (int32_t k = 0; k < ev->count; ++k) {
        const perpi_trajectory* t = &s->e->data.trajectory[ev->used[k]];
        for (int32_t j = 0; j < ev->nodes; ++j) {
            const int32_t row = (int32_t)((int64_t)(t->rows - 1) * (j + 1) / (ev->nodes + 1));
            PERPI_TRY(perpi_predictor_nominal(
                s->run->predictor, t, row, ev->parameter,
                ev->node + ((size_t)k * (size_t)ev->nodes + (size_t)j) * ev->bodies));
        }
    }
    return PERP_OK;
}

static perp_status shoot(perpi_shooting* s)
{
    double change = INFINITY;
    PERPI_TRY(allocate(s));
    PERPI_TRY(first_point(s));
    bool estimated = false;
    for (int32_t i = 0; i < s->e->channel_count; ++i) {
        estimated = estimated || !s->e->channel[i].noise_given;
    }
    for (int round = 0; round < NOISE_ROUNDS && change > NOISE_CHANGE; ++round) {
        PERPI_TRY(perpi_shooting_search(s));
        change = 0.0;
        if (estimated) {
            PERPI_TRY(update_noise(s, &change));
        }
    }
    if (estimated) { /* with the last noise */
        PERPI_TRY(perpi_shooting_evaluate(s, true, &s->cost, &s->merit));
    }
    say_end(s);
    return fill_answer(s);
}

perp_status perpi_estimate_shooting(perpi_estimate_run* run, perpi_answer* answer)
{
    perpi_shooting s = {.run = run,
                        .context = run->context,
                        .e = run->e,
                        .answer = answer,
                        .n = run->e->parameter_count,
                        .adaptive = perp_sim_def_from_scene(run->study->scene).error > 0.0};
    perp_status status = perpi_evaluator_create(run, false, &s.ev);
    if (status == PERP_OK) {
        perpi_shooting_use_evaluator(&s, s.ev);
        status = shoot(&s);
    }
    if (s.ev != NULL) {
        release(&s);
    }
    return status;
}
