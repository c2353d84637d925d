/* src/shape/mesh_dae.c - reading COLLADA. See mesh_dae.h.
 *
 * Source     COLLADA 1.4.1: geometry (sources, vertices, triangles, polylist, polygons), nodes of the visual
 *            scene with matrix, translate, rotate and scale, unit and up_axis
 * Departure  controllers, lines, splines and materials are skipped; without a scene every geometry is taken
 *            once, where it is
 */
#include "shape/mesh_dae.h"

#include <expat.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/number.h"
#include "base/vec.h"

enum { DEPTH = 64, NODES = 200000, INSTANCES = 10000 };
#define NUMBERS ((size_t)8 * 1000 * 1000) /* of one list */

#define TRY(call)                                                                                  \
    do {                                                                                           \
        const perp_status dae_status = (call);                                                     \
        if (dae_status != PERP_OK) {                                                               \
            return dae_status;                                                                     \
        }                                                                                          \
    } while (0)

typedef struct dae_node {
    const char *name, *id, *url, *source, *semantic, *offset, *stride, *meter;
    const char* text; /* of the elements whose text is read, zero-terminated; else NULL */
    long line;
    struct dae_node *child, *last, *next;
} dae_node;

typedef struct dae {
    perp_context* context;
    const char* origin;
    perpi_arena arena;
    perpi_mesh_data* mesh;
    XML_Parser expat;
    dae_node* open[DEPTH];
    int depth, nodes, instances;
    dae_node* root;
    char* buffer; /* text of the element that is open */
    size_t used, capacity;
    bool keeps;
    perp_status status;
} dae;

/* The vertices of a geometry in the mesh. */
typedef struct dae_range {
    int32_t first;
    size_t count;
} dae_range;

/* Rows of an affine map. */
typedef struct affine {
    mat3 A;
    vec3 x;
} affine;

static perp_status dae_fail(dae* d, long line, const char* message, const char* what)
{
    return perpi_fail(d->context, PERP_ERROR_INPUT, "%s: line %ld: %s%.80s", d->origin, line,
                      message, what);
}

/* ---- elements ----------------------------------------------------------------------------------- */

static bool has_text(const char* name)
{
    static const char* const names[] = {"float_array", "p",     "vcount",  "matrix", "translate",
                                        "rotate",      "scale", "up_axis", NULL};
    for (int i = 0; names[i] != NULL; ++i) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static perp_status copy_text(dae* d, const char* text, size_t length, const char** to)
{
    char* copy = NULL;
    TRY(perpi_arena_take(&d->arena, length + 1, 1, &copy));
    memcpy(copy, text, length);
    copy[length] = '\0';
    *to = copy;
    return PERP_OK;
}

static perp_status open_element(dae* d, const char* name, const char** attribute)
{
    const long line = (long)XML_GetCurrentLineNumber(d->expat);
    if (d->depth == DEPTH || d->nodes == NODES) {
        return dae_fail(d, line, "too deep or too many elements", "");
    }
    dae_node* node = NULL;
    TRY(perpi_arena_take(&d->arena, 1, sizeof *node, &node));
    *node = (dae_node){.line = line};
    const char* colon = strrchr(name, ':');
    TRY(copy_text(d, colon != NULL ? colon + 1 : name, strlen(colon != NULL ? colon + 1 : name),
                  &node->name));
    static const char* const key[] = {"id",     "url",    "source", "semantic",
                                      "offset", "stride", "meter"};
    const char** const to[] = {&node->id,     &node->url,    &node->source, &node->semantic,
                               &node->offset, &node->stride, &node->meter};
    for (int i = 0; attribute[i] != NULL; i += 2) {
        for (int k = 0; k < 7; ++k) {
            if (strcmp(attribute[i], key[k]) == 0) {
                TRY(copy_text(d, attribute[i + 1], strlen(attribute[i + 1]), to[k]));
            }
        }
    }
    if (d->depth == 0) {
        d->root = node;
    } else {
        dae_node* up = d->open[d->depth - 1];
        if (up->last != NULL) {
            up->last->next = node;
        } else {
            up->child = node;
        }
        up->last = node;
    }
    d->open[d->depth++] = node;
    d->nodes += 1;
    d->keeps = has_text(node->name);
    d->used = 0;
    return PERP_OK;
}

static void dae_stop(dae* d, perp_status status)
{
    if (status != PERP_OK) {
        d->status = status;
        XML_StopParser(d->expat, XML_FALSE);
    }
}

static void XMLCALL on_open(void* user, const XML_Char* name, const XML_Char** attribute)
{
    dae* d = user;
    if (d->status == PERP_OK) {
        dae_stop(d, open_element(d, name, attribute));
    }
}

static void XMLCALL on_close(void* user, const XML_Char* name)
{
    dae* d = user;
    (void)name;
    if (d->status != PERP_OK || d->depth == 0) {
        return;
    }
    dae_node* node = d->open[--d->depth];
    if (d->keeps) {
        dae_stop(d, copy_text(d, d->buffer != NULL ? d->buffer : "", d->used, &node->text));
    }
    d->keeps = false;
}

static void XMLCALL on_characters(void* user, const XML_Char* text, int length)
{
    dae* d = user;
    if (d->status != PERP_OK || !d->keeps || length <= 0) {
        return;
    }
    const perp_status status =
        perpi_grow(d->context, &d->buffer, &d->capacity, d->used + (size_t)length, 1);
    if (status == PERP_OK) {
        memcpy(d->buffer + d->used, text, (size_t)length);
        d->used += (size_t)length;
    }
    dae_stop(d, status);
}

/* Entities could be defined there. */
static void XMLCALL on_doctype(void* user, const XML_Char* name, const XML_Char* system,
                               const XML_Char* public, int internal)
{
    dae* d = user;
    (void)name, (void)system, (void)public, (void)internal;
    dae_stop(d, dae_fail(d, (long)XML_GetCurrentLineNumber(d->expat),
                         "a document type is not allowed", ""));
}

static perp_status parse_xml(dae* d, const char* text, size_t length)
{
    d->expat = XML_ParserCreate(NULL);
    if (d->expat == NULL) {
        return perpi_fail(d->context, PERP_ERROR_MEMORY, "out of memory");
    }
    XML_SetUserData(d->expat, d);
    XML_SetElementHandler(d->expat, on_open, on_close);
    XML_SetCharacterDataHandler(d->expat, on_characters);
    XML_SetStartDoctypeDeclHandler(d->expat, on_doctype);
    const bool good = XML_Parse(d->expat, text, (int)length, XML_TRUE) == XML_STATUS_OK;
    perp_status status = d->status;
    if (!good && status == PERP_OK) {
        status = dae_fail(d, (long)XML_GetCurrentLineNumber(d->expat),
                          "this is not XML: ", XML_ErrorString(XML_GetErrorCode(d->expat)));
    }
    XML_ParserFree(d->expat);
    return status;
}

/* ---- what is looked for ------------------------------------------------------------------------- */

static const dae_node* child_of(const dae_node* node, const char* name)
{
    for (const dae_node* c = node != NULL ? node->child : NULL; c != NULL; c = c->next) {
        if (strcmp(c->name, name) == 0) {
            return c;
        }
    }
    return NULL;
}

/* The element of an id ("#id"), anywhere below. */
static const dae_node* find_id(const dae_node* node, const char* reference)
{
    const char* id = reference != NULL && reference[0] == '#' ? reference + 1 : NULL;
    if (id == NULL || node == NULL) {
        return NULL;
    }
    if (node->id != NULL && strcmp(node->id, id) == 0) {
        return node;
    }
    for (const dae_node* c = node->child; c != NULL; c = c->next) {
        const dae_node* found = find_id(c, reference);
        if (found != NULL) {
            return found;
        }
    }
    return NULL;
}

/* All numbers of a text, in the arena. */
static perp_status read_numbers(dae* d, const dae_node* node, double** out, size_t* count)
{
    static const char blank[] = " \t\r\n";
    const char* text = node->text != NULL ? node->text : "";
    size_t n = 0;
    for (const char* s = text + strspn(text, blank); *s != '\0'; s += strspn(s, blank)) {
        s += strcspn(s, blank);
        n += 1;
    }
    if (n > NUMBERS) {
        return dae_fail(d, node->line, "too many numbers", "");
    }
    TRY(perpi_arena_take(&d->arena, n + 1, sizeof **out, out));
    size_t k = 0;
    long line = node->line;
    for (const char* s = text; k < n; ++k) {
        for (; strchr(blank, *s) != NULL && *s != '\0'; ++s) {
            line += *s == '\n' ? 1 : 0;
        }
        const size_t length = strcspn(s, blank);
        if (!perpi_number_parse(s, length, &(*out)[k])) {
            return dae_fail(d, line, "must be a number: ", s);
        }
        s += length;
    }
    *count = n;
    return PERP_OK;
}

static perp_status read_exactly(dae* d, const dae_node* node, size_t count, double* out)
{
    double* x = NULL;
    size_t n = 0;
    TRY(read_numbers(d, node, &x, &n));
    if (n != count) {
        return dae_fail(d, node->line, "has the wrong number of numbers: ", node->name);
    }
    memcpy(out, x, n * sizeof *out);
    return PERP_OK;
}

static int small_number(const char* text, int otherwise)
{
    long n = otherwise;
    return text != NULL && perpi_integer_parse(text, strlen(text), &n) && n >= 0 && n < 100
               ? (int)n
               : otherwise;
}

/* ---- geometry ----------------------------------------------------------------------------------- */

static affine compose(affine a, affine b)
{
    return (affine){m3_mm(a.A, b.A), v3_add(a.x, m3_mul(a.A, b.x))};
}

static double determinant(mat3 A)
{
    return v3_dot(m3_column(A, 0), v3_cross(m3_column(A, 1), m3_column(A, 2)));
}

static perp_status add_triangle(dae* d, long line, int32_t a, int32_t b, int32_t c)
{
    perpi_mesh_data* mesh = d->mesh;
    if (mesh->triangle_count == PERPI_MESH_TRIANGLE_LIMIT) {
        return dae_fail(d, line, "too many triangles", "");
    }
    TRY(perpi_grow(d->context, &mesh->triangle, &mesh->triangle_capacity,
                   3 * (mesh->triangle_count + 1), sizeof *mesh->triangle));
    int32_t* t = mesh->triangle + 3 * mesh->triangle_count++;
    t[0] = a, t[1] = b, t[2] = c;
    return PERP_OK;
}

/* The positions that the vertices of a geometry name, added to the mesh. */
static perp_status add_positions(dae* d, const dae_node* mesh, const affine* at, dae_range* made)
{
    const dae_node* vertices = child_of(mesh, "vertices");
    const dae_node* source = NULL;
    for (const dae_node* c = vertices != NULL ? vertices->child : NULL; c != NULL; c = c->next) {
        if (c->semantic != NULL && strcmp(c->semantic, "POSITION") == 0) {
            source = find_id(mesh, c->source);
        }
    }
    const dae_node* array = child_of(source, "float_array");
    if (array == NULL) {
        return dae_fail(d, mesh->line, "a mesh without positions", "");
    }
    const dae_node* accessor = child_of(child_of(source, "technique_common"), "accessor");
    const size_t stride = (size_t)small_number(accessor != NULL ? accessor->stride : NULL, 3);
    double* x = NULL;
    size_t n = 0;
    TRY(read_numbers(d, array, &x, &n));
    if (stride < 3 || n < stride ||
        d->mesh->vertex_count + n / stride > 3 * PERPI_MESH_TRIANGLE_LIMIT) {
        return dae_fail(d, array->line, "positions are triples, and not too many", "");
    }
    perpi_mesh_data* to = d->mesh;
    *made = (dae_range){(int32_t)to->vertex_count, n / stride};
    TRY(perpi_grow(d->context, &to->vertex, &to->vertex_capacity,
                   3 * (to->vertex_count + made->count), sizeof *to->vertex));
    for (size_t i = 0; i < made->count; ++i) {
        const vec3 moved = v3_add(at->x, m3_mul(at->A, v3_from(x + stride * i)));
        v3_to(moved, to->vertex + 3 * to->vertex_count++);
    }
    return PERP_OK;
}

/* Faces of <triangles>, <polylist> or one <p> of <polygons>. size: corners of each face, NULL: count of
 * corners is `corners` for all, 0: all of p is one face. */
static perp_status add_faces(dae* d, const dae_node* p, const double* size, size_t faces,
                             size_t corners, const int skip[2], bool mirrored, dae_range vertices)
{
    double* index = NULL;
    size_t n = 0, at = 0;
    TRY(read_numbers(d, p, &index, &n));
    const size_t stride = (size_t)skip[0], offset = (size_t)skip[1];
    const size_t all = n / stride;
    const size_t count = size != NULL ? faces : corners > 0 ? all / corners : 1;
    for (size_t f = 0; f < count; ++f) {
        const double asked = size != NULL ? size[f] : corners > 0 ? (double)corners : (double)all;
        if (!(asked >= 0.0 && asked <= (double)(all - at))) {
            return dae_fail(d, p->line, "fewer corners than the faces have", "");
        }
        int32_t corner[3] = {0};
        for (size_t k = 0; k < (size_t)asked; ++k, ++at) {
            const double v = index[at * stride + offset];
            if (!(v >= 0.0 && v < (double)vertices.count)) {
                return dae_fail(d, p->line, "there is no such vertex", "");
            }
            const int32_t own = vertices.first + (int32_t)v;
            corner[k < 2 ? k : 2] = own;
            if (k >= 2) {
                TRY(add_triangle(d, p->line, corner[0], mirrored ? own : corner[1],
                                 mirrored ? corner[1] : own));
                corner[1] = own;
            }
        }
    }
    return PERP_OK;
}

static perp_status add_primitive(dae* d, const dae_node* node, bool mirrored, dae_range vertices)
{
    const bool triangles = strcmp(node->name, "triangles") == 0;
    int skip[2] = {1, 0};
    for (const dae_node* c = node->child; c != NULL; c = c->next) {
        if (strcmp(c->name, "input") == 0) {
            const int offset = small_number(c->offset, 0);
            skip[0] = offset + 1 > skip[0] ? offset + 1 : skip[0];
            if (c->semantic != NULL && strcmp(c->semantic, "VERTEX") == 0) {
                skip[1] = offset;
            }
        }
    }
    double* size = NULL;
    size_t faces = 0;
    const dae_node* counts = child_of(node, "vcount");
    if (strcmp(node->name, "polylist") == 0) {
        if (counts == NULL) {
            return dae_fail(d, node->line, "<polylist> needs <vcount>", "");
        }
        TRY(read_numbers(d, counts, &size, &faces));
    }
    for (const dae_node* c = node->child; c != NULL; c = c->next) {
        if (strcmp(c->name, "p") == 0) {
            TRY(add_faces(d, c, size, faces, triangles ? 3 : 0, skip, mirrored, vertices));
        }
    }
    return PERP_OK;
}

static perp_status add_geometry(dae* d, const dae_node* geometry, const affine* at)
{
    const dae_node* mesh = child_of(geometry, "mesh");
    if (mesh == NULL) {
        return PERP_OK; /* a spline */
    }
    dae_range vertices = {0, 0};
    TRY(add_positions(d, mesh, at, &vertices));
    for (const dae_node* c = mesh->child; c != NULL; c = c->next) {
        if (strcmp(c->name, "triangles") == 0 || strcmp(c->name, "polylist") == 0 ||
            strcmp(c->name, "polygons") == 0) {
            TRY(add_primitive(d, c, determinant(at->A) < 0.0, vertices));
        }
    }
    return PERP_OK;
}

/* ---- nodes -------------------------------------------------------------------------------------- */

static perp_status read_transform(dae* d, const dae_node* c, affine* to)
{
    double x[16];
    affine by = {m3_identity(), v3(0, 0, 0)};
    if (strcmp(c->name, "matrix") == 0) {
        TRY(read_exactly(d, c, 16, x));
        by.A = (mat3){{{x[0], x[1], x[2]}, {x[4], x[5], x[6]}, {x[8], x[9], x[10]}}};
        by.x = v3(x[3], x[7], x[11]);
    } else if (strcmp(c->name, "translate") == 0) {
        TRY(read_exactly(d, c, 3, x));
        by.x = v3_from(x);
    } else if (strcmp(c->name, "scale") == 0) {
        TRY(read_exactly(d, c, 3, x));
        for (int i = 0; i < 3; ++i) {
            by.A.m[i][i] = x[i];
        }
    } else if (strcmp(c->name, "rotate") == 0) {
        TRY(read_exactly(d, c, 4, x));
        const vec3 axis = v3_from(x);
        if (v3_norm(axis) > 0.0) {
            by.A = q4_matrix(q4_exp(v3_scale(x[3] * 0.017453292519943295, v3_unit(axis))));
        }
    } else {
        return PERP_OK;
    }
    *to = compose(*to, by);
    return PERP_OK;
}

static perp_status add_node(dae* d, const dae_node* node, affine at, int depth)
{
    if (depth > DEPTH || d->instances++ > INSTANCES) {
        return dae_fail(d, node->line, "too many nodes inside each other", "");
    }
    for (const dae_node* c = node->child; c != NULL; c = c->next) {
        TRY(read_transform(d, c, &at));
    }
    for (const dae_node* c = node->child; c != NULL; c = c->next) {
        if (strcmp(c->name, "node") == 0) {
            TRY(add_node(d, c, at, depth + 1));
        } else if (strcmp(c->name, "instance_geometry") == 0 ||
                   strcmp(c->name, "instance_node") == 0) {
            const dae_node* other = find_id(d->root, c->url);
            if (other == NULL) {
                return dae_fail(d, c->line,
                                "there is nothing with this id: ", c->url != NULL ? c->url : "");
            }
            TRY(c->name[9] == 'g' ? add_geometry(d, other, &at)
                                  : add_node(d, other, at, depth + 1));
        }
    }
    return PERP_OK;
}

/* Metres, and z up. */
static perp_status read_asset(dae* d, affine* at)
{
    const dae_node* asset = child_of(d->root, "asset");
    const dae_node *unit = child_of(asset, "unit"), *up = child_of(asset, "up_axis");
    double scale = 1.0;
    if (unit != NULL && unit->meter != NULL &&
        (!perpi_number_parse(unit->meter, strlen(unit->meter), &scale) || !(scale > 0.0))) {
        return dae_fail(d, unit->line, "<unit> meter: must be > 0, got ", unit->meter);
    }
    mat3 A = m3_identity();
    if (up != NULL && up->text != NULL && strstr(up->text, "Y_UP") != NULL) {
        A = (mat3){{{1, 0, 0}, {0, 0, -1}, {0, 1, 0}}};
    } else if (up != NULL && up->text != NULL && strstr(up->text, "X_UP") != NULL) {
        A = (mat3){{{0, -1, 0}, {0, 0, -1}, {1, 0, 0}}};
    }
    for (int i = 0; i < 9; ++i) {
        A.m[i / 3][i % 3] *= scale;
    }
    *at = (affine){A, v3(0, 0, 0)};
    return PERP_OK;
}

static perp_status add_scene(dae* d)
{
    affine at;
    if (strcmp(d->root->name, "COLLADA") != 0) {
        return dae_fail(d, d->root->line, "the root is not <COLLADA> but ", d->root->name);
    }
    TRY(read_asset(d, &at));
    const dae_node* library = child_of(d->root, "library_visual_scenes");
    const dae_node* asked = child_of(child_of(d->root, "scene"), "instance_visual_scene");
    const dae_node* scene = asked != NULL ? find_id(library, asked->url) : NULL;
    scene = scene != NULL ? scene : child_of(library, "visual_scene");
    if (scene != NULL) {
        TRY(add_node(d, scene, at, 0));
    }
    const dae_node* geometries = child_of(d->root, "library_geometries");
    if (d->mesh->triangle_count == 0 && geometries != NULL) {
        for (const dae_node* c = geometries->child; c != NULL; c = c->next) {
            TRY(add_geometry(d, c, &at));
        }
    }
    return PERP_OK;
}

perp_status perpi_mesh_read_dae(perp_context* context, const char* text, size_t length,
                                const char* origin, perpi_mesh_data* mesh)
{
    dae d = {.context = context, .origin = origin, .mesh = mesh};
    if (length > 0x7fffffff) {
        return perpi_fail(context, PERP_ERROR_INPUT, "%s: too large", origin);
    }
    perpi_arena_init(&d.arena, context);
    perp_status status = parse_xml(&d, text, length);
    if (status == PERP_OK) {
        status = add_scene(&d);
    }
    perpi_free(context, d.buffer);
    perpi_arena_free(&d.arena);
    return status;
}
