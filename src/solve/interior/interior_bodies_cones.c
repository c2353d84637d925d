/* src/solve/interior/interior_bodies_cones.c - the blocks of four contacts at once; see interior_bodies.c.
 *
 * Notation   as in interior_bodies_direction.c, with a register of four numbers for each: one of each contact
 * Why        The scaling of a cone and its block take some twenty roots and divisions, most of which wait for
 *            one another. Four contacts take hardly longer than one. The operations on each are those of
 *            fill_cone, in the same order: the bits are the same. (Zeros that it does not subtract are
 *            subtracted here from numbers that are never -0.)
 */
#include <math.h>

#include "solve/frictional/body_kernels.h"
#include "solve/interior/interior_bodies.h"

enum { ROWS_MAX = PERPI_BODY_ROWS_MAX, LANES = PERPI_INTERIOR_LANES, MOST = 3 /* rows */ };

typedef int64_t mask __attribute__((vector_size(32)));

static const perpi_four zero = {0.0, 0.0, 0.0, 0.0};
static const mask all = {-1, -1, -1, -1};

typedef struct scaling {
    perpi_four eta, inverse, w[MOST], lambda[MOST], root, unit[MOST];
} scaling;

/* Of four cones of m rows; see fill_cone. */
typedef struct cone_blocks {
    perpi_four k[MOST - 1], S[(MOST - 1) * (MOST - 1)], D[MOST * MOST], R[MOST * MOST];
} cone_blocks;

PERPI_INLINE void take_roots(perpi_four* x)
{
    for (int l = 0; l < LANES; ++l) {
        (*x)[l] = sqrt((*x)[l]);
    }
}

PERPI_INLINE bool are_all(const mask* m)
{
    return ((*m)[0] & (*m)[1] & (*m)[2] & (*m)[3]) != 0;
}

/* a . b without their first numbers. */
PERPI_INLINE void tail_product(int m, const perpi_four* a, const perpi_four* b, perpi_four* sum)
{
    *sum = zero;
    for (int r = 1; r < m; ++r) {
        *sum += a[r] * b[r];
    }
}

/* sqrt(x_0^2 - |x_1|^2), and whether x is inside the cone. */
PERPI_INLINE void measure_cone(int m, const perpi_four* x, perpi_four* size, mask* inside)
{
    perpi_four t;
    tail_product(m, x, x, &t);
    take_roots(&t);
    *inside &= x[0] - t > zero;
    *size = (x[0] - t) * (x[0] + t);
    take_roots(size);
}

/* See perpi_soc_scale_n. */
PERPI_INLINE bool scale_cones(int m, const perpi_four* x, const perpi_four* z, scaling* s)
{
    mask good = all;
    perpi_four a, b, t, X[MOST], Z[MOST], inner = zero;
    measure_cone(m, x, &a, &good);
    measure_cone(m, z, &b, &good);
    for (int r = 0; r < m; ++r) {
        X[r] = x[r] / a;
        Z[r] = z[r] / b;
        inner += X[r] * Z[r];
    }
    s->eta = b / a;
    take_roots(&s->eta);
    s->inverse = 1.0 / s->eta;
    perpi_four gamma = 0.5 * (1.0 + inner);
    take_roots(&gamma);
    for (int r = 1; r < m; ++r) {
        s->w[r] = 0.5 * (Z[r] - X[r]) / gamma;
    }
    tail_product(m, s->w, s->w, &t);
    s->w[0] = 1.0 + t;
    take_roots(&s->w[0]);
    tail_product(m, s->w, x, &t);
    const perpi_four along = x[0] + t / (1.0 + s->w[0]);
    for (int r = 1; r < m; ++r) {
        s->lambda[r] = s->eta * (x[r] + along * s->w[r]);
    }
    s->lambda[0] = s->eta * (s->w[0] * x[0] + t);
    measure_cone(m, s->lambda, &s->root, &good);
    for (int r = 0; r < m; ++r) {
        s->unit[r] = s->lambda[r] / s->root;
    }
    good &= (s->eta > zero) & (s->eta < zero + INFINITY) & (s->w[0] < zero + INFINITY);
    return are_all(&good);
}

/* See cone_schur, and fill_cone for D before it is regularised. */
PERPI_INLINE void make_blocks(int m, const scaling* c, const perpi_four* normal, double coupling,
                              cone_blocks* out)
{
    const int n = m - 1;
    const perpi_four den = 2.0 * c->w[0] * c->w[0] - 1.0, inverse = 1.0 / (c->eta * c->eta);
    out->D[0] = *normal;
    for (int a = 0; a < n; ++a) {
        out->k[a] = -2.0 * c->w[0] * c->w[1 + a] / den;
        out->D[1 + a] = zero;
        out->D[(1 + a) * m] = coupling * out->k[a] * *normal;
        for (int b = 0; b < n; ++b) {
            const perpi_four t = (a == b ? 1.0 : 0.0) - 2.0 * c->w[1 + a] * c->w[1 + b] / den;
            out->D[(1 + a) * m + 1 + b] = out->S[a * n + b] = inverse * t;
        }
    }
}

/* See regularise; D's first row is zero but for D[0], so that nothing is subtracted from the first row. */
PERPI_INLINE bool regularise_cones(int m, double L, perpi_four* D, perpi_four* R)
{
    perpi_four A[MOST * MOST], B[MOST * MOST], out[MOST * MOST];
    mask good = all;
    for (int e = 0; e < m * m; ++e) {
        B[e] = zero + (e % (m + 1) == 0 ? 1.0 : 0.0);
        A[e] = L * D[e] + B[e];
    }
    for (int k = 0; k < m; ++k) {
        good &= A[k * m + k] > zero;
        for (int r = 1; r < m; ++r) {
            if (r == k) {
                continue;
            }
            const perpi_four f = A[r * m + k] / A[k * m + k];
            for (int b = 0; b < m; ++b) {
                A[r * m + b] -= f * A[k * m + b];
                B[r * m + b] -= f * B[k * m + b];
            }
        }
    }
    for (int e = 0; e < m * m; ++e) {
        R[e] = B[e] / A[e / m * (m + 1)];
    }
    for (int e = 0; e < m * m; ++e) {
        out[e] = zero;
        for (int k = 0; k < m; ++k) {
            out[e] += R[e / m * m + k] * D[k * m + e % m];
        }
    }
    for (int e = 0; e < m * m; ++e) {
        D[e] = out[e];
    }
    return are_all(&good);
}

PERPI_INLINE void put_scaling(int m, perpi_interior_bodies* s, int32_t i, int l, const scaling* c)
{
    perpi_soc_scaling* cone = &s->cone[i];
    cone->eta = c->eta[l];
    cone->inverse = c->inverse[l];
    cone->root = c->root[l];
    for (int r = 0; r < m; ++r) {
        cone->w[r] = c->w[r][l];
        cone->lambda[r] = c->lambda[r][l];
        cone->unit[r] = c->unit[r][l];
    }
}

PERPI_INLINE void put_blocks(int m, perpi_interior_bodies* s, int32_t i, int l,
                             const cone_blocks* b)
{
    const size_t at = ROWS_MAX * (size_t)s->P->constraint[i].row;
    const int n = m - 1;
    for (int e = 0; e < n; ++e) {
        s->k[3 * (size_t)i + (size_t)e] = b->k[e][l];
    }
    for (int e = 0; e < n * n; ++e) {
        s->S[9 * (size_t)i + (size_t)e] = b->S[e][l];
    }
    for (int e = 0; e < m * m; ++e) {
        s->D[at + (size_t)e] = b->D[e][l];
        s->R[at + (size_t)e] = b->R[e][l];
    }
}

PERPI_INLINE bool blocks_of(int m, perpi_interior_bodies* s, const int32_t* contact)
{
    scaling c;
    cone_blocks b;
    perpi_four x[MOST], z[MOST], w;
    for (int l = 0; l < LANES; ++l) {
        const int32_t row = s->P->constraint[contact[l]].row;
        w[l] = s->w[contact[l]];
        for (int r = 0; r < m; ++r) {
            x[r][l] = s->p[row + r];
            z[r][l] = s->z[row + r];
        }
    }
    if (!scale_cones(m, x, z, &c)) {
        return false;
    }
    const perpi_four normal = x[0] / w;
    make_blocks(m, &c, &normal, s->coupling, &b);
    const bool good = regularise_cones(m, s->regularisation, b.D, b.R);
    for (int l = 0; l < LANES; ++l) {
        put_scaling(m, s, contact[l], l, &c);
        put_blocks(m, s, contact[l], l, &b);
    }
    return good;
}

PERPI_WIDE bool perpi_interior_cone_blocks(perpi_interior_bodies* s, int32_t rows,
                                           const int32_t* contact)
{
    return rows == 2 ? blocks_of(2, s, contact) : blocks_of(3, s, contact);
}
