/* All data of a scene reach the model and the settings, and its text preserves them. */
#include "scene_support.h"

#include "model/model.h"
#include "scene/json_text.h"

static perp_scene* parse_with(perp_context* context, const char* text,
                              const perp_override* override, int32_t count)
{
    perp_scene* scene = NULL;
    const perp_status status =
        perp_scene_parse(context, text, strlen(text), "dir/stem.json", override, count, &scene);
    if (status != PERP_OK) {
        printf("  %s\n", perp_context_error(context));
    }
    CHECK_OK(status);
    return scene;
}

static perp_scene* parse(perp_context* context, const char* text)
{
    return parse_with(context, text, NULL, 0);
}

TEST(the_defaults_are_the_documented_ones)
{
    counter c = {0};
    perp_context* context = open_counted(&c);
    perp_scene* scene = parse(context, "{\"bodies\": [{\"name\": \"b\", \"mass\": 1}]}");
    REQUIRE(scene != NULL);
    const perp_scene_run run = perp_scene_run_settings(scene);
    CHECK(run.step == 0.01);
    CHECK(run.duration == 1.0);
    CHECK_EQ_STR(run.stepper, "stewart-trinkle");
    CHECK_EQ_STR(run.contact, "auto");
    CHECK_EQ_STR(run.solver, "auto");
    CHECK_EQ_INT(run.solver_option_count, 0);
    CHECK_EQ_STR(run.cone, "quadratic");
    CHECK_EQ_INT(run.directions, 8);
    CHECK(isnan(run.margin));
    CHECK(run.tolerance == 1e-8);
    CHECK(!run.allow_overlap);
    CHECK(!run.linear_rotation);
    CHECK_EQ_INT(perp_scene_record_every(scene), 1);
    CHECK_EQ_STR(perp_scene_name(scene), "stem"); /* of the file */
    const perp_model* model = perp_scene_model(scene);
    CHECK_EQ_INT(perp_model_dimension(model), 3);
    CHECK_EQ_INT(perp_model_body_count(model), 1);
    CHECK(model->friction_default == 0.0);
    CHECK(v3_norm(model->gravity) == 0.0);
    CHECK_EQ_INT(model->body[0].type, PERP_BODY_DYNAMIC);
    perp_scene_destroy(scene);
    CHECK_EQ_INT(c.out, 1);
    perp_context_destroy(context);
}

TEST(settings_arrive)
{
    counter c = {0};
    perp_context* context = open_counted(&c);
    perp_scene* scene = parse(
        context,
        TOP("\"$schema\":\"s\",\"description\":\"d\",\"name\":\"n\",\"step\":0.25,\"duration\":3,"
            "\"stepper\":{\"type\":\"anitescu-potra\"},\"contact\":\"peg\",\"solver\":{\"type\":"
            "\"pgs\",\"relax\":1.5,\"sort\":true,\"max_iter\":7},\"margin\":0.125,\"tolerance\":"
            "1e-6,\"allow_overlap\":true,\"rotation\":\"linear\",\"record\":{\"every\":5},"
            "\"joint_correction\":false,\"joints\":[],\"controllers\":[],\"forces\":[],"
            "\"restitution\":0,\"friction\":{\"cone\":\"none\",\"directions\":12,\"default\":0."
            "5}"));
    REQUIRE(scene != NULL);
    const perp_scene_run run = perp_scene_run_settings(scene);
    CHECK(run.step == 0.25);
    CHECK(run.duration == 3.0);
    CHECK_EQ_STR(run.stepper, "anitescu-potra");
    CHECK_EQ_STR(run.contact, "peg");
    CHECK_EQ_STR(run.solver, "pgs");
    CHECK_EQ_INT(run.solver_option_count, 3);
    CHECK_EQ_STR(run.solver_option[0].name, "relax");
    CHECK(run.solver_option[0].value == 1.5);
    CHECK_EQ_STR(run.solver_option[1].name, "sort");
    CHECK(run.solver_option[1].value == 1.0);
    CHECK(run.solver_option[2].value == 7.0);
    CHECK_EQ_STR(run.cone, "none");
    CHECK_EQ_INT(run.directions, 12);
    CHECK(run.margin == 0.125);
    CHECK(run.tolerance == 1e-6);
    CHECK(run.allow_overlap);
    CHECK(run.linear_rotation);
    CHECK_EQ_INT(perp_scene_record_every(scene), 5);
    CHECK_EQ_STR(perp_scene_name(scene), "n");
    CHECK(perp_scene_model(scene)->body[0].friction == 0.5);
    perp_scene_destroy(scene);
    perp_context_destroy(context);
}

TEST(the_semi_axes_of_the_ellipsoid_arrive)
{
    counter c = {0};
    perp_context* context = open_counted(&c);
    perp_scene* scene = parse(context, TOP("\"friction\":{\"cone\":\"ellipsoid\",\"e_r\":0.25}"));
    REQUIRE(scene != NULL);
    perp_scene_run run = perp_scene_run_settings(scene);
    CHECK_EQ_STR(run.cone, "ellipsoid");
    CHECK(run.e[0] == 1.0 && run.e[1] == 1.0 && run.e[2] == 0.25);
    perp_scene_destroy(scene);
    scene = parse(context, TOP("\"friction\":{\"cone\":\"ellipsoid\",\"e_t\":0.5,\"e_o\":2,"
                               "\"e_r\":0.125}"));
    REQUIRE(scene != NULL);
    run = perp_scene_run_settings(scene);
    CHECK(run.e[0] == 0.5 && run.e[1] == 2.0 && run.e[2] == 0.125);
    perp_scene_destroy(scene);
    CHECK_EQ_INT(c.out, 1);
    perp_context_destroy(context);
}

TEST(bodies_arrive)
{
    counter c = {0};
    perp_context* context = open_counted(&c);
    perp_scene* scene = parse(
        context,
        "{\"gravity\":[0,0,-10],\"bodies\":["
        "{\"name\":\"full\",\"mass\":2,\"inertia\":[[2,0.5,0],[0.5,3,0],[0,0,4]],"
        "\"position\":[1,2,3],\"axis_angle\":[0,0,2,3.141592653589793],\"velocity\":[4,5,6],"
        "\"angular_velocity\":[7,8,9],\"friction\":0.25,\"gravity\":[1,0,0],\"color\":\"#ff0080\","
        "\"collides_with\":[\"late\"],\"surface_velocity\":[1,\"t\",0],\"restitution\":0,"
        "\"shapes\":[{\"type\":\"box\",\"size\":[1,2,3],\"position\":[0,0,1],\"orientation\":"
        "[2,0,0,0],\"friction\":0.75},{\"type\":\"capsule\",\"radius\":1,\"length\":2,"
        "\"surface_velocity\":[\"2*t\",0,0]}]},"
        "{\"name\":\"late\",\"type\":\"kinematic\",\"color\":[0,0.5,1],\"motion\":{\"velocity\":"
        "[1.5,\"t+2\",0],\"angular_velocity\":[0,0,0.1]}},"
        "{\"name\":\"wall\",\"type\":\"static\",\"shapes\":[{\"type\":\"plane\",\"normal\":"
        "[0,0,2]}]}],"
        "\"friction\":{\"pairs\":[{\"a\":\"late\",\"b\":\"full\",\"mu\":0.1,\"directions\":5},"
        "{\"a\":\"wall\",\"b\":\"full\",\"directions\":6}]},"
        "\"forces\":[{\"type\":\"wrench\",\"body\":\"full\",\"force\":[1,\"3*t\",0],\"torque\":"
        "[0,0,\"t\"],\"at\":[0.5,0,0],\"frame\":\"body\"}]}");
    REQUIRE(scene != NULL);
    const perp_model* m = perp_scene_model(scene);
    REQUIRE_EQ_INT(m->body_count, 3);
    const perpi_body* full = &m->body[0];
    CHECK(full->mass == 2.0);
    CHECK(full->inertia.m[0][1] == 0.5 && full->inertia.m[1][1] == 3 && full->inertia.m[2][2] == 4);
    CHECK(full->pose.x.x == 1 && full->pose.x.y == 2 && full->pose.x.z == 3);
    CHECK_NEAR(full->pose.q.w, 0.0, 1e-15);
    CHECK_NEAR(full->pose.q.z, 1.0, 1e-15);
    CHECK(full->v.x == 4 && full->v.y == 5 && full->v.z == 6);
    CHECK(full->w.x == 7 && full->w.y == 8 && full->w.z == 9);
    CHECK(full->friction == 0.25);
    CHECK(full->gravity.x == 1 && full->gravity.z == 0);
    CHECK(full->color[0] == 1 && full->color[1] == 0 && full->color[2] == 128 / 255.0);
    CHECK(full->restricted && full->allowed_count == 1);
    CHECK(perp_model_pair_collides(m, 0, 1));
    CHECK(!perp_model_pair_collides(m, 0, 2));
    CHECK_EQ_INT(full->shape_count, 2);
    CHECK_EQ_INT(m->shape[0].type, PERP_SHAPE_BOX);
    CHECK(m->shape[0].half.y == 1.0 && m->shape[0].local.x.z == 1.0);
    CHECK(m->surface[0].friction == 0.75 && isnan(m->surface[1].friction));
    CHECK(perpi_value_at(&m->surface[0].velocity[1], 3.0) == 3.0); /* the body's */
    CHECK(perpi_value_at(&m->surface[1].velocity[0], 3.0) == 6.0); /* its own */
    vec3 v, w;
    REQUIRE_OK(perpi_motion_velocity(m, 1, 2.0, &v, &w));
    CHECK(v.x == 1.5 && v.y == 4.0 && w.z == 0.1);
    CHECK(m->body[2].gravity.z == -10);
    CHECK(perp_model_pair_friction(m, 0, 1) == 0.1);
    CHECK_EQ_INT(perpi_model_pair(m, 0, 1)->directions, 5);
    CHECK_EQ_INT(perpi_model_pair(m, 0, 2)->directions, 6);
    CHECK(isnan(perpi_model_pair(m, 0, 2)->mu));
    REQUIRE_EQ_INT(m->wrench_count, 1);
    CHECK(perpi_value_at(&m->wrench[0].force[0], 2.0) == 1.0);
    CHECK(perpi_value_at(&m->wrench[0].force[1], 2.0) == 6.0);
    CHECK(perpi_value_at(&m->wrench[0].torque[2], 2.0) == 2.0);
    CHECK(m->wrench[0].at.x == 0.5 && m->wrench[0].body_frame);
    perp_scene_destroy(scene);
    CHECK_EQ_INT(c.out, 1);
    perp_context_destroy(context);
}

TEST(planar_bodies_arrive)
{
    counter c = {0};
    perp_context* context = open_counted(&c);
    perp_scene* scene = parse(
        context, "{\"dimension\":2,\"gravity\":[0,-9],\"friction\":{\"directions\":2},\"bodies\":["
                 "{\"name\":\"b\",\"mass\":1,\"inertia\":0.5,\"position\":[1,2],\"angle\":7,"
                 "\"velocity\":[3,4],\"angular_velocity\":5,\"shapes\":[{\"type\":\"box\",\"size\":"
                 "[1,2],\"position\":[0,1],\"angle\":1.5}]},{\"name\":\"k\",\"type\":\"kinematic\","
                 "\"motion\":{\"position\":[\"t\",0],\"angle\":\"2*t\"}}],\"forces\":[{\"type\":"
                 "\"wrench\",\"body\":\"b\",\"force\":[1,2],\"torque\":\"t\"}]}");
    REQUIRE(scene != NULL);
    const perp_model* m = perp_scene_model(scene);
    CHECK_EQ_INT(m->dimension, 2);
    CHECK(m->gravity.y == -9 && m->gravity.z == 0);
    CHECK(m->body[0].inertia.m[2][2] == 0.5);
    CHECK(m->body[0].angle == 7.0); /* not wrapped */
    CHECK(m->body[0].v.y == 4 && m->body[0].w.z == 5 && m->body[0].w.x == 0);
    CHECK_EQ_INT(m->shape[0].type, PERP_SHAPE_BOX2);
    CHECK_NEAR(m->shape[0].local.q.w, cos(0.75), 1e-15);
    CHECK_NEAR(m->shape[0].local.q.z, sin(0.75), 1e-15);
    perpi_pose pose;
    double angle;
    vec3 v, w;
    REQUIRE_OK(perpi_motion_pose(m, 1, 3.0, &pose, &angle, &v, &w));
    CHECK(angle == 6.0 && v.x == 1.0 && w.z == 2.0);
    CHECK(perpi_value_at(&m->wrench[0].torque[2], 4.0) == 4.0);
    perp_scene_destroy(scene);
    perp_context_destroy(context);
}

/* ---- the text --------------------------------------------------------------------------------- */

static bool same_bits(const void* a, const void* b, size_t size)
{
    return memcmp(a, b, size) == 0;
}

static bool same_value(const perpi_value* a, const perpi_value* b)
{
    if ((a->expr == NULL) != (b->expr == NULL) || !same_bits(&a->number, &b->number, 8)) {
        return false;
    }
    return a->expr == NULL || strcmp(perpi_expr_text(a->expr), perpi_expr_text(b->expr)) == 0;
}

static bool same_values(const perpi_value* a, const perpi_value* b, int count)
{
    bool same = true;
    for (int i = 0; i < count; ++i) {
        same = same && same_value(&a[i], &b[i]);
    }
    return same;
}

static void check_same_model(const perp_model* a, const perp_model* b)
{
    CHECK_EQ_STR(a->name, b->name);
    CHECK_EQ_INT(a->dimension, b->dimension);
    CHECK(same_bits(&a->gravity, &b->gravity, sizeof a->gravity));
    REQUIRE_EQ_INT(a->body_count, b->body_count);
    REQUIRE_EQ_INT(a->shape_count, b->shape_count);
    REQUIRE_EQ_INT(a->pair_count, b->pair_count);
    REQUIRE_EQ_INT(a->wrench_count, b->wrench_count);
    for (size_t i = 0; i < a->body_count; ++i) {
        const perpi_body *x = &a->body[i], *y = &b->body[i];
        CHECK_EQ_STR(x->name, y->name);
        CHECK_EQ_INT(x->type, y->type);
        CHECK(same_bits(&x->mass, &y->mass, sizeof x->mass));
        CHECK(same_bits(&x->inertia, &y->inertia, sizeof x->inertia));
        CHECK(same_bits(&x->pose, &y->pose, sizeof x->pose));
        CHECK(same_bits(&x->angle, &y->angle, sizeof x->angle));
        CHECK(same_bits(&x->v, &y->v, sizeof x->v));
        CHECK(same_bits(&x->w, &y->w, sizeof x->w));
        CHECK(same_bits(&x->friction, &y->friction, sizeof x->friction));
        CHECK(same_bits(x->color, y->color, sizeof x->color));
        CHECK(same_bits(&x->gravity, &y->gravity, sizeof x->gravity));
        CHECK(same_values(x->motion.position, y->motion.position, 3));
        CHECK(same_values(x->motion.orientation, y->motion.orientation, 4));
        CHECK(same_values(x->motion.axis_angle, y->motion.axis_angle, 4));
        CHECK(same_values(x->motion.velocity, y->motion.velocity, 3));
        CHECK(same_values(x->motion.angular_velocity, y->motion.angular_velocity, 3));
        CHECK_EQ_INT(x->restricted, y->restricted);
        CHECK_EQ_INT(x->allowed_count, y->allowed_count);
    }
    for (size_t i = 0; i < a->shape_count; ++i) {
        const perpi_shape *x = &a->shape[i], *y = &b->shape[i];
        CHECK_EQ_INT(x->type, y->type);
        CHECK(same_bits(&x->radius, &y->radius, sizeof x->radius));
        CHECK(same_bits(&x->length, &y->length, sizeof x->length));
        CHECK(same_bits(&x->offset, &y->offset, sizeof x->offset));
        CHECK(same_bits(&x->half, &y->half, sizeof x->half));
        CHECK(same_bits(&x->normal, &y->normal, sizeof x->normal));
        CHECK(same_bits(&x->local, &y->local, sizeof x->local));
        CHECK(same_bits(&a->surface[i].friction, &b->surface[i].friction, 8));
        CHECK(same_values(a->surface[i].velocity, b->surface[i].velocity, 3));
    }
    for (size_t i = 0; i < a->pair_count; ++i) {
        CHECK(same_bits(&a->pair[i].mu, &b->pair[i].mu, 8));
        CHECK_EQ_INT(a->pair[i].directions, b->pair[i].directions);
    }
    for (size_t i = 0; i < a->wrench_count; ++i) {
        CHECK(same_values(a->wrench[i].force, b->wrench[i].force, 3));
        CHECK(same_values(a->wrench[i].torque, b->wrench[i].torque, 3));
    }
}

/* Parses the text that a scene gives, compares, and once more: the text is a fixed point. */
static void check_round_trip(perp_context* context, perp_scene* scene)
{
    perp_scene* again = NULL;
    const char* text = perp_scene_text(scene);
    REQUIRE_OK(perp_scene_parse(context, text, strlen(text), "other", NULL, 0, &again));
    check_same_model(perp_scene_model(scene), perp_scene_model(again));
    const perp_scene_run a = perp_scene_run_settings(scene), b = perp_scene_run_settings(again);
    CHECK(same_bits(&a.step, &b.step, 8) && same_bits(&a.duration, &b.duration, 8));
    CHECK_EQ_INT(a.directions, b.directions);
    CHECK_EQ_INT(a.solver_option_count, b.solver_option_count);
    CHECK_EQ_STR(perp_scene_text(again), text);
    perp_scene_destroy(again);
}

TEST(the_text_of_every_scene_gives_the_same_bits)
{
    static const char* const names[] = {
        "b09-fence",
        "box-on-slope",
        "bouncing-balls",
        "demo",
        "hello",
        "n04-blimp",
        "n04-box-on-floor",
        "n04-disc",
        "n04-mobile-robot",
        "n04-pusher-box",
        "p09-centrifuge",
        "stack",
        "soft-landing",
        "t03-sphere",
        "b09-double-pendulum",
        "b09-pendulum-block",
        "b09-pendulum-friction",
        "b09-pendulum-pusher",
        "b09-pendulum-belt",
        "b09-planar-model",
        "b09-quasistatic-push",
        "w14-hanging-rod",
        "w14-pendulum",
        "w14-rolling-cart",
        "w14-joint-tree",
        "w14-arm",
        "n04-prismatic-planar",
        "n04-prismatic-spatial",
    };
    const char* source = getenv("PERP_SOURCE");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        counter c = {0};
        perp_context* context = open_counted(&c);
        char path[1024];
        snprintf(path, sizeof path, "%s/scenes/%s.json", source != NULL ? source : PERP_SOURCE_DIR,
                 names[i]);
        perp_scene* scene = NULL;
        const perp_status status = perp_scene_load(context, path, NULL, 0, &scene);
        if (status != PERP_OK) {
            printf("  %s\n", perp_context_error(context));
        }
        REQUIRE_OK(status);
        CHECK_EQ_STR(perp_scene_name(scene), names[i]);
        check_round_trip(context, scene);
        perp_scene_destroy(scene);
        CHECK_EQ_INT(c.out, 1);
        perp_context_destroy(context);
    }
}

TEST(awkward_numbers_survive_the_text)
{
    static const char* const numbers[] = {
        "0.1",  "0.30000000000000004", "1.7976931348623157e308",  "4.9406564584124654e-324",
        "1e22", "123456789012345678",  "2.2250738585072011e-308", "0.3420201433256687",
        "1e-7", "9007199254740993",    "3.0000000000000004",      "5e-324",
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i) {
        counter c = {0};
        perp_context* context = open_counted(&c);
        char text[512];
        snprintf(text, sizeof text,
                 "{\"name\":\"\\u00fc\\n\\\"\",\"bodies\":[{\"name\":\"k\",\"type\":\"kinematic\","
                 "\"motion\":{\"position\":[%s,-%s,0]}},{\"name\":\"b\",\"mass\":1,\"position\":"
                 "[%s,0,-0.0]}]}",
                 numbers[i], numbers[i], numbers[i]);
        perp_scene* scene = parse(context, text);
        REQUIRE(scene != NULL);
        const perp_model* m = perp_scene_model(scene);
        CHECK(m->body[1].pose.x.x == strtod(numbers[i], NULL));
        CHECK(m->body[0].pose.x.x == strtod(numbers[i], NULL)); /* by way of an expression */
        CHECK(m->body[0].pose.x.y == -strtod(numbers[i], NULL));
        check_round_trip(context, scene);
        perp_scene_destroy(scene);
        perp_context_destroy(context);
    }
}

TEST(plain_numbers_stay_plain_in_the_text)
{
    counter c = {0};
    perp_context* context = open_counted(&c);
    perp_scene* scene = parse(context, TOP("\"gravity\":[0,0,-9.81]"));
    REQUIRE(scene != NULL);
    CHECK_CONTAINS(perp_scene_text(scene), "\"gravity\": [0, 0, -9.81]");
    perp_scene_destroy(scene);
    perp_context_destroy(context);
}

/* ---- overrides -------------------------------------------------------------------------------- */

TEST(an_override_changes_model_settings_and_text)
{
    counter c = {0};
    perp_context* context = open_counted(&c);
    const perp_override list[] = {
        {"/bodies/0/mass", "2.5"},
        {"/step", "0.125"},
        {"/solver", "pgs"},
        {"/friction/cone", "none"},
        {"/record/every", "3"},
        {"/bodies/0/shapes/0/radius", "3"},
        {"/bodies/0/position", "[1,2,3]"},
        {"/bodies/0/shapes/-", "{\"type\":\"particle\"}"},
        {"/name", "\"quoted\""},
        {"/bodies/0/position/1", "7"},
    };
    perp_scene* scene = parse_with(context, TOP("\"step\":1"), list, sizeof list / sizeof list[0]);
    REQUIRE(scene != NULL);
    const perp_model* m = perp_scene_model(scene);
    CHECK(m->body[0].mass == 2.5);
    CHECK(m->body[0].pose.x.y == 7.0);
    CHECK(m->shape[0].radius == 3.0);
    CHECK_EQ_INT(m->body[0].shape_count, 2);
    CHECK(perp_scene_run_settings(scene).step == 0.125);
    CHECK_EQ_STR(perp_scene_run_settings(scene).solver, "pgs");
    CHECK_EQ_STR(perp_scene_run_settings(scene).cone, "none");
    CHECK_EQ_INT(perp_scene_record_every(scene), 3);
    CHECK_EQ_STR(perp_scene_name(scene), "quoted");
    CHECK_CONTAINS(perp_scene_text(scene), "\"mass\": 2.5");
    check_round_trip(context, scene);
    perp_scene_destroy(scene);
    CHECK_EQ_INT(c.out, 1);
    perp_context_destroy(context);
}

static void check_override_refused(const char* pointer, const char* value, const char* reason)
{
    const char* text = TOP("\"step\":1,\"solver\":\"lemke\"");
    const perp_override override = {pointer, value};
    check_refused_with(text, strlen(text), PERP_ERROR_INPUT,
                       (const char* const[]){pointer, reason, NULL}, &override, 1);
}

TEST(an_override_that_leads_nowhere_names_its_pointer)
{
    check_override_refused("/bodeis/0/mass", "1",
                           "there is no key 'bodeis': did you mean 'bodies'?");
    check_override_refused("/bodies/1/mass", "1", "the array has 1 items, there is no item '1'");
    check_override_refused("/bodies/0/shapes/1", "1", "('-' appends)");
    check_override_refused("/bodies/01/mass", "1", "there is no item '01'");
    check_override_refused("/bodies/-/mass", "1", "there is no item '-'");
    check_override_refused("/bodies/x", "1", "there is no item 'x'");
    check_override_refused("/solver/tol", "1", "neither an object nor an array");
    check_override_refused("/solver/tol/x", "1", "neither an object nor an array");
    check_override_refused("step", "1", "begins with '/'");
    check_override_refused("", "1", "begins with '/'");
    check_override_refused("/a~2b/x", "1", "not a JSON pointer");
    check_override_refused("/bodies/0/mass", "-1", "must be > 0, got -1");
    check_override_refused("/bodies/0/mass", "heavy", "must be a number, got a string");
    check_override_refused("/bodies/0/mass", "", "must be a number, got a string");
    check_override_refused("/bodies/0/mass", "nan", "must be a finite number, got 'nan'");
    check_override_refused("/bodies/0/mass", "1e400", "must be a finite number, got '1e400'");
    check_override_refused("/bodies/0/mass", "much", "must be a number, got a string");
    check_override_refused("/bodies/0/mass", "[[[[", "must be a number, got a string");
    check_override_refused("/step", "{\"error\":", "must be a number, got a string");
}

TEST(a_new_key_by_override_must_be_a_known_one)
{
    const char* text = TOP("\"step\":1");
    const perp_override override = {"/bodies/0/mas", "1"};
    check_refused_with(text, strlen(text), PERP_ERROR_INPUT,
                       (const char* const[]){"/bodies/0: unknown key 'mas'", NULL}, &override, 1);
    const perp_override escaped = {"/a~1b~0c", "1"};
    check_refused_with(text, strlen(text), PERP_ERROR_INPUT,
                       (const char* const[]){"unknown key 'a/b~c'", NULL}, &escaped, 1);
}

TEST(the_text_of_a_scene_names_its_contact_model)
{
    counter c = {0};
    perp_context* context = open_counted(&c);
    perp_scene* scene = parse(context, "{\"bodies\": [{\"name\": \"b\", \"mass\": 1}]}");
    REQUIRE(scene != NULL);
    char expected[64];
    snprintf(expected, sizeof expected, "\"contact\": \"%s\"",
             perp_scene_run_settings(scene).contact);
    CHECK(strstr(perp_scene_text(scene), expected) != NULL);
    perp_scene_destroy(scene);
    perp_context_destroy(context);
}

/* The text of a recording from before scenes named their contact model and the directions of their joints. */
TEST(a_text_that_names_no_contact_model_and_no_direction_is_given_them)
{
    static const struct {
        const char *text, *named; /* NULL: stays */
    } is[] = {{"{\"step\": 1}", "{\"contact\": \"lnc\", \"step\": 1}"},
              {" {\"bodies\": [{\"name\": \"contact\"}]}",
               "{\"contact\": \"lnc\", \"bodies\": [{\"name\": \"contact\"}]}"},
              {"{}", "{\"contact\": \"lnc\"}"},
              {"{\"contact\": \"peg\"}", NULL},
              {"{\"contact\": \"peg\", \"joints\": []}",
               "{\"joint_direction\": \"start\", \"contact\": \"peg\", \"joints\": []}"},
              {"{\"joints\": []}",
               "{\"contact\": \"lnc\", \"joint_direction\": \"start\", \"joints\": []}"},
              {"{\"contact\": \"peg\", \"joints\": [], \"joint_direction\": \"auto\"}", NULL},
              {"{\"contact\": \"peg\", \"bodies\": [{\"shapes\": [{\"type\": \"capsule\"}]}]}",
               "{\"contact_direction\": \"start\", \"contact\": \"peg\", \"bodies\": [{\"shapes\": "
               "[{\"type\": \"capsule\"}]}]}"},
              {"{\"contact\": \"peg\", \"contact_direction\": \"auto\", \"bodies\": "
               "[{\"shapes\": [{\"type\": \"capsule\"}]}]}",
               NULL},
              {"{\"contact\": \"peg\", \"bodies\": [{\"shapes\": [{\"type\": \"box\"}]}]}", NULL},
              {"[{}]", NULL},
              {"{\"step\": ", NULL},
              {"", NULL}};
    counter c = {0};
    perp_context* context = open_counted(&c);
    for (size_t i = 0; i < sizeof is / sizeof is[0]; ++i) {
        char* named = NULL;
        CHECK_OK(perpi_json_name_defaults(context, is[i].text, strlen(is[i].text), "lnc", "start",
                                          &named));
        CHECK((named == NULL) == (is[i].named == NULL));
        if (named != NULL && is[i].named != NULL) {
            CHECK_EQ_STR(named, is[i].named);
        }
        perpi_free(context, named);
    }
    perp_context_destroy(context);
}
