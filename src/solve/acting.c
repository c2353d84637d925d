/* src/solve/acting.c - see acting.h. */
#include "solve/acting.h"

#include <math.h>
#include <string.h>

#include "problem/operators.h"

#define SMALL 1e-3  /* of the tolerance: normal velocities, relative to their terms */
#define NEARLY 0.05 /* the same after the sweeps: contacts that may act */
enum { SWEEPS = 10 };

/* Whether the normal velocity is below the part `least` of its terms. */
static bool is_below(const perp_contact_problem* P, const perp_constraint* c, const double* v,
                     double least)
{
    double u = P->b[c->row], size = fabs(u);
    for (int k = 0; k < 2; ++k) {
        const perpi_side side = perpi_side_of(P, c, k);
        for (int32_t i = 0; i < side.nv; ++i) {
            const double t = side.J[i] * v[side.d + i];
            u += t;
            size += fabs(t);
        }
    }
    return !(u >= least * size);
}

/* Whether it is negative by more than what the residual check would count. */
static bool is_violated(const perp_contact_problem* P, const perp_constraint* c, const double* v,
                        double tolerance)
{
    return is_below(P, c, v, -SMALL * tolerance);
}

static int32_t mark(const perpi_acting* a, int32_t i)
{
    const bool fresh = !a->acts[i];
    a->fresh[i] = a->fresh[i] || fresh;
    a->acts[i] = true;
    return fresh;
}

/* Of a group all members act or none; a member may be in two groups. It is violated if no member is
 * admissible; v NULL: not looked at. */
static int32_t mark_groups(const perpi_acting* a, const double* v, double tolerance)
{
    const perp_contact_problem* P = a->P;
    int32_t all = 0;
    for (int32_t added = 1; added > 0; all += added) {
        added = 0;
        for (int32_t g = 0; g < P->group_count; ++g) {
            const perp_group* group = &P->group[g];
            bool violated = v != NULL, acts = false;
            for (int32_t m = 0; m < group->count; ++m) {
                acts = acts || a->acts[group->member[m]];
                violated =
                    violated && is_violated(P, &P->constraint[group->member[m]], v, tolerance);
            }
            for (int32_t m = 0; m < group->count && (violated || acts); ++m) {
                added += mark(a, group->member[m]);
            }
        }
    }
    return all;
}

int32_t perpi_acting_add(const perpi_acting* a, const double* v, double tolerance)
{
    const perp_contact_problem* P = a->P;
    int32_t added = 0;
    memset(a->fresh, 0, (size_t)P->constraint_count * sizeof *a->fresh);
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        if (!a->acts[i] && !a->grouped[i] && is_violated(P, &P->constraint[i], v, tolerance)) {
            added += mark(a, i);
        }
    }
    return added + mark_groups(a, v, tolerance);
}

/* ---- the first guess -----------------------------------------------------------------------------------*/

/* One normal row of Gauss and Seidel's method: p and v change so that its velocity is not negative. */
static void push(const perpi_acting* a, int32_t i, double* v, double* p)
{
    const perp_contact_problem* P = a->P;
    const perp_constraint* c = &P->constraint[i];
    const double u = perpi_row_velocity(P, c, 0, v);
    double step[2][PERPI_BLOCK_MAX], W = 0.0;
    if (u >= 0.0 && !(p[c->row] > 0.0)) {
        return;
    }
    perpi_side side[2];
    for (int k = 0; k < 2; ++k) {
        side[k] = perpi_side_of(P, c, k);
        if (side[k].nv > 0) {
            const double* L = P->M_factor + 6 * (size_t)side[k].d;
            memcpy(step[k], side[k].J, (size_t)side[k].nv * sizeof *step[k]);
            perpi_chol_solve(side[k].nv, L, step[k]);
            W += perpi_dot(side[k].nv, side[k].J, step[k]);
        }
    }
    double dp = W > 0.0 ? -u / W : 0.0;
    dp = dp > -p[c->row] ? dp : -p[c->row];
    p[c->row] += dp;
    for (int k = 0; k < 2; ++k) {
        for (int32_t j = 0; j < side[k].nv; ++j) {
            v[side[k].d + j] += dp * step[k][j];
        }
    }
}

/* Of a group the member with the largest velocity, if it may push. */
static void push_group(const perpi_acting* a, const perp_group* group, double* v, double* p)
{
    double most = -INFINITY;
    int32_t widest = 0;
    for (int32_t m = 0; m < group->count; ++m) {
        const double u = perpi_row_velocity(a->P, &a->P->constraint[group->member[m]], 0, v);
        widest = u > most ? m : widest;
        most = u > most ? u : most;
    }
    if (widest < group->primary) {
        push(a, group->member[widest], v, p);
    }
}

static void sweep(const perpi_acting* a, bool back, double* v, double* p)
{
    const perp_contact_problem* P = a->P;
    for (int32_t k = 0; k < P->constraint_count; ++k) {
        const int32_t i = back ? P->constraint_count - 1 - k : k;
        if (!a->grouped[i] && P->constraint[i].kind == PERP_CONSTRAINT_CONTACT) {
            push(a, i, v, p);
        }
    }
    for (int32_t g = 0; g < P->group_count; ++g) {
        push_group(a, &P->group[g], v, p);
    }
}

void perpi_acting_begin(const perpi_acting* a, double* v, double* p)
{
    const perp_contact_problem* P = a->P;
    const size_t size = (size_t)P->constraint_count * sizeof *a->acts;
    memset(a->acts, 0, size);
    memset(a->fresh, 0, size);
    memset(a->grouped, 0, size);
    for (int32_t g = 0; g < P->group_count; ++g) {
        for (int32_t m = 0; m < P->group[g].count; ++m) {
            a->grouped[P->group[g].member[m]] = true;
        }
    }
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        if (c->kind != PERP_CONSTRAINT_CONTACT || p[c->row] > 0.0) {
            (void)mark(a, i);
        }
    }
    for (int32_t k = 0; k < SWEEPS; ++k) {
        sweep(a, k % 2 == 1, v, p);
    }
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        if (c->kind == PERP_CONSTRAINT_CONTACT &&
            (p[c->row] > 0.0 || (!a->grouped[i] && is_below(P, c, v, NEARLY)))) {
            (void)mark(a, i);
        }
    }
    (void)mark_groups(a, NULL, 0.0);
}

int32_t perpi_acting_rows(const perpi_acting* a)
{
    int32_t rows = 0;
    for (int32_t i = 0; i < a->P->constraint_count; ++i) {
        rows += a->acts[i] ? a->P->constraint[i].rows : 0;
    }
    return rows;
}

int32_t perpi_acting_count(const perpi_acting* a)
{
    int32_t count = 0;
    for (int32_t i = 0; i < a->P->constraint_count; ++i) {
        count += a->acts[i];
    }
    return count;
}
