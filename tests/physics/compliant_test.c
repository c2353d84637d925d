/* Soft layers: the stepper `compliant` against closed forms and the recursions of its schemes. */
#include <stdlib.h>
#include <string.h>

#include "perp_test.h"
#include "support/scene_sim.h"

static const double G = 9.81;

/* A disc of mass 2 and radius 1 over a soft half-plane. */
static scene_sim disc(const char* stepper, double h, double duration, const char* compliance,
                      double height, double speed)
{
    return scene_sim_open(
        "{'dimension':2,'gravity':[0,-9.81],'step':%.17g,'duration':%.17g,'stepper':%s,"
        "'tolerance':1e-13,"
        "'bodies':[{'name':'ground','type':'static','compliance':%s,'shapes':["
        "{'type':'halfplane','normal':[0,1]}]},{'name':'disc','mass':2,'inertia':1,"
        "'position':[0,%.17g],'velocity':[0,%.17g],'shapes':[{'type':'circle',"
        "'radius':1}]}]}",
        h, duration, stepper, compliance, height, speed);
}

#define EULER "'compliant'"
#define MIDPOINT "{'type':'compliant','midpoint':true}"

static perp_contact first_contact(const scene_sim* s)
{
    int32_t count;
    const perp_contact* c = perp_sim_contacts(s->sim, &count);
    return count > 0 ? c[0] : (perp_contact){0};
}

/* [B09 (3.103)-(3.110)] for a point: the step with the layer pressed, if it then pushes; else free
 * flight, the layer creeping back by itself. */
TEST(the_step_follows_the_exact_recursion_of_the_scheme)
{
    static const double damping[] = {0.0, 3.0, 60.0};
    const double m = 2.0, k = 1000.0, limit = 0.05, h = 0.001;
    for (int i = 0; i < 6; ++i) {
        const double c = damping[i % 3], most = i < 3 ? limit : INFINITY;
        char text[128];
        (void)snprintf(text, sizeof text, "{'stiffness':%g,'damping':%g%s}", k, c,
                       i < 3 ? ",'max_deflection':0.05" : "");
        scene_sim s = disc(EULER, h, 2.0, text, 1.3, 0.0);
        REQUIRE(s.sim != NULL);
        double y = 0.3, v = 0.0, delta = 0.0, worst = 0.0;
        bool core = false, met = false;
        while (!perp_sim_finished(s.sim)) {
            REQUIRE_OK(perp_sim_step(s.sim));
            /* pressed: delta' = -(y + h v') */
            double u = (m * v - h * m * G - h * k * y - c * (y + delta)) / (m + h * h * k + h * c);
            double p = m * (u - v + h * G), next = -(y + h * u), hit = 0.0;
            if (!(p > 0.0)) {
                p = 0.0;
                u = v - h * G;
                next = delta * c / (h * k + c);
            } else if (next > most) {
                next = most;
                u = (-most - y) / h;
                p = m * (u - v + h * G);
                hit = p - h * k * next - c * (next - delta);
                core = true;
            }
            delta = next;
            v = u;
            y += h * v;
            const perp_body_state b = scene_sim_body(&s, "disc");
            const perp_contact contact = first_contact(&s);
            const double error[] = {b.position[1] - 1.0 - y, b.velocity[1] - v,
                                    contact.layer.end[0] - (contact.key != 0 ? delta : 0.0),
                                    contact.impulse[0] - p, contact.layer.core - hit};
            for (int j = 0; j < 5; ++j) {
                worst = fabs(error[j]) > worst ? fabs(error[j]) : worst;
            }
            met = met || p > 0.0;
            if (contact.key == 0 && delta > 0.0) {
                delta = 0.0; /* out of reach: forgotten (docs/steppers.md) */
            }
            CHECK_AT_MOST(perp_sim_step_info(s.sim).certificate.worst, 1e-12);
        }
        TEST_PRINT("damping %g, %s: largest deviation %.1e", c, core ? "core met" : "no core",
                   worst);
        CHECK_AT_MOST(worst, 1e-10);
        CHECK(met);
        CHECK(core == (i < 3));
        scene_sim_close(&s);
    }
}

TEST(a_body_at_rest_presses_its_layer_by_its_weight_over_the_stiffness)
{
    const double k = 1000.0, expected = 2.0 * G / k;
    scene_sim s = disc(EULER, 0.01, 10.0, "{'stiffness':1000,'damping':90}", 1.0, 0.0);
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-12);
    CHECK_NEAR(first_contact(&s).layer.end[0], expected, 1e-12 * expected);
    CHECK_NEAR(1.0 - scene_sim_body(&s, "disc").position[1], expected, 1e-12);
    CHECK_AT_MOST(fabs(scene_sim_body(&s, "disc").velocity[1]), 1e-13);
    scene_sim_close(&s);
    /* started there, it stays: what is pressed in at the start is no overlap, and no energy appears */
    for (int i = 0; i < 2; ++i) {
        s = disc(i == 0 ? EULER : MIDPOINT, 0.01, 1.0, "{'stiffness':1000}", 1.0 - expected, 0.0);
        REQUIRE(s.sim != NULL);
        const double before = perp_sim_energy(s.sim).total;
        CHECK_AT_MOST(scene_sim_run(&s), 1e-12);
        CHECK_NEAR(1.0 - scene_sim_body(&s, "disc").position[1], expected, 1e-12 * expected);
        CHECK_NEAR(perp_sim_energy(s.sim).total, before, 1e-12);
        scene_sim_close(&s);
    }
}

/* m y'' = -k y - c y' - m g from rest at y = 0, pressed all the time: y = -(m g / k)(1 - ...). */
static double error_after(const char* stepper, double h)
{
    const double m = 2.0, k = 800.0, c = 8.0, t = 0.5;
    scene_sim s = disc(stepper, h, t, "{'stiffness':800,'damping':8}", 1.0, 0.0);
    const double a = c / (2.0 * m), w = sqrt(k / m - a * a);
    const double exact = -m * G / k * (1.0 - exp(-a * t) * (cos(w * t) + a / w * sin(w * t)));
    double error = INFINITY;
    if (s.sim != NULL && scene_sim_run(&s) <= 1e-12) {
        error = fabs(scene_sim_body(&s, "disc").position[1] - 1.0 - exact);
    }
    scene_sim_close(&s);
    return error;
}

TEST(euler_steps_are_of_first_order_and_midpoint_steps_of_second)
{
    const double euler = log2(error_after(EULER, 5e-4) / error_after(EULER, 2.5e-4));
    const double midpoint = log2(error_after(MIDPOINT, 4e-3) / error_after(MIDPOINT, 2e-3));
    TEST_PRINT("observed orders: compliant %.3f, with midpoint %.3f", euler, midpoint);
    CHECK_NEAR(euler, 1.0, 0.05);
    CHECK_NEAR(midpoint, 2.0, 0.05);
}

/* Ten bounces: touching and leaving within a step included. */
TEST(midpoint_steps_keep_the_energy_of_a_bouncing_disc)
{
    scene_sim s = disc(MIDPOINT, 1e-3, 10.0, "{'stiffness':1000}", 1.5, 0.0);
    REQUIRE(s.sim != NULL);
    const double before = perp_sim_energy(s.sim).total;
    double worst = 0.0;
    int bounces = 0;
    double v = 0.0;
    while (!perp_sim_finished(s.sim)) {
        REQUIRE_OK(perp_sim_step(s.sim));
        const double off = fabs(perp_sim_energy(s.sim).total - before);
        worst = off > worst ? off : worst;
        const double now = scene_sim_body(&s, "disc").velocity[1];
        bounces += v < 0.0 && now >= 0.0;
        v = now;
    }
    TEST_PRINT("%d bounces, energy kept to %.1e J of %.3g J", bounces, worst, before);
    CHECK_AT_MOST(worst, 1e-10);
    CHECK(bounces >= 8);
    scene_sim_close(&s);
    /* the same with Euler steps: some is lost, none appears */
    s = disc(EULER, 1e-3, 10.0, "{'stiffness':1000}", 1.5, 0.0);
    REQUIRE(s.sim != NULL);
    double last = before;
    while (!perp_sim_finished(s.sim)) {
        REQUIRE_OK(perp_sim_step(s.sim));
        const double now = perp_sim_energy(s.sim).total;
        /* free fall by Euler steps gains m (g h)^2 / 2 a step; nothing else may */
        CHECK(now <= last + 1.1 * G * G * 1e-6);
        last = now;
    }
    CHECK(last < before - 0.1);
    scene_sim_close(&s);
}

/* Boxes whose layers are far stiffer than the step resolves (h^2 K / m up to 60): corners are
 * touched and left in turn, and what layers give may not be more than what they had. */
TEST(midpoint_steps_of_unresolved_layers_gain_no_energy)
{
    double worst = 0.0;
    for (int k = 0; k < 12; ++k) {
        const double stiffness = 2e5 * (1.0 + k % 4), h = k < 6 ? 3e-3 : 1e-3;
        scene_sim s = scene_sim_quoted(
            "{'gravity':[0,0,-9.81],'step':%.9g,'duration':0.3,"
            "'stepper':{'type':'compliant','midpoint':true},'contact':'standard',"
            "'friction':{'default':0.3},'bodies':["
            "{'name':'floor','type':'static','shapes':[{'type':'plane','normal':[0,0,1]}]},"
            "{'name':'a','mass':0.47,'inertia':[1.4e-4,2.4e-4,2.3e-4],'position':[0,0.0025,0.0295],"
            "'axis_angle':[1,0.3,0,%.9g],'shapes':[{'type':'box','size':[0.088,0.057,0.057]}],"
            "'compliance':{'stiffness':%.9g,'damping':4.9}},"
            "{'name':'b','mass':0.73,'position':[0.003,-0.0015,0.0775],"
            "'shapes':[{'type':'box','size':[0.076,0.073,0.037]}],"
            "'compliance':{'stiffness':%.9g}}]}",
            h, 0.004 * (k % 3), stiffness, 6.0 * stiffness);
        REQUIRE(s.sim != NULL);
        const double before = perp_sim_energy(s.sim).total;
        while (!perp_sim_finished(s.sim)) {
            REQUIRE_OK(perp_sim_step(s.sim));
            const double gain = perp_sim_energy(s.sim).total - before;
            worst = gain <= worst ? worst : gain;
        }
        scene_sim_close(&s);
    }
    TEST_PRINT("two soft boxes of 0.7 J: largest gain %.1e J", worst);
    CHECK_AT_MOST(worst, 1e-6);
}

TEST(the_core_stops_a_body_at_the_greatest_deflection)
{
    for (int i = 0; i < 2; ++i) {
        scene_sim s = disc(i == 0 ? EULER : MIDPOINT, 1e-4, 0.6,
                           "{'stiffness':1000,'max_deflection':0.05}", 1.5, 0.0);
        REQUIRE(s.sim != NULL);
        double deepest = 0.0, core = 0.0, speed = NAN, after = NAN, drift = 0.0;
        while (!perp_sim_finished(s.sim)) {
            REQUIRE_OK(perp_sim_step(s.sim));
            const perp_contact c = first_contact(&s);
            deepest = c.layer.end[0] > deepest ? c.layer.end[0] : deepest;
            if (c.layer.core > core) {
                core = c.layer.core;
                speed = scene_sim_body(&s, "disc").velocity[1];
            }
            if (core > 0.0 && c.layer.core == 0.0) {
                after = isnan(after) ? perp_sim_energy(s.sim).total : after;
                const double off = fabs(perp_sim_energy(s.sim).total - after);
                drift = off > drift ? off : drift;
            }
            CHECK_AT_MOST(perp_sim_step_info(s.sim).certificate.worst, 1e-12);
            CHECK_AT_MOST(perp_sim_step_info(s.sim).penetration, 1e-14);
        }
        CHECK_NEAR(deepest, 0.05, 1e-15);
        CHECK(core > 1.0);
        CHECK_AT_MOST(fabs(speed), 3.0); /* what is left of 3 m/s: the way to the core over h */
        TEST_PRINT("%s: core impulse %.4f, energy after it kept to %.1e J",
                   i == 0 ? "Euler" : "midpoint", core, drift);
        if (i == 1) {
            CHECK_AT_MOST(drift, 1e-10);
        }
        scene_sim_close(&s);
    }
}

/* Of a ball, whose contact force is unique even when rigid. */
static scene_sim sliding_ball(const char* stepper, const char* compliance)
{
    return scene_sim_open(
        "{'gravity':[0,0,-9.81],'step':0.005,'duration':0.8,'stepper':'%s',"
        "'tolerance':1e-12,'friction':{'default':0.3},'bodies':[{'name':'ground',"
        "'type':'static','shapes':[{'type':'plane','normal':[0,0,1]}]},{'name':"
        "'ball',"
        "'density':500,'position':[0,0,0.27],'velocity':[1.5,0.4,0],'angular_velocity':[0,-"
        "4,3]"
        "%s,'shapes':[{'type':'sphere','radius':0.25}]}]}",
        stepper, compliance);
}

TEST(an_ever_stiffer_layer_gives_the_rigid_step)
{
    scene_sim rigid = sliding_ball("stewart-trinkle", "");
    REQUIRE(rigid.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&rigid), 1e-10);
    const perp_body_state a = scene_sim_body(&rigid, "ball");
    double last = INFINITY;
    for (int i = 0; i < 3; ++i) {
        char text[128];
        const double k = i == 0 ? 1e8 : i == 1 ? 1e11 : 1e14;
        (void)snprintf(text, sizeof text, ",'compliance':{'stiffness':%g}", k);
        scene_sim soft = sliding_ball("compliant", text);
        REQUIRE(soft.sim != NULL);
        CHECK_AT_MOST(scene_sim_run(&soft), 1e-10);
        const perp_body_state b = scene_sim_body(&soft, "ball");
        double off = 0.0;
        for (int j = 0; j < 3; ++j) {
            off = fmax(off, fabs(a.position[j] - b.position[j]));
            off = fmax(off, fabs(a.velocity[j] - b.velocity[j]));
        }
        TEST_PRINT("stiffness %g: %.1e from the rigid motion", k, off);
        CHECK(off < 0.1 * last);
        last = off;
        scene_sim_close(&soft);
    }
    CHECK_AT_MOST(last, 1e-7);
    scene_sim_close(&rigid);
}

/* A block on a soft floor, pulled sideways by a force F: mu m g = 9.81. */
static scene_sim pulled(double force)
{
    return scene_sim_open(
        "{'gravity':[0,0,-9.81],'step':0.002,'duration':4,'stepper':'compliant',"
        "'tolerance':1e-13,'friction':{'default':0.5},'bodies':[{'name':'ground',"
        "'type':'static','compliance':{'stiffness':[[2000,0,0],[0,500,0],[0,0,500]],"
        "'damping':[[90,0,0],[0,40,0],[0,0,40]]},'shapes':[{'type':'plane','normal':[0,0,"
        "1]}"
        "]},{'name':'mass','mass':2,'position':[0,0,0],'shapes':[{'type':'particle'}]"
        "}],"
        "'forces':[{'type':'wrench','body':'mass','force':[%.17g,0,0]}]}",
        force);
}

TEST(a_tangential_layer_gives_way_before_the_contact_slides)
{
    /* below the cone: it sticks, displaced by F / k_t; the layer has taken all of it */
    scene_sim s = pulled(6.0);
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-11);
    const perp_contact c = first_contact(&s);
    CHECK_NEAR(scene_sim_body(&s, "mass").position[0], 6.0 / 500.0, 1e-9);
    CHECK_NEAR(fabs(c.layer.end[1]), 6.0 / 500.0, 1e-9);
    CHECK_NEAR(hypot(c.impulse[1], c.impulse[2]), 6.0 * 0.002, 1e-9);
    CHECK_NEAR(c.layer.end[0], 2.0 * G / 2000.0, 1e-9);
    scene_sim_close(&s);
    /* beyond: the layer holds mu m g / k_t, the rest accelerates */
    s = pulled(15.0);
    REQUIRE(s.sim != NULL);
    while (perp_sim_time(s.sim) < 3.0) {
        REQUIRE_OK(perp_sim_step(s.sim));
    }
    const double before = scene_sim_body(&s, "mass").velocity[0], t = perp_sim_time(s.sim);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-11);
    const double a = (scene_sim_body(&s, "mass").velocity[0] - before) / (perp_sim_time(s.sim) - t);
    CHECK_NEAR(a, (15.0 - 0.5 * 2.0 * G) / 2.0, 1e-9);
    CHECK_NEAR(fabs(first_contact(&s).layer.end[1]), 0.5 * 2.0 * G / 500.0, 1e-9);
    scene_sim_close(&s);
}

/* A ground of two shapes, and the first mass on the second of them: the keys of the two contacts do not
 * ascend, and each layer is remembered all the same. */
TEST(layers_are_remembered_whichever_shape_of_a_body_is_touched)
{
    scene_sim s =
        scene_sim_open("{'gravity':[0,0,-9.81],'step':0.002,'duration':4,'stepper':'compliant',"
                       "'friction':{'default':0.5},'forces':["
                       "{'type':'wrench','body':'one','force':[6,0,0]},"
                       "{'type':'wrench','body':'two','force':[6,0,0]}],"
                       "'bodies':[{'name':'ground','type':'static','shapes':["
                       "{'type':'box','size':[1,1,1],'position':[2,0,-0.5]},"
                       "{'type':'box','size':[1,1,1],'position':[-2,0,-0.5]}]},"
                       "{'name':'one','mass':2,'position':[-2,0,0],'shapes':[{'type':'particle'}],"
                       "'compliance':{'stiffness':500,'damping':40}},"
                       "{'name':'two','mass':2,'position':[2,0,0],'shapes':[{'type':'particle'}],"
                       "'compliance':{'stiffness':500,'damping':40}}]}");
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
    CHECK_NEAR(scene_sim_body(&s, "one").position[0], -2.0 + 6.0 / 500.0, 1e-8);
    CHECK_NEAR(scene_sim_body(&s, "two").position[0], 2.0 + 6.0 / 500.0, 1e-8);
    CHECK_NEAR(scene_sim_body(&s, "two").position[2], -2.0 * G / 500.0, 1e-8);
    scene_sim_close(&s);
}

/* lambda = K delta + C d(delta)/dt with everything coupled, in every step of a rough landing. */
TEST(the_impulse_is_what_a_coupled_layer_says)
{
    static const double K[3][3] = {{900, 120, -80}, {120, 400, 60}, {-80, 60, 300}};
    static const double C[3][3] = {{6, 1, 0}, {1, 4, -1}, {0, -1, 5}};
    const double h = 0.002;
    scene_sim s = scene_sim_open(
        "{'gravity':[0,0,-9.81],'step':%g,'duration':1,'stepper':'compliant',"
        "'tolerance':1e-13,'friction':{'default':0.4},'bodies':[{'name':'ground',"
        "'type':'static','compliance':{'stiffness':[[900,120,-80],[120,400,60],[-80,60,300]"
        "],"
        "'damping':[[6,1,0],[1,4,-1],[0,-1,5]]},'shapes':[{'type':'plane','normal':[0,0,"
        "1]}]},"
        "{'name':'ball','mass':1,'inertia':[0.1,0.1,0.1],'position':[0,0,0.6],"
        "'velocity':[1,-0.5,0],'shapes':[{'type':'sphere','radius':0.5}]}]}",
        h);
    REQUIRE(s.sim != NULL);
    int pressed = 0, sliding = 0;
    while (!perp_sim_finished(s.sim)) {
        REQUIRE_OK(perp_sim_step(s.sim));
        const perp_contact c = first_contact(&s);
        for (int i = 0; i < 3; ++i) {
            double p = 0.0;
            for (int j = 0; j < 3; ++j) {
                p += h * K[i][j] * c.layer.end[j] + C[i][j] * (c.layer.end[j] - c.layer.start[j]);
            }
            CHECK_NEAR(c.impulse[i], p, 1e-12);
        }
        const double t = hypot(c.impulse[1], c.impulse[2]);
        CHECK(t <= 0.4 * c.impulse[0] * (1.0 + 1e-9) + 1e-15);
        pressed += c.impulse[0] > 0.0;
        sliding += c.impulse[0] > 0.0 && t > 0.4 * c.impulse[0] * (1.0 - 1e-9);
        CHECK_AT_MOST(perp_sim_step_info(s.sim).certificate.worst, 1e-11);
    }
    TEST_PRINT("%d steps pressed, %d of them sliding", pressed, sliding);
    CHECK(pressed > 100 && sliding > 10 && sliding < pressed);
    scene_sim_close(&s);
}

TEST(two_soft_balls_are_springs_in_series_and_swap_their_velocities)
{
    for (int i = 0; i < 2; ++i) {
        scene_sim s = scene_sim_open(
            "{'gravity':[0,0,0],'step':0.001,'duration':0.5,'stepper':%s,'tolerance':1e-"
            "13,"
            "'bodies':[{'name':'a','mass':1,'inertia':[0.1,0.1,0.1],'position':[0,0,0],"
            "'velocity':[1,0,0],'compliance':{'stiffness':3000},'shapes':[{'type':"
            "'sphere',"
            "'radius':0.5}]},{'name':'b','mass':1,'inertia':[0.1,0.1,0.1],'position':"
            "[1.1,0,0],'compliance':{'stiffness':1500},'shapes':[{'type':'sphere',"
            "'radius':"
            "0.5}]}]}",
            i == 0 ? EULER : MIDPOINT);
        REQUIRE(s.sim != NULL);
        const double h = 0.001, k = 1000.0; /* 1 / (1/3000 + 1/1500) */
        double deepest = 0.0;
        while (!perp_sim_finished(s.sim)) {
            REQUIRE_OK(perp_sim_step(s.sim));
            const double a = scene_sim_body(&s, "a").velocity[0];
            const double b = scene_sim_body(&s, "b").velocity[0];
            CHECK_NEAR(a + b, 1.0, 1e-13);
            const perp_contact c = first_contact(&s);
            deepest = fmax(deepest, c.layer.end[0]);
            if (i == 0) {
                CHECK_NEAR(c.impulse[0], h * k * c.layer.end[0], 1e-13);
            }
            CHECK_AT_MOST(perp_sim_step_info(s.sim).certificate.worst, 1e-11);
        }
        TEST_PRINT("%s: deepest %.6f, velocities %.9f %.9f", i == 0 ? "Euler" : "midpoint", deepest,
                   scene_sim_body(&s, "a").velocity[0], scene_sim_body(&s, "b").velocity[0]);
        if (i == 1) { /* sqrt(m_eff / k) v */
            CHECK_NEAR(deepest, sqrt(0.5 / k), 2e-5);
            CHECK_AT_MOST(fabs(scene_sim_body(&s, "a").velocity[0]), 1e-9);
            CHECK_NEAR(scene_sim_body(&s, "b").velocity[0], 1.0, 1e-9);
        } else {
            CHECK(scene_sim_body(&s, "b").velocity[0] < 1.0);
        }
        scene_sim_close(&s);
    }
    perp_compliance_def both;
    scene_sim s = scene_sim_open(
        "{'dimension':2,'stepper':'compliant','bodies':[{'name':'a','mass':1,"
        "'inertia':1,"
        "'compliance':{'stiffness':3000,'damping':9,'max_deflection':0.1},'shapes':[{"
        "'type':"
        "'circle','radius':1}]},{'name':'b','mass':1,'inertia':1,'position':[5,0],"
        "'compliance':{'stiffness':1500,'max_deflection':0.2},'shapes':[{'type':"
        "'circle',"
        "'radius':1}]}]}");
    REQUIRE(s.sim != NULL);
    REQUIRE(perp_model_pair_compliance(perp_sim_model(s.sim), 0, 1, &both));
    CHECK_NEAR(both.stiffness[0], 1000.0, 1e-9);
    CHECK_NEAR(both.damping[0], 1.0, 1e-12); /* a takes a third of the deflection: 9 / 3^2 */
    CHECK_NEAR(both.max_deflection, 0.3, 1e-15);
    scene_sim_close(&s);
}

TEST(a_stack_of_soft_boxes_settles_to_the_weight_above_each)
{
    char text[2048];
    int n = 0;
    for (int i = 0; i < 5; ++i) {
        n += snprintf(text + n, sizeof text - (size_t)n,
                      ",{'name':'b%d','density':1000,'position':[0,0,%.17g],'compliance':"
                      "{'stiffness':20000,'damping':60,'max_deflection':0.01},'shapes':[{"
                      "'type':'box','size':[0.1,0.1,0.1]}]}",
                      i, 0.05 + 0.1 * i);
    }
    scene_sim s =
        scene_sim_open("{'gravity':[0,0,-9.81],'step':0.004,'duration':4,'stepper':'compliant',"
                       "'friction':{'default':0.5},'bodies':[{'name':'ground','type':'static',"
                       "'shapes':["
                       "{'type':'plane','normal':[0,0,1]}]}%s]}",
                       text);
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
    double z = 0.05, worst = 0.0;
    for (int i = 0; i < 5; ++i) {
        /* four springs; between boxes two layers in series */
        const double weight = (5 - i) * 1.0 * G;
        z -= weight / (4.0 * (i == 0 ? 20000.0 : 10000.0));
        char name[16];
        (void)snprintf(name, sizeof name, "b%d", i);
        const perp_body_state b = scene_sim_body(&s, name);
        worst = fmax(worst, fabs(b.position[2] - z));
        worst = fmax(worst, fmax(fabs(b.position[0]), fabs(b.position[1])));
        z += 0.1;
    }
    TEST_PRINT("largest deviation of a box after 1000 steps: %.1e m", worst);
    CHECK_AT_MOST(worst, 1e-8);
    scene_sim_close(&s);
}

TEST(a_warm_step_with_layers_asks_for_no_memory)
{
    scene_sim s = scene_sim_open(
        "{'gravity':[0,0,-9.81],'step':0.004,'duration':10,'stepper':'compliant',"
        "'friction':{'default':0.5},'bodies':[{'name':'floor','type':'static',"
        "'compliance':{'stiffness':3000,'damping':5,'max_deflection':0.05},'shapes':[{"
        "'type':'plane','normal':[0,0,1]}]},{'name':'a','density':1000,'position':"
        "[0,0,0.05],'compliance':{'stiffness':2000},'shapes':[{'type':'box','size':"
        "[0.1,0.1,0.1]}]},{'name':'b','density':1000,'position':[0,0,0.15],'shapes':["
        "{'type':'box','size':[0.1,0.1,0.1]}]}]}");
    REQUIRE(s.sim != NULL);
    for (int i = 0; i < 50; ++i) {
        REQUIRE_OK(perp_sim_step(s.sim));
    }
    const uint64_t before = perp_context_allocations(s.context);
    for (int i = 0; i < 300; ++i) {
        REQUIRE_OK(perp_sim_step(s.sim));
    }
    CHECK_EQ_U64(perp_context_allocations(s.context) - before, 0);
    scene_sim_close(&s);
}

/* Two discs on one fixed joint: correcting the joint must not hold the layers still. */
TEST(joints_that_are_corrected_leave_the_layers_their_motion)
{
    double y[2];
    for (int i = 0; i < 2; ++i) {
        scene_sim s = scene_sim_open(
            "{'dimension':2,'gravity':[0,-9.81],'step':0.001,'duration':0.25,'stepper':"
            "'compliant','joint_correction':%s,'friction':{'cone':'none'},'bodies':[{"
            "'name':'ground','type':'static','compliance':{'stiffness':1000},"
            "'shapes':"
            "[{'type':'halfplane','normal':[0,1]}]},{'name':'a','mass':2,'inertia':1,"
            "'position':[0,1.01],'shapes':[{'type':'circle','radius':1}]},{'name':"
            "'b',"
            "'mass':3,'inertia':1,'position':[2.5,1.01],'shapes':[{'type':'circle',"
            "'radius':1}]}],'joints':[{'name':'j','type':'fixed','a':'a','b':"
            "'b',"
            "'at':[1.25,1.01]}]}",
            i == 0 ? "false" : "true");
        REQUIRE(s.sim != NULL);
        CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
        y[i] = scene_sim_body(&s, "b").position[1];
        scene_sim_close(&s);
    }
    TEST_PRINT("height of b without and with joint correction: %.6f %.6f", y[0], y[1]);
    CHECK(y[0] < 0.99);
    CHECK_NEAR(y[0], y[1], 1e-4);
}

/* Saved in mid-bounce, deflection and all, it goes on with the same bits. */
TEST(a_pressed_layer_survives_a_snapshot)
{
    for (int i = 0; i < 2; ++i) {
        scene_sim s[2];
        for (int j = 0; j < 2; ++j) {
            s[j] = disc(i == 0 ? EULER : MIDPOINT, 0.001, 1.0, "{'stiffness':1000,'damping':20}",
                        1.05, 0.0);
            REQUIRE(s[j].sim != NULL);
        }
        while (perp_sim_time(s[0].sim) < 0.15) {
            REQUIRE_OK(perp_sim_step(s[0].sim));
        }
        CHECK(first_contact(&s[0]).layer.end[0] > 0.0);
        size_t size = 0;
        REQUIRE_OK(perp_sim_save(s[0].sim, NULL, &size));
        void* saved = malloc(size);
        REQUIRE_OK(perp_sim_save(s[0].sim, saved, &size));
        REQUIRE_OK(perp_sim_restore(s[1].sim, saved, size));
        free(saved);
        CHECK(perp_sim_energy(s[0].sim).total == perp_sim_energy(s[1].sim).total);
        CHECK_AT_MOST(scene_sim_run(&s[0]), 1e-12);
        CHECK_AT_MOST(scene_sim_run(&s[1]), 1e-12);
        CHECK(memcmp(perp_sim_q(s[0].sim), perp_sim_q(s[1].sim),
                     (size_t)perp_sim_q_size(s[0].sim) * sizeof(double)) == 0);
        scene_sim_close(&s[0]);
        scene_sim_close(&s[1]);
    }
}

static void check_refused(const char* stepper, const char* more, const char* ground,
                          const char* ball, const char* expected)
{
    scene_sim s = scene_sim_open("{'stepper':%s%s,'bodies':[{'name':'ground','type':"
                                 "'static'%s,'shapes':[{'type':"
                                 "'plane','normal':[0,0,1]}]},{'name':'ball','mass':1,"
                                 "'inertia':[1,1,1],'position':"
                                 "[0,0,3]%s}]}",
                                 stepper, more, ground, ball);
    CHECK(s.sim == NULL);
    if (strstr(s.error, expected) == NULL) {
        TEST_PRINT("expected '%s' in '%s'", expected, s.error);
        CHECK(false);
    }
    scene_sim_close(&s);
}

#define BALL ",'shapes':[{'type':'sphere','radius':1}]"
#define SOFT(text) ",'compliance':{" text "}"

TEST(a_compliance_that_makes_no_sense_is_refused_where_it_stands)
{
    check_refused(EULER, "", SOFT("'stiffness':-1"), BALL,
                  "/bodies/0/compliance/stiffness: must be >= 0, got -1");
    check_refused(EULER, "", SOFT("'stiffness':[[1,2,0],[3,9,0],[0,0,1]]"), BALL,
                  "/bodies/0/compliance/stiffness: must be symmetric, but entry (0, 1) is 2");
    check_refused(EULER, "", SOFT("'stiffness':[[1,2,0],[2,1,0],[0,0,1]]"), BALL,
                  "/bodies/0/compliance/stiffness: must be positive semidefinite");
    check_refused(EULER, "", SOFT("'stiffness':1,'damping':[[1,0,0],[0,-1,0],[0,0,1]]"), BALL,
                  "/bodies/0/compliance/damping: must be positive semidefinite");
    check_refused(EULER, "", SOFT("'stiffness':[[1,0],[0,1]]"), BALL,
                  "/bodies/0/compliance/stiffness: must be a number or 3 rows of 3");
    check_refused(EULER, "", SOFT("'stiffness':0"), BALL,
                  "/bodies/0/compliance/stiffness: with the damping it must resist");
    check_refused(EULER, "", SOFT("'stiffness':1,'max_deflection':-0.1"), BALL,
                  "/bodies/0/compliance/max_deflection: must be > 0, got -0.1");
    check_refused(EULER, "", SOFT("'damping':1"), BALL,
                  "/bodies/0/compliance: missing key 'stiffness'");
    check_refused(EULER, "", SOFT("'stiffness':1,'patch':{'spacing':0}"), BALL,
                  "/bodies/0/compliance/patch/spacing: must be > 0");
    check_refused(EULER, "", SOFT("'stiffnes':1"), BALL, "/bodies/0/compliance");
}

TEST(what_does_not_combine_with_soft_layers_is_refused_with_the_reason)
{
    check_refused("'stewart-trinkle'", "", SOFT("'stiffness':1"), BALL,
                  "/stepper: 'stewart-trinkle' takes bodies to be rigid, but 'ground' has a");
    check_refused(EULER, ",'contact':'corrective'", SOFT("'stiffness':1"), BALL,
                  "/contact: 'corrective' chooses");
    check_refused(EULER, "", SOFT("'stiffness':1,'patch':{'spacing':0.1}"),
                  ",'shapes':[{'type':'capsule','radius':1,'length':1}]",
                  "/bodies/0/compliance/patch: a patch exists between a plane and a sphere");
    check_refused(EULER, "", SOFT("'stiffness':1,'patch':{'spacing':0.1}"),
                  SOFT("'stiffness':1") BALL, "/bodies/0/compliance/patch: 'ground' has springs");
    check_refused(EULER, "", SOFT("'stiffness':0,'damping':1"), SOFT("'stiffness':1") BALL,
                  "/bodies/0/compliance/stiffness: two soft bodies");
    check_refused(MIDPOINT, "", "", BALL, "/stepper/midpoint: 'ground' and 'ball' are both rigid");
    check_refused("{'type':'compliant','midpoin':true}", "", SOFT("'stiffness':1"), BALL,
                  "midpoint");
    check_refused(EULER, "", SOFT("'stiffness':1,'max_deflection':0.1"),
                  ",'shapes':[{'type':'sphere','radius':4}]", "overlap at the start by 1");
}

/* The arm of an open contact ends in the middle of the gap: so must the bound on the mass that its tie
 * borrows. A box of 2 cm that comes at 46 m/s has contacts far outside of it. */
TEST(a_soft_and_a_rigid_body_may_come_fast)
{
    scene_sim s = scene_sim_open(
        "{'dimension': 2, 'step': 0.0153, 'duration': 0.2, 'stepper': {'type': 'compliant'},"
        " 'contact': 'standard', 'gravity': [0, 0], 'friction': {'default': 0.3}, 'bodies': ["
        "{'name': 'a', 'mass': 1000, 'velocity': [-0.69, 2.58],"
        " 'shapes': [{'type': 'box', 'size': [0.0121, 0.0249]}],"
        " 'compliance': {'stiffness': 3.9e6, 'max_deflection': 0.002}},"
        "{'name': 'b', 'mass': 1000, 'position': [0.08, 0], 'velocity': [-45.6, 0],"
        " 'angular_velocity': -10.75, 'shapes': [{'type': 'box', 'size': [0.0225, 0.0071]}]}]}");
    REQUIRE(s.sim != NULL);
    while (!perp_sim_finished(s.sim)) {
        REQUIRE_OK(perp_sim_step(s.sim));
    }
    scene_sim_close(&s);
}

/* A cylinder that wobbles on a box has one, two or six points of contact in turn. */
TEST(points_of_contact_that_appear_bring_no_energy)
{
    double most = 0.0;
    for (int i = 0; i < 24; ++i) {
        scene_sim s = scene_sim_open(
            "{'gravity':[0,0,-9.81],'step':0.002,'duration':0.06,'stepper':'compliant',"
            "'contact':'standard','friction':{'cone':'none'},'bodies':["
            "{'name':'ground','type':'static','shapes':[{'type':'plane','normal':[0,0,1]}]},"
            "{'name':'table','mass':0.094,'position':[0,0,0.01956],'shapes':[{'type':'box','size':"
            "[0.0573,0.032,0.03912]}]},"
            "{'name':'can','mass':0.382,'position':[-0.0015,0.003,0.055],'velocity':[0.143,0.028,-"
            "0.2],"
            "'angular_velocity':[%g,%g,10.3],'compliance':{'stiffness':1300,'damping':%g,"
            "'max_deflection':0.005},'shapes':[{'type':'cylinder','radius':0.0209,'length':0.0289}]"
            "}]}",
            -8.0 + 0.2 * i, 6.5 - 0.1 * i, i % 2 == 0 ? 0.38 : 0.0);
        REQUIRE(s.sim != NULL);
        const perp_energy start = perp_sim_energy(s.sim);
        double last = start.total;
        while (!perp_sim_finished(s.sim)) {
            REQUIRE_OK(perp_sim_step(s.sim));
            const perp_energy now = perp_sim_energy(s.sim);
            const double grown = (now.total - last) / start.kinetic;
            most = grown > most ? grown : most;
            last = now.total;
        }
        scene_sim_close(&s);
    }
    TEST_PRINT("largest gain of a step, of the kinetic energy at the start: %.3f", most);
    CHECK_AT_MOST(most, 0.25); /* 2.9 with whole springs */
}

/* The largest energy of a run above that at its start, over the kinetic energy at the start or what the
 * weight could give. */
static double largest_gain(scene_sim* s, double scale)
{
    const double start = perp_sim_energy(s->sim).total;
    double most = -INFINITY;
    while (!perp_sim_finished(s->sim)) {
        if (perp_sim_step(s->sim) != PERP_OK) {
            return INFINITY;
        }
        const double gain = (perp_sim_energy(s->sim).total - start) / scale;
        most = gain <= most ? most : gain;
    }
    return most;
}

/* Of two boxes that rock on each other the directions of a face and of crossing edges are about as deep,
 * and take turns to be the shallowest: the layers of all of them act. */
TEST(soft_boxes_that_rock_on_each_other_gain_no_energy)
{
    double most = -INFINITY;
    for (int i = 0; i < 24; ++i) {
        const char* type = i < 12 ? "'box'" : "'polyhedron','solid':'block'";
        scene_sim s = scene_sim_open(
            "{'gravity':[0,0,-9.81],'step':0.0041,'duration':0.3,'stepper':%s,"
            "'friction':{'default':0.1},'bodies':["
            "{'name':'ground','type':'static','shapes':[{'type':'plane','normal':[0,0,1]}]},"
            "{'name':'low','mass':0.0037,'position':[%.17g,-0.00046,0.0068],"
            "'compliance':{'stiffness':166,'damping':0.015,'max_deflection':0.0015},"
            "'shapes':[{'type':%s,'size':[0.0073,0.0158,0.0136]}]},"
            "{'name':'high','mass':0.0034,'position':[0.00089,%.17g,0.01935],"
            "'compliance':{'stiffness':112,'damping':0.04,'max_deflection':0.0021},"
            "'shapes':[{'type':%s,'size':[0.0127,0.01526,0.0115]}]}]}",
            i % 2 == 0 ? MIDPOINT : EULER, -0.00065 - 0.0001 * (i % 12 / 2), type,
            0.00045 + 0.00002 * (i % 12), type);
        REQUIRE(s.sim != NULL);
        const double gain = largest_gain(&s, 0.0071 * G * 0.00033); /* down to where they rest */
        most = gain <= most ? most : gain;
        scene_sim_close(&s);
    }
    TEST_PRINT("largest gain %.3f of the weight's work", most);
    CHECK_AT_MOST(most, 0.05);
}

/* A layer that is found once it is compressed has energy that nothing gave: a small `margin` is no reason
 * to find it late. */
TEST(a_small_margin_gives_fast_soft_bodies_no_energy)
{
    for (int i = 0; i < 4; ++i) {
        scene_sim s = scene_sim_open(
            "{'dimension':2,'gravity':[0,0],'step':0.03,'duration':0.6,'margin':%g,'stepper':%s,"
            "'friction':{'cone':'none'},'bodies':["
            "{'name':'wall','type':'static','position':[2,0],'shapes':[{'type':'box','size':"
            "[0.4,9]}]},{'name':'ball','mass':100,'velocity':[40,0],'compliance':{'stiffness':7e6},"
            "'shapes':[{'type':'circle','radius':0.75}]}]}",
            i < 2 ? 0.0 : 0.09, i % 2 == 0 ? MIDPOINT : EULER);
        REQUIRE(s.sim != NULL);
        CHECK_AT_MOST(largest_gain(&s, perp_sim_energy(s.sim).kinetic), 1e-9);
        CHECK_AT_MOST(scene_sim_body(&s, "ball").position[0], 1.8);
        scene_sim_close(&s);
    }
}
