/* src/solve/pivoting/lemke_basis.h - the basis of Lemke's method and its explicit inverse.
 *
 * The system is w - M z - h z0 = q, M and q already scaled. Variables are numbered w_i = i,
 * z_i = n + i, z0 = 2n. The basis B holds n columns; position p holds variable var[p]. Most
 * columns of B are unit columns (w_i basic), so B^-1 is the identity except in the columns of
 * those rows i whose w_i is not basic: only these k columns are stored ("slots"), and a pivot
 * costs O(n k) instead of O(n^2).
 */
#ifndef PERPI_LEMKE_BASIS_H
#define PERPI_LEMKE_BASIS_H

#include "base/context.h"

typedef struct perpi_lemke_basis {
    int32_t n;
    int32_t k; /* slots in use: rows whose w is not basic */
    size_t ld; /* distance between rows of inverse */
    /* borrowed: the scaled problem */
    const double* M; /* column-major: column j at M + j n */
    const double* q; /* n */
    const double* h; /* n: covering vector, z0's column is -h */
    /* owned, all sized by reserve */
    double* inverse; /* n x ld: row p, slot s */
    double* x;       /* n: values of the basic variables, by position */
    double* work;    /* n x n, for refactor */
    double* vector;  /* 2 n scratch */
    int32_t* var;    /* n: variable at position p */
    int32_t* where;  /* 2n + 1: position of a variable, -1: not basic */
    int32_t* slot;   /* n: slot of row i, -1: the column of B^-1 is a unit column */
    int32_t* row;    /* n: row of slot s, s < k */
    int32_t* order;  /* n scratch */
    int32_t* late;   /* n scratch */
    size_t capacity[10];
} perpi_lemke_basis;

PERP_NODISCARD perp_status perpi_lemke_basis_reserve(perp_context* context, perpi_lemke_basis* b,
                                                     int32_t n);
void perpi_lemke_basis_free(perp_context* context, perpi_lemke_basis* b);

/* All w basic, x = q. */
void perpi_lemke_basis_cold(perpi_lemke_basis* b);
/* z_i basic for the k indices in a, w_i for the others; false if that is singular. */
bool perpi_lemke_basis_warm(perpi_lemke_basis* b, const int32_t* a, int32_t k);

/* d <- B^-1 (column of variable j), n values by position. */
void perpi_lemke_basis_column(perpi_lemke_basis* b, int32_t j, double* d);
/* Variable j enters at position p, with d its column: x and the inverse are updated. Returns the
 * variable that left. */
int32_t perpi_lemke_basis_pivot(perpi_lemke_basis* b, int32_t p, int32_t j, const double* d);
/* Entry (p, row i) of B^-1. */
double perpi_lemke_basis_entry(const perpi_lemke_basis* b, int32_t p, int32_t i);

/* Recomputes the inverse and x from the scaled data; false if B is singular to rounding. */
bool perpi_lemke_basis_refactor(perpi_lemke_basis* b);
/* r <- q - B x (by row); returns its largest entry over max(|q|, |terms|). One correction
 * x += B^-1 r is applied when `correct`. */
double perpi_lemke_basis_residual(perpi_lemke_basis* b, bool correct);

#endif
