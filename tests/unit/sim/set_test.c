/* States that are set, simulations that are reset and cloned: what of the past they keep and what not. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "perp_test.h"

#include "perp/perp.h"
#include "support/scene_sim.h"

/* One scene for each thing that a simulation remembers from step to step. */
static const char* const SCENES[] = {
    "scenes/stack.json",          /* contacts */
    "scenes/bouncing-balls.json", /* impacts */
    "scenes/soft-landing.json",   /* soft layers */
    "scenes/controlled-arm.json", /* controllers */
    "scenes/w14-joint-tree.json", /* joints with correction */
    "scenes/p09-centrifuge.json", /* a prescribed motion */
    "scenes/n04-pusher-box.json", /* planar, kinematic */
    "scenes/b09-quasistatic-push.json",
    "scenes/tiled-floor.json",
};
enum { SCENE_COUNT = sizeof SCENES / sizeof SCENES[0] };

static bool same_state(const perp_sim* a, const perp_sim* b)
{
    const size_t q = (size_t)perp_sim_q_size(a) * sizeof(double);
    const size_t v = (size_t)perp_sim_v_size(a) * sizeof(double);
    return perp_sim_time(a) == perp_sim_time(b) &&
           perp_sim_step_count(a) == perp_sim_step_count(b) &&
           memcmp(perp_sim_q(a), perp_sim_q(b), q) == 0 &&
           memcmp(perp_sim_v(a), perp_sim_v(b), v) == 0;
}

/* Both stepped together: how many steps they agree in, -1 if they differ. */
static int agree(perp_sim* a, perp_sim* b, int steps)
{
    for (int i = 0; i < steps && !perp_sim_finished(a); ++i) {
        const perp_status first = perp_sim_step(a), second = perp_sim_step(b);
        if (first != second || !same_state(a, b)) {
            return -1;
        }
    }
    return steps;
}

static void run(perp_sim* sim, int steps)
{
    for (int i = 0; i < steps && !perp_sim_finished(sim); ++i) {
        CHECK_OK(perp_sim_step(sim));
    }
}

static double worst_unexplained(perp_sim* sim, int steps)
{
    double worst = 0.0;
    for (int i = 0; i < steps && !perp_sim_finished(sim); ++i) {
        CHECK_OK(perp_sim_step(sim));
        const double part =
            fabs(perp_sim_step_info(sim).ledger.unexplained) / perp_sim_energy_scale(sim);
        worst = part <= worst ? worst : part;
    }
    return worst;
}

/* ---- clones and the start ------------------------------------------------------------------------*/

TEST(a_clone_has_the_same_future_bits)
{
    for (int k = 0; k < SCENE_COUNT; ++k) {
        scene_sim s = scene_sim_load(SCENES[k]);
        run(s.sim, 17);
        perp_sim* clone = NULL;
        CHECK_OK(perp_sim_clone(s.sim, NULL, &clone));
        CHECK(same_state(s.sim, clone));
        const perp_ledger a = perp_sim_ledger_total(s.sim), b = perp_sim_ledger_total(clone);
        CHECK(memcmp(&a, &b, sizeof a) == 0);
        if (agree(s.sim, clone, 25) < 0) {
            TEST_PRINT("%s: the clone goes another way", SCENES[k]);
            CHECK(false);
        }
        perp_sim_destroy(clone);
        scene_sim_close(&s);
    }
}

TEST(a_clone_of_an_adaptive_run_between_impacts_has_the_same_future_bits)
{
    scene_sim s = scene_sim_quoted(
        "{'step': {'error': 1e-4}, 'gravity': [0,0,-9.81], 'restitution': {'law': 'poisson', 'e': "
        "0.6},"
        " 'bodies': [{'name': 'floor', 'type': 'static', 'shapes': [{'type': 'plane', 'normal':"
        " [0,0,1]}]}, {'name': 'ball', 'mass': 1, 'position': [0,0,0.11], 'velocity': [0.2,0,0],"
        " 'shapes': [{'type': 'sphere', 'radius': 0.1}]}]}");
    int clones = 0;
    while (!perp_sim_finished(s.sim) && clones < 150) {
        perp_sim* clone = NULL;
        CHECK_OK(perp_sim_clone(s.sim, NULL, &clone));
        CHECK(agree(s.sim, clone, 1) == 1);
        perp_sim_destroy(clone);
        clones += 1;
    }
    CHECK(perp_sim_impact_count(s.sim) > 0);
    scene_sim_close(&s);
}

TEST(stepping_a_clone_leaves_the_original_alone_and_they_may_live_in_two_contexts)
{
    scene_sim s = scene_sim_load("scenes/stack.json"), t = scene_sim_load("scenes/stack.json");
    perp_context* other = NULL;
    CHECK_OK(perp_context_create(NULL, &other));
    run(s.sim, 5);
    run(t.sim, 5);
    perp_sim* clone = NULL;
    CHECK_OK(perp_sim_clone(s.sim, other, &clone));
    const double kick[3] = {1, 2, 3};
    CHECK_OK(perp_sim_set_body_velocity(clone, 1, kick, NULL));
    run(clone, 10);
    CHECK(agree(s.sim, t.sim, 10) == 10);
    perp_sim_destroy(clone);
    perp_context_destroy(other);
    scene_sim_close(&t);
    scene_sim_close(&s);
}

/* What was applied for the coming step is for the clone's too. */
TEST(a_clone_has_the_wrench_that_waits_for_the_coming_step)
{
    scene_sim s = scene_sim_load("scenes/hello.json");
    const double force[3] = {3, 0, 0};
    CHECK_OK(perp_sim_apply_wrench(s.sim, 1, force, NULL));
    perp_sim* clone = NULL;
    CHECK_OK(perp_sim_clone(s.sim, NULL, &clone));
    CHECK(agree(s.sim, clone, 3) == 3);
    CHECK(perp_sim_body(clone, 1).velocity[0] > 0.0);
    perp_sim_destroy(clone);
    scene_sim_close(&s);
}

TEST(a_simulation_that_is_reset_has_the_bits_of_a_new_one)
{
    for (int k = 0; k < SCENE_COUNT; ++k) {
        scene_sim s = scene_sim_load(SCENES[k]), fresh = scene_sim_load(SCENES[k]);
        const double force[3] = {1, 0, 0};
        run(s.sim, 20);
        for (int32_t i = 0; i < perp_model_body_count(perp_sim_model(s.sim)); ++i) {
            if (perp_model_body_info(perp_sim_model(s.sim), i).type == PERP_BODY_DYNAMIC) {
                CHECK_OK(perp_sim_apply_wrench(s.sim, i, force, NULL));
            }
        }
        CHECK_OK(perp_sim_reset(s.sim));
        CHECK(same_state(s.sim, fresh.sim));
        if (agree(s.sim, fresh.sim, 25) < 0) {
            TEST_PRINT("%s: after a reset it goes another way", SCENES[k]);
            CHECK(false);
        }
        scene_sim_close(&fresh);
        scene_sim_close(&s);
    }
}

/* ---- bodies ----------------------------------------------------------------------------------------*/

static const char TWO_BALLS[] =
    "{'step': 0.01, 'gravity': [0,0,-10], 'friction': {'default': 0.5}, 'bodies': ["
    "{'name': 'floor', 'type': 'static', 'shapes': [{'type': 'plane', 'normal': [0,0,1]}]},"
    "{'name': 'a', 'mass': 1, 'position': [0,0,0.5], 'shapes': [{'type': 'sphere', 'radius': "
    "0.5}]},"
    "{'name': 'b', 'mass': 2, 'position': [3,0,0.5], 'shapes': [{'type': 'sphere', 'radius': "
    "0.5}]},"
    "{'name': 'turntable', 'type': 'kinematic', 'position': [0,9,0], 'motion': {'position':"
    " ['t',9,0]}, 'shapes': [{'type': 'sphere', 'radius': 0.1}]},"
    "{'name': 'pusher', 'type': 'kinematic', 'position': [0,19,0], 'shapes': [{'type': 'sphere',"
    " 'radius': 0.1}]}]}";

TEST(a_body_is_where_it_was_set_and_falls_from_there)
{
    scene_sim s = scene_sim_quoted("%s", TWO_BALLS);
    run(s.sim, 10);
    const double x[3] = {0, 0, 5}, e[4] = {0, 0, 0, 2}, v[3] = {1, 0, 0}, w[3] = {0, 3, 0};
    CHECK_OK(perp_sim_set_body_pose(s.sim, 1, x, e));
    CHECK_OK(perp_sim_set_body_velocity(s.sim, 1, v, w));
    const perp_body_state set = perp_sim_body(s.sim, 1);
    CHECK(set.position[2] == 5.0 && set.orientation[3] == 1.0 && set.velocity[0] == 1.0 &&
          set.angular_velocity[1] == 3.0);
    run(s.sim, 20); /* 0.2 s of free fall: h g per step */
    CHECK_NEAR(perp_sim_body(s.sim, 1).velocity[2], -2.0, 1e-12);
    CHECK_NEAR(perp_sim_body(s.sim, 1).position[0], 0.2, 1e-12);
    CHECK_NEAR(perp_sim_body(s.sim, 2).position[2], 0.5, 1e-9); /* the other one rests on */
    scene_sim_close(&s);
}

TEST(what_cannot_be_set_is_refused_and_changes_nothing)
{
    scene_sim s = scene_sim_quoted("%s", TWO_BALLS);
    scene_sim t = scene_sim_quoted("%s", TWO_BALLS);
    const double x[3] = {0, 0, 5}, bad[3] = {0, NAN, 0}, none[4] = {0, 0, 0, 0};
    CHECK_EQ_INT(perp_sim_set_body_pose(s.sim, 0, x, NULL), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(s.context), "static");
    CHECK_EQ_INT(perp_sim_set_body_pose(s.sim, 3, x, NULL), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(s.context), "motion");
    CHECK_EQ_INT(perp_sim_set_body_pose(s.sim, 5, x, NULL), PERP_ERROR_INPUT);
    CHECK_EQ_INT(perp_sim_set_body_pose(s.sim, -1, x, NULL), PERP_ERROR_INPUT);
    CHECK_EQ_INT(perp_sim_set_body_pose(s.sim, 1, bad, NULL), PERP_ERROR_INPUT);
    CHECK_EQ_INT(perp_sim_set_body_pose(s.sim, 1, x, none), PERP_ERROR_INPUT);
    CHECK_EQ_INT(perp_sim_set_body_velocity(s.sim, 1, bad, NULL), PERP_ERROR_INPUT);
    double q[35];
    memcpy(q, perp_sim_q(s.sim), sizeof q);
    q[14] = 9.0;
    q[13] = INFINITY;
    CHECK_EQ_INT(perp_sim_set_state(s.sim, q, NULL), PERP_ERROR_INPUT);
    CHECK(agree(s.sim, t.sim, 5) == 5);
    scene_sim_close(&t);
    scene_sim_close(&s);
}

TEST(a_kinematic_body_without_a_motion_takes_another_velocity)
{
    scene_sim s = scene_sim_quoted("%s", TWO_BALLS);
    const double v[3] = {0, -2, 0};
    CHECK_OK(perp_sim_set_body_velocity(s.sim, 4, v, NULL));
    run(s.sim, 10);
    CHECK_NEAR(perp_sim_body(s.sim, 4).position[1], 18.8, 1e-12);
    CHECK_OK(perp_sim_reset(s.sim));
    CHECK(perp_sim_body(s.sim, 4).position[1] == 19.0);
    scene_sim_close(&s);
}

TEST(setting_what_is_there_changes_no_bit_of_the_future)
{
    for (int k = 0; k < SCENE_COUNT; ++k) {
        scene_sim s = scene_sim_load(SCENES[k]), t = scene_sim_load(SCENES[k]);
        run(s.sim, 15);
        run(t.sim, 15);
        CHECK_OK(perp_sim_set_state(s.sim, perp_sim_q(s.sim), perp_sim_v(s.sim)));
        for (int32_t i = 0; i < perp_model_body_count(perp_sim_model(s.sim)); ++i) {
            const perp_body_state state = perp_sim_body(s.sim, i);
            if (perp_model_body_info(perp_sim_model(s.sim), i).type == PERP_BODY_DYNAMIC) {
                CHECK_OK(perp_sim_set_body(s.sim, i, &state));
            }
        }
        if (agree(s.sim, t.sim, 20) < 0) {
            TEST_PRINT("%s: setting the state to itself changes it", SCENES[k]);
            CHECK(false);
        }
        scene_sim_close(&t);
        scene_sim_close(&s);
    }
}

TEST(a_pose_inside_another_body_is_refused_by_the_next_step_and_can_be_set_again)
{
    scene_sim s = scene_sim_quoted("%s", TWO_BALLS);
    run(s.sim, 3);
    const double inside[3] = {2.8, 0, 0.5}, beside[3] = {1.9, 0, 0.5};
    CHECK_OK(perp_sim_set_body_pose(s.sim, 1, inside, NULL));
    CHECK_EQ_INT(perp_sim_step(s.sim), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(s.context), "'a' and 'b' overlap by 0.8");
    CHECK_EQ_INT(perp_sim_check_state(s.sim), PERP_ERROR_INPUT);
    CHECK(perp_sim_step_count(s.sim) == 3);
    CHECK_OK(perp_sim_set_body_pose(s.sim, 1, beside, NULL));
    CHECK_OK(perp_sim_check_state(s.sim));
    run(s.sim, 3);
    scene_sim_close(&s);
}

TEST(with_allow_overlap_bodies_are_moved_apart_without_gaining_speed)
{
    scene_sim s = scene_sim_quoted("{'step': 0.01, 'allow_overlap': true, 'bodies': ["
                                   "{'name': 'a', 'mass': 1, 'position': [0,0,0], 'shapes': "
                                   "[{'type': 'sphere', 'radius': 1}]},"
                                   "{'name': 'b', 'mass': 1, 'position': [3,0,0], 'shapes': "
                                   "[{'type': 'sphere', 'radius': 1}]}]}");
    const double inside[3] = {1.5, 0, 0};
    CHECK_OK(perp_sim_set_body_pose(s.sim, 1, inside, NULL));
    run(s.sim, 1);
    CHECK_AT_LEAST(perp_sim_body(s.sim, 1).position[0] - perp_sim_body(s.sim, 0).position[0],
                   2.0 - 1e-5);
    CHECK_NEAR(perp_sim_body(s.sim, 1).velocity[0], 0.0, 1e-9);
    scene_sim_close(&s);
}

/* Carried through the floor: the side on which it was before does not count any more. */
TEST(a_body_that_is_set_behind_a_wall_has_not_crossed_it)
{
    scene_sim s = scene_sim_quoted(
        "{'step': 0.01, 'gravity': [0,0,-10], 'bodies': ["
        "{'name': 'plate', 'type': 'static', 'shapes': [{'type': 'box', 'size': [4,4,0.1]}]},"
        "{'name': 'box', 'mass': 1, 'position': [0,0,0.55], 'shapes': [{'type': 'box', 'size':"
        " [1,1,1]}]}]}");
    run(s.sim, 10);
    const double below[3] = {0, 0, -0.7}, still[3] = {0, 0, 0};
    CHECK_OK(perp_sim_set_body_pose(s.sim, 1, below, NULL));
    CHECK_OK(perp_sim_set_body_velocity(s.sim, 1, still, still));
    run(s.sim, 10);
    CHECK_NEAR(perp_sim_body(s.sim, 1).velocity[2], -1.0, 1e-9);
    scene_sim_close(&s);
}

static int32_t contacts_of(const perp_sim* sim, int32_t body)
{
    int32_t count = 0, own = 0;
    const perp_contact* contact = perp_sim_contacts(sim, &count);
    for (int32_t i = 0; i < count; ++i) {
        own += contact[i].body_a == body || contact[i].body_b == body;
    }
    return own;
}

TEST(contacts_of_a_body_that_moved_are_forgotten_and_others_kept)
{
    scene_sim s = scene_sim_quoted("%s", TWO_BALLS);
    run(s.sim, 5);
    CHECK(contacts_of(s.sim, 1) == 1 && contacts_of(s.sim, 2) == 1);
    const double high[3] = {0, 0, 4}, kick[3] = {0, 0, 1};
    CHECK_OK(perp_sim_set_body_velocity(s.sim, 2, kick, NULL)); /* did not move: keeps its own */
    CHECK_OK(perp_sim_set_body_pose(s.sim, 1, high, NULL));
    CHECK(contacts_of(s.sim, 1) == 0 && contacts_of(s.sim, 2) == 1);
    scene_sim_close(&s);
}

/* The energy of a soft layer is that of the depth at which the body was set. */
TEST(a_soft_layer_counts_from_the_depth_that_was_set)
{
    scene_sim s = scene_sim_quoted(
        "{'step': 0.001, 'stepper': 'compliant', 'gravity': [0,0,-10], 'bodies': ["
        "{'name': 'floor', 'type': 'static', 'shapes': [{'type': 'plane', 'normal': [0,0,1]}]},"
        "{'name': 'ball', 'mass': 1, 'position': [0,0,1], 'compliance': {'stiffness': 1000}, "
        "'shapes':"
        " [{'type': 'sphere', 'radius': 1}]}]}");
    run(s.sim, 50);
    const double depth[3] = {0.0, 0.01, 0.03};
    for (int i = 0; i < 3; ++i) {
        const double at[3] = {0, 0, 1 - depth[i]}, still[3] = {0, 0, 0};
        CHECK_OK(perp_sim_set_body_pose(s.sim, 1, at, NULL));
        CHECK_OK(perp_sim_set_body_velocity(s.sim, 1, still, still));
        CHECK_OK(perp_sim_check_state(s.sim));
        CHECK_NEAR(perp_sim_energy(s.sim).total, 10 * at[2] + 500 * depth[i] * depth[i], 1e-9);
        CHECK_AT_MOST(worst_unexplained(s.sim, 20), 1e-9);
    }
    const double high[3] = {0, 0, 3};
    CHECK_OK(perp_sim_set_body_pose(s.sim, 1, high, NULL));
    CHECK_OK(perp_sim_check_state(s.sim));
    CHECK_NEAR(perp_sim_energy(s.sim).potential, 30.0, 1e-9);
    scene_sim_close(&s);
}

TEST(a_state_that_is_set_starts_a_new_account_which_explains_every_step)
{
    for (int k = 0; k < SCENE_COUNT; ++k) {
        scene_sim s = scene_sim_load(SCENES[k]);
        run(s.sim, 12);
        const perp_model* model = perp_sim_model(s.sim);
        for (int32_t i = 0; i < perp_model_body_count(model); ++i) {
            perp_body_state state = perp_sim_body(s.sim, i);
            if (perp_model_body_info(model, i).type == PERP_BODY_DYNAMIC) {
                state.velocity[0] += 0.1;
                CHECK_OK(perp_sim_set_body(s.sim, i, &state));
            }
        }
        const perp_ledger zero = {0}, total = perp_sim_ledger_total(s.sim);
        CHECK(memcmp(&zero, &total, sizeof zero) == 0);
        const double before = perp_sim_energy(s.sim).total;
        const double worst = worst_unexplained(s.sim, 15);
        if (!(worst <= 1e-7)) {
            TEST_PRINT("%s: unexplained %.2e", SCENES[k], worst);
        }
        CHECK_AT_MOST(worst, 1e-7);
        if (strstr(SCENES[k], "quasistatic") == NULL) {
            CHECK_NEAR(perp_sim_ledger_total(s.sim).change, perp_sim_energy(s.sim).total - before,
                       1e-9 * (1.0 + perp_sim_energy_scale(s.sim)));
        }
        scene_sim_close(&s);
    }
}

/* Between the two halves of an impact by Poisson's law, and after one by Newton's. */
TEST(a_state_set_between_impacts_drops_what_they_left)
{
    static const char* const LAWS[] = {"newton", "poisson"};
    for (int k = 0; k < 2; ++k) {
        scene_sim s = scene_sim_quoted(
            "{'step': 0.013, 'gravity': [0,0,-10], 'restitution': {'law': '%s', 'e': 0.5}, "
            "'bodies': ["
            "{'name': 'floor', 'type': 'static', 'shapes': [{'type': 'plane', 'normal': [0,0,1]}]},"
            "{'name': 'ball', 'mass': 1, 'position': [0,0,1.2], 'shapes': [{'type': 'sphere',"
            " 'radius': 1}]}]}",
            LAWS[k]);
        while (perp_sim_impact_count(s.sim) == 0) {
            run(s.sim, 1);
        }
        const double high[3] = {0, 0, 3}, still[3] = {0, 0, 0};
        CHECK_OK(perp_sim_set_body_pose(s.sim, 1, high, NULL));
        CHECK_OK(perp_sim_set_body_velocity(s.sim, 1, still, NULL));
        const double t = perp_sim_time(s.sim);
        run(s.sim, 4);
        CHECK_NEAR(perp_sim_time(s.sim), t + 4 * 0.013, 1e-12); /* no impact among them */
        CHECK_NEAR(perp_sim_body(s.sim, 1).velocity[2], -10 * 4 * 0.013, 1e-12);
        /* falls 0.00169 m less or more than a body that was dropped there, never an old offset */
        CHECK_NEAR(perp_sim_body(s.sim, 1).position[2], 3 - 0.5 * 10 * pow(4 * 0.013, 2), 0.004);
        scene_sim_close(&s);
    }
}

TEST(a_snapshot_of_a_simulation_that_was_set_continues_with_the_same_bits)
{
    for (int k = 0; k < SCENE_COUNT; ++k) {
        scene_sim s = scene_sim_load(SCENES[k]), t = scene_sim_load(SCENES[k]);
        run(s.sim, 8);
        const perp_model* model = perp_sim_model(s.sim);
        for (int32_t i = 0; i < perp_model_body_count(model); ++i) {
            const double v[3] = {0.05, 0.02, 0};
            if (perp_model_body_info(model, i).type == PERP_BODY_DYNAMIC) {
                CHECK_OK(perp_sim_set_body_velocity(s.sim, i, v, NULL));
            }
        }
        unsigned char buffer[200000];
        size_t size = sizeof buffer;
        CHECK_OK(perp_sim_save(s.sim, buffer, &size));
        CHECK_OK(perp_sim_restore(t.sim, buffer, size));
        CHECK(agree(s.sim, t.sim, 12) == 12);
        scene_sim_close(&t);
        scene_sim_close(&s);
    }
}

static perp_status hold_still(void* user, perp_sim* sim)
{
    (void)user;
    const double none[3] = {0, 0, 0};
    return perp_sim_set_body_velocity(sim, 1, none, none);
}

TEST(a_callback_may_set_the_state)
{
    scene_sim s = scene_sim_quoted("%s", TWO_BALLS);
    const double high[3] = {0, 0, 4};
    CHECK_OK(perp_sim_set_body_pose(s.sim, 1, high, NULL));
    perp_sim_on_step(s.sim, hold_still, NULL);
    run(s.sim, 20);
    CHECK_NEAR(perp_sim_body(s.sim, 1).velocity[2], -0.1, 1e-12); /* of the last step alone */
    scene_sim_close(&s);
}

TEST(an_adaptive_run_goes_on_from_a_state_that_was_set)
{
    scene_sim s = scene_sim_quoted(
        "{'step': {'error': 1e-5}, 'gravity': [0,0,-10], 'restitution': 0.5, 'friction': "
        "{'default': 0.3},"
        " 'bodies': [{'name': 'floor', 'type': 'static', 'shapes': [{'type': 'plane', 'normal':"
        " [0,0,1]}]}, {'name': 'ball', 'mass': 1, 'position': [0,0,0.5], 'shapes': [{'type': "
        "'sphere',"
        " 'radius': 0.5}]}]}");
    run(s.sim, 5);
    const double t = perp_sim_time(s.sim);
    const double high[3] = {0, 0, 1.0}, v[3] = {1, 0, 0};
    CHECK_OK(perp_sim_set_body_pose(s.sim, 1, high, NULL));
    CHECK_OK(perp_sim_set_body_velocity(s.sim, 1, v, NULL));
    while (perp_sim_impact_count(s.sim) == 0 && !perp_sim_finished(s.sim)) {
        run(s.sim, 1);
    }
    CHECK_NEAR(perp_sim_time(s.sim) - t, sqrt(2 * 0.5 / 10), 1e-3);
    CHECK_AT_LEAST(perp_sim_body(s.sim, 1).velocity[2], 0.0);
    scene_sim_close(&s);
}

/* A planar body: its angle keeps its turns. */
TEST(a_planar_body_is_set_by_its_angle)
{
    scene_sim s = scene_sim_quoted("{'dimension': 2, 'step': 0.01, 'bodies': [{'name': 'disc', "
                                   "'mass': 1, 'angle': 12, 'shapes':"
                                   " [{'type': 'circle', 'radius': 1}]}]}");
    perp_body_state state = perp_sim_body(s.sim, 0);
    state.angle = 100.0;
    state.angular_velocity[2] = 2.0;
    CHECK_OK(perp_sim_set_body(s.sim, 0, &state));
    run(s.sim, 10);
    CHECK_NEAR(perp_sim_body(s.sim, 0).angle, 100.2, 1e-12);
    const double quarter[4] = {0.70710678118654752, 0, 0, 0.70710678118654752};
    CHECK_OK(perp_sim_set_body_pose(s.sim, 0, NULL, quarter));
    CHECK_NEAR(perp_sim_body(s.sim, 0).angle, 1.5707963267948966 + 16 * 6.283185307179586, 1e-12);
    scene_sim_close(&s);
}
