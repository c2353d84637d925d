/* src/linalg/block_lu.h - LU of a sparse matrix of small dense blocks with a symmetric pattern.
 *
 * Rows come in groups (the constraints of a friction problem). Groups with the same neighbours - the
 * contacts between the same two bodies - become one node; nodes are eliminated in an order of least
 * degree; each node's diagonal block is factored with partial pivoting, and there is no pivoting
 * between nodes: the caller regularises, and checks the residual of the solution. The order depends
 * on the pattern alone, and is kept as long as the pattern stays the same.
 */
#ifndef PERPI_BLOCK_LU_H
#define PERPI_BLOCK_LU_H

#include "base/context.h"

typedef struct perpi_block_lu perpi_block_lu;

PERP_NODISCARD perp_status perpi_block_lu_create(perp_context* context, perpi_block_lu** lu);
void perpi_block_lu_destroy(perpi_block_lu* lu);

/* Groups 0..groups-1 of size[i] rows; blocks start[i] .. start[i+1]-1 of group i lie in the columns
 * column[]; diagonal blocks are present. Cheap if pattern and sizes are those of the last call. */
PERP_NODISCARD perp_status perpi_block_lu_analyse(perpi_block_lu* lu, int32_t groups,
                                                  const int32_t* size, const int32_t* start,
                                                  const int32_t* column);

/* Zeroes all values; then the caller fills block k (of the analysed pattern): row-major with the
 * leading dimension given. */
void perpi_block_lu_clear(perpi_block_lu* lu);
double* perpi_block_lu_block(perpi_block_lu* lu, int32_t k, int32_t* stride);
/* In place. false: a zero or non-finite pivot. */
bool perpi_block_lu_factor(perpi_block_lu* lu);
/* Of the determinant of the matrix factored last: 1 or -1. */
int perpi_block_lu_sign(const perpi_block_lu* lu);
/* x: in: right-hand side, out: solution; rows in the order of the groups. */
void perpi_block_lu_solve(perpi_block_lu* lu, double* x);

/* Doubles that the factors take: a measure of the cost. */
size_t perpi_block_lu_fill(const perpi_block_lu* lu);

#endif
