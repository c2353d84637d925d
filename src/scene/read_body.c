/* src/scene/read_body.c - the entries of "bodies". */
#include <math.h>
#include <string.h>

#include "model/model.h"
#include "scene/reader.h"

static const char* const known[] = {
    "name",        "type",        "mass",          "inertia",  "density",          "position",
    "orientation", "axis_angle",  "angle",         "velocity", "angular_velocity", "friction",
    "gravity",     "color",       "collides_with", "ignores",  "surface_velocity", "motion",
    "shapes",      "restitution", "compliance",    "support",  "massless",         NULL};

static perp_status read_type(perpi_reader* r, const json_t* value, perp_body_type* type)
{
    static const char* const names[] = {"static", "kinematic", "dynamic", NULL};
    const char* name = "dynamic";
    PERPI_TRY(perpi_read_string(r, value, "type", &name));
    for (int i = 0; names[i] != NULL; ++i) {
        if (strcmp(name, names[i]) == 0) {
            *type = (perp_body_type)i; /* names in the order of the enum */
            return PERP_OK;
        }
    }
    return perpi_reader_fail_key(r, "type", PERP_ERROR_INPUT,
                                 "must be static, kinematic or dynamic, got '%.80s'", name);
}
_Static_assert(PERP_BODY_STATIC == 0 && PERP_BODY_KINEMATIC == 1 && PERP_BODY_DYNAMIC == 2,
               "the order of names[]");

/* Planar: one number. Spatial: three principal values, or three rows of three. */
static perp_status read_inertia(perpi_reader* r, const json_t* body, perp_body_def* def)
{
    const json_t* value = json_object_get(body, "inertia");
    if (value == NULL) {
        return PERP_OK;
    }
    def->has_inertia = true;
    if (r->dimension == 2) {
        return perpi_read_number(r, body, "inertia", &def->inertia[8]);
    }
    if (!json_is_array(value) || json_array_size(value) != 3 ||
        !json_is_array(json_array_get(value, 0))) {
        double principal[3];
        PERPI_TRY(perpi_read_vector(r, body, "inertia", 3, principal, NULL));
        for (int i = 0; i < 3; ++i) {
            def->inertia[4 * i] = principal[i];
        }
        return PERP_OK;
    }
    const size_t mark = perpi_reader_enter(r, "inertia");
    for (size_t i = 0; i < 3; ++i) {
        const json_t* row = json_array_get(value, i);
        const size_t at = perpi_reader_enter_item(r, i);
        if (!json_is_array(row) || json_array_size(row) != 3) {
            return perpi_reader_fail(r, PERP_ERROR_INPUT, "must be a row of 3 numbers");
        }
        for (size_t j = 0; j < 3; ++j) {
            const size_t item = perpi_reader_enter_item(r, j);
            PERPI_TRY(perpi_read_item(r, json_array_get(row, j), "must be a number",
                                      &def->inertia[3 * i + j]));
            perpi_reader_leave(r, item);
        }
        perpi_reader_leave(r, at);
    }
    perpi_reader_leave(r, mark);
    return PERP_OK;
}

/* A number: the same along the normal and the tangents. Or a matrix, normal first: three rows of
 * three, in the plane two of two. */
static perp_status read_layer_matrix(perpi_reader* r, const json_t* object, const char* key,
                                     double A[9])
{
    const json_t* value = json_object_get(object, key);
    const size_t n = (size_t)r->dimension;
    if (value == NULL) {
        return PERP_OK;
    }
    if (!json_is_array(value)) {
        double number = 0.0;
        if (!json_is_number(value) && !json_is_string(value)) {
            return perpi_reader_fail_key(r, key, PERP_ERROR_INPUT,
                                         "must be a number or %d rows of %d, got %s", (int)n,
                                         (int)n, perpi_json_kind(value));
        }
        PERPI_TRY(perpi_read_number(r, object, key, &number));
        if (!(number >= 0.0)) {
            return perpi_reader_fail_key(r, key, PERP_ERROR_INPUT, "must be >= 0, got %g", number);
        }
        for (size_t i = 0; i < n; ++i) {
            A[4 * i] = number;
        }
        return PERP_OK;
    }
    const size_t mark = perpi_reader_enter(r, key);
    if (json_array_size(value) != n) {
        return perpi_reader_fail(r, PERP_ERROR_INPUT, "must be a number or %d rows of %d", (int)n,
                                 (int)n);
    }
    for (size_t i = 0; i < n; ++i) {
        const json_t* row = json_array_get(value, i);
        const size_t at = perpi_reader_enter_item(r, i);
        if (!json_is_array(row) || json_array_size(row) != n) {
            return perpi_reader_fail(r, PERP_ERROR_INPUT, "must be a row of %d numbers", (int)n);
        }
        for (size_t j = 0; j < n; ++j) {
            const size_t item = perpi_reader_enter_item(r, j);
            PERPI_TRY(
                perpi_read_item(r, json_array_get(row, j), "must be a number", &A[3 * i + j]));
            perpi_reader_leave(r, item);
        }
        perpi_reader_leave(r, at);
    }
    perpi_reader_leave(r, mark);
    return PERP_OK;
}

static perp_status read_compliance(perpi_reader* r, const json_t* body, perp_body_def* def)
{
    static const char* const keys[] = {"stiffness", "damping", "max_deflection", "patch", NULL};
    static const char* const patch_keys[] = {"spacing", NULL};
    const json_t* value = json_object_get(body, "compliance");
    if (value == NULL) {
        return PERP_OK;
    }
    const size_t mark = perpi_reader_enter(r, "compliance");
    perp_compliance_def* c = &def->compliance;
    def->has_compliance = true;
    c->max_deflection = INFINITY;
    PERPI_TRY(perpi_read_object(r, value, keys));
    PERPI_TRY(perpi_require(r, value, "stiffness"));
    PERPI_TRY(read_layer_matrix(r, value, "stiffness", c->stiffness));
    PERPI_TRY(read_layer_matrix(r, value, "damping", c->damping));
    PERPI_TRY(perpi_read_number(r, value, "max_deflection", &c->max_deflection));
    const json_t* patch = json_object_get(value, "patch");
    if (patch != NULL) {
        const size_t at = perpi_reader_enter(r, "patch");
        PERPI_TRY(perpi_read_object(r, patch, patch_keys));
        PERPI_TRY(perpi_require(r, patch, "spacing"));
        PERPI_TRY(perpi_read_number(r, patch, "spacing", &c->patch));
        if (!(c->patch > 0.0)) {
            return perpi_reader_fail_key(r, "spacing", PERP_ERROR_INPUT, "must be > 0, got %g",
                                         c->patch);
        }
        perpi_reader_leave(r, at);
    }
    perpi_reader_leave(r, mark);
    return PERP_OK;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static perp_status read_color(perpi_reader* r, const json_t* body, double color[3])
{
    const json_t* value = json_object_get(body, "color");
    if (!json_is_string(value)) {
        bool given = false;
        PERPI_TRY(perpi_read_vector(r, body, "color", 3, color, &given));
        for (int i = 0; given && i < 3; ++i) {
            if (!(color[i] >= 0.0 && color[i] <= 1.0)) {
                return perpi_reader_fail_key(r, "color", PERP_ERROR_INPUT,
                                             "must be between 0 and 1, got %g", color[i]);
            }
        }
        return PERP_OK;
    }
    const char* text = json_string_value(value);
    bool good = json_string_length(value) == 7 && text[0] == '#';
    for (int i = 0; good && i < 3; ++i) {
        const int high = hex_digit(text[1 + 2 * i]), low = hex_digit(text[2 + 2 * i]);
        good = high >= 0 && low >= 0;
        color[i] = (16 * high + low) / 255.0;
    }
    if (!good) {
        return perpi_reader_fail_key(r, "color", PERP_ERROR_INPUT,
                                     "must be \"#rrggbb\" or three numbers, got \"%.40s\"", text);
    }
    return PERP_OK;
}

/* A list of names of bodies; *list stays NULL if there is none. */
static perp_status read_names(perpi_reader* r, const json_t* body, const char* key,
                              const char* const** list, int32_t* length)
{
    const json_t* value = json_object_get(body, key);
    if (value == NULL) {
        return PERP_OK;
    }
    const size_t mark = perpi_reader_enter(r, key);
    PERPI_TRY(perpi_read_array(r, value));
    const size_t count = json_array_size(value);
    const char** names = NULL;
    PERPI_TRY(perpi_arena_take(&r->arena, count + 1, sizeof *names, &names));
    for (size_t i = 0; i < count; ++i) {
        const json_t* item = json_array_get(value, i);
        if (!json_is_string(item)) {
            perpi_reader_enter_item(r, i);
            return perpi_reader_fail(r, PERP_ERROR_INPUT, "must be the name of a body, got %s",
                                     perpi_json_kind(item));
        }
        names[i] = json_string_value(item);
    }
    perpi_reader_leave(r, mark);
    *list = names;
    *length = (int32_t)count;
    return PERP_OK;
}

static perp_status read_shapes(perpi_reader* r, const json_t* body, perp_body_def* def)
{
    const json_t* value = json_object_get(body, "shapes");
    if (value == NULL) {
        return PERP_OK;
    }
    const size_t mark = perpi_reader_enter(r, "shapes");
    PERPI_TRY(perpi_read_array(r, value));
    const size_t count = json_array_size(value);
    perp_shape_def* shapes = NULL;
    PERPI_TRY(perpi_arena_take(&r->arena, count + 1, sizeof *shapes, &shapes));
    for (size_t i = 0; i < count; ++i) {
        const size_t item = perpi_reader_enter_item(r, i);
        PERPI_TRY(perpi_read_shape(r, json_array_get(value, i), &shapes[i]));
        perpi_reader_leave(r, item);
    }
    perpi_reader_leave(r, mark);
    def->shapes = shapes;
    def->shape_count = (int32_t)count;
    return PERP_OK;
}

/* At an array of points. */
static perp_status read_planar_point(perpi_reader* r, const json_t* array, size_t index,
                                     double point[2])
{
    const json_t* value = json_array_get(array, index);
    const size_t mark = perpi_reader_enter_item(r, index);
    if (!json_is_array(value) || json_array_size(value) != 2) {
        return perpi_reader_fail(r, PERP_ERROR_INPUT, "must be a point [x, y], got %s",
                                 perpi_json_kind(value));
    }
    for (size_t i = 0; i < 2; ++i) {
        PERPI_TRY(
            perpi_read_item(r, json_array_get(value, i), "must be a point [x, y]", &point[i]));
    }
    perpi_reader_leave(r, mark);
    return PERP_OK;
}

/* The support. mu: one number, or one for each point. */
static perp_status read_support(perpi_reader* r, const json_t* body, perp_support_def* def)
{
    static const char* const keys[] = {"tripod", "mu", "gravity", "load", NULL};
    const json_t* value = json_object_get(body, "support");
    if (value == NULL) {
        return PERP_OK;
    }
    const size_t mark = perpi_reader_enter(r, "support");
    PERPI_TRY(perpi_read_object(r, value, keys));
    PERPI_TRY(perpi_require(r, value, "mu"));
    if (json_is_array(json_object_get(value, "mu"))) {
        PERPI_TRY(perpi_read_vector(r, value, "mu", 3, def->mu, NULL));
    } else {
        PERPI_TRY(perpi_read_number(r, value, "mu", &def->mu[0]));
        def->mu[1] = def->mu[2] = def->mu[0];
    }
    PERPI_TRY(perpi_read_number(r, value, "gravity", &def->gravity));
    PERPI_TRY(perpi_read_number(r, value, "load", &def->load));
    const json_t* tripod = json_object_get(value, "tripod");
    if (tripod != NULL) {
        const size_t inner = perpi_reader_enter(r, "tripod");
        PERPI_TRY(perpi_read_array(r, tripod));
        if (json_array_size(tripod) != 3) {
            return perpi_reader_fail(r, PERP_ERROR_INPUT, "must hold three points, got %zu",
                                     json_array_size(tripod));
        }
        for (size_t i = 0; i < 3; ++i) {
            PERPI_TRY(read_planar_point(r, tripod, i, def->tripod[i]));
        }
        perpi_reader_leave(r, inner);
    }
    perpi_reader_leave(r, mark);
    def->given = true;
    def->has_tripod = tripod != NULL;
    return PERP_OK;
}

/* angular_velocity: numbers only, no expressions. */
static perp_status read_spin(perpi_reader* r, const json_t* body, double w[3])
{
    if (r->dimension == 2) {
        return perpi_read_number(r, body, "angular_velocity", &w[2]);
    }
    return perpi_read_vector(r, body, "angular_velocity", 3, w, NULL);
}

static perp_status read_body(perpi_reader* r, const json_t* value)
{
    PERPI_TRY(perpi_read_object(r, value, known));
    PERPI_TRY(perpi_require(r, value, "name"));

    perp_body_def def = perp_body_def_default();
    PERPI_TRY(perpi_read_string(r, value, "name", &def.name));
    PERPI_TRY(read_type(r, value, &def.type));
    PERPI_TRY(perpi_read_number(r, value, "mass", &def.mass));
    PERPI_TRY(perpi_read_bool(r, value, "massless", &def.massless));
    PERPI_TRY(read_inertia(r, value, &def));
    PERPI_TRY(perpi_read_number(r, value, "density", &def.density));
    PERPI_TRY(perpi_read_space(r, value, "position", def.position, NULL));
    PERPI_TRY(perpi_read_rotation(r, value, def.orientation, &def.angle));
    PERPI_TRY(perpi_read_space(r, value, "velocity", def.velocity, NULL));
    PERPI_TRY(read_spin(r, value, def.angular_velocity));
    PERPI_TRY(perpi_read_number(r, value, "friction", &def.friction));
    perp_impact_law law;
    bool given;
    PERPI_TRY(perpi_read_restitution(r, value, &def.restitution, &law, &given));
    PERPI_TRY(read_compliance(r, value, &def));
    PERPI_TRY(perpi_read_space(r, value, "gravity", def.gravity, &def.has_gravity));
    PERPI_TRY(read_color(r, value, def.color));
    PERPI_TRY(perpi_read_values(r, value, "surface_velocity", r->dimension, def.surface_velocity,
                                def.surface_velocity_text, &def.has_surface_velocity));
    PERPI_TRY(perpi_read_motion(r, value, &def.motion));
    PERPI_TRY(read_support(r, value, &def.support));
    PERPI_TRY(read_names(r, value, "collides_with", &def.collides_with, &def.collides_with_count));
    def.collides_restricted = def.collides_with != NULL;
    PERPI_TRY(read_names(r, value, "ignores", &def.ignores, &def.ignores_count));
    PERPI_TRY(read_shapes(r, value, &def));

    const perp_status status = perp_model_add_body(r->model, &def, NULL);
    return status == PERP_OK ? status : perpi_reader_fail_member(r, status);
}

/* Names in collides_with and ignores may be of later bodies, so they are checked at the end. */
static perp_status check_names(perpi_reader* r, const json_t* body, const char* key)
{
    const json_t* names = json_object_get(body, key);
    for (size_t i = 0; i < json_array_size(names); ++i) {
        const char* name = json_string_value(json_array_get(names, i));
        if (perp_model_body_find(r->model, name) < 0) {
            perpi_reader_enter(r, key);
            perpi_reader_enter_item(r, i);
            const char* nearest = perpi_model_nearest_body(r->model, name);
            return perpi_reader_fail(r, PERP_ERROR_INPUT,
                                     "there is no body named '%.200s'%s%.200s%s", name,
                                     nearest != NULL ? ": did you mean '" : "",
                                     nearest != NULL ? nearest : "", nearest != NULL ? "'?" : "");
        }
    }
    return PERP_OK;
}

perp_status perpi_read_bodies(perpi_reader* r, const json_t* root)
{
    const json_t* bodies = json_object_get(root, "bodies");
    PERPI_TRY(perpi_require(r, root, "bodies"));
    const size_t mark = perpi_reader_enter(r, "bodies");
    PERPI_TRY(perpi_read_array(r, bodies));
    const size_t count = json_array_size(bodies);
    if (count == 0) {
        return perpi_reader_fail(r, PERP_ERROR_INPUT, "must hold at least one body");
    }
    for (size_t i = 0; i < count; ++i) {
        const size_t item = perpi_reader_enter_item(r, i);
        const perpi_arena_mark scratch = perpi_arena_get_mark(&r->arena);
        PERPI_TRY(read_body(r, json_array_get(bodies, i)));
        perpi_arena_rewind(&r->arena, scratch);
        perpi_reader_leave(r, item);
    }
    for (size_t i = 0; i < count; ++i) {
        const size_t item = perpi_reader_enter_item(r, i);
        PERPI_TRY(check_names(r, json_array_get(bodies, i), "collides_with"));
        PERPI_TRY(check_names(r, json_array_get(bodies, i), "ignores"));
        perpi_reader_leave(r, item);
    }
    perpi_reader_leave(r, mark);
    return PERP_OK;
}
