/* src/problem/reformulate/affine.h - an LCP as an MLCP, an MLCP as an NCP: the same numbers in a more
 * general form. */
#ifndef PERPI_REFORMULATE_AFFINE_H
#define PERPI_REFORMULATE_AFFINE_H

#include "base/context.h"
#include "perp/problem.h"

/* Arrays of an LCP written as an MLCP; all zero to begin with, grown, never shrunk. */
typedef struct perpi_lcp_columns {
    int32_t *start, *row;
    double *value, *bound;
    size_t start_capacity, row_capacity, value_capacity, bound_capacity;
} perpi_lcp_columns;

void perpi_lcp_columns_free(perp_context* context, perpi_lcp_columns* columns);

/* Bounds 0 .. inf, M by columns without its zeros. room: entries to hold room for at least (n n: the
 * next matrix of this size allocates nothing). *mlcp borrows from lcp and columns. */
PERP_NODISCARD perp_status perpi_lcp_to_mlcp(perp_context* context, perpi_lcp_columns* columns,
                                             const perp_lcp* lcp, size_t room, perp_mlcp* mlcp);

/* F(z) = M z + q with a constant Jacobian. *ncp borrows the problem, whose address it keeps. */
void perpi_mlcp_to_ncp(const perp_mlcp* mlcp, perp_ncp* ncp);

#endif
