/* src/collide/crossing.c - see crossing.h.
 *
 * Notation   C(s) = {b - a}: the pieces are apart at s if a direction n has
 *                sep_n(s) = min over C(s) of n . c > 0
 *            evaluated by two support points. GJK proposes n; sep_n is exact for every n, so that
 *            nothing below depends on the convergence of GJK.
 * Method     conservative advancement: sep_n falls no faster than
 *                mu = max(0, -n . dx') + |n x turn_a| R_a + |n x turn_b| R_b   per unit of s
 *            (R: the farthest point from the centre of mass), so the pieces are still apart at
 *            s + sep_n / mu. Forward from s = 0 to the first contact, backward from s = 1 to
 *            the last. Thin pieces cannot be missed. Separate contact intervals are not distinguished: a
 *            pair that separates and meets again within the step counts from the first contact to the
 *            last. Without rotation there is one interval, because C is convex; with rotation the
 *            normals before the first contact and after the last still decide the sides.
 * Bound      let D be the largest relative displacement of points of the pair, w the sum of the two
 *            thicknesses. C lies in {n1 . c >= 0} at s1. On the opposite side at s2, every point of C
 *            has n1 . c <= 0: the one farthest along n1 has come at least the width of C along n1,
 *            which is at least w. Overlapping at the end with the opposite direction of least depth, the
 *            origin is beyond the middle of C: at least w / 2, less the depth at the start. So a pair
 *            with D + depth < w / 2 need not be tested. (Cutting off the tip of a wedge takes less, and
 *            is not passing through it.) The caller may use a smaller bound.
 * Grazing    pieces of a floor that lie side by side: a body that slides over the seam meets the side
 *            of the next piece by rounding. If one direction has sep_n >= -graze at several poses
 *            along the path, the pair has not crossed. Without rotation this test is exact: sep_n is
 *            linear in s.
 */
#include "collide/crossing.h"

#include <math.h>

#include "collide/narrow/gjk.h"
#include "shape/polyhedron.h"
#include "shape/smooth.h"

enum { MAX_ADVANCE = 200, MAX_CANDIDATES = 256, STARTS = 3, POSES = 5 };
/* Of the sum of the thicknesses: a smaller separation counts as contact. */
static const double CONTACT_GAP = 1e-4;
/* Factor on the least depth at the end: if a direction that opposes the first normal is less deep
 * than this, the pair is at the middle, where rounding decides which of the two is least. Opposes:
 * the cosine. */
static const double MIDDLE = 1.05;
static const double OPPOSED = -0.2;
/* Of the size: a shorter distance of two points defines no direction. */
static const double VANISH = 1e-8;

perpi_pose perpi_path_at(const perpi_path* path, double s)
{
    perpi_pose pose;
    pose.x = v3_madd(v3_madd(path->start.x, s, path->dx), s * s, path->bend);
    if (path->turn.x == 0.0 && path->turn.y == 0.0 && path->turn.z == 0.0) {
        pose.q = path->start.q;
        pose.R = path->start.R;
        return pose;
    }
    const quat turn = q4_exp(v3_scale(s, path->turn));
    pose.q = q4_mul(turn, path->start.q);
    pose.R = m3_mm(q4_matrix(turn), path->start.R);
    return pose;
}

/* ---- shapes -----------------------------------------------------------------------------------------*/

static double polygon_thickness(const perpi_shape* shape)
{
    double least = INFINITY;
    for (int32_t i = 0; i < shape->count; ++i) {
        const double x = shape->edge[2 * i], y = shape->edge[2 * i + 1];
        const double *on = shape->vertex + 2 * i,
                     *far = shape->vertex + 2 * perpi_polygon_support(shape, -x, -y);
        least = fmin(least, x * (on[0] - far[0]) + y * (on[1] - far[1]));
    }
    return least;
}

static double polyhedron_thickness(const perpi_polyhedron* p)
{
    double least = INFINITY;
    for (int32_t i = 0; i < p->face_count; ++i) {
        least = fmin(least, p->offset[i] - v3_dot(p->normal[i], p->mass.center));
    }
    return 2.0 * least;
}

double perpi_shape_thickness(const perpi_shape* shape)
{
    const vec3 h = shape->half, r = shape->radii;
    /* with an exponent of 1 a superquadric is an octahedron, of 2 an ellipsoid */
    const double plane = shape->exponent[0] < 2.0 ? sqrt(0.5) : 1.0;
    const double space = shape->exponent[0] < 2.0 || shape->exponent[1] < 2.0 ? sqrt(1 / 3.0) : 1.0;
    double t = 0.0;
    switch (shape->type) {
    case PERP_SHAPE_SPHERE:
    case PERP_SHAPE_CIRCLE:
    case PERP_SHAPE_CAPSULE: t = 2.0 * shape->radius; break;
    case PERP_SHAPE_BOX: t = 2.0 * fmin(h.x, fmin(h.y, h.z)); break;
    case PERP_SHAPE_BOX2: t = 2.0 * fmin(h.x, h.y); break;
    case PERP_SHAPE_CYLINDER: t = fmin(2.0 * shape->radius, shape->length); break;
    case PERP_SHAPE_POLYGON: t = polygon_thickness(shape); break;
    case PERP_SHAPE_POLYHEDRON: t = polyhedron_thickness(shape->polyhedron); break;
    case PERP_SHAPE_ELLIPSOID: t = 2.0 * fmin(r.x, fmin(r.y, r.z)); break;
    case PERP_SHAPE_SUPERQUADRIC: t = 2.0 * space * fmin(r.x, fmin(r.y, r.z)); break;
    case PERP_SHAPE_SUPERELLIPSE: t = 2.0 * plane * fmin(r.x, r.y); break;
    case PERP_SHAPE_PARTICLE:
    case PERP_SHAPE_PLANE:
    case PERP_SHAPE_HALFPLANE:
    case PERP_SHAPE_MESH:
    case PERP_SHAPE_TYPE_COUNT: break;
    }
    return t > 0.0 ? t : 0.0;
}

double perpi_shape_radius(const perpi_shape* shape)
{
    const perpi_shape_ops* ops = perpi_shape_ops_of(shape->type);
    return v3_norm(shape->local.x) + (ops->reach != NULL ? ops->reach(shape) : 0.0);
}

/* Radius r of the rounding: a shape is the set of points within r of its core. GJK works on
 * cores. */
double perpi_shape_rounding(const perpi_shape* shape)
{
    return shape->type == PERP_SHAPE_SPHERE || shape->type == PERP_SHAPE_CIRCLE ||
                   shape->type == PERP_SHAPE_CAPSULE
               ? shape->radius
               : 0.0;
}

static double half_sign(double half, double d)
{
    return d < 0.0 ? -half : half;
}

/* The point of the core farthest along a direction, both in the shape's frame. */
vec3 perpi_shape_core(const perpi_shape* shape, vec3 d)
{
    const vec3 h = shape->half;
    switch (shape->type) {
    case PERP_SHAPE_BOX: return v3(half_sign(h.x, d.x), half_sign(h.y, d.y), half_sign(h.z, d.z));
    case PERP_SHAPE_BOX2: return v3(half_sign(h.x, d.x), half_sign(h.y, d.y), 0.0);
    case PERP_SHAPE_CAPSULE: return v3(0.0, 0.0, half_sign(0.5 * shape->length, d.z));
    case PERP_SHAPE_CYLINDER: {
        const double side = hypot(d.x, d.y), r = side > 0.0 ? shape->radius / side : 0.0;
        return v3(r * d.x, r * d.y, half_sign(0.5 * shape->length, d.z));
    }
    case PERP_SHAPE_POLYGON: {
        const double* v = shape->vertex + 2 * perpi_polygon_support(shape, d.x, d.y);
        return v3(v[0], v[1], 0.0);
    }
    case PERP_SHAPE_POLYHEDRON:
        return shape->polyhedron->vertex[perpi_polyhedron_support(shape->polyhedron, d, 0)];
    case PERP_SHAPE_ELLIPSOID:
    case PERP_SHAPE_SUPERQUADRIC:
    case PERP_SHAPE_SUPERELLIPSE: {
        vec3 point = v3(0, 0, 0);
        (void)perpi_smooth_support(shape, d, &point, NULL);
        return point;
    }
    case PERP_SHAPE_PARTICLE:
    case PERP_SHAPE_SPHERE:
    case PERP_SHAPE_CIRCLE:
    case PERP_SHAPE_PLANE:
    case PERP_SHAPE_HALFPLANE:
    case PERP_SHAPE_MESH:
    case PERP_SHAPE_TYPE_COUNT: break;
    }
    return v3(0, 0, 0);
}

/* A shape at a pose, relative to an origin near it. */
typedef struct placed {
    const perpi_shape* shape;
    perpi_pose pose;
} placed;

static vec3 placed_core(const void* body, vec3 direction)
{
    const placed* p = body;
    return perpi_pose_point(&p->pose, perpi_shape_core(p->shape, m3_tmul(p->pose.R, direction)));
}

/* The farthest point along a unit direction. */
static vec3 placed_support(const placed* p, vec3 n)
{
    return v3_madd(placed_core(p, n), perpi_shape_rounding(p->shape), n);
}

/* ---- a moving pair ---------------------------------------------------------------------------------- */

typedef struct pair {
    int32_t dimension;
    const perpi_shape* shape[2];
    const perpi_path* path[2];
    double radius[2];
    double thickness, size; /* sums */
    vec3 frame;             /* rotation vector of the frame in which normals are compared */
} pair;

typedef struct instant {
    double s;
    placed part[2];
    vec3 origin;
} instant;

static instant instant_at(const pair* P, double s)
{
    instant at = {.s = s};
    for (int i = 0; i < 2; ++i) {
        const perpi_pose body = perpi_path_at(P->path[i], s);
        at.part[i] = (placed){P->shape[i], perpi_pose_mul(&body, &P->shape[i]->local)};
    }
    /* coordinates relative to a point near the pair avoid cancellation far from the world origin */
    at.origin = at.part[0].pose.x;
    at.part[0].pose.x = v3(0, 0, 0);
    at.part[1].pose.x = v3_sub(at.part[1].pose.x, at.origin);
    return at;
}

static double separation(const instant* at, vec3 n, vec3 point[2])
{
    point[0] = placed_support(&at->part[0], n);
    point[1] = placed_support(&at->part[1], v3_neg(n));
    return v3_dot(n, v3_sub(point[1], point[0]));
}

/* The rotation of the frame in which normals are compared: that of the body which rotates less, if
 * by much less; else the mean of both. */
static vec3 frame_of(vec3 a, vec3 b)
{
    const double x = v3_norm(a), y = v3_norm(b);
    return x < 0.5 * y ? a : y < 0.5 * x ? b : v3_scale(0.5, v3_add(a, b));
}

static vec3 rotate_by(vec3 turn, vec3 n)
{
    return turn.x == 0.0 && turn.y == 0.0 && turn.z == 0.0 ? n : q4_rotate(q4_exp(turn), n);
}

/* A direction rotated with the frame from s to `to`. */
static vec3 turned_with_frame(const pair* P, vec3 n, double s, double to)
{
    return rotate_by(v3_scale(to - s, P->frame), n);
}

vec3 perpi_frame_carry(const perpi_path* a, const perpi_path* b, vec3 n, double s, double to)
{
    return rotate_by(v3_scale(to - s, frame_of(a->turn, b->turn)), n);
}

/* Bound on the rate at which sep_n falls between s and the end (dir = 1) or the start (dir =
 * -1). */
static double closing_speed(const pair* P, vec3 n, double s, double dir)
{
    const vec3 dx = v3_sub(P->path[1]->dx, P->path[0]->dx);
    const vec3 bend = v3_sub(P->path[1]->bend, P->path[0]->bend);
    const double far = dir > 0.0 ? 1.0 : 0.0;
    const double u = v3_dot(n, dx), k = v3_dot(n, bend);
    double mu =
        perpi_larger(0.0, perpi_larger(-dir * (u + 2.0 * s * k), -dir * (u + 2.0 * far * k)));
    for (int i = 0; i < 2; ++i) {
        mu += v3_norm(v3_cross(n, P->path[i]->turn)) * P->radius[i];
    }
    return mu;
}

/* The direction between the closest points and the separation along it; false if the points are too
 * close to define a direction. */
static bool nearest_direction(const pair* P, const instant* at, vec3* n, double* sep, vec3 point[2])
{
    const double r = perpi_shape_rounding(P->shape[0]) + perpi_shape_rounding(P->shape[1]);
    const perpi_gjk g = perpi_gjk_closest(&at->part[0], placed_core, &at->part[1], placed_core,
                                          at->part[1].pose.x, 1e-12 * P->size);
    if (!(g.distance > VANISH * P->size)) {
        return false;
    }
    *n = v3_scale(1.0 / g.distance, v3_sub(g.b, g.a));
    if (P->dimension == 2) {
        n->z = 0.0;
    }
    *n = v3_unit(*n);
    *sep = separation(at, *n, point);
    /* the closest points themselves, not others as far along n */
    point[0] = v3_madd(g.a, perpi_shape_rounding(P->shape[0]), *n);
    point[1] = v3_madd(g.b, -perpi_shape_rounding(P->shape[1]), *n);
    return r > 0.0 || *sep > 0.0;
}

/* ---- the direction of least depth --------------------------------------------------------------------*/

/* Depth along n, given at the first instant: the maximum over all instants. against: directions
 * that do not clearly oppose it are excluded (zero: none is). */
static double depth_along(const pair* P, const instant* at, int count, vec3 against, vec3 n)
{
    double depth = -INFINITY;
    if (v3_dot(against, n) > OPPOSED * v3_norm(against)) {
        return INFINITY;
    }
    for (int i = 0; i < count; ++i) {
        vec3 point[2];
        const double d = -separation(&at[i], turned_with_frame(P, n, at[0].s, at[i].s), point);
        depth = d > depth ? d : depth;
    }
    return depth;
}

typedef struct direction_list {
    vec3 n[MAX_CANDIDATES];
    int count;
} direction_list;

static void propose_direction(direction_list* c, int32_t dimension, vec3 n)
{
    if (dimension == 2) {
        n.z = 0.0;
    }
    const double length = v3_norm(n);
    if (c->count < MAX_CANDIDATES && length > 1e-9) {
        c->n[c->count++] = v3_scale(1.0 / length, n);
    }
}

/* Normals of faces, and axes and diagonals of the frame. of: 0 the first shape, 1 the second. */
static void propose_shape_directions(direction_list* c, const pair* P, const instant* at,
                                     const instant* first, int of)
{
    const perpi_shape* shape = P->shape[of];
    const mat3 R = at->part[of].pose.R;
    const double sign = of == 0 ? 1.0 : -1.0;
    const int most = MAX_CANDIDATES / 8;
    if (shape->type == PERP_SHAPE_POLYGON) {
        const int32_t stride = 1 + shape->count / most;
        for (int32_t i = 0; i < shape->count; i += stride) {
            const vec3 n = m3_mul(R, v3(shape->edge[2 * i], shape->edge[2 * i + 1], 0.0));
            propose_direction(c, P->dimension,
                              turned_with_frame(P, v3_scale(sign, n), at->s, first->s));
        }
    } else if (shape->type == PERP_SHAPE_POLYHEDRON) {
        const perpi_polyhedron* p = shape->polyhedron;
        const int32_t stride = 1 + p->face_count / most;
        for (int32_t i = 0; i < p->face_count; i += stride) {
            const vec3 n = m3_mul(R, p->normal[i]);
            propose_direction(c, P->dimension,
                              turned_with_frame(P, v3_scale(sign, n), at->s, first->s));
        }
    } else if (shape->type != PERP_SHAPE_PARTICLE && shape->type != PERP_SHAPE_SPHERE &&
               shape->type != PERP_SHAPE_CIRCLE) {
        const int depth = P->dimension == 2 ? 1 : 3;
        for (int k = 0; k < 9 * depth; ++k) {
            const vec3 e = v3(k % 3 - 1, k / 3 % 3 - 1, depth == 1 ? 0 : k / 9 - 1);
            propose_direction(c, P->dimension, turned_with_frame(P, m3_mul(R, e), at->s, first->s));
        }
    }
}

/* Descent on the sphere of directions with decreasing step lengths. */
static double refine_direction(const pair* P, const instant* at, int count, vec3 against, vec3* n,
                               double depth)
{
    for (double angle = 0.25; angle > 1e-3; angle *= 0.5) {
        bool better = true;
        for (int round = 0; better && round < 8; ++round) {
            const vec3 t = P->dimension == 2 ? v3(n->y, -n->x, 0.0) : v3_tangent(*n);
            const vec3 o = v3_cross(*n, t);
            const int ways = P->dimension == 2 ? 2 : 8;
            vec3 best = *n;
            better = false;
            for (int k = 0; k < ways; ++k) {
                static const double way[8][2] = {{1, 0}, {-1, 0}, {0, 1},  {0, -1},
                                                 {1, 1}, {-1, 1}, {1, -1}, {-1, -1}};
                const vec3 m =
                    v3_unit(v3_madd(v3_madd(*n, angle * way[k][0], t), angle * way[k][1], o));
                const double d = depth_along(P, at, count, against, m);
                if (d < depth) {
                    depth = d;
                    best = m;
                    better = true;
                }
            }
            *n = best;
        }
    }
    return depth;
}

/* The direction of least depth, as the maximum over all instants. enough: any direction with no
 * more depth than this is accepted. against: see depth_along. */
static double least_depth(const pair* P, const instant* at, int count, const vec3* hint, int hints,
                          double enough, vec3 against, vec3* n)
{
    direction_list c;
    c.count = 0;
    for (int i = 0; i < hints; ++i) {
        propose_direction(&c, P->dimension, hint[i]);
    }
    for (int i = 0; i < count; ++i) {
        const vec3 line = turned_with_frame(P, at[i].part[1].pose.x, at[i].s, at[0].s);
        propose_direction(&c, P->dimension, line);
        if (i == 0 || i == count - 1) {
            propose_shape_directions(&c, P, &at[i], &at[0], 0);
            propose_shape_directions(&c, P, &at[i], &at[0], 1);
        }
    }
    const vec3 axis[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    for (int i = 0; i < P->dimension; ++i) {
        propose_direction(&c, P->dimension, axis[i]);
        propose_direction(&c, P->dimension, v3_neg(axis[i]));
    }
    /* of directions along the relative motion take the part across it: only these can hold at all
     * instants */
    const vec3 way =
        count > 1 ? v3_sub(at[count - 1].part[1].pose.x, at[0].part[1].pose.x) : v3(0, 0, 0);
    const double length2 = v3_dot(way, way);
    const int plain = c.count;
    for (int i = 0; length2 > 0.0 && i < plain; ++i) {
        propose_direction(&c, P->dimension, v3_madd(c.n[i], -v3_dot(c.n[i], way) / length2, way));
    }
    vec3 start[STARTS];
    double least[STARTS];
    int starts = 0;
    for (int i = 0; i < c.count; ++i) {
        double d = depth_along(P, at, count, against, c.n[i]);
        vec3 m = c.n[i];
        if (!(d < INFINITY)) {
            continue;
        }
        if (d <= enough) {
            *n = m;
            return d;
        }
        for (int k = 0; k < STARTS; ++k) {
            if (k == starts) {
                start[starts] = m;
                least[starts++] = d;
                break;
            }
            if (d < least[k]) {
                const vec3 other = start[k];
                const double more = least[k];
                start[k] = m;
                least[k] = d;
                m = other;
                d = more;
            }
        }
    }
    double best = INFINITY;
    for (int k = 0; k < starts; ++k) {
        const double d = refine_direction(P, at, count, against, &start[k], least[k]);
        if (d < best) {
            best = d;
            *n = start[k];
        }
        if (best <= enough) {
            break;
        }
    }
    return best;
}

/* ---- the path of a pair ----------------------------------------------------------------------------- */

typedef struct end {
    bool touched;
    bool overlap; /* overlap already at s = 0 or s = 1: the normal is that of least depth */
    double s;
    vec3 n, point[2];
} end;

/* The farthest point of the smaller piece along n, and the point of the other's tangent plane
 * there: of a face, all points are as far, and its corners are anywhere. */
static void points_of_overlap(const pair* P, const instant* at, vec3 n, vec3 point[2])
{
    const double sep = separation(at, n, point);
    if (P->radius[0] > P->radius[1]) {
        point[0] = v3_madd(point[1], -sep, n);
    } else {
        point[1] = v3_madd(point[0], sep, n);
    }
}

/* Conservative advancement from s = 0 forward (dir = 1) or from s = 1 backward (dir = -1). */
static end conservative_advance(const pair* P, double dir)
{
    end e = {.s = dir > 0.0 ? 0.0 : 1.0};
    const double contact_gap = CONTACT_GAP * P->thickness;
    for (int i = 0;; ++i) {
        const instant at = instant_at(P, e.s);
        vec3 n = e.n, point[2];
        double sep = 0.0;
        if (!nearest_direction(P, &at, &n, &sep, point)) {
            sep = -INFINITY;
        }
        if (i == 0 && !(sep > 0.0)) {
            (void)least_depth(P, &at, 1, NULL, 0, -INFINITY, v3(0, 0, 0), &e.n);
            points_of_overlap(P, &at, e.n, point);
            e.overlap = true;
        } else if (sep > 0.0) {
            e.n = n;
        }
        if (sep > 0.0 || i == 0) {
            e.point[0] = v3_add(at.origin, point[0]);
            e.point[1] = v3_add(at.origin, point[1]);
        }
        if (!(sep > contact_gap) || i == MAX_ADVANCE) {
            e.touched = true;
            return e;
        }
        const double mu = closing_speed(P, n, e.s, dir), far = dir > 0.0 ? 1.0 - e.s : e.s;
        const double room = sep - 0.5 * contact_gap;
        if (mu * far <= room) {
            return e;
        }
        e.s += dir * room / mu;
    }
}

/* Whether one direction separates the pair on the whole path, up to grazing. */
static bool only_grazes(const pair* P, const end* first, const end* last, double graze)
{
    const double s[POSES] = {0.0, first->s, 0.5 * (first->s + last->s), last->s, 1.0};
    instant at[POSES];
    /* without rotation on a straight path the two ends suffice */
    vec3 turn = v3(0, 0, 0), bend = v3(0, 0, 0), n;
    for (int i = 0; i < 2; ++i) {
        turn = v3_add(
            turn, v3(fabs(P->path[i]->turn.x), fabs(P->path[i]->turn.y), fabs(P->path[i]->turn.z)));
        bend = v3_sub(P->path[i]->bend, bend);
    }
    const bool straight = v3_norm(turn) == 0.0 && v3_norm(bend) == 0.0;
    int count = 0;
    for (int i = 0; i < POSES; ++i) {
        if (!straight || i == 0 || i == POSES - 1) {
            at[count++] = instant_at(P, s[i]);
        }
    }
    const vec3 n1 = turned_with_frame(P, first->n, first->s, 0.0),
               n2 = turned_with_frame(P, last->n, last->s, 0.0);
    const vec3 hint[3] = {n1, n2, v3_add(n1, n2)};
    return least_depth(P, at, count, hint, 3, graze, v3(0, 0, 0), &n) <= graze;
}

/* A ball about the centre of mass, which looks the same however it turns. */
static bool is_ball(const perpi_shape* shape)
{
    return (shape->type == PERP_SHAPE_SPHERE || shape->type == PERP_SHAPE_CIRCLE) &&
           !(v3_norm(shape->local.x) > 0.0);
}

static perpi_passage find_in_frame(int32_t dimension, const perpi_shape* a,
                                   const perpi_path* path_a, const perpi_shape* b,
                                   const perpi_path* path_b)
{
    perpi_passage out = {0};
    pair P = {.dimension = dimension,
              .shape = {a, b},
              .path = {path_a, path_b},
              .radius = {perpi_shape_radius(a), perpi_shape_radius(b)},
              .thickness = perpi_shape_thickness(a) + perpi_shape_thickness(b),
              .frame = frame_of(path_a->turn, path_b->turn)};
    P.size = P.radius[0] + P.radius[1];
    if (!(P.thickness > 0.0)) {
        return out; /* two points */
    }
    const double graze = PERPI_GRAZE * P.thickness;
    const end first = conservative_advance(&P, 1.0);
    if (!first.touched) {
        return out;
    }
    out.first = first.s;
    out.normal = first.n;
    out.point[0] = first.point[0];
    out.point[1] = first.point[1];
    const instant at_end = instant_at(&P, 1.0);
    vec3 point[2];
    const vec3 n_end = turned_with_frame(&P, first.n, first.s, 1.0);
    out.beyond = separation(&at_end, n_end, point);
    if (out.beyond >= -graze) {
        return out; /* still on the side where it started */
    }
    const end last = conservative_advance(&P, -1.0);
    out.last = last.s;
    out.inside = last.overlap;
    out.after = turned_with_frame(&P, last.n, last.s, first.s);
    if (!last.touched || !(last.s >= first.s) || only_grazes(&P, &first, &last, graze)) {
        return out;
    }
    out.met = true;
    /* the direction of least depth of an overlapping pair can jump: require clear opposition */
    out.crossed = v3_dot(out.normal, out.after) < (out.inside ? OPPOSED : 0.0);
    out.depth = out.inside ? perpi_larger(0.0, -separation(&at_end, last.n, point)) : 0.0;
    if (!out.crossed && out.inside) {
        const double least = out.depth;
        vec3 n = v3(0, 0, 0);
        const double opposed = least_depth(&P, &at_end, 1, NULL, 0, MIDDLE * least, n_end, &n);
        out.crossed = opposed <= MIDDLE * least;
        out.after = out.crossed ? turned_with_frame(&P, n, 1.0, first.s) : out.after;
    }
    return out;
}

/* How far a ball turns says nothing of the sides of a pair, unless it goes around the other body as
 * it turns. So a pair with a ball has crossed only if it has with and without its turn. */
perpi_passage perpi_passage_find(int32_t dimension, const perpi_shape* a, const perpi_path* path_a,
                                 const perpi_shape* b, const perpi_path* path_b)
{
    const perpi_passage out = find_in_frame(dimension, a, path_a, b, path_b);
    if (!out.crossed || !(is_ball(a) || is_ball(b))) {
        return out;
    }
    perpi_path still_a = *path_a, still_b = *path_b;
    still_a.turn = is_ball(a) ? v3(0, 0, 0) : still_a.turn;
    still_b.turn = is_ball(b) ? v3(0, 0, 0) : still_b.turn;
    const perpi_passage still = find_in_frame(dimension, a, &still_a, b, &still_b);
    return still.crossed ? out : still;
}

bool perpi_passage_none(const perpi_shape* a, const perpi_path* path_a, const perpi_shape* b,
                        const perpi_path* path_b, vec3 n)
{
    const pair P = {.shape = {a, b},
                    .path = {path_a, path_b},
                    .thickness = perpi_shape_thickness(a) + perpi_shape_thickness(b),
                    .frame = frame_of(path_a->turn, path_b->turn)};
    bool holds = true;
    for (int i = 0; i <= 2 && holds; ++i) {
        const instant at = instant_at(&P, 0.5 * i);
        vec3 point[2];
        holds = separation(&at, turned_with_frame(&P, n, 0.0, at.s), point) >=
                -PERPI_GRAZE * P.thickness;
    }
    return holds;
}

bool perpi_shape_holds(const perpi_shape* shape, const perpi_pose* body, vec3 point,
                       double tolerance)
{
    const perpi_pose pose = perpi_pose_mul(body, &shape->local);
    if (!perpi_shape_ops_of(shape->type)->bounded) {
        const vec3 n = m3_mul(pose.R, shape->normal);
        return v3_dot(n, v3_sub(point, pose.x)) - shape->offset <= tolerance;
    }
    static const perpi_shape dot = {.type = PERP_SHAPE_PARTICLE};
    const placed one = {shape, {v3(0, 0, 0), pose.q, pose.R}};
    const placed two = {&dot, {v3_sub(point, pose.x), q4_identity(), m3_identity()}};
    const double size = perpi_shape_radius(shape);
    const perpi_gjk g =
        perpi_gjk_closest(&one, placed_core, &two, placed_core, two.pose.x, 1e-12 * size);
    return g.distance - perpi_shape_rounding(shape) <= tolerance;
}
