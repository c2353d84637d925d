/* src/collide/narrow/gjk.h - the closest points of two convex bodies that are apart, by their supports. */
#ifndef PERPI_COLLIDE_GJK_H
#define PERPI_COLLIDE_GJK_H

#include "base/vec.h"
#include "perp/base.h"

/* The point of a body farthest along a direction (of any length > 0). */
typedef vec3 (*perpi_support_fn)(const void* body, vec3 direction);

typedef struct perpi_gjk {
    double distance; /* 0: they overlap, or the distance is below rounding */
    vec3 a, b;       /* the closest points, if distance > 0 */
} perpi_gjk;

/* tiny: a smaller distance counts as contact. start: any direction from a to b. */
perpi_gjk perpi_gjk_closest(const void* a, perpi_support_fn support_a, const void* b,
                            perpi_support_fn support_b, vec3 start, double tiny);

/* The same where only a distance up to `limit` matters: a larger one may be any number above it, without
 * points. */
perpi_gjk perpi_gjk_within(const void* a, perpi_support_fn support_a, const void* b,
                           perpi_support_fn support_b, vec3 start, double tiny, double limit);

/* Whether the distance exceeds a limit >= 0; then *axis (in: any direction from a to b; out: unit, from a to b)
 * separates the bodies by *gap > limit. Both are unchanged otherwise. */
bool perpi_gjk_farther(const void* a, perpi_support_fn support_a, const void* b,
                       perpi_support_fn support_b, double limit, vec3* axis, double* gap);

#endif
