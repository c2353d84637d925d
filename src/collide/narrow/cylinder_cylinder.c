/* src/collide/narrow/cylinder_cylinder.c - two cylinders.
 *
 * As in cylinder_polyhedron.c: first the direction of largest separation or least depth, then the contact
 * points along it. Coordinates are relative to the middle of the first, in world axes; n points from the
 * first to the second.
 */
#include "collide/narrow/choice.h"
#include "collide/narrow/gjk.h"
#include "collide/narrow/rod.h"
#include "collide/narrow/round.h"
#include "collide/narrow/slab.h"

enum { CORNERS = 32 };

typedef struct pair {
    perpi_rod rod[2];
    vec3 origin;
    double size; /* of the smaller one, for tolerances */
    double margin;
    perpi_candidate_list* list;
} pair;

typedef struct direction {
    vec3 n;
    double s; /* separation along it, < 0: depth */
} direction;

static double separation(const pair* x, vec3 n)
{
    return perpi_rod_low(&x->rod[1], n) - perpi_rod_high(&x->rod[0], n);
}

/* Ascent: tries eight neighbouring directions at a time, until the steps are shorter than
 * `fine`. */
static direction climb_separation(const pair* x, direction from, double step, double fine)
{
    while (step > fine) {
        const vec3 t = v3_tangent(from.n), w = v3_cross(from.n, t);
        direction next = from;
        for (int k = 0; k < 8; ++k) {
            const vec3 n = v3_unit(v3_madd(v3_madd(from.n, step * perpi_rim_cosine[k], t),
                                           step * perpi_rim_sine[k], w));
            const double s = separation(x, n);
            next = s > next.s ? (direction){n, s} : next;
        }
        step *= next.s > from.s ? 1.0 : 0.5;
        from = next;
    }
    return from;
}

/* flat: the best of the directions tried; round: of those found by ascent from them. favour: the
 * improvement required to replace a direction already found. */
static void consider_direction(const pair* x, vec3 n, double favour, direction* flat,
                               direction* round)
{
    const double length = v3_norm(n);
    if (!(length > 1e-9)) {
        return;
    }
    n = v3_scale(1.0 / length, n);
    for (int way = 0; way < 2; ++way, n = v3_neg(n)) {
        const direction here = {n, separation(x, n)};
        const direction up = climb_separation(x, here, 0.5, 0.01);
        *flat = here.s > flat->s + favour ? here : *flat;
        *round = up.s > round->s ? up : *round;
    }
}

/* The ends and the normals across the axes first; then ascent from them for rims, which may be less
 * deep. */
static direction least_deep(const pair* x)
{
    const perpi_rod *a = &x->rod[0], *b = &x->rod[1];
    const double favour = PERPI_CANDIDATE_SAME * x->size;
    direction flat = {.s = -INFINITY}, round = flat;
    consider_direction(x, a->a, 0.0, &flat, &round);
    consider_direction(x, b->a, favour, &flat, &round);
    if (v3_norm(v3_cross(a->a, b->a)) > PERPI_CANDIDATE_PARALLEL) {
        consider_direction(x, v3_cross(a->a, b->a), favour, &flat, &round);
    }
    const vec3 d = v3_sub(b->c, a->c);
    consider_direction(x, v3_madd(d, -v3_dot(d, a->a), a->a), favour, &flat, &round);
    consider_direction(x, v3_madd(d, -v3_dot(d, b->a), b->a), favour, &flat, &round);
    round = climb_separation(x, round, 0.01, 1e-9);
    return round.s > flat.s + favour ? round : flat;
}

/* ---- the points ------------------------------------------------------------------------------------ */

/* at: on rod `which`, gap along n to the other one. */
static perp_status add_point(const pair* x, uint32_t feature, int which, vec3 at, vec3 n,
                             double gap)
{
    if (!(gap <= x->margin)) {
        return PERP_OK;
    }
    const vec3 p = v3_add(x->origin, at);
    const vec3 a = which == 0 ? p : v3_madd(p, -gap, n), b = which == 0 ? v3_madd(p, gap, n) : p;
    return perpi_candidate_add(x->list, feature, a, b, n, gap);
}

/* Clips the polygon to that of the eight points of a rim. */
static int cut_to_rim(const perpi_rod* r, vec3* x, int count)
{
    vec3 y[CORNERS];
    for (int k = 0; k < PERPI_RIM && count > 0; ++k) {
        const vec3 a = perpi_rod_rim(r, 1.0, k), b = perpi_rod_rim(r, 1.0, k + 1);
        const vec3 in = v3_cross(r->a, v3_sub(b, a));
        const double tiny = 1e-12 * r->r * v3_norm(in);
        int n = 0;
        for (int i = 0; i < count; ++i) {
            const vec3 s = x[i], t = x[(i + 1) % count];
            const double hs = v3_dot(in, v3_sub(s, a)), ht = v3_dot(in, v3_sub(t, a));
            if (hs >= -tiny && n < CORNERS) {
                y[n++] = s;
            }
            if (((hs < -tiny && ht > tiny) || (hs > tiny && ht < -tiny)) && n < CORNERS) {
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

/* The part of a segment that lies over the disc of a rod. */
static bool stretch_over_disc(const perpi_rod* r, const perpi_segment* s, double* lo, double* hi)
{
    const vec3 d = v3_sub(s->c, r->c);
    const vec3 across = v3_madd(d, -v3_dot(d, r->a), r->a);
    const vec3 u = v3_madd(s->u, -v3_dot(s->u, r->a), r->a);
    const double A = v3_dot(u, u), B = v3_dot(u, across), C = v3_dot(across, across) - r->r * r->r;
    const double root = B * B - A * C;
    if (!(root > 0.0)) {
        return false;
    }
    *lo = fmax((-B - sqrt(root)) / A, -s->l);
    *hi = fmin((-B + sqrt(root)) / A, s->l);
    return *lo <= *hi;
}

/* On the flat end of rod `flat`. out: its outward normal there. */
static perp_status add_end_points(const pair* x, int flat, vec3 out)
{
    const perpi_rod *r = &x->rod[flat], *o = &x->rod[1 - flat];
    const double plane = v3_dot(out, r->c) + r->l;
    const vec3 n = flat == 0 ? out : v3_neg(out);
    const double t = v3_dot(out, o->a), sine = v3_norm(v3_madd(out, -t, o->a));
    const double end = t > 0.0 ? -1.0 : 1.0; /* the lower one */
    const uint32_t base = flat == 0 ? 0U : 128U;
    perp_status status = PERP_OK;
    if (sine < PERPI_CANDIDATE_PARALLEL) {
        vec3 polygon[CORNERS];
        for (int k = 0; k < PERPI_RIM; ++k) {
            polygon[k] = perpi_rod_rim(o, end, k);
        }
        const int count = cut_to_rim(r, polygon, PERPI_RIM);
        double least = INFINITY;
        for (int k = 0; k < count && status == PERP_OK; ++k) {
            const double gap = v3_dot(out, polygon[k]) - plane;
            least = fmin(least, gap);
            status = add_point(x, base + (uint32_t)k, 1 - flat, polygon[k], n, gap);
        }
        const vec3 at = perpi_rod_support(o, v3_neg(out));
        const double gap = v3_dot(out, at) - plane;
        if (status == PERP_OK && gap < least - PERPI_CANDIDATE_SAME * x->size &&
            perpi_rod_off_axis(r, at) <= r->r) {
            status = add_point(x, base + 64, 1 - flat, at, n, gap);
        }
        return status;
    }
    const vec3 low = v3_scale(-o->r / sine, v3_madd(out, -t, o->a));
    const perpi_segment line = {v3_add(o->c, low), o->a, o->l};
    double s[2];
    if (fabs(t) < PERPI_CANDIDATE_PARALLEL) {
        const bool over = stretch_over_disc(r, &line, &s[0], &s[1]);
        const int ends = !over ? 0 : s[1] - s[0] > PERPI_CANDIDATE_SAME * x->size ? 2 : 1;
        for (int k = 0; k < ends && status == PERP_OK; ++k) {
            const vec3 at = perpi_segment_at(&line, s[k]);
            status =
                add_point(x, base + 65 + (uint32_t)k, 1 - flat, at, n, v3_dot(out, at) - plane);
        }
        return status;
    }
    const vec3 lowest = perpi_segment_at(&line, end * o->l);
    for (int k = -1; k < PERPI_RIM && status == PERP_OK; ++k) {
        const vec3 at = k < 0 ? lowest : perpi_rod_rim(o, end, k);
        const bool same = k >= 0 && v3_norm(v3_sub(at, lowest)) < PERPI_CANDIDATE_SAME * x->size;
        if (!same && perpi_rod_off_axis(r, at) <= r->r) {
            status = add_point(x, base + 72 + (uint32_t)(k + 1), 1 - flat, at, n,
                               v3_dot(out, at) - plane);
        }
    }
    return status;
}

/* The line of the side of a rod that is farthest along n. */
static perpi_segment side_line(const perpi_rod* r, vec3 n)
{
    const vec3 across = v3_madd(n, -v3_dot(n, r->a), r->a);
    return (perpi_segment){v3_madd(r->c, r->r / v3_norm(across), across), r->a, r->l};
}

/* Axes that cross at a small angle: at both ends of the common part the second one is open by the
 * square of that angle only. Without rows of their own it would turn into the first one within the
 * step, at one end and then at the other. */
static perp_status add_oblique_ends(const pair* x)
{
    const perpi_rod *a = &x->rod[0], *b = &x->rod[1];
    const perpi_segment axis[2] = {{a->c, a->a, a->l}, {b->c, b->a, b->l}};
    perpi_chord chord[2];
    perp_status status = PERP_OK;
    if (!perpi_segment_overlap(&axis[0], &axis[1], PERPI_CANDIDATE_SAME * x->size, chord)) {
        return PERP_OK;
    }
    for (int k = 0; k < 2 && status == PERP_OK; ++k) {
        const vec3 d = v3_sub(perpi_segment_at(&axis[1], chord[k].t), a->c);
        const vec3 off = v3_madd(d, -v3_dot(d, a->a), a->a);
        const double rho = v3_norm(off);
        if (!(rho > PERPI_CANDIDATE_VANISH * x->size)) {
            continue;
        }
        const vec3 n = v3_scale(1.0 / rho, off);
        const perpi_segment low = side_line(b, v3_neg(n));
        const vec3 at = perpi_segment_at(&low, chord[k].t);
        status = add_point(x, 264 + (uint32_t)k, 1, at, n, v3_dot(n, v3_sub(at, a->c)) - a->r);
    }
    return status;
}

/* Side by side: along a common stretch, or where they cross. */
static perp_status add_side_points(const pair* x, direction d)
{
    const perpi_rod *a = &x->rod[0], *b = &x->rod[1];
    const perpi_segment one = side_line(a, d.n), two = side_line(b, v3_neg(d.n));
    const double sine = v3_norm(v3_cross(a->a, b->a));
    perpi_chord chord[2];
    perp_status status = PERP_OK;
    if (sine < PERPI_CANDIDATE_PARALLEL &&
        perpi_segment_overlap(&one, &two, PERPI_CANDIDATE_SAME * x->size, chord)) {
        for (int k = 0; k < 2 && status == PERP_OK; ++k) {
            const vec3 at = perpi_segment_at(&two, chord[k].t);
            const double gap = v3_dot(d.n, v3_sub(at, perpi_segment_at(&one, chord[k].s)));
            status = add_point(x, 256 + (uint32_t)k, 1, at, d.n, gap);
        }
        return status;
    }
    perpi_segment flat = two;
    flat.c = v3_madd(flat.c, -d.s, d.n);
    const perpi_chord one_point = perpi_segment_closest(&one, &flat);
    status = add_point(x, 258, 1, perpi_segment_at(&two, one_point.t), d.n, d.s);
    return status == PERP_OK && sine < PERPI_CANDIDATE_OBLIQUE ? add_oblique_ends(x) : status;
}

/* Whether two rods lie side by side along n, also where one leans on the rim of the other by a small angle. */
static bool side_by_side(const pair* x, vec3 n)
{
    const perpi_rod *a = &x->rod[0], *b = &x->rod[1];
    const double ta = fabs(v3_dot(n, a->a)), tb = fabs(v3_dot(n, b->a));
    return (ta < 1e-6 && tb < 1e-6) ||
           (ta < PERPI_CANDIDATE_PARALLEL && tb < PERPI_CANDIDATE_PARALLEL &&
            v3_norm(v3_cross(a->a, b->a)) < PERPI_CANDIDATE_PARALLEL);
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
    const perpi_rod *a = &x->rod[0], *b = &x->rod[1];
    const size_t before = x->list->count;
    const double ta = v3_dot(d.n, a->a), tb = v3_dot(d.n, b->a);
    perp_status status = PERP_OK;
    if (v3_norm(v3_cross(d.n, a->a)) < PERPI_CANDIDATE_PARALLEL) {
        status = add_end_points(x, 0, v3_scale(ta < 0.0 ? -1.0 : 1.0, a->a));
    } else if (v3_norm(v3_cross(d.n, b->a)) < PERPI_CANDIDATE_PARALLEL) {
        status = add_end_points(x, 1, v3_scale(tb < 0.0 ? 1.0 : -1.0, b->a));
    }
    if (status != PERP_OK || x->list->count > before) {
        /* for a small tilt the closest point of the ends can lie between the points that represent
         * the rim */
        const bool lower =
            status == PERP_OK && least_row(x->list, before) > d.s + PERPI_CANDIDATE_SAME * x->size;
        const vec3 at = closest != NULL ? closest->b : perpi_rod_support(b, v3_neg(d.n));
        return lower ? add_point(x, 263, 1, at, d.n, d.s) : status;
    }
    if (side_by_side(x, d.n)) {
        return add_side_points(x, d);
    }
    if (closest != NULL) {
        return add_point(x, 260, 1, closest->b, d.n, d.s);
    }
    /* a rim has one lowest point, a side a line of them */
    return fabs(tb) > fabs(ta) ? add_point(x, 261, 1, perpi_rod_support(b, v3_neg(d.n)), d.n, d.s)
                               : add_point(x, 262, 0, perpi_rod_support(a, d.n), d.n, d.s);
}

/* ---- alternative directions: see choice.h ---------------------------------------------------------- */

/* owner: the body whose flat end or side defines the direction; the other one has its lowest point
 * at the end of the step over it. */
static void offer_direction(const pair* x, perpi_choices* choices, vec3 n, vec3 at, int owner,
                            vec3 way, uint32_t id)
{
    const double length = v3_norm(way);
    if (!(length > 1e-9)) {
        return;
    }
    way = v3_scale(1.0 / length, way);
    perpi_choice c = {.n = way, .id = id};
    for (int32_t k = -1; k < x->list->spins; ++k) {
        const vec3 spin = k < 0 ? v3(0, 0, 0) : x->list->spin[k];
        vec3 b;
        double s;
        if (owner == 0) {
            b = perpi_rod_nearest_at_end(&x->rod[1], v3_neg(way), spin, at);
            s = v3_dot(way, b) - perpi_rod_high(&x->rod[0], way);
        } else {
            const vec3 a = perpi_rod_nearest_at_end(&x->rod[0], way, v3_neg(spin), at);
            s = perpi_rod_low(&x->rod[1], way) - v3_dot(way, a);
            b = v3_madd(a, s, way);
        }
        perpi_choice_row(&c, v3_add(x->origin, b), s, 0.01 * x->margin);
    }
    perpi_choices_take(choices, n, x->margin, &c);
}

/* The ends of both, across their sides, and where their rims cross. Rods that lie side by side need
 * no other direction across their sides: see cylinder.c. */
static perp_status choose_directions(const pair* x, const perpi_slab_pair* bodies, size_t first)
{
    if (x->list->count == first || !perpi_candidate_groups(x->list)) {
        return PERP_OK;
    }
    const perpi_candidate* candidate = &x->list->item[first];
    const bool flipped = x->list->flipped;
    const vec3 n = flipped ? v3_neg(candidate->normal) : candidate->normal;
    const vec3 at = v3_sub(flipped ? candidate->point_a : candidate->point_b, x->origin);
    const vec3 between = v3_sub(x->rod[1].c, x->rod[0].c);
    const vec3 across = v3_cross(x->rod[0].a, x->rod[1].a);
    perpi_choices choices = perpi_choices_for(x->list, first);
    const bool beside = side_by_side(x, n);
    for (int i = 0; i < 2; ++i) {
        const vec3 a = x->rod[i].a;
        offer_direction(x, &choices, n, at, i, a, (uint32_t)(4 * i));
        offer_direction(x, &choices, n, at, i, v3_neg(a), (uint32_t)(4 * i + 1));
        if (beside) {
            continue;
        }
        offer_direction(x, &choices, n, at, i, v3_madd(n, -v3_dot(n, a), a), (uint32_t)(4 * i + 2));
        offer_direction(x, &choices, n, at, i, v3_madd(between, -v3_dot(between, a), a),
                        (uint32_t)(4 * i + 3));
    }
    if (!beside && v3_norm(across) > PERPI_CANDIDATE_PARALLEL) {
        offer_direction(x, &choices, n, at, 0,
                        v3_dot(across, between) < 0.0 ? v3_neg(across) : across, 8);
    }
    /* from directions between those of the rows and the others */
    const int32_t flats = choices.count;
    for (int32_t i = 0; i < flats; ++i) {
        const vec3 middle = v3_unit(v3_add(n, choices.item[i].n));
        const perpi_slab rims = perpi_slab_newton(bodies, perpi_slab_at(bodies, middle, NULL));
        offer_direction(x, &choices, n, at, 0, rims.n, 16 + (uint32_t)i);
    }
    return perpi_candidate_choose(x->list, first, &choices);
}

static perpi_rod rod_of(const perpi_shape* s, const perpi_pose* pose, vec3 origin)
{
    return (perpi_rod){v3_sub(pose->x, origin), m3_column(pose->R, 2), m3_column(pose->R, 0),
                       m3_column(pose->R, 1),   0.5 * s->length,       s->radius};
}

perp_status perpi_cylinder_cylinder(const perpi_shape* a, const perpi_pose* pose_a,
                                    const perpi_shape* b, const perpi_pose* pose_b, double margin,
                                    perpi_candidate_list* list)
{
    pair x = {.rod = {rod_of(a, pose_a, pose_a->x), rod_of(b, pose_b, pose_a->x)},
              .origin = pose_a->x,
              .margin = margin,
              .list = list};
    const double reach[2] = {hypot(x.rod[0].l, x.rod[0].r), hypot(x.rod[1].l, x.rod[1].r)};
    x.size = fmin(reach[0], reach[1]);
    if (!(v3_norm(x.rod[1].c) - reach[0] - reach[1] <= margin)) {
        return PERP_OK;
    }
    const perpi_gjk closest =
        perpi_gjk_within(&x.rod[0], perpi_rod_support, &x.rod[1], perpi_rod_support, x.rod[1].c,
                         1e-7 * x.size, margin);
    if (!(closest.distance <= margin)) {
        return PERP_OK;
    }
    const perpi_slab_pair bodies = perpi_slab_pair_of(a, pose_a, b, pose_b);
    const size_t first = list->count;
    perp_status status;
    if (closest.distance > 0.0) {
        const direction d = {v3_scale(1.0 / closest.distance, v3_sub(closest.b, closest.a)),
                             closest.distance};
        status = add_points_along(&x, d, &closest);
    } else {
        direction d = least_deep(&x);
        const perpi_slab rims = perpi_slab_newton(&bodies, perpi_slab_at(&bodies, d.n, NULL));
        if (rims.s > d.s + PERPI_CANDIDATE_SAME * x.size) {
            d = (direction){rims.n, rims.s};
        }
        status = add_points_along(&x, d, NULL);
    }
    return status == PERP_OK ? choose_directions(&x, &bodies, first) : status;
}
