/* src/scene/gradient_parameter.h - the parameters of a gradient, as the module sim takes them. */
#ifndef PERPI_SCENE_GRADIENT_PARAMETER_H
#define PERPI_SCENE_GRADIENT_PARAMETER_H

#include "scene/sensitivity.h"
#include "sim/gradient.h"

typedef struct perpi_gradient_parameters {
    perpi_sensitivity*
        sensitivity;           /* of the caller's names; set before the call, owned from then on */
    const int32_t* start_body; /* bodies whose start coordinates follow the names; the caller's */
    int32_t start_body_count;
    /* set by the call */
    perpi_gradient_parameter* parameter;
    int32_t count;
    perpi_light_number* light;
    int32_t light_count;
    int32_t* motion;
    double* start;
} perpi_gradient_parameters;

/* How light numbers (linear_step.h) are used. */
typedef enum perpi_light_use {
    PERPI_LIGHT_NONE, /* not at all */
    PERPI_LIGHT_BACKWARDS,
    PERPI_LIGHT_FORWARD,
} perpi_light_use;

/* Sorts the numbers that each parameter changes: of the start, light ones, others. Start coordinates of a body:
 * displacement of the centre of mass, rotation vector in the world, velocity, angular velocity;
 * planar 2, 1, 2, 1. */
PERP_NODISCARD perp_status perpi_gradient_parameters_fill(perp_context* context,
                                                          const perp_model* model,
                                                          perpi_light_use use,
                                                          perpi_gradient_parameters* x);
void perpi_gradient_parameters_free(perp_context* context, perpi_gradient_parameters* x);

#endif
