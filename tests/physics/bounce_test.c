/* Bounces with fixed steps happen at their time within the step: closed forms at every frame. Bounces and
 * adaptive steps with groups of contacts. */
#include <math.h>
#include <string.h>

#include "perp_test.h"
#include "support/scene_sim.h"

static double draw(uint64_t* seed, double a, double b)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return a + (b - a) * (double)(*seed >> 11) / 9007199254740992.0;
}

/* Height of a ball at time t after it was dropped from `drop`, g = 9.81. */
static double closed_form(double drop, double e, double t)
{
    const double g = 9.81;
    double v = sqrt(2.0 * g * drop);
    if (t < v / g) {
        return drop - 0.5 * g * t * t;
    }
    t -= v / g;
    for (v *= e; v > 1e-9 && t > 2.0 * v / g; v *= e) {
        t -= 2.0 * v / g;
    }
    return v > 1e-9 ? v * t - 0.5 * g * t * t : 0.0;
}

typedef struct drop {
    int dimension;
    const char *stepper, *law, *contact, *shape; /* lower side 0.1 below its centre */
    double height, e, plate;                     /* speed of the floor, upwards */
} drop;

/* Largest error over all frames of three seconds, in the frame of the floor. */
static double drop_error(const drop* d, double h)
{
    const bool plane = d->dimension == 2;
    scene_sim s = scene_sim_open(
        "{'dimension':%d,'gravity':[0,%s-9.81],'step':%.17g,'duration':3,'stepper':'%s',"
        "'contact':'%s','restitution':{'law':'%s','e':%.17g},'bodies':["
        "{'name':'floor','type':'kinematic','position':[0,%s-0.5],'velocity':[0,%s%.17g],"
        "'shapes':[{'type':'box','size':[4,%s1]}]},"
        "{'name':'ball','mass':2,'position':[0,%s%.17g],'velocity':[0,%s%.17g],'shapes':[%s]}]}",
        d->dimension, plane ? "" : "0,", h, d->stepper, d->contact, d->law, d->e, plane ? "" : "0,",
        plane ? "" : "0,", d->plate, plane ? "" : "4,", plane ? "" : "0,", 0.1 + d->height,
        plane ? "" : "0,", d->plate, d->shape);
    if (s.sim == NULL) {
        TEST_PRINT("%s", s.error);
        return INFINITY;
    }
    double worst = 0.0;
    while (!perp_sim_finished(s.sim)) {
        if (perp_sim_step(s.sim) != PERP_OK) {
            TEST_PRINT("%s", perp_context_error(s.context));
            worst = INFINITY;
            break;
        }
        const double t = perp_sim_time(s.sim);
        const double z = scene_sim_body(&s, "ball").position[d->dimension - 1] - d->plate * t - 0.1;
        const double off = fabs(z - closed_form(d->height, d->e, t));
        worst = off <= worst ? worst : off;
    }
    scene_sim_close(&s);
    return worst;
}

/* The parabolas of the scheme lag behind by half a step: h/2 times the speed, and nothing is added by the
 * bounces. Without a place in time this is 0.20 m at h = 5 ms and e = 0.9. */
TEST(a_ball_is_half_a_step_from_the_closed_form_at_every_frame)
{
    static const double heights[] = {0.3, 1.0, 2.2}, es[] = {0.3, 0.9, 1.0};
    static const char* const ball[] = {"{'type':'circle','radius':0.1}",
                                       "{'type':'sphere','radius':0.1}"};
    double worst = 0.0, asked = 0.0, order = INFINITY;
    for (int i = 0; i < 36; ++i) {
        const drop d = {.dimension = 2 + i % 2,
                        .stepper = "stewart-trinkle",
                        .law = i / 2 % 2 == 0 ? "newton" : "poisson",
                        .contact = i % 5 == 4 ? "peg" : "standard",
                        .shape = ball[i % 2],
                        .height = heights[i / 4 % 3],
                        .e = es[i / 12],
                        .plate = i % 7 == 6 ? 0.5 : 0.0};
        const double V = sqrt(2.0 * 9.81 * d.height);
        const double coarse = drop_error(&d, 0.005), fine = drop_error(&d, 0.0025);
        worst = fmax(worst, coarse / (0.5 * 0.005 * V));
        order = fmin(order, log2(coarse / fine));
        asked = d.e == 0.9 && d.height == 1.0 ? fmax(asked, coarse) : asked;
    }
    TEST_PRINT(
        "h = 5 ms, e = 0.9, 1 m: off by %.4f m; of h/2 times the speed at most %.3f; order %.2f",
        asked, worst, order);
    CHECK_AT_MOST(asked, 0.012);
    CHECK_AT_MOST(worst, 1.05);
    CHECK_AT_LEAST(order, 0.9);
}

TEST(a_box_that_lands_flat_bounces_like_a_ball)
{
    static const char* const box[] = {"{'type':'box','size':[0.3,0.2]}",
                                      "{'type':'box','size':[0.3,0.4,0.2]}"};
    for (int i = 0; i < 8; ++i) {
        const drop d = {.dimension = 2 + i % 2,
                        .stepper = "stewart-trinkle",
                        .law = i / 2 % 2 == 0 ? "newton" : "poisson",
                        .contact = i / 4 == 0 ? "peg" : "standard",
                        .shape = box[i % 2],
                        .height = 0.8,
                        .e = 0.9};
        CHECK_AT_MOST(drop_error(&d, 0.005), 1.05 * 0.5 * 0.005 * sqrt(2.0 * 9.81 * 0.8));
    }
}

TEST(anitescu_potra_bounces_back_to_where_it_would_have)
{
    for (int i = 0; i < 2; ++i) {
        const drop d = {.dimension = 3,
                        .stepper = "anitescu-potra",
                        .law = i == 0 ? "newton" : "poisson",
                        .contact = "standard",
                        .shape = "{'type':'sphere','radius':0.1}",
                        .height = 1.0,
                        .e = 0.9};
        const double coarse = drop_error(&d, 0.005), fine = drop_error(&d, 0.00125);
        TEST_PRINT("%s: %.4f m at 5 ms, %.4f m at 1.25 ms (sinks in for a step)", d.law, coarse,
                   fine);
        CHECK_AT_MOST(coarse, 0.05);
        CHECK_AT_MOST(fine, 0.5 * coarse);
    }
}

/* Two balls on a line, no forces: straight lines on both sides of the meeting, at any step. */
TEST(two_balls_on_a_line_are_where_the_closed_form_says)
{
    uint64_t seed = 7;
    double worst = 0.0;
    for (int i = 0; i < 40; ++i) {
        const double m[2] = {draw(&seed, 0.1, 3.0), draw(&seed, 0.1, 3.0)};
        const double v[2] = {draw(&seed, 1.0, 9.0), draw(&seed, -5.0, 0.0)};
        const double e = draw(&seed, 0.1, 1.0), d = draw(&seed, 0.3, 0.9);
        scene_sim s = scene_sim_open(
            "{'dimension':2,'step':0.01,'duration':0.5,'restitution':{'law':'%s','e':%.17g},"
            "'bodies':[{'name':'a','mass':%.17g,'position':[0,0],'velocity':[%.17g,0],"
            "'shapes':[{'type':'circle','radius':0.05}]},{'name':'b','mass':%.17g,"
            "'position':[%.17g,0],'velocity':[%.17g,0],'shapes':[{'type':'circle','radius':0.05}]}]"
            "}",
            i % 2 == 0 ? "newton" : "poisson", e, m[0], v[0], m[1], 0.1 + d, v[1]);
        REQUIRE(s.sim != NULL);
        const double met = d / (v[0] - v[1]);
        const double p = (1.0 + e) * (v[0] - v[1]) / (1.0 / m[0] + 1.0 / m[1]);
        while (!perp_sim_finished(s.sim)) {
            REQUIRE_OK(perp_sim_step(s.sim));
            const double t = perp_sim_time(s.sim), after = t > met ? t - met : 0.0;
            const double x = v[0] * t - after * p / m[0], y = 0.1 + d + v[1] * t + after * p / m[1];
            worst = fmax(worst, fabs(scene_sim_body(&s, "a").position[0] - x));
            worst = fmax(worst, fabs(scene_sim_body(&s, "b").position[0] - y));
        }
        scene_sim_close(&s);
    }
    TEST_PRINT("off by at most %.1e m", worst);
    CHECK_AT_MOST(worst, 1e-12);
}

/* Bodies in a box, e = 1, no friction: energy at the frames of steps, of the parabolas. */
static double energy_growth(uint64_t i, double h)
{
    static const char* const shape[2][3] = {
        {"{'type':'circle','radius':0.1}", "{'type':'box','size':[0.25,0.15]}",
         "{'type':'polygon','vertices':[[0.15,0],[-0.1,0.12],[-0.1,-0.12]]}"},
        {"{'type':'sphere','radius':0.1}", "{'type':'box','size':[0.2,0.25,0.15]}",
         "{'type':'capsule','radius':0.06,'length':0.15}"}};
    const int space = (int)(i % 2);
    uint64_t seed = 1000 + i;
    char bodies[2048] = "";
    for (int k = 0; k < 3; ++k) {
        const size_t used = strlen(bodies);
        snprintf(
            bodies + used, sizeof bodies - used,
            ",{'name':'b%d','mass':%.17g,'position':[%.17g,%s%.17g],'velocity':[%.17g,%s%.17g],"
            "'shapes':[%s]}",
            k, draw(&seed, 0.5, 2.0), 0.5 * (k - 1), space == 1 ? "0.02," : "",
            draw(&seed, 0.4, 1.2), draw(&seed, -2.0, 2.0), space == 1 ? "0.3," : "",
            draw(&seed, -2.0, 2.0), shape[space][(i / 2 + (uint64_t)k) % 3]);
    }
    const char* plane = space == 1 ? "plane" : "halfplane";
    scene_sim s = scene_sim_open(
        "{'dimension':%d,'gravity':[0,%s-9.81],'step':%.17g,'duration':1.5,'contact':'%s',"
        "'restitution':{'law':'%s','e':1},'bodies':[{'name':'box','type':'static','shapes':["
        "{'type':'%s','normal':[0,%s1]},{'type':'%s','normal':[1,%s0],'offset':-1},"
        "{'type':'%s','normal':[-1,%s0],'offset':-1}]}%s]}",
        2 + space, space == 1 ? "0," : "", h, i % 3 == 0 ? "peg" : "standard",
        i / 3 % 2 == 0 ? "newton" : "poisson", plane, space == 1 ? "0," : "", plane,
        space == 1 ? "0," : "", plane, space == 1 ? "0," : "", bodies);
    if (s.sim == NULL) {
        TEST_PRINT("%s", s.error);
        return INFINITY;
    }
    double first = 0.0, most = 0.0;
    for (bool started = false; !perp_sim_finished(s.sim);) {
        if (perp_sim_step(s.sim) != PERP_OK) {
            TEST_PRINT("%s", perp_context_error(s.context));
            most = INFINITY;
            break;
        }
        double energy = perp_sim_energy(s.sim).total;
        for (int32_t k = 1; k <= 3; ++k) {
            energy -= 0.5 * h * 9.81 * perp_model_body_info(perp_sim_model(s.sim), k).mass *
                      perp_sim_body(s.sim, k).velocity[1 + space];
        }
        if (perp_sim_step_info(s.sim).kind == PERP_STEP_TIME) {
            first = started ? first : energy;
            started = true;
            most = fmax(most, energy - first);
        }
    }
    scene_sim_close(&s);
    return most / first;
}

TEST(bodies_in_a_box_gain_no_energy_that_does_not_go_with_the_step)
{
    double mean[3] = {0.0}, worst[3] = {0.0};
    for (uint64_t i = 0; i < 16; ++i) {
        for (int k = 0; k < 3; ++k) {
            const double growth = energy_growth(i, 0.008 / (double)(1 << k));
            mean[k] += growth / 16.0;
            worst[k] = fmax(worst[k], growth);
        }
    }
    TEST_PRINT("energy gained at 8, 4, 2 ms: mean %.4f %.4f %.4f, worst %.4f %.4f %.4f", mean[0],
               mean[1], mean[2], worst[0], worst[1], worst[2]);
    for (int k = 0; k < 3; ++k) {
        CHECK_AT_MOST(mean[k], 0.03 / (double)(1 << k));
        CHECK_AT_MOST(worst[k], 0.3 / (double)(1 << k));
    }
}

/* ---- groups ------------------------------------------------------------------------------------------*/

/* A body thrown at a large plate: only its face can act, so that peg is standard. */
TEST(where_one_member_can_act_peg_bounces_like_standard)
{
    double worst = 0.0;
    int impacts = 0;
    for (uint64_t i = 0; i < 12; ++i) {
        scene_sim s[2];
        const bool plane = i % 2 == 0;
        for (int k = 0; k < 2; ++k) {
            uint64_t seed = i;
            char turn[128];
            if (plane) {
                snprintf(turn, sizeof turn, "'angle':%.17g,'angular_velocity':%.17g",
                         draw(&seed, 0.1, 3.0), draw(&seed, -4, 4));
            } else {
                snprintf(turn, sizeof turn,
                         "'axis_angle':[1,%.17g,0.3,1],'angular_velocity':[%.17g,2,1]",
                         draw(&seed, -1, 1), draw(&seed, -4, 4));
            }
            s[k] = scene_sim_open(
                "{'dimension':%d,'gravity':[0,%s-9.81],'step':0.002,'duration':0.6,'contact':'%s',"
                "'restitution':{'law':'%s','e':%.17g},'friction':{'default':0.2},'bodies':["
                "{'name':'floor','type':'static','position':[0,%s-0.5],'shapes':[{'type':'box',"
                "'size':[20,%s1]}]},{'name':'a','mass':1,'position':[0,%s0.6],"
                "'velocity':[1,%s-1],%s,'shapes':[{'type':'box','size':[0.3,%s0.2]}]}]}",
                plane ? 2 : 3, plane ? "" : "0,", k == 0 ? "standard" : "peg",
                i / 2 % 2 == 0 ? "newton" : "poisson", i / 4 == 0 ? 0.5 : 1.0, plane ? "" : "0,",
                plane ? "" : "20,", plane ? "" : "0,", plane ? "" : "0.3,", turn,
                plane ? "" : "0.25,");
            REQUIRE(s[k].sim != NULL);
            while (!perp_sim_finished(s[k].sim) && perp_sim_impact_count(s[k].sim) < 4) {
                REQUIRE_OK(
                    perp_sim_step(s[k].sim)); /* later, faces meet: impulses are not unique */
            }
        }
        const perp_body_state a = scene_sim_body(&s[0], "a"), b = scene_sim_body(&s[1], "a");
        for (int k = 0; k < 3; ++k) {
            worst = fmax(worst, fabs(a.position[k] - b.position[k]));
        }
        CHECK(perp_sim_impact_count(s[0].sim) == perp_sim_impact_count(s[1].sim));
        impacts += (int)perp_sim_impact_count(s[1].sim);
        scene_sim_close(&s[0]);
        scene_sim_close(&s[1]);
    }
    TEST_PRINT("%d impacts, apart by at most %.1e m", impacts, worst);
    CHECK_AT_LEAST(impacts, 20);
    /* the spin of a body is taken at another part of the step where it has contacts, and standard has
     * some before peg has */
    CHECK_AT_MOST(worst, 1e-6);
}

/* Two squares meet corner on corner, no forces: energy and momentum of both laws, and they part. */
TEST(corners_that_meet_under_peg_keep_energy_and_momentum)
{
    double off = 0.0, spin = 0.0;
    for (int i = 0; i < 24; ++i) {
        uint64_t seed = (uint64_t)i;
        scene_sim s = scene_sim_open(
            "{'dimension':2,'step':0.005,'duration':0.5,'contact':'peg','restitution':{'law':'%s',"
            "'e':1},'bodies':[{'name':'a','mass':1,'position':[0,0],'angle':%.17g,'velocity':[2,0],"
            "'shapes':[{'type':'box','size':[0.3,0.3]}]},{'name':'b','mass':2,'position':[0.8,%."
            "17g],"
            "'angle':%.17g,'shapes':[{'type':'box','size':[0.3,0.3]}]}]}",
            i % 2 == 0 ? "newton" : "poisson", 0.7853981633974483 + draw(&seed, -0.2, 0.2),
            draw(&seed, -0.1, 0.1), 0.7853981633974483 + draw(&seed, -0.2, 0.2));
        REQUIRE(s.sim != NULL);
        double P[2][3], L[2][3];
        const double E = perp_sim_energy(s.sim).total;
        perp_sim_momentum(s.sim, P[0], L[0]);
        CHECK_AT_MOST(scene_sim_run(&s), 1e-9);
        perp_sim_momentum(s.sim, P[1], L[1]);
        CHECK(perp_sim_impact_count(s.sim) > 0);
        off = fmax(off, fabs(perp_sim_energy(s.sim).total - E) / E);
        spin = fmax(spin, fabs(L[1][2] - L[0][2]));
        scene_sim_close(&s);
    }
    TEST_PRINT("energy off by %.1e of itself, angular momentum by %.1e", off, spin);
    CHECK_AT_MOST(off, 1e-11);
    CHECK_AT_MOST(spin, 1e-13);
}

/* ---- adaptive steps with groups ----------------------------------------------------------------------*/

static scene_sim slide_over_seams(int dimension, const char* contact, const char* step, double mu,
                                  double height)
{
    char floor[2048] = "";
    const bool plane = dimension == 2;
    for (int i = 0; i < 6; ++i) {
        const size_t used = strlen(floor);
        snprintf(floor + used, sizeof floor - used,
                 "{'name':'f%d','type':'static','position':[%g,%s-0.5],'shapes':[{'type':'box',"
                 "'size':[0.5,%s1]}]},",
                 i, 0.5 * i, plane ? "" : "0,", plane ? "" : "2,");
    }
    return scene_sim_open(
        "{'dimension':%d,'gravity':[0,%s-9.81],'step':%s,'duration':1,'contact':'%s',"
        "'friction':{'default':%g},'bodies':[%s{'name':'box','mass':1,'position':[0,%s%.17g],"
        "'velocity':[2,%s0],'shapes':[{'type':'box','size':[0.3,%s0.2]}]}]}",
        dimension, plane ? "" : "0,", step, contact, mu, floor, plane ? "" : "0,", 0.1 + height,
        plane ? "" : "0,", plane ? "" : "0.3,");
}

TEST(a_box_slides_over_seams_in_adaptive_steps_with_groups)
{
    static const char* const model[] = {"peg", "lnc", "disjunctive"};
    for (int i = 0; i < 5; ++i) {
        const int dimension = i < 3 ? 2 : 3;
        for (int k = 0; k < 2; ++k) {
            scene_sim s = slide_over_seams(dimension, model[i % 3], "{'error':1e-5}", 0.1 * k, 0.0);
            REQUIRE(s.sim != NULL);
            CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
            const perp_body_state box = scene_sim_body(&s, "box");
            CHECK_NEAR(box.velocity[0], 2.0 - 0.981 * k, 1e-7);
            CHECK_NEAR(box.position[0], 2.0 - 0.4905 * k, 1e-6);
            CHECK_NEAR(box.position[dimension - 1], 0.1, 1e-6);
            CHECK(perp_sim_step_count(s.sim) < 1000);
            scene_sim_close(&s);
        }
    }
}

/* A fall of 0.2 m at 2 m/s forward ends on the floor at sqrt(0.4/g). */
TEST(adaptive_steps_with_groups_find_the_time_of_impact)
{
    for (int dimension = 2; dimension <= 3; ++dimension) {
        scene_sim s = slide_over_seams(dimension, "peg", "{'error':1e-5}", 0.0, 0.2);
        REQUIRE(s.sim != NULL);
        double met = 0.0;
        while (!perp_sim_finished(s.sim)) {
            REQUIRE_OK(perp_sim_step(s.sim));
            if (met == 0.0 && perp_sim_step_info(s.sim).kind != PERP_STEP_TIME) {
                met = perp_sim_time(s.sim);
            }
        }
        CHECK_NEAR(met, sqrt(0.4 / 9.81), 1e-9);
        CHECK_NEAR(scene_sim_body(&s, "box").velocity[0], 2.0, 1e-9);
        scene_sim_close(&s);
    }
}

/* Bodies thrown at a thin plate and a floor: against small fixed steps up to the first impact, and none
 * below the floor or through the plate. */
TEST(bodies_thrown_in_adaptive_steps_with_groups_stay_on_their_side)
{
    int steps = 0;
    double growth = 0.0;
    for (int i = 0; i < 16; ++i) {
        const bool plane = i % 2 == 0;
        uint64_t seed = (uint64_t)i;
        char bodies[1024] = "";
        for (int k = 0; k < 2; ++k) {
            const size_t used = strlen(bodies);
            const double a = draw(&seed, 0.0, 3.0), w = draw(&seed, -8, 8), v = draw(&seed, -6, -1);
            snprintf(
                bodies + used, sizeof bodies - used,
                ",{'name':'b%d','density':1000,'position':[%.17g,%s%.17g],'velocity':[0.2,%s%.17g],"
                "%s%.17g%s,'angular_velocity':%s%.17g%s,'shapes':[{'type':'box','size':[0.2,%s0.15]"
                "}"
                "]}",
                k, draw(&seed, -0.3, 0.3), plane ? "" : "0,", 0.5 + 0.5 * k, plane ? "" : "0,", v,
                plane ? "'angle':" : "'axis_angle':[1,0.5,0.2,", a, plane ? "" : "]",
                plane ? "" : "[0.5,", w, plane ? "" : ",1]", plane ? "" : "0.3,");
        }
        scene_sim s = scene_sim_open(
            "{'dimension':%d,'gravity':[0,%s-9.81],'step':{'error':1e-4},'duration':0.6,"
            "'contact':'peg','friction':{'default':%g},'restitution':%g,'bodies':[{'name':'plate',"
            "'type':'static','position':[0,%s-0.01],'shapes':[{'type':'box','size':[6,%s0.02]}]}%s]"
            "}",
            plane ? 2 : 3, plane ? "" : "0,", i / 2 % 2 == 0 ? 0.0 : 0.3, 0.5 * (i / 4 % 3),
            plane ? "" : "0,", plane ? "" : "6,", bodies);
        REQUIRE(s.sim != NULL);
        const double E = perp_sim_energy(s.sim).total;
        while (!perp_sim_finished(s.sim)) {
            REQUIRE_OK(perp_sim_step(s.sim));
            growth = fmax(growth, perp_sim_energy(s.sim).total / E - 1.0);
            REQUIRE(scene_sim_body(&s, "b0").position[plane ? 1 : 2] > 0.05);
            REQUIRE(scene_sim_body(&s, "b1").position[plane ? 1 : 2] > 0.05);
        }
        steps += (int)perp_sim_step_count(s.sim);
        scene_sim_close(&s);
    }
    TEST_PRINT("%d steps, energy gained at most %.1e", steps, growth);
    CHECK_AT_MOST(growth, 1e-4);
    CHECK_AT_MOST(steps, 40000);
}
