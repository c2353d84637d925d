/* tests/unit/collide/cylinder_polyhedron_test.c - cylinders with polyhedra, boxes and each other.
 *
 * For bodies that are apart the contact is its own certificate: its points lie in the bodies, at the distance
 * of two planes that separate them. For overlapping bodies no sampled direction is less deep.
 */
#include "geometry.h"
#include "shape/polyhedron.h"

static double high_of(const perpi_shape* s, const perpi_pose* pose, vec3 n)
{
    if (s->type == PERP_SHAPE_CYLINDER) {
        const double t = v3_dot(n, m3_column(pose->R, 2));
        return v3_dot(n, pose->x) + 0.5 * s->length * fabs(t) +
               s->radius * sqrt(fmax(0.0, 1.0 - t * t));
    }
    double most = -INFINITY;
    for (int32_t i = 0; i < s->polyhedron->vertex_count; ++i) {
        most = fmax(most, v3_dot(n, perpi_pose_point(pose, s->polyhedron->vertex[i])));
    }
    return most;
}

/* How far b is beyond a along n; negative: how deep in it. */
static double separation(const perpi_shape* a, const perpi_pose* pose_a, const perpi_shape* b,
                         const perpi_pose* pose_b, vec3 n)
{
    return -high_of(b, pose_b, v3_neg(n)) - high_of(a, pose_a, n);
}

static double outside_of(const perpi_shape* s, const perpi_pose* pose, vec3 x)
{
    const vec3 p = m3_tmul(pose->R, v3_sub(x, pose->x));
    if (s->type == PERP_SHAPE_CYLINDER) {
        return fmax(fabs(p.z) - 0.5 * s->length, hypot(p.x, p.y) - s->radius);
    }
    double most = -INFINITY;
    for (int32_t f = 0; f < s->polyhedron->face_count; ++f) {
        most = fmax(most, v3_dot(s->polyhedron->normal[f], p) - s->polyhedron->offset[f]);
    }
    return most;
}

static perpi_shape random_body(candidates* t, bool special)
{
    static const char* const names[] = {"tetrahedron", "cube", "octahedron", "prism",
                                        "icosahedron"};
    static double x[3 * PERP_SOLID_VERTICES];
    perpi_shape s = {.type = PERP_SHAPE_POLYHEDRON};
    if (special || random_below(3) == 0) {
        s.type = PERP_SHAPE_BOX;
        s.half = v3(random_in(0.2, 1), random_in(0.2, 1), random_in(0.2, 1));
        CHECK_OK(perpi_polyhedron_box(t->context, s.half, &s.polyhedron));
        return s;
    }
    const perp_solid_def def = {.name = names[random_below(5)],
                                .radius = random_in(0.3, 1.2),
                                .sides = 3 + random_below(9),
                                .length = random_in(0.2, 2.0)};
    int32_t n = 0;
    CHECK_OK(perp_solid_vertices(t->context, &def, x, &n));
    CHECK_OK(perpi_polyhedron_hull(t->context, x, n, &s.polyhedron, NULL));
    return s;
}

typedef struct counts {
    int apart, deep;
} counts;

static void check_pair(candidates* t, const perpi_shape* a, const perpi_pose* pose_a,
                       const perpi_shape* b, const perpi_pose* pose_b, double margin, counts* seen)
{
    const size_t n = meet(t, a, pose_a, b, pose_b, margin);
    check_rows(t, margin, 1.0);
    /* the best of many directions is a bound from below */
    double bound = -INFINITY;
    vec3 along = {0, 0, 1};
    for (int i = 0; i < 1500; ++i) {
        const double width = i < 500 ? INFINITY : pow(0.99, i - 500);
        const vec3 d = random_vec(1.0);
        const vec3 m = v3_unit(i < 500 ? d : v3_madd(along, width, d));
        const double s = separation(a, pose_a, b, pose_b, m);
        if (s > bound) {
            bound = s;
            along = m;
        }
    }
    if (n == 0) {
        CHECK_AT_LEAST(bound, margin * 0.9); /* the sampling comes close to the maximum */
        return;
    }
    CHECK_AT_MOST(bound, margin + 1e-9);
    const double least = least_gap(t);
    if (bound > 1e-4) {
        ++seen->apart;
        const perpi_candidate* c = &t->list.item[0];
        for (size_t k = 0; k < n; ++k) {
            c = t->list.item[k].gap < c->gap ? &t->list.item[k] : c;
        }
        /* snapped to a face within a hundredth: the cosine is lost */
        CHECK_AT_LEAST(separation(a, pose_a, b, pose_b, c->normal), least - 1.2e-2);
        CHECK_AT_LEAST(least, bound * (1.0 - 1e-4) - 1e-9);
        CHECK_AT_MOST(outside_of(a, pose_a, c->point_a), 0.012);
        CHECK_AT_MOST(outside_of(b, pose_b, c->point_b), 1e-7);
    } else if (bound < -1e-3) {
        ++seen->deep;
        /* no sampled normal is better */
        CHECK_AT_LEAST(separation(a, pose_a, b, pose_b, t->list.item[0].normal), bound - 5e-3);
        CHECK_AT_LEAST(least, bound - 5e-3);
    }
}

static void check_cylinder(candidates* t, int count, bool special, bool two)
{
    counts seen = {0, 0};
    for (int i = 0; i < count; ++i) {
        perpi_shape a = two ? random_shape(PERP_SHAPE_CYLINDER) : random_body(t, special);
        const perpi_shape b = random_shape(PERP_SHAPE_CYLINDER);
        const perpi_pose pose_a =
            pose_at(random_vec(2.0), special ? random_special_turn(3) : random_turn(3));
        perpi_pose pose_b = pose_at(v3_add(pose_a.x, random_vec(1.5)),
                                    special ? random_special_turn(3) : random_turn(3));
        if (special && random_below(2) == 0) {
            pose_b.q = pose_a.q;
            pose_b.R = pose_a.R;
        }
        check_pair(t, &a, &pose_a, &b, &pose_b, random_in(0.05, 0.4), &seen);
        perpi_polyhedron_free(t->context, a.polyhedron);
    }
    CHECK(seen.apart > count / 30);
    CHECK(seen.deep > count / 20);
}

TEST(a_cylinder_and_a_polyhedron_are_as_far_as_they_are)
{
    candidates t = touches_create();
    random_state = 5;
    check_cylinder(&t, 500, false, false);
    check_cylinder(&t, 500, true, false);
    touches_destroy(&t);
}

static const double quarter = 1.5707963267948966;

TEST(a_cylinder_stands_on_eight_points_and_lies_on_two)
{
    candidates t = touches_create();
    perpi_shape table = {.type = PERP_SHAPE_BOX, .half = {1, 1, 0.5}};
    REQUIRE_OK(perpi_polyhedron_box(t.context, table.half, &table.polyhedron));
    const perpi_shape can = {.type = PERP_SHAPE_CYLINDER, .radius = 0.3, .length = 0.8};
    const perpi_pose o = pose_at(v3(0, 0, 0), q4_identity());
    for (int k = -3; k <= 3; ++k) { /* a little above, on, a little inside; a little tilted */
        const double off = k == 0 ? 0.0 : k * 1e-10;
        const perpi_pose up = pose_at(v3(0.2, 0.1, 0.9 + off), q4_exp(v3(1e-9 * k, 0, 0.3)));
        REQUIRE_EQ_INT(meet(&t, &table, &o, &can, &up, 0.02), 8);
        for (size_t i = 0; i < 8; ++i) {
            CHECK_NEAR(t.list.item[i].gap, off, 1e-8);
            check_vec(t.list.item[i].normal, 0, 0, 1, 1e-15);
        }
        const perpi_pose lying = pose_at(v3(0.2, 0.1, 0.8 + off), q4_exp(v3(0, quarter, 0)));
        REQUIRE_EQ_INT(meet(&t, &table, &o, &can, &lying, 0.02), 2);
        CHECK_NEAR(fabs(t.list.item[0].point_b.x - t.list.item[1].point_b.x), 0.8, 1e-12);
    }
    /* half of it over the border: only the part over the table carries */
    const perpi_pose half = pose_at(v3(1.0, 0, 0.9), q4_identity());
    const size_t n = meet(&t, &table, &o, &can, &half, 0.02);
    CHECK(n >= 4);
    double most = -INFINITY;
    for (size_t i = 0; i < n; ++i) {
        most = fmax(most, t.list.item[i].point_b.x);
    }
    CHECK_NEAR(most, 1.0, 1e-12);
    /* a small block under a large can: the block's corners */
    perpi_shape block = {.type = PERP_SHAPE_BOX, .half = {0.1, 0.1, 0.1}};
    REQUIRE_OK(perpi_polyhedron_box(t.context, block.half, &block.polyhedron));
    const perpi_pose on = pose_at(v3(0, 0, 0.5), q4_identity());
    CHECK_EQ_INT(meet(&t, &block, &o, &can, &on, 0.02), 4);
    perpi_polyhedron_free(t.context, table.polyhedron);
    perpi_polyhedron_free(t.context, block.polyhedron);
    touches_destroy(&t);
}

TEST(two_cylinders_are_as_far_as_they_are)
{
    candidates t = touches_create();
    random_state = 6;
    check_cylinder(&t, 500, false, true);
    check_cylinder(&t, 500, true, true);
    touches_destroy(&t);
}

TEST(cylinders_stand_on_each_other_and_lie_side_by_side)
{
    candidates t = touches_create();
    const perpi_shape can = {.type = PERP_SHAPE_CYLINDER, .radius = 0.3, .length = 0.8};
    const perpi_shape thin = {.type = PERP_SHAPE_CYLINDER, .radius = 0.1, .length = 0.6};
    const perpi_pose o = pose_at(v3(0, 0, 0), q4_identity());
    for (int k = -2; k <= 2; ++k) {
        const double off = 1e-10 * k;
        const perpi_pose up = pose_at(v3(0.05, 0, 0.7 + off), q4_exp(v3(0, 0, 0.2)));
        REQUIRE_EQ_INT(meet(&t, &can, &o, &thin, &up, 0.02), 8);
        for (size_t i = 0; i < 8; ++i) {
            CHECK_NEAR(t.list.item[i].gap, off, 1e-12);
        }
        const perpi_pose same = pose_at(v3(0, 0, 0.8 + off), q4_identity());
        CHECK_EQ_INT(meet(&t, &can, &o, &can, &same, 0.02), 8);
        const perpi_pose lying = pose_at(v3(0, 0, 0.5 + off), q4_exp(v3(0, quarter, 0)));
        REQUIRE_EQ_INT(meet(&t, &can, &o, &thin, &lying, 0.02), 2);
        CHECK_NEAR(fabs(t.list.item[0].point_b.x), 0.3, 1e-9);
        const perpi_pose beside = pose_at(v3(0.4 + off, 0, 0.5), q4_identity());
        REQUIRE_EQ_INT(meet(&t, &can, &o, &thin, &beside, 0.02), 2);
        CHECK_NEAR(fabs(t.list.item[0].point_b.z - t.list.item[1].point_b.z), 0.2, 1e-9);
        const perpi_pose crossed = pose_at(v3(0, 0.4 + off, 0.1), q4_exp(v3(0, quarter, 0)));
        REQUIRE_EQ_INT(meet(&t, &can, &o, &thin, &crossed, 0.02), 1);
        check_vec(t.list.item[0].normal, 0, 1, 0, 1e-7);
        CHECK_NEAR(t.list.item[0].gap, off, 1e-12);
    }
    touches_destroy(&t);
}
