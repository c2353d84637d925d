/* src/step/joint_system.c - see joint_system.h.
 *
 * Source     the chain's system is block tridiagonal [Baraff 1996, Linear-time dynamics using
 *            Lagrange multipliers]
 * Notation   Y = M^-1 J', kept by rows as J is
 * Departure  A on the joints instead of the saddle point matrix on bodies and joints: half the size,
 *            the same graph. The factorisation is that of friction problems, linalg/block_lu.h; that of a serial
 *            chain, in the order of which neighbours alone share a body, is linalg/block_tridiagonal.h.
 */
#include "step/joint_system.h"

#include <float.h>
#include <string.h>

#include "linalg/block_lu.h"
#include "linalg/block_tridiagonal.h"
#include "linalg/dense.h"
#include "linalg/pair.h"

struct perpi_joint_system {
    perp_context* context;
    perpi_block_lu* lu;
    perpi_tridiagonal chain;
    bool serial; /* chain has the pattern, not lu */
    int32_t groups;
    int32_t* constraint; /* per group */
    int32_t *size, *start, *column;
    int32_t *first,
        *next;     /* per block: the first of its sides; per side of a group: the next one */
    int32_t* mark; /* per group */
    int32_t analysed,
        *shape; /* groups of the analysed pattern, or -1; three of each: rows, blocks */
    double* Mi; /* M^-1, laid out as M */
    size_t* at; /* per block: its place in M */
    double* Y;
    double* R;
    double *r, *x, *p;
    double part; /* regularisation */
    size_t constraint_capacity, size_capacity, start_capacity, column_capacity, first_capacity,
        next_capacity, mark_capacity, Mi_capacity, at_capacity, Y_capacity, R_capacity, r_capacity,
        x_capacity, p_capacity, shape_capacity;
};

/* A solution is accepted if its rows are within this part of their terms; beyond the second it is
 * refined. */
static const double SOLVED_PART = 1e-9;
static const double REFINED_PART = 1e-13;

perp_status perpi_joint_system_create(perp_context* context, perpi_joint_system** system)
{
    perpi_joint_system* s = NULL;
    perp_status status = perpi_alloc(context, 1, sizeof *s, &s);
    if (status != PERP_OK) {
        return status;
    }
    s->context = context;
    s->analysed = -1;
    status = perpi_block_lu_create(context, &s->lu);
    if (status != PERP_OK) {
        perpi_free(context, s);
        return status;
    }
    *system = s;
    return PERP_OK;
}

void perpi_joint_system_destroy(perpi_joint_system* s)
{
    if (s == NULL) {
        return;
    }
    perp_context* context = s->context;
    void* const owned[] = {s->constraint, s->size, s->start, s->column, s->first,
                           s->next,       s->mark, s->Mi,    s->at,     s->Y,
                           s->R,          s->r,    s->x,     s->p,      s->shape};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; ++i) {
        perpi_free(context, owned[i]);
    }
    perpi_block_lu_destroy(s->lu);
    perpi_tridiagonal_free(context, &s->chain);
    perpi_free(context, s);
}

void perpi_joint_system_regularise(perpi_joint_system* s, double part)
{
    s->part = part;
}

double* perpi_joint_system_r(perpi_joint_system* s)
{
    return s->r;
}

double* perpi_joint_system_R(perpi_joint_system* s)
{
    return s->R;
}

/* ---- the rows that hold --------------------------------------------------------------------------*/

typedef enum role { ROLE_HOLDS, ROLE_FIXED, ROLE_REFUSED } role;

/* A taut rope is refused: beside a light body its error has several roots, and Newton's method may find
 * a distant one. */
static bool is_rope(const perpi_formulation* f, int32_t constraint)
{
    const int32_t k = constraint - f->contact_count;
    return k >= 0 && k < f->joint_count && f->place[k].slot == 0 &&
           f->constraint[constraint].kind == PERP_CONSTRAINT_BOUNDED;
}

static role role_of(const perpi_formulation* f, int32_t constraint, const double* p)
{
    const perp_constraint* c = &f->constraint[constraint];
    if (c->kind == PERP_CONSTRAINT_EQUALITY) {
        return ROLE_HOLDS;
    }
    if (p == NULL) {
        return ROLE_REFUSED;
    }
    int32_t inside = 0, outside = 0;
    for (int32_t r = c->row; r < c->row + c->rows; ++r) {
        if (c->kind == PERP_CONSTRAINT_CONTACT) {
            outside += p[r] == 0.0;
        } else {
            inside += p[r] > f->lower[r] && p[r] < f->upper[r];
            outside += p[r] == f->lower[r] || p[r] == f->upper[r];
        }
    }
    return inside == c->rows && !is_rope(f, constraint) ? ROLE_HOLDS
           : outside == c->rows                         ? ROLE_FIXED
                                                        : ROLE_REFUSED;
}

perp_status perpi_joint_system_reserve(perpi_joint_system* s, const perpi_formulation* f)
{
    const size_t groups = (size_t)f->constraints, blocks = (size_t)f->problem.block_count;
    const struct {
        void* array;
        size_t* capacity;
        size_t count, size;
    } need[] = {
        {&s->constraint, &s->constraint_capacity, groups, sizeof *s->constraint},
        {&s->size, &s->size_capacity, groups, sizeof *s->size},
        {&s->start, &s->start_capacity, groups + 1, sizeof *s->start},
        {&s->next, &s->next_capacity, 2 * groups, sizeof *s->next},
        {&s->mark, &s->mark_capacity, groups, sizeof *s->mark},
        {&s->shape, &s->shape_capacity, 3 * groups, sizeof *s->shape},
        {&s->first, &s->first_capacity, blocks, sizeof *s->first},
        {&s->at, &s->at_capacity, blocks, sizeof *s->at},
        {&s->Mi, &s->Mi_capacity, f->M_used, sizeof *s->Mi},
        {&s->Y, &s->Y_capacity, f->jac, sizeof *s->Y},
        {&s->R, &s->R_capacity, f->jac, sizeof *s->R},
        {&s->r, &s->r_capacity, (size_t)f->rows, sizeof *s->r},
        {&s->x, &s->x_capacity, (size_t)f->rows, sizeof *s->x},
        {&s->p, &s->p_capacity, (size_t)f->rows, sizeof *s->p},
    };
    perp_status status = PERP_OK;
    for (size_t i = 0; status == PERP_OK && i < sizeof need / sizeof need[0]; ++i) {
        status =
            perpi_grow(s->context, need[i].array, need[i].capacity, need[i].count, need[i].size);
    }
    return status;
}

/* ---- M^-1 and M^-1 J' ------------------------------------------------------------------------------*/

/* Whether a block of six has no coupling of translation and rotation, as all bodies have. */
static bool is_split(const double* M)
{
    for (int i = 0; i < 3; ++i) {
        for (int j = 3; j < 6; ++j) {
            if (M[6 * i + j] != 0.0 || M[6 * j + i] != 0.0) {
                return false;
            }
        }
    }
    return M[1] == 0.0 && M[2] == 0.0 && M[8] == 0.0;
}

/* The inverse of a 3 x 3 matrix inside blocks of the given stride. */
static bool invert_three(const double* A, double* inverse, int32_t stride)
{
    const double *x = A, *y = A + stride, *z = A + 2 * stride;
    const double c[3] = {y[1] * z[2] - y[2] * z[1], y[2] * z[0] - y[0] * z[2],
                         y[0] * z[1] - y[1] * z[0]};
    const double det = x[0] * c[0] + x[1] * c[1] + x[2] * c[2];
    const double s = 1.0 / det;
    double *a = inverse, *b = inverse + stride, *d = inverse + 2 * stride;
    a[0] = c[0] * s;
    b[0] = c[1] * s;
    d[0] = c[2] * s;
    a[1] = (x[2] * z[1] - x[1] * z[2]) * s;
    b[1] = (x[0] * z[2] - x[2] * z[0]) * s;
    d[1] = (x[1] * z[0] - x[0] * z[1]) * s;
    a[2] = (x[1] * y[2] - x[2] * y[1]) * s;
    b[2] = (x[2] * y[0] - x[0] * y[2]) * s;
    d[2] = (x[0] * y[1] - x[1] * y[0]) * s;
    return isfinite(s);
}

/* The inverse of M - K. A body's block has no coupling of translation and rotation. */
static bool invert_block(int32_t n, const double* M, const double* K, double* Mi)
{
    double L[PERPI_BLOCK_MAX * PERPI_BLOCK_MAX];
    if (n == 6 && is_split(M)) {
        double turning[9];
        for (int i = 0; i < 9; ++i) {
            turning[i] = M[6 * (3 + i / 3) + 3 + i % 3] - (K != NULL ? K[i] : 0.0);
        }
        double inverse[9];
        const bool regular = invert_three(turning, inverse, 3);
        memset(Mi, 0, 36 * sizeof *Mi);
        for (int i = 0; i < 3; ++i) {
            Mi[7 * i] = 1.0 / M[7 * i];
            memcpy(Mi + 6 * (3 + i) + 3, inverse + 3 * (size_t)i, 3 * sizeof *Mi);
        }
        return M[0] > 0.0 && M[7] > 0.0 && M[14] > 0.0 && regular;
    }
    if (n == 3 && K != NULL && K[8] != 0.0) { /* planar: x, y, angle */
        memset(Mi, 0, 9 * sizeof *Mi);
        Mi[0] = 1.0 / M[0];
        Mi[4] = 1.0 / M[4];
        Mi[8] = 1.0 / (M[8] - K[8]);
        return isfinite(Mi[0]) && isfinite(Mi[4]) && isfinite(Mi[8]);
    }
    if (!perpi_chol_factor(n, M, L)) {
        return false;
    }
    perpi_chol_inverse(n, L, Mi);
    return true;
}

static bool invert_masses(perpi_joint_system* s, const perpi_formulation* f, const double* K)
{
    size_t at = 0;
    bool regular = true;
    for (int32_t i = 0; i < f->problem.block_count && regular; ++i) {
        const int32_t n = f->dof[i + 1] - f->dof[i];
        s->at[i] = at;
        regular = invert_block(n, f->M + at, K != NULL ? K + 9 * (size_t)i : NULL, s->Mi + at);
        at += (size_t)(n * n);
    }
    return regular;
}

/* y = M^-1 x of each of the rows. A split block of six needs twelve of the products. */
static void apply_inverse(int32_t n, const double* restrict Mi, int32_t rows,
                          const double* restrict x, double* restrict y)
{
    if (n == 6 && Mi[3] == 0.0 && Mi[4] == 0.0 && Mi[5] == 0.0 && Mi[1] == 0.0 && Mi[2] == 0.0 &&
        Mi[8] == 0.0) {
        const double a = Mi[0], b = Mi[7], c = Mi[14];
        const double *I = Mi + 21, *J = Mi + 27, *K = Mi + 33;
        for (int32_t r = 0; r < rows; ++r, x += 6, y += 6) {
            y[0] = a * x[0];
            y[1] = b * x[1];
            y[2] = c * x[2];
            y[3] = I[0] * x[3] + I[1] * x[4] + I[2] * x[5];
            y[4] = J[0] * x[3] + J[1] * x[4] + J[2] * x[5];
            y[5] = K[0] * x[3] + K[1] * x[4] + K[2] * x[5];
        }
        return;
    }
    for (int32_t r = 0; r < rows; ++r, x += n, y += n) {
        for (int32_t i = 0; i < n; ++i) {
            double sum = 0.0;
            for (int32_t k = 0; k < n; ++k) {
                sum += Mi[i * n + k] * x[k];
            }
            y[i] = sum;
        }
    }
}

static double dot_rows(int32_t n, const double* a, const double* b)
{
    if (n == 6) {
        return (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]) +
               (a[3] * b[3] + a[4] * b[4] + a[5] * b[5]);
    }
    double sum = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* ---- the pattern ------------------------------------------------------------------------------------*/

/* Whether the groups have the rows and bodies of the analysed pattern; if not, these are noted. */
static bool is_analysed(perpi_joint_system* s, const perpi_formulation* f)
{
    bool same = s->analysed == s->groups;
    int32_t* shape = s->shape;
    for (int32_t g = 0; g < s->groups; ++g, shape += 3) {
        const perp_constraint* c = &f->constraint[s->constraint[g]];
        same = same && shape[0] == c->rows && shape[1] == c->block[0] && shape[2] == c->block[1];
        shape[0] = c->rows;
        shape[1] = c->block[0];
        shape[2] = c->block[1];
    }
    return same;
}

static perp_status find_pattern(perpi_joint_system* s, const perpi_formulation* f)
{
    if (is_analysed(s, f)) {
        return PERP_OK;
    }
    s->analysed = -1;
    size_t pairs = 0;
    for (int32_t i = 0; i < f->problem.block_count; ++i) {
        s->first[i] = -1;
    }
    for (int32_t g = s->groups - 1; g >= 0; --g) { /* lists in the order of the groups */
        const perp_constraint* c = &f->constraint[s->constraint[g]];
        s->mark[g] = -1;
        s->size[g] = c->rows;
        for (int side = 1; side >= 0; --side) {
            const int32_t block = c->block[side];
            s->next[2 * g + side] = block >= 0 ? s->first[block] : -1;
            if (block >= 0) {
                s->first[block] = 2 * g + side;
            }
        }
    }
    for (int pass = 0; pass < 2; ++pass) { /* counts, then writes */
        size_t used = 0;
        for (int32_t g = 0; g < s->groups; ++g) {
            const perp_constraint* c = &f->constraint[s->constraint[g]];
            s->start[g] = (int32_t)used;
            for (int side = 0; side < 2; ++side) {
                const int32_t block = c->block[side];
                for (int32_t k = block >= 0 ? s->first[block] : -1; k >= 0; k = s->next[k]) {
                    const int32_t other = k / 2, stamp = 2 * g + pass;
                    if (s->mark[other] == stamp) {
                        continue;
                    }
                    s->mark[other] = stamp;
                    if (pass == 1) {
                        s->column[used] = other;
                    }
                    used += 1;
                }
            }
        }
        s->start[s->groups] = (int32_t)used;
        pairs = used;
        for (int32_t g = 0; g < s->groups && pass == 0; ++g) {
            s->mark[g] = -1;
        }
        const perp_status status =
            perpi_grow(s->context, &s->column, &s->column_capacity, pairs, sizeof *s->column);
        if (status != PERP_OK) {
            return status;
        }
    }
    s->serial = perpi_tridiagonal_fits(s->groups, s->size, s->start, s->column);
    const perp_status status =
        s->serial ? perpi_tridiagonal_shape(s->context, &s->chain, s->groups, s->size)
                  : perpi_block_lu_analyse(s->lu, s->groups, s->size, s->start, s->column);
    s->analysed = status == PERP_OK ? s->groups : -1;
    return status;
}

/* Y = M^-1 J' */
static void multiply_inverse(perpi_joint_system* s, const perpi_formulation* f, const double* J)
{
    for (int32_t g = 0; g < s->groups; ++g) {
        const perp_constraint* c = &f->constraint[s->constraint[g]];
        size_t at = c->jac;
        for (int side = 0; side < 2; ++side) {
            const int32_t block = c->block[side];
            const int32_t n = block >= 0 ? f->dof[block + 1] - f->dof[block] : 0;
            if (n > 0) {
                apply_inverse(n, s->Mi + s->at[block], c->rows, J + at, s->Y + at);
                at += (size_t)(c->rows * n);
            }
        }
    }
}

perp_status perpi_joint_system_begin(perpi_joint_system* s, const perpi_formulation* f,
                                     const double* p, const double* K, bool* takes)
{
    *takes = false;
    perp_status status = perpi_joint_system_reserve(s, f);
    if (status != PERP_OK) {
        return status;
    }
    s->groups = 0;
    for (int32_t i = 0; i < f->constraints; ++i) {
        const perp_constraint* c = &f->constraint[i];
        const role it = role_of(f, i, p);
        if (it == ROLE_REFUSED) {
            return PERP_OK;
        }
        if (it == ROLE_HOLDS) {
            if (c->block[0] < 0 && c->block[1] < 0) {
                return PERP_OK; /* between prescribed bodies: nothing can satisfy it */
            }
            s->constraint[s->groups++] = i;
        }
    }
    if (s->groups == 0 || !invert_masses(s, f, K)) {
        return PERP_OK;
    }
    multiply_inverse(s, f, f->J);
    status = find_pattern(s, f);
    *takes = status == PERP_OK;
    return status;
}

/* ---- numbers ---------------------------------------------------------------------------------------*/

/* The same for the most frequent case, two constraints of three rows on a spatial body. */
static void add_three_by_three(const double* restrict R, const double* restrict Y,
                               double* restrict to, int32_t stride)
{
    for (int r = 0; r < 3; ++r, R += 6, to += stride) {
        for (int k = 0; k < 3; ++k) {
            const double* y = Y + 6 * k;
            to[k] += (R[0] * y[0] + R[1] * y[1] + R[2] * y[2]) +
                     (R[3] * y[3] + R[4] * y[4] + R[5] * y[5]);
        }
    }
}

static int32_t width_of(const perpi_formulation* f, int32_t block)
{
    return block >= 0 ? f->dof[block + 1] - f->dof[block] : 0;
}

/* Adds R_i Y_j of the bodies that two constraints share. */
static void add_pair(const perpi_formulation* f, const perp_constraint* i, const perp_constraint* j,
                     const double* R, const double* Y, double* to, int32_t stride)
{
    for (int a = 0; a < 2; ++a) {
        const int32_t block = i->block[a];
        for (int b = 0; block >= 0 && b < 2; ++b) {
            if (j->block[b] != block) {
                continue;
            }
            const int32_t n = width_of(f, block);
            const double* R_i =
                R + i->jac + (a == 0 ? 0 : (size_t)(i->rows * width_of(f, i->block[0])));
            const double* Y_j =
                Y + j->jac + (b == 0 ? 0 : (size_t)(j->rows * width_of(f, j->block[0])));
            if (n == 6 && i->rows == 3 && j->rows == 3) {
                add_three_by_three(R_i, Y_j, to, stride);
                continue;
            }
            for (int32_t r = 0; r < i->rows; ++r) {
                for (int32_t k = 0; k < j->rows; ++k) {
                    to[r * stride + k] += dot_rows(n, R_i + r * n, Y_j + k * n);
                }
            }
        }
    }
}

bool perpi_joint_system_factor(perpi_joint_system* s, const perpi_formulation* f, const double* R)
{
    R = R != NULL ? R : f->J;
    if (s->serial) {
        perpi_tridiagonal_clear(&s->chain);
    } else {
        perpi_block_lu_clear(s->lu);
    }
    for (int32_t g = 0; g < s->groups; ++g) {
        const perp_constraint* c = &f->constraint[s->constraint[g]];
        for (int32_t k = s->start[g]; k < s->start[g + 1]; ++k) {
            int32_t stride;
            const int32_t other = s->column[k];
            double* to = s->serial ? perpi_tridiagonal_block(&s->chain, g, other, &stride)
                                   : perpi_block_lu_block(s->lu, k, &stride);
            add_pair(f, c, &f->constraint[s->constraint[other]], R, s->Y, to, stride);
            for (int32_t r = 0; other == g && r < c->rows; ++r) {
                to[r * stride + r] =
                    (1.0 + s->part) * to[r * stride + r] + f->compliance[c->row + r];
            }
        }
    }
    return s->serial ? perpi_tridiagonal_factor(&s->chain) : perpi_block_lu_factor(s->lu);
}

void perpi_joint_system_solve(perpi_joint_system* s, const perpi_formulation* f, double* r,
                              double* v, double* p)
{
    int32_t used = 0;
    for (int32_t g = 0; g < s->groups; ++g) {
        const perp_constraint* c = &f->constraint[s->constraint[g]];
        for (int32_t i = 0; i < c->rows; ++i) {
            s->x[used++] = r[c->row + i];
        }
    }
    if (s->serial) {
        perpi_tridiagonal_solve(&s->chain, s->x);
    } else {
        perpi_block_lu_solve(s->lu, s->x);
    }
    used = 0;
    for (int32_t g = 0; g < s->groups; ++g) {
        const perp_constraint* c = &f->constraint[s->constraint[g]];
        const double* x = s->x + used;
        size_t at = c->jac;
        for (int side = 0; side < 2; ++side) {
            const int32_t block = c->block[side];
            const int32_t n = block >= 0 ? f->dof[block + 1] - f->dof[block] : 0;
            if (n > 0) {
                perpi_subtract_rows(n, c->rows, s->Y + at, x, v + f->dof[block]);
                at += (size_t)(c->rows * n);
            }
        }
        for (int32_t i = 0; i < c->rows; ++i) {
            p[c->row + i] -= x[i];
        }
        used += c->rows;
    }
}

double perpi_joint_system_rows(perpi_joint_system* s, const perpi_formulation* f, const double* v,
                               const double* p, double* r)
{
    double largest = 0.0;
    memset(r, 0, (size_t)f->rows * sizeof *r);
    for (int32_t g = 0; g < s->groups; ++g) {
        const perp_constraint* c = &f->constraint[s->constraint[g]];
        size_t at = c->jac;
        double* terms = s->x;
        for (int32_t i = 0; i < c->rows; ++i) {
            const double yields = f->compliance[c->row + i] * p[c->row + i];
            r[c->row + i] = f->b[c->row + i] + yields;
            terms[i] = fabs(f->b[c->row + i]) + fabs(yields);
        }
        for (int side = 0; side < 2; ++side) {
            const int32_t block = c->block[side];
            const int32_t n = block >= 0 ? f->dof[block + 1] - f->dof[block] : 0;
            for (int32_t i = 0; i < c->rows; ++i, at += (size_t)n) {
                double sum = r[c->row + i], size = terms[i];
                for (int32_t k = 0; k < n; ++k) {
                    const double term = f->J[at + (size_t)k] * v[f->dof[block] + k];
                    sum += term;
                    size += fabs(term);
                }
                r[c->row + i] = sum;
                terms[i] = size;
            }
        }
        for (int32_t i = 0; i < c->rows; ++i) {
            const double size = r[c->row + i] == 0.0 ? 0.0 : fabs(r[c->row + i]) / terms[i];
            largest = largest >= size ? largest : size; /* keeps a NaN */
        }
    }
    return largest;
}

void perpi_joint_system_subtract(const perpi_joint_system* s, const perpi_formulation* f,
                                 const double* R, const double* x, double* r)
{
    for (int32_t g = 0; g < s->groups; ++g) {
        const perp_constraint* c = &f->constraint[s->constraint[g]];
        size_t at = c->jac;
        for (int side = 0; side < 2; ++side) {
            const int32_t block = c->block[side];
            const int32_t n = block >= 0 ? f->dof[block + 1] - f->dof[block] : 0;
            for (int32_t i = 0; i < c->rows; ++i, at += (size_t)n) {
                r[c->row + i] -= n > 0 ? dot_rows(n, R + at, x + f->dof[block]) : 0.0;
            }
        }
    }
}

void perpi_joint_system_apply(const perpi_joint_system* s, const perpi_formulation* f, double* x)
{
    for (int32_t i = 0; i < f->problem.block_count; ++i) {
        const int32_t n = f->dof[i + 1] - f->dof[i];
        double y[PERPI_BLOCK_MAX];
        memcpy(y, x + f->dof[i], (size_t)n * sizeof *y);
        apply_inverse(n, s->Mi + s->at[i], 1, y, x + f->dof[i]);
    }
}

void perpi_joint_system_motion(perpi_joint_system* s, const perpi_formulation* f, const double* p,
                               double* v)
{
    memcpy(v, f->k, (size_t)f->problem.dof_count * sizeof *v);
    for (int32_t i = 0; i < f->constraints; ++i) {
        const perp_constraint* c = &f->constraint[i];
        const double* J = f->J + c->jac;
        for (int side = 0; side < 2; ++side) {
            const int32_t block = c->block[side];
            const int32_t n = block >= 0 ? f->dof[block + 1] - f->dof[block] : 0;
            for (int32_t r = 0; r < c->rows; ++r, J += n) {
                const double impulse = p[c->row + r];
                for (int32_t k = 0; k < n; ++k) {
                    v[f->dof[block] + k] += J[k] * impulse;
                }
            }
        }
    }
    perpi_joint_system_apply(s, f, v);
}

/* M^-1 of the bodies at the poses q, without drag. */
static void invert_masses_at(perpi_joint_system* s, const perpi_formulation* f,
                             const perp_model* model, const double* q)
{
    const int32_t linear = model->dimension;
    for (int32_t i = 0; i < (int32_t)model->body_count; ++i) {
        const perpi_body* body = &model->body[i];
        if (f->block_of[i] < 0) {
            continue;
        }
        const int32_t n = body->dofs;
        double* Mi = s->Mi + s->at[f->block_of[i]];
        memset(Mi, 0, (size_t)(n * n) * sizeof *Mi);
        for (int32_t k = 0; k < linear; ++k) {
            Mi[k * n + k] = 1.0 / body->mass;
        }
        if (!body->particle && linear == 2) {
            Mi[8] = 1.0 / body->inertia.m[2][2];
        } else if (!body->particle) {
            const mat3 R = perpi_state_pose(model, q, i).R;
            const mat3 I = m3_inverse(body->inertia);
            for (int k = 0; k < 3; ++k) { /* column k of R I^-1 R' */
                const vec3 column = m3_mul(R, m3_mul(I, v3(R.m[k][0], R.m[k][1], R.m[k][2])));
                Mi[6 * 3 + 3 + k] = column.x;
                Mi[6 * 4 + 3 + k] = column.y;
                Mi[6 * 5 + 3 + k] = column.z;
            }
        }
    }
}

bool perpi_joint_system_project(perpi_joint_system* s, const perpi_formulation* f,
                                const perp_model* model, const double* q, double* v)
{
    if (model->massless_count > 0) {
        return false;
    }
    invert_masses_at(s, f, model, q);
    multiply_inverse(s, f, s->R);
    if (!perpi_joint_system_factor(s, f, s->R)) {
        return false;
    }
    double left[2] = {0.0, 0.0};
    for (int pass = 0; pass < 2; ++pass) { /* the second refines */
        memset(s->r, 0, (size_t)f->rows * sizeof *s->r);
        perpi_joint_system_subtract(s, f, s->R, v, s->r);
        for (int32_t i = 0; i < f->rows; ++i) {
            s->r[i] = -s->r[i];
            const double size = fabs(s->r[i]);
            left[pass] = left[pass] >= size ? left[pass] : size; /* keeps a NaN */
        }
        if (pass == 1 && left[1] <= REFINED_PART * left[0]) {
            break;
        }
        perpi_joint_system_solve(s, f, s->r, v, s->p);
    }
    return left[0] == 0.0 || left[1] <= SOLVED_PART * left[0] || left[1] <= 1e3 * DBL_MIN;
}

perp_status perpi_joint_system_solve_all(perpi_joint_system* s, const perpi_formulation* f,
                                         double* v, double* p, bool* solved)
{
    *solved = false;
    const perp_status status = perpi_joint_system_begin(s, f, NULL, NULL, solved);
    if (status != PERP_OK || !*solved) {
        return status;
    }
    *solved = perpi_joint_system_factor(s, f, NULL);
    if (*solved) {
        perpi_joint_system_motion(s, f, p, v);
        (void)perpi_joint_system_rows(s, f, v, p, s->r);
        perpi_joint_system_solve(s, f, s->r, v, p);
        const double left = perpi_joint_system_rows(s, f, v, p, s->r);
        *solved = left <= SOLVED_PART;
        if (!(left <= REFINED_PART)) {
            perpi_joint_system_solve(s, f, s->r, v, p);
        }
    }
    return PERP_OK;
}
