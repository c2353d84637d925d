/* src/problem/reformulate/delassus_factor.c - a factor of the Delassus matrix, W = Y' Y with Y =
 * L^-1 J', and which constraints act on which block: the first stage of reformulations that
 * eliminate the velocities. See reformulate.h. */
#include <string.h>

#include "base/context.h"
#include "problem/reformulate/reformulate.h"

void perpi_delassus_free(perp_context* context, perpi_delassus* delassus)
{
    perpi_free(context, delassus->made.at);
    perpi_free(context, delassus->y.at);
    perpi_free(context, delassus->Y.at);
    perpi_free(context, delassus->g.at);
    perpi_free(context, delassus->block_start.at);
    perpi_free(context, delassus->block_item.at);
}

double* perpi_delassus_side(const perpi_delassus* delassus, const perp_constraint* c, int side)
{
    return delassus->Y.at + 12 * (size_t)c->row + (side == 0 ? 0 : 6 * (size_t)c->rows);
}

static perp_status delassus_make_room(perp_context* context, const perp_contact_problem* P,
                                      perpi_delassus* delassus)
{
    const size_t nv = (size_t)P->dof_count, nr = (size_t)P->row_count;
    const struct {
        perpi_doubles* array;
        size_t need;
    } rooms[] = {{&delassus->made, P->M_factor == NULL ? 6 * nv : 0},
                 {&delassus->y, nv},
                 {&delassus->Y, 12 * nr},
                 {&delassus->g, nr}};
    perp_status status = PERP_OK;
    for (size_t i = 0; status == PERP_OK && i < sizeof rooms / sizeof rooms[0]; ++i) {
        status = perpi_need_doubles(context, rooms[i].array, rooms[i].need);
    }
    if (status == PERP_OK) {
        status = perpi_need_ints(context, &delassus->block_start, (size_t)P->block_count + 2);
    }
    if (status == PERP_OK) {
        status = perpi_need_ints(context, &delassus->block_item, 2 * (size_t)P->constraint_count);
    }
    return status;
}

/* Lists the constraints of each block. */
static void list_blocks(const perp_contact_problem* P, perpi_delassus* delassus)
{
    int32_t* start = delassus->block_start.at;
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
                delassus->block_item.at[start[P->constraint[ci].block[side] + 1]++] = 2 * ci + side;
            }
        }
    }
}

/* y = L^-1 k */
static void fill_y(const perp_contact_problem* P, perpi_delassus* delassus)
{
    for (int32_t i = 0; i < P->dof_count; ++i) {
        delassus->y.at[i] = P->k[i];
    }
    for (int32_t i = 0; i < P->block_count; ++i) {
        const int32_t d = P->dof[i];
        perpi_chol_forward(P->dof[i + 1] - d, delassus->L + 6 * (size_t)d, delassus->y.at + d);
    }
}

static void fill_Y(const perp_contact_problem* P, perpi_delassus* delassus)
{
    for (int32_t ci = 0; ci < P->constraint_count; ++ci) {
        const perp_constraint* c = &P->constraint[ci];
        for (int32_t r = 0; r < c->rows; ++r) {
            delassus->g.at[c->row + r] = P->b[c->row + r];
        }
        for (int side = 0; side < 2; ++side) {
            const perpi_side s = perpi_side_of(P, c, side);
            const int32_t d = s.d, nv = s.nv;
            const double* J = s.J;
            double* Y = perpi_delassus_side(delassus, c, side);
            for (int32_t r = 0; nv > 0 && r < c->rows; ++r) {
                double* Y_r = Y + 6 * (size_t)r;
                double sum = 0.0;
                for (int32_t i = 0; i < nv; ++i) {
                    Y_r[i] = J[i];
                }
                for (int32_t i = nv; i < 6; ++i) {
                    Y_r[i] = 0.0; /* so that every product has six terms */
                }
                perpi_chol_forward(nv, delassus->L + 6 * (size_t)d, Y_r);
                for (int32_t i = 0; i < nv; ++i) {
                    sum += Y_r[i] * delassus->y.at[d + i];
                }
                delassus->g.at[c->row + r] += sum;
                J += nv;
            }
        }
    }
}

perp_status perpi_delassus_fill(perp_context* context, const perp_contact_problem* problem,
                                perpi_delassus* delassus)
{
    const perp_status status = delassus_make_room(context, problem, delassus);
    if (status != PERP_OK) {
        return status;
    }
    if (!perpi_mass_factor_of(problem, delassus->made.at, &delassus->L)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "a mass matrix is not positive definite");
    }
    fill_y(problem, delassus);
    fill_Y(problem, delassus);
    list_blocks(problem, delassus);
    return PERP_OK;
}
