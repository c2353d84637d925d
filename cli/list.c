/* cli/list.c - `perp list`: the names that a scene or a flag may use. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* One row of any list. */
static void print_row(const char* name, const char* summary, bool built)
{
    printf("  %s%-18s%s %s%s\n", built ? cli_bold() : cli_dim(), name, cli_plain(), summary,
           built ? ""
                 : (strstr(summary, "does not exist yet") != NULL ||
                            strstr(summary, "perp forces") != NULL
                        ? ""
                        : " (does not exist yet)"));
}

static json_t* row_json(const char* name, const char* summary, bool built)
{
    return json_pack("{s:s, s:s, s:b}", "name", name, "summary", summary, "built", (int)built);
}

static void add_row(json_t* rows, const char* name, const char* summary, bool built)
{
    if (rows != NULL) {
        json_array_append_new(rows, row_json(name, summary, built));
    } else {
        print_row(name, summary, built);
    }
}

typedef bool (*piece_list)(const perp_context* context, int32_t index, perp_piece_info* info);

static void list_pieces(const perp_context* context, piece_list list, json_t* rows)
{
    perp_piece_info info;
    for (int32_t i = 0; list(context, i, &info); ++i) {
        add_row(rows, info.name, info.summary, info.built);
    }
}

static void list_steppers(const perp_context* context, json_t* rows)
{
    list_pieces(context, perp_stepper_list, rows);
}

static void list_contacts(const perp_context* context, json_t* rows)
{
    list_pieces(context, perp_contact_list, rows);
}

/* ---- solvers ----------------------------------------------------------------------------------*/

static double setting_value(const perp_setting* setting, const char* settings)
{
    const char* at = settings + setting->offset;
    switch (setting->type) {
    case PERP_SETTING_DOUBLE: {
        double x;
        memcpy(&x, at, sizeof x);
        return x;
    }
    case PERP_SETTING_INT: {
        int32_t x;
        memcpy(&x, at, sizeof x);
        return x;
    }
    case PERP_SETTING_BOOL: {
        bool x;
        memcpy(&x, at, sizeof x);
        return x;
    }
    }
    return 0.0;
}

static json_t* setting_json(const perp_setting* s, double value)
{
    static const char* const type[] = {"double", "int", "bool"};
    json_t* o =
        json_pack("{s:s, s:s, s:s}", "name", s->name, "type", type[s->type], "text", s->text);
    if (s->type == PERP_SETTING_BOOL) {
        json_object_set_new(o, "default", json_boolean(value != 0.0));
        return o;
    }
    const bool whole = s->type == PERP_SETTING_INT;
    json_object_set_new(o, "default", whole ? json_integer((json_int_t)value) : cli_number(value));
    json_object_set_new(o, "minimum",
                        whole ? json_integer((json_int_t)s->minimum) : cli_number(s->minimum));
    json_object_set_new(o, "maximum",
                        whole ? json_integer((json_int_t)s->maximum) : cli_number(s->maximum));
    return o;
}

static void print_setting(const perp_setting* s, double value)
{
    if (s->type == PERP_SETTING_BOOL) {
        printf("      %-16s %s; %s\n", s->name, value != 0.0 ? "true" : "false", s->text);
    } else {
        printf("      %-16s %.9g in [%.9g, %.9g]; %s\n", s->name, value, s->minimum, s->maximum,
               s->text);
    }
}

static void list_solvers(const perp_context* context, json_t* rows)
{
    perp_solver_info info;
    for (int32_t i = 0; perp_solver_list(context, i, &info); ++i) {
        json_t* settings = json_array();
        json_t* row = NULL;
        if (rows != NULL) {
            row = row_json(info.name, info.summary, true);
            json_object_set_new(row, "takes",
                                json_pack("{s:b, s:b, s:b, s:b, s:b}", "lcp", (int)info.takes_lcp,
                                          "mlcp", (int)info.takes_mlcp, "ncp", (int)info.takes_ncp,
                                          "friction", (int)info.takes_friction, "contact",
                                          (int)info.takes_contact));
        } else {
            print_row(info.name, info.summary, true);
        }
        char* defaults = info.settings_size > 0 ? calloc(1, info.settings_size) : NULL;
        if (defaults != NULL && info.settings_default != NULL) {
            info.settings_default(defaults);
            for (int32_t s = 0; s < info.settings_count; ++s) {
                const double value = setting_value(&info.settings[s], defaults);
                if (rows != NULL) {
                    json_array_append_new(settings, setting_json(&info.settings[s], value));
                } else {
                    print_setting(&info.settings[s], value);
                }
            }
        }
        free(defaults);
        if (row != NULL) {
            json_object_set_new(row, "settings", settings);
            json_array_append_new(rows, row);
        } else {
            json_decref(settings);
        }
    }
}

/* ---- shapes, joints, scenes -------------------------------------------------------------------*/

static void list_shapes(const perp_context* context, json_t* rows)
{
    (void)context;
    for (int type = 0; type < PERP_SHAPE_TYPE_COUNT; ++type) {
        const perp_shape_type t = (perp_shape_type)type;
        const int32_t dimension = perp_shape_dimension(t);
        if (rows == NULL) {
            printf("  %s%-18s%s %s  %s\n", cli_bold(), perp_shape_name(t), cli_plain(),
                   dimension == 0   ? "2-D, 3-D"
                   : dimension == 2 ? "2-D     "
                                    : "3-D     ",
                   perp_shape_summary(t));
            continue;
        }
        json_t* row = row_json(perp_shape_name(t), perp_shape_summary(t), true);
        json_t* dimensions = json_array();
        for (int32_t d = 2; d <= 3; ++d) {
            if (dimension == 0 || dimension == d) {
                json_array_append_new(dimensions, json_integer(d));
            }
        }
        json_object_set_new(row, "dimensions", dimensions);
        json_array_append_new(rows, row);
    }
}

static void list_joints(const perp_context* context, json_t* rows)
{
    (void)context;
    for (int type = 0; type < PERP_JOINT_TYPE_COUNT; ++type) {
        const perp_joint_type t = (perp_joint_type)type;
        add_row(rows, perp_joint_type_name(t), perp_joint_type_summary(t), true);
    }
}

static void list_scenes(const perp_context* context, json_t* rows)
{
    (void)context;
    cli_scene* list = cli_scene_list();
    for (cli_scene* s = list; s != NULL && s->name != NULL; ++s) {
        if (rows == NULL) {
            if (s == list || s->folder != s[-1].folder) {
                char* slash = strrchr(s->path, '/');
                *slash = '\0';
                cli_put(s->path);
                printf("\n");
            }
            printf("  %s", cli_bold());
            cli_put(s->name); /* not shortened: users copy it */
            printf("%s\n", cli_plain());
            continue;
        }
        int dimension;
        char* description = cli_scene_describe(s->path, &dimension);
        json_t* row = json_object();
        json_object_set_new(row, "name", cli_text(s->name));
        json_object_set_new(row, "path", cli_text(s->path));
        json_object_set_new(row, "dimension",
                            dimension > 0 ? json_integer(dimension) : json_null());
        json_object_set_new(row, "description", cli_text(description != NULL ? description : ""));
        json_array_append_new(rows, row);
        free(description);
    }
    if (rows == NULL && (list == NULL || list->name == NULL)) {
        printf("  no scenes found; set PERP_SCENES to a folder of them\n");
    }
    cli_scene_list_free(list);
}

/* One per line, for completion in a shell; only those that exist. */
static void print_names(json_t* rows)
{
    size_t i;
    json_t* row;
    json_array_foreach(rows, i, row)
    {
        json_t* built = json_object_get(row, "built");
        if (built == NULL || json_is_true(built)) {
            cli_put(json_string_value(json_object_get(row, "name")));
            printf("\n");
        }
    }
    json_decref(rows);
}

/* ---- quantities of a scene ------------------------------------------------------------------------*/

static void put_quantities(const perp_model* model, json_t* rows)
{
    static const char* const pairs[] = {"distance.A.B", "contact.A.B.force.x|y|z",
                                        "contact.A.B.normal|friction|count|slip"};
    perp_quantity q;
    for (int32_t i = 0; perp_quantity_list(model, i, &q); ++i) {
        char name[1400];
        (void)perp_quantity_name(model, &q, name, sizeof name);
        if (rows != NULL) {
            json_array_append_new(rows, json_pack("{s:o, s:b}", "name", cli_text(name), "of_step",
                                                  q.of_step ? 1 : 0));
            continue;
        }
        printf("  ");
        cli_put(name);
        printf("\n");
    }
    for (size_t i = 0; rows == NULL && i < sizeof pairs / sizeof pairs[0]; ++i) {
        printf("  %s%s\n", pairs[i], i == 0 ? "   (A, B: bodies)" : "");
    }
}

static int list_quantities(const cli_args* args, const char* path, const cli_overrides* overrides,
                           perp_context* context, perp_scene** scene, perp_sim** sim)
{
    (void)sim;
    const int exit_status = cli_scene_load(args, context, path, overrides, scene);
    if (exit_status != CLI_DONE) {
        return exit_status;
    }
    const bool names_only = !args->json && cli_flag(args, "--names");
    json_t* rows = args->json || names_only ? json_array() : NULL;
    put_quantities(perp_scene_model(*scene), rows);
    if (names_only) {
        print_names(rows);
    } else if (rows != NULL) {
        cli_print_json(json_pack("{s:s, s:o}", "status", "ok", "quantities", rows));
    }
    return CLI_DONE;
}

/* ---- the verb ---------------------------------------------------------------------------------*/

static const struct {
    const char* name;
    void (*list)(const perp_context* context, json_t* rows);
} kinds[] = {
    {"steppers", list_steppers}, {"contacts", list_contacts}, {"solvers", list_solvers},
    {"shapes", list_shapes},     {"joints", list_joints},     {"scenes", list_scenes},
};
enum { KIND_COUNT = sizeof kinds / sizeof kinds[0] };

static int verb_list(const cli_args* args)
{
    const char* names[KIND_COUNT + 2] = {[KIND_COUNT] = "quantities"};
    const bool quantities = strcmp(args->word[0], "quantities") == 0;
    if (quantities != (args->word_count == 2)) {
        return cli_fail(args->json, CLI_BAD_INPUT,
                        quantities ? "list: quantities are those of a scene: perp list quantities "
                                     "SCENE"
                                   : "list: only 'perp list quantities SCENE' takes a scene");
    }
    if (quantities) {
        const cli_args of_scene = {.word = args->word + 1,
                                   .word_count = 1,
                                   .given = args->given,
                                   .given_count = args->given_count,
                                   .json = args->json};
        return cli_scene_with(&of_scene, list_quantities);
    }
    for (int i = 0; i < KIND_COUNT; ++i) {
        names[i] = kinds[i].name;
        if (strcmp(kinds[i].name, args->word[0]) != 0) {
            continue;
        }
        perp_context* context = cli_context(args->json);
        if (context == NULL) {
            return CLI_FAILED;
        }
        const bool names_only = !args->json && cli_flag(args, "--names");
        json_t* rows = args->json || names_only ? json_array() : NULL;
        kinds[i].list(context, rows);
        perp_context_destroy(context);
        if (names_only) {
            print_names(rows);
        } else if (rows != NULL) {
            cli_print_json(json_pack("{s:s, s:o}", "status", "ok", kinds[i].name, rows));
        }
        return CLI_DONE;
    }
    const char* nearest = cli_nearest(args->word[0], names);
    if (nearest != NULL) {
        return cli_fail(args->json, CLI_BAD_INPUT, "list: no list of '%.60s': did you mean '%s'?",
                        args->word[0], nearest);
    }
    return cli_fail(args->json, CLI_BAD_INPUT, "usage: perp list %s", cli_verb_list.usage);
}

static const cli_option options[] = {
    {"--names", NULL, "print only the names of what exists, one per line"},
    {"--json", NULL, "print one JSON object"},
    {0},
};

const cli_verb cli_verb_list = {
    .name = "list",
    .usage = "steppers|contacts|solvers|shapes|joints|scenes|quantities SCENE [--names|--json]",
    .summary = "the names that a scene may use",
    .text = "Solvers are listed with their settings, defaults and ranges. Quantities of a scene "
            "are what plots, exports,\nmeasures and stops may name.",
    .words_min = 1,
    .words_max = 2,
    .option = options,
    .run = verb_list,
};
