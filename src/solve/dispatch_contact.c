/* src/solve/dispatch_contact.c - a contact problem, island by island, solved by a method of the form
 * contact, else friction, MLCP, LCP or NCP: lower, call, lift, ask the judge. */
#include <math.h>
#include <string.h>

#include "linalg/dense.h"
#include "problem/island.h"
#include "problem/reformulate/reformulate.h"
#include "solve/clock.h"
#include "solve/solve.h"
#include "solve/frictional/friction_units.h"
#include "solve/methods.h"

#define TIGHTEN 0.1 /* a friction method is asked again for this much more */
enum { ATTEMPTS = 3 };
/* Where an NCP begins, unless a neighbour's answer does: after so many sweeps of this method. */
#define START_METHOD "nsgs"
static const int32_t start_sweeps[] = {5, 50, 1000};
#define START_STEPS 30 /* Newton steps from all but the last start */

struct perp_contact_solver {
    perp_context* context;
    perpi_method method;
    perpi_method round;         /* the NCP method of the same name, for round cones; may be none */
    perp_contact_solver* start; /* of such a solve: finds where to begin */
    uint32_t takes;
    perp_lowering* lowering; /* NULL for a method of the contact form */
    perpi_carrier carrier;
    perpi_friction_units units;
    double* point; /* v, p, judge's scratch */
    size_t point_capacity;
    double* z; /* of the lowered problem */
    size_t z_capacity;
    perpi_islands* islands;
    double* piece; /* v, p of one island */
    size_t piece_capacity;
    perp_constraint* alone; /* of a problem without its groups; then bounds of its rows */
    size_t alone_capacity;
    double* bound;
    size_t bound_capacity;
    bool judged; /* the last solve_piece ended with a judgement of just what it hands back: */
    perp_contact_residual verdict;
};

static uint32_t takes_of(const perpi_method* m)
{
    switch (m->form) {
    case PERPI_FORM_CONTACT: return m->ops.contact->takes;
    case PERPI_FORM_FRICTION: return m->ops.friction->takes & ~PERP_TAKES_GROUPS;
    default: return PERP_TAKES_NONE | PERP_TAKES_POLYGON | PERP_TAKES_GROUPS;
    }
}

/* A method of LCPs or MLCPs that exists for NCPs too takes the round cones there. */
static perp_status find_round(perp_contact_solver* s, const char* name, const perp_option* option,
                              int32_t count)
{
    static const perpi_form forms[] = {PERPI_FORM_NCP, PERPI_FORM_NONE};
    const bool linear = s->method.form == PERPI_FORM_MLCP || s->method.form == PERPI_FORM_LCP ||
                        s->method.form == PERPI_FORM_NCP;
    if (!linear || perpi_find_ncp_solver(s->context, name) == NULL) {
        return PERP_OK;
    }
    perp_status status =
        perpi_method_create(s->context, name, forms, "an NCP", option, count, &s->round);
    if (status == PERP_OK) {
        status = perp_contact_solver_create(s->context, START_METHOD, NULL, 0, &s->start);
    }
    s->takes |= PERP_TAKES_QUADRATIC | PERP_TAKES_ELLIPSOID;
    return status;
}

perp_status perp_contact_solver_create(perp_context* context, const char* name,
                                       const perp_option* option, int32_t count,
                                       perp_contact_solver** solver)
{
    static const perpi_form forms[] = {PERPI_FORM_CONTACT, PERPI_FORM_FRICTION, PERPI_FORM_MLCP,
                                       PERPI_FORM_LCP,     PERPI_FORM_NCP,      PERPI_FORM_NONE};
    perp_contact_solver* s = NULL;
    perp_status status = perpi_alloc(context, 1, sizeof *s, &s);
    if (status != PERP_OK) {
        return status;
    }
    s->context = context;
    status =
        perpi_method_create(context, name, forms, "a contact problem", option, count, &s->method);
    if (status == PERP_OK) {
        s->takes = takes_of(&s->method);
        status = perpi_islands_create(context, &s->islands);
    }
    if (status == PERP_OK) {
        status = find_round(s, name, option, count);
    }
    if (status == PERP_OK && s->method.form != PERPI_FORM_CONTACT) {
        status = perp_lowering_create(context, &s->lowering);
    }
    if (status != PERP_OK) {
        perp_contact_solver_destroy(s);
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
    perpi_method_destroy(&solver->method);
    perpi_method_destroy(&solver->round);
    perp_contact_solver_destroy(solver->start);
    perp_lowering_destroy(solver->lowering);
    perpi_carrier_free(solver->context, &solver->carrier);
    perpi_friction_units_free(solver->context, &solver->units);
    perpi_islands_destroy(solver->islands);
    perpi_free(solver->context, solver->point);
    perpi_free(solver->context, solver->z);
    perpi_free(solver->context, solver->piece);
    perpi_free(solver->context, solver->alone);
    perpi_free(solver->context, solver->bound);
    perpi_free(solver->context, solver);
}

bool perp_contact_solver_takes(const perp_contact_solver* solver, perp_cone cone)
{
    return (solver->takes & (1u << (unsigned)cone)) != 0;
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

/* Room for the lowered unknowns, all zero. */
static perp_status clear_z(perp_contact_solver* s, size_t n)
{
    const perp_status status = perpi_grow(s->context, &s->z, &s->z_capacity, n, sizeof *s->z);
    if (status == PERP_OK && n > 0) {
        memset(s->z, 0, n * sizeof *s->z);
    }
    return status;
}

static perp_status solve_as_lcp(perp_contact_solver* s, const perp_contact_problem* P,
                                const perp_solve_options* options, bool warm, double* v, double* p,
                                perp_report* report)
{
    perp_lcp lcp;
    perp_status status = perp_lower_contact_to_lcp(s->lowering, P, &lcp);
    if (status == PERP_OK) {
        status = clear_z(s, (size_t)lcp.n);
    }
    if (status != PERP_OK) {
        return status;
    }
    if (warm) {
        perp_lowering_contact_lcp_guess(s->lowering, P, v, p, s->z);
    }
    status = perpi_run_lcp(&s->method, &s->carrier, &lcp, options, warm, s->z, report);
    if (status == PERP_OK) {
        perp_lowering_contact_lcp_lift(s->lowering, P, s->z, v, p);
    }
    return status;
}

static perp_status solve_as_mlcp(perp_contact_solver* s, const perp_contact_problem* P,
                                 const perp_solve_options* options, bool warm, double* v, double* p,
                                 perp_report* report)
{
    perp_mlcp mlcp;
    perp_status status = perp_lower_contact_to_mlcp(s->lowering, P, &mlcp);
    if (status == PERP_OK) {
        status = clear_z(s, (size_t)mlcp.M.cols);
    }
    if (status != PERP_OK) {
        return status;
    }
    if (warm) {
        perp_lowering_mlcp_guess(s->lowering, P, v, p, s->z);
    }
    status = perpi_run_mlcp(&s->method, &s->carrier, &mlcp, options, warm, s->z, report);
    if (status == PERP_OK) {
        perp_lowering_mlcp_lift(s->lowering, P, s->z, v, p);
    }
    return status;
}

/* Sizes of rows differ between the two forms, so a point that just passes as a friction problem may
 * just fail here: then the method goes on from it with a smaller tolerance. */
static perp_status solve_as_friction(perp_contact_solver* s, const perp_contact_problem* P,
                                     const perp_solve_options* options, bool warm, double* v,
                                     double* p, perp_report* report)
{
    perp_friction_problem friction, scaled;
    perp_status status = perp_lower_contact_to_friction(s->lowering, P, &friction);
    if (status == PERP_OK) {
        status = perpi_friction_units_scale(s->context, &s->units, &friction, &scaled);
    }
    if (status == PERP_OK) {
        status = clear_z(s, perp_contact_residual_work(P));
    }
    perp_solve_options asked = *options;
    int32_t iterations = 0;
    for (int attempt = 0; status == PERP_OK && attempt < ATTEMPTS; ++attempt) {
        perpi_friction_units_enter(&s->units, p);
        status = s->method.ops.friction->solve(s->method.self, &scaled, &asked, warm || attempt > 0,
                                               p, report);
        perpi_friction_units_leave(&s->units, p);
        if (status != PERP_OK) {
            break;
        }
        report->iterations = iterations += report->iterations;
        perp_lowering_friction_lift(s->lowering, P, p, v);
        if (report->outcome != PERP_OUTCOME_SOLVED) {
            break;
        }
        s->verdict = perp_contact_judge(P, v, p, s->z);
        if (s->verdict.worst <= options->tolerance || attempt + 1 == ATTEMPTS) {
            s->judged = true;
            break;
        }
        asked.tolerance *= TIGHTEN;
    }
    return status;
}

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

/* Splitting methods know no groups: for them one member of each acts, the one that is most open at v
 * (nobody, if that is none that may push), and the impulses of the others are bounded to nothing. */
static perp_status drop_groups(perp_contact_solver* s, const perp_contact_problem* P,
                               const double* v, perp_contact_problem* R)
{
    const size_t nc = (size_t)P->constraint_count, nr = (size_t)P->row_count;
    *R = *P;
    if (P->group_count == 0) {
        return PERP_OK;
    }
    perp_status status =
        perpi_grow(s->context, &s->alone, &s->alone_capacity, nc, sizeof *s->alone);
    if (status == PERP_OK) {
        status = perpi_grow(s->context, &s->bound, &s->bound_capacity, 2 * nr, sizeof *s->bound);
    }
    if (status != PERP_OK) {
        return status;
    }
    memcpy(s->alone, P->constraint, nc * sizeof *s->alone);
    memset(s->bound, 0, 2 * nr * sizeof *s->bound);
    for (size_t i = 0; i < nc; ++i) {
        const perp_constraint* c = &P->constraint[i];
        for (int32_t r = c->row; c->kind == PERP_CONSTRAINT_BOUNDED && r < c->row + c->rows; ++r) {
            s->bound[r] = P->lower[r];
            s->bound[nr + (size_t)r] = P->upper[r];
        }
    }
    for (int32_t g = 0; g < P->group_count; ++g) {
        for (int32_t k = 0; k < P->group[g].count; ++k) {
            s->alone[P->group[g].member[k]].kind = PERP_CONSTRAINT_BOUNDED;
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
            s->alone[group->member[widest]].kind = PERP_CONSTRAINT_CONTACT;
        }
    }
    R->constraint = s->alone;
    R->lower = s->bound;
    R->upper = s->bound + nr;
    R->group = NULL;
    R->group_count = 0;
    return PERP_OK;
}

/* One NCP solve from (v, p), which it replaces by a better point only. */
static perp_status try_ncp(perp_contact_solver* s, const perp_contact_problem* P,
                           const perp_ncp* ncp, const perp_solve_options* options, double* v,
                           double* p, double* best, perp_report* report)
{
    const size_t nv = (size_t)P->dof_count, nr = (size_t)P->row_count;
    double *try_v = s->z + ncp->n, *try_p = try_v + nv, *work = try_p + nr;
    perp_lowering_ncp_guess(s->lowering, P, v, p, s->z);
    const int32_t iterations = report->iterations;
    const perp_status status =
        s->round.ops.ncp->solve(s->round.self, ncp, options, true, s->z, report);
    report->iterations += iterations;
    if (status != PERP_OK) {
        return status;
    }
    perp_lowering_ncp_lift(s->lowering, P, s->z, try_v, try_p);
    const double residual = perp_contact_judge(P, try_v, try_p, work).worst;
    if (residual < *best) {
        *best = residual;
        memcpy(v, try_v, nv * sizeof *v);
        memcpy(p, try_p, nr * sizeof *p);
    }
    return PERP_OK;
}

/* What is left of the time limit, if there is one; a limit of 0 would be none. */
static void take_time(const perp_solve_options* options, double begin, perp_solve_options* left)
{
    if (options->time_limit > 0.0) {
        const double rest = options->time_limit - (perpi_clock_now() - begin);
        left->time_limit = rest > 1e-9 ? rest : 1e-9;
    }
}

/* The Fritz-John form has singular Jacobians where a contact does not push: Newton's methods are at
 * home near an answer, not far from it. So they begin at a neighbour's answer, then after a few
 * sweeps of a splitting method, and again after more of them; each time with the members of groups
 * acting that are most open at the best point so far. */
static perp_status solve_as_ncp(perp_contact_solver* s, const perp_contact_problem* P,
                                const perp_solve_options* options, bool warm, double* v, double* p,
                                perp_report* report)
{
    enum { STARTS = sizeof start_sweeps / sizeof start_sweeps[0] };
    perp_ncp ncp;
    perp_status status = perp_lower_contact_to_ncp(s->lowering, P, &ncp);
    const size_t nv = (size_t)P->dof_count, nr = (size_t)P->row_count;
    if (status == PERP_OK) {
        status = clear_z(s, (size_t)ncp.n + 2 * nv + 2 * nr + perp_contact_residual_work(P));
    }
    const double begin = perpi_clock_now();
    double best = INFINITY;
    int32_t iterations = 0;
    for (int start = warm ? -1 : 0; status == PERP_OK && start < STARTS; ++start) {
        /* the start beside the best point so far, which the last solve may have left at v, p */
        double* from_v = s->z + (size_t)ncp.n + nv + nr + perp_contact_residual_work(P);
        double* from_p = from_v + nv;
        memcpy(from_v, v, nv * sizeof *v);
        memcpy(from_p, p, nr * sizeof *p);
        perp_report made = {.solver = s->round.name};
        perp_solve_options asked = *options;
        if (start >= 0) {
            asked.max_iter = start_sweeps[start];
            asked.attempts = NULL;
            take_time(options, begin, &asked);
            perp_contact_problem alone;
            if (start == 0 && !warm) {
                (void)free_velocity(P, from_v); /* else 0: the members are chosen there */
            }
            status = drop_groups(s, P, from_v, &alone);
            if (status == PERP_OK) {
                status = perpi_contact_solve_island(s->start, &alone, &asked, start > 0 || warm,
                                                    from_v, from_p, &made);
            }
        }
        asked.max_iter =
            start + 1 < STARTS && options->max_iter == 0 ? START_STEPS : options->max_iter;
        made = (perp_report){.solver = s->round.name};
        double reached = INFINITY;
        for (int attempt = 0; status == PERP_OK && attempt < ATTEMPTS; ++attempt) {
            take_time(options, begin, &asked);
            status = try_ncp(s, P, &ncp, &asked, from_v, from_p, &reached, &made);
            if (made.outcome != PERP_OUTCOME_SOLVED || reached <= options->tolerance) {
                break;
            }
            asked.tolerance *= TIGHTEN; /* sizes of rows differ between the two forms */
        }
        iterations += made.iterations;
        if (status == PERP_OK && (reached < best || best == INFINITY)) {
            best = reached;
            memcpy(v, from_v, nv * sizeof *v);
            memcpy(p, from_p, nr * sizeof *p);
        }
        *report = made;
        report->iterations = iterations;
        if (best <= options->tolerance || made.outcome == PERP_OUTCOME_CANCELLED ||
            made.outcome == PERP_OUTCOME_TIME_LIMIT) {
            break;
        }
    }
    return status;
}

static perp_status solve_piece(perp_contact_solver* s, const perp_contact_problem* P,
                               const perp_solve_options* options, bool warm, double* v, double* p,
                               perp_report* report)
{
    s->judged = false;
    if (P->row_count == 0) {
        report->outcome = free_velocity(P, v) ? PERP_OUTCOME_SOLVED : PERP_OUTCOME_BREAKDOWN;
        return PERP_OK;
    }
    if (s->round.self != NULL && any_round(P)) {
        return solve_as_ncp(s, P, options, warm, v, p, report);
    }
    switch (s->method.form) {
    case PERPI_FORM_CONTACT:
        return s->method.ops.contact->solve(s->method.self, P, options, warm, v, p, report);
    case PERPI_FORM_FRICTION: return solve_as_friction(s, P, options, warm, v, p, report);
    case PERPI_FORM_LCP: return solve_as_lcp(s, P, options, warm, v, p, report);
    default: return solve_as_mlcp(s, P, options, warm, v, p, report);
    }
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
        take_time(options, begin, &left);
        perp_report made = {.solver = s->method.name};
        const int32_t known = left.attempts != NULL ? left.attempts->count : 0;
        status = solve_piece(s, &piece, &left, warm, v_piece, p_piece, &made);
        perpi_attempt_mark(options, known, i);
        if (status != PERP_OK) {
            break;
        }
        perpi_islands_scatter(s->islands, v_piece, p_piece, v, p);
        s->judged = false; /* a piece's verdict is not that of the whole */
        report->iterations += made.iterations;
        if (report->outcome == PERP_OUTCOME_SOLVED && made.outcome != PERP_OUTCOME_SOLVED) {
            report->outcome = made.outcome;
            memcpy(report->detail, made.detail, sizeof report->detail);
        }
    }
    return status;
}

/* Refuses what the method cannot take. */
static perp_status check_takes(perp_contact_solver* solver, const perp_contact_problem* problem)
{
    if (problem->group_count > 0 && (solver->takes & PERP_TAKES_GROUPS) == 0) {
        return perpi_fail(solver->context, PERP_ERROR_UNSUPPORTED,
                          "solver '%s' does not take groups of contacts", solver->method.name);
    }
    return perpi_check_cones(solver->context, solver->method.name, solver->takes,
                             problem->constraint, problem->constraint_count);
}

perp_status perpi_contact_solve_island(perp_contact_solver* solver,
                                       const perp_contact_problem* problem,
                                       const perp_solve_options* options, bool warm, double* v,
                                       double* p, perp_report* report)
{
    perp_status status = check_takes(solver, problem);
    if (status == PERP_OK) {
        status = perpi_grow(solver->context, &solver->point, &solver->point_capacity,
                            perp_contact_residual_work(problem), sizeof *solver->point);
    }
    if (status == PERP_OK) {
        status = solve_piece(solver, problem, options, warm, v, p, report);
    }
    if (status != PERP_OK) {
        return status;
    }
    const perp_contact_residual verdict =
        solver->judged ? solver->verdict : perp_contact_judge(problem, v, p, solver->point);
    char where[64] = "";
    if (!(verdict.worst <= options->tolerance)) {
        perpi_name_worst(&verdict, where, sizeof where);
    }
    perpi_settle(report, verdict.worst, options->tolerance, where);
    return PERP_OK;
}

perp_status perp_contact_solve(perp_contact_solver* solver, const perp_contact_problem* problem,
                               const perp_solve_options* options, bool warm, double* v, double* p,
                               perp_contact_residual* residual, perp_report* report)
{
    perp_context* context = solver->context;
    const double begin = perpi_clock_now();
    perp_solve_options chosen;
    perp_status status = perpi_check_options(context, options, &chosen);
    if (status == PERP_OK) {
        status = perp_contact_check(context, problem);
    }
    if (status == PERP_OK) {
        status = check_takes(solver, problem);
    }
    if (status == PERP_OK && warm) {
        status = perpi_check_guess(context, "v", v, problem->dof_count);
    }
    if (status == PERP_OK && warm) {
        status = perpi_check_guess(context, "p", p, problem->row_count);
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

    perp_report made = {.solver = solver->method.name};
    status = solve_islands(solver, problem, &chosen, warm, begin, made_v, made_p, &made);
    if (status != PERP_OK) {
        return status;
    }
    made.solver = made.solver != NULL ? made.solver : solver->method.name;

    perp_contact_residual verdict =
        solver->judged ? solver->verdict : perp_contact_judge(problem, made_v, made_p, work);
    char where[64] = "";
    if (!(verdict.worst <= chosen.tolerance)) {
        perpi_name_worst(&verdict, where, sizeof where);
    }
    perpi_settle(&made, verdict.worst, chosen.tolerance, where);
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
    if (chosen.attempts != NULL && chosen.attempts->count == 0) {
        perpi_attempt_add(&chosen, &made, made.seconds);
    }
    if (residual != NULL) {
        *residual = verdict;
    }
    if (report != NULL) {
        *report = made;
    }
    return PERP_OK;
}
