/* src/step/equilibrium.c - equilibrium search of steps without inertia, by the proximal point
 * method.
 *
 * Source     [B09 (3.29), (3.45)]: the step minimises the work against external and frictional
 *            forces;
 *            Rockafellar (1976) for the method
 * The problem without inertia, 0 = h f + J' p, has no mass matrix, and the methods need one. So
 * from a point v_k the problem with the mass s M is solved,
 *     s M (v - v_k) = h f + J' p,   with the same laws of the rows,
 * and its solution is the next v_k. Where v = v_k, forces balance for any s. The error decreases by
 * the factor s / (s + stiffness) in each solve, where the stiffness comes from springs (h^2 k / m)
 * and from the curvature of friction (mu h g / v). Kinks of the potential, such as sticking or a
 * prescribed pusher, are reached in one solve for any s. So s is reduced as long as that helps. A
 * solve with a small s leaves the unbalance s M (v - v_k), and rounding leaves residuals of about
 * 1e-16 / s in the rows. A solve with s = 1 moves v by the unbalance and has no such rounding. The
 * first is used where forces are not unique (a box on four corners: each solve may distribute the
 * load differently, which changes the velocity), the second where they are. Both are tried, and the
 * residual check decides which is kept. In both cases the problem that is checked and recorded has
 * s = 1 and v_k = v.
 *
 * v_0 = 0: where the laws do not determine the motion (a body without contacts; a frictionless body
 * between a fence and a wall), the small mass selects the motion of least kinetic energy, and a
 * body on which nothing acts stays at rest. perpi_indeterminacy reports such cases.
 */
#include <stdio.h>
#include <string.h>

#include "step/step.h"

/* Entries of the forces smaller than this part of the largest are checked relative to that. */
static const double FLOOR = 1e-3;
/* Where the forces vanish, as on a free body that is pushed or a spring at its rest length,
 * those of rounding remain: about 1e-16 of the forces that bring the bodies from rest to their
 * velocities. Forces below this part of those are checked relative to it. */
static const double ROUNDING = 1e-6;
/* Nor are there forces to balance in a scene at rest, where velocities are rounding too: those
 * that turn a body by less than this in a step. */
static const double REST = 1e-6;
enum { MAX_CYCLES = 16, STALE = 3 };
static const double FIRST = 0.1, LAST = 1e-10, SHRINK = 0.1, RETREAT = 30.0;
/* A cycle with a smaller reduction than this reduces the mass. A cycle without reduction may
 * move along a side of a polygon, where the unbalance is constant until a corner is reached; one
 * that increases it by this factor increases the mass. */
static const double GAIN = 0.01, WORSE = 10.0;
/* Rounding of a solve limits the balance to about 1e-17 / s. Once it is this good and does not
 * improve, s is increased again. */
static const double GOOD = 1e-7, GROW = 10.0;
/* The search ends at this relative residual. */
static const double GOAL = 1e-11;
/* A body whose M v grew by this factor since the first solve is not held by any force. */
static const double RUNAWAY = 1e6;
/* M v that this much smaller masses change by no more than this factor is that of the motion sought. */
static const double LESS = 0.11, ALIKE = 1.1;
/* Residual that a solve must reach to be usable. */
static const double USEFUL = 1e-6;
/* Tolerance given to every solve, which it may miss. Where rounding of small masses prevents it, all methods of
 * the plan search for the rest in vain; once the solves of a step have taken some iterations, two methods that
 * miss it by less than this are enough. */
static const double FINE = 1e-12, MISSED = 1e-10;
static const int64_t EARLY_WORK = 500;
/* Limit of iterations of all solves of a step. A solve that fails takes about 130,000 (some
 * seconds for 20 bodies), one that succeeds some hundred. */
static const int64_t MAX_WORK = 150000;
/* Limit with groups, whose contacts have a simpler model to fall back to: steps that find a
 * balance take 50 to 2500. */
static const int64_t GROUP_WORK = 10000;
/* After the search has stalled: solves from the best point with several values of s, each as
 * long as it helps, or for a few rounds. The load of a box that slides on four corners is not
 * unique, and a solve with too large a mass, or the rounding of too small a one, moves away from
 * a good point. */
static const double POLISH[] = {1e-3, 1e-4, 1e-5, 1e-6, 1e-2, 1e-7, 1e-1, 1.0, 1e-8};
enum { POLISH_COUNT = sizeof POLISH / sizeof *POLISH, POLISH_ROUNDS = 3, POLISH_SOLVES = 60 };

static perp_status formulate_near(perpi_step* step, const perpi_step_input* in, double s)
{
    perpi_step_settings settings = *in->settings;
    perpi_step_input near = *in;
    settings.inertia = s;
    near.settings = &settings;
    near.v_end = step->equilibrium.v_end;
    return step->stepper->formulate(step->formulation, &near);
}

/* One solve from v_end, into v_problem and p_problem. late: after EARLY_WORK. */
static perp_status solve_near(perpi_step* step, const perpi_step_input* in, double s, bool late,
                              perp_contact_residual* residual, perp_report* report)
{
    const perp_status status = formulate_near(step, in, s);
    if (status != PERP_OK) {
        return status;
    }
    perp_solve_options options =
        perpi_step_options(step, step->tolerance < FINE ? step->tolerance : FINE);
    options.enough = late && options.tolerance < MISSED ? MISSED : 0.0;
    return perp_contact_solve(step->solver, &step->formulation->problem, &options, true,
                              step->v_problem, step->p_problem, residual, report);
}

static bool all_finite(const double* x, int32_t n)
{
    for (int32_t i = 0; i < n; ++i) {
        if (!isfinite(x[i])) {
            return false;
        }
    }
    return true;
}

static void copy(double* to, const double* from, int32_t n)
{
    for (int32_t i = 0; i < n; ++i) {
        to[i] = from[i];
    }
}

/* Save the current velocities and impulses as the best, and restore them. */
static void save_best(perpi_step* step)
{
    const perp_contact_problem* P = &step->formulation->problem;
    copy(step->equilibrium.best, step->v_problem, P->dof_count);
    copy(step->equilibrium.best + P->dof_count, step->p_problem, P->row_count);
}

static void restore_best(perpi_step* step)
{
    const perp_contact_problem* P = &step->formulation->problem;
    copy(step->v_problem, step->equilibrium.best, P->dof_count);
    copy(step->p_problem, step->equilibrium.best + P->dof_count, P->row_count);
    perpi_formulation_scatter_v(step->formulation, step->model, step->v_problem,
                                step->equilibrium.v_end);
}

/* The balance of forces at v_problem, p_problem, by the residual check. */
static perp_status check_residual(perpi_step* step, const perpi_step_input* in,
                                  perp_contact_residual* residual)
{
    perpi_formulation_scatter_v(step->formulation, step->model, step->v_problem,
                                step->equilibrium.v_end);
    const perp_status status = formulate_near(step, in, 1.0);
    if (status != PERP_OK) {
        return status;
    }
    const perp_contact_problem* problem = &step->formulation->problem;
    const perp_status room =
        perpi_grow(step->context, &step->equilibrium.basis, &step->equilibrium.basis_capacity,
                   perp_contact_residual_work(problem) + 1, sizeof *step->equilibrium.basis);
    if (room == PERP_OK) {
        *residual = perp_contact_check_residual(problem, step->v_problem, step->p_problem,
                                                step->equilibrium.basis);
    }
    return room;
}

/* Relative unbalance of the forces: |h f + J' p| / (|h f| + |J' p|), each body's entries in
 * units of its mass. The residual check also compares with M v, relative to which every force is
 * small once the velocities diverge. impulse: the largest M v of the first solve, in the same
 * units, before any divergence. where: the velocity with the largest unbalance. */
static double unbalance(const perpi_step* step, double impulse, int32_t* where)
{
    const perpi_formulation* f = step->formulation;
    const perp_contact_problem* P = &f->problem;
    double* force = step->equilibrium.basis; /* allocated by check_residual() */
    double* size = force + f->body_dofs;
    const double* M = P->M;
    for (int32_t b = 0; b < P->block_count && P->dof[b] < f->body_dofs; ++b) {
        const int32_t d = P->dof[b], n = P->dof[b + 1] - d;
        for (int32_t i = 0; i < n; ++i) {
            double h_f = P->k[d + i]; /* minus s M v: drag is part of M and remains */
            for (int32_t j = 0; j < n; ++j) {
                h_f -= M[i * n + j] * step->v_problem[d + j];
            }
            force[d + i] = h_f;
            size[d + i] = fabs(h_f);
        }
        M += n * n;
    }
    for (int32_t ci = 0; ci < P->constraint_count; ++ci) {
        const perp_constraint* c = &P->constraint[ci];
        const double* J = P->J + c->jac;
        for (int side = 0; side < 2; ++side) {
            const int32_t block = c->block[side];
            const int32_t n = block >= 0 ? P->dof[block + 1] - P->dof[block] : 0;
            for (int32_t r = 0; r < c->rows; ++r) {
                for (int32_t i = 0; i < n && P->dof[block] < f->body_dofs; ++i) {
                    const double push = J[r * n + i] * step->p_problem[c->row + r];
                    force[P->dof[block] + i] += push;
                    size[P->dof[block] + i] += fabs(push);
                }
            }
            J += (size_t)c->rows * (size_t)n;
        }
    }
    double worst = 0.0, most = 0.0;
    for (int pass = 0; pass < 2; ++pass) {
        M = P->M;
        for (int32_t b = 0; b < P->block_count && P->dof[b] < f->body_dofs; ++b) {
            const int32_t d = P->dof[b], n = P->dof[b + 1] - d;
            for (int32_t i = 0; i < n; ++i) {
                const double root = sqrt(M[i * n + i]);
                const double least =
                    FLOOR * most > ROUNDING * impulse ? FLOOR * most : ROUNDING * impulse;
                const double floor_size = least * root;
                const double scale = size[d + i] > floor_size ? size[d + i] : floor_size;
                if (pass == 0) {
                    most = size[d + i] / root > most ? size[d + i] / root : most;
                } else if (scale > 0.0 && !(fabs(force[d + i]) / scale <= worst)) {
                    worst = fabs(force[d + i]) / scale;
                    *where = d + i;
                }
            }
            M += n * n;
        }
    }
    return worst;
}

/* The body that owns a velocity of the problem. */
static const char* name_of(const perpi_step* step, int32_t velocity)
{
    const perpi_formulation* f = step->formulation;
    for (size_t i = 0; i < step->model->body_count; ++i) {
        const int32_t block = f->block_of[i];
        if (block >= 0 && velocity >= f->dof[block] && velocity < f->dof[block + 1]) {
            return step->model->body[i].name;
        }
    }
    return "";
}

/* The search of one step. */
typedef struct search {
    perpi_step* step;
    const perpi_step_input* in;
    perp_report* report;
    int64_t work;         /* iterations so far */
    int64_t most_work;    /* and the limit */
    int32_t where;        /* the velocity with the largest unbalance */
    int32_t fastest;      /* the velocity with the largest M v of all solves */
    double most;          /* that M v */
    double best, impulse; /* impulse: the largest M v of the first solve, see unbalance() */
    double s_last,
        impulse_last; /* of the last solve with s < 1; s_last < 0: not compared any more */
} search;

/* The largest M v of the current velocities, each body's entries in units of its mass. */
static double largest_impulse(const perpi_step* step, double h, int32_t* where)
{
    const perpi_formulation* f = step->formulation;
    const perp_contact_problem* P = &f->problem;
    double most = 0.0;
    const double* M = P->M;
    for (int32_t b = 0; b < P->block_count && P->dof[b] < f->body_dofs; ++b) {
        const int32_t d = P->dof[b], n = P->dof[b + 1] - d;
        for (int32_t i = 0; i < n; ++i) {
            const bool turns = n == 6 ? i >= 3 : n == 3 && step->model->dimension == 2 && i == 2;
            const double v = fabs(step->v_problem[d + i]), least = turns ? REST / h : 0.0;
            const double size = sqrt(M[i * n + i]) * (v > least ? v : least);
            *where = size > most ? d + i : *where;
            most = size > most ? size : most;
        }
        M += n * n;
    }
    return most;
}

/* One solve from v_end, checked, and saved if it is the best: *off is its residual. v_end moves
 * on unless the solve failed: then *off is infinite. */
static perp_status try_near(search* x, double s, double* off)
{
    perpi_step* step = x->step;
    const perp_contact_problem* P = &step->formulation->problem;
    perp_contact_residual residual;
    *off = INFINITY;
    if (x->work > x->most_work) {
        return PERP_OK;
    }
    perp_status status = solve_near(step, x->in, s, x->work > EARLY_WORK, &residual, x->report);
    x->work += x->report->iterations;
    if (status != PERP_OK || x->report->outcome == PERP_OUTCOME_CANCELLED ||
        !(residual.worst <= USEFUL) || !all_finite(step->v_problem, P->dof_count) ||
        !all_finite(step->p_problem, P->row_count)) {
        return status;
    }
    status = check_residual(step, x->in, &residual);
    if (status != PERP_OK) {
        return status;
    }
    int32_t where = 0;
    int32_t fast = 0;
    const double impulse = largest_impulse(step, x->in->h, &fast);
    if (x->impulse < 0.0) {
        x->impulse = impulse;
    }
    /* a spring needs a small s to bring its body to rest; with a force that nothing resists M v grows as 1 / s */
    if (s <= LESS * x->s_last && impulse <= ALIKE * x->impulse_last && impulse > x->impulse) {
        x->impulse = impulse;
    }
    if (s < 1.0 && x->s_last >= 0.0) {
        x->s_last = s;
        x->impulse_last = impulse;
    }
    if (impulse > x->most) {
        x->most = impulse;
        x->fastest = fast;
    }
    const double unbalanced = unbalance(step, x->impulse, &where);
    *off = residual.worst > unbalanced ? residual.worst : unbalanced;
    if (*off < x->best) {
        x->best = *off;
        x->where = where;
        save_best(step);
    }
    return status;
}

/* Solves until the residual is small enough or does not improve. */
static perp_status search_equilibrium(search* x)
{
    const double tolerance = x->step->tolerance;
    double s = FIRST;
    int32_t stale = 0;
    bool exact = true, growing = false; /* exact: solves with s = 1 are of use */
    for (int cycle = 0; cycle < MAX_CYCLES; ++cycle) {
        const double before = x->best;
        double near, full = INFINITY;
        perp_status status = try_near(x, s, &near);
        if (status == PERP_OK && exact && !(x->best <= GOAL)) {
            status = try_near(x, 1.0, &full);
        }
        if (status != PERP_OK || x->report->outcome == PERP_OUTCOME_CANCELLED) {
            return status;
        }
        if (near < full && near == x->best) {
            restore_best(x->step);
        }
        exact = exact && !(near < GAIN * full);
        const double off = near < full ? near : full;
        stale = off < 0.5 * before ? 0 : stale + 1;
        if (x->best <= GOAL || (x->best <= tolerance && stale >= STALE)) {
            break;
        }
        growing = growing || (exact && before <= GOOD && off > 0.5 * before);
        if (x->work > x->most_work || (isinf(off) && (s == 1.0 || exact))) {
            break; /* small enough; or not even the problem with the whole mass can be solved */
        }
        if (growing) {
            s = s * GROW < 1.0 ? s * GROW : 1.0;
        } else if (isinf(near) || off > WORSE * before) {
            s = s * RETREAT < 1.0 ? s * RETREAT : 1.0;
        } else if (cycle == 0 || off > GAIN * before) {
            s = s * SHRINK > LAST ? s * SHRINK : LAST;
        }
    }
    return PERP_OK;
}

/* See POLISH. */
static perp_status polish(search* x)
{
    const double tolerance = x->step->tolerance;
    int32_t solves = 0;
    x->s_last = -1.0; /* from the best point any mass gives nearly its M v */
    for (int i = 0; i < POLISH_COUNT && x->best > tolerance; ++i) {
        const double before = x->best;
        restore_best(x->step);
        for (int round = 0; round < POLISH_ROUNDS && x->best > tolerance; ++round) {
            const double last = x->best;
            double off;
            const perp_status status = try_near(x, POLISH[i], &off);
            if (status != PERP_OK || x->report->outcome == PERP_OUTCOME_CANCELLED) {
                return status;
            }
            if (++solves >= POLISH_SOLVES || x->work > x->most_work) {
                return PERP_OK;
            }
            if (isinf(off)) {
                break;
            }
            round = off < 0.5 * last ? -1 : round;
        }
        i = x->best < 0.1 * before ? -1 : i; /* from the better point all values may help again */
    }
    return PERP_OK;
}

/* Explains why there is no balance. With a force that nothing resists, velocities grow as 1 / s. */
static void explain_unbalance(const search* x)
{
    char* text = x->report->detail;
    const size_t room = sizeof x->report->detail;
    if (isfinite(x->best) && x->most > RUNAWAY * x->impulse) {
        (void)snprintf(text, room,
                       "no equilibrium: nothing holds '%.40s' against its forces; it would fall, "
                       "slide or turn away",
                       name_of(x->step, x->fastest));
    } else if (isinf(x->best)) {
        (void)snprintf(
            text, room,
            "no equilibrium found: something is likely jammed between prescribed bodies");
    } else {
        (void)snprintf(text, room,
                       "the forces on '%.40s' do not balance (off by %.0e of them): does anything "
                       "hold it, is it jammed?",
                       name_of(x->step, x->where), x->best);
    }
}

perp_status perpi_search_equilibrium(perpi_step* step, const perpi_step_input* in)
{
    perp_contact_residual* residual = &step->residual;
    perp_report* report = &step->report;
    const perp_contact_problem* P = &step->formulation->problem;
    search x = {.step = step,
                .in = in,
                .report = report,
                .most_work = P->group_count > 0 ? GROUP_WORK : MAX_WORK,
                .best = INFINITY,
                .impulse = -1.0,
                .s_last = 0.0};
    perp_status status =
        perpi_grow(step->context, &step->equilibrium.best, &step->equilibrium.best_capacity,
                   (size_t)(P->dof_count + P->row_count) + 1, sizeof(double));
    if (status == PERP_OK) {
        memset(step->equilibrium.v_end, 0, (size_t)step->v_size * sizeof *step->equilibrium.v_end);
        status = search_equilibrium(&x);
        if (status == PERP_OK && report->outcome != PERP_OUTCOME_CANCELLED && isfinite(x.best)) {
            status = polish(&x);
        }
    }
    if (status != PERP_OK || report->outcome == PERP_OUTCOME_CANCELLED) {
        return status;
    }
    *residual = (perp_contact_residual){.dynamics = INFINITY, .worst = INFINITY};
    if (isfinite(x.best)) {
        restore_best(step);
        status = check_residual(step, in, residual);
    }
    const bool solved = x.best <= step->tolerance;
    report->iterations = x.work < INT32_MAX ? (int32_t)x.work : INT32_MAX;
    report->residual = residual->worst;
    report->outcome = solved ? PERP_OUTCOME_SOLVED : PERP_OUTCOME_NO_SOLUTION;
    report->detail[0] = '\0';
    if (!solved) {
        explain_unbalance(&x);
    }
    return status;
}
