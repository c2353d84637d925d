/* src/step/linear_terms.c - terms of rows beyond a pair of bodies: see linear_parts.h, row_derivative.h. */
#include "step/linear_parts.h"

void perpi_linear_no_terms(perpi_linear_step* l)
{
    l->term_count = 0;
}

static perp_status room_for_term(perpi_linear_step* l)
{
    return perpi_grow(l->context, &l->term, &l->term_capacity, (size_t)l->term_count + 1,
                      sizeof *l->term);
}

/* Rows of joints with prescribed bodies in an impact: their velocities are part of the state. Of
 * contacts: linear_given.c. */
static perp_status make_given(perpi_linear_step* l, int32_t i)
{
    perp_status status = PERP_OK;
    for (int32_t r = 0; status == PERP_OK && r < l->f->constraint[i].rows; ++r) {
        status = room_for_term(l);
        if (status == PERP_OK &&
            perpi_given_differentiate(&l->solved, i, r, &l->term[l->term_count])) {
            l->term_count += 1;
        }
    }
    return status;
}

/* Feed-forward of controllers, and what is not differentiated of them. */
static perp_status make_controllers(perpi_linear_step* l)
{
    const int32_t controllers = (int32_t)l->step.in.model->controller_count;
    perp_status status = PERP_OK;
    for (int32_t i = 0; status == PERP_OK && i < controllers; ++i) {
        const perp_constraint* c = &l->f->constraint[l->f->constraints - controllers + i];
        bool any = l->d_of[l->f->constraints - controllers + i] >= 0;
        /* beyond the limit of the joint's rate the bounds of its rows depend on the state (force_rows.c) */
        if (c->rows == 2 && (l->f->lower[c->row + 1] != 0.0 || l->f->upper[c->row + 1] != 0.0)) {
            l->report.flags |= PERPI_LINEAR_CHOICE;
        }
        for (int32_t part = 0; status == PERP_OK && any; ++part) {
            status = room_for_term(l);
            any = status == PERP_OK &&
                  perpi_feed_forward_differentiate(&l->solved, i, part, &l->term[l->term_count]);
            l->term_count += any;
        }
    }
    return status;
}

perp_status perpi_linear_make_terms(perpi_linear_step* l)
{
    const int32_t joints = l->f->contact_count, end = joints + l->f->joint_count;
    perp_status status = PERP_OK;
    for (int32_t i = joints; status == PERP_OK && i < end; ++i) {
        if (l->d_of[i] < 0) {
            continue;
        }
        status = l->step.impact ? make_given(l, i) : PERP_OK;
        if (status == PERP_OK) {
            status = room_for_term(l);
        }
        if (status == PERP_OK && perpi_term_differentiate(&l->solved, i, &l->term[l->term_count])) {
            l->term_count += 1;
        }
    }
    return status == PERP_OK && !l->step.impact ? make_controllers(l) : status;
}

void perpi_linear_terms(const perpi_linear_step* l, const double* dx, double* r_v, double* r_u)
{
    const perpi_linear_size at = perpi_linear_size_of(l->step.in.model);
    for (int32_t i = 0; i < l->term_count; ++i) {
        const perpi_row_term* t = &l->term[i];
        const double *dq = dx + (t->before ? at.before : at.q), *dv = dx + at.v;
        for (int32_t k = 0; k < l->columns.count; ++k) {
            const int32_t column = l->columns.item[k],
                          place = perpi_linear_place(l, t->d.body, column);
            if (place < 0) {
                continue;
            }
            r_u[t->row] += t->started ? t->rate[column] * dv[place] : 0.0;
            r_u[t->row] += t->placed ? t->d.u[0][column] * dq[place] : 0.0;
            for (int32_t a = 0; t->pushes && a < l->columns.count; ++a) {
                const int32_t dof = perpi_linear_dof(l, t->d.body, l->columns.item[a]);
                if (dof >= 0) {
                    r_v[dof] += t->d.impulse[l->columns.item[a]][column] * dq[place];
                }
            }
        }
    }
    if (l->ends) {
        perpi_linear_close(l, dx, r_v, r_u);
    }
}

void perpi_linear_terms_adjoint(const perpi_linear_step* l, const double* m_v, const double* m_u,
                                double* y)
{
    const perpi_linear_size at = perpi_linear_size_of(l->step.in.model);
    for (int32_t i = 0; i < l->term_count; ++i) {
        const perpi_row_term* t = &l->term[i];
        double *yq = y + (t->before ? at.before : at.q), *yv = y + at.v;
        for (int32_t k = 0; k < l->columns.count; ++k) {
            const int32_t column = l->columns.item[k],
                          place = perpi_linear_place(l, t->d.body, column);
            if (place < 0) {
                continue;
            }
            yv[place] += t->started ? t->rate[column] * m_u[t->row] : 0.0;
            yq[place] += t->placed ? t->d.u[0][column] * m_u[t->row] : 0.0;
            for (int32_t a = 0; t->pushes && a < l->columns.count; ++a) {
                const int32_t dof = perpi_linear_dof(l, t->d.body, l->columns.item[a]);
                if (dof >= 0) {
                    yq[place] += t->d.impulse[l->columns.item[a]][column] * m_v[dof];
                }
            }
        }
    }
    if (l->ends) {
        perpi_linear_close_adjoint(l, m_v, m_u, y);
    }
}
