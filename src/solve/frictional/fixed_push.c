/* src/solve/frictional/fixed_push.c - a contact with a given normal impulse s, expressed by the
 * laws of the contact problem.
 *
 * Method     s enters k of the two bodies. The friction set F(mu s) of fixed size is that of a contact whose
 *            normal row acts on a velocity z of its own, m_z z = p_n, with u_n = z - s / m_z: its
 *            solution is p_n = s, independent of the bodies.
 *                A constraint touches two blocks. Where one of them is the world, z takes its place. Else
 *            the block of z also holds y, the tangential velocity of the second body there, tied to it by
 *            y - J_t v = 0. The inertia is split into M - m_y J_t' J_t and m_y, which together are
 *            that of the body.
 */
#include "solve/frictional/fixed_push.h"

#include <math.h>
#include <string.h>

#include "linalg/dense.h"

enum { MOST = 6 }; /* velocities of a block */

void perpi_fixed_push_free(perpi_fixed_push* f)
{
    void* const owned[] = {f->dof, f->M, f->J, f->k, f->v};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; ++i) {
        perpi_free(f->context, owned[i]);
    }
}

static int32_t block_dofs(const perp_contact_problem* P, int32_t block)
{
    return block < 0 ? 0 : P->dof[block + 1] - P->dof[block];
}

static size_t mass_size(const perp_contact_problem* P, int32_t blocks)
{
    size_t size = 0;
    for (int32_t i = 0; i < blocks; ++i) {
        size += (size_t)block_dofs(P, i) * (size_t)block_dofs(P, i);
    }
    return size;
}

static size_t jacobian_size(const perp_contact_problem* P)
{
    size_t size = 0;
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        const size_t end = c->jac + (size_t)c->rows * (size_t)(block_dofs(P, c->block[0]) +
                                                               block_dofs(P, c->block[1]));
        size = end > size ? end : size;
    }
    return size;
}

perp_status perpi_fixed_push_begin(perpi_fixed_push* f, perp_contact_problem* P, int32_t pushes,
                                   const double* v)
{
    const size_t more = (size_t)pushes, blocks = (size_t)P->block_count, nv = (size_t)P->dof_count;
    const size_t M_size = mass_size(P, P->block_count), J_size = jacobian_size(P);
    /* a contact of 1 + PUSH_ROWS rows on two blocks, and the rows that tie y to a body */
    const size_t J_more = (1 + PERPI_PUSH_ROWS) * 2 * MOST + PERPI_PUSH_ROWS * 2 * MOST;
    perp_context* c = f->context;
    perp_status status =
        perpi_grow(c, &f->dof, &f->dof_capacity, blocks + more + 1, sizeof *f->dof);
    if (status == PERP_OK) {
        status = perpi_grow(c, &f->M, &f->M_capacity,
                            M_size + more * PERPI_PUSH_DOFS * PERPI_PUSH_DOFS, sizeof *f->M);
    }
    if (status == PERP_OK) {
        status = perpi_grow(c, &f->J, &f->J_capacity, J_size + more * J_more, sizeof *f->J);
    }
    if (status == PERP_OK) {
        status = perpi_grow(c, &f->k, &f->k_capacity, nv + more * PERPI_PUSH_DOFS, sizeof *f->k);
    }
    if (status == PERP_OK) {
        status = perpi_grow(c, &f->v, &f->v_capacity, nv + more * PERPI_PUSH_DOFS, sizeof *f->v);
    }
    if (status != PERP_OK) {
        return status;
    }
    memcpy(f->dof, P->dof, (blocks + 1) * sizeof *f->dof);
    memcpy(f->M, P->M, M_size * sizeof *f->M);
    memcpy(f->J, P->J, J_size * sizeof *f->J);
    memcpy(f->k, P->k, nv * sizeof *f->k);
    memcpy(f->v, v, nv * sizeof *f->v);
    P->dof = f->dof;
    P->M = f->M;
    P->J = f->J;
    P->k = f->k;
    P->M_factor = NULL;
    P->k_error = NULL;
    P->b_error = NULL;
    return PERP_OK;
}

/* Takes m J_t' J_t from the mass matrix of a block, m half of what would make it singular at least. */
static bool share_inertia(int32_t n, double* M, int32_t tangential, const double* J_t, double* m)
{
    double L[MOST * MOST], w = 0.0;
    if (!perpi_chol_factor(n, M, L)) {
        return false;
    }
    for (int32_t r = 0; r < tangential; ++r) {
        double x[MOST];
        memcpy(x, J_t + r * n, (size_t)n * sizeof *x);
        perpi_chol_forward(n, L, x);
        w += perpi_dot(n, x, x);
    }
    if (!(w > 0.0)) {
        return false;
    }
    *m = 0.5 / w;
    for (int32_t r = 0; r < tangential; ++r) {
        const double* J_r = J_t + r * n;
        for (int32_t i = 0; i < n; ++i) {
            for (int32_t j = 0; j < n; ++j) {
                M[i * n + j] -= *m * (J_r[i] * J_r[j]);
            }
        }
    }
    return true;
}

/* Rows of J that one contact has on its two sides. */
typedef struct push_side {
    int32_t n;
    const double* J;
} push_side;

/* Appends the block of z and, if the contact has two bodies, of y; false: no inertia to share. */
static bool add_block(perpi_fixed_push* f, perp_contact_problem* P, const perp_constraint* c,
                      push_side second, int32_t ny, double s, double m_z, double* m_y)
{
    const int32_t extra = ny + 1, block = P->block_count, first = P->dof_count;
    const int32_t tangential = c->rows - 1;
    const bool two = ny > 0;
    if (two && !share_inertia(second.n, f->M + mass_size(P, c->block[1]), tangential,
                              second.J + second.n, m_y)) {
        return false;
    }
    double* M = f->M + mass_size(P, block);
    memset(M, 0, (size_t)(extra * extra) * sizeof *M);
    for (int32_t d = 0; d < extra; ++d) {
        M[d * extra + d] = d < ny ? *m_y : m_z;
        f->k[first + d] = 0.0;
        f->v[first + d] = s / m_z;
    }
    if (two) {
        perpi_matvec(tangential, second.n, second.J + second.n, f->v + P->dof[c->block[1]],
                     f->v + first);
    }
    f->dof[block + 1] = first + extra;
    return true;
}

/* Ties y to the tangential velocity of the second body: one more constraint. */
static void add_tie_constraint(perpi_fixed_push* f, perp_contact_problem* P,
                               const perpi_push_arrays* a, int32_t i, int32_t tied,
                               push_side second, size_t at, double m_y)
{
    const perp_constraint* c = &a->constraint[i];
    const int32_t ny = c->rows - 1, extra = ny + 1, block = P->block_count - 1;
    const int32_t first = P->dof[block];
    double* out = f->J + at;
    for (int32_t r = 0; r < ny; ++r) {
        for (int32_t d = 0; d < second.n; ++d) {
            out[r * second.n + d] = -second.J[(1 + r) * second.n + d];
        }
    }
    out += ny * second.n;
    for (int32_t r = 0; r < ny; ++r) {
        memset(out + r * extra, 0, (size_t)extra * sizeof *out);
        out[r * extra + r] = 1.0;
        a->b[P->row_count + r] = 0.0;
        a->p[P->row_count + r] = m_y * f->v[first + r] - a->p[c->row + 1 + r];
        if (a->compliance != NULL) {
            a->compliance[P->row_count + r] = 0.0;
        }
    }
    a->constraint[P->constraint_count] = (perp_constraint){.kind = PERP_CONSTRAINT_EQUALITY,
                                                           .block = {tied, block},
                                                           .row = P->row_count,
                                                           .rows = ny,
                                                           .jac = at};
    P->constraint_count += 1;
    P->row_count += ny;
}

bool perpi_fixed_push_add(perpi_fixed_push* f, perp_contact_problem* P, int32_t i, double s,
                          double w_n, const perpi_push_arrays* a)
{
    perp_constraint* c = &a->constraint[i];
    const int32_t rows = c->rows, tangential = rows - 1;
    const int32_t n[2] = {block_dofs(P, c->block[0]), block_dofs(P, c->block[1])};
    const bool two = c->block[0] >= 0 && c->block[1] >= 0;
    const int32_t body = two || c->block[1] < 0 ? 0 : 1; /* the side that keeps its block */
    const int32_t ny = two ? tangential : 0, extra = ny + 1, block = P->block_count;
    const double* J[2] = {f->J + c->jac, f->J + c->jac + rows * n[0]};
    const push_side second = {n[1], J[1]};
    const double m_z = w_n > 0.0 ? 1.0 / w_n : 1.0;
    double m_y = 0.0;

    /* the normal impulse on the bodies */
    for (int side = 0; side < 2; ++side) {
        for (int32_t d = 0; d < n[side]; ++d) {
            f->k[P->dof[c->block[side]] + d] += s * J[side][d];
        }
    }
    if (!add_block(f, P, c, second, ny, s, m_z, &m_y)) {
        return false;
    }

    /* the contact: its normal row acts on z alone, its tangential rows on the body and y */
    size_t at = jacobian_size(P);
    double* out = f->J + at;
    const size_t contact_at = at, body_size = (size_t)(rows * n[body]);
    const size_t extra_size = (size_t)(rows * extra);
    double* on_body = body == 0 ? out : out + extra_size;
    double* on_extra = body == 0 ? out + body_size : out;
    memcpy(on_body, J[body], body_size * sizeof *out);
    memset(on_body, 0, (size_t)n[body] * sizeof *out);
    memset(on_extra, 0, extra_size * sizeof *out);
    on_extra[ny] = 1.0;
    for (int32_t d = 0; d < ny; ++d) {
        on_extra[(1 + d) * extra + d] = 1.0;
    }
    at += body_size + extra_size;
    const int32_t tied = c->block[1];
    c->jac = contact_at;
    c->block[1 - body] = block;
    a->b[c->row] = -s / m_z;
    a->p[c->row] = s;
    P->block_count = block + 1;
    P->dof_count += extra;
    if (two) {
        add_tie_constraint(f, P, a, i, tied, second, at, m_y);
    }
    return true;
}
