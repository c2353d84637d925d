/* The energy ledger: each term against a closed form, the sum in every scene, and what can only take. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "model/model.h"
#include "perp_test.h"
#include "support/scene_sim.h"

/* The ledger of one step; NaN everywhere if it fails. */
static perp_ledger step(scene_sim* s)
{
    if (s->sim == NULL || perp_sim_step(s->sim) != PERP_OK) {
        return (perp_ledger){.change = NAN, .unexplained = NAN};
    }
    return perp_sim_step_info(s->sim).ledger;
}

/* What rounding may leave unexplained: 1e-13 of (kinetic + sum m |g| size). */
static double rounding(const scene_sim* s, double kinetic)
{
    const perp_model* model = perp_sim_model(s->sim);
    double weight = 0.0;
    for (size_t i = 0; i < model->body_count; ++i) {
        const perpi_body* body = &model->body[i];
        weight += body->dofs > 0 ? body->mass * v3_norm(body->gravity) * model->length : 0.0;
    }
    return 1e-13 * (kinetic + weight);
}

/* ---- terms -----------------------------------------------------------------------------------------*/

TEST(a_falling_body_loses_what_an_implicit_step_takes)
{
    scene_sim s = scene_sim_open("{'gravity':[0,0,-10],'step':0.01,'duration':1,'bodies':["
                                 "{'name':'p','mass':3,'velocity':[1,0,2],"
                                 "'shapes':[{'type':'particle'}]}]}");
    for (int i = 0; i < 20; ++i) {
        const perp_ledger l = step(&s);
        CHECK_NEAR(l.change, -0.5 * 3 * 0.1 * 0.1, 1e-14);
        CHECK_NEAR(l.step_loss, -0.5 * 3 * 0.1 * 0.1, 1e-15);
        CHECK_AT_MOST(fabs(l.unexplained), 1e-14);
        CHECK_NEAR(l.magnitude, -l.step_loss, 1e-15);
    }
    scene_sim_close(&s);
}

TEST(friction_on_a_sliding_block_takes_its_force_times_its_way)
{
    scene_sim s = scene_sim_open(
        "{'gravity':[0,0,-10],'step':0.01,'duration':1,'friction':{'default':0.2},'bodies':["
        "{'name':'floor','type':'static','shapes':[{'type':'plane','normal':[0,0,1]}]},"
        "{'name':'b','mass':2,'position':[0,0,0.1],'velocity':[3,0,0],"
        "'shapes':[{'type':'box','size':[0.6,0.4,0.2]}]}]}");
    for (int i = 0; i < 20; ++i) {
        const perp_ledger l = step(&s);
        const double v = 3 - 0.02 * (i + 1);
        CHECK_NEAR(l.friction, -0.2 * 2 * 10 * 0.01 * v, 1e-10);
        CHECK_NEAR(l.step_loss, -0.5 * 2 * 0.02 * 0.02, 1e-10);
        CHECK_NEAR(l.change, l.friction + l.step_loss, 1e-10);
    }
    scene_sim_close(&s);
}

TEST(wrenches_and_drag_do_their_work)
{
    scene_sim s = scene_sim_open(
        "{'dimension':2,'step':0.01,'duration':1,'bodies':[{'name':'b','mass':2,'inertia':0.5,"
        "'angular_velocity':1}],'forces':["
        "{'type':'wrench','body':'b','force':[4,0],'torque':3},"
        "{'type':'drag','body':'b','linear':0.5,'angular':0.25}]}");
    double v = 0.0, w = 1.0;
    for (int i = 0; i < 20; ++i) {
        const perp_ledger l = step(&s);
        v = (2 * v + 0.01 * 4) / (2 + 0.01 * 0.5);
        w = (0.5 * w + 0.01 * 3) / (0.5 + 0.01 * 0.25);
        CHECK_NEAR(l.forces, 0.01 * (4 * v + 3 * w), 1e-15);
        CHECK_NEAR(l.drag, -0.01 * (0.5 * v * v + 0.25 * w * w), 1e-15);
        CHECK_AT_MOST(fabs(l.unexplained), 1e-15);
    }
    scene_sim_close(&s);
}

TEST(a_spring_and_its_damper_share_the_account)
{
    /* implicit: p = -h k (x + h u) - h d u, so that work + change of the stored energy is
     * -h d u^2 - k (h u)^2 / 2; explicit: -h d u_0 u + k (h u)^2 / 2 */
    for (int implicit = 0; implicit < 2; ++implicit) {
        scene_sim s = scene_sim_open(
            "{'step':0.01,'duration':1,'bodies':[{'name':'b','mass':2,'position':[1.5,0,0],"
            "'velocity':[0.4,0,0],'shapes':[{'type':'particle'}]}],'forces':[{'type':'spring',"
            "'a':'world','b':'b','at_a':[0,0,0],'stiffness':50,'damping':3,'rest':1%s}]}",
            implicit ? "" : ",'implicit':false");
        REQUIRE(s.sim != NULL);
        for (int i = 0; i < 20; ++i) {
            const double u0 = scene_sim_body(&s, "b").velocity[0];
            const perp_ledger l = step(&s);
            const double u = scene_sim_body(&s, "b").velocity[0], moved = 0.01 * u;
            CHECK_NEAR(l.springs, -0.01 * 3 * (implicit ? u : u0) * u, 1e-13);
            CHECK_NEAR(l.spring_error, (implicit ? -0.5 : 0.5) * 50 * moved * moved, 1e-13);
            CHECK_AT_MOST(fabs(l.unexplained), 1e-13);
        }
        scene_sim_close(&s);
    }
}

TEST(motors_joint_friction_and_damping_do_their_work)
{
    scene_sim s = scene_sim_open(
        "{'step':0.01,'duration':1,'bodies':[{'name':'b','mass':2,'inertia':[1,1,0.5]}],"
        "'joints':[{'name':'j','type':'revolute','a':'world','b':'b','at':[0,0,0],"
        "'axis':[0,0,1],'friction':0.5,'damping':0.2,"
        "'motor':{'type':'effort','target':3}}]}");
    double w = 0.0;
    for (int i = 0; i < 20; ++i) {
        const perp_ledger l = step(&s);
        w = (0.5 * w + 0.01 * (3 - 0.5)) / (0.5 + 0.01 * 0.2);
        CHECK_NEAR(l.motors, 0.01 * 3 * w, 1e-14);
        CHECK_NEAR(l.joints, -0.01 * (0.5 + 0.2 * w) * w, 1e-14);
        CHECK_AT_MOST(fabs(l.unexplained), 1e-14);
    }
    scene_sim_close(&s);
}

TEST(a_belt_gives_what_friction_and_the_load_take)
{
    /* the belt moves at 2, the block slides back on it: the belt gives mu m g h 2 a step, friction
     * takes mu m g h (2 - v') of it */
    scene_sim s = scene_sim_open(
        "{'gravity':[0,0,-10],'step':0.01,'duration':1,'friction':{'default':0.2},'bodies':["
        "{'name':'floor','type':'static','surface_velocity':[2,0,0],"
        "'shapes':[{'type':'box','size':[8,1,0.2],'position':[0,0,-0.1]}]},"
        "{'name':'b','mass':2,'position':[0,0,0.1],"
        "'shapes':[{'type':'box','size':[0.6,0.4,0.2]}]}]}");
    for (int i = 0; i < 20; ++i) {
        const perp_ledger l = step(&s);
        const double v = 0.02 * (i + 1), push = 0.2 * 2 * 10 * 0.01;
        CHECK_NEAR(l.prescribed, push * 2, 1e-11);
        CHECK_NEAR(l.friction, -push * (2 - v), 1e-11);
        CHECK_NEAR(l.change, 0.5 * 2 * (v * v - (v - 0.02) * (v - 0.02)), 1e-11);
    }
    scene_sim_close(&s);
}

TEST(an_impact_takes_what_restitution_leaves)
{
    static const char* const law[] = {"newton", "poisson"};
    for (int k = 0; k < 2; ++k) {
        scene_sim s = scene_sim_open(
            "{'step':0.01,'duration':1,'restitution':{'law':'%s','e':0.6},'bodies':["
            "{'name':'floor','type':'static','shapes':[{'type':'plane','normal':[0,0,1]}]},"
            "{'name':'b','mass':2,'position':[0,0,0.13],'velocity':[0,0,-3],"
            "'shapes':[{'type':'sphere','radius':0.1}]}]}",
            law[k]);
        REQUIRE(s.sim != NULL);
        double impacts = 0.0, rest = 0.0;
        for (int i = 0; i < 10; ++i) {
            const perp_ledger l = step(&s);
            impacts += l.impacts;
            rest += fabs(l.change - l.impacts);
            CHECK_AT_MOST(fabs(l.unexplained), 1e-12);
        }
        CHECK_NEAR(scene_sim_body(&s, "b").velocity[2], 1.8, 1e-12);
        CHECK_NEAR(impacts, -0.5 * 2 * 9 * (1 - 0.36), 1e-11);
        CHECK_AT_MOST(rest, 1e-11);
        scene_sim_close(&s);
    }
}

TEST(a_gap_that_closes_within_a_step_is_the_gap_term)
{
    /* p_n = m (3 - gap / h), w_n' = -gap / h */
    scene_sim s = scene_sim_open(
        "{'step':0.01,'duration':1,'bodies':["
        "{'name':'floor','type':'static','shapes':[{'type':'plane','normal':[0,0,1]}]},"
        "{'name':'b','mass':2,'position':[0,0,0.11],'velocity':[0,0,-3],"
        "'shapes':[{'type':'sphere','radius':0.1}]}]}");
    const perp_ledger l = step(&s);
    CHECK_NEAR(l.gap, -2 * (3 - 1) * 1.0, 1e-11);
    CHECK_NEAR(l.step_loss, -0.5 * 2 * 4, 1e-11);
    CHECK_NEAR(l.change, 0.5 * 2 * (1 - 9), 1e-11);
    scene_sim_close(&s);
}

/* ---- the sum, in every scene -------------------------------------------------------------------------*/

typedef struct account_check {
    double worst; /* |unexplained| over max(1e-9, certificate) times the terms, plus rounding */
    double signs; /* the largest positive value of a term that can only take, relative */
    double momentum[2];
    int32_t steps;
} account_check;

static void check_step(scene_sim* s, double before, account_check* c)
{
    const perp_step_info info = perp_sim_step_info(s->sim);
    const perp_ledger* l = &info.ledger;
    const double kinetic = perp_sim_energy(s->sim).kinetic;
    const double tiny = rounding(s, kinetic > before ? kinetic : before) + 1e-300;
    const double certificate = info.certificate.worst > 1e-9 ? info.certificate.worst : 1e-9;
    const double allowed = certificate * l->magnitude + tiny;
    const double off = fabs(l->unexplained) / allowed;
    c->worst = off <= c->worst ? c->worst : off;
    const double taken[] = {l->drag, l->springs, l->friction, l->joints, l->step_loss};
    for (int i = 0; i < 5; ++i) {
        /* at rest all terms are what the solver left open */
        const double sign = taken[i] / (1e-6 * l->magnitude + 1e3 * tiny + 1e-18);
        c->signs = sign <= c->signs ? c->signs : sign;
    }
    for (int k = 0; k < 2; ++k) {
        c->momentum[k] =
            info.momentum_error[k] <= c->momentum[k] ? c->momentum[k] : info.momentum_error[k];
    }
    c->steps += 1;
}

static account_check run_scene(const char* path, double processor_seconds)
{
    account_check c = {0};
    scene_sim s = {0};
    if (perp_context_create(NULL, &s.context) != PERP_OK ||
        perp_scene_load(s.context, path, NULL, 0, &s.scene) != PERP_OK ||
        perp_sim_create_from_scene(s.context, s.scene, &s.sim) != PERP_OK) {
        c.worst = INFINITY;
        TEST_PRINT("%s: %s", path, perp_context_error(s.context));
        scene_sim_close(&s);
        return c;
    }
    const clock_t begin = clock();
    while (!perp_sim_finished(s.sim) &&
           (double)(clock() - begin) < processor_seconds * CLOCKS_PER_SEC) {
        const double before = perp_sim_energy(s.sim).kinetic;
        if (perp_sim_step(s.sim) != PERP_OK) {
            c.worst = INFINITY;
            TEST_PRINT("%s: %s", path, perp_context_error(s.context));
            break;
        }
        check_step(&s, before, &c);
    }
    scene_sim_close(&s);
    return c;
}

/* All scenes of a folder, each for so much processor time; how many there are. */
static int run_folder(const char* folder, double processor_seconds)
{
    char path[4096];
    int count = 0;
    DIR* dir = opendir(folder);
    for (struct dirent* e = dir != NULL ? readdir(dir) : NULL; e != NULL; e = readdir(dir)) {
        const char* end = strrchr(e->d_name, '.');
        if (end == NULL || strcmp(end, ".json") != 0) {
            continue;
        }
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        const account_check c = run_scene(path, processor_seconds);
        TEST_PRINT("%-28s %5d steps, unexplained %.1e of what is allowed, momentum %.0e %.0e",
                   e->d_name, (int)c.steps, c.worst, c.momentum[0], c.momentum[1]);
        CHECK_AT_MOST(c.worst, 1.0);
        CHECK_AT_MOST(c.signs, 1.0);
        CHECK_AT_MOST(c.momentum[0], 1e-11);
        CHECK_AT_MOST(c.momentum[1], 1e-9);
        count += 1;
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return count;
}

TEST(nothing_is_unexplained_in_the_built_in_scenes)
{
    CHECK(run_folder(PERP_SOURCE_DIR "/scenes", 0.2) > 30);
}

TEST(nothing_is_unexplained_in_the_gallery)
{
    if (run_folder(PERP_SOURCE_DIR "/../shared/gallery", 0.1) == 0) {
        SKIP("no gallery beside the source tree");
    }
}

/* ---- what energy may do -------------------------------------------------------------------------------*/

/* E(t) - E(0) of a passive scene exceeds the sum of the positive gap, joint, gyroscopic, spring and
 * projection terms by at most `slack` of the energy at the start. */
static void check_passive(scene_sim* s, bool exact, double slack)
{
    REQUIRE(s->sim != NULL);
    const perp_energy e0 = perp_sim_energy(s->sim);
    double allowed = 0.0, grown = -INFINITY;
    while (!perp_sim_finished(s->sim)) {
        REQUIRE_OK(perp_sim_step(s->sim));
        const perp_ledger l = perp_sim_step_info(s->sim).ledger;
        const double made[] = {l.gap, l.joint_error, l.gyroscopic, l.spring_error, l.projection};
        for (int i = 0; i < 5 && !exact; ++i) {
            allowed += made[i] > 0.0 ? made[i] : 0.0;
        }
        const double over = perp_sim_energy(s->sim).total - e0.total - allowed;
        grown = over <= grown ? grown : over;
    }
    CHECK_AT_MOST(grown, slack * (e0.kinetic + fabs(e0.potential)));
}

TEST(passive_scenes_gain_only_what_the_scheme_is_seen_to_make)
{
    static const char* const scene[] = {
        "scenes/b09-double-pendulum.json", "scenes/hello.json",        "scenes/stack.json",
        "scenes/tiled-floor.json",         "scenes/box-on-slope.json", "scenes/w14-pendulum.json",
        "scenes/w14-joint-tree.json",      "scenes/demo.json",
    };
    for (size_t i = 0; i < sizeof scene / sizeof scene[0]; ++i) {
        scene_sim s = scene_sim_load(scene[i]);
        check_passive(&s, false, 1e-9);
        scene_sim_close(&s);
    }
}

TEST(where_the_scheme_makes_nothing_energy_never_grows)
{
    static const char* const body[] = {
        "{'name':'b','density':500,'position':[0,0,40],'velocity':[3,1,5],'angular_velocity':[9,2,"
        "7],"
        "'shapes':[{'type':'box','size':[1,0.5,0.2]}]}",
        "{'name':'b','mass':2,'inertia':[0.008,0.008,0.008],'position':[0,0,0.1],'velocity':[3,0,0]"
        ","
        "'angular_velocity':[1,2,5],'shapes':[{'type':'sphere','radius':0.1}]}",
        "{'name':'b','density':500,'position':[0,0,0.1],'velocity':[3,2,0],"
        "'shapes':[{'type':'box','size':[0.6,0.4,0.2]}]}",
    };
    for (int i = 0; i < 3; ++i) {
        scene_sim s = scene_sim_open(
            "{'gravity':[0,0,-9.81],'step':0.01,'duration':2,'friction':{'default':0.3},'bodies':["
            "{'name':'floor','type':'static','shapes':[{'type':'plane','normal':[0,0,1]}]},%s]}",
            body[i]);
        check_passive(&s, true, 1e-9);
        scene_sim_close(&s);
    }
}

TEST(adaptive_steps_account_for_their_extrapolation)
{
    scene_sim s = scene_sim_open(
        "{'gravity':[0,0,-9.81],'step':{'error':1e-5},'duration':1.5,'restitution':0.5,"
        "'friction':{'default':0.3},'bodies':["
        "{'name':'floor','type':'static','shapes':[{'type':'plane','normal':[0,0,1]}]},"
        "{'name':'b','density':500,'position':[0,0,1],'velocity':[1,0,0],'angular_velocity':[3,2,1]"
        ","
        "'shapes':[{'type':'box','size':[0.6,0.4,0.2]}]}]}");
    REQUIRE(s.sim != NULL);
    account_check c = {0};
    double change = 0.0;
    const double e0 = perp_sim_energy(s.sim).total;
    while (!perp_sim_finished(s.sim)) {
        const double before = perp_sim_energy(s.sim).kinetic;
        REQUIRE_OK(perp_sim_step(s.sim));
        check_step(&s, before, &c);
        change += perp_sim_step_info(s.sim).ledger.change;
    }
    CHECK_AT_MOST(c.worst, 1.0);
    CHECK_NEAR(change, perp_sim_energy(s.sim).total - e0, 1e-9);
    scene_sim_close(&s);
}
