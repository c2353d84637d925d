/* src/model/mass.h - mass, centre and inertia of a body from what its def says. */
#ifndef PERPI_MASS_H
#define PERPI_MASS_H

#include "model/model.h"

/* Fills body->mass, inertia, offset; with density also moves pose.x to the centre of mass and the
 * shapes so that they refer to it. body->shape.. must be there. */
PERP_NODISCARD perp_status perpi_body_mass(perp_model* model, const perp_body_def* def,
                                           perpi_body* body);

/* Symmetric, positive, and of principal values that a body can have. "inertia: ..." otherwise. */
PERP_NODISCARD perp_status perpi_check_inertia(perp_context* context, int32_t dimension, mat3 I);

#endif
