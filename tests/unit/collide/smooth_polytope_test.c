/* tests/unit/collide/smooth_polytope_test.c - ellipsoids and superquadrics with polyhedra, boxes, capsules and
 * cylinders. Nothing here uses the routines' search: bodies that are apart are checked by a certificate (a
 * point of each at the distance of two planes that have the bodies on either side), bodies that overlap by the
 * depth along many directions. */
#include "geometry.h"
#include "shape/polyhedron.h"
#include "shape/smooth.h"

/* ---- bodies ----------------------------------------------------------------------------------------- */

static bool extreme; /* exponents to the limits that scenes may have */

static perpi_shape random_smooth(double scale, double aspect)
{
    perpi_shape s = {.type = random_below(2) ? PERP_SHAPE_ELLIPSOID : PERP_SHAPE_SUPERQUADRIC};
    double r[3];
    for (int i = 0; i < 3; ++i) {
        r[i] = scale * pow(aspect, random_in(-0.5, 0.5));
    }
    s.radii = v3_from(r);
    s.exponent[0] = s.exponent[1] = 2.0;
    if (s.type == PERP_SHAPE_SUPERQUADRIC) {
        static const double some[] = {1.3, 1.8, 2.0, 2.5, 4.0, 8.0, 1.05, 2.0, 20.0, 100.0};
        s.exponent[0] = some[extreme ? 4 + random_below(6) : random_below(6)];
        s.exponent[1] = some[extreme ? 4 + random_below(6) : random_below(6)];
    }
    return s;
}

static perpi_polyhedron* random_hull(perp_context* context, double scale, double aspect)
{
    static double x[3 * 64];
    const int32_t n = 4 + random_below(40);
    double k[3];
    for (int i = 0; i < 3; ++i) {
        k[i] = scale * pow(aspect, random_in(-0.5, 0.5));
    }
    for (int32_t i = 0; i < 3 * n; ++i) {
        x[i] = k[i % 3] * random_in(-1, 1);
    }
    perpi_polyhedron* p = NULL;
    CHECK_OK(perpi_polyhedron_hull(context, x, n, &p, NULL));
    return p;
}

static perpi_shape random_other(perp_context* context, perp_shape_type type, double scale,
                                double aspect)
{
    perpi_shape s = {.type = type};
    s.radius = scale * pow(aspect, random_in(-0.5, 0.5));
    s.length = 2.0 * scale * pow(aspect, random_in(-0.5, 0.5));
    double k[3];
    for (int i = 0; i < 3; ++i) {
        k[i] = scale * pow(aspect, random_in(-0.5, 0.5));
    }
    s.half = v3_from(k);
    if (type == PERP_SHAPE_BOX) {
        CHECK_OK(perpi_polyhedron_box(context, s.half, &s.polyhedron));
    }
    if (type == PERP_SHAPE_POLYHEDRON) {
        s.polyhedron = random_hull(context, scale, aspect);
    }
    return s;
}

/* A lower bound of the distance of a point (body frame) from the body: 0 on or in it. */
static double outside(const perpi_shape* s, vec3 x)
{
    double out = -INFINITY;
    if (s->type == PERP_SHAPE_CAPSULE) {
        const double l = 0.5 * s->length;
        return v3_norm(v3_sub(x, v3(0, 0, fmin(l, fmax(-l, x.z))))) - s->radius;
    }
    if (s->type == PERP_SHAPE_CYLINDER) {
        return fmax(hypot(x.x, x.y) - s->radius, fabs(x.z) - 0.5 * s->length);
    }
    for (int32_t f = 0; f < s->polyhedron->face_count; ++f) {
        out = fmax(out, v3_dot(s->polyhedron->normal[f], x) - s->polyhedron->offset[f]);
    }
    return out;
}

static double support(const perpi_shape* s, vec3 d)
{
    double h = -INFINITY;
    if (s->type == PERP_SHAPE_CAPSULE) {
        return 0.5 * s->length * fabs(d.z) + s->radius * v3_norm(d);
    }
    if (s->type == PERP_SHAPE_CYLINDER) {
        return 0.5 * s->length * fabs(d.z) + s->radius * hypot(d.x, d.y);
    }
    for (int32_t i = 0; i < s->polyhedron->vertex_count; ++i) {
        h = fmax(h, v3_dot(d, s->polyhedron->vertex[i]));
    }
    return h;
}

/* 1 on the surface, homogeneous of degree 1. */
static double implicit_of(const perpi_shape* s, vec3 x)
{
    const double r = s->exponent[0], t = s->exponent[1];
    const double X = fabs(x.x) / s->radii.x, Y = fabs(x.y) / s->radii.y, Z = fabs(x.z) / s->radii.z;
    const double most = fmax(X, fmax(Y, Z));
    const double flat = pow(pow(X / most, r) + pow(Y / most, r), 1.0 / r);
    return most * pow(pow(flat, t) + pow(Z / most, t), 1.0 / t);
}

/* Of the dual exponents: by Hoelder's inequality. */
static double smooth_support(const perpi_shape* s, vec3 d)
{
    const double r = s->exponent[0] / (s->exponent[0] - 1.0),
                 t = s->exponent[1] / (s->exponent[1] - 1.0);
    const double X = fabs(d.x) * s->radii.x, Y = fabs(d.y) * s->radii.y, Z = fabs(d.z) * s->radii.z;
    const double most = fmax(X, fmax(Y, Z));
    const double flat = pow(pow(X / most, r) + pow(Y / most, r), 1.0 / r);
    return most * pow(pow(flat, t) + pow(Z / most, t), 1.0 / t);
}

static double separation(const perpi_shape* a, const perpi_pose* pa, const perpi_shape* b,
                         const perpi_pose* pb, vec3 n)
{
    return v3_dot(n, v3_sub(pb->x, pa->x)) - support(a, m3_tmul(pa->R, n)) -
           smooth_support(b, m3_tmul(pb->R, v3_neg(n)));
}

/* How much more apart they are along a direction near n. The largest separation is a concave function's
 * where it is positive: if there is nothing near, there is nothing at all. */
static double better_nearby(const perpi_shape* a, const perpi_pose* pa, const perpi_shape* b,
                            const perpi_pose* pb, vec3 n)
{
    const double here = separation(a, pa, b, pb, n);
    double best = here;
    for (int k = 0; k < 300; ++k) {
        const vec3 m = v3_unit(v3_add(n, random_vec(pow(10.0, -random_in(0.3, 8.0)))));
        best = fmax(best, separation(a, pa, b, pb, m));
    }
    return best - here;
}

/* The largest separation over many directions, then around the best ones. */
static double best_of_many(const perpi_shape* a, const perpi_pose* pa, const perpi_shape* b,
                           const perpi_pose* pb)
{
    double best = -INFINITY;
    vec3 at = v3(0, 0, 1);
    for (int i = 0; i < 2000; ++i) {
        const double z = 1.0 - (2.0 * i + 1.0) / 2000.0, phi = 2.399963 * i;
        const double r = sqrt(1.0 - z * z);
        const vec3 n = {r * cos(phi), r * sin(phi), z};
        const double s = separation(a, pa, b, pb, n);
        if (s > best) {
            best = s;
            at = n;
        }
    }
    double width = 0.05;
    for (int pass = 0; pass < 60; ++pass, width *= 0.7) {
        const vec3 middle = at;
        for (int k = 0; k < 12; ++k) {
            const vec3 n = v3_unit(v3_add(middle, random_vec(width)));
            const double s = separation(a, pa, b, pb, n);
            if (s > best) {
                best = s;
                at = n;
            }
        }
    }
    return best;
}

/* ---- the tests -------------------------------------------------------------------------------------- */

static const perp_shape_type others[] = {PERP_SHAPE_BOX, PERP_SHAPE_POLYHEDRON, PERP_SHAPE_CAPSULE,
                                         PERP_SHAPE_CYLINDER};

typedef struct errors {
    double in_a, on_b, plane, length, depth;
    int apart, overlap, deeper;
} errors;

/* Everything relative to the smaller body. */
static void check_residual(const candidates* t, const perpi_shape* a, const perpi_pose* pa,
                           const perpi_shape* b, const perpi_pose* pb, double size, errors* e)
{
    const perpi_candidate* c = &t->list.item[0];
    CHECK_EQ_INT(c->feature, 0);
    for (size_t i = 0; i < t->list.count; ++i) {
        const perpi_candidate* o = &t->list.item[i];
        CHECK_NEAR(v3_norm(o->normal), 1.0, 1e-12);
        CHECK_AT_LEAST(o->gap, c->gap - 1e-5 * size); /* rows beside it are never deeper */
        const vec3 along = v3_sub(v3_sub(o->point_b, o->point_a), v3_scale(o->gap, o->normal));
        CHECK_AT_MOST(v3_norm(along), 1e-9 * size);
    }
    const double s = separation(a, pa, b, pb, c->normal);
    e->plane = fmax(e->plane, fabs(s - c->gap) / size);
    if (c->gap > 0.0) {
        e->apart += 1;
        const vec3 x = m3_tmul(pa->R, v3_sub(c->point_a, pa->x)),
                   y = m3_tmul(pb->R, v3_sub(c->point_b, pb->x));
        e->in_a = fmax(e->in_a, outside(a, x) / size);
        e->on_b = fmax(e->on_b, fabs(implicit_of(b, y) - 1.0));
        e->length = fmax(e->length, better_nearby(a, pa, b, pb, c->normal) / size);
        return;
    }
    e->overlap += 1;
    const double lack = (best_of_many(a, pa, b, pb) - c->gap) / size;
    e->depth = fmax(e->depth, lack);
    e->deeper += lack > 1e-6;
}

static void check_kind(perp_shape_type kind, int trials, double scale, double aspect, double far)
{
    candidates t = touches_create();
    errors e = {0};
    for (int k = 0; k < trials; ++k) {
        perpi_shape a = random_other(t.context, kind, scale, aspect);
        const perpi_shape b = random_smooth(scale, aspect);
        const bool special = k % 4 == 3;
        const vec3 from = random_vec(far * scale);
        const perpi_pose pa = pose_at(from, special ? random_special_turn(3) : random_turn(3));
        const perpi_pose pb = pose_at(v3_add(from, random_vec(2.5 * scale)),
                                      special ? random_special_turn(3) : random_turn(3));
        REQUIRE(meet(&t, &a, &pa, &b, &pb, 100.0 * scale) >= 1);
        check_residual(&t, &a, &pa, &b, &pb, scale, &e);
        perpi_polyhedron_free(t.context, a.polyhedron);
    }
    TEST_PRINT("%-10s scale %g aspect %g: %d apart: in a %.1e, on b %.1e, better %.1e; planes "
               "%.1e; %d overlap: "
               "%.1e, %d deeper",
               perp_shape_name(kind), scale, aspect, e.apart, e.in_a, e.on_b, e.length, e.plane,
               e.overlap, e.depth, e.deeper);
    const double digits = far > 1.0 ? 1e-16 * far : 0.0;
    CHECK_AT_MOST(e.in_a, 1e-6 * aspect + 10 * digits);
    CHECK_AT_MOST(e.length, 1e-12 * aspect + 10 * digits);
    CHECK_AT_MOST(e.on_b, 1e-10 * aspect + digits * aspect);
    CHECK_AT_MOST(e.plane, 1e-10 * aspect + 10 * digits);
    /* deep in each other, near-boxes have many directions of about the same depth: rarely one is missed */
    CHECK_AT_MOST(e.depth, extreme ? 0.1 : 1e-6);
    CHECK_AT_MOST(e.deeper, e.overlap / 20);
    CHECK_AT_LEAST(e.apart, trials / 8);
    CHECK_AT_LEAST(e.overlap, trials / 20);
    touches_destroy(&t);
}

TEST(closest_points_and_depths_of_smooth_bodies_with_flat_ones)
{
    random_state = 11;
    for (int i = 0; i < 4; ++i) {
        check_kind(others[i], 160, 1.0, 4.0, 0.0);
    }
}

TEST(of_any_size_shape_and_place)
{
    random_state = 12;
    for (int i = 0; i < 4; ++i) {
        check_kind(others[i], 40, 1e-3, 4.0, 0.0);
        check_kind(others[i], 40, 1e3, 4.0, 0.0);
        check_kind(others[i], 100, 1.0, 100.0, 0.0);
        check_kind(others[i], 40, 1.0, 4.0, 1e6);
    }
}

TEST(of_any_exponents)
{
    random_state = 13;
    extreme = true;
    for (int i = 0; i < 4; ++i) {
        check_kind(others[i], 60, 1.0, 4.0, 0.0);
    }
    extreme = false;
}

/* ---- from step to step -------------------------------------------------------------------------------- */

/* The body passes all features of the other: the normal turns with it and never jumps or flips, and
 * the row keeps its number. */
TEST(normals_and_numbers_change_little_with_the_pose)
{
    candidates t = touches_create();
    random_state = 14;
    for (int k = 0; k < 40; ++k) {
        perpi_shape a = random_other(t.context, others[k % 4], 1.0, 2.0);
        perpi_shape b = random_smooth(1.0, 2.0);
        b.type = PERP_SHAPE_ELLIPSOID;
        b.exponent[0] = b.exponent[1] = 2.0;
        const perpi_pose pa = pose_at(v3(0, 0, 0), random_turn(3));
        const vec3 axis = v3_unit(random_vec(1.0)), from = v3_scale(5.0, v3_tangent(axis));
        const quat q = random_turn(3);
        vec3 last = v3(0, 0, 0);
        const int steps = 500;
        for (int i = 0; i <= steps; ++i) {
            const double angle = 6.28318530717958647692 * i / steps;
            const perpi_pose pb = pose_at(q4_rotate(q4_exp(v3_scale(angle, axis)), from), q);
            REQUIRE(meet(&t, &a, &pa, &b, &pb, 100.0) >= 1);
            CHECK_EQ_INT(t.list.item[0].feature, 0);
            const vec3 n = t.list.item[0].normal;
            if (i > 0) {
                /* apart, normals of convex bodies turn no faster than the motion over the distance */
                const double gap = t.list.item[0].gap;
                CHECK_AT_MOST(v3_norm(v3_sub(n, last)) * gap, 1.01 * 5.0 * 6.2832 / steps + 1e-9);
            }
            last = n;
        }
        perpi_polyhedron_free(t.context, a.polyhedron);
    }
    touches_destroy(&t);
}
