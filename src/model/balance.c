/* src/model/balance.c - see balance.h. */
#include "model/balance.h"

#include <math.h>
#include <stdbool.h>

/* Relative to the largest principal value: a negative one beyond this is no rounding, and the
 * least that a value is raised to. */
static const double NEGATIVE = 1e-2;
static const double LEAST = 1e-4;

/* One rotation of Jacobi's method: A <- G' A G, V <- V G. */
static void rotate_pair(mat3* A, mat3* V, int p, int q)
{
    if (A->m[p][q] == 0.0) {
        return;
    }
    const double theta = (A->m[q][q] - A->m[p][p]) / (2.0 * A->m[p][q]);
    const double t = (theta >= 0.0 ? 1.0 : -1.0) / (fabs(theta) + sqrt(theta * theta + 1.0));
    const double c = 1.0 / sqrt(t * t + 1.0), s = t * c;
    mat3 G = m3_identity();
    G.m[p][p] = G.m[q][q] = c;
    G.m[p][q] = s;
    G.m[q][p] = -s;
    *A = m3_mm(m3_transpose(G), m3_mm(*A, G));
    *V = m3_mm(*V, G);
}

/* Positive values that satisfy the triangle inequality; false: those given are too far from it. */
static bool balance_values(double L[3])
{
    int most = 0;
    for (int i = 1; i < 3; ++i) {
        most = L[i] > L[most] ? i : most;
    }
    const double top = L[most];
    for (int i = 0; i < 3; ++i) {
        if (!(top > 0.0) || !(L[i] >= -NEGATIVE * top)) {
            return false;
        }
        L[i] = L[i] < LEAST * top ? LEAST * top : L[i];
    }
    double *other = &L[(most + 1) % 3], *third = &L[(most + 2) % 3];
    const double excess = L[most] - *other - *third;
    if (excess > 0.0) { /* a little further than to equality, for rounding */
        const double share = (1.0 + 1e-9) * excess / 3.0;
        L[most] -= share;
        *other += share;
        *third += share;
    }
    return true;
}

double perpi_balance_inertia(mat3* inertia)
{
    mat3 A = *inertia, V = m3_identity();
    for (int sweep = 0; sweep < 30; ++sweep) {
        rotate_pair(&A, &V, 0, 1);
        rotate_pair(&A, &V, 0, 2);
        rotate_pair(&A, &V, 1, 2);
    }
    const double given[3] = {A.m[0][0], A.m[1][1], A.m[2][2]};
    double L[3] = {given[0], given[1], given[2]};
    if (!balance_values(L)) {
        return -1.0;
    }
    if (L[0] == given[0] && L[1] == given[1] && L[2] == given[2]) {
        return 0.0;
    }
    const mat3 D = {{{L[0], 0, 0}, {0, L[1], 0}, {0, 0, L[2]}}};
    const mat3 made = m3_mm(V, m3_mm(D, m3_transpose(V)));
    double change = 0.0, size = 0.0;
    for (int i = 0; i < 3; ++i) {
        for (int k = 0; k < 3; ++k) {
            const double entry = 0.5 * (made.m[i][k] + made.m[k][i]);
            const double by = fabs(entry - inertia->m[i][k]);
            change = by > change ? by : change;
            size = fabs(inertia->m[i][k]) > size ? fabs(inertia->m[i][k]) : size;
            A.m[i][k] = entry;
        }
    }
    *inertia = A;
    return change / size;
}
