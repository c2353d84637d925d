/* Derivatives of what robots have: gears, armature, joint_correction, feed-forward of gravity; of
 * impacts between free bodies and with moving plates; of adaptive steps with joints. */
#include "perp/perp.h"
#include "perp_test.h"
#include "support/gradient_cases.h"
#include "support/scene_sim.h"

enum { MOST = 6 };

typedef struct slopes {
    perp_status status;
    double value, by[MOST], difference[MOST];
    perp_gradient_flags flags;
    char error[1024];
} slopes;

/* The gradient of measure m by `by`; compare: and central differences of whole runs. */
static slopes find_slopes(const char* text, const char* const* by, perp_gradient_mode mode,
                          bool compare)
{
    slopes s = {.status = PERP_ERROR_MEMORY};
    perp_context* context = NULL;
    perp_scene* scene = NULL;
    perp_gradient* g = NULL;
    perp_gradient_def def = perp_gradient_def_default();
    def.measure = "m";
    def.parameter = by;
    def.mode = mode;
    while (def.parameter_count < MOST && by[def.parameter_count] != NULL) {
        def.parameter_count += 1;
    }
    if (perp_context_create(NULL, &context) != PERP_OK) {
        return s;
    }
    s.status = scene_parse(context, text, "robot", &scene);
    if (s.status == PERP_OK) {
        s.status = perp_gradient_create(context, scene, &def, &g);
    }
    if (s.status == PERP_OK) {
        s.value = perp_gradient_value(g);
        s.flags = perp_gradient_flags_of(g);
        for (int32_t i = 0; i < def.parameter_count; ++i) {
            s.by[i] = perp_gradient_of(g, i);
        }
    }
    if (s.status == PERP_OK && compare) {
        s.status = perp_gradient_difference(context, scene, &def, s.difference, NULL);
    }
    (void)snprintf(s.error, sizeof s.error, "%s", perp_context_error(context));
    perp_gradient_destroy(g);
    perp_scene_destroy(scene);
    perp_context_destroy(context);
    return s;
}

static double off(double a, double b)
{
    const double size = fmax(fabs(a), fabs(b));
    return size > 0.0 ? fabs(a - b) / size : 0.0;
}

/* Without flagged steps; the adjoint agrees with differences and with the forward derivatives
 * (adaptive steps have none). */
static void check_slopes(const char* text, const char* const* by, bool forward)
{
    const slopes back = find_slopes(text, by, PERP_GRADIENT_ADJOINT, true);
    double size = 0.0;
    if (back.status != PERP_OK) {
        TEST_PRINT("%s", back.error);
    }
    CHECK_EQ_INT(back.status, PERP_OK);
    CHECK_EQ_INT(back.flags.flagged, 0);
    for (int i = 0; i < MOST && by[i] != NULL; ++i) {
        size = fmax(size, fabs(back.difference[i]));
    }
    for (int i = 0; i < MOST && by[i] != NULL; ++i) {
        CHECK_AT_MOST(fabs(back.by[i] - back.difference[i]), 1e-6 * size);
    }
    if (!forward) {
        return;
    }
    const slopes ahead = find_slopes(text, by, PERP_GRADIENT_FORWARD, false);
    CHECK_EQ_INT(ahead.status, PERP_OK);
    CHECK_EQ_INT(ahead.flags.flagged, 0);
    for (int i = 0; i < MOST && by[i] != NULL; ++i) {
        CHECK_AT_MOST(fabs(back.by[i] - ahead.by[i]), 1e-9 * size);
    }
}

/* ---- recursions of the scheme --------------------------------------------------------------------*/

/* Two wheels on axes through their centres, geared, the first with a rotor and driven by an effort
 * f: one degree of freedom, (I + A + r^2 I2) w' = (I + A + r^2 I2) w + h f. So the angle after n
 * steps is h^2 f n (n + 1) / 2 / (I + A + r^2 I2). */
TEST(a_geared_wheel_has_the_derivative_of_its_recursion)
{
    const double h = 0.01, n = 40.0, A = 0.2, r = -1.5, I = 0.5, I2 = 0.3, f = 2.0;
    const char* const by[MOST] = {"A", "r", "f", "i"};
    const slopes s = find_slopes(
        "{'dimension': 2, 'gravity': [0, 0], 'step': 0.01, 'duration': 0.4, 'tolerance': 1e-12,"
        " 'parameters': {'A': 0.2, 'r': -1.5, 'f': 2, 'i': 0.5}, 'bodies': [{'name': 'a', 'mass': "
        "1,"
        " 'inertia': 'i', 'shapes': [{'type': 'circle', 'radius': 0.2}]}, {'name': 'b', 'mass': 1,"
        " 'inertia': 0.3, 'shapes': [{'type': 'circle', 'radius': 0.2}], 'position': [1, 0]}],"
        " 'joints': [{'name': 'j', 'type': 'revolute', 'a': 'world', 'b': 'a', 'at': [0, 0],"
        " 'armature': 'A', 'motor': {'type': 'effort', 'target': 'f'}}, {'name': 'k', 'type':"
        " 'revolute', 'a': 'world', 'b': 'b', 'at': [1, 0]}, {'name': 'g', 'type': 'gear',"
        " 'joints': ['j', 'k'], 'ratio': 'r'}], 'measures': {'m': 'a.angle'}}",
        by, PERP_GRADIENT_ADJOINT, false);
    const double all = I + A + r * r * I2, angle = 0.5 * h * h * n * (n + 1.0) * f / all;
    if (s.status != PERP_OK) {
        TEST_PRINT("%s", s.error);
    }
    CHECK_EQ_INT(s.status, PERP_OK);
    CHECK_EQ_INT(s.flags.flagged, 0);
    CHECK_AT_MOST(off(s.value, angle), 1e-9);
    CHECK_AT_MOST(off(s.by[0], -angle / all), 1e-9);
    CHECK_AT_MOST(off(s.by[1], -2.0 * r * I2 * angle / all), 1e-9);
    CHECK_AT_MOST(off(s.by[2], angle / f), 1e-9);
    CHECK_AT_MOST(off(s.by[3], -angle / all), 1e-9);
}

/* A ball of mass m meets one of mass 2 at rest without gravity. With the distance d between their
 * surfaces they meet at d / v; the second is then at (T - d / v) V, V = (1 + e) m v / (m + 2). */
TEST(balls_that_meet_in_flight_have_their_closed_form)
{
    const double v = 1.3, m = 0.8, e = 0.6, d = 0.15, T = 0.3;
    const char* const by[MOST] = {"v", "m", "c", "d"};
    const slopes s = find_slopes(
        "{'dimension': 3, 'gravity': [0, 0, 0], 'step': 0.01, 'duration': 0.3, 'tolerance': 1e-12,"
        " 'parameters': {'v': 1.3, 'm': 0.8, 'c': 0.6, 'd': 0.15}, 'restitution': 'c', 'bodies': ["
        "{'name': 'a', 'mass': 'm', 'shapes': [{'type': 'sphere', 'radius': 0.1}], 'velocity':"
        " ['v', 0, 0]}, {'name': 'b', 'mass': 2, 'shapes': [{'type': 'sphere', 'radius': 0.2}],"
        " 'position': ['0.3 + d', 0, 0]}], 'measures': {'m': 'b.position.x'}}",
        by, PERP_GRADIENT_ADJOINT, false);
    const double V = (1.0 + e) * m * v / (m + 2.0), left = T - d / v;
    if (s.status != PERP_OK) {
        TEST_PRINT("%s", s.error);
    }
    CHECK_EQ_INT(s.status, PERP_OK);
    CHECK_EQ_INT(s.flags.flagged, 0);
    CHECK_AT_MOST(off(s.value, 0.3 + d + left * V), 1e-9);
    CHECK_AT_MOST(off(s.by[0], left * V / v + V * d / (v * v)), 1e-9);
    CHECK_AT_MOST(off(s.by[1], left * V * 2.0 / (m * (m + 2.0))), 1e-9);
    CHECK_AT_MOST(off(s.by[2], left * V / (1.0 + e)), 1e-9);
    CHECK_AT_MOST(off(s.by[3], 1.0 - V / v), 1e-9);
}

/* ---- against differences of whole runs -----------------------------------------------------------*/

#define ARM                                                                                        \
    "{'dimension': 3, 'gravity': [0, 0, -9.81], 'step': %s, 'duration': 0.3, 'tolerance': 1e-12,"  \
    " 'parameters': {'m': 1.3, 'a': 0.05, 'k': -1.4, 'l': 0.35, 'v': 0.6}, %s'bodies': ["          \
    "{'name': 'b0', 'mass': 'm', 'shapes': [{'type': 'box', 'size': ['l', 0.06, 0.05]}],"          \
    " 'position': [0.2, 0, 1]}, {'name': 'b1', 'mass': 0.5, 'shapes': [{'type': 'box', 'size':"    \
    " ['l', 0.06, 0.05]}], 'position': [0.6, 0, 1], 'velocity': [0, 0, 'v']}, {'name': 'b2',"      \
    " 'mass': 0.4, 'shapes': [{'type': 'sphere', 'radius': 0.08}], 'position': [1, 0, 1]}],"       \
    " 'joints': [{'name': 'j0', 'type': 'revolute', 'a': 'world', 'b': 'b0', 'at': [0, 0, 1],"     \
    " 'axis': [0.1, 1, 0.2], 'armature': 'a'}, {'name': 'j1', 'type': 'revolute', 'a': 'b0',"      \
    " 'b': 'b1', 'at': [0.4, 0, 1], 'axis': [0.2, 1, 0], 'damping': 0.1}, {'name': 'j2',"          \
    " 'type': '%s', 'a': 'b1', 'b': 'b2', 'at': [0.8, 0, 1], 'axis': [1, 0.2, 0.1], 'armature':"   \
    " '2*a'}%s], 'measures': {'m': 'b2.position.x + 0.2*b1.angular_velocity.y + j0.coordinate.1"   \
    " + 0.1*energy.kinetic'}}"

static const char* const ARM_BY[MOST] = {"m", "a", "k", "l", "v"};

TEST(geared_arms_agree_with_differences)
{
    static const struct {
        const char *type, *gear;
    } cases[] = {
        {"revolute", ""},
        {"revolute", ", {'name': 'g', 'type': 'gear', 'joints': ['j0', 'j1'], 'ratio': 'k'}"},
        {"prismatic", ", {'name': 'g', 'type': 'gear', 'joints': ['j0', 'j2'], 'ratio': '0.3*k'}"},
        {"revolute", ", {'name': 'g', 'type': 'gear', 'joints': ['j0', 'j2'], 'ratio': 'k',"
                     " 'stiffness': '-20*k', 'damping': 0.3}"},
        {"revolute", ", {'name': 'g', 'type': 'gear', 'joints': ['j1', 'j0'], 'ratio': 'k',"
                     " 'stiffness': '-50*k', 'damping': 0.1, 'max_effort': 0.8}"},
    };
    char text[4096];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        (void)snprintf(text, sizeof text, ARM, "0.01", "", cases[i].type, cases[i].gear);
        check_slopes(text, ARM_BY, true);
    }
}

TEST(corrected_arms_agree_with_differences)
{
    char text[4096];
    (void)snprintf(text, sizeof text, ARM, "0.01", "'joint_correction': true, ", "prismatic", "");
    check_slopes(text, ARM_BY, true);
    (void)snprintf(text, sizeof text, ARM, "0.01", "'joint_correction': true, ", "revolute",
                   ", {'name': 'g', 'type': 'gear', 'joints': ['j0', 'j2'], 'ratio': 'k',"
                   " 'stiffness': '-20*k', 'damping': 0.3}");
    check_slopes(text, ARM_BY, true);
}

/* A pendulum on a cart, whose bob strikes a slope: contacts and a kinematic body take part in the
 * projection of the velocities. */
TEST(corrected_pendulums_that_strike_agree_with_differences)
{
    const char* const by[MOST] = {"m", "v", "w", "l"};
    check_slopes(
        "{'dimension': 2, 'gravity': [0, -9.81], 'step': 0.01, 'duration': 0.08, 'tolerance':"
        " 1e-12, 'joint_correction': true, 'friction': {'default': 0.3}, 'parameters': {'m': 1.3,"
        " 'v': 1.1, 'w': -7, 'l': 0.35}, 'bodies': [{'name': 'floor', 'type': 'static', 'shapes':"
        " [{'type': 'halfplane', 'normal': [0.1, 1], 'offset': -0.3}]}, {'name': 'cart', 'type':"
        " 'kinematic', 'shapes': [{'type': 'box', 'size': [0.1, 0.1]}], 'motion': {'position':"
        " ['0.3*v*t', '0.02*sin(9*v*t)']}}, {'name': 'b', 'mass': 'm', 'shapes': [{'type': 'box',"
        " 'size': ['l', 0.05]}], 'position': [0.3, 0], 'velocity': [0, '0.3*w'],"
        " 'angular_velocity': 'w'}, {'name': 'c', 'mass': 0.5, 'shapes': [{'type': 'circle',"
        " 'radius': 0.06}], 'position': [0.7, 0], 'velocity': [0, '0.7*w'], 'angular_velocity':"
        " 'w'}], 'joints': [{'name': 'j', 'type': 'revolute', 'a': 'cart', 'b': 'b', 'at': [0, 0]},"
        " {'name': 'k', 'type': 'revolute', 'a': 'b', 'b': 'c', 'at': [0.6, 0]}], 'measures':"
        " {'m': 'c.position.x + 0.2*c.velocity.y + j.coordinate.1'}}",
        by, true);
}

TEST(feed_forward_of_gravity_agrees_with_differences)
{
    static const char* const axis[] = {"'type': 'revolute', 'axis': [0.2, 1, 0.1]",
                                       "'type': 'prismatic', 'axis': [0.2, 0.1, 1]"};
    const char* const by[MOST] = {"m", "k", "l"};
    for (int i = 0; i < 2; ++i) {
        char text[2048];
        (void)snprintf(
            text, sizeof text,
            "{'dimension': 3, 'gravity': [0, 0, -9.81], 'step': 0.01, 'duration': 0.3, 'tolerance':"
            " 1e-12, 'parameters': {'m': 1.3, 'k': 20, 'l': 0.35}, 'bodies': [{'name': 'b', 'mass':"
            " 1, 'shapes': [{'type': 'box', 'size': ['l', 0.06, 0.05]}], 'position': [0.2, 0, 1]},"
            " {'name': 'c', 'mass': 'm', 'shapes': [{'type': 'sphere', 'radius': 0.08}],"
            " 'position': [0.6, 0.1, 1]}], 'joints': [{'name': 'j', 'a': 'world', 'b': 'b', 'at':"
            " [0, 0, 1], %s}, {'name': 'k', 'type': 'revolute', 'a': 'b', 'b': 'c', 'at':"
            " [0.4, 0, 1], 'axis': [0, 1, 0]}], 'controllers': [{'type': 'pid', 'joint': 'j',"
            " 'kp': 'k', 'ki': 2, 'kd': 1, 'target': '0.2*sin(3*t)', 'feed_forward': 'gravity'},"
            " {'type': 'pid', 'joint': 'k', 'kp': 'k', 'kd': 0.5, 'target': 0.1, 'feed_forward':"
            " 'gravity'}], 'measures': {'m': 'c.position.x + 0.1*b.velocity.z + j.coordinate.1'}}",
            axis[i]);
        check_slopes(text, by, true);
    }
}

/* A joint whose rate is limited: below the limit its controller is as any other, beyond it the step is flagged. */
TEST(controllers_below_the_velocity_limit_agree_with_differences)
{
    static const char arm[] =
        "{'dimension': 2, 'gravity': [0, -9.81], 'step': 0.01, 'duration': 0.3, 'tolerance': 1e-12,"
        " 'parameters': {'m': 1.3, 'k': %s}, 'bodies': [{'name': 'b', 'mass': 'm', 'shapes':"
        " [{'type': 'box', 'size': [0.4, 0.05]}], 'position': [0.2, 0]}], 'joints': [{'name': 'j',"
        " 'type': 'revolute', 'a': 'world', 'b': 'b', 'at': [0, 0], 'velocity_limit': %s}],"
        " 'controllers': [{'type': 'pid', 'joint': 'j', 'kp': 'k', 'ki': 2, 'kd': 1, 'target':"
        " '0.5*sin(3*t)'}], 'measures': {'m': 'b.position.x + 0.1*b.angular_velocity'}}";
    const char* const by[MOST] = {"m", "k"};
    char text[2048];
    (void)snprintf(text, sizeof text, arm, "20", "50");
    check_slopes(text, by, true);
    (void)snprintf(text, sizeof text, arm, "200", "0.5");
    const slopes s = find_slopes(text, by, PERP_GRADIENT_ADJOINT, false);
    CHECK_EQ_INT(s.status, PERP_OK);
    CHECK(s.flags.choice > 0);
}

/* Balls and boxes in flight, off centre and with friction: two bodies that act only on each other. */
TEST(bodies_that_meet_in_flight_agree_with_differences)
{
    static const char* const shape[] = {"{'type': 'sphere', 'radius': 0.1}",
                                        "{'type': 'box', 'size': [0.2, 0.15, 0.1]}"};
    const char* const by[MOST] = {"v", "m", "y", "c", "w"};
    for (int i = 0; i < 2; ++i) {
        char text[2048];
        (void)snprintf(
            text, sizeof text,
            "{'dimension': 3, 'gravity': [0, 0, -9.81], 'step': 0.01, 'duration': 0.35,"
            " 'tolerance': 1e-12, 'parameters': {'v': 1.3, 'm': 0.8, 'y': 0.04, 'c': 0.6, 'w': 3},"
            " 'friction': {'default': 0.2}, 'restitution': 'c', 'bodies': [{'name': 'a', 'mass':"
            " 'm', 'shapes': [%s], 'velocity': ['v', 0, 0], 'axis_angle': [1, 0.4, 0.3, 0.5],"
            " 'angular_velocity': [0.4, 'w', 1]}, {'name': 'b', 'mass': 2, 'shapes': [{'type':"
            " 'sphere', 'radius': 0.2}], 'position': [0.45, 0.03, 'y']}], 'measures': {'m':"
            " 'b.position.x + b.velocity.y + 0.3*a.position.z + 0.05*a.angular_velocity.x'}}",
            shape[i]);
        check_slopes(text, by, true);
    }
}

/* The velocity of the plate at the impact is part of the state, by the motion and by the time of the impact. */
TEST(bounces_on_a_plate_that_moves_agree_with_differences)
{
    static const char* const step[] = {"0.01", "{'error': 1e-6}"};
    const char* const by[MOST] = {"v", "k", "z", "c"};
    for (int i = 0; i < 2; ++i) {
        char text[2048];
        (void)snprintf(
            text, sizeof text,
            "{'dimension': 2, 'gravity': [0, -9.81], 'step': %s, 'duration': 0.5, 'tolerance':"
            " 1e-12, 'parameters': {'v': 1.1, 'k': 9, 'z': 0.4, 'c': 0.6}, 'friction': {'default':"
            " 0.3}, 'restitution': 'c', 'bodies': [{'name': 'plate', 'type': 'kinematic', 'shapes':"
            " [{'type': 'box', 'size': [4, 0.2]}], 'motion': {'position': ['0.03*v*sin(k*t)',"
            " '-0.1 + 0.05*v*cos(k*t)'], 'angle': '0.05*sin(4*v*t)'}}, {'name': 'b', 'mass': 1,"
            " 'shapes': [{'type': 'circle', 'radius': 0.1}], 'position': [0.1, 'z'], 'velocity':"
            " [0.4, 0]}], 'measures': {'m': 'b.position.x + b.position.y + 0.1*b.velocity.x'}}",
            step[i]);
        check_slopes(text, by, i == 0);
    }
}

/* With lengths that cannot change, differences of whole runs have the same sequence of steps. */
TEST(adaptive_steps_with_joints_agree_with_differences)
{
    char text[4096];
    (void)snprintf(text, sizeof text, ARM,
                   "{'error': 0.5, 'initial': 0.01, 'min': 0.01, 'max': 0.01}", "", "revolute",
                   ", {'name': 'g', 'type': 'gear', 'joints': ['j0', 'j1'], 'ratio': 'k'}");
    check_slopes(text, ARM_BY, false);
}

/* ---- random scenes -------------------------------------------------------------------------------*/

/* The first of `gradient_cases --robots`, one of each kind. */
TEST(random_robots_agree_with_differences)
{
    enum { SCENES = GRADIENT_ROBOT_KINDS };
    static gradient_case c;
    int compared = 0;
    perp_context* context = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    for (uint32_t seed = 1; seed <= SCENES; ++seed) {
        gradient_case_write_robot(seed, &c);
        const gradient_case_result r = gradient_case_compare(context, &c);
        if (r.status != PERP_OK) {
            TEST_PRINT("seed %u (%s): %s", seed, c.name, perp_context_error(context));
        }
        CHECK_EQ_INT(r.status, PERP_OK);
        if (r.status == PERP_OK && r.flags.flagged == 0 && r.noise <= 1e-7) {
            compared += 1;
            CHECK_AT_MOST(r.off, 1e-6);
        }
    }
    CHECK(compared >= SCENES / 2);
    perp_context_destroy(context);
}

/* ---- validity ------------------------------------------------------------------------------------*/

TEST(what_robots_have_without_derivative_is_refused_by_name)
{
    char text[4096];
    (void)snprintf(text, sizeof text, ARM, "0.01", "'joint_correction': true, ", "revolute",
                   ", {'name': 'g', 'type': 'gear', 'joints': ['j0', 'j1'], 'ratio': 'k'}");
    const slopes s = find_slopes(text, ARM_BY, PERP_GRADIENT_ADJOINT, false);
    CHECK_EQ_INT(s.status, PERP_ERROR_UNSUPPORTED);
    CHECK_CONTAINS(s.error, "gear 'g'");
}

/* At rest on the floor the projection of the velocities is at the border of two cases: held and open. */
TEST(a_corrected_robot_at_rest_is_flagged)
{
    const char* const by[MOST] = {"m"};
    const slopes s = find_slopes(
        "{'dimension': 2, 'gravity': [0, -9.81], 'step': 0.01, 'duration': 0.1, 'tolerance':"
        " 1e-12, 'joint_correction': true, 'parameters': {'m': 1.3}, 'bodies': [{'name': 'floor',"
        " 'type': 'static', 'shapes': [{'type': 'halfplane', 'normal': [0, 1]}]}, {'name': 'b',"
        " 'mass': 'm', 'shapes': [{'type': 'circle', 'radius': 0.1}], 'position': [0, 0.1]},"
        " {'name': 'c', 'mass': 1, 'shapes': [{'type': 'circle', 'radius': 0.05}], 'position':"
        " [0, 0.3]}], 'joints': [{'name': 'j', 'type': 'revolute', 'a': 'b', 'b': 'c', 'at':"
        " [0, 0.1]}], 'measures': {'m': 'c.position.y'}}",
        by, PERP_GRADIENT_ADJOINT, false);
    CHECK_EQ_INT(s.status, PERP_OK);
    CHECK(s.flags.choice > 0);
    CHECK(s.flags.flagged > 0);
}
