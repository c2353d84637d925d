/* src/linalg/pair.h - two numbers at once, in the order of summation that is written.
 *
 * The vector type of gcc and clang: each operation acts on both numbers and rounds as it does on one, so
 * the bits do not depend on whether the processor has such registers. */
#ifndef PERPI_PAIR_H
#define PERPI_PAIR_H

#include <math.h>
#include <stdint.h>
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

/* v <- v - sum_i x_i Y_i over rows Y_i of n entries, in their order. */
static inline void perpi_subtract_rows(int32_t n, int32_t rows, const double* restrict Y,
                                       const double* restrict x, double* restrict v)
{
    if (n == 6) {
        perpi_pair2 a = perpi_pair2_at(v), b = perpi_pair2_at(v + 2), c = perpi_pair2_at(v + 4);
        for (int32_t i = 0; i < rows; ++i, Y += 6) {
            const perpi_pair2 by = perpi_pair2_both(x[i]);
            a -= perpi_pair2_at(Y) * by;
            b -= perpi_pair2_at(Y + 2) * by;
            c -= perpi_pair2_at(Y + 4) * by;
        }
        perpi_pair2_put(a, v);
        perpi_pair2_put(b, v + 2);
        perpi_pair2_put(c, v + 4);
        return;
    }
    for (int32_t i = 0; i < rows; ++i, Y += n) {
        for (int32_t k = 0; k < n; ++k) {
            v[k] -= Y[k] * x[i];
        }
    }
}

#endif
