/* cli/solve.c - `perp solve`: one saved contact problem, alone. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

typedef struct solve_state {
    const cli_args* args;
    perp_context* context;
    perp_contact_file* file;
    perp_contact_solver* solver;
    perp_option* option;
    int32_t option_count;
    char** owned;
    double *v, *p;
} solve_state;

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

static void print_json(const solve_state* s, const perp_contact_problem* problem,
                       const perp_report* report, const perp_contact_residual* r, int exit_status)
{
    json_t* o = json_object();
    json_object_set_new(o, "status", json_string(cli_status_word(exit_status)));
    json_object_set_new(o, "outcome", json_string(perp_outcome_name(report->outcome)));
    json_object_set_new(o, "solver", json_string(report->solver != NULL ? report->solver : ""));
    json_object_set_new(o, "detail", cli_text(report->detail));
    json_object_set_new(o, "iterations", json_integer(report->iterations));
    json_object_set_new(o, "seconds", cli_number(report->seconds));
    json_object_set_new(o, "residual",
                        json_pack("{s:o, s:o, s:o, s:o, s:o, s:i}", "dynamics",
                                  cli_number(r->dynamics), "normal", cli_number(r->normal),
                                  "friction", cli_number(r->friction), "joints",
                                  cli_number(r->joints), "worst", cli_number(r->worst),
                                  "worst_constraint", (int)r->worst_constraint));
    json_object_set_new(o, "v", cli_numbers(s->v, problem->dof_count));
    json_object_set_new(o, "p", cli_numbers(s->p, problem->row_count));
    cli_print_json(o);
}

static void print_text(const perp_contact_problem* problem, const perp_report* report,
                       const perp_contact_residual* r)
{
    printf("%s%s%s by %s after %d iterations, %.4g s\n", cli_bold(),
           perp_outcome_name(report->outcome), cli_plain(),
           report->solver != NULL ? report->solver : "?", (int)report->iterations, report->seconds);
    printf("  problem        %d blocks, %d velocities, %d constraints, %d rows\n",
           (int)problem->block_count, (int)problem->dof_count, (int)problem->constraint_count,
           (int)problem->row_count);
    printf("  residual       dynamics %.1e, normal %.1e, friction %.1e, joints %.1e\n", r->dynamics,
           r->normal, r->friction, r->joints);
    if (report->detail[0] != '\0') {
        printf("  note           %s\n", report->detail);
    }
}

static int solve(solve_state* s)
{
    const cli_args* args = s->args;
    const char* name = cli_value(args, "--solver");
    const char* tolerance = cli_value(args, "--tolerance");
    perp_solve_options options = perp_solve_options_default();
    if (tolerance != NULL &&
        (!read_number(tolerance, &options.tolerance) || !(options.tolerance > 0.0))) {
        return cli_fail(args->json, CLI_BAD_INPUT, "--tolerance: expected a number > 0, got '%s'",
                        tolerance);
    }
    int exit_status = read_settings(s);
    if (exit_status != CLI_DONE) {
        return exit_status;
    }
    perp_status status = perp_contact_read(s->context, args->word[0], &s->file);
    if (status == PERP_OK) {
        status = perp_contact_solver_create(s->context, name != NULL ? name : "auto", s->option,
                                            s->option_count, &s->solver);
    }
    if (status != PERP_OK) {
        return cli_fail(args->json, cli_exit_of(status), "%s", perp_context_error(s->context));
    }
    const perp_contact_problem* problem = perp_contact_file_problem(s->file);
    s->v = calloc((size_t)problem->dof_count + 1, sizeof *s->v);
    s->p = calloc((size_t)problem->row_count + 1, sizeof *s->p);
    if (s->v == NULL || s->p == NULL) {
        return cli_fail(args->json, CLI_FAILED, "out of memory");
    }
    perp_contact_residual residual;
    perp_report report = {0};
    status =
        perp_contact_solve(s->solver, problem, &options, false, s->v, s->p, &residual, &report);
    if (status != PERP_OK) {
        return cli_fail(args->json, cli_exit_of(status), "%s: %s", args->word[0],
                        perp_context_error(s->context));
    }
    exit_status = report.outcome == PERP_OUTCOME_SOLVED ? CLI_DONE : CLI_FAILED;
    if (args->json) {
        print_json(s, problem, &report, &residual, exit_status);
    } else {
        print_text(problem, &report, &residual);
    }
    return exit_status;
}

static int run(const cli_args* args)
{
    solve_state s = {.args = args, .context = cli_context(args->json)};
    if (s.context == NULL) {
        return CLI_FAILED;
    }
    const int exit_status = solve(&s);
    free(s.v);
    free(s.p);
    perp_contact_solver_destroy(s.solver);
    perp_contact_file_destroy(s.file);
    perp_context_destroy(s.context);
    for (int32_t i = 0; i < s.option_count; ++i) {
        free(s.owned[i]);
    }
    free(s.owned);
    free(s.option);
    return exit_status;
}

static const cli_option options[] = {
    {"--solver", "NAME", "see 'perp list solvers'; default auto", NULL},
    {"--set", "NAME=NUMBER", "a setting of the solver", NULL},
    {"--tolerance", "TOL", "what the judge must find; default 1e-10", NULL},
    {"--json", NULL, "print one JSON object, velocities and impulses included", NULL},
    {0},
};

const cli_verb cli_verb_solve = {
    .name = "solve",
    .usage = "PROBLEM.json [--solver NAME] [--json]",
    .summary = "solve one saved contact problem",
    .text = "A problem file is written when a step of a run cannot be solved. Exit status 3 if it "
            "is not solved.",
    .words_min = 1,
    .words_max = 1,
    .option = options,
    .run = run,
};
