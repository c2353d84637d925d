/* src/solve/frictional/chosen_problem.c - the problem without groups that the choices of switching.c leave. */
#include <math.h>
#include <string.h>

#include "solve/builtin.h"
#include "solve/frictional/augmented_newton.h"
#include "solve/frictional/switching.h"

#define CLOSED_GOAL 1e-4 /* of the tolerance, where members are closed together */

#define INSIDE_PART                                                                                \
    0.9 /* of the tolerance: for the problem that choices leave, while they are made */

#define TIGHT_PART 1e-3 /* of that, where it takes little: the next step starts from the answer */

enum { TIGHT_ROWS = 300 };
enum { CLOSED_STEPS = 60 }; /* Newton steps where members are closed together */

/* A partner has the given normal impulse s and friction up to mu s (planar). */
static void give_share(perpi_switching* s, perp_constraint* c, double p_n)
{
    c->kind = PERP_CONSTRAINT_BOUNDED;
    s->p[c->row] = s->lower[c->row] = s->upper[c->row] = p_n;
    if (c->rows > 1) {
        s->upper[c->row + 1] = c->mu * p_n;
        s->lower[c->row + 1] = -s->upper[c->row + 1];
    }
}

/* The problem without groups; impulses of those that take part go to s->p. */
static perp_contact_problem make_smaller_problem(perpi_switching* s, const perp_contact_problem* P,
                                                 const double* p)
{
    perp_contact_problem R = *P;
    int32_t rows = 0, count = 0;
    bool bounds = P->lower != NULL;
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        const int32_t g = s->group_of[i];
        if (g >= 0 && s->choice[g] != i && s->partner[g] != i && s->second[g] != i) {
            continue;
        }
        for (int32_t k = 0; k < c->rows; ++k) {
            s->b[rows + k] = P->b[c->row + k];
            s->lower[rows + k] = P->lower != NULL ? P->lower[c->row + k] : 0.0;
            s->upper[rows + k] = P->upper != NULL ? P->upper[c->row + k] : 0.0;
            s->compliance[rows + k] = P->compliance != NULL ? P->compliance[c->row + k] : 0.0;
            s->b_error[rows + k] = P->b_error != NULL ? P->b_error[c->row + k] : 0.0;
            s->p[rows + k] = p[c->row + k];
        }
        s->from[count] = i;
        s->closed_row[count] = g >= 0 && s->second[g] >= 0;
        s->given[count] = g >= 0 && s->partner[g] == i ? s->share[g].s : (double)NAN;
        s->constraint[count] = *c;
        s->constraint[count].row = rows;
        if (g >= 0 && s->partner[g] == i && c->rows <= PERPI_PLANAR) {
            give_share(s, &s->constraint[count], s->share[g].s);
            bounds = true;
        }
        rows += c->rows;
        count += 1;
    }
    R.constraint_count = count;
    R.row_count = rows;
    R.constraint = s->constraint;
    R.b = s->b;
    R.lower = bounds ? s->lower : NULL;
    R.upper = bounds ? s->upper : NULL;
    R.compliance = P->compliance != NULL ? s->compliance : NULL;
    R.b_error = P->b_error != NULL ? s->b_error : NULL;
    R.group_count = 0;
    R.group = NULL;
    return R;
}

static void give_back(const perpi_switching* s, const perp_contact_problem* P,
                      const perp_contact_problem* R, int32_t count, double* p)
{
    memset(p, 0, (size_t)P->row_count * sizeof *p);
    for (int32_t i = 0; i < count; ++i) {
        const perp_constraint* c = &R->constraint[i];
        memcpy(p + P->constraint[s->from[i]].row, s->p + c->row, (size_t)c->rows * sizeof *p);
    }
}

/* Partners in space: see fixed_push.h. *v: the velocities of the larger problem, if there are any. */
static perp_status push_in_space(perpi_switching* s, const perp_contact_problem* P,
                                 perp_contact_problem* R, double** v)
{
    int32_t pushes = 0;
    const int32_t count = R->constraint_count;
    for (int32_t g = 0; g < P->group_count; ++g) {
        pushes += s->partner[g] >= 0 && P->constraint[s->partner[g]].rows > PERPI_PLANAR;
    }
    if (pushes == 0) {
        return PERP_OK;
    }
    const double* v_old = *v;
    const perpi_push_arrays arrays = {s->constraint, s->b, s->compliance, s->p};
    const perp_status status = perpi_fixed_push_begin(&s->push, R, pushes, v_old);
    for (int32_t j = 0; status == PERP_OK && j < count; ++j) {
        const int32_t i = s->from[j], g = s->group_of[i];
        if (g >= 0 && s->partner[g] == i && s->constraint[j].rows > PERPI_PLANAR &&
            !perpi_fixed_push_add(&s->push, R, j, s->share[g].s,
                                  perpi_group_opening(s, P, i, v_old).w, &arrays)) {
            return perpi_fail(s->context, PERP_ERROR_UNSUPPORTED,
                              "switching: a mass matrix is not positive");
        }
    }
    for (int32_t j = count; j < R->constraint_count; ++j) {
        s->closed_row[j] = false; /* of the fixed pushes */
    }
    *v = s->push.v;
    return status;
}

/* Whether the impulse of a member is given. */
static bool shares_act(const perpi_switching* s, const perp_contact_problem* P)
{
    for (int32_t g = 0; g < P->group_count; ++g) {
        if (s->partner[g] >= 0) {
            return true;
        }
    }
    return false;
}

/* Whether two members of a group are to be closed together. */
static bool pairs_act(const perpi_switching* s, const perp_contact_problem* P)
{
    for (int32_t g = 0; g < P->group_count; ++g) {
        if (s->second[g] >= 0) {
            return true;
        }
    }
    return false;
}

static perp_status make_newton(perpi_switching* s)
{
    double settings[8]; /* of newton-bodies: fewer bytes */
    if (s->newton != NULL) {
        return PERP_OK;
    }
    perpi_method_newton_bodies.settings_default(settings);
    return perpi_method_newton_bodies.create(s->context, settings, &s->newton);
}

/* Solves the problem where two members of a group are to be closed together, from a point near the answer. */
static perp_status solve_closed(perpi_switching* s, const perp_contact_problem* R,
                                const perp_solve_options* options, double* v, perp_report* made)
{
    perp_status status = make_newton(s);
    if (status != PERP_OK) {
        return status;
    }
    perp_solve_options near = *options;
    near.enough = options->tolerance;
    near.tolerance = CLOSED_GOAL * options->tolerance;
    near.max_iter = CLOSED_STEPS;
    status = perpi_newton_closed(s->newton, R, s->closed_row, &near, v, s->p, made);
    if (status == PERP_OK) {
        made->residual = perp_contact_check_residual(R, v, s->p, s->work).worst;
        made->outcome = made->residual <= options->tolerance ? PERP_OUTCOME_SOLVED : made->outcome;
    }
    return status;
}

perp_status perpi_chosen_solve(perpi_switching* s, const perp_contact_problem* problem,
                               const perp_solve_options* options, bool warm, double* v, double* p,
                               perp_report* report, perp_outcome* outcome)
{
    perp_contact_problem R = make_smaller_problem(s, problem, p);
    const int32_t count = R.constraint_count;
    double* v_R = v;
    perp_report made = {0};
    perp_status status = push_in_space(s, problem, &R, &v_R);
    if (status == PERP_OK && pairs_act(s, problem)) {
        status = solve_closed(s, &R, options, v_R, &made);
    } else if (status == PERP_OK) {
        status = s->inner->solve(s->inner->user, &R, options, warm, v_R, s->p, &made);
    }
    if (status != PERP_OK) {
        return status;
    }
    if (v_R != v) {
        memcpy(v, v_R, (size_t)problem->dof_count * sizeof *v);
    }
    give_back(s, problem, &R, count, p);
    report->iterations += made.iterations + 1;
    if (s->direct && s->slack < PERPI_COARSE_SLACK) { /* openings are as uncertain as the solve */
        s->slack = made.residual > s->fine ? made.residual : s->fine;
    }
    s->closed = made.residual < s->slack ? made.residual : s->slack;
    s->closed = s->direct && s->closed > PERPI_CLOSED ? s->closed : PERPI_CLOSED;
    *outcome = made.outcome;
    return status;
}

/* Choices at a point of the solve, see perpi_newton_choice. */
static const double* revise(void* user, double residual, const double* v, const double* p,
                            bool* answer)
{
    perpi_switching* s = user;
    const perp_contact_problem* P = s->whole;
    memcpy(s->p, p, (size_t)s->chosen.row_count * sizeof *p);
    give_back(s, P, &s->chosen, s->chosen.constraint_count, s->p_whole);
    const bool solved = residual <= s->tolerance;
    const bool holds =
        solved && perp_contact_check_residual(P, v, s->p_whole, s->work).worst <= s->tolerance;
    *answer = holds && (*answer || !s->tight);
    if (holds || !perpi_choose_inside(s, P, solved, v, s->p_whole)) {
        return NULL;
    }
    s->chosen = make_smaller_problem(s, P, s->p_whole);
    s->pairs = shares_act(s, P);
    return s->p;
}

static const double* refuse(void* user, const double* v, const double* p)
{
    perpi_switching* s = user;
    const perp_contact_problem* P = s->whole;
    (void)v;
    memcpy(s->p, p, (size_t)s->chosen.row_count * sizeof *p);
    give_back(s, P, &s->chosen, s->chosen.constraint_count, s->p_whole);
    if (!perpi_refuse_inside(s, P, s->p_whole)) {
        return NULL;
    }
    s->chosen = make_smaller_problem(s, P, s->p_whole);
    s->pairs = false;
    return s->p;
}

perp_status perpi_chosen_solve_inside(perpi_switching* s, const perp_contact_problem* problem,
                                      const perp_solve_options* options, bool warm, double* v,
                                      double* p, perp_report* report)
{
    perp_status status = make_newton(s);
    if (status != PERP_OK) {
        return status;
    }
    s->whole = problem;
    s->p_whole = p;
    s->tolerance = options->tolerance;
    s->chosen = make_smaller_problem(s, problem, p);
    s->pairs = false;
    s->joint.count = s->moves = 0;
    const perpi_newton_choice choice = {s, revise, refuse, s->closed_row, s->given, &s->pairs};
    perp_solve_options inner = *options;
    inner.tolerance *= INSIDE_PART;
    s->tight = problem->row_count <= TIGHT_ROWS;
    if (s->tight) {
        inner.enough = inner.tolerance;
        inner.tolerance *= TIGHT_PART;
    }
    status = perpi_newton_choosing(s->newton, &s->chosen, &choice, &inner, warm, v, s->p, report);
    if (status == PERP_OK) {
        give_back(s, problem, &s->chosen, s->chosen.constraint_count, p);
    }
    return status;
}
