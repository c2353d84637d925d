/* src/model/oscillation_slope.h - how the pose and the velocity of an oscillation depend on its numbers.
 *
 * With the numbers (amplitudes, frequencies, phases, means) of the oscillation as functions of
 * theta, at fixed t: closed forms, and for a turn about several axes the derivative of the Magnus
 * series, from a table over one period. */
#ifndef PERPI_OSCILLATION_SLOPE_H
#define PERPI_OSCILLATION_SLOPE_H

#include "model/oscillation.h"

typedef struct perpi_oscillation_slope perpi_oscillation_slope;

/* By `count` parameters. d f / d theta_i = sum over k of weight[others i + k] f(other[others i +
 * k]), for any number f of the oscillation. *slope stays NULL where there is no such form: a wave
 * begins or ends with a parameter, or frequencies of turns about several axes change. */
PERP_NODISCARD perp_status perpi_oscillation_slope_create(
    perp_context* context, const perpi_oscillation* o, int32_t count, int32_t others,
    const perpi_oscillation* const* other, const double* weight, perpi_oscillation_slope** slope);
void perpi_oscillation_slope_destroy(perp_context* context, perpi_oscillation_slope* slope);
/* pose, velocity: 6 for each parameter: displacement and rotation vector in the world, velocity and
 * angular velocity; planar: of the turns the last. q: the orientation itself; planar: not set. */
void perpi_oscillation_slope_at(const perpi_oscillation_slope* s, double t, quat* q, double* pose,
                                double* velocity);

#endif
