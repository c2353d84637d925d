/* Cylinders, ellipsoids and superquadrics: they rest on and roll over what has faces and rims, and
 * under `lnc` and `peg` they pass edges, rims and seams without being caught or pushed. */
#include "perp_test.h"
#include "support/scene_sim.h"

#define RIGHT_ANGLE "1.5707963267948966"
#define TABLE                                                                                      \
    "{'name':'table','type':'static','shapes':[{'type':'polyhedron','solid':"                      \
    "'block','size':[1,2,0.2],'position':[-0.5,0,-0.1]}]}"
#define POST                                                                                       \
    "{'name':'post','type':'static','shapes':[{'type':'cylinder','radius':0.5,"                    \
    "'length':1,'position':[0,0,-0.5]}]}"
#define CYLINDER "{'type':'cylinder','radius':0.1,'length':0.3}"

static scene_sim open_scene(const char* contact, double mu, double duration, const char* bodies)
{
    static char text[16384];
    snprintf(text, sizeof text,
             "{'gravity':[0,0,-9.81],'step':0.01,'duration':%.17g,'contact':'%s',"
             "'friction':{'default':%.17g},'bodies':[%s]}",
             duration, contact, mu, bodies);
    return scene_sim_open(text);
}

/* One that falls beside something with 1 mm to spare falls freely. */
static void check_free_fall(const char* what, double x, const char* beside, const char* body)
{
    static const char* const models[] = {"lnc", "peg"};
    for (int i = 0; i < 2; ++i) {
        char bodies[2048];
        snprintf(bodies, sizeof bodies, "%s,{'name':'b','density':1000,'position':[%.17g,0,1],%s}",
                 beside, x, body);
        scene_sim s = open_scene(models[i], 0.3, 1.0, bodies);
        REQUIRE(s.sim != NULL);
        CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
        const perp_body_state b = scene_sim_body(&s, "b");
        TEST_PRINT("%s, %s: at %.9g, vertical speed %.9g", what, models[i], b.position[0],
                   b.velocity[2]);
        CHECK_NEAR(b.position[0], x, 1e-12);
        CHECK_NEAR(b.velocity[2], -9.81, 1e-9);
        CHECK_NEAR(b.velocity[0], 0.0, 1e-12);
        scene_sim_close(&s);
    }
}

TEST(what_falls_past_an_edge_or_a_rim_is_not_caught)
{
    check_free_fall("standing, past a table", 0.101, TABLE, "'shapes':[" CYLINDER "]");
    check_free_fall("lying along a table", 0.101, TABLE,
                    "'axis_angle':[1,0,0," RIGHT_ANGLE "],'shapes':[" CYLINDER "]");
    check_free_fall("lying across a table", 0.151, TABLE,
                    "'axis_angle':[0,1,0," RIGHT_ANGLE "],'shapes':[" CYLINDER "]");
    check_free_fall("cylinder past a post", 0.601, POST, "'shapes':[" CYLINDER "]");
    check_free_fall("box past a post", 0.551, POST,
                    "'shapes':[{'type':'box','size':[0.1,0.1,0.1]}]");
    check_free_fall("ball past a post", 0.601, POST, "'shapes':[{'type':'sphere','radius':0.1}]");
    check_free_fall("capsule past a post", 0.601, POST,
                    "'axis_angle':[1,0,0," RIGHT_ANGLE
                    "],'shapes':[{'type':'capsule','radius':0.1,'length':0.2}]");
    check_free_fall("ellipsoid past a table", 0.101, TABLE,
                    "'shapes':[{'type':'ellipsoid','radii':[0.1,0.2,0.15]}]");
    check_free_fall("ellipsoid past a post", 0.601, POST,
                    "'shapes':[{'type':'ellipsoid','radii':[0.1,0.2,0.15]}]");
}

TEST(a_superellipse_falls_past_the_corner_of_a_planar_box)
{
    for (int i = 0; i < 2; ++i) {
        scene_sim s = scene_sim_open(
            i == 0 ? "{'dimension':2,'gravity':[0,-9.81],'step':0.01,'duration':1,"
                     "'contact':'peg','bodies':[{'name':'t','type':'static',"
                     "'shapes':[{'type':'box','size':[1,0.2],'position':[-0.5,0]}]},"
                     "{'name':'b','density':1,'position':[0.101,1],'shapes':[{'type':"
                     "'superellipse','radii':[0.1,0.15],'exponent':3}]}]}"
                   : "{'dimension':2,'gravity':[0,-9.81],'step':0.01,'duration':1,"
                     "'contact':'lnc','bodies':[{'name':'t','type':'static',"
                     "'shapes':[{'type':'polygon','vertices':[[-1,-1],[0,-1],[0,0],[-1,0]]}]},"
                     "{'name':'b','density':1,'position':[0.101,1],'shapes':[{'type':"
                     "'superellipse','radii':[0.1,0.15],'exponent':2}]}]}");
        REQUIRE(s.sim != NULL);
        CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
        const perp_body_state b = scene_sim_body(&s, "b");
        CHECK_NEAR(b.position[0], 0.101, 1e-12);
        CHECK_NEAR(b.velocity[1], -9.81, 1e-9);
        scene_sim_close(&s);
    }
}

/* A row of tiles; what moves along it does not feel the seams. */
static void check_seams(const char* what, double mu, const char* body, double vx, double wy)
{
    char bodies[8192];
    int n = snprintf(bodies, sizeof bodies, "{'name':'floor','type':'static','shapes':[");
    for (int i = -2; i < 20; ++i) {
        n += snprintf(bodies + n, sizeof bodies - (size_t)n,
                      "%s{'type':'box','size':[0.25,1,0.1],'position':[%.17g,0,-0.05]}",
                      i > -2 ? "," : "", 0.25 * i);
    }
    snprintf(bodies + n, sizeof bodies - (size_t)n, "]},{'name':'b','density':1000,%s}", body);
    scene_sim s = open_scene("peg", mu, 2.0, bodies);
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
    const perp_body_state b = scene_sim_body(&s, "b");
    TEST_PRINT("%s over the seams: lost %.1e m/s of %g, aside %.1e m", what, vx - b.velocity[0], vx,
               b.position[1]);
    CHECK_NEAR(b.velocity[0], vx, 1e-9);
    CHECK_NEAR(b.angular_velocity[1], wy, 1e-8);
    CHECK_NEAR(b.position[1], 0.0, 1e-9);
    scene_sim_close(&s);
}

TEST(seams_of_a_floor_are_not_felt)
{
    check_seams("standing", 0.0,
                "'position':[0,0,0.15],'velocity':[1.7,0,0],'shapes':[" CYLINDER "]", 1.7, 0);
    check_seams("rolling", 0.3,
                "'position':[0,0,0.1],'velocity':[1.5,0,0],'angular_velocity':[0,15,0],"
                "'axis_angle':[1,0,0," RIGHT_ANGLE "],'shapes':[" CYLINDER "]",
                1.5, 15);
    check_seams("lying along the way", 0.0,
                "'position':[0,0,0.1],'velocity':[1.5,0,0],'axis_angle':[0,1,0," RIGHT_ANGLE
                "],'shapes':[" CYLINDER "]",
                1.5, 0);
}

TEST(a_peg_falls_through_a_square_hole_half_a_millimetre_wider)
{
    scene_sim s = open_scene(
        "peg", 0.1, 1.0,
        "{'name':'hole','type':'static','shapes':["
        "{'type':'box','size':[1,0.4,0.5],'position':[0,0.3005,-0.25]},"
        "{'type':'box','size':[1,0.4,0.5],'position':[0,-0.3005,-0.25]},"
        "{'type':'box','size':[0.4,0.201,0.5],'position':[0.3005,0,-0.25]},"
        "{'type':'box','size':[0.4,0.201,0.5],'position':[-0.3005,0,-0.25]}]},"
        "{'name':'b','density':1000,'position':[0.0003,0.0001,0.2],'shapes':[" CYLINDER "]}");
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
    const perp_body_state b = scene_sim_body(&s, "b");
    CHECK_NEAR(b.position[0], 0.0003, 1e-9);
    CHECK_NEAR(b.velocity[2], -9.81, 1e-6);
    scene_sim_close(&s);
}

TEST(a_box_slides_off_over_a_rim)
{
    scene_sim s = open_scene("peg", 0.0, 1.0,
                             POST ",{'name':'b','density':1000,'position':[0.3,0,0.05],"
                                  "'velocity':[1,0,0],'shapes':[{'type':'box','size':"
                                  "[0.1,0.1,0.1]}]}");
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
    const perp_body_state b = scene_sim_body(&s, "b");
    TEST_PRINT("speed %.4g, fallen to %.4g", b.velocity[0], b.position[2]);
    CHECK_AT_LEAST(b.velocity[0], 1.0 - 1e-9); /* the rim pushes forward as it tips, never back */
    CHECK_AT_MOST(b.velocity[0], 1.05);
    CHECK_AT_MOST(b.position[2], -2.0);
    CHECK_NEAR(b.position[1], 0.0, 1e-9);
    scene_sim_close(&s);
}

/* ---- rest ------------------------------------------------------------------------------------------- */

static void check_rest(const char* what, const char* floor_shape, const char* shape, double speed)
{
    static const char* const models[] = {"standard", "peg"};
    for (int i = 0; i < 2; ++i) {
        char bodies[2048];
        snprintf(bodies, sizeof bodies,
                 "{'name':'floor','type':'static','shapes':[%s]},"
                 "{'name':'b','density':1000,'position':[0.05,0.03,0.21],'shapes':[%s]}",
                 floor_shape, shape);
        scene_sim s = open_scene(models[i], 0.5, 2.0, bodies);
        REQUIRE(s.sim != NULL);
        const double start = perp_sim_energy(s.sim).total;
        CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
        const perp_body_state b = scene_sim_body(&s, "b");
        const double v = sqrt(b.velocity[0] * b.velocity[0] + b.velocity[1] * b.velocity[1] +
                              b.velocity[2] * b.velocity[2]);
        double depth;
        CHECK_OK(perp_sim_penetration(s.sim, &depth));
        TEST_PRINT("%s, %s: speed %.1e, depth %.1e, moved %.1e", what, models[i], v, depth,
                   hypot(b.position[0] - 0.05, b.position[1] - 0.03));
        CHECK_AT_MOST(v, speed);
        CHECK_AT_MOST(depth, 1e-4);
        CHECK_AT_MOST(hypot(b.position[0] - 0.05, b.position[1] - 0.03), 0.01);
        CHECK_AT_MOST(perp_sim_energy(s.sim).total, start);
        scene_sim_close(&s);
    }
}

TEST(smooth_bodies_rest_on_flat_ones_and_these_on_smooth_ones)
{
    const char* block = "{'type':'polyhedron','solid':'block','size':[2,2,0.5],"
                        "'position':[0,0,-0.25]}";
    const char* disc = "{'type':'cylinder','radius':1,'length':0.5,'position':[0,0,-0.25]}";
    const char* cushion = "{'type':'superquadric','radii':[1,1,0.25],'exponents':[8,8],"
                          "'position':[0,0,-0.25]}";
    const char* egg = "{'type':'ellipsoid','radii':[0.4,0.3,0.2]}";
    const char* pillow = "{'type':'superquadric','radii':[0.3,0.3,0.2],'exponents':[4,4]}";
    check_rest("ellipsoid on a polyhedron", block, egg, 1e-9);
    check_rest("superquadric on a polyhedron", block, pillow, 1e-9);
    check_rest("ellipsoid on a cylinder", disc, egg, 1e-9);
    check_rest("superquadric on a cylinder", disc, pillow, 1e-9);
    /* the flat side is not quite flat: bodies on it rock by micrometres */
    check_rest("polyhedron on a superquadric", cushion,
               "{'type':'polyhedron','solid':'block','size':[0.6,0.6,0.4]}", 0.01);
    check_rest("capsule on a superquadric", cushion,
               "{'type':'capsule','radius':0.2,'length':0.8,'axis_angle':[1,0,0," RIGHT_ANGLE "]}",
               0.01);
    check_rest("cylinder on a superquadric", cushion,
               "{'type':'cylinder','radius':0.3,'length':0.4}", 0.01);
}

/* Rolls without slipping on a block: the energy is kept as on a plane. */
TEST(an_ellipsoid_rolls_on_a_polyhedron_as_on_a_plane)
{
    const char* floors[2] = {
        "{'type':'plane','normal':[0,0,1]}",
        "{'type':'polyhedron','solid':'block','size':[20,20,1],'position':[0,0,-0.5]}"};
    double x[2];
    for (int i = 0; i < 2; ++i) {
        char bodies[1024];
        snprintf(bodies, sizeof bodies,
                 "{'name':'floor','type':'static','shapes':[%s]},"
                 "{'name':'b','density':1000,'position':[0,0,0.2],'velocity':[1,0,0],"
                 "'angular_velocity':[0,5,0],'shapes':[{'type':'ellipsoid','radii':"
                 "[0.2,0.3,0.2]}]}",
                 floors[i]);
        scene_sim s = open_scene("peg", 0.5, 2.0, bodies);
        REQUIRE(s.sim != NULL);
        CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
        x[i] = scene_sim_body(&s, "b").position[0];
        scene_sim_close(&s);
    }
    CHECK_NEAR(x[0], x[1], 1e-9);
    CHECK_NEAR(x[0], 2.0, 1e-6);
}

/* Deepest overlap of a cylinder that reels on a smaller box; margin: as the scene has it. */
static double deepest_reel(int seed, const char* margin)
{
    scene_sim s = scene_sim_quoted(
        "{'gravity':[0,0,-9.81],'step':0.006,'duration':0.4,'contact':'peg',%s"
        "'friction':{'default':0.8},'bodies':["
        "{'name':'floor','type':'static','shapes':[{'type':'plane','normal':[0,0,1]}]},"
        "{'name':'box','mass':525,'position':[0,0,0.355],"
        "'shapes':[{'type':'box','size':[0.4775,0.5208,0.71]}]},"
        "{'name':'reel','mass':688,'position':[%.9g,-0.02,1.125001],"
        "'angular_velocity':[-2,%.9g,5.7],"
        "'shapes':[{'type':'cylinder','radius':0.32,'length':0.83}]}]}",
        margin, 0.03 + 0.01 * seed, 4.2 - 0.3 * seed);
    double deepest = 0.0;
    while (s.sim != NULL && !perp_sim_finished(s.sim)) {
        if (perp_sim_step(s.sim) != PERP_OK) {
            break;
        }
        const double depth = perp_sim_step_info(s.sim).penetration;
        deepest = depth <= deepest ? deepest : depth;
    }
    if (s.sim == NULL || !perp_sim_finished(s.sim)) {
        deepest = INFINITY;
    }
    scene_sim_close(&s);
    return deepest;
}

/* How far to look is the scene's word; which way bodies turn must be known all the same. */
TEST(a_margin_that_the_scene_sets_leaves_turns_foreseen)
{
    for (int seed = 0; seed < 3; ++seed) {
        const double own = deepest_reel(seed, ""), given = deepest_reel(seed, "'margin':0.1,");
        TEST_PRINT("overlap %.2e with the margin of the motion, %.2e with one that is given", own,
                   given);
        CHECK_AT_MOST(own, 2e-3);
        CHECK_AT_MOST(given, 2e-3);
    }
}

/* The plane of a face of a small body passes through a large ball far from the face. With that plane as a
 * member of the group the small body would turn about the far point, which costs less than to stop. */
TEST(a_small_box_thrown_at_a_large_ball_does_not_spin_through_it)
{
    double least = INFINITY;
    for (int i = 0; i < 12; ++i) {
        scene_sim s = scene_sim_open(
            "{'step':0.0175,'duration':0.35,'contact':'peg','friction':{'default':0.1},'bodies':["
            "{'name':'ball','mass':31000,'shapes':[{'type':'sphere','radius':3.15}]},"
            "{'name':'box','mass':2,'position':[%g,%g,4.2],'velocity':[0,0,-24],'axis_angle':[%g,1,"
            "0.4,%g],"
            "'shapes':[{'type':'box','size':[0.07,0.12,0.14]}]}]}",
            0.15 * i, -0.05 * i, 0.3 * i - 1.0, 0.5 * i);
        REQUIRE(s.sim != NULL);
        while (!perp_sim_finished(s.sim)) {
            REQUIRE_OK(perp_sim_step(s.sim));
            const perp_body_state a = scene_sim_body(&s, "ball"), b = scene_sim_body(&s, "box");
            double square = 0.0;
            for (int k = 0; k < 3; ++k) {
                const double d = b.position[k] - a.position[k];
                square += d * d;
            }
            least = fmin(least, sqrt(square));
        }
        scene_sim_close(&s);
    }
    TEST_PRINT("centres at least %.3f m apart", least);
    CHECK(least > 2.75); /* of 3.2; 0.42 m a step, and overlap of turns is pushed out slowly */
}
