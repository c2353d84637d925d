/* src/study/estimate_mpec.c - the method mpec of an estimate: mpec.h for a study.
 *
 * Source     [B09 (7.6)-(7.9)]
 * Departure  the objective is weighted by the noise of each channel; bounds of the noise (7.13) are not used, because they can
 *            exclude the true trajectory (docs/notation.md); the answer is checked by a simulation, whose derivatives
 *            give the intervals
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "perp/set.h"
#include "study/estimate_evaluate.h"
#include "study/mpec_run.h"

/* Standard deviations by which a simulation may differ from the trajectory that was found. */
static const double SAME_MOTION = 1e-3;

/* Unless the study says otherwise: the most that table 7.1 prints [B09]. */
enum { ITERATIONS = 443 };

typedef struct program {
    perpi_estimate_run* run;
    perpi_answer* answer;
    perpi_mpec* m;
    perpi_mpec_report report;
    double* parameter;
} program;

static perp_status model_at(void* user, const double* parameter, const perp_model** model)
{
    program* p = user;
    perp_scene* scene = NULL;
    PERPI_TRY(perpi_predictor_scene(p->run->predictor, parameter, &scene));
    *model = perp_scene_model(scene);
    return PERP_OK;
}

static bool show_progress(void* user, int64_t iteration, double objective)
{
    program* p = user;
    return p->run->progress != NULL && p->run->progress(p->run, iteration, objective);
}

/* ---- what is refused -----------------------------------------------------------------------------------*/

/* A start that depends on a parameter would have to be an equation of its own. */
static perp_status check_start(program* p, const perpi_trajectory* t)
{
    const perpi_estimate* e = p->run->e;
    const size_t bodies = (size_t)perpi_predictor_bodies(p->run->predictor);
    const bool planar = perpi_predictor_planar(p->run->predictor);
    perp_body_state* state = NULL;
    PERPI_TRY(perpi_alloc(p->run->context, 2 * bodies, sizeof *state, &state));
    perp_status status = perpi_predictor_nominal(p->run->predictor, t, 0, p->parameter, state);
    for (int32_t i = 0; status == PERP_OK && i < e->parameter_count; ++i) {
        const perp_unknown* u = &e->parameter[i].info;
        const double was = p->parameter[i];
        double by = 0.01 * (u->scale > 0.0 ? u->scale : 1.0);
        by = was + by <= u->high ? by : -by;
        if (e->parameter_count > 20 && i > 0) { /* all at once: many parameters, many scenes */
            continue;
        }
        for (int32_t k = i; k < (e->parameter_count > 20 ? e->parameter_count : i + 1); ++k) {
            const double step = p->parameter[k] + by <= e->parameter[k].info.high ? by : -by;
            p->parameter[k] += step;
        }
        status = perpi_predictor_nominal(p->run->predictor, t, 0, p->parameter, state + bodies);
        for (int32_t k = 0; k < e->parameter_count; ++k) {
            p->parameter[k] = k == i ? was : e->parameter[k].info.start;
        }
        for (size_t b = 0; status == PERP_OK && b < bodies; ++b) {
            double off[PERPI_START_COORDINATES];
            bool same = true;
            perpi_state_difference(&state[b], &state[bodies + b], planar, off);
            for (int k = 0; k < PERPI_START_COORDINATES; ++k) {
                same = same && fabs(off[k]) <= 1e-12;
            }
            if (!same) {
                status = perpi_fail(p->run->context, PERP_ERROR_UNSUPPORTED,
                                    "method 'mpec': the start of a body depends on parameter "
                                    "'%s'; make the start an unknown (\"initial\"), or use "
                                    "'shooting'",
                                    u->name);
            }
        }
    }
    perpi_free(p->run->context, state);
    return status;
}

/* ---- the program ---------------------------------------------------------------------------------------*/

static perp_status create_program(program* p)
{
    perpi_estimate_run* run = p->run;
    const perpi_estimate* e = run->e;
    perpi_mpec_parameter* parameter = NULL;
    perp_sim* sim = NULL;
    PERPI_TRY(
        perpi_alloc(run->context, (size_t)e->parameter_count + 1, sizeof *parameter, &parameter));
    for (int32_t i = 0; i < e->parameter_count; ++i) {
        const perpi_parameter* x = &e->parameter[i];
        parameter[i] = (perpi_mpec_parameter){.start = x->info.start,
                                              .low = x->info.low,
                                              .high = x->info.high,
                                              .prior = x->prior,
                                              .of_scene = x->kind != PERPI_PARAMETER_SENSOR};
    }
    const perpi_mpec_model of = {model_at, p};
    perp_status status = perpi_predictor_sim(run->predictor, p->parameter, 0.0, &sim);
    if (status == PERP_OK) {
        status = perpi_mpec_create(run->context, sim, of, parameter, e->parameter_count,
                                   perpi_mpec_speed(e, sim), &p->m);
    }
    perpi_free(run->context, parameter);
    int32_t used = 0;
    for (int32_t i = 0; status == PERP_OK && i < e->data.count; ++i) {
        if (!e->data.trajectory[i].held_out) {
            used += 1;
            status = perpi_mpec_add(run, p->m, sim, &e->data.trajectory[i], p->parameter);
        }
    }
    if (status == PERP_OK && used == 0) {
        status = perpi_fail(run->context, PERP_ERROR_INPUT, "all trajectories are held out");
    }
    return status == PERP_OK ? perpi_mpec_build(p->m) : status;
}

/* ---- noise that is not given -----------------------------------------------------------------------------*/

enum { NOISE_ROUNDS = 10 };
static const double NOISE_CHANGE = 1e-3;

/* The standard deviation of the residuals of each channel that has none; whether one changed. */
static bool update_noise(program* p)
{
    perpi_estimate* e = p->run->e;
    const perpi_mpec* m = p->m;
    bool changed = false;
    double free = e->parameter_count;
    for (size_t i = 0; i < m->start_count; ++i) {
        free += m->start[i].free ? 1.0 : 0.0;
    }
    const double all = (double)m->observation_count;
    const double part = all > free ? 1.0 - free / all : 1.0 / all;
    for (int32_t c = 0; c < e->channel_count; ++c) {
        double sum = 0.0, count = 0.0;
        for (size_t k = 0; k < m->trajectory_count && !e->channel[c].noise_given; ++k) {
            const perpi_mpec_trajectory* t = &m->trajectory[k];
            for (int32_t i = 0; i < t->observation_count; ++i) {
                const perpi_mpec_observation* o = &m->observation[t->observation + (size_t)i];
                const double r = o->channel == c ? perpi_mpec_residual(m, t, o, m->z) : 0.0;
                sum += r * r;
                count += o->channel == c ? 1.0 : 0.0;
            }
        }
        const double factor = count > 0.0 ? sqrt(sum / (count * part)) : 1.0;
        if (count > 0.0 && factor > 0.0) {
            changed = changed || fabs(factor - 1.0) > NOISE_CHANGE;
            e->channel[c].noise *= factor;
            for (size_t i = 0; i < m->observation_count; ++i) {
                if (m->observation[i].channel == c) {
                    m->observation[i].noise *= factor;
                }
            }
        }
    }
    return changed;
}

static perp_status solve_program(program* p)
{
    const json_t* stop = json_object_get(p->run->study->root, "stop");
    const bool given = json_object_get(stop, "iterations") != NULL;
    perpi_mpec_options options = {.iterations = given ? p->run->e->iterations : ITERATIONS,
                                  .progress = show_progress,
                                  .user = p};
    bool estimated = false;
    for (int32_t i = 0; i < p->run->e->channel_count; ++i) {
        estimated = estimated || !p->run->e->channel[i].noise_given;
    }
    for (int round = 0; round < NOISE_ROUNDS; ++round) {
        const int64_t before = p->report.iterations;
        const int32_t rounds = p->report.rounds;
        PERPI_TRY(perpi_mpec_solve(p->m, &options, &p->report));
        p->report.iterations += before;
        p->report.rounds += rounds;
        if (p->report.cancelled) {
            return perpi_fail(p->run->context, PERP_ERROR_CANCELLED, "interrupted");
        }
        if (!p->report.solved || !estimated || !update_noise(p)) {
            break;
        }
        options.again = true;
    }
    return PERP_OK;
}

/* ---- the answer ------------------------------------------------------------------------------------------*/

static void read_point(const program* p, perpi_evaluator* ev)
{
    const perpi_mpec* m = p->m;
    const perpi_estimate* e = p->run->e;
    memcpy(ev->parameter, m->z, (size_t)ev->n * sizeof *ev->parameter);
    for (int32_t k = 0; k < ev->count; ++k) {
        const perpi_mpec_trajectory* t = &m->trajectory[k];
        for (int32_t i = 0; i < ev->m; ++i) {
            const perpi_start* s = &e->start[i];
            const int32_t c = s->coordinate % 6;
            const int32_t dof = m->dimension == 3 ? c : c < 2 ? c : c == 5 ? 2 : -1;
            const int32_t place = perpi_mpec_place(m, s->body, dof, s->coordinate >= 6);
            double x = 0.0;
            if (place >= 0) {
                const int32_t stride = m->dimension == 2 ? 3 : 6;
                const double v = m->reference_v[t->reference_v + (size_t)(stride * s->body + dof)];
                x = m->z[t->x + place] - (s->coordinate >= 6 ? v : 0.0);
            }
            ev->start[(size_t)k * (size_t)ev->m + (size_t)i] = x;
        }
    }
}

/* A += the information of one trajectory without its start coordinates; room: m x (m + n). False: a
 * start that is not determined at all. */
static bool add_information(const perpi_evaluator* ev, const perpi_part* part, double* A,
                            double* diagonal, double* room)
{
    const int32_t n = ev->n, m = ev->m, N = ev->N;
    double *L = room, *X = room + (size_t)m * (size_t)m;
    bool whole = true;
    for (int32_t i = 0; i < n; ++i) {
        diagonal[i] += part->H[i * N + i];
        for (int32_t j = 0; j <= i; ++j) {
            A[i * n + j] += part->H[i * N + j];
        }
    }
    for (int32_t i = 0; i < m; ++i) {
        const double prior = ev->e->start[i].prior;
        for (int32_t j = 0; j <= i; ++j) {
            L[i * m + j] = part->H[(n + i) * N + n + j] +
                           (i == j && prior > 0.0 ? 1.0 / (prior * prior) : 0.0);
        }
        for (int32_t j = 0; j < n; ++j) {
            X[i * n + j] = part->H[(n + i) * N + j];
        }
    }
    for (int32_t i = 0; i < m; ++i) { /* Cholesky; X <- L^-1 X */
        for (int32_t j = 0; j <= i; ++j) {
            double sum = L[i * m + j];
            for (int32_t k = 0; k < j; ++k) {
                sum -= L[i * m + k] * L[j * m + k];
            }
            const double least = 1e-14 * fabs(part->H[(n + i) * N + n + i]);
            L[i * m + j] = i != j        ? (L[j * m + j] > 0.0 ? sum / L[j * m + j] : 0.0)
                           : sum > least ? sqrt(sum)
                                         : 0.0;
        }
        whole = whole && L[i * m + i] > 0.0;
        for (int32_t j = 0; j < n; ++j) {
            double sum = X[i * n + j];
            for (int32_t k = 0; k < i; ++k) {
                sum -= L[i * m + k] * X[k * n + j];
            }
            X[i * n + j] = L[i * m + i] > 0.0 ? sum / L[i * m + i] : 0.0;
        }
        for (int32_t a = 0; a < n; ++a) {
            for (int32_t b = 0; b <= a; ++b) {
                A[a * n + b] -= X[i * n + a] * X[i * n + b];
            }
        }
    }
    return whole;
}

static perp_status find_intervals(program* p, perpi_evaluator* ev)
{
    const int32_t n = ev->n, m = ev->m;
    perpi_answer* a = p->answer;
    double* A = NULL;
    const size_t room = (size_t)m * (size_t)(m + n);
    PERPI_TRY(perpi_alloc(p->run->context, (size_t)n * (size_t)n + room + 1, sizeof *A, &A));
    for (int32_t i = 0; i < n; ++i) {
        const double prior = p->run->e->parameter[i].prior;
        A[i * n + i] = prior > 0.0 ? 1.0 / (prior * prior) : 0.0;
        a->unreduced[i] = A[i * n + i];
    }
    for (int32_t k = 0; k < ev->count; ++k) {
        (void)add_information(ev, &ev->part[k], A, a->unreduced, A + (size_t)n * (size_t)n);
    }
    for (int32_t i = 0; i < n; ++i) {
        for (int32_t j = 0; j < i; ++j) {
            A[j * n + i] = A[i * n + j];
        }
    }
    const perp_status status = perpi_answer_intervals(p->run->context, p->run->e, A, a);
    perpi_free(p->run->context, A);
    return status;
}

/* The simulation with what was found: the largest difference of a residual from the program's, in
 * standard deviations. */
static double compare_simulation(const program* p, const perpi_evaluator* ev, double* values)
{
    const perpi_mpec* m = p->m;
    double worst = 0.0, squares = 0.0, own = 0.0;
    *values = 0.0;
    for (int32_t k = 0; k < ev->count; ++k) {
        const int32_t rows = p->run->e->data.trajectory[ev->used[k]].rows;
        const perpi_mpec_trajectory* t = &m->trajectory[k];
        for (int32_t i = 0; i < rows * p->run->e->width; ++i) {
            const double r = ev->part[k].residual[i];
            squares += isnan(r) ? 0.0 : r * r;
            *values += isnan(r) ? 0.0 : 1.0;
        }
        for (int32_t i = 0; i < t->observation_count; ++i) {
            const perpi_mpec_observation* o = &m->observation[t->observation + (size_t)i];
            const double r = perpi_mpec_residual(m, t, o, m->z);
            own += r * r;
        }
        worst = ev->part[k].failed ? INFINITY : worst;
    }
    const double off = fabs(squares - own) / (sqrt(squares) + sqrt(own) + 1e-300);
    return worst > off ? worst : off;
}

static perp_status fill_answer(program* p)
{
    perpi_estimate* e = p->run->e;
    perpi_answer* a = p->answer;
    perpi_evaluator* ev = NULL;
    double values;
    PERPI_TRY(perpi_evaluator_create(p->run, false, &ev));
    read_point(p, ev);
    for (int32_t i = 0; i < e->channel_count; ++i) {
        a->noise[i] = ev->noise[i] = e->channel[i].noise;
    }
    perp_status status = perpi_evaluator_run(ev, true);
    if (status == PERP_OK) {
        const double off = compare_simulation(p, ev, &values);
        a->degrees = values - ev->n - (double)ev->m * ev->count;
        memcpy(a->search, ev->parameter, (size_t)ev->n * sizeof *a->search);
        for (int32_t k = 0; k < ev->count && ev->m > 0; ++k) {
            memcpy(a->start + (size_t)ev->used[k] * (size_t)ev->m,
                   ev->start + (size_t)k * (size_t)ev->m, (size_t)ev->m * sizeof *a->start);
        }
        a->objective = p->report.objective;
        a->iterations = p->report.iterations;
        a->evaluations = ev->evaluations + p->m->evaluations;
        a->runs = ev->runs;
        a->flagged = ev->flagged;
        a->derivative = ev->derivative;
        a->converged = p->report.solved;
        a->more = json_pack("{s:{s:i,s:i,s:i,s:I,s:f,s:f,s:f}}", "mpec", "unknowns", (int)p->m->n,
                            "equations", (int)p->m->m, "rounds", (int)p->report.rounds,
                            "iterations", (json_int_t)p->report.iterations, "infeasibility",
                            p->report.infeasibility, "complementarity", p->report.complementarity,
                            "simulation_difference", isfinite(off) ? off : -1.0);
        status = find_intervals(p, ev);
        status = status == PERP_OK ? perpi_answer_profile(ev, 1.0, a) : status;
        if (!p->report.solved) {
            (void)snprintf(a->message, sizeof a->message, "%s", p->report.message);
        } else if (!(off <= SAME_MOTION)) {
            a->converged = false;
            (void)snprintf(
                a->message, sizeof a->message,
                "a simulation with the answer differs from the trajectory found by "
                "%.3g standard deviations: contacts differ from those near the data, the "
                "start overlaps, or bodies roll; use 'shooting' from this answer",
                off);
        }
    }
    perpi_evaluator_destroy(ev);
    return status;
}

perp_status perpi_estimate_mpec(perpi_estimate_run* run, perpi_answer* answer)
{
    program p = {.run = run, .answer = answer};
    const perpi_estimate* e = run->e;
    if (!perpi_mpec_available()) {
        return perpi_fail(
            run->context, PERP_ERROR_UNSUPPORTED,
            "method 'mpec' needs Ipopt, which is not installed, or was not when this perp was "
            "built: "
            "install it (Debian and Ubuntu: coinor-libipopt-dev) and build again, or use "
            "'shooting'");
    }
    PERPI_TRY(perpi_mpec_check(run));
    PERPI_TRY(perpi_alloc(run->context, (size_t)e->parameter_count + 1, sizeof *p.parameter,
                          &p.parameter));
    for (int32_t i = 0; i < e->parameter_count; ++i) {
        p.parameter[i] = e->parameter[i].info.start;
    }
    perp_status status = e->data.count > 0 ? check_start(&p, &e->data.trajectory[0]) : PERP_OK;
    status = status == PERP_OK ? create_program(&p) : status;
    status = status == PERP_OK ? solve_program(&p) : status;
    status = status == PERP_OK ? fill_answer(&p) : status;
    perpi_mpec_destroy(p.m);
    perpi_free(run->context, p.parameter);
    return status;
}
