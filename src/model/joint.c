/* src/model/joint.c - one joint: checks its def, makes its frames, removes it again on failure. */
#include <string.h>

#include "model/joints/gear.h"
#include "model/model.h"

/* Two points that should coincide at the start may be this part of the joint's size apart: rounding
 * in the scene's numbers. The first step corrects it. */
static const double ASSEMBLY_TOLERANCE = 1e-6;

const char* perp_joint_type_name(perp_joint_type type)
{
    return (int)type >= 0 && type < PERP_JOINT_TYPE_COUNT ? perpi_joint_ops_of(type)->name : NULL;
}

const char* perp_joint_type_summary(perp_joint_type type)
{
    return (int)type >= 0 && type < PERP_JOINT_TYPE_COUNT ? perpi_joint_ops_of(type)->summary
                                                          : NULL;
}

perp_joint_def perp_joint_def_default(void)
{
    return (perp_joint_def){.struct_size = sizeof(perp_joint_def),
                            .type = PERP_JOINT_FIXED,
                            .length = NAN,
                            .ratio = 1.0,
                            .offset = NAN,
                            .limits = {-INFINITY, INFINITY},
                            .velocity_limit = INFINITY,
                            .motor = {.max_effort = INFINITY}};
}

void perpi_joint_free(perp_context* context, perpi_joint* joint)
{
    perpi_free(context, joint->name);
    perpi_values_free(context, &joint->target, 1);
}

static bool finite3(const double* a)
{
    return isfinite(a[0]) && isfinite(a[1]) && isfinite(a[2]);
}

/* ---- checks ----------------------------------------------------------------------------------------*/

static perp_status find_side(const perp_model* model, const char* member, const char* name,
                             int32_t* body)
{
    *body = -1;
    if (name != NULL && strcmp(name, "world") == 0) {
        return PERP_OK;
    }
    *body = name != NULL ? perp_model_body_find(model, name) : -1;
    if (*body >= 0) {
        return PERP_OK;
    }
    return perpi_fail(model->context, PERP_ERROR_INPUT,
                      "%s: there is no body named '%s'; use the name of a body or \"world\"",
                      member, name != NULL ? name : "");
}

static bool is_dynamic(const perp_model* model, int32_t body)
{
    return body >= 0 && model->body[body].type == PERP_BODY_DYNAMIC;
}

static bool is_particle(const perp_model* model, int32_t body)
{
    return is_dynamic(model, body) && model->body[body].particle;
}

static perp_status check_names(const perp_model* model, const perp_joint_def* def, int32_t body[2])
{
    perp_context* context = model->context;
    if (def->name == NULL || def->name[0] == '\0') {
        return perpi_fail(context, PERP_ERROR_INPUT, "name: must not be empty");
    }
    const int32_t twin = perp_model_joint_find(model, def->name);
    if (twin >= 0) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "name: '%s' is already the name of joint %d; names must differ",
                          def->name, (int)twin);
    }
    if ((int)def->type < 0 || def->type >= PERP_JOINT_TYPE_COUNT) {
        return perpi_fail(context, PERP_ERROR_INPUT, "type: there is no joint type %d",
                          (int)def->type);
    }
    if (perpi_joint_ops_of(def->type)->rows[model->dimension - 2] < 0) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "type: a %s joint needs three dimensions; planar scenes know fixed, "
                          "revolute, prismatic and rope",
                          perpi_joint_ops_of(def->type)->name);
    }
    if (def->type == PERP_JOINT_GEAR) {
        return PERP_OK; /* it has no bodies */
    }
    perp_status status = find_side(model, "a", def->a, &body[0]);
    if (status == PERP_OK) {
        status = find_side(model, "b", def->b, &body[1]);
    }
    if (status != PERP_OK) {
        return status;
    }
    if (body[0] == body[1]) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "b: a joint connects two different bodies, both are '%s'", def->b);
    }
    if (!is_dynamic(model, body[0]) && !is_dynamic(model, body[1])) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "b: neither '%s' nor '%s' is dynamic: the joint could move nothing",
                          def->a, def->b);
    }
    return PERP_OK;
}

static perp_status check_particles(const perp_model* model, const perp_joint_def* def,
                                   const int32_t body[2])
{
    const perp_joint_type point =
        model->dimension == 2 ? PERP_JOINT_REVOLUTE : PERP_JOINT_SPHERICAL;
    for (int side = 0; side < 2; ++side) {
        if (!is_particle(model, body[side])) {
            continue;
        }
        const char* name = model->body[body[side]].name;
        if (def->type != point && def->type != PERP_JOINT_ROPE) {
            return perpi_fail(model->context, PERP_ERROR_INPUT,
                              "type: '%s' is a particle, which has no orientation to hold; use "
                              "%s or rope, or give it an inertia",
                              name, perpi_joint_ops_of(point)->name);
        }
        if (def->has_limits || def->friction > 0.0 || def->damping > 0.0 || def->armature > 0.0 ||
            def->velocity_limit < INFINITY || def->motor.type != PERP_MOTOR_NONE) {
            return perpi_fail(model->context, PERP_ERROR_INPUT,
                              "type: '%s' is a particle: there is no angle for limits, friction, "
                              "damping or a motor",
                              name);
        }
    }
    return PERP_OK;
}

static perp_status check_laws(perp_context* context, const perp_joint_def* def)
{
    const perp_motor_def* motor = &def->motor;
    const char* extra = def->has_limits                  ? "limits"
                        : def->friction != 0.0           ? "friction"
                        : def->damping != 0.0            ? "damping"
                        : def->armature != 0.0           ? "armature"
                        : def->velocity_limit < INFINITY ? "velocity_limit"
                        : motor->type != PERP_MOTOR_NONE ? "motor"
                        : def->start != 0.0              ? "start"
                                                         : NULL;
    if (extra != NULL && !perpi_joint_one_degree(def->type)) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "%s: only revolute and prismatic joints have it, this one is %s", extra,
                          perpi_joint_ops_of(def->type)->name);
    }
    if (!isfinite(def->start)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "start: must be finite, got %g", def->start);
    }
    if (def->has_limits) {
        const double lo = def->limits[0], hi = def->limits[1];
        if (isnan(lo) || isnan(hi) || !(lo < INFINITY) || !(hi > -INFINITY)) {
            return perpi_fail(context, PERP_ERROR_INPUT, "limits: must be two numbers");
        }
        if (!(lo <= hi)) {
            return perpi_fail(
                context, PERP_ERROR_INPUT,
                "limits: lower must be <= upper, got [%g, %g]; did you mean [%g, %g]?", lo, hi, hi,
                lo);
        }
        if (!(lo <= def->start && def->start <= hi)) {
            return perpi_fail(context, PERP_ERROR_INPUT,
                              "limits: the coordinate is %g at the start, outside of [%g, %g]",
                              def->start, lo, hi);
        }
    }
    if (!(def->friction >= 0.0) || !isfinite(def->friction)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "friction: must be >= 0, got %g",
                          def->friction);
    }
    if (!(def->damping >= 0.0) || !isfinite(def->damping)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "damping: must be >= 0, got %g", def->damping);
    }
    if (!(def->armature >= 0.0) || !isfinite(def->armature)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "armature: must be >= 0, got %g",
                          def->armature);
    }
    if (!(def->velocity_limit > 0.0)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "velocity_limit: must be > 0, got %g",
                          def->velocity_limit);
    }
    if (motor->type < PERP_MOTOR_NONE || motor->type > PERP_MOTOR_EFFORT) {
        return perpi_fail(context, PERP_ERROR_INPUT, "motor/type: there is no motor type %d",
                          (int)motor->type);
    }
    if (motor->type != PERP_MOTOR_NONE && !(motor->max_effort >= 0.0)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "motor/max_effort: must be >= 0, got %g",
                          motor->max_effort);
    }
    return PERP_OK;
}

/* ---- frames ----------------------------------------------------------------------------------------*/

static perpi_pose side_pose(const perp_model* model, int32_t body)
{
    if (body >= 0) {
        return model->body[body].pose;
    }
    return (perpi_pose){v3(0, 0, 0), q4_identity(), m3_identity()};
}

/* The quaternion of the rotation matrix with these columns; the largest of the four entries is
 * computed first, which avoids cancellation. */
static quat from_columns(vec3 x, vec3 y, vec3 z)
{
    const double four[4] = {1 + x.x + y.y + z.z, 1 + x.x - y.y - z.z, 1 - x.x + y.y - z.z,
                            1 - x.x - y.y + z.z};
    int most = 0;
    for (int i = 1; i < 4; ++i) {
        most = four[i] > four[most] ? i : most;
    }
    const double s = 0.5 / sqrt(four[most]), r = s * four[most];
    switch (most) {
    case 0: return q4_unit((quat){r, s * (y.z - z.y), s * (z.x - x.z), s * (x.y - y.x)});
    case 1: return q4_unit((quat){s * (y.z - z.y), r, s * (y.x + x.y), s * (z.x + x.z)});
    case 2: return q4_unit((quat){s * (z.x - x.z), s * (y.x + x.y), r, s * (z.y + y.z)});
    default: return q4_unit((quat){s * (x.y - y.x), s * (z.x + x.z), s * (z.y + y.z), r});
    }
}

static perp_status unit_axis(perp_context* context, const char* member, const double* axis,
                             int32_t dimension, vec3* unit)
{
    vec3 n = v3_from(axis);
    n.z = dimension == 2 ? 0.0 : n.z;
    const double most = fmax(fabs(n.x), fmax(fabs(n.y), fabs(n.z)));
    if (!finite3(axis) || !(most > 0.0)) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "%s: must be a direction of length > 0, got [%g, %g, %g]", member,
                          axis[0], axis[1], axis[2]);
    }
    *unit = v3_unit(v3(n.x / most, n.y / most, n.z / most)); /* 1 / most could overflow */
    return PERP_OK;
}

static perp_status make_frames(const perp_model* model, const perp_joint_def* def,
                               perpi_joint* joint)
{
    perp_context* context = model->context;
    const bool planar = model->dimension == 2;
    vec3 x = v3(1, 0, 0), z = v3(0, 0, 1);
    perp_status status = PERP_OK;
    if (perpi_joint_ops_of(def->type)->has_axis[planar ? 0 : 1]) {
        status = unit_axis(context, "axis", def->axis, model->dimension, &z);
        if (status != PERP_OK) {
            return status;
        }
        x = planar ? v3(-z.y, z.x, 0) : v3_tangent(z);
    }
    if (def->type == PERP_JOINT_UNIVERSAL && def->has_axis2) {
        status = unit_axis(context, "axis2", def->axis2, model->dimension, &x);
        if (status != PERP_OK) {
            return status;
        }
        const double along = v3_dot(x, z);
        if (!(fabs(along) <= ASSEMBLY_TOLERANCE)) {
            return perpi_fail(
                context, PERP_ERROR_INPUT,
                "axis2: must be perpendicular to axis at the start; the angle between "
                "them is %.6g degrees",
                acos(along) * 57.29577951308232);
        }
        x = v3_unit(v3_madd(x, -along, z));
    }
    const quat F = from_columns(x, v3_cross(z, x), z);
    for (int side = 0; side < 2; ++side) {
        const perpi_pose pose = side_pose(model, joint->body[side]);
        joint->frame[side] = q4_unit(q4_mul(q4_conj(pose.q), F));
    }
    const double angle[2] = {joint->body[0] >= 0 ? model->body[joint->body[0]].angle : 0.0,
                             joint->body[1] >= 0 ? model->body[joint->body[1]].angle : 0.0};
    joint->angle = angle[1] - angle[0];
    return PERP_OK;
}

static const char* side_name(const perp_model* model, int32_t body)
{
    return body >= 0 ? model->body[body].name : "world";
}

static double side_size(const perp_model* model, int32_t body)
{
    const double reach = body >= 0 ? model->body[body].reach : 0.0;
    return isfinite(reach) ? reach : 0.0;
}

/* The length of a rope, and the check that its points are within it. */
static perp_status make_rope(perp_context* context, const perp_joint_def* def, vec3 apart,
                             perpi_joint* joint)
{
    const double distance = v3_norm(apart);
    joint->length = isnan(def->length) ? distance : def->length;
    if (!(joint->length > 0.0) || !isfinite(joint->length)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "length: must be > 0, got %g%s", joint->length,
                          isnan(def->length) ? " (the distance at the start)" : "");
    }
    joint->size = fmax(joint->size, joint->length);
    if (!(distance <= joint->length + ASSEMBLY_TOLERANCE * joint->size)) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "length: %g is too short: the points are %g apart at the start",
                          joint->length, distance);
    }
    return PERP_OK;
}

/* The two points in the bodies, and the check of their distance. */
static perp_status make_points(const perp_model* model, const perp_joint_def* def,
                               perpi_joint* joint)
{
    perp_context* context = model->context;
    const bool planar = model->dimension == 2;
    const double* given[2] = {def->has_at ? def->at : def->at_a, def->has_at ? def->at : def->at_b};
    const char* member[2] = {def->has_at ? "at" : "at_a", def->has_at ? "at" : "at_b"};
    vec3 world[2];
    for (int side = 0; side < 2; ++side) {
        if (!finite3(given[side])) {
            return perpi_fail(context, PERP_ERROR_INPUT, "%s: must be finite", member[side]);
        }
        const perpi_pose pose = side_pose(model, joint->body[side]);
        vec3 p = v3_from(given[side]);
        p.z = planar ? 0.0 : p.z;
        joint->at[side] = def->has_at ? m3_tmul(pose.R, v3_sub(p, pose.x)) : p;
        world[side] = def->has_at ? p : v3_add(pose.x, m3_mul(pose.R, p));
        const double arm = joint->body[side] >= 0 ? v3_norm(joint->at[side]) : 0.0;
        joint->own_size = fmax(joint->own_size, fmax(arm, side_size(model, joint->body[side])));
    }
    joint->size = fmax(joint->own_size, model->length);
    /* points only, all at the origin: compare with the distance of the bodies */
    if (!(joint->size > 0.0)) {
        joint->size = fmax(v3_norm(world[0]), v3_norm(world[1]));
    }
    if (!(joint->size > 0.0)) {
        joint->size = 1.0;
    }

    for (int side = 0; side < 2; ++side) {
        if (is_particle(model, joint->body[side])) {
            if (!(v3_norm(joint->at[side]) <= ASSEMBLY_TOLERANCE * joint->size)) {
                return perpi_fail(context, PERP_ERROR_INPUT,
                                  "%s: '%s' is a particle, the joint must be at its centre",
                                  member[side], side_name(model, joint->body[side]));
            }
            joint->at[side] = v3(0, 0, 0);
        }
    }

    const vec3 apart = v3_sub(world[1], world[0]);
    if (def->type == PERP_JOINT_ROPE) {
        return make_rope(context, def, apart, joint);
    }
    /* free directions of the type do not count */
    const mat3 F = q4_matrix(q4_mul(side_pose(model, joint->body[0]).q, joint->frame[0]));
    vec3 wrong = apart;
    const perpi_joint_freedom free_to = perpi_joint_ops_of(def->type)->free;
    if (free_to == PERPI_FREE_LINE) {
        joint->rest[0] = v3_dot(m3_column(F, 2), apart);
        wrong = v3_madd(apart, -joint->rest[0], m3_column(F, 2));
    } else if (free_to == PERPI_FREE_PLANE) {
        joint->rest[0] = v3_dot(m3_column(F, 0), apart);
        joint->rest[1] = v3_dot(m3_column(F, 1), apart);
        wrong = v3_scale(v3_dot(m3_column(F, 2), apart), m3_column(F, 2));
    }
    if (!(v3_norm(wrong) <= ASSEMBLY_TOLERANCE * joint->size)) {
        return perpi_fail(
            context, PERP_ERROR_INPUT,
            "at_b: the joint cannot be assembled: at_a [%g, %g, %g] of '%s' is at "
            "[%g, %g, %g] in the world, at_b [%g, %g, %g] of '%s' at [%g, %g, %g], "
            "%.6g apart; move a body or a point so that they meet",
            def->at_a[0], def->at_a[1], def->at_a[2], side_name(model, joint->body[0]), world[0].x,
            world[0].y, world[0].z, def->at_b[0], def->at_b[1], def->at_b[2],
            side_name(model, joint->body[1]), world[1].x, world[1].y, world[1].z, v3_norm(wrong));
    }
    /* The remaining error is rounding in the scene's numbers. Redundant joints must not contradict
     * each other by it: the point of b is moved to that of a. */
    if (!is_particle(model, joint->body[1])) {
        const perpi_pose pose = side_pose(model, joint->body[1]);
        joint->at[1] = v3_sub(joint->at[1], m3_tmul(pose.R, wrong));
    }
    return PERP_OK;
}

void perpi_joint_resize(perp_model* model)
{
    for (size_t i = 0; i < model->joint_count; ++i) {
        perpi_joint* joint = &model->joint[i];
        joint->size = fmax(joint->own_size, model->length);
    }
}

/* ---- pairs that do not collide ---------------------------------------------------------------------*/

static size_t joined_place(const perp_model* model, int32_t a, int32_t b)
{
    size_t from = 0, to = model->joined_count;
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        const perpi_joined* j = &model->joined[middle];
        if (j->a < a || (j->a == a && j->b < b)) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from;
}

bool perpi_model_joined(const perp_model* model, int32_t a, int32_t b)
{
    const int32_t lo = a < b ? a : b, hi = a < b ? b : a;
    const size_t at = joined_place(model, lo, hi);
    return at < model->joined_count && model->joined[at].a == lo && model->joined[at].b == hi;
}

static void forbid_pair(perp_model* model, int32_t a, int32_t b)
{
    const int32_t lo = a < b ? a : b, hi = a < b ? b : a;
    if (lo < 0 || perpi_model_joined(model, lo, hi)) {
        return;
    }
    const size_t at = joined_place(model, lo, hi);
    memmove(model->joined + at + 1, model->joined + at,
            (model->joined_count - at) * sizeof *model->joined);
    model->joined[at] = (perpi_joined){lo, hi};
    model->joined_count += 1;
}

/* ---- the joint -------------------------------------------------------------------------------------*/

static perp_status fill_joint(perp_model* model, const perp_joint_def* def, perpi_joint* joint)
{
    perp_context* context = model->context;
    perp_status status =
        perpi_check_struct(context, "perp_joint_def", def->struct_size, sizeof *def);
    if (status == PERP_OK) {
        status = check_names(model, def, joint->body);
    }
    const bool gear = def->type == PERP_JOINT_GEAR;
    if (status == PERP_OK && gear) {
        status = perpi_gear_make(model, def, joint);
    }
    if (status == PERP_OK && !gear) {
        status = check_particles(model, def, joint->body);
    }
    if (status == PERP_OK && !gear) {
        status = check_laws(context, def);
    }
    if (status == PERP_OK && !gear) {
        status = make_frames(model, def, joint);
    }
    if (status == PERP_OK && !gear) {
        status = make_points(model, def, joint);
    }
    if (status == PERP_OK && def->motor.type != PERP_MOTOR_NONE) {
        status = perpi_value_make(context, def->motor.target, def->motor.target_text,
                                  "motor/target", &joint->target);
    }
    if (status == PERP_OK) {
        status = perpi_strndup(context, def->name, strlen(def->name), &joint->name);
    }
    if (status != PERP_OK) {
        return status;
    }
    joint->type = def->type;
    joint->start = def->start;
    joint->has_limits = def->has_limits;
    joint->limits[0] = def->has_limits ? def->limits[0] : -INFINITY;
    joint->limits[1] = def->has_limits ? def->limits[1] : INFINITY;
    joint->friction = def->friction;
    joint->damping = def->damping;
    joint->armature = def->armature;
    joint->stiffness = def->type == PERP_JOINT_GEAR ? def->stiffness : 0.0;
    joint->motor = def->motor.type;
    joint->max_effort = def->motor.max_effort;
    joint->velocity_limit = gear ? INFINITY : def->velocity_limit;
    joint->collide = def->collide;
    joint->rows = perpi_joint_ops_of(def->type)->rows[model->dimension - 2];
    joint->coordinates = perpi_joint_ops_of(def->type)->coordinates;
    return PERP_OK;
}

static bool keeps_a_point(const perpi_joint* joint)
{
    return joint->type == PERP_JOINT_FIXED || joint->type == PERP_JOINT_REVOLUTE ||
           joint->type == PERP_JOINT_SPHERICAL || joint->type == PERP_JOINT_UNIVERSAL;
}

perp_status perp_model_add_joint(perp_model* model, const perp_joint_def* def, int32_t* index)
{
    perp_context* context = model->context;
    perp_status status = perpi_grow(context, &model->joint, &model->joint_capacity,
                                    model->joint_count + 1, sizeof *model->joint);
    if (status == PERP_OK) {
        status = perpi_grow(context, &model->joined, &model->joined_capacity,
                            model->joined_count + 1, sizeof *model->joined);
    }
    if (status != PERP_OK) {
        return status;
    }
    perpi_joint joint = {.body = {-1, -1}};
    status = fill_joint(model, def, &joint);
    if (status == PERP_OK) {
        status = perpi_keep_joint(model, def);
    }
    if (status != PERP_OK) {
        perpi_joint_free(context, &joint);
        return status;
    }
    if (!joint.collide) {
        forbid_pair(model, joint.body[0], joint.body[1]);
    }
    model->joint[model->joint_count++] = joint;
    for (int side = 0; side < 2; ++side) {
        if (joint.body[side] >= 0) {
            perpi_body* body = &model->body[joint.body[side]];
            body->joints += 1;
            if (keeps_a_point(&joint) && body->hinge[1] == 0) {
                body->hinge[body->hinge[0] == 0 ? 0 : 1] = (int32_t)model->joint_count;
            }
        }
        for (int end = 0; end < 2 && joint.type == PERP_JOINT_GEAR; ++end) {
            const int32_t body = model->joint[joint.geared[side]].body[end];
            if (body >= 0) {
                model->body[body].gears += 1;
            }
        }
    }
    if (index != NULL) {
        *index = (int32_t)model->joint_count - 1;
    }
    status = perpi_chains_grow(model);
    return status == PERP_OK ? perpi_controllers_find_moved(model)
                             : status; /* the tree has grown */
}

/* ---- queries ------------------------------------------------------------------------------------ */

int32_t perp_model_joint_count(const perp_model* model)
{
    return (int32_t)model->joint_count;
}

const char* perp_model_joint_name(const perp_model* model, int32_t joint)
{
    return model->joint[joint].name;
}

int32_t perp_model_joint_find(const perp_model* model, const char* name)
{
    for (size_t i = 0; i < model->joint_count; ++i) {
        if (strcmp(model->joint[i].name, name) == 0) {
            return (int32_t)i;
        }
    }
    return -1;
}

perp_joint_info perp_model_joint_info(const perp_model* model, int32_t index)
{
    const perpi_joint* joint = &model->joint[index];
    perp_joint_info info = {.type = joint->type,
                            .a = joint->body[0],
                            .b = joint->body[1],
                            .length = joint->length,
                            .has_limits = joint->has_limits,
                            .limits = {joint->limits[0], joint->limits[1]},
                            .start = joint->start,
                            .friction = joint->friction,
                            .damping = joint->damping,
                            .motor = joint->motor,
                            .max_effort = joint->max_effort,
                            .collide = joint->collide,
                            .rows = joint->rows,
                            .coordinates = joint->coordinates,
                            .joints = {-1, -1},
                            .ratio = joint->ratio,
                            .offset = joint->offset,
                            .armature = joint->armature,
                            .stiffness = joint->stiffness,
                            .velocity_limit = joint->velocity_limit};
    if (joint->type == PERP_JOINT_GEAR) {
        info.joints[0] = joint->geared[0];
        info.joints[1] = joint->geared[1];
    }
    v3_to(joint->at[0], info.at_a);
    v3_to(joint->at[1], info.at_b);
    const bool turns = joint->type == PERP_JOINT_REVOLUTE; /* planar: about z */
    if (perpi_joint_ops_of(joint->type)->has_axis[model->dimension - 2] || turns) {
        v3_to(q4_rotate(joint->frame[0], v3(0, 0, 1)), info.axis_a);
        v3_to(q4_rotate(joint->frame[1], v3(0, 0, 1)), info.axis_b);
    }
    if (joint->type == PERP_JOINT_UNIVERSAL) {
        v3_to(q4_rotate(joint->frame[1], v3(1, 0, 0)), info.axis2_b);
    }
    return info;
}
