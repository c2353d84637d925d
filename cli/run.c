/* cli/run.c - `perp run`: simulate a scene, record it, say how it went. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"
#include "progress.h"
#include "stats.h"
#include "summary.h"

typedef struct run_state {
    const cli_args* args;
    bool quiet, keep_going;
    const char* out;      /* recording, or NULL */
    const char* problems; /* folder for problem files, or NULL */
    char* origin;         /* what to call the scene in messages */
    cli_overrides overrides;
    perp_context* context;
    perp_scene* scene;
    perp_sim* sim;
    perp_recorder* recorder;
    cli_stats stats;
    char problem[1200]; /* the last problem file written, or "" */
    char message[2400]; /* why it stopped, or "" */
    bool interrupted;
} run_state;

static volatile sig_atomic_t stop_asked;

static void ask_stop(int signal_number)
{
    (void)signal_number;
    stop_asked = 1;
}

/* The first Ctrl-C asks the run to end well; a second one ends the program. */
static void watch_signals(void)
{
    struct sigaction action = {.sa_handler = ask_stop, .sa_flags = SA_RESETHAND};
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

/* ---- getting ready ----------------------------------------------------------------------------*/

/* Splits R.h5@2.5 into path and time; a file whose own name has an '@' goes first. */
static int split_resume(const run_state* r, const char* text, char** path, double* time)
{
    struct stat st;
    *time = INFINITY;
    *path = strdup(text);
    if (*path == NULL) {
        return cli_fail(r->args->json, CLI_FAILED, "out of memory");
    }
    char* at = strrchr(*path, '@');
    if (at == NULL || stat(*path, &st) == 0) {
        return CLI_DONE;
    }
    char* end;
    *time = strtod(at + 1, &end);
    if (end == at + 1 || *end != '\0' || !isfinite(*time)) {
        return cli_fail(r->args->json, CLI_BAD_INPUT,
                        "--resume: expected R.h5 or R.h5@TIME, got '%s'", text);
    }
    *at = '\0';
    return CLI_DONE;
}

/* Index of the last frame not later than time; they ascend. */
static perp_status find_frame(perp_recording* recording, double time, int64_t* index)
{
    int64_t low = 0, high = perp_recording_frame_count(recording) - 1;
    while (low < high) {
        const int64_t middle = low + (high - low + 1) / 2;
        perp_frame frame;
        const perp_status status = perp_recording_frame(recording, middle, &frame);
        if (status != PERP_OK) {
            return status;
        }
        if (frame.time <= time + 1e-9 * fabs(time)) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    *index = low;
    return PERP_OK;
}

static int fail_with_context(const run_state* r, perp_status status)
{
    return cli_fail(r->args->json, cli_exit_of(status), "%s", perp_context_error(r->context));
}

/* The messages of the simulation do not know which file the scene came from. */
static int fail_in_scene(const run_state* r, perp_status status)
{
    return cli_fail(r->args->json, cli_exit_of(status), "%s: %s", r->origin,
                    perp_context_error(r->context));
}

static int load_scene(run_state* r, perp_recording* resumed, const char* resumed_path)
{
    perp_status status;
    if (r->args->word_count > 0) {
        r->origin = cli_scene_path(r->args->word[0]);
        status = r->origin == NULL ? PERP_ERROR_MEMORY
                                   : perp_scene_load(r->context, r->origin, r->overrides.item,
                                                     r->overrides.count, &r->scene);
    } else {
        const char* text = perp_recording_scene_text(resumed);
        r->origin = strdup(resumed_path);
        status = r->origin == NULL
                     ? PERP_ERROR_MEMORY
                     : perp_scene_parse(r->context, text, strlen(text), r->origin,
                                        r->overrides.item, r->overrides.count, &r->scene);
    }
    return status == PERP_OK ? CLI_DONE : fail_with_context(r, status);
}

static int create_sim(run_state* r)
{
    perp_sim_def def = perp_sim_def_from_scene(r->scene);
    def.keep_going = r->keep_going;
    const perp_status status =
        perp_sim_create(r->context, perp_scene_model(r->scene), &def, &r->sim);
    return status == PERP_OK ? CLI_DONE : fail_in_scene(r, status);
}

/* Scene and simulation, from a file or from where a recording left off. */
static int prepare(run_state* r)
{
    const char* resume = cli_value(r->args, "--resume");
    char* path = NULL;
    double time = INFINITY;
    perp_recording* recording = NULL;
    int exit_status = CLI_DONE;
    if (resume != NULL) {
        exit_status = split_resume(r, resume, &path, &time);
        if (exit_status == CLI_DONE) {
            const perp_status status = perp_recording_open(r->context, path, &recording);
            if (status != PERP_OK) {
                cli_leave_quickly();
                exit_status = fail_with_context(r, status);
            }
        }
    }
    if (exit_status == CLI_DONE) {
        exit_status = load_scene(r, recording, path);
    }
    if (exit_status == CLI_DONE) {
        exit_status = create_sim(r);
    }
    if (exit_status == CLI_DONE && recording != NULL) {
        int64_t index = 0;
        perp_status status = find_frame(recording, time, &index);
        if (status == PERP_OK) {
            status = perp_recording_restore(recording, index, r->sim);
        }
        exit_status = status == PERP_OK ? CLI_DONE : fail_with_context(r, status);
    }
    perp_recording_close(recording);
    free(path);
    return exit_status;
}

/* ---- running ----------------------------------------------------------------------------------*/

/* Beside the recording, or in --save-problems, or here. */
static void save_problem(run_state* r, int64_t step)
{
    const perp_contact_problem* problem = perp_sim_problem(r->sim);
    if (problem == NULL) {
        return;
    }
    char folder[1024] = ".";
    const char* slash = r->out != NULL ? strrchr(r->out, '/') : NULL;
    if (r->problems != NULL) {
        (void)snprintf(folder, sizeof folder, "%s", r->problems);
    } else if (slash != NULL) {
        (void)snprintf(folder, sizeof folder, "%.*s", (int)(slash - r->out), r->out);
    }
    char name[100];
    (void)snprintf(name, sizeof name, "%.80s", perp_scene_name(r->scene));
    for (char* c = name; *c != '\0'; ++c) {
        if (*c == '/' || (unsigned char)*c < 0x20) {
            *c = '-';
        }
    }
    const bool here = strcmp(folder, ".") == 0;
    char path[sizeof r->problem];
    (void)snprintf(path, sizeof path, "%s%s%s-step%lld.problem.json", here ? "" : folder,
                   here ? "" : "/", name[0] != '\0' ? name : "scene", (long long)step);
    if (perp_contact_write(r->context, problem, path) == PERP_OK) {
        memcpy(r->problem, path, sizeof path);
    } else {
        cli_complain("warning: %s", perp_context_error(r->context));
    }
}

/* A step failed, or the recording did. The run is over. */
static int stop_with_error(run_state* r, perp_status status)
{
    /* What the recorder says names its file; what the simulation says does not know the scene's. */
    (void)snprintf(r->message, sizeof r->message, "%s%s%s",
                   status == PERP_ERROR_IO ? "" : r->origin, status == PERP_ERROR_IO ? "" : ": ",
                   perp_context_error(r->context));
    if (status == PERP_ERROR_SOLVE) {
        r->stats.failures += 1;
        save_problem(r, perp_sim_step_count(r->sim) + 1);
    }
    return CLI_FAILED;
}

static int loop(run_state* r, cli_progress* progress)
{
    const double begin = cli_clock();
    double now = begin;
    int exit_status = CLI_DONE;
    while (exit_status == CLI_DONE && !perp_sim_finished(r->sim) && !stop_asked) {
        const double before = now;
        perp_status status = perp_sim_step(r->sim);
        now = cli_clock();
        if (status == PERP_OK) {
            const double seconds = now - before;
            cli_stats_step(&r->stats, r->sim, seconds);
            if (r->problems != NULL && perp_sim_step_info(r->sim).accepted_unsolved) {
                save_problem(r, perp_sim_step_count(r->sim));
            }
            if (r->recorder != NULL) {
                status = perp_recorder_step(r->recorder, r->sim, seconds);
                now = cli_clock(); /* writing is not part of the next step */
            }
            cli_progress_step(progress, r->sim, &r->stats, now);
        }
        if (status != PERP_OK) {
            exit_status = stop_with_error(r, status);
        }
    }
    r->stats.wall_seconds = now - begin;
    if (exit_status == CLI_DONE && !perp_sim_finished(r->sim)) {
        r->interrupted = true;
        (void)snprintf(r->message, sizeof r->message, "interrupted at t = %.9g",
                       perp_sim_time(r->sim));
        exit_status = CLI_FAILED;
    }
    return exit_status;
}

static int simulate(run_state* r)
{
    cli_progress progress;
    cli_progress_begin(&progress, r->sim, r->quiet);
    int exit_status = loop(r, &progress);
    if (r->recorder != NULL) {
        const perp_status status = perp_recorder_finish(r->recorder, r->sim);
        if (status != PERP_OK && r->message[0] == '\0') {
            exit_status = stop_with_error(r, status);
        }
    }
    cli_progress_end(&progress);
    cli_stats_end(&r->stats, r->sim);
    return exit_status;
}

static void report(run_state* r, int exit_status)
{
    const char* status = r->interrupted ? "interrupted" : cli_status_word(exit_status);
    const bool failed = r->message[0] != '\0';
    const char* problem = failed && r->problem[0] != '\0' ? r->problem : NULL;
    if (failed) {
        cli_complain("%s", r->message);
        if (problem != NULL) {
            cli_complain("the problem is saved in %s; try 'perp solve %s'", problem, problem);
        }
    }
    if (r->args->json) {
        cli_print_json(cli_summary_json(r->scene, r->sim, &r->stats, status,
                                        failed ? r->message : NULL, problem));
    } else if (!r->quiet) {
        cli_summary_print(r->scene, r->sim, &r->stats, status, r->out);
    }
}

static int run_all(run_state* r)
{
    int exit_status = cli_overrides_gather(r->args, &r->overrides);
    if (exit_status == CLI_DONE) {
        exit_status = prepare(r);
    }
    if (exit_status != CLI_DONE) {
        return exit_status;
    }
    if (r->problems != NULL && mkdir(r->problems, 0777) != 0 && errno != EEXIST) {
        return cli_fail(r->args->json, CLI_BAD_INPUT, "%s: %s", r->problems, strerror(errno));
    }
    if (r->out != NULL) {
        const perp_status status =
            perp_recorder_create(r->context, r->out, r->scene, r->sim, &r->recorder);
        if (status != PERP_OK) {
            return fail_with_context(r, status);
        }
    }
    if (!cli_stats_begin(&r->stats, r->sim)) {
        return cli_fail(r->args->json, CLI_FAILED, "out of memory");
    }
    watch_signals();
    exit_status = simulate(r);
    report(r, exit_status);
    return exit_status;
}

static int run(const cli_args* args)
{
    if (args->word_count == 0 && cli_value(args, "--resume") == NULL) {
        return cli_fail(args->json, CLI_BAD_INPUT, "usage: perp run %s", cli_verb_run.usage);
    }
    run_state r = {
        .args = args,
        .quiet = cli_flag(args, "--quiet"),
        .keep_going = cli_flag(args, "--keep-going"),
        .out = cli_value(args, "--out"),
        .problems = cli_value(args, "--save-problems"),
        .context = cli_context(args->json),
    };
    if (r.context == NULL) {
        return CLI_FAILED;
    }
    const int exit_status = run_all(&r);
    cli_stats_free(&r.stats);
    perp_recorder_destroy(r.recorder);
    perp_sim_destroy(r.sim);
    perp_scene_destroy(r.scene);
    perp_context_destroy(r.context);
    cli_overrides_free(&r.overrides);
    free(r.origin);
    return exit_status;
}

static const cli_option options[] = {
    {"--out", "R.h5", "record to this file (-o); without it nothing is recorded", NULL},
    {"--step", "H", "length of a step", NULL},
    {"--duration", "T", "how long to simulate", NULL},
    {"--stepper", "NAME", "see 'perp list steppers'", NULL},
    {"--contact", "NAME", "contact model, see 'perp list contacts'", NULL},
    {"--friction", "CONE", "none, polygon, ...", NULL},
    {"--directions", "N", "of the friction polygon", NULL},
    {"--solver", "NAME", "see 'perp list solvers'; replaces the scene's with its settings", NULL},
    {"--set", "POINTER=VALUE", "override any place of the scene, such as /bodies/1/mass=2", NULL},
    {"--resume", "R.h5[@T]", "continue from a recording's end, or from its time T", NULL},
    {"--save-problems", "DIR", "where to put the problems of steps that were not solved", NULL},
    {"--keep-going", NULL, "take the best iterate when a solve fails, and count it", NULL},
    {"--json", NULL, "print the result as one JSON object", NULL},
    {"--quiet", NULL, "print nothing but errors", NULL},
    {"--plugin", "LIB", "load solvers from a shared library", "yet"},
    {"--watch", NULL, "look at the run while it lasts", "yet"},
    {0},
};

const cli_verb cli_verb_run = {
    .name = "run",
    .usage = "SCENE [--out R.h5] [options], or: perp run --resume R.h5 [options]",
    .summary = "simulate a scene",
    .text = "SCENE is a file, or the bare name of one that 'perp list scenes' shows. Options that "
            "change the\nscene are kept in the recording's copy of it. Ctrl-C ends a run well: the "
            "recording is whole.",
    .words_max = 1,
    .option = options,
    .run = run,
};
