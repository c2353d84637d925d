/* Joint coordinates that are set: the bodies beyond the joint move, loops must close. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "perp_test.h"

#include "perp/perp.h"
#include "support/scene_sim.h"

static double joint_error(const perp_sim* sim)
{
    double error[2];
    perp_sim_joint_error(sim, error);
    return error[0] + error[1];
}

static void run(perp_sim* sim, int steps)
{
    for (int i = 0; i < steps; ++i) {
        CHECK_OK(perp_sim_step(sim));
    }
}

/* Links of length 1 along x, from the world; the first joint has the world as its b. */
static const char ARM[] =
    "{'step': 0.01, 'gravity': [0,0,-10], 'bodies': ["
    "{'name': 'one', 'mass': 1, 'inertia': [0.1,0.2,0.3], 'position': [0.5,0,0]},"
    "{'name': 'two', 'mass': 1, 'inertia': [0.1,0.2,0.3], 'position': [1.5,0,0]},"
    "{'name': 'three', 'mass': 1, 'inertia': [0.1,0.2,0.3], 'position': [2.5,0,0]}],"
    "'joints': ["
    "{'name': 'base', 'type': 'revolute', 'a': 'one', 'b': 'world', 'at': [0,0,0], 'axis': "
    "[0,0,1]},"
    "{'name': 'elbow', 'type': 'revolute', 'a': 'one', 'b': 'two', 'at': [1,0,0], 'axis': [0,0,1],"
    " 'limits': [-8, 8], 'start': 0.5},"
    "{'name': 'slide', 'type': 'prismatic', 'a': 'two', 'b': 'three', 'at': [2,0,0], 'axis':"
    " [1,0,0]}]}";

TEST(the_bodies_beyond_a_joint_move_with_it)
{
    scene_sim s = scene_sim_quoted("%s", ARM);
    CHECK_OK(perp_sim_set_joint(s.sim, 1, 0.5 + 1.5707963267948966, 2.0));
    CHECK_NEAR(perp_sim_body(s.sim, 0).position[0], 0.5, 0.0); /* before the joint: not a bit */
    CHECK_NEAR(perp_sim_body(s.sim, 1).position[0], 1.0, 1e-15);
    CHECK_NEAR(perp_sim_body(s.sim, 1).position[1], 0.5, 1e-15);
    CHECK_NEAR(perp_sim_body(s.sim, 2).position[1], 1.5, 1e-15);
    CHECK_NEAR(perp_sim_body(s.sim, 2).velocity[0], -3.0, 1e-14); /* rate 2 at 1.5 from the axis */
    CHECK_NEAR(perp_sim_joint(s.sim, 1).coordinate[0], 0.5 + 1.5707963267948966, 1e-15);
    CHECK_NEAR(perp_sim_joint(s.sim, 1).rate[0], 2.0, 1e-14);
    CHECK_NEAR(perp_sim_joint(s.sim, 2).rate[0], 0.0, 1e-14);
    CHECK_AT_MOST(joint_error(s.sim), 1e-15);
    run(s.sim, 10);
    scene_sim_close(&s);
}

/* Its b is the world: a moves, the other way. Coordinates beyond it and rates stay. */
TEST(a_joint_whose_b_stays_moves_its_a)
{
    scene_sim s = scene_sim_quoted("%s", ARM);
    CHECK_OK(perp_sim_set_joint(s.sim, 2, 0.25, 0.5));
    CHECK_OK(perp_sim_set_joint(s.sim, 0, 1.5707963267948966, 1.0));
    CHECK_NEAR(perp_sim_body(s.sim, 0).position[1], -0.5, 1e-15);
    CHECK_NEAR(perp_sim_body(s.sim, 2).position[1], -2.75, 1e-15);
    CHECK_NEAR(perp_sim_body(s.sim, 0).angular_velocity[2], -1.0, 1e-15);
    const double coordinate[3] = {1.5707963267948966, 0.5, 0.25}, rate[3] = {1.0, 0.0, 0.5};
    for (int i = 0; i < 3; ++i) {
        CHECK_NEAR(perp_sim_joint(s.sim, i).coordinate[0], coordinate[i], 1e-14);
        CHECK_NEAR(perp_sim_joint(s.sim, i).rate[0], rate[i], 1e-14);
    }
    CHECK_AT_MOST(joint_error(s.sim), 1e-14);
    run(s.sim, 3);
    scene_sim_close(&s);
}

TEST(angles_keep_their_turns)
{
    scene_sim s = scene_sim_quoted("%s", ARM);
    const double turns[] = {7.5, -7.5, 3.1, -3.2, 0.0};
    for (int i = 0; i < 5; ++i) {
        CHECK_OK(perp_sim_set_joint(s.sim, 1, turns[i], 0.0));
        CHECK_NEAR(perp_sim_joint(s.sim, 1).coordinate[0], turns[i], 1e-13);
        run(s.sim, 1);
        CHECK_NEAR(perp_sim_joint(s.sim, 1).coordinate[0], turns[i], 0.01);
    }
    scene_sim_close(&s);
}

TEST(a_coordinate_that_cannot_be_set_is_refused)
{
    scene_sim s = scene_sim_quoted("%s", ARM);
    CHECK_EQ_INT(perp_sim_set_joint(s.sim, 1, 9.0, 0.0), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(s.context), "limits [-8, 8] of 'elbow'");
    CHECK_EQ_INT(perp_sim_set_joint(s.sim, 3, 0.0, 0.0), PERP_ERROR_INPUT);
    CHECK_EQ_INT(perp_sim_set_joint(s.sim, 1, INFINITY, 0.0), PERP_ERROR_INPUT);
    const perp_joint_setting twice[2] = {perp_joint_setting_default(1),
                                         perp_joint_setting_default(1)};
    CHECK_EQ_INT(perp_sim_set_joints(s.sim, twice, 2), PERP_ERROR_INPUT);
    CHECK_NEAR(perp_sim_body(s.sim, 2).position[0], 2.5, 0.0);
    scene_sim_close(&s);
}

/* Every type with coordinates, from either side, in a free mechanism: the other body stays. */
TEST(all_types_read_back_what_was_set)
{
    static const struct {
        const char* type;
        int32_t coordinates;
    } types[] = {
        {"revolute", 1}, {"prismatic", 1}, {"cylindrical", 2}, {"universal", 2}, {"planar", 3}};
    for (int t = 0; t < 5; ++t) {
        for (int side = 0; side < 2; ++side) {
            scene_sim s = scene_sim_quoted("{'step': 0.01, 'bodies': ["
                                           "{'name': 'p', 'type': '%s', 'mass': 1, 'inertia': "
                                           "[0.1,0.2,0.3], 'position': [0.1,0.2,0.3],"
                                           " 'axis_angle': [1,2,3,0.4]},"
                                           "{'name': 'c', 'type': '%s', 'mass': 2, 'inertia': "
                                           "[0.3,0.2,0.3], 'position': [1,0.4,0.2],"
                                           " 'axis_angle': [3,1,2,-0.7]}],"
                                           "'joints': [{'name': 'j', 'type': '%s', 'a': 'p', 'b': "
                                           "'c', 'at': [0.5,0.5,0.1], 'axis':"
                                           " [1,0.5,-0.2]}]}",
                                           side == 0 ? "static" : "dynamic",
                                           side == 0 ? "dynamic" : "static", types[t].type);
            if (s.sim == NULL) {
                TEST_PRINT("%s", s.error);
            }
            perp_joint_setting setting = perp_joint_setting_default(0);
            for (int k = 0; k < types[t].coordinates; ++k) {
                setting.coordinate[k] = 0.3 - 0.5 * k;
                setting.rate[k] = 0.7 + 0.4 * k;
            }
            CHECK_OK(perp_sim_set_joints(s.sim, &setting, 1));
            const perp_joint_state state = perp_sim_joint(s.sim, 0);
            for (int k = 0; k < types[t].coordinates; ++k) {
                CHECK_NEAR(state.coordinate[k], setting.coordinate[k], 1e-14);
                CHECK_NEAR(state.rate[k], setting.rate[k], 1e-14);
            }
            CHECK_AT_MOST(joint_error(s.sim), 1e-14);
            /* and a second time, from there: one coordinate, the others as they are */
            perp_joint_setting again = perp_joint_setting_default(0);
            again.coordinate[0] = -0.8;
            CHECK_OK(perp_sim_set_joints(s.sim, &again, 1));
            CHECK_NEAR(perp_sim_joint(s.sim, 0).coordinate[0], -0.8, 1e-14);
            for (int k = 1; k < types[t].coordinates; ++k) {
                CHECK_NEAR(perp_sim_joint(s.sim, 0).coordinate[k], setting.coordinate[k], 1e-14);
            }
            for (int k = 0; k < types[t].coordinates; ++k) {
                CHECK_NEAR(perp_sim_joint(s.sim, 0).rate[k], setting.rate[k], 1e-13);
            }
            /* the rates are those of the coordinates: a short step moves them by h times the rate */
            run(s.sim, 1);
            for (int k = 0; k < types[t].coordinates; ++k) {
                const double then = k == 0 ? -0.8 : setting.coordinate[k];
                CHECK_NEAR(perp_sim_joint(s.sim, 0).coordinate[k], then + 0.01 * setting.rate[k],
                           3e-3);
            }
            scene_sim_close(&s);
        }
    }
}

TEST(a_planar_arm_is_set_too)
{
    scene_sim s = scene_sim_quoted(
        "{'dimension': 2, 'step': 0.01, 'bodies': ["
        "{'name': 'one', 'mass': 1, 'inertia': 0.1, 'position': [0.5,0], 'angle': 0.2},"
        "{'name': 'two', 'mass': 1, 'inertia': 0.1, 'position': [1.5,0], 'angle': 7}],"
        "'joints': [{'name': 'base', 'type': 'revolute', 'a': 'world', 'b': 'one', 'at': [0,0]},"
        "{'name': 'slide', 'type': 'prismatic', 'a': 'two', 'b': 'one', 'at': [1,0], 'axis': "
        "[1,1]}]}");
    const perp_joint_setting set[2] = {{0, {1.5707963267948966, NAN, NAN}, {2, NAN, NAN}},
                                       {1, {0.3, NAN, NAN}, {0.1, NAN, NAN}}};
    CHECK_OK(perp_sim_set_joints(s.sim, set, 2));
    CHECK_NEAR(perp_sim_joint(s.sim, 0).coordinate[0], 1.5707963267948966, 1e-14);
    CHECK_NEAR(perp_sim_joint(s.sim, 1).coordinate[0], 0.3, 1e-14);
    CHECK_NEAR(perp_sim_joint(s.sim, 0).rate[0], 2.0, 1e-14);
    CHECK_NEAR(perp_sim_joint(s.sim, 1).rate[0], 0.1, 1e-14);
    CHECK_NEAR(perp_sim_body(s.sim, 1).angle, 7 + 1.5707963267948966, 1e-14);
    CHECK_AT_MOST(joint_error(s.sim), 1e-14);
    run(s.sim, 3);
    scene_sim_close(&s);
}

/* A parallelogram: base and two cranks of length 1, coupler of length 2. */
static const char FOUR_BAR[] =
    "{'dimension': 2, 'step': 0.01, 'bodies': ["
    "{'name': 'left', 'mass': 1, 'inertia': 0.1, 'position': [0,0.5]},"
    "{'name': 'coupler', 'mass': 1, 'inertia': 0.1, 'position': [1,1]},"
    "{'name': 'right', 'mass': 1, 'inertia': 0.1, 'position': [2,0.5]}],"
    "'joints': [{'name': 'a', 'type': 'revolute', 'a': 'world', 'b': 'left', 'at': [0,0]},"
    "{'name': 'b', 'type': 'revolute', 'a': 'left', 'b': 'coupler', 'at': [0,1]},"
    "{'name': 'c', 'type': 'revolute', 'a': 'coupler', 'b': 'right', 'at': [2,1]},"
    "{'name': 'd', 'type': 'revolute', 'a': 'world', 'b': 'right', 'at': [2,0]}]}";

TEST(a_closed_loop_is_set_only_where_it_closes)
{
    scene_sim s = scene_sim_quoted("%s", FOUR_BAR);
    CHECK_EQ_INT(perp_sim_set_joint(s.sim, 0, 0.3, 0.0), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(s.context), "closes a loop");
    CHECK_NEAR(perp_sim_body(s.sim, 0).position[0], 0.0, 0.0);
    /* all four, as a parallelogram has them */
    perp_joint_setting set[4];
    for (int i = 0; i < 4; ++i) {
        set[i] = perp_joint_setting_default(i);
        set[i].coordinate[0] = i == 1 ? -0.3 : 0.3;
        set[i].rate[0] = i == 1 ? -1.0 : 1.0;
    }
    CHECK_OK(perp_sim_set_joints(s.sim, set, 4));
    CHECK_NEAR(perp_sim_body(s.sim, 1).position[0], 1 - sin(0.3), 1e-14);
    CHECK_AT_MOST(joint_error(s.sim), 1e-14);
    for (int i = 0; i < 4; ++i) {
        CHECK_NEAR(perp_sim_joint(s.sim, i).coordinate[0], set[i].coordinate[0], 1e-14);
        CHECK_NEAR(perp_sim_joint(s.sim, i).rate[0], set[i].rate[0], 1e-14);
    }
    run(s.sim, 5);
    /* one of them wrong, in the joint that the tree leaves out */
    for (int i = 0; i < 4; ++i) {
        set[i].coordinate[0] = i == 1 ? -0.3 : i == 3 ? 0.4 : 0.3;
    }
    CHECK_EQ_INT(perp_sim_set_joints(s.sim, set, 4), PERP_ERROR_INPUT);
    scene_sim_close(&s);
}

/* Two hinges on one axis repeat each other: the loop stays closed when one of them turns. */
TEST(a_door_on_two_hinges_opens)
{
    scene_sim s = scene_sim_quoted("{'step': 0.01, 'bodies': [{'name': 'door', 'mass': 1, "
                                   "'inertia': [0.1,0.1,0.1], 'position':"
                                   " [0.5,0,1]}], 'joints': [{'name': 'low', 'type': 'revolute', "
                                   "'a': 'world', 'b': 'door', 'at':"
                                   " [0,0,0], 'axis': [0,0,1]}, {'name': 'high', 'type': "
                                   "'revolute', 'a': 'world', 'b': 'door',"
                                   " 'at': [0,0,2], 'axis': [0,0,1]}]}");
    CHECK_OK(perp_sim_set_joint(s.sim, 1, 1.0, 0.0));
    CHECK_NEAR(perp_sim_joint(s.sim, 0).coordinate[0], 1.0, 1e-14);
    CHECK_AT_MOST(joint_error(s.sim), 1e-14);
    run(s.sim, 3);
    scene_sim_close(&s);
}

TEST(a_body_torn_off_its_joint_is_refused_by_the_next_step)
{
    scene_sim s = scene_sim_quoted("%s", ARM);
    const double away[3] = {5, 0, 0};
    CHECK_OK(perp_sim_set_body_pose(s.sim, 2, away, NULL)); /* along the slide: nothing is torn */
    run(s.sim, 1);
    CHECK_NEAR(perp_sim_joint(s.sim, 2).coordinate[0], 2.5, 1e-3);
    CHECK_OK(perp_sim_set_body_pose(s.sim, 1, away, NULL));
    CHECK_EQ_INT(perp_sim_step(s.sim), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(s.context), "perp_sim_set_joints");
    CHECK_OK(perp_sim_reset(s.sim));
    run(s.sim, 3);
    scene_sim_close(&s);
}

/* The body a of the first joint that is named, whatever the order of the bodies; momentum is what it was not. */
TEST(of_a_free_mechanism_the_first_body_stays)
{
    scene_sim s = scene_sim_quoted(
        "{'step': 0.01, 'bodies': ["
        "{'name': 'three', 'mass': 1, 'inertia': [0.1,0.2,0.3], 'position': [2.5,0,0]},"
        "{'name': 'one', 'mass': 1, 'inertia': [0.1,0.2,0.3], 'position': [0.5,0,0], 'velocity': "
        "[1,2,3]},"
        "{'name': 'two', 'mass': 1, 'inertia': [0.1,0.2,0.3], 'position': [1.5,0,0], 'velocity': "
        "[1,2,3]},"
        "{'name': 'apart', 'mass': 1, 'inertia': [0.1,0.2,0.3], 'position': [9,9,9]}], 'joints': ["
        "{'name': 'far', 'type': 'revolute', 'a': 'two', 'b': 'three', 'at': [2,0,0], 'axis': "
        "[0,0,1]},"
        "{'name': 'near', 'type': 'revolute', 'a': 'one', 'b': 'two', 'at': [1,0,0], 'axis': "
        "[0,0,1]}]}");
    const perp_body_state one = perp_sim_body(s.sim, 1), two = perp_sim_body(s.sim, 2),
                          apart = perp_sim_body(s.sim, 3);
    CHECK_OK(perp_sim_set_joint(s.sim, 1, 1.0, NAN)); /* near: one stays */
    perp_body_state now = perp_sim_body(s.sim, 1);
    CHECK(memcmp(&now, &one, sizeof now) == 0);
    now = perp_sim_body(s.sim, 3);
    CHECK(memcmp(&now, &apart, sizeof now) == 0);
    CHECK_NEAR(perp_sim_joint(s.sim, 0).coordinate[0], 0.0, 1e-15);
    CHECK_NEAR(perp_sim_body(s.sim, 2).velocity[1], 2.0, 1e-14);
    CHECK_OK(perp_sim_reset(s.sim));
    CHECK_OK(perp_sim_set_joint(s.sim, 0, 1.0, NAN)); /* far: two stays, and one with it */
    now = perp_sim_body(s.sim, 2);
    CHECK(memcmp(&now, &two, sizeof now) == 0);
    now = perp_sim_body(s.sim, 1);
    CHECK(memcmp(&now, &one, sizeof now) == 0);
    scene_sim_close(&s);
}

/* Every type, from either side, with the body set apart in place and in orientation; beyond it a
 * chain of joints that are not given, which the same body's pose has opened too. */
TEST(a_joint_whose_bodies_were_set_apart_is_closed)
{
    static const char* const types[] = {"revolute", "prismatic", "cylindrical", "universal",
                                        "planar"};
    static const char* const beyond[] = {"revolute",  "prismatic", "cylindrical", "universal",
                                         "spherical", "fixed",     "planar"};
    const double turned[4] = {0.9, 0.1, -0.3, 0.2}, away[3] = {3, -1, 2};
    for (int t = 0; t < 5 * 2 * 7; ++t) {
        const bool turn_round = t / 5 % 2 == 1;
        scene_sim s = scene_sim_quoted(
            "{'step': 0.01, 'bodies': ["
            "{'name': 'p', 'mass': 1, 'type': 'static', 'position': [0.1,0.2,0.3], 'axis_angle': "
            "[1,2,3,0.4]},"
            "{'name': 'c', 'mass': 2, 'inertia': [0.3,0.2,0.3], 'position': [1,0.4,0.2],"
            " 'axis_angle': [3,1,2,-0.7]},"
            "{'name': 'd', 'mass': 2, 'inertia': [0.3,0.2,0.3], 'position': [2,0.4,0.2]}],"
            "'joints': [{'name': 'j', 'type': '%s', 'a': '%s', 'b': '%s', 'at': [0.5,0.5,0.1]%s},"
            "{'name': 'k', 'type': '%s', 'a': '%s', 'b': '%s', 'at': [1.5,0.5,0.1]%s}]}",
            types[t % 5], turn_round ? "c" : "p", turn_round ? "p" : "c", ", 'axis': [1,0.5,-0.2]",
            beyond[t / 10], turn_round ? "d" : "c", turn_round ? "c" : "d",
            t / 10 == 4 || t / 10 == 5 ? "" : ", 'axis': [1,0.5,-0.2]");
        if (s.sim == NULL) {
            TEST_PRINT("%s", s.error);
        }
        CHECK_OK(perp_sim_set_body_pose(s.sim, 1, away, turned));
        CHECK(joint_error(s.sim) > 0.1);
        const perp_joint_state before = perp_sim_joint(s.sim, 0), after = perp_sim_joint(s.sim, 1);
        perp_joint_setting setting = perp_joint_setting_default(0);
        setting.coordinate[0] = 0.3;
        setting.rate[0] = 0.7;
        CHECK_OK(perp_sim_set_joints(s.sim, &setting, 1));
        CHECK_AT_MOST(joint_error(s.sim), 1e-13);
        CHECK_NEAR(perp_sim_joint(s.sim, 0).coordinate[0], 0.3, 1e-13);
        CHECK_NEAR(perp_sim_joint(s.sim, 0).rate[0], 0.7, 1e-13);
        for (int k = 0; k < 3; ++k) { /* what was not given reads as it did */
            CHECK(k == 0 ||
                  fabs(perp_sim_joint(s.sim, 0).coordinate[k] - before.coordinate[k]) <= 1e-13);
            CHECK_NEAR(perp_sim_joint(s.sim, 1).coordinate[k], after.coordinate[k], 1e-13);
        }
        CHECK_OK(perp_sim_check_state(s.sim));
        run(s.sim, 2);
        scene_sim_close(&s);
    }
}

TEST(a_planar_joint_whose_bodies_were_set_apart_is_closed)
{
    static const char* const types[] = {"revolute", "prismatic", "fixed"};
    const double away[3] = {3, -1, 0}, turned[4] = {cos(0.4), 0, 0, sin(0.4)};
    for (int t = 0; t < 2 * 3 * 2; ++t) {
        const bool turn_round = t / 6 == 1;
        scene_sim s = scene_sim_quoted(
            "{'dimension': 2, 'step': 0.01, 'bodies': ["
            "{'name': 'one', 'mass': 1, 'inertia': 0.1, 'position': [0.5,0], 'angle': 0.2},"
            "{'name': 'two', 'mass': 1, 'inertia': 0.1, 'position': [1.5,0], 'angle': 7}],"
            "'joints': [{'name': 'j', 'type': '%s', 'a': '%s', 'b': '%s', 'at': [0,0]%s,"
            " 'start': 0.1},"
            "{'name': 'k', 'type': '%s', 'a': '%s', 'b': '%s', 'at': [1,0]%s}]}",
            types[t % 2], turn_round ? "one" : "world", turn_round ? "world" : "one",
            t % 2 == 1 ? ", 'axis': [1,1]" : "", types[t / 2 % 3], turn_round ? "two" : "one",
            turn_round ? "one" : "two", t / 2 % 3 == 1 ? ", 'axis': [1,1]" : "");
        if (s.sim == NULL) {
            TEST_PRINT("%s", s.error);
        }
        CHECK_OK(perp_sim_set_body_pose(s.sim, 0, away, turned));
        CHECK(joint_error(s.sim) > 0.1);
        CHECK_OK(perp_sim_set_joint(s.sim, 0, -0.5, 0.0));
        CHECK_AT_MOST(joint_error(s.sim), 1e-14);
        CHECK_NEAR(perp_sim_joint(s.sim, 0).coordinate[0], -0.5, 1e-14);
        CHECK_OK(perp_sim_check_state(s.sim));
        run(s.sim, 2);
        scene_sim_close(&s);
    }
}
