/* src/step/active_law.h - the law of a constraint at a solution, as linear equations of its active set. */
#ifndef PERPI_ACTIVE_LAW_H
#define PERPI_ACTIVE_LAW_H

#include "perp/problem.h"

enum { PERPI_LAW_ROWS = 6, PERPI_LAW_SIZE = 36 };

/* A du + B dp = g dtheta, rows x rows, row-major; du of the normal row is that of constraint `closing`. */
typedef struct perpi_law {
    bool acts;   /* A is not 0 */
    bool weak;   /* its margin is below the threshold */
    bool slides; /* on a round cone: A depends on its impulse */
    bool smooth; /* smoothed (smooth_step.h): g is that of each row, not of mu or a bound */
    int32_t
        closing; /* its own index; in a group, of the member that closes while this one pushes */
    int32_t rows;
    double margin; /* distance from another state, relative */
    double A[PERPI_LAW_SIZE], B[PERPI_LAW_SIZE];
    double E[PERPI_LAW_SIZE];  /* (B with a small part on rigid rows)^-1 */
    double g[PERPI_LAW_ROWS];  /* of a contact: by mu; of bounded rows at a bound: by that bound */
    int bound[PERPI_LAW_ROWS]; /* bounded rows: -1 at the lower, 1 at the upper bound, else 0 */
} perpi_law;

/* The solution of a problem, row by row. */
typedef struct perpi_law_input {
    const perp_contact_problem* problem;
    const double *p, *u; /* u = J v + b + c p */
    const double* w;     /* per row: J M^-1 J', the speed that an impulse gives */
    const double* size;  /* per row: the sum of the sizes of the terms of u */
    double floor; /* of sizes, a speed: what rounding leaves of a body at rest is no distance */
    double threshold;
    bool other; /* weak constraints have their other state */
} perpi_law_input;

/* False: B has no inverse. */
bool perpi_law_choose(const perpi_law_input* in, int32_t constraint, perpi_law* law);

/* Parts of it. Sliding on a round set along s (of unit length, in scaled coordinates), at the speed
 * |e u|; 0: it is about to slide, and the directions across s are held. */
void perpi_law_slide_round(perpi_law* law, const double* e, double mu, double p_n, const double* s,
                           double speed, double w);
/* E: the inverse of B, with EPSILON w A added where a row of A holds. */
bool perpi_law_invert(const perpi_law_input* in, int32_t constraint, perpi_law* law);

/* Groups, after the laws of all constraints: closing members, margins. */
void perpi_law_groups(const perpi_law_input* in, perpi_law* law);

#endif
