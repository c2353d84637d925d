/* Collisions: momentum, the third law, nothing passes through anything. */
#include "perp_test.h"
#include "support/scene_sim.h"

static void check_kept(const double* a, const double* b, double tolerance)
{
    for (int i = 0; i < 3; ++i) {
        CHECK_NEAR(b[i], a[i], tolerance);
    }
}

TEST(two_bodies_that_collide_keep_their_momentum)
{
    /* off centre, spinning, with friction: linear and angular momentum of the pair */
    scene_sim s =
        scene_sim_open("{'step':0.01,'duration':1,'friction':{'default':0.4},'bodies':["
                       "{'name':'a','density':1,'position':[-1,0,0],'velocity':[3,0.1,0],"
                       "'angular_velocity':[0,0,2],'shapes':[{'type':'sphere','radius':0.5}]},"
                       "{'name':'b','density':3,'position':[1,0.2,0.1],'velocity':[-1,0,0],"
                       "'shapes':[{'type':'box','size':[1,0.8,0.9]}]}]}");
    REQUIRE(s.sim != NULL);
    double P0[3], L0[3], P1[3], L1[3];
    perp_sim_momentum(s.sim, P0, L0);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
    perp_sim_momentum(s.sim, P1, L1);
    TEST_PRINT("change of linear momentum %.2g %.2g %.2g", P1[0] - P0[0], P1[1] - P0[1],
               P1[2] - P0[2]);
    check_kept(P0, P1, 1e-12);
    CHECK(fabs(scene_sim_body(&s, "a").velocity[0] - 3.0) > 0.1); /* they did collide */
    TEST_PRINT("change of angular momentum %.2g %.2g %.2g (arms differ by gap and step)",
               L1[0] - L0[0], L1[1] - L0[1], L1[2] - L0[2]);
    scene_sim_close(&s);
}

TEST(friction_between_two_moving_bodies_obeys_the_third_law)
{
    /* a box dragged along by a plank that slides on a frictionless floor: what one gains the other
     * loses, and in the end they move as one */
    scene_sim s =
        scene_sim_open("{'gravity':[0,0,-9.81],'step':0.01,'duration':2,'friction':{'default':0.3,"
                       "'pairs':[{'a':'floor','b':'plank','mu':0}]},'bodies':["
                       "{'name':'floor','type':'static','shapes':[{'type':'plane',"
                       "'normal':[0,0,1]}]},"
                       "{'name':'plank','mass':2,'position':[0,0,0.05],'velocity':[2,0.5,0],"
                       "'shapes':[{'type':'box','size':[4,4,0.1]}]},"
                       "{'name':'box','mass':1,'position':[0,0,0.2],"
                       "'shapes':[{'type':'box','size':[0.2,0.2,0.2]}]}]}");
    REQUIRE(s.sim != NULL);
    double P0[3], L[3], P1[3];
    perp_sim_momentum(s.sim, P0, L);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
    perp_sim_momentum(s.sim, P1, L);
    CHECK_NEAR(P1[0], P0[0], 1e-12);
    CHECK_NEAR(P1[1], P0[1], 1e-12);
    const perp_body_state plank = scene_sim_body(&s, "plank"), box = scene_sim_body(&s, "box");
    CHECK_NEAR(plank.velocity[0], 4.0 / 3.0, 1e-9);
    CHECK_NEAR(box.velocity[0], 4.0 / 3.0, 1e-9);
    CHECK_NEAR(box.velocity[1], 1.0 / 3.0, 1e-9);
    scene_sim_close(&s);
}

TEST(a_struck_ball_does_not_pass_its_neighbour_within_the_step)
{
    /* B rests a millimetre before C; A strikes B so hard that B would pass C within one step. C's
     * margin is tiny: only the check after the solve can know. */
    scene_sim s = scene_sim_open("{'step':0.01,'duration':0.2,'bodies':["
                                 "{'name':'a','mass':1,'position':[-0.35,0,0],'velocity':[50,0,0],"
                                 "'shapes':[{'type':'sphere','radius':0.1}]},"
                                 "{'name':'b','mass':1,'position':[0,0,0],"
                                 "'shapes':[{'type':'sphere','radius':0.1}]},"
                                 "{'name':'c','mass':1,'position':[0.201,0,0],"
                                 "'shapes':[{'type':'sphere','radius':0.1}]}]}");
    REQUIRE(s.sim != NULL);
    double worst = 0.0, depth = 0.0;
    bool repeated = false;
    while (!perp_sim_finished(s.sim)) {
        REQUIRE_OK(perp_sim_step(s.sim));
        REQUIRE_OK(perp_sim_penetration(s.sim, &depth));
        worst = depth > worst ? depth : worst;
        repeated = repeated || perp_sim_step_info(s.sim).rounds > 1;
    }
    CHECK(repeated);
    CHECK_AT_MOST(worst, 1e-12);
    const double c = scene_sim_body(&s, "c").position[0], b = scene_sim_body(&s, "b").position[0];
    CHECK_AT_LEAST(c - b, 0.2 - 1e-12);
    CHECK_NEAR(scene_sim_body(&s, "c").velocity[0], 50.0 / 3.0, 1e-9); /* inelastic: all as one */
    scene_sim_close(&s);
}

TEST(a_fast_ball_does_not_tunnel_through_a_thin_wall)
{
    scene_sim s =
        scene_sim_open("{'step':0.01,'duration':0.1,'bodies':["
                       "{'name':'wall','type':'static','shapes':[{'type':'box',"
                       "'size':[0.01,4,4]}]},"
                       "{'name':'ball','mass':1,'position':[-1.5,0.3,0.2],'velocity':[100,0,0],"
                       "'shapes':[{'type':'sphere','radius':0.1}]}]}");
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
    CHECK_NEAR(scene_sim_body(&s, "ball").position[0], -0.105, 1e-9);
    scene_sim_close(&s);
}

static double overlap_run(const char* body, double* speed)
{
    scene_sim s =
        scene_sim_open("{'gravity':[0,0,-9.81],'step':0.01,'duration':1,'allow_overlap':true,"
                       "'friction':{'default':0.5},'bodies':["
                       "{'name':'floor','type':'static','shapes':[{'type':'plane',"
                       "'normal':[0,0,1]}]},%s]}",
                       body);
    if (s.sim == NULL) {
        return NAN;
    }
    *speed = 0.0;
    double worst = 0.0;
    while (!perp_sim_finished(s.sim)) {
        if (perp_sim_step(s.sim) != PERP_OK) {
            worst = INFINITY;
            break;
        }
        const int32_t n = perp_model_body_count(perp_sim_model(s.sim));
        for (int32_t i = 1; i < n; ++i) {
            const perp_body_state b = perp_sim_body(s.sim, i);
            const double up = b.velocity[2];
            *speed = up > *speed ? up : *speed;
        }
        double depth;
        if (perp_sim_penetration(s.sim, &depth) != PERP_OK) {
            worst = INFINITY;
        }
        worst = depth > worst ? depth : worst;
    }
    scene_sim_close(&s);
    return worst;
}

TEST(bodies_that_overlap_at_the_start_part_without_being_flung)
{
    double speed;
    const double one = overlap_run("{'name':'a','mass':1,'position':[0,0,0.3],"
                                   "'shapes':[{'type':'box','size':[1,1,1]}]}",
                                   &speed);
    TEST_PRINT("box 0.2 deep in the floor: overlap later %.2g, fastest upwards %.2g", one, speed);
    CHECK_AT_MOST(one, 1e-6);
    CHECK_AT_MOST(speed, 1e-3);
    const double two = overlap_run("{'name':'a','mass':1,'position':[0,0,0.5],"
                                   "'shapes':[{'type':'box','size':[1,1,1]}]},"
                                   "{'name':'b','mass':3,'position':[0.1,0,1.4],"
                                   "'shapes':[{'type':'box','size':[1,1,1]}]},"
                                   "{'name':'c','mass':1,'position':[0.1,0.1,2.0],"
                                   "'shapes':[{'type':'sphere','radius':0.2}]}",
                                   &speed);
    TEST_PRINT("stack with overlaps: overlap later %.2g, fastest upwards %.2g", two, speed);
    CHECK_AT_MOST(two, 1e-5);
    CHECK_AT_MOST(speed, 1e-2);
}
