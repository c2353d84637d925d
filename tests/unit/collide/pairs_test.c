/* tests/unit/collide/pairs_test.c - every pair of shapes by hand: gap, normal, points, number of
 * contacts; and the degenerate poses that are common in a simulation. */
#include "geometry.h"

#define EXACT 1e-14

static perpi_pose at(double x, double y, double z)
{
    return pose_at(v3(x, y, z), q4_identity());
}

static perpi_pose turned(double x, double y, double z, double rx, double ry, double rz)
{
    return pose_at(v3(x, y, z), q4_exp(v3(rx, ry, rz)));
}

static const double right_angle = 1.57079632679489661923;

static void check_touch(const perpi_candidate* c, double gap, vec3 n, vec3 p_a, vec3 p_b,
                        double tol)
{
    CHECK_NEAR(c->gap, gap, tol);
    check_vec(c->normal, n.x, n.y, n.z, tol);
    check_vec(c->point_a, p_a.x, p_a.y, p_a.z, tol);
    check_vec(c->point_b, p_b.x, p_b.y, p_b.z, tol);
}

/* One contact expected, and the same with the shapes swapped. */
static void check_one(const perpi_shape* a, const perpi_pose* pose_a, const perpi_shape* b,
                      const perpi_pose* pose_b, double margin, double gap, vec3 n, vec3 p_a,
                      vec3 p_b)
{
    candidates t = touches_create();
    REQUIRE_EQ_INT(meet(&t, a, pose_a, b, pose_b, margin), 1);
    check_touch(&t.list.item[0], gap, n, p_a, p_b, 1e-12);
    REQUIRE_EQ_INT(meet(&t, b, pose_b, a, pose_a, margin), 1);
    check_touch(&t.list.item[0], gap, v3_neg(n), p_b, p_a, 1e-12);
    touches_destroy(&t);
}

static size_t count_of(const perpi_shape* a, const perpi_pose* pose_a, const perpi_shape* b,
                       const perpi_pose* pose_b, double margin)
{
    candidates t = touches_create();
    const size_t count = meet(&t, a, pose_a, b, pose_b, margin);
    check_rows(&t, margin, 10.0);
    touches_destroy(&t);
    return count;
}

/* ---- which pairs there are ----------------------------------------------------------------------- */

TEST(planes_never_meet_planes_nor_particles_particles)
{
    bool flipped;
    CHECK(perpi_pair_find(false, PERP_SHAPE_PLANE, PERP_SHAPE_PLANE, &flipped) == NULL);
    CHECK(perpi_pair_find(false, PERP_SHAPE_HALFPLANE, PERP_SHAPE_HALFPLANE, &flipped) == NULL);
    CHECK(perpi_pair_find(false, PERP_SHAPE_PARTICLE, PERP_SHAPE_PARTICLE, &flipped) == NULL);
}

TEST(every_other_pair_of_one_dimension_has_a_routine_in_either_order)
{
    const perp_shape_type spatial[] = {PERP_SHAPE_PARTICLE, PERP_SHAPE_SPHERE, PERP_SHAPE_PLANE,
                                       PERP_SHAPE_BOX, PERP_SHAPE_CAPSULE};
    const perp_shape_type planar[] = {PERP_SHAPE_PARTICLE, PERP_SHAPE_CIRCLE, PERP_SHAPE_HALFPLANE,
                                      PERP_SHAPE_BOX2, PERP_SHAPE_POLYGON};
    int missing = 0;
    for (int i = 0; i < 5; ++i) {
        for (int k = 0; k < 5; ++k) {
            bool one = false, two = false;
            const perpi_pair_fn f = perpi_pair_find(false, spatial[i], spatial[k], &one);
            CHECK(f == perpi_pair_find(false, spatial[k], spatial[i], &two));
            CHECK(f == NULL || i == k || one != two);
            missing += f == NULL;
        }
    }
    CHECK_EQ_INT(missing, 2);
    missing = 0;
    for (int i = 0; i < 5; ++i) {
        for (int k = 0; k < 5; ++k) {
            bool one = false;
            missing += perpi_pair_find(false, planar[i], planar[k], &one) == NULL;
        }
    }
    CHECK_EQ_INT(missing, 2);
}

/* ---- planes --------------------------------------------------------------------------------------- */

TEST(a_sphere_over_a_plane)
{
    const perpi_shape plane = make_plane(PERP_SHAPE_PLANE, v3(0, 0, 1), 0.5);
    const perpi_shape ball = make_round(PERP_SHAPE_SPHERE, 1, 0);
    const perpi_pose p = at(0, 0, 0), b = at(3, 4, 1.75), deep = at(3, 4, -1.5);
    check_one(&plane, &p, &ball, &b, 0.5, 0.25, v3(0, 0, 1), v3(3, 4, 0.5), v3(3, 4, 0.75));
    CHECK_EQ_INT(count_of(&plane, &p, &ball, &b, 0.2), 0);
    check_one(&plane, &p, &ball, &deep, 0.0, -3.0, v3(0, 0, 1), v3(3, 4, 0.5), v3(3, 4, -2.5));
}

TEST(a_particle_over_a_plane_and_a_halfplane)
{
    const perpi_shape dot = {.type = PERP_SHAPE_PARTICLE};
    const perpi_shape plane = make_plane(PERP_SHAPE_PLANE, v3(1, 0, 0), 0);
    const perpi_shape half = make_plane(PERP_SHAPE_HALFPLANE, v3(0, 1, 0), 1);
    const perpi_pose o = at(0, 0, 0), d = at(0.25, 2, 0);
    check_one(&plane, &o, &dot, &d, 1, 0.25, v3(1, 0, 0), v3(0, 2, 0), v3(0.25, 2, 0));
    check_one(&half, &o, &dot, &d, 1, 1, v3(0, 1, 0), v3(0.25, 1, 0), v3(0.25, 2, 0));
}

TEST(a_circle_over_a_turned_halfplane)
{
    const perpi_shape half = make_plane(PERP_SHAPE_HALFPLANE, v3(0, 1, 0), 0);
    const perpi_shape disc = make_round(PERP_SHAPE_CIRCLE, 0.5, 0);
    const perpi_pose h = turned(0, 0, 0, 0, 0, right_angle), d = at(-1, 7, 0);
    check_one(&half, &h, &disc, &d, 1, 0.5, v3(-1, 0, 0), v3(0, 7, 0), v3(-0.5, 7, 0));
}

TEST(a_capsule_on_a_plane_rests_on_both_ends)
{
    const perpi_shape plane = make_plane(PERP_SHAPE_PLANE, v3(0, 0, 1), 0);
    const perpi_shape rod = make_round(PERP_SHAPE_CAPSULE, 0.5, 2);
    const perpi_pose p = at(0, 0, 0), lying = turned(0, 0, 0.5, 0, right_angle, 0);
    const perpi_pose upright = at(0, 0, 1.5);
    candidates t = touches_create();
    REQUIRE_EQ_INT(meet(&t, &plane, &p, &rod, &lying, 0.1), 2);
    check_touch(&t.list.item[0], 0, v3(0, 0, 1), v3(-1, 0, 0), v3(-1, 0, 0), EXACT);
    check_touch(&t.list.item[1], 0, v3(0, 0, 1), v3(1, 0, 0), v3(1, 0, 0), EXACT);
    touches_destroy(&t);
    check_one(&plane, &p, &rod, &upright, 0.1, 0, v3(0, 0, 1), v3(0, 0, 0), v3(0, 0, 0));
}

TEST(a_box_on_a_plane_has_its_vertices_within_the_margin)
{
    const perpi_shape plane = make_plane(PERP_SHAPE_PLANE, v3(0, 0, 1), 0);
    const perpi_shape box = make_box(1, 1, 1);
    const perpi_pose p = at(0, 0, 0), flat = at(0, 0, 1);
    const perpi_pose edge = turned(0, 0, 1.5, right_angle / 2, 0, 0);
    CHECK_EQ_INT(count_of(&plane, &p, &box, &flat, 0.1), 4);
    CHECK_EQ_INT(count_of(&plane, &p, &box, &edge, 0.1), 2);
    CHECK_EQ_INT(count_of(&plane, &p, &box, &flat, 2.0), 8);
    const perpi_shape half = make_plane(PERP_SHAPE_HALFPLANE, v3(0, 1, 0), 0);
    const perpi_shape box2 = make_box2(1, 1);
    const perpi_pose flat2 = at(0, 1, 0), corner2 = turned(0, 1.5, 0, 0, 0, right_angle / 2);
    CHECK_EQ_INT(count_of(&half, &p, &box2, &flat2, 0.1), 2);
    CHECK_EQ_INT(count_of(&half, &p, &box2, &corner2, 0.1), 1);
}

/* ---- round with round ------------------------------------------------------------------------------ */

TEST(two_spheres_and_two_circles)
{
    const perpi_shape a = make_round(PERP_SHAPE_SPHERE, 1, 0);
    const perpi_shape b = make_round(PERP_SHAPE_SPHERE, 0.5, 0);
    const perpi_pose o = at(0, 0, 0), p = at(0, 3, 4), q = at(0.25, 0, 0);
    check_one(&a, &o, &b, &p, 4, 3.5, v3(0, 0.6, 0.8), v3(0, 0.6, 0.8), v3(0, 2.7, 3.6));
    check_one(&a, &o, &b, &q, 0, -1.25, v3(1, 0, 0), v3(1, 0, 0), v3(-0.25, 0, 0));
    const perpi_shape c = make_round(PERP_SHAPE_CIRCLE, 1, 0);
    const perpi_shape d = make_round(PERP_SHAPE_CIRCLE, 2, 0);
    const perpi_pose r = at(3, 4, 0);
    check_one(&c, &o, &d, &r, 4, 2, v3(0.6, 0.8, 0), v3(0.6, 0.8, 0), v3(1.8, 2.4, 0));
    const perpi_shape dot = {.type = PERP_SHAPE_PARTICLE};
    check_one(&c, &o, &dot, &r, 4, 4, v3(0.6, 0.8, 0), v3(0.6, 0.8, 0), v3(3, 4, 0));
    check_one(&a, &o, &dot, &q, 4, -0.75, v3(1, 0, 0), v3(1, 0, 0), v3(0.25, 0, 0));
}

TEST(coincident_centres_have_a_normal_in_the_plane_of_the_scene)
{
    const perp_shape_type types[] = {PERP_SHAPE_SPHERE, PERP_SHAPE_CIRCLE, PERP_SHAPE_CAPSULE};
    candidates t = touches_create();
    for (int i = 0; i < 3; ++i) {
        const perpi_shape a = make_round(types[i], 1, 2), b = make_round(types[i], 0.5, 3);
        const perpi_pose p = at(1, 2, 0);
        const size_t count = meet(&t, &a, &p, &b, &p, 0);
        check_rows(&t, 0, 1);
        CHECK_EQ_INT(count, types[i] == PERP_SHAPE_CAPSULE ? 2 : 1);
        for (size_t k = 0; k < count; ++k) {
            CHECK_NEAR(t.list.item[k].gap, -1.5, EXACT);
            CHECK_NEAR(t.list.item[k].normal.z, 0.0, EXACT);
        }
    }
    touches_destroy(&t);
}

TEST(crossed_capsules_whose_axes_meet_part_across_both)
{
    const perpi_shape a = make_round(PERP_SHAPE_CAPSULE, 0.5, 2);
    const perpi_pose o = at(0, 0, 0), p = turned(0, 0, 0, right_angle, 0, 0);
    candidates t = touches_create();
    REQUIRE_EQ_INT(meet(&t, &a, &o, &a, &p, 0), 1);
    CHECK_NEAR(t.list.item[0].gap, -1, EXACT);
    CHECK_NEAR(fabs(t.list.item[0].normal.x), 1, EXACT);
    touches_destroy(&t);
}

TEST(a_sphere_beside_and_beyond_a_capsule)
{
    const perpi_shape ball = make_round(PERP_SHAPE_SPHERE, 0.5, 0);
    const perpi_shape rod = make_round(PERP_SHAPE_CAPSULE, 1, 4);
    const perpi_shape dot = {.type = PERP_SHAPE_PARTICLE};
    const perpi_pose o = at(0, 0, 0), side = at(3, 0, 1), end = at(0, 3, 6);
    check_one(&rod, &o, &ball, &side, 2, 1.5, v3(1, 0, 0), v3(1, 0, 1), v3(2.5, 0, 1));
    check_one(&rod, &o, &ball, &end, 4, 3.5, v3(0, 0.6, 0.8), v3(0, 0.6, 2.8), v3(0, 2.7, 5.6));
    check_one(&rod, &o, &dot, &side, 2, 2, v3(1, 0, 0), v3(1, 0, 1), v3(3, 0, 1));
}

TEST(crossed_capsules_touch_once_and_capsules_side_by_side_twice)
{
    const perpi_shape rod = make_round(PERP_SHAPE_CAPSULE, 0.5, 2);
    const perpi_shape long_rod = make_round(PERP_SHAPE_CAPSULE, 0.25, 3);
    const perpi_pose o = at(0, 0, 0), crossed = turned(1.5, 0, 0.25, right_angle, 0, 0);
    check_one(&rod, &o, &rod, &crossed, 1, 0.5, v3(1, 0, 0), v3(0.5, 0, 0.25), v3(1, 0, 0.25));

    /* overlap from z = 0.5 - 1.5 = -1 (a's own low end) to z = 1 */
    candidates t = touches_create();
    const perpi_pose beside = at(1, 0, 0.75);
    REQUIRE_EQ_INT(meet(&t, &rod, &o, &long_rod, &beside, 0.5), 2);
    check_touch(&t.list.item[0], 0.25, v3(1, 0, 0), v3(0.5, 0, -0.75), v3(0.75, 0, -0.75), EXACT);
    check_touch(&t.list.item[1], 0.25, v3(1, 0, 0), v3(0.5, 0, 1), v3(0.75, 0, 1), EXACT);

    /* upside down, and rotated slightly: still two */
    const perpi_pose over = turned(1, 0, 0.75, 2 * right_angle, 0, 0);
    CHECK_EQ_INT(meet(&t, &rod, &o, &long_rod, &over, 0.5), 2);
    const perpi_pose hair = turned(1, 0, 0.75, 0, 1e-5, 0);
    CHECK_EQ_INT(meet(&t, &rod, &o, &long_rod, &hair, 0.5), 2);

    /* end to end: one */
    const perpi_pose above = at(0, 0, 4);
    CHECK_EQ_INT(meet(&t, &rod, &o, &long_rod, &above, 2), 1);
    CHECK_NEAR(t.list.item[0].gap, 0.75, EXACT);
    touches_destroy(&t);
}

/* ---- round with box -------------------------------------------------------------------------------- */

TEST(a_sphere_over_a_face_off_an_edge_off_a_corner_and_inside)
{
    const perpi_shape box = make_box(1, 2, 3);
    const perpi_shape ball = make_round(PERP_SHAPE_SPHERE, 0.5, 0);
    const perpi_pose o = at(0, 0, 0), face = at(0.5, 0.5, 4), edge = at(4, 6, 0);
    const perpi_pose corner = at(3, 4, 4), inside = at(0.75, 0, 0), deep = at(0, 0, -2.9);
    check_one(&box, &o, &ball, &face, 1, 0.5, v3(0, 0, 1), v3(0.5, 0.5, 3), v3(0.5, 0.5, 3.5));
    check_one(&box, &o, &ball, &edge, 5, 4.5, v3(0.6, 0.8, 0), v3(1, 2, 0), v3(3.7, 5.6, 0));
    check_one(&box, &o, &ball, &corner, 5, 2.5, v3(2. / 3, 2. / 3, 1. / 3), v3(1, 2, 3),
              v3(3 - 1. / 3, 4 - 1. / 3, 4 - 0.5 / 3));
    check_one(&box, &o, &ball, &inside, 0, -0.75, v3(1, 0, 0), v3(1, 0, 0), v3(0.25, 0, 0));
    check_one(&box, &o, &ball, &deep, 0, -0.6, v3(0, 0, -1), v3(0, 0, -3), v3(0, 0, -2.4));
}

TEST(a_particle_on_a_box_keeps_the_faces_normal_to_the_last_bit)
{
    const perpi_shape box = make_box(1, 1, 1);
    const perpi_shape dot = {.type = PERP_SHAPE_PARTICLE};
    const perpi_pose o = at(0, 0, 0);
    candidates t = touches_create();
    const double heights[] = {1 - 1e-3,  1 - 1e-15, 1.0,      1 + 1e-15,
                              1 + 1e-12, 1 + 5e-10, 1 + 1e-8, 1 + 1e-3};
    uint32_t name = 0;
    for (int i = 0; i < 8; ++i) {
        const perpi_pose p = at(0.5, 0.25, heights[i]);
        REQUIRE_EQ_INT(meet(&t, &box, &o, &dot, &p, 0.1), 1);
        CHECK(t.list.item[0].normal.z == 1.0);
        CHECK_NEAR(t.list.item[0].gap, heights[i] - 1.0, 1e-16);
        CHECK(i == 0 || t.list.item[0].feature == name);
        name = t.list.item[0].feature;
    }
    const perpi_pose corner = at(1, 1, 1);
    REQUIRE_EQ_INT(meet(&t, &box, &o, &dot, &corner, 0.1), 1);
    CHECK_NEAR(v3_norm(t.list.item[0].normal), 1.0, EXACT);
    touches_destroy(&t);
}

TEST(a_circle_and_a_particle_with_a_planar_box)
{
    const perpi_shape box = make_box2(1, 2);
    const perpi_shape disc = make_round(PERP_SHAPE_CIRCLE, 0.5, 0);
    const perpi_shape dot = {.type = PERP_SHAPE_PARTICLE};
    const perpi_pose o = at(0, 0, 0), side = at(2, 1, 0), corner = at(4, 6, 0);
    const perpi_pose inside = at(0, -1.75, 0);
    check_one(&box, &o, &disc, &side, 1, 0.5, v3(1, 0, 0), v3(1, 1, 0), v3(1.5, 1, 0));
    check_one(&box, &o, &disc, &corner, 5, 4.5, v3(0.6, 0.8, 0), v3(1, 2, 0), v3(3.7, 5.6, 0));
    check_one(&box, &o, &disc, &inside, 0, -0.75, v3(0, -1, 0), v3(0, -2, 0), v3(0, -1.25, 0));
    check_one(&box, &o, &dot, &side, 1, 1, v3(1, 0, 0), v3(1, 1, 0), v3(2, 1, 0));
}

TEST(a_capsule_on_a_box_rests_on_both_ends_of_what_is_supported)
{
    const perpi_shape box = make_box(2, 1, 1);
    const perpi_shape rod = make_round(PERP_SHAPE_CAPSULE, 0.5, 2);
    const perpi_pose o = at(0, 0, 0);
    candidates t = touches_create();

    /* within the face: the ends of the axis */
    const perpi_pose inner = turned(0, 0, 1.5, 0, right_angle, 0);
    REQUIRE_EQ_INT(meet(&t, &box, &o, &rod, &inner, 0.1), 2);
    for (int i = 0; i < 2; ++i) {
        const double x = t.list.item[i].point_a.x;
        CHECK_NEAR(fabs(x), 1, EXACT);
        check_touch(&t.list.item[i], 0, v3(0, 0, 1), v3(x, 0, 1), v3(x, 0, 1), EXACT);
    }
    CHECK_NEAR(t.list.item[0].point_a.x + t.list.item[1].point_a.x, 0, EXACT);

    /* over the border at x = 2: the inner end and the edge */
    const perpi_pose over = turned(1.5, 0, 1.5, 0, right_angle, 0);
    REQUIRE_EQ_INT(meet(&t, &box, &o, &rod, &over, 0.1), 2);
    CHECK_NEAR(fmin(t.list.item[0].point_a.x, t.list.item[1].point_a.x), 0.5, EXACT);
    CHECK_NEAR(fmax(t.list.item[0].point_a.x, t.list.item[1].point_a.x), 2, EXACT);

    /* longer than the box is wide: both edges */
    const perpi_pose across = turned(0, 0.0, 1.5, right_angle, 0, 0);
    const perpi_shape long_rod = make_round(PERP_SHAPE_CAPSULE, 0.5, 6);
    REQUIRE_EQ_INT(meet(&t, &box, &o, &long_rod, &across, 0.1), 2);
    CHECK_NEAR(fabs(t.list.item[0].point_a.y), 1, EXACT);
    CHECK_NEAR(t.list.item[0].point_a.y + t.list.item[1].point_a.y, 0, EXACT);

    /* along an edge, off it */
    const perpi_pose along = turned(0, 1.3, 1.4, 0, right_angle, 0);
    REQUIRE_EQ_INT(meet(&t, &box, &o, &rod, &along, 0.1), 2);
    CHECK_NEAR(t.list.item[0].gap, 0, 1e-14);
    check_vec(t.list.item[0].normal, 0, 0.6, 0.8, 1e-14);

    /* upright: the lower end */
    const perpi_pose upright = at(0, 0, 2.5);
    CHECK_EQ_INT(meet(&t, &box, &o, &rod, &upright, 0.1), 1);

    /* a small rotation at the border keeps both contacts */
    for (int s = -1; s <= 1; s += 2) {
        const perpi_pose rock = turned(1.5, 0, 1.5, 0, right_angle + s * 1e-7, 0);
        CHECK_EQ_INT(meet(&t, &box, &o, &rod, &rock, 0.1), 2);
    }

    /* penetrating: separated through the top, at both ends */
    const perpi_pose sunk = turned(0, 0, 0.75, 0, right_angle, 0);
    REQUIRE_EQ_INT(meet(&t, &box, &o, &rod, &sunk, 0.1), 2);
    check_vec(t.list.item[0].normal, 0, 0, 1, EXACT);
    CHECK_NEAR(t.list.item[0].gap, -0.75, EXACT);
    CHECK_NEAR(t.list.item[1].gap, -0.75, EXACT);
    touches_destroy(&t);
}

/* ---- box with box ----------------------------------------------------------------------------------- */

TEST(equal_boxes_in_a_stack_touch_in_four_points)
{
    const perpi_shape box = make_box(0.5, 0.5, 0.5);
    candidates t = touches_create();
    const perpi_pose lower = at(0.1, 0.2, 0.3);
    const double gaps[] = {0.01, 1e-9, 1e-12, 0.0, -1e-12, -1e-9, -0.01};
    for (int i = 0; i < 7; ++i) {
        const perpi_pose upper = at(0.1, 0.2, 1.3 + gaps[i]);
        REQUIRE_EQ_INT(meet(&t, &box, &lower, &box, &upper, 0.1), 4);
        check_rows(&t, 0.1, 1.0);
        for (int k = 0; k < 4; ++k) {
            const perpi_candidate* c = &t.list.item[k];
            CHECK_NEAR(c->gap, gaps[i], 1e-14);
            check_vec(c->normal, 0, 0, 1, EXACT);
            CHECK_NEAR(fabs(c->point_a.x - 0.1), 0.5, 1e-14);
            CHECK_NEAR(fabs(c->point_a.y - 0.2), 0.5, 1e-14);
        }
    }
    /* what rounding does to a stack in a simulation: a little shift, a little turn */
    random_state = 11;
    for (int trial = 0; trial < 2000; ++trial) {
        const double size = pow(10.0, -random_in(9, 15));
        vec3 shift = random_vec(size);
        shift.z = random_in(-1e-10, 1e-10);
        const perpi_pose upper =
            pose_at(v3_add(v3(0.1, 0.2, 1.3), shift), q4_exp(random_vec(size)));
        CHECK_EQ_INT(meet(&t, &box, &lower, &box, &upper, 0.1), 4);
    }
    touches_destroy(&t);
}

TEST(a_smaller_box_on_a_larger_one_touches_with_its_own_vertices)
{
    const perpi_shape table = make_box(5, 5, 0.5), box = make_box(0.5, 0.5, 0.5);
    const perpi_pose o = at(0, 0, 0), on = turned(1, 2, 1, 0, 0, 0.3);
    candidates t = touches_create();
    REQUIRE_EQ_INT(meet(&t, &table, &o, &box, &on, 0.1), 4);
    for (int k = 0; k < 4; ++k) {
        CHECK_NEAR(t.list.item[k].gap, 0, EXACT);
    }
    touches_destroy(&t);
}

TEST(a_box_turned_by_45_degrees_on_an_equal_one_touches_where_the_edges_cross)
{
    const perpi_shape box = make_box(0.5, 0.5, 0.5);
    const perpi_pose o = at(0, 0, 0), on = turned(0, 0, 1, 0, 0, right_angle / 2);
    candidates t = touches_create();
    REQUIRE_EQ_INT(meet(&t, &box, &o, &box, &on, 0.1), 8);
    check_rows(&t, 0.1, 1.0);
    for (int k = 0; k < 8; ++k) {
        const perpi_candidate* c = &t.list.item[k];
        check_vec(c->normal, 0, 0, 1, 1e-14);
        CHECK_NEAR(c->gap, 0, 1e-14);
        /* the corners of a regular octagon with inner radius 1/2 */
        CHECK_NEAR(hypot(c->point_a.x, c->point_a.y), 0.5 / cos(right_angle / 4), 1e-14);
    }
    /* tilted slightly to one side: the far contacts must not be lost */
    const perpi_pose tipped =
        pose_at(v3(0, 0, 1.001), q4_mul(q4_exp(v3(1e-3, 0, 0)), q4_exp(v3(0, 0, right_angle / 2))));
    CHECK_AT_LEAST((double)meet(&t, &box, &o, &box, &tipped, 0.1), 8);
    touches_destroy(&t);
}

TEST(a_box_over_the_border_of_another_touches_at_the_corners_of_the_overlap)
{
    const perpi_shape box = make_box(0.5, 0.5, 0.5);
    const perpi_pose o = at(0, 0, 0), one_way = at(0.25, 0, 1), both_ways = at(0.25, -0.4, 1);
    const perpi_pose* poses[] = {&one_way, &both_ways};
    candidates t = touches_create();
    for (int i = 0; i < 2; ++i) {
        REQUIRE_EQ_INT(meet(&t, &box, &o, &box, poses[i], 0.1), 4);
        double lo = INFINITY, hi = -INFINITY;
        for (int k = 0; k < 4; ++k) {
            check_vec(t.list.item[k].normal, 0, 0, 1, EXACT);
            lo = fmin(lo, t.list.item[k].point_b.x);
            hi = fmax(hi, t.list.item[k].point_b.x);
        }
        CHECK_NEAR(lo, -0.25, 1e-14);
        CHECK_NEAR(hi, 0.5, 1e-14);
    }
    touches_destroy(&t);
}

TEST(a_box_on_its_corner_edge_or_another_edge)
{
    const perpi_shape box = make_box(0.5, 0.5, 0.5);
    const perpi_pose o = at(0, 0, 0);
    candidates t = touches_create();

    /* a vertex over a face */
    const double rise = 0.5 * sqrt(3.0);
    const quat on_corner =
        q4_mul(q4_exp(v3(atan(sqrt(0.5)), 0, 0)), q4_exp(v3(0, right_angle / 2, 0)));
    const perpi_pose corner = pose_at(v3(0.1, 0.1, 0.5 + rise + 0.01), on_corner);
    REQUIRE_EQ_INT(meet(&t, &box, &o, &box, &corner, 0.1), 1);
    CHECK_NEAR(t.list.item[0].gap, 0.01, 1e-14);
    check_vec(t.list.item[0].normal, 0, 0, 1, 1e-14);

    /* an edge along a face: the two ends of the edge inside it */
    const perpi_pose edge = turned(0, 0, 0.5 + sqrt(0.5), 0, right_angle / 2, 0);
    REQUIRE_EQ_INT(meet(&t, &box, &o, &box, &edge, 0.1), 2);
    CHECK_NEAR(fabs(t.list.item[0].point_b.y), 0.5, 1e-14);

    /* an edge across an edge: one */
    const perpi_pose roof = turned(0, 0, 0, 0, right_angle / 2, 0);
    const perpi_pose keel = turned(0, 0, 2 * sqrt(0.5) + 0.01, right_angle / 2, 0, 0);
    REQUIRE_EQ_INT(meet(&t, &box, &roof, &box, &keel, 0.1), 1);
    check_touch(&t.list.item[0], 0.01, v3(0, 0, 1), v3(0, 0, sqrt(0.5)), v3(0, 0, sqrt(0.5) + 0.01),
                1e-14);

    /* an edge along an edge: both ends of the stretch */
    const perpi_pose ridge = turned(0, 0.25, 2 * sqrt(0.5) + 0.01, 0, right_angle / 2, 0);
    REQUIRE_EQ_INT(meet(&t, &box, &roof, &box, &ridge, 0.1), 2);
    for (int k = 0; k < 2; ++k) {
        CHECK_NEAR(t.list.item[k].gap, 0.01, 1e-14);
        check_vec(t.list.item[k].normal, 0, 0, 1, 1e-12);
    }
    CHECK_NEAR(fabs(t.list.item[0].point_a.y - t.list.item[1].point_a.y), 0.75, 1e-12);

    /* corner to corner: one, along the diagonal */
    const perpi_pose diagonal = at(1.03, 1.04, 1.0);
    touches_destroy(&t);
    t = touches_create();
    REQUIRE_EQ_INT(meet(&t, &box, &o, &box, &diagonal, 0.1), 1);
    CHECK_NEAR(t.list.item[0].gap, 0.05, 1e-14);
    check_vec(t.list.item[0].normal, 0.6, 0.8, 0, 1e-12);
    touches_destroy(&t);
}

TEST(boxes_that_share_their_centre_or_touch_in_a_point_have_a_finite_normal)
{
    candidates t = touches_create();
    const perpi_shape box = make_box(0.5, 0.5, 0.5), flat = make_box(0.5, 0.5, 0.25);
    const perpi_shape box2 = make_box2(0.5, 0.5);
    const perpi_pose o = at(0, 0, 0), corner = at(1, 1, 1), corner2 = at(1, 1, 0);
    CHECK_AT_LEAST((double)meet(&t, &box, &o, &box, &o, 0), 1);
    check_rows(&t, 0, 1);
    CHECK_AT_LEAST((double)meet(&t, &box, &o, &flat, &o, 0), 1);
    check_rows(&t, 0, 1);
    CHECK_AT_LEAST(least_gap(&t), 1.5 * -0.75 - 1e-8);
    CHECK_AT_MOST(least_gap(&t), -0.75);
    CHECK_AT_LEAST((double)meet(&t, &box, &o, &box, &corner, 0), 1);
    check_rows(&t, 0, 1);
    CHECK_AT_LEAST((double)meet(&t, &box2, &o, &box2, &corner2, 0), 1);
    check_rows(&t, 0, 1);
    CHECK_AT_LEAST((double)meet(&t, &box2, &o, &box2, &o, 0), 1);
    check_rows(&t, 0, 1);
    touches_destroy(&t);
}

TEST(planar_boxes_stacked_overhanging_and_corner_to_corner)
{
    const perpi_shape box = make_box2(0.5, 0.5);
    const perpi_pose o = at(0, 0, 0), on = at(0, 1, 0), over = at(0.25, 1, 0);
    const perpi_pose diagonal = at(1.03, 1.04, 0),
                     tip = turned(0.2, 0.5 + sqrt(0.5), 0, 0, 0, right_angle / 2);
    candidates t = touches_create();
    REQUIRE_EQ_INT(meet(&t, &box, &o, &box, &on, 0.1), 2);
    check_vec(t.list.item[0].normal, 0, 1, 0, EXACT);
    REQUIRE_EQ_INT(meet(&t, &box, &o, &box, &over, 0.1), 2);
    CHECK_NEAR(t.list.item[0].point_a.x + t.list.item[1].point_a.x, 0.25, EXACT);
    CHECK_NEAR(fabs(t.list.item[0].point_a.x - t.list.item[1].point_a.x), 0.75, EXACT);
    touches_destroy(&t);
    check_one(&box, &o, &box, &diagonal, 0.1, 0.05, v3(0.6, 0.8, 0), v3(0.5, 0.5, 0),
              v3(0.53, 0.54, 0));
    check_one(&box, &o, &box, &tip, 0.1, 0, v3(0, 1, 0), v3(0.2, 0.5, 0), v3(0.2, 0.5, 0));
}

TEST(a_box_sliding_on_another_keeps_the_names_of_its_contacts)
{
    const perpi_shape table = make_box(5, 5, 0.5), box = make_box(0.5, 0.5, 0.5);
    const perpi_pose o = at(0, 0, 0);
    candidates t = touches_create();
    uint32_t names[4] = {0};
    for (int step = 0; step < 100; ++step) {
        const perpi_pose on = turned(0.02 * step - 1, 0.3, 1 + 1e-9 * sin(step), 0, 0, 0.01 * step);
        REQUIRE_EQ_INT(meet(&t, &table, &o, &box, &on, 0.01), 4);
        for (int k = 0; k < 4; ++k) {
            CHECK(step == 0 || names[k] == t.list.item[k].feature);
            names[k] = t.list.item[k].feature;
        }
    }
    touches_destroy(&t);
}

TEST(a_scene_in_millimetres_has_the_contacts_of_the_scene_in_metres)
{
    candidates t = touches_create(), u = touches_create();
    random_state = 12;
    const double mm = 0x1p-10; /* exact, so that rounding is the same */
    for (int trial = 0; trial < 500; ++trial) {
        const perpi_shape a = random_shape(PERP_SHAPE_BOX), b = random_shape(PERP_SHAPE_BOX);
        const perpi_pose p = pose_at(v3(0, 0, 0), random_turn(3));
        const perpi_pose q = pose_at(random_vec(2), random_turn(3));
        const size_t n = meet(&t, &a, &p, &b, &q, 0.5);
        const perpi_shape c = make_box(mm * a.half.x, mm * a.half.y, mm * a.half.z);
        const perpi_shape d = make_box(mm * b.half.x, mm * b.half.y, mm * b.half.z);
        const perpi_pose r = pose_at(v3_scale(mm, q.x), q.q);
        REQUIRE_EQ_INT(meet(&u, &c, &p, &d, &r, 0.5 * mm), n);
        for (size_t k = 0; k < n; ++k) {
            CHECK(u.list.item[k].gap == mm * t.list.item[k].gap);
            CHECK_EQ_INT(u.list.item[k].feature, t.list.item[k].feature);
        }
    }
    touches_destroy(&t);
    touches_destroy(&u);
}
