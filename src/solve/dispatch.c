/* src/solve/dispatch.c - runs a method by name: validate, lower, call, lift, ask the judge.
 *
 * A method never grades itself: whatever it says, the outcome is SOLVED exactly if the judge's
 * residual is within the tolerance.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "linalg/dense.h"
#include "perp/solve.h"
#include "problem/island.h"
#include "solve/clock.h"
#include "solve/registry.h"

perp_solve_options perp_solve_options_default(void)
{
    return (perp_solve_options){.tolerance = 1e-10};
}

/* ---- what both kinds of solver share ---------------------------------------------------------------*/

/* *chosen: the options or the defaults, checked. */
static perp_status check_options(perp_context* context, const perp_solve_options* options,
                                 perp_solve_options* chosen)
{
    *chosen = options != NULL ? *options : perp_solve_options_default();
    if (!(chosen->tolerance > 0.0 && chosen->tolerance < INFINITY)) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "solve options: tolerance must be a finite number > 0, got %.15g",
                          chosen->tolerance);
    }
    if (chosen->max_iter < 0) {
        return perpi_fail(context, PERP_ERROR_INPUT, "solve options: max_iter must be >= 0, got %d",
                          (int)chosen->max_iter);
    }
    if (!(chosen->time_limit >= 0.0)) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "solve options: time_limit must be >= 0 seconds, got %.15g",
                          chosen->time_limit);
    }
    return PERP_OK;
}

static perp_status check_guess(perp_context* context, const char* name, const double* x, int32_t n)
{
    for (int32_t i = 0; i < n; ++i) {
        if (!isfinite(x[i])) {
            return perpi_fail(context, PERP_ERROR_INPUT, "first guess: %s[%d] is not finite", name,
                              (int)i);
        }
    }
    return PERP_OK;
}

static perp_status check_options_table(perp_context* context, const char* name,
                                       const perp_setting* table, int32_t table_count,
                                       const perp_option* option, int32_t count, void* settings)
{
    char owner[128];
    snprintf(owner, sizeof owner, "solver '%s'", name);
    for (int32_t i = 0; i < count; ++i) {
        const perp_status status = perp_setting_assign(context, table, table_count, owner,
                                                       option[i].name, option[i].value, settings);
        if (status != PERP_OK) {
            return status;
        }
    }
    return PERP_OK;
}

/* A settings struct with the defaults and the given options; name: as the user wrote it. */
static perp_status make_settings(perp_context* context, const char* name, const perp_setting* table,
                                 int32_t table_count, size_t size, void (*fill)(void*),
                                 const perp_option* option, int32_t count, void** settings)
{
    const bool portfolio = perpi_resolve_solver(name) != name;
    void* made = NULL;
    perp_status status = perpi_alloc(context, size > 0 ? 1 : 0, size, &made);
    if (status != PERP_OK) {
        return status;
    }
    if (made != NULL) {
        fill(made);
    }
    status =
        check_options_table(context, name, table, portfolio ? 0 : table_count, option, count, made);
    if (status != PERP_OK) {
        perpi_free(context, made);
        return status;
    }
    *settings = made;
    return PERP_OK;
}

static perp_status check_needs(perp_context* context, const char* name, uint32_t needs,
                               const perp_lcp* lcp)
{
    const size_t n = (size_t)lcp->n;
    for (size_t i = 0; i < n && (needs & PERP_NEEDS_POSITIVE_DIAGONAL) != 0; ++i) {
        if (!(lcp->M[i * n + i] > 0.0)) {
            return perpi_fail(context, PERP_ERROR_INPUT,
                              "solver '%s' needs a positive diagonal, M[%zu][%zu] is %.15g", name,
                              i, i, lcp->M[i * n + i]);
        }
    }
    for (size_t i = 0; i < n && (needs & PERP_NEEDS_SYMMETRIC) != 0; ++i) {
        for (size_t j = 0; j < i; ++j) {
            const double a = lcp->M[i * n + j], b = lcp->M[j * n + i];
            const double largest = fabs(a) > fabs(b) ? fabs(a) : fabs(b);
            if (!(fabs(a - b) <= 1e-12 * largest)) {
                return perpi_fail(context, PERP_ERROR_INPUT,
                                  "solver '%s' needs a symmetric M, M[%zu][%zu] is %.15g and "
                                  "M[%zu][%zu] is %.15g",
                                  name, i, j, a, j, i, b);
            }
        }
    }
    return PERP_OK;
}

/* Puts the judge's word over the method's. where: the law and constraint that are furthest off. */
static void settle(perp_report* report, double residual, double tolerance, const char* where)
{
    report->residual = residual;
    report->detail[sizeof report->detail - 1] = '\0';
    if (residual <= tolerance) {
        if (report->outcome != PERP_OUTCOME_SOLVED) {
            report->detail[0] = '\0';
        }
        report->outcome = PERP_OUTCOME_SOLVED;
    } else if (report->outcome == PERP_OUTCOME_SOLVED || report->outcome == PERP_OUTCOME_UNSET) {
        report->outcome = PERP_OUTCOME_BREAKDOWN;
        snprintf(report->detail, sizeof report->detail, "method says solved, judge finds %.1e%s",
                 residual, where);
    }
}

/* ---- LCP -------------------------------------------------------------------------------------------*/

struct perp_lcp_solver {
    perp_context* context;
    const perp_lcp_solver_ops* ops;
    void* self;
    void* settings;
    double* z;
    size_t z_capacity;
};

perp_status perp_lcp_solver_create(perp_context* context, const char* name,
                                   const perp_option* option, int32_t count,
                                   perp_lcp_solver** solver)
{
    const perp_lcp_solver_ops* ops = perpi_find_lcp_solver(context, perpi_resolve_solver(name));
    if (ops == NULL) {
        return perpi_fail_solver_name(context, name, "an LCP");
    }
    perp_lcp_solver* s = NULL;
    perp_status status = perpi_alloc(context, 1, sizeof *s, &s);
    if (status != PERP_OK) {
        return status;
    }
    s->context = context;
    s->ops = ops;
    status = make_settings(context, name, ops->settings, ops->settings_count, ops->settings_size,
                           ops->settings_default, option, count, &s->settings);
    if (status == PERP_OK) {
        status = ops->create(context, s->settings, &s->self);
    }
    if (status != PERP_OK) {
        perpi_free(context, s->settings);
        perpi_free(context, s);
        return status;
    }
    *solver = s;
    return PERP_OK;
}

void perp_lcp_solver_destroy(perp_lcp_solver* solver)
{
    if (solver == NULL) {
        return;
    }
    solver->ops->destroy(solver->self);
    perpi_free(solver->context, solver->settings);
    perpi_free(solver->context, solver->z);
    perpi_free(solver->context, solver);
}

perp_status perp_lcp_solve(perp_lcp_solver* solver, const perp_lcp* problem,
                           const perp_solve_options* options, bool warm, double* z,
                           perp_report* report)
{
    perp_context* context = solver->context;
    const double begin = perpi_clock_now();
    perp_solve_options chosen;
    perp_status status = check_options(context, options, &chosen);
    if (status == PERP_OK) {
        status = perp_lcp_check(context, problem);
    }
    if (status == PERP_OK) {
        status = check_needs(context, solver->ops->name, solver->ops->needs, problem);
    }
    if (status == PERP_OK && warm) {
        status = check_guess(context, "z", z, problem->n);
    }
    const size_t n = (size_t)problem->n;
    if (status == PERP_OK) {
        status = perpi_grow(context, &solver->z, &solver->z_capacity, n, sizeof *solver->z);
    }
    if (status != PERP_OK) {
        return status;
    }
    perp_report made = {.solver = solver->ops->name};
    if (n > 0) {
        if (warm) {
            memcpy(solver->z, z, n * sizeof *z);
        } else {
            memset(solver->z, 0, n * sizeof *z);
        }
        status = solver->ops->solve(solver->self, problem, &chosen, warm, solver->z, &made);
        if (status != PERP_OK) {
            return status;
        }
        memcpy(z, solver->z, n * sizeof *z);
    } else {
        made.outcome = PERP_OUTCOME_SOLVED;
    }
    made.solver = solver->ops->name;
    settle(&made, n > 0 ? perp_lcp_judge(problem, z) : 0.0, chosen.tolerance, "");
    made.seconds = perpi_clock_now() - begin;
    if (report != NULL) {
        *report = made;
    }
    return PERP_OK;
}

/* ---- contact problem -------------------------------------------------------------------------------*/

struct perp_contact_solver {
    perp_context* context;
    const perp_contact_solver_ops* contact; /* exactly one of the three is set */
    const perp_mlcp_solver_ops* mlcp;
    const perp_lcp_solver_ops* lcp;
    const char* name;
    uint32_t takes;
    void* self;
    void* settings;
    perp_lowering* lowering; /* NULL for a method of the contact form */
    double* point;           /* v, p, judge's scratch */
    size_t point_capacity;
    double* z; /* of the lowered problem */
    size_t z_capacity;
    perpi_islands* islands;
    double* piece; /* v, p of one island */
    size_t piece_capacity;
};

static perp_status create_method(perp_contact_solver* s, const char* name,
                                 const perp_option* option, int32_t count)
{
    perp_context* context = s->context;
    const char* resolved = perpi_resolve_solver(name);
    const uint32_t lowered = PERP_TAKES_NONE | PERP_TAKES_POLYGON | PERP_TAKES_GROUPS;
    perp_status status = PERP_OK;
    if ((s->contact = perpi_find_contact_solver(context, resolved)) != NULL) {
        s->name = s->contact->name;
        s->takes = s->contact->takes;
        status = make_settings(context, name, s->contact->settings, s->contact->settings_count,
                               s->contact->settings_size, s->contact->settings_default, option,
                               count, &s->settings);
        return status == PERP_OK ? s->contact->create(context, s->settings, &s->self) : status;
    }
    s->takes = lowered;
    if ((s->mlcp = perpi_find_mlcp_solver(context, resolved)) != NULL) {
        s->name = s->mlcp->name;
        status = make_settings(context, name, s->mlcp->settings, s->mlcp->settings_count,
                               s->mlcp->settings_size, s->mlcp->settings_default, option, count,
                               &s->settings);
        return status == PERP_OK ? s->mlcp->create(context, s->settings, &s->self) : status;
    }
    if ((s->lcp = perpi_find_lcp_solver(context, resolved)) != NULL) {
        s->name = s->lcp->name;
        status = make_settings(context, name, s->lcp->settings, s->lcp->settings_count,
                               s->lcp->settings_size, s->lcp->settings_default, option, count,
                               &s->settings);
        return status == PERP_OK ? s->lcp->create(context, s->settings, &s->self) : status;
    }
    return perpi_fail_solver_name(context, name, "a contact problem");
}

static void destroy_method(perp_contact_solver* s)
{
    if (s->contact != NULL) {
        s->contact->destroy(s->self);
    } else if (s->mlcp != NULL) {
        s->mlcp->destroy(s->self);
    } else if (s->lcp != NULL) {
        s->lcp->destroy(s->self);
    }
}

perp_status perp_contact_solver_create(perp_context* context, const char* name,
                                       const perp_option* option, int32_t count,
                                       perp_contact_solver** solver)
{
    perp_contact_solver* s = NULL;
    perp_status status = perpi_alloc(context, 1, sizeof *s, &s);
    if (status != PERP_OK) {
        return status;
    }
    s->context = context;
    status = create_method(s, name, option, count);
    const bool made = status == PERP_OK;
    if (status == PERP_OK) {
        status = perpi_islands_create(context, &s->islands);
    }
    if (status == PERP_OK && s->contact == NULL) {
        status = perp_lowering_create(context, &s->lowering);
    }
    if (status != PERP_OK) {
        if (made) {
            destroy_method(s);
        }
        perpi_islands_destroy(s->islands);
        perpi_free(context, s->settings);
        perpi_free(context, s);
        return status;
    }
    *solver = s;
    return PERP_OK;
}

void perp_contact_solver_destroy(perp_contact_solver* solver)
{
    if (solver == NULL) {
        return;
    }
    destroy_method(solver);
    if (solver->lowering != NULL) {
        perp_lowering_destroy(solver->lowering);
    }
    perpi_islands_destroy(solver->islands);
    perpi_free(solver->context, solver->settings);
    perpi_free(solver->context, solver->point);
    perpi_free(solver->context, solver->z);
    perpi_free(solver->context, solver->piece);
    perpi_free(solver->context, solver);
}

/* Refuses what the method cannot take, naming the first constraint. */
static perp_status check_takes(const perp_contact_solver* s, const perp_contact_problem* P)
{
    static const char* const cone_name[] = {"none", "polygon", "quadratic", "ellipsoid"};
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        if (c->kind == PERP_CONSTRAINT_CONTACT && (s->takes & (1u << (unsigned)c->cone)) == 0) {
            return perpi_fail(s->context, PERP_ERROR_UNSUPPORTED,
                              "solver '%s' does not take the friction cone '%s' (constraint %d)",
                              s->name, cone_name[c->cone], (int)i);
        }
    }
    if (P->group_count > 0 && (s->takes & PERP_TAKES_GROUPS) == 0) {
        return perpi_fail(s->context, PERP_ERROR_UNSUPPORTED,
                          "solver '%s' does not take groups of contacts", s->name);
    }
    return PERP_OK;
}

/* v = M^-1 k: where no impulse acts. False if a block is not positive definite. */
static bool free_velocity(const perp_contact_problem* P, double* v)
{
    const double* M = P->M;
    for (int32_t i = 0; i < P->block_count; ++i) {
        const int32_t nv = P->dof[i + 1] - P->dof[i];
        double L[PERPI_BLOCK_MAX * PERPI_BLOCK_MAX];
        if (!perpi_chol_factor(nv, M, L)) {
            return false;
        }
        memcpy(v + P->dof[i], P->k + P->dof[i], (size_t)nv * sizeof *v);
        perpi_chol_solve(nv, L, v + P->dof[i]);
        M += (size_t)nv * (size_t)nv;
    }
    return true;
}

/* Lowers, passes the guess down, solves, and lifts the answer into v, p. */
static perp_status solve_lowered(perp_contact_solver* s, const perp_contact_problem* P,
                                 const perp_solve_options* options, bool warm, double* v, double* p,
                                 perp_report* report)
{
    perp_mlcp mlcp;
    perp_lcp lcp;
    perp_status status = s->mlcp != NULL ? perp_lower_contact_to_mlcp(s->lowering, P, &mlcp)
                                         : perp_lower_contact_to_lcp(s->lowering, P, &lcp);
    if (status != PERP_OK) {
        return status;
    }
    const size_t n = (size_t)(s->mlcp != NULL ? mlcp.M.cols : lcp.n);
    status = perpi_grow(s->context, &s->z, &s->z_capacity, n, sizeof *s->z);
    if (status != PERP_OK) {
        return status;
    }
    if (n > 0) {
        memset(s->z, 0, n * sizeof *s->z);
    }
    if (s->mlcp != NULL) {
        if (warm) {
            perp_lowering_mlcp_guess(s->lowering, P, v, p, s->z);
        }
        status = s->mlcp->solve(s->self, &mlcp, options, warm, s->z, report);
        if (status == PERP_OK) {
            perp_lowering_mlcp_lift(s->lowering, P, s->z, v, p);
        }
        return status;
    }
    if (warm) {
        perp_lowering_contact_lcp_guess(s->lowering, P, v, p, s->z);
    }
    status = check_needs(s->context, s->name, s->lcp->needs, &lcp);
    if (status == PERP_OK && n > 0) {
        status = s->lcp->solve(s->self, &lcp, options, warm, s->z, report);
    } else if (status == PERP_OK) {
        report->outcome = PERP_OUTCOME_SOLVED; /* equality rows only: the lowering did it all */
    }
    if (status == PERP_OK) {
        perp_lowering_contact_lcp_lift(s->lowering, P, s->z, v, p);
    }
    return status;
}

static perp_status solve_piece(perp_contact_solver* s, const perp_contact_problem* P,
                               const perp_solve_options* options, bool warm, double* v, double* p,
                               perp_report* report)
{
    if (P->row_count == 0) {
        report->outcome = free_velocity(P, v) ? PERP_OUTCOME_SOLVED : PERP_OUTCOME_BREAKDOWN;
        return PERP_OK;
    }
    return s->contact != NULL ? s->contact->solve(s->self, P, options, warm, v, p, report)
                              : solve_lowered(s, P, options, warm, v, p, report);
}

/* Each island on its own. Iterations add up; the outcome is that of the first that failed. */
static perp_status solve_islands(perp_contact_solver* s, const perp_contact_problem* P,
                                 const perp_solve_options* options, bool warm, double begin,
                                 double* v, double* p, perp_report* report)
{
    int32_t count = 0;
    perp_status status = perpi_islands_split(s->islands, P, &count);
    if (status != PERP_OK || count <= 1) {
        return status != PERP_OK ? status : solve_piece(s, P, options, warm, v, p, report);
    }
    status = perpi_grow(s->context, &s->piece, &s->piece_capacity,
                        (size_t)(P->dof_count + P->row_count), sizeof *s->piece);
    report->outcome = PERP_OUTCOME_SOLVED;
    for (int32_t i = 0; status == PERP_OK && i < count; ++i) {
        perp_contact_problem piece;
        status = perpi_islands_take(s->islands, i, &piece);
        if (status != PERP_OK) {
            break;
        }
        double* v_piece = s->piece;
        double* p_piece = s->piece + piece.dof_count;
        perpi_islands_gather(s->islands, v, p, v_piece, p_piece);
        perp_solve_options left = *options;
        if (left.time_limit > 0.0) {
            const double spent = perpi_clock_now() - begin;
            /* an exhausted limit stays a limit: 0 would mean none */
            left.time_limit = spent < left.time_limit ? left.time_limit - spent : 1e-9;
        }
        perp_report made = {0};
        status = solve_piece(s, &piece, &left, warm, v_piece, p_piece, &made);
        if (status != PERP_OK) {
            break;
        }
        perpi_islands_scatter(s->islands, v_piece, p_piece, v, p);
        report->iterations += made.iterations;
        if (report->outcome == PERP_OUTCOME_SOLVED && made.outcome != PERP_OUTCOME_SOLVED) {
            report->outcome = made.outcome;
            memcpy(report->detail, made.detail, sizeof report->detail);
        }
    }
    return status;
}

/* " (friction, constraint 4)" */
static void name_worst(const perp_contact_residual* r, char* text, size_t size)
{
    const char* law = r->dynamics >= r->worst   ? "dynamics"
                      : r->normal >= r->worst   ? "normal"
                      : r->friction >= r->worst ? "friction"
                                                : "joints";
    if (!isfinite(r->worst)) {
        snprintf(text, size, " (not finite)");
    } else if (r->worst_constraint >= 0) {
        snprintf(text, size, " (%s, constraint %d)", law, (int)r->worst_constraint);
    } else {
        snprintf(text, size, " (%s)", law);
    }
}

perp_status perp_contact_solve(perp_contact_solver* solver, const perp_contact_problem* problem,
                               const perp_solve_options* options, bool warm, double* v, double* p,
                               perp_contact_residual* residual, perp_report* report)
{
    perp_context* context = solver->context;
    const double begin = perpi_clock_now();
    perp_solve_options chosen;
    perp_status status = check_options(context, options, &chosen);
    if (status == PERP_OK) {
        status = perp_contact_check(context, problem);
    }
    if (status == PERP_OK) {
        status = check_takes(solver, problem);
    }
    if (status == PERP_OK && warm) {
        status = check_guess(context, "v", v, problem->dof_count);
    }
    if (status == PERP_OK && warm) {
        status = check_guess(context, "p", p, problem->row_count);
    }
    if (status != PERP_OK) {
        return status;
    }
    const size_t nv = (size_t)problem->dof_count, nr = (size_t)problem->row_count;
    status = perpi_grow(context, &solver->point, &solver->point_capacity,
                        nv + nr + perp_contact_residual_work(problem), sizeof *solver->point);
    if (status != PERP_OK) {
        return status;
    }
    double* made_v = solver->point;
    double* made_p = made_v + nv;
    double* work = made_p + nr;
    for (size_t i = 0; i < nv; ++i) {
        made_v[i] = warm ? v[i] : 0.0;
    }
    for (size_t i = 0; i < nr; ++i) {
        made_p[i] = warm ? p[i] : 0.0;
    }

    perp_report made = {.solver = solver->name};
    status = solve_islands(solver, problem, &chosen, warm, begin, made_v, made_p, &made);
    if (status != PERP_OK) {
        return status;
    }
    made.solver = solver->name;

    perp_contact_residual verdict = perp_contact_judge(problem, made_v, made_p, work);
    char where[64];
    name_worst(&verdict, where, sizeof where);
    settle(&made, verdict.worst, chosen.tolerance, where);
    if (!isfinite(verdict.worst)) {
        /* Nothing usable: hand back the motion without impulses, judged as such. */
        for (size_t i = 0; i < nr; ++i) {
            made_p[i] = 0.0;
        }
        if (free_velocity(problem, made_v)) {
            verdict = perp_contact_judge(problem, made_v, made_p, work);
            made.residual = verdict.worst;
        }
    }
    for (size_t i = 0; i < nv; ++i) {
        v[i] = made_v[i];
    }
    for (size_t i = 0; i < nr; ++i) {
        p[i] = made_p[i];
    }
    made.seconds = perpi_clock_now() - begin;
    if (residual != NULL) {
        *residual = verdict;
    }
    if (report != NULL) {
        *report = made;
    }
    return PERP_OK;
}
