/* src/collide/reach.h - pairs of links that cannot meet within the limits of the joints between them.
 *
 * Found once, for the two bodies at the ends of a chain of revolute, prismatic and fixed joints: the joints'
 * ranges, a little widened, are divided until for each part the bodies are apart at its middle by
 * more than any point can move within it. Each step then asks at its own poses, whether the joints
 * are within these ranges, and by how much they are open: so a joint that leaves its limits, or is
 * pulled apart, brings its pairs back, and candidates do not depend on this.
 */
#ifndef PERPI_COLLIDE_REACH_H
#define PERPI_COLLIDE_REACH_H

#include "model/model.h"

typedef struct perpi_reach perpi_reach;

/* *reach: NULL if no pair was found. collides: whether two bodies (a < b) may collide. */
PERP_NODISCARD perp_status perpi_reach_find(perp_context* context, const perp_model* model,
                                            bool (*collides)(void* user, int32_t a, int32_t b),
                                            void* user, perpi_reach** reach);
/* For another context. */
PERP_NODISCARD perp_status perpi_reach_copy(perp_context* context, const perp_model* model,
                                            const perpi_reach* from, perpi_reach** reach);
void perpi_reach_free(perp_context* context, perpi_reach* reach);

/* Pairs of bodies found. */
int32_t perpi_reach_count(const perpi_reach* reach);

/* Whether the bodies a < b are farther apart than the margin at these poses (one per body). False: they may be
 * nearer. */
bool perpi_reach_apart(const perpi_reach* reach, const perpi_pose* pose, int32_t a, int32_t b,
                       double margin);

#endif
