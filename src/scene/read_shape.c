/* src/scene/read_shape.c - one entry of bodies[].shapes. */
#include "scene/reader.h"

/* The keys of each shape. A key after '?' is optional. The names of shapes are defined in
 * src/shape. */
enum { KEY_LIMIT = 8 };
static const struct {
    perp_shape_type type;
    const char* keys[KEY_LIMIT];
} parameters[] = {
    {PERP_SHAPE_PARTICLE, {NULL, NULL}},
    {PERP_SHAPE_SPHERE, {"radius", NULL}},
    {PERP_SHAPE_PLANE, {"normal", "?offset"}},
    {PERP_SHAPE_BOX, {"size", NULL}},
    {PERP_SHAPE_CAPSULE, {"radius", "length"}},
    {PERP_SHAPE_CIRCLE, {"radius", NULL}},
    {PERP_SHAPE_HALFPLANE, {"normal", "?offset"}},
    {PERP_SHAPE_BOX2, {"size", NULL}},
    {PERP_SHAPE_CYLINDER, {"radius", "length"}},
    {PERP_SHAPE_MESH,
     {"?file", "?scale", "?vertices", "?faces", "?source", "?decompose", "?convex"}},
    {PERP_SHAPE_POLYGON, {"vertices", NULL}},
    {PERP_SHAPE_POLYHEDRON,
     {"?vertices", "?faces", "?solid", "?radius", "?sides", "?length", "?size"}},
    {PERP_SHAPE_ELLIPSOID, {"radii", NULL}},
    {PERP_SHAPE_SUPERQUADRIC, {"radii", "exponents"}},
    {PERP_SHAPE_SUPERELLIPSE, {"radii", "exponent"}},
};
enum { PARAMETER_COUNT = sizeof parameters / sizeof parameters[0] };
_Static_assert((int)PARAMETER_COUNT == (int)PERP_SHAPE_TYPE_COUNT, "every shape has its keys here");

/* Checks that the shape has only its keys, and all that it needs. */
static perp_status check_keys(perpi_reader* r, const json_t* value, perp_shape_type type)
{
    const char* known[9 + KEY_LIMIT + 1] = {"type",    "position", "orientation",      "axis_angle",
                                            "angle",   "friction", "surface_velocity", "visual",
                                            "collides"};
    size_t n = 9;
    for (size_t i = 0; i < PARAMETER_COUNT; ++i) {
        for (size_t k = 0; parameters[i].type == type && k < KEY_LIMIT; ++k) {
            const char* key = parameters[i].keys[k];
            if (key != NULL) {
                known[n++] = key[0] == '?' ? key + 1 : key;
            }
        }
    }
    PERPI_TRY(perpi_read_object(r, value, known));
    for (size_t i = 0; i < PARAMETER_COUNT; ++i) {
        for (size_t k = 0; parameters[i].type == type && k < KEY_LIMIT; ++k) {
            const char* key = parameters[i].keys[k];
            if (key != NULL && key[0] != '?') {
                PERPI_TRY(perpi_require(r, value, key));
            }
        }
    }
    return PERP_OK;
}

/* A list of points; the shape checks their number and that they form a polygon. */
static perp_status read_vertices(perpi_reader* r, const json_t* object, perp_shape_def* def)
{
    const json_t* value = json_object_get(object, "vertices");
    if (value == NULL) {
        return PERP_OK;
    }
    const size_t mark = perpi_reader_enter(r, "vertices");
    PERPI_TRY(perpi_read_array(r, value));
    const size_t count = json_array_size(value);
    if (count > PERP_POLYGON_LIMIT) {
        return perpi_reader_fail(r, PERP_ERROR_INPUT, "must be 3 to %d points, got %zu",
                                 PERP_POLYGON_LIMIT, count);
    }
    double* xy = NULL;
    PERPI_TRY(perpi_arena_take(&r->arena, 2 * count + 1, sizeof *xy, &xy));
    for (size_t i = 0; i < count; ++i) {
        const json_t* point = json_array_get(value, i);
        const size_t at = perpi_reader_enter_item(r, i);
        if (!json_is_array(point) || json_array_size(point) != 2) {
            return perpi_reader_fail(r, PERP_ERROR_INPUT, "must be a point of 2 numbers");
        }
        for (size_t k = 0; k < 2; ++k) {
            PERPI_TRY(perpi_read_item(r, json_array_get(point, k), "must be a point of 2 numbers",
                                      &xy[2 * i + k]));
        }
        perpi_reader_leave(r, at);
    }
    perpi_reader_leave(r, mark);
    def->vertices = xy;
    def->vertex_count = (int32_t)count;
    return PERP_OK;
}

perp_status perpi_read_shape(perpi_reader* r, const json_t* value, perp_shape_def* shape)
{
    if (!json_is_object(value)) {
        return perpi_reader_fail(r, PERP_ERROR_INPUT, "must be an object, got %s",
                                 perpi_json_kind(value));
    }
    PERPI_TRY(perpi_require(r, value, "type"));
    const char* name = NULL;
    PERPI_TRY(perpi_read_string(r, value, "type", &name));
    perp_shape_type type;
    const perp_status status = perp_shape_find(r->context, name, r->dimension, &type);
    if (status != PERP_OK) {
        perpi_reader_enter(r, "type");
        return perpi_reader_fail_member(r, status);
    }
    PERPI_TRY(check_keys(r, value, type));

    perp_shape_def def = perp_shape_def_default(type);
    PERPI_TRY(perpi_read_number(r, value, "radius", &def.radius));
    PERPI_TRY(perpi_read_number(r, value, "length", &def.length));
    PERPI_TRY(perpi_read_space(r, value, "size", def.size, NULL));
    PERPI_TRY(perpi_read_space(r, value, "radii", def.radii, NULL));
    PERPI_TRY(perpi_read_number(r, value, "exponent", &def.exponents[0]));
    PERPI_TRY(perpi_read_vector(r, value, "exponents", 2, def.exponents, NULL));
    PERPI_TRY(perpi_read_space(r, value, "normal", def.normal, NULL));
    PERPI_TRY(perpi_read_number(r, value, "offset", &def.offset));
    if (type == PERP_SHAPE_POLYGON) {
        PERPI_TRY(read_vertices(r, value, &def));
    }
    PERPI_TRY(perpi_read_space(r, value, "position", def.position, NULL));
    PERPI_TRY(perpi_read_rotation(r, value, def.orientation, &def.angle));
    PERPI_TRY(perpi_read_number(r, value, "friction", &def.friction));
    PERPI_TRY(perpi_read_values(r, value, "surface_velocity", r->dimension, def.surface_velocity,
                                def.surface_velocity_text, &def.has_surface_velocity));
    bool collides = true;
    PERPI_TRY(perpi_read_bool(r, value, "visual", &def.visual));
    PERPI_TRY(perpi_read_bool(r, value, "collides", &collides));
    if (def.visual && collides && json_object_get(value, "collides") != NULL) {
        return perpi_reader_fail_key(r, "collides", PERP_ERROR_INPUT,
                                     "a visual shape is for display only: it cannot collide");
    }
    def.contactless = !collides;
    if (type == PERP_SHAPE_MESH) {
        PERPI_TRY(perpi_read_mesh(r, value, &def));
    } else if (type == PERP_SHAPE_POLYHEDRON) {
        PERPI_TRY(perpi_read_polyhedron(r, value, &def));
    }
    *shape = def;
    return PERP_OK;
}
