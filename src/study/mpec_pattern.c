/* src/study/mpec_pattern.c - numbers of unknowns and equations, and where derivatives are not 0; see
 * mpec.h. */
#include "study/mpec.h"

static void number_unknowns(perpi_mpec* m)
{
    int32_t n = m->parameter_count, rows = 0;
    for (size_t k = 0; k < m->trajectory_count; ++k) {
        perpi_mpec_trajectory* t = &m->trajectory[k];
        int32_t x = n;
        t->x = n;
        n += m->stride;
        for (int32_t i = 0; i < t->steps; ++i) {
            perpi_mpec_step* s = &m->step[t->step + (size_t)i];
            s->x = x;
            s->v = n;
            s->p = n + s->dofs;
            n += s->dofs + s->rows;
            s->dynamics = rows;
            s->laws = rows + s->dofs;
            rows += s->dofs;
            for (int32_t c = 0; c < s->constraint_count; ++c) {
                perpi_mpec_constraint* a = &m->constraint[s->constraint + (size_t)c];
                a->law = rows;
                rows += a->law_count;
            }
            s->state = rows;
            rows += m->stride;
            s->x_next = x = n;
            n += m->stride;
        }
    }
    m->n = n;
    m->m = rows;
}

static perp_status number_locals(perpi_mpec* m)
{
    perp_status status = PERP_OK;
    for (size_t k = 0; status == PERP_OK && k < m->step_count; ++k) {
        const perpi_mpec_step* s = &m->step[k];
        for (int32_t i = 0; status == PERP_OK && i < s->constraint_count; ++i) {
            perpi_mpec_constraint* c = &m->constraint[s->constraint + (size_t)i];
            const int32_t columns = c->dofs[0] + c->dofs[1] + c->turns[0] + c->turns[1];
            c->local_count = c->rows + columns + c->mu_count;
            c->local = m->local_count;
            c->slope = m->slope_count;
            status = perpi_grow(m->context, &m->local, &m->local_room,
                                m->local_count + (size_t)c->local_count, sizeof *m->local);
            if (status == PERP_OK) {
                status = perpi_grow(m->context, &m->slope, &m->slope_room,
                                    m->slope_count + (size_t)(c->rows * columns), sizeof *m->slope);
            }
            if (status != PERP_OK) {
                return status;
            }
            int32_t* at = m->local + c->local;
            for (int32_t r = 0; r < c->rows; ++r) {
                *at++ = s->p + c->row + r;
            }
            for (int side = 0; side < 2; ++side) {
                const int32_t first = c->body[side] >= 0
                                          ? m->place[c->body[side]]
                                          : s->dofs; /* of a support's block: below */
                for (int32_t r = 0; r < c->dofs[side]; ++r) {
                    *at++ = s->v + first + r;
                }
            }
            for (int side = 0; side < 2; ++side) {
                for (int32_t r = 0; r < c->turns[side]; ++r) {
                    *at++ = s->x + m->place[c->body[side]] + r;
                }
            }
            for (int32_t r = 0; r < c->mu_count; ++r) {
                *at++ = c->mu_parameter[r];
            }
            m->local_count += (size_t)c->local_count;
            m->slope_count += (size_t)(c->rows * columns);
        }
    }
    return status;
}

/* Blocks of supports follow those of the bodies, one velocity each, in the order of their constraints. */
static void number_support_blocks(perpi_mpec* m)
{
    for (size_t k = 0; k < m->step_count; ++k) {
        const perpi_mpec_step* s = &m->step[k];
        for (int32_t i = 0; i < s->constraint_count; ++i) {
            const perpi_mpec_constraint* c = &m->constraint[s->constraint + (size_t)i];
            if (c->point >= 0) {
                m->local[c->local + (size_t)(c->rows + c->dofs[0])] = s->v + m->nd + c->point;
            }
        }
    }
}

static void add_entry(perpi_mpec* m, size_t* at, int32_t row, int32_t column)
{
    if (m->jacobian_row != NULL) {
        m->jacobian_row[*at] = row;
        m->jacobian_column[*at] = column;
    }
    *at += 1;
}

static void add_block(perpi_mpec* m, size_t* at, int32_t row, int32_t rows, int32_t column,
                      int32_t columns)
{
    for (int32_t i = 0; i < rows; ++i) {
        for (int32_t j = 0; j < columns; ++j) {
            add_entry(m, at, row + i, column + j);
        }
    }
}

/* Entries of the state after a step, body by body: perpi_mpec_jacobian writes them in this order. */
static void pattern_of_state(perpi_mpec* m, const perpi_mpec_step* s, size_t* at)
{
    for (int32_t b = 0; b < m->body_count; ++b) {
        const int32_t n = m->place[b] >= 0 ? m->dofs[b] : 0, place = m->place[b];
        for (int32_t k = 0; m->diagonal[b] && k < n; ++k) {
            add_entry(m, at, s->state + place + k, s->x + place + k);
            add_entry(m, at, s->state + place + k, s->v + place + k);
            add_entry(m, at, s->state + place + k, s->x_next + place + k);
            add_entry(m, at, s->state + m->nd + place + k, s->v + place + k);
            add_entry(m, at, s->state + m->nd + place + k, s->x_next + m->nd + place + k);
        }
        for (int part = 0; !m->diagonal[b] && n > 0 && part < 2; ++part) {
            const int32_t row = s->state + place + part * m->nd;
            add_block(m, at, row, n, s->x + place, n);
            add_block(m, at, row, n, s->x + m->nd + place, n);
            add_block(m, at, row, n, s->v + place, n);
            add_block(m, at, row, n, s->x_next + place + part * m->nd, n);
        }
    }
}

/* Of one step: dynamics by v', by p, by displacements, by velocities; laws; the state after it. */
static void pattern_of_step(perpi_mpec* m, perpi_mpec_step* s, size_t* at)
{
    s->jacobian = *at;
    for (int32_t b = 0; b < m->body_count; ++b) {
        if (m->place[b] >= 0) {
            add_block(m, at, s->dynamics + m->place[b], m->dofs[b], s->v + m->place[b], m->dofs[b]);
        }
    }
    for (int32_t i = m->nd; i < s->dofs; ++i) {
        add_entry(m, at, s->dynamics + i, s->v + i);
    }
    for (int32_t i = 0; i < s->constraint_count; ++i) {
        const perpi_mpec_constraint* c = &m->constraint[s->constraint + (size_t)i];
        const int32_t* velocity = m->local + c->local + c->rows;
        for (int32_t k = 0; k < c->dofs[0] + c->dofs[1]; ++k) {
            for (int32_t r = 0; r < c->rows; ++r) {
                add_entry(m, at, s->dynamics + velocity[k] - s->v, s->p + c->row + r);
            }
        }
    }
    for (int part = 0; part < 2; ++part) {
        const int32_t x = s->x + part * m->nd;
        for (int32_t b = 0; b < m->body_count; ++b) {
            if (m->place[b] >= 0) {
                add_block(m, at, s->dynamics + m->place[b], m->dofs[b], x + m->place[b],
                          m->dofs[b]);
            }
        }
        for (int32_t i = 0; i < s->pair_count; ++i) {
            const int32_t* b = m->pair[s->pair + (size_t)i].body;
            for (int side = 0; side < 2; ++side) {
                add_block(m, at, s->dynamics + m->place[b[side]], m->dofs[b[side]],
                          x + m->place[b[1 - side]], m->dofs[b[1 - side]]);
            }
        }
    }
    for (int32_t i = 0; i < s->constraint_count; ++i) {
        perpi_mpec_constraint* c = &m->constraint[s->constraint + (size_t)i];
        c->jacobian = *at;
        for (int32_t r = 0; r < c->law_count; ++r) {
            for (int32_t k = 0; k < c->local_count; ++k) {
                add_entry(m, at, c->law + r, m->local[c->local + (size_t)k]);
            }
        }
    }
    pattern_of_state(m, s, at);
}

static void pattern_of_jacobian(perpi_mpec* m)
{
    size_t at = 0;
    for (size_t k = 0; k < m->step_count; ++k) {
        pattern_of_step(m, &m->step[k], &at);
    }
    m->general_jacobian = at;
    for (int32_t i = 0; i < m->parameter_count; ++i) {
        for (int32_t r = 0; m->general[i] && r < m->m; ++r) {
            add_entry(m, &at, r, i);
        }
    }
    m->jacobian_count = at;
}

static void pattern_of_hessian(perpi_mpec* m)
{
    size_t at = 0;
    for (size_t i = 0; i < m->constraint_count; ++i) {
        perpi_mpec_constraint* c = &m->constraint[i];
        c->hessian = at;
        if (c->kind == PERPI_MPEC_EQUALITY) {
            continue;
        }
        for (int32_t a = 0; a < c->local_count; ++a) {
            for (int32_t b = 0; b <= a; ++b, ++at) {
                const int32_t x = m->local[c->local + (size_t)a],
                              y = m->local[c->local + (size_t)b];
                if (m->hessian_row != NULL) {
                    m->hessian_row[at] = x > y ? x : y;
                    m->hessian_column[at] = x > y ? y : x;
                }
            }
        }
    }
    m->hessian_count = perpi_mpec_objective_pattern(m, at);
}

perp_status perpi_mpec_number(perpi_mpec* m)
{
    number_unknowns(m);
    const perp_status status = number_locals(m);
    if (status == PERP_OK) {
        number_support_blocks(m);
    }
    return status;
}

void perpi_mpec_pattern(perpi_mpec* m)
{
    pattern_of_jacobian(m);
    pattern_of_hessian(m);
}
