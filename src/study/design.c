/* src/study/design.c - a design from its study to its database: perp_design_run. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "study/design_run.h"

perp_design_def perp_design_def_default(void)
{
    return (perp_design_def){.struct_size = sizeof(perp_design_def)};
}

bool perp_design_has_nlopt(void)
{
    return perpi_nlopt_available();
}

const char* perp_design_end_name(perp_design_end end)
{
    static const char* const name[] = {"converged", "evaluations", "flat", "no-value",
                                       "interrupted"};
    return (unsigned)end < sizeof name / sizeof name[0] ? name[end] : "unknown";
}

const double* perp_design_candidate(const perp_study* study, int64_t evaluation)
{
    return study->design != NULL ? perpi_design_candidate(study, evaluation) : NULL;
}

static perp_status set_candidate(const perp_study* study, int64_t run, perp_scene* scene)
{
    for (int32_t i = 0; i < study->vary_count; ++i) {
        if (study->vary[i].random != PERPI_VARY_SET) {
            continue;
        }
        const char* name = study->vary[i].info.name;
        const perp_vary_value value = perp_study_value(study, run, i);
        PERPI_TRY(value.text != NULL ? perp_scene_set_string(scene, name, value.text)
                                     : perp_scene_set_number(scene, name, value.number));
    }
    return perp_scene_rebuild(scene);
}

perp_status perp_design_scene(perp_study* study, int64_t evaluation, int32_t design_case,
                              perp_scene** scene)
{
    if (perp_design_candidate(study, evaluation) == NULL || design_case < 0 ||
        design_case >= study->design->case_count) {
        return perpi_fail(study->context, PERP_ERROR_INPUT,
                          "evaluation %lld, case %d: there is no such one", (long long)evaluation,
                          (int)design_case);
    }
    perp_scene* made = NULL;
    PERPI_TRY(perpi_study_scene(study, &made));
    const int64_t run =
        (evaluation - 1) * perpi_design_runs(study) + design_case * study->run_count + 1;
    const perp_status status = set_candidate(study, run, made);
    if (status != PERP_OK) {
        perp_scene_destroy(made);
        return status;
    }
    *scene = made;
    return PERP_OK;
}

/* ---- beginning --------------------------------------------------------------------------------*/

static perp_status check_def(perp_context* context, const perp_study* study,
                             const perp_design_def* def)
{
    PERPI_TRY(
        perpi_check_struct(context, "perp_design_def", def->struct_size, sizeof(perp_design_def)));
    if (def->out == NULL || def->out[0] == '\0') {
        return perpi_fail(context, PERP_ERROR_INPUT, "out: the database needs a name");
    }
    if (study->estimate != NULL) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "%s: /observe: an estimate: 'perp estimate' runs it", study->origin);
    }
    if (study->design == NULL) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "%s: has no /unknown: 'perp sweep' runs it, a design needs unknown and "
                          "minimise",
                          study->origin);
    }
    return PERP_OK;
}

/* The folder of the database, "" for the present one. */
static void folder_of(const char* path, char* folder, size_t size)
{
    const char* slash = strrchr(path, '/');
    const int length = slash == NULL ? 0 : slash > path ? (int)(slash - path) : 1;
    (void)snprintf(folder, size, "%.*s", length, path);
}

static int32_t worker_count(const perpi_design_state* e)
{
    const perpi_design* d = e->d;
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    const int64_t asked = e->def->jobs > 0 ? e->def->jobs : processors > 0 ? processors : 1;
    const bool many = d->method == PERP_DESIGN_CMA_ES || d->method == PERP_DESIGN_GRADIENT;
    const int64_t population = !many               ? 1
                               : d->population > 0 ? d->population
                                                   : perpi_cma_population(d->unknown_count);
    const int64_t runs = population * (d->starts > 1 ? d->starts : 1) * perpi_design_runs(e->study);
    return (int32_t)(asked < runs ? asked : runs); /* no more than runs at a time */
}

static perp_status begin_design(perpi_design_state* e)
{
    const perp_design_def* def = e->def;
    if (e->d->method == PERP_DESIGN_GRADIENT) {
        PERPI_TRY(perpi_design_check_gradient(e->study, def->user_code));
    }
    PERPI_TRY(
        perpi_writer_open(e->context, e->study, def->out, def->user_code, def->resume, &e->writer));
    if (def->resume) {
        int64_t there = 0;
        PERPI_TRY(perpi_writer_evaluations(e->writer, &there));
        if (there > e->d->evaluations) {
            return perpi_fail(e->context, PERP_ERROR_INPUT,
                              "%s: /stop/evaluations: %s has %lld already, more than %lld",
                              e->study->origin, def->out, (long long)there,
                              (long long)e->d->evaluations);
        }
    }
    folder_of(def->out, e->folder, sizeof e->folder);
    e->report.jobs = worker_count(e);
    e->report.limit = e->d->evaluations;
    e->report.starts = e->d->starts;
    e->report.best_constraint = -1;
    e->report.start_value = e->report.best_value = e->report.half_value = NAN;
    e->report.start_violation = e->report.best_violation = e->report.half_violation = NAN;
    e->worst = NAN;
    return PERP_OK;
}

/* ---- end --------------------------------------------------------------------------------------*/

/* A design that depends on the step of its simulation is none: the best candidate once more with half of it. */
static void repeat_at_half_step(perpi_design_state* e)
{
    double x[PERPI_DESIGN_UNKNOWNS];
    int64_t index;
    memcpy(x, perpi_design_candidate(e->study, e->report.best),
           (size_t)e->d->unknown_count * sizeof *x);
    e->report.start = e->point[e->report.best - 1].start;
    (void)perpi_design_evaluate(e, 1, x, 0.5, &index);
    if (e->stopped) {
        e->report.end = PERP_DESIGN_INTERRUPTED;
    }
}

static void free_state(perpi_design_state* e)
{
    perpi_design_end_pool(e);
    perpi_writer_close(e->writer);
    perpi_free(e->context, e->point);
    perpi_free(e->context, e->constraint);
    perpi_free(e->context, e->cost);
    perpi_free(e->context, e->margin);
    perpi_free(e->context, e->run_seconds);
    perpi_free(e->context, e->run_done);
    perpi_free(e->context, e->message);
    perpi_free(e->context, e->message_run);
    perpi_free(e->context, e->fresh);
    perpi_free(e->context, e->slope);
    perpi_free(e->context, e->run_slope);
    perpi_free(e->context, e->run_flagged);
}

static double now_seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

perp_status perp_design_run(perp_context* context, perp_study* study, const perp_design_def* def,
                            perp_design_report* report)
{
    PERPI_TRY(check_def(context, study, def));
    perpi_design_state* e = NULL;
    PERPI_TRY(perpi_alloc(context, 1, sizeof *e, &e));
    e->context = context;
    e->study = study;
    e->d = study->design;
    e->d->candidate_count = 0;
    e->def = def;
    e->begun = now_seconds();
    perp_status status = begin_design(e);
    if (status == PERP_OK) {
        perpi_design_search(e);
        if (e->status == PERP_OK && e->report.best > 0 && !e->stopped) {
            repeat_at_half_step(e);
        }
        status = e->status;
        const perp_status written = perpi_writer_commit(e->writer, 0.0); /* also before a failure */
        status = status == PERP_OK ? written : status;
        e->report.evaluations = e->count;
        e->report.seconds = now_seconds() - e->begun;
        *report = e->report;
        if (status == PERP_OK && def->progress != NULL) {
            (void)def->progress(def->user, report);
        }
    }
    free_state(e);
    perpi_free(context, e);
    return status;
}
