/* src/step/linear_correct.c - the derivative of joint_correction: see linear_parts.h.
 *
 * Method     docs/notation.md, "Derivatives of a step"; src/sim/close_joints.c, src/sim/project.c
 *
 * The rows of joints hold at the end of the step: e(q') / h = 0 with q' = q + h v' takes the place
 * of J v' + e(q)/h = 0, while impulses act along J. So these rows have R = (de/dq') (dq'/dv') / h,
 * and de/dq' times what the start changes of q' on the right. The velocities of the state are then
 * projected onto what the joints and the contacts that push allow at q':
 *     M' (v+ - v') = J' p,   J v+ = 0
 * a linear problem of its own (l->project), through which displacements pass after the step.
 * Normals and points of its contacts are those of the start of the step, whose displacements the
 * state has in its part `before`.
 */
#include <string.h>

#include "step/joint_rows.h"
#include "step/linear_parts.h"

/* Relative: joints that are closed; speeds that vanish, and that agree. */
static const double CLOSED = 1e-9, STILL = 1e-8, SAME = 1e-6;

bool perpi_linear_closes(const perpi_linear_step* l, int32_t constraint)
{
    const int32_t k = constraint - l->f->contact_count;
    return l->ends && k >= 0 && k < l->f->joint_count && l->f->place[k].slot == 0;
}

/* ---- rows at the end ------------------------------------------------------------------------------*/

static void write_end_rows(perpi_linear_step* l, const perp_constraint* c, const int32_t body[2])
{
    const int32_t linear = l->step.in.model->dimension;
    const double h = l->step.in.h;
    double* R = l->R + c->jac;
    for (int side = 0; side < 2; ++side) {
        const int32_t block = c->block[side];
        if (block < 0) {
            continue;
        }
        const perpi_linear_body* b = &l->body[block];
        const int32_t n = l->f->dof[block + 1] - l->f->dof[block];
        PERP_ASSERT(b->body == body[side]);
        (void)body;
        for (int32_t r = 0; r < c->rows; ++r, R += n) {
            const double* e = l->closed_by + PERPI_PAIR_DOFS * (size_t)(c->row + r) + 6 * side;
            for (int32_t k = 0; k < linear; ++k) {
                R[k] = h * e[k];
            }
            const vec3 turn = m3_tmul(b->turn_rate, v3_from(e + 3));
            if (n == 6) {
                v3_to(turn, R + 3);
            } else if (n == 3 && linear == 2) {
                R[2] = turn.z;
            }
        }
    }
}

perp_status perpi_linear_carry(perpi_linear_step* l)
{
    const perp_model* model = l->step.in.model;
    const size_t v = (size_t)perpi_v_stride(model) * model->body_count;
    const perp_status status =
        perpi_grow(l->context, &l->carried, &l->carried_capacity, v, sizeof *l->carried);
    if (status == PERP_OK) {
        memcpy(l->carried, l->step.v_solved, v * sizeof *l->carried);
        if (l->step.carries) {
            perpi_momentum_carry(l->f, model, l->step.in.v, l->step.q_end, l->carried);
        }
    }
    return status;
}

/* Whether the poses after the step are those that its velocities lead to, not moved onto the joints. */
static perp_status check_end(perpi_linear_step* l)
{
    const perp_model* model = l->step.in.model;
    const size_t q = (size_t)perpi_q_stride(model) * model->body_count,
                 v = (size_t)perpi_v_stride(model) * model->body_count;
    double length = 0.0;
    for (size_t i = 0; i < model->joint_count; ++i) {
        length = perpi_larger(length, model->joint[i].size);
    }
    for (size_t i = 0; l->step.rolls && i < model->body_count; ++i) {
        length = perpi_larger(length, model->body[i].dofs > 0 ? model->body[i].reach : 0.0);
    }
    perp_status status = perpi_grow(l->context, &l->q_next, &l->q_next_capacity, q, sizeof(double));
    if (status == PERP_OK) {
        status = perpi_grow(l->context, &l->v_next, &l->v_next_capacity, v, sizeof(double));
    }
    if (status != PERP_OK) {
        return status;
    }
    memcpy(l->q_next, l->step.in.q, q * sizeof *l->q_next);
    memcpy(l->v_next, l->step.v_solved, v * sizeof *l->v_next);
    if (l->step.offset != NULL) {
        perpi_displace(model, l->step.offset, false, l->q_next);
    }
    status = perpi_advance(&l->step.in, l->q_next, l->v_next);
    for (int32_t i = 0; status == PERP_OK && i < (int32_t)model->body_count; ++i) {
        const perpi_pose a = perpi_state_pose(model, l->q_next, i);
        const perpi_pose b = perpi_state_pose(model, l->step.q_end, i);
        const double moved = v3_norm(v3_sub(b.x, a.x));
        const double turned = v3_norm(q4_log(q4_mul(b.q, q4_conj(a.q))));
        l->report.flags |=
            !(moved <= CLOSED * length && turned <= CLOSED) ? PERPI_LINEAR_FALLBACK : 0;
    }
    return status;
}

perp_status perpi_linear_close_rows(perpi_linear_step* l)
{
    const perp_model* model = l->step.in.model;
    const double h = l->step.in.h;
    const size_t total = (size_t)perpi_linear_size_of(model).total;
    perp_status status = perpi_grow(l->context, &l->R, &l->R_capacity, l->f->jac, sizeof *l->R);
    if (status == PERP_OK) {
        status = perpi_grow(l->context, &l->closed_by, &l->closed_capacity,
                            PERPI_PAIR_DOFS * (size_t)l->rows, sizeof *l->closed_by);
    }
    if (status == PERP_OK) {
        status = perpi_grow(l->context, &l->middle, &l->middle_capacity,
                            3 * total + (size_t)l->dofs, sizeof *l->middle);
    }
    if (status != PERP_OK) {
        return status;
    }
    memcpy(l->R, l->f->J, l->f->jac * sizeof *l->R);
    memset(l->closed_by, 0, PERPI_PAIR_DOFS * (size_t)l->rows * sizeof *l->closed_by);
    for (int32_t k = 0; k < l->f->joint_count; ++k) {
        const int32_t i = l->f->contact_count + k, joint = l->f->place[k].joint;
        const perp_constraint* c = &l->f->constraint[i];
        if (!perpi_linear_closes(l, i)) {
            continue;
        }
        const perpi_joint_view view =
            perpi_joint_evaluate(model, joint, l->step.q_end, l->step.in.joint[joint].turns);
        perpi_joint_change change[PERPI_PAIR_DOFS];
        perpi_joint_differentiate(model, joint, l->step.q_end, l->columns.item, l->columns.count,
                                  change);
        for (int32_t r = 0; r < c->rows; ++r) {
            const double scale = view.row[r].angular ? 1.0 : model->joint[joint].size;
            const bool off = fabs(view.row[r].b) > CLOSED * scale;
            l->report.flags |=
                off && (c->kind == PERP_CONSTRAINT_EQUALITY || l->p[c->row + r] > 0.0)
                    ? PERPI_LINEAR_FALLBACK
                    : 0;
            l->u[c->row + r] = view.row[r].b / h;
            for (int32_t n = 0; n < l->columns.count; ++n) {
                l->closed_by[PERPI_PAIR_DOFS * (size_t)(c->row + r) + (size_t)l->columns.item[n]] =
                    change[n].row[r].b / h;
            }
        }
        write_end_rows(l, c, model->joint[joint].body);
    }
    return check_end(l);
}

/* The joint of a constraint whose rows hold at the end; NULL: another one. */
static const perpi_joint* closed_joint(const perpi_linear_step* l, int32_t constraint)
{
    return perpi_linear_closes(l, constraint)
               ? &l->step.in.model->joint[l->f->place[constraint - l->f->contact_count].joint]
               : NULL;
}

void perpi_linear_close(const perpi_linear_step* l, const double* dx, double* r_v, double* r_u)
{
    const perpi_linear_size at = perpi_linear_size_of(l->step.in.model);
    double *end = l->middle, *still = end + 3 * at.total;
    memset(still, 0, (size_t)l->dofs * sizeof *still);
    perpi_linear_advance(l, dx, still, end);
    if (l->step.middle) {
        perpi_linear_middle_end(l, end + at.q, r_v, r_u);
    }
    for (int32_t i = l->f->contact_count; i < l->f->contact_count + l->f->joint_count; ++i) {
        const perpi_joint* joint = closed_joint(l, i);
        const perp_constraint* c = &l->f->constraint[i];
        for (int32_t r = c->row; joint != NULL && r < c->row + c->rows; ++r) {
            for (int32_t k = 0; k < l->columns.count; ++k) {
                const int32_t column = l->columns.item[k],
                              place = perpi_linear_place(l, joint->body, column);
                r_u[r] += place >= 0 ? l->closed_by[PERPI_PAIR_DOFS * r + column] * end[place] : 0;
            }
        }
    }
}

void perpi_linear_close_adjoint(const perpi_linear_step* l, const double* m_v, const double* m_u,
                                double* y)
{
    const perpi_linear_size at = perpi_linear_size_of(l->step.in.model);
    double *end = l->middle, *unused = end + 3 * at.total;
    memset(end, 0, (size_t)at.total * sizeof *end);
    memset(unused, 0, (size_t)l->dofs * sizeof *unused);
    if (l->step.middle) {
        perpi_linear_middle_end_adjoint(l, m_v, m_u, end + at.q);
    }
    for (int32_t i = l->f->contact_count; i < l->f->contact_count + l->f->joint_count; ++i) {
        const perpi_joint* joint = closed_joint(l, i);
        const perp_constraint* c = &l->f->constraint[i];
        for (int32_t r = c->row; joint != NULL && r < c->row + c->rows; ++r) {
            for (int32_t k = 0; k < l->columns.count; ++k) {
                const int32_t column = l->columns.item[k],
                              place = perpi_linear_place(l, joint->body, column);
                if (place >= 0) {
                    end[place] += l->closed_by[PERPI_PAIR_DOFS * r + column] * m_u[r];
                }
            }
        }
    }
    perpi_linear_advance_adjoint(l, end, y, unused);
}

void perpi_linear_close_vary(const perpi_linear_step* l, const perpi_step_input* in, double weight,
                             double* r_u)
{
    for (int32_t i = l->f->contact_count; i < l->f->contact_count + l->f->joint_count; ++i) {
        const perp_constraint* c = &l->f->constraint[i];
        if (!perpi_linear_closes(l, i)) {
            continue;
        }
        const int32_t joint = l->f->place[i - l->f->contact_count].joint;
        const perpi_joint_view view =
            perpi_joint_evaluate(in->model, joint, l->q_next, in->joint[joint].turns);
        for (int32_t r = 0; r < c->rows; ++r) {
            r_u[c->row + r] += weight * view.row[r].b / in->h;
        }
    }
}

/* ---- the projection -------------------------------------------------------------------------------*/

/* The contact of a step as the projection has it. */
static perp_contact projected_contact(const perp_contact* from)
{
    perp_contact c = *from;
    c.cone = PERP_CONE_NONE;
    c.gap = 0.0;
    memset(c.drift, 0, sizeof c.drift);
    memset(c.impulse, 0, sizeof c.impulse);
    return c;
}

static perp_status room_for_projection(perpi_linear_step* l)
{
    const perp_model* model = l->step.in.model;
    perpi_linear_step* x = l->project;
    perp_status status =
        perpi_grow(l->context, &l->held, &l->held_capacity, model->joint_count, sizeof *l->held);
    if (status == PERP_OK) {
        status = perpi_grow(l->context, &x->contact, &x->contact_capacity,
                            (size_t)l->step.in.contact_count, sizeof *x->contact);
    }
    if (status == PERP_OK) {
        status = perpi_grow(l->context, &l->held_contact, &l->held_contact_capacity,
                            (size_t)l->step.in.contact_count, sizeof *l->held_contact);
    }
    return status == PERP_OK ? perpi_grow(l->context, &x->rebound, &x->rebound_capacity,
                                          (size_t)l->step.in.contact_count + 1, sizeof *x->rebound)
                             : status;
}

/* Contacts, limits and ropes that push in the step take part. */
static void choose_held(perpi_linear_step* l)
{
    const perp_model* model = l->step.in.model;
    l->held_count = 0;
    for (int32_t i = 0; i < l->f->contact_count; ++i) {
        const perp_contact* c = &l->step.in.contact[i];
        const bool both = model->body[c->body_a].dofs > 0 && model->body[c->body_b].dofs > 0;
        if (l->law[i].acts) {
            l->held_contact[l->held_count] = i;
            l->project->contact[l->held_count++] = projected_contact(c);
            /* the projection has other points of particles, and other rules for groups */
            l->report.flags |= c->group != 0 || (both && (model->body[c->body_a].particle ||
                                                          model->body[c->body_b].particle))
                                   ? PERPI_LINEAR_CHOICE
                                   : 0;
        }
    }
    for (size_t i = 0; i < model->joint_count; ++i) {
        l->held[i] = l->step.in.joint[i];
        l->held[i].slack[0] = l->held[i].slack[1] = l->held[i].slack[2] = true;
    }
    for (int32_t k = 0; k < l->f->joint_count; ++k) {
        const perpi_joint_place* place = &l->f->place[k];
        const int which = place->slot == 1 + PERPI_LAW_LOWER   ? 0
                          : place->slot == 1 + PERPI_LAW_UPPER ? 1
                          : place->slot == 0                   ? 2
                                                               : -1;
        if (which >= 0 && l->law[l->f->contact_count + k].acts) {
            l->held[place->joint].slack[which] = false;
        }
    }
}

/* Of the step: what rounding leaves of it is neither a speed nor an impulse. */
static double speed_of(const perpi_linear_step* l)
{
    double speed = 0.0;
    for (int32_t i = 0; i < l->rows; ++i) {
        speed = perpi_larger(speed, perpi_larger(l->size[i], l->w[i] * fabs(l->p[i])));
    }
    return speed;
}

/* Rows that hold: equality, and others without speed. */
static perp_status choose_projected(perpi_linear_step* l)
{
    perpi_linear_step* x = l->project;
    const perp_contact_problem* P = &x->f->problem;
    const double least = l->options.threshold * STILL * speed_of(l);
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        const bool one_sided = c->kind != PERP_CONSTRAINT_EQUALITY;
        const bool holds = !one_sided || fabs(x->u[c->row]) <= STILL * x->size[c->row] + least;
        perpi_law* law = &x->law[i];
        *law = (perpi_law){.closing = i, .rows = c->rows, .margin = INFINITY, .acts = holds};
        for (int32_t r = 0; r < c->rows; ++r) {
            law->A[r * c->rows + r] = holds ? 1.0 : 0.0;
            law->B[r * c->rows + r] = holds ? 0.0 : 1.0;
        }
        const perpi_law_input in = {.problem = P, .w = x->w};
        if (!perpi_law_invert(&in, i, law)) {
            l->report.flags |= PERPI_LINEAR_SINGULAR;
        }
    }
    return perpi_linear_factor(x);
}

/* The impulses of the projection into x->p; what it leads to is compared with the state. A contact
 * that holds without an impulse, as one at rest does, is at the border of two cases. */
static void find_projected(perpi_linear_step* l)
{
    perpi_linear_step* x = l->project;
    double *a = x->work + 3 * (x->dofs + x->rows), *c = a + x->dofs, off = 0.0, size = 0.0;
    memcpy(a, x->f->k, (size_t)x->dofs * sizeof *a);
    for (int32_t i = 0; i < x->f->constraints; ++i) {
        const perp_constraint* row = &x->f->constraint[i];
        for (int32_t r = row->row; r < row->row + row->rows; ++r) {
            c[r] = x->law[i].acts ? -x->f->b[r] : 0.0;
        }
    }
    x->options.transposed = false;
    perpi_linear_solve(x, a, c, PERPI_LINEAR_REFINEMENTS);
    memcpy(x->p, c, (size_t)x->rows * sizeof *c);
    for (int32_t i = 0; i < x->dofs; ++i) {
        off = perpi_larger(off, fabs(a[i] - x->v[i]));
        size = perpi_larger(size, fabs(x->v[i]));
    }
    l->report.flags |= !(off <= SAME * size) ? PERPI_LINEAR_FALLBACK : 0;
    for (int32_t i = 0; i < x->f->constraints; ++i) {
        const perp_constraint* row = &x->f->constraint[i];
        const double push = x->w[row->row] * x->p[row->row];
        const double least = l->options.threshold * (x->size[row->row] + STILL * speed_of(l));
        if (row->kind != PERP_CONSTRAINT_EQUALITY && x->law[i].acts && !(push > least)) {
            l->report.flags |= PERPI_LINEAR_CHOICE;
        }
    }
}

/* A contact of the projection: derivatives by the end of the step into d, by its start as a term. */
static perp_status differentiate_held(perpi_linear_step* l, int32_t i,
                                      perpi_constraint_derivative* d)
{
    perpi_linear_step* x = l->project;
    const perp_contact* c = &x->contact[i];
    perpi_contact_derivative g;
    perp_status status = perpi_contact_change(l->step.in.model, l->f->pose,
                                              &l->step.in.contact[l->held_contact[i]], &g);
    if (status == PERP_OK) {
        status = perpi_grow(x->context, &x->term, &x->term_capacity, (size_t)x->term_count + 1,
                            sizeof *x->term);
    }
    if (status == PERP_OK) {
        perpi_row_term* term = &x->term[x->term_count++];
        *term = (perpi_row_term){
            .row = x->f->constraint[i].row, .placed = true, .pushes = true, .before = true};
        perpi_held_differentiate(&x->solved, c, &g, x->f->constraint[i].row, d, &term->d);
    }
    return status;
}

static perp_status differentiate_projection(perpi_linear_step* l)
{
    perpi_linear_step* x = l->project;
    perp_status status = PERP_OK;
    x->solved = (perpi_solved){.in = &x->step.in, .f = x->f, .v = x->v, .p = x->p};
    perpi_linear_no_terms(x);
    x->d_count = x->force_count = 0;
    for (int32_t i = 0; status == PERP_OK && i < x->f->constraints; ++i) {
        x->d_of[i] = -1;
        if (!x->law[i].acts) {
            continue;
        }
        status =
            perpi_grow(x->context, &x->d, &x->d_capacity, (size_t)x->d_count + 1, sizeof *x->d);
        if (status == PERP_OK) {
            perpi_constraint_derivative* d = &x->d[x->d_count];
            status = i < x->f->contact_count ? differentiate_held(l, i, d)
                                             : perpi_constraint_differentiate(&x->solved, i, d);
            x->d_of[i] = x->d_count++;
        }
    }
    return status == PERP_OK ? perpi_linear_make_terms(x) : status;
}

perp_status perpi_linear_make_projection(perpi_linear_step* l)
{
    const perp_model* model = l->step.in.model;
    perp_status status =
        l->project == NULL ? perpi_linear_step_create(l->context, &l->project) : PERP_OK;
    if (status == PERP_OK) {
        status = room_for_projection(l);
    }
    if (status != PERP_OK) {
        return status;
    }
    perpi_linear_step* x = l->project;
    choose_held(l);
    memset(x->rebound, 0, ((size_t)l->held_count + 1) * sizeof *x->rebound);
    x->options = l->options;
    x->columns = l->columns;
    x->report = (perpi_linear_report){.margin = INFINITY, .margin_constraint = -1};
    x->step = (perpi_taken_step){.in = l->step.in, .impact = true, .v_solved = l->step.v_end};
    x->step.in.q = l->step.q_end;
    x->step.in.v = l->carried;
    x->step.in.h = INFINITY; /* errors do not count */
    x->step.in.contact = x->contact;
    x->step.in.contact_count = l->held_count;
    x->step.in.joint = l->held;
    status = perpi_formulate_other(
        x->f, model, PERPI_PURPOSE_PROJECT, l->step.in.h,
        &(perpi_placed){x->step.in.q, x->step.in.v, x->contact, l->held_count, l->held});
    if (status != PERP_OK) {
        return status;
    }
    x->dofs = x->f->problem.dof_count;
    x->rows = x->f->problem.row_count;
    status = perpi_linear_room(x);
    if (status != PERP_OK) {
        return status;
    }
    perpi_formulation_gather_v(x->f, model, l->step.v_end, x->v);
    memset(x->p, 0, (size_t)x->rows * sizeof *x->p);
    status = perpi_linear_bodies(x);
    if (status == PERP_OK) {
        perpi_linear_evaluate_rows(x);
        status = choose_projected(l);
    }
    if (status == PERP_OK) {
        find_projected(l);
        x->options.transposed = l->options.transposed;
        status = differentiate_projection(l);
    }
    return status;
}

/* ---- displacements through the projection ----------------------------------------------------------*/

/* Room for a right-hand side behind what perpi_linear_solve uses. */
static perp_status room_to_project(perpi_linear_step* x)
{
    const size_t need = 3 * (size_t)(x->dofs + x->rows) + (size_t)(x->dofs + 2 * x->rows);
    return perpi_grow(x->context, &x->work, &x->work_capacity, need, sizeof *x->work);
}

perp_status perpi_linear_project(perpi_linear_step* l, const double* parameter, double* dx)
{
    perpi_linear_step* x = l->project;
    const perpi_linear_size at = perpi_linear_size_of(l->step.in.model);
    const int32_t n = perpi_v_stride(l->step.in.model);
    const perp_status status = room_to_project(x);
    if (status != PERP_OK) {
        return status;
    }
    double *r_v = x->work + 3 * (x->dofs + x->rows), *r_u = r_v + x->dofs, *c = r_u + x->rows;
    perpi_linear_right_side(x, dx, parameter, r_v, r_u, c);
    perpi_linear_solve(x, r_v, c, PERPI_LINEAR_REFINEMENTS);
    for (int32_t i = 0; i < x->body_count; ++i) {
        const perpi_linear_body* b = &x->body[i];
        const int32_t first = x->f->dof[b->block], dofs = x->f->dof[b->block + 1] - first;
        memcpy(dx + at.v + n * b->body, r_v + first, (size_t)dofs * sizeof *dx);
    }
    return PERP_OK;
}

perp_status perpi_linear_project_adjoint(perpi_linear_step* l, const double* y_next, double* y,
                                         double* multiplier)
{
    perpi_linear_step* x = l->project;
    const perpi_linear_size at = perpi_linear_size_of(l->step.in.model);
    const int32_t n = perpi_v_stride(l->step.in.model);
    const perp_status status = room_to_project(x);
    if (status != PERP_OK) {
        return status;
    }
    double *m_v = x->work + 3 * (x->dofs + x->rows), *m_p = m_v + x->dofs, *m_u = m_p + x->rows;
    memset(m_v, 0, (size_t)(x->dofs + 2 * x->rows) * sizeof *m_v);
    memcpy(y, y_next, (size_t)at.total * sizeof *y);
    for (int32_t i = 0; i < x->body_count; ++i) {
        const perpi_linear_body* b = &x->body[i];
        const int32_t first = x->f->dof[b->block], dofs = x->f->dof[b->block + 1] - first;
        memcpy(m_v + first, y_next + at.v + n * b->body, (size_t)dofs * sizeof *m_v);
        memset(y + at.v + n * b->body, 0, (size_t)dofs * sizeof *y);
    }
    perpi_linear_solve(x, m_v, m_p, PERPI_LINEAR_REFINEMENTS);
    for (int32_t i = 0; i < x->rows; ++i) {
        m_u[i] = -m_p[i]; /* A is 1 where m_p counts */
    }
    for (int32_t i = 0; i < x->f->constraints; ++i) {
        const perp_constraint* c = &x->f->constraint[i];
        for (int32_t r = c->row; !x->law[i].acts && r < c->row + c->rows; ++r) {
            m_u[r] = 0.0;
        }
    }
    perpi_linear_residual_adjoint(x, m_v, m_u, y);
    if (multiplier != NULL) {
        memset(multiplier, 0, (size_t)perpi_linear_projected_size(l) * sizeof *multiplier);
        memcpy(multiplier, m_v, (size_t)x->dofs * sizeof *m_v);
        memcpy(multiplier + x->dofs, m_u, (size_t)x->rows * sizeof *m_u);
    }
    return PERP_OK;
}

int32_t perpi_linear_projected_size(const perpi_linear_step* l)
{
    return l->step.corrected ? l->project->dofs + 2 * l->project->rows : 0;
}

perp_status perpi_linear_project_vary(perpi_linear_step* l, const perp_model* model, double weight,
                                      double* out)
{
    perpi_linear_step* x = l->project;
    perpi_step_input in = x->step.in;
    for (int32_t i = 0; i < l->held_count; ++i) { /* those of the step have been varied */
        x->contact[i] = projected_contact(&l->contact[l->held_contact[i]]);
    }
    in.model = model;
    const perp_status status =
        perpi_formulate_other(x->varied, model, PERPI_PURPOSE_PROJECT, l->step.in.h,
                              &(perpi_placed){in.q, in.v, x->contact, l->held_count, l->held});
    for (int32_t i = 0; i < l->held_count; ++i) {
        x->contact[i] = projected_contact(&l->step.in.contact[l->held_contact[i]]);
    }
    if (status == PERP_OK &&
        (x->varied->problem.dof_count != x->dofs || x->varied->problem.row_count != x->rows)) {
        return perpi_fail(l->context, PERP_ERROR_UNSUPPORTED,
                          "gradient: a parameter changes the rows of the step at t = %.9g",
                          l->step.in.t);
    }
    if (status == PERP_OK) {
        perpi_linear_add_varied(x, weight, out);
    }
    return status;
}
