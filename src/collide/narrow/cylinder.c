/* src/collide/narrow/cylinder.c - a cylinder with a plane, with a ball (particle, sphere), with a capsule.
 *
 * A cylinder is convex, and every row below is a valid constraint: a point of its surface does not
 * penetrate a plane, or a ball does not penetrate the cylinder. The points and balls are chosen so that
 * a cylinder rolls on two points of its side, stands on eight points of its end, and tips over the
 * lowest point of its rim.
 */
#include "collide/narrow/choice.h"
#include "collide/narrow/round.h"

/* ---- with a plane ------------------------------------------------------------------------------ */

/* Points of a face's rim that turn with the body, for a cylinder that stands. On a slope it tips over
 * the polygon of these points, which costs at most 1 - cos(pi / 8) = 7.6 % of the lever against the
 * true rim; four points would cost 29 %, in some directions only. */
enum { RIM_POINTS = 8 };

static vec3 rim_point(int k)
{
    static const double half = 0.70710678118654752440;
    static const double x[RIM_POINTS] = {1, half, 0, -half, -1, -half, 0, half};
    return v3(x[k], x[(k + 6) % RIM_POINTS], 0.0);
}

/* The gap of one point, and its foot on the plane. */
static perp_status add_point(perpi_candidate_list* list, uint32_t feature, vec3 n, double offset,
                             vec3 p, double margin)
{
    const double gap = v3_dot(n, p) - offset;
    if (!(gap <= margin)) {
        return PERP_OK;
    }
    return perpi_candidate_add(list, feature, v3_madd(p, -gap, n), p, n, gap);
}

/* Features: e the lowest point of the rim at -z (e = 0) or +z (e = 1), 2 + 8 e + k the k-th of the
 * points that turn with the body.
 *
 * The lowest points alone are right for a cylinder that lies or rolls: a point beside them, ahead of
 * the contact, moves down while its gap is small only to second order, so that its row, which is
 * linear over the step, would stop the rolling. The points that turn with the body come in when the
 * whole face is within the margin: then the cylinder may stand on it at the end of the step. */
perp_status perpi_plane_cylinder(const perpi_shape* a, const perpi_pose* pose_a,
                                 const perpi_shape* b, const perpi_pose* pose_b, double margin,
                                 perpi_candidate_list* list)
{
    const vec3 n = m3_mul(pose_a->R, a->normal);
    const double offset = v3_dot(n, pose_a->x) + a->offset;
    const vec3 m = m3_tmul(pose_b->R, n); /* in the cylinder's frame */
    const double l = 0.5 * b->length, r = b->radius;
    const double sine = sqrt(m.x * m.x + m.y * m.y);
    const int low = m.z > 0.0 ? 0 : 1; /* the lower end */
    for (int e = 0; e < 2; ++e) {
        const vec3 center = v3(0, 0, e == 0 ? -l : l);
        const double height = v3_dot(n, perpi_pose_point(pose_b, center)) - offset;
        double nearest = INFINITY;
        if (e == low && height + r * sine <= margin) {
            for (int k = 0; k < RIM_POINTS; ++k) {
                const vec3 local = v3_madd(center, r, rim_point(k));
                const vec3 p = perpi_pose_point(pose_b, local);
                const double gap = v3_dot(n, p) - offset;
                nearest = gap < nearest ? gap : nearest;
                const perp_status status =
                    add_point(list, (uint32_t)(2 + RIM_POINTS * e + k), n, offset, p, margin);
                if (status != PERP_OK) {
                    return status;
                }
            }
        }
        /* Where the face is parallel to the plane no point of the rim is the lowest. */
        const bool directed = sine > PERPI_CANDIDATE_TIE;
        const bool deeper = height - r * sine < nearest - PERPI_CANDIDATE_TIE * r;
        if (!directed || !deeper || (e != low && !(sine > PERPI_CANDIDATE_PARALLEL))) {
            continue;
        }
        const vec3 local = v3_madd(center, -r / sine, v3(m.x, m.y, 0));
        const perp_status status =
            add_point(list, (uint32_t)e, n, offset, perpi_pose_point(pose_b, local), margin);
        if (status != PERP_OK) {
            return status;
        }
    }
    return PERP_OK;
}

/* ---- with balls -------------------------------------------------------------------------------- */

/* The region of a point: beside the side, over a face, off a rim. Low and high: -z and +z. */
enum { SIDE = 1, FACE_LOW = 2, FACE_HIGH = 3, RIM_LOW = 4, RIM_HIGH = 5 };

typedef struct local_cylinder {
    double l, r, size;
    const perpi_pose* pose;
} local_cylinder;

static local_cylinder cylinder_of(const perpi_shape* shape, const perpi_pose* pose)
{
    const double l = 0.5 * shape->length, r = shape->radius;
    return (local_cylinder){l, r, sqrt(l * l + r * r), pose};
}

static double radial(vec3 p)
{
    return sqrt(p.x * p.x + p.y * p.y);
}

/* Distance of a point from the solid cylinder, and the nearest point of it. */
static double project(const local_cylinder* c, vec3 p, vec3* q)
{
    const double rho = radial(p);
    const double s = rho > c->r ? c->r / rho : 1.0;
    *q = v3(s * p.x, s * p.y, perpi_clamp(p.z, -c->l, c->l));
    return v3_norm(v3_sub(p, *q));
}

static uint32_t region_of(const local_cylinder* c, vec3 p)
{
    const double tiny = PERPI_CANDIDATE_TIE * c->size;
    const bool beside = radial(p) > c->r + tiny, over = fabs(p.z) > c->l + tiny;
    if (beside && over) {
        return p.z < 0.0 ? RIM_LOW : RIM_HIGH;
    }
    if (over || (!beside && fabs(p.z) - c->l > radial(p) - c->r)) {
        return p.z < 0.0 ? FACE_LOW : FACE_HIGH;
    }
    return SIDE;
}

/* The ball with centre p and radius r; q and n on the cylinder, all in its frame. */
static perp_status add_local(const local_cylinder* c, vec3 p, vec3 q, vec3 n, double r,
                             uint32_t feature, perpi_candidate_list* list)
{
    const vec3 n_W = m3_mul(c->pose->R, n);
    const vec3 q_W = perpi_pose_point(c->pose, q);
    const vec3 p_W = v3_madd(perpi_pose_point(c->pose, p), -r, n_W);
    return perpi_candidate_add(list, feature, q_W, p_W, n_W, v3_dot(n, v3_sub(p, q)) - r);
}

/* A ball whose centre is outside. */
static perp_status add_outside(const local_cylinder* c, vec3 p, double r, uint32_t feature,
                               perpi_candidate_list* list)
{
    vec3 q;
    const double d = project(c, p, &q);
    return add_local(c, p, q, v3_scale(1.0 / d, v3_sub(p, q)), r, feature, list);
}

/* The direction away from the axis; for a point on the axis, a direction fixed in the body. */
static vec3 outwards(const local_cylinder* c, vec3 p)
{
    const double rho = radial(p);
    return rho > PERPI_CANDIDATE_VANISH * c->size ? v3(p.x / rho, p.y / rho, 0) : v3(1, 0, 0);
}

/* A ball whose centre is inside or on the surface: the direction of least depth. */
static perp_status add_inside(const local_cylinder* c, vec3 p, double r, perpi_candidate_list* list)
{
    if (radial(p) - c->r >= fabs(p.z) - c->l) {
        const vec3 n = outwards(c, p);
        return add_local(c, p, v3(c->r * n.x, c->r * n.y, p.z), n, r, SIDE << 4, list);
    }
    const double side = p.z < 0.0 ? -1.0 : 1.0;
    const uint32_t face = p.z < 0.0 ? FACE_LOW : FACE_HIGH;
    return add_local(c, p, v3(p.x, p.y, side * c->l), v3(0, 0, side), r, face << 4, list);
}

/* Alternative directions (choice.h): past the ends, and across the side; axis: half of a capsule's,
 * from its middle p.
 *
 * beside: the rows are those of balls beside the side. As long as these balls do not pass an end, each row is
 * necessary: it is the linearised distance of a ball from the side, which is smooth. Another
 * direction across the side then admits no motion but by errors of second order. It would be an
 * alternative for all rows at once, though, so that of a line contact one end alone could push, and
 * which one would be left open. */
static perp_status choose_directions(const local_cylinder* c, vec3 p, vec3 axis, double r,
                                     bool beside, double margin, size_t first,
                                     perpi_candidate_list* list)
{
    if (list->count == first || !perpi_candidate_groups(list)) {
        return PERP_OK;
    }
    const perpi_candidate* candidate = &list->item[first];
    const vec3 n_W = list->flipped ? v3_neg(candidate->normal) : candidate->normal;
    const vec3 n = m3_tmul(c->pose->R, n_W);
    /* across the side: towards the middle, as the row does, and across both axes */
    const vec3 way[5] = {v3(0, 0, -1), v3(0, 0, 1), v3(p.x, p.y, 0), v3(n.x, n.y, 0),
                         v3_cross(v3(0, 0, 1), axis)};
    perpi_choices choices = perpi_choices_for(list, first);
    for (uint32_t i = 0; i < (beside ? 2U : 5U); ++i) {
        const double length = v3_norm(way[i]);
        if (!(length > PERPI_CANDIDATE_VANISH * c->size)) {
            continue;
        }
        vec3 w = v3_scale(1.0 / length, way[i]);
        w = i == 4 && w.x * p.x + w.y * p.y < 0.0 ? v3_neg(w) : w;
        perpi_choice choice = {.n = m3_mul(c->pose->R, w), .id = i};
        for (int end = -1; end <= 1; end += 2) { /* for a ball both are its middle */
            const vec3 low = v3_madd(p, end, axis);
            perpi_choice_row(&choice, v3_madd(perpi_pose_point(c->pose, low), -r, choice.n),
                             v3_dot(w, low) - r - (i < 2 ? c->l : c->r), 0.01 * margin);
        }
        perpi_choices_take(&choices, n_W, margin, &choice);
    }
    return perpi_candidate_choose(list, first, &choices);
}

/* Feature: the region << 4. */
perp_status perpi_cylinder_ball(const perpi_shape* a, const perpi_pose* pose_a,
                                const perpi_shape* b, const perpi_pose* pose_b, double margin,
                                perpi_candidate_list* list)
{
    const local_cylinder c = cylinder_of(a, pose_a);
    const perpi_round ball = perpi_round_of(b, pose_b);
    const vec3 p = m3_tmul(pose_a->R, v3_sub(ball.c, pose_a->x));
    vec3 q;
    const double d = project(&c, p, &q);
    if (!(d - ball.r <= margin)) {
        return PERP_OK;
    }
    const size_t first = list->count;
    const perp_status status = d > PERPI_CANDIDATE_VANISH * c.size
                                   ? add_outside(&c, p, ball.r, region_of(&c, p) << 4, list)
                                   : add_inside(&c, p, ball.r, list);
    return status == PERP_OK
               ? choose_directions(&c, p, v3(0, 0, 0), ball.r, false, margin, first, list)
               : status;
}

/* ---- with a capsule ---------------------------------------------------------------------------- */

/* Its axis in the cylinder's frame: c + t u, |t| <= l. */
typedef struct local_axis {
    vec3 c, u;
    double l, r;
} local_axis;

static vec3 axis_at(const local_axis* axis, double t)
{
    return v3_madd(axis->c, t, axis->u);
}

/* The parameter of the point nearest to the cylinder. The squared distance to a convex set is convex
 * and smooth along a line, with slope 2 u.(p - q): its zero is found by halving. */
static double closest_on_axis(const local_cylinder* c, const local_axis* axis)
{
    double lo = -axis->l, hi = axis->l;
    for (int i = 0; i < 64 && lo < hi; ++i) {
        const double t = 0.5 * (lo + hi);
        vec3 q;
        const vec3 p = axis_at(axis, t);
        (void)project(c, p, &q);
        const double slope = v3_dot(axis->u, v3_sub(p, q));
        if (slope == 0.0) {
            return t;
        }
        *(slope > 0.0 ? &hi : &lo) = t;
    }
    return 0.5 * (lo + hi);
}

/* The part of the axis within the infinite cylinder (faces false), or between the planes of the
 * faces; false if it is empty. */
static bool stretch(const local_cylinder* c, const local_axis* axis, bool faces, double* lo,
                    double* hi)
{
    *lo = -axis->l;
    *hi = axis->l;
    double from, to;
    if (faces) {
        if (axis->u.z == 0.0) {
            return fabs(axis->c.z) <= c->l;
        }
        const double t1 = (-c->l - axis->c.z) / axis->u.z, t2 = (c->l - axis->c.z) / axis->u.z;
        from = t1 < t2 ? t1 : t2;
        to = t1 < t2 ? t2 : t1;
    } else {
        const double uu = axis->u.x * axis->u.x + axis->u.y * axis->u.y;
        const double cu = axis->c.x * axis->u.x + axis->c.y * axis->u.y;
        const double cc = axis->c.x * axis->c.x + axis->c.y * axis->c.y - c->r * c->r;
        if (uu == 0.0) {
            return cc <= 0.0;
        }
        const double root = cu * cu - uu * cc;
        if (!(root >= 0.0)) {
            return false;
        }
        from = (-cu - sqrt(root)) / uu;
        to = (-cu + sqrt(root)) / uu;
    }
    *lo = from > *lo ? from : *lo;
    *hi = to < *hi ? to : *hi;
    return *lo <= *hi;
}

enum { KIND_CLOSEST = 0, KIND_LOW = 1, KIND_HIGH = 2 };

/* The axis is outside. Over a face, or along the side, the capsule rests on both ends of the
 * supported part; the closest point is added only if it is nearer. Where the axes cross at a small
 * angle, an end is open by the square of that angle only: without a row for it the capsule would
 * turn into the side within the step, at one end and then at the other. */
static perp_status capsule_outside(const local_cylinder* c, const local_axis* axis, double t,
                                   double margin, bool* beside, perpi_candidate_list* list)
{
    vec3 q;
    const vec3 p = axis_at(axis, t);
    const double least = project(c, p, &q);
    const uint32_t region = region_of(c, p);
    const bool along_face = region == FACE_LOW || region == FACE_HIGH;
    const double across = sqrt(axis->u.x * axis->u.x + axis->u.y * axis->u.y);
    const bool along_side = !along_face && across < PERPI_CANDIDATE_OBLIQUE;
    double nearest = INFINITY, end[2];
    if ((along_face || along_side) && stretch(c, axis, along_side, &end[0], &end[1]) &&
        end[1] - end[0] > PERPI_CANDIDATE_SAME * c->size) {
        const uint32_t name = along_side ? SIDE : region; /* the same if it leans on a rim */
        end[0] = t < end[0] ? t : end[0];
        end[1] = t > end[1] ? t : end[1];
        for (uint32_t e = 0; e < 2; ++e) {
            const vec3 at = axis_at(axis, end[e]);
            const double d = project(c, at, &q);
            if (!(d - axis->r <= margin) || !(d > PERPI_CANDIDATE_VANISH * c->size)) {
                continue;
            }
            const perp_status status =
                add_outside(c, at, axis->r, name << 4 | (KIND_LOW + e), list);
            if (status != PERP_OK) {
                return status;
            }
            nearest = d < nearest ? d : nearest;
            *beside = *beside || along_side;
        }
    }
    if (least < nearest - PERPI_CANDIDATE_TIE * c->size) {
        return add_outside(c, p, axis->r, region << 4 | KIND_CLOSEST, list);
    }
    return PERP_OK;
}

/* Out through a face: both ends of the part of the axis that lies over it. */
static perp_status pierced_at_face(const local_cylinder* c, const local_axis* axis, double margin,
                                   perpi_candidate_list* list)
{
    const double side = axis->c.z < 0.0 ? -1.0 : 1.0;
    const uint32_t face = axis->c.z < 0.0 ? FACE_LOW : FACE_HIGH;
    double end[2];
    if (!stretch(c, axis, false, &end[0], &end[1])) {
        end[0] = end[1] = side * axis->u.z > 0.0 ? -axis->l : axis->l;
    }
    const uint32_t ends = end[1] - end[0] > PERPI_CANDIDATE_SAME * c->size ? 2 : 1;
    for (uint32_t e = 0; e < ends; ++e) {
        const vec3 p = axis_at(axis, end[e]);
        if (!(side * p.z - c->l - axis->r <= margin)) {
            continue;
        }
        vec3 q;
        (void)project(c, p, &q);
        q.z = side * c->l;
        const perp_status status =
            add_local(c, p, q, v3(0, 0, side), axis->r, 1U << 16 | face << 4 | e, list);
        if (status != PERP_OK) {
            return status;
        }
    }
    return PERP_OK;
}

/* Out through the side, across the axis: one contact, or two where the axis runs along the side. */
static perp_status pierced_at_side(const local_cylinder* c, const local_axis* axis, double t,
                                   vec3 w, double margin, perpi_candidate_list* list)
{
    double end[2] = {t, t};
    const double across = sqrt(axis->u.x * axis->u.x + axis->u.y * axis->u.y);
    if (across < PERPI_CANDIDATE_PARALLEL && !stretch(c, axis, true, &end[0], &end[1])) {
        end[0] = end[1] = t;
    }
    const uint32_t ends = end[1] - end[0] > PERPI_CANDIDATE_SAME * c->size ? 2 : 1;
    for (uint32_t e = 0; e < ends; ++e) {
        const vec3 p = axis_at(axis, end[e]);
        const double depth = w.x * p.x + w.y * p.y - c->r - axis->r;
        if (!(depth <= margin)) {
            continue;
        }
        /* the foot of p on the tangent plane at w */
        const vec3 q = v3_madd(p, c->r - (w.x * p.x + w.y * p.y), w);
        const perp_status status = add_local(c, p, q, w, axis->r, 1U << 16 | SIDE << 4 | e, list);
        if (status != PERP_OK) {
            return status;
        }
    }
    return PERP_OK;
}

/* The axis passes through the cylinder: separate through a face or through the side, whichever is
 * less deep. (Oblique directions over the rim may be less deep still; they are not tried.) */
static perp_status capsule_inside(const local_cylinder* c, const local_axis* axis, double margin,
                                  perpi_candidate_list* list)
{
    const double by_face = fabs(axis->c.z) - axis->l * fabs(axis->u.z) - c->l;
    const double uu = axis->u.x * axis->u.x + axis->u.y * axis->u.y;
    const double cu = axis->c.x * axis->u.x + axis->c.y * axis->u.y;
    const double t = uu > 0.0 ? perpi_clamp(-cu / uu, -axis->l, axis->l) : 0.0;
    const vec3 p = axis_at(axis, t);
    const double rho = radial(p);
    vec3 w = outwards(c, p);
    if (!(rho > PERPI_CANDIDATE_VANISH * c->size) && uu > 0.0) {
        w = v3(-axis->u.y / sqrt(uu), axis->u.x / sqrt(uu), 0);
    }
    return by_face >= rho - c->r ? pierced_at_face(c, axis, margin, list)
                                 : pierced_at_side(c, axis, t, w, margin, list);
}

/* Features: outside, the region << 4 | which ball; inside, 1 << 16 | the same. */
perp_status perpi_cylinder_capsule(const perpi_shape* a, const perpi_pose* pose_a,
                                   const perpi_shape* b, const perpi_pose* pose_b, double margin,
                                   perpi_candidate_list* list)
{
    const local_cylinder c = cylinder_of(a, pose_a);
    const perpi_round round = perpi_round_of(b, pose_b);
    if (!(round.l > 0.0)) {
        return perpi_cylinder_ball(a, pose_a, b, pose_b, margin, list);
    }
    const local_axis axis = {m3_tmul(pose_a->R, v3_sub(round.c, pose_a->x)),
                             m3_tmul(pose_a->R, round.u), round.l, round.r};
    const double t = closest_on_axis(&c, &axis);
    vec3 q;
    const double d = project(&c, axis_at(&axis, t), &q);
    if (!(d - axis.r <= margin)) {
        return PERP_OK;
    }
    const size_t first = list->count;
    const bool outside = d > PERPI_CANDIDATE_VANISH * c.size;
    bool beside = outside && region_of(&c, axis_at(&axis, t)) == SIDE;
    const perp_status status = outside ? capsule_outside(&c, &axis, t, margin, &beside, list)
                                       : capsule_inside(&c, &axis, margin, list);
    return status == PERP_OK ? choose_directions(&c, axis.c, v3_scale(axis.l, axis.u), axis.r,
                                                 beside, margin, first, list)
                             : status;
}
