/* Middle steps of smooth bodies that roll, spin or slide on one contact (src/step/roll.c). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "perp_test.h"
#include "support/scene_sim.h"

enum { ROLLING = -4, PARTS = -5 }; /* perp_step_info.corrections */

#define FLOOR "{'name':'floor','type':'static','shapes':[{'type':'plane','normal':[0,0,1]}]}"
#define HEAD "'gravity':[0,0,-9.81],'step':%.17g,'duration':20,'friction':{'default':%g}"

/* A coin on its rim: it rolls about its axis, or spins about the line from its centre to the contact. */
static scene_sim coin(double r, double tilt, bool rolls, double mu, double h, const char* more)
{
    const double l = 0.1 * r, rate = 7.0 / sqrt(5.0 * r);
    const double z = r * sin(tilt) + 0.5 * l * cos(tilt);
    const double cx = r * cos(tilt) - 0.5 * l * sin(tilt), n = hypot(cx, z);
    const double w[3] = {rolls ? rate * sin(tilt) : rate * cx / n, 0,
                         rolls ? rate * cos(tilt) + 0.5 : -rate * z / n};
    return scene_sim_open("{" HEAD "%s,'bodies':[" FLOOR ",{'name':'b','mass':1,"
                          "'position':[0,0,%.17g],'axis_angle':[0,1,0,%.17g],"
                          "'velocity':[0,%.17g,0],'angular_velocity':[%.17g,0,%.17g],"
                          "'shapes':[{'type':'cylinder','radius':%.17g,'length':%.17g}]}]}",
                          h, mu, more, z, tilt, -(w[2] * cx + w[0] * z), w[0], w[2], r, l);
}

/* An egg that rolls without slipping, at an inclination at which its contact is not below its centre. */
static scene_sim egg(double size, double mu, double h, const char* more)
{
    const double a = 0.8 * size, b = size, c = 1.2 * size, tilt = 0.3;
    const double z = sqrt(a * a * sin(tilt) * sin(tilt) + c * c * cos(tilt) * cos(tilt));
    const double x = (c * c - a * a) * sin(tilt) * cos(tilt) / z; /* contact: (-x, 0, -z) */
    const double scale = sqrt(0.15 / size), w[3] = {3 * scale, 6 * scale, scale};
    return scene_sim_open("{" HEAD "%s,'bodies':[" FLOOR ",{'name':'b','mass':1,"
                          "'position':[0,0,%.17g],'axis_angle':[0,1,0,%g],"
                          "'velocity':[%.17g,%.17g,%.17g],'angular_velocity':[%.17g,%.17g,%.17g],"
                          "'shapes':[{'type':'ellipsoid','radii':[%.17g,%.17g,%.17g]}]}]}",
                          h, mu, more, z, tilt, w[1] * z, -w[0] * z + w[2] * x, -w[1] * x, w[0],
                          w[1], w[2], a, b, c);
}

/* One that slides and spins all the time. */
static scene_sim slider(double h, const char* more)
{
    return scene_sim_open("{" HEAD "%s,'bodies':[" FLOOR ",{'name':'b','mass':1,"
                          "'position':[0,0,0.1],'velocity':[2,0.5,0],'angular_velocity':[0,0.5,4],"
                          "'shapes':[{'type':'ellipsoid','radii':[0.2,0.15,0.1]}]}]}",
                          h, 0.1, more);
}

typedef struct account {
    double growth, half; /* of the energy over its start, in all of the time and half of it */
    double friction;     /* the largest work of friction in a step */
    double unexplained;
    int32_t steps, middle;
    bool failed;
} account;

static account watch(scene_sim* s, double duration)
{
    account a = {.growth = -INFINITY, .half = -INFINITY, .failed = s->sim == NULL};
    if (a.failed) {
        printf("  %s\n", s->error);
        return a;
    }
    const perp_energy start = perp_sim_energy(s->sim);
    double most = start.kinetic;
    while (!a.failed && perp_sim_time(s->sim) < duration - 1e-9) {
        a.failed = perp_sim_step(s->sim) != PERP_OK;
        const perp_step_info info = perp_sim_step_info(s->sim);
        const perp_energy e = perp_sim_energy(s->sim);
        const double gain = e.kinetic + e.potential - start.kinetic - start.potential;
        const perp_ledger* l = &info.ledger;
        most = e.kinetic > most ? e.kinetic : most;
        a.growth = gain <= a.growth ? a.growth : gain; /* keeps a NaN */
        a.half = perp_sim_time(s->sim) <= 0.5 * duration + 1e-9 ? a.growth : a.half;
        a.friction = l->friction > a.friction ? l->friction : a.friction;
        a.unexplained = fmax(a.unexplained, fabs(l->unexplained) / (l->magnitude + 1e-3 * most));
        a.steps += 1;
        a.middle += info.corrections == ROLLING;
    }
    if (a.failed) {
        printf("  %s\n", perp_context_error(s->context));
    }
    a.growth /= most;
    a.half /= most;
    a.friction /= most;
    return a;
}

/* At most 2 % at 10 ms, at most 1 / 1.7 of it at half the step, and no more in 20 s than in 10. With the
 * contacts of the start the growth of such bodies is 0.2 to 3 % at 10 ms, and of some of them larger at 5 ms. */
TEST(energy_grows_little_at_any_size_and_by_a_quarter_at_half_the_step)
{
#ifdef PERP_TEST_SANITIZED
    const double duration = 2.0;
#else
    const double duration = 20.0;
#endif
    static const double size[] = {0.03, 0.06, 0.2, 0.5};
    for (int i = 0; i < 12; ++i) {
        account a[2];
        if (!perp_test_full() && (i + i / 4) % 2 != 0) {
            continue; /* each size, each kind of body */
        }
        for (int j = 0; j < 2; ++j) {
            const double h = 0.01 / (1 << j), r = size[i % 4];
            scene_sim s =
                i < 4 ? egg(r, 0.8, h, "") : coin(r, i < 8 ? 1.3 : 0.7, i < 8, 0.8, h, "");
            a[j] = watch(&s, duration);
            scene_sim_close(&s);
            CHECK(!a[j].failed);
            CHECK_AT_MOST(a[j].unexplained, 1e-9);
        }
        printf("  %s of %g m: growth %.4f %% (half the time %.4f), %.4f %% at 5 ms; middle steps "
               "%d of "
               "%d, %d of %d\n",
               i < 4   ? "egg"
               : i < 8 ? "rolling coin"
                       : "spinning coin",
               size[i % 4], 100 * a[0].growth, 100 * a[0].half, 100 * a[1].growth, (int)a[0].middle,
               (int)a[0].steps, (int)a[1].middle, (int)a[1].steps);
        CHECK_AT_MOST(a[0].growth, 0.02);
        CHECK_AT_MOST(a[0].growth, fmax(a[0].half, 0.0) + 2e-4);
        CHECK_AT_MOST(a[1].growth, fmax(a[0].growth / 1.7, 1e-5));
        CHECK(a[0].middle > 0.9 * a[0].steps);
    }
}

static void position_of(scene_sim* s, double duration, double x[3])
{
    REQUIRE(s->sim != NULL);
    while (perp_sim_time(s->sim) < duration - 1e-9) {
        REQUIRE_OK(perp_sim_step(s->sim));
    }
    memcpy(x, scene_sim_body(s, "b").position, 3 * sizeof *x);
    scene_sim_close(s);
}

/* Distance of the positions with the steps 1/50, 1/100 and 1/200 of a second from each other. */
TEST(rolling_is_of_second_order)
{
    for (int i = 0; i < 6; ++i) {
        const char* direction = i < 3 ? ",'contact_direction':'start'" : "";
        double x[3][3], off[2] = {0, 0};
        for (int k = 0; k < 3; ++k) {
            const double h = 0.004 / (1 << k);
            scene_sim s = i % 3 == 0   ? egg(0.15, 0.8, h, direction)
                          : i % 3 == 1 ? coin(0.2, 1.1, true, 0.8, h, direction)
                                       : slider(h, direction);
            position_of(&s, 0.5, x[k]);
        }
        for (int k = 0; k < 2; ++k) {
            for (int c = 0; c < 3; ++c) {
                off[k] = hypot(off[k], x[k][c] - x[k + 1][c]);
            }
        }
        const double order = log2(off[0] / off[1]);
        printf("  %s, contacts of the %s: off by %.1e and %.1e, order %.2f\n",
               i % 3 == 0   ? "egg"
               : i % 3 == 1 ? "coin"
                            : "ellipsoid that slides",
               i < 3 ? "start" : "middle", off[0], off[1], order);
        CHECK(i < 3 ? order < 1.4 : order > 1.8 && order < 2.7);
    }
}

/* Friction takes energy, whether a body rolls or slides, with any cone. */
TEST(friction_never_adds_energy)
{
    static const char* const cone[] = {"'quadratic'", "'polygon'", "'none'",
                                       "'ellipsoid','e_t':1,'e_o':0.6,'e_r':0.002"};
    for (int i = 0; i < 8; ++i) {
        scene_sim s = scene_sim_open(
            "{'gravity':[0.5,0,-9.8],'step':0.008,'duration':3,'friction':{'default':%g,'cone':%s},"
            "'bodies':[" FLOOR ",{'name':'b','mass':1,'position':[0,0,0.2],'velocity':[1,0.5,0],"
            "'angular_velocity':[3,-6,5],"
            "'shapes':[{'type':'ellipsoid','radii':[0.12,0.15,0.18]}]}]}",
            i < 4 ? 0.08 : 0.7, cone[i % 4]);
        const account a = watch(&s, 3.0);
        scene_sim_close(&s);
        printf("  %s, %s: middle steps %d of %d, unexplained %.1e\n", cone[i % 4],
               i < 4 ? "slides" : "rolls", (int)a.middle, (int)a.steps, a.unexplained);
        CHECK(!a.failed);
        CHECK(a.middle > a.steps / 2);
        CHECK_AT_MOST(a.friction, 1e-12);
        CHECK_AT_MOST(a.unexplained, 1e-9);
    }
}

/* An impact has no middle: the step in which a body lands is one of the start, and takes the energy of the
 * impact. So is one with several contacts. */
TEST(impacts_and_faces_have_the_contacts_of_the_start)
{
    scene_sim s =
        scene_sim_open("{" HEAD ",'bodies':[" FLOOR ",{'name':'b','mass':1,'position':[0,0,1],"
                       "'shapes':[{'type':'ellipsoid','radii':[0.15,0.15,0.1]}]}]}",
                       0.01, 0.5);
    REQUIRE(s.sim != NULL);
    double fastest = 0.0, after = INFINITY;
    int32_t middle = 0;
    for (int k = 0; k < 150; ++k) {
        const double before = scene_sim_body(&s, "b").velocity[2];
        REQUIRE_OK(perp_sim_step(s.sim));
        const double now = scene_sim_body(&s, "b").velocity[2];
        fastest = now < fastest ? now : fastest;
        middle += perp_sim_step_info(s.sim).corrections == ROLLING;
        if (before < -1.0 && now > -0.5) { /* the impact */
            CHECK_EQ_INT(perp_sim_step_info(s.sim).corrections, 0);
            after = now;
        }
    }
    printf("  falls with %.2f m/s, leaves with %.4f m/s, then %d middle steps\n", fastest, after,
           (int)middle);
    CHECK(after < 0.05);
    CHECK(middle > 90);
    scene_sim_close(&s);
    s = scene_sim_open("{" HEAD ",'bodies':[" FLOOR ",{'name':'b','mass':1,'position':[0,0,0.05],"
                       "'velocity':[1,0,0],'angular_velocity':[0,0,3],"
                       "'shapes':[{'type':'cylinder','radius':0.2,'length':0.1}]}]}",
                       0.01, 0.3);
    const account a = watch(&s, 1.0);
    CHECK(!a.failed);
    CHECK_EQ_INT(a.middle, 0);
    scene_sim_close(&s);
}

/* Without a level floor: on a slope, on another smooth body, in the plane, with its centre of mass beside its
 * middle. */
TEST(other_bodies_and_grounds)
{
    static const char* const scene[] = {
        "'gravity':[2,0,-9.5],'bodies':[" FLOOR
        ",{'name':'b','mass':1,'position':[0,0,0.17],'velocity':[0.6,0,0],"
        "'angular_velocity':[0,4,0.3],'shapes':[{'type':'capsule','radius':0.1,'length':0.2,"
        "'axis_angle':[1,0,0,0.9]}]}]}",
        "'gravity':[0,0,-9.81],'bodies':[{'name':'hill','type':'static','shapes':[{'type':"
        "'ellipsoid','radii':[3,3,1]}]},{'name':'b','mass':1,'position':[0.2,0,1.11],"
        "'angular_velocity':[1,2,0],'shapes':[{'type':'superquadric','radii':[0.12,0.15,0.1],"
        "'exponents':[2.2,2.1]}]}]}",
        "'dimension':2,'gravity':[0,-9.81],'bodies':[{'name':'f','type':'static','shapes':[{'type':"
        "'halfplane','normal':[0,1]}]},{'name':'b','mass':1,'inertia':0.005,'position':[0,0.1],"
        "'velocity':[0.5,0],'angular_velocity':-5,"
        "'shapes':[{'type':'superellipse','radii':[0.12,0.1],'exponent':2}]}]}",
        "'gravity':[0,0,-9.81],'bodies':[" FLOOR ",{'name':'b','mass':1,"
        "'inertia':[0.003,0.004,0.005],'position':[0,0,0.1],'angular_velocity':[2,5,1],"
        "'shapes':[{'type':'sphere','radius':0.1,'position':[0,0,0.03]}]}]}"};
    for (int i = 0; i < 4; ++i) {
        scene_sim s = scene_sim_open(
            "{'step':0.01,'duration':5,'friction':{'default':0.9},'contact_direction':'middle',%s",
            scene[i]);
        const account a = watch(&s, 1.5);
        scene_sim_close(&s);
        printf("  scene %d: growth %.4f %%, middle steps %d of %d, unexplained %.1e\n", i,
               100 * a.growth, (int)a.middle, (int)a.steps, a.unexplained);
        CHECK(!a.failed);
        CHECK(a.middle > (i == 0 ? 20 : a.steps / 2)); /* the capsule lies down */
        CHECK_AT_MOST(a.growth, 0.005);
        CHECK_AT_MOST(a.unexplained, 1e-9);
    }
}

/* Flat sides over which the contact jumps in a step: contacts of the middle would gain energy. */
TEST(bodies_that_the_step_does_not_resolve_gain_no_energy)
{
    for (int i = 0; i < 3; ++i) {
        scene_sim s = scene_sim_open(
            "{" HEAD ",'bodies':[" FLOOR ",{'name':'b','mass':13,'position':[0,0,%g],"
            "'velocity':[0.3,0,0],'angular_velocity':[%g,6,2],'shapes':[{'type':'superquadric',"
            "'radii':[0.13,0.18,0.14],'exponents':[2.6,3]}]}]}",
            0.018, i == 1 ? 0.5 : 0.0, 0.2 + 0.05 * i, 3.0 + 2.0 * i);
        double low = INFINITY, rise = 0.0, kinetic = 0.0;
        REQUIRE(s.sim != NULL);
        for (int k = 0; k < 250; ++k) {
            REQUIRE_OK(perp_sim_step(s.sim));
            const perp_energy e = perp_sim_energy(s.sim);
            const double now = e.kinetic + e.potential;
            low = now < low ? now : low;
            kinetic = e.kinetic > kinetic ? e.kinetic : kinetic;
            rise = now - low > rise ? now - low : rise;
        }
        printf("  body %d: rises by at most %.2f %%\n", i, 100 * rise / kinetic);
        CHECK_AT_MOST(rise, 0.05 * kinetic);
        scene_sim_close(&s);
    }
}

/* The impulses of a frame are those of the whole step: they and the weight change the momentum. */
TEST(recorded_impulses_change_the_momentum)
{
    const double h = 0.01;
    scene_sim s = egg(0.15, 0.5, h, "");
    REQUIRE(s.sim != NULL);
    int32_t middle = 0;
    for (int k = 0; k < 100; ++k) {
        const perp_body_state before = scene_sim_body(&s, "b");
        REQUIRE_OK(perp_sim_step(s.sim));
        const perp_body_state after = scene_sim_body(&s, "b");
        double p[3] = {0, 0, -9.81 * h}, most = 9.81 * h;
        int32_t count = 0;
        const perp_contact* contact = perp_sim_contacts(s.sim, &count);
        for (int32_t i = 0; i < count; ++i) {
            const perp_contact* c = &contact[i];
            const double *n = c->normal, *t = c->tangent;
            const double o[3] = {n[1] * t[2] - n[2] * t[1], n[2] * t[0] - n[0] * t[2],
                                 n[0] * t[1] - n[1] * t[0]};
            for (int a = 0; a < 3; ++a) {
                p[a] += c->impulse[0] * n[a] + c->impulse[1] * t[a] + c->impulse[2] * o[a];
            }
            most += c->impulse[0];
        }
        for (int a = 0; a < 3; ++a) {
            CHECK_NEAR(after.velocity[a] - before.velocity[a], p[a], 1e-11 * most);
        }
        middle += perp_sim_step_info(s.sim).corrections == ROLLING;
    }
    CHECK_EQ_INT(middle, 100);
    scene_sim_close(&s);
}

/* ---- several bodies --------------------------------------------------------------------------------*/

/* The egg of egg(), at a place. */
static void write_egg(char* text, size_t size, const char* name, double x, double y)
{
    const double a = 0.8 * 0.15, b = 0.15, c = 1.2 * 0.15, tilt = 0.3;
    const double z = sqrt(a * a * sin(tilt) * sin(tilt) + c * c * cos(tilt) * cos(tilt));
    const double r = (c * c - a * a) * sin(tilt) * cos(tilt) / z;
    (void)snprintf(text, size,
                   ",{'name':'%s','mass':1,'position':[%.17g,%.17g,%.17g],'axis_angle':[0,1,0,%g],"
                   "'velocity':[%.17g,%.17g,%.17g],'angular_velocity':[3,6,1],"
                   "'shapes':[{'type':'ellipsoid','radii':[%.17g,%.17g,%.17g]}]}",
                   name, x, y, z, tilt, 6 * z, -3 * z + r, -6 * r, a, b, c);
}

/* What else is in the scene: bodies that roll, tumble, fall, lie and lean on each other, far away. */
static const char company[] =
    ",{'name':'falls','mass':2,'position':[30,0,3],'angular_velocity':[1,2,3],"
    "'shapes':[{'type':'cylinder','radius':0.3,'length':0.1}]},"
    "{'name':'lies','mass':2,'position':[33,0,0.05],"
    "'shapes':[{'type':'cylinder','radius':0.3,'length':0.1}]},"
    "{'name':'box','mass':1,'position':[36,0,0.6],'angular_velocity':[1,0,2],"
    "'shapes':[{'type':'box','size':[0.4,0.5,0.6]}]},"
    "{'name':'on it','mass':1,'position':[36.1,0,1.2],"
    "'shapes':[{'type':'capsule','radius':0.1,'length':0.4}]},"
    "{'name':'ball','mass':1,'position':[39,0,0.2],'velocity':[1,0,0],"
    "'shapes':[{'type':'sphere','radius':0.2}]}";

#define SEVERAL "{" HEAD ",'contact':'standard'%s,'bodies':[" FLOOR "%s%s%s]}"

static scene_sim several(double h, const char* more, const char* first, const char* second,
                         const char* rest)
{
    return scene_sim_open(SEVERAL, h, 0.5, more, first, second, rest);
}

/* A body that rolls moves as if it were alone, whatever others do that it does not meet. */
TEST(other_bodies_do_not_change_how_a_body_rolls)
{
    char here[512], there[512];
    write_egg(here, sizeof here, "b", 0, 0);
    write_egg(there, sizeof there, "other", 0, 50);
    for (int i = 0; i < 3; ++i) {
        scene_sim alone = several(0.01, "", here, "", "");
        scene_sim s = several(0.01, "", here, i == 1 ? "" : there, i == 0 ? "" : company);
        if (s.sim == NULL) {
            TEST_PRINT("%s", s.error);
        }
        REQUIRE(s.sim != NULL && alone.sim != NULL);
        int32_t parts = 0;
        double off = 0.0, unexplained = 0.0, certificate = 0.0;
        for (int k = 0; k < 300; ++k) {
            REQUIRE_OK(perp_sim_step(alone.sim));
            if (perp_sim_step(s.sim) != PERP_OK) {
                TEST_PRINT("%s", perp_context_error(s.context));
                REQUIRE(false);
            }
            const perp_step_info info = perp_sim_step_info(s.sim);
            const bool rolls = perp_sim_step_info(alone.sim).corrections == ROLLING;
            parts += info.corrections == PARTS;
            CHECK(!rolls || info.corrections == PARTS);
            const perp_body_state a = scene_sim_body(&alone, "b"), b = scene_sim_body(&s, "b");
            for (int n = 0; n < 3; ++n) {
                off = fmax(off, fabs(a.position[n] - b.position[n]));
            }
            unexplained =
                fmax(unexplained, fabs(info.ledger.unexplained) / (info.ledger.magnitude + 1e-3));
            certificate = fmax(certificate, info.certificate.worst);
        }
        TEST_PRINT("%d: off %.1e m, %d of 300 steps of parts, unexplained %.1e, certificate %.1e",
                   i, off, (int)parts, unexplained, certificate);
        CHECK(parts >= 290);
        CHECK_AT_MOST(off, 1e-9);
        CHECK_AT_MOST(unexplained, 1e-9);
        CHECK_AT_MOST(certificate, 1e-8);
        scene_sim_close(&s);
        scene_sim_close(&alone);
    }
}

TEST(steps_of_parts_are_verified_and_resumed_with_the_same_bits)
{
    char here[512], there[512];
    write_egg(here, sizeof here, "b", 0, 0);
    write_egg(there, sizeof there, "other", 0, 50);
    scene_sim s = several(0.01, "", here, there, company);
    REQUIRE(s.sim != NULL);
    perp_recorder* recorder = NULL;
    REQUIRE_OK(perp_recorder_create(s.context, "parts.h5", s.scene, s.sim, &recorder));
    for (int k = 0; k < 150; ++k) {
        REQUIRE_OK(perp_sim_step(s.sim));
        REQUIRE_OK(perp_recorder_step(recorder, s.sim, 0.0));
    }
    REQUIRE_OK(perp_recorder_finish(recorder, s.sim));
    perp_recorder_destroy(recorder);
    perp_verification verification;
    REQUIRE_OK(perp_recording_verify(s.context, "parts.h5", &verification));
    CHECK(verification.intact && verification.same_bits);
    CHECK_AT_MOST(verification.worst.worst, 1e-8);
    CHECK(verification.ledger_frame < 0);
    scene_sim again = several(0.01, "", here, there, company);
    perp_recording* recording = NULL;
    REQUIRE_OK(perp_recording_open(s.context, "parts.h5", &recording));
    REQUIRE_OK(perp_recording_restore(recording, 70, again.sim));
    perp_recording_close(recording);
    uint64_t before = 0;
    for (int k = 70; k < 150; ++k) {
        before = k == 130 ? perp_context_allocations(again.context) : before;
        REQUIRE_OK(perp_sim_step(again.sim));
    }
    CHECK_EQ_U64(perp_context_allocations(again.context), before);
    CHECK_EQ_INT(memcmp(perp_sim_q(s.sim), perp_sim_q(again.sim),
                        (size_t)perp_sim_q_size(s.sim) * sizeof(double)),
                 0);
    scene_sim_close(&again);
    scene_sim_close(&s);
    remove("parts.h5");
}

/* Two that meet have steps of the start while they touch each other. */
TEST(bodies_that_meet_have_steps_of_the_start)
{
    char here[512], there[512];
    write_egg(here, sizeof here, "b", 0, 0);
    write_egg(there, sizeof there, "other", 0.9, -0.2);
    char* minus = strstr(there, "'velocity':["); /* towards the first */
    REQUIRE(minus != NULL);
    minus[12] = minus[12] == '-' ? ' ' : minus[12];
    scene_sim s = several(0.01, "", here, there,
                          ",{'name':'c','mass':1,'position':[0.5,-0.35,0.3],'velocity':[-1,0,0],"
                          "'shapes':[{'type':'ellipsoid','radii':[0.2,0.25,0.3]}]}");
    REQUIRE(s.sim != NULL);
    int32_t kinds[2] = {0, 0}, met = 0;
    double most = 0.0;
    const perp_energy start = perp_sim_energy(s.sim);
    for (int k = 0; k < 400; ++k) {
        REQUIRE_OK(perp_sim_step(s.sim));
        const perp_step_info info = perp_sim_step_info(s.sim);
        const perp_energy e = perp_sim_energy(s.sim);
        most = fmax(most, (e.kinetic + e.potential - start.kinetic - start.potential));
        kinds[info.corrections == PARTS] += 1;
        int32_t count = 0;
        const perp_contact* c = perp_sim_contacts(s.sim, &count);
        for (int32_t i = 0; i < count; ++i) { /* the floor is body 0 */
            const bool both = c[i].body_a > 0 && c[i].body_b > 0;
            CHECK(!(both && c[i].middle != 0));
            met += both && c[i].impulse[0] > 0.0;
        }
        CHECK_AT_MOST(info.certificate.worst, 1e-8);
    }
    TEST_PRINT("%d steps of the start, %d of parts, %d contacts; growth %.1e of %.2f J",
               (int)kinds[0], (int)kinds[1], (int)met, most, start.kinetic);
    CHECK(kinds[1] > 0 && met > 0);
    CHECK_AT_MOST(most, 0.02 * start.kinetic);
    scene_sim_close(&s);
}

/* Derivatives are those of steps of the start where perp may choose, and refused where it may not. */
TEST(gradients_of_several_bodies_take_steps_of_the_start_or_are_refused)
{
    char here[512], there[512];
    write_egg(here, sizeof here, "b", 0, 0);
    write_egg(there, sizeof there, "other", 0, 50);
    for (int i = 0; i < 2; ++i) {
        perp_context* context = NULL;
        perp_scene* scene = NULL;
        perp_gradient* g = NULL;
        char text[4096];
        REQUIRE_OK(perp_context_create(NULL, &context));
        (void)snprintf(text, sizeof text,
                       "{'gravity':[0,0,-9.81],'step':0.01,'duration':0.1,'parameters':{'mu':0.5},"
                       "'contact_direction':'%s','friction':{'default':'mu'},"
                       "'measures':{'x':'b.position.x'},'bodies':[" FLOOR "%s%s]}",
                       i == 0 ? "auto" : "middle", here, there);
        REQUIRE_OK(scene_parse(context, text, "several", &scene));
        perp_gradient_def def = perp_gradient_def_default();
        static const char* const name[] = {"mu"};
        def.measure = "x";
        def.parameter = name;
        def.parameter_count = 1;
        const perp_status status = perp_gradient_create(context, scene, &def, &g);
        CHECK((status == PERP_OK) == (i == 0));
        CHECK(i == 0 || strstr(perp_context_error(context), "contact_direction") != NULL);
        perp_gradient_destroy(g);
        perp_scene_destroy(scene);
        perp_context_destroy(context);
    }
}

TEST(scenes_that_have_no_middle_are_refused_by_name)
{
    static const struct {
        const char *change, *reason;
    } is[] = {
        {"'stepper':'implicit',", "stewart-trinkle"},
        {"'restitution':0.5,", "restitution"},
        {"'rotation':'linear',", "rotation is linear"},
        {"'step':{'error':1e-4},", "adaptive"},
        {"'joints':[{'name':'j','type':'spherical','a':'world','b':'b','at':[0,0,1]}],", "joints"}};
    for (size_t i = 0; i < sizeof is / sizeof is[0]; ++i) {
        for (int k = 0; k < 2; ++k) {
            scene_sim s = scene_sim_open("{%s'contact_direction':'%s','bodies':[" FLOOR
                                         ",{'name':'b','mass':1,'position':[0,0,1],"
                                         "'shapes':[{'type':'ellipsoid','radii':[0.1,0.2,0.3]}]}]}",
                                         is[i].change, k == 0 ? "auto" : "middle");
            CHECK((s.sim != NULL) == (k == 0));
            CHECK(k == 0 || (strstr(s.error, "contact_direction") != NULL &&
                             strstr(s.error, is[i].reason) != NULL));
            scene_sim_close(&s);
        }
    }
}
