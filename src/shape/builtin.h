/* src/shape/builtin.h - the built-in shapes, one ops table per file, and their common checks. */
#ifndef PERPI_SHAPE_BUILTIN_H
#define PERPI_SHAPE_BUILTIN_H

#include "shape/shape.h"

extern const perpi_shape_ops perpi_shape_particle;
extern const perpi_shape_ops perpi_shape_sphere;
extern const perpi_shape_ops perpi_shape_plane;
extern const perpi_shape_ops perpi_shape_box;
extern const perpi_shape_ops perpi_shape_capsule;
extern const perpi_shape_ops perpi_shape_circle;
extern const perpi_shape_ops perpi_shape_halfplane;
extern const perpi_shape_ops perpi_shape_box2;
extern const perpi_shape_ops perpi_shape_polygon;
extern const perpi_shape_ops perpi_shape_cylinder;
extern const perpi_shape_ops perpi_shape_mesh;
extern const perpi_shape_ops perpi_shape_ellipsoid;
extern const perpi_shape_ops perpi_shape_superquadric;
extern const perpi_shape_ops perpi_shape_superellipse;
extern const perpi_shape_ops perpi_shape_polyhedron;

/* Integrals over a solid as sums over the tetrahedra that the triangles of its surface form with a
 * point o near them. a, b, c: corners relative to o, counter-clockwise as seen from outside. */
typedef struct perpi_moments {
    double volume, second[3][3];
    vec3 first;
} perpi_moments;
void perpi_moments_add(perpi_moments* sum, vec3 a, vec3 b, vec3 c);
perpi_mass perpi_moments_mass(const perpi_moments* sum, vec3 o);

/* Checks that the numbers are finite and the vertices of triangles in range; checks that every edge
 * is traversed as often in one direction as in the other; computes the mass properties, negative if
 * inside out. */
PERP_NODISCARD perp_status perpi_mesh_check_lists(perp_context* context, const perp_shape_def* def);
PERP_NODISCARD perp_status perpi_mesh_check_closed(perp_context* context,
                                                   const perp_shape_def* def);
perpi_mass perpi_mesh_integrate(const perp_shape_def* def);

#define PERPI_PI 3.14159265358979323846

/* "member: must be > 0, got x" unless 0 < x < infinity; NaN fails. */
PERP_NODISCARD perp_status perpi_check_positive(perp_context* context, const char* member,
                                                double x);
/* "member: must be >= 0, got x" unless 0 <= x < infinity; NaN fails. */
PERP_NODISCARD perp_status perpi_check_not_negative(perp_context* context, const char* member,
                                                    double x);
/* Every one of the first n entries of a box's size. */
PERP_NODISCARD perp_status perpi_check_size(perp_context* context, const double* size, int n);
/* The first n entries of a plane's normal, not all zero; and its offset. */
PERP_NODISCARD perp_status perpi_check_plane(perp_context* context, const perp_shape_def* def,
                                             int n);

/* x +- half along every axis. */
static inline perpi_bounds perpi_bounds_around(vec3 x, vec3 half)
{
    return (perpi_bounds){v3_sub(x, half), v3_add(x, half)};
}

#endif
