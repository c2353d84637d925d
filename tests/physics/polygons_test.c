/* Polygons at the edge of what a step can follow: fast, deep, many. */
#include <time.h>

#include "perp_test.h"
#include "support/scene_sim.h"

static unsigned long long state;
static double uniform(double a, double b)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return a + (b - a) * (double)(state >> 11) / 9007199254740992.0;
}

/* Of this process: other programs do not count. */
static double cpu_seconds(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

/* A bin, 3 m wide, with polygons of half a metre that spin so fast that a step turns them by 0.4 to
 * 1 rad. */
static scene_sim spin(unsigned seed, int count, double duration, double slowest, double fastest)
{
    char bodies[32768];
    state = 0x9E3779B97F4A7C15ULL * (seed + 1);
    size_t used = (size_t)snprintf(bodies, sizeof bodies,
                                   "{'name':'floor','type':'static','position':[0,-0.5],"
                                   "'shapes':[{'type':'box','size':[5,1]}]},"
                                   "{'name':'left','type':'static','position':[-2,4],"
                                   "'shapes':[{'type':'box','size':[1,10]}]},"
                                   "{'name':'right','type':'static','position':[2,4],"
                                   "'shapes':[{'type':'box','size':[1,10]}]}");
    for (int i = 0; i < count; ++i) {
        const int n = 3 + (int)uniform(0, 6);
        const double rx = uniform(0.15, 0.3), ry = uniform(0.15, 0.3);
        const double rate = (uniform(0, 1) < 0.5 ? -1.0 : 1.0) * uniform(slowest, fastest);
        used += (size_t)snprintf(bodies + used, sizeof bodies - used,
                                 ",{'name':'p%d','density':1,'position':[%.17g,%.17g],"
                                 "'velocity':[%.17g,%.17g],'angular_velocity':%.17g,"
                                 "'shapes':[{'type':'polygon','vertices':[",
                                 i, -1.14 + 0.76 * (i % 4), 0.4 + 0.76 * (i / 4), uniform(-3, 3),
                                 uniform(-3, 3), rate);
        for (int k = 0; k < n; ++k) {
            const double angle = 2 * M_PI * (k + uniform(0, 0.7)) / n;
            used += (size_t)snprintf(bodies + used, sizeof bodies - used, "%s[%.17g,%.17g]",
                                     k > 0 ? "," : "", rx * cos(angle), ry * sin(angle));
        }
        used += (size_t)snprintf(bodies + used, sizeof bodies - used, "]}]}");
    }
    return scene_sim_open("{'dimension':2,'gravity':[0,-9.81],'step':0.01,'duration':%g,"
                          "'contact':'peg','friction':{'default':0.3},'bodies':[%s]}",
                          duration, bodies);
}

/* One step took 20 to 50 s when the methods for general complementarity problems had their turn with
 * no end in sight; switching refused the groups of a pair that had fallen back. */
TEST(no_step_of_polygons_that_spin_takes_long)
{
    double slowest = 0.0, worst = 0.0;
    int fallbacks = 0, iterations = 0;
    for (unsigned seed = 0; seed < 4; ++seed) {
        scene_sim s = spin(seed, 20, 2.0, 40.0, 100.0);
        REQUIRE(s.sim != NULL);
        while (!perp_sim_finished(s.sim)) {
            const double begin = cpu_seconds();
            const perp_status status = perp_sim_step(s.sim);
            if (status != PERP_OK) {
                TEST_PRINT("seed %u: %s", seed, perp_context_error(s.context));
            }
            REQUIRE_OK(status);
            slowest = fmax(slowest, cpu_seconds() - begin);
            const perp_step_info info = perp_sim_step_info(s.sim);
            worst = fmax(worst, info.certificate.worst);
            fallbacks += info.fallbacks;
            iterations = info.report.iterations > iterations ? info.report.iterations : iterations;
        }
        scene_sim_close(&s);
    }
    TEST_PRINT("800 steps: slowest %.3g s, %d iterations at most, certificate %.1e, %d fallbacks",
               slowest, iterations, worst, fallbacks);
    CHECK_AT_MOST(worst, 1e-8);
    CHECK_AT_MOST(iterations, 10000);
    CHECK_AT_MOST(fallbacks, 20); /* most for overlap of turns */
}

/* Within a step gaps are linear in the velocities. What that leaves out is a corner's way round (r a^2 / 2,
 * a = omega h) and the turning of an edge under a corner that moves along it (a s): see
 * experiments/w14-polygons. An overlap deeper than that would have been missed. */
TEST(no_overlap_is_deeper_than_what_the_turning_within_a_step_leaves)
{
    enum { BODIES = 3 + 12 };
    const double h = 0.01;
    double most = 0.0, deepest = 0.0;
    int overlaps = 0;
    for (unsigned seed = 10; seed < 14; ++seed) {
        scene_sim s = spin(seed, BODIES - 3, 1.5, 0.0, 20.0);
        REQUIRE(s.sim != NULL);
        double vx[BODIES] = {0}, vy[BODIES] = {0}, turn[BODIES] = {0}, reach[BODIES] = {0};
        for (int b = 3; b < BODIES; ++b) {
            const perp_shape_def d = perp_model_body_shape(perp_scene_model(s.scene), b, 0);
            for (int k = 0; k < d.vertex_count; ++k) {
                reach[b] = fmax(reach[b], hypot(d.vertices[2 * k] + d.position[0],
                                                d.vertices[2 * k + 1] + d.position[1]));
            }
        }
        while (!perp_sim_finished(s.sim)) {
            REQUIRE_OK(perp_sim_step(s.sim));
            CHECK_EQ_INT(perp_sim_step_info(s.sim).fallbacks, 0);
            int32_t count;
            const perp_contact* c = perp_sim_contacts(s.sim, &count);
            for (int i = 0; i < count; ++i) {
                double depth = -c[i].gap;
                for (int k = 0; c[i].group != 0 && k < count; ++k) {
                    depth = abs(c[k].group) == abs(c[i].group) ? fmin(depth, -c[k].gap) : depth;
                }
                const int a = c[i].body_a, b = c[i].body_b;
                const double ra = reach[a] * turn[a], rb = reach[b] * turn[b];
                const double way = h * hypot(vx[a] - vx[b], vy[a] - vy[b]) + ra + rb;
                const double bound =
                    0.5 * (ra * turn[a] + rb * turn[b]) + fmax(turn[a], turn[b]) * way;
                if (depth > 1e-9) {
                    most = fmax(most, depth / bound);
                    deepest = fmax(deepest, depth);
                    overlaps += 1;
                }
            }
            for (int b = 3; b < BODIES; ++b) {
                const perp_body_state now = perp_sim_body(s.sim, b);
                vx[b] = now.velocity[0];
                vy[b] = now.velocity[1];
                turn[b] = h * fabs(now.angular_velocity[2]);
            }
        }
        scene_sim_close(&s);
    }
    TEST_PRINT("%d overlaps, deepest %.2g m, at most %.3f of the bound", overlaps, deepest, most);
    CHECK(overlaps > 100);
    CHECK_AT_MOST(most, 1.0);
}

/* ---- inward corners ---------------------------------------------------------------------------------- */

#define V_NOTCH "[[-1,-0.5],[1,-0.5],[1,0.5],[0.5,0.5],[0,0],[-0.5,0.5],[-1,0.5]]"

/* A particle, a wedge that fits the notch and a small square, dropped into a notch of 90 degrees. */
TEST(a_notch_holds_what_falls_into_it)
{
    static const struct {
        const char* shape;
        double x, rest;
    } drop[] = {
        {"{'type':'particle'}", 0.2, 0.0},
        {"{'type':'polygon','vertices':[[0,0],[0.3,0.3],[-0.3,0.3]]}", 0.0, 0.2},
        {"{'type':'box','size':[0.2,0.2],'angle':0.7853981633974483}", 0.05, 0.14142135623730951}};
    for (size_t i = 0; i < sizeof drop / sizeof drop[0]; ++i) {
        scene_sim s =
            scene_sim_open("{'dimension':2,'gravity':[0,-9.81],'step':0.01,'duration':3,'contact':"
                           "'peg',"
                           "'friction':{'cone':'none'},'bodies':[{'name':'block','type':'static',"
                           "'shapes':[{'type':'polygon','vertices':" V_NOTCH "}]},{'name':'p',%s,"
                           "'position':[%g,0.9],'shapes':[%s]}]}",
                           i == 0 ? "'mass':1" : "'density':1", drop[i].x, drop[i].shape);
        REQUIRE(s.sim != NULL);
        double deepest = 0.0;
        while (!perp_sim_finished(s.sim)) {
            double depth = INFINITY;
            REQUIRE_OK(perp_sim_step(s.sim));
            REQUIRE_OK(perp_sim_penetration(s.sim, &depth));
            deepest = fmax(deepest, depth);
            CHECK_EQ_INT(perp_sim_step_info(s.sim).fallbacks, 0);
        }
        const perp_body_state b = scene_sim_body(&s, "p");
        TEST_PRINT("rests at (%.3g, %.9g), speed %.2g, deepest %.2g", b.position[0], b.position[1],
                   hypot(b.velocity[0], b.velocity[1]), deepest);
        CHECK_NEAR(b.position[0], 0.0, 1e-9);
        CHECK_NEAR(b.position[1], drop[i].rest, 1e-9);
        CHECK_AT_MOST(hypot(b.velocity[0], b.velocity[1]), 1e-9);
        CHECK_AT_MOST(deepest, i == 0 ? 1e-12 : 0.01);
        scene_sim_close(&s);
    }
}

/* Particles rain onto a star and a comb from all sides: none is ever inside. */
TEST(no_particle_passes_between_the_pieces)
{
    char star[512] = "[";
    double v[20];
    for (int i = 0; i < 10; ++i) {
        const double r = i % 2 == 0 ? 1.0 : 0.4;
        v[2 * i] = r * cos(M_PI * i / 5);
        v[2 * i + 1] = r * sin(M_PI * i / 5);
        snprintf(star + strlen(star), sizeof star - strlen(star), "%s[%.17g,%.17g]",
                 i > 0 ? "," : "", v[2 * i], v[2 * i + 1]);
    }
    int touched = 0;
    state = 12345;
    for (int shot = 0; shot < 60; ++shot) {
        /* every third along the seam at an inward corner, straight at it */
        const double way = shot % 3 == 0 ? M_PI * (2 * (shot % 5) + 1) / 5 : uniform(0, 2 * M_PI);
        const double aim = shot % 3 == 0 ? 0.0 : uniform(-0.3, 0.3);
        scene_sim s = scene_sim_open(
            "{'dimension':2,'gravity':[0,0],'step':0.02,'duration':1,'contact':'peg',"
            "'friction':{'cone':'none'},'bodies':[{'name':'star','type':'static',"
            "'shapes':[{'type':'polygon','vertices':%s]}]},{'name':'p','mass':1,"
            "'position':[%.17g,%.17g],'velocity':[%.17g,%.17g],'shapes':[{'type':"
            "'particle'}]}]}",
            star, 2 * cos(way), 2 * sin(way), -3 * cos(way + aim), -3 * sin(way + aim));
        REQUIRE(s.sim != NULL);
        while (!perp_sim_finished(s.sim)) {
            REQUIRE_OK(perp_sim_step(s.sim));
            touched += perp_sim_step_info(s.sim).contacts > 0;
            const perp_body_state p = scene_sim_body(&s, "p");
            /* radius of the border in the particle's direction */
            const double a = atan2(p.position[1], p.position[0]);
            const double part = fmod(a + 2 * M_PI, M_PI / 5),
                         k = floor((a + 2 * M_PI) / (M_PI / 5));
            const double r0 = fmod(k, 2.0) == 0.0 ? 1.0 : 0.4, r1 = 1.4 - r0;
            const double border =
                r0 * r1 * sin(M_PI / 5) / (r0 * sin(part) + r1 * sin(M_PI / 5 - part));
            CHECK(hypot(p.position[0], p.position[1]) > border - 1e-9);
        }
        scene_sim_close(&s);
    }
    CHECK(touched > 100);
}

/* Mass, centre and inertia of an L are those of two rectangles side by side, whatever its pieces. */
TEST(pieces_that_overlap_weigh_and_overlap_once)
{
    scene_sim s = scene_sim_open(
        "{'dimension':2,'gravity':[0,0],'step':0.01,'duration':0.01,'contact':'peg',"
        "'bodies':[{'name':'l','density':2,'position':[10,20],"
        "'shapes':[{'type':'polygon','vertices':[[0,2],[1,2],[1,1],[2,1],[2,0],[0,0]]}]}]"
        "}");
    REQUIRE(s.sim != NULL);
    const perp_body_info info = perp_model_body_info(perp_scene_model(s.scene), 0);
    CHECK_EQ_INT(info.shape_count, 1);
    CHECK_NEAR(info.mass, 6.0, 1e-14);
    /* 2 x 1 at (1, 0.5) and 1 x 1 at (0.5, 1.5) */
    const double cx = (2 * 1.0 + 0.5) / 3, cy = (2 * 0.5 + 1.5) / 3;
    CHECK_NEAR(info.position[0], 10 + cx, 1e-14);
    CHECK_NEAR(info.position[1], 20 + cy, 1e-14);
    const double one = 2 * (4 + 1) / 12.0 + 2 * (pow(1 - cx, 2) + pow(0.5 - cy, 2));
    const double two = 1 * (1 + 1) / 12.0 + pow(0.5 - cx, 2) + pow(1.5 - cy, 2);
    CHECK_NEAR(info.inertia[8], 2 * (one + two), 1e-13);
    const perp_shape_def shape = perp_model_body_shape(perp_scene_model(s.scene), 0, 0);
    CHECK_EQ_INT(shape.vertex_count, 6);
    scene_sim_close(&s);

    /* a square of 1.5 x 1.5 over the inward corner of the L, which comes from afar in one step, to where
     * the square is still on the side of each arm that it met (else the step is not accepted): the two
     * arms and the corner between them, without the 1 x 1 that the notch leaves free */
    s = scene_sim_open(
        "{'dimension':2,'gravity':[0,0],'step':0.01,'duration':0.01,'contact':'peg',"
        "'margin':1e-9,'bodies':[{'name':'l','type':'kinematic','motion':{"
        "'position':['1000*t - 10','1000*t - "
        "10']},'shapes':[{'type':'polygon','vertices':"
        "[[0,2],[1,2],[1,1],[2,1],[2,0],[0,0]]}]},{'name':'b','density':1,'position':"
        "[1.25,1.25],'shapes':[{'type':'box','size':[1.5,1.5]}]}]}");
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(perp_sim_overlap_area(s.sim), 0.0);
    REQUIRE_OK(perp_sim_step(s.sim));
    CHECK_NEAR(perp_sim_overlap_area(s.sim), 1.5 * 1.5 - 1.0, 1e-13);
    scene_sim_close(&s);
}

/* ---- the gripper of [W14 5.2.6] ------------------------------------------------------------------------ */

TEST(the_gripper_lifts_the_polygon_and_holds_it)
{
    scene_sim s = scene_sim_load("scenes/w14-grasp.json");
    REQUIRE(s.sim != NULL);
    const double start = scene_sim_body(&s, "object").position[1];
    double before = 0.0;
    while (!perp_sim_finished(s.sim)) {
        REQUIRE_OK(perp_sim_step(s.sim));
        const perp_step_info info = perp_sim_step_info(s.sim);
        CHECK_AT_MOST(info.certificate.worst, 1e-8);
        CHECK_EQ_INT(info.fallbacks, 0);
        if (fabs(perp_sim_time(s.sim) - 2.5) < 1e-6) {
            before = scene_sim_body(&s, "object").position[1];
        }
    }
    const perp_body_state end = scene_sim_body(&s, "object");
    TEST_PRINT("lifted by %.3g m, sinks by %.2g m in the last second", end.position[1] - start,
               before - end.position[1]);
    CHECK(end.position[1] - start > 0.2);
    CHECK_AT_MOST(fabs(before - end.position[1]), 1e-4);
    scene_sim_close(&s);
}

/* ---- the hole of [B09] figure 3.1 --------------------------------------------------------------------- */

TEST(a_block_passes_a_hole_that_the_standard_model_makes_a_ramp_of)
{
    static const char* const model[] = {"peg", "lnc", "standard"};
    for (int k = 0; k < 3; ++k) {
        scene_sim s = scene_sim_load("scenes/b09-hole.json");
        REQUIRE(s.sim != NULL);
        perp_sim* sim = NULL;
        perp_sim_def def = perp_sim_def_from_scene(s.scene);
        def.contact = model[k];
        REQUIRE_OK(perp_sim_create(s.context, perp_scene_model(s.scene), &def, &sim));
        double highest = 0.0, off = 0.0;
        while (!perp_sim_finished(sim)) {
            REQUIRE_OK(perp_sim_step(sim));
            const perp_body_state b = perp_sim_body(sim, 1);
            highest = fmax(highest, b.position[1] - 0.25);
            off = fmax(off, fabs(b.velocity[0] - 1.5) + fabs(b.velocity[1]) +
                                fabs(b.angular_velocity[2]));
        }
        const perp_body_state block = perp_sim_body(sim, 1), small = perp_sim_body(sim, 2);
        TEST_PRINT("%s: block at %.3f, rose by %.2g, speed off by %.2g; small at %.3f", model[k],
                   block.position[0], highest, off, small.position[1]);
        if (k < 2) {
            CHECK_NEAR(block.position[0], -0.35 + 1.5 * 1.8, 1e-12);
            CHECK_AT_MOST(off, 1e-12);
            CHECK(small.position[1] < 0.05); /* below the floor it slid on: it has dropped in */
        } else {
            CHECK(highest > 0.01); /* up the slanted edge where that has ended */
            CHECK(block.position[0] < 0.0);
        }
        perp_sim_destroy(sim);
        scene_sim_close(&s);
    }
}

/* A heavy disc falls onto a small box at a step in which it moves several sizes of the box. The box
 * ends up inside the disc, spinning. It must leave through the near side: turning away from lines
 * that pass far from it is no way out. */
TEST(a_small_box_does_not_sink_deeper_into_the_disc_that_hit_it)
{
    scene_sim s = scene_sim_open("{'dimension':2,'step':0.0354473497491,'duration':1.3115,'gravity'"
                                 ":[0,-9.81],'stepper':'implicit',"
                                 "'contact':'peg','friction':{'default':0},'bodies':["
                                 "{'name':'ground','type':'static','position':[0,-0.015],'shapes':["
                                 "{'type':'box','size':[11,0.03]}]},"
                                 "{'name':'box','mass':13.1555410485,'position':[3.28292757433,1."
                                 "95425278424],'angle':-3.01728703602,"
                                 "'velocity':[0.0389477026166,-0.063993076517],'shapes':[{'type':'"
                                 "box','size':[0.137738554484,"
                                 "0.0973540670336]}]},"
                                 "{'name':'disc','mass':474.412511836,'inertia':176.439742766,'"
                                 "position':[3.16311807326,5.26493399349],"
                                 "'velocity':[0.0197002218486,0.0132516932303],'shapes':[{'type':'"
                                 "circle','radius':0.827091997818}]}]}");
    REQUIRE(s.sim != NULL);
    double deepest = 0.0;
    while (!perp_sim_finished(s.sim)) {
        REQUIRE_OK(perp_sim_step(s.sim));
        deepest = fmax(deepest, perp_sim_step_info(s.sim).penetration);
    }
    TEST_PRINT("overlap at most %.3g m", deepest);
    CHECK_AT_MOST(deepest, 0.33); /* 9 m/s times the step; 0.46 with all lines */
    scene_sim_close(&s);
}
