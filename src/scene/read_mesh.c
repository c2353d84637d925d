/* src/scene/read_mesh.c - mesh files are read once, and their geometry replaces the file name in the
 * scene's tree, so that the scene in a recording is complete without them. */
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "scene/notice.h"
#include "scene/reader.h"
#include "shape/mesh_repair.h"

static perp_status out_of_memory(perpi_reader* r)
{
    return perpi_reader_fail(r, PERP_ERROR_MEMORY, "out of memory");
}

static json_t* vertices_json(const perpi_mesh_data* mesh)
{
    json_t* list = json_array();
    for (size_t i = 0; list != NULL && i < mesh->vertex_count; ++i) {
        const double* x = mesh->vertex + 3 * i;
        json_t* point = json_pack("[f, f, f]", x[0], x[1], x[2]);
        if (point == NULL || json_array_append_new(list, point) != 0) {
            json_decref(list);
            list = NULL;
        }
    }
    return list;
}

static json_t* faces_json(const perpi_mesh_data* mesh)
{
    json_t* list = json_array();
    for (size_t i = 0; list != NULL && i < mesh->triangle_count; ++i) {
        const int32_t* t = mesh->triangle + 3 * i;
        json_t* face = json_pack("[i, i, i]", (int)t[0], (int)t[1], (int)t[2]);
        if (face == NULL || json_array_append_new(list, face) != 0) {
            json_decref(list);
            list = NULL;
        }
    }
    return list;
}

/* A number, or one per axis; none may be 0. */
static perp_status read_scale(perpi_reader* r, const json_t* shape, double scale[3])
{
    const json_t* value = json_object_get(shape, "scale");
    if (value == NULL) {
        return PERP_OK;
    }
    if (json_is_array(value)) {
        PERPI_TRY(perpi_read_vector(r, shape, "scale", 3, scale, NULL));
    } else {
        PERPI_TRY(perpi_read_number(r, shape, "scale", &scale[0]));
        scale[1] = scale[2] = scale[0];
    }
    for (int i = 0; i < 3; ++i) {
        if (!(fabs(scale[i]) > 0.0)) {
            return perpi_reader_fail_key(r, "scale", PERP_ERROR_INPUT, "must not be 0");
        }
    }
    return PERP_OK;
}

/* Pictures and hulls may be open. */
static bool needs_solid(const json_t* shape)
{
    return !json_is_true(json_object_get(shape, "visual")) &&
           !json_is_true(json_object_get(shape, "convex"));
}

static perp_status read_solid(perpi_reader* r, const char* name, const char* path,
                              perpi_mesh_data* mesh)
{
    perpi_mesh_report report;
    char text[512];
    perp_status status = perpi_mesh_repair(r->context, mesh, &report);
    if (status == PERP_OK) {
        status = perpi_mesh_check_holes(r->context, path, &report);
    }
    if (status == PERP_OK && r->notices != NULL &&
        perpi_mesh_report_text(&report, text, sizeof text)) {
        status = perpi_notice_add(r->notices, "%s: %s", name, text);
    }
    return status;
}

static perp_status embed_mesh_file(perpi_reader* r, json_t* shape)
{
    const char* name = NULL;
    PERPI_TRY(perpi_read_string(r, shape, "file", &name));
    if (json_object_get(shape, "vertices") != NULL || json_object_get(shape, "faces") != NULL) {
        return perpi_reader_fail_key(r, "file", PERP_ERROR_INPUT,
                                     "give a file, or vertices and faces, not both");
    }
    double scale[3] = {1, 1, 1};
    PERPI_TRY(read_scale(r, shape, scale));
    char* path = NULL;
    PERPI_TRY(perpi_file_beside(r->context, r->origin, name, &path));
    perpi_mesh_data mesh = {0};
    perp_status status = perpi_mesh_read(r->context, path, &mesh);
    if (status == PERP_OK && needs_solid(shape)) {
        status = read_solid(r, name, path, &mesh);
    }
    perpi_free(r->context, path);
    if (status != PERP_OK) {
        perpi_mesh_free(r->context, &mesh);
        char message[1024];
        strncpy(message, perp_context_error(r->context), sizeof message - 1);
        message[sizeof message - 1] = '\0';
        return perpi_reader_fail_key(r, "file", status, "%s", message);
    }
    perpi_mesh_scale(&mesh, scale);
    const int failed = json_object_set_new(shape, "vertices", vertices_json(&mesh)) |
                       json_object_set_new(shape, "faces", faces_json(&mesh)) |
                       (json_object_get(shape, "source") == NULL
                            ? json_object_set(shape, "source", json_object_get(shape, "file"))
                            : 0);
    (void)json_object_del(shape, "file");
    (void)json_object_del(shape, "scale");
    perpi_mesh_free(r->context, &mesh);
    return failed == 0 ? PERP_OK : out_of_memory(r);
}

perp_status perpi_embed_meshes(perpi_reader* r, json_t* root)
{
    json_t* bodies = json_object_get(root, "bodies");
    const size_t mark = perpi_reader_enter(r, "bodies");
    for (size_t i = 0; i < json_array_size(bodies); ++i) {
        json_t* shapes = json_object_get(json_array_get(bodies, i), "shapes");
        const size_t body = perpi_reader_enter_item(r, i);
        const size_t list = perpi_reader_enter(r, "shapes");
        for (size_t k = 0; k < json_array_size(shapes); ++k) {
            json_t* shape = json_array_get(shapes, k);
            const char* type = json_string_value(json_object_get(shape, "type"));
            if (type != NULL && strcmp(type, "mesh") == 0 && r->dimension == 3 &&
                json_object_get(shape, "file") != NULL) {
                const size_t item = perpi_reader_enter_item(r, k);
                PERPI_TRY(embed_mesh_file(r, shape));
                perpi_reader_leave(r, item);
            }
        }
        perpi_reader_leave(r, list);
        perpi_reader_leave(r, body);
    }
    perpi_reader_leave(r, mark);
    return PERP_OK;
}

/* ---- the geometry in the scene ------------------------------------------------------------------ */

perp_status perpi_read_points(perpi_reader* r, const json_t* shape, perp_shape_def* def)
{
    const json_t* value = json_object_get(shape, "vertices");
    const size_t mark = perpi_reader_enter(r, "vertices");
    PERPI_TRY(perpi_read_array(r, value));
    const size_t count = json_array_size(value);
    double* x = NULL;
    PERPI_TRY(perpi_arena_take(&r->arena, 3 * count + 1, sizeof *x, &x));
    for (size_t i = 0; i < count; ++i) {
        const json_t* point = json_array_get(value, i);
        for (size_t k = 0; k < 3; ++k) {
            const json_t* item = json_array_get(point, k);
            if (json_array_size(point) == 3 && json_is_number(item)) {
                x[3 * i + k] = json_number_value(item);
                continue;
            }
            const size_t place = perpi_reader_enter_item(r, i);
            if (json_array_size(point) != 3) {
                return perpi_reader_fail(r, PERP_ERROR_INPUT, "must be three numbers");
            }
            PERPI_TRY(perpi_read_item(r, item, "must be three numbers", &x[3 * i + k]));
            perpi_reader_leave(r, place);
        }
    }
    perpi_reader_leave(r, mark);
    if (count > INT32_MAX / 4) {
        return perpi_reader_fail_key(r, "vertices", PERP_ERROR_INPUT, "too many: %zu", count);
    }
    def->vertices = x;
    def->vertex_count = (int32_t)count;
    return PERP_OK;
}

/* One face; a polygon becomes a fan. Returns the number of triangles, 0 if it is not a face. */
static size_t read_face(const json_t* face, int32_t vertices, int32_t* triangle)
{
    const size_t corners = json_array_size(face);
    for (size_t i = 0; i < corners; ++i) {
        const json_t* item = json_array_get(face, i);
        const json_int_t v = json_integer_value(item);
        if (!json_is_integer(item) || v < 0 || v >= vertices) {
            return 0;
        }
    }
    for (size_t i = 2; triangle != NULL && i < corners; ++i) {
        triangle[3 * i - 6] = (int32_t)json_integer_value(json_array_get(face, 0));
        triangle[3 * i - 5] = (int32_t)json_integer_value(json_array_get(face, i - 1));
        triangle[3 * i - 4] = (int32_t)json_integer_value(json_array_get(face, i));
    }
    return corners < 3 ? 0 : corners - 2;
}

perp_status perpi_read_faces(perpi_reader* r, const json_t* shape, perp_shape_def* def)
{
    const json_t* value = json_object_get(shape, "faces");
    const size_t mark = perpi_reader_enter(r, "faces");
    PERPI_TRY(perpi_read_array(r, value));
    size_t total = 0;
    for (size_t i = 0; i < json_array_size(value); ++i) {
        const size_t n = read_face(json_array_get(value, i), def->vertex_count, NULL);
        if (n == 0) {
            perpi_reader_enter_item(r, i);
            return perpi_reader_fail(
                r, PERP_ERROR_INPUT,
                "must be a list of at least 3 vertices, each a number from 0 to %d",
                (int)def->vertex_count - 1);
        }
        total += n;
    }
    perpi_reader_leave(r, mark);
    if (total > PERPI_MESH_TRIANGLE_LIMIT) {
        return perpi_reader_fail_key(r, "faces", PERP_ERROR_INPUT, "more than %d triangles",
                                     PERPI_MESH_TRIANGLE_LIMIT);
    }
    int32_t* triangle = NULL;
    PERPI_TRY(perpi_arena_take(&r->arena, 3 * total + 1, sizeof *triangle, &triangle));
    size_t at = 0;
    for (size_t i = 0; i < json_array_size(value); ++i) {
        at += read_face(json_array_get(value, i), def->vertex_count, triangle + 3 * at);
    }
    def->triangles = triangle;
    def->triangle_count = (int32_t)total;
    return PERP_OK;
}

perp_status perpi_read_mesh(perpi_reader* r, const json_t* shape, perp_shape_def* def)
{
    if (json_object_get(shape, "scale") != NULL) {
        return perpi_reader_fail_key(r, "scale", PERP_ERROR_INPUT, "belongs to a file");
    }
    PERPI_TRY(perpi_read_string(r, shape, "source", &def->source));
    PERPI_TRY(perpi_require(r, shape, "vertices"));
    PERPI_TRY(perpi_require(r, shape, "faces"));
    PERPI_TRY(perpi_read_points(r, shape, def));
    PERPI_TRY(perpi_read_bool(r, shape, "decompose", &def->decompose));
    PERPI_TRY(perpi_read_bool(r, shape, "convex", &def->convex));
    return perpi_read_faces(r, shape, def);
}
