/* cli/solve.c - `perp solve`: one saved problem of any kind, alone. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

enum { ATTEMPTS_MAX = 1000 };

typedef struct solve_state {
    const cli_args* args;
    perp_context* context;
    perp_problem_file* file;
    perp_option* option;
    int32_t option_count;
    char** owned;
    double *z, *v; /* z: z, r or p of the problem; v: velocities where there are any */
    int32_t z_count, v_count;
    perp_attempt* attempt; /* ATTEMPTS_MAX */
} solve_state;

/* How it went: the residual in the problem's own terms, and those of the problem collections. */
typedef struct solve_result {
    perp_report report;
    perp_contact_residual laws; /* contact and friction problems */
    perp_plain_residual plain;
    perp_attempt_list attempts;
} solve_result;

/* A number that fills the whole text. */
static bool read_number(const char* text, double* x)
{
    char* end;
    *x = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*x);
}

static int read_settings(solve_state* s)
{
    const cli_args* args = s->args;
    s->option = calloc((size_t)args->given_count + 1, sizeof *s->option);
    s->owned = calloc((size_t)args->given_count + 1, sizeof *s->owned);
    for (int i = 0; s->option != NULL && s->owned != NULL && i < args->given_count; ++i) {
        if (strcmp(args->given[i].option->name, "--set") != 0) {
            continue;
        }
        const char* text = args->given[i].value;
        const char* equals = strchr(text, '=');
        const char* value = equals != NULL ? equals + 1 : "";
        double x = strcmp(value, "true") == 0 ? 1.0 : 0.0;
        if (equals == NULL || equals == text ||
            (strcmp(value, "true") != 0 && strcmp(value, "false") != 0 &&
             !read_number(value, &x))) {
            return cli_fail(args->json, CLI_BAD_INPUT,
                            "--set: expected NAME=NUMBER, true or false, got '%s'", text);
        }
        char* name = strndup(text, (size_t)(equals - text));
        s->owned[s->option_count] = name;
        s->option[s->option_count++] = (perp_option){name, x};
    }
    return CLI_DONE;
}

static bool has_laws(const solve_state* s)
{
    return perp_problem_file_contact(s->file) != NULL ||
           perp_problem_file_friction(s->file) != NULL;
}

/* Every method that ran, in order. */
static json_t* tried(const solve_state* s, const perp_attempt_list* list)
{
    json_t* array = json_array();
    for (int32_t i = 0; i < list->count && i < list->capacity; ++i) {
        const perp_attempt* a = &list->attempt[i];
        json_t* o = json_object();
        json_object_set_new(o, "solver", cli_text(a->solver));
        json_object_set_new(o, "outcome", json_string(perp_outcome_name(a->outcome)));
        json_object_set_new(o, "iterations", json_integer(a->iterations));
        json_object_set_new(o, "residual", cli_number(a->residual));
        json_object_set_new(o, "seconds", cli_number(a->seconds));
        if (perp_problem_file_contact(s->file) != NULL) {
            json_object_set_new(o, "island", json_integer(a->island));
        }
        json_array_append_new(array, o);
    }
    return array;
}

static void print_json(const solve_state* s, const solve_result* r, int exit_status)
{
    const perp_report* report = &r->report;
    const bool contact = perp_problem_file_contact(s->file) != NULL;
    const char* solver = report->solver != NULL ? report->solver : "";
    json_t* o = json_object();
    json_object_set_new(o, "status", json_string(cli_status_word(exit_status)));
    json_object_set_new(o, "name", cli_text(perp_problem_file_name(s->file)));
    json_object_set_new(o, "kind",
                        json_string(perp_problem_kind_name(perp_problem_file_kind(s->file))));
    json_object_set_new(o, "outcome", json_string(perp_outcome_name(report->outcome)));
    json_object_set_new(o, "solver", json_string(solver));
    json_object_set_new(o, "tried", tried(s, &r->attempts));
    json_object_set_new(o, "tried_count", json_integer(r->attempts.count));
    json_object_set_new(o, "detail", cli_text(report->detail));
    json_object_set_new(o, "iterations", json_integer(report->iterations));
    json_object_set_new(o, "seconds", cli_number(report->seconds));
    json_t* residual = json_object();
    json_object_set_new(residual, "judge", cli_number(report->residual));
    if (!contact) {
        json_object_set_new(residual, "e", cli_number(r->plain.e));
        json_object_set_new(residual, "scaled", cli_number(r->plain.scaled));
    }
    if (has_laws(s)) {
        json_object_set_new(residual, "dynamics", cli_number(r->laws.dynamics));
        json_object_set_new(residual, "normal", cli_number(r->laws.normal));
        json_object_set_new(residual, "friction", cli_number(r->laws.friction));
        json_object_set_new(residual, "joints", cli_number(r->laws.joints));
        json_object_set_new(residual, "worst", cli_number(r->laws.worst));
        json_object_set_new(residual, "worst_constraint", json_integer(r->laws.worst_constraint));
    }
    json_object_set_new(o, "residual", residual);
    json_object_set_new(o, contact ? "p" : "z", cli_numbers(s->z, s->z_count));
    if (contact || s->v_count > 0) {
        json_object_set_new(o, "v", cli_numbers(s->v, s->v_count));
    }
    cli_print_json(o);
}

static void print_text(const solve_state* s, const solve_result* r)
{
    const perp_report* report = &r->report;
    const perp_contact_problem* contact = perp_problem_file_contact(s->file);
    printf("%s%s%s by %s after %d iterations, %.4g s\n", cli_bold(),
           perp_outcome_name(report->outcome), cli_plain(),
           report->solver != NULL ? report->solver : "?", (int)report->iterations, report->seconds);
    if (contact != NULL) {
        printf("  problem        %d blocks, %d velocities, %d constraints, %d rows\n",
               (int)contact->block_count, (int)contact->dof_count, (int)contact->constraint_count,
               (int)contact->row_count);
    } else {
        printf("  problem        %s, %d unknowns\n",
               perp_problem_kind_name(perp_problem_file_kind(s->file)),
               (int)(s->z_count + s->v_count));
    }
    if (has_laws(s)) {
        printf("  residual       dynamics %.1e, normal %.1e, friction %.1e, joints %.1e\n",
               r->laws.dynamics, r->laws.normal, r->laws.friction, r->laws.joints);
    } else {
        printf("  residual       %.1e\n", report->residual);
    }
    if (contact == NULL) {
        printf("  plain          e %.1e", r->plain.e);
        printf(isnan(r->plain.scaled) ? "\n" : ", scaled %.1e\n", r->plain.scaled);
    }
    const perp_attempt_list* list = &r->attempts;
    for (int32_t i = 0; list->count > 1 && i < list->count && i < list->capacity; ++i) {
        const perp_attempt* a = &list->attempt[i];
        printf("  %-14s %s: %s after %d iterations, residual %.1e, %.4g s\n", i == 0 ? "tried" : "",
               a->solver, perp_outcome_name(a->outcome), (int)a->iterations, a->residual,
               a->seconds);
    }
    if (report->detail[0] != '\0' && list->count <= 1) {
        printf("  note           %s\n", report->detail);
    }
}

/* ---- one function per form -------------------------------------------------------------------------*/

static perp_status solve_contact(solve_state* s, const char* name,
                                 const perp_solve_options* options, solve_result* r)
{
    perp_contact_solver* solver = NULL;
    perp_status status =
        perp_contact_solver_create(s->context, name, s->option, s->option_count, &solver);
    if (status == PERP_OK) {
        status = perp_contact_solve(solver, perp_problem_file_contact(s->file), options, false,
                                    s->v, s->z, &r->laws, &r->report);
    }
    perp_contact_solver_destroy(solver);
    return status;
}

static perp_status solve_lcp(solve_state* s, const char* name, const perp_solve_options* options,
                             solve_result* r)
{
    perp_lcp_solver* solver = NULL;
    perp_status status =
        perp_lcp_solver_create(s->context, name, s->option, s->option_count, &solver);
    if (status == PERP_OK) {
        status = perp_lcp_solve(solver, perp_problem_file_lcp(s->file), options, false, s->z,
                                &r->report);
    }
    perp_lcp_solver_destroy(solver);
    return status;
}

static perp_status solve_mlcp(solve_state* s, const char* name, const perp_solve_options* options,
                              solve_result* r)
{
    perp_mlcp_solver* solver = NULL;
    perp_status status =
        perp_mlcp_solver_create(s->context, name, s->option, s->option_count, &solver);
    if (status == PERP_OK) {
        status = perp_mlcp_solve(solver, perp_problem_file_mlcp(s->file), options, false, s->z,
                                 &r->report);
    }
    perp_mlcp_solver_destroy(solver);
    return status;
}

/* The residual of the problem collections at the current point. */
static perp_status measure_friction(solve_state* s, solve_result* r)
{
    perp_status status = PERP_OK;
    if (perp_problem_file_kind(s->file) >= PERP_PROBLEM_GFC2D) {
        status = perp_problem_file_reconstruct(s->file, s->z, s->v);
    }
    return status == PERP_OK ? perp_problem_file_residual(s->file, s->z, s->v, &r->plain) : status;
}

/* The residual check measures each law, the unit-free residual of the collections a 2-norm over
 * all: a point can be within the tolerance of one and not of the other. `solved` means both, so the
 * method then continues from that point. */
static perp_status sharpen_friction(solve_state* s, perp_friction_solver* solver,
                                    const perp_solve_options* options, solve_result* r)
{
    enum { ROUNDS = 3 };
    perp_solve_options asked = *options;
    perp_status status = measure_friction(s, r);
    for (int i = 0; i < ROUNDS && status == PERP_OK && r->report.outcome == PERP_OUTCOME_SOLVED &&
                    r->plain.scaled > options->tolerance;
         ++i) {
        const int32_t iterations = r->report.iterations;
        const double seconds = r->report.seconds;
        asked.tolerance *= 0.1;
        status = perp_friction_solve(solver, perp_problem_file_friction(s->file), &asked, true,
                                     s->z, &r->laws, &r->report);
        r->report.iterations += iterations;
        r->report.seconds += seconds;
        if (status == PERP_OK) {
            status = measure_friction(s, r);
        }
    }
    if (status == PERP_OK && r->report.outcome != PERP_OUTCOME_SOLVED &&
        r->laws.worst <= options->tolerance && r->plain.scaled <= options->tolerance) {
        r->report.outcome = PERP_OUTCOME_SOLVED; /* the smaller tolerance was not reached */
    }
    return status;
}

static perp_status solve_friction(solve_state* s, const char* name,
                                  const perp_solve_options* options, solve_result* r)
{
    perp_friction_solver* solver = NULL;
    perp_status status =
        perp_friction_solver_create(s->context, name, s->option, s->option_count, &solver);
    if (status == PERP_OK) {
        status = perp_friction_solve(solver, perp_problem_file_friction(s->file), options, false,
                                     s->z, &r->laws, &r->report);
    }
    if (status == PERP_OK) {
        status = sharpen_friction(s, solver, options, r);
    }
    perp_friction_solver_destroy(solver);
    return status;
}

/* Room for the point, then the form that the file has. */
static perp_status solve_any(solve_state* s, const char* name, const perp_solve_options* options,
                             solve_result* r)
{
    const perp_contact_problem* contact = perp_problem_file_contact(s->file);
    const perp_friction_problem* friction = perp_problem_file_friction(s->file);
    const perp_mlcp* mlcp = perp_problem_file_mlcp(s->file);
    s->z_count = contact != NULL    ? contact->row_count
                 : friction != NULL ? friction->row_count
                                    : mlcp->M.cols;
    s->v_count = contact != NULL ? contact->dof_count : perp_problem_file_velocity_count(s->file);
    s->z = calloc((size_t)s->z_count + 1, sizeof *s->z);
    s->v = calloc((size_t)s->v_count + 1, sizeof *s->v);
    if (s->z == NULL || s->v == NULL) {
        return PERP_ERROR_MEMORY;
    }
    const perp_status status = contact != NULL    ? solve_contact(s, name, options, r)
                               : friction != NULL ? solve_friction(s, name, options, r)
                               : perp_problem_file_lcp(s->file) != NULL
                                   ? solve_lcp(s, name, options, r)
                                   : solve_mlcp(s, name, options, r);
    return status == PERP_OK ? perp_problem_file_residual(s->file, s->z, s->v, &r->plain) : status;
}

/* *out: the option's number if it is given. */
static int read_option(const cli_args* args, const char* name, const char* rule, double least,
                       double* out)
{
    const char* text = cli_value(args, name);
    double x = 0.0;
    if (text == NULL) {
        return CLI_DONE;
    }
    if (!read_number(text, &x) || !(x >= least)) {
        return cli_fail(args->json, CLI_BAD_INPUT, "%s: expected %s, got '%s'", name, rule, text);
    }
    *out = x;
    return CLI_DONE;
}

static int read_limits(const cli_args* args, perp_solve_options* options)
{
    double max_iter = 0.0;
    int exit_status = read_option(args, "--tolerance", "a number > 0", 1e-300, &options->tolerance);
    if (exit_status == CLI_DONE) {
        exit_status = read_option(args, "--max-iter", "a whole number >= 1", 1.0, &max_iter);
    }
    if (exit_status == CLI_DONE && (max_iter != floor(max_iter) || max_iter > 2e9)) {
        exit_status = cli_fail(args->json, CLI_BAD_INPUT,
                               "--max-iter: expected a whole number >= 1, got '%s'",
                               cli_value(args, "--max-iter"));
    }
    if (exit_status == CLI_DONE) {
        exit_status =
            read_option(args, "--time-limit", "seconds > 0", 1e-300, &options->time_limit);
    }
    options->max_iter = (int32_t)max_iter;
    return exit_status;
}

static int solve_problem(solve_state* s)
{
    const cli_args* args = s->args;
    const char* name = cli_value(args, "--solver");
    perp_solve_options options = perp_solve_options_default();
    int exit_status = read_limits(args, &options);
    if (exit_status == CLI_DONE) {
        exit_status = read_settings(s);
    }
    if (exit_status != CLI_DONE) {
        return exit_status;
    }
    perp_status status = perp_problem_read(s->context, args->word[0], &s->file);
    if (status != PERP_OK) {
        return cli_fail(args->json, cli_exit_of(status), "%s", perp_context_error(s->context));
    }
    solve_result result = {.plain = {NAN, NAN},
                           .attempts = {.attempt = s->attempt, .capacity = ATTEMPTS_MAX}};
    options.attempts = &result.attempts;
    status = solve_any(s, name != NULL ? name : "auto", &options, &result);
    if (status != PERP_OK) {
        return cli_fail(args->json, cli_exit_of(status), "%s: %s", args->word[0],
                        perp_context_error(s->context));
    }
    exit_status = result.report.outcome == PERP_OUTCOME_SOLVED ? CLI_DONE : CLI_FAILED;
    if (args->json) {
        print_json(s, &result, exit_status);
    } else {
        print_text(s, &result);
    }
    return exit_status;
}

static int verb_solve(const cli_args* args)
{
    solve_state s = {.args = args, .context = cli_context(args->json)};
    s.attempt = calloc(ATTEMPTS_MAX, sizeof *s.attempt);
    if (s.context == NULL || s.attempt == NULL) {
        perp_context_destroy(s.context);
        free(s.attempt);
        return CLI_FAILED;
    }
    int exit_status = cli_use_threads(args, s.context);
    exit_status = exit_status == CLI_DONE ? solve_problem(&s) : exit_status;
    free(s.attempt);
    free(s.v);
    free(s.z);
    perp_problem_file_destroy(s.file);
    perp_context_destroy(s.context);
    for (int32_t i = 0; i < s.option_count; ++i) {
        free(s.owned[i]);
    }
    free(s.owned);
    free(s.option);
    return exit_status;
}

static const cli_option options[] = {
    {"--solver", "NAME", "see 'perp list solvers'; default auto"},
    {"--set", "NAME=NUMBER", "a setting of the solver"},
    {"--tolerance", "TOL", "largest residual that counts as solved; default 1e-10"},
    {"--max-iter", "N", "iterations at most; default: the solver's own"},
    {"--time-limit", "SECONDS", "stop after this long; default: never"},
    CLI_THREADS_OPTION,
    {"--json", NULL, "print one JSON object, the point included"},
    {0},
};

const cli_verb cli_verb_solve = {
    .name = "solve",
    .usage = "PROBLEM [--solver NAME] [--json]",
    .summary = "solve one saved problem",
    .text =
        "Reads the problem of a step as 'perp run' saves it, .ccp text (gzip'ed or not) and "
        "FCLIB's HDF5 files. Exit status 3 if it is not solved. With --json, tried[] lists every "
        "method that ran, in order, with its outcome, iterations, residual and seconds.",
    .words_min = 1,
    .words_max = 1,
    .option = options,
    .run = verb_solve,
};
