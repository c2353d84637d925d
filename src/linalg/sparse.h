/* src/linalg/sparse.h - sparse systems through KLU, and the few sparse products that we need.
 *
 * Of SuiteSparse only KLU and what it needs (AMD, COLAMD, BTF; all LGPL) is used. KLU's memory comes
 * from the C library. One thread, fixed order: the same bits on every run of one machine's library.
 */
#ifndef PERPI_SPARSE_H
#define PERPI_SPARSE_H

#include "perp/linalg.h"

typedef struct perpi_sparse_lu perpi_sparse_lu;

/* Room for factors; holds none yet. */
PERP_NODISCARD perp_status perpi_sparse_lu_create(perp_context* context, perpi_sparse_lu** lu);
void perpi_sparse_lu_destroy(perpi_sparse_lu* lu);

/* P_r A P_c = L U with row scaling and partial pivoting. A square, n >= 1. The analysis is done anew
 * unless same_pattern says that A has the pattern of the last call. *singular: a pivot is zero or
 * not finite, or the reciprocal condition of U is below 1e-15; then there is nothing to solve with.
 * PERP_ERROR_MEMORY: KLU ran out of memory. */
PERP_NODISCARD perp_status perpi_sparse_lu_factor(perpi_sparse_lu* lu, const perp_sparse* A,
                                                  bool same_pattern, bool* singular);
/* x: in: right-hand sides, column-major n x count; out: solutions of A x = b, or A' x = b. */
void perpi_sparse_lu_solve(perpi_sparse_lu* lu, int32_t count, double* x);
void perpi_sparse_lu_solve_transposed(perpi_sparse_lu* lu, int32_t count, double* x);
/* min |U_ii| / max |U_ii| of the last factors: a hint at the condition. */
double perpi_sparse_lu_rcond(const perpi_sparse_lu* lu);

/* y += factor A x, y += factor A' x. */
void perpi_sparse_add_product(const perp_sparse* A, double factor, const double* x, double* y);
void perpi_sparse_add_transposed_product(const perp_sparse* A, double factor, const double* x,
                                         double* y);

#endif
