/* src/scene/urdf_read.c - from the XML of a robot to links and joints. See urdf.h. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/number.h"
#include "scene/reader.h"
#include "scene/urdf.h"

typedef struct material {
    const char* name;
    double color[3];
} material;

typedef struct reader {
    perp_context* context;
    perpi_arena* arena;
    const char* origin;
    perpi_urdf* robot;
    material* material;
    size_t material_count;
} reader;

static perp_status fail(const reader* r, int32_t line, const char* format, ...) PERP_PRINTF(3, 4);

static perp_status fail(const reader* r, int32_t line, const char* format, ...)
{
    char message[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return perpi_fail(r->context, PERP_ERROR_INPUT, "%s: line %d: %s", r->origin, (int)line,
                      message);
}

/* ---- attributes --------------------------------------------------------------------------------- */

static perp_status need(const reader* r, const perpi_xml_node* node, const char* name,
                        const char** value)
{
    *value = perpi_xml_get(node, name);
    if (*value == NULL || (*value)[0] == '\0') {
        return fail(r, node->line, "<%s> needs %s attribute '%s'", node->name,
                    *value == NULL ? "the" : "a value in its", name);
    }
    return PERP_OK;
}

/* Exactly count numbers, with blanks between them. *given may be NULL. */
static perp_status numbers(const reader* r, const perpi_xml_node* node, const char* name, int count,
                           double* out, bool* given)
{
    const char* text = perpi_xml_get(node, name);
    if (given != NULL) {
        *given = text != NULL;
    }
    if (text == NULL) {
        return PERP_OK;
    }
    double x[4];
    int n = 0;
    bool good = true;
    for (const char* s = text; good;) {
        s += strspn(s, " ");
        const size_t length = strcspn(s, " ");
        if (length == 0) {
            break;
        }
        good = n < count && perpi_number_parse(s, length, &x[n]);
        ++n;
        s += length;
    }
    if (!good || n != count) {
        return fail(r, node->line, "<%s> %s: must be %d finite number%s, got '%.80s'%s", node->name,
                    name, count, count == 1 ? "" : "s", text,
                    strstr(text, "${") != NULL ? "; this is xacro: expand it first" : "");
    }
    memcpy(out, x, (size_t)count * sizeof *out);
    return PERP_OK;
}

static perp_status need_number(const reader* r, const perpi_xml_node* node, const char* name,
                               double* x)
{
    const char* ignored;
    PERPI_TRY(need(r, node, name, &ignored));
    return numbers(r, node, name, 1, x, NULL);
}

static perp_status need_positive(const reader* r, const perpi_xml_node* node, const char* name,
                                 double* x)
{
    PERPI_TRY(need_number(r, node, name, x));
    return *x > 0.0 ? PERP_OK
                    : fail(r, node->line, "<%s> %s: must be > 0, got %g", node->name, name, *x);
}

/* 0 if absent. */
static perp_status not_negative(const reader* r, const perpi_xml_node* node, const char* name,
                                double* x)
{
    PERPI_TRY(numbers(r, node, name, 1, x, NULL));
    return *x >= 0.0 ? PERP_OK
                     : fail(r, node->line, "<%s> %s: must be >= 0, got %g", node->name, name, *x);
}

/* An unknown attribute may be an extension; one similar to a known name is a misspelling. */
static perp_status check_attributes(const reader* r, const perpi_xml_node* node,
                                    const char* const* known)
{
    for (const perpi_xml_attribute* a = node->attribute; a != NULL; a = a->next) {
        bool found = false;
        for (int i = 0; known[i] != NULL; ++i) {
            found = found || strcmp(known[i], a->name) == 0;
        }
        const char* near = found ? NULL : perpi_nearest(a->name, known);
        if (near != NULL) {
            return fail(r, a->line, "<%s> has no attribute '%s'; did you mean '%s'?", node->name,
                        a->name, near);
        }
    }
    return PERP_OK;
}

/* ---- elements ----------------------------------------------------------------------------------- */

static void note_skipped(perpi_urdf* robot, const char* name)
{
    char tag[224];
    snprintf(tag, sizeof tag, "<%.200s>", name);
    const size_t used = strlen(robot->skipped);
    if (strstr(robot->skipped, tag) == NULL && used + strlen(tag) + 3 < sizeof robot->skipped) {
        snprintf(robot->skipped + used, sizeof robot->skipped - used, "%s%s", used > 0 ? ", " : "",
                 tag);
    }
}

/* Known names are read; similar names are misspellings; the rest is skipped. */
static perp_status check_children(const reader* r, const perpi_xml_node* node,
                                  const char* const* known, const char* const* skip)
{
    for (const perpi_xml_node* c = node->child; c != NULL; c = c->next) {
        bool found = false, skipped = strchr(c->name, ':') != NULL;
        for (int i = 0; known[i] != NULL; ++i) {
            found = found || strcmp(known[i], c->name) == 0;
        }
        for (int i = 0; skip[i] != NULL; ++i) {
            skipped = skipped || strcmp(skip[i], c->name) == 0;
        }
        if (strncmp(c->name, "xacro:", 6) == 0) {
            return fail(r, c->line,
                        "<%s>: this is a xacro file: expand it first: xacro %s > robot.urdf",
                        c->name, r->origin);
        }
        const char* near = found || skipped ? NULL : perpi_nearest(c->name, known);
        if (near != NULL) {
            return fail(r, c->line, "<%s> has no element <%s>; did you mean <%s>?", node->name,
                        c->name, near);
        }
        if (!found) {
            note_skipped(r->robot, c->name);
        }
    }
    return PERP_OK;
}

/* The child of that name if there is one; two are an error. */
static perp_status only_child(const reader* r, const perpi_xml_node* node, const char* name,
                              const perpi_xml_node** child)
{
    *child = perpi_xml_child(node, name);
    const perpi_xml_node* second = *child != NULL ? perpi_xml_next(*child, name) : NULL;
    return second == NULL ? PERP_OK
                          : fail(r, second->line, "<%s> has a second <%s>", node->name, name);
}

static perp_status need_child(const reader* r, const perpi_xml_node* node, const char* name,
                              const perpi_xml_node** child)
{
    PERPI_TRY(only_child(r, node, name, child));
    return *child != NULL ? PERP_OK
                          : fail(r, node->line, "<%s> needs an element <%s>", node->name, name);
}

static perpi_pose pose_identity(void)
{
    return (perpi_pose){v3(0, 0, 0), q4_identity(), m3_identity()};
}

/* rpy: turns about the fixed axes x, y, z, in this order. */
static perp_status read_origin(const reader* r, const perpi_xml_node* node, perpi_pose* pose)
{
    static const char* const known[] = {"xyz", "rpy", NULL};
    const perpi_xml_node* origin;
    *pose = pose_identity();
    PERPI_TRY(only_child(r, node, "origin", &origin));
    if (origin == NULL) {
        return PERP_OK;
    }
    double xyz[3] = {0}, rpy[3] = {0};
    PERPI_TRY(check_attributes(r, origin, known));
    PERPI_TRY(numbers(r, origin, "xyz", 3, xyz, NULL));
    PERPI_TRY(numbers(r, origin, "rpy", 3, rpy, NULL));
    pose->x = v3_from(xyz);
    const quat x = q4_exp(v3(rpy[0], 0, 0)), y = q4_exp(v3(0, rpy[1], 0)),
               z = q4_exp(v3(0, 0, rpy[2]));
    pose->q = q4_unit(q4_mul(z, q4_mul(y, x)));
    pose->R = q4_matrix(pose->q);
    return PERP_OK;
}

/* ---- materials ---------------------------------------------------------------------------------- */

static const material* find_material(const reader* r, const char* name)
{
    for (size_t i = 0; name != NULL && i < r->material_count; ++i) {
        if (strcmp(r->material[i].name, name) == 0) {
            return &r->material[i];
        }
    }
    return NULL;
}

static perp_status read_color(const reader* r, const perpi_xml_node* node, double color[3],
                              bool* given)
{
    const perpi_xml_node* child;
    *given = false;
    PERPI_TRY(only_child(r, node, "color", &child));
    if (child == NULL) {
        return PERP_OK;
    }
    double rgba[4];
    const char* ignored;
    PERPI_TRY(need(r, child, "rgba", &ignored));
    PERPI_TRY(numbers(r, child, "rgba", 4, rgba, given));
    for (int i = 0; i < 4; ++i) {
        if (!(rgba[i] >= 0.0 && rgba[i] <= 1.0)) {
            return fail(r, child->line, "<color> rgba: must be between 0 and 1, got %g", rgba[i]);
        }
    }
    memcpy(color, rgba, 3 * sizeof *color);
    return PERP_OK;
}

static perp_status read_materials(reader* r, const perpi_xml_node* root)
{
    size_t count = 0;
    for (const perpi_xml_node* c = root->child; c != NULL; c = c->next) {
        count += strcmp(c->name, "material") == 0 ? 1 : 0;
    }
    PERPI_TRY(perpi_arena_take(r->arena, count + 1, sizeof *r->material, &r->material));
    for (const perpi_xml_node* c = perpi_xml_child(root, "material"); c != NULL;
         c = perpi_xml_next(c, "material")) {
        material m = {0};
        bool given = false;
        PERPI_TRY(need(r, c, "name", &m.name));
        if (find_material(r, m.name) != NULL) {
            return fail(r, c->line, "there is another material '%s'", m.name);
        }
        PERPI_TRY(read_color(r, c, m.color, &given));
        if (given) {
            r->material[r->material_count++] = m;
        }
    }
    return PERP_OK;
}

/* ---- links -------------------------------------------------------------------------------------- */

static perp_status read_geometry(const reader* r, const perpi_xml_node* node, perpi_urdf_part* part)
{
    static const char* const known[] = {"box", "cylinder", "sphere", "capsule", "mesh", NULL};
    const perpi_xml_node* geometry;
    PERPI_TRY(need_child(r, node, "geometry", &geometry));
    const perpi_xml_node* g = geometry->child;
    if (g == NULL || g->next != NULL) {
        return fail(r, g == NULL ? geometry->line : g->next->line,
                    "<geometry> needs one of <box>, <cylinder>, <sphere>, <capsule>, <mesh>");
    }
    part->line = g->line;
    if (strcmp(g->name, "box") == 0) {
        const char* ignored;
        part->type = PERP_SHAPE_BOX;
        PERPI_TRY(need(r, g, "size", &ignored));
        PERPI_TRY(numbers(r, g, "size", 3, part->size, NULL));
        for (int i = 0; i < 3; ++i) {
            if (!(part->size[i] > 0.0)) {
                return fail(r, g->line, "<box> size: must be > 0, got %g", part->size[i]);
            }
        }
        return PERP_OK;
    }
    if (strcmp(g->name, "sphere") == 0) {
        part->type = PERP_SHAPE_SPHERE;
        return need_positive(r, g, "radius", &part->radius);
    }
    if (strcmp(g->name, "cylinder") == 0 || strcmp(g->name, "capsule") == 0) {
        part->type = g->name[1] == 'y' ? PERP_SHAPE_CYLINDER : PERP_SHAPE_CAPSULE;
        PERPI_TRY(need_positive(r, g, "radius", &part->radius));
        return need_positive(r, g, "length", &part->length);
    }
    if (strcmp(g->name, "mesh") == 0) {
        part->type = PERP_SHAPE_MESH;
        part->scale[0] = part->scale[1] = part->scale[2] = 1.0;
        PERPI_TRY(need(r, g, "filename", &part->file));
        PERPI_TRY(numbers(r, g, "scale", 3, part->scale, NULL));
        for (int i = 0; i < 3; ++i) {
            if (part->scale[i] == 0.0) {
                return fail(r, g->line, "<mesh> scale: must not be 0");
            }
        }
        return PERP_OK;
    }
    const char* near = perpi_nearest(g->name, known);
    return fail(r, g->line, "unknown geometry <%s>%s%s%s", g->name,
                near != NULL ? "; did you mean <"
                             : ": known are box, cylinder, sphere, capsule, mesh",
                near != NULL ? near : "", near != NULL ? ">?" : "");
}

static perp_status read_part(const reader* r, const perpi_xml_node* node, perpi_urdf_link* link,
                             perpi_urdf_part*** end)
{
    static const char* const of_visual[] = {"origin", "geometry", "material", NULL};
    static const char* const of_collision[] = {"origin", "geometry", NULL};
    static const char* const skip[] = {"verbose", "contact_coefficients", NULL};
    perpi_urdf_part* part = NULL;
    PERPI_TRY(perpi_arena_take(r->arena, 1, sizeof *part, &part));
    *part = (perpi_urdf_part){.visual = strcmp(node->name, "visual") == 0};
    PERPI_TRY(check_children(r, node, part->visual ? of_visual : of_collision, skip));
    PERPI_TRY(read_origin(r, node, &part->pose));
    PERPI_TRY(read_geometry(r, node, part));
    const perpi_xml_node* m = NULL;
    if (part->visual) {
        PERPI_TRY(only_child(r, node, "material", &m));
    }
    if (m != NULL) {
        double color[3];
        bool given = false;
        PERPI_TRY(read_color(r, m, color, &given));
        const material* shared = find_material(r, perpi_xml_get(m, "name"));
        if (!link->has_color && (given || shared != NULL)) {
            memcpy(link->color, given ? color : shared->color, sizeof link->color);
            link->has_color = true;
        }
    }
    **end = part;
    *end = &part->next;
    return PERP_OK;
}

static perp_status read_inertial(const reader* r, const perpi_xml_node* node, perpi_urdf_link* link)
{
    static const char* const known[] = {"origin", "mass", "inertia", NULL};
    static const char* const entries[] = {"ixx", "ixy", "ixz", "iyy", "iyz", "izz", NULL};
    static const char* const none[] = {NULL};
    const perpi_xml_node *mass, *inertia;
    perpi_pose pose;
    PERPI_TRY(check_children(r, node, known, none));
    PERPI_TRY(read_origin(r, node, &pose));
    PERPI_TRY(need_child(r, node, "mass", &mass));
    PERPI_TRY(need_number(r, mass, "value", &link->mass));
    if (!(link->mass >= 0.0)) {
        return fail(r, mass->line, "<mass> value: must be > 0, got %g", link->mass);
    }
    PERPI_TRY(need_child(r, node, "inertia", &inertia));
    PERPI_TRY(check_attributes(r, inertia, entries));
    double I[6] = {0};
    for (int i = 0; i < 6; ++i) {
        if (i == 0 || i == 3 || i == 5) {
            PERPI_TRY(need_number(r, inertia, entries[i], &I[i]));
        } else {
            PERPI_TRY(numbers(r, inertia, entries[i], 1, &I[i], NULL));
        }
    }
    const mat3 own = {{{I[0], I[1], I[2]}, {I[1], I[3], I[4]}, {I[2], I[4], I[5]}}};
    mat3 turned = m3_mm(pose.R, m3_mm(own, m3_transpose(pose.R)));
    for (int i = 0; i < 3; ++i) {
        for (int k = 0; k < i; ++k) { /* symmetric to the last bit */
            turned.m[i][k] = turned.m[k][i] = 0.5 * (turned.m[i][k] + turned.m[k][i]);
        }
    }
    link->center = pose.x;
    link->inertia = turned;
    link->mass_line = inertia->line;
    return PERP_OK;
}

static int32_t find_link(const perpi_urdf* robot, const char* name)
{
    for (int32_t i = 0; i < robot->link_count; ++i) {
        if (strcmp(robot->link[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

static perp_status read_link(const reader* r, const perpi_xml_node* node)
{
    static const char* const known[] = {"inertial", "visual", "collision", NULL};
    static const char* const skip[] = {"self_collision_checking", "contact", NULL};
    perpi_urdf_link link = {.line = node->line, .joint = -1};
    PERPI_TRY(need(r, node, "name", &link.name));
    const int32_t twin = find_link(r->robot, link.name);
    if (twin >= 0) {
        return fail(r, node->line, "there is another link '%s', in line %d", link.name,
                    (int)r->robot->link[twin].line);
    }
    PERPI_TRY(check_children(r, node, known, skip));
    const perpi_xml_node* inertial;
    PERPI_TRY(only_child(r, node, "inertial", &inertial));
    if (inertial != NULL) {
        PERPI_TRY(read_inertial(r, inertial, &link));
    }
    perpi_urdf_link* kept = &r->robot->link[r->robot->link_count];
    *kept = link;
    perpi_urdf_part** end = &kept->part;
    for (const perpi_xml_node* c = node->child; c != NULL; c = c->next) {
        if (strcmp(c->name, "visual") == 0 || strcmp(c->name, "collision") == 0) {
            PERPI_TRY(read_part(r, c, kept, &end));
        }
    }
    r->robot->link_count += 1;
    return PERP_OK;
}

/* ---- joints ------------------------------------------------------------------------------------- */

static perp_status read_end(const reader* r, const perpi_xml_node* node, const char* which,
                            int32_t* link)
{
    const perpi_xml_node* child;
    const char* name;
    PERPI_TRY(need_child(r, node, which, &child));
    PERPI_TRY(need(r, child, "link", &name));
    *link = find_link(r->robot, name);
    return *link >= 0 ? PERP_OK : fail(r, child->line, "<%s>: there is no link '%s'", which, name);
}

static perp_status read_type(const reader* r, const perpi_xml_node* node, perpi_urdf_type* type)
{
    static const char* const names[] = {"revolute", "continuous", "prismatic", "fixed",
                                        "floating", "planar",     NULL};
    const char* name;
    PERPI_TRY(need(r, node, "type", &name));
    for (int i = 0; names[i] != NULL; ++i) {
        if (strcmp(names[i], name) == 0) {
            *type = (perpi_urdf_type)i; /* names in the order of the enum */
            return PERP_OK;
        }
    }
    return fail(r, node->line,
                "<joint> type: must be revolute, continuous, prismatic, fixed, floating or planar, "
                "got '%.80s'",
                name);
}

/* A number of <limit>; infinity is none: of effort and velocity, 0. */
static perp_status bound(const reader* r, const perpi_xml_node* node, const char* name, double none,
                         double* x)
{
    static const char* const infinite[] = {"inf", "-inf", "+inf", "infinity", "-infinity", NULL};
    const char* text = perpi_xml_get(node, name);
    for (int i = 0; text != NULL && infinite[i] != NULL; ++i) {
        if (strcasecmp(text, infinite[i]) == 0 && (none < 0.0) == (text[0] == '-')) {
            *x = none;
            return PERP_OK;
        }
    }
    return numbers(r, node, name, 1, x, NULL);
}

static perp_status check_not_negative(const reader* r, const perpi_xml_node* node, const char* name,
                                      double x)
{
    return x >= 0.0 ? PERP_OK
                    : fail(r, node->line, "<%s> %s: must be >= 0, got %g", node->name, name, x);
}

static perp_status read_limit(const reader* r, const perpi_xml_node* node, perpi_urdf_joint* joint)
{
    static const char* const known[] = {"lower", "upper", "effort", "velocity", NULL};
    const perpi_xml_node* limit;
    const bool wanted = joint->type == PERPI_URDF_REVOLUTE || joint->type == PERPI_URDF_PRISMATIC;
    PERPI_TRY(only_child(r, node, "limit", &limit));
    if (limit == NULL) {
        return !wanted
                   ? PERP_OK
                   : fail(r, node->line, "joint '%s' is %s and needs a <limit lower upper>%s",
                          joint->name,
                          joint->type == PERPI_URDF_REVOLUTE ? "revolute" : "prismatic",
                          joint->type == PERPI_URDF_REVOLUTE ? "; without limits it is 'continuous'"
                                                             : "");
    }
    PERPI_TRY(check_attributes(r, limit, known));
    PERPI_TRY(bound(r, limit, "lower", -INFINITY, &joint->lower));
    PERPI_TRY(bound(r, limit, "upper", INFINITY, &joint->upper));
    PERPI_TRY(bound(r, limit, "effort", 0.0, &joint->effort));
    PERPI_TRY(bound(r, limit, "velocity", 0.0, &joint->velocity));
    PERPI_TRY(check_not_negative(r, limit, "effort", joint->effort));
    PERPI_TRY(check_not_negative(r, limit, "velocity", joint->velocity));
    joint->has_limits = wanted;
    if (wanted && !(joint->lower <= joint->upper)) {
        return fail(r, limit->line, "<limit>: lower must be <= upper, got %g and %g", joint->lower,
                    joint->upper);
    }
    return PERP_OK;
}

static perp_status read_axis(const reader* r, const perpi_xml_node* node, perpi_urdf_joint* joint)
{
    const perpi_xml_node* axis;
    double xyz[3] = {1, 0, 0};
    PERPI_TRY(only_child(r, node, "axis", &axis));
    if (axis != NULL) {
        const char* ignored;
        PERPI_TRY(need(r, axis, "xyz", &ignored));
        PERPI_TRY(numbers(r, axis, "xyz", 3, xyz, NULL));
    }
    const double length = hypot(hypot(xyz[0], xyz[1]), xyz[2]);
    const bool used = joint->type != PERPI_URDF_FIXED && joint->type != PERPI_URDF_FLOATING;
    if (used && (!(length > 0.0) || !isfinite(length))) {
        return fail(r, axis->line, "<axis> xyz: must not be zero");
    }
    joint->axis = used ? v3(xyz[0] / length, xyz[1] / length, xyz[2] / length) : v3(1, 0, 0);
    return PERP_OK;
}

static perp_status read_mimic(const reader* r, const perpi_xml_node* node, perpi_urdf_joint* joint)
{
    static const char* const known[] = {"joint", "multiplier", "offset", NULL};
    const perpi_xml_node* mimic;
    joint->master = -1;
    joint->multiplier = 1.0;
    PERPI_TRY(only_child(r, node, "mimic", &mimic));
    if (mimic == NULL) {
        return PERP_OK;
    }
    PERPI_TRY(check_attributes(r, mimic, known));
    PERPI_TRY(need(r, mimic, "joint", &joint->mimic));
    PERPI_TRY(numbers(r, mimic, "multiplier", 1, &joint->multiplier, NULL));
    joint->mimic_line = mimic->line;
    return numbers(r, mimic, "offset", 1, &joint->offset, NULL);
}

static bool has_one_degree(const perpi_urdf_joint* joint)
{
    return joint->type == PERPI_URDF_REVOLUTE || joint->type == PERPI_URDF_CONTINUOUS ||
           joint->type == PERPI_URDF_PRISMATIC;
}

/* The joints that others follow, which may stand behind them; no joint follows itself. */
static perp_status find_masters(const reader* r)
{
    perpi_urdf* robot = r->robot;
    for (int32_t i = 0; i < robot->joint_count; ++i) {
        perpi_urdf_joint* joint = &robot->joint[i];
        for (int32_t k = 0; joint->mimic != NULL && k < robot->joint_count; ++k) {
            joint->master = strcmp(robot->joint[k].name, joint->mimic) == 0 ? k : joint->master;
        }
        if (joint->mimic == NULL) {
            continue;
        }
        if (joint->master < 0) {
            return fail(r, joint->mimic_line, "<mimic>: there is no joint '%s'", joint->mimic);
        }
        if (!has_one_degree(joint) || !has_one_degree(&robot->joint[joint->master])) {
            return fail(r, joint->mimic_line,
                        "<mimic>: joint '%s' follows '%s': both must be revolute, continuous or "
                        "prismatic",
                        joint->name, joint->mimic);
        }
    }
    for (int32_t i = 0; i < robot->joint_count; ++i) {
        int32_t at = i;
        for (int32_t steps = 0; at >= 0; at = robot->joint[at].master, ++steps) {
            if (steps > robot->joint_count) {
                return fail(r, robot->joint[i].mimic_line,
                            "<mimic>: joint '%s' follows itself by way of others",
                            robot->joint[i].name);
            }
        }
    }
    return PERP_OK;
}

static perp_status read_joint(const reader* r, const perpi_xml_node* node)
{
    static const char* const known[] = {"origin", "parent",   "child", "axis",
                                        "limit",  "dynamics", "mimic", NULL};
    static const char* const skip[] = {"calibration", "safety_controller", NULL};
    static const char* const of_dynamics[] = {"damping", "friction", NULL};
    perpi_urdf* robot = r->robot;
    perpi_urdf_joint joint = {.line = node->line};
    PERPI_TRY(need(r, node, "name", &joint.name));
    for (int32_t i = 0; i < robot->joint_count; ++i) {
        if (strcmp(robot->joint[i].name, joint.name) == 0) {
            return fail(r, node->line, "there is another joint '%s', in line %d", joint.name,
                        (int)robot->joint[i].line);
        }
    }
    PERPI_TRY(read_type(r, node, &joint.type));
    PERPI_TRY(check_children(r, node, known, skip));
    PERPI_TRY(read_mimic(r, node, &joint));
    PERPI_TRY(read_end(r, node, "parent", &joint.parent));
    PERPI_TRY(read_end(r, node, "child", &joint.child));
    perpi_urdf_link* child = &robot->link[joint.child];
    if (joint.parent == joint.child) {
        return fail(r, node->line, "joint '%s' connects link '%s' with itself", joint.name,
                    child->name);
    }
    if (child->joint >= 0) {
        return fail(r, node->line,
                    "link '%s' is a child twice: of joint '%s' and of '%s'; a robot is a tree",
                    child->name, robot->joint[child->joint].name, joint.name);
    }
    PERPI_TRY(read_origin(r, node, &joint.origin));
    PERPI_TRY(read_axis(r, node, &joint));
    PERPI_TRY(read_limit(r, node, &joint));
    const perpi_xml_node* dynamics;
    PERPI_TRY(only_child(r, node, "dynamics", &dynamics));
    if (dynamics != NULL) {
        PERPI_TRY(check_attributes(r, dynamics, of_dynamics));
        PERPI_TRY(not_negative(r, dynamics, "damping", &joint.damping));
        PERPI_TRY(not_negative(r, dynamics, "friction", &joint.friction));
    }
    child->joint = robot->joint_count;
    robot->joint[robot->joint_count++] = joint;
    return PERP_OK;
}

/* ---- the tree ----------------------------------------------------------------------------------- */

static perp_status find_root(const reader* r)
{
    perpi_urdf* robot = r->robot;
    robot->root = -1;
    for (int32_t i = 0; i < robot->link_count; ++i) {
        if (robot->link[i].joint >= 0) {
            continue;
        }
        if (robot->root >= 0) {
            return fail(r, robot->link[i].line,
                        "link '%s' has no parent, and neither has '%s' of line %d: a robot has one "
                        "root",
                        robot->link[i].name, robot->link[robot->root].name,
                        (int)robot->link[robot->root].line);
        }
        robot->root = i;
    }
    return robot->root >= 0 ? PERP_OK
                            : fail(r, robot->line,
                                   "every link has a parent: the joints form a "
                                   "loop; a robot is a tree");
}

/* Breadth first from the root; links that it does not reach form a loop. */
static perp_status order_links(const reader* r)
{
    perpi_urdf* robot = r->robot;
    PERPI_TRY(
        perpi_arena_take(r->arena, (size_t)robot->link_count, sizeof *robot->order, &robot->order));
    bool* reached = NULL;
    PERPI_TRY(perpi_arena_take(r->arena, (size_t)robot->link_count, sizeof *reached, &reached));
    memset(reached, 0, (size_t)robot->link_count * sizeof *reached);
    int32_t count = 0;
    robot->order[count++] = robot->root;
    reached[robot->root] = true;
    for (int32_t i = 0; i < count; ++i) {
        for (int32_t k = 0; k < robot->joint_count; ++k) {
            if (robot->joint[k].parent == robot->order[i]) {
                robot->order[count++] = robot->joint[k].child;
                reached[robot->joint[k].child] = true;
            }
        }
    }
    for (int32_t i = 0; i < robot->link_count; ++i) {
        if (!reached[i]) {
            return fail(r, robot->link[i].line,
                        "link '%s' is not connected with the root '%s': its joints form a loop",
                        robot->link[i].name, robot->link[robot->root].name);
        }
    }
    return PERP_OK;
}

static perp_status read_robot(reader* r, const perpi_xml_node* root)
{
    static const char* const known[] = {"link", "joint", "material", NULL};
    static const char* const skip[] = {"gazebo", "transmission", "sensor", "ros2_control", NULL};
    perpi_urdf* robot = r->robot;
    if (strcmp(root->name, "robot") != 0) {
        return fail(r, root->line, "expected <robot>, got <%s>: this is no URDF", root->name);
    }
    robot->line = root->line;
    robot->name = perpi_xml_get(root, "name");
    if (robot->name == NULL || robot->name[0] == '\0') {
        robot->name = "robot";
    }
    PERPI_TRY(check_children(r, root, known, skip));
    size_t links = 0, joints = 0;
    for (const perpi_xml_node* c = root->child; c != NULL; c = c->next) {
        links += strcmp(c->name, "link") == 0 ? 1 : 0;
        joints += strcmp(c->name, "joint") == 0 ? 1 : 0;
    }
    if (links == 0) {
        return fail(r, root->line, "<robot> needs at least one <link>");
    }
    if (links > PERPI_URDF_LINK_LIMIT || joints > PERPI_URDF_LINK_LIMIT) {
        return fail(r, root->line, "more than %d links or joints", PERPI_URDF_LINK_LIMIT);
    }
    PERPI_TRY(perpi_arena_take(r->arena, links, sizeof *robot->link, &robot->link));
    PERPI_TRY(perpi_arena_take(r->arena, joints + 1, sizeof *robot->joint, &robot->joint));
    PERPI_TRY(read_materials(r, root));
    for (const perpi_xml_node* c = perpi_xml_child(root, "link"); c != NULL;
         c = perpi_xml_next(c, "link")) {
        PERPI_TRY(read_link(r, c));
    }
    for (const perpi_xml_node* c = perpi_xml_child(root, "joint"); c != NULL;
         c = perpi_xml_next(c, "joint")) {
        PERPI_TRY(read_joint(r, c));
    }
    PERPI_TRY(find_masters(r));
    PERPI_TRY(find_root(r));
    return order_links(r);
}

perp_status perpi_urdf_read(perp_context* context, const char* text, size_t length,
                            const char* origin, perpi_arena* arena, perpi_urdf* robot)
{
    const perpi_xml_node* root = NULL;
    *robot = (perpi_urdf){0};
    PERPI_TRY(perpi_xml_parse(context, text, length, origin, arena, &root));
    reader r = {.context = context, .arena = arena, .origin = origin, .robot = robot};
    return read_robot(&r, root);
}
