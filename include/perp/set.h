/* perp/set.h - setting the state of a simulation, cloning it, changing its parameters while it
 * runs.
 *
 * Names: perp_sim_set_... holds from now on, perp_sim_apply_... for the coming step alone.
 *
 * Setting a state resets perp_sim_ledger_total to 0 and empties perp_sim_step_info. The bodies that
 * moved have no warm start, a pending decompression (Poisson's law) is cancelled, and the offset
 * that an impact left for the next step is removed for the bodies that were set. All else is
 * unchanged: time, other bodies and their contacts, motor targets, integrals of controllers.
 * Setting a value to its present value changes no bit of the continuation.
 *
 * The next step begins with a check, as a simulation does at its start. A body whose pose was set
 * may overlap another by no more than 1e-3 of the smaller one's size (a running simulation has such
 * overlaps), and the errors of its joints may be no larger than that part of their size: else the
 * step returns PERP_ERROR_INPUT, with names, and the state can be set again. With allow_overlap
 * bodies are moved apart instead. perp_sim_check_state makes the check at once.
 *
 * In a recording, the frame after a state was set is marked (perp_frame.edited): its step cannot be
 * verified, and the second run continues from that frame. If perp_recorder_step is called right
 * after the state was set, before the next step, the set state is recorded as a frame, and every
 * step is verified. All of this may be called from perp_sim_on_step. Nothing here may be called
 * while another call on the same simulation is running.
 */
#ifndef PERP_SET_H
#define PERP_SET_H

#include "perp/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the state of bodies -------------------------------------------------------------------------*/

/* Pose and velocity of a body, as perp_sim_body gives them (planar: angle; else orientation, of any length
 * > 0). Dynamic bodies; kinematic ones unless their pose is a function of time. A kinematic body keeps the
 * velocity of its motion: only one without a motion takes another. PERP_ERROR_INPUT: a body that cannot be
 * set, or a number that is not finite; nothing has changed then. */
PERP_API PERP_NODISCARD perp_status perp_sim_set_body(perp_sim* sim, int32_t body,
                                                      const perp_body_state* state);
/* Position, and orientation w, x, y, z; NULL: as it is. Planar: an orientation about z, whose angle is the
 * nearest to the present one. */
PERP_API PERP_NODISCARD perp_status perp_sim_set_body_pose(perp_sim* sim, int32_t body,
                                                           const double position[3],
                                                           const double orientation[4]);
/* Velocity of the centre of mass and angular velocity, world; NULL: as it is. */
PERP_API PERP_NODISCARD perp_status perp_sim_set_body_velocity(perp_sim* sim, int32_t body,
                                                               const double velocity[3],
                                                               const double angular_velocity[3]);
/* All bodies at once, from arrays as perp_sim_q and perp_sim_v (these included); NULL: as they are.
 * Quaternions are normalised. Entries of static and kinematic bodies are not read. */
PERP_API PERP_NODISCARD perp_status perp_sim_set_state(perp_sim* sim, const double* q,
                                                       const double* v);
/* The check that the next step would make: see above. */
PERP_API PERP_NODISCARD perp_status perp_sim_check_state(perp_sim* sim);

/* ---- the state of joints -------------------------------------------------------------------------*/

/* Coordinates and rates in the order of perp_joint_type; NaN: as it is. */
typedef struct perp_joint_setting {
    int32_t joint;
    double coordinate[3];
    double rate[3];
} perp_joint_setting;
PERP_API perp_joint_setting perp_joint_setting_default(int32_t joint); /* nothing changed */

/* Moves bodies so that the joints have the given coordinates and rates. Bodies on the side of
 * static and kinematic bodies and of the world stay in place; of a free mechanism the body `a` of
 * the first joint that is named here stays. Other joints except ropes keep their coordinates and
 * rates. Joints with errors after perp_sim_set_body_pose are closed: those that are named here, and
 * those of the bodies that move with them. Fixed and spherical joints and ropes have no coordinates
 * to set.
 * PERP_ERROR_INPUT, with nothing changed: a coordinate beyond its limits, or a closed loop that
 * these coordinates do not close (to 1e-6 of the joint's size); name all joints of the loop that
 * change. */
PERP_API PERP_NODISCARD perp_status perp_sim_set_joints(perp_sim* sim,
                                                        const perp_joint_setting* setting,
                                                        int32_t count);
/* The same of one revolute or prismatic joint; NaN: as it is. */
PERP_API PERP_NODISCARD perp_status perp_sim_set_joint(perp_sim* sim, int32_t joint,
                                                       double coordinate, double rate);

/* ---- back to the start, and copies ---------------------------------------------------------------*/

/* Restores the state after perp_sim_create: time 0, no contacts, motors with the targets of the
 * model, no applied forces. The continuation has the bits of a new simulation. Parameters
 * (below) and callbacks are kept. */
PERP_API PERP_NODISCARD perp_status perp_sim_reset(perp_sim* sim);
/* An independent simulation of the same model in the same state, whose continuation has the same
 * bits: warm start, parameters, forces applied for the coming step, accounts and callbacks (with
 * the same user pointers) included. context: NULL for that of sim, or another one, so that
 * another thread can run it; the model is shared and must outlive both. perp_sim_problem is NULL
 * until its first step. */
PERP_API PERP_NODISCARD perp_status perp_sim_clone(const perp_sim* sim, perp_context* context,
                                                   perp_sim** clone);

/* ---- parameters ----------------------------------------------------------------------------------
 *
 * Of this simulation alone: the model stays as it is, perp_sim_model gives the model with the parameters in
 * use. They hold from the next step on, are not part of a snapshot, and stay after perp_sim_reset.
 * NaN gives the model's value back. The energy account starts anew. Frames of a recording are
 * marked as long as parameters are not those of the model (perp_frame.edited), and not verified:
 * the scene in the recording has the model's. */

/* Of a body; pairs with an entry of their own and shapes with their own coefficient keep it. */
PERP_API PERP_NODISCARD perp_status perp_sim_set_friction(perp_sim* sim, int32_t body, double mu);
/* Of a pair of bodies. PERP_ERROR_INPUT if shapes of theirs have coefficients of their own. */
PERP_API PERP_NODISCARD perp_status perp_sim_set_pair_friction(perp_sim* sim, int32_t a, int32_t b,
                                                               double mu);
/* Revolute and prismatic joints. */
PERP_API PERP_NODISCARD perp_status perp_sim_set_joint_friction(perp_sim* sim, int32_t joint,
                                                                double friction);
PERP_API PERP_NODISCARD perp_status perp_sim_set_joint_damping(perp_sim* sim, int32_t joint,
                                                               double damping);
PERP_API PERP_NODISCARD perp_status perp_sim_set_motor_max_effort(perp_sim* sim, int32_t joint,
                                                                  double max_effort);
/* Springs are numbered as in perp_model_spring_info. A rest length of 0 stays 0, and another stays above. */
PERP_API PERP_NODISCARD perp_status perp_sim_set_spring(perp_sim* sim, int32_t spring,
                                                        double stiffness, double damping,
                                                        double rest);
PERP_API PERP_NODISCARD perp_status perp_sim_set_drag(perp_sim* sim, int32_t body, double linear,
                                                      double angular);
PERP_API PERP_NODISCARD perp_status perp_sim_set_controller_gains(perp_sim* sim, int32_t controller,
                                                                  double kp, double ki, double kd);
PERP_API PERP_NODISCARD perp_status perp_sim_set_controller_target(perp_sim* sim,
                                                                   int32_t controller,
                                                                   double target);

#ifdef __cplusplus
}
#endif
#endif
