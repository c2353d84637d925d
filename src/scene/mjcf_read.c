/* src/scene/mjcf_read.c - settings, assets and the tree of bodies of an MJCF model. See mjcf.h. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "scene/mjcf.h"
#include "scene/reader.h"

static const double DEGREE = 0.017453292519943295;

static const char* const no_names[] = {NULL};

#define POSE_ATTRIBUTES "pos", "quat", "axisangle", "euler", "xyaxes", "zaxis"

/* ---- settings ----------------------------------------------------------------------------------- */

static perp_status read_sequence(perpi_mjcf* m, const perpi_mjcf_element* e)
{
    const char* text = perpi_mjcf_get(m, e, "eulerseq");
    if (text == NULL) {
        return PERP_OK;
    }
    if (strlen(text) != 3 || strspn(text, "xyzXYZ") != 3) {
        return perpi_mjcf_fail(m, e->node,
                               "<compiler> eulerseq: must be three of xyzXYZ, got '%.20s'", text);
    }
    memcpy(m->sequence, text, 4);
    return PERP_OK;
}

static perp_status read_compiler(perpi_mjcf* m, const perpi_xml_node* node)
{
    static const char* const read[] = {
        "angle",        "eulerseq",          "meshdir",        "assetdir",         "autolimits",
        "strippath",    "inertiafromgeom",   "balanceinertia", "boundmass",        "boundinertia",
        "settotalmass", "inertiagrouprange", "coordinate",     "exactmeshinertia", NULL};
    static const char* const ignored[] = {"texturedir", "discardvisual", "fusestatic",
                                          "usethread",  "alignfree",     "saveinertial",
                                          "convexhull", "fitaabb",       NULL};
    const perpi_mjcf_element e = {.node = node, .kind = "compiler", .level = -1};
    PERPI_TRY(perpi_mjcf_check(m, node, read, NULL, ignored));
    const char* angle = perpi_mjcf_get(m, &e, "angle");
    if (angle != NULL && strcmp(angle, "radian") != 0 && strcmp(angle, "degree") != 0) {
        return perpi_mjcf_fail(m, node, "<compiler> angle: must be radian or degree, got '%.40s'",
                               angle);
    }
    m->degrees = angle != NULL ? strcmp(angle, "degree") == 0 : m->degrees;
    const char* coordinate = perpi_mjcf_get(m, &e, "coordinate");
    if (coordinate != NULL && strcmp(coordinate, "local") != 0) {
        return perpi_mjcf_fail(
            m, node, "<compiler> coordinate: '%.40s' is not supported: only local is", coordinate);
    }
    PERPI_TRY(read_sequence(m, &e));
    const char* dir = perpi_mjcf_get(m, &e, "meshdir");
    m->meshdir = dir != NULL ? dir : m->meshdir;
    dir = perpi_mjcf_get(m, &e, "assetdir");
    m->assetdir = dir != NULL ? dir : m->assetdir;
    int flag = m->autolimits, balance = m->balance, strip = m->strippath, from = 2;
    int exact = m->exact_meshes;
    PERPI_TRY(perpi_mjcf_flag(m, &e, "exactmeshinertia", false, &exact));
    m->exact_meshes = exact;
    PERPI_TRY(perpi_mjcf_flag(m, &e, "autolimits", false, &flag));
    PERPI_TRY(perpi_mjcf_flag(m, &e, "balanceinertia", false, &balance));
    PERPI_TRY(perpi_mjcf_flag(m, &e, "strippath", false, &strip));
    PERPI_TRY(perpi_mjcf_flag(m, &e, "inertiafromgeom", true, &from));
    m->autolimits = flag;
    m->balance = balance;
    m->strippath = strip;
    if (perpi_mjcf_get(m, &e, "inertiafromgeom") != NULL) {
        m->from_geoms = from == 2   ? PERPI_MJCF_INERTIA_AUTO
                        : from == 1 ? PERPI_MJCF_INERTIA_YES
                                    : PERPI_MJCF_INERTIA_NO;
    }
    double groups[2] = {m->inertia_groups[0], m->inertia_groups[1]};
    PERPI_TRY(perpi_mjcf_numbers(m, &e, "boundmass", 1, 1, &m->boundmass, NULL));
    PERPI_TRY(perpi_mjcf_numbers(m, &e, "boundinertia", 1, 1, &m->boundinertia, NULL));
    PERPI_TRY(perpi_mjcf_numbers(m, &e, "settotalmass", 1, 1, &m->totalmass, NULL));
    PERPI_TRY(perpi_mjcf_numbers(m, &e, "inertiagrouprange", 2, 2, groups, NULL));
    for (int i = 0; i < 2; ++i) {
        m->inertia_groups[i] = fabs(groups[i]) < 1e6 ? (int32_t)groups[i] : m->inertia_groups[i];
    }
    return PERP_OK;
}

static perp_status read_flags(perpi_mjcf* m, const perpi_xml_node* node)
{
    for (const perpi_xml_attribute* a = node->attribute; a != NULL; a = a->next) {
        if (strcmp(a->value, "enable") == 0) {
            continue;
        }
        if (strcmp(a->name, "gravity") == 0) {
            m->gravity = v3(0, 0, 0);
        } else if (strcmp(a->name, "contact") == 0) {
            m->no_contact = true;
        } else {
            static const char* const matter[] = {"constraint", "equality", "frictionloss",
                                                 "limit",      "passive",  "actuation",
                                                 "spring",     "damper",   NULL};
            for (int i = 0; matter[i] != NULL; ++i) {
                if (strcmp(a->name, matter[i]) == 0) {
                    return perpi_mjcf_fail(m, node, "<flag>: '%s' cannot be disabled", a->name);
                }
            }
        }
    }
    return PERP_OK;
}

static perp_status read_option(perpi_mjcf* m, const perpi_xml_node* node)
{
    const perpi_mjcf_element e = {.node = node, .kind = "option", .level = -1};
    static const char* const fluid[] = {"density", "viscosity", "wind"};
    double gravity[3];
    v3_to(m->gravity, gravity);
    PERPI_TRY(perpi_mjcf_numbers(m, &e, "timestep", 1, 1, &m->step, NULL));
    if (!(m->step > 0.0)) {
        return perpi_mjcf_fail(m, node, "<option> timestep: must be > 0, got %g", m->step);
    }
    PERPI_TRY(perpi_mjcf_numbers(m, &e, "gravity", 3, 3, gravity, NULL));
    m->gravity = v3_from(gravity);
    for (int i = 0; i < 3; ++i) {
        double x[3] = {0};
        PERPI_TRY(perpi_mjcf_numbers(m, &e, fluid[i], 1, 3, x, NULL));
        if (x[0] != 0.0 || x[1] != 0.0 || x[2] != 0.0) {
            perpi_mjcf_note(m->ignored, sizeof m->ignored, fluid[i]);
        }
    }
    for (const perpi_xml_attribute* a = node->attribute; a != NULL; a = a->next) {
        static const char* const solver[] = {
            "integrator",       "cone",           "jacobian",      "solver",
            "iterations",       "tolerance",      "impratio",      "noslip_iterations",
            "noslip_tolerance", "o_margin",       "o_solref",      "o_solimp",
            "o_friction",       "ls_iterations",  "ls_tolerance",  "mpr_iterations",
            "mpr_tolerance",    "ccd_iterations", "ccd_tolerance", NULL};
        for (int i = 0; solver[i] != NULL; ++i) {
            if (strcmp(a->name, solver[i]) == 0) {
                perpi_mjcf_note(m->soft, sizeof m->soft, a->name);
            }
        }
    }
    for (const perpi_xml_node* c = perpi_xml_child(node, "flag"); c != NULL;
         c = perpi_xml_next(c, "flag")) {
        PERPI_TRY(read_flags(m, c));
    }
    return PERP_OK;
}

/* ---- assets ------------------------------------------------------------------------------------- */

static perp_status mesh_path(perpi_mjcf* m, const perpi_xml_node* node, const char* file,
                             const char** path)
{
    const char* dir = m->meshdir != NULL ? m->meshdir : m->assetdir;
    const char* slash = strrchr(file, '/');
    file = m->strippath && slash != NULL ? slash + 1 : file;
    const char* name = file;
    if (dir != NULL && dir[0] != '\0' && file[0] != '/') {
        const bool ends = dir[strlen(dir) - 1] == '/';
        PERPI_TRY(perpi_mjcf_text(m, &name, "%s%s%s", dir, ends ? "" : "/", file));
    }
    char* beside = NULL;
    PERPI_TRY(perpi_file_beside(m->context, m->origin, name, &beside));
    const perp_status status = perpi_mjcf_text(m, path, "%s", beside);
    perpi_free(m->context, beside);
    (void)node;
    return status;
}

static perp_status read_mesh_rule(const perpi_mjcf* m, const perpi_mjcf_element* e,
                                  perpi_mjcf_mesh_rule* rule)
{
    static const char* const names[] = {"legacy", "exact", "convex", "shell"};
    const char* text = perpi_mjcf_get(m, e, "inertia");
    *rule = m->exact_meshes ? PERPI_MJCF_MESH_EXACT : PERPI_MJCF_MESH_LEGACY;
    for (int i = 0; text != NULL; ++i) {
        if (i == 4) {
            return perpi_mjcf_fail(m, e->node,
                                   "<mesh> inertia: must be legacy, exact, convex or shell, "
                                   "got '%.40s'",
                                   text);
        }
        if (strcmp(text, names[i]) == 0) {
            *rule = (perpi_mjcf_mesh_rule)i;
            break;
        }
    }
    return PERP_OK;
}

static perp_status read_mesh(perpi_mjcf* m, const perpi_xml_node* node)
{
    static const char* const read[] = {"name",    "class",  "file", "scale",   "refpos",
                                       "refquat", "vertex", "face", "inertia", NULL};
    static const char* const ignored[] = {"content_type", "smoothnormal", "normal", "texcoord",
                                          "maxhullvert",  "material",     NULL};
    perpi_mjcf_element e;
    PERPI_TRY(perpi_mjcf_check(m, node, read, NULL, ignored));
    PERPI_TRY(perpi_mjcf_element_of(m, node, "mesh", 0, &e));
    PERPI_TRY(perpi_mjcf_append(m, &m->mesh, &m->meshes, sizeof *m->mesh));
    perpi_mjcf_mesh* mesh = &m->mesh[m->meshes.count - 1];
    mesh->node = node;
    PERPI_TRY(read_mesh_rule(m, &e, &mesh->rule));
    mesh->scale[0] = mesh->scale[1] = mesh->scale[2] = 1.0;
    double refpos[3] = {0}, refquat[4] = {1, 0, 0, 0};
    PERPI_TRY(perpi_mjcf_numbers(m, &e, "scale", 3, 3, mesh->scale, NULL));
    PERPI_TRY(perpi_mjcf_numbers(m, &e, "refpos", 3, 3, refpos, NULL));
    PERPI_TRY(perpi_mjcf_numbers(m, &e, "refquat", 4, 4, refquat, NULL));
    for (int i = 0; i < 3; ++i) {
        if (mesh->scale[i] == 0.0) {
            return perpi_mjcf_fail(m, node, "<mesh> scale: must not be 0");
        }
    }
    mesh->refpos = v3_from(refpos);
    mesh->refquat = q4_unit((quat){refquat[0], refquat[1], refquat[2], refquat[3]});
    if (!(mesh->refquat.w * mesh->refquat.w <= 1.5)) {
        return perpi_mjcf_fail(m, node, "<mesh> refquat: must not be zero");
    }
    const char* file = perpi_mjcf_get(m, &e, "file");
    mesh->name = perpi_xml_get(node, "name");
    if (file != NULL && mesh->name == NULL) { /* the file's name without folder and ending */
        const char* slash = strrchr(file, '/');
        const char* from = slash != NULL ? slash + 1 : file;
        const char* dot = strrchr(from, '.');
        const int length = dot != NULL ? (int)(dot - from) : (int)strlen(from);
        PERPI_TRY(perpi_mjcf_text(m, &mesh->name, "%.*s", length, from));
    }
    if (mesh->name == NULL) {
        return perpi_mjcf_fail(m, node, "<mesh> needs a name or a file");
    }
    if (file == NULL && perpi_mjcf_get(m, &e, "vertex") == NULL) {
        return perpi_mjcf_fail(m, node, "<mesh> needs the attribute 'file' or 'vertex'");
    }
    return file != NULL ? mesh_path(m, node, file, &mesh->file) : PERP_OK;
}

static perp_status read_assets(perpi_mjcf* m)
{
    static const char* const silent[] = {"texture", "material", "skin", NULL};
    for (const perpi_xml_node* s = perpi_mjcf_section(m, "asset", NULL); s != NULL;
         s = perpi_mjcf_section(m, "asset", s)) {
        for (const perpi_xml_node* c = s->child; c != NULL; c = c->next) {
            bool skipped = strcmp(c->name, "hfield") == 0; /* a geom that uses it is refused */
            for (int i = 0; silent[i] != NULL; ++i) {
                skipped = skipped || strcmp(c->name, silent[i]) == 0;
            }
            if (strcmp(c->name, "mesh") == 0) {
                PERPI_TRY(read_mesh(m, c));
            } else if (!skipped) {
                return perpi_mjcf_fail(m, c, "<asset>: <%s> is not supported", c->name);
            }
        }
    }
    return PERP_OK;
}

/* The colour of a material, or of its default. */
static perp_status material_color(perpi_mjcf* m, const char* name, perpi_mjcf_geom* geom)
{
    for (const perpi_xml_node* s = perpi_mjcf_section(m, "asset", NULL); s != NULL;
         s = perpi_mjcf_section(m, "asset", s)) {
        for (const perpi_xml_node* c = perpi_xml_child(s, "material"); c != NULL;
             c = perpi_xml_next(c, "material")) {
            const char* own = perpi_xml_get(c, "name");
            double rgba[4];
            int count = 0;
            if (own == NULL || strcmp(own, name) != 0) {
                continue;
            }
            perpi_mjcf_element e;
            PERPI_TRY(perpi_mjcf_element_of(m, c, "material", 0, &e));
            PERPI_TRY(perpi_mjcf_numbers(m, &e, "rgba", 4, 4, rgba, &count));
            if (count == 4) {
                geom->has_color = true;
                memcpy(geom->color, rgba, sizeof geom->color);
            }
        }
    }
    return PERP_OK;
}

/* ---- geoms -------------------------------------------------------------------------------------- */

static int32_t find_mesh(const perpi_mjcf* m, const char* name)
{
    for (size_t i = 0; i < m->meshes.count; ++i) {
        if (strcmp(m->mesh[i].name, name) == 0) {
            return (int32_t)i;
        }
    }
    return -1;
}

static perp_status read_type(perpi_mjcf* m, const perpi_mjcf_element* e, perpi_mjcf_shape* type)
{
    static const char* const names[] = {"plane",    "sphere", "capsule", "ellipsoid",
                                        "cylinder", "box",    "mesh",    NULL};
    const char* text = perpi_mjcf_get(m, e, "type");
    *type = PERPI_MJCF_SPHERE;
    for (int i = 0; text != NULL; ++i) {
        if (names[i] == NULL) {
            return perpi_mjcf_fail(m, e->node, "<geom>: the type '%.40s' is not supported", text);
        }
        if (strcmp(text, names[i]) == 0) {
            *type = (perpi_mjcf_shape)i;
            break;
        }
    }
    return PERP_OK;
}

/* How many sizes a type has; with fromto one fewer. */
static perp_status read_size(perpi_mjcf* m, const perpi_mjcf_element* e, perpi_mjcf_geom* geom)
{
    static const int sizes[] = {0, 1, 2, 3, 2, 3, 0};
    double ends[6];
    int given = 0, span = 0;
    PERPI_TRY(perpi_mjcf_numbers(m, e, "size", 1, 3, geom->size, &given));
    PERPI_TRY(perpi_mjcf_numbers(m, e, "fromto", 6, 6, ends, &span));
    int needed = sizes[geom->type];
    const bool slim = geom->type == PERPI_MJCF_CAPSULE || geom->type == PERPI_MJCF_CYLINDER;
    if (span > 0 && geom->type != PERPI_MJCF_MESH && geom->type != PERPI_MJCF_PLANE) {
        if (needed < 2) {
            return perpi_mjcf_fail(m, e->node, "<geom> fromto: not for a sphere");
        }
        const vec3 from = v3_from(ends), to = v3_from(ends + 3), along = v3_sub(from, to);
        const double length = v3_norm(along);
        if (!(length > 0.0)) {
            return perpi_mjcf_fail(m, e->node, "<geom> fromto: the two points must differ");
        }
        geom->pose.x = v3_scale(0.5, v3_add(from, to));
        geom->pose.q = perpi_mjcf_from_z(along);
        geom->pose.R = q4_matrix(geom->pose.q);
        if (!slim) { /* the reference program reads the first number only */
            geom->size[1] = geom->size[0];
        }
        geom->size[needed - 1] = 0.5 * length;
        given = given > 0 ? needed : 0;
    }
    if (given < needed) {
        return perpi_mjcf_fail(m, e->node, "<geom> size: needs %d numbers", needed);
    }
    for (int i = 0; i < needed; ++i) {
        if (!(geom->size[i] > 0.0)) {
            return perpi_mjcf_fail(m, e->node, "<geom> size: must be > 0, got %g", geom->size[i]);
        }
    }
    return PERP_OK;
}

static perp_status read_surface(perpi_mjcf* m, const perpi_mjcf_element* e, perpi_mjcf_geom* geom)
{
    double friction[3] = {1.0, 0.0, 0.0}, rgba[4];
    int colored = 0;
    geom->contype = geom->conaffinity = 1;
    geom->condim = 3;
    PERPI_TRY(perpi_mjcf_integer(m, e, "contype", &geom->contype));
    PERPI_TRY(perpi_mjcf_integer(m, e, "conaffinity", &geom->conaffinity));
    PERPI_TRY(perpi_mjcf_integer(m, e, "condim", &geom->condim));
    PERPI_TRY(perpi_mjcf_integer(m, e, "group", &geom->group));
    PERPI_TRY(perpi_mjcf_integer(m, e, "priority", &geom->priority));
    PERPI_TRY(perpi_mjcf_numbers(m, e, "friction", 1, 3, friction, NULL));
    if (!(friction[0] >= 0.0)) {
        return perpi_mjcf_fail(m, e->node, "<geom> friction: must be >= 0, got %g", friction[0]);
    }
    geom->friction = friction[0];
    if (geom->condim > 3 && (geom->contype != 0 || geom->conaffinity != 0)) {
        perpi_mjcf_note(m->ignored, sizeof m->ignored,
                        "torsional and rolling friction (condim 4, 6)");
    }
    PERPI_TRY(perpi_mjcf_numbers(m, e, "rgba", 4, 4, rgba, &colored));
    const char* material = perpi_mjcf_get(m, e, "material");
    if (colored == 4) {
        geom->has_color = true;
        memcpy(geom->color, rgba, sizeof geom->color);
    } else if (material != NULL) {
        PERPI_TRY(material_color(m, material, geom));
    }
    for (int i = 0; i < 3; ++i) {
        geom->color[i] = geom->color[i] < 0.0 ? 0.0 : geom->color[i] > 1.0 ? 1.0 : geom->color[i];
    }
    return PERP_OK;
}

static perp_status read_geom(perpi_mjcf* m, const perpi_xml_node* node, int32_t body,
                             int32_t childclass, const perpi_pose* frame)
{
    static const char* const read[] = {
        "name",        "class",    "type",          "size",         "fromto",   "mesh", "contype",
        "conaffinity", "condim",   "group",         "priority",     "friction", "mass", "density",
        "rgba",        "material", POSE_ATTRIBUTES, "shellinertia", NULL};
    static const char* const soft[] = {"solref", "solimp", "solmix", "margin", "gap", NULL};
    static const char* const ignored[] = {"user", "fluidshape", "fluidcoef", "fitscale", NULL};
    perpi_mjcf_element e;
    PERPI_TRY(perpi_mjcf_check(m, node, read, soft, ignored));
    PERPI_TRY(perpi_mjcf_element_of(m, node, "geom", childclass, &e));
    PERPI_TRY(perpi_mjcf_append(m, &m->geom, &m->geoms, sizeof *m->geom));
    perpi_mjcf_geom* geom = &m->geom[m->geoms.count - 1];
    geom->name = perpi_xml_get(node, "name");
    geom->node = node;
    geom->body = body;
    geom->mesh = -1;
    geom->density = 1000.0;
    geom->mass = NAN;
    int shell = 0;
    PERPI_TRY(perpi_mjcf_flag(m, &e, "shellinertia", false, &shell));
    geom->shell = shell != 0;
    PERPI_TRY(read_type(m, &e, &geom->type));
    if (geom->shell && (geom->type == PERPI_MJCF_ELLIPSOID || geom->type == PERPI_MJCF_MESH)) {
        return perpi_mjcf_fail(m, node, "<geom> shellinertia: not for %s",
                               geom->type == PERPI_MJCF_MESH
                                   ? "a mesh: say inertia=\"shell\" in <mesh>"
                                   : "an ellipsoid");
    }
    PERPI_TRY(perpi_mjcf_pose(m, &e, &geom->pose));
    const char* mesh = perpi_mjcf_get(m, &e, "mesh");
    if (geom->type == PERPI_MJCF_MESH) {
        PERPI_TRY(perpi_mjcf_need(m, &e, "mesh", &mesh));
        geom->mesh = find_mesh(m, mesh);
        if (geom->mesh < 0) {
            return perpi_mjcf_fail(m, node, "<geom> mesh: there is no mesh '%s'", mesh);
        }
    } else if (perpi_xml_get(node, "mesh") != NULL) {
        return perpi_mjcf_fail(m, node, "<geom>: a shape fitted to a mesh is not supported");
    }
    PERPI_TRY(read_size(m, &e, geom));
    geom->pose = perpi_pose_mul(frame, &geom->pose);
    PERPI_TRY(read_surface(m, &e, geom));
    PERPI_TRY(perpi_mjcf_numbers(m, &e, "density", 1, 1, &geom->density, NULL));
    PERPI_TRY(perpi_mjcf_numbers(m, &e, "mass", 1, 1, &geom->mass, NULL));
    if (!(geom->density >= 0.0) || geom->mass < 0.0) {
        return perpi_mjcf_fail(m, node, "<geom> %s: must be >= 0",
                               geom->mass < 0.0 ? "mass" : "density");
    }
    return PERP_OK;
}

/* ---- joints ------------------------------------------------------------------------------------- */

static perp_status read_range(perpi_mjcf* m, const perpi_mjcf_element* e, perpi_mjcf_joint* joint)
{
    int limited = 2, given = 0;
    const double unit = m->degrees && joint->type != PERPI_MJCF_SLIDE ? DEGREE : 1.0;
    PERPI_TRY(perpi_mjcf_numbers(m, e, "range", 2, 2, joint->range, &given));
    PERPI_TRY(perpi_mjcf_flag(m, e, "limited", true, &limited));
    if (limited == 2) {
        if (given > 0 && !m->autolimits) {
            return perpi_mjcf_fail(m, e->node,
                                   "<joint> range: say limited=\"true\" or \"false\": "
                                   "autolimits is false");
        }
        limited = given > 0 ? 1 : 0;
    }
    joint->limited = limited == 1;
    joint->range[0] *= unit;
    joint->range[1] *= unit;
    if (joint->limited && !(joint->range[0] < joint->range[1])) {
        return perpi_mjcf_fail(m, e->node, "<joint> range: the first must be less than the second");
    }
    if (joint->limited && joint->type == PERPI_MJCF_BALL) {
        return perpi_mjcf_fail(m, e->node, "<joint>: limits of ball joints are not supported");
    }
    int forced = 2;
    double most[2] = {0};
    PERPI_TRY(perpi_mjcf_numbers(m, e, "actuatorfrcrange", 2, 2, most, &given));
    PERPI_TRY(perpi_mjcf_flag(m, e, "actuatorfrclimited", true, &forced));
    joint->effort =
        given > 0 && forced != 0 ? perpi_larger(fabs(most[0]), fabs(most[1])) : INFINITY;
    return PERP_OK;
}

static perp_status read_joint_laws(perpi_mjcf* m, const perpi_mjcf_element* e,
                                   perpi_mjcf_joint* joint)
{
    static const char* const law[] = {"stiffness", "damping", "armature", "frictionloss"};
    double* const value[] = {&joint->stiffness, &joint->damping, &joint->armature,
                             &joint->frictionloss};
    const double unit = m->degrees && joint->type == PERPI_MJCF_HINGE ? DEGREE : 1.0;
    for (int i = 0; i < 4; ++i) {
        PERPI_TRY(perpi_mjcf_numbers(m, e, law[i], 1, 1, value[i], NULL));
        if (!(*value[i] >= 0.0)) {
            return perpi_mjcf_fail(m, e->node, "<joint> %s: must be >= 0, got %g", law[i],
                                   *value[i]);
        }
        if (joint->type == PERPI_MJCF_BALL && *value[i] > 0.0) {
            return perpi_mjcf_fail(m, e->node, "<joint>: %s of ball joints is not supported",
                                   law[i]);
        }
    }
    PERPI_TRY(perpi_mjcf_numbers(m, e, "ref", 1, 1, &joint->ref, NULL));
    PERPI_TRY(perpi_mjcf_numbers(m, e, "springref", 1, 1, &joint->springref, NULL));
    joint->ref *= unit;
    joint->springref *= unit;
    return PERP_OK;
}

static perp_status read_joint(perpi_mjcf* m, const perpi_xml_node* node, int32_t body,
                              int32_t childclass, const perpi_pose* frame)
{
    static const char* const read[] = {"name",
                                       "class",
                                       "type",
                                       "pos",
                                       "axis",
                                       "limited",
                                       "range",
                                       "stiffness",
                                       "damping",
                                       "armature",
                                       "frictionloss",
                                       "ref",
                                       "springref",
                                       "actuatorfrcrange",
                                       "actuatorfrclimited",
                                       NULL};
    static const char* const soft[] = {"solreflimit",    "solimplimit", "solreffriction",
                                       "solimpfriction", "margin",      NULL};
    static const char* const ignored[] = {"group", "user", "align", NULL};
    static const char* const types[] = {"free", "ball", "slide", "hinge"};
    const bool bare = strcmp(node->name, "freejoint") == 0;
    static const char* const of_free[] = {"name", NULL};
    perpi_mjcf_element e;
    PERPI_TRY(perpi_mjcf_check(m, node, bare ? of_free : read, soft, ignored));
    PERPI_TRY(perpi_mjcf_element_of(m, node, "joint", childclass, &e));
    PERPI_TRY(perpi_mjcf_append(m, &m->joint, &m->joints, sizeof *m->joint));
    perpi_mjcf_joint* joint = &m->joint[m->joints.count - 1];
    perpi_mjcf_body* b = &m->body[body];
    joint->node = node;
    joint->body = body;
    joint->effort = INFINITY;
    joint->name = perpi_xml_get(node, "name");
    if (joint->name == NULL) {
        PERPI_TRY(perpi_mjcf_text(m, &joint->name, b->joint_count > 0 ? "%s_joint%d" : "%s_joint",
                                  b->name, (int)b->joint_count + 1));
    }
    const char* type = bare ? "free" : perpi_mjcf_get(m, &e, "type");
    joint->type = PERPI_MJCF_HINGE;
    for (int i = 0; type != NULL; ++i) {
        if (i == 4) {
            return perpi_mjcf_fail(m, node, "<joint>: the type '%.40s' is not known", type);
        }
        if (strcmp(type, types[i]) == 0) {
            joint->type = (perpi_mjcf_joint_type)i;
            break;
        }
    }
    if (b->joint_count > 0 && b->joint + b->joint_count != (int32_t)m->joints.count - 1) {
        return perpi_mjcf_fail(m, node,
                               "<%s>: the joints of a body must stand before the bodies "
                               "inside it",
                               node->name);
    }
    b->joint = b->joint_count == 0 ? (int32_t)m->joints.count - 1 : b->joint;
    b->joint_count++;
    const bool free = joint->type == PERPI_MJCF_FREE;
    if ((free && b->parent != 0) ||
        (b->joint_count > 1 && (free || m->joint[b->joint].type == PERPI_MJCF_FREE))) {
        return perpi_mjcf_fail(m, node,
                               "<%s>: a free joint must be the only joint of a body of the world",
                               node->name);
    }
    if (free) {
        return PERP_OK;
    }
    double pos[3] = {0}, axis[3] = {0, 0, 1};
    PERPI_TRY(perpi_mjcf_numbers(m, &e, "pos", 3, 3, pos, NULL));
    PERPI_TRY(perpi_mjcf_numbers(m, &e, "axis", 3, 3, axis, NULL));
    joint->pos = perpi_pose_point(frame, v3_from(pos));
    joint->axis = v3_unit(m3_mul(frame->R, v3_from(axis)));
    if (!(v3_norm(v3_from(axis)) > 0.0)) {
        return perpi_mjcf_fail(m, node, "<joint> axis: must not be zero");
    }
    PERPI_TRY(read_range(m, &e, joint));
    return read_joint_laws(m, &e, joint);
}

/* ---- bodies ------------------------------------------------------------------------------------- */

static perp_status read_inertial(perpi_mjcf* m, const perpi_xml_node* node, int32_t body,
                                 const perpi_pose* frame)
{
    static const char* const read[] = {"mass", "diaginertia", "fullinertia", POSE_ATTRIBUTES, NULL};
    const perpi_mjcf_element e = {.node = node, .kind = "inertial", .level = -1};
    perpi_mjcf_body* b = &m->body[body];
    perpi_pose pose;
    double mass = 0.0, diag[3] = {0}, full[6] = {0};
    int n = 0, principal = 0, complete = 0;
    if (m->from_geoms == PERPI_MJCF_INERTIA_YES) {
        return PERP_OK;
    }
    PERPI_TRY(perpi_mjcf_check(m, node, read, NULL, no_names));
    PERPI_TRY(perpi_mjcf_pose(m, &e, &pose));
    PERPI_TRY(perpi_mjcf_numbers(m, &e, "mass", 1, 1, &mass, &n));
    PERPI_TRY(perpi_mjcf_numbers(m, &e, "diaginertia", 3, 3, diag, &principal));
    PERPI_TRY(perpi_mjcf_numbers(m, &e, "fullinertia", 6, 6, full, &complete));
    if (n == 0 || !(mass >= 0.0)) {
        return perpi_mjcf_fail(m, node, "<inertial> mass: must be given and >= 0");
    }
    if ((principal > 0) == (complete > 0)) {
        return perpi_mjcf_fail(m, node, "<inertial> needs one of diaginertia and fullinertia");
    }
    pose = perpi_pose_mul(frame, &pose);
    const mat3 I = complete > 0 ? (mat3){{{full[0], full[3], full[4]},
                                          {full[3], full[1], full[5]},
                                          {full[4], full[5], full[2]}}}
                                : (mat3){{{diag[0], 0, 0}, {0, diag[1], 0}, {0, 0, diag[2]}}};
    b->inertial = true;
    b->own.mass = mass;
    b->own.center = pose.x;
    b->own.inertia = m3_mm(pose.R, m3_mm(I, m3_transpose(pose.R)));
    return PERP_OK;
}

static perp_status read_site(perpi_mjcf* m, const perpi_xml_node* node, int32_t body,
                             int32_t childclass, const perpi_pose* frame)
{
    perpi_mjcf_element e;
    perpi_pose pose;
    double ends[6];
    int span = 0;
    PERPI_TRY(perpi_mjcf_element_of(m, node, "site", childclass, &e));
    PERPI_TRY(perpi_mjcf_pose(m, &e, &pose));
    PERPI_TRY(perpi_mjcf_numbers(m, &e, "fromto", 6, 6, ends, &span));
    if (span > 0) {
        pose.x = v3_scale(0.5, v3_add(v3_from(ends), v3_from(ends + 3)));
    }
    PERPI_TRY(perpi_mjcf_append(m, &m->site, &m->sites, sizeof *m->site));
    m->site[m->sites.count - 1] = (perpi_mjcf_site){
        .name = perpi_xml_get(node, "name"), .body = body, .pose = perpi_pose_mul(frame, &pose)};
    return PERP_OK;
}

static perp_status read_body(perpi_mjcf* m, const perpi_xml_node* node, int32_t parent,
                             int32_t childclass, const perpi_pose* frame, int32_t* index)
{
    static const char* const read[] = {"name",     "childclass",    "mocap",
                                       "gravcomp", POSE_ATTRIBUTES, NULL};
    static const char* const ignored[] = {"user", "sleep", NULL};
    const perpi_mjcf_element e = {.node = node, .kind = "body", .level = -1};
    if (m->bodies.count >= PERPI_MJCF_BODY_LIMIT) {
        return perpi_mjcf_fail(m, node, "more than %d bodies", PERPI_MJCF_BODY_LIMIT);
    }
    PERPI_TRY(perpi_mjcf_check(m, node, read, NULL, ignored));
    perpi_pose pose;
    PERPI_TRY(perpi_mjcf_pose(m, &e, &pose));
    PERPI_TRY(perpi_mjcf_append(m, &m->body, &m->bodies, sizeof *m->body));
    *index = (int32_t)m->bodies.count - 1;
    perpi_mjcf_body* b = &m->body[*index];
    int mocap = 0;
    b->name = perpi_xml_get(node, "name");
    if (b->name == NULL) {
        PERPI_TRY(perpi_mjcf_text(m, &b->name, "body%d", (int)*index));
    }
    b->node = node;
    b->parent = parent;
    b->pose = perpi_pose_mul(frame, &pose);
    PERPI_TRY(perpi_mjcf_flag(m, &e, "mocap", false, &mocap));
    b->mocap = mocap != 0;
    (void)childclass;
    return perpi_mjcf_numbers(m, &e, "gravcomp", 1, 1, &b->gravcomp, NULL);
}

static perp_status read_tree(perpi_mjcf* m, const perpi_xml_node* node, int32_t body,
                             int32_t childclass, const perpi_pose* frame);

/* Where the copies of a <replicate> are. */
typedef struct replica_place {
    perpi_mjcf* m;
    int32_t body, childclass;
    const perpi_pose* frame;
} replica_place;

static perp_status read_replica(void* user, const perpi_xml_node* copy, const perpi_pose* pose)
{
    const replica_place* at = user;
    const perpi_pose placed = perpi_pose_mul(at->frame, pose);
    return read_tree(at->m, copy, at->body, at->childclass, &placed);
}

/* A <body>, <frame> or <replicate> with all it holds. */
static perp_status read_inner(perpi_mjcf* m, const perpi_xml_node* c, int32_t body,
                              int32_t childclass, const perpi_pose* frame)
{
    static const char* const of_frame[] = {"name", "childclass", POSE_ATTRIBUTES, NULL};
    const char* name = perpi_xml_get(c, "childclass");
    if (name != NULL) {
        PERPI_TRY(perpi_mjcf_find_class(m, c, name, &childclass));
    }
    if (strcmp(c->name, "replicate") == 0) {
        replica_place at = {m, body, childclass, frame};
        return perpi_mjcf_replicate(m, c, read_replica, &at);
    }
    if (strcmp(c->name, "frame") == 0) {
        const perpi_mjcf_element e = {.node = c, .kind = "frame", .level = -1};
        perpi_pose pose;
        PERPI_TRY(perpi_mjcf_check(m, c, of_frame, NULL, no_names));
        PERPI_TRY(perpi_mjcf_pose(m, &e, &pose));
        pose = perpi_pose_mul(frame, &pose);
        return read_tree(m, c, body, childclass, &pose);
    }
    int32_t index = 0;
    const perpi_pose none = {v3(0, 0, 0), q4_identity(), m3_identity()};
    PERPI_TRY(read_body(m, c, body, childclass, frame, &index));
    return read_tree(m, c, index, childclass, &none);
}

static bool holds_others(const perpi_xml_node* node)
{
    return strcmp(node->name, "body") == 0 || strcmp(node->name, "frame") == 0 ||
           strcmp(node->name, "replicate") == 0;
}

static perp_status read_tree(perpi_mjcf* m, const perpi_xml_node* node, int32_t body,
                             int32_t childclass, const perpi_pose* frame)
{
    for (const perpi_xml_node* c = node->child; c != NULL; c = c->next) {
        const bool joint = strcmp(c->name, "joint") == 0 || strcmp(c->name, "freejoint") == 0;
        if (strcmp(c->name, "camera") == 0 || strcmp(c->name, "light") == 0) {
            continue;
        }
        if (body == 0 && (joint || strcmp(c->name, "inertial") == 0)) {
            return perpi_mjcf_fail(m, c, "<worldbody> has no <%s>", c->name);
        }
        if (strcmp(c->name, "geom") == 0) {
            PERPI_TRY(read_geom(m, c, body, childclass, frame));
        } else if (strcmp(c->name, "site") == 0) {
            PERPI_TRY(read_site(m, c, body, childclass, frame));
        } else if (joint) {
            PERPI_TRY(read_joint(m, c, body, childclass, frame));
        } else if (strcmp(c->name, "inertial") == 0) {
            PERPI_TRY(read_inertial(m, c, body, frame));
        } else if (!holds_others(c)) {
            return perpi_mjcf_fail(m, c, "<%s> is not supported", c->name);
        }
    }
    /* joints of a body are a run of the list: bodies inside come after them */
    for (const perpi_xml_node* c = node->child; c != NULL; c = c->next) {
        if (holds_others(c)) {
            PERPI_TRY(read_inner(m, c, body, childclass, frame));
        }
    }
    return PERP_OK;
}

/* ---- the whole ---------------------------------------------------------------------------------- */

static perp_status check_sections(perpi_mjcf* m)
{
    static const char* const known[] = {"compiler",  "option",    "size",     "default",
                                        "asset",     "worldbody", "contact",  "equality",
                                        "tendon",    "actuator",  "keyframe", "visual",
                                        "statistic", "sensor",    "custom",   NULL};
    for (const perpi_xml_node* c = m->root->child; c != NULL; c = c->next) {
        bool found = false;
        for (int i = 0; known[i] != NULL; ++i) {
            found = found || strcmp(c->name, known[i]) == 0;
        }
        const bool empty = c->child == NULL;
        if (!found && !(empty && strcmp(c->name, "deformable") == 0)) {
            const char* near = perpi_nearest(c->name, known);
            return perpi_mjcf_fail(m, c, "<%s> is not supported%s%s%s", c->name,
                                   near != NULL ? "; did you mean <" : "", near != NULL ? near : "",
                                   near != NULL ? ">?" : "");
        }
    }
    return PERP_OK;
}

static perp_status check_names(const perpi_mjcf* m)
{
    for (size_t i = 1; i < m->bodies.count; ++i) {
        for (size_t k = 0; k < i; ++k) {
            if (strcmp(m->body[i].name, m->body[k].name) == 0) {
                return perpi_mjcf_fail(m, m->body[i].node, "<body>: there is another body '%s'",
                                       m->body[i].name);
            }
        }
    }
    for (size_t i = 1; i < m->joints.count; ++i) {
        for (size_t k = 0; k < i; ++k) {
            if (strcmp(m->joint[i].name, m->joint[k].name) == 0) {
                return perpi_mjcf_fail(m, m->joint[i].node, "<joint>: there is another joint '%s'",
                                       m->joint[i].name);
            }
        }
    }
    return PERP_OK;
}

perp_status perpi_mjcf_read(perpi_mjcf* m)
{
    PERPI_TRY(check_sections(m));
    for (const perpi_xml_node* c = perpi_mjcf_section(m, "compiler", NULL); c != NULL;
         c = perpi_mjcf_section(m, "compiler", c)) {
        PERPI_TRY(read_compiler(m, c));
    }
    for (const perpi_xml_node* c = perpi_mjcf_section(m, "option", NULL); c != NULL;
         c = perpi_mjcf_section(m, "option", c)) {
        PERPI_TRY(read_option(m, c));
    }
    PERPI_TRY(read_assets(m));
    PERPI_TRY(perpi_mjcf_append(m, &m->body, &m->bodies, sizeof *m->body));
    const perpi_pose none = {v3(0, 0, 0), q4_identity(), m3_identity()};
    m->body[0] = (perpi_mjcf_body){.name = "world", .node = m->root, .parent = -1, .pose = none};
    for (const perpi_xml_node* c = perpi_mjcf_section(m, "worldbody", NULL); c != NULL;
         c = perpi_mjcf_section(m, "worldbody", c)) {
        PERPI_TRY(read_tree(m, c, 0, 0, &none));
    }
    return check_names(m);
}

int32_t perpi_mjcf_find_body(const perpi_mjcf* m, const char* name)
{
    for (size_t i = 0; i < m->bodies.count; ++i) {
        if (strcmp(m->body[i].name, name) == 0) {
            return (int32_t)i;
        }
    }
    return -1;
}

int32_t perpi_mjcf_find_joint(const perpi_mjcf* m, const char* name)
{
    for (size_t i = 0; i < m->joints.count; ++i) {
        if (strcmp(m->joint[i].name, name) == 0) {
            return (int32_t)i;
        }
    }
    return -1;
}

int32_t perpi_mjcf_find_site(const perpi_mjcf* m, const char* name)
{
    for (size_t i = 0; i < m->sites.count; ++i) {
        if (m->site[i].name != NULL && strcmp(m->site[i].name, name) == 0) {
            return (int32_t)i;
        }
    }
    return -1;
}
