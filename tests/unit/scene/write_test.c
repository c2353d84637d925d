/* A model is written as a scene file and read again: the simulation is the same to the last bit. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perp_test.h"

#include "model/model.h"
#include "perp/perp.h"

enum { STEPS = 8, PATH = 1024 };

static perp_context* context;

/* Both simulations for a few steps, and for their first impact if there is one soon. */
static bool same_future(perp_sim* a, perp_sim* b)
{
    const bool large = perp_model_body_count(perp_sim_model(a)) > 40;
    for (int i = 0; i < (large ? 1 : STEPS) && !perp_sim_finished(a); ++i) {
        const perp_status first = perp_sim_step(a), second = perp_sim_step(b);
        if (first != second || perp_sim_time(a) != perp_sim_time(b)) {
            return false;
        }
        const size_t q = (size_t)perp_sim_q_size(a) * sizeof(double);
        const size_t v = (size_t)perp_sim_v_size(a) * sizeof(double);
        if (memcmp(perp_sim_q(a), perp_sim_q(b), q) != 0 ||
            memcmp(perp_sim_v(a), perp_sim_v(b), v) != 0) {
            return false;
        }
        if (first != PERP_OK) {
            return true;
        }
    }
    return true;
}

/* "" or what went wrong. */
static const char* round_trip(const perp_model* model, const perp_sim_def* def, perp_sim* original)
{
    perp_scene *written = NULL, *again = NULL, *third = NULL;
    perp_sim* sim = NULL;
    const char* wrong = "";
    if (perp_scene_from_model(context, model, def, 1, &written) != PERP_OK) {
        return perp_context_error(context);
    }
    const char* text = perp_scene_text(written);
    if (perp_scene_parse(context, text, strlen(text), "written", NULL, 0, &again) != PERP_OK ||
        perp_sim_create_from_scene(context, again, &sim) != PERP_OK) {
        wrong = perp_context_error(context);
    } else if (!same_future(original, sim)) {
        wrong = "other bits";
    } else {
        const perp_sim_def read = perp_sim_def_from_scene(again);
        if (perp_scene_from_model(context, perp_scene_model(again), &read, 1, &third) != PERP_OK ||
            strcmp(perp_scene_text(third), text) != 0) {
            wrong = "writing what was read gives another text";
        }
    }
    perp_sim_destroy(sim);
    perp_scene_destroy(third);
    perp_scene_destroy(again);
    perp_scene_destroy(written);
    return wrong;
}

/* Returns false if the file is not one that can be simulated. */
static bool check_file(const char* path)
{
    perp_scene* scene = NULL;
    perp_sim* sim = NULL;
    if (perp_scene_load(context, path, NULL, 0, &scene) != PERP_OK) {
        return false;
    }
    const perp_sim_def def = perp_sim_def_from_scene(scene);
    const bool runs = perp_sim_create_from_scene(context, scene, &sim) == PERP_OK;
    if (runs) {
        const char* wrong = round_trip(perp_scene_model(scene), &def, sim);
        if (wrong[0] != '\0') {
            printf("%s: %s\n", path, wrong);
        }
        CHECK(wrong[0] == '\0');
    }
    perp_sim_destroy(sim);
    perp_scene_destroy(scene);
    return runs;
}

static bool ends_with(const char* name, const char* end)
{
    const size_t n = strlen(name), m = strlen(end);
    return n > m && strcmp(name + n - m, end) == 0;
}

static int check_folder(const char* folder)
{
    DIR* directory = opendir(folder);
    int count = 0;
    for (struct dirent* entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        char path[PATH];
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (ends_with(entry->d_name, ".json") || ends_with(entry->d_name, ".urdf")) {
            count += check_file(path) ? 1 : 0;
        } else if (entry->d_name[0] != '.' && strchr(entry->d_name, '.') == NULL) {
            count += check_folder(path);
        }
    }
    if (directory != NULL) {
        closedir(directory);
    }
    return count;
}

TEST(every_built_in_scene_is_written_and_read_back_to_the_same_bits)
{
    CHECK(perp_context_create(NULL, &context) == PERP_OK);
    CHECK(check_folder(PERP_SOURCE_DIR "/scenes") >= 38);
    perp_context_destroy(context);
}

TEST(the_gallery_if_it_is_there_is_written_and_read_back_to_the_same_bits)
{
    CHECK(perp_context_create(NULL, &context) == PERP_OK);
    printf("%d scenes\n", check_folder(PERP_SOURCE_DIR "/../shared/gallery"));
    perp_context_destroy(context);
}

/* ---- models built in C -----------------------------------------------------------------------------*/

static int32_t add_body(perp_model* model, const perp_body_def* def)
{
    int32_t index = -1;
    CHECK_OK(perp_model_add_body(model, def, &index));
    return index;
}

static void add_floor(perp_model* model)
{
    perp_shape_def plane = perp_shape_def_default(PERP_SHAPE_PLANE);
    plane.normal[2] = 1.0;
    plane.offset = -3.0;
    perp_body_def floor = perp_body_def_default();
    floor.name = "floor";
    floor.shapes = &plane;
    floor.shape_count = 1;
    floor.friction = 0.3;
    add_body(model, &floor);
}

/* Two boxes of unlike sizes, whose centre of mass is at no round number. */
static void add_link(perp_model* model, const char* name, double x, const char* ignores)
{
    perp_shape_def shape[2] = {perp_shape_def_default(PERP_SHAPE_BOX),
                               perp_shape_def_default(PERP_SHAPE_SPHERE)};
    shape[0].size[0] = 0.7;
    shape[0].size[1] = shape[0].size[2] = 0.1;
    shape[0].orientation[1] = 0.3;
    shape[1].radius = 0.13;
    shape[1].position[0] = 0.31;
    shape[1].friction = 0.7;
    perp_body_def body = perp_body_def_default();
    body.name = name;
    body.type = PERP_BODY_DYNAMIC;
    body.density = 713.0;
    body.position[0] = x;
    body.position[2] = 0.1;
    body.orientation[3] = 0.2;
    body.velocity[1] = 0.01;
    body.angular_velocity[0] = 0.3;
    body.color[0] = body.color[1] = body.color[2] = 0.25;
    body.shapes = shape;
    body.shape_count = 2;
    body.ignores = &ignores;
    body.ignores_count = 1;
    add_body(model, &body);
}

/* Springs whose ends are not round numbers away from the centre: one that adding the offset
 * recovers, one that it does not. */
static void add_forces(perp_model* model)
{
    perp_spring_def spring = perp_spring_def_default();
    spring.a = "world";
    spring.b = "left";
    spring.at_a[2] = 1.0;
    spring.at_b[0] = 0.3 - perp_model_body_info(model, 0).offset[0];
    spring.stiffness = 300.0;
    spring.damping = 2.0;
    CHECK_OK(perp_model_add_spring(model, &spring));
    spring.b = "right";
    spring.at_b[0] = 1e-17;
    spring.implicit = false;
    spring.rest = 0.25;
    CHECK_OK(perp_model_add_spring(model, &spring));
    perp_wrench_def wrench = perp_wrench_def_default();
    wrench.body = "left";
    wrench.force_text[1] = "3*sin(7*t)";
    wrench.torque[2] = 0.1;
    wrench.at[0] = 0.1;
    wrench.body_frame = true;
    CHECK_OK(perp_model_add_wrench(model, &wrench));
    const perp_drag_def drag = {.body = "right", .linear = 0.3, .angular = 0.1};
    CHECK_OK(perp_model_add_drag(model, &drag));
    const perp_pair_def pair = {.a = "right", .b = "floor", .mu = 0.35, .directions = 6};
    CHECK_OK(perp_model_add_pair(model, &pair));
}

static void add_joints(perp_model* model)
{
    perp_joint_def hinge = perp_joint_def_default();
    hinge.name = "hinge";
    hinge.type = PERP_JOINT_REVOLUTE;
    hinge.a = "left";
    hinge.b = "right";
    hinge.has_at = true;
    hinge.at[0] = 0.5;
    hinge.axis[1] = 2.0;
    hinge.has_limits = true;
    hinge.limits[0] = -1.5;
    hinge.start = 0.25;
    hinge.friction = 0.01;
    hinge.damping = 0.02;
    CHECK_OK(perp_model_add_joint(model, &hinge, NULL));
    perp_joint_def rope = perp_joint_def_default();
    rope.name = "rope";
    rope.type = PERP_JOINT_ROPE;
    rope.a = "world";
    rope.b = "right";
    rope.at_a[2] = 1.7;
    rope.at_b[1] = 0.05;
    rope.length = 2.3;
    CHECK_OK(perp_model_add_joint(model, &rope, NULL));
    perp_controller_def pid = perp_controller_def_default();
    pid.name = "pid";
    pid.joint = "hinge";
    pid.kp = 30.0;
    pid.ki = 1.0;
    pid.kd = 0.3;
    pid.target_text = "0.5*sin(3*t)";
    pid.max_effort = 40.0;
    CHECK_OK(perp_model_add_controller(model, &pid));
    static const double moves[] = {0.0, 0.1, 0.3, 0.5, 0.4, -0.2, 0.7, 1.0 / 3.0, 0.0};
    perp_controller_def lift = perp_controller_def_default();
    lift.name = "lift";
    lift.body = "right";
    lift.axis[2] = 1.0;
    lift.kp = 20.0;
    lift.kd = 2.0;
    lift.trajectory = moves;
    lift.trajectory_rows = lift.trajectory_columns = 3;
    lift.gravity = true;
    CHECK_OK(perp_model_add_controller(model, &lift));
}

static perp_model* two_links(void)
{
    perp_model_def def = perp_model_def_default();
    def.name = "links";
    def.description = "two links on a spring";
    def.gravity[2] = -9.81;
    def.friction_default = 0.2;
    perp_model* model = NULL;
    CHECK_OK(perp_model_create(context, &def, &model));
    add_link(model, "left", 0.0, "floor");
    add_link(model, "right", 1.0, "left");
    add_joints(model);
    add_floor(model); /* after the joints, as a file cannot: the order must not matter */
    add_forces(model);
    return model;
}

TEST(a_model_built_in_C_is_written_to_the_same_bits)
{
    CHECK_OK(perp_context_create(NULL, &context));
    perp_model* model = two_links();
    perp_sim_def def = perp_sim_def_default();
    const perp_option option = {"relax", 1.25};
    def.solver = "psor";
    def.solver_option = &option;
    def.solver_option_count = 1;
    def.cone = "polygon";
    def.directions = 6;
    def.contact = "standard";
    def.tolerance = 1e-7;
    perp_sim* sim = NULL;
    CHECK_OK(perp_sim_create(context, model, &def, &sim));
    CHECK_EQ_STR(round_trip(model, &def, sim), "");
    perp_sim_destroy(sim);
    perp_model_destroy(model);
    perp_context_destroy(context);
}

/* Adding the offset to 1e-17 loses it: only the body with that end is written by its mass. */
TEST(a_density_is_written_wherever_that_is_exact)
{
    CHECK_OK(perp_context_create(NULL, &context));
    perp_model* model = two_links();
    perp_scene* scene = NULL;
    CHECK_OK(perp_scene_from_model(context, model, NULL, 3, &scene));
    const char* text = perp_scene_text(scene);
    const char* right = strstr(text, "\"right\"");
    CHECK(right != NULL && strstr(right, "\"mass\"") != NULL);
    CHECK_CONTAINS(text, "\"density\": 713");
    CHECK_CONTAINS(text, "two links on a spring");
    CHECK_EQ_INT(perp_scene_record_every(scene), 3);
    perp_scene_destroy(scene);
    perp_model_destroy(model);
    perp_context_destroy(context);
}

/* Planar shapes turned by an angle, and by a quaternion. */
static void check_planar(double angle, const double quaternion[4])
{
    perp_model_def def = perp_model_def_default();
    def.dimension = 2;
    def.gravity[1] = -10.0;
    perp_model* model = NULL;
    CHECK_OK(perp_model_create(context, &def, &model));
    perp_shape_def box = perp_shape_def_default(PERP_SHAPE_BOX2);
    box.size[0] = 2.0;
    box.size[1] = 1.0;
    box.angle = angle;
    memcpy(box.orientation, quaternion, sizeof box.orientation);
    perp_body_def body = perp_body_def_default();
    body.name = "box";
    body.type = PERP_BODY_DYNAMIC;
    body.mass = 1.0;
    body.angle = 0.3;
    body.shapes = &box;
    body.shape_count = 1;
    body.has_surface_velocity = true;
    body.surface_velocity_text[0] = "t";
    add_body(model, &body);
    perp_shape_def ground = perp_shape_def_default(PERP_SHAPE_HALFPLANE);
    ground.normal[1] = 1.0;
    ground.offset = -1.3;
    body = perp_body_def_default();
    body.name = "ground";
    body.shapes = &ground;
    body.shape_count = 1;
    add_body(model, &body);
    perp_sim_def sim_def = perp_sim_def_default();
    perp_sim* sim = NULL;
    CHECK_OK(perp_sim_create(context, model, &sim_def, &sim));
    CHECK_EQ_STR(round_trip(model, &sim_def, sim), "");
    perp_sim_destroy(sim);
    perp_model_destroy(model);
}

/* What errors of joints are compared with depends on the largest body, whenever it was added. */
TEST(the_size_of_a_joint_does_not_depend_on_the_order_of_adding)
{
    CHECK_OK(perp_context_create(NULL, &context));
    perp_model* model = two_links();
    perp_shape_def box = perp_shape_def_default(PERP_SHAPE_BOX);
    box.size[0] = box.size[1] = box.size[2] = 8.0;
    perp_body_def body = perp_body_def_default();
    body.name = "far";
    body.position[0] = 50.0;
    body.shapes = &box;
    body.shape_count = 1;
    add_body(model, &body);
    perp_scene* scene = NULL;
    CHECK_OK(perp_scene_from_model(context, model, NULL, 1, &scene));
    for (size_t i = 0; i < 2; ++i) {
        CHECK(model->joint[i].size == perp_scene_model(scene)->joint[i].size);
        CHECK_NEAR(model->joint[i].size, sqrt(3.0) * 4.0, 1e-12);
    }
    perp_scene_destroy(scene);
    perp_model_destroy(model);
    perp_context_destroy(context);
}

TEST(planar_rotations_are_written_to_the_same_bits)
{
    CHECK_OK(perp_context_create(NULL, &context));
    const double none[4] = {1, 0, 0, 0};
    for (int i = 1; i < 20; ++i) {
        const double angle = 0.37 * i;
        const double e[4] = {cos(0.5 * angle), 0, 0, sin(0.5 * angle)};
        check_planar(angle, none);
        if (angle < 3.1) {
            check_planar(0.0, e);
        }
    }
    perp_context_destroy(context);
}

/* However "not turned" is said, no angle is written, and certainly not the smallest number there is. */
TEST(a_planar_shape_that_is_not_turned_is_written_without_an_angle)
{
    const double none[3][4] = {{1, 0, 0, 0}, {1, 0, 0, -0.0}, {-1, 0, 0, 0}};
    CHECK_OK(perp_context_create(NULL, &context));
    for (int i = 0; i < 3; ++i) {
        perp_model_def def = perp_model_def_default();
        def.dimension = 2;
        perp_model* model = NULL;
        perp_scene* scene = NULL;
        CHECK_OK(perp_model_create(context, &def, &model));
        perp_shape_def box = perp_shape_def_default(PERP_SHAPE_BOX2);
        box.size[0] = box.size[1] = 1.0;
        memcpy(box.orientation, none[i], sizeof box.orientation);
        perp_body_def body = perp_body_def_default();
        body.name = "box";
        body.shapes = &box;
        body.shape_count = 1;
        add_body(model, &body);
        CHECK_OK(perp_scene_from_model(context, model, NULL, 1, &scene));
        CHECK(strstr(perp_scene_text(scene), "\"angle\"") == NULL);
        perp_scene_destroy(scene);
        perp_model_destroy(model);
        check_planar(0.0, none[i]);
    }
    perp_context_destroy(context);
}

TEST(a_model_that_no_file_can_say_is_refused)
{
    CHECK_OK(perp_context_create(NULL, &context));
    perp_model_def def = perp_model_def_default();
    perp_model* model = NULL;
    perp_scene* scene = NULL;
    CHECK_OK(perp_model_create(context, &def, &model));
    CHECK_EQ_INT(perp_scene_from_model(context, model, NULL, 1, &scene), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context), "at least one body");
    perp_body_def body = perp_body_def_default();
    body.name = "\xff";
    add_body(model, &body);
    CHECK_EQ_INT(perp_scene_from_model(context, model, NULL, 1, &scene), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context), "UTF-8");
    CHECK_EQ_INT(perp_scene_from_model(context, model, NULL, 0, &scene), PERP_ERROR_INPUT);
    CHECK(scene == NULL);
    perp_model_destroy(model);
    perp_context_destroy(context);
}

TEST(a_model_built_in_C_is_recorded_and_verified)
{
    CHECK_OK(perp_context_create(NULL, &context));
    perp_model* model = two_links();
    perp_sim_def def = perp_sim_def_default();
    def.duration = 0.2;
    perp_sim* sim = NULL;
    perp_recorder* recorder = NULL;
    CHECK_OK(perp_sim_create(context, model, &def, &sim));
    CHECK_OK(perp_recorder_create(context, "built.h5", NULL, sim, &recorder));
    while (!perp_sim_finished(sim)) {
        CHECK_OK(perp_sim_step(sim));
        CHECK_OK(perp_recorder_step(recorder, sim, 0.0));
    }
    CHECK_OK(perp_recorder_finish(recorder, sim));
    perp_recorder_destroy(recorder);
    perp_verification verification;
    CHECK_OK(perp_recording_verify(context, "built.h5", &verification));
    CHECK(verification.intact && verification.complete && verification.rerun &&
          verification.same_bits);
    CHECK_EQ_INT(verification.laws_checked, 20);
    CHECK_EQ_INT(verification.ledger_frame, -1);
    perp_sim_destroy(sim);
    perp_model_destroy(model);
    perp_context_destroy(context);
    (void)remove("built.h5");
}

TEST(a_saved_scene_is_loaded_again)
{
    CHECK_OK(perp_context_create(NULL, &context));
    perp_model* model = two_links();
    perp_scene *scene = NULL, *again = NULL;
    CHECK_OK(perp_scene_from_model(context, model, NULL, 1, &scene));
    CHECK_OK(perp_scene_save(scene, "saved.json"));
    CHECK_OK(perp_scene_load(context, "saved.json", NULL, 0, &again));
    CHECK_EQ_STR(perp_scene_text(again), perp_scene_text(scene));
    CHECK_EQ_INT(perp_scene_save(scene, "no/such/folder/saved.json"), PERP_ERROR_INPUT);
    perp_scene_destroy(again);
    perp_scene_destroy(scene);
    perp_model_destroy(model);
    perp_context_destroy(context);
    (void)remove("saved.json");
}

/* A mesh file in a scene and in C: the same model, inside out by a mirror or not. */
TEST(a_mesh_file_is_loaded_in_C_as_in_a_scene)
{
    static const char TETRAHEDRON[] = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n"
                                      "f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";
    CHECK_OK(perp_context_create(NULL, &context));
    FILE* file = fopen("tetrahedron.obj", "w");
    CHECK(file != NULL && fputs(TETRAHEDRON, file) >= 0 && fclose(file) == 0);
    const double scale[3] = {-2, 1, 0.5}, none[3] = {1, 0, 1};
    perp_mesh_file* mesh = NULL;
    CHECK_EQ_INT(perp_mesh_load(context, "tetrahedron.obj", none, &mesh), PERP_ERROR_INPUT);
    CHECK_EQ_INT(perp_mesh_load(context, "no.obj", NULL, &mesh), PERP_ERROR_INPUT);
    CHECK_EQ_INT(perp_mesh_load(context, "tetrahedron.txt", NULL, &mesh), PERP_ERROR_INPUT);
    CHECK(mesh == NULL);
    CHECK_OK(perp_mesh_load(context, "tetrahedron.obj", scale, &mesh));
    perp_shape_def shape = perp_shape_def_default(PERP_SHAPE_MESH);
    perp_mesh_fill(mesh, &shape);
    shape.source = "tetrahedron.obj";
    perp_body_def body = perp_body_def_default();
    body.name = "it";
    body.type = PERP_BODY_DYNAMIC;
    body.density = 3.0;
    body.shapes = &shape;
    body.shape_count = 1;
    perp_model_def def = perp_model_def_default();
    perp_model* model = NULL;
    CHECK_OK(perp_model_create(context, &def, &model));
    add_body(model, &body);
    perp_mesh_destroy(mesh);
    const char text[] =
        "{\"name\": \"model\", \"bodies\": [{\"name\": \"it\", \"density\": 3, \"shapes\":"
        " [{\"type\": \"mesh\", \"file\": \"tetrahedron.obj\", \"scale\": [-2, 1, 0.5]}]}]}";
    perp_scene *read = NULL, *written = NULL, *again = NULL;
    CHECK_OK(perp_scene_parse(context, text, strlen(text), "here.json", NULL, 0, &read));
    const perp_sim_def sim = perp_sim_def_default();
    CHECK_OK(perp_scene_from_model(context, model, &sim, 1, &written));
    CHECK_OK(perp_scene_from_model(context, perp_scene_model(read), &sim, 1, &again));
    CHECK_EQ_STR(perp_scene_text(written), perp_scene_text(again));
    CHECK_NEAR(perp_model_body_info(model, 0).mass, 3.0 / 6.0, 1e-15);
    perp_scene_destroy(read);
    perp_scene_destroy(written);
    perp_scene_destroy(again);
    perp_model_destroy(model);
    perp_context_destroy(context);
    (void)remove("tetrahedron.obj");
}
