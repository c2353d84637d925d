/* src/collide/ray.h - where a ray meets a shape. */
#ifndef PERPI_COLLIDE_RAY_H
#define PERPI_COLLIDE_RAY_H

#include "shape/shape.h"

/* The least s >= 0 at which origin + s direction is in the shape; both in the shape's frame, direction of unit
 * length. *normal: outward there, 0 if the ray starts inside. INFINITY: never. */
double perpi_ray_enter(const perpi_shape* shape, vec3 origin, vec3 direction, vec3* normal);

#endif
