/* src/solve/newton/newton_linear.h - the linear systems of the Newton methods.
 *
 *     H = diag(a) + diag(b) (J + eps I)
 *
 * with J the scaled Jacobian of a perpi_box. Small or full: our own dense LU; large and sparse: KLU.
 */
#ifndef PERPI_SOLVE_NEWTON_LINEAR_H
#define PERPI_SOLVE_NEWTON_LINEAR_H

#include "linalg/sparse.h"
#include "solve/newton/newton_box.h"

typedef struct perpi_newton_linear {
    perp_context* context;
    int32_t n;
    perp_status status;    /* not PERP_OK: a factorisation ran out of memory in this solve */
    bool sparse, analysed; /* analysed: KLU has analysed this pattern */
    perpi_sparse_lu* lu;   /* NULL until the first sparse problem */
    int32_t* index;        /* sparse: start n + 1, rows */
    size_t index_capacity;
    double* value; /* sparse: entries of H */
    size_t value_capacity;
    double* A; /* n x n, dense */
    size_t A_capacity;
    double* B; /* n x n, for perpi_newton_linear_damped */
    size_t B_capacity;
    double* vector; /* n */
    size_t vector_capacity;
    int32_t* pivot;
    size_t pivot_capacity;
} perpi_newton_linear;

void perpi_newton_linear_init(perpi_newton_linear* linear, perp_context* context);
void perpi_newton_linear_free(perpi_newton_linear* linear);
/* Once a solve, when the box is set up: chooses dense or sparse, and lays out the pattern. */
PERP_NODISCARD perp_status perpi_newton_linear_reserve(perpi_newton_linear* linear,
                                                       const perpi_box* box);

/* Solves H d = r with one step of refinement. False: H is singular to rounding, d is not finite, or
 * there is no memory for the factors (then linear->status says so). */
bool perpi_newton_linear_solve(perpi_newton_linear* linear, const perpi_box* box, const double* a,
                               const double* b, double eps, const double* r, double* d);
/* Levenberg-Marquardt: (H'H + mu I) d = g with eps = 0; false where n is too large for it. */
bool perpi_newton_linear_damped(perpi_newton_linear* linear, const perpi_box* box, const double* a,
                                const double* b, double mu, const double* g, double* d);

#endif
