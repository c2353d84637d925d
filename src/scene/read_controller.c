/* src/scene/read_controller.c - the entries of "controllers". */
#include <string.h>

#include "perp/force.h"
#include "scene/reader.h"

static perp_status read_trajectory(perpi_reader* r, const json_t* controller,
                                   perp_controller_def* def)
{
    static const char* const known[] = {"table", "interpolation", "column", NULL};
    const json_t* trajectory = json_object_get(controller, "trajectory");
    if (trajectory == NULL) {
        return perpi_require(r, controller, "target");
    }
    if (json_object_get(controller, "target") != NULL) {
        return perpi_reader_fail_key(r, "trajectory", PERP_ERROR_INPUT,
                                     "give a target or a trajectory, not both");
    }
    const size_t mark = perpi_reader_enter(r, "trajectory");
    PERPI_TRY(perpi_read_object(r, trajectory, known));
    PERPI_TRY(perpi_require(r, trajectory, "table"));
    if (json_object_get(trajectory, "column") != NULL) {
        return perpi_reader_fail_key(r, "column", PERP_ERROR_INPUT,
                                     "is for a table in a file: the name of its column");
    }
    PERPI_TRY(perpi_read_rows(r, trajectory, &def->trajectory, &def->trajectory_rows,
                              &def->trajectory_columns));
    PERPI_TRY(perpi_read_string(r, trajectory, "interpolation", &def->interpolation));
    perpi_reader_leave(r, mark);
    return PERP_OK;
}

static perp_status read_feed_forward(perpi_reader* r, const json_t* controller, bool* gravity)
{
    const char* what = NULL;
    PERPI_TRY(perpi_read_string(r, controller, "feed_forward", &what));
    if (what != NULL && strcmp(what, "gravity") != 0 && strcmp(what, "none") != 0) {
        return perpi_reader_fail_key(r, "feed_forward", PERP_ERROR_INPUT,
                                     "must be gravity or none, got '%.80s'", what);
    }
    *gravity = what != NULL && strcmp(what, "gravity") == 0;
    return PERP_OK;
}

static perp_status read_controller(perpi_reader* r, const json_t* value)
{
    static const char* const known[] = {
        "type", "name",   "joint",      "body",       "axis",         "kp", "ki",
        "kd",   "target", "max_effort", "trajectory", "feed_forward", NULL};
    PERPI_TRY(perpi_read_object(r, value, known));
    PERPI_TRY(perpi_require(r, value, "type"));
    const char* type = NULL;
    PERPI_TRY(perpi_read_string(r, value, "type", &type));
    if (strcmp(type, "pid") != 0 && strcmp(type, "pd") != 0) {
        return perpi_reader_fail_key(r, "type", PERP_ERROR_INPUT, "must be pd or pid, got '%.80s'",
                                     type);
    }
    if (strcmp(type, "pd") == 0 && json_object_get(value, "ki") != NULL) {
        return perpi_reader_fail_key(r, "ki", PERP_ERROR_INPUT,
                                     "a pd controller has no integral; make its type pid");
    }
    perp_controller_def def = perp_controller_def_default();
    PERPI_TRY(read_trajectory(r, value, &def));
    PERPI_TRY(read_feed_forward(r, value, &def.gravity));
    PERPI_TRY(perpi_read_string(r, value, "joint", &def.joint));
    PERPI_TRY(perpi_read_string(r, value, "body", &def.body));
    if (def.joint != NULL && json_object_get(value, "axis") != NULL) {
        return perpi_reader_fail_key(r, "axis", PERP_ERROR_INPUT,
                                     "is for a body; a joint has its own axis");
    }
    if (def.body != NULL) {
        PERPI_TRY(perpi_require(r, value, "axis"));
    }
    def.name = def.joint != NULL ? def.joint : def.body;
    PERPI_TRY(perpi_read_string(r, value, "name", &def.name));
    PERPI_TRY(perpi_read_space(r, value, "axis", def.axis, NULL));
    PERPI_TRY(perpi_read_number(r, value, "kp", &def.kp));
    PERPI_TRY(perpi_read_number(r, value, "ki", &def.ki));
    PERPI_TRY(perpi_read_number(r, value, "kd", &def.kd));
    PERPI_TRY(perpi_read_value(r, value, "target", &def.target, &def.target_text, NULL));
    PERPI_TRY(perpi_read_number(r, value, "max_effort", &def.max_effort));
    const perp_status status = perp_model_add_controller(r->model, &def);
    return status == PERP_OK ? status : perpi_reader_fail_member(r, status);
}

perp_status perpi_read_controllers(perpi_reader* r, const json_t* root)
{
    const json_t* controllers = json_object_get(root, "controllers");
    if (controllers == NULL) {
        return PERP_OK;
    }
    const size_t mark = perpi_reader_enter(r, "controllers");
    PERPI_TRY(perpi_read_array(r, controllers));
    for (size_t i = 0; i < json_array_size(controllers); ++i) {
        const size_t item = perpi_reader_enter_item(r, i);
        PERPI_TRY(read_controller(r, json_array_get(controllers, i)));
        perpi_reader_leave(r, item);
    }
    perpi_reader_leave(r, mark);
    return PERP_OK;
}
