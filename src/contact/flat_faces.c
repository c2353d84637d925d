/* src/contact/flat_faces.c - two faces of polyhedra that lie flat on each other.
 *
 * Derivation docs/notation.md, "Flat on flat". The gap of a point of the common plane is then a linear
 * function of its place, psi + c . p, and the two faces do not overlap to first order exactly if it is
 * nonnegative on their intersection, that is at its corners. All groups whose members have the common
 * normal are together equivalent to one row for each corner, outside of groups.
 *   Two right prisms (boxes) whose bases lie on each other need no search for feature pairs: a plane through
 * an edge of one and an edge of the other, or a face, is that of the bases or at a right angle to
 * it. So all other facets of B - A are closed by as much as the bases overlap sideways.
 */
#include <math.h>

#include "collide/narrow/round.h"
#include "contact/polyhedra.h"

#define SAME_GAP 1e-12  /* times the size: a gap that the angle of the faces can change in a step */
#define SAME_PLACE 1e-9 /* times the size */

enum { CORNERS = 32 };

typedef struct corners {
    vec3 at[CORNERS];
    int32_t count;
} corners;

static bool same_direction(const perpi_meeting* m, vec3 n, vec3 other)
{
    return v3_norm(v3_sub(n, other)) * m->margin <= SAME_GAP * m->size;
}

/* The face of body `side` with this outward normal (a's frame); -1: none. */
static int32_t face_with_normal(const perpi_meeting* m, int side, vec3 n)
{
    const perpi_polyhedron* p = m->p[side];
    const vec3 own = side == 0 ? n : m3_tmul(m->R, n);
    for (int32_t i = 0; i < p->face_count; ++i) {
        if (v3_dot(p->normal[i], own) > 0.5 && same_direction(m, p->normal[i], own)) {
            return i;
        }
    }
    return -1;
}

/* Corners of a face in a's frame, counter-clockwise seen from outside; false: too many. */
static bool corners_of_face(const perpi_meeting* m, int side, int32_t face, corners* out)
{
    const perpi_polyhedron* p = m->p[side];
    out->count = p->face_start[face + 1] - p->face_start[face];
    for (int32_t i = 0; i < out->count && out->count <= CORNERS / 2; ++i) {
        const vec3 x = p->vertex[p->corner[p->face_start[face] + i]];
        out->at[i] = side == 0 ? x : v3_add(m->x, m3_mul(m->R, x));
    }
    return out->count <= CORNERS / 2;
}

/* Adds a corner unless it is the last one again. */
static void add_corner(corners* c, vec3 x, double tiny)
{
    if (c->count < CORNERS && (c->count == 0 || v3_norm(v3_sub(x, c->at[c->count - 1])) > tiny)) {
        c->at[c->count++] = x;
    }
}

/* Keeps the part of the polygon with out . (x - from) <= 0. */
static void cut(corners* c, vec3 from, vec3 out, double tiny)
{
    corners kept = {.count = 0};
    for (int32_t i = 0; i < c->count; ++i) {
        const vec3 x = c->at[i], y = c->at[(i + 1) % c->count];
        const double d = v3_dot(out, v3_sub(x, from)), e = v3_dot(out, v3_sub(y, from));
        if (d <= tiny) {
            add_corner(&kept, x, tiny);
        }
        if ((d > tiny && e < -tiny) || (d < -tiny && e > tiny)) {
            add_corner(&kept, v3_madd(x, d / (d - e), v3_sub(y, x)), tiny);
        }
    }
    while (kept.count > 1 && !(v3_norm(v3_sub(kept.at[0], kept.at[kept.count - 1])) > tiny)) {
        kept.count -= 1;
    }
    *c = kept;
}

/* Leaves out corners that are on the line between their neighbours, up to `tiny`: at so small an
 * angle two edges cross anywhere along each other, and the gap there is that between the gaps of
 * the neighbours. */
static void drop_straight(corners* c, double tiny)
{
    for (int32_t i = 0; i < c->count && c->count > 3;) {
        const vec3 before = c->at[(i + c->count - 1) % c->count], x = c->at[i];
        const vec3 along = v3_sub(c->at[(i + 1) % c->count], before), d = v3_sub(x, before);
        if (v3_norm(v3_cross(along, d)) <= tiny * v3_norm(along)) {
            c->count -= 1;
            for (int32_t k = i; k < c->count; ++k) {
                c->at[k] = c->at[k + 1];
            }
        } else {
            i += 1;
        }
    }
}

/* Keeps the part of the polygon that is over the other face, whose normal is -n. */
static void cut_by_face(corners* c, const corners* other, vec3 n, double tiny)
{
    for (int32_t i = 0; i < other->count && c->count > 2; ++i) {
        const vec3 x = other->at[i], y = other->at[(i + 1) % other->count];
        /* counter-clockwise about -n: the outside of an edge is along (y - x) x (-n) */
        cut(c, x, v3_unit(v3_cross(n, v3_sub(y, x))), tiny);
    }
}

/* The facet whose row is that of the corner; -1: none. */
static int32_t facet_at(const perpi_polyhedron_answer* a, vec3 n, vec3 corner)
{
    const perpi_meeting* m = a->m;
    for (int32_t i = 0; i < m->count; ++i) {
        const perpi_facet* f = &m->facet[i];
        const vec3 d = v3_sub(f->p_a, corner);
        const vec3 along = v3_madd(d, -v3_dot(d, n), n);
        if (a->same[i] == i && v3_norm(along) <= 2.0 * SAME_PLACE * m->size &&
            same_direction(m, f->n, n)) {
            return i;
        }
    }
    return -1;
}

/* Two edges that cross in the common plane, with its normal n. */
static void lay_in_plane(const perpi_meeting* m, vec3 n, perpi_facet* f)
{
    if (f->kind != PERPI_EDGE_EDGE) {
        return;
    }
    const perpi_edge *e = &m->p[0]->edge[f->one], *g = &m->p[1]->edge[f->other];
    const vec3 p = m->p[0]->vertex[e->vertex[0]];
    const vec3 q = v3_add(m->x, m3_mul(m->R, m->p[1]->vertex[g->vertex[0]]));
    const vec3 end = v3_add(m->x, m3_mul(m->R, m->p[1]->vertex[g->vertex[1]]));
    const vec3 u = v3_sub(m->p[0]->vertex[e->vertex[1]], p), w = v3_sub(end, q), d = v3_sub(q, p);
    double s, t;
    perpi_cross_in_plane(n, u, d, w, &s, &t);
    f->n = n;
    f->psi = v3_dot(n, v3_madd(v3_madd(d, t, w), -s, u));
    f->p_a = v3_madd(p, s, u);
    f->p_b = v3_madd(f->p_a, f->psi, n);
}

int32_t perpi_flat_rows(perpi_polyhedron_answer* a, uint64_t members, int32_t* row)
{
    perpi_meeting* m = a->m;
    const double tiny = SAME_PLACE * m->size;
    int32_t first = -1;
    for (int32_t i = 0; i < m->count; ++i) {
        if (members >> i & 1U) {
            first = first < 0 ? i : first;
            if (!same_direction(m, m->facet[i].n, m->facet[first].n)) {
                return 0;
            }
        }
    }
    if (first < 0) {
        return 0;
    }
    const vec3 n = m->facet[first].n;
    const int32_t face[2] = {face_with_normal(m, 0, n), face_with_normal(m, 1, v3_neg(n))};
    corners overlap, other;
    if (face[0] < 0 || face[1] < 0 || !corners_of_face(m, 0, face[0], &overlap) ||
        !corners_of_face(m, 1, face[1], &other)) {
        return 0;
    }
    cut_by_face(&overlap, &other, n, tiny);
    drop_straight(&overlap, PERPI_CANDIDATE_SAME * m->size);
    if (overlap.count < 3 || overlap.count > PERPI_FLAT_ROWS) {
        return 0;
    }
    for (int32_t i = 0; i < overlap.count; ++i) {
        row[i] = facet_at(a, n, overlap.at[i]);
        if (row[i] < 0) {
            return 0;
        }
    }
    a->flat = face[0];
    for (int32_t i = 0; i < overlap.count; ++i) {
        lay_in_plane(m, m->p[0]->normal[face[0]], &m->facet[row[i]]);
    }
    return overlap.count;
}

/* ---- right prisms ------------------------------------------------------------------------------------------ */

/* Sides: at a right angle to the base. */
#define RIGHT 1e-9
#define LEAST_TURN 1e-3 /* radians */
enum { PRISM_FACES = 8 };

/* Whether the body is a right prism on this base, higher than `height`. */
static bool is_prism(const perpi_polyhedron* p, int32_t base, double height)
{
    double high = -INFINITY;
    for (int32_t i = 0; i < p->face_count; ++i) {
        const double c = v3_dot(p->normal[i], p->normal[base]);
        if (i != base && c < -0.5) {
            high = p->offset[i] + p->offset[base];
        } else if (i != base && !(fabs(c) <= RIGHT)) {
            return false;
        }
    }
    return high > height;
}

/* How far the corners reach in a direction. */
static double extent_along(const corners* c, vec3 direction)
{
    double most = -INFINITY;
    for (int32_t i = 0; i < c->count; ++i) {
        const double t = v3_dot(direction, c->at[i]);
        most = t > most ? t : most;
    }
    return most;
}

/* By how much the bases overlap sideways at least: the distance of the origin from the edges of the
 * difference of the two. n: normal of the first. */
static double sideways_overlap(const corners* a, const corners* b, vec3 n)
{
    double least = INFINITY;
    for (int side = 0; side < 2; ++side) {
        const corners* c = side == 0 ? a : b;
        for (int32_t i = 0; i < c->count; ++i) {
            const vec3 along = v3_sub(c->at[(i + 1) % c->count], c->at[i]);
            /* out of the edge: a is counter-clockwise about n, b about -n */
            const vec3 out = v3_unit(side == 0 ? v3_cross(along, n) : v3_cross(n, along));
            const double d = side == 0 ? extent_along(a, out) + extent_along(b, v3_neg(out))
                                       : extent_along(b, out) + extent_along(a, v3_neg(out));
            least = d < least ? d : least;
        }
    }
    return least;
}

static double distance_in_plane(vec3 n, vec3 x, vec3 y)
{
    const vec3 d = v3_sub(x, y);
    return v3_norm(v3_madd(d, -v3_dot(d, n), n));
}

/* Index of the corner at this place; -1: none. */
static int32_t corner_at(const corners* c, vec3 n, vec3 place, double tiny)
{
    for (int32_t i = 0; i < c->count; ++i) {
        if (distance_in_plane(n, c->at[i], place) <= tiny) {
            return i;
        }
    }
    return -1;
}

/* Index of the corner from which an edge through this place runs; -1: none. */
static int32_t edge_at(const corners* c, vec3 n, vec3 place, double tiny)
{
    for (int32_t i = 0; i < c->count; ++i) {
        const vec3 x = c->at[i], along = v3_sub(c->at[(i + 1) % c->count], x);
        const double t = v3_dot(along, v3_sub(place, x)) / v3_dot(along, along);
        if (t >= 0.0 && t <= 1.0 && distance_in_plane(n, v3_madd(x, t, along), place) <= tiny) {
            return i;
        }
    }
    return -1;
}

/* Adds the facet of a corner of the overlap: a vertex over the other base, or two edges that cross. */
static void add_facet_at(perpi_meeting* m, const int32_t face[2], const corners base[2], vec3 n,
                         vec3 place)
{
    const double tiny = 2.0 * SAME_PLACE * m->size;
    const int32_t start[2] = {m->p[0]->face_start[face[0]], m->p[1]->face_start[face[1]]};
    const int32_t on_b = corner_at(&base[1], n, place, tiny);
    const int32_t on_a = on_b < 0 ? corner_at(&base[0], n, place, tiny) : -1;
    if (on_b >= 0) {
        perpi_meeting_vertex(m, 0, face[0], m->p[1]->corner[start[1] + on_b], true);
    } else if (on_a >= 0) {
        perpi_meeting_vertex(m, 1, face[1], m->p[0]->corner[start[0] + on_a], true);
    } else {
        const int32_t a = edge_at(&base[0], n, place, tiny), b = edge_at(&base[1], n, place, tiny);
        if (a >= 0 && b >= 0) {
            perpi_meeting_edges(m, m->p[0]->side[start[0] + a], m->p[1]->side[start[1] + b]);
        }
    }
}

/* How far the bodies can turn against each other, times the size; INFINITY: far enough for edges that
 * are parallel now to cross at an angle of their own. */
static double largest_turn(const perpi_meeting* m, const perpi_candidate_list* list)
{
    double most = 0.0;
    for (int32_t k = 0; k < list->spins; ++k) {
        const double spin = v3_norm(list->spin[k]);
        most = spin > most ? spin : most;
    }
    return most <= LEAST_TURN ? (most + m->theta) * (m->p[0]->size + m->p[1]->size) : INFINITY;
}

bool perpi_flat_prisms(perpi_polyhedron_answer* a)
{
    perpi_meeting* m = a->m;
    const vec3 n = m->axis;
    const double reach = m->margin + largest_turn(m, a->list);
    if (m->sided || reach > m->size || m->p[0]->face_count > PRISM_FACES ||
        m->p[1]->face_count > PRISM_FACES) {
        return false;
    }
    const int32_t face[2] = {face_with_normal(m, 0, n), face_with_normal(m, 1, v3_neg(n))};
    corners base[2];
    if (face[0] < 0 || face[1] < 0 || !is_prism(m->p[0], face[0], 2.0 * reach) ||
        !is_prism(m->p[1], face[1], 2.0 * reach) || !corners_of_face(m, 0, face[0], &base[0]) ||
        !corners_of_face(m, 1, face[1], &base[1])) {
        return false;
    }
    const double psi = v3_dot(n, v3_sub(base[1].at[0], base[0].at[0]));
    if (!(fabs(psi) <= m->margin) || !(sideways_overlap(&base[0], &base[1], n) > reach)) {
        return false;
    }
    corners overlap = base[0];
    cut_by_face(&overlap, &base[1], n, SAME_PLACE * m->size);
    drop_straight(&overlap, PERPI_CANDIDATE_SAME * m->size);
    if (overlap.count < 3 || overlap.count > PERPI_FLAT_ROWS) {
        return false;
    }
    for (int32_t i = 0; i < overlap.count; ++i) {
        add_facet_at(m, face, base, n, overlap.at[i]);
        if (m->count != i + 1) {
            return false;
        }
        lay_in_plane(m, m->p[0]->normal[face[0]], &m->facet[i]);
    }
    a->flat = face[0];
    return true;
}
