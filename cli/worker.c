/* cli/worker.c - `perp worker`: runs of a scene for another program, one JSON object a line. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "sweep.h"

typedef struct worker {
    const cli_args* args;
    perp_context* context;
    const char* path;
    perp_scene* scene;
    perp_study* study; /* with --study */
    perp_runner* runner;
    perp_run_options options;
    json_t* set; /* names that were set in the scene */
} worker;

static json_t* bad_line(const char* message)
{
    json_t* object = json_pack("{s:s}", "status", "bad-input");
    json_object_set_new(object, "message", cli_text(message));
    return object;
}

static json_t* row_json(const worker* w, const perp_run_row* row)
{
    const perp_sim_def def =
        perp_sim_def_from_scene(w->study != NULL ? perp_study_scene(w->study) : w->scene);
    json_t *object = json_object(), *measures = json_object();
    json_object_set_new(object, "status", json_string(perp_run_status_name(row->status)));
    json_object_set_new(object, "outcome", cli_text(row->outcome));
    for (int32_t i = 0; i < row->measure_count; ++i) {
        json_object_set_new(measures, def.measure[i].name, cli_number(row->measure[i]));
    }
    json_object_set_new(object, "measures", measures);
    json_object_set_new(object, "certificate", cli_number(row->certificate));
    json_object_set_new(object, "energy_error", cli_number(row->energy_error));
    json_object_set_new(object, "steps", json_integer(row->steps));
    json_object_set_new(object, "seconds", cli_number(row->seconds));
    if (row->message[0] != '\0') {
        json_object_set_new(object, "message", cli_text(row->message));
    }
    return object;
}

/* ---- values of a line -------------------------------------------------------------------------*/

static perp_status load(worker* w)
{
    perp_scene_destroy(w->scene);
    w->scene = NULL;
    json_object_clear(w->set);
    return perp_scene_load(w->context, w->path, NULL, 0, &w->scene);
}

/* What the line does not name has the scene's own value: a name that an earlier line has set is
 * taken back by reading the scene again. */
static bool needs_fresh_scene(const worker* w, const json_t* line)
{
    for (void* i = json_object_iter(w->set); i != NULL; i = json_object_iter_next(w->set, i)) {
        if (json_object_get(line, json_object_iter_key(i)) == NULL) {
            return true;
        }
    }
    return false;
}

static perp_status set_values(worker* w, json_t* line, const char** bad)
{
    perp_status status = w->scene == NULL || needs_fresh_scene(w, line) ? load(w) : PERP_OK;
    for (void* i = json_object_iter(line); status == PERP_OK && i != NULL;
         i = json_object_iter_next(line, i)) {
        const char* name = json_object_iter_key(i);
        const json_t* value = json_object_iter_value(i);
        if (json_is_number(value)) {
            status = perp_scene_set_number(w->scene, name, json_number_value(value));
        } else if (json_is_string(value)) {
            status = perp_scene_set_string(w->scene, name, json_string_value(value));
        } else {
            *bad = "values must be numbers or strings";
            return PERP_ERROR_INPUT;
        }
        if (status == PERP_OK) {
            json_object_set_new(w->set, name, json_true());
        }
    }
    return status;
}

static json_t* answer_values(worker* w, json_t* line)
{
    const char* bad = NULL;
    perp_run_row row = {.recording = "", .outcome = "", .message = ""};
    perp_status status = set_values(w, line, &bad);
    if (status == PERP_OK) {
        status = perp_runner_run(w->runner, w->scene, &w->options, &row);
    }
    return status == PERP_OK ? row_json(w, &row)
                             : bad_line(bad != NULL ? bad : perp_context_error(w->context));
}

/* ---- runs of a study --------------------------------------------------------------------------*/

static json_t* answer_run(worker* w, const json_t* line)
{
    const json_t* run = json_object_get(line, "run");
    perp_run_row row;
    if (!json_is_integer(run) || json_object_size(line) != 1) {
        return bad_line("with --study a line is {\"run\": ID}");
    }
    const int64_t id = json_integer_value(run);
    if (perp_study_run(w->study, w->runner, id, &w->options, &row) != PERP_OK) {
        return bad_line(perp_context_error(w->context));
    }
    json_t *object = row_json(w, &row), *values = json_object();
    for (int32_t i = 0; i < perp_study_vary_count(w->study); ++i) {
        const perp_vary_value value = perp_study_value(w->study, id, i);
        json_object_set_new(values, perp_study_vary(w->study, i).name,
                            value.text != NULL ? json_string(value.text)
                                               : cli_number(value.number));
    }
    json_object_set_new(object, "id", json_integer(id));
    json_object_set_new(object, "values", values);
    return object;
}

/* ---- the loop ---------------------------------------------------------------------------------*/

static int serve_lines(worker* w)
{
    char* text = NULL;
    size_t room = 0;
    ssize_t length;
    while ((length = getline(&text, &room, stdin)) >= 0) {
        if (strspn(text, " \t\r\n") == (size_t)length) {
            continue;
        }
        json_error_t error;
        json_t* line = json_loadb(text, (size_t)length, JSON_REJECT_DUPLICATES, &error);
        json_t* reply = line == NULL            ? bad_line(error.text)
                        : !json_is_object(line) ? bad_line("a line is one JSON object")
                        : w->study != NULL      ? answer_run(w, line)
                                                : answer_values(w, line);
        (void)json_dumpf(reply, stdout, JSON_COMPACT | JSON_REAL_PRECISION(17));
        json_decref(reply);
        json_decref(line);
        (void)fputc('\n', stdout);
        if (fflush(stdout) != 0) {
            break; /* nobody reads any more */
        }
    }
    free(text);
    return CLI_DONE;
}

static int read_limits(worker* w)
{
    const char *seconds = cli_value(w->args, "--seconds"), *steps = cli_value(w->args, "--steps");
    char* end;
    if (seconds != NULL) {
        w->options.seconds = strtod(seconds, &end);
        if (end == seconds || *end != '\0' || !(w->options.seconds > 0.0)) {
            return cli_fail(false, CLI_BAD_INPUT, "--seconds: must be a number > 0, got '%.60s'",
                            seconds);
        }
    }
    if (steps != NULL) {
        w->options.steps = strtoll(steps, &end, 10);
        if (end == steps || *end != '\0' || w->options.steps < 1) {
            return cli_fail(false, CLI_BAD_INPUT, "--steps: must be an integer >= 1, got '%.60s'",
                            steps);
        }
    }
    return CLI_DONE;
}

/* What a plugin prints must not come between the answers. */
static int take_stdout(void)
{
    (void)fflush(stdout);
    const int fd = dup(STDOUT_FILENO);
    (void)dup2(STDERR_FILENO, STDOUT_FILENO);
    return fd;
}

static int serve(worker* w)
{
    const char* folder = cli_value(w->args, "--frames");
    perp_status status;
    if (cli_flag(w->args, "--study")) {
        status = perp_study_load(w->context, w->path, &w->study);
    } else {
        status = load(w);
    }
    if (status == PERP_OK) {
        status = perp_runner_create(w->context, &w->runner);
    }
    if (status != PERP_OK) {
        return cli_fail(false, cli_exit_of(status), "%s", perp_context_error(w->context));
    }
    if (folder == NULL) {
        return serve_lines(w);
    }
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)signal(SIGINT, SIG_IGN);
    const int out = take_stdout();
    status = perp_study_serve(w->study, STDIN_FILENO, out, folder, &w->options);
    return status == PERP_OK ? CLI_DONE : CLI_FAILED;
}

static int verb_worker(const cli_args* args)
{
    if (cli_value(args, "--frames") != NULL && !cli_flag(args, "--study")) {
        return cli_fail(false, CLI_BAD_INPUT, "worker: --frames is for --study");
    }
    worker w = {.args = args, .context = sweep_context(false), .set = json_object()};
    cli_plugins plugins = {.json = false};
    char* found = NULL;
    if (w.context == NULL) {
        return CLI_FAILED;
    }
    int exit_status = cli_plugins_load(args, w.context, &plugins);
    w.options = sweep_run_options(&plugins);
    w.path = args->word[0];
    if (exit_status == CLI_DONE) {
        exit_status = read_limits(&w);
    }
    if (exit_status == CLI_DONE && !cli_flag(args, "--study")) {
        exit_status = cli_scene_find(args->word[0], false, &found);
        w.path = found;
    }
    if (exit_status == CLI_DONE) {
        exit_status = serve(&w);
    }
    perp_runner_destroy(w.runner);
    perp_study_destroy(w.study);
    perp_scene_destroy(w.scene);
    perp_context_destroy(w.context);
    cli_plugins_free(&plugins);
    json_decref(w.set);
    free(found);
    return exit_status;
}

static const cli_option options[] = {
    {"--seconds", "S", "limit of CPU time of a run"},
    {"--steps", "N", "limit of steps of a run"},
    {"--study", NULL, "the file is a study, and a line {\"run\": ID}"},
    {"--frames", "DIR",
     "with --study: rows as bytes, files to DIR (for 'perp sweep' under mpirun)"},
    {"--plugin", "LIB[:ARG]", "load solvers and code for each step from a shared library"},
    {0},
};

const cli_verb cli_verb_worker = {
    .name = "worker",
    .usage = "SCENE [options]",
    .summary = "run a scene for another program: one JSON object a line",
    .text = "A line is an object of values, {\"mu\": 0.3, \"/bodies/1/mass\": 2}: names are "
            "parameters of the\n"
            "scene or JSON pointers into it; what is not named has the scene's value. The answer "
            "is a line\n"
            "with status (ok, failed, timeout, bad-input), outcome, measures, certificate, "
            "energy_error,\n"
            "steps, seconds and message.",
    .words_min = 1,
    .words_max = 1,
    .option = options,
    .run = verb_worker,
};
