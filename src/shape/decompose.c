/* src/shape/decompose.c - convex decomposition by cutting along the planes of notches.
 *
 * Source     [W14 4.5]: overlapping convex parts. Cutting: a tree of planes over the faces, as in
 *            Thibault and Naylor: Set operations on polyhedra using binary space partitioning trees
 *            (1987), but a region is finished as soon as its faces are in convex position.
 *
 * 1. Space is cut by planes of faces that have other faces in front of them, until the faces of each
 *    region are in convex position: what is behind all of them is a piece, the rest is empty. The
 *    pieces fill the solid without overlap, the empty cells fill what is around it.
 * 2. Each face of each piece is moved outward until the piece meets an empty cell. At the
 *    surface the distance is 0; at a cut the piece grows into its neighbours. So it stays in the solid.
 * 3. Pieces inside others are removed. A seam that no piece covers (neither side can grow) is covered by a
 *    double pyramid inside its two neighbours, which is grown like the others.
 */
#include "shape/decompose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shape/builtin.h"
#include "shape/cell.h"
#include "shape/piece_cache.h"

/* From so many triangles on the pieces are cached, and from so many on a message announces them. */
enum { SLOW_TRIANGLES = 100, LONG_TRIANGLES = 500 };
enum { DEPTH_LIMIT = 400, EMPTY_LIMIT = 20000, CANDIDATES = 48 };

/* Relative to the size: tolerance for equal planes, and for the error of a cut. */
static const double ONE_PLANE = 1e-9;
static const double CUT = 1e-12;

typedef struct plane {
    vec3 n, on;
} plane;

/* One side of a plane: n.(x - on) <= 0, or >= 0. */
typedef struct side {
    int32_t plane;
    bool above;
} side;

/* A convex polygon of the surface. */
typedef struct fragment {
    vec3* vertex;
    int32_t count;
    int32_t plane;
    bool flipped; /* its outward normal is -n of the plane */
} fragment;

typedef struct region {
    side* side;
    int32_t count;
} region;

typedef struct region_list {
    region* item;
    size_t count, room;
} region_list;

/* A convex set by its half-spaces n.(x - on) <= 0. */
typedef struct piece {
    plane* face;
    int32_t count;
    perpi_cell cell; /* before it grew; tags are numbers of `face` */
} piece;

typedef struct work {
    perp_context* context;
    const perp_shape_def* def;
    perpi_arena arena;
    double size, one_plane, cut;
    vec3 lo, hi; /* a box with room around the solid */
    plane* plane;
    int32_t plane_count;
    region_list solid, empty;
    side path[DEPTH_LIMIT];
    perpi_knife knife;
    piece* piece;
    size_t piece_count, piece_room;
    perpi_cell* air; /* the empty cells */
    int32_t air_count;
} work;

static double height(const plane* p, vec3 x)
{
    return v3_dot(p->n, v3_sub(x, p->on));
}

static const char* name_of(const work* w)
{
    return w->def->source != NULL ? w->def->source : "the mesh";
}

static perp_status fail_limit(const work* w, const char* what, int32_t limit)
{
    return perpi_fail(
        w->context, PERP_ERROR_INPUT,
        "decompose: %s needs more than %d %s; give a coarser mesh, its convex parts as "
        "shapes of the body, or a polyhedron of its vertices (the convex hull)",
        name_of(w), (int)limit, what);
}

/* ---- planes and fragments -------------------------------------------------------------------------- */

/* The plane of a triangle among those known, or a new one. */
static void find_plane(work* w, vec3 n, vec3 on, fragment* f)
{
    for (int32_t i = 0; i < w->plane_count; ++i) {
        const double along = v3_dot(n, w->plane[i].n);
        const vec3 off = v3_sub(n, v3_scale(along < 0.0 ? -1.0 : 1.0, w->plane[i].n));
        if (v3_norm(off) <= ONE_PLANE && fabs(height(&w->plane[i], on)) <= w->one_plane) {
            f->plane = i;
            f->flipped = along < 0.0;
            return;
        }
    }
    f->plane = w->plane_count;
    f->flipped = false;
    w->plane[w->plane_count++] = (plane){n, on};
}

typedef struct ranked {
    double area;
    int32_t triangle;
} ranked;

static int larger_first(const void* a, const void* b)
{
    const ranked *x = a, *y = b;
    if (x->area != y->area) {
        return x->area > y->area ? -1 : 1;
    }
    return x->triangle - y->triangle;
}

/* Triangles as fragments; the largest of a plane defines its coefficients. */
static perp_status take_fragments(work* w, fragment** list, int32_t* count)
{
    const perp_shape_def* def = w->def;
    const size_t t = (size_t)def->triangle_count;
    ranked* rank = NULL;
    perp_status status = perpi_arena_take(&w->arena, t, sizeof *rank, &rank);
    if (status == PERP_OK) {
        status = perpi_arena_take(&w->arena, t, sizeof **list, list);
    }
    if (status == PERP_OK) {
        status = perpi_arena_take(&w->arena, t, sizeof *w->plane, &w->plane);
    }
    vec3* corner = NULL;
    if (status == PERP_OK) {
        status = perpi_arena_take(&w->arena, 3 * t, sizeof *corner, &corner);
    }
    if (status != PERP_OK) {
        return status;
    }
    for (size_t i = 0; i < t; ++i) {
        for (size_t k = 0; k < 3; ++k) {
            corner[3 * i + k] = v3_from(def->vertices + 3 * (size_t)def->triangles[3 * i + k]);
        }
        const vec3* c = corner + 3 * i;
        rank[i] = (ranked){v3_norm(v3_cross(v3_sub(c[1], c[0]), v3_sub(c[2], c[0]))), (int32_t)i};
    }
    qsort(rank, t, sizeof *rank, larger_first);
    *count = 0;
    for (size_t i = 0; i < t; ++i) {
        vec3* c = corner + 3 * (size_t)rank[i].triangle;
        if (!(rank[i].area > 1e-14 * w->size * w->size)) {
            continue; /* degenerate: no area */
        }
        fragment* f = &(*list)[*count];
        *f = (fragment){.vertex = c, .count = 3};
        find_plane(w, v3_unit(v3_cross(v3_sub(c[1], c[0]), v3_sub(c[2], c[0]))), c[0], f);
        *count += 1;
    }
    return PERP_OK;
}

static double area_of(const fragment* f)
{
    vec3 sum = {0, 0, 0};
    for (int32_t i = 1; i + 1 < f->count; ++i) {
        sum = v3_add(sum, v3_cross(v3_sub(f->vertex[i], f->vertex[0]),
                                   v3_sub(f->vertex[i + 1], f->vertex[0])));
    }
    return 0.5 * v3_norm(sum);
}

static void fragment_extent(const plane* p, const fragment* f, double* low, double* high)
{
    *low = INFINITY;
    *high = -INFINITY;
    for (int32_t i = 0; i < f->count; ++i) {
        const double h = height(p, f->vertex[i]);
        *low = h < *low ? h : *low;
        *high = h > *high ? h : *high;
    }
}

/* The part of a fragment on one side (+1: above). */
static perp_status clip_fragment(work* w, const fragment* f, const plane* p, double way,
                                 fragment* part)
{
    vec3* to = NULL;
    const perp_status status = perpi_arena_take(&w->arena, (size_t)f->count + 2, sizeof *to, &to);
    if (status != PERP_OK) {
        return status;
    }
    int32_t n = 0;
    for (int32_t i = 0; i < f->count; ++i) {
        const vec3 a = f->vertex[i], b = f->vertex[(i + 1) % f->count];
        const double ha = way * height(p, a), hb = way * height(p, b);
        if (ha >= -w->one_plane && n < f->count + 2) {
            to[n++] = a;
        }
        if (((ha > w->one_plane && hb < -w->one_plane) ||
             (ha < -w->one_plane && hb > w->one_plane)) &&
            n < f->count + 2) {
            to[n++] = v3_madd(a, ha / (ha - hb), v3_sub(b, a));
        }
    }
    *part = *f;
    part->vertex = to;
    part->count = n;
    return PERP_OK;
}

/* ---- 1. cutting space --------------------------------------------------------------------------- */

static perp_status add_region(work* w, region_list* list, int32_t depth, const side* more,
                              int32_t more_count)
{
    const bool solid = list == &w->solid;
    if (list->count >= (solid ? (size_t)PERPI_DECOMPOSE_PIECES : (size_t)EMPTY_LIMIT)) {
        return fail_limit(w, solid ? "pieces" : "empty cells",
                          solid ? PERPI_DECOMPOSE_PIECES : EMPTY_LIMIT);
    }
    perp_status status =
        perpi_grow(w->context, &list->item, &list->room, list->count + 1, sizeof *list->item);
    region r = {.count = depth + more_count};
    if (status == PERP_OK) {
        status = perpi_arena_take(&w->arena, (size_t)r.count + 1, sizeof *r.side, &r.side);
    }
    if (status != PERP_OK) {
        return status;
    }
    memcpy(r.side, w->path, (size_t)depth * sizeof *r.side);
    if (more_count > 0) {
        memcpy(r.side + depth, more, (size_t)more_count * sizeof *r.side);
    }
    list->item[list->count++] = r;
    return PERP_OK;
}

/* Fragments in convex position: the region behind all of them is solid; the rest is empty, removed
 * plane by plane. below: their planes, solid side. */
static perp_status end_convex(work* w, int32_t depth, side* below, int32_t count)
{
    perp_status status = add_region(w, &w->solid, depth, below, count);
    for (int32_t i = 0; i < count && status == PERP_OK; ++i) {
        below[i].above = !below[i].above;
        status = add_region(w, &w->empty, depth, below, i + 1);
        below[i].above = !below[i].above;
    }
    return status;
}

/* The distinct oriented planes of the fragments. */
static perp_status list_sides(work* w, const fragment* list, int32_t count, side** sides,
                              int32_t* side_count)
{
    perp_status status = perpi_arena_take(&w->arena, (size_t)count, sizeof **sides, sides);
    bool* seen = NULL;
    if (status == PERP_OK) {
        status = perpi_arena_take(&w->arena, 2 * (size_t)w->plane_count, sizeof *seen, &seen);
    }
    if (status != PERP_OK) {
        return status;
    }
    memset(seen, 0, 2 * (size_t)w->plane_count * sizeof *seen);
    *side_count = 0;
    for (int32_t i = 0; i < count; ++i) {
        bool* mark = &seen[2 * list[i].plane + list[i].flipped];
        if (!*mark) {
            *mark = true;
            (*sides)[(*side_count)++] = (side){list[i].plane, list[i].flipped};
        }
    }
    return PERP_OK;
}

/* The cutting plane: among those with a fragment in front of them one that cuts few fragments and
 * halves the rest. -1: all fragments are in convex position. */
static int32_t choose_plane(const work* w, const fragment* list, int32_t count, const side* sides,
                            int32_t side_count)
{
    int32_t best = -1, tried = 0;
    double least = INFINITY;
    for (int32_t s = 0; s < side_count && tried < CANDIDATES; ++s) {
        const plane* p = &w->plane[sides[s].plane];
        int32_t over = 0, under = 0, both = 0;
        bool notch = false;
        for (int32_t i = 0; i < count; ++i) {
            double low, high;
            fragment_extent(p, &list[i], &low, &high);
            const bool up = high > w->one_plane, down = low < -w->one_plane;
            over += up;
            under += down;
            both += up && down;
            notch = notch || (sides[s].above ? down : up);
        }
        if (!notch) {
            continue;
        }
        ++tried;
        const double score = 4.0 * both + abs(over - under);
        if (score < least) {
            least = score;
            best = sides[s].plane;
        }
    }
    return best;
}

static perp_status divide_region(work* w, const fragment* list, int32_t count, int32_t depth);

/* One side of the cut: divides what is in it; if it is empty, decides whether it is solid. inside:
 * the signed area of the fragments in the plane, > 0 if it is solid below. */
static perp_status descend_region(work* w, const fragment* list, int32_t count, int32_t depth,
                                  int32_t chosen, bool above, double inside)
{
    const plane* p = &w->plane[chosen];
    fragment* part = NULL;
    perp_status status = perpi_arena_take(&w->arena, (size_t)count + 1, sizeof *part, &part);
    int32_t n = 0;
    for (int32_t i = 0; i < count && status == PERP_OK; ++i) {
        double low, high;
        fragment_extent(p, &list[i], &low, &high);
        const bool up = high > w->one_plane, down = low < -w->one_plane;
        if (!(above ? up : down)) {
            continue;
        }
        if (up && down) {
            status = clip_fragment(w, &list[i], p, above ? 1.0 : -1.0, &part[n]);
            n += status == PERP_OK && part[n].count >= 3;
        } else {
            part[n++] = list[i];
        }
    }
    if (status != PERP_OK) {
        return status;
    }
    if (depth + 1 >= DEPTH_LIMIT) {
        return fail_limit(w, "cuts in a row", DEPTH_LIMIT);
    }
    w->path[depth] = (side){chosen, above};
    if (n > 0) {
        return divide_region(w, part, n, depth + 1);
    }
    const bool solid = above ? inside < 0.0 : inside > 0.0;
    return add_region(w, solid ? &w->solid : &w->empty, depth + 1, NULL, 0);
}

static perp_status divide_region(work* w, const fragment* list, int32_t count, int32_t depth)
{
    side* sides = NULL;
    int32_t side_count = 0;
    perp_status status = list_sides(w, list, count, &sides, &side_count);
    if (status != PERP_OK) {
        return status;
    }
    const int32_t chosen = choose_plane(w, list, count, sides, side_count);
    if (chosen < 0) {
        return end_convex(w, depth, sides, side_count);
    }
    double inside = 0.0;
    for (int32_t i = 0; i < count; ++i) {
        if (list[i].plane == chosen) {
            inside += (list[i].flipped ? -1.0 : 1.0) * area_of(&list[i]);
        }
    }
    status = descend_region(w, list, count, depth, chosen, false, inside);
    return status == PERP_OK ? descend_region(w, list, count, depth, chosen, true, inside) : status;
}

/* ---- cells ----------------------------------------------------------------------------------------- */

static plane half_space(const work* w, side s)
{
    const plane p = w->plane[s.plane];
    return s.above ? (plane){v3_neg(p.n), p.on} : p;
}

static perp_status keep_cell(work* w, perpi_cell* kept)
{
    const perpi_cell* c = &w->knife.cell;
    perpi_knife store = {.face_room = c->face_count};
    perpi_cell* to = &store.cell;
    perp_status status =
        perpi_arena_take(&w->arena, (size_t)c->vertex_count, sizeof *to->vertex, &to->vertex);
    int32_t** const lists[] = {&to->leaving, &to->origin, &to->next, &to->twin,
                               &to->face,    &to->first,  &to->tag};
    const int32_t count[] = {c->vertex_count, c->half_count, c->half_count, c->half_count,
                             c->half_count,   c->face_count, c->face_count};
    for (int i = 0; i < 7 && status == PERP_OK; ++i) {
        status = perpi_arena_take(&w->arena, (size_t)count[i], sizeof(int32_t), lists[i]);
    }
    if (status == PERP_OK) {
        perpi_cell_copy(&store, c);
        *kept = *to;
    }
    return status;
}

/* False: the region is empty. */
static bool cut_region(work* w, const region* r)
{
    perpi_cell_set_box(&w->knife, w->lo, w->hi);
    for (int32_t i = 0; i < r->count; ++i) {
        const plane p = half_space(w, r->side[i]);
        if (perpi_cell_cut(&w->knife, p.n, p.on, w->cut, i) == PERPI_CUT_ALL) {
            return false;
        }
    }
    return true;
}

static perp_status add_piece(work* w, const piece* p)
{
    const perp_status status =
        perpi_grow(w->context, &w->piece, &w->piece_room, w->piece_count + 1, sizeof *w->piece);
    if (status == PERP_OK) {
        w->piece[w->piece_count++] = *p;
    }
    return status;
}

/* The piece of the current cell: of the half-spaces those that have a face. */
static perp_status take_piece(work* w, const plane* face, piece* made)
{
    perp_status status = keep_cell(w, &made->cell);
    if (status == PERP_OK) {
        status = perpi_arena_take(&w->arena, (size_t)made->cell.face_count, sizeof *made->face,
                                  &made->face);
    }
    made->count = 0;
    for (int32_t f = 0; f < made->cell.face_count && status == PERP_OK; ++f) {
        if (made->cell.tag[f] < 0) {
            return perpi_fail(w->context, PERP_ERROR_INPUT,
                              "decompose: %s does not enclose its pieces", name_of(w));
        }
        made->face[made->count] = face[made->cell.tag[f]];
        made->cell.tag[f] = made->count++;
    }
    return status;
}

static perp_status make_cells(work* w, double* volume)
{
    perp_status status = PERP_OK;
    *volume = 0.0;
    for (size_t i = 0; i < w->solid.count && status == PERP_OK; ++i) {
        const region* r = &w->solid.item[i];
        if (!cut_region(w, r)) {
            continue;
        }
        *volume += perpi_cell_volume(&w->knife.cell);
        plane* face = NULL;
        piece made = {0};
        status = perpi_arena_take(&w->arena, (size_t)r->count, sizeof *face, &face);
        for (int32_t k = 0; k < r->count && status == PERP_OK; ++k) {
            face[k] = half_space(w, r->side[k]);
        }
        if (status == PERP_OK) {
            status = take_piece(w, face, &made);
        }
        if (status == PERP_OK) {
            status = add_piece(w, &made);
        }
    }
    if (status == PERP_OK) {
        status = perpi_arena_take(&w->arena, w->empty.count + 1, sizeof *w->air, &w->air);
    }
    for (size_t i = 0; i < w->empty.count && status == PERP_OK; ++i) {
        if (cut_region(w, &w->empty.item[i])) {
            status = keep_cell(w, &w->air[w->air_count]);
            w->air_count += status == PERP_OK;
        }
    }
    return status;
}

/* ---- 2. growing -------------------------------------------------------------------------------------- */

static bool is_beyond(const perpi_cell* cell, const plane* p, double cut)
{
    for (int32_t i = 0; i < cell->vertex_count; ++i) {
        if (height(p, cell->vertex[i]) < -cut) {
            return false;
        }
    }
    return true;
}

/* How far face h can be moved outward before the piece meets the empty cell. */
static double growth_limit(work* w, const piece* p, int32_t h, const perpi_cell* air)
{
    for (int32_t i = 0; i < p->count; ++i) {
        if (i != h && is_beyond(air, &p->face[i], w->cut)) {
            return INFINITY;
        }
    }
    perpi_cell_copy(&w->knife, air);
    for (int32_t i = 0; i < p->count; ++i) {
        if (i != h &&
            perpi_cell_cut(&w->knife, p->face[i].n, p->face[i].on, w->cut, -1) == PERPI_CUT_ALL) {
            return INFINITY;
        }
    }
    double low = INFINITY;
    for (int32_t i = 0; i < w->knife.cell.vertex_count; ++i) {
        low = fmin(low, height(&p->face[h], w->knife.cell.vertex[i]));
    }
    return low;
}

static void grow_piece(work* w, piece* p)
{
    for (int32_t h = 0; h < p->count; ++h) {
        double room = INFINITY;
        for (int32_t i = 0; i < w->air_count && room > w->one_plane; ++i) {
            room = fmin(room, growth_limit(w, p, h, &w->air[i]));
        }
        if (room > w->one_plane && isfinite(room)) {
            p->face[h].on = v3_madd(p->face[h].on, room, p->face[h].n);
        }
    }
}

/* ---- 3. seams ------------------------------------------------------------------------------------------ */

/* Whether the piece contains the points up to the tolerance, and their mean well inside. */
static bool covers(const work* w, const piece* p, const vec3* x, int32_t count, vec3 mean)
{
    for (int32_t f = 0; f < p->count; ++f) {
        if (!(height(&p->face[f], mean) < -1e-6 * w->size)) {
            return false;
        }
        for (int32_t i = 0; i < count; ++i) {
            if (!(height(&p->face[f], x[i]) <= w->one_plane)) {
                return false;
            }
        }
    }
    return true;
}

/* The polygon that the pieces a and b have in common in face f of a's cell. */
static int32_t common_face(const work* w, const piece* a, int32_t f, const piece* b, vec3* x,
                           vec3* y, int32_t room)
{
    int32_t n = 0, h = a->cell.first[f];
    do {
        x[n++] = a->cell.vertex[a->cell.origin[h]];
        h = a->cell.next[h];
    } while (h != a->cell.first[f] && n < room);
    for (int32_t k = 0; k < b->cell.face_count && n >= 3; ++k) {
        /* three corners of b's face define its plane before growing */
        const int32_t g = b->cell.first[k];
        const plane p = {b->face[b->cell.tag[k]].n, b->cell.vertex[b->cell.origin[g]]};
        int32_t m = 0;
        for (int32_t i = 0; i < n; ++i) {
            const vec3 u = x[i], v = x[(i + 1) % n];
            const double hu = height(&p, u), hv = height(&p, v);
            if (hu <= w->one_plane && m < room) {
                y[m++] = u;
            }
            if (((hu > w->one_plane && hv < -w->one_plane) ||
                 (hu < -w->one_plane && hv > w->one_plane)) &&
                m < room) {
                y[m++] = v3_madd(u, hu / (hu - hv), v3_sub(v, u));
            }
        }
        memcpy(x, y, (size_t)m * sizeof *x);
        n = m;
    }
    return n;
}

static double piece_depth_along(const piece* p, vec3 from, vec3 way)
{
    double depth = INFINITY;
    for (int32_t k = 0; k < p->cell.face_count; ++k) {
        const plane face = {p->face[p->cell.tag[k]].n,
                            p->cell.vertex[p->cell.origin[p->cell.first[k]]]};
        const double speed = v3_dot(face.n, way);
        if (speed > 1e-9) {
            depth = fmin(depth, -height(&face, from) / speed);
        }
    }
    return depth;
}

/* A double pyramid over the polygon, its tips half-way into the two neighbours. */
static perp_status add_bridge(work* w, const piece* a, const piece* b, vec3* x, int32_t count,
                              vec3 mean, vec3 n)
{
    const double up = piece_depth_along(b, mean, n), down = piece_depth_along(a, mean, v3_neg(n));
    if (!(up > w->one_plane && down > w->one_plane && isfinite(up) && isfinite(down))) {
        return PERP_OK;
    }
    x[count] = v3_madd(mean, 0.5 * up, n);
    x[count + 1] = v3_madd(mean, -0.5 * down, n);
    perpi_polyhedron* hull = NULL;
    perp_status status = perpi_polyhedron_hull(w->context, &x[0].x, count + 2, &hull, NULL);
    if (status == PERP_ERROR_INPUT) {
        return PERP_OK; /* too thin to contain anything */
    }
    piece made = {0};
    if (status == PERP_OK) {
        status =
            perpi_arena_take(&w->arena, (size_t)hull->face_count, sizeof *made.face, &made.face);
    }
    if (status == PERP_OK) {
        made.count = hull->face_count;
        for (int32_t f = 0; f < hull->face_count; ++f) {
            made.face[f] =
                (plane){hull->normal[f], hull->vertex[hull->corner[hull->face_start[f]]]};
        }
        grow_piece(w, &made);
        status = add_piece(w, &made);
    }
    perpi_polyhedron_free(w->context, hull);
    return status;
}

static double polygon_area(const vec3* x, int32_t n)
{
    vec3 sum = {0, 0, 0};
    for (int32_t i = 1; i + 1 < n; ++i) {
        sum = v3_add(sum, v3_cross(v3_sub(x[i], x[0]), v3_sub(x[i + 1], x[0])));
    }
    return 0.5 * v3_norm(sum);
}

static perp_status cover_seams(work* w)
{
    enum { ROOM = 512 };
    const size_t count = w->piece_count;
    vec3 *x = NULL, *y = NULL;
    perp_status status = perpi_arena_take(&w->arena, ROOM + 2, sizeof *x, &x);
    if (status == PERP_OK) {
        status = perpi_arena_take(&w->arena, ROOM + 2, sizeof *y, &y);
    }
    for (size_t i = 0; i < count && status == PERP_OK; ++i) {
        for (size_t k = i + 1; k < count && status == PERP_OK; ++k) {
            for (int32_t f = 0; f < w->piece[i].cell.face_count && status == PERP_OK; ++f) {
                const piece a = w->piece[i], b = w->piece[k];
                const vec3 normal = a.face[a.cell.tag[f]].n;
                const int32_t n = common_face(w, &a, f, &b, x, y, ROOM);
                if (n < 3 || !(polygon_area(x, n) > 1e-9 * w->size * w->size)) {
                    continue;
                }
                vec3 mean = {0, 0, 0};
                for (int32_t j = 0; j < n; ++j) {
                    mean = v3_madd(mean, 1.0 / n, x[j]);
                }
                bool covered = false;
                for (size_t j = 0; j < w->piece_count && !covered; ++j) {
                    covered = covers(w, &w->piece[j], x, n, mean);
                }
                if (!covered) {
                    status = add_bridge(w, &a, &b, x, n, mean, normal);
                }
            }
        }
    }
    return status;
}

/* ---- the result ----------------------------------------------------------------------------------------- */

/* The numbers of the mesh where a corner is one of its vertices. */
static vec3 project_to_core(const work* w, vec3 x)
{
    for (int32_t i = 0; i < w->def->vertex_count; ++i) {
        const vec3 v = v3_from(w->def->vertices + 3 * (size_t)i);
        if (v3_norm(v3_sub(v, x)) <= 1e-11 * w->size) {
            return v;
        }
    }
    return x;
}

static perp_status make_polyhedron(work* w, const piece* p, perpi_polyhedron** made)
{
    perpi_cell_set_box(&w->knife, w->lo, w->hi);
    for (int32_t i = 0; i < p->count; ++i) {
        if (perpi_cell_cut(&w->knife, p->face[i].n, p->face[i].on, 0.0, i) == PERPI_CUT_ALL) {
            return PERP_OK;
        }
    }
    perpi_cell* c = &w->knife.cell;
    for (int32_t i = 0; i < c->vertex_count; ++i) {
        c->vertex[i] = project_to_core(w, c->vertex[i]);
    }
    const perp_status status =
        perpi_polyhedron_hull(w->context, &c->vertex[0].x, c->vertex_count, made, NULL);
    return status == PERP_ERROR_INPUT ? PERP_OK : status; /* no volume */
}

static bool is_within(const work* w, const perpi_polyhedron* inner, const perpi_polyhedron* outer)
{
    for (int32_t f = 0; f < outer->face_count; ++f) {
        for (int32_t i = 0; i < inner->vertex_count; ++i) {
            if (!(v3_dot(outer->normal[f], inner->vertex[i]) - outer->offset[f] <= w->one_plane)) {
                return false;
            }
        }
    }
    return true;
}

/* Removes pieces inside another one. Of two equal pieces the first is kept. */
static int32_t drop_inner(work* w, perpi_polyhedron** p, int32_t count)
{
    for (int32_t i = 0; i < count; ++i) {
        for (int32_t k = 0; k < count && p[i] != NULL; ++k) {
            if (k != i && p[k] != NULL && is_within(w, p[i], p[k]) &&
                (k < i || !is_within(w, p[k], p[i]))) {
                perpi_polyhedron_free(w->context, p[i]);
                p[i] = NULL;
            }
        }
    }
    int32_t kept = 0;
    for (int32_t i = 0; i < count; ++i) {
        if (p[i] != NULL) {
            p[kept++] = p[i];
        }
    }
    return kept;
}

static perp_status make_polyhedra(work* w, perpi_polyhedron*** out, int32_t* count)
{
    perpi_polyhedron** p = NULL;
    perp_status status = perpi_alloc(w->context, w->piece_count, sizeof *p, &p);
    int32_t n = 0;
    for (size_t i = 0; i < w->piece_count && status == PERP_OK; ++i) {
        status = make_polyhedron(w, &w->piece[i], &p[n]);
        n += status == PERP_OK && p[n] != NULL;
    }
    if (status != PERP_OK) {
        perpi_decompose_free(w->context, p, n);
        return status;
    }
    *count = drop_inner(w, p, n);
    *out = p;
    return PERP_OK;
}

static perp_status prepare_decomposition(work* w)
{
    const perp_shape_def* def = w->def;
    if (def->triangle_count > PERPI_DECOMPOSE_TRIANGLES) {
        return perpi_fail(
            w->context, PERP_ERROR_INPUT,
            "decompose: %s has %d triangles, more than %d; give a coarser mesh, its "
            "convex parts as shapes of the body, or a polyhedron of its vertices (the "
            "convex hull)",
            name_of(w), (int)def->triangle_count, PERPI_DECOMPOSE_TRIANGLES);
    }
    w->lo = w->hi = v3_from(def->vertices);
    for (int32_t i = 1; i < def->vertex_count; ++i) {
        const vec3 x = v3_from(def->vertices + 3 * (size_t)i);
        w->lo = v3(fmin(w->lo.x, x.x), fmin(w->lo.y, x.y), fmin(w->lo.z, x.z));
        w->hi = v3(fmax(w->hi.x, x.x), fmax(w->hi.y, x.y), fmax(w->hi.z, x.z));
    }
    w->size = v3_norm(v3_sub(w->hi, w->lo));
    w->one_plane = ONE_PLANE * w->size;
    w->cut = CUT * w->size;
    const vec3 more = v3_scale(0.1 * w->size, v3(1, 1, 1));
    w->lo = v3_sub(w->lo, more);
    w->hi = v3_add(w->hi, more);
    return PERP_OK;
}

static perp_status decompose(work* w, perpi_polyhedron*** out, int32_t* count)
{
    fragment* list = NULL;
    int32_t fragments = 0;
    double volume = 0.0;
    perp_status status = prepare_decomposition(w);
    if (status == PERP_OK) {
        status = take_fragments(w, &list, &fragments);
    }
    if (status == PERP_OK) {
        status = divide_region(w, list, fragments, 0);
    }
    if (status == PERP_OK) {
        /* a cell has the faces of the box and of at most all planes, twice when two are cut */
        status = perpi_knife_take(&w->arena, 2 * (w->plane_count + DEPTH_LIMIT) + 16, &w->knife);
    }
    if (status == PERP_OK) {
        status = make_cells(w, &volume);
    }
    const double whole = perpi_mesh_integrate(w->def).mass;
    if (status == PERP_OK && !(fabs(volume - whole) <= 1e-9 * whole)) {
        return perpi_fail(w->context, PERP_ERROR_INPUT,
                          "decompose: %s seems to intersect itself: its pieces have the volume "
                          "%.12g, its surface encloses %.12g",
                          name_of(w), volume, whole);
    }
    for (size_t i = 0; i < w->piece_count && status == PERP_OK; ++i) {
        grow_piece(w, &w->piece[i]);
    }
    if (status == PERP_OK) {
        status = cover_seams(w);
    }
    return status == PERP_OK ? make_polyhedra(w, out, count) : status;
}

perp_status perpi_decompose(perp_context* context, const perp_shape_def* def,
                            perpi_polyhedron*** pieces, int32_t* count)
{
    work* w = NULL;
    const bool slow = def->triangle_count >= SLOW_TRIANGLES;
    if (slow && perpi_piece_cache_read(context, def, pieces, count)) {
        return PERP_OK;
    }
    perp_status status = perpi_alloc(context, 1, sizeof *w, &w);
    if (status != PERP_OK) {
        return status;
    }
    w->context = context;
    w->def = def;
    if (def->triangle_count >= LONG_TRIANGLES && def->triangle_count <= PERPI_DECOMPOSE_TRIANGLES) {
        perpi_log(context, PERP_LOG_WARNING,
                  "%s: cutting %d triangles into convex pieces takes seconds; the pieces are kept "
                  "for the next time",
                  name_of(w), (int)def->triangle_count);
    }
    perpi_arena_init(&w->arena, context);
    status = decompose(w, pieces, count);
    perpi_arena_free(&w->arena);
    perpi_free(context, w->solid.item);
    perpi_free(context, w->empty.item);
    perpi_free(context, w->piece);
    perpi_free(context, w);
    if (status == PERP_OK && slow) {
        perpi_piece_cache_write(def, *pieces, *count);
    }
    return status;
}

void perpi_decompose_free(perp_context* context, perpi_polyhedron** pieces, int32_t count)
{
    for (int32_t i = 0; i < count; ++i) {
        perpi_polyhedron_free(context, pieces[i]);
    }
    perpi_free(context, pieces);
}
