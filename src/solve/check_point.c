/* src/solve/check_point.c - the residual check of a solve: how far a point is from each law, and the
 * outcome that follows from it. See solve.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "solve/clock.h"
#include "solve/solve.h"

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

/* The outcome follows from the residual alone, not from what the method reports. */
static void set_outcome(perpi_form form, double tolerance, perpi_made* made)
{
    perp_report* report = &made->report;
    report->residual = made->residual.worst;
    report->detail[sizeof report->detail - 1] = '\0';
    if (report->residual <= tolerance) {
        if (report->outcome != PERP_OUTCOME_SOLVED) {
            report->detail[0] = '\0';
        }
        report->outcome = PERP_OUTCOME_SOLVED;
    } else if (report->outcome == PERP_OUTCOME_SOLVED || report->outcome == PERP_OUTCOME_UNSET) {
        char where[64] = "";
        if (form == PERPI_FORM_FRICTION || form == PERPI_FORM_CONTACT) {
            name_worst(&made->residual, where, sizeof where);
        }
        report->outcome = PERP_OUTCOME_BREAKDOWN;
        made->overruled = true;
        snprintf(report->detail, sizeof report->detail,
                 "method reports solved, residual check gives %.1e%s", report->residual, where);
    }
}

/* Scratch of the residual check. */
static size_t work_size(const perpi_problem* P)
{
    switch (P->form) {
    case PERPI_FORM_MLCP: return 2 * (size_t)P->mlcp->M.cols;
    case PERPI_FORM_NCP: return 2 * (size_t)P->ncp->n + (size_t)P->ncp->pattern.start[P->ncp->n];
    case PERPI_FORM_FRICTION: return perp_friction_residual_work(P->friction);
    case PERPI_FORM_CONTACT: return perp_contact_residual_work(P->contact);
    default: return 0;
    }
}

static perp_contact_residual residual_of(const perpi_problem* P, const double* x, double* work)
{
    perp_contact_residual r = {.worst_constraint = -1};
    switch (P->form) {
    case PERPI_FORM_LCP: r.worst = perp_lcp_check_residual(P->lcp, x); break;
    case PERPI_FORM_MLCP: r.worst = perp_mlcp_check_residual(P->mlcp, x, work); break;
    case PERPI_FORM_NCP: r.worst = perp_ncp_check_residual(P->ncp, x, work); break;
    case PERPI_FORM_FRICTION: return perp_friction_check_residual(P->friction, x, work);
    default: return perp_contact_check_residual(P->contact, x, x + P->contact->dof_count, work);
    }
    return r;
}

static perp_status measure_point(perpi_solver* s, const perpi_problem* problem, const double* x,
                                 perpi_made* made)
{
    const perpi_arena_mark mark = perpi_arena_get_mark(&s->arena);
    double* work = NULL;
    const perp_status status = perpi_arena_take(&s->arena, work_size(problem), sizeof *work, &work);
    if (status == PERP_OK) {
        made->residual = residual_of(problem, x, work);
        made->checked = true;
        perpi_arena_rewind(&s->arena, mark);
    }
    return status;
}

perp_status perpi_check_point(perpi_solver* s, const perpi_problem* problem, double tolerance,
                              double* x, perpi_made* made)
{
    perp_status status = made->checked ? PERP_OK : measure_point(s, problem, x, made);
    if (status != PERP_OK) {
        return status;
    }
    set_outcome(problem->form, tolerance, made);
    if (problem->form == PERPI_FORM_FRICTION && !isfinite(made->residual.worst)) {
        /* No usable point: use zero impulses, and compute their residual. */
        memset(x, 0, (size_t)problem->friction->row_count * sizeof *x);
        status = measure_point(s, problem, x, made);
        made->report.residual = made->residual.worst;
    }
    return status;
}

perp_status perpi_contact_residual_at(perpi_solver* s, const perp_contact_problem* problem,
                                      const double* v, const double* p,
                                      perp_contact_residual* residual)
{
    const perpi_arena_mark mark = perpi_arena_get_mark(&s->arena);
    double* work = NULL;
    const perp_status status =
        perpi_arena_take(&s->arena, perp_contact_residual_work(problem), sizeof *work, &work);
    if (status == PERP_OK) {
        *residual = perp_contact_check_residual(problem, v, p, work);
    }
    perpi_arena_rewind(&s->arena, mark);
    return status;
}

void perpi_take_time(const perp_solve_options* options, double begin, perp_solve_options* left)
{
    if (options->time_limit > 0.0) {
        const double rest = options->time_limit - (perpi_clock_now() - begin);
        left->time_limit = rest > 1e-9 ? rest : 1e-9;
    }
}
