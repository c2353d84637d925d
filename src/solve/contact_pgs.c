/* src/solve/contact_pgs.c - projected Gauss-Seidel on the contact problem itself, matrix-free.
 *
 * Source     [W14 (2.45), (2.46)], applied to the rows of the contact problem in order
 * Notation   W_rr = J_r M^-1 J_r', Y_r = M^-1 J_r' (stored like J), u = J v + b
 * Departure  no LCP is built: v follows the impulses, v += Y_r dp. The friction rows of a contact
 *            are updated together by p_t <- Proj_F(p_t - relax u_t / W_t), W_t the largest of their
 *            W_rr, so that any cone with a projection fits. At the end v is recomputed from p, for
 *            the incremental v has gathered rounding.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "linalg/dense.h"
#include "problem/cone.h"
#include "solve/builtin.h"
#include "solve/clock.h"

typedef struct pgs_settings {
    double relax;
    int32_t judge_every;
} pgs_settings;

static const perp_setting pgs_setting[] = {
    {"relax", PERP_SETTING_DOUBLE, offsetof(pgs_settings, relax), 0.01, 1.99,
     "relaxation of each update; 1: plain Gauss-Seidel"},
    {"judge-every", PERP_SETTING_INT, offsetof(pgs_settings, judge_every), 1, 1000000,
     "sweeps between two looks at the residual"},
};

static void pgs_settings_default(void* settings)
{
    *(pgs_settings*)settings = (pgs_settings){.relax = 1.0, .judge_every = 10};
}

typedef struct pgs {
    perp_context* context;
    pgs_settings set;
    double* L; /* Cholesky factors, block i at 6 dof[i] */
    size_t L_capacity;
    double* Y; /* M^-1 J', laid out like J: row r holds (M^-1 J_r')' */
    size_t Y_capacity;
    double* W; /* row_count */
    size_t W_capacity;
    double* work; /* the judge's */
    size_t work_capacity;
} pgs;

static perp_status pgs_create(perp_context* context, const void* settings, void** self)
{
    pgs* s = NULL;
    const perp_status status = perpi_alloc(context, 1, sizeof *s, &s);
    if (status == PERP_OK) {
        s->context = context;
        s->set = *(const pgs_settings*)settings;
        *self = s;
    }
    return status;
}

static void pgs_destroy(void* self)
{
    pgs* s = self;
    if (s == NULL) {
        return;
    }
    perpi_free(s->context, s->L);
    perpi_free(s->context, s->Y);
    perpi_free(s->context, s->W);
    perpi_free(s->context, s->work);
    perpi_free(s->context, s);
}

static int32_t block_dofs(const perp_contact_problem* P, int32_t block)
{
    return block < 0 ? 0 : P->dof[block + 1] - P->dof[block];
}

static perp_status reserve(pgs* s, const perp_contact_problem* P)
{
    size_t jac = 0;
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        const int32_t width = block_dofs(P, c->block[0]) + block_dofs(P, c->block[1]);
        const size_t end = c->jac + (size_t)c->rows * (size_t)width;
        jac = end > jac ? end : jac;
    }
    perp_status status = perpi_grow(s->context, &s->L, &s->L_capacity,
                                    PERPI_BLOCK_MAX * (size_t)P->dof_count, sizeof *s->L);
    if (status == PERP_OK) {
        status = perpi_grow(s->context, &s->Y, &s->Y_capacity, jac, sizeof *s->Y);
    }
    if (status == PERP_OK) {
        status = perpi_grow(s->context, &s->W, &s->W_capacity, (size_t)P->row_count, sizeof *s->W);
    }
    if (status == PERP_OK) {
        status = perpi_grow(s->context, &s->work, &s->work_capacity, perp_contact_residual_work(P),
                            sizeof *s->work);
    }
    return status;
}

/* Factors the blocks, Y and W; false if a block is not positive definite. */
static bool prepare(pgs* s, const perp_contact_problem* P)
{
    const double* M = P->M;
    for (int32_t i = 0; i < P->block_count; ++i) {
        const int32_t nv = block_dofs(P, i);
        if (!perpi_chol_factor(nv, M, s->L + PERPI_BLOCK_MAX * (size_t)P->dof[i])) {
            return false;
        }
        M += (size_t)nv * (size_t)nv;
    }
    memset(s->W, 0, (size_t)P->row_count * sizeof *s->W);
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        size_t at = c->jac;
        for (int32_t side = 0; side < 2; ++side) {
            const int32_t nv = block_dofs(P, c->block[side]);
            for (int32_t r = 0; r < c->rows && nv > 0; ++r, at += (size_t)nv) {
                memcpy(s->Y + at, P->J + at, (size_t)nv * sizeof *s->Y);
                perpi_chol_solve(nv, s->L + PERPI_BLOCK_MAX * (size_t)P->dof[c->block[side]],
                                 s->Y + at);
                s->W[c->row + r] += perpi_dot(nv, P->J + at, s->Y + at);
            }
        }
    }
    return true;
}

static double row_velocity(const perp_contact_problem* P, const perp_constraint* c, int32_t r,
                           const double* v)
{
    double u = P->b[c->row + r];
    size_t at = c->jac;
    for (int32_t side = 0; side < 2; ++side) {
        const int32_t nv = block_dofs(P, c->block[side]);
        if (nv > 0) {
            u += perpi_dot(nv, P->J + at + (size_t)r * (size_t)nv, v + P->dof[c->block[side]]);
            at += (size_t)c->rows * (size_t)nv;
        }
    }
    return u;
}

/* v += M^-1 J_r' dp */
static void push(const pgs* s, const perp_contact_problem* P, const perp_constraint* c, int32_t r,
                 double dp, double* v)
{
    size_t at = c->jac;
    for (int32_t side = 0; side < 2; ++side) {
        const int32_t nv = block_dofs(P, c->block[side]);
        if (nv > 0) {
            const double* Y = s->Y + at + (size_t)r * (size_t)nv;
            double* v_b = v + P->dof[c->block[side]];
            for (int32_t i = 0; i < nv; ++i) {
                v_b[i] += Y[i] * dp;
            }
            at += (size_t)c->rows * (size_t)nv;
        }
    }
}

/* v = M^-1 (k + J' p) */
static void velocities(const pgs* s, const perp_contact_problem* P, const double* p, double* v)
{
    memcpy(v, P->k, (size_t)P->dof_count * sizeof *v);
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        size_t at = c->jac;
        for (int32_t side = 0; side < 2; ++side) {
            const int32_t nv = block_dofs(P, c->block[side]);
            if (nv > 0) {
                perpi_matvec_transposed_add(c->rows, nv, P->J + at, p + c->row,
                                            v + P->dof[c->block[side]]);
                at += (size_t)c->rows * (size_t)nv;
            }
        }
    }
    for (int32_t i = 0; i < P->block_count; ++i) {
        perpi_chol_solve(block_dofs(P, i), s->L + PERPI_BLOCK_MAX * (size_t)P->dof[i],
                         v + P->dof[i]);
    }
}

static void update_friction(const pgs* s, const perp_contact_problem* P, const perp_constraint* c,
                            double* v, double* p)
{
    const int32_t nt = c->rows - 1;
    const bool scaled = c->cone == PERP_CONE_ELLIPSOID; /* its projection works on x / e */
    double* p_t = p + c->row + 1;
    double x[3], W_t = 0.0;
    for (int32_t i = 0; i < nt; ++i) {
        const double e = scaled ? c->e[i] : 1.0;
        const double W = e * e * s->W[c->row + 1 + i];
        W_t = W > W_t ? W : W_t;
    }
    if (!(W_t > 0.0)) {
        return;
    }
    for (int32_t i = 0; i < nt; ++i) {
        const double e = scaled ? c->e[i] : 1.0;
        x[i] = p_t[i] / e - s->set.relax * e * row_velocity(P, c, 1 + i, v) / W_t;
    }
    perpi_project_friction(c, c->mu * p[c->row], x, x);
    for (int32_t i = 0; i < nt; ++i) {
        const double next = x[i] * (scaled ? c->e[i] : 1.0);
        push(s, P, c, 1 + i, next - p_t[i], v);
        p_t[i] = next;
    }
}

static void sweep_once(const pgs* s, const perp_contact_problem* P, double* v, double* p)
{
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        const int32_t single = c->kind == PERP_CONSTRAINT_CONTACT ? 1 : c->rows;
        for (int32_t r = 0; r < single; ++r) {
            const int32_t row = c->row + r;
            if (!(s->W[row] > 0.0)) {
                continue; /* moves nothing: its law holds or not, no impulse changes that */
            }
            double next = p[row] - s->set.relax * row_velocity(P, c, r, v) / s->W[row];
            if (c->kind == PERP_CONSTRAINT_CONTACT) {
                next = next < 0.0 ? 0.0 : next;
            } else if (c->kind == PERP_CONSTRAINT_BOUNDED) {
                next = next < P->lower[row] ? P->lower[row] : next;
                next = next > P->upper[row] ? P->upper[row] : next;
            }
            push(s, P, c, r, next - p[row], v);
            p[row] = next;
        }
        if (c->kind == PERP_CONSTRAINT_CONTACT && c->rows > 1) {
            update_friction(s, P, c, v, p);
        }
    }
}

/* A first guess may leave the sets the sweep keeps. */
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

static perp_status pgs_solve(void* self, const perp_contact_problem* P,
                             const perp_solve_options* options, bool warm, double* v, double* p,
                             perp_report* report)
{
    pgs* s = self;
    const perp_status status = reserve(s, P);
    if (status != PERP_OK) {
        return status;
    }
    const int32_t limit = options->max_iter > 0 ? options->max_iter : 10000;
    const perpi_clock clock = perpi_clock_start(options->time_limit);
    report->outcome = PERP_OUTCOME_MAX_ITER;
    report->iterations = 0;
    report->detail[0] = '\0';
    if (!prepare(s, P)) {
        report->outcome = PERP_OUTCOME_BREAKDOWN;
        snprintf(report->detail, sizeof report->detail, "a mass block is not positive definite");
        return PERP_OK;
    }
    if (!warm) {
        memset(p, 0, (size_t)P->row_count * sizeof *p);
    }
    project_guess(P, p);
    velocities(s, P, p, v);
    for (int32_t sweep = 1; sweep <= limit; ++sweep) {
        sweep_once(s, P, v, p);
        report->iterations = sweep;
        if (sweep % s->set.judge_every != 0 && sweep != limit) {
            continue;
        }
        velocities(s, P, p, v);
        const double residual = perp_contact_judge(P, v, p, s->work).worst;
        if (options->log != NULL) {
            options->log(options->user, sweep, residual);
        }
        if (residual <= options->tolerance) {
            report->outcome = PERP_OUTCOME_SOLVED;
            break;
        }
        if (!isfinite(residual)) {
            report->outcome = PERP_OUTCOME_BREAKDOWN;
            snprintf(report->detail, sizeof report->detail, "the sweeps diverge");
            break;
        }
        if (perpi_clock_expired(&clock)) {
            report->outcome = PERP_OUTCOME_TIME_LIMIT;
            break;
        }
        if (options->cancel != NULL && options->cancel(options->user)) {
            report->outcome = PERP_OUTCOME_CANCELLED;
            break;
        }
    }
    return PERP_OK;
}

const perp_contact_solver_ops perpi_contact_pgs = {
    .name = "pgs",
    .summary = "projected Gauss-Seidel, matrix-free on contact problems; iterations: sweeps",
    .takes = PERP_TAKES_NONE | PERP_TAKES_POLYGON, /* round cones: with the next milestone */
    .settings_size = sizeof(pgs_settings),
    .settings = pgs_setting,
    .settings_count = sizeof pgs_setting / sizeof pgs_setting[0],
    .settings_default = pgs_settings_default,
    .create = pgs_create,
    .destroy = pgs_destroy,
    .solve = pgs_solve,
};
