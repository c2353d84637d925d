/* cli/run.c - `perp run`: simulate a scene, record it, report the result. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "measures.h"
#include "plugin.h"
#include "progress.h"
#include "stats.h"
#include "summary.h"
#include "watch.h"

/* Which steps' problems --save-problems keeps, beside those that were not solved. */
typedef struct problem_choice {
    enum { SAVE_FAILED, SAVE_ALL, SAVE_EVERY, SAVE_STEP, SAVE_SLOW } when;
    double number; /* of steps; the step; seconds */
} problem_choice;

typedef struct run_state {
    const cli_args* args;
    bool quiet, keep_going;
    const char* out; /* recording, or NULL */
    char* problems;  /* folder for problem files, or NULL */
    problem_choice choice;
    char* origin;        /* what to call the scene in messages */
    char* resumed;       /* the recording that is continued, or NULL */
    double resume_asked; /* the time that was asked for; infinite: the end */
    double resume_time;  /* and the frame that was found for it */
    cli_overrides overrides;
    perp_context* context;
    perp_scene* scene;
    perp_sim* sim;
    perp_recorder* recorder;
    cli_plugins plugins;
    cli_stats stats;
    cli_watch_def watch_def;
    cli_watch* watch;   /* the live page, or NULL */
    char problem[1200]; /* the last problem file written, or "" */
    char message[2400]; /* why it stopped, or "" */
    const char* note;   /* the same without the file's name */
    bool interrupted, unsolved;
    bool stopped; /* from the live page */
} run_state;

static volatile sig_atomic_t stop_asked;

static void ask_stop(int signal_number)
{
    (void)signal_number;
    stop_asked = 1;
}

static bool is_stop_asked(void* user)
{
    (void)user;
    return stop_asked != 0;
}

/* The first Ctrl-C stops cleanly, and the recording stays valid; a second one ends the program. A
 * closing terminal may send SIGHUP twice; under nohup SIGHUP stays ignored. */
static void watch_signals(void)
{
    struct sigaction action = {.sa_handler = ask_stop, .sa_flags = SA_RESETHAND}, old;
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    action.sa_flags = 0;
    if (sigaction(SIGHUP, NULL, &old) == 0 && old.sa_handler != SIG_IGN) {
        (void)sigaction(SIGHUP, &action, NULL);
    }
}

/* ---- getting ready ----------------------------------------------------------------------------*/

/* Splits R.h5@2.5 into path and time; a file whose own name has an '@' goes first. */
static int split_resume(run_state* r, const char* text)
{
    struct stat st;
    r->resume_asked = INFINITY;
    r->resumed = strdup(text);
    if (r->resumed == NULL) {
        return cli_fail(r->args->json, CLI_FAILED, "out of memory");
    }
    char* at = strrchr(r->resumed, '@');
    if (at == NULL || stat(r->resumed, &st) == 0) {
        return CLI_DONE;
    }
    char* end;
    r->resume_asked = strtod(at + 1, &end);
    if (end == at + 1 || *end != '\0' || !isfinite(r->resume_asked)) {
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

/* Messages of the simulation do not contain the scene's file name. */
static int fail_in_scene(const run_state* r, perp_status status)
{
    return cli_fail(r->args->json, cli_exit_of(status), "%s: %s", r->origin,
                    perp_context_error(r->context));
}

static int load_scene(run_state* r, perp_recording* resumed)
{
    if (r->args->word_count > 0) {
        const int found = cli_scene_find(r->args->word[0], r->args->json, &r->origin);
        return found == CLI_DONE
                   ? cli_scene_load(r->args, r->context, r->origin, &r->overrides, &r->scene)
                   : found;
    }
    const char* text = perp_recording_scene_text(resumed);
    r->origin = strdup(r->resumed);
    const perp_status status =
        r->origin == NULL ? PERP_ERROR_MEMORY
                          : perp_scene_parse(r->context, text, strlen(text), r->origin,
                                             r->overrides.item, r->overrides.count, &r->scene);
    return status == PERP_OK ? CLI_DONE : fail_with_context(r, status);
}

static int create_sim(run_state* r)
{
    perp_sim_def def = perp_sim_def_from_scene(r->scene);
    def.keep_going = r->keep_going;
    const perp_status status = perp_sim_create_from_scene_def(r->context, r->scene, &def, &r->sim);
    if (status == PERP_OK && !r->quiet) {
        cli_advise_step(r->scene);
        if (r->resumed == NULL) {
            cli_warn_parameters(r->scene);
        }
    }
    return status == PERP_OK ? CLI_DONE : fail_in_scene(r, status);
}

static bool same_file(const char* a, const char* b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* A recording must not overwrite its own input. */
static int check_out(const run_state* r)
{
    if (r->out == NULL) {
        return CLI_DONE;
    }
    if (r->args->word_count > 0 && same_file(r->out, r->origin)) {
        return cli_fail(r->args->json, CLI_BAD_INPUT,
                        "--out: %s is the scene itself: give the recording another name", r->out);
    }
    if (r->resumed != NULL && same_file(r->out, r->resumed)) {
        return cli_fail(r->args->json, CLI_BAD_INPUT,
                        "--out: %s is the recording that is continued, and its frames would be "
                        "lost: give another name",
                        r->out);
    }
    return CLI_DONE;
}

/* The frame to continue from: the last one at or before the time that was asked for. */
static int choose_frame(run_state* r, perp_recording* recording, int64_t* index)
{
    perp_frame frame;
    const double asked = r->resume_asked;
    perp_status status = perp_recording_frame(recording, 0, &frame);
    const double begin = status == PERP_OK ? frame.time : 0.0;
    if (status == PERP_OK) {
        status = perp_recording_frame(recording, perp_recording_frame_count(recording) - 1, &frame);
    }
    if (status != PERP_OK) {
        return fail_with_context(r, status);
    }
    const double end = frame.time, slack = 1e-9 * fabs(asked);
    if (isfinite(asked) && !(asked + slack >= begin && asked - slack <= end)) {
        return cli_fail(r->args->json, CLI_BAD_INPUT,
                        "--resume: %s has no t = %.12g: it goes from %.12g to %.12g", r->resumed,
                        asked, begin, end);
    }
    status = find_frame(recording, asked, index);
    if (status == PERP_OK) {
        status = perp_recording_frame(recording, *index, &frame);
    }
    if (status != PERP_OK) {
        return fail_with_context(r, status);
    }
    r->resume_time = frame.time;
    const double duration = perp_scene_run_settings(r->scene).duration;
    if (frame.time >= duration * (1.0 - 1e-9)) {
        return cli_fail(r->args->json, CLI_BAD_INPUT,
                        "--resume: %s is at t = %.12g, already at its duration %.12g; give "
                        "--duration beyond it",
                        r->resumed, frame.time, duration);
    }
    return CLI_DONE;
}

/* A run that ended at a stop is over; other measures than the recorded ones begin here. */
static int check_resumed(const run_state* r)
{
    if (perp_sim_stopped(r->sim) >= 0) {
        return cli_fail(r->args->json, CLI_BAD_INPUT,
                        "--resume: %s ended at t = %.12g by its stop '%.200s'; to go on give an "
                        "earlier time, or --set /stop=[]",
                        r->resumed, r->resume_time, perp_sim_outcome(r->sim));
    }
    if (!r->quiet && perp_sim_measure_begin(r->sim) > 0.0) {
        cli_complain("warning: measures and stops are not those of %s: they begin at t = %.9g",
                     r->resumed, perp_sim_measure_begin(r->sim));
    }
    return CLI_DONE;
}

/* Scene and simulation, from a file or from where a recording left off. */
static int prepare_run(run_state* r)
{
    const char* resume = cli_value(r->args, "--resume");
    perp_recording* recording = NULL;
    int exit_status = CLI_DONE;
    if (resume != NULL) {
        exit_status = split_resume(r, resume);
        if (exit_status == CLI_DONE) {
            const perp_status status = perp_recording_open(r->context, r->resumed, &recording);
            if (status != PERP_OK) {
                cli_leave_quickly();
                exit_status = fail_with_context(r, status);
            }
        }
    }
    if (exit_status == CLI_DONE) {
        exit_status = load_scene(r, recording);
    }
    if (exit_status == CLI_DONE) {
        exit_status = check_out(r);
    }
    if (exit_status == CLI_DONE) {
        exit_status = create_sim(r);
    }
    if (exit_status == CLI_DONE && recording != NULL) {
        int64_t index = 0;
        exit_status = choose_frame(r, recording, &index);
        if (exit_status == CLI_DONE) {
            const perp_status status = perp_recording_restore(recording, index, r->sim);
            exit_status = status == PERP_OK ? check_resumed(r) : fail_with_context(r, status);
        }
    }
    perp_recording_close(recording);
    if (exit_status == CLI_DONE) {
        const perp_status status = cli_plugins_start(&r->plugins, r->sim);
        exit_status = status == PERP_OK ? CLI_DONE
                                        : cli_fail(r->args->json, CLI_BAD_INPUT, "--plugin: %s",
                                                   cli_plugins_message(&r->plugins, r->context));
    }
    return exit_status;
}

/* ---- running ----------------------------------------------------------------------------------*/

/* Beside the recording, or in --save-problems, or here. */
static void write_problem(run_state* r, const perp_contact_problem* problem, int64_t step,
                          const char* why)
{
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
    (void)snprintf(path, sizeof path, "%s%s%s-step%lld%s.problem.json", here ? "" : folder,
                   here ? "" : "/", name[0] != '\0' ? name : "scene", (long long)step, why);
    if (perp_contact_write(r->context, problem, path) == PERP_OK) {
        memcpy(r->problem, path, sizeof path);
    } else {
        cli_complain("warning: %s", perp_context_error(r->context));
    }
}

static void save_problem(run_state* r, int64_t step)
{
    const perp_contact_problem* problem = perp_sim_problem(r->sim);
    if (problem != NULL) {
        write_problem(r, problem, step, "");
    }
}

/* A pair of shapes falls back to a simpler contact model: its problem is kept if asked for. */
static void note_fallback(void* user, const perp_contact_problem* problem, int32_t body_a,
                          int32_t body_b, const char* contact_model)
{
    run_state* r = user;
    (void)body_a;
    (void)body_b;
    (void)contact_model;
    if (r->problems != NULL) {
        write_problem(r, problem, perp_sim_step_count(r->sim) + 1, "-fallback");
    }
}

/* DIR or DIR:WHEN. */
static int read_problem_choice(run_state* r)
{
    static const char* const word[] = {
        [SAVE_FAILED] = "failed", [SAVE_ALL] = "all",    [SAVE_EVERY] = "every=",
        [SAVE_STEP] = "step=",    [SAVE_SLOW] = "slow=",
    };
    const char* text = cli_value(r->args, "--save-problems");
    const char* colon = text != NULL ? strrchr(text, ':') : NULL;
    const size_t length = colon != NULL ? (size_t)(colon - text) : text != NULL ? strlen(text) : 0;
    if (text == NULL) {
        return CLI_DONE;
    }
    bool good = colon == NULL;
    for (int w = SAVE_FAILED; colon != NULL && w <= SAVE_SLOW; ++w) {
        const size_t n = strlen(word[w]);
        const char* number = colon + 1 + n;
        char* end = NULL;
        if (strncmp(colon + 1, word[w], n) == 0) {
            const double x = w >= SAVE_EVERY ? strtod(number, &end) : 0.0;
            good = w < SAVE_EVERY ? *number == '\0'
                                  : end != number && *end == '\0' && x > 0.0 && x < 1e15 &&
                                        (w == SAVE_SLOW || x == floor(x));
            r->choice = (problem_choice){.when = w, .number = x};
        }
    }
    if (!good || length == 0) {
        return cli_fail(
            r->args->json, CLI_BAD_INPUT,
            "--save-problems: expected DIR or DIR:WHEN, WHEN being failed, all, every=N, "
            "step=N or slow=SECONDS, got '%s'",
            text);
    }
    r->problems = strndup(text, length);
    return r->problems != NULL ? CLI_DONE : cli_fail(r->args->json, CLI_FAILED, "out of memory");
}

/* Whether the step just taken is one to keep. */
static bool wants_problem(const run_state* r, double seconds)
{
    if (r->problems == NULL) {
        return false;
    }
    const double step = (double)perp_sim_step_count(r->sim), number = r->choice.number;
    bool chosen = false;
    switch (r->choice.when) {
    case SAVE_FAILED: break;
    case SAVE_ALL: chosen = true; break;
    case SAVE_EVERY: chosen = fmod(step, number) == 0.0; break;
    case SAVE_STEP: chosen = step == number; break;
    case SAVE_SLOW: chosen = seconds > number; break;
    }
    return chosen || perp_sim_step_info(r->sim).accepted_unsolved;
}

/* A step failed, or the recording did. The run is over. */
static int stop_with_error(run_state* r, perp_status status)
{
    /* Messages of the recorder name its file; those of the simulation do not name the scene's. */
    const bool named = status == PERP_ERROR_IO;
    const int length = snprintf(r->message, sizeof r->message, "%.1000s%s", named ? "" : r->origin,
                                named ? "" : ": ");
    r->note = r->message + length;
    (void)snprintf(r->message + length, sizeof r->message - (size_t)length, "%s",
                   cli_plugins_message(&r->plugins, r->context));
    if (status == PERP_ERROR_SOLVE) {
        r->unsolved = true;
        r->stats.failures += 1;
        save_problem(r, perp_sim_step_count(r->sim) + 1);
    }
    return CLI_FAILED;
}

static int run_steps(run_state* r, cli_progress* progress)
{
    double begin = cli_clock();
    double now = begin;
    if (r->watch != NULL && !cli_watch_step(r->watch, r->sim, is_stop_asked)) {
        r->stopped = true; /* it had begun paused */
    }
    begin = now = cli_clock();
    int exit_status = CLI_DONE;
    while (exit_status == CLI_DONE && !perp_sim_finished(r->sim) && !stop_asked && !r->stopped) {
        const double before = now, cpu_before = cli_cpu_clock();
        perp_status status = perp_sim_step(r->sim);
        cli_stats_cpu(&r->stats, cli_cpu_clock() - cpu_before);
        now = cli_clock();
        if (status == PERP_OK) {
            const double seconds = now - before;
            cli_stats_step(&r->stats, r->sim, seconds);
            if (wants_problem(r, seconds)) {
                save_problem(r, perp_sim_step_count(r->sim));
                now = cli_clock();
            }
            if (r->recorder != NULL) {
                status = perp_recorder_step(r->recorder, r->sim, seconds);
                now = cli_clock(); /* writing is not part of the next step */
            }
            cli_progress_step(progress, r->sim, &r->stats, now);
        }
        if (status == PERP_OK && r->watch != NULL) {
            const double paused = cli_clock();
            r->stopped = !cli_watch_step(r->watch, r->sim, is_stop_asked);
            now = cli_clock();
            begin += now - paused; /* exclude the time spent paused */
        }
        if (status == PERP_ERROR_CANCELLED && stop_asked) {
            break; /* inside a step; the state is the one before it */
        }
        if (status != PERP_OK) {
            exit_status = stop_with_error(r, status);
        }
    }
    r->stats.wall_seconds = now - begin;
    if (exit_status == CLI_DONE && !perp_sim_finished(r->sim)) {
        r->interrupted = true;
        (void)snprintf(r->message, sizeof r->message, "%s at t = %.9g",
                       stop_asked ? "interrupted" : "stopped from the live page",
                       perp_sim_time(r->sim));
        r->note = r->message;
        exit_status = CLI_FAILED;
    }
    return exit_status;
}

static int simulate(run_state* r)
{
    cli_progress progress;
    cli_progress_begin(&progress, r->sim, r->quiet);
    int exit_status = run_steps(r, &progress);
    cli_progress_end(&progress);
    if (r->recorder != NULL) {
        if (r->note != NULL) {
            perp_recorder_note(r->recorder, r->note);
        }
        const perp_status status = perp_recorder_finish(r->recorder, r->sim);
        if (status != PERP_OK && r->message[0] == '\0') {
            exit_status = stop_with_error(r, status);
        } else if (status != PERP_OK && strcmp(perp_context_error(r->context), r->message) != 0) {
            cli_complain("%s", perp_context_error(r->context)); /* in addition to the first error */
        }
    }
    cli_stats_end(&r->stats, r->sim);
    return exit_status;
}

/* A path as a shell takes it. */
static void quote(const char* path, char* text, size_t size)
{
    const bool plain = strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                    "-_./+@%=:,") == strlen(path);
    (void)snprintf(text, size, plain ? "%s" : "\"%s\"", path);
}

/* What can be done about a step that was not solved. */
static void print_advice(const run_state* r, const char* problem)
{
    const perp_scene_run run = perp_scene_run_settings(r->scene);
    if (problem != NULL) {
        char path[sizeof r->problem + 2];
        quote(problem, path, sizeof path);
        cli_complain("the problem is saved in %s; alone: perp solve %s --tolerance %g", problem,
                     path, run.tolerance);
    }
    cli_complain("to get past it, try %s, a smaller step (--step %.3g)%s",
                 strcmp(run.solver, "auto") == 0 ? "another solver (see 'perp list solvers')"
                                                 : "another solver (--solver auto)",
                 0.5 * cli_nominal_step(&run), r->keep_going ? "" : ", or --keep-going");
}

static void print_resumed(const run_state* r)
{
    if (r->resumed == NULL) {
        return;
    }
    printf("continued from ");
    cli_put(r->resumed);
    printf(" at t = %.12g", r->resume_time);
    if (isfinite(r->resume_asked) && r->resume_asked - r->resume_time > 1e-9 * r->resume_asked) {
        printf(", its last frame at or before %.12g", r->resume_asked);
    }
    printf("\n");
}

static void report_result(run_state* r, int exit_status)
{
    const char* status = r->interrupted ? "interrupted" : cli_status_word(exit_status);
    const bool failed = r->message[0] != '\0';
    const char* problem = failed && r->problem[0] != '\0' ? r->problem : NULL;
    if (failed) {
        cli_complain("%s", r->message);
        if (r->unsolved) {
            print_advice(r, problem);
        }
    }
    if (r->args->json) {
        json_t* summary = cli_summary_json(r->scene, r->sim, &r->stats, status,
                                           failed ? r->message : NULL, problem);
        if (r->resumed != NULL) {
            json_object_set_new(summary, "resumed_from", cli_number(r->resume_time));
        }
        cli_print_json(summary);
    } else if (!r->quiet) {
        print_resumed(r);
        cli_summary_print(r->scene, r->sim, &r->stats, status, r->out);
    }
}

static int refuse_empty(const cli_args* args)
{
    static const char* const path[] = {"--out", "--resume", "--save-problems"};
    for (size_t i = 0; i < sizeof path / sizeof path[0]; ++i) {
        const char* value = cli_value(args, path[i]);
        if (value != NULL && value[0] == '\0') {
            return cli_fail(args->json, CLI_BAD_INPUT, "%s: the name is empty: give a file name",
                            path[i]);
        }
    }
    return CLI_DONE;
}

/* On a terminal the page stays until Ctrl-C; a script does not wait. */
static void keep_serving(const run_state* r)
{
    const char* given = cli_value(r->args, "--linger");
    const bool terminal = isatty(STDOUT_FILENO) && !r->args->json && !r->quiet;
    (void)fflush(stdout);
    if (given == NULL && terminal && !stop_asked) {
        fprintf(stderr, "watch: the page stays until Ctrl-C\n");
    }
    cli_watch_linger(given != NULL ? strtod(given, NULL)
                     : terminal    ? INFINITY
                                   : 0.0,
                     is_stop_asked);
}

static int run_all(run_state* r)
{
    bool watched = false;
    int exit_status = cli_watch_options(r->args, &r->watch_def, &watched);
    if (exit_status == CLI_DONE) {
        exit_status = cli_use_threads(r->args, r->context);
    }
    if (exit_status == CLI_DONE) {
        exit_status = read_problem_choice(r);
    }
    if (exit_status == CLI_DONE) {
        exit_status = cli_overrides_gather(r->args, &r->overrides);
    }
    if (exit_status == CLI_DONE) {
        exit_status = cli_plugins_load(r->args, r->context, &r->plugins);
    }
    if (exit_status == CLI_DONE) {
        exit_status = prepare_run(r);
    }
    if (exit_status != CLI_DONE) {
        return exit_status;
    }
    if (r->problems != NULL && mkdir(r->problems, 0777) != 0 && errno != EEXIST) {
        return cli_fail(r->args->json, CLI_BAD_INPUT, "%s: %s", r->problems, strerror(errno));
    }
    watch_signals();
    perp_sim_on_cancel(r->sim, is_stop_asked, NULL);
    perp_sim_on_fallback(r->sim, note_fallback, r);
    if (r->out != NULL) {
        const perp_status status =
            perp_recorder_create(r->context, r->out, r->scene, r->sim, &r->recorder);
        if (status != PERP_OK) {
            cli_leave_quickly(); /* HDF5 may have opened an old file */
            return cli_fail(r->args->json, status == PERP_ERROR_INPUT ? CLI_BAD_INPUT : CLI_FAILED,
                            "%s", perp_context_error(r->context)); /* e.g. a full disk */
        }
    }
    if (!cli_stats_begin(&r->stats, r->sim)) {
        return cli_fail(r->args->json, CLI_FAILED, "out of memory");
    }
    if (watched) {
        exit_status = cli_watch_begin(&r->watch_def, r->scene, r->sim, &r->watch);
        if (exit_status != CLI_DONE) {
            return exit_status;
        }
    }
    exit_status = simulate(r);
    if (watched) {
        cli_watch_end(r->watch, r->sim,
                      r->interrupted ? "interrupted" : cli_status_word(exit_status), r->message);
    }
    report_result(r, exit_status);
    if (watched) {
        keep_serving(r);
    }
    return exit_status;
}

static int verb_run(const cli_args* args)
{
    if (args->word_count == 0 && cli_value(args, "--resume") == NULL) {
        return cli_fail(args->json, CLI_BAD_INPUT, "usage: perp run %s", cli_verb_run.usage);
    }
    if (refuse_empty(args) != CLI_DONE) {
        return CLI_BAD_INPUT;
    }
    run_state r = {
        .args = args,
        .quiet = cli_flag(args, "--quiet"),
        .keep_going = cli_flag(args, "--keep-going"),
        .out = cli_value(args, "--out"),
        .context = cli_context(args->json),
    };
    if (r.context == NULL) {
        return CLI_FAILED;
    }
    const int exit_status = run_all(&r);
    cli_watch_destroy(r.watch);
    cli_plugins_end(&r.plugins, r.sim);
    cli_stats_free(&r.stats);
    perp_recorder_destroy(r.recorder);
    perp_sim_destroy(r.sim);
    perp_scene_destroy(r.scene);
    perp_context_destroy(r.context);
    cli_plugins_free(&r.plugins);
    cli_overrides_free(&r.overrides);
    free(r.origin);
    free(r.resumed);
    free(r.problems);
    return exit_status;
}

static const cli_option options[] = {
    {"--out", "R.h5", "record to this file (-o), which is new or a recording to replace"},
    {"--step", "H", "length of a step"},
    {"--duration", "T", "how long to simulate"},
    {"--stepper", "NAME", "see 'perp list steppers'"},
    {"--contact", "NAME", "contact model, see 'perp list contacts'"},
    {"--friction", "CONE", "none, polygon, ..."},
    {"--directions", "N", "of the friction polygon"},
    {"--solver", "NAME", "see 'perp list solvers'; replaces the scene's with its settings"},
    {"--set", "POINTER=VALUE", "override any place of the scene, such as /bodies/1/mass=2"},
    {"--param", "NAME=VALUE", "set a parameter of the scene"},
    {"--resume", "R.h5[@T]", "continue from a recording's end, or its last frame up to T"},
    {"--save-problems", "DIR[:WHEN]",
     "where to put the problems of steps that were not solved; WHEN adds others: all, every=N, "
     "step=N, slow=SECONDS"},
    {"--keep-going", NULL, "take the best iterate when a solve fails, and count it"},
    CLI_THREADS_OPTION,
    CLI_URDF_OPTIONS,
    {"--json", NULL, "print the result as one JSON object"},
    {"--quiet", NULL, "print nothing but errors"},
    {"--plugin", "LIB[:ARG]", "load solvers and code for each step from a shared library"},
    CLI_WATCH_OPTIONS,
    {0},
};

const cli_verb cli_verb_run = {
    .name = "run",
    .usage = "SCENE [--out R.h5] [options], or: perp run --resume R.h5 [options]",
    .summary = "simulate a scene",
    .text = "SCENE is a file, a robot (.urdf), or the bare name of one that 'perp list scenes' "
            "shows. Options that "
            "change the\nscene are kept in the recording's copy of it. Ctrl-C ends a run well: the "
            "recording is whole.",
    .words_max = 1,
    .option = options,
    .run = verb_run,
};
