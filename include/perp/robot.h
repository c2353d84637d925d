/* perp/robot.h - joint-space quantities of a mechanism: mass matrix, Jacobian, inverse dynamics.
 *
 * A simulation keeps poses and velocities of bodies; these functions give what robot control is written in. The
 * coordinates of a robot are those of a tree of its joints, and six for each body that no joint holds:
 * joints are taken in the order of the model, one that would close a loop is left out, and so are ropes and
 * gears. Spatial models with fixed, revolute, prismatic and spherical joints; static and kinematic bodies are
 * the ground, which is at rest here.
 *
 *     revolute, prismatic   the rate of the joint's coordinate
 *     spherical             angular velocity of b relative to a, world axes: 3
 *     a free body           velocity of the centre of mass, angular velocity, world axes: 6
 *
 * With rates u of these, efforts tau (torques and forces along them):
 *     M(q) u' + c(q, u) + g(q) = tau
 * M contains the armature of joints. Friction, damping, motors, springs and contacts are not part of it.
 */
#ifndef PERP_ROBOT_H
#define PERP_ROBOT_H

#include "perp/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct perp_robot perp_robot;

/* One coordinate. */
typedef struct perp_robot_dof {
    int32_t joint; /* of the model; -1: of a free body */
    int32_t body;  /* that it moves against its parent (of a joint: the side away from the root) */
    int32_t
        component; /* spherical: 0..2; free body: 0..2 along, 3..5 about the world axes; else 0 */
} perp_robot_dof;

/* The tree of a simulation's model; it reads the simulation's state whenever one of its functions is
 * called, and must be destroyed before it. PERP_ERROR_INPUT: planar, or a joint of another type in the tree. */
PERP_API PERP_NODISCARD perp_status perp_robot_create(perp_context* context, const perp_sim* sim,
                                                      perp_robot** robot);
PERP_API void perp_robot_destroy(perp_robot* robot);
PERP_API int32_t perp_robot_dof_count(const perp_robot* robot);
PERP_API perp_robot_dof perp_robot_dof_info(const perp_robot* robot, int32_t dof);
/* The first coordinate of a joint; -1: it is not in the tree, or is fixed. */
PERP_API int32_t perp_robot_joint_dof(const perp_robot* robot, int32_t joint);

/* All arrays are the caller's; n: dof_count. No allocation after creation. */

/* n rates of the present state. */
PERP_API void perp_robot_rates(perp_robot* robot, double* rate);
/* n x n, symmetric. Composite rigid bodies: Featherstone, Rigid Body Dynamics Algorithms, 6.2. */
PERP_API void perp_robot_mass_matrix(perp_robot* robot, double* M);
/* 6 x n, row-major: velocity of a point of the body (world coordinates, moving with it), then its angular
 * velocity. */
PERP_API void perp_robot_jacobian(perp_robot* robot, int32_t body, const double point[3],
                                  double* J);
/* n efforts for accelerations at the rates (NULL: those of the state). Newton-Euler, likewise 5.3. */
PERP_API void perp_robot_inverse_dynamics(perp_robot* robot, const double* rate,
                                          const double* acceleration, double* effort);
/* n efforts that hold the robot at rest against gravity. */
PERP_API void perp_robot_gravity(perp_robot* robot, double* effort);
/* Mass and centre of mass of all dynamic bodies. */
PERP_API double perp_robot_center(perp_robot* robot, double center[3]);

#ifdef __cplusplus
}
#endif
#endif
