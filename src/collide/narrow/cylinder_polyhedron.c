/* src/collide/narrow/cylinder_polyhedron.c - a cylinder with a convex polyhedron (or a box).
 *
 * First the direction of largest separation or least depth: apart, the line between the closest points;
 * overlapping, the best of the normals of faces and ends, of the directions across the side and an edge
 * or through a vertex, and of those in which an edge meets the rim. Then the contact
 * points along it: for a flat end on a face the polygon of eight points of the rim, clipped to the face;
 * for a side on a face, or along an edge, the two ends of the common segment; otherwise one point. All
 * have the same normal, so that each is a valid constraint between two supporting planes.
 *
 * All coordinates are in the polyhedron's frame; n points from the polyhedron to the cylinder.
 */
#include "collide/narrow/choice.h"
#include "collide/narrow/gjk.h"
#include "collide/narrow/rod.h"
#include "collide/narrow/round.h"
#include "shape/polyhedron.h"

enum { CORNERS = 64, EDGE_RIM_LIMIT = 300, ARC_PARTS = 8, ARC_STEPS = 60 };
#define ARC_FINE 1e-9 /* of an arc */

typedef struct pair {
    const perpi_polyhedron* p;
    const perpi_pose* pose;
    perpi_rod rod;
    double size; /* of the smaller one, for tolerances */
    double margin;
    perpi_candidate_list* list;
} pair;

/* ---- supports ---------------------------------------------------------------------------------------- */

static vec3 polyhedron_support(const void* body, vec3 direction)
{
    const perpi_polyhedron* p = body;
    return p->vertex[perpi_polyhedron_support(p, direction, 0)];
}

/* ---- the direction when they overlap -------------------------------------------------------------- */

typedef struct direction {
    vec3 n;
    double s; /* separation along it, < 0: depth */
} direction;

/* favour: the improvement required to replace a direction already found, so that of equals the flat
 * one stays. */
static void consider_direction(direction* best, vec3 n, double s, double favour)
{
    if (s > best->s + favour) {
        *best = (direction){n, s};
    }
}

/* The directions in which an edge is outermost, w(t) = n0 + t along, 0 <= t <= 1, and a vertex v of it. */
typedef struct edge_arc {
    const perpi_rod* rod;
    vec3 n0, along, v;
} edge_arc;

static direction arc_direction(const edge_arc* arc, double t)
{
    const vec3 n = v3_unit(v3_madd(arc->n0, t, arc->along));
    return (direction){n, perpi_rod_low(arc->rod, n) - v3_dot(n, arc->v)};
}

/* The sign of ds/dt. With y the lowest point of the cylinder along w, the separation is
 * s = w . (y - v) / |w|, and y is stationary. */
static double arc_slope(const edge_arc* arc, double t)
{
    const vec3 w = v3_madd(arc->n0, t, arc->along);
    const vec3 d = v3_sub(perpi_rod_support(arc->rod, v3_neg(w)), arc->v);
    return v3_dot(d, arc->along) * v3_dot(w, w) - v3_dot(d, w) * v3_dot(w, arc->along);
}

/* Where the slope changes from at_lo > 0 to at_hi < 0: by false position, every third time by bisection
 * because it jumps where the lowest point changes to the other end of the cylinder. */
static double arc_maximum(const edge_arc* arc, double lo, double hi, double at_lo, double at_hi)
{
    double t = lo;
    int moved = 0; /* the end that moved last: the other one counts half, so that it moves too */
    for (int i = 0; i < ARC_STEPS && hi - lo > ARC_FINE; ++i) {
        t = i % 3 == 2 ? 0.5 * (lo + hi) : lo + (hi - lo) * (at_lo / (at_lo - at_hi));
        const double slope = arc_slope(arc, t);
        if (slope > 0.0) {
            at_hi *= moved > 0 ? 0.5 : 1.0;
            lo = t, at_lo = slope, moved = 1;
        } else if (slope < 0.0) {
            at_lo *= moved < 0 ? 0.5 : 1.0;
            hi = t, at_hi = slope, moved = -1;
        } else {
            break;
        }
    }
    return t;
}

/* An edge against the rim: the largest separation along the arc. It can have several maxima. */
static direction edge_rim(const pair* x, int32_t e)
{
    const perpi_edge* edge = &x->p->edge[e];
    const vec3 n0 = x->p->normal[edge->face[0]], n1 = x->p->normal[edge->face[1]];
    const edge_arc arc = {&x->rod, n0, v3_sub(n1, n0), x->p->vertex[edge->vertex[0]]};
    direction best = arc_direction(&arc, 0.0);
    consider_direction(&best, n1, perpi_rod_low(&x->rod, n1) - v3_dot(n1, arc.v), 0.0);
    double slope = arc_slope(&arc, 0.0);
    for (int i = 0; i < ARC_PARTS; ++i) {
        const double lo = (double)i / ARC_PARTS, hi = (double)(i + 1) / ARC_PARTS;
        const double next = arc_slope(&arc, hi);
        if (slope > 0.0 && next < 0.0) {
            const direction d = arc_direction(&arc, arc_maximum(&arc, lo, hi, slope, next));
            consider_direction(&best, d.n, d.s, 0.0);
        }
        slope = next;
    }
    return best;
}

/* Whether the separation along the arc of an edge stays below `least`: it is at most d . (y - v)
 * for any point y of the cylinder, and where that is negative at both ends of the arc, it is
 * nowhere above the larger one. */
static bool is_deeper(const pair* x, int32_t e, double least)
{
    const perpi_edge* edge = &x->p->edge[e];
    const vec3 n0 = x->p->normal[edge->face[0]], n1 = x->p->normal[edge->face[1]];
    const vec3 v = x->p->vertex[edge->vertex[0]];
    for (int k = 0; k < 3; ++k) {
        const vec3 y = k == 0   ? x->rod.c
                       : k == 1 ? perpi_rod_support(&x->rod, v3_neg(n0))
                                : perpi_rod_support(&x->rod, v3_neg(n1));
        const double s0 = v3_dot(n0, v3_sub(y, v)), s1 = v3_dot(n1, v3_sub(y, v));
        const double most = s0 > s1 ? s0 : s1;
        if (most < 0.0 && most < least) {
            return true;
        }
    }
    return false;
}

static direction least_deep(const pair* x)
{
    const perpi_polyhedron* p = x->p;
    const perpi_rod* r = &x->rod;
    const double favour = PERPI_CANDIDATE_SAME * x->size;
    direction best = {.s = -INFINITY};
    for (int32_t f = 0; f < p->face_count; ++f) {
        consider_direction(&best, p->normal[f], perpi_rod_low(r, p->normal[f]) - p->offset[f], 0.0);
    }
    for (int way = -1; way <= 1; way += 2) {
        const vec3 n = v3_scale(way, r->a);
        const vec3 v = p->vertex[perpi_polyhedron_support(p, n, 0)];
        consider_direction(&best, n, v3_dot(n, r->c) - r->l - v3_dot(n, v), favour);
    }
    for (int32_t e = 0; e < p->edge_count; ++e) {
        const vec3 n0 = p->normal[p->edge[e].face[0]], n1 = p->normal[p->edge[e].face[1]];
        const vec3 v = p->vertex[p->edge[e].vertex[0]];
        const vec3 d = v3_sub(p->vertex[p->edge[e].vertex[1]], v);
        const vec3 w = v3_cross(r->a, d);
        if (v3_dot(n0, r->a) * v3_dot(n1, r->a) < 0.0 &&
            v3_norm(w) > PERPI_CANDIDATE_PARALLEL * v3_norm(d)) {
            const vec3 n = v3_unit(v3_dot(w, v3_add(n0, n1)) < 0.0 ? v3_neg(w) : w);
            consider_direction(&best, n, v3_dot(n, v3_sub(r->c, v)) - r->r, favour);
        }
        if (p->edge_count <= EDGE_RIM_LIMIT && !is_deeper(x, e, best.s)) {
            const direction rim = edge_rim(x, e);
            consider_direction(&best, rim.n, rim.s, favour);
        }
    }
    for (int32_t i = 0; i < p->vertex_count; ++i) {
        const vec3 d = v3_sub(r->c, p->vertex[i]);
        const vec3 side = v3_madd(d, -v3_dot(d, r->a), r->a);
        const double length = v3_norm(side);
        if (!(length > PERPI_CANDIDATE_VANISH * x->size)) {
            continue;
        }
        const vec3 n = v3_scale(1.0 / length, side);
        bool outermost = true;
        for (int32_t k = p->around_start[i]; k < p->around_start[i + 1] && outermost; ++k) {
            const perpi_edge* e = &p->edge[p->around[k]];
            const int32_t other = e->vertex[0] == i ? e->vertex[1] : e->vertex[0];
            outermost = v3_dot(n, v3_sub(p->vertex[other], p->vertex[i])) <= 0.0;
        }
        if (outermost) {
            consider_direction(&best, n, length - r->r, favour);
        }
    }
    return best;
}

/* ---- the points ------------------------------------------------------------------------------------------ */

/* x: on the cylinder, gap along n to the polyhedron. */
static perp_status add_point(const pair* x, uint32_t feature, vec3 at, vec3 n, double gap)
{
    if (!(gap <= x->margin)) {
        return PERP_OK;
    }
    const vec3 b = perpi_pose_point(x->pose, at), normal = m3_mul(x->pose->R, n);
    return perpi_candidate_add(x->list, feature, v3_madd(b, -gap, normal), b, normal, gap);
}

/* Whether a point lies over the face, up to tiny. */
static bool over_face(const perpi_polyhedron* p, int32_t f, vec3 x, double tiny)
{
    for (int32_t c = p->face_start[f]; c < p->face_start[f + 1]; ++c) {
        const int32_t next = c + 1 < p->face_start[f + 1] ? c + 1 : p->face_start[f];
        const vec3 a = p->vertex[p->corner[c]], e = v3_sub(p->vertex[p->corner[next]], a);
        const vec3 in = v3_cross(p->normal[f], e);
        if (!(v3_dot(in, v3_sub(x, a)) >= -tiny * v3_norm(in))) {
            return false;
        }
    }
    return true;
}

/* The end of the cylinder as a polygon, clipped to the face. */
static int cut_to_face(const perpi_polyhedron* p, int32_t f, vec3* x, int count)
{
    vec3 y[CORNERS];
    for (int32_t c = p->face_start[f]; c < p->face_start[f + 1] && count > 0; ++c) {
        const int32_t next = c + 1 < p->face_start[f + 1] ? c + 1 : p->face_start[f];
        const vec3 a = p->vertex[p->corner[c]], e = v3_sub(p->vertex[p->corner[next]], a);
        const vec3 in = v3_cross(p->normal[f], e);
        int n = 0;
        for (int i = 0; i < count; ++i) {
            const vec3 s = x[i], t = x[(i + 1) % count];
            const double hs = v3_dot(in, v3_sub(s, a)), ht = v3_dot(in, v3_sub(t, a));
            if (hs >= 0.0 && n < CORNERS) {
                y[n++] = s;
            }
            if ((hs < 0.0) != (ht < 0.0) && hs != 0.0 && ht != 0.0 && n < CORNERS) {
                y[n++] = v3_madd(s, hs / (hs - ht), v3_sub(t, s));
            }
        }
        for (int i = 0; i < n; ++i) {
            x[i] = y[i];
        }
        count = n;
    }
    return count;
}

/* The part of the segment s over the face. */
static bool stretch_over_face(const perpi_polyhedron* p, int32_t f, const perpi_segment* s,
                              double* lo, double* hi)
{
    *lo = -s->l;
    *hi = s->l;
    for (int32_t c = p->face_start[f]; c < p->face_start[f + 1]; ++c) {
        const int32_t next = c + 1 < p->face_start[f + 1] ? c + 1 : p->face_start[f];
        const vec3 a = p->vertex[p->corner[c]], e = v3_sub(p->vertex[p->corner[next]], a);
        const vec3 in = v3_cross(p->normal[f], e);
        const double at = v3_dot(in, v3_sub(s->c, a)), speed = v3_dot(in, s->u);
        if (fabs(speed) <= 1e-12 * v3_norm(in)) {
            if (at < -1e-9 * v3_norm(in)) {
                return false;
            }
            continue;
        }
        if (speed > 0.0) {
            *lo = fmax(*lo, -at / speed);
        } else {
            *hi = fmin(*hi, -at / speed);
        }
    }
    return *lo <= *hi;
}

/* On a face: the rim's points within the margin; lying, both ends of the lowest line. */
static perp_status add_face_points(const pair* x, int32_t f)
{
    const perpi_polyhedron* p = x->p;
    const perpi_rod* r = &x->rod;
    const vec3 n = p->normal[f];
    const double t = v3_dot(n, r->a), sine = v3_norm(v3_madd(n, -t, r->a));
    const double end = t > 0.0 ? -1.0 : 1.0; /* which end is lower */
    perp_status status = PERP_OK;
    if (sine < PERPI_CANDIDATE_PARALLEL) {
        vec3 polygon[CORNERS];
        for (int k = 0; k < PERPI_RIM; ++k) {
            polygon[k] = perpi_rod_rim(r, end, k);
        }
        const int count = cut_to_face(p, f, polygon, PERPI_RIM);
        double least = INFINITY;
        for (int k = 0; k < count && status == PERP_OK; ++k) {
            const double gap = v3_dot(n, polygon[k]) - p->offset[f];
            least = fmin(least, gap);
            status = add_point(x, (uint32_t)k, polygon[k], n, gap);
        }
        /* for a small tilt the rim is lowest between two of its eight points */
        const vec3 at = perpi_rod_support(r, v3_neg(n));
        const double gap = v3_dot(n, at) - p->offset[f];
        if (status == PERP_OK && gap < least - PERPI_CANDIDATE_SAME * x->size &&
            over_face(p, f, at, 0.0)) {
            status = add_point(x, 66, at, n, gap);
        }
        return status;
    }
    const vec3 low = v3_scale(-r->r / sine, v3_madd(n, -t, r->a));
    const perpi_segment line = {v3_add(r->c, low), r->a, r->l};
    double s[2];
    const bool lying = fabs(t) < PERPI_CANDIDATE_PARALLEL;
    if (lying && stretch_over_face(p, f, &line, &s[0], &s[1])) {
        const int ends = s[1] - s[0] > PERPI_CANDIDATE_SAME * x->size ? 2 : 1;
        for (int k = 0; k < ends && status == PERP_OK; ++k) {
            const vec3 at = perpi_segment_at(&line, s[k]);
            status = add_point(x, 64 + (uint32_t)k, at, n, v3_dot(n, at) - p->offset[f]);
        }
        return status;
    }
    /* tilted: the lowest point, and those that may become lowest within the step */
    for (int k = 0; k < 2 && status == PERP_OK; ++k) {
        const vec3 at = perpi_segment_at(&line, (k == 0 ? end : -end) * r->l);
        if (k == 0 || over_face(p, f, at, 0.0)) {
            status = add_point(x, 66 + (uint32_t)k, at, n, v3_dot(n, at) - p->offset[f]);
        }
    }
    for (int k = 0; k < PERPI_RIM && status == PERP_OK; ++k) {
        const vec3 at = perpi_rod_rim(r, end, k);
        const bool same = v3_norm(v3_sub(at, perpi_segment_at(&line, end * r->l))) <
                          PERPI_CANDIDATE_SAME * x->size;
        if (!same && over_face(p, f, at, 0.0)) {
            status = add_point(x, 72 + (uint32_t)k, at, n, v3_dot(n, at) - p->offset[f]);
        }
    }
    return status;
}

/* An edge at vertex v that is level along n (up to sine), or -1. */
static int32_t level_edge(const perpi_polyhedron* p, int32_t v, vec3 n, double sine)
{
    int32_t best = -1;
    for (int32_t k = p->around_start[v]; k < p->around_start[v + 1]; ++k) {
        const perpi_edge* e = &p->edge[p->around[k]];
        const vec3 d = v3_sub(p->vertex[e->vertex[1]], p->vertex[e->vertex[0]]);
        const double lean = fabs(v3_dot(n, d)) / v3_norm(d);
        if (lean < sine) {
            sine = lean;
            best = p->around[k];
        }
    }
    return best;
}

static perpi_segment segment_of(const perpi_polyhedron* p, int32_t e)
{
    const vec3 a = p->vertex[p->edge[e].vertex[0]], b = p->vertex[p->edge[e].vertex[1]];
    const double length = v3_norm(v3_sub(b, a));
    return (perpi_segment){v3_scale(0.5, v3_add(a, b)), v3_scale(1.0 / length, v3_sub(b, a)),
                           0.5 * length};
}

/* On the flat end: a vertex of the polyhedron, or both ends of an edge, clipped to the disc. Adds
 * nothing if they are beside the disc. */
static perp_status add_end_points(const pair* x, vec3 n, int32_t v)
{
    const perpi_rod* r = &x->rod;
    const double plane = v3_dot(n, r->c) - r->l;
    const int32_t e = level_edge(x->p, v, n, PERPI_CANDIDATE_PARALLEL);
    if (e < 0) {
        const vec3 at = x->p->vertex[v];
        const double gap = plane - v3_dot(n, at);
        if (perpi_rod_off_axis(r, at) > r->r) {
            return PERP_OK;
        }
        return add_point(x, 80, v3_madd(at, gap, n), n, gap);
    }
    const perpi_segment s = segment_of(x->p, e);
    /* |across + t u'| <= r, in projection along the axis */
    const vec3 d = v3_sub(s.c, r->c);
    const vec3 across = v3_madd(d, -v3_dot(d, r->a), r->a);
    const vec3 u = v3_madd(s.u, -v3_dot(s.u, r->a), r->a);
    const double A = v3_dot(u, u), B = v3_dot(u, across), C = v3_dot(across, across) - r->r * r->r;
    const double root = B * B - A * C;
    if (!(root > 0.0)) {
        return PERP_OK;
    }
    const double end[2] = {fmax((-B - sqrt(root)) / A, -s.l), fmin((-B + sqrt(root)) / A, s.l)};
    if (!(end[0] <= end[1])) {
        return PERP_OK;
    }
    const int ends = end[1] - end[0] > PERPI_CANDIDATE_SAME * x->size ? 2 : 1;
    perp_status status = PERP_OK;
    for (int k = 0; k < ends && status == PERP_OK; ++k) {
        const vec3 at = perpi_segment_at(&s, end[k]);
        const double gap = plane - v3_dot(n, at);
        status = add_point(x, 81 + (uint32_t)k, v3_madd(at, gap, n), n, gap);
    }
    return status;
}

/* On the side: along an edge, across an edge, or a vertex. */
static perp_status add_side_points(const pair* x, vec3 n, int32_t v, double s)
{
    const perpi_rod* r = &x->rod;
    const perpi_segment line = {v3_madd(r->c, -r->r, n), r->a, r->l};
    const int32_t e = level_edge(x->p, v, n, PERPI_CANDIDATE_PARALLEL);
    if (e >= 0) {
        const perpi_segment edge = segment_of(x->p, e);
        perpi_chord chord[2];
        if (v3_norm(v3_cross(edge.u, r->a)) < PERPI_CANDIDATE_PARALLEL &&
            perpi_segment_overlap(&line, &edge, PERPI_CANDIDATE_SAME * x->size, chord)) {
            perp_status status = PERP_OK;
            for (int k = 0; k < 2 && status == PERP_OK; ++k) {
                const vec3 at = perpi_segment_at(&line, chord[k].s);
                const double gap = v3_dot(n, v3_sub(at, perpi_segment_at(&edge, chord[k].t)));
                status = add_point(x, 88 + (uint32_t)k, at, n, gap);
            }
            return status;
        }
        perpi_segment flat = line;
        flat.c = v3_madd(flat.c, -s, n);
        const perpi_chord one = perpi_segment_closest(&flat, &edge);
        return add_point(x, 90, perpi_segment_at(&line, one.s), n, s);
    }
    const double t = v3_dot(v3_sub(x->p->vertex[v], r->c), r->a);
    return add_point(x, 91, perpi_segment_at(&line, perpi_clamp(t, -r->l, r->l)), n, s);
}

static double least_row(const perpi_candidate_list* list, size_t first)
{
    double least = INFINITY;
    for (size_t i = first; i < list->count; ++i) {
        least = list->item[i].gap < least ? list->item[i].gap : least;
    }
    return least;
}

static perp_status add_points_along(const pair* x, direction d, const perpi_gjk* closest)
{
    const perpi_polyhedron* p = x->p;
    const perpi_rod* r = &x->rod;
    const int32_t v = perpi_polyhedron_support(p, d.n, 0);
    /* the face whose normal is nearest to this direction */
    int32_t face = -1;
    double sine = PERPI_CANDIDATE_PARALLEL;
    for (int32_t k = p->around_start[v]; k < p->around_start[v + 1]; ++k) {
        const perpi_edge* e = &p->edge[p->around[k]];
        const int32_t f = e->face[e->vertex[0] == v ? 0 : 1];
        const double off = v3_norm(v3_cross(p->normal[f], d.n));
        if (off < sine && v3_dot(p->normal[f], d.n) > 0.0) {
            sine = off;
            face = f;
        }
    }
    const size_t before = x->list->count;
    const double t = v3_dot(d.n, r->a);
    perp_status status = PERP_OK;
    if (face >= 0) {
        status = add_face_points(x, face);
    } else if (v3_norm(v3_cross(d.n, r->a)) < PERPI_CANDIDATE_PARALLEL) {
        status = add_end_points(x, v3_scale(t < 0.0 ? -1.0 : 1.0, r->a), v);
    }
    if (status != PERP_OK || x->list->count > before) {
        /* for a small tilt the closest point of an end can lie between the points that represent
         * the rim */
        const bool lower =
            status == PERP_OK && least_row(x->list, before) > d.s + PERPI_CANDIDATE_SAME * x->size;
        const vec3 at = closest != NULL ? closest->b : perpi_rod_support(r, v3_neg(d.n));
        return lower ? add_point(x, 98, at, d.n, d.s) : status;
    }
    if (closest != NULL && !(fabs(t) < 1e-6)) {
        return add_point(x, 96, closest->b, d.n, d.s);
    }
    if (fabs(t) < 1e-6) {
        return add_side_points(x, v3_unit(v3_madd(d.n, -t, r->a)), v, d.s);
    }
    return add_point(x, 97, perpi_rod_support(r, v3_neg(d.n)), d.n, d.s);
}

/* ---- alternative directions: see choice.h ---------------------------------------------------------- */

enum { CHOOSE_EDGE = 0x2000, CHOOSE_SIDE = 0x3FFD, CHOOSE_LOW = 0x3FFE, CHOOSE_HIGH = 0x3FFF };
#define NEAR_EDGE 4.0 /* times the margin: closer edges can meet the rim */

/* A face of the polyhedron with the lowest point of the cylinder at the end of the step; or (face
 * false) a flat end or side of the cylinder with the highest vertex of the polyhedron. */
static void offer_direction(const pair* x, perpi_choices* choices, vec3 n, vec3 at, bool face,
                            vec3 way, uint32_t id)
{
    perpi_choice c = {.n = m3_mul(x->pose->R, way), .id = id};
    for (int32_t k = -1; k < x->list->spins; ++k) {
        const vec3 spin = k < 0 ? v3(0, 0, 0) : m3_tmul(x->pose->R, x->list->spin[k]);
        const vec3 top = face ? way : q4_rotate(q4_exp(spin), way);
        const vec3 v = x->p->vertex[perpi_polyhedron_support(x->p, top, 0)];
        const vec3 low = perpi_rod_nearest_at_end(&x->rod, v3_neg(way), spin, at);
        const double s =
            face ? v3_dot(way, v3_sub(low, v)) : perpi_rod_low(&x->rod, way) - v3_dot(way, v);
        const vec3 b = face ? low : v3_madd(v, s, way);
        perpi_choice_row(&c, perpi_pose_point(x->pose, b), s, 0.01 * x->margin);
    }
    perpi_choices_take(choices, m3_mul(x->pose->R, n), x->margin, &c);
}

/* The direction across the axis with the largest separation: through a vertex, or across an
 * edge. */
static direction best_side(const pair* x)
{
    const perpi_polyhedron* p = x->p;
    direction best = {.s = -INFINITY};
    for (int32_t i = 0; i < p->vertex_count + p->edge_count; ++i) {
        vec3 w;
        int32_t own = i; /* a vertex of this feature */
        if (i < p->vertex_count) {
            w = v3_sub(x->rod.c, p->vertex[i]);
            w = v3_madd(w, -v3_dot(w, x->rod.a), x->rod.a);
        } else {
            const perpi_edge* e = &p->edge[i - p->vertex_count];
            own = e->vertex[0];
            w = v3_cross(x->rod.a, v3_sub(p->vertex[e->vertex[1]], p->vertex[e->vertex[0]]));
            w = v3_dot(w, v3_add(p->normal[e->face[0]], p->normal[e->face[1]])) < 0.0 ? v3_neg(w)
                                                                                      : w;
        }
        const double length = v3_norm(w);
        if (!(length > PERPI_CANDIDATE_VANISH * x->size)) {
            continue;
        }
        const vec3 n = v3_scale(1.0 / length, w);
        const double low = perpi_rod_low(&x->rod, n);
        if (!(low - v3_dot(n, p->vertex[own]) > best.s)) {
            continue; /* the highest vertex is no lower than its own */
        }
        const vec3 v = p->vertex[perpi_polyhedron_support(p, n, 0)];
        consider_direction(&best, n, low - v3_dot(n, v), 0.0);
    }
    return best;
}

static perp_status choose_directions(const pair* x, size_t first)
{
    if (x->list->count == first || !perpi_candidate_groups(x->list)) {
        return PERP_OK;
    }
    const perpi_polyhedron* p = x->p;
    const perpi_candidate* candidate = &x->list->item[first];
    const bool flipped = x->list->flipped;
    const vec3 n = m3_tmul(x->pose->R, flipped ? v3_neg(candidate->normal) : candidate->normal);
    const vec3 at =
        m3_tmul(x->pose->R, v3_sub(flipped ? candidate->point_a : candidate->point_b, x->pose->x));
    perpi_choices choices = perpi_choices_for(x->list, first);
    for (int32_t f = 0; f < p->face_count; ++f) {
        if (perpi_rod_low(&x->rod, p->normal[f]) - p->offset[f] >= -x->margin) {
            offer_direction(x, &choices, n, at, true, p->normal[f], (uint32_t)f % CHOOSE_EDGE);
        }
    }
    const size_t rows = x->list->count;
    for (int32_t e = 0; e < p->edge_count; ++e) {
        const perpi_segment s = segment_of(p, e);
        bool near = false;
        for (size_t i = first; i < rows && !near; ++i) {
            const perpi_candidate* row = &x->list->item[i];
            const vec3 y = v3_sub(flipped ? row->point_b : row->point_a, x->pose->x);
            const vec3 d = v3_sub(m3_tmul(x->pose->R, y), s.c);
            const vec3 off = v3_madd(d, -perpi_clamp(v3_dot(d, s.u), -s.l, s.l), s.u);
            near = v3_dot(off, off) <= NEAR_EDGE * NEAR_EDGE * x->margin * x->margin;
        }
        if (near) {
            offer_direction(x, &choices, n, at, false, edge_rim(x, e).n,
                            CHOOSE_EDGE + (uint32_t)e % (CHOOSE_SIDE - CHOOSE_EDGE));
        }
    }
    offer_direction(x, &choices, n, at, false, v3_neg(x->rod.a), CHOOSE_LOW);
    offer_direction(x, &choices, n, at, false, x->rod.a, CHOOSE_HIGH);
    const direction side = best_side(x);
    if (side.s > -INFINITY) {
        offer_direction(x, &choices, n, at, false, side.n, CHOOSE_SIDE);
    }
    return perpi_candidate_choose(x->list, first, &choices);
}

perp_status perpi_polyhedron_cylinder(const perpi_shape* a, const perpi_pose* pose_a,
                                      const perpi_shape* b, const perpi_pose* pose_b, double margin,
                                      perpi_candidate_list* list)
{
    const perpi_polyhedron* p = a->polyhedron;
    const mat3 R = m3_mm(m3_transpose(pose_a->R), pose_b->R);
    pair x = {.p = p,
              .pose = pose_a,
              .rod = {m3_tmul(pose_a->R, v3_sub(pose_b->x, pose_a->x)), m3_column(R, 2),
                      m3_column(R, 0), m3_column(R, 1), 0.5 * b->length, b->radius},
              .margin = margin,
              .list = list};
    const double reach = hypot(x.rod.l, x.rod.r);
    x.size = p->size < reach ? p->size : reach;
    const double tiny = 1e-7 * x.size; /* a shorter difference of points has no accurate
                                        * direction */
    const perpi_gjk closest =
        perpi_gjk_within(p, polyhedron_support, &x.rod, perpi_rod_support, x.rod.c, tiny, margin);
    if (!(closest.distance <= margin)) {
        return PERP_OK;
    }
    const size_t first = list->count;
    perp_status status;
    if (closest.distance > 0.0) {
        const direction d = {v3_scale(1.0 / closest.distance, v3_sub(closest.b, closest.a)),
                             closest.distance};
        status = add_points_along(&x, d, &closest);
    } else {
        status = add_points_along(&x, least_deep(&x), NULL);
    }
    return status == PERP_OK ? choose_directions(&x, first) : status;
}
