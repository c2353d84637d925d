/* src/sim/step.c - one step, from a state to a trial of the next [B09 4.1]:
 *
 *   1  collision detection with the state            perpi_find_contacts
 *   2  the stepper formulates the problem             stepper->solve
 *   3  the solver solves it                           perp_contact_solve, called there
 *   4  the state is advanced with the solution        perpi_advance_and_correct
 *
 * These are repeated if the solution shows that contacts were missing, or if there is none with
 * these contacts. The initial state is only read.
 */
#include <stdio.h>
#include <string.h>

#include "problem/operators.h"
#include "sim/internal.h"
#include "solve/report.h"
#include "step/force_rows.h"

enum {
    MAX_ROUNDS = 8,     /* solves with larger margins */
    MAX_CROSSINGS = 12, /* solves with contacts from the side check */
};

/* ---- checks of the solution ------------------------------------------------------------------ */

static int32_t count_active(const perpi_contact_list* list)
{
    int32_t active = 0;
    for (size_t i = 0; i < list->count; ++i) {
        active += list->item[i].impulse[0] > 0.0;
    }
    return active;
}

/* Largest overlap at the start of the step beyond soft layers; for a group that of the most open
 * member, unless that one matters only at the end. */
static double find_deepest(const perpi_step* step)
{
    const perp_contact_problem* P = &step->formulation->problem;
    double deepest = perpi_collider_deepest(step->collider);
    deepest = step->kept.deepest > deepest ? step->kept.deepest : deepest;
    for (size_t i = 0; i < step->to->contacts.count; ++i) {
        const perp_contact* c = &step->to->contacts.item[i];
        const double depth = -c->gap - c->layer.start[0]; /* a layer may be compressed */
        deepest = c->group == 0 && depth > deepest ? depth : deepest;
    }
    for (int32_t g = 0; g < P->group_count; ++g) {
        double most = -INFINITY;
        for (int32_t k = 0; k < P->group[g].count; ++k) {
            const double gap = step->to->contacts.item[P->group[g].member[k]].gap;
            most = gap > most ? gap : most;
        }
        deepest = -most > deepest ? -most : deepest;
    }
    return deepest;
}

static perp_status refuse_crossing(perpi_step* step, const perpi_broad_pair* pair)
{
    return perpi_fail(
        step->context, PERP_ERROR_SOLVE,
        "step %lld (t = %.9g): body '%.60s' would pass through body '%.60s', also after "
        "%d more solves with contacts that keep them apart; use a smaller step",
        (long long)step->from->step + 1, step->from->time, step->model->body[pair->body_b].name,
        step->model->body[pair->body_a].name, (int)step->attempts.crossings);
}

/* Explains the failure of a solve with the constraints of the side check. */
static perp_status explain_crossing(perpi_step* step, const perpi_broad_pair* pair)
{
    char why[640];
    (void)snprintf(why, sizeof why, "%s", perp_context_error(step->context));
    return perpi_fail(
        step->context, PERP_ERROR_SOLVE,
        "%.600s (body '%.60s' would pass through body '%.60s', and this solve had the "
        "contacts that keep them apart; use a smaller step)",
        why, step->model->body[pair->body_b].name, step->model->body[pair->body_a].name);
}

/* After a solve. *again: with simpler contacts, because there is no solution, or with larger
 * margins, because a body moved further. */
static perp_status review_answer(perpi_step* step, perp_status solved, bool* again)
{
    perpi_attempts* a = &step->attempts;
    perp_status status = solved;
    a->simpler = false;
    if (status == PERP_OK || status == PERP_ERROR_SOLVE) {
        const bool found = step->report.outcome == PERP_OUTCOME_SOLVED;
        const perp_status tried =
            found ? perpi_leave_switch(step, &a->simpler) : perpi_fall_back(step, &a->simpler);
        a->simpler = a->simpler || (tried == PERP_OK && found && perpi_slow_push(step));
        if (tried != PERP_OK || a->simpler) {
            *again = a->simpler;
            return tried;
        }
    }
    if (status == PERP_OK && step->report.outcome != PERP_OUTCOME_SOLVED &&
        perpi_missing_points(step)) {
        status = PERP_ERROR_SOLVE; /* also with keep_going: simpler contacts come first */
    }
    a->rounds += 1;
    *again = status == PERP_OK && a->rounds < a->first_round + MAX_ROUNDS &&
             !step->stepper->touching && !(step->error > 0.0) &&
             step->stepper->evaluation != PERPI_EVALUATE_GEOMETRY && /* found contacts at the end
                                                                        already */
             perpi_margins_exceeded(step, step->h, step->to->v);
    return status;
}

/* The next solve has other contacts of the side check. */
static void reset_attempt(perpi_step* step)
{
    step->attempts.first_round = step->attempts.rounds;
    step->attempts.simpler = false;
    step->attempts.iterations = step->report.iterations;
}

/* After an attempt. *again: with contacts from the side check; or with the simplest of these,
 * where there was no solution. */
static perp_status review_motion(perpi_step* step, perp_status tried, perpi_broad_pair* crossed,
                                 bool* again)
{
    perpi_attempts* a = &step->attempts;
    step->report.iterations += a->iterations;
    if (tried == PERP_ERROR_SOLVE && a->crossings > 0) {
        const perp_status status = perpi_missing_balls(step, again);
        a->fallbacks = *again ? 0 : a->fallbacks;
        reset_attempt(step);
        return status != PERP_OK ? status : *again ? PERP_OK : explain_crossing(step, crossed);
    }
    if (tried != PERP_OK) {
        return tried;
    }
    step->deepest = find_deepest(step);
    if (step->error > 0.0 || step->filter->without) {
        return PERP_OK; /* these are only compared */
    }
    const perpi_sim_passage* passage = NULL;
    const perp_status status = perpi_check_sides(step, step->h, step->deepest, &passage);
    if (status == PERP_ERROR_SOLVE && a->crossings > 0) {
        return explain_crossing(step, crossed);
    }
    if (status != PERP_OK || passage == NULL) {
        return status;
    }
    *crossed = passage->pair;
    if (a->crossings == MAX_CROSSINGS) {
        return refuse_crossing(step, crossed);
    }
    a->crossings += 1;
    *again = true;
    reset_attempt(step);
    return PERP_OK;
}

/* ---- the step --------------------------------------------------------------------------------------*/

static perp_status add_missing_at_end(perpi_step* step, perpi_contact_list* list)
{
    return step->sides->missing_count > 0
               ? perpi_add_missing(step, step->from->time + step->h, step->h, true, list)
               : PERP_OK;
}

void perpi_step_bind(perpi_step* step, const perpi_state* from, double h,
                     const perpi_filter* filter, perpi_trial* to)
{
    step->from = from;
    step->posed = NULL;
    step->to = &to->state;
    step->trial = to;
    step->h = h;
    step->filter = filter;
    step->accept_unsolved = filter->accept_unsolved;
    step->add_at_end = add_missing_at_end;
    to->state.step = from->step;
    to->state.tick = from->tick;
    to->state.time = from->time + h;
    to->state.h_last = h;
    to->state.after_impact = false;
    to->state.impacts_in_a_row = 0;
}

static perp_status begin_step(perpi_step* step)
{
    step->attempts = (perpi_attempts){0};
    step->impact->failed = false;
    step->outer.iterations = step->outer.spent = 0;
    step->equilibrium.indeterminacy = 0;
    step->residual = (perp_contact_residual){0};
    perpi_report_begin(&step->report, NULL);
    step->deepest = 0.0;
    step->exception.count = 0;
    step->sides->missing_count = 0;
    step->kept = (perpi_kept_overlap){.body_a = -1, .body_b = -1};
    perpi_collider_set_rule(step->collider, step->contact_model->rule, NULL, 0);
    perpi_step_poses(step, step->from->q);
    perpi_start_from(step);
    perpi_joint_inputs(step);
    return perpi_find_margins(step, step->h);
}

/* The rest of the next state, the records of the step, and its accounts. */
static perp_status finish_step(perpi_step* step)
{
    const perpi_attempts* a = &step->attempts;
    perp_step_info* info = step->trial->info;
    perp_status status = perpi_complete_state(step);
    if (status != PERP_OK) {
        return status;
    }
    if (step->s_size > 0) {
        perpi_forces_remember(step->formulation, step->model, step->h, step->v_problem,
                              step->p_problem, step->from->memory, step->to->memory);
    }
    if (step->offset_at >= 0) { /* the poses contain it now */
        memset(step->to->memory + step->offset_at, 0,
               (size_t)perpi_offset_size(step->model) * sizeof *step->to->memory);
    }
    const bool finite = perpi_all_finite((size_t)step->q_size, step->to->q);
    for (int32_t i = 0; i < step->q_size && !finite; ++i) {
        if (!isfinite(step->to->q[i])) {
            return perpi_fail(step->context, PERP_ERROR_NUMERIC,
                              "step %lld (t = %.9g): body '%s' has left the range of numbers",
                              (long long)step->from->step + 1, step->from->time,
                              step->model->body[i / perpi_q_stride(step->model)].name);
        }
    }
    /* every member, but those of perpi_account: it is too long to be cleared before */
    info->certificate = step->residual;
    info->report = step->report;
    info->candidates = (int32_t)step->to->contacts.count;
    info->contacts = count_active(&step->to->contacts);
    info->penetration = step->deepest;
    info->kind = PERP_STEP_TIME;
    info->impacts_in_a_row = info->unsolved_impact = 0;
    info->restitution_kept = 0.0;
    info->rounds = a->rounds;
    info->looks = step->outer.iterations;
    info->corrections = a->corrections;
    info->moves = a->moves;
    info->fallbacks = a->fallbacks + perpi_collider_overflow(step->collider);
    info->freedom = step->equilibrium.indeterminacy;
    info->crossings = a->crossings;
    info->joints_kept = step->kept.joints ? 1 : 0;
    info->semi_implicit = step->stepper == step->second ? 1 : 0;
    info->accepted_unsolved = step->report.outcome != PERP_OUTCOME_SOLVED;
    perpi_joint_measure(step->model, step->to->q, step->to->joint, info->joint_error);
    return perpi_account(step, step->formulation, step->h);
}

static perp_status take_step(perpi_step* step)
{
    perpi_broad_pair crossed = {0};
    bool again = true;
    perp_status status = begin_step(step);
    while (status == PERP_OK && again) {
        bool same = false;
        again = false;
        status = perpi_find_contacts(step, &same); /* 1 */
        if (status == PERP_OK && !same) {
            status = step->stepper->solve(step); /* 2 and 3 */
            status = review_answer(step, status, &again);
        }
        if (status == PERP_OK && !again) {
            status = perpi_advance_and_correct(step, &again); /* 4 */
        }
        if (!again) {
            status = review_motion(step, status, &crossed, &again);
        }
    }
    return status == PERP_OK ? finish_step(step) : status;
}

/* The laws of implicit and geometric-implicit hold at the end of the step, which is found by an
 * outer iteration. It may not exist: a corner that is pushed off one face of a body onto
 * another, and back; more bodies in a gap than fit into it. The semi-implicit step of Stewart
 * and Trinkle is the first guess of the iteration. Its laws are linearised about the start of
 * the step, so one problem is enough, and it is of first order too. So a step whose outer
 * iteration fails is replaced by a semi-implicit one, with the same contact model and its
 * fallbacks. perp_step_info.semi_implicit records this, so that the verifier checks the laws
 * that were used. With keep_going, of two steps without a solution the semi-implicit one has the
 * smaller residual. */
static bool use_second(perpi_step* step, const perpi_stepper_ops* stepper, char first[400],
                       perp_status* status)
{
    if (*status != PERP_ERROR_SOLVE || step->second == NULL) {
        return false;
    }
    char why[512];
    (void)snprintf(why, sizeof why, "%s", perp_context_error(step->context));
    if (step->stepper == step->second) {
        *status = perpi_fail(step->context, PERP_ERROR_SOLVE,
                             "%.500s (a step of %s, after one of %s had failed: %.400s)", why,
                             step->second->name, stepper->name, first);
        return false;
    }
    (void)snprintf(first, 400, "%.399s", why);
    if (step->on_fallback != NULL && step->has_problem) { /* for a caller that saves problems */
        step->on_fallback(step->on_fallback_user, &step->formulation->problem, -1, -1,
                          step->second->name);
    }
    step->stepper = step->second;
    return true;
}

perp_status perpi_try_step(perpi_step* step, const perpi_stepper_ops* stepper,
                           const perpi_state* from, double h, const perpi_filter* filter,
                           perpi_trial* to)
{
    perp_status status;
    char first[400];
    first[0] = '\0';
    perpi_step_bind(step, from, h, filter, to);
    step->stepper = stepper;
    if (step->second != NULL && filter->accept_unsolved) {
        (void)snprintf(first, sizeof first, "%s", perp_context_error(step->context));
        step->stepper = step->second;
    }
    do {
        status = take_step(step);
    } while (use_second(step, stepper, first, &status));
    return status;
}
