/* src/collide/narrow/round_box.c - a box with a ball (particle, sphere, circle) and with a capsule.
 *
 * All coordinates are in the box's frame. A point belongs to one of 27 regions (9 in the plane), given by a
 * sign per axis: which side of the slab |p_i| <= h_i it lies on. One sign: over a face;
 * two: off an edge; three: off a corner; none: inside.
 */
#include "collide/narrow/round.h"

typedef struct local_box {
    double h[3]; /* planar: h[2] is infinite, so that z never matters */
    double size; /* for tolerances */
    const perpi_pose* pose;
} local_box;

static local_box box_of(const perpi_shape* shape, const perpi_pose* pose)
{
    const bool planar = shape->type == PERP_SHAPE_BOX2;
    return (local_box){{shape->half.x, shape->half.y, planar ? INFINITY : shape->half.z},
                       v3_norm(shape->half),
                       pose};
}

/* -1, 0, 1 per axis; a point within tiny of a slab counts as in it. */
static void region_of(const local_box* box, const double* p, double tiny, int sign[3])
{
    for (int i = 0; i < 3; ++i) {
        sign[i] = fabs(p[i]) > box->h[i] + tiny ? (p[i] < 0.0 ? -1 : 1) : 0;
    }
}

static int outside_count(const int sign[3])
{
    return (sign[0] != 0) + (sign[1] != 0) + (sign[2] != 0);
}

static uint32_t region_code(const int sign[3])
{
    return (uint32_t)((sign[0] + 1) + 3 * (sign[1] + 1) + 9 * (sign[2] + 1));
}

/* A contact at the point p (box frame) of the round shape's axis; q and n on the box. */
static perp_status add_local(const local_box* box, const double* p, const double* q,
                             const double* n, double r, uint32_t feature,
                             perpi_candidate_list* list)
{
    const vec3 n_W = m3_mul(box->pose->R, v3_from(n));
    const vec3 q_W = perpi_pose_point(box->pose, v3_from(q));
    const vec3 p_W = v3_madd(perpi_pose_point(box->pose, v3_from(p)), -r, n_W);
    const double gap = n[0] * (p[0] - q[0]) + n[1] * (p[1] - q[1]) + n[2] * (p[2] - q[2]) - r;
    return perpi_candidate_add(list, feature, q_W, p_W, n_W, gap);
}

/* Distance of a point outside the box, and its nearest point. */
static double project(const local_box* box, const double* p, double* q)
{
    double d2 = 0.0;
    for (int i = 0; i < 3; ++i) {
        q[i] = perpi_clamp(p[i], -box->h[i], box->h[i]);
        d2 += (p[i] - q[i]) * (p[i] - q[i]);
    }
    return sqrt(d2);
}

/* A ball whose centre is outside. kind: which ball of a capsule. */
static perp_status add_outside(const local_box* box, const double* p, double r, uint32_t kind,
                               perpi_candidate_list* list)
{
    double q[3], n[3];
    int sign[3];
    const double d = project(box, p, q);
    for (int i = 0; i < 3; ++i) {
        n[i] = (p[i] - q[i]) / d;
    }
    /* half of the tolerance for outside: a point just over a face keeps the number of that face */
    region_of(box, p, 0.5 * PERPI_CANDIDATE_VANISH * box->size, sign);
    return add_local(box, p, q, n, r, region_code(sign) << 4 | kind, list);
}

/* A ball whose centre is inside or on the surface: separate through the nearest face. */
static perp_status add_inside(const local_box* box, const double* p, double r, double margin,
                              perpi_candidate_list* list)
{
    int k = 0;
    for (int i = 1; i < 3; ++i) {
        k = fabs(p[i]) - box->h[i] > fabs(p[k]) - box->h[k] ? i : k;
    }
    const int side = p[k] < 0.0 ? -1 : 1;
    double q[3], n[3] = {0, 0, 0};
    (void)project(box, p, q);
    int sign[3] = {0, 0, 0};
    sign[k] = side;
    n[k] = side;
    q[k] = side * box->h[k];
    if (!(fabs(p[k]) - box->h[k] - r <= margin)) {
        return PERP_OK;
    }
    return add_local(box, p, q, n, r, region_code(sign) << 4, list);
}

/* Feature: the box's region << 4. */
perp_status perpi_box_ball(const perpi_shape* a, const perpi_pose* pose_a, const perpi_shape* b,
                           const perpi_pose* pose_b, double margin, perpi_candidate_list* list)
{
    const local_box box = box_of(a, pose_a);
    const perpi_round ball = perpi_round_of(b, pose_b);
    double p[3], q[3];
    v3_to(m3_tmul(pose_a->R, v3_sub(ball.c, pose_a->x)), p);
    const double d = project(&box, p, q);
    if (!(d - ball.r <= margin)) {
        return PERP_OK;
    }
    return d > PERPI_CANDIDATE_VANISH * box.size ? add_outside(&box, p, ball.r, 0, list)
                                                 : add_inside(&box, p, ball.r, margin, list);
}

/* ---- the capsule ------------------------------------------------------------------------------ */

/* Its axis in the box's frame: c + t u, |t| <= l. */
typedef struct local_axis {
    double c[3], u[3];
    double l, r;
} local_axis;

static void axis_at(const local_axis* axis, double t, double* p)
{
    for (int i = 0; i < 3; ++i) {
        p[i] = axis->c[i] + t * axis->u[i];
    }
}

enum { KIND_LOW = 0, KIND_HIGH = 1, KIND_CROSSING = 2, KIND_CLOSEST = 8, STATION_COUNT = 8 };

/* A parameter at which the region may change: an end, or where the axis crosses a face's plane. */
typedef struct station {
    double t;
    uint32_t kind;
} station;

static int find_stations(const local_box* box, const local_axis* axis, station* out)
{
    int count = 0;
    out[count++] = (station){-axis->l, KIND_LOW};
    out[count++] = (station){axis->l, KIND_HIGH};
    for (int i = 0; i < 3; ++i) {
        for (int side = 0; side < 2; ++side) {
            const double t = ((side == 0 ? -box->h[i] : box->h[i]) - axis->c[i]) / axis->u[i];
            if (t > -axis->l && t < axis->l) { /* false for 0/0 and x/0 */
                out[count++] = (station){t, (uint32_t)(KIND_CROSSING + 2 * i + side)};
            }
        }
    }
    for (int i = 1; i < count; ++i) {
        const station s = out[i];
        int k = i;
        for (; k > 0 && out[k - 1].t > s.t; --k) {
            out[k] = out[k - 1];
        }
        out[k] = s;
    }
    return count;
}

/* The squared distance is a convex quadratic between two stations. */
static double closest_on_axis(const local_box* box, const local_axis* axis, const station* at,
                              int count, double* t_best)
{
    double best = INFINITY;
    for (int k = 0; k + 1 < count; ++k) {
        double p[3], q[3];
        int sign[3];
        axis_at(axis, 0.5 * (at[k].t + at[k + 1].t), p);
        region_of(box, p, 0.0, sign);
        double slope = 0.0, curvature = 0.0;
        for (int i = 0; i < 3; ++i) {
            if (sign[i] != 0) {
                slope += (axis->c[i] - sign[i] * box->h[i]) * axis->u[i];
                curvature += axis->u[i] * axis->u[i];
            }
        }
        const double t = curvature > 0.0 ? perpi_clamp(-slope / curvature, at[k].t, at[k + 1].t)
                                         : 0.5 * (at[k].t + at[k + 1].t);
        axis_at(axis, t, p);
        const double d = project(box, p, q);
        if (d < best) {
            best = d;
            *t_best = t;
        }
    }
    return best;
}

/* The axis is outside. Contacts: the closest point, unless another is as near; and every station
 * over a face, so that a capsule lying on a face, or over its border, rests on both ends of the
 * supported part. Off an edge, stations count only if the axis is parallel to that edge. */
static perp_status capsule_outside(const local_box* box, const local_axis* axis, const station* at,
                                   int count, double t_closest, double margin,
                                   perpi_candidate_list* list)
{
    const double tiny = PERPI_CANDIDATE_TIE * box->size;
    double p[3], q[3];
    int region[3];
    axis_at(axis, t_closest, p);
    region_of(box, p, tiny, region);
    const double least = project(box, p, q);
    bool along_edge = outside_count(region) == 2;
    for (int i = 0; i < 3; ++i) {
        along_edge = along_edge && (region[i] == 0 || fabs(axis->u[i]) < PERPI_CANDIDATE_PARALLEL);
    }

    double nearest = INFINITY, t_last = -INFINITY;
    for (int k = 0; k < count; ++k) {
        const bool is_end = at[k].kind == KIND_LOW || at[k].kind == KIND_HIGH;
        const double apart = PERPI_CANDIDATE_SAME * box->size;
        if (!is_end && (at[k].t - t_last < apart || axis->l - at[k].t < apart)) {
            continue;
        }
        int sign[3];
        axis_at(axis, at[k].t, p);
        region_of(box, p, tiny, sign);
        const double d = project(box, p, q);
        const bool wanted =
            outside_count(sign) == 1 || (along_edge && region_code(sign) == region_code(region));
        if (!wanted || !(d - axis->r <= margin) || (at[k].kind == KIND_HIGH && !(axis->l > 0.0))) {
            continue;
        }
        const perp_status status = add_outside(box, p, axis->r, at[k].kind, list);
        if (status != PERP_OK) {
            return status;
        }
        nearest = d < nearest ? d : nearest;
        t_last = at[k].t;
    }
    if (least < nearest - tiny && least - axis->r <= margin) {
        axis_at(axis, t_closest, p);
        return add_outside(box, p, axis->r, KIND_CLOSEST, list);
    }
    return PERP_OK;
}

/* The part of the axis over face k, as an interval of t; false if there is none. */
static bool clip_to_face(const local_box* box, const local_axis* axis, int k, double* lo,
                         double* hi)
{
    *lo = -axis->l;
    *hi = axis->l;
    for (int i = 0; i < 3; ++i) {
        if (i == k) {
            continue;
        }
        if (axis->u[i] == 0.0) {
            if (fabs(axis->c[i]) > box->h[i]) {
                return false;
            }
            continue;
        }
        const double t1 = (-box->h[i] - axis->c[i]) / axis->u[i];
        const double t2 = (box->h[i] - axis->c[i]) / axis->u[i];
        const double from = t1 < t2 ? t1 : t2, to = t1 < t2 ? t2 : t1;
        *lo = from > *lo ? from : *lo;
        *hi = to < *hi ? to : *hi;
    }
    return *lo <= *hi;
}

/* Separation along the normals of the faces, on the side where the axis's middle is. */
static double separation_by_face(const local_box* box, const local_axis* axis, int* face)
{
    double best = -INFINITY;
    for (int i = 0; i < 3; ++i) {
        const double sep = fabs(axis->c[i]) - axis->l * fabs(axis->u[i]) - box->h[i];
        if (sep > best) {
            best = sep;
            *face = i;
        }
    }
    return best;
}

/* Separation along w = axis x edge, for the best of the three directions of edges. */
static double separation_by_edge(const local_box* box, const local_axis* axis, int* edge, double* w)
{
    double best = -INFINITY;
    for (int k = 0; k < 3; ++k) {
        const int i = (k + 1) % 3, j = (k + 2) % 3;
        const double sine = sqrt(axis->u[i] * axis->u[i] + axis->u[j] * axis->u[j]);
        if (!(sine > PERPI_CANDIDATE_PARALLEL)) {
            continue;
        }
        const double w_i = axis->u[j] / sine, w_j = -axis->u[i] / sine;
        const double middle = w_i * axis->c[i] + w_j * axis->c[j];
        const double sep = fabs(middle) - fabs(w_i) * box->h[i] - fabs(w_j) * box->h[j];
        if (sep > best) {
            best = sep;
            *edge = k;
            w[i] = middle < 0.0 ? -w_i : w_i;
            w[j] = middle < 0.0 ? -w_j : w_j;
            w[k] = 0.0;
        }
    }
    return best;
}

/* Separation along w: one contact, where the axis passes the edge that faces w. */
static perp_status pierced_at_edge(const local_box* box, const local_axis* axis, int edge,
                                   const double* w, perpi_candidate_list* list)
{
    const int i = (edge + 1) % 3, j = (edge + 2) % 3;
    double p[3], q[3];
    q[i] = w[i] < 0.0 ? -box->h[i] : box->h[i];
    q[j] = w[j] < 0.0 ? -box->h[j] : box->h[j];
    const double sine2 = axis->u[i] * axis->u[i] + axis->u[j] * axis->u[j];
    const double t = ((q[i] - axis->c[i]) * axis->u[i] + (q[j] - axis->c[j]) * axis->u[j]) / sine2;
    axis_at(axis, perpi_clamp(t, -axis->l, axis->l), p);
    q[edge] = perpi_clamp(p[edge], -box->h[edge], box->h[edge]);
    const uint32_t corner = (w[i] < 0.0 ? 0U : 1U) | (w[j] < 0.0 ? 0U : 2U);
    return add_local(box, p, q, w, axis->r, 2U << 16 | (uint32_t)edge << 2 | corner, list);
}

/* Separation through a face: both ends of the part of the axis over it. */
static perp_status pierced_at_face(const local_box* box, const local_axis* axis, int face,
                                   double margin, perpi_candidate_list* list)
{
    const double side = axis->c[face] < 0.0 ? -1.0 : 1.0;
    double p[3], q[3], n[3] = {0, 0, 0}, end[2];
    if (!clip_to_face(box, axis, face, &end[0], &end[1])) {
        end[0] = end[1] = side * axis->u[face] > 0.0 ? -axis->l : axis->l;
    }
    n[face] = side;
    const int ends = end[1] - end[0] > PERPI_CANDIDATE_SAME * box->size ? 2 : 1;
    for (int e = 0; e < ends; ++e) {
        axis_at(axis, end[e], p);
        (void)project(box, p, q);
        q[face] = side * box->h[face];
        if (!(side * p[face] - box->h[face] - axis->r <= margin)) {
            continue;
        }
        const uint32_t feature = 1U << 16 | (uint32_t)face << 2 | (side < 0.0 ? 0U : 2U);
        const perp_status status = add_local(box, p, q, n, axis->r, feature | (uint32_t)e, list);
        if (status != PERP_OK) {
            return status;
        }
    }
    return PERP_OK;
}

/* The axis passes through the box: separate along the direction of least depth. */
static perp_status capsule_inside(const local_box* box, const local_axis* axis, double margin,
                                  perpi_candidate_list* list)
{
    int face = 0, edge = 0;
    double w[3];
    const double by_face = separation_by_face(box, axis, &face);
    const double by_edge = separation_by_edge(box, axis, &edge, w);
    return by_edge > by_face + PERPI_CANDIDATE_SAME * box->size
               ? pierced_at_edge(box, axis, edge, w, list)
               : pierced_at_face(box, axis, face, margin, list);
}

/* Features: outside, the box's region << 4 | which point of the axis; inside, 1 << 16 | face | end
 * or 2 << 16 | edge. */
perp_status perpi_box_capsule(const perpi_shape* a, const perpi_pose* pose_a, const perpi_shape* b,
                              const perpi_pose* pose_b, double margin, perpi_candidate_list* list)
{
    const local_box box = box_of(a, pose_a);
    const perpi_round round = perpi_round_of(b, pose_b);
    if (!(round.l > 0.0)) {
        return perpi_box_ball(a, pose_a, b, pose_b, margin, list);
    }
    local_axis axis = {.l = round.l, .r = round.r};
    v3_to(m3_tmul(pose_a->R, v3_sub(round.c, pose_a->x)), axis.c);
    v3_to(m3_tmul(pose_a->R, round.u), axis.u);
    station at[STATION_COUNT];
    const int count = find_stations(&box, &axis, at);
    double t = 0.0;
    const double d = closest_on_axis(&box, &axis, at, count, &t);
    if (!(d - axis.r <= margin)) {
        return PERP_OK;
    }
    return d > PERPI_CANDIDATE_VANISH * box.size
               ? capsule_outside(&box, &axis, at, count, t, margin, list)
               : capsule_inside(&box, &axis, margin, list);
}
