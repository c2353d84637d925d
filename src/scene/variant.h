/* src/scene/variant.h - the model that a scene gives with one number changed; the scene stays as it is. */
#ifndef PERPI_SCENE_VARIANT_H
#define PERPI_SCENE_VARIANT_H

#include "perp/scene.h"

/* What files are relative to. */
const char* perpi_scene_origin(const perp_scene* scene);
/* The present number of a parameter (name; of an expression too) or of a place (JSON pointer).
 * PERP_ERROR_INPUT: there is none, or the place has an expression. */
PERP_NODISCARD perp_status perpi_scene_number(perp_scene* scene, const char* name, double* value);
/* Another model, to be destroyed by the caller, with this value instead. numbers: the numbers of
 * the run with it; its strings and arrays are gone. The scene's own model and settings are the same
 * objects as before. */
PERP_NODISCARD perp_status perpi_scene_variant(perp_scene* scene, const char* name, double value,
                                               perp_model** model, perp_sim_def* numbers);

/* With several values instead. */
PERP_NODISCARD perp_status perpi_scene_variant_of(perp_scene* scene, const char* const* name,
                                                  const double* value, int32_t count,
                                                  perp_model** model, perp_sim_def* numbers);
/* Whether a parameter (or the number at a JSON pointer) stands in bodies alone, beside measures and
 * stops: body[i] is true of those it may stand in, directly or by other parameters. It may be more
 * than there are. */
bool perpi_scene_stands_in(const perp_scene* scene, const char* name, bool* body);

#endif
