/* src/problem/reformulate/reduced_units.h - a friction problem whose joint rows are in the unit of
 * its contacts.
 *
 * A joint has rows in metres and rows in radians. A method that adds, compares or pivots across rows
 * (the norm of a map, the pivot of an elimination, one rho for a whole constraint) would depend on
 * the caller's unit of length. So methods get, for each equality and bounded row r,
 *     u'_r = g_r u_r,   r'_r = r_r / g_r,   W'_rs = g_r W_rs g_s,   g_r = sqrt(w / W_rr)
 * with w the mean W_rr of the contacts' normal rows (1 without contacts), g_r as in residual.c:
 * every row of a joint then has the diagonal entry w. Rows of contacts have one unit already
 * (torsion through e) and stay as they are, to the bit.
 */
#ifndef PERPI_REDUCED_UNITS_H
#define PERPI_REDUCED_UNITS_H

#include "base/context.h"
#include "perp/problem.h"

/* The diagonal block of constraint i. */
const double* perpi_friction_diagonal(const perp_friction_problem* P, int32_t i);

typedef struct perpi_reduced_units {
    double* value; /* W' */
    size_t value_capacity;
    double* vector; /* g, q', lower', upper' */
    size_t vector_capacity;
    int32_t rows; /* 0: the problem has no such rows and is used as it is */
} perpi_reduced_units;

/* *scaled: the problem to solve; it borrows from P and from units. */
PERP_NODISCARD perp_status perpi_reduced_units_scale(perp_context* context,
                                                     perpi_reduced_units* units,
                                                     const perp_friction_problem* P,
                                                     perp_friction_problem* scaled);
/* r of the problem last scaled into its units, and back. */
void perpi_reduced_units_enter(const perpi_reduced_units* units, double* r);
void perpi_reduced_units_leave(const perpi_reduced_units* units, double* r);
void perpi_reduced_units_free(perp_context* context, perpi_reduced_units* units);

#endif
