/* src/solve/pivoting/lemke_small.h - Lemke's method with a tableau on the stack, for small LCPs
 * without ties. */
#ifndef PERPI_LEMKE_SMALL_H
#define PERPI_LEMKE_SMALL_H

#include <stdint.h>

enum { PERPI_LEMKE_SMALL = 16 }; /* unknowns at most */

typedef struct perpi_lemke_rules {
    double pivot_tolerance; /* relative to the largest entry of the entering column */
    double small_pivot;     /* likewise: a smaller pivot is too inaccurate in a tableau */
    double tie_tolerance;   /* relative to the largest basic value */
    int32_t limit;          /* pivots */
} perpi_lemke_rules;

/* LCP(D M D, q) with h = e from a cold start, q scaled already, some q_i < 0. The support of the
 * basis that the path ends in goes to a; returns its size, -1 if the path was given up: a tie, a
 * ray, a small pivot, the limit. *pivots: how many it took, in either case. */
int32_t perpi_lemke_small(int32_t n, const double* M, const double* D, const double* q,
                          const perpi_lemke_rules* rules, int32_t* a, int32_t* pivots);

#endif
