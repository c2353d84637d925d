/* src/problem/reformulate/contact_to_lcp.c - contact problem -> LCP directly; the inner loop of a
 * step.
 *
 * Source     [T03 (39)-(47)], groups [W14 (4.10)-(4.14)]; the result is that of contact_to_mlcp.c
 *            followed by mlcp_to_lcp.c, with v and the free rows eliminated through the blocks
 * Notation   u = A p + g over all rows, A = J M^-1 J' + C, g = b + J M^-1 k, C the compliances on the
 *            diagonal. With M = L L' per block and Y = L^-1 J', J M^-1 J' = Y' Y is symmetric to
 *            the bit and its blocks are nonzero only where two constraints share a body. Free rows
 *            (equality, and bounded rows without a finite bound) are eliminated:
 *     A_FF = pivoted Cholesky of rank r, H = R_11^-T S A_F (basis rows), A <- A - H' H, g <- g - H' h
 *            Each unknown is an impulse along a direction of its constraint's rows: p_n, beta_j
 *            along d_j, and +-1 on a bounded row; M = D' A D. So the small matrix over (n, t, o) is
 *            computed first and then expanded to the directions.
 * Departure  redundant free rows get the multiplier of least norm, in units where A_FF has a unit
 *            diagonal.
 * Unknowns   contacts in constraint order: p_n, beta_0 .., sigma; then per bounded row x and, with
 *            two finite bounds, its slack; then the groups: c, d, y (see reformulate.h).
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/context.h"
#include "problem/cone.h"
#include "problem/reformulate/reformulate.h"

#define RANK_TOLERANCE 1e-12 /* remaining diagonal, scaled to 1 at the start */
#define INCONSISTENT 1e-6    /* left-over of a redundant row against the largest row's terms */
#define AT_BOUND 1e-12

void perpi_direct_free(perp_context* context, perpi_direct* t)
{
    perpi_layout_free(context, &t->layout);
    perpi_delassus_free(context, &t->delassus);
    perpi_ints* ints[] = {&t->free_row, &t->order};
    perpi_doubles* doubles[] = {&t->A, &t->base, &t->sign,      &t->R,      &t->scale,
                                &t->H, &t->h,    &t->direction, &t->free_A, &t->K,
                                &t->G, &t->M,    &t->q,         &t->work};
    for (size_t i = 0; i < sizeof ints / sizeof ints[0]; ++i) {
        perpi_free(context, ints[i]->at);
    }
    for (size_t i = 0; i < sizeof doubles / sizeof doubles[0]; ++i) {
        perpi_free(context, doubles[i]->at);
    }
    perpi_free(context, t->table);
}

/* ---- sizes and numbering -------------------------------------------------------------------------*/

/* Bounded rows after the contacts; free rows are listed. */
static perp_status number_rows(perp_context* context, const perp_contact_problem* P,
                               perpi_direct* t)
{
    const size_t nr = (size_t)P->row_count;
    perp_status status = perpi_need_ints(context, &t->free_row, nr);
    if (status == PERP_OK) {
        status = perpi_need_doubles(context, &t->base, nr);
    }
    if (status == PERP_OK) {
        status = perpi_need_doubles(context, &t->sign, nr);
    }
    if (status != PERP_OK) {
        return status;
    }
    perpi_layout* layout = &t->layout;
    t->n_free = 0;
    for (int32_t ci = 0; ci < P->constraint_count; ++ci) {
        const perp_constraint* c = &P->constraint[ci];
        if (c->kind == PERP_CONSTRAINT_CONTACT) {
            continue;
        }
        for (int32_t r = c->row; r < c->row + c->rows; ++r) {
            const bool bounded = c->kind == PERP_CONSTRAINT_BOUNDED;
            const bool low = bounded && P->lower[r] > -INFINITY;
            const bool high = bounded && P->upper[r] < INFINITY;
            if (!low && !high) {
                t->free_row.at[t->n_free++] = r;
                continue;
            }
            layout->row_unknown.at[r] = layout->n++;
            layout->row_slack.at[r] = low && high ? layout->n++ : -1;
            t->sign.at[r] = low ? 1.0 : -1.0;
            t->base.at[r] = low ? P->lower[r] : P->upper[r];
        }
    }
    return PERP_OK;
}

static perp_status lcp_make_room(perp_context* context, const perp_contact_problem* P,
                                 perpi_direct* t)
{
    const size_t nr = (size_t)P->row_count, n = (size_t)t->layout.n;
    const struct {
        perpi_doubles* array;
        size_t need;
    } rooms[] = {{&t->A, nr * nr}, {&t->M, n * n}, {&t->q, n}, {&t->work, 3 * nr}};
    perp_status status = PERP_OK;
    for (size_t i = 0; status == PERP_OK && i < sizeof rooms / sizeof rooms[0]; ++i) {
        status = perpi_need_doubles(context, rooms[i].array, rooms[i].need);
    }
    return status;
}

/* d_j of every number of directions in use, computed once per reformulation object. */
static perp_status prepare_directions(perp_context* context, perpi_direct* t, int32_t nd)
{
    for (size_t i = 0; i < t->table_count; ++i) {
        if (t->table[i].nd == nd) {
            return PERP_OK;
        }
    }
    perp_status status =
        perpi_grow(context, &t->table, &t->table_capacity, t->table_count + 1, sizeof *t->table);
    if (status == PERP_OK) {
        status = perpi_need_doubles(context, &t->direction, t->direction_count + 2 * (size_t)nd);
    }
    if (status != PERP_OK) {
        return status;
    }
    double* to = t->direction.at + t->direction_count;
    for (int32_t j = 0; j < nd; ++j) {
        double d[2];
        perpi_polygon_direction(nd, j, d);
        to[j] = d[0];
        to[nd + j] = d[1];
    }
    t->table[t->table_count++] = (perpi_direction_table){nd, t->direction_count};
    t->direction_count += 2 * (size_t)nd;
    return PERP_OK;
}

/* nd x components, then nd y components. */
static const double* directions_of(const perpi_direct* t, int32_t nd)
{
    size_t i = 0;
    while (t->table[i].nd != nd) {
        ++i;
    }
    return t->direction.at + t->table[i].offset;
}

/* ---- A = J M^-1 J' + C, g = b + J M^-1 k ---------------------------------------------------------------*/

/* A += Y_a' Y_b for one shared block. */
static void add_product(const perp_constraint* a, const double* Y_a, const perp_constraint* b,
                        const double* Y_b, size_t ld, double* A)
{
    for (int32_t r = 0; r < a->rows; ++r) {
        const double* x = Y_a + 6 * (size_t)r;
        double* A_r = A + (size_t)(a->row + r) * ld + (size_t)b->row;
        for (int32_t s = 0; s < b->rows; ++s) {
            const double* y = Y_b + 6 * (size_t)s;
            A_r[s] += ((x[0] * y[0] + x[1] * y[1]) + (x[2] * y[2] + x[3] * y[3])) +
                      (x[4] * y[4] + x[5] * y[5]);
        }
    }
}

static void fill_A(const perp_contact_problem* P, perpi_direct* t)
{
    const size_t ld = (size_t)P->row_count;
    if (ld > 0) {
        memset(t->A.at, 0, ld * ld * sizeof *t->A.at);
    }
    for (int32_t i = 0; i < P->block_count; ++i) {
        for (int32_t a = t->delassus.block_start.at[i]; a < t->delassus.block_start.at[i + 1];
             ++a) {
            const int32_t ia = t->delassus.block_item.at[a];
            const perp_constraint* c_a = &P->constraint[ia / 2];
            for (int32_t b = t->delassus.block_start.at[i]; b < t->delassus.block_start.at[i + 1];
                 ++b) {
                const int32_t ib = t->delassus.block_item.at[b];
                const perp_constraint* c_b = &P->constraint[ib / 2];
                add_product(c_a, perpi_delassus_side(&t->delassus, c_a, ia % 2), c_b,
                            perpi_delassus_side(&t->delassus, c_b, ib % 2), ld, t->A.at);
            }
        }
    }
    for (int32_t ci = 0; P->compliance != NULL && ci < P->constraint_count; ++ci) {
        const perp_constraint* c = &P->constraint[ci];
        for (int32_t r = 0; r < c->rows; ++r) {
            t->A.at[(size_t)(c->row + r) * (ld + 1)] += perpi_row_compliance(P, c, r);
        }
    }
}

/* ---- eliminating the free rows -----------------------------------------------------------------------*/

static perpi_psd free_factor(const perpi_direct* t)
{
    return (perpi_psd){t->n_free, t->rank, t->R.at, t->order.at, t->scale.at};
}

static perp_status make_free_room(perp_context* context, size_t nr, perpi_direct* t)
{
    const size_t nf = (size_t)t->n_free;
    const struct {
        perpi_doubles* array;
        size_t need;
    } rooms[] = {
        {&t->free_A, nf * nf}, {&t->R, nf * nf}, {&t->scale, nf}, {&t->H, nf * nr}, {&t->h, nf}};
    for (size_t i = 0; i < sizeof rooms / sizeof rooms[0]; ++i) {
        const perp_status status = perpi_need_doubles(context, rooms[i].array, rooms[i].need);
        if (status != PERP_OK) {
            return status;
        }
    }
    return perpi_need_ints(context, &t->order, nf);
}

/* |b| + sum |Y y| of a row, scaled: what its g was made of. */
static double row_size(const perp_contact_problem* P, perpi_direct* t, int32_t row)
{
    int32_t ci = 0;
    while (P->constraint[ci].row + P->constraint[ci].rows <= row) {
        ++ci;
    }
    const perp_constraint* c = &P->constraint[ci];
    double size = fabs(P->b[row]);
    for (int side = 0; side < 2; ++side) {
        if (c->block[side] >= 0) {
            const int32_t d = P->dof[c->block[side]], nv = P->dof[c->block[side] + 1] - d;
            const double* Y =
                perpi_delassus_side(&t->delassus, c, side) + 6 * (size_t)(row - c->row);
            for (int32_t i = 0; i < nv; ++i) {
                size += fabs(Y[i] * t->delassus.y.at[d + i]);
            }
        }
    }
    return size;
}

/* Redundant rows: g must lie in the range of A_FF; then the null space for the least norm. */
static perp_status choose_redundant(perp_context* context, const perp_contact_problem* P,
                                    perpi_direct* t, const perpi_psd* f)
{
    const int32_t nf = t->n_free, m = nf - f->rank;
    double size = 0.0;
    for (int32_t i = 0; i < nf; ++i) {
        const double s = f->scale[i] * row_size(P, t, t->free_row.at[i]);
        size = s > size ? s : size;
    }
    for (int32_t i = f->rank; i < nf; ++i) {
        const int32_t row = t->free_row.at[f->order[i]];
        double left = f->scale[f->order[i]] * t->delassus.g.at[row];
        for (int32_t k = 0; k < f->rank; ++k) {
            left -= f->R[(size_t)k * (size_t)nf + (size_t)i] * t->h.at[k];
        }
        if (!(fabs(left) <= INCONSISTENT * size)) {
            return perpi_fail(context, PERP_ERROR_INPUT,
                              "equality row %" PRId32 " contradicts the others", row);
        }
    }
    perp_status status = perpi_need_doubles(context, &t->K, (size_t)m * (size_t)nf);
    if (status == PERP_OK) {
        status = perpi_need_doubles(context, &t->G, (size_t)m * (size_t)m);
    }
    if (status == PERP_OK && !perpi_psd_null_space(f, t->K.at, t->G.at)) {
        status = perpi_fail(context, PERP_ERROR_NUMERIC,
                            "equality rows: the null space could not be computed");
    }
    return status;
}

static perp_status eliminate_free(perp_context* context, const perp_contact_problem* P,
                                  perpi_direct* t)
{
    const int32_t nf = t->n_free, nr = P->row_count;
    const size_t ld = (size_t)nr;
    perp_status status = make_free_room(context, ld, t);
    if (status != PERP_OK) {
        return status;
    }
    for (int32_t i = 0; i < nf; ++i) {
        for (int32_t j = 0; j < nf; ++j) {
            t->free_A.at[(size_t)i * (size_t)nf + (size_t)j] =
                t->A.at[(size_t)t->free_row.at[i] * ld + (size_t)t->free_row.at[j]];
        }
    }
    perpi_psd f = free_factor(t);
    if (!perpi_psd_factor(nf, t->free_A.at, RANK_TOLERANCE, &f)) {
        return perpi_fail(context, PERP_ERROR_NUMERIC,
                          "equality rows: J M^-1 J' + C is not finite");
    }
    t->rank = f.rank;

    /* H = R_11^-T S A over all columns, h likewise */
    for (int32_t i = 0; i < f.rank; ++i) {
        const int32_t row = t->free_row.at[f.order[i]];
        const double s = f.scale[f.order[i]], pivot = f.R[(size_t)i * (size_t)nf + (size_t)i];
        double* H_i = t->H.at + (size_t)i * ld;
        const double* A_i = t->A.at + (size_t)row * ld;
        double h = s * t->delassus.g.at[row];
        for (int32_t j = 0; j < nr; ++j) {
            H_i[j] = s * A_i[j];
        }
        for (int32_t k = 0; k < i; ++k) {
            const double m = f.R[(size_t)k * (size_t)nf + (size_t)i];
            const double* H_k = t->H.at + (size_t)k * ld;
            if (m == 0.0) {
                continue;
            }
            for (int32_t j = 0; j < nr; ++j) {
                H_i[j] -= m * H_k[j];
            }
            h -= m * t->h.at[k];
        }
        for (int32_t j = 0; j < nr; ++j) {
            H_i[j] /= pivot;
        }
        t->h.at[i] = h / pivot;
    }
    if (f.rank < nf) {
        status = choose_redundant(context, P, t, &f);
        if (status != PERP_OK) {
            return status;
        }
    }
    for (int32_t k = 0; k < f.rank; ++k) {
        const double* H_k = t->H.at + (size_t)k * ld;
        for (int32_t i = 0; i < nr; ++i) {
            const double m = H_k[i];
            double* A_i = t->A.at + (size_t)i * ld;
            if (m == 0.0) {
                continue;
            }
            for (int32_t j = 0; j < nr; ++j) {
                A_i[j] -= m * H_k[j];
            }
            t->delassus.g.at[i] -= m * t->h.at[k];
        }
    }
    return PERP_OK;
}

/* ---- expansion to the directions ----------------------------------------------------------------*/

/* M_i[k] += (x X + y Y) . direction_k for every unknown k of constraint ib; X, Y: entries of A at the
 * constraint's rows. */
static void expand_directions(const perpi_direct* t, const perp_contact_problem* P, int32_t ib,
                              double x, const double* X, double y, const double* Y, double* M_i)
{
    const perp_constraint* b = &P->constraint[ib];
    if (b->kind != PERP_CONSTRAINT_CONTACT) {
        for (int32_t r = 0; r < b->rows; ++r) {
            const int32_t k = t->layout.row_unknown.at[b->row + r];
            if (k >= 0) {
                M_i[k] += t->sign.at[b->row + r] * (x * X[r] + y * Y[r]);
            }
        }
        return;
    }
    if (t->layout.first.at[ib] < 0) {
        return;
    }
    double* m = M_i + t->layout.first.at[ib];
    m[0] += x * X[0] + y * Y[0];
    if (b->cone != PERP_CONE_POLYGON) {
        return;
    }
    const double a_t = x * X[1] + y * Y[1];
    if (b->rows == 2) {
        m[1] += a_t;
        m[2] -= a_t;
        return;
    }
    const double a_o = x * X[2] + y * Y[2];
    const double *dx = directions_of(t, b->directions), *dy = dx + b->directions;
    perpi_add_pair(b->directions, a_t, dx, a_o, dy, m + 1);
}

/* The block of M that couples the unknowns of constraint ia (rows) with those of ib (columns). */
static void spread_pair(const perpi_direct* t, const perp_contact_problem* P, int32_t ia,
                        int32_t ib)
{
    const perp_constraint *a = &P->constraint[ia], *b = &P->constraint[ib];
    const size_t ld = (size_t)P->row_count, n = (size_t)t->layout.n;
    const double* A = t->A.at + (size_t)a->row * ld + (size_t)b->row;
    if (a->kind != PERP_CONSTRAINT_CONTACT) {
        for (int32_t r = 0; r < a->rows; ++r) {
            const int32_t i = t->layout.row_unknown.at[a->row + r];
            const double* A_r = A + (size_t)r * ld;
            if (i >= 0) {
                expand_directions(t, P, ib, t->sign.at[a->row + r], A_r, 0.0, A_r,
                                  t->M.at + (size_t)i * n);
            }
        }
        return;
    }
    if (t->layout.first.at[ia] < 0) {
        return;
    }
    double* M_n = t->M.at + (size_t)t->layout.first.at[ia] * n;
    if (t->layout.owned.at[ia] == 0) { /* add_group writes the row of a grouped p_n */
        expand_directions(t, P, ib, 1.0, A, 0.0, A, M_n);
    }
    if (a->cone != PERP_CONE_POLYGON) {
        return;
    }
    if (a->rows == 2) {
        expand_directions(t, P, ib, 1.0, A + ld, 0.0, A + ld, M_n + n);
        expand_directions(t, P, ib, -1.0, A + ld, 0.0, A + ld, M_n + 2 * n);
        return;
    }
    const double *dx = directions_of(t, a->directions), *dy = dx + a->directions;
    for (int32_t j = 0; j < a->directions; ++j) {
        expand_directions(t, P, ib, dx[j], A + ld, dy[j], A + 2 * ld, M_n + (size_t)(1 + j) * n);
    }
}

/* Two constraints on the same two bodies are in both bodies' lists; use the first only. */
static bool met_before(const perp_constraint* a, int side_a, const perp_constraint* b, int side_b)
{
    const int32_t other = a->block[1 - side_a];
    return other >= 0 && other == b->block[1 - side_b] && other < a->block[side_a];
}

static void spread_all(const perpi_direct* t, const perp_contact_problem* P)
{
    if (t->n_free > 0) { /* after the elimination all rows are coupled */
        for (int32_t ia = 0; ia < P->constraint_count; ++ia) {
            for (int32_t ib = 0; ib < P->constraint_count; ++ib) {
                spread_pair(t, P, ia, ib);
            }
        }
        return;
    }
    for (int32_t i = 0; i < P->block_count; ++i) {
        for (int32_t a = t->delassus.block_start.at[i]; a < t->delassus.block_start.at[i + 1];
             ++a) {
            const int32_t ia = t->delassus.block_item.at[a];
            for (int32_t b = t->delassus.block_start.at[i]; b < t->delassus.block_start.at[i + 1];
                 ++b) {
                const int32_t ib = t->delassus.block_item.at[b];
                if (!met_before(&P->constraint[ia / 2], ia % 2, &P->constraint[ib / 2], ib % 2)) {
                    spread_pair(t, P, ia / 2, ib / 2);
                }
            }
        }
    }
}

/* ---- q, friction's own rows, slacks, groups ----------------------------------------------------------*/

static void fill_contact(const perpi_direct* t, const perp_contact_problem* P, int32_t ci)
{
    const perp_constraint* c = &P->constraint[ci];
    const int32_t first = t->layout.first.at[ci];
    const size_t n = (size_t)t->layout.n;
    if (first < 0) {
        return;
    }
    double *M = t->M.at + (size_t)first * n + first, *q = t->q.at + first;
    const double* g = t->delassus.g.at + c->row;
    q[0] = t->layout.owned.at[ci] == 0 ? g[0] : 0.0;
    if (c->cone != PERP_CONE_POLYGON) {
        return;
    }
    const int32_t nd = c->directions, sigma = 1 + nd;
    const double* dx = c->rows == 3 ? directions_of(t, nd) : NULL;
    double* M_sigma = M + (size_t)sigma * n;
    M_sigma[0] = c->mu;
    q[sigma] = 0.0;
    for (int32_t j = 0; j < nd; ++j) {
        q[1 + j] = dx != NULL ? dx[j] * g[1] + dx[nd + j] * g[2] : (j == 0 ? g[1] : -g[1]);
        M[(size_t)(1 + j) * n + (size_t)sigma] = 1.0;
        M_sigma[1 + j] = -1.0;
    }
}

static void fill_bounded(const perpi_direct* t, const perp_contact_problem* P,
                         const perp_constraint* c)
{
    const size_t n = (size_t)t->layout.n;
    for (int32_t r = c->row; r < c->row + c->rows; ++r) {
        const int32_t x = t->layout.row_unknown.at[r], s = t->layout.row_slack.at[r];
        if (x >= 0) {
            t->q.at[x] = t->sign.at[r] * t->delassus.g.at[r];
        }
        if (s >= 0) {
            t->M.at[(size_t)x * n + (size_t)s] = 1.0;
            t->M.at[(size_t)s * n + (size_t)x] = -1.0;
            t->q.at[s] = P->upper[r] - P->lower[r];
        }
    }
}

/* Receivers of the rows of groups; see perpi_group_rows. */
typedef struct group_target {
    const perpi_direct* t;
    const perp_contact_problem* P;
} group_target;

static void add_normal(void* user, int32_t row, int32_t ci, double factor)
{
    const group_target* to = user;
    const perpi_direct* t = to->t;
    const perp_contact_problem* P = to->P;
    const int32_t r = P->constraint[ci].row;
    const double* A_r = t->A.at + (size_t)r * (size_t)P->row_count;
    double* M_row = t->M.at + (size_t)row * (size_t)t->layout.n;
    for (int32_t ib = 0; ib < P->constraint_count; ++ib) {
        const double* A_b = A_r + P->constraint[ib].row;
        expand_directions(t, P, ib, factor, A_b, 0.0, A_b, M_row);
    }
    t->q.at[row] += factor * t->delassus.g.at[r];
}

static void add_one(void* user, int32_t row, int32_t col)
{
    const perpi_direct* t = ((const group_target*)user)->t;
    t->M.at[(size_t)row * (size_t)t->layout.n + (size_t)col] += 1.0;
}

/* Bounded rows have the impulse `base` at x = 0. */
static void shift_by_base(const perpi_direct* t, const perp_contact_problem* P)
{
    const size_t ld = (size_t)P->row_count;
    for (int32_t ci = 0; ci < P->constraint_count; ++ci) {
        const perp_constraint* c = &P->constraint[ci];
        for (int32_t r = c->row; c->kind == PERP_CONSTRAINT_BOUNDED && r < c->row + c->rows; ++r) {
            if (t->layout.row_unknown.at[r] < 0 || t->base.at[r] == 0.0) {
                continue;
            }
            for (size_t i = 0; i < ld; ++i) {
                t->delassus.g.at[i] += t->A.at[i * ld + (size_t)r] * t->base.at[r];
            }
        }
    }
}

perp_status perp_contact_to_lcp(perp_reformulation* reformulation,
                                const perp_contact_problem* problem, perp_lcp* lcp)
{
    perpi_direct* t = &reformulation->direct;
    perp_context* context = reformulation->context;
    perp_status status = perpi_layout_constraints(context, problem, 0, false, &t->layout);
    if (status == PERP_OK) {
        status = number_rows(context, problem, t);
    }
    if (status == PERP_OK) {
        status = perpi_layout_groups(context, problem, &t->layout);
    }
    if (status == PERP_OK) {
        status = lcp_make_room(context, problem, t);
    }
    for (int32_t ci = 0; status == PERP_OK && ci < problem->constraint_count; ++ci) {
        const perp_constraint* c = &problem->constraint[ci];
        if (c->kind == PERP_CONSTRAINT_CONTACT && c->rows == 3) {
            status = prepare_directions(context, t, c->directions);
        }
    }
    if (status != PERP_OK) {
        return status;
    }
    status = perpi_delassus_fill(context, problem, &t->delassus);
    if (status != PERP_OK) {
        return status;
    }
    fill_A(problem, t);
    if (t->n_free > 0) {
        status = eliminate_free(context, problem, t);
        if (status != PERP_OK) {
            return status;
        }
    }
    shift_by_base(t, problem);

    const size_t n = (size_t)t->layout.n;
    if (n > 0) {
        memset(t->M.at, 0, n * n * sizeof *t->M.at);
        memset(t->q.at, 0, n * sizeof *t->q.at);
    }
    spread_all(t, problem);
    for (int32_t ci = 0; ci < problem->constraint_count; ++ci) {
        if (problem->constraint[ci].kind == PERP_CONSTRAINT_CONTACT) {
            fill_contact(t, problem, ci);
        } else {
            fill_bounded(t, problem, &problem->constraint[ci]);
        }
    }
    group_target target = {t, problem};
    const perpi_group_rows rows = {&target, add_normal, add_one};
    for (int32_t g = 0; g < problem->group_count; ++g) {
        perpi_layout_group_rows(&t->layout, problem, g, &rows);
    }
    *lcp = (perp_lcp){t->layout.n, t->M.at, t->q.at};
    return PERP_OK;
}

/* ---- guess and reconstruction -------------------------------------------------------------------*/

void perp_reformulation_contact_lcp_guess(const perp_reformulation* reformulation,
                                          const perp_contact_problem* problem, const double* v,
                                          const double* p, double* z)
{
    const perpi_direct* t = &reformulation->direct;
    for (int32_t ci = 0; ci < problem->constraint_count; ++ci) {
        const perp_constraint* c = &problem->constraint[ci];
        for (int32_t i = 0; c->kind != PERP_CONSTRAINT_CONTACT && i < c->rows; ++i) {
            const int32_t r = c->row + i, k = t->layout.row_unknown.at[r];
            if (k < 0) {
                continue;
            }
            const double x = t->sign.at[r] * (p[r] - t->base.at[r]);
            z[k] = x > 0.0 ? x : 0.0;
            if (t->layout.row_slack.at[r] >= 0) {
                const double width = problem->upper[r] - problem->lower[r];
                const double u = perpi_row_velocity(problem, c, i, v) +
                                 perpi_row_compliance(problem, c, i) * p[r];
                const bool at_upper = x >= width * (1.0 - AT_BOUND);
                z[t->layout.row_slack.at[r]] = at_upper && u < 0.0 ? -u : 0.0;
            }
        }
    }
    perpi_layout_guess(&t->layout, problem, v, p, z);
}

/* p of the free rows from p of the others: R_11 p_B = -(H p + h), least norm where redundant. */
static void reconstruct_free(const perpi_direct* t, const perp_contact_problem* P, double* p)
{
    const int32_t nf = t->n_free;
    double *x = t->work.at, *scratch = t->work.at + nf;
    for (int32_t i = 0; i < nf; ++i) {
        p[t->free_row.at[i]] = 0.0;
        x[i] = 0.0;
    }
    for (int32_t i = t->rank - 1; i >= 0; --i) {
        const double* H_i = t->H.at + (size_t)i * (size_t)P->row_count;
        const double* R_i = t->R.at + (size_t)i * (size_t)nf;
        double s = -(perpi_dot(P->row_count, H_i, p) + t->h.at[i]);
        for (int32_t j = i + 1; j < t->rank; ++j) {
            s -= R_i[j] * scratch[j];
        }
        scratch[i] = s / R_i[i];
    }
    for (int32_t i = 0; i < t->rank; ++i) {
        x[t->order.at[i]] = t->scale.at[t->order.at[i]] * scratch[i];
    }
    if (t->rank < nf) {
        const perpi_psd f = free_factor(t);
        perpi_psd_least_norm(&f, t->K.at, t->G.at, x, scratch);
    }
    for (int32_t i = 0; i < nf; ++i) {
        p[t->free_row.at[i]] = x[i];
    }
}

void perp_reformulation_contact_lcp_reconstruct(const perp_reformulation* reformulation,
                                                const perp_contact_problem* problem,
                                                const double* z, double* v, double* p)
{
    const perpi_direct* t = &reformulation->direct;
    perpi_layout_reconstruct(&t->layout, problem, z, p);
    for (int32_t r = 0; r < problem->row_count; ++r) {
        const int32_t k = t->layout.row_unknown.at[r];
        if (k >= 0) {
            p[r] = t->base.at[r] + t->sign.at[r] * z[k];
        }
    }
    if (t->n_free > 0) {
        reconstruct_free(t, problem, p);
    }
    /* so that the dynamics hold to rounding whatever z is */
    perpi_motion_of(problem, t->delassus.L, p, v);
}
