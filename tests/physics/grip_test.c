/* Cylinders and capsules that are gripped along a line, between two fingers of which one is fixed
 * and the other one pressed with ten times the weight. They hold where statics allow it: with all
 * contact models, parallel to the fingers or not. */
#include <math.h>
#include <string.h>

#include "perp_test.h"
#include "support/scene_sim.h"

typedef struct grip {
    const char *object, *finger, *contact;
    double size;          /* length of the object */
    double ratio, length; /* radius and length of a finger over the object's */
    double yaw;           /* angle of the axes of object and fingers, to either side */
    double off;           /* of the object along its axis, over its length */
    double h, e;
    bool along, adaptive; /* gravity along the axes, else across them; adaptive steps */
} grip;

static void shape_text(char* out, size_t room, const char* type, double r, double length)
{
    if (strcmp(type, "box") == 0) {
        snprintf(out, room, "{'type':'box','size':[%.17g,%.17g,%.17g]}", 2 * r, 2 * r, length);
    } else {
        snprintf(out, room, "{'type':'%s','radius':%.17g,'length':%.17g}", type, r, length);
    }
}

/* Axes along x; fingers at -y and +y, turned about y. */
static scene_sim open_grip(const grip* g)
{
    static char text[8192];
    char object[256], finger[256], step[128];
    const double r = 0.25 * g->size, f = g->ratio * r, gravity = -9.81 * g->size;
    const double quarter = 1.57079632679489661923;
    shape_text(object, sizeof object, g->object, r, g->size);
    shape_text(finger, sizeof finger, g->finger, f, g->length * g->size);
    if (g->adaptive) {
        snprintf(step, sizeof step, "{'error':%.17g,'initial':%.17g,'max':%.17g}", 1e-4 * g->size,
                 g->h, g->h);
    } else {
        snprintf(step, sizeof step, "%.17g", g->h);
    }
    snprintf(text, sizeof text,
             "{'gravity':[%.17g,0,%.17g],'step':%s,'duration':2,'contact':'%s','restitution':%.17g,"
             "'friction':{'default':0.8},'bodies':["
             "{'name':'a','type':'static','position':[0,%.17g,0],'axis_angle':[0,1,0,%.17g],"
             "'shapes':[%s]},"
             "{'name':'b','mass':0.05,'position':[0,%.17g,0],'axis_angle':[0,1,0,%.17g],"
             "'shapes':[%s],'ignores':['a']},"
             "{'name':'o','mass':0.2,'position':[%.17g,0,0],'axis_angle':[0,1,0,%.17g],"
             "'shapes':[%s]}],"
             "'joints':[{'name':'slide','type':'prismatic','a':'a','b':'b','at':[0,%.17g,0],'axis':"
             "[0,1,0]}],"
             "'forces':[{'type':'wrench','body':'b','force':[0,%.17g,0]}]}",
             g->along ? gravity : 0.0, g->along ? 0.0 : gravity, step, g->contact, g->e, -(r + f),
             quarter + g->yaw, finger, r + f, quarter - g->yaw, finger, g->off * g->size, quarter,
             object, r + f, 2.0 * gravity);
    return scene_sim_open(text);
}

/* How far it has moved after two seconds, over its size, and turned. */
static void check_holds(const grip* g, double* moved, double* turned)
{
    scene_sim s = open_grip(g);
    REQUIRE(s.sim != NULL);
    const perp_body_state before = scene_sim_body(&s, "o");
    CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
    const perp_body_state after = scene_sim_body(&s, "o");
    double move = 0.0, turn = 0.0;
    for (int i = 0; i < 3; ++i) {
        const double d = (after.position[i] - before.position[i]) / g->size;
        move += d * d;
    }
    for (int i = 0; i < 4; ++i) {
        const double d = after.orientation[i] - before.orientation[i];
        turn += 4.0 * d * d;
    }
    move = sqrt(move);
    turn = sqrt(turn);
    if (!(move <= 1e-6) || !(turn <= 1e-6)) {
        TEST_PRINT("%s between two of %s, %s: size %g, ratio %g, length %g, yaw %g, off %g, h %g, "
                   "e %g%s%s: moved %.2g, turned %.2g",
                   g->object, g->finger, g->contact, g->size, g->ratio, g->length, g->yaw, g->off,
                   g->h, g->e, g->along ? ", along" : "", g->adaptive ? ", adaptive" : "", move,
                   turn);
    }
    CHECK_AT_MOST(move, 1e-6);
    CHECK_AT_MOST(turn, 1e-6);
    *moved = move <= *moved ? *moved : move;
    *turned = turn <= *turned ? *turned : turn;
    scene_sim_close(&s);
}

static const char* const objects[] = {"cylinder", "capsule"};
static const char* const fingers[] = {"capsule", "cylinder", "box"};

TEST(what_is_gripped_along_a_line_does_not_slip)
{
    static const double yaw[] = {0, 1e-6, 1e-4, 3e-3, 0.02, 0.1};
    static const double size[] = {1, 2e-3, 60}, ratio[] = {0.4, 1.5, 0.12};
    static const double length[] = {0.8, 2.0, 0.3, 1.0}, h[] = {0.01, 0.005};
    double moved = 0.0, turned = 0.0;
    int n = 0;
    for (int i = 0; i < 2 * 3 * 6 * 2; ++i, ++n) {
        const grip g = {.object = objects[i % 2],
                        .finger = fingers[i / 2 % 3],
                        .contact = i % 7 == 0 ? "standard" : "auto",
                        .size = size[i % 3],
                        .ratio = ratio[i / 3 % 3],
                        .length = length[i / 5 % 4],
                        .yaw = yaw[i / 6 % 6],
                        .h = h[i / 4 % 2],
                        .e = i % 3 == 1 ? 0.5 : 0.0,
                        .along = i / 36 == 1,
                        .adaptive = i % 11 == 3};
        check_holds(&g, &moved, &turned);
    }
    TEST_PRINT("%d grips: moved by %.2g of their size, turned by %.2g", n, moved, turned);
}

/* The forces at the two ends are not determined; those at one end alone would let it turn about that end. */
TEST(what_is_gripped_beside_its_centre_does_not_turn_about_an_end)
{
    double moved = 0.0, turned = 0.0;
    for (int i = 0; i < 2 * 3 * 4; ++i) {
        const grip g = {.object = objects[i % 2],
                        .finger = fingers[i / 2 % 3],
                        .contact = "auto",
                        .size = i % 4 == 0 ? 0.4 : 5.0,
                        .ratio = i % 5 == 0 ? 1.1 : 0.2,
                        .length = 0.8,
                        .off = i / 6 % 2 == 0 ? -0.032 : 0.08,
                        .h = i / 6 < 2 ? 0.0025 : 0.01,
                        .e = i % 3 == 0 ? 0.0 : 0.5,
                        .adaptive = i / 6 == 3};
        check_holds(&g, &moved, &turned);
    }
    TEST_PRINT("moved by %.2g of their size, turned by %.2g", moved, turned);
}

/* The arm lifts a can with two capsules, whose axes cross that of the can at 0.01 rad while it turns. */
TEST(the_arm_holds_its_can_at_every_step)
{
    static const char* const h[] = {"0.004", "0.005", "0.01"};
    for (int i = 0; i < 3; ++i) {
        const perp_override step = {"/step", h[i]};
        scene_sim s = {0};
        REQUIRE_OK(perp_context_create(NULL, &s.context));
        REQUIRE_OK(
            perp_scene_load(s.context, PERP_SOURCE_DIR "/scenes/w14-arm.json", &step, 1, &s.scene));
        REQUIRE_OK(perp_sim_create_from_scene(s.context, s.scene, &s.sim));
        CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
        const perp_body_state can = scene_sim_body(&s, "can"), hand = scene_sim_body(&s, "left");
        const double below = hand.position[2] - can.position[2];
        TEST_PRINT("h = %s: the middle of a finger is %.3f mm above that of the can", h[i],
                   1e3 * below);
        CHECK_NEAR(below, -0.0012, 1e-3);
        scene_sim_close(&s);
    }
}
