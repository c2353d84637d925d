/* src/solve/pivoting/pivot_basis.h - the basis of the pivotal method for MLCPs.
 *
 * The system is w - M z - h z0 = r with a sparse, scaled M. Variables are numbered w_i = i,
 * z_i = n + i, z0 = 2n; position p of the basis holds variable var[p]. The inverse is kept in one
 * of two ways behind the same calls:
 *   dense   explicit, only the columns of rows whose w is not basic ("slots"; the others are unit
 *           columns). Stored by columns, so that the sparse columns of M pick few of them and a
 *           pivot skips those whose entry in the pivot row is zero.
 *   sparse  factors of an earlier basis and one elementary matrix per pivot since
 *           (pivot_sparse.c).
 */
#ifndef PERPI_MLCP_PIVOT_BASIS_H
#define PERPI_MLCP_PIVOT_BASIS_H

#include "base/context.h"
#include "perp/problem.h"

typedef struct perpi_pivot_sparse perpi_pivot_sparse;

typedef struct perpi_pivot_basis {
    int32_t n;
    bool dense;
    /* borrowed: the scaled problem */
    perp_sparse M;
    const double* h; /* n: z0's column is -h */
    /* which variable is where */
    int32_t* var;   /* n */
    int32_t* where; /* 2n + 1; -1: not basic */
    /* dense */
    int32_t k;       /* slots in use */
    double* inverse; /* n per slot */
    double* kernel;  /* n x n scratch */
    int32_t* slot;   /* n: slot of row i, -1: unit column */
    int32_t* row;    /* n: row of slot s */
    int32_t* order;  /* n scratch */
    int32_t* late;   /* n scratch */
    size_t capacity[8];
    /* sparse */
    perpi_pivot_sparse* sparse;
} perpi_pivot_basis;

/* Room for problems of n unknowns with up to nnz entries in M. */
PERP_NODISCARD perp_status perpi_pivot_basis_reserve(perp_context* context, perpi_pivot_basis* b,
                                                     int32_t n, int32_t nnz, bool dense);
void perpi_pivot_basis_free(perp_context* context, perpi_pivot_basis* b);

/* All w basic, w_i at position i; no factorisation needed when dense. */
void perpi_pivot_basis_unit(perpi_pivot_basis* b);
/* z_i basic at position i where basic[i], else w_i; perpi_pivot_basis_factor must follow. */
void perpi_pivot_basis_assign(perpi_pivot_basis* b, const bool* basic);
/* Factorises what var holds; *good: false if that is singular to rounding. */
PERP_NODISCARD perp_status perpi_pivot_basis_factor(perpi_pivot_basis* b, bool* good);
/* d <- B^-1 (column of variable j), by position. */
void perpi_pivot_basis_column(perpi_pivot_basis* b, int32_t j, double* d);
/* x <- B^-1 r; r by row, x by position; they differ. */
void perpi_pivot_basis_solve(perpi_pivot_basis* b, const double* r, double* x);
/* Variable j enters at position p, d its column. */
void perpi_pivot_basis_exchange(perpi_pivot_basis* b, int32_t p, int32_t j, const double* d);
/* y += t (column of variable j), by row. */
void perpi_pivot_basis_add_column(const perpi_pivot_basis* b, int32_t j, double t, double* y);
/* Whether the inverse has no room for another exchange: factorise first. */
bool perpi_pivot_basis_full(const perpi_pivot_basis* b);

/* ---- the sparse inverse, called by the functions above ------------------------------------------*/

PERP_NODISCARD perp_status perpi_pivot_sparse_reserve(perp_context* context,
                                                      perpi_pivot_sparse** sparse, int32_t n,
                                                      int32_t nnz);
void perpi_pivot_sparse_free(perpi_pivot_sparse* sparse);
PERP_NODISCARD perp_status perpi_pivot_sparse_factor(perpi_pivot_basis* b, bool* good);
void perpi_pivot_sparse_column(perpi_pivot_basis* b, int32_t j, double* d);
void perpi_pivot_sparse_solve(perpi_pivot_basis* b, const double* r, double* x);
void perpi_pivot_sparse_update(perpi_pivot_basis* b, int32_t p, const double* d);
bool perpi_pivot_sparse_full(const perpi_pivot_basis* b);

#endif
