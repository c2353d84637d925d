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
 *            makes inequality (4.11) part of an LCP; it is also needed where the single primary of
 *            a group is primary in another group, since then the sum does not bound each m.
 */
#include <math.h>
#include <string.h>

#include "base/context.h"
#include "problem/cone.h"
#include "problem/reformulate/reformulate.h"

void perpi_to_mlcp_free(perp_context* context, perpi_to_mlcp* t)
{
    perpi_layout_free(context, &t->layout);
    perpi_doubles* doubles[] = {&t->value, &t->csc_value, &t->q, &t->lower, &t->upper};
    perpi_triplets_free(context, &t->triplets);
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
    const int32_t e = t->triplets.count;
    if (b->status == PERP_OK) {
        b->status = perpi_need_doubles(b->context, &t->value, (size_t)e + 1);
    }
    if (b->status == PERP_OK) {
        b->status = perpi_triplets_put(b->context, &t->triplets, "MLCP", row, col);
    }
    if (b->status == PERP_OK) {
        t->value.at[e] = value;
    }
}

/* Adds factor * u of row r of constraint c to w[row]. */
static void push_velocity(builder* b, int32_t row, const perp_constraint* c, int32_t r,
                          double factor)
{
    const perp_contact_problem* P = b->P;
    for (int side = 0; side < 2; ++side) {
        const perpi_side s = perpi_side_of(P, c, side);
        for (int32_t i = 0; i < s.nv; ++i) {
            push(b, row, s.d + i, factor * s.J[(size_t)r * (size_t)s.nv + (size_t)i]);
        }
    }
    b->t->q.at[row] += factor * P->b[c->row + r];
}

/* The impulse that unknown `col` makes along row r, factor per unit, enters the dynamics. */
static void push_impulse(builder* b, int32_t col, const perp_constraint* c, int32_t r,
                         double factor)
{
    const perp_contact_problem* P = b->P;
    for (int side = 0; side < 2; ++side) {
        const perpi_side s = perpi_side_of(P, c, side);
        for (int32_t i = 0; i < s.nv; ++i) {
            push(b, s.d + i, col, -factor * s.J[(size_t)r * (size_t)s.nv + (size_t)i]);
        }
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

static perp_status compress(perp_context* context, perpi_to_mlcp* t)
{
    const perpi_triplets* triplets = &t->triplets;
    perp_status status = perpi_triplets_compress(context, &t->triplets, t->layout.n);
    if (status == PERP_OK) {
        status = perpi_need_doubles(context, &t->csc_value, (size_t)triplets->count);
    }
    if (status != PERP_OK) {
        return status;
    }
    for (int32_t e = 0; e < triplets->start.at[t->layout.n]; ++e) {
        t->csc_value.at[e] = -0.0; /* -0 is the neutral element of addition: 0 + -0 is 0 */
    }
    for (int32_t e = 0; e < triplets->count; ++e) {
        t->csc_value.at[triplets->slot.at[e]] += t->value.at[e];
    }
    return PERP_OK;
}

perp_status perp_contact_to_mlcp(perp_reformulation* reformulation,
                                 const perp_contact_problem* problem, perp_mlcp* mlcp)
{
    perpi_to_mlcp* t = &reformulation->mlcp;
    perp_context* context = reformulation->context;
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

    t->triplets.count = 0;
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
    *mlcp = (perp_mlcp){.M = {n, n, t->triplets.start.at, t->triplets.csc_row.at, t->csc_value.at},
                        .q = t->q.at,
                        .lower = t->lower.at,
                        .upper = t->upper.at};
    return PERP_OK;
}

void perp_reformulation_mlcp_guess(const perp_reformulation* reformulation,
                                   const perp_contact_problem* problem, const double* v,
                                   const double* p, double* z)
{
    const perpi_layout* layout = &reformulation->mlcp.layout;
    for (int32_t i = 0; i < problem->dof_count; ++i) {
        z[i] = v[i];
    }
    for (int32_t r = 0; r < problem->row_count; ++r) {
        const int32_t i = layout->row_unknown.at[r];
        if (i >= 0) {
            const double low = reformulation->mlcp.lower.at[i],
                         high = reformulation->mlcp.upper.at[i];
            z[i] = p[r] < low ? low : (p[r] > high ? high : p[r]);
        }
    }
    perpi_layout_guess(layout, problem, v, p, z);
}

void perp_reformulation_mlcp_reconstruct(const perp_reformulation* reformulation,
                                         const perp_contact_problem* problem, const double* z,
                                         double* v, double* p)
{
    const perpi_layout* layout = &reformulation->mlcp.layout;
    for (int32_t i = 0; i < problem->dof_count; ++i) {
        v[i] = z[i];
    }
    for (int32_t r = 0; r < problem->row_count; ++r) {
        if (layout->row_unknown.at[r] >= 0) {
            p[r] = z[layout->row_unknown.at[r]];
        }
    }
    perpi_layout_reconstruct(layout, problem, z, p);
}
