/* Gears between joints: closed forms of one degree of freedom, momentum, turns, and all steppers' rows. */
#include <math.h>

#include <stdio.h>
#include <string.h>

#include "perp_test.h"
#include "support/scene_sim.h"

#define ROTOR(name, x, I)                                                                          \
    "{'name':'" name "','mass':1,'inertia':[0.5,0.5," I "],'position':[" x                         \
    ",0,0],'shapes':[{'type':'sphere','radius':0.1,'collides':false}]}"
#define AXLE(name, a, b, x)                                                                        \
    "{'name':'" name "','type':'revolute','a':'" a "','b':'" b "','at':[" x ",0,0],'axis':[0,0,1]" \
    "}"

static double rate_after(scene_sim* s, const char* name, double effort, int steps)
{
    const int32_t joint = perp_model_joint_find(perp_scene_model(s->scene), name);
    for (int i = 0; i < steps; ++i) {
        CHECK(perp_sim_apply_joint_effort(s->sim, joint, effort) == PERP_OK);
        CHECK(perp_sim_step(s->sim) == PERP_OK);
        CHECK_AT_MOST(perp_sim_step_info(s->sim).certificate.worst, 1e-12);
    }
    return perp_sim_joint(s->sim, joint).rate[0];
}

static double coordinate(const scene_sim* s, const char* name)
{
    return perp_sim_joint(s->sim, perp_model_joint_find(perp_scene_model(s->scene), name))
        .coordinate[0];
}

/* I_1 q'' + r^2 I_2 q'' = tau */
TEST(a_geared_rotor_adds_its_inertia_times_the_ratio_squared)
{
    scene_sim s =
        scene_sim_open("{'step':0.01,'duration':5,'bodies':[" ROTOR("a", "0", "0.3") "," ROTOR(
            "b", "2", "0.02") "],'joints':[" AXLE("j1", "world", "a",
                                                  "0") "," AXLE("j2", "world", "b",
                                                                "2") ",{'name':'g','type':'gear','"
                                                                     "joints':['j1','"
                                                                     "j2'],'ratio':-5}]}");
    REQUIRE(s.sim != NULL);
    const double rate = rate_after(&s, "j1", 0.7, 200);
    CHECK_NEAR(rate, 2.0 * 0.7 / (0.3 + 25 * 0.02), 1e-12);
    /* b has made more than three turns */
    CHECK(coordinate(&s, "j2") < -8.0);
    CHECK_NEAR(coordinate(&s, "j2"), -5 * coordinate(&s, "j1"), 1e-12);
    scene_sim_close(&s);
}

/* Two rotors in one floating housing, three bodies: with the angular momentum 0,
 * q'' = tau / (I_a + r^2 I_b - (I_a + r I_b)^2 / (I_p + I_a + I_b)). */
TEST(two_rotors_in_a_floating_housing_turn_as_the_closed_form)
{
    scene_sim s =
        scene_sim_open("{'step':0.01,'duration':5,'bodies':[" ROTOR("p", "0", "0.8") "," ROTOR(
            "a", "0",
            "0.3") "," ROTOR("b", "0",
                             "0.02") "],'joints':[" AXLE("j1", "p", "a",
                                                         "0") "," AXLE("j2", "p", "b",
                                                                       "0") ",{'name':'g','type':'"
                                                                            "gear','joints':['"
                                                                            "j1','j2'],'ratio':3}]"
                                                                            "}");
    REQUIRE(s.sim != NULL);
    const double r = 3, Ia = 0.3, Ib = 0.02, Ip = 0.8;
    const double inertia = Ia + r * r * Ib - (Ia + r * Ib) * (Ia + r * Ib) / (Ip + Ia + Ib);
    CHECK_NEAR(rate_after(&s, "j1", 0.7, 200), 2.0 * 0.7 / inertia, 1e-11);
    CHECK_NEAR(coordinate(&s, "j2"), 3 * coordinate(&s, "j1"), 1e-12);
    const double spin = Ip * scene_sim_body(&s, "p").angular_velocity[2] +
                        Ia * scene_sim_body(&s, "a").angular_velocity[2] +
                        Ib * scene_sim_body(&s, "b").angular_velocity[2];
    CHECK_NEAR(spin, 0.0, 1e-13);
    scene_sim_close(&s);
}

/* Two separate floating pairs, four bodies: J = I_p I / (I_p + I) each, q'' = tau / (J_1 + r^2 J_2). */
TEST(a_gear_between_two_floating_pairs_has_four_bodies)
{
    scene_sim s =
        scene_sim_open("{'step':0.01,'duration':5,'bodies':[" ROTOR("p", "0", "0.8") "," ROTOR(
            "a", "0",
            "0.3") "," ROTOR("o", "3",
                             "0.5") "," ROTOR("b", "3",
                                              "0.02") "],'joints':[" AXLE("j1", "p", "a",
                                                                          "0") "," AXLE("j2", "o",
                                                                                        "b",
                                                                                        "3") ",{'"
                                                                                             "name'"
                                                                                             ":'g',"
                                                                                             "'type"
                                                                                             "':'"
                                                                                             "gear'"
                                                                                             ",'"
                                                                                             "joint"
                                                                                             "s':['"
                                                                                             "j1','"
                                                                                             "j2'],"
                                                                                             "'rati"
                                                                                             "o':3}"
                                                                                             "]}");
    REQUIRE(s.sim != NULL);
    const double J1 = 0.8 * 0.3 / 1.1, J2 = 0.5 * 0.02 / 0.52;
    CHECK_NEAR(rate_after(&s, "j1", 0.7, 200), 2.0 * 0.7 / (J1 + 9 * J2), 1e-11);
    scene_sim_close(&s);
}

/* A rack: travel 0.1 m per radian; the weight m g pulls with m g r on the pinion. */
TEST(a_rack_and_a_pinion_convert_torque_to_force)
{
    scene_sim s = scene_sim_open("{'gravity':[0,0,-10],'step':0.01,'duration':5,'bodies':[" ROTOR(
        "wheel", "0", "0.04") ",{'name':'rack','mass':2,'inertia':[0.1,0.1,0.1],"
                              "'position':[1,0,0]}],'joints':[" AXLE(
                                  "j1", "world", "wheel",
                                  "0") ",{'name':'j2','type':"
                                       "'prismatic','a':'world','b':'rack','at':[1,0,0],'axis':[0,"
                                       "0,1]},{'name':'g','type':'gear',"
                                       "'joints':['j1','j2'],'ratio':0.1}]}");
    REQUIRE(s.sim != NULL);
    /* (I + m r^2) q'' = -m g r */
    CHECK_NEAR(rate_after(&s, "j1", 0.0, 100), -2.0 * 10 * 0.1 / (0.04 + 2 * 0.01), 1e-11);
    CHECK_NEAR(coordinate(&s, "j2"), 0.1 * coordinate(&s, "j1"), 1e-12);
    scene_sim_close(&s);
}

/* Links that turn by radians, in all ways of stepping: the ratio holds and the energy does not grow. */
TEST(geared_double_pendulums_keep_ratio_and_energy_in_every_stepper)
{
    static const char* const way[] = {
        "'joint_correction':true",    "'joint_correction':false",
        "'stepper':'implicit'",       "'stepper':'geometric-implicit'",
        "'stepper':'anitescu-potra'", "'joint_direction':'middle'"};
    for (size_t i = 0; i < sizeof way / sizeof way[0]; ++i) {
        scene_sim s = scene_sim_open(
            "{'gravity':[0,-9.81,0],'step':0.005,'duration':1.5,%s,'bodies':"
            "[" ROTOR("a", "0.5", "0.1") "," ROTOR("b", "1.5", "0.1") "," ROTOR(
                "c", "2.5", "0.1") "],'joints':[" AXLE("j1", "world", "a",
                                                       "0") "," AXLE("j2", "a", "b",
                                                                     "1") "," AXLE("j3", "b", "c",
                                                                                   "2") ",{'"
                                                                                        "nam"
                                                                                        "e':"
                                                                                        "'g'"
                                                                                        ",'"
                                                                                        "typ"
                                                                                        "e':"
                                                                                        "'ge"
                                                                                        "ar'"
                                                                                        ",'"
                                                                                        "joi"
                                                                                        "nts"
                                                                                        "':["
                                                                                        "'j2"
                                                                                        "','"
                                                                                        "j3'"
                                                                                        "],'"
                                                                                        "rat"
                                                                                        "io'"
                                                                                        ":-"
                                                                                        "1."
                                                                                        "5}]"
                                                                                        "}",
            way[i]);
        if (s.sim == NULL) {
            printf("%s: %s\n", way[i], s.error);
        }
        REQUIRE(s.sim != NULL);
        const double before = perp_sim_energy(s.sim).total;
        CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
        CHECK_AT_MOST(perp_sim_energy(s.sim).total - before, 0.02 * 30.0);
        CHECK_NEAR(coordinate(&s, "j3"), -1.5 * coordinate(&s, "j2"), 1e-3);
        CHECK(fabs(coordinate(&s, "j1")) > 0.5);
        scene_sim_close(&s);
    }
}

/* ---- a grasp ----------------------------------------------------------------------------------------------*/

/* Fingers on slides towards the z axis that gears couple, and a capsule of 45 g between them. Two
 * of three fingers could hold it without the third (friction angle 35 degrees, 30 are needed), and
 * of a capsule on its side between two pads one end of each line is enough: the laws leave open how
 * the fingers share the force. */
static double grasp_slip(int fingers, double force, bool one_motor, const char* tolerance)
{
    char bodies[2000] = "", joints[2000] = "";
    for (int i = 0; i < fingers; ++i) {
        const double angle = 6.283185307179586 * i / fingers, c = cos(angle), s = sin(angle);
        char one[500];
        snprintf(one, sizeof one,
                 ",{'name':'f%d','mass':0.05,'inertia':[1e-5,1e-5,1e-5],'position':[%.17g,%.17g,0],"
                 "'gravity':[0,0,0],'shapes':[{'type':%s}]}",
                 i, 0.009 * c, 0.009 * s,
                 fingers == 2 ? "'box','size':[0.01,0.03,0.02]" : "'sphere','radius':0.005");
        strncat(bodies, one, sizeof bodies - strlen(bodies) - 1);
        snprintf(one, sizeof one,
                 "%s{'name':'s%d','type':'prismatic','a':'world','b':'f%d','at':[%.17g,%.17g,0],"
                 "'axis':[%.17g,%.17g,0],'damping':5,'motor':{'type':'effort','target':%g}}",
                 i > 0 ? "," : "", i, i, 0.009 * c, 0.009 * s, -c, -s,
                 !one_motor ? force
                 : i == 0   ? fingers * force
                            : 0.0);
        strncat(joints, one, sizeof joints - strlen(joints) - 1);
        if (i > 0) {
            snprintf(one, sizeof one,
                     ",{'name':'g%d','type':'gear','joints':['s0','s%d'],'ratio':1}", i, i);
            strncat(joints, one, sizeof joints - strlen(joints) - 1);
        }
    }
    scene_sim sim = scene_sim_open(
        "{'gravity':[0,0,-9.81],'step':0.005,'duration':1.5,'tolerance':%s,"
        "'friction':{'default':0.7},'bodies':[{'name':'capsule','mass':0.045,'shapes':["
        "{'type':'capsule','radius':0.004,'length':0.02}]%s}%s],'joints':[%s]}",
        tolerance, fingers == 2 ? ",'axis_angle':[1,0,0,1.5707963267948966]" : "", bodies, joints);
    CHECK(sim.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&sim), 1e-8);
    const perp_body_state body = scene_sim_body(&sim, "capsule");
    scene_sim_close(&sim);
    return sqrt(body.position[0] * body.position[0] + body.position[1] * body.position[1] +
                body.position[2] * body.position[2]);
}

TEST(geared_fingers_hold_a_capsule_without_slip)
{
    for (int fingers = 2; fingers <= 3; ++fingers) {
        for (int one_motor = 0; one_motor < 2; ++one_motor) {
            CHECK_AT_MOST(grasp_slip(fingers, 12.0, one_motor == 1, "1e-8"), 1e-12);
            CHECK_AT_MOST(grasp_slip(fingers, 12.0, one_motor == 1, "1e-12"), 1e-12);
        }
    }
}

/* A gear between two floating pairs has a block of its own. One of the four bodies rebounds from a wall: the
 * displacement by the time of the impact is that of the change of velocities, so hinges and gear stay closed. */
TEST(a_gear_stays_closed_when_one_of_its_bodies_rebounds)
{
    for (int poisson = 0; poisson < 2; ++poisson) {
        scene_sim s = scene_sim_open("{'dimension':2,'step':0.01,'duration':1,'stepper':'anitescu-"
                                     "potra','restitution':{'law':'%s','e':0.5},"
                                     "'bodies':[{'name':'wall','type':'static','shapes':[{'type':'"
                                     "halfplane','normal':[-1,0],'offset':-4}]},"
                                     "{'name':'a','mass':3,'inertia':0.8,'angular_velocity':0.3,'"
                                     "shapes':[{'type':'circle','radius':0.1}]},"
                                     "{'name':'b','mass':2,'inertia':0.5,'position':[0,1],'"
                                     "velocity':[-0.3,0],'angular_velocity':0.3,"
                                     "'shapes':[{'type':'circle','radius':0.1}]},"
                                     "{'name':'c','mass':4,'inertia':1.5,'position':[3,0],'"
                                     "velocity':[2,0],'angular_velocity':-0.4,"
                                     "'shapes':[{'type':'circle','radius':0.1}]},"
                                     "{'name':'d','mass':1,'inertia':0.2,'position':[3.1,1],'"
                                     "velocity':[2.4,0.04],'angular_velocity':-0.4,"
                                     "'shapes':[{'type':'circle','radius':0.1}]}],'joints':["
                                     "{'name':'j1','type':'revolute','a':'a','b':'b','at':[0,0.5]},"
                                     "{'name':'j2','type':'revolute','a':'c','b':'d','at':[3,0.5]},"
                                     "{'name':'g','type':'gear','joints':['j1','j2'],'ratio':2}]}",
                                     poisson ? "poisson" : "newton");
        REQUIRE(s.sim != NULL);
        double off = 0.0, open = 0.0;
        int impacts = 0;
        while (!perp_sim_finished(s.sim)) {
            REQUIRE_OK(perp_sim_step(s.sim));
            const perp_step_info info = perp_sim_step_info(s.sim);
            impacts += info.kind != PERP_STEP_TIME;
            off = fmax(off, fabs(coordinate(&s, "j2") - 2 * coordinate(&s, "j1")));
            open = fmax(open, info.joint_error[0]);
        }
        TEST_PRINT("%s: %d impacts, gear off by %.1e rad, hinges open by %.1e m",
                   poisson ? "poisson" : "newton", impacts, off, open);
        CHECK(impacts > 0);
        CHECK_AT_MOST(off, 1e-9);
        CHECK_AT_MOST(open, 2e-3); /* second order in the turn of a step */
        scene_sim_close(&s);
    }
}
