/* src/scene/read_polyhedron.c - a convex polyhedron: its vertices, or those of a solid by name. */
#include <math.h>
#include <string.h>

#include "base/vec.h"
#include "scene/reader.h"

/* Relative to the size of the polyhedron: how far a corner may lie off the plane of its face. */
static const double FLAT = 1e-9;

static double size_of(const perp_shape_def* def)
{
    double size = 0.0;
    for (int32_t i = 0; i < def->vertex_count; ++i) {
        const vec3 d = v3_sub(v3_from(def->vertices + 3 * (size_t)i), v3_from(def->vertices));
        size = fmax(size, v3_norm(d));
    }
    return size;
}

/* The shape is given triangles, each of which is flat: polygonal faces are checked here. */
static perp_status check_flat(perpi_reader* r, const json_t* faces, const perp_shape_def* def)
{
    const double size = size_of(def);
    const size_t mark = perpi_reader_enter(r, "faces");
    for (size_t i = 0; i < json_array_size(faces); ++i) {
        const json_t* face = json_array_get(faces, i);
        const size_t corners = json_array_size(face);
        vec3 o = {0, 0, 0}, last = {0, 0, 0}, n = {0, 0, 0};
        for (size_t k = 0; k < corners; ++k) {
            const json_int_t v = json_integer_value(json_array_get(face, k));
            const vec3 x = v3_from(def->vertices + 3 * (size_t)v);
            o = k == 0 ? x : o;
            n = v3_add(n, v3_cross(last, v3_sub(x, o)));
            last = v3_sub(x, o);
        }
        const double length = v3_norm(n);
        for (size_t k = 0; corners > 3 && k < corners && length > 0.0; ++k) {
            const json_int_t v = json_integer_value(json_array_get(face, k));
            const double off =
                fabs(v3_dot(n, v3_sub(v3_from(def->vertices + 3 * (size_t)v), o))) / length;
            if (!(off <= FLAT * size)) {
                perpi_reader_enter_item(r, i);
                return perpi_reader_fail(r, PERP_ERROR_INPUT,
                                         "is not flat: vertex %d lies %g off the plane of the "
                                         "others; cut the face into triangles",
                                         (int)v, off);
            }
        }
    }
    perpi_reader_leave(r, mark);
    return PERP_OK;
}

static perp_status read_solid(perpi_reader* r, const json_t* shape, perp_shape_def* def)
{
    /* the keys of each solid; others would silently have no effect */
    perp_solid_def solid = {.radius = def->radius, .length = def->length};
    memcpy(solid.size, def->size, sizeof solid.size);
    PERPI_TRY(perpi_read_string(r, shape, "solid", &solid.name));
    PERPI_TRY(perpi_read_integer(r, shape, "sides", 3, PERP_SOLID_SIDES, &solid.sides));
    const bool prism = strcmp(solid.name, "prism") == 0, block = strcmp(solid.name, "block") == 0;
    bool known = false;
    for (int32_t i = 0; perp_solid_name(i) != NULL; ++i) {
        known = known || strcmp(perp_solid_name(i), solid.name) == 0;
    }
    const struct {
        const char* key;
        bool wanted;
    } keys[] = {{"radius", !block}, {"sides", prism}, {"length", prism}, {"size", block}};
    for (size_t i = 0; known && i < sizeof keys / sizeof keys[0]; ++i) {
        if (!keys[i].wanted && json_object_get(shape, keys[i].key) != NULL) {
            return perpi_reader_fail_key(r, keys[i].key, PERP_ERROR_INPUT, "a %s has none",
                                         solid.name);
        }
        if (keys[i].wanted) {
            PERPI_TRY(perpi_require(r, shape, keys[i].key));
        }
    }
    double* vertex = NULL;
    int32_t count = 0;
    PERPI_TRY(perpi_arena_take(&r->arena, 3 * PERP_SOLID_VERTICES, sizeof *vertex, &vertex));
    const perp_status status = perp_solid_vertices(r->context, &solid, vertex, &count);
    if (status != PERP_OK) {
        return perpi_reader_fail_member(r, status);
    }
    def->vertices = vertex;
    def->vertex_count = count;
    return PERP_OK;
}

perp_status perpi_read_polyhedron(perpi_reader* r, const json_t* shape, perp_shape_def* def)
{
    static const char* const belong[] = {"radius", "sides", "length", "size", NULL};
    const bool solid = json_object_get(shape, "solid") != NULL;
    const bool vertices = json_object_get(shape, "vertices") != NULL;
    const bool faces = json_object_get(shape, "faces") != NULL;
    if (solid && (vertices || faces)) {
        return perpi_reader_fail_key(r, "solid", PERP_ERROR_INPUT,
                                     "give a solid, or vertices (and faces), not both");
    }
    if (solid) {
        return read_solid(r, shape, def);
    }
    for (int i = 0; belong[i] != NULL; ++i) {
        if (json_object_get(shape, belong[i]) != NULL) {
            return perpi_reader_fail_key(r, belong[i], PERP_ERROR_INPUT, "belongs to a \"solid\"");
        }
    }
    PERPI_TRY(perpi_require(r, shape, "vertices"));
    PERPI_TRY(perpi_read_points(r, shape, def));
    if (faces) {
        PERPI_TRY(perpi_read_faces(r, shape, def));
        PERPI_TRY(check_flat(r, json_object_get(shape, "faces"), def));
    }
    return PERP_OK;
}
