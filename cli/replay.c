/* cli/replay.c - `perp replay`: one or two recordings as a page that opens anywhere. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "page.h"
#include "scene_diff.h"

/* R.h5 -> R.html, in the current folder. */
static char* default_name(const char* recording)
{
    const char* slash = strrchr(recording, '/');
    const char* base = slash != NULL ? slash + 1 : recording;
    const char* dot = strrchr(base, '.');
    const size_t stem = dot != NULL && dot != base ? (size_t)(dot - recording) : strlen(recording);
    char* name = malloc(stem + 6);
    if (name != NULL) {
        memcpy(name, recording, stem);
        memcpy(name + stem, ".html", 6);
    }
    return name;
}

static int pack_runs(const cli_args* args, page_run* run)
{
    perp_context* context = cli_context(args->json);
    if (context == NULL) {
        return CLI_FAILED;
    }
    int exit_status = CLI_DONE;
    for (int i = 0; exit_status == CLI_DONE && i < args->word_count; ++i) {
        perp_status status;
        const page_status packed = page_pack(context, args->word[i], &run[i], &status);
        if (packed == PAGE_FAILED) {
            cli_leave_quickly();
            exit_status =
                cli_fail(args->json, cli_exit_of(status), "%s", perp_context_error(context));
        } else if (packed != PAGE_OK) {
            exit_status = cli_fail(args->json, CLI_FAILED, "out of memory");
        }
    }
    perp_context_destroy(context);
    return exit_status;
}

/* Two runs: the header of the second says what differs between the scenes. */
static void add_differences(page_run* run)
{
    if (run[0].scene == NULL || run[1].scene == NULL) {
        return;
    }
    json_t* lines = json_array();
    json_t* found = scene_diff(run[0].scene, run[1].scene);
    for (size_t i = 0; i < json_array_size(found); ++i) {
        const json_t* d = json_array_get(found, i);
        char a[48], b[48];
        scene_diff_text(json_object_get(d, "a"), a, sizeof a);
        scene_diff_text(json_object_get(d, "b"), b, sizeof b);
        json_t* line = json_object();
        json_object_set(line, "path", json_object_get(d, "path"));
        json_object_set(line, "name", json_object_get(d, "name"));
        json_object_set_new(line, "a", page_text(a));
        json_object_set_new(line, "b", page_text(b));
        json_array_append_new(lines, line);
    }
    json_decref(found);
    json_object_set_new(run[1].header, "differences", lines);
}

static void print_result(const cli_args* args, const char* path, const page_run* run,
                         long long size)
{
    if (args->json) {
        json_t* o = json_object();
        json_t* runs = json_array();
        json_object_set_new(o, "status", json_string("ok"));
        json_object_set_new(o, "page", cli_text(path));
        json_object_set_new(o, "bytes", json_integer(size));
        for (int i = 0; i < args->word_count; ++i) {
            json_t* r = json_object();
            json_object_set_new(r, "recording", cli_text(args->word[i]));
            json_object_set_new(r, "frames", json_integer(run[i].frames));
            json_object_set_new(r, "accuracy", cli_number(run[i].accuracy));
            json_object_set_new(r, "keys", json_integer(run[i].key_count));
            json_object_set_new(r, "bytes_inflated", json_integer((json_int_t)run[i].plain));
            json_array_append_new(runs, r);
        }
        json_object_set_new(o, "runs", runs);
        cli_print_json(o);
    } else if (!cli_flag(args, "--quiet")) {
        printf("page: ");
        cli_put(path);
        if (size < 1000000) {
            printf(" (%.0f kB)\n", (double)size / 1e3);
        } else {
            printf(" (%.1f MB)\n", (double)size / 1e6);
        }
    }
}

static int verb_replay(const cli_args* args)
{
    if (!page_available()) {
        return page_complain_missing(args->json);
    }
    const char* given = cli_value(args, "--out");
    char* path = given != NULL ? strdup(given) : default_name(args->word[0]);
    if (path == NULL) {
        return cli_fail(args->json, CLI_FAILED, "out of memory");
    }
    page_run runs[2] = {{0}};
    page_file out = {0};
    long long size = 0;
    /* test the output first: packing may take long */
    int exit_status = page_file_begin(&out, path, cli_flag(args, "--force"), args->json);
    if (exit_status == CLI_DONE) {
        exit_status = pack_runs(args, runs);
        if (exit_status == CLI_DONE && args->word_count == 2) {
            add_differences(runs);
        }
        if (exit_status == CLI_DONE) {
            exit_status = page_file_write(&out, runs, args->word_count, &size);
        }
        page_file_abandon(&out);
    }
    if (exit_status == CLI_DONE) {
        print_result(args, path, runs, size);
    }
    page_run_free(&runs[0]);
    page_run_free(&runs[1]);
    free(path);
    return exit_status;
}

static const cli_option options[] = {
    {"--out", "R.html", "the page (-o); without it, the recording's name with .html"},
    {"--force", NULL, "replace a file even if it is no page of perp"},
    {"--json", NULL, "print the result as one JSON object"},
    {"--quiet", NULL, "print nothing but errors"},
    {0},
};

const cli_verb cli_verb_replay = {
    .name = "replay",
    .usage = "R.h5 [S.h5] [-o R.html]",
    .summary = "a recording as one page that opens in any browser",
    .text = "The page holds everything it needs: it opens from a file, from a mail, from any web "
            "server, and\nasks the network for nothing. Two recordings run side by side on one "
            "clock, or one over the\nother. An interrupted recording is shown up to its last "
            "frame.",
    .words_min = 1,
    .words_max = 2,
    .option = options,
    .run = verb_replay,
};
