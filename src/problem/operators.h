/* src/problem/operators.h - the operators of a contact problem: M, its Cholesky factors, J and J'.
 *
 * M = L L', block by block; the factor of block i stands at L + 6 dof[i], row-major as M's block. A
 * solve factors the blocks once and passes the factors on in perp_contact_problem.M_factor.
 */
#ifndef PERPI_PROBLEM_OPERATORS_H
#define PERPI_PROBLEM_OPERATORS_H

#include "linalg/dense.h"
#include "linalg/pair.h"
#include "perp/problem.h"

/* One side of a constraint: its block's velocities d .. d + nv - 1 and rows x nv of J; nv = 0: the world. */
typedef struct perpi_side {
    int32_t d, nv;
    const double* J;
} perpi_side;

static inline perpi_side perpi_side_of(const perp_contact_problem* P, const perp_constraint* c,
                                       int side)
{
    perpi_side s = {0, 0, P->J + c->jac};
    for (int k = 0; k <= side; ++k) {
        s.J += (size_t)c->rows * (size_t)s.nv;
        const int32_t block = c->block[k];
        s.d = block < 0 ? 0 : P->dof[block];
        s.nv = block < 0 ? 0 : P->dof[block + 1] - s.d;
    }
    return s;
}

/* u + J_r v of one row of a side, summed in the order of the velocities. */
static inline double perpi_add_row(double u, int32_t nv, const double* J_r, const double* v)
{
    if (nv == 6) {
        return u + J_r[0] * v[0] + J_r[1] * v[1] + J_r[2] * v[2] + J_r[3] * v[3] + J_r[4] * v[4] +
               J_r[5] * v[5];
    }
    for (int32_t i = 0; i < nv; ++i) {
        u += J_r[i] * v[i];
    }
    return u;
}

/* c of row r of a constraint. */
static inline double perpi_row_compliance(const perp_contact_problem* P, const perp_constraint* c,
                                          int32_t r)
{
    return P->compliance == NULL || c->kind == PERP_CONSTRAINT_CONTACT ? 0.0
                                                                       : P->compliance[c->row + r];
}

/* J v + b of one row: its u unless it is compliant. */
double perpi_row_velocity(const perp_contact_problem* P, const perp_constraint* c, int32_t r,
                          const double* v);
/* u = J v + b; row_count. */
void perpi_jacobian_apply(const perp_contact_problem* P, const double* v, double* u);
/* f += J' p; dof_count. */
void perpi_jacobian_apply_transposed(const perp_contact_problem* P, const double* p, double* f);

/* False if a block is not positive definite. L: 6 dof_count. */
bool perpi_mass_factor(const perp_contact_problem* P, double* L);
/* *L: the problem's factors, else those made in room (6 dof_count). False: a block is not positive
 * definite. */
bool perpi_mass_factor_of(const perp_contact_problem* P, double* room, const double** L);
/* x <- M^-1 x */
void perpi_mass_solve(const perp_contact_problem* P, const double* L, double* x);
/* v = M^-1 (k + J' p); p NULL: without impulses. */
void perpi_motion_of(const perp_contact_problem* P, const double* L, const double* p, double* v);

/* perp_contact_check_residual; *u and *W: the velocities of the rows and the diagonal of the Delassus
 * matrix, row_count each, in work; set if the residual is finite. */
void perpi_contact_residual_rows(const perp_contact_problem* problem, const double* v,
                                 const double* p, double* work, double** u, double** W,
                                 perp_contact_residual* residual);
/* After it: the sizes of the terms of the dynamics, dof_count, in work. */
const double* perpi_contact_residual_terms(const perp_contact_problem* problem, double* work);

/* What the residuals of several answers to one problem have in common, row_count each. */
typedef struct perpi_row_terms {
    double *W, *pushed;
    bool known; /* false before the first residual */
} perpi_row_terms;

/* perp_contact_check_residual of one answer after another. */
perp_contact_residual perpi_contact_residual_again(const perp_contact_problem* problem,
                                                   const double* v, const double* p, double* work,
                                                   perpi_row_terms* terms);

/* 0 x is 0 for a finite x, NaN for any other; two sums of pairs are independent and pipeline. */
static inline bool perpi_all_finite(size_t count, const double* x)
{
    const perpi_pair2 zero = {0.0, 0.0};
    perpi_pair2 a = zero, b = zero;
    for (const double* end = x + (count & ~(size_t)3); x != end; x += 4) {
        a += zero * perpi_pair2_at(x);
        b += zero * perpi_pair2_at(x + 2);
    }
    if ((count & 2) != 0) {
        a += zero * perpi_pair2_at(x);
        x += 2;
    }
    const double last = (count & 1) != 0 ? 0.0 * *x : 0.0;
    return perpi_pair2_sum(a + b) + last == 0.0;
}

#endif
