/* Velocity limits of joints: drives stop pushing at the limit, everything else may pass it. Closed
 * forms of one degree of freedom. */
#include <math.h>

#include "perp_test.h"
#include "support/scene_sim.h"

/* A rotor of inertia 0.3 about z, and a slider of mass 2 along z. */
#define ROTOR(joint)                                                                               \
    "'step':0.01,'duration':9,'bodies':[{'name':'r','mass':1,'inertia':[0.5,0.5,0.3],"             \
    "'position':[0,0,0]}],'joints':[{'name':'j','type':'revolute','a':'world','b':'r',"            \
    "'at':[0,0,0],'axis':[0,0,1]," joint "}]"
#define SLIDER(joint)                                                                              \
    "'step':0.01,'duration':9,'gravity':[0,0,-9.81],'bodies':[{'name':'r','mass':2,"               \
    "'inertia':[0.1,0.1,0.1],'position':[0,0,0]}],'joints':[{'name':'j','type':'prismatic',"       \
    "'a':'world','b':'r','at':[0,0,0],'axis':[0,0,1]," joint "}]"

static perp_joint_state after(scene_sim* s, int steps)
{
    for (int i = 0; i < steps; ++i) {
        CHECK(perp_sim_step(s->sim) == PERP_OK);
        const perp_step_info info = perp_sim_step_info(s->sim);
        CHECK_AT_MOST(info.certificate.worst, 1e-10);
        CHECK_AT_MOST(fabs(info.ledger.unexplained), 1e-12 * (1.0 + info.ledger.magnitude));
    }
    return perp_sim_joint(s->sim, 0);
}

TEST(an_effort_motor_drives_up_to_the_limit_and_not_past_it)
{
    for (int sign = -1; sign <= 1; sign += 2) {
        scene_sim s = scene_sim_open(
            "{" ROTOR("'velocity_limit':0.5,'motor':{'type':'effort','target':%g}") "}",
            0.6 * sign);
        REQUIRE(s.sim != NULL);
        perp_joint_state j = after(&s, 20); /* 2 rad/s^2 */
        CHECK_NEAR(j.rate[0], sign * 0.4, 1e-13);
        CHECK_NEAR(j.effort, sign * 0.6, 1e-13);
        j = after(&s, 6);
        CHECK_NEAR(j.rate[0], sign * 0.5, 1e-13);
        CHECK_NEAR(j.effort, 0.0, 1e-12);
        scene_sim_close(&s);
    }
}

TEST(at_the_limit_a_motor_gives_what_damping_and_friction_take)
{
    scene_sim s = scene_sim_open("{" ROTOR("'velocity_limit':0.5,'damping':0.2,'friction':0.05,"
                                           "'motor':{'type':'effort','target':0.6}") "}");
    REQUIRE(s.sim != NULL);
    after(&s, 60);
    int32_t count;
    const perp_joint_record* r = perp_sim_joint_records(s.sim, &count);
    CHECK_NEAR(r[0].law[3] / 0.01, 0.05 + 0.2 * 0.5, 1e-12); /* the motor's */
    CHECK_NEAR(perp_sim_joint(s.sim, 0).rate[0], 0.5, 1e-13);
    scene_sim_close(&s);
}

/* Both push down; from 1 m/s on, after 0.0674 s, gravity alone. */
TEST(gravity_drives_a_joint_past_its_limit)
{
    scene_sim s =
        scene_sim_open("{" SLIDER("'velocity_limit':1,'motor':{'type':'effort','target':-10}") "}");
    REQUIRE(s.sim != NULL);
    CHECK_NEAR(after(&s, 6).rate[0], -0.06 * (9.81 + 5), 1e-13);
    const double passed = after(&s, 1).rate[0]; /* the motor gives a part of its impulse */
    CHECK_NEAR(passed, -1.0, 1e-13);
    const perp_joint_state j = after(&s, 50);
    CHECK_NEAR(j.rate[0], passed - 0.5 * 9.81, 1e-12);
    CHECK_NEAR(j.effort, 0.0, 1e-12);
    scene_sim_close(&s);
}

TEST(position_and_velocity_motors_ask_for_no_more_than_the_limit_and_brake_to_it)
{
    static const char* const motor[] = {"'motor':{'type':'velocity','target':3}",
                                        "'motor':{'type':'position','target':3}",
                                        "'motor':{'type':'velocity','target':3,'max_effort':9}",
                                        "'motor':{'type':'position','target':3,'max_effort':9}"};
    for (int i = 0; i < 4; ++i) {
        scene_sim s = scene_sim_open("{" ROTOR("'velocity_limit':0.5,%s") "}", motor[i]);
        REQUIRE(s.sim != NULL);
        const perp_joint_state j = after(&s, 50);
        CHECK_NEAR(j.rate[0], 0.5, 1e-13);
        CHECK_NEAR(j.coordinate[0], 0.25 - (i >= 2 ? 0.0025 : 0.0), 2.6e-3);
        const double spin[3] = {0, 0, 0.8}, still[3] = {0, 0, 0};
        REQUIRE(perp_sim_set_body_velocity(s.sim, 0, still, spin) == PERP_OK);
        CHECK_NEAR(after(&s, 1).rate[0], i < 2 ? 0.5 : 0.8 - 0.01 * 9 / 0.3, 1e-12);
        scene_sim_close(&s);
    }
}

/* The target is reached at the limit, then held. */
TEST(a_position_motor_travels_at_its_limit)
{
    scene_sim s = scene_sim_open(
        "{" SLIDER("'velocity_limit':0.5,'motor':{'type':'position','target':0.2}") "}");
    REQUIRE(s.sim != NULL);
    CHECK_NEAR(after(&s, 30).coordinate[0], 0.15, 1e-12);
    CHECK_NEAR(after(&s, 12).coordinate[0], 0.2, 1e-12);
    CHECK_NEAR(perp_sim_joint(s.sim, 0).effort, 2 * 9.81, 1e-10);
    scene_sim_close(&s);
}

#define PD(more) "'controllers':[{'type':'pd','joint':'j','kp':100,'kd':4,'target':2" more "}]"

/* Far from the target a PD controller asks for w = kp e / (h kp + kd) = 40 rad/s: its effort is
 * that without a limit up to the limit, and 0 at it. */
TEST(a_controller_drives_up_to_the_limit_with_its_own_effort)
{
    scene_sim s = scene_sim_open("{" ROTOR("'velocity_limit':1.5") "," PD(",'max_effort':3") "}");
    REQUIRE(s.sim != NULL);
    perp_joint_state j = after(&s, 14); /* 10 rad/s^2 */
    CHECK_NEAR(j.rate[0], 1.4, 1e-12);
    CHECK_NEAR(perp_sim_controller(s.sim, 0).effort, 3.0, 1e-12);
    j = after(&s, 40);
    CHECK_NEAR(j.rate[0], 1.5, 1e-12);
    CHECK_NEAR(perp_sim_controller(s.sim, 0).effort, 0.0, 1e-11);
    j = after(&s, 300);
    CHECK_NEAR(j.coordinate[0], 2.0, 1e-6);
    scene_sim_close(&s);
}

/* A controller that holds a load by a large steady error asks for a large rate all the time, but
 * the joint is at rest: the limit must not weaken it. And below the limit nothing differs. */
TEST(a_limit_that_is_not_reached_changes_nothing)
{
    static const char* const most[] = {"", ",'max_effort':30"};
    for (int i = 0; i < 2; ++i) {
        scene_sim a = scene_sim_open("{" SLIDER("'velocity_limit':0.9") "," PD("%s") "}", most[i]);
        scene_sim b = scene_sim_open("{" SLIDER("'damping':0") "," PD("%s") "}", most[i]);
        REQUIRE(a.sim != NULL && b.sim != NULL);
        const double at[3] = {0, 0, 1.75}, q[4] = {1, 0, 0, 0};
        REQUIRE(perp_sim_set_body_pose(a.sim, 0, at, q) == PERP_OK);
        REQUIRE(perp_sim_set_body_pose(b.sim, 0, at, q) == PERP_OK);
        for (int k = 0; k < 80; ++k) {
            const perp_joint_state x = after(&a, 1), y = after(&b, 1);
            CHECK_NEAR(x.coordinate[0], y.coordinate[0], 1e-12);
            CHECK_NEAR(perp_sim_controller(a.sim, 0).effort, perp_sim_controller(b.sim, 0).effort,
                       1e-9);
        }
        scene_sim_close(&a);
        scene_sim_close(&b);
    }
}

/* A joint that something else has made faster than the limit is braked by the law of the controller
 * at the limit. */
TEST(a_controller_brakes_a_joint_that_is_too_fast)
{
    scene_sim s = scene_sim_open("{" ROTOR("'velocity_limit':1.5") "," PD("") "}");
    REQUIRE(s.sim != NULL);
    const double spin[3] = {0, 0, 2.0}, still[3] = {0, 0, 0};
    REQUIRE(perp_sim_set_body_velocity(s.sim, 0, still, spin) == PERP_OK);
    const double u = after(&s, 1).rate[0], both = 0.01 * 100 + 4;
    CHECK_NEAR(0.3 * (u - 2.0), -0.01 * both * (u - 1.5), 1e-13);
    scene_sim_close(&s);
}

TEST(limits_that_no_joint_can_have_are_refused)
{
    static const char* const bad[] = {"0", "-1"};
    for (int i = 0; i < 2; ++i) {
        scene_sim s = scene_sim_open("{" ROTOR("'velocity_limit':%s") "}", bad[i]);
        CHECK(s.sim == NULL);
        CHECK_CONTAINS(s.error, "velocity_limit: must be > 0");
        scene_sim_close(&s);
    }
}
