/* src/solve/interior/second_order_cone.h - the algebra of L = { x : |x_1..| <= x_0 }, of up to 4
 * numbers, that an interior-point method needs.
 *
 * Source     Y. Nesterov, M. Todd 1997 for the scaling; its formulas for L as in L. Vandenberghe, "The
 *            CVXOPT linear and quadratic cone program solvers", 2010, sections 4 and 5; the central pair
 *            from its spectral decomposition as in M. Fukushima, Z.-Q. Luo, P. Tseng 2001
 * Notation   a o b = (a . b, a_0 b_1 + b_0 a_1), e = (1, 0, ..). P: the symmetric matrix with
 *            P x = P^-1 z = lambda, P = eta V, P^2 = eta^2 (2 w w' - J), J = diag(1, -1, ..)
 */
#ifndef PERPI_SECOND_ORDER_CONE_H
#define PERPI_SECOND_ORDER_CONE_H

#include "solve/interior/second_order_cone_kernels.h"

/* The scaling of x and z; false unless both are inside L. */
bool perpi_soc_scale(int32_t n, const double* x, const double* z, perpi_soc_scaling* s);
/* out <- P v, and P^-1 v; out may be v. */
void perpi_soc_apply(int32_t n, const perpi_soc_scaling* s, const double* v, double* out);
void perpi_soc_apply_inverse(int32_t n, const perpi_soc_scaling* s, const double* v, double* out);

/* out <- a o b; out is neither. */
void perpi_soc_product(int32_t n, const double* a, const double* b, double* out);
/* out <- d with lambda o d = c, lambda inside L; out may be c. */
void perpi_soc_divide(int32_t n, const double* lambda, const double* c, double* out);

/* The largest t with x + t d in L, x inside; +INFINITY if there is none. */
double perpi_soc_step(int32_t n, const double* x, const double* d);

/* x and z with x - z = v and x o z = tau e, tau > 0: the point of the central path that belongs to v. */
void perpi_soc_centre(int32_t n, const double* v, double tau, double* x, double* z);

#endif
