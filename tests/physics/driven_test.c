/* Prescribed motion: pushers, belts, driven wheels, turntables. */
#include "perp_test.h"
#include "support/scene_sim.h"

#define FLOOR                                                                                      \
    "{'name':'floor','type':'static','shapes':[{'type':'plane','normal':[0,0,1]}]"                 \
    "}"

TEST(a_block_on_a_belt_reaches_the_belts_speed_and_keeps_it)
{
    scene_sim s = scene_sim_open(
        "{'gravity':[0,0,-9.81],'step':0.01,'duration':2,'friction':{'default':0.25},"
        "'bodies':[{'name':'belt','type':'static','surface_velocity':[1.2,0,0],"
        "'shapes':[{'type':'plane','normal':[0,0,1]}]},"
        "{'name':'block','density':1,'position':[0,0,0.05],"
        "'shapes':[{'type':'box','size':[0.4,0.4,0.1]}]}]}");
    REQUIRE(s.sim != NULL);
    double at_quarter = 0.0;
    while (!perp_sim_finished(s.sim)) {
        REQUIRE_OK(perp_sim_step(s.sim));
        if (perp_sim_step_count(s.sim) == 25) {
            at_quarter = scene_sim_body(&s, "block").velocity[0];
        }
    }
    CHECK_NEAR(at_quarter, 0.25 * 9.81 * 0.25, 1e-9); /* mu g t while it slips */
    CHECK_NEAR(scene_sim_body(&s, "block").velocity[0], 1.2, 1e-12);
    CHECK_NEAR(scene_sim_body(&s, "block").position[2], 0.05, 1e-12);
    scene_sim_close(&s);
}

TEST(a_pusher_given_by_an_expression_carries_a_block_exactly_with_it)
{
    scene_sim s = scene_sim_open(
        "{'gravity':[0,0,-9.81],'step':0.01,'duration':1.5,'friction':{'default':0.3},"
        "'bodies':[" FLOOR ",{'name':'pusher','type':'kinematic',"
        "'motion':{'position':['-0.5+0.4*sin(t)',0,0.3]},'collides_with':['block'],"
        "'shapes':[{'type':'box','size':[0.2,1,0.4]}]},"
        "{'name':'block','density':1,'position':[0,0,0.2],"
        "'shapes':[{'type':'box','size':[0.4,0.4,0.4]}]}]}");
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
    const perp_body_state pusher = scene_sim_body(&s, "pusher");
    const perp_body_state block = scene_sim_body(&s, "block");
    CHECK_NEAR(pusher.position[0], -0.5 + 0.4 * sin(1.5), 1e-15);
    CHECK_NEAR(pusher.velocity[0], 0.4 * cos(1.5), 1e-15);
    CHECK_NEAR(block.position[0] - pusher.position[0], 0.3, 1e-12); /* touching, not a hair in */
    scene_sim_close(&s);
}

TEST(a_lift_carries_its_load_and_the_load_leaves_it_when_it_drops_faster_than_free_fall)
{
    scene_sim s =
        scene_sim_open("{'gravity':[0,0,-9.81],'step':0.001,'duration':0.5,'bodies':["
                       "{'name':'lift','type':'kinematic','motion':{'position':[0,0,'-8*t^2']},"
                       "'shapes':[{'type':'plane','normal':[0,0,1]}]},"
                       "{'name':'ball','mass':1,'position':[0,0,0.1],"
                       "'shapes':[{'type':'sphere','radius':0.1}]}]}");
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
    /* the lift falls with 16 m/s^2: the ball is in free flight, but for the first step, in which
     * the scheme drops a free body by g h^2 and the lift by 8 h^2 */
    CHECK_NEAR(scene_sim_body(&s, "ball").velocity[2], -9.81 * 0.5, 9.81 * 0.001);
    scene_sim_close(&s);
}

TEST(a_driven_wheel_moves_its_robot_straight_at_the_wheels_speed)
{
    /* one body on two driven spheres and a frictionless caster, the centre of mass between them
     * (over the axle it would balance like a pencil); the surface runs backwards */
    scene_sim s = scene_sim_open(
        "{'gravity':[0,0,-9.81],'step':0.01,'duration':3,'friction':{'default':0.8},"
        "'bodies':[" FLOOR ",{'name':'robot','mass':2,'inertia':[0.02,0.02,0.03],"
        "'position':[0,0,0.1],'shapes':["
        "{'type':'sphere','radius':0.05,'position':[0.05,0.1,-0.05],"
        "'surface_velocity':[-0.5,0,0]},"
        "{'type':'sphere','radius':0.05,'position':[0.05,-0.1,-0.05],"
        "'surface_velocity':[-0.5,0,0]},"
        "{'type':'sphere','radius':0.02,'position':[-0.15,0,-0.08],'friction':0}]}]}");
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
    const perp_body_state b = scene_sim_body(&s, "robot");
    CHECK_NEAR(b.velocity[0], 0.5, 1e-9);
    CHECK_NEAR(b.velocity[1], 0.0, 1e-9);
    CHECK_NEAR(b.angular_velocity[2], 0.0, 1e-9);
    scene_sim_close(&s);
}

TEST(a_particle_between_fence_and_wall_is_pushed_and_left_where_it_was_pushed)
{
    scene_sim s = scene_sim_load("scenes/b09-fence.json");
    REQUIRE(s.sim != NULL);
    double furthest = -1.0, closest = 1.0;
    while (!perp_sim_finished(s.sim)) {
        REQUIRE_OK(perp_sim_step(s.sim));
        const double t = perp_sim_time(s.sim);
        const double fence = 0.5 + 0.4 * sin(t);
        const double x = scene_sim_body(&s, "particle").position[0];
        closest = x - fence < closest ? x - fence : closest;
        furthest = x > furthest ? x : furthest;
    }
    CHECK_AT_LEAST(closest, -1e-12);      /* psi_2 = x_p - x_fence >= 0 [B09 (3.53)] */
    CHECK_AT_MOST(furthest, 1.0 + 1e-12); /* psi_1 = 1 - x_p >= 0 [B09 (3.52)] */
    CHECK_AT_LEAST(furthest, 0.9 - 1e-3);
    scene_sim_close(&s);
}

TEST(an_expression_that_yields_nan_stops_the_run_with_its_name)
{
    scene_sim s =
        scene_sim_open("{'step':0.01,'duration':1,'bodies':[{'name':'gate','type':'kinematic',"
                       "'motion':{'position':['sqrt(0.5-t)',0,0]},'shapes':[{'type':'sphere',"
                       "'radius':1}]},{'name':'p','mass':1,'position':[5,0,0]}]}");
    REQUIRE(s.sim != NULL);
    perp_status status = PERP_OK;
    while (status == PERP_OK && !perp_sim_finished(s.sim)) {
        status = perp_sim_step(s.sim);
    }
    CHECK_EQ_INT(status, PERP_ERROR_NUMERIC);
    CHECK_CONTAINS(perp_context_error(s.context), "gate");
    CHECK_CONTAINS(perp_context_error(s.context), "sqrt(0.5-t)");
    CHECK_NEAR(perp_sim_time(s.sim), 0.5, 0.011); /* the state before the bad step is kept */
    scene_sim_close(&s);
}
