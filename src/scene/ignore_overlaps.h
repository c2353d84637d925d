/* src/scene/ignore_overlaps.h - links of an imported robot that overlap at the start. */
#ifndef PERPI_IGNORE_OVERLAPS_H
#define PERPI_IGNORE_OVERLAPS_H

#include <jansson.h>

#include "model/model.h"
#include "scene/notice.h"

/* Finds the pairs of bodies of the model that overlap at the start and adds each to the `ignores` of one of
 * them, in both trees (which may be the same one), with a notice. *any: the model must be built again. */
PERP_NODISCARD perp_status perpi_ignore_overlaps(perp_context* context, const perp_model* model,
                                                 json_t* source, json_t* root,
                                                 perpi_notices* notices, bool* any);

#endif
