/* src/collide/polytope/polyhedron_near.c - pairs of features of two convex polyhedra.
 *
 * Source     [W14 3.3, 3.4, 3.6]: vertex-face and edge-edge pairs, applicability, feasibility
 * Notation   an edge e runs from its first vertex to its second, face L to the left of it and R to the
 *            right: n_L x n_R is a positive multiple of e
 *
 * A vertex of b and a face of a (normal n) are a facet of B - A where n . u >= 0 for all edges u that
 * leave the vertex. An edge a of A and an edge b of B are one, with the normal sigma a x b, where
 *     sigma n_L(a) . b >= 0 >= sigma n_R(a) . b   and   sigma n_L(b) . a >= 0 >= sigma n_R(b) . a
 * (n is between n_L and n_R if e . (n_L x n) >= 0 and e . (n x n_R) >= 0; put in n = sigma a x b).
 * So both kinds are decided by signs of products of an edge with a normal of the other body.
 */
#include <math.h>
#include <string.h>

#include "collide/polytope/polyhedron.h"
#include "collide/narrow/round.h"

#define PRESENT                                                                                    \
    1e-12                /* sine: a product above minus this counts as nonnegative at the current
                          * pose */
#define SAME_PLANE 1e-6  /* times theta: two products that vanish together */
#define ALONG 1e-9       /* sine of the angle between edges below which they are parallel */
#define SAME_ANGLE 1e-12 /* rounding in angles: theta is never below */
#define DECIDES 0.1      /* of the angle between two edges: what a turn of one changes */
#define NEARLY 0.02      /* sine of the angle between edges that count as nearly parallel */

static vec3 into_a(const perpi_meeting* m, vec3 y)
{
    return v3_add(m->x, m3_mul(m->R, y));
}

static vec3 into_b(const perpi_meeting* m, vec3 y)
{
    return m3_tmul(m->R, v3_sub(y, m->x));
}

/* Vertex and normal in a's frame. */
static inline vec3 vertex_of(const perpi_meeting* m, int side, int32_t i)
{
    return side == 0          ? m->p[0]->vertex[i]
           : i < PERPI_PLACED ? m->vertex_b[i]
                              : into_a(m, m->p[1]->vertex[i]);
}

static inline vec3 normal_of(const perpi_meeting* m, int side, int32_t i)
{
    return side == 0          ? m->p[0]->normal[i]
           : i < PERPI_PLACED ? m->normal_b[i]
                              : m3_mul(m->R, m->p[1]->normal[i]);
}

static inline vec3 edge_of(const perpi_meeting* m, int side, int32_t i)
{
    if (m->edges_placed[side]) {
        return m->edge[side][i];
    }
    const perpi_edge* e = &m->p[side]->edge[i];
    return v3_sub(vertex_of(m, side, e->vertex[1]), vertex_of(m, side, e->vertex[0]));
}

/* The same after the k-th expected rotation. */
static inline vec3 normal_at_end(const perpi_meeting* m, int side, int32_t i, int32_t k)
{
    return side == 0 || m->still ? normal_of(m, side, i) : m3_mul(m->R_end[k], m->p[1]->normal[i]);
}

static inline vec3 edge_at_end(const perpi_meeting* m, int side, int32_t i, int32_t k)
{
    if (side == 0 || m->still) {
        return edge_of(m, side, i);
    }
    const perpi_edge* e = &m->p[1]->edge[i];
    return m3_mul(m->R_end[k],
                  v3_sub(m->p[1]->vertex[e->vertex[1]], m->p[1]->vertex[e->vertex[0]]));
}

static bool exists(const perpi_meeting* m, vec3 n)
{
    return !m->sided || v3_dot(n, m->side) >= -1e-9;
}

void perpi_meeting_begin(perpi_meeting* m, const perpi_polyhedron* a, const perpi_pose* pose_a,
                         const perpi_polyhedron* b, const perpi_pose* pose_b, double margin,
                         double near, const perpi_candidate_list* list)
{
    const double turn = list->turn;
    m->p[0] = a;
    m->p[1] = b;
    m->R = m3_mm(m3_transpose(pose_a->R), pose_b->R);
    m->x = m3_tmul(pose_a->R, v3_sub(pose_b->x, pose_a->x));
    m->margin = margin;
    m->near = near;
    m->size = a->size < b->size ? a->size : b->size;
    m->theta =
        perpi_clamp(turn < margin / m->size ? turn : margin / m->size, SAME_ANGLE, PERPI_THETA_MAX);
    m->orders = list->rule != NULL && list->rule->orders;
    m->ends = list->spins > 0 ? list->spins : 1;
    m->still = list->spins == 0 || (m->ends == 1 && v3_dot(list->spin[0], list->spin[0]) <=
                                                        0.01 * SAME_ANGLE * SAME_ANGLE);
    for (int32_t k = 0; k < m->ends && !m->still; ++k) {
        m->R_end[k] = m3_mm(q4_matrix(q4_exp(m3_tmul(pose_a->R, list->spin[k]))), m->R);
    }
    m->leaves = list->leaves;
    m->sided = list->sided;
    m->side = list->sided ? m3_tmul(pose_a->R, list->side) : v3(0, 0, 0);
    m->count = 0;
    m->products = 0;
    memset(m->known, 0, sizeof m->known);
    m->least = INFINITY;
    m->best = -INFINITY;
    m->apart = m->overflow = false;
    for (int32_t i = 0; i < PERPI_PLACED && i < b->vertex_count; ++i) {
        m->vertex_b[i] = into_a(m, b->vertex[i]);
    }
    for (int32_t i = 0; i < PERPI_PLACED && i < b->face_count; ++i) {
        m->normal_b[i] = m3_mul(m->R, b->normal[i]);
    }
    for (int side = 0; side < 2; ++side) {
        m->edges_placed[side] = false;
        for (int32_t i = 0;
             m->p[side]->edge_count <= PERPI_PLACED_EDGES && i < m->p[side]->edge_count; ++i) {
            m->edge[side][i] = edge_of(m, side, i);
        }
        m->edges_placed[side] = m->p[side]->edge_count <= PERPI_PLACED_EDGES;
    }
}

/* ---- products and their signs ----------------------------------------------------------------------- */

/* The product s of a face's normal with an edge u of the other body, and u . u. */
typedef struct face_edge {
    double s, u2;
} face_edge;

static inline face_edge product_of(vec3 n, vec3 u)
{
    return (face_edge){v3_dot(u, n), v3_dot(u, u)};
}

static inline face_edge product_now(const perpi_meeting* m, int side, int32_t face, int32_t edge)
{
    return product_of(normal_of(m, side, face), edge_of(m, 1 - side, edge));
}

/* After the k-th expected rotation. */
static inline face_edge product_at_end(const perpi_meeting* m, int side, int32_t face, int32_t edge,
                                       int32_t k)
{
    return product_of(normal_at_end(m, side, face, k), edge_at_end(m, 1 - side, edge, k));
}

/* Whether the product has the sign wanted, or vanishes. */
static inline bool holds(face_edge p, double want)
{
    return p.s * want >= 0.0 || p.s * p.s <= PRESENT * PRESENT * p.u2;
}

/* Whether a product has the opposite sign for every small rotation. */
static inline bool never_holds(const perpi_meeting* m, face_edge p, double want)
{
    const double theta2 = m->theta * m->theta;
    return p.s * want < 0.0 && p.s * p.s * (1.0 + theta2) >= theta2 * p.u2 &&
           p.s * p.s > PRESENT * PRESENT * p.u2;
}

static bool same_product(const perpi_meeting* m, const perpi_product* p, const perpi_product* q,
                         bool* opposite)
{
    const double tiny = SAME_PLANE * m->theta;
    *opposite = v3_dot(p->g[0], q->g[0]) < 0.0;
    const double way = *opposite ? -1.0 : 1.0;
    for (int32_t k = 0; k < m->ends; ++k) {
        const vec3 off = v3_madd(q->g[k], -way, p->g[k]);
        if (!(fabs(q->s[k] - way * p->s[k]) <= tiny) ||
            !(v3_dot(off, off) <= SAME_PLANE * SAME_PLANE)) {
            return false;
        }
    }
    return true;
}

static int32_t take_product(perpi_meeting* m, const perpi_product* p, bool* opposite)
{
    for (int32_t i = 0; i < m->products; ++i) {
        if (same_product(m, &m->product[i], p, opposite)) {
            return i;
        }
    }
    if (m->products == PERPI_PRODUCTS) {
        return -1;
    }
    *opposite = false;
    m->product[m->products] = *p;
    return m->products++;
}

/* Bit of the product of a face's normal with an edge of the other body, and whether it is kept with the
 * opposite sign; -1: no room. b turns: (u + d x u) . n of its edge, u . (n + d x n) of its face. */
static int32_t find_product(perpi_meeting* m, int side, int32_t face, int32_t edge, bool* opposite)
{
    perpi_product p;
    for (int32_t k = 0; k < m->ends; ++k) {
        const vec3 n = normal_at_end(m, side, face, k), u = edge_at_end(m, 1 - side, edge, k);
        p.still = side == 0 ? n : u;
        p.turning[k] = side == 0 ? u : n;
        const vec3 g = v3_cross(p.turning[k], p.still);
        const double length = v3_norm(g), unit = length > 0.0 ? 1.0 / length : 0.0;
        p.g[k] = v3_scale(unit, g);
        p.s[k] = length > 0.0 ? v3_dot(u, n) / length : v3_dot(u, n) > 0.0 ? INFINITY : -INFINITY;
    }
    return take_product(m, &p, opposite);
}

/* The same, cached for small bodies: several facets need the same product. */
static int32_t product_index(perpi_meeting* m, int side, int32_t face, int32_t edge, bool* opposite)
{
    if (face >= PERPI_KNOWN_FACES || edge >= PERPI_PLACED_EDGES) {
        return find_product(m, side, face, edge, opposite);
    }
    uint8_t* known = &m->known[side][face][edge];
    if (*known == 0) {
        const int32_t i = find_product(m, side, face, edge, opposite);
        if (i < 0) {
            return i;
        }
        *known = (uint8_t)(1 + 2 * i + (*opposite ? 1 : 0));
    }
    *opposite = ((*known - 1) & 1) != 0;
    return (*known - 1) / 2;
}

/* The facet needs the product of the edge (of the body that does not own the face) with the face's
 * normal to have the sign `want`; p: the product after each expected rotation. */
static void demand_product(perpi_meeting* m, perpi_facet* f, int side, int32_t face, int32_t edge,
                           double want, const face_edge* p)
{
    bool changes = false;
    if (!m->orders) {
        return;
    }
    for (int32_t k = 0; k < m->ends; ++k) {
        if (!(f->possible >> k & 1U)) {
            continue;
        }
        const double sine2 = p[k].s * p[k].s / p[k].u2;
        if (sine2 < m->theta * m->theta * (1.0 - sine2)) {
            changes = true;
        } else if (!holds(p[k], want)) {
            f->possible &= ~(1U << k);
        }
    }
    if (!changes || f->possible == 0) {
        return;
    }
    bool opposite;
    const int32_t bit = product_index(m, side, face, edge, &opposite);
    if (bit < 0) {
        /* overflow: the sign after the first expected rotation */
        f->possible &= holds(p[0], want) ? ~0U : 0U;
    } else if ((want > 0.0) != opposite) {
        f->plus |= (uint64_t)1 << bit;
    } else {
        f->minus |= (uint64_t)1 << bit;
    }
    if ((f->plus & f->minus) != 0) {
        f->possible = 0;
    }
}

/* The square of the distance of two pairs with about the same normal; infinite if their normals differ. */
static double pair_distance2(const perpi_facet* f, const perpi_facet* g)
{
    const vec3 d = v3_sub(g->p_a, f->p_a);
    return v3_dot(g->n, f->n) > 0.99 ? v3_dot(d, d) : INFINITY;
}

/* To the nearest other pair with about the same normal; infinite if there is none. */
static double neighbour_distance2(const perpi_meeting* m, const perpi_facet* f)
{
    double least = INFINITY;
    for (int32_t i = 0; i < m->count; ++i) {
        const double d2 = &m->facet[i] != f ? pair_distance2(&m->facet[i], f) : INFINITY;
        least = d2 < least ? d2 : least;
    }
    return least;
}

/* Updates room[], too: only pairs whose nearest neighbour was replaced look for another one. */
static void replace_facet(perpi_meeting* m, int32_t at, const perpi_facet* f)
{
    const perpi_facet old = m->facet[at];
    m->facet[at] = *f;
    m->room[at] = neighbour_distance2(m, &m->facet[at]);
    for (int32_t i = 0; i < m->count; ++i) {
        if (i == at) {
            continue;
        }
        const double lost = pair_distance2(&m->facet[i], &old);
        const double found = pair_distance2(&m->facet[i], f);
        if (found <= m->room[i]) {
            m->room[i] = found;
        } else if (lost == m->room[i]) {
            m->room[i] = neighbour_distance2(m, &m->facet[i]);
        }
    }
}

/* On overflow a facet replaces the farthest one; of those about as far, the one with the nearest neighbour: a
 * prism with many sides must not stand on a part of its rim. */
static void keep_nearest(perpi_meeting* m, const perpi_facet* f)
{
    double farthest = 0.0;
    for (int32_t i = 0; i < m->count; ++i) {
        farthest = m->facet[i].distance > farthest ? m->facet[i].distance : farthest;
    }
    if (f->distance - 0.1 * m->near > farthest) {
        return;
    }
    const double about = (f->distance > farthest ? f->distance : farthest) - 0.1 * m->near;
    int32_t worst = -1;
    double room = f->distance >= about ? neighbour_distance2(m, f) : INFINITY;
    for (int32_t i = 0; i < m->count; ++i) {
        const bool far = m->facet[i].distance >= about;
        const double r = far ? m->room[i] : INFINITY;
        if (r < room || (worst < 0 && f->distance < about && far)) {
            room = r;
            worst = i;
        }
    }
    if (worst >= 0) {
        replace_facet(m, worst, f);
    }
}

static void keep_facet(perpi_meeting* m, const perpi_facet* f)
{
    if (f->present) {
        m->least = f->distance < m->least ? f->distance : m->least;
        if (f->psi > m->best && f->psi < 0.0) {
            m->most_open = *f;
        }
        m->best = f->psi > m->best ? f->psi : m->best;
        m->apart = m->apart || f->psi > m->margin;
    }
    if (m->count < PERPI_FACETS) {
        m->facet[m->count++] = *f;
        return;
    }
    for (int32_t i = 0; i < m->count && !m->overflow; ++i) {
        m->room[i] = neighbour_distance2(m, &m->facet[i]);
    }
    m->overflow = true;
    if (!m->orders) { /* else no groups are made of these pairs */
        keep_nearest(m, f);
    }
}

/* ---- a vertex and a face ---------------------------------------------------------------------------- */

/* Distance of y from a face, both in the frame of the face's owner, or more than `near` if it is
 * more; psi: its height over the face. */
static double face_distance(const perpi_polyhedron* p, int32_t face, vec3 y, double psi,
                            double near)
{
    const vec3 n = p->normal[face];
    double closest = INFINITY;
    bool inside = true;
    vec3 from = p->vertex[p->corner[p->face_start[face + 1] - 1]];
    for (int32_t k = p->face_start[face]; k < p->face_start[face + 1]; ++k) {
        const vec3 to = p->vertex[p->corner[k]];
        const vec3 u = v3_sub(to, from), d = v3_sub(y, from);
        const double out = v3_dot(v3_cross(u, n), d); /* times the length of u */
        if (out > 0.0) {
            const double u2 = v3_dot(u, u);
            if (out * out > near * near * u2) {
                return INFINITY;
            }
            const double t = perpi_clamp(v3_dot(d, u) / u2, 0.0, 1.0);
            const vec3 off = v3_madd(d, -t, u);
            const double d2 = v3_dot(off, off);
            closest = d2 < closest ? d2 : closest;
            inside = false;
        }
        from = to;
    }
    return inside ? fabs(psi) : sqrt(closest);
}

/* psi: the height of the vertex over the face's plane. */
static inline double height_over(const perpi_meeting* m, int side, int32_t face, int32_t vertex)
{
    const vec3 n = normal_of(m, side, face);
    const double offset = m->p[side]->offset[face] + (side == 0 ? 0.0 : v3_dot(n, m->x));
    return v3_dot(n, vertex_of(m, 1 - side, vertex)) - offset;
}

static perpi_facet vertex_face(const perpi_meeting* m, int side, int32_t face, int32_t vertex)
{
    const vec3 n = normal_of(m, side, face), v = vertex_of(m, 1 - side, vertex);
    const double psi = height_over(m, side, face, vertex);
    const vec3 foot = v3_madd(v, -psi, n);
    return (perpi_facet){.kind = side == 0 ? PERPI_VERTEX_B_FACE_A : PERPI_VERTEX_A_FACE_B,
                         .one = vertex,
                         .other = face,
                         .p_a = side == 0 ? foot : v,
                         .p_b = side == 0 ? v : foot,
                         .n = side == 0 ? n : v3_neg(n),
                         .psi = psi,
                         .distance = fabs(psi),
                         .present = true,
                         .possible = (1U << m->ends) - 1U};
}

void perpi_meeting_vertex(perpi_meeting* m, int side, int32_t face, int32_t vertex, bool all)
{
    const perpi_polyhedron* other = m->p[1 - side];
    const int32_t first = other->around_start[vertex], end = other->around_start[vertex + 1];
    const vec3 n = normal_of(m, side, face);
    if (!(fabs(height_over(m, side, face, vertex)) <= m->near) ||
        !exists(m, side == 0 ? n : v3_neg(n))) {
        return;
    }
    uint32_t possible = (1U << m->ends) - 1U;
    bool present = true;
    for (int32_t k = first; k < end && (possible != 0 || present); ++k) {
        const int32_t e = other->around[k];
        const double want = other->edge[e].vertex[0] == vertex ? 1.0 : -1.0;
        const face_edge now = product_of(n, edge_of(m, 1 - side, e));
        for (int32_t i = 0; i < m->ends; ++i) {
            if (never_holds(m, m->still ? now : product_at_end(m, side, face, e, i), want)) {
                possible &= ~(1U << i);
            }
        }
        present = present && holds(now, want);
    }
    if (possible == 0 && !present && !all) {
        return;
    }
    perpi_facet f = vertex_face(m, side, face, vertex);
    f.possible = possible;
    f.present = present;
    const vec3 y = side == 0 ? f.p_b : into_b(m, f.p_a);
    f.distance = face_distance(m->p[side], face, y, f.psi, m->near);
    if (!(f.distance <= m->near)) {
        return;
    }
    for (int32_t k = first; k < end && m->orders; ++k) {
        const int32_t e = other->around[k];
        face_edge p[PERPI_SPINS];
        for (int32_t i = 0; i < m->ends; ++i) {
            p[i] = m->still ? product_of(n, edge_of(m, 1 - side, e))
                            : product_at_end(m, side, face, e, i);
        }
        demand_product(m, &f, side, face, e, other->edge[e].vertex[0] == vertex ? 1.0 : -1.0, p);
    }
    if (f.possible != 0 || f.present || all) {
        keep_facet(m, &f);
    }
}

/* ---- an edge and an edge ------------------------------------------------------------------------------ */

/* The sign sigma with which sigma a x b points out of both edges; 0 if there is none, or if the edges are
 * parallel. */
static double outward_sign(const perpi_meeting* m, int32_t edge_a, int32_t edge_b)
{
    const perpi_edge *e = &m->p[0]->edge[edge_a], *g = &m->p[1]->edge[edge_b];
    const vec3 u = edge_of(m, 0, edge_a), w = edge_of(m, 1, edge_b), cross = v3_cross(u, w);
    const double along_a =
        v3_dot(cross, v3_add(normal_of(m, 0, e->face[0]), normal_of(m, 0, e->face[1])));
    const double along_b =
        v3_dot(cross, v3_add(normal_of(m, 1, g->face[0]), normal_of(m, 1, g->face[1])));
    const double limit2 = ALONG * ALONG * v3_dot(u, u) * v3_dot(w, w);
    return !(v3_dot(cross, cross) > limit2) ? 0.0
           : along_a > 0.0 && along_b < 0.0 ? 1.0
           : along_a < 0.0 && along_b > 0.0 ? -1.0
                                            : 0.0;
}

double perpi_meeting_sign(const perpi_meeting* m, int32_t edge_a, int32_t edge_b)
{
    return outward_sign(m, edge_a, edge_b);
}

/* The pair with the normal sigma a x b, which points out of both; false if that is none. Points are those
 * of the lines. */
static bool edge_edge(const perpi_meeting* m, int32_t edge_a, int32_t edge_b, double sigma,
                      perpi_facet* f)
{
    const perpi_edge *e = &m->p[0]->edge[edge_a], *g = &m->p[1]->edge[edge_b];
    const vec3 p = vertex_of(m, 0, e->vertex[0]), q = vertex_of(m, 1, g->vertex[0]);
    const vec3 u = edge_of(m, 0, edge_a), w = edge_of(m, 1, edge_b);
    const double uu = v3_dot(u, u), ww = v3_dot(w, w), uw = v3_dot(u, w);
    const vec3 cross = v3_scale(sigma, v3_cross(u, w)), d = v3_sub(q, p);
    const double c2 = v3_dot(cross, cross);
    const double du = v3_dot(d, u), dw = v3_dot(d, w);
    const double s = (du * ww - dw * uw) / c2, t = (du * uw - dw * uu) / c2;
    /* the lines may cross outside the edges and come inside with the motion: by that much, but no
     * more than half an edge, since a small rotation of a long lever would separate any pair */
    const double sine = sqrt(c2 / (uu * ww));
    const double out_a = s < 0.0 ? -s : s > 1.0 ? s - 1.0 : 0.0;
    const double out_b = t < 0.0 ? -t : t > 1.0 ? t - 1.0 : 0.0;
    if (out_a * sqrt(uu) * sine > m->near || out_b * sqrt(ww) * sine > m->near || out_a > 0.5 ||
        out_b > 0.5) {
        return false;
    }
    const vec3 n = v3_scale(1.0 / sqrt(c2), cross);
    const double psi = v3_dot(n, d);
    const vec3 p_a = v3_madd(p, s, u);
    *f = (perpi_facet){.kind = PERPI_EDGE_EDGE,
                       .one = edge_a,
                       .other = edge_b,
                       .p_a = p_a,
                       .p_b = v3_madd(p_a, psi, n),
                       .n = n,
                       .psi = psi,
                       .distance = fabs(psi),
                       .present = true,
                       .possible = (1U << m->ends) - 1U};
    if (out_a > 0.0 || out_b > 0.0) {
        const double la = 0.5 * sqrt(uu), lb = 0.5 * sqrt(ww);
        const perpi_segment sa = {v3_madd(p, 0.5, u), v3_scale(0.5 / la, u), la};
        const perpi_segment sb = {v3_madd(q, 0.5, w), v3_scale(0.5 / lb, w), lb};
        f->distance = sqrt(perpi_segment_closest(&sa, &sb).d2);
    }
    return true;
}

/* The four products that decide whether two edges are a facet: of a's two faces with b's edge, and
 * of b's two faces with a's edge. With the normal sigma a x b they must have the signs sigma and
 * -sigma in turn. */
static bool edges_hold(const face_edge p[4], double sigma)
{
    return holds(p[0], sigma) && holds(p[1], -sigma) && holds(p[2], sigma) && holds(p[3], -sigma);
}

static bool edges_never(const perpi_meeting* m, const face_edge p[4], double sigma)
{
    return never_holds(m, p[0], sigma) || never_holds(m, p[1], -sigma) ||
           never_holds(m, p[2], sigma) || never_holds(m, p[3], -sigma);
}

/* ---- edges that are parallel, or so nearly that the rotation decides how they cross ------------------------
 *
 * With the direction a of one and that of the other after the expected turn, b, the normal at the
 * end of the step is n = sigma a x b. A plane through a with this normal takes the place of a face:
 * the
 * ends of b are the vertices over it, and the sign of n . b after the actual rotation decides which
 * of them is lower. So the constraint is valid for any rotation; n is the best normal only for the
 * expected one. */

/* Whether the rotation changes the direction perpendicular to the two edges by much. */
static bool turn_decides(vec3 u, vec3 w, vec3 w_end)
{
    const vec3 cross = v3_cross(u, w), change = v3_sub(w_end, w);
    const double c2 = v3_dot(cross, cross), uu = v3_dot(u, u);
    return c2 < v3_dot(change, change) * uu / (DECIDES * DECIDES) &&
           c2 < NEARLY * NEARLY * uu * v3_dot(w, w);
}

/* The normal after the k-th expected rotation, and its sign; false if there is none, or the edges
 * are not near. */
static bool normal_by_turn(const perpi_meeting* m, int32_t edge_a, int32_t edge_b, int32_t k,
                           double* sigma, vec3* n, double* distance)
{
    const perpi_edge *e = &m->p[0]->edge[edge_a], *g = &m->p[1]->edge[edge_b];
    const vec3 p = vertex_of(m, 0, e->vertex[0]), q = vertex_of(m, 1, g->vertex[0]);
    const vec3 u = edge_of(m, 0, edge_a), w = edge_of(m, 1, edge_b);
    const vec3 w_end = edge_at_end(m, 1, edge_b, k), cross = v3_cross(u, w_end);
    const double uu = v3_dot(u, u), ww = v3_dot(w, w), c2 = v3_dot(cross, cross);
    const double along_a =
        v3_dot(cross, v3_add(normal_of(m, 0, e->face[0]), normal_of(m, 0, e->face[1])));
    const double along_b = v3_dot(
        cross, v3_add(normal_at_end(m, 1, g->face[0], k), normal_at_end(m, 1, g->face[1], k)));
    *sigma = along_a > 0.0 && along_b < 0.0 ? 1.0 : along_a < 0.0 && along_b > 0.0 ? -1.0 : 0.0;
    if (!(c2 > ALONG * ALONG * uu * ww) || *sigma == 0.0) {
        return false;
    }
    const double la = 0.5 * sqrt(uu), lb = 0.5 * sqrt(ww);
    const perpi_segment sa = {v3_madd(p, 0.5, u), v3_scale(0.5 / la, u), la};
    const perpi_segment sb = {v3_madd(q, 0.5, w), v3_scale(0.5 / lb, w), lb};
    *distance = sqrt(perpi_segment_closest(&sa, &sb).d2);
    *n = v3_scale(*sigma / sqrt(c2), cross);
    return *distance <= m->near && exists(m, *n);
}

/* The sign of n . b decides which end of b is lower: bit of that product. */
static int32_t lower_end(perpi_meeting* m, vec3 n, int32_t edge_b, bool* opposite)
{
    perpi_product p = {.still = n};
    for (int32_t i = 0; i < m->ends; ++i) {
        p.turning[i] = edge_at_end(m, 1, edge_b, i);
        const vec3 g = v3_cross(p.turning[i], n);
        const double length = v3_norm(g); /* > 0: n is across the edge, or nearly */
        p.g[i] = v3_scale(1.0 / length, g);
        p.s[i] = v3_dot(p.turning[i], n) / length;
    }
    return take_product(m, &p, opposite);
}

/* Adds the pair for each expected rotation that decides; returns the rotations for which it does
 * not. */
static uint32_t edges_by_turn(perpi_meeting* m, int32_t edge_a, int32_t edge_b)
{
    const perpi_edge *e = &m->p[0]->edge[edge_a], *g = &m->p[1]->edge[edge_b];
    const int32_t face[4] = {e->face[0], e->face[1], g->face[0], g->face[1]};
    const int32_t edge[4] = {edge_b, edge_b, edge_a, edge_a};
    uint32_t others = (1U << m->ends) - 1U;
    for (int32_t k = 0; k < m->ends && m->orders && !m->still; ++k) {
        double sigma, distance;
        vec3 n;
        if (!turn_decides(edge_of(m, 0, edge_a), edge_of(m, 1, edge_b),
                          edge_at_end(m, 1, edge_b, k))) {
            continue;
        }
        others &= ~(1U << k);
        if (!normal_by_turn(m, edge_a, edge_b, k, &sigma, &n, &distance)) {
            continue;
        }
        perpi_facet f = {.kind = PERPI_EDGE_EDGE,
                         .one = edge_a,
                         .other = edge_b,
                         .n = n,
                         .distance = distance,
                         .possible = 1U << k};
        for (int i = 0; i < 4; ++i) {
            face_edge end[PERPI_SPINS] = {{0}};
            end[k] = product_at_end(m, i / 2, face[i], edge[i], k);
            demand_product(m, &f, i / 2, face[i], edge[i], i % 2 == 0 ? sigma : -sigma, end);
        }
        bool opposite;
        const int32_t bit = f.possible != 0 ? lower_end(m, n, edge_b, &opposite) : -1;
        for (int end = 0; end < 2 && bit >= 0; ++end) {
            perpi_facet lower = f;
            lower.p_b = vertex_of(m, 1, g->vertex[end]);
            lower.psi = v3_dot(n, v3_sub(lower.p_b, vertex_of(m, 0, e->vertex[0])));
            lower.p_a = v3_madd(lower.p_b, -lower.psi, n);
            *((end == 0) != opposite ? &lower.plus : &lower.minus) |= (uint64_t)1 << bit;
            if ((lower.plus & lower.minus) == 0) {
                keep_facet(m, &lower);
            }
        }
    }
    return others;
}

void perpi_meeting_edges(perpi_meeting* m, int32_t edge_a, int32_t edge_b)
{
    const uint32_t others = edges_by_turn(m, edge_a, edge_b);
    const perpi_edge *e = &m->p[0]->edge[edge_a], *g = &m->p[1]->edge[edge_b];
    const int32_t face[4] = {e->face[0], e->face[1], g->face[0], g->face[1]};
    const int32_t edge[4] = {edge_b, edge_b, edge_a, edge_a};
    /* where the rotation can reverse the normal of nearly parallel edges: only with one that points
     * out */
    const double sigma = outward_sign(m, edge_a, edge_b);
    if (sigma == 0.0) {
        return;
    }
    face_edge now[4], end[4][PERPI_SPINS];
    for (int i = 0; i < 4; ++i) {
        now[i] = product_now(m, i / 2, face[i], edge[i]);
        for (int32_t k = 0; k < m->ends; ++k) {
            end[i][k] = m->still ? now[i] : product_at_end(m, i / 2, face[i], edge[i], k);
        }
    }
    uint32_t possible = 0;
    for (int32_t k = 0; k < m->ends; ++k) {
        const face_edge p[4] = {end[0][k], end[1][k], end[2][k], end[3][k]};
        possible |= edges_never(m, p, sigma) ? 0U : 1U << k;
    }
    possible &= others;
    const bool present = edges_hold(now, sigma);
    perpi_facet f;
    if ((possible == 0 && !present) || !edge_edge(m, edge_a, edge_b, sigma, &f) ||
        !(f.distance <= m->near) || !exists(m, f.n)) {
        return;
    }
    f.possible = possible;
    f.present = present;
    for (int i = 0; i < 4; ++i) {
        demand_product(m, &f, i / 2, face[i], edge[i], i % 2 == 0 ? sigma : -sigma, end[i]);
    }
    if (f.possible != 0 || f.present) {
        keep_facet(m, &f);
    }
}

/* ---- all facets of B - A --------------------------------------------------------------------------- */

/* The edges of b that the arc from -from to -to on the sphere of normals crosses: the farthest vertex
 * along a direction that turns from one to the other. Both in b's frame. */
static bool walk_arc(const perpi_meeting* m, int32_t edge_a, vec3 from, vec3 to, int32_t* vertex,
                     perpi_facet* best)
{
    const perpi_polyhedron* b = m->p[1];
    const double length = v3_norm(edge_of(m, 0, edge_a));
    int32_t v = *vertex;
    for (int32_t steps = 0; steps < b->edge_count; ++steps) {
        int32_t next = -1, crossed = -1;
        double least = INFINITY;
        for (int32_t k = b->around_start[v]; k < b->around_start[v + 1]; ++k) {
            const perpi_edge* e = &b->edge[b->around[k]];
            const int32_t w = e->vertex[0] == v ? e->vertex[1] : e->vertex[0];
            const vec3 u = v3_sub(b->vertex[w], b->vertex[v]);
            const double begin = -v3_dot(from, u), end = -v3_dot(to, u);
            if (!(end > PRESENT * v3_norm(u))) {
                continue;
            }
            const double t = begin < 0.0 ? -begin / (end - begin) : 0.0;
            if (t < least) {
                least = t;
                next = w;
                crossed = b->around[k];
            }
        }
        if (next < 0) {
            break;
        }
        perpi_facet f;
        const vec3 w = edge_of(m, 1, crossed);
        const double s =
            v3_dot(v3_cross(edge_of(m, 0, edge_a), w),
                   m3_mul(m->R, v3_add(v3_scale(1.0 - least, from), v3_scale(least, to))));
        const double sigma = s < 0.0 ? -1.0 : 1.0;
        if (length > 0.0 && outward_sign(m, edge_a, crossed) == sigma &&
            edge_edge(m, edge_a, crossed, sigma, &f) && exists(m, f.n)) {
            *best = f.psi > best->psi ? f : *best;
            if (f.psi > m->margin) {
                return false;
            }
        }
        v = next;
    }
    *vertex = v;
    return true;
}

perpi_facet perpi_meeting_deepest(const perpi_meeting* m)
{
    perpi_facet best = {.psi = -INFINITY};
    /* faces of either with the other's farthest vertex */
    for (int side = 0; side < 2; ++side) {
        const perpi_polyhedron *owner = m->p[side], *other = m->p[1 - side];
        int32_t v = 0;
        for (int32_t i = 0; i < owner->face_count; ++i) {
            const vec3 n = owner->normal[i];
            v = perpi_polyhedron_support(other,
                                         v3_neg(side == 0 ? m3_tmul(m->R, n) : m3_mul(m->R, n)), v);
            const perpi_facet f = vertex_face(m, side, i, v);
            if (!exists(m, f.n)) {
                continue;
            }
            best = f.psi > best.psi ? f : best;
            if (f.psi > m->margin) {
                return best;
            }
        }
    }
    perpi_meeting wide = *m;
    wide.near = INFINITY;
    int32_t v = 0;
    for (int32_t i = 0; i < m->p[0]->edge_count; ++i) {
        const perpi_edge* e = &m->p[0]->edge[i];
        const vec3 from = m3_tmul(m->R, m->p[0]->normal[e->face[0]]);
        const vec3 to = m3_tmul(m->R, m->p[0]->normal[e->face[1]]);
        v = perpi_polyhedron_support(m->p[1], v3_neg(from), v);
        if (!walk_arc(&wide, i, from, to, &v, &best)) {
            return best;
        }
    }
    return best;
}
