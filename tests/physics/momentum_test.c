/* Momentum: bodies that touch nothing prescribed keep it, step by step; measured from the states alone. */
#include <stdlib.h>
#include <string.h>

#include "perp_test.h"
#include "support/scene_sim.h"

/* A seeded stream of numbers in [0, 1). */
static double draw(uint64_t* state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*state >> 11) / 9007199254740992.0;
}

static double between(uint64_t* state, double low, double high)
{
    return low + (high - low) * draw(state);
}

/* ---- one free body ---------------------------------------------------------------------------------*/

typedef struct free_body {
    double momentum; /* largest change of L in a step, relative */
    double energy;   /* largest gain in a step, relative */
} free_body;

static free_body spin(uint64_t seed, double decades)
{
    uint64_t r = seed * 7919 + 1;
    double moment[3], w[3], size = 0.0;
    free_body out = {0};
    for (int i = 0; i < 3; ++i) { /* second moments: any positive ones are a body's */
        moment[i] = pow(10.0, -decades * draw(&r) * (draw(&r) < 0.5));
        w[i] = between(&r, -1.0, 1.0) * (draw(&r) < 0.3 ? 1e-3 : 1.0);
        size += w[i] * w[i];
    }
    const double h = 0.01, speed = between(&r, 0.0, 10.0) / h / sqrt(size);
    scene_sim s = scene_sim_quoted(
        "{'step':%.17g,'duration':0.3,'bodies':[{'name':'b','mass':1,'inertia':[%.17g,%.17g,%.17g],"
        "'angular_velocity':[%.17g,%.17g,%.17g],'axis_angle':[0.3,0.5,0.8,%.17g]}]}",
        h, moment[1] + moment[2], moment[0] + moment[2], moment[0] + moment[1], speed * w[0],
        speed * w[1], speed * w[2], between(&r, 0.0, 3.0));
    if (s.sim == NULL) {
        return (free_body){NAN, NAN};
    }
    while (!perp_sim_finished(s.sim)) {
        double P[3], before[3], after[3], off = 0.0, all = 0.0;
        perp_sim_momentum(s.sim, P, before);
        const double e0 = perp_sim_energy(s.sim).kinetic;
        if (perp_sim_step(s.sim) != PERP_OK) {
            out.momentum = NAN;
            break;
        }
        perp_sim_momentum(s.sim, P, after);
        for (int i = 0; i < 3; ++i) {
            off += (after[i] - before[i]) * (after[i] - before[i]);
            all += before[i] * before[i];
        }
        const double gain = perp_sim_energy(s.sim).kinetic / e0 - 1.0, change = sqrt(off / all);
        out.momentum = change <= out.momentum ? out.momentum : change;
        out.energy = gain <= out.energy ? out.energy : gain;
    }
    scene_sim_close(&s);
    return out;
}

TEST(a_free_body_keeps_its_angular_momentum_and_gains_no_energy_at_ten_radians_a_step)
{
    static const struct {
        double decades, momentum, energy;
    } kind[] = {{1.0, 1e-13, 1e-13}, {3.0, 1e-12, 1e-12}, {6.0, 1e-12, 1e-12}};
    for (int k = 0; k < 3; ++k) {
        free_body worst = {0};
        for (uint64_t seed = 0; seed < 150; ++seed) {
            const free_body b = spin(seed, kind[k].decades);
            worst.momentum = b.momentum <= worst.momentum ? worst.momentum : b.momentum;
            worst.energy = b.energy <= worst.energy ? worst.energy : b.energy;
        }
        TEST_PRINT("inertia ratios up to 1e%g: momentum %.1e a step, energy gained %.1e",
                   kind[k].decades, worst.momentum, worst.energy);
        CHECK_AT_MOST(worst.momentum, kind[k].momentum);
        CHECK_AT_MOST(worst.energy, kind[k].energy);
    }
}

/* ---- bodies that collide, and hold each other ------------------------------------------------------*/

typedef struct text {
    char at[20000];
    size_t used;
} text;

static void put(text* t, const char* format, ...) PERP_PRINTF(2, 3);
static void put(text* t, const char* format, ...)
{
    va_list args;
    va_start(args, format);
    t->used += (size_t)vsnprintf(t->at + t->used, sizeof t->at - t->used, format, args);
    va_end(args);
}

static void put_shape(text* t, uint64_t* r, bool space)
{
    const double a = between(r, 0.2, 0.5), b = between(r, 0.2, 0.5), c = between(r, 0.2, 0.5);
    const int kind = (int)(3.0 * draw(r));
    if (space && kind == 0) {
        put(t, "{'type':'sphere','radius':%.17g}", 0.5 * a);
    } else if (space && kind == 1) {
        put(t, "{'type':'capsule','radius':%.17g,'length':%.17g}", 0.3 * a, b);
    } else if (space) {
        put(t, "{'type':'box','size':[%.17g,%.17g,%.17g]}", a, b, c);
    } else if (kind == 0) {
        put(t, "{'type':'circle','radius':%.17g}", 0.5 * a);
    } else {
        put(t, "{'type':'box','size':[%.17g,%.17g]}", a, b);
    }
}

/* Six bodies on their way to the middle, two of them on a joint. */
static void write_scene(uint64_t seed, bool space, const char* stepper, const char* contact,
                        bool correct, double e, text* t)
{
    uint64_t r = seed * 104729 + (space ? 17 : 3);
    t->used = 0;
    put(t, "{'dimension':%d,'step':0.005,'duration':0.6,'stepper':'%s','contact':'%s',",
        space ? 3 : 2, stepper, contact);
    put(t, "'friction':{'default':0.4},'joint_correction':%s,'restitution':%.17g,'bodies':[",
        correct ? "true" : "false", e);
    for (int i = 0; i < 6; ++i) {
        const double x = 0.8 * (i % 3 - 1), y = 0.8 * (i / 3),
                     z = space ? between(&r, -0.2, 0.2) : 0;
        put(t, "%s{'name':'b%d','density':%.17g,", i > 0 ? "," : "", i, between(&r, 100, 3000));
        if (space) {
            put(t, "'position':[%.17g,%.17g,%.17g],'velocity':[%.17g,%.17g,%.17g],", x, y, z,
                -2.0 * x, 2.0 * (0.4 - y) + 0.3, between(&r, -0.5, 0.5));
            put(t, "'angular_velocity':[%.17g,%.17g,%.17g],'shapes':[", between(&r, -5, 5),
                between(&r, -5, 5), between(&r, -5, 5));
        } else {
            put(t, "'position':[%.17g,%.17g],'velocity':[%.17g,%.17g],'angular_velocity':%.17g,", x,
                y, -2.0 * x, 2.0 * (0.4 - y) + 0.3, between(&r, -5, 5));
            put(t, "'shapes':[");
        }
        put_shape(t, &r, space);
        put(t, "]%s}", i == 1 ? ",'ignores':['b4']" : i == 4 ? ",'ignores':['b1']" : "");
    }
    put(t, "],'joints':[{'name':'j','type':'%s','a':'b1','b':'b4',%s}]}",
        space && seed % 2 == 1 ? "spherical" : "revolute",
        space ? "'at':[0,0.4,0],'axis':[0,0,1]" : "'at':[0,0.4]");
}

typedef struct keeping {
    double linear, angular;
    int32_t runs, failed, contacts;
} keeping;

static void collide(const char* scene, keeping* k)
{
    scene_sim s = scene_sim_quoted("%s", scene);
    k->runs += 1;
    if (s.sim == NULL) {
        k->failed += 1;
        scene_sim_close(&s);
        return;
    }
    while (!perp_sim_finished(s.sim)) {
        double P[2][3], L[2][3], off[2] = {0}, size[2] = {0};
        perp_sim_momentum(s.sim, P[0], L[0]);
        /* an impact belongs to the step that follows, which displaces the poses */
        perp_status status = perp_sim_step(s.sim);
        while (status == PERP_OK && perp_sim_step_info(s.sim).kind != PERP_STEP_TIME) {
            status = perp_sim_step(s.sim);
        }
        if (status != PERP_OK) {
            k->failed += 1;
            break;
        }
        perp_sim_momentum(s.sim, P[1], L[1]);
        for (int i = 0; i < 3; ++i) {
            off[0] += (P[1][i] - P[0][i]) * (P[1][i] - P[0][i]);
            off[1] += (L[1][i] - L[0][i]) * (L[1][i] - L[0][i]);
        }
        for (int32_t i = 0; i < perp_model_body_count(perp_sim_model(s.sim)); ++i) {
            const perp_body_state b = perp_sim_body(s.sim, i);
            const double* v = b.velocity;
            const double mass = perp_model_body_info(perp_sim_model(s.sim), i).mass;
            const double p = mass * sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
            size[0] += p;
            size[1] += p; /* arms of about a metre */
        }
        int32_t count;
        const perp_contact* c = perp_sim_contacts(s.sim, &count);
        for (int32_t i = 0; i < count; ++i) {
            size[0] += c[i].impulse[0];
            size[1] += c[i].impulse[0];
            k->contacts += c[i].impulse[0] > 0.0;
        }
        const double linear = sqrt(off[0]) / size[0], angular = sqrt(off[1]) / size[1];
        k->linear = linear <= k->linear ? k->linear : linear;
        if (perp_sim_step_info(s.sim).moves == 0) { /* moved poses are a term of their own */
            k->angular = angular <= k->angular ? k->angular : angular;
        }
    }
    scene_sim_close(&s);
}

TEST(bodies_that_float_keep_their_momentum_in_every_step)
{
    static const char* const stepper[] = {"stewart-trinkle", "implicit", "geometric-implicit"};
    static text t;
    for (int space = 0; space < 2; ++space) {
        for (int k = 0; k < 3; ++k) {
            keeping all = {0};
            for (uint64_t seed = 0; seed < 12; ++seed) {
                const bool peg = seed % 3 == 2, correct = k == 0 && seed % 2 == 1;
                write_scene(seed, space == 1, stepper[k], peg ? "peg" : "standard", correct,
                            k == 0 && seed % 2 == 1 ? 0.6 : 0.0, &t);
                collide(t.at, &all);
            }
            TEST_PRINT("%s, %-18s linear %.1e, angular %.1e; %d of %d runs failed, %d contacts",
                       space == 1 ? "space" : "plane", stepper[k], all.linear, all.angular,
                       (int)all.failed, (int)all.runs, (int)all.contacts);
            CHECK_AT_MOST(all.linear, 1e-11);
            CHECK_AT_MOST(all.angular, 1e-9);
            CHECK(all.contacts > 100);
            CHECK(all.failed <= (k == 2 ? 6 : 1));
        }
    }
}

/* A body that slides onto a free plate faster than its own size a step: what keeps the momentum must not
 * make energy. */
TEST(geometric_implicit_makes_no_energy_between_two_bodies_that_slide_far_in_a_step)
{
    static const char* const shape[] = {"{'type':'circle','radius':0.02}",
                                        "{'type':'box','size':[0.04,0.04]}"};
    uint64_t r = 5;
    int failed = 0;
    for (int k = 0; k < 40; ++k) {
        const double vx = between(&r, -15, 15), vy = between(&r, -12, -3);
        scene_sim s = scene_sim_quoted(
            "{'dimension':2,'stepper':'geometric-implicit','step':%g,'duration':0.06,"
            "'friction':{'default':%g},'bodies':[{'name':'plate','mass':%g,'shapes':[{'type':'box',"
            "'size':[2,0.05]}]},{'name':'b','mass':1,'position':[0,0.1],'velocity':[%.17g,%.17g],"
            "'shapes':[%s]}]}",
            k % 3 == 0 ? 0.01 : 0.005, k % 4 == 0 ? 0.3 : 0.0, k % 5 == 0 ? 1.0 : 20.0, vx, vy,
            shape[k % 2]);
        REQUIRE(s.sim != NULL);
        const double before = perp_sim_energy(s.sim).total;
        failed += perp_sim_run(s.sim) != PERP_OK;
        CHECK_AT_MOST(perp_sim_energy(s.sim).total, before * (1.0 + 1e-9));
        scene_sim_close(&s);
    }
    CHECK(failed <= 4);
}

TEST(a_particle_and_a_body_keep_their_angular_momentum)
{
    static const char* const stepper[] = {"stewart-trinkle", "implicit", "geometric-implicit"};
    for (int k = 0; k < 3; ++k) {
        scene_sim s = scene_sim_quoted(
            "{'dimension':2,'stepper':'%s','step':0.01,'duration':0.1,'friction':{'default':0.5},"
            "'bodies':[{'name':'box','mass':1,'shapes':[{'type':'box','size':[0.4,0.4]}]},"
            "{'name':'p','mass':1,'position':[-0.5,0.05],'velocity':[5,0.5],"
            "'shapes':[{'type':'particle'}]}]}",
            stepper[k]);
        REQUIRE(s.sim != NULL);
        double P[3], before[3], after[3];
        perp_sim_momentum(s.sim, P, before);
        CHECK_OK(perp_sim_run(s.sim));
        perp_sim_momentum(s.sim, P, after);
        CHECK_NEAR(after[2], before[2], 1e-9);
        scene_sim_close(&s);
    }
}
