/* The stepper `implicit`: forces, velocity products and inertia at the end of the step. */
#include <string.h>

#include "perp_test.h"
#include "support/scene_sim.h"

/* A spinning top without a floor: torque-free, all inertias different, a fast spin. */
static double top(double h, double* momentum_error)
{
    scene_sim s =
        scene_sim_open("{'step':%.17g,'duration':1,'stepper':'implicit','bodies':[{'name':'b',"
                       "'mass':2,'inertia':[1,2,2.5],'angular_velocity':[0.3,3,0.5]}]}",
                       h);
    if (s.sim == NULL) {
        return NAN;
    }
    double P[3], L0[3], L1[3];
    perp_sim_momentum(s.sim, P, L0);
    const double worst = scene_sim_run(&s);
    perp_sim_momentum(s.sim, P, L1);
    *momentum_error = sqrt(pow(L1[0] - L0[0], 2) + pow(L1[1] - L0[1], 2) + pow(L1[2] - L0[2], 2));
    const double w = scene_sim_body(&s, "b").angular_velocity[0];
    scene_sim_close(&s);
    return worst <= 1e-12 ? w : NAN;
}

/* Reference: the same body by the classical Runge-Kutta method in its own frame, I W' = -W x I W,
 * and its rotation, at steps so small that the rest is rounding. */
static double top_reference(void)
{
    const double I[3] = {1, 2, 2.5};
    double y[7] = {0.3, 3, 0.5, 1, 0, 0, 0}, k[4][7];
    const int n = 4000;
    for (int step = 0; step < n; ++step) {
        const double part[4] = {0, 0.5, 0.5, 1};
        for (int stage = 0; stage < 4; ++stage) {
            double x[7];
            for (int i = 0; i < 7; ++i) {
                x[i] = y[i] + (stage > 0 ? part[stage] / n * k[stage - 1][i] : 0.0);
            }
            for (int i = 0; i < 3; ++i) {
                const int a = (i + 1) % 3, b = (i + 2) % 3;
                k[stage][i] = (I[a] - I[b]) / I[i] * x[a] * x[b];
            }
            /* q' = q (0, W) / 2 */
            k[stage][3] = 0.5 * (-x[4] * x[0] - x[5] * x[1] - x[6] * x[2]);
            k[stage][4] = 0.5 * (x[3] * x[0] + x[5] * x[2] - x[6] * x[1]);
            k[stage][5] = 0.5 * (x[3] * x[1] + x[6] * x[0] - x[4] * x[2]);
            k[stage][6] = 0.5 * (x[3] * x[2] + x[4] * x[1] - x[5] * x[0]);
        }
        for (int i = 0; i < 7; ++i) {
            y[i] += (k[0][i] + 2 * k[1][i] + 2 * k[2][i] + k[3][i]) / (6.0 * n);
        }
    }
    /* world x component of R W */
    const double w = y[3], a = y[4], b = y[5], c = y[6];
    return (1 - 2 * (b * b + c * c)) * y[0] + 2 * (a * b - w * c) * y[1] +
           2 * (a * c + w * b) * y[2];
}

TEST(a_free_asymmetric_body_is_followed_at_first_order_and_keeps_its_momentum)
{
    const double exact = top_reference();
    double error[4], momentum;
    for (int i = 0; i < 4; ++i) {
        error[i] = fabs(top(0.005 / (1 << i), &momentum) - exact);
        CHECK_AT_MOST(momentum, 1e-12);
        TEST_PRINT("h = %-10g error of omega_x %.3e, momentum %.1e", 0.005 / (1 << i), error[i],
                   momentum);
    }
    for (int i = 1; i < 4; ++i) {
        const double order = log2(error[i - 1] / error[i]);
        TEST_PRINT("observed order %.3f", order);
        CHECK_NEAR(order, 1.0, 0.1);
    }
}

/* A bob on an explicit spring that swings and stretches: the force is that of the end of the step.
 * Position after one second; the error against the finest step. */
static perp_body_state swing(double h)
{
    scene_sim s =
        scene_sim_open("{'dimension':2,'gravity':[0,-9.81],'step':%.17g,'duration':1,"
                       "'stepper':'implicit','bodies':[{'name':'bob','mass':1,'position':[1,0],"
                       "'shapes':[{'type':'particle'}]}],'forces':[{'type':'spring','a':'world',"
                       "'b':'bob','at_a':[0,0],'at_b':[0,0],'stiffness':200,'damping':1,'rest':1,"
                       "'implicit':false}]}",
                       h);
    perp_body_state state = {.position = {NAN, NAN}};
    if (s.sim != NULL && scene_sim_run(&s) <= 1e-12) {
        state = scene_sim_body(&s, "bob");
    }
    CHECK_EQ_STR(s.error, "");
    scene_sim_close(&s);
    return state;
}

TEST(a_pendulum_on_an_explicit_spring_is_followed_at_first_order)
{
    /* Richardson: differences of successive halvings shrink like h */
    double x[5];
    for (int i = 0; i < 5; ++i) {
        x[i] = swing(0.002 / (1 << i)).position[0];
    }
    for (int i = 2; i < 5; ++i) {
        const double order = log2((x[i - 2] - x[i - 1]) / (x[i - 1] - x[i]));
        TEST_PRINT("observed order %.3f", order);
        CHECK_NEAR(order, 1.0, 0.1);
    }
}

static void follow_backward_euler(double k, double d)
{
    /* one coordinate: (m + h d + h^2 k) v' = m v - h k x */
    scene_sim s =
        scene_sim_open("{'dimension':2,'step':0.005,'duration':0.5,'stepper':'implicit',"
                       "'bodies':[{'name':'p','mass':1,'position':[0.2,0],'shapes':[{'type':"
                       "'particle'}]}],'forces':[{'type':'spring','a':'world','b':'p',"
                       "'at_a':[0,0],'at_b':[0,0],'stiffness':%.17g,'damping':%.17g,'rest':0,"
                       "'implicit':false}]}",
                       k, d);
    REQUIRE(s.sim != NULL);
    double x = 0.2, v = 0.0;
    const double h = 0.005;
    for (int i = 0; i < 100; ++i) {
        REQUIRE_OK(perp_sim_step(s.sim));
        v = (v - h * k * x) / (1 + h * d + h * h * k);
        x += h * v;
        const perp_body_state b = scene_sim_body(&s, "p");
        CHECK_NEAR(b.velocity[0], v, 1e-9);
        CHECK_NEAR(b.position[0], x, 1e-11);
        CHECK_AT_MOST(perp_sim_step_info(s.sim).looks, 20);
    }
    scene_sim_close(&s);
}

TEST(stiff_explicit_springs_follow_the_recursion_of_backward_euler)
{
    follow_backward_euler(1e4, 3); /* h^2 k = 0.25: rounds contract by themselves */
    follow_backward_euler(4e5, 3); /* h^2 k = 10: they do not, mixing does it */
    follow_backward_euler(4e7, 500);
}

TEST(a_stiff_spring_whose_force_is_rounding_of_the_pose_does_not_stop_the_run)
{
    /* h^2 k = 10 at rest length 1: the force along x is known to k eps, much of a row that starts at 0 */
    scene_sim s =
        scene_sim_open("{'dimension':2,'gravity':[0,-9.81],'step':0.005,'duration':1,'stepper':"
                       "'implicit','bodies':[{'name':'bob','mass':1,'position':[1,0],'shapes':[{"
                       "'type':'particle'}]}],'forces':[{'type':'spring','a':'world','b':'bob',"
                       "'at_a':[0,0],'at_b':[0,0],'stiffness':4e5,'damping':3,'rest':1,'implicit':"
                       "false}]}");
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-6);
    const perp_body_state b = scene_sim_body(&s, "bob");
    CHECK_NEAR(hypot(b.position[0], b.position[1]), 1.0, 1e-3);
    scene_sim_close(&s);
}

TEST(a_sliding_block_pushed_by_a_force_in_time_follows_the_scheme_exactly)
{
    /* m v' = m v + h (cos(t + h) - mu m g): the force is that of the end of the step */
    scene_sim s =
        scene_sim_open("{'gravity':[0,0,-10],'step':0.01,'duration':0.5,'stepper':'implicit',"
                       "'friction':{'default':0.25},'bodies':[{'name':'floor','type':'static',"
                       "'shapes':[{'type':'plane','normal':[0,0,1]}]},{'name':'block','mass':1,"
                       "'inertia':[0.1,0.1,0.1],'position':[0,0,0.1],'velocity':[3,0,0],'shapes':[{"
                       "'type':'box','size':[1,1,0.2]}]}],'forces':[{'type':'wrench','body':"
                       "'block','force':['cos(t)',0,0],'at':[0,0,-0.1]}]}");
    REQUIRE(s.sim != NULL);
    double v = 3.0;
    for (int i = 0; i < 50; ++i) {
        REQUIRE_OK(perp_sim_step(s.sim));
        v += 0.01 * (cos(0.01 * (i + 1)) - 2.5);
        CHECK_NEAR(scene_sim_body(&s, "block").velocity[0], v, 1e-10);
        CHECK_AT_MOST(perp_sim_step_info(s.sim).certificate.worst, 1e-11);
    }
    scene_sim_close(&s);
}

TEST(a_warm_step_that_looks_at_its_end_asks_for_no_memory)
{
    scene_sim s =
        scene_sim_open("{'gravity':[0,0,-9.81],'step':0.01,'duration':10,'stepper':'implicit',"
                       "'friction':{'default':0.5},'bodies':[{'name':'floor','type':'static',"
                       "'shapes':[{'type':'plane','normal':[0,0,1]}]},{'name':'a','density':1,"
                       "'position':[0,0,0.5],'velocity':[1,0.3,0],'shapes':[{'type':'box','size':"
                       "[1,1,1]}]},{'name':'b','density':1,'position':[0,0,3],'angular_velocity':"
                       "[1,2,3],'shapes':[{'type':'box','size':[0.2,0.3,1]}]}]}");
    REQUIRE(s.sim != NULL);
    for (int i = 0; i < 200; ++i) {
        REQUIRE_OK(perp_sim_step(s.sim));
    }
    const uint64_t before = perp_context_allocations(s.context);
    for (int i = 0; i < 200; ++i) {
        REQUIRE_OK(perp_sim_step(s.sim));
    }
    CHECK_EQ_U64(perp_context_allocations(s.context) - before, 0);
    scene_sim_close(&s);
}

TEST(joint_correction_is_refused_with_the_reason)
{
    scene_sim s =
        scene_sim_open("{'stepper':'implicit','joint_correction':true,'bodies':[{'name':'b','mass':"
                       "1,'inertia':[1,1,1]}],'joints':[{'name':'j','type':'spherical','a':"
                       "'world','b':'b',"
                       "'at':[0,0,0]}]}");
    CHECK(s.sim == NULL);
    CHECK(strstr(s.error, "joint_correction: the stepper 'implicit' does not take it") != NULL);
    scene_sim_close(&s);
}
