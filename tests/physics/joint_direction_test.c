/* The directions of joints at the start or the middle of a step: orders, energy, momentum, and what
 * such steps are combined with. */
#include <string.h>

#include "perp_test.h"
#include "support/scene_sim.h"

static const double G = 9.81;

/* ---- order of convergence --------------------------------------------------------------------------*/

/* Bodies and joints of mechanisms that swing, with inertias that differ about their axes. */
static const char double_pendulum[] =
    "'gravity':[0,0,-9.81],'bodies':["
    "{'name':'a','mass':1,'inertia':[0.02,0.09,0.07],'position':[0.5,0,0],"
    "'velocity':[0,1,0],'angular_velocity':[0,0,2]},"
    "{'name':'b','mass':0.7,'inertia':[0.03,0.05,0.08],'position':[1.5,0,0],"
    "'velocity':[0,2.4,0],'angular_velocity':[1,0.4,0.8]}],"
    "'joints':[{'name':'i','type':'spherical','a':'world','b':'a','at':[0,0,0]},"
    "{'name':'j','type':'spherical','a':'a','b':'b','at':[1,0,0]}]";
static const char pendulum[] =
    "'dimension':2,'gravity':[0,-9.81],'bodies':["
    "{'name':'b','mass':1,'inertia':0.1,'position':[1,0]}],"
    "'joints':[{'name':'i','type':'revolute','a':'world','b':'b','at':[0,0]}]";
/* A slider on a turning arm: the direction of its rows turns with the arm. */
static const char slider[] =
    "'gravity':[0,0,-9.81],'bodies':["
    "{'name':'a','mass':1,'inertia':[0.02,0.09,0.07],'position':[0.2,0,0],"
    "'velocity':[0,0.3,0],'angular_velocity':[0,0,1.5]},"
    "{'name':'b','mass':0.5,'inertia':[0.01,0.02,0.03],'position':[0.6,0,0],"
    "'velocity':[0.4,0.9,0],'angular_velocity':[0,0,1.5]}],"
    "'joints':[{'name':'i','type':'universal','a':'world','b':'a','at':[0,0,0],'axis':[0,0,1]},"
    "{'name':'j','type':'prismatic','a':'a','b':'b','at':[0.6,0,0],'axis':[1,0,0]}]";
/* Damping, a motor that saturates, and dry friction are rows of the same problem. */
static const char driven[] =
    "'gravity':[0,0,-9.81],'bodies':["
    "{'name':'a','mass':1,'inertia':[0.02,0.09,0.07],'position':[0.5,0,0]},"
    "{'name':'b','mass':0.7,'inertia':[0.03,0.05,0.08],'position':[1.5,0,0]}],"
    "'joints':[{'name':'i','type':'revolute','a':'world','b':'a','at':[0,0,0],'axis':[0,1,0],"
    "'damping':0.4,'motor':{'type':'effort','target':'3*cos(2*t)'}},"
    "{'name':'j','type':'revolute','a':'a','b':'b','at':[1,0,0],'axis':[0,1,0],'damping':0.2,"
    "'motor':{'type':'velocity','target':20,'max_effort':1.5}}]";

static bool run_to_end(const char* parts, double h, const char* direction, double x[3])
{
    scene_sim s = scene_sim_open("{'step':%.17g,'duration':0.8,'joint_direction':'%s',%s}", h,
                                 direction, parts);
    bool good = s.sim != NULL;
    int32_t others = 0;
    while (good && !perp_sim_finished(s.sim)) {
        good = perp_sim_step(s.sim) == PERP_OK;
        others += perp_sim_step_info(s.sim).corrections != -2;
    }
    /* at rest and tiny h the rounding of poses / h exceeds the tolerance */
    good = good && (strcmp(direction, "start") == 0 || others <= 3);
    if (good) {
        memcpy(x, scene_sim_body(&s, "b").position, 3 * sizeof *x);
    } else {
        TEST_PRINT("%s", s.sim != NULL ? perp_context_error(s.context) : s.error);
    }
    scene_sim_close(&s);
    return good;
}

static double distance(const double a[3], const double b[3])
{
    return sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) +
                (a[2] - b[2]) * (a[2] - b[2]));
}

TEST(directions_at_the_middle_are_of_second_order_and_those_of_the_start_of_first)
{
    static const struct {
        const char *name, *parts;
    } scene[] = {{"pendulum", pendulum},
                 {"double pendulum in space", double_pendulum},
                 {"slider on an arm", slider},
                 {"driven arm", driven}};
    for (size_t i = 0; i < sizeof scene / sizeof scene[0]; ++i) {
        double exact[3], error[2][3];
        REQUIRE(run_to_end(scene[i].parts, 0.8 / 8192, "middle", exact));
        for (int k = 0; k < 3; ++k) {
            const double h = 0.8 / (double)(128 << k);
            double x[3];
            REQUIRE(run_to_end(scene[i].parts, h, "middle", x));
            error[0][k] = distance(x, exact);
            REQUIRE(run_to_end(scene[i].parts, h, "start", x));
            error[1][k] = distance(x, exact);
        }
        TEST_PRINT("%s: middle %.2e, order %.2f; start %.2e, order %.2f", scene[i].name,
                   error[0][2], log2(error[0][1] / error[0][2]), error[1][2],
                   log2(error[1][1] / error[1][2]));
        CHECK_NEAR(log2(error[0][0] / error[0][1]), 2.0, 0.15);
        CHECK_NEAR(log2(error[0][1] / error[0][2]), 2.0, 0.15);
        if (scene[i].parts != slider) { /* of which the first error happens to vanish */
            CHECK_NEAR(log2(error[1][1] / error[1][2]), 1.0, 0.15);
        }
    }
}

/* ---- a chain that whips ------------------------------------------------------------------------------*/

/* A hundred links of 0.1 m and 0.1 kg, released level; where: of the first joint, "world" or none. */
static scene_sim open_chain(double h, double duration, const char* settings, bool held)
{
    enum { LINKS = 100 };
    char* text = malloc(512 * (size_t)LINKS + 512);
    int at = sprintf(text, "{'gravity':[0,0,%g],'step':%.17g,'duration':%g,%s'bodies':[",
                     held ? -G : 0.0, h, duration, settings);
    for (int i = 0; i < LINKS; ++i) {
        at += sprintf(text + at,
                      "%s{'name':'l%d','mass':0.1,'inertia':[6.67e-6,8.67e-5,8.67e-5],"
                      "'position':[%.17g,0,0],'velocity':[0,0,%.17g]}",
                      i > 0 ? "," : "", i, 0.1 * (i + 0.5), held ? 0.0 : 0.05 * (i % 7));
    }
    at += sprintf(text + at, "],'joints':[");
    for (int i = held ? 0 : 1; i < LINKS; ++i) {
        char a[16] = "world";
        if (i > 0) {
            sprintf(a, "l%d", i - 1);
        }
        at += sprintf(text + at,
                      "%s{'name':'j%d','type':'spherical','a':'%s','b':'l%d','at':[%.17g,0,0]}",
                      i > (held ? 0 : 1) ? "," : "", i, a, i, 0.1 * i);
    }
    sprintf(text + at, "]}");
    scene_sim s = scene_sim_open("%s", text);
    free(text);
    return s;
}

/* Largest change of the energy, relative to the weight times 5 m, and largest error of a joint.
 * Returns the mean number of iterations of middle steps. */
static double run_chain(double h, const char* settings, double* energy, double* gap)
{
    int32_t middle = 0, iterations = 0;
    scene_sim s = open_chain(h, 2.0, settings, true);
    CHECK(s.sim != NULL);
    const double first = perp_sim_energy(s.sim).total;
    double unexplained = 0.0;
    *energy = *gap = 0.0;
    while (!perp_sim_finished(s.sim) && perp_sim_step(s.sim) == PERP_OK) {
        const perp_step_info info = perp_sim_step_info(s.sim);
        const double off = fabs(perp_sim_energy(s.sim).total - first) / (10.0 * G * 5.0);
        middle += info.corrections == -2;
        iterations += info.corrections == -2 ? info.report.iterations : 0;
        *energy = off <= *energy ? *energy : off;
        *gap = info.joint_error[0] <= *gap ? *gap : info.joint_error[0];
        const double part = fabs(info.ledger.unexplained) / (info.ledger.magnitude + 1e-3);
        unexplained = part <= unexplained ? unexplained : part;
    }
    TEST_PRINT("h %g, %s energy %.1e, gap %.1e, unexplained %.1e", h, settings, *energy, *gap,
               unexplained);
    CHECK(perp_sim_finished(s.sim));
    CHECK_AT_MOST(unexplained, 1e-9);
    scene_sim_close(&s);
    return (double)iterations / middle;
}

TEST(a_chain_that_whips_keeps_together_and_keeps_its_energy)
{
    double energy, gap;
    /* the tension of its joints tells that a step of the start would not be closed: without one before it */
    CHECK_AT_MOST(run_chain(0.005, "'joint_correction':true,", &energy, &gap), 7.0);
    CHECK_AT_MOST(energy, 1e-2);
    CHECK_AT_MOST(gap, 1e-12);
    (void)run_chain(0.005, "'joint_correction':true,'joint_direction':'middle',", &energy, &gap);
    CHECK_AT_MOST(energy, 1e-3);
    CHECK_AT_MOST(gap, 1e-12);
    (void)run_chain(0.01, "'joint_direction':'middle',", &energy, &gap);
    CHECK_AT_MOST(energy, 1e-3);
    CHECK_AT_MOST(gap, 1e-12);
}

/* Up to 32 joints the choice does not depend on the correction. */
TEST(a_long_chain_has_middle_steps_by_default_unless_it_is_corrected)
{
    for (int corrected = 0; corrected < 2; ++corrected) {
        scene_sim s = open_chain(0.005, 0.05, corrected ? "'joint_correction':true," : "", true);
        REQUIRE(s.sim != NULL);
        while (!perp_sim_finished(s.sim)) {
            REQUIRE_OK(perp_sim_step(s.sim));
            CHECK_EQ_INT(perp_sim_step_info(s.sim).corrections == -2, !corrected);
        }
        scene_sim_close(&s);
    }
}

TEST(a_floating_chain_keeps_its_momentum_to_rounding)
{
    scene_sim s = open_chain(0.01, 2.0, "'joint_direction':'middle',", false);
    REQUIRE(s.sim != NULL);
    double before[2][3], after[2][3], worst = 0.0;
    perp_sim_momentum(s.sim, before[0], before[1]);
    while (!perp_sim_finished(s.sim)) {
        REQUIRE_OK(perp_sim_step(s.sim));
        CHECK_EQ_INT(perp_sim_step_info(s.sim).corrections, -2);
        for (int k = 0; k < 2; ++k) {
            const double error = perp_sim_step_info(s.sim).momentum_error[k];
            worst = error <= worst ? worst : error;
        }
    }
    perp_sim_momentum(s.sim, after[0], after[1]);
    const double size = sqrt(before[1][0] * before[1][0] + before[1][1] * before[1][1] +
                             before[1][2] * before[1][2]);
    TEST_PRINT("account %.1e, angular momentum %.1e of %.2g", worst, distance(after[1], before[1]),
               size);
    CHECK_AT_MOST(worst, 1e-13);
    CHECK_AT_MOST(distance(after[0], before[0]), 1e-12);
    CHECK_AT_MOST(distance(after[1], before[1]), 1e-12 * size + 1e-12);
    scene_sim_close(&s);
}

/* Linkages that nothing holds, thrown so that they turn by a radian a step. */
static const char thrown_pair[] =
    "'dimension':2,'gravity':[1.5,-9.81],'bodies':["
    "{'name':'a','mass':0.7,'inertia':0.02,'position':[0.5,0],'velocity':[3,20]},"
    "{'name':'b','mass':0.5,'inertia':0.01,'position':[-0.5,0],'velocity':[-6,-5]}],"
    "'joints':[{'name':'i','type':'revolute','a':'a','b':'b','at':[0,0]%s}]%s";
static const char thrown_triple[] =
    "'gravity':[1,2,-9.81],'bodies':["
    "{'name':'a','mass':1,'inertia':[0.02,0.09,0.07],'position':[-1,0,0],'velocity':[3,0,14]},"
    "{'name':'b','mass':0.7,'inertia':[0.03,0.05,0.08],'position':[0,0,0],'velocity':[2,9,-3],"
    "'angular_velocity':[1,2,3]},"
    "{'name':'c','mass':0.4,'inertia':[0.01,0.02,0.02],'position':[1,0,0],'velocity':[0,-4,8]}],"
    "'joints':[{'name':'i','type':'spherical','a':'a','b':'b','at':[-0.5,0,0]},"
    "{'name':'j','type':'revolute','a':'b','b':'c','at':[0.5,0,0],'axis':[0,1,0]%s}]%s";

/* L - c x P: the angular momentum about the centre of mass, from the states of the bodies. */
static void own_momentum(const scene_sim* s, const char* const* name, const double* mass, int count,
                         double own[3])
{
    double P[3], L[3], c[3] = {0}, total = 0.0;
    perp_sim_momentum(s->sim, P, L);
    for (int i = 0; i < count; ++i) {
        const perp_body_state b = scene_sim_body(s, name[i]);
        total += mass[i];
        for (int k = 0; k < 3; ++k) {
            c[k] += mass[i] * b.position[k];
        }
    }
    for (int k = 0; k < 3; ++k) {
        const int i = (k + 1) % 3, j = (k + 2) % 3;
        own[k] = L[k] - (c[i] * P[j] - c[j] * P[i]) / total;
    }
}

/* The weight acts at the centre of mass half way: the account has its moment there, and the linkage keeps the
 * angular momentum about its own centre of mass. */
TEST(a_linkage_in_free_fall_keeps_its_own_momentum_in_middle_steps)
{
    static const struct {
        const char *parts, *of_joint, *more;
        bool alone; /* no force but the weight */
    } scene[] = {
        {thrown_pair, "", "", true},
        {thrown_pair, ",'limits':[-100,100],'friction':0.02", "", true},
        {thrown_pair, ",'motor':{'type':'effort','target':'sin(40*t)'}", "", true},
        {thrown_pair, "",
         ",'forces':[{'type':'drag','body':'a','linear':0.3,'angular':0.01},"
         "{'type':'wrench','body':'b','force':[2,'30*t'],'torque':0.2,'at':[0.1,0.2]}]",
         false},
        {thrown_triple, "", "", true},
        {thrown_triple, ",'damping':0.05,'limits':[-100,100]", "", true},
        {thrown_triple, "",
         ",'forces':[{'type':'drag','body':'a','linear':0.3,'angular':0.01},"
         "{'type':'wrench','body':'c','frame':'body','force':[2,3,'30*t'],'at':[0.1,0.2,0]}]",
         false},
    };
    static const char* const direction[] = {"'joint_correction':true",
                                            "'joint_correction':true,'joint_direction':'middle'",
                                            "'joint_direction':'middle'"};
    static const char* const name[] = {"a", "b", "c"};
    static const double mass[2][3] = {{0.7, 0.5, 0.0}, {1.0, 0.7, 0.4}};
    for (size_t i = 0; i < 3 * sizeof scene / sizeof scene[0]; ++i) {
        const bool spatial = scene[i / 3].parts == thrown_triple;
        char parts[2048];
        snprintf(parts, sizeof parts, scene[i / 3].parts, scene[i / 3].of_joint, scene[i / 3].more);
        scene_sim s =
            scene_sim_open("{'step':0.03,'duration':0.95,%s,%s}", direction[i % 3], parts);
        if (s.sim == NULL) {
            TEST_PRINT("%s", s.error);
        }
        REQUIRE(s.sim != NULL);
        double before[3], after[3], account = 0.0;
        int32_t middle = 0;
        own_momentum(&s, name, mass[spatial], spatial ? 3 : 2, before);
        while (!perp_sim_finished(s.sim)) {
            REQUIRE_OK(perp_sim_step(s.sim));
            const perp_step_info info = perp_sim_step_info(s.sim);
            middle += info.corrections == -2;
            for (int k = 0; k < 2; ++k) {
                account = info.momentum_error[k] <= account ? account : info.momentum_error[k];
            }
        }
        own_momentum(&s, name, mass[spatial], spatial ? 3 : 2, after);
        TEST_PRINT("%zu: %d middle steps, account %.1e, own momentum %.1e", i, middle, account,
                   distance(before, after));
        CHECK(middle > 0);
        CHECK_AT_MOST(account, 1e-10); /* middle steps are solved to 1e-11 */
        if (scene[i / 3].alone) {
            CHECK_AT_MOST(distance(before, after), 1e-9);
        }
        scene_sim_close(&s);
    }
}

/* Rows of springs, controllers and supports are laws of the end of a step. Where joint_correction
 * cannot close the joints, such scenes have no middle step. */
TEST(a_scene_with_laws_of_the_end_of_a_step_takes_no_middle_steps)
{
    static const struct {
        const char* more;
        bool middle;
    } scene[] = {
        {"", true},
        {",'forces':[{'type':'spring','a':'a','b':'b','stiffness':40,'damping':0.1}]", false},
        {",'forces':[{'type':'spring','a':'a','b':'b','stiffness':40,'rest':0}]", false},
        {",'controllers':[{'type':'pd','joint':'i','kp':3,'kd':0.1,'target':1}]", false},
        {",'controllers':[{'type':'pid','body':'a','axis':[1,0],'kp':3,'ki':1,'target':1}]", false},
    };
    for (size_t i = 0; i < sizeof scene / sizeof scene[0]; ++i) {
        char parts[1024];
        snprintf(parts, sizeof parts, thrown_pair, "", scene[i].more);
        scene_sim s =
            scene_sim_open("{'step':0.03,'duration':0.95,'joint_correction':true,%s}", parts);
        if (s.sim == NULL) {
            TEST_PRINT("%s", s.error);
        }
        REQUIRE(s.sim != NULL);
        double unexplained = 0.0, momentum = 0.0;
        int32_t middle = 0;
        while (!perp_sim_finished(s.sim)) {
            REQUIRE_OK(perp_sim_step(s.sim));
            const perp_step_info info = perp_sim_step_info(s.sim);
            /* nothing but rounding in a middle step of a body that no force acts on */
            const double part = fabs(info.ledger.unexplained) /
                                (info.ledger.magnitude + perp_sim_energy(s.sim).kinetic);
            unexplained = part <= unexplained ? unexplained : part;
            momentum = info.momentum_error[1] <= momentum ? momentum : info.momentum_error[1];
            middle += info.corrections == -2;
        }
        TEST_PRINT("%s: %d middle steps, unexplained %.1e, momentum %.1e", scene[i].more, middle,
                   unexplained, momentum);
        CHECK((middle > 0) == scene[i].middle);
        CHECK_AT_MOST(unexplained, 1e-11);
        CHECK_AT_MOST(momentum, 1e-12);
        scene_sim_close(&s);
    }
}

/* ---- together with other features ------------------------------------------------------------------*/

/* A linkage with all kinds of rows that falls on a floor; the last step is not of the length h. */
static const char machine[] =
    "{'gravity':[0,0,-9.81],'step':0.004,'duration':0.901,'joint_direction':'middle',%s"
    "'friction':{'default':0.4},'bodies':["
    "{'name':'floor','type':'static','shapes':[{'type':'plane','normal':[0,0,1]}]},"
    "{'name':'crank','type':'kinematic','position':[0,0,3],'motion':{'position':"
    "['0.2*sin(5*t)',0,3]},'shapes':[{'type':'sphere','radius':0.05}]},"
    "{'name':'a','mass':1,'position':[0.5,0,3],'shapes':[{'type':'box','size':[0.8,0.1,0.1]}]},"
    "{'name':'b','mass':1,'position':[1.5,0,3],'shapes':[{'type':'box','size':[0.8,0.1,0.2]}]},"
    "{'name':'c','density':800,'position':[-1,0,0.9],'angular_velocity':[4,0,1],"
    "'shapes':[{'type':'box','size':[0.3,0.2,0.1]}]},"
    "{'name':'d','density':800,'position':[-1,0,1.2],"
    "'shapes':[{'type':'box','size':[0.1,0.3,0.1]}]}],"
    "'joints':[{'name':'i','type':'revolute','a':'crank','b':'a','at':[0,0,3],'axis':[0,1,0],"
    "'friction':0.2,'limits':[-0.7,3]},"
    "{'name':'j','type':'universal','a':'a','b':'b','at':[1,0,3],'axis':[0,1,0]},"
    "{'name':'k','type':'cylindrical','a':'c','b':'d','at':[-1,0,1],'axis':[0,0.6,0.8]}]}";

TEST(a_machine_with_contacts_and_limits_is_verified_and_resumed_with_the_same_bits)
{
    static const char* const settings[] = {"", "'joint_correction':true,", "'restitution':0.6,"};
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; ++i) {
        scene_sim s = scene_sim_open(machine, settings[i]);
        if (s.sim == NULL) {
            TEST_PRINT("%s", s.error);
        }
        REQUIRE(s.sim != NULL);
        perp_recorder* recorder = NULL;
        int32_t middle = 0, steps = 0;
        REQUIRE_OK(perp_recorder_create(s.context, "direction.h5", s.scene, s.sim, &recorder));
        while (!perp_sim_finished(s.sim)) {
            REQUIRE_OK(perp_sim_step(s.sim));
            REQUIRE_OK(perp_recorder_step(recorder, s.sim, 0.0));
            middle += perp_sim_step_info(s.sim).corrections == -2;
            steps += 1;
        }
        REQUIRE_OK(perp_recorder_finish(recorder, s.sim));
        perp_recorder_destroy(recorder);
        TEST_PRINT("%s %d of %d steps are middle steps", settings[i], (int)middle, (int)steps);
        CHECK(middle > 20 && middle < steps);
        perp_verification verification;
        REQUIRE_OK(perp_recording_verify(s.context, "direction.h5", &verification));
        CHECK(verification.intact && verification.same_bits);
        CHECK_AT_MOST(verification.worst.worst, 1e-8);
        CHECK(verification.ledger_frame < 0);
        scene_sim again = scene_sim_open(machine, settings[i]);
        perp_recording* recording = NULL;
        REQUIRE_OK(perp_recording_open(s.context, "direction.h5", &recording));
        REQUIRE_OK(perp_recording_restore(recording, 33, again.sim));
        perp_recording_close(recording);
        CHECK_AT_MOST(scene_sim_run(&again), 1e-8);
        CHECK_EQ_INT(memcmp(perp_sim_q(s.sim), perp_sim_q(again.sim),
                            (size_t)perp_sim_q_size(s.sim) * sizeof(double)),
                     0);
        scene_sim_close(&again);
        scene_sim_close(&s);
        remove("direction.h5");
    }
}

/* Rods of 5 cm at h = 10 ms: some of the steps are found by following them from short ones (middle_path.c). */
TEST(steps_of_radians_with_joint_correction_are_verified_and_resumed_with_the_same_bits)
{
    static const char* const rods =
        "{'gravity':[0,3,-9.81],'step':0.01,'duration':4,'joint_correction':true,'bodies':["
        "{'name':'a','density':500,'position':[0.025,0,0],"
        "'shapes':[{'type':'box','size':[0.045,0.005,0.005]}]},"
        "{'name':'b','density':500,'position':[0.075,0,0],"
        "'shapes':[{'type':'box','size':[0.045,0.005,0.005]}]}],"
        "'joints':[{'name':'i','type':'spherical','a':'world','b':'a','at':[0,0,0]},"
        "{'name':'j','type':'spherical','a':'a','b':'b','at':[0.05,0.01,0]}]}";
    scene_sim s = scene_sim_open("%s", rods);
    REQUIRE(s.sim != NULL);
    perp_recorder* recorder = NULL;
    int32_t middle = 0, followed = 0;
    REQUIRE_OK(perp_recorder_create(s.context, "radians.h5", s.scene, s.sim, &recorder));
    while (!perp_sim_finished(s.sim)) {
        const uint64_t before = perp_context_allocations(s.context);
        REQUIRE_OK(perp_sim_step(s.sim));
        CHECK(middle < 10 || perp_context_allocations(s.context) == before);
        REQUIRE_OK(perp_recorder_step(recorder, s.sim, 0.0));
        middle += perp_sim_step_info(s.sim).corrections == -2;
        followed += perp_sim_step_info(s.sim).report.iterations > 25;
    }
    REQUIRE_OK(perp_recorder_finish(recorder, s.sim));
    perp_recorder_destroy(recorder);
    TEST_PRINT("%d steps are middle steps, %d of them followed", (int)middle, (int)followed);
    CHECK_EQ_INT(middle, 400);
    CHECK(followed > 0);
    perp_verification verification;
    REQUIRE_OK(perp_recording_verify(s.context, "radians.h5", &verification));
    CHECK(verification.intact && verification.same_bits);
    CHECK_AT_MOST(verification.worst.worst, 1e-8);
    CHECK(verification.ledger_frame < 0);
    scene_sim again = scene_sim_open("%s", rods);
    perp_recording* recording = NULL;
    REQUIRE_OK(perp_recording_open(s.context, "radians.h5", &recording));
    REQUIRE_OK(perp_recording_restore(recording, 150, again.sim));
    perp_recording_close(recording);
    CHECK_AT_MOST(scene_sim_run(&again), 1e-8);
    CHECK_EQ_INT(memcmp(perp_sim_q(s.sim), perp_sim_q(again.sim),
                        (size_t)perp_sim_q_size(s.sim) * sizeof(double)),
                 0);
    scene_sim_close(&again);
    scene_sim_close(&s);
    remove("radians.h5");
}

TEST(a_limit_stops_a_pendulum_as_with_directions_of_the_start)
{
    scene_sim s = scene_sim_open(
        "{'dimension':2,'gravity':[0,-9.81],'step':0.005,'duration':3,"
        "'joint_direction':'middle','bodies':[{'name':'b','mass':1,'inertia':0.1,"
        "'position':[1,0]}],'joints':[{'name':'i','type':'revolute','a':'world','b':'b',"
        "'at':[0,0],'limits':[-0.6,3]}]}");
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
    CHECK_NEAR(perp_sim_joint(s.sim, 0).coordinate[0], -0.6, 1e-9);
    CHECK_NEAR(scene_sim_body(&s, "b").angular_velocity[2], 0.0, 1e-9);
    scene_sim_close(&s);
}

TEST(a_redundant_loop_takes_middle_steps)
{
    scene_sim s = scene_sim_open(
        "{'gravity':[0,0,-9.81],'step':0.005,'duration':1,'joint_direction':'middle',"
        "'bodies':[{'name':'b','mass':1,'inertia':[0.1,0.2,0.3],'position':[1,0,0]}],'joints':["
        "{'name':'i','type':'revolute','a':'world','b':'b','at':[0,0,0],'axis':[0,1,0]},"
        "{'name':'j','type':'revolute','a':'world','b':'b','at':[0,0.5,0],'axis':[0,1,0]}]}");
    REQUIRE(s.sim != NULL);
    const double first = perp_sim_energy(s.sim).total;
    while (!perp_sim_finished(s.sim)) {
        REQUIRE_OK(perp_sim_step(s.sim));
        CHECK_EQ_INT(perp_sim_step_info(s.sim).corrections, -2);
    }
    CHECK_NEAR(perp_sim_energy(s.sim).total, first, 1e-3 * G);
    scene_sim_close(&s);
}

TEST(what_middle_steps_do_not_take_is_refused_with_the_reason)
{
    static const struct {
        const char *settings, *reason;
    } refused[] = {
        {"'joint_direction':'end'", "joint_direction: must be auto, start or middle"},
        {"'joint_direction':'middle','stepper':'implicit'", "goes with the stepper"},
        {"'joint_direction':'middle','step':{'error':1e-6}", "adaptive"},
        {"'joint_direction':'middle','forces':[{'type':'spring','a':'world','b':'b',"
         "'stiffness':1}]",
         "springs"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; ++i) {
        scene_sim s = scene_sim_open("{%s,%s}", refused[i].settings, pendulum);
        CHECK(s.sim == NULL);
        CHECK(strstr(s.error, refused[i].reason) != NULL);
        TEST_PRINT("%s", s.error);
        scene_sim_close(&s);
    }
}

/* ---- where perp chooses ---------------------------------------------------------------------------*/

#define ROD(name, x, z)                                                                            \
    "{'name':'" name "','mass':1,'position':[" x ",0," z                                           \
    "],'shapes':[{'type':'box','size':[0.5,0.1,0.1]}]}"
#define HINGE(name, a, b, x)                                                                       \
    "{'name':'" name "','type':'revolute','a':'" a "','b':'" b "','at':[" x ",0,0],'axis':[0,1,0]" \
    "}"
#define PLANE(z)                                                                                   \
    "{'name':'floor','type':'static','shapes':[{'type':'plane','normal':[0,0,1],'offset':" z "}]}"
#define BLOCK(x)                                                                                   \
    "{'name':'block','type':'static','position':[" x                                               \
    ",0,0],'shapes':[{'type':'box','size':[0.2,0.2,0.2]}]}"

TEST(open_mechanisms_that_meet_nothing_have_middle_steps)
{
    static const struct {
        const char *bodies, *joints, *more;
        bool middle;
    } scene[] = {
        {ROD("a", "0.25", "0"), HINGE("i", "world", "a", "0"), "", true},
        {ROD("a", "0.25", "0"), HINGE("i", "world", "a", "0"), ",'joint_direction':'start'", false},
        {ROD("a", "0.25", "0"), HINGE("i", "world", "a", "0"), ",'joint_correction':true", true},
        {ROD("a", "0.25", "0"), HINGE("i", "world", "a", "0"), ",'rotation':'linear'", false},
        {ROD("a", "0.25", "0"), HINGE("i", "world", "a", "0"), ",'stepper':'anitescu-potra'",
         false},
        {ROD("a", "0.25", "0"), HINGE("i", "world", "a", "0"),
         ",'forces':[{'type':'spring','a':'world','b':'a','stiffness':1}]", false},
        {ROD("a", "0.25", "0"),
         "{'name':'i','type':'revolute','a':'world','b':'a','at':[0,0,0],'axis':[0,1,0],"
         "'limits':[-1,1]}",
         "", false},
        {ROD("a", "0.25", "0"),
         "{'name':'i','type':'revolute','a':'world','b':'a','at':[0,0,0],'axis':[0,1,0],"
         "'damping':1}",
         "", false},
        {ROD("a", "0.25", "0"), HINGE("i", "world", "a", "0") "," HINGE("j", "world", "a", "0.5"),
         "", false},
        /* an open pair and a closed loop, with as many joints as bodies */
        {ROD("a", "0.25", "0") "," ROD("b", "0.75", "0") "," ROD("c", "9", "0") "," ROD("d", "9.5",
                                                                                        "0"),
         HINGE("i", "a", "b", "0.5") "," HINGE("j", "world", "c", "8.75") "," HINGE(
             "k", "c", "d", "9.25") "," HINGE("l", "d", "world", "9.75"),
         ",'contact':'standard'", false},
        /* a floor and a block within reach, and out of it: the rods reach to 1.05 m and 9.05 m */
        {ROD("a", "0.25", "0") "," PLANE("-0.5"), HINGE("i", "world", "a", "0"), "", false},
        {ROD("a", "0.25", "0") "," PLANE("-0.6"), HINGE("i", "world", "a", "0"), "", true},
        {ROD("a", "0.25", "0") "," ROD("b", "0.75", "0") "," PLANE("-0.9"),
         HINGE("i", "world", "a", "0") "," HINGE("j", "a", "b", "0.5"), "", false},
        {ROD("a", "0.25", "0") "," ROD("b", "0.75", "0") "," PLANE("-1.1"),
         HINGE("i", "world", "a", "0") "," HINGE("j", "b", "a", "0.5"), "", true},
        {ROD("a", "0.25", "0") "," BLOCK("-0.6"), HINGE("i", "world", "a", "0"), "", false},
        {ROD("a", "0.25", "0") "," BLOCK("-0.8"), HINGE("i", "world", "a", "0"), "", true},
        {ROD("a", "0.25", "0") "," BLOCK("0"), HINGE("i", "block", "a", "0"), "", true},
        /* two pendulums, and one that nothing holds */
        {ROD("a", "0.25", "0") "," ROD("b", "1.0", "0"),
         HINGE("i", "world", "a", "0") "," HINGE("j", "world", "b", "0.75"), "", false},
        {ROD("a", "0.25", "0") "," ROD("b", "1.75", "0"),
         HINGE("i", "world", "a", "0") "," HINGE("j", "world", "b", "1.5"), "", true},
        {ROD("a", "0.25", "0") "," ROD("b", "0.75", "0") "," PLANE("-9"),
         HINGE("i", "a", "b", "0.5"), "", false},
        {ROD("a", "0.25", "0") "," PLANE("-9"),
         "{'name':'i','type':'prismatic','a':'world','b':'a','at':[0,0,0],'axis':[0,0,1]}", "",
         false},
    };
    for (size_t i = 0; i < sizeof scene / sizeof scene[0]; ++i) {
        scene_sim s = scene_sim_open(
            "{'gravity':[0,0,-9.81],'step':0.01,'duration':0.1,'bodies':[%s],'joints':[%s]%s%s}",
            scene[i].bodies, scene[i].joints, scene[i].more,
            strstr(scene[i].more, "joint_direction") == NULL ? ",'joint_direction':'auto'" : "");
        if (s.sim == NULL) {
            TEST_PRINT("%d: %s", (int)i, s.error);
        }
        REQUIRE(s.sim != NULL);
        REQUIRE_OK(perp_sim_step(s.sim));
        const bool middle = perp_sim_step_info(s.sim).corrections == -2;
        if (middle != scene[i].middle) {
            TEST_PRINT("scene %d", (int)i);
        }
        CHECK(middle == scene[i].middle);
        scene_sim_close(&s);
    }
}

/* The velocity of a point of the rod's axis at the hinge. */
static double speed_at_hinge(const scene_sim* s)
{
    const perp_body_state b = scene_sim_body(s, "a");
    const double* x = b.position;
    const double* w = b.angular_velocity;
    const double u[3] = {b.velocity[0] - (w[1] * x[2] - w[2] * x[1]),
                         b.velocity[1] - (w[2] * x[0] - w[0] * x[2]),
                         b.velocity[2] - (w[0] * x[1] - w[1] * x[0])};
    return sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
}

/* A scene that gives a rod a velocity without the angular velocity that belongs to it. */
TEST(velocities_that_contradict_a_joint_are_not_carried_on)
{
    scene_sim s =
        scene_sim_open("{'gravity':[0,0,-9.81],'step':0.01,'duration':1,'joint_direction':'auto',"
                       "'bodies':[{'name':'a','mass':1,'position':[0.25,0,0],'velocity':[1,0,3],'"
                       "shapes':[{'type':'box','size':[0.5,0.1,0.1]}]}],"
                       "'joints':[" HINGE("i", "world", "a", "0") "]}");
    REQUIRE(s.sim != NULL);
    double worst = 0.0, least = INFINITY, most = 0.0;
    for (int i = 0; i < 50; ++i) {
        REQUIRE_OK(perp_sim_step(s.sim));
        CHECK_EQ_INT(perp_sim_step_info(s.sim).corrections == -2, i > 0);
        const double speed = speed_at_hinge(&s), energy = perp_sim_energy(s.sim).total;
        worst = speed <= worst ? worst : speed;
        least = energy < least ? energy : least;
        most = energy > most ? energy : most;
    }
    TEST_PRINT("%.2e m/s at the hinge, energy %.6g to %.6g J", worst, least, most);
    CHECK_AT_MOST(worst, 0.02);
    CHECK_NEAR(most, least, 1e-3 * fabs(most));
    scene_sim_close(&s);
}

TEST(a_warm_middle_step_asks_for_no_memory)
{
    scene_sim s = scene_sim_open("{'step':0.005,'duration':2,'joint_direction':'middle',%s}",
                                 double_pendulum);
    REQUIRE(s.sim != NULL);
    for (int i = 0; i < 50; ++i) {
        REQUIRE_OK(perp_sim_step(s.sim));
    }
    const uint64_t before = perp_context_allocations(s.context);
    for (int i = 0; i < 50; ++i) {
        REQUIRE_OK(perp_sim_step(s.sim));
    }
    CHECK_EQ_U64(perp_context_allocations(s.context) - before, 0);
    scene_sim_close(&s);
}
