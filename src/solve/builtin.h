/* src/solve/builtin.h - the methods that come with the library, in the order of `perp list solvers`.
 *
 * To add one: write its file, with a table perpi_method_NAME, and put its NAME here. */
#ifndef PERPI_SOLVE_BUILTIN_H
#define PERPI_SOLVE_BUILTIN_H

#include "base/context.h"
#include "perp/solve.h"

/* clang-format off */
#define PERPI_METHODS(method) \
    method(lemke) \
    method(pgs) \
    method(psor) \
    method(jacobi) \
    method(jacobi_contact) \
    method(interior_point) \
    method(friction_interior_point) \
    method(fischer_newton) \
    method(minmap_newton) \
    method(fixed_point) \
    method(friction_fixed_point) \
    method(pivot) \
    method(path) \
    method(newton_bodies) \
    method(switching) \
    method(nsgs) \
    method(newton) \
    method(admm) \
    /* end of the list */
/* clang-format on */

#define PERPI_DECLARE_METHOD(name) extern const perp_method perpi_method_##name;
PERPI_METHODS(PERPI_DECLARE_METHOD)
#undef PERPI_DECLARE_METHOD

#endif
