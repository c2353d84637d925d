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
    scene_sim s = scene_sim_open(
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
    scene_sim s = scene_sim_open("%s", scene);
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
            for (uint64_t seed = 0; seed < (perp_test_full() ? 12 : 6); ++seed) {
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
            CHECK(all.contacts > 50);
            CHECK(all.failed <= (k == 2 ? all.runs / 2 : 1));
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
        scene_sim s = scene_sim_open(
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
        scene_sim s = scene_sim_open(
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

/* A moment about the normal needs two bodies that take it: friction of an ellipsoid cone has none
 * at a particle. */
TEST(a_particle_on_a_spinning_ball_takes_no_moment_about_the_normal)
{
    static const char* const stepper[] = {"stewart-trinkle", "anitescu-potra", "implicit",
                                          "geometric-implicit"};
    for (int k = 0; k < 8; ++k) {
        const int model = k % 4;
        scene_sim s = scene_sim_open(
            "{'stepper':'%s','step':0.01,'duration':0.2,'friction':{'default':0.8,'cone':'"
            "ellipsoid',"
            "'e_t':0.7,'e_o':0.9,'e_r':0.1},'bodies':[{'name':'p','mass':0.7,'position':[0.02,-0."
            "05,0.6],"
            "'velocity':[%g,0.3,-4],'shapes':[{'type':'particle'}]},{'name':'ball','mass':1,"
            "'angular_velocity':[3,-2,%d],'shapes':[{'type':'sphere','radius':0.3}]}]}",
            stepper[model], 0.2 * k, 20 - 5 * k);
        REQUIRE(s.sim != NULL);
        double P[3], before[3], after[3], worst = 0.0, pushed = 0.0;
        perp_sim_momentum(s.sim, P, before);
        while (!perp_sim_finished(s.sim)) {
            REQUIRE(perp_sim_step(s.sim) == PERP_OK);
            worst = fmax(worst, perp_sim_step_info(s.sim).momentum_error[1]);
            int32_t count = 0;
            const perp_contact* contact = perp_sim_contacts(s.sim, &count);
            for (int32_t i = 0; i < count; ++i) {
                pushed = fmax(pushed, contact[i].impulse[0]);
            }
        }
        perp_sim_momentum(s.sim, P, after);
        CHECK(pushed > 0.0);
        CHECK_AT_MOST(worst, 1e-9);
        for (int i = 0; i < 3; ++i) {
            CHECK_NEAR(after[i], before[i], 1e-9);
        }
        scene_sim_close(&s);
    }
}

/* ---- linkages whose poses are projected ------------------------------------------------------------*/

/* Two floating links that turn by up to two radians a step: `joint_correction` has to move their poses. Returns
 * the number of moves; off: largest change of linear and angular momentum in a step, relative to their
 * sizes; account: the largest momentum error that the steps report. */
static int32_t turn_linkage(uint64_t seed, int dimension, const char* type, const char* stepper,
                            const char* solver, double off[2], double* account)
{
    uint64_t r = seed * 104729 + 3;
    text t = {.used = 0};
    const bool space = dimension == 3;
    put(&t,
        "{'dimension':%d,'step':0.02,'duration':0.6,'stepper':'%s','joint_correction':true,"
        "'solver':'%s','joints':[{'name':'j','type':'%s','a':'a','b':'b'",
        dimension, stepper, solver, type);
    if (strcmp(type, "rope") == 0) {
        put(&t, space ? ",'at_a':[0,0,0.4],'at_b':[0,0,-0.4],'length':1.25"
                      : ",'at_a':[0,0.4],'at_b':[0,-0.4],'length':1.25");
    } else {
        put(&t, space ? ",'at':[0.1,0,0.5]" : ",'at':[0.1,0.5]");
    }
    if (strcmp(type, "universal") == 0 || (space && strcmp(type, "revolute") == 0)) {
        put(&t, ",'axis':[0.6,0.8,0]");
    }
    put(&t, "}],'bodies':[");
    for (int i = 0; i < 2; ++i) {
        const double I = between(&r, 0.05, 0.1);
        put(&t, "%s{'name':'%s','mass':%.17g,", i == 0 ? "" : ",", i == 0 ? "a" : "b",
            between(&r, 0.5, 3.0));
        if (space) {
            put(&t, "'inertia':[%.17g,%.17g,%.17g],'position':[0,0,%d],", I, 1.5 * I, 2.1 * I,
                2 * i);
            put(&t, "'velocity':[%.17g,%.17g,%.17g],'angular_velocity':[%.17g,%.17g,%.17g]}",
                between(&r, -3.0, 3.0), between(&r, -3.0, 3.0), 0.0, between(&r, -60.0, 60.0),
                between(&r, -60.0, 60.0), between(&r, -60.0, 60.0));
        } else {
            put(&t, "'inertia':%.17g,'position':[0,%d],'velocity':[%.17g,0],", I, 2 * i,
                between(&r, -3.0, 3.0));
            put(&t, "'angular_velocity':%.17g}", between(&r, -90.0, 90.0));
        }
    }
    put(&t, "]}");
    scene_sim s = scene_sim_open("%s", t.at);
    if (s.sim == NULL) {
        TEST_PRINT("%s", s.error);
        return -1;
    }
    int32_t moves = 0;
    while (!perp_sim_finished(s.sim)) {
        double before[2][3], after[2][3];
        perp_sim_momentum(s.sim, before[0], before[1]);
        if (perp_sim_step(s.sim) != PERP_OK) {
            TEST_PRINT("seed %d %s: %s", (int)seed, type, perp_context_error(s.context));
            moves = -1;
            break;
        }
        perp_sim_momentum(s.sim, after[0], after[1]);
        for (int k = 0; k < 2; ++k) {
            double change = 0.0, size = 0.0;
            for (int i = 0; i < 3; ++i) {
                change += (after[k][i] - before[k][i]) * (after[k][i] - before[k][i]);
                size += before[k][i] * before[k][i];
            }
            const double relative =
                sqrt(change / (size + 1.0)); /* 1 kg m/s, 1 kg m^2/s: of a link */
            off[k] = relative <= off[k] ? off[k] : relative;
            const double reported = perp_sim_step_info(s.sim).momentum_error[k];
            *account = reported <= *account ? *account : reported;
        }
        moves += perp_sim_step_info(s.sim).moves;
    }
    scene_sim_close(&s);
    return moves;
}

TEST(floating_linkages_keep_their_momentum_where_poses_are_projected)
{
    static const struct {
        const char* type;
        int dimension;
    } joint[] = {{"spherical", 3}, {"revolute", 3}, {"universal", 3}, {"fixed", 3},
                 {"rope", 3},      {"revolute", 2}, {"rope", 2}};
    static const char* const stepper[] = {"stewart-trinkle", "anitescu-potra"};
    for (size_t i = 0; i < sizeof joint / sizeof joint[0]; ++i) {
        double off[2] = {0}, account = 0.0;
        int32_t moves = 0;
        for (uint64_t seed = 0; seed < 9; ++seed) { /* auto closes most joints without moves */
            const int32_t made = turn_linkage(seed, joint[i].dimension, joint[i].type,
                                              stepper[seed % 2], "newton", off, &account);
            CHECK(made >= 0);
            moves += made;
            CHECK(turn_linkage(seed, joint[i].dimension, joint[i].type, stepper[seed % 2], "auto",
                               off, &account) >= 0);
        }
        TEST_PRINT("%s, dimension %d: %d moves, momentum %.1e, angular %.1e; reported %.1e",
                   joint[i].type, joint[i].dimension, (int)moves, off[0], off[1], account);
        CHECK(moves > 0);
        CHECK_AT_MOST(off[0], 1e-9);
        CHECK_AT_MOST(off[1], 1e-9);
        CHECK_AT_MOST(account, 1e-9);
    }
}

/* Angular momentum of two round bodies about their common centre, and the centre. */
static void about_centre(const perp_sim* sim, const double m[2], double I, double L[3],
                         double centre[3])
{
    const perp_body_state b[2] = {perp_sim_body(sim, 1), perp_sim_body(sim, 2)};
    double x[3], v[3];
    for (int i = 0; i < 3; ++i) {
        centre[i] = (m[0] * b[0].position[i] + m[1] * b[1].position[i]) / (m[0] + m[1]);
        x[i] = b[1].position[i] - b[0].position[i];
        v[i] = b[1].velocity[i] - b[0].velocity[i];
    }
    const double reduced = m[0] * m[1] / (m[0] + m[1]);
    for (int i = 0; i < 3; ++i) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        L[i] = reduced * (x[j] * v[k] - x[k] * v[j]) +
               I * (b[0].angular_velocity[i] + b[1].angular_velocity[i]);
    }
}

/* joint_correction may push a linkage away from a floor that it does not touch. That moves it as a
 * whole, and must not turn it, in whatever frame of reference it is seen. */
TEST(a_linkage_that_the_projection_pushes_off_a_floor_keeps_its_angular_momentum)
{
    int pushed = 0;
    double worst = 0.0, account = 0.0;
    for (uint64_t seed = 0; seed < 200; ++seed) {
        uint64_t r = seed * 7907 + 5;
        const double I = 0.1;
        double m[2], u[8];
        for (int i = 0; i < 2; ++i) {
            m[i] = between(&r, 0.5, 3.0);
        }
        for (int i = 0; i < 8; ++i) {
            u[i] = i % 4 == 3 ? between(&r, -30.0, 30.0) : between(&r, -9.0, 9.0);
        }
        scene_sim s = scene_sim_open(
            /* the direct solution of joint_system.h closes these joints without moving poses */
            "{'step':0.02,'duration':0.4,'joint_correction':true,'contact':'standard',"
            "'solver':'newton',"
            "'joints':[{'name':'j','type':'spherical','a':'a','b':'b','at':[0.5,0,0.5]}],'bodies':["
            "{'name':'floor','type':'static','shapes':[{'type':'plane','normal':[0,0,1]}]},"
            "{'name':'a','mass':%.17g,'inertia':[%g,%g,%g],'position':[0,0,0.5],"
            "'velocity':[%.17g,%.17g,0],'angular_velocity':[1,%.17g,%.17g],"
            "'shapes':[{'type':'sphere','radius':0.499}]},"
            "{'name':'b','mass':%.17g,'inertia':[%g,%g,%g],'position':[1,0,0.5],"
            "'velocity':[%.17g,%.17g,0],'angular_velocity':[1,%.17g,%.17g],"
            "'shapes':[{'type':'sphere','radius':0.499}]}]}",
            m[0], I, I, I, u[0], u[1], u[2], u[3], m[1], I, I, I, u[4], u[5], u[6], u[7]);
        REQUIRE(s.sim != NULL);
        while (!perp_sim_finished(s.sim)) {
            double before[3], after[3], from[3], to[3], P[3], unused[3];
            about_centre(s.sim, m, I, before, from);
            REQUIRE(perp_sim_step(s.sim) == PERP_OK);
            about_centre(s.sim, m, I, after, to);
            perp_sim_momentum(s.sim, P, unused);
            int32_t count = 0;
            const perp_contact* contact = perp_sim_contacts(s.sim, &count);
            bool touches = false;
            for (int32_t i = 0; i < count; ++i) {
                touches = touches || contact[i].impulse[0] != 0.0;
            }
            if (touches) {
                continue;
            }
            const double up = to[2] - from[2] - 0.02 * P[2] / (m[0] + m[1]);
            pushed += fabs(up) > 1e-6;
            for (int i = 0; i < 3; ++i) {
                worst = fmax(worst, fabs(after[i] - before[i]));
            }
            account = fmax(account, perp_sim_step_info(s.sim).momentum_error[1]);
        }
        scene_sim_close(&s);
    }
    TEST_PRINT("%d steps in which the floor moves the linkage: angular momentum %.1e, account %.1e",
               pushed, worst, account);
    CHECK(pushed > 0);
    CHECK_AT_MOST(worst, 1e-9);
    CHECK_AT_MOST(account, 1e-9);
}

/* Shots that a step would carry through a plate that floats and spins are stopped on their way,
 * aside from where they start: the impulse acts at the shot, which has no arm. */
TEST(a_particle_that_is_stopped_within_a_step_keeps_the_angular_momentum)
{
    static const char* const setting[] = {"'contact':'corrective'", "'contact':'peg','margin':1e-4",
                                          "'contact':'standard','margin':1e-4,'restitution':0.7",
                                          "'contact':'standard','stepper':'anitescu-potra'"};
    int stopped = 0;
    double worst = 0.0;
    for (uint64_t seed = 0; seed < 160; ++seed) {
        uint64_t r = seed * 7919 + 17;
        const int d = seed % 2 == 0 ? 3 : 2;
        const double spin = between(&r, -20.0, 20.0), u = between(&r, -20.0, 20.0),
                     x = between(&r, -0.3, 0.3), z = between(&r, 0.1, 0.4);
        scene_sim s = scene_sim_quoted(
            d == 3
                ? "{'step':0.01,'duration':0.1,%s,'friction':{'default':0.4},'bodies':["
                  "{'name':'plate','mass':2,'velocity':[0.3,0,1],'angular_velocity':[%.9g,3,1],"
                  "'shapes':[{'type':'box','size':[2,2,0.05]}]},"
                  "{'name':'shot','mass':0.5,'position':[%.9g,0.1,%.9g],'velocity':[%.9g,5,-40],"
                  "'shapes':[{'type':'particle'}]}]}"
                : "{'dimension':2,'step':0.01,'duration':0.1,%s,'friction':{'default':0.4},"
                  "'bodies':[{'name':'plate','mass':2,'velocity':[0.3,1],'angular_velocity':%.9g,"
                  "'shapes':[{'type':'box','size':[2,0.05]}]},"
                  "{'name':'shot','mass':0.5,'position':[%.9g,%.9g],'velocity':[%.9g,-40],"
                  "'shapes':[{'type':'particle'}]}]}",
            setting[seed / 2 % 4], spin, x, z, u);
        REQUIRE(s.sim != NULL);
        while (!perp_sim_finished(s.sim)) {
            REQUIRE(perp_sim_step(s.sim) == PERP_OK);
            const perp_step_info info = perp_sim_step_info(s.sim);
            stopped += info.crossings > 0;
            for (int i = 0; i < 2; ++i) {
                worst = info.momentum_error[i] <= worst ? worst : info.momentum_error[i];
            }
        }
        scene_sim_close(&s);
    }
    TEST_PRINT("%d shots stopped: momentum error %.1e", stopped, worst);
    CHECK(stopped >= 20);
    CHECK_AT_MOST(worst, 1e-9);
}

/* What moves no faster than the rounding of its pose within a step is at rest: a rest of 1e-27 of a
 * velocity of 1e-26 is no error of momentum. */
TEST(a_linkage_at_rest_has_no_momentum_error)
{
    static const char* const setting[] = {"'stepper':'stewart-trinkle'",
                                          "'stepper':'stewart-trinkle','joint_correction':true",
                                          "'stepper':'implicit'", "'stepper':'geometric-implicit'"};
    double worst = 0.0;
    for (size_t k = 0; k < sizeof setting / sizeof setting[0]; ++k) {
        for (uint64_t seed = 0; seed < 8; ++seed) {
            uint64_t r = seed * 104729 + 11;
            double x[4];
            for (int i = 0; i < 4; ++i) {
                x[i] = between(&r, 1.0, 50.0);
            }
            scene_sim s = scene_sim_quoted(
                "{'step':0.011,'duration':0.3,%s,'joints':["
                "{'name':'j0','type':'universal','a':'a','b':'b','at':[%.9g,%.9g,%.9g],'axis':[1,0,"
                "0]},"
                "{'name':'j1','type':'spherical','a':'b','b':'c','at':[%.9g,%.9g,%.9g]}],'bodies':["
                "{'name':'a','mass':355,'inertia':[5,6,7],'position':[%.9g,0.1,3],"
                "'axis_angle':[0.3,0.5,0.8,%.9g]},"
                "{'name':'b','mass':2e7,'inertia':[8e6,9e6,7e6],'position':[0.1,%.9g,3],"
                "'axis_angle':[0.1,0.9,0.2,%.9g]},"
                "{'name':'c','mass':1.7,'inertia':[1,2,1.5],'position':[1,0.1,%.9g]}]}",
                setting[k], x[0], x[1], x[2], x[2], x[3], x[1], x[0], x[1], x[2], x[3],
                x[0] + x[1]);
            REQUIRE(s.sim != NULL);
            while (!perp_sim_finished(s.sim)) {
                REQUIRE(perp_sim_step(s.sim) == PERP_OK);
                const perp_step_info info = perp_sim_step_info(s.sim);
                for (int i = 0; i < 2; ++i) {
                    worst = info.momentum_error[i] <= worst ? worst : info.momentum_error[i];
                }
            }
            scene_sim_close(&s);
        }
    }
    TEST_PRINT("momentum error of linkages at rest: %.1e", worst);
    CHECK_AT_MOST(worst, 1e-9);
}

/* Both phases of an impact by Poisson's law displace the poses by what they do together. Where the
 * floor acts in the first phase only (restitution is reduced to 0, or energy would grow), bodies
 * are not free in the frame of the second. */
TEST(the_two_phases_of_an_impact_share_their_account)
{
    double worst = 0.0;
    int silent =
        0; /* decompressions in which the floor does not act, after compressions in which it did */
    for (uint64_t seed = 0; seed < 6; ++seed) {
        uint64_t r = seed * 7919 + 3;
        double u[4];
        for (int i = 0; i < 4; ++i) {
            u[i] = between(&r, 0.9, 1.1);
        }
        scene_sim s = scene_sim_quoted(
            "{'step':0.0253,'duration':0.25,'contact':'peg','friction':{'cone':'none'},"
            "'restitution':{'law':'poisson','e':1},'bodies':["
            "{'name':'floor','type':'static','shapes':[{'type':'plane','normal':[0,0,1]}]},"
            "{'name':'a','position':[0.0124,0.0224,0.2031],'mass':240,'velocity':[-0.89,-0.85,%.9g]"
            ","
            "'angular_velocity':[%.9g,0,-0.09],'shapes':[{'type':'box','size':[0.638,0.558,0.4059]}"
            "]"
            "},"
            "{'name':'b','position':[-0.0024,-0.025,0.6541],'mass':101,"
            "'shapes':[{'type':'box','size':[0.319,0.245,0.4958]}]},"
            "{'name':'c','position':[-0.0009,-0.0007,1.1745],'mass':55,'velocity':[-0.96,-0.83,%."
            "9g],"
            "'angular_velocity':[%.9g,0.0162,-0.021],'shapes':[{'type':'box','size':[0.3,0.222,0."
            "545]}]},"
            "{'name':'d','position':[0.0347,0.0099,1.7332],'mass':620,"
            "'shapes':[{'type':'box','size':[0.264,0.352,0.5723]}]},"
            "{'name':'e','position':[0.0244,0.0047,2.1725],'mass':91,"
            "'shapes':[{'type':'box','size':[0.299,0.326,0.3060]}]}]}",
            -0.26 * u[0], -0.716 * u[1], -1.79 * u[2], 0.05 * u[3]);
        REQUIRE(s.sim != NULL);
        bool floor_acted = false;
        while (!perp_sim_finished(s.sim)) {
            REQUIRE(perp_sim_step(s.sim) == PERP_OK);
            const perp_step_info info = perp_sim_step_info(s.sim);
            int32_t count = 0;
            const perp_contact* contact = perp_sim_contacts(s.sim, &count);
            bool floor_acts = false;
            for (int32_t i = 0; i < count; ++i) {
                floor_acts = floor_acts || (contact[i].body_a == 0 && contact[i].impulse[0] != 0.0);
            }
            silent += info.kind == PERP_STEP_DECOMPRESSION && floor_acted && !floor_acts;
            floor_acted = floor_acts;
            for (int i = 0; i < 2; ++i) {
                worst = info.momentum_error[i] <= worst ? worst : info.momentum_error[i];
            }
        }
        scene_sim_close(&s);
    }
    TEST_PRINT("the floor acts in the first phase only, %d times: momentum error %.1e", silent,
               worst);
    CHECK(silent > 0);
    CHECK_AT_MOST(worst, 1e-9);
}
