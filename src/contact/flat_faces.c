/* src/contact/flat_faces.c - two faces of polyhedra that lie flat on each other.
 *
 * Derivation docs/notation.md, "Flat on flat". The gap of a point of the common plane is then a linear
 * function of its place, psi + c . p, and the two faces do not overlap to first order exactly if it is
 * nonnegative on their intersection, that is at its corners. All groups whose members have the common
 * normal are together equivalent to one row for each corner, outside of groups.
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

int32_t perpi_flat_rows(const perpi_polyhedron_answer* a, uint64_t members, int32_t* row)
{
    const perpi_meeting* m = a->m;
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
    for (int32_t i = 0; i < other.count && overlap.count > 2; ++i) {
        const vec3 x = other.at[i], y = other.at[(i + 1) % other.count];
        /* counter-clockwise about -n: the outside of an edge is along (y - x) x (-n) */
        cut(&overlap, x, v3_unit(v3_cross(n, v3_sub(y, x))), tiny);
    }
    if (overlap.count < 3 || overlap.count > PERPI_FLAT_ROWS) {
        return 0;
    }
    for (int32_t i = 0; i < overlap.count; ++i) {
        row[i] = facet_at(a, n, overlap.at[i]);
        if (row[i] < 0) {
            return 0;
        }
    }
    return overlap.count;
}
