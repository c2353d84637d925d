/* Smoothed gradients: mechanisms, the way to the exact gradient, kinks, units, refusals.
 * Differences of smoothed runs in many scenes: smooth_gradient_cases_test.c. */
#include "perp/perp.h"
#include "perp_test.h"
#include "support/scene_sim.h"

enum { MOST = 4 };

typedef struct smoothed {
    perp_status status;
    int32_t count;
    double value, by[MOST], exact[MOST], difference[MOST];
    perp_gradient_flags flags;
    perp_gradient_smoothed bias;
    char error[1024];
} smoothed;

typedef struct asked {
    const char* by[MOST];
    double smooth;
    bool check;
    perp_gradient_mode mode;
    bool checkpoints;
} asked;

/* The gradient of the measure m. */
static smoothed smooth(const char* text, asked a)
{
    smoothed s = {.status = PERP_ERROR_MEMORY};
    perp_context* context = NULL;
    perp_scene* scene = NULL;
    perp_gradient* g = NULL;
    perp_gradient_def def = perp_gradient_def_default();
    def.measure = "m";
    def.parameter = a.by;
    def.smooth = a.smooth;
    def.mode = a.mode;
    def.checkpoints = a.checkpoints;
    while (def.parameter_count < MOST && a.by[def.parameter_count] != NULL) {
        def.parameter_count += 1;
    }
    s.count = def.parameter_count;
    CHECK_OK(perp_context_create(NULL, &context));
    s.status = scene_parse(context, text, "smooth", &scene);
    if (s.status == PERP_OK) {
        s.status = perp_gradient_create(context, scene, &def, &g);
    }
    if (s.status == PERP_OK) {
        s.value = perp_gradient_value(g);
        s.flags = perp_gradient_flags_of(g);
        s.bias = perp_gradient_smoothed_of(g);
        for (int32_t i = 0; i < s.count; ++i) {
            s.by[i] = perp_gradient_of(g, i);
            s.exact[i] = perp_gradient_exact_of(g, i);
        }
        if (a.check) {
            s.status = perp_gradient_difference(context, scene, &def, s.difference, NULL);
        }
    }
    (void)snprintf(s.error, sizeof s.error, "%s", perp_context_error(context));
    perp_gradient_destroy(g);
    perp_scene_destroy(scene);
    perp_context_destroy(context);
    return s;
}

/* The largest disagreement with differences, relative to the largest derivative. */
static double off_of(const smoothed* s)
{
    double off = 0.0, size = 0.0;
    for (int32_t i = 0; i < s->count; ++i) {
        const double d = fabs(s->by[i] - s->difference[i]);
        off = !(d <= off) ? d : off;
        size = fabs(s->difference[i]) > size ? fabs(s->difference[i]) : size;
    }
    return off / size;
}

/* A bar on a weak motor, an arm with limits, and on a spring a puck that slides until a rope holds it. */
static const char* const MECHANISM =
    "{'dimension': 2, 'gravity': [0, -9.81], 'step': 0.01, 'duration': 0.32, 'tolerance': 1e-12,"
    " 'contact': 'standard', 'parameters': {'mu': 0.3, 'v': 1, 'a': 0.5}, 'friction': {'default': "
    "'mu'}, 'bodies': [{'name': 'floor', 'type': 'static', 'shapes': [{'type': 'halfplane', "
    "'normal': [0, 1]}]}, {'name': 'bar', 'mass': 1, 'position': [0.25, 0.5], 'shapes': [{'type': "
    "'box', 'size': [0.5, 0.1]}]}, {'name': 'arm', 'mass': 0.3, 'position': [0.7, 0.5], 'shapes': "
    "[{'type': 'box', 'size': [0.4, 0.1]}]}, {'name': 'puck', 'mass': 'a', 'position': [0, 0.1], "
    "'velocity': ['2*v', 0.5], 'shapes': [{'type': 'circle', 'radius': 0.1}]}], 'joints': "
    "[{'name': 'j', 'type': 'revolute', 'a': 'world', 'b': 'bar', 'at': [0, 0.5], 'friction': "
    "'0.2*a', 'motor': {'type': 'velocity', 'target': '2*v', 'max_effort': '2*a'}}, {'name': 'k', "
    "'type': 'revolute', 'a': 'bar', 'b': 'arm', 'at': [0.5, 0.5], 'limits': [-0.3, 0.3]}, "
    "{'name': 'r', 'type': 'rope', 'a': 'world', 'b': 'puck', 'at_a': [0, 0.5], 'at_b': [0, 0], "
    "'length': 0.45}], 'forces': [{'type': 'spring', 'a': 'bar', 'b': 'puck', 'at_a': [0.2, 0], "
    "'at_b': [0, 0], 'stiffness': '20*a', 'rest': 0.3, 'damping': 0.2}],"
    " 'measures': {'m': 'puck.position.x + arm.position.y + 0.1*bar.angular_velocity'}}";

TEST(motors_limits_ropes_springs_and_joint_friction_are_smoothed)
{
    const smoothed s =
        smooth(MECHANISM, (asked){.by = {"mu", "v", "a"}, .smooth = 1e-3, .check = true});
    CHECK_OK(s.status);
    CHECK_EQ_INT(s.flags.flagged, 0);
    CHECK_AT_MOST(off_of(&s), 1e-6);
}

TEST(forward_adjoint_and_checkpoints_give_the_same_smoothed_gradient)
{
    const asked a = {.by = {"mu", "v", "a"}, .smooth = 1e-3};
    asked forward = a, checkpoints = a;
    forward.mode = PERP_GRADIENT_FORWARD;
    checkpoints.checkpoints = true;
    const smoothed s = smooth(MECHANISM, a), f = smooth(MECHANISM, forward),
                   c = smooth(MECHANISM, checkpoints), again = smooth(MECHANISM, a);
    for (int i = 0; i < 3; ++i) {
        CHECK_NEAR(f.by[i], s.by[i], 1e-9 * fabs(s.by[i]));
        CHECK(c.by[i] == s.by[i]);
        CHECK(again.by[i] == s.by[i]);
    }
}

/* 2.5-D: a disc that slides and turns on the plane, and strikes a second one. */
TEST(supports_of_planar_bodies_are_smoothed)
{
    const smoothed s = smooth(
        "{'dimension': 2, 'gravity': [0, 0], 'step': 0.01, 'duration': 0.5, 'tolerance': 1e-12,"
        " 'contact': 'standard', 'parameters': {'mu': 0.2, 'v': 1}, 'friction': {'default': 0.2},"
        " 'bodies': [{'name': 'a', 'mass': 1, 'velocity': ['v', 0], 'angular_velocity': 2, "
        "'support': {'tripod': [[0.1, 0], [-0.05, 0.08], [-0.05, -0.08]], 'mu': 'mu'}, 'shapes': "
        "[{'type': 'circle', 'radius': 0.1}]}, {'name': 'b', 'mass': 1, 'position': [0.4, 0.05], "
        "'shapes': [{'type': 'circle', 'radius': 0.1}]}],"
        " 'measures': {'m': 'a.position.x + b.position.y + 0.1*a.angle'}}",
        (asked){.by = {"mu", "v"}, .smooth = 1e-3, .check = true});
    CHECK_OK(s.status);
    CHECK_EQ_STR(s.error, "");
    CHECK_AT_MOST(off_of(&s), 1e-6);
}

/* A ball that flies, lands, slides and rolls: no flagged step. */
static const char* const THROW =
    "{'gravity': [0, 0, -10], 'step': 0.01, 'duration': 0.5, 'tolerance': 1e-12, 'friction':"
    " {'default': 'mu'}, 'parameters': {'mu': 0.2, 'speed': 2}, 'bodies': [{'name': 'floor', "
    "'type':"
    " 'static', 'shapes': [{'type': 'plane', 'normal': [0, 0, 1]}]}, {'name': 'b', 'mass': 1,"
    " 'position': [0, 0, 0.3], 'velocity': ['speed', 0, 0], 'shapes': [{'type': 'sphere', 'radius':"
    " 0.1}]}], 'measures': {'m': 'b.position.x'}}";

TEST(the_bias_falls_in_proportion_to_the_barrier_parameter)
{
    double last[3] = {0};
    for (int k = 0; k < 3; ++k) {
        const smoothed s = smooth(THROW, (asked){.by = {"mu", "speed"},
                                                 .smooth = k == 0   ? 1e-2
                                                           : k == 1 ? 1e-4
                                                                    : 1e-6});
        CHECK_OK(s.status);
        CHECK(s.bias.compared);
        CHECK(s.bias.bias == s.value - s.bias.exact);
        const double off[3] = {s.bias.bias, s.by[0] - s.exact[0], s.by[1] - s.exact[1]};
        for (int i = 0; i < 3; ++i) {
            if (k > 0) { /* by 100 */
                CHECK_AT_MOST(fabs(off[i]), 0.02 * fabs(last[i]));
                CHECK_AT_LEAST(fabs(off[i]), 0.002 * fabs(last[i]));
            }
            last[i] = off[i];
        }
    }
}

/* A block that is pulled by exactly mu m g: it rests with more friction (0), and slides with less (-0.055). */
TEST(at_a_kink_the_smoothed_derivative_lies_between_the_one_sided_ones)
{
    for (double kappa = 1e-1; kappa > 1e-7; kappa *= 0.1) {
        const smoothed s = smooth(
            "{'dimension': 2, 'step': 0.01, 'duration': 0.1, 'tolerance': 1e-12, 'gravity': [3, "
            "-10],"
            " 'friction': {'default': 'mu'}, 'parameters': {'mu': 0.3}, 'bodies': [{'name': "
            "'floor',"
            " 'type': 'static', 'shapes': [{'type': 'halfplane', 'normal': [0, 1]}]}, {'name': 'b',"
            " 'mass': 1, 'inertia': 1, 'shapes': [{'type': 'particle'}]}],"
            " 'measures': {'m': 'b.position.x'}}",
            (asked){.by = {"mu"}, .smooth = kappa});
        CHECK_OK(s.status);
        CHECK(!s.bias.compared);
        CHECK_AT_LEAST(s.bias.flags.flagged, 1);
        CHECK_EQ_INT(s.flags.flagged, 0);
        CHECK_AT_MOST(s.by[0], -0.01);
        CHECK_AT_LEAST(s.by[0], -0.05);
    }
}

/* In millimetres and grams: the barrier parameter has no unit. */
TEST(a_change_of_units_changes_no_smoothed_gradient)
{
    const smoothed metres = smooth(THROW, (asked){.by = {"mu", "speed"}, .smooth = 1e-3});
    const smoothed millimetres = smooth(
        "{'gravity': [0, 0, -10000], 'step': 0.01, 'duration': 0.5, 'tolerance': 1e-12, 'friction':"
        " {'default': 'mu'}, 'parameters': {'mu': 0.2, 'speed': 2000}, 'bodies': [{'name': 'floor',"
        " 'type': 'static', 'shapes': [{'type': 'plane', 'normal': [0, 0, 1]}]}, {'name': 'b',"
        " 'mass': 1000, 'position': [0, 0, 300], 'velocity': ['speed', 0, 0], 'shapes': [{'type':"
        " 'sphere', 'radius': 100}]}], 'measures': {'m': 'b.position.x'}}",
        (asked){.by = {"mu", "speed"}, .smooth = 1e-3});
    CHECK_NEAR(millimetres.value, 1000.0 * metres.value, 1e-9 * millimetres.value);
    CHECK_NEAR(millimetres.by[0], 1000.0 * metres.by[0], 1e-9 * fabs(millimetres.by[0]));
    CHECK_NEAR(millimetres.by[1], metres.by[1], 1e-9);
}

TEST(smoothed_gradients_name_what_they_refuse)
{
    static const char* const scene =
        "{'dimension': 2, 'gravity': [0, %s], 'step': %s, 'duration': 0.1, 'contact': '%s',"
        " 'restitution': %s, 'parameters': {'v': 1}, 'bodies': [{'name': 'floor',"
        " 'type': 'static', 'shapes': [{'type': 'halfplane', 'normal': [0, 1]}]}, {'name': 'b',"
        " 'mass': 1, 'velocity': ['v', 0], 'inertia': 1, 'position': [0, 1], 'shapes': [{'type':"
        " 'particle'}]}], 'measures': {'m': 'b.position.x'}}";
    static const struct {
        const char *gravity, *step, *contact, *restitution, *word;
    } cases[] = {{"-10", "0.01", "standard", "0.5", "restitution"},
                 {"-10", "0.01", "peg", "0", "'peg'"},
                 {"0", "0.01", "standard", "0", "particles without gravity"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        char text[2048];
        (void)snprintf(text, sizeof text, scene, cases[i].gravity, cases[i].step, cases[i].contact,
                       cases[i].restitution);
        const smoothed s = smooth(text, (asked){.by = {"v"}, .smooth = 1e-3});
        CHECK_EQ_INT(s.status, PERP_ERROR_UNSUPPORTED);
        CHECK_CONTAINS(s.error, cases[i].word);
    }
    static const double bad[] = {-1.0, 1e-9, 1.5, NAN, INFINITY};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        const smoothed s = smooth(THROW, (asked){.by = {"mu"}, .smooth = bad[i]});
        CHECK_EQ_INT(s.status, PERP_ERROR_INPUT);
        CHECK_CONTAINS(s.error, "barrier parameter");
    }
    const smoothed none = smooth(THROW, (asked){.by = {"mu"}});
    CHECK(none.bias.kappa == 0.0 && isnan(none.bias.bias) && isnan(none.exact[0]));
}
