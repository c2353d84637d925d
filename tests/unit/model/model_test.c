/* Building a model in C: refused input, and mass properties. */
#include "model/model.h"
#include "perp_test.h"

typedef struct fixture {
    perp_context* context;
    perp_model* model;
} fixture;

static fixture open_model(int32_t dimension)
{
    fixture f = {0};
    perp_model_def def = perp_model_def_default();
    def.dimension = dimension;
    if (perp_context_create(NULL, &f.context) == PERP_OK &&
        perp_model_create(f.context, &def, &f.model) != PERP_OK) {
        f.model = NULL;
    }
    return f;
}

static void close_model(fixture* f)
{
    perp_model_destroy(f->model);
    perp_context_destroy(f->context);
}

static perp_body_def ball(const char* name, perp_shape_def* sphere)
{
    *sphere = perp_shape_def_default(PERP_SHAPE_SPHERE);
    sphere->radius = 0.5;
    perp_body_def def = perp_body_def_default();
    def.name = name;
    def.type = PERP_BODY_DYNAMIC;
    def.mass = 2.0;
    def.shapes = sphere;
    def.shape_count = 1;
    return def;
}

static void refused(fixture* f, const perp_body_def* def, const char* message)
{
    const int32_t before = perp_model_body_count(f->model);
    CHECK_EQ_INT(perp_model_add_body(f->model, def, NULL), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(f->context), message);
    CHECK_EQ_INT(perp_model_body_count(f->model), before);
}

TEST(a_body_that_cannot_exist_is_refused_and_leaves_no_trace)
{
    fixture f = open_model(3);
    REQUIRE(f.model != NULL);
    perp_shape_def sphere;
    perp_body_def def = ball("a", &sphere);
    def.mass = -1.0;
    refused(&f, &def, "mass: must be > 0, got -1");
    def.mass = NAN;
    refused(&f, &def, "mass: a dynamic body needs mass or density");
    def = ball("", &sphere);
    refused(&f, &def, "name: must not be empty");
    def = ball("a", &sphere);
    def.orientation[0] = 0.0;
    refused(&f, &def, "orientation");
    def = ball("a", &sphere);
    def.velocity[1] = INFINITY;
    refused(&f, &def, "velocity: must be finite");
    def = ball("a", &sphere);
    def.friction = -0.1;
    refused(&f, &def, "friction: must be >= 0");
    def = ball("a", &sphere);
    def.density = 3.0;
    refused(&f, &def, "density: give density, or mass and inertia, not both");
    def = ball("a", &sphere);
    def.has_inertia = true;
    def.inertia[0] = 1;
    def.inertia[4] = 1;
    def.inertia[8] = 2.1; /* more than the other two together */
    refused(&f, &def, "inertia: no body has principal values");
    def.inertia[8] = 0.0;
    refused(&f, &def, "inertia: principal values must be > 0");
    def.inertia[8] = 1.0;
    def.inertia[1] = 0.2;
    refused(&f, &def, "inertia: must be symmetric");
    def = ball("a", &sphere);
    def.motion.type = PERP_MOTION_POSE;
    refused(&f, &def, "motion: only a kinematic body has one");
    def = ball("a", &sphere);
    def.type = PERP_BODY_KINEMATIC;
    def.motion.type = PERP_MOTION_POSE;
    def.motion.position[0] = "sin(";
    refused(&f, &def, "motion/position/0");
    def.motion.position[0] = "1/(t-t)";
    refused(&f, &def, "motion/position/0");

    perp_shape_def plane = perp_shape_def_default(PERP_SHAPE_PLANE);
    plane.normal[2] = 1.0;
    def = ball("a", &sphere);
    def.shapes = &plane;
    refused(&f, &def, "shapes/0: a plane is unbounded");
    plane.normal[2] = 0.0;
    def.type = PERP_BODY_STATIC;
    refused(&f, &def, "shapes/0: normal: must not be the zero vector");

    def = ball("a", &sphere);
    REQUIRE_OK(perp_model_add_body(f.model, &def, NULL));
    refused(&f, &def, "names must differ");
    close_model(&f);
}

TEST(mass_centre_and_inertia_come_from_the_density)
{
    /* two unit-density boxes side by side make one box of twice the length */
    fixture f = open_model(3);
    REQUIRE(f.model != NULL);
    perp_shape_def part[2] = {perp_shape_def_default(PERP_SHAPE_BOX),
                              perp_shape_def_default(PERP_SHAPE_BOX)};
    for (int i = 0; i < 2; ++i) {
        part[i].size[0] = part[i].size[1] = part[i].size[2] = 1.0;
        part[i].position[0] = i;
    }
    perp_body_def def = perp_body_def_default();
    def.name = "pair";
    def.type = PERP_BODY_DYNAMIC;
    def.density = 3.0;
    def.shapes = part;
    def.shape_count = 2;
    def.position[0] = 10.0;
    REQUIRE_OK(perp_model_add_body(f.model, &def, NULL));
    const perp_body_info info = perp_model_body_info(f.model, 0);
    CHECK_NEAR(info.mass, 6.0, 1e-14);
    CHECK_NEAR(info.position[0], 10.5, 1e-14); /* the centre of mass */
    CHECK_NEAR(info.offset[0], 0.5, 1e-14);
    CHECK_NEAR(info.inertia[0], 6.0 * (1 + 1) / 12, 1e-13);
    CHECK_NEAR(info.inertia[4], 6.0 * (4 + 1) / 12, 1e-13);
    CHECK_NEAR(info.inertia[8], 6.0 * (4 + 1) / 12, 1e-13);
    CHECK_NEAR(perp_model_body_shape(f.model, 0, 1).position[0], 0.5, 1e-14);

    /* mass alone: the uniform body of that mass */
    perp_shape_def sphere;
    perp_body_def b = ball("ball", &sphere);
    REQUIRE_OK(perp_model_add_body(f.model, &b, NULL));
    CHECK_NEAR(perp_model_body_info(f.model, 1).inertia[0], 0.4 * 2.0 * 0.25, 1e-14);
    close_model(&f);
}

TEST(friction_of_a_pair_is_its_entry_else_the_geometric_mean)
{
    fixture f = open_model(3);
    REQUIRE(f.model != NULL);
    perp_shape_def sphere;
    const char* const names[] = {"a", "b", "c"};
    const double mu[] = {0.2, 0.8, 0.5};
    for (int i = 0; i < 3; ++i) {
        perp_body_def def = ball(names[i], &sphere);
        def.friction = mu[i];
        def.position[0] = 3.0 * i;
        REQUIRE_OK(perp_model_add_body(f.model, &def, NULL));
    }
    const perp_pair_def pair = {.a = "c", .b = "a", .mu = 0.7};
    REQUIRE_OK(perp_model_add_pair(f.model, &pair));
    CHECK_NEAR(perp_model_pair_friction(f.model, 0, 1), 0.4, 1e-15);
    CHECK_NEAR(perp_model_pair_friction(f.model, 0, 2), 0.7, 0.0);
    CHECK_NEAR(perp_model_pair_friction(f.model, 2, 0), 0.7, 0.0);
    CHECK_EQ_INT(perp_model_add_pair(f.model, &pair), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(f.context), "given twice");
    const perp_pair_def nobody = {.a = "a", .b = "z", .mu = 0.7};
    CHECK_EQ_INT(perp_model_add_pair(f.model, &nobody), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(f.context), "b: there is no body named 'z'");
    close_model(&f);
}

TEST(both_sides_must_allow_a_collision)
{
    fixture f = open_model(3);
    REQUIRE(f.model != NULL);
    perp_shape_def sphere;
    static const char* const only_c[] = {"c"};
    for (int i = 0; i < 3; ++i) {
        char name[2] = {(char)('a' + i), '\0'};
        perp_body_def def = ball(name, &sphere);
        def.position[0] = 3.0 * i;
        def.collides_restricted = i == 0;
        def.collides_with = only_c;
        def.collides_with_count = 1;
        REQUIRE_OK(perp_model_add_body(f.model, &def, NULL));
    }
    CHECK(!perp_model_pair_collides(f.model, 0, 1));
    CHECK(!perp_model_pair_collides(f.model, 1, 0));
    CHECK(perp_model_pair_collides(f.model, 0, 2));
    CHECK(perp_model_pair_collides(f.model, 1, 2));
    close_model(&f);
}

TEST(prescribed_motion_has_the_exact_velocity_of_its_expressions)
{
    fixture f = open_model(3);
    REQUIRE(f.model != NULL);
    perp_body_def def = perp_body_def_default();
    def.name = "plate";
    def.type = PERP_BODY_KINEMATIC;
    def.motion.type = PERP_MOTION_POSE;
    def.motion.position[0] = "0.5 + 0.4*sin(t)";
    def.motion.axis_angle[0] = "cos(t)";
    def.motion.axis_angle[1] = "sin(t)";
    def.motion.axis_angle[2] = "0.5";
    def.motion.axis_angle[3] = "0.3 + t^2";
    REQUIRE_OK(perp_model_add_body(f.model, &def, NULL));
    const double t = 0.7, d = 1e-6;
    perpi_pose at, before, after;
    double angle;
    vec3 v, w;
    REQUIRE_OK(perpi_motion_pose(f.model, 0, t, &at, &angle, &v, &w));
    REQUIRE_OK(perpi_motion_pose(f.model, 0, t - d, &before, &angle, NULL, NULL));
    REQUIRE_OK(perpi_motion_pose(f.model, 0, t + d, &after, &angle, NULL, NULL));
    const vec3 turned = v3_scale(0.5 / d, q4_log(q4_mul(after.q, q4_conj(before.q))));
    CHECK_NEAR(v.x, 0.4 * cos(t), 1e-15);
    CHECK_NEAR(w.x, turned.x, 1e-8);
    CHECK_NEAR(w.y, turned.y, 1e-8);
    CHECK_NEAR(w.z, turned.z, 1e-8);

    perp_body_def spin = perp_body_def_default();
    spin.name = "quaternion";
    spin.type = PERP_BODY_KINEMATIC;
    spin.motion.type = PERP_MOTION_POSE;
    spin.motion.orientation[0] = "2*cos(t)"; /* not of unit length: normalised */
    spin.motion.orientation[3] = "2*sin(t)";
    REQUIRE_OK(perp_model_add_body(f.model, &spin, NULL));
    REQUIRE_OK(perpi_motion_pose(f.model, 1, t, &at, &angle, &v, &w));
    CHECK_NEAR(at.q.w, cos(t), 1e-15);
    CHECK_NEAR(w.z, 2.0, 1e-14);
    close_model(&f);
}
