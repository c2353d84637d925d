/* src/solve/mlcp_scaled.h - an MLCP in normal form and free of units, for methods that compare rows.
 *
 *     z_i = base_i + sign_i size column_i z'_i,   w'_i = sign_i row_i w_i / size
 *
 * with 0 <= z'_i <= U_i (U_i maybe infinite), or z'_i free. An unknown that has only an upper bound
 * is measured downwards from it (sign -1); base is the bound it starts from, 0 for free ones. The
 * largest |q'_i| is 1. Row and column scales may differ: complementarity only asks that both be
 * positive.
 */
#ifndef PERPI_MLCP_SCALED_H
#define PERPI_MLCP_SCALED_H

#include "base/context.h"
#include "perp/problem.h"

typedef enum perpi_unknown {
    PERPI_UNKNOWN_BOUNDED, /* 0 <= z' <= U */
    PERPI_UNKNOWN_FREE,
    PERPI_UNKNOWN_FIXED, /* lower = upper: z' = 0, w' anything */
} perpi_unknown;

typedef struct perpi_mlcp_scaled {
    int32_t n;
    double size;   /* of q */
    perp_sparse M; /* every diagonal entry is stored, zero or not; points into the arrays below */
    double *q, *U, *row, *column, *sign, *base; /* n each, in one block */
    perpi_unknown* kind;                        /* n */
    int32_t* diagonal;                          /* n: where M_ii is stored */
    /* owned */
    double* vector;
    int32_t *M_start, *M_row;
    double* M_value;
    size_t capacity[6];
} perpi_mlcp_scaled;

PERP_NODISCARD perp_status perpi_mlcp_scaled_make(perp_context* context, perpi_mlcp_scaled* s,
                                                  const perp_mlcp* mlcp);
void perpi_mlcp_scaled_free(perp_context* context, perpi_mlcp_scaled* s);

/* Converts one unknown to scaled units and back. The conversion back gives exactly the bound where
 * z'_i is 0 or U_i, and never a value outside the bounds. */
double perpi_mlcp_scaled_from(const perpi_mlcp_scaled* s, const perp_mlcp* mlcp, int32_t i,
                              double z_scaled);
double perpi_mlcp_scaled_to(const perpi_mlcp_scaled* s, int32_t i, double z);

/* Sets unknowns (original units) of the size of rounding to 0, or to the bound that is their base.
 * All velocities of bodies at rest are of this size, and the residual would compare them with each
 * other. */
void perpi_mlcp_scaled_snap(const perpi_mlcp_scaled* s, double* z);

#endif
