/* src/solve/solve.c - the loop of every solve: check the input, take the islands, and for each entry of
 * the plan run the method, check the residual, keep the best point. See solve.h. */
#include "solve/solve.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/threads.h"
#include "problem/check.h"
#include "problem/operators.h"
#include "solve/acting.h"
#include "solve/clock.h"
#include "solve/no_motion.h"
#include "solve/report.h"
#include "solve/work.h"

#define GOAL 1e-4      /* factor on the tolerance under PERPI_TIGHT */
#define TIME_SHARE 0.7 /* of the time that is left, for a method that others may follow */
enum {
    RAYS = 2,         /* after so many rays of pivoting methods: probably no solution */
    REFINE_STEPS = 4, /* iterations that improve a warm start within the goal */
};

/* ---- the search: entries of a plan on one problem ------------------------------------------------------*/

typedef struct search {
    perpi_solver* s;
    perpi_problem problem;
    perpi_problem run;         /* what methods get: the problem, or held */
    perp_contact_problem held; /* the problem with other b, see perpi_hold_gaps */
    double limit;              /* of the residual of its answer; 0: not held */
    perp_solve_options options;
    perpi_clock clock;
    size_t n; /* unknowns */
    bool warm;
    const double *guess, *guess_p; /* the caller's; guess_p: p of a contact problem */
    bool island;                   /* gathered from the caller's point */
    double *x, *trial;             /* the best point, and that of the entry that runs */
    perpi_made* best;
    double try_began; /* if the caller asked for the time of each attempt */
    int32_t iterations, count, rays;
    int32_t shared_dofs; /* of a contact problem, see work.h; -1: not yet known */
    int32_t* blocks;     /* room for two numbers of each block of a contact problem */
    bool no_solution;    /* an attempt proved that there is none */
    bool refine;         /* the warm start is within what a plan aims at, but not stationary */
    double begun;        /* the residual of the warm start */
    const char* solver[PERPI_PLAN_MOST];
    perp_outcome outcome[PERPI_PLAN_MOST];
} search;

static perp_status begin_search(search* f)
{
    f->clock = perpi_clock_start(f->options.time_limit);
    f->best->report.residual = INFINITY; /* the rest is set by the first attempt */
    f->begun = INFINITY;
    f->run = f->problem;
    f->limit = 0.0;
    f->s->ready = 0;
    const size_t size = f->n + (f->n & 1); /* both begin at a multiple of 16 bytes */
    const perp_status status = perpi_arena_take(&f->s->arena, 2 * size, sizeof *f->x, &f->x);
    f->trial = status == PERP_OK ? f->x + size : NULL;
    return status;
}

/* The point from which an attempt begins: the best so far, at first the caller's guess. */
static void fill_guess(const search* f, bool guess, double* x)
{
    const size_t nv = f->guess_p != NULL ? (size_t)f->problem.contact->dof_count : f->n;
    if (!guess) {
        memset(x, 0, f->n * sizeof *x);
    } else if (f->count > 0) {
        memcpy(x, f->x, f->n * sizeof *x);
    } else if (f->island) {
        perpi_islands_gather(f->s->islands, f->guess, f->guess_p, x, x + nv);
    } else {
        if (nv > 0) {
            memcpy(x, f->guess, nv * sizeof *x);
        }
        if (f->n > nv) {
            memcpy(x + nv, f->guess_p, (f->n - nv) * sizeof *x);
        }
    }
}

/* See PERPI_SEARCH. */
static int32_t search_steps(const search* f)
{
    const double rows = f->problem.contact->row_count;
    const double steps = PERPI_SEARCH_WORK / (rows * rows * rows);
    return rows > PERPI_DENSE              ? INT32_MAX
           : !(steps > PERPI_SEARCH_LEAST) ? PERPI_SEARCH_LEAST
           : steps < PERPI_SEARCH_MOST     ? (int32_t)steps
                                           : PERPI_SEARCH_MOST;
}

/* What is left of the limits for an entry; false if nothing is. */
static bool limits_left(search* f, const perpi_entry* e, perp_solve_options* left)
{
    *left = f->options;
    left->attempts = NULL; /* that list is kept here */
    f->try_began = f->options.attempts != NULL ? perpi_clock_now() : 0.0;
    if (left->time_limit > 0.0 && f->s->planned) {
        left->time_limit -= perpi_clock_elapsed(&f->clock);
        if (!(left->time_limit > 0.0)) {
            return false;
        }
        left->time_limit *= e[1].name != NULL ? TIME_SHARE : 1.0;
    }
    if (left->max_iter > 0) {
        left->max_iter -= f->iterations;
        if (left->max_iter <= 0) {
            return false;
        }
    }
    int32_t most = INT32_MAX;
    if ((e->how & (PERPI_TIGHT | PERPI_PROBE)) != 0) {
        left->enough = left->tolerance;
        left->tolerance *= GOAL;
        most = (e->how & PERPI_PROBE) != 0  ? PERPI_PROBES
               : (e->how & PERPI_LONG) != 0 ? most
                                            : PERPI_FEW;
    }
    if (f->refine) {
        left->enough = left->enough > 0.0 ? left->enough : left->tolerance;
        left->tolerance *= PERPI_REFINE;
        most = REFINE_STEPS;
    }
    if (((e->how & PERPI_SHORT) != 0 || f->rays >= RAYS) && most > PERPI_FEW) {
        most = PERPI_FEW;
    }
    if ((e->how & PERPI_BRIEF) != 0) {
        most = PERPI_VERY_FEW;
    }
    if ((e->how & PERPI_SEARCH) != 0 && most > search_steps(f)) {
        most = search_steps(f);
    }
    if (f->s->part && strcmp(e->name, "newton-bodies") != 0) {
        if ((e->how & PERPI_WHOLE) != 0) {
            return false;
        }
        most = most > PERPI_FEW ? PERPI_FEW
                                : most; /* the whole problem is tried next, with all of the plan */
    }
    if ((e->how & PERPI_MEDIUM) != 0 && most > PERPI_SOME) {
        most = PERPI_SOME;
    }
    if ((e->how & PERPI_MANY) != 0 && most > PERPI_SEARCH_MOST) {
        most = PERPI_SEARCH_MOST;
    }
    const double bound = PERPI_WORK / ((double)f->n * (double)f->n);
    if ((e->how & PERPI_BOUNDED) != 0 && bound < (double)most) {
        most = bound > PERPI_FEW ? (int32_t)bound : PERPI_FEW;
    }
    if (most < INT32_MAX && (left->max_iter == 0 || left->max_iter > most)) {
        left->max_iter = most;
    }
    return left->cancel == NULL || f->count == 0 || !left->cancel(left->user);
}

static bool is_done(const search* f)
{
    return f->count > 0 && f->best->report.residual <= f->options.tolerance;
}

/* A tolerance near rounding may not be attainable. Once two attempts have reached options.enough,
 * further ones would cost much and gain little. */
static bool is_enough(const search* f)
{
    return is_done(f) || (f->count >= 2 && f->best->report.residual <= f->options.enough);
}

/* Appends to options.attempts, if there is a list. */
static void list_attempt(const perp_solve_options* options, const perp_report* made, double seconds)
{
    perp_attempt_list* list = options->attempts;
    if (list == NULL) {
        return;
    }
    if (list->count < list->capacity) {
        list->attempt[list->count] = (perp_attempt){.solver = made->solver,
                                                    .outcome = made->outcome,
                                                    .iterations = made->iterations,
                                                    .residual = made->residual,
                                                    .seconds = seconds};
    }
    list->count += 1;
}

/* Notes how an attempt ended, and keeps its point if that is the best so far. */
static void note_attempt(search* f, const perpi_made* made)
{
    const perp_report* report = &made->report;
    if (f->s->planned) {
        list_attempt(&f->options, report,
                     f->options.attempts != NULL ? perpi_clock_now() - f->try_began : 0.0);
    }
    f->solver[f->count] = report->solver;
    f->outcome[f->count] = report->outcome;
    f->count += 1;
    f->no_solution = f->no_solution || report->outcome == PERP_OUTCOME_NO_SOLUTION;
    f->rays += report->outcome == PERP_OUTCOME_NO_SOLUTION || report->outcome == PERP_OUTCOME_RAY;
    f->iterations += report->iterations;
    if (f->count == 1 || report->residual < f->best->report.residual ||
        report->residual <= f->limit) {
        if (made != f->best) {
            *f->best = *made;
        }
        double* x = f->x;
        f->x = f->trial;
        f->trial = x;
    }
}

/* After a run: check the residual once. A method of the plan that does not support the problem is
 * skipped. */
static perp_status end_attempt(search* f, bool probe, perp_status status, double tolerance,
                               perpi_made* made)
{
    if (f->s->planned && (status == PERP_ERROR_INPUT || status == PERP_ERROR_UNSUPPORTED)) {
        return PERP_OK;
    }
    if (f->problem.form == PERPI_FORM_CONTACT && made->report.solver != NULL) {
        if (f->shared_dofs < 0) {
            f->shared_dofs = perpi_shared_dofs(f->problem.contact, f->blocks);
        }
        f->s->work += perpi_attempt_work(made->report.solver, f->problem.contact, f->shared_dofs,
                                         made->report.iterations);
    }
    if (f->limit > 0.0) { /* checked, if at all, with other gaps */
        made->checked = false;
        f->s->ready = 0;
        f->run = f->problem;
    }
    if (status == PERP_OK) {
        status = perpi_check_point(f->s, &f->problem, tolerance, f->trial, made);
    }
    if (status == PERP_OK && probe && !(made->report.residual <= tolerance)) {
        f->iterations += made->report.iterations;
    } else if (status == PERP_OK) {
        note_attempt(f, made);
    }
    f->limit = 0.0;
    return status;
}

static perpi_runner runner_of(const perpi_slot* slot, const perpi_problem* P)
{
    switch (P->form) {
    case PERPI_FORM_LCP: return perpi_run_lcp;
    case PERPI_FORM_MLCP: return perpi_run_mlcp;
    case PERPI_FORM_NCP: return perpi_run_ncp;
    case PERPI_FORM_FRICTION: return perpi_run_friction;
    default: return perpi_contact_runner(slot, P->contact);
    }
}

/* After the second attempt that did not solve a contact problem: whether none can. The first is often short. */
static perp_status find_contradiction(search* f, bool* asked, bool* none)
{
    if (*asked || f->problem.form != PERPI_FORM_CONTACT || !f->s->planned || f->count < 2 ||
        is_enough(f)) {
        return PERP_OK;
    }
    *asked = true;
    const perp_status status = perpi_has_no_motion(&f->s->arena, f->problem.contact, none);
    f->no_solution = f->no_solution || *none;
    return status;
}

/* Tries the entries in order until the residual is small enough. */
static perp_status run_plan(search* f, const perpi_entry* entry)
{
    perpi_solver* s = f->s;
    bool asked = false, none = false;
    for (; entry->name != NULL && (f->refine || !is_enough(f)) && !none; ++entry) {
        perp_solve_options left = f->options;
        perpi_slot* slot = NULL;
        perpi_made made = {.report = {.solver = entry->name}};
        perp_status status = perpi_find_slot(s, entry->name, &slot);
        if (status == PERP_OK) {
            status = perpi_check_takes(s->context, slot->name, slot->takes, &f->problem);
        }
        if (status == PERP_OK && !limits_left(f, entry, &left)) {
            continue;
        }
        if (status == PERP_OK) {
            const bool guess = (entry->how & PERPI_COLD) == 0 && (f->warm || f->count > 0);
            fill_guess(f, guess, f->trial);
            status = runner_of(slot, &f->run)(s, slot, &f->run, &left, guess, f->trial, &made);
        }
        status = end_attempt(f, (entry->how & PERPI_PROBE) != 0, status, left.tolerance, &made);
        f->refine = false;
        if (status == PERP_OK) {
            status = find_contradiction(f, &asked, &none);
        }
        if (status != PERP_OK) {
            return status;
        }
    }
    return PERP_OK;
}

/* "tried newton (iteration limit), nsgs (solved)" */
static void describe_attempts(const search* f, char* text, size_t size)
{
    snprintf(text, size, "tried");
    for (int32_t i = 0; i < f->count; ++i) {
        const size_t used = strlen(text);
        snprintf(text + used, size - used, "%s %s (%s)", i > 0 ? "," : "", f->solver[i],
                 perp_outcome_name(f->outcome[i]));
    }
}

/* The result of the plan, *f->best, of the point in f->x; not checked if no entry could be run. */
static void end_search(search* f)
{
    perpi_made* made = f->best;
    const bool done = is_done(f);
    if (f->count == 0) {
        fill_guess(f, f->warm, f->x);
        *made = (perpi_made){0};
    }
    if (done) {
        made->report.outcome = PERP_OUTCOME_SOLVED;
    } else if (f->no_solution) {
        made->report.outcome = PERP_OUTCOME_NO_SOLUTION;
    }
    made->report.iterations = f->iterations;
    if (f->count > 1) {
        made->overruled = false;
        describe_attempts(f, made->report.detail, sizeof made->report.detail);
    }
}

/* Seconds and names, and the one attempt of a solve without a plan. */
static void finish_report(const perpi_solver* s, const perp_solve_options* options, double begin,
                          perp_report* made)
{
    made->solver = made->solver != NULL ? made->solver : s->name;
    made->seconds = perpi_clock_now() - begin;
    if (options->attempts != NULL && options->attempts->count == 0) {
        list_attempt(options, made, made->seconds);
    }
}

/* ---- the forms with one vector of unknowns -----------------------------------------------------------*/

/* The problem has been checked. */
static perp_status solve_vector(search* f, const perpi_entry* plan, double begin, double* z,
                                perpi_made* result)
{
    perpi_solver* s = f->s;
    f->best = result;
    const char* name = f->problem.form == PERPI_FORM_FRICTION ? "r" : "z";
    perp_status status =
        f->warm ? perpi_check_guess(s->context, name, f->guess, (int32_t)f->n) : PERP_OK;
    if (status == PERP_OK && !s->planned) {
        plan = s->single;
        status = perpi_check_takes(s->context, s->name, s->takes, &f->problem);
    }
    if (status == PERP_OK) {
        status = perpi_arena_reset(&s->arena);
    }
    if (status == PERP_OK) {
        status = begin_search(f);
    }
    if (status == PERP_OK && f->n > 0) {
        status = run_plan(f, plan);
    }
    if (status != PERP_OK) {
        return status;
    }
    end_search(f);
    result->report.outcome = f->n > 0 ? result->report.outcome : PERP_OUTCOME_SOLVED;
    status = perpi_check_point(s, &f->problem, f->options.tolerance, f->x, result);
    if (status == PERP_OK) {
        if (f->n > 0) {
            memcpy(z, f->x, f->n * sizeof *z);
        }
        finish_report(s, &f->options, begin, &result->report);
    }
    return status;
}

#define DEFINE_SOLVE(form, FORM, problem_type, size, plan, check_fn)                               \
    static perp_status solve_##form(perpi_solver* s, const problem_type* problem,                  \
                                    const perp_solve_options* options, bool warm, double* z,       \
                                    perpi_made* made)                                              \
    {                                                                                              \
        const double begin = perpi_clock_now();                                                    \
        search f = {.s = s, .problem = {PERPI_FORM_##FORM, {.form = problem}}, .warm = warm};      \
        perp_status status = perpi_check_options(s->context, options, &f.options);                 \
        if (status == PERP_OK) {                                                                   \
            status = check_fn(s->context, problem);                                                \
        }                                                                                          \
        if (status != PERP_OK) {                                                                   \
            return status;                                                                         \
        }                                                                                          \
        f.n = (size_t)problem->size;                                                               \
        f.guess = z;                                                                               \
        return solve_vector(&f, plan, begin, z, made);                                             \
    }

DEFINE_SOLVE(lcp, LCP, perp_lcp, n, perpi_plan_lcp(problem), perp_lcp_check)
DEFINE_SOLVE(mlcp, MLCP, perp_mlcp, M.cols, perpi_plan_mlcp, perp_mlcp_check)
DEFINE_SOLVE(ncp, NCP, perp_ncp, n, perpi_plan_ncp, perpi_ncp_check)
DEFINE_SOLVE(friction, FRICTION, perp_friction_problem, row_count, perpi_plan_friction,
             perp_friction_check)
#undef DEFINE_SOLVE

static perp_status give_report(perp_status status, const perpi_made* made, perp_report* report)
{
    if (status == PERP_OK && report != NULL) {
        *report = made->report;
    }
    return status;
}

#define DEFINE_PUBLIC_SOLVE(form)                                                                  \
    perp_status perp_##form##_solve(perp_##form##_solver* solver, const perp_##form* problem,      \
                                    const perp_solve_options* options, bool warm, double* z,       \
                                    perp_report* report)                                           \
    {                                                                                              \
        perpi_made made;                                                                           \
        return give_report(solve_##form(&solver->base, problem, options, warm, z, &made), &made,   \
                           report);                                                                \
    }

DEFINE_PUBLIC_SOLVE(lcp)
DEFINE_PUBLIC_SOLVE(mlcp)
DEFINE_PUBLIC_SOLVE(ncp)
#undef DEFINE_PUBLIC_SOLVE

perp_status perp_friction_solve(perp_friction_solver* solver, const perp_friction_problem* problem,
                                const perp_solve_options* options, bool warm, double* r,
                                perp_contact_residual* residual, perp_report* report)
{
    perpi_made made;
    const perp_status status = solve_friction(&solver->base, problem, options, warm, r, &made);
    if (status == PERP_OK && residual != NULL) {
        *residual = made.residual;
    }
    return give_report(status, &made, report);
}

/* ---- the contact problem -----------------------------------------------------------------------------*/

/* One call of perp_contact_solve. */
typedef struct contact_call {
    perpi_solver* s;
    perp_contact_problem problem; /* the caller's, with its mass blocks factored */
    perp_solve_options options;
    double begin;
    bool warm;
    double *v, *p;                   /* the caller's: guess, then answer */
    int32_t islands;                 /* 1: the problem itself, unless `changed` is set */
    const bool* changed;             /* per constraint: only islands with one of these are solved */
    perp_contact_problem part;       /* an island of several */
    const perp_contact_problem* one; /* the island at hand: that, or `problem` */
    double* x;                       /* the answer: v, p */
    perpi_made made;
    int32_t unsolved; /* the island of its outcome, if that is not SOLVED */
} contact_call;

/* Not by a compound literal: `part`, `one` and, of a single island, `made` are set with it. */
static void begin_call(contact_call* c, perpi_solver* s, const perp_contact_problem* problem,
                       bool warm, double* v, double* p)
{
    c->s = s;
    c->problem = *problem;
    c->warm = warm;
    c->v = v;
    c->p = p;
    c->islands = 0;
    c->changed = NULL;
    c->x = NULL;
    c->unsolved = 0;
}

/* Checks the problem and factors its mass blocks, the only time in a solve; the problem of an inner
 * solve may have its factors already. */
static perp_status check_and_factor(contact_call* c, bool inner)
{
    perp_contact_problem* P = &c->problem;
    const bool known = inner && P->M_factor != NULL;
    const bool sane = P->dof_count >= 0 && P->dof_count <= 6 * (int64_t)P->block_count;
    double* L = NULL;
    perp_status status = PERP_OK;
    if (!known && sane) {
        status = perpi_arena_take(&c->s->arena, 6 * (size_t)P->dof_count, sizeof *L, &L);
    }
    if (status == PERP_OK) {
        status = perpi_contact_check(c->s->context, P, known, L);
    }
    P->M_factor = known ? P->M_factor : L;
    return status;
}

static perp_status open_call(contact_call* c, const perp_solve_options* options, bool inner)
{
    perp_context* context = c->s->context;
    const perpi_problem problem = {PERPI_FORM_CONTACT, {.contact = &c->problem}};
    c->begin = perpi_clock_now();
    perp_status status = perpi_check_options(context, options, &c->options);
    if (status == PERP_OK) {
        status = perpi_arena_reset(&c->s->arena);
    }
    if (status == PERP_OK) {
        status = check_and_factor(c, inner);
    }
    if (status == PERP_OK) {
        status = perpi_check_takes(context, c->s->name, c->s->takes, &problem);
    }
    if (status == PERP_OK && c->warm) {
        status = perpi_check_guess(context, "v", c->v, c->problem.dof_count);
    }
    if (status == PERP_OK && c->warm) {
        status = perpi_check_guess(context, "p", c->p, c->problem.row_count);
    }
    if (status == PERP_OK) {
        status = perpi_islands_split(c->s->islands, &c->problem, &c->islands);
    }
    if (status == PERP_OK && c->islands > 1) {
        const size_t n = (size_t)c->problem.dof_count + (size_t)c->problem.row_count;
        status = perpi_arena_take(&c->s->arena, n, sizeof *c->x, &c->x);
        c->made = (perpi_made){.report = {.outcome = PERP_OUTCOME_SOLVED}};
    }
    c->islands = c->islands > 1 ? c->islands : 1;
    return status;
}

/* Before anything is built: the warm start itself. */
static perp_status check_warm_start(search* f, const perpi_entry* plan)
{
    if (!f->warm || !f->s->planned || plan->name == NULL) {
        return PERP_OK;
    }
    const perp_contact_problem* P = f->problem.contact;
    perpi_made* made = f->best; /* the first attempt, if it is one */
    perpi_report_begin(&made->report, plan->name);
    made->checked = made->overruled = false;
    f->try_began = f->options.attempts != NULL ? perpi_clock_now() : 0.0;
    const double* guess = f->guess;
    double* p = f->trial + P->dof_count;
    if (f->island) { /* there is no best point yet */
        perpi_islands_gather(f->s->islands, f->guess, f->guess_p, f->x, p);
        guess = f->x;
    } else if (P->row_count > 0) {
        memcpy(p, f->guess_p, (size_t)P->row_count * sizeof *p);
    }
    const double goal = GOAL * f->options.tolerance;
    const perp_status status =
        perpi_check_warm_start(f->s, P, goal, guess, f->trial, made, &f->refine);
    f->begun = status == PERP_OK ? made->residual.worst : INFINITY;
    if (status == PERP_OK && (made->checked || f->refine)) { /* a method may not reach it again */
        made->checked = true;
        note_attempt(f, made);
    } else {
        made->report.residual = INFINITY;
    }
    return status;
}

/* A large island whose warm start is within the limit but not stationary: methods get it without small gaps. */
static perp_status hold_gaps(search* f)
{
    const perp_contact_problem* P = f->problem.contact;
    const double limit = f->refine ? perpi_rest_limit(P, GOAL * f->options.tolerance) : 0.0;
    double* b = NULL;
    perp_status status = PERP_OK;
    if (limit > 0.0) {
        status = perpi_arena_take(&f->s->arena, (size_t)P->row_count, sizeof *b, &b);
    }
    if (b != NULL) {
        status = perpi_hold_gaps(f->s, P, limit, f->x, b);
        f->held = *P;
        f->held.b = b;
        f->run.contact = &f->held;
        f->limit = limit;
    }
    return status;
}

/* Of several answers the one at rest. */
static perp_status prefer_rest(search* f)
{
    const perp_contact_problem* P = f->problem.contact;
    double* start = NULL;
    if (!f->warm || !f->s->planned || P->row_count == 0 || P->group_count > 0 || !is_done(f)) {
        return PERP_OK;
    }
    const perpi_arena_mark mark = perpi_arena_get_mark(&f->s->arena);
    perp_status status = perpi_arena_take(&f->s->arena, f->n, sizeof *start, &start);
    if (status == PERP_OK) {
        const int32_t count = f->count;
        f->count = 0; /* the caller's point, not the best one */
        fill_guess(f, true, start);
        f->count = count;
        bool known = false;
        for (int32_t i = 0; i < P->constraint_count; ++i) {
            const perp_constraint* c = &P->constraint[i];
            known = known ||
                    (c->kind == PERP_CONSTRAINT_CONTACT && start[P->dof_count + c->row] != 0.0);
        }
        perpi_made made = *f->best;
        made.checked = false;
        memcpy(f->trial, f->x, f->n * sizeof *f->x);
        status =
            perpi_prefer_rest(f->s, P, GOAL * f->options.tolerance, start, known, f->trial, &made);
        if (status == PERP_OK && made.checked) {
            made.report.residual = made.residual.worst;
            f->iterations += made.report.iterations - f->best->report.iterations;
            *f->best = made;
            memcpy(f->x, f->trial, f->n * sizeof *f->x);
        }
    }
    perpi_arena_rewind(&f->s->arena, mark);
    return status;
}

static bool is_split(const contact_call* c)
{
    return c->islands > 1 || c->changed != NULL;
}

/* Island i, and the plan for it; a problem without rows has none. own: room for the result of an island of several;
 * that of a single one is the call's. */
static perp_status open_island(contact_call* c, int32_t i, perpi_made* own, search* f,
                               const perpi_entry** plan)
{
    static const perpi_entry none[] = {{0}};
    perp_status status = PERP_OK;
    c->one = &c->problem;
    if (is_split(c)) {
        c->part = c->problem;
        c->one = &c->part;
        status = perpi_islands_take(c->s->islands, i, &c->part);
    }
    /* not by a compound literal: the lists of attempts are long, and count says how much of them is set */
    f->s = c->s;
    f->problem = (perpi_problem){PERPI_FORM_CONTACT, {.contact = c->one}};
    f->best = is_split(c) ? own : &c->made;
    f->options = c->options;
    f->n = (size_t)c->one->dof_count + (size_t)c->one->row_count;
    f->warm = c->warm;
    f->guess = c->v;
    f->guess_p = c->p;
    f->island = is_split(c);
    f->try_began = 0.0;
    f->iterations = f->count = f->rays = 0;
    f->no_solution = f->refine = false;
    int32_t* work = NULL;
    if (status == PERP_OK) {
        status =
            perpi_arena_take(&c->s->arena, 2 * (size_t)c->one->block_count, sizeof *work, &work);
        f->blocks = work;
    }
    if (status == PERP_OK) {
        f->shared_dofs = -1;
        *plan = c->one->row_count == 0 ? none
                : c->s->planned        ? perpi_plan_contact(c->one, c->warm, work)
                                       : c->s->single;
        perpi_take_time(&c->options, c->begin, &f->options);
        status = begin_search(f);
    }
    return status;
}

/* Iterations of islands add up; the outcome is that of the first that failed. */
static void close_island(contact_call* c, int32_t i, int32_t listed, search* f)
{
    end_search(f);
    perpi_made* made = f->best;
    if (c->one->row_count == 0) {
        made->report.outcome = PERP_OUTCOME_SOLVED;
        perpi_motion_of(c->one, c->one->M_factor, NULL, f->x);
    }
    if (!is_split(c)) {
        c->x = f->x;
        return;
    }
    const perp_attempt_list* list = c->options.attempts;
    for (int32_t k = listed; list != NULL && k < list->count && k < list->capacity; ++k) {
        list->attempt[k].island = i;
    }
    perpi_islands_scatter(c->s->islands, f->x, f->x + c->one->dof_count, c->x,
                          c->x + c->problem.dof_count);
    c->made.report.iterations += made->report.iterations;
    if (made->overruled) {
        return; /* the check of the whole problem reports where, in its own numbering */
    }
    if (c->made.report.outcome == PERP_OUTCOME_SOLVED &&
        made->report.outcome != PERP_OUTCOME_SOLVED) {
        c->made.report.outcome = made->report.outcome;
        c->unsolved = i;
        memcpy(c->made.report.detail, made->report.detail, sizeof made->report.detail);
    }
}

/* Returns point, residual and report. With several islands the residual is recomputed, because its
 * scales are those of the whole problem. */
static perp_status close_call(contact_call* c, perp_contact_residual* residual, perp_report* report)
{
    const perp_contact_problem* P = &c->problem;
    const perpi_problem problem = {PERPI_FORM_CONTACT, {.contact = P}};
    double *v = c->x, *p = c->x + P->dof_count;
    perp_status status = perpi_check_point(c->s, &problem, c->options.tolerance, c->x, &c->made);
    if (status == PERP_OK && !isfinite(c->made.residual.worst)) {
        /* No usable point: return the motion without impulses, and its residual. */
        memset(p, 0, (size_t)P->row_count * sizeof *p);
        perpi_motion_of(P, P->M_factor, NULL, v);
        status = perpi_contact_residual_at(c->s, P, v, p, &c->made.residual);
        c->made.report.residual = c->made.residual.worst;
    }
    if (status != PERP_OK) {
        return status;
    }
    if (P->dof_count > 0) {
        memcpy(c->v, v, (size_t)P->dof_count * sizeof *v);
    }
    if (P->row_count > 0) {
        memcpy(c->p, p, (size_t)P->row_count * sizeof *p);
    }
    finish_report(c->s, &c->options, c->begin, &c->made.report);
    if (residual != NULL) {
        *residual = c->made.residual;
    }
    if (report != NULL) {
        *report = c->made.report;
    }
    return PERP_OK;
}

/* Solves a problem without groups for a grouped method; user: the inner solver. */
static perp_status solve_without_groups(void* user, const perp_contact_problem* problem,
                                        const perp_solve_options* options, bool warm, double* v,
                                        double* p, perp_report* report)
{
    contact_call c;
    begin_call(&c, user, problem, warm, v, p);
    perp_status status = open_call(&c, options, true);
    for (int32_t i = 0; status == PERP_OK && i < c.islands; ++i) {
        search f;
        perpi_made own;
        const perpi_entry* plan = NULL;
        status = open_island(&c, i, &own, &f, &plan);
        if (status == PERP_OK) {
            status = run_plan(&f, plan);
        }
        if (status == PERP_OK) {
            close_island(&c, i, 0, &f);
        }
    }
    return status == PERP_OK ? close_call(&c, NULL, report) : status;
}

/* The first entry, if it is a grouped method; then *plan is what follows. */
static perp_status run_grouped(search* f, const perpi_entry** plan)
{
    perpi_solver* s = f->s;
    perpi_slot* slot = NULL;
    perp_solve_options left = f->options;
    perp_status status = (*plan)->name != NULL ? perpi_find_slot(s, (*plan)->name, &slot) : PERP_OK;
    if (status != PERP_OK || slot == NULL || slot->form != PERPI_FORM_CONTACT ||
        slot->method->grouped == NULL) {
        return status;
    }
    if (s->inner == NULL) {
        status =
            perpi_solver_create(s->context, PERPI_FORM_CONTACT, PERPI_AUTO, NULL, 0, &s->inner);
    }
    if (status == PERP_OK && limits_left(f, *plan, &left)) {
        const perp_inner_solve inner = {s->inner, solve_without_groups};
        perpi_made made = {.report = {.solver = slot->name}};
        double* p = f->trial + f->problem.contact->dof_count;
        fill_guess(f, f->warm, f->trial);
        status = slot->method->grouped(slot->self, f->run.contact, &inner, &left, f->warm, f->trial,
                                       p, &made.report);
        status = end_attempt(f, false, status, left.tolerance, &made);
    }
    f->refine = false;
    ++*plan;
    return status;
}

static perp_status run_acting(search* f, const perpi_entry* plan, bool warm);

enum { COLD_DOFS = 240 }; /* up to this what acts is sought again, where all else has failed */

/* The search where the warm start alone is no answer. */
static perp_status search_island(search* f, const perpi_entry* plan)
{
    const perpi_entry* first = plan;
    perp_status status = PERP_OK;
    if (plan->name != NULL && !f->refine) {
        status = run_acting(f, plan, f->warm);
    }
    if (status == PERP_OK) {
        status = hold_gaps(f);
    }
    if (status == PERP_OK && (f->refine || !is_done(f))) {
        status = run_grouped(f, &plan);
    }
    if (status == PERP_OK) {
        status = run_plan(f, plan);
    }
    const bool small = f->problem.contact->dof_count <= COLD_DOFS;
    if (status == PERP_OK && first->name != NULL && f->warm && !is_done(f) && small) {
        status = run_acting(f, first, false); /* a warm start can choose what does not act */
    }
    return status == PERP_OK ? prefer_rest(f) : status;
}

static perp_status run_island(void* call, int32_t i)
{
    contact_call* c = call;
    if (c->changed != NULL && !perpi_islands_any(c->s->islands, i, c->changed)) {
        return PERP_OK;
    }
    search f;
    perpi_made own;
    const perpi_entry* plan = NULL;
    const int32_t listed = c->options.attempts != NULL ? c->options.attempts->count : 0;
    perp_status status = open_island(c, i, &own, &f, &plan);
    if (status == PERP_OK) {
        status = check_warm_start(&f, plan);
    }
    if (status == PERP_OK && (f.refine || !is_done(&f))) {
        status = search_island(&f, plan);
    }
    if (status == PERP_OK) {
        close_island(c, i, listed, &f);
    }
    return status;
}

/* The caller's function is called by the caller's thread; the others see what it returned. */
typedef struct cancel_in_lanes {
    bool (*cancel)(void* user);
    void* user;
    atomic_bool asked;
} cancel_in_lanes;

static bool cancel_first(void* user)
{
    cancel_in_lanes* x = user;
    if (x->cancel(x->user)) {
        atomic_store(&x->asked, true);
    }
    return atomic_load(&x->asked);
}

static bool cancel_other(void* user)
{
    cancel_in_lanes* x = user;
    return atomic_load(&x->asked);
}

/* The islands in several threads: each has a copy of the call, with a solver of its own. */
static perp_status run_in_lanes(contact_call* c, int32_t lanes)
{
    contact_call* own = NULL;
    void* call[PERPI_LANES_MOST];
    cancel_in_lanes cancel = {.cancel = c->options.cancel, .user = c->options.user};
    atomic_init(&cancel.asked, false);
    perp_status status = perpi_arena_take(&c->s->arena, (size_t)lanes, sizeof *own, &own);
    for (int32_t k = 0; status == PERP_OK && k < lanes; ++k) {
        own[k] = *c;
        own[k].made.report.iterations = 0;
        call[k] = &own[k];
        if (c->options.cancel != NULL) {
            own[k].options.cancel = k == 0 ? cancel_first : cancel_other;
            own[k].options.user = &cancel;
        }
        status = perpi_lane_solver(c->s, k, &own[k].s);
    }
    if (status == PERP_OK) {
        status = perpi_solve_in_lanes(c->s, c->islands, lanes, run_island, call);
    }
    /* iterations add up; the outcome is that of the first island that failed */
    int32_t unsolved = c->islands;
    for (int32_t k = 0; status == PERP_OK && k < lanes; ++k) {
        const perp_report* made = &own[k].made.report;
        c->made.report.iterations += made->iterations;
        if (made->outcome != PERP_OUTCOME_SOLVED && own[k].unsolved < unsolved) {
            unsolved = own[k].unsolved;
            c->made.report.outcome = made->outcome;
            memcpy(c->made.report.detail, made->detail, sizeof made->detail);
        }
    }
    return status;
}

static perp_status run_islands(contact_call* c)
{
    const int32_t lanes = perpi_island_lanes(c->s, c->islands, &c->options);
    perp_status status = PERP_OK;
    if (lanes > 1) {
        return run_in_lanes(c, lanes);
    }
    for (int32_t i = 0; status == PERP_OK && i < c->islands; ++i) {
        status = run_island(c, i);
    }
    return status;
}

/* ---- islands of what acts (acting.h) -------------------------------------------------------------------*/

enum {
    ACTING_MIN = 300,         /* rows of an island: smaller ones are solved at once */
    ACTING_ROUNDS = 20,       /* of adding what is violated */
    ACTING_COARSE_STEPS = 60, /* iterations of an island ... */
};
#define ACTING_COARSE 5e-5 /* ... to this tolerance, until few contacts are added, ... */
#define ACTING_FEW 0.005   /* ... of those that act */
#define ACTING_BEGUN                                                                               \
    1e-6 /* residual of a warm start from which the whole is solved in a few iterations */
#define ACTING_SHARE 0.6   /* of the rows act: fewer are solved faster, ... */
#define ACTING_LARGEST 0.5 /* ... as are several islands, of so many rows each */

/* Whether the islands of what acts are solved faster than the whole. */
static bool acts_in_parts(const contact_call* c, const perpi_acting* a)
{
    const double rows = c->problem.row_count;
    int32_t largest = 0;
    for (int32_t i = 0; i < c->islands; ++i) {
        const int32_t n = perpi_islands_rows(c->s->islands, i);
        largest = n > largest ? n : largest;
    }
    return perpi_acting_rows(a) <= ACTING_SHARE * rows || largest <= ACTING_LARGEST * rows;
}

/* Rounds of solving and adding, from the guess x; x becomes the last point. *done: nothing is violated. */
static perp_status solve_acting(contact_call* c, const perpi_acting* a, double* x, bool* done)
{
    const perp_contact_problem* P = &c->problem;
    const size_t n = (size_t)P->dof_count + (size_t)P->row_count;
    perp_status status = perpi_arena_take(&c->s->arena, n, sizeof *c->x, &c->x);
    if (status != PERP_OK) {
        return status;
    }
    memcpy(c->x, x, n * sizeof *x);
    perpi_motion_of(P, P->M_factor, c->x + P->dof_count, c->x);
    perpi_acting_begin(a, c->x, c->x + P->dof_count);
    /* what is in no island of constraints moves freely */
    perpi_motion_of(P, P->M_factor, NULL, c->x);
    memset(c->x + P->dof_count, 0, (size_t)P->row_count * sizeof *c->x);
    const perpi_arena_mark mark = perpi_arena_get_mark(&c->s->arena);
    const double asked = c->options.tolerance;
    const int32_t most = c->options.max_iter;
    bool coarse = asked < ACTING_COARSE;
    c->options.tolerance = coarse ? ACTING_COARSE : asked;
    c->made.report.outcome = PERP_OUTCOME_SOLVED;
    for (int32_t round = 0; status == PERP_OK && !*done && round < ACTING_ROUNDS; ++round) {
        status = perpi_islands_split_acting(c->s->islands, P, a->acts, &c->islands);
        if (status == PERP_OK && !acts_in_parts(c, a)) {
            break;
        }
        c->options.max_iter = most == 0 && coarse ? ACTING_COARSE_STEPS : most;
        if (status == PERP_OK) {
            status = run_islands(c);
        }
        perpi_arena_rewind(&c->s->arena, mark);
        c->made.report.outcome = coarse ? PERP_OUTCOME_SOLVED : c->made.report.outcome;
        if (status != PERP_OK || c->made.report.outcome != PERP_OUTCOME_SOLVED) {
            break;
        }
        memcpy(x, c->x, n * sizeof *x);
        const int32_t added = perpi_acting_add(a, x, c->options.tolerance);
        *done = added == 0 && !coarse;
        if (coarse && added <= ACTING_FEW * perpi_acting_count(a)) { /* now all islands */
            coarse = false;
            c->options.tolerance = asked;
            c->changed = a->acts;
        } else {
            c->changed = a->fresh;
        }
    }
    return status;
}

/* warm: from the guess, else from nothing. */
static perp_status run_acting(search* f, const perpi_entry* plan, bool warm)
{
    perpi_solver* s = f->s;
    const perp_contact_problem* P = f->problem.contact;
    perp_solve_options left = f->options;
    if (!s->planned || s->part || P->row_count < ACTING_MIN || P->block_count < 2 ||
        (warm && f->begun <= ACTING_BEGUN) || (plan->how & PERPI_BOUNDED) != 0 ||
        !limits_left(f, plan, &left)) {
        return PERP_OK;
    }
    left.tolerance = f->options.tolerance;
    left.enough = f->options.enough;
    left.max_iter = f->options.max_iter;
    perp_status status = PERP_OK;
    if (s->acting == NULL) {
        status =
            perpi_solver_create(s->context, PERPI_FORM_CONTACT, PERPI_AUTO, NULL, 0, &s->acting);
    }
    perpi_acting a = {.P = P};
    if (status == PERP_OK) {
        s->acting->part = true;
        status = perpi_arena_reset(&s->acting->arena);
    }
    if (status == PERP_OK) {
        status = perpi_arena_take(&s->acting->arena, 3 * (size_t)P->constraint_count,
                                  sizeof *a.acts, &a.acts);
    }
    if (status != PERP_OK) {
        return status;
    }
    a.fresh = a.acts + P->constraint_count;
    a.grouped = a.fresh + P->constraint_count;
    fill_guess(f, warm, f->trial);
    contact_call c = {.s = s->acting,
                      .problem = *P,
                      .options = left,
                      .begin = perpi_clock_now(),
                      .warm = true,
                      .v = f->trial,
                      .p = f->trial + P->dof_count,
                      .changed = a.fresh};
    bool done = false;
    status = solve_acting(&c, &a, f->trial, &done);
    if (status != PERP_OK || !done) {
        return status;
    }
    perpi_made made = {.report = {.solver = plan->name,
                                  .outcome = PERP_OUTCOME_SOLVED,
                                  .iterations = c.made.report.iterations}};
    snprintf(made.report.detail, sizeof made.report.detail, "%d of %d constraints act",
             (int)perpi_acting_count(&a), (int)P->constraint_count);
    return end_attempt(f, true, PERP_OK, f->options.tolerance, &made);
}

/* See perpi_contact_solver_begin_work. */
static void limit_work(contact_call* c, bool spent)
{
    if (spent && (c->options.max_iter == 0 || c->options.max_iter > PERPI_FEW)) {
        c->options.max_iter = PERPI_FEW;
    }
}

perp_status perp_contact_solve(perp_contact_solver* solver, const perp_contact_problem* problem,
                               const perp_solve_options* options, bool warm, double* v, double* p,
                               perp_contact_residual* residual, perp_report* report)
{
    contact_call c;
    begin_call(&c, &solver->base, problem, warm, v, p);
    perp_status status = open_call(&c, options, false);
    if (status == PERP_OK) {
        limit_work(&c, perpi_contact_solver_spent(solver, 1.0));
        status = run_islands(&c);
    }
    return status == PERP_OK ? close_call(&c, residual, report) : status;
}
