/* cli/design_page.c - the page of a design: viewer/study/design.html with its evaluations, and in a
 * frame the replay page of two recordings: the start and the best candidate, in the first case. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "design.h"
#include "page.h"

#define MARKER "/*PERP-DESIGN*/"
#define FORMAT "{\"format\":\"perp-design-page\""
enum { ROW_LIMIT = 20000 };

extern const char cli_design_template[], cli_design_template_end[];

int design_check_page(const cli_args* args)
{
    return page_check_kind(args, FORMAT, (size_t)(cli_design_template_end - cli_design_template),
                           "a design");
}

/* ---- the two runs -----------------------------------------------------------------------------*/

static perp_status record_one(perp_context* context, perp_study* study,
                              const perp_run_options* given, int64_t evaluation, const char* path)
{
    perp_scene* scene = NULL;
    perp_runner* runner = NULL;
    perp_run_row row = {.outcome = "", .recording = "", .message = ""};
    perp_run_options options = *given; /* the user's code takes part */
    options.recording = path;
    (void)unlink(path); /* of an earlier page */
    perp_status status = perp_design_scene(study, evaluation, 0, &scene);
    if (status == PERP_OK) {
        status = perp_runner_create(context, &runner);
    }
    if (status == PERP_OK) {
        status = perp_runner_run(runner, scene, &options, &row);
    }
    perp_runner_destroy(runner);
    perp_scene_destroy(scene);
    return status;
}

/* A whole file, to be freed. */
static char* read_all(const char* path, size_t* size)
{
    FILE* file = fopen(path, "rb");
    char* text = NULL;
    long length = -1;
    if (file != NULL && fseek(file, 0, SEEK_END) == 0) {
        length = ftell(file);
    }
    if (length >= 0 && fseek(file, 0, SEEK_SET) == 0) {
        text = malloc((size_t)length + 1);
    }
    if (text != NULL && fread(text, 1, (size_t)length, file) != (size_t)length) {
        free(text);
        text = NULL;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    if (text != NULL) {
        text[length] = '\0';
        *size = (size_t)length;
    }
    return text;
}

/* The replay page of both recordings as text; NULL: there is none. `why` says what is left out. A
 * start without a value is: its run may have exceeded a limit or ended a worker, and here nothing
 * would protect this process. */
static char* replay_page(const cli_args* args, perp_context* context, perp_study* study,
                         const perp_run_options* options, const perp_design_report* report,
                         const char* database, char* why, size_t why_size)
{
    static const char* const what[] = {"best", "start"};
    const int64_t evaluation[] = {report->best, 1};
    const int count = isnan(report->start_value) ? 1 : 2;
    char path[2][4200], part[4300];
    char* text = NULL;
    size_t size = 0;
    page_run run[2] = {{0}};
    page_file out = {0};
    if (!page_available() || report->best == 0 || report->end == PERP_DESIGN_INTERRUPTED) {
        (void)snprintf(why, why_size, "%s",
                       report->best == 0   ? "no candidate has a value"
                       : !page_available() ? "this perp was built without the replay page"
                                           : "the design was interrupted");
        return NULL;
    }
    if (count == 1) {
        (void)snprintf(why, why_size, "the start has no value");
    }
    bool good = true;
    for (int i = 0; i < count && good; ++i) {
        perp_status status;
        design_file(database, what[i], 0, ".h5", path[i], sizeof path[i]);
        status = record_one(context, study, options, evaluation[i], path[i]);
        good = status == PERP_OK &&
               page_pack(context, path[i], &run[count - 1 - i], &status) == PAGE_OK;
        if (!good) {
            (void)snprintf(why, why_size, "no recording of the %s: %.300s", what[i],
                           perp_context_error(context));
        }
    }
    (void)snprintf(part, sizeof part, "%s.replay%ld", database, (long)getpid());
    if (good && page_file_begin(&out, part, true, args->json) == CLI_DONE) {
        long long bytes = 0;
        if (page_file_write(&out, run, count, &bytes) == CLI_DONE) {
            text = read_all(part, &size);
        }
        page_file_abandon(&out);
        (void)unlink(part);
    }
    page_run_free(&run[0]);
    page_run_free(&run[1]);
    return text;
}

/* ---- the file ---------------------------------------------------------------------------------*/

static void put_value(FILE* file, double x)
{
    if (isfinite(x)) {
        fprintf(file, "%.10g", x);
    } else {
        (void)fputs("null", file);
    }
}

typedef struct row_state {
    FILE* file;
    int32_t unknowns;
    int64_t every, best, written;
} row_state;

/* [id, objective, violation, feasible, start, runs without a value, half step, unknowns...] */
static bool put_evaluation(void* user, const perp_evaluation* e)
{
    row_state* s = user;
    if ((e->id - 1) % s->every != 0 && e->id != s->best && !e->half_step) {
        return true;
    }
    fprintf(s->file, "%s[%lld,", s->written++ > 0 ? ",\n" : "", (long long)e->id);
    put_value(s->file, e->objective);
    (void)fputc(',', s->file);
    put_value(s->file, e->violation);
    fprintf(s->file, ",%d,%d,%lld,%d", e->feasible ? 1 : 0, (int)e->start, (long long)e->failed,
            e->half_step ? 1 : 0);
    for (int32_t i = 0; i < s->unknowns; ++i) {
        (void)fputc(',', s->file);
        put_value(s->file, e->unknown[i]);
    }
    (void)fputc(']', s->file);
    return ferror(s->file) == 0;
}

static void put_head(FILE* file, const perp_study* study, const perp_design_report* r,
                     const char* database)
{
    const perp_design_info info = perp_study_design(study);
    const double* x = perp_design_candidate(study, r->best);
    const struct {
        const char *key, *text;
    } entry[] = {{"study", perp_study_name(study)},
                 {"database", database},
                 {"version", perp_version_string()},
                 {"method", perp_design_method_name(info.method)},
                 {"status", design_end_text(r->end)},
                 {"minimise", info.minimise},
                 {"message", r->message}};
    (void)fputs(FORMAT, file);
    for (size_t i = 0; i < sizeof entry / sizeof entry[0]; ++i) {
        fprintf(file, ",\"%s\":", entry[i].key);
        sweep_put_string(file, entry[i].text);
    }
    fprintf(file,
            ",\"evaluations\":%lld,\"simulations\":%lld,\"failed\":%lld,\"best_evaluation\":%lld",
            (long long)r->evaluations, (long long)r->simulations, (long long)r->failed,
            (long long)r->best);
    fprintf(file, ",\"feasible\":%s,\"start\":", r->feasible ? "true" : "false");
    put_value(file, r->start_value);
    fprintf(file, ",\"best\":");
    put_value(file, r->best > 0 ? r->best_value : NAN);
    if (info.method == PERP_DESIGN_GRADIENT) {
        fprintf(file, ",\"gradient\":{\"steps\":%lld,\"flagged\":%lld,\"handed_over\":%lld,",
                (long long)r->gradient_steps, (long long)r->flagged_steps,
                (long long)r->handed_over);
        fprintf(file, "\"reason\":");
        sweep_put_string(file, r->handed_over_reason);
        (void)fputc('}', file);
    }
    fprintf(file, ",\"half_step\":");
    put_value(file, r->half_step ? r->half_value : NAN);
    fprintf(file, ",\"constraints\":[");
    for (int32_t i = 0; i < info.constraint_count; ++i) {
        (void)fputs(i > 0 ? "," : "", file);
        sweep_put_string(file, perp_study_constraint(study, i));
    }
    fprintf(file, "],\"unknowns\":[");
    for (int32_t i = 0; i < info.unknown_count; ++i) {
        const perp_unknown u = perp_study_unknown(study, i);
        fprintf(file, "%s{\"name\":", i > 0 ? "," : "");
        sweep_put_string(file, u.name);
        fprintf(file, ",\"start\":%.10g,\"low\":%.10g,\"high\":%.10g,\"best\":", u.start, u.low,
                u.high);
        put_value(file, x != NULL ? x[i] : NAN);
        (void)fputc('}', file);
    }
    (void)fputc(']', file);
}

static perp_status put_data(FILE* file, perp_context* context, const perp_study* study,
                            const perp_design_report* report, const char* database)
{
    perp_results* results = NULL;
    row_state s = {.file = file,
                   .unknowns = perp_study_design(study).unknown_count,
                   .every = report->evaluations / ROW_LIMIT + 1,
                   .best = report->best};
    perp_status status = perp_results_open(context, database, &results);
    fprintf(file, ",\"data\":[");
    if (status == PERP_OK) {
        status = perp_results_evaluations(results, put_evaluation, &s);
    }
    fprintf(file, "]");
    perp_results_close(results);
    return status;
}

int design_write_page(const cli_args* args, perp_context* context, perp_study* study,
                      const perp_run_options* options, const perp_design_report* report,
                      const char* database)
{
    const char* path = cli_value(args, "--page");
    char part[4300], why[400] = "";
    if (path == NULL) {
        return CLI_DONE;
    }
    char* replay = replay_page(args, context, study, options, report, database, why, sizeof why);
    (void)snprintf(part, sizeof part, "%.4096s.part%ld", path, (long)getpid());
    FILE* file = fopen(part, "wb");
    if (file == NULL) {
        free(replay);
        return cli_fail(args->json, CLI_BAD_INPUT, "--page: %s: %s", path, strerror(errno));
    }
    const char* marker = strstr(cli_design_template, MARKER);
    (void)fwrite(cli_design_template, 1, (size_t)(marker - cli_design_template), file);
    put_head(file, study, report, database);
    const perp_status status = put_data(file, context, study, report, database);
    fprintf(file, ",\"why\":");
    sweep_put_string(file, why);
    fprintf(file, ",\"replay\":");
    if (replay != NULL) {
        sweep_put_string(file, replay);
    } else {
        (void)fputs("null", file);
    }
    (void)fputs("}", file);
    marker += strlen(MARKER);
    (void)fwrite(marker, 1, (size_t)(cli_design_template_end - marker), file);
    free(replay);
    const bool good = ferror(file) == 0;
    if (fclose(file) == 0 && good && status == PERP_OK && rename(part, path) == 0) {
        return CLI_DONE;
    }
    (void)unlink(part);
    return status != PERP_OK
               ? cli_fail(args->json, cli_exit_of(status), "%s", perp_context_error(context))
               : cli_fail(args->json, CLI_FAILED, "--page: cannot write %s: %s", path,
                          strerror(errno));
}
