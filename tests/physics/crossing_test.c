/* Steps in which a pair would change sides: solved again with what was missing, or refused by name. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "perp_test.h"
#include "support/scene_sim.h"

static uint64_t state;

static double random_in(double lo, double hi) /* splitmix64 */
{
    uint64_t z = (state += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return lo + (hi - lo) * ((double)((z ^ (z >> 31)) >> 11) * 0x1p-53);
}

static double random_log(double lo, double hi)
{
    return lo * pow(hi / lo, random_in(0.0, 1.0));
}

/* A ball or a box of half size r falls onto a plate of thickness t whose top is at 0. */
static scene_sim drop(int dimension, const char* run, double h, bool box, double r, double t,
                      double speed, double height, double aside)
{
    char shape[160], plate[160];
    if (dimension == 2) {
        (void)snprintf(shape, sizeof shape,
                       box ? "'box','size':[%.17g,%.17g]" : "'circle','radius':%.17g",
                       box ? 2.0 * r : r, 2.0 * r);
        (void)snprintf(plate, sizeof plate, "'size':[40,%.17g],'position':[0,%.17g]", t, -0.5 * t);
        return scene_sim_open(
            "{'dimension':2,'gravity':[0,-9.81],%s,'step':%.17g,'duration':%.17g,"
            "'friction':{'default':0.3},'bodies':["
            "{'name':'body','mass':1,'position':[0,%.17g],'velocity':[%.17g,%.17g],"
            "'shapes':[{'type':%s}]},"
            "{'name':'plate','type':'static','shapes':[{'type':'box',%s}]}]}",
            run, h, 40.0 * h, height + r, aside, -speed, shape, plate);
    }
    (void)snprintf(shape, sizeof shape,
                   box ? "'box','size':[%.17g,%.17g,%.17g]" : "'sphere','radius':%.17g",
                   box ? 2.0 * r : r, 2.0 * r, 2.0 * r);
    (void)snprintf(plate, sizeof plate, "'size':[40,40,%.17g],'position':[0,0,%.17g]", t, -0.5 * t);
    return scene_sim_open(
        "{'gravity':[0,0,-9.81],%s,'step':%.17g,'duration':%.17g,"
        "'friction':{'default':0.3},'bodies':["
        "{'name':'body','mass':1,'position':[0,0,%.17g],'velocity':[%.17g,0,%.17g],"
        "'shapes':[{'type':%s}]},"
        "{'name':'plate','type':'static','shapes':[{'type':'box',%s}]}]}",
        run, h, 40.0 * h, height + r, aside, -speed, shape, plate);
}

static double height_of(const scene_sim* s, int dimension)
{
    return scene_sim_body(s, "body").position[dimension - 1];
}

/* Runs to the end; false if a step failed, with its message in s->error. */
static bool run(scene_sim* s, int dimension, int32_t* crossings, double* lowest)
{
    *crossings = 0;
    *lowest = INFINITY;
    while (!perp_sim_finished(s->sim)) {
        if (perp_sim_step(s->sim) != PERP_OK) {
            (void)snprintf(s->error, sizeof s->error, "%s", perp_context_error(s->context));
            return false;
        }
        *crossings += perp_sim_step_info(s->sim).crossings;
        *lowest = fmin(*lowest, height_of(s, dimension));
    }
    return true;
}

/* Without the check each of these falls through: the contact is not there when it is needed. */
TEST(bodies_that_would_fall_through_come_to_rest_on_top)
{
    static const char* const runs[] = {
        "'contact':'corrective'",
        "'margin':1e-4",
        "'stepper':'anitescu-potra'",
        "'contact':'corrective','stepper':'implicit'",
        "'margin':1e-4,'stepper':'geometric-implicit'",
    };
    for (size_t k = 0; k < sizeof runs / sizeof runs[0]; ++k) {
        for (int dimension = 2; dimension <= 3; ++dimension) {
            int32_t crossings = 0;
            double lowest = 0.0;
            scene_sim s = drop(dimension, runs[k], 0.01, false, 0.02, 0.01, 15.0, 0.33, 1.0);
            if (s.sim == NULL) {
                TEST_PRINT("%s", s.error);
            }
            REQUIRE(s.sim != NULL);
            CHECK(run(&s, dimension, &crossings, &lowest));
            TEST_PRINT("%d D, %s: lowest %.4f, end %.6f, %d solves repeated", dimension, runs[k],
                       lowest, height_of(&s, dimension), (int)crossings);
            CHECK_AT_LEAST(crossings, 1);
            CHECK_AT_LEAST(lowest, -0.005); /* the middle of the plate */
            CHECK_NEAR(height_of(&s, dimension), 0.02, 0.002);
            scene_sim_close(&s);
        }
    }
}

/* The first touch tells the time: at the end of that step the ball is on the plate, and has lost its
 * normal velocity, whatever the model. */
TEST(a_repeated_step_ends_where_the_contact_would_have_stopped_the_body)
{
    int32_t stopped = 0;
    scene_sim s = drop(3, "'margin':1e-4", 0.01, false, 0.02, 0.01, 15.0, 0.33, 1.0);
    REQUIRE(s.sim != NULL);
    while (!perp_sim_finished(s.sim)) {
        REQUIRE_OK(perp_sim_step(s.sim));
        if (perp_sim_step_info(s.sim).crossings > 0) {
            stopped += 1;
            CHECK_NEAR(height_of(&s, 3), 0.02, 1e-9);
            CHECK_AT_MOST(perp_sim_step_info(s.sim).certificate.worst, 1e-8);
        }
    }
    CHECK_EQ_INT(stopped, 1);
    scene_sim_close(&s);
}

TEST(thrown_bodies_never_change_sides_whatever_the_model)
{
    static const char* const runs[] = {
        "'contact':'corrective'",
        "'margin':1e-4",
        "'contact':'peg'",
        "'contact':'lnc'",
        "'contact':'standard'",
        "'contact':'peg','stepper':'implicit'",
        "'contact':'standard','restitution':0.5",
        "'contact':'peg','margin':1e-3",
    };
    enum { RUNS = sizeof runs / sizeof runs[0], THROWS = 25 };
    int32_t repeated = 0, failed = 0, total = 0;
    for (int k = 0; k < RUNS * THROWS; ++k) {
        state = 1000 + (uint64_t)k;
        const int dimension = 2 + k % 2;
        const bool box = random_in(0, 1) < 0.5;
        const double r = random_log(0.005, 0.2), t = random_log(1e-3, 0.1);
        const double h = random_log(1e-3, 2e-2), speed = random_log(1.0, 50.0);
        const double height = random_in(0.5, 8.0) * h * speed, aside = random_in(-5, 5);
        int32_t crossings = 0;
        double lowest = 0.0;
        scene_sim s = drop(dimension, runs[k % RUNS], h, box, r, t, speed, height, aside);
        REQUIRE(s.sim != NULL);
        const bool done = run(&s, dimension, &crossings, &lowest);
        total += 1;
        repeated += crossings > 0;
        failed += !done;
        CHECK(done || strlen(s.error) > 20);
        if (done) {
            CHECK_AT_LEAST(height_of(&s, dimension), -0.5 * t);
        }
        scene_sim_close(&s);
    }
    TEST_PRINT("%d throws: steps repeated in %d, %d ended with a message", (int)total,
               (int)repeated, (int)failed);
    CHECK_AT_LEAST(repeated, 20);
    CHECK_AT_MOST(failed, 2);
}

/* What is inside a third body that lies on the plate meets the plate all the same. */
TEST(a_body_that_has_sunk_into_another_does_not_pass_the_plate_below)
{
    static const char* const runs[] = {"'stepper':'anitescu-potra','contact':'standard'",
                                       "'contact':'corrective'"};
    static const char* const shape[] = {"{'type':'particle'}", "{'type':'sphere','radius':0.01}"};
    for (int k = 0; k < 4; ++k) {
        /* deep in the block, nearest to its side, and faster than the plate is thick in a step */
        scene_sim s = scene_sim_quoted(
            "{'gravity':[0,0,-9.81],'step':0.015,'duration':0.3,%s,'allow_overlap':true,'bodies':["
            "{'name':'plate','type':'static','position':[0,0,-0.05],"
            "'shapes':[{'type':'box','size':[4,4,0.1]}]},"
            "{'name':'block','mass':5000,'position':[0,0,0.2],'shapes':[{'type':'box','size':[0.5,"
            "0.5,"
            "0.4]}]},"
            "{'name':'shot','mass':50,'position':[0.15,0,0.2],'velocity':[0,0,-19],'shapes':[%s]}]"
            "}",
            runs[k % 2], shape[k / 2]);
        REQUIRE(s.sim != NULL);
        double lowest = 1.0;
        while (!perp_sim_finished(s.sim)) {
            REQUIRE_OK(perp_sim_step(s.sim));
            const double z = scene_sim_body(&s, "shot").position[2];
            lowest = z <= lowest ? z : lowest;
        }
        TEST_PRINT("%s, %s: lowest at %.3f", runs[k % 2], shape[k / 2], lowest);
        CHECK_AT_LEAST(lowest, -0.06); /* the middle of the plate, and a sphere's radius */
        scene_sim_close(&s);
    }
}

/* A press closes on a body with more than any contact can hold: both plates are prescribed. */
TEST(a_body_that_cannot_be_kept_on_its_side_is_named_in_the_message)
{
    scene_sim s =
        scene_sim_open("{'dimension':2,'gravity':[0,0],'step':0.01,'duration':0.5,'bodies':["
                       "{'name':'anvil','type':'static','shapes':[{'type':'box','size':[2,0.02],"
                       "'position':[0,-0.01]}]},"
                       "{'name':'nut','mass':0.1,'position':[0,0.01],"
                       "'shapes':[{'type':'circle','radius':0.01}]},"
                       "{'name':'ram','type':'kinematic','position':[0,1.0],"
                       "'velocity':[0,-20],"
                       "'shapes':[{'type':'box','size':[2,0.02]}]}]}");
    if (s.sim == NULL) {
        TEST_PRINT("%s", s.error);
    }
    REQUIRE(s.sim != NULL);
    bool done = true;
    while (done && !perp_sim_finished(s.sim)) {
        done = perp_sim_step(s.sim) == PERP_OK;
    }
    REQUIRE(!done);
    TEST_PRINT("%s", perp_context_error(s.context));
    CHECK_CONTAINS(perp_context_error(s.context), "nut");
    CHECK_CONTAINS(perp_context_error(s.context), "step 5 ");
    scene_sim_close(&s);
}

/* Sliding, rolling and tumbling at speed over a floor laid from pieces, of one body and of many. */
TEST(what_moves_over_seams_is_never_taken_for_a_crossing)
{
    static const char* const shapes[] = {
        "{'type':'box','size':[0.2,0.2,0.2]}", "{'type':'sphere','radius':0.1}",
        "{'type':'cylinder','radius':0.1,'length':0.1}",
        "{'type':'polyhedron','vertices':[[0.1,0.1,0.1],[-0.1,-0.1,0.1],[-0.1,0.1,-0.1],"
        "[0.1,-0.1,-0.1]]}"};
    for (int k = 0; k < 16; ++k) {
        char tiles[8000] = "";
        size_t used = 0;
        const bool one = k / 4 % 2 == 0;
        for (int i = 0; i < 40; ++i) {
            const char* form = one ? "%s{'type':'box','size':[0.3,2,0.05],"
                                     "'position':[%.17g,0,-0.025]}"
                                   : "%s{'name':'t%d','type':'static','shapes':[{'type':"
                                     "'box','size':[0.3,2,0.05],'position':[%.17g,0,-0.025]}]}";
            used += (size_t)(one ? snprintf(tiles + used, sizeof tiles - used, form,
                                            i > 0 ? "," : "", 0.3 * i)
                                 : snprintf(tiles + used, sizeof tiles - used, form,
                                            i > 0 ? "," : "", i, 0.3 * i));
        }
        scene_sim s =
            scene_sim_open("{'gravity':[0,0,-9.81],'contact':'%s','step':0.01,'duration':0.6,"
                           "'friction':{'default':%g},'bodies':[%s%s%s,"
                           "{'name':'body','mass':1,'position':[0.3,0,0.15],'velocity':[12,0,0],"
                           "'angular_velocity':[0,%g,1],'shapes':[%s]}]}",
                           k < 8 ? "standard" : "peg", k % 2 == 0 ? 0.0 : 0.3,
                           one ? "{'name':'floor','type':'static','shapes':[" : "", tiles,
                           one ? "]}" : "", 3.0 * k, shapes[k % 4]);
        if (s.sim == NULL) {
            TEST_PRINT("%s", s.error);
        }
        REQUIRE(s.sim != NULL);
        int32_t crossings = 0;
        double lowest = 0.0;
        const bool done = run(&s, 3, &crossings, &lowest);
        if (!done || crossings > 0) {
            TEST_PRINT("run %d: %d crossings, %s", k, (int)crossings, s.error);
        }
        CHECK(done);
        if (k < 8) {
            CHECK_EQ_INT(crossings, 0);
        }
        CHECK_AT_LEAST(lowest, 0.0);
        scene_sim_close(&s);
    }
}

/* Poses that joint_correction moves onto the joints are checked like the step itself: chains that turn by
 * radians a step are thrown at a plate of 1 cm, and every link ends above it. */
TEST(joint_correction_moves_nothing_through_a_plate)
{
    int failed = 0, below = 0;
    state = 11;
    for (int k = 0; k < 150; ++k) {
        double x[8];
        for (int i = 0; i < 8; ++i) {
            x[i] = random_in(-1, 1);
        }
        scene_sim s = scene_sim_open(
            "{'step':0.02,'duration':0.3,'gravity':[0,0,-9.81],'joint_correction':true,'bodies':["
            "{'name':'plate','type':'static','position':[0,0,-0.005],"
            "'shapes':[{'type':'box','size':[40,40,0.01]}]},"
            "{'name':'a','mass':2,'position':[-0.7,0,0.6],'velocity':[%g,0,-8],"
            "'angular_velocity':[%g,%g,0],'shapes':[{'type':'box','size':[0.2,0.18,0.06]}]},"
            "{'name':'b','mass':0.2,'position':[0,0,0.7],'velocity':[0,%g,-3],"
            "'angular_velocity':[%g,%g,3],'shapes':[{'type':'capsule','radius':0.1,'length':0.3}]},"
            "{'name':'c','mass':0.3,'position':[0.7,0,0.6],'velocity':[%g,-8,%g],"
            "'shapes':[{'type':'sphere','radius':0.004}]}],'joints':["
            "{'name':'i','type':'planar','axis':[0.7,0.7,0.7],'a':'a','b':'b','at':[-0.35,0,0.65]},"
            "{'name':'j','type':'universal','a':'b','b':'c','at':[0.35,0,0.65],'axis':[0,0,1]}]}",
            3 * x[0], 9 * x[1], 9 * x[2], 3 * x[3], 9 * x[4], 9 * x[5], 3 * x[6], -36 + 9 * x[7]);
        REQUIRE(s.sim != NULL);
        failed += perp_sim_run(s.sim) != PERP_OK;
        for (int32_t i = 1; i < 4; ++i) {
            below += perp_sim_body(s.sim, i).position[2] < -0.005;
        }
        scene_sim_close(&s);
    }
    TEST_PRINT("150 chains, %d failed with a message, %d links below", failed, below);
    CHECK_EQ_INT(below, 0);
    CHECK(failed <= 5);
}

TEST(a_soft_layer_without_a_limit_is_not_pressed_through)
{
    scene_sim s = scene_sim_open(
        "{'dimension':2,'stepper':'compliant','step':0.02,'duration':0.3,'bodies':["
        "{'name':'plate','type':'static','position':[0,-0.0005],"
        "'shapes':[{'type':'box','size':[40,0.001]}]},{'name':'b','mass':0.35,'position':[0,0.12],"
        "'velocity':[0,-5],'shapes':[{'type':'circle','radius':0.005}],"
        "'compliance':{'stiffness':2000}}]}");
    REQUIRE(s.sim != NULL);
    while (!perp_sim_finished(s.sim)) { /* its core lies 4.5 mm deep */
        REQUIRE_OK(perp_sim_step(s.sim));
        CHECK(scene_sim_body(&s, "b").position[1] > 0.000499);
    }
    scene_sim_close(&s);
}
