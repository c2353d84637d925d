/* Parameters changed while a simulation runs: of that simulation alone, from the next step on. */
#include <math.h>
#include <string.h>

#include "perp_test.h"

#include "perp/perp.h"
#include "support/scene_sim.h"

static const char BLOCK[] =
    "{'step': 0.01, 'gravity': [0,0,-10], 'duration': 10, 'friction': {'default': 0.5}, 'bodies': ["
    "{'name': 'floor', 'type': 'static', 'shapes': [{'type': 'plane', 'normal': [0,0,1]}]},"
    "{'name': 'block', 'mass': 1, 'position': [0,0,0.5], 'velocity': [3,0,0], 'shapes': [{'type': "
    "'box',"
    " 'size': [1,1,1]}]}]}";

static double run(perp_sim* sim, int steps)
{
    for (int i = 0; i < steps; ++i) {
        CHECK_OK(perp_sim_step(sim));
    }
    return perp_sim_body(sim, 1).velocity[0];
}

TEST(friction_of_a_body_and_of_a_pair_changes_from_the_next_step_on)
{
    scene_sim s = scene_sim_quoted("%s", BLOCK);
    CHECK_NEAR(run(s.sim, 10), 3 - 0.1 * 5, 1e-9);
    CHECK_OK(perp_sim_set_friction(s.sim, 1, 0.0)); /* the geometric mean is 0 then */
    CHECK_NEAR(run(s.sim, 10), 2.5, 1e-9);
    CHECK_OK(perp_sim_set_pair_friction(s.sim, 1, 0, 0.2));
    CHECK_NEAR(run(s.sim, 10), 2.5 - 0.1 * 2, 1e-9);
    CHECK_NEAR(perp_model_pair_friction(perp_sim_model(s.sim), 0, 1), 0.2, 0.0);
    CHECK_NEAR(perp_model_pair_friction(perp_scene_model(s.scene), 0, 1), 0.5, 0.0);
    CHECK_OK(perp_sim_set_pair_friction(s.sim, 1, 0, NAN));
    CHECK_OK(perp_sim_set_friction(s.sim, 1, NAN)); /* as the model has it */
    CHECK_NEAR(run(s.sim, 10), 2.3 - 0.1 * 5, 1e-9);
    CHECK_AT_MOST(fabs(perp_sim_ledger_total(s.sim).unexplained), 1e-10);
    scene_sim_close(&s);
}

TEST(parameters_survive_a_reset_and_go_with_a_clone_but_not_to_another_simulation)
{
    scene_sim s = scene_sim_quoted("%s", BLOCK);
    perp_sim *clone = NULL, *other = NULL;
    CHECK_OK(perp_sim_set_pair_friction(s.sim, 0, 1, 0.1));
    CHECK_OK(perp_sim_clone(s.sim, NULL, &clone));
    CHECK_OK(perp_sim_create_from_scene(s.context, s.scene, &other));
    CHECK_NEAR(run(clone, 10), 3 - 0.1 * 1, 1e-9);
    CHECK_NEAR(run(other, 10), 3 - 0.1 * 5, 1e-9);
    CHECK_NEAR(run(s.sim, 10), 3 - 0.1 * 1, 1e-9);
    CHECK_OK(perp_sim_reset(s.sim));
    CHECK_NEAR(run(s.sim, 10), 3 - 0.1 * 1, 1e-9);
    perp_sim_destroy(clone);
    perp_sim_destroy(other);
    scene_sim_close(&s);
}

TEST(friction_that_cannot_be_set_is_refused)
{
    scene_sim s = scene_sim_quoted(
        "{'step': 0.01, 'solver': 'lemke', 'bodies': ["
        "{'name': 'floor', 'type': 'static', 'shapes': [{'type': 'plane', 'normal': [0,0,1]}]},"
        "{'name': 'ball', 'mass': 1, 'position': [0,0,1], 'shapes': [{'type': 'sphere', 'radius': "
        "1,"
        " 'friction': 0}]}]}");
    CHECK_EQ_INT(perp_sim_set_friction(s.sim, 0, -1), PERP_ERROR_INPUT);
    CHECK_EQ_INT(perp_sim_set_friction(s.sim, 2, 1), PERP_ERROR_INPUT);
    CHECK_EQ_INT(perp_sim_set_friction(s.sim, 0, 0.5), PERP_ERROR_INPUT); /* lemke takes no cone */
    CHECK_CONTAINS(perp_context_error(s.context), "lemke");
    CHECK_NEAR(perp_model_body_info(perp_sim_model(s.sim), 0).friction, 0.0, 0.0);
    CHECK_EQ_INT(perp_sim_set_pair_friction(s.sim, 0, 1, 0.0), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(s.context), "of their own");
    scene_sim_close(&s);
}

static const char DRIVEN[] =
    "{'dimension': 2, 'step': 0.01, 'duration': 50, 'bodies': ["
    "{'name': 'cart', 'mass': 1, 'inertia': 1, 'position': [1,0]},"
    "{'name': 'rotor', 'mass': 1, 'inertia': 1, 'position': [5,0]}],"
    "'joints': [{'name': 'rail', 'type': 'prismatic', 'a': 'world', 'b': 'cart', 'at': [1,0], "
    "'axis':"
    " [1,0]}, {'name': 'axle', 'type': 'revolute', 'a': 'world', 'b': 'rotor', 'at': [5,0], "
    "'motor':"
    " {'type': 'velocity', 'target': 1, 'max_effort': 0.5}}],"
    "'forces': [{'type': 'spring', 'a': 'world', 'b': 'cart', 'stiffness': 4, 'damping': 4, "
    "'rest': 2},"
    " {'type': 'wrench', 'body': 'cart', 'force': [4,0]}],"
    "'controllers': [{'type': 'pd', 'joint': 'axle', 'kp': 1, 'kd': 2, 'target': 0}]}";

TEST(springs_drag_motors_and_controllers_are_changed)
{
    scene_sim s = scene_sim_quoted("%s", DRIVEN);
    run(s.sim, 1500);
    CHECK_NEAR(perp_sim_body(s.sim, 0).position[0], 3.0, 1e-6); /* 2 + 4/4 */
    CHECK_OK(perp_sim_set_spring(s.sim, 0, 8.0, NAN, 1.0));
    run(s.sim, 1500);
    CHECK_NEAR(perp_sim_body(s.sim, 0).position[0], 1.5, 1e-6);
    CHECK_EQ_INT(perp_sim_set_spring(s.sim, 0, 0.0, 0.0, NAN), PERP_ERROR_INPUT);
    CHECK_EQ_INT(perp_sim_set_spring(s.sim, 0, NAN, NAN, 0.0), PERP_ERROR_INPUT);
    CHECK_EQ_INT(perp_sim_set_spring(s.sim, 1, 1.0, NAN, NAN), PERP_ERROR_INPUT);
    /* the motor's 0.5 against kp = 1: the rotor stands at 0.5; then with 0.25, at 0.25 */
    CHECK_NEAR(perp_sim_joint(s.sim, 1).coordinate[0], 0.5, 1e-6);
    CHECK_OK(perp_sim_set_motor_max_effort(s.sim, 1, 0.25));
    run(s.sim, 1500);
    CHECK_NEAR(perp_sim_joint(s.sim, 1).coordinate[0], 0.25, 1e-5);
    CHECK_EQ_INT(perp_sim_set_motor_max_effort(s.sim, 0, 1.0), PERP_ERROR_INPUT);
    scene_sim_close(&s);
}

TEST(gains_targets_drag_and_joint_friction_are_changed)
{
    scene_sim s = scene_sim_quoted("%s", DRIVEN);
    CHECK_OK(perp_sim_set_motor_max_effort(s.sim, 1, 0.0));
    CHECK_OK(perp_sim_set_controller_gains(s.sim, 0, 4.0, 0.0, 4.0));
    CHECK_OK(perp_sim_set_controller_target(s.sim, 0, 2.0));
    run(s.sim, 1500);
    CHECK_NEAR(perp_sim_joint(s.sim, 1).coordinate[0], 2.0, 1e-6);
    CHECK_OK(perp_sim_set_controller_target(s.sim, 0, NAN)); /* the model's: 0 */
    run(s.sim, 1500);
    CHECK_NEAR(perp_sim_joint(s.sim, 1).coordinate[0], 0.0, 1e-6);
    CHECK_EQ_INT(perp_sim_set_controller_gains(s.sim, 0, 0.0, 0.0, 0.0), PERP_ERROR_INPUT);
    CHECK_EQ_INT(perp_sim_set_controller_gains(s.sim, 1, 1.0, 0.0, 0.0), PERP_ERROR_INPUT);
    /* more dry friction than the controller can overcome: it stays where it is */
    CHECK_OK(perp_sim_set_joint_friction(s.sim, 1, 100.0));
    CHECK_OK(perp_sim_set_controller_target(s.sim, 0, 1.0));
    run(s.sim, 100);
    CHECK_NEAR(perp_sim_joint(s.sim, 1).coordinate[0], 0.0, 1e-6);
    CHECK_OK(perp_sim_set_joint_friction(s.sim, 1, NAN));
    CHECK_OK(perp_sim_set_joint_damping(s.sim, 1, 1e9));
    CHECK_OK(perp_sim_set_drag(s.sim, 0, 1e9, 0.0));
    const double before = perp_sim_body(s.sim, 0).position[0];
    CHECK_OK(perp_sim_set_spring(s.sim, 0, 400.0, NAN, 1.0));
    run(s.sim, 100);
    CHECK_NEAR(perp_sim_joint(s.sim, 1).coordinate[0], 0.0, 1e-5);
    CHECK_NEAR(perp_sim_body(s.sim, 0).position[0], before, 1e-5);
    scene_sim_close(&s);
}

TEST(an_explicit_spring_that_the_step_cannot_follow_is_refused)
{
    scene_sim s = scene_sim_quoted("{'dimension': 2, 'step': 0.01, 'bodies': [{'name': 'mass', "
                                   "'mass': 1, 'inertia': 1, 'position':"
                                   " [1,0]}], 'forces': [{'type': 'spring', 'a': 'world', 'b': "
                                   "'mass', 'stiffness': 4, 'rest': 0.5,"
                                   " 'implicit': false}]}");
    CHECK_OK(perp_sim_set_spring(s.sim, 0, 100.0, NAN, NAN));
    CHECK_EQ_INT(perp_sim_set_spring(s.sim, 0, 1e6, NAN, NAN), PERP_ERROR_INPUT); /* h^2 k > 4 m */
    CHECK_NEAR(perp_model_spring_info(perp_sim_model(s.sim), 0).stiffness, 100.0, 0.0);
    CHECK_OK(perp_sim_step(s.sim));
    scene_sim_close(&s);
}

/* Setting a parameter to what it is changes no bit. */
TEST(a_parameter_set_to_what_it_is_changes_nothing)
{
    scene_sim s = scene_sim_load("scenes/stack.json"), t = scene_sim_load("scenes/stack.json");
    for (int i = 0; i < 30; ++i) {
        if (i == 10) {
            const double mu = perp_model_body_info(perp_sim_model(s.sim), 1).friction;
            CHECK_OK(perp_sim_set_friction(s.sim, 1, mu));
        }
        CHECK_OK(perp_sim_step(s.sim));
        CHECK_OK(perp_sim_step(t.sim));
    }
    CHECK(memcmp(perp_sim_q(s.sim), perp_sim_q(t.sim),
                 (size_t)perp_sim_q_size(s.sim) * sizeof(double)) == 0);
    scene_sim_close(&t);
    scene_sim_close(&s);
}
