/* Recordings of simulations whose state or parameters the program sets: what follows verifies, or is marked. */
#include <stdio.h>
#include <string.h>

#include "perp_test.h"

#include "perp/perp.h"
#include "support/scene_sim.h"

enum { STEPS = 30, EDIT = 12 };

typedef enum edit { EDIT_NONE, EDIT_SILENT, EDIT_FRAME, EDIT_PARAMETER, EDIT_BRIEFLY } edit;

/* Every dynamic body is kicked, and the last one, which nothing lies on, lifted. */
static void change(perp_sim* sim)
{
    const perp_model* model = perp_sim_model(sim);
    const int32_t top = perp_model_body_count(model) - 1;
    for (int32_t i = 0; i < perp_model_body_count(model); ++i) {
        perp_body_state state = perp_sim_body(sim, i);
        if (perp_model_body_info(model, i).type != PERP_BODY_DYNAMIC) {
            continue;
        }
        state.velocity[0] += 0.05;
        if (i == top && perp_model_joint_count(model) == 0) {
            state.position[perp_model_dimension(model) - 1] += 0.01;
        }
        CHECK_OK(perp_sim_set_body(sim, i, &state));
    }
}

static void apply(edit how, perp_sim* sim, perp_recorder* recorder, int step)
{
    const int32_t last = perp_model_body_count(perp_sim_model(sim)) - 1;
    if (step == EDIT && (how == EDIT_SILENT || how == EDIT_FRAME)) {
        change(sim);
    }
    if (step == EDIT && how == EDIT_FRAME) {
        CHECK_OK(perp_sim_check_state(sim));
        CHECK_OK(perp_recorder_step(recorder, sim, 0.0));
    }
    if (step == EDIT && (how == EDIT_PARAMETER || how == EDIT_BRIEFLY)) {
        CHECK_OK(perp_sim_set_friction(sim, last, 0.11));
    }
    if (step == EDIT + 3 && how == EDIT_BRIEFLY) {
        CHECK_OK(perp_sim_set_friction(sim, last, NAN));
    }
}

static perp_verification record(const char* scene, edit how, int32_t every)
{
    scene_sim s = scene_sim_load(scene);
    perp_recorder* recorder = NULL;
    perp_scene* kept = NULL;
    CHECK_OK(perp_scene_from_sim(s.context, s.sim, every, &kept));
    CHECK_OK(perp_recorder_create(s.context, "edited.h5", kept, s.sim, &recorder));
    for (int i = 0; i < STEPS; ++i) {
        apply(how, s.sim, recorder, i);
        CHECK_OK(perp_sim_step(s.sim));
        CHECK_OK(perp_recorder_step(recorder, s.sim, 0.0));
    }
    CHECK_OK(perp_recorder_finish(recorder, s.sim));
    perp_recorder_destroy(recorder);
    perp_scene_destroy(kept);
    perp_verification verification = {0};
    CHECK_OK(perp_recording_verify(s.context, "edited.h5", &verification));
    if (!verification.same_bits || verification.ledger_frame >= 0 ||
        !(verification.worst.worst <= 1e-7)) {
        TEST_PRINT("%s, edit %d: %s", scene, (int)how, verification.message);
    }
    CHECK(verification.intact && verification.rerun && verification.same_bits);
    CHECK_AT_MOST(verification.worst.worst, 1e-7);
    CHECK_EQ_INT(verification.ledger_frame, -1);
    scene_sim_close(&s);
    return verification;
}

static const char* const SCENES[] = {"scenes/stack.json", "scenes/bouncing-balls.json",
                                     "scenes/soft-landing.json", "scenes/controlled-arm.json",
                                     "scenes/n04-pusher-box.json"};

TEST(a_frame_after_a_state_was_set_is_marked_and_all_others_verify)
{
    for (int i = 0; i < 5; ++i) {
        const perp_verification plain = record(SCENES[i], EDIT_NONE, 1);
        CHECK_EQ_INT(plain.edited, 0);
        const perp_verification verification = record(SCENES[i], EDIT_SILENT, 1);
        CHECK_EQ_INT(verification.edited, 1);
        CHECK_EQ_INT(verification.laws_checked, plain.laws_checked > 0 ? STEPS - 1 : 0);
        CHECK_CONTAINS(verification.message, "but for 1 frame after");
    }
    (void)remove("edited.h5");
}

TEST(a_set_state_that_is_recorded_leaves_no_step_unverified)
{
    for (int i = 0; i < 5; ++i) {
        const perp_verification verification = record(SCENES[i], EDIT_FRAME, 1);
        CHECK_EQ_INT(verification.edited, 1);
        CHECK_EQ_INT(verification.frames, STEPS + 2);
        CHECK_EQ_INT(verification.laws_checked, STEPS);
    }
    (void)remove("edited.h5");
}

TEST(with_frames_that_are_left_out_the_mark_is_on_the_next_one)
{
    const perp_verification silent = record("scenes/stack.json", EDIT_SILENT, 5);
    CHECK_EQ_INT(silent.edited, 1);
    const perp_verification frame = record("scenes/stack.json", EDIT_FRAME, 5);
    CHECK_EQ_INT(frame.edited, 1);
    (void)remove("edited.h5");
}

TEST(frames_with_other_parameters_are_marked_until_these_are_the_scenes_again)
{
    const perp_verification all = record("scenes/stack.json", EDIT_PARAMETER, 1);
    CHECK_EQ_INT(all.edited, STEPS - EDIT);
    const perp_verification brief = record("scenes/stack.json", EDIT_BRIEFLY, 1);
    CHECK_EQ_INT(brief.edited, 4); /* three steps, and the one after the change back */
    (void)remove("edited.h5");
}

TEST(a_recording_that_begins_with_a_set_state_verifies)
{
    scene_sim s = scene_sim_load("scenes/stack.json");
    perp_recorder* recorder = NULL;
    change(s.sim);
    CHECK_OK(perp_recorder_create(s.context, "edited.h5", s.scene, s.sim, &recorder));
    for (int i = 0; i < STEPS; ++i) {
        CHECK_OK(perp_sim_step(s.sim));
        CHECK_OK(perp_recorder_step(recorder, s.sim, 0.0));
    }
    CHECK_OK(perp_recorder_finish(recorder, s.sim));
    perp_recorder_destroy(recorder);
    perp_verification verification;
    CHECK_OK(perp_recording_verify(s.context, "edited.h5", &verification));
    CHECK(verification.same_bits && verification.edited == 0 && verification.laws_checked == STEPS);
    scene_sim_close(&s);
    (void)remove("edited.h5");
}

TEST(a_run_is_resumed_from_a_frame_after_a_set_state_with_the_same_bits)
{
    scene_sim s = scene_sim_load("scenes/bouncing-balls.json"),
              t = scene_sim_load("scenes/bouncing-balls.json");
    perp_recorder* recorder = NULL;
    perp_recording* recording = NULL;
    CHECK_OK(perp_recorder_create(s.context, "edited.h5", NULL, s.sim, &recorder));
    for (int i = 0; i < STEPS; ++i) {
        apply(EDIT_SILENT, s.sim, recorder, i);
        CHECK_OK(perp_sim_step(s.sim));
        CHECK_OK(perp_recorder_step(recorder, s.sim, 0.0));
    }
    CHECK_OK(perp_recorder_finish(recorder, s.sim));
    perp_recorder_destroy(recorder);
    CHECK_OK(perp_recording_open(t.context, "edited.h5", &recording));
    perp_frame frame;
    CHECK_OK(perp_recording_frame(recording, EDIT + 1, &frame));
    CHECK_EQ_INT(frame.edited, PERP_EDITED_STATE);
    CHECK_OK(perp_recording_restore(recording, EDIT + 1, t.sim));
    while (perp_sim_step_count(t.sim) < STEPS) {
        CHECK_OK(perp_sim_step(t.sim));
    }
    CHECK(memcmp(perp_sim_q(s.sim), perp_sim_q(t.sim),
                 (size_t)perp_sim_q_size(s.sim) * sizeof(double)) == 0);
    perp_recording_close(recording);
    scene_sim_close(&t);
    scene_sim_close(&s);
    (void)remove("edited.h5");
}

TEST(a_simulation_that_went_back_is_not_recorded_further)
{
    scene_sim s = scene_sim_load("scenes/stack.json");
    perp_recorder* recorder = NULL;
    CHECK_OK(perp_recorder_create(s.context, "edited.h5", s.scene, s.sim, &recorder));
    for (int i = 0; i < 3; ++i) {
        CHECK_OK(perp_sim_step(s.sim));
        CHECK_OK(perp_recorder_step(recorder, s.sim, 0.0));
    }
    CHECK_OK(perp_sim_reset(s.sim));
    CHECK_OK(perp_sim_step(s.sim));
    CHECK_EQ_INT(perp_recorder_step(recorder, s.sim, 0.0), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(s.context), "begin another recording");
    perp_recorder_destroy(recorder);
    scene_sim_close(&s);
    (void)remove("edited.h5");
}

/* Adaptive steps: their clock and halves are part of a frame. */
TEST(an_adaptive_run_with_a_set_state_verifies)
{
    scene_sim s = scene_sim_quoted(
        "{'step': {'error': 1e-4}, 'gravity': [0,0,-10], 'restitution': 0.5, 'friction': "
        "{'default': 0.3},"
        " 'bodies': [{'name': 'floor', 'type': 'static', 'shapes': [{'type': 'plane', 'normal':"
        " [0,0,1]}]}, {'name': 'ball', 'mass': 1, 'position': [0,0,0.6], 'shapes': [{'type': "
        "'sphere',"
        " 'radius': 0.5}]}]}");
    for (int k = 0; k < 2; ++k) {
        CHECK_OK(perp_sim_reset(s.sim));
        perp_recorder* recorder = NULL;
        CHECK_OK(perp_recorder_create(s.context, "edited.h5", s.scene, s.sim, &recorder));
        for (int i = 0; i < STEPS; ++i) {
            apply(k == 0 ? EDIT_SILENT : EDIT_FRAME, s.sim, recorder, i);
            CHECK_OK(perp_sim_step(s.sim));
            CHECK_OK(perp_recorder_step(recorder, s.sim, 0.0));
        }
        CHECK_OK(perp_recorder_finish(recorder, s.sim));
        perp_recorder_destroy(recorder);
        perp_verification verification;
        CHECK_OK(perp_recording_verify(s.context, "edited.h5", &verification));
        TEST_PRINT("%s", verification.message);
        CHECK(verification.same_bits && verification.edited == 1 && verification.ledger_frame < 0);
        CHECK_EQ_INT(verification.laws_checked, STEPS - 1 + k);
    }
    scene_sim_close(&s);
    (void)remove("edited.h5");
}

static const char ADAPTIVE[] =
    "{'step': {'error': 1e-4}, 'gravity': [0,0,-10], 'restitution': 0.5, 'friction': {'default': "
    "0.3}, 'bodies': [{'name': 'floor', 'type': 'static', 'shapes': [{'type': 'plane', 'normal': "
    "[0,0,1]}]}, {'name': 'ball', 'mass': 1, 'position': [0,0,0.6], 'velocity': [0.3,0,0], "
    "'shapes': [{'type': 'sphere', 'radius': 0.5}]}]}";

/* Of a simulation that has made `steps`, or of its clone. */
static void record_from(const char* scene, int steps, bool clone, bool with_scene)
{
    scene_sim s = scene == NULL ? scene_sim_quoted("%s", ADAPTIVE) : scene_sim_load(scene);
    perp_sim *copy = NULL, *sim = s.sim;
    perp_recorder* recorder = NULL;
    for (int i = 0; i < steps; ++i) {
        CHECK_OK(perp_sim_step(s.sim));
    }
    if (clone) {
        CHECK_OK(perp_sim_clone(s.sim, NULL, &copy));
        sim = copy;
    }
    CHECK_OK(
        perp_recorder_create(s.context, "edited.h5", with_scene ? s.scene : NULL, sim, &recorder));
    for (int i = 0; i < 10; ++i) {
        CHECK_OK(perp_sim_step(sim));
        CHECK_OK(perp_recorder_step(recorder, sim, 0.0));
    }
    CHECK_OK(perp_recorder_finish(recorder, sim));
    perp_recorder_destroy(recorder);
    perp_verification verification = {0};
    CHECK_OK(perp_recording_verify(s.context, "edited.h5", &verification));
    if (!verification.same_bits || verification.ledger_frame >= 0) {
        TEST_PRINT("%s after %d steps: %s", scene == NULL ? "adaptive" : scene, steps,
                   verification.message);
    }
    CHECK(verification.intact && verification.same_bits && verification.edited == 0);
    CHECK_EQ_INT(verification.ledger_frame, -1);
    CHECK_EQ_INT(verification.steps, 10);
    perp_sim_destroy(copy);
    scene_sim_close(&s);
}

/* Every number of steps up to some: so also right after an impact, and between two at one moment. */
TEST(a_recording_that_begins_in_a_running_simulation_verifies)
{
    static const char* const scenes[] = {"scenes/stack.json",
                                         "scenes/bouncing-balls.json",
                                         "scenes/soft-landing.json",
                                         "scenes/controlled-arm.json",
                                         "scenes/n04-pusher-box.json",
                                         "scenes/w14-pendulum.json",
                                         NULL};
    for (int i = 0; i < 7; ++i) {
        for (int k = 0; k < 4; ++k) {
            record_from(scenes[i], 1 + 7 * k, k % 2 == 1, k / 2 == 1);
        }
    }
    for (int steps = 1; steps < 40; ++steps) {
        record_from(NULL, steps, steps % 2 == 1, steps % 3 == 1);
        record_from("scenes/bouncing-balls.json", steps, steps % 2 == 0, steps % 3 == 1);
    }
    (void)remove("edited.h5");
}
