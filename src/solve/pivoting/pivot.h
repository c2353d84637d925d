/* src/solve/pivoting/pivot.h - the state of the pivotal method for MLCPs, shared by its files:
 *
 *   pivot.c            the method: starts, acceptance, report
 *   pivot_start.c      bases to start from
 *   pivot_path.c       one path: from a basis to z0 = 0
 *   pivot_basis.c, _sparse.c   the inverse
 *   pivot_enumerate.c  all complementary pieces of a small problem
 */
#ifndef PERPI_MLCP_PIVOT_H
#define PERPI_MLCP_PIVOT_H

#include "perp/solve.h"
#include "solve/clock.h"
#include "solve/pivoting/pivot_basis.h"
#include "solve/mlcp_scaled.h"

typedef struct perpi_pivot_settings {
    double pivot_tolerance;
    double tie_tolerance;
    double accept_tolerance;
    int32_t refactor_every;
    int32_t attempts;
    int32_t dense_limit;
    int32_t enumerate_limit;
} perpi_pivot_settings;

enum { PERPI_PIVOT_NO_PARTNER = -1, PERPI_PIVOT_REDUNDANT = -2 };

typedef enum perpi_path_end {
    PERPI_PATH_SOLVED, /* z0 left: the basis is complementary */
    PERPI_PATH_RAY,
    PERPI_PATH_LIMIT,
    PERPI_PATH_TIME,
    PERPI_PATH_CANCELLED,
    PERPI_PATH_BREAKDOWN,
} perpi_path_end;

typedef struct perpi_pivot {
    perp_context* context;
    perpi_pivot_settings set;
    perpi_mlcp_scaled problem;
    perpi_pivot_basis basis;

    /* of the running solve */
    const perp_mlcp* mlcp;
    const perp_solve_options* options;
    perpi_clock clock;
    int32_t pivots, limit; /* over all attempts */
    double tie;            /* tie_tolerance, or finer while repairing */
    double best_residual;  /* of `best` */
    perp_status status;    /* a failed allocation during the solve */
    bool regularised;      /* the diagonal of M' was increased */
    bool no_enumeration;   /* of pieces, see perpi_pivot_enumerates */

    /* n each; by position: x, x2, d, lo, up, cover; by row: r, r2, h, w */
    double* x;       /* values of the basic variables */
    double* x2;      /* their parts in epsilon: a symbolic perturbation breaks ties */
    double* d;       /* B^-1 (entering column) */
    double *lo, *up; /* bounds of the basic variables */
    double* cover;   /* dx / dz0 at the start */
    double* q;       /* q', or slightly perturbed */
    double* r;       /* q + sum over unknowns at their upper bound of M_j U_j */
    double* r2;      /* the perturbation */
    double *h, *w;
    double *z, *best; /* in the original units */
    double* work;     /* 2 n, the residual check's */
    int32_t* tied;    /* n */
    int32_t* partner; /* n: the free unknown that enters for the artificial w_i, or PERPI_PIVOT_* */
    bool *at_upper, *wanted; /* n each */

    double* vector;
    int32_t* index;
    bool* flag;
    double* enumeration; /* scratch of pivot_enumerate.c */
    size_t capacity[4];
} perpi_pivot;

/* A fixed stream: the same problem takes the same path every time. */
double perpi_pivot_uniform(uint64_t* state);

/* ---- pivot_start.c: each leaves a factorised complementary basis, x not yet computed -----
 * wanted: which bounded unknowns should be basic. False: no such basis is regular. With `repair`,
 * unknowns that make it singular are left out or paired, which needs the dense inverse. */
bool perpi_pivot_start(perpi_pivot* s, bool repair);

/* ---- pivot_path.c ---------------------------------------------------------------------------
 * From the current basis to z0 = 0 in at most `limit` pivots. seed 0: every basic variable with one
 * bound has the covering coefficient 1, else random ones; seed also determines the perturbation. */
perpi_path_end perpi_pivot_follow(perpi_pivot* s, uint64_t seed, int32_t limit);
/* r, x and x2 of the current basis. */
void perpi_pivot_values(perpi_pivot* s);

/* ---- pivot_enumerate.c ----------------------------------------------------------------------
 * Every complementary piece of a problem with few bounded unknowns, each by a small linear program:
 * SOLVED with the point in s->z, RAY if there is none (then there is no solution), LIMIT if the
 * problem is too large or nothing certain came out. */
perpi_path_end perpi_pivot_enumerate(perpi_pivot* s);
/* Whether the next solves of a state of `pivot` may enumerate pieces: a sequence of linearisations would spend its
 * time there. */
void perpi_pivot_enumerates(void* self, bool enumerates);

#endif
