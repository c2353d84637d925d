/* Invalid scenes: the status, the place and the reason in the message, and no memory leaked. */
#include "scene_support.h"

#include <time.h>

/* ---- files ------------------------------------------------------------------------------------ */

static void check_file_refused(const char* path, const char* reason)
{
    counter c = {0};
    perp_context* context = open_counted(&c);
    perp_scene* scene = NULL;
    CHECK_EQ_INT(perp_scene_load(context, path, NULL, 0, &scene), PERP_ERROR_INPUT);
    CHECK(scene == NULL);
    CHECK_CONTAINS(perp_context_error(context), path);
    CHECK_CONTAINS(perp_context_error(context), reason);
    CHECK_EQ_INT(c.out, 1);
    perp_context_destroy(context);
}

TEST(a_missing_file_and_a_directory_are_named)
{
    check_file_refused("no-such-scene.json", "cannot open: No such file or directory");
    check_file_refused(".", "Is a directory");
    check_file_refused("", "cannot open");
}

TEST(a_file_of_100_megabytes_is_refused_quickly)
{
    const char* path = "large.json";
    FILE* file = fopen(path, "wb");
    REQUIRE(file != NULL);
    CHECK(fseek(file, 100 * 1000 * 1000, SEEK_SET) == 0); /* a sparse file: it uses no disk space */
    CHECK(fputc('x', file) == 'x');
    CHECK(fclose(file) == 0);
    const clock_t start = clock();
    check_file_refused(path, "file too large: the limit is 64 MB");
    const double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    TEST_PRINT("refused in %.4f s", seconds);
    CHECK_AT_MOST(seconds, 0.5);
    remove(path);
}

TEST(a_text_of_100_megabytes_in_memory_is_refused_too)
{
    const size_t size = 100 * 1000 * 1000;
    char* text = malloc(size);
    REQUIRE(text != NULL);
    memset(text, ' ', size);
    check_refused_with(text, size, PERP_ERROR_INPUT, (const char* const[]){"file too large", NULL},
                       NULL, 0);
    free(text);
}

/* ---- text ------------------------------------------------------------------------------------- */

TEST(broken_json_is_reported_with_line_and_column)
{
    CHECK_REFUSED("{\n  \"name\": \"x\",\n  \"step\" 0.1\n}", "bad.json: line 3, column ");
    CHECK_REFUSED("{\"step\": }", "line 1, column 10: ");
    CHECK_REFUSED("{\"bodies\": [", "line 1, column ");
    CHECK_REFUSED("{} x", "line 1, column 4: ");
    CHECK_REFUSED("{'a': 1}", "line 1, column ");
    CHECK_REFUSED("{\"a\": 01}", "line 1, column ");
    CHECK_REFUSED("{\"a\": 1,}", "line 1, column ");
    CHECK_REFUSED("\n\n{\"name\": \"two\nlines\"}", "line 3, column ");
}

TEST(comments_do_not_move_line_and_column)
{
    CHECK_REFUSED("// first\n{ // second \"{[\n \"step\": // third\n   x }", "line 4, column 4");
    /* slashes inside a string are no comment: this one is complete and reaches the reader */
    CHECK_REFUSED("{\"name\": \"http://x\", \"bodys\": []}", "unknown key 'bodys'");
    CHECK_REFUSED("{\"name\": \"a\\\"//\", \"bodys\": []}", "unknown key 'bodys'");
    CHECK_REFUSED("{ /* no */ }", "line 1, column ");
    CHECK_REFUSED("{\"bodies\": []} // end", "/bodies: must hold at least one body");
    CHECK_REFUSED("//", "is empty");
}

TEST(nan_and_infinity_do_not_exist_in_json)
{
    CHECK_REFUSED(BODY("\"mass\": NaN"), "line 1, column ", "NaN");
    CHECK_REFUSED(BODY("\"mass\": Infinity"), "line 1, column ");
    CHECK_REFUSED(BODY("\"mass\": 1e400"), "line 1, column ", "overflow");
    CHECK_REFUSED(BODY("\"mass\": -1e999"), "line 1, column ");
    CHECK_REFUSED(BODY("\"mass\": 99999999999999999999999"), "line 1, column ");
    CHECK_REFUSED(BODY("\"mass\": \"0/0\""), "/bodies/1/mass: must be a number, got a string");
}

TEST(an_empty_text_a_byte_order_mark_and_other_roots_are_refused)
{
    CHECK_REFUSED("", "is empty");
    CHECK_REFUSED(" \n\t ", "is empty");
    CHECK_REFUSED("\xef\xbb\xbf{}", "line 1, column 1: ", "byte order mark");
    CHECK_REFUSED("[]", "bad.json: must be an object, got an array");
    CHECK_REFUSED("3", "bad.json: must be an object, got a number");
    CHECK_REFUSED("null", "must be an object, got null");
    CHECK_REFUSED("\"x\"", "must be an object, got a string");
    check_refused_with("{}\0{}", 5, PERP_ERROR_INPUT, (const char* const[]){"line 1", NULL}, NULL,
                       0);
    CHECK_REFUSED("{\"name\": \"\xff\xfe\"}", "line 1", "decode byte 0xff");
    CHECK_REFUSED("{\"name\": \"\\u0000\", \"bodies\": []}", "line 1");
}

TEST(deep_nesting_is_refused_before_it_can_hurt)
{
    const size_t depth = 100000;
    char* text = malloc(2 * depth + 1);
    REQUIRE(text != NULL);
    memset(text, '[', depth);
    memset(text + depth, ']', depth);
    text[2 * depth] = '\0';
    CHECK_REFUSED(text, "line 1, column 101: nested deeper than 100 levels");
    for (size_t i = 0; i < depth; i += 5) {
        memcpy(text + i, "{\"a\":", 5);
    }
    CHECK_REFUSED(text, "nested deeper than 100 levels");
    free(text);
    /* 100 levels are fine as JSON: refused only because they are no scene */
    char deep[256];
    memset(deep, '[', 100);
    memset(deep + 100, ']', 100);
    deep[200] = '\0';
    CHECK_REFUSED(deep, "must be an object, got an array");
}

TEST(random_bytes_are_refused)
{
    uint64_t state = 42;
    for (int round = 0; round < 300; ++round) {
        char text[200];
        for (size_t i = 0; i < sizeof text; ++i) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            text[i] = (char)(state >> 56);
        }
        check_refused_with(text, sizeof text, PERP_ERROR_INPUT, (const char* const[]){"", NULL},
                           NULL, 0);
    }
}

/* ---- keys ------------------------------------------------------------------------------------- */

TEST(an_unknown_key_is_refused_with_the_nearest_one)
{
    CHECK_REFUSED(BODY("\"masss\": 1"), "/bodies/1: unknown key 'masss': did you mean 'mass'?");
    CHECK_REFUSED(TOP("\"gravty\": [0,0,1]"), "unknown key 'gravty': did you mean 'gravity'?");
    CHECK_REFUSED(TOP("\"qqqqqq\": 1"), "unknown key 'qqqqqq': known here are name, ");
    CHECK_REFUSED(TOP("\"friction\": {\"dflt\": 1}"), "/friction: unknown key 'dflt'");
    CHECK_REFUSED(SHAPE("\"type\":\"sphere\",\"radius\":1,\"size\":[1,1,1]"),
                  "/bodies/1/shapes/0: unknown key 'size'");
    CHECK_REFUSED(TOP("\"record\": {\"ever\": 1}"), "/record: unknown key 'ever'");
    CHECK_REFUSED(TOP("\"forces\": [{\"type\":\"wrench\",\"body\":\"b\",\"forc\":[0,0,0]}]"),
                  "/forces/0: unknown key 'forc': did you mean 'force'?");
}

TEST(a_duplicate_key_is_refused_with_its_line)
{
    CHECK_REFUSED("{\n\"name\": \"a\",\n\"name\": \"b\"}", "line 3, column ", "duplicate", "name");
}

TEST(a_missing_key_is_named)
{
    CHECK_REFUSED("{}", "bad.json: missing key 'bodies'");
    CHECK_REFUSED("{\"bodies\": []}", "/bodies: must hold at least one body");
    CHECK_REFUSED("{\"bodies\": [{}]}", "/bodies/0: missing key 'name'");
    CHECK_REFUSED(SHAPE("\"radius\":1"), "/bodies/1/shapes/0: missing key 'type'");
    CHECK_REFUSED(SHAPE("\"type\":\"sphere\""), "/bodies/1/shapes/0: missing key 'radius'");
    CHECK_REFUSED(SHAPE("\"type\":\"capsule\",\"radius\":1"), "missing key 'length'");
    CHECK_REFUSED(TOP("\"forces\": [{\"type\":\"wrench\"}]"), "/forces/0: missing key 'body'");
    CHECK_REFUSED(TOP("\"forces\": [{}]"), "/forces/0: missing key 'type'");
    CHECK_REFUSED(TOP("\"friction\": {\"pairs\": [{\"a\":\"b\"}]}"),
                  "/friction/pairs/0: missing key 'b'");
    CHECK_REFUSED(TOP("\"solver\": {}"), "/solver: missing key 'type'");
}

TEST(a_wrong_type_says_what_would_be_right)
{
    CHECK_REFUSED(BODY("\"mass\": \"one\""), "/bodies/1/mass: must be a number, got a string");
    CHECK_REFUSED(BODY("\"mass\": null"), "/bodies/1/mass: must be a number, got null");
    CHECK_REFUSED(BODY("\"mass\": [1]"), "/bodies/1/mass: must be a number, got an array");
    CHECK_REFUSED(BODY("\"mass\": true"), "/bodies/1/mass: must be a number, got true");
    CHECK_REFUSED("{\"bodies\": {}}", "/bodies: must be an array, got an object");
    CHECK_REFUSED("{\"bodies\": [1]}", "/bodies/0: must be an object, got a number");
    CHECK_REFUSED("{\"bodies\": [{\"name\": 1}]}",
                  "/bodies/0/name: must be a string, got a number");
    CHECK_REFUSED("{\"bodies\": [{\"name\": \"\"}]}", "/bodies/0/name: must not be empty");
    CHECK_REFUSED(BODY("\"shapes\": {}"), "/bodies/1/shapes: must be an array, got an object");
    CHECK_REFUSED(BODY("\"shapes\": [3]"), "/bodies/1/shapes/0: must be an object, got a number");
    CHECK_REFUSED(BODY("\"position\": [0,\"t\",0]"),
                  "/bodies/1/position/1: must be a number, got a string");
    CHECK_REFUSED(BODY("\"position\": 1"),
                  "/bodies/1/position: must be an array of 3 numbers, got a number");
    CHECK_REFUSED(BODY("\"motion\": 1"), "/bodies/1/motion: must be an object, got a number");
    CHECK_REFUSED(BODY("\"type\":\"kinematic\",\"motion\": {\"position\":[true,0,0]}"),
                  "/bodies/1/motion/position/0: must be a number, an expression in t or",
                  "got true");
    CHECK_REFUSED(BODY("\"collides_with\": \"g\""), "/bodies/1/collides_with: must be an array");
    CHECK_REFUSED(BODY("\"mass\":1,\"collides_with\": [1]"),
                  "/bodies/1/collides_with/0: must be the name");
    CHECK_REFUSED(TOP("\"dimension\": 4"), "/dimension: must be 2 or 3, got 4");
    CHECK_REFUSED(TOP("\"dimension\": 2.5"), "/dimension: must be 2 or 3, got 2.5");
    CHECK_REFUSED(TOP("\"solver\": 3"), "/solver: must be a name or an object");
    CHECK_REFUSED(TOP("\"solver\": {\"type\":\"lemke\",\"tol\":\"x\"}"),
                  "/solver/tol: must be a number, true or false, got a string");
    CHECK_REFUSED(TOP("\"friction\": 0.5"), "/friction: must be an object, got a number");
    CHECK_REFUSED(TOP("\"allow_overlap\": 1"),
                  "/allow_overlap: must be true or false, got a number");
    CHECK_REFUSED(TOP("\"record\": {\"every\": 0}"), "/record/every: must be >= 1, got 0");
    CHECK_REFUSED(TOP("\"name\": 1"), "/name: must be a string");
    CHECK_REFUSED(TOP("\"rotation\": \"cubic\""),
                  "/rotation: must be exponential or linear, got 'cubic'");
    CHECK_REFUSED(TOP("\"forces\": [{\"type\":\"wrench\",\"body\":\"b\",\"frame\":\"moon\"}]"),
                  "/forces/0/frame: must be world or body, got 'moon'");
    CHECK_REFUSED(TOP("\"forces\": [{\"type\":\"wind\"}]"),
                  "/forces/0/type: must be wrench, spring or drag, got 'wind'");
    CHECK_REFUSED(BODY("\"type\": \"fixed\""),
                  "/bodies/1/type: must be static, kinematic or dynamic, got 'fixed'");
    CHECK_REFUSED(BODY("\"color\": \"red\""), "/bodies/1/color: must be \"#rrggbb\"");
    CHECK_REFUSED(BODY("\"color\": \"#12345g\""), "/bodies/1/color: must be \"#rrggbb\"");
    CHECK_REFUSED(BODY("\"color\": [0,0,2]"), "/bodies/1/color: must be between 0 and 1, got 2");
}

TEST(a_vector_of_the_wrong_length_names_the_right_one)
{
    CHECK_REFUSED(BODY("\"position\": [0,0]"),
                  "/bodies/1/position: must be an array of 3 numbers, got 2");
    CHECK_REFUSED(BODY2("\"position\": [0,0,0]"),
                  "/bodies/1/position: must be an array of 2 numbers in a planar scene, got 3");
    CHECK_REFUSED(TOP("\"gravity\": [0,-9.81]"), "/gravity: must be an array of 3 numbers, got 2");
    CHECK_REFUSED(TOP("\"dimension\":2,\"gravity\": [0,0,-9.81]"),
                  "/gravity: must be an array of 2 numbers in a planar scene, got 3");
    CHECK_REFUSED(BODY("\"orientation\": [1,0,0]"),
                  "/bodies/1/orientation: must be an array of 4 numbers, got 3");
    CHECK_REFUSED(BODY("\"inertia\": [1,1]"),
                  "/bodies/1/inertia: must be an array of 3 numbers, got 2");
    CHECK_REFUSED(BODY("\"inertia\": [[1,0,0],[0,1],[0,0,1]]"),
                  "/bodies/1/inertia/1: must be a row of 3 numbers");
    CHECK_REFUSED(BODY("\"inertia\": [[1,0,0],[0,\"one\",0],[0,0,1]]"),
                  "/bodies/1/inertia/1/1: must be a number, got a string");
    CHECK_REFUSED(BODY2("\"inertia\": [1,1,1]"),
                  "/bodies/1/inertia: must be a number, got an array");
    CHECK_REFUSED(BODY2("\"angular_velocity\": [0,0,1]"),
                  "/bodies/1/angular_velocity: must be a number, got an array");
    CHECK_REFUSED(BODY("\"angular_velocity\": 1"),
                  "/bodies/1/angular_velocity: must be an array of 3");
    CHECK_REFUSED(BODY("\"color\": [1,1]"), "/bodies/1/color: must be an array of 3");
}

/* ---- values ----------------------------------------------------------------------------------- */

TEST(masses_and_inertias_that_no_body_has_are_refused)
{
    CHECK_REFUSED(BODY("\"mass\": -1"), "/bodies/1/mass: must be > 0, got -1");
    CHECK_REFUSED(BODY("\"mass\": 0"), "/bodies/1/mass: must be > 0, got 0");
    CHECK_REFUSED(BODY("\"position\": [0,0,0]"), "/bodies/1/mass: ");
    CHECK_REFUSED(BODY("\"mass\":1,\"inertia\":[1,1,3]"),
                  "/bodies/1/inertia: ", "sum of the other two");
    CHECK_REFUSED(BODY("\"mass\":1,\"inertia\":[1,-1,1]"), "/bodies/1/inertia: ");
    CHECK_REFUSED(BODY("\"mass\":1,\"inertia\":[[1,0.5,0],[0,1,0],[0,0,1]]"),
                  "/bodies/1/inertia: ", "symmetric");
    CHECK_REFUSED(BODY2("\"mass\":1,\"inertia\":-1"), "/bodies/1/inertia: must be > 0, got -1");
    CHECK_REFUSED(BODY("\"mass\":1,\"density\":1,\"shapes\":[{\"type\":\"sphere\",\"radius\":1}]"),
                  "/bodies/1/density: ");
    CHECK_REFUSED(BODY("\"density\":-1,\"shapes\":[{\"type\":\"sphere\",\"radius\":1}]"),
                  "/bodies/1/density: must be > 0, got -1");
    CHECK_REFUSED(BODY("\"density\":1"), "/bodies/1/density: ");
}

TEST(geometry_that_is_none_is_refused)
{
    CHECK_REFUSED(BODY("\"type\":\"static\",\"shapes\":[{\"type\":\"plane\",\"normal\":[0,0,0]}]"),
                  "/bodies/1/shapes/0/normal: ");
    CHECK_REFUSED(BODY("\"mass\":1,\"orientation\":[0,0,0,0]"),
                  "/bodies/1/orientation: must be a quaternion [w,x,y,z] of length > 0");
    CHECK_REFUSED(BODY("\"mass\":1,\"axis_angle\":[0,0,0,1]"),
                  "/bodies/1/axis_angle: must have an axis of length > 0");
    CHECK_REFUSED(SHAPE("\"type\":\"sphere\",\"radius\":1,\"orientation\":[0,0,0,0]"),
                  "/bodies/1/shapes/0/orientation: ");
    CHECK_REFUSED(SHAPE("\"type\":\"sphere\",\"radius\":-1"),
                  "/bodies/1/shapes/0/radius: must be > 0, got -1");
    CHECK_REFUSED(SHAPE("\"type\":\"sphere\",\"radius\":0"),
                  "/bodies/1/shapes/0/radius: must be > 0, got 0");
    CHECK_REFUSED(SHAPE("\"type\":\"box\",\"size\":[1,0,1]"), "/bodies/1/shapes/0/size");
    CHECK_REFUSED(SHAPE("\"type\":\"spher\",\"radius\":1"), "/bodies/1/shapes/0/type: ", "'spher'",
                  "'sphere'");
    CHECK_REFUSED(SHAPE("\"type\":\"circle\",\"radius\":1"),
                  "/bodies/1/shapes/0/type: ", "'circle'");
    CHECK_REFUSED(BODY2("\"mass\":1,\"shapes\":[{\"type\":\"sphere\",\"radius\":1}]"),
                  "/bodies/1/shapes/0/type: ", "'sphere'");
    CHECK_REFUSED(SHAPE("\"type\":\"plane\",\"normal\":[0,0,1]"), "/bodies/1/shapes/0: ");
    CHECK_REFUSED(BODY("\"orientation\":[1,0,0,0],\"axis_angle\":[0,0,1,0]"),
                  "/bodies/1/axis_angle: ", "not both");
    CHECK_REFUSED(BODY("\"angle\":1"), "/bodies/1/angle: is for planar scenes");
    CHECK_REFUSED(BODY2("\"orientation\":[1,0,0,0]"),
                  "/bodies/1/orientation: is for spatial scenes: use 'angle'");
    CHECK_REFUSED(BODY("\"mass\":1,\"friction\":-0.5"),
                  "/bodies/1/friction: must be >= 0, got -0.5");
}

TEST(names_must_be_unique_and_known)
{
    CHECK_REFUSED("{\"bodies\":[{\"name\":\"a\",\"mass\":1},{\"name\":\"a\",\"mass\":1}]}",
                  "/bodies/1/name: 'a' is already the name of body 0");
    CHECK_REFUSED(TOP("\"friction\":{\"pairs\":[{\"a\":\"b\",\"b\":\"ghost\",\"mu\":1}]}"),
                  "/friction/pairs/0/b: there is no body named 'ghost'");
    CHECK_REFUSED(TOP("\"friction\":{\"pairs\":[{\"a\":\"b\",\"b\":\"b\",\"mu\":1}]}"),
                  "/friction/pairs/0/b: ");
    CHECK_REFUSED(TOP("\"forces\":[{\"type\":\"wrench\",\"body\":\"ghost\"}]"),
                  "/forces/0/body: there is no body named 'ghost'");
    CHECK_REFUSED(BODY("\"mass\":1,\"collides_with\":[\"g\",\"ghost\"]"),
                  "/bodies/1/collides_with/1: there is no body named 'ghost'");
}

TEST(settings_out_of_range_are_refused)
{
    CHECK_REFUSED(TOP("\"step\": 0"), "/step: must be > 0, got 0");
    CHECK_REFUSED(TOP("\"step\": -0.1"), "/step: must be > 0, got -0.1");
    CHECK_REFUSED(TOP("\"step\": \"short\""), "/step: must be a number, got a string");
    CHECK_REFUSED(TOP("\"duration\": 0"), "/duration: must be > 0, got 0");
    CHECK_REFUSED(TOP("\"margin\": -1"), "/margin: must be >= 0, got -1");
    CHECK_REFUSED(TOP("\"tolerance\": 0"), "/tolerance: must be > 0, got 0");
    CHECK_REFUSED(TOP("\"friction\": {\"directions\": 2}"),
                  "/friction/directions: must be >= 3, got 2");
    CHECK_REFUSED(TOP("\"friction\": {\"directions\": 4.5}"),
                  "/friction/directions: must be a whole number");
    CHECK_REFUSED(TOP("\"friction\": {\"directions\": 1e9}"),
                  "/friction/directions: must be <= 1000");
    CHECK_REFUSED(TOP("\"friction\": {\"default\": -1}"),
                  "/friction/default: must be >= 0, got -1");
    CHECK_REFUSED(TOP("\"friction\": {\"cone\": \"square\"}"),
                  "/friction/cone: must be none, polygon, quadratic or ellipsoid, got 'square'");
    CHECK_REFUSED(TOP("\"friction\": {\"cone\": 2}"), "/friction/cone: must be a string");
    CHECK_REFUSED(TOP("\"friction\": {\"pairs\": [{\"a\":\"b\",\"b\":\"b\",\"directions\":2}]}"),
                  "/friction/pairs/0/directions: must be >= 3, got 2");
}

TEST(the_semi_axes_belong_to_the_ellipsoid_and_are_positive)
{
    CHECK_REFUSED(TOP("\"friction\": {\"e_r\": 1}"),
                  "/friction/e_r: belongs to the friction cone 'ellipsoid'");
    CHECK_REFUSED(TOP("\"friction\": {\"cone\": \"polygon\", \"e_t\": 1}"),
                  "/friction/e_t: belongs to the friction cone 'ellipsoid'");
    CHECK_REFUSED(TOP("\"friction\": {\"cone\": \"quadratic\", \"e_o\": 1}"),
                  "/friction/e_o: belongs to the friction cone 'ellipsoid'");
    CHECK_REFUSED(TOP("\"friction\": {\"cone\": \"ellipsoid\"}"),
                  "/friction/e_r: must be a length > 0, got 0");
    CHECK_REFUSED(TOP("\"friction\": {\"cone\": \"ellipsoid\", \"e_r\": -0.1}"),
                  "/friction/e_r: must be a length > 0, got -0.1");
    CHECK_REFUSED(TOP("\"friction\": {\"cone\": \"ellipsoid\", \"e_r\": 1, \"e_t\": 0}"),
                  "/friction/e_t: must be > 0, got 0");
    CHECK_REFUSED(TOP("\"friction\": {\"cone\": \"ellipsoid\", \"e_r\": 1, \"e_o\": -1}"),
                  "/friction/e_o: must be > 0, got -1");
    CHECK_REFUSED(TOP("\"friction\": {\"cone\": \"ellipsoid\", \"e_r\": \"long\"}"),
                  "/friction/e_r: must be a number, got a string");
}

TEST(an_expression_that_does_not_parse_is_refused_with_its_column)
{
    CHECK_REFUSED(BODY("\"type\":\"kinematic\",\"motion\":{\"position\":[0,\"sin(t\",0]}"),
                  "/bodies/1/motion/position/1: expression 'sin(t': expected ')' at column 6");
    CHECK_REFUSED(BODY("\"type\":\"kinematic\",\"motion\":{\"angular_velocity\":[0,0,\"\"]}"),
                  "/bodies/1/motion/angular_velocity/2: expression ''");
    CHECK_REFUSED(TOP("\"forces\":[{\"type\":\"wrench\",\"body\":\"b\",\"force\":[0,\"2x\",0]}]"),
                  "/forces/0/force/1: expression '2x'");
    CHECK_REFUSED(SHAPE("\"type\":\"sphere\",\"radius\":1,\"surface_velocity\":[\"q\",0,0]"),
                  "/bodies/1/shapes/0/surface_velocity/0: expression 'q': unknown name 'q'");
    CHECK_REFUSED(BODY2("\"type\":\"kinematic\",\"motion\":{\"angle\":\"(\"}"),
                  "/bodies/1/motion/angle: expression '('");
    /* parses, but is not finite at the start */
    CHECK_REFUSED(BODY("\"type\":\"kinematic\",\"motion\":{\"position\":[0,\"log(-1)\",0]}"),
                  "/bodies/1/motion/position/1: ", "log(-1)", "nan");
}

TEST(a_motion_is_a_pose_or_a_velocity_of_a_kinematic_body)
{
    CHECK_REFUSED(BODY("\"type\":\"kinematic\",\"motion\":{}"),
                  "/bodies/1/motion: must give a pose");
    CHECK_REFUSED(
        BODY("\"type\":\"kinematic\",\"motion\":{\"position\":[0,0,0],\"velocity\":[0,0,0]}"),
        "/bodies/1/motion: must give a pose", "not both");
    CHECK_REFUSED(BODY("\"mass\":1,\"motion\":{\"position\":[0,0,0]}"),
                  "/bodies/1/motion: ", "kinematic");
}

#define JOINT(type_, rest_)                                                                        \
    TOP("\"joints\":[{\"name\":\"j\",\"type\":\"" type_ "\",\"a\":\"world\",\"b\":\"b\"" rest_ "}" \
        "]")

TEST(a_bad_joint_is_refused_where_it_is_bad)
{
    CHECK_REFUSED(TOP("\"joints\":{}"), "/joints: must be an array");
    CHECK_REFUSED(TOP("\"joints\":[1]"), "/joints/0: must be an object");
    CHECK_REFUSED(TOP("\"joints\":[{}]"), "/joints/0: missing key 'name'");
    CHECK_REFUSED(JOINT("revolut", ""), "/joints/0/type: ", "did you mean 'revolute'?");
    CHECK_REFUSED(JOINT("x", ""), "/joints/0/type: must be fixed, revolute");
    CHECK_REFUSED(JOINT("revolute", ""), "/joints/0/at: is missing");
    CHECK_REFUSED(JOINT("revolute", ",\"at\":[0,0,0]"), "/joints/0/axis: is missing");
    CHECK_REFUSED(JOINT("spherical", ",\"at\":[0,0,0],\"at_a\":[0,0,0]"),
                  "/joints/0/at: ", "not both");
    CHECK_REFUSED(JOINT("spherical", ",\"at_a\":[0,0,0]"), "/joints/0/at_b: is missing");
    CHECK_REFUSED(JOINT("rope", ",\"at\":[0,0,0]"), "/joints/0/at: a rope has two ends");
    CHECK_REFUSED(JOINT("rope", ",\"length\":-1"), "/joints/0/length: must be > 0");
    CHECK_REFUSED(JOINT("rope", ",\"at_a\":[3,0,0],\"at_b\":[0,0,0],\"length\":1"),
                  "/joints/0/length: ", "too short");
    CHECK_REFUSED(JOINT("revolute", ",\"at\":[0,0,0],\"axis\":[0,0,1],\"limits\":[1,2]"),
                  "/joints/0/limits: ", "is 0 at the start");
    CHECK_REFUSED(JOINT("revolute", ",\"at\":[0,0,0],\"axis\":[0,0,1],\"limits\":[1]"),
                  "/joints/0/limits: must be [lower, upper]");
    CHECK_REFUSED(JOINT("spherical", ",\"at\":[0,0,0],\"friction\":1"),
                  "/joints/0/friction: ", "only revolute and prismatic");
    CHECK_REFUSED(JOINT("universal", ",\"at\":[0,0,0],\"axis\":[0,0,1],\"axis2\":[0,1,1]"),
                  "/joints/0/axis2: ", "45 degrees");
    CHECK_REFUSED(JOINT("revolute", ",\"at\":[0,0,0],\"axis\":[0,0,1],\"motor\":{\"type\":"
                                    "\"torque\",\"target\":1}"),
                  "/joints/0/motor/type: must be position, velocity or effort");
    CHECK_REFUSED(JOINT("revolute", ",\"at\":[0,0,0],\"axis\":[0,0,1],\"motor\":{\"type\":"
                                    "\"position\",\"target\":\"1+\"}"),
                  "/joints/0/motor/target: ");
    CHECK_REFUSED(JOINT("revolute", ",\"at\":[0,0,0],\"axis\":[0,0,1],\"motor\":{\"type\":"
                                    "\"position\",\"target\":1,\"max_effort\":-1}"),
                  "/joints/0/motor/max_effort: must be >= 0");
}

TEST(an_adaptive_step_has_an_error_and_positive_bounds)
{
    CHECK_REFUSED(TOP("\"step\": {}"), "/step: missing key 'error'");
    CHECK_REFUSED(TOP("\"step\": {\"error\": 0}"), "/step/error: must be > 0, got 0");
    CHECK_REFUSED(TOP("\"step\": {\"error\": 1e-3, \"max\": -1}"),
                  "/step/max: must be > 0, got -1");
    CHECK_REFUSED(TOP("\"step\": {\"error\": 1e-3, \"largest\": 1}"), "/step", "largest");
}

TEST(restitution_is_a_number_from_0_to_1)
{
    CHECK_REFUSED(TOP("\"restitution\": 1.5"), "/restitution: must be from 0 to 1, got 1.5");
    CHECK_REFUSED(TOP("\"restitution\": -0.1"), "/restitution: must be from 0 to 1, got -0.1");
    CHECK_REFUSED(TOP("\"restitution\": \"high\""), "/restitution: must be a number from 0 to 1");
    CHECK_REFUSED(TOP("\"restitution\": {\"law\":\"newton\"}"), "/restitution: missing key 'e'");
    CHECK_REFUSED(TOP("\"restitution\": {\"law\":\"hertz\",\"e\":0.5}"),
                  "/restitution/law: must be newton or poisson, got 'hertz'");
    CHECK_REFUSED(TOP("\"restitution\": {\"e\":2}"), "/restitution/e: must be from 0 to 1, got 2");
    CHECK_REFUSED(BODY("\"mass\":1,\"restitution\":7"),
                  "/bodies/1/restitution: must be from 0 to 1, got 7");
    CHECK_REFUSED(BODY("\"mass\":1,\"restitution\":{\"law\":\"poisson\",\"e\":0.5}"),
                  "/bodies/1/restitution/law: a scene has one impact law");
}

#define FORCE(members) TOP("\"forces\":[{" members "}]")
#define CONTROLLER(members) TOP("\"controllers\":[{" members "}]")

TEST(springs_and_drag_that_make_no_sense_are_refused)
{
    static const struct {
        const char *scene, *message;
    } cases[] = {
        {FORCE("\"type\":\"spring\""), "/forces/0: missing key 'a'"},
        {FORCE("\"type\":\"spring\",\"a\":\"b\""), "/forces/0: missing key 'b'"},
        {FORCE("\"type\":\"spring\",\"a\":\"b\",\"b\":\"c\",\"stiffness\":1"),
         "/forces/0/b: there is no body named 'c'; use the name of a body or \"world\""},
        {FORCE("\"type\":\"spring\",\"a\":\"b\",\"b\":\"b\",\"stiffness\":1"),
         "/forces/0/b: a spring connects two different bodies, both are 'b'"},
        {FORCE("\"type\":\"spring\",\"a\":\"world\",\"b\":\"world\",\"stiffness\":1"),
         "/forces/0/b: a spring connects two different bodies"},
        {FORCE("\"type\":\"spring\",\"a\":\"world\",\"b\":\"b\",\"stiffness\":-1"),
         "/forces/0/stiffness: must be >= 0, got -1"},
        {FORCE("\"type\":\"spring\",\"a\":\"world\",\"b\":\"b\",\"damping\":-1"),
         "/forces/0/damping: must be >= 0, got -1"},
        {FORCE("\"type\":\"spring\",\"a\":\"world\",\"b\":\"b\",\"stiffness\":1,\"rest\":-2"),
         "/forces/0/rest: must be >= 0, got -2"},
        {FORCE("\"type\":\"spring\",\"a\":\"world\",\"b\":\"b\""),
         "/forces/0/stiffness: a spring needs a stiffness or a damping > 0"},
        {FORCE("\"type\":\"spring\",\"a\":\"world\",\"b\":\"b\",\"stiffness\":\"t\""),
         "/forces/0/stiffness: must be a number"},
        {FORCE("\"type\":\"spring\",\"a\":\"world\",\"b\":\"b\",\"k\":1"),
         "/forces/0: unknown key 'k'"},
        {FORCE("\"type\":\"spring\",\"a\":\"world\",\"b\":\"b\",\"stiffness\":1,\"at_a\":[1,2]"),
         "/forces/0/at_a: must be an array of 3 numbers"},
        {FORCE("\"type\":\"spring\",\"a\":\"world\",\"b\":\"b\",\"stiffness\":1,\"implicit\":1"),
         "/forces/0/implicit: must be true or false"},
        {FORCE("\"type\":\"drag\""), "/forces/0: missing key 'body'"},
        {FORCE("\"type\":\"drag\",\"body\":\"c\",\"linear\":1"),
         "/forces/0/body: there is no body named 'c'"},
        {FORCE("\"type\":\"drag\",\"body\":\"b\",\"linear\":-1"),
         "/forces/0/linear: must be >= 0, got -1"},
        {FORCE("\"type\":\"drag\",\"body\":\"b\",\"angular\":-1"),
         "/forces/0/angular: must be >= 0, got -1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        CHECK_REFUSED(cases[i].scene, cases[i].message);
    }
    CHECK_REFUSED("{\"bodies\":[{\"name\":\"g\",\"type\":\"static\"}],\"forces\":[{\"type\":"
                  "\"spring\",\"a\":\"world\",\"b\":\"g\",\"stiffness\":1}]}",
                  "/forces/0/b: neither 'world' nor 'g' is dynamic: the spring could move nothing");
    CHECK_REFUSED("{\"bodies\":[{\"name\":\"p\",\"mass\":1}],\"forces\":[{\"type\":\"spring\","
                  "\"a\":\"world\",\"b\":\"p\",\"at_b\":[0,0,1],\"stiffness\":1}]}",
                  "/forces/0/at_b: 'p' is a particle");
    CHECK_REFUSED("{\"bodies\":[{\"name\":\"p\",\"mass\":1}],\"forces\":[{\"type\":\"drag\","
                  "\"body\":\"p\",\"angular\":1}]}",
                  "/forces/0/angular: 'p' is a particle and does not turn");
}

TEST(controllers_that_make_no_sense_are_refused)
{
    static const struct {
        const char *scene, *message;
    } cases[] = {
        {CONTROLLER(""), "/controllers/0: missing key 'type'"},
        {CONTROLLER("\"type\":\"lqr\""), "/controllers/0/type: must be pd or pid, got 'lqr'"},
        {CONTROLLER("\"type\":\"pid\",\"body\":\"b\""), "/controllers/0: missing key 'target'"},
        {CONTROLLER("\"type\":\"pid\",\"target\":1,\"kp\":1"),
         "/controllers/0/name: must not be empty"},
        {CONTROLLER("\"type\":\"pid\",\"target\":1,\"kp\":1,\"name\":\"c\""),
         "/controllers/0/joint: a controller works on a joint or on a body: give one of them"},
        {CONTROLLER("\"type\":\"pid\",\"joint\":\"j\",\"target\":1,\"kp\":1"),
         "/controllers/0/joint: there is no joint named 'j'"},
        {CONTROLLER("\"type\":\"pid\",\"joint\":\"j\",\"axis\":[1,0,0],\"target\":1"),
         "/controllers/0/axis: is for a body"},
        {CONTROLLER("\"type\":\"pid\",\"body\":\"c\",\"axis\":[1,0,0],\"target\":1,\"kp\":1"),
         "/controllers/0/body: there is no body named 'c'"},
        {CONTROLLER("\"type\":\"pid\",\"body\":\"b\",\"target\":1,\"kp\":1"),
         "/controllers/0: missing key 'axis'"},
        {CONTROLLER("\"type\":\"pid\",\"body\":\"b\",\"axis\":[0,0,0],\"target\":1,\"kp\":1"),
         "/controllers/0/axis: must be a direction of length > 0"},
        {CONTROLLER("\"type\":\"pid\",\"body\":\"b\",\"axis\":[1,0,0],\"target\":1"),
         "/controllers/0/kp: one of kp, ki and kd must be > 0"},
        {CONTROLLER("\"type\":\"pid\",\"body\":\"b\",\"axis\":[1,0,0],\"target\":1,\"kd\":-1"),
         "/controllers/0/kd: must be >= 0, got -1"},
        {CONTROLLER("\"type\":\"pd\",\"body\":\"b\",\"axis\":[1,0,0],\"target\":1,\"ki\":1"),
         "/controllers/0/ki: a pd controller has no integral; make its type pid"},
        {CONTROLLER("\"type\":\"pd\",\"body\":\"b\",\"axis\":[1,0,0],\"target\":1,\"kp\":1,"
                    "\"max_effort\":0"),
         "/controllers/0/max_effort: must be > 0, got 0"},
        {CONTROLLER("\"type\":\"pd\",\"body\":\"b\",\"axis\":[1,0,0],\"target\":\"sin(\",\"kp\":1"),
         "/controllers/0/target: expression 'sin('"},
        {CONTROLLER("\"type\":\"pd\",\"body\":\"b\",\"axis\":[1,0,0],\"target\":{},\"kp\":1"),
         "/controllers/0/target: missing key 'points'"},
        {CONTROLLER("\"type\":\"pd\",\"body\":\"b\",\"axis\":[1,0,0],\"kp\":1,\"target\":"
                    "{\"points\":[[0,1],[0,2]]}"),
         "/controllers/0/target/points/1: times must ascend, got 0 after 0"},
        {CONTROLLER("\"type\":\"pd\",\"body\":\"b\",\"axis\":[1,0,0],\"kp\":1,\"target\":"
                    "{\"points\":[[0]]}"),
         "/controllers/0/target/points/0: must be an array of 2 numbers"},
        {CONTROLLER("\"type\":\"pd\",\"body\":\"b\",\"axis\":[1,0,0],\"kp\":1,\"target\":"
                    "{\"points\":[[0,1]],\"interpolation\":\"spline\"}"),
         "/controllers/0/target/interpolation: must be linear, cubic or quintic, got 'spline'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        CHECK_REFUSED(cases[i].scene, cases[i].message);
    }
    CHECK_REFUSED(
        TOP("\"controllers\":[{\"type\":\"pd\",\"body\":\"b\",\"axis\":[1,0,0],\"kp\":1,"
            "\"target\":0},{\"type\":\"pd\",\"body\":\"b\",\"axis\":[0,1,0],\"kp\":1,"
            "\"target\":0}]"),
        "/controllers/1/name: 'b' is already the name of controller 0; names must differ");
}

#define MOTION(members) BODY("\"type\":\"kinematic\",\"motion\":{" members "}")

#define WAVE(f) "{\"amplitude\":1,\"frequency\":" f "}"
#define ACCELERATION(members) MOTION("\"acceleration\":{" members "}")
#define MESSAGE "/bodies/1/motion/acceleration"

TEST(accelerations_that_make_no_sense_are_refused)
{
    static const struct {
        const char *scene, *message;
    } cases[] = {
        {ACCELERATION(""), MESSAGE ": must have 'linear', 'angular', or both"},
        {ACCELERATION("\"linear\":[0,0]"),
         MESSAGE "/linear: must have 3 entries, one per axis, got 2"},
        {ACCELERATION("\"linear\":[1,0,0]"),
         MESSAGE "/linear/0: must be {amplitude, frequency, phase}"},
        {ACCELERATION("\"linear\":[0,[" WAVE("1") "," WAVE("0") "],0]"),
         MESSAGE "/linear/1/1/frequency: must be > 0 (cycles per unit of time), got 0"},
        {ACCELERATION("\"angular\":[0,0,{\"amplitude\":1}]"), MESSAGE "/angular/2"},
        {ACCELERATION("\"angular\":[" WAVE("1") ",0," WAVE("1.41421356237309505") "]"),
         MESSAGE "/angular: frequencies about several axes must have a common period"},
        {ACCELERATION(
             "\"linear\":[" WAVE("1") ",0," WAVE("1.41421356237309505") "],\"periodic\":true"),
         MESSAGE "/periodic: the frequencies have no common period"},
        {MOTION("\"acceleration\":{\"linear\":[" WAVE("1") ",0,0]},\"position\":[0,0,0]"),
         "/bodies/1/motion/position: not beside acceleration"},
        {BODY("\"type\":\"kinematic\",\"velocity\":[1,0,0],\"motion\":{\"acceleration\":{"
              "\"linear\":[" WAVE("1") ",0,0],\"periodic\":true}}"),
         MESSAGE "/periodic: a body with a velocity of its own"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        CHECK_REFUSED(cases[i].scene, cases[i].message);
    }
}

TEST(tables_and_speed_limits_that_make_no_sense_are_refused)
{
    static const struct {
        const char *scene, *message;
    } cases[] = {
        {MOTION("\"table\":\"no-such-file.txt\""),
         "/bodies/1/motion/table: no-such-file.txt: cannot open: No such file or directory"},
        {MOTION("\"table\":[]"), "/bodies/1/motion/table: must have 1 to 1000000 rows, got 0"},
        {MOTION("\"table\":[3]"), "/bodies/1/motion/table/0: must be an array"},
        {MOTION("\"table\":[[0,1,2]]"), "/bodies/1/motion/table: a row must have 4 numbers"},
        {MOTION("\"table\":[[0,1,2,3],[1,2,3]]"),
         "/bodies/1/motion/table/1: must have 4 numbers like the first row, got 3"},
        {MOTION("\"table\":[[0,1,2,3],[0,2,3,4]]"),
         "/bodies/1/motion/table/1: times must ascend, got 0 after 0"},
        {MOTION("\"table\":[[0,1,2,\"t\"]]"), "/bodies/1/motion/table/0: must be numbers"},
        {MOTION("\"table\":[[0,1,2,3,0,0,0,0]]"),
         "/bodies/1/motion/table/0: must be a quaternion of length > 0"},
        {MOTION("\"table\":[[0,1,2,3]],\"interpolation\":\"x\""),
         "/bodies/1/motion/interpolation: must be linear, cubic or quintic, got 'x'"},
        {MOTION("\"table\":[[0,1,2,3]],\"position\":[0,0,0]"),
         "/bodies/1/motion/table: gives the whole pose"},
        {MOTION("\"position\":[0,0,0],\"interpolation\":\"cubic\""),
         "/bodies/1/motion/interpolation: is for a table"},
        {MOTION("\"position\":[0,0,0],\"max_speed\":0"),
         "/bodies/1/motion/max_speed: must be > 0, got 0"},
        {MOTION("\"velocity\":[0,0,0],\"max_angular_speed\":1"),
         "/bodies/1/motion/max_angular_speed: is for a motion given by a pose"},
        {MOTION("\"max_speed\":1"), "/bodies/1/motion: must give a pose"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        CHECK_REFUSED(cases[i].scene, cases[i].message);
    }
}

/* ---- memory ----------------------------------------------------------------------------------- */

TEST(every_failing_allocation_ends_in_a_status_and_no_leak)
{
    static const char text[] =
        "{\"solver\":{\"type\":\"lemke\",\"tol\":1e-9},\"friction\":{"
        "\"pairs\":[{\"a\":\"b\",\"b\":\"k\","
        "\"mu\":0.1}]},\"bodies\":[{\"name\":\"b\",\"mass\":1,\"collides_"
        "with\":[\"k\"],\"shapes\":[{"
        "\"type\":\"sphere\",\"radius\":1,\"surface_velocity\":[\"t\",0,0]}]"
        "},{\"name\":\"k\",\"type\":"
        "\"kinematic\",\"motion\":{\"position\":[\"sin(t)\",1.5,0]}},"
        "{\"name\":\"m\",\"type\":\"kinematic\",\"motion\":{\"acceleration\":"
        "{\"angular\":[" WAVE("2") "," WAVE("3") ",0],\"periodic\":true}}}],"
                                                 "\"forces\":[{\"type\":\"wrench\","
                                                 "\"body\":\"b\",\"force\":[0,\"t\",1]}]}";
    const perp_override override = {"/record/every", "2"};
    int failures = 0;
    for (long n = 2;; ++n) {
        counter c = {.fail_from = n};
        perp_context* context = open_counted(&c);
        perp_scene* scene = NULL;
        const perp_status status =
            perp_scene_parse(context, text, sizeof text - 1, "x", &override, 1, &scene);
        CHECK(status == PERP_OK || status == PERP_ERROR_MEMORY);
        CHECK((status == PERP_OK) == (scene != NULL));
        perp_scene_destroy(scene);
        CHECK_EQ_INT(c.out, 1);
        perp_context_destroy(context);
        if (status == PERP_OK || n > 1000) {
            break;
        }
        ++failures;
    }
    TEST_PRINT("%d points of failure", failures);
    CHECK_AT_LEAST(failures, 20);
    CHECK_AT_MOST(failures, 900);
}
