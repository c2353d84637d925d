/* cli/cli.h - functions shared by the verbs of `perp`.
 *
 * One table of verbs (main.c), one file per verb. A verb declares its options; parsing, help and
 * the suggestions for misspelt words come from that declaration. Only include/perp is used.
 */
#ifndef PERP_CLI_H
#define PERP_CLI_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "perp/perp.h"

enum {
    CLI_DONE = 0,
    CLI_BAD_INPUT = 2, /* bad usage or bad input */
    CLI_FAILED = 3,    /* the work could not go on, or its result is bad */
};

/* ---- arguments --------------------------------------------------------------------------------*/

typedef struct cli_option {
    const char* name;  /* "--step" */
    const char* value; /* what to call its value in help; NULL: a flag */
    const char* text;
} cli_option;

typedef struct cli_given {
    const cli_option* option;
    const char* value; /* NULL for a flag */
} cli_given;

typedef struct cli_args {
    const char** word; /* what is not an option, in order */
    int word_count;
    cli_given* given; /* options in order */
    int given_count;
    bool json;
} cli_args;

typedef struct cli_verb {
    const char* name;
    const char* usage; /* without "perp NAME " */
    const char* summary;
    const char* text; /* more, for `perp help NAME` */
    int words_min, words_max;
    const cli_option* option; /* ends with a NULL name */
    int (*run)(const cli_args* args);
} cli_verb;

/* The value of an option given last, or NULL. */
const char* cli_value(const cli_args* args, const char* name);
bool cli_flag(const cli_args* args, const char* name);
/* CLI_DONE, or CLI_BAD_INPUT after saying why. *help: --help was given. */
int cli_args_parse(const cli_verb* verb, int argc, char** argv, cli_args* args, bool* help);
void cli_args_free(cli_args* args);
/* The word of the list (NULL-terminated) that was probably meant, or NULL. */
const char* cli_nearest(const char* word, const char* const* list);

/* ---- verbs ------------------------------------------------------------------------------------*/

extern const cli_verb cli_verb_run, cli_verb_check, cli_verb_list, cli_verb_export, cli_verb_verify,
    cli_verb_solve, cli_verb_compare, cli_verb_init, cli_verb_demo, cli_verb_replay, cli_verb_plot,
    cli_verb_render, cli_verb_import, cli_verb_forces, cli_verb_sweep, cli_verb_design,
    cli_verb_estimate, cli_verb_gradient, cli_verb_worker, cli_verb_help;
extern const cli_verb* const cli_verbs[]; /* NULL-terminated */
const cli_verb* cli_verb_find(const char* name);
/* Says why a name is no verb: not built yet, misspelt, unknown. */
int cli_verb_unknown(const char* name, bool json);
void cli_help_overview(void);
void cli_help_verb(const cli_verb* verb);

/* ---- output -----------------------------------------------------------------------------------*/

/* "perp: message" on stderr, one line whatever the message holds; with --json also {"status": word,
 * "message": ...} on stdout, where word belongs to the exit status ("bad-input", "failed"). Returns
 * exit_status. */
int cli_fail(bool json, int exit_status, const char* format, ...) PERP_PRINTF(3, 4);
/* Only the line on stderr. */
void cli_complain(const char* format, ...) PERP_PRINTF(1, 2);
/* 2 for bad input and pieces that do not exist yet, 2 for files that cannot be opened, else 3. */
int cli_exit_of(perp_status status);
const char* cli_status_word(int exit_status);

/* Text from outside (names, paths, messages) on stdout: control characters and bytes that are not
 * UTF-8 are printed as escapes, so that they cannot move the cursor or break a line. */
void cli_put(const char* text);
/* The same for a name in a table: shortened with an ellipsis, and filled up with spaces. */
#define CLI_NAME_LETTERS 40
void cli_put_name(const char* name, int width);
/* How wide cli_put_name(name, 0) comes out. */
int cli_width(const char* name);
/* The same without the filling, cut at any width; returns how wide it came out. */
int cli_put_at_most(const char* text, int limit);
/* Columns of the terminal behind a file descriptor; 0 if there is no terminal. */
int cli_columns(int fd);
/* Whether a progress line stands on stderr, which must be cleared before a message. */
void cli_line_shown(bool shown);

/* Prints and releases the object. */
void cli_print_json(json_t* object);
/* The step that forces are drawn with: the scene's, of an adaptive one its first. */
double cli_nominal_step(const perp_scene_run* run);
/* The contact model that runs of the scene use, and why: what `auto` stands for. */
perp_contact_choice cli_contact(const perp_scene* scene);
/* A number, or null where JSON has none (infinity, NaN). */
json_t* cli_number(double x);
/* A string; text from outside need not be UTF-8, but JSON must be: other bytes become '?'. */
json_t* cli_text(const char* s);
json_t* cli_numbers(const double* x, int count);

/* Escape sequences, or "" when stdout is not a terminal or NO_COLOR is set. */
const char* cli_bold(void);
const char* cli_dim(void);
const char* cli_green(void);
const char* cli_red(void);
const char* cli_plain(void);

/* Call it after a recording could not be read. HDF5 may then report errors about objects left open
 * at exit; the program ends without that cleanup. */
void cli_leave_quickly(void);
bool cli_leaving_quickly(void);

double cli_clock(void);     /* seconds, monotonic */
double cli_cpu_clock(void); /* seconds of CPU of the calling thread */

/* ---- shared by several verbs ------------------------------------------------------------------*/

/* A context that logs warnings to stderr; on failure says so and returns NULL. */
perp_context* cli_context(bool json);
/* The option --threads of a verb, applied to its context. */
#define CLI_THREADS_OPTION                                                                         \
    {                                                                                              \
        "--threads", "N", "threads at most; default: all processors. Results do not depend on it"  \
    }
int cli_use_threads(const cli_args* args, perp_context* context);
/* The path of a scene: as given, or found by its bare name among the built-in scenes; to be freed.
 * CLI_DONE, or CLI_BAD_INPUT after saying that there is none, and which one was probably meant. */
int cli_scene_find(const char* word, bool json, char** path);

/* A scene that is found by its bare name. */
typedef struct cli_scene {
    char* name;
    char* path;
    int folder; /* scenes of one folder follow each other */
} cli_scene;
/* The built-in scenes: of PERP_SCENES, ./scenes and the program's own, each folder by name. A name
 * that comes again in a later folder is left out. Ends with a NULL name; NULL: out of memory. */
cli_scene* cli_scene_list(void);
void cli_scene_list_free(cli_scene* list);
/* Dimension (0: unknown) and `description` (to be freed, NULL only if memory is short) of a scene;
 * of a broken one, what is wrong with it. */
char* cli_scene_describe(const char* path, int* dimension);

/* Warns on stderr where a body falls by more than the smallest body's size within one step. */
void cli_advise_step(const perp_scene* scene);

/* --size WxH, each side from low to high; untouched if it is not given. */
int cli_read_size(const cli_args* args, int low, int high, int* width, int* height);

/* --step, --duration, ... and --set as overrides of the scene. */
typedef struct cli_overrides {
    perp_override* item;
    int32_t count;
    char** owned;
} cli_overrides;
/* For verbs that take a robot where they take a scene. */
#define CLI_URDF_OPTIONS                                                                           \
    {"--package", "DIR", "of a robot: where package://... is"},                                    \
        {"--floating", NULL, "of a robot: its root is not attached to the world"},                 \
        {"--keyframe", "NAME", "of an MJCF model: where it starts (default: home; none)"},         \
        {"--floor", NULL, "of a robot: a ground below its lowest point"},                          \
        {"--strict", NULL, "of a robot: what would be a notice is an error"},                      \
        {"--decompose", NULL, "of a robot: cut collision meshes into convex pieces"},              \
    {                                                                                              \
        "--no-self-collision", NULL, "of a robot: its links never meet each other"                 \
    }
perp_urdf_options cli_urdf_options(const cli_args* args);
/* The work of a verb on the scene that its argument names; scene and simulation are returned in
 * *scene and *sim. */
typedef int (*cli_scene_work)(const cli_args* args, const char* path,
                              const cli_overrides* overrides, perp_context* context,
                              perp_scene** scene, perp_sim** sim);
/* Creates a context, finds the scene, calls work, and frees everything. */
int cli_scene_with(const cli_args* args, cli_scene_work work);
/* perp_scene_load; of a robot with the options above, which are refused for another scene. */
int cli_scene_load(const cli_args* args, perp_context* context, const char* path,
                   const cli_overrides* overrides, perp_scene** scene);
int cli_overrides_gather(const cli_args* args, cli_overrides* overrides);
void cli_overrides_free(cli_overrides* overrides);

#endif
