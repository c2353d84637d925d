/* cli/export.c - `perp export`: a recording as a table, CSV or JSON, row by row. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

typedef struct table {
    bool json;
    bool planar;
    const perp_model* model;
    int32_t body;            /* the only one, or -1 for all */
    bool ledger;             /* the recording has one */
    bool first;              /* no cell in this row yet */
    perp_quantity* quantity; /* the columns that were asked for; none: the usual ones */
    int32_t quantity_count;
    double* value;
} table;

/* ---- cells ------------------------------------------------------------------------------------*/

static void separate(table* t)
{
    if (!t->first) {
        fputs(t->json ? ", " : ",", stdout);
    }
    t->first = false;
}

static void put_number(table* t, double x)
{
    separate(t);
    if (t->json && !isfinite(x)) {
        fputs("null", stdout);
    } else {
        printf("%.17g", x);
    }
}

static void put_integer(table* t, long long x)
{
    separate(t);
    printf("%lld", x);
}

/* A name of a column: quoted in JSON, and in CSV where it must be. */
static void put_name(table* t, const char* prefix, const char* suffix)
{
    char* name = malloc(strlen(prefix) + strlen(suffix) + 2);
    if (name == NULL) {
        return;
    }
    (void)sprintf(name, "%s%s%s", prefix, prefix[0] != '\0' ? "." : "", suffix);
    separate(t);
    if (t->json) {
        json_t* string = cli_text(name);
        (void)json_dumpf(string, stdout, JSON_ENCODE_ANY);
        json_decref(string);
    } else if (strpbrk(name, ",\"\n\r") != NULL) {
        putchar('"');
        for (const char* c = name; *c != '\0'; ++c) {
            if (*c == '"') {
                putchar('"');
            }
            putchar(*c);
        }
        putchar('"');
    } else {
        fputs(name, stdout);
    }
    free(name);
}

/* What the coordinates of a joint are called, up to three. */
static const char* const* coordinate_names(const perp_joint_info* info)
{
    static const char* const names[PERP_JOINT_TYPE_COUNT][3] = {
        [PERP_JOINT_REVOLUTE] = {"angle"},
        [PERP_JOINT_PRISMATIC] = {"travel"},
        [PERP_JOINT_CYLINDRICAL] = {"travel", "angle"},
        [PERP_JOINT_UNIVERSAL] = {"angle", "angle2"},
        [PERP_JOINT_PLANAR] = {"travel_x", "travel_y", "angle"},
        [PERP_JOINT_ROPE] = {"distance"},
    };
    static const char* const other[3] = {"coordinate", "coordinate2", "coordinate3"};
    return names[info->type][0] != NULL ? names[info->type] : other;
}

/* ---- rows -------------------------------------------------------------------------------------*/

static void put_names(table* t)
{
    static const char* const spatial[] = {"x",  "y",  "z",  "qw", "qx", "qy", "qz",
                                          "vx", "vy", "vz", "wx", "wy", "wz"};
    static const char* const planar[] = {"x", "y", "angle", "vx", "vy", "w"};
    static const char* const tail[][2] = {
        {"energy", "kinetic"},       {"energy", "potential"},   {"energy", "total"},
        {"certificate", "dynamics"}, {"certificate", "normal"}, {"certificate", "friction"},
        {"certificate", "joints"},
    };
    const char* const* own = t->planar ? planar : spatial;
    const int count = t->planar ? 6 : 13;
    t->first = true;
    put_name(t, "", "time");
    put_name(t, "", "step");
    for (int32_t i = 0; i < t->quantity_count; ++i) {
        char name[1400];
        (void)perp_quantity_name(t->model, &t->quantity[i], name, sizeof name);
        put_name(t, "", name);
    }
    if (t->quantity_count > 0) {
        return;
    }
    for (int32_t b = 0; b < perp_model_body_count(t->model); ++b) {
        for (int i = 0; i < count && (t->body < 0 || t->body == b); ++i) {
            put_name(t, perp_model_body_name(t->model, b), own[i]);
        }
    }
    for (int32_t j = 0; t->body < 0 && j < perp_model_joint_count(t->model); ++j) {
        const perp_joint_info info = perp_model_joint_info(t->model, j);
        const char* const* coordinate = coordinate_names(&info);
        const char* name = perp_model_joint_name(t->model, j);
        char* prefix = malloc(strlen(name) + sizeof "joint.");
        if (prefix == NULL) {
            return;
        }
        (void)sprintf(prefix, "joint.%s", name);
        for (int32_t i = 0; i < info.coordinates; ++i) {
            put_name(t, prefix, coordinate[i]);
        }
        put_name(t, prefix, "error");
        put_name(t, prefix, "error_angle");
        put_name(t, prefix, "axis_impulse");
        free(prefix);
    }
    for (size_t i = 0; i < sizeof tail / sizeof tail[0]; ++i) {
        put_name(t, tail[i][0], tail[i][1]);
    }
    for (int32_t i = 0; t->ledger && i < PERP_LEDGER_COUNT; ++i) {
        put_name(t, "ledger", perp_ledger_name(i));
    }
    if (t->ledger) {
        put_name(t, "momentum_error", "linear");
        put_name(t, "momentum_error", "angular");
        put_name(t, "", "crossings");
    }
}

static void put_frame(table* t, const perp_frame* frame)
{
    const int32_t nq = t->planar ? 3 : 7, nv = t->planar ? 3 : 6;
    t->first = true;
    put_number(t, frame->time);
    put_integer(t, frame->step);
    for (int32_t i = 0; i < t->quantity_count; ++i) {
        put_number(t, t->value[i]);
    }
    if (t->quantity_count > 0) {
        return;
    }
    for (int32_t b = 0; b < perp_model_body_count(t->model); ++b) {
        if (t->body >= 0 && t->body != b) {
            continue;
        }
        for (int32_t i = 0; i < nq; ++i) {
            put_number(t, frame->q[nq * b + i]);
        }
        for (int32_t i = 0; i < nv; ++i) {
            put_number(t, frame->v[nv * b + i]);
        }
    }
    for (int32_t j = 0; t->body < 0 && j < frame->joint_count; ++j) {
        const perp_joint_record* r = &frame->joints[j];
        for (int32_t i = 0; i < perp_model_joint_info(t->model, j).coordinates; ++i) {
            put_number(t, r->coordinate[i]);
        }
        put_number(t, r->error[0]);
        put_number(t, r->error[1]);
        put_number(t, r->law[0] - r->law[1] + r->law[2] + r->law[3] + r->law[4]);
    }
    put_number(t, frame->energy.kinetic);
    put_number(t, frame->energy.potential);
    put_number(t, frame->energy.total);
    put_number(t, frame->info.certificate.dynamics);
    put_number(t, frame->info.certificate.normal);
    put_number(t, frame->info.certificate.friction);
    put_number(t, frame->info.certificate.joints);
    for (int32_t i = 0; t->ledger && i < PERP_LEDGER_COUNT; ++i) {
        put_number(t, perp_ledger_entry(&frame->info.ledger, i));
    }
    if (t->ledger) {
        put_number(t, frame->info.momentum_error[0]);
        put_number(t, frame->info.momentum_error[1]);
        put_integer(t, frame->info.crossings);
    }
}

static perp_status put_all(table* t, perp_recording* recording, const perp_scene* scene)
{
    const int64_t frames = perp_recording_frame_count(recording);
    perp_status status = PERP_OK;
    if (t->json) {
        json_t* name = json_string(perp_scene_name(scene));
        fputs("{\"status\": \"ok\", \"scene\": ", stdout);
        (void)json_dumpf(name, stdout, JSON_ENCODE_ANY);
        json_decref(name);
        printf(", \"complete\": %s, \"frames\": %lld,\n\"columns\": [",
               perp_recording_complete(recording) ? "true" : "false", (long long)frames);
    }
    put_names(t);
    fputs(t->json ? "],\n\"rows\": [\n" : "\n", stdout);
    for (int64_t k = 0; k < frames && !ferror(stdout); ++k) {
        perp_frame frame;
        status = perp_recording_quantities(recording, k, t->quantity, t->quantity_count, t->value);
        if (status == PERP_OK) {
            status = perp_recording_frame(recording, k, &frame);
        }
        if (status != PERP_OK) {
            break;
        }
        if (t->json) {
            putchar('[');
        }
        put_frame(t, &frame);
        fputs(!t->json ? "\n" : k + 1 < frames ? "],\n" : "]\n", stdout);
    }
    if (t->json) {
        fputs("]}\n", stdout);
    }
    return status;
}

/* Frames are checked before anything is printed, so that the output is complete or empty. */
static perp_status check_frames(perp_recording* recording)
{
    perp_status status = PERP_OK;
    for (int64_t k = 0; status == PERP_OK && k < perp_recording_frame_count(recording); ++k) {
        perp_frame frame;
        status = perp_recording_frame(recording, k, &frame);
    }
    return status;
}

static int find_body(const cli_args* args, const perp_model* model, const char* path, table* t)
{
    const char* wanted = cli_value(args, "--body");
    t->body = -1;
    if (wanted == NULL) {
        return CLI_DONE;
    }
    t->body = perp_model_body_find(model, wanted);
    if (t->body >= 0) {
        return CLI_DONE;
    }
    const int32_t count = perp_model_body_count(model);
    const char** names = calloc((size_t)count + 1, sizeof *names);
    for (int32_t i = 0; names != NULL && i < count; ++i) {
        names[i] = perp_model_body_name(model, i);
    }
    const char* nearest = names != NULL ? cli_nearest(wanted, names) : NULL;
    free(names);
    return nearest != NULL ? cli_fail(args->json, CLI_BAD_INPUT,
                                      "%s: no body '%s': did you mean '%s'?", path, wanted, nearest)
                           : cli_fail(args->json, CLI_BAD_INPUT, "%s: no body '%s'", path, wanted);
}

/* The quantities named behind the recording. */
static int find_quantities(const cli_args* args, perp_context* context, table* t)
{
    for (int i = 1; i < args->word_count; ++i) {
        int32_t found = 0;
        const char* name = args->word[i];
        if (perp_quantity_find(context, t->model, name, NULL, 0, &found) != PERP_OK) {
            return cli_fail(args->json, CLI_BAD_INPUT, "%.400s: %s", args->word[0],
                            perp_context_error(context));
        }
        const size_t room = (size_t)t->quantity_count + (size_t)found;
        perp_quantity* more = realloc(t->quantity, room * sizeof *more);
        t->quantity = more != NULL ? more : t->quantity;
        if (more == NULL || perp_quantity_find(context, t->model, name, more + t->quantity_count,
                                               found, &found) != PERP_OK) {
            return cli_fail(args->json, CLI_FAILED, "out of memory");
        }
        t->quantity_count += found;
    }
    t->value = calloc((size_t)t->quantity_count + 1, sizeof *t->value);
    return t->value != NULL ? CLI_DONE : cli_fail(args->json, CLI_FAILED, "out of memory");
}

static int export_recording(const cli_args* args, perp_context* context, perp_recording** recording,
                            perp_scene** scene)
{
    const char* path = args->word[0];
    perp_status status = perp_recording_open(context, path, recording);
    if (status == PERP_OK) {
        status = check_frames(*recording);
    }
    if (status == PERP_OK) {
        const char* text = perp_recording_scene_text(*recording);
        status = perp_scene_parse(context, text, strlen(text), path, NULL, 0, scene);
    }
    if (status != PERP_OK) {
        cli_leave_quickly();
        return cli_fail(args->json, cli_exit_of(status), "%s", perp_context_error(context));
    }
    table t = {.json = args->json, .model = perp_scene_model(*scene)};
    t.planar = perp_model_dimension(t.model) == 2;
    t.ledger = perp_recording_has_ledger(*recording);
    int exit_status = find_body(args, t.model, path, &t);
    if (exit_status == CLI_DONE) {
        exit_status = find_quantities(args, context, &t);
    }
    status = exit_status == CLI_DONE ? put_all(&t, *recording, *scene) : PERP_OK;
    free(t.quantity);
    free(t.value);
    if (exit_status != CLI_DONE) {
        return exit_status;
    }
    if (status != PERP_OK) {
        cli_complain("%s", perp_context_error(context));
        return CLI_FAILED;
    }
    return CLI_DONE;
}

static int verb_export(const cli_args* args)
{
    perp_recording* recording = NULL;
    perp_scene* scene = NULL;
    if (args->json && cli_flag(args, "--csv")) {
        return cli_fail(true, CLI_BAD_INPUT, "export: --csv or --json, not both");
    }
    perp_context* context = cli_context(args->json);
    if (context == NULL) {
        return CLI_FAILED;
    }
    const int exit_status = export_recording(args, context, &recording, &scene);
    perp_recording_close(recording);
    perp_scene_destroy(scene);
    perp_context_destroy(context);
    return exit_status;
}

static const cli_option options[] = {
    {"--body", "NAME", "only this body"},
    {"--csv", NULL, "comma-separated with a header (the default)"},
    {"--json", NULL, "one object with `columns` and `rows`"},
    {0},
};

const cli_verb cli_verb_export = {
    .name = "export",
    .usage = "R.h5 [QUANTITY...] [--body NAME] [--csv|--json]",
    .summary = "a recording as a table on standard output",
    .text = "One row per frame: time, step, pose and velocity of each body, coordinates and "
            "errors of each joint, energy, certificate,\nthe energy ledger since the row before "
            "(not of recordings of format version 2), momentum errors,\ncrossings. "
            "Numbers have 17 digits: they read back to the same bits.\nWith QUANTITY, as "
            "ball.position or distance.ball.wall (see 'perp list quantities'), only time, step "
            "and these.",
    .words_min = 1,
    .words_max = 1000,
    .option = options,
    .run = verb_export,
};
