/* cli/args.c - reading a verb's arguments: --option value, --option=value, flags, words. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

const char* cli_value(const cli_args* args, const char* name)
{
    for (int i = args->given_count - 1; i >= 0; --i) {
        if (strcmp(args->given[i].option->name, name) == 0) {
            return args->given[i].value;
        }
    }
    return NULL;
}

bool cli_flag(const cli_args* args, const char* name)
{
    for (int i = 0; i < args->given_count; ++i) {
        if (strcmp(args->given[i].option->name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Edit distance (insert, delete, replace, swap neighbours), at most 31 letters each. */
static int distance(const char* a, const char* b)
{
    enum { N = 32 };
    int d[N][N];
    const size_t n = strlen(a), m = strlen(b);
    if (n >= N || m >= N) {
        return N;
    }
    for (size_t i = 0; i <= n; ++i) {
        for (size_t j = 0; j <= m; ++j) {
            if (i == 0 || j == 0) {
                d[i][j] = (int)(i + j);
                continue;
            }
            int best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            best = d[i - 1][j] + 1 < best ? d[i - 1][j] + 1 : best;
            best = d[i][j - 1] + 1 < best ? d[i][j - 1] + 1 : best;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                d[i - 2][j - 2] + 1 < best) {
                best = d[i - 2][j - 2] + 1;
            }
            d[i][j] = best;
        }
    }
    return d[n][m];
}

const char* cli_nearest(const char* word, const char* const* list)
{
    const char* nearest = NULL;
    const char* letters = word + strspn(word, "-"); /* dashes do not count */
    /* One typing error in four letters, as for words of a scene. */
    int best = (int)strlen(letters) / 4 + 1;
    for (int i = 0; list[i] != NULL; ++i) {
        const int d = distance(letters, list[i] + strspn(list[i], "-"));
        if (d <= best) {
            best = d - 1; /* a later one must be nearer */
            nearest = list[i];
        }
    }
    return nearest;
}

static int unknown_option(const cli_verb* verb, const char* name, bool json)
{
    const char* list[64];
    int count = 0;
    for (const cli_option* o = verb->option; o->name != NULL && count < 62; ++o) {
        list[count++] = o->name;
    }
    list[count++] = "--help";
    list[count] = NULL;
    const char* nearest = cli_nearest(name, list);
    if (nearest != NULL) {
        return cli_fail(json, CLI_BAD_INPUT, "%s: unknown option %s: did you mean %s?", verb->name,
                        name, nearest);
    }
    return cli_fail(json, CLI_BAD_INPUT, "%s: unknown option %s; see 'perp help %s'", verb->name,
                    name, verb->name);
}

static const cli_option* find_option(const cli_verb* verb, const char* name, size_t length)
{
    for (const cli_option* o = verb->option; o->name != NULL; ++o) {
        if (strlen(o->name) == length && strncmp(o->name, name, length) == 0) {
            return o;
        }
    }
    return NULL;
}

/* One option; *used: arguments it took. */
static int take_option(const cli_verb* verb, char** argv, int left, cli_args* args, int* used)
{
    const char* word = strcmp(argv[0], "-o") == 0 ? "--out" : argv[0];
    const char* equals = strchr(word, '=');
    const size_t length = equals != NULL ? (size_t)(equals - word) : strlen(word);
    const cli_option* option = find_option(verb, word, length);
    *used = 1;
    if (option == NULL) {
        char name[64];
        (void)snprintf(name, sizeof name, "%.*s", (int)(length < 60 ? length : 60), word);
        return unknown_option(verb, name, args->json);
    }
    static const char* const many[] = {"--set", "--param", "--overlay", "--plugin"};
    bool repeats = false;
    for (size_t i = 0; i < sizeof many / sizeof many[0]; ++i) {
        repeats = repeats || strcmp(option->name, many[i]) == 0;
    }
    if (option->value != NULL && !repeats && cli_flag(args, option->name)) {
        return cli_fail(args->json, CLI_BAD_INPUT, "%s: %s is given twice: give it once",
                        verb->name, option->name);
    }
    const char* value = NULL;
    if (option->value == NULL) {
        if (equals != NULL) {
            return cli_fail(args->json, CLI_BAD_INPUT, "%s: %s takes no value", verb->name,
                            option->name);
        }
    } else if (equals != NULL) {
        value = equals + 1;
    } else if (left < 2) {
        return cli_fail(args->json, CLI_BAD_INPUT, "%s: %s needs a value: %s %s", verb->name,
                        option->name, option->name, option->value);
    } else {
        value = argv[1];
        *used = 2;
    }
    args->given[args->given_count++] = (cli_given){option, value};
    return CLI_DONE;
}

int cli_args_parse(const cli_verb* verb, int argc, char** argv, cli_args* args, bool* help)
{
    *help = false;
    *args = (cli_args){0};
    for (int i = 0; i < argc; ++i) { /* first, so that every message respects --json */
        args->json = args->json || strcmp(argv[i], "--json") == 0;
    }
    args->word = calloc((size_t)argc + 1, sizeof *args->word);
    args->given = calloc((size_t)argc + 1, sizeof *args->given);
    if (args->word == NULL || args->given == NULL) {
        return cli_fail(args->json, CLI_FAILED, "out of memory");
    }
    bool options = true;
    for (int i = 0; i < argc;) {
        int used = 1;
        if (options && strcmp(argv[i], "--") == 0) {
            options = false;
        } else if (options && (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)) {
            *help = true;
            return CLI_DONE;
        } else if (options && argv[i][0] == '-' && argv[i][1] != '\0') {
            const int status = take_option(verb, argv + i, argc - i, args, &used);
            if (status != CLI_DONE) {
                return status;
            }
        } else {
            args->word[args->word_count++] = argv[i];
        }
        i += used;
    }
    args->json = cli_flag(args, "--json");
    if (args->word_count > verb->words_max) {
        const char* extra = args->word[verb->words_max];
        const bool out =
            find_option(verb, "--out", strlen("--out")) != NULL && cli_value(args, "--out") == NULL;
        return cli_fail(args->json, CLI_BAD_INPUT,
                        "%s: '%.200s' is one argument too many%s%.200s%s; usage: perp %s %s",
                        verb->name, extra, out ? " (did you mean '--out " : "", out ? extra : "",
                        out ? "'?)" : "", verb->name, verb->usage);
    }
    if (args->word_count < verb->words_min) {
        return cli_fail(args->json, CLI_BAD_INPUT, "%s: an argument is missing; usage: perp %s %s",
                        verb->name, verb->name, verb->usage);
    }
    return CLI_DONE;
}

int cli_read_size(const cli_args* args, int low, int high, int* width, int* height)
{
    const char* text = cli_value(args, "--size");
    int w = 0, h = 0, used = 0;
    if (text == NULL) {
        return CLI_DONE;
    }
    if (strlen(text) > 16 || sscanf(text, "%dx%d%n", &w, &h, &used) != 2 || text[used] != '\0' ||
        w < low || w > high || h < low || h > high) {
        return cli_fail(args->json, CLI_BAD_INPUT,
                        "--size: must be WxH, each from %d to %d, such as 1280x720, got '%s'", low,
                        high, text);
    }
    *width = w;
    *height = h;
    return CLI_DONE;
}

void cli_args_free(cli_args* args)
{
    free(args->word);
    free(args->given);
}
