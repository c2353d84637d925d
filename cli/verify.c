/* cli/verify.c - `perp verify`: hashes, laws, and the same bits again. */
#include <stdio.h>
#include <string.h>

#include "cli.h"

#define LAWS_TOLERANCE 1e-6

/* What the laws must hold to: what the run asked of its solver, but not below 1e-6, since recorded
 * numbers are formulated anew with their own rounding. */
static double tolerance_of(perp_context* context, const char* path)
{
    perp_recording* recording = NULL;
    perp_scene* scene = NULL;
    double tolerance = LAWS_TOLERANCE;
    if (perp_recording_open(context, path, &recording) == PERP_OK) {
        const char* text = perp_recording_scene_text(recording);
        if (perp_scene_parse(context, text, strlen(text), path, NULL, 0, &scene) == PERP_OK) {
            const double asked = perp_scene_run_settings(scene).tolerance;
            tolerance = asked > tolerance ? asked : tolerance;
        }
    }
    perp_scene_destroy(scene);
    perp_recording_close(recording);
    return tolerance;
}

static void print_json(const perp_verdict* d, int exit_status, double tolerance, bool laws)
{
    json_t* o = json_object();
    json_object_set_new(o, "status", json_string(cli_status_word(exit_status)));
    json_object_set_new(o, "message", cli_text(d->message));
    json_object_set_new(o, "intact", json_boolean(d->intact));
    json_object_set_new(o, "complete", json_boolean(d->complete));
    json_object_set_new(o, "frames", json_integer(d->frames));
    json_object_set_new(o, "laws_checked", json_integer(d->laws_checked));
    json_object_set_new(o, "laws_hold", json_boolean(laws));
    json_object_set_new(o, "tolerance", cli_number(tolerance));
    json_object_set_new(
        o, "worst",
        json_pack("{s:o, s:o, s:o, s:o, s:I}", "dynamics", cli_number(d->worst.dynamics), "normal",
                  cli_number(d->worst.normal), "friction", cli_number(d->worst.friction), "joints",
                  cli_number(d->worst.joints), "frame", (json_int_t)d->worst_frame));
    json_object_set_new(o, "rerun", json_boolean(d->rerun));
    json_object_set_new(o, "same_bits", json_boolean(d->same_bits));
    json_object_set_new(o, "first_difference", json_integer(d->first_difference));
    cli_print_json(o);
}

static void print_line(bool good, const char* what, const char* found)
{
    printf("  %s%-4s%s %-14s %s\n", good ? cli_green() : cli_red(), good ? "ok" : "BAD",
           cli_plain(), what, found);
}

static void print_text(const char* path, const perp_verdict* d, double tolerance, bool laws)
{
    char text[160];
    printf("%s%s%s: %s\n", cli_bold(), path, cli_plain(), d->message);
    (void)snprintf(text, sizeof text, "%lld frames, %s", (long long)d->frames,
                   d->complete ? "complete" : "interrupted");
    print_line(d->intact, "hashes", text);
    if (!d->intact) {
        return;
    }
    if (d->laws_checked > 0) {
        (void)snprintf(text, sizeof text,
                       "%lld steps: dynamics %.1e, normal %.1e, friction %.1e (allowed %.0e)",
                       (long long)d->laws_checked, d->worst.dynamics, d->worst.normal,
                       d->worst.friction, tolerance);
    } else {
        (void)snprintf(text, sizeof text, "not checked: no two frames are one step apart");
    }
    print_line(laws, "laws", text);
    if (!d->rerun) {
        (void)snprintf(text, sizeof text, "could not be run again");
    } else if (d->same_bits) {
        (void)snprintf(text, sizeof text, "a second run gives the same bits");
    } else {
        (void)snprintf(text, sizeof text, "a second run differs from frame %lld on",
                       (long long)d->first_difference);
    }
    print_line(d->same_bits, "second run", text);
}

static int verify(const cli_args* args, perp_context* context)
{
    const char* path = args->word[0];
    perp_verdict verdict;
    const perp_status status = perp_recording_verify(context, path, &verdict);
    if (status != PERP_OK || !verdict.intact) {
        cli_leave_quickly();
    }
    if (status != PERP_OK) {
        return cli_fail(args->json, cli_exit_of(status), "%s", perp_context_error(context));
    }
    const double tolerance = verdict.intact ? tolerance_of(context, path) : LAWS_TOLERANCE;
    const bool laws = verdict.worst.worst <= tolerance; /* a NaN fails */
    const bool good = verdict.intact && laws && verdict.rerun && verdict.same_bits;
    const int exit_status = good ? CLI_DONE : CLI_FAILED;
    if (args->json) {
        print_json(&verdict, exit_status, tolerance, laws);
    } else {
        print_text(path, &verdict, tolerance, laws);
    }
    return exit_status;
}

static int run(const cli_args* args)
{
    perp_context* context = cli_context(args->json);
    if (context == NULL) {
        return CLI_FAILED;
    }
    const int exit_status = verify(args, context);
    perp_context_destroy(context);
    return exit_status;
}

static const cli_option options[] = {
    {"--json", NULL, "print one JSON object", NULL},
    {0},
};

const cli_verb cli_verb_verify = {
    .name = "verify",
    .usage = "R.h5 [--json]",
    .summary = "check a recording: hashes, laws, and the same bits again",
    .text = "Exit status 0 if the file is intact, the recorded motion obeys the laws, and running "
            "the recorded\nscene again gives the same bits; 3 if not; 2 if it is no recording.",
    .words_min = 1,
    .words_max = 1,
    .option = options,
    .run = run,
};
