/* cli/completion.c - completion scripts for bash, zsh and fish, made from the tables.
 *
 * What a word or a value may be is read from the usage line and the name of the value: SCENE, R.h5,
 * DIR, a|b|c. Names of solvers, scenes and so on come from `perp list KIND --names` at completion
 * time, so that they are those of the installed program.
 */
#include <stdio.h>
#include <string.h>

#include "help.h"

const char* const cli_shells[] = {"bash", "zsh", "fish", NULL};

/* What is allowed at a place of the command line. */
typedef enum choice_kind {
    CHOICE_FILE,    /* any file */
    CHOICE_FOLDER,  /* */
    CHOICE_ENDING,  /* files with an ending: text */
    CHOICE_NAMES,   /* perp list text --names */
    CHOICE_SCENE,   /* names of scenes, and files that end in json */
    CHOICE_WORDS,   /* text: words with spaces between */
    CHOICE_NOTHING, /* a number, or a name without candidates */
} choice_kind;

typedef struct choice {
    choice_kind kind;
    char text[240];
} choice;

static choice choice_of(choice_kind kind, const char* text)
{
    choice c = {.kind = kind};
    (void)snprintf(c.text, sizeof c.text, "%s", text);
    return c;
}

static choice verbs_choice(void)
{
    choice c = {.kind = CHOICE_WORDS};
    for (int i = 0; cli_verbs[i] != NULL; ++i) {
        const size_t used = strlen(c.text);
        (void)snprintf(c.text + used, sizeof c.text - used, "%s%s", i > 0 ? " " : "",
                       cli_verbs[i]->name);
    }
    return c;
}

/* By the name that the help gives to a value: "R.h5", "DIR", "SCENE", "a|b". */
static choice choice_by_name(const char* name)
{
    static const struct {
        const char* name;
        choice_kind kind;
        const char* text;
    } known[] = {
        {"SCENE", CHOICE_SCENE, ""},
        {"VERB", CHOICE_WORDS, ""}, /* see below */
        {"SHELL", CHOICE_WORDS, "bash zsh fish"},
        {"CONE", CHOICE_WORDS, "none polygon quadratic ellipsoid"},
        {"DIR", CHOICE_FOLDER, ""},
        {"FILE", CHOICE_FILE, ""},
        {"STUDY", CHOICE_FILE, ""}, /* or a database */
        {"PROBLEM", CHOICE_FILE, ""},
    };
    if (strcmp(name, "VERB") == 0) {
        return verbs_choice();
    }
    for (size_t i = 0; i < sizeof known / sizeof known[0]; ++i) {
        if (strcmp(known[i].name, name) == 0) {
            return choice_of(known[i].kind, known[i].text);
        }
    }
    if (strchr(name, '|') != NULL) {
        choice c = choice_of(CHOICE_WORDS, name);
        for (char* bar = strchr(c.text, '|'); bar != NULL; bar = strchr(bar, '|')) {
            *bar = ' ';
        }
        return c;
    }
    const char* dot = strrchr(name, '.');
    const char* end = dot != NULL ? strchr(dot, '[') : NULL; /* "R.h5[@T]" */
    if (dot != NULL) {
        choice c = choice_of(CHOICE_ENDING, dot + 1);
        c.text[end != NULL ? (size_t)(end - dot - 1) : strlen(dot + 1)] = '\0';
        return c;
    }
    return choice_of(CHOICE_NOTHING, "");
}

/* The value of an option. */
static choice value_choice(const cli_option* o)
{
    static const char* const list[][2] = {
        {"--solver", "solvers"}, {"--stepper", "steppers"}, {"--contact", "contacts"}};
    for (size_t i = 0; i < sizeof list / sizeof list[0]; ++i) {
        if (strcmp(o->name, list[i][0]) == 0) {
            return choice_of(CHOICE_NAMES, list[i][1]);
        }
    }
    return choice_by_name(o->value);
}

/* The words of a verb: by the first of its usage line, which the others resemble. */
static choice word_choice(const cli_verb* verb)
{
    char word[240];
    const char* from = verb->usage + (verb->usage[0] == '[');
    const size_t length = strcspn(from, " ]");
    if (verb->words_max == 0 || from[0] == '-') {
        return choice_of(CHOICE_NOTHING, "");
    }
    (void)snprintf(word, sizeof word, "%.*s", (int)length, from);
    return strcmp(word, "NAME") == 0 ? choice_of(CHOICE_NAMES, "scenes") : choice_by_name(word);
}

/* ---- bash -------------------------------------------------------------------------------------*/

static void bash_choice(const choice* c)
{
    switch (c->kind) {
    case CHOICE_FILE: printf("_perp_files"); break;
    case CHOICE_FOLDER: printf("_perp_folders"); break;
    case CHOICE_ENDING: printf("_perp_files %s", c->text); break;
    case CHOICE_NAMES:
        printf("_perp_words \"$(\"${COMP_WORDS[0]}\" list %s --names 2>/dev/null)\"", c->text);
        break;
    case CHOICE_SCENE:
        printf("_perp_words \"$(\"${COMP_WORDS[0]}\" list scenes --names 2>/dev/null)\"; "
               "_perp_files json");
        break;
    case CHOICE_WORDS: printf("_perp_words '%s'", c->text); break;
    case CHOICE_NOTHING: printf(":"); break;
    }
}

/* A `case` on "VERB OPTION": what the option's value may be. */
static void bash_values(const cli_verb* verb)
{
    for (const cli_option* o = verb->option; o->name != NULL; ++o) {
        if (o->value != NULL) {
            const choice c = value_choice(o);
            printf("    '%s %s'%s%s%s) ", verb->name, o->name,
                   strcmp(o->name, "--out") == 0 ? " | '" : "",
                   strcmp(o->name, "--out") == 0 ? verb->name : "",
                   strcmp(o->name, "--out") == 0 ? " -o'" : "");
            bash_choice(&c);
            printf("; return ;;\n");
        }
    }
}

static void bash_words(const cli_verb* verb)
{
    const choice c = word_choice(verb);
    printf("    '%s')\n        if [[ $cur == -* ]]; then _perp_words '", verb->name);
    for (const cli_option* o = verb->option; o->name != NULL; ++o) {
        printf("%s ", o->name);
    }
    printf("--help'\n        else ");
    bash_choice(&c);
    printf("; fi ;;\n");
}

static void print_bash(void)
{
    const choice verbs = verbs_choice();
    printf("# bash completion for perp; made by 'perp help --completion bash'\n"
           "_perp_words() { # _perp_words WORDS: those that begin like the word under the cursor\n"
           "    local IFS=$' \\t\\n'\n"
           "    COMPREPLY+=($(compgen -W \"$1\" -- \"$cur\"))\n"
           "}\n"
           "_perp_files() { # _perp_files [ENDING]: files, and folders to look into\n"
           "    local IFS=$'\\n'\n"
           "    compopt -o filenames 2>/dev/null\n"
           "    if [[ $# == 0 ]]; then\n"
           "        COMPREPLY+=($(compgen -f -- \"$cur\"))\n"
           "    else\n"
           "        COMPREPLY+=($(compgen -d -- \"$cur\") $(compgen -f -X \"!*.$1\" -- \"$cur\"))\n"
           "    fi\n"
           "}\n"
           "_perp_folders() {\n"
           "    local IFS=$'\\n'\n"
           "    compopt -o filenames 2>/dev/null\n"
           "    COMPREPLY+=($(compgen -d -- \"$cur\"))\n"
           "}\n"
           "_perp() {\n"
           "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
           "    local verb=${COMP_WORDS[1]}\n"
           "    COMPREPLY=()\n"
           "    if [[ $COMP_CWORD == 1 ]]; then\n"
           "        _perp_words '%s --help --version'\n"
           "        return\n"
           "    fi\n"
           "    # --option=value comes as three words\n"
           "    if [[ $cur == '=' ]]; then cur=\n"
           "    elif [[ $prev == '=' && $COMP_CWORD -ge 3 ]]; then "
           "prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
           "    case \"$verb $prev\" in\n",
           verbs.text);
    for (int i = 0; cli_verbs[i] != NULL; ++i) {
        bash_values(cli_verbs[i]);
    }
    printf("    esac\n    case $verb in\n");
    for (int i = 0; cli_verbs[i] != NULL; ++i) {
        bash_words(cli_verbs[i]);
    }
    printf("    esac\n}\ncomplete -F _perp perp\n");
}

/* ---- zsh --------------------------------------------------------------------------------------*/

/* Inside '...' of a specification: no quote, and ':' and ']' mean something there. */
static void zsh_text(const char* text)
{
    for (const char* c = text; *c != '\0'; ++c) {
        if (*c == '\'') {
            (void)fputs("'\\''", stdout);
        } else {
            printf("%s%c", strchr(":[]\\", *c) != NULL ? "\\" : "", *c);
        }
    }
}

static void zsh_choice(const choice* c)
{
    switch (c->kind) {
    case CHOICE_FILE: printf("_files"); break;
    case CHOICE_FOLDER: printf("_files -/"); break;
    case CHOICE_ENDING: printf("_files -g \"*.%s\"", c->text); break;
    case CHOICE_NAMES: printf("_perp_names %s", c->text); break;
    case CHOICE_SCENE: printf("_perp_scenes"); break;
    case CHOICE_WORDS: printf("(%s)", c->text); break;
    case CHOICE_NOTHING: printf(" "); break;
    }
}

static void zsh_verb(const cli_verb* verb)
{
    const choice words = word_choice(verb);
    printf("    (%s)\n        _arguments", verb->name);
    for (const cli_option* o = verb->option; o->name != NULL; ++o) {
        printf(" \\\n            '%s%s[",
               strcmp(o->name, "--set") == 0 || strcmp(o->name, "--param") == 0 ? "*" : "",
               o->name);
        zsh_text(o->text);
        printf("]");
        if (o->value != NULL) {
            const choice c = value_choice(o);
            printf(":");
            zsh_text(o->value);
            printf(":");
            zsh_choice(&c);
        }
        printf("'");
    }
    printf(" \\\n            '--help[help for this verb]'");
    if (verb->words_max > 0) {
        printf(" \\\n            '*:argument:");
        zsh_choice(&words);
        printf("'");
    }
    printf(" ;;\n");
}

static void print_zsh(void)
{
    printf("#compdef perp\n"
           "# zsh completion for perp; made by 'perp help --completion zsh'\n"
           "_perp_names() { # options of compadd, then the kind of names\n"
           "    local -a names\n"
           "    names=(${(f)\"$(perp list $argv[-1] --names 2>/dev/null)\"})\n"
           "    compadd \"${(@)argv[1,-2]}\" -a names\n"
           "}\n"
           "_perp_scenes() {\n"
           "    _perp_names \"$@\" scenes\n"
           "    _files \"$@\" -g '*.json'\n"
           "}\n"
           "_perp() {\n"
           "    local -a verbs\n"
           "    verbs=(\n");
    for (int i = 0; cli_verbs[i] != NULL; ++i) {
        printf("        '%s:", cli_verbs[i]->name);
        zsh_text(cli_verbs[i]->summary);
        printf("'\n");
    }
    printf("    )\n"
           "    if ((CURRENT == 2)); then\n"
           "        _describe 'verb' verbs\n"
           "        return\n"
           "    fi\n"
           "    local verb=$words[2]\n"
           "    shift words\n"
           "    ((CURRENT--))\n"
           "    case $verb in\n");
    for (int i = 0; cli_verbs[i] != NULL; ++i) {
        zsh_verb(cli_verbs[i]);
    }
    printf("    esac\n}\n"
           "# autoloaded by compinit, or sourced\n"
           "if [[ $funcstack[1] == _perp ]]; then _perp \"$@\"; else compdef _perp perp; fi\n");
}

/* ---- fish -------------------------------------------------------------------------------------*/

static void fish_text(const char* text)
{
    putchar('\'');
    for (const char* c = text; *c != '\0'; ++c) {
        printf("%s%c", *c == '\'' || *c == '\\' ? "\\" : "", *c);
    }
    putchar('\'');
}

static void fish_choice(const choice* c)
{
    switch (c->kind) {
    case CHOICE_FILE: printf(" -F"); break;
    case CHOICE_FOLDER: printf(" -f -a '(__fish_complete_directories)'"); break;
    case CHOICE_ENDING: printf(" -f -a '(__fish_complete_suffix .%s)'", c->text); break;
    case CHOICE_NAMES: printf(" -f -a '(perp list %s --names 2>/dev/null)'", c->text); break;
    case CHOICE_SCENE:
        printf(" -f -a '(perp list scenes --names 2>/dev/null; __fish_complete_suffix .json)'");
        break;
    case CHOICE_WORDS: printf(" -f -a '%s'", c->text); break;
    case CHOICE_NOTHING: printf(" -f"); break;
    }
}

static void fish_verb(const cli_verb* verb)
{
    const choice words = word_choice(verb);
    printf("complete -c perp -n __fish_use_subcommand -f -a %s -d ", verb->name);
    fish_text(verb->summary);
    printf("\ncomplete -c perp -n '__perp_verb %s'", verb->name);
    fish_choice(&words);
    printf("\n");
    for (const cli_option* o = verb->option; o->name != NULL; ++o) {
        printf("complete -c perp -n '__perp_verb %s' -l %s", verb->name, o->name + 2);
        if (o->value != NULL) {
            const choice c = value_choice(o);
            printf("%s -r", strcmp(o->name, "--out") == 0 ? " -s o" : "");
            fish_choice(&c);
        }
        printf(" -d ");
        fish_text(o->text);
        printf("\n");
    }
}

static void print_fish(void)
{
    printf("# fish completion for perp; made by 'perp help --completion fish'\n"
           "function __perp_verb\n"
           "    set -l words (commandline -opc)\n"
           "    test (count $words) -ge 2; and test $words[2] = $argv[1]\n"
           "end\n");
    for (int i = 0; cli_verbs[i] != NULL; ++i) {
        fish_verb(cli_verbs[i]);
    }
}

bool cli_print_completion(const char* shell)
{
    if (strcmp(shell, "bash") == 0) {
        print_bash();
    } else if (strcmp(shell, "zsh") == 0) {
        print_zsh();
    } else if (strcmp(shell, "fish") == 0) {
        print_fish();
    } else {
        return false;
    }
    return true;
}
