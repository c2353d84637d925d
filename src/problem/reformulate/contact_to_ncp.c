/* src/problem/reformulate/contact_to_ncp.c - contact problem -> NCP with round friction cones.
 *
 * Source     [B09 (2.77)]; friction in Fritz-John form (2.59)-(2.64), with torsion (3.82), (3.83);
 *            groups [W14 (4.30)-(4.40)]
 * Notation   paper nu, p_n, p_t, p_o, p_r, sigma, U -> here v, p_n, p_i, sigma, mu
 *            z = (v; per constraint: rows of p, then, of a contact with friction, sigma; per group
 *            c, d, y), w = F(z):
 *     v rows       M v - J' p - k = 0
 *     equality     u = J v + b + c p = 0                        p free
 *     bounded      u                                            perp  lower <= p <= upper
 *     p_n          u_n                                          perp  p_n >= 0
 *     p_i          e_i^2 mu p_n u_i + sigma p_i = 0             p_i free
 *     sigma        (mu p_n)^2 - sum (p_i / e_i)^2               perp  sigma >= 0
 *     mu = 0       p_i = 0, and no sigma
 *     c, d, y and a grouped p_n: the linear rows of contact_to_mlcp.c, from perpi_layout_group_rows
 * Departure  the sign of the v rows is turned, as in contact_to_mlcp.c. At a contact without a
 *            normal impulse, the last two rows and the columns of p_i and sigma vanish together:
 *            the multipliers of the Fritz-John conditions are not unique there. The guess takes
 *            sigma > 0, so that p_i = 0 is held by sigma p_i = 0, and only sigma itself is left
 *            undetermined.
 */
#include <math.h>
#include <string.h>

#include "base/context.h"
#include "problem/reformulate/reformulate.h"

void perpi_to_ncp_free(perp_context* context, perpi_to_ncp* t)
{
    perpi_doubles* doubles[] = {&t->lower, &t->upper};
    perpi_layout_free(context, &t->layout);
    perpi_triplets_free(context, &t->triplets);
    for (size_t i = 0; i < sizeof doubles / sizeof doubles[0]; ++i) {
        perpi_free(context, doubles[i]->at);
    }
}

/* Without friction, mu = 0, the tangential impulses are 0: a linear row each, and no sigma. */
static bool has_sigma(const perp_constraint* c)
{
    return c->kind == PERP_CONSTRAINT_CONTACT && c->rows > 1 && c->mu > 0.0;
}

/* The unknowns of the groups are the last ones. */
static int32_t groups_begin(const perpi_to_ncp* t)
{
    return t->problem.group_count > 0 ? t->layout.group_first.at[0] : t->layout.n;
}

/* e_i of tangential row i = 1.. */
static double scale_of_row(const perp_constraint* c, int32_t i)
{
    return c->cone == PERP_CONE_ELLIPSOID ? c->e[i - 1] : 1.0;
}

static perp_status number_unknowns(perp_context* context, const perp_contact_problem* P,
                                   perpi_to_ncp* t)
{
    perpi_layout* layout = &t->layout;
    perp_status status = perpi_need_ints(context, &layout->first, (size_t)P->constraint_count);
    if (status == PERP_OK) {
        status = perpi_layout_roles(context, P, layout);
    }
    if (status != PERP_OK) {
        return status;
    }
    layout->n = P->dof_count;
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        if (c->kind == PERP_CONSTRAINT_CONTACT && c->cone == PERP_CONE_POLYGON && c->rows > 2) {
            return perpi_fail(context, PERP_ERROR_UNSUPPORTED,
                              "constraint %d: a polygon cone has no NCP form; reformulate as the "
                              "MLCP, or use the cones quadratic and ellipsoid",
                              (int)i);
        }
        const bool silent = layout->owned.at[i] == PERPI_SILENT;
        layout->first.at[i] = silent ? -1 : layout->n;
        layout->n += silent ? 0 : c->rows + (has_sigma(c) ? 1 : 0);
    }
    return perpi_layout_groups(context, P, layout);
}

/* ---- the Jacobian, entry by entry --------------------------------------------------------------------
 * One traversal for pattern and values: the same entries in the same order for all values. */

typedef struct walk {
    perp_context* context;
    perpi_to_ncp* t;
    const double* z; /* NULL: the pattern is being made */
    double* value;
    int32_t entries;
    perp_status status;
} walk;

static void put_entry(walk* w, int32_t row, int32_t col, double value)
{
    perpi_to_ncp* t = w->t;
    if (w->z != NULL) {
        w->value[t->triplets.slot.at[w->entries++]] += value;
        return;
    }
    if (w->status == PERP_OK) {
        w->status = perpi_triplets_put(w->context, &t->triplets, "NCP", row, col);
    }
}

/* factor times the gradient of J v along row r of c. */
static void put_velocity(walk* w, int32_t row, const perp_constraint* c, int32_t r, double factor)
{
    const perp_contact_problem* P = &w->t->problem;
    for (int side = 0; side < 2; ++side) {
        const perpi_side s = perpi_side_of(P, c, side);
        for (int32_t i = 0; i < s.nv; ++i) {
            put_entry(w, row, s.d + i, factor * s.J[(size_t)r * (size_t)s.nv + (size_t)i]);
        }
    }
}

static void put_impulse(walk* w, int32_t col, const perp_constraint* c, int32_t r)
{
    const perp_contact_problem* P = &w->t->problem;
    for (int side = 0; side < 2; ++side) {
        const perpi_side s = perpi_side_of(P, c, side);
        for (int32_t i = 0; i < s.nv; ++i) {
            put_entry(w, s.d + i, col, -s.J[(size_t)r * (size_t)s.nv + (size_t)i]);
        }
    }
}

static void put_friction(walk* w, const perp_constraint* c, int32_t at)
{
    const perp_contact_problem* P = &w->t->problem;
    const double* z = w->z;
    const int32_t sigma = at + c->rows;
    const double p_n = z != NULL ? z[at] : 0.0, s = z != NULL ? z[sigma] : 0.0;
    put_entry(w, sigma, at, 2.0 * c->mu * c->mu * p_n);
    for (int32_t i = 1; i < c->rows; ++i) {
        const double e = scale_of_row(c, i), weight = e * e * c->mu;
        const double p_i = z != NULL ? z[at + i] : 0.0;
        const double u = z != NULL ? perpi_row_velocity(P, c, i, z) : 0.0;
        put_entry(w, at + i, at, weight * u);
        put_velocity(w, at + i, c, i, weight * p_n);
        put_entry(w, at + i, at + i, s);
        put_entry(w, at + i, sigma, p_i);
        put_entry(w, sigma, at + i, -2.0 * p_i / (e * e));
    }
}

static void put_normal(void* user, int32_t row, int32_t ci, double factor)
{
    walk* w = user;
    put_velocity(w, row, &w->t->problem.constraint[ci], 0, factor);
}

static void put_one(void* user, int32_t row, int32_t col)
{
    put_entry(user, row, col, 1.0);
}

static void walk_all(walk* w)
{
    const perp_contact_problem* P = &w->t->problem;
    const double* M = P->M;
    w->entries = 0;
    for (int32_t i = 0; i < P->block_count; ++i) {
        const int32_t d = P->dof[i], nv = P->dof[i + 1] - d;
        for (int32_t r = 0; r < nv; ++r) {
            for (int32_t c = 0; c < nv; ++c) {
                put_entry(w, d + r, d + c, M[r * nv + c]);
            }
        }
        M += (size_t)nv * (size_t)nv;
    }
    for (int32_t k = 0; k < P->constraint_count; ++k) {
        const perp_constraint* c = &P->constraint[k];
        const int32_t at = w->t->layout.first.at[k];
        if (at < 0) {
            continue;
        }
        for (int32_t r = 0; r < c->rows; ++r) {
            put_impulse(w, at + r, c, r);
            if (c->kind != PERP_CONSTRAINT_CONTACT || (r == 0 && w->t->layout.owned.at[k] == 0)) {
                put_velocity(w, at + r, c, r, 1.0);
            }
            if (c->kind != PERP_CONSTRAINT_CONTACT) {
                put_entry(w, at + r, at + r, perpi_row_compliance(P, c, r));
            } else if (r > 0 && !has_sigma(c)) {
                put_entry(w, at + r, at + r, 1.0);
            }
        }
        if (has_sigma(c)) {
            put_friction(w, c, at);
        }
    }
    const perpi_group_rows rows = {w, put_normal, put_one};
    for (int32_t g = 0; g < P->group_count; ++g) {
        perpi_layout_group_rows(&w->t->layout, P, g, &rows);
    }
}

/* ---- the callbacks -------------------------------------------------------------------------------------*/

typedef struct product {
    const perp_contact_problem* P;
    const double* z;
    double* F;
} product;

static void add_normal(void* user, int32_t row, int32_t ci, double factor)
{
    const product* to = user;
    to->F[row] += factor * perpi_row_velocity(to->P, &to->P->constraint[ci], 0, to->z);
}

static void add_one(void* user, int32_t row, int32_t col)
{
    const product* to = user;
    to->F[row] += to->z[col];
}

static perp_status ncp_function(void* user, const double* z, double* F)
{
    const perpi_to_ncp* t = user;
    const perp_contact_problem* P = &t->problem;
    const double* M = P->M;
    for (int32_t i = 0; i < P->block_count; ++i) {
        const int32_t d = P->dof[i], nv = P->dof[i + 1] - d;
        for (int32_t r = 0; r < nv; ++r) {
            F[d + r] = -P->k[d + r];
            for (int32_t c = 0; c < nv; ++c) {
                F[d + r] += M[r * nv + c] * z[d + c];
            }
        }
        M += (size_t)nv * (size_t)nv;
    }
    for (int32_t k = 0; k < P->constraint_count; ++k) {
        const perp_constraint* c = &P->constraint[k];
        const int32_t at = t->layout.first.at[k];
        if (at < 0) {
            continue;
        }
        const double* p = z + at;
        double* w = F + at;
        const double* J = P->J + c->jac;
        for (int side = 0; side < 2; ++side) {
            if (c->block[side] < 0) {
                continue;
            }
            const int32_t d = P->dof[c->block[side]], nv = P->dof[c->block[side] + 1] - d;
            for (int32_t r = 0; r < c->rows; ++r) {
                for (int32_t i = 0; i < nv; ++i) {
                    F[d + i] -= J[(size_t)r * (size_t)nv + (size_t)i] * p[r];
                }
            }
            J += (size_t)c->rows * (size_t)nv;
        }
        for (int32_t r = 0; r < c->rows; ++r) {
            w[r] = perpi_row_velocity(P, c, r, z) + perpi_row_compliance(P, c, r) * p[r];
        }
        if (t->layout.owned.at[k] > 0) {
            w[0] = 0.0; /* perpi_layout_group_rows writes this row */
        }
        if (!has_sigma(c)) {
            for (int32_t r = 1; c->kind == PERP_CONSTRAINT_CONTACT && r < c->rows; ++r) {
                w[r] = p[r];
            }
            continue;
        }
        const double sigma = p[c->rows];
        double left = c->mu * p[0] * (c->mu * p[0]);
        for (int32_t i = 1; i < c->rows; ++i) {
            const double e = scale_of_row(c, i);
            w[i] = e * e * c->mu * p[0] * w[i] + sigma * p[i];
            left -= p[i] / e * (p[i] / e);
        }
        w[c->rows] = left;
    }
    for (int32_t i = groups_begin(t); i < t->layout.n; ++i) {
        F[i] = 0.0;
    }
    product to = {P, z, F};
    const perpi_group_rows rows = {&to, add_normal, add_one};
    for (int32_t g = 0; g < P->group_count; ++g) {
        perpi_layout_group_rows(&t->layout, P, g, &rows);
    }
    return PERP_OK;
}

static perp_status ncp_jacobian(void* user, const double* z, double* value)
{
    perpi_to_ncp* t = user;
    for (int32_t e = 0; e < t->triplets.start.at[t->layout.n]; ++e) {
        value[e] = 0.0;
    }
    walk w = {.t = t, .z = z, .value = value};
    walk_all(&w);
    return PERP_OK;
}

/* ---- reformulation, guess, reconstruction -------------------------------------------------------*/

perp_status perp_contact_to_ncp(perp_reformulation* reformulation,
                                const perp_contact_problem* problem, perp_ncp* ncp)
{
    perp_context* context = reformulation->context;
    perpi_to_ncp* t = &reformulation->ncp;
    perp_status status = number_unknowns(context, problem, t);
    if (status == PERP_OK) {
        status = perpi_need_doubles(context, &t->lower, (size_t)t->layout.n + 1);
    }
    if (status == PERP_OK) {
        status = perpi_need_doubles(context, &t->upper, (size_t)t->layout.n + 1);
    }
    if (status != PERP_OK) {
        return status;
    }
    t->problem = *problem;
    t->triplets.count = 0;
    walk w = {.context = context, .t = t};
    walk_all(&w);
    status = w.status == PERP_OK ? perpi_triplets_compress(context, &t->triplets, t->layout.n)
                                 : w.status;
    if (status != PERP_OK) {
        return status;
    }
    for (int32_t i = 0; i < t->layout.n; ++i) {
        t->lower.at[i] = -INFINITY;
        t->upper.at[i] = INFINITY;
    }
    for (int32_t k = 0; k < problem->constraint_count; ++k) {
        const perp_constraint* c = &problem->constraint[k];
        const int32_t at = t->layout.first.at[k];
        for (int32_t r = 0; c->kind == PERP_CONSTRAINT_BOUNDED && r < c->rows; ++r) {
            t->lower.at[at + r] = problem->lower[c->row + r];
            t->upper.at[at + r] = problem->upper[c->row + r];
        }
        if (c->kind == PERP_CONSTRAINT_CONTACT && at >= 0) {
            t->lower.at[at] = 0.0;
        }
        if (has_sigma(c) && at >= 0) {
            t->lower.at[at + c->rows] = 0.0;
        }
    }
    for (int32_t i = groups_begin(t); i < t->layout.n; ++i) {
        t->lower.at[i] = 0.0;
    }
    *ncp = (perp_ncp){
        .n = t->layout.n,
        .lower = t->lower.at,
        .upper = t->upper.at,
        .user = t,
        .function = ncp_function,
        .pattern = {t->layout.n, t->layout.n, t->triplets.start.at, t->triplets.csc_row.at, NULL},
        .jacobian = ncp_jacobian};
    return PERP_OK;
}

/* sigma from the guess: the slip speed that satisfies the friction rows. */
static double guess_sigma(const perp_contact_problem* P, const perp_constraint* c, const double* v,
                          const double* p)
{
    const double limit = c->mu * p[0];
    double used = 0.0, power = 0.0, slip = 0.0;
    for (int32_t i = 1; i < c->rows; ++i) {
        const double e = scale_of_row(c, i), u = perpi_row_velocity(P, c, i, v);
        used += p[i] / e * (p[i] / e);
        power -= u * p[i];
        slip += e * u * (e * u);
    }
    if (!(limit > 0.0)) {
        const double u_n = perpi_row_velocity(P, c, 0, v);
        return sqrt(slip) + fabs(u_n); /* any positive number */
    }
    return used >= limit * limit * (1.0 - 1e-6) && power > 0.0 ? power / limit : 0.0;
}

void perp_reformulation_ncp_guess(const perp_reformulation* reformulation,
                                  const perp_contact_problem* problem, const double* v,
                                  const double* p, double* z)
{
    const perpi_to_ncp* t = &reformulation->ncp;
    memcpy(z, v, (size_t)problem->dof_count * sizeof *z);
    for (int32_t k = 0; k < problem->constraint_count; ++k) {
        const perp_constraint* c = &problem->constraint[k];
        if (t->layout.first.at[k] < 0) {
            continue;
        }
        double* at = z + t->layout.first.at[k];
        memcpy(at, p + c->row, (size_t)c->rows * sizeof *at);
        if (has_sigma(c)) {
            at[c->rows] = guess_sigma(problem, c, v, p + c->row);
        }
    }
    perpi_layout_guess_groups(&t->layout, problem, v, z);
}

void perp_reformulation_ncp_reconstruct(const perp_reformulation* reformulation,
                                        const perp_contact_problem* problem, const double* z,
                                        double* v, double* p)
{
    const perpi_to_ncp* t = &reformulation->ncp;
    memcpy(v, z, (size_t)problem->dof_count * sizeof *v);
    for (int32_t k = 0; k < problem->constraint_count; ++k) {
        const perp_constraint* c = &problem->constraint[k];
        if (t->layout.first.at[k] < 0) {
            memset(p + c->row, 0, (size_t)c->rows * sizeof *p);
            continue;
        }
        memcpy(p + c->row, z + t->layout.first.at[k], (size_t)c->rows * sizeof *p);
    }
}
