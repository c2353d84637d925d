/* Soft layers that are pressed in as far as their body is thick, and midpoint steps that do not resolve a
 * layer. */
#include <stdlib.h>
#include <string.h>

#include "perp_test.h"
#include "support/scene_sim.h"

#define EULER "'compliant'"
#define MIDPOINT "{'type':'compliant','midpoint':true}"

typedef struct soft_case {
    int dimension;
    const char* shape; /* a body 0.2 thick, or a particle */
    double depth;      /* where its layer ends over the plate: 0.45 times the thickness */
} soft_case;

/* The plate is thinner than the bodies, so that without a core they come out on its other side. */
static const soft_case cases[] = {
    {2, "{'type':'circle','radius':0.1}", 0.09},
    {2, "{'type':'box','size':[0.3,0.2]}", 0.09},
    {2, "{'type':'superellipse','radii':[0.1,0.1],'exponent':2}", 0.09},
    {2, "{'type':'particle'}", 0.036},
    {3, "{'type':'sphere','radius':0.1}", 0.09},
    {3, "{'type':'box','size':[0.3,0.4,0.2]}", 0.09},
    {3, "{'type':'ellipsoid','radii':[0.2,0.2,0.1]}", 0.09},
    {3, "{'type':'particle'}", 0.036},
};

/* A body with a layer much too soft for its speed, over a plate whose top is at 0. */
static scene_sim press_on(const soft_case* c, const char* stepper, const char* limit,
                          const char* plate, double thick, double h)
{
    const bool flat = c->dimension == 2;
    const bool particle = strstr(c->shape, "particle") != NULL;
    return scene_sim_quoted(
        "{'dimension':%d,'gravity':%s,'step':%.17g,'duration':0.4,'stepper':%s,'tolerance':1e-12,"
        "'bodies':[{'name':'plate','type':'static','position':[%s%g]%s,'shapes':[{'type':'box',"
        "'size':[%s%g]}]},{'name':'soft','mass':2%s,'position':%s,'velocity':%s,"
        "'compliance':{'stiffness':50,'damping':1%s},'shapes':[%s]}]}",
        c->dimension, flat ? "[0,-9.81]" : "[0,0,-9.81]", h, stepper, flat ? "0," : "0,0,",
        -0.5 * thick, plate, flat ? "4," : "4,4,", thick,
        particle ? ""
        : flat   ? ",'inertia':0.01"
                 : ",'inertia':[0.01,0.01,0.01]",
        flat ? "[0.05,0.15]" : "[0.05,0,0.15]", flat ? "[0,-3]" : "[0,0,-3]", limit, c->shape);
}

static scene_sim press(const soft_case* c, const char* stepper, const char* limit, double h)
{
    return press_on(c, stepper, limit, "", 0.08, h);
}

static double height(const scene_sim* s, int dimension)
{
    return scene_sim_body(s, "soft").position[dimension - 1];
}

/* The largest deflection of any contact, and the largest impulse of a core. */
static void look(const scene_sim* s, double* deepest, double* core)
{
    int32_t count;
    const perp_contact* c = perp_sim_contacts(s->sim, &count);
    for (int32_t i = 0; i < count; ++i) {
        *deepest = c[i].layer.end[0] > *deepest ? c[i].layer.end[0] : *deepest;
        *core = c[i].layer.core > *core ? c[i].layer.core : *core;
    }
}

TEST(a_layer_without_a_limit_ends_before_the_middle_of_its_shape)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        for (int k = 0; k < 4; ++k) {
            scene_sim s = press(&cases[i], k % 2 == 0 ? EULER : MIDPOINT, "", k < 2 ? 0.002 : 0.02);
            REQUIRE(s.sim != NULL);
            double deepest = 0.0, core = 0.0, lowest = INFINITY;
            while (!perp_sim_finished(s.sim)) {
                REQUIRE_OK(perp_sim_step(s.sim));
                const perp_step_info info = perp_sim_step_info(s.sim);
                CHECK_AT_MOST(info.certificate.worst, 1e-11);
                CHECK_AT_MOST(fabs(info.ledger.unexplained), 1e-9 * info.ledger.magnitude + 1e-12);
                look(&s, &deepest, &core);
                const double now = height(&s, cases[i].dimension);
                lowest = now < lowest ? now : lowest;
            }
            TEST_PRINT("%s, %d: deepest %.6f, lowest %.6f, core %.3f", cases[i].shape, k, deepest,
                       lowest, core);
            CHECK_NEAR(deepest, cases[i].depth, 2e-6 * cases[i].depth);
            CHECK(core > 0.1);
            /* the middle of the body stays above the plate; a particle above the middle of the plate */
            CHECK_AT_MOST(-lowest, cases[i].depth == 0.09 ? -0.009 : 0.037);
            scene_sim_close(&s);
        }
    }
}

TEST(it_moves_like_a_body_with_that_max_deflection)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        char limit[64];
        (void)snprintf(limit, sizeof limit, ",'max_deflection':%g", cases[i].depth);
        scene_sim s[2] = {press(&cases[i], EULER, "", 0.002),
                          press(&cases[i], EULER, limit, 0.002)};
        double worst = 0.0, core = 0.0, deepest = 0.0;
        REQUIRE(s[0].sim != NULL && s[1].sim != NULL);
        while (!perp_sim_finished(s[0].sim)) {
            REQUIRE_OK(perp_sim_step(s[0].sim));
            REQUIRE_OK(perp_sim_step(s[1].sim));
            const double off =
                fabs(height(&s[0], cases[i].dimension) - height(&s[1], cases[i].dimension));
            worst = off > worst ? off : worst;
            look(&s[1], &deepest, &core);
        }
        CHECK(core > 0.1);
        CHECK_AT_MOST(worst, 1e-7); /* 1e-6 of the depth may be left before the row is added */
        scene_sim_close(&s[0]);
        scene_sim_close(&s[1]);
    }
}

TEST(of_two_soft_bodies_the_depths_add)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        /* thicker than both, or the box would be deeper than the plate is */
        scene_sim s = press_on(&cases[i], EULER, "", ",'compliance':{'stiffness':80}", 0.3, 0.002);
        REQUIRE(s.sim != NULL);
        double deepest = 0.0, core = 0.0;
        while (!perp_sim_finished(s.sim)) {
            REQUIRE_OK(perp_sim_step(s.sim));
            look(&s, &deepest, &core);
        }
        /* a particle has no layer of its own depth */
        CHECK_NEAR(deepest, cases[i].depth == 0.09 ? 0.09 + 0.135 : 0.135, 1e-6);
        scene_sim_close(&s);
    }
}

TEST(a_core_that_acts_survives_a_snapshot)
{
    for (int i = 0; i < 2; ++i) {
        scene_sim s[2];
        for (int j = 0; j < 2; ++j) {
            s[j] = press(&cases[4], i == 0 ? EULER : MIDPOINT, "", 0.002);
            REQUIRE(s[j].sim != NULL);
        }
        double deepest = 0.0, core = 0.0;
        while (core == 0.0 && !perp_sim_finished(s[0].sim)) {
            REQUIRE_OK(perp_sim_step(s[0].sim));
            look(&s[0], &deepest, &core);
        }
        REQUIRE(core > 0.0);
        size_t size = 0;
        REQUIRE_OK(perp_sim_save(s[0].sim, NULL, &size));
        void* saved = malloc(size);
        REQUIRE_OK(perp_sim_save(s[0].sim, saved, &size));
        REQUIRE_OK(perp_sim_restore(s[1].sim, saved, size));
        free(saved);
        CHECK_AT_MOST(scene_sim_run(&s[0]), 1e-11);
        CHECK_AT_MOST(scene_sim_run(&s[1]), 1e-11);
        CHECK(memcmp(perp_sim_q(s[0].sim), perp_sim_q(s[1].sim),
                     (size_t)perp_sim_q_size(s[0].sim) * sizeof(double)) == 0);
        scene_sim_close(&s[0]);
        scene_sim_close(&s[1]);
    }
}

/* A layer that begins deeper than its middle is neither refused nor thrown out by its core. */
TEST(a_body_that_starts_beyond_its_middle_is_pushed_out_by_its_spring_alone)
{
    scene_sim s = scene_sim_quoted(
        "{'gravity':[0,0,0],'step':0.001,'duration':0.2,'stepper':'compliant','bodies':["
        "{'name':'plate','type':'static','position':[0,0,-0.5],'shapes':[{'type':'box','size':"
        "[4,4,1]}]},{'name':'soft','mass':2,'inertia':[1,1,1],'position':[0,0,-0.02],"
        "'compliance':{'stiffness':50},'shapes':[{'type':'sphere','radius':0.1}]}]}");
    REQUIRE(s.sim != NULL);
    const double before = perp_sim_energy(s.sim).total;
    CHECK_NEAR(before, 0.5 * 50.0 * 0.12 * 0.12, 1e-12);
    while (!perp_sim_finished(s.sim)) {
        REQUIRE_OK(perp_sim_step(s.sim));
        CHECK_AT_MOST(perp_sim_energy(s.sim).total, before * (1.0 + 1e-9));
    }
    CHECK(height(&s, 3) > -0.02);
    scene_sim_close(&s);
}

/* h^2 K / m from 0.05 to 5e4: the parts of the way of a layer that is touched and left within a step are
 * found, also where plain iteration overshoots. */
TEST(midpoint_steps_keep_the_energy_at_any_stiffness)
{
    static const double stiffness[] = {1e3, 1e5, 1e6, 1e7, 1e8, 1e9};
    for (size_t i = 0; i < sizeof stiffness / sizeof stiffness[0]; ++i) {
        for (int damped = 0; damped < 2; ++damped) {
            scene_sim s = scene_sim_quoted(
                "{'dimension':2,'gravity':[0,-9.81],'step':0.01,'duration':3,'stepper':" MIDPOINT
                ",'tolerance':1e-13,'bodies':[{'name':'ground','type':'static','compliance':{"
                "'stiffness':%g,'damping':%d},'shapes':[{'type':'halfplane','normal':[0,1]}]},"
                "{'name':'disc','mass':2,'inertia':1,'position':[0,1.3],'shapes':[{'type':'circle',"
                "'radius':1}]}]}",
                stiffness[i], 30 * damped);
            REQUIRE(s.sim != NULL);
            const double before = perp_sim_energy(s.sim).total;
            double most = before, v = 0.0;
            int bounces = 0;
            while (!perp_sim_finished(s.sim)) {
                REQUIRE_OK(perp_sim_step(s.sim));
                const double now = perp_sim_energy(s.sim).total;
                most = now > most ? now : most;
                const double u = scene_sim_body(&s, "disc").velocity[1];
                bounces += v < 0.0 && u >= 0.0;
                v = u;
            }
            const double after = perp_sim_energy(s.sim).total;
            TEST_PRINT("K = %g: %d bounces, %.1e J gained, %.1e J lost of %.3g J", stiffness[i],
                       bounces, most - before, before - after, before);
            CHECK_AT_MOST(most - before, 1e-9);
            CHECK(bounces >= 4 || damped == 1);
            if (damped == 0) {
                CHECK_AT_MOST(before - after, 1e-9);
            }
            scene_sim_close(&s);
        }
    }
}

/* Fast soft polygons that turn far in a step: every pair of features within reach has a layer, some 500 rows
 * for two bodies. What a step costs is counted in iterations of all its solves. */
TEST(a_midpoint_step_of_many_layers_takes_few_iterations)
{
    scene_sim s = scene_sim_quoted(
        "{'dimension':2,'gravity':[0,0],'step':0.02,'duration':0.06,'stepper':" MIDPOINT ","
        "'friction':{'cone':'polygon','default':0.8,'directions':4},'bodies':["
        "{'name':'star','mass':190,'inertia':17,'velocity':[5,0],'angular_velocity':-60,"
        "'compliance':{'stiffness':5e6,'damping':800},'shapes':[{'type':'polygon','vertices':["
        "[0.44,0],[0.19,0.14],[0.14,0.42],[-0.07,0.22],[-0.36,0.26],[-0.23,0],[-0.36,-0.26],"
        "[-0.07,-0.22],[0.14,-0.42],[0.19,-0.14]]}]},"
        "{'name':'corner','mass':120,'inertia':7,'position':[0.8,0.3],'angle':0.2,"
        "'angular_velocity':-9,'compliance':{'stiffness':2.4e6},'shapes':[{'type':'polygon',"
        "'vertices':[[-0.24,-0.24],[0.24,-0.24],[0.24,-0.04],[-0.04,-0.04],[-0.04,0.24],"
        "[-0.24,0.24]]}]},"
        "{'name':'box','mass':50,'inertia':3,'position':[-0.7,-0.4],'angular_velocity':30,"
        "'compliance':{'stiffness':9e5,'damping':4000},'shapes':[{'type':'box','size':[0.3,0.4]}]}"
        "]}");
    REQUIRE(s.sim != NULL);
    int32_t most = 0, candidates = 0;
    while (!perp_sim_finished(s.sim)) {
        REQUIRE_OK(perp_sim_step(s.sim));
        const perp_step_info info = perp_sim_step_info(s.sim);
        most = info.report.iterations > most ? info.report.iterations : most;
        candidates = info.candidates > candidates ? info.candidates : candidates;
    }
    TEST_PRINT("%d contacts, at most %d iterations a step", (int)candidates, (int)most);
    CHECK(candidates >= 60);
    CHECK(most <= 300);
    scene_sim_close(&s);
}
