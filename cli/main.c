/* cli/main.c - the dispatcher of `perp`. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

const cli_verb* const cli_verbs[] = {
    &cli_verb_init,     &cli_verb_demo,     &cli_verb_check,
    &cli_verb_run,      &cli_verb_replay,   &cli_verb_plot,
    &cli_verb_render,   &cli_verb_compare,  &cli_verb_export,
    &cli_verb_verify,   &cli_verb_forces,   &cli_verb_solve,
    &cli_verb_import,   &cli_verb_sweep,    &cli_verb_design,
    &cli_verb_estimate, &cli_verb_gradient, &cli_verb_worker,
    &cli_verb_list,     &cli_verb_help,     NULL,
};

const cli_verb* cli_verb_find(const char* name)
{
    for (int i = 0; cli_verbs[i] != NULL; ++i) {
        if (strcmp(cli_verbs[i]->name, name) == 0) {
            return cli_verbs[i];
        }
    }
    return NULL;
}

int cli_verb_unknown(const char* name, bool json)
{
    const char* list[64];
    int count = 0;
    for (int i = 0; cli_verbs[i] != NULL; ++i) {
        list[count++] = cli_verbs[i]->name;
    }
    list[count++] = "--version";
    list[count] = NULL;
    const char* nearest = cli_nearest(name, list);
    if (nearest != NULL) {
        return cli_fail(json, CLI_BAD_INPUT, "unknown verb '%.60s': did you mean '%s'?", name,
                        nearest);
    }
    return cli_fail(json, CLI_BAD_INPUT, "unknown verb '%.60s'; see 'perp help'", name);
}

static bool wants_json(int argc, char** argv)
{
    for (int i = 1; i < argc; ++i) {
        if (strcmp(argv[i], "--json") == 0) {
            return true;
        }
    }
    return false;
}

static int dispatch(int argc, char** argv)
{
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        cli_help_overview();
        return CLI_DONE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("perp %s\n", perp_version_string());
        return CLI_DONE;
    }
    const cli_verb* verb = cli_verb_find(argv[1]);
    if (verb == NULL) {
        return cli_verb_unknown(argv[1], wants_json(argc, argv));
    }
    cli_args args;
    bool help;
    int status = cli_args_parse(verb, argc - 2, argv + 2, &args, &help);
    if (status == CLI_DONE && help) {
        cli_help_verb(verb);
    } else if (status == CLI_DONE) {
        status = verb->run(&args);
    }
    cli_args_free(&args);
    return status;
}

int main(int argc, char** argv)
{
    /* Report a file-size limit as an error instead of ending by SIGXFSZ. */
    (void)signal(SIGXFSZ, SIG_IGN);
    int status = dispatch(argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        cli_complain("cannot write to standard output: %s", strerror(errno));
        status = status != CLI_DONE ? status : CLI_FAILED;
    }
    if (cli_leaving_quickly()) {
        _Exit(status);
    }
    return status;
}
