/* src/problem/io/problem_file.h - the inside of a perp_problem_file. */
#ifndef PERPI_PROBLEM_FILE_H
#define PERPI_PROBLEM_FILE_H

#include "linalg/sparse.h"
#include "problem/io/ccp.h"

/* W by blocks, filled block column by block column. */
typedef struct perpi_blocks {
    perp_context* context;
    int32_t nc, dim, column; /* the block column being filled */
    int32_t* place;          /* nc: where block (i, column) is among all, if it was put last */
    int32_t *i, *j;          /* of the blocks in the order of their creation */
    double* value;
    int32_t count;
    int32_t *start, *sorted;
    size_t* at;
    size_t i_capacity, j_capacity, value_capacity;
} perpi_blocks;

PERP_NODISCARD perp_status perpi_blocks_begin(perp_context* context, int32_t nc, int32_t dim,
                                              perpi_blocks* blocks);
/* Adds value to W(row, col); columns must not descend by blocks. Zeros make no block. */
PERP_NODISCARD perp_status perpi_blocks_put(perpi_blocks* blocks, int32_t row, int32_t col,
                                            double value);
/* Sorts by rows, with a diagonal block in each; the arrays stay the builder's. */
PERP_NODISCARD perp_status perpi_blocks_end(perpi_blocks* blocks, perp_block_rows* W);
void perpi_blocks_free(perpi_blocks* blocks);

struct perp_problem_file {
    perp_context* context;
    perp_problem_kind kind;
    perp_contact_file* contact;
    perpi_ccp ccp;
    bool has_lcp, has_mlcp, has_friction;
    perp_lcp lcp;
    perp_mlcp mlcp;
    perp_friction_problem friction;
    perpi_blocks blocks;
    double *dense, *lower, *upper; /* of lcp, mlcp */
    double* q;                     /* of the friction problem of a gfc kind */
    perp_constraint* constraint;
    perpi_sparse_lu* lu; /* of M, gfc kinds; NULL for n = 0 */
    double* work;        /* gfc kinds: 2 n */
};

/* A matrix of the content as perp_sparse. */
perp_sparse perpi_ccp_sparse(const perpi_ccp_matrix* m);
/* x <- M^-1 x with one step of refinement; uses the first n of work. */
void perpi_problem_file_solve(perp_problem_file* file, double* x);

#endif
