/* src/shape/polyhedron.c - a convex polyhedron from its faces: edges, fans, tree, mass.
 *
 * All arrays lie in one block of memory behind the record itself. The order of everything follows
 * from the order of the vertices and faces that come in, so that equal input gives equal bits.
 */
#include "shape/polyhedron.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shape/builtin.h"

/* Faces in a leaf of the tree; the support of polyhedra with fewer vertices is a linear search. */
enum { LEAF = 4, SMALL = 12 };

/* ---- memory ------------------------------------------------------------------------------------ */

static void* next_array(char** at, size_t count, size_t size)
{
    void* p = *at;
    *at += (count * size + 15) & ~(size_t)15;
    return p;
}

/* Sets the pointers into the block that begins at p; returns the bytes it takes. */
static size_t lay_out(perpi_polyhedron* p, char* block)
{
    const size_t v = (size_t)p->vertex_count, e = (size_t)p->edge_count, f = (size_t)p->face_count;
    char* at = block;
    (void)next_array(&at, 1, sizeof *p);
    p->vertex = next_array(&at, v, sizeof *p->vertex);
    p->normal = next_array(&at, f, sizeof *p->normal);
    p->node = next_array(&at, 2 * f, sizeof *p->node);
    p->offset = next_array(&at, f, sizeof *p->offset);
    p->edge = next_array(&at, e, sizeof *p->edge);
    p->face_start = next_array(&at, f + 1, sizeof *p->face_start);
    p->corner = next_array(&at, 2 * e, sizeof *p->corner);
    p->side = next_array(&at, 2 * e, sizeof *p->side);
    p->around_start = next_array(&at, v + 1, sizeof *p->around_start);
    p->around = next_array(&at, 2 * e, sizeof *p->around);
    p->order = next_array(&at, f, sizeof *p->order);
    p->triangle = next_array(&at, 3 * (size_t)p->triangle_count, sizeof *p->triangle);
    return (size_t)(at - block);
}

static perp_status allocate_block(perp_context* context, int32_t vertex_count, int32_t face_count,
                                  int32_t corner_count, perpi_polyhedron** made)
{
    perpi_polyhedron plan = {.vertex_count = vertex_count,
                             .edge_count = corner_count / 2,
                             .face_count = face_count,
                             .triangle_count = corner_count - 2 * face_count};
    char measure;
    const size_t bytes = lay_out(&plan, &measure);
    char* block = NULL;
    const perp_status status = perpi_alloc(context, bytes, 1, &block);
    if (status != PERP_OK) {
        return status;
    }
    (void)lay_out(&plan, block);
    *made = (perpi_polyhedron*)(void*)block;
    **made = plan;
    return PERP_OK;
}

void perpi_polyhedron_free(perp_context* context, perpi_polyhedron* polyhedron)
{
    perpi_free(context, polyhedron);
}

size_t perpi_polyhedron_bytes(const perpi_polyhedron* polyhedron)
{
    perpi_polyhedron plan = *polyhedron;
    char measure;
    return lay_out(&plan, &measure);
}

void perpi_polyhedron_to_bytes(const perpi_polyhedron* polyhedron, void* bytes)
{
    memcpy(bytes, polyhedron, perpi_polyhedron_bytes(polyhedron));
    perpi_polyhedron* record = bytes;
    record->vertex = record->normal = NULL;
    record->edge = NULL;
    record->offset = NULL;
    record->node = NULL;
    record->face_start = record->corner = record->side = record->around_start = NULL;
    record->around = record->order = record->triangle = NULL;
}

bool perpi_polyhedron_from_bytes(perp_context* context, const void* bytes, size_t size,
                                 perpi_polyhedron** made)
{
    perpi_polyhedron plan;
    if (size < sizeof plan) {
        return false;
    }
    memcpy(&plan, bytes, sizeof plan);
    char* block = NULL;
    if (plan.vertex_count < 4 || plan.face_count < 4 || plan.edge_count < 6 ||
        plan.triangle_count < 4 || perpi_polyhedron_bytes(&plan) != size ||
        perpi_alloc(context, size, 1, &block) != PERP_OK) {
        return false;
    }
    memcpy(block, bytes, size);
    (void)lay_out(&plan, block);
    *made = (perpi_polyhedron*)(void*)block;
    **made = plan;
    return true;
}

/* ---- edges and fans ---------------------------------------------------------------------------- */

/* One side of one face, its ends in order. */
typedef struct half_edge {
    int32_t low, high;
    int32_t at;   /* the corner it starts from */
    int32_t face; /* to its left */
    bool upward;  /* from low to high */
} half_edge;

static int compare_half_edges(const void* a, const void* b)
{
    const half_edge *x = a, *y = b;
    if (x->low != y->low) {
        return x->low < y->low ? -1 : 1;
    }
    if (x->high != y->high) {
        return x->high < y->high ? -1 : 1;
    }
    return (int)y->upward - (int)x->upward;
}

static perp_status fail_surface(perp_context* context)
{
    return perpi_fail(context, PERP_ERROR_INPUT,
                      "faces: the surface is not closed, or its faces do not agree which side is "
                      "out");
}

static perp_status join_edges(perp_context* context, perpi_polyhedron* p)
{
    const int32_t corners = p->face_start[p->face_count];
    half_edge* half = NULL;
    perp_status status = perpi_alloc(context, (size_t)corners, sizeof *half, &half);
    if (status != PERP_OK) {
        return status;
    }
    for (int32_t f = 0; f < p->face_count; ++f) {
        for (int32_t c = p->face_start[f]; c < p->face_start[f + 1]; ++c) {
            const int32_t next = c + 1 < p->face_start[f + 1] ? c + 1 : p->face_start[f];
            const int32_t from = p->corner[c], to = p->corner[next];
            half[c] = (half_edge){from < to ? from : to, from < to ? to : from, c, f, from < to};
        }
    }
    qsort(half, (size_t)corners, sizeof *half, compare_half_edges);
    for (int32_t e = 0; e < p->edge_count && status == PERP_OK; ++e) {
        const half_edge *up = &half[2 * e], *down = up + 1;
        const bool alone = (e == 0 || compare_half_edges(up - 1, down) != 0) && up->low != up->high;
        if (!alone || up->low != down->low || up->high != down->high || !up->upward ||
            down->upward) {
            status = fail_surface(context);
            break;
        }
        p->edge[e] = (perpi_edge){{up->low, up->high}, {up->face, down->face}};
        p->side[up->at] = e;
        p->side[down->at] = e;
    }
    perpi_free(context, half);
    return status;
}

/* The edge that ends where side e of face f starts. */
static int32_t side_before(const perpi_polyhedron* p, int32_t f, int32_t e)
{
    const int32_t first = p->face_start[f], last = p->face_start[f + 1] - 1;
    int32_t c = first;
    while (c < last && p->side[c] != e) {
        ++c;
    }
    return p->side[c > first ? c - 1 : last];
}

/* Counter-clockwise around a vertex: from an edge that leaves it, through the face to the left, to
 * the edge that comes in there. */
static perp_status make_fans(perp_context* context, perpi_polyhedron* p)
{
    for (int32_t e = 0; e < p->edge_count; ++e) {
        ++p->around_start[p->edge[e].vertex[0] + 1];
        ++p->around_start[p->edge[e].vertex[1] + 1];
    }
    for (int32_t v = 0; v < p->vertex_count; ++v) {
        const int32_t degree = p->around_start[v + 1];
        if (degree < 3) {
            return perpi_fail(context, PERP_ERROR_INPUT,
                              "faces: vertex %d belongs to fewer than three edges", (int)v);
        }
        p->around_start[v + 1] += p->around_start[v];
    }
    /* the edge of least number first: mark where each fan begins */
    for (int32_t e = p->edge_count - 1; e >= 0; --e) {
        p->around[p->around_start[p->edge[e].vertex[0]]] = e;
        p->around[p->around_start[p->edge[e].vertex[1]]] = e;
    }
    for (int32_t v = 0; v < p->vertex_count; ++v) {
        const int32_t first = p->around_start[v], end = p->around_start[v + 1];
        int32_t e = p->around[first];
        for (int32_t k = first; k < end; ++k) {
            if (k > first && e == p->around[first]) {
                return fail_surface(context); /* two fans meet in this vertex */
            }
            p->around[k] = e;
            e = side_before(p, p->edge[e].face[p->edge[e].vertex[0] == v ? 0 : 1], e);
        }
        if (e != p->around[first]) {
            return fail_surface(context);
        }
    }
    return PERP_OK;
}

/* ---- planes, mass, triangles -------------------------------------------------------------------- */

static double size_of(const vec3* vertex, int32_t count)
{
    double size = 0.0;
    for (int32_t i = 0; i < count; ++i) {
        const double r = hypot(hypot(vertex[i].x, vertex[i].y), vertex[i].z);
        size = r > size ? r : size;
    }
    return size;
}

/* The normal of a polygon by its projections [Newell]: for any number of corners, also where
 * rounding moved them off the plane. */
static void make_planes(perpi_polyhedron* p)
{
    for (int32_t f = 0; f < p->face_count; ++f) {
        const int32_t* c = p->corner + p->face_start[f];
        const int32_t n = p->face_start[f + 1] - p->face_start[f];
        const vec3 o = p->vertex[c[0]];
        double longest = 0.0;
        for (int32_t i = 1; i < n; ++i) {
            const vec3 d = v3_sub(p->vertex[c[i]], o);
            longest = fmax(longest, fmax(fabs(d.x), fmax(fabs(d.y), fabs(d.z))));
        }
        vec3 sum = {0, 0, 0};
        for (int32_t i = 1; i + 1 < n; ++i) {
            const vec3 a = v3_scale(1.0 / longest, v3_sub(p->vertex[c[i]], o));
            const vec3 b = v3_scale(1.0 / longest, v3_sub(p->vertex[c[i + 1]], o));
            sum = v3_add(sum, v3_cross(a, b));
        }
        p->normal[f] = v3_unit(sum);
        double offset = 0.0;
        for (int32_t i = 0; i < n; ++i) {
            offset += v3_dot(p->normal[f], p->vertex[c[i]]) / n;
        }
        p->offset[f] = offset;
    }
}

static void make_triangles(perpi_polyhedron* p)
{
    int32_t* t = p->triangle;
    for (int32_t f = 0; f < p->face_count; ++f) {
        for (int32_t c = p->face_start[f] + 1; c + 1 < p->face_start[f + 1]; ++c) {
            *t++ = p->corner[p->face_start[f]];
            *t++ = p->corner[c];
            *t++ = p->corner[c + 1];
        }
    }
}

static void make_mass(perpi_polyhedron* p)
{
    vec3 o = {0, 0, 0};
    for (int32_t i = 0; i < p->vertex_count; ++i) {
        o = v3_madd(o, 1.0 / p->vertex_count, p->vertex[i]);
    }
    perpi_moments sum = {0};
    for (int32_t i = 0; i < p->triangle_count; ++i) {
        const int32_t* t = p->triangle + 3 * i;
        perpi_moments_add(&sum, v3_sub(p->vertex[t[0]], o), v3_sub(p->vertex[t[1]], o),
                          v3_sub(p->vertex[t[2]], o));
    }
    p->mass = perpi_moments_mass(&sum, o);
}

/* ---- the tree over the faces ---------------------------------------------------------------------- */

typedef struct ranked_face {
    double key;
    int32_t face;
} ranked_face;

static int compare_ranked(const void* a, const void* b)
{
    const ranked_face *x = a, *y = b;
    if (x->key != y->key) {
        return x->key < y->key ? -1 : 1;
    }
    return x->face - y->face;
}

static double middle_of(const perpi_polyhedron* p, int32_t f, int axis)
{
    double lo = INFINITY, hi = -INFINITY;
    for (int32_t c = p->face_start[f]; c < p->face_start[f + 1]; ++c) {
        const double x = v3_get(p->vertex[p->corner[c]], axis);
        lo = x < lo ? x : lo;
        hi = x > hi ? x : hi;
    }
    return 0.5 * lo + 0.5 * hi;
}

static void find_cone(const perpi_polyhedron* p, const ranked_face* face, int32_t count,
                      perpi_face_node* node)
{
    vec3 sum = v3(0, 0, 0);
    for (int32_t i = 0; i < count; ++i) {
        sum = v3_add(sum, p->normal[face[i].face]);
    }
    const double length = v3_norm(sum);
    node->axis = length > 0.0 ? v3_scale(1.0 / length, sum) : v3(0, 0, 1);
    double least = 1.0;
    for (int32_t i = 0; i < count; ++i) {
        const int32_t f = face[i].face;
        for (int32_t c = p->face_start[f]; c < p->face_start[f + 1]; ++c) {
            const int32_t v = p->corner[c];
            for (int32_t k = 2 * p->around_start[v]; k < 2 * p->around_start[v + 1]; ++k) {
                const int32_t other = p->edge[p->around[k / 2]].face[k % 2];
                const double cosine = v3_dot(node->axis, p->normal[other]);
                least = cosine < least ? cosine : least;
            }
        }
    }
    node->cone = acos(least > -1.0 ? least : -1.0) + 1e-7; /* rounding of the cosine near 1 */
}

/* Halves the faces by their middles along the longest side of their box. Depth: log2(faces). */
static void grow_tree(perpi_polyhedron* p, ranked_face* face, int32_t first, int32_t count)
{
    perpi_face_node* node = &p->node[p->node_count++];
    node->lo = v3(INFINITY, INFINITY, INFINITY);
    node->hi = v3(-INFINITY, -INFINITY, -INFINITY);
    for (int32_t i = first; i < first + count; ++i) {
        const int32_t f = face[i].face;
        for (int32_t c = p->face_start[f]; c < p->face_start[f + 1]; ++c) {
            const vec3 x = p->vertex[p->corner[c]];
            node->lo = v3(fmin(node->lo.x, x.x), fmin(node->lo.y, x.y), fmin(node->lo.z, x.z));
            node->hi = v3(fmax(node->hi.x, x.x), fmax(node->hi.y, x.y), fmax(node->hi.z, x.z));
        }
    }
    find_cone(p, face + first, count, node);
    if (count <= LEAF) {
        node->first = first;
        node->count = count;
        for (int32_t i = first; i < first + count; ++i) {
            p->order[i] = face[i].face;
        }
        return;
    }
    const vec3 d = v3_sub(node->hi, node->lo);
    const int axis = d.x >= d.y && d.x >= d.z ? 0 : d.y >= d.z ? 1 : 2;
    for (int32_t i = first; i < first + count; ++i) {
        face[i].key = middle_of(p, face[i].face, axis);
    }
    qsort(face + first, (size_t)count, sizeof *face, compare_ranked);
    node->count = 0;
    grow_tree(p, face, first, count / 2);
    node->first = p->node_count;
    grow_tree(p, face, first + count / 2, count - count / 2);
}

static perp_status make_tree(perp_context* context, perpi_polyhedron* p)
{
    ranked_face* face = NULL;
    const perp_status status = perpi_alloc(context, (size_t)p->face_count, sizeof *face, &face);
    if (status != PERP_OK) {
        return status;
    }
    for (int32_t f = 0; f < p->face_count; ++f) {
        face[f].face = f;
    }
    grow_tree(p, face, 0, p->face_count);
    perpi_free(context, face);
    return PERP_OK;
}

/* ---- making one ------------------------------------------------------------------------------------ */

perp_status perpi_polyhedron_assemble(perp_context* context, const vec3* vertex,
                                      int32_t vertex_count, const int32_t* face_start,
                                      const int32_t* corner, int32_t face_count,
                                      perpi_polyhedron** made)
{
    const int32_t corners = face_start[face_count];
    for (int32_t f = 0; f < face_count; ++f) {
        if (face_start[f + 1] - face_start[f] < 3) {
            return perpi_fail(context, PERP_ERROR_INPUT, "faces/%d: has fewer than three corners",
                              (int)f);
        }
    }
    /* Euler: one closed surface without handles */
    if (corners % 2 != 0 || vertex_count + face_count - corners / 2 != 2) {
        return fail_surface(context);
    }
    perpi_polyhedron* p = NULL;
    perp_status status = allocate_block(context, vertex_count, face_count, corners, &p);
    if (status != PERP_OK) {
        return status;
    }
    memcpy(p->vertex, vertex, (size_t)vertex_count * sizeof *vertex);
    memcpy(p->face_start, face_start, ((size_t)face_count + 1) * sizeof *face_start);
    memcpy(p->corner, corner, (size_t)corners * sizeof *corner);
    status = join_edges(context, p);
    if (status == PERP_OK) {
        status = make_fans(context, p);
    }
    if (status == PERP_OK) {
        p->size = size_of(p->vertex, p->vertex_count);
        make_planes(p);
        make_triangles(p);
        make_mass(p);
        status = make_tree(context, p);
    }
    if (status != PERP_OK) {
        perpi_polyhedron_free(context, p);
        return status;
    }
    *made = p;
    return PERP_OK;
}

/* Vertex i has the signs of i's bits: x, y, z. */
perp_status perpi_polyhedron_box(perp_context* context, vec3 half, perpi_polyhedron** made)
{
    static const int32_t start[7] = {0, 4, 8, 12, 16, 20, 24};
    static const int32_t corner[24] = {0, 4, 6, 2, 1, 3, 7, 5, 0, 1, 5, 4,
                                       2, 6, 7, 3, 0, 2, 3, 1, 4, 5, 7, 6};
    vec3 vertex[8];
    for (int i = 0; i < 8; ++i) {
        vertex[i] = v3((i & 1) != 0 ? half.x : -half.x, (i & 2) != 0 ? half.y : -half.y,
                       (i & 4) != 0 ? half.z : -half.z);
    }
    perpi_polyhedron* p = NULL;
    const perp_status status = perpi_polyhedron_assemble(context, vertex, 8, start, corner, 6, &p);
    if (status != PERP_OK) {
        return status;
    }
    /* exact, unlike the general computation */
    for (int f = 0; f < 6; ++f) {
        const double way = f % 2 == 0 ? -1.0 : 1.0;
        p->normal[f] = v3(f / 2 == 0 ? way : 0.0, f / 2 == 1 ? way : 0.0, f / 2 == 2 ? way : 0.0);
        p->offset[f] = v3_get(half, f / 2);
    }
    *made = p;
    return PERP_OK;
}

/* ---- support --------------------------------------------------------------------------------------- */

int32_t perpi_polyhedron_support(const perpi_polyhedron* p, vec3 direction, int32_t start)
{
    int32_t best = start;
    double most = v3_dot(direction, p->vertex[start]);
    if (p->vertex_count <= SMALL) {
        for (int32_t i = 0; i < p->vertex_count; ++i) {
            const double x = v3_dot(direction, p->vertex[i]);
            if (x > most) {
                most = x;
                best = i;
            }
        }
        return best;
    }
    /* Hill climbing: a linear function on a convex body has no local maximum other than the global
     * one. */
    for (int32_t at = -1; at != best;) {
        at = best;
        for (int32_t k = p->around_start[at]; k < p->around_start[at + 1]; ++k) {
            const perpi_edge* e = &p->edge[p->around[k]];
            const int32_t other = e->vertex[0] == at ? e->vertex[1] : e->vertex[0];
            const double x = v3_dot(direction, p->vertex[other]);
            if (x > most) {
                most = x;
                best = other;
            }
        }
    }
    return best;
}
