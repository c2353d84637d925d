/* src/problem/reformulate/contact_to_reduced.c - contact problem -> friction problem: u = W r + q
 * without velocities.
 *
 * Source     the Delassus operator [T03 (39)-(47)], constraint by constraint
 * Notation   M = L L' per block, Y = L^-1 J': W_ij = sum over the blocks that i and j share of
 *            Y_i' Y_j, plus the compliances on the diagonal, q = b + J M^-1 k; W_ji is W_ij' to
 *            the bit
 * Cost       O(constraints x neighbours); a block that n constraints touch couples all n^2 pairs
 */
#include <string.h>

#include "base/context.h"
#include "problem/reformulate/reformulate.h"

void perpi_to_friction_free(perp_context* context, perpi_to_friction* t)
{
    perpi_delassus_free(context, &t->delassus);
    perpi_free(context, t->start.at);
    perpi_free(context, t->column.at);
    perpi_free(context, t->at.at);
    perpi_free(context, t->value.at);
}

/* The constraints on one of constraint c's blocks: items from .. to of block_item. */
typedef struct neighbours {
    int32_t from, to;
} neighbours;

static neighbours on_side(const perpi_delassus* delassus, const perp_constraint* c, int side)
{
    if (c->block[side] < 0) {
        return (neighbours){0, 0};
    }
    return (neighbours){delassus->block_start.at[c->block[side]],
                        delassus->block_start.at[c->block[side] + 1]};
}

/* The next constraint of two ascending lists taken together; -1 after the last. */
static int32_t next_neighbour(const perpi_delassus* delassus, neighbours n[2])
{
    int32_t least = -1;
    for (int side = 0; side < 2; ++side) {
        if (n[side].from < n[side].to) {
            const int32_t ci = delassus->block_item.at[n[side].from] / 2;
            least = least < 0 || ci < least ? ci : least;
        }
    }
    for (int side = 0; side < 2; ++side) {
        if (n[side].from < n[side].to && delassus->block_item.at[n[side].from] / 2 == least) {
            n[side].from += 1;
        }
    }
    return least;
}

/* Which blocks of W there are, and where their values go. */
static perp_status lay_out(perp_context* context, const perp_contact_problem* P,
                           perpi_to_friction* t)
{
    perp_status status = perpi_need_ints(context, &t->start, (size_t)P->constraint_count + 1);
    if (status != PERP_OK) {
        return status;
    }
    size_t used = 0, values = 0;
    t->start.at[0] = 0;
    for (int32_t ci = 0; ci < P->constraint_count; ++ci) {
        const perp_constraint* c = &P->constraint[ci];
        neighbours n[2] = {on_side(&t->delassus, c, 0), on_side(&t->delassus, c, 1)};
        for (int32_t cj; (cj = next_neighbour(&t->delassus, n)) >= 0;) {
            if (used >= INT32_MAX) {
                return perpi_fail(context, PERP_ERROR_MEMORY, "friction problem: too many blocks");
            }
            status = perpi_need_ints(context, &t->column, used + 1);
            if (status == PERP_OK) {
                status =
                    perpi_grow(context, &t->at.at, &t->at.capacity, used + 1, sizeof *t->at.at);
            }
            if (status != PERP_OK) {
                return status;
            }
            t->column.at[used] = cj;
            t->at.at[used++] = values;
            values += (size_t)c->rows * (size_t)P->constraint[cj].rows;
        }
        t->start.at[ci + 1] = (int32_t)used;
    }
    return perpi_need_doubles(context, &t->value, values);
}

/* W += Y_a' Y_b for one shared block. */
static void add_product(const perp_constraint* a, const double* Y_a, const perp_constraint* b,
                        const double* Y_b, double* W)
{
    for (int32_t r = 0; r < a->rows; ++r) {
        const double* x = Y_a + 6 * (size_t)r;
        for (int32_t s = 0; s < b->rows; ++s) {
            const double* y = Y_b + 6 * (size_t)s;
            *W++ += ((x[0] * y[0] + x[1] * y[1]) + (x[2] * y[2] + x[3] * y[3])) +
                    (x[4] * y[4] + x[5] * y[5]);
        }
    }
}

static void fill_W(const perp_contact_problem* P, const perpi_to_friction* t)
{
    for (int32_t ci = 0; ci < P->constraint_count; ++ci) {
        const perp_constraint* a = &P->constraint[ci];
        for (int32_t e = t->start.at[ci]; e < t->start.at[ci + 1]; ++e) {
            const perp_constraint* b = &P->constraint[t->column.at[e]];
            double* W = t->value.at + t->at.at[e];
            memset(W, 0, (size_t)a->rows * (size_t)b->rows * sizeof *W);
            for (int side = 0; side < 4; ++side) {
                if (a->block[side / 2] >= 0 && a->block[side / 2] == b->block[side % 2]) {
                    add_product(a, perpi_delassus_side(&t->delassus, a, side / 2), b,
                                perpi_delassus_side(&t->delassus, b, side % 2), W);
                }
            }
            for (int32_t r = 0; P->compliance != NULL && a == b && r < a->rows; ++r) {
                W[r * a->rows + r] += perpi_row_compliance(P, a, r);
            }
        }
    }
}

perp_status perp_contact_to_friction(perp_reformulation* reformulation,
                                     const perp_contact_problem* problem,
                                     perp_friction_problem* friction)
{
    perpi_to_friction* t = &reformulation->friction;
    perp_context* context = reformulation->context;
    if (problem->group_count > 0) {
        return perpi_fail(context, PERP_ERROR_UNSUPPORTED,
                          "groups of contacts have no form without velocities");
    }
    perp_status status = perpi_delassus_fill(context, problem, &t->delassus);
    if (status == PERP_OK) {
        status = lay_out(context, problem, t);
    }
    if (status != PERP_OK) {
        return status;
    }
    fill_W(problem, t);
    *friction = (perp_friction_problem){
        .constraint_count = problem->constraint_count,
        .row_count = problem->row_count,
        .W = {t->start.at, t->column.at, t->at.at, t->value.at},
        .q = t->delassus.g.at,
        .lower = problem->lower,
        .upper = problem->upper,
        .constraint = problem->constraint,
    };
    return PERP_OK;
}

void perp_reformulation_friction_reconstruct(const perp_reformulation* reformulation,
                                             const perp_contact_problem* problem, const double* r,
                                             double* v)
{
    perpi_motion_of(problem, reformulation->friction.delassus.L, r, v);
}
