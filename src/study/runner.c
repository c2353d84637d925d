/* src/study/runner.c - one run of a scene, from its values to its row. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/context.h"
#include "perp/problem.h"
#include "study/design.h"
#include "study/study.h"

/* The part of kinetic energy and weight times size that is added to the magnitude of a step's ledger, as in
 * `perp run`. */
#define LEDGER_REST 1e-4

enum { MESSAGE = 1200 };

struct perp_runner {
    perp_context* context;
    double* measure;
    size_t measure_room;
    char message[MESSAGE];
    char outcome[256];
    double deadline; /* CPU time at which the run ends; infinite: never */
};

/* Seconds of CPU that the run's context has used: of this thread if it has no others, because a program
 * may run several contexts at a time; else of the process. */
static double cpu_seconds(const perp_runner* r)
{
    struct timespec t;
    (void)clock_gettime(perp_context_threads(r->context) == 1 ? CLOCK_THREAD_CPUTIME_ID
                                                              : CLOCK_PROCESS_CPUTIME_ID,
                        &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

const char* perp_run_status_name(perp_run_status status)
{
    static const char* const name[] = {"ok", "failed", "timeout", "crashed"};
    return (unsigned)status < sizeof name / sizeof name[0] ? name[status] : "unknown";
}

perp_run_options perp_run_options_default(void)
{
    return (perp_run_options){.recording = NULL};
}

perp_status perp_runner_create(perp_context* context, perp_runner** runner)
{
    perp_runner* r = NULL;
    const perp_status status = perpi_alloc(context, 1, sizeof *r, &r);
    if (status != PERP_OK) {
        return status;
    }
    r->context = context;
    *runner = r;
    return PERP_OK;
}

void perp_runner_destroy(perp_runner* runner)
{
    if (runner != NULL) {
        perpi_free(runner->context, runner->measure);
        perpi_free(runner->context, runner);
    }
}

static bool past_deadline(void* user)
{
    const perp_runner* r = user;
    return cpu_seconds(r) > r->deadline;
}

static void take_worst(double* worst, double now)
{
    if (!(now <= *worst)) { /* a NaN stays visible */
        *worst = now;
    }
}

/* A step has succeeded: its residual and what its ledger leaves unexplained. */
static void note_step(const perp_sim* sim, perp_run_row* row)
{
    const perp_step_info info = perp_sim_step_info(sim);
    if (isnan(row->certificate)) {
        row->certificate = 0.0;
    }
    take_worst(&row->certificate, info.certificate.worst);
    const double size = fabs(info.ledger.unexplained);
    if (!(size <= row->energy_error * info.ledger.magnitude)) {
        take_worst(&row->energy_error,
                   size / (info.ledger.magnitude + LEDGER_REST * perp_sim_energy_scale(sim)));
    }
}

/* ---- how it ended -----------------------------------------------------------------------------*/

static void set_message(perp_runner* r, perp_run_row* row, perp_run_status status, const char* text)
{
    row->status = status;
    (void)snprintf(r->message, sizeof r->message, "%s", text);
    row->message = r->message;
}

static void note_failure(perp_runner* r, const perp_run_options* options, perp_sim* sim,
                         perp_status status, perp_run_row* row)
{
    if (status == PERP_ERROR_CANCELLED && past_deadline(r)) {
        char text[100];
        (void)snprintf(text, sizeof text, "limit of %.6g seconds of CPU at t = %.9g",
                       options->seconds, perp_sim_time(sim));
        set_message(r, row, PERP_RUN_TIMEOUT, text);
        return;
    }
    set_message(r, row, PERP_RUN_FAILED, perp_context_error(r->context));
    const perp_contact_problem* problem = perp_sim_problem(sim);
    if (status == PERP_ERROR_SOLVE && options->problem != NULL && problem != NULL &&
        perp_contact_write(r->context, problem, options->problem) != PERP_OK) {
        const size_t used = strlen(r->message);
        (void)snprintf(r->message + used, sizeof r->message - used, "; its problem: %s",
                       perp_context_error(r->context));
    }
}

static perp_status take_steps(perp_runner* r, perp_sim* sim, const perp_run_options* options,
                              perp_recorder* recorder, perp_run_row* row)
{
    perp_status status = PERP_OK;
    while (status == PERP_OK && !perp_sim_finished(sim)) {
        if (options->steps > 0 && perp_sim_step_count(sim) >= options->steps) {
            char text[100];
            (void)snprintf(text, sizeof text, "limit of %lld steps at t = %.9g",
                           (long long)options->steps, perp_sim_time(sim));
            set_message(r, row, PERP_RUN_TIMEOUT, text);
            return PERP_OK;
        }
        status = perp_sim_step(sim);
        if (status == PERP_OK) {
            note_step(sim, row);
            if (recorder != NULL) {
                status = perp_recorder_step(recorder, sim, 0.0);
            }
        }
        if (status == PERP_OK && isfinite(r->deadline) && past_deadline(r)) {
            status = PERP_ERROR_CANCELLED; /* a step without a solve is never cancelled inside */
        }
    }
    return status;
}

static perp_status take_measures(perp_runner* r, const perp_sim* sim, perp_run_row* row)
{
    const int32_t count = perp_sim_measure_count(sim);
    const perp_status status =
        perpi_grow(r->context, &r->measure, &r->measure_room, (size_t)count, sizeof *r->measure);
    if (status != PERP_OK) {
        return status;
    }
    for (int32_t i = 0; i < count; ++i) {
        r->measure[i] = perp_sim_measure(sim, i);
    }
    row->measure = r->measure;
    row->measure_count = count;
    (void)snprintf(r->outcome, sizeof r->outcome, "%s", perp_sim_outcome(sim));
    row->outcome = r->outcome;
    return PERP_OK;
}

static void simulate(perp_runner* r, perp_sim* sim, const perp_scene* scene,
                     const perp_run_options* options, perp_run_row* row)
{
    perp_recorder* recorder = NULL;
    perp_status status = options->prepare != NULL ? options->prepare(options->user, sim) : PERP_OK;
    if (status == PERP_OK && options->recording != NULL) {
        status = perp_recorder_create(r->context, options->recording, scene, sim, &recorder);
    }
    if (status == PERP_OK) {
        if (isfinite(r->deadline)) {
            perp_sim_on_cancel(sim, past_deadline, r);
        }
        status = take_steps(r, sim, options, recorder, row);
    }
    if (status != PERP_OK) {
        note_failure(r, options, sim, status, row);
    }
    const char* message = options->finish != NULL ? options->finish(options->user, sim) : NULL;
    if (status != PERP_OK && row->status == PERP_RUN_FAILED && message != NULL) {
        set_message(r, row, PERP_RUN_FAILED, message);
    }
    if (recorder != NULL) {
        if (row->message[0] != '\0') {
            perp_recorder_note(recorder, row->message);
        }
        status = perp_recorder_finish(recorder, sim);
        perp_recorder_destroy(recorder);
        if (status != PERP_OK && row->status == PERP_RUN_OK) {
            set_message(r, row, PERP_RUN_FAILED, perp_context_error(r->context));
        }
    }
    row->steps = perp_sim_step_count(sim) - perp_sim_impact_count(sim);
    if (row->status == PERP_RUN_OK) {
        status = take_measures(r, sim, row);
        if (status != PERP_OK) {
            set_message(r, row, PERP_RUN_FAILED, perp_context_error(r->context));
        }
    }
}

perp_status perp_runner_run(perp_runner* runner, perp_scene* scene, const perp_run_options* options,
                            perp_run_row* row)
{
    const double begin = cpu_seconds(runner);
    const perp_run_options defaults = perp_run_options_default();
    options = options != NULL ? options : &defaults;
    perp_run_row done = *row;
    done.status = PERP_RUN_OK;
    done.outcome = done.message = "";
    done.measure = NULL;
    done.measure_count = 0;
    done.steps = 0;
    done.certificate = NAN;
    done.energy_error = NAN;
    runner->deadline = options->seconds > 0.0 ? begin + options->seconds : INFINITY;
    perp_sim* sim = NULL;
    perp_status status = perp_scene_rebuild(scene);
    if (status == PERP_OK) {
        status = perp_sim_create_from_scene(runner->context, scene, &sim);
    }
    if (status == PERP_OK) {
        done.energy_error = 0.0;
        simulate(runner, sim, scene, options, &done);
    } else {
        set_message(runner, &done, PERP_RUN_FAILED, perp_context_error(runner->context));
    }
    perp_sim_destroy(sim);
    done.seconds = cpu_seconds(runner) - begin;
    *row = done;
    return PERP_OK;
}

perp_status perp_study_run(perp_study* study, perp_runner* runner, int64_t id,
                           const perp_run_options* options, perp_run_row* row)
{
    const int64_t count = perp_study_run_count(study);
    if (id < 1 || id > count) {
        return perpi_fail(study->context, PERP_ERROR_INPUT, "run %lld: ids go from 1 to %lld",
                          (long long)id, (long long)count);
    }
    perp_run_options o = options != NULL ? *options : perp_run_options_default();
    /* a run with half the step takes twice the steps */
    const double factor = study->design != NULL ? perpi_design_step_factor(study, id) : 1.0;
    o.seconds = o.seconds > 0.0 ? o.seconds : study->limit_seconds / factor;
    o.steps = o.steps > 0 ? o.steps : (int64_t)((double)study->limit_steps / factor);
    *row = (perp_run_row){.id = id, .recording = "", .outcome = "", .message = ""};
    const perp_status status = perpi_study_set(study, id);
    if (status != PERP_OK) {
        set_message(runner, row, PERP_RUN_FAILED, perp_context_error(study->context));
        row->certificate = row->energy_error = NAN;
        return PERP_OK;
    }
    return perp_runner_run(runner, study->scene, &o, row);
}
