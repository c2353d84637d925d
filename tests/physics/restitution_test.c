/* Bouncing: closed forms, conserved quantities, and energy that never grows. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "perp_test.h"
#include "support/scene_sim.h"

#define BALL(stepper, law, e, h, duration)                                                         \
    "{'gravity':[0,0,-10],'step':%.17g,'duration':%g,'stepper':'%s',"                              \
    "'restitution':{'law':'%s','e':%g},'bodies':["                                                 \
    "{'name':'floor','type':'static','shapes':[{'type':'plane','normal':[0,0,1]}]"                 \
    "},"                                                                                           \
    "{'name':'ball','mass':2,'position':[0,0,1.1],"                                                \
    "'shapes':[{'type':'sphere','radius':0.1}]}]}",                                                \
        (h), (double)(duration), (stepper), (law), (double)(e)

static bool bounced(const scene_sim* s)
{
    const perp_step_kind kind = perp_sim_step_info(s->sim).kind;
    return kind == PERP_STEP_IMPACT || kind == PERP_STEP_DECOMPRESSION;
}

/* Largest error of the first five times of impact and speeds after it, against the closed form: a
 * fall of 1 m at g = 10. */
static double bounce_error(const char* stepper, const char* law, double h)
{
    const double g = 10.0, V = sqrt(2.0 * g);
    scene_sim s = scene_sim_open(BALL(stepper, law, 0.5, h, 1.5));
    double worst = s.sim != NULL ? 0.0 : INFINITY, time = V / g, speed = 0.5 * V;
    int bounces = 0;
    while (s.sim != NULL && !perp_sim_finished(s.sim) && bounces < 5) {
        if (perp_sim_step(s.sim) != PERP_OK) {
            worst = INFINITY;
            break;
        }
        if (bounced(&s)) {
            const double v = scene_sim_body(&s, "ball").velocity[2];
            worst = fmax(worst, fabs(v - speed));
            worst = fmax(worst, fabs(perp_sim_time(s.sim) - time));
            time += 2.0 * speed / g;
            speed *= 0.5;
            bounces += 1;
        }
    }
    CHECK_EQ_INT(bounces, 5);
    scene_sim_close(&s);
    return worst;
}

TEST(a_bouncing_ball_follows_the_closed_form_to_first_order)
{
    static const char* const stepper[] = {"stewart-trinkle", "anitescu-potra"};
    static const char* const law[] = {"newton", "poisson"};
    for (int i = 0; i < 4; ++i) {
        const double coarse = bounce_error(stepper[i / 2], law[i % 2], 1e-3);
        const double fine = bounce_error(stepper[i / 2], law[i % 2], 1e-4);
        const double order = log10(coarse / fine);
        TEST_PRINT("%s, %s: error %.2e at h = 1e-3, %.2e at 1e-4, order %.2f", stepper[i / 2],
                   law[i % 2], coarse, fine, order);
        CHECK_AT_MOST(coarse, 30e-3); /* a step a bounce, times the speed */
        CHECK(order > 0.7 && order < 1.4);
    }
}

TEST(a_ball_with_e_of_one_half_comes_to_rest_where_the_closed_form_does)
{
    /* V/g (1 + 2 (e + e^2 + ...)) = 3 V/g; then nothing moves, nothing bounces */
    scene_sim s = scene_sim_open(BALL("stewart-trinkle", "newton", 0.5, 1e-3, 3));
    REQUIRE(s.sim != NULL);
    double last = 0.0;
    while (!perp_sim_finished(s.sim)) {
        REQUIRE_OK(perp_sim_step(s.sim));
        last = bounced(&s) ? perp_sim_time(s.sim) : last;
    }
    const double rest = 3.0 * sqrt(20.0) / 10.0;
    TEST_PRINT("last impact at t = %.4f, closed form %.4f, impacts %d", last, rest,
               (int)perp_sim_impact_count(s.sim));
    CHECK_NEAR(last, rest, 0.02);
    CHECK_NEAR(scene_sim_body(&s, "ball").position[2], 0.1, 1e-12);
    CHECK_NEAR(scene_sim_body(&s, "ball").velocity[2], 0.0, 1e-12);
    CHECK(perp_sim_impact_count(s.sim) < 15);
    scene_sim_close(&s);
}

TEST(two_elastic_balls_keep_energy_and_momentum)
{
    static const char* const law[] = {"newton", "poisson"};
    for (int i = 0; i < 2; ++i) {
        scene_sim s =
            scene_sim_open("{'step':0.01,'duration':1,'restitution':{'law':'%s','e':1},'bodies':["
                           "{'name':'a','mass':1,'position':[-1,0,0],'velocity':[4,0.3,0],"
                           "'shapes':[{'type':'sphere','radius':0.25}]},"
                           "{'name':'b','mass':3,'position':[1,0.1,0.2],'velocity':[-1,0,0],"
                           "'shapes':[{'type':'sphere','radius':0.25}]}]}",
                           law[i]);
        REQUIRE(s.sim != NULL);
        double P0[3], P1[3], L[3];
        const double E0 = perp_sim_energy(s.sim).total;
        perp_sim_momentum(s.sim, P0, L);
        CHECK_AT_MOST(scene_sim_run(&s), 1e-10);
        perp_sim_momentum(s.sim, P1, L);
        CHECK(perp_sim_impact_count(s.sim) == i + 1);
        CHECK_NEAR(perp_sim_energy(s.sim).total, E0, 1e-13 * E0);
        for (int k = 0; k < 3; ++k) {
            CHECK_NEAR(P1[k], P0[k], 1e-14);
        }
        CHECK(scene_sim_body(&s, "a").velocity[0] < 0.0);
        scene_sim_close(&s);
    }
}

/* Five balls of diameter 0.2 in a row, `gap` apart; the first comes at 1 m/s. */
static scene_sim cradle(const char* law, double gap)
{
    char bodies[2048] = "";
    for (int i = 0; i < 5; ++i) {
        (void)snprintf(bodies + strlen(bodies), sizeof bodies - strlen(bodies),
                       "%s{'name':'%d','mass':1,'position':[%.17g,0,0],'velocity':[%d,0,"
                       "0],'shapes':[{'type':'sphere','radius':0.1}]}",
                       i > 0 ? "," : "", i, i == 0 ? -0.305 : i * (0.2 + gap) - 0.1, i == 0);
    }
    return scene_sim_open("{'step':0.01,'duration':1,'restitution':{'law':'%s','e':1},"
                          "'bodies':[%s]}",
                          law, bodies);
}

TEST(balls_that_touch_are_struck_together_and_balls_apart_one_by_one)
{
    static const char* const law[] = {"newton", "poisson"};
    for (int i = 0; i < 2; ++i) {
        scene_sim together = cradle(law[i], 0.0), apart = cradle(law[i], 0.02);
        REQUIRE(together.sim != NULL && apart.sim != NULL);
        CHECK_AT_MOST(scene_sim_run(&together), 1e-10);
        CHECK_AT_MOST(scene_sim_run(&apart), 1e-10);
        for (int b = 0; b < 5; ++b) {
            const char name[2] = {(char)('0' + b), '\0'};
            /* at once: the four move as one body of mass 4 */
            CHECK_NEAR(scene_sim_body(&together, name).velocity[0], b == 0 ? -0.6 : 0.4, 1e-12);
            CHECK_NEAR(scene_sim_body(&apart, name).velocity[0], b == 4 ? 1.0 : 0.0, 1e-12);
        }
        scene_sim_close(&together);
        scene_sim_close(&apart);
    }
}

TEST(a_ball_that_strikes_at_an_angle_is_slowed_by_friction_in_both_phases)
{
    /* it slides through the whole impact: p_t = mu p_n, p_n = (1 + e) m V */
    static const char* const law[] = {"newton", "poisson"};
    const double mu = 0.1, e = 0.6, V = 2.0, h = 1e-4;
    for (int i = 0; i < 2; ++i) {
        scene_sim s =
            scene_sim_open("{'step':%g,'duration':0.001,'restitution':{'law':'%s','e':%g},"
                           "'friction':{'default':%g},'bodies':["
                           "{'name':'floor','type':'static','shapes':[{'type':'plane',"
                           "'normal':[0,0,1]}]},"
                           "{'name':'ball','mass':2,'position':[0,0,0.1],'velocity':[3,0,%g],"
                           "'shapes':[{'type':'sphere','radius':0.1}]}]}",
                           h, law[i], e, mu, -V);
        REQUIRE(s.sim != NULL);
        CHECK_AT_MOST(scene_sim_run(&s), 1e-10);
        const perp_body_state ball = scene_sim_body(&s, "ball");
        CHECK_NEAR(ball.velocity[2], e * V, 1e-9);
        CHECK_NEAR(ball.velocity[0], 3.0 - mu * (1.0 + e) * V, 1e-9);
        CHECK_NEAR(ball.angular_velocity[1], mu * (1.0 + e) * V * 2.5 / 0.1, 1e-7);
        scene_sim_close(&s);
    }
}

static double uniform(uint64_t* state, double a, double b)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return a + (b - a) * (double)(*state >> 11) / 9007199254740992.0;
}

/* Poses of a flight lie on the parabola whose velocity is v + h g/2; bounces keep or lower its energy. */
static double parabola_energy(const scene_sim* s, double h)
{
    return perp_sim_energy(s->sim).total - 0.5 * h * 9.81 * scene_sim_body(s, "box").velocity[2];
}

static void check_box(const char* stepper, const char* law, uint64_t seed, double* worst,
                      int64_t* impacts, int64_t* cut)
{
    uint64_t r = seed;
    const double e = uniform(&r, 0.0, 1.0), mu = uniform(&r, 0.0, 1.5);
    double x[7];
    for (int i = 0; i < 7; ++i) {
        x[i] = uniform(&r, -1.0, 1.0);
    }
    scene_sim s = scene_sim_open(
        "{'gravity':[0,0,-9.81],'step':0.002,'duration':0.8,'stepper':'%s',"
        "'restitution':{'law':'%s','e':%.17g},'friction':{'default':%.17g},'bodies':["
        "{'name':'floor','type':'static','shapes':[{'type':'plane','normal':[0,0,1]"
        "}]},{'name':'box','mass':1,'position':[0,0,0.4],'axis_angle':[%.17g,%.17g,1,"
        "%.17g],'velocity':[%.17g,%.17g,-2],'angular_velocity':[%.17g,%.17g,0],"
        "'shapes':[{'type':'box','size':[0.2,0.3,0.1]}]}]}",
        stepper, law, e, mu, x[0], x[1], 3.0 * x[2], 2.0 * x[3], 2.0 * x[4], 8.0 * x[5],
        8.0 * x[6]);
    REQUIRE(s.sim != NULL);
    double energy = parabola_energy(&s, 0.002);
    while (!perp_sim_finished(s.sim)) {
        REQUIRE_OK(perp_sim_step(s.sim));
        const double now = parabola_energy(&s, 0.002);
        const perp_step_info info = perp_sim_step_info(s.sim);
        /* A gap term pushes out what has sunk in, with impulse times depth over h: not an impact's */
        double pushed = 0.0;
        int32_t count;
        const perp_contact* c = perp_sim_contacts(s.sim, &count);
        for (int32_t i = 0;
             info.kind == PERP_STEP_TIME && strcmp(stepper, "stewart-trinkle") == 0 && i < count;
             ++i) {
            pushed += c[i].impulse[0] * fmax(0.0, -c[i].gap / 0.002 - c[i].drift[0]);
        }
        *cut += info.kind != PERP_STEP_TIME && info.restitution_kept < 1.0;
        if (info.kind != PERP_STEP_TIME) {
            continue; /* an impact happens within the step that follows */
        }
        *worst = fmax(*worst, (now - energy - pushed) / 9.81);
        energy = now;
    }
    *impacts += perp_sim_impact_count(s.sim);
    scene_sim_close(&s);
}

TEST(a_tumbling_box_with_friction_never_gains_energy)
{
    static const char* const stepper[] = {"stewart-trinkle", "anitescu-potra"};
    static const char* const law[] = {"newton", "poisson"};
    for (int i = 0; i < 4; ++i) {
        double worst = 0.0;
        int64_t impacts = 0, cut = 0;
        for (uint64_t seed = 1; seed <= 12; ++seed) {
            check_box(stepper[i / 2], law[i % 2], seed, &worst, &impacts, &cut);
        }
        TEST_PRINT("%s, %s: %d impacts, %d with less restitution; energy gained in a step at most "
                   "%.1e of m g",
                   stepper[i / 2], law[i % 2], (int)impacts, (int)cut, worst);
        CHECK(impacts > 50);
        /* contacts that are not struck share the time of those that are: of first order, h abs(v) = 0.006 */
        CHECK_AT_MOST(worst, 3e-3);
    }
}

TEST(a_stack_with_restitution_rests_like_one_without)
{
    scene_sim s = scene_sim_load("scenes/stack.json");
    REQUIRE(s.scene != NULL);
    const perp_override override[] = {{"/restitution", "0.8"}};
    perp_scene* scene = NULL;
    const char* text = perp_scene_text(s.scene);
    REQUIRE_OK(perp_scene_parse(s.context, text, strlen(text), "stack", override, 1, &scene));
    perp_sim* sim = NULL;
    REQUIRE_OK(perp_sim_create_from_scene(s.context, scene, &sim));
    while (!perp_sim_finished(sim)) {
        REQUIRE_OK(perp_sim_step(sim));
    }
    const int64_t impacts = perp_sim_impact_count(sim);
    const double kinetic = perp_sim_energy(sim).kinetic;
    TEST_PRINT("%d impacts, kinetic energy at the end %.1e", (int)impacts, kinetic);
    CHECK_EQ_INT(impacts, 0); /* nothing there is faster than h g */
    CHECK_AT_MOST(kinetic, 1e-12);
    perp_sim_destroy(sim);
    perp_scene_destroy(scene);
    scene_sim_close(&s);
}

TEST(impacts_allocate_nothing_once_they_are_warm)
{
    static const char* const law[] = {"newton", "poisson"};
    for (int i = 0; i < 4; ++i) {
        scene_sim s = scene_sim_open(BALL("stewart-trinkle", law[i % 2], 0.9, 1e-3, 4));
        if (i >= 2) {
            scene_sim_close(&s);
            s = scene_sim_open(
                "{'gravity':[0,0,-10],'step':{'error':1e-3},'duration':4,'restitution':{"
                "'law':'%s','e':0.9},'bodies':[{'name':'floor','type':'static',"
                "'shapes':[{'type':'plane','normal':[0,0,1]}]},{'name':'ball','mass':"
                "2,"
                "'position':[0,0,1.1],'shapes':[{'type':'sphere','radius':0.1}]}]}",
                law[i % 2]);
        }
        REQUIRE(s.sim != NULL);
        while (perp_sim_impact_count(s.sim) < 4) {
            REQUIRE_OK(perp_sim_step(s.sim));
        }
        const uint64_t before = perp_context_allocations(s.context);
        while (!perp_sim_finished(s.sim)) {
            REQUIRE_OK(perp_sim_step(s.sim));
        }
        CHECK(perp_sim_impact_count(s.sim) > 5);
        CHECK_EQ_U64(perp_context_allocations(s.context) - before, 0);
        scene_sim_close(&s);
    }
}

TEST(a_restored_impact_continues_with_the_same_bits)
{
    scene_sim a = scene_sim_open(BALL("stewart-trinkle", "poisson", 0.7, 1e-3, 1));
    scene_sim b = scene_sim_open(BALL("stewart-trinkle", "poisson", 0.7, 1e-3, 1));
    REQUIRE(a.sim != NULL && b.sim != NULL);
    while (perp_sim_step_info(a.sim).kind != PERP_STEP_COMPRESSION) {
        REQUIRE_OK(perp_sim_step(a.sim));
    }
    size_t size = 0;
    REQUIRE_OK(perp_sim_save(a.sim, NULL, &size));
    void* snapshot = malloc(size);
    REQUIRE(snapshot != NULL);
    REQUIRE_OK(perp_sim_save(a.sim, snapshot, &size));
    REQUIRE_OK(perp_sim_restore(b.sim, snapshot, size));
    free(snapshot);
    CHECK_AT_MOST(scene_sim_run(&a), 1e-10);
    CHECK_AT_MOST(scene_sim_run(&b), 1e-10);
    CHECK_EQ_INT(perp_sim_impact_count(a.sim), perp_sim_impact_count(b.sim));
    CHECK(memcmp(perp_sim_v(a.sim), perp_sim_v(b.sim),
                 (size_t)perp_sim_v_size(a.sim) * sizeof(double)) == 0);
    CHECK(memcmp(perp_sim_q(a.sim), perp_sim_q(b.sim),
                 (size_t)perp_sim_q_size(a.sim) * sizeof(double)) == 0);
    scene_sim_close(&a);
    scene_sim_close(&b);
}

/* Friction of the floor slows the block down in every step, and the pusher catches up with it: with the
 * block's own forces alone each time would be a blow. */
TEST(what_is_pushed_over_a_floor_stops_bouncing)
{
    scene_sim s = scene_sim_open(
        "{'gravity':[0,0,-10],'step':0.002,'duration':1.5,'restitution':0.7,'friction':{"
        "'default':0.3},'bodies':[{'name':'floor','type':'static','shapes':[{"
        "'type':"
        "'plane','normal':[0,0,1]}]},{'name':'pusher','type':'kinematic','velocity':"
        "[0.2,0,0],'position':[-0.3,0,0.1],'ignores':['floor'],'shapes':[{'type':"
        "'sphere',"
        "'radius':0.1}]},{'name':'block','mass':1,'position':[0,0,0.1],'shapes':[{"
        "'type':'box','size':[0.3,0.2,0.2]}]}]}");
    REQUIRE(s.sim != NULL);
    int64_t at_one = 0;
    while (!perp_sim_finished(s.sim)) {
        REQUIRE_OK(perp_sim_step(s.sim));
        at_one = perp_sim_time(s.sim) <= 1.0 ? perp_sim_impact_count(s.sim) : at_one;
    }
    TEST_PRINT("%d impacts, %d of them in the first second", (int)perp_sim_impact_count(s.sim),
               (int)at_one);
    CHECK(at_one >= 4);
    CHECK_EQ_INT(perp_sim_impact_count(s.sim), at_one);
    CHECK_NEAR(scene_sim_body(&s, "block").velocity[0], 0.2, 1e-9);
    CHECK_NEAR(scene_sim_body(&s, "block").position[0], 0.25, 1e-9);
    scene_sim_close(&s);
}
