/* Polygons that pass each other exactly: PEG in the plane, and the models it is measured against
 * [W14 5]. */
#include "perp_test.h"
#include "support/scene_sim.h"

/* The triangle of [W14 5.2.1] at another step: margin 10 h. */
static perp_body_state drop_triangle(double h, const char* contact, double* penetration)
{
    const double a = 2.45 * sqrt(3.0) / 3.0, b = 0.5 * a; /* of the large one: 2 a, 2 b */
    scene_sim s = scene_sim_open(
        "{'dimension':2,'gravity':[0,-9.81],'step':%.17g,'duration':1.5,'margin':%.17g,"
        "'contact':'%s','friction':{'cone':'none'},'bodies':["
        "{'name':'large','type':'static','shapes':[{'type':'polygon','vertices':"
        "[[-2.45,%.17g],[2.45,%.17g],[0,%.17g]]}]},"
        "{'name':'small','mass':1,'inertia':0.6495,'position':[1.245,%.17g],'shapes':"
        "[{'type':'polygon','vertices':[[-1.225,%.17g],[1.225,%.17g],[0,%.17g]]}]}]}",
        h, 10 * h, contact, -2 * b, -2 * b, 2 * a, 2 * a + 3 + b, -b, -b, a);
    perp_body_state end = {.position = {NAN, NAN, NAN}};
    *penetration = 0.0;
    CHECK(s.sim != NULL);
    if (s.sim == NULL) {
        return end;
    }
    while (!perp_sim_finished(s.sim)) {
        double depth = INFINITY;
        CHECK_OK(perp_sim_step(s.sim));
        CHECK_OK(perp_sim_penetration(s.sim, &depth));
        *penetration = fmax(*penetration, depth);
        CHECK_EQ_INT(perp_sim_step_info(s.sim).fallbacks, 0);
    }
    end = scene_sim_body(&s, "small");
    scene_sim_close(&s);
    return end;
}

static double distance(perp_body_state a, perp_body_state b)
{
    return hypot(a.position[0] - b.position[0], a.position[1] - b.position[1]);
}

/* of the triangle's size; steps of accelerating bodies are accepted at residuals of 1e-13
 * (src/solve/warm_start.c) */
#define ROUNDING 1e-13

TEST(the_triangle_slides_off_at_any_step_and_converges_at_first_order)
{
    double depth, before = NAN;
    const perp_body_state truth = drop_triangle(0.0001, "peg", &depth);
    CHECK_AT_MOST(depth, ROUNDING);
    for (int i = 1; i <= 16; ++i) {
        const double h = 0.001 * i;
        const double d = distance(drop_triangle(h, "peg", &depth), truth);
        CHECK_AT_MOST(depth, ROUNDING);
        CHECK_AT_MOST(d, 0.245 * h / 0.016);
        if (i == 8) {
            before = d;
        }
        if (i == 16) {
            TEST_PRINT("distance to h = 1e-4: %.3g at 0.008, %.3g at 0.016", before, d);
            CHECK_NEAR(log2(d / before), 1.0, 0.35);
        }
    }
}

TEST(the_standard_model_is_trapped_and_the_corrective_one_bounces)
{
    double depth;
    const perp_body_state truth = drop_triangle(0.001, "peg", &depth);
    /* held above the corner by the extension of an edge, it tips over instead of sliding */
    const perp_body_state standard = drop_triangle(0.01, "standard", &depth);
    CHECK(fabs(standard.angle) > 0.5);
    CHECK(distance(standard, truth) > 0.5);
    const perp_body_state corrective = drop_triangle(0.01, "corrective", &depth);
    CHECK(depth > 0.01);
    CHECK(distance(corrective, truth) > 0.5);
    CHECK_AT_MOST(distance(drop_triangle(0.01, "lnc", &depth), truth), 0.16);
}

static void check_stack(double friction, double duration)
{
    scene_sim s = scene_sim_load("scenes/w14-stack.json");
    REQUIRE(s.sim != NULL);
    perp_sim* sim = NULL;
    perp_sim_def def = perp_sim_def_from_scene(s.scene);
    def.duration = duration;
    if (friction > 0.0) {
        def.cone = "quadratic";
    }
    REQUIRE_OK(perp_sim_create(s.context, perp_scene_model(s.scene), &def, &sim));
    double start[10];
    for (int32_t i = 0; i < 10; ++i) {
        start[i] = perp_sim_body(sim, i).position[0];
    }
    while (!perp_sim_finished(sim)) {
        REQUIRE_OK(perp_sim_step(sim));
        CHECK_EQ_INT(perp_sim_step_info(sim).fallbacks, 0);
    }
    double gap = 0.0, drift = 0.0, speed = 0.0;
    for (int32_t i = 0; i < 10; ++i) {
        const perp_body_state b = perp_sim_body(sim, i);
        gap = fmax(gap, fabs(b.position[1] - i));
        drift = fmax(drift, fabs(b.position[0] - start[i]));
        speed = fmax(speed, fmax(fabs(b.velocity[0]), fabs(b.velocity[1])));
    }
    TEST_PRINT("after %.3g s: gap %.2g, drift %.2g, speed %.2g", duration, gap, drift, speed);
    CHECK_AT_MOST(gap, 1e-12);
    CHECK_AT_MOST(drift, 1e-9);
    CHECK_AT_MOST(speed, 1e-12);
    perp_sim_destroy(sim);
    scene_sim_close(&s);
}

TEST(ten_staggered_boxes_stand)
{
    check_stack(0.0, 6.0);
}

TEST(a_box_that_slides_over_a_hundred_seams_feels_none)
{
    for (int k = 0; k < 3; ++k) {
        const double mu = 0.1 * k;
        char tiles[16384] = "";
        for (int i = 0; i < 100; ++i) {
            snprintf(tiles + strlen(tiles), sizeof tiles - strlen(tiles),
                     "{'name':'t%d','type':'static','position':[%.17g,-0.1],'shapes':[{"
                     "'type':'box','size':[0.2,0.2]}]},",
                     i, 0.1 + 0.2 * i);
        }
        scene_sim s = scene_sim_open(
            "{'dimension':2,'gravity':[0,-9.81],'step':0.01,'duration':3,'contact':"
            "'peg','friction':{'default':%g},'bodies':[%s{'name':'box','density':1,"
            "'position':[0.5,0.25],'velocity':[5,0],'shapes':[{'type':'box','size':[0."
            "5,"
            "0.5]}]}]}",
            mu, tiles);
        REQUIRE(s.sim != NULL);
        double worst = 0.0, expected = 5.0;
        while (!perp_sim_finished(s.sim)) {
            REQUIRE_OK(perp_sim_step(s.sim));
            expected = fmax(0.0, expected - mu * 9.81 * 0.01);
            const perp_body_state b = scene_sim_body(&s, "box");
            worst = fmax(worst, fabs(b.velocity[0] - expected));
            worst = fmax(worst, fmax(fabs(b.velocity[1]), fabs(b.angular_velocity[2])));
            worst = fmax(worst, fabs(b.position[1] - 0.25));
        }
        TEST_PRINT("mu %.1f: largest deviation %.2g after %.3g m", mu, worst,
                   scene_sim_body(&s, "box").position[0] - 0.5);
        CHECK_AT_MOST(worst, 1e-11);
        scene_sim_close(&s);
    }
}

TEST(two_rectangles_overlap_by_what_a_step_of_rotation_leaves)
{
    /* W14's numbers are 0.5 (1 - cos h) to the digits printed */
    const double h[] = {0.01, 0.1, 0.2, 0.3, 0.4, 0.5};
    const double paper[] = {0.000025, 0.0025, 0.01, 0.0223, 0.0395, 0.0612};
    for (int i = 0; i < 6; ++i) {
        scene_sim s = scene_sim_load("scenes/w14-rectangles.json");
        REQUIRE(s.sim != NULL);
        perp_sim* sim = NULL;
        perp_sim_def def = perp_sim_def_from_scene(s.scene);
        def.step = def.duration = h[i];
        REQUIRE_OK(perp_sim_create(s.context, perp_scene_model(s.scene), &def, &sim));
        REQUIRE_OK(perp_sim_step(sim));
        CHECK_NEAR(perp_sim_overlap_area(sim), 0.5 * (1.0 - cos(h[i])), 1e-14);
        CHECK_NEAR(perp_sim_overlap_area(sim), paper[i], 1e-4);
        perp_sim_destroy(sim);
        scene_sim_close(&s);
    }
}

TEST(a_row_of_bodies_keeps_its_momentum)
{
    scene_sim s = scene_sim_load("scenes/w14-momentum.json");
    REQUIRE(s.sim != NULL);
    while (!perp_sim_finished(s.sim)) {
        double linear[3], angular[3];
        REQUIRE_OK(perp_sim_step(s.sim));
        perp_sim_momentum(s.sim, linear, angular);
        CHECK_NEAR(linear[0], 3.0, 1e-12);
        CHECK_AT_MOST(fabs(linear[1]), 1e-14);
    }
    for (int32_t i = 0; i < 5; ++i) {
        CHECK_NEAR(perp_sim_body(s.sim, i).velocity[0], 3.0 / 3.67, 1e-12);
    }
    scene_sim_close(&s);
}

/* ---- tosses ------------------------------------------------------------------------------------- */

static unsigned long long state;
static double uniform(double a, double b)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return a + (b - a) * (double)(state >> 11) / 9007199254740992.0;
}

/* A convex polygon: points on a stretched circle. */
static void polygon_text(char* text, size_t size)
{
    const int n = 3 + (int)uniform(0, 6);
    const double rx = uniform(0.1, 0.3), ry = uniform(0.1, 0.3);
    size_t used = (size_t)snprintf(text, size, "[");
    for (int i = 0; i < n; ++i) {
        const double angle = 2 * M_PI * (i + uniform(0, 0.7)) / n;
        used += (size_t)snprintf(text + used, size - used, "%s[%.17g,%.17g]", i > 0 ? "," : "",
                                 rx * cos(angle), ry * sin(angle));
    }
    snprintf(text + used, size - used, "]");
}

static scene_sim toss(int seed, const char* contact, double friction)
{
    char a[1024], b[1024];
    state = 0x9E3779B97F4A7C15ULL * (unsigned long long)(seed + 1);
    for (int i = 0; i < 10; ++i) {
        (void)uniform(0, 1);
    }
    polygon_text(a, sizeof a);
    polygon_text(b, sizeof b);
    const double way = uniform(0, 2 * M_PI), aim = way + uniform(-0.3, 0.3), v = uniform(0.5, 3);
    return scene_sim_open(
        "{'dimension':2,'gravity':[0,0],'step':0.01,'duration':%.17g,'contact':'%s',"
        "'friction':{'default':%g},'bodies':[{'name':'a','density':1,'angle':%.17g,"
        "'angular_velocity':%.17g,'shapes':[{'type':'polygon','vertices':%s}]},"
        "{'name':'b','density':1,'position':[%.17g,%.17g],'velocity':[%.17g,%.17g],"
        "'angle':%.17g,'angular_velocity':%.17g,'shapes':[{'type':'polygon',"
        "'vertices':%s}]}]}",
        1.5 / v, contact, friction, uniform(0, 6), uniform(-3, 3), a, cos(way), sin(way),
        -v * cos(aim), -v * sin(aim), uniform(0, 6), uniform(-3, 3), b);
}

TEST(no_toss_goes_through)
{
    double deepest = 0.0, area = 0.0;
    int met = 0, fallbacks = 0;
    for (int seed = 0; seed < 400; ++seed) {
        scene_sim s = toss(seed, "peg", seed % 2 == 0 ? 0.0 : 0.4);
        REQUIRE(s.sim != NULL);
        bool touched = false;
        double energy = perp_sim_energy(s.sim).kinetic;
        while (!perp_sim_finished(s.sim)) {
            double depth = INFINITY;
            REQUIRE_OK(perp_sim_step(s.sim));
            REQUIRE_OK(perp_sim_penetration(s.sim, &depth));
            deepest = fmax(deepest, depth);
            area = fmax(area, perp_sim_overlap_area(s.sim));
            const perp_step_info info = perp_sim_step_info(s.sim);
            touched = touched || info.contacts > 0;
            fallbacks += info.fallbacks;
            CHECK_AT_MOST(info.certificate.worst, 1e-8);
        }
        /* an impact without elasticity gives no energy; */
        /* what sank in by rotation is pushed out at depth/h, which costs some of that */
        CHECK_AT_MOST(perp_sim_energy(s.sim).kinetic, energy * 1.25);
        met += touched;
        scene_sim_close(&s);
    }
    TEST_PRINT("%d of 400 met; deepest %.2g, largest overlap %.2g, %d fallbacks", met, deepest,
               area, fallbacks);
    CHECK(met > 200);
    CHECK_EQ_INT(fallbacks, 0);
    CHECK_AT_MOST(deepest, 0.005); /* what a step of rotation leaves: (omega h)^2 / 2 of the size */
}

TEST(two_tips_meet_where_lnc_lets_them_pass)
{
    /* figure 4.4: two blades that lean towards each other; once their tips have changed sides neither
     * tip is inside the other blade, and yet they cross */
    double depth[2] = {0.0, 0.0};
    const char* const model[] = {"peg", "lnc"};
    for (int k = 0; k < 2; ++k) {
        for (int i = 0; i < 20; ++i) {
            scene_sim s = scene_sim_open(
                "{'dimension':2,'gravity':[0,0],'step':0.01,'duration':0.3,'contact':'%"
                "s',"
                "'bodies':[{'name':'a','type':'static','shapes':[{'type':'polygon',"
                "'vertices':[[0,0],[-1,-0.8],[-0.8,-1]]}]},{'name':'b','mass':1,"
                "'inertia':0.2,"
                "'position':[%.17g,%.17g],'velocity':[-3,0],'shapes':[{'type':'polygon',"
                "'vertices':[[-0.6,0.6],[0.2,-0.4],[0.4,-0.2]]}]}]}",
                model[k], 0.75 + 0.001 * i, -0.6 + 0.0003 * (i - 10));
            REQUIRE(s.sim != NULL);
            while (!perp_sim_finished(s.sim)) {
                double d = INFINITY;
                REQUIRE_OK(perp_sim_step(s.sim));
                REQUIRE_OK(perp_sim_penetration(s.sim, &d));
                depth[k] = fmax(depth[k], d);
            }
            scene_sim_close(&s);
        }
    }
    TEST_PRINT("deepest: peg %.2g, lnc %.2g", depth[0], depth[1]);
    CHECK_AT_MOST(depth[0], 0.01);
    CHECK(depth[1] > 0.05);
}

/* ---- other partners ------------------------------------------------------------------------------- */

TEST(a_polygon_rests_on_a_half_plane_and_a_circle_on_the_polygon)
{
    scene_sim s = scene_sim_open(
        "{'dimension':2,'gravity':[0,-9.81],'step':0.01,'duration':3,'contact':'peg',"
        "'friction':{'default':0.5},'bodies':[{'name':'floor','type':'static',"
        "'shapes':[{'type':'halfplane','normal':[0,1]}]},"
        "{'name':'trapeze','density':1,'position':[0,0.1],'shapes':[{'type':"
        "'polygon',"
        "'vertices':[[-1,0],[1,0],[0.6,0.8],[-0.6,0.8]]}]},"
        "{'name':'ball','density':1,'position':[0,1.5],'shapes':[{'type':'circle',"
        "'radius':0.3}]}]}");
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
    const perp_body_state ball = scene_sim_body(&s, "ball"), poly = scene_sim_body(&s, "trapeze");
    CHECK_NEAR(ball.position[1], 1.1, 1e-9);
    CHECK_AT_MOST(fabs(ball.velocity[1]) + fabs(poly.velocity[1]) + fabs(poly.velocity[0]), 1e-12);
    scene_sim_close(&s);
}

TEST(a_particle_and_a_circle_pass_a_corner_freely)
{
    /* sliding off a box: without friction the horizontal speed stays what it was */
    const char* const shape[] = {"'particle'", "'circle','radius':0.05"};
    const double height[] = {0.5, 0.55};
    for (int k = 0; k < 2; ++k) {
        scene_sim s = scene_sim_open(
            "{'dimension':2,'gravity':[0,-9.81],'step':0.01,'duration':0.5,'contact':"
            "'peg','bodies':[{'name':'box','type':'static','shapes':[{'type':"
            "'polygon','vertices':[[-0.5,-0.5],[0.5,-0.5],[0.5,0.5],[-0.5,0.5]]}]},{'name':"
            "'p','mass':1,'position':[0,%g],'velocity':[3,0],'shapes':[{'type':%s}]}]}",
            height[k], shape[k]);
        REQUIRE(s.sim != NULL);
        CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
        const perp_body_state p = scene_sim_body(&s, "p");
        CHECK_NEAR(p.velocity[0], 3.0,
                   k == 0 ? 1e-12 : 0.02); /* the round one leaves the corner late */
        CHECK(p.velocity[1] < -2.0);
        scene_sim_close(&s);
    }
}

TEST(a_moving_wall_takes_a_polygon_along)
{
    scene_sim s =
        scene_sim_open("{'dimension':2,'gravity':[0,0],'step':0.01,'duration':1,'contact':'peg',"
                       "'bodies':[{'name':'wall','type':'kinematic','motion':{'position':"
                       "['0.5*t*t',0]},'shapes':[{'type':'box','size':[1,1]}]},"
                       "{'name':'p','density':1,'position':[0.5,0],'shapes':[{'type':'polygon',"
                       "'vertices':[[0,-0.3],[0.8,0],[0,0.3]]}]}]}");
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
    /* the scheme's mean velocity of the wall over the last step */
    CHECK_NEAR(scene_sim_body(&s, "p").velocity[0], 0.995, 1e-12);
    double depth = INFINITY;
    CHECK_OK(perp_sim_penetration(s.sim, &depth));
    CHECK_AT_MOST(depth, 1e-14);
    scene_sim_close(&s);
}

/* ---- the machinery around it ------------------------------------------------------------------------ */

static const char pile[] =
    "{'dimension':2,'gravity':[0,-9.81],'step':0.01,'duration':1.5,'contact':'peg',"
    "'friction':{'default':0.3},'bodies':[{'name':'floor','type':'static','shapes':"
    "[{"
    "'type':'box','size':[4,0.2],'position':[0,-0.1]},{'type':'box','size':[0.2,2],"
    "'position':[-1,1]}]},{'name':'a','density':1,'position':[-0.6,0.5],'shapes':[{"
    "'type':"
    "'polygon','vertices':[[-0.3,-0.2],[0.3,-0.2],[0.1,0.3]]}]},{'name':'b','density':1,"
    "'position':[-0.5,1.2],'angular_velocity':2,'shapes':[{'type':'box','size':[0.5,0."
    "3]}]},"
    "{'name':'c','density':1,'position':[-0.6,1.8],'shapes':[{'type':'polygon',"
    "'vertices':[[-0.2,-0.2],[0.2,-0.25],[0.3,0.1],[0,0.25],[-0.25,0.1]]}]},{'name':'d',"
    "'density':1,'position':[-0.2,2.1],'shapes':[{'type':'circle','radius':0.15}]}]}";

TEST(a_snapshot_with_groups_continues_with_the_same_bits)
{
    scene_sim a = scene_sim_open("%s", pile), b = scene_sim_open("%s", pile);
    REQUIRE(a.sim != NULL && b.sim != NULL);
    for (int i = 0; i < 40; ++i) {
        REQUIRE_OK(perp_sim_step(a.sim));
    }
    size_t size = 0;
    REQUIRE_OK(perp_sim_save(a.sim, NULL, &size));
    void* bytes = malloc(size);
    REQUIRE(bytes != NULL);
    REQUIRE_OK(perp_sim_save(a.sim, bytes, &size));
    REQUIRE_OK(perp_sim_restore(b.sim, bytes, size));
    free(bytes);
    int grouped = 0;
    while (!perp_sim_finished(a.sim)) {
        REQUIRE_OK(perp_sim_step(a.sim));
        REQUIRE_OK(perp_sim_step(b.sim));
        CHECK(memcmp(perp_sim_q(a.sim), perp_sim_q(b.sim),
                     (size_t)perp_sim_q_size(a.sim) * sizeof(double)) == 0);
        int32_t count;
        const perp_contact* c = perp_sim_contacts(a.sim, &count);
        for (int32_t i = 0; i < count; ++i) {
            grouped += c[i].group != 0;
        }
    }
    CHECK(grouped > 5);
    scene_sim_close(&a);
    scene_sim_close(&b);
}

TEST(a_recording_with_groups_verifies)
{
    scene_sim s = scene_sim_open("%s", pile);
    REQUIRE(s.sim != NULL);
    perp_recorder* recorder = NULL;
    REQUIRE_OK(perp_recorder_create(s.context, "peg.h5", s.scene, s.sim, &recorder));
    while (!perp_sim_finished(s.sim)) {
        REQUIRE_OK(perp_sim_step(s.sim));
        REQUIRE_OK(perp_recorder_step(recorder, s.sim, 0.0));
    }
    REQUIRE_OK(perp_recorder_finish(recorder, s.sim));
    perp_recorder_destroy(recorder);
    perp_verification verification;
    REQUIRE_OK(perp_recording_verify(s.context, "peg.h5", &verification));
    TEST_PRINT("%s", verification.message);
    CHECK(verification.intact && verification.same_bits);
    CHECK_EQ_INT(verification.laws_checked, 150);
    CHECK_AT_MOST(verification.worst.worst, 1e-8);
    scene_sim_close(&s);
}

TEST(a_warm_step_with_groups_asks_for_no_memory)
{
    scene_sim s = scene_sim_load("scenes/w14-stack.json");
    REQUIRE(s.sim != NULL);
    for (int i = 0; i < 400; ++i) {
        REQUIRE_OK(perp_sim_step(s.sim));
    }
    const uint64_t before = perp_context_allocations(s.context);
    for (int i = 0; i < 200; ++i) {
        REQUIRE_OK(perp_sim_step(s.sim));
    }
    CHECK_EQ_U64(perp_context_allocations(s.context) - before, 0);
    scene_sim_close(&s);
}

/* A solver that gives up on groups, and solves everything else. */
static perp_status without_groups_create(perp_context* context, const void* settings, void** self)
{
    (void)settings;
    return perp_contact_solver_create(context, "auto", NULL, 0, (perp_contact_solver**)self);
}

static void without_groups_destroy(void* self)
{
    perp_contact_solver_destroy(self);
}

static perp_status without_groups_solve(void* self, const perp_contact_problem* problem,
                                        const perp_solve_options* options, bool warm, double* v,
                                        double* p, perp_report* report)
{
    if (problem->group_count > 0) {
        report->outcome = PERP_OUTCOME_MAX_ITER;
        return PERP_OK;
    }
    return perp_contact_solve(self, problem, options, warm, v, p, NULL, report);
}

typedef struct heard {
    int lnc, standard, groups;
} heard;

static void hear(void* user, const perp_contact_problem* problem, int32_t body_a, int32_t body_b,
                 const char* contact_model)
{
    heard* h = user;
    h->lnc += strcmp(contact_model, "lnc") == 0;
    h->standard += strcmp(contact_model, "standard") == 0;
    h->groups += problem->group_count > 0 && body_a != body_b;
}

TEST(a_pair_that_cannot_be_solved_falls_back_and_is_counted)
{
    static const perp_contact_solver_ops without_groups = {
        .name = "without-groups",
        .summary = "gives up on groups",
        .takes = PERP_TAKES_NONE | PERP_TAKES_POLYGON | PERP_TAKES_GROUPS,
        .create = without_groups_create,
        .destroy = without_groups_destroy,
        .solve = without_groups_solve,
    };
    scene_sim s = scene_sim_open("%s", pile);
    REQUIRE(s.sim != NULL);
    REQUIRE_OK(perp_register_contact_solver(s.context, &without_groups));
    perp_sim_def def = perp_sim_def_from_scene(s.scene);
    def.solver = "without-groups";
    perp_sim* sim = NULL;
    REQUIRE_OK(perp_sim_create(s.context, perp_scene_model(s.scene), &def, &sim));
    heard h = {0};
    perp_sim_on_fallback(sim, hear, &h);
    int fallbacks = 0;
    for (int i = 0; i < 100; ++i) {
        const perp_status status = perp_sim_step(sim);
        if (status != PERP_OK) {
            TEST_PRINT("%s", perp_context_error(s.context));
        }
        REQUIRE_OK(status);
        const perp_step_info info = perp_sim_step_info(sim);
        fallbacks += info.fallbacks;
        CHECK(!info.accepted_unsolved);
    }
    CHECK(fallbacks > 5);
    CHECK_EQ_INT(h.lnc + h.standard, fallbacks);
    CHECK_EQ_INT(h.groups, fallbacks);
    CHECK(h.standard > 0);
    perp_sim_destroy(sim);
    scene_sim_close(&s);
}

TEST(every_solver_of_groups_agrees_on_a_step_without_a_choice)
{
    /* one vertex at a corner, pressed against one of two edges: only one answer */
    static const char* const solver[] = {"auto", "switching", "lemke", "pivot", "path"};
    double first = NAN;
    for (size_t i = 0; i < sizeof solver / sizeof solver[0]; ++i) {
        scene_sim s = scene_sim_open(
            "{'dimension':2,'gravity':[0,-9.81],'step':0.01,'duration':0.6,'contact':"
            "'peg',"
            "'solver':'%s','margin':0.1,'friction':{'default':0.2},'bodies':[{'name':"
            "'box','type':'static','shapes':[{'type':'box','size':[1,1]}]},{'name':"
            "'p',"
            "'density':1,'position':[0.45,1.2],'angle':0.3,'shapes':[{'type':'polygon',"
            "'vertices':[[-0.4,0],[0,-0.5],[0.4,0],[0,0.4]]}]}]}",
            solver[i]);
        REQUIRE(s.sim != NULL);
        CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
        const perp_body_state p = scene_sim_body(&s, "p");
        first = i == 0 ? p.position[0] : first;
        CHECK_NEAR(p.position[0], first, 1e-9);
        scene_sim_close(&s);
    }
}

TEST(the_reduction_to_a_single_primary_slides_off_as_well)
{
    /* [W14 (4.14)], through lemke: the switching method takes groups whose members may all push */
    double end[2][2];
    for (int k = 0; k < 2; ++k) {
        scene_sim s = scene_sim_open(
            "{'dimension':2,'gravity':[0,-9.81],'step':0.01,'duration':1,'margin':0.05,"
            "'contact':{'type':'peg','single_primary':%s},'bodies':[{'name':'box',"
            "'type':'static','shapes':[{'type':'box','size':[1,1]}]},{'name':'p',"
            "'density':1,'position':[0.3,0.75],'velocity':[1,0],'shapes':[{'type':"
            "'box',"
            "'size':[0.5,0.5]}]}]}",
            k == 0 ? "false" : "true");
        REQUIRE(s.sim != NULL);
        int secondary = 0;
        double worst = 0.0;
        while (!perp_sim_finished(s.sim)) {
            REQUIRE_OK(perp_sim_step(s.sim));
            worst = fmax(worst, perp_sim_step_info(s.sim).certificate.worst);
            int32_t count;
            const perp_contact* c = perp_sim_contacts(s.sim, &count);
            for (int32_t i = 0; i < count; ++i) {
                secondary += c[i].group < 0;
                CHECK(c[i].group >= 0 || c[i].impulse[0] == 0.0);
            }
        }
        CHECK_AT_MOST(worst, 1e-8);
        CHECK((secondary > 0) == (k == 1));
        const perp_body_state p = scene_sim_body(&s, "p");
        end[k][0] = p.position[0];
        end[k][1] = p.position[1];
        scene_sim_close(&s);
    }
    TEST_PRINT("all primary (%.4f, %.4f), single (%.4f, %.4f)", end[0][0], end[0][1], end[1][0],
               end[1][1]);
    CHECK(end[0][0] > 0.9 && end[0][1] < 0.0);
    CHECK_NEAR(end[1][0], end[0][0], 0.1);
}
