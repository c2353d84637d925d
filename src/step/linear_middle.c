/* src/step/linear_middle.c - the derivative of a middle step (middle.c): see linear_parts.h.
 *
 * Method     docs/notation.md, "Derivatives of middle steps"
 *
 * Rows and impulses of the joints are those of the means of directions and arms at q and at q' = q
 * + h v*, inertia and forces those of the pose half way, q_m = q + (h/2) v*. So the equations M_m
 * v* - k_m - J_m' p = 0 depend on v* through both poses, beside M_m:
 *     (M_m + X) dv* - J_m' dp = r_v,   X = d (M_m v* - k_m)/dq_m dq_m/dv* - d (J_m' p)/dq' dq'/dv*
 * X has the blocks of the joints' pairs of bodies. Rows that hold at the end of the step are those
 * of linear_correct.c; others (motors, friction, damping) have J_m v* + b, and R = J_m + d (J_m v*
 * + b)/dq' dq'/dv*. After the step v' = 2 v* - v and L' = 2 I_m w* - L.
 */
#include <string.h>

#include "base/turn.h"
#include "step/chord.h"
#include "step/linear_parts.h"

static const double THETA = 0.5;

/* ---- bodies --------------------------------------------------------------------------------------*/

static mat3 m3_combine(double a, mat3 A, double b, mat3 B)
{
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            A.m[i][j] = a * A.m[i][j] + b * B.m[i][j];
        }
    }
    return A;
}

static mat3 m3_times(double a, mat3 A)
{
    return m3_combine(a, A, 0.0, A);
}

/* d (I a) by a rotation of the body, a fixed. */
static mat3 inertia_change(mat3 I, vec3 a)
{
    return m3_combine(1.0, m3_mm(I, m3_cross(a)), -1.0, m3_cross(m3_mul(I, a)));
}

/* half_turn, half_rate: d (rotation half way) by that at the start, and by w*. M_turn: by the
 * rotation half way. */
static void use_half_way(perpi_linear_body* b, mat3 half_turn, mat3 half_rate, mat3 M_turn)
{
    b->half_turn = half_turn;
    b->half_rate = half_rate;
    b->middle_force = m3_times(-1.0, m3_mm(b->force_turn, half_rate));
    b->middle_torque = m3_mm(m3_combine(1.0, M_turn, -1.0, b->torque_turn), half_rate);
    b->force_turn = m3_mm(b->force_turn, half_turn);
    b->torque_turn = m3_mm(b->torque_turn, half_turn);
    b->M_turn = m3_mm(M_turn, half_turn);
}

static void differentiate_planar(const perpi_linear_step* l, const perpi_body* body,
                                 perpi_linear_body* b)
{
    const double h = l->step.in.h;
    mat3 half_turn = m3_times(0.0, m3_identity()), half_rate = half_turn;
    half_turn.m[2][2] = 1.0;
    const vec3 mean = v3(0, 0, l->v[l->f->dof[b->block] + 2]);
    const double slope = perpi_turn_slope(&l->step.in, b->body, mean).m[2][2];
    half_rate.m[2][2] = THETA * h * slope;
    b->I.m[2][2] = b->spin_rate.m[2][2] = body->inertia.m[2][2];
    b->spin_torque.m[2][2] = b->turn_turn.m[2][2] = 1.0;
    b->turn_rate.m[2][2] = h * slope;
    b->M_inverse[11] = 1.0 / (b->I.m[2][2] + THETA * h * body->drag_angular);
    use_half_way(b, half_turn, half_rate, b->M_turn);
}

/* The angular velocity after the step, of L' = 2 I_m w* - L. */
static void differentiate_next(const perpi_linear_step* l, const perpi_body* body,
                               perpi_linear_body* b, mat3 start, vec3 w, vec3 mean, mat3 turn_rate)
{
    const perp_model* model = l->step.in.model;
    const perpi_pose end = perpi_state_pose(model, l->step.q_end, b->body);
    const vec3 w_state = perpi_state_rate(model, l->step.v_end, b->body);
    const vec3 L = v3_sub(v3_scale(1.0 / THETA, m3_mul(b->I, mean)),
                          v3_scale(1.0 / THETA - 1.0, m3_mul(start, w)));
    b->carry = m3_mm(end.R, m3_mm(m3_inverse(body->inertia), m3_transpose(end.R)));
    b->carry_turn = m3_combine(1.0, m3_mm(b->carry, m3_cross(L)), -1.0, m3_cross(w_state));
    b->L_turn = m3_combine(1.0 / THETA, b->M_turn, 1.0 - 1.0 / THETA, b->spin_turn);
    b->L_next = m3_times(1.0 / THETA, m3_combine(1.0, b->I, 1.0, turn_rate));
    b->L_rate = m3_times(1.0 - 1.0 / THETA, start);
}

/* With the term g of a body that turns by the chord, L' = 2 Q I_m w* - Q Q L. wide: d (I_m w*) by w* at the middle, beside I_m. */
static void differentiate_chord(const perpi_linear_step* l, const perpi_body* body,
                                perpi_linear_body* b, mat3 start, vec3 w, vec3 mean, mat3 wide)
{
    const perpi_step_input* in = &l->step.in;
    const vec3 before = m3_mul(start, w), spin = m3_mul(b->I, mean);
    const mat3 Q = q4_matrix(q4_exp(v3_scale(THETA, perpi_turn_of(in, b->body, mean))));
    const mat3 QQ = m3_mm(Q, Q), T = perpi_chord_slope(in, b->body, b->I, before, mean);
    const mat3 by_rate = m3_mm(QQ, start), by_turn = m3_mm(QQ, b->spin_turn);
    const perpi_pose end = perpi_state_pose(in->model, l->step.q_end, b->body);
    const vec3 w_state = perpi_state_rate(in->model, l->step.v_end, b->body);
    const vec3 L = v3_sub(v3_scale(2.0, m3_mul(Q, spin)), m3_mul(QQ, before));
    /* I_m w* - g in place of I_m w* */
    b->middle_torque = m3_combine(1.0, b->middle_torque, -1.0, wide);
    b->middle_torque = m3_combine(1.0, b->middle_torque, 1.0, m3_combine(1.0, T, -1.0, b->I));
    b->L_turn = m3_combine(2.0, m3_mm(Q, b->M_turn), -1.0, by_turn);
    b->L_next = m3_times(2.0, T);
    b->L_rate = m3_times(-1.0, by_rate);
    b->carry = m3_mm(end.R, m3_mm(m3_inverse(body->inertia), m3_transpose(end.R)));
    b->carry_turn = m3_combine(1.0, m3_mm(b->carry, m3_cross(L)), -1.0, m3_cross(w_state));
    b->M_turn = m3_mm(Q, b->M_turn);
    b->spin_turn = m3_combine(0.5, b->spin_turn, 0.5, by_turn);
    b->spin_rate = m3_combine(0.5, start, 0.5, by_rate);
}

perp_status perpi_linear_middle_body(const perpi_linear_step* l, perpi_linear_body* b)
{
    const perpi_step_input* in = &l->step.in;
    const perp_model* model = in->model;
    const perpi_body* body = &model->body[b->body];
    const perpi_pose *half = &l->f->end[b->body], *pose = &l->f->pose[b->body];
    const double span = THETA * in->h;
    for (int i = 0; i < 3; ++i) {
        b->M_inverse[i] = 1.0 / (body->mass + span * body->drag_linear);
    }
    perpi_linear_wrenches(model, in->t + span, span, half, b);
    if (!b->turns) {
        return PERP_OK;
    }
    if (model->dimension == 2) {
        differentiate_planar(l, body, b);
        return PERP_OK;
    }
    const vec3 w = perpi_state_rate(model, in->v, b->body);
    const vec3 mean = v3_from(l->v + l->f->dof[b->block] + 3);
    const vec3 part = v3_scale(THETA, perpi_turn_of(in, b->body, mean));
    const mat3 start = perpi_world_inertia(body, pose);
    const mat3 half_rate =
        m3_times(span, m3_mm(perpi_turn_derivative(part), perpi_turn_slope(in, b->body, mean)));
    b->I = perpi_world_inertia(body, half);
    mat3 M = b->I, M_turn = b->M_turn;
    for (int i = 0; i < 3; ++i) {
        M.m[i][i] += span * body->drag_angular;
    }
    const mat3 inverse = m3_inverse(M);
    memcpy(b->M_inverse + 3, inverse.m, sizeof inverse.m);
    perpi_linear_rotation(l, b, mean);
    b->spin_rate = start;
    b->spin_torque = m3_identity();
    if (b->unround) {
        b->spin_turn = inertia_change(start, w);
        M_turn = inertia_change(b->I, mean);
    }
    use_half_way(b, q4_matrix(q4_exp(part)), half_rate, M_turn);
    if (b->unround) {
        differentiate_next(l, body, b, start, w, mean, m3_mm(M_turn, half_rate));
    }
    if (b->unround && perpi_turns_by_chord(in, b->body)) {
        differentiate_chord(l, body, b, start, w, mean, m3_mm(M_turn, half_rate));
    }
    return PERP_OK;
}

/* ---- rows at the end -----------------------------------------------------------------------------*/

/* Displacements of a body at the end by velocities of the problem, and the transpose; a prescribed
 * one has none. */
static void move_end(const perpi_linear_step* l, const int32_t body[2], const double* v,
                     double out[PERPI_PAIR_DOFS])
{
    const int32_t linear = l->step.in.model->dimension;
    memset(out, 0, PERPI_PAIR_DOFS * sizeof *out);
    for (int side = 0; side < 2; ++side) {
        const int32_t block = body[side] >= 0 ? l->f->block_of[body[side]] : -1;
        if (block < 0) {
            continue;
        }
        const double* at = v + l->f->dof[block];
        for (int32_t k = 0; k < linear; ++k) {
            out[6 * side + k] = l->step.in.h * at[k];
        }
        if (l->body[block].turns) {
            const vec3 rate = linear == 2 ? v3(0, 0, at[2]) : v3_from(at + 3);
            v3_to(m3_mul(l->body[block].turn_rate, rate), out + 6 * side + 3);
        }
    }
}

static void move_end_adjoint(const perpi_linear_step* l, const int32_t body[2],
                             const double y[PERPI_PAIR_DOFS], double weight, double* v)
{
    const int32_t linear = l->step.in.model->dimension;
    for (int side = 0; side < 2; ++side) {
        const int32_t block = body[side] >= 0 ? l->f->block_of[body[side]] : -1;
        if (block < 0) {
            continue;
        }
        double* at = v + l->f->dof[block];
        for (int32_t k = 0; k < linear; ++k) {
            at[k] += weight * l->step.in.h * y[6 * side + k];
        }
        if (l->body[block].turns) {
            const vec3 turn = m3_tmul(l->body[block].turn_rate, v3_from(y + 6 * side + 3));
            at[2] += linear == 2 ? weight * turn.z : 0.0;
            for (int32_t k = 0; linear == 3 && k < 3; ++k) {
                at[3 + k] += weight * v3_get(turn, k);
            }
        }
    }
}

/* R = J + (d u / dq') (dq' / dv) of the rows of a constraint. */
static void add_to_rows(perpi_linear_step* l, const perpi_linear_end* x)
{
    const perp_constraint* c = &l->f->constraint[x->constraint];
    const int32_t first =
        c->block[0] >= 0 ? l->f->dof[c->block[0] + 1] - l->f->dof[c->block[0]] : 0;
    double* row = l->work; /* velocities of the problem, of which two blocks are used */
    for (int32_t r = 0; r < c->rows; ++r) {
        memset(row, 0, (size_t)l->dofs * sizeof *row);
        move_end_adjoint(l, x->d.body, x->d.u[r], 1.0, row);
        for (int side = 0; side < 2; ++side) {
            const int32_t block = c->block[side];
            const int32_t n = block >= 0 ? l->f->dof[block + 1] - l->f->dof[block] : 0;
            double* R = l->R + c->jac + (side == 1 ? c->rows * first : 0) + r * n;
            for (int32_t k = 0; k < n; ++k) {
                R[k] += row[l->f->dof[block] + k];
            }
        }
    }
}

static perp_status add_end_of_joint(perpi_linear_step* l, const perpi_solved* at, int32_t i)
{
    perpi_linear_end* x = &l->end[l->end_count];
    x->constraint = i;
    const perp_status status = perpi_constraint_differentiate(at, i, &x->d);
    if (status != PERP_OK) {
        return status;
    }
    l->end_count += 1;
    if (perpi_linear_closes(l, i)) { /* linear_correct.c has them */
        memset(x->d.u, 0, sizeof x->d.u);
        return PERP_OK;
    }
    perpi_row_term term;
    if (perpi_term_differentiate(at, i, &term)) { /* of a rotor: one row, no impulse */
        for (int c = 0; c < PERPI_PAIR_DOFS; ++c) {
            x->d.u[0][c] += term.d.u[0][c];
        }
    }
    add_to_rows(l, x);
    return PERP_OK;
}

perp_status perpi_linear_middle_rows(perpi_linear_step* l)
{
    const perp_model* model = l->step.in.model;
    const perpi_solved at = {.in = &l->step.in,
                             .f = l->f,
                             .v = l->v,
                             .p = l->p,
                             .threshold = l->options.threshold,
                             .at_end = true};
    perp_status status = perpi_grow(l->context, &l->end, &l->end_capacity,
                                    (size_t)l->f->joint_count + model->joint_count, sizeof *l->end);
    l->end_count = 0;
    for (int32_t k = 0; status == PERP_OK && k < l->f->joint_count; ++k) {
        status = add_end_of_joint(l, &at, l->f->contact_count + k);
    }
    for (int32_t i = 0; status == PERP_OK && i < (int32_t)model->joint_count; ++i) {
        bool any = false;
        status = perpi_effort_differentiate(&at, i, &l->end[l->end_count].d, &any);
        if (any) {
            l->end[l->end_count++].constraint = -1;
        }
    }
    return status;
}

void perpi_linear_middle_end(const perpi_linear_step* l, const double* dq, double* r_v, double* r_u)
{
    for (int32_t i = 0; i < l->end_count; ++i) {
        const perpi_linear_end* x = &l->end[i];
        const perp_constraint* c = x->constraint >= 0 ? &l->f->constraint[x->constraint] : NULL;
        for (int32_t k = 0; k < l->columns.count; ++k) {
            const int32_t column = l->columns.item[k],
                          place = perpi_linear_place(l, x->d.body, column);
            const double by = place >= 0 ? dq[place] : 0.0;
            for (int32_t r = 0; c != NULL && r < c->rows; ++r) {
                r_u[c->row + r] += x->d.u[r][column] * by;
            }
            for (int32_t a = 0; a < l->columns.count; ++a) {
                const int32_t dof = perpi_linear_dof(l, x->d.body, l->columns.item[a]);
                if (dof >= 0) {
                    r_v[dof] += x->d.impulse[l->columns.item[a]][column] * by;
                }
            }
        }
    }
}

/* y = (d (J' p) / dq')' m of one constraint. */
static void impulse_adjoint(const perpi_linear_step* l, const perpi_linear_end* x, const double* m,
                            double y[PERPI_PAIR_DOFS])
{
    memset(y, 0, PERPI_PAIR_DOFS * sizeof *y);
    for (int32_t a = 0; a < l->columns.count; ++a) {
        const int32_t dof = perpi_linear_dof(l, x->d.body, l->columns.item[a]);
        for (int32_t c = 0; dof >= 0 && c < PERPI_PAIR_DOFS; ++c) {
            y[c] += x->d.impulse[l->columns.item[a]][c] * m[dof];
        }
    }
}

void perpi_linear_middle_end_adjoint(const perpi_linear_step* l, const double* m_v,
                                     const double* m_u, double* yq)
{
    for (int32_t i = 0; i < l->end_count; ++i) {
        const perpi_linear_end* x = &l->end[i];
        const perp_constraint* c = x->constraint >= 0 ? &l->f->constraint[x->constraint] : NULL;
        double y[PERPI_PAIR_DOFS];
        impulse_adjoint(l, x, m_v, y);
        for (int32_t k = 0; k < l->columns.count; ++k) {
            const int32_t column = l->columns.item[k],
                          place = perpi_linear_place(l, x->d.body, column);
            double sum = y[column];
            for (int32_t r = 0; c != NULL && r < c->rows; ++r) {
                sum += x->d.u[r][column] * m_u[c->row + r];
            }
            if (place >= 0) {
                yq[place] += sum;
            }
        }
    }
}

/* ---- the matrix ----------------------------------------------------------------------------------*/

static vec3 turn_of(const perpi_linear_step* l, int32_t block, const double* x)
{
    const double* at = x + l->f->dof[block];
    return l->step.in.model->dimension == 2 ? v3(0, 0, at[2]) : v3_from(at + 3);
}

static void subtract_turn(const perpi_linear_step* l, int32_t block, vec3 turn, double* x)
{
    double* at = x + l->f->dof[block];
    if (l->step.in.model->dimension == 2) {
        at[2] -= turn.z;
    } else {
        v3_to(v3_sub(v3_from(at + 3), turn), at + 3);
    }
}

static void subtract_bodies(const perpi_linear_step* l, const double* v, double* x)
{
    const int32_t linear = l->step.in.model->dimension;
    for (int32_t i = 0; i < l->body_count; ++i) {
        const perpi_linear_body* b = &l->body[i];
        const double* from = v + l->f->dof[b->block];
        double* to = x + l->f->dof[b->block];
        if (!b->turns) {
            continue;
        }
        const vec3 rate = turn_of(l, b->block, v);
        if (l->options.transposed) {
            const vec3 place = v3(from[0], from[1], linear == 3 ? from[2] : 0.0);
            subtract_turn(l, b->block,
                          v3_add(m3_tmul(b->middle_force, place), m3_tmul(b->middle_torque, rate)),
                          x);
            continue;
        }
        const vec3 force = m3_mul(b->middle_force, rate);
        for (int32_t k = 0; k < linear; ++k) {
            to[k] -= v3_get(force, k);
        }
        subtract_turn(l, b->block, m3_mul(b->middle_torque, rate), x);
    }
}

/* Impulses of contacts of the middle. */
static void subtract_push(const perpi_linear_step* l, const double* v, double* x)
{
    for (int32_t i = 0; i < l->body_count; ++i) {
        const perpi_linear_body* b = &l->body[i];
        const int32_t first = l->f->dof[b->block], n = l->f->dof[b->block + 1] - first;
        for (int32_t r = 0; r < n; ++r) {
            for (int32_t c = 0; c < n; ++c) {
                x[first + r] +=
                    (l->options.transposed ? b->push[c][r] : b->push[r][c]) * v[first + c];
            }
        }
    }
}

void perpi_linear_middle_subtract(const perpi_linear_step* l, const double* v, double* x)
{
    subtract_bodies(l, v, x);
    if (l->step.rolls) {
        subtract_push(l, v, x);
    }
    for (int32_t i = 0; i < l->end_count; ++i) {
        const perpi_linear_end* e = &l->end[i];
        double y[PERPI_PAIR_DOFS];
        if (l->options.transposed) {
            impulse_adjoint(l, e, v, y);
            move_end_adjoint(l, e->d.body, y, 1.0, x);
            continue;
        }
        move_end(l, e->d.body, v, y);
        for (int32_t a = 0; a < l->columns.count; ++a) {
            const int32_t row = l->columns.item[a], dof = perpi_linear_dof(l, e->d.body, row);
            for (int32_t k = 0; dof >= 0 && k < l->columns.count; ++k) {
                x[dof] += e->d.impulse[row][l->columns.item[k]] * y[l->columns.item[k]];
            }
        }
    }
}

/* Entry (row, column) of X, both of the whole problem. */
static void add_entry(perpi_linear_step* l, const int32_t block[2], int32_t row, int32_t column,
                      double value)
{
    int32_t stride;
    const bool t = l->options.transposed;
    const int32_t a = t ? block[1] : block[0], b = t ? block[0] : block[1];
    double* K = perpi_linear_block(l, a, b, &stride);
    K[((t ? column : row) - l->f->dof[a]) * stride + (t ? row : column) - l->f->dof[b]] += value;
}

static void add_end(perpi_linear_step* l, const perpi_linear_end* x)
{
    double* at = l->work;
    for (int32_t a = 0; a < l->columns.count; ++a) {
        const int32_t k = l->columns.item[a], row = perpi_linear_dof(l, x->d.body, k);
        if (row < 0) {
            continue;
        }
        for (int side = 0; side < 2; ++side) {
            const int32_t body = x->d.body[side], block = body >= 0 ? l->f->block_of[body] : -1;
            if (block < 0) {
                continue;
            }
            const int32_t sides[2] = {side == 0 ? body : -1, side == 1 ? body : -1};
            const int32_t from = l->f->dof[block], to = l->f->dof[block + 1];
            memset(at + from, 0, (size_t)(to - from) * sizeof *at);
            move_end_adjoint(l, sides, x->d.impulse[k], -1.0, at);
            for (int32_t column = from; column < to; ++column) {
                add_entry(l, (int32_t[]){l->f->block_of[x->d.body[k / 6]], block}, row, column,
                          at[column]);
            }
        }
    }
}

void perpi_linear_middle_factor(perpi_linear_step* l)
{
    const int32_t linear = l->step.in.model->dimension;
    for (int32_t i = 0; i < l->body_count; ++i) {
        const perpi_linear_body* b = &l->body[i];
        const int32_t first = l->f->dof[b->block], axes = linear == 2 ? 1 : 3;
        const int32_t block[2] = {b->block, b->block};
        const int32_t n = l->step.rolls ? l->f->dof[b->block + 1] - first : 0;
        for (int32_t r = 0; r < n; ++r) {
            for (int32_t c = 0; c < n; ++c) {
                add_entry(l, block, first + r, first + c, -b->push[r][c]);
            }
        }
        for (int32_t c = 0; b->turns && c < axes; ++c) {
            const int32_t axis = linear == 2 ? 2 : c;
            for (int32_t r = 0; r < linear; ++r) {
                add_entry(l, block, first + r, first + linear + c, b->middle_force.m[r][axis]);
            }
            for (int32_t r = 0; r < axes; ++r) {
                add_entry(l, block, first + linear + r, first + linear + c,
                          b->middle_torque.m[linear == 2 ? 2 : r][axis]);
            }
        }
    }
    for (int32_t i = 0; i < l->end_count; ++i) {
        add_end(l, &l->end[i]);
    }
}
