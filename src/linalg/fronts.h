/* src/linalg/fronts.h - the elimination tree of a large block system, for the multifrontal method.
 *
 * Source     Duff and Reid 1983 (multifrontal method); Liu 1992 (a review); supernodes and their
 *            relaxation as in Ashcraft and Grimes 1989
 * Notation   A front eliminates n rows; m later rows meet them. D (n x n), U (n x m), L (m x n) are
 *            its part of the factors, row-major; C (m x m) is its contribution to later rows:
 *                C = sum of the children's C - L D^-1 U
 *            In memory D and L of all fronts follow each other, as the forward substitution reads them,
 *            then their U from the last front to the first, as the backward one does
 * Why        Beside block_lu.c, which subtracts the products of a node of six rows at once from all
 *            later nodes: rows of bodies with nearly the same later neighbours are eliminated
 *            together, so the products are large and in the cache. And a front needs its children
 *            alone: subtrees are independent of each other. Each number is computed by one fixed
 *            sequence of operations, so the bits do not depend on the number of threads.
 */
#ifndef PERPI_FRONTS_H
#define PERPI_FRONTS_H

#include "base/context.h"

typedef struct
    perpi_row_run { /* rows from, from + 1, ... of one numbering are to, ... of another */
    int32_t from, to, length;
} perpi_row_run;

typedef struct perpi_front {
    int32_t n, m;
    int32_t first;               /* its first row in the order of elimination */
    int32_t parent, child, next; /* its first child, its next sibling; -1: none */
    int32_t later, later_end;    /* its later nodes */
    int32_t run, run_end;        /* its m rows among the n, m rows of its parent's front */
    int32_t row, row_end;        /* runs: its m rows in the order of elimination */
    bool top;                    /* not within a subtree that one thread eliminates */
    size_t D, U, L;              /* offsets into the values */
    size_t C, w;                 /* into the contributions; of the vector in a solve */
    double work;                 /* of its subtree, multiplications */
} perpi_front;

/* A subtree that one thread eliminates: fronts begin to end - 1. */
typedef struct perpi_front_part {
    int32_t begin, end;
    double work;
} perpi_front_part;

typedef struct perpi_fronts {
    perp_context* context;
    int32_t count, rows, parts;
    size_t value_count, contribution_count, vector_count;
    double work;
    perpi_front* front;         /* children before parents, subtrees contiguous */
    perpi_front_part* part;     /* by work, the largest first */
    int32_t *front_of, *row_of; /* nodes: their front, their first row inside it */
    int32_t *later_node, *later_row;
    perpi_row_run* run;
    int32_t* pivot; /* rows */
    double *contribution, *vector, *x;
    size_t front_capacity, part_capacity, front_of_capacity, row_of_capacity, later_node_capacity,
        later_row_capacity, run_capacity, pivot_capacity, contribution_capacity, vector_capacity,
        x_capacity;
    /* scratch of the analysis */
    int32_t* index;
    size_t* live;
    size_t index_capacity, live_capacity;
} perpi_fronts;

void perpi_fronts_free(perpi_fronts* t);

/* Nodes 0..nodes-1 in an order of elimination, of n[k] rows; s[s_start[k]] ... the later nodes that node
 * k meets once all before it are eliminated, ascending. */
PERP_NODISCARD perp_status perpi_fronts_analyse(perpi_fronts* t, int32_t nodes, const int32_t* n,
                                                const int32_t* s_start, const int32_t* s);
/* Where the block of node a's row i and node b's column j lies in the values. */
size_t perpi_fronts_place(const perpi_fronts* t, int32_t a, int32_t i, int32_t b, int32_t j,
                          int32_t* stride);
/* The first row of a node in the order of elimination. */
static inline int32_t perpi_fronts_row(const perpi_fronts* t, int32_t node)
{
    return t->front[t->front_of[node]].first + t->row_of[node];
}

/* fronts_factor.c. In place. false: a zero or non-finite pivot. */
bool perpi_fronts_factor(perpi_fronts* t, double* value);
/* Of the determinant, once factored: 1 or -1. */
int perpi_fronts_sign(const perpi_fronts* t, const double* value);
/* x: in the order of elimination. */
void perpi_fronts_solve(perpi_fronts* t, const double* value, double* x);

#endif
