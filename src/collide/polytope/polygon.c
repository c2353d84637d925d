/* src/collide/polytope/polygon.c - feature pairs of convex polygons within the margin.
 *
 * Source     [W14 3.2, 3.3, 3.5, 4.3], algorithm 5
 * Notation   a feature pair is a vertex v of one polygon and an edge e of the other with the gap
 *            psi = n_e . (v - e); theta: the angle of relaxation in (3.3)
 * Departure  A round partner is a vertex whose edges are moved out by its radius, with the tangent
 *            at the closest point as a further member where that is a corner [W14 4.6].
 *
 * The groups that contact models form of feature pairs are in src/contact.
 */
#include "collide/polytope/polygon_pair.h"

#include <string.h>

#include "collide/narrow/round.h"
#include "shape/builtin.h"

#define THETA_MAX 0.35

enum {
    RUN = 3,        /* vertices on either side of the farthest one that are tested with an edge */
    GUARD = 1 << 16 /* number of the first group of the inscribed discs of fast-rotating polygons */
};

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
        for (int32_t i = 0; i < o->count;
             i += 1 + o->count / 16) { /* accurate enough for a tolerance */
            const double r = hypot(o->vertex[2 * i], o->vertex[2 * i + 1]);
            o->size = r > o->size ? r : o->size;
        }
        return;
    }
    const double hx = shape->half.x, hy = shape->half.y;
    /* numbered as in box_box.c, so that contacts of boxes in flat contact have the same order with
     * every model */
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
int32_t perpi_outline_farthest(const perpi_outline* o, double angle)
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

perpi_outline_range perpi_outline_range_of(const perpi_outline* o, double by)
{
    perpi_outline_range r;
    for (int k = 0; k < 2; ++k) {
        const vec3 high =
            perpi_outline_vertex(o, perpi_outline_farthest(o, k == 0 ? 0.0 : 0.5 * PERPI_PI));
        const vec3 low =
            perpi_outline_vertex(o, perpi_outline_farthest(o, k == 0 ? PERPI_PI : -0.5 * PERPI_PI));
        r.hi[k] = (k == 0 ? high.x : high.y) + by;
        r.lo[k] = (k == 0 ? low.x : low.y) - by;
    }
    return r;
}

bool perpi_outline_edge_in_range(const perpi_outline_range* r, vec3 p, vec3 q)
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
                                double r, double margin, int32_t groups,
                                perpi_candidate_list* list);

/* ---- feature pairs ------------------------------------------------------------------------------ */

/* The rotation of a after which the normals of its edge i and of b's edge j are opposite. */
static double parallel_at(const perpi_polygon_meeting* m, int32_t i, int32_t j)
{
    return remainder(m->o[1]->turn[j] + m->o[1]->angle - m->o[0]->turn[i] - m->o[0]->angle -
                         PERPI_PI,
                     2.0 * PERPI_PI);
}

static void keep_feature_pair(perpi_polygon_meeting* m, const perpi_feature_pair* f)
{
    if (m->count < PERPI_POLYGON_PAIRS) {
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
perpi_feature_pair perpi_polygon_make_pair(const perpi_polygon_meeting* m, uint32_t side,
                                           int32_t edge, vec3 p, vec3 q, int32_t vertex)
{
    const perpi_outline* owner = m->o[side];
    const perpi_outline* other = m->o[1 - side];
    const int32_t before = vertex == 0 ? other->count - 1 : vertex - 1;
    const vec3 d = v3_sub(q, p);
    const double length = v3_norm(d);
    perpi_feature_pair f = {.side = side,
                            .vertex = vertex,
                            .edge = edge,
                            .p = perpi_outline_vertex(other, vertex),
                            .n = perpi_outline_normal(owner, edge)};
    /* relative to the owner's origin: a rotation below the rounding of the vertices changes
     * no edge */
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

/* All pairs of an edge that are applicable for some rotation within theta; those within the margin
 * are kept. Returns the gap of the one that is applicable at the current pose. */
static double collect_edge(perpi_polygon_meeting* m, uint32_t side, int32_t edge, vec3 p, vec3 q,
                           perpi_feature_pair* present)
{
    const perpi_outline* owner = m->o[side];
    const perpi_outline* other = m->o[1 - side];
    const double direction = owner->turn[edge] + owner->angle + PERPI_PI;
    const int32_t middle = perpi_outline_farthest(other, direction);
    *present = perpi_polygon_make_pair(m, side, edge, p, q, middle);
    if (present->distance <= m->near) {
        keep_feature_pair(m, present);
    }
    for (int way = -1; way <= 1; way += 2) {
        int32_t v = middle;
        for (int step = 0; step < RUN && step < other->count - 1; ++step) {
            v = way < 0 ? (v == 0 ? other->count - 1 : v - 1) : (v + 1 == other->count ? 0 : v + 1);
            const perpi_feature_pair f = perpi_polygon_make_pair(m, side, edge, p, q, v);
            if (!(f.from <= m->theta && f.to >= -m->theta)) {
                break;
            }
            if (f.distance <= m->near) {
                keep_feature_pair(m, &f);
            }
        }
    }
    return present->psi;
}

/* Whether the edge may separate the pair: it must not face away from the known side. */
bool perpi_polygon_edge_exists(const perpi_polygon_meeting* m, uint32_t side, int32_t edge)
{
    const vec3 n = perpi_outline_normal(m->o[side], edge);
    return !m->list->sided ||
           (side == 0 ? 1.0 : -1.0) * v3_dot(n, m->list->side) >= -PERPI_POLYGON_FACING;
}

/* Over the edges near the other polygon, or over all of them. best: the applicable pair with the
 * largest gap among them. False: apart by more than the margin. */
static bool collect(perpi_polygon_meeting* m, bool all, perpi_feature_pair* best)
{
    best->psi = -INFINITY;
    m->count = 0;
    for (uint32_t side = 0; side < 2; ++side) {
        const perpi_outline* owner = m->o[side];
        const perpi_outline_range reach = perpi_outline_range_of(m->o[1 - side], m->near);
        vec3 p = perpi_outline_vertex(owner, 0);
        for (int32_t i = 0; i < owner->count; ++i) {
            const vec3 q = perpi_outline_vertex(owner, i + 1);
            if ((all || perpi_outline_edge_in_range(&reach, p, q)) &&
                perpi_polygon_edge_exists(m, side, i)) {
                perpi_feature_pair present;
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

/* The gap below which a pair is not open at the current pose: 0, or about the least depth of an
 * overlap. */
double perpi_polygon_least_gap(const perpi_polygon_meeting* m, const perpi_feature_pair* best)
{
    const double least = best->psi < 0.0 ? best->psi : 0.0;
    return PERPI_POLYGON_DEPTH * least - PERPI_CANDIDATE_TIE * m->size;
}

perp_status perpi_polygon_add(perpi_polygon_meeting* m, const perpi_feature_pair* f, uint32_t group,
                              bool secondary)
{
    /* the gap is that of the rounded points: a smaller value is rounding */
    const vec3 below = v3_madd(f->p, -f->psi, f->n);
    const double gap = v3_dot(f->n, v3_sub(f->p, below));
    const vec3 p = v3_add(m->origin, f->p), foot = v3_add(m->origin, below);
    const uint32_t name =
        perpi_polygon_feature(f->side, (uint32_t)f->vertex, (uint32_t)f->edge, group);
    m->list->secondary = secondary;
    return f->side == 0 ? perpi_candidate_add(m->list, name, foot, p, f->n, gap)
                        : perpi_candidate_add(m->list, name, p, foot, v3_neg(f->n), gap);
}

/* ---- plain: every pair within the margin ---------------------------------------------------------- */

/* How far apart the polygons are along the normal of an edge that begins at p: without rounding, the
 * separation of all its pairs. */
static double edge_separation(const perpi_polygon_meeting* m, uint32_t side, int32_t edge, vec3 p)
{
    const perpi_outline* other = m->o[1 - side];
    const double angle = m->o[side]->turn[edge] + m->o[side]->angle;
    const vec3 low = perpi_outline_vertex(other, perpi_outline_farthest(other, angle + PERPI_PI));
    return v3_dot(perpi_outline_normal(m->o[side], edge), v3_sub(low, p));
}

/* How far apart the polygons are along the pair's normal. */
static double separation(const perpi_polygon_meeting* m, const perpi_feature_pair* f)
{
    const double angle = m->o[f->side]->turn[f->edge] + m->o[f->side]->angle;
    const perpi_outline* other = m->o[1 - f->side];
    const vec3 low = perpi_outline_vertex(other, perpi_outline_farthest(other, angle + PERPI_PI));
    return f->psi - v3_dot(f->n, v3_sub(f->p, low));
}

/* Pairs with a gap below that of the direction of least depth are discarded: else a polygon that
 * rests on another, with an overlap of rounding, would also be pushed sideways. Where the polygons
 * overlap, a pair counts only if its normal separates them at about the least depth, so that a
 * vertex near the far side is not pushed out there. An overlap deeper than the margin has all pairs
 * of its direction: the deepest alone would be pushed out by turning the others in. */
static perp_status add_plain(perpi_polygon_meeting* m, const perpi_feature_pair* best)
{
    const bool deep = best->psi < -m->margin; /* then along its direction only */
    const double floor =
        deep ? best->psi - PERPI_CANDIDATE_TIE * m->size : perpi_polygon_least_gap(m, best);
    const bool overlap = floor < -2.0 * PERPI_CANDIDATE_TIE * m->size;
    const bool soft = m->list->soft && best->psi < 0.0;
    const double soft_floor = soft ? PERPI_SOFT_DEPTH * best->psi : floor;
    const double reach = perpi_larger(deep ? -floor : m->margin, -soft_floor);
    const vec3 along = best->side == 0 ? best->n : v3_neg(best->n);
    perp_status status = PERP_OK;
    int32_t added = 0;
    for (uint32_t side = 0; side < 2; ++side) {
        const perpi_outline* owner = m->o[side];
        const perpi_outline* other = m->o[1 - side];
        const perpi_outline_range edges = perpi_outline_range_of(other, reach),
                                  vertices = perpi_outline_range_of(owner, reach);
        vec3 p = perpi_outline_vertex(owner, 0);
        for (int32_t i = 0; i < owner->count; ++i) {
            const vec3 q = perpi_outline_vertex(owner, i + 1);
            /* edges inside a body of several pieces are not features */
            const bool real = (owner->inner == NULL || owner->inner[i] == 0.0) &&
                              perpi_polygon_edge_exists(m, side, i);
            const vec3 normal = perpi_outline_normal(owner, i);
            const double low =
                v3_dot(side == 0 ? normal : v3_neg(normal), along) >= PERPI_SOFT_ALONG ? soft_floor
                                                                                       : floor;
            const bool there =
                real && perpi_outline_edge_in_range(&edges, p, q) &&
                (!overlap || edge_separation(m, side, i, p) >= low - PERPI_CANDIDATE_TIE * m->size);
            for (int32_t k = 0; there && status == PERP_OK && k < other->count; ++k) {
                const vec3 v = perpi_outline_vertex(other, k);
                if (!perpi_outline_edge_in_range(&vertices, v, v)) {
                    continue;
                }
                const perpi_feature_pair f = perpi_polygon_make_pair(m, side, i, p, q, k);
                if (f.distance <= reach && f.psi >= low && f.psi <= m->margin &&
                    (!overlap || separation(m, &f) >= low)) {
                    status = perpi_polygon_add(m, &f, 0, false);
                    added += 1;
                }
            }
            p = q;
        }
    }
    return status == PERP_OK && added == 0 && best->psi <= 0.0
               ? perpi_polygon_add(m, best, 0, false)
               : status;
}

/* The tangent lines from a point to the polygon, moved out by r, on its left and right; those whose
 * corner is within the margin. apart: from the polygon to the point. Returns their number. */
int32_t perpi_outline_touching_lines(const perpi_outline* o, vec3 c, double r, vec3 apart,
                                     double reach, perpi_corner_line* out)
{
    double low = INFINITY, high = -INFINITY;
    perpi_corner_line t[2] = {0};
    for (int32_t i = 0; i < o->count; ++i) {
        const vec3 w = v3_sub(c, perpi_outline_vertex(o, i));
        const double length = v3_norm(w);
        if (!(length > r)) {
            return 0; /* in contact: there is no tangent line */
        }
        const double turn = atan2(apart.x * w.y - apart.y * w.x, v3_dot(apart, w));
        const double sine = r / length, half = asin(sine), cosine = sqrt(1.0 - sine * sine);
        const vec3 e = v3_scale(1.0 / length, w), left = v3(-e.y, e.x, 0);
        if (turn - half < low) {
            low = turn - half;
            t[0] = (perpi_corner_line){v3_madd(v3_scale(sine, e), cosine, left), i, length};
        }
        if (turn + half > high) {
            high = turn + half;
            t[1] = (perpi_corner_line){v3_madd(v3_scale(sine, e), -cosine, left), i, length};
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

/* ---- fast rotations -------------------------------------------------------------------------------------- */

/* A disc inscribed in the polygon, about its centre of area (world). */
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

/* Where a polygon may rotate by more than theta, vertices can come into contact that are in no
 * pair. An inscribed disc of each polygon must not penetrate the other, for any rotation. */
static perp_status add_discs(const perpi_shape* shape[2], const perpi_pose* pose[2], double margin,
                             perpi_candidate_list* list)
{
    const bool flipped = list->flipped;
    const vec3 side = list->side;
    perp_status status = PERP_OK;
    for (int k = 0; k < 2 && status == PERP_OK; ++k) { /* the disc of 1 - k against k */
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
                                  double margin, perpi_candidate_list* list)
{
    perpi_outline a, b;
    perpi_outline_make(shape_a, pose_a, pose_a->x, &a);
    perpi_outline_make(shape_b, pose_b, pose_a->x, &b);
    perpi_polygon_meeting m = {.o = {&a, &b}, .origin = pose_a->x, .margin = margin, .list = list};
    m.size = a.size < b.size ? a.size : b.size;
    m.near = list->rule != NULL ? list->rule->near * margin : margin;
    m.theta = perpi_clamp(margin / m.size, PERPI_POLYGON_SAME_ANGLE, THETA_MAX);
    perpi_feature_pair best;
    if (!collect(&m, false, &best)) {
        return PERP_OK;
    }
    if (m.count == 0) {
        /* apart, corner to corner, or deep overlap: all edges are needed */
        if (!collect(&m, true, &best) || best.psi > 0.0) {
            return PERP_OK;
        }
        return list->rule == NULL ? add_plain(&m, &best) : perpi_polygon_add(&m, &best, 0, false);
    }
    const perp_status status =
        list->rule != NULL ? list->rule->polygons(&m, &best) : add_plain(&m, &best);
    const perpi_shape* shape[2] = {shape_a, shape_b};
    const perpi_pose* pose[2] = {pose_a, pose_b};
    return status == PERP_OK && margin > THETA_MAX * m.size ? add_discs(shape, pose, margin, list)
                                                            : status;
}

/* ---- with a half-plane ------------------------------------------------------------------------------------ */

/* From the lowest vertex outwards, up to the margin. Feature: the vertex. */
perp_status perpi_plane_polygon(const perpi_shape* a, const perpi_pose* pose_a,
                                const perpi_shape* b, const perpi_pose* pose_b, double margin,
                                perpi_candidate_list* list)
{
    const vec3 n = m3_mul(pose_a->R, a->normal);
    const double offset = v3_dot(n, pose_a->x) + a->offset;
    perpi_outline o;
    perpi_outline_make(b, pose_b, v3(0, 0, 0), &o);
    const int32_t lowest = perpi_outline_farthest(&o, atan2(-n.y, -n.x));
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
                perpi_candidate_add(list, (uint32_t)i, v3_madd(p, -gap, n), p, n, gap);
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

/* Keeps the most open members. */
static void keep_member(ball_member* member, int32_t* count, const ball_member* m)
{
    if (*count < PERPI_POLYGON_MEMBERS) {
        member[(*count)++] = *m;
        return;
    }
    int32_t worst = 0;
    for (int32_t k = 1; k < PERPI_POLYGON_MEMBERS; ++k) {
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
        if (member[i].psi >= floor || v3_dot(member[i].n, apart) >= -PERPI_POLYGON_FACING) {
            out[kept++] = member[i];
        }
    }
    return kept;
}

/* Group 1, or 2: the path group. A single member forms no group. */
static perp_status add_ball_members(const perpi_pose* pose, const ball_member* member,
                                    int32_t count, int32_t group, perpi_candidate_list* list)
{
    perp_status status = PERP_OK;
    list->group = count > 1 ? group : 0;
    for (int32_t i = 0; status == PERP_OK && i < count; ++i) {
        const ball_member* m = &member[i];
        const vec3 foot = v3_add(pose->x, m->foot);
        const uint32_t name = m->feature | (uint32_t)(list->group % GUARD);
        status = perpi_candidate_add(list, perpi_candidate_unused(list, name), foot,
                                     v3_madd(foot, m->psi, m->n), m->n, m->psi);
    }
    list->group = 0;
    return status;
}

/* A disc at a world point. Features: an edge, or 2^20 + a vertex, then the group, numbered from `groups`
 * + 1 on. */
static perp_status polygon_disc(const perpi_shape* shape, const perpi_pose* pose, vec3 center,
                                double r, double margin, int32_t groups, perpi_candidate_list* list)
{
    perpi_outline o;
    perpi_outline_make(shape, pose, pose->x, &o);
    const vec3 c = v3_sub(center, pose->x);
    const double near = list->rule == NULL ? margin : 2.0 * margin;
    ball_member member[PERPI_POLYGON_MEMBERS], best = {.psi = -INFINITY},
                                               tangent = {.psi = -INFINITY};
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
        if (list->sided && v3_dot(n, list->side) < -PERPI_POLYGON_FACING) {
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
            if ((t < 0.0 || t > length) && distance > PERPI_CANDIDATE_VANISH * o.size &&
                !list->sided) {
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
    /* far-side members only if there is a path past the near side */
    const vec3 apart = tangent.psi > -INFINITY ? tangent.n : closest < INFINITY ? over : best.n;
    const double gap = tangent.psi > -INFINITY ? tangent.psi : best.psi;
    const double floor =
        (gap < 0.0 ? PERPI_POLYGON_DEPTH * gap : 0.0) - PERPI_CANDIDATE_TIE * o.size;
    /* Lines that pass through the disc far from the edge would be left by a turn of the polygon, with a lever
     * longer than the polygon: an overlap deeper than it has the direction of least depth alone. */
    const bool alone = list->rule == NULL || gap < -o.size;
    count = alone ? 0 : count;
    if (tangent.psi > -INFINITY) {
        if (count == 0) {
            best = tangent;
        } else {
            keep_member(member, &count, &tangent);
        }
    }
    if (count == 0) {
        member[0] = best;
        count = 1;
    }
    ball_member near_side[PERPI_POLYGON_MEMBERS + 2];
    const int32_t nears = near_members(member, count, apart, floor, near_side);
    if (nears == 0 || nears == count) {
        return add_ball_members(pose, member, count, groups + 1, list);
    }
    perpi_corner_line line[2];
    const vec3 outside = v3_madd(c, perpi_candidate_step_out(gap, margin), apart);
    const int32_t lines = perpi_outline_touching_lines(&o, outside, r, apart, near, line);
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
                               double margin, perpi_candidate_list* list)
{
    const double r = round_shape->type == PERP_SHAPE_CIRCLE ? round_shape->radius : 0.0;
    return polygon_disc(shape, pose, round_pose->x, r, margin, 0, list);
}
