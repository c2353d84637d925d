/* src/model/mass.h - mass, centre and inertia of a body from its def. */
#ifndef PERPI_MASS_H
#define PERPI_MASS_H

#include "model/model.h"

/* Fills body->mass, inertia, offset; with density also moves pose.x to the centre of mass and the
 * shapes so that they refer to it. Needs body->shape. */
PERP_NODISCARD perp_status perpi_body_mass(perp_model* model, const perp_body_def* def,
                                           perpi_body* body);

/* Checks that it is symmetric, positive definite and satisfies the triangle inequality. "inertia:
 * ..." otherwise. */
PERP_NODISCARD perp_status perpi_check_inertia(perp_context* context, int32_t dimension, mat3 I);

#endif
