/* src/sim/project.c - projects poses and velocities at the end of a step onto the joints.
 *
 * Source     [W14 algorithm 1]
 * Departure  the paper ignores contacts here. Position level, where correct_joints.c could not
 *            close the
 *            joints within the laws of the step (links that turn by a radian a step): displacements
 *            dq with
 *                M dq = J' p,  error + J dq = 0,  0 <= p_n perp gap + J_n dq >= 0
 *            at the current pose, until the error is rounding. Velocity level, always:
 *                M (v' - v) = J' p,  J_joint v' = 0,  0 <= p_n perp u_n >= 0 at closed contacts,
 *            limits and taut ropes likewise. A contact is closed if it has an impulse in the step.
 *            Open
 *            contacts at the end of the step keep their velocity: the next step stops them, or
 *            finds them impacting at the velocity of arrival. Contacts act without friction,
 *            because
 *            a friction impulse here has no physical cause. The slip that follows, of order h^2, is
 *            stopped by the friction of the next step.
 */
#include <string.h>

#include "linalg/dense.h"
#include "sim/internal.h"
#include "step/joint_rows.h"

enum { MAX_MOVES = 20 };

bool perpi_row_holds(const perpi_step* step, int32_t constraint)
{
    const perpi_formulation* f = step->formulation;
    const perp_constraint* c = &f->constraint[constraint];
    const double p = step->p_problem[c->row];
    if (!(p > 0.0)) {
        return false;
    }
    double W = 0.0;
    const double* J = f->J + c->jac;
    for (int side = 0; side < 2; ++side) {
        const int32_t block = c->block[side];
        if (block < 0) {
            continue;
        }
        const int32_t n = f->dof[block + 1] - f->dof[block];
        const double* M = f->M;
        for (int32_t k = 0; k < block; ++k) {
            M += (f->dof[k + 1] - f->dof[k]) * (f->dof[k + 1] - f->dof[k]);
        }
        double L[PERPI_BLOCK_MAX * PERPI_BLOCK_MAX], Y[PERPI_BLOCK_MAX];
        memcpy(Y, J, (size_t)n * sizeof *Y);
        if (perpi_chol_factor(n, M, L)) {
            perpi_chol_solve(n, L, Y);
            W += perpi_dot(n, J, Y);
        }
        J += (size_t)c->rows * (size_t)n;
    }
    return W * p > perpi_formulation_speed(f, constraint, 0, step->v_problem) + f->b[c->row];
}

/* Marks the step's limits and ropes that are open at its end. */
static void mark_slack(perpi_step* step)
{
    const perpi_formulation* f = step->formulation;
    for (int32_t k = 0; k < f->joint_count; ++k) {
        const perpi_joint_place* place = &f->place[k];
        const bool rope =
            place->slot == 0 && step->model->joint[place->joint].type == PERP_JOINT_ROPE;
        const int which = rope                                 ? 2
                          : place->slot == 1 + PERPI_LAW_LOWER ? 0
                          : place->slot == 1 + PERPI_LAW_UPPER ? 1
                                                               : -1;
        if (which >= 0) {
            step->input[place->joint].slack[which] = !perpi_row_holds(step, f->contact_count + k);
        }
    }
}

/* Keeps only active contacts in step->correction->closed: contacts with an impulse, and groups
 * with such a member. */
static void drop_open(perpi_step* step)
{
    perpi_contact_list* list = &step->correction->closed;
    size_t kept = 0;
    for (size_t i = 0; i < list->count; ++i) {
        const perp_contact* c = &list->item[i];
        for (size_t k = 0; k < list->count && c->group != 0 && c->impulse[0] > 0.0; ++k) {
            perp_contact* member = &list->item[k];
            if (member->group == c->group || member->group == -c->group) {
                member->impulse[1] = 1.0; /* serves as a mark: there is no friction here */
            }
        }
    }
    for (size_t i = 0; i < list->count; ++i) {
        if (list->item[i].impulse[0] > 0.0 || list->item[i].impulse[1] > 0.0) {
            list->item[kept++] = list->item[i];
        }
    }
    list->count = kept;
}

/* The step's contacts without friction, with the gaps after the step. A soft layer does not
 * resist, because the joints require only small displacements. */
static perp_status close_contacts(perpi_step* step, double h)
{
    const perpi_formulation* f = step->formulation;
    const size_t count = step->to->contacts.count;
    perp_status status = perpi_grow(step->context, &step->correction->closed.item,
                                    &step->correction->closed.capacity, count,
                                    sizeof *step->correction->closed.item);
    if (status == PERP_OK) {
        status =
            perpi_grow(step->context, &step->correction->pushed, &step->correction->pushed_capacity,
                       2 * count, sizeof *step->correction->pushed);
    }
    if (status != PERP_OK) {
        return status;
    }
    step->correction->pushed_count = 0;
    step->correction->closed.count = 0;
    for (size_t i = 0; i < count; ++i) {
        if (step->to->contacts.item[i].layer.theta > 0.0) {
            continue;
        }
        perp_contact* contact = &step->correction->closed.item[step->correction->closed.count++];
        *contact = step->to->contacts.item[i];
        contact->cone = PERP_CONE_NONE;
        if (!step->settings.no_gap) {
            contact->drift[0] = 0.0; /* the offset after an impact: part of the gap below */
        }
        const double u = perpi_formulation_speed(f, (int32_t)i, 0, step->v_problem) +
                         f->b[f->constraint[i].row] -
                         (step->settings.no_gap ? contact->drift[0] : 0.0);
        /* some members of a group may remain violated */
        contact->gap = u > 0.0 || contact->group != 0 ? h * u : 0.0;
        memset(contact->impulse, 0, sizeof contact->impulse);
        contact->impulse[0] = perpi_row_holds(step, (int32_t)i) ? 1.0 : 0.0; /* a mark, see above */
    }
    return PERP_OK;
}

/* A particle has no arm, so impulses act at its centre, which has moved by the end of the step. */
static void follow_particles(perpi_step* step)
{
    const perp_model* model = step->model;
    for (size_t i = 0; i < step->correction->closed.count; ++i) {
        perp_contact* c = &step->correction->closed.item[i];
        const bool a = model->body[c->body_a].particle, b = model->body[c->body_b].particle;
        if (model->body[c->body_a].dofs == 0 || model->body[c->body_b].dofs == 0 || !(a || b)) {
            continue;
        }
        vec3 at = perpi_state_pose(model, step->to->q, a ? c->body_a : c->body_b).x;
        at = a ? at : v3_madd(at, -c->gap, v3_from(c->normal));
        v3_to(at, c->point);
    }
}

/* Solves the projection problem from 0; velocities (or displacements) go to step->correction->v. */
static perp_status solve_projection(perpi_step* step, perp_report* report, bool* solved)
{
    perpi_formulation* f = step->correction->project;
    perp_status status =
        perpi_grow(step->context, &step->correction->v, &step->correction->v_capacity,
                   (size_t)f->problem.dof_count, sizeof *step->correction->v);
    if (status == PERP_OK) {
        status = perpi_grow(step->context, &step->correction->p, &step->correction->p_capacity,
                            (size_t)f->problem.row_count, sizeof *step->correction->p);
    }
    if (status != PERP_OK) {
        return status;
    }
    if (step->direct) { /* velocities: equality rows alone, unless contacts are closed */
        if (f->problem.row_count > 0) {
            memset(step->correction->p, 0, (size_t)f->problem.row_count * sizeof(double));
        }
        status = perpi_joint_system_solve_all(step->system, f, step->correction->v,
                                              step->correction->p, solved);
        if (status != PERP_OK || *solved) {
            return status;
        }
    }
    perp_solve_options options = perp_solve_options_default();
    options.tolerance = step->tolerance;
    options.cancel = step->cancel;
    options.user = step->cancel_user;
    perp_report made;
    status = perp_contact_solve(step->correction->solver, &f->problem, &options, false,
                                step->correction->v, step->correction->p, NULL, &made);
    if (status != PERP_OK) {
        return status;
    }
    report->iterations += made.iterations;
    if (made.outcome == PERP_OUTCOME_CANCELLED) {
        return perpi_fail(step->context, PERP_ERROR_CANCELLED, "step %lld (t = %.9g): cancelled",
                          (long long)step->from->step + 1, step->from->time);
    }
    *solved = made.outcome == PERP_OUTCOME_SOLVED;
    return PERP_OK;
}

/* Advances the poses of the dynamic bodies by the displacements in v_project, and updates the
 * gaps. */
static void displace_poses(perpi_step* step)
{
    const perp_model* model = step->model;
    const perpi_formulation* f = step->correction->project;
    for (int32_t i = 0; i < (int32_t)model->body_count; ++i) {
        if (f->block_of[i] < 0) {
            continue;
        }
        const double* d = step->correction->v + f->dof[f->block_of[i]];
        const bool particle = model->body[i].particle;
        perpi_pose pose = perpi_state_pose(model, step->to->q, i);
        double angle = 0.0;
        if (model->dimension == 2) {
            pose.x = v3_add(pose.x, v3(d[0], d[1], 0.0));
            angle = step->to->q[3 * i + 2] + (particle ? 0.0 : d[2]);
        } else {
            pose.x = v3_add(pose.x, v3_from(d));
            pose.q = particle ? pose.q : q4_unit(q4_mul(q4_exp(v3_from(d + 3)), pose.q));
        }
        perpi_state_set_pose(model, step->to->q, i, &pose, angle);
    }
    for (size_t i = 0; i < step->correction->closed.count; ++i) {
        perp_contact* contact = &step->correction->closed.item[i];
        const double gap =
            contact->gap + perpi_formulation_speed(f, (int32_t)i, 0, step->correction->v);
        contact->gap = gap > 0.0 || contact->group != 0 ? gap : 0.0;
    }
}

/* Of the pairs of bodies whose contacts push in this move those that took part in the impact before the step and are not known
 * yet: with it the step is one exchange of momentum. Other bodies without an impulse are displaced, but not turned. Contacts of
 * a pair follow each other, and there are no more pairs than contacts. */
static void keep_pushed(const perpi_step* step)
{
    perpi_correction* x = step->correction;
    const double* offset = perpi_step_offset(step);
    const double* early = offset != NULL ? offset + step->v_size : NULL;
    for (int32_t i = 0; early != NULL && i < x->project->contact_count; ++i) {
        const perp_contact* c = &x->closed.item[i];
        bool known = !(x->p[x->project->constraint[i].row] > 0.0) || early[c->body_a] == 0.0 ||
                     early[c->body_b] == 0.0;
        for (size_t k = 0; k < x->pushed_count && !known; ++k) {
            known = x->pushed[2 * k] == c->body_a && x->pushed[2 * k + 1] == c->body_b;
        }
        if (!known) {
            x->pushed[2 * x->pushed_count] = c->body_a;
            x->pushed[2 * x->pushed_count + 1] = c->body_b;
            x->pushed_count += 1;
        }
    }
}

/* The remaining errors of the joints at the current poses. */
static double joint_errors(const perpi_step* step)
{
    return perpi_formulation_error(step->formulation, step->model, step->to->q, step->input, NULL);
}

/* Newton's method. It is linear in each step, so it can diverge (a light body between two taut
 * ropes). Poses with larger errors than those of the step are rejected. */
static perp_status keep_better_poses(perpi_step* step, double h, double first, int32_t* moves)
{
    if (*moves == 0 || joint_errors(step) <= first) {
        return PERP_OK;
    }
    memcpy(step->to->q, step->correction->q_answer, (size_t)step->q_size * sizeof *step->to->q);
    *moves = 0;
    return close_contacts(step, h);
}

/* A body without joints that a contact pushes is displaced, but not turned: to turn it at its angular momentum
 * would change its energy, and the contact's place is that of the start of the step. */
static void hold_turns(const perpi_step* step)
{
    const perpi_formulation* f = step->correction->project;
    const int32_t linear = step->model->dimension;
    for (int32_t i = 0; i < f->contact_count; ++i) {
        const perp_contact* contact = &step->correction->closed.item[i];
        const perp_constraint* c = &f->constraint[i];
        double* J = f->J + c->jac;
        for (int side = 0; side < 2; ++side) {
            const int32_t body = side == 0 ? contact->body_a : contact->body_b;
            const int32_t block = c->block[side];
            const int32_t n = block >= 0 ? f->dof[block + 1] - f->dof[block] : 0;
            for (int32_t r = 0; r < c->rows; ++r, J += n) {
                for (int32_t k = linear; k < n && step->model->body[body].joints == 0; ++k) {
                    J[k] = 0.0;
                }
            }
        }
    }
}

static perp_status move_poses(perpi_step* step, double h, perp_report* report, int32_t* moves)
{
    const double first = joint_errors(step);
    double before = INFINITY;
    while (*moves < MAX_MOVES) {
        const double error = joint_errors(step);
        if (error <= PERPI_CORRECTION_GOAL ||
            (error <= PERPI_CORRECTION_ENOUGH && error > 0.5 * before)) {
            return PERP_OK;
        }
        before = error;
        bool solved = false;
        follow_particles(step);
        perp_status status = perpi_formulate_other(
            step->correction->project, step->model, PERPI_PURPOSE_MOVE, 1.0,
            &(perpi_placed){step->to->q, step->to->v, step->correction->closed.item,
                            (int32_t)step->correction->closed.count, step->input});
        for (int32_t i = 0; status == PERP_OK && i < step->correction->project->contact_count;
             ++i) {
            step->correction->project->b[step->correction->project->constraint[i].row] =
                step->correction->closed.item[i].gap;
        }
        if (status == PERP_OK) {
            hold_turns(step);
            status = solve_projection(step, report, &solved);
        }
        if (status != PERP_OK) {
            return status;
        }
        if (!solved) {
            break; /* a contact prevents it: the joint stays open, and its error is reported */
        }
        displace_poses(step);
        keep_pushed(step);
        *moves += 1;
    }
    return keep_better_poses(step, h, first, moves);
}

/* Whether the joints at the end of the step are those of step->system, with their Jacobian there, and
 * nothing but them and the world takes part. */
static bool has_end_rows(const perpi_step* step)
{
    const perpi_formulation* f = step->formulation;
    bool only = step->direct && step->correction->shut && step->to->contacts.count == 0 &&
                f->constraints == f->joint_count;
    for (int32_t k = 0; only && k < f->joint_count; ++k) {
        const int32_t* body = step->model->joint[f->place[k].joint].body;
        only = f->place[k].slot == 0 && f->constraint[k].kind == PERP_CONSTRAINT_EQUALITY;
        for (int side = 0; side < 2; ++side) {
            only = only &&
                   (body[side] < 0 || step->model->body[body[side]].type != PERP_BODY_KINEMATIC);
        }
    }
    return only;
}

/* The projection of velocities without a formulation of its own. */
static perp_status project_directly(perpi_step* step, bool* done)
{
    const perpi_formulation* f = step->formulation;
    const perp_status status =
        perpi_grow(step->context, &step->correction->v, &step->correction->v_capacity,
                   (size_t)f->problem.dof_count, sizeof *step->correction->v);
    if (status == PERP_OK) {
        double* v = step->correction->v;
        perpi_formulation_gather_v(f, step->model, step->to->v, v);
        *done = perpi_joint_system_project(step->system, f, step->model, step->to->q, v);
        if (*done) {
            perpi_formulation_scatter_v(f, step->model, v, step->to->v);
        }
    }
    return status;
}

perp_status perpi_project(perpi_step* step, double h, perp_report* report, int32_t* moves)
{
    perpi_formulation* f = step->correction->project;
    bool solved = false;
    perp_status status = PERP_OK;
    if (has_end_rows(step)) {
        status = project_directly(step, &solved);
        if (status != PERP_OK || solved) {
            return status;
        }
    }
    status = close_contacts(step, h);
    mark_slack(step);
    if (status == PERP_OK && !step->correction->shut) {
        status = move_poses(step, h, report, moves);
    }
    if (status == PERP_OK) {
        drop_open(step);
        follow_particles(step);
        status = perpi_formulate_other(
            f, step->model, PERPI_PURPOSE_PROJECT, h,
            &(perpi_placed){step->to->q, step->to->v, step->correction->closed.item,
                            (int32_t)step->correction->closed.count, step->input});
    }
    if (status == PERP_OK) {
        status = solve_projection(step, report, &solved);
    }
    if (status == PERP_OK && solved) { /* else the velocities that solved the step stand */
        perpi_formulation_scatter_v(f, step->model, step->correction->v, step->to->v);
    }
    return status;
}
