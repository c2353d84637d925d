/* verify agrees with two equal runs: random runs that mix features are made twice, with the same bits, and
 * verified by the tolerance of their scene.
 *
 * PERP_VERIFY_RUNS=2000 makes that many; PERP_VERIFY_SEED=N begins at another seed. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "perp/perp.h"
#include "perp_test.h"
#include "support/scene_sim.h"
#include "support/generate.h"
#include "support/random_scene.h"

typedef struct counts {
    int made, failed, verified, resumed, unsolved;
} counts;

/* Runs to the end or to the first step that fails; false if something else went wrong. */
static bool record_run(perp_context* context, const perp_scene* scene, perp_sim* sim,
                       const char* path, bool* failed)
{
    perp_recorder* recorder = NULL;
    if (perp_recorder_create(context, path, scene, sim, &recorder) != PERP_OK) {
        return false;
    }
    bool good = true;
    while (good && !*failed && !perp_sim_finished(sim)) {
        const perp_status status = perp_sim_step(sim);
        *failed = status == PERP_ERROR_SOLVE;
        good = *failed || (status == PERP_OK && perp_recorder_step(recorder, sim, 0.0) == PERP_OK);
        const perp_step_info info = perp_sim_step_info(sim);
        CHECK(*failed || info.accepted_unsolved || info.certificate.worst <= 1e-8);
    }
    good = good && perp_recorder_finish(recorder, sim) == PERP_OK;
    perp_recorder_destroy(recorder);
    return good;
}

/* The end of a second run, without a recording and with another keep_going, in the bits of the first. */
static bool same_again(perp_context* context, const perp_scene* scene, const perp_sim* first,
                       bool keep_going)
{
    perp_sim_def def = perp_sim_def_from_scene(scene);
    perp_sim* sim = NULL;
    def.keep_going = keep_going;
    if (perp_sim_create_from_scene_def(context, scene, &def, &sim) != PERP_OK) {
        return false;
    }
    bool good = true;
    while (good && perp_sim_step_count(sim) < perp_sim_step_count(first)) {
        good = perp_sim_step(sim) == PERP_OK;
    }
    good = good &&
           memcmp(perp_sim_q(sim), perp_sim_q(first),
                  (size_t)perp_sim_q_size(sim) * sizeof(double)) == 0 &&
           memcmp(perp_sim_v(sim), perp_sim_v(first),
                  (size_t)perp_sim_v_size(sim) * sizeof(double)) == 0;
    perp_sim_destroy(sim);
    return good;
}

static bool verify_run(perp_context* context, const char* path, double tolerance, bool solved,
                       uint64_t seed)
{
    perp_verification verification;
    const perp_status status = perp_recording_verify(context, path, &verification);
    const bool good =
        status == PERP_OK && verification.intact && verification.rerun && verification.same_bits &&
        (!solved || verification.laws_checked == 0 || verification.worst.worst <= tolerance);
    if (!good) {
        TEST_PRINT("seed %d: %s; worst %.3g of %.3g allowed", (int)seed,
                   status == PERP_OK ? verification.message : perp_context_error(context),
                   status == PERP_OK ? verification.worst.worst : NAN, tolerance);
    }
    return good;
}

/* Continues from a frame in the middle into another recording. */
static bool resume_run(perp_context* context, const perp_scene* scene, const char* from,
                       const char* path, bool keep_going, bool* failed)
{
    perp_recording* recording = NULL;
    perp_sim_def def = perp_sim_def_from_scene(scene);
    perp_sim* sim = NULL;
    def.keep_going = keep_going;
    bool good = perp_recording_open(context, from, &recording) == PERP_OK &&
                perp_sim_create_from_scene_def(context, scene, &def, &sim) == PERP_OK;
    good = good && perp_recording_restore(recording, perp_recording_frame_count(recording) / 2,
                                          sim) == PERP_OK;
    good = good && record_run(context, scene, sim, path, failed);
    perp_recording_close(recording);
    perp_sim_destroy(sim);
    return good;
}

static void one_run(uint64_t seed, counts* n)
{
    static const char* const stepper[] = {"stewart-trinkle", "stewart-trinkle", "implicit",
                                          "geometric-implicit", "anitescu-potra"};
    static const char* const contact[] = {"standard", "peg", "lnc", "corrective"};
    uint64_t random = seed;
    const char* chosen = stepper[generate_bits(&random) % 5];
    const bool geometric = strcmp(chosen, "geometric-implicit") == 0;
    const bool plain = strcmp(chosen, "anitescu-potra") == 0;
    const random_scene_spec spec = {
        .seed = seed,
        .dimension = 2 + (int)(generate_bits(&random) % 2),
        .contact = contact[plain ? 0 : generate_bits(&random) % (geometric ? 3 : 4)],
        .stepper = chosen,
        .steps = 3 + (int)(generate_bits(&random) % 8),
        .joints = generate_bits(&random) % 3 == 0,
        .restitution = generate_bits(&random) % 3 == 0,
        .record_every = 1 + (int)(generate_bits(&random) % 3),
    };
    const bool keep_going = generate_bits(&random) % 2 == 0;
    perp_context* context = NULL;
    perp_scene* scene = NULL;
    perp_sim* sim = NULL;
    char* text = random_scene(&spec);
    REQUIRE(text != NULL);
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(scene_parse(context, text, "random", &scene));
    perp_sim_def def = perp_sim_def_from_scene(scene);
    def.keep_going = keep_going;
    REQUIRE_OK(perp_sim_create_from_scene_def(context, scene, &def, &sim));
    bool failed = false, unsolved = false;
    CHECK(record_run(context, scene, sim, "run.h5", &failed));
    unsolved = keep_going && !same_again(context, scene, sim, false);
    /* with keep_going, only a run that needed it may differ from one without */
    CHECK(same_again(context, scene, sim, keep_going || !failed));
    CHECK(verify_run(context, "run.h5", def.tolerance, !unsolved, seed));
    if (spec.record_every == 1 && generate_bits(&random) % 4 == 0) {
        bool again = false;
        CHECK(resume_run(context, scene, "run.h5", "resumed.h5", keep_going, &again));
        CHECK(verify_run(context, "resumed.h5", def.tolerance, !unsolved, seed));
        n->resumed += 1;
    }
    n->made += 1;
    n->failed += failed;
    n->unsolved += unsolved;
    perp_sim_destroy(sim);
    perp_scene_destroy(scene);
    perp_context_destroy(context);
    free(text);
}

#ifdef PERP_TEST_SANITIZED
enum { RUNS = 3 };
#else
enum { RUNS = 40 }; /* PERP_VERIFY_RUNS asks for more, from PERP_VERIFY_SEED on */
#endif

TEST(verify_agrees_with_two_equal_runs)
{
    const char* wanted = getenv("PERP_VERIFY_RUNS");
    const int runs = wanted != NULL && atoi(wanted) > 0 ? atoi(wanted)
                     : perp_test_full()                 ? RUNS
                                                        : RUNS / 3 + 2;
    const char* first = getenv("PERP_VERIFY_SEED");
    const int seed = first != NULL && atoi(first) > 0 ? atoi(first) : 1;
    counts n = {0};
    for (int i = 0; i < runs; ++i) {
        one_run((uint64_t)(seed + i), &n);
    }
    TEST_PRINT("%d runs, %d of them resumed in the middle; %d ended with a failed step, %d went on "
               "past one",
               n.made, n.resumed, n.failed, n.unsolved);
    CHECK_EQ_INT(n.made, runs);
}

/* A run of a scene through verify; true: its laws, ledger and bits are confirmed. */
static bool verifies(const char* text)
{
    perp_context* context = NULL;
    perp_scene* scene = NULL;
    perp_sim* sim = NULL;
    bool failed = false, good = perp_context_create(NULL, &context) == PERP_OK;
    good = good && scene_parse(context, text, "test", &scene) == PERP_OK &&
           perp_sim_create_from_scene(context, scene, &sim) == PERP_OK &&
           record_run(context, scene, sim, "rest.h5", &failed);
    perp_verification verification = {.ledger_frame = -2};
    good = good && !failed && perp_recording_verify(context, "rest.h5", &verification) == PERP_OK &&
           verification.rerun && verification.same_bits && verification.ledger_frame == -1 &&
           verification.worst.worst <= 1e-8;
    if (!good) {
        TEST_PRINT("%s: %s %s, worst %.3g", text,
                   context != NULL ? perp_context_error(context) : "", verification.ledger_message,
                   verification.worst.worst);
    }
    perp_sim_destroy(sim);
    perp_scene_destroy(scene);
    perp_context_destroy(context);
    return good;
}

/* What friction under a body or a spring has stopped has energies of rounding, and so have the works of
 * the impulses that hold it: no ledger is wrong for that. */
TEST(bodies_at_rest_verify)
{
    static const char* const stepper[] = {"stewart-trinkle", "implicit", "geometric-implicit"};
    char text[1024];
    for (int i = 0; i < 12; ++i) {
        const double m = pow(10.0, i % 4 * 2 - 1), mu = 0.2 + 0.1 * (i % 7);
        const double angle = 0.7 * i, speed = 0.1 + 0.05 * i;
        (void)snprintf(text, sizeof text,
                       "{'dimension':2,'step':0.02,'duration':1,'gravity':[0,0],"
                       "'stepper':'%s','bodies':[{'name':'b','mass':%g,"
                       "'position':[-0.26,16.2],'velocity':[%.17g,%.17g],"
                       "'shapes':[{'type':'particle'}],'support':{'mu':%g}}]}",
                       stepper[i % 3], m, speed * cos(angle), speed * sin(angle), mu);
        CHECK(verifies(text));
        (void)snprintf(text, sizeof text,
                       "{'dimension':2,'step':0.05,'duration':2,'gravity':[0,0],'stepper':'%s',"
                       "'bodies':[{'name':'b','mass':%g,'inertia':%g,'angle':%.17g,"
                       "'position':[%.17g,817.4],'shapes':[{'type':'box','size':[277,277]}]}],"
                       "'forces':[{'type':'spring','a':'world','b':'b','stiffness':%g,"
                       "'at_a':[-1680.1,1603.3],'at_b':[51.79,129.45],'implicit':%s}]}",
                       stepper[i % 3], m, 3e4 * m, angle, -1183.1 + i, 10.0 * m,
                       i % 2 == 0 ? "false" : "true");
        CHECK(verifies(text));
    }
}

/* Errors of joints at the end of a step are differences of coordinates: joints with arms of 100 m
 * between bodies at rest beside each other have errors of rounding, which are no velocity of theirs. */
TEST(corrected_joints_with_long_arms_verify)
{
    static const char* const joint[] = {"'prismatic','axis':[0,0,1]", "'fixed'", "'spherical'"};
    char text[2048];
    for (int i = 0; i < 12; ++i) {
        const double d = 0.37 * i;
        snprintf(text, sizeof text,
                 "{'gravity':[0,0,-9.81],'step':0.037,'duration':0.37,'joint_correction':true,"
                 "'stepper':'%s','bodies':["
                 "{'name':'a','position':[%.17g,-149.5,88.9],'mass':2.4e8,"
                 "'inertia':[2.8e10,1.8e10,2.6e10]},"
                 "{'name':'b','position':[-130.4,141.8,%.17g],'mass':2e8,"
                 "'inertia':[1.4e10,1.4e10,0.7e10],'orientation':[0.97,0.0624,-0.2108,%.17g]},"
                 "{'name':'c','position':[-147.3,6.6,71],'mass':3.2e7,"
                 "'inertia':[1.7e9,1.8e9,1.9e9]}],'joints':["
                 "{'name':'j','type':%s,'a':'a','b':'b','at':[%.17g,-3.8,91.6]},"
                 "{'name':'k','type':'cylindrical','a':'world','b':'c','at':[-169.5,-38.7,65.5],"
                 "'axis':[-0.7,0.06,0.71]}]}",
                 i % 2 == 0 ? "stewart-trinkle" : "anitescu-potra", -130.9 - d, 94.3 + d,
                 0.01 * i - 0.1015, joint[i % 3], d - 130.6);
        CHECK(verifies(text));
    }
}

/* Two joints that say the same: the solve of a correction may fail with the joints closed. Such an answer is
 * no solution of the step. */
TEST(a_correction_that_was_not_solved_is_not_accepted)
{
    char text[2048];
    for (int i = 0; i < 10; ++i) {
        snprintf(
            text, sizeof text,
            "{'step':0.01034,'gravity':[0,0,-9.81],'friction':{'default':0.3},"
            "'restitution':{'law':'poisson','e':0.5},'joint_correction':true,'duration':0.6,"
            "'bodies':[{'name':'ground','type':'static','shapes':[{'type':'plane',"
            "'normal':[0,0,1]}]},{'name':'a','position':[0.07858,0.07679,0.1191],'mass':0.3657,"
            "'orientation':[0.4266,-0.8044,-0.1057,-0.3998],'shapes':[{'type':'sphere',"
            "'radius':0.07151}],'friction':0.2592},{'name':'b','mass':0.05376,"
            "'position':[0.1024,-0.1038,0.1101],'inertia':[2.148e-05,1.284e-05,1.507e-05],"
            "'orientation':[0.3964,-0.5297,0.6421,-0.3874],'shapes':[{'type':'ellipsoid',"
            "'radii':[0.0159,0.03288,0.03262]}]}],'joints':["
            "{'name':'j','type':'spherical','a':'a','b':'b','at':[0.09051,-0.01353,0.1146]},"
            "{'name':'k','type':'revolute','a':'world','b':'a','at':[0.06996,0.03452,0.06728],"
            "'axis':[0.3266,-0.5077,0.7972],'damping':0.0001123,'motor':{'type':'velocity',"
            "'max_effort':3.248,'target':'-23.6*sin(%.4g*t)'}},"
            "{'name':'l','type':'spherical','a':'b','b':'a','at':[0.09051,-0.01353,0.1146]}]}",
            13.5 + 0.1 * i);
        CHECK(verifies(text));
    }
}
