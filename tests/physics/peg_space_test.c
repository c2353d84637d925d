/* Polyhedra that pass each other exactly: PEG in space, and the models it is measured against
 * [W14 4.4, 5.1, 5.2.4]. */
#include "perp_test.h"
#include "support/scene_sim.h"

static double speed_of(const perp_body_state* b)
{
    double s = 0.0;
    for (int k = 0; k < 3; ++k) {
        s = fmax(s, fmax(fabs(b->velocity[k]), fabs(b->angular_velocity[k])));
    }
    return s;
}

/* ---- at rest ------------------------------------------------------------------------------------- */

TEST(a_cube_lands_flat_and_does_not_rattle)
{
    static const char* const ground[] = {"{'type':'plane','normal':[0,0,1]}",
                                         "{'type':'box','size':[20,20,2],'position':[0,0,-1]}"};
    static const char* const cube[] = {
        "'type':'box','size':[1,1,1]",
        "'type':'polyhedron','solid':'cube','radius':0.86602540378443864676"};
    for (int k = 0; k < 8; ++k) {
        if ((k & 1) == 0 && (k & 2) != 0) {
            continue; /* planes with polyhedra have tests of their own */
        }
        scene_sim s =
            scene_sim_open("{'dimension':3,'gravity':[0,0,-9.81],'step':0.01,'duration':2,"
                           "'contact':'peg','friction':{'default':%g},'bodies':[{'name':'ground',"
                           "'type':'static','shapes':[%s]},{'name':'cube','density':1,'position':"
                           "[0.1,0.2,1],'shapes':[{%s}]}]}",
                           k & 4 ? 0.3 : 0.0, ground[k & 1], cube[k >> 1 & 1]);
        REQUIRE(s.sim != NULL);
        double rattle = 0.0, height = 0.0;
        while (!perp_sim_finished(s.sim)) {
            REQUIRE_OK(perp_sim_step(s.sim));
            CHECK_EQ_INT(perp_sim_step_info(s.sim).fallbacks, 0);
            if (perp_sim_time(s.sim) > 0.4) {
                const perp_body_state b = scene_sim_body(&s, "cube");
                rattle = fmax(rattle, speed_of(&b));
                height = fmax(height, fabs(b.position[2] - 0.5));
            }
        }
        CHECK_AT_MOST(rattle, 1e-12);
        CHECK_AT_MOST(height, 1e-12);
        scene_sim_close(&s);
    }
}

TEST(ten_staggered_cubes_stand)
{
    static const double x[] = {0.0312,  -0.0871, 0.0534,  -0.0106, 0.0925,
                               -0.0448, 0.0067,  -0.0753, 0.0688,  -0.0291};
    for (int k = 0; k < 2; ++k) {
        char bodies[8192] = "";
        for (int i = 0; i < 10; ++i) {
            snprintf(bodies + strlen(bodies), sizeof bodies - strlen(bodies),
                     "%s{'name':'b%d',%s,'position':[%.17g,%.17g,%.17g],'shapes':[{"
                     "'type':'box','size':[1,1,1]}]}",
                     i > 0 ? "," : "", i, i == 0 ? "'type':'static'" : "'density':1", x[i],
                     x[(i + 3) % 10], 1.25 * i);
        }
        scene_sim s =
            scene_sim_open("{'dimension':3,'gravity':[0,0,-9.81],'step':0.005,'duration':2.5,"
                           "'margin':0.07,'contact':'peg','friction':{'default':%g},'bodies':[%s]}",
                           k == 0 ? 0.0 : 0.3, bodies);
        REQUIRE(s.sim != NULL);
        while (!perp_sim_finished(s.sim)) {
            REQUIRE_OK(perp_sim_step(s.sim));
            CHECK_EQ_INT(perp_sim_step_info(s.sim).fallbacks, 0);
        }
        double gap = 0.0, drift = 0.0, speed = 0.0;
        for (int32_t i = 0; i < 10; ++i) {
            const perp_body_state b = perp_sim_body(s.sim, i);
            gap = fmax(gap, fabs(b.position[2] - i));
            drift = fmax(drift,
                         fmax(fabs(b.position[0] - x[i]), fabs(b.position[1] - x[(i + 3) % 10])));
            speed = fmax(speed, speed_of(&b));
        }
        TEST_PRINT("friction %g: gap %.2g, drift %.2g, speed %.2g", k == 0 ? 0.0 : 0.3, gap, drift,
                   speed);
        CHECK_AT_MOST(gap, 1e-12);
        CHECK_AT_MOST(drift, 1e-9);
        CHECK_AT_MOST(speed, 1e-11);
        scene_sim_close(&s);
    }
}

/* ---- seams ------------------------------------------------------------------------------------------ */

TEST(a_box_that_slides_over_a_hundred_seams_feels_none)
{
    char* tiles = malloc(65536);
    REQUIRE(tiles != NULL);
    for (int k = 0; k < 4; ++k) {
        const double mu = k & 1 ? 0.1 : 0.0, vx = k & 2 ? 5.0 : 4.5, vy = k & 2 ? 1.5 : 0.0;
        size_t used = 0;
        for (int i = 0; i < 100; ++i) {
            /* in a row, or four wide and crossed at an angle */
            const double wide = k & 2 ? 0.75 : 0.2, deep = k & 2 ? 0.75 : 4.0;
            const double at_x = k & 2 ? 0.375 + 0.75 * (i / 4) : 0.1 + 0.2 * i;
            const double at_y = k & 2 ? 0.375 + 0.75 * (i % 4) : 0.0;
            used += (size_t)snprintf(tiles + used, 65536 - used,
                                     "{'name':'t%d','type':'static','position':[%.17g,"
                                     "%.17g,-0.1],'shapes':[{'type':'box','size':[%g,%g,"
                                     "0.2]}]},",
                                     i, at_x, at_y, wide, deep);
        }
        scene_sim s = scene_sim_open(
            "{'dimension':3,'gravity':[0,0,-9.81],'step':0.01,'duration':%g,'contact':"
            "'peg','friction':{'default':%g},'bodies':[%s{'name':'box','density':1,"
            "'position':[0.5,0.4,0.25],'velocity':[%g,%g,0],'shapes':[{'type':'box',"
            "'size':[0.5,0.5,0.5]}]}]}",
            k & 2 ? 1.2 : 4.0, mu, tiles, vx, vy);
        REQUIRE(s.sim != NULL);
        const double begin = hypot(vx, vy);
        double worst = 0.0, expected = begin;
        while (!perp_sim_finished(s.sim)) {
            REQUIRE_OK(perp_sim_step(s.sim));
            CHECK_EQ_INT(perp_sim_step_info(s.sim).fallbacks, 0);
            expected = fmax(0.0, expected - mu * 9.81 * 0.01);
            const perp_body_state b = scene_sim_body(&s, "box");
            worst = fmax(worst, fabs(b.velocity[0] - expected * vx / begin));
            worst = fmax(worst, fabs(b.velocity[1] - expected * vy / begin));
            worst = fmax(worst, fabs(b.velocity[2]) + fabs(b.position[2] - 0.25));
            for (int i = 0; i < 3; ++i) {
                worst = fmax(worst, fabs(b.angular_velocity[i]));
            }
        }
        TEST_PRINT("%s, mu %g: largest deviation %.2g after %.3g m",
                   k & 2 ? "at an angle" : "along", mu, worst,
                   scene_sim_body(&s, "box").position[0] - 0.5);
        CHECK_AT_MOST(worst, 1e-9);
        scene_sim_close(&s);
    }
    free(tiles);
}

/* ---- the thesis's instances ------------------------------------------------------------------------------ */

typedef struct outcome {
    perp_body_state end;
    double deepest, certificate;
    int fallbacks;
} outcome;

static outcome play(const char* scene, const char* contact, const char* body)
{
    outcome o = {.deepest = NAN};
    scene_sim s = scene_sim_load(scene);
    CHECK(s.sim != NULL);
    if (s.sim == NULL) {
        return o;
    }
    perp_sim* sim = NULL;
    perp_sim_def def = perp_sim_def_from_scene(s.scene);
    def.contact = contact;
    CHECK_OK(perp_sim_create(s.context, perp_scene_model(s.scene), &def, &sim));
    o.deepest = 0.0;
    while (!perp_sim_finished(sim)) {
        CHECK_OK(perp_sim_step(sim));
        double depth = INFINITY;
        CHECK_OK(perp_sim_penetration(sim, &depth));
        o.deepest = fmax(o.deepest, depth);
        o.certificate = fmax(o.certificate, perp_sim_step_info(sim).certificate.worst);
        o.fallbacks += perp_sim_step_info(sim).fallbacks;
    }
    o.end = perp_sim_body(sim, perp_model_body_find(perp_sim_model(sim), body));
    perp_sim_destroy(sim);
    scene_sim_close(&s);
    return o;
}

TEST(a_tetrahedron_slides_off_an_aligned_one_where_the_standard_model_fuses_them)
{
    const outcome peg = play("scenes/w14-tetrahedra.json", "peg", "upper");
    CHECK_NEAR(peg.end.velocity[0], 0.4, 1e-12);
    CHECK_NEAR(peg.end.position[0], 0.24, 1e-12);
    CHECK_AT_MOST(peg.deepest, 1e-14);
    CHECK_AT_MOST(peg.certificate, 1e-8);
    CHECK_EQ_INT(peg.fallbacks, 0);
    const outcome standard = play("scenes/w14-tetrahedra.json", "standard", "upper");
    CHECK_AT_MOST(fabs(standard.end.position[0]), 0.01);
}

TEST(a_tip_passes_a_tip_where_the_standard_model_holds_it)
{
    const outcome peg = play("scenes/w14-vertex-vertex.json", "peg", "upper");
    CHECK(peg.end.position[2] < 0.0); /* fallen past it */
    CHECK_AT_MOST(peg.deepest, 2e-3); /* a step of rotation: (omega h)^2 / 2 of the size */
    CHECK_EQ_INT(peg.fallbacks, 0);
    const outcome standard = play("scenes/w14-vertex-vertex.json", "standard", "upper");
    CHECK(standard.end.position[2] > 0.9);
}

TEST(a_tip_slides_along_an_edge_and_leaves_it)
{
    const outcome peg = play("scenes/w14-vertex-edge.json", "peg", "tip");
    CHECK_NEAR(peg.end.velocity[1], 1.5, 1e-9); /* nothing holds it along the edge */
    CHECK(peg.end.position[0] > 0.1);
    CHECK_AT_MOST(peg.deepest, 2e-3);
    CHECK_EQ_INT(peg.fallbacks, 0);
}

TEST(icosahedra_come_to_lie_on_faces)
{
    const outcome peg = play("scenes/w14-icosahedra.json", "peg", "first");
    /* the height of a face: radius sqrt((5 + 2 sqrt 5) / 15) */
    CHECK_NEAR(peg.end.position[2], 0.4 * sqrt((5 + 2 * sqrt(5)) / 15), 1e-6);
    CHECK_AT_MOST(peg.deepest, 2e-3);
    CHECK_EQ_INT(peg.fallbacks, 0);
}

/* ---- tosses ------------------------------------------------------------------------------------------------ */

static unsigned long long state;
static double uniform(double a, double b)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return a + (b - a) * (double)(state >> 11) / 9007199254740992.0;
}

static void direction(double* u)
{
    double r;
    do {
        r = 0.0;
        for (int k = 0; k < 3; ++k) {
            u[k] = uniform(-1, 1);
            r += u[k] * u[k];
        }
    } while (r > 1.0 || r < 0.01);
    for (int k = 0; k < 3; ++k) {
        u[k] /= sqrt(r);
    }
}

/* The hull of points on an ellipsoid. */
static void polyhedron_text(char* text, size_t size)
{
    const int n = 4 + (int)uniform(0, 9);
    const double r[3] = {uniform(0.15, 0.3), uniform(0.15, 0.3), uniform(0.15, 0.3)};
    size_t used = (size_t)snprintf(text, size, "[");
    for (int i = 0; i < n; ++i) {
        double u[3];
        direction(u);
        used += (size_t)snprintf(text + used, size - used, "%s[%.17g,%.17g,%.17g]",
                                 i > 0 ? "," : "", r[0] * u[0], r[1] * u[1], r[2] * u[2]);
    }
    snprintf(text + used, size - used, "]");
}

/* b is thrown at a, which floats or is a floor. */
static scene_sim toss(int seed, double friction, const char* cone)
{
    char a[2048], b[2048];
    state = 0x9E3779B97F4A7C15ULL * (unsigned long long)(seed + 1);
    for (int i = 0; i < 10; ++i) {
        (void)uniform(0, 1);
    }
    double way[3], axis[3];
    direction(way);
    direction(axis);
    polyhedron_text(b, sizeof b);
    if (seed % 3 == 0) {
        way[2] = fabs(way[2]) + 0.3;
        snprintf(a, sizeof a,
                 "{'name':'a','type':'static','position':[0,0,-0.6],'shapes':[{"
                 "'type':'box','size':[4,4,1]}]}");
    } else {
        char shape[1024];
        polyhedron_text(shape, sizeof shape);
        snprintf(a, sizeof a,
                 "{'name':'a','density':1,'angular_velocity':[%.17g,%.17g,%.17g],"
                 "'shapes':[{'type':'polyhedron','vertices':%s}]}",
                 uniform(-3, 3), uniform(-3, 3), uniform(-3, 3), shape);
    }
    const double v = uniform(0.5, 3);
    return scene_sim_open(
        "{'dimension':3,'gravity':[0,0,0],'step':0.01,'duration':%.17g,'contact':'peg',"
        "'friction':{'default':%g,'cone':'%s'},'bodies':[%s,{'name':'b','density':"
        "1,'position':["
        "%.17g,%.17g,%.17g],'velocity':[%.17g,%.17g,%.17g],'axis_angle':[%.17g,%.17g,%.17g,"
        "%.17g],'angular_velocity':[%.17g,%.17g,%.17g],'shapes':[{'type':'polyhedron',"
        "'vertices':%s}]}]}",
        1.2 / v, friction, cone, a, way[0], way[1], way[2], -v * way[0], -v * way[1], -v * way[2],
        axis[0], axis[1], axis[2], uniform(0, 3), uniform(-3, 3), uniform(-3, 3), uniform(-3, 3),
        b);
}

TEST(no_toss_goes_through)
{
    const int tosses = 150;
    double deepest = 0.0;
    int met = 0, fallbacks = 0;
    for (int seed = 0; seed < tosses; ++seed) {
        scene_sim s = toss(seed, seed % 2 == 0 ? 0.0 : 0.4, "quadratic");
        REQUIRE(s.sim != NULL);
        bool touched = false;
        const double energy = perp_sim_energy(s.sim).kinetic;
        while (!perp_sim_finished(s.sim)) {
            double depth = INFINITY;
            REQUIRE_OK(perp_sim_step(s.sim));
            REQUIRE_OK(perp_sim_penetration(s.sim, &depth));
            deepest = fmax(deepest, depth);
            const perp_step_info info = perp_sim_step_info(s.sim);
            touched = touched || info.contacts > 0;
            fallbacks += info.fallbacks;
            CHECK_AT_MOST(info.certificate.worst, 1e-8);
        }
        CHECK_AT_MOST(perp_sim_energy(s.sim).kinetic, energy * 1.25);
        met += touched;
        scene_sim_close(&s);
    }
    TEST_PRINT("%d of %d met; deepest %.2g, %d fallbacks", met, tosses, deepest, fallbacks);
    CHECK(met > tosses / 2);
    CHECK(fallbacks <= 1);        /* friction in groups: about one in a thousand, docs/limits.md */
    CHECK_AT_MOST(deepest, 0.02); /* what a step of rotation leaves: (omega h)^2 / 2 of the size */
}

/* In each of these two members of a group, or members of several groups, hand over to each other until they are
 * closed together: without that every one of them falls back. */
TEST(members_that_hand_over_to_each_other_are_closed_together)
{
    static const int seed[] = {142, 208, 278, 301, 356, 359, 398, 472,
                               515, 523, 617, 664, 704, 851, 1033};
    for (size_t i = 0; i < sizeof seed / sizeof seed[0]; ++i) {
        scene_sim s = toss(seed[i], 0.4, seed[i] % 2 == 0 ? "quadratic" : "polygon");
        REQUIRE(s.sim != NULL);
        while (!perp_sim_finished(s.sim)) {
            REQUIRE_OK(perp_sim_step(s.sim));
            CHECK_EQ_INT(perp_sim_step_info(s.sim).fallbacks, 0);
            CHECK_AT_MOST(perp_sim_step_info(s.sim).certificate.worst, 1e-8);
        }
        scene_sim_close(&s);
    }
}

/* ---- a pile: every model runs, a snapshot continues -------------------------------------------------------- */

static const char pile[] =
    "{'dimension':3,'gravity':[0,0,-9.81],'step':0.01,'duration':1,'contact':'%s',"
    "'friction':{'default':0.3},'bodies':[{'name':'floor','type':'static','shapes':"
    "[{'type':'box','size':[4,4,0.2],'position':[0,0,-0.1]}]},{'name':'a','density':"
    "1,"
    "'position':[0,0,0.5],'shapes':[{'type':'polyhedron','solid':'tetrahedron',"
    "'radius':0.3}]},{'name':'b','density':1,'position':[0.05,0,1],'angular_velocity':"
    "[2,1,0],'shapes':[{'type':'box','size':[0.3,0.4,0.2]}]},{'name':'c','density':1,"
    "'position':[0,0.05,1.5],'shapes':[{'type':'polyhedron','solid':'dodecahedron',"
    "'radius':0.25}]}]}";

TEST(every_model_runs_a_pile_of_polyhedra)
{
    static const char* const model[] = {"standard", "corrective", "lnc", "peg"};
    for (int k = 0; k < 4; ++k) {
        scene_sim s = scene_sim_open(pile, model[k]);
        REQUIRE(s.sim != NULL);
        double deepest = 0.0;
        while (!perp_sim_finished(s.sim)) {
            double depth = INFINITY;
            REQUIRE_OK(perp_sim_step(s.sim));
            REQUIRE_OK(perp_sim_penetration(s.sim, &depth));
            deepest = fmax(deepest, depth);
            CHECK_AT_MOST(perp_sim_step_info(s.sim).certificate.worst, 1e-8);
        }
        TEST_PRINT("%s: deepest %.2g", model[k], deepest);
        CHECK_AT_MOST(deepest, k == 3 ? 0.01 : 0.1);
        scene_sim_close(&s);
    }
}

TEST(a_snapshot_continues_with_the_same_bits)
{
    scene_sim a = scene_sim_open(pile, "peg"), b = scene_sim_open(pile, "peg");
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
            CHECK(i == 0 || c[i - 1].key < c[i].key);
        }
    }
    CHECK(grouped > 5);
    scene_sim_close(&a);
    scene_sim_close(&b);
}
