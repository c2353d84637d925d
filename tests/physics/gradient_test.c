/* Derivatives of measures along a run: closed forms, the scheme's own recursions, differences of whole runs. */
#include "perp/perp.h"
#include "perp_test.h"
#include "support/gradient_cases.h"
#include "support/scene_sim.h"

enum { MOST = 8 };

/* The gradient of measure `of` of a scene by names separated by commas. */
typedef struct slope {
    perp_status status;
    double value, by[MOST];
    perp_gradient_flags flags;
    char error[1024];
} slope;

typedef struct asked {
    const char* of;
    const char* by[MOST];
    perp_gradient_mode mode;
    bool checkpoints;
} asked;

static perp_gradient_def def_of(const asked* a)
{
    perp_gradient_def def = perp_gradient_def_default();
    def.measure = a->of;
    def.parameter = a->by;
    def.mode = a->mode;
    def.checkpoints = a->checkpoints;
    while (def.parameter_count < MOST && a->by[def.parameter_count] != NULL) {
        def.parameter_count += 1;
    }
    return def;
}

static slope find_slope(const char* text, asked a)
{
    slope s = {.status = PERP_ERROR_MEMORY};
    perp_context* context = NULL;
    perp_scene* scene = NULL;
    perp_gradient* g = NULL;
    if (perp_context_create(NULL, &context) != PERP_OK) {
        return s;
    }
    const perp_gradient_def def = def_of(&a);
    s.status = scene_parse(context, text, "gradient", &scene);
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

/* ---- closed forms and recursions of the scheme ---------------------------------------------------*/

#define BLOCK                                                                                      \
    "{'dimension': 2, 'gravity': [0, -10], 'step': 0.01, 'duration': %s, 'tolerance': 1e-12,"      \
    " 'parameters': {'v': 2.003, 'mu': 0.3}, 'friction': {'default': 'mu'}, 'bodies': ["           \
    "{'name': 'floor', 'type': 'static', 'shapes': [{'type': 'halfplane', 'normal': [0, 1]}]},"    \
    "{'name': 'b', 'mass': 1, 'inertia': 1, 'shapes': [{'type': 'box', 'size': [1, 0.2]}],"        \
    " 'position': [0, 0.1], 'velocity': ['v', 0]}], 'measures': {'x': 'b.position.x'}}"

/* v_k = v - k mu g h, x = h sum v_k: with n steps d x / d v = n h, d x / d mu = -g h^2 n (n + 1) / 2. */
TEST(a_sliding_block_has_the_derivative_of_its_recursion)
{
    char text[2048];
    (void)snprintf(text, sizeof text, BLOCK, "0.4");
    const slope s = find_slope(text, (asked){.of = "x", .by = {"v", "mu"}});
    CHECK_EQ_INT(s.status, PERP_OK);
    CHECK_EQ_INT(s.flags.flagged, 0);
    CHECK_AT_MOST(off(s.by[0], 0.4), 1e-9);
    CHECK_AT_MOST(off(s.by[1], -10.0 * 1e-4 * 40.0 * 41.0 / 2.0), 1e-9);
}

/* It slides for the n steps in which v - k mu g h > 0, and rests then. */
TEST(a_block_that_comes_to_rest_has_the_derivative_of_its_recursion)
{
    char text[2048];
    (void)snprintf(text, sizeof text, BLOCK, "1.5");
    const slope s = find_slope(text, (asked){.of = "x", .by = {"v", "mu"}});
    const double n = floor(2.003 / 0.03);
    CHECK_EQ_INT(s.status, PERP_OK);
    CHECK_EQ_INT(s.flags.flagged, 0);
    CHECK_AT_MOST(off(s.by[0], 0.01 * n), 1e-9);
    CHECK_AT_MOST(off(s.by[1], -10.0 * 1e-4 * n * (n + 1.0) / 2.0), 1e-9);
}

/* Angular momentum about the contact: the rolling speed is (5 v + 2 r w) / 7, whatever the friction. */
TEST(a_ball_that_slides_then_rolls_forgets_its_friction)
{
    const slope s = find_slope(
        "{'dimension': 3, 'gravity': [0, 0, -10], 'step': 0.01, 'duration': 1.2, 'tolerance': "
        "1e-12,"
        " 'parameters': {'v': 2, 'w': 1.5, 'mu': 0.2}, 'friction': {'default': 'mu'}, 'bodies': ["
        "{'name': 'floor', 'type': 'static', 'shapes': [{'type': 'plane', 'normal': [0, 0, 1]}]},"
        "{'name': 'b', 'mass': 3, 'shapes': [{'type': 'sphere', 'radius': 0.25}],"
        " 'position': [0, 0, 0.25], 'velocity': ['v', 0, 0], 'angular_velocity': [0, 'w', 0]}],"
        " 'measures': {'v': 'b.velocity.x'}}",
        (asked){.of = "v", .by = {"v", "w", "mu"}});
    CHECK_EQ_INT(s.status, PERP_OK);
    CHECK_EQ_INT(s.flags.flagged, 0);
    CHECK_AT_MOST(off(s.by[0], 5.0 / 7.0), 1e-9);
    CHECK_AT_MOST(off(s.by[1], 2.0 * 0.25 / 7.0), 1e-9);
    CHECK_AT_MOST(fabs(s.by[2]), 1e-9);
}

/* v' = (m v - h k x) / (m + h d + h^2 k), x' = x + h v', and the same differentiated. */
TEST(an_implicit_spring_has_the_derivative_of_its_recursion)
{
    const slope s = find_slope(
        "{'dimension': 2, 'gravity': [0, 0], 'step': 0.01, 'duration': 1, 'tolerance': 1e-12,"
        " 'parameters': {'k': 40, 'd': 0.7, 'm': 1.3, 'x0': 0.4}, 'bodies': [{'name': 'b',"
        " 'mass': 'm', 'inertia': 1, 'position': ['x0', 0]}], 'forces': [{'type': 'spring',"
        " 'a': 'world', 'b': 'b', 'stiffness': 'k', 'damping': 'd', 'rest': 0}],"
        " 'measures': {'x': 'b.position.x'}}",
        (asked){.of = "x", .by = {"k", "d", "m", "x0"}});
    const double h = 0.01, k = 40.0, d = 0.7, m = 1.3;
    double x[5] = {0.4, 0, 0, 0, 1}, v[5] = {0}; /* value, then by k, d, m, x0 */
    for (int i = 0; i < 100; ++i) {
        const double dm[5] = {0, h * h, h, 1, 0}; /* of the denominator */
        const double den = m + h * d + h * h * k, next = (m * v[0] - h * k * x[0]) / den;
        const double before = v[0];
        for (int j = 1; j < 5; ++j) {
            const double own = j == 1 ? -h * x[0] : j == 3 ? before : 0.0;
            v[j] = (m * v[j] - h * k * x[j] + own - next * dm[j]) / den;
            x[j] += h * v[j];
        }
        v[0] = next;
        x[0] += h * next;
    }
    CHECK_EQ_INT(s.status, PERP_OK);
    CHECK_AT_MOST(off(s.value, x[0]), 1e-11);
    for (int j = 1; j < 5; ++j) {
        CHECK_AT_MOST(off(s.by[j - 1], x[j]), 1e-9);
    }
}

#define BOUNCE                                                                                     \
    "{'dimension': 2, 'gravity': [0, '-g'], 'step': {'error': 1e-6}, 'duration': 1.2,"             \
    " 'tolerance': 1e-12, 'restitution': 'cr', 'friction': {'default': 0.3}, 'parameters':"        \
    " {'g': 10, 'cr': 0.8, 'y': 1, 'r': 0.1, 'vx': 1}, 'bodies': [{'name': 'floor', 'type':"       \
    " 'static', 'shapes': [{'type': 'halfplane', 'normal': [0, 1]}]}, {'name': 'b', 'mass': 1,"    \
    " 'shapes': [{'type': 'circle', 'radius': 'r'}], 'position': [0, 'y'],"                        \
    " 'velocity': ['vx', 0]}], 'measures': {'y': 'b.position.y', 'up': {'max':"                    \
    " 'b.velocity.y'}, 'apex': {'first_time': 'b.position.y < 0.5'}}}"

/* Between bounces y = r + v t - g t^2 / 2; the speed after the first is cr sqrt(2 g (y0 - r)),
 * after each next cr times that. Two bounces within the time. */
TEST(a_bounce_by_adaptive_steps_has_its_closed_form)
{
    const slope s = find_slope(BOUNCE, (asked){.of = "y", .by = {"y", "cr", "r", "g"}});
    const double g = 10.0, cr = 0.8, fall = 0.9, T = 1.2;
    const double v = sqrt(2.0 * g * fall), t = T - v / g * (1.0 + 2.0 * cr), up = cr * cr * v;
    const double v_y = g / v; /* d v / d y0 */
    const double t_y = -v_y / g * (1.0 + 2.0 * cr), t_cr = -2.0 * v / g;
    const double end = up - g * t;
    CHECK_EQ_INT(s.status, PERP_OK);
    CHECK_EQ_INT(s.flags.flagged, 0);
    CHECK_AT_MOST(off(s.value, 0.1 + up * t - 0.5 * g * t * t), 1e-10);
    CHECK_AT_MOST(off(s.by[0], cr * cr * v_y * t + end * t_y), 1e-9);
    CHECK_AT_MOST(off(s.by[1], 2.0 * cr * v * t + end * t_cr), 1e-9);
    CHECK_AT_MOST(off(s.by[2], 1.0 - (cr * cr * v_y * t + end * t_y)), 1e-9);
    const double v_g = v / (2.0 * g), t_g = -(v_g / g - v / (g * g)) * (1.0 + 2.0 * cr);
    CHECK_AT_MOST(off(s.by[3], cr * cr * v_g * t - 0.5 * t * t + end * t_g), 1e-9);

    /* the height of a bounce grows with the height of the fall: a sign that has been got wrong */
    const slope first = find_slope(BOUNCE, (asked){.of = "up", .by = {"y", "cr"}});
    CHECK_AT_MOST(off(first.by[0], cr * g / v), 1e-9);
    CHECK_AT_MOST(off(first.by[1], v), 1e-9);
    const slope time = find_slope(BOUNCE, (asked){.of = "apex", .by = {"y"}});
    CHECK_AT_MOST(off(time.by[0], 1.0 / sqrt(2.0 * g * 0.5)), 1e-3); /* linear between samples */
}

/* ---- against differences of whole runs -----------------------------------------------------------*/

/* The largest disagreement relative to the largest derivative; of a scene without flagged steps. */
static double disagreement(const char* text, asked a)
{
    double worst = 0.0, size = 0.0, difference[MOST];
    const slope s = find_slope(text, a);
    CHECK_EQ_INT(s.status, PERP_OK);
    CHECK_EQ_INT(s.flags.flagged, 0);
    perp_context* context = NULL;
    perp_scene* scene = NULL;
    const perp_gradient_def def = def_of(&a);
    CHECK_OK(perp_context_create(NULL, &context));
    CHECK_OK(scene_parse(context, text, "difference", &scene));
    CHECK_OK(perp_gradient_difference(context, scene, &def, difference, NULL));
    for (int32_t i = 0; i < def.parameter_count; ++i) {
        size = fmax(size, fabs(difference[i]));
        worst = fmax(worst, fabs(difference[i] - s.by[i]));
    }
    if (s.status != PERP_OK) {
        TEST_PRINT("%s", s.error);
    }
    perp_scene_destroy(scene);
    perp_context_destroy(context);
    return s.status == PERP_OK ? worst / size : INFINITY;
}

#define BALLS                                                                                      \
    "{'dimension': 3, 'gravity': [0, 0, -10], 'step': 0.01, 'duration': 0.6, 'tolerance': 1e-12,"  \
    " 'parameters': {'mu': 0.3, 'r': 0.2, 'v': 2, 'm': 2, 'f': 0.5, 'k': 30, 'a': 0.3},"           \
    " 'friction': {'default': 'mu'%s}, 'bodies': [{'name': 'floor', 'type': 'static',"             \
    " 'shapes': [{'type': 'plane', 'normal': [0.1, 0, 1]}]},"                                      \
    "{'name': 'b', 'mass': 'm', 'shapes': [{'type': 'sphere', 'radius': 'r'}],"                    \
    " 'position': [0, 0.5, 0.5], 'velocity': ['v', -0.3, 0.3], 'angular_velocity': [3, 4, 1]},"    \
    "{'name': 'c', 'mass': '0.3*m', 'shapes': [{'type': 'sphere', 'radius': '0.7*r'}],"            \
    " 'position': [2, 0.5, 0.5]}], 'forces': [{'type': 'wrench', 'body': 'b',"                     \
    " 'force': ['f*sin(3*t)', 0, 0]}, {'type': 'spring', 'a': 'b', 'b': 'c', 'stiffness': 'k',"    \
    " 'damping': 0.2, 'rest': 1}], 'measures': {'m': 'b.position.x + b.angular_velocity.x +"       \
    " 3*a*b.orientation.y', 'top': {'max': 'b.position.z + a*t'}, 'work':"                         \
    " {'integral': 'b.velocity.x^2'}, 'mean': {'mean': 'energy.kinetic'}, 'sum': {'sum': "         \
    "'(b.position.x - t)^2', 'every': 0.1}, 'when':"                                               \
    " {'first_time': 'b.position.z < 0.3'}}}"

TEST(balls_that_meet_slide_and_roll_agree_with_differences)
{
    char text[4096];
    (void)snprintf(text, sizeof text, BALLS, "");
    const asked all = {.by = {"mu", "r", "v", "m", "f", "k", "a"}};
    const char* const measures[] = {"top", "mean", "sum", "when"};
    for (int i = 0; i < 4; ++i) {
        asked a = {.of = measures[i], .by = {all.by[i], all.by[i + 1], all.by[i + 3]}};
        if (perp_test_full()) {
            a = all;
            a.of = measures[i];
        }
        CHECK_AT_MOST(disagreement(text, a), 1e-6);
    }
    (void)snprintf(text, sizeof text, BALLS, ", 'cone': 'polygon', 'directions': 6");
    asked a = all;
    a.of = "m";
    CHECK_AT_MOST(disagreement(text, a), 1e-6);
}

TEST(every_type_of_joint_agrees_with_differences)
{
    static const char* const joints[] = {
        "'type': 'revolute', 'axis': [0.3, 1, 0.2], 'limits': [-0.2, 0.3]",
        "'type': 'spherical'",
        "'type': 'universal', 'axis': [0, 1, 0], 'axis2': [0, 0, 1]",
        "'type': 'cylindrical', 'axis': [0.3, 1, 0.2]",
        "'type': 'planar', 'axis': [0.3, 1, 0.2]",
        "'type': 'prismatic', 'axis': [0.3, 1, 0.2], 'friction': 1.5",
        "'type': 'fixed'"};
    for (size_t i = 0; i < sizeof joints / sizeof joints[0]; ++i) {
        char text[4096];
        (void)snprintf(
            text, sizeof text,
            "{'dimension': 3, 'gravity': [0, 0, -10], 'step': 0.01, 'duration': 0.3,"
            " 'tolerance': 1e-12, 'parameters': {'m': 1.5, 'l': 1, 'w': 1, 'd': 0.2}, 'bodies': ["
            "{'name': 'b', 'mass': 'm', 'shapes': [{'type': 'box', 'size': ['l', 0.4, 0.2]}],"
            " 'position': [0.5, 0, 0], 'angular_velocity': ['w', 2, 0.5]}, {'name': 'c', 'mass': 1,"
            " 'shapes': [{'type': 'box', 'size': [1, 0.3, 0.1]}], 'position': [1.6, 0.1, 0],"
            " 'velocity': [0.5, 0.2, 'w']}], 'joints': [{'name': 'h', 'type': 'spherical',"
            " 'a': 'world', 'b': 'b', 'at': [0, 0, 0]}, {'name': 'k', 'a': 'b', 'b': 'c',"
            " 'at': [1.05, 0, 0.1], %s}], 'forces': [{'type': 'drag', 'body': 'c', 'linear': 'd',"
            " 'angular': '0.1*d'}], 'measures': {'m': 'c.position.x + b.angular_velocity.y +"
            " c.orientation.z'}}",
            joints[i]);
        CHECK_AT_MOST(disagreement(text, (asked){.of = "m", .by = {"m", "l", "w", "d"}}), 1e-6);
    }
}

TEST(motors_limits_and_controllers_agree_with_differences)
{
    static const char* const motors[] = {
        "{'type': 'velocity', 'target': 'v*sin(6*t)', 'max_effort': 3}",
        "{'type': 'position', 'target': '0.5*v*sin(3*t)', 'max_effort': 4}",
        "{'type': 'effort', 'target': 'v*sin(6*t)'}"};
    for (int i = 0; i < 3; ++i) {
        char text[4096];
        (void)snprintf(
            text, sizeof text,
            "{'dimension': 2, 'gravity': [0, -9.8], 'step': 0.01, 'duration': 0.5,"
            " 'tolerance': 1e-10, 'parameters': {'m': 1.2, 'v': 1.3, 'k': 22, 'l': 0.5}, 'bodies': "
            "["
            "{'name': 'b', 'mass': 'm', 'shapes': [{'type': 'box', 'size': [0.6, 0.1]}],"
            " 'position': [0.3, 0]}, {'name': 'c', 'mass': 0.7, 'shapes': [{'type': 'box',"
            " 'size': ['l', 0.1]}], 'position': [0.85, 0]}], 'joints': [{'name': 'h',"
            " 'type': 'revolute', 'a': 'world', 'b': 'b', 'at': [0, 0], 'limits': [-0.4, 0.6],"
            " 'damping': 0.1}, {'name': 'k', 'type': 'revolute', 'a': 'b', 'b': 'c', 'at': [0.6, "
            "0],"
            " 'motor': %s}], 'controllers': [{'type': 'pid', 'joint': 'h', 'kp': 'k', 'ki': 3,"
            " 'kd': 1, 'target': '0.3*v*sin(2*t)', 'max_effort': 3.1, 'name': 'p'}],"
            " 'measures': {'m': 'c.position.x + 0.1*b.angular_velocity + h.coordinate.1 +"
            " 0.1*k.rate.1 + controller.p.integral'}}",
            motors[i]);
        CHECK_AT_MOST(disagreement(text, (asked){.of = "m", .by = {"m", "v", "k", "l"}}), 1e-6);
    }
}

TEST(moving_plates_belts_and_supports_agree_with_differences)
{
    CHECK_AT_MOST(
        disagreement(
            "{'dimension': 3, 'gravity': [0, 0, -10], 'step': 0.01, 'duration': 0.4,"
            " 'tolerance': 1e-12, 'parameters': {'v': 1.4, 'k': 21, 'mu': 0.35, 'r': 0.2},"
            " 'friction': {'default': 'mu'}, 'bodies': [{'name': 'plate', 'type': 'kinematic',"
            " 'shapes': [{'type': 'box', 'size': [4, 4, 0.2]}], 'motion': {'position':"
            " ['0.05*v*sin(k*t)', 0, '-0.1 + 0.01*v*cos(k*t)']}}, {'name': 'b', 'mass': 1,"
            " 'shapes': [{'type': 'sphere', 'radius': 'r'}], 'position': [0.1, 0, 0.35],"
            " 'velocity': [0.4, 0.2, 0]}], 'measures': {'m': 'b.position.x + 0.1*b.velocity.z +"
            " b.angular_velocity.y'}}",
            (asked){.of = "m", .by = {"v", "k", "mu", "r"}}),
        1e-6);
    CHECK_AT_MOST(
        disagreement(
            "{'dimension': 2, 'gravity': [0, -10], 'step': 0.01, 'duration': 0.5,"
            " 'tolerance': 1e-12, 'parameters': {'v': 1.4, 'mu': 0.3, 'l': 0.4}, 'friction':"
            " {'default': 'mu'}, 'bodies': [{'name': 'belt', 'type': 'static', 'shapes':"
            " [{'type': 'halfplane', 'normal': [0, 1], 'surface_velocity': ['v', 0]}]}, {'name': "
            "'b',"
            " 'mass': 1, 'shapes': [{'type': 'box', 'size': ['l', 0.2]}], 'position': [0, 0.3],"
            " 'angle': 0.2, 'velocity': [-0.5, 0]}], 'measures': {'m': 'b.position.x +"
            " 0.1*b.angle'}}",
            (asked){.of = "m", .by = {"v", "mu", "l"}}),
        1e-6);
    CHECK_AT_MOST(
        disagreement(
            "{'dimension': 2, 'gravity': [0, 0], 'step': 0.01, 'duration': 0.5, 'tolerance': 1e-12,"
            " 'parameters': {'v': 1.4, 'mu': 0.25, 'w': 3, 'l': 0.1}, 'bodies': [{'name': 'b',"
            " 'mass': 1, 'shapes': [{'type': 'box', 'size': [0.4, 0.3]}], 'velocity': ['v', 0.3],"
            " 'angular_velocity': 'w', 'support': {'tripod': [['l', 0.1], [-0.1, 0.05], [0, "
            "-0.12]],"
            " 'mu': 'mu'}}], 'measures': {'m': 'b.position.x + b.angle'}}",
            (asked){.of = "m", .by = {"v", "mu", "w", "l"}}),
        1e-6);
}

/* A corner that sticks while the box turns over it has the rule of rolling contacts, which looks one step back. */
TEST(a_box_that_falls_on_its_corner_agrees_with_differences)
{
    const char* const text =
        "{'dimension': 3, 'gravity': [0, 0, -10], 'step': 0.01, 'duration': 0.35,"
        " 'tolerance': 1e-12, 'parameters': {'l': 1, 'v': 1, 'mu': 0.4, 'w': 3}, 'friction':"
        " {'default': 'mu'}, 'bodies': [{'name': 'floor', 'type': 'static', 'shapes':"
        " [{'type': 'plane', 'normal': [0, 0, 1]}]}, {'name': 'b', 'mass': 1, 'shapes':"
        " [{'type': 'box', 'size': ['l', 0.4, 0.2]}], 'position': [0, 0, 0.6], 'velocity':"
        " ['v', 0.3, 0], 'angular_velocity': [2, 1, 'w'], 'orientation': [0.9, 0.2, 0.3, "
        "0.1]}],"
        " 'measures': {'m': 'b.position.x + b.orientation.y + 0.1*b.angular_velocity.z'}}";
    asked a = {.of = "m", .by = {"l", "v", "mu", "w"}};
    CHECK_AT_MOST(disagreement(text, a), 1e-6);
    const slope kept = find_slope(text, a);
    a.checkpoints = true;
    const slope again = find_slope(text, a);
    for (int i = 0; i < 4; ++i) {
        CHECK(kept.by[i] == again.by[i]);
    }
}

/* ---- measures of measures ------------------------------------------------------------------------*/

#define NESTED                                                                                     \
    "{'dimension': 3, 'gravity': [0, 0, -9.81], 'step': 0.01, 'duration': 1, 'tolerance': 1e-12,"  \
    " 'parameters': {'z': 0.3, 'v': 1.3, 'w': 2, 'mu': 0.2, 'c': 3}, 'friction': {'default':"      \
    " 'mu'}, 'bodies': [{'name': 'floor', 'type': 'static', 'shapes': [{'type': 'plane',"          \
    " 'normal': [0, 0, 1]}]}, {'name': 'b', 'mass': 0.6, 'shapes': [{'type': 'sphere',"            \
    " 'radius': 0.1}], 'position': [0, 0, 'z'], 'velocity': ['v', 0.2, 0],"                        \
    " 'angular_velocity': [0, 'w', 1]}], 'measures': {"                                            \
    "'vx': {'mean': 'c*b.velocity.x', 'over': 0.07, 'every': 0.11},"                               \
    "'s': {'sum': '(vx + c*b.position.x)^2', 'every': 0.11},"                                      \
    "'mx': {'max': 'b.velocity.y*c - 0.1*t'}, 'avg': {'mean': 'b.position.x^2'},"                  \
    "'area': {'integral': 'avg*b.velocity.y + mx'}, 'first': {'first_time': 'b.position.x > "      \
    "0.3'},"                                                                                       \
    "'now': 'b.position.x*b.position.y', 'top': {'max': 'avg*sin(5*t)'},"                          \
    "'late': {'mean': 'now + s', 'over': 0.05}, 'when': {'first_time': 'avg > 0.1'},"              \
    "'all': 's + 2*avg*area + first*mx + now^2*c + late*when + top'}}"

TEST(measures_of_measures_agree_with_differences_backwards_and_forward)
{
    const char* const measures[] = {"s", "area", "top", "late", "when", "all"};
    for (size_t i = 0; i < sizeof measures / sizeof measures[0]; ++i) {
        asked a = {.of = measures[i], .by = {"z", "v", "w", "mu", "c"}};
        CHECK_AT_MOST(disagreement(NESTED, a), 1e-6);
        const slope back = find_slope(NESTED, a);
        a.checkpoints = true;
        const slope checkpoints = find_slope(NESTED, a);
        a.checkpoints = false;
        a.mode = PERP_GRADIENT_FORWARD;
        const slope forward = find_slope(NESTED, a);
        CHECK_EQ_INT(forward.status, PERP_OK);
        double size = 0.0;
        for (int k = 0; k < 5; ++k) {
            size = fmax(size, fabs(back.by[k]));
        }
        for (int k = 0; k < 5; ++k) {
            CHECK(back.by[k] == checkpoints.by[k]);
            CHECK_AT_MOST(fabs(back.by[k] - forward.by[k]), 1e-11 * size);
        }
    }
}

/* ---- restitution with fixed steps ----------------------------------------------------------------*/

/* Flight and bounce lie on the exact parabolas of the velocity v0 - g h/2 (notation.md): the ball
 * falls from z, rebounds with e times the speed, and is at x(T) = u2 s - g s^2/2, s = T - t1. */
TEST(a_bounce_by_fixed_steps_has_its_closed_form)
{
    const double g = 10.0, h = 0.01, z = 0.73, e = 0.6, T = 0.7;
    const slope s = find_slope(
        "{'dimension': 3, 'gravity': [0, 0, -10], 'step': 0.01, 'duration': 0.7, 'tolerance':"
        " 1e-12, 'parameters': {'z': 0.73, 'bounce': 0.6}, 'restitution': 'bounce', 'bodies': ["
        "{'name': 'floor', 'type': 'static', 'shapes': [{'type': 'plane', 'normal': [0, 0, 1]}]},"
        "{'name': 'b', 'mass': 2, 'shapes': [{'type': 'sphere', 'radius': 0.1}],"
        " 'position': [0, 0, 'z + 0.1']}], 'measures': {'x': 'b.position.z'}}",
        (asked){.of = "x", .by = {"z", "bounce"}});
    const double u0 = -0.5 * g * h; /* of the parabola at the start */
    const double fall = sqrt(u0 * u0 + 2.0 * g * z), t1 = (fall + u0) / g;
    const double left = T - t1;
    CHECK_EQ_INT(s.status, PERP_OK);
    CHECK_EQ_INT(s.flags.flagged, 0);
    CHECK_AT_MOST(off(s.value, 0.1 + e * fall * left - 0.5 * g * left * left), 1e-9);
    /* d fall / dz = g / fall, d t1 / dz = 1 / fall */
    CHECK_AT_MOST(off(s.by[0], e * g / fall * left - (e * fall - g * left) / fall), 1e-9);
    CHECK_AT_MOST(off(s.by[1], fall * left), 1e-9);
}

TEST(boxes_that_bounce_with_fixed_steps_agree_with_differences)
{
    static const char box[] =
        "{'dimension': 3, 'gravity': [0, 0, -9.81], 'step': 0.005, 'duration': 0.745,"
        " 'tolerance': 1e-12, 'parameters': {'z': 0.5, 'v': 1.3, 'w': 2, 'bounce': 0.5,"
        " 'mu': 0.2, 'm': 0.6, 'r': 0.3, 'a': 0.1}, 'friction': {'default': 'mu'%s},"
        " 'restitution': 'bounce', 'bodies': [{'name': 'floor', 'type': 'static', 'shapes':"
        " [{'type': 'plane', 'normal': [0, 0, 1]}]}, {'name': 'b', 'mass': 'm', 'shapes':"
        " [{'type': 'box', 'size': ['a', 0.12, 0.15]}], 'position': [0, 0, 'z'],"
        " 'axis_angle': [1, 0.3, 0.2, 'r'], 'velocity': ['v', 0.2, 0],"
        " 'angular_velocity': [1.5, 'w', 1]}], 'measures': {'x': 'b.position.x'}}";
    char text[2048];
    asked a = {.of = "x", .by = {"z", "v", "w", "bounce", "mu", "m", "r", "a"}};
    (void)snprintf(text, sizeof text, box, "");
    CHECK_AT_MOST(disagreement(text, a), 1e-6);
    const slope back = find_slope(text, a);
    a.checkpoints = true;
    const slope checkpoints = find_slope(text, a);
    CHECK_EQ_INT(back.flags.flagged, 0);
    for (int i = 0; i < 8; ++i) {
        CHECK(back.by[i] == checkpoints.by[i]);
    }
    a.checkpoints = false;
    (void)snprintf(text, sizeof text, box, ", 'cone': 'polygon', 'directions': 8");
    CHECK_AT_MOST(disagreement(text, a), 1e-6);
}

/* ---- the same numbers another way ----------------------------------------------------------------*/

TEST(adjoint_forward_and_checkpoints_give_the_same_gradient)
{
    char text[4096];
    (void)snprintf(text, sizeof text, BALLS, "");
    asked a = {.of = "work", .by = {"mu", "r", "v", "m", "f", "k"}};
    const slope adjoint = find_slope(text, a), again = find_slope(text, a);
    a.checkpoints = true;
    const slope checkpoints = find_slope(text, a);
    a.checkpoints = false;
    a.mode = PERP_GRADIENT_FORWARD;
    const slope forward = find_slope(text, a);
    double size = 0.0;
    CHECK_EQ_INT(checkpoints.status, PERP_OK);
    CHECK_EQ_INT(forward.status, PERP_OK);
    for (int i = 0; i < 6; ++i) {
        size = fmax(size, fabs(adjoint.by[i]));
    }
    for (int i = 0; i < 6; ++i) {
        CHECK(adjoint.by[i] == again.by[i]);
        CHECK(adjoint.by[i] == checkpoints.by[i]);
        CHECK_AT_MOST(fabs(adjoint.by[i] - forward.by[i]), 1e-12 * size);
    }
}

TEST(derivatives_by_the_start_are_those_of_the_parameters_that_set_it)
{
    char text[4096];
    (void)snprintf(text, sizeof text, BALLS, "");
    perp_context* context = NULL;
    perp_scene* scene = NULL;
    perp_gradient* g = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(scene_parse(context, text, "start", &scene));
    const asked a = {.of = "m", .by = {"v"}};
    const perp_gradient_def def = def_of(&a);
    REQUIRE_OK(perp_gradient_create(context, scene, &def, &g));
    CHECK_AT_MOST(off(perp_gradient_start(g, 1)[6], perp_gradient_of(g, 0)), 1e-12);
    perp_gradient_destroy(g);
    perp_scene_destroy(scene);
    perp_context_destroy(context);
}

/* ---- validity ------------------------------------------------------------------------------------*/

/* Pulled by exactly the bound of its friction: more slides, less does not. */
TEST(a_block_at_the_border_of_sliding_is_flagged)
{
    const slope s = find_slope(
        "{'dimension': 2, 'gravity': [3, -10], 'step': 0.01, 'duration': 0.1, 'tolerance': 1e-12,"
        " 'parameters': {'mu': 0.3}, 'friction': {'default': 'mu'}, 'bodies': [{'name': 'floor',"
        " 'type': 'static', 'shapes': [{'type': 'halfplane', 'normal': [0, 1]}]}, {'name': 'b',"
        " 'mass': 1, 'inertia': 1, 'shapes': [{'type': 'particle'}]}],"
        " 'measures': {'x': 'b.position.x'}}",
        (asked){.of = "x", .by = {"mu"}});
    if (s.status != PERP_OK) {
        TEST_PRINT("%s", s.error);
    }
    CHECK_EQ_INT(s.status, PERP_OK);
    CHECK(s.flags.flagged > 0);
    CHECK_AT_MOST(s.flags.margin, 1e-6);
    CHECK_AT_MOST(s.flags.first_time, 0.1);
}

/* Four corners that stick: which of them carries how much is not unique, and does not matter. */
TEST(a_box_at_rest_on_four_corners_is_not_flagged)
{
    const slope s = find_slope(
        "{'dimension': 3, 'gravity': [1, 0, -10], 'step': 0.01, 'duration': 0.1,"
        " 'tolerance': 1e-12, 'parameters': {'x': 0.2}, 'friction': {'default': 0.5}, 'bodies': ["
        "{'name': 'floor', 'type': 'static', 'shapes': [{'type': 'plane', 'normal': [0, 0, 1]}]},"
        "{'name': 'b', 'mass': 1, 'shapes': [{'type': 'box', 'size': [1, 0.4, 0.2]}], 'position':"
        " ['x', 0, 0.1]}], 'measures': {'x': 'b.position.x'}}",
        (asked){.of = "x", .by = {"x"}});
    CHECK_EQ_INT(s.status, PERP_OK);
    CHECK_EQ_INT(s.flags.flagged, 0);
    CHECK_AT_MOST(off(s.by[0], 1.0), 1e-9);
}

TEST(what_has_no_derivative_is_refused_by_name)
{
    static const struct {
        const char *part, *of, *message;
    } cases[] = {
        {"'stepper': 'implicit'", "x", "implicit"},
        {"'restitution': {'law': 'poisson', 'e': 0.5}", "x", "Poisson"},
        {"'gravity': [0, -1]", "f", "b.force.x"},
        {"'gravity': [0, -1]", "y", "'y'"},
        {"'allow_overlap': true", "x", "allow_overlap"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        char text[2048];
        (void)snprintf(text, sizeof text,
                       "{'dimension': 2, 'duration': 0.1, %s, 'parameters': {'v': 1}, 'bodies': ["
                       "{'name': 'a', 'type': 'static', 'shapes': [{'type': 'halfplane', 'normal':"
                       " [0, 1]}]}, {'name': 'b', 'mass': 1, 'shapes': [{'type': 'circle',"
                       " 'radius': 0.1}], 'position': [0, 1], 'velocity': ['v', 0]}],"
                       " 'measures': {'x': 'b.position.x', 'f': 'b.force.x'}}",
                       cases[i].part);
        const slope s = find_slope(text, (asked){.of = cases[i].of, .by = {"v"}});
        CHECK(s.status == PERP_ERROR_UNSUPPORTED || s.status == PERP_ERROR_INPUT);
        CHECK_CONTAINS(s.error, cases[i].message);
    }
}

/* ---- one-sided derivatives -----------------------------------------------------------------------*/

/* Along the direction s of the first parameter. */
static slope find_side(const char* text, asked a, const double* direction)
{
    slope s = {.status = PERP_ERROR_MEMORY};
    perp_context* context = NULL;
    perp_scene* scene = NULL;
    if (perp_context_create(NULL, &context) != PERP_OK) {
        return s;
    }
    const perp_gradient_def def = def_of(&a);
    s.status = scene_parse(context, text, "side", &scene);
    if (s.status == PERP_OK) {
        s.status =
            perp_gradient_direction(context, scene, &def, direction, &s.value, &s.by[0], &s.flags);
    }
    (void)snprintf(s.error, sizeof s.error, "%s", perp_context_error(context));
    if (s.status != PERP_OK) {
        TEST_PRINT("%s", s.error);
    }
    perp_scene_destroy(scene);
    perp_context_destroy(context);
    return s;
}

static void check_side(const char* text, asked a, double direction, double expected)
{
    const slope s = find_side(text, a, &direction);
    CHECK_EQ_INT(s.status, PERP_OK);
    CHECK_EQ_INT(s.flags.flagged, 0);
    CHECK(s.flags.one_sided > 0);
    CHECK_AT_MOST(fabs(s.by[0] - expected), 1e-9 * fmax(fabs(expected), 1e-3));
}

#define BRINK                                                                                      \
    "{'dimension': %d, 'gravity': %s, 'step': 0.01, 'duration': 0.1, 'tolerance': 1e-12,"          \
    " 'parameters': {'mu': 0.3, 'f': 0}, 'friction': {'default': 'mu'%s}, 'bodies': ["             \
    "{'name': 'floor', 'type': 'static', 'shapes': [%s]}, {'name': 'b', 'mass': 1,"                \
    " 'inertia': %s, 'shapes': [%s], 'position': %s}], 'forces': [{'type': 'wrench',"              \
    " 'body': 'b', 'force': ['f', 0%s]}], 'measures': {'x': 'b.position.x'}}"

/* Pulled by exactly mu m g. It slides with less friction or more force: v_k = k h d, x = h^2 n (n + 1) / 2 d. */
TEST(a_block_on_the_brink_has_both_one_sided_derivatives)
{
    static const struct {
        int dimension;
        const char *gravity, *cone, *floor, *inertia, *shape, *position, *more;
    } cases[] = {
        {2, "[3, -10]", "", "{'type': 'halfplane', 'normal': [0, 1]}", "1", "{'type': 'particle'}",
         "[0, 0]", ""},
        {2, "[3, -10]", "", "{'type': 'halfplane', 'normal': [0, 1]}", "1",
         "{'type': 'box', 'size': [1, 0.2]}", "[0, 0.1]", ""},
        {3, "[3, 0, -10]", "", "{'type': 'plane', 'normal': [0, 0, 1]}", "[1, 1, 1]",
         "{'type': 'particle'}", "[0, 0, 0]", ", 0"},
        {3, "[3, 0, -10]", ", 'cone': 'polygon', 'directions': 8",
         "{'type': 'plane', 'normal': [0, 0, 1]}", "[1, 1, 1]", "{'type': 'particle'}", "[0, 0, 0]",
         ", 0"},
        {3, "[3, 0, -10]", ", 'cone': 'polygon', 'directions': 8",
         "{'type': 'plane', 'normal': [0, 0, 1]}", "[1, 1, 1]",
         "{'type': 'box', 'size': [1, 0.4, 0.2]}", "[0, 0, 0.1]", ", 0"},
    };
    const double reach = 1e-4 * 10.0 * 11.0 / 2.0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        char text[2048];
        (void)snprintf(text, sizeof text, BRINK, cases[i].dimension, cases[i].gravity,
                       cases[i].cone, cases[i].floor, cases[i].inertia, cases[i].shape,
                       cases[i].position, cases[i].more);
        check_side(text, (asked){.of = "x", .by = {"mu"}}, 1.0, 0.0);
        check_side(text, (asked){.of = "x", .by = {"mu"}}, -1.0, 10.0 * reach);
        check_side(text, (asked){.of = "x", .by = {"f"}}, 2.0, 2.0 * reach);
        check_side(text, (asked){.of = "x", .by = {"f"}}, -2.0, 0.0);
    }
}

#define TOUCH                                                                                      \
    "{'dimension': %d, 'gravity': %s, 'step': 0.125, 'duration': 0.125, 'tolerance': 1e-12,"       \
    " 'parameters': {'v': -1, 'w': 0, 'mu': 0.25, 'y': 0.375}, 'friction': {'default': 'mu'%s},"   \
    " 'bodies': [{'name': 'floor', 'type': 'static', 'shapes': [%s]}, {'name': 'b', 'mass': 1,"    \
    " 'inertia': %s, 'shapes': [{'type': '%s', 'radius': 0.25}], 'position': %s, 'velocity': "     \
    "%s}],"                                                                                        \
    " 'measures': {'z': 'b.position.%s', 'v': 'b.velocity.%s'}}"

/* Falls at 1 m/s without gravity, from as high over the floor as it moves in the step: it ends on
 * the floor without an impulse. From higher, or slower, it does not reach it; from lower, or
 * faster, it ends there all the same. */
TEST(a_ball_that_just_touches_has_both_one_sided_derivatives)
{
    char text[2048];
    (void)snprintf(text, sizeof text, TOUCH, 2, "[0, 0]", "",
                   "{'type': 'halfplane', 'normal': [0, 1]}", "1", "circle", "[0, 'y']",
                   "['w', 'v']", "y", "y");
    check_side(text, (asked){.of = "z", .by = {"y"}}, 1.0, 1.0);
    check_side(text, (asked){.of = "z", .by = {"y"}}, -1.0, 0.0);
    check_side(text, (asked){.of = "z", .by = {"v"}}, 1.0, 0.125);
    check_side(text, (asked){.of = "z", .by = {"v"}}, -1.0, 0.0);
    check_side(text, (asked){.of = "v", .by = {"y"}}, 1.0, 0.0);
    check_side(text, (asked){.of = "v", .by = {"y"}}, -1.0, 8.0); /* -(gap) / h */
    check_side(text, (asked){.of = "v", .by = {"v"}}, 1.0, 1.0);
    check_side(text, (asked){.of = "v", .by = {"v"}}, -1.0, 0.0);
}

/* The same ball moves sideways, and friction acts once it pushes: the impulse s / h, its part mu along. */
TEST(a_ball_that_just_touches_is_slowed_by_friction_on_one_side)
{
    static const struct {
        int dimension;
        const char *gravity, *cone, *floor, *inertia, *shape, *position, *velocity;
    } cases[] = {{2, "[0, 0]", "", "{'type': 'halfplane', 'normal': [0, 1]}", "1", "circle",
                  "[0, 'y']", "[2, 'v']"},
                 {3, "[0, 0, 0]", "", "{'type': 'plane', 'normal': [0, 0, 1]}", "[1, 1, 1]",
                  "sphere", "[0, 0, 'y']", "[2, 0, 'v']"},
                 {3, "[0, 0, 0]", ", 'cone': 'polygon', 'directions': 6",
                  "{'type': 'plane', 'normal': [0, 0, 1]}", "[1, 1, 1]", "sphere", "[0, 0, 'y']",
                  "[2, 0, 'v']"}};
    for (size_t i = 0; i < 3; ++i) {
        char text[2048];
        (void)snprintf(text, sizeof text, TOUCH, cases[i].dimension, cases[i].gravity,
                       cases[i].cone, cases[i].floor, cases[i].inertia, cases[i].shape,
                       cases[i].position, cases[i].velocity, "x", "x");
        check_side(text, (asked){.of = "v", .by = {"y"}}, 1.0, 0.0);
        check_side(text, (asked){.of = "v", .by = {"y"}}, -1.0, -0.25 * 8.0);
    }
}

/* It falls straight down, and the direction gives it a sideways speed as well: friction holds it (a
 * ball of inertia 1: m r^2 / (I + m r^2) of the speed is lost) or slides, as mu allows; the round
 * cone turns with the direction. */
TEST(a_ball_that_just_touches_without_slip_sticks_or_slides_along_the_direction)
{
    static const char* const cones[] = {"", ", 'cone': 'polygon', 'directions': 4"};
    for (int i = 0; i < 2; ++i) {
        char text[2048];
        (void)snprintf(text, sizeof text, TOUCH, 3, "[0, 0, 0]", cones[i],
                       "{'type': 'plane', 'normal': [0, 0, 1]}", "[1, 1, 1]", "sphere",
                       "[0, 0, 'y']", i == 0 ? "['0.6*w', '0.8*w', 'v']" : "['w', 0, 'v']", "x",
                       "x");
        const double part = i == 0 ? 0.6 : 1.0;
        const double lost = 1.0 / (1.0 + 0.0625); /* impulse that stops the slip of speed 1 */
        const asked a = {.of = "v", .by = {"w", "y"}};
        const struct {
            double direction[2], expected;
        } sides[] = {{{1.0, 1.0}, part},                  /* higher: no contact */
                     {{1.0, -1.0}, part * (1.0 - lost)},  /* impulse 8, friction up to 2: sticks */
                     {{10.0, -1.0}, part * (10.0 - 2.0)}, /* slides */
                     {{-10.0, -1.0}, -part * (10.0 - 2.0)}};
        for (int k = 0; k < 4; ++k) {
            const slope s = find_side(text, a, sides[k].direction);
            CHECK_EQ_INT(s.status, PERP_OK);
            CHECK_EQ_INT(s.flags.flagged, 0);
            CHECK_EQ_INT(s.flags.one_sided, 1);
            CHECK_AT_MOST(fabs(s.by[0] - sides[k].expected), 1e-9);
        }
    }
}

/* A motor that needs exactly its largest effort for its target, and a rotation that exactly reaches its limit. */
TEST(motors_and_limits_at_their_bounds_have_both_one_sided_derivatives)
{
#define WHEEL                                                                                      \
    "{'dimension': 2, 'gravity': [0, 0], 'step': 0.125, 'duration': 0.125, 'tolerance': 1e-12,"    \
    " 'parameters': {'v': 1, 'f': 8, 'w': %s}, 'bodies': [{'name': 'b', 'mass': 1, 'inertia': 1,"  \
    " 'shapes': [{'type': 'circle', 'radius': 0.25}], 'angular_velocity': 'w'}], 'joints': ["      \
    "{'name': 'h', 'type': 'revolute', 'a': 'world', 'b': 'b', 'at': [0, 0], %s}],"                \
    " 'measures': {'w': 'b.angular_velocity'}}"
    char text[2048];
    (void)snprintf(text, sizeof text, WHEEL, "0",
                   "'motor': {'type': 'velocity', 'target': 'v', 'max_effort': 'f'}");
    check_side(text, (asked){.of = "w", .by = {"v"}}, 1.0, 0.0);
    check_side(text, (asked){.of = "w", .by = {"v"}}, -1.0, -1.0);
    check_side(text, (asked){.of = "w", .by = {"f"}}, 1.0, 0.0);
    check_side(text, (asked){.of = "w", .by = {"f"}}, -1.0, -0.125);
    (void)snprintf(text, sizeof text, WHEEL, "1", "'limits': [-1, 0.125]");
    check_side(text, (asked){.of = "w", .by = {"w"}}, 1.0, 0.0);
    check_side(text, (asked){.of = "w", .by = {"w"}}, -1.0, -1.0);
}

/* Without weak steps it is the gradient times the direction. */
TEST(the_derivative_along_a_direction_is_the_gradient_times_it)
{
    char text[4096];
    (void)snprintf(text, sizeof text, BALLS, "");
    const asked a = {.of = "m", .by = {"mu", "r", "v", "m", "f", "k", "a"}};
    const double direction[] = {0.1, -0.2, 1.0, 0.5, 2.0, -3.0, 0.7};
    const slope s = find_slope(text, a), side = find_side(text, a, direction);
    double sum = 0.0;
    for (int i = 0; i < 7; ++i) {
        sum += direction[i] * s.by[i];
    }
    CHECK_EQ_INT(side.status, PERP_OK);
    CHECK_AT_MOST(off(side.by[0], sum), 1e-10);
}

/* ---- memory --------------------------------------------------------------------------------------*/

static uint64_t allocations_of(double duration, asked a, const double* direction)
{
    char text[2048];
    uint64_t count = 0;
    perp_context* context = NULL;
    perp_scene* scene = NULL;
    perp_gradient* g = NULL;
    /* a box that slides, then rests on redundant contacts; a ball that rolls; a joint with a motor;
     * a parameter of a shape */
    (void)snprintf(
        text, sizeof text,
        "{'dimension': 2, 'gravity': [0, -10], 'step': 0.01, 'duration': %g, 'tolerance': 1e-10,"
        " 'parameters': {'v': 1, 'mu': 0.3, 'r': 0.2}, 'friction': {'default': 'mu'}, 'bodies': ["
        "{'name': 'floor', 'type': 'static', 'shapes': [{'type': 'halfplane', 'normal': [0, 1]}]},"
        "{'name': 'b', 'mass': 1, 'shapes': [{'type': 'box', 'size': [1, 0.2]}], 'position':"
        " [0, 0.1], 'velocity': ['v', 0]}, {'name': 'c', 'mass': 1, 'shapes': [{'type': 'circle',"
        " 'radius': 'r'}], 'position': [4, 0.2], 'velocity': ['v', 0]}, {'name': 'd', 'mass': 1,"
        " 'shapes': [{'type': 'box', 'size': [0.5, 0.1]}], 'position': [0, 3]}], 'joints': ["
        "{'name': 'h', 'type': 'revolute', 'a': 'world', 'b': 'd', 'at': [-0.25, 3], 'motor':"
        " {'type': 'velocity', 'target': 'sin(t)', 'max_effort': 2}}],"
        " 'measures': {'x': 'b.position.x + c.position.x + d.angle'}}",
        duration);
    const perp_gradient_def def = def_of(&a);
    CHECK_OK(perp_context_create(NULL, &context));
    CHECK_OK(scene_parse(context, text, "memory", &scene));
    if (direction != NULL) {
        double value, derivative;
        CHECK_OK(
            perp_gradient_direction(context, scene, &def, direction, &value, &derivative, NULL));
    } else {
        CHECK_OK(perp_gradient_create(context, scene, &def, &g));
    }
    count = perp_context_allocations(context);
    perp_gradient_destroy(g);
    perp_scene_destroy(scene);
    perp_context_destroy(context);
    return count;
}

/* Of twice the steps only arrays of the tape may be larger, which double: a step that allocates would add 400. */
TEST(a_step_of_a_gradient_allocates_nothing)
{
    static const double direction[] = {1.0, -0.1, 0.01};
    static const uint64_t MOST_GROWTHS = 8;
    asked a = {.of = "x", .by = {"v", "mu", "r"}};
    CHECK(allocations_of(8.0, a, NULL) <= allocations_of(4.0, a, NULL) + MOST_GROWTHS);
    CHECK(allocations_of(8.0, a, direction) <= allocations_of(4.0, a, direction) + MOST_GROWTHS);
    a.checkpoints = true;
    CHECK(allocations_of(8.0, a, NULL) <= allocations_of(4.0, a, NULL) + MOST_GROWTHS);
    a.checkpoints = false;
    a.mode = PERP_GRADIENT_FORWARD;
    CHECK(allocations_of(8.0, a, NULL) <= allocations_of(4.0, a, NULL) + MOST_GROWTHS);
}

/* ---- a heap --------------------------------------------------------------------------------------*/

/* A small one: a step has a contact that rolls exactly, and the measure depends on its motion. Both
 * cases of the rule must give the same gradient, also where the second adjoint goes from segment to
 * segment of checkpoints. */
TEST(a_contact_that_rolls_exactly_is_not_flagged)
{
    enum { SEED = 54 };
    static gradient_case c;
    gradient_case_write(SEED, false, &c);
    asked a = {.of = "m", .by = {c.parameter[0]}};
    const slope kept = find_slope(c.text, a);
    a.checkpoints = true;
    const slope again = find_slope(c.text, a);
    CHECK_EQ_INT(kept.status, PERP_OK);
    CHECK_EQ_INT(kept.flags.flagged, 0);
    CHECK(kept.flags.immaterial > 0);
    CHECK(again.by[0] == kept.by[0]);
    CHECK_EQ_INT(again.flags.flagged, 0);
    CHECK_EQ_INT(again.flags.immaterial, kept.flags.immaterial);
}

/* One of the large cases of bench/gradient_cases: 31 circles and boxes, 260 steps, 173 changes of
 * contacts. Some contacts roll while the rule of their slip is blended, others exactly; the first
 * need derivatives by impulses, the second do not depend on the case of the rule. */
TEST(a_heap_that_rolls_has_no_flagged_step)
{
    enum { SEED = 4 };
    static gradient_case c;
    gradient_case_write(SEED, true, &c);
    asked a = {.of = "m", .by = {c.parameter[0]}};
    const slope back = find_slope(c.text, a);
    a.mode = PERP_GRADIENT_FORWARD;
    const slope forward = find_slope(c.text, a);
    CHECK_EQ_INT(back.status, PERP_OK);
    CHECK_EQ_INT(back.flags.flagged, 0);
    CHECK(back.flags.immaterial > back.flags.weak); /* contacts that roll exactly */
    CHECK_AT_MOST(off(back.by[0], forward.by[0]), 1e-7);
    /* two runs to either side */
    double value[2] = {NAN, NAN};
    const double delta = 1e-6;
    for (int side = 0; side < 2; ++side) {
        perp_context* context = NULL;
        perp_scene* scene = NULL;
        perp_sim* sim = NULL;
        REQUIRE_OK(perp_context_create(NULL, &context));
        CHECK_OK(scene_parse(context, c.text, "heap", &scene));
        const int32_t p = perp_scene_parameter_find(scene, c.parameter[0]);
        const double at = perp_scene_parameter(scene, p).value + (side == 0 ? -delta : delta);
        CHECK_OK(perp_scene_set_number(scene, c.parameter[0], at));
        CHECK_OK(perp_scene_rebuild(scene));
        CHECK_OK(perp_sim_create_from_scene(context, scene, &sim));
        CHECK_OK(perp_sim_run(sim));
        value[side] = perp_sim_measure(sim, perp_sim_measure_find(sim, "m"));
        perp_sim_destroy(sim);
        perp_scene_destroy(scene);
        perp_context_destroy(context);
    }
    CHECK_AT_MOST(off(back.by[0], (value[1] - value[0]) / (2.0 * delta)), 1e-6);
}

/* ---- random scenes -------------------------------------------------------------------------------*/

/* The first of bench/gradient_cases, which has 200. */
TEST(random_scenes_agree_with_differences)
{
    enum { SCENES = 8 };
    static gradient_case c;
    int compared = 0, changing = 0;
    perp_context* context = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    for (uint32_t seed = 1; seed <= SCENES; ++seed) {
        gradient_case_write(seed, false, &c);
        const gradient_case_result r = gradient_case_compare(context, &c);
        if (r.status != PERP_OK) {
            TEST_PRINT("seed %u (%s): %s", seed, c.name, perp_context_error(context));
        }
        CHECK_EQ_INT(r.status, PERP_OK);
        if (r.status == PERP_OK && r.flags.flagged == 0) {
            compared += 1;
            changing += r.changes > 0;
            CHECK_AT_MOST(r.off, 1e-6);
        }
    }
    CHECK(compared >= SCENES / 2);
    CHECK(changing >= SCENES / 3);
    perp_context_destroy(context);
}
