/* Derivatives of a model's numbers by the parameters of its scene, against derivatives by hand. */
#include "scene_support.h"

#include "scene/sensitivity.h"
#include "support/scene_sim.h"

#define PI 3.14159265358979323846

static const char text[] =
    "{'parameters': {'m': 2.5, 'r': 0.3, 'g': 9.8, 'mu': 0.4, 'angle': 0.35, 'w': 3, 'fast': 0.7,"
    "  'zero': 0, 'none': 1, 'h': 0.01, 'kinked': 1, 'x': 0.25},"
    " 'gravity': [0, 0, '-g'], 'step': 'h', 'duration': 1,"
    " 'friction': {'default': 'mu^2', 'pairs': [{'a': 'ground', 'b': 'ball', 'mu': 'sqrt(mu)'}]},"
    " 'bodies': ["
    "  {'name': 'ground', 'type': 'static', 'shapes': [{'type': 'plane', 'normal': ['sin(angle)', "
    "0,"
    "   'cos(angle)']}]},"
    "  {'name': 'ball', 'density': 1000, 'position': [0, 0, '1 + 2*r'], 'velocity': "
    "['sin(100*fast)', 'abs(kinked - 1)', 0],"
    "   'shapes': [{'type': 'sphere', 'radius': 'r'}]},"
    "  {'name': 'box', 'mass': 'm', 'inertia': ['m*r^2', 'm', 'm'], 'position': [3, 0, 1],"
    "   'axis_angle': [0, 0, 1, 'angle*2'], 'shapes': [{'type': 'box', 'size': ['2*r', 1, 1],"
    "   'position': ['r^3', 0, 0]}]},"
    "  {'name': 'wheel', 'type': 'kinematic', 'position': [9, 0, 1],"
    "   'motion': {'position': ['9 + r*sin(w*t)', 0, 1]}, 'shapes': [{'type': 'sphere', 'radius': "
    "1}]}],"
    " 'joints': [{'name': 'j', 'type': 'revolute', 'a': 'world', 'b': 'box', 'at': [3, 'x', 1],"
    "   'axis': ['sin(angle)', 0, 'cos(angle)'], 'limits': ['-w', 'w'],"
    "   'motor': {'type': 'velocity', 'target': 'x', 'max_effort': 'm*g'}}],"
    " 'forces': [{'type': 'wrench', 'body': 'ball', 'force': ['m*t^2', 0, 'm']},"
    "  {'type': 'spring', 'a': 'ball', 'b': 'box', 'stiffness': '10*m', 'damping': 'zero', 'rest': "
    "0.5}],"
    " 'controllers': [{'type': 'pd', 'joint': 'j', 'kp': 'w^2', 'kd': 1, 'target': 0}]}";

typedef struct fixture {
    perp_context* context;
    perp_scene* scene;
    perpi_sensitivity* s;
} fixture;

static void open_fixture(fixture* f, const char* const* name, int32_t count)
{
    *f = (fixture){0};
    REQUIRE_OK(perp_context_create(NULL, &f->context));
    REQUIRE_OK(scene_parse(f->context, text, "scene", &f->scene));
    const perpi_sensitivity_def def = {.name = name, .count = count};
    REQUIRE_OK(perpi_sensitivity_create(f->context, f->scene, &def, &f->s));
}

static void close_fixture(fixture* f)
{
    perpi_sensitivity_destroy(f->s);
    perp_scene_destroy(f->scene);
    perp_context_destroy(f->context);
}

static double derivative(const fixture* f, int32_t parameter, perpi_field_kind kind, int32_t index,
                         int32_t part)
{
    const int32_t field = perpi_sensitivity_find(f->s, kind, index, part);
    const perpi_parameter_sensitivity* p = perpi_sensitivity_of(f->s, parameter);
    for (int32_t i = 0; i < p->count; ++i) {
        if (p->item[i].field == field) {
            return p->item[i].value;
        }
    }
    return 0.0;
}

static void check_relative(double got, double wanted)
{
    CHECK_AT_MOST(fabs(got - wanted), 1e-10 * fabs(wanted));
}

enum { GROUND, BALL, BOX, WHEEL };

TEST(derivatives_of_numbers_are_those_by_hand)
{
    static const char* const name[] = {"m", "r", "g", "mu", "angle", "w", "x", "fast"};
    enum { M, R, G, MU, ANGLE, W, X, FAST, COUNT };
    fixture f;
    open_fixture(&f, name, COUNT);
    const double r = 0.3, m = 2.5, rho = 1000.0, angle = 0.35;
    check_relative(derivative(&f, M, PERPI_FIELD_BODY_MASS, BOX, 0), 1.0);
    check_relative(derivative(&f, M, PERPI_FIELD_BODY_INERTIA, BOX, 0), r * r);
    check_relative(derivative(&f, M, PERPI_FIELD_SPRING, 0, 6), 10.0);
    check_relative(derivative(&f, M, PERPI_FIELD_JOINT_NUMBER, 0, 9), 9.8);
    check_relative(derivative(&f, M, PERPI_FIELD_VALUE_FORCE, 0, 2), 1.0);
    /* a ball of given density: 4/3 pi rho r^3, and 2/5 m r^2 */
    check_relative(derivative(&f, R, PERPI_FIELD_BODY_MASS, BALL, 0), 4.0 * PI * rho * r * r);
    check_relative(derivative(&f, R, PERPI_FIELD_BODY_INERTIA, BALL, 4),
                   8.0 / 3.0 * PI * rho * pow(r, 4));
    check_relative(derivative(&f, R, PERPI_FIELD_BODY_INERTIA, BOX, 0), 2.0 * m * r);
    check_relative(derivative(&f, R, PERPI_FIELD_START_POSITION, BALL, 2), 2.0);
    check_relative(derivative(&f, R, PERPI_FIELD_SHAPE_SIZE, 1, 0), 1.0);
    check_relative(derivative(&f, R, PERPI_FIELD_SHAPE_SIZE, 2, 3), 1.0);
    check_relative(derivative(&f, R, PERPI_FIELD_SHAPE_PLACE, 2, 0), 3.0 * r * r);
    check_relative(derivative(&f, R, PERPI_FIELD_SHAPE_VERTEX, 2, 0), -1.0);
    check_relative(derivative(&f, G, PERPI_FIELD_BODY_GRAVITY, BALL, 2), -1.0);
    check_relative(derivative(&f, MU, PERPI_FIELD_PAIR_FRICTION, 0, 0), 0.5 / sqrt(0.4));
    check_relative(derivative(&f, MU, PERPI_FIELD_BODY_FRICTION, BOX, 0), 0.8);
    check_relative(derivative(&f, ANGLE, PERPI_FIELD_SHAPE_NORMAL, 0, 0), cos(angle));
    check_relative(derivative(&f, ANGLE, PERPI_FIELD_START_ROTATION, BOX, 2), 2.0);
    check_relative(derivative(&f, W, PERPI_FIELD_JOINT_NUMBER, 0, 5), -1.0);
    check_relative(derivative(&f, W, PERPI_FIELD_CONTROLLER, 0, 0), 6.0);
    check_relative(derivative(&f, X, PERPI_FIELD_JOINT_PLACE, 0, 1), 1.0);
    check_relative(derivative(&f, X, PERPI_FIELD_VALUE_MOTOR, 0, 0), 1.0);
    CHECK_AT_MOST(
        fabs(derivative(&f, FAST, PERPI_FIELD_START_VELOCITY, BALL, 0) - 100.0 * cos(70.0)), 1e-8);
    /* the joint's axis turns about y, in the frame of the world */
    check_relative(derivative(&f, ANGLE, PERPI_FIELD_JOINT_FRAME, 0, 1), 1.0);
    close_fixture(&f);
}

TEST(values_that_vary_in_time_have_derivatives_at_each_time)
{
    static const char* const name[] = {"r", "w", "m"};
    fixture f;
    open_fixture(&f, name, 3);
    const perpi_field position = {PERPI_FIELD_VALUE_MOTION, WHEEL, 0};
    const perpi_field force = {PERPI_FIELD_VALUE_FORCE, 0, 0};
    CHECK(perpi_sensitivity_find(f.s, position.kind, position.index, position.part) >= 0);
    for (int k = 0; k < 10; ++k) {
        const double t = 0.1 * k, w = 3.0, r = 0.3;
        double value, rate;
        perpi_sensitivity_value(f.s, 0, &position, t, &value, &rate);
        CHECK_NEAR(value, sin(w * t), 1e-11);
        CHECK_NEAR(rate, w * cos(w * t), 1e-11);
        perpi_sensitivity_value(f.s, 1, &position, t, &value, &rate);
        CHECK_NEAR(value, r * t * cos(w * t), 1e-11);
        CHECK_NEAR(rate, r * cos(w * t) - r * w * t * sin(w * t), 1e-11);
        perpi_sensitivity_value(f.s, 2, &position, t, &value, &rate);
        CHECK_NEAR(value, 0.0, 1e-11);
        perpi_sensitivity_value(f.s, 2, &force, t, &value, &rate);
        CHECK_NEAR(value, t * t, 1e-11);
        CHECK_NEAR(rate, 2.0 * t, 1e-11);
    }
    close_fixture(&f);
}

TEST(a_parameter_touches_the_bodies_whose_numbers_it_changes)
{
    fixture f;
    open_fixture(&f, (const char* const[]){"none", "x", "mu"}, 3);
    CHECK_EQ_INT(perpi_sensitivity_of(f.s, 0)->count, 0);
    CHECK_EQ_INT(perpi_sensitivity_of(f.s, 0)->body_count, 0);
    CHECK(perpi_sensitivity_touches(f.s, 1, BOX, -1));
    CHECK(!perpi_sensitivity_touches(f.s, 1, BALL, GROUND));
    CHECK(perpi_sensitivity_touches(f.s, 1, BALL, BOX));
    CHECK(perpi_sensitivity_touches(f.s, 2, GROUND, BALL));
    close_fixture(&f);
}

TEST(a_coefficient_at_its_bound_has_a_one_sided_derivative)
{
    fixture f;
    open_fixture(&f, (const char* const[]){"zero"}, 1);
    check_relative(derivative(&f, 0, PERPI_FIELD_SPRING, 0, 7), 1.0);
    CHECK(perpi_sensitivity_of(f.s, 0)->weight_here != 0.0);
    close_fixture(&f);
}

TEST(a_kink_shows_in_the_roughness)
{
    fixture f;
    open_fixture(&f, (const char* const[]){"kinked", "w"}, 2);
    CHECK_AT_LEAST(perpi_sensitivity_of(f.s, 0)->roughness, 1e-2);
    CHECK_AT_MOST(perpi_sensitivity_of(f.s, 1)->roughness, 1e-5);
    close_fixture(&f);
}

TEST(a_pointer_names_a_number_of_the_scene)
{
    fixture f;
    open_fixture(&f, (const char* const[]){"/bodies/1/density", "/forces/0/force/1"}, 2);
    check_relative(derivative(&f, 0, PERPI_FIELD_BODY_MASS, BALL, 0), 4.0 / 3.0 * PI * 0.027);
    check_relative(derivative(&f, 1, PERPI_FIELD_VALUE_FORCE, 0, 1), 1.0);
    close_fixture(&f);
}

TEST(contraction_is_the_sum_over_the_fields)
{
    fixture f;
    open_fixture(&f, (const char* const[]){"m", "r", "g"}, 3);
    double weight[200] = {0}, gradient[3] = {1, 2, 3};
    REQUIRE_AT_MOST(perpi_sensitivity_field_count(f.s), 200);
    weight[perpi_sensitivity_find(f.s, PERPI_FIELD_BODY_INERTIA, BOX, 0)] = 2.0;
    perpi_sensitivity_contract(f.s, weight, gradient);
    CHECK_NEAR(gradient[0], 1.0 + 2.0 * 0.09, 1e-10);
    CHECK_NEAR(gradient[1], 2.0 + 2.0 * 2.0 * 2.5 * 0.3, 1e-9);
    CHECK_NEAR(gradient[2], 3.0, 0.0);
    close_fixture(&f);
}

TEST(what_changes_the_run_or_the_structure_is_refused_by_name)
{
    perp_context* context = NULL;
    perp_scene* scene = NULL;
    perpi_sensitivity* s = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(scene_parse(context, text, "scene", &scene));
    char* before = strdup(perp_scene_text(scene));
    const perp_model* model = perp_scene_model(scene);
    const char* name[] = {"h"};
    perpi_sensitivity_def def = {.name = name, .count = 1};
    CHECK_EQ_INT(perpi_sensitivity_create(context, scene, &def, &s), PERP_ERROR_UNSUPPORTED);
    CHECK(strstr(perp_context_error(context), "'h'") != NULL);
    name[0] = "nothing";
    CHECK_EQ_INT(perpi_sensitivity_create(context, scene, &def, &s), PERP_ERROR_INPUT);
    name[0] = "/bodies/2/mass"; /* an expression */
    CHECK_EQ_INT(perpi_sensitivity_create(context, scene, &def, &s), PERP_ERROR_INPUT);
    /* the scene is as before */
    CHECK(perp_scene_model(scene) == model);
    CHECK_OK(perp_scene_rebuild(scene));
    CHECK(strcmp(before, perp_scene_text(scene)) == 0);
    free(before);
    perp_scene_destroy(scene);
    perp_context_destroy(context);
}

TEST(no_failed_allocation_leaks_or_changes_the_scene)
{
    for (long fail = 1; fail < 4000; fail += 1 + fail / 16) {
        counter c = {0};
        perp_context* context = open_counted(&c);
        perp_scene* scene = NULL;
        perpi_sensitivity* s = NULL;
        REQUIRE_OK(scene_parse(context, text, "scene", &scene));
        const char* const name[] = {"m", "r"};
        const perpi_sensitivity_def def = {.name = name, .count = 2};
        c.fail_from = c.requests + fail;
        const perp_status status = perpi_sensitivity_create(context, scene, &def, &s);
        c.fail_from = 0;
        CHECK(status == PERP_OK || status == PERP_ERROR_MEMORY);
        perpi_sensitivity_destroy(s);
        CHECK_OK(perp_scene_rebuild(scene));
        perp_scene_destroy(scene);
        perp_context_destroy(context);
        CHECK_EQ_INT(c.out, 0);
        if (status == PERP_OK) {
            break;
        }
    }
}

/* Bodies a to f: parameters of their own, one of two of them, one of a joint, one through another
 * parameter, one of all. */
static const char shared_text[] =
    "{'parameters': {'ma': 1, 'mb': 2, 'mc': 3, 'md': 4, 'me': 5, 'va': 0.1, 'vb': 0.2, 'rc': 0.3,"
    " 'both': 0.7, 'far': 1.5, 'half': 'far/2', 'mu': 0.3}, 'gravity': [0, 0, -9.8], 'step': 0.01,"
    " 'duration': 1, 'friction': {'default': 'mu'}, 'bodies': ["
    "{'name': 'a', 'mass': 'ma', 'position': [0, 0.5, 0], 'velocity': ['va', 0, 0], 'shapes': "
    "[{'type': 'sphere', 'radius': "
    "0.1}]},"
    "{'name': 'b', 'mass': 'mb', 'position': [1, 0, 0], 'velocity': ['vb', 'both', 0], 'shapes': "
    "[{'type': 'box', 'size': [0.2, 0.3, 0.4]}]},"
    "{'name': 'c', 'mass': 'mc', 'position': [2, 0, 0], 'shapes': [{'type': 'sphere', 'radius': "
    "'rc'}]},"
    "{'name': 'd', 'mass': 'md', 'position': [3, 0, 0], 'velocity': [0, 'both', 0], 'shapes': "
    "[{'type': 'sphere', 'radius': 0.1}]},"
    "{'name': 'e', 'mass': 'me', 'position': [4, 0, 0], 'shapes': [{'type': 'sphere', 'radius': "
    "0.1}]},"
    "{'name': 'f', 'mass': 'half', 'position': [5, 0, 0], 'shapes': [{'type': 'sphere', 'radius': "
    "0.1}]}],"
    " 'joints': [{'name': 'j', 'type': 'spherical', 'a': 'd', 'b': 'e', 'at': [3.5, 0, 0]}]}";

/* Models of several parameters at once give the numbers that models of one give, to the last bit. */
TEST(parameters_of_different_bodies_share_their_models)
{
    static const char* const names[] = {"ma", "mb", "mc",   "md",  "me", "va",
                                        "vb", "rc", "both", "far", "mu", "/bodies/0/position/1"};
    /* alone in its body after the others, the last one is in no group */
    static const bool expected[] = {true, true, true,  false, false, true,
                                    true, true, false, true,  false, false};
    const int32_t count = (int32_t)(sizeof names / sizeof names[0]);
    fixture f = {0};
    perpi_sensitivity* alone = NULL;
    REQUIRE_OK(perp_context_create(NULL, &f.context));
    REQUIRE_OK(scene_parse(f.context, shared_text, "scene", &f.scene));
    perpi_sensitivity_def def = {.name = names, .count = count};
    REQUIRE_OK(perpi_sensitivity_create(f.context, f.scene, &def, &alone));
    def.share = true;
    REQUIRE_OK(perpi_sensitivity_create(f.context, f.scene, &def, &f.s));
    CHECK_EQ_INT(perpi_sensitivity_field_count(f.s), perpi_sensitivity_field_count(alone));
    for (int32_t i = 0; i < count; ++i) {
        const perpi_parameter_sensitivity *a = perpi_sensitivity_of(f.s, i),
                                          *b = perpi_sensitivity_of(alone, i);
        CHECK_EQ_INT(a->shared, expected[i]);
        CHECK(!b->shared);
        CHECK(a->count > 0);
        CHECK_EQ_INT(a->count, b->count);
        for (int32_t k = 0; k < a->count && k < b->count; ++k) {
            CHECK_EQ_INT(a->item[k].field, b->item[k].field);
            CHECK(a->item[k].value == b->item[k].value);
        }
    }
    perpi_sensitivity_destroy(alone);
    close_fixture(&f);
}
