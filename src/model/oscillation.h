/* src/model/oscillation.h - a motion given by sinusoidal accelerations, as a function of time.
 *
 *     acceleration along (about) axis i:  sum of A sin(2 pi f t + phase)
 *
 * integrated twice with the constants for which the pose of the body is the mean: the mean
 * velocity is the body's own (0 by default), the mean displacement is 0. Positions, velocities and
 * a rotation about one axis are closed forms. A rotation about several axes is not [P09 appendix]:
 * see oscillation.c. The result depends on t alone, not on the steps or the snapshot from which t was
 * reached.
 */
#ifndef PERPI_OSCILLATION_H
#define PERPI_OSCILLATION_H

#include "base/context.h"
#include "base/vec.h"
#include "perp/model.h"

typedef struct perpi_oscillation perpi_oscillation;

/* x, q, angle: the mean pose; v, w: mean velocities. Messages start with the member
 * ("motion/acceleration/angular: ..."). */
PERP_NODISCARD perp_status perpi_oscillation_create(perp_context* context, int32_t dimension,
                                                    const perp_motion_def* def, vec3 x, quat q,
                                                    double angle, vec3 v, vec3 w,
                                                    perpi_oscillation** oscillation);
void perpi_oscillation_destroy(perp_context* context, perpi_oscillation* oscillation);
/* angle: planar. v, w may be NULL. */
void perpi_oscillation_at(const perpi_oscillation* o, double t, vec3* x, quat* q, double* angle,
                          vec3* v, vec3* w);
/* The rotation from time 0 to t, in world axes; the orientation is its product with that at 0. */
quat perpi_oscillation_turn(const perpi_oscillation* o, double t);

#endif
