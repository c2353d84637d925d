/* The instantaneous problem against closed forms: who slides, who rolls, and where there is none. */
#include <math.h>

#include "perp_test.h"
#include "support/scene_sim.h"

#define CLOSE(f, s)                                                                                \
    do {                                                                                           \
        perp_forces_destroy(f);                                                                    \
        scene_sim_close(&(s));                                                                     \
    } while (0)

static const double g = 9.81;

/* A box on a slope of angle a, planar or not: block below and above the friction angle. */
TEST(a_block_on_a_slope_sticks_or_slides)
{
    for (int planar = 0; planar < 2; ++planar) {
        for (int i = 0; i < 2; ++i) {
            const double a = i == 0 ? 0.3 : 0.6, mu = 0.5, m = 2.0;
            scene_sim s =
                planar
                    ? scene_sim_open("{'dimension':2,'gravity':[%.17g,%.17g],'friction':{'default':"
                                     "%g},'bodies':[{'name':'floor','type':'static','shapes':[{"
                                     "'type':'halfplane','normal':[0,1]}]},{'name':'box',"
                                     "'mass':%g,'position':[0,0.1],'shapes':[{'type':'box',"
                                     "'size':[0.4,0.2]}]}]}",
                                     g * sin(a), -g * cos(a), mu, m)
                    : scene_sim_open("{'gravity':[%.17g,0,%.17g],'friction':{'default':%g},"
                                     "'bodies':[{'name':'floor','type':'static','shapes':[{"
                                     "'type':'plane','normal':[0,0,1]}]},{'name':'box',"
                                     "'mass':%g,'position':[0,0,0.1],'shapes':[{'type':'box',"
                                     "'size':[0.4,0.3,0.2]}]}]}",
                                     g * sin(a), -g * cos(a), mu, m);
            perp_forces* f = NULL;
            REQUIRE(s.sim != NULL);
            REQUIRE_OK(perp_forces_find(s.sim, &f));
            const double slide = i == 0 ? 0.0 : g * (sin(a) - mu * cos(a));
            double normal = 0.0;
            for (int32_t k = 0; k < f->contact_count; ++k) {
                const perp_contact_force* c = &f->contact[k];
                normal += c->force[0];
                CHECK(c->mode == (i == 0 ? PERP_MODE_ROLLING : PERP_MODE_SLIDING) ||
                      c->force[0] == 0.0);
                CHECK_AT_MOST(hypot(c->force[1], c->force[2]), mu * c->force[0] + 1e-9);
            }
            CHECK_EQ_INT(f->existence, planar ? PERP_EXISTENCE_ONE : PERP_EXISTENCE_FOUND);
            CHECK_NEAR(normal, m * g * cos(a), 1e-9);
            CHECK_NEAR(f->body[1].linear[0], slide, 1e-9);
            CHECK_NEAR(f->body[1].linear[planar ? 1 : 2], 0.0, 1e-9);
            CLOSE(f, s);
        }
    }
}

TEST(a_ladder_against_a_smooth_wall_needs_friction_below)
{
    /* length 2, foot at the origin, top at the wall: N_wall = m g / (2 tan a), on a floor with mu above
     * that it stands, below it slides */
    for (int i = 0; i < 2; ++i) {
        const double a = 1.0, m = 3.0, mu = i == 0 ? 0.5 : 0.2;
        scene_sim s = scene_sim_open(
            "{'dimension':2,'gravity':[0,-9.81],'friction':{'pairs':[{'a':'floor',"
            "'b':"
            "'ladder','mu':%g}]},'bodies':["
            "{'name':'floor','type':'static','shapes':[{'type':'halfplane',"
            "'normal':"
            "[0,1]}]},"
            "{'name':'wall','type':'static','shapes':[{'type':'halfplane','normal':"
            "[-1,0],'offset':%.17g}]},"
            "{'name':'ladder','mass':%g,'inertia':1,'position':[0,%.17g],'shapes':["
            "{'type':'circle','radius':0.001,'position':[%.17g,%.17g]},"
            "{'type':'circle','radius':0.001,'position':[%.17g,%.17g]}]}]}",
            mu, -(cos(a) + 0.001), m, sin(a) + 0.001, -cos(a), -sin(a), cos(a), sin(a));
        perp_forces* f = NULL;
        REQUIRE(s.sim != NULL);
        REQUIRE_OK(perp_forces_find(s.sim, &f));
        CHECK_EQ_INT(f->existence, PERP_EXISTENCE_ONE);
        REQUIRE_EQ_INT(f->contact_count, 2);
        if (i == 0) {
            const perp_contact_force* floor = &f->contact[0];
            const perp_contact_force* wall = &f->contact[1];
            /* moments about the foot's contact: arms 2 sin a (+ radius), cos a */
            const double N = m * g * cos(a) / (2.0 * sin(a) + 0.001);
            CHECK_NEAR(floor->force[0], m * g, 1e-9);
            CHECK_NEAR(wall->force[0], N, 1e-9);
            CHECK_NEAR(fabs(floor->force[1]), N, 1e-9);
            CHECK_EQ_INT(floor->mode, PERP_MODE_ROLLING);
            CHECK_NEAR(f->body[2].angular[2], 0.0, 1e-9);
        } else {
            CHECK_EQ_INT(f->contact[0].mode, PERP_MODE_SLIDING);
            CHECK_NEAR(fabs(f->contact[0].force[1]), mu * f->contact[0].force[0], 1e-9);
            CHECK(f->body[2].angular[2] < -0.01 || f->body[2].angular[2] > 0.01);
        }
        CLOSE(f, s);
    }
}

TEST(a_table_on_four_legs_stands_whatever_the_share_of_each)
{
    scene_sim s = scene_sim_open(
        "{'gravity':[0,0,-9.81],'bodies':[{'name':'floor','type':'static','shapes':[{"
        "'type':'plane','normal':[0,0,1]}]},{'name':'table','mass':10,'inertia':[1,1,"
        "1],'position':[0,0,0.8],'shapes':["
        "{'type':'sphere','radius':0.1,'position':[0.5,0.4,-0.7]},"
        "{'type':'sphere','radius':0.1,'position':[-0.5,0.4,-0.7]},"
        "{'type':'sphere','radius':0.1,'position':[0.5,-0.4,-0.7]},"
        "{'type':'sphere','radius':0.1,'position':[-0.5,-0.4,-0.7]}]}]}");
    perp_forces* f = NULL;
    REQUIRE(s.sim != NULL);
    REQUIRE_OK(perp_forces_find(s.sim, &f));
    CHECK_EQ_INT(f->existence, PERP_EXISTENCE_ONE); /* one motion, many forces */
    REQUIRE_EQ_INT(f->contact_count, 4);
    double sum = 0.0, mx = 0.0, my = 0.0;
    for (int i = 0; i < 4; ++i) {
        CHECK(f->contact[i].force[0] >= 0.0);
        sum += f->contact[i].force[0];
        mx += f->contact[i].force[0] * f->contact[i].point[0];
        my += f->contact[i].force[0] * f->contact[i].point[1];
    }
    CHECK_NEAR(sum, 98.1, 1e-9);
    CHECK_NEAR(mx, 0.0, 1e-9);
    CHECK_NEAR(my, 0.0, 1e-9);
    for (int i = 0; i < 3; ++i) {
        CHECK_NEAR(f->body[1].linear[i], 0.0, 1e-10);
        CHECK_NEAR(f->body[1].angular[i], 0.0, 1e-10);
    }
    CLOSE(f, s);
}

TEST(a_rolling_ball_accelerates_by_five_sevenths)
{
    /* rolling already: centripetal terms must not count, the surface is curved */
    const double a = 0.2;
    scene_sim s = scene_sim_open(
        "{'gravity':[%.17g,0,%.17g],'friction':{'default':0.5},'bodies':[{'name':"
        "'floor',"
        "'type':'static','shapes':[{'type':'plane','normal':[0,0,1]}]},{'name':"
        "'ball','mass':2,'position':[0,0,0.3],'velocity':[1.5,0,0],'angular_velocity':[0,"
        "5,"
        "0],'shapes':[{'type':'sphere','radius':0.3}]}]}",
        g * sin(a), -g * cos(a));
    perp_forces* f = NULL;
    REQUIRE(s.sim != NULL);
    REQUIRE_OK(perp_forces_find(s.sim, &f));
    REQUIRE_EQ_INT(f->contact_count, 1);
    CHECK_EQ_INT(f->contact[0].mode, PERP_MODE_ROLLING);
    CHECK_NEAR(f->body[1].linear[0], 5.0 / 7.0 * g * sin(a), 1e-9);
    CHECK_NEAR(f->body[1].linear[2], 0.0, 1e-9);
    CHECK_NEAR(f->body[1].angular[1], 5.0 / 7.0 * g * sin(a) / 0.3, 1e-8);
    CHECK_NEAR(f->contact[0].force[0], 2.0 * g * cos(a), 1e-9);
    CHECK_NEAR(f->contact[0].force[1], -2.0 / 7.0 * 2.0 * g * sin(a), 1e-9);
    CLOSE(f, s);
}

TEST(a_spinning_disc_is_driven_by_sliding_friction)
{
    const double mu = 0.3, m = 2.0, R = 0.5, I = 0.25;
    scene_sim s =
        scene_sim_open("{'dimension':2,'gravity':[0,-9.81],'friction':{'default':%g},'bodies':["
                       "{'name':'floor','type':'static','shapes':[{'type':'halfplane','normal':[0,"
                       "1]}]},{'name':'disc','mass':%g,'inertia':%g,'position':[0,%g],"
                       "'angular_velocity':-10,'shapes':[{'type':'circle','radius':%g}]}]}",
                       mu, m, I, R, R);
    perp_forces* f = NULL;
    REQUIRE(s.sim != NULL);
    REQUIRE_OK(perp_forces_find(s.sim, &f));
    CHECK_EQ_INT(f->existence, PERP_EXISTENCE_ONE);
    CHECK_EQ_INT(f->contact[0].mode, PERP_MODE_SLIDING);
    CHECK_NEAR(f->body[1].linear[0], mu * g, 1e-9);
    CHECK_NEAR(f->body[1].angular[2], mu * m * g * R / I, 1e-9);
    CLOSE(f, s);
    /* and a free body turns by Euler's equations */
    s = scene_sim_open("{'bodies':[{'name':'top','mass':1,'inertia':[1,2,3],'angular_"
                       "velocity':[0.5,-1,2],'shapes':[{'type':'sphere','radius':0.1}]}]}");
    REQUIRE(s.sim != NULL);
    REQUIRE_OK(perp_forces_find(s.sim, &f));
    CHECK_NEAR(f->body[0].angular[0], (2.0 - 3.0) / 1.0 * -1.0 * 2.0, 1e-12);
    CHECK_NEAR(f->body[0].angular[1], (3.0 - 1.0) / 2.0 * 2.0 * 0.5, 1e-12);
    CHECK_NEAR(f->body[0].angular[2], (1.0 - 2.0) / 3.0 * 0.5 * -1.0, 1e-12);
    CLOSE(f, s);
}

/* Painleve's rod: half length 1/2, mass 1, inertia 1/12, a tip of radius 0.001 that slides along +x,
 * with a spin. The tip's centre is at (ox, oy) from the centre of mass. */
static scene_sim painleve(double angle, double mu, double spin)
{
    const double ox = 0.5 * cos(angle), oy = -0.5 * sin(angle), r = 0.001;
    /* the tip slides at 3 m/s, without leaving: v = (3, 0) - spin x (ox, oy - r) */
    return scene_sim_open(
        "{'dimension':2,'gravity':[0,-9.81],'friction':{'default':%g},'bodies':["
        "{'name':'floor','type':'static','shapes':[{'type':'halfplane','normal':[0,"
        "1]}]},{'name':'rod','mass':1,'inertia':%.17g,'position':[0,%.17g],'velocity':["
        "%.17g,%.17g],'angular_velocity':%.17g,'shapes':[{'type':'circle','radius':%g,"
        "'position':[%.17g,%.17g]}]}]}",
        mu, 1.0 / 12.0, -oy + r, 3.0 + spin * (oy - r), -spin * ox, spin, r, ox, oy);
}

TEST(painleves_rod_has_one_solution_or_none_or_two_as_the_closed_form_says)
{
    int seen[3] = {0};
    for (int i = 0; i < 60; ++i) {
        const double angle = 0.2 + 0.12 * (i % 10), mu = i / 10 % 3 == 0 ? 0.4 : i / 10 % 3 + 0.7;
        const double spin = i < 30 ? 0.0 : 9.0;
        const double x = 0.5 * cos(angle), oy = -0.5 * sin(angle), y = oy - 0.001;
        /* a_n = A N + q: arm (x, y), force N (-mu, 1) */
        const double A = 1.0 + 12.0 * x * (x + mu * y), q = -g - spin * spin * oy;
        const perp_existence expected = A > 0.0   ? PERP_EXISTENCE_ONE
                                        : q > 0.0 ? PERP_EXISTENCE_SEVERAL
                                                  : PERP_EXISTENCE_NONE;
        scene_sim s = painleve(angle, mu, spin);
        perp_forces* f = NULL;
        REQUIRE(s.sim != NULL);
        REQUIRE_OK(perp_forces_find(s.sim, &f));
        CHECK_EQ_INT(f->existence, expected);
        seen[expected] += 1;
        if (expected == PERP_EXISTENCE_ONE) {
            const double N = q < 0.0 ? -q / A : 0.0;
            CHECK_NEAR(f->contact[0].force[0], N, 1e-7 * (1.0 + N));
            CHECK_NEAR(f->body[1].linear[0], -mu * N, 1e-7 * (1.0 + N));
            CHECK_EQ_INT(f->contact[0].mode, N > 0.0 ? PERP_MODE_SLIDING : PERP_MODE_SEPARATING);
        }
        if (expected == PERP_EXISTENCE_SEVERAL) {
            CHECK_EQ_INT(f->solutions, 2);
        }
        CLOSE(f, s);
    }
    TEST_PRINT("one solution %d times, several %d, none %d", seen[PERP_EXISTENCE_ONE],
               seen[PERP_EXISTENCE_SEVERAL], seen[PERP_EXISTENCE_NONE]);
    CHECK(seen[0] > 5 && seen[1] > 2 && seen[2] > 5);
}

TEST(bodies_that_meet_are_said_to_meet)
{
    scene_sim s = scene_sim_open(
        "{'gravity':[0,0,-9.81],'bodies':[{'name':'floor','type':'static','shapes':[{"
        "'type':'plane','normal':[0,0,1]}]},{'name':'ball','mass':1,'position':[0,0,"
        "1],"
        "'velocity':[0,0,-1],'shapes':[{'type':'sphere','radius':1}]}]}");
    perp_forces* f = NULL;
    REQUIRE(s.sim != NULL);
    REQUIRE_OK(perp_forces_find(s.sim, &f));
    CHECK_EQ_INT(f->existence, PERP_EXISTENCE_IMPACT);
    CHECK_CONTAINS(f->message, "come nearer at 1");
    CLOSE(f, s);
}

TEST(a_pendulum_carries_its_weight_and_its_swing)
{
    /* a point at the end of a massless arm of length 2, at the bottom, at 3 m/s: tension m g + m v^2/r */
    scene_sim s =
        scene_sim_open("{'dimension':2,'gravity':[0,-9.81],'bodies':[{'name':'bob','mass':2,"
                       "'inertia':"
                       "0.5,'position':[0,-2],'velocity':[3,0],'angular_velocity':1.5}],'joints':[{"
                       "'name':"
                       "'pin','type':'revolute','a':'world','b':'bob','at':[0,0]}]}");
    perp_forces* f = NULL;
    REQUIRE(s.sim != NULL);
    REQUIRE_OK(perp_forces_find(s.sim, &f));
    CHECK_NEAR(f->joint[0][1], 2.0 * g + 2.0 * 9.0 / 2.0, 1e-8);
    CHECK_NEAR(f->joint[0][0], 0.0, 1e-8);
    CHECK_NEAR(f->body[0].linear[1], 4.5, 1e-9);
    CLOSE(f, s);
}
