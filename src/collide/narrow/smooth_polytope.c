/* src/collide/narrow/smooth_polytope.c - smooth bodies with polyhedra, capsules and cylinders.
 *
 * Notation   s(n), w as in smooth.c; a is the polyhedron, capsule or cylinder, b the smooth body
 * Method     The sphere of normals is cut by a's features: the normals in which a vertex is outermost are a cone,
 *            those of an edge an arc between the normals of its faces, that of a face a point. In each part s is
 *            that of a particle with a smooth body. The search for the maximum of s ascends from part to part:
 *            bodies that are apart have one maximum. For overlapping bodies the highest found from several
 *            faces is minus the depth. A capsule has two cones (its ends) and a great circle (its side) between
 *            them; a cylinder two points (its ends' normals), a great circle, and two discs' rims.
 *            For every n found, s(n) is evaluated with the whole of a, so that every row is a valid constraint.
 * Flats      A strictly convex body has one contact point. A superquadric of exponents above 2 is nearly flat on its
 *            sides: then vertices of a (ends of a capsule, points of a rim) that are within the margin have
 *            rows as well, each as a particle.
 */
#include "collide/narrow/choice.h"
#include "collide/crossing.h"
#include "collide/narrow/gjk.h"
#include "collide/narrow/round.h"
#include "collide/narrow/slab.h"
#include "shape/polyhedron.h"
#include "shape/smooth.h"

enum {
    VISITS = 64,
    FACE_STARTS = 12,
    CIRCLE = 16,
    RIM = 8,
    MOST_FLAT = 24,
    STARTS = 8,
    CLIMBS = 30,
    BACKTRACKS = 20
};
#define ARC_PART 0.4 /* radians: the arc of normals over an edge that is searched at a time */
#define FLAT 1e-6    /* of the size: closer points lie in the plane */
#define SHALLOW 1e-3 /* of the thickness */
#define PI 3.14159265358979323846

/* All coordinates in a's frame. */
typedef struct placed {
    const perpi_shape *a, *b;
    const perpi_pose* pose; /* a's, world */
    perpi_pose origin, pose_b;
    double size, margin;
    perpi_candidate_list* list;
} placed;

static placed place_pair(const perpi_shape* a, const perpi_pose* pose_a, const perpi_shape* b,
                         const perpi_pose* pose_b, double margin, perpi_candidate_list* list)
{
    placed o = {.a = a,
                .b = b,
                .pose = pose_a,
                .origin = {v3(0, 0, 0), q4_identity(), m3_identity()},
                .margin = margin,
                .list = list};
    o.pose_b.x = m3_tmul(pose_a->R, v3_sub(pose_b->x, pose_a->x));
    o.pose_b.q = q4_mul(q4_conj(pose_a->q), pose_b->q);
    o.pose_b.R = m3_mm(m3_transpose(pose_a->R), pose_b->R);
    const double r_a = perpi_shape_ops_of(a->type)->reach(a),
                 r_b = perpi_shape_ops_of(b->type)->reach(b);
    o.size = r_a < r_b ? r_a : r_b;
    return o;
}

/* A part of a, with its origin at `at`. */
typedef struct part {
    perpi_shape shape;
    perpi_pose pose;
} part;

static part part_at(perpi_shape shape, vec3 at)
{
    return (part){shape, {at, q4_identity(), m3_identity()}};
}

static perpi_slab_pair with_b(const placed* o, const part* p)
{
    return perpi_slab_pair_of(&p->shape, &p->pose, o->b, &o->pose_b);
}

static bool is_flat(const perpi_shape* b)
{
    return b->type == PERP_SHAPE_SUPERQUADRIC && (b->exponent[0] > 2.0 || b->exponent[1] > 2.0);
}

/* ---- closest points --------------------------------------------------------------------------------- */

static vec3 support_a(const void* body, vec3 direction)
{
    const placed* o = body;
    const perpi_polyhedron* p = o->a->polyhedron;
    if (p != NULL) {
        return p->vertex[perpi_polyhedron_support(p, direction, 0)];
    }
    vec3 point;
    (void)perpi_smooth_support(o->a, direction, &point, NULL);
    return point;
}

static vec3 support_b(const void* body, vec3 direction)
{
    const placed* o = body;
    vec3 point;
    (void)perpi_smooth_support(o->b, m3_tmul(o->pose_b.R, direction), &point, NULL);
    return perpi_pose_point(&o->pose_b, point);
}

/* The direction between the closest points; false if they overlap or touch. */
static bool line_between(const placed* o, vec3* n)
{
    const perpi_gjk closest = perpi_gjk_closest(o, support_a, o, support_b, o->pose_b.x,
                                                PERPI_CANDIDATE_VANISH * o->size);
    if (closest.distance > 0.0) {
        *n = v3_scale(1.0 / closest.distance, v3_sub(closest.b, closest.a));
    }
    return closest.distance > 0.0;
}

/* Whether the foot of b's support point on a's tangent plane lies in a: then the two are the
 * closest points. */
static bool is_closest(const placed* o, const perpi_slab* x)
{
    const perpi_polyhedron* p = o->a->polyhedron;
    const vec3 foot = v3_madd(x->p_b, -x->s, x->n);
    const double tiny = PERPI_CANDIDATE_TIE * o->size, l = 0.5 * o->a->length;
    if (o->a->type == PERP_SHAPE_CAPSULE) {
        const vec3 d = v3_sub(foot, v3(0, 0, perpi_clamp(foot.z, -l, l)));
        return v3_norm(d) - o->a->radius <= tiny;
    }
    if (o->a->type == PERP_SHAPE_CYLINDER) {
        return hypot(foot.x, foot.y) - o->a->radius <= tiny && fabs(foot.z) - l <= tiny;
    }
    bool inside = true;
    for (int32_t f = 0; f < p->face_count && inside; ++f) {
        inside = v3_dot(p->normal[f], foot) - p->offset[f] <= tiny;
    }
    return inside;
}

/* Whether x is accepted: the closest points of bodies that are apart, or of bodies whose overlap is
 * so small that another direction could not be less deep beyond rounding. */
static bool is_enough(const placed* o, const perpi_slab* x)
{
    if (!is_closest(o, x)) {
        return false;
    }
    return x->s > 0.0 ||
           x->s > -SHALLOW * fmin(perpi_shape_thickness(o->a), perpi_shape_thickness(o->b));
}

/* On a flat side rounding in n moves b's support point far. Then the contact point is that of the
 * closest points after b has been moved along n until the bodies are apart, which leaves n the
 * direction between them. */
static void choose_point(const placed* o, perpi_slab* x)
{
    if (is_closest(o, x)) {
        return;
    }
    const double least = 0.01 * o->size, away = x->s < least ? least - x->s : 0.0;
    placed moved = *o;
    moved.pose_b.x = v3_madd(o->pose_b.x, away, x->n);
    const perpi_gjk closest = perpi_gjk_closest(&moved, support_a, &moved, support_b, x->n,
                                                PERPI_CANDIDATE_VANISH * o->size);
    const vec3 b = v3_madd(closest.b, -away, x->n);
    const double height = v3_dot(x->n, v3_sub(b, x->p_b));
    if (closest.distance > 0.0 && fabs(height) <= FLAT * o->size) {
        x->p_b = v3_madd(b, -height, x->n);
    }
}

static perp_status add_row(const placed* o, uint32_t feature, const perpi_slab* x)
{
    if (!(x->s <= o->margin)) {
        return PERP_OK;
    }
    const vec3 b = perpi_pose_point(o->pose, x->p_b), n = m3_mul(o->pose->R, x->n);
    return perpi_candidate_add(o->list, feature, v3_madd(b, -x->s, n), b, n, x->s);
}

static void choose_direction(const placed* o, perpi_choices* choices, vec3 n, const perpi_slab* x,
                             uint32_t id)
{
    perpi_choice c = {.n = m3_mul(o->pose->R, x->n), .id = id};
    perpi_choice_row(&c, perpi_pose_point(o->pose, x->p_b), x->s, 0.0);
    perpi_choices_take(choices, m3_mul(o->pose->R, n), o->margin, &c);
}

/* A further point of a where b is flat: it has a row if it is within the margin, not deeper than
 * the pair, and on the same side. */
static perp_status add_beside(const placed* o, const perpi_slab* top, vec3 point, double radius,
                              uint32_t feature)
{
    const perpi_shape ball = {.type = PERP_SHAPE_SPHERE, .radius = radius};
    const part p = part_at(ball, point);
    const perpi_slab_pair c = with_b(o, &p);
    const perpi_slab first = perpi_slab_at(&c, top->n, NULL);
    if (!(first.s <= o->margin)) {
        return PERP_OK;
    }
    const perpi_slab x = perpi_slab_newton(&c, first);
    const vec3 apart = v3_sub(x.p_b, top->p_b);
    if (!(x.s >= top->s - PERPI_CANDIDATE_SAME * o->size) || !(v3_dot(x.n, top->n) > 0.5) ||
        !(v3_norm(apart) > 1e-3 * o->size)) {
        return PERP_OK;
    }
    return add_row(o, feature, &x);
}

/* Starting directions where bodies overlap and s has several maxima: near the axes and diagonals of
 * both frames (smooth.c), the line of centres, and the best others that differ. */
typedef struct starts {
    vec3 n[STARTS];
    double s[STARTS];
    int count;
} starts;

#define APART 0.95 /* cosine */

static void take_start(starts* list, vec3 n, double s)
{
    /* replaces a lower one near it, else the lowest */
    int near = -1, lowest = 0;
    for (int i = 0; i < list->count; ++i) {
        if (v3_dot(list->n[i], n) > APART && (near < 0 || list->s[i] > list->s[near])) {
            near = i;
        }
        lowest = list->s[i] < list->s[lowest] ? i : lowest;
    }
    if (near < 0 && list->count < STARTS) {
        near = list->count++;
        list->s[near] = -INFINITY;
    }
    near = near < 0 ? lowest : near;
    if (s > list->s[near]) {
        list->n[near] = n;
        list->s[near] = s;
    }
}

typedef perpi_slab (*slab_function)(const void* data, vec3 n);

static void find_starts(const placed* o, slab_function slab_at, const void* data, starts* list)
{
    list->count = 0;
    const double d = v3_norm(o->pose_b.x);
    if (d > PERPI_CANDIDATE_VANISH * o->size) {
        const vec3 n = v3_scale(1.0 / d, o->pose_b.x);
        take_start(list, n, slab_at(data, n).s);
    }
    for (int body = 0; body < 2; ++body) {
        for (int k = 0; k < 27; ++k) {
            vec3 e = {k % 3 - 0.98, k / 3 % 3 - 0.97, k / 9 - 1.04};
            e = v3_unit(body == 0 ? e : m3_mul(o->pose_b.R, e));
            if (k != 13) {
                take_start(list, e, slab_at(data, e).s);
            }
        }
    }
}

static perpi_slab search_whole(const void* data, vec3 n)
{
    return perpi_slab_at(data, n, NULL);
}

/* The highest maxima of s on the circle of normals f, g, starting from the direction of b. */
static perpi_slab circle_top(const perpi_slab_pair* c, vec3 f, vec3 g, vec3 towards)
{
    const double first = atan2(v3_dot(towards, g), v3_dot(towards, f)), step = 2.0 * PI / CIRCLE;
    double height[CIRCLE], slope[CIRCLE];
    for (int i = 0; i < CIRCLE; ++i) {
        const double co = cos(first + i * step), si = sin(first + i * step);
        const perpi_slab x = perpi_slab_at(c, v3_add(v3_scale(co, f), v3_scale(si, g)), NULL);
        height[i] = x.s;
        slope[i] = v3_dot(v3_add(v3_scale(-si, f), v3_scale(co, g)), x.off);
    }
    perpi_slab best = {.s = -INFINITY};
    for (int i = 0; i < CIRCLE; ++i) {
        const int next = (i + 1) % CIRCLE;
        if (slope[i] >= 0.0 && slope[next] <= 0.0 && !(slope[i] == 0.0 && slope[next] == 0.0)) {
            const perpi_slab x = perpi_slab_arc(c, f, g, first + i * step, first + (i + 1) * step);
            best = x.s > best.s ? x : best;
        }
    }
    if (best.s == -INFINITY) { /* s is constant on the circle: a direction fixed in a */
        int top = 0;
        for (int i = 1; i < CIRCLE; ++i) {
            top = height[i] > height[top] ? i : top;
        }
        const double angle = first + top * step;
        best = perpi_slab_at(c, v3_add(v3_scale(cos(angle), f), v3_scale(sin(angle), g)), NULL);
    }
    return best;
}

/* ---- capsules and cylinders -------------------------------------------------------------------------- */

/* Evaluates the normal with the whole of a; a better one replaces *best. */
static void consider_normal(const perpi_slab_pair* whole, const perpi_slab* x, perpi_slab* best)
{
    perpi_slab y = perpi_slab_at(whole, x->n, NULL);
    if (y.s > best->s) {
        *best = y;
    }
}

/* Whether a plane perpendicular to the line from a's axis to b's centre separates them by the
 * margin. */
static bool far_apart(const placed* o, const perpi_slab_pair* whole)
{
    const double l = 0.5 * o->a->length, z = perpi_clamp(o->pose_b.x.z, -l, l);
    const vec3 d = v3_sub(o->pose_b.x, v3(0, 0, z));
    const double length = v3_norm(d);
    return length > PERPI_CANDIDATE_VANISH * o->size &&
           perpi_slab_at(whole, v3_scale(1.0 / length, d), NULL).s > o->margin;
}

/* Ascent over the end that each direction faces: from several directions for overlapping bodies,
 * else from the line between the closest points if that has not been found. */
static void climb_ends(const placed* o, const perpi_slab_pair* whole, const perpi_shape* end,
                       perpi_slab* best)
{
    starts from = {.count = 0};
    if (is_enough(o, best)) {
        return;
    }
    if (best->s < 0.0) {
        find_starts(o, search_whole, whole, &from);
    }
    if ((best->s < 0.0 || !is_closest(o, best)) && line_between(o, &from.n[0])) {
        from.count = from.count > 0 ? from.count : 1;
        const perpi_slab x = {.n = from.n[0]};
        consider_normal(whole, &x, best);
    }
    for (int i = 0; i < from.count; ++i) {
        const double z = from.n[i].z < 0.0 ? -0.5 * o->a->length : 0.5 * o->a->length;
        const part p = part_at(*end, v3(0, 0, z));
        const perpi_slab_pair c = with_b(o, &p);
        const perpi_slab x = perpi_slab_climb(&c, perpi_slab_at(&c, from.n[i], NULL));
        consider_normal(whole, &x, best);
    }
    choose_point(o, best);
}

/* Features: 0 the closest points; 1, 2 the ends of a capsule. */
perp_status perpi_capsule_smooth(const perpi_shape* a, const perpi_pose* pose_a,
                                 const perpi_shape* b, const perpi_pose* pose_b, double margin,
                                 perpi_candidate_list* list)
{
    const placed o = place_pair(a, pose_a, b, pose_b, margin, list);
    const part body = part_at(*a, v3(0, 0, 0));
    const perpi_slab_pair whole = with_b(&o, &body);
    if (far_apart(&o, &whole)) {
        return PERP_OK;
    }
    const double l = 0.5 * a->length;
    const perpi_shape ball = {.type = PERP_SHAPE_SPHERE, .radius = a->radius};
    perpi_slab best = {.s = -INFINITY};
    const part middle = part_at(ball, v3(0, 0, 0));
    const perpi_slab_pair side = with_b(&o, &middle);
    const perpi_slab round = circle_top(&side, v3(1, 0, 0), v3(0, 1, 0), o.pose_b.x);
    consider_normal(&whole, &round, &best);
    for (int e = -1; e <= 1; e += 2) {
        const part end = part_at(ball, v3(0, 0, e * l));
        const perpi_slab_pair c = with_b(&o, &end);
        const vec3 d = v3_sub(o.pose_b.x, end.pose.x);
        const vec3 n = v3_norm(d) > PERPI_CANDIDATE_VANISH * o.size ? v3_unit(d) : v3(0, 0, e);
        const perpi_slab x = perpi_slab_newton(&c, perpi_slab_at(&c, n, NULL));
        if (x.n.z * e >= 0.0) {
            consider_normal(&whole, &x, &best);
        }
    }
    climb_ends(&o, &whole, &ball, &best);
    perp_status status = add_row(&o, 0, &best);
    for (int e = 0; e < 2 && status == PERP_OK && best.s <= margin; ++e) {
        status = add_beside(&o, &best, v3(0, 0, e == 0 ? -l : l), a->radius, 1U + (uint32_t)e);
    }
    return status;
}

/* The maximum of s over the disc of an end: at its normal if the point lies over it, else over the
 * rim. */
static perpi_slab disc_top(const placed* o, const perpi_slab_pair* disc, double e,
                           const perpi_slab* start)
{
    const vec3 axis = v3(0, 0, e);
    perpi_slab face = perpi_slab_at(disc, axis, NULL);
    const double rho = hypot(face.p_b.x, face.p_b.y);
    if (!(rho > o->a->radius)) {
        return face;
    }
    /* ascent from the pole towards the point, then from there and from the maximum on the side */
    const vec3 out = v3(face.p_b.x / rho, face.p_b.y / rho, 0.0);
    const perpi_slab x = perpi_slab_newton(disc, perpi_slab_arc(disc, axis, out, 0.0, 0.5 * PI));
    const perpi_slab y = perpi_slab_newton(disc, perpi_slab_at(disc, start->n, NULL));
    return x.s > y.s || !(y.n.z * e >= 0.0) ? x : y;
}

/* Features: 0 the closest points; from 1 on points of the rims. */
perp_status perpi_cylinder_smooth(const perpi_shape* a, const perpi_pose* pose_a,
                                  const perpi_shape* b, const perpi_pose* pose_b, double margin,
                                  perpi_candidate_list* list)
{
    const placed o = place_pair(a, pose_a, b, pose_b, margin, list);
    const part body = part_at(*a, v3(0, 0, 0));
    const perpi_slab_pair whole = with_b(&o, &body);
    if (far_apart(&o, &whole)) {
        return PERP_OK;
    }
    const double l = 0.5 * a->length;
    const perpi_shape ball = {.type = PERP_SHAPE_SPHERE, .radius = a->radius};
    const part middle = part_at(ball, v3(0, 0, 0));
    const perpi_slab_pair side = with_b(&o, &middle);
    const perpi_slab round = circle_top(&side, v3(1, 0, 0), v3(0, 1, 0), o.pose_b.x);
    perpi_slab best = {.s = -INFINITY}, cap[2];
    perpi_shape disc = *a;
    disc.length = 0.0;
    consider_normal(&whole, &round, &best);
    for (int e = 0; e < 2; ++e) {
        const double way = e == 0 ? -1.0 : 1.0;
        const part end = part_at(disc, v3(0, 0, way * l));
        const perpi_slab_pair c = with_b(&o, &end);
        cap[e] = perpi_slab_at(&c, v3(0, 0, way), NULL);
        consider_normal(&whole, &cap[e], &best);
        const perpi_slab x = disc_top(&o, &c, way, &round);
        if (x.n.z * way >= 0.0) {
            consider_normal(&whole, &x, &best);
        }
    }
    climb_ends(&o, &whole, &disc, &best);
    const size_t first = list->count;
    perp_status status = add_row(&o, 0, &best);
    for (uint32_t k = 0; k < 2 * RIM && status == PERP_OK && is_flat(b) && list->count > first;
         ++k) {
        const double angle = 2.0 * PI * (k % RIM) / RIM;
        const vec3 at = v3(a->radius * cos(angle), a->radius * sin(angle), k < RIM ? -l : l);
        if (v3_dot(v3_sub(at, v3_madd(best.p_b, -best.s, best.n)), best.n) >= -margin) {
            status = add_beside(&o, &best, at, 0.0, 1U + k);
        }
    }
    if (status == PERP_OK && list->count > first && perpi_candidate_groups(list)) {
        perpi_choices choices = {.count = 0};
        const perpi_slab way = perpi_slab_at(&whole, round.n, NULL);
        choose_direction(&o, &choices, best.n, &way, 2);
        choose_direction(&o, &choices, best.n, &cap[0], 0);
        choose_direction(&o, &choices, best.n, &cap[1], 1);
        status = perpi_candidate_choose(list, first, &choices);
    }
    return status;
}

/* ---- polyhedra ------------------------------------------------------------------------------------------ */

/* A maximum of s, or the current point of the search: at a face, on the arc of an edge, or in the
 * cone of a vertex. */
typedef struct spot {
    perpi_slab x;
    int32_t face, edge, vertex; /* -1: not there */
} spot;

static perpi_slab evaluate_part(const placed* o, vec3 point, vec3 n)
{
    const perpi_shape particle = {.type = PERP_SHAPE_PARTICLE};
    const part p = part_at(particle, point);
    const perpi_slab_pair c = with_b(o, &p);
    return perpi_slab_at(&c, n, NULL);
}

static spot at_face(const placed* o, int32_t f)
{
    const perpi_polyhedron* p = o->a->polyhedron;
    return (spot){evaluate_part(o, p->vertex[p->corner[p->face_start[f]]], p->normal[f]), f, -1,
                  -1};
}

/* The maximum on the arc of an edge, ends included. */
static spot edge_top(const placed* o, int32_t e)
{
    const perpi_polyhedron* p = o->a->polyhedron;
    const perpi_edge* edge = &p->edge[e];
    const vec3 f = p->normal[edge->face[0]], h = p->normal[edge->face[1]];
    const perpi_shape particle = {.type = PERP_SHAPE_PARTICLE};
    const part at = part_at(particle, p->vertex[edge->vertex[0]]);
    const perpi_slab_pair c = with_b(o, &at);
    /* from f to h; g beside f */
    const double cosine = v3_dot(f, h), sine = v3_norm(v3_cross(f, h));
    const vec3 g = v3_unit(v3_madd(h, -cosine, f));
    const double turn = atan2(sine, cosine);
    const perpi_slab x = perpi_slab_at(&c, f, NULL), y = perpi_slab_at(&c, h, NULL);
    spot best = x.s > y.s ? (spot){x, edge->face[0], -1, -1} : (spot){y, edge->face[1], -1, -1};
    /* overlapping bodies can have several maxima: the arc is searched in parts */
    const int parts = best.x.s < 0.0 ? 1 + (int)(turn / ARC_PART) : 1;
    bool rises = v3_dot(g, x.off) > 0.0;
    for (int k = 1; k <= parts; ++k) {
        const double low = turn * (k - 1) / parts, high = k < parts ? turn * k / parts : turn;
        const vec3 t = v3_add(v3_scale(-sin(high), f), v3_scale(cos(high), g));
        const perpi_slab end =
            k < parts
                ? perpi_slab_at(&c, v3_add(v3_scale(cos(high), f), v3_scale(sin(high), g)), NULL)
                : y;
        const bool still = v3_dot(t, end.off) > 0.0;
        if (rises && !still) {
            const perpi_slab z = perpi_slab_arc(&c, f, g, low, high);
            best = z.s > best.x.s ? (spot){z, -1, e, -1} : best;
        }
        rises = still;
    }
    return best;
}

/* From a face: the highest maximum on the arcs of the edges beyond which the point lies. */
static bool leave_face(const placed* o, spot* at)
{
    const perpi_polyhedron* p = o->a->polyhedron;
    const vec3 n = p->normal[at->face];
    spot best = *at;
    for (int32_t c = p->face_start[at->face]; c < p->face_start[at->face + 1]; ++c) {
        const perpi_edge* e = &p->edge[p->side[c]];
        const vec3 from = p->vertex[p->corner[c]];
        const vec3 to = p->vertex[p->corner[c] == e->vertex[0] ? e->vertex[1] : e->vertex[0]];
        const vec3 in = v3_cross(n, v3_sub(to, from));
        if (v3_dot(in, v3_sub(at->x.p_b, from)) < 0.0) {
            const spot there = edge_top(o, p->side[c]);
            best = there.x.s > best.x.s ? there : best;
        }
    }
    const bool up = best.x.s > at->x.s;
    *at = best;
    return up;
}

/* The vertex of the edge beyond which the point lies, or -1. */
static int32_t beyond_edge(const placed* o, int32_t e, vec3 x)
{
    const perpi_polyhedron* p = o->a->polyhedron;
    const vec3 from = p->vertex[p->edge[e].vertex[0]],
               d = v3_sub(p->vertex[p->edge[e].vertex[1]], from);
    const double t = v3_dot(v3_sub(x, from), d) / v3_dot(d, d);
    return t < 0.0 ? p->edge[e].vertex[0] : t > 1.0 ? p->edge[e].vertex[1] : -1;
}

static perpi_slab search_vertex(const placed* o, int32_t v, vec3 n, mat3* H)
{
    const perpi_shape particle = {.type = PERP_SHAPE_PARTICLE};
    const part p = part_at(particle, o->a->polyhedron->vertex[v]);
    const perpi_slab_pair c = with_b(o, &p);
    return perpi_slab_at(&c, n, H);
}

/* Ascent over the cones of vertices, by Newton's method for the outermost vertex; each step raises
 * s of the whole polyhedron. Ends at a maximum, or on an arc. */
static perpi_slab climb_cones(const placed* o, int32_t* v, vec3 n)
{
    const perpi_polyhedron* p = o->a->polyhedron;
    mat3 H;
    perpi_slab x = search_vertex(o, *v, n, &H);
    for (int k = 0; k < CLIMBS; ++k) {
        const vec3 d = perpi_slab_step(&x, H);
        const double least = 1e-15 * (o->size + fabs(x.s));
        double fraction = 1.0;
        bool moved = false;
        for (int i = 0; i < BACKTRACKS && !moved; ++i, fraction *= 0.5) {
            const vec3 m = v3_unit(v3_madd(x.n, fraction, d));
            const int32_t u = perpi_polyhedron_support(p, m, *v);
            if (search_vertex(o, u, m, NULL).s > x.s + least) {
                *v = u;
                x = search_vertex(o, u, m, &H);
                moved = true;
            }
        }
        if (!moved) {
            break;
        }
    }
    /* refinement, and flat places */
    const perpi_shape particle = {.type = PERP_SHAPE_PARTICLE};
    const part at = part_at(particle, p->vertex[*v]);
    const perpi_slab_pair c = with_b(o, &at);
    const perpi_slab y = perpi_slab_climb(&c, x);
    const int32_t u = perpi_polyhedron_support(p, y.n, *v);
    const perpi_slab z = search_vertex(o, u, y.n, NULL);
    if (z.s >= x.s) {
        *v = u;
        return z;
    }
    return x;
}

/* From a vertex: ascent over cones, then along the arcs where that ends. */
static bool climb_vertex(const placed* o, int32_t v, spot* at)
{
    const perpi_polyhedron* p = o->a->polyhedron;
    const perpi_slab x = climb_cones(o, &v, at->x.n);
    spot best = *at;
    if (x.s > at->x.s || (at->face < 0 && at->edge < 0)) {
        best = (spot){x, -1, -1, v};
    }
    bool up = false;
    for (int32_t k = p->around_start[v]; k < p->around_start[v + 1]; ++k) {
        const spot there = edge_top(o, p->around[k]);
        if (there.x.s > best.x.s) {
            best = there;
            up = true;
        }
    }
    *at = best;
    return up;
}

/* Ascent until no neighbouring part is higher. */
static spot climb_fan(const placed* o, spot at)
{
    bool up = true;
    if (at.face < 0 && at.edge < 0) {
        (void)climb_vertex(o, at.vertex, &at);
    }
    for (int k = 0; k < VISITS && up; ++k) {
        if (at.face >= 0) {
            up = leave_face(o, &at);
        } else {
            const int32_t v = at.edge >= 0 ? beyond_edge(o, at.edge, at.x.p_b) : -1;
            up = v >= 0 && climb_vertex(o, v, &at);
        }
    }
    return at;
}

static perpi_slab search_polyhedron(const void* data, vec3 n)
{
    const placed* o = data;
    const perpi_polyhedron* p = o->a->polyhedron;
    return evaluate_part(o, p->vertex[perpi_polyhedron_support(p, n, 0)], n);
}

static spot climb_from(const placed* o, vec3 n)
{
    const perpi_polyhedron* p = o->a->polyhedron;
    const int32_t v = perpi_polyhedron_support(p, n, 0);
    return climb_fan(o, (spot){evaluate_part(o, p->vertex[v], n), -1, -1, v});
}

/* The maximum of s: from the best face; if that fails, from the line between the closest points;
 * for overlapping bodies, from all starts. */
static perpi_slab polyhedron_top(const placed* o, const int32_t* face, int32_t faces)
{
    perpi_slab best = climb_fan(o, at_face(o, face[0])).x;
    if (is_enough(o, &best)) {
        return best;
    }
    vec3 n;
    if (line_between(o, &n)) {
        const perpi_slab x = climb_from(o, n).x;
        best = x.s > best.s ? x : best;
    }
    if (best.s > 0.0 || is_enough(o, &best)) {
        return best;
    }
    for (int32_t k = 1; k < faces; ++k) {
        const perpi_slab x = climb_fan(o, at_face(o, face[k])).x;
        best = x.s > best.s ? x : best;
    }
    starts from;
    find_starts(o, search_polyhedron, o, &from);
    for (int i = 0; i < from.count; ++i) {
        const perpi_slab x = climb_from(o, from.n[i]).x;
        best = x.s > best.s ? x : best;
    }
    return best;
}

/* The faces along whose normals b is farthest out, highest first. Returns their number, 0 if one
 * separates the bodies by more than the margin. */
static int32_t best_faces(const placed* o, int32_t face[FACE_STARTS], perpi_slab slab[FACE_STARTS])
{
    const perpi_polyhedron* p = o->a->polyhedron;
    const double inner = 0.5 * perpi_shape_thickness(o->b); /* of a ball that fits into b */
    int32_t count = 0;
    for (int32_t f = 0; f < p->face_count; ++f) {
        const double most = v3_dot(p->normal[f], o->pose_b.x) - p->offset[f] - inner;
        if (count == FACE_STARTS && !(most > slab[count - 1].s)) {
            continue;
        }
        const perpi_slab x = at_face(o, f).x;
        if (x.s > o->margin) {
            return 0;
        }
        if (count == FACE_STARTS && !(x.s > slab[count - 1].s)) {
            continue;
        }
        int32_t k = count < FACE_STARTS ? count++ : count - 1;
        for (; k > 0 && x.s > slab[k - 1].s; --k) {
            slab[k] = slab[k - 1];
            face[k] = face[k - 1];
        }
        slab[k] = x;
        face[k] = f;
    }
    return count;
}

static double face_distance2(const perpi_polyhedron* p, int32_t f, vec3 x)
{
    const double h = v3_dot(p->normal[f], x) - p->offset[f];
    double beside = 0.0;
    for (int32_t c = p->face_start[f]; c < p->face_start[f + 1]; ++c) {
        const int32_t next = c + 1 < p->face_start[f + 1] ? c + 1 : p->face_start[f];
        const vec3 a = p->vertex[p->corner[c]], e = v3_sub(p->vertex[p->corner[next]], a);
        const vec3 out = v3_cross(e, p->normal[f]);
        const double d = v3_dot(out, v3_sub(x, a)) / v3_norm(out);
        beside = d > beside ? d : beside;
    }
    return h * h + beside * beside;
}

/* The side of the pair is known: separate over the least deep face of that side. */
static perp_status add_on_side(const placed* o)
{
    const perpi_polyhedron* p = o->a->polyhedron;
    const vec3 side = m3_tmul(o->pose->R, o->list->side);
    perpi_slab best = {.s = -INFINITY};
    for (int32_t f = 0; f < p->face_count; ++f) {
        if (v3_dot(p->normal[f], side) >= -1e-9) {
            const perpi_slab x = at_face(o, f).x;
            best = x.s > best.s ? x : best;
        }
    }
    return best.s > -INFINITY ? add_row(o, 0, &best) : PERP_OK;
}

/* Features: 0 the closest points; from 1 on vertices of the polyhedron. */
perp_status perpi_polyhedron_smooth(const perpi_shape* a, const perpi_pose* pose_a,
                                    const perpi_shape* b, const perpi_pose* pose_b, double margin,
                                    perpi_candidate_list* list)
{
    const placed o = place_pair(a, pose_a, b, pose_b, margin, list);
    const perpi_polyhedron* p = a->polyhedron;
    if (list->sided) {
        return add_on_side(&o);
    }
    int32_t face[FACE_STARTS];
    perpi_slab slab[FACE_STARTS];
    const int32_t faces = best_faces(&o, face, slab);
    if (faces == 0) {
        return PERP_OK;
    }
    perpi_slab best = polyhedron_top(&o, face, faces);
    choose_point(&o, &best);
    const size_t first = list->count;
    perp_status status = add_row(&o, 0, &best);
    if (status != PERP_OK || list->count == first) {
        return status;
    }
    const vec3 foot = v3_madd(best.p_b, -best.s, best.n);
    const double reach = perpi_shape_ops_of(b->type)->reach(b) + margin;
    for (int32_t i = 0;
         i < p->vertex_count && is_flat(b) && status == PERP_OK && list->count < first + MOST_FLAT;
         ++i) {
        const vec3 d = v3_sub(p->vertex[i], o.pose_b.x);
        if (v3_dot(v3_sub(p->vertex[i], foot), best.n) >= -margin &&
            v3_dot(d, d) <= reach * reach) {
            status = add_beside(&o, &best, p->vertex[i], 0.0, 1U + (uint32_t)i);
        }
    }
    if (status == PERP_OK && perpi_candidate_groups(list)) {
        perpi_choices choices = {.count = 0};
        for (int32_t k = 0; k < faces; ++k) {
            if (face_distance2(p, face[k], foot) <= 4.0 * margin * margin) {
                choose_direction(&o, &choices, best.n, &slab[k], (uint32_t)face[k]);
            }
        }
        status = perpi_candidate_choose(list, first, &choices);
    }
    return status;
}
