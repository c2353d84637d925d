/* tests/physics/polyhedra_rest_test.c - polyhedra, cylinders and cut meshes rest on each other; what
 * they share is measured. */
#include "perp_test.h"
#include "support/scene_sim.h"

#define WORLD(more) "{'gravity':[0,0,-9.81],'step':0.01,'friction':{'default':0.5}," more
#define TABLE                                                                                      \
    "{'name':'table','type':'static','shapes':[{'type':'box','size':[8,8,1],"                      \
    "'position':[0,0,-0.5]}]}"
#define CYLINDER "'shapes':[{'type':'cylinder','radius':0.2,'length':1}]"

static void check_still(const scene_sim* s, const char* name, double x, double y, double z,
                        double tolerance)
{
    const perp_body_state b = scene_sim_body(s, name);
    CHECK_NEAR(b.position[0], x, tolerance);
    CHECK_NEAR(b.position[1], y, tolerance);
    CHECK_NEAR(b.position[2], z, tolerance);
    for (int i = 0; i < 3; ++i) {
        CHECK_NEAR(b.velocity[i], 0, 1e-9);
        CHECK_NEAR(b.angular_velocity[i], 0, 1e-8);
    }
}

TEST(cylinders_stand_and_lie_on_a_box_and_on_each_other)
{
    scene_sim s = scene_sim_open(
        WORLD("'duration':2,'bodies':[" TABLE
              ",{'name':'stands','density':1,'position':[1,2,0.5]," CYLINDER "},"
              "{'name':'lies','density':1,'position':[-2,0,0.2],"
              "'axis_angle':[1,0,0,1.5707963267948966]," CYLINDER "},"
              "{'name':'upon','density':1,'position':[1,2,1.5]," CYLINDER "},"
              "{'name':'lid','density':1,'position':[1,2,2.05],'shapes':[{'type':"
              "'polyhedron','solid':'prism','sides':5,'radius':0.4,'length':0.1}]}]}"));
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
    check_still(&s, "stands", 1, 2, 0.5, 1e-10);
    check_still(&s, "upon", 1, 2, 1.5, 1e-10);
    check_still(&s, "lid", 1, 2, 2.05, 1e-10);
    check_still(&s, "lies", -2, 0, 0.2, 1e-9);
    scene_sim_close(&s);
}

/* More corners touch than a pair of shapes has room for: those that are kept lie all around the rim. In
 * every model it stood on an arc of it, tipped into the table and was thrown out. */
TEST(a_prism_of_many_sides_lands_flat)
{
    static const char* const contact[] = {"standard", "lnc", "peg"};
    for (int i = 0; i < 3; ++i) {
        scene_sim s =
            scene_sim_open(WORLD("'duration':0.4,'contact':'%s','bodies':[" TABLE
                                 ",{'name':'prism','density':1,'position':[0,0,0.3],'shapes':[{"
                                 "'type':'polyhedron','solid':'prism','sides':300,'radius':0.3,"
                                 "'length':0.2}]}]}"),
                           contact[i]);
        REQUIRE(s.sim != NULL);
        CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
        check_still(&s, "prism", 0, 0, 0.1, 1e-9);
        /* no groups for so many: that peg gave way is told */
        CHECK_EQ_INT(perp_sim_step_info(s.sim).fallbacks, i == 2 ? 1 : 0);
        scene_sim_close(&s);
    }
}

/* An L of two bars lies on the table, a ball in its inner corner, a capsule on top. */
#define ANGLE                                                                                      \
    "{'type':'mesh','decompose':true,'vertices':[[0,0,0],[2,0,0],[2,1,0],[1,1,0],[1,2,0],"         \
    "[0,2,0],[0,0,1],[2,0,1],[2,1,1],[1,1,1],[1,2,1],[0,2,1]],'faces':[[0,5,4,3,2,1],"             \
    "[6,7,8,9,10,11],[0,1,7,6],[1,2,8,7],[2,3,9,8],[3,4,10,9],[4,5,11,10],[5,0,6,11]]}"

static void check_angle(const char* contact)
{
    scene_sim s = scene_sim_open(
        WORLD("'duration':1,'contact':'%s','bodies':[" TABLE
              ",{'name':'angle','density':1,'position':[0,0,0],'shapes':[" ANGLE "]},"
              "{'name':'ball','density':1,'position':[1.3,1.3,0.3],'shapes':[{'type':"
              "'sphere','radius':0.3}]},"
              "{'name':'rod','density':1,'position':[0.7,0.5,1.1],'axis_angle':[0,1,0,"
              "1.5707963267948966],'shapes':[{'type':'capsule','radius':0.1,'length':"
              "0.8}]}]}"),
        contact);
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
    const perp_body_info info =
        perp_model_body_info(perp_scene_model(s.scene), 1); /* one shape to the world */
    CHECK_EQ_INT(info.shape_count, 1);
    CHECK_NEAR(info.mass, 3.0, 1e-14);
    check_still(&s, "ball", 1.3, 1.3, 0.3, 1e-9);
    check_still(&s, "rod", 0.7, 0.5, 1.1, 1e-9);
    double volume = 1.0;
    CHECK_OK(perp_sim_overlap_volume(s.sim, &volume));
    CHECK_AT_MOST(volume, 1e-12);
    scene_sim_close(&s);
}

TEST(a_ball_lies_in_the_inner_corner_of_a_cut_mesh)
{
    check_angle("standard");
    check_angle("peg");
}

/* A ball goes over the edge of a block without the block's faces reaching beyond themselves: it
 * falls freely as soon as it is past, and touches nothing in the air. */
TEST(a_ball_leaves_an_edge_freely)
{
    scene_sim s = scene_sim_open(
        "{'gravity':[0,0,-9.81],'step':0.005,'duration':0.6,'contact':'peg','bodies':["
        "{'name':'block','type':'static','shapes':[{'type':'polyhedron','solid':"
        "'block','size':[2,2,2],'position':[0,0,-1]}]},"
        "{'name':'ball','mass':1,'position':[0.5,0,0.01],'velocity':[2,0,0],'shapes':[{"
        "'type':'particle'}]}]}");
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
    const perp_body_state b = scene_sim_body(&s, "ball");
    CHECK_NEAR(b.velocity[0], 2.0, 1e-9); /* nothing held it back */
    CHECK(b.position[2] < -0.3);
    scene_sim_close(&s);
}

/* The corrective model lets them sink in by what they move in the step: 0.1 each way. */
TEST(what_bodies_share_is_measured)
{
    scene_sim s =
        scene_sim_open("{'duration':0.2,'step':0.2,'contact':'corrective','bodies':["
                       "{'name':'a','type':'static','shapes':[{'type':'box','size':[1,1,1]}]},"
                       "{'name':'b','density':1,'position':[1.1,0.8,0],'velocity':[-1,0,-0.5],"
                       "'shapes':[{'type':'polyhedron','solid':'block','size':[1,1,1]}]},"
                       "{'name':'c','type':'static','shapes':[{'type':'plane','normal':[0,0,1],"
                       "'offset':-0.5}]}]}");
    REQUIRE(s.sim != NULL);
    double volume = 1.0;
    REQUIRE_OK(perp_sim_overlap_volume(s.sim, &volume));
    CHECK_NEAR(volume, 0.0, 0.0);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
    REQUIRE_OK(perp_sim_overlap_volume(s.sim, &volume));
    CHECK_NEAR(volume, 0.1 * 0.2 * 0.9 + 0.1, 1e-14);
    scene_sim_close(&s);
}
