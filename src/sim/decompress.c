/* src/sim/decompress.c - see decompress.h: Gauss-Seidel over the rows.
 *
 * While no contact needs more than it is asked for, the normal impulses are given and the friction
 * sets with them: the problem is convex, its velocities are unique, and the sweeps converge. What
 * they find is judged afterwards as a contact problem like any other (impact.c).
 */
#include "sim/decompress.h"

#include <string.h>

#include "linalg/dense.h"
#include "problem/cone.h"

enum { MAX_SWEEPS = 20000 };
/* Change of a row's velocity in a sweep, relative to the fastest: the end, and enough at the last sweep
 * (redundant contacts that meet again share their loads slowly; the judge has the last word). */
static const double TOLERANCE = 1e-13, ENOUGH = 1e-8;

size_t perpi_decompress_work(const perpi_formulation* f)
{
    return f->jac + (size_t)f->problem.row_count;
}

/* Y: M^-1 J' in the layout of J; W: the diagonal of J M^-1 J'. */
static void prepare(const perpi_formulation* f, double* Y, double* W)
{
    memcpy(Y, f->J, f->jac * sizeof *Y);
    memset(W, 0, (size_t)f->problem.row_count * sizeof *W);
    for (int32_t i = 0; i < f->problem.constraint_count; ++i) {
        const perp_constraint* c = &f->constraint[i];
        size_t at = c->jac;
        for (int side = 0; side < 2; ++side) {
            const int32_t block = c->block[side];
            if (block < 0) {
                continue;
            }
            const int32_t n = f->dof[block + 1] - f->dof[block];
            const double* M = f->M;
            for (int32_t k = 0; k < block; ++k) {
                M += (f->dof[k + 1] - f->dof[k]) * (f->dof[k + 1] - f->dof[k]);
            }
            double L[PERPI_BLOCK_MAX * PERPI_BLOCK_MAX];
            const bool sound = perpi_chol_factor(n, M, L);
            for (int32_t r = 0; r < c->rows && sound; ++r, at += (size_t)n) {
                perpi_chol_solve(n, L, Y + at);
                W[c->row + r] += perpi_dot(n, f->J + at, Y + at);
            }
        }
    }
}

/* v += Y_r dp. */
static void push(const perpi_formulation* f, const perp_constraint* c, int32_t r, const double* Y,
                 double dp, double* v)
{
    size_t at = c->jac;
    for (int side = 0; side < 2; ++side) {
        const int32_t block = c->block[side];
        if (block < 0) {
            continue;
        }
        const int32_t n = f->dof[block + 1] - f->dof[block];
        for (int32_t i = 0; i < n; ++i) {
            v[f->dof[block] + i] += Y[at + (size_t)(r * n + i)] * dp;
        }
        at += (size_t)(c->rows * n);
    }
}

static double clip(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

bool perpi_decompress(const perpi_formulation* f, const perp_contact* contact, const double* asked,
                      double* v, double* p, double* work)
{
    double *Y = work, *W = work + f->jac;
    prepare(f, Y, W);
    memset(p, 0, (size_t)f->problem.row_count * sizeof *p);
    double fastest = 0.0, last = INFINITY;
    for (int sweep = 0; sweep < MAX_SWEEPS; ++sweep) {
        double change = 0.0;
        for (int32_t i = 0; i < f->problem.constraint_count; ++i) {
            const perp_constraint* c = &f->constraint[i];
            const bool touch = i < f->contact_count;
            double step[6] = {0}, W_t = 0.0, goal[3];
            for (int32_t r = 0; r < c->rows; ++r) {
                const int32_t row = c->row + r;
                if (!(W[row] > 0.0) || (touch && r > 0)) {
                    W_t = touch && W[row] > W_t ? W[row] : W_t;
                    continue;
                }
                const double drift = touch ? contact[i].drift[0] : 0.0;
                const double u = perpi_formulation_speed(f, i, r, v) + f->b[row] - drift;
                const double free = p[row] - u / W[row];
                const double next = touch ? fmax(asked[i], free)
                                    : c->kind == PERP_CONSTRAINT_BOUNDED
                                        ? clip(free, f->lower[row], f->upper[row])
                                        : free;
                step[0] = next - p[row];
                p[row] = next;
                push(f, c, r, Y, step[0], v);
                change = fmax(change, fabs(step[0]) * W[row]);
                fastest = fmax(fastest, fabs(u));
            }
            if (!touch || c->rows == 1 || !(W_t > 0.0)) {
                continue;
            }
            /* friction: all tangential rows at once, with the longest of their steps */
            W_t *= c->rows > 2 ? (double)(c->rows - 1) : 1.0;
            for (int32_t r = 1; r < c->rows; ++r) {
                const double e = c->cone == PERP_CONE_ELLIPSOID ? c->e[r - 1] : 1.0;
                const double u = perpi_formulation_speed(f, i, r, v) + f->b[c->row + r];
                goal[r - 1] = p[c->row + r] / e - u * e / W_t;
                fastest = fmax(fastest, fabs(u));
            }
            perpi_project_friction(c, c->mu * p[c->row], goal, goal);
            for (int32_t r = 1; r < c->rows; ++r) {
                const double e = c->cone == PERP_CONE_ELLIPSOID ? c->e[r - 1] : 1.0;
                step[r] = e * goal[r - 1] - p[c->row + r];
                p[c->row + r] += step[r];
                push(f, c, r, Y, step[r], v);
                change = fmax(change, fabs(step[r]) * W[c->row + r]);
            }
        }
        last = change;
        if (!(change > TOLERANCE * fastest)) {
            return true;
        }
    }
    return last <= ENOUGH * fastest;
}
