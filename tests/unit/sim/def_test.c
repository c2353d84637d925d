/* Definitions that are not this library's, and the names of 0.1. */
#include <math.h>
#include <string.h>

#include "perp_test.h"

#include "perp/perp.h"
#include "support/scene_sim.h"

static perp_context* context;

static perp_model* new_model(void)
{
    perp_model_def def = perp_model_def_default();
    perp_model* model = NULL;
    CHECK_OK(perp_model_create(context, &def, &model));
    perp_body_def body = perp_body_def_default();
    body.name = "body";
    body.type = PERP_BODY_DYNAMIC;
    body.mass = 1.0;
    CHECK_OK(perp_model_add_body(model, &body, NULL));
    return model;
}

/* A program that was compiled with shorter structs than the library has. */
TEST(a_struct_of_another_size_is_refused_and_none_said_is_taken)
{
    CHECK_OK(perp_context_create(NULL, &context));
    perp_model_def model_def = perp_model_def_default();
    perp_model* made = NULL;
    model_def.struct_size -= 8;
    CHECK_EQ_INT(perp_model_create(context, &model_def, &made), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context), "perp_model_def");
    model_def.struct_size = 0;
    CHECK_OK(perp_model_create(context, &model_def, &made));
    perp_model_destroy(made);

    perp_model* model = new_model();
    perp_shape_def shape = perp_shape_def_default(PERP_SHAPE_SPHERE);
    shape.radius = 1.0;
    perp_body_def body = perp_body_def_default();
    body.name = "other";
    body.shapes = &shape;
    body.shape_count = 1;
    shape.struct_size += 8;
    CHECK_EQ_INT(perp_model_add_body(model, &body, NULL), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context), "perp_shape_def");
    shape.struct_size = 0;
    body.struct_size += 8;
    CHECK_EQ_INT(perp_model_add_body(model, &body, NULL), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context), "perp_body_def");
    perp_joint_def joint = perp_joint_def_default();
    joint.struct_size = 1;
    CHECK_EQ_INT(perp_model_add_joint(model, &joint, NULL), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context), "perp_joint_def");
    perp_spring_def spring = perp_spring_def_default();
    spring.struct_size = 1;
    CHECK_EQ_INT(perp_model_add_spring(model, &spring), PERP_ERROR_INPUT);
    perp_wrench_def wrench = perp_wrench_def_default();
    wrench.struct_size = 1;
    CHECK_EQ_INT(perp_model_add_wrench(model, &wrench), PERP_ERROR_INPUT);
    perp_controller_def controller = perp_controller_def_default();
    controller.struct_size = 1;
    CHECK_EQ_INT(perp_model_add_controller(model, &controller), PERP_ERROR_INPUT);
    perp_sim_def def = perp_sim_def_default();
    perp_sim* sim = NULL;
    def.struct_size = 8;
    CHECK_EQ_INT(perp_sim_create(context, model, &def, &sim), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context), "perp_sim_def_default()");
    CHECK(sim == NULL);
    perp_model_destroy(model);
    perp_context_destroy(context);
}

TEST(a_definition_is_copied_whole)
{
    CHECK_OK(perp_context_create(NULL, &context));
    perp_model* model = new_model();
    char solver[16] = "psor", name[16] = "relax";
    perp_option option = {name, 1.25};
    perp_sim_def def = perp_sim_def_default();
    def.solver = solver;
    def.solver_option = &option;
    def.solver_option_count = 1;
    perp_sim *sim = NULL, *clone = NULL;
    CHECK_OK(perp_sim_create(context, model, &def, &sim));
    memset(solver, 'x', sizeof solver - 1); /* gone, as a definition on the stack would be */
    memset(name, 'x', sizeof name - 1);
    CHECK_OK(perp_sim_clone(sim, NULL, &clone));
    perp_scene* scene = NULL;
    CHECK_OK(perp_scene_from_sim(context, clone, 1, &scene));
    CHECK_CONTAINS(perp_scene_text(scene), "\"relax\": 1.25");
    perp_scene_destroy(scene);
    perp_sim_destroy(clone);
    perp_sim_destroy(sim);
    def.solver = NULL;
    CHECK_EQ_INT(perp_sim_create(context, model, &def, &sim), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context), "solver: is NULL");
    perp_model_destroy(model);
    perp_context_destroy(context);
}

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif
TEST(the_names_of_the_version_before_still_work)
{
    scene_sim s = scene_sim_quoted("{'dimension': 2, 'step': 0.01, 'bodies': [{'name': 'rotor', "
                                   "'mass': 1, 'inertia': 1}], 'joints':"
                                   " [{'name': 'axle', 'type': 'revolute', 'a': 'world', 'b': "
                                   "'rotor', 'at': [0,0], 'motor': {'type':"
                                   " 'velocity', 'target': 0, 'max_effort': 100}}]}");
    CHECK_OK(perp_sim_joint_target(s.sim, 0, 1.0));
    CHECK_OK(perp_sim_step(s.sim));
    CHECK_NEAR(perp_sim_joint(s.sim, 0).rate[0], 1.0, 1e-12);
    CHECK_OK(perp_sim_joint_effort(s.sim, 0, 1000.0));
    CHECK_OK(perp_sim_step(s.sim));
    CHECK_NEAR(perp_sim_joint(s.sim, 0).rate[0], 1.0 + 900 * 0.01, 1e-9);
    scene_sim_close(&s);
}
