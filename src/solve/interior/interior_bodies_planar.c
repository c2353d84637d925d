/* src/solve/interior/interior_bodies_planar.c - the blocks of four planar contacts at once; see
 * interior_bodies.c.
 *
 * Notation   as in interior_bodies_direction.c, with a register of four numbers for each: one of each contact
 * Why        The scaling of a cone and its block take some twenty roots and divisions, most of which wait for
 *            one another. Four contacts of two rows take hardly longer than one. The operations on each
 *            are those of fill_cone, in the same order: the bits are the same.
 */
#include <math.h>

#include "solve/frictional/body_kernels.h"
#include "solve/interior/interior_bodies.h"

enum { ROWS_MAX = PERPI_BODY_ROWS_MAX, LANES = PERPI_INTERIOR_LANES };

typedef int64_t mask __attribute__((vector_size(32)));

static const perpi_four zero = {0.0, 0.0, 0.0, 0.0};

typedef struct planar_scaling {
    perpi_four eta, inverse, w[2], lambda[2], root, unit[2];
} planar_scaling;

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

/* sqrt(x_0^2 - x_1^2), and whether x is inside the cone. */
PERPI_INLINE void measure_cone(const perpi_four* x, perpi_four* size, mask* inside)
{
    perpi_four t = zero + x[1] * x[1];
    take_roots(&t);
    *inside &= x[0] - t > zero;
    *size = (x[0] - t) * (x[0] + t);
    take_roots(size);
}

/* See perpi_soc_scale_n. */
PERPI_INLINE bool scale_planar(const perpi_four* x, const perpi_four* z, planar_scaling* s)
{
    mask good = zero == zero;
    perpi_four a, b;
    measure_cone(x, &a, &good);
    measure_cone(z, &b, &good);
    const perpi_four x0 = x[0] / a, x1 = x[1] / a, z0 = z[0] / b, z1 = z[1] / b;
    s->eta = b / a;
    take_roots(&s->eta);
    s->inverse = 1.0 / s->eta;
    perpi_four gamma = 0.5 * (1.0 + (zero + x0 * z0 + x1 * z1));
    take_roots(&gamma);
    s->w[1] = 0.5 * (z1 - x1) / gamma;
    s->w[0] = 1.0 + (zero + s->w[1] * s->w[1]);
    take_roots(&s->w[0]);
    const perpi_four t = zero + s->w[1] * x[1], along = x[0] + t / (1.0 + s->w[0]);
    s->lambda[1] = s->eta * (x[1] + along * s->w[1]);
    s->lambda[0] = s->eta * (s->w[0] * x[0] + t);
    measure_cone(s->lambda, &s->root, &good);
    s->unit[0] = s->lambda[0] / s->root;
    s->unit[1] = s->lambda[1] / s->root;
    good &= (s->eta > zero) & (s->eta < zero + INFINITY) & (s->w[0] < zero + INFINITY);
    return are_all(&good);
}

/* See regularise; D[1] is 0. */
PERPI_INLINE bool regularise_planar(double L, perpi_four* D, perpi_four* R)
{
    const perpi_four first = L * D[0] + 1.0, above = L * D[1] + zero;
    const perpi_four f = (L * D[2] + zero) / first;
    const perpi_four second = (L * D[3] + 1.0) - f * above;
    R[0] = 1.0 / first;
    R[1] = zero / first;
    R[2] = (zero - f) / second;
    R[3] = (1.0 - f * zero) / second;
    const perpi_four out[4] = {zero + R[0] * D[0] + R[1] * D[2], zero + R[0] * D[1] + R[1] * D[3],
                               zero + R[2] * D[0] + R[3] * D[2], zero + R[2] * D[1] + R[3] * D[3]};
    for (int k = 0; k < 4; ++k) {
        D[k] = out[k];
    }
    const mask good = (first > zero) & (second > zero);
    return are_all(&good);
}

PERPI_INLINE void put_planar(perpi_interior_bodies* s, int32_t i, int l, const planar_scaling* c)
{
    perpi_soc_scaling* cone = &s->cone[i];
    cone->eta = c->eta[l];
    cone->inverse = c->inverse[l];
    cone->root = c->root[l];
    for (int r = 0; r < 2; ++r) {
        cone->w[r] = c->w[r][l];
        cone->lambda[r] = c->lambda[r][l];
        cone->unit[r] = c->unit[r][l];
    }
}

PERPI_WIDE bool perpi_interior_planar_blocks(perpi_interior_bodies* s, int32_t i)
{
    planar_scaling c;
    perpi_four x[2], z[2], w, D[4], R[4];
    int32_t row[LANES];
    for (int l = 0; l < LANES; ++l) {
        row[l] = s->P->constraint[i + l].row;
        w[l] = s->w[i + l];
        for (int r = 0; r < 2; ++r) {
            x[r][l] = s->p[row[l] + r];
            z[r][l] = s->z[row[l] + r];
        }
    }
    if (!scale_planar(x, z, &c)) {
        return false;
    }
    const perpi_four den = 2.0 * c.w[0] * c.w[0] - 1.0, inverse = 1.0 / (c.eta * c.eta);
    const perpi_four k = -2.0 * c.w[0] * c.w[1] / den;
    const perpi_four S = inverse * (1.0 - 2.0 * c.w[1] * c.w[1] / den);
    D[0] = x[0] / w;
    D[1] = zero;
    D[2] = s->coupling * k * D[0];
    D[3] = S;
    const bool good = regularise_planar(s->regularisation, D, R);
    for (int l = 0; l < LANES; ++l) {
        const size_t at = ROWS_MAX * (size_t)row[l];
        put_planar(s, i + l, l, &c);
        s->k[3 * (i + l)] = k[l];
        s->S[9 * (i + l)] = S[l];
        for (int e = 0; e < 4; ++e) {
            s->D[at + (size_t)e] = D[e][l];
            s->R[at + (size_t)e] = R[e][l];
        }
    }
    return good;
}
