/* src/collide/narrow/patch.h - the patch of a soft contact: a bed of springs on a plane.
 *
 * Source     [B09 2.4.4]: springs and dampers between pairs of points, spread over the patch
 * Departure  the springs stand on the plane in a grid of its own frame, at right angles to it; the
 *            deflection of each is the depth of the body's surface along it. Each spring is a contact
 *            candidate (its feature: its index in the grid), so that contact, separation, friction and
 *            damping are separate for each spring. Pairs other than a plane with a sphere, box or cylinder
 *            (a half-plane with a circle, box or polygon) are refused.
 */
#ifndef PERPI_COLLIDE_PATCH_H
#define PERPI_COLLIDE_PATCH_H

#include "collide/collide.h"

/* Whether there is a patch between shapes of these types, in either order. */
bool perpi_patch_exists(perp_shape_type a, perp_shape_type b);

/* plane: a PLANE or HALFPLANE. Adds the springs, `spacing` apart, whose gap is at most the margin.
 * PERP_ERROR_INPUT: too many; `owner` is the body that the message names. */
PERP_NODISCARD perp_status perpi_patch_find(const perpi_shape* plane, const perpi_pose* pose_plane,
                                            const perpi_shape* body, const perpi_pose* pose_body,
                                            double spacing, int32_t owner, double margin,
                                            perpi_candidate_list* list);

#endif
