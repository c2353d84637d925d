/* tests/physics/throws_test.c - nothing passes through a plate: seeded throws (support/throws.h), and the
 * kinds of scene in which bodies did. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perp_test.h"
#include "support/scene_sim.h"
#include "support/throws.h"

#ifdef PERP_TEST_SANITIZED
enum { THROWS = 120 };
#else
enum { THROWS = 500 };
#endif

TEST(no_throw_ends_on_the_wrong_side)
{
    int runs = 0, wrong = 0, failed = 0, gains = 0;
    double deepest = 0.0;
    const int throws = perp_test_full() ? THROWS : THROWS / 2;
    for (uint64_t i = 0; i < (uint64_t)throws; ++i) {
        const throw_case c = throw_make(i);
        const throw_result r = throw_run(&c);
        runs += 1;
        failed += r.end == THROW_FAILED;
        wrong += r.end == THROW_WRONG_SIDE;
        deepest = fmax(deepest, r.deepest);
        /* what sank in by turning is pushed out, which costs some of the energy of the impact */
        gains += r.growth > 0.25;
        if (r.end == THROW_WRONG_SIDE) {
            TEST_PRINT("throw %d ends on the wrong side: %s", (int)i, c.scene);
        }
    }
    TEST_PRINT(
        "%d throws: %d on the wrong side, %d failed with a message, %d gained energy; deepest %.2g",
        runs, wrong, failed, gains, deepest);
    CHECK_EQ_INT(runs, throws);
    CHECK_EQ_INT(wrong, 0);
    CHECK_EQ_INT(gains, 0);
    CHECK_AT_MOST(failed, runs / 50);
}

/* The largest growth of the energy over the kinetic energy at the start; a run that doubles it ends. */
static double growth_of(scene_sim* s)
{
    const perp_energy start = perp_sim_energy(s->sim);
    double most = -INFINITY;
    while (!perp_sim_finished(s->sim) && most < 1.0) {
        if (perp_sim_step(s->sim) != PERP_OK) {
            return NAN;
        }
        most = fmax(most, (perp_sim_energy(s->sim).total - start.total) / start.kinetic);
    }
    return most;
}

/* Thin capsules that spin fast and slide on their caps: a contact strikes in one half of an adaptive step
 * and not in the other, and extrapolation gave back what friction took (from 1 J to 1e10 J). The two throws
 * in which it was found, and others of their kind. */
TEST(thin_capsules_in_adaptive_steps_do_not_gain_energy)
{
    static const uint64_t found[] = {13768, 15345};
    for (int k = 0; k < 2; ++k) {
        const throw_case c = throw_make(found[k]);
        scene_sim s = scene_sim_open("%s", c.scene);
        REQUIRE(s.sim != NULL);
        CHECK_AT_MOST(growth_of(&s), 1e-4);
        scene_sim_close(&s);
    }
    double most = -INFINITY;
    for (int k = 0; k < 8; ++k) {
        scene_sim s = scene_sim_open(
            "{'gravity':[0,0,-9.81],'step':{'error':%g,'initial':0.001,'max':0.001},"
            "'duration':0.012,'contact':'standard','friction':{'default':%g},"
            "'bodies':[{'name':'floor','type':'static','shapes':[{'type':'plane',"
            "'normal':[0,0,1]}]},{'name':'rod','mass':0.02,'position':[0,0,0.0007],"
            "'axis_angle':[0,1,0,1.5707963267948966],'velocity':[-0.7,%g,0],"
            "'angular_velocity':[%g,0,%d],'shapes':[{'type':'capsule','radius':0.0007,"
            "'length':0.0045}]}]}",
            k < 4 ? 6e-6 : 6e-5, k % 2 == 0 ? 0.8 : 0.3, 5.0 + k % 3, -(5.0 + k % 3) / 0.0007,
            400 - 60 * k);
        REQUIRE(s.sim != NULL);
        const double growth = growth_of(&s);
        CHECK_AT_MOST(growth, 1e-3);
        most = fmax(most, growth);
        scene_sim_close(&s);
    }
    TEST_PRINT("eight rods: energy grows by %.3g of the kinetic at most", most);
}

/* A nut of 2 cm on a floor of 1 cm, a step of 1 cm of rotation and 5 cm of way: it ends flat. */
TEST(a_nut_lies_on_a_thin_floor)
{
    for (int k = 0; k < 12; ++k) {
        scene_sim s = scene_sim_open(
            "{'gravity':[0,0,-9.81],'step':0.01,'duration':0.6,'contact':'%s',"
            "'friction':{'default':0.3},'bodies':[{'name':'floor','type':'static',"
            "'shapes':[{'type':'box','size':[30,30,0.008],'position':[0,0,-0.004]}]},"
            "{'name':'nut','mass':0.04,'position':[0.1,0,0.3],'velocity':[0,0.2,%g],"
            "'angular_velocity':[%d,1,0],'axis_angle':[1,0.3,0.2,%g],'shapes':[{'type':"
            "'box','size':[0.02,0.02,0.02]}]}]}",
            k % 2 == 0 ? "peg" : "lnc", -3.0 - k, k - 5, 0.1 + 0.2 * k);
        REQUIRE(s.sim != NULL);
        CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
        CHECK_NEAR(scene_sim_body(&s, "nut").position[2], 0.01, 2e-4);
        scene_sim_close(&s);
    }
}

/* No face but the upper one may push a particle over a floor: with Newton's restitution e it leaves at
 * e times its speed, however thick or thin the floor and however far it comes in a step. */
TEST(a_particle_is_never_pushed_down_through_a_floor)
{
    const double thickness[] = {0.002, 0.05, 1.2};
    for (int k = 0; k < 24; ++k) {
        const double v = -2.0 - 2.0 * k, h = 0.02;
        scene_sim s =
            scene_sim_open("{'gravity':[0,0,0],'step':%g,'duration':0.2,'contact':'peg',"
                           "'restitution':{'e':0.5},'friction':{'default':0},'bodies':[{'name':"
                           "'floor',"
                           "'type':'static','shapes':[{'type':'box','size':[900,900,%g],"
                           "'position':[0,0,%g]}]},{'name':'p','mass':3,'position':[0.1,0.2,%.17g],"
                           "'velocity':[1,-2,%.17g],'shapes':[{'type':'particle'}]}]}",
                           h, thickness[k % 3], -0.5 * thickness[k % 3], -1.7 * v * h, v);
        REQUIRE(s.sim != NULL);
        CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
        const perp_body_state p = scene_sim_body(&s, "p");
        CHECK(p.position[2] > 0.0);
        CHECK_NEAR(p.velocity[2], -0.5 * v, 1e-9 * fabs(v));
        CHECK_NEAR(p.velocity[0], 1.0, 1e-12);
        scene_sim_close(&s);
    }
}

/* Past the rim of a thin plate, above it and below it: a particle that flies by is not held. */
TEST(a_particle_passes_beside_a_thin_plate)
{
    static const char* const model[] = {"peg", "lnc", "disjunctive"};
    for (int k = 0; k < 3; ++k) {
        /* the rim is at x = 1; the way from (1.01, 0.01) leads down and under the plate */
        scene_sim s = scene_sim_open(
            "{'dimension':2,'gravity':[0,0],'step':0.01,'duration':0.05,'contact':'%s',"
            "'bodies':[{'name':'plate','type':'static','shapes':[{'type':'box',"
            "'size':[2,0.002],'position':[0,-0.001]}]},{'name':'p','mass':1,"
            "'position':[1.01,0.01],'velocity':[-4,-6],'shapes':[{'type':'particle'}]}]}",
            model[k]);
        REQUIRE(s.sim != NULL);
        CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
        CHECK_NEAR(scene_sim_body(&s, "p").velocity[0], -4.0, 1e-12);
        CHECK_NEAR(scene_sim_body(&s, "p").velocity[1], -6.0, 1e-12);
        CHECK_NEAR(scene_sim_body(&s, "p").position[1], 0.01 - 0.3, 1e-12);
        scene_sim_close(&s);
    }
}

/* ---- contacts that come too late ------------------------------------------------------------------- */

static void count_warnings(void* user, perp_log_level level, const char* message)
{
    int* warnings = user;
    *warnings += level == PERP_LOG_WARNING && strstr(message, "can cross 'floor'") != NULL &&
                 strstr(message, "body 'b'") != NULL;
}

/* How often the run warns at its start. */
static int warnings_of(const char* contact, const char* stepper, double thickness, double speed)
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
             "{'step':0.01,'duration':0.1,'contact':'%s','stepper':'%s','bodies':["
             "{'name':'floor','type':'static','shapes':[{'type':'box','size':[9,9,%g]}"
             "]},{'name':'b','mass':1,'position':[0,0,5],'velocity':[0,0,%g],'shapes':[{"
             "'type':'box','size':[0.1,0.03,0.1]}]}]}",
             contact, stepper, thickness, -speed);
    CHECK_OK(perp_context_create(&def, &context));
    CHECK_OK(scene_parse(context, text, "test", &scene));
    CHECK_OK(perp_sim_create_from_scene(context, scene, &sim));
    perp_sim_destroy(sim);
    perp_scene_destroy(scene);
    perp_context_destroy(context);
    return warnings;
}

/* The body is 0.03 thick, the step 0.01: it can cross if 0.01 v > 0.03 + the floor's thickness. */
TEST(a_body_that_can_cross_an_obstacle_within_a_step_is_warned_of)
{
    CHECK_EQ_INT(warnings_of("corrective", "stewart-trinkle", 0.02, 5.1), 1);
    CHECK_EQ_INT(warnings_of("corrective", "stewart-trinkle", 0.02, 4.9), 0);
    CHECK_EQ_INT(warnings_of("corrective", "stewart-trinkle", 0.5, 50.0), 0);
    CHECK_EQ_INT(warnings_of("standard", "anitescu-potra", 0.02, 5.1), 1);
    CHECK_EQ_INT(warnings_of("standard", "anitescu-potra", 0.02, 4.9), 0);
    CHECK_EQ_INT(warnings_of("standard", "stewart-trinkle", 0.02, 50.0), 0);
    CHECK_EQ_INT(warnings_of("peg", "stewart-trinkle", 0.02, 50.0), 0);
}
