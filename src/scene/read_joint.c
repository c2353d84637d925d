/* src/scene/read_joint.c - the entries of "joints". */
#include <math.h>
#include <string.h>

#include "model/joints/joint_type.h"
#include "scene/reader.h"

static perp_status read_type(perpi_reader* r, const json_t* value, perp_joint_type* type)
{
    const char* name = NULL;
    PERPI_TRY(perpi_require(r, value, "type"));
    PERPI_TRY(perpi_read_string(r, value, "type", &name));
    const char* names[PERP_JOINT_TYPE_COUNT + 1] = {NULL};
    for (int i = 0; i < PERP_JOINT_TYPE_COUNT; ++i) {
        names[i] = perp_joint_type_name((perp_joint_type)i);
        if (strcmp(names[i], name) == 0) {
            *type = (perp_joint_type)i;
            return PERP_OK;
        }
    }
    const char* near = perpi_nearest(name, names);
    if (near != NULL) {
        return perpi_reader_fail_key(r, "type", PERP_ERROR_INPUT,
                                     "there is no joint type '%.80s': did you mean '%s'?", name,
                                     near);
    }
    return perpi_reader_fail_key(r, "type", PERP_ERROR_INPUT,
                                 "must be fixed, revolute, prismatic, cylindrical, spherical, "
                                 "universal, planar, rope or gear, got '%.80s'",
                                 name);
}

/* In the model points are relative to the centre of mass, in a scene to the frame of the shapes. */
static void shift_to_center(const perp_model* model, const char* name, double at[3])
{
    const int32_t body = perp_model_body_find(model, name); /* -1: the world, or a mistake */
    if (body >= 0) {
        const perp_body_info info = perp_model_body_info(model, body);
        for (int i = 0; i < 3; ++i) {
            at[i] -= info.offset[i];
        }
    }
}

static perp_status read_points(perpi_reader* r, const json_t* value, perp_joint_def* def)
{
    bool has_a = false, has_b = false;
    PERPI_TRY(perpi_read_space(r, value, "at", def->at, &def->has_at));
    PERPI_TRY(perpi_read_space(r, value, "at_a", def->at_a, &has_a));
    PERPI_TRY(perpi_read_space(r, value, "at_b", def->at_b, &has_b));
    if (def->has_at && (has_a || has_b)) {
        return perpi_reader_fail_key(r, "at", PERP_ERROR_INPUT,
                                     "give at (world) or at_a and at_b (body frames), not both");
    }
    const bool rope = def->type == PERP_JOINT_ROPE;
    if (has_a != has_b && !rope) {
        return perpi_reader_fail_key(r, has_a ? "at_b" : "at_a", PERP_ERROR_INPUT,
                                     "is missing: at_a and at_b come together");
    }
    if (has_a) {
        shift_to_center(r->model, def->a, def->at_a);
    }
    if (has_b) {
        shift_to_center(r->model, def->b, def->at_b);
    }
    if (has_a || has_b) {
        return PERP_OK; /* the other end of a rope: at the centre */
    }
    if (def->has_at && rope) {
        return perpi_reader_fail_key(r, "at", PERP_ERROR_INPUT,
                                     "a rope has two ends: give at_a and at_b");
    }
    if (def->has_at || rope) {
        return PERP_OK; /* a rope without points: between the centres */
    }
    if (def->type != PERP_JOINT_FIXED) {
        return perpi_reader_fail_key(r, "at", PERP_ERROR_INPUT,
                                     "is missing: give at (world), or at_a and at_b");
    }
    const int32_t b = perp_model_body_find(r->model, def->b);
    const int32_t body = b >= 0 ? b : perp_model_body_find(r->model, def->a);
    if (body >= 0) { /* the point of a fixed joint is arbitrary */
        const perp_body_info info = perp_model_body_info(r->model, body);
        memcpy(def->at, info.position, sizeof def->at);
        def->has_at = true;
    }
    return PERP_OK;
}

/* [lower, upper]; null: no limit on that side. */
static perp_status read_limits(perpi_reader* r, const json_t* value, perp_joint_def* def)
{
    const json_t* limits = json_object_get(value, "limits");
    if (limits == NULL) {
        return PERP_OK;
    }
    if (!json_is_array(limits) || json_array_size(limits) != 2) {
        return perpi_reader_fail_key(r, "limits", PERP_ERROR_INPUT,
                                     "must be [lower, upper], with null for none, got %s",
                                     perpi_json_kind(limits));
    }
    for (size_t i = 0; i < 2; ++i) {
        const json_t* item = json_array_get(limits, i);
        if (!json_is_null(item)) {
            const size_t mark = perpi_reader_enter(r, "limits");
            perpi_reader_enter_item(r, i);
            PERPI_TRY(
                perpi_read_item(r, item, "must be a number, or null for none", &def->limits[i]));
            perpi_reader_leave(r, mark);
        }
    }
    def->has_limits = true;
    return PERP_OK;
}

static perp_status read_motor(perpi_reader* r, const json_t* value, perp_motor_def* def)
{
    static const char* const known[] = {"type", "target", "max_effort", NULL};
    const json_t* motor = json_object_get(value, "motor");
    if (motor == NULL) {
        return PERP_OK;
    }
    const size_t mark = perpi_reader_enter(r, "motor");
    PERPI_TRY(perpi_read_object(r, motor, known));
    PERPI_TRY(perpi_require(r, motor, "type"));
    PERPI_TRY(perpi_require(r, motor, "target"));
    const char* type = NULL;
    PERPI_TRY(perpi_read_string(r, motor, "type", &type));
    if (strcmp(type, "position") == 0) {
        def->type = PERP_MOTOR_POSITION;
    } else if (strcmp(type, "velocity") == 0) {
        def->type = PERP_MOTOR_VELOCITY;
    } else if (strcmp(type, "effort") == 0) {
        def->type = PERP_MOTOR_EFFORT;
    } else {
        return perpi_reader_fail_key(
            r, "type", PERP_ERROR_INPUT,
            "must be position, velocity or effort (a torque or a force), got '%.80s'", type);
    }
    PERPI_TRY(perpi_read_value(r, motor, "target", &def->target, &def->target_text, NULL));
    PERPI_TRY(perpi_read_number(r, motor, "max_effort", &def->max_effort));
    perpi_reader_leave(r, mark);
    return PERP_OK;
}

static bool is_one_of(const char* key, const char* const* names)
{
    while (*names != NULL && strcmp(*names, key) != 0) {
        ++names;
    }
    return *names != NULL;
}

/* A gear has keys that others have not, and none of theirs. */
static perp_status check_gear_keys(perpi_reader* r, const json_t* value, bool gear)
{
    static const char* const own[] = {"joints", "ratio", "offset", "stiffness", "max_effort", NULL};
    static const char* const general[] = {"name", "type", "damping", NULL};
    const char* key;
    json_t* item;
    json_object_foreach((json_t*)value, key, item)
    {
        const bool of_gear = is_one_of(key, own);
        if (gear ? !of_gear && !is_one_of(key, general) : of_gear) {
            return perpi_reader_fail_key(
                r, key, PERP_ERROR_INPUT,
                gear ? "a gear has joints, ratio and offset, perhaps stiffness, "
                       "damping and max_effort, and no bodies"
                     : "belongs to a gear");
        }
    }
    return PERP_OK;
}

static perp_status read_gear(perpi_reader* r, const json_t* value, perp_joint_def* def)
{
    const json_t* joints = json_object_get(value, "joints");
    PERPI_TRY(perpi_require(r, value, "joints"));
    for (size_t i = 0; i < 2; ++i) {
        def->joints[i] = json_string_value(json_array_get(joints, i));
        if (json_array_size(joints) != 2 || def->joints[i] == NULL) {
            return perpi_reader_fail_key(r, "joints", PERP_ERROR_INPUT,
                                         "must be the names of two joints, got %s",
                                         perpi_json_kind(joints));
        }
    }
    PERPI_TRY(perpi_read_number(r, value, "ratio", &def->ratio));
    PERPI_TRY(perpi_read_number(r, value, "offset", &def->offset));
    PERPI_TRY(perpi_read_number(r, value, "stiffness", &def->stiffness));
    PERPI_TRY(perpi_read_number(r, value, "damping", &def->damping));
    PERPI_TRY(perpi_read_number(r, value, "max_effort", &def->motor.max_effort));
    const perp_status status = perp_model_add_joint(r->model, def, NULL);
    return status == PERP_OK ? status : perpi_reader_fail_member(r, status);
}

static perp_status read_joint(perpi_reader* r, const json_t* value)
{
    static const char* const known[] = {
        "name",       "type",           "a",      "b",      "at",     "at_a",     "at_b",
        "axis",       "axis2",          "length", "limits", "start",  "friction", "damping",
        "motor",      "collide",        "joints", "ratio",  "offset", "armature", "stiffness",
        "max_effort", "velocity_limit", NULL};
    PERPI_TRY(perpi_read_object(r, value, known));
    perp_joint_def def = perp_joint_def_default();
    PERPI_TRY(perpi_require(r, value, "name"));
    PERPI_TRY(perpi_read_string(r, value, "name", &def.name));
    PERPI_TRY(read_type(r, value, &def.type));
    PERPI_TRY(check_gear_keys(r, value, def.type == PERP_JOINT_GEAR));
    if (def.type == PERP_JOINT_GEAR) {
        return read_gear(r, value, &def);
    }
    PERPI_TRY(perpi_require(r, value, "a"));
    PERPI_TRY(perpi_require(r, value, "b"));
    PERPI_TRY(perpi_read_string(r, value, "a", &def.a));
    PERPI_TRY(perpi_read_string(r, value, "b", &def.b));
    PERPI_TRY(read_points(r, value, &def));
    bool has_axis = false;
    PERPI_TRY(perpi_read_space(r, value, "axis", def.axis, &has_axis));
    if (perpi_joint_ops_of(def.type)->has_axis[r->dimension - 2] && !has_axis) {
        return perpi_reader_fail_key(r, "axis", PERP_ERROR_INPUT,
                                     "is missing: a direction in the world at the start");
    }
    PERPI_TRY(perpi_read_space(r, value, "axis2", def.axis2, &def.has_axis2));
    PERPI_TRY(perpi_read_number(r, value, "length", &def.length));
    PERPI_TRY(read_limits(r, value, &def));
    PERPI_TRY(perpi_read_number(r, value, "start", &def.start));
    PERPI_TRY(perpi_read_number(r, value, "friction", &def.friction));
    PERPI_TRY(perpi_read_number(r, value, "damping", &def.damping));
    PERPI_TRY(perpi_read_number(r, value, "armature", &def.armature));
    PERPI_TRY(perpi_read_number(r, value, "velocity_limit", &def.velocity_limit));
    PERPI_TRY(read_motor(r, value, &def.motor));
    PERPI_TRY(perpi_read_bool(r, value, "collide", &def.collide));
    const perp_status status = perp_model_add_joint(r->model, &def, NULL);
    return status == PERP_OK ? status : perpi_reader_fail_member(r, status);
}

perp_status perpi_read_joints(perpi_reader* r, const json_t* root)
{
    const json_t* joints = json_object_get(root, "joints");
    if (joints == NULL) {
        return PERP_OK;
    }
    const size_t mark = perpi_reader_enter(r, "joints");
    PERPI_TRY(perpi_read_array(r, joints));
    for (size_t i = 0; i < json_array_size(joints); ++i) {
        const size_t item = perpi_reader_enter_item(r, i);
        PERPI_TRY(read_joint(r, json_array_get(joints, i)));
        perpi_reader_leave(r, item);
    }
    perpi_reader_leave(r, mark);
    return PERP_OK;
}
