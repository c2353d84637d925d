/* src/collide/polyhedron_near.c - pairs of features of two convex polyhedra.
 *
 * Source     [W14 3.3, 3.4, 3.6]: vertex-face and edge-edge pairs, applicability, feasibility
 * Notation   an edge e runs from its first vertex to its second, face L to the left of it and R to the
 *            right: n_L x n_R is a positive multiple of e
 *
 * A vertex of b and a face of a (normal n) are a facet of B - A where n . u >= 0 for all edges u that
 * leave the vertex. An edge a of A and an edge b of B are one, with the normal sigma a x b, where
 *     sigma n_L(a) . b >= 0 >= sigma n_R(a) . b   and   sigma n_L(b) . a >= 0 >= sigma n_R(b) . a
 * (n is between n_L and n_R if e . (n_L x n) >= 0 and e . (n x n_R) >= 0; put in n = sigma a x b).
 * So both kinds are told by signs of products of an edge with a normal of the other body.
 */
#include <math.h>

#include "collide/polyhedron.h"
#include "collide/round.h"

#define PRESENT 1e-12    /* sine: a product above minus this holds as things stand */
#define SAME_PLANE 1e-6  /* times theta: two products that vanish together */
#define ALONG 1e-9       /* sine of the angle between edges below which they are parallel */
#define SAME_ANGLE 1e-12 /* rounding in angles: theta is never below */
#define THETA_MAX 0.35

static vec3 into_a(const perpi_meeting* m, vec3 y)
{
    return v3_add(m->x, m3_mul(m->R, y));
}

static vec3 into_b(const perpi_meeting* m, vec3 y)
{
    return m3_tmul(m->R, v3_sub(y, m->x));
}

/* Vertex and normal in a's frame. */
static vec3 vertex_of(const perpi_meeting* m, int side, int32_t i)
{
    return side == 0          ? m->p[0]->vertex[i]
           : i < PERPI_PLACED ? m->vertex_b[i]
                              : into_a(m, m->p[1]->vertex[i]);
}

static vec3 normal_of(const perpi_meeting* m, int side, int32_t i)
{
    return side == 0          ? m->p[0]->normal[i]
           : i < PERPI_PLACED ? m->normal_b[i]
                              : m3_mul(m->R, m->p[1]->normal[i]);
}

static vec3 edge_of(const perpi_meeting* m, int side, int32_t i)
{
    const perpi_edge* e = &m->p[side]->edge[i];
    return v3_sub(vertex_of(m, side, e->vertex[1]), vertex_of(m, side, e->vertex[0]));
}

/* The same after the k-th expected turn. */
static vec3 normal_at_end(const perpi_meeting* m, int side, int32_t i, int32_t k)
{
    return side == 0 || m->still ? normal_of(m, side, i) : m3_mul(m->R_end[k], m->p[1]->normal[i]);
}

static vec3 edge_at_end(const perpi_meeting* m, int side, int32_t i, int32_t k)
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
                         double near, const perpi_touch_list* list)
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
        perpi_clamp(turn < margin / m->size ? turn : margin / m->size, SAME_ANGLE, THETA_MAX);
    m->orders = list->rule == PERPI_TOUCH_PEG;
    m->ends = list->spins > 0 ? list->spins : 1;
    m->still = list->spins == 0 || (m->ends == 1 && v3_dot(list->spin[0], list->spin[0]) == 0.0);
    for (int32_t k = 0; k < m->ends && !m->still; ++k) {
        m->R_end[k] = m3_mm(q4_matrix(q4_exp(m3_tmul(pose_a->R, list->spin[k]))), m->R);
    }
    m->sided = list->sided;
    m->side = list->sided ? m3_tmul(pose_a->R, list->side) : v3(0, 0, 0);
    m->count = 0;
    m->products = 0;
    m->least = INFINITY;
    m->best = -INFINITY;
    m->apart = m->crowded = false;
    for (int32_t i = 0; i < PERPI_PLACED && i < b->vertex_count; ++i) {
        m->vertex_b[i] = into_a(m, b->vertex[i]);
    }
    for (int32_t i = 0; i < PERPI_PLACED && i < b->face_count; ++i) {
        m->normal_b[i] = m3_mul(m->R, b->normal[i]);
    }
}

/* ---- products and their signs ----------------------------------------------------------------------- */

/* Whether the product has the sign wanted, or vanishes. */
static bool holds(vec3 n, vec3 u, double want)
{
    const double s = v3_dot(u, n);
    return s * want >= 0.0 || s * s <= PRESENT * PRESENT * v3_dot(u, u);
}

/* Whether a product is certain to have the other sign than wanted, whatever the small turn. */
static bool never(const perpi_meeting* m, vec3 n, vec3 u, double want)
{
    const double s = v3_dot(n, u), u2 = v3_dot(u, u), theta2 = m->theta * m->theta;
    return s * want < 0.0 && s * s * (1.0 + theta2) >= theta2 * u2 &&
           s * s > PRESENT * PRESENT * u2;
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

/* Bit of the product of a face's normal with an edge of the other body, and whether it is kept with the
 * opposite sign; -1: no room. b turns: (u + d x u) . n of its edge, u . (n + d x n) of its face. */
static int32_t product_index(perpi_meeting* m, int side, int32_t face, int32_t edge, bool* opposite)
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
    for (int32_t i = 0; i < m->products; ++i) {
        if (same_product(m, &m->product[i], &p, opposite)) {
            return i;
        }
    }
    if (m->products == PERPI_PRODUCTS) {
        return -1;
    }
    *opposite = false;
    m->product[m->products] = p;
    return m->products++;
}

/* The facet needs the product of the edge (of the body that does not own the face) with the face's
 * normal to have the sign `want`. */
static void demand(perpi_meeting* m, perpi_facet* f, int side, int32_t face, int32_t edge,
                   double want)
{
    bool changes = false;
    if (!m->orders) {
        return;
    }
    for (int32_t k = 0; k < m->ends; ++k) {
        if (!(f->possible >> k & 1U)) {
            continue;
        }
        const vec3 n = normal_at_end(m, side, face, k), u = edge_at_end(m, 1 - side, edge, k);
        const double s = v3_dot(u, n), sine2 = s * s / v3_dot(u, u);
        if (sine2 < m->theta * m->theta * (1.0 - sine2)) {
            changes = true;
        } else if (!holds(n, u, want)) {
            f->possible &= ~(1U << k);
        }
    }
    if (!changes || f->possible == 0) {
        return;
    }
    bool opposite;
    const int32_t bit = product_index(m, side, face, edge, &opposite);
    if (bit < 0) {
        /* no room: as with the first expected turn */
        f->possible &=
            holds(normal_at_end(m, side, face, 0), edge_at_end(m, 1 - side, edge, 0), want) ? ~0U
                                                                                            : 0U;
    } else if ((want > 0.0) != opposite) {
        f->plus |= (uint64_t)1 << bit;
    } else {
        f->minus |= (uint64_t)1 << bit;
    }
    if ((f->plus & f->minus) != 0) {
        f->possible = 0;
    }
}

/* How near the next other pair with about the same normal is; infinite if there is none. */
static double room_around(const perpi_meeting* m, const perpi_facet* f)
{
    double least = INFINITY;
    for (int32_t i = 0; i < m->count; ++i) {
        const perpi_facet* g = &m->facet[i];
        if (g != f && v3_dot(g->n, f->n) > 0.99) {
            const vec3 d = v3_sub(g->p_a, f->p_a);
            least = fmin(least, v3_dot(d, d));
        }
    }
    return least;
}

/* Takes it. If there is no room, in the place of the farthest one; of those that are about as far, of the
 * one that has the nearest neighbour: a prism with many sides must not stand on a part of its rim. */
static void keep(perpi_meeting* m, const perpi_facet* f)
{
    if (f->present) {
        m->least = f->distance < m->least ? f->distance : m->least;
        m->best = f->psi > m->best ? f->psi : m->best;
        m->apart = m->apart || f->psi > m->margin;
    }
    if (m->count < PERPI_FACETS) {
        m->facet[m->count++] = *f;
        return;
    }
    m->crowded = true;
    double farthest = f->distance;
    for (int32_t i = 0; i < m->count; ++i) {
        farthest = fmax(farthest, m->facet[i].distance);
    }
    const double about = farthest - 0.1 * m->near;
    int32_t worst = -1;
    double room = f->distance >= about ? room_around(m, f) : INFINITY;
    for (int32_t i = 0; i < m->count; ++i) {
        const double r = m->facet[i].distance >= about ? room_around(m, &m->facet[i]) : INFINITY;
        if (r < room || (worst < 0 && f->distance < about && m->facet[i].distance >= about)) {
            room = r;
            worst = i;
        }
    }
    if (worst >= 0) {
        m->facet[worst] = *f;
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

static perpi_facet vertex_face(const perpi_meeting* m, int side, int32_t face, int32_t vertex)
{
    const vec3 n = normal_of(m, side, face), v = vertex_of(m, 1 - side, vertex);
    const vec3 y = side == 0 ? v : m->p[0]->vertex[vertex];
    const double offset = m->p[side]->offset[face] + (side == 0 ? 0.0 : v3_dot(n, m->x));
    const double psi = v3_dot(n, y) - offset;
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
    perpi_facet f = vertex_face(m, side, face, vertex);
    if (!(fabs(f.psi) <= m->near) || !exists(m, f.n)) {
        return;
    }
    const vec3 n = side == 0 ? f.n : v3_neg(f.n);
    for (int32_t k = first; k < end && (f.possible != 0 || f.present); ++k) {
        const int32_t e = other->around[k];
        const double want = other->edge[e].vertex[0] == vertex ? 1.0 : -1.0;
        for (int32_t i = 0; i < m->ends; ++i) {
            if (never(m, normal_at_end(m, side, face, i), edge_at_end(m, 1 - side, e, i), want)) {
                f.possible &= ~(1U << i);
            }
        }
        f.present = f.present && holds(n, edge_of(m, 1 - side, e), want);
    }
    if (f.possible == 0 && !f.present && !all) {
        return;
    }
    const vec3 y = side == 0 ? f.p_b : into_b(m, f.p_a);
    f.distance = face_distance(m->p[side], face, y, f.psi, m->near);
    if (!(f.distance <= m->near)) {
        return;
    }
    for (int32_t k = first; k < end; ++k) {
        const int32_t e = other->around[k];
        demand(m, &f, side, face, e, other->edge[e].vertex[0] == vertex ? 1.0 : -1.0);
    }
    if (f.possible != 0 || f.present || all) {
        keep(m, &f);
    }
}

/* ---- an edge and an edge ------------------------------------------------------------------------------ */

/* The pair with the normal sigma a x b; false if that is none. Points are those of the lines. */
static bool edge_edge(const perpi_meeting* m, int32_t edge_a, int32_t edge_b, double sigma,
                      perpi_facet* f)
{
    const perpi_edge *e = &m->p[0]->edge[edge_a], *g = &m->p[1]->edge[edge_b];
    const vec3 p = vertex_of(m, 0, e->vertex[0]), q = vertex_of(m, 1, g->vertex[0]);
    const vec3 u = edge_of(m, 0, edge_a), w = edge_of(m, 1, edge_b);
    const double uu = v3_dot(u, u), ww = v3_dot(w, w), uw = v3_dot(u, w);
    const vec3 cross = v3_cross(u, w), d = v3_sub(q, p);
    const double c2 = v3_dot(cross, cross);
    if (!(c2 > ALONG * ALONG * uu * ww)) {
        return false;
    }
    const double du = v3_dot(d, u), dw = v3_dot(d, w);
    const double s = (du * ww - dw * uw) / c2, t = (du * uw - dw * uu) / c2;
    /* the lines may cross outside the edges, and come inside with the motion: so far, and no farther
     * than half an edge, where a small turn of a long lever would part anything */
    const double sine = sqrt(c2 / (uu * ww));
    const double out_a = s < 0.0 ? -s : s > 1.0 ? s - 1.0 : 0.0;
    const double out_b = t < 0.0 ? -t : t > 1.0 ? t - 1.0 : 0.0;
    if (out_a * sqrt(uu) * sine > m->near || out_b * sqrt(ww) * sine > m->near || out_a > 0.5 ||
        out_b > 0.5) {
        return false;
    }
    const vec3 n = v3_scale(sigma / sqrt(c2), cross);
    /* where edges are so parallel that the turn can flip the normal: only with one that points out */
    if (!(v3_dot(n, v3_add(normal_of(m, 0, e->face[0]), normal_of(m, 0, e->face[1]))) > 0.0) ||
        !(v3_dot(n, v3_add(normal_of(m, 1, g->face[0]), normal_of(m, 1, g->face[1]))) < 0.0)) {
        return false;
    }
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

/* Which of the expected turns can make the edges a facet with the normal sigma a x b. */
static uint32_t edges_possible(const perpi_meeting* m, int32_t edge_a, int32_t edge_b, double sigma)
{
    const perpi_edge *e = &m->p[0]->edge[edge_a], *g = &m->p[1]->edge[edge_b];
    const vec3 u = edge_of(m, 0, edge_a);
    const vec3 left = m->p[0]->normal[e->face[0]], right = m->p[0]->normal[e->face[1]];
    uint32_t possible = 0;
    for (int32_t k = 0; k < m->ends; ++k) {
        const vec3 w = edge_at_end(m, 1, edge_b, k);
        if (!never(m, left, w, sigma) && !never(m, right, w, -sigma) &&
            !never(m, normal_at_end(m, 1, g->face[0], k), u, sigma) &&
            !never(m, normal_at_end(m, 1, g->face[1], k), u, -sigma)) {
            possible |= 1U << k;
        }
    }
    return possible;
}

void perpi_meeting_edges(perpi_meeting* m, int32_t edge_a, int32_t edge_b)
{
    const perpi_edge *e = &m->p[0]->edge[edge_a], *g = &m->p[1]->edge[edge_b];
    const vec3 u = edge_of(m, 0, edge_a), w = edge_of(m, 1, edge_b);
    const vec3 a[2] = {normal_of(m, 0, e->face[0]), normal_of(m, 0, e->face[1])};
    const vec3 b[2] = {normal_of(m, 1, g->face[0]), normal_of(m, 1, g->face[1])};
    for (double sigma = -1.0; sigma <= 1.0; sigma += 2.0) {
        const uint32_t possible = edges_possible(m, edge_a, edge_b, sigma);
        const bool present = holds(a[0], w, sigma) && holds(a[1], w, -sigma) &&
                             holds(b[0], u, sigma) && holds(b[1], u, -sigma);
        perpi_facet f;
        if ((possible == 0 && !present) || !edge_edge(m, edge_a, edge_b, sigma, &f) ||
            !(f.distance <= m->near) || !exists(m, f.n)) {
            continue;
        }
        f.possible = possible;
        f.present = present;
        demand(m, &f, 0, e->face[0], edge_b, sigma);
        demand(m, &f, 0, e->face[1], edge_b, -sigma);
        demand(m, &f, 1, g->face[0], edge_a, sigma);
        demand(m, &f, 1, g->face[1], edge_a, -sigma);
        if (f.possible != 0 || f.present) {
            keep(m, &f);
        }
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
        if (length > 0.0 && edge_edge(m, edge_a, crossed, s < 0.0 ? -1.0 : 1.0, &f) &&
            exists(m, f.n)) {
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
