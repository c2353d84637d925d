/* Bodies without mass between joints: joints in series are the joint of several freedoms that they make up. */
#include <math.h>
#include <string.h>

#include "perp/robot.h"
#include "perp_test.h"
#include "support/scene_sim.h"

#define BODY                                                                                       \
    "{'name':'b','mass':2,'inertia':[0.11,0.07,0.05],'position':[0.3,0.1,-0.2],"                   \
    "'velocity':[%s],'angular_velocity':[%s]}"
#define FRAME(n) "{'name':'" n "','massless':true,'position':[0,0,0]}"
#define LINK(n, type, a, b, axis)                                                                  \
    "{'name':'" n "','type':'" type "','a':'" a "','b':'" b "','at':[0,0,0],'axis':[" axis "]}"
#define SCENE(bodies, joints)                                                                      \
    "{'gravity':[0,0,-9.81],'step':0.002,'duration':0.4,'tolerance':1e-12,"                        \
    "'joint_correction':true,'joint_direction':'start','bodies':[" bodies "],'joints':[" joints    \
    "]}"

typedef struct twin {
    const char *one, *several;
    const char *velocity, *spin;
} twin;

static const twin twins[] = {
    {SCENE(BODY, "{'name':'j','type':'spherical','a':'world','b':'b','at':[0,0,0]}"),
     SCENE(BODY "," FRAME("f") "," FRAME("g"),
           LINK("j1", "revolute", "world", "f", "1,0,0") "," LINK(
               "j2", "revolute", "f", "g", "0,1,0") "," LINK("j3", "revolute", "g", "b", "0,0,1")),
     "-0.1,-0.02,-0.16", "0.5,0.7,-0.4"},
    {SCENE(BODY, "{'name':'j','type':'universal','a':'world','b':'b','at':[0,0,0],'axis':[0,1,0],"
                 "'axis2':[1,0,0]}"),
     SCENE(BODY "," FRAME("f"), LINK("j1", "revolute", "world", "f",
                                     "0,1,0") "," LINK("j2", "revolute", "f", "b", "1,0,0")),
     "0,0,0", "0,0,0"},
    {SCENE(BODY, "{'name':'j','type':'planar','a':'world','b':'b','at':[0,0,0],'axis':[0,1,0]}"),
     SCENE(BODY "," FRAME("f") "," FRAME("g"),
           LINK("j1", "prismatic", "world", "f", "1,0,0") "," LINK(
               "j2", "prismatic", "f", "g", "0,0,1") "," LINK("j3", "revolute", "g", "b", "0,1,0")),
     "1,0,0.5", "0,2,0"},
    {SCENE(BODY, "{'name':'j','type':'cylindrical','a':'world','b':'b','at':[0,0,0],"
                 "'axis':[1,0,0]}"),
     /* the chain stands the other way round: the frame is a of both joints */
     SCENE(BODY "," FRAME("f"), LINK("j1", "prismatic", "f", "world",
                                     "1,0,0") "," LINK("j2", "revolute", "f", "b", "1,0,0")),
     "1,0,0", "0,0,0"},
};

TEST(joints_in_series_are_the_joint_that_they_make_up)
{
    for (size_t i = 0; i < sizeof twins / sizeof twins[0]; ++i) {
        scene_sim a = scene_sim_open(twins[i].one, twins[i].velocity, twins[i].spin);
        scene_sim b = scene_sim_open(twins[i].several, twins[i].velocity, twins[i].spin);
        REQUIRE(a.sim != NULL && b.sim != NULL);
        while (!perp_sim_finished(a.sim)) {
            REQUIRE(perp_sim_step(a.sim) == PERP_OK);
            REQUIRE(perp_sim_step(b.sim) == PERP_OK);
            const perp_ledger l = perp_sim_step_info(b.sim).ledger;
            CHECK_AT_MOST(fabs(l.unexplained), 1e-13 * (1.0 + l.magnitude));
        }
        const perp_body_state x = scene_sim_body(&a, "b"), y = scene_sim_body(&b, "b");
        for (int k = 0; k < 3; ++k) {
            CHECK_NEAR(x.position[k], y.position[k], 1e-12);
            CHECK_NEAR(x.velocity[k], y.velocity[k], 1e-11);
            CHECK_NEAR(x.angular_velocity[k], y.angular_velocity[k], 1e-11);
        }
        scene_sim_close(&a);
        scene_sim_close(&b);
    }
}

/* Two bodies: the chain takes mass of both ends. The reaction is the same on both sides of a frame. */
TEST(a_chain_between_two_bodies_is_a_ball_joint)
{
    static const char* const joints[] = {
        "{'name':'j','type':'spherical','a':'a','b':'b','at':[0,0,0]}",
        LINK("j1", "revolute", "a", "f", "1,0,0") "," LINK(
            "j2", "revolute", "f", "g", "0,1,0") "," LINK("j3", "revolute", "g", "b", "0,0,1")};
    scene_sim s[2];
    for (int i = 0; i < 2; ++i) {
        s[i] = scene_sim_open(SCENE("{'name':'a','mass':3,'inertia':[0.2,0.1,0.15],"
                                    "'position':[-0.2,0,0.1]}," BODY "%s",
                                    "%s"),
                              "-0.1,-0.02,-0.16", "0.5,0.7,-0.4",
                              i == 0 ? "" : "," FRAME("f") "," FRAME("g"), joints[i]);
        REQUIRE(s[i].sim != NULL);
        CHECK_AT_MOST(scene_sim_run(&s[i]), 1e-12);
    }
    const perp_body_state x = scene_sim_body(&s[0], "a"), y = scene_sim_body(&s[1], "a");
    for (int k = 0; k < 3; ++k) {
        CHECK_NEAR(x.position[k], y.position[k], 1e-12);
        CHECK_NEAR(x.angular_velocity[k], y.angular_velocity[k], 1e-11);
    }
    /* the points of all joints are held by the same force */
    const perp_joint_state ball = perp_sim_joint(s[0].sim, 0);
    for (int j = 0; j < 3; ++j) {
        const perp_joint_state own = perp_sim_joint(s[1].sim, j);
        for (int k = 0; k < 3; ++k) {
            CHECK_NEAR(own.impulse[k], ball.impulse[k], 1e-10);
        }
    }
    scene_sim_close(&s[0]);
    scene_sim_close(&s[1]);
}

/* A universal joint with armatures: M is that of the rotors and of the body alone, from the geometry. */
TEST(the_mass_matrix_has_no_part_of_the_frames)
{
    scene_sim s = scene_sim_open(
        "{'bodies':[{'name':'b','mass':2,'inertia':[0.11,0.07,0.05],'position':[0.3,0,0]}," FRAME(
            "f") "],'joints':[{'name':'z','type':'revolute','a':'world','b':'f','at':[0,0,0],"
                 "'axis':[0,0,1],'armature':0.4},{'name':'y','type':'revolute','a':'f','b':'b',"
                 "'at':[0,0,0],'axis':[0,1,0]}]}");
    REQUIRE(s.sim != NULL);
    perp_robot* robot = NULL;
    REQUIRE(perp_robot_create(s.context, s.sim, &robot) == PERP_OK);
    double M[4];
    perp_robot_mass_matrix(robot, M);
    const double yes = 2 * 0.3 * 0.3;
    CHECK_NEAR(M[0], 0.05 + yes + 0.4, 1e-15);
    CHECK_NEAR(M[3], 0.07 + yes, 1e-15);
    CHECK_NEAR(M[1], 0.0, 1e-15);
    perp_robot_destroy(robot);
    scene_sim_close(&s);
}

TEST(frames_that_nothing_holds_are_refused)
{
    static const struct {
        const char *text, *why;
    } bad[] = {
        {"{'bodies':[" FRAME("f") "]}", "it needs two joints"},
        {"{'bodies':[" FRAME("f") "],'joints':[" LINK("j", "revolute", "world", "f", "1,0,0") "]}",
         "it needs two joints"},
        {"{'bodies':[{'name':'f','massless':true,'mass':1}]}", "has no mass"},
        {"{'bodies':[{'name':'f','massless':true,'shapes':[{'type':'sphere','radius':1}]}]}",
         "has no shapes"},
        {"{'bodies':[{'name':'f','type':'static','massless':true}]}", "only a dynamic body"},
        {"{'bodies':[{'name':'g','type':'static'}," FRAME("f") "],'joints':[" LINK(
             "j", "revolute", "world", "f", "1,0,0") "," LINK("k", "revolute", "f", "g",
                                                              "0,1,0") "]}",
         "no body with mass"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        scene_sim s = scene_sim_open("%s", bad[i].text);
        CHECK(s.sim == NULL);
        CHECK_CONTAINS(s.error, bad[i].why);
        scene_sim_close(&s);
    }
}
