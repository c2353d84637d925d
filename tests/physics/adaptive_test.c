/* The adaptive step: exact on parabolas, error under control, impacts found in time. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perp_test.h"
#include "support/scene_sim.h"

#define FLOOR                                                                                      \
    "{'name':'floor','type':'static','shapes':[{'type':'plane','normal':[0,0,1]}]"                 \
    "}"

static scene_sim ball(double e, double error, double duration)
{
    return scene_sim_open(
        "{'gravity':[0,0,-10],'step':{'error':%g},'duration':%.17g,'restitution':%g,"
        "'bodies':[" FLOOR ",{'name':'ball','mass':2,'position':[0,0,1.1],"
        "'shapes':[{'type':'sphere','radius':0.1}]}]}",
        error, duration, e);
}

TEST(a_thrown_body_follows_its_parabola_to_rounding)
{
    scene_sim s =
        scene_sim_open("{'gravity':[0.5,0,-9.81],'step':{'error':1e-4},'duration':1.3,'bodies':["
                       "{'name':'b','mass':3,'position':[1,2,3],'velocity':[1,-2,5],"
                       "'shapes':[{'type':'sphere','radius':0.3}]}]}");
    REQUIRE(s.sim != NULL);
    double worst = 0.0;
    while (!perp_sim_finished(s.sim)) {
        REQUIRE_OK(perp_sim_step(s.sim));
        const double t = perp_sim_time(s.sim);
        const perp_body_state b = scene_sim_body(&s, "b");
        worst = fmax(worst, fabs(b.position[0] - (1.0 + t + 0.25 * t * t)));
        worst = fmax(worst, fabs(b.position[1] - (2.0 - 2.0 * t)));
        worst = fmax(worst, fabs(b.position[2] - (3.0 + 5.0 * t - 0.5 * 9.81 * t * t)));
        worst = fmax(worst, fabs(b.velocity[2] - (5.0 - 9.81 * t)));
    }
    TEST_PRINT("%d steps, off by at most %.1e", (int)perp_sim_step_count(s.sim), worst);
    CHECK_AT_MOST(worst, 2e-13);
    CHECK_EQ_INT(perp_sim_time(s.sim) == 1.3, 1);
    scene_sim_close(&s);
}

TEST(the_impact_of_a_dropped_ball_is_found_to_1e_10)
{
    scene_sim s = ball(0.5, 1e-3, 1.0);
    REQUIRE(s.sim != NULL);
    while (perp_sim_step_info(s.sim).kind == PERP_STEP_TIME) {
        REQUIRE_OK(perp_sim_step(s.sim));
    }
    const double exact = sqrt(0.2);
    TEST_PRINT("impact at %.15g, off by %.1e", perp_sim_time(s.sim), perp_sim_time(s.sim) - exact);
    CHECK_NEAR(perp_sim_time(s.sim), exact, 1e-12);
    CHECK_NEAR(scene_sim_body(&s, "ball").velocity[2], 0.5 * sqrt(20.0), 1e-11);
    scene_sim_close(&s);
}

TEST(an_elastic_ball_keeps_its_energy_over_a_hundred_bounces)
{
    const double fall = sqrt(0.2);
    scene_sim s = ball(1.0, 1e-3, 200.5 * fall);
    REQUIRE(s.sim != NULL);
    const double E = 2.0 * 10.0 * 1.0; /* above the floor */
    CHECK_AT_MOST(scene_sim_run(&s), 1e-10);
    const double now = perp_sim_energy(s.sim).total - 2.0 * 10.0 * 0.1;
    TEST_PRINT("%d bounces in %d steps: energy off by %.1e", (int)perp_sim_impact_count(s.sim),
               (int)perp_sim_step_count(s.sim), (now - E) / E);
    CHECK_EQ_INT(perp_sim_impact_count(s.sim), 100);
    CHECK_NEAR(now, E, 1e-9 * E); /* 1e-6 is promised */
    scene_sim_close(&s);
}

TEST(a_ball_with_e_of_one_half_has_the_impacts_of_the_closed_form)
{
    const double g = 10.0, V = sqrt(20.0), error = 1e-5;
    scene_sim s = ball(0.5, error, 2.0);
    REQUIRE(s.sim != NULL);
    double time = V / g, speed = 0.5 * V, worst = 0.0;
    while (!perp_sim_finished(s.sim)) {
        REQUIRE_OK(perp_sim_step(s.sim));
        if (perp_sim_step_info(s.sim).kind == PERP_STEP_TIME) {
            continue;
        }
        worst = fmax(worst, fabs(perp_sim_time(s.sim) - time));
        worst = fmax(worst, fabs(scene_sim_body(&s, "ball").velocity[2] - speed));
        time += 2.0 * speed / g;
        speed *= 0.5;
    }
    /* Zeno: it ends with the first bounce that would stay below the error (times the size, 0.1) */
    const double slow = sqrt(2.0 * g * error * 0.1);
    const int expected = 1 + (int)floor(log2(V / slow));
    TEST_PRINT("%d impacts, %d expected before the limit; off by at most %.1e",
               (int)perp_sim_impact_count(s.sim), expected, worst);
    CHECK_EQ_INT(perp_sim_impact_count(s.sim), expected);
    CHECK_AT_MOST(worst, 1e-10);
    CHECK_NEAR(scene_sim_body(&s, "ball").velocity[2], 0.0, 1e-12);
    CHECK_NEAR(scene_sim_body(&s, "ball").position[2], 0.1, error * 0.1);
    scene_sim_close(&s);
}

/* A rod of length 1 on a hinge, from horizontal. Its angle after 1 s for a given error; steps taken. */
static double pendulum(double error, int64_t* steps)
{
    scene_sim s =
        scene_sim_open("{'dimension':2,'gravity':[0,-9.81],'step':{'error':%g},'duration':1,"
                       "'bodies':[{'name':'rod','mass':1,'inertia':%.17g,'position':[0.5,0]}],"
                       "'joints':[{'name':'pin','type':'revolute','a':'world','b':'rod',"
                       "'at':[0,0]}]}",
                       error, 1.0 / 12.0);
    double angle = NAN;
    if (s.sim != NULL && scene_sim_run(&s) < 1e-8) {
        angle = scene_sim_body(&s, "rod").angle;
        *steps = perp_sim_step_count(s.sim);
    }
    scene_sim_close(&s);
    return angle;
}

/* theta'' = -(3/2) g cos(theta), by the classical Runge-Kutta method. */
static double pendulum_exact(void)
{
    double a = 0.0, w = 0.0;
    const int n = 20000;
    const double h = 1.0 / n, c = 1.5 * 9.81;
    for (int i = 0; i < n; ++i) {
        const double k1 = w, l1 = -c * cos(a), k2 = w + 0.5 * h * l1,
                     l2 = -c * cos(a + 0.5 * h * k1), k3 = w + 0.5 * h * l2,
                     l3 = -c * cos(a + 0.5 * h * k2), k4 = w + h * l3, l4 = -c * cos(a + h * k3);
        a += h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4);
        w += h / 6.0 * (l1 + 2.0 * l2 + 2.0 * l3 + l4);
    }
    return a;
}

TEST(the_error_of_a_pendulum_follows_the_tolerance)
{
    const double exact = pendulum_exact();
    double first = NAN, last = NAN;
    int64_t steps = 0, steps_first = 0;
    for (double tolerance = 1e-3; tolerance > 0.5e-6; tolerance *= 0.1) {
        last = fabs(pendulum(tolerance, &steps) - exact);
        TEST_PRINT("error %.0e: %4d steps, angle off by %.2e", tolerance, (int)steps, last);
        CHECK_AT_MOST(last, 100.0 * tolerance);
        first = isnan(first) ? last : first;
        steps_first = steps_first == 0 ? steps : steps_first;
    }
    /* the extrapolated value is of second order in the length of the steps; where errors of joints and of the
     * extrapolation cancel, it is better */
    const double order = log(first / last) / log((double)steps / (double)steps_first);
    TEST_PRINT("observed order in the number of steps: %.2f", order);
    CHECK(order > 1.7 && order < 3.5);
}

TEST(a_ball_that_slides_until_it_rolls_is_followed_within_the_tolerance)
{
    /* x'' = -mu g until t = 2 v / (7 mu g), then v = 5/7 v0 */
    const double mu = 0.2, g = 9.81, v0 = 2.0, t = 2.0 * v0 / (7.0 * mu * g);
    for (double tolerance = 1e-3; tolerance > 0.5e-6; tolerance *= 0.1) {
        scene_sim s =
            scene_sim_open("{'gravity':[0,0,-9.81],'step':{'error':%g},'duration':0.6,"
                           "'friction':{'default':0.2},'bodies':[" FLOOR
                           ",{'name':'ball','mass':1,'position':[0,0,1],'velocity':[2,0,0],"
                           "'shapes':[{'type':'sphere','radius':1}]}]}",
                           tolerance);
        REQUIRE(s.sim != NULL);
        CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
        const double x = v0 * t - 0.5 * mu * g * t * t + 5.0 / 7.0 * v0 * (0.6 - t);
        const perp_body_state b = scene_sim_body(&s, "ball");
        TEST_PRINT("error %.0e: %d steps, position off by %.1e, velocity by %.1e", tolerance,
                   (int)perp_sim_step_count(s.sim), fabs(b.position[0] - x),
                   fabs(b.velocity[0] - 5.0 / 7.0 * v0));
        CHECK_NEAR(b.position[0], x, 20.0 * tolerance);
        CHECK_NEAR(b.velocity[0], 5.0 / 7.0 * v0, 1e-10);
        scene_sim_close(&s);
    }
}

TEST(five_balls_that_hang_a_hair_apart_pass_the_blow_on)
{
    char bodies[2048] = "";
    for (int i = 0; i < 5; ++i) {
        (void)snprintf(bodies + strlen(bodies), sizeof bodies - strlen(bodies),
                       "%s{'name':'%d','mass':1,'position':[%.17g,0,0],'velocity':[%d,0,"
                       "0],'shapes':[{'type':'sphere','radius':0.1}]}",
                       i > 0 ? "," : "", i, i == 0 ? -0.5 : i * 0.20001, i == 0);
    }
    scene_sim s = scene_sim_open(
        "{'step':{'error':1e-4},'duration':1,'restitution':1,'bodies':[%s]}", bodies);
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-10);
    CHECK_EQ_INT(perp_sim_impact_count(s.sim), 4);
    for (int b = 0; b < 5; ++b) {
        const char name[2] = {(char)('0' + b), '\0'};
        CHECK_NEAR(scene_sim_body(&s, name).velocity[0], b == 4 ? 1.0 : 0.0, 1e-12);
    }
    scene_sim_close(&s);
}

TEST(a_box_that_tumbles_comes_to_rest_in_few_steps)
{
    /* corners strike, leave and strike again: none of that may hold the clock up */
    static const double e[] = {0.0, 0.5};
    for (int i = 0; i < 2; ++i) {
        scene_sim s = scene_sim_open(
            "{'gravity':[0,0,-9.81],'step':{'error':1e-4},'duration':3,'restitution':%g,"
            "'friction':{'default':0.4},'bodies':[" FLOOR
            ",{'name':'box','mass':1,'position':[0,0,0.8],'axis_angle':[1,2,0,0.7],"
            "'angular_velocity':[0,3,1],'shapes':[{'type':'box','size':[0.3,0.2,0.2]}]}"
            "]}",
            e[i]);
        REQUIRE(s.sim != NULL);
        double energy = perp_sim_energy(s.sim).total, gain = 0.0, depth = 0.0;
        while (!perp_sim_finished(s.sim) && perp_sim_step_count(s.sim) < 5000) {
            REQUIRE_OK(perp_sim_step(s.sim));
            const double now = perp_sim_energy(s.sim).total;
            gain = fmax(gain, now - energy);
            energy = fmin(energy, now);
            depth = fmax(depth, perp_sim_step_info(s.sim).penetration);
        }
        TEST_PRINT("e = %g: %d steps and %d impacts, energy gained at most %.1e, overlap %.1e",
                   e[i], (int)(perp_sim_step_count(s.sim) - perp_sim_impact_count(s.sim)),
                   (int)perp_sim_impact_count(s.sim), gain, depth);
        CHECK(perp_sim_finished(s.sim));
        CHECK_AT_MOST(gain, 1e-6);
        CHECK_AT_MOST(depth, 1e-4);
        CHECK_AT_MOST(perp_sim_energy(s.sim).kinetic, 1e-6);
        scene_sim_close(&s);
    }
}

/* Each is pulled shut by something else than its own force along the normal: friction under it, a spring,
 * a torque about a hinge, a motor, the points it lies on. Without knowing that, bouncing never ended. */
TEST(bouncing_ends_whatever_pulls_the_bodies_together)
{
#define WALL                                                                                       \
    "{'name':'wall','type':'static','shapes':[{'type':'plane','normal':[1,0,0]}]}"                 \
    ","
#define BALL                                                                                       \
    "{'name':'b','mass':1,'position':[0.3,0,0],'shapes':[{'type':'sphere',"                        \
    "'radius':0.1}]}]"
    static const struct {
        const char *name, *scene;
        double x, speed; /* of "b" at the end */
    } pulled[] = {
        {"friction",
         "'gravity':[0,0,-10],'friction':{'default':0.3},'bodies':[" FLOOR
         ",{'name':'pusher','type':'kinematic','velocity':[0.2,0,0],'position':[-0.3,0,"
         "0.1],"
         "'ignores':['floor'],'shapes':[{'type':'sphere','radius':0.1}]},{'name':"
         "'b',"
         "'mass':1,'position':[0,0,0.1],'shapes':[{'type':'box','size':[0.3,0.2,0.2]}]}"
         "]",
         0.55, 0.2},
        {"supports",
         "'dimension':2,'bodies':[{'name':'pusher','type':'kinematic','velocity':[0."
         "2,0],"
         "'position':[-0.3,0],'shapes':[{'type':'circle','radius':0.1}]},{'name':'b',"
         "'mass':1,'support':{'tripod':[[0.1,0],[-0.1,0.1],[-0.1,-0.1]],'mu':0.3},"
         "'shapes':[{"
         "'type':'box','size':[0.3,0.2]}]}]",
         0.55, 0.2},
        {"spring",
         "'bodies':[" WALL BALL ",'forces':[{'type':'spring','a':'world','b':'b',"
         "'at_a':[-1,0,0],'stiffness':20,'rest':0.5}]",
         0.1, 0.0},
        {"torque",
         "'bodies':[" WALL "{'name':'b','mass':1,'position':[0.7,0,0],'shapes':[{'type':"
         "'box','size':[0.6,0.1,1]}]}],'joints':[{'name':'j','type':'revolute','a':"
         "'world','b':'b','at':[0.4,0,0],'axis':[0,0,1]}],'forces':[{'type':"
         "'wrench',"
         "'body':'b','torque':[0,0,2]}]",
         NAN, 0.0},
        {"motor",
         "'bodies':[" WALL BALL ",'joints':[{'name':'j','type':'prismatic','a':'world',"
         "'b':'b','at':[0.3,0,0],'axis':[-1,0,0],'motor':{'type':'velocity',"
         "'target':1,"
         "'max_effort':5}}]",
         0.1, 0.0},
    };
    for (size_t i = 0; i < sizeof pulled / sizeof pulled[0]; ++i) {
        scene_sim s = scene_sim_open("{'step':{'error':1e-5},'duration':3,"
                                     "'restitution':0.6,%s}",
                                     pulled[i].scene);
        REQUIRE(s.sim != NULL);
        while (!perp_sim_finished(s.sim) && perp_sim_step_count(s.sim) < 4000) {
            REQUIRE_OK(perp_sim_step(s.sim));
        }
        const perp_body_state b = scene_sim_body(&s, "b");
        TEST_PRINT("%s: %d steps, %d impacts, t = %g, x = %.9g, speed %.3g", pulled[i].name,
                   (int)perp_sim_step_count(s.sim), (int)perp_sim_impact_count(s.sim),
                   perp_sim_time(s.sim), b.position[0], b.velocity[0]);
        CHECK(perp_sim_finished(s.sim));
        CHECK(perp_sim_impact_count(s.sim) >= 5);
        CHECK_AT_MOST((double)perp_sim_impact_count(s.sim), 20.0);
        CHECK_NEAR(b.velocity[0], pulled[i].speed, 1e-5);
        if (!isnan(pulled[i].x)) {
            CHECK_NEAR(b.position[0], pulled[i].x, 1e-5);
        }
        scene_sim_close(&s);
    }
#undef WALL
#undef BALL
}

TEST(a_snapshot_continues_with_the_same_bits)
{
    scene_sim a = ball(0.7, 1e-4, 1.5), b = ball(0.7, 1e-4, 1.5);
    REQUIRE(a.sim != NULL && b.sim != NULL);
    for (int i = 0; i < 137; ++i) {
        REQUIRE_OK(perp_sim_step(a.sim));
    }
    size_t size = 0;
    REQUIRE_OK(perp_sim_save(a.sim, NULL, &size));
    void* snapshot = malloc(size);
    REQUIRE(snapshot != NULL);
    REQUIRE_OK(perp_sim_save(a.sim, snapshot, &size));
    REQUIRE_OK(perp_sim_restore(b.sim, snapshot, size));
    free(snapshot);
    CHECK_AT_MOST(scene_sim_run(&a), 1e-8);
    CHECK_AT_MOST(scene_sim_run(&b), 1e-8);
    CHECK_EQ_INT(perp_sim_step_count(a.sim), perp_sim_step_count(b.sim));
    CHECK_EQ_INT(perp_sim_impact_count(a.sim), perp_sim_impact_count(b.sim));
    CHECK(memcmp(perp_sim_q(a.sim), perp_sim_q(b.sim),
                 (size_t)perp_sim_q_size(a.sim) * sizeof(double)) == 0);
    scene_sim_close(&a);
    scene_sim_close(&b);
}

TEST(what_an_adaptive_step_does_not_go_with_is_refused)
{
    static const char* const more[][2] = {
        {"'stepper':'anitescu-potra'", "step: an adaptive step goes with"},
        {"'joint_correction':true", "does not go with joint_correction yet"},
        {"'dimension':3", ""}};
    scene_sim absurd = scene_sim_open("{'step':{'error':1e-30},'bodies':[{'name':'b',"
                                      "'mass':1,'shapes':[{'type':'particle'}]}]}");
    CHECK(absurd.sim == NULL);
    CHECK_CONTAINS(absurd.error, "/step/error: must be at least 1e-13");
    scene_sim_close(&absurd);
    for (int i = 0; i < 3; ++i) {
        scene_sim s =
            scene_sim_open("{'step':{'error':1e-4},%s,'bodies':[{'name':'b','mass':1,'shapes':[{"
                           "'type':'sphere','radius':1}]}]}",
                           more[i][0]);
        CHECK_EQ_INT(s.sim == NULL, i < 2);
        if (i < 2) {
            CHECK_CONTAINS(s.error, more[i][1]);
        }
        scene_sim_close(&s);
    }
}

/* The first touch is that of ballistic flight: speed v down from height H above the touch under g, at
 * t = (sqrt(v^2 + 2 g H) - v) / g. Steps may be far longer than it takes to pass through the plate. */
TEST(nothing_thrown_at_a_thin_plate_passes_through_and_it_lands_in_time)
{
    uint64_t seed = 7;
    double worst = 0.0;
    for (int k = 0; k < 120; ++k) {
        double x[6];
        for (int i = 0; i < 6; ++i) { /* splitmix64 */
            uint64_t z = (seed += 0x9E3779B97F4A7C15ULL);
            z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
            z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
            x[i] = (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
        }
        const int kind =
            k % 5; /* circle, particle and box in the plane, sphere and particle in space */
        const bool plane = kind < 3;
        const double g = 9.81, v = pow(50.0, x[0]), r = 0.005 * pow(40.0, x[1]);
        const double t = 1e-3 * pow(200.0, x[2]), H = 0.05 + v * 0.2 * x[3];
        const double aside = 10.0 * (x[4] - 0.5), half = kind == 1 || kind == 4 ? 0.0 : r;
        const double lands = (sqrt(v * v + 2.0 * g * H) - v) / g;
        char shape[128];
        (void)snprintf(shape, sizeof shape,
                       kind == 0   ? "'circle','radius':%.17g"
                       : kind == 2 ? "'box','size':[%.17g,%.17g]"
                       : kind == 3 ? "'sphere','radius':%.17g"
                                   : "'particle'",
                       kind == 2 ? 2.0 * r : r, 2.0 * r);
        scene_sim s = scene_sim_open(
            "{%s'gravity':[0,%s-9.81],'step':{'error':%g,'max':%g},'duration':%.17g,"
            "'bodies':[{'name':'plate','type':'static','shapes':[{'type':'box',"
            "'size':[9,%s%.17g],'position':[0,%s%.17g]}]},"
            "{'name':'b','mass':1,'position':[0,%s%.17g],'velocity':[%.17g,%s%.17g],"
            "'shapes':[{'type':%s}]}]}",
            plane ? "'dimension':2," : "", plane ? "" : "0,", pow(10.0, -2.0 - 3.0 * x[5]),
            x[5] < 0.5 ? 1.0 : 0.05, lands + 0.1, plane ? "" : "9,", t, plane ? "" : "0,", -0.5 * t,
            plane ? "" : "0,", H + half, aside, plane ? "" : "0,", -v, shape);
        REQUIRE(s.sim != NULL);
        double first = INFINITY, lowest = INFINITY;
        while (!perp_sim_finished(s.sim)) {
            REQUIRE_OK(perp_sim_step(s.sim));
            if (perp_sim_step_info(s.sim).kind != PERP_STEP_TIME) {
                first = fmin(first, perp_sim_time(s.sim));
            }
            const perp_body_state b = scene_sim_body(&s, "b");
            lowest = fmin(lowest, fabs(b.position[0]) < 4.0 ? b.position[plane ? 1 : 2] : INFINITY);
        }
        const bool over = fabs(aside * (lands + 0.1)) < 4.0;
        if (over) {
            CHECK_AT_LEAST(lowest, half - 0.3 * t);
            if (isfinite(first)) { /* a touch within `error` is no impact */
                worst = fmax(worst, fabs(first - lands) / lands);
            }
        }
        scene_sim_close(&s);
    }
    TEST_PRINT("first touch off by at most %.1e of its time", worst);
    CHECK_AT_MOST(worst, 1e-9);
}

/* A spring presses bodies together without weight: nothing but the contact's own impulse says that
 * they close. A contact that is left out of the second half of each step lets them move into each
 * other, a little every step. */
TEST(bodies_that_a_spring_presses_together_do_not_move_into_each_other)
{
    scene_sim s = scene_sim_open(
        "{'dimension':2,'gravity':[0,0],'step':{'error':1.07191754298e-05,"
        "'initial':0.00141582927214,'max':0.0141582927214},'duration':0.0396,'friction':{'default':"
        "0},'bodies':["
        "{'name':'b2','position':[-0.0018497,0.242472],'mass':7.69602,"
        "'shapes':[{'type':'circle','radius':0.0877269}]},"
        "{'name':'b3','position':[0.00128188,0.392572],'mass':3.89049,'inertia':0.00823537,"
        "'shapes':[{'type':'circle','radius':0.0623738}]},"
        "{'name':'b4','position':[-0.00243214,0.500268],'mass':7.0794,"
        "'shapes':[{'type':'box','size':[0.121362,0.0906433]}]},"
        "{'name':'b5','position':[-0.000840551,0.592555],'mass':2.20574,"
        "'shapes':[{'type':'circle','radius':0.0469653}]}],"
        "'forces':[{'type':'spring','a':'b2','b':'b5','stiffness':19667,'rest':0.150099}]}");
    REQUIRE(s.sim != NULL);
    double deepest = 0.0;
    while (!perp_sim_finished(s.sim)) {
        REQUIRE_OK(perp_sim_step(s.sim));
        deepest = fmax(deepest, perp_sim_step_info(s.sim).penetration);
    }
    TEST_PRINT("%d steps, overlap at most %.1e m", (int)perp_sim_step_count(s.sim), deepest);
    CHECK_AT_MOST(deepest, 2e-6); /* error times the size of the scene: 7e-6; 1.2e-4 without */
    scene_sim_close(&s);
}

/* A stack of cylinders and boxes that a large force pushes over, without weight: at 0.1006 s
 * features that are found only at the end of a step cut each step to 5e-10 s, and no impact
 * follows. Time must advance. */
TEST(events_without_a_contact_do_not_stop_time)
{
    scene_sim s = scene_sim_open(
        "{'step':{'error':4.27659860529e-05,'initial':0.0233573227646,'max':0.233573227646},'"
        "duration':1.86858582116925,"
        "'gravity':[0,0,0],'contact':'peg','friction':{'cone':'ellipsoid','default':0.8,'e_r':3."
        "99196891564,"
        "'e_t':1.10861900851,'e_o':0.609519452562},'bodies':["
        "{'name':'ground','type':'static','shapes':[{'type':'box','size':[127.35548742,127."
        "35548742,0.279032161912]}],"
        "'position':[0,0,-0.139516080956]},"
        "{'name':'b0','position':[-0.574567008888,-0.538896742771,1.83404079093],'mass':280397."
        "578544,"
        "'shapes':[{'type':'cylinder','radius':2.57286120813,'length':3.66567969361}],'friction':0."
        "641945192684},"
        "{'name':'b1','position':[-0.334677774804,-0.0773022478084,5.87677310851],'mass':1331015."
        "77205,"
        "'shapes':[{'type':'box','size':[8.72470634181,7.74185369307,4.41738305332]}]},"
        "{'name':'b2','position':[0.032185606958,-0.281619723474,11.970452157],'mass':705480."
        "378592,"
        "'inertia':[3665525.18943,4005771.29381,3801879.38542],"
        "'shapes':[{'type':'box','size':[8.59872721225,7.97666160653,7.76757315538]}],'friction':0."
        "423222836683},"
        "{'name':'b3','position':[-0.403474592902,-0.523074226474,18.0369484874],'mass':655073."
        "50689,"
        "'shapes':[{'type':'box','size':[3.76370145088,6.5125727026,4.36301761726]}]},"
        "{'name':'b4','position':[0.443225702948,-0.376050714171,22.0656474057],'mass':584743."
        "638612,"
        "'shapes':[{'type':'cylinder','radius':3.05176443347,'length':3.69197833097}]}],"
        "'forces':[{'type':'wrench','body':'b3','force':['-1.14538e+06*sin(3.10023*t)','-6.51775e+"
        "06*sin(4.78679*t)',"
        "5259575.40745],'torque':['-6.93832e+06*sin(5.35152*t)','-2.35157e+07*sin(5.39291*t)',"
        "'2.48511e+07*sin(2.44693*t)'],'at':[2.20030535075,-1.32913070335,-2.52437496324]}]}");
    REQUIRE(s.sim != NULL);
    while (perp_sim_time(s.sim) < 0.102 && perp_sim_step_count(s.sim) < 100) {
        REQUIRE_OK(perp_sim_step(s.sim));
    }
    TEST_PRINT("%d steps to %.4f s", (int)perp_sim_step_count(s.sim), perp_sim_time(s.sim));
    CHECK(perp_sim_time(s.sim) >= 0.102);
    scene_sim_close(&s);
}

/* Links in a straight line between two walls, a singular configuration: all that closes errors of the joints drives the
 * motion. Closed within the length of the step, which fell because of it, they gave 1e9 times the energy. */
TEST(a_taut_chain_between_two_walls_gains_no_energy)
{
    static const double mass[] = {1, 0.2, 20, 3};
    for (int n = 5; n <= 6; ++n) {
        for (int pulled = 0; pulled < 2; ++pulled) {
            char bodies[2048] = "", joints[2048] = "";
            size_t at = 0, on = 0;
            for (int i = 0; i < n; ++i) {
                at += (size_t)snprintf(
                    bodies + at, sizeof bodies - at,
                    "%s{'name':'b%d','mass':%g,'position':[%g,%g],'velocity':[%g,"
                    "%g],'shapes':[{'type':'circle','radius':0.1}]}",
                    i > 0 ? "," : "", i, mass[i % 4], i + 0.5, -0.3 * (i + 0.5),
                    !pulled && i == n / 2 ? 0.3 : 0.0, !pulled && i == n / 2 ? 1.0 : 0.0);
                char before[16] = "world";
                if (i > 0) {
                    (void)snprintf(before, sizeof before, "b%d", i - 1);
                }
                on += (size_t)snprintf(
                    joints + on, sizeof joints - on,
                    "{'name':'j%d','type':'revolute','a':'%s','b':'b%d','at':[%d,%g]},", i, before,
                    i, i, -0.3 * i);
            }
            scene_sim s = scene_sim_open(
                "{'dimension':2,'gravity':[0,%g],'contact':'standard','duration':0.2,"
                "'step':{'error':1e-4,'initial':0.005,'max':0.05},'bodies':[%s],'joints':[%s"
                "{'name':'last','type':'revolute','a':'world','b':'b%d','at':[%d,%g]}]}",
                pulled ? -9.81 : 0.0, bodies, joints, n - 1, n, -0.3 * n);
            REQUIRE(s.sim != NULL);
            const perp_energy start = perp_sim_energy(s.sim);
            const double scale = pulled ? 1.0 : start.kinetic; /* J; a fall through 1 mm: 0.3 J */
            double gain = 0.0;
            while (!perp_sim_finished(s.sim) && perp_sim_step_count(s.sim) < 3000) {
                REQUIRE_OK(perp_sim_step(s.sim));
                gain = fmax(gain, perp_sim_energy(s.sim).total - start.total);
            }
            TEST_PRINT("%d links, %s: %d steps, gain %.1e of %.1f J", n,
                       pulled ? "pulled" : "thrown", (int)perp_sim_step_count(s.sim), gain, scale);
            CHECK(perp_sim_finished(s.sim));
            CHECK_AT_MOST(gain, 0.01 * scale);
            scene_sim_close(&s);
        }
    }
}
