/* src/scene/read_controller.c - the entries of "controllers". */
#include <string.h>

#include "perp/force.h"
#include "scene/reader.h"

static perp_status read_controller(perpi_reader* r, const json_t* value)
{
    static const char* const known[] = {"type", "name", "joint",  "body",       "axis", "kp",
                                        "ki",   "kd",   "target", "max_effort", NULL};
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
    PERPI_TRY(perpi_require(r, value, "target"));
    perp_controller_def def = perp_controller_def_default();
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
