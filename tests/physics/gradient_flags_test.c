/* Kinks that are no state of a contact: of expressions, of efforts and targets that are cut off, of
 * features of shapes. A gradient at such a place is flagged, one beside it is not. */
#include "perp/perp.h"
#include "perp_test.h"
#include "support/scene_sim.h"

static int64_t flagged(const char* text)
{
    perp_context* context = NULL;
    perp_scene* scene = NULL;
    perp_gradient* g = NULL;
    static const char* const by[] = {"p"};
    perp_gradient_def def = perp_gradient_def_default();
    int64_t count = -1;
    def.measure = "m";
    def.parameter = by;
    def.parameter_count = 1;
    CHECK_OK(perp_context_create(NULL, &context));
    perp_status status = scene_parse(context, text, "flags", &scene);
    if (status == PERP_OK) {
        status = perp_gradient_create(context, scene, &def, &g);
    }
    CHECK_EQ_STR(status == PERP_OK ? "" : perp_context_error(context), "");
    if (status == PERP_OK) {
        count = perp_gradient_flags_of(g).flagged;
    }
    perp_gradient_destroy(g);
    perp_scene_destroy(scene);
    perp_context_destroy(context);
    return count;
}

/* 20 steps of a free body with p = value and a force. */
static int64_t flagged_force(const char* force, double value)
{
    char text[1024];
    (void)snprintf(
        text, sizeof text,
        "{'dimension': 2, 'gravity': [0, 0], 'step': 0.01, 'duration': 0.2, 'parameters': {'p': "
        "%g},"
        " 'bodies': [{'name': 'b', 'mass': 1, 'shapes': [{'type': 'circle', 'radius': 0.1}]}],"
        " 'forces': [{'type': 'wrench', 'body': 'b', 'force': ['%s', 0]}],"
        " 'measures': {'m': 'b.position.x'}}",
        value, force);
    return flagged(text);
}

TEST(kinks_of_expressions_are_flagged)
{
    CHECK_EQ_INT(flagged_force("max(0, p)", 0.0), 20);
    CHECK_EQ_INT(flagged_force("max(0, p)", 0.1), 0);
    CHECK_EQ_INT(flagged_force("abs(p - 0.5) + p", 0.5), 20);
    CHECK_EQ_INT(flagged_force("p^2 + sin(p)", 0.5), 0);
    /* of time: in the steps that begin or end near t = p */
    CHECK_EQ_INT(flagged_force("abs(p - t)", 0.1), 2);
    CHECK_EQ_INT(flagged_force("abs(p - t)", 0.105), 0);
    CHECK_EQ_INT(flagged_force("p*sin(20*t) + exp(p*t)", 0.1), 0);
}

static int64_t flagged_motor(const char* joint)
{
    char text[1024];
    (void)snprintf(
        text, sizeof text,
        "{'dimension': 2, 'gravity': [0, 0], 'step': 0.01, 'duration': 0.2, 'parameters': {'p': 1},"
        " 'bodies': [{'name': 'b', 'mass': 1, 'position': [0.25, 0], 'shapes': [{'type': 'box',"
        " 'size': [0.5, 0.1]}]}], 'joints': [{'name': 'j', 'type': 'revolute', 'a': 'world', 'b':"
        " 'b', 'at': [0, 0], %s}], 'measures': {'m': 'j.coordinate.1'}}",
        joint);
    return flagged(text);
}

TEST(motors_at_the_border_of_what_they_can_do_are_flagged)
{
    CHECK_EQ_INT(flagged_motor("'motor': {'type': 'effort', 'target': 'p', 'max_effort': 1}"), 20);
    CHECK_EQ_INT(flagged_motor("'motor': {'type': 'effort', 'target': 1, 'max_effort': 'p'}"), 20);
    /* within the differences that derivatives by parameters are made of */
    CHECK_EQ_INT(
        flagged_motor("'motor': {'type': 'effort', 'target': '1.0001*p', 'max_effort': 1}"), 20);
    CHECK_EQ_INT(flagged_motor("'motor': {'type': 'effort', 'target': '2*p', 'max_effort': 1}"), 0);
    CHECK_EQ_INT(flagged_motor("'motor': {'type': 'effort', 'target': '0.5*p', 'max_effort': 1}"),
                 0);
    CHECK_EQ_INT(flagged_motor("'limits': [-1, 0.1], 'motor': {'type': 'position', 'target': "
                               "'0.1*p'}"),
                 20);
    CHECK_EQ_INT(
        flagged_motor("'limits': [-1, 1], 'motor': {'type': 'position', 'target': '0.1*p*sin(t)'}"),
        0);
}

static int64_t flagged_ball(double x, double y)
{
    char text[1024];
    (void)snprintf(
        text, sizeof text,
        "{'gravity': [0, 0, -10], 'step': 0.01, 'duration': 0.05, 'parameters': {'p': %g},"
        " 'bodies': [{'name': 's', 'type': 'static', 'shapes': [{'type': 'box', 'size': [1, 1, "
        "1]}]},"
        " {'name': 'b', 'mass': 1, 'position': ['p', %g, 0.6], 'shapes': [{'type': 'sphere',"
        " 'radius': 0.1}]}], 'measures': {'m': 'b.position.x'}}",
        x, y);
    return flagged(text);
}

TEST(a_ball_above_an_edge_is_flagged)
{
    CHECK_EQ_INT(flagged_ball(0.5, 0.1), 5);
    CHECK_EQ_INT(flagged_ball(0.5, 0.5), 5);
    CHECK_EQ_INT(flagged_ball(0.499, 0.1), 0);
    CHECK_EQ_INT(flagged_ball(0.2, 0.1), 0);
}
