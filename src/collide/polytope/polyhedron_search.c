/* src/collide/polytope/polyhedron_search.c - search for near features of two convex polyhedra.
 *
 * First a plane between the two, by a few steps of [Chung, Wang 1996]: most pairs whose
 * boxes overlap are separated by one. Otherwise the best direction found limits the search: features near
 * the other body lie beyond the plane through the other's farthest vertex, less `near`. They are found by a
 * graph walk from the body's own farthest vertex, and compared pairwise: the cost depends on the neighbourhood,
 * not on the size of the bodies. If they are many (a wide face on a wide face), the trees over the faces are
 * descended instead, both at once.
 */
#include <math.h>
#include <string.h>

#include "collide/polytope/polyhedron_boxes.h"

enum { PROBES = 8, LISTED = 64 };

/* The box of b in a's frame, exactly for a small one. */
static box box_of_b(const perpi_meeting* m)
{
    const perpi_polyhedron* b = m->p[1];
    if (b->vertex_count > PERPI_PLACED) {
        const vec3 c = into_a(m, v3_scale(0.5, v3_add(b->node[0].lo, b->node[0].hi)));
        const vec3 h = v3_scale(0.5, v3_sub(b->node[0].hi, b->node[0].lo));
        vec3 d;
        d.x = fabs(m->R.m[0][0]) * h.x + fabs(m->R.m[0][1]) * h.y + fabs(m->R.m[0][2]) * h.z;
        d.y = fabs(m->R.m[1][0]) * h.x + fabs(m->R.m[1][1]) * h.y + fabs(m->R.m[1][2]) * h.z;
        d.z = fabs(m->R.m[2][0]) * h.x + fabs(m->R.m[2][1]) * h.y + fabs(m->R.m[2][2]) * h.z;
        return (box){v3_sub(c, d), v3_add(c, d)};
    }
    box whole = box_around(m->vertex_b[0]);
    for (int32_t i = 1; i < b->vertex_count; ++i) {
        cover(&whole, m->vertex_b[i]);
    }
    return whole;
}

/* ---- a plane between them ---------------------------------------------------------------------------- */

/* The axis of a's frame with the largest separation of the boxes: the answer at once for walls and
 * floors. */
static double box_axis(const perpi_meeting* m, vec3* axis)
{
    const perpi_face_node* a = &m->p[0]->node[0];
    const box b = box_of_b(m);
    const double gap[6] = {b.lo.x - a->hi.x, b.lo.y - a->hi.y, b.lo.z - a->hi.z,
                           a->lo.x - b.hi.x, a->lo.y - b.hi.y, a->lo.z - b.hi.z};
    int best = 0;
    for (int i = 1; i < 6; ++i) {
        best = gap[i] > gap[best] ? i : best;
    }
    const double sign = best < 3 ? 1.0 : -1.0;
    *axis = v3(best % 3 == 0 ? sign : 0.0, best % 3 == 1 ? sign : 0.0, best % 3 == 2 ? sign : 0.0);
    return gap[best];
}

bool perpi_meeting_parted(perpi_meeting* m)
{
    const perpi_polyhedron *a = m->p[0], *b = m->p[1];
    vec3 n;
    const double apart = box_axis(m, &n);
    if (apart > m->margin && !(m->sided && v3_dot(n, m->side) < 0.0)) {
        return true;
    }
    if (apart < -m->near) {
        n = v3_sub(into_a(m, b->mass.center), a->mass.center);
    }
    int32_t v = 0, w = 0;
    double best = -INFINITY;
    for (int i = 0; i < PROBES; ++i) {
        double length = v3_norm(n);
        if (!(length > 0.0)) {
            n = v3(1, 0, 0);
            length = 1.0;
        }
        n = v3_scale(1.0 / length, n);
        v = perpi_polyhedron_support(a, n, v);
        w = perpi_polyhedron_support(b, v3_neg(m3_tmul(m->R, n)), w);
        const vec3 d = v3_sub(into_a(m, b->vertex[w]), a->vertex[v]);
        const double gap = v3_dot(n, d);
        if (gap > m->margin && !(m->sided && v3_dot(n, m->side) < 0.0)) {
            return true;
        }
        if (gap > best) {
            best = gap;
            m->axis = n;
            m->high = v3_dot(n, a->vertex[v]);
            m->low = m->high + gap;
            m->farthest[0] = v;
            m->farthest[1] = w;
        }
        /* reflect n at the plane perpendicular to d, which exchanges the order of the farthest points */
        const double d2 = v3_dot(d, d);
        if (!(gap < 0.0) || !(d2 > 0.0)) {
            return false; /* between 0 and the margin: near */
        }
        n = v3_madd(n, -2.0 * gap / d2, d);
    }
    return false;
}

/* ---- few features: lists ------------------------------------------------------------------------------- */

/* An edge with the data that decide whether it can be a facet: its direction and the normals of its
 * faces, at the current pose and after the expected rotation. */
typedef struct listed_edge {
    int32_t edge;
    box b;
    vec3 u, n[2], u_end, n_end[2];
    double limit; /* bound on the change of a product with u or u_end by the small rotation */
} listed_edge;

typedef struct features {
    int32_t vertex[LISTED], face[LISTED];
    box face_box[LISTED];
    vec3 at[LISTED]; /* the vertices */
    listed_edge edge[LISTED];
    int32_t vertices, faces, edges;
} features;

/* Sets bit i; whether it was set before. */
static bool mark_bit(uint64_t* bits, int32_t i)
{
    const uint64_t bit = (uint64_t)1 << (i & 63);
    const bool was = (bits[i >> 6] & bit) != 0;
    bits[i >> 6] |= bit;
    return was;
}

static void list_edge(const perpi_meeting* m, int side, int32_t i, const box* b, listed_edge* l)
{
    const perpi_polyhedron* p = m->p[side];
    const perpi_edge* e = &p->edge[i];
    const bool turns = side == 1 && !m->still;
    l->edge = i;
    l->b = *b;
    l->u = m->edges_placed[side]
               ? m->edge[side][i]
               : v3_sub(vertex_at(m, side, e->vertex[1]), vertex_at(m, side, e->vertex[0]));
    for (int k = 0; k < 2; ++k) {
        const vec3* n = &p->normal[e->face[k]];
        l->n[k] = side == 0                   ? *n
                  : e->face[k] < PERPI_PLACED ? m->normal_b[e->face[k]]
                                              : m3_mul(m->R, *n);
        l->n_end[k] = turns ? m3_mul(m->R_end[0], *n) : l->n[k];
    }
    l->u_end = turns ? m3_mul(m->R_end[0], v3_sub(p->vertex[e->vertex[1]], p->vertex[e->vertex[0]]))
                     : l->u;
    l->limit = v3_norm(l->u) * (m->theta + 1e-12);
}

static bool add_face(const perpi_meeting* m, int side, int32_t i, const box* within, features* list)
{
    const perpi_polyhedron* p = m->p[side];
    box b = box_around(vertex_at(m, side, p->corner[p->face_start[i]]));
    for (int32_t k = p->face_start[i] + 1; k < p->face_start[i + 1]; ++k) {
        cover(&b, vertex_at(m, side, p->corner[k]));
    }
    if (!boxes_meet(&b, within)) {
        return true;
    }
    if (list->faces == LISTED) {
        return false;
    }
    list->face_box[list->faces] = widened(b, m->near);
    list->face[list->faces++] = i;
    return true;
}

static bool add_edge(const perpi_meeting* m, int side, int32_t i, const box* within, features* list)
{
    const perpi_edge* e = &m->p[side]->edge[i];
    box b = box_around(vertex_at(m, side, e->vertex[0]));
    cover(&b, vertex_at(m, side, e->vertex[1]));
    if (!boxes_meet(&b, within)) {
        return true;
    }
    if (list->edges == LISTED) {
        return false;
    }
    if (side == 0) {
        b = widened(b, m->near);
    }
    list_edge(m, side, i, &b, &list->edge[list->edges++]);
    return true;
}

/* The features that extend into the box and over the plane. The vertices beyond a plane are
 * connected, and an edge or a face extends there if one of its vertices does. False: overflow. */
static bool list_features(const perpi_meeting* m, int side, const box* within, features* list)
{
    const perpi_polyhedron* p = m->p[side];
    uint64_t vertices[PERP_POLYHEDRON_LIMIT / 64], edges[3 * PERP_POLYHEDRON_LIMIT / 64];
    uint64_t faces[2 * PERP_POLYHEDRON_LIMIT / 64];
    int32_t queue[2 * LISTED], count = 0;
    list->vertices = list->faces = list->edges = 0;
    if (p->vertex_count >= PERP_POLYHEDRON_LIMIT) {
        return false;
    }
    memset(vertices, 0, (size_t)(p->vertex_count / 64 + 1) * sizeof *vertices);
    memset(edges, 0, (size_t)(p->edge_count / 64 + 1) * sizeof *edges);
    memset(faces, 0, (size_t)(p->face_count / 64 + 1) * sizeof *faces);
    const double level = side == 0 ? m->low - m->near : -(m->high + m->near);
    queue[count++] = m->farthest[side];
    (void)mark_bit(vertices, m->farthest[side]);
    for (int32_t at = 0; at < count; ++at) {
        const int32_t v = queue[at];
        const box b = box_around(vertex_at(m, side, v));
        if (boxes_meet(&b, within)) {
            if (list->vertices == LISTED) {
                return false;
            }
            list->at[list->vertices] = b.lo;
            list->vertex[list->vertices++] = v;
        }
        for (int32_t k = p->around_start[v]; k < p->around_start[v + 1]; ++k) {
            const int32_t i = p->around[k];
            const perpi_edge* e = &p->edge[i];
            const int32_t w = e->vertex[0] == v ? e->vertex[1] : e->vertex[0];
            if ((!mark_bit(edges, i) && !add_edge(m, side, i, within, list)) ||
                (!mark_bit(faces, e->face[0]) && !add_face(m, side, e->face[0], within, list)) ||
                (!mark_bit(faces, e->face[1]) && !add_face(m, side, e->face[1], within, list))) {
                return false;
            }
            const double height = v3_dot(m->axis, vertex_at(m, side, w));
            if ((side == 0 ? height : -height) >= level && !mark_bit(vertices, w)) {
                if (count == 2 * LISTED) {
                    return false;
                }
                queue[count++] = w;
            }
        }
    }
    return true;
}

static void try_listed(perpi_meeting* m, const features* a, const features* b, bool all_vertices)
{
    const features* of[2] = {a, b};
    for (int side = 0; side < 2; ++side) {
        const features *owner = of[side], *other = of[1 - side];
        for (int32_t i = 0; i < owner->faces; ++i) {
            for (int32_t k = 0; k < other->vertices; ++k) {
                const box at = box_around(other->at[k]);
                if (boxes_meet(&at, &owner->face_box[i])) {
                    perpi_meeting_vertex(m, side, owner->face[i], other->vertex[k], all_vertices);
                }
            }
        }
    }
    for (int32_t i = 0; i < a->edges; ++i) {
        const listed_edge* e = &a->edge[i];
        for (int32_t k = 0; k < b->edges && !m->apart; ++k) {
            const listed_edge* g = &b->edge[k];
            if (boxes_meet(&e->b, &g->b) &&
                (m->ends > 1 || can_cross(e->n, e->u, e->limit, g->n_end, g->u_end, g->limit) ||
                 (!m->still && can_cross(e->n, e->u, 0.0, g->n, g->u, 0.0)))) {
                perpi_meeting_edges(m, e->edge, g->edge);
            }
        }
    }
}

/* False: too many near features for lists. */
static bool collect_listed(perpi_meeting* m, bool all_vertices)
{
    const perpi_face_node* root = &m->p[0]->node[0];
    const box box_a = widened((box){root->lo, root->hi}, m->near);
    const box box_b = widened(box_of_b(m), m->near);
    features list_a, list_b;
    if (!boxes_meet(&box_a, &box_b)) {
        return true;
    }
    if (!list_features(m, 0, &box_b, &list_a) || !list_features(m, 1, &box_a, &list_b)) {
        return false;
    }
    try_listed(m, &list_a, &list_b, all_vertices);
    return true;
}

void perpi_meeting_collect(perpi_meeting* m, bool all_vertices)
{
    if (collect_listed(m, all_vertices)) {
        return;
    }
    perpi_meeting_descend(m, all_vertices);
}
