/* src/linalg/block_tridiagonal.h - LU of block tridiagonal matrices: serial chains of joints.
 *
 * Blocks of up to six rows, pivoting inside the diagonal blocks. Without the bookkeeping of an
 * elimination tree. */
#ifndef PERPI_BLOCK_TRIDIAGONAL_H
#define PERPI_BLOCK_TRIDIAGONAL_H

#include "base/context.h"

enum { PERPI_TRIDIAGONAL_MAX = 6 }; /* rows of a block */

/* All 0 at the start. */
typedef struct perpi_tridiagonal {
    int32_t count;
    int32_t* size; /* per block */
    size_t* at;    /* per block: of its D (size x size), then U (right of it), then L (below it) */
    double* value;
    int32_t* pivot; /* per row */
    size_t used;    /* numbers of value */
    size_t size_capacity, at_capacity, value_capacity, pivot_capacity;
} perpi_tridiagonal;

/* Whether a pattern has no entries beside the diagonal and its neighbours, and no block is too
 * large. start, column: the blocks of each row, as of block_lu.h. */
bool perpi_tridiagonal_fits(int32_t count, const int32_t* size, const int32_t* start,
                            const int32_t* column);
PERP_NODISCARD perp_status perpi_tridiagonal_shape(perp_context* context, perpi_tridiagonal* t,
                                                   int32_t count, const int32_t* size);
void perpi_tridiagonal_free(perp_context* context, perpi_tridiagonal* t);

void perpi_tridiagonal_clear(perpi_tridiagonal* t);
/* A block of the cleared matrix; *stride: of its rows. |row - column| <= 1 */
double* perpi_tridiagonal_block(const perpi_tridiagonal* t, int32_t row, int32_t column,
                                int32_t* stride);
/* false: a pivot is zero or not finite. */
bool perpi_tridiagonal_factor(perpi_tridiagonal* t);
/* x <- A^-1 x */
void perpi_tridiagonal_solve(const perpi_tridiagonal* t, double* x);

#endif
