/* src/scene/write.h - a model as a scene. */
#ifndef PERPI_SCENE_WRITE_H
#define PERPI_SCENE_WRITE_H

#include <jansson.h>

#include "perp/scene.h"

/* The tree of a scene file that builds the model with these settings; the caller releases it. */
PERP_NODISCARD perp_status perpi_scene_tree(perp_context* context, const perp_model* model,
                                            const perp_scene_run* run, int32_t record_every,
                                            json_t** tree);
/* scene.c: the scene of such a tree. */
PERP_NODISCARD perp_status perpi_scene_from_model(perp_context* context, const perp_model* model,
                                                  const perp_scene_run* run, int32_t record_every,
                                                  perp_scene** scene);

#endif
