/* tests/physics/joint_scenes_test.c - the papers' scenes with joints: what each of them promises. */
#include "perp_test.h"
#include "support/scene_sim.h"

/* ---- helpers ------------------------------------------------------------------------------------ */

static scene_sim open_with(const char* name, const char* pointer, const char* value)
{
    scene_sim s = {0};
    char path[4096];
    snprintf(path, sizeof path, "%s/scenes/%s.json", PERP_SOURCE_DIR, name);
    const perp_override override = {pointer, value};
    if (perp_context_create(NULL, &s.context) != PERP_OK) {
        return s;
    }
    perp_status status =
        perp_scene_load(s.context, path, &override, pointer != NULL ? 1 : 0, &s.scene);
    if (status == PERP_OK) {
        status = perp_sim_create_from_scene(s.context, s.scene, &s.sim);
    }
    if (status != PERP_OK) {
        printf("  %s\n", perp_context_error(s.context));
    }
    return s;
}

/* The largest error of any joint over the run. *certificate: the worst of the residual check's. */
static double run_with_joint_error(scene_sim* s, double* certificate)
{
    double most = 0.0;
    *certificate = 0.0;
    const int32_t joints = perp_model_joint_count(perp_sim_model(s->sim));
    while (!perp_sim_finished(s->sim)) {
        if (perp_sim_step(s->sim) != PERP_OK) {
            printf("  %s\n", perp_context_error(s->context));
            return INFINITY;
        }
        *certificate = fmax(*certificate, perp_sim_step_info(s->sim).certificate.worst);
        for (int32_t i = 0; i < joints; ++i) {
            most = fmax(most, perp_sim_joint(s->sim, i).error[0]);
        }
    }
    return most;
}

static double mass_of(const scene_sim* s, const char* name)
{
    const perp_model* model = perp_sim_model(s->sim);
    return perp_model_body_info(model, perp_model_body_find(model, name)).mass;
}

/* ---- [B09] 2.7 ---------------------------------------------------------------------------------- */

/* Two slender rods of length and mass 1 in their angles, by Runge and Kutta's fourth-order method. */
static void pendulum_rate(const double* y, double* rate)
{
    const double g = 9.81, c = cos(y[0] - y[1]), s = sin(y[0] - y[1]);
    /* Lagrange: [4/3, c/2; c/2, 1/3] (a'', b'')' = rhs, angles from the horizontal */
    const double ra = -0.5 * s * y[3] * y[3] - 1.5 * g * cos(y[0]);
    const double rb = 0.5 * s * y[2] * y[2] - 0.5 * g * cos(y[1]);
    const double det = 4.0 / 9.0 - 0.25 * c * c;
    rate[0] = y[2];
    rate[1] = y[3];
    rate[2] = (ra / 3.0 - 0.5 * c * rb) / det;
    rate[3] = (4.0 / 3.0 * rb - 0.5 * c * ra) / det;
}

static void pendulum_exact(double time, double* y)
{
    enum { STEPS = 20000 };
    const double h = time / STEPS;
    for (int i = 0; i < STEPS; ++i) {
        double k[4][4], z[4];
        for (int stage = 0; stage < 4; ++stage) {
            const double part = stage == 0 ? 0.0 : stage == 3 ? h : 0.5 * h;
            for (int j = 0; j < 4; ++j) {
                z[j] = y[j] + (stage > 0 ? part * k[stage - 1][j] : 0.0);
            }
            pendulum_rate(z, k[stage]);
        }
        for (int j = 0; j < 4; ++j) {
            y[j] += h / 6.0 * (k[0][j] + 2 * k[1][j] + 2 * k[2][j] + k[3][j]);
        }
    }
}

TEST(the_double_pendulum_converges_to_the_exact_motion_at_second_order)
{
    double exact[4] = {0, 0, 0, 0}, error[3];
    pendulum_exact(1.0, exact);
    for (int k = 0; k < 3; ++k) {
        scene_sim s = open_with("b09-double-pendulum", "/step",
                                k == 0   ? "0.002"
                                : k == 1 ? "0.001"
                                         : "0.0005");
        REQUIRE(s.sim != NULL);
        while (perp_sim_time(s.sim) < 1.0 - 1e-9) {
            REQUIRE_OK(perp_sim_step(s.sim));
        }
        const double a = scene_sim_body(&s, "A").angle - exact[0];
        const double b = scene_sim_body(&s, "B").angle - exact[1];
        error[k] = hypot(a, b);
        scene_sim_close(&s);
    }
    const double first = log2(error[0] / error[1]), second = log2(error[1] / error[2]);
    TEST_PRINT("error at t = 1: %.3g, %.3g, %.3g: orders %.3f and %.3f", error[0], error[1],
               error[2], first, second);
    CHECK(first > 1.9 && first < 2.1);
    CHECK(second > 1.9 && second < 2.1);
}

TEST(without_friction_the_block_and_its_pendulum_keep_their_centre_of_mass_over_one_place)
{
    scene_sim s = open_with("b09-pendulum-block", NULL, NULL);
    REQUIRE(s.sim != NULL);
    static const char* const names[] = {"block", "A", "B"};
    double start = 0.0, moved = 0.0, away = 0.0;
    for (int i = 0; i < 3; ++i) {
        start += mass_of(&s, names[i]) * scene_sim_body(&s, names[i]).position[0];
    }
    while (!perp_sim_finished(s.sim)) {
        REQUIRE_OK(perp_sim_step(s.sim));
        double now = 0.0;
        for (int i = 0; i < 3; ++i) {
            now += mass_of(&s, names[i]) * scene_sim_body(&s, names[i]).position[0];
        }
        away = fmax(away, fabs(now - start));
        moved = fmax(moved, fabs(scene_sim_body(&s, "block").position[0]));
    }
    TEST_PRINT("the block moved by %.3g, the centre by %.2g", moved, away);
    CHECK_AT_LEAST(moved, 0.1);
    CHECK_AT_MOST(away, 1e-10);
    scene_sim_close(&s);
}

TEST(with_friction_the_block_sticks_and_slips)
{
    scene_sim s = open_with("b09-pendulum-friction", NULL, NULL);
    REQUIRE(s.sim != NULL);
    int stuck = 0, slipped = 0;
    while (!perp_sim_finished(s.sim)) {
        REQUIRE_OK(perp_sim_step(s.sim));
        CHECK_AT_MOST(perp_sim_step_info(s.sim).certificate.worst, 1e-10);
        const double v = fabs(scene_sim_body(&s, "block").velocity[0]);
        stuck += v < 1e-12;
        slipped += v > 1e-3;
    }
    TEST_PRINT("%d steps stuck, %d slipping", stuck, slipped);
    CHECK_AT_LEAST(stuck, 50);
    CHECK_AT_LEAST(slipped, 50);
    scene_sim_close(&s);
}

TEST(the_pusher_moves_the_block_and_the_belt_holds_it_there)
{
    static const char* const scenes[] = {"b09-pendulum-pusher", "b09-pendulum-belt",
                                         "b09-planar-model"};
    for (int k = 0; k < 3; ++k) {
        scene_sim s = open_with(scenes[k], NULL, NULL);
        REQUIRE(s.sim != NULL);
        double overlap = 0.0;
        int touching = 0;
        while (!perp_sim_finished(s.sim)) {
            REQUIRE_OK(perp_sim_step(s.sim));
            CHECK_AT_MOST(perp_sim_step_info(s.sim).certificate.worst, 1e-8);
            const perp_body_state b = scene_sim_body(&s, "block");
            const double pusher = scene_sim_body(&s, "pusher").position[0];
            const double edge = b.position[0] - 0.5;
            overlap = fmax(overlap, fabs(b.angle) < 1e-6 ? pusher - edge : 0.0);
            touching += fabs(pusher - edge) < 1e-6;
        }
        TEST_PRINT("%s: touching in %d steps, overlap %.2g", scenes[k], touching, overlap);
        CHECK_AT_LEAST(touching, k == 0 ? 50 : 400);
        CHECK_AT_MOST(overlap, 1e-9);
        CHECK_AT_LEAST(scene_sim_body(&s, "block").position[0], 1.4 - 1e-6);
        scene_sim_close(&s);
    }
}

/* ---- [W14] -------------------------------------------------------------------------------------- */

/* What the psi/h term leaves: the joint's point turns about the centre at rate w and cuts the corner
 * of its circle by r w^2 h^2 / 2 in a step; w^2 <= 2 m g r (1 - cos) / (I + m r^2). */
TEST(the_hanging_rod_keeps_its_joint)
{
    const double r = 0.25, I = 0.5 * 0.5 / 12 + 0.1 * 0.1 / 4;
    const double w2 = 2 * 9.81 * r * (1 - cos(0.62831853071795862)) / (I + r * r);
    const double steps[] = {0.01, 0.005};
    for (int k = 0; k < 2; ++k) {
        char h[32];
        double certificate;
        snprintf(h, sizeof h, "%g", steps[k]);
        scene_sim s = open_with("w14-hanging-rod", "/step", h);
        REQUIRE(s.sim != NULL);
        const double error = run_with_joint_error(&s, &certificate);
        const double bound = 0.5 * r * w2 * steps[k] * steps[k];
        TEST_PRINT("h = %s: joint error %.3g, bound %.3g", h, error, bound);
        CHECK_AT_MOST(error, 1.01 * bound);
        CHECK_AT_MOST(error, k == 0 ? 1.4e-4 : 7e-5);
        CHECK_AT_LEAST(error, 0.1 * bound);
        CHECK_AT_MOST(certificate, 1e-10);
        scene_sim_close(&s);
    }
    double certificate;
    scene_sim s = open_with("w14-hanging-rod", "/joint_correction", "true");
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(run_with_joint_error(&s, &certificate), 1e-10);
    scene_sim_close(&s);
}

TEST(the_pendulum_s_error_is_gone_with_correction)
{
    double certificate;
    scene_sim s = open_with("w14-pendulum", NULL, NULL);
    REQUIRE(s.sim != NULL);
    const double with = run_with_joint_error(&s, &certificate);
    scene_sim_close(&s);
    s = open_with("w14-pendulum", "/joint_correction", "false");
    REQUIRE(s.sim != NULL);
    const double without = run_with_joint_error(&s, &certificate);
    scene_sim_close(&s);
    TEST_PRINT("%.2g with correction, %.2g without", with, without);
    CHECK_AT_MOST(with, 1e-10);
    CHECK_AT_LEAST(without, 1e-5);
}

TEST(the_cart_rolls_without_slipping_or_leaving_its_lane)
{
    double certificate;
    scene_sim s = open_with("w14-rolling-cart", NULL, NULL);
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(run_with_joint_error(&s, &certificate), 1e-3);
    CHECK_AT_MOST(certificate, 1e-8);
    const perp_body_state chassis = scene_sim_body(&s, "chassis");
    const double speed = hypot(chassis.velocity[1], chassis.velocity[2]);
    TEST_PRINT("speed %.4g after 3 s, %.2g beside the lane", speed, chassis.position[0]);
    CHECK_AT_LEAST(speed, 1.5);
    CHECK_NEAR(scene_sim_body(&s, "front-left").angular_velocity[0], -speed / 0.25, 0.01);
    CHECK_AT_MOST(fabs(chassis.position[0]), 1e-2);
    scene_sim_close(&s);
}

TEST(the_tree_hangs_together)
{
    double certificate;
    scene_sim s = open_with("w14-joint-tree", NULL, NULL);
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(run_with_joint_error(&s, &certificate), 1e-10);
    CHECK_AT_MOST(certificate, 1e-10);
    scene_sim_close(&s);
}

TEST(the_arm_takes_the_can_lifts_it_and_turns_it_away)
{
    double certificate;
    scene_sim s = open_with("w14-arm", NULL, NULL);
    REQUIRE(s.sim != NULL);
    CHECK_AT_MOST(run_with_joint_error(&s, &certificate), 1e-4);
    CHECK_AT_MOST(certificate, 1e-8);
    const perp_body_state can = scene_sim_body(&s, "can");
    const double yaw = atan2(can.position[1], can.position[0]);
    TEST_PRINT("the can is at (%.4f, %.4f, %.4f)", can.position[0], can.position[1],
               can.position[2]);
    CHECK_NEAR(can.position[2], 0.2, 2e-3); /* 0.15 higher than it stood */
    CHECK_NEAR(hypot(can.position[0], can.position[1]), 0.4, 5e-3);
    CHECK_NEAR(yaw, 0.8, 0.02);
    const double tilt = 2.0 * hypot(can.orientation[1], can.orientation[2]);
    CHECK_AT_MOST(tilt, 0.01); /* upright */
    scene_sim_close(&s);
}

/* ---- [N04] -------------------------------------------------------------------------------------- */

TEST(a_slider_runs_to_its_limit_and_momentum_stays)
{
    static const char* const scenes[] = {"n04-prismatic-planar", "n04-prismatic-spatial"};
    static const char* const names[][2] = {{"bar", "slider"}, {"rod", "collar"}};
    for (int k = 0; k < 2; ++k) {
        scene_sim s = open_with(scenes[k], NULL, NULL);
        REQUIRE(s.sim != NULL);
        double before[3] = {0}, after[3] = {0}, certificate;
        for (int i = 0; i < 2; ++i) {
            for (int c = 0; c < 3; ++c) {
                before[c] += mass_of(&s, names[k][i]) * scene_sim_body(&s, names[k][i]).velocity[c];
            }
        }
        double farthest = 0.0;
        CHECK_AT_MOST(run_with_joint_error(&s, &certificate), 1e-4);
        for (int i = 0; i < 2; ++i) {
            for (int c = 0; c < 3; ++c) {
                after[c] += mass_of(&s, names[k][i]) * scene_sim_body(&s, names[k][i]).velocity[c];
            }
        }
        farthest = perp_sim_joint(s.sim, 0).coordinate[0];
        for (int c = 0; c < 3; ++c) {
            CHECK_NEAR(after[c], before[c], 1e-12);
        }
        TEST_PRINT("%s: travel %.9f", scenes[k], farthest);
        CHECK_NEAR(farthest, 0.3, 1e-4); /* pressed against the limit by the spinning */
        CHECK_AT_MOST(certificate, 1e-10);
        scene_sim_close(&s);
    }
}
