/* tests/unit/solve/warm_start_test.c - auto begins with the warm start: what rests costs a check, errors do
 * not persist, and a contact that is alone is solved at once. Judged by positions and by the iterations
 * that the reports count. */
#include <math.h>

#include "perp_test.h"
#include "support/scene_sim.h"

#define FLOOR                                                                                      \
    "{'name':'floor','type':'static','shapes':[{'type':'plane','normal':[0,0,1],'offset':0}]}"

static scene_sim boxes(const char* bodies)
{
    return scene_sim_open("{'gravity':[0,0,-9.81],'step':0.01,'duration':100,"
                          "'friction':{'cone':'quadratic','default':0.5},'bodies':[" FLOOR ",%s]}",
                          bodies);
}

typedef struct tally {
    int32_t steps, without_iterations, by_methods;
    double certificate;
} tally;

/* by_methods: steps that neither the warm start nor its correction solved. */
static tally run_steps(scene_sim* s, int32_t steps)
{
    tally t = {.steps = steps};
    for (int32_t i = 0; i < steps; ++i) {
        if (perp_sim_step(s->sim) != PERP_OK) {
            return (tally){.certificate = INFINITY, .by_methods = steps};
        }
        const perp_step_info info = perp_sim_step_info(s->sim);
        t.without_iterations += info.report.iterations == 0;
        t.by_methods += strstr(info.report.detail, "warm start") == NULL;
        t.certificate =
            info.certificate.worst > t.certificate ? info.certificate.worst : t.certificate;
    }
    return t;
}

TEST(a_box_at_rest_is_solved_by_the_impulses_of_the_last_step)
{
    scene_sim s = boxes("{'name':'box','mass':1,'position':[0,0,0.5],"
                        "'shapes':[{'type':'box','size':[1,1,1]}]}");
    REQUIRE(s.sim != NULL);
    (void)run_steps(&s, 10);
    const tally t = run_steps(&s, 500);
    CHECK_AT_LEAST(t.without_iterations, 450);
    CHECK_EQ_INT(t.by_methods, 0);
    CHECK_AT_MOST(t.certificate, 1e-12);
    CHECK_NEAR(scene_sim_body(&s, "box").position[2], 0.5, 1e-14);
    scene_sim_close(&s);
}

/* An impulse that is fixed would let the heavy box tip the light one: the error grows fourfold each step. */
TEST(a_heavy_box_on_a_light_one_is_corrected_without_a_method)
{
    scene_sim s = boxes("{'name':'light','mass':1,'position':[0,0,0.5],"
                        "'shapes':[{'type':'box','size':[1,1,1]}]},"
                        "{'name':'heavy','mass':1000,'position':[0,0,1.5],"
                        "'shapes':[{'type':'box','size':[1,1,1]}]}");
    REQUIRE(s.sim != NULL);
    (void)run_steps(&s, 10);
    const tally t = run_steps(&s, 500);
    CHECK_EQ_INT(t.by_methods, 0);
    CHECK_AT_MOST(t.certificate, 1e-12);
    CHECK_NEAR(scene_sim_body(&s, "heavy").position[2], 1.5, 1e-13);
    scene_sim_close(&s);
}

/* Slides with deceleration mu g, then rolls at 5/7 of its speed. */
TEST(a_ball_that_begins_to_roll_is_solved_directly)
{
    scene_sim s = boxes("{'name':'ball','mass':1,'position':[0,0,1],'velocity':[2,0,0],"
                        "'shapes':[{'type':'sphere','radius':1}]}");
    REQUIRE(s.sim != NULL);
    (void)run_steps(&s, 1);
    const tally t = run_steps(&s, 60);
    CHECK_EQ_INT(t.by_methods, 0);
    CHECK_AT_MOST(t.certificate, 1e-12);
    CHECK_NEAR(scene_sim_body(&s, "ball").velocity[0], 10.0 / 7.0, 5e-3);
    scene_sim_close(&s);
}

/* Every contact slips in a direction of its own, which changes from step to step, until it stops. */
TEST(a_box_that_slides_and_spins_is_corrected_without_a_method)
{
    scene_sim s = boxes("{'name':'box','mass':1,'position':[0,0,0.1],'velocity':[1,0,0],"
                        "'angular_velocity':[0,0,5],'shapes':[{'type':'box','size':[1,1,0.2]}]}");
    REQUIRE(s.sim != NULL);
    (void)run_steps(&s, 1);
    const tally t = run_steps(&s, 100);
    CHECK_AT_MOST(t.by_methods, 5);
    CHECK_AT_MOST(t.certificate, 1e-12);
    const perp_body_state box = scene_sim_body(&s, "box");
    CHECK_NEAR(box.position[2], 0.1, 1e-13);
    CHECK_NEAR(box.velocity[0], 0.0, 1e-12);
    CHECK(box.position[0] > 0.1 && box.position[0] < 0.4); /* v^2 / 2 mu g = 0.10 without spin */
    scene_sim_close(&s);
}

/* Its impulses are the same in every step, but its velocities are not. */
TEST(a_box_that_slides_faster_and_faster_is_corrected_less_often_than_it_is_rounded)
{
    const double down = 5.0, press = 8.0, a = down - 0.5 * press, h = 0.01;
    scene_sim s = scene_sim_open("{'gravity':[%g,0,%g],'step':%g,'duration':100,'friction':{'cone':"
                                 "'quadratic','default':0.5},"
                                 "'bodies':[" FLOOR ",{'name':'box','mass':1,'position':[0,0,0.1],"
                                 "'shapes':[{'type':'box','size':[1,1,0.2]}]}]}",
                                 down, -press, h);
    REQUIRE(s.sim != NULL);
    (void)run_steps(&s, 50);
    const tally t = run_steps(&s, 150);
    CHECK_AT_LEAST(t.without_iterations, 60); /* 50 with REFINE alone */
    CHECK_EQ_INT(t.by_methods, 0);
    CHECK_AT_MOST(t.certificate, 1e-12);
    const perp_body_state box = scene_sim_body(&s, "box");
    CHECK_NEAR(box.velocity[0], 200 * a * h, 1e-12);
    CHECK_NEAR(box.position[0], 0.5 * 200 * 201 * a * h * h, 1e-12);
    CHECK_NEAR(box.position[2], 0.1, 1e-15);
    scene_sim_close(&s);
}

/* Contacts that open and close are none that the correction treats: a box thrown at a stack. */
TEST(contacts_that_change_are_left_to_the_methods)
{
    scene_sim s = boxes("{'name':'low','mass':1,'position':[0,0,0.5],"
                        "'shapes':[{'type':'box','size':[1,1,1]}]},"
                        "{'name':'thrown','mass':2,'position':[-2,0.1,1.7],'velocity':[4,0,0],"
                        "'shapes':[{'type':'box','size':[1,1,1]}]}");
    REQUIRE(s.sim != NULL);
    const tally t = run_steps(&s, 300);
    CHECK(t.by_methods > 0);
    CHECK_AT_MOST(t.certificate, 1e-8);
    const double* at = scene_sim_body(&s, "low").position;
    CHECK(at[0] > 0.05); /* it was pushed */
    scene_sim_close(&s);
}

/* The warm start must not hide a force: a frictionless box on the floor under a push of 1e-15 of its weight. */
TEST(a_force_far_below_the_goal_still_accelerates)
{
    scene_sim s = scene_sim_open(
        "{'gravity':[0,0,-9.81],'step':0.01,'duration':100,'friction':{'default':0},"
        "'forces':[{'type':'wrench','body':'box','force':[9.81e-15,0,0]}],'bodies':[" FLOOR
        ",{'name':'box','mass':1,'position':[0,0,0.5],"
        "'shapes':[{'type':'box','size':[1,1,1]}]}]}");
    REQUIRE(s.sim != NULL);
    const tally t = run_steps(&s, 1000);
    CHECK_EQ_INT(t.steps, 1000);
    CHECK_NEAR(scene_sim_body(&s, "box").velocity[0], 9.81e-14, 1e-16);
    scene_sim_close(&s);
}

/* Steps that pass as they are must follow a force that grows slowly: friction carries what is applied. */
TEST(a_force_that_grows_slowly_is_followed)
{
    scene_sim s =
        scene_sim_open("{'gravity':[0,0,-9.81],'step':0.01,'duration':5,"
                       "'forces':[{'type':'wrench','body':'box','force':['0.0981*t',0,0]}],"
                       "'friction':{'cone':'quadratic','default':0.5},'bodies':[" FLOOR
                       ",{'name':'box','mass':1,'position':[0,0,0.5],"
                       "'shapes':[{'type':'box','size':[1,1,1]}]}]}");
    REQUIRE(s.sim != NULL);
    const tally t = run_steps(&s, 400);
    double push = 0.0;
    int32_t count;
    const perp_contact* c = perp_sim_contacts(s.sim, &count);
    for (int32_t i = 0; i < count; ++i) { /* x of p_t t + p_o (n x t) */
        push +=
            c[i].impulse[1] * c[i].tangent[0] +
            c[i].impulse[2] * (c[i].normal[1] * c[i].tangent[2] - c[i].normal[2] * c[i].tangent[1]);
    }
    CHECK(t.by_methods <= 2);
    CHECK_NEAR(push, -0.01 * 0.0981 * 3.99, 1e-12);
    CHECK_NEAR(scene_sim_body(&s, "box").position[0], 0.0, 1e-12);
    scene_sim_close(&s);
}
