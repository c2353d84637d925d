/* src/scene/expand.h - keys of a scene that stand for many bodies or move them at the start.
 *
 *     copies         of a body: many of it
 *     include        a robot or another scene, with a prefix, a pose and a configuration
 *     configuration  joint coordinates at the start
 *
 * The tree that a simulation is built from, and that a recording holds, has their results instead.
 */
#ifndef PERPI_EXPAND_H
#define PERPI_EXPAND_H

#include "scene/reader.h"

/* r->places, an object, gets for each list of which items were added an array with the place of
 * each item in its file: ["/bodies/1", "copy 57"] or ["/include/0: arm.json: /bodies/3"]. Messages
 * about the expanded tree name it. */

/* Whether the tree has any of these keys. */
bool perpi_expands(const json_t* root);
/* Bodies with `copies`, in place. */
PERP_NODISCARD perp_status perpi_expand_copies(perpi_reader* r, json_t* root);
/* Moves the links of `tree` to the coordinates of the object `configuration` of `holder`, which is
 * removed. */
PERP_NODISCARD perp_status perpi_expand_configuration(perpi_reader* r, json_t* holder,
                                                      json_t* tree);
/* Adds the bodies, joints, forces and controllers of another tree as an entry of `include` says. */
PERP_NODISCARD perp_status perpi_expand_include(perpi_reader* r, json_t* root, const json_t* entry,
                                                json_t* tree, const json_t* places);

#endif
