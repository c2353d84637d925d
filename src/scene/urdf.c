/* src/scene/urdf.c - from a robot's links and joints to a scene. See urdf.h.
 *
 * Every link becomes a body with the link's axes; its frame in the scene is that of joint
 * coordinates 0 (or the limit nearest to 0). Links connected by fixed joints are rigid groups:
 * - the root's group is part of the world, unless the robot floats: static bodies, or none if it
 *   has no shapes;
 * - in the others the shapes of a link without mass belong to the nearest link with mass.
 */
#include "scene/urdf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "model/balance.h"
#include "model/mass.h"
#include "scene/package.h"
#include "scene/reader.h"
#include "shape/mesh_file.h"

/* The body of a link. */
typedef struct place {
    perpi_pose pose; /* of the link's frame, world */
    int32_t group;   /* the link at the top of its rigid group */
    int32_t host;    /* the link whose body has its shapes; -1: the world itself */
    bool is_static;
    int32_t parent; /* host of the parent in the joint tree; -1: none or the world */
    json_t* shapes; /* borrowed from its body */
} place;

typedef struct writer {
    perp_context* context;
    perpi_arena* arena;
    const char* origin;
    const perp_urdf_options* options;
    perpi_urdf* robot;
    perpi_notices notices;
    place* place;
    double* start; /* coordinate of each joint */
    json_t *bodies, *joints;
    char unread[300];   /* meshes of kinds that cannot be read */
    char missing[300];  /* meshes for drawing that were not found */
    char balanced[500]; /* links whose inertia was balanced, and by how much */
    char massless[300], inertialess[300];
    char locked[300];        /* joints that cannot move */
    double lowest;           /* height of the lowest point that collides */
    int32_t pictures, hulls; /* number of collision meshes that do not collide, or collide as
                              * their hull */
    int32_t moved, plain_planar;
} writer;

static perp_status fail(const writer* w, int32_t line, const char* format, ...) PERP_PRINTF(3, 4);

static perp_status fail(const writer* w, int32_t line, const char* format, ...)
{
    char message[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return perpi_fail(w->context, PERP_ERROR_INPUT, "%s: line %d: %s", w->origin, (int)line,
                      message);
}

static perp_status out_of_memory(const writer* w)
{
    return perpi_fail(w->context, PERP_ERROR_MEMORY, "%s: out of memory", w->origin);
}

static void append_text(char* list, size_t size, const char* text)
{
    const size_t used = strlen(list);
    if (used + strlen(text) + 6 < size) {
        snprintf(list + used, size - used, "%s%s", used > 0 ? ", " : "", text);
    } else if (used + 5 < size && (used < 3 || strcmp(list + used - 3, "...") != 0)) {
        snprintf(list + used, size - used, ", ...");
    }
}

/* ---- poses of the links ------------------------------------------------------------------------- */

static perpi_pose joint_motion(const perpi_urdf_joint* joint, double coordinate)
{
    perpi_pose pose = {v3(0, 0, 0), q4_identity(), m3_identity()};
    if (joint->type == PERPI_URDF_PRISMATIC) {
        pose.x = v3_scale(coordinate, joint->axis);
    } else if (joint->type == PERPI_URDF_REVOLUTE || joint->type == PERPI_URDF_CONTINUOUS) {
        pose.q = q4_exp(v3_scale(coordinate, joint->axis));
        pose.R = q4_matrix(pose.q);
    }
    return pose;
}

/* 0, or the limit nearest to it; of a joint that follows another one, what that gives. */
static void choose_start(writer* w, int32_t index)
{
    perpi_urdf_joint* joint = &w->robot->joint[index];
    double start = 0.0;
    if (joint->master >= 0) {
        choose_start(w, joint->master); /* the reader has refused loops */
        start = joint->multiplier * w->start[joint->master] + joint->offset;
        if (joint->has_limits) {
            joint->lower = start < joint->lower ? start : joint->lower;
            joint->upper = start > joint->upper ? start : joint->upper;
        }
    } else if (joint->has_limits) {
        start = joint->lower > 0.0 ? joint->lower : joint->upper < 0.0 ? joint->upper : 0.0;
    }
    w->start[index] = start;
}

static void place_links(writer* w)
{
    const perpi_urdf* robot = w->robot;
    for (int32_t j = 0; j < robot->joint_count; ++j) {
        choose_start(w, j);
        w->moved += w->start[j] != 0.0 && robot->joint[j].master < 0 ? 1 : 0;
    }
    for (int32_t k = 0; k < robot->link_count; ++k) {
        const int32_t i = robot->order[k];
        place* p = &w->place[i];
        *p = (place){.group = i, .host = i, .parent = -1};
        p->pose = (perpi_pose){v3(0, 0, 0), q4_identity(), m3_identity()};
        const int32_t j = robot->link[i].joint;
        if (j < 0) {
            p->is_static = !w->options->floating;
            continue;
        }
        const perpi_urdf_joint* joint = &robot->joint[j];
        const place* parent = &w->place[joint->parent];
        const perpi_pose motion = joint_motion(joint, w->start[j]);
        const perpi_pose zero = perpi_pose_mul(&parent->pose, &joint->origin);
        p->pose = perpi_pose_mul(&zero, &motion);
        if (joint->type == PERPI_URDF_FIXED) {
            p->group = parent->group;
            p->is_static = parent->is_static;
        }
    }
}

static bool massive(const writer* w, int32_t link)
{
    return w->robot->link[link].mass > 0.0;
}

/* A length of the robot, for links that say nothing about their size. */
static double robot_length(const perpi_urdf* robot)
{
    double length = 0.0;
    for (int32_t i = 0; i < robot->joint_count; ++i) {
        const double d = v3_norm(robot->joint[i].origin.x);
        length = d > length ? d : length;
    }
    for (int32_t i = 0; i < robot->link_count; ++i) {
        for (const perpi_urdf_part* p = robot->link[i].part; p != NULL; p = p->next) {
            const double d = p->radius + p->length + p->size[0] + p->size[1] + p->size[2];
            length = d > length ? d : length;
        }
    }
    return length > 0.0 ? length : 1.0;
}

/* A link that moves has a mass and an inertia; what the file lacks is small against the rest of the
 * robot. Relative to its smallest mass, and to its length: */
static const double SMALL_MASS = 1e-3;
static const double SMALL_RADIUS = 0.05;

static void give_sphere_inertia(const perpi_urdf* robot, perpi_urdf_link* link)
{
    const double r = SMALL_RADIUS * robot_length(robot), I = 0.4 * link->mass * r * r;
    link->inertia = (mat3){{{I, 0, 0}, {0, I, 0}, {0, 0, I}}};
}

static void give_mass(writer* w, int32_t index)
{
    perpi_urdf* robot = w->robot;
    perpi_urdf_link* link = &robot->link[index];
    double least = INFINITY;
    for (int32_t i = 0; i < robot->link_count; ++i) {
        const double m = robot->link[i].mass;
        least = m > 0.0 && m < least ? m : least;
    }
    link->mass = SMALL_MASS * (isfinite(least) ? least : 1.0);
    link->mass_line = link->line;
    give_sphere_inertia(robot, link);
    char item[300];
    snprintf(item, sizeof item, "%.200s %.3g", link->name, link->mass);
    append_text(w->massless, sizeof w->massless, item);
}

/* An inertia that a body can have. */
static perp_status balance_link(writer* w, perpi_urdf_link* link)
{
    const double(*m)[3] = link->inertia.m;
    if (m[0][0] == 0.0 && m[1][1] == 0.0 && m[2][2] == 0.0 && m[0][1] == 0.0 && m[0][2] == 0.0 &&
        m[1][2] == 0.0) {
        give_sphere_inertia(w->robot, link);
        append_text(w->inertialess, sizeof w->inertialess, link->name);
        return PERP_OK;
    }
    const double change = perpi_check_inertia(w->context, 3, link->inertia) == PERP_OK
                              ? 0.0
                              : perpi_balance_inertia(&link->inertia);
    if (change > 0.0) {
        char item[300];
        snprintf(item, sizeof item, "%.200s %.2g %%", link->name, 100.0 * change);
        append_text(w->balanced, sizeof w->balanced, item);
    }
    const perp_status status = perpi_check_inertia(w->context, 3, link->inertia);
    if (status != PERP_OK) {
        char message[400];
        snprintf(message, sizeof message, "%s", perp_context_error(w->context));
        return fail(w, link->mass_line, "link '%s': %s", link->name, message);
    }
    return PERP_OK;
}

static perp_status find_hosts(writer* w)
{
    perpi_urdf* robot = w->robot;
    int32_t* first = NULL; /* massive link of each group */
    PERPI_TRY(perpi_arena_take(w->arena, (size_t)robot->link_count, sizeof *first, &first));
    for (int32_t i = 0; i < robot->link_count; ++i) {
        first[i] = -1;
    }
    for (int32_t k = 0; k < robot->link_count; ++k) {
        const int32_t i = robot->order[k], group = w->place[i].group;
        first[group] = first[group] < 0 && massive(w, i) ? i : first[group];
    }
    for (int32_t k = 0; k < robot->link_count; ++k) {
        const int32_t i = robot->order[k];
        place* p = &w->place[i];
        perpi_urdf_link* link = &robot->link[i];
        if (p->is_static) {
            p->host = link->part != NULL ? i : -1;
            continue;
        }
        if (massive(w, i)) {
            PERPI_TRY(balance_link(w, link));
            continue;
        }
        const int32_t j = link->joint;
        const bool fixed = j >= 0 && robot->joint[j].type == PERPI_URDF_FIXED;
        p->host = fixed && w->place[robot->joint[j].parent].host >= 0
                      ? w->place[robot->joint[j].parent].host
                      : first[p->group];
        if (p->host < 0) { /* nothing that is fixed to it has a mass */
            give_mass(w, i);
            p->host = first[p->group] = i;
        }
    }
    return PERP_OK;
}

/* ---- meshes ------------------------------------------------------------------------------------- */

static void lower_to(writer* w, double z)
{
    w->lowest = z < w->lowest ? z : w->lowest;
}

/* *shape stays NULL if the mesh is of a kind that is left out. */
static perp_status mesh_json(writer* w, const perpi_urdf_part* part, const perpi_pose* world,
                             json_t** shape)
{
    perpi_mesh_format format;
    if (perpi_mesh_format_of(w->context, part->file, &format) != PERP_OK) {
        append_text(w->unread, sizeof w->unread, part->file);
        return PERP_OK;
    }
    char* path = perpi_package_find(w->origin, w->options->package, part->file);
    if (path == NULL && part->visual) {
        append_text(w->missing, sizeof w->missing, part->file);
        return PERP_OK;
    }
    if (path == NULL) {
        const bool package = perpi_package_named(part->file);
        return fail(w, part->line, "<mesh> filename: '%s' was not found%s", part->file,
                    package ? "; say where the package is: --package DIR, or set ROS_PACKAGE_PATH"
                            : "");
    }
    perpi_urdf_probe probe = {.how = PERPI_URDF_MESH_NONE, .reach = -INFINITY};
    perp_status status = PERP_OK;
    if (!part->visual) {
        const vec3 down = m3_tmul(world->R, v3(0, 0, -1));
        status = perpi_urdf_probe_mesh(w->context, path, part->scale, w->options->decompose, down,
                                       &probe);
        lower_to(w, world->x.z - probe.reach);
    }
    const perpi_urdf_mesh how = probe.how;
    json_t* hull = probe.hull;
    if (status == PERP_ERROR_INPUT) {
        char message[900];
        snprintf(message, sizeof message, "%s", perp_context_error(w->context));
        status = fail(w, part->line, "<mesh> filename: %s", message);
    } else if (hull != NULL) {
        *shape = json_pack("{s:s, s:o}", "type", "polyhedron", "vertices", hull);
    } else if (status == PERP_OK) {
        *shape = json_pack("{s:s, s:s, s:s, s:[f, f, f]}", "type", "mesh", "file", path, "source",
                           part->file, "scale", part->scale[0], part->scale[1], part->scale[2]);
    }
    free(path);
    if (status != PERP_OK) {
        return status;
    }
    if (*shape == NULL) {
        return fail(w, part->line, "<mesh> filename: cannot be written: its path is not UTF-8");
    }
    if (how == PERPI_URDF_MESH_PIECES &&
        json_object_set_new(*shape, "decompose", json_true()) != 0) {
        return out_of_memory(w);
    }
    if (how == PERPI_URDF_MESH_NONE && json_object_set_new(*shape, "visual", json_true()) != 0) {
        return out_of_memory(w);
    }
    w->pictures += !part->visual && how == PERPI_URDF_MESH_NONE;
    w->hulls += how == PERPI_URDF_MESH_HULL;
    return PERP_OK;
}

/* ---- bodies ------------------------------------------------------------------------------------- */

static json_t* vector(vec3 a)
{
    return json_pack("[f, f, f]", a.x + 0.0, a.y + 0.0, a.z + 0.0); /* no -0 */
}

static bool is_identity(quat q)
{
    return q.x == 0.0 && q.y == 0.0 && q.z == 0.0;
}

static int set_pose(json_t* object, vec3 x, quat q)
{
    int failed = 0;
    if (x.x != 0.0 || x.y != 0.0 || x.z != 0.0) {
        failed |= json_object_set_new(object, "position", vector(x));
    }
    if (!is_identity(q)) {
        failed |= json_object_set_new(
            object, "orientation",
            json_pack("[f, f, f, f]", q.w + 0.0, q.x + 0.0, q.y + 0.0, q.z + 0.0));
    }
    return failed;
}

/* How far a box, sphere, cylinder or capsule extends downwards from its centre. */
static double depth_of(const perpi_urdf_part* part, const mat3* R)
{
    const double axis = fabs(R->m[2][2]);
    double depth = part->type == PERP_SHAPE_CYLINDER
                       ? part->radius * sqrt(1.0 - axis * axis > 0.0 ? 1.0 - axis * axis : 0.0)
                       : part->radius;
    depth += 0.5 * part->length * axis;
    for (int i = 0; i < 3; ++i) {
        depth += 0.5 * part->size[i] * fabs(R->m[2][i]);
    }
    return depth;
}

static perp_status shape_json(writer* w, const perpi_urdf_part* part, const perpi_pose* world,
                              json_t** shape)
{
    const char* name = perp_shape_name(part->type);
    if (part->type == PERP_SHAPE_MESH) {
        return mesh_json(w, part, world, shape);
    }
    if (!part->visual) {
        lower_to(w, world->x.z - depth_of(part, &world->R));
    }
    *shape = part->type == PERP_SHAPE_BOX ? json_pack("{s:s, s:[f, f, f]}", "type", name, "size",
                                                      part->size[0], part->size[1], part->size[2])
             : part->type == PERP_SHAPE_SPHERE
                 ? json_pack("{s:s, s:f}", "type", name, "radius", part->radius)
                 : json_pack("{s:s, s:f, s:f}", "type", name, "radius", part->radius, "length",
                             part->length);
    return *shape != NULL ? PERP_OK : out_of_memory(w);
}

static bool same_part(const perpi_urdf_part* a, const perpi_urdf_part* b)
{
    return a->type == b->type && a->type != PERP_SHAPE_MESH && a->radius == b->radius &&
           a->length == b->length && memcmp(a->size, b->size, sizeof a->size) == 0 &&
           memcmp(&a->pose, &b->pose, sizeof a->pose) == 0;
}

/* A visual shape equal to a collision shape is not repeated. */
static bool shown_already(const perpi_urdf_link* link, const perpi_urdf_part* part)
{
    for (const perpi_urdf_part* p = link->part; p != NULL; p = p->next) {
        if (!p->visual && same_part(p, part)) {
            return true;
        }
    }
    return false;
}

/* Shapes of a body are placed relative to the centre of mass, those of a static body to the
 * link. */
static vec3 center_of(const writer* w, int32_t host)
{
    return w->place[host].is_static ? v3(0, 0, 0) : w->robot->link[host].center;
}

static perp_status write_shapes(writer* w, int32_t index)
{
    const perpi_urdf_link* link = &w->robot->link[index];
    const int32_t host = w->place[index].host;
    const perpi_pose* to = &w->place[host].pose;
    const quat back = q4_conj(to->q);
    for (const perpi_urdf_part* part = link->part; part != NULL; part = part->next) {
        if (part->visual && shown_already(link, part)) {
            continue;
        }
        json_t* shape = NULL;
        const perpi_pose world = perpi_pose_mul(&w->place[index].pose, &part->pose);
        PERPI_TRY(shape_json(w, part, &world, &shape));
        if (shape == NULL) {
            continue;
        }
        perpi_pose in = part->pose; /* in the host's frame */
        if (host != index) {
            in.x = m3_tmul(to->R, v3_sub(world.x, to->x));
            in.q = q4_mul(back, world.q);
        }
        int failed = set_pose(shape, v3_sub(in.x, center_of(w, host)), in.q);
        if (part->visual) {
            failed |= json_object_set_new(shape, "visual", json_true());
        }
        failed |= json_array_append_new(w->place[host].shapes, shape);
        if (failed != 0) {
            return out_of_memory(w);
        }
    }
    return PERP_OK;
}

static const char* body_name(const perpi_urdf_link* link)
{
    return strcmp(link->name, "world") == 0 ? "world-link" : link->name;
}

static perp_status write_body(writer* w, int32_t index)
{
    const perpi_urdf_link* link = &w->robot->link[index];
    place* p = &w->place[index];
    if (p->host != index) {
        return PERP_OK;
    }
    json_t* body = json_pack("{s:s}", "name", body_name(link));
    if (body == NULL || json_array_append_new(w->bodies, body) != 0) {
        return out_of_memory(w);
    }
    int failed = 0;
    if (p->is_static) {
        failed |= json_object_set_new(body, "type", json_string("static"));
        failed |= set_pose(body, p->pose.x, p->pose.q);
    } else {
        const double(*m)[3] = link->inertia.m;
        failed |= json_object_set_new(body, "mass", json_real(link->mass));
        failed |= json_object_set_new(body, "inertia",
                                      json_pack("[[f, f, f], [f, f, f], [f, f, f]]", m[0][0],
                                                m[0][1], m[0][2], m[1][0], m[1][1], m[1][2],
                                                m[2][0], m[2][1], m[2][2]));
        failed |= set_pose(body, perpi_pose_point(&p->pose, link->center), p->pose.q);
    }
    if (link->has_color) {
        failed |= json_object_set_new(
            body, "color", json_pack("[f, f, f]", link->color[0], link->color[1], link->color[2]));
    }
    p->shapes = json_array();
    failed |= json_object_set_new(body, "shapes", p->shapes);
    return failed == 0 ? PERP_OK : out_of_memory(w);
}

/* ---- joints ------------------------------------------------------------------------------------- */

static perp_status write_joint(writer* w, int32_t index)
{
    static const char* const types[] = {"revolute", "revolute", "prismatic",
                                        "fixed",    NULL,       "planar"};
    const perpi_urdf_joint* joint = &w->robot->joint[index];
    const place *parent = &w->place[joint->parent], *child = &w->place[joint->child];
    const int32_t a = parent->host, b = child->host;
    if (types[joint->type] == NULL || child->is_static || a == b) {
        return PERP_OK;
    }
    w->place[b].parent = a;
    json_t* j = json_pack("{s:s, s:s, s:s, s:s, s:o}", "name", joint->name, "type",
                          types[joint->type], "a", a >= 0 ? body_name(&w->robot->link[a]) : "world",
                          "b", body_name(&w->robot->link[b]), "at", vector(child->pose.x));
    if (j == NULL || json_array_append_new(w->joints, j) != 0) {
        return out_of_memory(w);
    }
    int failed = 0;
    if (joint->type != PERPI_URDF_FIXED) {
        failed |= json_object_set_new(j, "axis", vector(m3_mul(child->pose.R, joint->axis)));
    }
    if (w->start[index] != 0.0) {
        failed |= json_object_set_new(j, "start", json_real(w->start[index]));
    }
    if (joint->has_limits && (isfinite(joint->lower) || isfinite(joint->upper))) {
        json_t* limits = json_array();
        const double end[2] = {joint->lower, joint->upper};
        for (int i = 0; i < 2; ++i) {
            failed |=
                json_array_append_new(limits, isfinite(end[i]) ? json_real(end[i]) : json_null());
        }
        failed |= json_object_set_new(j, "limits", limits);
    }
    if (joint->has_limits && joint->lower == joint->upper) {
        append_text(w->locked, sizeof w->locked, joint->name);
    }
    const bool one_degree = joint->type != PERPI_URDF_FIXED && joint->type != PERPI_URDF_PLANAR;
    if (one_degree && joint->damping > 0.0) {
        failed |= json_object_set_new(j, "damping", json_real(joint->damping));
    }
    if (one_degree && joint->friction > 0.0) {
        failed |= json_object_set_new(j, "friction", json_real(joint->friction));
    }
    if (one_degree && joint->velocity > 0.0) {
        failed |= json_object_set_new(j, "velocity_limit", json_real(joint->velocity));
    }
    if (one_degree && joint->effort > 0.0) {
        failed |= json_object_set_new(j, "motor",
                                      json_pack("{s:s, s:i, s:f}", "type", "effort", "target", 0,
                                                "max_effort", joint->effort));
    }
    w->plain_planar +=
        joint->type == PERPI_URDF_PLANAR && (joint->damping > 0 || joint->friction > 0);
    return failed == 0 ? PERP_OK : out_of_memory(w);
}

/* <mimic> */
static perp_status write_gears(writer* w)
{
    for (int32_t i = 0; i < w->robot->joint_count; ++i) {
        const perpi_urdf_joint* joint = &w->robot->joint[i];
        if (joint->master < 0 || w->place[joint->child].is_static) {
            continue;
        }
        const perpi_urdf_joint* master = &w->robot->joint[joint->master];
        char name[300];
        snprintf(name, sizeof name, "%.200s-mimic", joint->name);
        json_t* gear = json_pack("{s:s, s:s, s:[s, s], s:f, s:f}", "name", name, "type", "gear",
                                 "joints", master->name, joint->name, "ratio", joint->multiplier,
                                 "offset", joint->offset);
        if (gear == NULL || json_array_append_new(w->joints, gear) != 0) {
            return out_of_memory(w);
        }
    }
    return PERP_OK;
}

/* ---- excluded collisions ------------------------------------------------------------------------ */

static bool collides(const json_t* shape)
{
    return !json_is_true(json_object_get(shape, "visual"));
}

/* Whether both have shapes that collide. */
static bool could_touch(const place* a, const place* b)
{
    bool any = false;
    for (size_t i = 0; i < json_array_size(a->shapes); ++i) {
        for (size_t k = 0; k < json_array_size(b->shapes); ++k) {
            const json_t *x = json_array_get(a->shapes, i), *y = json_array_get(b->shapes, k);
            any = any || (collides(x) && collides(y));
        }
    }
    return any;
}

/* The parent group of a group, -1 for the root's. */
static int32_t group_above(const writer* w, int32_t group)
{
    const int32_t j = w->robot->link[group].joint;
    return j >= 0 ? w->place[w->robot->joint[j].parent].group : -1;
}

/* Bodies of one rigid group, and of groups that a joint connects, never collide; a joint between
 * two bodies already excludes them. */
static perp_status write_ignores(writer* w)
{
    size_t at = 0;
    for (int32_t i = 0; i < w->robot->link_count; ++i) {
        const place* p = &w->place[i];
        if (p->host != i) {
            continue;
        }
        json_t* body = json_array_get(w->bodies, at++);
        json_t* list = json_array();
        int failed = list == NULL;
        for (int32_t k = 0; k < i && failed == 0; ++k) {
            const place* q = &w->place[k];
            if (q->host != k || (p->is_static && q->is_static) || p->parent == k ||
                q->parent == i || !could_touch(p, q)) {
                continue;
            }
            const bool near = p->group == q->group || group_above(w, p->group) == q->group ||
                              group_above(w, q->group) == p->group;
            if (near || w->options->no_self_collision) {
                failed |= json_array_append_new(list, json_string(body_name(&w->robot->link[k])));
            }
        }
        failed |=
            failed == 0 && json_array_size(list) > 0 ? json_object_set(body, "ignores", list) : 0;
        json_decref(list);
        if (failed != 0) {
            return out_of_memory(w);
        }
    }
    return PERP_OK;
}

/* ---- the scene ---------------------------------------------------------------------------------- */

static perp_status add_notices(writer* w)
{
    const perpi_urdf* robot = w->robot;
    perpi_notices* n = &w->notices;
    if (w->balanced[0] != '\0') {
        PERPI_TRY(perpi_notice_add(
            n, "inertia that no body has (triangle inequality) was balanced, which changes it: %s",
            w->balanced));
    }
    if (w->massless[0] != '\0') {
        PERPI_TRY(perpi_notice_add(n, "links that move and have no mass are given a small one: %s",
                                   w->massless));
    }
    if (w->inertialess[0] != '\0') {
        PERPI_TRY(perpi_notice_add(
            n, "links without inertia are given that of a sphere of radius %.3g: %s",
            SMALL_RADIUS * robot_length(robot), w->inertialess));
    }
    if (robot->skipped[0] != '\0') {
        PERPI_TRY(perpi_notice_add(n, "not read: %s", robot->skipped));
    }
    if (w->unread[0] != '\0') {
        PERPI_TRY(perpi_notice_add(
            n, "meshes left out, since only .poly, .stl, .obj and .dae can be read: %s",
            w->unread));
    }
    if (w->missing[0] != '\0') {
        PERPI_TRY(perpi_notice_add(n, "meshes for drawing that were not found: %s", w->missing));
    }
    if (w->hulls > 0) {
        PERPI_TRY(
            perpi_notice_add(n,
                             "%d collision meshes are not convex (or not closed): their "
                             "convex hulls collide instead; --decompose cuts closed ones into "
                             "convex pieces",
                             (int)w->hulls));
    }
    if (w->pictures > 0) {
        PERPI_TRY(perpi_notice_add(
            n, "%d collision meshes have no volume, or too many vertices, and do not collide",
            (int)w->pictures));
    }
    if (w->locked[0] != '\0') {
        PERPI_TRY(perpi_notice_add(n, "joints that cannot move (lower is upper): %s", w->locked));
    }
    if (w->moved > 0) {
        PERPI_TRY(perpi_notice_add(
            n, "%d joints cannot be at 0 and start at the limit nearest to it", (int)w->moved));
    }
    if (w->plain_planar > 0) {
        PERPI_TRY(perpi_notice_add(n, "friction and damping of planar joints are not simulated"));
    }
    return PERP_OK;
}

static perp_status check_names(const writer* w)
{
    for (int32_t i = 0; i < w->robot->link_count; ++i) {
        const perpi_urdf_link* link = &w->robot->link[i];
        if (strcmp(link->name, "world") == 0 && !w->place[i].is_static) {
            return fail(w, link->line,
                        "a link named 'world' stands for the world and cannot move: it must be the "
                        "root of a robot that does not float");
        }
    }
    return PERP_OK;
}

/* A plane below the robot. */
static perp_status write_floor(writer* w)
{
    bool taken = false;
    for (int32_t i = 0; i < w->robot->link_count; ++i) {
        taken = taken || strcmp(w->robot->link[i].name, "floor") == 0;
        if (!isfinite(w->lowest)) {
            lower_to(w, w->place[i].pose.x.z);
        }
    }
    /* not quite touching: rounding must not make it an overlap */
    const double z = w->lowest - 1e-9 * robot_length(w->robot);
    json_t* floor = json_pack("{s:s, s:s, s:[f, f, f], s:[{s:s, s:[f, f, f]}]}", "name",
                              taken ? "floor-plane" : "floor", "type", "static", "position", 0.0,
                              0.0, z, "shapes", "type", "plane", "normal", 0.0, 0.0, 1.0);
    return floor != NULL && json_array_append_new(w->bodies, floor) == 0 ? PERP_OK
                                                                         : out_of_memory(w);
}

static perp_status write_robot(writer* w)
{
    const perpi_urdf* robot = w->robot;
    w->lowest = INFINITY;
    place_links(w);
    PERPI_TRY(check_names(w));
    PERPI_TRY(find_hosts(w));
    for (int32_t i = 0; i < robot->link_count; ++i) {
        PERPI_TRY(write_body(w, i));
    }
    if (json_array_size(w->bodies) == 0) {
        return fail(w, robot->line,
                    "nothing to simulate: no link moves, and none has a shape (--floating lets the "
                    "root move)");
    }
    for (int32_t i = 0; i < robot->link_count; ++i) {
        if (w->place[i].host >= 0) {
            PERPI_TRY(write_shapes(w, i));
        }
    }
    for (int32_t i = 0; i < robot->joint_count; ++i) {
        PERPI_TRY(write_joint(w, i));
    }
    PERPI_TRY(write_gears(w));
    PERPI_TRY(write_ignores(w));
    if (w->options->floor) {
        PERPI_TRY(write_floor(w));
    }
    return add_notices(w);
}

static perp_status scene_of(writer* w, json_t* scene)
{
    const size_t links = (size_t)w->robot->link_count, joints = (size_t)w->robot->joint_count;
    PERPI_TRY(perpi_arena_take(w->arena, links, sizeof *w->place, &w->place));
    PERPI_TRY(perpi_arena_take(w->arena, joints + 1, sizeof *w->start, &w->start));
    memset(w->start, 0, (joints + 1) * sizeof *w->start);
    w->bodies = json_array();
    w->joints = json_array();
    const int failed = json_object_set_new(scene, "name", json_string(w->robot->name)) |
                       json_object_set_new(scene, "gravity", json_pack("[i, i, f]", 0, 0, -9.81)) |
                       json_object_set_new(scene, "step", json_real(0.005)) |
                       json_object_set_new(scene, "duration", json_real(2.0)) |
                       json_object_set_new(scene, "friction", json_pack("{s:f}", "default", 0.5)) |
                       json_object_set_new(scene, "bodies", w->bodies) |
                       json_object_set_new(scene, "joints", w->joints);
    if (failed != 0) {
        return out_of_memory(w);
    }
    return write_robot(w);
}

perp_status perpi_urdf_scene(perp_context* context, const char* text, size_t length,
                             const char* origin, const perp_urdf_options* options,
                             perpi_notices* notices, json_t** root)
{
    perpi_arena arena;
    perpi_arena_init(&arena, context);
    perpi_urdf robot;
    json_t* scene = NULL;
    perp_status status = perpi_urdf_read(context, text, length, origin, &arena, &robot);
    if (status == PERP_OK) {
        writer w = {.context = context,
                    .arena = &arena,
                    .origin = origin,
                    .options = options,
                    .robot = &robot,
                    .notices = *notices};
        scene = json_object();
        status = scene != NULL ? scene_of(&w, scene) : out_of_memory(&w);
        *notices = w.notices;
    }
    perpi_arena_free(&arena);
    if (status != PERP_OK) {
        json_decref(scene);
        return status;
    }
    *root = scene;
    return PERP_OK;
}
