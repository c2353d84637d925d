/* src/solve/interior/interior_point.h - a predictor-corrector interior-point method for monotone MLCPs.
 *
 * Source     S. Mehrotra, "On the implementation of a primal-dual interior point method", 1992, in
 *            the form for monotone LCPs of S. J. Wright, "Primal-Dual Interior-Point Methods", 1997,
 *            chapter 8
 * Notation   w = M z + q = s - t,  0 < z < U,  z_i s_i = mu,  (U_i - z_i) t_i = mu; free: w_i = 0
 * Departure  - works on the equilibrated normal form (mlcp_scaled.h), starts anywhere inside the
 *              bounds, whatever w: the residual w - s + t shrinks with the steps.
 *            - one step length for z, s and t, because M couples them.
 *            - ends with a crossover: unknowns that tend to a bound are set to it, the
 *              others solved for exactly; that point is kept if its residual is smaller.
 *            - a diverging z is tested as a proof that there is no solution (Farkas).
 */
#ifndef PERPI_INTERIOR_POINT_H
#define PERPI_INTERIOR_POINT_H

#include "linalg/sparse.h"
#include "perp/solve.h"
#include "problem/reformulate/affine.h"
#include "solve/mlcp_scaled.h"

typedef struct perpi_interior_settings {
    double boundary;
    double regularise;
    int32_t dense_limit;
} perpi_interior_settings;

typedef struct perpi_interior {
    perp_context* context;
    perpi_interior_settings set;
    perpi_lcp_columns columns; /* of an LCP */
    perpi_mlcp_scaled problem;
    perpi_sparse_lu* lu; /* for large problems; NULL until the first one */
    bool same_pattern;   /* lu has analysed this pattern */
    /* n each, scaled */
    double *z, *s, *t;    /* the point */
    double *dz, *ds, *dt; /* the step */
    double* r;            /* w - s + t */
    double *c, *e;        /* right-hand sides of the complementarity rows: z s, (U - z) t */
    double *x, *best;     /* in the original units */
    double* work;         /* 2 n, the residual check's */
    bool* still;          /* n: fixed unknowns */
    double* K;            /* the matrix of the step, dense or entries of M's pattern */
    int32_t* pivot;
    double* vector;
    size_t capacity[4];
} perpi_interior;

#endif
