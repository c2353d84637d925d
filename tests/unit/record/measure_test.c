/* Quantities and measures in recordings: as the simulation had them, also after a state was set. */
#include "perp/perp.h"
#include "perp_test.h"
#include "support/scene_sim.h"

enum { QUANTITIES = 400, FRAMES = 300 };

static int32_t all_quantities(const scene_sim* s, perp_quantity* quantity)
{
    const perp_model* model = perp_scene_model(s->scene);
    int32_t n = 0, more = 0;
    while (n < QUANTITIES - 10 && perp_quantity_list(model, n, &quantity[n])) {
        ++n;
    }
    CHECK_OK(perp_quantity_find(s->context, model, "contact.g.b", quantity + n, 8, &more));
    n += more;
    CHECK_OK(perp_quantity_find(s->context, model, "distance.g.b", quantity + n, 1, &more));
    return n + more;
}

/* Fixed steps of which the last two differ, with and without impacts, and adaptive steps. */
TEST(a_recorded_frame_has_the_quantities_of_the_simulation)
{
    static const char* const how[][2] = {
        {"0.01", "0"}, {"0.01", "0.5"}, {"{'error': 1e-4, 'max': 0.02}", "0.5"}};
    static double kept[FRAMES][QUANTITIES];
    for (size_t k = 0; k < 3; ++k) {
        scene_sim s = scene_sim_open(
            "{'dimension': 2, 'gravity': [0, -9.81], 'step': %s, 'duration': 0.6137,"
            " 'restitution': %s, 'friction': {'default': 0.4}, 'bodies': [{'name': 'g',"
            "  'type': 'static', 'shapes': [{'type': 'halfplane', 'normal': [0, 1]}]},"
            " {'name': 'b', 'mass': 1, 'inertia': 0.1, 'position': [0, 0.6], 'velocity': [1, 0],"
            "  'shapes': [{'type': 'circle', 'radius': 0.2}]}, {'name': 'c', 'mass': 1,"
            "  'inertia': 0.1, 'position': [4, 2]}], 'joints': [{'name': 'j', 'type': 'prismatic',"
            "  'a': 'world', 'b': 'c', 'at': [4, 2], 'axis': [0, 1], 'friction': 0.5}],"
            " 'controllers': [{'type': 'pid', 'joint': 'j', 'kp': 90, 'ki': 5, 'kd': 3,"
            "  'target': 't'}]}",
            how[k][0], how[k][1]);
        perp_quantity quantity[QUANTITIES];
        const int32_t count = all_quantities(&s, quantity);
        CHECK_AT_LEAST(count, 70);
        perp_recorder* recorder = NULL;
        CHECK_OK(perp_recorder_create(s.context, "quantities.h5", s.scene, s.sim, &recorder));
        int64_t frames = 0;
        for (;; ++frames) {
            for (int32_t i = 0; frames < FRAMES && i < count; ++i) {
                kept[frames][i] = perp_sim_quantity(s.sim, &quantity[i]);
            }
            if (perp_sim_finished(s.sim) || frames == FRAMES - 1) {
                break;
            }
            CHECK_OK(perp_sim_step(s.sim));
            CHECK_OK(perp_recorder_step(recorder, s.sim, 0.0));
        }
        CHECK(perp_sim_finished(s.sim));
        CHECK_OK(perp_recorder_finish(recorder, s.sim));
        perp_recorder_destroy(recorder);
        perp_recording* recording = NULL;
        CHECK_OK(perp_recording_open(s.context, "quantities.h5", &recording));
        CHECK_EQ_INT(perp_recording_frame_count(recording), frames + 1);
        for (int64_t f = frames; f >= 0; --f) { /* backwards: sums must not depend on the order */
            double value[QUANTITIES];
            CHECK_OK(perp_recording_quantities(recording, f, quantity, count, value));
            for (int32_t i = 0; i < count; ++i) {
                char name[100];
                (void)perp_quantity_name(perp_scene_model(s.scene), &quantity[i], name,
                                         sizeof name);
                if (!(value[i] == kept[f][i])) {
                    TEST_PRINT("frame %d, %s: %.17g, recorded %.17g", (int)f, name, kept[f][i],
                               value[i]);
                }
                CHECK(value[i] == kept[f][i]);
            }
        }
        perp_recording_close(recording);
        scene_sim_close(&s);
    }
}

TEST(measures_of_a_run_whose_state_was_set_are_verified)
{
    scene_sim s = scene_sim_open(
        "{'dimension': 2, 'gravity': [0, -9.81], 'step': 0.01, 'duration': 1, 'restitution': 0.4,"
        " 'record': {'every': 3}, 'bodies': [{'name': 'g', 'type': 'static', 'shapes': [{'type':"
        " 'halfplane', 'normal': [0, 1]}]}, {'name': 'b', 'mass': 1, 'inertia': 0.1,"
        " 'position': [0, 1], 'velocity': [1, 0], 'shapes': [{'type': 'circle', 'radius': 0.2}]}],"
        " 'measures': {'top': {'max': 'b.position.y'}, 'mean': {'mean': 'b.speed'},"
        "  'push': {'integral': 'b.force.y'}, 'late': {'first_time': 't > 0.77'}}}");
    perp_recorder* recorder = NULL;
    CHECK_OK(perp_recorder_create(s.context, "edited.h5", s.scene, s.sim, &recorder));
    for (int k = 0; !perp_sim_finished(s.sim); ++k) {
        const double far[3] = {2, 2, 0}, high[3] = {0, 3, 0};
        if (k == 20) {
            CHECK_OK(perp_sim_set_body_pose(s.sim, 1, far, NULL));
        }
        if (k == 50) { /* this state is a frame */
            CHECK_OK(perp_sim_set_body_pose(s.sim, 1, high, NULL));
            CHECK_OK(perp_recorder_step(recorder, s.sim, 0.0));
        }
        CHECK_OK(perp_sim_step(s.sim));
        CHECK_OK(perp_recorder_step(recorder, s.sim, 0.0));
    }
    CHECK_OK(perp_recorder_finish(recorder, s.sim));
    perp_recorder_destroy(recorder);
    CHECK(perp_sim_measure(s.sim, 0) == 3.0);
    perp_verification v;
    CHECK_OK(perp_recording_verify(s.context, "edited.h5", &v));
    CHECK(v.same_bits);

    /* a frame in the middle continues to the same measures */
    perp_recording* recording = NULL;
    perp_sim* again = NULL;
    CHECK_OK(perp_recording_open(s.context, "edited.h5", &recording));
    CHECK_OK(perp_sim_create_from_scene(s.context, s.scene, &again));
    CHECK_OK(perp_recording_restore(recording, perp_recording_frame_count(recording) - 12, again));
    CHECK_OK(perp_sim_run(again));
    for (int32_t i = 0; i < perp_sim_measure_count(again); ++i) {
        CHECK(perp_sim_measure(again, i) == perp_sim_measure(s.sim, i));
    }
    perp_sim_destroy(again);
    perp_recording_close(recording);
    scene_sim_close(&s);
}
