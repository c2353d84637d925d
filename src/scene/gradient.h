/* src/scene/gradient.h - gradients by parameters, for modules above: whether there are any. */
#ifndef PERPI_SCENE_GRADIENT_H
#define PERPI_SCENE_GRADIENT_H

#include "perp/gradient.h"

/* Refuses what perp_gradient_create refuses before its run, without the run. */
PERP_NODISCARD perp_status perpi_gradient_try(perp_context* context, perp_scene* scene,
                                              const perp_gradient_def* def);

#endif
