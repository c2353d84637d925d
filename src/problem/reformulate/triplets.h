/* src/problem/reformulate/triplets.h - a sparse matrix from its entries: put them in any order, then sort
 * them into compressed columns; entries at the same place add up in the order in which they were put. */
#ifndef PERPI_REFORMULATE_TRIPLETS_H
#define PERPI_REFORMULATE_TRIPLETS_H

#include "problem/operators.h"

typedef struct perpi_doubles {
    double* at;
    size_t capacity;
} perpi_doubles;

typedef struct perpi_ints {
    int32_t* at;
    size_t capacity;
} perpi_ints;

PERP_NODISCARD perp_status perpi_need_doubles(perp_context* context, perpi_doubles* a, size_t need);
PERP_NODISCARD perp_status perpi_need_ints(perp_context* context, perpi_ints* a, size_t need);

/* All zero to begin with; grown, never shrunk. */
typedef struct perpi_triplets {
    int32_t count;
    perpi_ints row, col;       /* of each entry */
    perpi_ints slot;           /* of each entry: its place in the compressed columns */
    perpi_ints start, csc_row; /* the compressed columns */
    perpi_ints sums;
} perpi_triplets;

/* Appends an entry; text: "MLCP", for the message if there are too many. */
PERP_NODISCARD perp_status perpi_triplets_put(perp_context* context, perpi_triplets* t,
                                              const char* text, int32_t row, int32_t col);
/* Fills slot, start and csc_row of an n x n matrix. */
PERP_NODISCARD perp_status perpi_triplets_compress(perp_context* context, perpi_triplets* t,
                                                   int32_t n);
void perpi_triplets_free(perp_context* context, perpi_triplets* t);

#endif
