/* src/step/equilibrium.c - steps without inertia: balance of forces by the proximal point method.
 *
 * Source     [B09 (3.29), (3.45)]: the step minimises the work against external and frictional forces;
 *            Rockafellar (1976) for the method
 * The problem without inertia, 0 = h f + J' p, has no mass matrix, and the methods need one. So from
 * a point v_k the problem with the mass s M is solved,
 *     s M (v - v_k) = h f + J' p,   laws of the rows as ever,
 * and its answer is the next v_k. Where v = v_k, forces balance, whatever s. The error shrinks by
 * s / (s + stiffness) in each solve, stiffness being what springs (h^2 k / m) and the curvature of
 * friction (mu h g / v) bring; sharp corners of the potential, as sticking or a pusher, are reached
 * at once, however large s is. So s becomes smaller as long as that helps. A solve with a small s
 * leaves the balance off by s M (v - v_k), and rounding leaves the rows off by about 1e-16 / s; one with
 * s = 1 moves v by what the balance is off, and has no such rounding. The first serves where forces are
 * not unique (a box on four corners: each solve may share the load otherwise, and the velocity
 * follows), the second where they are; both are tried, and the residual check says which to keep. Whichever it is,
 * the problem that is checked and recorded has s = 1 and v_k = v.
 *
 * v_0 = 0: where the laws leave the motion open (nothing touches a body; a frictionless body between
 * a fence and a wall), the small mass picks the motion of least kinetic energy, and a body that
 * nothing moves stays. perpi_indeterminacy tells that there was a choice.
 */
#include <stdio.h>
#include <string.h>

#include "step/step.h"

/* An entry of the forces that is this much smaller than the largest is checked by that. */
static const double FLOOR = 1e-3;
/* Where the forces vanish, as on a free body that is pushed or a spring that is at rest length, those
 * of rounding remain: about 1e-16 of what it takes to bring the bodies from rest to their velocities.
 * Forces below this part of that are checked by it. */
static const double ROUNDING = 1e-6;
/* Nor is there anything to balance in a scene at rest, where velocities are rounding too: those that turn
 * a body by less than this in a step. */
static const double REST = 1e-6;
enum { MAX_CYCLES = 16, STALE = 3 };
static const double FIRST = 0.1, LAST = 1e-10, SHRINK = 0.1, RETREAT = 30.0;
/* A cycle that gains less than this wants a smaller mass. One that gains nothing may be on its way
 * along a side of a polygon, where the unbalance stays what it is until a corner comes; one that
 * makes it worse by this much wants a larger mass. */
static const double GAIN = 0.01, WORSE = 10.0;
/* Rounding of a solve spoils the balance, by about 1e-17 / s. Once it is this good and gets no better,
 * s grows again to polish it. */
static const double GOOD = 1e-7, GROW = 10.0;
/* A cycle ends the search at this residual, relative as all of them. */
static const double GOAL = 1e-11;
/* A body whose M v grew by this from the first solve on is not held by anything. */
static const double RUNAWAY = 1e6;
/* What a solve must reach to be of use. */
static const double USEFUL = 1e-6;
/* What every solve is asked for: it may fall short. */
static const double FINE = 1e-12;
/* Iterations of all solves of a step. A solve that fails takes about 130,000 (some seconds for 20 bodies),
 * one that succeeds some hundred. */
static const int64_t MAX_WORK = 150000;
/* With groups, whose contacts have a simpler model to fall back to: steps that find a balance take 50 to 2500. */
static const int64_t GROUP_WORK = 10000;
/* Once the search got no better: solves from the best point with one s after the other, each as long
 * as it helps, or for a few rounds. A box that slides on four corners has many shares of its load, and a solve
 * with a mass too large, or rounding with one too small, moves away from a point that was good. */
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

/* One solve from v_end, into v_problem and p_problem. */
static perp_status solve_near(perpi_step* step, const perpi_step_input* in, double s,
                              perp_contact_residual* residual, perp_report* report)
{
    const perp_status status = formulate_near(step, in, s);
    if (status != PERP_OK) {
        return status;
    }
    perp_solve_options options = perp_solve_options_default();
    options.tolerance = step->tolerance < FINE ? step->tolerance : FINE;
    options.cancel = step->cancel;
    options.user = step->cancel_user;
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

/* The velocities and impulses at hand <-> the best so far. */
static void keep(perpi_step* step)
{
    const perp_contact_problem* P = &step->formulation->problem;
    copy(step->equilibrium.best, step->v_problem, P->dof_count);
    copy(step->equilibrium.best + P->dof_count, step->p_problem, P->row_count);
}

static void take_back(perpi_step* step)
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

/* How far the forces are from balance, beside themselves: |h f + J' p| / (|h f| + |J' p|), each body's
 * entries in units of its mass. The residual check compares with M v too, beside which any force looks small
 * once the motion runs away. impulse: the largest M v of the first solve, in the same units, when
 * nothing has run away. where: the velocity furthest off. */
static double unbalance(const perpi_step* step, double impulse, int32_t* where)
{
    const perpi_formulation* f = step->formulation;
    const perp_contact_problem* P = &f->problem;
    double* force = step->equilibrium.basis; /* has room: see check() */
    double* size = force + f->body_dofs;
    const double* M = P->M;
    for (int32_t b = 0; b < P->block_count && P->dof[b] < f->body_dofs; ++b) {
        const int32_t d = P->dof[b], n = P->dof[b + 1] - d;
        for (int32_t i = 0; i < n; ++i) {
            double h_f = P->k[d + i]; /* minus s M v: drag is in M, and stays */
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
    int64_t most_work;    /* and after which to give up */
    int32_t where;        /* the velocity furthest from balance */
    int32_t fastest;      /* the velocity with the largest M v of all solves */
    double most;          /* that M v */
    double best, impulse; /* impulse: the largest M v of the first solve, see unbalance() */
} search;

/* The largest M v of the velocities at hand, each body's entries in units of its mass. */
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

/* One solve from v_end, checked, and kept if it is the best: *off. v_end moves on unless it failed:
 * then *off is infinite. */
static perp_status try_near(search* x, double s, double* off)
{
    perpi_step* step = x->step;
    const perp_contact_problem* P = &step->formulation->problem;
    perp_contact_residual residual;
    *off = INFINITY;
    if (x->work > x->most_work) {
        return PERP_OK;
    }
    perp_status status = solve_near(step, x->in, s, &residual, x->report);
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
    if (impulse > x->most) {
        x->most = impulse;
        x->fastest = fast;
    }
    const double unbalanced = unbalance(step, x->impulse, &where);
    *off = residual.worst > unbalanced ? residual.worst : unbalanced;
    if (*off < x->best) {
        x->best = *off;
        x->where = where;
        keep(step);
    }
    return status;
}

/* Solves until it is good enough, or gets no better. */
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
            take_back(x->step);
        }
        exact = exact && !(near < GAIN * full);
        const double off = near < full ? near : full;
        stale = off < 0.5 * before ? 0 : stale + 1;
        if (x->best <= GOAL || (x->best <= tolerance && stale >= STALE)) {
            break;
        }
        growing = growing || (exact && before <= GOOD && off > 0.5 * before);
        if (x->work > x->most_work || (isinf(off) && (s == 1.0 || exact))) {
            break; /* enough; or not even the problem with the whole mass can be solved */
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
    for (int i = 0; i < POLISH_COUNT && x->best > tolerance; ++i) {
        const double before = x->best;
        take_back(x->step);
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
        i = x->best < 0.1 * before ? -1 : i; /* from the better point all may help again */
    }
    return PERP_OK;
}

/* Why there is no balance. With a force that nothing resists, velocities go as 1 / s. */
static void explain(const search* x)
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
                .impulse = -1.0};
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
        take_back(step);
        status = check_residual(step, in, residual);
    }
    const bool solved = x.best <= step->tolerance;
    report->iterations = x.work < INT32_MAX ? (int32_t)x.work : INT32_MAX;
    report->residual = residual->worst;
    report->outcome = solved ? PERP_OUTCOME_SOLVED : PERP_OUTCOME_NO_SOLUTION;
    report->detail[0] = '\0';
    if (!solved) {
        explain(&x);
    }
    return status;
}
