/* src/solve/interior/interior_bodies_direction.c - the blocks of the matrix, the directions and how
 * far one may go along them; see interior_bodies.c. */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/threads.h"
#include "linalg/dense.h"
#include "solve/interior/interior_bodies.h"

enum { ROWS_MAX = PERPI_BODY_ROWS_MAX, GRAIN = 600 }; /* GRAIN: constraints for a thread to gain */

/* ---- blocks of the matrix ----------------------------------------------------------------------------*/

/* k and S of a cone: dp_t = k dp_n - S dz_t + ... */
PERPI_INLINE void cone_schur(int32_t m, perpi_interior_bodies* s, int32_t i)
{
    const perp_constraint* c = &s->P->constraint[i];
    const int32_t n = m - 1;
    double *k = s->k + 3 * (size_t)i, *S = s->S + 9 * (size_t)i;
    if (perpi_interior_polar(s, i, m)) {
        const double* e = s->e + 2 * (size_t)i;
        const double h1 = s->p[c->row] + s->rp[i], h2 = s->z[c->row] + s->ru[i];
        const double cross = s->g1[i] * s->g2[i] / h1, den = h2 + cross;
        const double along = 2.0 * s->g2[i] / den, across = s->rp[i] / s->ru[i];
        k[0] = (h2 - cross) / den * e[0];
        k[1] = (h2 - cross) / den * e[1];
        S[0] = along * e[0] * e[0] + across * e[1] * e[1];
        S[1] = S[2] = (along - across) * e[0] * e[1];
        S[3] = along * e[1] * e[1] + across * e[0] * e[0];
        return;
    }
    const double *w = s->cone[i].w, den = 2.0 * w[0] * w[0] - 1.0;
    const double inverse = 1.0 / (s->cone[i].eta * s->cone[i].eta);
    for (int32_t a = 0; a < n; ++a) {
        k[a] = -2.0 * w[0] * w[1 + a] / den;
        for (int32_t b = 0; b < n; ++b) {
            S[a * n + b] = inverse * ((a == b ? 1.0 : 0.0) - 2.0 * w[1 + a] * w[1 + b] / den);
        }
    }
}

/* R = (I + L D)^-1 for the block triangular D of a contact, then D <- R D. */
PERPI_INLINE bool regularise(int32_t m, double L, double* D, double* R)
{
    double A[ROWS_MAX * ROWS_MAX], B[ROWS_MAX * ROWS_MAX];
    for (int32_t a = 0; a < m; ++a) {
        for (int32_t b = 0; b < m; ++b) {
            A[a * m + b] = L * D[a * m + b] + (a == b ? 1.0 : 0.0);
            B[a * m + b] = a == b ? 1.0 : 0.0;
        }
    }
    /* D's first row has one entry and the rest is nearly symmetric and positive: no pivoting */
    for (int32_t k = 0; k < m; ++k) {
        if (!(A[k * m + k] > 0.0)) {
            return false;
        }
        for (int32_t r = 0; r < m; ++r) {
            if (r == k || A[r * m + k] == 0.0) {
                continue;
            }
            const double f = A[r * m + k] / A[k * m + k];
            for (int32_t b = 0; f != 0.0 && b < m; ++b) {
                A[r * m + b] -= f * A[k * m + b];
                B[r * m + b] -= f * B[k * m + b];
            }
        }
    }
    for (int32_t a = 0; a < m; ++a) {
        for (int32_t b = 0; b < m; ++b) {
            R[a * m + b] = B[a * m + b] / A[a * m + a];
        }
    }
    double out[ROWS_MAX * ROWS_MAX];
    for (int32_t a = 0; a < m; ++a) {
        for (int32_t b = 0; b < m; ++b) {
            double t = 0.0;
            for (int32_t k = 0; k < m; ++k) {
                t += R[a * m + k] * D[k * m + b];
            }
            out[a * m + b] = t;
        }
    }
    for (int32_t k = 0; k < m * m; ++k) {
        D[k] = out[k];
    }
    return true;
}

/* 1 / D of an equality or bounded row. */
static double row_stiffness(const perpi_interior_bodies* s, int32_t i, int32_t row)
{
    const perp_constraint* c = &s->P->constraint[i];
    double t = perpi_interior_compliance(s, c, row) + s->regularisation;
    if (s->low[row] > 0.0) {
        t += s->low[row] / (s->p[row] - perpi_interior_lower(s, row));
    }
    if (s->up[row] > 0.0) {
        t += s->up[row] / (perpi_interior_upper(s, row) - s->p[row]);
    }
    return t;
}

/* D and R of a cone of m rows. */
PERPI_INLINE bool fill_cone(int32_t m, perpi_interior_bodies* s, int32_t i, double* D, double* R)
{
    const int32_t row = s->P->constraint[i].row, n = m - 1;
    if (!perpi_interior_polar(s, i, m) &&
        !perpi_soc_scale_n(m, s->p + row, s->z + row, &s->cone[i])) {
        return false;
    }
    cone_schur(m, s, i);
    for (int32_t k = 0; k < m * m; ++k) {
        D[k] = 0.0;
    }
    D[0] = s->p[row] / s->w[i];
    for (int32_t a = 0; a < n; ++a) {
        D[(1 + a) * m] = s->coupling * s->k[3 * i + a] * D[0];
        for (int32_t b = 0; b < n; ++b) {
            D[(1 + a) * m + 1 + b] = s->S[9 * i + a * n + b];
        }
    }
    return regularise(m, s->regularisation, D, R);
}

static bool fill_block(perpi_interior_bodies* s, int32_t i)
{
    const perp_constraint* c = &s->P->constraint[i];
    const int32_t m = c->rows;
    double* D = s->D + ROWS_MAX * (size_t)c->row;
    double* R = s->R + ROWS_MAX * (size_t)c->row;
    if (s->law_of[i] == LAW_CONE) {
        return PERPI_BY_ROWS(fill_cone, m, s, i, D, R);
    }
    memset(D, 0, (size_t)(m * m) * sizeof *D);
    memset(R, 0, (size_t)(m * m) * sizeof *R);
    if (s->law_of[i] == LAW_NORMAL) {
        D[0] = s->p[c->row] / s->w[i];
        R[0] = 1.0 / (1.0 + s->regularisation * D[0]);
        D[0] *= R[0];
        return D[0] > 0.0;
    }
    for (int32_t r = 0; r < m; ++r) {
        const bool fixed = s->law_of[i] == LAW_BOUNDED && perpi_interior_fixed(s, c->row + r);
        D[r * m + r] = fixed ? 0.0 : 1.0 / row_stiffness(s, i, c->row + r);
    }
    return true;
}

typedef struct block_job {
    perpi_interior_bodies* s;
    atomic_bool bad;
} block_job;

/* Whether contact i can be taken with others of as many rows. */
static bool is_plain_cone(const perpi_interior_bodies* s, int32_t i)
{
    const int32_t m = s->P->constraint[i].rows;
    return s->law_of[i] == LAW_CONE && (m == 2 || m == 3) && !perpi_interior_polar(s, i, m);
}

/* Cones of two rows and of three wait until there are as many as are taken at once. */
static bool fill_blocks(perpi_interior_bodies* s, int32_t begin, int32_t end)
{
    int32_t waiting[2][PERPI_INTERIOR_LANES], count[2] = {0, 0};
    for (int32_t i = begin; i < end; ++i) {
        if (!is_plain_cone(s, i)) {
            if (!fill_block(s, i)) {
                return false;
            }
            continue;
        }
        const int32_t m = s->P->constraint[i].rows, kind = m - 2;
        waiting[kind][count[kind]++] = i;
        if (count[kind] < PERPI_INTERIOR_LANES) {
            continue;
        }
        count[kind] = 0;
        if (!perpi_interior_cone_blocks(s, m, waiting[kind])) {
            return false;
        }
    }
    bool good = true;
    for (int kind = 0; kind < 2; ++kind) {
        for (int32_t k = 0; good && k < count[kind]; ++k) {
            good = fill_block(s, waiting[kind][k]);
        }
    }
    return good;
}

static void blocks_part(int32_t begin, int32_t end, void* data)
{
    block_job* job = data;
    if (!fill_blocks(job->s, begin, end)) {
        atomic_store(&job->bad, true);
    }
}

bool perpi_interior_blocks(perpi_interior_bodies* s)
{
    block_job job = {.s = s};
    atomic_init(&job.bad, false);
    perpi_for_parts(s->context, s->P->constraint_count, GRAIN, blocks_part, &job);
    return !atomic_load(&job.bad);
}

/* ---- directions -------------------------------------------------------------------------------------------*/

/* What a direction is asked for: all products `target`, second-order terms of `of` (NULL: none). */
typedef struct aim {
    double target;
    const perpi_interior_direction* of;
} aim;

/* Second-order terms of the polar map that the linear equations of contact i lack. */
PERPI_INLINE void turn_terms(const perpi_interior_bodies* s, int32_t i,
                             const perpi_interior_direction* of, double* zt, double* pt)
{
    const double* e = s->e + 2 * (size_t)i;
    const double phi = of->phi[i];
    const double za = -of->ru[i] * phi, zb = 0.5 * s->ru[i] * phi * phi;
    const double pa = of->rp[i] * phi, pb = -0.5 * s->rp[i] * phi * phi;
    zt[0] = -za * e[1] + zb * e[0];
    zt[1] = za * e[0] + zb * e[1];
    pt[0] = -pa * e[1] + pb * e[0];
    pt[1] = pa * e[0] + pb * e[1];
}

/* The residual of a cone's pair in the scaled algebra divided by lambda. */
PERPI_INLINE void cone_target(int32_t m, const perpi_interior_bodies* s, int32_t i, const aim* a,
                              double* q)
{
    const perp_constraint* c = &s->P->constraint[i];
    const perpi_soc_scaling* cone = &s->cone[i];
    const double* l = cone->lambda;
    double rc[PERPI_SOC_MAX], second[PERPI_SOC_MAX];
    perpi_soc_product_n(m, l, l, rc);
    for (int32_t r = 0; r < m; ++r) {
        rc[r] = (r == 0 ? a->target : 0.0) - rc[r];
    }
    if (a->of != NULL) {
        perpi_soc_product_n(m, a->of->p_scaled + c->row, a->of->z_scaled + c->row, second);
        for (int32_t r = 0; r < m; ++r) {
            rc[r] -= second[r];
        }
    }
    perpi_soc_divide_by(m, l, cone->root, cone->unit[0], rc, q);
}

typedef struct polar_target {
    double r1, r2, h1, h2, den;
} polar_target;

PERPI_INLINE polar_target polar_residual(const perpi_interior_bodies* s, int32_t i, const aim* a)
{
    const perp_constraint* c = &s->P->constraint[i];
    polar_target t;
    t.h1 = s->p[c->row] + s->rp[i];
    t.h2 = s->z[c->row] + s->ru[i];
    t.den = t.h2 + s->g1[i] * s->g2[i] / t.h1;
    t.r1 = a->target - t.h1 * s->g1[i];
    t.r2 = a->target - t.h2 * s->g2[i];
    if (a->of != NULL) {
        t.r1 -= (a->of->p[c->row] + a->of->rp[i]) * a->of->g1[i];
        t.r2 -= (a->of->s[i] + a->of->ru[i]) * a->of->g2[i];
    }
    return t;
}

/* g of a contact: dp = R g - D H dx. d->p_scaled keeps W^-1-scaled targets until dp is known. */
PERPI_INLINE void contact_right(int32_t m, perpi_interior_bodies* s, int32_t i, const aim* a,
                                perpi_interior_direction* d)
{
    const perp_constraint* c = &s->P->constraint[i];
    const int32_t n = m - 1;
    const double* p = s->p + c->row;
    double g[PERPI_SOC_MAX] = {0.0}, rt[3];
    double r3 = a->target - p[0] * s->w[i];
    r3 -= a->of != NULL ? a->of->p[c->row] * a->of->w[i] : 0.0;
    g[0] = (r3 + p[0] * s->rn_aim[i]) / s->w[i];
    double* out = s->g + c->row;
    if (s->law_of[i] == LAW_NORMAL) {
        for (int32_t r = 1; r < m; ++r) {
            out[r] = 0.0;
        }
        out[0] = s->R[ROWS_MAX * (size_t)c->row] * g[0];
        return;
    }
    const double *k = s->k + 3 * (size_t)i, *S = s->S + 9 * (size_t)i;
    for (int32_t r = 0; r < n; ++r) {
        rt[r] = s->rt_aim[c->row + 1 + r];
    }
    if (perpi_interior_polar(s, i, m)) {
        const polar_target t = polar_residual(s, i, a);
        const double* e = s->e + 2 * (size_t)i;
        if (a->of != NULL) {
            double zt[2], pt[2];
            turn_terms(s, i, a->of, zt, pt);
            rt[0] += zt[0];
            rt[1] += zt[1];
        }
        const double rho = (s->g2[i] * t.r1 / t.h1 - t.r2) / t.den;
        for (int r = 0; r < 2; ++r) {
            g[1 + r] =
                s->coupling * k[r] * g[0] + S[2 * r] * rt[0] + S[2 * r + 1] * rt[1] + rho * e[r];
        }
    } else {
        double* q_scaled = d->p_scaled + c->row;
        double q[PERPI_SOC_MAX];
        cone_target(m, s, i, a, q_scaled);
        perpi_soc_apply_inverse_n(m, &s->cone[i], q_scaled, q);
        d->s[i] = q[0];
        for (int32_t r = 0; r < n; ++r) {
            g[1 + r] = q[1 + r] - k[r] * q[0] + s->coupling * k[r] * g[0];
            for (int32_t b = 0; b < n; ++b) {
                g[1 + r] += S[r * n + b] * rt[b];
            }
        }
    }
    const double* R = s->R + ROWS_MAX * (size_t)c->row;
    for (int32_t r = 0; r < m; ++r) {
        out[r] = perpi_interior_dot(m, R + r * m, g);
    }
}

/* g of an equality or bounded row: dp = g - D H dx. */
static void row_right(perpi_interior_bodies* s, int32_t i, int32_t r, const aim* a)
{
    const perp_constraint* c = &s->P->constraint[i];
    const int32_t row = c->row + r;
    const double D = s->D[ROWS_MAX * (size_t)c->row + (size_t)(r * c->rows + r)];
    double t = -s->rt_aim[row];
    if (s->low[row] > 0.0) {
        const double gap = s->p[row] - perpi_interior_lower(s, row);
        const double second = a->of != NULL ? a->of->low[row] * a->of->p[row] : 0.0;
        t += (a->target - second) / gap - s->low[row];
    }
    if (s->up[row] > 0.0) {
        const double gap = perpi_interior_upper(s, row) - s->p[row];
        const double second = a->of != NULL ? -a->of->up[row] * a->of->p[row] : 0.0;
        t -= (a->target - second) / gap - s->up[row];
    }
    s->g[row] = D * t;
}

/* The increments of a cone contact that follow from dp and H dx. */
PERPI_INLINE void cone_increments(int32_t m, perpi_interior_bodies* s, int32_t i, const aim* a,
                                  perpi_interior_direction* d)
{
    const perp_constraint* c = &s->P->constraint[i];
    const double* dp = d->p + c->row;
    double* dz = d->z + c->row;
    for (int32_t r = 1; r < m; ++r) {
        dz[r] = s->hd[c->row + r] + s->regularisation * dp[r] - s->rt_aim[c->row + r];
    }
    d->phi[i] = 0.0;
    if (perpi_interior_polar(s, i, m)) {
        const polar_target t = polar_residual(s, i, a);
        const double* e = s->e + 2 * (size_t)i;
        if (a->of != NULL) {
            double zt[2], pt[2];
            turn_terms(s, i, a->of, zt, pt);
            dz[1] -= zt[0];
            dz[2] -= zt[1];
        }
        d->ru[i] = -(dz[1] * e[0] + dz[2] * e[1]);
        d->phi[i] = -(dz[2] * e[0] - dz[1] * e[1]) / s->ru[i];
        d->rp[i] = dp[1] * e[0] + dp[2] * e[1];
        d->g1[i] = (t.r1 - s->g1[i] * (dp[0] + d->rp[i])) / t.h1;
        d->s[i] = d->ru[i] + d->g1[i];
        d->g2[i] = (t.r2 - s->g2[i] * (d->s[i] + d->ru[i])) / t.h2;
        dz[0] = d->s[i];
        return;
    }
    /* the first row of P^-2 dz = q - dp */
    const double *w = s->cone[i].w, eta2 = s->cone[i].eta * s->cone[i].eta;
    double A0t_dz = 0.0;
    for (int32_t r = 1; r < m; ++r) {
        A0t_dz -= 2.0 * w[0] * w[r] * dz[r];
    }
    dz[0] = (eta2 * (d->s[i] - dp[0]) - A0t_dz) / (2.0 * w[0] * w[0] - 1.0);
    double *p_scaled = d->p_scaled + c->row, *z_scaled = d->z_scaled + c->row;
    perpi_soc_apply_inverse_n(m, &s->cone[i], dz, z_scaled);
    if (s->coupling != 1.0) {
        perpi_soc_apply_n(m, &s->cone[i], dp, p_scaled);
        return;
    }
    for (int32_t r = 0; r < m; ++r) {
        p_scaled[r] -= z_scaled[r]; /* from the target */
    }
}

static void row_increments(const perpi_interior_bodies* s, int32_t row, const aim* a,
                           perpi_interior_direction* d)
{
    d->low[row] = d->up[row] = 0.0;
    if (s->low[row] > 0.0) {
        const double gap = s->p[row] - perpi_interior_lower(s, row);
        const double second = a->of != NULL ? a->of->low[row] * a->of->p[row] : 0.0;
        d->low[row] = (a->target - second) / gap - s->low[row] - s->low[row] / gap * d->p[row];
    }
    if (s->up[row] > 0.0) {
        const double gap = perpi_interior_upper(s, row) - s->p[row];
        const double second = a->of != NULL ? -a->of->up[row] * a->of->p[row] : 0.0;
        d->up[row] = (a->target - second) / gap - s->up[row] + s->up[row] / gap * d->p[row];
    }
}

/* ---- a direction ------------------------------------------------------------------------------------------*/

typedef struct direction_job {
    perpi_interior_bodies* s;
    const aim* a;
    perpi_interior_direction* d;
} direction_job;

/* g, and in hd g + second-order terms of p. */
PERPI_INLINE void right_of(int32_t m, perpi_interior_bodies* s, int32_t i, const aim* a,
                           perpi_interior_direction* d)
{
    const perp_constraint* c = &s->P->constraint[i];
    if (c->kind == PERP_CONSTRAINT_CONTACT) {
        contact_right(m, s, i, a, d);
    } else {
        for (int32_t r = 0; r < m; ++r) {
            row_right(s, i, r, a);
        }
    }
    for (int32_t r = 0; r < m; ++r) {
        s->hd[c->row + r] = s->g[c->row + r];
    }
    if (a->of != NULL && perpi_interior_polar(s, i, m)) {
        double zt[2], pt[2];
        turn_terms(s, i, a->of, zt, pt);
        s->hd[c->row + 1] += pt[0];
        s->hd[c->row + 2] += pt[1];
    }
}

static void right_part(int32_t begin, int32_t end, void* data)
{
    const direction_job* job = data;
    for (int32_t i = begin; i < end; ++i) {
        PERPI_BY_ROWS(right_of, job->s->P->constraint[i].rows, job->s, i, job->a, job->d);
    }
}

PERPI_INLINE void increments(int32_t m, perpi_interior_bodies* s, int32_t i, const aim* a,
                             perpi_interior_direction* d)
{
    const perp_constraint* c = &s->P->constraint[i];
    const double* D = s->D + ROWS_MAX * (size_t)c->row;
    for (int32_t r = 0; r < m; ++r) {
        d->p[c->row + r] = s->g[c->row + r] - perpi_interior_dot(m, D + r * m, s->hd + c->row);
    }
    if (c->kind == PERP_CONSTRAINT_CONTACT) {
        d->w[i] = s->hd[c->row] + s->regularisation * d->p[c->row] - s->rn_aim[i];
    }
    if (s->law_of[i] == LAW_CONE) {
        cone_increments(m, s, i, a, d);
    } else if (s->law_of[i] == LAW_BOUNDED) {
        for (int32_t r = 0; r < m; ++r) {
            row_increments(s, c->row + r, a, d);
        }
    }
}

static void increments_part(int32_t begin, int32_t end, void* data)
{
    const direction_job* job = data;
    for (int32_t i = begin; i < end; ++i) {
        PERPI_BY_ROWS(increments, job->s->P->constraint[i].rows, job->s, i, job->a, job->d);
    }
}

/* What a direction removes of the linear residuals: all, or what is above their share of the target (of a
 * curve, along which they fall with tau). */
static void set_aim(perpi_interior_bodies* s, double target)
{
    const perp_contact_problem* P = s->P;
    const double part = s->curve.on ? target / s->curve.first : 0.0;
    const struct {
        const double** aim;
        double *now, *first, *above;
        int32_t count;
    } each[] = {{&s->rd_aim, s->rd, s->rd_first, s->rd_above, P->dof_count},
                {&s->rt_aim, s->rt, s->rt_first, s->rt_above, P->row_count},
                {&s->rn_aim, s->rn, s->rn_first, s->rn_above, P->constraint_count}};
    for (size_t k = 0; k < sizeof each / sizeof each[0]; ++k) {
        *each[k].aim = part != 0.0 ? each[k].above : each[k].now;
        for (int32_t i = 0; part != 0.0 && i < each[k].count; ++i) {
            each[k].above[i] = each[k].now[i] - part * each[k].first[i];
        }
    }
}

/* Solves for one direction. The rows p that turn (second order) also enter the dynamics. */
void perpi_interior_find(perpi_interior_bodies* s, perpi_body_matrix* matrix, double target,
                         const perpi_interior_direction* of, perpi_interior_direction* d)
{
    const aim a = {target, of};
    const perp_contact_problem* P = s->P;
    set_aim(s, target);
    direction_job job = {s, &a, d};
    perpi_for_parts(s->context, P->constraint_count, GRAIN, right_part, &job);
    /* right = -rd + H (g + second-order terms of p) */
    for (int32_t i = 0; i < P->dof_count; ++i) {
        s->right[i] = -s->rd_aim[i];
    }
    perpi_body_add_impulses(s->matrix, P, s->H, s->right, 1.0, s->hd, d->x);
    perpi_body_matrix_solve(matrix, d->x);
    perpi_body_velocities(s->matrix, P, s->H, NULL, d->x, s->hd);
    perpi_for_parts(s->context, P->constraint_count, GRAIN, increments_part, &job);
}

/* ---- step length ------------------------------------------------------------------------------------------*/

static double lesser(double a, double b)
{
    return b < a ? b : a;
}

/* How far a positive number can go. */
static double until_zero(double value, double change)
{
    return change < 0.0 ? -value / change : INFINITY;
}

/* The lesser of t and how far a positive number can go. Where that is clearly farther, nothing is divided. */
PERPI_INLINE double lower_to_zero(double t, double value, double change)
{
    if (!(change < 0.0) || value > -1.000001 * t * change) {
        return t;
    }
    return lesser(t, -value / change);
}

static double bounded_reach(const perpi_interior_bodies* s, int32_t row,
                            const perpi_interior_direction* d)
{
    double t = INFINITY;
    if (s->low[row] > 0.0) {
        t = lesser(t, until_zero(s->low[row], d->low[row]));
        t = lesser(t, until_zero(s->p[row] - perpi_interior_lower(s, row), d->p[row]));
    }
    if (s->up[row] > 0.0) {
        t = lesser(t, until_zero(s->up[row], d->up[row]));
        t = lesser(t, until_zero(perpi_interior_upper(s, row) - s->p[row], -d->p[row]));
    }
    return t;
}

/* The lesser of t and how far the boundary of constraint i is, which has m rows. */
PERPI_INLINE double reach_of(int32_t m, const perpi_interior_bodies* s, int32_t i,
                             const perpi_interior_direction* d, double t)
{
    const perp_constraint* c = &s->P->constraint[i];
    if (c->kind == PERP_CONSTRAINT_CONTACT) {
        t = lower_to_zero(t, s->w[i], d->w[i]);
        t = lower_to_zero(t, s->p[c->row], d->p[c->row]);
    }
    if (s->law_of[i] == LAW_CONE && perpi_interior_polar(s, i, m)) {
        t = lower_to_zero(t, s->g1[i], d->g1[i]);
        t = lower_to_zero(t, s->g2[i], d->g2[i]);
        t = lower_to_zero(t, s->ru[i], d->ru[i]);
        t = lower_to_zero(t, s->rp[i], d->rp[i]);
        t = lesser(t, d->phi[i] != 0.0 ? PERPI_INTERIOR_TURN / fabs(d->phi[i]) : INFINITY);
    } else if (s->law_of[i] == LAW_CONE) {
        t = perpi_soc_step_within(m, &s->cone[i], d->p_scaled + c->row, t);
        t = perpi_soc_step_within(m, &s->cone[i], d->z_scaled + c->row, t);
    } else if (s->law_of[i] == LAW_BOUNDED) {
        for (int32_t r = 0; r < m; ++r) {
            t = lesser(t, bounded_reach(s, c->row + r, d));
        }
    }
    return t;
}

static double constraint_reach(const perpi_interior_bodies* s, int32_t i,
                               const perpi_interior_direction* d, double t)
{
    return PERPI_BY_ROWS(reach_of, s->P->constraint[i].rows, s, i, d, t);
}

typedef struct reach_job {
    const perpi_interior_bodies* s;
    const perpi_interior_direction* d;
    perpi_interior_bound bound;
} reach_job;

/* hd is free once a direction is found. */
static void reach_part(int32_t begin, int32_t end, void* data)
{
    const reach_job* job = data;
    double t = INFINITY; /* over the constraints of the part so far: the least of all is the same */
    for (int32_t i = begin; i < end; ++i) {
        t = job->bound(job->s, i, job->d, t);
        job->s->hd[job->s->P->constraint[i].row] = t;
    }
}

double perpi_interior_least(const perpi_interior_bodies* s, const perpi_interior_direction* d,
                            perpi_interior_bound bound)
{
    reach_job job = {s, d, bound};
    perpi_for_parts(s->context, s->P->constraint_count, GRAIN, reach_part, &job);
    double t = INFINITY;
    for (int32_t i = 0; i < s->P->constraint_count; ++i) {
        t = lesser(t, s->hd[s->P->constraint[i].row]);
    }
    return t;
}

double perpi_interior_reach(const perpi_interior_bodies* s, const perpi_interior_direction* d)
{
    return perpi_interior_least(s, d, constraint_reach);
}

static double bounded_pairs_after(const perpi_interior_bodies* s, int32_t row,
                                  const perpi_interior_direction* d, double t)
{
    double sum = 0.0;
    const double p = s->p[row] + t * d->p[row];
    if (s->low[row] > 0.0) {
        sum += (s->low[row] + t * d->low[row]) * (p - perpi_interior_lower(s, row));
    }
    if (s->up[row] > 0.0) {
        sum += (s->up[row] + t * d->up[row]) * (perpi_interior_upper(s, row) - p);
    }
    return sum;
}

static double cone_pair_after(const perpi_interior_bodies* s, int32_t i,
                              const perpi_interior_direction* d, double t)
{
    const perp_constraint* c = &s->P->constraint[i];
    const int32_t row = c->row;
    if (s->polar[i]) {
        const double h1 = s->p[row] + s->rp[i] + t * (d->p[row] + d->rp[i]);
        const double h2 = s->z[row] + s->ru[i] + t * (d->s[i] + d->ru[i]);
        return 0.5 * (h1 * (s->g1[i] + t * d->g1[i]) + h2 * (s->g2[i] + t * d->g2[i]));
    }
    const double* lambda = s->cone[i].lambda;
    double sum = 0.0;
    for (int32_t r = 0; r < c->rows; ++r) {
        sum += (lambda[r] + t * d->p_scaled[row + r]) * (lambda[r] + t * d->z_scaled[row + r]);
    }
    return sum;
}

double perpi_interior_tau_after(const perpi_interior_bodies* s, const perpi_interior_direction* d,
                                double t)
{
    double sum = 0.0;
    for (int32_t i = 0; i < s->P->constraint_count; ++i) {
        const perp_constraint* c = &s->P->constraint[i];
        if (c->kind == PERP_CONSTRAINT_CONTACT) {
            sum += (s->p[c->row] + t * d->p[c->row]) * (s->w[i] + t * d->w[i]);
        }
        if (s->law_of[i] == LAW_CONE) {
            sum += cone_pair_after(s, i, d, t);
        } else if (s->law_of[i] == LAW_BOUNDED) {
            for (int32_t r = 0; r < c->rows; ++r) {
                sum += bounded_pairs_after(s, c->row + r, d, t);
            }
        }
    }
    return sum / (double)(s->products > 0 ? s->products : 1);
}
