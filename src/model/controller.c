/* src/model/controller.c - controllers: checking their defs, keeping them. */
#include <string.h>

#include "model/model.h"
#include "perp/force.h"

perp_controller_def perp_controller_def_default(void)
{
    return (perp_controller_def){.struct_size = sizeof(perp_controller_def),
                                 .max_effort = INFINITY};
}

void perpi_controller_free(perp_context* context, perpi_controller* controller)
{
    perpi_free(context, controller->name);
    perpi_free(context, controller->moved);
    perpi_values_free(context, &controller->target, 1);
}

static perp_status check_name(const perp_model* model, const char* name)
{
    if (name == NULL || name[0] == '\0') {
        return perpi_fail(model->context, PERP_ERROR_INPUT, "name: must not be empty");
    }
    const int32_t twin = perp_model_controller_find(model, name);
    if (twin >= 0) {
        return perpi_fail(model->context, PERP_ERROR_INPUT,
                          "name: '%s' is already the name of controller %d; names must differ",
                          name, (int)twin);
    }
    return PERP_OK;
}

static perp_status find_joint(const perp_model* model, const char* name, perpi_controller* c)
{
    c->joint = perp_model_joint_find(model, name);
    if (c->joint < 0) {
        return perpi_fail(model->context, PERP_ERROR_INPUT, "joint: there is no joint named '%s'",
                          name);
    }
    const perp_joint_type type = model->joint[c->joint].type;
    if (!perpi_joint_one_degree(type)) {
        return perpi_fail(model->context, PERP_ERROR_INPUT,
                          "joint: '%s' is %s; a controller works on a revolute or prismatic joint",
                          name, perp_joint_type_name(type));
    }
    return PERP_OK;
}

static perp_status find_body(const perp_model* model, const perp_controller_def* def,
                             perpi_controller* c)
{
    c->body = perp_model_body_find(model, def->body);
    if (c->body < 0) {
        return perpi_fail(model->context, PERP_ERROR_INPUT, "body: there is no body named '%s'",
                          def->body);
    }
    if (model->body[c->body].type != PERP_BODY_DYNAMIC) {
        return perpi_fail(model->context, PERP_ERROR_INPUT,
                          "body: '%s' is not dynamic: no force moves it; a kinematic body has a "
                          "motion",
                          def->body);
    }
    const vec3 axis = v3_from(def->axis);
    const double length = v3_norm(axis);
    if (!(length > 0.0) || !isfinite(length)) {
        return perpi_fail(model->context, PERP_ERROR_INPUT,
                          "axis: must be a direction of length > 0");
    }
    c->axis = v3_scale(1.0 / length, axis);
    return PERP_OK;
}

static perp_status check_gains(perp_context* context, const perp_controller_def* def)
{
    static const char* const member[3] = {"kp", "ki", "kd"};
    const double gain[3] = {def->kp, def->ki, def->kd};
    for (int i = 0; i < 3; ++i) {
        if (!(gain[i] >= 0.0) || !isfinite(gain[i])) {
            return perpi_fail(context, PERP_ERROR_INPUT, "%s: must be >= 0, got %g", member[i],
                              gain[i]);
        }
    }
    if (def->kp == 0.0 && def->ki == 0.0 && def->kd == 0.0) {
        return perpi_fail(context, PERP_ERROR_INPUT, "kp: one of kp, ki and kd must be > 0");
    }
    if (!(def->max_effort > 0.0)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "max_effort: must be > 0, got %g",
                          def->max_effort);
    }
    return PERP_OK;
}

/* The curve of a trajectory: a spline, or with the rates that it gives. */
static perp_status make_trajectory(perp_context* context, const perp_controller_def* def,
                                   perpi_value* target)
{
    const char* name = def->interpolation != NULL ? def->interpolation : "cubic";
    perpi_curve_kind kind = PERPI_CURVE_LINEAR;
    while (perpi_curve_names[kind] != NULL && strcmp(name, perpi_curve_names[kind]) != 0) {
        kind = (perpi_curve_kind)(kind + 1);
    }
    if (perpi_curve_names[kind] == NULL) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "trajectory/interpolation: must be linear, cubic or quintic, got '%.80s'",
                          name);
    }
    const int32_t columns = def->trajectory_columns;
    if (columns != 2 && columns != 3) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "trajectory/table: must have 2 columns (t, x) or 3 (t, x, rate), got %d",
                          (int)columns);
    }
    if (columns == 3 && kind != PERPI_CURVE_CUBIC) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "trajectory/interpolation: a table with rates is interpolated by cubics");
    }
    const perp_status status = columns == 3
                                   ? perpi_curve_create_slopes(context, def->trajectory_rows,
                                                               def->trajectory, &target->curve)
                                   : perpi_curve_create(context, kind, def->trajectory_rows,
                                                        def->trajectory, 2, 1, &target->curve);
    if (status != PERP_OK) { /* the message begins with the row */
        char message[400];
        strncpy(message, perp_context_error(context), sizeof message - 1);
        message[sizeof message - 1] = '\0';
        return perpi_fail(context, status, "trajectory/table/%s", message);
    }
    return PERP_OK;
}

perp_status perp_model_add_controller(perp_model* model, const perp_controller_def* def)
{
    perp_context* context = model->context;
    perpi_controller c = {.joint = -1,
                          .body = -1,
                          .kp = def->kp,
                          .ki = def->ki,
                          .kd = def->kd,
                          .max_effort = def->max_effort,
                          .gravity = def->gravity};
    perp_status status =
        perpi_check_struct(context, "perp_controller_def", def->struct_size, sizeof *def);
    if (status == PERP_OK) {
        status = check_name(model, def->name);
    }
    if (status == PERP_OK && (def->joint == NULL) == (def->body == NULL)) {
        status = perpi_fail(context, PERP_ERROR_INPUT,
                            "joint: a controller works on a joint or on a body: give one of them");
    }
    if (status == PERP_OK) {
        status = def->joint != NULL ? find_joint(model, def->joint, &c) : find_body(model, def, &c);
    }
    if (status == PERP_OK) {
        status = check_gains(context, def);
    }
    if (status == PERP_OK) {
        status = perpi_grow(context, &model->controller, &model->controller_capacity,
                            model->controller_count + 1, sizeof *model->controller);
    }
    if (status == PERP_OK) {
        status = perpi_strndup(context, def->name, strlen(def->name), &c.name);
    }
    if (status == PERP_OK) {
        status = def->trajectory != NULL ? make_trajectory(context, def, &c.target)
                                         : perpi_value_make(context, def->target, def->target_text,
                                                            "target", &c.target);
    }
    if (status == PERP_OK) {
        status = perpi_controller_find_moved(model, &c);
    }
    if (status == PERP_OK) {
        status = perpi_keep_controller(model, def);
    }
    if (status != PERP_OK) {
        perpi_controller_free(context, &c);
        return status;
    }
    const bool limited = c.joint >= 0 && isfinite(model->joint[c.joint].velocity_limit);
    c.row = model->controller_rows;
    c.rows = limited ? 2 : 1;
    model->controller_rows += c.rows;
    model->controller[model->controller_count++] = c;
    return PERP_OK;
}

int32_t perp_model_controller_count(const perp_model* model)
{
    return (int32_t)model->controller_count;
}

const char* perp_model_controller_name(const perp_model* model, int32_t controller)
{
    return model->controller[controller].name;
}

int32_t perp_model_controller_find(const perp_model* model, const char* name)
{
    for (size_t i = 0; i < model->controller_count; ++i) {
        if (strcmp(model->controller[i].name, name) == 0) {
            return (int32_t)i;
        }
    }
    return -1;
}

perp_controller_info perp_model_controller_info(const perp_model* model, int32_t controller)
{
    const perpi_controller* c = &model->controller[controller];
    perp_controller_info info = {.joint = c->joint,
                                 .body = c->body,
                                 .kp = c->kp,
                                 .ki = c->ki,
                                 .kd = c->kd,
                                 .max_effort = c->max_effort,
                                 .gravity = c->gravity};
    v3_to(c->axis, info.axis);
    return info;
}
