/* The state of a simulation: what a step that fails leaves, what a snapshot keeps, which pointers stay. */
#include "perp_test.h"
#include "support/scene_sim.h"

#define FLOOR2 "{'name':'floor','type':'static','shapes':[{'type':'box','size':[8,1]}]},"
#define BOX2                                                                                       \
    "{'name':'box','density':1,'position':[0,1.3],'angle':0.3,'velocity':[1,-1],"                  \
    "'shapes':[{'type':'box','size':[1,1]}]}"
#define FLOOR3 "{'name':'floor','type':'static','shapes':[{'type':'plane','normal':[0,0,1]}]},"
#define BALL3                                                                                      \
    "{'name':'ball','density':1,'position':[0,0,0.7],'velocity':[1,0,-2],"                         \
    "'angular_velocity':[0,3,1],'shapes':[{'type':'sphere','radius':0.5}]}"

/* Every driver and everything that a state remembers: groups, layers, springs, controllers, joints,
 * impacts and their offsets, the clock of adaptive steps. */
static const char* const SCENE[] = {
    "{'dimension':2,'gravity':[0,-10],'friction':{'default':0.4},'bodies':[" FLOOR2 BOX2 "]}",
    "{'dimension':2,'gravity':[0,-10],'stepper':'anitescu-potra','bodies':[" FLOOR2 BOX2 "]}",
    "{'dimension':2,'gravity':[0,-10],'stepper':'implicit','bodies':[" FLOOR2 BOX2 "]}",
    "{'dimension':2,'gravity':[0,-10],'stepper':'geometric-implicit','bodies':[" FLOOR2 BOX2 "]}",
    "{'dimension':2,'gravity':[0,-10],'contact':'lnc','bodies':[" FLOOR2 BOX2 "]}",
    "{'dimension':2,'gravity':[0,-10],'contact':'corrective','bodies':[" FLOOR2 BOX2 "]}",
    "{'gravity':[0,0,-10],'restitution':0.8,'friction':{'default':0.3},'bodies':[" FLOOR3 BALL3
    "]}",
    "{'gravity':[0,0,-10],'restitution':{'law':'poisson','e':0.8},'bodies':[" FLOOR3 BALL3 "]}",
    "{'gravity':[0,0,-10],'restitution':0.8,'step':{'error':1e-4},'bodies':[" FLOOR3 BALL3 "]}",
    "{'gravity':[0,0,-10],'stepper':'compliant','bodies':[" FLOOR3
    "{'name':'ball','density':1,'position':[0,0,0.52],'velocity':[0,0,-2],'compliance':{"
    "'stiffness':5000,'damping':10},'shapes':[{'type':'sphere','radius':0.5}]}]}",
    "{'gravity':[0,0,-10],'joint_correction':true,'bodies':[" FLOOR3 BALL3 "],'joints':[{"
    "'name':'hinge','type':'revolute','a':'world','b':'ball','at':[0,0,2],'axis':[0,1,0],"
    "'motor':{'type':'velocity','target':2,'max_effort':3}}]}",
};
enum { SCENES = sizeof SCENE / sizeof SCENE[0] };

static size_t state_bytes(const perp_sim* sim)
{
    return (size_t)perp_sim_q_size(sim) * sizeof(double);
}

static bool same_state(const perp_sim* a, const perp_sim* b)
{
    return memcmp(perp_sim_q(a), perp_sim_q(b), state_bytes(a)) == 0 &&
           memcmp(perp_sim_v(a), perp_sim_v(b), (size_t)perp_sim_v_size(a) * sizeof(double)) == 0 &&
           perp_sim_time(a) == perp_sim_time(b) && perp_sim_step_count(a) == perp_sim_step_count(b);
}

static void* snapshot(const perp_sim* sim, size_t* size)
{
    void* buffer = NULL;
    if (perp_sim_save(sim, NULL, size) == PERP_OK) {
        buffer = malloc(*size);
        CHECK_OK(perp_sim_save(sim, buffer, size));
    }
    return buffer;
}

/* After every one of the first 40 steps: what is restored has the same bytes, and the same next step. */
TEST(a_snapshot_goes_into_another_simulation_and_back_with_the_same_bytes)
{
    for (int i = 0; i < SCENES; ++i) {
        scene_sim s = scene_sim_open("%s", SCENE[i]), other = scene_sim_open("%s", SCENE[i]);
        REQUIRE(s.sim != NULL && other.sim != NULL);
        for (int step = 0; step < 40; ++step) {
            size_t size, again;
            void* saved = snapshot(s.sim, &size);
            REQUIRE(saved != NULL);
            REQUIRE_OK(perp_sim_restore(other.sim, saved, size));
            void* back = snapshot(other.sim, &again);
            REQUIRE(back != NULL);
            CHECK_EQ_INT(again, size);
            CHECK(memcmp(saved, back, size) == 0);
            CHECK(same_state(s.sim, other.sim));
            free(back);
            free(saved);
            REQUIRE_OK(perp_sim_step(s.sim));
            REQUIRE_OK(perp_sim_step(other.sim));
            if (!same_state(s.sim, other.sim)) {
                TEST_PRINT("scene %d, step %d", i, step);
            }
            CHECK(same_state(s.sim, other.sim));
        }
        scene_sim_close(&other);
        scene_sim_close(&s);
    }
}

/* ---- a step that fails ---------------------------------------------------------------------------*/

static perp_status refuse(void* user, perp_sim* sim)
{
    (void)sim;
    return *(bool*)user ? PERP_ERROR_CANCELLED : PERP_OK;
}

static bool cancel_at_once(void* user)
{
    return *(bool*)user;
}

/* Once by user code, once inside the solver: the state stays, and the run goes on with the same bits. */
TEST(a_step_that_fails_leaves_the_state_as_it_was)
{
    for (int i = 0; i < SCENES; ++i) {
        scene_sim s = scene_sim_open("%s", SCENE[i]), whole = scene_sim_open("%s", SCENE[i]);
        REQUIRE(s.sim != NULL && whole.sim != NULL);
        bool refusing = false, cancelling = false;
        perp_sim_on_step(s.sim, refuse, &refusing);
        perp_sim_on_cancel(s.sim, cancel_at_once, &cancelling);
        int failed = 0;
        for (int step = 0; step < 30; ++step) {
            size_t size, again;
            void* before = snapshot(s.sim, &size);
            refusing = step % 3 == 1;
            cancelling = step % 3 == 2;
            if (step % 3 != 0 && perp_sim_step(s.sim) == PERP_OK) {
                REQUIRE_OK(perp_sim_step(whole.sim)); /* nothing to solve: it was not cancelled */
            } else if (step % 3 != 0) {
                void* after = snapshot(s.sim, &again);
                CHECK_EQ_INT(again, size);
                CHECK(memcmp(before, after, size) == 0);
                free(after);
                ++failed;
            }
            free(before);
            refusing = cancelling = false;
            REQUIRE_OK(perp_sim_step(s.sim));
            REQUIRE_OK(perp_sim_step(whole.sim));
            if (!same_state(s.sim, whole.sim)) {
                TEST_PRINT("scene %d, step %d", i, step);
            }
            CHECK(same_state(s.sim, whole.sim));
        }
        CHECK_AT_LEAST(failed, 8);
        scene_sim_close(&whole);
        scene_sim_close(&s);
    }
}

/* ---- pointers ------------------------------------------------------------------------------------*/

TEST(pointers_to_q_and_v_stay_valid_for_the_life_of_a_simulation)
{
    for (int i = 0; i < SCENES; ++i) {
        scene_sim s = scene_sim_open("%s", SCENE[i]);
        REQUIRE(s.sim != NULL);
        const double *q = perp_sim_q(s.sim), *v = perp_sim_v(s.sim);
        size_t size;
        void* start = snapshot(s.sim, &size);
        for (int step = 0; step < 20; ++step) {
            REQUIRE_OK(perp_sim_step(s.sim));
            CHECK(perp_sim_q(s.sim) == q);
            CHECK(perp_sim_v(s.sim) == v);
        }
        REQUIRE_OK(perp_sim_restore(s.sim, start, size));
        CHECK(perp_sim_q(s.sim) == q && perp_sim_v(s.sim) == v);
        free(start);
        scene_sim_close(&s);
    }
}

/* Until then: valid until the next step, and constant while nothing is stepped. */
TEST(pointers_to_q_and_v_show_the_present_state)
{
    scene_sim s = scene_sim_open("%s", SCENE[0]);
    REQUIRE(s.sim != NULL);
    for (int step = 0; step < 5; ++step) {
        REQUIRE_OK(perp_sim_step(s.sim));
        const perp_body_state box = perp_sim_body(s.sim, 1);
        CHECK(perp_sim_q(s.sim)[3] == box.position[0] && perp_sim_q(s.sim)[5] == box.angle);
        CHECK(perp_sim_v(s.sim)[4] == box.velocity[1]);
        double depth;
        const double* q = perp_sim_q(s.sim);
        REQUIRE_OK(perp_sim_penetration(s.sim, &depth));
        CHECK(perp_sim_q(s.sim) == q);
    }
    scene_sim_close(&s);
}
