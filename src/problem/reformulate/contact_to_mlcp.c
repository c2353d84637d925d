/* src/problem/reformulate/contact_to_mlcp.c - contact problem -> MLCP.
 *
 * Source     friction [B09 (2.78)], groups [W14 (4.10)-(4.14), (4.50)]
 * Notation   paper p_n, alpha or p_f, s -> here p_n, beta, sigma; paper c, d -> c, d
 *            z = (v; per constraint its impulses; per group c, d, y), w = M z + q:
 *     v rows       M v - J' p - k = 0
 *     equality     J v + b + c p = 0                   p free               c: compliance
 *     bounded      J v + b + c p                       perp  lower <= p <= upper
 *     p_n          u_n >= 0                            perp  p_n >= 0       u = J v + b
 *     beta_j       d_j . u_t + sigma >= 0              perp  beta_j >= 0    p_t = sum beta_j d_j
 *     sigma        mu p_n - sum beta_j >= 0            perp  sigma >= 0
 *     c_j          m_{j-1} + c_j - u_j >= 0            perp  c_j >= 0       m_1 = u_1,
 *                                                                           m_j = m_{j-1} + c_j
 *     d_i          d_i + u_i >= 0                      perp  d_i >= 0
 *     p_n, grouped sum over its groups of m (+ d_i with several primaries)
 *     y            m >= 0                              perp  y >= 0         zero column
 * Departure  the sign of the v rows is turned, so that eliminating v leaves + J M^-1 J'. The dummy y
 *            makes an LCP of the inequality (4.11); it is also needed where the single primary of a
 *            group is primary in another group, since then the sum does not bound each m.
 */
#include <math.h>
#include <string.h>

#include "base/context.h"
#include "problem/cone.h"
#include "problem/reformulate/reformulate.h"

void perpi_to_mlcp_free(perp_context* context, perpi_to_mlcp* t)
{
    perpi_layout_free(context, &t->layout);
    perpi_ints* ints[] = {&t->row, &t->col, &t->order, &t->count, &t->start, &t->csc_row};
    perpi_doubles* doubles[] = {&t->value, &t->csc_value, &t->q, &t->lower, &t->upper};
    for (size_t i = 0; i < sizeof ints / sizeof ints[0]; ++i) {
        perpi_free(context, ints[i]->at);
    }
    for (size_t i = 0; i < sizeof doubles / sizeof doubles[0]; ++i) {
        perpi_free(context, doubles[i]->at);
    }
}

/* ---- triplets --------------------------------------------------------------------------------------*/

/* The first error of a run of pushes is kept; later pushes do nothing. */
typedef struct builder {
    perp_context* context;
    const perp_contact_problem* P;
    perpi_to_mlcp* t;
    perp_status status;
} builder;

static void push(builder* b, int32_t row, int32_t col, double value)
{
    perpi_to_mlcp* t = b->t;
    const size_t need = (size_t)t->entries + 1;
    if (b->status == PERP_OK && need > INT32_MAX) {
        b->status = perpi_fail(b->context, PERP_ERROR_MEMORY, "MLCP: too many matrix entries");
    }
    if (b->status == PERP_OK) {
        b->status = perpi_need_ints(b->context, &t->row, need);
    }
    if (b->status == PERP_OK) {
        b->status = perpi_need_ints(b->context, &t->col, need);
    }
    if (b->status == PERP_OK) {
        b->status = perpi_need_doubles(b->context, &t->value, need);
    }
    if (b->status != PERP_OK) {
        return;
    }
    t->row.at[t->entries] = row;
    t->col.at[t->entries] = col;
    t->value.at[t->entries] = value;
    t->entries += 1;
}

/* Adds factor * u of row r of constraint c to w[row]. */
static void push_velocity(builder* b, int32_t row, const perp_constraint* c, int32_t r,
                          double factor)
{
    const perp_contact_problem* P = b->P;
    const double* J = P->J + c->jac;
    for (int side = 0; side < 2; ++side) {
        if (c->block[side] < 0) {
            continue;
        }
        const int32_t d = P->dof[c->block[side]], nv = P->dof[c->block[side] + 1] - d;
        for (int32_t i = 0; i < nv; ++i) {
            push(b, row, d + i, factor * J[(size_t)r * (size_t)nv + (size_t)i]);
        }
        J += (size_t)c->rows * (size_t)nv;
    }
    b->t->q.at[row] += factor * P->b[c->row + r];
}

/* The impulse that unknown `col` makes along row r, factor per unit, enters the dynamics. */
static void push_impulse(builder* b, int32_t col, const perp_constraint* c, int32_t r,
                         double factor)
{
    const perp_contact_problem* P = b->P;
    const double* J = P->J + c->jac;
    for (int side = 0; side < 2; ++side) {
        if (c->block[side] < 0) {
            continue;
        }
        const int32_t d = P->dof[c->block[side]], nv = P->dof[c->block[side] + 1] - d;
        for (int32_t i = 0; i < nv; ++i) {
            push(b, d + i, col, -factor * J[(size_t)r * (size_t)nv + (size_t)i]);
        }
        J += (size_t)c->rows * (size_t)nv;
    }
}

static void push_blocks(builder* b)
{
    const double* M = b->P->M;
    for (int32_t i = 0; i < b->P->block_count; ++i) {
        const int32_t d = b->P->dof[i], nv = b->P->dof[i + 1] - d;
        for (int32_t r = 0; r < nv; ++r) {
            for (int32_t c = 0; c < nv; ++c) {
                push(b, d + r, d + c, M[r * nv + c]);
            }
            b->t->q.at[d + r] = -b->P->k[d + r];
        }
        M += (size_t)nv * (size_t)nv;
    }
}

static void push_contact(builder* b, int32_t ci)
{
    const perp_constraint* c = &b->P->constraint[ci];
    const int32_t at = b->t->layout.first.at[ci];
    if (at < 0) {
        return;
    }
    push_impulse(b, at, c, 0, 1.0);
    if (b->t->layout.owned.at[ci] == 0) {
        push_velocity(b, at, c, 0, 1.0);
    }
    if (c->cone != PERP_CONE_POLYGON) {
        return;
    }
    const int32_t nd = c->directions, sigma = at + 1 + nd;
    push(b, sigma, at, c->mu);
    for (int32_t j = 0; j < nd; ++j) {
        const int32_t beta = at + 1 + j;
        double d[2];
        perpi_polygon_direction(nd, j, d);
        for (int32_t i = 0; i < c->rows - 1; ++i) {
            if (d[i] != 0.0) {
                push_velocity(b, beta, c, 1 + i, d[i]);
                push_impulse(b, beta, c, 1 + i, d[i]);
            }
        }
        push(b, beta, sigma, 1.0);
        push(b, sigma, beta, -1.0);
    }
}

static void push_normal(void* user, int32_t row, int32_t ci, double factor)
{
    builder* b = user;
    push_velocity(b, row, &b->P->constraint[ci], 0, factor);
}

static void push_one(void* user, int32_t row, int32_t col)
{
    push(user, row, col, 1.0);
}

/* ---- triplets -> compressed columns ----------------------------------------------------------------*/

/* Two counting sorts, by row and then by column; both keep the order of equals, so that duplicates
 * are added in the order in which they were pushed. */
static perp_status compress(perp_context* context, perpi_to_mlcp* t)
{
    const int32_t n = t->layout.n, m = t->entries;
    perp_status status = perpi_need_ints(context, &t->order, 2 * (size_t)m + 1);
    if (status == PERP_OK) {
        status = perpi_need_ints(context, &t->count, (size_t)n + 1);
    }
    if (status == PERP_OK) {
        status = perpi_need_ints(context, &t->start, (size_t)n + 1);
    }
    if (status == PERP_OK) {
        status = perpi_need_ints(context, &t->csc_row, (size_t)m);
    }
    if (status == PERP_OK) {
        status = perpi_need_doubles(context, &t->csc_value, (size_t)m);
    }
    if (status != PERP_OK) {
        return status;
    }
    int32_t *by_row = t->order.at, *by_col = t->order.at + m, *count = t->count.at;
    for (int pass = 0; pass < 2; ++pass) {
        const int32_t* key = pass == 0 ? t->row.at : t->col.at;
        memset(count, 0, ((size_t)n + 1) * sizeof *count);
        for (int32_t e = 0; e < m; ++e) {
            count[key[e] + 1] += 1;
        }
        for (int32_t i = 0; i < n; ++i) {
            count[i + 1] += count[i];
        }
        for (int32_t e = 0; e < m; ++e) {
            if (pass == 0) {
                by_row[count[key[e]]++] = e;
            } else {
                by_col[count[key[by_row[e]]]++] = by_row[e];
            }
        }
    }
    int32_t used = 0, col = 0;
    t->start.at[0] = 0;
    for (int32_t e = 0; e < m; ++e) {
        const int32_t from = by_col[e];
        for (; col < t->col.at[from]; ++col) {
            t->start.at[col + 1] = used;
        }
        if (used > t->start.at[col] && t->csc_row.at[used - 1] == t->row.at[from]) {
            t->csc_value.at[used - 1] += t->value.at[from];
        } else {
            t->csc_row.at[used] = t->row.at[from];
            t->csc_value.at[used++] = t->value.at[from];
        }
    }
    for (; col < n; ++col) {
        t->start.at[col + 1] = used;
    }
    return PERP_OK;
}

perp_status perp_lower_contact_to_mlcp(perp_lowering* lowering, const perp_contact_problem* problem,
                                       perp_mlcp* mlcp)
{
    perpi_to_mlcp* t = &lowering->mlcp;
    perp_context* context = lowering->context;
    perp_status status =
        perpi_layout_constraints(context, problem, problem->dof_count, true, &t->layout);
    if (status == PERP_OK) {
        status = perpi_layout_groups(context, problem, &t->layout);
    }
    const int32_t n = t->layout.n;
    perpi_doubles* arrays[] = {&t->q, &t->lower, &t->upper};
    for (size_t i = 0; i < 3 && status == PERP_OK; ++i) {
        status = perpi_need_doubles(context, arrays[i], (size_t)n);
    }
    if (status != PERP_OK) {
        return status;
    }
    for (int32_t i = 0; i < n; ++i) {
        t->q.at[i] = 0.0;
        t->lower.at[i] = i < problem->dof_count ? -INFINITY : 0.0;
        t->upper.at[i] = INFINITY;
    }

    t->entries = 0;
    builder b = {context, problem, t, PERP_OK};
    push_blocks(&b);
    for (int32_t ci = 0; ci < problem->constraint_count; ++ci) {
        const perp_constraint* c = &problem->constraint[ci];
        if (c->kind == PERP_CONSTRAINT_CONTACT) {
            push_contact(&b, ci);
            continue;
        }
        for (int32_t r = 0; r < c->rows; ++r) {
            const int32_t i = t->layout.row_unknown.at[c->row + r];
            const bool bounded = c->kind == PERP_CONSTRAINT_BOUNDED;
            push_velocity(&b, i, c, r, 1.0);
            push_impulse(&b, i, c, r, 1.0);
            if (perpi_row_compliance(problem, c, r) > 0.0) {
                push(&b, i, i, perpi_row_compliance(problem, c, r));
            }
            t->lower.at[i] = bounded ? problem->lower[c->row + r] : -INFINITY;
            t->upper.at[i] = bounded ? problem->upper[c->row + r] : INFINITY;
        }
    }
    const perpi_group_rows rows = {&b, push_normal, push_one};
    for (int32_t g = 0; g < problem->group_count; ++g) {
        perpi_layout_group_rows(&t->layout, problem, g, &rows);
    }
    if (b.status == PERP_OK) {
        b.status = compress(context, t);
    }
    if (b.status != PERP_OK) {
        return b.status;
    }
    *mlcp = (perp_mlcp){.M = {n, n, t->start.at, t->csc_row.at, t->csc_value.at},
                        .q = t->q.at,
                        .lower = t->lower.at,
                        .upper = t->upper.at};
    return PERP_OK;
}

void perp_lowering_mlcp_guess(const perp_lowering* lowering, const perp_contact_problem* problem,
                              const double* v, const double* p, double* z)
{
    const perpi_layout* layout = &lowering->mlcp.layout;
    for (int32_t i = 0; i < problem->dof_count; ++i) {
        z[i] = v[i];
    }
    for (int32_t r = 0; r < problem->row_count; ++r) {
        const int32_t i = layout->row_unknown.at[r];
        if (i >= 0) {
            const double low = lowering->mlcp.lower.at[i], high = lowering->mlcp.upper.at[i];
            z[i] = p[r] < low ? low : (p[r] > high ? high : p[r]);
        }
    }
    perpi_layout_guess(layout, problem, v, p, z);
}

void perp_lowering_mlcp_lift(const perp_lowering* lowering, const perp_contact_problem* problem,
                             const double* z, double* v, double* p)
{
    const perpi_layout* layout = &lowering->mlcp.layout;
    for (int32_t i = 0; i < problem->dof_count; ++i) {
        v[i] = z[i];
    }
    for (int32_t r = 0; r < problem->row_count; ++r) {
        if (layout->row_unknown.at[r] >= 0) {
            p[r] = z[layout->row_unknown.at[r]];
        }
    }
    perpi_layout_lift(layout, problem, z, p);
}
