/* src/scene/read_run.c - the simulation settings of a scene. The simulation checks whether a stepper, contact
 * model or solver of that name exists. */
#include <math.h>
#include <string.h>

#include "contact/contact.h"
#include "scene/reader.h"

/* A number, or {"error": tol} with bounds. */
static perp_status read_step(perpi_reader* r, const json_t* root, perp_sim_def* run)
{
    static const char* const known[] = {"error", "initial", "min", "max", NULL};
    const json_t* value = json_object_get(root, "step");
    if (!json_is_object(value)) {
        PERPI_TRY(perpi_read_number(r, root, "step", &run->step));
        if (!(run->step > 0.0)) {
            return perpi_reader_fail_key(r, "step", PERP_ERROR_INPUT, "must be > 0, got %g",
                                         run->step);
        }
        return PERP_OK;
    }
    const size_t mark = perpi_reader_enter(r, "step");
    double* const number[] = {&run->error, &run->step, &run->step_min, &run->step_max};
    PERPI_TRY(perpi_read_object(r, value, known));
    PERPI_TRY(perpi_require(r, value, "error"));
    run->step = NAN;
    for (size_t i = 0; known[i] != NULL; ++i) {
        PERPI_TRY(perpi_read_number(r, value, known[i], number[i]));
        if (json_object_get(value, known[i]) != NULL && !(*number[i] > 0.0)) {
            return perpi_reader_fail_key(r, known[i], PERP_ERROR_INPUT, "must be > 0, got %g",
                                         *number[i]);
        }
    }
    perpi_reader_leave(r, mark);
    return PERP_OK;
}

/* A name, or {"type": name, settings}. The settings go to options, or are refused if it is NULL. */
static perp_status read_choice(perpi_reader* r, const json_t* root, const char* key,
                               const char** name, perp_option** options, int32_t* count)
{
    json_t* value = json_object_get(root, key);
    if (value == NULL || json_is_string(value)) {
        return perpi_read_string(r, root, key, name);
    }
    if (!json_is_object(value)) {
        return perpi_reader_fail_key(r, key, PERP_ERROR_INPUT,
                                     "must be a name or an object with a \"type\", got %s",
                                     perpi_json_kind(value));
    }
    const size_t mark = perpi_reader_enter(r, key);
    PERPI_TRY(perpi_require(r, value, "type"));
    PERPI_TRY(perpi_read_string(r, value, "type", name));
    if (options == NULL) {
        static const char* const known[] = {"type", NULL};
        PERPI_TRY(perpi_read_object(r, value, known));
        perpi_reader_leave(r, mark);
        return PERP_OK;
    }
    PERPI_TRY(perpi_alloc(r->context, json_object_size(value), sizeof **options, options));
    for (void* i = json_object_iter(value); i != NULL; i = json_object_iter_next(value, i)) {
        const char* setting = json_object_iter_key(i);
        const json_t* item = json_object_iter_value(i);
        if (strcmp(setting, "type") == 0) {
            continue;
        }
        double number = json_is_true(item);
        if (!json_is_boolean(item)) {
            const size_t place = perpi_reader_enter(r, setting);
            PERPI_TRY(perpi_read_item(r, item, "must be a number, true or false", &number));
            perpi_reader_leave(r, place);
        }
        (*options)[(*count)++] = (perp_option){setting, number};
    }
    perpi_reader_leave(r, mark);
    return PERP_OK;
}

/* The models with groups have a setting: {"type": "peg", "single_primary": true}. */
static perp_status read_contact(perpi_reader* r, const json_t* root, perp_sim_def* run)
{
    const json_t* value = json_object_get(root, "contact");
    if (!json_is_object(value)) {
        return read_choice(r, root, "contact", &run->contact, NULL, NULL);
    }
    static const char* const known[] = {"type", "single_primary", NULL};
    const size_t mark = perpi_reader_enter(r, "contact");
    PERPI_TRY(perpi_read_object(r, value, known));
    PERPI_TRY(perpi_require(r, value, "type"));
    PERPI_TRY(perpi_read_string(r, value, "type", &run->contact));
    PERPI_TRY(perpi_read_bool(r, value, "single_primary", &run->single_primary));
    const perpi_contact_model_ops* model = perpi_contact_model_named(run->contact);
    if (json_object_get(value, "single_primary") != NULL &&
        !(model != NULL && model->single_primary)) {
        return perpi_reader_fail_key(r, "single_primary", PERP_ERROR_INPUT,
                                     "belongs to the contact models 'lnc' and 'peg'");
    }
    perpi_reader_leave(r, mark);
    return PERP_OK;
}

static perp_status read_cone(perpi_reader* r, const json_t* friction, perp_sim_def* run)
{
    static const char* const names[] = {"none", "polygon", "quadratic", "ellipsoid", NULL};
    static const char* const factor[] = {"e_t", "e_o", "e_r"};
    if (json_object_get(friction, "directions") != NULL) {
        run->cone = "polygon"; /* unless cone is given: only a polygon has directions */
    }
    PERPI_TRY(perpi_read_string(r, friction, "cone", &run->cone));
    size_t cone = 0;
    while (names[cone] != NULL && strcmp(run->cone, names[cone]) != 0) {
        ++cone;
    }
    if (names[cone] == NULL) {
        return perpi_reader_fail_key(r, "cone", PERP_ERROR_INPUT,
                                     "must be none, polygon, quadratic or ellipsoid, got '%.80s'",
                                     run->cone);
    }
    const bool ellipsoid = strcmp(run->cone, "ellipsoid") == 0;
    for (size_t i = 0; i < 3; ++i) {
        if (!ellipsoid && json_object_get(friction, factor[i]) != NULL) {
            return perpi_reader_fail_key(
                r, factor[i], PERP_ERROR_INPUT,
                "belongs to the friction cone 'ellipsoid'; set cone to it");
        }
        PERPI_TRY(perpi_read_number(r, friction, factor[i], &run->e[i]));
        if (ellipsoid && !(run->e[i] > 0.0)) {
            return perpi_reader_fail_key(r, factor[i], PERP_ERROR_INPUT,
                                         i == 2 ? "must be a length > 0, got %g; it scales the "
                                                  "friction moment about the normal"
                                                : "must be > 0, got %g",
                                         run->e[i]);
        }
    }
    return PERP_OK;
}

static perp_status read_friction(perpi_reader* r, const json_t* root, perp_sim_def* run)
{
    static const char* const known[] = {"cone", "directions", "default", "pairs",
                                        "e_t",  "e_o",        "e_r",     NULL};
    const json_t* friction = json_object_get(root, "friction");
    if (friction == NULL) {
        return PERP_OK;
    }
    const size_t mark = perpi_reader_enter(r, "friction");
    if (json_is_number(friction)) {
        return perpi_reader_fail(
            r, PERP_ERROR_INPUT,
            "must be an object, got a number: write {\"default\": %g} for that coefficient",
            json_number_value(friction));
    }
    PERPI_TRY(perpi_read_object(r, friction, known));
    PERPI_TRY(read_cone(r, friction, run));
    PERPI_TRY(perpi_read_integer(r, friction, "directions", r->dimension == 2 ? 2 : 3,
                                 PERPI_DIRECTIONS_LIMIT, &run->directions));
    perpi_reader_leave(r, mark);
    return PERP_OK;
}

static perp_status read_rotation_rule(perpi_reader* r, const json_t* root, bool* linear)
{
    const char* name = "exponential";
    PERPI_TRY(perpi_read_string(r, root, "rotation", &name));
    *linear = strcmp(name, "linear") == 0;
    if (!*linear && strcmp(name, "exponential") != 0) {
        return perpi_reader_fail_key(r, "rotation", PERP_ERROR_INPUT,
                                     "must be exponential or linear, got '%.80s'", name);
    }
    return PERP_OK;
}

/* Where in the step joints or contacts have their directions. */
static perp_status read_direction(perpi_reader* r, const json_t* root, const char* key,
                                  bool* middle, bool* choice)
{
    const char* name = PERPI_SCENE_DIRECTION;
    PERPI_TRY(perpi_read_string(r, root, key, &name));
    *middle = strcmp(name, "middle") == 0;
    *choice = strcmp(name, "auto") == 0;
    if (!*middle && !*choice && strcmp(name, "start") != 0) {
        return perpi_reader_fail_key(r, key, PERP_ERROR_INPUT,
                                     "must be auto, start or middle, got '%.80s'", name);
    }
    return PERP_OK;
}

perp_status perpi_read_run(perpi_reader* r, const json_t* root, perp_sim_def* run,
                           perp_option** options, perp_option** stepper_options)
{
    perp_sim_def def = perp_sim_def_default();
    def.contact = PERPI_SCENE_CONTACT;
    def.e[0] = def.e[1] = 1.0;
    PERPI_TRY(read_step(r, root, &def));
    PERPI_TRY(perpi_read_number(r, root, "duration", &def.duration));
    if (!(def.duration > 0.0)) {
        return perpi_reader_fail_key(r, "duration", PERP_ERROR_INPUT, "must be > 0, got %g",
                                     def.duration);
    }
    PERPI_TRY(
        read_choice(r, root, "stepper", &def.stepper, stepper_options, &def.stepper_option_count));
    PERPI_TRY(read_contact(r, root, &def));
    PERPI_TRY(read_choice(r, root, "solver", &def.solver, options, &def.solver_option_count));
    PERPI_TRY(read_friction(r, root, &def));
    PERPI_TRY(perpi_read_number(r, root, "margin", &def.margin));
    if (json_object_get(root, "margin") != NULL && !(def.margin >= 0.0)) {
        return perpi_reader_fail_key(r, "margin", PERP_ERROR_INPUT, "must be >= 0, got %g",
                                     def.margin);
    }
    PERPI_TRY(perpi_read_number(r, root, "tolerance", &def.tolerance));
    if (!(def.tolerance > 0.0)) {
        return perpi_reader_fail_key(r, "tolerance", PERP_ERROR_INPUT, "must be > 0, got %g",
                                     def.tolerance);
    }
    PERPI_TRY(perpi_read_bool(r, root, "allow_overlap", &def.allow_overlap));
    PERPI_TRY(perpi_read_bool(r, root, "joint_correction", &def.joint_correction));
    PERPI_TRY(read_direction(r, root, "joint_direction", &def.joint_middle, &def.joint_choice));
    PERPI_TRY(
        read_direction(r, root, "contact_direction", &def.rolling_middle, &def.rolling_choice));
    PERPI_TRY(read_rotation_rule(r, root, &def.linear_rotation));
    def.solver_option = *options;
    def.stepper_option = *stepper_options;
    *run = def;
    return PERP_OK;
}
