/* The same answer again: repeated runs, snapshots, and no memory asked for once warm. */
#include "perp_test.h"
#include "support/scene_sim.h"

static const char tumbling[] =
    "{'gravity':[0,0,-9.81],'step':0.01,'duration':2,'friction':{'default':0.5},"
    "'bodies':[{'name':'floor','type':'static','shapes':[{'type':'plane',"
    "'normal':[0,0,1]}]},"
    "{'name':'belt','type':'kinematic','position':[2,0,0],"
    "'motion':{'velocity':['0.2*cos(t)',0,0],'angular_velocity':[0,0,0.3]},"
    "'shapes':[{'type':'box','size':[1,1,0.2]}]},"
    "{'name':'a','density':1,'position':[0,0,0.8],'velocity':[1.5,0.1,0],"
    "'angular_velocity':[1,2,0],'shapes':[{'type':'box','size':[0.3,0.4,0.5]}]},"
    "{'name':'b','density':1,'position':[0.1,0.1,1.5],"
    "'shapes':[{'type':'capsule','radius':0.1,'length':0.3}]},"
    "{'name':'c','density':2,'position':[0,0.05,2],"
    "'shapes':[{'type':'sphere','radius':0.15}]}]}";

static bool same_state(const perp_sim* a, const perp_sim* b)
{
    return memcmp(perp_sim_q(a), perp_sim_q(b), (size_t)perp_sim_q_size(a) * sizeof(double)) == 0 &&
           memcmp(perp_sim_v(a), perp_sim_v(b), (size_t)perp_sim_v_size(a) * sizeof(double)) == 0;
}

TEST(two_runs_give_the_same_bits)
{
    scene_sim a = scene_sim_open("%s", tumbling), b = scene_sim_open("%s", tumbling);
    REQUIRE(a.sim != NULL && b.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&a), 1e-8);
    CHECK_AT_MOST(scene_sim_run(&b), 1e-8);
    CHECK(same_state(a.sim, b.sim));
    scene_sim_close(&a);
    scene_sim_close(&b);
}

TEST(continuing_from_a_snapshot_gives_the_same_bits_as_never_having_stopped)
{
    scene_sim a = scene_sim_open("%s", tumbling), b = scene_sim_open("%s", tumbling);
    REQUIRE(a.sim != NULL && b.sim != NULL);
    void* buffer = NULL;
    while (!perp_sim_finished(a.sim)) {
        REQUIRE_OK(perp_sim_step(a.sim));
        if (perp_sim_step_count(a.sim) % 37 == 0) {
            /* b jumps to where a is, from wherever it was, and walks along from there */
            size_t size = 0;
            REQUIRE_OK(perp_sim_save(a.sim, NULL, &size));
            buffer = realloc(buffer, size);
            REQUIRE_OK(perp_sim_save(a.sim, buffer, &size));
            REQUIRE_OK(perp_sim_restore(b.sim, buffer, size));
        } else if (perp_sim_step_count(a.sim) > 37) {
            REQUIRE_OK(perp_sim_step(b.sim));
            CHECK(same_state(a.sim, b.sim));
        }
    }
    free(buffer);
    scene_sim_close(&a);
    scene_sim_close(&b);
}

TEST(a_broken_snapshot_is_refused_and_changes_nothing)
{
    scene_sim a = scene_sim_open("%s", tumbling), other = scene_sim_load("scenes/hello.json");
    REQUIRE(a.sim != NULL && other.sim != NULL);
    for (int i = 0; i < 50; ++i) {
        REQUIRE_OK(perp_sim_step(a.sim));
    }
    size_t size = 0;
    REQUIRE_OK(perp_sim_save(a.sim, NULL, &size));
    unsigned char* good = malloc(size);
    unsigned char* bad = malloc(size);
    REQUIRE_OK(perp_sim_save(a.sim, good, &size));
    CHECK_EQ_INT(perp_sim_restore(other.sim, good, size), PERP_ERROR_INPUT);
    for (size_t cut = 0; cut < size; cut += 13) {
        CHECK_EQ_INT(perp_sim_restore(a.sim, good, cut), PERP_ERROR_INPUT);
    }
    memcpy(bad, good, size);
    const double nan = NAN;
    memcpy(bad + 64, &nan, sizeof nan); /* somewhere in the numbers */
    CHECK_EQ_INT(perp_sim_restore(a.sim, bad, size), PERP_ERROR_INPUT);
    size_t again = size;
    REQUIRE_OK(perp_sim_save(a.sim, bad, &again));
    CHECK(memcmp(good, bad, size) == 0);
    free(good);
    free(bad);
    scene_sim_close(&a);
    scene_sim_close(&other);
}

TEST(a_warm_step_asks_for_no_memory)
{
    scene_sim s = scene_sim_open(
        "{'gravity':[0,0,-9.81],'step':0.01,'duration':10,'friction':{'default':0.5},"
        "'bodies':[{'name':'floor','type':'static','shapes':[{'type':'plane',"
        "'normal':[0,0,1]}]},"
        "{'name':'a','density':1,'position':[0,0,0.5],'velocity':[1,0.3,0],"
        "'shapes':[{'type':'box','size':[1,1,1]}]},"
        "{'name':'b','density':1,'position':[0,0,1.5],"
        "'shapes':[{'type':'box','size':[1,1,1]}]}]}");
    REQUIRE(s.sim != NULL);
    for (int i = 0; i < 50; ++i) {
        REQUIRE_OK(perp_sim_step(s.sim));
    }
    const uint64_t before = perp_context_allocations(s.context);
    for (int i = 0; i < 500; ++i) {
        REQUIRE_OK(perp_sim_step(s.sim));
    }
    CHECK_EQ_U64(perp_context_allocations(s.context) - before, 0);
    scene_sim_close(&s);
}

TEST(the_end_is_reached_when_h_does_not_divide_the_duration)
{
    scene_sim s = scene_sim_open("{'step':0.3,'duration':1,'bodies':[{'name':'p',"
                                 "'mass':1,'velocity':[2,0,0]}]}");
    REQUIRE(s.sim != NULL);
    CHECK_EQ_INT(perp_sim_step_total(s.sim), 4);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-12);
    CHECK_NEAR(perp_sim_time(s.sim), 1.0, 0.0);
    CHECK_NEAR(scene_sim_body(&s, "p").position[0], 2.0, 1e-14);
    scene_sim_close(&s);
    /* 0.1 is not a binary fraction, but it divides 1 well enough */
    scene_sim t = scene_sim_open("{'step':0.1,'duration':1,'bodies':[{'name':'p',"
                                 "'mass':1}]}");
    REQUIRE(t.sim != NULL);
    CHECK_EQ_INT(perp_sim_step_total(t.sim), 10);
    scene_sim_close(&t);
}
