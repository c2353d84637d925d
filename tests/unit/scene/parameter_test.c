/* Parameters of a scene: numbers that are expressions, setting and building again. */
#include "scene_support.h"

#include "perp/perp.h"
#include "support/scene_sim.h"

#define GROUND "{'name': 'g', 'type': 'static', 'shapes': [{'type': 'plane', 'normal': [0, 0, 1]}]}"

/* Every kind of number, as an expression; with the numbers themselves it must be the same scene. */
static const char expressions[] =
    "{'parameters': {'a': 2, 'b': 'a/4', 'c': 'sqrt(a*8) - 3', 'mu': 0.25}, 'gravity': [0, 0, "
    "'-5*a'],"
    " 'step': 'b/50', 'duration': 'b', 'tolerance': '1e-9*c', 'margin': 'b/10',"
    " 'friction': {'default': 'mu', 'pairs': [{'a': 'g', 'b': 's', 'mu': 'mu*2'}]},"
    " 'record': {'every': 'a'}, 'solver': {'type': 'pgs', 'max_iter': '100*a'},"
    " 'bodies': [" GROUND ","
    "  {'name': 's', 'mass': 'a', 'inertia': ['b', 'b', 'b'], 'position': [0, 0, 'a - 1'],"
    "   'axis_angle': [0, 0, 1, 'pi/a'], 'velocity': ['a', 0, '-b'], 'angular_velocity': [0, 'b', "
    "0],"
    "   'friction': 'mu', 'color': ['b', 0, 1], 'gravity': [0, 0, '-a'],"
    "   'shapes': [{'type': 'sphere', 'radius': 'b + b'}]},"
    "  {'name': 'k', 'type': 'kinematic', 'position': [9, 0, 1],"
    "   'motion': {'position': ['9 + b*sin(a*t)', 'b - 0.5', 1]},"
    "   'shapes': [{'type': 'box', 'size': ['b', 1, 1]}]},"
    "  {'name': 'i', 'mass': 1, 'position': [4, 4, 4], 'inertia': [['b', 0, 0], [0, 'b', 0],"
    "   [0, 0, 'b']], 'shapes': [{'type': 'polyhedron', 'vertices': [['-b', 0, 0], ['b', 0, 0],"
    "   [0, 'b', 0], [0, 0, 'b']]}]}],"
    " 'joints': [{'name': 'j', 'type': 'revolute', 'a': 'world', 'b': 'i', 'at': [4, 4, '2*a'],"
    "   'axis': [0, 0, 'a'], 'limits': ['-b', 'a'], 'damping': 'b',"
    "   'motor': {'type': 'velocity', 'target': 'c*t', 'max_effort': 'a'}}],"
    " 'forces': [{'type': 'wrench', 'body': 's', 'force': ['a', 'b*t', 0]},"
    "  {'type': 'spring', 'a': 's', 'b': 'i', 'stiffness': '10*a', 'damping': 'b', 'rest': 'a'}],"
    " 'controllers': [{'type': 'pd', 'joint': 'j', 'kp': 'a', 'kd': 'b', 'target': 'c'}]}";
static const char numbers[] =
    "{'gravity': [0, 0, -10],"
    " 'step': 0.01, 'duration': 0.5, 'tolerance': 1e-9, 'margin': 0.05,"
    " 'friction': {'default': 0.25, 'pairs': [{'a': 'g', 'b': 's', 'mu': 0.5}]},"
    " 'record': {'every': 2}, 'solver': {'type': 'pgs', 'max_iter': 200},"
    " 'bodies': [" GROUND ","
    "  {'name': 's', 'mass': 2, 'inertia': [0.5, 0.5, 0.5], 'position': [0, 0, 1],"
    "   'axis_angle': [0, 0, 1, 1.5707963267948966], 'velocity': [2, 0, -0.5],"
    "   'angular_velocity': [0, 0.5, 0],"
    "   'friction': 0.25, 'color': [0.5, 0, 1], 'gravity': [0, 0, -2],"
    "   'shapes': [{'type': 'sphere', 'radius': 1}]},"
    "  {'name': 'k', 'type': 'kinematic', 'position': [9, 0, 1],"
    "   'motion': {'position': ['9 + (0.5)*sin((2.0)*t)', 0.0, 1]},"
    "   'shapes': [{'type': 'box', 'size': [0.5, 1, 1]}]},"
    "  {'name': 'i', 'mass': 1, 'position': [4, 4, 4], 'inertia': [[0.5, 0, 0], [0, 0.5, 0],"
    "   [0, 0, 0.5]], 'shapes': [{'type': 'polyhedron', 'vertices': [[-0.5, 0, 0], [0.5, 0, 0],"
    "   [0, 0.5, 0], [0, 0, 0.5]]}]}],"
    " 'joints': [{'name': 'j', 'type': 'revolute', 'a': 'world', 'b': 'i', 'at': [4, 4, 4],"
    "   'axis': [0, 0, 2], 'limits': [-0.5, 2], 'damping': 0.5,"
    "   'motor': {'type': 'velocity', 'target': '(1.0)*t', 'max_effort': 2}}],"
    " 'forces': [{'type': 'wrench', 'body': 's', 'force': [2, '(0.5)*t', 0]},"
    "  {'type': 'spring', 'a': 's', 'b': 'i', 'stiffness': 20, 'damping': 0.5, 'rest': 2}],"
    " 'controllers': [{'type': 'pd', 'joint': 'j', 'kp': 2, 'kd': 0.5, 'target': 1}]}";

/* The model alone, as a scene: without the parameters. */
static char* model_text(perp_context* context, const perp_scene* scene)
{
    perp_sim_def def = perp_sim_def_from_scene(scene);
    perp_scene* of_model = NULL;
    def.parameter_count = 0;
    CHECK_OK(perp_scene_from_model(context, perp_scene_model(scene), &def,
                                   perp_scene_record_every(scene), &of_model));
    char* text = of_model != NULL ? strdup(perp_scene_text(of_model)) : strdup("?");
    perp_scene_destroy(of_model);
    return text;
}

TEST(any_number_may_be_an_expression_of_parameters)
{
    perp_context* context = NULL;
    perp_scene *a = NULL, *b = NULL, *again = NULL;
    CHECK_OK(perp_context_create(NULL, &context));
    CHECK_OK(scene_parse(context, expressions, "a", &a));
    CHECK_OK(scene_parse(context, numbers, "a", &b));
    if (a == NULL || b == NULL) {
        TEST_PRINT("%s", perp_context_error(context));
        return;
    }
    char *x = model_text(context, a), *y = model_text(context, b);
    CHECK_EQ_STR(x, y);
    free(x);
    /* the text keeps the expressions, and is the same scene again */
    CHECK_CONTAINS(perp_scene_text(a), "\"radius\": \"b + b\"");
    CHECK_OK(perp_scene_parse(context, perp_scene_text(a), strlen(perp_scene_text(a)), "a", NULL, 0,
                              &again));
    x = model_text(context, again);
    CHECK_EQ_STR(x, y);
    free(x);
    free(y);
    CHECK_EQ_INT(perp_scene_parameter_count(a), 4);
    CHECK(perp_scene_parameter(a, perp_scene_parameter_find(a, "b")).value == 0.5);
    CHECK_EQ_INT(perp_scene_parameter_find(a, "d"), -1);
    perp_scene_destroy(a);
    perp_scene_destroy(b);
    perp_scene_destroy(again);
    perp_context_destroy(context);
}

/* What a scene gives after `set` and rebuild, against reading it with the same overrides. */
static void check_like_read(const char* text, const perp_override* set, int32_t count)
{
    char quoted[8192];
    size_t n = 0;
    for (; text[n] != '\0'; ++n) {
        quoted[n] = (char)(text[n] == '\'' ? '"' : text[n]);
    }
    quoted[n] = '\0';
    perp_context* context = NULL;
    perp_scene *changed = NULL, *read = NULL;
    CHECK_OK(perp_context_create(NULL, &context));
    CHECK_OK(perp_scene_parse(context, quoted, n, "a", NULL, 0, &changed));
    CHECK_OK(perp_scene_parse(context, quoted, n, "a", set, count, &read));
    for (int32_t i = 0; changed != NULL && i < count; ++i) {
        char* end = NULL;
        const double x = strtod(set[i].value, &end);
        CHECK_OK(*end == '\0' ? perp_scene_set_number(changed, set[i].pointer, x)
                              : perp_scene_set_string(changed, set[i].pointer, set[i].value));
    }
    if (changed == NULL || read == NULL) {
        TEST_PRINT("%s", perp_context_error(context));
        return;
    }
    CHECK_OK(perp_scene_rebuild(changed));
    char *x = model_text(context, changed), *y = model_text(context, read);
    CHECK_EQ_STR(x, y);
    perp_scene* again = NULL; /* and its text is what it says */
    CHECK_OK(perp_scene_parse(context, perp_scene_text(changed), strlen(perp_scene_text(changed)),
                              "a", NULL, 0, &again));
    free(x);
    x = model_text(context, again);
    CHECK_EQ_STR(x, y);
    free(x);
    free(y);
    perp_scene_destroy(again);
    perp_scene_destroy(changed);
    perp_scene_destroy(read);
    perp_context_destroy(context);
}

TEST(a_scene_that_is_set_and_built_again_is_the_one_read_with_the_same_values)
{
    const perp_override one[] = {{"a", "3"}};
    const perp_override several[] = {{"a", "3"},
                                     {"/bodies/1/mass", "7"},
                                     {"mu", "0.5"},
                                     {"/solver", "lemke"},
                                     {"b", "a - 2.5"},
                                     {"/friction/pairs/0/mu", "mu"},
                                     {"/bodies/1/shapes/0/radius", "0.75"}};
    check_like_read(expressions, one, 1);
    check_like_read(expressions, several, 7);
    const perp_override plain[] = {{"/bodies/1/mass", "7"}, {"/name", "other"}, {"/step", "0.02"}};
    check_like_read(numbers, plain, 3);
}

TEST(a_rebuild_that_fails_keeps_the_scene_as_it_was)
{
    counter c = {0};
    perp_context* context = open_counted(&c);
    perp_scene* scene = NULL;
    CHECK_OK(scene_parse(context, expressions, "a", &scene));
    CHECK_OK(perp_scene_set_number(scene, "a", -2.0));
    CHECK_EQ_INT(perp_scene_rebuild(scene), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context), "a: /");
    CHECK_EQ_STR(perp_sim_def_from_scene(scene).solver, "pgs");
    CHECK_NEAR(perp_model_body_info(perp_scene_model(scene), 1).mass, 2.0, 0.0);
    CHECK_OK(perp_scene_set_string(scene, "/solver", "lemke"));
    CHECK_EQ_STR(perp_sim_def_from_scene(scene).solver, "pgs"); /* its text is still there */
    CHECK_EQ_INT(perp_scene_rebuild(scene), PERP_ERROR_INPUT);
    CHECK_OK(perp_scene_set_number(scene, "a", 3.0));
    CHECK_OK(perp_scene_rebuild(scene));
    CHECK_NEAR(perp_model_body_info(perp_scene_model(scene), 1).mass, 3.0, 0.0);
    CHECK_EQ_STR(perp_sim_def_from_scene(scene).solver, "lemke");

    CHECK_EQ_INT(perp_scene_set_number(scene, "aa", 1.0), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context), "no parameter 'aa': did you mean 'a'?");
    CHECK_EQ_INT(perp_scene_set_number(scene, "/bodies/9/mass", 1.0), PERP_ERROR_INPUT);
    CHECK_EQ_INT(perp_scene_set_number(scene, "a", NAN), PERP_ERROR_INPUT);
    CHECK_EQ_INT(perp_scene_set_number(scene, "", 1.0), PERP_ERROR_INPUT);
    CHECK_OK(perp_scene_rebuild(scene));
    CHECK_OK(
        perp_scene_set_number(scene, "/bodies/1/masss", 1.0)); /* a new key: the reader sees it */
    CHECK_EQ_INT(perp_scene_rebuild(scene), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context), "unknown key 'masss': did you mean 'mass'?");

    /* memory does not grow with the number of rebuilds */
    perp_scene_destroy(scene);
    CHECK_OK(scene_parse(context, expressions, "a", &scene));
    long out = 0;
    for (int i = 0; i < 50; ++i) {
        CHECK_OK(perp_scene_set_number(scene, "a", 2.0 + i % 3));
        CHECK_OK(perp_scene_rebuild(scene));
        CHECK(i < 2 || c.out == out);
        out = c.out;
    }
    perp_scene_destroy(scene);
    CHECK_EQ_INT(c.out, 1);
    perp_context_destroy(context);
}

TEST(a_rebuild_without_memory_fails_and_leaks_nothing)
{
    for (long n = 1; n < 3000; ++n) {
        counter c = {0};
        perp_context* context = open_counted(&c);
        perp_scene* scene = NULL;
        CHECK_OK(scene_parse(context, expressions, "a", &scene));
        CHECK_OK(perp_scene_set_number(scene, "a", 4.0));
        c.fail_from = c.requests + n;
        const perp_status status = perp_scene_rebuild(scene);
        const perp_sim_def def = perp_sim_def_from_scene(scene);
        CHECK(status == PERP_OK || status == PERP_ERROR_MEMORY);
        CHECK_NEAR(def.duration, status == PERP_OK ? 1.0 : 0.5, 0.0);
        c.fail_from = 0;
        CHECK(perp_scene_text(scene) != NULL);
        perp_scene_destroy(scene);
        CHECK_EQ_INT(c.out, 1);
        perp_context_destroy(context);
        if (status == PERP_OK) {
            CHECK_AT_LEAST((double)n, 20.0);
            return;
        }
    }
    CHECK(false); /* it never succeeded */
}

TEST(a_parameter_that_nothing_uses_is_known)
{
    perp_context* context = NULL;
    perp_scene* scene = NULL;
    CHECK_OK(perp_context_create(NULL, &context));
    CHECK_OK(scene_parse(
        context,
        "{'parameters': {'m': 1, 'unused': 'chain + 1', 'chain': 2, 'half': 'm2/2', 'm2': 3,"
        " 'stop': 4, 'meant': 5, 'wave': 6}, 'bodies': [{'name': 'b', 'mass': 'm',"
        " 'inertia': ['half', 1.5, 1.5]}], 'forces': [{'type': 'wrench', 'body': 'b',"
        " 'force': ['sin(wave*t)', 0, 0]}], 'measures': {'x': 'b.speed*meant'},"
        " 'stop': [{'name': 's', 'when': 't > stop'}]}",
        "a", &scene));
    if (scene == NULL) {
        TEST_PRINT("%s", perp_context_error(context));
        return;
    }
    static const char* const unused[] = {"unused", "chain"};
    for (int32_t i = 0; i < perp_scene_parameter_count(scene); ++i) {
        const char* name = perp_scene_parameter(scene, i).name;
        const bool expected = strcmp(name, unused[0]) != 0 && strcmp(name, unused[1]) != 0;
        if (perp_scene_parameter_used(scene, i) != expected) {
            TEST_PRINT("%s", name);
        }
        CHECK(perp_scene_parameter_used(scene, i) == expected);
    }
    perp_scene_destroy(scene);
    perp_context_destroy(context);
}

#define SCENE(rest) "{\"bodies\":[{\"name\":\"b\",\"mass\":1,\"inertia\":[1,1,1]}]," rest "}"

TEST(bad_parameters_measures_and_stops_are_refused_with_their_place)
{
    CHECK_REFUSED(SCENE("\"parameters\": []"), "/parameters: must be an object of names");
    CHECK_REFUSED(SCENE("\"parameters\": {\"a\": true}"), "/parameters/a: must be a number, or");
    CHECK_REFUSED(SCENE("\"parameters\": {\"t\": 1}"), "/parameters/t: ", "choose another");
    CHECK_REFUSED(SCENE("\"parameters\": {\"pi\": 1}"), "/parameters/pi: ", "choose another");
    CHECK_REFUSED(SCENE("\"parameters\": {\"e\": 1}"), "/parameters/e: ", "choose another");
    CHECK_REFUSED(SCENE("\"parameters\": {\"min\": 1}"), "/parameters/min: ", "choose another");
    CHECK_REFUSED(SCENE("\"parameters\": {\"and\": 1}"), "/parameters/and: ", "choose another");
    CHECK_REFUSED(SCENE("\"parameters\": {\"2a\": 1}"), "/parameters/2a: must be called by");
    CHECK_REFUSED(SCENE("\"parameters\": {\"\": 1}"), "/parameters/: must be called by");
    CHECK_REFUSED(SCENE("\"parameters\": {\"a\": \"b\", \"b\": \"c\", \"c\": \"a + 1\"}"),
                  "/parameters/c: depends on itself: 'a'");
    CHECK_REFUSED(SCENE("\"parameters\": {\"a\": \"2*b\", \"b\": \"1/0\"}"),
                  "/parameters/a: must be a finite number, got inf");
    CHECK_REFUSED(SCENE("\"parameters\": {\"a\": \"b\", \"b\": \"t\"}"),
                  "/parameters/b: expression 't': ", "same at all times");
    CHECK_REFUSED(SCENE("\"parameters\": {\"long\": 1}, \"step\": \"0.1*logn\""),
                  "/step: must be a number, got a string: ", "'logn' (did you mean 'long'?)");
    CHECK_REFUSED(SCENE("\"step\": \"0.1*t\""), "/step: must be a number", "at column 5");
    CHECK_REFUSED(SCENE("\"parameters\": {\"a\": 0}, \"step\": \"1/a\""),
                  "/step: must be a number, got a string: '1/a' is inf");
    CHECK_REFUSED(SCENE("\"measures\": []"), "/measures: must be an object");
    CHECK_REFUSED(SCENE("\"measures\": {\"x\": 3}"), "/measures/x: must be an expression");
    CHECK_REFUSED(SCENE("\"measures\": {\"x\": {}}"), "/measures/x: must have one of",
                  "got 0 of them");
    CHECK_REFUSED(SCENE("\"measures\": {\"x\": {\"maximum\": \"1\"}}"),
                  "/measures/x: unknown key 'maximum'");
    CHECK_REFUSED(SCENE("\"measures\": {\"x\": {\"max\": \"b.mass\"}}"),
                  "/measures/x/max: expression 'b.mass': no quantity or parameter 'b.mass'");
    CHECK_REFUSED(SCENE("\"measures\": {\"x\": \"b.position\"}"), "/measures/x: ", "3 numbers",
                  "b.position.x");
    CHECK_REFUSED(SCENE("\"measures\": {\"x\": \"b.sped\"}"), "did you mean 'b.speed'?");
    CHECK_REFUSED(SCENE("\"measures\": {\"\": \"1\"}"), "/measures/: the name must not be empty");
    CHECK_REFUSED(SCENE("\"stop\": {}"), "/stop: must be an array");
    CHECK_REFUSED(SCENE("\"stop\": [{\"name\": \"a\"}]"), "/stop/0: missing key 'when'");
    CHECK_REFUSED(SCENE("\"stop\": [{\"name\": \"a\", \"when\": \"1 >\"}]"),
                  "/stop/0/when: expression '1 >'");
    CHECK_REFUSED(SCENE("\"stop\": [{\"name\": \"end\", \"when\": \"1\"}]"), "/stop/0/name: 'end'");
    CHECK_REFUSED(
        SCENE("\"stop\": [{\"name\": \"a\", \"when\": \"1\"}, {\"name\": \"a\", \"when\": \"0\"}]"),
        "/stop/1/name: 'a' is there twice");
}

/* A tetrahedron with edges of this length along the axes. */
static void write_mesh(const char* path, double edge)
{
    FILE* file = fopen(path, "w");
    CHECK(file != NULL);
    fprintf(file, "v 0 0 0\nv %g 0 0\nv 0 %g 0\nv 0 0 %g\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n",
            edge, edge, edge);
    (void)fclose(file);
}

static double mass_of(const perp_scene* scene)
{
    return perp_model_body_info(perp_scene_model(scene), 0).mass;
}

/* Mass = density edge^3 / 6. */
TEST(a_mesh_file_and_its_scale_can_be_set)
{
    write_mesh("one.obj", 1.0);
    write_mesh("two.obj", 2.0);
    perp_context* context = NULL;
    perp_scene *scene = NULL, *again = NULL;
    CHECK_OK(perp_context_create(NULL, &context));
    CHECK_OK(scene_parse(
        context,
        "{'parameters': {'s': 1, 'd': 6, 'v': 1}, 'bodies': [{'name': 'b', 'density': 'd',"
        " 'velocity': ['v', 0, 0], 'shapes': [{'type': 'mesh', 'file': 'one.obj',"
        " 'scale': 's'}]}]}",
        "a.json", &scene));
    if (scene == NULL) {
        TEST_PRINT("%s", perp_context_error(context));
        return;
    }
    CHECK_NEAR(mass_of(scene), 1.0, 1e-12);
    CHECK(perp_scene_parameter_used(scene, 0));
    CHECK_OK(perp_scene_set_string(scene, "/bodies/0/shapes/0/file", "two.obj"));
    CHECK_OK(perp_scene_rebuild(scene));
    CHECK_NEAR(mass_of(scene), 8.0, 1e-12);
    CHECK_OK(perp_scene_set_number(scene, "s", 0.5));
    CHECK_OK(perp_scene_set_number(scene, "/bodies/0/density", 12.0));
    CHECK_OK(perp_scene_rebuild(scene));
    CHECK_NEAR(mass_of(scene), 2.0, 1e-12);
    /* the text is complete without the file */
    CHECK_CONTAINS(perp_scene_text(scene), "\"vertices\"");
    CHECK_OK(perp_scene_parse(context, perp_scene_text(scene), strlen(perp_scene_text(scene)), "b",
                              NULL, 0, &again));
    CHECK_NEAR(mass_of(again), 2.0, 1e-12);
    perp_scene_destroy(again);
    CHECK_OK(perp_scene_set_string(scene, "/bodies/0/shapes/0/file", "none.obj"));
    CHECK_EQ_INT(perp_scene_rebuild(scene), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context), "/bodies/0/shapes/0/file: ");
    CHECK_NEAR(mass_of(scene), 2.0, 1e-12);
    perp_scene_destroy(scene);
    perp_context_destroy(context);
    (void)remove("one.obj");
    (void)remove("two.obj");
}
