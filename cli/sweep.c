/* cli/sweep.c - `perp sweep`: many runs of one scene, and their database. */
#include "sweep.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- shared with the worker -------------------------------------------------------------------*/

static pid_t owner;

static void log_line(void* user, perp_log_level level, const char* message)
{
    (void)user;
    if (level == PERP_LOG_WARNING && getpid() == owner) {
        cli_complain("warning: %s", message);
    }
}

perp_context* sweep_context(bool json)
{
    owner = getpid();
    perp_context_def def = perp_context_def_default();
    def.log = log_line;
    perp_context* context = NULL;
    if (perp_context_create(&def, &context) != PERP_OK) {
        (void)cli_fail(json, CLI_FAILED, "out of memory");
        return NULL;
    }
    return context;
}

/* Plugins are told of the end of each run, and their message goes into its row. */
static const char* end_plugins(void* user, perp_sim* sim)
{
    cli_plugins* plugins = user;
    const char* message = NULL;
    for (int i = 0; i < plugins->count; ++i) {
        cli_plugin* p = &plugins->item[i];
        if (p->ops.message[0] != '\0') {
            message = p->ops.message;
        }
        if (p->ops.end != NULL) {
            p->ops.end(p->ops.user, p->started ? sim : NULL);
        }
    }
    return message;
}

/* A message of an earlier run must not appear in this one. */
static perp_status start_plugins(void* user, perp_sim* sim)
{
    cli_plugins* plugins = user;
    for (int i = 0; i < plugins->count; ++i) {
        plugins->item[i].ops.message[0] = '\0';
    }
    return cli_plugins_start(plugins, sim);
}

perp_run_options sweep_run_options(cli_plugins* plugins)
{
    perp_run_options options = perp_run_options_default();
    if (plugins->count > 0) {
        options.prepare = start_plugins;
        options.finish = end_plugins;
        options.user = plugins;
    }
    return options;
}

static volatile sig_atomic_t stop_asked;

static void ask_stop(int signal_number)
{
    (void)signal_number;
    stop_asked = 1;
}

bool sweep_stop_asked(void)
{
    return stop_asked != 0;
}

/* The first Ctrl-C writes what is done; a second one ends the program. */
void sweep_watch_signals(void)
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

void sweep_quote(const char* path, char* text, size_t size)
{
    const bool plain = strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                    "-_./+@%=:,") == strlen(path);
    (void)snprintf(text, size, plain ? "%s" : "\"%s\"", path);
}

/* ---- perp sweep STUDY -------------------------------------------------------------------------*/

static int read_shard(const cli_args* args, perp_sweep_def* def)
{
    const char* text = cli_value(args, "--shard");
    if (text == NULL) {
        return CLI_DONE;
    }
    int shard = 0, count = 0, used = 0;
    if (sscanf(text, "%d/%d%n", &shard, &count, &used) != 2 || text[used] != '\0' || shard < 1 ||
        shard > count) {
        return cli_fail(args->json, CLI_BAD_INPUT,
                        "--shard: expected I/N with I from 1 to N, such as 1/5, got '%.60s'", text);
    }
    def->shard = shard;
    def->shard_count = count;
    return CLI_DONE;
}

int sweep_read_jobs(const cli_args* args, int32_t* number)
{
    const char* text = cli_value(args, "--jobs");
    if (text == NULL) {
        return CLI_DONE;
    }
    char* end;
    const long jobs = strtol(text, &end, 10);
    if (end == text || *end != '\0' || jobs < 1 || jobs > 4096) {
        return cli_fail(args->json, CLI_BAD_INPUT,
                        "--jobs: expected a number of workers from 1 to 4096, got '%.60s'", text);
    }
    *number = (int32_t)jobs;
    return CLI_DONE;
}

json_t* sweep_report_json(const perp_study* study, const perp_sweep_report* report)
{
    json_t *object = json_object(), *outcomes = json_object();
    const bool complete = report->done >= report->total;
    const int64_t now = report->done - report->found;
    json_object_set_new(object, "status", json_string(complete ? "ok" : "interrupted"));
    json_object_set_new(object, "study", cli_text(perp_study_name(study)));
    json_object_set_new(object, "runs", json_integer(report->total));
    json_object_set_new(object, "done", json_integer(report->done));
    json_object_set_new(object, "found", json_integer(report->found));
    for (int i = 0; i <= PERP_RUN_CRASHED; ++i) {
        json_object_set_new(object, perp_run_status_name((perp_run_status)i),
                            json_integer(report->status[i]));
    }
    for (int i = 0; i < PERP_SWEEP_OUTCOMES && report->outcome[i].count > 0; ++i) {
        json_object_set_new(outcomes, report->outcome[i].name,
                            json_integer(report->outcome[i].count));
    }
    json_object_set_new(object, "outcomes", outcomes);
    json_object_set_new(object, "jobs", json_integer(report->jobs));
    json_object_set_new(object, "wall_seconds", cli_number(report->seconds));
    json_object_set_new(object, "runs_per_second",
                        cli_number(report->seconds > 0.0 ? (double)now / report->seconds : 0.0));
    return object;
}

static void print_report(const perp_study* study, const perp_sweep_report* r, const char* out)
{
    printf("%s", cli_bold());
    cli_put_name(perp_study_name(study), 0);
    printf("%s: %lld of %lld runs", cli_plain(), (long long)r->done, (long long)r->total);
    if (r->found > 0) {
        printf(" (%lld were there)", (long long)r->found);
    }
    printf(", %d job%s, %.4g s\n", (int)r->jobs, r->jobs == 1 ? "" : "s", r->seconds);
    printf("  status         ok %lld, failed %lld, timeout %lld, crashed %lld\n",
           (long long)r->status[0], (long long)r->status[1], (long long)r->status[2],
           (long long)r->status[3]);
    for (int i = 0; i < PERP_SWEEP_OUTCOMES && r->outcome[i].count > 0; ++i) {
        double interval[2];
        sweep_wilson(r->outcome[i].count, r->done, interval);
        printf("  outcome        ");
        cli_put_name(r->outcome[i].name, 20);
        printf(" %lld (%.1f %% to %.1f %%)\n", (long long)r->outcome[i].count, 100.0 * interval[0],
               100.0 * interval[1]);
    }
    printf("  database       ");
    cli_put(out);
    printf("\n");
}

/* --csv and --page read what was written. */
static int write_tables(const cli_args* args, perp_context* context, const char* out)
{
    const char *csv = cli_value(args, "--csv"), *page = cli_value(args, "--page");
    if (csv == NULL && page == NULL) {
        return CLI_DONE;
    }
    perp_results* results = NULL;
    const perp_status status = perp_results_open(context, out, &results);
    int exit_status = status == PERP_OK ? CLI_DONE
                                        : cli_fail(args->json, cli_exit_of(status), "%s",
                                                   perp_context_error(context));
    if (exit_status == CLI_DONE && csv != NULL) {
        exit_status = sweep_write_csv(args, context, results, csv);
    }
    if (exit_status == CLI_DONE && page != NULL) {
        exit_status = sweep_write_page(args, context, results, out, page);
    }
    perp_results_close(results);
    return exit_status;
}

int sweep_after(const cli_args* args, perp_context* context, const perp_study* study,
                const perp_sweep_report* report, const char* out)
{
    int exit_status = write_tables(args, context, out);
    if (exit_status != CLI_DONE) {
        return exit_status;
    }
    if (report->done < report->total) {
        cli_complain("interrupted after %lld of %lld runs: --resume does the rest",
                     (long long)report->done, (long long)report->total);
        exit_status = CLI_FAILED;
    }
    if (args->json) {
        json_t* object = sweep_report_json(study, report);
        json_object_set_new(object, "database", cli_text(out));
        cli_print_json(object);
    } else if (!cli_flag(args, "--quiet") &&
               (cli_value(args, "--csv") == NULL || strcmp(cli_value(args, "--csv"), "-") != 0)) {
        print_report(study, report, out);
    }
    return exit_status;
}

static bool show_progress(void* user, const perp_sweep_report* report)
{
    sweep_line_draw(user, report);
    return !sweep_stop_asked();
}

static int run_here(const cli_args* args, perp_sweep_def* def, perp_context* context,
                    cli_plugins* plugins)
{
    perp_study* study = NULL;
    perp_sweep_report report = {0};
    sweep_line line;
    const perp_run_options options = sweep_run_options(plugins);
    perp_status status = perp_study_load(context, args->word[0], &study);
    int exit_status = CLI_DONE;
    if (status == PERP_OK) {
        sweep_watch_signals();
        sweep_line_begin(&line, cli_flag(args, "--quiet") || args->json);
        def->options = &options;
        def->user_code = plugins->names;
        def->progress = show_progress;
        def->user = &line;
        (void)fflush(stdout);
        status = perp_sweep_run(context, study, def, &report);
        sweep_line_end(&line);
    }
    if (status != PERP_OK) {
        exit_status = cli_fail(args->json, cli_exit_of(status), "%s", perp_context_error(context));
    } else {
        exit_status = sweep_after(args, context, study, &report, def->out);
    }
    perp_study_destroy(study);
    return exit_status;
}

char* sweep_default_out(const char* study)
{
    const char* slash = strrchr(study, '/');
    const char* name = slash != NULL ? slash + 1 : study;
    const char* dot = strrchr(name, '.');
    const int length = dot != NULL && dot > name ? (int)(dot - name) : (int)strlen(name);
    char* out = malloc((size_t)length + 4);
    if (out != NULL) {
        (void)snprintf(out, (size_t)length + 4, "%.*s.db", length, name);
    }
    return out;
}

int sweep_open(const cli_args* args, sweep_opening* made)
{
    const char* given = cli_value(args, "--out");
    *made = (sweep_opening){
        .out = given != NULL ? strdup(given) : sweep_default_out(args->word[0]),
        .context = sweep_context(args->json),
        .plugins = {.json = args->json},
    };
    if (made->out == NULL || made->context == NULL) {
        return CLI_FAILED;
    }
    const int exit_status = sweep_check_files(args, args->word[0], made->out);
    return exit_status == CLI_DONE ? cli_plugins_load(args, made->context, &made->plugins)
                                   : exit_status;
}

void sweep_close(sweep_opening* made)
{
    perp_context_destroy(made->context);
    cli_plugins_free(&made->plugins);
    free(made->out);
}

static int sweep_study(const cli_args* args)
{
    perp_sweep_def def = perp_sweep_def_default();
    int exit_status = read_shard(args, &def);
    if (exit_status == CLI_DONE) {
        exit_status = sweep_read_jobs(args, &def.jobs);
    }
    if (exit_status != CLI_DONE) {
        return exit_status;
    }
    sweep_opening opening;
    exit_status = sweep_open(args, &opening);
    def.out = opening.out;
    def.resume = cli_flag(args, "--resume");
    if (exit_status == CLI_DONE) {
        int rank = 0;
        exit_status = sweep_mpi_size(&rank) > 1
                          ? sweep_run_mpi(args, &def, args->word[0], &opening.plugins)
                          : run_here(args, &def, opening.context, &opening.plugins);
    }
    sweep_close(&opening);
    return exit_status;
}

/* ---- perp sweep merge, rerun ------------------------------------------------------------------*/

static int sweep_merge(const cli_args* args)
{
    const char* out = cli_value(args, "--out");
    if (out == NULL || args->word_count < 2) {
        return cli_fail(args->json, CLI_BAD_INPUT,
                        "usage: perp sweep merge A.db B.db ... --out R.db");
    }
    perp_context* context = sweep_context(args->json);
    int64_t rows = 0;
    if (context == NULL) {
        return CLI_FAILED;
    }
    const perp_status status = perp_results_merge(context, (const char* const*)args->word + 1,
                                                  args->word_count - 1, out, &rows);
    int exit_status = CLI_DONE;
    if (status != PERP_OK) {
        exit_status = cli_fail(args->json, cli_exit_of(status), "%s", perp_context_error(context));
    } else if (args->json) {
        json_t* object = json_pack("{s:s, s:I}", "status", "ok", "runs", (json_int_t)rows);
        json_object_set_new(object, "database", cli_text(out));
        cli_print_json(object);
    } else if (!cli_flag(args, "--quiet")) {
        printf("%lld runs of %d databases in ", (long long)rows, args->word_count - 1);
        cli_put(out);
        printf("\n");
    }
    perp_context_destroy(context);
    return exit_status;
}

static bool same_number(double a, double b)
{
    return a == b || (!(a == a) && !(b == b));
}

static bool depends_on_machine(perp_run_status status)
{
    return status == PERP_RUN_CRASHED || status == PERP_RUN_TIMEOUT;
}

/* Name of the first number that differs from the database, or NULL. */
static const char* difference(const perp_study* study, const perp_run_row* row,
                              const perp_run_row* old)
{
    if (depends_on_machine(old->status)) {
        return NULL;
    }
    if (row->status != old->status) {
        return "status";
    }
    for (int32_t i = 0; row->status == PERP_RUN_OK && i < old->measure_count; ++i) {
        if (!same_number(row->measure[i], old->measure[i])) {
            return perp_study_measure_name(study, i);
        }
    }
    return strcmp(row->outcome, old->outcome) != 0              ? "outcome"
           : row->steps != old->steps                           ? "steps"
           : !same_number(row->certificate, old->certificate)   ? "certificate"
           : !same_number(row->energy_error, old->energy_error) ? "energy_error"
                                                                : NULL;
}

static int report_rerun(const cli_args* args, const perp_study* study, const perp_run_row* row,
                        const perp_run_row* old, const char* out)
{
    const char* differs = difference(study, row, old);
    if (args->json) {
        json_t *object = json_object(), *measures = json_object();
        json_object_set_new(
            object, "status",
            json_string(differs == NULL ? perp_run_status_name(row->status) : "differs"));
        json_object_set_new(object, "id", json_integer(row->id));
        for (int32_t i = 0; i < row->measure_count; ++i) {
            json_object_set_new(measures, perp_study_measure_name(study, i),
                                cli_number(row->measure[i]));
        }
        json_object_set_new(object, "measures", measures);
        json_object_set_new(object, "outcome", cli_text(row->outcome));
        json_object_set_new(object, "steps", json_integer(row->steps));
        json_object_set_new(object, "message", cli_text(row->message));
        json_object_set_new(object, "same_bits", json_boolean(differs == NULL));
        if (out != NULL) {
            json_object_set_new(object, "recording", cli_text(out));
        }
        cli_print_json(object);
    } else if (!cli_flag(args, "--quiet")) {
        printf("run %lld: %s%s%s, %lld steps; %s\n", (long long)row->id,
               perp_run_status_name(row->status), row->outcome[0] != '\0' ? ", " : "", row->outcome,
               (long long)row->steps,
               differs != NULL                   ? "not as in the database"
               : depends_on_machine(old->status) ? "in the database it did not come to its end"
                                                 : "the same bits as in the database");
    }
    if (differs != NULL &&
        row->status != PERP_RUN_OK) { /* such as a recording that cannot be written */
        cli_complain("run %lld: %s", (long long)row->id, row->message);
        return CLI_FAILED;
    }
    if (differs != NULL) {
        cli_complain(
            "run %lld: %s is not that of the database: the program or a file of the scene has "
            "changed",
            (long long)row->id, differs);
        return CLI_FAILED;
    }
    if (row->status != PERP_RUN_OK) {
        cli_complain("run %lld: %s", (long long)row->id, row->message);
    }
    return CLI_DONE;
}

/* A copy of what is compared: reading the next row ends the first. */
static int rerun_one(const cli_args* args, perp_context* context, perp_results* results, int64_t id,
                     cli_plugins* plugins)
{
    perp_run_row old, row;
    perp_runner* runner = NULL;
    perp_study* study = perp_results_study(results);
    perp_run_options options = sweep_run_options(plugins);
    const char* out = cli_value(args, "--out");
    char problem[4200];
    options.recording = out;
    if (out != NULL) {
        (void)snprintf(problem, sizeof problem, "%.4096s.problem.json", out);
        options.problem = problem;
    }
    perp_status status = perp_results_row(results, id, &old);
    if (status == PERP_OK) {
        status = perp_runner_create(context, &runner);
    }
    if (status == PERP_OK) {
        status = perp_study_run(study, runner, id, &options, &row);
    }
    const int exit_status = status == PERP_OK ? report_rerun(args, study, &row, &old, out)
                                              : cli_fail(args->json, cli_exit_of(status), "%s",
                                                         perp_context_error(context));
    perp_runner_destroy(runner);
    return exit_status;
}

static int sweep_rerun(const cli_args* args)
{
    char* end = NULL;
    const long long id = args->word_count == 3 ? strtoll(args->word[2], &end, 10) : 0;
    if (args->word_count != 3 || end == args->word[2] || *end != '\0') {
        return cli_fail(args->json, CLI_BAD_INPUT,
                        "usage: perp sweep rerun R.db ID [--out run.h5]");
    }
    perp_context* context = sweep_context(args->json);
    perp_results* results = NULL;
    cli_plugins plugins = {.json = args->json};
    if (context == NULL) {
        return CLI_FAILED;
    }
    int exit_status = cli_plugins_load(args, context, &plugins);
    if (exit_status == CLI_DONE) {
        const perp_status status = perp_results_open(context, args->word[1], &results);
        if (status != PERP_OK) {
            exit_status =
                cli_fail(args->json, cli_exit_of(status), "%s", perp_context_error(context));
        } else if (strcmp(perp_results_user_code(results), plugins.names) != 0) {
            exit_status = cli_fail(args->json, CLI_BAD_INPUT,
                                   "%s: its runs had the plugins '%s': give the same --plugin",
                                   args->word[1], perp_results_user_code(results));
        } else {
            exit_status = rerun_one(args, context, results, id, &plugins);
        }
    }
    perp_results_close(results);
    perp_context_destroy(context);
    cli_plugins_free(&plugins);
    return exit_status;
}

/* ---- the verb ---------------------------------------------------------------------------------*/

static int verb_sweep(const cli_args* args)
{
    static const struct {
        const char* name;
        int (*run)(const cli_args* args);
    } part[] = {{"merge", sweep_merge}, {"show", sweep_show}, {"rerun", sweep_rerun}};
    for (size_t i = 0; i < sizeof part / sizeof part[0]; ++i) {
        if (args->word_count > 0 && strcmp(args->word[0], part[i].name) == 0) {
            return part[i].run(args);
        }
    }
    if (args->word_count != 1) {
        return cli_fail(args->json, CLI_BAD_INPUT, "usage: perp sweep %s", cli_verb_sweep.usage);
    }
    return sweep_study(args);
}

static const cli_option options[] = {
    {"--out", "R.db", "the database (-o); not given: that of the study's name"},
    {"--jobs", "N", "workers at a time (all processors)"},
    {"--resume", NULL, "go on with a database: do what is missing"},
    {"--shard", "I/N", "only part I (1 to N) of the runs, for job arrays; join with merge"},
    {"--csv", "F.csv", "also write the table of runs as text"},
    {"--page", "F.html", "also write a page that shows the results"},
    {"--plugin", "LIB[:ARG]", "load solvers and code for each step from a shared library"},
    {"--json", NULL, "print the result as one JSON object"},
    {"--quiet", NULL, "print nothing but errors"},
    {0},
};

const cli_verb cli_verb_sweep = {
    .name = "sweep",
    .usage =
        "STUDY [--out R.db] [options], or: perp sweep show R.db | merge A.db B.db --out R.db | "
        "rerun R.db ID --out run.h5",
    .summary = "run a scene many times, and keep the results",
    .text = "STUDY is a JSON file that names a scene and what varies in it (docs/studies.md). A "
            "run that\n"
            "fails, takes too long or crashes is a row of the database. 'show' prints counts, "
            "'rerun' makes\n"
            "the recording of one run, 'merge' joins shards. Under mpirun the runs go to all its "
            "processes.",
    .words_max = 4096,
    .option = options,
    .run = verb_sweep,
};
