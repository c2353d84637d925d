/* tests/unit/problem/builder.h - contact problems put together by hand, for the tests here. */
#ifndef BUILDER_H
#define BUILDER_H

#include <string.h>

#include "perp/problem.h"

enum { B_BLOCKS = 16, B_CONSTRAINTS = 32, B_ROWS = 96, B_GROUPS = 4 };

typedef struct builder {
    perp_contact_problem P;
    int32_t dof[B_BLOCKS + 1];
    double M[36 * B_BLOCKS], k[6 * B_BLOCKS], J[12 * B_ROWS], b[B_ROWS];
    double lower[B_ROWS], upper[B_ROWS];
    perp_constraint c[B_CONSTRAINTS];
    perp_group g[B_GROUPS];
    int32_t member[B_GROUPS][B_CONSTRAINTS];
    size_t jac;
    size_t mass;
} builder;

static inline builder* builder_new(builder* B)
{
    memset(B, 0, sizeof *B);
    B->P.dof = B->dof;
    B->P.M = B->M;
    B->P.k = B->k;
    B->P.J = B->J;
    B->P.b = B->b;
    B->P.lower = B->lower;
    B->P.upper = B->upper;
    B->P.constraint = B->c;
    B->P.group = B->g;
    return B;
}

/* M: nv x nv, or NULL for the diagonal `m`. */
static inline int32_t builder_block(builder* B, int32_t nv, const double* M, const double* m,
                                    const double* k)
{
    const int32_t i = B->P.block_count++;
    B->dof[i + 1] = B->dof[i] + nv;
    for (int32_t r = 0; r < nv; ++r) {
        for (int32_t c = 0; c < nv; ++c) {
            B->M[B->mass++] = M != NULL ? M[r * nv + c] : (r == c ? m[r] : 0.0);
        }
        B->k[B->dof[i] + r] = k[r];
    }
    B->P.dof_count = B->dof[i + 1];
    return i;
}

/* J: the rows of block a, then those of block b2, as in the problem. */
static inline perp_constraint* builder_constraint(builder* B, perp_constraint_kind kind, int32_t a,
                                                  int32_t b2, int32_t rows, const double* J,
                                                  const double* b)
{
    perp_constraint* c = &B->c[B->P.constraint_count++];
    c->kind = kind;
    c->block[0] = a;
    c->block[1] = b2;
    c->row = B->P.row_count;
    c->rows = rows;
    c->jac = B->jac;
    int32_t columns = 0;
    for (int side = 0; side < 2; ++side) {
        columns += c->block[side] < 0 ? 0 : B->dof[c->block[side] + 1] - B->dof[c->block[side]];
    }
    memcpy(B->J + B->jac, J, sizeof *J * (size_t)(rows * columns));
    B->jac += (size_t)(rows * columns);
    for (int32_t r = 0; r < rows; ++r) {
        B->b[c->row + r] = b != NULL ? b[r] : 0.0;
    }
    B->P.row_count += rows;
    return c;
}

static inline perp_constraint* builder_contact(builder* B, int32_t a, int32_t b2, int32_t rows,
                                               const double* J, const double* b, perp_cone cone,
                                               int32_t directions, double mu)
{
    perp_constraint* c = builder_constraint(B, PERP_CONSTRAINT_CONTACT, a, b2, rows, J, b);
    c->cone = cone;
    c->directions = directions;
    c->mu = mu;
    c->e[0] = c->e[1] = c->e[2] = 1.0;
    return c;
}

static inline void builder_bounded(builder* B, int32_t a, int32_t b2, const double* J, double b,
                                   double lower, double upper)
{
    perp_constraint* c = builder_constraint(B, PERP_CONSTRAINT_BOUNDED, a, b2, 1, J, &b);
    B->lower[c->row] = lower;
    B->upper[c->row] = upper;
}

static inline void builder_group(builder* B, int32_t primary, int32_t count, const int32_t* member)
{
    const int32_t g = B->P.group_count++;
    memcpy(B->member[g], member, sizeof *member * (size_t)count);
    B->g[g] = (perp_group){B->member[g], count, primary};
}

#endif
