/* src/scene/mjcf_scene.c - from an MJCF model to a scene. See mjcf.h.
 *
 * A body with joints is a body of the scene together with all that is fixed to it; bodies fixed to the
 * world are static. Several joints on one body have bodies without mass between them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scene/mjcf.h"
#include "scene/reader.h"

static json_t* vector(vec3 a)
{
    return json_pack("[f, f, f]", a.x + 0.0, a.y + 0.0, a.z + 0.0); /* no -0 */
}

static int set_pose(json_t* object, vec3 x, quat q)
{
    int failed = 0;
    if (x.x != 0.0 || x.y != 0.0 || x.z != 0.0) {
        failed |= json_object_set_new(object, "position", vector(x));
    }
    if (q.x != 0.0 || q.y != 0.0 || q.z != 0.0) {
        failed |= json_object_set_new(
            object, "orientation",
            json_pack("[f, f, f, f]", q.w + 0.0, q.x + 0.0, q.y + 0.0, q.z + 0.0));
    }
    return failed;
}

static json_t* inertia_json(const mat3* I)
{
    const double(*a)[3] = I->m;
    return json_pack("[[f, f, f], [f, f, f], [f, f, f]]", a[0][0], a[0][1], a[0][2], a[1][0],
                     a[1][1], a[1][2], a[2][0], a[2][1], a[2][2]);
}

/* ---- bodies ------------------------------------------------------------------------------------- */

const char* perpi_mjcf_scene_body(const perpi_mjcf* m, int32_t body)
{
    const int32_t host = m->body[body].host;
    return host == 0 ? "world" : m->body[host].name;
}

static int set_motion(json_t* body, vec3 at, vec3 spin, vec3 drift)
{
    const vec3 v = v3_add(drift, v3_cross(spin, at));
    int failed = 0;
    if (v3_norm(v) > 0.0) {
        failed |= json_object_set_new(body, "velocity", vector(v));
    }
    if (v3_norm(spin) > 0.0) {
        failed |= json_object_set_new(body, "angular_velocity", vector(spin));
    }
    return failed;
}

static perp_status write_body(perpi_mjcf* m, int32_t index, bool has_geoms)
{
    perpi_mjcf_body* b = &m->body[index];
    const bool is_static = b->host == 0;
    if (is_static ? !has_geoms : b->host != index) {
        return PERP_OK;
    }
    const char* name = index > 0                               ? b->name
                       : perpi_mjcf_find_body(m, "ground") < 0 ? "ground"
                                                               : "world_geoms";
    json_t* body = json_pack("{s:s}", "name", name);
    if (body == NULL || json_array_append_new(m->body_list, body) != 0) {
        return perpi_mjcf_memory(m);
    }
    int failed = 0;
    if (is_static) {
        failed |= json_object_set_new(body, "type", json_string("static"));
        failed |= set_pose(body, b->world.x, b->world.q);
    } else {
        const vec3 at = perpi_pose_point(&b->world, b->mass.center);
        failed |= json_object_set_new(body, "mass", json_real(b->mass.mass));
        failed |= json_object_set_new(body, "inertia", inertia_json(&b->mass.inertia));
        failed |= set_pose(body, at, b->world.q);
        failed |= set_motion(body, at, b->spin, b->drift);
        if (b->gravcomp != 0.0) {
            failed |= json_object_set_new(body, "gravity", vector(b->gravity));
        }
    }
    b->json = body;
    b->shapes = json_array();
    failed |= json_object_set_new(body, "shapes", b->shapes);
    return failed == 0 ? PERP_OK : perpi_mjcf_memory(m);
}

/* ---- shapes ------------------------------------------------------------------------------------- */

static json_t* array_of(const double* x, size_t count)
{
    json_t* list = json_array();
    for (size_t i = 0; list != NULL && i < count; ++i) {
        if (json_array_append_new(list, vector(v3_from(x + 3 * i))) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t* faces_of(const perpi_mesh_data* mesh)
{
    json_t* list = json_array();
    for (size_t i = 0; list != NULL && i < mesh->triangle_count; ++i) {
        const int32_t* t = mesh->triangle + 3 * i;
        if (json_array_append_new(list, json_pack("[i, i, i]", t[0], t[1], t[2])) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

/* A mesh that collides is its hull; others are drawn as they are. *shape stays NULL: left out. */
static perp_status mesh_json(perpi_mjcf* m, const perpi_mjcf_geom* geom, bool* visual,
                             json_t** shape)
{
    perpi_mjcf_mesh* mesh = &m->mesh[geom->mesh];
    const bool plain = v3_norm(mesh->refpos) == 0.0 && fabs(mesh->refquat.w) == 1.0;
    if (*visual && plain && mesh->file != NULL && !mesh->read) {
        char* path = realpath(mesh->file, NULL);
        if (path == NULL) {
            return perpi_mjcf_fail(m, mesh->node, "<mesh> file: '%s' was not found", mesh->file);
        }
        *shape = json_pack("{s:s, s:s, s:[f, f, f]}", "type", "mesh", "file", path, "scale",
                           mesh->scale[0], mesh->scale[1], mesh->scale[2]);
        free(path);
        return *shape != NULL
                   ? PERP_OK
                   : perpi_mjcf_fail(m, mesh->node, "<mesh> file: the path is not UTF-8");
    }
    PERPI_TRY(perpi_mjcf_load_mesh(m, mesh));
    if (!*visual && mesh->hull != NULL) {
        m->hulls++;
        *shape = json_pack("{s:s, s:O}", "type", "polyhedron", "vertices", mesh->hull);
        return *shape != NULL ? PERP_OK : perpi_mjcf_memory(m);
    }
    m->pictures += *visual ? 0 : 1; /* without volume, or with too many vertices on its hull */
    *visual = true;
    if (mesh->data.triangle_count == 0) {
        return PERP_OK;
    }
    *shape = json_pack("{s:s, s:o, s:o}", "type", "mesh", "vertices",
                       array_of(mesh->data.vertex, mesh->data.vertex_count), "faces",
                       faces_of(&mesh->data));
    return *shape != NULL ? PERP_OK : perpi_mjcf_memory(m);
}

static json_t* plain_json(const perpi_mjcf_geom* geom)
{
    const perp_shape_def d = perpi_mjcf_shape_def(geom);
    const char* name = perp_shape_name(d.type);
    switch (geom->type) {
    case PERPI_MJCF_SPHERE: return json_pack("{s:s, s:f}", "type", name, "radius", d.radius);
    case PERPI_MJCF_CAPSULE:
    case PERPI_MJCF_CYLINDER:
        return json_pack("{s:s, s:f, s:f}", "type", name, "radius", d.radius, "length", d.length);
    case PERPI_MJCF_BOX:
        return json_pack("{s:s, s:[f, f, f]}", "type", name, "size", d.size[0], d.size[1],
                         d.size[2]);
    case PERPI_MJCF_ELLIPSOID:
        return json_pack("{s:s, s:[f, f, f]}", "type", name, "radii", d.radii[0], d.radii[1],
                         d.radii[2]);
    default: return json_pack("{s:s, s:[i, i, i]}", "type", name, "normal", 0, 0, 1);
    }
}

static perp_status write_shape(perpi_mjcf* m, const perpi_mjcf_geom* geom)
{
    const perpi_mjcf_body* part = &m->body[geom->body];
    const bool is_static = part->host == 0;
    const perpi_mjcf_body* host = is_static ? part : &m->body[part->host];
    bool visual = !geom->tangible;
    json_t* shape = NULL;
    if (geom->type == PERPI_MJCF_PLANE && !is_static) {
        return perpi_mjcf_fail(m, geom->node,
                               "<geom>: a plane belongs to the world, not to '%s', "
                               "which moves",
                               part->name);
    }
    if (geom->type == PERPI_MJCF_MESH) {
        PERPI_TRY(mesh_json(m, geom, &visual, &shape));
        if (shape == NULL) {
            return PERP_OK;
        }
    } else {
        shape = plain_json(geom);
    }
    if (shape == NULL) {
        return perpi_mjcf_memory(m);
    }
    const perpi_pose pose = is_static ? geom->pose : perpi_pose_mul(&part->in_host, &geom->pose);
    const vec3 x = is_static ? pose.x : v3_sub(pose.x, host->mass.center);
    int failed = set_pose(shape, x, pose.q);
    if (visual) {
        failed |= json_object_set_new(shape, "visual", json_true());
    }
    if (geom->has_color && json_object_get(host->json, "color") == NULL) {
        failed |= json_object_set_new(
            host->json, "color",
            json_pack("[f, f, f]", geom->color[0], geom->color[1], geom->color[2]));
    }
    failed |= json_array_append_new(host->shapes, shape);
    return failed == 0 ? PERP_OK : perpi_mjcf_memory(m);
}

/* ---- joints ------------------------------------------------------------------------------------- */

/* The body between joint k of a body and the next one, at the anchor of the joint. */
static perp_status write_between(perpi_mjcf* m, const perpi_mjcf_body* b, int32_t k,
                                 const char** name)
{
    const perpi_mjcf_joint* joint = &m->joint[b->joint + k];
    PERPI_TRY(perpi_mjcf_text(m, name, "%s:%s", b->name, joint->name));
    perpi_pose pose = b->world; /* axes of the body: only its velocities matter */
    pose.x = joint->at;
    vec3 spin = m->body[b->parent].spin, drift = m->body[b->parent].drift;
    for (int32_t i = 0; i <= k; ++i) {
        const perpi_mjcf_joint* j = &m->joint[b->joint + i];
        const vec3 a = v3_scale(j->type == PERPI_MJCF_BALL ? 0.0 : m->qvel[j->dof], j->along);
        const bool turns = j->type == PERPI_MJCF_HINGE;
        spin = turns ? v3_add(spin, a) : spin;
        drift = v3_add(drift, turns ? v3_neg(v3_cross(a, j->at)) : a);
    }
    json_t* body = json_pack("{s:s, s:b}", "name", *name, "massless", 1);
    if (body == NULL || json_array_append_new(m->body_list, body) != 0) {
        return perpi_mjcf_memory(m);
    }
    return set_pose(body, pose.x, pose.q) + set_motion(body, pose.x, spin, drift) == 0
               ? PERP_OK
               : perpi_mjcf_memory(m);
}

static perp_status write_joint(perpi_mjcf* m, perpi_mjcf_joint* joint, const char* a, const char* b)
{
    static const char* const types[] = {NULL, "spherical", "prismatic", "revolute"};
    json_t* j = json_pack("{s:s, s:s, s:s, s:s, s:o}", "name", joint->name, "type",
                          types[joint->type], "a", a, "b", b, "at", vector(joint->at));
    if (j == NULL || json_array_append_new(m->joint_list, j) != 0) {
        return perpi_mjcf_memory(m);
    }
    joint->json = j;
    if (joint->type == PERPI_MJCF_BALL) {
        return PERP_OK;
    }
    int failed = json_object_set_new(j, "axis", vector(joint->along));
    if (joint->start != 0.0) {
        failed |= json_object_set_new(j, "start", json_real(joint->start));
    }
    if (joint->limited) {
        failed |=
            json_object_set_new(j, "limits", json_pack("[f, f]", joint->range[0], joint->range[1]));
    }
    const char* const key[] = {"damping", "friction", "armature"};
    const double value[] = {joint->damping, joint->frictionloss, joint->armature};
    for (int i = 0; i < 3; ++i) {
        if (value[i] > 0.0) {
            failed |= json_object_set_new(j, key[i], json_real(value[i]));
        }
    }
    if (joint->stiffness > 0.0) {
        char name[300];
        snprintf(name, sizeof name, "%.280s spring", joint->name);
        json_t* spring = json_pack("{s:s, s:s, s:s, s:f, s:f}", "type", "pd", "name", name, "joint",
                                   joint->name, "kp", joint->stiffness, "target", joint->springref);
        failed |= json_array_append_new(m->controller_list, spring);
    }
    return failed == 0 ? PERP_OK : perpi_mjcf_memory(m);
}

static perp_status write_joints(perpi_mjcf* m, int32_t index)
{
    const perpi_mjcf_body* b = &m->body[index];
    const char* a = perpi_mjcf_scene_body(m, b->parent);
    for (int32_t k = 0; k < b->joint_count; ++k) {
        perpi_mjcf_joint* joint = &m->joint[b->joint + k];
        const char* next = b->name;
        if (joint->type == PERPI_MJCF_FREE) {
            continue;
        }
        if (k + 1 < b->joint_count) {
            PERPI_TRY(write_between(m, b, k, &next));
        }
        PERPI_TRY(write_joint(m, joint, a, next));
        a = next;
    }
    return PERP_OK;
}

/* ---- notices ------------------------------------------------------------------------------------ */

static perp_status add_notices(const perpi_mjcf* m, perpi_notices* n)
{
    if (m->key != NULL) {
        PERPI_TRY(perpi_notice_add(n, "it starts at the keyframe '%s'", m->key));
    }
    if (m->soft[0] != '\0') {
        PERPI_TRY(perpi_notice_add(
            n, "contacts, limits and loops are hard, and the solver is perp's; not used: %s",
            m->soft));
    }
    if (m->ignored[0] != '\0') {
        PERPI_TRY(perpi_notice_add(n, "not simulated: %s", m->ignored));
    }
    if (m->approximate[0] != '\0') {
        PERPI_TRY(perpi_notice_add(n, "%s", m->approximate));
    }
    if (m->balanced > 0) {
        PERPI_TRY(
            perpi_notice_add(n, "%d inertias that no body has were %s", (int)m->balanced,
                             m->balance ? "balanced, as the file asks" : "enlarged until one has"));
    }
    if (m->clamped > 0) {
        PERPI_TRY(perpi_notice_add(n, "%d joints start at the limit nearest to the pose given",
                                   (int)m->clamped));
    }
    if (m->satisfied > 0) {
        PERPI_TRY(
            perpi_notice_add(n, "%d joints start where an equality puts them", (int)m->satisfied));
    }
    if (m->pictures > 0) {
        PERPI_TRY(perpi_notice_add(n,
                                   "%d meshes have no volume, or too many vertices on their hull, "
                                   "and do not collide",
                                   (int)m->pictures));
    }
    return PERP_OK;
}

/* ---- the whole ---------------------------------------------------------------------------------- */

static perp_status write_tree(perpi_mjcf* m)
{
    bool* has_geoms = NULL;
    PERPI_TRY(perpi_arena_take(m->arena, m->bodies.count, sizeof *has_geoms, &has_geoms));
    memset(has_geoms, 0, m->bodies.count * sizeof *has_geoms);
    for (size_t i = 0; i < m->geoms.count; ++i) {
        has_geoms[m->geom[i].body] = true;
    }
    for (size_t i = 0; i < m->bodies.count; ++i) {
        PERPI_TRY(write_body(m, (int32_t)i, has_geoms[i]));
    }
    if (json_array_size(m->body_list) == 0) {
        return perpi_mjcf_fail(m, m->root,
                               "nothing to simulate: no body moves, and none has a geom");
    }
    PERPI_TRY(perpi_mjcf_tangible(m));
    for (size_t i = 0; i < m->geoms.count; ++i) {
        PERPI_TRY(write_shape(m, &m->geom[i]));
    }
    for (size_t i = 1; i < m->bodies.count; ++i) {
        PERPI_TRY(write_joints(m, (int32_t)i));
    }
    PERPI_TRY(perpi_mjcf_laws(m));
    return perpi_mjcf_pairs(m);
}

static perp_status write_scene(perpi_mjcf* m)
{
    const char* name = perpi_xml_get(m->root, "model");
    m->body_list = json_array();
    m->joint_list = json_array();
    m->controller_list = json_array();
    m->force_list = json_array();
    int failed =
        json_object_set_new(m->scene, "name", json_string(name != NULL ? name : "MuJoCo Model")) |
        json_object_set_new(m->scene, "gravity", vector(m->gravity)) |
        json_object_set_new(m->scene, "step", json_real(m->step)) |
        json_object_set_new(m->scene, "duration", json_real(2.0)) |
        json_object_set_new(m->scene, "friction", json_pack("{s:f}", "default", 1.0)) |
        json_object_set_new(m->scene, "bodies", m->body_list) |
        json_object_set_new(m->scene, "joints", m->joint_list) |
        json_object_set_new(m->scene, "controllers", m->controller_list) |
        json_object_set_new(m->scene, "forces", m->force_list);
    if (failed != 0) {
        return perpi_mjcf_memory(m);
    }
    PERPI_TRY(write_tree(m));
    json_t* const lists[] = {m->joint_list, m->controller_list, m->force_list};
    const char* const key[] = {"joints", "controllers", "forces"};
    for (int i = 0; i < 3; ++i) {
        if (json_array_size(lists[i]) == 0) {
            (void)json_object_del(m->scene, key[i]);
        }
    }
    return PERP_OK;
}

static perp_status convert(perpi_mjcf* m, const char* text, size_t length)
{
    PERPI_TRY(perpi_mjcf_open(m, text, length));
    PERPI_TRY(perpi_mjcf_read(m));
    PERPI_TRY(perpi_mjcf_masses(m));
    PERPI_TRY(perpi_mjcf_merge(m));
    PERPI_TRY(perpi_mjcf_start(m));
    return write_scene(m);
}

perp_status perpi_mjcf_scene(perp_context* context, const char* text, size_t length,
                             const char* origin, const perp_urdf_options* options,
                             perpi_notices* notices, json_t** root)
{
    perpi_arena arena;
    perpi_arena_init(&arena, context);
    perpi_mjcf m = {.context = context,
                    .arena = &arena,
                    .origin = origin,
                    .options = options,
                    .degrees = true,
                    .autolimits = true,
                    .sequence = "xyz",
                    .inertia_groups = {0, 5},
                    .totalmass = -1.0,
                    .step = 0.002,
                    .gravity = {0.0, 0.0, -9.81},
                    .scene = json_object()};
    perp_status status = m.scene != NULL ? convert(&m, text, length) : perpi_mjcf_memory(&m);
    if (status == PERP_OK) {
        status = add_notices(&m, notices);
    }
    for (size_t i = 0; i < m.meshes.count; ++i) {
        perpi_mesh_free(context, &m.mesh[i].data);
        json_decref(m.mesh[i].hull);
    }
    perpi_arena_free(&arena);
    if (status != PERP_OK) {
        json_decref(m.scene);
        return status;
    }
    *root = m.scene;
    return PERP_OK;
}
