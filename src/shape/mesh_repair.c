/* src/shape/mesh_repair.c - see mesh_repair.h.
 *
 * A side is an edge as one triangle traverses it: side 3 t + k runs from corner k of triangle t to the next.
 * mate[] holds the other side of an edge with two triangles. All loops run over triangles and vertices
 * in the order of the file, so that the result is the same everywhere.
 */
#include "shape/mesh_repair.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

static const double WELD = 1e-9;
static const double WELD_SINGLE = 1e-6;

enum { OPEN = -1, MANY = -2 }; /* in mate: one triangle; more than two */

typedef struct side {
    int32_t low, high, way, at;
} side;

/* A connected part of the surface. */
typedef struct part {
    double volume;
    vec3 lo, hi;
    int32_t first;
    bool closed;
} part;

typedef struct work {
    perp_context* context;
    perpi_mesh_data* mesh;
    perpi_mesh_report* report;
    double size;
    vec3 middle;
    side* side; /* sorted by edge */
    int32_t *mate, *of, *queue;
    unsigned char* turned; /* against the file */
    part* part;
    size_t part_count, part_capacity;
    size_t open, unbalanced; /* edges */
} work;

static vec3 vertex(const perpi_mesh_data* m, int32_t i)
{
    return v3_from(m->vertex + 3 * (size_t)i);
}

static int32_t side_from(const perpi_mesh_data* m, int32_t at)
{
    return m->triangle[at];
}

static int32_t side_next(int32_t at)
{
    return at % 3 == 2 ? at - 2 : at + 1;
}

static int32_t side_to(const perpi_mesh_data* m, int32_t at)
{
    return m->triangle[side_next(at)];
}

static void turn(perpi_mesh_data* m, int32_t triangle)
{
    int32_t* t = m->triangle + 3 * (size_t)triangle;
    const int32_t b = t[1];
    t[1] = t[2];
    t[2] = b;
}

static void extend(vec3* lo, vec3* hi, vec3 x)
{
    *lo = v3(x.x < lo->x ? x.x : lo->x, x.y < lo->y ? x.y : lo->y, x.z < lo->z ? x.z : lo->z);
    *hi = v3(x.x > hi->x ? x.x : hi->x, x.y > hi->y ? x.y : hi->y, x.z > hi->z ? x.z : hi->z);
}

static const vec3 FAR = {INFINITY, INFINITY, INFINITY};

/* ---- welding ------------------------------------------------------------------------------------ */

typedef struct grid {
    int32_t *head, *next; /* lists of kept vertices, index + 1, by the hash of their cell */
    size_t places;
    double cell, tolerance;
    vec3 lo;
} grid;

static size_t place_of(const grid* g, const int64_t c[3])
{
    uint64_t h = 0xcbf29ce484222325u;
    for (int i = 0; i < 3; ++i) {
        h = (h ^ (uint64_t)c[i]) * 0x9E3779B97F4A7C15u;
        h ^= h >> 29;
    }
    return (size_t)h & (g->places - 1);
}

/* The cells that points within the tolerance along one axis may be in: one or two. */
static void cells_near(const grid* g, double x, int64_t range[2])
{
    range[0] = (int64_t)floor((x - g->tolerance) / g->cell);
    range[1] = (int64_t)floor((x + g->tolerance) / g->cell);
}

/* The earliest kept vertex within the tolerance of x, or -1. */
static int32_t find_near(const grid* g, const perpi_mesh_data* m, vec3 x)
{
    int64_t range[3][2];
    for (int i = 0; i < 3; ++i) {
        cells_near(g, v3_get(x, i) - v3_get(g->lo, i), range[i]);
    }
    int32_t best = -1;
    int64_t c[3];
    for (c[0] = range[0][0]; c[0] <= range[0][1]; ++c[0]) {
        for (c[1] = range[1][0]; c[1] <= range[1][1]; ++c[1]) {
            for (c[2] = range[2][0]; c[2] <= range[2][1]; ++c[2]) {
                for (int32_t i = g->head[place_of(g, c)]; i != 0; i = g->next[i - 1]) {
                    if ((best < 0 || i - 1 < best) &&
                        v3_norm(v3_sub(vertex(m, i - 1), x)) <= g->tolerance) {
                        best = i - 1;
                    }
                }
            }
        }
    }
    return best;
}

static void keep(grid* g, vec3 x, int32_t index)
{
    int64_t c[3];
    for (int i = 0; i < 3; ++i) {
        c[i] = (int64_t)floor((v3_get(x, i) - v3_get(g->lo, i)) / g->cell);
    }
    const size_t place = place_of(g, c);
    g->next[index] = g->head[place];
    g->head[place] = index + 1;
}

/* now: the vertex that each becomes. Kept vertices move up. */
static size_t weld_vertices(grid* g, perpi_mesh_data* m, int32_t* now)
{
    size_t kept = 0;
    for (size_t i = 0; i < m->vertex_count; ++i) {
        const vec3 x = vertex(m, (int32_t)i);
        now[i] = find_near(g, m, x);
        if (now[i] < 0) {
            now[i] = (int32_t)kept;
            memmove(m->vertex + 3 * kept, m->vertex + 3 * i, 3 * sizeof *m->vertex);
            keep(g, x, (int32_t)kept++);
        }
    }
    const size_t welded = m->vertex_count - kept;
    m->vertex_count = kept;
    return welded;
}

size_t perpi_mesh_renumber(perpi_mesh_data* m, const int32_t* now)
{
    size_t left = 0;
    for (size_t i = 0; i < m->triangle_count; ++i) {
        const int32_t* t = m->triangle + 3 * i;
        const int32_t a = now[t[0]], b = now[t[1]], c = now[t[2]];
        if (a != b && b != c && c != a) {
            int32_t* to = m->triangle + 3 * left++;
            to[0] = a;
            to[1] = b;
            to[2] = c;
        }
    }
    const size_t dropped = m->triangle_count - left;
    m->triangle_count = left;
    return dropped;
}

static perp_status weld(work* w, perpi_mesh_data* m, double relative, perpi_mesh_report* report)
{
    vec3 lo = FAR, hi = v3_neg(FAR);
    for (size_t i = 0; i < m->vertex_count; ++i) {
        extend(&lo, &hi, vertex(m, (int32_t)i));
    }
    grid g = {.places = 64, .tolerance = relative * w->size, .lo = lo};
    g.cell = 4.0 * g.tolerance;
    while (g.places < 2 * m->vertex_count) {
        g.places *= 2;
    }
    int32_t* now = NULL;
    perp_status status = perpi_alloc(w->context, g.places, sizeof *g.head, &g.head);
    if (status == PERP_OK) {
        status = perpi_alloc(w->context, m->vertex_count, sizeof *g.next, &g.next);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(w->context, m->vertex_count, sizeof *now, &now);
    }
    if (status == PERP_OK) {
        report->welded += weld_vertices(&g, m, now);
        report->dropped += perpi_mesh_renumber(m, now);
        report->tolerance = relative;
    }
    perpi_free(w->context, g.head);
    perpi_free(w->context, g.next);
    perpi_free(w->context, now);
    return status;
}

/* ---- neighbours --------------------------------------------------------------------------------- */

static int compare_sides(const void* a, const void* b)
{
    const side *x = a, *y = b;
    if (x->low != y->low) {
        return x->low < y->low ? -1 : 1;
    }
    if (x->high != y->high) {
        return x->high < y->high ? -1 : 1;
    }
    return x->at < y->at ? -1 : x->at > y->at;
}

static void sort_sides(const perpi_mesh_data* m, side* s)
{
    const int32_t count = 3 * (int32_t)m->triangle_count;
    for (int32_t i = 0; i < count; ++i) {
        const int32_t from = side_from(m, i), to = side_to(m, i);
        s[i] = (side){from < to ? from : to, from < to ? to : from, from < to ? 1 : -1, i};
    }
    qsort(s, (size_t)count, sizeof *s, compare_sides);
}

static size_t edge_end(const side* s, size_t count, size_t i)
{
    size_t next = i + 1;
    while (next < count && s[next].low == s[i].low && s[next].high == s[i].high) {
        ++next;
    }
    return next;
}

/* Counts open edges (an odd number of triangles) and unbalanced ones; fills mate if there is one. */
static void link_sides(const perpi_mesh_data* m, side* s, int32_t* mate, size_t* open,
                       size_t* unbalanced)
{
    const size_t count = 3 * m->triangle_count;
    sort_sides(m, s);
    *open = *unbalanced = 0;
    for (size_t i = 0, next; i < count; i = next) {
        next = edge_end(s, count, i);
        int32_t balance = 0;
        for (size_t k = i; k < next; ++k) {
            balance += s[k].way;
            if (mate != NULL) {
                mate[s[k].at] = next - i == 1   ? OPEN
                                : next - i == 2 ? s[i + (k == i ? 1 : 0)].at
                                                : MANY;
            }
        }
        *open += (next - i) % 2;
        *unbalanced += balance != 0;
    }
}

static perp_status resize(work* w)
{
    const size_t n = w->mesh->triangle_count + 1;
    void* const old[] = {w->side, w->mate, w->of, w->queue};
    for (int i = 0; i < 4; ++i) {
        perpi_free(w->context, old[i]);
    }
    w->side = NULL;
    w->mate = w->of = w->queue = NULL;
    perp_status status = perpi_alloc(w->context, 3 * n, sizeof *w->side, &w->side);
    if (status == PERP_OK) {
        status = perpi_alloc(w->context, 3 * n, sizeof *w->mate, &w->mate);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(w->context, n, sizeof *w->of, &w->of);
    }
    return status == PERP_OK ? perpi_alloc(w->context, n, sizeof *w->queue, &w->queue) : status;
}

static perp_status relink(work* w)
{
    const perp_status status = resize(w);
    if (status == PERP_OK) {
        link_sides(w->mesh, w->side, w->mate, &w->open, &w->unbalanced);
    }
    return status;
}

/* ---- triangles given twice ------------------------------------------------------------------------ */

typedef struct corners {
    int32_t v[3]; /* from the least, in the sense of the triangle */
    int32_t at;
} corners;

static int compare_corners(const void* a, const void* b)
{
    const corners *x = a, *y = b;
    for (int i = 0; i < 3; ++i) {
        if (x->v[i] != y->v[i]) {
            return x->v[i] < y->v[i] ? -1 : 1;
        }
    }
    return x->at < y->at ? -1 : x->at > y->at;
}

static perp_status drop_twins(work* w)
{
    perpi_mesh_data* m = w->mesh;
    corners* list = NULL;
    const perp_status status = perpi_alloc(w->context, m->triangle_count + 1, sizeof *list, &list);
    if (status != PERP_OK) {
        return status;
    }
    for (size_t i = 0; i < m->triangle_count; ++i) {
        const int32_t* t = m->triangle + 3 * i;
        const int k = t[0] < t[1] ? (t[0] < t[2] ? 0 : 2) : (t[1] < t[2] ? 1 : 2);
        list[i] = (corners){{t[k], t[(k + 1) % 3], t[(k + 2) % 3]}, (int32_t)i};
    }
    qsort(list, m->triangle_count, sizeof *list, compare_corners);
    size_t twins = 0;
    for (size_t i = 1; i < m->triangle_count; ++i) {
        if (memcmp(list[i].v, list[i - 1].v, sizeof list[i].v) == 0) {
            m->triangle[3 * (size_t)list[i].at] = -1;
            ++twins;
        }
    }
    size_t left = 0;
    for (size_t i = 0; twins > 0 && i < m->triangle_count; ++i) {
        if (m->triangle[3 * i] >= 0) {
            memmove(m->triangle + 3 * left++, m->triangle + 3 * i, 3 * sizeof *m->triangle);
        }
    }
    m->triangle_count -= twins;
    w->report->dropped += twins;
    perpi_free(w->context, list);
    return PERP_OK;
}

/* ---- consistent faces ----------------------------------------------------------------------------- */

static bool same_way(const perpi_mesh_data* m, int32_t a, int32_t b)
{
    return side_from(m, a) == side_from(m, b);
}

/* The part of a triangle, into w->queue; those to be turned in w->of (1, else 0; -1: not visited). A part
 * that has no orientation (a Moebius band) is not turned. Returns its number of triangles. */
static int32_t walk_part(work* w, int32_t first)
{
    const perpi_mesh_data* m = w->mesh;
    int32_t count = 1, turned = 0;
    bool twisted = false;
    w->queue[0] = first;
    w->of[first] = 0;
    for (int32_t i = 0; i < count; ++i) {
        const int32_t t = w->queue[i];
        for (int32_t a = 3 * t; a < 3 * t + 3; ++a) {
            const int32_t b = w->mate[a];
            if (b < 0) {
                continue;
            }
            const int32_t want = w->of[t] ^ (same_way(m, a, b) ? 1 : 0);
            if (w->of[b / 3] < 0) {
                w->of[b / 3] = want;
                turned += want;
                w->queue[count++] = b / 3;
            }
            twisted = twisted || w->of[b / 3] != want;
        }
    }
    const bool others = !twisted && 2 * turned > count;
    for (int32_t i = 0; i < count; ++i) {
        int32_t* o = &w->of[w->queue[i]];
        *o = twisted ? 0 : *o ^ (others ? 1 : 0);
    }
    return count;
}

static perp_status make_consistent(work* w)
{
    const int32_t n = (int32_t)w->mesh->triangle_count;
    bool any = false;
    for (int32_t t = 0; t < n; ++t) {
        w->of[t] = -1;
    }
    for (int32_t t = 0; t < n; ++t) {
        if (w->of[t] < 0) {
            (void)walk_part(w, t);
        }
    }
    for (int32_t t = 0; t < n; ++t) {
        if (w->of[t] == 1) {
            turn(w->mesh, t);
            w->turned[t] ^= 1;
            any = true;
        }
    }
    return any ? relink(w) : PERP_OK;
}

/* ---- holes ---------------------------------------------------------------------------------------- */

/* The open side that follows an open one along the border, by turning about the vertex between them through
 * the triangles; -1: an edge with more than two is in the way. */
static int32_t next_open(const work* w, int32_t at)
{
    for (size_t i = 0; i <= w->mesh->triangle_count; ++i) {
        at = side_next(at);
        if (w->mate[at] == OPEN) {
            return at;
        }
        if (w->mate[at] < 0 || same_way(w->mesh, at, w->mate[at])) {
            return -1;
        }
        at = w->mate[at];
    }
    return -1;
}

static double fan_area(const perpi_mesh_data* m, const int32_t* p, int32_t n, int32_t apex)
{
    double area = 0.0;
    const vec3 o = vertex(m, p[apex]);
    for (int32_t i = 1; i + 1 < n; ++i) {
        const vec3 a = v3_sub(vertex(m, p[(apex + i) % n]), o);
        const vec3 b = v3_sub(vertex(m, p[(apex + i + 1) % n]), o);
        area += v3_norm(v3_cross(a, b));
    }
    return area;
}

/* A fan of least area: one that folds over itself has more. */
static perp_status fill_hole(work* w, const int32_t* loop, int32_t n)
{
    perpi_mesh_data* m = w->mesh;
    int32_t p[PERPI_MESH_HOLE_EDGES];
    for (int32_t i = 0; i < n; ++i) {
        p[i] = side_from(m, loop[n - 1 - i]);
    }
    int32_t apex = 0;
    for (int32_t i = 1; i < n; ++i) {
        apex = fan_area(m, p, n, i) < fan_area(m, p, n, apex) ? i : apex;
    }
    perp_status status = perpi_grow(w->context, &m->triangle, &m->triangle_capacity,
                                    3 * (m->triangle_count + (size_t)n), sizeof *m->triangle);
    for (int32_t i = 1; i + 1 < n && status == PERP_OK; ++i) {
        const int32_t a = p[apex], b = p[(apex + i) % n], c = p[(apex + i + 1) % n];
        if (a != b && b != c && c != a) {
            int32_t* t = m->triangle + 3 * m->triangle_count++;
            t[0] = a;
            t[1] = b;
            t[2] = c;
            w->report->filled += 1;
        }
    }
    w->report->holes += 1;
    return status;
}

/* The relative size of a chain of sides. */
static double chain_size(const work* w, const int32_t* chain, size_t count)
{
    vec3 lo = FAR, hi = v3_neg(FAR);
    for (size_t i = 0; i < count; ++i) {
        extend(&lo, &hi, vertex(w->mesh, side_from(w->mesh, chain[i])));
        extend(&lo, &hi, vertex(w->mesh, side_to(w->mesh, chain[i])));
    }
    return v3_norm(v3_sub(hi, lo)) / w->size;
}

/* A loop of open sides is filled or noted; so is a chain that is no loop. */
static perp_status take_hole(work* w, const int32_t* chain, size_t count, bool loop)
{
    perpi_mesh_report* r = w->report;
    const double size = chain_size(w, chain, count);
    if (loop && count >= 3 && count <= PERPI_MESH_HOLE_EDGES && size < PERPI_MESH_HOLE_SIZE) {
        return fill_hole(w, chain, (int32_t)count);
    }
    if (r->loop_size == 0.0) {
        r->loop_edges = loop ? count : 0;
        r->loop_size = size;
        v3_to(vertex(w->mesh, side_from(w->mesh, chain[0])), r->edge[0]);
        v3_to(vertex(w->mesh, side_to(w->mesh, chain[0])), r->edge[1]);
    }
    return PERP_OK;
}

/* Around the border from an open side. Where holes touch in a vertex the walk passes it again: the loop
 * since then is a hole of its own. where: per vertex, its place in the chain + 1. */
static perp_status walk_border(work* w, int32_t first, unsigned char* seen, int32_t* chain,
                               int32_t* where)
{
    const perpi_mesh_data* m = w->mesh;
    perp_status status = PERP_OK;
    size_t count = 0;
    int32_t at = first;
    do {
        seen[at] = 1;
        chain[count++] = at;
        where[side_from(m, at)] = (int32_t)count;
        const int32_t since = where[side_to(m, at)];
        if (since > 0) {
            const size_t from = (size_t)since - 1;
            for (size_t i = from; i < count; ++i) {
                where[side_from(m, chain[i])] = 0;
            }
            status = take_hole(w, chain + from, count - from, true);
            count = from;
        }
        at = next_open(w, at);
    } while (status == PERP_OK && at >= 0 && !seen[at]);
    for (size_t i = 0; i < count; ++i) {
        where[side_from(m, chain[i])] = 0;
    }
    return status == PERP_OK && count > 0 ? take_hole(w, chain, count, false) : status;
}

static perp_status fill_holes(work* w)
{
    const int32_t sides = 3 * (int32_t)w->mesh->triangle_count;
    unsigned char* seen = NULL;
    int32_t *chain = NULL, *where = NULL;
    perp_status status = perpi_alloc(w->context, (size_t)sides + 1, 1, &seen);
    if (status == PERP_OK) {
        status = perpi_alloc(w->context, (size_t)sides + 1, sizeof *chain, &chain);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(w->context, w->mesh->vertex_count, sizeof *where, &where);
    }
    for (int32_t a = 0; status == PERP_OK && a < sides; ++a) {
        if (w->mate[a] == OPEN && !seen[a]) {
            status = walk_border(w, a, seen, chain, where);
        }
    }
    perpi_free(w->context, seen);
    perpi_free(w->context, chain);
    perpi_free(w->context, where);
    return status == PERP_OK && w->report->holes > 0 ? relink(w) : status;
}

/* ---- outward faces -------------------------------------------------------------------------------- */

static perp_status add_part(work* w, int32_t first)
{
    const perp_status status =
        perpi_grow(w->context, &w->part, &w->part_capacity, w->part_count + 1, sizeof *w->part);
    if (status != PERP_OK) {
        return status;
    }
    part p = {.lo = FAR, .hi = v3_neg(FAR), .first = first, .closed = true};
    const perpi_mesh_data* m = w->mesh;
    int32_t count = 1;
    w->queue[0] = first;
    w->of[first] = (int32_t)w->part_count;
    for (int32_t i = 0; i < count; ++i) {
        const int32_t t = w->queue[i];
        vec3 x[3];
        for (int32_t k = 0; k < 3; ++k) {
            x[k] = v3_sub(vertex(m, m->triangle[3 * t + k]), w->middle);
            extend(&p.lo, &p.hi, x[k]);
            const int32_t b = w->mate[3 * t + k];
            p.closed = p.closed && b >= 0 && !same_way(m, 3 * t + k, b);
            if (b >= 0 && w->of[b / 3] < 0) {
                w->of[b / 3] = (int32_t)w->part_count;
                w->queue[count++] = b / 3;
            }
        }
        p.volume += v3_dot(x[0], v3_cross(x[1], x[2])) / 6.0;
    }
    w->part[w->part_count++] = p;
    return PERP_OK;
}

static double cross2(vec3 a, vec3 b, vec3 p)
{
    return (b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x);
}

/* Whether the ray from p along z meets the triangle. */
static bool ray_meets(const work* w, int32_t t, vec3 p)
{
    const perpi_mesh_data* m = w->mesh;
    vec3 x[3];
    for (int k = 0; k < 3; ++k) {
        x[k] = v3_sub(vertex(m, m->triangle[3 * t + k]), w->middle);
    }
    const double a = cross2(x[0], x[1], p), b = cross2(x[1], x[2], p), c = cross2(x[2], x[0], p);
    if ((a > 0.0) != (b > 0.0) || (b > 0.0) != (c > 0.0) || a + b + c == 0.0) {
        return false;
    }
    const double z = (b * x[0].z + c * x[1].z + a * x[2].z) / (a + b + c);
    return z > p.z;
}

static bool box_in(const part* a, const part* b)
{
    return a->lo.x > b->lo.x && a->lo.y > b->lo.y && a->lo.z > b->lo.z && a->hi.x < b->hi.x &&
           a->hi.y < b->hi.y && a->hi.z < b->hi.z;
}

/* Whether a part lies in an odd number of others: its faces then bound a cavity. */
static bool is_cavity(const work* w, size_t index)
{
    const part* p = &w->part[index];
    bool may = false;
    for (size_t i = 0; i < w->part_count && !may; ++i) {
        may = w->part[i].closed && box_in(p, &w->part[i]);
    }
    if (!may) {
        return false;
    }
    const perpi_mesh_data* m = w->mesh;
    vec3 x = {0, 0, 0};
    for (int k = 0; k < 3; ++k) {
        x = v3_madd(x, 1.0 / 3.0, v3_sub(vertex(m, m->triangle[3 * p->first + k]), w->middle));
    }
    size_t crossings = 0;
    for (int32_t t = 0; t < (int32_t)m->triangle_count; ++t) {
        const part* o = &w->part[w->of[t]];
        crossings += o != p && o->closed && box_in(p, o) && ray_meets(w, t, x) ? 1 : 0;
    }
    return crossings % 2 == 1;
}

/* More parts of negative volume than this are not looked at one by one. */
enum { CAVITIES = 64 };

static perp_status face_outward(work* w)
{
    const int32_t n = (int32_t)w->mesh->triangle_count;
    for (int32_t t = 0; t < n; ++t) {
        w->of[t] = -1;
    }
    w->part_count = 0;
    double total = 0.0;
    bool closed = true;
    for (int32_t t = 0; t < n; ++t) {
        if (w->of[t] < 0) {
            const perp_status status = add_part(w, t);
            if (status != PERP_OK) {
                return status;
            }
            total += w->part[w->part_count - 1].volume;
            closed = closed && w->part[w->part_count - 1].closed;
        }
    }
    int looked = 0;
    for (size_t i = 0; i < w->part_count; ++i) {
        part* p = &w->part[i];
        const bool inward = p->closed && p->volume < 0.0;
        const bool wrong = closed ? inward && looked++ < CAVITIES && !is_cavity(w, i)
                                  : total < 0.0 && w->unbalanced == 0;
        p->volume = wrong ? -1.0 : 1.0; /* from here on: whether it is turned */
    }
    for (int32_t t = 0; t < n; ++t) {
        if (w->part[w->of[t]].volume < 0.0) {
            turn(w->mesh, t);
            if ((size_t)t < w->report->faces) {
                w->turned[t] ^= 1;
            }
        }
    }
    return PERP_OK;
}

/* ---- all of it ------------------------------------------------------------------------------------ */

static bool measure(work* w)
{
    vec3 lo = FAR, hi = v3_neg(FAR);
    for (size_t i = 0; i < w->mesh->vertex_count; ++i) {
        extend(&lo, &hi, vertex(w->mesh, (int32_t)i));
    }
    w->size = v3_norm(v3_sub(hi, lo));
    w->middle = v3_scale(0.5, v3_add(lo, hi));
    return w->size > 0.0 && isfinite(w->size) && 1e-12 * w->size > 0.0;
}

/* Welds with the coarser tolerance where that leaves fewer open edges. */
static perp_status weld_single(work* w)
{
    perpi_mesh_data copy = *w->mesh;
    perpi_mesh_report report = *w->report;
    copy.vertex = NULL;
    copy.triangle = NULL;
    perp_status status =
        perpi_alloc(w->context, copy.vertex_capacity, sizeof *copy.vertex, &copy.vertex);
    if (status == PERP_OK) {
        status =
            perpi_alloc(w->context, copy.triangle_capacity, sizeof *copy.triangle, &copy.triangle);
    }
    if (status == PERP_OK) {
        memcpy(copy.vertex, w->mesh->vertex, 3 * copy.vertex_count * sizeof *copy.vertex);
        memcpy(copy.triangle, w->mesh->triangle, 3 * copy.triangle_count * sizeof *copy.triangle);
        status = weld(w, &copy, WELD_SINGLE, &report);
    }
    if (status == PERP_OK) {
        size_t open = 0, unbalanced = 0;
        link_sides(&copy, w->side, NULL, &open, &unbalanced);
        if (open < w->open && copy.triangle_count > 0) {
            const perpi_mesh_data old = *w->mesh;
            *w->mesh = copy;
            copy = old;
            *w->report = report;
        }
        status = relink(w);
    }
    perpi_mesh_free(w->context, &copy);
    return status;
}

static perp_status repair(work* w)
{
    perp_status status = weld(w, w->mesh, WELD, w->report);
    if (status == PERP_OK) {
        status = relink(w);
    }
    if (status == PERP_OK && w->open > 0) {
        status = weld_single(w);
    }
    if (status == PERP_OK && w->unbalanced > 0) {
        const size_t dropped = w->report->dropped;
        status = drop_twins(w);
        if (status == PERP_OK && w->report->dropped > dropped) {
            status = relink(w);
        }
    }
    w->report->faces = w->mesh->triangle_count;
    if (status == PERP_OK) {
        status = perpi_alloc(w->context, w->report->faces + 1, 1, &w->turned);
    }
    if (status == PERP_OK && w->unbalanced > 0) {
        status = make_consistent(w);
    }
    if (status == PERP_OK && w->open > 0) {
        status = fill_holes(w);
    }
    if (status == PERP_OK) {
        w->report->open_edges = w->open;
        status = w->open == 0 ? face_outward(w) : PERP_OK;
    }
    for (size_t i = 0; status == PERP_OK && i < w->report->faces; ++i) {
        w->report->flipped += w->turned[i];
    }
    return status;
}

perp_status perpi_mesh_repair(perp_context* context, perpi_mesh_data* mesh,
                              perpi_mesh_report* report)
{
    *report = (perpi_mesh_report){0};
    work w = {.context = context, .mesh = mesh, .report = report};
    if (!measure(&w)) {
        return PERP_OK; /* refused when it is weighed */
    }
    const perp_status status = repair(&w);
    void* const owned[] = {w.side, w.mate, w.of, w.queue, w.turned, w.part};
    for (int i = 0; i < 6; ++i) {
        perpi_free(context, owned[i]);
    }
    return status;
}

/* ---- what is said --------------------------------------------------------------------------------- */

static void say(char* text, size_t size, const char* item)
{
    const size_t used = strlen(text);
    (void)snprintf(text + used, size - used, "%s%s", used > 0 ? ", " : "", item);
}

bool perpi_mesh_report_text(const perpi_mesh_report* r, char* text, size_t size)
{
    char item[160];
    text[0] = '\0';
    if (r->welded > 0) {
        (void)snprintf(item, sizeof item, "%zu vert%s within %g of the size of another welded",
                       r->welded, r->welded == 1 ? "ex" : "ices", r->tolerance);
        say(text, size, item);
    }
    if (r->dropped > 0) {
        (void)snprintf(item, sizeof item, "%zu degenerate or repeated triangle%s dropped",
                       r->dropped, r->dropped == 1 ? "" : "s");
        say(text, size, item);
    }
    if (r->flipped > 0) {
        (void)snprintf(item, sizeof item, "%zu of %zu faces turned so that they face outward",
                       r->flipped, r->faces);
        say(text, size, item);
    }
    if (r->holes > 0) {
        (void)snprintf(item, sizeof item, "%zu small hole%s filled with %zu triangle%s", r->holes,
                       r->holes == 1 ? "" : "s", r->filled, r->filled == 1 ? "" : "s");
        say(text, size, item);
    }
    return text[0] != '\0';
}

perp_status perpi_mesh_check_holes(perp_context* context, const char* origin,
                                   const perpi_mesh_report* r)
{
    if (r->open_edges == 0 || !(r->loop_size > 0.0)) {
        return PERP_OK; /* edges with three faces: refused when the mesh is weighed */
    }
    char hole[100] = "one face only";
    if (r->loop_edges > 0) {
        (void)snprintf(hole, sizeof hole, "a hole of %zu edges, %.2g of the size", r->loop_edges,
                       r->loop_size);
    }
    const double *a = r->edge[0], *b = r->edge[1];
    return perpi_fail(context, PERP_ERROR_INPUT,
                      "%s: the surface is not closed: %s at the edge from (%.9g, %.9g, %.9g) to "
                      "(%.9g, %.9g, %.9g); holes of at most %d edges and 5 %% of the size are "
                      "filled: close it, or say \"convex\": true (its convex hull)",
                      origin, hole, a[0], a[1], a[2], b[0], b[1], b[2], PERPI_MESH_HOLE_EDGES);
}
