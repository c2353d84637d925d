/* cli/verify.c - `perp verify`: hashes, laws, and the same bits again. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "plugin.h"

/* Settings of the recorded scene. */
typedef struct asked {
    double tolerance; /* tolerance of the laws: the scene's */
    int32_t every;
} asked;

static asked asked_of(perp_context* context, const char* path)
{
    perp_recording* recording = NULL;
    perp_scene* scene = NULL;
    asked a = {perp_sim_def_default().tolerance, 1};
    if (perp_recording_open(context, path, &recording) == PERP_OK) {
        const char* text = perp_recording_scene_text(recording);
        if (perp_scene_parse(context, text, strlen(text), path, NULL, 0, &scene) == PERP_OK) {
            a.tolerance = perp_scene_run_settings(scene).tolerance;
            a.every = perp_scene_record_every(scene);
        }
    }
    perp_scene_destroy(scene);
    perp_recording_close(recording);
    return a;
}

static void print_json(const perp_verification* d, int exit_status, double tolerance, bool laws)
{
    json_t* o = json_object();
    json_object_set_new(o, "status", json_string(cli_status_word(exit_status)));
    json_object_set_new(o, "message", cli_text(d->message));
    json_object_set_new(o, "intact", json_boolean(d->intact));
    json_object_set_new(o, "complete", json_boolean(d->complete));
    json_object_set_new(o, "finished", json_boolean(d->finished));
    json_object_set_new(o, "note", cli_text(d->note));
    json_object_set_new(o, "frames", json_integer(d->frames));
    json_object_set_new(o, "unsolved", json_integer(d->unsolved));
    json_object_set_new(o, "steps", json_integer(d->steps));
    json_object_set_new(o, "laws_checked", json_integer(d->laws_checked));
    json_object_set_new(o, "laws_hold", d->laws_checked > 0 ? json_boolean(laws) : json_null());
    json_object_set_new(o, "tolerance", cli_number(tolerance));
    json_object_set_new(
        o, "worst",
        json_pack("{s:o, s:o, s:o, s:o, s:I}", "dynamics", cli_number(d->worst.dynamics), "normal",
                  cli_number(d->worst.normal), "friction", cli_number(d->worst.friction), "joints",
                  cli_number(d->worst.joints), "frame", (json_int_t)d->worst_frame));
    json_object_set_new(
        o, "ledger",
        json_pack("{s:I, s:o, s:I, s:o}", "checked", (json_int_t)d->ledger_checked, "holds",
                  d->ledger_checked > 0 ? json_boolean(d->ledger_frame < 0) : json_null(), "frame",
                  (json_int_t)d->ledger_frame, "message", cli_text(d->ledger_message)));
    json_object_set_new(o, "format_version", json_integer(d->format_version));
    json_object_set_new(o, "missing_plugin",
                        d->user_code[0] != '\0' ? cli_text(d->user_code) : json_null());
    json_object_set_new(o, "rerun", json_boolean(d->rerun));
    json_object_set_new(o, "same_bits", json_boolean(d->same_bits));
    json_object_set_new(o, "first_difference", json_integer(d->first_difference));
    json_object_set_new(o, "difference",
                        d->difference[0] != '\0' ? cli_text(d->difference) : json_null());
    cli_print_json(o);
}

typedef enum finding { GOOD, BAD, UNKNOWN } finding;

static void print_line(finding found, const char* what, const char* text)
{
    static const char* const word[] = {"ok", "BAD", "--"};
    printf("  %s%-4s%s %-14s ",
           found == GOOD  ? cli_green()
           : found == BAD ? cli_red()
                          : cli_dim(),
           word[found], cli_plain(), what);
    cli_put(text);
    printf("\n");
}

/* A recording can be valid although its run did not finish. */
static void print_end(const perp_verification* d)
{
    char text[512];
    if (d->finished) {
        return;
    }
    if (!d->complete) {
        (void)snprintf(text, sizeof text, "never came to its end: killed, or still at work");
    } else {
        (void)snprintf(text, sizeof text, "ended early%s%s", d->note[0] != '\0' ? ": " : "",
                       d->note[0] != '\0' ? d->note : ", before its duration");
    }
    print_line(UNKNOWN, "run", text);
}

static void print_laws(const perp_verification* d, const asked* a, bool laws, bool plugin)
{
    char text[200];
    if (plugin) {
        print_line(
            UNKNOWN, "laws",
            "not recomputed: a plugin's forces are not recorded; the second run checked them");
        return;
    }
    if (d->laws_checked > 0) {
        (void)snprintf(text, sizeof text,
                       "%lld of %lld steps: dynamics %.1e, normal %.1e, friction %.1e, "
                       "joints %.1e (allowed %.0e)",
                       (long long)d->laws_checked, (long long)d->steps, d->worst.dynamics,
                       d->worst.normal, d->worst.friction, d->worst.joints, a->tolerance);
        print_line(laws ? GOOD : BAD, "laws", text);
        return;
    }
    if (d->frames > 1) {
        (void)snprintf(text, sizeof text, "not checked: record.every is %d", (int)a->every);
    } else {
        (void)snprintf(text, sizeof text, "not checked: no step is recorded");
    }
    print_line(UNKNOWN, "laws", text);
}

static void print_ledger(const perp_verification* d)
{
    char text[260];
    if (d->ledger_frame >= 0) {
        (void)snprintf(text, sizeof text, "frame %lld: %s", (long long)d->ledger_frame,
                       d->ledger_message);
        print_line(BAD, "energy ledger", text);
    } else if (d->ledger_checked > 0) {
        (void)snprintf(text, sizeof text, "%lld frames agree with the recorded energies",
                       (long long)d->ledger_checked);
        print_line(GOOD, "energy ledger", text);
    } else if (d->format_version < 3) {
        print_line(UNKNOWN, "energy ledger", "none: recorded in format version 2");
    }
}

static void print_text(const char* path, const perp_verification* d, const asked* a, bool laws,
                       bool plugin)
{
    char text[240];
    printf("%s", cli_bold());
    cli_put(path);
    printf("%s: ", cli_plain());
    cli_put(d->message);
    (void)snprintf(text, sizeof text, "%lld frames, %s", (long long)d->frames,
                   d->complete ? "complete" : "not completed");
    printf("\n");
    print_line(d->intact ? GOOD : BAD, "hashes", text);
    if (!d->intact) {
        return;
    }
    print_end(d);
    if (d->user_code[0] != '\0') {
        (void)snprintf(text, sizeof text, "recorded with %.100s: its forces are not recorded",
                       d->user_code);
        print_line(UNKNOWN, "plugin", text);
    }
    if (d->unsolved > 0) {
        (void)snprintf(text, sizeof text,
                       "%lld frame%s with a step that was accepted unsolved (--keep-going): not to "
                       "be trusted",
                       (long long)d->unsolved, d->unsolved == 1 ? "" : "s");
        print_line(UNKNOWN, "solver", text);
    }
    print_laws(d, a, laws, plugin);
    print_ledger(d);
    if (!d->rerun) {
        (void)snprintf(text, sizeof text, "could not be run again");
    } else if (d->same_bits) {
        (void)snprintf(text, sizeof text, "a second run gives the same bits");
    } else {
        (void)snprintf(text, sizeof text, "a second run differs from frame %lld on%s%s",
                       (long long)d->first_difference, d->difference[0] != '\0' ? ", in " : "",
                       d->difference);
    }
    print_line(d->same_bits ? GOOD : BAD, "second run", text);
}

static int verify(const cli_args* args, perp_context* context, cli_plugins* plugins)
{
    const char* path = args->word[0];
    perp_verification verification;
    const bool with = plugins->count > 0;
    const perp_status status = perp_recording_verify_with(
        context, path, with ? cli_plugins_start : NULL, plugins, &verification);
    if (status != PERP_OK || !verification.intact) {
        cli_leave_quickly();
    }
    if (status != PERP_OK) {
        return cli_fail(args->json, cli_exit_of(status), "%s",
                        cli_plugins_message(plugins, context));
    }
    const asked a = verification.intact ? asked_of(context, path) : (asked){NAN, 1};
    const bool laws = verification.worst.worst <= a.tolerance; /* a NaN fails */
    const bool good = verification.intact && laws && verification.ledger_frame < 0 &&
                      verification.rerun && verification.same_bits;
    const int exit_status = good ? CLI_DONE : CLI_FAILED;
    if (args->json) {
        print_json(&verification, exit_status, a.tolerance, laws);
    } else {
        print_text(path, &verification, &a, laws, with);
    }
    return exit_status;
}

static int verb_verify(const cli_args* args)
{
    perp_context* context = cli_context(args->json);
    if (context == NULL) {
        return CLI_FAILED;
    }
    cli_plugins plugins = {0};
    int exit_status = cli_use_threads(args, context);
    if (exit_status == CLI_DONE) {
        exit_status = cli_plugins_load(args, context, &plugins);
    }
    if (exit_status == CLI_DONE) {
        exit_status = verify(args, context, &plugins);
    }
    cli_plugins_end(&plugins, NULL);
    perp_context_destroy(context);
    cli_plugins_free(&plugins);
    return exit_status;
}

static const cli_option options[] = {
    {"--plugin", "LIB[:ARG]", "the shared library that the run was made with"},
    CLI_THREADS_OPTION,
    {"--json", NULL, "print one JSON object"},
    {0},
};

const cli_verb cli_verb_verify = {
    .name = "verify",
    .usage = "R.h5 [--plugin LIB[:ARG]] [--json]",
    .summary = "check a recording: hashes, laws, energy ledger, and the same bits again",
    .text = "Exit status 0 if the file is intact, the recorded motion obeys the laws, the energy "
            "ledger agrees\nwith the recorded energies, and running the recorded scene again gives "
            "the same bits; 3 if not;\n2 if it is no recording.",
    .words_min = 1,
    .words_max = 1,
    .option = options,
    .run = verb_verify,
};
