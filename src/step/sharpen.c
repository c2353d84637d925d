/* src/step/sharpen.c - joints that an answer within the tolerance leaves open.
 *
 * The residual is relative to the terms of a row. The impulses of a light body between heavy ones are much larger
 * than its motion, so that a small residual may be a large opening. Where an answer opens a joint by more than OPEN it is
 * solved on to a smaller tolerance; where that is not enough the joints are closed one after the other.
 *
 * A box of 8 g on an arm of 2 m that a motor presses on the floor has impulses of 1e6 N s, and J M^-1 J' = 2.5e5/kg: its joint
 * opens at 1e-4 m/s if p is off by the part 1e-15, which is beyond every method that finds p first and v from it. Closing
 * a joint changes v by what is missing, and p by the same, so that the equations of motion hold as before.
 */
#include <string.h>

#include "linalg/dense.h"
#include "step/step.h"

/* Part of the size of a joint, or radians: a tenth of what a checker of recordings can tell from the turn of a step. */
static const double OPEN = 1e-7;
/* The smaller tolerance, relative to the one asked for; missing it is accepted up to ENOUGH. */
static const double SHARPER = 1e-4;
static const double ENOUGH = 1e-10;
/* Sweeps over the joints. One is enough where each joint has a light body of its own. */
enum { MAX_SWEEPS = 20 };

/* Whether row r of a constraint has no part of translations. */
static bool row_turns(const perpi_formulation* f, const perp_constraint* c, int32_t r,
                      int32_t linear)
{
    const double* J = f->J + c->jac;
    bool turns = true;
    for (int side = 0; side < 2; ++side) {
        const int32_t block = c->block[side];
        const int32_t n = block >= 0 ? f->dof[block + 1] - f->dof[block] : 0;
        for (int32_t k = 0; k < linear && k < n; ++k) {
            turns = turns && J[r * n + k] == 0.0;
        }
        J += (size_t)c->rows * (size_t)n;
    }
    return turns;
}

/* Whether the constraint of a joint holds exactly: its equality rows. */
static bool is_exact(const perpi_formulation* f, int32_t k)
{
    return f->constraint[f->contact_count + k].kind == PERP_CONSTRAINT_EQUALITY &&
           f->place[k].slot == 0;
}

/* What row r of joint k lacks: J v + C p + b. */
static double row_error(const perpi_step* step, int32_t k, int32_t r)
{
    const perpi_formulation* f = step->formulation;
    const int32_t row = f->constraint[f->contact_count + k].row + r;
    return perpi_formulation_speed(f, f->contact_count + k, r, step->v_problem) + f->b[row] +
           f->compliance[row] * step->p_problem[row];
}

/* By how much the rows of joints that hold exactly are violated, in the position that the step gives them: radians, and
 * parts of the size of the joint. */
static double joint_offence(const perpi_step* step)
{
    const perpi_formulation* f = step->formulation;
    double largest = 0.0;
    for (int32_t k = 0; k < f->joint_count; ++k) {
        if (!is_exact(f, k)) {
            continue;
        }
        const perp_constraint* c = &f->constraint[f->contact_count + k];
        const double size = step->model->joint[f->place[k].joint].size;
        for (int32_t r = 0; r < c->rows; ++r) {
            const bool turns = row_turns(f, c, r, step->model->dimension);
            const double off = step->h * fabs(row_error(step, k, r)) / (turns ? 1.0 : size);
            largest = off > largest ? off : largest;
        }
    }
    return largest;
}

/* Y = M^-1 J' of one side of a constraint, by rows as J is. */
static bool apply_inverse_mass(const perpi_formulation* f, int32_t block, int32_t rows,
                               const double* J, double* Y)
{
    const double* M = f->M;
    for (int32_t i = 0; i < block; ++i) {
        M += (f->dof[i + 1] - f->dof[i]) * (f->dof[i + 1] - f->dof[i]);
    }
    const int32_t n = f->dof[block + 1] - f->dof[block];
    double L[PERPI_BLOCK_MAX * PERPI_BLOCK_MAX];
    if (n > PERPI_BLOCK_MAX || !perpi_chol_factor(n, M, L)) {
        return false;
    }
    memcpy(Y, J, (size_t)(rows * n) * sizeof *Y);
    for (int32_t r = 0; r < rows; ++r) {
        perpi_chol_solve(n, L, Y + r * n);
    }
    return true;
}

/* Moves v of the bodies of joint k to the nearest that satisfies its rows, and p with it: (J M^-1 J' + C) x = -error,
 * p += x, v += M^-1 J' x. */
static void close_joint(perpi_step* step, int32_t k)
{
    const perpi_formulation* f = step->formulation;
    const perp_constraint* c = &f->constraint[f->contact_count + k];
    const double* J[2] = {f->J + c->jac, f->J + c->jac};
    double Y[2][PERPI_BLOCK_MAX * PERPI_BLOCK_MAX], x[PERPI_BLOCK_MAX];
    double W[PERPI_BLOCK_MAX * PERPI_BLOCK_MAX] = {0};
    int32_t n[2] = {0, 0};
    for (int side = 0; side < 2 && c->rows <= PERPI_BLOCK_MAX; ++side) {
        const int32_t block = c->block[side];
        if (block < 0) {
            continue;
        }
        n[side] = f->dof[block + 1] - f->dof[block];
        J[1] += side == 0 ? c->rows * n[0] : 0;
        if (!apply_inverse_mass(f, block, c->rows, J[side], Y[side])) {
            return;
        }
        for (int32_t i = 0; i < c->rows * c->rows; ++i) {
            W[i] += perpi_dot(n[side], J[side] + i / c->rows * n[side],
                              Y[side] + i % c->rows * n[side]);
        }
    }
    for (int32_t r = 0; r < c->rows && c->rows <= PERPI_BLOCK_MAX; ++r) {
        W[r * c->rows + r] += f->compliance[c->row + r];
        x[r] = -row_error(step, k, r);
    }
    if (c->rows > PERPI_BLOCK_MAX || !perpi_chol_factor(c->rows, W, W)) {
        return; /* between prescribed bodies, or rows that repeat each other */
    }
    perpi_chol_solve(c->rows, W, x);
    for (int32_t r = 0; r < c->rows; ++r) {
        step->p_problem[c->row + r] += x[r];
    }
    for (int side = 0; side < 2; ++side) {
        if (n[side] > 0) {
            perpi_matvec_transposed_add(c->rows, n[side], Y[side], x,
                                        step->v_problem + f->dof[c->block[side]]);
        }
    }
}

/* Closes the joints one after the other. The answer stands if that does not help, or if its residual grows beyond ENOUGH. */
static perp_status close_in_turn(perpi_step* step)
{
    const perpi_formulation* f = step->formulation;
    const size_t dofs = (size_t)f->problem.dof_count, rows = (size_t)f->problem.row_count,
                 work = perp_contact_residual_work(&f->problem);
    const perp_contact_residual residual = step->residual;
    perp_status status = perpi_grow(step->context, &step->check, &step->check_capacity,
                                    work + dofs + rows, sizeof *step->check);
    if (status != PERP_OK) {
        return status;
    }
    double* kept = step->check + work;
    memcpy(kept, step->v_problem, dofs * sizeof *kept);
    memcpy(kept + dofs, step->p_problem, rows * sizeof *kept);
    const double before = joint_offence(step);
    double offence = before;
    for (int sweep = 0; sweep < MAX_SWEEPS && offence > OPEN; ++sweep) {
        for (int32_t k = 0; k < f->joint_count; ++k) {
            if (is_exact(f, k)) {
                close_joint(step, k);
            }
        }
        offence = joint_offence(step);
    }
    bool within = false;
    if (offence < before) {
        status = perpi_step_check(step, &within);
    }
    const double limit = residual.worst > ENOUGH ? residual.worst : ENOUGH;
    if (status == PERP_OK && !(within && step->residual.worst <= limit)) {
        memcpy(step->v_problem, kept, dofs * sizeof *kept);
        memcpy(step->p_problem, kept + dofs, rows * sizeof *kept);
        step->residual = residual;
        step->report.residual = residual.worst;
    }
    return status;
}

perp_status perpi_step_sharpen_joints(perpi_step* step, perp_solve_options options)
{
    if (step->report.outcome != PERP_OUTCOME_SOLVED || step->model->joint_count == 0 ||
        !(joint_offence(step) > OPEN)) {
        return PERP_OK;
    }
    const perp_contact_problem* P = &step->formulation->problem;
    const size_t dofs = (size_t)P->dof_count, rows = (size_t)P->row_count;
    const perp_report first = step->report;
    const perp_contact_residual residual = step->residual;
    perp_status status = perpi_grow(step->context, &step->check, &step->check_capacity, dofs + rows,
                                    sizeof *step->check);
    if (status != PERP_OK) {
        return status;
    }
    memcpy(step->check, step->v_problem, dofs * sizeof *step->check);
    memcpy(step->check + dofs, step->p_problem, rows * sizeof *step->check);
    options.tolerance *= SHARPER;
    options.enough = options.tolerance < ENOUGH ? ENOUGH : 0.0;
    status = perp_contact_solve(step->solver, P, &options, true, step->v_problem, step->p_problem,
                                &step->residual, &step->report);
    step->report.iterations += first.iterations;
    if (status != PERP_OK || step->report.outcome == PERP_OUTCOME_CANCELLED) {
        return status;
    }
    if (!(step->residual.worst <= residual.worst)) { /* the first answer stands */
        const int32_t iterations = step->report.iterations;
        memcpy(step->v_problem, step->check, dofs * sizeof *step->check);
        memcpy(step->p_problem, step->check + dofs, rows * sizeof *step->check);
        step->residual = residual;
        step->report = first;
        step->report.iterations = iterations;
    }
    step->report.outcome = PERP_OUTCOME_SOLVED;
    return joint_offence(step) > OPEN ? close_in_turn(step) : PERP_OK;
}
