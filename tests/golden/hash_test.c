/* The same bits from every compiler and optimisation level: a hash over whole runs.
 *
 * The scenes are chosen so that only + - * / and sqrt decide (nothing turns by more than rounding),
 * because sin and cos may differ in the last bit between C libraries and processors. A change of
 * method changes the hash: then look at the motion, and put the new number here.
 */
#include "perp_test.h"
#include "support/scene_sim.h"

static uint64_t mix(uint64_t h, const double* x, int32_t n)
{
    for (int32_t i = 0; i < n; ++i) {
        uint64_t bits;
        const double value = x[i] == 0.0 ? 0.0 : x[i]; /* -0 is 0 */
        memcpy(&bits, &value, sizeof bits);
        h = ((h << 29 | h >> 35) ^ bits) * 0x9e3779b97f4a7c15u;
    }
    return h;
}

static uint64_t run_hash(scene_sim* s)
{
    uint64_t h = 1;
    while (!perp_sim_finished(s->sim)) {
        if (perp_sim_step(s->sim) != PERP_OK) {
            return 0;
        }
        h = mix(h, perp_sim_q(s->sim), perp_sim_q_size(s->sim));
        h = mix(h, perp_sim_v(s->sim), perp_sim_v_size(s->sim));
    }
    return h;
}

static void check_scene(const char* scene, uint64_t golden)
{
    scene_sim s = scene_sim_load(scene);
    REQUIRE(s.sim != NULL);
    const uint64_t h = run_hash(&s);
    TEST_PRINT("%s: 0x%016" PRIx64, scene, h);
    CHECK_EQ_U64(h, golden);
    scene_sim_close(&s);
}

TEST(a_particle_pushed_by_a_fence_gives_the_same_bits_everywhere)
{
    scene_sim s =
        scene_sim_open("{'gravity':[0,0,-9.81],'step':0.01,'duration':2,'friction':{'default':0.3},"
                       "'bodies':[{'name':'floor','type':'static','shapes':[{'type':'plane',"
                       "'normal':[0,0,1]}]},{'name':'fence','type':'kinematic',"
                       "'motion':{'position':['0.5*t-0.1*t*t','0.2*t',0]},'collides_with':['p'],"
                       "'shapes':[{'type':'plane','normal':[0.8,0.6,0]}]},"
                       "{'name':'p','mass':0.7,'position':[0.3,0.1,0.05],"
                       "'shapes':[{'type':'particle'}]}]}");
    REQUIRE(s.sim != NULL);
    const uint64_t h = run_hash(&s);
    TEST_PRINT("fence: 0x%016" PRIx64, h);
    CHECK_EQ_U64(h, 0xa2f617683cbf3e07u);
    scene_sim_close(&s);
}

TEST(a_stack_of_boxes_gives_the_same_bits_everywhere)
{
    check_scene("scenes/stack.json", 0x075405faee502e3du);
}

TEST(a_ball_that_drops_gives_the_same_bits_everywhere)
{
    check_scene("scenes/hello.json", 0x00972aa96e85c01au);
}
