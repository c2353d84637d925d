/* Measures, stops and quantities against closed forms: a throw, a slide, a lift. */
#include "perp_test.h"
#include "support/scene_sim.h"

static double measure(const scene_sim* s, const char* name)
{
    const int32_t i = perp_sim_measure_find(s->sim, name);
    CHECK(i >= 0);
    return i >= 0 ? perp_sim_measure(s->sim, i) : NAN;
}

/* Semi-implicit steps of a throw: y_n = n h v - g h^2 n (n + 1) / 2, which is 0 at t = 2 v / g - h. A
 * straight line between two steps is off the parabola by g h^2 / 8 at most. */
TEST(a_throw_has_the_flight_height_and_range_of_the_textbook)
{
    for (double h = 0.02; h > 0.001; h *= 0.5) {
        const double v = 4.0, u = 3.0, g = 9.81;
        scene_sim s = scene_sim_open(
            "{'dimension': 2, 'gravity': [0, '-g'], 'step': '%.17g', 'duration': 2,"
            " 'parameters': {'g': 9.81, 'v': 4, 'u': 3},"
            " 'bodies': [{'name': 'ball', 'mass': 1, 'inertia': 1, 'velocity': ['u', 'v']}],"
            " 'measures': {'flight': {'first_time': 't > 0.1 and 0 >= 1'},"
            "  'back': {'first_time': 'ball.position.y < 0'}, 'top': {'max': 'ball.position.y'},"
            "  'range': 'ball.position.x', 'rise': {'integral': 'ball.velocity.y'},"
            "  'apex': {'first_time': '0 >= ball.velocity.y'}, 'slow': {'min': 'ball.speed'}},"
            " 'stop': [{'name': 'landed', 'when': 'ball.position.y < 0'}]}",
            h);
        (void)scene_sim_run(&s);
        if (s.sim == NULL) {
            TEST_PRINT("%s", s.error);
            CHECK(false);
            return;
        }
        const double T = 2.0 * v / g - h, near = g * h * h / (8.0 * v) * 1.2;
        CHECK_NEAR(measure(&s, "back"), T, near);
        CHECK_NEAR(measure(&s, "apex"), v / g, 1e-12); /* the velocity is a straight line */
        CHECK_NEAR(measure(&s, "slow"), u, 0.5 * g * h * g * h / u + 1e-12);
        CHECK_NEAR(measure(&s, "top"), 0.5 * v * v / g - 0.5 * v * h, g * h * h);
        CHECK(isnan(measure(&s, "flight"))); /* it never held */
        CHECK_EQ_STR(perp_sim_outcome(s.sim), "landed");
        /* the run ends with the step in which the ball passes its start */
        const double end = perp_sim_time(s.sim);
        CHECK(end >= T - 1e-12 && end < T + h + 1e-12);
        CHECK_NEAR(measure(&s, "range"), u * end, 1e-12);
        /* the trapezoidal rule: h (v_k + v_k+1) / 2, where a step moves by h v_k+1 */
        const double y = scene_sim_body(&s, "ball").position[1];
        CHECK_NEAR(measure(&s, "rise"), y + 0.5 * g * h * end, 1e-12);
        scene_sim_close(&s);
    }
}

static const char* const schemes[][2] = {
    {"stewart-trinkle", "0.01"}, {"anitescu-potra", "0.01"},
    {"implicit", "0.01"},        {"geometric-implicit", "0.01"},
    {"compliant", "0.01"},       {"stewart-trinkle", "{'error': 1e-5, 'max': 0.02}"},
};

/* Sums over time that any schedule of steps must give: odd durations, impacts, adaptive steps. */
TEST(integrals_over_time_do_not_depend_on_the_steps)
{
    for (size_t k = 0; k < sizeof schemes / sizeof schemes[0]; ++k) {
        for (int bounces = 0; bounces < 2; ++bounces) {
            const bool rigid = strcmp(schemes[k][0], "compliant") != 0;
            scene_sim s = scene_sim_open(
                "{'dimension': 3, 'gravity': [0, 0, -9.81], 'step': %s, 'duration': 0.6137,"
                " 'stepper': '%s', 'restitution': %s, 'bodies': [{'name': 'ground', 'type': "
                "'static',"
                "  'shapes': [{'type': 'plane', 'normal': [0, 0, 1]}]},"
                " {'name': 'ball', 'mass': 2, 'inertia': [1, 1, 1], 'position': [0, 0, 1.3],"
                "  %s 'shapes': [{'type': 'sphere', 'radius': 1}]}],"
                " 'measures': {'one': {'integral': '1'}, 't': {'mean': 't'}, 'last': 't',"
                "  'least': {'min': 't'}, 'most': {'max': 't'},"
                "  'push': {'integral': 'contact.ground.ball.force.z'},"
                "  'pull': {'integral': 'contact.ball.ground.force.z'},"
                "  'all': {'integral': 'ball.force.z'}, 'v': 'ball.velocity.z'}}",
                schemes[k][1], schemes[k][0], bounces == 1 && rigid ? "0.5" : "0",
                rigid ? "" : "'compliance': {'stiffness': 1e4, 'damping': 100},");
            if (s.sim == NULL) { /* a stepper that takes no restitution */
                CHECK(bounces == 1);
                scene_sim_close(&s);
                continue;
            }
            (void)scene_sim_run(&s);
            CHECK(perp_sim_finished(s.sim));
            CHECK_EQ_STR(perp_sim_outcome(s.sim), "end");
            CHECK_NEAR(measure(&s, "one"), 0.6137, 1e-12);
            CHECK_NEAR(measure(&s, "t"), 0.5 * 0.6137, 1e-12);
            CHECK_NEAR(measure(&s, "last"), 0.6137, 1e-12);
            CHECK_NEAR(measure(&s, "most"), 0.6137, 1e-12);
            CHECK(measure(&s, "least") == 0.0);
            const double push = measure(&s, "push");
            CHECK_NEAR(measure(&s, "pull"), -push, 1e-12 * (1.0 + fabs(push)));
            CHECK_NEAR(measure(&s, "all"), push, 1e-12 * (1.0 + fabs(push)));
            /* the integral of a force is its impulse; impacts, and the first halves of adaptive steps,
             * are not in it */
            if (bounces == 0 && k < 5) {
                CHECK_NEAR(push, 2.0 * (measure(&s, "v") + 9.81 * 0.6137), 1e-6);
            }
            scene_sim_close(&s);
        }
    }
}

/* A block that slides: N = m g, F = mu N, and its slip is its speed. */
TEST(a_sliding_block_has_the_forces_of_coulomb)
{
    scene_sim s = scene_sim_open(
        "{'dimension': 3, 'gravity': [0, 0, -9.81], 'step': 0.005, 'duration': 0.2,"
        " 'parameters': {'mu': 0.25, 'm': 3},"
        " 'bodies': [{'name': 'floor', 'type': 'static', 'friction': 'mu',"
        "  'shapes': [{'type': 'plane', 'normal': [0, 0, 1]}]},"
        " {'name': 'left-block', 'mass': 'm', 'inertia': [0.1, 0.1, 0.1], 'friction': 'mu',"
        "  'position': [0, 0, 0.05], 'velocity': [2, 0, 0],"
        "  'shapes': [{'type': 'box', 'size': [1, 1, 0.1]}]}],"
        " 'measures': {'N': {'mean': 'contact.floor.[left-block].normal'},"
        "  'F': {'min': 'contact.floor.[left-block].friction'},"
        "  'X': {'max': 'contact.floor.[left-block].force.x'},"
        "  'slip': 'contact.[left-block].floor.slip - [left-block].speed',"
        "  'points': {'min': 'contact.floor.[left-block].count'},"
        "  'gap': {'max': 'abs(distance.floor.[left-block])'},"
        "  'heat': '-ledger.friction'}}");
    (void)scene_sim_run(&s);
    const double N = 3.0 * 9.81;
    CHECK_NEAR(measure(&s, "N"), N, 1e-6 * N);
    CHECK_NEAR(measure(&s, "F"), 0.25 * N, 1e-6 * N);
    CHECK_NEAR(measure(&s, "X"), -0.25 * N, 1e-6 * N);
    CHECK_NEAR(measure(&s, "slip"), 0.0, 1e-9);
    CHECK_AT_LEAST(measure(&s, "points"), 1.0);
    CHECK_NEAR(measure(&s, "gap"), 0.0, 1e-9);
    const double travel = scene_sim_body(&s, "left-block").position[0];
    CHECK_NEAR(measure(&s, "heat"), 0.25 * N * travel, 0.02 * N * travel);
    scene_sim_close(&s);
}

/* A slider driven by a motor and one by a controller: effort = m a, rate = v, also with adaptive steps,
 * whose impulses are those of their second half. */
TEST(efforts_and_rates_of_joints_and_controllers_are_those_of_newton)
{
    for (int adaptive = 0; adaptive < 2; ++adaptive) {
        scene_sim s = scene_sim_open(
            "{'dimension': 2, 'step': %s, 'duration': 0.5, 'parameters': {'F': 3, 'k': 40},"
            " 'bodies': [{'name': 'a', 'mass': 2, 'inertia': 1}, {'name': 'b', 'mass': 2,"
            "  'inertia': 1, 'position': [0, 1]}, {'name': 'c', 'mass': 1, 'inertia': 1,"
            "  'position': [0, 2]}],"
            " 'joints': [{'name': 'ja', 'type': 'prismatic', 'a': 'world', 'b': 'a', 'at': [0, 0],"
            "  'axis': [1, 0], 'motor': {'type': 'effort', 'target': 'F'}},"
            " {'name': 'jb', 'type': 'prismatic', 'a': 'world', 'b': 'b', 'at': [0, 1],"
            "  'axis': [1, 0]},"
            " {'name': 'jc', 'type': 'prismatic', 'a': 'world', 'b': 'c', 'at': [0, 2],"
            "  'axis': [1, 0], 'motor': {'type': 'velocity', 'target': 't'}}],"
            " 'controllers': [{'type': 'pd', 'joint': 'jb', 'kp': 'k', 'target': 1}],"
            " 'measures': {'F': {'min': 'ja.effort'}, 'v': 'ja.rate - a.velocity.x',"
            "  'x': 'ja.coordinate - a.position.x', 'v3': 'ja.rate.1', 'c': {'max': 'jc.effort'},"
            "  'pd': {'max': 'abs(controller.jb.effort - k*(1 - jb.coordinate))'},"
            "  'pull': {'max': 'controller.jb.effort'}}}",
            adaptive == 1 ? "{'error': 1e-6, 'max': 0.01}" : "0.001");
        if (s.sim == NULL) {
            TEST_PRINT("%s", s.error);
        }
        (void)scene_sim_run(&s);
        CHECK_NEAR(measure(&s, "F"), 3.0, 1e-9);
        CHECK_NEAR(measure(&s, "v3"), 0.75, 1e-9); /* F t / m */
        CHECK_NEAR(measure(&s, "v"), 0.0, 1e-12);
        CHECK_NEAR(measure(&s, "x"), 0.0, 1e-12);
        CHECK_NEAR(measure(&s, "c"), 1.0, 1e-6); /* m dv/dt */
        CHECK_NEAR(measure(&s, "pull"), 40.0, 0.5);
        CHECK_AT_MOST(measure(&s, "pd"), adaptive == 1 ? 1e-3 : 1e-9); /* it is extrapolated */
        scene_sim_close(&s);
    }
}
