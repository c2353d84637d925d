/* cli/scenes.c - the scenes that are found by their bare name, and the one a typo probably meant. */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

#define FOLDERS 4

static bool is_folder(const char* path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int add_folder(char* folder[FOLDERS], int count, const char* path)
{
    char* real = is_folder(path) ? realpath(path, NULL) : NULL;
    for (int i = 0; real != NULL && i < count; ++i) {
        if (strcmp(folder[i], real) == 0) { /* the same folder under two names */
            free(real);
            return count;
        }
    }
    if (real != NULL) {
        folder[count++] = real;
    }
    return count;
}

/* Folders with scenes, best first; each to be freed. */
static int scene_folders(char* folder[FOLDERS])
{
    int count = 0;
    const char* chosen = getenv("PERP_SCENES");
    if (chosen != NULL && chosen[0] != '\0') {
        count = add_folder(folder, count, chosen);
    }
    count = add_folder(folder, count, "scenes");
    char exe[PATH_MAX], path[PATH_MAX + 64];
    const ssize_t length = readlink("/proc/self/exe", exe, sizeof exe - 1);
    if (length > 0) {
        exe[length] = '\0';
        char* slash = strrchr(exe, '/');
        if (slash != NULL) {
            *slash = '\0';
            (void)snprintf(path, sizeof path, "%s/../share/perp/scenes", exe);
            count = add_folder(folder, count, path);
            (void)snprintf(path, sizeof path, "%s/../../scenes", exe);
            count = add_folder(folder, count, path);
        }
    }
    return count;
}

/* ---- the list ---------------------------------------------------------------------------------*/

typedef struct scenes {
    cli_scene* item; /* NULL: out of memory */
    size_t count;
} scenes;

static bool has_scene(const scenes* s, const char* name)
{
    for (size_t i = 0; i < s->count; ++i) {
        if (strcmp(s->item[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* "folder/name.json"; name is its first `stem` letters. */
static void add_scene(scenes* s, const char* folder, int number, const char* file, size_t stem)
{
    char* name = strndup(file, stem);
    char* path = malloc(strlen(folder) + strlen(file) + 2);
    cli_scene* item = realloc(s->item, (s->count + 2) * sizeof *item);
    if (item != NULL) {
        s->item = item;
    }
    if (name == NULL || path == NULL || item == NULL || has_scene(s, name)) {
        free(name);
        free(path);
        return;
    }
    (void)sprintf(path, "%s/%s", folder, file);
    s->item[s->count++] = (cli_scene){name, path, number};
    s->item[s->count] = (cli_scene){0};
}

static int is_json(const struct dirent* entry)
{
    const char* dot = strrchr(entry->d_name, '.');
    return dot != NULL && dot != entry->d_name && strcmp(dot, ".json") == 0;
}

static void add_scenes(scenes* s, const char* folder, int number)
{
    struct dirent** entry = NULL;
    const int n = scandir(folder, &entry, is_json, alphasort);
    for (int i = 0; i < n; ++i) {
        add_scene(s, folder, number, entry[i]->d_name, strlen(entry[i]->d_name) - strlen(".json"));
        free(entry[i]);
    }
    free(entry);
}

cli_scene* cli_scene_list(void)
{
    char* folder[FOLDERS];
    scenes s = {.item = calloc(1, sizeof(cli_scene))};
    const int count = scene_folders(folder);
    for (int f = 0; f < count; ++f) {
        if (s.item != NULL) {
            add_scenes(&s, folder[f], f);
        }
        free(folder[f]);
    }
    return s.item;
}

void cli_scene_list_free(cli_scene* list)
{
    for (cli_scene* s = list; s != NULL && s->name != NULL; ++s) {
        free(s->name);
        free(s->path);
    }
    free(list);
}

char* cli_scene_describe(const char* path, int* dimension)
{
    perp_context* context = NULL; /* one that logs nothing */
    perp_scene* scene = NULL;
    char* text = NULL;
    *dimension = 0;
    if (perp_context_create(NULL, &context) != PERP_OK) {
        return NULL;
    }
    if (perp_scene_load(context, path, NULL, 0, &scene) == PERP_OK) {
        *dimension = perp_model_dimension(perp_scene_model(scene));
        json_t* root = json_loads(perp_scene_text(scene), 0, NULL);
        const char* description = json_string_value(json_object_get(root, "description"));
        text = strdup(description != NULL ? description : "");
        json_decref(root);
    } else {
        text = strdup(perp_context_error(context));
    }
    perp_scene_destroy(scene);
    perp_context_destroy(context);
    return text;
}

/* ---- finding one ------------------------------------------------------------------------------*/

/* The nearest of the list to a word that may end in ".json", or in what became of it; or NULL. */
static const char* nearest_of(const scenes* s, const char* word)
{
    const char* dot = strrchr(word, '.');
    char* stem = strndup(word, dot != NULL && dot != word ? (size_t)(dot - word) : strlen(word));
    const char** names = calloc(s->count + 1, sizeof *names);
    for (size_t i = 0; names != NULL && i < s->count; ++i) {
        names[i] = s->item[i].name;
    }
    const char* nearest = stem != NULL && names != NULL ? cli_nearest(stem, names) : NULL;
    free(stem);
    free(names);
    return nearest;
}

/* "scenes/helo.json": among the files of that folder. */
static int missing_file(const char* word, const char* slash, bool json)
{
    scenes s = {.item = calloc(1, sizeof(cli_scene))};
    char* folder = strndup(word, (size_t)(slash - word) + 1);
    if (s.item != NULL && folder != NULL) {
        add_scenes(&s, folder, 0);
    }
    const char* nearest = s.item != NULL ? nearest_of(&s, slash + 1) : NULL;
    const int status = nearest != NULL ? cli_fail(json, CLI_BAD_INPUT,
                                                  "%s: no such file: did you mean '%s%s.json'?",
                                                  word, folder, nearest)
                                       : CLI_DONE; /* opening it reports the error */
    cli_scene_list_free(s.item);
    free(folder);
    return status;
}

/* A bare name: among the built-in scenes and the files here. */
static int missing_name(const char* word, bool json)
{
    scenes s = {.item = cli_scene_list()};
    while (s.item != NULL && s.item[s.count].name != NULL) {
        s.count += 1;
    }
    const size_t built_in = s.count;
    if (s.item != NULL) {
        add_scenes(&s, ".", FOLDERS);
    }
    const char* nearest = s.item != NULL ? nearest_of(&s, word) : NULL;
    bool here = false;
    for (size_t i = built_in; i < s.count; ++i) {
        here = here || s.item[i].name == nearest;
    }
    const int status =
        nearest != NULL
            ? cli_fail(json, CLI_BAD_INPUT, "%s: no such file or scene: did you mean '%s%s'?", word,
                       nearest, here ? ".json" : "")
            : cli_fail(json, CLI_BAD_INPUT,
                       "%s: no such file, and no built-in scene of that name; 'perp demo' lists "
                       "them",
                       word);
    cli_scene_list_free(s.item);
    return status;
}

int cli_scene_find(const char* word, bool json, char** path)
{
    const char* slash = strrchr(word, '/');
    int status = CLI_DONE;
    *path = NULL;
    if (access(word, F_OK) != 0 && slash != NULL) {
        status = missing_file(word, slash, json);
    } else if (access(word, F_OK) != 0) {
        cli_scene* list = cli_scene_list();
        for (cli_scene* s = list; s != NULL && s->name != NULL && *path == NULL; ++s) {
            *path = strcmp(s->name, word) == 0 ? strdup(s->path) : NULL;
        }
        cli_scene_list_free(list);
        status = *path == NULL ? missing_name(word, json) : CLI_DONE;
    }
    if (status == CLI_DONE && *path == NULL) {
        *path = strdup(word);
        status = *path != NULL ? CLI_DONE : cli_fail(json, CLI_FAILED, "out of memory");
    }
    return status;
}
