/* src/step/frames.h - frames without mass between joints, in the problem of a step: see frames.c. */
#ifndef PERPI_FRAMES_H
#define PERPI_FRAMES_H

#include "step/formulate.h"

/* Gives the frames mass of the bodies at the ends of their chains, before the rows of joints are
 * appended. v: flat velocities that momenta are measured from, or NULL. */
PERP_NODISCARD perp_status perpi_frames_share(perpi_formulation* f, const perp_model* model,
                                              const double* q, const double* v,
                                              const perpi_joint_input* input);
/* Brings k up to the b of the joints' rows, whenever these have changed. */
void perpi_frames_follow(perpi_formulation* f);

/* Impulses of the joints of chains: of the mechanism <-> of the problem with velocities v_problem. */
void perpi_frames_gather(const perpi_formulation* f, const double* v_problem, double* p_problem);
void perpi_frames_scatter(const perpi_formulation* f, const double* v_problem,
                          perp_joint_record* record);
/* Whether the impulses of the joint in the problem are not those of the mechanism. */
bool perpi_frames_hold(const perpi_formulation* f, int32_t joint);

#endif
