/* src/sim/gradient_jets.h - measures of a run with their derivatives, forward: values, gradients
 * and curvatures of all measures that are asked for, and of those that they are measures of.
 *
 * The curvature is that of Gauss and Newton (base/expr.h, perpi_expr_squares): the second
 * derivatives of the outermost functions of the expressions, with what stands in them linearised.
 * Of a sum of squares of residuals it is twice the sum of the products of their gradients. Second
 * derivatives of functions within a residual are left out, as those of the states are: of (hypot(x,
 * y) - r)^2 they belong together, and one without the other would hold a particle on its place on
 * the circle.
 */
#ifndef PERPI_GRADIENT_JETS_H
#define PERPI_GRADIENT_JETS_H

#include "sim/gradient_run.h"

typedef struct perpi_jets perpi_jets;
/* measure: those that are asked for, indices; curvature: that too. */
PERP_NODISCARD perp_status perpi_jets_create(perpi_gradient_work* g, const int32_t* measure,
                                             int32_t count, bool curvature, perpi_jets** jets);
void perpi_jets_destroy(perpi_jets* jets);
/* Before a run; then with each state of it, in order, at `frame` of the tape, whose displacements
 * are in g->forward. */
void perpi_jets_begin(perpi_jets* jets);
void perpi_jets_sample(perpi_jets* jets, int64_t k, size_t frame);
/* Value, gradient (parameter_count), and curvature (the lower half of parameter_count^2, row by
 * row) of a measure at the end. */
const double* perpi_jets_of(const perpi_jets* jets, int32_t measure);

#endif
