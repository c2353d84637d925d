/* The stepper without a gap term: order, rest, and what it does not repair. */
#include <math.h>

#include "perp_test.h"
#include "support/scene_sim.h"

#define FLOOR                                                                                      \
    "{'name':'floor','type':'static','shapes':[{'type':'plane','normal':[0,0,1]}]"                 \
    "}"

/* A ball that slides, then rolls: where it is after 0.6 s. */
static double slide(double h)
{
    const double mu = 0.2, g = 9.81, v0 = 2.0, t = 2.0 * v0 / (7.0 * mu * g);
    const double exact = v0 * t - 0.5 * mu * g * t * t + 5.0 / 7.0 * v0 * (0.6 - t);
    scene_sim s =
        scene_sim_open("{'gravity':[0,0,-9.81],'step':%g,'duration':0.6,'stepper':'anitescu-potra',"
                       "'friction':{'default':0.2},'bodies':[" FLOOR
                       ",{'name':'ball','mass':1,'position':[0,0,1],'velocity':[2,0,0],"
                       "'shapes':[{'type':'sphere','radius':1}]}]}",
                       h);
    double error = INFINITY;
    if (s.sim != NULL && scene_sim_run(&s) < 1e-8) {
        error = fabs(scene_sim_body(&s, "ball").position[0] - exact);
    }
    scene_sim_close(&s);
    return error;
}

TEST(anitescu_potra_is_of_first_order)
{
    const double coarse = slide(2e-3), fine = slide(5e-4);
    const double order = log(coarse / fine) / log(4.0);
    TEST_PRINT("error %.2e at h = 2e-3, %.2e at 5e-4: order %.2f", coarse, fine, order);
    CHECK(order > 0.8 && order < 1.2);
}

TEST(a_dropped_ball_stays_where_the_contact_was_seen)
{
    const double h = 0.01;
    scene_sim s =
        scene_sim_open("{'gravity':[0,0,-9.81],'step':%g,'duration':1,'stepper':'anitescu-potra',"
                       "'bodies':[" FLOOR ",{'name':'ball','mass':1,'position':[0,0,0.53],"
                       "'shapes':[{'type':'sphere','radius':0.1}]}]}",
                       h);
    REQUIRE(s.sim != NULL);
    double energy = perp_sim_energy(s.sim).total, gain = 0.0;
    while (!perp_sim_finished(s.sim)) {
        REQUIRE_OK(perp_sim_step(s.sim));
        const double now = perp_sim_energy(s.sim).total;
        gain = fmax(gain, now - energy);
        energy = now;
    }
    const perp_body_state ball = scene_sim_body(&s, "ball");
    const double depth = 0.1 - ball.position[2];
    TEST_PRINT("sunk in by %.2e, h v is %.2e; largest gain of energy %.1e", depth,
               h * sqrt(2.0 * 9.81 * 0.43), gain);
    CHECK(depth > 0.0 && depth < 1.1 * h * sqrt(2.0 * 9.81 * 0.43));
    CHECK_NEAR(ball.velocity[2], 0.0, 1e-14); /* nothing pushes it out */
    CHECK_AT_MOST(gain, 1e-13);
    scene_sim_close(&s);
}

TEST(a_box_at_rest_and_a_moving_plate_below_it)
{
    scene_sim s =
        scene_sim_open("{'gravity':[0,0,-9.81],'step':0.01,'duration':2,'stepper':'anitescu-potra',"
                       "'friction':{'default':0.5},'bodies':[{'name':'plate','type':'kinematic',"
                       "'velocity':[0,0,0.3],'shapes':[{'type':'plane','normal':[0,0,1]}]},"
                       "{'name':'box','mass':1,'position':[0,0,0.1],'velocity':[0,0,0.3],"
                       "'shapes':[{'type':'box','size':[0.3,0.3,0.2]}]}]}");
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
    CHECK_NEAR(scene_sim_body(&s, "box").position[2], 0.7, 1e-9);
    scene_sim_close(&s);
}

TEST(contact_models_that_need_gaps_are_refused)
{
    static const char* const models[] = {"peg", "lnc", "disjunctive"};
    for (int i = 0; i < 3; ++i) {
        scene_sim s =
            scene_sim_open("{'dimension':2,'stepper':'anitescu-potra','contact':'%s','bodies':[{"
                           "'name':'b','mass':1,'shapes':[{'type':'box','size':[1,1]}]}]}",
                           models[i]);
        CHECK(s.sim == NULL);
        CHECK_CONTAINS(s.error, models[i]);
        CHECK_CONTAINS(s.error, "chooses between features by their gaps");
        scene_sim_close(&s);
    }
}

/* Bodies fall askew onto a plate thinner than a step of their fall. Without a gap term each step leaves a
 * little overlap, another corner each time; what is deeper than half the plate is pushed out. A step that would
 * cross is refused, which is no silent passage; most are not. */
TEST(a_body_does_not_sink_through_a_plate_step_by_step)
{
    static const char* const shape[] = {
        "{'type':'box','size':[0.5,0.3,0.4]}", "{'type':'capsule','radius':0.1,'length':0.5}",
        "{'type':'cylinder','radius':0.2,'length':0.4}",
        "{'type':'polyhedron','vertices':[[0.3,0,0],[-0.2,0.25,0],[-0.2,-0.25,0.05],[0,0,0.4],"
        "[0,0.05,-0.35]]}",
        "{'type':'box','size':[0.5,0.4]}"};
    int refused = 0, through = 0, runs = 0;
    for (int i = 0; i < 40; ++i) {
        const bool planar = i % 5 == 4;
        const double thick = 0.01 + 0.02 * (i % 3), turn = 0.37 * i;
        const char* contact = i % 2 == 0 ? "standard" : "corrective";
        scene_sim s =
            planar ? scene_sim_open(
                         "{'dimension':2,'gravity':[0,-9.81],'step':0.025,'duration':4,'stepper':"
                         "'anitescu-potra','contact':'%s','friction':{'cone':'none'},'bodies':["
                         "{'name':'plate','type':'static','position':[0,%.17g],'shapes':[{'type':'"
                         "box',"
                         "'size':[40,%.17g]}]},{'name':'b','mass':5,'inertia':0.2,'angle':%.17g,"
                         "'position':[0,1.2],'shapes':[%s]}]}",
                         contact, -0.5 * thick, thick, turn, shape[4])
                   : scene_sim_open(
                         "{'gravity':[0,0,-9.81],'step':0.025,'duration':4,'stepper':"
                         "'anitescu-potra','contact':'%s','friction':{'cone':'none'},'bodies':["
                         "{'name':'plate','type':'static','position':[0,0,%.17g],'shapes':[{'type':"
                         "'box',"
                         "'size':[40,40,%.17g]}]},{'name':'b','mass':5,'inertia':[0.2,0.15,0.12],"
                         "'axis_angle':[0.3,0.5,0.8,%.17g],'position':[0,0,1.2],'shapes':[%s]}]}",
                         contact, -0.5 * thick, thick, turn, shape[i % 5]);
        REQUIRE(s.sim != NULL);
        bool below = false;
        while (!perp_sim_finished(s.sim)) {
            if (perp_sim_step(s.sim) != PERP_OK) {
                refused += 1;
                break;
            }
            below = below || !(scene_sim_body(&s, "b").position[planar ? 1 : 2] > -thick);
        }
        runs += 1;
        through += below;
        scene_sim_close(&s);
    }
    TEST_PRINT("%d runs, %d refused, %d through", runs, refused, through);
    CHECK_EQ_INT(through, 0);
    CHECK_AT_MOST(refused, 4.0);
}

/* The margin of a body at rest is smaller than the overlap that this stepper keeps. A body that is in a plate
 * with all corners of a face at one depth is pushed out by all of them: it does not turn. */
TEST(a_body_at_rest_deep_in_a_plate_is_pushed_out_straight)
{
    static const char* const shape[] = {
        "{'type':'polygon','vertices':[[-0.5,-0.2],[0.5,-0.2],[0.1,0.3]]}",
        "{'type':'polyhedron','vertices':[[-0.5,-0.4,-0.2],[0.5,-0.4,-0.2],[0.1,0.5,-0.2],[0,0,0.4]"
        "]}",
        "{'type':'polyhedron','solid':'block','size':[0.9,0.7,0.4]}",
        "{'type':'box','size':[0.9,0.7,0.4]}"};
    for (int i = 0; i < 8; ++i) {
        const char* contact = i < 4 ? "standard" : "corrective";
        const bool planar = i % 4 == 0;
        const double thick = 0.01; /* the first step sinks in by 0.06 */
        scene_sim s =
            planar ? scene_sim_open(
                         "{'dimension':2,'gravity':[0,-9.81],'step':0.01,'"
                         "duration':1,'stepper':"
                         "'anitescu-potra','contact':'%s','friction':{'cone':'none'},'bodies':["
                         "{'name':'plate','type':'static','position':[0,%.17g],'shapes':[{'type':"
                         "'box','size':[40,%.17g]}]},{'name':'b','mass':5,'inertia':0.2,"
                         "'position':[0,%.17g],'velocity':[0,-6],'shapes':[%s]}]}",
                         contact, -0.5 * thick, thick, 0.2 + 1e-6, shape[i % 4])
                   : scene_sim_open(
                         "{'gravity':[0,0,-9.81],'step':0.01,'duration':1,'"
                         "stepper':"
                         "'anitescu-potra','contact':'%s','friction':{'cone':'none'},'bodies':["
                         "{'name':'plate','type':'static','position':[0,0,%.17g],'shapes':[{'type':"
                         "'box','size':[40,40,%.17g]}]},{'name':'b','mass':5,"
                         "'inertia':[0.2,0.15,0.12],'position':[0,0,%.17g],'velocity':[0,0,-6],'"
                         "shapes':[%s]}]}",
                         contact, -0.5 * thick, thick, 0.2 + 1e-6, shape[i % 4]);
        REQUIRE(s.sim != NULL);
        CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
        const perp_body_state b = scene_sim_body(&s, "b");
        const double turned = planar ? fabs(b.angle) : 1.0 - fabs(b.orientation[0]);
        CHECK_AT_MOST(turned, 1e-9);
        CHECK_NEAR(b.position[planar ? 1 : 2], 0.2 - 0.5 * thick, 1e-3); /* half the plate stays */
        scene_sim_close(&s);
    }
}
