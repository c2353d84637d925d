/* src/problem/io/corpus_residual.c - residuals of the published problem collections: the plain
 * residual e, and its unit-free variant. For comparison with published figures; not the residual
 * check.
 *
 * 2-norms throughout; P_K projects on K = { |r_T| <= mu r_N }, uhat = u + mu |u_T| e_N.
 *     lcp   |min(z, w)| / |q|
 *     mlcp  |(w_eq, min(z_c, w_c))| / |q|
 *     blcp  |z - clip(z - w, lb, ub)| / |q|
 *     fc    |r - P_K(r - uhat)| / max(|q|, |r|, |u|)
 *     gfc   max(|M v - H r - q| / max(|q|, |M v|, |H r|), |r - P_K(r - uhat)| / max(|r|, |u|))
 *     scaled, friction kinds: |r - P_K(r - rho uhat)| / max(|r|, |rho q|), rho_c = 1 / |W_cc|_2, with
 *           W and q of the reduced problem
 * A divisor that is (nearly) 0 counts as 1: at most eps for lcp, mlcp, blcp and fc, sqrt(eps) for gfc,
 * exactly 0 for scaled.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/context.h"
#include "problem/io/problem_file.h"
#include "problem/operators.h"

/* Scaled, so that neither 1e-200 nor 1e200 is lost. */
static double norm(int32_t n, const double* x)
{
    double largest = 0.0, sum = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        largest = fabs(x[i]) > largest ? fabs(x[i]) : largest;
    }
    if (largest == 0.0) {
        return 0.0;
    }
    for (int32_t i = 0; i < n; ++i) {
        sum += (x[i] / largest) * (x[i] / largest);
    }
    return largest * sqrt(sum);
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double divide_by_scale(double value, double size, double least)
{
    return size > least ? value / size : value;
}

/* The largest singular value of a dim x dim block: Jacobi rotations on A' A, dim <= 3. */
static double spectral_norm(int32_t dim, const double* A)
{
    double scale = 0.0, B[9];
    for (int32_t i = 0; i < dim * dim; ++i) {
        scale = larger(scale, fabs(A[i]));
    }
    if (scale == 0.0) {
        return 0.0;
    }
    for (int32_t i = 0; i < dim; ++i) {
        for (int32_t j = 0; j < dim; ++j) {
            double sum = 0.0;
            for (int32_t k = 0; k < dim; ++k) {
                sum += (A[k * dim + i] / scale) * (A[k * dim + j] / scale);
            }
            B[i * dim + j] = sum;
        }
    }
    for (int sweep = 0; sweep < 30; ++sweep) {
        double off = 0.0;
        for (int32_t p = 0; p < dim; ++p) {
            for (int32_t q = p + 1; q < dim; ++q) {
                const double b = B[p * dim + q];
                off = larger(off, fabs(b));
                if (b == 0.0) {
                    continue;
                }
                const double theta = (B[q * dim + q] - B[p * dim + p]) / (2.0 * b);
                const double t = (theta >= 0.0 ? 1.0 : -1.0) / (fabs(theta) + hypot(theta, 1.0));
                const double c = 1.0 / hypot(t, 1.0), s = t * c;
                for (int32_t k = 0; k < dim; ++k) {
                    const double x = B[k * dim + p], y = B[k * dim + q];
                    B[k * dim + p] = c * x - s * y;
                    B[k * dim + q] = s * x + c * y;
                }
                for (int32_t k = 0; k < dim; ++k) {
                    const double x = B[p * dim + k], y = B[q * dim + k];
                    B[p * dim + k] = c * x - s * y;
                    B[q * dim + k] = s * x + c * y;
                }
            }
        }
        if (off <= 1e-15) {
            break;
        }
    }
    double most = 0.0;
    for (int32_t i = 0; i < dim; ++i) {
        most = larger(most, B[i * dim + i]);
    }
    return scale * sqrt(most);
}

/* out = r - P_K(r - rho uhat) of one contact. */
static void natural_map(int32_t dim, double mu, double rho, const double* r, const double* u,
                        double* out)
{
    double x[3], t_u = 0.0, t = 0.0;
    for (int32_t i = 1; i < dim; ++i) {
        t_u = hypot(t_u, u[i]);
        x[i] = r[i] - rho * u[i];
        t = hypot(t, x[i]);
    }
    x[0] = r[0] - rho * u[0] - rho * mu * t_u;
    if (mu * t <= -x[0]) {
        memcpy(out, r, (size_t)dim * sizeof *out);
        return;
    }
    const double normal = t > mu * x[0] ? (mu * t + x[0]) / (1.0 + mu * mu) : x[0];
    const double shrink = t > mu * x[0] ? mu * normal / t : 1.0;
    out[0] = r[0] - normal;
    for (int32_t i = 1; i < dim; ++i) {
        out[i] = r[i] - shrink * x[i];
    }
}

/* u = W r + q of the friction form. */
static void friction_velocity(const perp_friction_problem* P, const double* r, double* u)
{
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* a = &P->constraint[i];
        memcpy(u + a->row, P->q + a->row, (size_t)a->rows * sizeof *u);
        for (int32_t e = P->W.start[i]; e < P->W.start[i + 1]; ++e) {
            const perp_constraint* b = &P->constraint[P->W.column[e]];
            const double* W = P->W.value + P->W.at[e];
            for (int32_t k = 0; k < a->rows; ++k) {
                for (int32_t l = 0; l < b->rows; ++l) {
                    u[a->row + k] += *W++ * r[b->row + l];
                }
            }
        }
    }
}

static double complementarity_e(const perp_problem_file* f, const double* z, double* w)
{
    const perp_mlcp* P = &f->mlcp;
    const int32_t n = P->M.cols;
    for (int32_t i = 0; i < n; ++i) {
        w[i] = P->q[i];
    }
    perpi_sparse_add_product(&P->M, 1.0, z, w);
    for (int32_t i = 0; i < n; ++i) {
        const double t = z[i] - w[i];
        if (f->kind == PERP_PROBLEM_BLCP) {
            w[i] = z[i] - (t < P->lower[i] ? P->lower[i] : (t > P->upper[i] ? P->upper[i] : t));
        } else if (!isinf(P->lower[i])) {
            w[i] = w[i] < z[i] ? w[i] : z[i];
        }
    }
    return divide_by_scale(norm(n, w), norm(n, P->q), DBL_EPSILON);
}

/* |r - P_K(r - uhat)| of all contacts; work: row_count. */
static double natural_norm(const perp_friction_problem* P, const double* r, const double* u,
                           double* work)
{
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        natural_map(c->rows, c->mu, 1.0, r + c->row, u + c->row, work + c->row);
    }
    return norm(P->row_count, work);
}

static double local_e(const perp_friction_problem* P, const double* r, double* work)
{
    const int32_t n = P->row_count;
    double* u = work + n;
    friction_velocity(P, r, u);
    const double size = larger(norm(n, P->q), larger(norm(n, r), norm(n, u)));
    return divide_by_scale(natural_norm(P, r, u, work), size, DBL_EPSILON);
}

/* work: max(3 n, 2 row_count). */
static double global_e(const perp_problem_file* f, const double* r, const double* v, double* work)
{
    const double least = sqrt(DBL_EPSILON);
    const perp_sparse M = perpi_ccp_sparse(&f->ccp.matrix[PERPI_CCP_M]);
    const perp_sparse H = perpi_ccp_sparse(&f->ccp.matrix[PERPI_CCP_H]);
    const double* q = f->ccp.vector[PERPI_CCP_q].at;
    const int32_t n = f->ccp.n, m = H.cols;
    double *Mv = work, *Hr = work + n, *off = work + 2 * (size_t)n;
    memset(work, 0, 2 * (size_t)n * sizeof *work);
    perpi_sparse_add_product(&M, 1.0, v, Mv);
    perpi_sparse_add_product(&H, 1.0, r, Hr);
    for (int32_t i = 0; i < n; ++i) {
        off[i] = Mv[i] - Hr[i] - q[i];
    }
    const double dynamics =
        divide_by_scale(norm(n, off), larger(norm(n, q), larger(norm(n, Mv), norm(n, Hr))), least);
    double* u = work + m;
    if (m > 0) {
        memcpy(u, f->ccp.vector[PERPI_CCP_b].at, (size_t)m * sizeof *u);
    }
    perpi_sparse_add_transposed_product(&H, 1.0, v, u);
    const double size = larger(norm(m, r), norm(m, u));
    return larger(dynamics, divide_by_scale(natural_norm(&f->friction, r, u, work), size, least));
}

static double scaled_e(const perp_friction_problem* P, const double* r, double* work)
{
    const int32_t n = P->row_count;
    double *u = work + n, *q = work + 2 * (size_t)n;
    friction_velocity(P, r, u);
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        double rho = 1.0;
        for (int32_t e = P->W.start[i]; e < P->W.start[i + 1]; ++e) {
            if (P->W.column[e] == i) {
                rho = 1.0 / larger(spectral_norm(c->rows, P->W.value + P->W.at[e]), 1e-300);
            }
        }
        natural_map(c->rows, c->mu, rho, r + c->row, u + c->row, work + c->row);
        for (int32_t k = c->row; k < c->row + c->rows; ++k) {
            q[k] = rho * P->q[k];
        }
    }
    return divide_by_scale(norm(n, work), larger(norm(n, r), norm(n, q)), 0.0);
}

perp_status perp_problem_file_residual(perp_problem_file* file, const double* z, const double* v,
                                       perp_plain_residual* residual)
{
    if (file->contact != NULL) {
        *residual = (perp_plain_residual){NAN, NAN};
        return PERP_OK;
    }
    const bool global = file->kind >= PERP_PROBLEM_GFC2D;
    const int32_t rows = file->has_friction ? file->friction.row_count : file->ccp.n;
    double* work = NULL;
    const perp_status status = perpi_alloc(
        file->context, 3 * ((size_t)rows + (size_t)file->ccp.n) + 1, sizeof *work, &work);
    if (status != PERP_OK) {
        return status;
    }
    perp_plain_residual made = {INFINITY, INFINITY};
    if (perpi_all_finite((size_t)rows, z) &&
        (!global || perpi_all_finite((size_t)file->ccp.n, v))) {
        if (!file->has_friction) {
            made = (perp_plain_residual){complementarity_e(file, z, work), NAN};
        } else {
            made.e = global ? global_e(file, z, v, work) : local_e(&file->friction, z, work);
            made.scaled = scaled_e(&file->friction, z, work);
        }
    }
    made.e = isnan(made.e) ? INFINITY : made.e;
    perpi_free(file->context, work);
    *residual = made;
    return PERP_OK;
}
