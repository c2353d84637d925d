/* src/problem/io/problem_file.c - any problem file, in the forms that it has.
 *
 * gfc kinds: M = L U (KLU); W = H' M^-1 H block column by block column, so that no more than `dim`
 * full columns exist at a time; blocks that come out exactly zero (bodies that do not touch) are left
 * out, nothing is rounded to zero.
 */
#include "problem/io/problem_file.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"

enum { DENSE_MAX = 4000 };

perp_sparse perpi_ccp_sparse(const perpi_ccp_matrix* m)
{
    return (perp_sparse){m->rows, m->cols, m->start, m->row, m->value};
}

/* ---- forms -----------------------------------------------------------------------------------------*/

static perp_status form_mlcp(perp_problem_file* f)
{
    const perpi_ccp* ccp = &f->ccp;
    const size_t n = (size_t)ccp->n;
    perp_status status = perpi_alloc(f->context, n, sizeof *f->lower, &f->lower);
    if (status == PERP_OK) {
        status = perpi_alloc(f->context, n, sizeof *f->upper, &f->upper);
    }
    if (status != PERP_OK) {
        return status;
    }
    for (int32_t i = 0; i < ccp->n; ++i) {
        const bool bounds = f->kind == PERP_PROBLEM_BLCP;
        const bool is_free = f->kind == PERP_PROBLEM_MLCP && i < ccp->n_eq;
        f->lower[i] = bounds ? ccp->vector[PERPI_CCP_lb].at[i] : (is_free ? -INFINITY : 0.0);
        f->upper[i] = bounds ? ccp->vector[PERPI_CCP_ub].at[i] : INFINITY;
    }
    f->mlcp = (perp_mlcp){.M = perpi_ccp_sparse(&ccp->matrix[PERPI_CCP_M]),
                          .q = ccp->vector[PERPI_CCP_q].at,
                          .lower = f->lower,
                          .upper = f->upper};
    f->has_mlcp = true;
    if (f->kind != PERP_PROBLEM_LCP || n > DENSE_MAX) {
        return PERP_OK;
    }
    status = perpi_alloc(f->context, n * n, sizeof *f->dense, &f->dense);
    if (status != PERP_OK) {
        return status;
    }
    const perp_sparse* M = &f->mlcp.M;
    for (int32_t j = 0; j < M->cols; ++j) {
        for (int32_t e = M->start[j]; e < M->start[j + 1]; ++e) {
            f->dense[(size_t)M->row[e] * n + (size_t)j] = M->value[e];
        }
    }
    f->lcp = (perp_lcp){.n = ccp->n, .M = f->dense, .q = f->mlcp.q};
    f->has_lcp = true;
    return PERP_OK;
}

/* The contacts of a friction kind, and W from the blocks put so far. */
static perp_status form_friction(perp_problem_file* f, const double* q)
{
    const perpi_ccp* ccp = &f->ccp;
    perp_block_rows W = {0};
    perp_status status = perpi_blocks_end(&f->blocks, &W);
    if (status == PERP_OK) {
        status = perpi_alloc(f->context, (size_t)ccp->nc, sizeof *f->constraint, &f->constraint);
    }
    if (status != PERP_OK) {
        return status;
    }
    for (int32_t i = 0; i < ccp->nc; ++i) {
        f->constraint[i] = (perp_constraint){.kind = PERP_CONSTRAINT_CONTACT,
                                             .block = {-1, -1},
                                             .row = i * ccp->dim,
                                             .rows = ccp->dim,
                                             .cone = PERP_CONE_QUADRATIC,
                                             .mu = ccp->vector[PERPI_CCP_mu].at[i]};
    }
    f->friction = (perp_friction_problem){.constraint_count = ccp->nc,
                                          .row_count = ccp->dim * ccp->nc,
                                          .W = W,
                                          .q = q,
                                          .constraint = f->constraint};
    f->has_friction = true;
    return PERP_OK;
}

static perp_status form_local(perp_problem_file* f)
{
    const perp_sparse W = perpi_ccp_sparse(&f->ccp.matrix[PERPI_CCP_W]);
    perp_status status = perpi_blocks_begin(f->context, f->ccp.nc, f->ccp.dim, &f->blocks);
    for (int32_t j = 0; j < W.cols; ++j) {
        for (int32_t e = W.start[j]; status == PERP_OK && e < W.start[j + 1]; ++e) {
            status = perpi_blocks_put(&f->blocks, W.row[e], j, W.value[e]);
        }
    }
    return status == PERP_OK ? form_friction(f, f->ccp.vector[PERPI_CCP_q].at) : status;
}

void perpi_problem_file_solve(perp_problem_file* f, double* x)
{
    const size_t n = (size_t)f->ccp.n;
    if (n == 0) {
        return;
    }
    const perp_sparse M = perpi_ccp_sparse(&f->ccp.matrix[PERPI_CCP_M]);
    double* rest = f->work;
    memcpy(rest, x, n * sizeof *x);
    perpi_sparse_lu_solve(f->lu, 1, x);
    perpi_sparse_add_product(&M, -1.0, x, rest);
    perpi_sparse_lu_solve(f->lu, 1, rest);
    for (size_t i = 0; i < n; ++i) {
        x[i] += rest[i];
    }
}

static double column_dot(const perp_sparse* A, int32_t j, const double* x)
{
    double sum = 0.0;
    for (int32_t e = A->start[j]; e < A->start[j + 1]; ++e) {
        sum += A->value[e] * x[A->row[e]];
    }
    return sum;
}

static perp_status factor_mass(perp_problem_file* f)
{
    const size_t n = (size_t)f->ccp.n;
    const perp_sparse M = perpi_ccp_sparse(&f->ccp.matrix[PERPI_CCP_M]);
    perp_status status = perpi_alloc(f->context, 2 * n, sizeof *f->work, &f->work);
    if (status != PERP_OK || n == 0) {
        return status;
    }
    bool singular = true;
    status = perpi_sparse_lu_create(f->context, &f->lu);
    if (status == PERP_OK) {
        status = perpi_sparse_lu_factor(f->lu, &M, false, &singular);
    }
    return status == PERP_OK && singular
               ? perpi_fail(f->context, PERP_ERROR_INPUT, "M must not be singular")
               : status;
}

static perp_status form_global(perp_problem_file* f)
{
    const perpi_ccp* ccp = &f->ccp;
    const size_t n = (size_t)ccp->n;
    const perp_sparse H = perpi_ccp_sparse(&ccp->matrix[PERPI_CCP_H]);
    perp_status status = factor_mass(f);
    if (status == PERP_OK) {
        status = perpi_blocks_begin(f->context, ccp->nc, ccp->dim, &f->blocks);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(f->context, (size_t)H.cols, sizeof *f->q, &f->q);
    }
    if (status != PERP_OK) {
        return status;
    }
    double* x = f->work + n;
    for (int32_t j = 0; j < H.cols; ++j) {
        if (n > 0) {
            memset(x, 0, n * sizeof *x);
        }
        for (int32_t e = H.start[j]; e < H.start[j + 1]; ++e) {
            x[H.row[e]] = H.value[e];
        }
        perpi_problem_file_solve(f, x);
        for (int32_t i = 0; status == PERP_OK && i < H.cols; ++i) {
            const double w = column_dot(&H, i, x);
            status = w != 0.0 || i == j ? perpi_blocks_put(&f->blocks, i, j, w) : PERP_OK;
        }
    }
    if (status != PERP_OK) {
        return status;
    }
    if (n > 0) {
        memcpy(x, ccp->vector[PERPI_CCP_q].at, n * sizeof *x);
    }
    perpi_problem_file_solve(f, x);
    for (int32_t j = 0; j < H.cols; ++j) {
        f->q[j] = column_dot(&H, j, x) + ccp->vector[PERPI_CCP_b].at[j];
    }
    return form_friction(f, f->q);
}

/* ---- reading ---------------------------------------------------------------------------------------*/

typedef enum file_format { FORMAT_TEXT, FORMAT_HDF5, FORMAT_JSON } file_format;

static perp_status find_format(perp_context* context, const char* path, file_format* format)
{
    errno = 0;
    FILE* f = fopen(path, "rb");
    if (f == NULL) {
        return perpi_fail(context, PERP_ERROR_IO, "%s: cannot be opened: %s", path,
                          strerror(errno));
    }
    char head[64] = "";
    const size_t got = fread(head, 1, sizeof head - 1, f);
    const bool unreadable = ferror(f) != 0;
    fclose(f);
    if (unreadable) {
        return perpi_fail(context, PERP_ERROR_IO, "%s: cannot be read", path);
    }
    const size_t blank = strspn(head, " \t\r\n");
    *format = got >= 8 && memcmp(head, "\x89HDF\r\n\x1a\n", 8) == 0 ? FORMAT_HDF5
              : head[blank] == '{'                                  ? FORMAT_JSON
                                                                    : FORMAT_TEXT;
    return PERP_OK;
}

static perp_status form(perp_problem_file* f)
{
    f->kind = f->ccp.kind;
    switch (f->kind) {
    case PERP_PROBLEM_FC2D:
    case PERP_PROBLEM_FC3D: return form_local(f);
    case PERP_PROBLEM_GFC2D:
    case PERP_PROBLEM_GFC3D: return form_global(f);
    default: return form_mlcp(f);
    }
}

perp_status perp_problem_read(perp_context* context, const char* path, perp_problem_file** file)
{
    file_format format = FORMAT_TEXT;
    perp_problem_file* f = NULL;
    perp_status status = find_format(context, path, &format);
    if (status == PERP_OK) {
        status = perpi_alloc(context, 1, sizeof *f, &f);
    }
    if (status != PERP_OK) {
        return status;
    }
    f->context = context;
    if (format == FORMAT_JSON) {
        status = perp_contact_read(context, path, &f->contact);
    } else {
        status = format == FORMAT_HDF5 ? perpi_fclib_read(context, path, &f->ccp)
                                       : perpi_ccp_read(context, path, &f->ccp);
        if (status == PERP_OK) {
            status = perpi_ccp_check(context, path, &f->ccp);
        }
        if (status == PERP_OK) {
            status = form(f);
            if (status == PERP_ERROR_INPUT) {
                status = perpi_fail_prefix(context, status, path);
            }
        }
    }
    if (status != PERP_OK) {
        perp_problem_file_destroy(f);
        return status;
    }
    *file = f;
    return PERP_OK;
}

void perp_problem_file_destroy(perp_problem_file* file)
{
    if (file == NULL) {
        return;
    }
    perp_context* context = file->context;
    perp_contact_file_destroy(file->contact);
    perpi_ccp_free(context, &file->ccp);
    perpi_blocks_free(&file->blocks);
    perpi_sparse_lu_destroy(file->lu);
    void* const owned[] = {file->dense, file->lower,      file->upper,
                           file->q,     file->constraint, file->work};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; ++i) {
        perpi_free(context, owned[i]);
    }
    perpi_free(context, file);
}

/* ---- what it holds ---------------------------------------------------------------------------------*/

perp_problem_kind perp_problem_file_kind(const perp_problem_file* file)
{
    return file->kind;
}

const char* perp_problem_file_name(const perp_problem_file* file)
{
    return file->ccp.name;
}

const perp_contact_problem* perp_problem_file_contact(const perp_problem_file* file)
{
    return file->contact != NULL ? perp_contact_file_problem(file->contact) : NULL;
}

const perp_lcp* perp_problem_file_lcp(const perp_problem_file* file)
{
    return file->has_lcp ? &file->lcp : NULL;
}

const perp_mlcp* perp_problem_file_mlcp(const perp_problem_file* file)
{
    return file->has_mlcp ? &file->mlcp : NULL;
}

const perp_friction_problem* perp_problem_file_friction(const perp_problem_file* file)
{
    return file->has_friction ? &file->friction : NULL;
}

int32_t perp_problem_file_velocity_count(const perp_problem_file* file)
{
    return file->kind >= PERP_PROBLEM_GFC2D ? file->ccp.n : 0;
}

perp_status perp_problem_file_reconstruct(perp_problem_file* file, const double* r, double* v)
{
    if (file->kind < PERP_PROBLEM_GFC2D) {
        return perpi_fail(file->context, PERP_ERROR_INPUT, "a %s problem has no velocities",
                          perp_problem_kind_name(file->kind));
    }
    const perp_sparse H = perpi_ccp_sparse(&file->ccp.matrix[PERPI_CCP_H]);
    for (int32_t i = 0; i < file->ccp.n; ++i) {
        v[i] = file->ccp.vector[PERPI_CCP_q].at[i];
    }
    perpi_sparse_add_product(&H, 1.0, r, v);
    perpi_problem_file_solve(file, v);
    return PERP_OK;
}
