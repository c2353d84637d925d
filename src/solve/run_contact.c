/* src/solve/run_contact.c - runs a method on a contact problem, in the form that the method takes:
 * reformulate (once per island), run, reconstruct v and p. See solve.h. */
#include <math.h>
#include <string.h>

#include "problem/reformulate/reformulate.h"
#include "solve/clock.h"
#include "solve/solve.h"

#define TIGHTEN 0.1 /* factor on the tolerance when a reformulated problem is solved again */
enum { TRIES = 3 };

static perp_status make_reformulation(perp_context* context, perp_reformulation** reformulation)
{
    return *reformulation == NULL ? perp_reformulation_create(context, reformulation) : PERP_OK;
}

/* count zeros. */
static perp_status take_zeros(perpi_arena* arena, size_t count, double** z)
{
    const perp_status status = perpi_arena_take(arena, count, sizeof **z, z);
    if (status == PERP_OK) {
        memset(*z, 0, count * sizeof **z);
    }
    return status;
}

/* ---- the contact problem itself ----------------------------------------------------------------------*/

static perp_status run_as_contact(perpi_solver* s, perpi_slot* slot, const perpi_problem* problem,
                                  const perp_solve_options* options, bool warm, double* x,
                                  perpi_made* made)
{
    (void)s;
    const perp_contact_problem* P = problem->contact;
    return slot->method->contact(slot->self, P, options, warm, x, x + P->dof_count, &made->report);
}

/* ---- LCP and MLCP ------------------------------------------------------------------------------------*/

static perp_status make_lcp(perpi_solver* s, const perp_contact_problem* P)
{
    if ((s->ready & PERPI_READY_LCP) != 0) {
        return PERP_OK;
    }
    perp_status status = make_reformulation(s->context, &s->reformulation);
    if (status == PERP_OK) {
        status = perp_contact_to_lcp(s->reformulation, P, &s->lcp);
    }
    s->ready |= status == PERP_OK ? PERPI_READY_LCP : 0u;
    return status;
}

static perp_status run_as_lcp(perpi_solver* s, perpi_slot* slot, const perpi_problem* problem,
                              const perp_solve_options* options, bool warm, double* x,
                              perpi_made* made)
{
    const perp_contact_problem* P = problem->contact;
    double *v = x, *p = x + P->dof_count, *z = NULL;
    const perpi_arena_mark mark = perpi_arena_get_mark(&s->arena);
    perp_status status = make_lcp(s, P);
    if (status == PERP_OK) {
        status = take_zeros(&s->arena, (size_t)s->lcp.n, &z);
    }
    if (status == PERP_OK && warm) {
        perp_reformulation_contact_lcp_guess(s->reformulation, P, v, p, z);
    }
    if (status == PERP_OK && s->lcp.n == 0) {
        made->report.outcome = PERP_OUTCOME_SOLVED;
    } else if (status == PERP_OK) {
        status = perpi_check_lcp_needs(s->context, slot->method, &s->lcp);
        if (status == PERP_OK) {
            status = slot->method->lcp(slot->self, &s->lcp, options, warm, z, &made->report);
        }
    }
    if (status == PERP_OK) {
        perp_reformulation_contact_lcp_reconstruct(s->reformulation, P, z, v, p);
    }
    perpi_arena_rewind(&s->arena, mark);
    return status;
}

static perp_status make_mlcp(perpi_solver* s, const perp_contact_problem* P)
{
    if ((s->ready & PERPI_READY_MLCP) != 0) {
        return PERP_OK;
    }
    perp_status status = make_reformulation(s->context, &s->reformulation);
    if (status == PERP_OK) {
        status = perp_contact_to_mlcp(s->reformulation, P, &s->mlcp);
    }
    s->ready |= status == PERP_OK ? PERPI_READY_MLCP : 0u;
    return status;
}

/* Also for a method that exists for NCPs only: there F is affine. */
static perp_status run_as_mlcp(perpi_solver* s, perpi_slot* slot, const perpi_problem* problem,
                               const perp_solve_options* options, bool warm, double* x,
                               perpi_made* made)
{
    const perp_contact_problem* P = problem->contact;
    double *v = x, *p = x + P->dof_count, *z = NULL;
    const perpi_arena_mark mark = perpi_arena_get_mark(&s->arena);
    perp_status status = make_mlcp(s, P);
    if (status == PERP_OK) {
        status = take_zeros(&s->arena, (size_t)s->mlcp.M.cols, &z);
    }
    if (status == PERP_OK && warm) {
        perp_reformulation_mlcp_guess(s->reformulation, P, v, p, z);
    }
    if (status == PERP_OK && slot->form == PERPI_FORM_MLCP) {
        status = perpi_check_mlcp_needs(s->context, slot->method, &s->mlcp);
        if (status == PERP_OK) {
            status = slot->method->mlcp(slot->self, &s->mlcp, options, warm, z, &made->report);
        }
    } else if (status == PERP_OK) {
        perp_ncp ncp;
        perpi_mlcp_to_ncp(&s->mlcp, &ncp);
        status = slot->method->ncp(slot->self, &ncp, options, warm, z, &made->report);
    }
    if (status == PERP_OK) {
        perp_reformulation_mlcp_reconstruct(s->reformulation, P, z, v, p);
    }
    perpi_arena_rewind(&s->arena, mark);
    return status;
}

/* ---- the reduced problem -----------------------------------------------------------------------------*/

static perp_status make_reduced(perp_context* context, const perp_contact_problem* P,
                                perpi_reduced* reduced)
{
    perp_friction_problem friction;
    perp_status status = make_reformulation(context, &reduced->reformulation);
    if (status == PERP_OK) {
        status = perp_contact_to_friction(reduced->reformulation, P, &friction);
    }
    if (status == PERP_OK) {
        status = perpi_reduced_units_scale(context, &reduced->units, &friction, &reduced->scaled);
    }
    return status;
}

static perp_status ready_reduced(perpi_solver* s, const perp_contact_problem* P)
{
    const perp_status status =
        (s->ready & PERPI_READY_REDUCED) == 0 ? make_reduced(s->context, P, &s->reduced) : PERP_OK;
    s->ready |= status == PERP_OK ? PERPI_READY_REDUCED : 0u;
    return status;
}

/* The residual scales of the two forms differ, so a point within the tolerance of the reduced
 * problem can exceed that of the contact problem. The method then continues from it with a smaller
 * tolerance. */
static perp_status run_as_reduced(perpi_solver* s, perpi_slot* slot, const perpi_problem* problem,
                                  const perp_solve_options* options, bool warm, double* x,
                                  perpi_made* made)
{
    const perp_contact_problem* P = problem->contact;
    double *v = x, *p = x + P->dof_count;
    perp_solve_options asked = *options;
    int32_t iterations = 0;
    perp_status status = slot->reduced == NULL ? ready_reduced(s, P) : PERP_OK;
    const perpi_reduced* reduced = slot->reduced == NULL ? &s->reduced : slot->reduced;
    for (int attempt = 0; status == PERP_OK && attempt < TRIES; ++attempt) {
        perpi_reduced_units_enter(&reduced->units, p);
        status = slot->method->friction(slot->self, &reduced->scaled, &asked, warm || attempt > 0,
                                        p, &made->report);
        perpi_reduced_units_leave(&reduced->units, p);
        if (status != PERP_OK) {
            break;
        }
        made->report.iterations = iterations += made->report.iterations;
        perp_reformulation_friction_reconstruct(reduced->reformulation, P, p, v);
        made->checked = made->report.outcome == PERP_OUTCOME_SOLVED;
        if (!made->checked) {
            break;
        }
        status = perpi_contact_residual_at(s, P, v, p, &made->residual);
        if (made->residual.worst <= options->tolerance) {
            break;
        }
        asked.tolerance *= TIGHTEN;
    }
    return status;
}

/* ---- NCP: round cones --------------------------------------------------------------------------------
 * The Fritz-John form has a singular Jacobian where a normal impulse is zero, and Newton converges
 * only locally. Starting points are therefore tried in turn: the first guess, then the results of
 * increasing numbers of sweeps of a splitting method. In each group the member with the largest
 * normal velocity at the best point so far acts. */

#define START_METHOD "nsgs"
static const int32_t start_sweeps[] = {5, 50, 1000};
enum {
    STARTS = sizeof start_sweeps / sizeof start_sweeps[0],
    START_STEPS = 30, /* Newton steps from all but the last start */
};

/* Splitting methods do not support groups. They get a problem in which one member of each group
 * acts, the one with the largest normal velocity at v (none if it is not a primary), and the
 * impulses of the others are fixed at zero. */
static perp_status decide_groups(perpi_solver* s, const perp_contact_problem* P, const double* v,
                                 perp_contact_problem* R)
{
    const size_t nc = (size_t)P->constraint_count, nr = (size_t)P->row_count;
    perp_constraint* alone = NULL;
    double* bound = NULL;
    *R = *P;
    perp_status status = perpi_arena_take(&s->arena, nc, sizeof *alone, &alone);
    if (status == PERP_OK) {
        status = take_zeros(&s->arena, 2 * nr, &bound);
    }
    if (status != PERP_OK) {
        return status;
    }
    memcpy(alone, P->constraint, nc * sizeof *alone);
    for (size_t i = 0; i < nc; ++i) {
        const perp_constraint* c = &P->constraint[i];
        for (int32_t r = c->row; c->kind == PERP_CONSTRAINT_BOUNDED && r < c->row + c->rows; ++r) {
            bound[r] = P->lower[r];
            bound[nr + (size_t)r] = P->upper[r];
        }
    }
    for (int32_t g = 0; g < P->group_count; ++g) {
        for (int32_t k = 0; k < P->group[g].count; ++k) {
            alone[P->group[g].member[k]].kind = PERP_CONSTRAINT_BOUNDED;
        }
    }
    for (int32_t g = 0; g < P->group_count; ++g) {
        const perp_group* group = &P->group[g];
        int32_t widest = 0;
        double most = -INFINITY;
        for (int32_t k = 0; k < group->count; ++k) {
            const double u = perpi_row_velocity(P, &P->constraint[group->member[k]], 0, v);
            widest = u > most ? k : widest;
            most = u > most ? u : most;
        }
        if (widest < group->primary) {
            alone[group->member[widest]].kind = PERP_CONSTRAINT_CONTACT;
        }
    }
    R->constraint = alone;
    R->lower = bound;
    R->upper = bound + nr;
    R->group = NULL;
    R->group_count = 0;
    return PERP_OK;
}

/* Moves x to a starting point for Newton by the given number of sweeps of the splitting method. */
static perp_status sweep_to_start(perpi_solver* s, const perp_contact_problem* P,
                                  const perp_solve_options* options, bool warm, double* x)
{
    perpi_made made = {.report = {.solver = START_METHOD}};
    const perpi_arena_mark mark = perpi_arena_get_mark(&s->arena);
    perp_contact_problem alone = *P;
    perp_status status = PERP_OK;
    if (s->start.method == NULL) {
        status =
            perpi_slot_create(s->context, PERPI_FORM_FRICTION, START_METHOD, NULL, 0, &s->start);
    }
    s->start.reduced = NULL;
    if (status == PERP_OK && P->group_count > 0) {
        s->start.reduced = &s->start_reduced;
        status = decide_groups(s, P, x, &alone);
        if (status == PERP_OK) {
            status = make_reduced(s->context, &alone, &s->start_reduced);
        }
    }
    if (status == PERP_OK) {
        const perpi_problem problem = {PERPI_FORM_CONTACT, {.contact = &alone}};
        status = run_as_reduced(s, &s->start, &problem, options, warm, x, &made);
    }
    perpi_arena_rewind(&s->arena, mark);
    return status;
}

typedef struct ncp_search {
    perpi_solver* s;
    perpi_slot* slot;
    const perp_contact_problem* P;
    const perp_solve_options* options;
    double begin; /* when it did */
    size_t size;  /* of x */
    double* z;    /* of the NCP */
    double* from; /* starting point, then the best point of these runs */
    double* found;
} ncp_search;

/* Newton from n->from, again with smaller tolerances while only this form is satisfied; n->from
 * becomes the best point. made: of these runs, residual of n->from if checked. */
static perp_status newton_from(ncp_search* n, perp_solve_options* asked, perpi_made* made)
{
    perpi_solver* s = n->s;
    const perp_contact_problem* P = n->P;
    perp_status status = PERP_OK;
    made->residual.worst = INFINITY;
    for (int attempt = 0; attempt < TRIES; ++attempt) {
        perpi_take_time(n->options, n->begin, asked);
        perp_reformulation_ncp_guess(s->reformulation, P, n->from, n->from + P->dof_count, n->z);
        const int32_t iterations = made->report.iterations;
        status =
            n->slot->round->ncp(n->slot->round_self, &s->ncp, asked, true, n->z, &made->report);
        made->report.iterations += iterations;
        if (status != PERP_OK) {
            return status;
        }
        perp_contact_residual residual;
        perp_reformulation_ncp_reconstruct(s->reformulation, P, n->z, n->found,
                                           n->found + P->dof_count);
        status = perpi_contact_residual_at(s, P, n->found, n->found + P->dof_count, &residual);
        if (status == PERP_OK && residual.worst < made->residual.worst) {
            made->residual = residual;
            made->checked = true;
            memcpy(n->from, n->found, n->size * sizeof *n->from);
        }
        if (status != PERP_OK || made->report.outcome != PERP_OUTCOME_SOLVED ||
            made->residual.worst <= n->options->tolerance) {
            return status;
        }
        asked->tolerance *= TIGHTEN; /* the residual scales of the two forms differ */
    }
    return status;
}

static perp_status search_ncp(ncp_search* n, bool warm, double* x, perpi_made* best)
{
    const perp_solve_options* options = n->options;
    perp_status status = PERP_OK;
    int32_t iterations = 0;
    best->residual.worst = INFINITY;
    for (int start = warm ? -1 : 0; status == PERP_OK && start < STARTS; ++start) {
        perpi_made made = {.report = {.solver = n->slot->name}};
        perp_solve_options asked = *options;
        memcpy(n->from, x, n->size * sizeof *x);
        if (start >= 0) {
            asked.max_iter = start_sweeps[start];
            asked.attempts = NULL;
            perpi_take_time(options, n->begin, &asked);
            if (start == 0 && !warm) {
                perpi_motion_of(n->P, n->P->M_factor, NULL, n->from);
            }
            status = sweep_to_start(n->s, n->P, &asked, start > 0 || warm, n->from);
        }
        asked.max_iter =
            start + 1 < STARTS && options->max_iter == 0 ? START_STEPS : options->max_iter;
        if (status == PERP_OK) {
            status = newton_from(n, &asked, &made);
        }
        iterations += made.report.iterations;
        if (status == PERP_OK &&
            (made.residual.worst < best->residual.worst || best->residual.worst == INFINITY)) {
            best->residual = made.residual;
            best->checked = made.checked;
            memcpy(x, n->from, n->size * sizeof *x);
        }
        best->report = made.report;
        best->report.iterations = iterations;
        if (best->residual.worst <= options->tolerance ||
            made.report.outcome == PERP_OUTCOME_CANCELLED ||
            made.report.outcome == PERP_OUTCOME_TIME_LIMIT) {
            break;
        }
    }
    return status;
}

static perp_status make_ncp(perpi_solver* s, const perp_contact_problem* P)
{
    if ((s->ready & PERPI_READY_NCP) != 0) {
        return PERP_OK;
    }
    perp_status status = make_reformulation(s->context, &s->reformulation);
    if (status == PERP_OK) {
        status = perp_contact_to_ncp(s->reformulation, P, &s->ncp);
    }
    s->ready |= status == PERP_OK ? PERPI_READY_NCP : 0u;
    return status;
}

static perp_status run_as_ncp(perpi_solver* s, perpi_slot* slot, const perpi_problem* problem,
                              const perp_solve_options* options, bool warm, double* x,
                              perpi_made* made)
{
    const perp_contact_problem* P = problem->contact;
    const size_t size = (size_t)P->dof_count + (size_t)P->row_count;
    const perpi_arena_mark mark = perpi_arena_get_mark(&s->arena);
    ncp_search n = {
        .s = s, .slot = slot, .P = P, .options = options, .begin = perpi_clock_now(), .size = size};
    perp_status status = make_ncp(s, P);
    if (status == PERP_OK) {
        status = take_zeros(&s->arena, (size_t)s->ncp.n, &n.z);
    }
    if (status == PERP_OK) {
        status = take_zeros(&s->arena, 2 * size, &n.from);
    }
    if (status == PERP_OK) {
        n.found = n.from + size;
        status = search_ncp(&n, warm, x, made);
    }
    perpi_arena_rewind(&s->arena, mark);
    return status;
}

/* ---- which of them -----------------------------------------------------------------------------------*/

static bool any_round(const perp_contact_problem* P)
{
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        if (c->kind == PERP_CONSTRAINT_CONTACT &&
            (c->cone == PERP_CONE_QUADRATIC || c->cone == PERP_CONE_ELLIPSOID)) {
            return true;
        }
    }
    return false;
}

perpi_runner perpi_contact_runner(const perpi_slot* slot, const perp_contact_problem* problem)
{
    if (slot->round != NULL && any_round(problem)) {
        return run_as_ncp;
    }
    switch (slot->form) {
    case PERPI_FORM_CONTACT: return run_as_contact;
    case PERPI_FORM_FRICTION: return run_as_reduced;
    case PERPI_FORM_LCP: return run_as_lcp;
    default: return run_as_mlcp;
    }
}
