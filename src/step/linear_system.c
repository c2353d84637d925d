/* src/step/linear_system.c - the equations of the active set of a step: see linear_parts.h. */
#include <string.h>

#include "step/linear_parts.h"

static const double REFINED = 1e-15; /* residual relative to the right-hand side */

/* ---- the matrix ----------------------------------------------------------------------------------*/

/* Rows of a constraint on one side: of J, or of R with the normal row of the member that closes. */
static const double* side_rows(const perpi_linear_step* l, int32_t i, int side, int32_t* n)
{
    const perp_contact_problem* P = &l->f->problem;
    const perp_constraint* c = &P->constraint[i];
    const int32_t first = c->block[0] >= 0 ? P->dof[c->block[0] + 1] - P->dof[c->block[0]] : 0;
    *n = c->block[side] >= 0 ? P->dof[c->block[side] + 1] - P->dof[c->block[side]] : 0;
    return P->J + c->jac + (side == 1 ? (size_t)(c->rows * first) : 0);
}

static void law_rows(const perpi_linear_step* l, int32_t i, int side, double* R, int32_t* n)
{
    const double* J = side_rows(l, i, side, n);
    J = l->ends ? l->R + (J - l->f->problem.J) : J;
    memcpy(R, J, (size_t)(l->f->constraint[i].rows * *n) * sizeof *R);
    if (l->law[i].closing != i) {
        memcpy(R, side_rows(l, l->law[i].closing, side, n), (size_t)*n * sizeof *R);
    }
}

static bool acts_between(const perpi_linear_step* l, int32_t i)
{
    return (l->law[i].acts || l->step.middle) && l->f->constraint[i].block[0] >= 0 &&
           l->f->constraint[i].block[1] >= 0;
}

/* Blocks of K: the diagonal, and pairs of blocks with an acting constraint; ascending, each once. */
static perp_status find_pattern(perpi_linear_step* l)
{
    const perp_contact_problem* P = &l->f->problem;
    const size_t blocks = (size_t)P->block_count;
    perp_context* x = l->context;
    size_t pairs = blocks;
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        pairs += acts_between(l, i) ? 2 : 0;
    }
    perp_status status = perpi_grow(x, &l->start, &l->start_capacity, blocks + 1, sizeof *l->start);
    if (status == PERP_OK) {
        status = perpi_grow(x, &l->fill, &l->fill_capacity, 2 * blocks + 1, sizeof *l->fill);
    }
    if (status == PERP_OK) {
        status = perpi_grow(x, &l->column, &l->column_capacity, pairs, sizeof *l->column);
    }
    if (status != PERP_OK) {
        return status;
    }
    for (size_t b = 0; b <= blocks; ++b) {
        l->fill[b] = b < blocks ? 1 : 0;
    }
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        if (acts_between(l, i)) {
            l->fill[P->constraint[i].block[0]] += 1;
            l->fill[P->constraint[i].block[1]] += 1;
        }
    }
    l->start[0] = 0;
    for (size_t b = 0; b < blocks; ++b) {
        l->start[b + 1] = l->start[b] + l->fill[b];
        l->column[l->start[b]] = (int32_t)b;
        l->fill[b] = l->start[b] + 1;
    }
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        if (acts_between(l, i)) {
            const int32_t a = P->constraint[i].block[0], b = P->constraint[i].block[1];
            l->column[l->fill[a]++] = b;
            l->column[l->fill[b]++] = a;
        }
    }
    int32_t kept = 0;
    for (size_t b = 0; b < blocks; ++b) { /* sort, and remove those that are there twice */
        int32_t* item = l->column + l->start[b];
        const int32_t n = l->start[b + 1] - l->start[b], first = kept;
        for (int32_t i = 1; i < n; ++i) {
            const int32_t y = item[i];
            int32_t k = i;
            for (; k > 0 && item[k - 1] > y; --k) {
                item[k] = item[k - 1];
            }
            item[k] = y;
        }
        for (int32_t i = 0; i < n; ++i) {
            if (i == 0 || item[i] != item[i - 1]) {
                l->column[kept++] = item[i];
            }
        }
        l->fill[b] = first;
    }
    for (size_t b = 0; b < blocks; ++b) {
        l->start[b] = l->fill[b];
    }
    l->start[blocks] = kept;
    for (size_t b = 0; b < blocks; ++b) {
        l->fill[b] = P->dof[b + 1] - P->dof[b];
    }
    return perpi_block_lu_analyse(l->lu, (int32_t)blocks, l->fill, l->start, l->column);
}

double* perpi_linear_block(const perpi_linear_step* l, int32_t a, int32_t b, int32_t* stride)
{
    int32_t low = l->start[a], high = l->start[a + 1];
    while (low < high) {
        const int32_t middle = (low + high) / 2;
        if (l->column[middle] < b) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return perpi_block_lu_block(l->lu, low, stride);
}

/* K += J' D R, or its transpose R' D' J. */
static void add_constraint(perpi_linear_step* l, int32_t i)
{
    const perp_constraint* c = &l->f->constraint[i];
    const perpi_law* law = &l->law[i];
    const int32_t rows = c->rows;
    double D[PERPI_LAW_SIZE];
    for (int32_t a = 0; a < rows; ++a) {
        for (int32_t b = 0; b < rows; ++b) {
            double sum = 0.0;
            for (int32_t k = 0; k < rows; ++k) {
                sum += law->E[a * rows + k] * law->A[k * rows + b];
            }
            D[l->options.transposed ? b * rows + a : a * rows + b] = sum;
        }
    }
    double right[2][PERPI_LAW_SIZE];
    double left[2][PERPI_LAW_SIZE];
    int32_t n[2];
    for (int side = 0; side < 2; ++side) {
        law_rows(l, i, side, l->options.transposed ? left[side] : right[side], &n[side]);
        const double* J = side_rows(l, i, side, &n[side]);
        memcpy(l->options.transposed ? right[side] : left[side], J,
               (size_t)(rows * n[side]) * sizeof *J);
    }
    for (int s = 0; s < 2; ++s) {
        for (int t = 0; t < 2; ++t) {
            if (c->block[s] < 0 || c->block[t] < 0) {
                continue;
            }
            int32_t stride;
            double* K = perpi_linear_block(l, c->block[s], c->block[t], &stride);
            for (int32_t a = 0; a < rows; ++a) {
                double x[6] = {0};
                for (int32_t b = 0; b < rows; ++b) {
                    for (int32_t j = 0; j < n[t]; ++j) {
                        x[j] += D[a * rows + b] * right[t][b * n[t] + j];
                    }
                }
                for (int32_t k = 0; k < n[s]; ++k) {
                    for (int32_t j = 0; j < n[t]; ++j) {
                        K[k * stride + j] += left[s][a * n[s] + k] * x[j];
                    }
                }
            }
        }
    }
}

perp_status perpi_linear_factor(perpi_linear_step* l)
{
    const perp_contact_problem* P = &l->f->problem;
    const perp_status status = find_pattern(l);
    if (status != PERP_OK) {
        return status;
    }
    perpi_block_lu_clear(l->lu);
    const double* M = P->M;
    for (int32_t b = 0; b < P->block_count; ++b) {
        int32_t stride;
        double* K = perpi_linear_block(l, b, b, &stride);
        const int32_t n = P->dof[b + 1] - P->dof[b];
        for (int32_t i = 0; i < n; ++i) {
            memcpy(K + i * stride, M + i * n, (size_t)n * sizeof *M);
        }
        M += n * n;
    }
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        if (l->law[i].acts) {
            add_constraint(l, i);
        }
    }
    if (l->step.middle) {
        perpi_linear_middle_factor(l);
    }
    if (!perpi_block_lu_factor(l->lu)) {
        l->report.flags |= PERPI_LINEAR_SINGULAR;
    }
    return PERP_OK;
}

/* ---- solving -------------------------------------------------------------------------------------*/

/* out += J' x, or R' x, of one constraint. */
void perpi_linear_add_rows(const perpi_linear_step* l, int32_t i, bool law, const double* x,
                           double* out)
{
    const perp_constraint* c = &l->f->constraint[i];
    double rows[PERPI_LAW_SIZE];
    for (int side = 0; side < 2; ++side) {
        int32_t n;
        const double* J = side_rows(l, i, side, &n);
        if (law && (l->ends || l->law[i].closing != i)) {
            law_rows(l, i, side, rows, &n);
            J = rows;
        }
        double* to = c->block[side] >= 0 ? out + l->f->dof[c->block[side]] : NULL;
        for (int32_t r = 0; to != NULL && r < c->rows; ++r) {
            for (int32_t k = 0; k < n; ++k) {
                to[k] += J[r * n + k] * x[r];
            }
        }
    }
}

void perpi_linear_speeds(const perpi_linear_step* l, int32_t i, bool law, const double* v,
                         double* out)
{
    const perp_constraint* c = &l->f->constraint[i];
    double rows[PERPI_LAW_SIZE];
    for (int32_t r = 0; r < c->rows; ++r) {
        out[r] = 0.0;
    }
    for (int side = 0; side < 2; ++side) {
        int32_t n;
        const double* J = side_rows(l, i, side, &n);
        if (law && (l->ends || l->law[i].closing != i)) {
            law_rows(l, i, side, rows, &n);
            J = rows;
        }
        const double* from = c->block[side] >= 0 ? v + l->f->dof[c->block[side]] : NULL;
        for (int32_t r = 0; from != NULL && r < c->rows; ++r) {
            for (int32_t k = 0; k < n; ++k) {
                out[r] += J[r * n + k] * from[k];
            }
        }
    }
}

void perpi_law_multiply(int32_t n, const double* A, bool transposed, const double* x, double* y)
{
    for (int32_t i = 0; i < n; ++i) {
        y[i] = 0.0;
        for (int32_t j = 0; j < n; ++j) {
            y[i] += (transposed ? A[j * n + i] : A[i * n + j]) * x[j];
        }
    }
}

/* x <- x - M v */
static void subtract_mass(const perpi_linear_step* l, const double* v, double* x)
{
    const perp_contact_problem* P = &l->f->problem;
    const double* M = P->M;
    for (int32_t b = 0; b < P->block_count; ++b) {
        const int32_t first = P->dof[b], n = P->dof[b + 1] - first;
        for (int32_t i = 0; i < n; ++i) {
            for (int32_t j = 0; j < n; ++j) {
                x[first + i] -= M[i * n + j] * v[first + j];
            }
        }
        M += n * n;
    }
}

double perpi_linear_largest(const double* x, int32_t n)
{
    double most = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        most = perpi_larger(most, fabs(x[i]));
    }
    return most;
}

/* The system with the regularised laws: dv, dp from the right-hand side ra, rc. */
static void solve_regularised(perpi_linear_step* l, const double* ra, const double* rc, double* dv,
                              double* dp)
{
    const perp_contact_problem* P = &l->f->problem;
    const int32_t dofs = l->dofs;
    const bool t = l->options.transposed;
    memcpy(dv, ra, (size_t)dofs * sizeof *dv);
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* x = &P->constraint[i];
        const perpi_law* law = &l->law[i];
        double y[PERPI_LAW_ROWS], z[PERPI_LAW_ROWS];
        perpi_law_multiply(x->rows, law->E, t, rc + x->row, y); /* E c, or E' c */
        if (t) {
            perpi_law_multiply(x->rows, law->A, true, y, z);
            for (int32_t r = 0; r < x->rows; ++r) {
                y[r] = -z[r];
            }
        }
        if (!t || law->acts) {
            perpi_linear_add_rows(l, i, t, y, dv);
        }
    }
    perpi_block_lu_solve(l->lu, dv);
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* x = &P->constraint[i];
        const perpi_law* law = &l->law[i];
        double y[PERPI_LAW_ROWS], z[PERPI_LAW_ROWS];
        perpi_linear_speeds(l, i, !t, dv, y);
        if (!t) {
            perpi_law_multiply(x->rows, law->A, false, y, z);
        }
        for (int32_t r = 0; r < x->rows; ++r) {
            z[r] = t ? rc[x->row + r] + y[r] : rc[x->row + r] - z[r];
        }
        perpi_law_multiply(x->rows, law->E, t, z, dp + x->row);
    }
}

/* What is left of the right-hand side a, c by v, p in the system itself. */
static void find_residual(const perpi_linear_step* l, const double* a, const double* c,
                          const double* v, const double* p, double* ra, double* rc)
{
    const perp_contact_problem* P = &l->f->problem;
    const int32_t dofs = l->dofs;
    const bool t = l->options.transposed;
    memcpy(ra, a, (size_t)dofs * sizeof *ra);
    subtract_mass(l, v, ra);
    if (l->step.middle) {
        perpi_linear_middle_subtract(l, v, ra);
    }
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* x = &P->constraint[i];
        const perpi_law* law = &l->law[i];
        double y[PERPI_LAW_ROWS], z[PERPI_LAW_ROWS];
        if (t) {
            perpi_law_multiply(x->rows, law->A, true, p + x->row, y);
            for (int32_t r = 0; r < x->rows; ++r) {
                y[r] = -y[r];
            }
            perpi_linear_add_rows(l, i, true, y, ra);
            perpi_linear_speeds(l, i, false, v, y);
            perpi_law_multiply(x->rows, law->B, true, p + x->row, z);
            for (int32_t r = 0; r < x->rows; ++r) {
                rc[x->row + r] = c[x->row + r] + y[r] - z[r];
            }
        } else {
            double s[PERPI_LAW_ROWS];
            perpi_linear_add_rows(l, i, false, p + x->row, ra);
            perpi_linear_speeds(l, i, true, v, s);
            perpi_law_multiply(x->rows, law->A, false, s, y);
            perpi_law_multiply(x->rows, law->B, false, p + x->row, z);
            for (int32_t r = 0; r < x->rows; ++r) {
                rc[x->row + r] = c[x->row + r] - y[r] - z[r];
            }
        }
    }
}

/* The refinement stops where it no longer halves the correction. */
void perpi_linear_solve(perpi_linear_step* l, double* a, double* c, int rounds)
{
    const int32_t dofs = l->dofs, rows = l->rows;
    double *v = l->work, *p = v + dofs, *dv = p + rows, *dp = dv + dofs;
    double *ra = dp + rows, *rc = ra + dofs;
    memset(v, 0, (size_t)(dofs + rows) * sizeof *v);
    memcpy(ra, a, (size_t)dofs * sizeof *ra);
    memcpy(rc, c, (size_t)rows * sizeof *rc);
    double last = INFINITY;
    for (int round = 0; round < rounds; ++round) {
        solve_regularised(l, ra, rc, dv, dp);
        for (int32_t i = 0; i < dofs; ++i) {
            v[i] += dv[i];
        }
        for (int32_t i = 0; i < rows; ++i) {
            p[i] += dp[i];
        }
        const double size = perpi_linear_largest(v, dofs), step = perpi_linear_largest(dv, dofs);
        /* corrections fall by about the same factor: the next one would be rounding, too */
        const double next = isfinite(last) ? step / last * step : step;
        if (!(next > REFINED * size) || !(step < 0.5 * last) || round + 1 == rounds) {
            break;
        }
        last = step;
        find_residual(l, a, c, v, p, ra, rc);
    }
    memcpy(a, v, (size_t)dofs * sizeof *a);
    memcpy(c, p, (size_t)rows * sizeof *c);
}
