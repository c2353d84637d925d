/* src/problem/reformulate/reformulate.c - the numbering of the unknowns that the reformulations
 * share; see reformulate.h. */
#include "problem/reformulate/reformulate.h"

#include <inttypes.h>
#include <math.h>

#include "base/context.h"
#include "problem/cone.h"

#define NOISE 1e-12      /* a guess below this part of its terms is rounding: 0 */
#define ON_BOUNDARY 1e-9 /* relative distance from the edge of F that still counts as slipping */

perp_status perp_reformulation_create(perp_context* context, perp_reformulation** reformulation)
{
    perp_reformulation* made = NULL;
    const perp_status status = perpi_alloc(context, 1, sizeof *made, &made);
    if (status != PERP_OK) {
        return status;
    }
    made->context = context;
    *reformulation = made;
    return PERP_OK;
}

void perp_reformulation_destroy(perp_reformulation* reformulation)
{
    if (reformulation == NULL) {
        return;
    }
    perpi_to_ncp_free(reformulation->context, &reformulation->ncp);
    perpi_to_mlcp_free(reformulation->context, &reformulation->mlcp);
    perpi_to_lcp_free(reformulation->context, &reformulation->lcp);
    perpi_direct_free(reformulation->context, &reformulation->direct);
    perpi_to_friction_free(reformulation->context, &reformulation->friction);
    perpi_free(reformulation->context, reformulation);
}

perp_status perpi_need_doubles(perp_context* context, perpi_doubles* a, size_t need)
{
    return perpi_grow(context, &a->at, &a->capacity, need, sizeof *a->at);
}

perp_status perpi_need_ints(perp_context* context, perpi_ints* a, size_t need)
{
    return perpi_grow(context, &a->at, &a->capacity, need, sizeof *a->at);
}

void perpi_layout_free(perp_context* context, perpi_layout* layout)
{
    perpi_free(context, layout->first.at);
    perpi_free(context, layout->owned.at);
    perpi_free(context, layout->row_unknown.at);
    perpi_free(context, layout->row_slack.at);
    perpi_free(context, layout->group_first.at);
}

/* ---- numbering -----------------------------------------------------------------------------------*/

perp_status perpi_layout_roles(perp_context* context, const perp_contact_problem* problem,
                               perpi_layout* layout)
{
    const perp_status status =
        perpi_need_ints(context, &layout->owned, (size_t)problem->constraint_count);
    if (status != PERP_OK) {
        return status;
    }
    int32_t* owned = layout->owned.at;
    for (int32_t ci = 0; ci < problem->constraint_count; ++ci) {
        owned[ci] = 0;
    }
    for (int32_t g = 0; g < problem->group_count; ++g) {
        for (int32_t i = 0; i < problem->group[g].count; ++i) {
            int32_t* mine = &owned[problem->group[g].member[i]];
            if (i < problem->group[g].primary) {
                *mine = *mine == PERPI_SILENT ? 1 : *mine + 1;
            } else if (*mine == 0) {
                *mine = PERPI_SILENT;
            }
        }
    }
    return PERP_OK;
}

perp_status perpi_layout_constraints(perp_context* context, const perp_contact_problem* problem,
                                     int32_t first, bool rows_too, perpi_layout* layout)
{
    const size_t nc = (size_t)problem->constraint_count, nr = (size_t)problem->row_count;
    perp_status status = perpi_need_ints(context, &layout->first, nc);
    if (status == PERP_OK) {
        status = perpi_layout_roles(context, problem, layout);
    }
    if (status == PERP_OK) {
        status = perpi_need_ints(context, &layout->row_unknown, nr);
    }
    if (status == PERP_OK) {
        status = perpi_need_ints(context, &layout->row_slack, nr);
    }
    if (status != PERP_OK) {
        return status;
    }

    int32_t n = first;
    for (int32_t ci = 0; ci < problem->constraint_count; ++ci) {
        const perp_constraint* c = &problem->constraint[ci];
        layout->first.at[ci] = -1;
        for (int32_t r = c->row; r < c->row + c->rows; ++r) {
            layout->row_unknown.at[r] = layout->row_slack.at[r] = -1;
        }
        if (c->kind != PERP_CONSTRAINT_CONTACT) {
            if (rows_too) {
                layout->first.at[ci] = n;
                for (int32_t r = 0; r < c->rows; ++r) {
                    layout->row_unknown.at[c->row + r] = n++;
                }
            }
            continue;
        }
        if (c->cone != PERP_CONE_NONE && c->cone != PERP_CONE_POLYGON) {
            return perpi_fail(context, PERP_ERROR_UNSUPPORTED,
                              "constraint %" PRId32
                              ": a %s cone has no linear form; polygon and none have",
                              ci, c->cone == PERP_CONE_QUADRATIC ? "quadratic" : "ellipsoid");
        }
        if (layout->owned.at[ci] != PERPI_SILENT) {
            layout->first.at[ci] = n;
            n += c->cone == PERP_CONE_POLYGON ? c->directions + 2 : 1;
        }
    }
    layout->n = n;
    return PERP_OK;
}

perp_status perpi_layout_groups(perp_context* context, const perp_contact_problem* problem,
                                perpi_layout* layout)
{
    const perp_status status =
        perpi_need_ints(context, &layout->group_first, (size_t)problem->group_count);
    if (status != PERP_OK) {
        return status;
    }
    for (int32_t g = 0; g < problem->group_count; ++g) {
        layout->group_first.at[g] = layout->n;
        const perpi_group_slots at = perpi_layout_group(layout, problem, g);
        layout->n += problem->group[g].count - 1 + (at.d >= 0 ? problem->group[g].primary : 0) +
                     (at.y >= 0 ? 1 : 0);
    }
    return PERP_OK;
}

perpi_group_slots perpi_layout_group(const perpi_layout* layout,
                                     const perp_contact_problem* problem, int32_t g)
{
    const perp_group* group = &problem->group[g];
    perpi_group_slots at = {layout->group_first.at[g], -1, -1};
    int32_t next = at.c + group->count - 1;
    if (group->primary > 1) {
        at.d = next;
        next += group->primary;
    }
    if (group->primary > 1 || layout->owned.at[group->member[0]] > 1) {
        at.y = next;
    }
    return at;
}

void perpi_layout_group_rows(const perpi_layout* layout, const perp_contact_problem* problem,
                             int32_t g, const perpi_group_rows* to)
{
    const perp_group* group = &problem->group[g];
    const perpi_group_slots at = perpi_layout_group(layout, problem, g);
    for (int32_t j = 1; j < group->count; ++j) {
        const int32_t row = at.c + j - 1;
        to->normal(to->user, row, group->member[0], 1.0);
        to->normal(to->user, row, group->member[j], -1.0);
        for (int32_t i = 1; i <= j; ++i) {
            to->one(to->user, row, at.c + i - 1);
        }
    }
    /* every row that holds m: the primaries' own, and y's */
    for (int32_t i = 0; i < group->primary + (at.y >= 0 ? 1 : 0); ++i) {
        const bool own = i < group->primary;
        const int32_t row = own ? layout->first.at[group->member[i]] : at.y;
        to->normal(to->user, row, group->member[0], 1.0);
        for (int32_t j = 1; j < group->count; ++j) {
            to->one(to->user, row, at.c + j - 1);
        }
        if (own && at.d >= 0) {
            to->one(to->user, row, at.d + i);
            to->normal(to->user, at.d + i, group->member[i], 1.0);
            to->one(to->user, at.d + i, at.d + i);
        }
    }
}

/* ---- converting a point -------------------------------------------------------------------------*/

/* Values within rounding become exact zeros: a positive entry of a guess means a basic variable. */
static double positive_part(double x)
{
    return x > 0.0 ? x : 0.0;
}

/* Sum of the absolute terms of u_r: what its rounding is measured by. */
static double row_size(const perp_contact_problem* problem, const perp_constraint* c, int32_t r,
                       const double* v)
{
    const double* J = problem->J + c->jac;
    double size = fabs(problem->b[c->row + r]);
    for (int side = 0; side < 2; ++side) {
        if (c->block[side] < 0) {
            continue;
        }
        const int32_t d = problem->dof[c->block[side]];
        const int32_t nv = problem->dof[c->block[side] + 1] - d;
        for (int32_t i = 0; i < nv; ++i) {
            size += fabs(J[(size_t)r * (size_t)nv + (size_t)i] * v[d + i]);
        }
        J += (size_t)c->rows * (size_t)nv;
    }
    return size;
}

/* least: normal impulses below this are rounding, not contacts. */
static void guess_contact(const perp_contact_problem* P, const perp_constraint* c, double least,
                          const double* v, const double* p, double* z)
{
    z[0] = p[c->row] > least ? p[c->row] : 0.0;
    if (c->cone != PERP_CONE_POLYGON) {
        return;
    }
    const int32_t nd = c->directions, t = c->rows - 1;
    const double sum = perpi_polygon_weights(t, nd, p + c->row + 1, z + 1);
    double sigma = 0.0;
    if (sum >= c->mu * z[0] * (1.0 - ON_BOUNDARY)) {
        /* slips, or is open with a tangential velocity: sigma is the largest speed against a
         * direction */
        double u[2] = {0.0, 0.0}, size = 0.0;
        for (int32_t i = 0; i < t; ++i) {
            u[i] = perpi_row_velocity(P, c, 1 + i, v);
            size += row_size(P, c, 1 + i, v);
        }
        for (int32_t j = 0; j < nd; ++j) {
            double d[2];
            perpi_polygon_direction(nd, j, d);
            const double speed = -(d[0] * u[0] + d[1] * u[1]);
            sigma = speed > sigma ? speed : sigma;
        }
        sigma = sigma > NOISE * size ? sigma : 0.0;
    }
    z[1 + nd] = sigma;
}

static void guess_group(const perpi_layout* layout, const perp_contact_problem* P, int32_t g,
                        const double* v, double* z)
{
    const perp_group* group = &P->group[g];
    const perpi_group_slots at = perpi_layout_group(layout, P, g);
    double m = 0.0;
    for (int32_t i = 0; i < group->count; ++i) {
        const double u = perpi_row_velocity(P, &P->constraint[group->member[i]], 0, v);
        if (i > 0) {
            z[at.c + i - 1] = positive_part(u - m);
        }
        m = i == 0 || u > m ? u : m;
        if (at.d >= 0 && i < group->primary) {
            z[at.d + i] = positive_part(-u);
        }
    }
    if (at.y >= 0) {
        z[at.y] = 0.0;
    }
}

void perpi_layout_guess_groups(const perpi_layout* layout, const perp_contact_problem* problem,
                               const double* v, double* z)
{
    for (int32_t g = 0; g < problem->group_count; ++g) {
        guess_group(layout, problem, g, v, z);
    }
}

void perpi_layout_guess(const perpi_layout* layout, const perp_contact_problem* problem,
                        const double* v, const double* p, double* z)
{
    double largest = 0.0;
    for (int32_t ci = 0; ci < problem->constraint_count; ++ci) {
        const perp_constraint* c = &problem->constraint[ci];
        if (c->kind == PERP_CONSTRAINT_CONTACT && p[c->row] > largest) {
            largest = p[c->row];
        }
    }
    for (int32_t ci = 0; ci < problem->constraint_count; ++ci) {
        const perp_constraint* c = &problem->constraint[ci];
        if (c->kind == PERP_CONSTRAINT_CONTACT && layout->first.at[ci] >= 0) {
            guess_contact(problem, c, NOISE * largest, v, p, z + layout->first.at[ci]);
        }
    }
    perpi_layout_guess_groups(layout, problem, v, z);
}

void perpi_layout_reconstruct(const perpi_layout* layout, const perp_contact_problem* problem,
                              const double* z, double* p)
{
    for (int32_t ci = 0; ci < problem->constraint_count; ++ci) {
        const perp_constraint* c = &problem->constraint[ci];
        if (c->kind != PERP_CONSTRAINT_CONTACT) {
            continue;
        }
        double* p_c = p + c->row;
        for (int32_t r = 0; r < c->rows; ++r) {
            p_c[r] = 0.0;
        }
        if (layout->first.at[ci] < 0) {
            continue;
        }
        const double* z_c = z + layout->first.at[ci];
        p_c[0] = z_c[0];
        for (int32_t j = 0; c->cone == PERP_CONE_POLYGON && j < c->directions; ++j) {
            double d[2];
            if (z_c[1 + j] == 0.0) {
                continue; /* most contacts are open, and directions need sines */
            }
            perpi_polygon_direction(c->directions, j, d);
            for (int32_t i = 0; i < c->rows - 1; ++i) {
                p_c[1 + i] += z_c[1 + j] * d[i];
            }
        }
    }
}
