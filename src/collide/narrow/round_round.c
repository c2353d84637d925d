/* src/collide/narrow/round_round.c - two round shapes: the closest points of their segments, and, where
 * two capsules lie side by side, the two ends of the stretch along which they do. */
#include "collide/narrow/round.h"

perpi_round perpi_round_of(const perpi_shape* shape, const perpi_pose* pose)
{
    return (perpi_round){
        .c = pose->x,
        .u = m3_column(pose->R, 2),
        .side = m3_column(pose->R, 0),
        .l = shape->type == PERP_SHAPE_CAPSULE ? 0.5 * shape->length : 0.0,
        .r = shape->type == PERP_SHAPE_PARTICLE ? 0.0 : shape->radius,
    };
}

static perpi_chord chord_at(const perpi_segment* a, double s, const perpi_segment* b, double t)
{
    const vec3 d = v3_sub(perpi_segment_at(b, t), perpi_segment_at(a, s));
    return (perpi_chord){s, t, v3_dot(d, d)};
}

/* The point of the segment nearest to p. */
static double nearest(const perpi_segment* a, vec3 p)
{
    return perpi_clamp(v3_dot(a->u, v3_sub(p, a->c)), -a->l, a->l);
}

/* The minimum is at an end of one segment, or between interior points of two that are not parallel.
 * All cases are tried, so that dividing by a small sine does no harm. */
perpi_chord perpi_segment_closest(const perpi_segment* a, const perpi_segment* b)
{
    perpi_chord best = {0, 0, INFINITY};
    for (int e = 0; e < 2; ++e) {
        const double s = e == 0 ? -a->l : a->l;
        const perpi_chord c = chord_at(a, s, b, nearest(b, perpi_segment_at(a, s)));
        best = c.d2 < best.d2 ? c : best;
    }
    for (int e = 0; e < 2; ++e) {
        const double t = e == 0 ? -b->l : b->l;
        const perpi_chord c = chord_at(a, nearest(a, perpi_segment_at(b, t)), b, t);
        best = c.d2 < best.d2 ? c : best;
    }
    const vec3 w = v3_cross(a->u, b->u);
    const double sine2 = v3_dot(w, w);
    if (sine2 > 0.0 && a->l > 0.0 && b->l > 0.0) {
        const double cosine = v3_dot(a->u, b->u);
        const vec3 d = v3_sub(b->c, a->c);
        const double da = v3_dot(d, a->u), db = v3_dot(d, b->u);
        const double s = (da - cosine * db) / sine2, t = (cosine * da - db) / sine2;
        if (fabs(s) < a->l && fabs(t) < b->l) {
            const perpi_chord c = chord_at(a, s, b, t);
            best = c.d2 < best.d2 ? c : best;
        }
    }
    return best;
}

bool perpi_segment_overlap(const perpi_segment* a, const perpi_segment* b, double tiny,
                           perpi_chord chord[2])
{
    /* b's ends projected on a's line, in their order there */
    const double way = v3_dot(a->u, b->u) < 0.0 ? -1.0 : 1.0;
    const double middle = v3_dot(a->u, v3_sub(b->c, a->c));
    const double half = fabs(v3_dot(a->u, b->u)) * b->l;
    const double lo = middle - half > -a->l ? middle - half : -a->l;
    const double hi = middle + half < a->l ? middle + half : a->l;
    if (!(hi - lo > tiny)) {
        return false;
    }
    /* An end of b is paired with its foot on a, an end of a with its foot on b. */
    const double t_lo = middle - half > -a->l ? -way * b->l : nearest(b, perpi_segment_at(a, lo));
    const double t_hi = middle + half < a->l ? way * b->l : nearest(b, perpi_segment_at(a, hi));
    chord[0] = chord_at(a, lo, b, t_lo);
    chord[1] = chord_at(a, hi, b, t_hi);
    return true;
}

/* Where the axes intersect, no direction from one to the other exists: use the one perpendicular to
 * both axes, else one fixed in a shape. */
static vec3 normal_without_direction(const perpi_round* a, const perpi_round* b)
{
    if (a->l > 0.0 && b->l > 0.0) {
        const vec3 w = v3_cross(a->u, b->u);
        const double sine = v3_norm(w);
        if (sine > PERPI_CANDIDATE_TIE) {
            return v3_scale(v3_dot(w, v3_sub(b->c, a->c)) < 0.0 ? -1.0 / sine : 1.0 / sine, w);
        }
        return a->side;
    }
    return b->l > 0.0 ? b->side : a->side;
}

static double gap_of(const perpi_round* a, const perpi_round* b, const perpi_chord* chord)
{
    return sqrt(chord->d2) - a->r - b->r;
}

static perp_status add_chord(const perpi_round* a, const perpi_round* b, const perpi_chord* chord,
                             uint32_t feature, double margin, perpi_candidate_list* list)
{
    if (!(gap_of(a, b, chord) <= margin)) {
        return PERP_OK;
    }
    const vec3 x_a = v3_madd(a->c, chord->s, a->u), x_b = v3_madd(b->c, chord->t, b->u);
    const double d = sqrt(chord->d2);
    const bool directed = d > PERPI_CANDIDATE_VANISH * (a->r + b->r);
    const vec3 n = directed ? v3_scale(1.0 / d, v3_sub(x_b, x_a)) : normal_without_direction(a, b);
    const vec3 p_a = v3_madd(x_a, a->r, n), p_b = v3_madd(x_b, -b->r, n);
    return perpi_candidate_add(list, feature, p_a, p_b, n, v3_dot(n, v3_sub(p_b, p_a)));
}

/* Features: 0 the closest points, 1 and 2 the low and the high end of the overlap. */
perp_status perpi_round_round(const perpi_shape* shape_a, const perpi_pose* pose_a,
                              const perpi_shape* shape_b, const perpi_pose* pose_b, double margin,
                              perpi_candidate_list* list)
{
    const perpi_round a = perpi_round_of(shape_a, pose_a), b = perpi_round_of(shape_b, pose_b);
    const perpi_segment axis_a = {a.c, a.u, a.l}, axis_b = {b.c, b.u, b.l};
    const perpi_chord closest = perpi_segment_closest(&axis_a, &axis_b);
    if (!(gap_of(&a, &b, &closest) <= margin)) {
        return PERP_OK;
    }

    const double shorter = a.l < b.l ? a.l : b.l;
    perpi_chord end[2];
    if (!(shorter > 0.0) || v3_norm(v3_cross(a.u, b.u)) > PERPI_CANDIDATE_PARALLEL ||
        !perpi_segment_overlap(&axis_a, &axis_b, PERPI_CANDIDATE_SAME * shorter, end)) {
        return add_chord(&a, &b, &closest, 0, margin, list);
    }

    /* Side by side. Where the axes cross in between, the closest points are a third contact. */
    const double least = end[0].d2 < end[1].d2 ? end[0].d2 : end[1].d2;
    if (sqrt(closest.d2) < sqrt(least) - PERPI_CANDIDATE_TIE * shorter) {
        const perp_status status = add_chord(&a, &b, &closest, 0, margin, list);
        if (status != PERP_OK) {
            return status;
        }
    }
    for (uint32_t e = 0; e < 2; ++e) {
        const perp_status status = add_chord(&a, &b, &end[e], 1 + e, margin, list);
        if (status != PERP_OK) {
            return status;
        }
    }
    return PERP_OK;
}
