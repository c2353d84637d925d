/* tests/conform/stewart_trinkle.h - one time step of boxes on a plane or in one stack, as an LCP.
 *
 * The `reduced` family of shared/corpus/tools/gen_stewart_trinkle.py, rebuilt with our own random
 * stream: unknowns p_n (all contacts), beta (directions of each contact), sigma (all contacts),
 *
 *     M = [ K   [0; E] ]     K = J' M^-1 J,  J = [G D]       q = (J' v + psi/h, 0)
 *         [ U  -E'  0  ]     U = mu I
 *
 * Four contacts below each box, so that K is rank-deficient; at rest every right-hand side of a
 * friction row is zero: ties everywhere.
 */
#ifndef PERP_TEST_STEWART_TRINKLE_H
#define PERP_TEST_STEWART_TRINKLE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "perp/problem.h"

/* splitmix64 */
static inline uint64_t test_random(uint64_t* state)
{
    uint64_t t = (*state += 0x9e3779b97f4a7c15u);
    t = (t ^ (t >> 30)) * 0xbf58476d1ce4e5b9u;
    t = (t ^ (t >> 27)) * 0x94d049bb133111ebu;
    return t ^ (t >> 31);
}

static inline double test_uniform(uint64_t* state, double low, double high)
{
    return low + (high - low) * ((double)(test_random(state) >> 11) * 0x1.0p-53);
}

static inline double test_normal(uint64_t* state)
{
    const double u = test_uniform(state, 1e-12, 1.0), a = test_uniform(state, 0.0, 1.0);
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * a);
}

typedef struct test_lcp {
    perp_lcp lcp;
    double *M, *q;
} test_lcp;

static inline test_lcp test_lcp_make(int32_t n)
{
    test_lcp t = {.M = calloc((size_t)n * (size_t)n + 1, sizeof(double)),
                  .q = calloc((size_t)n + 1, sizeof(double))};
    t.lcp = (perp_lcp){n, t.M, t.q};
    return t;
}

static inline void test_lcp_free(test_lcp* t)
{
    free(t->M);
    free(t->q);
}

static inline double test_small_to_zero(double x)
{
    return fabs(x) < 1e-14 ? 0.0 : x;
}

/* mode of motion: seed % 3 = 0 at rest, 1 sliding and spinning, 2 impact with tumbling; the gaps
 * are zero for seed < 3, else between -0.1 mm and 1 mm. */
static inline test_lcp test_stewart_trinkle(int32_t boxes, int32_t directions, uint64_t seed,
                                            bool stack)
{
    const double S[3] = {0.5, 0.5, 0.25}, mu = 0.5, h = 0.01, g = 9.81;
    const int32_t nc = 4 * boxes, cols = nc * (1 + directions), n = nc * (2 + directions);
    const int32_t dofs = 6 * boxes;
    uint64_t random = 1000 * seed + 7 * (uint64_t)boxes + (uint64_t)directions;
    double* J = calloc((size_t)dofs * (size_t)cols, sizeof *J); /* dofs x cols */
    double* MiJ = calloc((size_t)dofs * (size_t)cols, sizeof *MiJ);
    double* v = calloc((size_t)dofs, sizeof *v);
    double* pos = calloc((size_t)boxes * 3, sizeof *pos);
    double first_angle = 0.0;

    test_lcp t = test_lcp_make(n);
    for (int32_t b = 0; b < boxes; ++b) {
        const double m = 1.0 + test_uniform(&random, 0.0, 1.0);
        double angle = test_uniform(&random, 0.0, 6.283185307179586);
        if (b == 0) {
            first_angle = angle;
        }
        angle = stack ? first_angle : angle;
        const double c = cos(angle), s = sin(angle);
        double* v_b = v + 6 * b;
        if (seed % 3 >= 1) {
            v_b[0] = test_uniform(&random, -1, 1);
            v_b[1] = test_uniform(&random, -1, 1);
            v_b[5] = test_uniform(&random, -1, 1);
        }
        if (seed % 3 == 2) {
            v_b[2] = -test_uniform(&random, 0, 1);
            v_b[3] = test_uniform(&random, -0.5, 0.5);
            v_b[4] = test_uniform(&random, -0.5, 0.5);
        }
        v_b[2] -= h * g;
        pos[3 * b] = stack ? 0.02 * test_normal(&random) : 3.0 * b;
        pos[3 * b + 1] = stack ? 0.02 * test_normal(&random) : 0.0;
        pos[3 * b + 2] = stack ? S[2] * (2 * b + 1) : S[2];
        for (int32_t corner = 0; corner < 4; ++corner) {
            const int32_t contact = 4 * b + corner;
            const double lx = corner & 2 ? S[0] : -S[0], ly = corner & 1 ? S[1] : -S[1];
            const double p[3] = {pos[3 * b] + c * lx - s * ly, pos[3 * b + 1] + s * lx + c * ly,
                                 pos[3 * b + 2] - S[2]};
            for (int32_t side = 0; side < 2; ++side) {
                const int32_t body = side == 0 ? b : (stack ? b - 1 : -1);
                if (body < 0) {
                    continue;
                }
                const double sign = side == 0 ? 1.0 : -1.0;
                const double r[3] = {p[0] - pos[3 * body], p[1] - pos[3 * body + 1],
                                     p[2] - pos[3 * body + 2]};
                for (int32_t k = -1; k < directions; ++k) {
                    double d[3] = {0, 0, 1};
                    if (k >= 0) {
                        const double th = 6.283185307179586 * k / directions;
                        d[0] = test_small_to_zero(cos(th));
                        d[1] = test_small_to_zero(sin(th));
                        d[2] = 0.0;
                    }
                    const double column[6] = {d[0],
                                              d[1],
                                              d[2],
                                              r[1] * d[2] - r[2] * d[1],
                                              r[2] * d[0] - r[0] * d[2],
                                              r[0] * d[1] - r[1] * d[0]};
                    const int32_t at = k < 0 ? contact : nc + contact * directions + k;
                    for (int32_t i = 0; i < 6; ++i) {
                        J[(size_t)(6 * body + i) * (size_t)cols + (size_t)at] =
                            test_small_to_zero(sign * column[i]);
                    }
                }
            }
        }
        /* M^-1 J for this body; the upper box's rows of J are complete only after the next one,
         * so remember the mass properties for later (world inertia is diagonal up to rotation). */
        const double I0 = m / 3 * (S[1] * S[1] + S[2] * S[2]),
                     I1 = m / 3 * (S[0] * S[0] + S[2] * S[2]);
        const double I2 = m / 3 * (S[0] * S[0] + S[1] * S[1]);
        double* keep =
            MiJ + (size_t)(6 * b) * (size_t)cols; /* first row: 1/m and inverse inertia */
        keep[0] = 1.0 / m;
        keep[1] = c * c / I0 + s * s / I1;
        keep[2] = test_small_to_zero(c * s * (1.0 / I0 - 1.0 / I1));
        keep[3] = s * s / I0 + c * c / I1;
        keep[4] = 1.0 / I2;
    }
    for (int32_t b = 0; b < boxes; ++b) {
        const double* keep = MiJ + (size_t)(6 * b) * (size_t)cols;
        const double im = keep[0], a = keep[1], o = keep[2], e = keep[3], z = keep[4];
        const double Wb[6][6] = {{im, 0, 0, 0, 0, 0}, {0, im, 0, 0, 0, 0}, {0, 0, im, 0, 0, 0},
                                 {0, 0, 0, a, o, 0},  {0, 0, 0, o, e, 0},  {0, 0, 0, 0, 0, z}};
        for (int32_t i = 0; i < 6; ++i) {
            for (int32_t j = 0; j < cols; ++j) {
                double sum = 0.0;
                for (int32_t k = 0; k < 6; ++k) {
                    sum += Wb[i][k] * J[(size_t)(6 * b + k) * (size_t)cols + (size_t)j];
                }
                MiJ[(size_t)(6 * b + i) * (size_t)cols + (size_t)j] = sum;
            }
        }
    }
    for (int32_t i = 0; i < cols; ++i) {
        for (int32_t j = 0; j < cols; ++j) {
            double sum = 0.0;
            for (int32_t k = 0; k < dofs; ++k) {
                sum += J[(size_t)k * (size_t)cols + (size_t)i] *
                       MiJ[(size_t)k * (size_t)cols + (size_t)j];
            }
            t.M[(size_t)i * (size_t)n + (size_t)j] = test_small_to_zero(sum);
        }
        for (int32_t k = 0; k < dofs; ++k) {
            t.q[i] += J[(size_t)k * (size_t)cols + (size_t)i] * v[k];
        }
    }
    for (int32_t c = 0; c < nc; ++c) {
        const int32_t sigma = cols + c;
        t.M[(size_t)sigma * (size_t)n + (size_t)c] = mu;
        for (int32_t k = 0; k < directions; ++k) {
            const int32_t beta = nc + c * directions + k;
            t.M[(size_t)beta * (size_t)n + (size_t)sigma] = 1.0;
            t.M[(size_t)sigma * (size_t)n + (size_t)beta] = -1.0;
        }
        t.q[c] += seed < 3 ? 0.0 : test_uniform(&random, -1e-4, 1e-3) / h;
    }
    free(J);
    free(MiJ);
    free(v);
    free(pos);
    return t;
}

#endif
