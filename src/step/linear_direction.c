/* src/step/linear_direction.c - one-sided derivatives of a step with weak constraints.
 *
 * Method     docs/notation.md, "One-sided derivatives"
 *
 * With the base laws of the weak constraints (weak_law.h) the step is linear; x of their pairs adds
 * to its right-hand side. One solve for each row of a weak constraint gives what it changes of the
 * rows of all of them, and so y = N x + q, a linear complementarity problem of a few unknowns.
 * Redundant contacts make N singular: a small part is added to its diagonal, and taken away again
 * by refinement on the active set. Round cones of contacts that touch without slip are not
 * polyhedral: their frame is turned until its first axis is the direction of the friction, where
 * the two agree.
 */
#include <string.h>

#include "linalg/dense.h"
#include "step/linear_parts.h"

static const double REGULAR = 1e-10; /* on the diagonal, relative */
enum { TURNS = 200, REFINEMENTS = 6 };
static const double TURNED = 1e-13;

void perpi_linear_weak_free(perpi_linear_step* l)
{
    perpi_free(l->context, l->pair);
    perpi_free(l->context, l->weak_room);
    perpi_free(l->context, l->weak_index);
    perp_lcp_solver_destroy(l->lcp);
}

static bool in_group(const perp_contact_problem* P, int32_t constraint)
{
    for (int32_t g = 0; g < P->group_count; ++g) {
        for (int32_t k = 0; k < P->group[g].count; ++k) {
            if (P->group[g].member[k] == constraint) {
                return true;
            }
        }
    }
    return false;
}

perp_status perpi_linear_weaken(perpi_linear_step* l, const perpi_law_input* in)
{
    const perp_contact_problem* P = in->problem;
    l->pair_count = 0;
    l->pairs_known = true;
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        if (!l->law[i].weak) {
            continue;
        }
        if (in_group(P, i)) {
            l->pairs_known = false;
            continue;
        }
        const size_t most = (size_t)(l->pair_count + perpi_weak_pairs_most(&P->constraint[i]));
        const perp_status status =
            perpi_grow(l->context, &l->pair, &l->pair_capacity, most, sizeof *l->pair);
        if (status != PERP_OK) {
            return status;
        }
        int32_t count;
        if (!perpi_weak_law(in, i, l->pair_count, &l->law[i], l->pair + l->pair_count, &count)) {
            l->pairs_known = false;
        }
        l->pair_count += count;
    }
    return PERP_OK;
}

/* ---- the small problem ---------------------------------------------------------------------------*/

typedef struct weak_problem {
    int32_t n, rows; /* pairs, rows of weak constraints */
    int32_t* first;  /* per pair: its constraint's first of these rows */
    double *du, *dp; /* rows x rows: by the right-hand side of a row */
    double *u, *p;   /* rows: with x = 0 */
    double *N, *q, *x, *y, *M, *b, *LU, *d;
    int32_t *active, *pivot;
    double *a, *c; /* of a solve */
} weak_problem;

static perp_status weak_allocate(perpi_linear_step* l, weak_problem* w)
{
    const size_t n = (size_t)l->pair_count;
    size_t rows = 0;
    int32_t last = -1;
    for (size_t k = 0; k < n; ++k) {
        rows += l->pair[k].constraint != last ? (size_t)l->law[l->pair[k].constraint].rows : 0;
        last = l->pair[k].constraint;
    }
    const size_t dofs = (size_t)l->dofs, all = (size_t)l->rows;
    perp_status status = perpi_grow(
        l->context, &l->weak_room, &l->weak_room_capacity,
        2 * (dofs + 2 * all) + 2 * rows * rows + 2 * rows + 3 * n * n + 8 * n, sizeof(double));
    if (status == PERP_OK) {
        status = perpi_grow(l->context, &l->weak_index, &l->weak_index_capacity, 3 * n,
                            sizeof *l->weak_index);
    }
    if (status == PERP_OK && l->lcp == NULL) {
        status = perp_lcp_solver_create(l->context, "auto", NULL, 0, &l->lcp);
    }
    if (status != PERP_OK) {
        return status;
    }
    double* at = l->weak_room + dofs + 2 * all; /* the right-hand side comes first */
    *w = (weak_problem){.n = (int32_t)n, .rows = (int32_t)rows, .first = l->weak_index};
    w->active = w->first + n;
    w->pivot = w->active + n;
    struct {
        double** part;
        size_t size;
    } parts[] = {{&w->a, dofs},
                 {&w->c, 2 * all},
                 {&w->du, rows * rows},
                 {&w->dp, rows * rows},
                 {&w->u, rows},
                 {&w->p, rows},
                 {&w->N, n * n},
                 {&w->M, n * n},
                 {&w->LU, n * n},
                 {&w->q, n},
                 {&w->x, n},
                 {&w->y, n},
                 {&w->b, n},
                 {&w->d, 4 * n}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; ++i) {
        *parts[i].part = at;
        at += parts[i].size;
    }
    int32_t row = 0;
    for (size_t k = 0; k < n; ++k) {
        const bool same = k > 0 && l->pair[k].constraint == l->pair[k - 1].constraint;
        w->first[k] = same ? w->first[k - 1] : row;
        row += same ? 0 : l->law[l->pair[k].constraint].rows;
    }
    return PERP_OK;
}

static bool first_of_constraint(const weak_problem* w, int32_t k)
{
    return k == 0 || w->first[k] != w->first[k - 1];
}

/* du and dp of the rows of weak constraints, of the solution (a, c). */
static void read_rows(const perpi_linear_step* l, const weak_problem* w, const double* r_u,
                      double* du, double* dp)
{
    for (int32_t k = 0; k < w->n; ++k) {
        const perp_constraint* x = &l->f->constraint[l->pair[k].constraint];
        if (!first_of_constraint(w, k)) {
            continue;
        }
        perpi_linear_speeds(l, l->pair[k].constraint, true, w->a, du + w->first[k]);
        for (int32_t r = 0; r < x->rows; ++r) {
            du[w->first[k] + r] += r_u != NULL ? r_u[x->row + r] : 0.0;
            dp[w->first[k] + r] = w->c[x->row + r];
        }
    }
}

static void find_responses(perpi_linear_step* l, weak_problem* w)
{
    for (int32_t k = 0; k < w->n; ++k) {
        const perp_constraint* x = &l->f->constraint[l->pair[k].constraint];
        for (int32_t r = 0; first_of_constraint(w, k) && r < x->rows; ++r) {
            const int32_t at = (w->first[k] + r) * w->rows;
            memset(w->a, 0, (size_t)l->dofs * sizeof *w->a);
            memset(w->c, 0, (size_t)l->rows * sizeof *w->c);
            w->c[x->row + r] = 1.0;
            perpi_linear_solve(l, w->a, w->c, PERPI_LINEAR_REFINEMENTS);
            read_rows(l, w, NULL, w->du + at, w->dp + at);
        }
    }
}

static double read_pair(const perpi_linear_step* l, const weak_problem* w, int32_t k,
                        const double* du, const double* dp)
{
    const perpi_weak_pair* x = &l->pair[k];
    double sum = 0.0;
    for (int32_t r = 0; r < l->law[x->constraint].rows; ++r) {
        sum += x->u[r] * du[w->first[k] + r] + x->p[r] * dp[w->first[k] + r];
    }
    return sum;
}

/* y = N x + q in the units of the pairs. */
static void fill_problem(const perpi_linear_step* l, weak_problem* w)
{
    for (int32_t i = 0; i < w->n; ++i) {
        const perpi_weak_pair* y = &l->pair[i];
        w->q[i] = y->scale * read_pair(l, w, i, w->u, w->p);
        for (int32_t j = 0; j < w->n; ++j) {
            const perpi_weak_pair* x = &l->pair[j];
            double sum = y->slip == j ? 1.0 : x->slip == i ? -1.0 : 0.0;
            for (int32_t r = 0; r < l->law[x->constraint].rows; ++r) {
                const int32_t at = (w->first[j] + r) * w->rows;
                if (x->push[r] != 0.0) {
                    sum += x->push[r] * read_pair(l, w, i, w->du + at, w->dp + at);
                }
            }
            w->N[i * w->n + j] = y->scale * sum * x->scale;
        }
    }
}

/* The active set of x, solved without the part that was added to the diagonal. */
static void refine(weak_problem* w)
{
    const int32_t n = w->n;
    int32_t m = 0;
    for (int32_t i = 0; i < n; ++i) {
        double y = w->q[i];
        for (int32_t j = 0; j < n; ++j) {
            y += w->N[i * n + j] * w->x[j];
        }
        if (w->x[i] > y) {
            w->active[m++] = i;
        } else {
            w->x[i] = 0.0;
        }
    }
    for (int32_t i = 0; i < m; ++i) {
        for (int32_t j = 0; j < m; ++j) {
            w->LU[i * m + j] = w->M[w->active[i] * n + w->active[j]];
        }
    }
    if (m == 0 || !perpi_lu_factor(m, w->LU, w->pivot, NULL)) {
        return;
    }
    for (int round = 0; round < REFINEMENTS; ++round) {
        for (int32_t i = 0; i < m; ++i) {
            const int32_t row = w->active[i];
            w->b[i] = -w->q[row];
            for (int32_t j = 0; j < n; ++j) {
                w->b[i] -= w->N[row * n + j] * w->x[j];
            }
        }
        perpi_lu_solve(m, w->LU, w->pivot, w->b);
        for (int32_t i = 0; i < m; ++i) {
            w->x[w->active[i]] += w->b[i];
        }
    }
}

static perp_status solve_pairs(perpi_linear_step* l, weak_problem* w, bool* solved)
{
    const int32_t n = w->n;
    const double size = perpi_linear_largest(w->q, n);
    memset(w->x, 0, (size_t)n * sizeof *w->x);
    *solved = true;
    if (!(size > 0.0)) {
        *solved = size == 0.0;
        return PERP_OK;
    }
    for (int32_t i = 0; i < n; ++i) {
        w->b[i] = w->q[i] / size;
    }
    memcpy(w->M, w->N, (size_t)(n * n) * sizeof *w->M);
    for (int32_t i = 0; i < n; ++i) {
        w->M[i * n + i] += REGULAR;
    }
    const perp_solve_options options = perp_solve_options_default();
    perp_report report;
    const perp_status status = perp_lcp_solve(l->lcp, &(perp_lcp){.n = n, .M = w->M, .q = w->b},
                                              &options, false, w->x, &report);
    *solved = status == PERP_OK && report.outcome == PERP_OUTCOME_SOLVED;
    for (int32_t i = 0; i < n; ++i) {
        w->x[i] *= size;
    }
    if (*solved) {
        refine(w);
    }
    return status;
}

/* ---- frames of round cones -----------------------------------------------------------------------*/

/* The direction of p_t - u_t / w at the solution, in scaled coordinates. False: it has none. */
static bool find_direction(const perpi_linear_step* l, const weak_problem* w, int32_t from,
                           int32_t to, double* d)
{
    const perp_constraint* c = &l->f->constraint[l->pair[from].constraint];
    double length = 0.0;
    for (int32_t i = 0; i < c->rows - 1; ++i) {
        const int32_t row = w->first[from] + 1 + i;
        const double e = c->cone == PERP_CONE_ELLIPSOID ? c->e[i] : 1.0;
        double du = w->u[row];
        for (int32_t j = 0; j < w->n; ++j) {
            for (int32_t r = 0; r < l->law[l->pair[j].constraint].rows; ++r) {
                du += l->pair[j].scale * w->x[j] * l->pair[j].push[r] *
                      w->du[(w->first[j] + r) * w->rows + row];
            }
        }
        double dp = 0.0;
        for (int32_t j = from; j < to; ++j) {
            dp += l->pair[j].scale * w->x[j] * l->pair[j].push[1 + i];
        }
        d[i] = dp / e - e * du / l->w[c->row + 1];
        length += d[i] * d[i];
    }
    length = sqrt(length);
    for (int32_t i = 0; i < c->rows - 1 && length > 0.0; ++i) {
        d[i] /= length;
    }
    return length > 0.0;
}

/* Turns the frames; the largest change of a first axis. */
static double turn_frames(perpi_linear_step* l, weak_problem* w)
{
    double most = 0.0;
    for (int32_t k = 0; k < w->n;) {
        int32_t end = k + 1;
        while (end < w->n && !first_of_constraint(w, end)) {
            ++end;
        }
        const perp_constraint* c = &l->f->constraint[l->pair[k].constraint];
        double d[3] = {0};
        const bool framed = end - k > 2 && l->pair[k + 2].part == 0 && c->rows > 2;
        if (framed && find_direction(l, w, k, end, d)) {
            double* last = w->d + 4 * (size_t)k;
            for (int i = 0; i < 3; ++i) {
                most = perpi_larger(most, fabs(d[i] - last[i]));
                last[i] = d[i];
            }
            perpi_weak_align(c, d, l->pair + k, end - k);
        }
        k = end;
    }
    return most;
}

perp_status perpi_linear_step_direction(perpi_linear_step* l, const double* dx,
                                        const double* parameter, double* dx_next, bool* resolved)
{
    PERP_ASSERT(l->options.one_sided && !l->options.transposed);
    *resolved = l->pairs_known;
    if (l->pair_count == 0) {
        return perpi_linear_step_forward(l, dx, parameter, dx_next);
    }
    weak_problem w;
    perp_status status = weak_allocate(l, &w);
    dx = perpi_linear_displaced(l, dx);
    if (status == PERP_OK && l->met) {
        status = perpi_linear_gain(l, dx, parameter);
    }
    if (status != PERP_OK) {
        return status;
    }
    const size_t dofs = (size_t)l->dofs, rows = (size_t)l->rows;
    double *r_v = l->weak_room, *r_u = r_v + dofs, *c = r_u + rows;
    perpi_linear_right_side(l, dx, parameter, r_v, r_u, c);
    find_responses(l, &w);
    memcpy(w.a, r_v, dofs * sizeof *r_v);
    memcpy(w.c, c, rows * sizeof *c);
    perpi_linear_solve(l, w.a, w.c, PERPI_LINEAR_REFINEMENTS);
    read_rows(l, &w, r_u, w.u, w.p);
    memset(w.x, 0, (size_t)w.n * sizeof *w.x);
    memset(w.d, 0, 4 * (size_t)w.n * sizeof *w.d);
    bool turning = turn_frames(l, &w) > 0.0, solved = true;
    for (int turn = 0; status == PERP_OK; ++turn) {
        fill_problem(l, &w);
        status = solve_pairs(l, &w, &solved);
        turning = turning && turn_frames(l, &w) > TURNED;
        if (!turning || turn == TURNS) {
            break;
        }
    }
    if (status != PERP_OK) {
        return status;
    }
    *resolved = *resolved && solved && !turning;
    for (int32_t k = 0; k < w.n; ++k) {
        const perp_constraint* x = &l->f->constraint[l->pair[k].constraint];
        for (int32_t r = 0; r < x->rows; ++r) {
            c[x->row + r] += w.x[k] * l->pair[k].scale * l->pair[k].push[r];
        }
    }
    perpi_linear_solve(l, r_v, c, PERPI_LINEAR_REFINEMENTS);
    return perpi_linear_finish(l, dx, parameter, r_v, dx_next);
}
