/* tests/unit/collide/cylinder_test.c - the cylinder's pairs: by hand, and against independent
 * distances: the support function over a plane, golden section along a capsule. */
#include "geometry.h"

static perpi_shape cylinder(double radius, double length)
{
    return (perpi_shape){.type = PERP_SHAPE_CYLINDER, .radius = radius, .length = length};
}

static perpi_pose at(double x, double y, double z, vec3 turn)
{
    return pose_at(v3(x, y, z), q4_exp(turn));
}

static const double right_angle = 1.57079632679489661923;

/* ---- the plane ---------------------------------------------------------------------------------- */

TEST(a_standing_cylinder_rests_on_points_of_its_rim_that_turn_with_it)
{
    candidates t = touches_create();
    const perpi_shape plane = make_plane(PERP_SHAPE_PLANE, v3(0, 0, 1), 0);
    const perpi_shape c = cylinder(0.5, 2);
    const perpi_pose o = at(0, 0, 0, v3(0, 0, 0));
    uint32_t name[16];
    for (int k = 0; k < 20; ++k) {
        /* spun about its axis, and tilted by rounding: the names stay, the points turn with it */
        const quat tilt = q4_exp(v3(1e-16 * k, -2e-16 * k, 0));
        const quat q = q4_mul(tilt, q4_exp(v3(0, 0, 0.1 * k)));
        const perpi_pose p = pose_at(v3(3, 4, 1.0), q);
        REQUIRE_EQ_INT(meet(&t, &plane, &o, &c, &p, 0.01), 8);
        check_rows(&t, 0.01, 1);
        for (int i = 0; i < 8; ++i) {
            const perpi_candidate* candidate = &t.list.item[i];
            CHECK_NEAR(candidate->gap, 0.0, 1e-14);
            CHECK_NEAR(hypot(candidate->point_b.x - 3, candidate->point_b.y - 4), 0.5, 1e-13);
            name[i] = k == 0 ? candidate->feature : name[i];
            CHECK_EQ_INT(candidate->feature, name[i]);
        }
    }
    touches_destroy(&t);
}

TEST(a_lying_cylinder_rests_on_both_ends_of_its_lowest_line_and_rolls)
{
    candidates t = touches_create();
    const perpi_shape plane = make_plane(PERP_SHAPE_PLANE, v3(0, 0, 1), 0);
    const perpi_shape c = cylinder(0.5, 2);
    const perpi_pose o = at(0, 0, 0, v3(0, 0, 0));
    for (int k = 0; k < 20; ++k) {
        const quat q = q4_mul(q4_exp(v3(right_angle, 0, 0)), q4_exp(v3(0, 0, 0.3 * k)));
        const perpi_pose p = pose_at(v3(1, 0, 0.5), q);
        REQUIRE_EQ_INT(meet(&t, &plane, &o, &c, &p, 0.05), 2);
        CHECK_EQ_INT(t.list.item[0].feature, 0);
        CHECK_EQ_INT(t.list.item[1].feature, 1);
        check_vec(t.list.item[0].point_b, 1, 1, 0, 1e-13); /* -z of the shape is +y here */
        check_vec(t.list.item[1].point_b, 1, -1, 0, 1e-13);
    }
    touches_destroy(&t);
}

TEST(a_tilted_cylinder_touches_with_the_lowest_point_of_its_rim)
{
    candidates t = touches_create();
    const perpi_shape plane = make_plane(PERP_SHAPE_PLANE, v3(0, 0, 1), 0);
    const perpi_shape c = cylinder(0.5, 2);
    const perpi_pose o = at(0, 0, 0, v3(0, 0, 0)), p = at(0, 0, 1.2, v3(0.3, 0, 0));
    REQUIRE_EQ_INT(meet(&t, &plane, &o, &c, &p, 0.2), 1);
    const double gap = 1.2 - cos(0.3) - 0.5 * sin(0.3);
    CHECK_NEAR(t.list.item[0].gap, gap, 1e-14);
    CHECK_EQ_INT(t.list.item[0].feature, 0);
    /* upside down it is the other rim */
    const perpi_pose down = at(0, 0, 1.2, v3(2 * right_angle + 0.3, 0, 0));
    REQUIRE_EQ_INT(meet(&t, &plane, &o, &c, &down, 0.2), 1);
    CHECK_EQ_INT(t.list.item[0].feature, 1);
    CHECK_NEAR(t.list.item[0].gap, gap, 1e-14);
    touches_destroy(&t);
}

static double support(const perpi_shape* s, const perpi_pose* pose, vec3 n)
{
    const vec3 d = m3_tmul(pose->R, n);
    const double l = 0.5 * s->length;
    const double own = s->type == PERP_SHAPE_CYLINDER  ? l * fabs(d.z) + s->radius * hypot(d.x, d.y)
                       : s->type == PERP_SHAPE_CAPSULE ? l * fabs(d.z)
                                                       : 0.0;
    return v3_dot(n, pose->x) + own;
}

TEST(the_least_gap_over_a_plane_is_that_of_the_lowest_point)
{
    candidates t = touches_create();
    random_state = 11;
    for (int trial = 0; trial < 20000; ++trial) {
        const bool special = trial % 2 == 0;
        const perpi_shape plane = random_shape(PERP_SHAPE_PLANE);
        const perpi_shape c = random_shape(PERP_SHAPE_CYLINDER);
        const perpi_pose p = pose_at(random_vec(1), random_turn(3));
        /* special: the axis along the normal or across it, up to a small tilt */
        const vec3 n = m3_mul(p.R, plane.normal);
        quat q = random_turn(3);
        if (special) {
            const vec3 z = v3(0, 0, 1), w = v3_cross(z, n);
            q = q4_exp(v3_scale(atan2(v3_norm(w), n.z) / v3_norm(w), w));
            q = q4_mul(q, q4_exp(v3(random_below(4) * right_angle, 0, 0)));
            q = q4_mul(q4_exp(v3_scale(pow(10, -random_in(1, 16)), random_vec(1))), q4_unit(q));
        }
        const perpi_pose b = pose_at(random_vec(1.5), q4_unit(q));
        const double gap = -support(&c, &b, v3_neg(n)) - v3_dot(n, p.x) - plane.offset;
        const double margin = random_in(0, 1);
        const size_t count = meet(&t, &plane, &p, &c, &b, margin);
        check_rows(&t, margin, 4.0);
        if (fabs(gap - margin) > 1e-8) {
            CHECK_EQ_INT(count > 0, gap <= margin);
        }
        CHECK_AT_MOST((double)count, 10.0);
        if (count > 0) {
            CHECK_NEAR(least_gap(&t), gap, 2e-9); /* PERPI_CANDIDATE_TIE of the radius */
        }
        for (size_t i = 0; i < count; ++i) { /* every point is one of the surface */
            const vec3 local = m3_tmul(b.R, v3_sub(t.list.item[i].point_b, b.x));
            CHECK_NEAR(hypot(local.x, local.y), c.radius, 1e-12);
            CHECK_NEAR(fabs(local.z), 0.5 * c.length, 1e-12);
        }
    }
    touches_destroy(&t);
}

/* ---- balls and capsules ------------------------------------------------------------------------- */

static double cylinder_point_distance(const perpi_shape* s, const perpi_pose* pose, vec3 p)
{
    const vec3 d = m3_tmul(pose->R, v3_sub(p, pose->x));
    const double out = fmax(0, hypot(d.x, d.y) - s->radius),
                 up = fmax(0, fabs(d.z) - s->length / 2);
    return hypot(out, up);
}

/* The distance from a convex set is convex along the capsule's axis: golden section. */
static double true_core_distance(const perpi_shape* c, const perpi_pose* pose_c,
                                 const perpi_shape* b, const perpi_pose* pose_b)
{
    const double l = b->type == PERP_SHAPE_CAPSULE ? 0.5 * b->length : 0.0;
    const vec3 u = m3_column(pose_b->R, 2);
    const double golden = 0.6180339887498949;
    double lo = -l, hi = l;
    for (int i = 0; i < 90; ++i) {
        const double s = hi - golden * (hi - lo), t = lo + golden * (hi - lo);
        const double at_s = cylinder_point_distance(c, pose_c, v3_madd(pose_b->x, s, u));
        const double at_t = cylinder_point_distance(c, pose_c, v3_madd(pose_b->x, t, u));
        *(at_s <= at_t ? &hi : &lo) = at_s <= at_t ? t : s;
    }
    return cylinder_point_distance(c, pose_c, v3_madd(pose_b->x, 0.5 * (lo + hi), u));
}

static void check_pair(perp_shape_type type, int trials, bool special)
{
    candidates t = touches_create();
    int apart = 0, contacts = 0, pierced = 0;
    double worst = 0.0;
    for (int trial = 0; trial < trials; ++trial) {
        const perpi_shape c = random_shape(PERP_SHAPE_CYLINDER), b = random_shape(type);
        const double step = random_below(2) == 0 ? c.radius : c.length / 2;
        const vec3 x =
            special ? v3(step * random_below(4), step * random_below(4), step * random_below(4))
                    : random_vec(1.6);
        const vec3 o = random_vec(1);
        const perpi_pose pose_c = pose_at(o, special ? random_special_turn(3) : random_turn(3));
        const perpi_pose pose_b =
            pose_at(v3_add(o, x), special ? random_special_turn(3) : random_turn(3));
        const double r = type == PERP_SHAPE_PARTICLE ? 0.0 : b.radius;
        const double core = true_core_distance(&c, &pose_c, &b, &pose_b), gap = core - r;
        const double margin = random_in(0, 0.6);
        const size_t count = meet(&t, &c, &pose_c, &b, &pose_b, margin);
        check_rows(&t, margin, 2.0);
        if (gap > margin + 1e-7) {
            CHECK_EQ_INT(count, 0);
        }
        if (!(core > 1e-6) || !(gap < margin - 1e-7)) {
            if (core <= 0.0) { /* pierced: pushed out, deeper than the ball alone */
                ++pierced;
                REQUIRE(count >= 1);
                CHECK_AT_MOST(least_gap(&t), -r + 1e-9);
            }
            continue;
        }
        ++apart;
        contacts += (int)count;
        REQUIRE(count >= 1);
        const double off = fabs(least_gap(&t) - gap);
        worst = fmax(worst, off);
        CHECK_AT_MOST(off, 1e-12);
        for (size_t i = 0; i < count; ++i) {
            CHECK_AT_MOST(cylinder_point_distance(&c, &pose_c, t.list.item[i].point_a), 1e-9);
        }
    }
    CHECK_AT_LEAST(apart, 100);
    CHECK_AT_LEAST(pierced, 20);
    TEST_PRINT("cylinder-%s%s: %d poses within the margin, %.2f contacts each, worst %.1e",
               perp_shape_name(type), special ? " (lined up)" : "", apart, (double)contacts / apart,
               worst);
    touches_destroy(&t);
}

TEST(the_least_gap_is_the_true_distance_for_balls_and_capsules)
{
    random_state = 12;
    check_pair(PERP_SHAPE_PARTICLE, 3000, false);
    check_pair(PERP_SHAPE_SPHERE, 3000, false);
    check_pair(PERP_SHAPE_CAPSULE, 4000, false);
    check_pair(PERP_SHAPE_PARTICLE, 1500, true);
    check_pair(PERP_SHAPE_SPHERE, 1500, true);
    check_pair(PERP_SHAPE_CAPSULE, 3000, true);
}

TEST(a_ball_meets_side_face_and_rim)
{
    candidates t = touches_create();
    const perpi_shape c = cylinder(1, 4), ball = make_round(PERP_SHAPE_SPHERE, 0.5, 0);
    const perpi_pose o = at(0, 0, 0, v3(0, 0, 0));
    const struct {
        vec3 x, n;
        double gap;
    } cases[] = {
        {{1.6, 0, 0.3}, {1, 0, 0}, 0.1},
        {{0.2, -0.3, -2.6}, {0, 0, -1}, 0.1},
        {{0, 1.6, 2.8}, {0, 0.6, 0.8}, 0.5},
        {{0.9, 0, 0}, {1, 0, 0}, -0.6},     /* centre inside, near the side */
        {{0.1, 0, 1.95}, {0, 0, 1}, -0.55}, /* near the face */
        {{0, 0, 0}, {1, 0, 0}, -1.5},       /* on the axis: x, for want of another */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        const perpi_pose b = at(cases[i].x.x, cases[i].x.y, cases[i].x.z, v3(0, 0, 0));
        REQUIRE_EQ_INT(meet(&t, &c, &o, &ball, &b, 1.0), 1);
        CHECK_NEAR(t.list.item[0].gap, cases[i].gap, 1e-14);
        check_vec(t.list.item[0].normal, cases[i].n.x, cases[i].n.y, cases[i].n.z, 1e-14);
    }
    touches_destroy(&t);
}

TEST(a_capsule_lies_on_two_points_of_a_face_and_of_the_side)
{
    candidates t = touches_create();
    const perpi_shape c = cylinder(1, 4), rod = make_round(PERP_SHAPE_CAPSULE, 0.25, 6);
    const perpi_pose o = at(0, 0, 0, v3(0, 0, 0));
    const perpi_pose flat = at(0.5, 0, 2.25, v3(0, right_angle, 0));
    REQUIRE_EQ_INT(meet(&t, &c, &o, &rod, &flat, 0.1), 2);
    CHECK_NEAR(fabs(t.list.item[0].point_a.x), 1, 1e-12);
    CHECK_NEAR(fabs(t.list.item[1].point_a.x), 1, 1e-12);
    CHECK_NEAR(t.list.item[0].gap, 0, 1e-12);
    const perpi_pose beside = at(0, 1.25, 3, v3(0, 0, 0));
    REQUIRE_EQ_INT(meet(&t, &c, &o, &rod, &beside, 0.1), 2);
    CHECK_NEAR(t.list.item[0].point_a.z + t.list.item[1].point_a.z, 2.0, 1e-12); /* 0 and 2 */
    CHECK_NEAR(t.list.item[1].gap, 0, 1e-12);
    /* across the side it is one point */
    const perpi_pose across = at(0, 1.3, 0, v3(0, right_angle, 0));
    REQUIRE_EQ_INT(meet(&t, &c, &o, &rod, &across, 0.1), 1);
    CHECK_NEAR(t.list.item[0].gap, 0.05, 1e-12);
    touches_destroy(&t);
}

TEST(a_cylinder_meets_every_shape_in_space)
{
    bool flipped;
    const perp_shape_type c = PERP_SHAPE_CYLINDER;
    for (int i = 0; i < PERP_SHAPE_TYPE_COUNT; ++i) {
        const perp_shape_type other = (perp_shape_type)i;
        if (dimension_of(other) == 3 && other != PERP_SHAPE_MESH) {
            CHECK(perpi_pair_find(false, c, other, &flipped) != NULL);
        }
    }
}
