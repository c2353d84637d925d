/* src/scene/write.c - a model as the tree of a scene file.
 *
 * Written from the defs that the model keeps (model/keep.h), so that reading the text builds the same
 * model to the last bit. Two numbers of a def are not those of a file. Points of joints and springs count
 * from the centre of mass, in a file from the frame of the shapes: where adding the offset does not give
 * back the number, the body is written with mass, inertia and its centre of mass instead of a density. And
 * the rotation of a planar shape is an angle in a file; a C program may have given a quaternion, whose
 * angle is exact up to the last two bits.
 */
#include <math.h>
#include <string.h>

#include "model/model.h"
#include "scene/reader.h"
#include "scene/write.h"

typedef struct writer {
    const perp_model* model;
    bool failed;   /* out of memory, or a string that is not UTF-8 */
    bool* by_mass; /* per body: without its density */
} writer;

/* ---- values ----------------------------------------------------------------------------------------*/

static json_t* made(writer* w, json_t* value)
{
    w->failed = w->failed || value == NULL;
    return value;
}

static void put(writer* w, json_t* object, const char* key, json_t* value)
{
    if (made(w, value) != NULL && json_object_set_new(object, key, value) != 0) {
        w->failed = true;
    }
}

static void add(writer* w, json_t* array, json_t* value)
{
    if (made(w, value) != NULL && json_array_append_new(array, value) != 0) {
        w->failed = true;
    }
}

/* Whole numbers without a point, but for -0: reading gives the same double. */
static json_t* number(double x)
{
    const bool whole = fabs(x) < 1e15 && x == floor(x) && !(x == 0.0 && signbit(x));
    return whole ? json_integer((json_int_t)x) : json_real(x);
}

static json_t* numbers(writer* w, const double* x, int32_t count)
{
    json_t* array = made(w, json_array());
    for (int32_t i = 0; i < count; ++i) {
        add(w, array, number(x[i]));
    }
    return array;
}

/* A number, or the expression that replaces it. */
static json_t* value(double x, const char* text)
{
    return text != NULL ? json_string(text) : number(x);
}

static json_t* values(writer* w, const double* x, const char* const* text, int32_t count)
{
    json_t* array = made(w, json_array());
    for (int32_t i = 0; i < count; ++i) {
        add(w, array, value(x != NULL ? x[i] : 0.0, text[i]));
    }
    return array;
}

static bool any(const double* x, const char* const* text, int32_t count)
{
    bool found = false;
    for (int32_t i = 0; i < count; ++i) {
        found = found || (x != NULL && x[i] != 0.0) || (text != NULL && text[i] != NULL);
    }
    return found;
}

/* rows x columns; in the plane the leading 2 x 2 of layers. */
static json_t* matrix(writer* w, const double* A, int32_t n)
{
    json_t* rows = made(w, json_array());
    for (int32_t i = 0; i < n; ++i) {
        add(w, rows, numbers(w, A + 3 * i, n));
    }
    return rows;
}

static void put_number(writer* w, json_t* object, const char* key, double x, double absent)
{
    const bool same = x == absent || (isnan(x) && isnan(absent));
    if (!same) {
        put(w, object, key, number(x));
    }
}

static void put_flag(writer* w, json_t* object, const char* key, bool flag, bool absent)
{
    if (flag != absent) {
        put(w, object, key, json_boolean(flag));
    }
}

static void put_text(writer* w, json_t* object, const char* key, const char* text)
{
    if (text != NULL && text[0] != '\0') {
        put(w, object, key, json_string(text));
    }
}

/* ---- points that count from the centre of mass ---------------------------------------------------*/

/* x + offset such that subtracting the offset gives x; false if there is no such number. */
static bool unshift(double offset, double x, double* sum)
{
    const double near = x + offset;
    const double candidate[5] = {near, nextafter(near, INFINITY), nextafter(near, -INFINITY),
                                 nextafter(nextafter(near, INFINITY), INFINITY),
                                 nextafter(nextafter(near, -INFINITY), -INFINITY)};
    for (int i = 0; i < 5; ++i) {
        const double back = candidate[i] - offset;
        if (memcmp(&back, &x, sizeof x) == 0) {
            *sum = candidate[i];
            return true;
        }
    }
    *sum = near;
    return false;
}

static bool unshift_point(const writer* w, const char* name, const double at[3], double point[3])
{
    const int32_t index = perp_model_body_find(w->model, name); /* -1: the world */
    bool exact = true;
    for (int i = 0; i < 3; ++i) {
        const bool shifted = index >= 0 && !w->by_mass[index];
        const vec3 o = shifted ? w->model->body[index].offset : v3(0, 0, 0);
        const double offset = i == 0 ? o.x : i == 1 ? o.y : o.z;
        point[i] = at[i];
        if (shifted && offset != 0.0 && i < w->model->dimension) {
            exact = unshift(offset, at[i], &point[i]) && exact;
        }
    }
    return exact;
}

static void put_point(writer* w, json_t* object, const char* key, const char* name,
                      const double at[3])
{
    double point[3];
    (void)unshift_point(w, name, at, point);
    put(w, object, key, numbers(w, point, w->model->dimension));
}

static void find_by_mass(writer* w, const char* name, const double at[3])
{
    double point[3];
    if (any(at, NULL, 3) && !unshift_point(w, name, at, point)) {
        w->by_mass[perp_model_body_find(w->model, name)] = true;
    }
}

static void choose_by_mass(writer* w)
{
    const perp_model* model = w->model;
    for (size_t i = 0; i < model->joint_count; ++i) {
        const perp_joint_def* def = &model->kept.joint[i];
        if (!def->has_at) {
            find_by_mass(w, def->a, def->at_a);
            find_by_mass(w, def->b, def->at_b);
        }
    }
    for (size_t i = 0; i < model->spring_count; ++i) {
        find_by_mass(w, model->kept.spring[i].a, model->kept.spring[i].at_a);
        find_by_mass(w, model->kept.spring[i].b, model->kept.spring[i].at_b);
    }
}

/* ---- shapes ----------------------------------------------------------------------------------------*/

/* The angle whose quaternion is nearest to that of a planar shape. */
static double angle_of(const perp_shape_def* def)
{
    const double* e = def->orientation;
    if (e[3] == 0.0) {
        return 0.0; /* not turned; an angle of 0 stands for no angle in a definition, and is not compared */
    }
    const double near = 2.0 * atan2(e[3], e[0]);
    double candidate = near;
    for (int i = 0; i < 9; ++i) { /* the nearest double, then those one, two, ... ulps away on
                                   * either side */
        const perp_shape_def turned = {.angle = candidate};
        double back[4];
        perpi_shape_orientation(&turned, back);
        if (back[0] == e[0] && back[3] == e[3]) {
            return candidate;
        }
        candidate = near;
        for (int k = 0; k < (i + 2) / 2; ++k) {
            candidate = nextafter(candidate, i % 2 == 0 ? INFINITY : -INFINITY);
        }
    }
    return near;
}

static void put_mesh(writer* w, json_t* shape, const perp_shape_def* def, int32_t dimension)
{
    json_t* vertices = made(w, json_array());
    for (int32_t i = 0; i < def->vertex_count; ++i) {
        add(w, vertices, numbers(w, def->vertices + dimension * i, dimension));
    }
    put(w, shape, "vertices", vertices);
    if (def->type == PERP_SHAPE_POLYGON || def->triangles == NULL || def->triangle_count == 0) {
        return;
    }
    json_t* faces = made(w, json_array());
    for (int32_t i = 0; i < def->triangle_count; ++i) {
        const int32_t* t = def->triangles + 3 * i;
        add(w, faces, json_pack("[i, i, i]", (int)t[0], (int)t[1], (int)t[2]));
    }
    put(w, shape, "faces", faces);
}

/* The parameters of a shape; the keys are those of read_shape.c. */
static void put_parameters(writer* w, json_t* shape, const perp_shape_def* def, int32_t dimension)
{
    switch (def->type) {
    case PERP_SHAPE_SPHERE:
    case PERP_SHAPE_CIRCLE: put(w, shape, "radius", number(def->radius)); break;
    case PERP_SHAPE_PLANE:
    case PERP_SHAPE_HALFPLANE:
        put(w, shape, "normal", numbers(w, def->normal, dimension));
        put_number(w, shape, "offset", def->offset, 0.0);
        break;
    case PERP_SHAPE_BOX:
    case PERP_SHAPE_BOX2: put(w, shape, "size", numbers(w, def->size, dimension)); break;
    case PERP_SHAPE_CAPSULE:
    case PERP_SHAPE_CYLINDER:
        put(w, shape, "radius", number(def->radius));
        put(w, shape, "length", number(def->length));
        break;
    case PERP_SHAPE_ELLIPSOID: put(w, shape, "radii", numbers(w, def->radii, dimension)); break;
    case PERP_SHAPE_SUPERQUADRIC:
        put(w, shape, "radii", numbers(w, def->radii, dimension));
        put(w, shape, "exponents", numbers(w, def->exponents, 2));
        break;
    case PERP_SHAPE_SUPERELLIPSE:
        put(w, shape, "radii", numbers(w, def->radii, dimension));
        put(w, shape, "exponent", number(def->exponents[0]));
        break;
    case PERP_SHAPE_MESH:
        put_text(w, shape, "source", def->source);
        put_flag(w, shape, "decompose", def->decompose, false);
        put_flag(w, shape, "convex", def->convex, false);
        put_mesh(w, shape, def, dimension);
        break;
    case PERP_SHAPE_POLYGON:
    case PERP_SHAPE_POLYHEDRON: put_mesh(w, shape, def, dimension); break;
    case PERP_SHAPE_PARTICLE:
    case PERP_SHAPE_TYPE_COUNT: break;
    }
}

/* position: of the shape in the frame that is written. */
static json_t* shape_json(writer* w, const perp_shape_def* def, const double position[3])
{
    const int32_t dimension = w->model->dimension;
    const double* e = def->orientation;
    json_t* shape = made(w, json_object());
    put_text(w, shape, "type", perp_shape_name(def->type));
    put_parameters(w, shape, def, dimension);
    if (any(position, NULL, dimension)) {
        put(w, shape, "position", numbers(w, position, dimension));
    }
    if (dimension == 2) {
        put_number(w, shape, "angle", def->angle != 0.0 ? def->angle : angle_of(def), 0.0);
    } else if (e[0] != 1.0 || any(e + 1, NULL, 3)) {
        put(w, shape, "orientation", numbers(w, e, 4));
    }
    put_number(w, shape, "friction", def->friction, NAN);
    if (def->has_surface_velocity) {
        put(w, shape, "surface_velocity",
            values(w, def->surface_velocity, def->surface_velocity_text, dimension));
    }
    put_flag(w, shape, "visual", def->visual, false);
    if (def->contactless && !def->visual) {
        put(w, shape, "collides", json_false());
    }
    return shape;
}

/* ---- bodies ----------------------------------------------------------------------------------------*/

static json_t* waves_json(writer* w, const perp_sinusoid* wave, int32_t count)
{
    json_t* list = made(w, json_array());
    for (int32_t i = 0; i < count; ++i) {
        json_t* item = made(w, json_object());
        put(w, item, "amplitude", number(wave[i].amplitude));
        put(w, item, "frequency", number(wave[i].frequency));
        put_number(w, item, "phase", wave[i].phase, 0.0);
        add(w, list, item);
    }
    return list;
}

static void put_acceleration(writer* w, json_t* motion, const perp_motion_def* def)
{
    const bool planar = w->model->dimension == 2;
    json_t* acceleration = made(w, json_object());
    json_t* linear = made(w, json_array());
    for (int i = 0; i < w->model->dimension; ++i) {
        add(w, linear, waves_json(w, def->acceleration[i], def->acceleration_count[i]));
    }
    put(w, acceleration, "linear", linear);
    if (planar) {
        put(w, acceleration, "angular",
            waves_json(w, def->acceleration[5], def->acceleration_count[5]));
    } else {
        json_t* angular = made(w, json_array());
        for (int i = 3; i < 6; ++i) {
            add(w, angular, waves_json(w, def->acceleration[i], def->acceleration_count[i]));
        }
        put(w, acceleration, "angular", angular);
    }
    put_flag(w, acceleration, "periodic", def->periodic, false);
    put_flag(w, acceleration, "symmetric", !def->from_pose, true);
    put(w, motion, "acceleration", acceleration);
}

static void put_pose_motion(writer* w, json_t* motion, const perp_motion_def* def)
{
    const int32_t dimension = w->model->dimension;
    if (def->table != NULL) {
        json_t* table = made(w, json_array());
        for (int32_t i = 0; i < def->table_rows; ++i) {
            const double* row = def->table + (size_t)i * (size_t)def->table_columns;
            add(w, table, numbers(w, row, def->table_columns));
        }
        put(w, motion, "table", table);
        put_text(w, motion, "interpolation", def->interpolation);
    } else {
        const bool turns = any(NULL, def->orientation, 4) || any(NULL, def->axis_angle, 4) ||
                           (dimension == 2 && def->angle != NULL);
        if (any(NULL, def->position, 3) || !turns) { /* a motion must not be empty */
            put(w, motion, "position", values(w, NULL, def->position, dimension));
        }
        if (dimension == 2 && def->angle != NULL) {
            put_text(w, motion, "angle", def->angle);
        }
        if (dimension == 3 && any(NULL, def->orientation, 4)) {
            put(w, motion, "orientation", values(w, NULL, def->orientation, 4));
        }
        if (dimension == 3 && any(NULL, def->axis_angle, 4)) {
            put(w, motion, "axis_angle", values(w, NULL, def->axis_angle, 4));
        }
    }
    put_number(w, motion, "max_speed", def->max_speed, 0.0);
    put_number(w, motion, "max_angular_speed", def->max_angular_speed, 0.0);
}

static json_t* motion_json(writer* w, const perp_motion_def* def)
{
    const int32_t dimension = w->model->dimension;
    json_t* motion = made(w, json_object());
    if (def->type == PERP_MOTION_ACCELERATION) {
        put_acceleration(w, motion, def);
    } else if (def->type == PERP_MOTION_POSE) {
        put_pose_motion(w, motion, def);
    } else {
        put(w, motion, "velocity", values(w, NULL, def->velocity, dimension));
        put(w, motion, "angular_velocity",
            dimension == 2 ? value(0.0, def->angular_velocity[2])
                           : values(w, NULL, def->angular_velocity, 3));
    }
    return motion;
}

static json_t* compliance_json(writer* w, const perp_compliance_def* def)
{
    json_t* compliance = made(w, json_object());
    put(w, compliance, "stiffness", matrix(w, def->stiffness, w->model->dimension));
    put(w, compliance, "damping", matrix(w, def->damping, w->model->dimension));
    put_number(w, compliance, "max_deflection", def->max_deflection, INFINITY);
    if (def->patch > 0.0) {
        put(w, compliance, "patch", json_pack("{s:f}", "spacing", def->patch));
    }
    return compliance;
}

/* offset: 0, or of the centre of mass in a body that is written by its mass. */
static json_t* support_json(writer* w, const perp_support_def* def, vec3 offset)
{
    json_t* support = made(w, json_object());
    json_t* tripod = made(w, json_array());
    for (int i = 0; i < 3; ++i) {
        const double at[2] = {def->tripod[i][0] - offset.x, def->tripod[i][1] - offset.y};
        add(w, tripod, numbers(w, at, 2));
    }
    if (def->has_tripod) {
        put(w, support, "tripod", tripod);
        put(w, support, "mu", numbers(w, def->mu, 3));
    } else {
        json_decref(tripod);
        put(w, support, "mu", number(def->mu[0]));
    }
    put_number(w, support, "gravity", def->gravity, NAN);
    put_number(w, support, "load", def->load, NAN);
    return support;
}

static json_t* names_json(writer* w, const char* const* name, int32_t count)
{
    json_t* list = made(w, json_array());
    for (int32_t i = 0; i < count; ++i) {
        add(w, list, json_string(name[i]));
    }
    return list;
}

static void put_mass(writer* w, json_t* body, const perp_body_def* def, int32_t index)
{
    const perpi_body* made_of = &w->model->body[index];
    const bool by_mass = w->by_mass[index];
    const double* inertia = by_mass ? &made_of->inertia.m[0][0] : def->inertia;
    if (def->massless) {
        put(w, body, "massless", json_true());
        return;
    }
    put_number(w, body, "mass", by_mass ? made_of->mass : def->mass, NAN);
    put_number(w, body, "density", by_mass ? NAN : def->density, NAN);
    if (by_mass || def->has_inertia) {
        put(w, body, "inertia",
            w->model->dimension == 2 ? number(inertia[8]) : matrix(w, inertia, 3));
    }
}

static void put_pose(writer* w, json_t* body, const perp_body_def* def, int32_t index)
{
    const int32_t dimension = w->model->dimension;
    double position[3];
    memcpy(position, def->position, sizeof position);
    if (w->by_mass[index]) {
        v3_to(w->model->body[index].pose.x, position);
    }
    if (any(position, NULL, dimension)) {
        put(w, body, "position", numbers(w, position, dimension));
    }
    if (dimension == 2) {
        put_number(w, body, "angle", def->angle, 0.0);
    } else if (def->orientation[0] != 1.0 || any(def->orientation + 1, NULL, 3)) {
        put(w, body, "orientation", numbers(w, def->orientation, 4));
    }
    if (any(def->velocity, NULL, dimension)) {
        put(w, body, "velocity", numbers(w, def->velocity, dimension));
    }
    if (dimension == 2) {
        put_number(w, body, "angular_velocity", def->angular_velocity[2], 0.0);
    } else if (any(def->angular_velocity, NULL, 3)) {
        put(w, body, "angular_velocity", numbers(w, def->angular_velocity, 3));
    }
}

static json_t* body_json(writer* w, int32_t index)
{
    static const char* const types[] = {"static", "kinematic", "dynamic"};
    const perp_body_def* def = &w->model->kept.body[index];
    const perpi_body* made_of = &w->model->body[index];
    const int32_t dimension = w->model->dimension;
    json_t* body = made(w, json_object());
    put_text(w, body, "name", def->name);
    put_text(w, body, "type", types[def->type]);
    put_mass(w, body, def, index);
    put_pose(w, body, def, index);
    put_number(w, body, "friction", def->friction, NAN);
    put_number(w, body, "restitution", def->restitution, NAN);
    if (def->has_compliance) {
        put(w, body, "compliance", compliance_json(w, &def->compliance));
    }
    if (def->has_gravity) {
        put(w, body, "gravity", numbers(w, def->gravity, dimension));
    }
    if (!isnan(def->color[0]) && !isnan(def->color[1]) && !isnan(def->color[2])) {
        put(w, body, "color", numbers(w, def->color, 3));
    }
    if (def->has_surface_velocity) {
        put(w, body, "surface_velocity",
            values(w, def->surface_velocity, def->surface_velocity_text, dimension));
    }
    if (def->motion.type != PERP_MOTION_NONE) {
        put(w, body, "motion", motion_json(w, &def->motion));
    }
    if (def->support.given) {
        const vec3 offset = w->by_mass[index] ? made_of->offset : v3(0, 0, 0);
        put(w, body, "support", support_json(w, &def->support, offset));
    }
    if (def->collides_restricted) {
        put(w, body, "collides_with", names_json(w, def->collides_with, def->collides_with_count));
    }
    if (def->ignores_count > 0) {
        put(w, body, "ignores", names_json(w, def->ignores, def->ignores_count));
    }
    json_t* shapes = made(w, json_array());
    for (int32_t i = 0; i < def->shape_count; ++i) {
        double position[3];
        memcpy(position, def->shapes[i].position, sizeof position);
        if (w->by_mass[index]) {
            v3_to(w->model->shape[made_of->shape + i].local.x, position);
        }
        add(w, shapes, shape_json(w, &def->shapes[i], position));
    }
    put(w, body, "shapes", shapes);
    return body;
}

/* ---- joints, forces, controllers -------------------------------------------------------------------*/

static json_t* limit_json(double x)
{
    return isfinite(x) ? number(x) : json_null();
}

static json_t* motor_json(writer* w, const perp_motor_def* def)
{
    static const char* const types[] = {NULL, "position", "velocity", "effort"};
    json_t* motor = made(w, json_object());
    put_text(w, motor, "type", types[def->type]);
    put(w, motor, "target", value(def->target, def->target_text));
    put_number(w, motor, "max_effort", def->max_effort, INFINITY);
    return motor;
}

static void put_joint_points(writer* w, json_t* joint, const perp_joint_def* def,
                             const perpi_joint* made_of)
{
    const bool rope = def->type == PERP_JOINT_ROPE;
    if (def->has_at && !rope) {
        put(w, joint, "at", numbers(w, def->at, w->model->dimension));
        return;
    }
    double at[2][3];
    memcpy(at[0], def->at_a, sizeof at[0]);
    memcpy(at[1], def->at_b, sizeof at[1]);
    for (int side = 0; rope && def->has_at && side < 2; ++side) { /* a file gives both ends */
        v3_to(made_of->at[side], at[side]);
    }
    const char* const name[2] = {def->a, def->b};
    static const char* const key[2] = {"at_a", "at_b"};
    for (int side = 0; side < 2; ++side) {
        if (!rope || any(at[side], NULL, 3)) {
            put_point(w, joint, key[side], name[side], at[side]);
        }
    }
}

static json_t* joint_json(writer* w, size_t index)
{
    const perp_joint_def* def = &w->model->kept.joint[index];
    const int32_t dimension = w->model->dimension;
    json_t* joint = made(w, json_object());
    put_text(w, joint, "name", def->name);
    put_text(w, joint, "type", perp_joint_type_name(def->type));
    if (def->type == PERP_JOINT_GEAR) {
        json_t* joints = made(w, json_array());
        add(w, joints, json_string(def->joints[0]));
        add(w, joints, json_string(def->joints[1]));
        put(w, joint, "joints", joints);
        put_number(w, joint, "ratio", def->ratio, 1.0);
        put_number(w, joint, "offset", def->offset, NAN);
        put_number(w, joint, "stiffness", def->stiffness, 0.0);
        put_number(w, joint, "damping", def->damping, 0.0);
        if (isfinite(def->motor.max_effort)) {
            put_number(w, joint, "max_effort", def->motor.max_effort, NAN);
        }
        return joint;
    }
    put_text(w, joint, "a", def->a);
    put_text(w, joint, "b", def->b);
    put_joint_points(w, joint, def, &w->model->joint[index]);
    if (any(def->axis, NULL, dimension)) {
        put(w, joint, "axis", numbers(w, def->axis, dimension));
    }
    if (def->has_axis2 && dimension == 3) {
        put(w, joint, "axis2", numbers(w, def->axis2, dimension));
    }
    if (def->type == PERP_JOINT_ROPE) {
        put_number(w, joint, "length", def->length, NAN);
    }
    if (def->has_limits) {
        json_t* limits = made(w, json_array());
        add(w, limits, limit_json(def->limits[0]));
        add(w, limits, limit_json(def->limits[1]));
        put(w, joint, "limits", limits);
    }
    put_number(w, joint, "start", def->start, 0.0);
    put_number(w, joint, "friction", def->friction, 0.0);
    put_number(w, joint, "damping", def->damping, 0.0);
    put_number(w, joint, "armature", def->armature, 0.0);
    put_number(w, joint, "velocity_limit", def->velocity_limit, INFINITY);
    if (def->motor.type != PERP_MOTOR_NONE) {
        put(w, joint, "motor", motor_json(w, &def->motor));
    }
    put_flag(w, joint, "collide", def->collide, false);
    return joint;
}

static json_t* wrench_json(writer* w, const perp_wrench_def* def)
{
    const int32_t dimension = w->model->dimension;
    json_t* wrench = made(w, json_object());
    put_text(w, wrench, "type", "wrench");
    put_text(w, wrench, "body", def->body);
    if (any(def->force, def->force_text, dimension)) {
        put(w, wrench, "force", values(w, def->force, def->force_text, dimension));
    }
    if (any(def->torque, def->torque_text, 3)) {
        put(w, wrench, "torque",
            dimension == 2 ? value(def->torque[2], def->torque_text[2])
                           : values(w, def->torque, def->torque_text, 3));
    }
    if (any(def->at, NULL, dimension)) {
        put(w, wrench, "at", numbers(w, def->at, dimension));
    }
    if (def->body_frame) {
        put_text(w, wrench, "frame", "body");
    }
    return wrench;
}

static json_t* spring_json(writer* w, const perp_spring_def* def)
{
    json_t* spring = made(w, json_object());
    put_text(w, spring, "type", "spring");
    put_text(w, spring, "a", def->a);
    put_text(w, spring, "b", def->b);
    if (any(def->at_a, NULL, 3)) {
        put_point(w, spring, "at_a", def->a, def->at_a);
    }
    if (any(def->at_b, NULL, 3)) {
        put_point(w, spring, "at_b", def->b, def->at_b);
    }
    put(w, spring, "stiffness", number(def->stiffness));
    put_number(w, spring, "damping", def->damping, 0.0);
    put_number(w, spring, "rest", def->rest, NAN);
    put_flag(w, spring, "isotropic", def->isotropic, false);
    put_flag(w, spring, "implicit", def->implicit, true);
    return spring;
}

static json_t* drag_json(writer* w, const perp_drag_def* def)
{
    json_t* drag = made(w, json_object());
    put_text(w, drag, "type", "drag");
    put_text(w, drag, "body", def->body);
    put(w, drag, "linear", number(def->linear));
    put_number(w, drag, "angular", def->angular, 0.0);
    return drag;
}

static json_t* controller_json(writer* w, const perp_controller_def* def)
{
    json_t* controller = made(w, json_object());
    put_text(w, controller, "type", "pid");
    put_text(w, controller, "name", def->name);
    if (def->joint != NULL) {
        put_text(w, controller, "joint", def->joint);
    } else {
        put_text(w, controller, "body", def->body);
        put(w, controller, "axis", numbers(w, def->axis, w->model->dimension));
    }
    put_number(w, controller, "kp", def->kp, 0.0);
    put_number(w, controller, "ki", def->ki, 0.0);
    put_number(w, controller, "kd", def->kd, 0.0);
    if (def->trajectory != NULL) {
        json_t *trajectory = made(w, json_object()), *table = made(w, json_array());
        const int32_t columns = def->trajectory_columns;
        for (int32_t i = 0; i < def->trajectory_rows; ++i) {
            add(w, table, numbers(w, def->trajectory + (size_t)i * (size_t)columns, columns));
        }
        put(w, trajectory, "table", table);
        put_text(w, trajectory, "interpolation",
                 def->interpolation != NULL ? def->interpolation : "cubic");
        put(w, controller, "trajectory", trajectory);
    } else {
        put(w, controller, "target", value(def->target, def->target_text));
    }
    put_number(w, controller, "max_effort", def->max_effort, INFINITY);
    if (def->gravity) {
        put_text(w, controller, "feed_forward", "gravity");
    }
    return controller;
}

/* ---- the head --------------------------------------------------------------------------------------*/

static json_t* choice_json(writer* w, const char* name, const perp_option* option, int32_t count)
{
    if (count == 0) {
        return json_string(name);
    }
    json_t* choice = made(w, json_object());
    put_text(w, choice, "type", name);
    for (int32_t i = 0; i < count; ++i) {
        put(w, choice, option[i].name, number(option[i].value));
    }
    return choice;
}

static json_t* step_json(writer* w, const perp_scene_run* run)
{
    if (run->error == 0.0) {
        return number(run->step);
    }
    json_t* step = made(w, json_object());
    put(w, step, "error", number(run->error));
    put_number(w, step, "initial", run->step, NAN);
    put_number(w, step, "min", run->step_min, NAN);
    put_number(w, step, "max", run->step_max, NAN);
    return step;
}

static json_t* friction_json(writer* w, const perp_scene_run* run)
{
    static const char* const factor[3] = {"e_t", "e_o", "e_r"};
    const perp_model* model = w->model;
    json_t* friction = made(w, json_object());
    put_text(w, friction, "cone", run->cone);
    if (strcmp(run->cone, "polygon") == 0) {
        put(w, friction, "directions", json_integer(run->directions));
    }
    for (int i = 0; i < 3 && strcmp(run->cone, "ellipsoid") == 0; ++i) {
        put(w, friction, factor[i], number(run->e[i]));
    }
    put_number(w, friction, "default", model->friction_default, 0.0);
    json_t* pairs = made(w, json_array());
    for (size_t i = 0; i < model->kept.pair_count; ++i) {
        const perp_pair_def* def = &model->kept.pair[i];
        json_t* pair = made(w, json_object());
        put_text(w, pair, "a", def->a);
        put_text(w, pair, "b", def->b);
        put_number(w, pair, "mu", def->mu, NAN);
        if (def->directions != 0) {
            put(w, pair, "directions", json_integer(def->directions));
        }
        if (def->has_restitution) {
            put(w, pair, "restitution", number(def->restitution));
        }
        add(w, pairs, pair);
    }
    put(w, friction, "pairs", pairs);
    return friction;
}

static void put_head(writer* w, json_t* root, const perp_scene_run* run, int32_t record_every)
{
    const perp_model* model = w->model;
    double gravity[3];
    v3_to(model->gravity, gravity);
    put_text(w, root, "name", model->name[0] != '\0' ? model->name : "model");
    put_text(w, root, "description", model->kept.description);
    put(w, root, "dimension", json_integer(model->dimension));
    put(w, root, "gravity", numbers(w, gravity, model->dimension));
    put(w, root, "step", step_json(w, run));
    put(w, root, "duration", number(run->duration));
    put(w, root, "stepper",
        choice_json(w, run->stepper, run->stepper_option, run->stepper_option_count));
    if (run->single_primary) {
        put(w, root, "contact", json_pack("{s:s, s:b}", "type", run->contact, "single_primary", 1));
    } else {
        put_text(w, root, "contact", run->contact);
    }
    put(w, root, "solver",
        choice_json(w, run->solver, run->solver_option, run->solver_option_count));
    put(w, root, "friction", friction_json(w, run));
    if (model->restitution_default != 0.0 || model->impact_law != PERP_IMPACT_NEWTON) {
        json_t* restitution = made(w, json_object());
        put_text(w, restitution, "law",
                 model->impact_law == PERP_IMPACT_POISSON ? "poisson" : "newton");
        put(w, restitution, "e", number(model->restitution_default));
        put(w, root, "restitution", restitution);
    }
    put_number(w, root, "margin", run->margin, NAN);
    put_number(w, root, "tolerance", run->tolerance, 1e-8);
    put_flag(w, root, "allow_overlap", run->allow_overlap, false);
    put_flag(w, root, "joint_correction", run->joint_correction, false);
    if (model->joint_count > 0) {
        put_text(w, root, "joint_direction",
                 run->joint_middle   ? "middle"
                 : run->joint_choice ? "auto"
                                     : "start");
    }
    perp_sim_def choice = *run;
    choice.rolling_middle = false;
    choice.rolling_choice = true;
    if (run->rolling_middle || perp_rolling_choose(model, &choice).middle) {
        put_text(w, root, "contact_direction",
                 run->rolling_middle   ? "middle"
                 : run->rolling_choice ? "auto"
                                       : "start");
    }
    if (run->linear_rotation) {
        put_text(w, root, "rotation", "linear");
    }
    if (record_every != 1) {
        put(w, root, "record", json_pack("{s:i}", "every", (int)record_every));
    }
}

static void put_list(writer* w, json_t* root, const char* key, json_t* list)
{
    if (json_array_size(list) > 0) {
        put(w, root, key, list);
    } else {
        json_decref(list);
    }
}

static void put_items(writer* w, json_t* root)
{
    const perp_model* model = w->model;
    const perpi_kept* kept = &model->kept;
    json_t* bodies = made(w, json_array());
    json_t* joints = made(w, json_array());
    json_t* forces = made(w, json_array());
    json_t* controllers = made(w, json_array());
    for (size_t i = 0; i < model->body_count; ++i) {
        add(w, bodies, body_json(w, (int32_t)i));
    }
    for (size_t i = 0; i < model->joint_count; ++i) {
        add(w, joints, joint_json(w, i));
    }
    for (size_t i = 0; i < model->wrench_count; ++i) {
        add(w, forces, wrench_json(w, &kept->wrench[i]));
    }
    for (size_t i = 0; i < model->spring_count; ++i) {
        add(w, forces, spring_json(w, &kept->spring[i]));
    }
    for (size_t i = 0; i < kept->drag_count; ++i) {
        add(w, forces, drag_json(w, &kept->drag[i]));
    }
    for (size_t i = 0; i < model->controller_count; ++i) {
        add(w, controllers, controller_json(w, &kept->controller[i]));
    }
    put(w, root, "bodies", bodies);
    put_list(w, root, "joints", joints);
    put_list(w, root, "forces", forces);
    put_list(w, root, "controllers", controllers);
}

/* Numbers of the model have become numbers; parameters are kept for measures and stops. */
static void put_measures(writer* w, json_t* root, const perp_scene_run* run)
{
    json_t* parameters = made(w, json_object());
    for (int32_t i = 0; i < run->parameter_count; ++i) {
        put(w, parameters, run->parameter[i].name, number(run->parameter[i].value));
    }
    json_t* measures = made(w, json_object());
    for (int32_t i = 0; i < run->measure_count; ++i) {
        const perp_measure_def* m = &run->measure[i];
        if (m->kind == PERP_MEASURE_END) {
            put(w, measures, m->name, json_string(m->expression));
            continue;
        }
        json_t* measure = made(w, json_object());
        put(w, measure, perp_measure_kind_name(m->kind), json_string(m->expression));
        if (m->over > 0.0) {
            put(w, measure, "over", number(m->over));
        }
        if (m->every > 0.0) {
            put(w, measure, "every", number(m->every));
        }
        put(w, measures, m->name, measure);
    }
    json_t* stops = made(w, json_array());
    for (int32_t i = 0; i < run->stop_count; ++i) {
        add(w, stops,
            json_pack("{s:s, s:s}", "name", run->stop[i].name, "when", run->stop[i].when));
    }
    put_list(w, root, "stop", stops);
    if (run->measure_count > 0) {
        put(w, root, "measures", json_incref(measures));
    }
    if (run->parameter_count > 0) {
        put(w, root, "parameters", json_incref(parameters));
    }
    json_decref(measures);
    json_decref(parameters);
}

perp_status perpi_scene_tree(perp_context* context, const perp_model* model,
                             const perp_scene_run* run, int32_t record_every, json_t** tree)
{
    writer w = {.model = model};
    PERPI_TRY(perpi_alloc(context, model->body_count + 1, sizeof *w.by_mass, &w.by_mass));
    choose_by_mass(&w);
    json_t* root = json_object();
    w.failed = root == NULL;
    put_head(&w, root, run, record_every);
    put_items(&w, root);
    put_measures(&w, root, run);
    perpi_free(context, w.by_mass);
    if (w.failed) {
        json_decref(root);
        return perpi_fail(
            context, PERP_ERROR_INPUT,
            "model: cannot be written: a name or expression is not UTF-8, a number is "
            "not finite, or there is no memory");
    }
    *tree = root;
    return PERP_OK;
}
