/* src/solve/frictional/switching.c - groups of contacts, by choosing the member of each that acts.
 *
 * Source     the laws of a group [W14 (4.10)-(4.13)] say: one member carries the impulse, its gap is
 *            closed and no other is open; or none does and one is open. Once the acting members are
 *            chosen, a problem without groups remains, for which there are robust methods.
 * Method     groups that carried an impulse in the last step begin with that member, all others
 *            with none: they are left out of the problem until the solution violates them. Then the
 *            member is added that can be closed at the least change of kinetic energy, u^2 / 2 W.
 *            Where a member has an impulse while another one is open, the other one replaces it.
 *            Where several choices differ only by rounding, a group that is satisfied without an
 *            impulse gets none.
 * Why it ends  without friction the replacing member already satisfies its law, so that a
 *              replacement can only lower the kinetic energy: no choice occurs twice. With friction
 *              two members can replace each other for ever. In the solution both are then closed
 *              and both have an impulse. One, the partner, is given a fixed impulse s, with
 *              friction up to mu s; the other acts as usual. With s = 0 the partner is open, with
 *              the s that it needs alone it penetrates: the s at which it is just closed is found
 *              by regula falsi. Where a group has one primary, and another member closes [W14
 *              (4.14)], the primary is given the impulse at which that member is just closed.
 *                Where the choices still cycle, groups change one at a time: a group that changes
 *                back while all others stay needs both members, and the impulses of several such
 *                groups, whose partners depend on each other, are found together by Newton's
 *                method.
 * Files      choices: group_choice.c; what they leave to be solved: chosen_problem.c; here the search.
 * Limits     no contact in two groups: else UNSUPPORTED. Three members of a group are not closed together.
 */
#include <math.h>
#include <string.h>

#include "linalg/dense.h"
#include "solve/builtin.h"
#include "solve/frictional/switching.h"
#include "solve/monitor.h"

#define DIFFERENCE 1e-6  /* of a share, for derivatives */
#define SLACK 1e-10      /* of the largest term of a row: smaller violations are rounding */
#define SLACK_SMALL 1e-2 /* the same, of the tolerance */
#define INSIDE_NEAR                                                                                \
    1e-3 /* residual from which the search goes on where choices were made in one solve */
#define SLACK_LARGE                                                                                \
    0.1 /* in problems of more than COARSE_ROWS rows, which are not solved further */

enum {
    COARSE_ROWS = 600, /* from here on choices are made by coarse solves first */
    COARSE_ROUNDS = 6, /* at most PERPI_REPLACEMENTS */
    SHARE_ROUNDS = 80, /* rounds for the impulse of a partner */
    ROUNDS = 60,       /* changes one at a time */
    SEARCHES = 4,      /* impulses of partners to be found meanwhile */
    BUDGET = 1500,     /* iterations of all solves together, up to ROWS rows */
    ROWS = 150,
    JOINT = 8,          /* partners whose impulses are found together */
    NEWTONS = 12,       /* steps of that */
    CUTS = 5,           /* halvings of a step */
    INNER = 500,        /* iterations for one choice of members */
    DIRECT_ROWS = 300,  /* beyond so many the first choices are predicted */
    INSIDE_ROWS = 30,   /* beyond so many they are made in one solve, if that succeeds, ... */
    INSIDE_BLOCKS = 4,  /* ... where so many bodies move, or ... */
    INSIDE_LARGE = 300, /* ... in problems of so many rows, of which ... */
    GROUP_PART = 11,    /* ... a group has as many */
    SECOND_ROWS = 1200, /* up to here without prediction, too, if that fails */
    DIRECT_ROUNDS = 8,  /* solves from predicted choices */
    DIRECT_SHARES =
        9, /* as SHARE_ROUNDS, from predicted choices: those that succeed mostly need fewer */
    NEAR_INNER = 100, /* as INNER, where the search goes on near an answer */
};

static const perp_setting switching_setting[] = {
    {"predicted", PERP_SETTING_INT, offsetof(perpi_switching_settings, predicted), 0, 1e9,
     "rows beyond which the first choices are predicted, in space"},
    {"inside", PERP_SETTING_INT, offsetof(perpi_switching_settings, inside), 0, 1e9,
     "rows beyond which choices are made while the problem is solved, in space"},
    {"inside-part", PERP_SETTING_INT, offsetof(perpi_switching_settings, inside_part), 0, 1e9,
     "the same: where few bodies move only with at least so many rows a group"},
};

static void switching_settings_default(void* settings)
{
    *(perpi_switching_settings*)settings = (perpi_switching_settings){
        .predicted = DIRECT_ROWS, .inside = INSIDE_ROWS, .inside_part = GROUP_PART};
}

static void switching_destroy(void* self)
{
    perpi_switching* s = self;
    void* const owned[] = {s->group_of,   s->choice,     s->partner, s->handed, s->from,
                           s->constraint, s->b,          s->lower,   s->upper,  s->compliance,
                           s->p,          s->share,      s->b_error, s->M_at,   s->guess,
                           s->second,     s->closed_row, s->given};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; ++i) {
        perpi_free(s->context, owned[i]);
    }
    if (s->newton != NULL) {
        perpi_method_newton_bodies.destroy(s->newton);
    }
    perpi_fixed_push_free(&s->push);
    perpi_free(s->context, s);
}

static perp_status switching_create(perp_context* context, const void* settings, void** self)
{
    perpi_switching* s = NULL;
    const perp_status status = perpi_alloc(context, 1, sizeof *s, &s);
    if (status == PERP_OK) {
        s->context = s->push.context = context;
        s->set = *(const perpi_switching_settings*)settings;
        *self = s;
    }
    return status;
}

static perp_status switching_reserve(perpi_switching* s, const perp_contact_problem* P)
{
    const size_t n = (size_t)P->constraint_count, g = (size_t)P->group_count;
    const size_t rows = (size_t)P->row_count + PERPI_PUSH_ROWS * g;
    perp_context* c = s->context;
    perp_status status = perpi_grow(c, &s->group_of, &s->group_of_capacity, n, sizeof *s->group_of);
    if (status == PERP_OK) {
        status = perpi_grow(c, &s->from, &s->from_capacity, n, sizeof *s->from);
    }
    if (status == PERP_OK) {
        status =
            perpi_grow(c, &s->constraint, &s->constraint_capacity, n + g, sizeof *s->constraint);
    }
    if (status == PERP_OK) {
        status = perpi_grow(c, &s->choice, &s->choice_capacity, g, sizeof *s->choice);
    }
    if (status == PERP_OK) {
        status = perpi_grow(c, &s->partner, &s->partner_capacity, g, sizeof *s->partner);
    }
    if (status == PERP_OK) {
        status = perpi_grow(c, &s->second, &s->second_capacity, g, sizeof *s->second);
    }
    if (status == PERP_OK) {
        status = perpi_grow(c, &s->closed_row, &s->closed_capacity, n + g, sizeof *s->closed_row);
    }
    if (status == PERP_OK) {
        status = perpi_grow(c, &s->given, &s->given_capacity, n + g, sizeof *s->given);
    }
    if (status == PERP_OK) {
        status = perpi_grow(c, &s->share, &s->share_capacity, g, sizeof *s->share);
    }
    if (status == PERP_OK) {
        status = perpi_grow(c, &s->handed, &s->handed_capacity, g, sizeof *s->handed);
    }
    if (status == PERP_OK) {
        status =
            perpi_grow(c, &s->M_at, &s->M_at_capacity, (size_t)P->block_count + 1, sizeof *s->M_at);
    }
    if (status == PERP_OK) {
        const size_t point = (size_t)P->dof_count + (size_t)P->row_count, guess = 2 * point;
        perp_contact_problem largest = *P; /* with a fixed push in every group */
        largest.dof_count += PERPI_PUSH_DOFS * P->group_count;
        largest.row_count += PERPI_PUSH_ROWS * P->group_count;
        largest.constraint_count += P->group_count;
        status = perpi_grow(c, &s->guess, &s->guess_capacity,
                            guess + perp_contact_residual_work(&largest), sizeof *s->guess);
        s->near = s->guess + point;
        s->work = s->guess + guess;
    }
    struct {
        double** array;
        size_t* capacity;
    } per_row[] = {{&s->b, &s->b_capacity},
                   {&s->lower, &s->lower_capacity},
                   {&s->upper, &s->upper_capacity},
                   {&s->compliance, &s->compliance_capacity},
                   {&s->b_error, &s->b_error_capacity},
                   {&s->p, &s->p_capacity}};
    for (size_t i = 0; status == PERP_OK && i < sizeof per_row / sizeof per_row[0]; ++i) {
        status = perpi_grow(c, per_row[i].array, per_row[i].capacity, rows, sizeof(double));
    }
    return status;
}

static void find_mass_blocks(perpi_switching* s, const perp_contact_problem* P)
{
    size_t at = 0;
    for (int32_t i = 0; i < P->block_count; ++i) {
        const size_t n = (size_t)(P->dof[i + 1] - P->dof[i]);
        s->M_at[i] = at;
        at += n * n;
    }
}

static perp_status find_groups(perpi_switching* s, const perp_contact_problem* P, bool warm,
                               const double* p)
{
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        s->group_of[i] = -1;
    }
    for (int32_t g = 0; g < P->group_count; ++g) {
        const perp_group* group = &P->group[g];
        double most = 0.0;
        s->choice[g] = s->partner[g] = s->second[g] = -1;
        s->handed[g] = 0;
        s->share[g] = (perpi_share){.before = -1};
        for (int32_t k = 0; k < group->count; ++k) {
            const int32_t i = group->member[k];
            if (s->group_of[i] >= 0) {
                return perpi_fail(s->context, PERP_ERROR_UNSUPPORTED,
                                  "switching: takes contacts that are in one group only");
            }
            s->group_of[i] = g;
            if (warm && k < group->primary && p[P->constraint[i].row] > most) {
                most = p[P->constraint[i].row];
                s->choice[g] = i;
            }
        }
    }
    return PERP_OK;
}

/* The first choices, by solves to PERPI_COARSE; *warm: v and p are a guess. */
static perp_status choose_coarsely(perpi_switching* s, const perp_contact_problem* problem,
                                   const perp_solve_options* options, bool* warm, double* v,
                                   double* p, perp_report* report)
{
    perp_solve_options coarse = *options;
    coarse.tolerance = PERPI_COARSE;
    coarse.enough = 0.0;
    s->slack = PERPI_COARSE_SLACK;
    perp_status status = PERP_OK;
    for (int32_t i = 0; i < COARSE_ROUNDS; ++i) {
        perp_outcome made = PERP_OUTCOME_UNSET;
        status = perpi_chosen_solve(s, problem, &coarse, *warm, v, p, report, &made);
        *warm = true;
        if (status != PERP_OK || made != PERP_OUTCOME_SOLVED ||
            !perpi_choose_again(s, problem, v, p)) {
            break;
        }
    }
    s->slack = s->fine;
    memset(s->handed, 0, (size_t)problem->group_count * sizeof *s->handed);
    return status;
}

/* ---- several partners that depend on each other ----------------------------------------------------*/

/* The partners, at most JOINT; 0: there are fewer than two, or more, or all are settled. */
static int32_t list_partners(const perpi_switching* s, const perp_contact_problem* P,
                             const double* v, int32_t* group)
{
    int32_t count = 0;
    bool off = false;
    for (int32_t g = 0; g < P->group_count; ++g) {
        if (s->partner[g] >= 0) {
            if (count == JOINT) {
                return 0;
            }
            group[count++] = g;
            off = off || !(fabs(perpi_partner_off(s, P, g, v)) <= s->slack);
        }
    }
    return off && count >= 2 ? count : 0;
}

/* Data shared by the solves of one joint search. */
typedef struct joint {
    perpi_switching* s;
    const perp_contact_problem* P;
    const perp_solve_options* options;
    perp_report* report;
    double *v, *p;
    int32_t budget; /* iterations */
    int32_t count;
    int32_t group[JOINT];
} joint;

/* f, count values, at the present shares; *worst: the largest, infinite if there is no answer. */
static perp_status joint_off(joint* j, double* f, double* worst)
{
    perp_outcome made = PERP_OUTCOME_UNSET;
    *worst = INFINITY;
    const perp_status status =
        perpi_chosen_solve(j->s, j->P, j->options, true, j->v, j->p, j->report, &made);
    if (status != PERP_OK || made != PERP_OUTCOME_SOLVED) {
        return status;
    }
    *worst = 0.0;
    for (int32_t k = 0; k < j->count; ++k) {
        f[k] = perpi_partner_off(j->s, j->P, j->group[k], j->v);
        *worst = !(fabs(f[k]) <= *worst) ? fabs(f[k]) : *worst;
    }
    return status;
}

/* Newton's method for the shares of all partners at once, derivatives by differences. The inner solves are
 * right to rounding, and the openings nearly linear in the shares, so that few steps do. */
static perp_status solve_jointly(joint* j)
{
    double f[JOINT], next[JOINT], D[JOINT * JOINT], shares[JOINT], worst;
    int32_t pivot[JOINT];
    const int32_t n = j->count;
    perpi_share* x = j->s->share;
    perp_status status = joint_off(j, f, &worst);
    for (int32_t i = 0; status == PERP_OK && i < NEWTONS && worst > j->s->closed &&
                        worst < INFINITY && j->report->iterations < j->budget;
         ++i) {
        for (int32_t k = 0; k < n; ++k) {
            shares[k] = x[j->group[k]].s;
        }
        double made = 0.0;
        for (int32_t c = 0; status == PERP_OK && c < n && made < INFINITY; ++c) {
            const double delta = DIFFERENCE * shares[c];
            x[j->group[c]].s = shares[c] + delta;
            status = joint_off(j, next, &made);
            x[j->group[c]].s = shares[c];
            for (int32_t r = 0; r < n; ++r) {
                D[r * n + c] = (next[r] - f[r]) / delta;
            }
        }
        perpi_lu_info info;
        if (status != PERP_OK || !(made < INFINITY) || !perpi_lu_factor(n, D, pivot, &info)) {
            break;
        }
        perpi_lu_solve(n, D, pivot, f); /* f: the step */
        double part = 1.0, before = worst;
        for (int32_t cut = 0; status == PERP_OK && cut < CUTS; ++cut, part *= 0.5) {
            for (int32_t k = 0; k < n; ++k) {
                const double to = shares[k] - part * f[k];
                x[j->group[k]].s = to > 0.1 * shares[k] ? to : 0.1 * shares[k];
            }
            status = joint_off(j, next, &worst);
            if (worst < before) {
                break;
            }
        }
        memcpy(f, next, sizeof f);
        if (!(worst < before)) {
            break;
        }
    }
    return status;
}

/* Whether there is no warm start. */
static bool is_new(const perp_contact_problem* P, bool warm, const double* p)
{
    for (int32_t i = 0; warm && i < P->row_count; ++i) {
        if (p[i] != 0.0) {
            return false;
        }
    }
    return true;
}

/* Keeps a guess: zero if there is none, for v and p may then hold anything. */
static void keep_guess(const perp_contact_problem* P, bool warm, const double* v, const double* p,
                       double* guess)
{
    if (!warm) {
        memset(guess, 0, (size_t)(P->dof_count + P->row_count) * sizeof *guess);
        return;
    }
    memcpy(guess, v, (size_t)P->dof_count * sizeof *v);
    memcpy(guess + P->dof_count, p, (size_t)P->row_count * sizeof *p);
}

static void return_to_guess(const perp_contact_problem* P, const double* guess, double* v,
                            double* p)
{
    memcpy(v, guess, (size_t)P->dof_count * sizeof *v);
    memcpy(p, guess + P->dof_count, (size_t)P->row_count * sizeof *p);
}

/* The choices with which a search begins. */
static perp_status begin_choices(perpi_switching* s, const perp_contact_problem* problem, bool warm,
                                 double* v, double* p)
{
    if (s->go_on) {
        (void)perpi_seek_shares(s, problem);
        return PERP_OK;
    }
    const perp_status status = find_groups(s, problem, warm, p);
    if (status == PERP_OK && (s->direct || is_new(problem, warm, p))) {
        perpi_choose_first(s, problem, s->direct && warm, v, p);
    }
    return status;
}

/* Whether the impulse of a member is being sought. */
static bool has_partner(const perpi_switching* s, const perp_contact_problem* P)
{
    for (int32_t g = 0; g < P->group_count; ++g) {
        if (s->partner[g] >= 0) {
            return true;
        }
    }
    return false;
}

/* Choices until the groups obey their laws. s->direct: from predicted choices. */
static perp_status search_choices(perpi_switching* s, const perp_contact_problem* problem,
                                  const perp_solve_options* options, bool warm, double* v,
                                  double* p, perp_report* report)
{
    perp_status status = begin_choices(s, problem, warm, v, p);
    int32_t limit =
        s->direct ? DIRECT_ROUNDS : 20 + (2 + PERPI_REPLACEMENTS) * problem->group_count;
    int32_t settling = s->direct ? DIRECT_SHARES : SHARE_ROUNDS, budget = INT32_MAX;
    report->outcome = PERP_OUTCOME_MAX_ITER;
    s->one_by_one = false;
    const perpi_clock clock = {0}; /* the inner solves check the time limit */
    perp_solve_options inner = *options;
    const int32_t most = s->go_on ? NEAR_INNER : INNER;
    inner.max_iter = inner.max_iter > 0 && inner.max_iter < most ? inner.max_iter : most;
    if (status == PERP_OK && !s->go_on && problem->row_count > COARSE_ROWS &&
        inner.tolerance < PERPI_COARSE) {
        status = choose_coarsely(s, problem, &inner, &warm, v, p, report);
    }
    for (int32_t i = 0; status == PERP_OK && i < limit && report->iterations < budget; ++i) {
        const perp_outcome interrupt =
            i > 0 ? perpi_monitor_interrupt(options, &clock) : PERP_OUTCOME_UNSET;
        if (interrupt != PERP_OUTCOME_UNSET) {
            report->outcome = interrupt;
            break;
        }
        perp_outcome made = PERP_OUTCOME_UNSET;
        status = perpi_chosen_solve(s, problem, &inner, warm || i > 0, v, p, report, &made);
        if (status != PERP_OK) {
            break;
        }
        if (made != PERP_OUTCOME_SOLVED && s->direct && perpi_seek_shares(s, problem)) {
            return_to_guess(problem, s->go_on ? s->near : s->guess, v, p);
            continue;
        }
        if (made != PERP_OUTCOME_SOLVED) {
            report->outcome = made;
            break;
        }
        if ((s->direct || has_partner(s, problem)) &&
            perp_contact_check_residual(problem, v, p, s->work).worst <= options->tolerance) {
            report->outcome = PERP_OUTCOME_SOLVED;
            break;
        }
        const bool searching = !perpi_partners_are_closed(s, problem, v);
        if (searching && settling-- > 0) {
            limit += 1;
            continue;
        }
        if (s->one_by_one) {
            joint j = {s, problem, &inner, report, v, p, budget, 0, {0}};
            j.count = list_partners(s, problem, v, j.group);
            status = j.count > 0 ? solve_jointly(&j) : PERP_OK;
            if (status != PERP_OK) {
                break;
            }
        }
        const bool changed =
            (searching && !s->one_by_one) || (s->one_by_one ? perpi_choose_one(s, problem, v, p)
                                                            : perpi_choose_again(s, problem, v, p));
        const bool wrong = !changed && !s->one_by_one && !perpi_groups_hold(s, problem, v, p);
        if (!changed && !wrong) {
            report->outcome = PERP_OUTCOME_SOLVED;
            break;
        }
        if (s->direct && (searching || wrong)) {
            break;
        }
        if (!s->direct && !s->one_by_one && (searching || wrong || i + 1 == limit)) {
            perpi_start_one_by_one(s, problem);
            limit = i + 1 + ROUNDS;
            settling = SEARCHES * SHARE_ROUNDS;
            const double size = problem->row_count > ROWS ? ROWS / (double)problem->row_count : 1.0;
            budget = report->iterations + (int32_t)(BUDGET * size * size);
        }
    }
    return status;
}

/* Violations that count: those beyond what the solves leave. */
static void set_slack(perpi_switching* s, const perp_contact_problem* P,
                      const perp_solve_options* options)
{
    const double part = s->direct && P->row_count > COARSE_ROWS ? SLACK_LARGE : SLACK_SMALL;
    s->fine = part * options->tolerance > SLACK ? part * options->tolerance : SLACK;
    s->slack = s->fine;
}

/* Whether the caller's limits end the search. */
static bool is_stopped(const perp_report* report)
{
    return report->outcome == PERP_OUTCOME_TIME_LIMIT || report->outcome == PERP_OUTCOME_CANCELLED;
}

/* One solve in which choices are made; *worst: the residual of its point. */
static perp_status try_inside(perpi_switching* s, const perp_contact_problem* problem,
                              const perp_solve_options* options, bool warm, double* v, double* p,
                              perp_report* report, double* worst)
{
    const int32_t before = report->iterations;
    if (!warm) {
        memset(p, 0, (size_t)problem->row_count * sizeof *p);
    }
    report->iterations = 0;
    perp_status status = find_groups(s, problem, warm, p);
    if (status == PERP_OK) {
        perpi_choose_first(s, problem, warm, v, p);
        status = perpi_chosen_solve_inside(s, problem, options, warm, v, p, report);
    }
    report->iterations += before;
    if (status == PERP_OK) {
        *worst = perp_contact_check_residual(problem, v, p, s->work).worst;
    }
    return status;
}

/* Choices are made in one solve; *done: it found an answer. If it came near one, the search goes on from
 * there; else v and p are as they were. s->stuck: all groups obey their laws at v and p, and what
 * they leave does not converge: another search would repeat that solve. */
static perp_status choose_inside(perpi_switching* s, const perp_contact_problem* problem,
                                 const perp_solve_options* options, bool warm, double* v, double* p,
                                 perp_report* report, bool* done)
{
    double worst = INFINITY;
    perp_status status = try_inside(s, problem, options, warm, v, p, report, &worst);
    *done = report->outcome == PERP_OUTCOME_SOLVED && worst <= options->tolerance;
    if (status == PERP_OK && !*done && warm && problem->row_count <= s->set.predicted &&
        !is_stopped(report)) {
        status = try_inside(s, problem, options, false, v, p, report, &worst);
        *done = report->outcome == PERP_OUTCOME_SOLVED && worst <= options->tolerance;
    }
    if (status != PERP_OK) {
        return status;
    }
    if (!*done && !is_stopped(report) && worst < INSIDE_NEAR &&
        problem->row_count > s->set.predicted) {
        s->go_on = true;
        keep_guess(problem, true, v, p, s->near);
        status = search_choices(s, problem, options, true, v, p, report);
        s->go_on = false;
        *done = report->outcome == PERP_OUTCOME_SOLVED;
        s->stuck = status == PERP_OK && !*done && problem->row_count > SECOND_ROWS &&
                   perpi_groups_hold(s, problem, v, p);
    }
    if (!*done && !s->stuck) {
        return_to_guess(problem, s->guess, v, p);
    }
    s->slack = s->fine;
    return status;
}

/* Polygons that spin and sink into each other have more solutions than heaps in space, and predicted choices
 * mostly lead to none of them. */
static bool is_planar(const perp_contact_problem* P)
{
    for (int32_t g = 0; g < P->group_count; ++g) {
        if (P->constraint[P->group[g].member[0]].rows > PERPI_PLANAR) {
            return false;
        }
    }
    return true;
}

/* A few bodies on many tiles have solutions besides the smooth one, which the search prefers. */
static bool chooses_inside(const perpi_switching* s, const perp_contact_problem* P)
{
    const bool many = P->block_count >= INSIDE_BLOCKS;
    const bool large =
        P->row_count > INSIDE_LARGE && s->set.inside_part * (int64_t)P->group_count <= P->row_count;
    return P->row_count > s->set.inside && (many || large);
}

static perp_status switching_solve(void* self, const perp_contact_problem* problem,
                                   const perp_inner_solve* inner_solve,
                                   const perp_solve_options* options, bool warm, double* v,
                                   double* p, perp_report* report)
{
    perpi_switching* s = self;
    s->inner = inner_solve;
    perp_status status = switching_reserve(s, problem);
    if (status != PERP_OK) {
        return status;
    }
    find_mass_blocks(s, problem);
    keep_guess(problem, warm, v, p, s->guess);
    const bool space = !is_planar(problem);
    bool done = false;
    s->stuck = false;
    s->direct = space && chooses_inside(s, problem);
    set_slack(s, problem, options);
    if (s->direct) {
        status = choose_inside(s, problem, options, warm, v, p, report, &done);
    }
    if (status != PERP_OK || done || s->stuck || (s->direct && is_stopped(report))) {
        return status;
    }
    s->direct = space && problem->row_count > s->set.predicted;
    set_slack(s, problem, options);
    status = search_choices(s, problem, options, warm, v, p, report);
    if (status == PERP_OK && s->direct && problem->row_count <= SECOND_ROWS &&
        report->outcome != PERP_OUTCOME_SOLVED && !is_stopped(report)) {
        s->direct = false;
        set_slack(s, problem, options);
        return_to_guess(problem, s->guess, v, p);
        status = search_choices(s, problem, options, warm, v, p, report);
    }
    return status;
}

const perp_method perpi_method_switching = {
    .name = "switching",
    .summary = "groups of contacts: chooses the member that acts, solves the rest with auto, "
               "revises the choice",
    .takes = PERP_TAKES_NONE | PERP_TAKES_POLYGON | PERP_TAKES_QUADRATIC | PERP_TAKES_ELLIPSOID |
             PERP_TAKES_GROUPS,
    .settings_size = sizeof(perpi_switching_settings),
    .settings = switching_setting,
    .settings_count = sizeof switching_setting / sizeof switching_setting[0],
    .settings_default = switching_settings_default,
    .create = switching_create,
    .destroy = switching_destroy,
    .grouped = switching_solve,
};
