/* src/shape/smooth.h - strictly convex bodies by their support function.
 *
 * h(d) = max over the body of d . x; its gradient is the point where that is taken, its Hessian the
 * change of that point with the normal (the radii of curvature). For the superquadric
 *
 *     (|x/a|^r + |y/b|^r)^(t/r) + |z/c|^t <= 1,   r, t > 1
 *
 * h is of the same kind in (a d_x, b d_y, c d_z), with the exponents r' = r/(r - 1), t' = t/(t - 1):
 * Hoelder's inequality. An ellipsoid has r = t = 2; a superellipse is a section z = 0.
 */
#ifndef PERPI_SMOOTH_H
#define PERPI_SMOOTH_H

#include "shape/shape.h"

/* Range of exponents of superquadrics and superellipses. */
#define PERPI_EXPONENT_LEAST 1.05
#define PERPI_EXPONENT_MOST 100.0

/* Particle, sphere, circle, ellipsoid, superquadric, superellipse. */
bool perpi_shape_is_smooth(perp_shape_type type);
/* h at a nonzero direction of the shape's frame, of any length; the point, and the Hessian (H may
 * be NULL). Where the surface is flat the Hessian is large, not infinite. Also for capsules and
 * cylinders, for which several points can be farthest: it returns one of them. */
double perpi_smooth_support(const perpi_shape* shape, vec3 d, vec3* point, mat3* H);

/* For superellipses and superquadrics: area, second moments of area, reach, in units of 1. */
double perpi_superellipse_moment(double n, double p, double q);
double perpi_power_reach(double n, double a, double b);

PERP_NODISCARD perp_status perpi_check_radii(perp_context* context, const double* radii, int n);
PERP_NODISCARD perp_status perpi_check_exponent(perp_context* context, const char* member,
                                                double exponent);
perpi_bounds perpi_smooth_bounds(const perpi_shape* shape, const perpi_pose* pose);

#endif
