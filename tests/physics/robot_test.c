/* Joint-space quantities (perp/robot.h) against energy, finite differences and the steps of the
 * simulation; armature and soft gears against closed forms. */
#include <math.h>
#include <stdlib.h>

#include "perp_test.h"
#include "sim/internal.h"
#include "step/feed_forward.h"
#include "support/scene_sim.h"

/* An arm of three joints on a slanted axis, the second with an armature, and a free body. */
#define ARM                                                                                        \
    "{'gravity':[0.3,-0.2,-9.81],'step':%s,'duration':1,'joint_correction':true,'bodies':["        \
    "{'name':'l1','mass':2,'inertia':[0.02,0.03,0.04],'position':[0.1,0,0.2]},"                    \
    "{'name':'l2','mass':1,'inertia':[[0.01,0.001,0],[0.001,0.012,0],[0,0,0.008]],"                \
    "'position':[0.3,0.1,0.4],'orientation':[1,0.2,0.3,0.1]},"                                     \
    "{'name':'l3','mass':0.5,'inertia':[0.003,0.002,0.004],'position':[0.5,0,0.5]},"               \
    "{'name':'ball','mass':0.7,'inertia':[0.1,0.1,0.1],'position':[3,0,0],'velocity':[1,2,3],"     \
    "'angular_velocity':[0.1,0.2,0.3]}],'joints':["                                                \
    "{'name':'j1','type':'revolute','a':'world','b':'l1','at':[0,0,0],'axis':[0.1,0.2,1]},"        \
    "{'name':'j2','type':'revolute','a':'l2','b':'l1','at':[0.2,0,0.3],'axis':[0,1,0.3],"          \
    "'armature':0.3},"                                                                             \
    "{'name':'j3','type':'prismatic','a':'l2','b':'l3','at':[0.4,0.1,0.45],'axis':[1,0,0.5]}]}"

enum { N = 9 };

static void move_arm(scene_sim* s)
{
    const double q[3] = {0.4, -0.7, 0.05}, u[3] = {1.1, -0.6, 0.3};
    for (int32_t i = 0; i < 3; ++i) {
        CHECK(perp_sim_set_joint(s->sim, i, q[i], u[i]) == PERP_OK);
    }
}

static double dot(int n, const double* a, const double* b)
{
    double sum = 0.0;
    for (int i = 0; i < n; ++i) {
        sum += a[i] * b[i];
    }
    return sum;
}

TEST(mass_matrix_gives_the_kinetic_energy_and_the_jacobian_the_velocities)
{
    scene_sim s = scene_sim_open(ARM, "0.001");
    CHECK(s.sim != NULL);
    move_arm(&s);
    perp_robot* robot = NULL;
    CHECK(perp_robot_create(s.context, s.sim, &robot) == PERP_OK);
    CHECK(perp_robot_dof_count(robot) == N);
    double M[N * N], u[N], J[6 * N], center[3], energy = 0.0;
    perp_robot_mass_matrix(robot, M);
    perp_robot_rates(robot, u);
    for (int i = 0; i < N; ++i) {
        energy += 0.5 * u[i] * dot(N, M + N * i, u);
        for (int k = 0; k < N; ++k) {
            CHECK_AT_MOST(fabs(M[N * i + k] - M[N * k + i]), 0.0);
        }
    }
    CHECK_AT_MOST(fabs(energy / perp_sim_energy(s.sim).kinetic - 1.0), 1e-12);
    for (int32_t body = 0; body < 4; ++body) {
        const perp_body_state state = perp_sim_body(s.sim, body);
        perp_robot_jacobian(robot, body, state.position, J);
        for (int k = 0; k < 3; ++k) {
            CHECK_AT_MOST(fabs(dot(N, J + N * k, u) - state.velocity[k]), 1e-12);
            CHECK_AT_MOST(fabs(dot(N, J + N * (k + 3), u) - state.angular_velocity[k]), 1e-12);
        }
    }
    CHECK_AT_MOST(fabs(perp_robot_center(robot, center) - 4.2), 1e-14);
    perp_robot_destroy(robot);
    scene_sim_close(&s);
}

TEST(jacobian_agrees_with_finite_differences_of_the_pose)
{
    scene_sim s = scene_sim_open(ARM, "0.001");
    move_arm(&s);
    perp_robot* robot = NULL;
    CHECK(perp_robot_create(s.context, s.sim, &robot) == PERP_OK);
    double J[6 * N];
    const perp_body_state tip = perp_sim_body(s.sim, 2);
    perp_robot_jacobian(robot, 2, tip.position, J);
    const double q[3] = {0.4, -0.7, 0.05}, d = 1e-6;
    for (int32_t i = 0; i < 3; ++i) {
        double x[2][3];
        for (int side = 0; side < 2; ++side) {
            CHECK(perp_sim_set_joint(s.sim, i, q[i] + (side == 0 ? -d : d), NAN) == PERP_OK);
            const perp_body_state at = perp_sim_body(s.sim, 2);
            for (int k = 0; k < 3; ++k) {
                x[side][k] = at.position[k];
            }
        }
        CHECK(perp_sim_set_joint(s.sim, i, q[i], NAN) == PERP_OK);
        const int32_t dof = perp_robot_joint_dof(robot, i);
        for (int k = 0; k < 3; ++k) {
            CHECK_AT_MOST(fabs((x[1][k] - x[0][k]) / (2 * d) - J[N * k + dof]), 1e-9);
        }
    }
    perp_robot_destroy(robot);
    scene_sim_close(&s);
}

/* Lagrange's equations with derivatives by differences: tau = M a + (dM/dt) u - grad (u' M u / 2) + grad V. */
TEST(inverse_dynamics_agrees_with_differences_of_the_energies)
{
    scene_sim s = scene_sim_open(ARM, "0.001");
    move_arm(&s);
    perp_robot* robot = NULL;
    REQUIRE(perp_robot_create(s.context, s.sim, &robot) == PERP_OK);
    const double q[3] = {0.4, -0.7, 0.05}, u[3] = {1.1, -0.6, 0.3}, a[3] = {3.0, -5.0, 2.0};
    const double d = 1e-5;
    double M[N * N], side[2][N * N], slope[3][3][3], weight[3], rate[N] = {0}, asked[N] = {0},
                                                                tau[N];
    int32_t dof[3];
    for (int32_t i = 0; i < 3; ++i) {
        dof[i] = perp_robot_joint_dof(robot, i);
        rate[dof[i]] = u[i];
        asked[dof[i]] = a[i];
    }
    perp_robot_mass_matrix(robot, M);
    perp_robot_inverse_dynamics(robot, rate, asked, tau);
    for (int32_t k = 0; k < 3; ++k) {
        double V[2];
        for (int i = 0; i < 2; ++i) {
            CHECK(perp_sim_set_joint(s.sim, k, q[k] + (i == 0 ? -d : d), NAN) == PERP_OK);
            perp_robot_mass_matrix(robot, side[i]);
            V[i] = perp_sim_energy(s.sim).potential;
        }
        CHECK(perp_sim_set_joint(s.sim, k, q[k], NAN) == PERP_OK);
        weight[k] = (V[1] - V[0]) / (2 * d);
        for (int i = 0; i < 3; ++i) {
            for (int j = 0; j < 3; ++j) {
                const int at = N * dof[i] + dof[j];
                slope[k][i][j] = (side[1][at] - side[0][at]) / (2 * d);
            }
        }
    }
    for (int i = 0; i < 3; ++i) {
        double expected = weight[i];
        for (int j = 0; j < 3; ++j) {
            expected += M[N * dof[i] + dof[j]] * a[j];
            for (int k = 0; k < 3; ++k) {
                expected += (slope[k][i][j] - 0.5 * slope[i][j][k]) * u[j] * u[k];
            }
        }
        CHECK_AT_MOST(fabs(tau[dof[i]] - expected), 1e-8);
    }
    perp_robot_destroy(robot);
    scene_sim_close(&s);
}

TEST(gravity_efforts_hold_the_robot)
{
    scene_sim s = scene_sim_open(ARM, "0.001");
    const double q[3] = {0.4, -0.7, 0.05};
    for (int32_t i = 0; i < 3; ++i) {
        CHECK(perp_sim_set_joint(s.sim, i, q[i], 0.0) == PERP_OK);
    }
    perp_robot* robot = NULL;
    CHECK(perp_robot_create(s.context, s.sim, &robot) == PERP_OK);
    for (int step = 0; step < 20; ++step) {
        double tau[N];
        perp_robot_gravity(robot, tau);
        for (int32_t i = 0; i < 3; ++i) {
            CHECK(perp_sim_apply_joint_effort(s.sim, i, tau[perp_robot_joint_dof(robot, i)]) ==
                  PERP_OK);
        }
        CHECK(perp_sim_step(s.sim) == PERP_OK);
    }
    for (int32_t i = 0; i < 3; ++i) {
        CHECK_AT_MOST(fabs(perp_sim_joint(s.sim, i).coordinate[0] - q[i]), 1e-9);
    }
    perp_robot_destroy(robot);
    scene_sim_close(&s);
}

/* A flywheel on its own axis: (I + A) u' = effort, to rounding, and the energy counts the rotor. */
TEST(armature_adds_to_the_inertia_of_one_coordinate_alone)
{
    static const char* const direction[] = {"start", "middle"};
    for (int k = 0; k < 2; ++k) {
        scene_sim s = scene_sim_open(
            "{'step':0.01,'duration':1,'joint_direction':'%s','bodies':["
            "{'name':'base','mass':1,'inertia':[1,1,1],'position':[0,0,0]},"
            "{'name':'wheel','mass':1,'inertia':[0.5,0.5,0.2],'position':[0,0,1]}],'joints':["
            "{'name':'axle','type':'revolute','a':'base','b':'wheel','at':[0,0,1],'axis':[0,0,1],"
            "'armature':0.3}]}",
            direction[k]);
        for (int i = 0; i < 100; ++i) {
            CHECK(perp_sim_apply_joint_effort(s.sim, 0, 0.6) == PERP_OK);
            CHECK(perp_sim_step(s.sim) == PERP_OK);
            CHECK_AT_MOST(fabs(perp_sim_step_info(s.sim).ledger.unexplained), 1e-13);
        }
        /* base and wheel turn against each other: 1/(1/1 + 1/0.2) + 0.3 */
        const double inertia = 1.0 / (1.0 / 1.0 + 1.0 / 0.2) + 0.3;
        CHECK_AT_MOST(fabs(perp_sim_joint(s.sim, 0).rate[0] - 0.6 / inertia), 1e-11);
        const double w = 0.6 / inertia;
        CHECK_AT_MOST(fabs(perp_sim_energy(s.sim).kinetic - 0.5 * inertia * w * w), 1e-11);
        scene_sim_close(&s);
    }
}

/* Two hinges in series and a spring on the sum of their angles: it comes to rest at the offset. */
TEST(a_soft_gear_pulls_a_sum_of_coordinates_to_its_offset)
{
    scene_sim s = scene_sim_open(
        "{'step':0.01,'duration':20,'bodies':["
        "{'name':'l1','mass':1,'inertia':[0.1,0.1,0.1],'position':[0.5,0,0]},"
        "{'name':'l2','mass':1,'inertia':[0.1,0.1,0.1],'position':[1.5,0,0]}],'joints':["
        "{'name':'j1','type':'revolute','a':'world','b':'l1','at':[0,0,0],'axis':[0,0,1],"
        "'damping':0.1},"
        "{'name':'j2','type':'revolute','a':'l1','b':'l2','at':[1,0,0],'axis':[0,0,1],"
        "'damping':0.1},"
        "{'name':'tendon','type':'gear','joints':['j1','j2'],'ratio':-1,'offset':0.7,"
        "'stiffness':5,'damping':2,'max_effort':0.5}]}");
    CHECK(s.sim != NULL);
    for (int i = 0; i < 2000; ++i) {
        CHECK(perp_sim_step(s.sim) == PERP_OK);
        CHECK_AT_MOST(fabs(perp_sim_step_info(s.sim).ledger.unexplained), 1e-12);
        CHECK_AT_MOST(perp_sim_step_info(s.sim).certificate.worst, 1e-8);
    }
    const double sum =
        perp_sim_joint(s.sim, 0).coordinate[0] + perp_sim_joint(s.sim, 1).coordinate[0];
    CHECK_AT_MOST(fabs(sum - 0.7), 1e-3);
    scene_sim_close(&s);
}

/* ---- feed-forward of gravity ------------------------------------------------------------------------------*/

/* A branched mechanism: two arms on a cart, one joint with its sides exchanged, a gear, a body that
 * gravity pulls less. */
#define BRANCHES                                                                                   \
    "{'gravity':[0.5,-1,-9.81],'step':0.001,'duration':1,'bodies':["                               \
    "{'name':'cart','mass':3,'inertia':[0.1,0.1,0.1],'position':[0,0,0.1]},"                       \
    "{'name':'a1','mass':1,'inertia':[0.01,0.02,0.02],'position':[0.3,0,0.1]},"                    \
    "{'name':'a2','mass':0.5,'inertia':[0.01,0.01,0.01],'position':[0.7,0,0.2],"                   \
    "'gravity':[0,0,-3]},"                                                                         \
    "{'name':'b1','mass':2,'inertia':[0.02,0.02,0.02],'position':[-0.3,0,0.4]}],'joints':["        \
    "{'name':'slide','type':'prismatic','a':'world','b':'cart','at':[0,0,0],'axis':[1,0.2,0.4]},"  \
    "{'name':'p','type':'revolute','a':'a1','b':'cart','at':[0.1,0,0.1],'axis':[0,1,0.2]},"        \
    "{'name':'q','type':'revolute','a':'a1','b':'a2','at':[0.5,0,0.1],'axis':[0.3,1,0]},"          \
    "{'name':'r','type':'revolute','a':'cart','b':'b1','at':[-0.1,0,0.2],'axis':[1,0,0]}],"        \
    "'controllers':["                                                                              \
    "{'name':'cs','type':'pd','joint':'slide','target':0,'kp':0,'kd':1,'feed_forward':'gravity'}," \
    "{'name':'cp','type':'pd','joint':'p','target':0,'kp':0,'kd':1,'feed_forward':'gravity'},"     \
    "{'name':'cq','type':'pd','joint':'q','target':0,'kp':0,'kd':1,'feed_forward':'gravity'},"     \
    "{'name':'cr','type':'pd','joint':'r','target':0,'kp':0,'kd':1,'feed_forward':'gravity'}]}"

TEST(feed_forward_of_gravity_is_the_gravity_effort_of_the_robot)
{
    scene_sim s = scene_sim_open(BRANCHES);
    REQUIRE(s.sim != NULL);
    perp_robot* robot = NULL;
    CHECK(perp_robot_create(s.context, s.sim, &robot) == PERP_OK);
    for (int trial = 0; trial < 5; ++trial) {
        for (int32_t i = 0; i < 4; ++i) {
            CHECK(perp_sim_set_joint(s.sim, i, 0.3 * trial * (i - 1.3), 0.0) == PERP_OK);
        }
        double effort[4];
        CHECK_EQ_INT(perp_robot_dof_count(robot), 4);
        perp_robot_gravity(robot, effort);
        for (int32_t i = 0; i < 4; ++i) {
            const double fed =
                perpi_feed_forward(s.sim->model, s.sim->state.q, &s.sim->model->controller[i]);
            CHECK_NEAR(fed, effort[perp_robot_joint_dof(robot, i)], 1e-12);
            CHECK(fabs(fed) > 1e-3);
        }
    }
    /* so it stays where it is */
    for (int i = 0; i < 20; ++i) {
        CHECK(perp_sim_step(s.sim) == PERP_OK);
    }
    CHECK_AT_MOST(perp_sim_energy(s.sim).kinetic, 1e-12);
    perp_robot_destroy(robot);
    scene_sim_close(&s);
}
