/* cli/demo.c - `perp demo`: the built-in scenes, one line each; or one of them, run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

/* Cuts a description after its first sentence. */
static void first_sentence(char* text)
{
    char* end = strstr(text, ". ");
    if (end != NULL) {
        end[1] = '\0';
    }
}

static int list_scenes(const cli_args* args)
{
    cli_scene* list = cli_scene_list();
    if (list == NULL || list->name == NULL) {
        cli_scene_list_free(list);
        return cli_fail(args->json, CLI_BAD_INPUT,
                        "demo: no scenes found; set PERP_SCENES to a folder of them");
    }
    int width = 0;
    for (const cli_scene* s = list; s->name != NULL; ++s) {
        const int length = (int)strlen(s->name);
        width = length > width && length <= CLI_NAME_LETTERS ? length : width;
    }
    const int columns = cli_columns(STDOUT_FILENO);
    const int room = columns == 0 ? 1 << 20 : columns > width + 14 ? columns - width - 4 : 10;
    json_t* rows = json_array();
    for (const cli_scene* s = list; s->name != NULL; ++s) {
        int dimension;
        char* text = cli_scene_describe(s->path, &dimension);
        if (text != NULL) {
            first_sentence(text);
        }
        if (args->json) {
            json_t* row = json_object();
            json_object_set_new(row, "name", cli_text(s->name));
            json_object_set_new(row, "summary", cli_text(text != NULL ? text : ""));
            json_array_append_new(rows, row);
        } else {
            printf("  %s", cli_bold());
            cli_put_name(s->name, width);
            printf("%s ", cli_plain());
            (void)cli_put_at_most(text != NULL ? text : "", room);
            printf("\n");
        }
        free(text);
    }
    cli_scene_list_free(list);
    if (args->json) {
        cli_print_json(json_pack("{s:s, s:o}", "status", "ok", "scenes", rows));
    } else {
        json_decref(rows);
        printf("\n'perp demo NAME' runs one and records it here as NAME.h5.\n");
    }
    return CLI_DONE;
}

static void print_command(const char* verb, const char* argument, const char* more,
                          const char* purpose)
{
    const int used = (int)(strlen(verb) + strlen(argument) + strlen(more));
    printf("  perp %s ", verb);
    cli_put(argument);
    cli_put(more);
    printf("%*s  %s%s%s\n", used < 36 ? 36 - used : 0, "", cli_dim(), purpose, cli_plain());
}

/* Suggests commands for the recording, as far as they are built in. */
static void print_next(const char* name, const char* out)
{
    char page[300];
    (void)snprintf(page, sizeof page, " -o %.255s.html", name);
    printf("%snext%s\n", cli_bold(), cli_plain());
    if (cli_verb_find("replay") != NULL) {
        print_command("replay", out, page, "look at it");
    }
    print_command("verify", out, "", "check the laws and the bits again");
    print_command("export", out, "", "its numbers as a table");
    print_command("check", name, "", "what was simulated");
}

/* `perp run PATH --out OUT [--json] [--quiet]`, through the same code as the command line. */
static int run_scene(const cli_args* args, const char* path, const char* out)
{
    char* argv[6];
    int argc = 0;
    argv[argc++] = (char*)"--out";
    argv[argc++] = (char*)out;
    if (args->json) {
        argv[argc++] = (char*)"--json";
    }
    if (cli_flag(args, "--quiet")) {
        argv[argc++] = (char*)"--quiet";
    }
    argv[argc++] = (char*)"--"; /* a path may begin with a dash */
    argv[argc++] = (char*)path;
    cli_args run_args;
    bool help;
    int status = cli_args_parse(&cli_verb_run, argc, argv, &run_args, &help);
    if (status == CLI_DONE) {
        status = cli_verb_run.run(&run_args);
    }
    cli_args_free(&run_args);
    return status;
}

static int unknown_scene(const cli_args* args, const char* name, const cli_scene* list)
{
    size_t count = 0;
    while (list != NULL && list[count].name != NULL) {
        ++count;
    }
    const char** names = calloc(count + 1, sizeof *names);
    for (size_t i = 0; names != NULL && i < count; ++i) {
        names[i] = list[i].name;
    }
    const char* nearest = names != NULL ? cli_nearest(name, names) : NULL;
    free(names);
    return nearest != NULL
               ? cli_fail(args->json, CLI_BAD_INPUT, "unknown scene '%.60s': did you mean '%s'?",
                          name, nearest)
               : cli_fail(args->json, CLI_BAD_INPUT,
                          "unknown scene '%.60s'; 'perp demo' lists them, and 'perp run FILE' runs "
                          "one of yours",
                          name);
}

static int verb_demo(const cli_args* args)
{
    if (args->word_count == 0) {
        return list_scenes(args);
    }
    const char* name = args->word[0];
    cli_scene* list = cli_scene_list();
    const cli_scene* scene = list;
    while (scene != NULL && scene->name != NULL && strcmp(scene->name, name) != 0) {
        ++scene;
    }
    int status;
    if (scene == NULL || scene->name == NULL) {
        status = unknown_scene(args, name, list);
    } else {
        char out[300];
        (void)snprintf(out, sizeof out, "%.255s.h5", name);
        status = run_scene(args, scene->path, out);
        if (status == CLI_DONE && !args->json && !cli_flag(args, "--quiet")) {
            print_next(name, out);
        }
    }
    cli_scene_list_free(list);
    return status;
}

static const cli_option options[] = {
    {"--json", NULL, "print one JSON object: the list, or the result of the run"},
    {"--quiet", NULL, "print nothing but errors"},
    {0},
};

const cli_verb cli_verb_demo = {
    .name = "demo",
    .usage = "[NAME]",
    .summary = "list the built-in scenes, or run one and record it here as NAME.h5",
    .words_max = 1,
    .option = options,
    .run = verb_demo,
};
