/* Bodies on joints that strike walls: the bounce is the same with and without joint_correction. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "perp_test.h"
#include "support/scene_sim.h"

static double uniform(uint64_t* seed)
{
    uint64_t z = (*seed += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/* A ball on a rod of length 1, one radian from the vertical; a wall at the lowest point. */
static scene_sim pendulum(const char* law, bool correction, double h)
{
    return scene_sim_open(
        "{'dimension':2,'gravity':[0,-9.81],'step':%.17g,'duration':40,"
        "'joint_correction':%s,'restitution':{'law':'%s','e':1},'bodies':["
        "{'name':'wall','type':'static','shapes':[{'type':'halfplane',"
        "'normal':[1,0],'offset':-0.12}]},{'name':'ball','mass':1,'inertia':0.004,"
        "'position':[0.8414709848078965,-0.5403023058681398],'angle':1,'shapes':["
        "{'type':'circle','radius':0.1}]}],'joints':[{'name':'O','type':'revolute',"
        "'a':'world','b':'ball','at':[0,0]}]}",
        h, correction ? "true" : "false", law);
}

/* How far the energy above the lowest point is off at the worst of the first ten turning points that
 * follow a bounce. */
static double drift_at_turning_points(const char* law, bool correction, double h)
{
    scene_sim s = pendulum(law, correction, h);
    if (s.sim == NULL) {
        return INFINITY;
    }
    const double lowest = -9.81, E = perp_sim_energy(s.sim).total - lowest;
    double worst = 0.0, rate = 0.0;
    int bounces = 0, turns = 0;
    while (turns < 10 && !perp_sim_finished(s.sim)) {
        if (perp_sim_step(s.sim) != PERP_OK) {
            worst = INFINITY;
            break;
        }
        const perp_step_kind kind = perp_sim_step_info(s.sim).kind;
        const double now = scene_sim_body(&s, "ball").angular_velocity[2];
        bounces += kind == PERP_STEP_IMPACT || kind == PERP_STEP_DECOMPRESSION;
        if (kind == PERP_STEP_TIME && rate > 0.0 && now <= 0.0 && bounces > turns) {
            turns += 1;
            worst = fmax(worst, fabs((perp_sim_energy(s.sim).total - lowest) / E - 1.0));
        }
        rate = now;
    }
    scene_sim_close(&s);
    return turns == 10 && bounces == 10 ? worst : INFINITY;
}

/* Two balls on a rigid rod, with velocities that pull it apart, and one of them strikes the floor within the next step.
 * The rod's length changes by its turn alone: by length (rate h)^2 / 2 in a step of a linear constraint. */
static void check_rod(uint64_t seed, const char* law, bool later)
{
    uint64_t at = seed;
    const double h = 0.02, vx = 4.0 * uniform(&at) - 2.0, vy = -2.0 - 2.0 * uniform(&at);
    const double gap = 0.01 + 0.02 * uniform(&at);
    const double velocity[3] = {vx, vy, 0.0}, rest[3] = {0};
    scene_sim s = scene_sim_open(
        "{'dimension':2,'step':%.17g,'duration':1,'restitution':{'law':'%s','e':0.5},"
        "'friction':{'default':0},'bodies':[{'name':'floor','type':'static','shapes':["
        "{'type':'halfplane','normal':[0,1],'offset':0}]},{'name':'a','mass':1,'inertia':0.004,"
        "'position':[0,%.17g],'velocity':[%.17g,%.17g],'shapes':[{'type':'circle','radius':0.1}]},"
        "{'name':'b','mass':3,'inertia':0.012,'position':[0.5,0.6],'shapes':[{'type':'circle',"
        "'radius':0.1}]}],'joints':[{'name':'rod','type':'fixed','a':'a','b':'b'}]}",
        h, law, 0.1 + gap, later ? 0.0 : vx, later ? 0.0 : vy);
    REQUIRE(s.sim != NULL);
    if (later) {
        REQUIRE_OK(perp_sim_step(s.sim));
        REQUIRE_OK(perp_sim_set_body_velocity(s.sim, 1, velocity, rest));
    }
    const double length = hypot(0.5, 0.6 - 0.1 - gap);
    int impacts = 0;
    double turned = 0.0;
    for (int i = 0; i < 3; ++i) {
        REQUIRE_OK(perp_sim_step(s.sim));
        impacts += perp_sim_step_info(s.sim).kind != PERP_STEP_TIME;
        const perp_body_state a = scene_sim_body(&s, "a"), b = scene_sim_body(&s, "b");
        turned = fmax(turned, h * fabs(a.angular_velocity[2]));
        const double now = hypot(b.position[0] - a.position[0], b.position[1] - a.position[1]);
        CHECK(fabs(now - length) <= 2.0 * length * turned * turned + 1e-9);
    }
    CHECK(impacts > 0);
    scene_sim_close(&s);
}

TEST(velocities_that_contradict_a_joint_do_not_open_it_before_an_impact)
{
    for (uint64_t seed = 0; seed < 20; ++seed) {
        check_rod(seed, "newton", false);
        check_rod(seed, "poisson", false);
        check_rod(seed, "newton", true);
        check_rod(seed, "poisson", true);
    }
}

/* A bob on a rope strikes a sloping plate. The rope's row is linear in the motion of a step, and an impact's
 * offset is part of that motion: the rope is longer by what is tangential to it, |motion|^2 / (2
 * length), at most. */
TEST(a_rope_is_not_pulled_out_by_the_impact_of_its_bob)
{
    int impacts = 0;
    double worst = 0.0;
    for (uint64_t seed = 0; seed < 24; ++seed) {
        uint64_t at = seed;
        const double slope = -0.5 + 1.5 * uniform(&at), speed = 2.0 + 4.0 * uniform(&at);
        const double low = 0.7 + 0.3 * uniform(&at);
        scene_sim s = scene_sim_open(
            "{'dimension':2,'gravity':[0,-9.81],'step':0.02,'duration':2,'contact':'standard',"
            "'stepper':'%s','restitution':{'law':'%s','e':0.9},'friction':{'default':0},'bodies':["
            "{'name':'plate','type':'static','shapes':[{'type':'halfplane','normal':[%.17g,%.17g],"
            "'offset':%.17g}]},{'name':'bob','mass':1,'position':[0.99,0],'velocity':[0,%.17g],"
            "'shapes':[{'type':'circle','radius':0.1}]}],'joints':[{'name':'r','type':'rope',"
            "'a':'world','b':'bob','length':1}]}",
            seed % 2 == 0 ? "stewart-trinkle" : "anitescu-potra",
            seed % 4 < 2 ? "newton" : "poisson", sin(slope), cos(slope), -low, -speed);
        REQUIRE(s.sim != NULL);
        perp_body_state before = scene_sim_body(&s, "bob");
        while (!perp_sim_finished(s.sim)) {
            REQUIRE_OK(perp_sim_step(s.sim));
            if (perp_sim_step_info(s.sim).kind != PERP_STEP_TIME) {
                continue; /* an impact moves nothing */
            }
            const perp_body_state now = scene_sim_body(&s, "bob");
            const double x = now.position[0], y = now.position[1];
            const double dx = x - before.position[0], dy = y - before.position[1];
            worst = fmax(worst, hypot(x, y) - 1.0 - 0.5 * (dx * dx + dy * dy));
            before = now;
        }
        impacts += (int)perp_sim_impact_count(s.sim);
        scene_sim_close(&s);
    }
    TEST_PRINT("%d impacts, beyond the bound by at most %.1e", impacts, worst);
    CHECK_AT_LEAST(impacts, 24);
    CHECK_AT_MOST(worst, 1e-9);
}

/* The sphere below two boxes that lie on each other is no matter of theirs: under lnc they were
 * parted along the normal of a corner beyond another face, by their whole width. */
TEST(boxes_that_overlap_a_little_are_parted_where_they_meet)
{
    scene_sim s = scene_sim_open(
        "{'dimension':3,'step':0.05,'gravity':[0,0,-9.81],'contact':'lnc',"
        "'friction':{'cone':'none'},'duration':0.65,'bodies':[{'name':'ground','type':'static',"
        "'shapes':[{'type':'plane','normal':[0,0,1]}]},{'name':'b0','position':[-1.20847545771,"
        "-1.36996180826,48.0094134194],'mass':1074155318.03,'shapes':[{'type':'sphere','radius':"
        "48.0094133613}]},{'name':'b1','position':[0.369810142542,-1.87102969041,112.224095157],"
        "'mass':31735799.4519,'inertia':[3415694166.15,3361565431.72,2791707408.41],'velocity':"
        "[-7.23547496973,-16.5182052063,-4.67085594514],'shapes':[{'type':'box','size':"
        "[29.8011905656,35.1685524913,32.4105366367]}]},{'name':'b2','position':[-0.224881419094,"
        "1.57490902599,139.028020785],'mass':10496429.1728,'shapes':[{'type':'box','size':"
        "[37.5245776918,17.7605884363,21.1973145017]}]}]}");
    REQUIRE(s.sim != NULL);
    const double start = perp_sim_energy(s.sim).total;
    while (!perp_sim_finished(s.sim)) {
        REQUIRE_OK(perp_sim_step(s.sim));
        CHECK_AT_MOST(perp_sim_energy(s.sim).total, start);
    }
    scene_sim_close(&s);
}

/* The same with plain contacts: a box at the inward corner of an L that turns fast. */
TEST(a_box_in_an_inward_corner_gains_no_energy)
{
    scene_sim s = scene_sim_open(
        "{'dimension':2,'step':0.00263686321531,'gravity':[0,0],'contact':'standard','friction':"
        "{'cone':'none'},'duration':0.21358592044011,'bodies':[{'name':'b0','position':[0.356772,"
        "0.559554],'mass':22.7267,'inertia':0.206146,'velocity':[0.621536,-0.785422],'shapes':["
        "{'type':'box','size':[0.181,0.181]}]},{'name':'b2','position':[0.494249,1.34941],'mass':"
        "41.8448,'inertia':0.726104,'angle':-1.52772,'velocity':[-0.223861,-3.96391],"
        "'angular_velocity':34.611,'shapes':[{'type':'polygon','vertices':[[-0.143192,-0.143192],"
        "[0.143192,-0.143192],[0.143192,-0.0319695],[-0.0319695,-0.0319695],[-0.0319695,0.143192],"
        "[-0.143192,0.143192]]}]}]}");
    REQUIRE(s.sim != NULL);
    const double start = perp_sim_energy(s.sim).total;
    while (!perp_sim_finished(s.sim)) {
        REQUIRE_OK(perp_sim_step(s.sim));
        CHECK_AT_MOST(perp_sim_energy(s.sim).total, start);
    }
    scene_sim_close(&s);
}

TEST(an_elastic_pendulum_has_its_energy_after_ten_bounces)
{
    static const double step[] = {1e-2, 1e-3, 1e-4}, allowed[] = {0.005, 0.0002, 0.00001};
    static const char* const law[] = {"newton", "poisson"};
    for (int i = 0; i < 3; ++i) {
        for (int k = 0; k < 4; ++k) {
#ifdef PERP_TEST_SANITIZED
            if (i == 2) {
                continue;
            }
#endif
            if (i == 2 && k >= 2) {
                continue; /* Newton's alone at the smallest step, for time */
            }
            const double off = drift_at_turning_points(law[k / 2], k % 2 == 1, step[i]);
            TEST_PRINT("h %g, %s, correction %s: energy off by %.4f %%", step[i], law[k / 2],
                       k % 2 == 1 ? "on" : "off", 100.0 * off);
            CHECK_AT_MOST(off, allowed[i]);
        }
    }
}

/* The scheme keeps E - (h/2) m g . v in flight, to second order in h (its velocities are those of half a
 * step before its poses). An impact reverses v at the time at which the gap closes, with what gravity gains
 * by then: that keeps the same sum, so that at the turning points E is what it was, wherever the wall is. */
TEST(away_from_the_lowest_point_the_energy_is_kept_to_second_order)
{
    static const double wall[] = {-0.3, -0.12, 0.1, 0.3};
    double worst = 0.0;
    for (int i = 0; i < 16; ++i) {
        const double h = 1e-3;
        scene_sim s = scene_sim_open(
            "{'dimension':2,'gravity':[0,-9.81],'step':%.17g,'duration':40,"
            "'joint_correction':%s,'restitution':{'law':'%s','e':1},'bodies':["
            "{'name':'wall','type':'static','shapes':[{'type':'halfplane',"
            "'normal':[1,0],'offset':%.17g}]},{'name':'ball','mass':1,'inertia':0.004,"
            "'position':[0.8414709848078965,-0.5403023058681398],'angle':1,'shapes':["
            "{'type':'circle','radius':0.1}]}],'joints':[{'name':'O','type':"
            "'revolute','a':'world','b':'ball','at':[0,0]}]}",
            h, i % 2 == 0 ? "true" : "false", i % 4 < 2 ? "newton" : "poisson", wall[i / 4]);
        REQUIRE(s.sim != NULL);
        const double start = perp_sim_energy(s.sim).total, E = start + 9.81;
        double rate = 0.0;
        int bounces = 0;
        while (!perp_sim_finished(s.sim) && bounces < 10) {
            REQUIRE_OK(perp_sim_step(s.sim));
            const perp_step_kind kind = perp_sim_step_info(s.sim).kind;
            const double now = scene_sim_body(&s, "ball").angular_velocity[2];
            if (kind == PERP_STEP_IMPACT || kind == PERP_STEP_COMPRESSION) {
                bounces += 1;
            } else if (kind == PERP_STEP_TIME && rate > 0.0 && now <= 0.0) {
                worst = fmax(worst, fabs(perp_sim_energy(s.sim).total - start) / E);
            }
            rate = now;
        }
        CHECK_EQ_INT(bounces, 10);
        scene_sim_close(&s);
    }
    TEST_PRINT("energy off by %.4f %% after ten bounces at 1e-3", 100.0 * worst);
    CHECK_AT_MOST(worst, 0.0002);
}

typedef struct variation {
    int kind; /* rod, two rods, slider; in space a ball or a box on a spherical joint */
    const char *law, *contact, *shape;
    double wall, tilt, start, e;
} variation;

static scene_sim open_variation(const variation* x, bool correction, double h)
{
    char bodies[1024];
    const double a = x->start, s = sin(a), c = -cos(a);
    if (x->kind == 0) {
        snprintf(bodies, sizeof bodies,
                 "{'name':'b','mass':1,'inertia':0.01,'position':[%.17g,%.17g],"
                 "'angle':%.17g,'shapes':[%s]}],'joints':[{'name':'O','type':"
                 "'revolute','a':'world','b':'b','at':[0,0]}]",
                 s, c, a, x->shape);
    } else if (x->kind == 1) {
        snprintf(bodies, sizeof bodies,
                 "{'name':'a','mass':1,'inertia':0.02,'position':[%.17g,%.17g]},"
                 "{'name':'b','mass':0.7,'inertia':0.01,'position':[%.17g,%.17g],"
                 "'angle':%.17g,'shapes':[%s]}],'joints':[{'name':'O','type':"
                 "'revolute','a':'world','b':'a','at':[0,0]},{'name':'P','type':"
                 "'revolute','a':'a','b':'b','at':[%.17g,%.17g]}]",
                 0.25 * s, 0.25 * c, 0.9 * s, 0.9 * c, a, x->shape, 0.5 * s, 0.5 * c);
    } else if (x->kind == 2) {
        snprintf(bodies, sizeof bodies,
                 "{'name':'b','mass':1,'inertia':0.01,'position':[0.5,-1],"
                 "'velocity':[%.17g,0],'shapes':[%s]}],'joints':[{'name':'O','type':"
                 "'prismatic','a':'world','b':'b','at':[0,-1],'axis':[1,0]}]",
                 2.0 - 4.0 * a, x->shape);
    } else {
        snprintf(bodies, sizeof bodies,
                 "{'name':'b','mass':1,'inertia':[0.01,0.01,0.01],'position':[%.17g,"
                 "0.2,%.17g],'shapes':[%s]}],'joints':[{'name':'O','type':'spherical',"
                 "'a':'world','b':'b','at':[0,0,0]}]",
                 s, c,
                 x->kind == 3 ? "{'type':'sphere','radius':0.1}"
                              : "{'type':'box','size':[0.2,0.3,0.15]}");
        return scene_sim_open(
            "{'gravity':[0,0,-9.81],'step':%.17g,'duration':1.5,'joint_correction':%s,"
            "'contact':'%s','restitution':{'law':'%s','e':%.17g},'bodies':["
            "{'name':'wall','type':'static','shapes':[{'type':'plane',"
            "'normal':[%.17g,0.3,0],'offset':%.17g}]},%s}",
            h, correction ? "true" : "false", x->contact, x->law, x->e, cos(x->tilt),
            -0.1 - x->wall, bodies);
    }
    return scene_sim_open(
        "{'dimension':2,'gravity':[0,-9.81],'step':%.17g,'duration':1.5,"
        "'joint_correction':%s,'contact':'%s','restitution':{'law':'%s','e':%.17g},"
        "'bodies':[{'name':'left','type':'static','position':[%.17g,-1],"
        "'angle':%.17g,'shapes':[{'type':'box','size':[1,6]}]},{'name':'right',"
        "'type':'static','position':[%.17g,-1],'angle':%.17g,'shapes':[{'type':"
        "'box','size':[1,6]}]},%s}",
        h, correction ? "true" : "false", x->contact, x->law, x->e, -0.5 - x->wall, x->tilt,
        1.75 + x->wall, -x->tilt, bodies);
}

/* Energies are compared up to the second impact: what follows depends on the phase, off by h. */
static double energy_after_two_impacts(const variation* x, bool correction, double h, int* impacts)
{
    scene_sim s = open_variation(x, correction, h);
    double energy = INFINITY;
    *impacts = 0;
    if (s.sim == NULL) {
        TEST_PRINT("%s", s.error);
        return energy;
    }
    const double start = perp_sim_energy(s.sim).total;
    while (!perp_sim_finished(s.sim) && *impacts < 2) {
        if (perp_sim_step(s.sim) != PERP_OK) {
            TEST_PRINT("%s", perp_context_error(s.context));
            break;
        }
        const perp_step_kind kind = perp_sim_step_info(s.sim).kind;
        *impacts += kind == PERP_STEP_IMPACT || kind == PERP_STEP_DECOMPRESSION;
        energy = perp_sim_energy(s.sim).total - start;
    }
    scene_sim_close(&s);
    return energy;
}

static variation random_variation(int i, uint64_t* seed)
{
    static const char* const model[] = {"standard", "corrective", "lnc", "peg", "disjunctive"};
    static const char* const shape[] = {
        "{'type':'circle','radius':0.1}", "{'type':'box','size':[0.2,0.15]}",
        "{'type':'polygon','vertices':[[0.12,0],[-0.08,0.1],[-0.08,-0.1]]}"};
    const int kind = i % 5;
    return (variation){.kind = kind,
                       .law = uniform(seed) < 0.5 ? "newton" : "poisson",
                       .contact = model[(int)((kind >= 3 ? 4.0 : 5.0) * uniform(seed))],
                       .shape = shape[(int)(3.0 * uniform(seed))],
                       .wall = 0.2 * uniform(seed),
                       .tilt = 0.4 * uniform(seed) - 0.2,
                       .start = 0.5 + 0.7 * uniform(seed),
                       .e = 1.0};
}

TEST(elastic_bounces_on_joints_keep_the_energy_in_every_model)
{
    uint64_t seed = 3;
    double worst = 0.0;
    int struck = 0;
    for (int i = 0; i < 80; ++i) {
        const variation x = random_variation(i, &seed);
        for (int k = 0; k < 2; ++k) {
            int impacts;
            const double change = energy_after_two_impacts(&x, k == 1, 2e-3, &impacts);
            if (!(fabs(change) <= 0.1)) { /* of about 10 J */
                TEST_PRINT("%d: kind %d, %s, %s, %s, correction %d: %.3g J after %d impacts", i,
                           x.kind, x.law, x.contact, x.shape, k, change, impacts);
            }
            worst = fmax(worst, fabs(change));
            struck += impacts > 0;
        }
    }
    TEST_PRINT("%d of 160 runs bounced; energy off by at most %.3f J of 10", struck, worst);
    CHECK_AT_MOST(worst, 0.1);
    CHECK_AT_LEAST(struck, 120);
}

TEST(a_bounce_loses_the_same_with_and_without_correction)
{
    uint64_t seed = 30;
    double worst = 0.0;
    for (int i = 0; i < 60; ++i) {
        variation x = random_variation(i, &seed);
        x.e = uniform(&seed);
        int impacts[2];
        double change[2];
        for (int k = 0; k < 2; ++k) {
            change[k] = energy_after_two_impacts(&x, k == 1, 2e-3, &impacts[k]);
        }
        if (impacts[0] == impacts[1]) { /* the last small bounces may be lost in a step */
            worst = fmax(worst, fabs(change[1] - change[0]));
        } else {
            CHECK(impacts[0] + impacts[1] > 1);
        }
    }
    TEST_PRINT("energies differ by at most %.3f J of 10", worst);
    CHECK_AT_MOST(worst, 0.1);
}

/* A body at constant speed reaches a limit, or the end of its rope: it has that speed until the step
 * that stops it. */
TEST(what_is_open_keeps_its_speed_through_the_projection)
{
    static const char* const joint[] = {
        "{'name':'j','type':'prismatic','a':'world','b':'b','at':[0,0],"
        "'axis':[1,0],'limits':[-1,0.505]}",
        "{'name':'j','type':'prismatic','a':'world','b':'b','at':[0,0],"
        "'axis':[-1,0],'limits':[-0.505,1]}",
        "{'name':'j','type':'rope','a':'world','b':'b','at_a':[0,0],"
        "'at_b':[0,0],'length':0.505}"};
    for (int i = 0; i < 3; ++i) {
        scene_sim s =
            scene_sim_open("{'dimension':2,'step':0.01,'duration':0.4,'joint_correction':true,"
                           "'bodies':[{'name':'b','mass':1,'inertia':1,'velocity':[2,0]}],"
                           "'joints':[%s]}",
                           joint[i]);
        REQUIRE(s.sim != NULL);
        while (!perp_sim_finished(s.sim)) {
            REQUIRE_OK(perp_sim_step(s.sim));
            const perp_body_state b = scene_sim_body(&s, "b");
            const double t = perp_sim_time(s.sim);
            CHECK_NEAR(b.position[0], fmin(2.0 * t, 0.505), 1e-12);
            /* 0.505 lies within the step from 0.25 to 0.26 */
            CHECK_NEAR(b.velocity[0], t < 0.255 ? 2.0 : 0.0, 1e-11);
        }
        scene_sim_close(&s);
    }
}
