/* src/step/linear_point.c - see linear_point.h. */
#include "step/linear_point.h"

#include <string.h>

#include "step/linear_parts.h"

perp_status perpi_contact_move(const perp_model* model, const perpi_pose* pose,
                               const perpi_frozen_contact* frozen, perp_contact* c)
{
    perpi_contact_geometry g;
    const perp_status status = perpi_frozen_flat(model, pose, frozen, &g)
                                   ? PERP_OK
                                   : perpi_frozen_at(model, pose, frozen, &g);
    if (status != PERP_OK) {
        return status;
    }
    /* the point of a contact with a particle is the particle: sim/find_contacts.c */
    const perpi_body *a = &model->body[c->body_a], *b = &model->body[c->body_b];
    const bool particles = a->dofs > 0 && b->dofs > 0 && (a->particle || b->particle);
    c->gap = g.gap;
    v3_to(g.normal, c->normal);
    v3_to(g.tangent, c->tangent);
    v3_to(!particles    ? g.point_a
          : a->particle ? pose[c->body_a].x
                        : v3_madd(pose[c->body_b].x, -g.gap, g.normal),
          c->point);
    if (c->cone != PERP_CONE_NONE) {
        c->mu = perpi_model_friction(model, perpi_key_shape_a(c->key), perpi_key_shape_b(c->key));
    }
    return PERP_OK;
}

/* Room for the state after the step. */
static perp_status room_for_end(perpi_linear_step* l, size_t q, size_t v)
{
    perp_status status = perpi_grow(l->context, &l->q_next, &l->q_next_capacity, q, sizeof(double));
    if (status == PERP_OK) {
        status = perpi_grow(l->context, &l->v_next, &l->v_next_capacity, v, sizeof(double));
    }
    return status;
}

perp_status perpi_linear_step_at(perpi_linear_step* l, const perpi_step_point* point)
{
    const perp_model* model = point->in.model;
    const size_t bodies = model->body_count;
    const size_t q = (size_t)perpi_q_stride(model) * bodies,
                 v = (size_t)perpi_v_stride(model) * bodies;
    l->options = (perpi_linear_options){.threshold = 0.0};
    l->report = (perpi_linear_report){.margin = INFINITY, .margin_constraint = -1};
    l->columns = perpi_pair_columns(model);
    l->frozen_done = false;
    l->step = (perpi_taken_step){.in = point->in, .carries = point->carries};
    perp_status status = perpi_formulate(l->f, &l->step.in);
    if (status != PERP_OK) {
        return status;
    }
    l->dofs = l->f->problem.dof_count;
    l->rows = l->f->problem.row_count;
    status = perpi_linear_room(l);
    if (status == PERP_OK) {
        status = room_for_end(l, q, v);
    }
    if (status != PERP_OK) {
        return status;
    }
    memset(l->v, 0, (size_t)l->dofs * sizeof *l->v);
    memset(l->p, 0, (size_t)l->rows * sizeof *l->p);
    if (point->v != NULL) {
        memcpy(l->v, point->v, (size_t)l->dofs * sizeof *l->v);
    }
    if (point->p != NULL) {
        memcpy(l->p, point->p, (size_t)l->rows * sizeof *l->p);
    }

    /* the state after the step */
    memcpy(l->q_next, point->in.q, q * sizeof *l->q_next);
    memcpy(l->v_next, point->in.v, v * sizeof *l->v_next);
    perpi_formulation_scatter_v(l->f, model, l->v, l->v_next);
    status = perpi_advance(&l->step.in, l->q_next, l->v_next);
    if (status != PERP_OK) {
        return status;
    }
    if (point->carries) {
        perpi_momentum_carry(l->f, model, point->in.v, l->q_next, l->v_next);
    }
    l->step.q_end = l->q_next;
    l->step.v_end = l->v_next;

    /* rows: all of them count, whatever their impulse */
    status = perpi_linear_bodies(l);
    if (status != PERP_OK) {
        return status;
    }
    perpi_linear_evaluate_rows(l);
    for (int32_t i = 0; i < l->f->constraints; ++i) {
        l->law[i] = (perpi_law){.acts = true, .closing = i, .rows = l->f->constraint[i].rows};
    }
    return point->derivatives ? perpi_linear_differentiate_rows(l) : PERP_OK;
}

const perp_contact_problem* perpi_linear_problem(const perpi_linear_step* l)
{
    return &l->f->problem;
}

const int32_t* perpi_linear_block_of(const perpi_linear_step* l)
{
    return l->f->block_of;
}

void perpi_linear_dynamics(const perpi_linear_step* l, double* r)
{
    const perp_contact_problem* P = &l->f->problem;
    const double* M = P->M;
    for (int32_t b = 0; b < P->block_count; ++b) {
        const int32_t first = P->dof[b], n = P->dof[b + 1] - first;
        for (int32_t i = 0; i < n; ++i) {
            double sum = P->k[first + i];
            for (int32_t j = 0; j < n; ++j) {
                sum -= M[i * n + j] * l->v[first + j];
            }
            r[first + i] = sum;
        }
        M += n * n;
    }
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        perpi_linear_add_rows(l, i, false, l->p + P->constraint[i].row, r);
    }
}

const double* perpi_linear_row_speeds(const perpi_linear_step* l)
{
    return l->u;
}

const double* perpi_linear_mobility(const perpi_linear_step* l)
{
    return l->w;
}

const double* perpi_linear_q_next(const perpi_linear_step* l)
{
    return l->q_next;
}

const double* perpi_linear_v_next(const perpi_linear_step* l)
{
    return l->v_next;
}

void perpi_linear_point_residual(const perpi_linear_step* l, const double* dx, double* r, double* u)
{
    memset(r, 0, (size_t)l->dofs * sizeof *r);
    memset(u, 0, (size_t)l->rows * sizeof *u);
    perpi_linear_residual(l, dx, r, u);
}

void perpi_linear_point_advance(const perpi_linear_step* l, const double* dx, const double* dv,
                                double* next)
{
    perpi_linear_advance(l, dx, dv, next);
}
