/* cli/page_header.c - the header of a run in the page: bodies and their shapes, joints, settings.
 *
 * A new shape adds one line to `kinds`; one that is not there is written with its type and pose
 * only, and the page does not draw it.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measures.h"
#include "page.h"

/* ---- text -------------------------------------------------------------------------------------*/

/* Length of the UTF-8 sequence at s, or 0. Overlong forms and surrogates are none. */
static int sequence(const unsigned char* s)
{
    if (s[0] < 0x80) {
        return 1;
    }
    const int length = s[0] >= 0xc2 && s[0] <= 0xdf   ? 2
                       : s[0] >= 0xe0 && s[0] <= 0xef ? 3
                       : s[0] >= 0xf0 && s[0] <= 0xf4 ? 4
                                                      : 0;
    for (int i = 1; i < length; ++i) {
        if ((s[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    const bool bad = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
                     (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f);
    return bad ? 0 : length;
}

json_t* page_text(const char* s)
{
    page_bytes clean = {0};
    for (const unsigned char* c = (const unsigned char*)s; *c != '\0';) {
        const int length = sequence(c);
        page_bytes_add(&clean, length > 0 ? (const char*)c : "\xef\xbf\xbd",
                       length > 0 ? (size_t)length : 3);
        c += length > 0 ? length : 1;
    }
    json_t* string = clean.failed ? NULL : json_stringn((const char*)clean.data, clean.size);
    page_bytes_free(&clean);
    return string != NULL ? string : json_string("");
}

char* page_dump(const json_t* value)
{
    char* plain = json_dumps(value, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(17));
    if (plain == NULL) {
        return NULL;
    }
    /* These three stand only inside strings, where an escape means the same. */
    page_bytes safe = {0};
    for (const char* c = plain; *c != '\0'; ++c) {
        if (*c == '<' || *c == '>' || *c == '&') {
            page_bytes_printf(&safe, "\\u%04x", (unsigned)*c);
        } else {
            page_bytes_add(&safe, c, 1);
        }
    }
    page_bytes_add(&safe, "", 1);
    free(plain);
    if (safe.failed) {
        page_bytes_free(&safe);
    }
    return (char*)safe.data;
}

/* ---- shapes -----------------------------------------------------------------------------------*/

static void set_member(json_t* object, const char* name, json_t* value)
{
    (void)json_object_set_new(object, name, value);
}

static void put_radius(json_t* o, const perp_shape_def* s)
{
    set_member(o, "radius", cli_number(s->radius));
}

static void put_round_rod(json_t* o, const perp_shape_def* s)
{
    set_member(o, "radius", cli_number(s->radius));
    set_member(o, "length", cli_number(s->length));
}

static void put_plane(json_t* o, const perp_shape_def* s)
{
    set_member(o, "normal", cli_numbers(s->normal, 3));
    set_member(o, "offset", cli_number(s->offset));
}

static void put_size(json_t* o, const perp_shape_def* s)
{
    set_member(o, "size", cli_numbers(s->size, 3));
}

static void put_polygon(json_t* o, const perp_shape_def* s)
{
    json_t* vertices = json_array();
    for (int32_t i = 0; i < s->vertex_count; ++i) {
        (void)json_array_append_new(vertices, cli_numbers(s->vertices + 2 * (size_t)i, 2));
    }
    set_member(o, "vertices", vertices);
}

/* Points and faces as a scene gives them. */
static void put_mesh(json_t* o, const perp_shape_def* s)
{
    json_t* vertices = json_array();
    for (int32_t i = 0; i < s->vertex_count; ++i) {
        (void)json_array_append_new(vertices, cli_numbers(s->vertices + 3 * (size_t)i, 3));
    }
    set_member(o, "vertices", vertices);
    json_t* faces = json_array();
    for (int32_t i = 0; i < s->triangle_count; ++i) {
        json_t* face = json_array();
        for (int k = 0; k < 3; ++k) {
            (void)json_array_append_new(face,
                                        json_integer(s->triangles[3 * (size_t)i + (size_t)k]));
        }
        (void)json_array_append_new(faces, face);
    }
    set_member(o, "faces", faces);
}

static void put_radii(json_t* o, const perp_shape_def* s)
{
    set_member(o, "radii", cli_numbers(s->radii, 3));
}

static void put_superquadric(json_t* o, const perp_shape_def* s)
{
    put_radii(o, s);
    set_member(o, "exponents", cli_numbers(s->exponents, 2));
}

static void put_superellipse(json_t* o, const perp_shape_def* s)
{
    put_radii(o, s);
    set_member(o, "exponent", cli_number(s->exponents[0]));
}

/* of the box around it */
static double reach_radii(const perp_shape_def* s)
{
    return hypot(hypot(s->radii[0], s->radii[1]), s->radii[2]);
}

static double reach_radius(const perp_shape_def* s)
{
    return s->radius;
}

static double reach_capsule(const perp_shape_def* s)
{
    return 0.5 * s->length + s->radius;
}

static double reach_polygon(const perp_shape_def* s)
{
    double most = 0.0;
    for (int32_t i = 0; i < s->vertex_count; ++i) {
        const double r = hypot(s->vertices[2 * (size_t)i], s->vertices[2 * (size_t)i + 1]);
        most = r > most ? r : most;
    }
    return most;
}

static double reach_size(const perp_shape_def* s)
{
    return 0.5 * hypot(hypot(s->size[0], s->size[1]), s->size[2]);
}

static double reach_cylinder(const perp_shape_def* s)
{
    return hypot(0.5 * s->length, s->radius);
}

static double reach_mesh(const perp_shape_def* s)
{
    double reach = 0.0;
    for (int32_t i = 0; i < s->vertex_count; ++i) {
        const double* v = s->vertices + 3 * (size_t)i;
        reach = fmax(reach, hypot(hypot(v[0], v[1]), v[2]));
    }
    return reach;
}

static const struct {
    void (*put)(json_t* object, const perp_shape_def* shape); /* its parameters */
    double (*reach)(const perp_shape_def* shape);             /* from the shape's own origin */
} kinds[PERP_SHAPE_TYPE_COUNT] = {
    [PERP_SHAPE_SPHERE] = {put_radius, reach_radius},
    [PERP_SHAPE_CIRCLE] = {put_radius, reach_radius},
    [PERP_SHAPE_PLANE] = {put_plane, NULL},
    [PERP_SHAPE_HALFPLANE] = {put_plane, NULL},
    [PERP_SHAPE_BOX] = {put_size, reach_size},
    [PERP_SHAPE_BOX2] = {put_size, reach_size},
    [PERP_SHAPE_CAPSULE] = {put_round_rod, reach_capsule},
    [PERP_SHAPE_CYLINDER] = {put_round_rod, reach_cylinder},
    [PERP_SHAPE_MESH] = {put_mesh, reach_mesh},
    [PERP_SHAPE_POLYHEDRON] = {put_mesh, reach_mesh},
    [PERP_SHAPE_POLYGON] = {put_polygon, reach_polygon},
    [PERP_SHAPE_ELLIPSOID] = {put_radii, reach_radii},
    [PERP_SHAPE_SUPERQUADRIC] = {put_superquadric, reach_radii},
    [PERP_SHAPE_SUPERELLIPSE] = {put_superellipse, reach_radii},
};

static json_t* shape(const perp_shape_def* s)
{
    json_t* o = json_object();
    set_member(o, "type", page_text(perp_shape_name(s->type)));
    if (kinds[s->type].put != NULL) {
        kinds[s->type].put(o, s);
    }
    set_member(o, "position", cli_numbers(s->position, 3));
    set_member(o, "orientation", cli_numbers(s->orientation, 4));
    return o;
}

double page_reach(const perp_model* model, int32_t body)
{
    double reach = 0.0;
    for (int32_t i = 0; i < perp_model_body_info(model, body).shape_count; ++i) {
        const perp_shape_def s = perp_model_body_shape(model, body, i);
        if (kinds[s.type].reach != NULL) {
            const double own =
                hypot(hypot(s.position[0], s.position[1]), s.position[2]) + kinds[s.type].reach(&s);
            reach = own > reach ? own : reach;
        }
    }
    return reach;
}

/* ---- bodies -----------------------------------------------------------------------------------*/

static json_t* color(const double c[3])
{
    int part[3];
    for (int i = 0; i < 3; ++i) {
        if (!(c[i] >= 0.0 && c[i] <= 1.0)) {
            return json_null();
        }
        part[i] = (int)(255.0 * c[i] + 0.5);
    }
    char text[8];
    (void)snprintf(text, sizeof text, "#%02x%02x%02x", (unsigned)part[0] & 255u,
                   (unsigned)part[1] & 255u, (unsigned)part[2] & 255u);
    return json_string(text);
}

static json_t* body(const perp_model* model, int32_t index)
{
    static const char* const types[] = {"static", "kinematic", "dynamic"};
    const perp_body_info info = perp_model_body_info(model, index);
    json_t* o = json_object();
    set_member(o, "name", page_text(perp_model_body_name(model, index)));
    set_member(o, "type", json_string(types[info.type]));
    set_member(o, "mass", cli_number(info.mass));
    if (perp_model_dimension(model) == 2) {
        set_member(o, "inertia", cli_number(info.inertia[8]));
    } else {
        json_t* rows = json_array();
        for (int i = 0; i < 3; ++i) {
            (void)json_array_append_new(rows, cli_numbers(info.inertia + (size_t)(3 * i), 3));
        }
        set_member(o, "inertia", rows);
    }
    set_member(o, "color", color(info.color));
    json_t* shapes = json_array();
    for (int32_t i = 0; i < info.shape_count; ++i) {
        const perp_shape_def s = perp_model_body_shape(model, index, i);
        (void)json_array_append_new(shapes, shape(&s));
    }
    set_member(o, "shapes", shapes);
    return o;
}

static json_t* joints(const perp_model* model)
{
    json_t* list = json_array();
    for (int32_t i = 0; i < perp_model_joint_count(model); ++i) {
        const perp_joint_info info = perp_model_joint_info(model, i);
        json_t* o = json_object();
        set_member(o, "name", page_text(perp_model_joint_name(model, i)));
        set_member(o, "type", json_string(perp_joint_type_name(info.type)));
        set_member(o, "a", json_integer(info.a));
        set_member(o, "b", json_integer(info.b));
        set_member(o, "at_a", cli_numbers(info.at_a, 3));
        set_member(o, "at_b", cli_numbers(info.at_b, 3));
        if (fabs(info.axis_a[0]) + fabs(info.axis_a[1]) + fabs(info.axis_a[2]) > 0.0) {
            set_member(o, "axis_a", cli_numbers(info.axis_a, 3));
        }
        (void)json_array_append_new(list, o);
    }
    return list;
}

/* mu: the largest of the points'; the page has no more than a picture of them. */
static json_t* supports(const perp_model* model)
{
    json_t* list = json_array();
    for (int32_t i = 0; i < perp_model_body_count(model); ++i) {
        const perp_support_info info = perp_model_body_support(model, i);
        if (info.points == 0) {
            continue;
        }
        json_t* tripod = json_array();
        double mu = 0.0;
        for (int32_t k = 0; k < info.points; ++k) {
            (void)json_array_append_new(tripod, cli_numbers(info.at[k], 2));
            mu = info.mu[k] > mu ? info.mu[k] : mu;
        }
        json_t* o = json_object();
        set_member(o, "body", json_integer(i));
        set_member(o, "tripod", tripod);
        set_member(o, "mu", cli_number(mu));
        (void)json_array_append_new(list, o);
    }
    return list;
}

static json_t* gravity(const perp_scene* scene)
{
    const perp_model* model = perp_scene_model(scene);
    double g[3];
    perp_model_gravity(model, g);
    return cli_numbers(g, perp_model_dimension(model));
}

json_t* page_header(const perp_scene* scene, const char* file)
{
    const perp_model* model = perp_scene_model(scene);
    const perp_scene_run run = perp_scene_run_settings(scene);
    json_t* o = json_object();
    set_member(o, "format", json_string("perp-page 1"));
    set_member(o, "perp", json_string(PERP_VERSION_STRING));
    set_member(o, "name", page_text(perp_scene_name(scene)));
    if (file != NULL) {
        const char* slash = strrchr(file, '/');
        set_member(o, "file", page_text(slash != NULL ? slash + 1 : file));
    }
    set_member(o, "dimension", json_integer(perp_model_dimension(model)));
    set_member(o, "gravity", gravity(scene));
    set_member(o, "step", cli_number(cli_nominal_step(&run)));
    set_member(o, "duration", cli_number(run.duration));
    set_member(o, "stepper", page_text(run.stepper));
    set_member(o, "contact", page_text(cli_contact(scene).name));
    set_member(o, "solver", page_text(run.solver));
    set_member(o, "cone", page_text(run.cone));
    if (perp_scene_parameter_count(scene) > 0) {
        set_member(o, "parameters", cli_parameters_json(scene));
    }
    json_t* bodies = json_array();
    for (int32_t i = 0; i < perp_model_body_count(model); ++i) {
        (void)json_array_append_new(bodies, body(model, i));
    }
    set_member(o, "bodies", bodies);
    set_member(o, "joints", joints(model));
    set_member(o, "supports", supports(model));
    return o;
}
