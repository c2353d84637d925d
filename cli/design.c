/* cli/design.c - `perp design`: values of parameters that minimise an objective of simulations. */
#include "design.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void design_file(const char* database, const char* what, int32_t design_case, const char* suffix,
                 char* path, size_t size)
{
    const size_t length = strlen(database);
    const bool db = length > 3 && strcmp(database + length - 3, ".db") == 0;
    char number[16] = "";
    if (design_case > 0) {
        (void)snprintf(number, sizeof number, ".%d", (int)design_case + 1);
    }
    (void)snprintf(path, size, "%.*s.%s%s%s", (int)(db ? length - 3 : length), database, what,
                   number, suffix);
}

/* One name that is written beside the database. */
static int check_file(const cli_args* args, const perp_study* study, const char* path)
{
    const char* page = cli_value(args, "--page");
    const char* scene = perp_study_scene_path(study);
    if (page != NULL && sweep_same_file(path, page)) {
        return cli_fail(args->json, CLI_BAD_INPUT,
                        "--page: %s is written beside the database: give another file", page);
    }
    if (sweep_same_file(path, args->word[0]) || (scene != NULL && sweep_same_file(path, scene))) {
        return cli_fail(args->json, CLI_BAD_INPUT,
                        "--out: %s, which is written beside the database, is the %s: give another "
                        "name",
                        path, sweep_same_file(path, args->word[0]) ? "study itself" : "scene");
    }
    return CLI_DONE;
}

int design_check_files(const cli_args* args, const perp_study* study, const char* database)
{
    char path[4200];
    const int32_t cases = perp_study_design(study).case_count;
    int exit_status = CLI_DONE;
    for (int32_t i = 0; i < cases && exit_status == CLI_DONE; ++i) {
        design_file(database, "best", i, ".json", path, sizeof path);
        exit_status = check_file(args, study, path);
    }
    static const char* const recorded[] = {"start", "best"};
    for (int i = 0; i < 2 && exit_status == CLI_DONE; ++i) {
        design_file(database, recorded[i], 0, ".h5", path, sizeof path);
        exit_status = check_file(args, study, path);
    }
    return exit_status;
}

/* ---- progress ---------------------------------------------------------------------------------*/

static bool show_progress(void* user, const perp_design_report* r)
{
    sweep_line* line = user;
    if (line->on) {
        const int columns = cli_columns(STDERR_FILENO);
        char text[300], best[60] = "none";
        if (r->best > 0) {
            (void)snprintf(best, sizeof best, "%.8g%s (evaluation %lld)", r->best_value,
                           r->feasible ? "" : " infeasible", (long long)r->best);
        }
        const int used =
            snprintf(text, sizeof text, "%lld of %lld evaluations  best %s  %.1f runs/s",
                     (long long)r->evaluations, (long long)r->limit, best,
                     r->seconds > 0.0 ? (double)r->simulations / r->seconds : 0.0);
        if (r->starts > 1 && used > 0 && used < (int)sizeof text) {
            (void)snprintf(text + used, sizeof text - (size_t)used, "  start %d of %d",
                           (int)r->start, (int)r->starts);
        }
        fprintf(stderr, "\r\033[K%.*s", columns > 1 ? columns - 1 : 79, text);
        (void)fflush(stderr);
        line->drawn = true;
        cli_line_shown(true);
    }
    return !sweep_stop_asked();
}

/* ---- the report -------------------------------------------------------------------------------*/

/* -1: at the lower bound, 1: at the upper one, within the tolerance of the search. */
static int active_bound(const perp_unknown* u, double x, double tolerance)
{
    const double near = tolerance * u->scale;
    return x - u->low <= near ? -1 : u->high - x <= near ? 1 : 0;
}

const char* design_end_text(perp_design_end end)
{
    return end == PERP_DESIGN_LIMIT ? "ended by its limit" : perp_design_end_name(end);
}

static void print_values(const perp_study* study, const perp_design_report* r)
{
    const perp_design_info info = perp_study_design(study);
    const double* x = perp_design_candidate(study, r->best);
    for (int32_t i = 0; x != NULL && i < info.unknown_count; ++i) {
        const perp_unknown u = perp_study_unknown(study, i);
        const int bound = active_bound(&u, x[i], info.tolerance);
        printf("  %s", i == 0 ? "unknowns       " : "               ");
        cli_put_name(u.name, 16);
        printf(" %.10g%s (start %.6g, bounds %.6g to %.6g)\n", x[i],
               bound < 0   ? ", at the lower bound"
               : bound > 0 ? ", at the upper bound"
                           : "",
               u.start, u.low, u.high);
    }
}

static void print_half_step(const perp_design_report* r)
{
    if (!r->half_step) {
        return;
    }
    if (isnan(r->half_value)) {
        printf("  half the step  the best candidate has no value there: the result depends on the "
               "step\n");
        return;
    }
    const double change = r->half_value - r->best_value, size = fabs(r->best_value);
    printf("  half the step  objective %.8g, change %+.3g", r->half_value, change);
    if (fabs(change) <= 10.0 * size &&
        size > 0.0) { /* of a minimum near 0 a percentage says nothing */
        printf(" (%+.2g %%)", 100.0 * change / size);
    }
    if (r->half_violation > 0.0) {
        printf("; constraints violated by %.3g", r->half_violation);
    }
    printf("\n");
}

/* What the steps of a search by gradients were like. */
static void print_gradient(const perp_design_info* info, const perp_design_report* r)
{
    if (info->method != PERP_DESIGN_GRADIENT) {
        return;
    }
    printf(
        "\n  gradients      %lld steps, %lld of them by Gauss-Newton, %lld with flagged gradients",
        (long long)r->gradient_steps, (long long)r->newton_steps, (long long)r->flagged_steps);
    if (r->turned_steps > 0) {
        printf("\n  kinks          %lld steps to the better side, %lld of them by one-sided "
               "derivatives",
               (long long)r->turned_steps, (long long)r->one_sided_steps);
    }
    if (r->at_kink) {
        printf("\n  kink           no one-sided derivative that was tried is negative");
    }
    if (r->handed_over > 0) {
        printf("\n  cma-es         from evaluation %lld: ", (long long)r->handed_over + 1);
        cli_put(r->handed_over_reason);
    }
}

static void print_report(const perp_study* study, const perp_design_report* r, const char* out,
                         const char* scene)
{
    const perp_design_info info = perp_study_design(study);
    printf("%s", cli_bold());
    cli_put_name(perp_study_name(study), 0);
    printf("%s: %s after %lld evaluations", cli_plain(), design_end_text(r->end),
           (long long)r->evaluations);
    if (r->found > 0) {
        printf(" (%lld were there)", (long long)r->found);
    }
    printf(", %lld simulations, %d job%s, %.4g s\n", (long long)r->simulations, (int)r->jobs,
           r->jobs == 1 ? "" : "s", r->seconds);
    printf("  method         %s", perp_design_method_name(info.method));
    if (info.starts > 1) {
        printf(", %d starts", (int)info.starts);
    }
    if (info.constraint_count > 0) {
        printf(", %d constraint%s by an augmented Lagrangian", (int)info.constraint_count,
               info.constraint_count == 1 ? "" : "s");
    }
    print_gradient(&info, r);
    if (isnan(r->start_value)) {
        printf("\n  start          has no value");
    } else {
        printf("\n  start          objective %.10g", r->start_value);
    }
    if (r->start_violation > 0.0) {
        printf(", constraints violated by %.3g", r->start_violation);
    }
    printf("\n");
    if (r->best > 0) {
        printf("  best           objective %.10g (evaluation %lld)", r->best_value,
               (long long)r->best);
        if (info.constraint_count > 0 && r->feasible) {
            printf(", satisfies the constraints");
        } else if (info.constraint_count > 0) {
            printf(", INFEASIBLE: %s violated by %.3g; try another start, more starts, or cma-es",
                   perp_study_constraint(study, r->best_constraint), r->best_violation);
        }
        printf("\n");
        print_values(study, r);
        print_half_step(r);
    }
    if (r->failed > 0) {
        printf("  no value       %lld of %lld simulations; ", (long long)r->failed,
               (long long)r->simulations);
        cli_put(r->message);
        printf("\n");
    }
    printf("  database       ");
    cli_put(out);
    if (scene[0] != '\0') {
        printf("\n  best scene     ");
        cli_put(scene);
    }
    printf("\n");
}

static json_t* report_json(const perp_study* study, const perp_design_report* r, const char* out,
                           const char* scene)
{
    const perp_design_info info = perp_study_design(study);
    json_t *object = json_object(), *unknowns = json_object(), *active = json_object();
    const double* x = perp_design_candidate(study, r->best);
    for (int32_t i = 0; x != NULL && i < info.unknown_count; ++i) {
        const perp_unknown u = perp_study_unknown(study, i);
        const int bound = active_bound(&u, x[i], info.tolerance);
        json_object_set_new(unknowns, u.name, cli_number(x[i]));
        if (bound != 0) {
            json_object_set_new(active, u.name, json_string(bound < 0 ? "lower" : "upper"));
        }
    }
    json_object_set_new(object, "status", json_string(perp_design_end_name(r->end)));
    json_object_set_new(object, "study", cli_text(perp_study_name(study)));
    json_object_set_new(object, "method", json_string(perp_design_method_name(info.method)));
    json_object_set_new(object, "evaluations", json_integer(r->evaluations));
    json_object_set_new(object, "found", json_integer(r->found));
    json_object_set_new(object, "simulations", json_integer(r->simulations));
    json_object_set_new(object, "failed", json_integer(r->failed));
    json_object_set_new(object, "start", cli_number(r->start_value));
    json_object_set_new(object, "best", cli_number(r->best > 0 ? r->best_value : NAN));
    json_object_set_new(object, "best_evaluation", json_integer(r->best));
    json_object_set_new(object, "unknowns", unknowns);
    json_object_set_new(object, "active_bounds", active);
    json_object_set_new(object, "feasible", json_boolean(r->best > 0 && r->feasible));
    json_object_set_new(object, "violation", cli_number(r->best > 0 ? r->best_violation : NAN));
    json_object_set_new(object, "violated",
                        r->best > 0 && !r->feasible
                            ? cli_text(perp_study_constraint(study, r->best_constraint))
                            : json_null());
    json_object_set_new(object, "half_step", cli_number(r->half_step ? r->half_value : NAN));
    json_object_set_new(object, "half_step_change",
                        cli_number(r->half_step ? r->half_value - r->best_value : NAN));
    json_object_set_new(object, "message", cli_text(r->message));
    if (info.method == PERP_DESIGN_GRADIENT) {
        json_t* gradient = json_object();
        json_object_set_new(gradient, "steps", json_integer(r->gradient_steps));
        json_object_set_new(gradient, "flagged", json_integer(r->flagged_steps));
        json_object_set_new(gradient, "newton", json_integer(r->newton_steps));
        json_object_set_new(gradient, "turned", json_integer(r->turned_steps));
        json_object_set_new(gradient, "one_sided", json_integer(r->one_sided_steps));
        json_object_set_new(gradient, "at_kink", json_boolean(r->at_kink));
        json_object_set_new(gradient, "handed_over",
                            r->handed_over > 0 ? json_integer(r->handed_over) : json_null());
        json_object_set_new(gradient, "reason", cli_text(r->handed_over_reason));
        json_object_set_new(object, "gradient", gradient);
    }
    json_object_set_new(object, "jobs", json_integer(r->jobs));
    json_object_set_new(object, "wall_seconds", cli_number(r->seconds));
    json_object_set_new(object, "database", cli_text(out));
    json_object_set_new(object, "scene", scene[0] != '\0' ? cli_text(scene) : json_null());
    return object;
}

/* ---- after the search -------------------------------------------------------------------------*/

/* The best scene of each case beside the database. */
static int write_scenes(const cli_args* args, perp_context* context, perp_study* study,
                        const perp_design_report* report, const char* out, char* first, size_t size)
{
    char path[4200];
    const int32_t cases = perp_study_design(study).case_count;
    first[0] = '\0';
    for (int32_t i = 0; report->best > 0 && i < cases; ++i) {
        perp_scene* scene = NULL;
        design_file(out, "best", i, ".json", path, sizeof path);
        perp_status status = perp_design_scene(study, report->best, i, &scene);
        if (status == PERP_OK) {
            status = perp_scene_save(scene, path);
        }
        perp_scene_destroy(scene);
        if (status != PERP_OK) {
            return cli_fail(args->json, cli_exit_of(status), "%s", perp_context_error(context));
        }
        if (i == 0) {
            (void)snprintf(first, size, "%s", path);
        }
    }
    return CLI_DONE;
}

/* What went wrong, if the search found no answer. */
static int complain(const char* path, const perp_design_report* r)
{
    switch (r->end) {
    case PERP_DESIGN_CONVERGED:
    case PERP_DESIGN_LIMIT: return CLI_DONE;
    case PERP_DESIGN_FLAT:
        cli_complain("%s: /minimise: is flat: all %lld evaluations gave %.10g; it does not depend "
                     "on the unknowns, or the first steps (/unknown/NAME/scale) are too small",
                     path, (long long)r->evaluations, r->start_value);
        break;
    case PERP_DESIGN_NO_VALUE:
        cli_complain("%s: /minimise: no candidate has a value; %s", path, r->message);
        break;
    case PERP_DESIGN_INTERRUPTED:
        cli_complain("interrupted after %lld evaluations: --resume goes on",
                     (long long)r->evaluations);
        break;
    }
    return CLI_FAILED;
}

static int after_search(const cli_args* args, perp_context* context, perp_study* study,
                        const perp_run_options* options, const perp_design_report* report,
                        const char* out)
{
    char scene[4200];
    int exit_status = write_scenes(args, context, study, report, out, scene, sizeof scene);
    if (exit_status != CLI_DONE) {
        return exit_status;
    }
    exit_status = design_write_page(args, context, study, options, report, out);
    if (exit_status != CLI_DONE) {
        return exit_status;
    }
    exit_status = complain(args->word[0], report);
    if (args->json) {
        cli_print_json(report_json(study, report, out, scene));
    } else if (!cli_flag(args, "--quiet")) {
        print_report(study, report, out, scene);
    }
    return exit_status;
}

/* ---- the verb ---------------------------------------------------------------------------------*/

static int run_design(const cli_args* args, perp_design_def* def, perp_context* context,
                      cli_plugins* plugins)
{
    perp_study* study = NULL;
    perp_design_report report = {0};
    sweep_line line;
    const perp_run_options options = sweep_run_options(plugins);
    perp_status status = perp_study_load(context, args->word[0], &study);
    int exit_status = CLI_DONE;
    if (status == PERP_OK && perp_study_is_design(study)) { /* else the library refuses it */
        exit_status = design_check_files(args, study, def->out);
    }
    if (status == PERP_OK && exit_status == CLI_DONE) {
        sweep_watch_signals();
        sweep_line_begin(&line, cli_flag(args, "--quiet") || args->json);
        def->options = &options;
        def->user_code = plugins->names;
        def->progress = show_progress;
        def->user = &line;
        (void)fflush(stdout);
        status = perp_design_run(context, study, def, &report);
        sweep_line_end(&line);
    }
    if (status != PERP_OK) {
        exit_status = cli_fail(args->json, cli_exit_of(status), "%s", perp_context_error(context));
    } else if (exit_status == CLI_DONE) {
        exit_status = after_search(args, context, study, &options, &report, def->out);
    }
    perp_study_destroy(study);
    return exit_status;
}

static int verb_design(const cli_args* args)
{
    perp_design_def def = perp_design_def_default();
    int rank = 0;
    int exit_status = sweep_read_jobs(args, &def.jobs);
    if (exit_status == CLI_DONE && sweep_mpi_size(&rank) > 1) {
        exit_status = rank > 0 ? CLI_BAD_INPUT
                               : cli_fail(args->json, CLI_BAD_INPUT,
                                          "perp design runs on one machine: start it without "
                                          "mpirun; --jobs gives the number of workers");
    }
    if (exit_status != CLI_DONE) {
        return exit_status;
    }
    sweep_opening opening;
    exit_status = sweep_open(args, &opening);
    def.out = opening.out;
    def.resume = cli_flag(args, "--resume");
    if (exit_status == CLI_DONE) {
        exit_status = design_check_page(args);
    }
    if (exit_status == CLI_DONE) {
        exit_status = run_design(args, &def, opening.context, &opening.plugins);
    }
    sweep_close(&opening);
    return exit_status;
}

static const cli_option options[] = {
    {"--out", "R.db", "the database (-o); not given: that of the study's name"},
    {"--jobs", "N", "workers at a time (all processors)"},
    {"--resume", NULL, "go on with a database"},
    {"--page", "F.html", "also write a page: history, unknowns, the best run beside the start"},
    {"--plugin", "LIB[:ARG]", "load solvers and code for each step from a shared library"},
    {"--json", NULL, "print the result as one JSON object"},
    {"--quiet", NULL, "print nothing but errors"},
    {0},
};

const cli_verb cli_verb_design = {
    .name = "design",
    .usage = "STUDY [--out R.db] [options]",
    .summary = "find values of parameters that minimise an objective",
    .text = "STUDY is a JSON file that names a scene, its unknowns with bounds, and what to "
            "minimise\n"
            "(docs/studies.md). Every simulation is a row of the database. The best scene is "
            "written beside it\n"
            "(R.best.json), and the optimum is repeated with half the step.",
    .words_min = 1,
    .words_max = 1,
    .option = options,
    .run = verb_design,
};
