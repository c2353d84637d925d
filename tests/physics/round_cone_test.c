/* The round cone: friction has no preferred direction. */
#include "perp_test.h"
#include "support/scene_sim.h"

static const double g = 9.81;

#define FLOOR                                                                                      \
    "{'name':'floor','type':'static','shapes':[{'type':'plane','normal':[0,0,1]}]"                 \
    "}"

TEST(a_block_slides_down_a_slope_of_any_azimuth_at_coulombs_rate)
{
    const double mu = 0.3, tilt = 0.5, exact = g * (sin(tilt) - mu * cos(tilt));
    double worst = 0.0, sideways = 0.0;
    for (int k = 0; k < 12; ++k) {
        const double phi = 0.1 + 0.53 * k, c = cos(tilt / 2), s = sin(tilt / 2);
        const double n[3] = {sin(tilt) * cos(phi), sin(tilt) * sin(phi), cos(tilt)};
        scene_sim r =
            scene_sim_open("{'gravity':[0,0,-9.81],'step':0.01,'duration':1,"
                           "'friction':{'cone':'quadratic','default':%.17g},"
                           "'bodies':[{'name':'slope','type':'static','shapes':[{'type':'plane',"
                           "'normal':[%.17g,%.17g,%.17g]}]},"
                           "{'name':'block','density':500,'position':[%.17g,%.17g,%.17g],"
                           "'orientation':[%.17g,%.17g,%.17g,0],"
                           "'shapes':[{'type':'box','size':[0.4,0.3,0.1]}]}]}",
                           mu, n[0], n[1], n[2], 0.05 * n[0], 0.05 * n[1], 0.05 * n[2], c,
                           -s * sin(phi), s * cos(phi));
        REQUIRE(r.sim != NULL);
        CHECK_AT_MOST(scene_sim_run(&r), 1e-8);
        const perp_body_state b = scene_sim_body(&r, "block");
        const double down = b.velocity[0] * cos(tilt) * cos(phi) +
                            b.velocity[1] * cos(tilt) * sin(phi) - b.velocity[2] * sin(tilt);
        const double across = -b.velocity[0] * sin(phi) + b.velocity[1] * cos(phi);
        worst = !(fabs(down - exact) <= worst) ? fabs(down - exact) : worst;
        sideways = !(fabs(across) <= sideways) ? fabs(across) : sideways;
        scene_sim_close(&r);
    }
    TEST_PRINT("largest error of the acceleration %.2g, sideways velocity %.2g", worst, sideways);
    CHECK_AT_MOST(worst, 1e-9);
    CHECK_AT_MOST(sideways, 1e-9);
}

TEST(a_block_below_the_friction_angle_never_moves_whatever_the_azimuth)
{
    double worst = 0.0;
    for (int k = 0; k < 7; ++k) {
        const double mu = 0.5, tilt = atan(mu * 0.9999), phi = 0.2 + 0.9 * k;
        const double c = cos(tilt / 2), s = sin(tilt / 2);
        const double n[3] = {sin(tilt) * cos(phi), sin(tilt) * sin(phi), cos(tilt)};
        scene_sim r = scene_sim_open(
            "{'gravity':[0,0,-9.81],'step':0.01,'duration':10,'friction':{'default':0.5},"
            "'bodies':[{'name':'slope','type':'static','shapes':[{'type':'plane',"
            "'normal':[%.17g,%.17g,%.17g]}]},"
            "{'name':'block','density':500,'position':[%.17g,%.17g,%.17g],"
            "'orientation':[%.17g,%.17g,%.17g,0],"
            "'shapes':[{'type':'box','size':[0.4,0.3,0.1]}]}]}",
            n[0], n[1], n[2], 0.05 * n[0], 0.05 * n[1], 0.05 * n[2], c, -s * sin(phi),
            s * cos(phi));
        REQUIRE(r.sim != NULL);
        const perp_body_state a = scene_sim_body(&r, "block");
        CHECK_AT_MOST(scene_sim_run(&r), 1e-8);
        const perp_body_state b = scene_sim_body(&r, "block");
        for (int i = 0; i < 3; ++i) {
            const double d = fabs(b.position[i] - a.position[i]);
            worst = !(d <= worst) ? d : worst;
        }
        scene_sim_close(&r);
    }
    TEST_PRINT("largest displacement after 10 s: %.2g", worst);
    CHECK_AT_MOST(worst, 1e-9);
}

TEST(a_ball_rolls_at_any_angle_without_turning)
{
    double worst = 0.0;
    for (int k = 0; k < 9; ++k) {
        const double phi = 0.05 + 0.7 * k;
        scene_sim r = scene_sim_open(
            "{'gravity':[0,0,-9.81],'step':0.01,'duration':2,'friction':{'default':0.2},"
            "'bodies':[" FLOOR ",{'name':'ball','mass':1,'position':[0,0,1],"
            "'velocity':[%.17g,%.17g,0],'shapes':[{'type':'sphere','radius':1}]}]}",
            2 * cos(phi), 2 * sin(phi));
        REQUIRE(r.sim != NULL);
        CHECK_AT_MOST(scene_sim_run(&r), 1e-8);
        const perp_body_state b = scene_sim_body(&r, "ball");
        const double side = -b.position[0] * sin(phi) + b.position[1] * cos(phi);
        worst = !(fabs(side) <= worst) ? fabs(side) : worst;
        CHECK_NEAR(b.velocity[0] * cos(phi) + b.velocity[1] * sin(phi), 10.0 / 7.0, 1e-9);
        scene_sim_close(&r);
    }
    TEST_PRINT("largest sideways displacement %.2g of 2.9", worst);
    CHECK_AT_MOST(worst, 1e-10);
}

TEST(a_cube_pressed_against_a_wall_does_not_creep)
{
    /* 1 kg held by 25 N at mu = 0.5: 12.5 N of friction at most, 9.81 N needed */
    scene_sim r = scene_sim_open(
        "{'gravity':[0,0,-9.81],'step':0.01,'duration':10,'friction':{'default':0.5},"
        "'bodies':[{'name':'wall','type':'static','shapes':[{'type':'plane',"
        "'normal':[-1,0,0]}]},{'name':'cube','mass':1,'position':[-0.1,0.3,2],"
        "'shapes':[{'type':'box','size':[0.2,0.2,0.2]}]}],"
        "'forces':[{'type':'wrench','body':'cube','force':[25,0,0]}]}");
    REQUIRE(r.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&r), 1e-8);
    const perp_body_state b = scene_sim_body(&r, "cube");
    TEST_PRINT("sank by %.2g m in 10 s", 2.0 - b.position[2]);
    CHECK_NEAR(b.position[2], 2.0, 1e-9);
    CHECK_NEAR(b.position[1], 0.3, 1e-9);
    CHECK_NEAR(b.position[0], -0.1, 1e-9);
    scene_sim_close(&r);
}

TEST(a_cube_thrown_flat_slides_and_neither_lifts_nor_tumbles)
{
    scene_sim r =
        scene_sim_open("{'gravity':[0,0,-9.81],'step':0.01,'duration':3,'friction':{'default':0.5},"
                       "'bodies':[" FLOOR ",{'name':'cube','density':1,'position':[0,0,0.5],"
                       "'velocity':[3.6,4.8,0],'shapes':[{'type':'box','size':[1,1,1]}]}]}");
    REQUIRE(r.sim != NULL);
    double lifted = 0.0, turned = 0.0;
    while (!perp_sim_finished(r.sim)) {
        REQUIRE_OK(perp_sim_step(r.sim));
        const perp_body_state b = scene_sim_body(&r, "cube");
        lifted = !(fabs(b.position[2] - 0.5) <= lifted) ? fabs(b.position[2] - 0.5) : lifted;
        turned = !(fabs(b.angular_velocity[0]) + fabs(b.angular_velocity[1]) <= turned)
                     ? fabs(b.angular_velocity[0]) + fabs(b.angular_velocity[1])
                     : turned;
    }
    const perp_body_state b = scene_sim_body(&r, "cube");
    /* v^2 / (2 mu g) = 3.67 m, less what the first-order scheme leaves out */
    TEST_PRINT("slid %.6f m, lifted %.2g, turned %.2g", hypot(b.position[0], b.position[1]), lifted,
               turned);
    CHECK_AT_MOST(lifted, 1e-9);
    CHECK_AT_MOST(turned, 1e-8);
    CHECK_NEAR(hypot(b.position[0], b.position[1]), 36 / g, 0.04);
    CHECK_NEAR(b.position[1] / b.position[0], 4.0 / 3.0, 1e-6);
    scene_sim_close(&r);
}

TEST(torsional_friction_stops_a_spinning_ball_as_the_ellipsoid_says)
{
    /* pure spin about the normal: moment e_r mu p_n, so omega falls by e_r mu g t / (0.4 r^2) */
    scene_sim r =
        scene_sim_open("{'gravity':[0,0,-9.81],'step':0.01,'duration':0.5,'friction':{"
                       "'cone':'ellipsoid','e_t':1,'e_o':1,'e_r':0.02,'default':0.4},"
                       "'bodies':[" FLOOR ",{'name':'ball','mass':1,'position':[0,0,0.5],"
                       "'angular_velocity':[0,0,3],'shapes':[{'type':'sphere','radius':0.5}]}]}");
    REQUIRE(r.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&r), 1e-8);
    const perp_body_state b = scene_sim_body(&r, "ball");
    CHECK_NEAR(b.angular_velocity[2], 3 - 0.02 * 0.4 * g * 0.5 / (0.4 * 0.25), 1e-9);
    CHECK_NEAR(b.velocity[0], 0.0, 1e-12);
    scene_sim_close(&r);
}
