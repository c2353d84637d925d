/* src/problem/reformulate/delassus_factor.c - half of the Delassus matrix: Y = L^-1 J' and who touches which block; the
 * lowerings that eliminate the velocities start here. See lower.h. */
#include <string.h>

#include "base/context.h"
#include "problem/reformulate/reformulate.h"

void perpi_half_free(perp_context* context, perpi_half* half)
{
    perpi_free(context, half->made.at);
    perpi_free(context, half->y.at);
    perpi_free(context, half->Y.at);
    perpi_free(context, half->g.at);
    perpi_free(context, half->block_start.at);
    perpi_free(context, half->block_item.at);
}

double* perpi_half_side(const perpi_half* half, const perp_constraint* c, int side)
{
    return half->Y.at + 12 * (size_t)c->row + (side == 0 ? 0 : 6 * (size_t)c->rows);
}

static perp_status make_room(perp_context* context, const perp_contact_problem* P, perpi_half* half)
{
    const size_t nv = (size_t)P->dof_count, nr = (size_t)P->row_count;
    const struct {
        perpi_doubles* array;
        size_t need;
    } rooms[] = {{&half->made, P->M_factor == NULL ? 6 * nv : 0},
                 {&half->y, nv},
                 {&half->Y, 12 * nr},
                 {&half->g, nr}};
    perp_status status = PERP_OK;
    for (size_t i = 0; status == PERP_OK && i < sizeof rooms / sizeof rooms[0]; ++i) {
        status = perpi_need_doubles(context, rooms[i].array, rooms[i].need);
    }
    if (status == PERP_OK) {
        status = perpi_need_ints(context, &half->block_start, (size_t)P->block_count + 2);
    }
    if (status == PERP_OK) {
        status = perpi_need_ints(context, &half->block_item, 2 * (size_t)P->constraint_count);
    }
    return status;
}

/* Which constraints touch which block. */
static void list_blocks(const perp_contact_problem* P, perpi_half* half)
{
    int32_t* start = half->block_start.at;
    memset(start, 0, ((size_t)P->block_count + 2) * sizeof *start);
    for (int32_t ci = 0; ci < P->constraint_count; ++ci) {
        for (int side = 0; side < 2; ++side) {
            if (P->constraint[ci].block[side] >= 0) {
                start[P->constraint[ci].block[side] + 2] += 1;
            }
        }
    }
    for (int32_t i = 1; i < P->block_count; ++i) {
        start[i + 2] += start[i + 1];
    }
    for (int32_t ci = 0; ci < P->constraint_count; ++ci) {
        for (int side = 0; side < 2; ++side) {
            if (P->constraint[ci].block[side] >= 0) {
                half->block_item.at[start[P->constraint[ci].block[side] + 1]++] = 2 * ci + side;
            }
        }
    }
}

/* y = L^-1 k */
static void fill_y(const perp_contact_problem* P, perpi_half* half)
{
    for (int32_t i = 0; i < P->dof_count; ++i) {
        half->y.at[i] = P->k[i];
    }
    for (int32_t i = 0; i < P->block_count; ++i) {
        const int32_t d = P->dof[i];
        perpi_chol_forward(P->dof[i + 1] - d, half->L + 6 * (size_t)d, half->y.at + d);
    }
}

static void fill_Y(const perp_contact_problem* P, perpi_half* half)
{
    for (int32_t ci = 0; ci < P->constraint_count; ++ci) {
        const perp_constraint* c = &P->constraint[ci];
        for (int32_t r = 0; r < c->rows; ++r) {
            half->g.at[c->row + r] = P->b[c->row + r];
        }
        for (int side = 0; side < 2; ++side) {
            const perpi_side s = perpi_side_of(P, c, side);
            const int32_t d = s.d, nv = s.nv;
            const double* J = s.J;
            double* Y = perpi_half_side(half, c, side);
            for (int32_t r = 0; nv > 0 && r < c->rows; ++r) {
                double* Y_r = Y + 6 * (size_t)r;
                double sum = 0.0;
                for (int32_t i = 0; i < nv; ++i) {
                    Y_r[i] = J[i];
                }
                for (int32_t i = nv; i < 6; ++i) {
                    Y_r[i] = 0.0; /* so that every product has six terms */
                }
                perpi_chol_forward(nv, half->L + 6 * (size_t)d, Y_r);
                for (int32_t i = 0; i < nv; ++i) {
                    sum += Y_r[i] * half->y.at[d + i];
                }
                half->g.at[c->row + r] += sum;
                J += nv;
            }
        }
    }
}

perp_status perpi_half_fill(perp_context* context, const perp_contact_problem* problem,
                            perpi_half* half)
{
    const perp_status status = make_room(context, problem, half);
    if (status != PERP_OK) {
        return status;
    }
    if (!perpi_mass_factor_of(problem, half->made.at, &half->L)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "a mass matrix is not positive definite");
    }
    fill_y(problem, half);
    fill_Y(problem, half);
    list_blocks(problem, half);
    return PERP_OK;
}
