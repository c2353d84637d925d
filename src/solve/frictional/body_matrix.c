/* src/solve/frictional/body_matrix.c - see body_matrix.h. */
#include "solve/frictional/body_matrix.h"

#include <string.h>

#include "base/threads.h"
#include "solve/frictional/body_kernels.h"

enum { ROWS_MAX = PERPI_BODY_ROWS_MAX, SIDE = PERPI_BODY_SIDE, PLANE = 3 /* velocities */ };

enum { GRAIN = 1000 }; /* constraints for a thread to gain: some 20 microseconds */
#define FEWER 0.8      /* so many of the constraints that a pattern has act: it is found again */

perp_status perpi_body_matrix_create(perp_context* context, perpi_body_matrix* m)
{
    *m = (perpi_body_matrix){.context = context};
    return perpi_block_lu_create(context, &m->lu);
}

void perpi_body_matrix_free(perpi_body_matrix* m)
{
    perpi_block_lu_destroy(m->lu);
    perpi_free(m->context, m->index);
    perpi_free(m->context, m->acts);
    perpi_free(m->context, m->item);
    *m = (perpi_body_matrix){0};
}

static const double* side_of(const double* Y, const perp_constraint* c, int side)
{
    return Y + 12 * (size_t)c->row + (side == 0 ? 0 : 6 * (size_t)c->rows);
}

/* ---- pattern -------------------------------------------------------------------------------------------*/

static perp_status make_room(perpi_body_matrix* m, const perp_contact_problem* P)
{
    const size_t nb = (size_t)P->block_count, nc = (size_t)P->constraint_count;
    perp_status status = perpi_grow(m->context, &m->index, &m->index_capacity,
                                    nb + (nb + 1) + (nb + 2 * nc) + 2 * nb + nc, sizeof *m->index);
    if (status == PERP_OK) {
        status = perpi_grow(m->context, &m->acts, &m->acts_capacity, nc, sizeof *m->acts);
    }
    if (status == PERP_OK) {
        status = perpi_grow(m->context, &m->item, &m->item_capacity, 2 * nc, sizeof *m->item);
    }
    if (status != PERP_OK) {
        return status;
    }
    m->size = m->index;
    m->start = m->size + nb;
    m->column = m->start + nb + 1;
    m->mark = m->column + nb + 2 * nc;
    m->own = m->mark + nb;
    m->pair = m->own + nb;
    return PERP_OK;
}

/* -1: the pattern does not have it */
static int32_t find_block(const perpi_body_matrix* m, int32_t row, int32_t column)
{
    int32_t low = m->start[row], high = m->start[row + 1] - 1;
    while (low < high) {
        const int32_t mid = low + (high - low) / 2;
        if (m->column[mid] < column) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return m->column[low] == column ? low : -1;
}

/* The items of delassus.block_item, with what the products need of their constraints. */
static void list_items(perpi_body_matrix* m, const perp_contact_problem* P)
{
    const perpi_delassus* W = m->delassus;
    for (int32_t e = 0; e < W->block_start.at[P->block_count]; ++e) {
        const int32_t item = W->block_item.at[e];
        const perp_constraint* c = &P->constraint[item / 2];
        const size_t first = 12 * (size_t)c->row, second = first + 6 * (size_t)c->rows;
        m->item[e] = (perpi_body_item){.Y = item % 2 == 0 ? first : second,
                                       .X = item % 2 == 0 ? second : first,
                                       .row = c->row,
                                       .rows = c->rows,
                                       .constraint = item / 2,
                                       .other = c->block[1 - item % 2],
                                       .pair = -1};
    }
}

perp_status perpi_body_matrix_analyse(perpi_body_matrix* m, const perp_contact_problem* P,
                                      const perpi_delassus* delassus)
{
    m->delassus = delassus;
    m->analysed = -1;
    m->status = PERP_OK;
    const perp_status status = make_room(m, P);
    if (status == PERP_OK) {
        list_items(m, P);
    }
    return status;
}

/* The pattern of the constraints that act. */
static perp_status analyse_acting(perpi_body_matrix* m, const perp_contact_problem* P)
{
    const int32_t* first = m->delassus->block_start.at;
    int32_t used = 0;
    for (int32_t i = 0; i < P->block_count; ++i) {
        m->mark[i] = -1;
    }
    for (int32_t i = 0; i < P->block_count; ++i) {
        m->size[i] = P->dof[i + 1] - P->dof[i];
        m->start[i] = used;
        m->mark[i] = i;
        m->column[used++] = i;
        for (int32_t k = first[i]; k < first[i + 1]; ++k) {
            const int32_t other = m->item[k].other;
            if (m->acts[m->item[k].constraint] && other >= 0 && m->mark[other] != i) {
                m->mark[other] = i;
                m->column[used++] = other;
            }
        }
        for (int32_t k = m->start[i] + 1; k < used; ++k) { /* few: insertion */
            const int32_t column = m->column[k];
            int32_t j = k;
            for (; j > m->start[i] && m->column[j - 1] > column; --j) {
                m->column[j] = m->column[j - 1];
            }
            m->column[j] = column;
        }
    }
    m->start[P->block_count] = used;
    for (int32_t i = 0; i < P->block_count; ++i) {
        m->own[i] = find_block(m, i, i);
        for (int32_t k = first[i]; k < first[i + 1]; ++k) {
            perpi_body_item* item = &m->item[k];
            item->pair = item->other >= 0 ? find_block(m, i, item->other) : -1;
            if (P->constraint[item->constraint].block[0] == i) {
                m->pair[item->constraint] = item->pair;
            }
        }
    }
    return perpi_block_lu_analyse(m->lu, P->block_count, m->size, m->start, m->column);
}

/* Whether the pattern has to be found again: it lacks a constraint that acts, or has many that do not. */
static bool find_acting(perpi_body_matrix* m, const perp_contact_problem* P, const double* D_all,
                        int32_t* pairs)
{
    bool missing = m->analysed < 0;
    *pairs = 0;
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        const double* D = D_all + ROWS_MAX * (size_t)c->row;
        bool acts = false;
        for (int32_t k = 0; k < c->rows * c->rows && !acts; ++k) {
            acts = D[k] != 0.0;
        }
        const bool pair = acts && c->block[0] >= 0 && c->block[1] >= 0;
        m->acts[i] = acts;
        *pairs += pair;
        missing = missing || (pair && m->pair[i] < 0);
    }
    return missing || *pairs < FEWER * m->analysed;
}

/* ---- products with Y -----------------------------------------------------------------------------------*/

typedef struct product_job {
    const perpi_body_matrix* m;
    const perp_contact_problem* P;
    const double *Y, *base, *x, *p;
    double sign;
    double *u, *f;
} product_job;

PERPI_INLINE void add_velocities(const product_job* job, const perp_constraint* c, double* u)
{
    const perp_contact_problem* P = job->P;
    for (int side = 0; side < 2; ++side) {
        if (c->block[side] < 0) {
            continue;
        }
        const double* Y = side_of(job->Y, c, side);
        const int32_t d = P->dof[c->block[side]], n = P->dof[c->block[side] + 1] - d;
        for (int32_t r = 0; r < c->rows; ++r, Y += SIDE) {
            double t = 0.0;
            for (int32_t k = 0; k < n; ++k) {
                t += Y[k] * job->x[d + k];
            }
            u[r] += t;
        }
    }
}

/* The first of the n velocities of a block; -1: it has another number; -2: the world. */
PERPI_INLINE int32_t first_of(const perp_contact_problem* P, int32_t block, int32_t n)
{
    if (block < 0) {
        return -2;
    }
    const int32_t d = P->dof[block];
    return P->dof[block + 1] - d == n ? d : -1;
}

/* u = base + Y' x of a constraint of m rows, 2 in the plane or 3 in space. False: one of its bodies is not of this kind. */
PERPI_INLINE bool contact_velocities(int m, const product_job* job, const perp_constraint* c)
{
    const int32_t n = m == 3 ? SIDE : PLANE;
    const int32_t first = first_of(job->P, c->block[0], n);
    const int32_t second = first_of(job->P, c->block[1], n);
    if (first == -1 || second == -1) {
        return false;
    }
    const double *Y = job->Y + 12 * (size_t)c->row, *x = job->x;
    double* u = job->u + c->row;
    double t[3] = {0.0, 0.0, 0.0};
    for (int r = 0; r < m && job->base != NULL; ++r) {
        t[r] = job->base[c->row + r];
    }
    for (int side = 0; side < 2; ++side, Y += SIDE * m) {
        const int32_t d = side == 0 ? first : second;
        if (d >= 0 && m == 3) {
            perpi_add_velocities_three(Y, x + d, t);
        } else if (d >= 0) {
            perpi_add_velocities_two(Y, x + d, t);
        }
    }
    for (int r = 0; r < m; ++r) {
        u[r] = t[r];
    }
    return true;
}

PERPI_WIDE static void velocities_part(int32_t begin, int32_t end, void* data)
{
    const product_job* job = data;
    for (int32_t i = begin; i < end; ++i) {
        const perp_constraint* c = &job->P->constraint[i];
        if ((c->rows == 2 && contact_velocities(2, job, c)) ||
            (c->rows == 3 && contact_velocities(3, job, c))) {
            continue;
        }
        double* u = job->u + c->row;
        for (int32_t r = 0; r < c->rows; ++r) {
            u[r] = job->base != NULL ? job->base[c->row + r] : 0.0;
        }
        add_velocities(job, c, u);
    }
}

void perpi_body_velocities(const perpi_body_matrix* m, const perp_contact_problem* P,
                           const double* Y, const double* base, const double* x, double* u)
{
    product_job job = {.P = P, .Y = Y, .base = base, .x = x, .u = u};
    perpi_for_parts(m->context, P->constraint_count, GRAIN, velocities_part, &job);
}

/* (f, g) += t row, if t is not 0 */
#define ADD_ROW(row, t)                                                                            \
    if ((t) != 0.0) {                                                                              \
        f += *(const perpi_four*)(row) * (t);                                                      \
        g += *(const perpi_two*)((row) + 4) * (t);                                                 \
    }

/* The impulses on a body of six velocities. */
PERPI_INLINE void add_impulses_six(const product_job* job, int32_t i, double* out)
{
    const perp_contact_problem* P = job->P;
    const perpi_delassus* W = job->m->delassus;
    const double *x = job->x + P->dof[i], sign = job->sign;
    perpi_four f = *(const perpi_four*)x;
    perpi_two g = *(const perpi_two*)(x + 4);
    for (int32_t e = W->block_start.at[i]; e < W->block_start.at[i + 1]; ++e) {
        const perpi_body_item* item = &job->m->item[e];
        const double *Y = job->Y + item->Y, *p = job->p + item->row;
        if (item->rows == 3) {
            ADD_ROW(Y, sign * p[0]);
            ADD_ROW(Y + SIDE, sign * p[1]);
            ADD_ROW(Y + 2 * SIDE, sign * p[2]);
            continue;
        }
        for (int32_t r = 0; r < item->rows; ++r) {
            ADD_ROW(Y + SIDE * r, sign * p[r]);
        }
    }
    *(perpi_four*)out = f;
    *(perpi_two*)(out + 4) = g;
}

PERPI_INLINE void add_rows_planar(int32_t rows, const double* Y, const double* p, double sign,
                                  perpi_four* f)
{
    for (int32_t r = 0; r < rows; ++r) {
        const double t = sign * p[r];
        if (t != 0.0) {
            *f += *(const perpi_four*)(Y + SIDE * r) * t;
        }
    }
}

/* The same on a body of three: the fourth number of the register is not used. */
PERPI_INLINE void add_impulses_planar(const product_job* job, int32_t i, double* out)
{
    const perp_contact_problem* P = job->P;
    const perpi_delassus* W = job->m->delassus;
    const double *x = job->x + P->dof[i], sign = job->sign;
    perpi_four f = {x[0], x[1], x[2], 0.0};
    for (int32_t e = W->block_start.at[i]; e < W->block_start.at[i + 1]; ++e) {
        const perpi_body_item* item = &job->m->item[e];
        const double *Y = job->Y + item->Y, *p = job->p + item->row;
        PERPI_BY_ROWS(add_rows_planar, item->rows, Y, p, sign, &f);
    }
    out[0] = f[0], out[1] = f[1], out[2] = f[2];
}

/* By bodies: each takes its constraints in their order, whatever the parts are. */
PERPI_WIDE static void impulses_part(int32_t begin, int32_t end, void* data)
{
    const product_job* job = data;
    const perp_contact_problem* P = job->P;
    const perpi_delassus* W = job->m->delassus;
    for (int32_t i = begin; i < end; ++i) {
        double* f = job->f + P->dof[i];
        const int32_t n = P->dof[i + 1] - P->dof[i];
        if (n == SIDE) {
            add_impulses_six(job, i, f);
            continue;
        }
        if (n == PLANE) {
            add_impulses_planar(job, i, f);
            continue;
        }
        memcpy(f, job->x + P->dof[i], (size_t)n * sizeof *f);
        for (int32_t e = W->block_start.at[i]; e < W->block_start.at[i + 1]; ++e) {
            const perpi_body_item* item = &job->m->item[e];
            const double* Y = job->Y + item->Y;
            for (int32_t r = 0; r < item->rows; ++r, Y += SIDE) {
                const double t = job->sign * job->p[item->row + r];
                if (t == 0.0) {
                    continue;
                }
                for (int32_t k = 0; k < n; ++k) {
                    f[k] += Y[k] * t;
                }
            }
        }
    }
}

/* f = x + sign Y p */
void perpi_body_add_impulses(const perpi_body_matrix* m, const perp_contact_problem* P,
                             const double* Y, const double* x, double sign, const double* p,
                             double* f)
{
    product_job job = {.m = m, .P = P, .Y = Y, .x = x, .sign = sign, .p = p, .f = f};
    perpi_for_parts(m->context, P->block_count, GRAIN / 3, impulses_part, &job);
}

/* ---- values --------------------------------------------------------------------------------------------*/

/* T = D X' */
PERPI_INLINE void weigh(int32_t rows, const double* D, const double* X, double* T)
{
    for (int32_t r = 0; r < rows; ++r) {
        double* t = T + SIDE * r;
        for (int k = 0; k < SIDE; ++k) {
            t[k] = D[r * rows] * X[k];
        }
        for (int32_t q = 1; q < rows; ++q) {
            const double d = D[r * rows + q];
            for (int k = 0; k < SIDE; ++k) {
                t[k] += d * X[SIDE * q + k];
            }
        }
    }
}

/* A block (nr x nk), rows of PERPI_SUM_ROW numbers, += Y D X' */
PERPI_WIDE static void add_block(int32_t rows, const double* D, const double* Y, const double* X,
                                 int32_t nr, int32_t nk, double* sum)
{
    double T[ROWS_MAX * SIDE];
    weigh(rows, D, X, T);
    for (int32_t a = 0; a < nr; ++a) {
        double* o = sum + PERPI_SUM_ROW * a;
        for (int32_t r = 0; r < rows; ++r) {
            const double y = Y[SIDE * r + a];
            for (int32_t k = 0; k < nk; ++k) {
                o[k] += y * T[SIDE * r + k];
            }
        }
    }
}

typedef struct fill_job {
    perpi_body_matrix* m;
    const perp_contact_problem* P;
    const double *Y, *D;
} fill_job;

/* The rows of body i while constraints are added to them: its own block, and one with another body. The
 * constraints of a pair of bodies mostly follow each other. */
typedef struct open_rows {
    int32_t i, n;
    int32_t own, pair, columns; /* places; of the pair's block. pair -1: none */
    perpi_row_sum sum;
} open_rows;

PERPI_INLINE void copy_block(int32_t n, int32_t columns, const double* from, int32_t from_ld,
                             double* to, int32_t to_ld)
{
    for (int32_t a = 0; a < n; ++a, from += from_ld, to += to_ld) {
        if (columns == SIDE) {
            *(perpi_four*)to = *(const perpi_four*)from;
            *(perpi_two*)(to + 4) = *(const perpi_two*)(from + 4);
        } else if (columns == PLANE) {
            *(perpi_two*)to = *(const perpi_two*)from;
            to[2] = from[2];
        } else {
            for (int32_t k = 0; k < columns; ++k) {
                to[k] = from[k];
            }
        }
    }
}

PERPI_INLINE void put_block(const perpi_body_matrix* m, int32_t place, int32_t n, int32_t columns,
                            const double* from)
{
    int32_t ld;
    double* out = perpi_block_lu_block(m->lu, place, &ld);
    copy_block(n, columns, from, PERPI_SUM_ROW, out, ld);
}

PERPI_INLINE void get_block(const perpi_body_matrix* m, int32_t place, int32_t n, int32_t columns,
                            double* to)
{
    int32_t ld;
    const double* in = perpi_block_lu_block(m->lu, place, &ld);
    copy_block(n, columns, in, ld, to, PERPI_SUM_ROW);
}

/* Whether the constraint is a contact in the plane whose block with the other body is not summed elsewhere. */
PERPI_INLINE bool is_planar(const perpi_body_matrix* m, const perpi_body_item* c,
                            const open_rows* b)
{
    return c->rows == 2 && b->n == PLANE &&
           (c->pair < 0 || (c->pair != b->own && c->pair != b->pair && m->size[c->other] == PLANE));
}

/* Such a contact: pairs of discs share one, which is added to the block itself. */
PERPI_INLINE void add_planar(const fill_job* job, const perpi_body_item* c, open_rows* b)
{
    const double *D = job->D + ROWS_MAX * (size_t)c->row, *Y = job->Y + c->Y;
    perpi_four T[2];
    perpi_weigh_two(D, Y, T);
    perpi_add_two(Y, T, b->sum.at, PERPI_SUM_ROW);
    if (c->pair >= 0) {
        int32_t ld;
        double* out = perpi_block_lu_block(job->m->lu, c->pair, &ld);
        perpi_weigh_two(D, job->Y + c->X, T);
        perpi_add_two(Y, T, out, ld);
    }
}

/* Adds a constraint of the body. */
PERPI_INLINE void add_constraint(const fill_job* job, const perpi_body_item* c, open_rows* b)
{
    const perpi_body_matrix* m = job->m;
    const double* D = job->D + ROWS_MAX * (size_t)c->row;
    const double *Y = job->Y + c->Y, *X = job->Y + c->X;
    const int32_t pair = c->pair;
    const bool spatial = c->rows == 3 && b->n == SIDE;
    if (pair >= 0 && pair != b->own && pair != b->pair) {
        if (b->pair >= 0) {
            put_block(m, b->pair, b->n, b->columns, b->sum.at + SIDE);
        }
        b->pair = pair;
        b->columns = m->size[c->other];
        get_block(m, pair, b->n, b->columns, b->sum.at + SIDE);
    }
    if (pair < 0 && spatial) {
        perpi_fill_own(D, Y, &b->sum);
    } else if (pair >= 0 && pair != b->own && spatial && b->columns == SIDE) {
        perpi_fill_pair(D, Y, X, &b->sum);
    } else if (pair == b->own) { /* both sides are this body */
        const bool is_first = c->Y < c->X;
        add_block(c->rows, D, Y, is_first ? Y : X, b->n, b->n, b->sum.at);
        add_block(c->rows, D, Y, is_first ? X : Y, b->n, b->n, b->sum.at);
    } else {
        add_block(c->rows, D, Y, Y, b->n, b->n, b->sum.at);
        if (pair >= 0) {
            add_block(c->rows, D, Y, X, b->n, b->columns, b->sum.at + SIDE);
        }
    }
}

/* The blocks of the rows of some bodies: 1, and Y D Y' of each constraint that acts, in their order. */
PERPI_WIDE static void fill_part(int32_t begin, int32_t end, void* data)
{
    const fill_job* job = data;
    const perpi_body_matrix* m = job->m;
    const perpi_delassus* W = m->delassus;
    for (int32_t i = begin; i < end; ++i) {
        open_rows b;
        b.i = i;
        b.n = m->size[i];
        b.own = m->own[i];
        b.pair = -1;
        for (int k = 0; k < PERPI_SUM_ROW * b.n; ++k) {
            b.sum.at[k] = 0.0;
        }
        for (int k = 0; k < b.n; ++k) {
            b.sum.at[k * (PERPI_SUM_ROW + 1)] = 1.0;
        }
        for (int32_t e = W->block_start.at[i]; e < W->block_start.at[i + 1]; ++e) {
            const perpi_body_item* item = &m->item[e];
            if (!m->acts[item->constraint]) {
                continue;
            }
            if (is_planar(m, item, &b)) {
                add_planar(job, item, &b);
            } else {
                add_constraint(job, item, &b);
            }
        }
        if (b.pair >= 0) {
            put_block(m, b.pair, b.n, b.columns, b.sum.at + SIDE);
        }
        put_block(m, b.own, b.n, b.n, b.sum.at);
    }
}

bool perpi_body_matrix_factor(perpi_body_matrix* m, const perp_contact_problem* P, const double* Y,
                              const double* D)
{
    int32_t pairs;
    if (find_acting(m, P, D, &pairs)) {
        m->status = analyse_acting(m, P);
        m->analysed = m->status == PERP_OK ? pairs : -1;
        if (m->status != PERP_OK) {
            return false;
        }
    }
    fill_job job = {m, P, Y, D};
    perpi_block_lu_clear(m->lu);
    perpi_for_parts(m->context, P->block_count, GRAIN / 5, fill_part, &job);
    return perpi_block_lu_factor(m->lu);
}

int perpi_body_matrix_sign(const perpi_body_matrix* m)
{
    return perpi_block_lu_sign(m->lu);
}

void perpi_body_matrix_solve(perpi_body_matrix* m, double* x)
{
    perpi_block_lu_solve(m->lu, x);
}
