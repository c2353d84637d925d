/* src/solve/frictional/body_matrix.c - see body_matrix.h. */
#include "solve/frictional/body_matrix.h"

#include <string.h>

enum { ROWS_MAX = PERPI_BODY_ROWS_MAX, SIDE = PERPI_BODY_SIDE };

perp_status perpi_body_matrix_create(perp_context* context, perpi_body_matrix* m)
{
    *m = (perpi_body_matrix){.context = context};
    return perpi_block_lu_create(context, &m->lu);
}

void perpi_body_matrix_free(perpi_body_matrix* m)
{
    perpi_block_lu_destroy(m->lu);
    perpi_free(m->context, m->index);
    *m = (perpi_body_matrix){0};
}

static const double* side_of(const double* Y, const perp_constraint* c, int side)
{
    return Y + 12 * (size_t)c->row + (side == 0 ? 0 : 6 * (size_t)c->rows);
}

/* ---- pattern -------------------------------------------------------------------------------------------*/

static perp_status make_room(perpi_body_matrix* m, const perp_contact_problem* P)
{
    const size_t nb = (size_t)P->block_count, nc = (size_t)P->constraint_count;
    const perp_status status =
        perpi_grow(m->context, &m->index, &m->index_capacity,
                   nb + (nb + 1) + (nb + 2 * nc) + nb + 4 * nc, sizeof *m->index);
    if (status != PERP_OK) {
        return status;
    }
    m->size = m->index;
    m->start = m->size + nb;
    m->column = m->start + nb + 1;
    m->mark = m->column + nb + 2 * nc;
    m->place = m->mark + nb;
    return PERP_OK;
}

static int32_t find_block(const perpi_body_matrix* m, int32_t row, int32_t column)
{
    int32_t low = m->start[row], high = m->start[row + 1] - 1;
    while (low < high) {
        const int32_t mid = low + (high - low) / 2;
        if (m->column[mid] < column) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

perp_status perpi_body_matrix_analyse(perpi_body_matrix* m, const perp_contact_problem* P,
                                      const perpi_delassus* delassus)
{
    const perp_status status = make_room(m, P);
    if (status != PERP_OK) {
        return status;
    }
    const int32_t* first = delassus->block_start.at;
    int32_t used = 0;
    for (int32_t i = 0; i < P->block_count; ++i) {
        m->mark[i] = -1;
    }
    for (int32_t i = 0; i < P->block_count; ++i) {
        m->size[i] = P->dof[i + 1] - P->dof[i];
        m->start[i] = used;
        m->mark[i] = i;
        m->column[used++] = i;
        for (int32_t k = first[i]; k < first[i + 1]; ++k) {
            const int32_t item = delassus->block_item.at[k];
            const int32_t other = P->constraint[item / 2].block[1 - item % 2];
            if (other >= 0 && m->mark[other] != i) {
                m->mark[other] = i;
                m->column[used++] = other;
            }
        }
        for (int32_t k = m->start[i] + 1; k < used; ++k) { /* few: insertion */
            const int32_t column = m->column[k];
            int32_t j = k;
            for (; j > m->start[i] && m->column[j - 1] > column; --j) {
                m->column[j] = m->column[j - 1];
            }
            m->column[j] = column;
        }
    }
    m->start[P->block_count] = used;
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const int32_t* block = P->constraint[i].block;
        for (int k = 0; k < 4; ++k) {
            const int32_t row = block[k / 2], column = block[k % 2];
            m->place[4 * i + k] = row >= 0 && column >= 0 ? find_block(m, row, column) : -1;
        }
    }
    return perpi_block_lu_analyse(m->lu, P->block_count, m->size, m->start, m->column);
}

/* ---- products with Y -----------------------------------------------------------------------------------*/

/* u = base + Y' x */
void perpi_body_velocities(const perp_contact_problem* P, const double* Y_all, const double* base,
                           const double* x, double* u)
{
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        memcpy(u + c->row, base + c->row, (size_t)c->rows * sizeof *u);
        for (int side = 0; side < 2; ++side) {
            if (c->block[side] < 0) {
                continue;
            }
            const double* Y = side_of(Y_all, c, side);
            const double* x_i = x + P->dof[c->block[side]];
            const int32_t n = P->dof[c->block[side] + 1] - P->dof[c->block[side]];
            for (int32_t r = 0; r < c->rows; ++r, Y += SIDE) {
                double t = 0.0;
                for (int32_t k = 0; k < n; ++k) {
                    t += Y[k] * x_i[k];
                }
                u[c->row + r] += t;
            }
        }
    }
}

/* f = x + sign Y p */
void perpi_body_add_impulses(const perp_contact_problem* P, const double* Y_all, const double* x,
                             double sign, const double* p, double* f)
{
    memcpy(f, x, (size_t)P->dof_count * sizeof *f);
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        for (int side = 0; side < 2; ++side) {
            if (c->block[side] < 0) {
                continue;
            }
            const double* Y = side_of(Y_all, c, side);
            double* f_i = f + P->dof[c->block[side]];
            const int32_t n = P->dof[c->block[side] + 1] - P->dof[c->block[side]];
            for (int32_t r = 0; r < c->rows; ++r, Y += SIDE) {
                const double t = sign * p[c->row + r];
                if (t == 0.0) {
                    continue;
                }
                for (int32_t k = 0; k < n; ++k) {
                    f_i[k] += Y[k] * t;
                }
            }
        }
    }
}

/* ---- values --------------------------------------------------------------------------------------------*/

/* The blocks of Y D Y' that constraint i gives, added to those of the matrix. */
static void add_constraint(perpi_body_matrix* m, const perp_contact_problem* P, const double* Y,
                           const double* D_all, int32_t i)
{
    const perp_constraint* c = &P->constraint[i];
    const int32_t rows = c->rows;
    const double* D = D_all + ROWS_MAX * (size_t)c->row;
    bool any = false;
    for (int32_t k = 0; k < rows * rows; ++k) {
        any = any || D[k] != 0.0;
    }
    if (!any) {
        return;
    }
    for (int column = 0; column < 2; ++column) {
        if (c->block[column] < 0) {
            continue;
        }
        const double* Y_column = side_of(Y, c, column);
        double T[ROWS_MAX * SIDE]; /* D Y' */
        for (int32_t r = 0; r < rows; ++r) {
            double* t = T + SIDE * r;
            for (int k = 0; k < SIDE; ++k) {
                t[k] = D[r * rows] * Y_column[k];
            }
            for (int32_t q = 1; q < rows; ++q) {
                const double d = D[r * rows + q];
                for (int k = 0; k < SIDE; ++k) {
                    t[k] += d * Y_column[SIDE * q + k];
                }
            }
        }
        for (int row = 0; row < 2; ++row) {
            if (c->block[row] < 0) {
                continue;
            }
            const double* Y_row = side_of(Y, c, row);
            int32_t ld;
            double* out = perpi_block_lu_block(m->lu, m->place[4 * i + 2 * row + column], &ld);
            const int32_t nr = m->size[c->block[row]], nk = m->size[c->block[column]];
            if (nk == SIDE) {
                for (int32_t a = 0; a < nr; ++a) {
                    double* restrict o = out + (size_t)a * (size_t)ld;
                    for (int32_t r = 0; r < rows; ++r) {
                        const double y = Y_row[SIDE * r + a];
                        for (int k = 0; k < SIDE; ++k) {
                            o[k] += y * T[SIDE * r + k];
                        }
                    }
                }
            } else {
                for (int32_t a = 0; a < nr; ++a) {
                    double* o = out + (size_t)a * (size_t)ld;
                    for (int32_t r = 0; r < rows; ++r) {
                        const double y = Y_row[SIDE * r + a];
                        for (int32_t k = 0; k < nk; ++k) {
                            o[k] += y * T[SIDE * r + k];
                        }
                    }
                }
            }
        }
    }
}

bool perpi_body_matrix_factor(perpi_body_matrix* m, const perp_contact_problem* P, const double* Y,
                              const double* D)
{
    perpi_block_lu_clear(m->lu);
    for (int32_t i = 0; i < P->block_count; ++i) {
        int32_t ld;
        double* out = perpi_block_lu_block(m->lu, find_block(m, i, i), &ld);
        for (int32_t a = 0; a < m->size[i]; ++a) {
            out[(size_t)a * (size_t)ld + (size_t)a] = 1.0;
        }
    }
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        add_constraint(m, P, Y, D, i);
    }
    return perpi_block_lu_factor(m->lu);
}

void perpi_body_matrix_solve(perpi_body_matrix* m, double* x)
{
    perpi_block_lu_solve(m->lu, x);
}
