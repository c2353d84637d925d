/* src/shape/cell.c - cutting a convex cell by planes. */
#include "shape/cell.h"

#include <string.h>

/* A polytope of f faces has at most 2f - 4 vertices and 6f - 12 half-edges (Euler). */
static perp_status allocate_cell(perpi_arena* arena, size_t f, perpi_cell* cell)
{
    perp_status status = perpi_arena_take(arena, 2 * f, sizeof *cell->vertex, &cell->vertex);
    int32_t** const lists[] = {&cell->leaving, &cell->origin, &cell->next, &cell->twin,
                               &cell->face,    &cell->first,  &cell->tag};
    const size_t count[] = {2 * f, 6 * f, 6 * f, 6 * f, 6 * f, f, f};
    for (int i = 0; i < 7 && status == PERP_OK; ++i) {
        status = perpi_arena_take(arena, count[i], sizeof(int32_t), lists[i]);
    }
    return status;
}

perp_status perpi_knife_take(perpi_arena* arena, int32_t faces, perpi_knife* knife)
{
    const size_t f = (size_t)faces;
    perpi_knife k = {.face_room = faces};
    perp_status status = allocate_cell(arena, f, &k.cell);
    if (status == PERP_OK) {
        status = allocate_cell(arena, f, &k.other);
    }
    if (status == PERP_OK) {
        status = perpi_arena_take(arena, 2 * f, sizeof *k.height, &k.height);
    }
    int32_t** const lists[] = {&k.state, &k.queue, &k.number, &k.made, &k.crossing, &k.partner};
    const size_t count[] = {2 * f, 2 * f, 2 * f, 6 * f, 6 * f, 6 * f};
    for (int i = 0; i < 6 && status == PERP_OK; ++i) {
        status = perpi_arena_take(arena, count[i], sizeof(int32_t), lists[i]);
    }
    if (status == PERP_OK) {
        *knife = k;
    }
    return status;
}

/* ---- setting a cell ------------------------------------------------------------------------------ */

void perpi_cell_set_polyhedron(perpi_knife* knife, const perpi_polyhedron* p,
                               const perpi_pose* pose)
{
    perpi_cell* c = &knife->cell;
    PERP_ASSERT(p->face_count <= knife->face_room);
    c->vertex_count = p->vertex_count;
    c->face_count = p->face_count;
    c->half_count = p->face_start[p->face_count];
    for (int32_t i = 0; i < p->vertex_count; ++i) {
        c->vertex[i] = perpi_pose_point(pose, p->vertex[i]);
    }
    /* half-edge k starts at corner k; `made` holds an edge until its twin is found */
    for (int32_t e = 0; e < p->edge_count; ++e) {
        knife->made[e] = -1;
    }
    for (int32_t f = 0; f < p->face_count; ++f) {
        c->first[f] = p->face_start[f];
        c->tag[f] = f;
        for (int32_t k = p->face_start[f]; k < p->face_start[f + 1]; ++k) {
            c->origin[k] = p->corner[k];
            c->next[k] = k + 1 < p->face_start[f + 1] ? k + 1 : p->face_start[f];
            c->face[k] = f;
            c->leaving[p->corner[k]] = k;
            const int32_t e = p->side[k];
            if (knife->made[e] < 0) {
                knife->made[e] = k;
            } else {
                c->twin[k] = knife->made[e];
                c->twin[knife->made[e]] = k;
            }
        }
    }
}

void perpi_cell_set_box(perpi_knife* knife, vec3 lo, vec3 hi)
{
    static const int32_t corner[24] = {0, 4, 6, 2, 1, 3, 7, 5, 0, 1, 5, 4,
                                       2, 6, 7, 3, 0, 2, 3, 1, 4, 5, 7, 6};
    perpi_cell* c = &knife->cell;
    PERP_ASSERT(knife->face_room >= 6);
    c->vertex_count = 8;
    c->face_count = 6;
    c->half_count = 24;
    for (int i = 0; i < 8; ++i) {
        c->vertex[i] =
            v3((i & 1) != 0 ? hi.x : lo.x, (i & 2) != 0 ? hi.y : lo.y, (i & 4) != 0 ? hi.z : lo.z);
    }
    for (int32_t k = 0; k < 24; ++k) {
        c->origin[k] = corner[k];
        c->next[k] = k % 4 == 3 ? k - 3 : k + 1;
        c->face[k] = k / 4;
        c->leaving[corner[k]] = k;
        c->first[k / 4] = k - k % 4;
        c->tag[k / 4] = -1;
    }
    for (int32_t k = 0; k < 24; ++k) {
        for (int32_t j = 0; j < 24; ++j) {
            if (corner[j] == corner[c->next[k]] && corner[c->next[j]] == corner[k]) {
                c->twin[k] = j;
            }
        }
    }
}

void perpi_cell_copy(perpi_knife* knife, const perpi_cell* from)
{
    perpi_cell* c = &knife->cell;
    const size_t v = (size_t)from->vertex_count, h = (size_t)from->half_count;
    const size_t f = (size_t)from->face_count;
    PERP_ASSERT(from->face_count <= knife->face_room);
    c->vertex_count = from->vertex_count;
    c->half_count = from->half_count;
    c->face_count = from->face_count;
    memcpy(c->vertex, from->vertex, v * sizeof *c->vertex);
    memcpy(c->leaving, from->leaving, v * sizeof *c->leaving);
    memcpy(c->origin, from->origin, h * sizeof *c->origin);
    memcpy(c->next, from->next, h * sizeof *c->next);
    memcpy(c->twin, from->twin, h * sizeof *c->twin);
    memcpy(c->face, from->face, h * sizeof *c->face);
    memcpy(c->first, from->first, f * sizeof *c->first);
    memcpy(c->tag, from->tag, f * sizeof *c->tag);
}

/* ---- cutting ------------------------------------------------------------------------------------- */

enum { KEPT = 0, ABOVE = 1, OFF = 2, SEEN = 4 };

/* Sets the state of all vertices connected with `start` over vertices of state `from` to `to`. */
static void flood_vertices(perpi_knife* k, int32_t start, int32_t from, int32_t to)
{
    const perpi_cell* c = &k->cell;
    int32_t head = 0, tail = 0;
    k->queue[tail++] = start;
    k->state[start] = to;
    while (head < tail) {
        const int32_t v = k->queue[head++];
        int32_t h = c->leaving[v];
        do {
            const int32_t w = c->origin[c->twin[h]];
            if (k->state[w] == from) {
                k->state[w] = to;
                k->queue[tail++] = w;
            }
            h = c->next[c->twin[h]];
        } while (h != c->leaving[v]);
    }
}

/* Keeps the vertices connected with the lowest one without passing those cut off; all others are
 * cut off. Both parts are then connected, and the cut crosses every face at most once. */
static perpi_cut divide_vertices(perpi_knife* k, vec3 n, vec3 on, double tolerance)
{
    const perpi_cell* c = &k->cell;
    int32_t low = 0, high = 0;
    for (int32_t i = 0; i < c->vertex_count; ++i) {
        k->height[i] = v3_dot(n, v3_sub(c->vertex[i], on));
        low = k->height[i] < k->height[low] ? i : low;
        high = k->height[i] > k->height[high] ? i : high;
    }
    if (!(k->height[high] > tolerance)) {
        return PERPI_CUT_NOTHING;
    }
    if (!(k->height[low] < -tolerance)) {
        return PERPI_CUT_ALL;
    }
    for (int32_t i = 0; i < c->vertex_count; ++i) {
        k->state[i] = k->height[i] > tolerance ? ABOVE : KEPT;
    }
    flood_vertices(k, high, ABOVE, OFF);
    for (int32_t i = 0; i < c->vertex_count; ++i) {
        k->state[i] = k->state[i] == ABOVE ? KEPT : k->state[i];
    }
    flood_vertices(k, low, KEPT, SEEN);
    for (int32_t i = 0; i < c->vertex_count; ++i) {
        k->state[i] = k->state[i] == SEEN ? KEPT : OFF;
    }
    return PERPI_CUT_PART;
}

/* The intersection of an edge with the plane, computed from the nearer end, which keeps the
 * relative accuracy of a thin remainder. */
static vec3 cross_plane(vec3 a, double at_a, vec3 b, double at_b)
{
    if (!((at_a < 0.0) != (at_b < 0.0))) {
        return fabs(at_a) < fabs(at_b) ? a : b; /* a vertex kept only for connectivity */
    }
    const double t = at_a / (at_a - at_b);
    return t < 0.5 ? v3_madd(a, t, v3_sub(b, a)) : v3_madd(b, at_b / (at_b - at_a), v3_sub(a, b));
}

/* The vertices of the new cell: those kept, and one on every crossed edge. */
static void make_vertices(perpi_knife* k)
{
    const perpi_cell* c = &k->cell;
    perpi_cell* to = &k->other;
    to->vertex_count = 0;
    for (int32_t i = 0; i < c->vertex_count; ++i) {
        if (k->state[i] == KEPT) {
            k->number[i] = to->vertex_count;
            to->vertex[to->vertex_count++] = c->vertex[i];
        }
    }
    for (int32_t h = 0; h < c->half_count; ++h) {
        const int32_t u = c->origin[h], v = c->origin[c->twin[h]];
        if (k->state[u] == KEPT && k->state[v] == OFF) {
            k->crossing[h] = k->crossing[c->twin[h]] = to->vertex_count;
            to->vertex[to->vertex_count++] =
                cross_plane(c->vertex[u], k->height[u], c->vertex[v], k->height[v]);
        }
    }
}

static int32_t add_half(perpi_cell* to, int32_t origin, int32_t face)
{
    const int32_t h = to->half_count++;
    to->origin[h] = origin;
    to->face[h] = face;
    to->leaving[origin] = h;
    return h;
}

/* The remaining part of one face. Where the plane crosses it, `partner` of the half-edge that
 * leaves is the new half-edge along the plane, and of the one that enters the one that leaves. */
static int32_t cut_face(perpi_knife* k, int32_t f)
{
    const perpi_cell* c = &k->cell;
    perpi_cell* to = &k->other;
    const int32_t face = to->face_count, begin = to->half_count;
    int32_t entry = -1, leave = -1, h = c->first[f];
    do {
        const bool from = k->state[c->origin[h]] == KEPT;
        const bool into = k->state[c->origin[c->twin[h]]] == KEPT;
        if (from) {
            k->made[h] = add_half(to, k->number[c->origin[h]], face);
        }
        if (from && !into) {
            leave = h;
            k->partner[h] = add_half(to, k->crossing[h], face);
        }
        if (!from && into) {
            entry = h;
            k->made[h] = add_half(to, k->crossing[h], face);
        }
        h = c->next[h];
    } while (h != c->first[f]);
    if (to->half_count == begin) {
        return -1; /* cut off as a whole */
    }
    for (int32_t i = begin; i < to->half_count; ++i) {
        to->next[i] = i + 1 < to->half_count ? i + 1 : begin;
    }
    to->first[face] = begin;
    to->tag[face] = c->tag[f];
    ++to->face_count;
    if (entry >= 0) {
        k->partner[entry] = leave;
    }
    return leave;
}

/* The new face in the plane, by traversing the crossed edges from face to face. */
static void close_cut(perpi_knife* k, int32_t leave, int32_t tag)
{
    const perpi_cell* c = &k->cell;
    perpi_cell* to = &k->other;
    const int32_t face = to->face_count++, begin = to->half_count;
    int32_t out = leave;
    do {
        const int32_t in = c->twin[out];
        out = k->partner[in];
        const int32_t h = add_half(to, k->crossing[in], face);
        to->twin[h] = k->partner[out];
        to->twin[k->partner[out]] = h;
        to->next[h] = h + 1;
    } while (out != leave);
    to->next[to->half_count - 1] = begin;
    to->first[face] = begin;
    to->tag[face] = tag;
}

perpi_cut perpi_cell_cut(perpi_knife* knife, vec3 n, vec3 on, double tolerance, int32_t tag)
{
    const perpi_cut cut = divide_vertices(knife, n, on, tolerance);
    if (cut != PERPI_CUT_PART) {
        return cut;
    }
    const perpi_cell* c = &knife->cell;
    perpi_cell* to = &knife->other;
    PERP_ASSERT(c->face_count < knife->face_room);
    make_vertices(knife);
    to->face_count = to->half_count = 0;
    int32_t leave = -1;
    for (int32_t f = 0; f < c->face_count; ++f) {
        const int32_t found = cut_face(knife, f);
        leave = found >= 0 ? found : leave;
    }
    for (int32_t h = 0; h < c->half_count; ++h) {
        const int32_t t = c->twin[h];
        if (knife->state[c->origin[h]] == KEPT || knife->state[c->origin[t]] == KEPT) {
            to->twin[knife->made[h]] = knife->made[t];
        }
    }
    close_cut(knife, leave, tag);
    const perpi_cell swap = knife->cell;
    knife->cell = knife->other;
    knife->other = swap;
    return PERPI_CUT_PART;
}

/* ---- measures ------------------------------------------------------------------------------------ */

double perpi_cell_volume(const perpi_cell* cell)
{
    const vec3 o = cell->vertex[0];
    double six = 0.0;
    for (int32_t f = 0; f < cell->face_count; ++f) {
        const int32_t first = cell->first[f];
        const vec3 a = v3_sub(cell->vertex[cell->origin[first]], o);
        int32_t h = cell->next[first];
        for (; cell->next[h] != first; h = cell->next[h]) {
            const vec3 b = v3_sub(cell->vertex[cell->origin[h]], o);
            const vec3 d = v3_sub(cell->vertex[cell->origin[cell->next[h]]], o);
            six += v3_dot(a, v3_cross(b, d));
        }
    }
    return six / 6.0;
}
