/* src/solve/newton/minmap.h - the min map y - mid(l, y - G, u) of a box, and plain Newton steps on it that
 * finish an iteration near the solution. */
#ifndef PERPI_SOLVE_NEWTON_MINMAP_H
#define PERPI_SOLVE_NEWTON_MINMAP_H

#include "solve/newton/newton_box.h"
#include "solve/newton/newton_linear.h"

/* The largest |x_i|; NaN if there is one. */
double perpi_largest_of(int32_t n, const double* x);
/* Phi, and the element a + b J of its generalised Jacobian: rows on a bound and rows with G = 0. */
void perpi_minmap_element(const perpi_box* box, const double* y, const double* G, double* Phi,
                          double* a, double* b);

/* Plain min-map steps from y, G(y), with the Jacobian of y in the box: one step suffices where the
 * active set is right, whatever the rank of the rest. best, residual: replaced by a point with a
 * smaller residual. The Jacobian in the box is overwritten. work: 7 n. */
PERP_NODISCARD perp_status perpi_newton_polish(perpi_newton_linear* linear, perpi_box* box,
                                               const double* y, const double* G, double tolerance,
                                               double* best, double* residual, double* work);
/* The same from `best`, down to rounding: a point within the tolerance here can exceed that of the
 * problem that was reformulated. work: 9 n. */
PERP_NODISCARD perp_status perpi_newton_finish(perpi_newton_linear* linear, perpi_box* box,
                                               double* best, double* residual, double* work);

#endif
