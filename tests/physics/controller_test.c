/* Controllers, trajectories and followers: discrete closed forms, limits, and the same bits again. */
#include "perp_test.h"
#include "support/scene_sim.h"

#define CART "'dimension':2,'bodies':[{'name':'cart','mass':2,'position':[0.5,0]}],"
#define PID "'controllers':[{'type':'pid','body':'cart','axis':[3,0],"

/* With e' = r' - x - h v', I' = I + h e':  m (v' - v) = h (kp e' + ki I' + kd (r_dot - v')). */
TEST(a_pid_controller_follows_its_implicit_recursion_at_any_gain)
{
    static const double gain[][3] = {{3, 0, 1},    {1e4, 50, 20},   {1e12, 0, 1e8}, {0, 5, 2},
                                     {0, 0, 1e12}, {1e15, 1e15, 0}, {7, 1e9, 0},    {1e-6, 0, 0}};
    const double h = 0.01, m = 2.0;
    for (int i = 0; i < 8; ++i) {
        const double kp = gain[i][0], ki = gain[i][1], kd = gain[i][2];
        scene_sim s = scene_sim_open("{'step':0.01,'duration':3," CART PID
                                     "'kp':%.17g,'ki':%.17g,'kd':%.17g,'target':'sin(2*t)'}"
                                     "]}",
                                     kp, ki, kd);
        REQUIRE(s.sim != NULL);
        double x = 0.5, v = 0.0, I = 0.0, v_max = 1.0;
        while (!perp_sim_finished(s.sim)) {
            const double t = perp_sim_time(s.sim) + h, r = sin(2 * t), r_dot = 2 * cos(2 * t);
            REQUIRE_OK(perp_sim_step(s.sim));
            const double k = kp + h * ki;
            v = (m * v + h * (k * (r - x) + ki * I + kd * r_dot)) / (m + h * h * k + h * kd);
            x += h * v;
            I += h * (r - x);
            v_max = fabs(v) > v_max ? fabs(v) : v_max;
            const perp_body_state b = scene_sim_body(&s, "cart");
            CHECK_NEAR(b.position[0], x, 1e-11 * v_max);
            CHECK_NEAR(b.velocity[0], v, 1e-9 * v_max);
            CHECK_AT_MOST(perp_sim_step_info(s.sim).certificate.worst, 1e-8);
            CHECK(v_max < 200.0); /* stable */
        }
        scene_sim_close(&s);
    }
}

TEST(the_integral_removes_the_offset_that_a_weight_leaves)
{
    double offset[2];
    for (int i = 0; i < 2; ++i) {
        scene_sim s =
            scene_sim_open("{'gravity':[0,-10],'step':0.01,'duration':40,'dimension':2,'bodies':[{"
                           "'name':"
                           "'m','mass':2}],'controllers':[{'type':'pid','body':'m','axis':[0,1],"
                           "'kp':100,'ki':%d,'kd':20,'target':0.3}]}",
                           i == 0 ? 0 : 80);
        REQUIRE(s.sim != NULL);
        CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
        offset[i] = scene_sim_body(&s, "m").position[1] - 0.3;
        scene_sim_close(&s);
    }
    CHECK_NEAR(offset[0], -2.0 * 10.0 / 100.0, 1e-9);
    CHECK_NEAR(offset[1], 0.0, 1e-9);
}

/* Far from its target the effort is at its limit: constant acceleration; and the integral waits. */
TEST(effort_is_limited_and_the_integral_does_not_wind_up)
{
    scene_sim s = scene_sim_open("{'step':0.01,'duration':20," CART PID
                                 "'kp':20,'ki':10,'kd':12,'target':10.5,'max_effort':40}]}");
    REQUIRE(s.sim != NULL);
    double before = 0.0, highest = 0.0;
    while (!perp_sim_finished(s.sim)) {
        REQUIRE_OK(perp_sim_step(s.sim));
        const perp_body_state b = scene_sim_body(&s, "cart");
        const double force = 2.0 * (b.velocity[0] - before) / 0.01;
        before = b.velocity[0];
        highest = b.position[0] > highest ? b.position[0] : highest;
        CHECK_AT_MOST(fabs(force), 40.0 * (1.0 + 1e-9));
        CHECK_NEAR(perp_sim_controller(s.sim, 0).effort, force, 1e-9);
        if (perp_sim_step_count(s.sim) == 10) {
            CHECK_NEAR(b.velocity[0], 40.0 / 2.0 * 0.1, 1e-12);
        }
    }
    CHECK_NEAR(scene_sim_body(&s, "cart").position[0], 10.5, 1e-3);
    TEST_PRINT("overshoot %.3f", highest - 10.5);
    CHECK_AT_MOST(highest, 10.5 + 2.0); /* 2.9 with an integral that winds up */
    scene_sim_close(&s);
}

#define ARM                                                                                        \
    "'dimension':2,'gravity':[0,-9.81],'bodies':[{'name':'arm','mass':1.5,"                        \
    "'inertia':"                                                                                   \
    "0.08,'position':[0.4,0]}],'joints':[{'name':'hinge','type':'revolute','a':"                   \
    "'world','b':'arm','at':[0,0]}],'controllers':[{'type':'pid','joint':"                         \
    "'hinge',"

TEST(a_joint_is_held_against_gravity_and_turned_more_than_once)
{
    /* PD: the torque balances the weight where the angle is, to rounding */
    scene_sim s =
        scene_sim_open("{'step':0.002,'duration':10," ARM "'kp':60,'kd':8,'target':0.5}]}");
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
    const double angle = perp_sim_joint(s.sim, 0).coordinate[0];
    CHECK_NEAR(60.0 * (0.5 - angle), 1.5 * 9.81 * 0.4 * cos(angle), 1e-6);
    scene_sim_close(&s);
    /* PID through two whole turns */
    s = scene_sim_open("{'step':0.002,'duration':10," ARM
                       "'kp':400,'ki':300,'kd':40,'target':'quintic(t, 0,0, 4,12.8)'}]}");
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
    CHECK_NEAR(perp_sim_joint(s.sim, 0).coordinate[0], 12.8, 1e-4);
    scene_sim_close(&s);
    /* gains that would blow up an explicit controller */
    s = scene_sim_open("{'step':0.01,'duration':2," ARM
                       "'kp':1e10,'kd':1e6,'target':'0.7*sin(3*t)'}]}");
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
    CHECK_NEAR(perp_sim_joint(s.sim, 0).coordinate[0], 0.7 * sin(6.0), 1e-3);
    scene_sim_close(&s);
}

/* A controller's effort is internal: what it does to b it undoes to a. */
TEST(a_controller_on_a_joint_between_two_bodies_keeps_their_momentum)
{
    scene_sim s =
        scene_sim_open("{'step':0.005,'duration':2,'dimension':2,'bodies':[{'name':'a','mass':1,"
                       "'inertia':0.1},{'name':'b','mass':2,'inertia':0.3,'position':[1,0.5]}],"
                       "'joints':"
                       "[{'name':'slide','type':'prismatic','a':'a','b':'b','at':[0.5,0],"
                       "'axis':"
                       "[1,0]}],'controllers':[{'type':'pd','joint':'slide','kp':50,'kd':5,"
                       "'target':"
                       "'0.4*sin(t)','max_effort':3}]}");
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
    double P[3], L[3];
    perp_sim_momentum(s.sim, P, L);
    CHECK_NEAR(P[0], 0.0, 1e-12);
    CHECK_NEAR(P[1], 0.0, 1e-12);
    CHECK(fabs(perp_sim_joint(s.sim, 0).coordinate[0] - 0.4 * sin(2.0)) < 0.05);
    scene_sim_close(&s);
}

static const char saturated[] =
    "{'step':0.005,'duration':2," ARM
    "'kp':40,'ki':60,'kd':3,'target':'cubic(t, 0,0, 1,1.2, 2,-1)','max_effort':9}],"
    "'forces':[{'type':'spring','a':'world','b':'arm','at_a':[1,1],'at_b':[0.2,0]"
    ","
    "'stiffness':30,'damping':1}]}";

TEST(a_snapshot_holds_the_integral_and_continues_with_the_same_bits)
{
    scene_sim straight = scene_sim_open("%s", saturated), broken = scene_sim_open("%s", saturated);
    REQUIRE(straight.sim != NULL && broken.sim != NULL);
    size_t size = 0;
    while (perp_sim_step_count(straight.sim) < 151) {
        REQUIRE_OK(perp_sim_step(straight.sim));
    }
    REQUIRE_OK(perp_sim_save(straight.sim, NULL, &size));
    char* snapshot = malloc(size);
    REQUIRE(snapshot != NULL);
    REQUIRE_OK(perp_sim_save(straight.sim, snapshot, &size));
    REQUIRE_OK(perp_sim_restore(broken.sim, snapshot, size));
    CHECK_AT_MOST(scene_sim_run(&straight), 1e-8);
    CHECK_AT_MOST(scene_sim_run(&broken), 1e-8);
    CHECK_EQ_INT(memcmp(perp_sim_q(straight.sim), perp_sim_q(broken.sim),
                        (size_t)perp_sim_q_size(broken.sim) * sizeof(double)),
                 0);
    CHECK_EQ_INT(memcmp(perp_sim_v(straight.sim), perp_sim_v(broken.sim),
                        (size_t)perp_sim_v_size(broken.sim) * sizeof(double)),
                 0);
    free(snapshot);
    scene_sim_close(&straight);
    scene_sim_close(&broken);
}

TEST(a_recording_with_springs_and_controllers_is_verified_and_resumed)
{
    scene_sim s = scene_sim_open("%s", saturated);
    REQUIRE(s.sim != NULL);
    perp_recorder* recorder = NULL;
    REQUIRE_OK(perp_recorder_create(s.context, "controller.h5", s.scene, s.sim, &recorder));
    while (!perp_sim_finished(s.sim)) {
        REQUIRE_OK(perp_sim_step(s.sim));
        REQUIRE_OK(perp_recorder_step(recorder, s.sim, 0.0));
    }
    REQUIRE_OK(perp_recorder_finish(recorder, s.sim));
    perp_recorder_destroy(recorder);
    perp_verification verification;
    REQUIRE_OK(perp_recording_verify(s.context, "controller.h5", &verification));
    CHECK(verification.intact && verification.same_bits);
    CHECK_EQ_INT(verification.laws_checked, 400);
    CHECK_AT_MOST(verification.worst.worst, 1e-8);
    TEST_PRINT("%s", verification.message);

    scene_sim again = scene_sim_open("%s", saturated);
    perp_recording* recording = NULL;
    REQUIRE_OK(perp_recording_open(s.context, "controller.h5", &recording));
    REQUIRE_OK(perp_recording_restore(recording, 133, again.sim));
    perp_recording_close(recording);
    CHECK_AT_MOST(scene_sim_run(&again), 1e-8);
    CHECK_EQ_INT(memcmp(perp_sim_q(s.sim), perp_sim_q(again.sim),
                        (size_t)perp_sim_q_size(s.sim) * sizeof(double)),
                 0);
    scene_sim_close(&again);
    scene_sim_close(&s);
    remove("controller.h5");
}

/* ---- prescribed bodies -----------------------------------------------------------------------------*/

TEST(a_follower_comes_to_its_target_no_faster_than_it_may)
{
    scene_sim s = scene_sim_open(
        "{'step':0.01,'duration':3,'bodies':[{'name':'hand','type':'kinematic',"
        "'position':"
        "[1,0,0],'motion':{'position':[1,'if(t < 1, 0, 3)',0],'axis_angle':[0,0,1,2],"
        "'max_speed':2,'max_angular_speed':1}}]}");
    REQUIRE(s.sim != NULL);
    double y = 0.0, angle = 0.0;
    while (!perp_sim_finished(s.sim)) {
        REQUIRE_OK(perp_sim_step(s.sim));
        const double t = perp_sim_time(s.sim);
        const perp_body_state b = scene_sim_body(&s, "hand");
        y = t < 1.0 - 1e-9 ? 0.0 : fmin(y + 0.02, 3.0);
        angle = fmin(angle + 0.01, 2.0);
        CHECK_NEAR(b.position[0], 1.0, 1e-12);
        CHECK_NEAR(b.position[1], y, 1e-12);
        CHECK_NEAR(2.0 * atan2(b.orientation[3], b.orientation[0]), angle, 1e-12);
        CHECK_AT_MOST(fabs(b.velocity[1]), 2.0 + 1e-12);
    }
    CHECK_NEAR(y, 3.0, 1e-12);
    scene_sim_close(&s);
}

/* Pushes a block in front of it, without ever sinking in. */
TEST(a_follower_pushes_what_stands_in_its_way)
{
    scene_sim s =
        scene_sim_open("{'dimension':2,'step':0.01,'duration':2,'bodies':[{'name':'pusher','type':"
                       "'kinematic','motion':{'position':[5,0],'max_speed':1},'shapes':[{'type':"
                       "'box',"
                       "'size':[1,1]}]},{'name':'block','mass':1,'position':[1.5,0],'shapes':[{"
                       "'type':"
                       "'box','size':[1,1]}]}]}");
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
    CHECK_NEAR(scene_sim_body(&s, "pusher").position[0], 2.0, 1e-12);
    CHECK_NEAR(scene_sim_body(&s, "block").position[0], 3.0, 1e-9);
    scene_sim_close(&s);
}

TEST(a_table_moves_a_body_through_its_rows)
{
    scene_sim s = scene_sim_open(
        "{'step':0.01,'duration':2,'bodies':[{'name':'b','type':'kinematic',"
        "'motion':{"
        "'table':[[0, 1,2,3, 1,0,0,0],[1, 2,2,3, -0.5,0,0,-0.5],[2, 2,0,3, 0,0,0,1]],"
        "'interpolation':'quintic'}}]}");
    REQUIRE(s.sim != NULL);
    while (perp_sim_step_count(s.sim) < 100) {
        REQUIRE_OK(perp_sim_step(s.sim));
    }
    perp_body_state b = scene_sim_body(&s, "b");
    CHECK_NEAR(b.position[0], 2.0, 1e-14);
    CHECK_NEAR(b.orientation[3] / b.orientation[0], 1.0, 1e-14); /* a quarter turn, the short way */
    CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
    b = scene_sim_body(&s, "b");
    CHECK_NEAR(b.position[1], 0.0, 1e-14);
    CHECK_NEAR(fabs(b.orientation[3]), 1.0, 1e-14);
    scene_sim_close(&s);
}

TEST(a_table_comes_from_a_file_and_the_scene_keeps_its_rows)
{
    FILE* file = fopen("table.txt", "w");
    REQUIRE(file != NULL);
    fputs("# t x y angle\n0, 0, 0, 0\n\n1; 2 1 +0.5 # the middle\n2\t0\t1e0\t7\n", file);
    fclose(file);
    scene_sim s =
        scene_sim_open("{'dimension':2,'step':0.01,'duration':2,'bodies':[{'name':'b','type':"
                       "'kinematic','motion':{'table':'table.txt'}}]}");
    REQUIRE(s.sim != NULL);
    CHECK(strstr(perp_scene_text(s.scene), "table.txt") == NULL);
    while (perp_sim_step_count(s.sim) < 50) {
        REQUIRE_OK(perp_sim_step(s.sim));
    }
    CHECK_NEAR(scene_sim_body(&s, "b").position[0], 1.0, 1e-14);
    CHECK_NEAR(scene_sim_body(&s, "b").angle, 0.25, 1e-14);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
    CHECK_NEAR(scene_sim_body(&s, "b").angle, 7.0, 1e-14); /* unwrapped */
    scene_sim_close(&s);

    static const struct {
        const char *text, *message;
    } bad[] = {{"0 1 2\n1 x 3\n", "table.txt:2: must be numbers"},
               {"0 1 2\n1 2 3 4\n", "table.txt:2: must have as many numbers as the rows before it"},
               {"# nothing\n", "must have 1 to 1000000 rows, got 0"},
               {"1 0 0\n1 0 0\n", "/bodies/0/motion/table/1: times must ascend"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        file = fopen("table.txt", "w");
        REQUIRE(file != NULL);
        fputs(bad[i].text, file);
        fclose(file);
        s = scene_sim_open("{'dimension':2,'bodies':[{'name':'b','type':'kinematic',"
                           "'motion':{'table':'table.txt'}}]}");
        CHECK(s.sim == NULL);
        CHECK_CONTAINS(s.error, bad[i].message);
        scene_sim_close(&s);
    }
    remove("table.txt");
}

/* ---- callbacks -------------------------------------------------------------------------------------*/

typedef struct tally {
    int calls, order;
} tally;

static int order_now;

static perp_status count(void* user, perp_sim* sim)
{
    tally* t = user;
    (void)sim;
    t->calls += 1;
    t->order = ++order_now;
    return PERP_OK;
}

TEST(warm_steps_with_springs_and_controllers_allocate_nothing)
{
    scene_sim s = scene_sim_open("%s", saturated);
    REQUIRE(s.sim != NULL);
    while (perp_sim_step_count(s.sim) < 20) {
        REQUIRE_OK(perp_sim_step(s.sim));
    }
    const uint64_t before = perp_context_allocations(s.context);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
    CHECK_EQ_U64(perp_context_allocations(s.context), before);
    scene_sim_close(&s);
}

TEST(several_callbacks_are_called_in_order)
{
    scene_sim s = scene_sim_open("{'step':0.01,'duration':0.05,'bodies':[{'name':'m',"
                                 "'mass':1}]}");
    REQUIRE(s.sim != NULL);
    tally a = {0}, b = {0}, c = {0};
    REQUIRE_OK(perp_sim_add_on_step(s.sim, count, &b));
    REQUIRE_OK(perp_sim_add_on_step(s.sim, count, &c));
    perp_sim_on_step(s.sim, count, &a);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
    CHECK(a.calls == 5 && b.calls == 5 && c.calls == 5);
    CHECK(a.order < b.order && b.order < c.order);
    scene_sim_close(&s);
}
