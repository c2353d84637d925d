/* cli/estimate.c - `perp estimate`: parameters of a scene from measured motion. */
#include "estimate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- progress ---------------------------------------------------------------------------------*/

static bool show_progress(void* user, int64_t iteration, double objective)
{
    sweep_line* line = user;
    if (line->on) {
        fprintf(stderr, "\r\033[Kiteration %lld  objective %.8g", (long long)iteration, objective);
        (void)fflush(stderr);
        line->drawn = true;
        cli_line_shown(true);
    }
    return !sweep_stop_asked();
}

/* ---- the report -------------------------------------------------------------------------------*/

static double number_at(const json_t* object, const char* key)
{
    const json_t* value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static long long integer_at(const json_t* object, const char* key)
{
    return (long long)json_integer_value(json_object_get(object, key));
}

static const char* text_at(const json_t* object, const char* key)
{
    const char* text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

static void print_errors(const char* what, const json_t* errors)
{
    printf("  %-14s %lld trajector%s", what, integer_at(errors, "trajectories"),
           integer_at(errors, "trajectories") == 1 ? "y" : "ies");
    if (integer_at(errors, "failed") > 0) {
        printf(", %lld of them could not be simulated", integer_at(errors, "failed"));
    }
    if (!isnan(number_at(errors, "position"))) {
        printf(", position %.4g", number_at(errors, "position"));
    }
    if (!isnan(number_at(errors, "rotation_degrees"))) {
        printf(", rotation %.4g degrees", number_at(errors, "rotation_degrees"));
    }
    if (!isnan(number_at(errors, "same_face"))) {
        printf(", same face at the end %.4g %%", 100.0 * number_at(errors, "same_face"));
    }
    const json_t* energy = json_object_get(errors, "kinetic_energy_error");
    if (energy != NULL) {
        printf(", error in the norm of the kinetic energy %.4g %% (rms), %.4g %% (mean)",
               100.0 * number_at(energy, "rms"), 100.0 * number_at(energy, "mean"));
    }
    printf("\n");
    json_t* channels = json_object_get(errors, "channels");
    for (void* i = json_object_iter(channels); i != NULL; i = json_object_iter_next(channels, i)) {
        const json_t* c = json_object_iter_value(i);
        if (integer_at(c, "values") == 0) { /* the poses of impacts are given */
            continue;
        }
        printf("                 ");
        cli_put_name(json_object_iter_key(i), 16);
        printf(" rms %.5g (%.3g times the noise), %lld values\n", number_at(c, "rms"),
               number_at(c, "rms_over_noise"), integer_at(c, "values"));
    }
}

static void print_values(const perp_estimate* estimate)
{
    for (int32_t i = 0; i < perp_estimate_count(estimate); ++i) {
        const perp_estimated x = perp_estimate_value(estimate, i);
        printf("  %s", i == 0 ? "estimates      " : "               ");
        cli_put_name(x.name, 16);
        if (x.identifiable || isfinite(x.low) || isfinite(x.high)) {
            printf(" %.8g  95 %%: %.8g to %.8g%s\n", x.value, x.low, x.high,
                   x.at_bound ? ", at a bound" : "");
        } else {
            printf(" %snot identifiable%s: the data cannot tell it (any value; %.4g is where the "
                   "search ended)\n",
                   cli_red(), cli_plain(), x.value);
        }
    }
}

/* Parameters that go together, and pairs that can hardly be told apart. */
static void print_warnings(const perp_estimate* estimate, const json_t* root)
{
    const json_t* list = json_object_get(root, "unidentifiable");
    for (size_t k = 0; k < json_array_size(list); ++k) {
        json_t* item = json_array_get(list, k);
        printf("  %s", k == 0 ? "cannot be told " : "               ");
        for (void* i = json_object_iter(item); i != NULL; i = json_object_iter_next(item, i)) {
            printf("%s%.3g ", i == json_object_iter(item) ? "" : " + ",
                   json_number_value(json_object_iter_value(i)));
            cli_put_name(json_object_iter_key(i), 0);
        }
        printf("%s\n", json_object_size(item) > 1 ? " (in sizes of each)" : "");
    }
    const json_t* all = json_object_get(root, "correlations");
    for (int32_t i = 0; i < perp_estimate_count(estimate); ++i) {
        for (int32_t j = i + 1; j < perp_estimate_count(estimate); ++j) {
            const char *a = perp_estimate_value(estimate, i).name,
                       *b = perp_estimate_value(estimate, j).name;
            const double r = number_at(json_object_get(all, a), b);
            if (fabs(r) > 0.95) {
                printf("  correlated     ");
                cli_put_name(a, 0);
                printf(" and ");
                cli_put_name(b, 0);
                printf(": %.4f\n", r);
            }
        }
    }
}

static void print_report(const perp_estimate* estimate, const json_t* root, const char* out)
{
    printf("%s", cli_bold());
    cli_put_name(text_at(root, "study"), 0);
    printf("%s: %s after %lld iterations, %lld %s, derivatives by %s\n", cli_plain(),
           strcmp(text_at(root, "status"), "converged") == 0 ? "converged" : "not converged",
           integer_at(root, "iterations"), integer_at(root, "evaluations"),
           json_object_get(root, "laws") != NULL ? "pairs of states" : "trajectories simulated",
           text_at(root, "derivatives"));
    printf("  method         %s\n", text_at(root, "method"));
    if (text_at(root, "message")[0] != '\0') {
        printf("  note           ");
        cli_put(text_at(root, "message"));
        printf("\n");
    }
    print_values(estimate);
    print_warnings(estimate, root);
    print_errors("residuals", json_object_get(root, "residuals"));
    if (json_is_object(json_object_get(root, "held_out"))) {
        print_errors("held out", json_object_get(root, "held_out"));
    }
    if (out[0] != '\0') {
        printf("  fitted         ");
        cli_put(out);
        printf("\n");
    }
}

static void print_plan(const json_t* root)
{
    printf("%s", cli_bold());
    cli_put_name(text_at(root, "study"), 0);
    printf("%s: what each candidate would add, the best first\n", cli_plain());
    const json_t* list = json_object_get(root, "candidates");
    for (size_t k = 0; k <= json_array_size(list); ++k) {
        const json_t* item = k == 0 ? root : json_array_get(list, k - 1);
        json_t* each = json_object_get(item, "standard_deviations");
        printf("  ");
        cli_put_name(k == 0 ? "now" : text_at(item, "name"), 20);
        if (k > 0) {
            printf(" gain %8.4f ", number_at(item, "gain"));
        } else {
            printf("               ");
        }
        for (void* i = json_object_iter(each); i != NULL; i = json_object_iter_next(each, i)) {
            const json_t* value = json_object_iter_value(i);
            printf("  ");
            cli_put_name(json_object_iter_key(i), 0);
            if (json_is_number(value)) {
                printf(" +- %.4g", json_number_value(value));
            } else {
                printf(" not identifiable");
            }
        }
        printf("\n");
    }
}

/* ---- files ------------------------------------------------------------------------------------*/

/* "NAME.fitted.json" of a study NAME.json, here; or what --out says. */
static char* default_out(const char* study, const char* suffix)
{
    char* database = sweep_default_out(study);
    const size_t size = database != NULL ? strlen(database) + strlen(suffix) + 1 : 0;
    char* out = database != NULL ? malloc(size) : NULL;
    if (out != NULL) {
        (void)snprintf(out, size, "%.*s%s", (int)strlen(database) - 3, database, suffix);
    }
    free(database);
    return out;
}

static int check_out(const cli_args* args, const perp_study* study, const char* out)
{
    const char* scene = perp_study_scene_path(study);
    if (sweep_same_file(out, args->word[0]) || (scene != NULL && sweep_same_file(out, scene))) {
        return cli_fail(args->json, CLI_BAD_INPUT, "--out: %s is the %s: give another name", out,
                        sweep_same_file(out, args->word[0]) ? "study itself" : "scene");
    }
    return CLI_DONE;
}

/* The fitted study, and beside it its scene: F.json, F.scene.json. */
static perp_status save_fitted(perp_estimate* estimate, const char* out)
{
    const size_t length = strlen(out);
    const bool json = length > 5 && strcmp(out + length - 5, ".json") == 0;
    const size_t size = length + 20;
    char* scene = malloc(size);
    perp_status status = perp_estimate_save(estimate, out);
    if (scene == NULL) {
        return PERP_ERROR_MEMORY;
    }
    (void)snprintf(scene, size, "%.*s.scene.json", (int)(json ? length - 5 : length), out);
    if (status == PERP_OK) {
        status = perp_estimate_save_scene(estimate, scene);
    }
    free(scene);
    return status;
}

/* ---- the verb ---------------------------------------------------------------------------------*/

typedef enum mode { FIT, PREDICT, PLAN } mode;

static perp_status compute(const cli_args* args, mode what, perp_context* context,
                           perp_study* study, perp_estimate_def* def, perp_estimate** estimate)
{
    const char* data[64];
    int32_t count = 0;
    switch (what) {
    case PREDICT:
        for (int i = 0; i < args->given_count && count < 64; ++i) {
            if (strcmp(args->given[i].option->name, "--predict") == 0) {
                data[count++] = args->given[i].value;
            }
        }
        return perp_estimate_predict(context, study, data, count, def, estimate);
    case PLAN: return perp_estimate_plan(context, study, def, estimate);
    case FIT: break;
    }
    return perp_estimate_run(context, study, def, estimate);
}

static int report(const cli_args* args, mode what, const perp_estimate* estimate, const char* out)
{
    json_t* root = json_loads(perp_estimate_json(estimate), 0, NULL);
    if (root == NULL) {
        return cli_fail(args->json, CLI_FAILED, "out of memory");
    }
    const bool good = perp_estimate_converged(estimate);
    if (!good) {
        cli_complain("%s: not converged: %s", args->word[0], text_at(root, "message"));
    }
    if (args->json) {
        json_object_set_new(root, what == PREDICT ? "rows" : "fitted",
                            out[0] != '\0' ? cli_text(out) : json_null());
        cli_print_json(root);
        return good ? CLI_DONE : CLI_FAILED;
    }
    if (!cli_flag(args, "--quiet")) {
        if (what == FIT) {
            print_report(estimate, root, out);
        } else if (what == PLAN) {
            print_plan(root);
        } else {
            print_errors("prediction", root);
        }
    }
    json_decref(root);
    return good ? CLI_DONE : CLI_FAILED;
}

/* Files that belong to the result. */
static perp_status save(const cli_args* args, mode what, perp_estimate* estimate, const char* out)
{
    (void)args;
    return what == FIT                         ? save_fitted(estimate, out)
           : what == PREDICT && out[0] != '\0' ? perp_estimate_save_rows(estimate, out)
                                               : PERP_OK;
}

static int run_estimate(const cli_args* args, mode what, perp_context* context, const char* out)
{
    perp_study* study = NULL;
    perp_estimate* estimate = NULL;
    perp_estimate_def def = perp_estimate_def_default();
    sweep_line line;
    int exit_status = sweep_read_jobs(args, &def.jobs);
    if (exit_status != CLI_DONE) {
        return exit_status;
    }
    perp_status status = perp_study_load(context, args->word[0], &study);
    if (status == PERP_OK && out[0] != '\0') {
        exit_status = check_out(args, study, out);
    }
    if (status == PERP_OK && exit_status == CLI_DONE) {
        sweep_watch_signals();
        sweep_line_begin(&line, cli_flag(args, "--quiet") || args->json);
        def.progress = show_progress;
        def.user = &line;
        (void)fflush(stdout);
        status = compute(args, what, context, study, &def, &estimate);
        sweep_line_end(&line);
    }
    if (status == PERP_OK && exit_status == CLI_DONE) {
        status = save(args, what, estimate, out);
    }
    if (status == PERP_OK && exit_status == CLI_DONE && what != PLAN) {
        exit_status = estimate_write_page(args, context, estimate);
    }
    if (status != PERP_OK) {
        exit_status = cli_fail(args->json, cli_exit_of(status), "%s", perp_context_error(context));
    } else if (exit_status == CLI_DONE) {
        exit_status = report(args, what, estimate, out);
    }
    perp_estimate_destroy(estimate);
    perp_study_destroy(study);
    return exit_status;
}

static int verb_estimate(const cli_args* args)
{
    const mode what = cli_value(args, "--predict") != NULL ? PREDICT
                      : cli_flag(args, "--plan")           ? PLAN
                                                           : FIT;
    const char* given = cli_value(args, "--out");
    if (what == PREDICT && cli_flag(args, "--plan")) {
        return cli_fail(args->json, CLI_BAD_INPUT, "--plan or --predict, not both");
    }
    int exit_status = estimate_check_page(args);
    if (exit_status != CLI_DONE) {
        return exit_status;
    }
    char* out = given != NULL ? strdup(given)
                : what == FIT ? default_out(args->word[0], ".fitted.json")
                              : strdup("");
    perp_context* context = sweep_context(args->json);
    if (out == NULL || context == NULL) {
        free(out);
        perp_context_destroy(context);
        return CLI_FAILED;
    }
    exit_status = run_estimate(args, what, context, out);
    perp_context_destroy(context);
    free(out);
    return exit_status;
}

static const cli_option options[] = {
    {"--out", "F.json", "the fitted study (-o); with --predict the predicted rows, F.csv"},
    {"--predict", "DATA.csv",
     "fit nothing: predict other data from their first rows, print the errors"},
    {"--plan", NULL, "say which of the study's candidates would shrink the intervals most"},
    {"--jobs", "N", "workers at a time (all processors)"},
    {"--page", "F.html", "also write a page: data and fit over time, residuals, intervals"},
    {"--json", NULL, "print the result as one JSON object"},
    {"--quiet", NULL, "print nothing but errors"},
    {0},
};

const cli_verb cli_verb_estimate = {
    .name = "estimate",
    .usage = "STUDY [--predict DATA.csv | --plan] [options]",
    .summary = "estimate parameters of a scene from measured motion",
    .text =
        "STUDY is a JSON file that names a scene, CSV data, what their columns observe, and the\n"
        "unknowns (docs/studies.md). Prints estimates with intervals of 95 %, what the data\n"
        "cannot tell, and errors on trajectories held out. The fitted study is written\n"
        "(NAME.fitted.json, and its scene NAME.fitted.scene.json): it predicts other data.",
    .words_min = 1,
    .words_max = 1,
    .option = options,
    .run = verb_estimate,
};
