/* src/scene/expand.c - see expand.h. */
#include "scene/expand.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/vec.h"

enum { COPIES_LIMIT = 100000 };

static perp_status memory(perpi_reader* r, int failed)
{
    return failed == 0 ? PERP_OK : perpi_reader_fail(r, PERP_ERROR_MEMORY, "out of memory");
}

static json_t* list_of(const json_t* tree, const char* key)
{
    return json_object_get(tree, key);
}

bool perpi_expands(const json_t* root)
{
    if (json_object_get(root, "include") != NULL ||
        json_object_get(root, "configuration") != NULL) {
        return true;
    }
    const json_t* bodies = list_of(root, "bodies");
    for (size_t i = 0; i < json_array_size(bodies); ++i) {
        if (json_object_get(json_array_get(bodies, i), "copies") != NULL) {
            return true;
        }
    }
    return false;
}

/* ---- poses --------------------------------------------------------------------------------------- */

/* A rigid motion x -> R x + d. */
typedef struct motion {
    quat q;
    vec3 d;
} motion;

static vec3 move_point(const motion* m, vec3 x)
{
    return v3_add(q4_rotate(m->q, x), m->d);
}

static json_t* space_json(const perpi_reader* r, vec3 x)
{
    return r->dimension == 2 ? json_pack("[f, f]", x.x, x.y)
                             : json_pack("[f, f, f]", x.x, x.y, x.z);
}

/* A point or direction of the world in an object, if it is there. */
static perp_status move_key(perpi_reader* r, json_t* object, const char* key, const motion* m,
                            bool point)
{
    double x[3] = {0};
    bool given = false;
    PERPI_TRY(perpi_read_space(r, object, key, x, &given));
    if (!given) {
        return PERP_OK;
    }
    const vec3 moved = point ? move_point(m, v3_from(x)) : q4_rotate(m->q, v3_from(x));
    return memory(r, json_object_set_new(object, key, space_json(r, moved)));
}

static perp_status read_pose(perpi_reader* r, const json_t* object, motion* pose, double* angle)
{
    double x[3] = {0}, q[4] = {1, 0, 0, 0};
    *angle = 0.0;
    PERPI_TRY(perpi_read_space(r, object, "position", x, NULL));
    PERPI_TRY(perpi_read_rotation(r, object, q, angle));
    pose->q =
        r->dimension == 2 ? q4_exp(v3(0, 0, *angle)) : q4_unit((quat){q[0], q[1], q[2], q[3]});
    pose->d = v3_from(x);
    return PERP_OK;
}

static perp_status move_body(perpi_reader* r, json_t* body, const motion* m, double turned)
{
    motion pose;
    double angle;
    if (json_object_get(body, "motion") != NULL) {
        return perpi_reader_fail_key(r, "motion", PERP_ERROR_INPUT,
                                     "the motion of a body is in the world: it cannot be placed by "
                                     "include or configuration");
    }
    PERPI_TRY(read_pose(r, body, &pose, &angle));
    (void)json_object_del(body, "axis_angle");
    const quat q = q4_unit(q4_mul(m->q, pose.q));
    int failed = json_object_set_new(body, "position", space_json(r, move_point(m, pose.d)));
    if (r->dimension == 2) {
        failed |= json_object_set_new(body, "angle", json_real(angle + turned));
    } else {
        failed |=
            json_object_set_new(body, "orientation", json_pack("[f, f, f, f]", q.w, q.x, q.y, q.z));
    }
    PERPI_TRY(memory(r, failed));
    PERPI_TRY(move_key(r, body, "velocity", m, false));
    return r->dimension == 3 ? move_key(r, body, "angular_velocity", m, false) : PERP_OK;
}

static perp_status move_joint(perpi_reader* r, json_t* joint, const motion* m)
{
    PERPI_TRY(move_key(r, joint, "at", m, true));
    PERPI_TRY(move_key(r, joint, "axis", m, false));
    return move_key(r, joint, "axis2", m, false);
}

/* ---- configuration ------------------------------------------------------------------------------- */

static const char* text_of(const json_t* object, const char* key)
{
    const char* text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

static size_t index_of(const json_t* list, const char* name)
{
    size_t i = 0;
    while (i < json_array_size(list) &&
           strcmp(text_of(json_array_get(list, i), "name"), name) != 0) {
        ++i;
    }
    return i;
}

static bool is_gear(const json_t* joint)
{
    return strcmp(text_of(joint, "type"), "gear") == 0;
}

/* Marks the bodies that hang on `from` by joints other than `without`. False: the world is among them,
 * by another joint or a loop. */
static bool mark_branch(const json_t* tree, size_t without, const char* from, const char* other,
                        bool* moved)
{
    const json_t *bodies = list_of(tree, "bodies"), *joints = list_of(tree, "joints");
    const size_t first = index_of(bodies, from);
    if (first >= json_array_size(bodies)) {
        return false;
    }
    moved[first] = true;
    for (bool grown = true; grown;) {
        grown = false;
        for (size_t k = 0; k < json_array_size(joints); ++k) {
            const json_t* joint = json_array_get(joints, k);
            const char* end[2] = {text_of(joint, "a"), text_of(joint, "b")};
            const size_t at[2] = {index_of(bodies, end[0]), index_of(bodies, end[1])};
            const size_t n = json_array_size(bodies);
            for (int side = 0; k != without && !is_gear(joint) && side < 2; ++side) {
                const size_t here = at[side], there = at[1 - side];
                if (here >= n || !moved[here]) {
                    continue;
                }
                if (there >= n || strcmp(end[1 - side], other) == 0) {
                    return false;
                }
                grown = grown || !moved[there];
                moved[there] = true;
            }
        }
    }
    return true;
}

/* The place of a joint in the world: `at`, or at_a of its first body. */
static perp_status joint_point(perpi_reader* r, const json_t* tree, const json_t* joint,
                               vec3* point)
{
    double x[3] = {0};
    bool world = false;
    PERPI_TRY(perpi_read_space(r, joint, "at", x, &world));
    *point = v3_from(x);
    if (world) {
        return PERP_OK;
    }
    const json_t* bodies = list_of(tree, "bodies");
    const size_t a = index_of(bodies, text_of(joint, "a"));
    motion pose = {q4_identity(), v3(0, 0, 0)};
    double angle;
    PERPI_TRY(perpi_read_space(r, joint, "at_a", x, NULL));
    if (a < json_array_size(bodies)) {
        PERPI_TRY(read_pose(r, json_array_get(bodies, a), &pose, &angle));
    }
    *point = move_point(&pose, v3_from(x));
    return PERP_OK;
}

static perp_status motion_of(perpi_reader* r, const json_t* tree, const json_t* joint, double by,
                             motion* m, double* turned)
{
    double axis[3] = {0, 0, 1};
    vec3 point;
    PERPI_TRY(joint_point(r, tree, joint, &point));
    PERPI_TRY(perpi_read_space(r, joint, "axis", axis, NULL));
    const vec3 z = v3_unit(v3_from(axis));
    if (strcmp(text_of(joint, "type"), "prismatic") == 0) {
        *m = (motion){q4_identity(), v3_scale(by, z)};
        *turned = 0.0;
        return PERP_OK;
    }
    m->q = q4_exp(v3_scale(by, r->dimension == 2 ? v3(0, 0, 1) : z));
    m->d = v3_sub(point, q4_rotate(m->q, point));
    *turned = by;
    return PERP_OK;
}

/* Moves what hangs on a joint so that its coordinate is `value`. */
static perp_status move_branch(perpi_reader* r, json_t* tree, size_t index, double value)
{
    json_t *bodies = list_of(tree, "bodies"), *joints = list_of(tree, "joints");
    json_t* joint = json_array_get(joints, index);
    const char* name = text_of(joint, "name");
    double start = 0.0;
    PERPI_TRY(perpi_read_number(r, joint, "start", &start));
    bool* moved = NULL;
    const size_t n = json_array_size(bodies);
    PERPI_TRY(perpi_arena_take(&r->arena, n + 1, sizeof *moved, &moved));
    memset(moved, 0, (n + 1) * sizeof *moved);
    const bool inverse = strcmp(text_of(joint, "b"), "world") == 0;
    const char* from = text_of(joint, inverse ? "a" : "b");
    if (!mark_branch(tree, index, from, text_of(joint, inverse ? "b" : "a"), moved)) {
        return perpi_reader_fail_key(r, name, PERP_ERROR_INPUT,
                                     "the joint is part of a loop: it cannot be moved alone");
    }
    motion m;
    double turned;
    PERPI_TRY(motion_of(r, tree, joint, inverse ? start - value : value - start, &m, &turned));
    for (size_t i = 0; i < n; ++i) {
        if (moved[i]) {
            PERPI_TRY(move_body(r, json_array_get(bodies, i), &m, turned));
        }
    }
    for (size_t k = 0; k < json_array_size(joints); ++k) {
        json_t* other = json_array_get(joints, k);
        const size_t a = index_of(bodies, text_of(other, "a")),
                     b = index_of(bodies, text_of(other, "b"));
        if (k != index && !is_gear(other) && ((a < n && moved[a]) || (b < n && moved[b]))) {
            PERPI_TRY(move_joint(r, other, &m));
        }
    }
    return memory(r, json_object_set_new(joint, "start", json_real(value)));
}

/* Joints that are geared to those of the configuration follow them; *values grows. */
static perp_status follow_gears(perpi_reader* r, const json_t* tree, json_t* values)
{
    const json_t* joints = list_of(tree, "joints");
    for (size_t round = 0; round < json_array_size(joints); ++round) {
        bool any = false;
        for (size_t k = 0; k < json_array_size(joints); ++k) {
            const json_t* gear = json_array_get(joints, k);
            const json_t* pair = json_object_get(gear, "joints");
            const char* first = json_string_value(json_array_get(pair, 0));
            const char* second = json_string_value(json_array_get(pair, 1));
            if (!is_gear(gear) || first == NULL || second == NULL ||
                json_object_get(values, first) == NULL || json_object_get(values, second) != NULL) {
                continue;
            }
            double ratio = 1.0, offset = NAN, start[2] = {0.0, 0.0};
            PERPI_TRY(perpi_read_number(r, gear, "ratio", &ratio));
            PERPI_TRY(perpi_read_number(r, gear, "offset", &offset));
            PERPI_TRY(perpi_read_number(r, json_array_get(joints, index_of(joints, first)), "start",
                                        &start[0]));
            PERPI_TRY(perpi_read_number(r, json_array_get(joints, index_of(joints, second)),
                                        "start", &start[1]));
            offset = isnan(offset) ? start[1] - ratio * start[0] : offset;
            const double at = json_number_value(json_object_get(values, first));
            PERPI_TRY(
                memory(r, json_object_set_new(values, second, json_real(ratio * at + offset))));
            any = true;
        }
        if (!any) {
            break;
        }
    }
    return PERP_OK;
}

static perp_status apply_values(perpi_reader* r, json_t* configuration, json_t* tree,
                                json_t* values)
{
    json_t* joints = list_of(tree, "joints");
    const char* name;
    json_t* item;
    json_object_foreach(configuration, name, item)
    {
        const size_t index = index_of(joints, name);
        const json_t* joint = json_array_get(joints, index);
        const char* type = text_of(joint, "type");
        double value = 0.0;
        if (joint == NULL) {
            return perpi_reader_fail_key(r, name, PERP_ERROR_INPUT,
                                         "there is no joint of this name");
        }
        if (strcmp(type, "revolute") != 0 && strcmp(type, "prismatic") != 0) {
            return perpi_reader_fail_key(r, name, PERP_ERROR_INPUT,
                                         "only revolute and prismatic joints have a coordinate to "
                                         "set, this one is %.40s",
                                         type);
        }
        PERPI_TRY(perpi_read_number(r, configuration, name, &value));
        PERPI_TRY(memory(r, json_object_set_new(values, name, json_real(value))));
    }
    PERPI_TRY(follow_gears(r, tree, values));
    json_object_foreach(values, name, item)
    {
        PERPI_TRY(move_branch(r, tree, index_of(joints, name), json_number_value(item)));
    }
    return PERP_OK;
}

perp_status perpi_expand_configuration(perpi_reader* r, json_t* holder, json_t* tree)
{
    json_t* configuration = json_object_get(holder, "configuration");
    if (configuration == NULL) {
        return PERP_OK;
    }
    if (!json_is_object(configuration)) {
        return perpi_reader_fail_key(r, "configuration", PERP_ERROR_INPUT,
                                     "must be an object of joint coordinates, got %s",
                                     perpi_json_kind(configuration));
    }
    const size_t mark = perpi_reader_enter(r, "configuration");
    json_t* values = json_object();
    const perp_status status = apply_values(r, configuration, tree, values);
    json_decref(values);
    if (status == PERP_OK) {
        perpi_reader_leave(r, mark);
        (void)json_object_del(holder, "configuration");
    }
    return status;
}

/* ---- include ------------------------------------------------------------------------------------- */

static int prefix_string(json_t* object, const char* key, const char* prefix)
{
    const char* name = json_string_value(json_object_get(object, key));
    if (name == NULL || strcmp(name, "world") == 0) {
        return 0;
    }
    char text[1024];
    (void)snprintf(text, sizeof text, "%s%s", prefix, name);
    return json_object_set_new(object, key, json_string(text));
}

static int prefix_list(json_t* object, const char* key, const char* prefix)
{
    json_t* list = json_object_get(object, key);
    int failed = 0;
    for (size_t i = 0; i < json_array_size(list); ++i) {
        const char* name = json_string_value(json_array_get(list, i));
        char text[1024];
        (void)snprintf(text, sizeof text, "%s%s", prefix, name != NULL ? name : "");
        failed |= name != NULL ? json_array_set_new(list, i, json_string(text)) : 0;
    }
    return failed;
}

/* Everything that names a body, a joint or a controller. */
static int prefix_names(json_t* tree, const char* prefix)
{
    static const char* const lists[] = {"bodies", "joints", "forces", "controllers", NULL};
    static const char* const keys[] = {"name", "a", "b", "body", "joint", NULL};
    static const char* const many[] = {"ignores", "collides_with", "joints", NULL};
    int failed = 0;
    for (int l = 0; lists[l] != NULL; ++l) {
        json_t* list = list_of(tree, lists[l]);
        for (size_t i = 0; i < json_array_size(list); ++i) {
            for (int k = 0; keys[k] != NULL; ++k) {
                failed |= prefix_string(json_array_get(list, i), keys[k], prefix);
            }
            for (int k = 0; many[k] != NULL; ++k) {
                failed |= prefix_list(json_array_get(list, i), many[k], prefix);
            }
        }
    }
    json_t* pairs = json_object_get(json_object_get(tree, "friction"), "pairs");
    for (size_t i = 0; i < json_array_size(pairs); ++i) {
        failed |= prefix_string(json_array_get(pairs, i), "a", prefix);
        failed |= prefix_string(json_array_get(pairs, i), "b", prefix);
    }
    return failed;
}

static perp_status place_tree(perpi_reader* r, const json_t* entry, json_t* tree)
{
    motion m;
    double angle;
    PERPI_TRY(read_pose(r, entry, &m, &angle));
    if (json_object_get(entry, "position") == NULL &&
        json_object_get(entry, "orientation") == NULL &&
        json_object_get(entry, "axis_angle") == NULL && json_object_get(entry, "angle") == NULL) {
        return PERP_OK;
    }
    json_t *bodies = list_of(tree, "bodies"), *joints = list_of(tree, "joints");
    for (size_t i = 0; i < json_array_size(bodies); ++i) {
        PERPI_TRY(move_body(r, json_array_get(bodies, i), &m, angle));
    }
    for (size_t i = 0; i < json_array_size(joints); ++i) {
        PERPI_TRY(move_joint(r, json_array_get(joints, i), &m));
    }
    return PERP_OK;
}

/* Bodies keep the friction of the scene they come from. */
static int keep_friction(json_t* tree)
{
    json_t* friction = json_object_get(json_object_get(tree, "friction"), "default");
    json_t* bodies = list_of(tree, "bodies");
    int failed = 0;
    for (size_t i = 0; friction != NULL && i < json_array_size(bodies); ++i) {
        json_t* body = json_array_get(bodies, i);
        if (json_object_get(body, "friction") == NULL) {
            failed |= json_object_set(body, "friction", friction);
        }
    }
    return failed;
}

/* The items that a list gets from an include, whose own expansion has places (or NULL). */
static int append_places(perpi_reader* r, const json_t* entry, const char* key, size_t count,
                         const json_t* places)
{
    json_t* to = json_object_get(r->places, key);
    int failed = 0;
    for (size_t i = 0; failed == 0 && i < count; ++i) {
        const json_t* inner = json_array_get(json_object_get(places, key), i);
        const char* place = json_string_value(json_array_get(inner, 0));
        const char* note = json_string_value(json_array_get(inner, 1));
        char text[700], own[64];
        (void)snprintf(own, sizeof own, "/%s/%zu", key, i);
        (void)snprintf(text, sizeof text, "%.100s: %.400s: %.150s", r->path, text_of(entry, "file"),
                       place != NULL ? place : own);
        failed = json_array_append_new(to, note != NULL ? json_pack("[s, s]", text, note)
                                                        : json_pack("[s]", text));
    }
    return failed;
}

/* The items that a list has before an include: they are in this file. */
static int own_places(perpi_reader* r, const json_t* root, const char* key)
{
    const size_t count = json_array_size(json_object_get(root, key));
    json_t* list = json_object_get(r->places, key);
    if (list == NULL) {
        list = json_array();
        if (json_object_set_new(r->places, key, list) != 0) {
            return 1;
        }
    }
    int failed = 0;
    for (size_t i = json_array_size(list); failed == 0 && i < count; ++i) {
        char text[64];
        (void)snprintf(text, sizeof text, "/%s/%zu", key, i);
        failed = json_array_append_new(list, json_pack("[s]", text));
    }
    return failed;
}

static int append_list(json_t* root, const char* key, json_t* tree)
{
    json_t* from = list_of(tree, key);
    json_t* to = list_of(root, key);
    if (json_array_size(from) == 0) {
        return 0;
    }
    if (to == NULL) {
        return json_object_set(root, key, from);
    }
    return json_array_extend(to, from);
}

static int append_pairs(json_t* root, json_t* tree)
{
    json_t* from = json_object_get(json_object_get(tree, "friction"), "pairs");
    json_t* friction = json_object_get(root, "friction");
    if (json_array_size(from) == 0) {
        return 0;
    }
    if (friction == NULL) {
        friction = json_object();
        if (json_object_set_new(root, "friction", friction) != 0) {
            return -1;
        }
    }
    json_t* to = json_object_get(friction, "pairs");
    return to == NULL ? json_object_set(friction, "pairs", from) : json_array_extend(to, from);
}

perp_status perpi_expand_include(perpi_reader* r, json_t* root, const json_t* entry, json_t* tree,
                                 const json_t* places)
{
    static const char* const known[] = {"file",       "prefix", "position",      "orientation",
                                        "axis_angle", "angle",  "configuration", NULL};
    PERPI_TRY(perpi_read_object(r, entry, known));
    const char* prefix = "";
    PERPI_TRY(perpi_read_string(r, entry, "prefix", &prefix));
    json_int_t dimension = json_object_get(tree, "dimension") != NULL
                               ? json_integer_value(json_object_get(tree, "dimension"))
                               : 3;
    if (dimension != r->dimension) {
        return perpi_reader_fail_key(r, "file", PERP_ERROR_INPUT, "has dimension %d, this scene %d",
                                     (int)dimension, (int)r->dimension);
    }
    PERPI_TRY(perpi_expand_configuration(r, (json_t*)entry, tree));
    PERPI_TRY(place_tree(r, entry, tree));
    int failed = prefix_names(tree, prefix) | keep_friction(tree);
    static const char* const lists[] = {"bodies", "joints", "forces", "controllers", NULL};
    for (int i = 0; lists[i] != NULL; ++i) {
        failed |= own_places(r, root, lists[i]);
        failed |=
            append_places(r, entry, lists[i], json_array_size(list_of(tree, lists[i])), places);
        failed |= append_list(root, lists[i], tree);
    }
    return memory(r, failed | append_pairs(root, tree));
}

/* ---- copies -------------------------------------------------------------------------------------- */

/* A number in [0, 1) from a counter: the same for any order of the copies. */
static double draw(uint64_t seed, uint64_t number)
{
    uint64_t x = seed * UINT64_C(0x9e3779b97f4a7c15) + number * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    x ^= x >> 31;
    return (double)(x >> 11) / 9007199254740992.0;
}

typedef struct copying {
    int32_t count;
    vec3 spacing;
    const json_t* positions;
    bool random;
    vec3 low, high;
    int32_t seed;
} copying;

static perp_status read_random(perpi_reader* r, const json_t* copies, copying* c)
{
    static const char* const known[] = {"low", "high", "seed", NULL};
    const json_t* random = json_object_get(copies, "random");
    if (random == NULL) {
        return PERP_OK;
    }
    double low[3] = {0}, high[3] = {0};
    const size_t mark = perpi_reader_enter(r, "random");
    PERPI_TRY(perpi_read_object(r, random, known));
    PERPI_TRY(perpi_require(r, random, "low"));
    PERPI_TRY(perpi_require(r, random, "high"));
    PERPI_TRY(perpi_read_space(r, random, "low", low, NULL));
    PERPI_TRY(perpi_read_space(r, random, "high", high, NULL));
    PERPI_TRY(perpi_read_integer(r, random, "seed", 0, INT32_MAX, &c->seed));
    perpi_reader_leave(r, mark);
    c->random = true;
    c->low = v3_from(low);
    c->high = v3_from(high);
    return PERP_OK;
}

static perp_status read_copies(perpi_reader* r, const json_t* copies, copying* c)
{
    static const char* const known[] = {"count", "spacing", "positions", "random", NULL};
    double spacing[3] = {0}, count = 0.0;
    bool spaced = false;
    *c = (copying){.positions = json_object_get(copies, "positions")};
    PERPI_TRY(perpi_read_object(r, copies, known));
    PERPI_TRY(perpi_read_space(r, copies, "spacing", spacing, &spaced));
    PERPI_TRY(read_random(r, copies, c));
    if ((int)spaced + (int)c->random + (int)(c->positions != NULL) != 1) {
        return perpi_reader_fail(r, PERP_ERROR_INPUT, "give one of spacing, positions and random");
    }
    if (c->positions != NULL) {
        const size_t mark = perpi_reader_enter(r, "positions");
        PERPI_TRY(perpi_read_array(r, c->positions));
        perpi_reader_leave(r, mark);
        count = (double)json_array_size(c->positions);
    } else {
        PERPI_TRY(perpi_require(r, copies, "count"));
    }
    PERPI_TRY(perpi_read_number(r, copies, "count", &count));
    if (!(count >= 0.0 && count <= COPIES_LIMIT) || count != floor(count) ||
        (c->positions != NULL && count != (double)json_array_size(c->positions))) {
        return perpi_reader_fail_key(r, "count", PERP_ERROR_INPUT,
                                     "must be a whole number from 0 to %d (with positions: as many "
                                     "as these), got %g",
                                     COPIES_LIMIT, count);
    }
    c->spacing = v3_from(spacing);
    c->count = (int32_t)count;
    return PERP_OK;
}

/* The position of copy i, from that of the body. */
static perp_status copy_position(perpi_reader* r, const copying* c, int32_t i, vec3* x)
{
    if (c->positions != NULL) {
        double at[3] = {0};
        const json_t* item = json_array_get(c->positions, (size_t)i);
        for (size_t k = 0; k < (size_t)r->dimension; ++k) {
            if (json_array_size(item) != (size_t)r->dimension) {
                return perpi_reader_fail_key(r, "positions", PERP_ERROR_INPUT,
                                             "must be points of %d numbers", (int)r->dimension);
            }
            PERPI_TRY(perpi_read_item(r, json_array_get(item, k), "must be points", &at[k]));
        }
        *x = v3_add(*x, v3_from(at));
    } else if (c->random) {
        const uint64_t n = 3 * (uint64_t)i;
        const uint64_t s = (uint64_t)c->seed;
        const vec3 span = v3_sub(c->high, c->low);
        *x = v3_add(*x, v3_add(c->low, v3(span.x * draw(s, n), span.y * draw(s, n + 1),
                                          span.z * draw(s, n + 2))));
    } else {
        *x = v3_madd(*x, i, c->spacing);
    }
    return PERP_OK;
}

static perp_status copy_body(perpi_reader* r, const json_t* body, json_t* list, json_t* places)
{
    copying c;
    char place[64];
    (void)snprintf(place, sizeof place, "%.60s", r->path);
    const size_t mark = perpi_reader_enter(r, "copies");
    PERPI_TRY(read_copies(r, json_object_get(body, "copies"), &c));
    double x[3] = {0};
    PERPI_TRY(perpi_read_space(r, body, "position", x, NULL));
    for (int32_t i = 0; i < c.count; ++i) {
        vec3 at = v3_from(x);
        PERPI_TRY(copy_position(r, &c, i, &at));
        char name[1024];
        (void)snprintf(name, sizeof name, "%s.%d", text_of(body, "name"), (int)i);
        json_t* copy = json_copy((json_t*)body); /* the parts are shared, and not changed */
        int failed = copy == NULL || json_object_del(copy, "copies") != 0 ||
                     json_object_set_new(copy, "name", json_string(name)) != 0 ||
                     json_object_set_new(copy, "position", space_json(r, at)) != 0;
        failed |= json_array_append_new(list, copy);
        (void)snprintf(name, sizeof name, "copy %d", (int)i);
        failed |= json_array_append_new(places, json_pack("[s, s]", place, name));
        PERPI_TRY(memory(r, failed));
    }
    perpi_reader_leave(r, mark);
    return PERP_OK;
}

perp_status perpi_expand_copies(perpi_reader* r, json_t* root)
{
    json_t* bodies = list_of(root, "bodies");
    json_t *list = json_array(), *places = json_array();
    const size_t mark = perpi_reader_enter(r, "bodies");
    perp_status status = memory(r, list == NULL || places == NULL);
    for (size_t i = 0; status == PERP_OK && i < json_array_size(bodies); ++i) {
        json_t* body = json_array_get(bodies, i);
        const size_t item = perpi_reader_enter_item(r, i);
        status = json_object_get(body, "copies") != NULL
                     ? copy_body(r, body, list, places)
                     : memory(r, json_array_append(list, body) |
                                     json_array_append_new(places, json_pack("[s]", r->path)));
        if (status == PERP_OK) {
            perpi_reader_leave(r, item);
        }
    }
    if (status != PERP_OK) {
        json_decref(list);
        json_decref(places);
        return status;
    }
    perpi_reader_leave(r, mark);
    return memory(r, json_object_set_new(root, "bodies", list) |
                         json_object_set_new(r->places, "bodies", places));
}
