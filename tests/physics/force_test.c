/* Springs, dampers and drag against their discrete and continuous closed forms. */
#include <string.h>

#include "perp_test.h"
#include "support/scene_sim.h"

/* A particle of mass 2 on a spring along x, rest length 1, started at 1.5. */
static scene_sim oscillator(double h, double duration, double k, double d, bool implicit)
{
    return scene_sim_open("{'dimension':2,'step':%.17g,'duration':%.17g,'bodies':[{'name':"
                          "'m','mass':2,'position':[1.5,0]}],'forces':[{'type':'spring',"
                          "'a':'world','b':'m','stiffness':%.17g,'damping':%.17g,"
                          "'rest':1,'implicit':%s}]}",
                          h, duration, k, d, implicit ? "true" : "false");
}

/* v' = (v - h k x / m) / (1 + h d / m + h^2 k / m), x' = x + h v': the implicit Euler method. */
TEST(an_implicit_spring_follows_the_implicit_euler_recursion_at_any_stiffness)
{
    static const double stiffness[] = {0.0, 1e-3, 1.0, 1e3, 1e6, 1e9, 1e12, 1e15};
    static const double damping[] = {0.0, 3.0, 1e9};
    const double h = 0.01, m = 2.0;
    double worst = 0.0;
    for (int i = 0; i < 24; ++i) {
        const double k = stiffness[i % 8], d = damping[i / 8];
        if (k == 0.0 && d == 0.0) {
            continue;
        }
        scene_sim s = oscillator(h, 1.0, k, d, true);
        REQUIRE(s.sim != NULL);
        double x = 0.5, v = 0.0, v_max = 0.0;
        while (!perp_sim_finished(s.sim)) {
            REQUIRE_OK(perp_sim_step(s.sim));
            v = (v - h * k * x / m) / (1.0 + h * d / m + h * h * k / m);
            x += h * v;
            v_max = fabs(v) > v_max ? fabs(v) : v_max;
            const perp_body_state b = scene_sim_body(&s, "m");
            const double off_x = fabs(b.position[0] - 1.0 - x) / 1.5;
            const double off_v = v_max > 0.0 ? fabs(b.velocity[0] - v) / v_max : 0.0;
            worst = off_x > worst ? off_x : worst;
            worst = off_v > worst ? off_v : worst;
            CHECK_AT_MOST(off_x, 1e-12);
            CHECK_AT_MOST(off_v, 1e-12);
            CHECK_AT_MOST(perp_sim_step_info(s.sim).certificate.worst, 1e-8);
        }
        /* it loses energy, never gains */
        CHECK(perp_sim_energy(s.sim).total <= 0.5 * k * 0.25 * (1.0 + 1e-12));
        scene_sim_close(&s);
    }
    TEST_PRINT("largest difference from the recursion: %.1e", worst);
}

/* m x'' = -k x - d x' from x = 1/2 at rest, k = 50, d = 4, m = 2: w^2 = 24, decay 1. */
static double damped(double t)
{
    const double w = sqrt(24.0);
    return 0.5 * exp(-t) * (cos(w * t) + sin(w * t) / w);
}

static double error_at_one(double h, double k, double d, bool implicit)
{
    scene_sim s = oscillator(h, 1.0, k, d, implicit);
    double error = INFINITY;
    if (s.sim != NULL && scene_sim_run(&s) <= 1e-8) {
        const double exact = d > 0.0 ? damped(1.0) : 0.5 * cos(sqrt(k / 2.0));
        error = fabs(scene_sim_body(&s, "m").position[0] - 1.0 - exact);
    }
    scene_sim_close(&s);
    return error;
}

TEST(springs_and_dampers_are_of_first_order)
{
    for (int i = 0; i < 4; ++i) {
        const bool implicit = i % 2 == 0;
        const double d = i < 2 ? 0.0 : 4.0;
        const double coarse = error_at_one(0.0005, 50.0, d, implicit);
        const double fine = error_at_one(0.00025, 50.0, d, implicit);
        const double order = log2(coarse / fine);
        TEST_PRINT("%s, damping %g: error %.2e at h = 0.00025, order %.3f",
                   implicit ? "implicit" : "explicit", d, fine, order);
        CHECK(order > 0.9 && order < 1.1);
    }
}

/* v' = v - h k x / m, x' = x + h v': symplectic, stable below h^2 k = 4 m and not above. */
TEST(an_explicit_spring_is_that_of_the_papers)
{
    const double h = 0.01, m = 2.0, k = 900.0, d = 0.7;
    scene_sim s = oscillator(h, 1.0, k, d, false);
    REQUIRE(s.sim != NULL);
    double x = 0.5, v = 0.0;
    while (!perp_sim_finished(s.sim)) {
        REQUIRE_OK(perp_sim_step(s.sim));
        v += h * (-k * x - d * v) / m;
        x += h * v;
        CHECK_NEAR(scene_sim_body(&s, "m").position[0], 1.0 + x, 1e-12);
    }
    scene_sim_close(&s);
}

/* h^2 k + 2 h d < 4 m, m = 2: bounded below, refused just above. */
TEST(an_explicit_spring_that_the_step_cannot_follow_is_refused)
{
    const double h = 0.01;
    for (int i = 0; i < 4; ++i) {
        const double d = (double[]){0.0, 100.0, 300.0, 399.0}[i];
        const double k = (8.0 - 2.0 * h * d) / (h * h);
        scene_sim s = oscillator(h, 5.0, 0.7 * k, 0.7 * d, false);
        REQUIRE(s.sim != NULL);
        CHECK(scene_sim_run(&s) <= 1e-8);
        CHECK(fabs(scene_sim_body(&s, "m").position[0] - 1.0) < 1.0);
        scene_sim_close(&s);
        s = oscillator(h, 5.0, 1.001 * k, 1.001 * d, false);
        CHECK(s.sim == NULL && strstr(s.error, "unstable") != NULL);
        scene_sim_close(&s);
        s = oscillator(h, 0.1, 1.001 * k, 1.001 * d, true);
        CHECK(s.sim != NULL);
        scene_sim_close(&s);
    }
}

/* The arm of the anchor makes a body light: 1/m + r^2/I = 1 + 0.25/0.01 = 26. With an axis of more
 * inertia the least counts. On a joint there is a warning only, and other steppers and adaptive
 * steps follow any spring. */
TEST(the_arm_of_an_explicit_spring_counts)
{
    static const struct {
        const char *more, *inertia, *joint;
        double part; /* of the stiffness 4/(26 h^2) */
        bool refused;
    } kind[] = {{"'step':0.01", "0.01,0.02,0.03", "", 0.999, false},
                {"'step':0.01", "0.01,0.02,0.03", "", 1.001, true},
                {"'step':0.01", "0.03,0.01,0.02", "", 1.001, true},
                {"'step':0.01,'stepper':'implicit'", "0.01,0.02,0.03", "", 1.001, false},
                {"'step':{'error':1e-3}", "0.01,0.02,0.03", "", 1.001, false},
                {"'step':0.01", "0.01,0.02,0.03",
                 "'joints':[{'name':'j','type':'spherical','a':'world','b':'m','at':[0,0,0]}],",
                 1.001, false}};
    for (size_t i = 0; i < sizeof kind / sizeof kind[0]; ++i) {
        scene_sim s = scene_sim_quoted(
            "{%s,'duration':0.05,%s'bodies':[{'name':'m','mass':1,'inertia':[%s]}],'forces':["
            "{'type':'spring','a':'world','b':'m','at_a':[0,0,2],'at_b':[0,0,0.5],"
            "'stiffness':%.9g,'implicit':false}]}",
            kind[i].more, kind[i].joint, kind[i].inertia, kind[i].part * 4.0 / (26.0 * 1e-4));
        CHECK((s.sim == NULL) == kind[i].refused);
        scene_sim_close(&s);
    }
}

TEST(a_spring_of_rest_length_zero_pulls_in_every_direction_alike)
{
    /* x and y follow the same recursion, through the point where the ends meet */
    for (int implicit = 0; implicit < 2; ++implicit) {
        scene_sim s = scene_sim_open("{'step':0.01,'duration':2,'bodies':[{'name':'m','mass':1,"
                                     "'position':[1,0,"
                                     "-2],'velocity':[0,3,0]}],'forces':[{'type':'spring','a':"
                                     "'m','b':'world',"
                                     "'stiffness':40,'damping':0.1,'rest':0,'implicit':%s}]}",
                                     implicit ? "true" : "false");
        REQUIRE(s.sim != NULL);
        double x[3] = {1, 0, -2}, v[3] = {0, 3, 0};
        while (!perp_sim_finished(s.sim)) {
            REQUIRE_OK(perp_sim_step(s.sim));
            for (int i = 0; i < 3; ++i) {
                v[i] = implicit ? (v[i] - 0.4 * x[i]) / (1.0 + 0.001 + 0.004)
                                : v[i] - 0.01 * (40.0 * x[i] + 0.1 * v[i]);
                x[i] += 0.01 * v[i];
                CHECK_NEAR(scene_sim_body(&s, "m").position[i], x[i], 1e-12);
            }
        }
        scene_sim_close(&s);
    }
}

TEST(ends_of_a_spring_that_meet_do_no_harm)
{
    scene_sim s =
        scene_sim_open("{'step':0.01,'duration':0.5,'bodies':[{'name':'m','mass':1}],'forces':[{"
                       "'type':'spring','a':'m','b':'world','stiffness':10,'rest':1}]}");
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
    const perp_body_state b = scene_sim_body(&s, "m");
    CHECK(isfinite(b.position[0]) && fabs(b.position[0]) > 0.1); /* pushed apart, along some line */
    scene_sim_close(&s);
}

/* Two bodies that turn, on two springs between points off their centres. Round inertias: impulses on
 * others change the angular momentum by what they turn the body further within the step. */
TEST(springs_keep_linear_and_angular_momentum)
{
    static const char* const kinds[] = {"'stiffness':500,'damping':3",
                                        "'stiffness':500,'damping':3,'implicit':false",
                                        "'stiffness':1e10"};
    for (int i = 0; i < 3; ++i) {
        scene_sim s = scene_sim_open(
            "{'step':0.002,'duration':1,'bodies':[{'name':'a','mass':1,'inertia':[0."
            "2,"
            "0.2,0.2],'velocity':[1,0,0],'angular_velocity':[1,2,-1]},{'name':'b','mass':"
            "3,"
            "'inertia':[0.4,0.4,0.4],'position':[0.5,2,1],'angular_velocity':[0,-3,1]}],"
            "'forces':[{'type':'spring','a':'a','b':'b','at_a':[0.1,0.2,0],'at_"
            "b':"
            "[-0.2,0,0.3],'rest':1.7,%s},{'type':'spring','a':'b','b':'a','at_a':["
            "0.3,"
            "0,0],%s}]}",
            kinds[i], kinds[i]);
        REQUIRE(s.sim != NULL);
        double P[3], L[3], P_end[3], L_end[3];
        perp_sim_momentum(s.sim, P, L);
        CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
        perp_sim_momentum(s.sim, P_end, L_end);
        for (int k = 0; k < 3; ++k) {
            const double size = i < 2 ? 1.0 : 1e3; /* the stiff pair flies apart at that speed */
            CHECK_NEAR(P_end[k], P[k], 1e-11 * size);
            CHECK_NEAR(L_end[k], L[k], 1e-10 * size);
        }
        scene_sim_close(&s);
    }
}

TEST(the_energy_of_a_spring_is_potential_energy)
{
    scene_sim s = oscillator(0.001, 1.0, 50.0, 0.0, false);
    REQUIRE(s.sim != NULL);
    CHECK_NEAR(perp_sim_energy(s.sim).potential, 0.5 * 50.0 * 0.25, 1e-14);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
    CHECK_NEAR(perp_sim_energy(s.sim).total, 0.5 * 50.0 * 0.25, 0.05);
    scene_sim_close(&s);
}

/* A block on the ground, pulled up by a spring that is slack by less than its weight, stays. */
TEST(a_spring_and_a_contact_share_a_weight)
{
    scene_sim s =
        scene_sim_open("{'gravity':[0,0,-10],'step':0.01,'duration':1,'friction':{'default':0.5},"
                       "'bodies':[{'name':'floor','type':'static','shapes':[{'type':'plane',"
                       "'normal':[0,0,1]}]},{'name':'box','mass':2,'position':[0,0,0.5],'shapes':[{"
                       "'type':'box','size':[1,1,1]}]}],'forces':[{'type':'spring','a':'world',"
                       "'b':"
                       "'box','at_a':[0,0,3],'at_b':[0,0,0.5],'stiffness':12,'rest':1}]}");
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
    CHECK_NEAR(scene_sim_body(&s, "box").position[2], 0.5, 1e-10);
    int32_t count;
    const perp_contact* contact = perp_sim_contacts(s.sim, &count);
    double push = 0.0;
    for (int32_t i = 0; i < count; ++i) {
        push += contact[i].impulse[0];
    }
    CHECK_NEAR(push / 0.01, 20.0 - 12.0, 1e-6); /* weight minus 12 * (2 - 1) */
    scene_sim_close(&s);
}

/* A spring that ends on a moving body: towed at its speed once the swing has died. */
TEST(a_spring_to_a_kinematic_body_tows)
{
    scene_sim s =
        scene_sim_open("{'dimension':2,'step':0.01,'duration':20,'bodies':[{'name':'tug','type':"
                       "'kinematic','motion':{'position':['2*t',0]}},{'name':'m','mass':1,"
                       "'position':"
                       "[-1,0]}],'forces':[{'type':'spring','a':'tug','b':'m','stiffness':10,"
                       "'damping':2},{'type':'drag','body':'m','linear':0.5}]}");
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
    CHECK_NEAR(scene_sim_body(&s, "m").velocity[0], 2.0, 1e-6);
    CHECK_NEAR(scene_sim_body(&s, "m").position[0], 40.0 - 1.0 - 0.5 * 2.0 / 10.0, 1e-6);
    scene_sim_close(&s);
}

/* A damper alone, and one that also acts across its line. */
TEST(an_isotropic_damper_acts_across_its_line_too)
{
    for (int isotropic = 0; isotropic < 2; ++isotropic) {
        for (int implicit = 0; implicit < 2; ++implicit) {
            scene_sim s =
                scene_sim_open("{'step':0.001,'duration':0.001,'bodies':[{'name':'m','mass':1,"
                               "'position':[2,0,0],'velocity':[3,4,5]}],'forces':[{'type':'spring',"
                               "'a':"
                               "'world','b':'m','damping':100,'isotropic':%s,'implicit':%s}]}",
                               isotropic ? "true" : "false", implicit ? "true" : "false");
            REQUIRE(s.sim != NULL);
            CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
            const perp_body_state b = scene_sim_body(&s, "m");
            const double kept = implicit ? 1.0 / 1.1 : 0.9;
            CHECK_NEAR(b.velocity[0], 3 * kept, 1e-13);
            CHECK_NEAR(b.velocity[1], isotropic ? 4 * kept : 4, 1e-13);
            CHECK_NEAR(b.velocity[2], isotropic ? 5 * kept : 5, 1e-13);
            scene_sim_close(&s);
        }
    }
}

/* v' = v / (1 + h c / m), exactly; the same for a spin about a principal axis. */
TEST(drag_follows_its_closed_form_for_any_coefficient)
{
    static const double c[] = {0.0, 0.3, 1e3, 1e12};
    for (int i = 0; i < 4; ++i) {
        scene_sim s = scene_sim_open(
            "{'step':0.01,'duration':0.5,'bodies':[{'name':'m','mass':2,'inertia':[0."
            "5,"
            "0.5,0.8],'velocity':[1,-2,3],'angular_velocity':[0,0,7]}],'forces':[{'type':"
            "'drag','body':'m','linear':%.17g,'angular':%.17g},{'type':'drag',"
            "'body':"
            "'m','linear':%.17g}]}",
            0.25 * c[i], 0.1 * c[i], 0.75 * c[i]);
        REQUIRE(s.sim != NULL);
        CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
        const perp_body_state b = scene_sim_body(&s, "m");
        const double kept = pow(1.0 + 0.01 * c[i] / 2.0, -50.0);
        CHECK_NEAR(b.velocity[0], kept, 1e-13 * kept + 1e-300);
        CHECK_NEAR(b.velocity[2], 3 * kept, 3e-13 * kept + 1e-300);
        const double spun = pow(1.0 + 0.01 * 0.1 * c[i] / 0.8, -50.0);
        CHECK_NEAR(b.angular_velocity[2], 7 * spun, 1e-12 * spun + 1e-300);
        scene_sim_close(&s);
    }
}

/* Terminal velocity m g / c. */
TEST(a_falling_body_with_drag_reaches_its_terminal_velocity)
{
    scene_sim s =
        scene_sim_open("{'dimension':2,'gravity':[0,-9.81],'step':0.01,'duration':30,'bodies':[{"
                       "'name':"
                       "'m','mass':2,'inertia':1,'angular_velocity':3}],'forces':[{'type':'drag',"
                       "'body':'m','linear':4,'angular':5}]}");
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
    CHECK_NEAR(scene_sim_body(&s, "m").velocity[1], -2.0 * 9.81 / 4.0, 1e-12);
    CHECK_NEAR(scene_sim_body(&s, "m").angular_velocity[2], 0.0, 1e-12);
    scene_sim_close(&s);
}

/* One step from rest: what a wrench does, in either frame, and gravity of one's own. */
TEST(wrenches_turn_with_the_body_where_they_are_asked_to)
{
    for (int body_frame = 0; body_frame < 2; ++body_frame) {
        scene_sim s = scene_sim_open(
            "{'gravity':[0,0,-10],'step':0.1,'duration':0.1,'bodies':[{'name':'m',"
            "'mass':"
            "2,'inertia':[1,1,1],'gravity':[0,0,5],'axis_angle':[0,0,1,1.5707963267948966]}],"
            "'forces':[{'type':'wrench','body':'m','force':[4,'t',0],'at':[0,0,1],"
            "'torque':[0,0,3],'frame':'%s'}]}",
            body_frame ? "body" : "world");
        REQUIRE(s.sim != NULL);
        CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
        const perp_body_state b = scene_sim_body(&s, "m");
        CHECK_NEAR(b.velocity[0], body_frame ? 0.0 : 0.2, 1e-15);
        CHECK_NEAR(b.velocity[1], body_frame ? 0.2 : 0.0, 1e-15);
        CHECK_NEAR(b.velocity[2], 0.5, 1e-15); /* its own gravity */
        /* torque 3 about z, and (0, 0, 1) x force */
        CHECK_NEAR(b.angular_velocity[0], body_frame ? -0.4 : 0.0, 1e-15);
        CHECK_NEAR(b.angular_velocity[1], body_frame ? 0.0 : 0.4, 1e-15);
        CHECK_NEAR(b.angular_velocity[2], 0.3, 1e-15);
        scene_sim_close(&s);
    }
}

static void count_warnings(void* user, perp_log_level level, const char* message)
{
    int* warnings = user;
    *warnings += level == PERP_LOG_WARNING && strstr(message, "spring between") != NULL &&
                 strstr(message, "step below") != NULL;
}

static int spring_warnings(const char* joints, double stiffness, double arm, bool implicit)
{
    int warnings = 0;
    perp_context_def def = perp_context_def_default();
    def.log = count_warnings;
    def.log_user = &warnings;
    perp_context* context = NULL;
    perp_scene* scene = NULL;
    perp_sim* sim = NULL;
    char text[1024];
    snprintf(text, sizeof text,
             "{\"step\":0.01,\"duration\":0.1,%s\"bodies\":[{\"name\":\"m\",\"mass\":1,"
             "\"inertia\":[0.01,0.01,0.01]}],\"forces\":[{\"type\":\"spring\",\"a\":\"world\","
             "\"b\":\"m\",\"at_a\":[0,0,2],\"at_b\":[0,0,%g],\"stiffness\":%g,\"implicit\":%s}]}",
             joints, arm, stiffness, implicit ? "true" : "false");
    CHECK_OK(perp_context_create(&def, &context));
    CHECK_OK(perp_scene_parse(context, text, strlen(text), "test", NULL, 0, &scene));
    CHECK_OK(perp_sim_create_from_scene(context, scene, &sim));
    perp_sim_destroy(sim);
    perp_scene_destroy(scene);
    perp_context_destroy(context);
    return warnings;
}

/* Implicit: h^2 k r^2/I = 1e-4 k 0.25/0.01 against 100. Explicit, on a joint: the bound of the free
 * body, 4/26 1e4. */
TEST(springs_that_the_step_may_not_follow_are_warned_of)
{
    static const char joint[] = "\"joints\":[{\"name\":\"j\",\"type\":\"spherical\",\"a\":"
                                "\"world\",\"b\":\"m\",\"at\":[0,0,0]}],";
    CHECK_EQ_INT(spring_warnings("", 39000.0, 0.5, true), 0);
    CHECK_EQ_INT(spring_warnings("", 41000.0, 0.5, true), 1);
    CHECK_EQ_INT(spring_warnings("", 1e9, 0.0, true), 0);
    CHECK_EQ_INT(spring_warnings(joint, 41000.0, 0.5, true), 0);
    CHECK_EQ_INT(spring_warnings(joint, 1500.0, 0.5, false), 0);
    CHECK_EQ_INT(spring_warnings(joint, 1600.0, 0.5, false), 1);
}
