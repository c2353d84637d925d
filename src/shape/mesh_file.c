/* src/shape/mesh_file.c - see mesh_file.h.
 *
 * .poly   as the simulator of [W14] reads it: the number of vertices, a line per vertex (its number
 *         may stand before x y z), the number of faces, a line per face with the numbers of its
 *         vertices, counted from 1. Comments begin with #, % or //; brackets,
 *         semicolons, equals signs, letters and words are skipped.
 * STL     "solid", facets of three vertices, or the binary layout: 80 bytes, a count, 50 bytes each.
 *         Equal vertices are joined; normals are not read.
 * OBJ     v and f; the rest concerns rendering (vt, vn, usemtl, ...) and is skipped.
 */
#include "shape/mesh_file.h"

#include "shape/mesh_dae.h"
#include "shape/mesh_repair.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/number.h"

typedef struct reader {
    perp_context* context;
    const char* origin;
    const char* at;
    const char* end;
    long line;
    perpi_mesh_data* mesh;
} reader;

typedef struct word {
    const char* text;
    size_t length;
} word;

static perp_status fail(const reader* r, const char* message)
{
    return perpi_fail(r->context, PERP_ERROR_INPUT, "%s: line %ld: %s", r->origin, r->line,
                      message);
}

static perp_status fail_word(const reader* r, const char* expected, word w)
{
    return perpi_fail(r->context, PERP_ERROR_INPUT, "%s: line %ld: expected %s, got '%.*s'",
                      r->origin, r->line, expected, w.length > 40 ? 40 : (int)w.length, w.text);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* ---- common to all formats ---------------------------------------------------------------------- */

static perp_status add_vertex(const reader* r, const double x[3])
{
    perpi_mesh_data* m = r->mesh;
    if (m->vertex_count >= 3 * (size_t)PERPI_MESH_TRIANGLE_LIMIT) {
        return fail(r, "too many vertices");
    }
    const perp_status status = perpi_grow(r->context, &m->vertex, &m->vertex_capacity,
                                          3 * m->vertex_count + 3, sizeof *m->vertex);
    if (status == PERP_OK) {
        memcpy(m->vertex + 3 * m->vertex_count, x, 3 * sizeof *x);
        m->vertex_count += 1;
    }
    return status;
}

static perp_status add_triangle(const reader* r, int32_t a, int32_t b, int32_t c)
{
    perpi_mesh_data* m = r->mesh;
    if (m->triangle_count >= (size_t)PERPI_MESH_TRIANGLE_LIMIT) {
        return perpi_fail(r->context, PERP_ERROR_INPUT,
                          "%s: line %ld: more than %d triangles: simplify the mesh", r->origin,
                          r->line, PERPI_MESH_TRIANGLE_LIMIT);
    }
    const perp_status status = perpi_grow(r->context, &m->triangle, &m->triangle_capacity,
                                          3 * m->triangle_count + 3, sizeof *m->triangle);
    if (status == PERP_OK) {
        int32_t* t = m->triangle + 3 * m->triangle_count;
        t[0] = a;
        t[1] = b;
        t[2] = c;
        m->triangle_count += 1;
    }
    return status;
}

/* Splits a polygon, given corner by corner, into a fan of triangles. */
typedef struct fan {
    int32_t first, last;
    int count;
} fan;

static perp_status fan_add(const reader* r, fan* f, int32_t corner)
{
    perp_status status = PERP_OK;
    if (f->count >= 2) {
        status = add_triangle(r, f->first, f->last, corner);
    } else if (f->count == 0) {
        f->first = corner;
    }
    f->last = corner;
    f->count += 1;
    return status;
}

/* ---- words of a line ---------------------------------------------------------------------------- */

/* The next word of the line, empty at its end. */
static word next_word(reader* r)
{
    while (r->at < r->end && is_space(*r->at)) {
        ++r->at;
    }
    const char* from = r->at;
    while (r->at < r->end && !is_space(*r->at) && *r->at != '\n') {
        ++r->at;
    }
    return (word){from, (size_t)(r->at - from)};
}

/* To the beginning of the next line; false at the end of the text. */
static bool next_line(reader* r)
{
    while (r->at < r->end && *r->at != '\n') {
        ++r->at;
    }
    if (r->at >= r->end) {
        return false;
    }
    ++r->at;
    ++r->line;
    return true;
}

static bool word_is(word w, const char* text)
{
    return w.length == strlen(text) && memcmp(w.text, text, w.length) == 0;
}

static perp_status read_point(reader* r, double x[3])
{
    for (int i = 0; i < 3; ++i) {
        const word w = next_word(r);
        if (!perpi_number_parse(w.text, w.length, &x[i])) {
            return fail_word(r, "three finite numbers x y z", w);
        }
    }
    return PERP_OK;
}

/* ---- .poly -------------------------------------------------------------------------------------- */

/* The numbers of the next line that has any; count 0 at the end. Beyond the capacity they are only
 * counted; with a fan each is added to it as a vertex. */
enum { POLY_ROOM = 4 };

static bool poly_skips(char c)
{
    return is_space(c) || c == '[' || c == ']' || c == ';' || c == '=' || c == ',';
}

static bool poly_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '(' || c == ')' ||
           c == ':';
}

/* The next number of the line; an empty word at its end or at a comment. */
static perp_status poly_number(reader* r, word* w)
{
    for (;;) {
        while (r->at < r->end && poly_skips(*r->at)) {
            ++r->at;
        }
        if (r->at < r->end && poly_letter(*r->at)) {
            while (r->at < r->end && !poly_skips(*r->at) && *r->at != '\n' && *r->at != '#' &&
                   *r->at != '%') {
                ++r->at;
            }
            continue;
        }
        break;
    }
    const char* from = r->at;
    if (r->at >= r->end || *r->at == '\n' || *r->at == '#' || *r->at == '%' ||
        (*r->at == '/' && r->at + 1 < r->end && r->at[1] == '/')) {
        *w = (word){from, 0};
        return PERP_OK;
    }
    while (r->at < r->end && !poly_skips(*r->at) && *r->at != '\n' && *r->at != '#' &&
           *r->at != '%') {
        ++r->at;
    }
    *w = (word){from, (size_t)(r->at - from)};
    double ignored;
    return perpi_number_parse(w->text, w->length, &ignored) ? PERP_OK
                                                            : fail_word(r, "a finite number", *w);
}

/* Up to POLY_ROOM numbers of the next line that has some. *count 0: the text has ended. */
static perp_status poly_line(reader* r, word number[POLY_ROOM], int* count)
{
    *count = 0;
    for (;;) {
        word w;
        perp_status status = poly_number(r, &w);
        if (status != PERP_OK) {
            return status;
        }
        if (w.length == 0) {
            if (*count > 0) {
                return PERP_OK;
            }
            if (!next_line(r)) {
                return PERP_OK;
            }
            continue;
        }
        if (*count == POLY_ROOM) {
            return fail(r, "too many numbers in this line");
        }
        number[(*count)++] = w;
    }
}

static perp_status poly_count(reader* r, const char* what, long* count)
{
    word number[POLY_ROOM];
    int n = 0;
    const perp_status status = poly_line(r, number, &n);
    if (status != PERP_OK) {
        return status;
    }
    if (n != 1 || !perpi_integer_parse(number[0].text, number[0].length, count) || *count < 3) {
        return perpi_fail(r->context, PERP_ERROR_INPUT,
                          "%s: line %ld: expected the number of %s, at least 3, in a line of its "
                          "own",
                          r->origin, r->line, what);
    }
    (void)next_line(r);
    return PERP_OK;
}

static perp_status poly_vertices(reader* r, long count)
{
    for (long i = 0; i < count; ++i) {
        word number[POLY_ROOM];
        int n = 0;
        perp_status status = poly_line(r, number, &n);
        if (status != PERP_OK) {
            return status;
        }
        if (n < 3) {
            return perpi_fail(r->context, PERP_ERROR_INPUT,
                              "%s: line %ld: expected vertex %ld of %ld: x y z, or its number and "
                              "x y z",
                              r->origin, r->line, i + 1, count);
        }
        long label = i + 1;
        if (n == 4 &&
            (!perpi_integer_parse(number[0].text, number[0].length, &label) || label != i + 1)) {
            return perpi_fail(r->context, PERP_ERROR_INPUT,
                              "%s: line %ld: vertices are numbered in order: expected %ld",
                              r->origin, r->line, i + 1);
        }
        double x[3];
        for (int k = 0; k < 3; ++k) {
            (void)perpi_number_parse(number[n - 3 + k].text, number[n - 3 + k].length, &x[k]);
        }
        status = add_vertex(r, x);
        if (status != PERP_OK) {
            return status;
        }
        (void)next_line(r);
    }
    return PERP_OK;
}

static perp_status poly_face(reader* r, fan* f)
{
    for (;;) {
        word w;
        perp_status status = poly_number(r, &w);
        if (status != PERP_OK) {
            return status;
        }
        if (w.length == 0) {
            if (f->count > 0 || !next_line(r)) {
                return PERP_OK;
            }
            continue;
        }
        long index = 0;
        if (!perpi_integer_parse(w.text, w.length, &index) || index < 1 ||
            (size_t)index > r->mesh->vertex_count) {
            return perpi_fail(r->context, PERP_ERROR_INPUT,
                              "%s: line %ld: expected the number of a vertex, 1 to %zu, got '%.*s'",
                              r->origin, r->line, r->mesh->vertex_count,
                              w.length > 40 ? 40 : (int)w.length, w.text);
        }
        status = fan_add(r, f, (int32_t)index - 1);
        if (status != PERP_OK) {
            return status;
        }
    }
}

static perp_status read_poly(reader* r)
{
    long vertices = 0, faces = 0;
    perp_status status = poly_count(r, "vertices", &vertices);
    if (status == PERP_OK) {
        status = poly_vertices(r, vertices);
    }
    if (status == PERP_OK) {
        status = poly_count(r, "faces", &faces);
    }
    for (long i = 0; i < faces && status == PERP_OK; ++i) {
        fan f = {0};
        status = poly_face(r, &f);
        if (status == PERP_OK && f.count < 3) {
            return perpi_fail(r->context, PERP_ERROR_INPUT,
                              "%s: line %ld: face %ld of %ld has %d vertices: at least 3",
                              r->origin, r->line, i + 1, faces, f.count);
        }
        (void)next_line(r);
    }
    if (status == PERP_OK) {
        word number[POLY_ROOM];
        int n = 0;
        status = poly_line(r, number, &n);
        if (status == PERP_OK && n > 0) {
            status = fail(r, "more lines than the number of faces says");
        }
    }
    return status;
}

/* ---- OBJ ---------------------------------------------------------------------------------------- */

/* "7", "7/1/3", "-1": the vertex, counted from 1 or from the last one backwards. */
static perp_status obj_corner(const reader* r, word w, int32_t* corner)
{
    const char* slash = memchr(w.text, '/', w.length);
    const size_t length = slash != NULL ? (size_t)(slash - w.text) : w.length;
    const long count = (long)r->mesh->vertex_count;
    long index = 0;
    if (!perpi_integer_parse(w.text, length, &index)) {
        return fail_word(r, "the number of a vertex", w);
    }
    const long place = index < 0 ? count + index : index - 1;
    if (place < 0 || place >= count) {
        return perpi_fail(r->context, PERP_ERROR_INPUT,
                          "%s: line %ld: there is no vertex %ld: %ld were read so far", r->origin,
                          r->line, index, count);
    }
    *corner = (int32_t)place;
    return PERP_OK;
}

static perp_status obj_face(reader* r)
{
    fan f = {0};
    for (word w = next_word(r); w.length > 0 && w.text[0] != '#'; w = next_word(r)) {
        int32_t corner = 0;
        perp_status status = obj_corner(r, w, &corner);
        if (status == PERP_OK) {
            status = fan_add(r, &f, corner);
        }
        if (status != PERP_OK) {
            return status;
        }
    }
    return f.count >= 3 ? PERP_OK : fail(r, "a face has at least 3 vertices");
}

static perp_status read_obj(reader* r)
{
    perp_status status = PERP_OK;
    do {
        const word w = next_word(r);
        if (word_is(w, "v")) {
            double x[3];
            status = read_point(r, x);
            if (status == PERP_OK) {
                status = add_vertex(r, x);
            }
        } else if (word_is(w, "f")) {
            status = obj_face(r);
        }
    } while (status == PERP_OK && next_line(r));
    return status;
}

/* ---- STL ---------------------------------------------------------------------------------------- */

/* The next word, over line ends. */
static word stl_word(reader* r)
{
    for (;;) {
        const word w = next_word(r);
        if (w.length > 0 || !next_line(r)) {
            return w;
        }
    }
}

static perp_status stl_expect(reader* r, const char* text)
{
    const word w = stl_word(r);
    char expected[32] = "'";
    strcat(strcat(expected, text), "'");
    return word_is(w, text) ? PERP_OK : fail_word(r, expected, w);
}

static perp_status stl_number(reader* r, double* x)
{
    const word w = stl_word(r);
    return perpi_number_parse(w.text, w.length, x) ? PERP_OK : fail_word(r, "a finite number", w);
}

/* "facet" has been read. The normal follows from the vertices and is only skipped. */
static perp_status stl_facet(reader* r)
{
    perp_status status = stl_expect(r, "normal");
    for (int i = 0; i < 3 && status == PERP_OK; ++i) {
        const word w = stl_word(r);
        status = w.length > 0 ? PERP_OK : fail_word(r, "a number", w);
    }
    if (status == PERP_OK) {
        status = stl_expect(r, "outer");
    }
    if (status == PERP_OK) {
        status = stl_expect(r, "loop");
    }
    const int32_t first = (int32_t)r->mesh->vertex_count;
    for (int i = 0; i < 3 && status == PERP_OK; ++i) {
        double x[3] = {0};
        status = stl_expect(r, "vertex");
        for (int k = 0; k < 3 && status == PERP_OK; ++k) {
            status = stl_number(r, &x[k]);
        }
        if (status == PERP_OK) {
            status = add_vertex(r, x);
        }
    }
    if (status == PERP_OK) {
        status = stl_expect(r, "endloop");
    }
    if (status == PERP_OK) {
        status = stl_expect(r, "endfacet");
    }
    return status == PERP_OK ? add_triangle(r, first, first + 1, first + 2) : status;
}

static perp_status read_stl_text(reader* r)
{
    perp_status status = stl_expect(r, "solid");
    (void)next_line(r); /* the rest of the line is a name */
    while (status == PERP_OK) {
        const word w = stl_word(r);
        if (word_is(w, "endsolid")) {
            return PERP_OK;
        }
        status = word_is(w, "facet") ? stl_facet(r) : fail_word(r, "'facet' or 'endsolid'", w);
    }
    return status;
}

static uint32_t little32(const unsigned char* b)
{
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static float little_float(const unsigned char* b)
{
    const uint32_t bits = little32(b);
    float x;
    _Static_assert(sizeof x == sizeof bits, "float has 32 bits");
    memcpy(&x, &bits, sizeof x);
    return x;
}

enum { STL_HEAD = 84, STL_FACET = 50 };

static perp_status read_stl_binary(reader* r, const unsigned char* bytes)
{
    const uint32_t count = little32(bytes + 80);
    for (uint32_t i = 0; i < count; ++i) {
        const unsigned char* facet = bytes + STL_HEAD + (size_t)STL_FACET * i;
        const int32_t first = (int32_t)r->mesh->vertex_count;
        for (size_t k = 0; k < 3; ++k) {
            double x[3];
            for (size_t c = 0; c < 3; ++c) {
                x[c] = (double)little_float(facet + 12 + 12 * k + 4 * c);
                if (!isfinite(x[c])) {
                    return perpi_fail(r->context, PERP_ERROR_INPUT,
                                      "%s: triangle %lu: a coordinate is not finite", r->origin,
                                      (unsigned long)i + 1);
                }
            }
            const perp_status status = add_vertex(r, x);
            if (status != PERP_OK) {
                return status;
            }
        }
        const perp_status status = add_triangle(r, first, first + 1, first + 2);
        if (status != PERP_OK) {
            return status;
        }
    }
    return PERP_OK;
}

static uint64_t hash_point(const double* x)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (int i = 0; i < 3; ++i) {
        const double y = x[i] + 0.0; /* -0 equals 0 */
        uint64_t bits;
        memcpy(&bits, &y, sizeof bits);
        h = (h ^ bits) * 0x9E3779B97F4A7C15u;
        h ^= h >> 29;
    }
    return h;
}

static bool same_point(const double* x, const double* y)
{
    return x[0] == y[0] && x[1] == y[1] && x[2] == y[2];
}

/* Merges vertices with the same coordinates; degenerate triangles are removed. */
static perp_status join_vertices(const reader* r)
{
    perpi_mesh_data* m = r->mesh;
    size_t places = 64;
    while (places < 2 * m->vertex_count) {
        places *= 2;
    }
    int32_t *table = NULL, *now = NULL;
    perp_status status = perpi_alloc(r->context, places, sizeof *table, &table); /* index + 1 */
    if (status == PERP_OK) {
        status = perpi_alloc(r->context, m->vertex_count, sizeof *now, &now);
    }
    if (status == PERP_OK) {
        size_t kept = 0;
        for (size_t i = 0; i < m->vertex_count; ++i) {
            const double x[3] = {m->vertex[3 * i], m->vertex[3 * i + 1], m->vertex[3 * i + 2]};
            size_t at = (size_t)hash_point(x) & (places - 1);
            while (table[at] != 0 && !same_point(x, m->vertex + 3 * (size_t)(table[at] - 1))) {
                at = (at + 1) & (places - 1);
            }
            if (table[at] == 0) {
                memcpy(m->vertex + 3 * kept, x, sizeof x);
                table[at] = (int32_t)++kept;
            }
            now[i] = table[at] - 1;
        }
        m->vertex_count = kept;
        (void)perpi_mesh_renumber(m, now);
    }
    perpi_free(r->context, table);
    perpi_free(r->context, now);
    return status;
}

/* The format is decided by the length, since the header of a binary file may begin with "solid"
 * too. */
static perp_status read_stl(reader* r, const char* text, size_t length)
{
    const unsigned char* bytes = (const unsigned char*)text;
    const bool binary = length >= STL_HEAD && (length - STL_HEAD) % STL_FACET == 0 &&
                        (length - STL_HEAD) / STL_FACET == (size_t)little32(bytes + 80);
    const bool solid = length >= 5 && memcmp(text, "solid", 5) == 0;
    if (!binary && !solid) {
        return perpi_fail(r->context, PERP_ERROR_INPUT,
                          "%s: line 1: no STL: a text begins with 'solid'; a binary file of %zu "
                          "bytes does not fit the number of triangles in its head",
                          r->origin, length);
    }
    const perp_status status = binary ? read_stl_binary(r, bytes) : read_stl_text(r);
    return status == PERP_OK ? join_vertices(r) : status;
}

/* ---- any format --------------------------------------------------------------------------------- */

perp_status perpi_mesh_format_of(perp_context* context, const char* path, perpi_mesh_format* format)
{
    static const char* const ending[] = {".poly", ".stl", ".obj", ".dae"};
    const size_t length = strlen(path);
    for (int i = 0; i < 4; ++i) {
        const size_t n = strlen(ending[i]);
        bool same = length > n;
        for (size_t k = 0; same && k < n; ++k) {
            const char c = path[length - n + k];
            same = (c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c) == ending[i][k];
        }
        if (same) {
            *format = (perpi_mesh_format)i;
            return PERP_OK;
        }
    }
    return perpi_fail(context, PERP_ERROR_INPUT,
                      "%s: this kind of mesh cannot be read: .poly, .stl, .obj and .dae can", path);
}

perp_status perpi_mesh_parse(perp_context* context, const char* text, size_t length,
                             const char* origin, perpi_mesh_format format, perpi_mesh_data* mesh)
{
    *mesh = (perpi_mesh_data){0};
    reader r = {context, origin, text, text + length, 1, mesh};
    perp_status status = format == PERPI_MESH_POLY  ? read_poly(&r)
                         : format == PERPI_MESH_OBJ ? read_obj(&r)
                         : format == PERPI_MESH_DAE
                             ? perpi_mesh_read_dae(context, text, length, origin, mesh)
                             : read_stl(&r, text, length);
    if (status == PERP_OK && (mesh->vertex_count < 3 || mesh->triangle_count < 1)) {
        status = perpi_fail(context, PERP_ERROR_INPUT, "%s: line %ld: ends without a single face",
                            origin, r.line);
    }
    if (status != PERP_OK) {
        perpi_mesh_free(context, mesh);
    }
    return status;
}

perp_status perpi_mesh_read(perp_context* context, const char* path, perpi_mesh_data* mesh)
{
    perpi_mesh_format format;
    perp_status status = perpi_mesh_format_of(context, path, &format);
    if (status != PERP_OK) {
        return status;
    }
    char* text = NULL;
    size_t length = 0;
    status = perpi_file_read(context, path, PERPI_MESH_SIZE_LIMIT, &text, &length);
    if (status != PERP_OK) {
        return status;
    }
    status = perpi_mesh_parse(context, text, length, path, format, mesh);
    perpi_free(context, text);
    return status;
}

void perpi_mesh_scale(perpi_mesh_data* mesh, const double scale[3])
{
    for (size_t i = 0; i < 3 * mesh->vertex_count; ++i) {
        mesh->vertex[i] *= scale[i % 3];
    }
    if (scale[0] * scale[1] * scale[2] < 0.0) {
        for (size_t i = 0; i < mesh->triangle_count; ++i) {
            const int32_t b = mesh->triangle[3 * i + 1];
            mesh->triangle[3 * i + 1] = mesh->triangle[3 * i + 2];
            mesh->triangle[3 * i + 2] = b;
        }
    }
}

void perpi_mesh_free(perp_context* context, perpi_mesh_data* mesh)
{
    perpi_free(context, mesh->vertex);
    perpi_free(context, mesh->triangle);
    *mesh = (perpi_mesh_data){0};
}
