/* src/problem/operators.c - see operators.h. */
#include "problem/operators.h"

#include <string.h>

double perpi_row_velocity(const perp_contact_problem* P, const perp_constraint* c, int32_t r,
                          const double* v)
{
    double u = P->b[c->row + r];
    for (int side = 0; side < 2; ++side) {
        const perpi_side s = perpi_side_of(P, c, side);
        u = perpi_add_row(u, s.nv, s.J + (size_t)r * (size_t)s.nv, v + s.d);
    }
    return u;
}

void perpi_jacobian_apply(const perp_contact_problem* P, const double* v, double* u)
{
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        const perpi_side a = perpi_side_of(P, c, 0), b = perpi_side_of(P, c, 1);
        for (int32_t r = 0; r < c->rows; ++r) {
            const double u_a = perpi_add_row(P->b[c->row + r], a.nv, a.J + r * a.nv, v + a.d);
            u[c->row + r] = perpi_add_row(u_a, b.nv, b.J + r * b.nv, v + b.d);
        }
    }
}

/* f += J' p for a body of six velocities. */
static inline void add_six(int32_t rows, const double* J, const double* p, double* f)
{
    perpi_pair2 a = perpi_pair2_at(f), b = perpi_pair2_at(f + 2), c = perpi_pair2_at(f + 4);
    for (int32_t r = 0; r < rows; ++r, J += 6) {
        const perpi_pair2 p_r = perpi_pair2_both(p[r]);
        a += perpi_pair2_at(J) * p_r;
        b += perpi_pair2_at(J + 2) * p_r;
        c += perpi_pair2_at(J + 4) * p_r;
    }
    perpi_pair2_put(a, f);
    perpi_pair2_put(b, f + 2);
    perpi_pair2_put(c, f + 4);
}

void perpi_jacobian_apply_transposed(const perp_contact_problem* P, const double* p, double* f)
{
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        for (int side = 0; side < 2; ++side) {
            const perpi_side s = perpi_side_of(P, c, side);
            if (s.nv == 6) {
                add_six(c->rows, s.J, p + c->row, f + s.d);
            } else if (s.nv > 0) {
                perpi_matvec_transposed_add(c->rows, s.nv, s.J, p + c->row, f + s.d);
            }
        }
    }
}

bool perpi_mass_factor(const perp_contact_problem* P, double* L)
{
    const double* M = P->M;
    for (int32_t i = 0; i < P->block_count; ++i) {
        const int32_t d = P->dof[i], nv = P->dof[i + 1] - d;
        if (!perpi_chol_factor(nv, M, L + PERPI_BLOCK_MAX * (size_t)d)) {
            return false;
        }
        M += (size_t)nv * (size_t)nv;
    }
    return true;
}

bool perpi_mass_factor_of(const perp_contact_problem* P, double* room, const double** L)
{
    *L = P->M_factor != NULL ? P->M_factor : room;
    return P->M_factor != NULL || perpi_mass_factor(P, room);
}

void perpi_mass_solve(const perp_contact_problem* P, const double* L, double* x)
{
    for (int32_t i = 0; i < P->block_count; ++i) {
        const int32_t d = P->dof[i];
        perpi_chol_solve(P->dof[i + 1] - d, L + PERPI_BLOCK_MAX * (size_t)d, x + d);
    }
}

void perpi_motion_of(const perp_contact_problem* P, const double* L, const double* p, double* v)
{
    if (P->dof_count > 0) {
        memcpy(v, P->k, (size_t)P->dof_count * sizeof *v);
    }
    if (p != NULL) {
        perpi_jacobian_apply_transposed(P, p, v);
    }
    perpi_mass_solve(P, L, v);
}
