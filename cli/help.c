/* cli/help.c - `perp help`, `perp help VERB`, `perp VERB --help`. */
#include <stdio.h>
#include <string.h>

#include "cli.h"

void cli_help_overview(void)
{
    printf("%sperp%s - a laboratory for rigid bodies in contact\n\n", cli_bold(), cli_plain());
    for (int i = 0; cli_verbs[i] != NULL; ++i) {
        printf("  perp %-7s %s\n", cli_verbs[i]->name, cli_verbs[i]->summary);
    }
    printf("\n%sExamples%s\n"
           "  perp check scene.json                   what will be simulated\n"
           "  perp run scene.json --out r.h5          simulate and record\n"
           "  perp verify r.h5                        check the laws and the bits again\n\n"
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
        printf("  %-26s %s%s\n", left, o->text, o->missing != NULL ? " (does not exist yet)" : "");
    }
}

static int run(const cli_args* args)
{
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

static const cli_option options[] = {{0}};

const cli_verb cli_verb_help = {
    .name = "help",
    .usage = "[VERB]",
    .summary = "this, or more about a verb",
    .words_max = 1,
    .option = options,
    .run = run,
};
