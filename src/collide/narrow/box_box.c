/* src/collide/narrow/box_box.c - two boxes, in space and in the plane.
 *
 * For contact models without groups (standard, corrective, ...). With peg and lnc boxes are polytopes:
 * src/collide/polytope/ (GROUPED_PAIRS in pairs.c).
 *
 * The contacts are the corners of the region in which the boxes touch, or would touch if moved
 * together a little: vertices of one over faces of the other, and crossing edges.
 *   1. separating axes: how far apart (s > 0) or how deep (s < 0), and along which direction
 *   2. vertex-face: every vertex within the margin whose foot lies in the face
 *   3. edge-edge: every pair of edges that cross within the margin
 *   4. the closest points, where they are neither (vertex-edge, vertex-vertex, parallel edges)
 * In the plane a face is an edge, and there is no 3.
 *
 * Why rows of 2 and 3 are safe: while the boxes are apart, a foot and a crossing belong to the
 * boxes, so no gap is smaller than the distance, and the smallest is the distance if its features
 * are of these kinds; 4 supplies it if they are not. When the boxes overlap, only directions about
 * as shallow as the shallowest count (DEPTH), else a box resting 1e-6 deep in another would also be
 * pushed out sideways.
 *
 * Departure  An edge pair counts also where its normal is a little (CONE) outside the cone of the
 *            adjacent faces. Two segments must not pass through each other whatever surrounds
 *            them; without it, a slightly tilted box would lose the far half of its contacts.
 */
#include "collide/narrow/round.h"

#define DEPTH 1.01 /* times the least depth: directions up to here count */
#define CONE 0.05  /* sine by which an edge's normal may miss the cone of the adjacent faces */

typedef struct solid {
    vec3 c;       /* relative to the first box's centre */
    vec3 axis[3]; /* unit */
    double h[3];
} solid;

/* Data of one call. Coordinates are relative to the centre of a, which avoids cancellation far from
 * the world origin. */
typedef struct meeting {
    int dim;
    solid a, b;
    vec3 origin;   /* a's centre, world */
    double size;   /* for tolerances: of the smaller box */
    double margin; /* rows with a larger gap are discarded */
    double s_max;  /* largest separation over all axes */
    vec3 axis;     /* unit, from a to b: a direction of largest separation, a face's if possible */
    double floor;  /* directions with a smaller separation are discarded */
    double least;  /* smallest gap so far */
    size_t first;  /* this pair's first item in the list */
    perpi_candidate_list* list;
} meeting;

/* Kinds of features; a feature is kind << 20 | one << 8 | other. */
enum {
    VERTEX_B_FACE_A = 1,
    VERTEX_A_FACE_B = 2,
    EDGE_EDGE = 3,
    VERTEX_B_NEAR_A = 4,
    VERTEX_A_NEAR_B = 5,
    EDGE_ALONG_EDGE = 6,
    DEEPEST = 7,
};

static uint32_t feature_name(uint32_t kind, uint32_t one, uint32_t other)
{
    return kind << 20 | one << 8 | other;
}

static solid solid_of(const perpi_shape* shape, const perpi_pose* pose, vec3 origin)
{
    return (solid){
        .c = v3_sub(pose->x, origin),
        .axis = {m3_column(pose->R, 0), m3_column(pose->R, 1), m3_column(pose->R, 2)},
        .h = {shape->half.x, shape->half.y, shape->half.z},
    };
}

/* Bit i of v set: positive along axis i. */
static vec3 vertex(const solid* s, int dim, uint32_t v)
{
    vec3 p = s->c;
    for (int i = 0; i < dim; ++i) {
        p = v3_madd(p, v >> i & 1U ? s->h[i] : -s->h[i], s->axis[i]);
    }
    return p;
}

/* Half the extent along a unit direction. */
static double extent(const solid* s, int dim, vec3 n)
{
    double e = 0.0;
    for (int i = 0; i < dim; ++i) {
        e += s->h[i] * fabs(v3_dot(n, s->axis[i]));
    }
    return e;
}

/* Adds a row unless an equal one, with the same normal at the same place, is in the list. */
static perp_status add_row(meeting* m, uint32_t feature, vec3 p_a, vec3 p_b, vec3 n)
{
    const double gap = v3_dot(n, v3_sub(p_b, p_a));
    const vec3 x_a = v3_add(m->origin, p_a), x_b = v3_add(m->origin, p_b);
    const bool flipped = m->list->flipped;
    for (size_t k = m->first; k < m->list->count; ++k) {
        const perpi_candidate* t = &m->list->item[k];
        const vec3 t_n = flipped ? v3_neg(t->normal) : t->normal;
        const vec3 t_b = flipped ? t->point_a : t->point_b;
        const vec3 t_a = flipped ? t->point_b : t->point_a;
        if (v3_dot(t_n, n) > 1.0 - 1e-12 &&
            v3_norm(v3_sub(t_b, x_b)) <= PERPI_CANDIDATE_SAME * m->size &&
            v3_norm(v3_sub(t_a, x_a)) <= PERPI_CANDIDATE_SAME * m->size) {
            return PERP_OK;
        }
    }
    m->least = gap < m->least ? gap : m->least;
    return perpi_candidate_add(m->list, feature, x_a, x_b, n, gap);
}

/* ---- 1: separating axes ------------------------------------------------------------------------ */

static double separation(const meeting* m, vec3 n)
{
    return v3_dot(n, m->b.c) - extent(&m->a, m->dim, n) - extent(&m->b, m->dim, n);
}

static vec3 towards_b(const meeting* m, vec3 n)
{
    return v3_dot(n, m->b.c) < 0.0 ? v3_neg(n) : n;
}

/* Finds the axis of largest separation. False: it exceeds the margin. */
static bool find_separating_axis(meeting* m)
{
    double best = -INFINITY; /* separation along m->axis */
    m->s_max = -INFINITY;
    for (int i = 0; i < 2 * m->dim; ++i) {
        const solid* s = i < m->dim ? &m->a : &m->b;
        const vec3 n = towards_b(m, s->axis[i % m->dim]);
        const double sep = separation(m, n);
        if (!(sep <= m->margin)) {
            return false;
        }
        m->s_max = sep > m->s_max ? sep : m->s_max;
        if (sep > best + PERPI_CANDIDATE_TIE * m->size) {
            best = sep;
            m->axis = n;
        }
    }
    for (int i = 0; m->dim == 3 && i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            const vec3 w = v3_cross(m->a.axis[i], m->b.axis[j]);
            const double sine = v3_norm(w);
            if (!(sine > PERPI_CANDIDATE_SAME)) {
                continue;
            }
            const vec3 n = towards_b(m, v3_scale(1.0 / sine, w));
            const double sep = separation(m, n);
            if (!(sep <= m->margin)) {
                return false;
            }
            m->s_max = sep > m->s_max ? sep : m->s_max;
            if (sep > best + PERPI_CANDIDATE_SAME * m->size) {
                best = sep;
                m->axis = n;
            }
        }
    }
    const double depth = m->s_max < 0.0 ? m->s_max : 0.0;
    m->floor = DEPTH * depth - PERPI_CANDIDATE_TIE * m->size;
    return true;
}

/* Directions of a smaller separation do not count. */
static double floor_along(const meeting* m, vec3 n)
{
    return m->list->soft && m->s_max < 0.0 && v3_dot(n, m->axis) >= PERPI_SOFT_ALONG
               ? PERPI_SOFT_DEPTH * m->s_max - PERPI_CANDIDATE_TIE * m->size
               : m->floor;
}

/* ---- 2: vertices over faces -------------------------------------------------------------------- */

/* The vertices of `other` over the faces of `owner`. way: +1 if owner is a, whose outward normals
 * towards the other are rows' normals as they are; -1 if owner is b. */
static perp_status vertex_face(meeting* m, const solid* owner, const solid* other, double way)
{
    const double tiny = PERPI_CANDIDATE_TIE * m->size;
    const uint32_t kind = way > 0.0 ? VERTEX_B_FACE_A : VERTEX_A_FACE_B;
    for (int f = 0; f < m->dim; ++f) {
        const double sign = v3_dot(owner->axis[f], v3_sub(other->c, owner->c)) < 0.0 ? -1.0 : 1.0;
        const vec3 out = v3_scale(sign, owner->axis[f]);
        const vec3 n = v3_scale(way, out);
        if (separation(m, n) < floor_along(m, n)) {
            continue;
        }
        for (uint32_t v = 0; v < 1U << m->dim; ++v) {
            const vec3 p = vertex(other, m->dim, v);
            const vec3 d = v3_sub(p, owner->c);
            const double gap = v3_dot(out, d) - owner->h[f];
            bool inside = gap <= m->margin;
            for (int i = 0; i < m->dim; ++i) {
                inside =
                    inside && (i == f || fabs(v3_dot(owner->axis[i], d)) <= owner->h[i] + tiny);
            }
            if (!inside) {
                continue;
            }
            const vec3 foot = v3_madd(p, -gap, out);
            const uint32_t name = feature_name(kind, v, (uint32_t)(2 * f + (sign > 0.0)));
            const perp_status status =
                way > 0.0 ? add_row(m, name, foot, p, out) : add_row(m, name, p, foot, v3_neg(out));
            if (status != PERP_OK) {
                return status;
            }
        }
    }
    return PERP_OK;
}

/* ---- 3: crossing edges ------------------------------------------------------------------------- */

/* Edge e = 4 i + corner runs along axis i; bit 0 (1) of corner: positive along axis i+1 (i+2). */
static perpi_segment edge_of(const solid* s, uint32_t e)
{
    const uint32_t i = e / 4, j = (i + 1) % 3, k = (i + 2) % 3;
    vec3 c = s->c;
    c = v3_madd(c, e & 1U ? s->h[j] : -s->h[j], s->axis[j]);
    c = v3_madd(c, e & 2U ? s->h[k] : -s->h[k], s->axis[k]);
    return (perpi_segment){c, s->axis[i], s->h[i]};
}

/* Whether n lies in the cone of the outward normals at edge e, about. */
static bool faces_along(const solid* s, uint32_t e, vec3 n)
{
    const uint32_t i = e / 4;
    const double n_j = v3_dot(n, s->axis[(i + 1) % 3]), n_k = v3_dot(n, s->axis[(i + 2) % 3]);
    return (e & 1U ? n_j : -n_j) >= -CONE && (e & 2U ? n_k : -n_k) >= -CONE;
}

/* Where the lines of two edges, w = u_a x u_b, come closest; false if outside of either edge. */
static bool crossing(const perpi_segment* a, const perpi_segment* b, vec3 w, double tiny, vec3* p_a,
                     vec3* p_b)
{
    const double sine2 = v3_dot(w, w), cosine = v3_dot(a->u, b->u);
    const vec3 d = v3_sub(b->c, a->c);
    const double d_a = v3_dot(d, a->u), d_b = v3_dot(d, b->u);
    const double s = (d_a - cosine * d_b) / sine2, t = (cosine * d_a - d_b) / sine2;
    if (!(fabs(s) <= a->l + tiny) || !(fabs(t) <= b->l + tiny)) {
        return false;
    }
    *p_a = perpi_segment_at(a, s);
    *p_b = perpi_segment_at(b, t);
    return true;
}

static perp_status edge_edge(meeting* m)
{
    const double tiny = PERPI_CANDIDATE_TIE * m->size;
    for (uint32_t ij = 0; ij < 9; ++ij) {
        const uint32_t i = ij / 3, j = ij % 3;
        const vec3 w = v3_cross(m->a.axis[i], m->b.axis[j]);
        const double sine = v3_norm(w);
        if (!(sine > PERPI_CANDIDATE_PARALLEL)) {
            continue; /* step 4 */
        }
        const vec3 n = towards_b(m, v3_scale(1.0 / sine, w));
        for (uint32_t e_a = 4 * i; e_a < 4 * i + 4; ++e_a) {
            if (!faces_along(&m->a, e_a, n)) {
                continue;
            }
            const perpi_segment a = edge_of(&m->a, e_a);
            for (uint32_t e_b = 4 * j; e_b < 4 * j + 4; ++e_b) {
                if (!faces_along(&m->b, e_b, v3_neg(n))) {
                    continue;
                }
                const perpi_segment b = edge_of(&m->b, e_b);
                const double gap = v3_dot(n, v3_sub(b.c, a.c));
                vec3 p_a, p_b;
                if (gap < floor_along(m, n) || !(gap <= m->margin) ||
                    !crossing(&a, &b, w, tiny, &p_a, &p_b)) {
                    continue;
                }
                const perp_status status =
                    add_row(m, feature_name(EDGE_EDGE, e_a, e_b), p_a, p_b, n);
                if (status != PERP_OK) {
                    return status;
                }
            }
        }
    }
    return PERP_OK;
}

/* ---- 4: closest points ------------------------------------------------------------------------- */

/* The closest pair of points found so far. */
typedef struct shortest {
    double d;
    vec3 p_a, p_b;
    uint32_t feature;
    int edge_a, edge_b; /* edges that are parallel there; -1: none */
} shortest;

/* The edge of s that runs about along u and contains its vertex v; -1 if none does. */
static int edge_along(const solid* s, uint32_t v, vec3 u)
{
    for (int i = 0; i < 3; ++i) {
        if (v3_norm(v3_cross(s->axis[i], u)) <= PERPI_CANDIDATE_PARALLEL) {
            return 4 * i + (int)(v >> (i + 1) % 3 & 1U) + 2 * (int)(v >> (i + 2) % 3 & 1U);
        }
    }
    return -1;
}

/* Each vertex of `other` with the point of `owner` nearest to it. */
static void closest_vertex(const meeting* m, const solid* owner, const solid* other,
                           bool owner_is_a, shortest* best)
{
    const double tiny = PERPI_CANDIDATE_TIE * m->size;
    for (uint32_t v = 0; v < 1U << m->dim; ++v) {
        const vec3 p = vertex(other, m->dim, v);
        const vec3 d = v3_sub(p, owner->c);
        vec3 q = owner->c;
        uint32_t region = 0, power = 1;
        int off = 0, along = -1, corner[3] = {0, 0, 0};
        for (int i = 0; i < m->dim; ++i, power *= 3) {
            const double x = v3_dot(owner->axis[i], d), h = owner->h[i];
            q = v3_madd(q, perpi_clamp(x, -h, h), owner->axis[i]);
            corner[i] = x > 0.0;
            if (fabs(x) > h + tiny) {
                region += power * (x < 0.0 ? 1U : 2U);
                ++off;
            } else {
                along = i;
            }
        }
        const double distance = v3_norm(v3_sub(p, q));
        if (!(distance < best->d)) {
            continue;
        }
        const uint32_t kind = owner_is_a ? VERTEX_B_NEAR_A : VERTEX_A_NEAR_B;
        *best = (shortest){
            distance, owner_is_a ? q : p, owner_is_a ? p : q, feature_name(kind, v, region), -1,
            -1};
        if (m->dim == 3 && off == 2) {
            const int edge_owner =
                4 * along + corner[(along + 1) % 3] + 2 * corner[(along + 2) % 3];
            const int edge_other = edge_along(other, v, owner->axis[along]);
            best->edge_a = edge_other < 0 ? -1 : owner_is_a ? edge_owner : edge_other;
            best->edge_b = edge_other < 0 ? -1 : owner_is_a ? edge_other : edge_owner;
        }
    }
}

/* Edges that cross at an angle too small for step 3. */
static void closest_parallel(const meeting* m, shortest* best)
{
    for (uint32_t ij = 0; ij < 9; ++ij) {
        const uint32_t i = ij / 3, j = ij % 3;
        const vec3 w = v3_cross(m->a.axis[i], m->b.axis[j]);
        const double sine = v3_norm(w);
        if (sine > PERPI_CANDIDATE_PARALLEL || !(sine > PERPI_CANDIDATE_SAME)) {
            continue;
        }
        for (uint32_t k = 0; k < 16; ++k) {
            const uint32_t e_a = 4 * i + k / 4, e_b = 4 * j + k % 4;
            const perpi_segment a = edge_of(&m->a, e_a), b = edge_of(&m->b, e_b);
            vec3 p_a, p_b;
            if (!crossing(&a, &b, w, 0.0, &p_a, &p_b)) {
                continue;
            }
            const double d = v3_norm(v3_sub(p_b, p_a));
            if (d < best->d - PERPI_CANDIDATE_TIE * m->size) {
                *best =
                    (shortest){d, p_a, p_b, feature_name(EDGE_EDGE, e_a, e_b), (int)e_a, (int)e_b};
            }
        }
    }
}

/* From p_a to p_b, or along the separating axis where the points are too close. */
static vec3 direction(const meeting* m, vec3 p_a, vec3 p_b)
{
    const vec3 d = v3_sub(p_b, p_a);
    const double length = v3_norm(d);
    return length > PERPI_CANDIDATE_TIE * m->size ? v3_scale(1.0 / length, d) : m->axis;
}

/* The boxes are apart: the closest points, unless a row is as near already. */
static perp_status closest_points(meeting* m)
{
    shortest best = {.d = INFINITY};
    closest_vertex(m, &m->a, &m->b, true, &best);
    closest_vertex(m, &m->b, &m->a, false, &best);
    if (m->dim == 3) {
        closest_parallel(m, &best);
    }
    if (!(best.d <= m->margin) || !(best.d < m->least - PERPI_CANDIDATE_TIE * m->size)) {
        return PERP_OK;
    }
    perp_status status =
        add_row(m, best.feature, best.p_a, best.p_b, direction(m, best.p_a, best.p_b));
    if (status != PERP_OK || best.edge_a < 0) {
        return status;
    }
    /* an edge along an edge: both ends of the stretch */
    const perpi_segment a = edge_of(&m->a, (uint32_t)best.edge_a);
    const perpi_segment b = edge_of(&m->b, (uint32_t)best.edge_b);
    perpi_chord end[2];
    if (!perpi_segment_overlap(&a, &b, PERPI_CANDIDATE_SAME * m->size, end)) {
        return PERP_OK;
    }
    for (uint32_t e = 0; e < 2 && status == PERP_OK; ++e) {
        const vec3 p_a = perpi_segment_at(&a, end[e].s), p_b = perpi_segment_at(&b, end[e].t);
        if (sqrt(end[e].d2) <= m->margin) {
            status = add_row(m,
                             feature_name(EDGE_ALONG_EDGE, (uint32_t)best.edge_a << 1 | e,
                                          (uint32_t)best.edge_b),
                             p_a, p_b, direction(m, p_a, p_b));
        }
    }
    return status;
}

/* The boxes overlap and no feature pair was found: the vertex of b that is deepest along the
 * separating axis. */
static perp_status deepest_vertex(meeting* m)
{
    uint32_t v = 0;
    for (int i = 0; i < m->dim; ++i) {
        v |= v3_dot(m->axis, m->b.axis[i]) < 0.0 ? 1U << i : 0U;
    }
    const vec3 p = vertex(&m->b, m->dim, v);
    const double gap = v3_dot(m->axis, p) - extent(&m->a, m->dim, m->axis);
    return add_row(m, feature_name(DEEPEST, v, 0), v3_madd(p, -gap, m->axis), p, m->axis);
}

perp_status perpi_box_box(const perpi_shape* shape_a, const perpi_pose* pose_a,
                          const perpi_shape* shape_b, const perpi_pose* pose_b, double margin,
                          perpi_candidate_list* list)
{
    const double r_a = v3_norm(shape_a->half), r_b = v3_norm(shape_b->half);
    meeting m = {
        .dim = shape_a->type == PERP_SHAPE_BOX ? 3 : 2,
        .a = solid_of(shape_a, pose_a, pose_a->x),
        .b = solid_of(shape_b, pose_b, pose_a->x),
        .origin = pose_a->x,
        .size = r_a < r_b ? r_a : r_b,
        .margin = margin,
        .least = INFINITY,
        .first = list->count,
        .list = list,
    };
    if (!find_separating_axis(&m)) {
        return PERP_OK;
    }
    perp_status status = vertex_face(&m, &m.a, &m.b, 1.0);
    if (status == PERP_OK) {
        status = vertex_face(&m, &m.b, &m.a, -1.0);
    }
    if (status == PERP_OK && m.dim == 3) {
        status = edge_edge(&m);
    }
    if (status == PERP_OK && m.s_max > 0.0) {
        status = closest_points(&m);
    }
    if (status == PERP_OK && !(m.s_max > 0.0) && list->count == m.first) {
        status = deepest_vertex(&m);
    }
    return status;
}
