/* src/collide/polygon.c - features of convex polygons within reach of each other.
 *
 * Source     [W14 3.2, 3.3, 3.5, 4.3], algorithms 5 and 8 to 11
 * Notation   a feature pair is a vertex v of one polygon and an edge e of the other with the gap
 *            psi = n_e . (v - e); theta: the angle of relaxation in (3.3)
 *
 * What the groups of PEG say. Turned into "the origin against B - A" (the difference of the two
 * sets, a convex polygon), every edge of the difference is a vertex of one polygon with an edge of
 * the other: exactly the pairs with applicability (3.3), and psi is the distance of the origin from
 * that edge's line. The polygons are apart exactly if one of these psi is >= 0: one group, of the
 * edges that the origin can come to within the step. When the polygons turn against each other,
 * edges that are nearly parallel change places and other vertices become the applicable ones; for
 * each order that a turn of at most theta can bring about there is one group, and all of them must
 * hold. Two corners that meet give the constraints of (4.17) this way: I of either corner or X of
 * both, according to the angles, where (4.17) states all four; where the order is certain three of
 * those follow from the fourth. A vertex over the middle of an edge gives the U-constraint (4.16).
 *
 * Departure  (4.17) pairs vertices, so that a vertex near two corners of a short edge would have to
 *            satisfy both I-constraints at once, which is a trap again; here all edges within reach
 *            are members of one group. Feasibility (3.3) is the question whether the origin can
 *            come to that edge of the difference at all.
 *            A round partner is a vertex whose edges are moved out by its radius, with the tangent
 *            at the closest point as a further member where that is a corner [W14 4.6].
 *            Edges of the far side of B - A are not members, however near they are: the origin could
 *            come there only through B - A. Where one is left out, the two lines through the origin
 *            that touch B - A take its place (docs/notation.md, "Facets of the far side").
 */
#include "collide/polygon.h"

#include <string.h>

#include "collide/round.h"
#include "shape/builtin.h"

/* Rounding in angles: two orders closer than this are one. */
#define SAME_ANGLE 1e-12
/* Of the size: gaps that differ by less than this after every motion within the margin are equal. */
#define SAME_GAP 1e-12
#define THETA_MAX 0.35
#define DEPTH 1.01  /* times the least depth: plain features down to here count */
#define FACING 1e-9 /* cosine: normals at a right angle do not face away from each other */

enum {
    PAIRS = 64,  /* feature pairs that can take part; the nearest are kept */
    RUN = 3,     /* vertices to either side of the farthest one that an edge may meet */
    ORDERS = 7,  /* orders of the edges, so groups of a pair: 3 bits of the feature's number, */
    PATH = 7,    /* with that of the path */
    MEMBERS = 6, /* of a group; the most open ones are kept */
    VERTEX_BITS = 10,
    GUARD = 1 << 16 /* groups of the discs in polygons that turn fast: from here on */
};

static uint32_t feature_name(uint32_t side, uint32_t vertex, uint32_t edge, uint32_t group)
{
    return ((side << VERTEX_BITS | vertex) << VERTEX_BITS | edge) << 3 | group;
}
_Static_assert(PERP_POLYGON_LIMIT <= 1 << VERTEX_BITS && 2 * VERTEX_BITS + 4 <= 24,
               "a feature's number has 24 bits");

/* ---- outlines -------------------------------------------------------------------------------- */

void perpi_outline_make(const perpi_shape* shape, const perpi_pose* pose, vec3 origin,
                        perpi_outline* o)
{
    o->x = pose->x.x - origin.x;
    o->y = pose->x.y - origin.y;
    o->c = pose->R.m[0][0];
    o->s = pose->R.m[1][0];
    o->angle = atan2(o->s, o->c);
    if (shape->type == PERP_SHAPE_POLYGON) {
        o->count = shape->count;
        o->vertex = shape->vertex;
        o->edge = shape->edge;
        o->turn = shape->turn;
        o->inner = shape->piece ? shape->inner : NULL;
        o->size = 0.0;
        for (int32_t i = 0; i < o->count; i += 1 + o->count / 16) { /* a tolerance needs no more */
            const double r = hypot(o->vertex[2 * i], o->vertex[2 * i + 1]);
            o->size = r > o->size ? r : o->size;
        }
        return;
    }
    const double hx = shape->half.x, hy = shape->half.y;
    /* numbered as in box_box.c: the contacts of boxes that lie flat have the same order with every model */
    const double box[20] = {-hx,
                            -hy,
                            hx,
                            -hy,
                            hx,
                            hy,
                            -hx,
                            hy, /* vertices */
                            0,
                            -1,
                            1,
                            0,
                            0,
                            1,
                            -1,
                            0, /* normals of the edges that begin there */
                            -0.5 * PERPI_PI,
                            0,
                            0.5 * PERPI_PI,
                            PERPI_PI};
    memcpy(o->box, box, sizeof box);
    o->count = 4;
    o->vertex = o->box;
    o->edge = o->box + 8;
    o->turn = o->box + 16;
    o->inner = NULL;
    o->size = hypot(hx, hy);
}

/* The vertex farthest along the direction of that world angle. */
static int32_t farthest(const perpi_outline* o, double angle)
{
    double a = remainder(angle - o->angle - o->turn[0], 2.0 * PERPI_PI);
    a = (a < 0.0 ? a + 2.0 * PERPI_PI : a) + o->turn[0];
    int32_t lo = 0, hi = o->count;
    while (hi - lo > 1) {
        const int32_t middle = (lo + hi) / 2;
        if (o->turn[middle] <= a) {
            lo = middle;
        } else {
            hi = middle;
        }
    }
    return lo + 1 == o->count ? 0 : lo + 1;
}

typedef struct range {
    double lo[2], hi[2];
} range;

static range range_of(const perpi_outline* o, double by)
{
    range r;
    for (int k = 0; k < 2; ++k) {
        const vec3 high = perpi_outline_vertex(o, farthest(o, k == 0 ? 0.0 : 0.5 * PERPI_PI));
        const vec3 low = perpi_outline_vertex(o, farthest(o, k == 0 ? PERPI_PI : -0.5 * PERPI_PI));
        r.hi[k] = (k == 0 ? high.x : high.y) + by;
        r.lo[k] = (k == 0 ? low.x : low.y) - by;
    }
    return r;
}

static bool edge_in_range(const range* r, vec3 p, vec3 q)
{
    return !((p.x < r->lo[0] && q.x < r->lo[0]) || (p.x > r->hi[0] && q.x > r->hi[0]) ||
             (p.y < r->lo[1] && q.y < r->lo[1]) || (p.y > r->hi[1] && q.y > r->hi[1]));
}

/* Distance of p from the segment that begins at e with direction (unit) and length. */
static double segment_distance(vec3 p, vec3 e, vec3 direction, double length)
{
    const vec3 d = v3_sub(p, e);
    const double t = perpi_clamp(v3_dot(d, direction), 0.0, length);
    return v3_norm(v3_madd(d, -t, direction));
}

static perp_status polygon_disc(const perpi_shape* shape, const perpi_pose* pose, vec3 center,
                                double r, double margin, int32_t groups, perpi_touch_list* list);

/* ---- feature pairs ------------------------------------------------------------------------------ */

typedef struct feature_pair {
    uint32_t side; /* 0: vertex of b, edge of a; 1: vertex of a, edge of b */
    int32_t vertex, edge;
    vec3 p, n;       /* the vertex; the edge's outward normal */
    double psi;      /* gap */
    double distance; /* of the vertex from the edge itself */
    double from, to; /* applicable while a has turned against b by so much more */
} feature_pair;

typedef struct meeting {
    const perpi_outline* o[2];
    vec3 origin;
    double margin, near, theta, size;
    feature_pair pair[PAIRS];
    int32_t count;
    perpi_touch_list* list;
} meeting;

/* By how much a must turn for the normals of its edge i and of b's edge j to be opposite. */
static double parallel_at(const meeting* m, int32_t i, int32_t j)
{
    return remainder(m->o[1]->turn[j] + m->o[1]->angle - m->o[0]->turn[i] - m->o[0]->angle -
                         PERPI_PI,
                     2.0 * PERPI_PI);
}

static void keep(meeting* m, const feature_pair* f)
{
    if (m->count < PAIRS) {
        m->pair[m->count++] = *f;
        return;
    }
    int32_t worst = 0;
    for (int32_t i = 1; i < m->count; ++i) {
        worst = m->pair[i].distance > m->pair[worst].distance ? i : worst;
    }
    if (f->distance < m->pair[worst].distance) {
        m->pair[worst] = *f;
    }
}

/* The pair of an edge (its ends p, q) with a vertex of the other polygon. */
static feature_pair make_pair(const meeting* m, uint32_t side, int32_t edge, vec3 p, vec3 q,
                              int32_t vertex)
{
    const perpi_outline* owner = m->o[side];
    const perpi_outline* other = m->o[1 - side];
    const int32_t before = vertex == 0 ? other->count - 1 : vertex - 1;
    const vec3 d = v3_sub(q, p);
    const double length = v3_norm(d);
    feature_pair f = {.side = side,
                      .vertex = vertex,
                      .edge = edge,
                      .p = perpi_outline_vertex(other, vertex),
                      .n = perpi_outline_normal(owner, edge)};
    /* from the owner's origin: a turn below the rounding of the vertices moves neither end of an edge */
    const double *n = owner->edge + 2 * (size_t)edge, *v = owner->vertex + 2 * (size_t)edge;
    f.psi = v3_dot(f.n, v3_sub(f.p, v3(owner->x, owner->y, 0))) - (n[0] * v[0] + n[1] * v[1]);
    f.distance = segment_distance(f.p, p, v3_scale(1.0 / length, d), length);
    /* while the edge's normal, reversed, lies between those of the edges that meet in the vertex */
    f.from = side == 0 ? parallel_at(m, edge, before) : parallel_at(m, vertex, edge);
    f.to = side == 0 ? parallel_at(m, edge, vertex) : parallel_at(m, before, edge);
    if (f.from >
        f.to) { /* on either side of pi: the interval that contains 0 or lies nearer to it */
        if (f.from > 0.0 && -f.to < f.from) {
            f.from -= 2.0 * PERPI_PI;
        } else {
            f.to += 2.0 * PERPI_PI;
        }
    }
    return f;
}

/* All applicable pairs of an edge, theta allowed for; those within reach are kept. Returns the gap
 * of the one that is applicable as things stand. */
static double collect_edge(meeting* m, uint32_t side, int32_t edge, vec3 p, vec3 q,
                           feature_pair* present)
{
    const perpi_outline* owner = m->o[side];
    const perpi_outline* other = m->o[1 - side];
    const double direction = owner->turn[edge] + owner->angle + PERPI_PI;
    const int32_t middle = farthest(other, direction);
    *present = make_pair(m, side, edge, p, q, middle);
    if (present->distance <= m->near) {
        keep(m, present);
    }
    for (int way = -1; way <= 1; way += 2) {
        int32_t v = middle;
        for (int step = 0; step < RUN && step < other->count - 1; ++step) {
            v = way < 0 ? (v == 0 ? other->count - 1 : v - 1) : (v + 1 == other->count ? 0 : v + 1);
            const feature_pair f = make_pair(m, side, edge, p, q, v);
            if (!(f.from <= m->theta && f.to >= -m->theta)) {
                break;
            }
            if (f.distance <= m->near) {
                keep(m, &f);
            }
        }
    }
    return present->psi;
}

/* Whether the edge may hold the pair apart: not one that faces away from the side it belongs to. */
static bool exists(const meeting* m, uint32_t side, int32_t edge)
{
    const vec3 n = perpi_outline_normal(m->o[side], edge);
    return !m->list->sided || (side == 0 ? 1.0 : -1.0) * v3_dot(n, m->list->side) >= -FACING;
}

/* Over the edges near the other polygon, or over all of them. best: the applicable pair with the
 * largest gap among them. False: apart by more than the margin. */
static bool collect(meeting* m, bool all, feature_pair* best)
{
    best->psi = -INFINITY;
    m->count = 0;
    for (uint32_t side = 0; side < 2; ++side) {
        const perpi_outline* owner = m->o[side];
        const range reach = range_of(m->o[1 - side], m->near);
        vec3 p = perpi_outline_vertex(owner, 0);
        for (int32_t i = 0; i < owner->count; ++i) {
            const vec3 q = perpi_outline_vertex(owner, i + 1);
            if ((all || edge_in_range(&reach, p, q)) && exists(m, side, i)) {
                feature_pair present;
                if (collect_edge(m, side, i, p, q, &present) > m->margin) {
                    return false;
                }
                if (present.psi > best->psi) {
                    *best = present;
                }
            }
            p = q;
        }
    }
    return true;
}

/* The pair's normal from a to b. */
static vec3 normal_a_to_b(const feature_pair* f)
{
    return f->side == 0 ? f->n : v3_neg(f->n);
}

static bool is_present(const feature_pair* f)
{
    return f->from <= SAME_ANGLE && f->to >= -SAME_ANGLE;
}

/* The gap below which a pair is not open as things stand: 0, or about the least depth of an overlap. */
static double least_gap(const meeting* m, const feature_pair* best)
{
    const double least = best->psi < 0.0 ? best->psi : 0.0;
    return DEPTH * least - PERPI_TOUCH_TIE * m->size;
}

static perp_status add(meeting* m, const feature_pair* f, uint32_t group, bool secondary)
{
    /* the gap is that of the two points as they are rounded: less than that is no gap */
    const vec3 below = v3_madd(f->p, -f->psi, f->n);
    const double gap = v3_dot(f->n, v3_sub(f->p, below));
    const vec3 p = v3_add(m->origin, f->p), foot = v3_add(m->origin, below);
    const uint32_t name = feature_name(f->side, (uint32_t)f->vertex, (uint32_t)f->edge, group);
    m->list->secondary = secondary;
    return f->side == 0 ? perpi_touch_add(m->list, name, foot, p, f->n, gap)
                        : perpi_touch_add(m->list, name, p, foot, v3_neg(f->n), gap);
}

/* ---- plain: every pair within the margin ---------------------------------------------------------- */

/* How far apart the polygons are along the pair's normal. */
static double separation(const meeting* m, const feature_pair* f)
{
    const double angle = m->o[f->side]->turn[f->edge] + m->o[f->side]->angle;
    const perpi_outline* other = m->o[1 - f->side];
    const vec3 low = perpi_outline_vertex(other, farthest(other, angle + PERPI_PI));
    return f->psi - v3_dot(f->n, v3_sub(f->p, low));
}

/* Pairs with a gap below that of the direction of least depth do not count: a polygon that rests on
 * another, some rounding deep, would also be pushed out sideways. Where the polygons overlap, a pair
 * counts only if they can be parted along its normal at about the least depth: a vertex that has come
 * near the far side is not to be pushed out there. */
static perp_status add_plain(meeting* m, const feature_pair* best)
{
    const double floor = least_gap(m, best);
    const bool overlap = floor < -2.0 * PERPI_TOUCH_TIE * m->size;
    perp_status status = PERP_OK;
    int32_t added = 0;
    for (uint32_t side = 0; side < 2; ++side) {
        const perpi_outline* owner = m->o[side];
        const perpi_outline* other = m->o[1 - side];
        const range edges = range_of(other, m->margin), vertices = range_of(owner, m->margin);
        vec3 p = perpi_outline_vertex(owner, 0);
        for (int32_t i = 0; i < owner->count; ++i) {
            const vec3 q = perpi_outline_vertex(owner, i + 1);
            /* inside a body that is made of pieces there are no features */
            const bool real =
                (owner->inner == NULL || owner->inner[i] == 0.0) && exists(m, side, i);
            const bool there = real && edge_in_range(&edges, p, q);
            for (int32_t k = 0; there && status == PERP_OK && k < other->count; ++k) {
                const vec3 v = perpi_outline_vertex(other, k);
                if (!edge_in_range(&vertices, v, v)) {
                    continue;
                }
                const feature_pair f = make_pair(m, side, i, p, q, k);
                if (f.distance <= m->margin && f.psi >= floor &&
                    (!overlap || separation(m, &f) >= floor)) {
                    status = add(m, &f, 0, false);
                    added += 1;
                }
            }
            p = q;
        }
    }
    return status == PERP_OK && added == 0 && best->psi <= 0.0 ? add(m, best, 0, false) : status;
}

/* ---- the far side ---------------------------------------------------------------------------------- */

/* The direction (from a to b) in which the polygons are apart: that of their closest points; where they
 * touch or overlap, the mean of the normals of least depth. */
static vec3 parting_direction(const meeting* m, const feature_pair* best)
{
    const double tiny = PERPI_TOUCH_TIE * m->size;
    const feature_pair* closest = NULL;
    if (m->list->sided) {
        return m->list->side;
    }
    for (int32_t i = 0; i < m->count; ++i) {
        const feature_pair* f = &m->pair[i];
        if (is_present(f) && (closest == NULL || f->distance < closest->distance)) {
            closest = f;
        }
    }
    if (best->psi > tiny && closest != NULL && closest->distance > tiny) {
        const perpi_outline* owner = m->o[closest->side];
        const vec3 p = perpi_outline_vertex(owner, closest->edge);
        const vec3 d = v3_sub(perpi_outline_vertex(owner, closest->edge + 1), p);
        const double t = perpi_clamp(v3_dot(v3_sub(closest->p, p), d) / v3_dot(d, d), 0.0, 1.0);
        const vec3 from = v3_sub(closest->p, v3_madd(p, t, d));
        return v3_scale((closest->side == 0 ? 1.0 : -1.0) / v3_norm(from), from);
    }
    const double floor = least_gap(m, best);
    vec3 sum = normal_a_to_b(best);
    for (int32_t i = 0; i < m->count; ++i) {
        const feature_pair* f = &m->pair[i];
        const bool other = f->side != best->side || f->edge != best->edge;
        if (other && is_present(f) && f->psi >= floor && f->distance <= tiny - floor) {
            sum = v3_add(sum, normal_a_to_b(f));
        }
    }
    const double length = v3_norm(sum);
    return length > FACING ? v3_scale(1.0 / length, sum) : normal_a_to_b(best);
}

/* Of the polygons, negative where they overlap. */
static double closest_distance(const meeting* m, const feature_pair* best)
{
    double least = INFINITY;
    for (int32_t i = 0; i < m->count; ++i) {
        const bool nearer = is_present(&m->pair[i]) && m->pair[i].distance < least;
        least = nearer ? m->pair[i].distance : least;
    }
    return best->psi < 0.0 || least == INFINITY ? best->psi : least;
}

/* Closed, and facing away from the direction in which the polygons are apart. */
static bool is_far_side(const feature_pair* f, vec3 apart, double floor)
{
    return f->psi < floor && v3_dot(normal_a_to_b(f), apart) < -FACING;
}

static uint64_t find_far_side(const meeting* m, vec3 apart, double floor)
{
    uint64_t mask = 0;
    for (int32_t i = 0; i < m->count; ++i) {
        mask |= is_far_side(&m->pair[i], apart, floor) ? (uint64_t)1 << i : 0;
    }
    return mask;
}

/* A line through the origin that touches B - A at one of its vertices, seen as a pair of vertices. */
typedef struct tangent_line {
    int32_t vertex[2]; /* of a and of b */
    vec3 n;            /* from a to b */
    double angle;      /* of the vertex of B - A against the direction in which they are apart */
    double distance;   /* of the two vertices */
} tangent_line;

/* At the vertices of B - A that are farthest to either side as seen from the origin, moved out by `out`;
 * those that the origin can come to. Returns how many. */
static int32_t find_tangents(const meeting* m, vec3 apart, double out, tangent_line t[2])
{
    t[0].angle = INFINITY;
    t[1].angle = -INFINITY;
    for (uint32_t side = 0; side < 2; ++side) {
        const perpi_outline *owner = m->o[side], *other = m->o[1 - side];
        for (int32_t i = 0; i < owner->count; ++i) {
            const int32_t v = farthest(other, owner->turn[i] + owner->angle + PERPI_PI);
            for (int32_t end = 0; end < 2; ++end) {
                const int32_t e = (i + end) % owner->count;
                const int32_t at[2] = {side == 0 ? e : v, side == 0 ? v : e};
                const vec3 w = v3_madd(v3_sub(perpi_outline_vertex(m->o[1], at[1]),
                                              perpi_outline_vertex(m->o[0], at[0])),
                                       out, apart);
                const double angle =
                    atan2(apart.x * w.y - apart.y * w.x, apart.x * w.x + apart.y * w.y);
                const double length = hypot(w.x, w.y);
                if (angle < t[0].angle) {
                    const vec3 n = v3(-w.y / length, w.x / length, 0);
                    t[0] = (tangent_line){{at[0], at[1]}, n, angle, length};
                }
                if (angle > t[1].angle) {
                    const vec3 n = v3(w.y / length, -w.x / length, 0);
                    t[1] = (tangent_line){{at[0], at[1]}, n, angle, length};
                }
            }
        }
    }
    int32_t count = 0;
    for (int k = 0; k < 2; ++k) {
        if (t[k].distance <= m->near) {
            t[count++] = t[k];
        }
    }
    return count;
}

/* The same of a polygon alone, from a point. */
typedef struct corner_line {
    vec3 n; /* outward */
    int32_t corner;
    double distance;
} corner_line;

static perp_status add_tangent(meeting* m, const tangent_line* t, uint32_t group)
{
    const vec3 a = perpi_outline_vertex(m->o[0], t->vertex[0]);
    const vec3 b = perpi_outline_vertex(m->o[1], t->vertex[1]);
    const uint32_t name = feature_name(0, (uint32_t)t->vertex[1], (uint32_t)t->vertex[0], group);
    const double gap = v3_dot(t->n, v3_sub(b, a));
    return perpi_touch_add(m->list, perpi_touch_unused(m->list, name), v3_add(m->origin, a),
                           v3_add(m->origin, b), t->n, gap);
}

/* ---- PEG: one group for each order of the edges ---------------------------------------------------- */

/* The turns at which the order changes, ascending; at most 2 PAIRS. */
static int32_t find_changes(const meeting* m, double* change)
{
    int32_t n = 0;
    for (int32_t i = 0; i < m->count; ++i) {
        const double both[2] = {m->pair[i].from, m->pair[i].to};
        for (int k = 0; k < 2; ++k) {
            if (both[k] > -m->theta && both[k] < m->theta) {
                int32_t at = n++;
                for (; at > 0 && change[at - 1] > both[k]; --at) {
                    change[at] = change[at - 1];
                }
                change[at] = both[k];
            }
        }
    }
    int32_t kept = 0;
    for (int32_t i = 0; i < n; ++i) {
        if (kept == 0 || change[i] - change[kept - 1] > SAME_ANGLE) {
            change[kept++] = change[i];
        }
    }
    return kept;
}

static uint64_t members_at(const meeting* m, double turn)
{
    uint64_t mask = 0;
    for (int32_t i = 0; i < m->count; ++i) {
        if (m->pair[i].from <= turn && turn <= m->pair[i].to) {
            mask |= (uint64_t)1 << i;
        }
    }
    return mask;
}

/* Only the most open members of a large group stay: the others are farther from being the one. */
static uint64_t trim(const meeting* m, uint64_t mask)
{
    for (;;) {
        int32_t count = 0, worst = -1;
        for (int32_t i = 0; i < m->count; ++i) {
            if (mask >> i & 1U) {
                count += 1;
                worst = worst < 0 || m->pair[i].psi < m->pair[worst].psi ? i : worst;
            }
        }
        if (count <= MEMBERS) {
            return mask;
        }
        mask &= ~((uint64_t)1 << worst);
    }
}

/* How far along the edge (counter-clockwise on a) the vertex of the pair lies. */
static double place_along(const feature_pair* f, vec3 along)
{
    return v3_dot(along, f->p);
}

/* Of a group that is told by two parallel edges, one of each polygon, the pair whose vertex lies over the
 * other edge: on the side `way` (+1 or -1 along a's edge) of the middle that is the one farther back. The group is
 * one or two pairs; -1: it is no such group. */
static int32_t inner_pair(const meeting* m, uint64_t mask, vec3 along, double way)
{
    int32_t inner = -1, count = 0;
    for (int32_t i = 0; i < m->count; ++i) {
        if (!(mask >> i & 1U)) {
            continue;
        }
        const feature_pair* f = &m->pair[i];
        if (count == 0 || way * (place_along(f, along) - place_along(&m->pair[inner], along)) <
                              -PERPI_TOUCH_TIE * m->size) {
            inner = i;
        }
        count += 1;
    }
    return count <= 2 ? inner : -1;
}

/* Two edges that lie flat on each other. The groups of the orders before and after they are parallel then say
 * no more than that the vertex at either end of the stretch in which they overlap stays off the other edge
 * (docs/notation.md, "Flat on flat"): these members stay. */
static void reduce_flat(const meeting* m, uint64_t group[2])
{
    int32_t edge[2] = {-1, -1};
    vec3 n[2];
    for (int32_t i = 0; i < m->count; ++i) {
        const feature_pair* f = &m->pair[i];
        if (!((group[0] | group[1]) >> i & 1U)) {
            continue;
        }
        if (edge[f->side] >= 0 && edge[f->side] != f->edge) {
            return;
        }
        edge[f->side] = f->edge;
        n[f->side] = f->n;
    }
    if (edge[0] < 0 || edge[1] < 0 || (group[0] & group[1]) != 0 ||
        !(v3_norm(v3_add(n[0], n[1])) * m->margin <= SAME_GAP * m->size)) {
        return;
    }
    /* before the edges are parallel (a turned clockwise) their ends along a's edge are near each other */
    const vec3 along = v3(-n[0].y, n[0].x, 0);
    const int32_t first = inner_pair(m, group[0], along, 1.0);
    const int32_t second = inner_pair(m, group[1], along, -1.0);
    if (first < 0 || second < 0 ||
        !(place_along(&m->pair[first], along) - place_along(&m->pair[second], along) >
          PERPI_TOUCH_TIE * m->size)) {
        return;
    }
    group[0] = (uint64_t)1 << first;
    group[1] = (uint64_t)1 << second;
}

static double most_open(const meeting* m, uint64_t mask)
{
    double most = -INFINITY;
    for (int32_t i = 0; i < m->count; ++i) {
        if ((mask >> i & 1U) && m->pair[i].psi > most) {
            most = m->pair[i].psi;
        }
    }
    return most;
}

/* What the path must not do: the origin stays in front of the near side, or passes beside B - A. Its
 * members have the number PATH in their names. */
static perp_status add_path_group(meeting* m, uint64_t near, const tangent_line* tangent,
                                  int32_t tangents)
{
    perp_status status = PERP_OK;
    m->list->group = PATH + 1;
    for (int32_t i = 0; status == PERP_OK && i < m->count; ++i) {
        if (near >> i & 1U) {
            status = add(m, &m->pair[i], PATH, false);
        }
    }
    for (int32_t k = 0; k < tangents && status == PERP_OK; ++k) {
        status = add_tangent(m, &tangent[k], PATH);
    }
    m->list->group = 0;
    return status;
}

static perp_status add_groups(meeting* m, const feature_pair* best)
{
    double change[2 * PAIRS + 2];
    uint64_t group[ORDERS];
    int32_t groups = 0;
    const int32_t changes = find_changes(m, change + 1);
    const int32_t orders = changes + 1;
    change[0] = -m->theta;
    change[orders] = m->theta;
    /* the far side counts only if there is a way past the near one */
    const double floor = least_gap(m, best);
    const vec3 apart = parting_direction(m, best);
    const uint64_t far = find_far_side(m, apart, floor);
    tangent_line tangent[2];
    const double out = perpi_touch_step_out(closest_distance(m, best), m->margin);
    const int32_t tangents = far != 0 ? find_tangents(m, apart, out, tangent) : 0;
    for (int32_t k = 0; k < ORDERS && k < orders; ++k) {
        /* all of them, or so many evenly */
        const int32_t at = orders <= ORDERS ? k : k * (orders - 1) / (ORDERS - 1);
        const uint64_t all = members_at(m, 0.5 * (change[at] + change[at + 1]));
        const uint64_t mask = tangents > 0 ? all : all & ~far;
        const double open = most_open(m, mask);
        /* A group that cannot be violated within the step says nothing. One that is violated deeper than
         * the polygons are in each other is not complete. */
        if (mask != 0 && !(open > m->margin) && !(far != 0 && open < floor)) {
            group[groups++] = trim(m, mask);
        }
    }
    if (orders == 2 && groups == 2) {
        reduce_flat(m, group);
    }
    perp_status status = PERP_OK;
    for (int32_t g = 0; status == PERP_OK && g < groups; ++g) {
        /* what contains another group follows from it; of equal ones the first stays */
        bool follows = false;
        for (int32_t k = 0; k < groups && !follows; ++k) {
            follows = k != g && (group[k] & ~group[g]) == 0 && (group[k] != group[g] || k < g);
        }
        if (follows) {
            continue;
        }
        const bool alone = (group[g] & (group[g] - 1)) == 0;
        m->list->group = alone ? 0 : g + 1;
        for (int32_t i = 0; status == PERP_OK && i < m->count; ++i) {
            if (group[g] >> i & 1U) {
                status = add(m, &m->pair[i], alone ? 0 : (uint32_t)g, false);
            }
        }
    }
    m->list->group = 0;
    const uint64_t near = trim(m, members_at(m, 0.0) & ~far);
    return status == PERP_OK && tangents > 0 && near != 0
               ? add_path_group(m, near, tangent, tangents)
               : status;
}

/* ---- LNC: one group for each vertex ----------------------------------------------------------------- */

/* For some turn within theta. */
static bool applicable(const meeting* m, const feature_pair* f)
{
    return f->from <= m->theta && f->to >= -m->theta;
}

static void keep_most_open(feature_pair* member, int32_t* count, const feature_pair* f)
{
    if (*count < MEMBERS) {
        member[(*count)++] = *f;
        return;
    }
    int32_t worst = 0;
    for (int32_t k = 1; k < MEMBERS; ++k) {
        worst = member[k].psi < member[worst].psi ? k : worst;
    }
    if (f->psi > member[worst].psi) {
        member[worst] = *f;
    }
}

/* In which direction a point is off the polygon, and how far: over the edge or at the corner next to it;
 * inside, out through the nearest edge. */
static vec3 off_polygon(const perpi_outline* o, vec3 c, double* gap)
{
    vec3 n_best = {0, 0, 0}, from = {0, 0, 0}, n_from = {0, 0, 0};
    double best = -INFINITY, closest = INFINITY;
    vec3 p = perpi_outline_vertex(o, 0);
    for (int32_t i = 0; i < o->count; ++i) {
        const vec3 q = perpi_outline_vertex(o, i + 1), n = perpi_outline_normal(o, i);
        const vec3 d = v3_sub(q, p), w = v3_sub(c, p);
        const vec3 off = v3_madd(w, -perpi_clamp(v3_dot(w, d) / v3_dot(d, d), 0.0, 1.0), d);
        const double height = v3_dot(n, w), distance = v3_norm(off);
        if (height > best) {
            best = height;
            n_best = n;
        }
        if (height > 0.0 && distance < closest) {
            closest = distance;
            from = off;
            n_from = n;
        }
        p = q;
    }
    *gap = closest < INFINITY ? closest : best;
    return closest == INFINITY                       ? n_best
           : closest <= PERPI_TOUCH_VANISH * o->size ? n_from
                                                     : v3_scale(1.0 / closest, from);
}

/* The lines through a point that touch the polygon, moved out by r, to its left and right; of those the
 * ones whose corner is within reach. apart: from the polygon to the point. Returns how many. */
static int32_t touching_lines(const perpi_outline* o, vec3 c, double r, vec3 apart, double reach,
                              corner_line* out)
{
    double low = INFINITY, high = -INFINITY;
    corner_line t[2] = {0};
    for (int32_t i = 0; i < o->count; ++i) {
        const vec3 w = v3_sub(c, perpi_outline_vertex(o, i));
        const double length = v3_norm(w);
        if (!(length > r)) {
            return 0; /* it touches: there is no such line */
        }
        const double turn = atan2(apart.x * w.y - apart.y * w.x, v3_dot(apart, w));
        const double sine = r / length, half = asin(sine), cosine = sqrt(1.0 - sine * sine);
        const vec3 e = v3_scale(1.0 / length, w), left = v3(-e.y, e.x, 0);
        if (turn - half < low) {
            low = turn - half;
            t[0] = (corner_line){v3_madd(v3_scale(sine, e), cosine, left), i, length};
        }
        if (turn + half > high) {
            high = turn + half;
            t[1] = (corner_line){v3_madd(v3_scale(sine, e), -cosine, left), i, length};
        }
    }
    int32_t count = 0;
    for (int k = 0; k < 2; ++k) {
        if (t[k].distance <= reach + r) {
            out[count++] = t[k];
        }
    }
    return count;
}

/* A vertex of the other polygon over a corner of the owner: a line through it. */
static perp_status add_corner_line(meeting* m, uint32_t side, int32_t vertex, const corner_line* t)
{
    const vec3 corner = v3_add(m->origin, perpi_outline_vertex(m->o[side], t->corner));
    const vec3 v = v3_add(m->origin, perpi_outline_vertex(m->o[1 - side], vertex));
    const uint32_t name = perpi_touch_unused(
        m->list, feature_name(side, (uint32_t)vertex, (uint32_t)t->corner, PATH));
    const double gap = v3_dot(t->n, v3_sub(v, corner));
    return side == 0 ? perpi_touch_add(m->list, name, corner, v, t->n, gap)
                     : perpi_touch_add(m->list, name, v, corner, v3_neg(t->n), gap);
}

static perp_status add_vertex_members(meeting* m, const feature_pair* member, int32_t count,
                                      uint32_t group)
{
    perp_status status = PERP_OK;
    for (int32_t i = 0; status == PERP_OK && i < count; ++i) {
        status = add(m, &member[i], group, !applicable(m, &member[i]));
    }
    m->list->secondary = false;
    return status;
}

/* The edges within the margin of one vertex of the other polygon. Those of the far side, behind which the
 * vertex lies and which face away from it, count only if there is a way past the near ones. */
static perp_status add_vertex_group(meeting* m, uint32_t side, int32_t vertex, double depth)
{
    const perpi_outline* owner = m->o[side];
    const vec3 v = perpi_outline_vertex(m->o[1 - side], vertex);
    feature_pair member[MEMBERS], near[MEMBERS];
    int32_t count = 0, primaries = 0, nears = 0, near_primaries = 0;
    vec3 p = perpi_outline_vertex(owner, 0);
    for (int32_t i = 0; i < owner->count; ++i) {
        const vec3 q = perpi_outline_vertex(owner, i + 1);
        const bool there = p.x - m->margin <= v.x || q.x - m->margin <= v.x;
        if (there && exists(m, side, i)) {
            const feature_pair f = make_pair(m, side, i, p, q, vertex);
            if (f.psi > m->margin) {
                return PERP_OK; /* cannot come inside */
            }
            if (f.distance <= m->margin) {
                keep_most_open(member, &count, &f);
            }
        }
        p = q;
    }
    double gap;
    vec3 apart = off_polygon(owner, v, &gap);
    if (m->list->sided) {
        apart = v3_scale(side == 0 ? 1.0 : -1.0, m->list->side);
        gap = gap < depth ? gap : depth;
    }
    const double floor = (gap < depth ? DEPTH * gap : depth) - PERPI_TOUCH_TIE * m->size;
    for (int32_t i = 0; i < count; ++i) {
        const bool primary = applicable(m, &member[i]);
        primaries += primary;
        if (member[i].psi >= floor || v3_dot(member[i].n, apart) >= -FACING) {
            near_primaries += primary;
            near[nears++] = member[i];
        }
    }
    if (primaries == 0) {
        return PERP_OK;
    }
    corner_line line[2];
    const vec3 outside = v3_madd(v, perpi_touch_step_out(gap, m->margin), apart);
    const int32_t lines =
        nears < count ? touching_lines(owner, outside, 0.0, apart, m->margin, line) : 0;
    const int32_t number = 1 + 2 * ((int32_t)side + 2 * vertex);
    perp_status status = PERP_OK;
    if (nears == count || lines > 0) {
        m->list->group = count > 1 ? number : 0;
        status = add_vertex_members(m, member, count, 0);
    }
    if (status == PERP_OK && nears < count && near_primaries > 0) {
        m->list->group = nears + lines > 1 ? number + 1 : 0;
        status = add_vertex_members(m, near, nears, PATH);
        for (int32_t k = 0; k < lines && status == PERP_OK; ++k) {
            status = add_corner_line(m, side, vertex, &line[k]);
        }
    }
    m->list->group = 0;
    return status;
}

static perp_status add_vertex_groups(meeting* m, const feature_pair* best)
{
    const double depth = best->psi < 0.0 ? DEPTH * best->psi : 0.0;
    perp_status status = PERP_OK;
    for (uint32_t side = 0; side < 2; ++side) {
        const range reach = range_of(m->o[side], m->margin);
        const perpi_outline* other = m->o[1 - side];
        for (int32_t i = 0; status == PERP_OK && i < other->count; ++i) {
            const vec3 p = perpi_outline_vertex(other, i);
            if (edge_in_range(&reach, p, p)) {
                status = add_vertex_group(m, side, i, depth);
            }
        }
    }
    return status;
}

/* ---- fast turns ------------------------------------------------------------------------------------------ */

/* A disc in the polygon: around its centre of area (world), as far as its edges. */
static double inner_disc(const perpi_shape* shape, const perpi_pose* pose, vec3* center)
{
    perpi_outline o;
    perpi_outline_make(shape, pose, pose->x, &o);
    const vec3 from = perpi_outline_vertex(&o, 0);
    vec3 sum = {0, 0, 0};
    double area = 0.0;
    for (int32_t i = 1; i + 1 < o.count; ++i) {
        const vec3 p = v3_sub(perpi_outline_vertex(&o, i), from);
        const vec3 q = v3_sub(perpi_outline_vertex(&o, i + 1), from);
        const double twice = p.x * q.y - p.y * q.x;
        area += twice;
        sum = v3_madd(sum, twice / 3.0, v3_add(p, q));
    }
    sum = v3_madd(from, 1.0 / area, sum);
    double r = INFINITY;
    for (int32_t i = 0; i < o.count; ++i) {
        const vec3 d = v3_sub(perpi_outline_vertex(&o, i), sum);
        r = fmin(r, v3_dot(perpi_outline_normal(&o, i), d));
    }
    *center = v3_add(pose->x, sum);
    return r > 0.0 ? r : 0.0;
}

/* Where a polygon may turn further than theta, vertices come down that no pair tells of. A disc in each of
 * the two stays off the other one however they turn. */
static perp_status add_discs(const perpi_shape* shape[2], const perpi_pose* pose[2], double margin,
                             perpi_touch_list* list)
{
    const bool flipped = list->flipped;
    const vec3 side = list->side;
    perp_status status = PERP_OK;
    for (int k = 0; k < 2 && status == PERP_OK; ++k) { /* the disc in 1 - k, off k */
        vec3 center;
        const double r = inner_disc(shape[1 - k], pose[1 - k], &center);
        list->flipped = k == 0 ? flipped : !flipped;
        list->side = k == 0 ? side : v3_neg(side);
        status = polygon_disc(shape[k], pose[k], center, r, margin, GUARD * (1 + k), list);
    }
    list->flipped = flipped;
    list->side = side;
    return status;
}

/* ---- the pair ------------------------------------------------------------------------------------------ */

perp_status perpi_polygon_polygon(const perpi_shape* shape_a, const perpi_pose* pose_a,
                                  const perpi_shape* shape_b, const perpi_pose* pose_b,
                                  double margin, perpi_touch_list* list)
{
    perpi_outline a, b;
    perpi_outline_make(shape_a, pose_a, pose_a->x, &a);
    perpi_outline_make(shape_b, pose_b, pose_a->x, &b);
    meeting m = {.o = {&a, &b}, .origin = pose_a->x, .margin = margin, .list = list};
    m.size = a.size < b.size ? a.size : b.size;
    m.near = list->rule == PERPI_TOUCH_PEG ? 2.0 * margin : margin;
    m.theta = perpi_clamp(margin / m.size, SAME_ANGLE, THETA_MAX);
    feature_pair best;
    if (!collect(&m, false, &best)) {
        return PERP_OK;
    }
    if (m.count == 0) {
        /* apart, corner to corner, or deep inside each other: only all edges tell */
        if (!collect(&m, true, &best) || best.psi > 0.0) {
            return PERP_OK;
        }
        return add(&m, &best, 0, false);
    }
    const perp_status status = list->rule == PERPI_TOUCH_PEG   ? add_groups(&m, &best)
                               : list->rule == PERPI_TOUCH_LNC ? add_vertex_groups(&m, &best)
                                                               : add_plain(&m, &best);
    const perpi_shape* shape[2] = {shape_a, shape_b};
    const perpi_pose* pose[2] = {pose_a, pose_b};
    return status == PERP_OK && margin > THETA_MAX * m.size ? add_discs(shape, pose, margin, list)
                                                            : status;
}

/* ---- with a half-plane ------------------------------------------------------------------------------------ */

/* From the lowest vertex outwards, as far as the margin goes. Feature: the vertex. */
perp_status perpi_plane_polygon(const perpi_shape* a, const perpi_pose* pose_a,
                                const perpi_shape* b, const perpi_pose* pose_b, double margin,
                                perpi_touch_list* list)
{
    const vec3 n = m3_mul(pose_a->R, a->normal);
    const double offset = v3_dot(n, pose_a->x) + a->offset;
    perpi_outline o;
    perpi_outline_make(b, pose_b, v3(0, 0, 0), &o);
    const int32_t lowest = farthest(&o, atan2(-n.y, -n.x));
    int32_t added = 0;
    for (int way = 0; way < 2; ++way) {
        for (int32_t k = way; added < o.count; ++k, ++added) {
            const int32_t i = way == 0 ? (lowest + k) % o.count : (lowest + o.count - k) % o.count;
            const vec3 p = perpi_outline_vertex(&o, i);
            const double gap = v3_dot(n, p) - offset;
            if (!(gap <= margin)) {
                break;
            }
            const perp_status status =
                perpi_touch_add(list, (uint32_t)i, v3_madd(p, -gap, n), p, n, gap);
            if (status != PERP_OK) {
                return status;
            }
        }
    }
    return PERP_OK;
}

/* ---- with a particle or a circle ---------------------------------------------------------------------------- */

typedef struct ball_member {
    vec3 n, foot; /* foot: on the polygon */
    double psi;
    uint32_t feature;
} ball_member;

/* The most open ones stay. */
static void keep_member(ball_member* member, int32_t* count, const ball_member* m)
{
    if (*count < MEMBERS) {
        member[(*count)++] = *m;
        return;
    }
    int32_t worst = 0;
    for (int32_t k = 1; k < MEMBERS; ++k) {
        worst = member[k].psi < member[worst].psi ? k : worst;
    }
    if (m->psi > member[worst].psi) {
        member[worst] = *m;
    }
}

static int32_t near_members(const ball_member* member, int32_t count, vec3 apart, double floor,
                            ball_member* out)
{
    int32_t kept = 0;
    for (int32_t i = 0; i < count; ++i) {
        if (member[i].psi >= floor || v3_dot(member[i].n, apart) >= -FACING) {
            out[kept++] = member[i];
        }
    }
    return kept;
}

/* Group 1, or 2: that of the path. A single member stands alone. */
static perp_status add_ball_members(const perpi_pose* pose, const ball_member* member,
                                    int32_t count, int32_t group, perpi_touch_list* list)
{
    perp_status status = PERP_OK;
    list->group = count > 1 ? group : 0;
    for (int32_t i = 0; status == PERP_OK && i < count; ++i) {
        const ball_member* m = &member[i];
        const vec3 foot = v3_add(pose->x, m->foot);
        const uint32_t name = m->feature | (uint32_t)(list->group % GUARD);
        status = perpi_touch_add(list, perpi_touch_unused(list, name), foot,
                                 v3_madd(foot, m->psi, m->n), m->n, m->psi);
    }
    list->group = 0;
    return status;
}

/* A disc at a world point. Features: an edge, or 2^20 + a vertex, then the group, numbered from `groups`
 * + 1 on. */
static perp_status polygon_disc(const perpi_shape* shape, const perpi_pose* pose, vec3 center,
                                double r, double margin, int32_t groups, perpi_touch_list* list)
{
    perpi_outline o;
    perpi_outline_make(shape, pose, pose->x, &o);
    const vec3 c = v3_sub(center, pose->x);
    const double near = list->rule == PERPI_TOUCH_PLAIN ? margin : 2.0 * margin;
    ball_member member[MEMBERS], best = {.psi = -INFINITY}, tangent = {.psi = -INFINITY};
    int32_t count = 0;
    vec3 over = {0, 0, 0}; /* normal of the edge next to the centre, where that is outside */
    double closest = INFINITY;
    vec3 p = perpi_outline_vertex(&o, 0);
    for (int32_t i = 0; i < o.count; ++i) {
        const vec3 q = perpi_outline_vertex(&o, i + 1);
        const vec3 d = v3_sub(q, p), n = perpi_outline_normal(&o, i);
        const double length = v3_norm(d), height = v3_dot(n, v3_sub(c, p));
        const vec3 along = v3_scale(1.0 / length, d);
        const double distance = segment_distance(c, p, along, length);
        if (list->sided && v3_dot(n, list->side) < -FACING) {
            p = q;
            continue;
        }
        if (height - r > margin) {
            return PERP_OK;
        }
        const ball_member m = {n, v3_madd(c, -height, n), height - r, (uint32_t)i << 3};
        best = m.psi > best.psi ? m : best;
        if (distance <= near + r && m.psi >= -near) {
            keep_member(member, &count, &m);
        }
        const double t = v3_dot(v3_sub(c, p), along);
        if (distance < closest && height > 0.0) {
            closest = distance;
            over = n;
            tangent.psi = -INFINITY;
            if ((t < 0.0 || t > length) && distance > PERPI_TOUCH_VANISH * o.size && !list->sided) {
                const vec3 corner = t < 0.0 ? p : q;
                tangent =
                    (ball_member){v3_scale(1.0 / distance, v3_sub(c, corner)), corner, distance - r,
                                  (uint32_t)(1 << 20 | (t < 0.0 ? i : (i + 1) % o.count)) << 3};
            }
        }
        p = q;
    }
    if (tangent.psi > margin) {
        return PERP_OK;
    }
    /* the far side counts only if there is a way past the near one */
    const vec3 apart = tangent.psi > -INFINITY ? tangent.n : closest < INFINITY ? over : best.n;
    const double gap = tangent.psi > -INFINITY ? tangent.psi : best.psi;
    const double floor = (gap < 0.0 ? DEPTH * gap : 0.0) - PERPI_TOUCH_TIE * o.size;
    if (tangent.psi > -INFINITY) {
        if (list->rule == PERPI_TOUCH_PLAIN || count == 0) {
            count = 0;
            best = tangent;
        } else {
            keep_member(member, &count, &tangent);
        }
    }
    if (list->rule == PERPI_TOUCH_PLAIN || count == 0) {
        member[0] = best;
        count = 1;
    }
    ball_member near_side[MEMBERS + 2];
    const int32_t nears = near_members(member, count, apart, floor, near_side);
    if (nears == 0 || nears == count) {
        return add_ball_members(pose, member, count, groups + 1, list);
    }
    corner_line line[2];
    const vec3 outside = v3_madd(c, perpi_touch_step_out(gap, margin), apart);
    const int32_t lines = touching_lines(&o, outside, r, apart, near, line);
    for (int32_t i = 0; i < lines; ++i) {
        const vec3 corner = perpi_outline_vertex(&o, line[i].corner);
        near_side[nears + i] =
            (ball_member){line[i].n, corner, v3_dot(line[i].n, v3_sub(c, corner)) - r,
                          (uint32_t)(1 << 20 | line[i].corner) << 3 | (4U + (uint32_t)i)};
    }
    perp_status status = PERP_OK;
    if (lines > 0) {
        status = add_ball_members(pose, member, count, groups + 1, list);
    }
    return status == PERP_OK ? add_ball_members(pose, near_side, nears + lines,
                                                groups + (lines > 0 ? 2 : 1), list)
                             : status;
}

perp_status perpi_polygon_ball(const perpi_shape* shape, const perpi_pose* pose,
                               const perpi_shape* round_shape, const perpi_pose* round_pose,
                               double margin, perpi_touch_list* list)
{
    const double r = round_shape->type == PERP_SHAPE_CIRCLE ? round_shape->radius : 0.0;
    return polygon_disc(shape, pose, round_pose->x, r, margin, 0, list);
}
