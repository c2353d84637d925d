/* src/solve/splitting/splitting_contact.c - the sweep of splitting methods over the rows of a contact problem.
 *
 * Source     [W14 (2.45), (2.46)], applied to the rows of the contact problem in order; the divisors
 *            of jacobi: R. Tonge, F. Benevolenski, A. Voroshilov, "Mass splitting for jitter-free
 *            parallel rigid body simulation", 2012
 * Notation   W_rr = J_r M^-1 J_r' + c_r, Y_r = M^-1 J_r' (stored like J), u = J v + b + c p
 * Departure  no LCP is built: v is updated with the impulses, v += Y_r dp. The friction rows of a
 *            contact are updated together by p_t <- Proj_F(p_t - relax u_t / W_t), W_t the largest
 *            of their W_rr, so that any cone with a projection can be used. At the end v is
 *            recomputed from p, because rounding errors accumulate in the incremental v.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "problem/cone.h"
#include "problem/operators.h"
#include "solve/splitting/splitting.h"

typedef perpi_splitting_sweeps sweeps;

static int32_t block_dofs(const perp_contact_problem* P, int32_t block)
{
    return block < 0 ? 0 : P->dof[block + 1] - P->dof[block];
}

static bool is_compliant(const perp_contact_problem* P, const perp_constraint* c)
{
    return P->compliance != NULL && c->kind != PERP_CONSTRAINT_CONTACT;
}

static perp_status contact_sweep_reserve(sweeps* s, const perp_contact_problem* P)
{
    size_t jac = 0;
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        const int32_t width = block_dofs(P, c->block[0]) + block_dofs(P, c->block[1]);
        const size_t end = c->jac + (size_t)c->rows * (size_t)width;
        jac = end > jac ? end : jac;
    }
    perp_status status = perpi_grow(
        s->context, &s->room, &s->room_capacity,
        P->M_factor == NULL ? PERPI_BLOCK_MAX * (size_t)P->dof_count : 0, sizeof *s->room);
    if (status == PERP_OK) {
        status = perpi_grow(s->context, &s->Y, &s->Y_capacity, jac, sizeof *s->Y);
    }
    if (status == PERP_OK) {
        status = perpi_grow(s->context, &s->W, &s->W_capacity, (size_t)P->row_count, sizeof *s->W);
    }
    if (status == PERP_OK) {
        status = perpi_grow(s->context, &s->next, &s->next_capacity, (size_t)P->row_count,
                            sizeof *s->next);
    }
    if (status == PERP_OK) {
        status = perpi_grow(s->context, &s->touching, &s->touching_capacity, (size_t)P->block_count,
                            sizeof *s->touching);
    }
    if (status == PERP_OK) {
        status = perpi_grow(s->context, &s->work, &s->work_capacity, perp_contact_residual_work(P),
                            sizeof *s->work);
    }
    return status;
}

/* Counts the rows on each block. The divisors of jacobi, which updates all rows at once, follow
 * from |sum of n terms|^2 <= n (sum of squares) on every block. */
static void count_rows(sweeps* s, const perp_contact_problem* P)
{
    const bool all_at_once = s->set.simultaneous && s->set.safe;
    for (int32_t i = 0; i < P->block_count; ++i) {
        s->touching[i] = all_at_once ? 0 : 1;
    }
    for (int32_t i = 0; i < P->constraint_count && all_at_once; ++i) {
        const perp_constraint* c = &P->constraint[i];
        for (int32_t side = 0; side < 2; ++side) {
            if (c->block[side] >= 0) {
                s->touching[c->block[side]] += c->rows;
            }
        }
    }
}

/* The factors of the blocks, Y and W; false if a block is not positive definite. */
static bool factor_and_divide(sweeps* s, const perp_contact_problem* P)
{
    if (!perpi_mass_factor_of(P, s->room, &s->L)) {
        return false;
    }
    memset(s->W, 0, (size_t)P->row_count * sizeof *s->W);
    count_rows(s, P);
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        for (int32_t side = 0; side < 2; ++side) {
            const perpi_side b = perpi_side_of(P, c, side);
            const int32_t nv = b.nv;
            size_t at = (size_t)(b.J - P->J);
            for (int32_t r = 0; r < c->rows && nv > 0; ++r, at += (size_t)nv) {
                memcpy(s->Y + at, P->J + at, (size_t)nv * sizeof *s->Y);
                perpi_chol_solve(nv, s->L + PERPI_BLOCK_MAX * (size_t)b.d, s->Y + at);
                s->W[c->row + r] +=
                    s->touching[c->block[side]] * perpi_dot(nv, P->J + at, s->Y + at);
            }
        }
        for (int32_t r = c->row; is_compliant(P, c) && r < c->row + c->rows; ++r) {
            s->W[r] += P->compliance[r];
        }
    }
    return true;
}

static double row_velocity(const perp_contact_problem* P, const perp_constraint* c, int32_t r,
                           const double* v)
{
    double u = P->b[c->row + r];
    for (int32_t side = 0; side < 2; ++side) {
        const perpi_side b = perpi_side_of(P, c, side);
        if (b.nv > 0) {
            u += perpi_dot(b.nv, b.J + (size_t)r * (size_t)b.nv, v + b.d);
        }
    }
    return u;
}

/* v += M^-1 J_r' dp */
static void apply_impulse(const sweeps* s, const perp_contact_problem* P, const perp_constraint* c,
                          int32_t r, double dp, double* v)
{
    for (int32_t side = 0; side < 2; ++side) {
        const perpi_side b = perpi_side_of(P, c, side);
        const double* Y = s->Y + (b.J - P->J) + (size_t)r * (size_t)b.nv;
        double* v_b = v + b.d;
        for (int32_t i = 0; i < b.nv; ++i) {
            v_b[i] += Y[i] * dp;
        }
    }
}

/* Sets the impulse of row r: at once (pgs, psor), or at the end of the sweep (jacobi). */
static void set_impulse(sweeps* s, const perp_constraint* c, int32_t r, double next)
{
    const int32_t row = c->row + r;
    if (s->set.simultaneous) {
        s->next[row] = next;
    } else {
        apply_impulse(s, s->P, c, r, next - s->p[row], s->v);
        s->p[row] = next;
    }
}

/* mu_p: the size of the friction set. */
static void update_friction(sweeps* s, const perp_constraint* c, double mu_p)
{
    const perp_contact_problem* P = s->P;
    const int32_t nt = c->rows - 1;
    const bool scaled = c->cone == PERP_CONE_ELLIPSOID; /* its projection works on x / e */
    const double* p_t = s->p + c->row + 1;
    double x[3], W_t = 0.0;
    for (int32_t i = 0; i < nt; ++i) {
        const double e = scaled ? c->e[i] : 1.0;
        const double W = e * e * s->W[c->row + 1 + i];
        W_t = W > W_t ? W : W_t;
    }
    if (!(W_t > 0.0)) {
        return; /* next holds the old impulse */
    }
    for (int32_t i = 0; i < nt; ++i) {
        const double e = scaled ? c->e[i] : 1.0;
        x[i] = p_t[i] / e - s->set.relax * e * row_velocity(P, c, 1 + i, s->v) / W_t;
    }
    perpi_project_friction(c, mu_p, x, x);
    for (int32_t i = 0; i < nt; ++i) {
        set_impulse(s, c, 1 + i, x[i] * (scaled ? c->e[i] : 1.0));
    }
}

static void contact_sweep(void* self, double* change, double* largest)
{
    sweeps* s = self;
    const perp_contact_problem* P = s->P;
    *change = 1.0; /* not measured: the residual decides */
    *largest = 0.0;
    if (s->set.simultaneous) {
        memcpy(s->next, s->p, (size_t)P->row_count * sizeof *s->next);
    }
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        const int32_t single = c->kind == PERP_CONSTRAINT_CONTACT ? 1 : c->rows;
        for (int32_t r = 0; r < single; ++r) {
            const int32_t row = c->row + r;
            if (!(s->W[row] > 0.0)) {
                continue; /* W_rr = 0: no impulse changes this row */
            }
            double u = row_velocity(P, c, r, s->v);
            u += is_compliant(P, c) ? P->compliance[row] * s->p[row] : 0.0;
            double next = s->p[row] - s->set.relax * u / s->W[row];
            if (c->kind == PERP_CONSTRAINT_CONTACT) {
                next = next < 0.0 ? 0.0 : next;
            } else if (c->kind == PERP_CONSTRAINT_BOUNDED) {
                next = next < P->lower[row] ? P->lower[row] : next;
                next = next > P->upper[row] ? P->upper[row] : next;
            }
            set_impulse(s, c, r, next);
        }
        if (c->kind == PERP_CONSTRAINT_CONTACT && c->rows > 1) {
            const double* p_now = s->set.simultaneous ? s->next : s->p;
            update_friction(s, c, c->mu * p_now[c->row]);
        }
    }
    if (s->set.simultaneous) {
        memcpy(s->p, s->next, (size_t)P->row_count * sizeof *s->next);
        perpi_motion_of(P, s->L, s->p, s->v);
    }
}

static double contact_sweep_check_residual(void* self)
{
    sweeps* s = self;
    perpi_motion_of(s->P, s->L, s->p, s->v);
    return perp_contact_check_residual(s->P, s->v, s->p, s->work).worst;
}

/* Project the first guess: the sweep assumes a feasible point. */
static void project_guess(const perp_contact_problem* P, double* p)
{
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        if (c->kind == PERP_CONSTRAINT_CONTACT) {
            p[c->row] = p[c->row] > 0.0 ? p[c->row] : 0.0;
            if (c->rows > 1 && c->cone != PERP_CONE_ELLIPSOID) {
                perpi_project_friction(c, c->mu * p[c->row], p + c->row + 1, p + c->row + 1);
            }
        } else if (c->kind == PERP_CONSTRAINT_BOUNDED) {
            for (int32_t row = c->row; row < c->row + c->rows; ++row) {
                p[row] = p[row] < P->lower[row] ? P->lower[row] : p[row];
                p[row] = p[row] > P->upper[row] ? P->upper[row] : p[row];
            }
        }
    }
}

perp_status perpi_splitting_contact(void* self, const perp_contact_problem* P,
                                    const perp_solve_options* options, bool warm, double* v,
                                    double* p, perp_report* report)
{
    sweeps* s = &((perpi_splitting*)self)->contact;
    const perp_status status = contact_sweep_reserve(s, P);
    if (status != PERP_OK) {
        return status;
    }
    if (!factor_and_divide(s, P)) {
        report->outcome = PERP_OUTCOME_BREAKDOWN;
        report->iterations = 0;
        snprintf(report->detail, sizeof report->detail, "a mass block is not positive definite");
        return PERP_OK;
    }
    if (!warm) {
        memset(p, 0, (size_t)P->row_count * sizeof *p);
    }
    project_guess(P, p);
    perpi_motion_of(P, s->L, p, v);
    s->P = P;
    s->v = v;
    s->p = p;
    const perpi_sweeper sweeper = {s, contact_sweep, contact_sweep_check_residual};
    perpi_splitting_run(&sweeper, &s->set, options, report);
    return PERP_OK;
}
