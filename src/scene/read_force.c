/* src/scene/read_force.c - the entries of "forces". */
#include <string.h>

#include "perp/force.h"
#include "scene/reader.h"

static perp_status read_wrench(perpi_reader* r, const json_t* value)
{
    static const char* const known[] = {"type", "body", "force", "torque", "at", "frame", NULL};
    PERPI_TRY(perpi_read_object(r, value, known));
    PERPI_TRY(perpi_require(r, value, "body"));
    perp_wrench_def def = perp_wrench_def_default();
    PERPI_TRY(perpi_read_string(r, value, "body", &def.body));
    PERPI_TRY(perpi_read_values(r, value, "force", r->dimension, def.force, def.force_text, NULL));
    PERPI_TRY(perpi_read_axial(r, value, "torque", def.torque, def.torque_text, NULL));
    PERPI_TRY(perpi_read_space(r, value, "at", def.at, NULL));
    const char* frame = "world";
    PERPI_TRY(perpi_read_string(r, value, "frame", &frame));
    if (strcmp(frame, "world") != 0 && strcmp(frame, "body") != 0) {
        return perpi_reader_fail_key(r, "frame", PERP_ERROR_INPUT,
                                     "must be world or body, got '%.80s'", frame);
    }
    def.body_frame = strcmp(frame, "body") == 0;
    const perp_status status = perp_model_add_wrench(r->model, &def);
    return status == PERP_OK ? status : perpi_reader_fail_member(r, status);
}

static perp_status read_spring(perpi_reader* r, const json_t* value)
{
    static const char* const known[] = {"type",      "a",         "b",       "at_a",
                                        "at_b",      "stiffness", "damping", "rest",
                                        "isotropic", "implicit",  NULL};
    PERPI_TRY(perpi_read_object(r, value, known));
    PERPI_TRY(perpi_require(r, value, "a"));
    PERPI_TRY(perpi_require(r, value, "b"));
    perp_spring_def def = perp_spring_def_default();
    PERPI_TRY(perpi_read_string(r, value, "a", &def.a));
    PERPI_TRY(perpi_read_string(r, value, "b", &def.b));
    PERPI_TRY(perpi_read_point(r, value, "at_a", def.a, def.at_a));
    PERPI_TRY(perpi_read_point(r, value, "at_b", def.b, def.at_b));
    PERPI_TRY(perpi_read_number(r, value, "stiffness", &def.stiffness));
    PERPI_TRY(perpi_read_number(r, value, "damping", &def.damping));
    PERPI_TRY(perpi_read_number(r, value, "rest", &def.rest));
    PERPI_TRY(perpi_read_bool(r, value, "isotropic", &def.isotropic));
    PERPI_TRY(perpi_read_bool(r, value, "implicit", &def.implicit));
    const perp_status status = perp_model_add_spring(r->model, &def);
    return status == PERP_OK ? status : perpi_reader_fail_member(r, status);
}

static perp_status read_drag(perpi_reader* r, const json_t* value)
{
    static const char* const known[] = {"type", "body", "linear", "angular", NULL};
    PERPI_TRY(perpi_read_object(r, value, known));
    PERPI_TRY(perpi_require(r, value, "body"));
    perp_drag_def def = {0};
    PERPI_TRY(perpi_read_string(r, value, "body", &def.body));
    PERPI_TRY(perpi_read_number(r, value, "linear", &def.linear));
    PERPI_TRY(perpi_read_number(r, value, "angular", &def.angular));
    const perp_status status = perp_model_add_drag(r->model, &def);
    return status == PERP_OK ? status : perpi_reader_fail_member(r, status);
}

static perp_status read_force(perpi_reader* r, const json_t* value)
{
    if (!json_is_object(value)) {
        return perpi_reader_fail(r, PERP_ERROR_INPUT, "must be an object, got %s",
                                 perpi_json_kind(value));
    }
    PERPI_TRY(perpi_require(r, value, "type"));
    const char* type = NULL;
    PERPI_TRY(perpi_read_string(r, value, "type", &type));
    if (strcmp(type, "wrench") == 0) {
        return read_wrench(r, value);
    }
    if (strcmp(type, "spring") == 0) {
        return read_spring(r, value);
    }
    if (strcmp(type, "drag") == 0) {
        return read_drag(r, value);
    }
    return perpi_reader_fail_key(r, "type", PERP_ERROR_INPUT,
                                 "must be wrench, spring or drag, got '%.80s'", type);
}

perp_status perpi_read_forces(perpi_reader* r, const json_t* root)
{
    const json_t* forces = json_object_get(root, "forces");
    if (forces == NULL) {
        return PERP_OK;
    }
    const size_t mark = perpi_reader_enter(r, "forces");
    PERPI_TRY(perpi_read_array(r, forces));
    for (size_t i = 0; i < json_array_size(forces); ++i) {
        const size_t item = perpi_reader_enter_item(r, i);
        PERPI_TRY(read_force(r, json_array_get(forces, i)));
        perpi_reader_leave(r, item);
    }
    perpi_reader_leave(r, mark);
    return PERP_OK;
}
