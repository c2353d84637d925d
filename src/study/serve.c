/* src/study/serve.c - the loop of a worker: read a run's id, run it, write its row. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "study/design.h"
#include "study/pool.h"
#include "study/study.h"

typedef struct worker_state {
    perp_study* study;
    perp_runner* runner;
    const char* folder;
    perp_run_options options;
    int out;
    char* buffer;
    size_t room;
    char* gradient; /* of the last run; by malloc */
} worker_state;

/* False: the other end is closed. */
static bool read_exactly(int fd, void* data, size_t size)
{
    char* at = data;
    while (size > 0) {
        const ssize_t n = read(fd, at, size);
        if (n > 0) {
            at += n;
            size -= (size_t)n;
        } else if (n == 0 || errno != EINTR) {
            return false;
        }
    }
    return true;
}

static bool write_exactly(int fd, const void* data, size_t size)
{
    const char* at = data;
    while (size > 0) {
        const ssize_t n = write(fd, at, size);
        if (n > 0) {
            at += n;
            size -= (size_t)n;
        } else if (n < 0 && errno != EINTR) {
            return false;
        }
    }
    return true;
}

/* Beyond the limit, and some time to end the step: SIGPROF ends the process, whatever code it is in. */
static void set_alarm(double limit)
{
    struct itimerval timer = {.it_interval = {0}};
    if (limit > 0.0) {
        const double seconds = PERPI_ALARM_FACTOR * limit + PERPI_ALARM_EXTRA;
        timer.it_value.tv_sec = (time_t)seconds;
        timer.it_value.tv_usec = (suseconds_t)(1e6 * (seconds - (double)timer.it_value.tv_sec));
    }
    (void)setitimer(ITIMER_PROF, &timer, NULL);
}

static void path_of(const worker_state* w, int64_t id, const char* suffix, char* path, size_t size)
{
    char name[256];
    perpi_study_file(w->study, id, suffix, name, sizeof name);
    (void)snprintf(path, size, "%s%s%s", w->folder, w->folder[0] != '\0' ? "/" : "", name);
}

/* The run, with its files: of a run that fails by running it once more, which gives the same bits. */
static perp_status run_with_files(worker_state* w, int64_t id, perp_run_row* row)
{
    char recording[4096], problem[4096], folder[4096];
    const perp_study_keep keep = w->study->keep;
    perp_run_options options = w->options;
    perp_status status = PERP_OK;
    if (keep != PERP_KEEP_ALL) {
        status = perp_study_run(w->study, w->runner, id, &options, row);
        if (status != PERP_OK || keep == PERP_KEEP_NONE || row->status != PERP_RUN_FAILED ||
            isnan(row->energy_error)) { /* there was no simulation */
            return status;
        }
    }
    path_of(w, 0, "", folder, sizeof folder);
    path_of(w, id, ".h5", recording, sizeof recording);
    path_of(w, id, ".problem.json", problem, sizeof problem);
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        return status; /* the row says what is most important */
    }
    options.recording = recording;
    options.problem = problem;
    return perp_study_run(w->study, w->runner, id, &options, row);
}

/* Names of the files that are there, relative to the folder: the same in every copy of the study. */
static void name_files(worker_state* w, int64_t id, perp_run_row* row, char* name, size_t size,
                       char* message, size_t message_size)
{
    char path[4096];
    path_of(w, id, ".h5", path, sizeof path);
    if (w->study->keep != PERP_KEEP_NONE && access(path, F_OK) == 0) {
        perpi_study_file(w->study, id, ".h5", name, size);
        row->recording = name;
    }
    path_of(w, id, ".problem.json", path, sizeof path);
    if (row->status == PERP_RUN_FAILED && w->study->keep != PERP_KEEP_NONE &&
        access(path, F_OK) == 0) {
        char file[256];
        perpi_study_file(w->study, id, ".problem.json", file, sizeof file);
        (void)snprintf(message, message_size, "%s; problem: %s", row->message, file);
        row->message = message;
    }
}

static double cpu_seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Adds the gradient to the row of a run that has a value. */
static perp_status differentiate(worker_state* w, perp_run_row* row)
{
    const double begin = cpu_seconds();
    free(w->gradient);
    w->gradient = perpi_design_differentiate(w->study);
    row->gradient = w->gradient;
    row->seconds += cpu_seconds() - begin;
    return w->gradient != NULL ? PERP_OK
                               : perpi_fail(w->study->context, PERP_ERROR_MEMORY, "out of memory");
}

static perp_status answer(worker_state* w, int64_t id)
{
    perp_run_row row;
    char name[256], message[2048];
    const double factor = w->study->design != NULL ? perpi_design_step_factor(w->study, id) : 1.0;
    set_alarm(w->study->limit_seconds / factor);
    perp_status status = run_with_files(w, id, &row);
    set_alarm(0.0);
    if (status != PERP_OK) {
        return status;
    }
    if (w->study->design != NULL && w->study->design->differentiate && factor == 1.0 &&
        row.status == PERP_RUN_OK) {
        status = differentiate(w, &row);
        if (status != PERP_OK) {
            return status;
        }
    }
    if (w->study->keep == PERP_KEEP_ALL || row.status == PERP_RUN_FAILED) {
        name_files(w, id, &row, name, sizeof name, message, sizeof message);
    }
    const size_t need = perp_run_row_pack(&row, w->buffer, w->room);
    if (need > w->room) {
        status = perpi_grow(w->study->context, &w->buffer, &w->room, need, 1);
        if (status != PERP_OK) {
            return status;
        }
        (void)perp_run_row_pack(&row, w->buffer, w->room);
    }
    return write_exactly(w->out, w->buffer, need)
               ? PERP_OK
               : perpi_fail(w->study->context, PERP_ERROR_IO, "the other end has closed");
}

/* False: there are no more. */
static bool read_request(perp_study* study, int in, int64_t* id, perp_status* status)
{
    double candidate[PERPI_DESIGN_UNKNOWNS + 1];
    if (!read_exactly(in, id, sizeof *id)) {
        return false;
    }
    if (study->design == NULL) {
        return true;
    }
    const size_t count = (size_t)study->design->unknown_count + 1;
    if (!read_exactly(in, candidate, count * sizeof *candidate)) {
        return false;
    }
    *status = perpi_design_put(study, (*id - 1) / perpi_design_runs(study) + 1, candidate);
    return *status == PERP_OK;
}

perp_status perp_study_serve(perp_study* study, int in, int out, const char* folder,
                             const perp_run_options* options)
{
    worker_state w = {
        .study = study,
        .folder = folder != NULL ? folder : "",
        .options = options != NULL ? *options : perp_run_options_default(),
        .out = out,
    };
    const struct rlimit no_core = {0, 0};
    /* workers share the processors: libraries that a plugin brings must not start threads of their own */
    (void)setenv("OMP_NUM_THREADS", "1", 0);
    (void)setenv("OPENBLAS_NUM_THREADS", "1", 0);
    (void)setrlimit(RLIMIT_CORE, &no_core); /* a crash is a row, not a file of gigabytes */
    perp_status status = perp_context_set_threads(study->context, 1); /* there are many workers */
    if (status == PERP_OK) {
        status = perp_runner_create(study->context, &w.runner);
    }
    int64_t id;
    while (status == PERP_OK && read_request(study, in, &id, &status)) {
        status = answer(&w, id);
    }
    perp_runner_destroy(w.runner);
    free(w.gradient);
    perpi_free(study->context, w.buffer);
    return status;
}
