/* src/collide/narrow/patch.c - see patch.h. */
#include "collide/narrow/patch.h"

/* Range of spring indices that a contact's key can hold, and half of it, so that indices around the
 * origin are in order. */
enum { PLANAR_BITS = 24, SPATIAL_BITS = 12 };

bool perpi_patch_exists(perp_shape_type a, perp_shape_type b)
{
    const bool swap = a != PERP_SHAPE_PLANE && a != PERP_SHAPE_HALFPLANE;
    const perp_shape_type plane = swap ? b : a, body = swap ? a : b;
    if (plane == PERP_SHAPE_PLANE) {
        return body == PERP_SHAPE_SPHERE || body == PERP_SHAPE_BOX || body == PERP_SHAPE_CYLINDER;
    }
    return plane == PERP_SHAPE_HALFPLANE &&
           (body == PERP_SHAPE_CIRCLE || body == PERP_SHAPE_BOX2 || body == PERP_SHAPE_POLYGON);
}

/* The part of a line x + t d that lies within l <= a . (x + t d) <= u. */
static void clip_to_slab(double at, double rate, double l, double u, double t[2])
{
    if (rate == 0.0) {
        if (at < l || at > u) {
            t[0] = INFINITY;
        }
        return;
    }
    const double first = ((rate > 0.0 ? l : u) - at) / rate;
    const double last = ((rate > 0.0 ? u : l) - at) / rate;
    t[0] = first > t[0] ? first : t[0];
    t[1] = last < t[1] ? last : t[1];
}

/* Within r of the axis (spatial: z with `flat`, the centre without). */
static void clip_round(vec3 x, vec3 d, double r, bool flat, double t[2])
{
    if (flat) {
        x.z = d.z = 0.0;
    }
    const double a = v3_dot(d, d), b = v3_dot(x, d), c = v3_dot(x, x) - r * r;
    const double under = b * b - a * c;
    if (a == 0.0 ? c > 0.0 : !(under >= 0.0)) {
        t[0] = INFINITY;
    } else if (a > 0.0) {
        const double root = sqrt(under);
        t[0] = (-b - root) / a > t[0] ? (-b - root) / a : t[0];
        t[1] = (-b + root) / a < t[1] ? (-b + root) / a : t[1];
    }
}

/* Where the line x + t d, in the shape's frame, enters the shape; INFINITY if it misses it. */
static double ray_entry(const perpi_shape* s, vec3 x, vec3 d)
{
    double t[2] = {-INFINITY, INFINITY};
    switch (s->type) {
    case PERP_SHAPE_SPHERE:
    case PERP_SHAPE_CIRCLE: clip_round(x, d, s->radius, false, t); break;
    case PERP_SHAPE_CYLINDER:
        clip_round(x, d, s->radius, true, t);
        clip_to_slab(x.z, d.z, -0.5 * s->length, 0.5 * s->length, t);
        break;
    case PERP_SHAPE_BOX: clip_to_slab(x.z, d.z, -s->half.z, s->half.z, t); /* fall through */
    case PERP_SHAPE_BOX2:
        clip_to_slab(x.x, d.x, -s->half.x, s->half.x, t);
        clip_to_slab(x.y, d.y, -s->half.y, s->half.y, t);
        break;
    default:
        PERP_ASSERT(s->type == PERP_SHAPE_POLYGON);
        for (int32_t i = 0; i < s->count; ++i) {
            const double *e = s->edge + 2 * i, *v = s->vertex + 2 * i;
            clip_to_slab(e[0] * (x.x - v[0]) + e[1] * (x.y - v[1]), e[0] * d.x + e[1] * d.y,
                         -INFINITY, 0.0, t);
        }
    }
    return t[0] <= t[1] ? t[0] : INFINITY;
}

/* How far the shape reaches from its origin along a direction of its frame, either way. */
static void extent(const perpi_shape* s, vec3 d, double range[2])
{
    range[0] = range[1] = 0.0;
    if (s->type == PERP_SHAPE_POLYGON) {
        range[0] = INFINITY;
        range[1] = -INFINITY;
        for (int32_t i = 0; i < s->count; ++i) {
            const double at = d.x * s->vertex[2 * i] + d.y * s->vertex[2 * i + 1];
            range[0] = at < range[0] ? at : range[0];
            range[1] = at > range[1] ? at : range[1];
        }
        return;
    }
    if (s->type == PERP_SHAPE_BOX || s->type == PERP_SHAPE_BOX2) {
        range[1] = fabs(d.x) * s->half.x + fabs(d.y) * s->half.y +
                   (s->type == PERP_SHAPE_BOX ? fabs(d.z) * s->half.z : 0.0);
    } else {
        range[1] = s->radius;
        if (s->type == PERP_SHAPE_CYLINDER) {
            range[1] = s->radius * hypot(d.x, d.y) + 0.5 * s->length * fabs(d.z);
        }
    }
    range[0] = -range[1];
}

/* Only a cap of a ball is within the margin: its radius. */
static double cap_radius(const perpi_shape* s, double height, double margin)
{
    const double open = height - margin; /* of the centre over the highest spring */
    return open <= 0.0 ? s->radius : sqrt(fmax(s->radius * s->radius - open * open, 0.0));
}

perp_status perpi_patch_find(const perpi_shape* plane, const perpi_pose* pose_plane,
                             const perpi_shape* body, const perpi_pose* pose_body, double spacing,
                             int32_t owner, double margin, perpi_candidate_list* list)
{
    const bool planar = plane->type == PERP_SHAPE_HALFPLANE;
    const bool ball = body->type == PERP_SHAPE_SPHERE || body->type == PERP_SHAPE_CIRCLE;
    const vec3 n = m3_mul(pose_plane->R, plane->normal);
    const vec3 across =
        planar ? v3(plane->normal.y, -plane->normal.x, 0.0) : v3_tangent(plane->normal);
    const vec3 e[2] = {m3_mul(pose_plane->R, across), v3_cross(n, m3_mul(pose_plane->R, across))};
    const vec3 origin = v3_madd(pose_plane->x, plane->offset, n);
    const vec3 centre = v3_sub(pose_body->x, origin), d = m3_tmul(pose_body->R, n);
    const int32_t bits = planar ? PLANAR_BITS : SPATIAL_BITS;
    double first[2] = {0.0, 0.0}, last[2] = {0.0, 0.0};
    for (int k = 0; k < (planar ? 1 : 2); ++k) {
        double range[2];
        extent(body, m3_tmul(pose_body->R, e[k]), range);
        if (ball) {
            range[1] = cap_radius(body, v3_dot(centre, n), margin);
            range[0] = -range[1];
        }
        const double at = v3_dot(centre, e[k]);
        first[k] = ceil((at + range[0]) / spacing - 0.5);
        last[k] = floor((at + range[1]) / spacing - 0.5);
        if (!(last[k] - first[k] < (double)(1 << bits)) || !(fabs(first[k]) < 1e15)) {
            return perpi_fail(
                list->context, PERP_ERROR_INPUT,
                "bodies/%d/compliance/patch/spacing: %g makes %.3g springs along one side of a "
                "patch, more than %d; make it larger",
                (int)owner, spacing, last[k] - first[k] + 1.0, 1 << bits);
        }
    }
    const uint64_t mask = (UINT64_C(1) << bits) - 1;
    for (double i = first[0]; i <= last[0]; i += 1.0) {
        for (double j = first[1]; j <= last[1]; j += 1.0) {
            vec3 x = v3_madd(origin, (i + 0.5) * spacing, e[0]);
            if (!planar) {
                x = v3_madd(x, (j + 0.5) * spacing, e[1]);
            }
            const double gap = ray_entry(body, m3_tmul(pose_body->R, v3_sub(x, pose_body->x)), d);
            if (!(gap <= margin)) {
                continue;
            }
            const uint64_t half = UINT64_C(1) << (bits - 1);
            const uint64_t a = ((uint64_t)(int64_t)i + half) & mask;
            const uint64_t b = planar ? 0 : ((uint64_t)(int64_t)j + half) & mask;
            const perp_status status = perpi_candidate_add(
                list, (uint32_t)(planar ? a : a << bits | b), x, v3_madd(x, gap, n), n, gap);
            if (status != PERP_OK) {
                return status;
            }
        }
    }
    return PERP_OK;
}
