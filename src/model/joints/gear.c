/* src/model/joints/gear.c - the coordinates of two joints are in a fixed ratio.
 *
 * A gear connects joints, not bodies: its view and its rows are in src/step/gear_rows.c, its checks here.
 */
#include "model/joints/gear.h"

#include <string.h>

static void gear_evaluate(const perpi_joint_at* at, perpi_joint_view* view)
{
    (void)at, (void)view;
}

static void gear_differentiate(const perpi_joint_at* at, const perpi_joint_shift* by,
                               perpi_joint_change* change)
{
    (void)at, (void)by, (void)change; /* src/step/row_derivative.c */
}

const perpi_joint_ops perpi_joint_gear = {
    .name = "gear",
    .summary = "the coordinates of two joints are in a fixed ratio",
    .rows = {1, 1},
    .coordinates = 0,
    .has_axis = {false, false},
    .points = true,
    .evaluate = gear_evaluate,
    .differentiate = gear_differentiate,
};

/* Two coordinates at the start may miss the ratio by this part: rounding in the scene's numbers. */
static const double ASSEMBLY_TOLERANCE = 1e-6;

static perp_status find_geared(const perp_model* model, const perp_joint_def* def, int i,
                               int32_t* index)
{
    const char* name = def->joints[i] != NULL ? def->joints[i] : "";
    *index = perp_model_joint_find(model, name);
    if (*index < 0) {
        return perpi_fail(model->context, PERP_ERROR_INPUT,
                          "joints: there is no joint named '%s' before this gear", name);
    }
    const perp_joint_type type = model->joint[*index].type;
    if (!perpi_joint_one_degree(type)) {
        return perpi_fail(model->context, PERP_ERROR_INPUT,
                          "joints: '%s' is %s; a gear connects revolute and prismatic joints", name,
                          perpi_joint_ops_of(type)->name);
    }
    return PERP_OK;
}

perp_status perpi_gear_make(const perp_model* model, const perp_joint_def* def, perpi_joint* gear)
{
    perp_context* context = model->context;
    for (int i = 0; i < 2; ++i) {
        const perp_status status = find_geared(model, def, i, &gear->geared[i]);
        if (status != PERP_OK) {
            return status;
        }
    }
    if (gear->geared[0] == gear->geared[1]) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "joints: a gear connects two different joints, both are '%s'",
                          def->joints[0]);
    }
    const char* extra = def->has_limits                      ? "limits"
                        : def->friction != 0.0               ? "friction"
                        : def->armature != 0.0               ? "armature"
                        : def->velocity_limit < INFINITY     ? "velocity_limit"
                        : def->motor.type != PERP_MOTOR_NONE ? "motor"
                        : def->start != 0.0                  ? "start"
                                                             : NULL;
    if (extra != NULL) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "%s: a gear has none: give it to one of its joints", extra);
    }
    if (!isfinite(def->ratio)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "ratio: must be finite, got %g", def->ratio);
    }
    if (!(def->stiffness >= 0.0) || !isfinite(def->stiffness) || !(def->damping >= 0.0) ||
        !isfinite(def->damping)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "%s: must be >= 0",
                          def->damping >= 0.0 ? "stiffness" : "damping");
    }
    const bool soft = def->stiffness > 0.0 || def->damping > 0.0;
    if (!soft && isfinite(def->motor.max_effort)) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "max_effort: belongs to a gear with stiffness or damping");
    }
    if (!(def->motor.max_effort > 0.0)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "max_effort: must be > 0, got %g",
                          def->motor.max_effort);
    }
    const perpi_joint *first = &model->joint[gear->geared[0]],
                      *second = &model->joint[gear->geared[1]];
    const double offset = second->start - def->ratio * first->start;
    gear->ratio = def->ratio;
    gear->offset = isnan(def->offset) ? offset : def->offset;
    if (!isfinite(gear->offset)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "offset: must be finite, got %g",
                          gear->offset);
    }
    gear->size = gear->own_size = second->size;
    const double size = second->type == PERP_JOINT_PRISMATIC ? second->size : 1.0;
    if (!soft && !(fabs(offset - gear->offset) <= ASSEMBLY_TOLERANCE * size)) {
        return perpi_fail(
            context, PERP_ERROR_INPUT,
            "offset: at the start '%s' is at %g and '%s' at %g, which needs an offset "
            "of %g, got %g; change a start, or leave the offset out",
            first->name, first->start, second->name, second->start, offset, gear->offset);
    }
    return PERP_OK;
}
