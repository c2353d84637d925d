/* src/shape/outline.c - overlapping convex decomposition of a polygon with inward corners.
 *
 * Source     [W14 4.5], figure 4.11: pieces overlap, so that no particle passes between
 *            them, and end inside the body, so that no edge is extended beyond the outline
 * Method     At an inward corner r with the edges e1 (in) and e2 (out), e1 is continued into the body
 *            until it meets the outline in h. That chord divides the polygon in two: A, along whose side
 *            e1 and the chord are one straight edge, and B, which begins with e2. r is no corner of
 *            A, and a convex one of B; no new inward corner arises, so k of them give k + 1 pieces.
 *            To overlap, B is given the triangle (r, h, t) on the other side of the chord, t being on
 *            the continuation of e2 backwards: there e2 continues straight through r, too. So in
 *            the notch outside r another body collides with one whole edge of either piece, and no
 *            corner. The triangle contains no vertex of the polygon and does not make the corner at
 *            h inward: the count is unchanged. The chord, the only set outside the interiors of A
 *            and B, is inside B with the triangle.
 */
#include "shape/outline.h"

#include <math.h>
#include <string.h>

#include "base/vec.h"

#define NEAR 1e-9    /* of the size: closer points are equal, flatter corners are removed */
#define SHARE 0.75   /* of the distance at which the triangle would meet another part */
#define MISSING 1e-7 /* of the area: a larger error of the total area is a failure */

typedef struct loop {
    int32_t begin, count; /* first index in item; count 0: already divided */
} loop;

typedef struct split {
    perp_context* context;
    bool overlap;
    double near;
    double* p; /* points, x y */
    int32_t points;
    size_t p_capacity;
    int32_t* item; /* numbers of points */
    bool* inner;   /* per item: the edge that begins there is inside the body */
    int32_t items;
    size_t item_capacity, inner_capacity;
    loop* loop;
    int32_t loops;
    size_t loop_capacity;
} split;

typedef struct point {
    double x, y;
} point;

static point minus(point a, point b)
{
    return (point){a.x - b.x, a.y - b.y};
}

static double cross(point a, point b)
{
    return a.x * b.y - a.y * b.x;
}

static point unit(point a)
{
    const double d = hypot(a.x, a.y);
    return (point){a.x / d, a.y / d};
}

static point point_at(const split* s, const loop* l, int32_t i)
{
    const int32_t k = s->item[l->begin + (i % l->count + l->count) % l->count];
    return (point){s->p[2 * k], s->p[2 * k + 1]};
}

/* Height of corner i over the line of its neighbours (> 0: convex, < 0: inward), measured as in the
 * check of a polygon. */
static double bulge(const split* s, const loop* l, int32_t i)
{
    const point a = point_at(s, l, i - 1), b = point_at(s, l, i), c = point_at(s, l, i + 1);
    const point d = minus(b, a), e = minus(c, b);
    const double dd = hypot(d.x, d.y), ee = hypot(e.x, e.y), least = dd < ee ? dd : ee;
    return least > s->near ? cross(d, e) / least : 0.0;
}

/* Removes corners without an angle. */
static void remove_flat_corners(split* s, loop* l)
{
    for (int32_t i = 0, kept = 0; l->count > 2 && kept < l->count;) {
        if (fabs(bulge(s, l, i)) <= 2.0 * s->near) {
            int32_t* item = s->item + l->begin;
            bool* inner = s->inner + l->begin;
            const int32_t before = i > 0 ? i - 1 : l->count - 1;
            inner[before] = inner[before] && inner[i];
            memmove(item + i, item + i + 1, (size_t)(l->count - i - 1) * sizeof *item);
            memmove(inner + i, inner + i + 1, (size_t)(l->count - i - 1) * sizeof *inner);
            l->count -= 1;
            i = i > 0 ? i - 1 : 0; /* its neighbour may have become one */
            i = i < l->count ? i : 0;
            kept = 0;
        } else {
            i = (i + 1) % l->count;
            kept += 1;
        }
    }
}

static int32_t inward_corner(const split* s, const loop* l)
{
    for (int32_t i = 0; i < l->count; ++i) {
        if (bulge(s, l, i) < 0.0) {
            return i;
        }
    }
    return -1;
}

/* Intersection of the ray from corner i along d (unit) with the polygon: the distance, and the edge
 * (j, j + 1); *vertex: it hits vertex j. INFINITY: none. */
static double outline_ray(const split* s, const loop* l, int32_t i, point d, int32_t* edge,
                          bool* vertex)
{
    const point r = point_at(s, l, i);
    double best = INFINITY;
    for (int32_t k = 1; k < l->count; ++k) {
        const int32_t j = (i + k) % l->count;
        const point a = minus(point_at(s, l, j), r), b = minus(point_at(s, l, j + 1), r);
        const double off_a = cross(d, a), off_b = cross(d, b);
        const double along_a = d.x * a.x + d.y * a.y, along_b = d.x * b.x + d.y * b.y;
        double found = INFINITY;
        bool corner = false;
        if (fabs(off_a) <= s->near) {
            found = along_a;
            corner = true;
        } else if (k + 1 < l->count && fabs(off_b) > s->near && off_a * off_b < 0.0) {
            found = along_a + (along_b - along_a) * (off_a / (off_a - off_b));
        }
        if (found > s->near && found < best - (corner ? -s->near : s->near)) {
            best = found;
            *edge = j;
            *vertex = corner;
        }
    }
    return best;
}

static perp_status add_outline_point(split* s, point p, int32_t* index)
{
    const perp_status status =
        perpi_grow(s->context, &s->p, &s->p_capacity, 2 * (size_t)s->points + 2, sizeof *s->p);
    if (status == PERP_OK) {
        s->p[2 * s->points] = p.x;
        s->p[2 * s->points + 1] = p.y;
        *index = s->points++;
    }
    return status;
}

/* Reserves two more loops with this many corners in total. */
static perp_status reserve_loops(split* s, int32_t corners)
{
    perp_status status = perpi_grow(s->context, &s->item, &s->item_capacity,
                                    (size_t)(s->items + corners), sizeof *s->item);
    if (status == PERP_OK) {
        status = perpi_grow(s->context, &s->inner, &s->inner_capacity, (size_t)(s->items + corners),
                            sizeof *s->inner);
    }
    if (status == PERP_OK) {
        status = perpi_grow(s->context, &s->loop, &s->loop_capacity, (size_t)s->loops + 2,
                            sizeof *s->loop);
    }
    return status;
}

/* How far back along e2's line the triangle may extend; d: that direction, h: end of the chord,
 * before: the corner of B before h. */
static double triangle_reach(const split* s, const loop* l, int32_t i, point d, point h,
                             point before)
{
    int32_t edge;
    bool vertex;
    const point r = point_at(s, l, i), chord = minus(h, r);
    double reach = outline_ray(s, l, i, d, &edge, &vertex);
    for (int32_t k = 1; k < l->count; ++k) {
        const point w = point_at(s, l, i + k), from_r = minus(w, r), from_h = minus(w, h);
        if (!(cross(chord, from_r) > 0.0) || !(cross(d, from_r) < 0.0)) {
            continue;
        }
        const double slope = cross(from_h, d);
        const double hit = slope != 0.0 ? -cross(from_h, minus(r, h)) / slope : INFINITY;
        reach = hit > 0.0 && hit < reach ? hit : reach;
    }
    const point u = minus(h, before);
    const double room = cross(u, minus(r, h)), slope = cross(u, d);
    if (room > 0.0 && slope < 0.0 && -room / slope < reach) {
        reach = -room / slope;
    }
    return reach;
}

static void put_corner(split* s, loop* l, int32_t number, bool inner)
{
    s->item[l->begin + l->count] = number;
    s->inner[l->begin + l->count] = inner;
    l->count += 1;
}

static perp_status cut_outline(split* s, int32_t index, int32_t i)
{
    const loop l = s->loop[index];
    const point r = point_at(s, &l, i), d = unit(minus(r, point_at(s, &l, i - 1)));
    int32_t j = -1, h = -1, t = -1;
    bool vertex = false;
    const double length = outline_ray(s, &l, i, d, &j, &vertex);
    if (!isfinite(length)) {
        return perpi_fail(s->context, PERP_ERROR_INPUT,
                          "vertices: could not be decomposed at (%g, %g); is the outline finer "
                          "than 1e-9 of its size there?",
                          r.x, r.y);
    }
    perp_status status = reserve_loops(s, 2 * l.count + 4);
    if (status == PERP_OK && !vertex) {
        status = add_outline_point(s, (point){r.x + length * d.x, r.y + length * d.y}, &h);
    }
    const int32_t* item = s->item + l.begin;
    h = vertex ? item[j] : h;
    const int32_t last = vertex ? (j + l.count - 1) % l.count : j; /* of B, before h */
    if (status == PERP_OK && s->overlap) {
        const point e = unit(minus(r, point_at(s, &l, i + 1))),
                    end = {s->p[2 * h], s->p[2 * h + 1]};
        const double reach = SHARE * triangle_reach(s, &l, i, e, end, point_at(s, &l, last));
        if (reach > 4.0 * s->near && isfinite(reach)) {
            status = add_outline_point(s, (point){r.x + reach * e.x, r.y + reach * e.y}, &t);
        }
    }
    if (status != PERP_OK) {
        return status;
    }
    /* B: r (or t, and r lies on its edge), i + 1, ..., last, h */
    const bool* inner = s->inner + l.begin;
    loop b = {s->items, 0}, a = {0, 0};
    put_corner(s, &b, t >= 0 ? t : item[i], inner[i]);
    for (int32_t k = (i + 1) % l.count;; k = (k + 1) % l.count) {
        put_corner(s, &b, item[k], inner[k]);
        if (k == last) {
            break;
        }
    }
    put_corner(s, &b, h, true);
    /* A: h, j + 1, ..., i - 1 */
    a.begin = b.begin + b.count;
    put_corner(s, &a, h, inner[j]);
    for (int32_t k = (j + 1) % l.count; k != i; k = (k + 1) % l.count) {
        put_corner(s, &a, item[k], inner[k]);
    }
    s->items = a.begin + a.count;
    s->loop[index].count = 0;
    s->loop[s->loops++] = a;
    s->loop[s->loops++] = b;
    return PERP_OK;
}

static double area_of(const split* s, const loop* l)
{
    double twice = 0.0;
    const point o = point_at(s, l, 0);
    for (int32_t i = 1; i + 1 < l->count; ++i) {
        twice += cross(minus(point_at(s, l, i), o), minus(point_at(s, l, i + 1), o));
    }
    return 0.5 * twice;
}

static perp_status copy_pieces(const split* s, perpi_pieces* pieces)
{
    perp_status status =
        perpi_alloc(s->context, 2 * (size_t)s->items + 1, sizeof *pieces->xy, &pieces->xy);
    if (status == PERP_OK) {
        status =
            perpi_alloc(s->context, (size_t)s->items + 1, sizeof *pieces->inner, &pieces->inner);
    }
    if (status == PERP_OK) {
        status =
            perpi_alloc(s->context, (size_t)s->loops + 1, sizeof *pieces->start, &pieces->start);
    }
    if (status != PERP_OK) {
        return status;
    }
    int32_t used = 0;
    for (int32_t k = 0; k < s->loops; ++k) {
        const loop* l = &s->loop[k];
        if (l->count < 3) {
            continue;
        }
        pieces->start[pieces->count++] = used;
        for (int32_t i = 0; i < l->count; ++i, ++used) {
            const point p = point_at(s, l, i);
            pieces->xy[2 * used] = p.x;
            pieces->xy[2 * used + 1] = p.y;
            pieces->inner[used] = s->inner[l->begin + i];
        }
    }
    pieces->start[pieces->count] = used;
    return PERP_OK;
}

static perp_status decompose_outline(split* s, const double* v, int32_t n, perpi_pieces* pieces)
{
    double lo[2] = {v[0], v[1]}, hi[2] = {v[0], v[1]};
    perp_status status = reserve_loops(s, n);
    for (int32_t i = 0; status == PERP_OK && i < n; ++i) {
        for (int k = 0; k < 2; ++k) {
            lo[k] = v[2 * i + k] < lo[k] ? v[2 * i + k] : lo[k];
            hi[k] = v[2 * i + k] > hi[k] ? v[2 * i + k] : hi[k];
        }
        status = add_outline_point(s, (point){v[2 * i], v[2 * i + 1]}, &s->item[i]);
        s->inner[i] = false;
    }
    if (status != PERP_OK) {
        return status;
    }
    s->near = NEAR * hypot(hi[0] - lo[0], hi[1] - lo[1]);
    s->items = n;
    s->loop[0] = (loop){0, n};
    s->loops = 1;
    const double whole = area_of(s, &s->loop[0]);
    double area = 0.0;
    for (int32_t k = 0; status == PERP_OK && k < s->loops; ++k) {
        remove_flat_corners(s, &s->loop[k]);
        const int32_t corner = s->loop[k].count < 3 ? -1 : inward_corner(s, &s->loop[k]);
        if (corner >= 0) {
            status = cut_outline(s, k, corner);
        } else if (s->loop[k].count >= 3) {
            area += area_of(s, &s->loop[k]);
        }
    }
    if (status == PERP_OK && (!(area >= (1.0 - MISSING) * whole) ||
                              (!s->overlap && !(area <= (1.0 + MISSING) * whole)))) {
        status = perpi_fail(s->context, PERP_ERROR_INPUT,
                            "vertices: could not be decomposed: the pieces have the area %g, the "
                            "outline %g",
                            area, whole);
    }
    return status == PERP_OK ? copy_pieces(s, pieces) : status;
}

perp_status perpi_outline_split(perp_context* context, const double* v, int32_t n, bool overlap,
                                perpi_pieces* pieces)
{
    split s = {.context = context, .overlap = overlap};
    perpi_pieces made = {0};
    const perp_status status = decompose_outline(&s, v, n, &made);
    perpi_free(context, s.p);
    perpi_free(context, s.item);
    perpi_free(context, s.inner);
    perpi_free(context, s.loop);
    if (status != PERP_OK) {
        perpi_pieces_free(context, &made);
        return status;
    }
    *pieces = made;
    return PERP_OK;
}

void perpi_pieces_free(perp_context* context, perpi_pieces* pieces)
{
    perpi_free(context, pieces->xy);
    perpi_free(context, pieces->inner);
    perpi_free(context, pieces->start);
    *pieces = (perpi_pieces){0};
}

/* ---- is it simple? ---------------------------------------------------------------------------------- */

static double distance(point p, point a, point b)
{
    const point d = minus(b, a), e = minus(p, a);
    const double dd = d.x * d.x + d.y * d.y;
    double t = dd > 0.0 ? (e.x * d.x + e.y * d.y) / dd : 0.0;
    t = t < 0.0 ? 0.0 : t > 1.0 ? 1.0 : t;
    return hypot(e.x - t * d.x, e.y - t * d.y);
}

static bool edges_meet(point a, point b, point c, point d, double near)
{
    const double c1 = cross(minus(b, a), minus(c, a)), c2 = cross(minus(b, a), minus(d, a));
    const double c3 = cross(minus(d, c), minus(a, c)), c4 = cross(minus(d, c), minus(b, c));
    if (((c1 > 0.0) != (c2 > 0.0)) && ((c3 > 0.0) != (c4 > 0.0))) {
        return true;
    }
    return distance(a, c, d) <= near || distance(b, c, d) <= near || distance(c, a, b) <= near ||
           distance(d, a, b) <= near;
}

bool perpi_outline_crosses(const double* v, int32_t n, double near, int32_t edge[2])
{
    const point* p = (const point*)(const void*)v;
    for (int32_t i = 0; i < n; ++i) {
        const point a = p[i], b = p[(i + 1) % n];
        const double xl = (a.x < b.x ? a.x : b.x) - near, xh = (a.x < b.x ? b.x : a.x) + near;
        for (int32_t k = i + 2; k < n; ++k) {
            const point c = p[k], d = p[(k + 1) % n];
            if ((i == 0 && k == n - 1) || (c.x < xl && d.x < xl) || (c.x > xh && d.x > xh)) {
                continue;
            }
            if (edges_meet(a, b, c, d, near)) {
                edge[0] = i;
                edge[1] = k;
                return true;
            }
        }
    }
    return false;
}
