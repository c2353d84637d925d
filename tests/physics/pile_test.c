/* Many bodies, many more contacts than degrees of freedom: walls of bricks, boxes poured into a bin.
 * Every step is certified, whatever the cone. */
#include <stdio.h>
#include <stdlib.h>

#include "perp_test.h"
#include "support/scene_sim.h"

typedef struct text {
    char* at;
    size_t used, capacity;
} text;

static text text_begin(size_t capacity)
{
    return (text){.at = malloc(capacity), .capacity = capacity};
}

#define ADD(t, ...)                                                                                \
    ((t)->used += (size_t)snprintf((t)->at + (t)->used, (t)->capacity - (t)->used, __VA_ARGS__))

/* Courses of bricks 0.4 x 0.2 x 0.2, every other one half a brick further right, end to end. */
static scene_sim open_wall(const char* friction, int courses, int bricks, double duration)
{
    text t = text_begin(400u * (size_t)(courses * bricks) + 1000u);
    ADD(&t,
        "{'gravity':[0,0,-9.81],'step':0.01,'duration':%g,'friction':%s,'bodies':["
        "{'name':'floor','type':'static','shapes':[{'type':'plane','normal':[0,0,1]"
        "}]}",
        duration, friction);
    for (int r = 0; r < courses; ++r) {
        for (int c = 0; c < bricks; ++c) {
            ADD(&t,
                ",{'name':'%d-%d','density':1000,'position':[%.17g,0,%.17g],'shapes':[{"
                "'type':'box','size':[0.4,0.2,0.2]}]}",
                r, c, 0.4 * c + (r % 2) * 0.2, 0.1 + 0.2 * r);
        }
    }
    ADD(&t, "]}");
    scene_sim s = scene_sim_open("%s", t.at);
    free(t.at);
    return s;
}

static double furthest(const scene_sim* s, const perp_body_state* start)
{
    double moved = 0.0;
    for (int32_t i = 0; i < perp_model_body_count(perp_sim_model(s->sim)); ++i) {
        const perp_body_state b = perp_sim_body(s->sim, i);
        for (int k = 0; k < 3; ++k) {
            const double d = fabs(b.position[k] - start[i].position[k]);
            moved = !(d <= moved) ? d : moved;
        }
    }
    return moved;
}

static void check_wall(const char* friction, int courses, int bricks, double duration)
{
    scene_sim s = open_wall(friction, courses, bricks, duration);
    REQUIRE(s.sim != NULL);
    const int32_t n = perp_model_body_count(perp_sim_model(s.sim));
    perp_body_state* start = malloc((size_t)n * sizeof *start);
    for (int32_t i = 0; i < n; ++i) {
        start[i] = perp_sim_body(s.sim, i);
    }
    const double worst = scene_sim_run(&s);
    const perp_step_info info = perp_sim_step_info(s.sim);
    const double moved = furthest(&s, start);
    TEST_PRINT("%d bricks, %d contacts, %s: certificate %.1e, moved %.1e m, by %s", n - 1,
               info.candidates, friction, worst, moved, info.report.solver);
    CHECK_AT_MOST(worst, 1e-8);
    CHECK_AT_MOST(moved, 1e-8);
    CHECK(info.candidates > 8 * (n - 1));
    free(start);
    scene_sim_close(&s);
}

TEST(a_wall_of_two_hundred_bricks_stands)
{
    check_wall("{'default':0.5}", 20, 10, 0.05);
}

TEST(a_wall_stands_with_a_polygon_cone_and_with_torsion)
{
    check_wall("{'default':0.5,'cone':'polygon','directions':8}", 8, 5, 0.05);
    check_wall("{'default':0.5,'cone':'ellipsoid','e_t':1,'e_o':0.8,'e_r':0.05}", 8, 5, 0.05);
}

TEST(boxes_poured_into_a_bin_are_certified_step_by_step)
{
    enum { SIDE = 3, LAYERS = 4 };
    text t = text_begin(24000);
    uint64_t state = 7;
    ADD(&t, "{'gravity':[0,0,-9.81],'step':0.01,'duration':0.8,'friction':{'default':0.5},"
            "'bodies':[{'name':'bin','type':'static','shapes':["
            "{'type':'plane','normal':[0,0,1]},"
            "{'type':'plane','normal':[1,0,0],'offset':-1},"
            "{'type':'plane','normal':[-1,0,0],'offset':-1},"
            "{'type':'plane','normal':[0,1,0],'offset':-1},"
            "{'type':'plane','normal':[0,-1,0],'offset':-1}]}");
    for (int i = 0; i < SIDE * SIDE * LAYERS; ++i) {
        double turn[4];
        for (int k = 0; k < 4; ++k) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            turn[k] = (double)(state >> 40) / (double)(1 << 24) - 0.5;
        }
        ADD(&t,
            ",{'name':'%d','density':1000,'position':[%g,%g,%g],'axis_angle':[%g,%g,%g,%g"
            "],'shapes':[{'type':'box','size':[0.35,0.35,0.35]}]}",
            i, 0.63 * (i % SIDE - 1), 0.63 * (i / SIDE % SIDE - 1), 0.4 + 0.63 * (i / SIDE / SIDE),
            turn[0], turn[1], turn[2] + 1.0, 6.0 * turn[3]);
    }
    ADD(&t, "]}");
    scene_sim s = scene_sim_open("%s", t.at);
    free(t.at);
    REQUIRE(s.sim != NULL);
    const double worst = scene_sim_run(&s);
    TEST_PRINT("%d boxes: certificate %.1e, %d contacts at the end", SIDE * SIDE * LAYERS, worst,
               perp_sim_step_info(s.sim).contacts);
    CHECK_AT_MOST(worst, 1e-8);
    CHECK(perp_sim_step_info(s.sim).contacts > 30);
    scene_sim_close(&s);
}

static double uniform(uint64_t* state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-53;
}

/* newton-bodies stalls at residuals of 1e-7 in single steps of such heaps; newton from zero solves these. They come
 * from t = 1.25 s on, and are most of the time of this test. */
TEST(spheres_of_many_sizes_come_to_rest_in_a_bin)
{
    enum { SPHERES = 60, ACROSS = 3 };
    const double pitch = 0.45, half = 0.5 * pitch * ACROSS;
    text t = text_begin(24000);
    uint64_t random = 12345;
    ADD(&t,
        "{'gravity':[0,0,-9.81],'step':0.005,'duration':%g,'friction':{'default':0.5},"
        "'bodies':[{'name':'bin','type':'static','shapes':["
        "{'type':'plane','normal':[0,0,1]},"
        "{'type':'plane','normal':[1,0,0],'offset':%.17g},"
        "{'type':'plane','normal':[-1,0,0],'offset':%.17g},"
        "{'type':'plane','normal':[0,1,0],'offset':%.17g},"
        "{'type':'plane','normal':[0,-1,0],'offset':%.17g}]}",
        perp_test_full() ? 2.0 : 1.5, -half, -half, -half, -half);
    for (int i = 0; i < SPHERES; ++i) {
        const double x = 0.04 * (uniform(&random) - 0.5), y = 0.04 * (uniform(&random) - 0.5);
        ADD(&t,
            ",{'name':'%d','density':1000,'position':[%.17g,%.17g,%.17g],'shapes':[{'type':"
            "'sphere','radius':%.17g}]}",
            i, pitch * (i / ACROSS % ACROSS + 0.5) - half + x,
            pitch * (i % ACROSS + 0.5) - half + y, 0.275 + pitch * (i / (ACROSS * ACROSS)),
            0.1 + 0.1 * uniform(&random));
    }
    ADD(&t, "]}");
    scene_sim s = scene_sim_open("%s", t.at);
    free(t.at);
    REQUIRE(s.sim != NULL);
    const double worst = scene_sim_run(&s);
    TEST_PRINT("%d spheres: certificate %.1e, %d contacts at the end", SPHERES, worst,
               perp_sim_step_info(s.sim).contacts);
    CHECK_AT_MOST(worst, 1e-8);
    scene_sim_close(&s);
}
