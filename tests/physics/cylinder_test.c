/* tests/physics/cylinder_test.c - a cylinder stands, lies, rolls, slides and topples. */
#include "perp_test.h"
#include "support/scene_sim.h"

#define WORLD(more) "{'gravity':[0,0,-9.81],'step':0.01,'friction':{'default':0.5}," more
#define FLOOR                                                                                      \
    "{'name':'floor','type':'static','shapes':[{'type':'plane','normal':[0,0,1]}]"                 \
    "}"
#define CYLINDER "'shapes':[{'type':'cylinder','radius':0.2,'length':1}]"

TEST(a_standing_cylinder_stands_still)
{
    scene_sim s =
        scene_sim_open(WORLD("'duration':5,'bodies':[" FLOOR
                             ",{'name':'c','density':1,'position':[1,2,0.5]," CYLINDER "}]}"));
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-10);
    const perp_body_state c = scene_sim_body(&s, "c");
    const double moved = fabs(c.position[0] - 1) + fabs(c.position[1] - 2) +
                         fabs(c.position[2] - 0.5) + fabs(c.orientation[1]) +
                         fabs(c.orientation[2]);
    TEST_PRINT("moved by %.2g in 5 s", moved);
    CHECK_AT_MOST(moved, 1e-11);
    scene_sim_close(&s);
}

TEST(a_lying_cylinder_lies_still_and_a_rolling_one_rolls_on)
{
    scene_sim s = scene_sim_open(WORLD(
        "'duration':5,'bodies':[" FLOOR ",{'name':'lies','density':1,'position':[0,5,0.2],"
        "'axis_angle':[1,0,0,1.5707963267948966],'ignores':['rolls']," CYLINDER "},"
        "{'name':'rolls','density':1,'position':[0,0,0.2],'velocity':[1,0,0],"
        "'angular_velocity':[0,5,0],'axis_angle':[1,0,0,1.5707963267948966]," CYLINDER "}]}"));
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-10);
    const perp_body_state lies = scene_sim_body(&s, "lies"), rolls = scene_sim_body(&s, "rolls");
    CHECK_NEAR(lies.position[0], 0, 1e-11);
    CHECK_NEAR(lies.position[1], 5, 1e-11);
    CHECK_NEAR(lies.position[2], 0.2, 1e-11);
    TEST_PRINT("rolled to %.15g, speed %.15g", rolls.position[0], rolls.velocity[0]);
    CHECK_NEAR(rolls.position[0], 5, 1e-9);
    CHECK_NEAR(rolls.position[1], 0, 1e-10);
    CHECK_NEAR(rolls.velocity[0], 1, 1e-10);
    CHECK_NEAR(rolls.angular_velocity[1], 5, 1e-9);
    scene_sim_close(&s);
}

/* Down a slope without slipping a solid cylinder gains 2/3 g sin(angle). The psi/h term has the
 * linear gap of each step: the acceleration is exact from the first full step on. */
TEST(a_cylinder_rolls_down_a_slope_with_two_thirds_of_gravity)
{
    const double angle = 0.3;
    scene_sim s =
        scene_sim_open(WORLD("'duration':1,'bodies':[{'name':'floor','type':'static','shapes':[{"
                             "'type':'plane','normal':[%.17g,0,%.17g]}]},"
                             "{'name':'c','density':1,'position':[%.17g,0,%.17g],"
                             "'axis_angle':[1,0,0,1.5707963267948966]," CYLINDER "}]}"),
                       sin(angle), cos(angle), 0.2 * sin(angle), 0.2 * cos(angle));
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-10);
    const perp_body_state c = scene_sim_body(&s, "c");
    const double speed = hypot(c.velocity[0], c.velocity[2]);
    CHECK_NEAR(speed, 2.0 / 3.0 * 9.81 * sin(angle), 1e-9);
    CHECK_NEAR(c.angular_velocity[1], speed / 0.2, 1e-8);
    scene_sim_close(&s);
}

TEST(a_tilted_cylinder_topples_beyond_the_angle_of_its_diagonal_and_falls_back_before_it)
{
    const double critical = atan2(0.2, 0.5);
    for (int k = 0; k < 2; ++k) {
        const double tilt = critical + (k == 0 ? -0.05 : 0.05);
        const double height = 0.5 * cos(tilt) + 0.2 * sin(tilt);
        scene_sim s = scene_sim_open(WORLD("'duration':3,'bodies':[" FLOOR
                                           ",{'name':'c','density':1,'position':[0,0,%.17g],"
                                           "'axis_angle':[1,1,0,%.17g]," CYLINDER "}]}"),
                                     height, tilt);
        REQUIRE(s.sim != NULL);
        CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
        const perp_body_state c = scene_sim_body(&s, "c");
        CHECK_NEAR(c.position[2], k == 0 ? 0.5 : 0.2, 1e-6);
        scene_sim_close(&s);
    }
}

/* On a slope it tips over the polygon of its rim points: at 22.5 degrees between two of them the
 * lever is r cos(22.5 deg), at a point it is r. */
TEST(on_a_slope_a_cylinder_stands_below_the_angle_at_which_it_tips_in_any_direction)
{
    for (int k = 0; k < 8; ++k) {
        const double azimuth = 0.39269908169872414 * k;
        for (int over = 0; over < 2; ++over) {
            const double angle =
                over ? atan2(0.2, 0.5) + 0.01 : atan2(0.2 * cos(0.3927), 0.5) - 0.01;
            scene_sim s =
                scene_sim_open(WORLD("'duration':1,'bodies':[{'name':'floor','type':'static',"
                                     "'axis_angle':[0,1,0,%.17g],"
                                     "'shapes':[{'type':'plane','normal':[0,0,1]}]},"
                                     "{'name':'c','density':1,'position':[%.17g,0,%.17g],"
                                     "'axis_angle':[0,1,0,%.17g],'shapes':[{'type':'cylinder',"
                                     "'radius':0.2,'length':1,'axis_angle':[0,0,1,%.17g]}]}]}"),
                               angle, 0.5 * sin(angle), 0.5 * cos(angle), angle, azimuth);
            REQUIRE(s.sim != NULL);
            CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
            const perp_body_state c = scene_sim_body(&s, "c");
            const double moved = fabs(c.position[2] - 0.5 * cos(angle));
            if (over) {
                CHECK_AT_LEAST(moved, 1e-3);
            } else {
                CHECK_AT_MOST(moved, 1e-10);
            }
            scene_sim_close(&s);
        }
    }
}

TEST(a_ball_rests_on_a_standing_cylinder_and_a_capsule_across_it)
{
    scene_sim s =
        scene_sim_open(WORLD("'duration':2,'bodies':[" FLOOR
                             ",{'name':'post','density':1,'position':[0,0,0.5]," CYLINDER "},"
                             "{'name':'ball','density':1,'position':[0.05,0,1.1],"
                             "'shapes':[{'type':'sphere','radius':0.1}]},"
                             "{'name':'pillar','type':'static','position':[3,0,0.5],'ignores':["
                             "'post']," CYLINDER "},"
                             "{'name':'rod','density':1,'position':[3.05,0,1.05],"
                             "'axis_angle':[0,1,0,1.5707963267948966],"
                             "'shapes':[{'type':'capsule','radius':0.05,'length':1}]}]}"));
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
    CHECK_NEAR(scene_sim_body(&s, "ball").position[2], 1.1, 1e-10);
    CHECK_NEAR(scene_sim_body(&s, "ball").position[0], 0.05, 1e-10);
    CHECK_NEAR(scene_sim_body(&s, "rod").position[2], 1.05, 1e-10);
    CHECK_NEAR(scene_sim_body(&s, "rod").position[0], 3.05, 1e-10);
    scene_sim_close(&s);
}

TEST(a_picture_changes_nothing)
{
    perp_body_state end[2];
    for (int k = 0; k < 2; ++k) {
        scene_sim s = scene_sim_open(
            WORLD("'duration':1,'bodies':[" FLOOR
                  ",{'name':'b','density':1,'position':[0,0,0.6],'velocity':[1,0,0],"
                  "'shapes':[{'type':'box','size':[1,1,1]}%s]}]}"),
            k == 0 ? ""
                   : ",{'type':'sphere','radius':3,'visual':true},{'type':'cylinder',"
                     "'radius':2,'length':3,'visual':true}");
        REQUIRE(s.sim != NULL);
        CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
        end[k] = scene_sim_body(&s, "b");
        scene_sim_close(&s);
    }
    CHECK(memcmp(&end[0], &end[1], sizeof end[0]) == 0);
}
