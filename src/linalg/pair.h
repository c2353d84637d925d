/* src/linalg/pair.h - two numbers at once, in the order of summation that is written.
 *
 * The vector type of gcc and clang: each operation acts on both numbers and rounds as it does on one, so
 * the bits do not depend on whether the processor has such registers. */
#ifndef PERPI_PAIR_H
#define PERPI_PAIR_H

#include <math.h>
#include <string.h>

typedef double perpi_pair2 __attribute__((vector_size(16)));

static inline perpi_pair2 perpi_pair2_at(const double* x)
{
    perpi_pair2 a;
    memcpy(&a, x, sizeof a); /* any alignment */
    return a;
}

static inline void perpi_pair2_put(perpi_pair2 a, double* x)
{
    memcpy(x, &a, sizeof a);
}

static inline perpi_pair2 perpi_pair2_both(double a)
{
    return (perpi_pair2){a, a};
}

static inline perpi_pair2 perpi_pair2_abs(perpi_pair2 a)
{
    return (perpi_pair2){fabs(a[0]), fabs(a[1])};
}

static inline double perpi_pair2_sum(perpi_pair2 a)
{
    return a[0] + a[1];
}

#endif
