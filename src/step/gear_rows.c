/* src/step/gear_rows.c - see gear_rows.h. */
#include "step/gear_rows.h"

#include <string.h>

#include "linalg/dense.h"

/* The part of a body's inertia along all rows of gears that their blocks take. */
static const double TIED_PART = 0.125;

/* The bodies that a gear's law moves, each once, with its row. */
/* What is left of two rows that cancel up to rounding, relative to them. */
static const double CANCELLED = 1e-12;

typedef struct gear_sides {
    int32_t count;
    int32_t body[4];
    double J[4][6];
    double given;    /* rate of the law by prescribed bodies */
    double terms[4]; /* sum of the absolute values in J before they were added */
} gear_sides;

static perpi_joint_view view_of(const perp_model* model, int32_t joint, const double* q,
                                const double* q_end, int32_t turn)
{
    const int32_t turns[2] = {turn, 0};
    return q_end != NULL ? perpi_joint_evaluate_middle(model, joint, q, q_end, turns)
                         : perpi_joint_evaluate(model, joint, q, turns);
}

perpi_joint_view perpi_gear_evaluate(const perp_model* model, int32_t index, const double* q,
                                     const int32_t turns[2])
{
    const perpi_joint* gear = &model->joint[index];
    double coordinate[2];
    for (int i = 0; i < 2; ++i) {
        const int32_t turn = turns != NULL ? turns[i] : 0;
        coordinate[i] = view_of(model, gear->geared[i], q, NULL, turn).coordinate[0].b;
    }
    const bool angular = model->joint[gear->geared[1]].type == PERP_JOINT_REVOLUTE;
    const double error = coordinate[1] - gear->ratio * coordinate[0] - gear->offset;
    perpi_joint_view view = {.rows = 1};
    view.row[0] = (perpi_row){.angular = angular, .b = error};
    view.error[angular ? 1 : 0] = perpi_gear_soft(gear) ? 0.0 : fabs(error);
    return view;
}

static void add_side(gear_sides* s, const perpi_formulation* f, const perp_model* model,
                     int32_t body, int side, double factor, const perpi_row* row)
{
    if (body < 0) {
        return;
    }
    if (f->block_of[body] < 0) {
        const vec3 w = f->given_w[body];
        const vec3 u = row->angular ? w : v3_add(f->given_v[body], v3_cross(w, row->arm[side]));
        s->given += (side == 0 ? -factor : factor) * v3_dot(row->dir, u);
        return;
    }
    int32_t i = 0;
    while (i < s->count && s->body[i] != body) {
        ++i;
    }
    if (i == s->count) {
        s->body[s->count++] = body;
        memset(s->J[i], 0, sizeof s->J[i]);
        s->terms[i] = 0.0;
    }
    double J[6] = {0};
    (void)perpi_joint_jacobian(model, body, side, row, 1, J);
    for (int32_t a = 0; a < model->body[body].dofs; ++a) {
        s->J[i][a] += factor * J[a];
        s->terms[i] += fabs(factor * J[a]);
    }
}

/* Two joints in series can act on the body between them with rows that cancel: then it takes no part. */
static void drop_cancelled(gear_sides* s)
{
    int32_t count = 0;
    for (int32_t i = 0; i < s->count; ++i) {
        double left = 0.0;
        for (int a = 0; a < 6; ++a) {
            left += fabs(s->J[i][a]);
        }
        if (left <= CANCELLED * s->terms[i]) {
            continue;
        }
        memmove(s->J[count], s->J[i], sizeof s->J[i]);
        s->body[count] = s->body[i];
        s->terms[count++] = s->terms[i];
    }
    s->count = count;
}

static gear_sides find_sides(const perpi_formulation* f, const perp_model* model, int32_t index,
                             const double* q, const double* q_end, const int32_t turns[2])
{
    const perpi_joint* gear = &model->joint[index];
    gear_sides s = {0};
    for (int i = 0; i < 2; ++i) {
        const perpi_joint* joint = &model->joint[gear->geared[i]];
        const perpi_joint_view view =
            view_of(model, gear->geared[i], q, q_end, turns != NULL ? turns[i] : 0);
        for (int side = 0; side < 2; ++side) {
            add_side(&s, f, model, joint->body[side], side, i == 0 ? -gear->ratio : 1.0,
                     &view.coordinate[0]);
        }
    }
    drop_cancelled(&s);
    return s;
}

static double* mass_of_body(perpi_formulation* f, const perp_model* model, int32_t body)
{
    double* M = f->M;
    for (int32_t i = 0; i < body; ++i) {
        M += model->body[i].dofs * model->body[i].dofs;
    }
    return M;
}

/* Subtracts the mass m of a tie from a body, which is returned. momentum: that of the tie at the body's velocity, which is
 * subtracted as well; NULL: the tie has none, and its impulses change it. */
static double transfer_mass(perpi_formulation* f, const perp_model* model, int32_t body,
                            const double* J, double* momentum)
{
    const int32_t n = model->body[body].dofs;
    double* k_body = f->k + f->dof[f->block_of[body]];
    double* M = mass_of_body(f, model, body);
    double L[36], y[6];
    memcpy(y, J, (size_t)n * sizeof *y);
    if (!perpi_chol_factor(n, M, L)) {
        return 0.0;
    }
    perpi_chol_solve(n, L, y);
    const double W = perpi_dot(n, J, y);
    const double m = TIED_PART / ((double)model->body[body].gears * W);
    if (momentum != NULL) {
        *momentum = m * perpi_dot(n, y, k_body);
        for (int32_t i = 0; i < n; ++i) {
            k_body[i] -= *momentum * J[i];
        }
    }
    for (int32_t i = 0; i < n; ++i) {
        for (int32_t k = 0; k < n; ++k) {
            M[i * n + k] -= m * J[i] * J[k];
        }
    }
    return m;
}

/* Appends a block of n velocities without mass yet. */
static perp_status append_gear_block(perpi_formulation* f, int32_t n, int32_t* block)
{
    *block = f->problem.block_count;
    const perp_status status = perpi_formulation_blocks(f, (size_t)*block + 2);
    if (status == PERP_OK) {
        memset(f->M + f->M_used, 0, (size_t)(n * n) * sizeof *f->M);
        memset(f->k + f->dof[*block], 0, (size_t)n * sizeof *f->k);
        f->dof[*block + 1] = f->dof[*block] + n;
        f->problem.block_count += 1;
        f->problem.dof_count = f->dof[*block + 1];
        f->M_used += (size_t)(n * n);
    }
    return status;
}

/* Appends an equality row on two blocks (-1: none). */
static perp_status append_row(perpi_formulation* f, int32_t gear, int32_t slot,
                              const int32_t block[2], const double* const J[2], double b,
                              double given)
{
    perp_status status = perpi_formulation_room(f, 1, 1, 12);
    if (status == PERP_OK) {
        status = perpi_grow(f->context, &f->place, &f->place_capacity, (size_t)f->joint_count + 1,
                            sizeof *f->place);
    }
    if (status != PERP_OK) {
        return status;
    }
    const uint64_t key = UINT64_C(1) << 63 | (uint64_t)(uint32_t)gear << 4 | (uint64_t)slot;
    f->constraint[f->constraints++] = (perp_constraint){.kind = PERP_CONSTRAINT_EQUALITY,
                                                        .block = {block[0], block[1]},
                                                        .row = f->rows,
                                                        .rows = 1,
                                                        .jac = f->jac,
                                                        .key = key};
    for (int side = 0; side < 2; ++side) {
        const int32_t n = block[side] >= 0 ? f->dof[block[side] + 1] - f->dof[block[side]] : 0;
        memcpy(f->J + f->jac, J[side], (size_t)n * sizeof *f->J);
        f->jac += (size_t)n;
    }
    f->b[f->rows] = b + given;
    f->given[f->rows] = given;
    f->lower[f->rows] = f->upper[f->rows] = f->compliance[f->rows] = 0.0;
    f->rows += 1;
    f->place[f->joint_count++] = (perpi_joint_place){gear, slot};
    return PERP_OK;
}

/* Makes the row just appended that of a spring and damper: effort -stiffness error - damping rate on the
 * second joint, both at the end of the step, cut at max_effort. b: the error at the start. */
static void soften_row(perpi_formulation* f, const perpi_joint* gear, double b)
{
    const int32_t row = f->rows - 1;
    const double h = f->h, both = h * gear->stiffness + gear->damping;
    const double scale = f->middle ? f->theta : 1.0;
    f->b[row] = b * gear->stiffness / both + f->given[row];
    f->compliance[row] = 1.0 / (scale * h * both);
    if (isfinite(gear->max_effort)) {
        f->constraint[f->constraints - 1].kind = PERP_CONSTRAINT_BOUNDED;
        f->upper[row] = scale * h * gear->max_effort;
        f->lower[row] = -f->upper[row];
    }
}

/* The row of the law itself. */
static perp_status append_law(perpi_formulation* f, const perp_model* model, int32_t index,
                              const int32_t block[2], const double* const J[2], double b,
                              double given)
{
    const perpi_joint* gear = &model->joint[index];
    const bool soft = perpi_gear_soft(gear);
    const perp_status status =
        append_row(f, index, soft ? 1 + PERPI_LAW_MOTOR : 0, block, J, b, given);
    if (status == PERP_OK && soft) {
        soften_row(f, gear, b);
    }
    return status;
}

perp_status perpi_formulate_gear(perpi_formulation* f, const perp_model* model, int32_t index,
                                 bool impact, double b, const double* q, const double* q_end,
                                 const int32_t turns[2])
{
    const gear_sides s = find_sides(f, model, index, q, q_end, turns);
    if (s.count <= 2) {
        const int32_t block[2] = {s.count > 0 ? f->block_of[s.body[0]] : -1,
                                  s.count > 1 ? f->block_of[s.body[1]] : -1};
        return append_law(f, model, index, block, (const double* const[2]){s.J[0], s.J[1]}, b,
                          s.given);
    }
    int32_t own;
    const int32_t n = s.count - 1;
    const size_t mass_at = f->M_used;
    perp_status status = append_gear_block(f, n, &own);
    const double ones[3] = {1.0, 1.0, 1.0};
    if (status == PERP_OK) {
        const int32_t block[2] = {f->block_of[s.body[0]], own};
        status =
            append_law(f, model, index, block, (const double* const[2]){s.J[0], ones}, b, s.given);
    }
    for (int32_t i = 0; status == PERP_OK && i < n; ++i) {
        const int32_t body = s.body[i + 1], block[2] = {f->block_of[body], own};
        double unit[3] = {0.0, 0.0, 0.0};
        unit[i] = -1.0;
        const double m =
            transfer_mass(f, model, body, s.J[i + 1], impact ? &f->k[f->dof[own] + i] : NULL);
        if (!(m > 0.0)) {
            return perpi_fail(f->context, PERP_ERROR_NUMERIC,
                              "gear '%s': the mass of body '%s' is singular",
                              model->joint[index].name, model->body[body].name);
        }
        f->M[mass_at + (size_t)(i * n + i)] = m;
        status = append_row(f, index, PERPI_GEAR_TIE + i, block,
                            (const double* const[2]){s.J[i + 1], unit}, 0.0, 0.0);
    }
    return status;
}

void perpi_gear_jacobian(const perpi_formulation* f, const perp_model* model, int32_t k,
                         const double* q, const int32_t turns[2], double* R)
{
    const perp_constraint* c = &f->constraint[f->contact_count + k];
    const perpi_joint_place* place = &f->place[k];
    const gear_sides s = find_sides(f, model, place->joint, q, NULL, turns);
    double* to = R + c->jac;
    for (int side = 0; side < 2; ++side) {
        const int32_t n =
            c->block[side] >= 0 ? f->dof[c->block[side] + 1] - f->dof[c->block[side]] : 0;
        int32_t i = 0;
        while (i < s.count && f->block_of[s.body[i]] != c->block[side]) {
            ++i;
        }
        memcpy(to, i < s.count ? s.J[i] : f->J + (to - R), (size_t)n * sizeof *to);
        to += n;
    }
}

void perpi_gears_gather(const perpi_formulation* f, double* v)
{
    for (int32_t k = 0; k < f->joint_count; ++k) {
        const int32_t tie = f->place[k].slot - PERPI_GEAR_TIE;
        if (tie < 0) {
            continue;
        }
        const perp_constraint* c = &f->constraint[f->contact_count + k];
        const int32_t n = f->dof[c->block[0] + 1] - f->dof[c->block[0]];
        v[f->dof[c->block[1]] + tie] = perpi_dot(n, f->J + c->jac, v + f->dof[c->block[0]]);
    }
}
