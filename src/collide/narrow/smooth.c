/* src/collide/narrow/smooth.c - closest points of smooth convex bodies, and of these with planes and
 * polygons; smooth_polytope.c has the other shapes in space.
 *
 * Source     the common normal of [B09 (3.72), (3.73)]: the normals at the closest points lie on the
 *            line between them
 * Notation   s(n) = n . (x_B - x_A) - h_A(n) - h_B(-n), h the support functions (shape/smooth.h): the
 *            distance of the two tangent planes with normal n; w = p_B - p_A of their points, s = n . w
 * Departure  instead of points and multipliers the unknown is the normal alone. The gap is the largest
 *            s over all unit n, the distance of bodies that are apart and minus the depth of bodies
 *            that overlap; there w = s n, which is the common normal. Ascent by Newton's method with
 *            the Hessian -(H_A + H_B + s I); in the plane, where one angle is left, within a bracket,
 *            so that it converges at flat and sharp places of a superellipse.
 */
#include "shape/smooth.h"

#include "collide/narrow/choice.h"
#include "collide/narrow/round.h"
#include "collide/narrow/slab.h"

enum { NEWTON_STEPS = 30, BACKTRACKS = 20, ANGLES = 32, ANGLE_STEPS = 200 };
/* Of the size of the pair: convergence tolerance on the part of w across n. */
static const double FOUND = 1e-15;
/* With this residual the result of Newton's method is accepted. */
static const double ENOUGH = 1e-12;
/* Radians: the largest change of the normal in one step. */
static const double LONGEST = 0.5;
/* Radians: the arc of normals over a polygon's corner that is searched at a time. */
static const double CORNER_PART = 0.4;

typedef perpi_slab_pair pair;
typedef perpi_slab slab;

static mat3 turned(const perpi_pose* pose, mat3 H)
{
    return m3_mm(pose->R, m3_mm(H, m3_transpose(pose->R)));
}

perpi_slab perpi_slab_at(const perpi_slab_pair* c, vec3 n, mat3* H)
{
    slab x = {.n = n};
    mat3 H_a, H_b;
    vec3 a, b;
    (void)perpi_smooth_support(c->a, m3_tmul(c->pose_a->R, n), &a, H != NULL ? &H_a : NULL);
    (void)perpi_smooth_support(c->b, m3_tmul(c->pose_b->R, v3_neg(n)), &b, H != NULL ? &H_b : NULL);
    x.p_a = perpi_pose_point(c->pose_a, a);
    x.p_b = perpi_pose_point(c->pose_b, b);
    const vec3 w = v3_sub(x.p_b, x.p_a);
    x.s = v3_dot(n, w);
    x.off = v3_madd(w, -x.s, n);
    if (H != NULL) {
        const mat3 A = turned(c->pose_a, H_a), B = turned(c->pose_b, H_b);
        for (int i = 0; i < 3; ++i) {
            for (int j = 0; j < 3; ++j) {
                H->m[i][j] = A.m[i][j] + B.m[i][j];
            }
        }
    }
    return x;
}

static double reach_of(const perpi_shape* s)
{
    return s->type == PERP_SHAPE_PARTICLE ? 0.0 : perpi_shape_ops_of(s->type)->reach(s);
}

perpi_slab_pair perpi_slab_pair_of(const perpi_shape* a, const perpi_pose* pose_a,
                                   const perpi_shape* b, const perpi_pose* pose_b)
{
    const double apart = v3_norm(v3_sub(pose_b->x, pose_a->x));
    return (pair){a, b, pose_a, pose_b, reach_of(a) + reach_of(b) + apart};
}

/* ---- in space ----------------------------------------------------------------------------------- */

/* Starting directions: from centre to centre, and near the axes and diagonals of both bodies, not
 * on them: on an axis a flat surface has no second derivatives. Best first. */
enum { STARTS = 4 };

static void insert_start(slab start[STARTS], slab x)
{
    for (int i = 0; i < STARTS; ++i) {
        if (x.s > start[i].s) {
            const slab y = start[i];
            start[i] = x;
            x = y;
        }
    }
}

static void find_starting_normals(const pair* c, slab start[STARTS])
{
    for (int i = 0; i < STARTS; ++i) {
        start[i].s = -INFINITY;
    }
    const vec3 d = v3_sub(c->pose_b->x, c->pose_a->x);
    if (v3_norm(d) > PERPI_CANDIDATE_VANISH * c->size) {
        insert_start(start, perpi_slab_at(c, v3_unit(d), NULL));
    }
    for (int body = 0; body < 2; ++body) {
        const mat3 R = body == 0 ? c->pose_a->R : c->pose_b->R;
        for (int k = 0; k < 27; ++k) {
            if (k != 13) {
                const vec3 e = {k % 3 - 0.98, k / 3 % 3 - 0.97, k / 9 - 1.04};
                insert_start(start, perpi_slab_at(c, v3_unit(m3_mul(R, e)), NULL));
            }
        }
    }
}

/* Solves (H + s I) d = off, with the matrix made positive definite if it is not. */
vec3 perpi_slab_step(const perpi_slab* x, mat3 H)
{
    const vec3 t = v3_tangent(x->n), o = v3_cross(x->n, t);
    const vec3 Ht = m3_mul(H, t), Ho = m3_mul(H, o);
    double k00 = v3_dot(t, Ht) + x->s, k01 = v3_dot(t, Ho), k11 = v3_dot(o, Ho) + x->s;
    /* smallest eigenvalue to at least a small part of the largest */
    const double mean = 0.5 * (k00 + k11), half = hypot(0.5 * (k00 - k11), k01);
    const double floor = 1e-9 * (fabs(mean) + half);
    if (!(mean - half > floor)) {
        const double shift = floor - (mean - half) + 0.1 * half;
        k00 += shift;
        k11 += shift;
    }
    const double g0 = v3_dot(t, x->off), g1 = v3_dot(o, x->off), det = k00 * k11 - k01 * k01;
    const double d0 = (k11 * g0 - k01 * g1) / det, d1 = (k00 * g1 - k01 * g0) / det;
    const double length = hypot(d0, d1), scale = length > LONGEST ? LONGEST / length : 1.0;
    return v3_add(v3_scale(scale * d0, t), v3_scale(scale * d1, o));
}

perpi_slab perpi_slab_newton(const perpi_slab_pair* c, perpi_slab x)
{
    for (int k = 0; k < NEWTON_STEPS; ++k) {
        mat3 H;
        x = perpi_slab_at(c, x.n, &H);
        const double off = v3_norm(x.off);
        if (!(off > FOUND * c->size)) {
            break;
        }
        const vec3 d = perpi_slab_step(&x, H);
        const double rise = v3_dot(d, x.off);
        double part = 1.0;
        bool moved = false;
        for (int i = 0; i < BACKTRACKS && !moved; ++i, part *= 0.5) {
            const slab y = perpi_slab_at(c, v3_unit(v3_madd(x.n, part, d)), NULL);
            /* near the maximum changes of s are rounding; the part of w across n still decreases */
            if (y.s > x.s + 1e-4 * part * rise + 1e-14 * c->size ||
                v3_norm(y.off) < (1.0 - 0.1 * part) * off) {
                x = y;
                moved = true;
            }
        }
        if (!moved) {
            break;
        }
    }
    return x;
}

/* ---- where Newton's method does not converge -------------------------------------------------------
 * On a flat place (exponent above 2) the support point moves away from the axis as a root of the normal's
 * angle, and Newton steps overshoot. There the maximum of s is found by bracketing: along o for each
 * place along t, and along t. In the chart n = n_0 + X t + Y o s has one maximum as long as the bodies
 * are apart. */

typedef struct chart {
    const pair* c;
    vec3 n, t, o;
} chart;

static slab search_chart(const chart* m, double X, double Y)
{
    return perpi_slab_at(m->c, v3_unit(v3_add(m->n, v3_add(v3_scale(X, m->t), v3_scale(Y, m->o)))),
                         NULL);
}

/* The slope of s along t (outer) or o at X, at the Y where s is maximal (outer) or given. */
static double slope_at(const chart* m, bool outer, double X, double Y, slab* x);

/* The zero of the slope in [-reach, reach]; regula falsi alternating with bisection. */
static double bracket_slope(const chart* m, bool outer, double X, double reach, slab* x)
{
    double low = -reach, high = reach;
    double at_low = slope_at(m, outer, outer ? low : X, low, x);
    double at_high = slope_at(m, outer, outer ? high : X, high, x);
    if (!(at_low > 0.0)) {
        (void)slope_at(m, outer, outer ? low : X, low, x);
        return low;
    }
    if (!(at_high < 0.0)) {
        return high;
    }
    double middle = 0.0;
    for (int k = 0; k < ANGLE_STEPS; ++k) {
        middle =
            k % 3 == 2 ? 0.5 * (low + high) : low + (high - low) * (at_low / (at_low - at_high));
        if (!(middle > low && middle < high)) {
            middle = 0.5 * (low + high);
        }
        const double slope = slope_at(m, outer, outer ? middle : X, middle, x);
        if (!(fabs(slope) > FOUND * m->c->size) || !(middle > low && middle < high)) {
            break;
        }
        if (slope > 0.0) {
            low = middle;
            at_low = slope;
            at_high *= k % 3 == 1 ? 0.5 : 1.0; /* Illinois: halve the weight of an end that stays */
        } else {
            high = middle;
            at_high = slope;
            at_low *= k % 3 == 1 ? 0.5 : 1.0;
        }
    }
    return middle;
}

static double slope_at(const chart* m, bool outer, double X, double Y, slab* x)
{
    if (outer) {
        (void)bracket_slope(m, false, X, LONGEST, x);
        return v3_dot(x->off, m->t);
    }
    *x = search_chart(m, X, Y);
    return v3_dot(x->off, m->o);
}

/* Ascent by Newton's method, and by bracketing if that has not converged. */
perpi_slab perpi_slab_climb(const perpi_slab_pair* c, perpi_slab start)
{
    slab x = perpi_slab_newton(c, start);
    if (v3_norm(x.off) > ENOUGH * c->size) {
        const vec3 t = v3_tangent(x.n);
        const chart m = {c, x.n, t, v3_cross(x.n, t)};
        slab y = x;
        (void)bracket_slope(&m, true, 0.0, LONGEST, &y);
        x = v3_norm(y.off) < v3_norm(x.off) ? y : x;
    }
    return x;
}

static perp_status add_slab_row(perpi_candidate_list* list, const slab* x, double margin)
{
    return x->s <= margin
               ? perpi_candidate_add(list, 0, x->p_a, v3_madd(x->p_a, x->s, x->n), x->n, x->s)
               : PERP_OK;
}

perpi_slab perpi_slab_top(const perpi_slab_pair* c)
{
    slab start[STARTS];
    find_starting_normals(c, start);
    slab x = perpi_slab_climb(c, start[0]);
    /* overlapping bodies can have several maxima: the highest is the least depth */
    for (int i = 1; i < STARTS && x.s < 0.0; ++i) {
        if (v3_dot(start[i].n, x.n) < 0.9) {
            const slab y = perpi_slab_climb(c, start[i]);
            x = y.s > x.s ? y : x;
        }
    }
    return x;
}

perp_status perpi_smooth_smooth(const perpi_shape* a, const perpi_pose* pose_a,
                                const perpi_shape* b, const perpi_pose* pose_b, double margin,
                                perpi_candidate_list* list)
{
    const pair c = perpi_slab_pair_of(a, pose_a, b, pose_b);
    const slab x = perpi_slab_top(&c);
    return add_slab_row(list, &x, margin);
}

perp_status perpi_plane_smooth(const perpi_shape* a, const perpi_pose* pose_a, const perpi_shape* b,
                               const perpi_pose* pose_b, double margin, perpi_candidate_list* list)
{
    const vec3 n = m3_mul(pose_a->R, a->normal);
    const double offset = v3_dot(n, pose_a->x) + a->offset;
    vec3 local;
    (void)perpi_smooth_support(b, m3_tmul(pose_b->R, v3_neg(n)), &local, NULL);
    const vec3 p = perpi_pose_point(pose_b, local);
    const double gap = v3_dot(n, p) - offset;
    return gap <= margin ? perpi_candidate_add(list, 0, v3_madd(p, -gap, n), p, n, gap) : PERP_OK;
}

perpi_slab perpi_slab_arc(const perpi_slab_pair* c, vec3 f, vec3 g, double low, double high)
{
    double angle = 0.5 * (low + high);
    slab x = {0};
    for (int k = 0; k < ANGLE_STEPS; ++k) {
        const double co = cos(angle), si = sin(angle);
        const vec3 t = v3_add(v3_scale(-si, f), v3_scale(co, g));
        mat3 H;
        x = perpi_slab_at(c, v3_add(v3_scale(co, f), v3_scale(si, g)), &H);
        const double slope = v3_dot(t, x.off);
        if (!(fabs(slope) > FOUND * c->size)) {
            break;
        }
        *(slope > 0.0 ? &low : &high) = angle;
        double next = angle + slope / (v3_dot(t, m3_mul(H, t)) + x.s);
        if (!(next > low && next < high) || k % 3 == 2) {
            next = 0.5 * (low + high);
        }
        if (next == angle || !(next > low && next < high)) {
            break;
        }
        angle = next;
    }
    return x;
}

/* ---- in the plane ------------------------------------------------------------------------------- */

static vec3 at_angle(double angle)
{
    return v3(cos(angle), sin(angle), 0.0);
}

/* The angle of the maximum of s between low, where s rises, and high, where it is no higher. s' = t
 * . w, s'' = -(t . H t + s). */
static slab climb_angle(const pair* c, double low, double high)
{
    slab x = {0};
    double angle = low;
    for (int k = 0; k < ANGLE_STEPS; ++k) {
        mat3 H;
        x = perpi_slab_at(c, at_angle(angle), &H);
        const vec3 t = {-x.n.y, x.n.x, 0.0};
        const double slope = v3_dot(t, x.off);
        if (!(fabs(slope) > FOUND * c->size)) {
            break;
        }
        *(slope > 0.0 ? &low : &high) = angle;
        const double bend = v3_dot(t, m3_mul(H, t)) + x.s;
        double next = angle + slope / bend;
        /* every third step bisects the bracket, which bounds the number of steps */
        if (!(next > low && next < high) || k % 3 == 2) {
            next = 0.5 * (low + high);
        }
        if (next == angle || !(next > low && next < high)) {
            break;
        }
        angle = next;
    }
    return x;
}

/* The maximum next to an angle that is higher than its neighbours a step away. */
static slab climb_near(const pair* c, double angle, double step)
{
    const slab x = perpi_slab_at(c, at_angle(angle), NULL);
    return v3_dot(v3(-x.n.y, x.n.x, 0.0), x.off) > 0.0 ? climb_angle(c, angle, angle + step)
                                                       : climb_angle(c, angle - step, angle);
}

perp_status perpi_smooth_smooth_planar(const perpi_shape* a, const perpi_pose* pose_a,
                                       const perpi_shape* b, const perpi_pose* pose_b,
                                       double margin, perpi_candidate_list* list)
{
    const pair c = perpi_slab_pair_of(a, pose_a, b, pose_b);
    const vec3 d = v3_sub(pose_b->x, pose_a->x);
    const double step = 2.0 * 3.14159265358979323846 / ANGLES;
    const double first = v3_norm(d) > PERPI_CANDIDATE_VANISH * c.size ? atan2(d.y, d.x) : 0.0;
    double height[ANGLES];
    int top = 0;
    for (int i = 0; i < ANGLES; ++i) {
        height[i] = perpi_slab_at(&c, at_angle(first + i * step), NULL).s;
        top = height[i] > height[top] ? i : top;
    }
    slab x = climb_near(&c, first + top * step, step);
    /* overlapping bodies can have several maxima: the highest is the least depth */
    for (int i = 0; i < ANGLES && x.s < 0.0; ++i) {
        if (i != top && height[i] >= height[(i + 1) % ANGLES] &&
            height[i] >= height[(i + ANGLES - 1) % ANGLES]) {
            const slab y = climb_near(&c, first + i * step, step);
            x = y.s > x.s ? y : x;
        }
    }
    return add_slab_row(list, &x, margin);
}

/* ---- a polygon or a planar box with a superellipse ---------------------------------------------- */

static vec3 corner(const perpi_shape* s, const perpi_pose* pose, int32_t i)
{
    if (s->type == PERP_SHAPE_BOX2) {
        static const double x[4] = {1, 1, -1, -1}, y[4] = {-1, 1, 1, -1};
        return perpi_pose_point(pose, v3(x[i] * s->half.x, y[i] * s->half.y, 0.0));
    }
    return perpi_pose_point(pose, v3(s->vertex[2 * i], s->vertex[2 * i + 1], 0.0));
}

static vec3 face_normal(const perpi_shape* s, const perpi_pose* pose, int32_t i)
{
    static const vec3 box[4] = {{1, 0, 0}, {0, 1, 0}, {-1, 0, 0}, {0, -1, 0}};
    return m3_mul(
        pose->R, s->type == PERP_SHAPE_BOX2 ? box[i] : v3(s->edge[2 * i], s->edge[2 * i + 1], 0.0));
}

/* A face of the polygon and the point of the smooth body nearest to its line. */
typedef struct face_slab {
    vec3 n, p, from, to;
    double s;
    bool before, beyond; /* the point lies beyond an end of the face: which */
} face_slab;

static face_slab slab_of_face(const perpi_shape* a, const perpi_pose* pose_a, const perpi_shape* b,
                              const perpi_pose* pose_b, int32_t count, int32_t i)
{
    face_slab f = {.n = face_normal(a, pose_a, i),
                   .from = corner(a, pose_a, i),
                   .to = corner(a, pose_a, (i + 1) % count)};
    vec3 local;
    (void)perpi_smooth_support(b, m3_tmul(pose_b->R, v3_neg(f.n)), &local, NULL);
    f.p = perpi_pose_point(pose_b, local);
    f.s = v3_dot(f.n, v3_sub(f.p, f.from));
    const vec3 along = v3_sub(f.to, f.from);
    f.before = v3_dot(along, v3_sub(f.p, f.from)) < 0.0;
    f.beyond = v3_dot(along, v3_sub(f.p, f.to)) > 0.0;
    return f;
}

/* The maximum of s over the corner between two faces. It rises at the first normal if the point
 * lies beyond that face, and falls at the second if it lies before that. Over a sharp corner the
 * arc of normals also covers the far side of the smooth body, where s has other extrema: the arc is
 * searched in parts. The highest s at an end of a part goes to outer. */
static slab climb_corner(const face_slab* last, const face_slab* next, const perpi_shape* b,
                         const perpi_pose* pose_b, slab* outer)
{
    const double turn =
        atan2(last->n.x * next->n.y - last->n.y * next->n.x, v3_dot(last->n, next->n));
    const int parts = 1 + (int)fmax(turn / CORNER_PART, 0.0);
    const perpi_shape point = {.type = PERP_SHAPE_PARTICLE};
    const perpi_pose place = {.x = next->from, .q = q4_identity(), .R = m3_identity()};
    const pair c = perpi_slab_pair_of(&point, &place, b, pose_b);
    double low = atan2(last->n.y, last->n.x);
    const double first = low;
    bool rises = last->beyond;
    slab best = {.s = -INFINITY};
    for (int k = 1; k <= parts; ++k) {
        double high = first + turn;
        bool still = !next->before;
        if (k < parts) {
            high = first + turn * k / parts;
            const slab end = perpi_slab_at(&c, at_angle(high), NULL);
            still = v3_dot(v3(-end.n.y, end.n.x, 0.0), end.off) > 0.0;
            *outer = end.s > outer->s ? end : *outer;
        }
        if (rises && !still) {
            const slab x = climb_angle(&c, low, high);
            best = x.s > best.s ? x : best;
        }
        rises = still;
        low = high;
    }
    return best;
}

/* s has a maximum at the normal of a face that the closest point lies over, and others between the
 * normals of two neighbours: over their corner. Bodies that are apart have one where s > 0; for
 * overlapping bodies the highest is minus the depth. */
perp_status perpi_polygon_smooth(const perpi_shape* a, const perpi_pose* pose_a,
                                 const perpi_shape* b, const perpi_pose* pose_b, double margin,
                                 perpi_candidate_list* list)
{
    const int32_t count = a->type == PERP_SHAPE_BOX2 ? 4 : a->count;
    slab best = {.s = -INFINITY}, outer = best;
    face_slab last = slab_of_face(a, pose_a, b, pose_b, count, count - 1);
    for (int32_t i = 0; i < count; ++i) {
        const face_slab f = slab_of_face(a, pose_a, b, pose_b, count, i);
        if (!f.before && !f.beyond && f.s > best.s) {
            best = (slab){.n = f.n, .p_a = v3_madd(f.p, -f.s, f.n), .p_b = f.p, .s = f.s};
        }
        const slab x = climb_corner(&last, &f, b, pose_b, &outer);
        best = x.s > best.s ? x : best;
        if (f.s > outer.s) {
            outer = (slab){.n = f.n, .p_a = v3_madd(f.p, -f.s, f.n), .p_b = f.p, .s = f.s};
        }
        last = f;
    }
    /* deep inside s may have its maxima elsewhere: use the best value found */
    best = best.s >= outer.s ? best : outer;
    const size_t first = list->count;
    const perp_status status = add_slab_row(list, &best, margin);
    if (status != PERP_OK || list->count == first || !perpi_candidate_groups(list)) {
        return status;
    }
    /* faces near the corner are alternative directions */
    perpi_choices choices = {.count = 0};
    const vec3 foot = v3_madd(best.p_b, -best.s, best.n);
    for (int32_t i = 0; i < count; ++i) {
        const face_slab f = slab_of_face(a, pose_a, b, pose_b, count, i);
        const vec3 along = v3_sub(f.to, f.from);
        const double t = v3_dot(v3_sub(foot, f.from), along) / v3_dot(along, along);
        const vec3 off = v3_sub(foot, v3_madd(f.from, perpi_clamp(t, 0.0, 1.0), along));
        if (v3_dot(off, off) <= 4.0 * margin * margin) {
            perpi_choice c = {.n = f.n, .id = (uint32_t)i};
            perpi_choice_row(&c, f.p, f.s, 0.0);
            perpi_choices_take(&choices, best.n, margin, &c);
        }
    }
    return perpi_candidate_choose(list, first, &choices);
}
