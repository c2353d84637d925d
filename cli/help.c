/* cli/help.c - `perp help`, `perp help VERB`, `perp VERB --help`. */
#include "help.h"

#include <stdio.h>
#include <string.h>

void cli_help_overview(void)
{
    printf("%sperp%s - a laboratory for rigid bodies in contact\n\n", cli_bold(), cli_plain());
    for (int i = 0; cli_verbs[i] != NULL; ++i) {
        printf("  perp %s%-8s%s %s\n", cli_bold(), cli_verbs[i]->name, cli_plain(),
               cli_verbs[i]->summary);
    }
    printf("\n%sExamples%s\n"
           "  perp init my.json                       write a first scene, with comments\n"
           "  perp run my.json --out my.h5            simulate and record it\n"
           "  perp demo stack                         run a built-in scene\n\n"
           "'perp help VERB' says more. Exit status: 0 done, 2 bad usage or input, 3 the\n"
           "simulation could not go on.\n",
           cli_bold(), cli_plain());
}

void cli_help_verb(const cli_verb* verb)
{
    printf("%sperp %s%s %s\n  %s\n", cli_bold(), verb->name, cli_plain(), verb->usage,
           verb->summary);
    if (verb->text != NULL) {
        printf("\n%s\n", verb->text);
    }
    if (verb->option->name != NULL) {
        printf("\n");
    }
    for (const cli_option* o = verb->option; o->name != NULL; ++o) {
        char left[64];
        (void)snprintf(left, sizeof left, "%s%s%s", o->name, o->value != NULL ? " " : "",
                       o->value != NULL ? o->value : "");
        printf("  %-26s %s\n", left, o->text);
    }
}

static int verb_help(const cli_args* args)
{
    const char* shell = cli_value(args, "--completion");
    if (cli_flag(args, "--man") + (shell != NULL) + args->word_count > 1) {
        return cli_fail(args->json, CLI_BAD_INPUT, "help: a verb, --man or --completion: only one");
    }
    if (cli_flag(args, "--man")) {
        cli_print_man();
        return CLI_DONE;
    }
    if (shell != NULL) {
        if (cli_print_completion(shell)) {
            return CLI_DONE;
        }
        const char* nearest = cli_nearest(shell, cli_shells);
        return cli_fail(args->json, CLI_BAD_INPUT, "help: no completion for '%.60s': %s%s%s", shell,
                        nearest != NULL ? "did you mean '" : "there is bash, zsh and fish",
                        nearest != NULL ? nearest : "", nearest != NULL ? "'?" : "");
    }
    if (args->word_count == 0) {
        cli_help_overview();
        return CLI_DONE;
    }
    const cli_verb* verb = cli_verb_find(args->word[0]);
    if (verb == NULL) {
        return cli_verb_unknown(args->word[0], args->json);
    }
    cli_help_verb(verb);
    return CLI_DONE;
}

static const cli_option options[] = {
    {"--man", NULL, "print the man page, for man(1): perp help --man | man -l -"},
    {"--completion", "SHELL", "print the completion script for bash, zsh or fish"},
    {0},
};

const cli_verb cli_verb_help = {
    .name = "help",
    .usage = "[VERB]",
    .summary = "this, or more about a verb",
    .text = "'make install' puts man page and completion scripts where they are looked for.",
    .words_max = 1,
    .option = options,
    .run = verb_help,
};
