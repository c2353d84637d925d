/* src/step/layer_ties.c - see layer_ties.h. */
#include "step/layer_ties.h"

#include <string.h>

#include "linalg/dense.h"
#include "problem/operators.h"

/* A body with ties: its part of M and k before their mass was subtracted. */
typedef struct perpi_tied {
    int32_t block, n;
    double M[6 * 6], k[6];
} perpi_tied;

static double* block_of_body(perpi_formulation* f, const perp_model* model, int32_t body)
{
    double* M = f->M;
    for (int32_t i = 0; i < body; ++i) {
        M += model->body[i].dofs * model->body[i].dofs;
    }
    return M;
}

perp_status perpi_tie_append(perpi_formulation* f, const perp_model* model, const perp_contact* c,
                             perpi_layer_place* place)
{
    const int32_t a = f->block_of[c->body_a], n = model->body[c->body_a].dofs;
    const int32_t own = place->ties + place->yields, rows = place->ties;
    const perp_status status =
        perpi_formulation_room(f, 1, (size_t)rows, (size_t)(rows * (n + own)));
    if (status != PERP_OK) {
        return status;
    }
    double* J = f->J + f->jac;
    f->constraint[f->constraints++] = (perp_constraint){.kind = PERP_CONSTRAINT_EQUALITY,
                                                        .block = {a, place->block},
                                                        .row = f->rows,
                                                        .rows = rows,
                                                        .jac = f->jac};
    place->tie = f->constraints - 1;
    place->tie_row = f->rows;
    (void)perpi_contact_rows(model, f->pose, NULL, c, 0, rows, J);
    for (int32_t i = 0; i < rows * n; ++i) {
        J[i] = -J[i];
    }
    J += rows * n;
    memset(J, 0, (size_t)(rows * own) * sizeof *J);
    for (int32_t r = 0; r < rows; ++r) {
        J[r * own + r] = 1.0;
        f->b[f->rows + r] = f->lower[f->rows + r] = f->upper[f->rows + r] = 0.0;
        f->compliance[f->rows + r] = f->given[f->rows + r] = 0.0;
    }
    f->rows += rows;
    f->jac += (size_t)(rows * (n + own));
    return PERP_OK;
}

/* The body's entry, made if it has none yet. */
static perp_status find_tied(perpi_formulation* f, int32_t block, int32_t n, const double* M)
{
    for (int32_t i = 0; i < f->tied_count; ++i) {
        if (f->tied[i].block == block) {
            return PERP_OK;
        }
    }
    const perp_status status = perpi_grow(f->context, &f->tied, &f->tied_capacity,
                                          (size_t)f->tied_count + 1, sizeof *f->tied);
    if (status == PERP_OK) {
        perpi_tied* t = &f->tied[f->tied_count++];
        t->block = block;
        t->n = n;
        memcpy(t->M, M, (size_t)(n * n) * sizeof *M);
        memcpy(t->k, f->k + f->dof[block], (size_t)n * sizeof *f->k);
    }
    return status;
}

perp_status perpi_ties_transfer(perpi_formulation* f, const perp_model* model,
                                const perp_contact* contacts)
{
    perp_status status = PERP_OK;
    f->tied_count = 0;
    for (int32_t l = 0; status == PERP_OK && l < f->layer_count; ++l) {
        const perpi_layer_place* place = &f->layer[l];
        if (place->ties == 0) {
            continue;
        }
        const int32_t body = contacts[place->contact].body_a, n = model->body[body].dofs;
        const double* J = f->J + f->constraint[place->tie].jac; /* of -J_A */
        double* M = block_of_body(f, model, body);
        double* k = f->k + f->dof[f->block_of[body]];
        status = find_tied(f, f->block_of[body], n, M);
        for (int32_t i = 0; status == PERP_OK && i < n; ++i) {
            for (int32_t j = 0; j < n; ++j) {
                double part = 0.0;
                for (int32_t r = 0; r < place->ties; ++r) {
                    part += J[r * n + i] * J[r * n + j];
                }
                M[i * n + j] -= place->m * part;
            }
            for (int32_t r = 0; r < place->ties; ++r) {
                k[i] += J[r * n + i] * place->m * place->y[r];
            }
        }
    }
    return status;
}

void perpi_tie_gather(const perpi_formulation* f, const perpi_layer_place* place, double* v,
                      double* p)
{
    double* y = v + f->dof[place->block];
    memset(y, 0, (size_t)place->ties * sizeof *y);
    for (int32_t r = 0; r < place->ties; ++r) {
        y[r] = -perpi_formulation_speed(f, place->tie, r, v);
    }
    /* the tie's impulse follows from the equation of motion of y */
    for (int32_t r = 0; r < place->ties; ++r) {
        p[place->tie_row + r] =
            place->m * (y[r] - place->y[r]) - p[f->constraint[place->contact].row + r];
    }
}

bool perpi_ties_close(perpi_formulation* f, double* v, double* p)
{
    const perp_contact_problem* P = &f->problem;
    if (f->tied_count == 0 || perpi_grow(f->context, &f->force, &f->force_capacity,
                                         (size_t)P->dof_count, sizeof *f->force) != PERP_OK) {
        return false;
    }
    /* the ties carry the contacts' impulses to A: their J is -J_A */
    for (int32_t l = 0; l < f->layer_count; ++l) {
        const perpi_layer_place* place = &f->layer[l];
        for (int32_t r = 0; r < place->ties; ++r) {
            p[place->tie_row + r] = -p[f->constraint[place->contact].row + r];
        }
    }
    memset(f->force, 0, (size_t)P->dof_count * sizeof *f->force);
    perpi_jacobian_apply_transposed(P, p, f->force);
    for (int32_t i = 0; i < f->tied_count; ++i) {
        const perpi_tied* t = &f->tied[i];
        double L[6 * 6], x[6];
        const double* force = f->force + f->dof[t->block];
        for (int32_t j = 0; j < t->n; ++j) {
            x[j] = t->k[j] + force[j];
        }
        if (perpi_chol_factor(t->n, t->M, L)) {
            perpi_chol_solve(t->n, L, x);
            memcpy(v + f->dof[t->block], x, (size_t)t->n * sizeof *x);
        }
    }
    for (int32_t l = 0; l < f->layer_count; ++l) {
        if (f->layer[l].ties > 0) {
            perpi_tie_gather(f, &f->layer[l], v, p);
        }
    }
    return true;
}
