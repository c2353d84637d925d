/* src/solve/newton/restart.h - the restarts of Newton methods: run from the guess, after a stall
 * from further starting points; polish the best point and return it. */
#ifndef PERPI_SOLVE_NEWTON_RESTART_H
#define PERPI_SOLVE_NEWTON_RESTART_H

#include "solve/newton/newton_box.h"
#include "solve/newton/newton_linear.h"

typedef enum perpi_restart_end {
    PERPI_RESTART_SOLVED,
    PERPI_RESTART_STUCK, /* another starting point may help */
    PERPI_RESTART_OVER,  /* a limit, or a proof that there is no solution */
} perpi_restart_end;

typedef struct perpi_restarts {
    perpi_box* box;
    perpi_newton_linear* linear;
    double tolerance;
    int32_t restarts;      /* after the first start */
    double *first, *best;  /* n each: the guess in the box, the best point */
    double* best_residual; /* of best */
    double* work;          /* 9 n */
    void* run;             /* of the method */
    perp_status (*attempt)(void* run, int32_t attempt, perpi_restart_end* end);
} perpi_restarts;

/* z: in: the guess, out: the answer. attempts: how many starts there were. */
PERP_NODISCARD perp_status perpi_newton_restarts(const perpi_restarts* r, double* z,
                                                 int32_t* attempts);

#endif
