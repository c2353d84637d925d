/* src/sim/correct.c - poses and velocities at the end of a step that the joints allow.
 *
 * Source     [W14 algorithm 1]
 * Departure  the paper ignores contacts here. Position level, where loop.c could not close the joints
 *            within the step's own laws (links that turn by a radian a step): displacements dq with
 *                M dq = J' p,  error + J dq = 0,  0 <= p_n perp gap + J_n dq >= 0
 *            at the pose reached so far, until the error is rounding. Velocity level, always:
 *                M (v' - v) = J' p,  J_joint v' = 0,  0 <= p_n perp u_n >= 0 at closed contacts,
 *            limits and taut ropes likewise. Closed is what the step's own impulses hold. What is
 *            open at the end of the step keeps its speed: the next step stops it, or finds it
 *            struck at the speed with which it arrives. Contacts act without friction: a friction
 *            impulse of its own would be invented. What slips by it, by the square of h, is stopped
 *            by the friction of the next step.
 */
#include <string.h>

#include "linalg/dense.h"
#include "sim/internal.h"
#include "step/joint_rows.h"

enum { MAX_MOVES = 20 };

bool perpi_sim_row_holds(const perp_sim* sim, int32_t constraint)
{
    const perpi_formulation* f = sim->formulation;
    const perp_constraint* c = &f->constraint[constraint];
    const double p = sim->p_problem[c->row];
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
    return W * p > perpi_formulation_speed(f, constraint, 0, sim->v_problem) + f->b[c->row];
}

/* The step's limits and ropes that are open at its end. */
static void mark_slack(perp_sim* sim)
{
    const perpi_formulation* f = sim->formulation;
    for (int32_t k = 0; k < f->joint_count; ++k) {
        const perpi_joint_place* place = &f->place[k];
        const bool rope =
            place->slot == 0 && sim->model->joint[place->joint].type == PERP_JOINT_ROPE;
        const int which = rope                                 ? 2
                          : place->slot == 1 + PERPI_LAW_LOWER ? 0
                          : place->slot == 1 + PERPI_LAW_UPPER ? 1
                                                               : -1;
        if (which >= 0) {
            sim->input[place->joint].slack[which] = !perpi_sim_row_holds(sim, f->contact_count + k);
        }
    }
}

/* Only what holds stays in sim->closed: contacts with an impulse, and groups with such a member. */
static void drop_open(perp_sim* sim)
{
    perpi_contact_list* list = &sim->closed;
    size_t kept = 0;
    for (size_t i = 0; i < list->count; ++i) {
        const perp_contact* c = &list->item[i];
        for (size_t k = 0; k < list->count && c->group != 0 && c->impulse[0] > 0.0; ++k) {
            perp_contact* member = &list->item[k];
            if (member->group == c->group || member->group == -c->group) {
                member->impulse[1] = 1.0; /* a mark: there is no friction here */
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

/* The step's contacts without friction, with the gaps that its answer leaves. A soft one gives way to
 * what little the joints ask for. */
static perp_status close_contacts(perp_sim* sim, double h)
{
    const perpi_formulation* f = sim->formulation;
    const size_t count = sim->next.count;
    const perp_status status = perpi_grow(sim->context, &sim->closed.item, &sim->closed.capacity,
                                          count, sizeof *sim->closed.item);
    if (status != PERP_OK) {
        return status;
    }
    sim->closed.count = 0;
    for (size_t i = 0; i < count; ++i) {
        if (sim->next.item[i].layer.theta > 0.0) {
            continue;
        }
        perp_contact* contact = &sim->closed.item[sim->closed.count++];
        *contact = sim->next.item[i];
        contact->cone = PERP_CONE_NONE;
        if (!sim->step_settings.no_gap) {
            contact->drift[0] = 0.0; /* the offset after an impact: part of the gap below */
        }
        const double u = perpi_formulation_speed(f, (int32_t)i, 0, sim->v_problem) +
                         f->b[f->constraint[i].row] -
                         (sim->step_settings.no_gap ? contact->drift[0] : 0.0);
        /* of a group some may well stay violated */
        contact->gap = u > 0.0 || contact->group != 0 ? h * u : 0.0;
        memset(contact->impulse, 0, sizeof contact->impulse);
        contact->impulse[0] =
            perpi_sim_row_holds(sim, (int32_t)i) ? 1.0 : 0.0; /* only whether, see above */
    }
    return PERP_OK;
}

/* A particle has no arm, so that what meets it acts where it is: at the end of the step it has moved. */
static void follow_particles(perp_sim* sim)
{
    const perp_model* model = sim->model;
    for (size_t i = 0; i < sim->closed.count; ++i) {
        perp_contact* c = &sim->closed.item[i];
        const bool a = model->body[c->body_a].particle, b = model->body[c->body_b].particle;
        if (model->body[c->body_a].dofs == 0 || model->body[c->body_b].dofs == 0 || !(a || b)) {
            continue;
        }
        vec3 at = perpi_state_pose(model, sim->q_next, a ? c->body_a : c->body_b).x;
        at = a ? at : v3_madd(at, -c->gap, v3_from(c->normal));
        v3_to(at, c->point);
    }
}

/* Solves the projection's problem from 0; velocities (or displacements) go to sim->v_project. */
static perp_status solve(perp_sim* sim, perp_report* report, bool* solved)
{
    perpi_formulation* f = sim->project;
    perp_status status = perpi_grow(sim->context, &sim->v_project, &sim->v_project_capacity,
                                    (size_t)f->problem.dof_count, sizeof *sim->v_project);
    if (status == PERP_OK) {
        status = perpi_grow(sim->context, &sim->p_project, &sim->p_project_capacity,
                            (size_t)f->problem.row_count, sizeof *sim->p_project);
    }
    if (status != PERP_OK) {
        return status;
    }
    perp_solve_options options = perp_solve_options_default();
    options.tolerance = sim->def.tolerance;
    options.cancel = sim->cancel;
    options.user = sim->cancel_user;
    perp_report made;
    status = perp_contact_solve(sim->project_solver, &f->problem, &options, false, sim->v_project,
                                sim->p_project, NULL, &made);
    if (status != PERP_OK) {
        return status;
    }
    report->iterations += made.iterations;
    if (made.outcome == PERP_OUTCOME_CANCELLED) {
        return perpi_fail(sim->context, PERP_ERROR_CANCELLED, "step %lld (t = %.9g): cancelled",
                          (long long)sim->step + 1, sim->time);
    }
    *solved = made.outcome == PERP_OUTCOME_SOLVED;
    return PERP_OK;
}

/* Poses of the dynamic bodies by the displacements in v_project; contacts come nearer by them. */
static void displace(perp_sim* sim)
{
    const perp_model* model = sim->model;
    const perpi_formulation* f = sim->project;
    for (int32_t i = 0; i < (int32_t)model->body_count; ++i) {
        if (f->block_of[i] < 0) {
            continue;
        }
        const double* d = sim->v_project + f->dof[f->block_of[i]];
        const bool particle = model->body[i].particle;
        perpi_pose pose = perpi_state_pose(model, sim->q_next, i);
        double angle = 0.0;
        if (model->dimension == 2) {
            pose.x = v3_add(pose.x, v3(d[0], d[1], 0.0));
            angle = sim->q_next[3 * i + 2] + (particle ? 0.0 : d[2]);
        } else {
            pose.x = v3_add(pose.x, v3_from(d));
            pose.q = particle ? pose.q : q4_unit(q4_mul(q4_exp(v3_from(d + 3)), pose.q));
        }
        perpi_state_set_pose(model, sim->q_next, i, &pose, angle);
    }
    for (size_t i = 0; i < sim->closed.count; ++i) {
        perp_contact* contact = &sim->closed.item[i];
        const double gap = contact->gap + perpi_formulation_speed(f, (int32_t)i, 0, sim->v_project);
        contact->gap = gap > 0.0 || contact->group != 0 ? gap : 0.0;
    }
}

/* What is left of the joints' errors at the poses at hand. */
static double joint_errors(const perp_sim* sim)
{
    return perpi_formulation_error(sim->formulation, sim->model, sim->q_next, sim->input, NULL);
}

/* Newton's method: linear in each move, so that it can lead away from where the joints fit (a light body between
 * two taut ropes). Poses that fit worse than those of the step are not taken. */
static perp_status take_moves(perp_sim* sim, double h, double first, int32_t* moves)
{
    if (*moves == 0 || joint_errors(sim) <= first) {
        return PERP_OK;
    }
    memcpy(sim->q_next, sim->q_answer, (size_t)sim->q_size * sizeof *sim->q_next);
    *moves = 0;
    return close_contacts(sim, h);
}

static perp_status move_poses(perp_sim* sim, double h, perp_report* report, int32_t* moves)
{
    const double first = joint_errors(sim);
    double before = INFINITY;
    while (*moves < MAX_MOVES) {
        const double error = joint_errors(sim);
        if (error <= PERPI_CORRECTION_GOAL ||
            (error <= PERPI_CORRECTION_ENOUGH && error > 0.5 * before)) {
            return PERP_OK;
        }
        before = error;
        bool solved = false;
        follow_particles(sim);
        perp_status status = perpi_formulate_other(sim->project, sim->model, PERPI_PURPOSE_MOVE,
                                                   1.0, sim->q_next, sim->v_next, sim->closed.item,
                                                   (int32_t)sim->closed.count, sim->input);
        for (int32_t i = 0; status == PERP_OK && i < sim->project->contact_count; ++i) {
            sim->project->b[sim->project->constraint[i].row] = sim->closed.item[i].gap;
        }
        if (status == PERP_OK) {
            status = solve(sim, report, &solved);
        }
        if (status != PERP_OK) {
            return status;
        }
        if (!solved) {
            break; /* a contact is in the way: the joint stays open, its error says so */
        }
        displace(sim);
        *moves += 1;
    }
    return take_moves(sim, h, first, moves);
}

perp_status perpi_sim_project(perp_sim* sim, double h, perp_report* report, int32_t* moves)
{
    perpi_formulation* f = sim->project;
    bool solved = false;
    perp_status status = close_contacts(sim, h);
    mark_slack(sim);
    if (status == PERP_OK) {
        status = move_poses(sim, h, report, moves);
    }
    if (status == PERP_OK) {
        drop_open(sim);
        follow_particles(sim);
        status =
            perpi_formulate_other(f, sim->model, PERPI_PURPOSE_PROJECT, h, sim->q_next, sim->v_next,
                                  sim->closed.item, (int32_t)sim->closed.count, sim->input);
    }
    if (status == PERP_OK) {
        status = solve(sim, report, &solved);
    }
    if (status == PERP_OK && solved) { /* else the velocities that solved the step stand */
        perpi_formulation_scatter_v(f, sim->model, sim->v_project, sim->v_next);
    }
    return status;
}
