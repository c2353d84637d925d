/* src/solve/pivoting/basic_point.h - the point of an LCP that belongs to a complementary basis.
 *
 * A support a says which z_i may be positive; then z_a solves M_aa z_a = -q_a and everything else
 * is zero. Pivoting methods polish their final basis with it, warm starts test their guess.
 */
#ifndef PERPI_SUPPORT_H
#define PERPI_SUPPORT_H

#include "base/context.h"
#include "perp/problem.h"

typedef struct perpi_support {
    perp_context* context;
    double* lu; /* k x k, row-major: factors of diag(r) M_aa, rows in pivot order */
    size_t lu_capacity;
    double* vector; /* r, right-hand side, candidate z_a, correction, w, D: 6 n */
    size_t vector_capacity;
    int32_t* order; /* pivot order of the rows */
    size_t order_capacity;
} perpi_support;

void perpi_support_init(perpi_support* s, perp_context* context);
void perpi_support_free(perpi_support* s);
/* Room for supports of up to k among n unknowns. */
PERP_NODISCARD perp_status perpi_support_reserve(perpi_support* s, int32_t n, int32_t k);

/* Symmetric scaling: with M' = D M D and q' = D q the problem is free of units. D_i = 1/sqrt(M_ii);
 * rows with a zero diagonal (the sigma rows of friction) get theirs from what couples them to
 * scaled rows. */
void perpi_lcp_equilibrate(const perp_lcp* lcp, double* D);

/* Writes all n entries of z: z_a from the original data with one step of iterative refinement,
 * values within rounding of zero set to zero, exact zeros elsewhere. Returns how far the point is
 * from solving the LCP: the largest violation of a row divided by the largest term of that row, or
 * by 1e-4 of the largest q_i in the row's units where its terms are mere rounding. +INFINITY, with
 * z untouched, if M_aa is singular to rounding. */
double perpi_support_solve(perpi_support* s, const perp_lcp* lcp, const int32_t* a, int32_t k,
                           double* z);

/* The same measure for a given point with z_i > 0 only in a. */
double perpi_support_measure(perpi_support* s, const perp_lcp* lcp, const int32_t* a, int32_t k,
                             const double* z);

/* The support of a guess z lacks basic variables that are zero. An index of a whose row has no
 * entry in the columns of a (the slip speed sigma of a contact without impulse) needs a partner:
 * the j that is coupled both ways and has the smallest w_j. Adds the partners to a (room for n),
 * keeps the order ascending; returns the new count. */
int32_t perpi_support_complete(const perp_lcp* lcp, const double* z, int32_t* a, int32_t k);

/* The columns of a (kept in order, count returned) that elimination with complete pivoting finds
 * independent. For guesses that are no basic solution. */
int32_t perpi_support_independent(perpi_support* s, const perp_lcp* lcp, int32_t* a, int32_t k);

#endif
