/* Plates shaken by sinusoidal accelerations, and a ball on a turntable. */
#include "perp_test.h"
#include "support/scene_sim.h"

static const double pi = 3.14159265358979323846;

#define PLATE(acceleration)                                                                        \
    "{'name':'plate','type':'kinematic','motion':{'acceleration':{" acceleration                   \
    "}},'shapes':[{'type':'plane','normal':[0,0,1]}]}"
#define CENTRIFUGE                                                                                 \
    PLATE("'linear':[{'amplitude':8,'frequency':33,'phase':1.5707963267948966},"                   \
          "{'amplitude':8,'frequency':33},0],'angular':[{'amplitude':100,"                         \
          "'frequency':33,'phase':1.5707963267948966},{'amplitude':100,'frequency':33,"            \
          "'phase':3.1415926535897931},0]")
#define PARTICLE(x, z, v)                                                                          \
    "{'name':'p','mass':0.001,'position':[" x ",0," z "],'velocity':[" v "],"                      \
    "'shapes':[{'type':'particle'}]}"

static const char shaken[] =
    "{'gravity':[0,0,-9.81],'step':1e-4,'duration':0.2,'friction':{'default':0.3},"
    "'bodies':[" CENTRIFUGE "," PARTICLE("0.04", "0.0001", "0,0,0") "]}";

TEST(a_snapshot_of_a_shaken_plate_continues_with_the_same_bits)
{
    scene_sim a = scene_sim_open("%s", shaken), b = scene_sim_open("%s", shaken);
    REQUIRE(a.sim != NULL && b.sim != NULL);
    char buffer[4096];
    size_t size = sizeof buffer;
    for (int k = 0; k < 777; ++k) {
        REQUIRE_OK(perp_sim_step(a.sim));
    }
    REQUIRE_OK(perp_sim_save(a.sim, buffer, &size));
    REQUIRE_OK(perp_sim_restore(b.sim, buffer, size));
    CHECK_AT_MOST(scene_sim_run(&a), 1e-8);
    CHECK_AT_MOST(scene_sim_run(&b), 1e-8);
    CHECK(memcmp(perp_sim_q(a.sim), perp_sim_q(b.sim),
                 (size_t)perp_sim_q_size(a.sim) * sizeof(double)) == 0);
    CHECK(memcmp(perp_sim_v(a.sim), perp_sim_v(b.sim),
                 (size_t)perp_sim_v_size(a.sim) * sizeof(double)) == 0);
    scene_sim_close(&a);
    scene_sim_close(&b);
}

TEST(the_pose_of_a_plate_does_not_depend_on_the_steps_that_led_there)
{
    scene_sim a = scene_sim_open("%s", shaken);
    scene_sim b = scene_sim_open(
        "{'gravity':[0,0,-9.81],'step':1e-3,'duration':0.2,'bodies':[" CENTRIFUGE "]}");
    REQUIRE(a.sim != NULL && b.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&a), 1e-8);
    CHECK_AT_MOST(scene_sim_run(&b), 1e-8);
    const perp_body_state p = scene_sim_body(&a, "plate"), q = scene_sim_body(&b, "plate");
    for (int i = 0; i < 4; ++i) {
        CHECK_NEAR(p.orientation[i], q.orientation[i], 1e-16);
    }
    for (int i = 0; i < 3; ++i) {
        CHECK_NEAR(p.position[i], q.position[i], 1e-16);
        CHECK_NEAR(p.angular_velocity[i], q.angular_velocity[i], 1e-15);
    }
    scene_sim_close(&a);
    scene_sim_close(&b);
}

TEST(a_particle_that_sticks_is_carried_exactly_with_the_plate)
{
    /* along x at 2 m/s^2 < mu g, and up and down: the gap is that at the end of the step */
    scene_sim s = scene_sim_open(
        "{'gravity':[0,0,-9.81],'step':1e-3,'duration':1,'friction':{'default':0.5},"
        "'bodies':[" PLATE(
            "'linear':[{'amplitude':2,'frequency':7},0,{'amplitude':3,"
            "'frequency':5,'phase':0.3}],'periodic':true") ","
                                                           "{'name':'p','mass':0.001,"
                                                           "'position':[0.04,0,%.17g],"
                                                           "'velocity':[%.17g,0,%.17g],"
                                                           "'shapes':[{'type':"
                                                           "'particle'}]}]}",
        -3 / (10 * pi * 10 * pi) * sin(0.3), -2 / (14 * pi), -3 / (10 * pi) * cos(0.3));
    REQUIRE(s.sim != NULL);
    double worst = 0.0;
    while (!perp_sim_finished(s.sim)) {
        REQUIRE_OK(perp_sim_step(s.sim));
        const perp_body_state a = scene_sim_body(&s, "plate"), b = scene_sim_body(&s, "p");
        worst = fmax(worst, fabs(b.position[0] - a.position[0] - 0.04));
        worst = fmax(worst, fabs(b.position[2] - a.position[2]));
    }
    TEST_PRINT("largest distance from its place on the plate: %.2g m", worst);
    CHECK_AT_MOST(worst, 1e-12);
    scene_sim_close(&s);
}

TEST(a_particle_leaves_the_plate_when_that_falls_faster_than_gravity_lets_it)
{
    /* 20 sin(2 pi 5 t) from the mean: the plate's acceleration passes -9.81 in the second half */
    const double b = 10 * pi, leaves = (pi + asin(9.81 / 20)) / b;
    scene_sim s = scene_sim_open(
        "{'gravity':[0,0,-9.81],'step':1e-4,'duration':0.15,'bodies':[" PLATE(
            "'linear':[0,0,{'amplitude':20,'frequency':5}]") ","
                                                             "{'name':'p','mass':1,"
                                                             "'velocity':[0,0,%.17g],"
                                                             "'shapes':[{'type':"
                                                             "'particle'}]}]}",
        -20 / b);
    REQUIRE(s.sim != NULL);
    double last = 0.0;
    while (perp_sim_time(s.sim) < 0.14) {
        REQUIRE_OK(perp_sim_step(s.sim));
        if (perp_sim_step_info(s.sim).contacts > 0) {
            last = perp_sim_time(s.sim);
        }
    }
    TEST_PRINT("leaves at %.5f s, closed form %.5f s", last, leaves);
    CHECK_NEAR(last, leaves, 2e-4);
    scene_sim_close(&s);
}

/* A ball that rolls on a turntable: its centre circles with 2/7 of the table's rate (S. Earnshaw,
 * Dynamics, 1844): inertia 2/5 m r^2, and v' = 2/7 Omega x v whatever the launch. */
static double turntable(double h, double* rate, double* place)
{
    const double Omega = 7.0, r = 0.05, T = 2.0, w = 2.0 / 7.0 * Omega;
    const double x0 = 0.3, vy = 0.25, vx = 0.1;
    /* no slip at the contact: v + omega x (-r z) = Omega z x (x0, 0) */
    scene_sim s = scene_sim_open(
        "{'gravity':[0,0,-9.81],'step':%.17g,'duration':%.17g,'friction':{'default':0.8},"
        "'bodies':[{'name':'table','type':'kinematic','angular_velocity':[0,0,%.17g],"
        "'shapes':[{'type':'plane','normal':[0,0,1]}]},"
        "{'name':'ball','mass':1,'inertia':[0.001,0.001,0.001],'position':[%.17g,0,%.17g]"
        ","
        "'velocity':[%.17g,%.17g,0],'angular_velocity':[%.17g,%.17g,0.4],"
        "'shapes':[{'type':'sphere','radius':%.17g}]}]}",
        h, T, Omega, x0, r, vx, vy, (Omega * x0 - vy) / r, vx / r, r);
    if (s.sim == NULL) {
        return INFINITY;
    }
    double turned = 0.0, angle = atan2(vy, vx), worst = 0.0;
    while (!perp_sim_finished(s.sim)) {
        if (perp_sim_step(s.sim) != PERP_OK) {
            return INFINITY;
        }
        worst = fmax(worst, perp_sim_step_info(s.sim).certificate.worst);
        const perp_body_state b = scene_sim_body(&s, "ball");
        const double now = atan2(b.velocity[1], b.velocity[0]);
        turned += remainder(now - angle, 2 * pi);
        angle = now;
    }
    const perp_body_state b = scene_sim_body(&s, "ball");
    /* x(t) = x0 + (v sin wt + z x v (1 - cos wt)) / w */
    const double S = sin(w * T) / w, C = (1 - cos(w * T)) / w;
    *place = hypot(b.position[0] - (x0 + vx * S - vy * C), b.position[1] - (vy * S + vx * C));
    *rate = fabs(turned / T / Omega - 2.0 / 7.0);
    scene_sim_close(&s);
    return worst;
}

TEST(a_ball_on_a_turntable_circles_at_two_sevenths_of_its_rate)
{
    double rate[4], place[4];
    for (int k = 0; k < 4; ++k) {
        const double h = 0.01 / (1 << k);
        CHECK_AT_MOST(turntable(h, &rate[k], &place[k]), 1e-9);
        TEST_PRINT("h = %-8g rate off by %.3g (of 2/7), place by %.3g m", h, rate[k], place[k]);
        CHECK_AT_MOST(rate[k], 0.01 * h / 0.01);
        if (k > 0) {
            CHECK_AT_MOST(rate[k], 0.6 * rate[k - 1]);
            CHECK_AT_MOST(place[k], 0.6 * place[k - 1]);
        }
    }
}
