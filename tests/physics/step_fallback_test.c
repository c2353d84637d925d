/* Steps that have no answer as the scene asks for them: taken semi-implicitly, or with the errors of joints
 * kept; counted, recorded and verified as what they are. */
#include "perp_test.h"
#include "support/random_scene.h"
#include "support/scene_sim.h"

typedef struct outcome {
    int scenes, failed, semi_implicit, joints_kept;
} outcome;

/* Runs and records a scene; verifies the recording, and continues it from the middle. */
static void run_and_verify(const char* text, const char* path, outcome* o)
{
    scene_sim s = scene_sim_open("%s", text);
    perp_recorder* recorder = NULL;
    REQUIRE(s.sim != NULL);
    REQUIRE_OK(perp_recorder_create(s.context, path, s.scene, s.sim, &recorder));
    bool failed = false;
    while (!failed && !perp_sim_finished(s.sim)) {
        failed = perp_sim_step(s.sim) != PERP_OK;
        if (failed) {
            TEST_PRINT("%s", perp_context_error(s.context));
            break;
        }
        const perp_step_info info = perp_sim_step_info(s.sim);
        o->semi_implicit += info.semi_implicit;
        o->joints_kept += info.joints_kept;
        CHECK_AT_MOST(info.certificate.worst, 1e-8);
        REQUIRE_OK(perp_recorder_step(recorder, s.sim, 0.0));
    }
    o->scenes += 1;
    o->failed += failed;
    REQUIRE_OK(perp_recorder_finish(recorder, s.sim));
    perp_recorder_destroy(recorder);

    perp_verification verification;
    REQUIRE_OK(perp_recording_verify(s.context, path, &verification));
    CHECK(verification.same_bits);
    CHECK_AT_MOST(verification.worst.worst, 1e-8);
    CHECK(verification.ledger_frame < 0);

    perp_recording* recording = NULL;
    scene_sim again = scene_sim_open("%s", text);
    REQUIRE(again.sim != NULL);
    REQUIRE_OK(perp_recording_open(again.context, path, &recording));
    REQUIRE_OK(
        perp_recording_restore(recording, perp_recording_frame_count(recording) / 2, again.sim));
    while (perp_sim_step_count(again.sim) < perp_sim_step_count(s.sim)) {
        REQUIRE_OK(perp_sim_step(again.sim));
    }
    CHECK(memcmp(perp_sim_q(s.sim), perp_sim_q(again.sim),
                 (size_t)perp_sim_q_size(s.sim) * sizeof(double)) == 0);
    perp_recording_close(recording);
    scene_sim_close(&again);
    scene_sim_close(&s);
    remove(path);
}

static outcome run_seeds(const char* stepper, const char* contact, int dimension, const int* seed,
                         int count)
{
    outcome o = {0};
    for (int i = 0; i < count; ++i) {
        const random_scene_spec spec = {.seed = (uint64_t)seed[i],
                                        .dimension = dimension,
                                        .contact = contact,
                                        .stepper = stepper,
                                        .steps = 40,
                                        .joints = 1,
                                        .record_every = 1};
        char* text = random_scene(&spec);
        CHECK(text != NULL);
        if (text != NULL) {
            run_and_verify(text, "step_fallback.h5", &o);
        }
        free(text);
    }
    return o;
}

/* Their outer iterations do not converge: corners that are pushed from one face to the next, and back. */
TEST(a_step_without_an_answer_at_its_end_is_taken_semi_implicitly)
{
    static const int plane[] = {2, 22, 23, 26}, space[] = {1, 4};
    const outcome a = run_seeds("geometric-implicit", "standard", 2, plane, 4);
    const outcome b = run_seeds("geometric-implicit", "standard", 3, space, 2);
    TEST_PRINT("%d and %d steps fell back", a.semi_implicit, b.semi_implicit);
    CHECK_EQ_INT(a.failed + b.failed, 0);
    CHECK_AT_LEAST(a.semi_implicit, 2);
    CHECK_AT_LEAST(b.semi_implicit, 1);
}

/* A joint that is apart, with a body between the two that it would pull together. */
TEST(joints_that_contacts_hold_apart_stay_apart_for_the_step)
{
    static const int seed[] = {74};
    const outcome o = run_seeds("stewart-trinkle", "standard", 2, seed, 1);
    CHECK_EQ_INT(o.failed, 0);
    CHECK_AT_LEAST(o.joints_kept, 1);
}

/* Hundreds of contacts between a few bodies: newton-bodies stalls, pivoting does not. */
TEST(crowds_of_contacts_between_few_bodies_are_solved)
{
    static const int seed[] = {13, 15, 140};
    const outcome o = run_seeds("stewart-trinkle", "standard", 2, seed, 3);
    CHECK_EQ_INT(o.failed, 0);
}

/* The law of implicit has no fixed point that its iteration finds where one axis has hardly any inertia. */
TEST(free_bodies_of_extreme_inertia_keep_their_angular_momentum)
{
    scene_sim s =
        scene_sim_open("{'dimension': 3, 'step': 0.01, 'duration': 0.4, 'stepper': 'implicit', "
                       "'gravity': [0, 0, 0],"
                       " 'bodies': [{'name': 'rod', 'mass': 1, 'inertia': [1e-8, 4e-3, 4e-3],"
                       "  'angular_velocity': [60, -80, 35]}]}");
    REQUIRE(s.sim != NULL);
    double before[3], after[3], linear[3];
    perp_sim_momentum(s.sim, linear, before);
    while (!perp_sim_finished(s.sim)) {
        REQUIRE_OK(perp_sim_step(s.sim));
    }
    perp_sim_momentum(s.sim, linear, after);
    const double size = sqrt(before[0] * before[0] + before[1] * before[1] + before[2] * before[2]);
    for (int i = 0; i < 3; ++i) {
        CHECK_AT_MOST(fabs(after[i] - before[i]), 1e-9 * size);
    }
    scene_sim_close(&s);
}

TEST(a_body_that_a_press_jams_is_named)
{
    scene_sim s = scene_sim_open(
        "{'dimension': 2, 'step': 0.01, 'duration': 1, 'gravity': [0, -9.81], 'bodies': ["
        "{'name': 'floor', 'type': 'static', 'shapes': [{'type': 'halfplane', 'normal': [0, 1]}]},"
        "{'name': 'ball', 'mass': 1, 'position': [0, 0.5],"
        " 'shapes': [{'type': 'circle', 'radius': 0.5}]},"
        "{'name': 'press', 'type': 'kinematic', 'position': [0, 1.2], 'velocity': [0, -1],"
        " 'shapes': [{'type': 'box', 'size': [2, 0.2]}]}]}");
    REQUIRE(s.sim != NULL);
    perp_status status = PERP_OK;
    while (status == PERP_OK && !perp_sim_finished(s.sim)) {
        status = perp_sim_step(s.sim);
    }
    CHECK(status == PERP_ERROR_SOLVE);
    CHECK(strstr(perp_context_error(s.context), "'ball' is between 'press' and 'floor'") != NULL);
    scene_sim_close(&s);
}
