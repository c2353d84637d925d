/* src/solve/interior/interior_bodies_point.c - the scaled problem, the start and the residuals of
 * an iterate; see interior_bodies.c. */
#include <math.h>
#include <string.h>

#include "linalg/dense.h"
#include "solve/interior/interior_bodies.h"

enum { ROWS_MAX = PERPI_BODY_ROWS_MAX };

#define POLAR                                                                                      \
    0.8 /* of the cone's radius: polar coordinates where |p_t| and |z_t| are both beyond it */

/* ---- memory ---------------------------------------------------------------------------------------------*/

size_t perpi_interior_unknowns(const perp_contact_problem* P)
{
    return (size_t)P->dof_count + 4 * (size_t)P->row_count + 3 * (size_t)P->constraint_count;
}

/* The views into s->memory; NULL only counts. */
static size_t cut_memory(perpi_interior_bodies* s, const perp_contact_problem* P, double* memory)
{
    const size_t nv = (size_t)P->dof_count, nr = (size_t)P->row_count;
    const size_t nc = (size_t)P->constraint_count;
    size_t used = 0;
    const struct {
        double** view;
        size_t count;
    } piece[] = {
        /* the unknowns one after another: good is a copy of them as one piece */
        {&s->x, nv},
        {&s->p, nr},
        {&s->z, nr},
        {&s->low, nr},
        {&s->up, nr},
        {&s->w, nc},
        {&s->g1, nc},
        {&s->g2, nc},
        {&s->good, perpi_interior_unknowns(P)},
        {&s->scale, nr},
        {&s->H, 12 * nr},
        {&s->b, nr},
        {&s->rd, nv},
        {&s->u, nr},
        {&s->rt, nr},
        {&s->rn, nc},
        {&s->rd_first, nv},
        {&s->rt_first, nr},
        {&s->rn_first, nc},
        {&s->rd_above, nv},
        {&s->rt_above, nr},
        {&s->rn_above, nc},
        {&s->e, 2 * nc},
        {&s->rp, nc},
        {&s->ru, nc},
        {&s->k, 3 * nc},
        {&s->S, 9 * nc},
        {&s->D, ROWS_MAX * nr},
        {&s->R, ROWS_MAX * nr},
        {&s->g, nr},
        {&s->hd, nr},
        {&s->right, nv},
    };
    for (size_t i = 0; i < sizeof piece / sizeof piece[0]; ++i) {
        *piece[i].view = memory != NULL ? memory + used : NULL;
        used += piece[i].count;
    }
    for (int i = 0; i < PERPI_INTERIOR_DIRECTIONS; ++i) {
        perpi_interior_direction* d = &s->dir[i];
        double** const rows[] = {&d->p, &d->z, &d->p_scaled, &d->z_scaled, &d->low, &d->up};
        double** const each[] = {&d->w, &d->g1, &d->g2, &d->rp, &d->ru, &d->s, &d->phi};
        d->x = memory != NULL ? memory + used : NULL;
        used += nv;
        for (size_t k = 0; k < sizeof rows / sizeof rows[0]; ++k, used += nr) {
            *rows[k] = memory != NULL ? memory + used : NULL;
        }
        for (size_t k = 0; k < sizeof each / sizeof each[0]; ++k, used += nc) {
            *each[k] = memory != NULL ? memory + used : NULL;
        }
    }
    return used;
}

perp_status perpi_interior_reserve(perpi_interior_bodies* s, const perp_contact_problem* P)
{
    const size_t nc = (size_t)P->constraint_count;
    perp_status status = perpi_grow(s->context, &s->memory, &s->memory_capacity,
                                    cut_memory(s, P, NULL), sizeof *s->memory);
    if (status == PERP_OK) {
        status = perpi_grow(s->context, &s->cone, &s->cone_capacity, nc, sizeof *s->cone);
    }
    if (status == PERP_OK) {
        status = perpi_grow(s->context, &s->law_of, &s->law_capacity, nc, sizeof *s->law_of);
    }
    if (status == PERP_OK) {
        status = perpi_grow(s->context, &s->polar, &s->polar_capacity, nc, sizeof *s->polar);
    }
    if (status == PERP_OK) {
        status = perpi_grow(s->context, &s->sticks, &s->sticks_capacity, nc, sizeof *s->sticks);
    }
    if (status == PERP_OK) {
        cut_memory(s, P, s->memory);
    }
    return status;
}

/* ---- the scaled problem ---------------------------------------------------------------------------------*/

static perpi_interior_law choose_law(const perp_constraint* c)
{
    if (c->kind == PERP_CONSTRAINT_EQUALITY) {
        return LAW_EQUALITY;
    }
    if (c->kind == PERP_CONSTRAINT_BOUNDED) {
        return LAW_BOUNDED;
    }
    const bool slides = c->rows == 1 || c->cone == PERP_CONE_NONE || !(c->mu > 0.0);
    return slides ? LAW_NORMAL : LAW_CONE;
}

/* Row scalings and H. */
static void scale_constraint(perpi_interior_bodies* s, const perp_constraint* c,
                             perpi_interior_law law, const double* Y)
{
    const perp_contact_problem* P = s->P;
    double W[ROWS_MAX], widest = 0.0;
    for (int32_t r = 0; r < c->rows; ++r) {
        const double* Y_a = Y + 12 * (size_t)c->row + 6 * (size_t)r;
        const double* Y_b = Y_a + 6 * (size_t)c->rows;
        W[r] = perpi_row_compliance(P, c, r);
        W[r] += c->block[0] >= 0 ? perpi_interior_dot(6, Y_a, Y_a) : 0.0;
        W[r] += c->block[1] >= 0 ? perpi_interior_dot(6, Y_b, Y_b) : 0.0;
        double factor = 1.0;
        if (law == LAW_CONE) {
            factor = r == 0 ? 1.0 / c->mu : c->cone == PERP_CONE_ELLIPSOID ? c->e[r - 1] : 1.0;
        }
        s->scale[c->row + r] = factor;
        W[r] *= factor * factor;
        widest = W[r] > widest ? W[r] : widest;
    }
    for (int32_t r = 0; r < c->rows; ++r) {
        const int32_t row = c->row + r;
        const double w = law == LAW_CONE ? widest : W[r];
        s->scale[row] /= w > 0.0 ? sqrt(w) : 1.0;
        s->b[row] = s->scale[row] * P->b[row];
        for (int side = 0; side < 2; ++side) {
            const size_t at = 12 * (size_t)c->row + 6 * (size_t)(side * c->rows + r);
            for (int k = 0; k < 6; ++k) {
                s->H[at + (size_t)k] =
                    c->block[side] >= 0 ? s->scale[row] * Y[at + (size_t)k] : 0.0;
            }
        }
    }
}

bool perpi_interior_scale(perpi_interior_bodies* s, const perpi_interior_task* task)
{
    const perp_contact_problem* P = task->P;
    s->P = P;
    s->y = task->delassus->y.at;
    s->regularisation = task->regularisation;
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        s->law_of[i] = choose_law(c);
        s->polar[i] = false;
        if (c->rows > (c->kind == PERP_CONSTRAINT_CONTACT ? PERPI_SOC_MAX : ROWS_MAX)) {
            return false;
        }
        scale_constraint(s, c, s->law_of[i], task->delassus->Y.at);
    }
    return true;
}

/* ---- start ----------------------------------------------------------------------------------------------*/

static void start_bounded_row(perpi_interior_bodies* s, int32_t row, double size)
{
    const double low = perpi_interior_lower(s, row), high = perpi_interior_upper(s, row);
    s->low[row] = isfinite(low) ? size : 0.0;
    s->up[row] = isfinite(high) ? size : 0.0;
    double p = 0.0;
    if (perpi_interior_fixed(s, row)) {
        p = low;
        s->low[row] = s->up[row] = 0.0;
    } else if (isfinite(low) && isfinite(high)) {
        /* as near to 0 as a tenth of the width from both ends allows */
        const double inset = 0.1 * (high - low);
        p = low + inset > 0.0 ? low + inset : high - inset < 0.0 ? high - inset : 0.0;
    } else if (isfinite(low)) {
        p = low + size > 0.0 ? low + size : 0.0;
    } else if (isfinite(high)) {
        p = high - size < 0.0 ? high - size : 0.0;
    }
    s->p[row] = p;
    s->products += s->low[row] > 0.0;
    s->products += s->up[row] > 0.0;
}

double perpi_interior_start(perpi_interior_bodies* s, double factor)
{
    const perp_contact_problem* P = s->P;
    memcpy(s->x, s->y, (size_t)P->dof_count * sizeof *s->x);
    perpi_body_velocities(s->matrix, P, s->H, s->b, s->x, s->u);
    memset(s->p, 0, (size_t)P->row_count * sizeof *s->p);
    memset(s->z, 0, (size_t)P->row_count * sizeof *s->z);
    memset(s->low, 0, 2 * (size_t)P->row_count * sizeof *s->low);
    double size = sqrt(perpi_dot(P->row_count, s->u, s->u) / (double)P->constraint_count);
    size = size > 0.0 ? factor * size : 1e-12;
    s->products = 0;
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        s->w[i] = s->g1[i] = s->g2[i] = size;
        switch (s->law_of[i]) {
        case LAW_CONE:
            s->z[c->row] = size;
            s->p[c->row] = size;
            s->products += 2;
            break;
        case LAW_NORMAL:
            s->p[c->row] = size;
            s->products += 1;
            break;
        case LAW_BOUNDED:
            for (int32_t r = 0; r < c->rows; ++r) {
                start_bounded_row(s, c->row + r, size);
            }
            break;
        case LAW_EQUALITY: break;
        }
    }
    return size;
}

/* ---- residuals of an iterate ------------------------------------------------------------------*/

static double tail_norm(const double* a)
{
    return sqrt(a[1] * a[1] + a[2] * a[2]);
}

/* Decides where polar coordinates are used, and puts z_t opposite to p_t there. */
static void choose_polar(perpi_interior_bodies* s)
{
    for (int32_t i = 0; i < s->P->constraint_count; ++i) {
        const perp_constraint* c = &s->P->constraint[i];
        s->polar[i] = false;
        if (s->law_of[i] != LAW_CONE || c->rows != 3) {
            continue;
        }
        double *p = s->p + c->row, *z = s->z + c->row, *e = s->e + 2 * i;
        const double rp = tail_norm(p), ru = tail_norm(z);
        s->rp[i] = rp;
        s->ru[i] = ru;
        if (rp > POLAR * p[0] && ru > POLAR * z[0]) {
            s->polar[i] = true;
            e[0] = p[1] / rp;
            e[1] = p[2] / rp;
            z[1] = -ru * e[0];
            z[2] = -ru * e[1];
        }
    }
}

PERPI_INLINE double cone_pair(int32_t m, const perpi_interior_bodies* s, int32_t i)
{
    const perp_constraint* c = &s->P->constraint[i];
    const double *p = s->p + c->row, *z = s->z + c->row;
    if (perpi_interior_polar(s, i, m)) {
        return 0.5 * ((p[0] + s->rp[i]) * s->g1[i] + s->g2[i] * (z[0] + s->ru[i]));
    }
    return perpi_interior_dot(m, p, z);
}

static double bounded_pairs(const perpi_interior_bodies* s, int32_t row)
{
    double sum = 0.0;
    if (s->low[row] > 0.0) {
        sum += s->low[row] * (s->p[row] - perpi_interior_lower(s, row));
    }
    if (s->up[row] > 0.0) {
        sum += s->up[row] * (perpi_interior_upper(s, row) - s->p[row]);
    }
    return sum;
}

/* The residuals of contact i, of m rows; adds to the sums of products and of squares. */
PERPI_INLINE void contact_residuals(int32_t m, perpi_interior_bodies* s, int32_t i, double* pairs,
                                    double* square)
{
    const int32_t row = s->P->constraint[i].row;
    const bool cone = s->law_of[i] == LAW_CONE;
    double* rt = s->rt + row;
    rt[0] = 0.0;
    for (int32_t r = 1; r < m; ++r) {
        rt[r] = cone ? s->z[row + r] - s->u[row + r] : 0.0;
    }
    *pairs += cone ? cone_pair(m, s, i) : 0.0;
    s->rn[i] = s->w[i] - s->u[row];
    *pairs += s->p[row] * s->w[i];
    *square += perpi_interior_dot(m, rt, rt) + s->rn[i] * s->rn[i];
}

/* The same of an equality or a bounded row. */
static void row_residual(perpi_interior_bodies* s, int32_t i, int32_t row, double* pairs)
{
    const bool bounded = s->law_of[i] == LAW_BOUNDED;
    const double c = perpi_interior_compliance(s, &s->P->constraint[i], row);
    s->rt[row] = bounded && perpi_interior_fixed(s, row)
                     ? 0.0
                     : s->u[row] + c * s->p[row] - s->low[row] + s->up[row];
    *pairs += bounded ? bounded_pairs(s, row) : 0.0;
}

void perpi_interior_residuals(perpi_interior_bodies* s)
{
    choose_polar(s);
    const perp_contact_problem* P = s->P;
    perpi_body_velocities(s->matrix, P, s->H, s->b, s->x, s->u);
    for (int32_t i = 0; s->curve.on && i < P->row_count; ++i) {
        s->u[i] += s->regularisation * s->p[i];
    }
    for (int32_t i = 0; i < P->dof_count; ++i) {
        s->right[i] = s->x[i] - s->y[i];
    }
    perpi_body_add_impulses(s->matrix, P, s->H, s->right, -1.0, s->p, s->rd);
    double pairs = 0.0, square = perpi_dot(P->dof_count, s->rd, s->rd);
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        if (c->kind == PERP_CONSTRAINT_CONTACT) {
            PERPI_BY_ROWS(contact_residuals, c->rows, s, i, &pairs, &square);
            continue;
        }
        s->rn[i] = 0.0;
        for (int32_t r = c->row; r < c->row + c->rows; ++r) {
            row_residual(s, i, r, &pairs);
        }
        square += perpi_interior_dot(c->rows, s->rt + c->row, s->rt + c->row);
    }
    s->tau = pairs / (double)(s->products > 0 ? s->products : 1);
    s->infeasible = square / (double)P->constraint_count;
}

/* ---- steps ------------------------------------------------------------------------------------*/

static void take_polar_step(perpi_interior_bodies* s, int32_t i, const perpi_interior_direction* d,
                            double t)
{
    const int32_t row = s->P->constraint[i].row;
    const double* e = s->e + 2 * (size_t)i;
    const double turn = t * d->phi[i], co = cos(turn), si = sin(turn);
    const double e0 = co * e[0] - si * e[1], e1 = co * e[1] + si * e[0];
    const double p_n = s->p[row] + t * d->p[row];
    s->g1[i] += t * d->g1[i];
    s->g2[i] += t * d->g2[i];
    const double ru = s->ru[i] + t * d->ru[i], rp = p_n - s->g2[i];
    s->p[row] = p_n;
    s->p[row + 1] = rp * e0;
    s->p[row + 2] = rp * e1;
    s->z[row] = ru + s->g1[i];
    s->z[row + 1] = -ru * e0;
    s->z[row + 2] = -ru * e1;
}

void perpi_interior_move(perpi_interior_bodies* s, const perpi_interior_direction* d, double t)
{
    const perp_contact_problem* P = s->P;
    for (int32_t i = 0; i < P->dof_count; ++i) {
        s->x[i] += t * d->x[i];
    }
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        if (c->kind == PERP_CONSTRAINT_CONTACT) {
            s->w[i] += t * d->w[i];
        }
        if (s->law_of[i] == LAW_CONE && s->polar[i]) {
            take_polar_step(s, i, d, t);
            continue;
        }
        for (int32_t r = c->row; r < c->row + c->rows; ++r) {
            s->p[r] += t * d->p[r];
            if (s->law_of[i] == LAW_CONE) {
                s->z[r] += t * d->z[r];
            } else if (s->law_of[i] == LAW_BOUNDED) {
                s->low[r] += t * d->low[r];
                s->up[r] += t * d->up[r];
            }
        }
        if (s->law_of[i] == LAW_CONE) {
            const int32_t n = c->rows - 1;
            const double *z = s->z + c->row, *p = s->p + c->row;
            s->g1[i] = z[0] - perpi_soc_norm(n, z + 1);
            s->g2[i] = p[0] - perpi_soc_norm(n, p + 1);
        }
    }
}
