/* src/step/linear_given.c - what the velocities of prescribed bodies change of a step: see linear_step.h. */
#include "step/linear_parts.h"

int32_t perpi_linear_step_rows_at(const perpi_linear_step* l)
{
    return l->dofs;
}

int32_t perpi_linear_step_next_at(const perpi_linear_step* l)
{
    return l->dofs + 2 * l->rows;
}

bool perpi_linear_meets_contacts_only(const perp_model* model, int32_t body)
{
    bool only = model->body[body].joints == 0 && model->body[body].gears == 0;
    for (size_t i = 0; i < model->spring_count; ++i) {
        only = only && model->spring[i].body[0] != body && model->spring[i].body[1] != body;
    }
    for (size_t i = 0; i < model->controller_count; ++i) {
        only = only && !(model->controller[i].joint < 0 && model->controller[i].body == body);
    }
    return only;
}

/* The rows of a contact by the velocity of one side: formulate.c, write_contact. */
static void rows_of_side(const perpi_linear_step* l, int32_t contact, int side,
                         perpi_given_rows* out)
{
    const perp_model* model = l->step.in.model;
    const perp_contact* c = &l->step.in.contact[contact];
    const perp_constraint* x = &l->f->constraint[contact];
    const vec3 n = v3_from(c->normal), t = v3_from(c->tangent);
    const vec3 direction[4] = {n, t, v3_cross(n, t), n};
    const double sign = side == 0 ? -1.0 : 1.0;
    const perpi_body* other = &model->body[side == 0 ? c->body_b : c->body_a];
    const bool takes_torsion = !(other->dofs > 0 && other->particle);
    const vec3 arm =
        v3_sub(v3_madd(v3_from(c->point), perpi_acting_part(model, c, side) * c->gap, n),
               l->f->pose[side == 0 ? c->body_a : c->body_b].x);
    out->body = side == 0 ? c->body_a : c->body_b;
    out->row = x->row;
    out->rows = x->rows;
    for (int32_t r = 0; r < x->rows; ++r) {
        const vec3 d = v3_scale(r < 3 || takes_torsion ? sign : 0.0, direction[r]);
        v3_to(r < 3 ? d : v3(0, 0, 0), out->J[r]);
        v3_to(r < 3 ? v3_cross(arm, d) : d, out->J[r] + 3);
    }
}

perp_status perpi_linear_step_given(perpi_linear_step* l, const bool* wanted,
                                    const perpi_given_rows** rows, int32_t* count)
{
    const perpi_step_input* in = &l->step.in;
    size_t n = 0;
    for (int32_t i = 0; i < l->f->contact_count; ++i) {
        for (int side = 0; side < 2 && l->d_of[i] >= 0; ++side) {
            if (!wanted[side == 0 ? in->contact[i].body_a : in->contact[i].body_b]) {
                continue;
            }
            const perp_status status =
                perpi_grow(l->context, &l->given, &l->given_capacity, n + 1, sizeof *l->given);
            if (status != PERP_OK) {
                return status;
            }
            rows_of_side(l, i, side, &l->given[n++]);
        }
    }
    *rows = l->given;
    *count = (int32_t)n;
    return PERP_OK;
}

/* An impact has the velocities of prescribed bodies at its time, which are numbers of the state. */
static bool moves_in_impact(const perpi_linear_step* l, int32_t contact, int side)
{
    const perp_contact* c = &l->step.in.contact[contact];
    const int32_t body = side == 0 ? c->body_a : c->body_b;
    return l->step.impact && l->d_of[contact] >= 0 &&
           l->step.in.model->body[body].type == PERP_BODY_KINEMATIC;
}

/* Newton's law without times: e u- has them, too. */
static double counts_in_row(const perpi_linear_step* l, int32_t contact, int32_t row)
{
    return row == 0 && !l->met ? 1.0 + l->rebound[contact] : 1.0;
}

static int32_t flat_of(const perpi_linear_step* l, int32_t body, int column)
{
    if (l->step.in.model->dimension == 3) {
        return 6 * body + column;
    }
    return column < 2 ? 3 * body + column : column == 5 ? 3 * body + 2 : -1;
}

void perpi_linear_given_residual(const perpi_linear_step* l, const double* dv, double* r_u)
{
    for (int32_t i = 0; l->step.impact && i < l->f->contact_count; ++i) {
        for (int side = 0; side < 2; ++side) {
            perpi_given_rows rows;
            if (!moves_in_impact(l, i, side)) {
                continue;
            }
            rows_of_side(l, i, side, &rows);
            for (int32_t r = 0; r < rows.rows; ++r) {
                for (int c = 0; c < 6; ++c) {
                    const int32_t at = flat_of(l, rows.body, c);
                    r_u[rows.row + r] +=
                        at >= 0 ? counts_in_row(l, i, r) * rows.J[r][c] * dv[at] : 0.0;
                }
            }
        }
    }
}

void perpi_linear_given_residual_adjoint(const perpi_linear_step* l, const double* m_u, double* yv)
{
    for (int32_t i = 0; l->step.impact && i < l->f->contact_count; ++i) {
        for (int side = 0; side < 2; ++side) {
            perpi_given_rows rows;
            if (!moves_in_impact(l, i, side)) {
                continue;
            }
            rows_of_side(l, i, side, &rows);
            for (int32_t r = 0; r < rows.rows; ++r) {
                for (int c = 0; c < 6; ++c) {
                    const int32_t at = flat_of(l, rows.body, c);
                    if (at >= 0) {
                        yv[at] += counts_in_row(l, i, r) * rows.J[r][c] * m_u[rows.row + r];
                    }
                }
            }
        }
    }
}
