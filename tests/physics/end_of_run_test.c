/* The end of a run: durations that the step does not divide, and what the last steps do to the motion. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "perp_test.h"
#include "support/scene_sim.h"

/* Numbers in [0, 1) from a seed (SplitMix64). */
static double uniform(uint64_t* seed)
{
    uint64_t z = (*seed += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static scene_sim point(double h, double duration)
{
    return scene_sim_open("{'step':%.17g,'duration':%.17g,'bodies':[{'name':'p',"
                          "'mass':1,'velocity':[2,0,0]}]}",
                          h, duration);
}

/* The number of steps and the lengths of the last two by the rule, worked out by hand from n and r. */
static void check_steps(double h, int64_t n, double r)
{
    const double T = ((double)n + r) * h;
    scene_sim s = point(h, T);
    REQUIRE(s.sim != NULL);
    const double off = fmin(r, 1.0 - r);
    const bool even = off <= 1e-9 * ((double)n + r);
    const int64_t steps = n == 0 ? 1 : even ? llround((double)n + r) : n + (r >= 0.05);
    const bool exact = fabs(T / h - round(T / h)) <= 4.0 * DBL_EPSILON * (T / h);
    const int64_t first_odd = exact ? steps : even || n == 0 || r < 0.05 ? steps - 1 : steps - 2;
    CHECK_EQ_INT(perp_sim_step_total(s.sim), steps);
    for (int64_t k = 1; k <= steps; ++k) {
        REQUIRE_OK(perp_sim_step(s.sim));
        const double length = perp_sim_last_step(s.sim);
        if (k <= first_odd) {
            CHECK(length == h && (perp_sim_time(s.sim) == (double)k * h || k == steps));
        } else {
            const double odd = n == 0     ? T
                               : even     ? T - (double)(steps - 1) * h
                               : r < 0.05 ? h + r * h
                                          : 0.5 * (h + r * h);
            CHECK_NEAR(length, odd, 1e-13 * T);
            CHECK(n == 0 || (length >= 0.52 * h && length <= 1.05 * h));
        }
    }
    CHECK(perp_sim_finished(s.sim) && perp_sim_time(s.sim) == T);
    CHECK_NEAR(scene_sim_body(&s, "p").position[0], 2.0 * T, 1e-12 * T);
    scene_sim_close(&s);
}

TEST(the_last_two_steps_share_what_the_step_leaves_over)
{
    static const double rest[] = {0.0,  1e-12, 1e-7, 0.01, 0.0499999, 0.0500001,
                                  0.25, 0.5,   0.75, 0.95, 0.9999999};
    static const int64_t whole[] = {0, 1, 2, 3, 10, 257};
    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; ++i) {
        for (size_t k = whole[i] == 0; k < sizeof rest / sizeof rest[0]; ++k) {
            check_steps(0.01, whole[i], rest[k]);
        }
    }
    uint64_t seed = 12;
    for (int i = 0; i < 60; ++i) {
        const double h = exp(8.0 * uniform(&seed) - 8.0);
        const int64_t n = (int64_t)(30.0 * uniform(&seed));
        const double r = uniform(&seed) * (i % 2 == 0 ? 1.0 : 1e-6);
        check_steps(h, n, fmax(r, 1e-7 * (double)(n + 1)));
    }
}

/* Whatever the rest: a prescribed pose is that of the recorded time, in every step. */
TEST(a_kinematic_body_is_where_its_motion_is_at_the_time_of_the_frame)
{
    static const double rest[] = {0.0, 1e-13, 1e-10, 1e-8, 9e-8, 2e-7, 0.01, 0.3, 0.7, 0.9999999};
    static const char* const stepper[] = {"stewart-trinkle",    "anitescu-potra", "implicit",
                                          "geometric-implicit", "quasistatic",    "compliant"};
    for (size_t i = 0; i < sizeof rest / sizeof rest[0]; ++i) {
        for (size_t k = 0; k < sizeof stepper / sizeof stepper[0]; ++k) {
            scene_sim s = scene_sim_open(
                "{'step':0.05,'duration':%.17g,'stepper':'%s','bodies':[{'name':"
                "'k','type':'kinematic','motion':{'position':['50*sin(2*t)',0,0]}}]}",
                0.05 * (103.0 + rest[i]), stepper[k]);
            REQUIRE(s.sim != NULL);
            while (!perp_sim_finished(s.sim)) {
                REQUIRE_OK(perp_sim_step(s.sim));
                const double t = perp_sim_time(s.sim);
                CHECK_NEAR(scene_sim_body(&s, "k").position[0], 50.0 * sin(2.0 * t), 1e-12 * 50.0);
            }
            scene_sim_close(&s);
        }
    }
}

/* A double pendulum with a third link on a rope, in the plane or in space. */
static scene_sim chain(int dimension, bool correction, double h, double duration)
{
    if (dimension == 2) {
        return scene_sim_open("{'dimension':2,'gravity':[0,-9.81],'step':%.17g,'duration':%.17g,"
                              "'joint_correction':%s,'bodies':["
                              "{'name':'A','mass':1,'inertia':0.0833,'position':[0.5,0]},"
                              "{'name':'B','mass':1,'inertia':0.0833,'position':[1.5,0]},"
                              "{'name':'C','mass':0.5,'inertia':0.01,'position':[2.3,0]}],"
                              "'joints':[{'name':'O','type':'revolute','a':'world','b':'A','at':["
                              "0,"
                              "0]},{'name':'P','type':'revolute','a':'A','b':'B','at':[1,0]},"
                              "{'name':'R','type':'rope','a':'B','b':'C','at_a':[0.5,0],"
                              "'at_b':[0,0],'length':0.3}]}",
                              h, duration, correction ? "true" : "false");
    }
    return scene_sim_open(
        "{'gravity':[0,0,-9.81],'step':%.17g,'duration':%.17g,'joint_correction':%s,"
        "'bodies':["
        "{'name':'A','mass':1,'inertia':[0.01,0.08,0.08],'position':[0.5,0,0]},"
        "{'name':'B','mass':1,'inertia':[0.01,0.08,0.08],'position':[1.5,0,0],"
        "'velocity':[0,0.5,0]}],"
        "'joints':[{'name':'O','type':'spherical','a':'world','b':'A','at':[0,"
        "0,"
        "0]},{'name':'P','type':'universal','a':'A','b':'B','at':[1,0,0],"
        "'axis':[0,1,0],'axis2':[0,0,1]}]}",
        h, duration, correction ? "true" : "false");
}

/* The same two states, for each body: how far they are apart, in lengths and speeds. */
static double apart(const scene_sim* a, const scene_sim* b)
{
    double most = 0.0;
    const double *q[2] = {perp_sim_q(a->sim), perp_sim_q(b->sim)},
                 *v[2] = {perp_sim_v(a->sim), perp_sim_v(b->sim)};
    for (int32_t i = 0; i < perp_sim_q_size(a->sim); ++i) {
        most = fmax(most, fabs(q[0][i] - q[1][i]));
    }
    for (int32_t i = 0; i < perp_sim_v_size(a->sim); ++i) {
        most = fmax(most, fabs(v[0][i] - v[1][i]));
    }
    return most;
}

TEST(a_rest_of_any_size_leaves_a_double_pendulum_its_energy)
{
    const double h = 0.01;
    uint64_t seed = 4;
    double worst = 0.0;
    for (int i = 0; i < 48; ++i) {
        const int dimension = i % 2 == 0 ? 2 : 3;
        const bool correction = i % 4 >= 2;
        const int64_t n = 20 + (int64_t)(60.0 * uniform(&seed));
        const double r = i % 3 == 0 ? pow(10.0, -8.0 * uniform(&seed)) : uniform(&seed);
        scene_sim s = chain(dimension, correction, h, ((double)n + r) * h);
        scene_sim whole = chain(dimension, correction, h, (double)(n + 2) * h);
        if (s.sim == NULL) {
            TEST_PRINT("%s", s.error);
        }
        REQUIRE(s.sim != NULL && whole.sim != NULL);
        /* the bits of a longer run, up to the last two steps */
        for (int64_t k = 0; k < n - 1; ++k) {
            REQUIRE_OK(perp_sim_step(s.sim));
            REQUIRE_OK(perp_sim_step(whole.sim));
        }
        CHECK(apart(&s, &whole) == 0.0);
        const double before = perp_sim_energy(s.sim).total;
        double change = 0.0;
        while (!perp_sim_finished(s.sim)) {
            REQUIRE_OK(perp_sim_step(s.sim));
        }
        while (!perp_sim_finished(whole.sim)) {
            REQUIRE_OK(perp_sim_step(whole.sim));
            change = fmax(change, fabs(perp_sim_energy(whole.sim).total - before));
        }
        const double kinetic = perp_sim_energy(whole.sim).kinetic;
        const double extra = fabs(perp_sim_energy(s.sim).total - before) - 2.0 * change;
        worst = fmax(worst, extra / kinetic);
        scene_sim_close(&s);
        scene_sim_close(&whole);
    }
    TEST_PRINT("energy that the last steps change beyond twice that of whole ones: %.1e", worst);
    CHECK_AT_MOST(worst, 0.01);
}

TEST(a_duration_longer_by_1e_7_moves_the_double_pendulum_by_no_more)
{
    for (int i = 0; i < 4; ++i) {
        scene_sim a = chain(2 + i % 2, i >= 2, 0.01, 1.0);
        scene_sim b = chain(2 + i % 2, i >= 2, 0.01, 1.0000001);
        REQUIRE(a.sim != NULL && b.sim != NULL);
        CHECK_AT_MOST(scene_sim_run(&a), 1e-8);
        CHECK_AT_MOST(scene_sim_run(&b), 1e-8);
        CHECK_AT_MOST(apart(&a, &b), 2e-5); /* accelerations up to 100 */
        scene_sim_close(&a);
        scene_sim_close(&b);
    }
}

/* A box that the model `corrective` finds only when it has sunk in: it is pushed out at depth / h. */
TEST(an_overlap_is_not_pushed_out_faster_because_the_run_ends)
{
    const double h = 0.01;
    uint64_t seed = 40;
    double worst = 0.0;
    for (int i = 0; i < 40; ++i) {
        const double r = i % 2 == 0 ? pow(10.0, -7.0 * uniform(&seed)) : uniform(&seed);
        const int64_t n = 20 + i % 20;
        double fastest[2] = {0.0, 0.0};
        for (int k = 0; k < 2; ++k) {
            scene_sim s =
                scene_sim_open("{'dimension':2,'gravity':[0,-9.81],'step':%.17g,'duration':%.17g,"
                               "'contact':'corrective','bodies':[{'name':'floor','type':'static',"
                               "'shapes':[{'type':'box','size':[4,1]}]},{'name':'b','mass':1,"
                               "'position':[0,0.9],'angle':0.3,'shapes':[{'type':'box',"
                               "'size':[0.4,0.4]}]}]}",
                               h, k == 0 ? 0.5 : ((double)n + r) * h);
            REQUIRE(s.sim != NULL);
            while (!perp_sim_finished(s.sim)) {
                REQUIRE_OK(perp_sim_step(s.sim));
                const perp_body_state b = scene_sim_body(&s, "b");
                fastest[k] = fmax(fastest[k], hypot(b.velocity[0], b.velocity[1]));
            }
            scene_sim_close(&s);
        }
        worst = fmax(worst, fastest[1] / fastest[0]);
    }
    TEST_PRINT("fastest against a run without a rest: %.3f", worst);
    CHECK_AT_MOST(worst, 2.0);
}

/* Beside a double pendulum a ball bounces; the run ends a hair after one of its impacts, or a step does. */
TEST(an_adaptive_run_may_end_anywhere)
{
    const char* text = "{'dimension':2,'gravity':[0,-10],'step':{'error':1e-4,'max':0.05},"
                       "'duration':%.17g,'restitution':1,'bodies':["
                       "{'name':'A','mass':1,'inertia':0.0833,'position':[0.5,3]},"
                       "{'name':'B','mass':1,'inertia':0.0833,'position':[1.5,3]},"
                       "{'name':'ball','mass':2,'position':[-3,1.1],'shapes':[{'type':'circle',"
                       "'radius':0.1}]},{'name':'floor','type':'static','shapes':[{'type':"
                       "'halfplane','normal':[0,1],'offset':0}]}],'joints':["
                       "{'name':'O','type':'revolute','a':'world','b':'A','at':[0,3]},"
                       "{'name':'P','type':'revolute','a':'A','b':'B','at':[1,3]}]}";
    uint64_t seed = 9;
    double worst = 0.0, longest = 0.0;
    for (int i = 0; i < 24; ++i) {
        const double impact = sqrt(0.2) * (double)(1 + 2 * (i % 2));
        const double T = i < 8    ? impact * (1.0 + pow(10.0, -4.0 - i))
                         : i < 16 ? 0.6 + pow(10.0, -(double)(i - 4))
                                  : 0.3 + uniform(&seed);
        scene_sim s = scene_sim_open(text, T);
        REQUIRE(s.sim != NULL);
        double energy = perp_sim_energy(s.sim).total, change = 0.0, previous = INFINITY,
               length = INFINITY;
        while (!perp_sim_finished(s.sim)) {
            REQUIRE_OK(perp_sim_step(s.sim));
            const perp_step_info info = perp_sim_step_info(s.sim);
            if (info.kind == PERP_STEP_TIME) {
                previous = length;
                length = perp_sim_last_step(s.sim);
            }
            change = fmax(change, fabs(perp_sim_energy(s.sim).total - energy));
        }
        worst = fmax(worst, change);
        if (i >= 8 && i < 16) { /* no impact at hand: the rest is shared */
            longest = fmax(longest, previous / length);
        }
        scene_sim_close(&s);
    }
    TEST_PRINT("energy off by at most %.1e J of 20; last steps alike to %.2f", worst, longest);
    CHECK_AT_MOST(worst, 0.02);
    CHECK_AT_MOST(longest, 4.0);
}

TEST(a_snapshot_between_the_steps_of_another_duration_is_refused)
{
    scene_sim s = point(0.01, 0.105), whole = point(0.01, 0.2);
    REQUIRE(s.sim != NULL && whole.sim != NULL);
    unsigned char buffer[4096];
    for (int k = 1; k <= 11; ++k) {
        size_t size = sizeof buffer;
        REQUIRE_OK(perp_sim_step(s.sim));
        REQUIRE_OK(perp_sim_save(s.sim, buffer, &size));
        const perp_status status = perp_sim_restore(whole.sim, buffer, size);
        CHECK_EQ_INT(status == PERP_OK, k <= 9); /* 0.0975 and 0.105 are no multiples */
        if (status != PERP_OK) {
            CHECK_CONTAINS(perp_context_error(whole.context), "has no step");
        }
    }
    scene_sim_close(&s);
    scene_sim_close(&whole);
}
