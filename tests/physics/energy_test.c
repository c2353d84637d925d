/* Energy of passive scenes: no growth beyond the oscillation of a first order step, none that goes on, and none
 * near singular configurations. "Growth" is the largest E(t) - E(0) over the largest kinetic energy. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "perp_test.h"
#include "support/scene_sim.h"

typedef struct growth {
    double half, whole; /* until half of the time, and all of it */
    double end;         /* at the end */
    double height;      /* of the last body, end minus start */
    int32_t middle;     /* steps that were middle steps */
    bool failed;
} growth;

static growth watch(scene_sim* s, double duration)
{
    growth g = {-INFINITY, -INFINITY, 0.0, 0.0, 0, true};
    if (s->sim == NULL) {
        printf("  %s\n", perp_context_error(s->context));
        return g;
    }
    const perp_energy start = perp_sim_energy(s->sim);
    const double before = start.kinetic + start.potential;
    const int32_t last = perp_model_body_count(perp_sim_model(s->sim)) - 1;
    const double z = perp_sim_body(s->sim, last).position[2];
    double most = start.kinetic, now = before;
    g.failed = false;
    while (!g.failed && perp_sim_time(s->sim) < duration - 1e-9) {
        g.failed = perp_sim_step(s->sim) != PERP_OK;
        const perp_energy e = perp_sim_energy(s->sim);
        g.middle += perp_sim_step_info(s->sim).corrections == -2;
        now = e.kinetic + e.potential;
        most = e.kinetic > most ? e.kinetic : most;
        const double gain = now - before;
        g.whole = gain <= g.whole ? g.whole : gain; /* keeps a NaN */
        if (perp_sim_time(s->sim) <= 0.5 * duration + 1e-9) {
            g.half = g.whole;
        }
    }
    if (g.failed) {
        printf("  %s\n", perp_context_error(s->context));
    }
    g.height = perp_sim_body(s->sim, last).position[2] - z;
    g.half /= most;
    g.whole /= most;
    g.end = (now - before) / most;
    return g;
}

/* ---- scenes ------------------------------------------------------------------------------------------*/

#define FLOOR "{'name':'floor','type':'static','shapes':[{'type':'plane','normal':[0,0,1]}]}"

typedef enum kind {
    PENDULUM,
    DOUBLE_PENDULUM,
    TOP,
    ELLIPSOID,
    ROLLING_COIN,
    COIN,
    RATTLEBACK,
    WHEEL,
    KINDS
} kind;
static const char* const kind_name[KINDS] = {
    "pendulum", "double pendulum", "top on a joint", "ellipsoid", "rolling coin",
    "coin",     "rattleback",      "wheel"};

/* i varies size, inclination, speed and friction. */
static scene_sim open_scene(kind k, int i, double h)
{
    const char* head = "'gravity':[0,0,-9.81],'step':%.17g,'duration':20,'joint_correction':%s,"
                       "'friction':{'default':%g},'bodies':[";
    const char* corrected = i % 2 == 1 ? "true" : "false";
    char text[4096], start[512];
    const double size = 1.0 + 0.3 * i;
    (void)snprintf(start, sizeof start, head, h, corrected, 0.8 - 0.1 * i);
    switch (k) {
    case PENDULUM:
        (void)snprintf(text, sizeof text,
                       "{%s{'name':'b','density':500,'position':[%g,0,0],"
                       "'shapes':[{'type':'box','size':[%g,0.1,0.1]}]}],"
                       "'joints':[{'name':'j','type':'revolute','a':'world','b':'b','at':[0,0,0],"
                       "'axis':[0,1,0]}]}",
                       start, 0.5 * size, size);
        break;
    case DOUBLE_PENDULUM:
        (void)snprintf(text, sizeof text,
                       "{%s{'name':'a','density':500,'position':[%g,0,0],"
                       "'shapes':[{'type':'box','size':[%g,0.1,0.1]}]},"
                       "{'name':'b','density':500,'position':[%g,0,0],"
                       "'shapes':[{'type':'box','size':[%g,0.1,0.1]}]}],"
                       "'joints':[{'name':'j','type':'spherical','a':'world','b':'a','at':[0,0,0]},"
                       "{'name':'k','type':'spherical','a':'a','b':'b','at':[%g,0,0]}]}",
                       start, 0.5 * size, 0.9 * size, 1.5 * size, 0.9 * size, size);
        break;
    case TOP: {
        const double tilt = 0.5 + 0.2 * i, spin = 25 + 5 * i, l = 0.1;
        const double w[3] = {spin * sin(tilt), 0, spin * cos(tilt) + 2};
        (void)snprintf(
            text, sizeof text,
            "{%s{'name':'t','density':2000,'position':[%.17g,0,%.17g],"
            "'axis_angle':[0,1,0,%.17g],'velocity':[0,%.17g,0],"
            "'angular_velocity':[%.17g,0,%.17g],"
            "'shapes':[{'type':'cylinder','radius':0.08,'length':0.02}]}],"
            "'joints':[{'name':'j','type':'spherical','a':'world','b':'t','at':[0,0,0]}]}",
            start, l * sin(tilt), l * cos(tilt), tilt, l * (w[2] * sin(tilt) - w[0] * cos(tilt)),
            w[0], w[2]);
        break;
    }
    case ELLIPSOID: {
        const double a = 0.12 * size, b = 0.15 * size, c = 0.18 * size, tilt = 0.3 + 0.1 * i;
        const double z = sqrt(a * a * sin(tilt) * sin(tilt) + c * c * cos(tilt) * cos(tilt));
        (void)snprintf(text, sizeof text,
                       "{%s" FLOOR ",{'name':'e','density':1000,'position':[0,0,%.17g],"
                       "'axis_angle':[0,1,0,%g],'velocity':[%.17g,%.17g,0],"
                       "'angular_velocity':[3,6,1],"
                       "'shapes':[{'type':'ellipsoid','radii':[%g,%g,%g]}]}]}",
                       start, z, tilt, 6 * z, -3 * z, a, b, c);
        break;
    }
    case ROLLING_COIN:
    case COIN: {
        const bool rolls = k == ROLLING_COIN;
        const double r = 0.2 * size, l = 0.02 * size;
        const double tilt = rolls ? 1.35 - 0.05 * i : 0.7 + 0.1 * i, rate = 7.0 / sqrt(size);
        const double z = r * sin(tilt) + 0.5 * l * cos(tilt);
        const double cx = r * cos(tilt) - 0.5 * l * sin(tilt), n = hypot(cx, z);
        /* rolling: about its axis; spinning: about the line from its centre to the contact */
        const double w[3] = {rolls ? rate * sin(tilt) : rate * cx / n, 0,
                             rolls ? rate * cos(tilt) + 0.5 : -rate * z / n};
        (void)snprintf(text, sizeof text,
                       "{%s" FLOOR ",{'name':'c','density':8000,'position':[0,0,%.17g],"
                       "'axis_angle':[0,1,0,%.17g],'velocity':[0,%.17g,0],"
                       "'angular_velocity':[%.17g,0,%.17g],"
                       "'shapes':[{'type':'cylinder','radius':%.17g,'length':%.17g}]}]}",
                       start, z, tilt, -(w[2] * cx + w[0] * z), w[0], w[2], r, l);
        break;
    }
    case RATTLEBACK:
        (void)snprintf(text, sizeof text,
                       "{%s" FLOOR ",{'name':'r','mass':0.3,'inertia':[2e-4,1.4e-3,1.5e-3],"
                       "'position':[0,0,0.0155],'angular_velocity':[0.2,0.1,%d],"
                       "'shapes':[{'type':'ellipsoid','radii':[0.1,0.02,0.015],"
                       "'axis_angle':[0,0,1,%g]}]}]}",
                       start, i % 2 == 0 ? 6 + i : -6 - i, 0.09 + 0.01 * i);
        break;
    default: {
        const int n = 6 + 6 * i;
        size_t used = (size_t)snprintf(
            text, sizeof text,
            "{'dimension':2,'gravity':[0,-9.81],'step':%.17g,'duration':20,"
            "'friction':{'default':0.8},'bodies':[{'name':'floor','type':'static',"
            "'shapes':[{'type':'halfplane','normal':[0,1]}]},{'name':'w','density':100,"
            "'position':[0,%.17g],'velocity':[2,0],'angular_velocity':%.17g,"
            "'shapes':[{'type':'polygon','vertices':[",
            h, 0.3 * cos(M_PI / n), -2 / 0.3);
        for (int m = 0; m < n; ++m) {
            const double angle = M_PI * (2 * m + 1) / n - 0.5 * M_PI;
            used += (size_t)snprintf(text + used, sizeof text - used, "%s[%.17g,%.17g]",
                                     m > 0 ? "," : "", 0.3 * cos(angle), 0.3 * sin(angle));
        }
        (void)snprintf(text + used, sizeof text - used, "]}]}]}");
        break;
    }
    }
    return scene_sim_open("%s", text);
}

#ifdef PERP_TEST_SANITIZED
enum { VARIANTS = 1 };
#else
enum { VARIANTS = 3 };
#endif

/* At most 2 % at h = 10 ms, half of that at half the step, and as much in 10 s as in 20 s but for 0.15 %.
 * Damping of the order of h^2 hides part of the growth at 10 ms; at 5 ms it is small enough for the ratio. */
TEST(energy_of_passive_scenes_does_not_grow)
{
    for (int k = 0; k < KINDS; ++k) {
        for (int i = 0; i < VARIANTS; ++i) {
            if (!perp_test_full() && i != k % VARIANTS) {
                continue;
            }
            /* mechanisms keep it to 2e-6 and better: nothing to halve */
            const int steps = k == PENDULUM || k == DOUBLE_PENDULUM || k == TOP ? 2 : 3;
            growth g[3];
            printf("  %-16s %d:", kind_name[k], i);
            for (int j = 0; j < steps; ++j) {
                scene_sim s = open_scene((kind)k, i, 0.01 / (1 << j));
                g[j] = watch(&s, 20.0);
                printf("  %7.3f %% (10 s %7.3f, end %8.3f)", 100 * g[j].whole, 100 * g[j].half,
                       100 * g[j].end);
                scene_sim_close(&s);
            }
            printf("\n");
            for (int j = 0; j < steps; ++j) {
                CHECK(!g[j].failed);
                CHECK_AT_MOST(g[j].whole, steps == 2 ? 1e-5 : 0.02 / pow(1.7, j));
                CHECK_AT_MOST(g[j].whole, fmax(g[j].half, 0.0) + 0.0012);
            }
            CHECK_AT_MOST(g[steps - 1].whole, fmax(g[steps - 2].whole / 1.6, 0.0005));
        }
    }
}

/* A chain of links that starts level; h 10 ms, and then 5. */
static scene_sim links(int count, int dimension, bool boxes, double size, double h, bool corrected)
{
    char text[4096], joints[2048];
    size_t used = 0, tied = 0;
    for (int i = 0; i < count; ++i) {
        const double x = size * (i + 0.5);
        char body[256];
        if (boxes) {
            (void)snprintf(body, sizeof body,
                           "'density':500,'shapes':[{'type':'box','size':[%.17g,%.17g,%.17g]}]",
                           0.9 * size, 0.1 * size, 0.1 * size);
        } else if (dimension == 2) {
            (void)snprintf(body, sizeof body, "'mass':1,'inertia':%.17g", 0.05 * size * size);
        } else {
            (void)snprintf(body, sizeof body, "'mass':1,'inertia':[%.17g,%.17g,%.17g]",
                           0.02 * size * size, 0.05 * size * size, 0.06 * size * size);
        }
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 "%s{'name':'b%d',%s,'position':[%.17g,0%s]}", i > 0 ? "," : "", i,
                                 body, x, dimension == 2 ? "" : ",0");
        char before[16] = "world";
        if (i > 0) {
            (void)snprintf(before, sizeof before, "b%d", i - 1);
        }
        tied +=
            (size_t)snprintf(joints + tied, sizeof joints - tied,
                             "%s{'name':'j%d','type':'%s','a':'%s','b':'b%d','at':[%.17g,%g%s]}",
                             i > 0 ? "," : "", i, dimension == 2 ? "revolute" : "spherical", before,
                             i, size * i, boxes ? 0.2 * size * i : 0.0, dimension == 2 ? "" : ",0");
    }
    return scene_sim_open("{'dimension':%d,'joint_correction':%s,'gravity':%s,'step':%.17g,"
                          "'duration':20,'bodies':[%s],'joints':[%s]}",
                          dimension, corrected ? "true" : "false",
                          dimension == 2 ? "[0,-9.81]"
                          : boxes        ? "[0,3,-9.81]"
                                         : "[0,0,-9.81]",
                          h, text, joints);
}

/* Open mechanisms that meet nothing have middle steps by default: E does not go up and down by
 * (h/2) m g . v, which is 4 % for a pendulum of 0.1 m at h = 10 ms. With joint_correction, too. */
TEST(pendulums_of_all_sizes_keep_their_energy)
{
    static const double size[] = {0.05, 0.1, 0.3, 1.0, 3.0};
    for (int i = 0; i < 30; ++i) {
        if (!perp_test_full() && i % 3 != 0) {
            continue; /* each size, one link and two, in the plane and in space */
        }
        const int count = 1 + i / 5 % 2, dimension = i < 10 ? 2 : 3;
        const bool boxes = i >= 20;
        growth g[2];
        for (int j = 0; j < 2; ++j) {
            scene_sim s = links(count, dimension, boxes, size[i % 5], 0.01 / (1 + j), j == 1);
            g[j] = watch(&s, 20.0);
            CHECK(!g[j].failed);
            CHECK_EQ_INT(g[j].middle, 2000 * (1 + j));
            scene_sim_close(&s);
        }
        printf("  %d links of %g m, %d-D: growth %.1e and %.1e, end %.1e and %.1e\n", count,
               size[i % 5], dimension, g[0].whole, g[1].whole, g[0].end, g[1].end);
        /* Also where the outer link turns by a radian in a step (2 of 5 cm): by the chord (step/chord.h), and with
         * steps that are found by following them from short ones (step/middle_path.c). */
        CHECK_AT_MOST(g[0].whole, 1e-9);
        CHECK_AT_MOST(g[1].whole, 1e-9);
        CHECK_AT_MOST(fabs(g[0].end), 1e-9);
    }
}

/* Two rods of 3 to 15 cm that whip about in space at h = 10 ms. Newton's method alone fails in some of the steps, and a
 * step of the start in its place gains or loses up to 40 % of the energy. */
TEST(short_rods_that_turn_by_radians_in_a_step_keep_their_energy)
{
    static const double size[] = {0.03, 0.05, 0.07, 0.1, 0.15};
    for (int i = 0; i < (perp_test_full() ? 10 : 5); ++i) {
        const double l = size[i % 5], a = 0.05 + 0.25 * fmod(0.37 * i, 1.0);
        const double b = 0.05 + 0.25 * fmod(0.61 * i, 1.0), off = 0.4 * fmod(0.83 * i, 1.0) - 0.2;
        scene_sim s = scene_sim_open(
            "{'gravity':[0,%.17g,-9.81],'step':0.01,'duration':20,'bodies':["
            "{'name':'a','density':500,'position':[%.17g,0,0],"
            "'shapes':[{'type':'box','size':[%.17g,%.17g,%.17g]}]},"
            "{'name':'b','density':500,'position':[%.17g,0,0],"
            "'shapes':[{'type':'box','size':[%.17g,%.17g,%.17g]}]}],'joints':["
            "{'name':'j','type':'spherical','a':'world','b':'a','at':[0,%.17g,%.17g]},"
            "{'name':'k','type':'spherical','a':'a','b':'b','at':[%.17g,%.17g,0]}]}",
            8 * fmod(0.29 * i, 1.0) - 4, 0.5 * l, 0.9 * l, a * l, b * l, 1.5 * l, 0.9 * l, b * l,
            a * l, off * l, -off * l, l, -0.5 * off * l);
        const growth g = watch(&s, 20.0);
        printf("  rods of %g m: growth %.1e, end %.1e, %d middle steps\n", l, g.whole, g.end,
               (int)g.middle);
        CHECK(!g.failed);
        CHECK_EQ_INT(g.middle, 2000);
        CHECK_AT_MOST(g.whole, 1e-9);
        CHECK_AT_MOST(fabs(g.end), 1e-9);
        scene_sim_close(&s);
    }
}

/* Coins that roll and spin on a floor. i: size, inclination and spin. */
static scene_sim on_a_floor(int i, double h, const char* direction)
{
    static const double size[] = {0.3, 1.0, 5.0, 0.3, 1.0, 5.0, 1.0, 1.0};
    static const double tilt[] = {1.35, 1.35, 1.35, 0.7, 0.7, 0.7, 1.2, 1.1};
    const bool rolls = i < 3 || i == 7;
    const double r = 0.2 * size[i], l = 0.02 * size[i], rate = 7.0 / sqrt(size[i]);
    const double z = r * sin(tilt[i]) + 0.5 * l * cos(tilt[i]);
    const double cx = r * cos(tilt[i]) - 0.5 * l * sin(tilt[i]), n = hypot(cx, z);
    const double w[3] = {rolls ? rate * sin(tilt[i]) : rate * cx / n, 0,
                         rolls ? rate * cos(tilt[i]) + 0.5 : -rate * z / n};
    return scene_sim_open(
        "{'gravity':[0,0,-9.81],'step':%.17g,'duration':20,'friction':{'default':0.8},"
        "'contact_direction':'%s','bodies':[" FLOOR
        ",{'name':'c','mass':1,'position':[0,0,%.17g],'axis_angle':[0,1,0,%.17g],"
        "'velocity':[0,%.17g,0],'angular_velocity':[%.17g,0,%.17g],"
        "'shapes':[{'type':'cylinder','radius':%.17g,'length':%.17g}]}]}",
        h, direction, z, tilt[i], -(w[2] * cx + w[0] * z), w[0], w[2], r, l);
}

/* With the contact of the start E + (h/2) m g . v, which the scheme keeps where nothing slides, does not
 * rise, whatever the size: E itself goes up and down about it. */
TEST(coins_of_all_sizes_keep_what_the_scheme_keeps)
{
    for (int i = 0; i < 8; ++i) {
        const double h = 0.01;
        scene_sim s = on_a_floor(i, h, "start");
        REQUIRE(s.sim != NULL);
        double first = 0.0, kept = 0.0, most = 0.0, half = 0.0, whole = 0.0, start = 0.0;
        for (int k = 0; k <= 2000; ++k) {
            const perp_energy e = perp_sim_energy(s.sim);
            const double energy = e.kinetic + e.potential;
            const double now = energy - 0.5 * h * 9.81 * scene_sim_body(&s, "c").velocity[2];
            first = k == 0 ? now : first;
            start = k == 0 ? energy : start;
            kept = now - first <= kept ? kept : now - first;
            whole = energy - start <= whole ? whole : energy - start;
            half = k == 1000 ? whole : half;
            most = e.kinetic > most ? e.kinetic : most;
            if (k < 2000) {
                REQUIRE_OK(perp_sim_step(s.sim));
            }
        }
        printf("  coin %d: kept energy %.4f %%, growth %.3f %% in 10 s, %.3f %% in 20 s\n", i,
               100 * kept / most, 100 * half / most, 100 * whole / most);
        CHECK_AT_MOST(kept, 0.0005 * most);
        CHECK_AT_MOST(whole, 0.02 * most);
        CHECK_AT_MOST(whole, half + 0.0002 * most);
        scene_sim_close(&s);
    }
}

TEST(eulers_disk_spins_down)
{
    const double steps[] = {0.0005, 0.005};
    for (int i = 0; i < 2; ++i) {
        scene_sim s = scene_sim_open(
            "{'gravity':[0,0,-9.81],'step':%g,'duration':10,'friction':{'default':0.3},'bodies':"
            "[" FLOOR ",{'name':'disk','density':8000,'position':[0,0,0.02421596004384196],"
            "'axis_angle':[0,1,0,0.5235987755982988],"
            "'angular_velocity':[19.809088823063014,0,-11.436782764396636],"
            "'shapes':[{'type':'cylinder','radius':0.0375,'length':0.0126}]}]}",
            steps[i]);
        const growth g = watch(&s, 10.0);
        printf("  h = %g: energy %.3f %%, height %+.2e m at the end\n", steps[i], 100 * g.end,
               g.height);
        CHECK(!g.failed);
        CHECK(g.end < 0.0);
        CHECK_AT_MOST(g.whole, 0.0);
        scene_sim_close(&s);
    }
}

/* ---- singular configurations -------------------------------------------------------------------------*/

/* Links in a line between two walls, with or without a blow on the middle one. */
static scene_sim taut_chain(const char* stepper, int links, int dimension, bool corrected,
                            double blow, double h)
{
    char text[8192], joints[4096];
    size_t used = 0, tied = 0;
    for (int i = 0; i < links; ++i) {
        const double x = 0.2 * (i + 0.5), v = i == links / 2 ? blow : 0.0;
        used += dimension == 2
                    ? (size_t)snprintf(text + used, sizeof text - used,
                                       "%s{'name':'b%d','mass':1,'inertia':0.0033,"
                                       "'position':[%.17g,0],'velocity':[0,%g]}",
                                       i > 0 ? "," : "", i, x, v)
                    : (size_t)snprintf(text + used, sizeof text - used,
                                       "%s{'name':'b%d','density':600,'position':[%.17g,0,0],"
                                       "'velocity':[0,0,%g],"
                                       "'shapes':[{'type':'box','size':[0.16,0.05,0.05]}]}",
                                       i > 0 ? "," : "", i, x, v);
    }
    for (int i = 0; i <= links; ++i) {
        char a[16] = "world", b[16] = "world";
        if (i > 0) {
            (void)snprintf(a, sizeof a, "b%d", i - 1);
        }
        if (i < links) {
            (void)snprintf(b, sizeof b, "b%d", i);
        }
        tied += (size_t)snprintf(joints + tied, sizeof joints - tied,
                                 "%s{'name':'j%d','type':'%s','a':'%s','b':'%s','at':[%.17g,0%s]}",
                                 i > 0 ? "," : "", i, dimension == 2 ? "revolute" : "spherical", a,
                                 b, 0.2 * i, dimension == 2 ? "" : ",0");
    }
    return scene_sim_open("{'stepper':'%s','dimension':%d,'gravity':%s,'step':%g,'duration':20,"
                          "'joint_correction':%s,'bodies':[%s],'joints':[%s]}",
                          stepper, dimension, dimension == 2 ? "[0,-9.81]" : "[0,0,-9.81]", h,
                          corrected ? "true" : "false", text, joints);
}

TEST(a_taut_chain_gains_no_energy)
{
    for (int i = 0; i < 12; ++i) {
        if (!perp_test_full() && i % 4 != 1 && i % 4 != 2) {
            continue;
        }
        const int links = 2 + 2 * (i % 3), dimension = i % 2 == 0 ? 2 : 3;
        const bool corrected = i / 6 == 1;
        const double blow = i % 4 == 1 ? 1.0 : 0.0;
        scene_sim s = taut_chain("stewart-trinkle", links, dimension, corrected, blow, 0.01);
        const growth g = watch(&s, 10.0);
        printf("  %d links, %d-D, %s, blow %g: growth %.2f %%, end %.2f %%\n", links, dimension,
               corrected ? "corrected" : "plain", blow, 100 * g.whole, 100 * g.end);
        CHECK(!g.failed);
        CHECK_AT_MOST(g.whole, 0.02);
        scene_sim_close(&s);
    }
}

/* These take no spin at the middle of the step, and oscillate more. */
TEST(a_taut_chain_gains_no_energy_with_other_steppers_of_the_start)
{
    for (int i = 0; i < 12; ++i) {
        const char* stepper = i < 6 ? "compliant" : "anitescu-potra";
        const int links = 2 + 2 * (i % 3), dimension = i % 2 == 0 ? 2 : 3;
        scene_sim s = taut_chain(stepper, links, dimension, false, i % 4 == 1 ? 1.0 : 0.0, 0.01);
        const growth g = watch(&s, 5.0);
        TEST_PRINT("%s, %d links, %d-D: growth %.2f %%, end %.2f %%", stepper, links, dimension,
                   100 * g.whole, 100 * g.end);
        CHECK(!g.failed);
        CHECK_AT_MOST(g.whole, 0.02);
        scene_sim_close(&s);
    }
}

/* Crank, coupler and rocker in one line, turning: the linkage may fold either way. */
TEST(a_linkage_at_its_dead_point_gains_no_energy)
{
    for (int i = 0; i < 6; ++i) {
        const double a = 0.5, b = 1.0, c = i % 2 == 0 ? 0.8 : 0.5, w = i < 2 ? 0.0 : 2.0 + 2.0 * i;
        scene_sim s = scene_sim_open(
            "{'dimension':2,'gravity':[0,-9.81],'step':0.01,'duration':20,'joint_correction':%s,"
            "'bodies':[{'name':'a','mass':1,'inertia':0.02,'position':[%g,0],"
            "'velocity':[0,%g],'angular_velocity':%g},"
            "{'name':'b','mass':1,'inertia':0.08,'position':[%g,0]},"
            "{'name':'c','mass':1,'inertia':0.05,'position':[%g,0]}],"
            "'joints':[{'name':'1','type':'revolute','a':'world','b':'a','at':[0,0]},"
            "{'name':'2','type':'revolute','a':'a','b':'b','at':[%g,0]},"
            "{'name':'3','type':'revolute','a':'b','b':'c','at':[%g,0]},"
            "{'name':'4','type':'revolute','a':'c','b':'world','at':[%g,0]}]}",
            i % 3 == 0 ? "true" : "false", a / 2, w * a / 2, w, a + b / 2, a + b - c / 2, a, a + b,
            a + b - c);
        const growth g = watch(&s, 10.0);
        printf("  linkage %d: growth %.3f %%, end %.2f %%\n", i, 100 * g.whole, 100 * g.end);
        CHECK(!g.failed);
        CHECK_AT_MOST(g.whole, 0.02);
        scene_sim_close(&s);
    }
}

/* Links of a centimetre that turn by radians in a step. Their energy is not right, but it has a limit: where errors of joints that
 * are closed at once, or slowly, give most of the energy of the motion they are kept. It grew to 4e6 J in the first 2.4 s. */
TEST(light_links_that_turn_by_radians_in_a_step_do_not_gain_speed_without_limit)
{
    scene_sim s = scene_sim_open(
        "{'gravity':[0,0,-9.81],'step':0.008,'duration':2.4,'contact':'standard',"
        "'friction':{'cone':'none'},'bodies':["
        "{'name':'b0','position':[-0.0021,-0.00487,0.0227],'mass':6.88e-07,"
        "'orientation':[0.409,0.751,-0.47,-0.219],"
        "'shapes':[{'type':'box','size':[0.0013,0.00146,0.00109]}]},"
        "{'name':'b1','position':[-0.0042,-0.00973,0.0284],'mass':2.92e-05,"
        "'inertia':[1.56e-11,1.08e-11,1.61e-11],'orientation':[0.681,0.603,0.413,0.0549],"
        "'shapes':[{'type':'superquadric','radii':[0.00105,0.00134,0.000907],"
        "'exponents':[6,2]}]},"
        "{'name':'b2','position':[-0.00629,-0.0146,0.0341],'mass':1.17e-06,"
        "'inertia':[1.08e-12,9.67e-13,1.23e-12],'orientation':[0.556,0.693,-0.426,0.169],"
        "'gravity':[3.52,0.217,3.1],'shapes':[{'type':'box','size':[0.00317,0.00309,0.0028]}]}],"
        "'joints':[{'name':'j0','type':'spherical','a':'world','b':'b0','at':[0,0,0.017]},"
        "{'name':'j1','type':'spherical','a':'b0','b':'b1','at':[-0.00315,-0.0073,0.0256]},"
        "{'name':'j2','type':'revolute','a':'b1','b':'b2','at':[-0.00524,-0.0122,0.0313],"
        "'axis':[0.207,-0.333,-0.92],'limits':[-0.486,0.913]}]}");
    double most = 0.0;
    int32_t kept = 0;
    while (!perp_sim_finished(s.sim)) {
        REQUIRE_OK(perp_sim_step(s.sim));
        most = fmax(most, perp_sim_energy(s.sim).kinetic);
        kept += perp_sim_step_info(s.sim).joints_kept;
    }
    TEST_PRINT("largest kinetic energy %.2g J, errors kept in %d steps", most, (int)kept);
    CHECK_AT_MOST(most, 0.05);
    CHECK(kept > 0);
    scene_sim_close(&s);
}

static double random_in(uint64_t* state, double lo, double hi) /* splitmix64 */
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return lo + (hi - lo) * ((double)((z ^ (z >> 31)) >> 11) * 0x1p-53);
}

/* A box that wobbles between two balls of some metres, without friction and at a step in which it turns by some tenths of a
 * radian. */
static scene_sim open_tower(uint64_t seed, const char* stepper, const char* contact, double e)
{
    const double a = random_in(&seed, 1.5, 4.0), c = random_in(&seed, 1.5, 4.0);
    const double x = random_in(&seed, 1.5, 3.0), y = random_in(&seed, 1.5, 3.0);
    const double z = random_in(&seed, 0.8, 1.2);
    double side[6];
    for (int k = 0; k < 6; ++k) {
        side[k] = random_in(&seed, -0.2, 0.2);
    }
    return scene_sim_open(
        "{'step':0.05,'duration':3,'gravity':[0,0,-9.81],'stepper':'%s','contact':'%s','friction':"
        "{'cone':'none'},'restitution':%.9g,'bodies':[{'name':'ground','type':'static','shapes':[{'"
        "type':'plane',"
        "'normal':[0,0,1],'offset':0}]},"
        "{'name':'a','position':[%.9g,%.9g,%.9g],'density':100,'shapes':[{'type':'sphere',"
        "'radius':%.9g}]},"
        "{'name':'b','position':[%.9g,%.9g,%.9g],'density':100,'shapes':[{'type':'box',"
        "'size':[%.9g,%.9g,%.9g]}]},"
        "{'name':'c','position':[%.9g,%.9g,%.9g],'density':100,'shapes':[{'type':'sphere',"
        "'radius':%.9g}]}]}",
        stepper, contact, e, side[0], side[1], a, a, side[2], side[3], 2 * a + z / 2, x, y, z,
        side[4], side[5], 2 * a + z + c, c);
}

/* The largest rise of the energy above what it was before, of the energy at the start. */
static double largest_rise(scene_sim* s)
{
    const perp_energy start = perp_sim_energy(s->sim);
    double least = start.kinetic + start.potential, rise = 0.0;
    while (!perp_sim_finished(s->sim)) {
        if (perp_sim_step(s->sim) != PERP_OK) {
            return INFINITY;
        }
        const perp_energy e = perp_sim_energy(s->sim);
        rise = fmax(rise, e.kinetic + e.potential - least);
        least = fmin(least, e.kinetic + e.potential);
    }
    return rise / (start.kinetic + start.potential);
}

/* Each turn of the box leaves overlap with the balls. Pushed out at once, it threw the upper ball: a third of such towers gained
 * more than 2 % of energy, some 60 %. */
TEST(towers_in_which_a_box_wobbles_between_balls_gain_no_energy)
{
    static const char* const steppers[] = {"implicit", "stewart-trinkle"};
    static const char* const models[] = {"standard", "peg", "lnc"};
    for (int k = 0; k < 6; ++k) {
        double most = 0.0;
        for (uint64_t seed = 1; seed <= 40; ++seed) {
            scene_sim s = open_tower(1000 * seed, steppers[k % 2], models[k / 2], 0.0);
            REQUIRE(s.sim != NULL);
            most = fmax(most, largest_rise(&s));
            scene_sim_close(&s);
        }
        TEST_PRINT("%s with %s: rise at most %.2f %%", steppers[k % 2], models[k / 2], 100 * most);
        CHECK_AT_MOST(most, 0.02);
    }
}

/* An impact goes on with the slow push of the step before. Where it pushed all overlap out at once, single towers gained
 * 8, 20 and 14 %. The rest is what fixed steps of impacts gain at h = 50 ms. */
TEST(towers_with_restitution_push_overlap_out_slowly)
{
    static const double coefficients[] = {0.2, 0.5, 0.8};
    for (int k = 0; k < 3; ++k) {
        double most = 0.0;
        for (uint64_t seed = 1; seed <= 40; ++seed) {
            scene_sim s = open_tower(1000 * seed, "stewart-trinkle", "standard", coefficients[k]);
            REQUIRE(s.sim != NULL);
            most = fmax(most, largest_rise(&s));
            scene_sim_close(&s);
        }
        TEST_PRINT("e = %g: rise at most %.2f %%", coefficients[k], 100 * most);
        CHECK_AT_MOST(most, 0.1);
    }
}
