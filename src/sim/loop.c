/* src/sim/loop.c - one step: collide, contacts, formulate, solve, judge, advance.
 *
 * Everything is worked out beside the state and taken over at the end, so that a step that fails
 * leaves the state as it was.
 */
#include <stdio.h>
#include <string.h>

#include "sim/internal.h"
#include "step/force_rows.h"
#include "step/joint_rows.h"
#include "step/layers.h"
#include "step/repair.h"

enum {
    MAX_ROUNDS = 8,
    MANY_FALLBACKS = 4, /* of single pairs in a step */
    MAX_CORRECTIONS = 20,
    MANY_LOOKS = 10,
    MAX_LOOKS = 200,
    STEP_LOOKS = 300, /* of all attempts at a step together; */
    LOOK_CROWD = 50,  /* one with more rows than this for each velocity counts more than once, */
    LOOK_ITERATIONS = 100, /* and so does one whose solve takes more iterations */
    LATE_LOOKS = 80,
    TURN_LOOKS = 20,
    MAX_REVISIONS = 40,
    MAX_CROSSINGS = 12,
};
/* Looking at the end of the step: the certificate of its laws, at which to stop at once, and at which
 * to stop when looking again no longer halves it (after many looks: the scene's tolerance). */
static const double LOOK_GOAL = 1e-12;
static const double LOOK_ENOUGH = 1e-10;
/* Once velocities change by less than this, mixing them only adds its own rounding. */
static const double LOOK_STILL = 1e-10;
/* Answers are mixed from the first round on that leaves more than this part of the certificate; what
 * goes up and down below the second is the solver's rounding, not slowness. */
static const double LOOK_SLOW = 0.2;
static const double LOOK_NOISE = 1e-7;
/* Late iterations: of the scene's tolerance, the part that each solve is asked for. */
static const double LATE_PART = 0.1;
/* Of the size of a body: points of contacts that are closer than this to a particle are its own. */
static const double ROUNDING_OF_POINTS = 1e-9;

/* Impulses of the same features in another list. */
static void carry_impulses(const perpi_contact_list* from, perpi_contact_list* to)
{
    size_t old = 0;
    for (size_t i = 0; i < to->count; ++i) {
        perp_contact* contact = &to->item[i];
        while (old < from->count && perpi_contact_before(&from->item[old], contact)) {
            old += 1;
        }
        if (old < from->count && from->item[old].key == contact->key) {
            memcpy(contact->impulse, from->item[old].impulse, sizeof contact->impulse);
        }
    }
}

/* The same features in the same groups as in the round before? Then a larger margin has found
 * nothing new. */
static bool same_touches(const perpi_contact_list* list, const perpi_touch* touch, size_t count)
{
    if (list->count != count) {
        return false;
    }
    for (size_t i = 0; i < count; ++i) {
        if (list->item[i].key != perpi_touch_key(&touch[i]) ||
            (list->item[i].group != 0) != (touch[i].group != 0)) {
            return false;
        }
    }
    return true;
}

/* ", furthest off between 'a' and 'b'", or in a joint; "" where it is neither. */
static void name_worst(const perp_sim* sim, const perp_contact_residual* residual, char where[256])
{
    const int32_t worst = residual->worst_constraint;
    const perpi_formulation* f = sim->formulation;
    where[0] = '\0';
    if (worst >= f->contact_count && worst < f->contact_count + f->joint_count) {
        const int32_t joint = f->place[worst - f->contact_count].joint;
        snprintf(where, 256, ", furthest off in joint '%.120s'", sim->model->joint[joint].name);
    } else if (worst >= 0 && (size_t)worst < sim->next.count) {
        const perp_contact* contact = &sim->next.item[worst];
        snprintf(where, 256, ", furthest off between '%.60s' and '%.60s'",
                 sim->model->body[contact->body_a].name, sim->model->body[contact->body_b].name);
    }
}

/* Of a residual in the dynamics: the two bodies of the largest impulse. */
static void name_largest(const perp_sim* sim, char where[256])
{
    const perp_contact* largest = NULL;
    for (size_t i = 0; i < sim->next.count; ++i) {
        const perp_contact* c = &sim->next.item[i];
        largest = largest == NULL || c->impulse[0] > largest->impulse[0] ? c : largest;
    }
    if (largest != NULL) {
        snprintf(where, 256, ", with the largest impulse between '%.60s' and '%.60s'",
                 sim->model->body[largest->body_a].name, sim->model->body[largest->body_b].name);
    }
}

static perp_status diagnose(perp_sim* sim, const perp_report* report,
                            const perp_contact_residual* residual)
{
    char where[256];
    name_worst(sim, residual, where);
    char why[160] = "", jam[320];
    perpi_sim_name_jam(sim, jam);
    if (residual->runaway > 0.0) {
        snprintf(why, sizeof why,
                 " by impulses %.0e times the motion they act on: the constraints contradict each "
                 "other",
                 residual->runaway);
    } else if (report->outcome == PERP_OUTCOME_NO_SOLUTION && !sim->stepper->settles) {
        snprintf(why, sizeof why, ": the constraints contradict each other");
    }
    return perpi_fail(
        sim->context, PERP_ERROR_SOLVE,
        "step %lld (t = %.9g): the problem of %d contacts and %d joints was not solved: %s ended "
        "with '%s' after %d iterations, residual %.3g (dynamics %.1e, normal %.1e, "
        "friction %.1e, joints %.1e)%s%s%s%s%s",
        (long long)sim->step + 1, sim->time, (int)sim->next.count, (int)sim->model->joint_count,
        report->solver, perp_outcome_name(report->outcome), (int)report->iterations,
        residual->worst, residual->dynamics, residual->normal, residual->friction, residual->joints,
        where, why, report->detail[0] != '\0' ? ": " : "", report->detail, jam);
}

static double solve_tolerance(const perp_sim* sim);
static perp_status solve(perp_sim* sim, double tolerance, perp_contact_residual* residual,
                         perp_report* report);
static perp_status accept(perp_sim* sim, const perp_contact_residual* residual,
                          const perp_report* report);
static size_t exception_of(const perp_sim* sim, int32_t a, int32_t b);

/* In the first round the end of the step is not known yet: it is taken to be the start. */
static perpi_step_input step_input(const perp_sim* sim, double h)
{
    return (perpi_step_input){.model = sim->model,
                              .t = sim->time,
                              .h = h,
                              .q = sim->q_from,
                              .v = sim->v_from,
                              .extra = sim->has_extra ? sim->extra : NULL,
                              .contact = sim->next.item,
                              .contact_count = (int32_t)sim->next.count,
                              .joint = sim->input,
                              .s = sim->s,
                              .q_end = sim->q_from,
                              .v_end = sim->v_from,
                              .settings = &sim->step_settings};
}

static perp_status formulate_once(perp_sim* sim, double h, perp_contact_residual* residual,
                                  perp_report* report)
{
    perpi_formulation* f = sim->formulation;
    const perpi_step_input in = step_input(sim, h);
    perp_status status = sim->stepper->formulate(f, &in);
    if (status == PERP_OK) {
        status = perpi_sim_room(sim, (size_t)f->problem.dof_count, (size_t)f->problem.row_count);
    }
    if (status != PERP_OK) {
        return status;
    }
    sim->has_problem = true;
    perpi_formulation_gather_v(f, sim->model, sim->v, sim->v_problem);
    perpi_formulation_gather_p(f, sim->next.item, sim->p_problem);
    perpi_formulation_gather_joints(f, sim->joint, sim->p_problem);
    perpi_forces_gather(f, sim->model, sim->s, sim->p_problem);
    perpi_layers_gather(f, sim->model, sim->v, sim->next.item, sim->v_problem, sim->p_problem);
    if (!sim->stepper->settles) {
        return solve(sim, solve_tolerance(sim), residual, report);
    }
    status = perpi_sim_settle(sim, &in, residual, report);
    return status == PERP_OK ? accept(sim, residual, report) : status;
}

/* Midpoint steps of soft layers are solved again where the answer says that a layer was touched or
 * left on the way. Another round changes little by then, so a few are enough. */
static perp_status formulate_and_solve(perp_sim* sim, double h, perp_contact_residual* residual,
                                       perp_report* report)
{
    perp_status status = formulate_once(sim, h, residual, report);
    for (int i = 0; i < MAX_REVISIONS && status == PERP_OK && sim->step_settings.midpoint; ++i) {
        if (!perpi_layers_revise(sim->formulation, sim->model, sim->v_problem, sim->p_problem,
                                 sim->next.item)) {
            break;
        }
        const int32_t iterations = report->iterations;
        status = formulate_once(sim, h, residual, report);
        report->iterations += iterations;
    }
    return status;
}

/* What a solve leaves open, looking again would find again. */
static double solve_tolerance(const perp_sim* sim)
{
    const bool sharp = sim->stepper->look != PERPI_LOOK_START && LOOK_GOAL < sim->def.tolerance;
    return sharp ? LOOK_GOAL : sim->def.tolerance;
}

/* The formulated problem, from the point at hand. An answer that misses a tolerance below the scene's is
 * taken if it meets the scene's. */
static perp_status solve(perp_sim* sim, double tolerance, perp_contact_residual* residual,
                         perp_report* report)
{
    perpi_formulation* f = sim->formulation;
    perp_solve_options options = perp_solve_options_default();
    options.tolerance = tolerance;
    options.enough =
        tolerance < LOOK_ENOUGH && LOOK_ENOUGH < sim->def.tolerance ? LOOK_ENOUGH : 0.0;
    options.cancel = sim->cancel;
    options.user = sim->cancel_user;
    const perp_status status = perp_contact_solve(sim->solver, &f->problem, &options, true,
                                                  sim->v_problem, sim->p_problem, residual, report);
    if (status != PERP_OK) {
        return status;
    }
    if (tolerance < sim->def.tolerance && report->outcome != PERP_OUTCOME_CANCELLED &&
        residual->worst <= sim->def.tolerance) {
        report->outcome = PERP_OUTCOME_SOLVED;
    }
    return accept(sim, residual, report);
}

/* Takes the answer over, if it is one. */
static perp_status accept(perp_sim* sim, const perp_contact_residual* residual,
                          const perp_report* report)
{
    perpi_formulation* f = sim->formulation;
    perpi_formulation_scatter_p(f, sim->p_problem, sim->next.item);
    perpi_layers_scatter(f, sim->v_problem, sim->p_problem, sim->next.item);
    perpi_formulation_scatter_joints(f, sim->model, sim->p_problem, sim->joint_next);
    /* asked again: the judge may have passed the point that a cancelled method left behind */
    const bool cancelled = sim->cancel != NULL && sim->cancel(sim->cancel_user);
    if (report->outcome == PERP_OUTCOME_CANCELLED || cancelled) {
        return perpi_fail(sim->context, PERP_ERROR_CANCELLED, "step %lld (t = %.9g): cancelled",
                          (long long)sim->step + 1, sim->time);
    }
    if (report->outcome != PERP_OUTCOME_SOLVED && !sim->take_unsolved) {
        return diagnose(sim, report, residual);
    }
    for (int32_t i = 0; i < f->problem.dof_count; ++i) {
        if (!isfinite(sim->v_problem[i])) {
            return diagnose(sim, report, residual); /* not even keep_going takes this */
        }
    }
    memcpy(sim->v_next, sim->v, (size_t)sim->v_size * sizeof *sim->v);
    perpi_formulation_scatter_v(f, sim->model, sim->v_problem, sim->v_next);
    return PERP_OK;
}

static perp_status advance(perp_sim* sim, double h)
{
    memcpy(sim->q_next, sim->q_from, (size_t)sim->q_size * sizeof *sim->q);
    if (perpi_sim_offset(sim) != NULL) {
        perpi_displace(sim->model, perpi_sim_offset(sim), false, sim->q_next);
    }
    const perpi_step_input in = step_input(sim, h);
    return sim->stepper->advance(&in, sim->q_next, sim->v_next);
}

/* How well a contact tells on which side of each other its bodies are: best if it acts. A member of a group that
 * does not act need not tell at all: one corner is beyond another face, while the bodies meet at this one. */
static int tells_side(const perp_contact* c)
{
    return c->impulse[0] > 0.0 ? 2 : c->group == 0 ? 1 : 0;
}

/* Of two contacts that tell equally well: where both are open and idle the bodies meet at the closer one. */
static bool tells_more(const perp_contact* c, int tells, double gap)
{
    return tells == 1 && c->gap >= 0.0 && gap >= 0.0 ? c->gap < gap : c->gap > gap;
}

/* On which side of each other the pairs of a list are: the normal of the contact of each that tells best. */
static perp_status remember_sides(perp_sim* sim, const perpi_contact_list* list)
{
    sim->side_count = 0;
    const perp_status status =
        perpi_grow(sim->context, &sim->side, &sim->side_capacity, list->count, sizeof *sim->side);
    double most = 0.0;
    int told = 0;
    for (size_t i = 0; i < list->count && status == PERP_OK; ++i) {
        const perp_contact* c = &list->item[i];
        const int tells = tells_side(c);
        const perpi_touch_side side = {c->body_a, c->body_b, perpi_key_shape_a(c->key),
                                       perpi_key_shape_b(c->key), v3_from(c->normal)};
        perpi_touch_side* last = sim->side_count > 0 ? &sim->side[sim->side_count - 1] : NULL;
        if (last == NULL || last->body_a != side.body_a || last->body_b != side.body_b ||
            last->shape_a != side.shape_a || last->shape_b != side.shape_b) {
            sim->side[sim->side_count++] = side;
            most = c->gap;
            told = tells;
        } else if (tells == told ? tells_more(c, tells, most) : tells > told) {
            *last = side;
            most = c->gap;
            told = tells;
        }
    }
    return status;
}

/* The contacts at the end of the step, with the impulses of the round before. */
static perp_status collide_at_end(perp_sim* sim, double h)
{
    const perp_model* model = sim->model;
    const perpi_touch* touch;
    size_t count;
    for (int32_t i = 0; i < (int32_t)model->body_count; ++i) {
        sim->pose[i] = perpi_state_pose(model, sim->q_next, i);
    }
    perpi_collider_set_sides(sim->collider, sim->side, sim->side_count, true);
    perp_status status = perpi_collide(sim->collider, sim->pose, sim->margin, &touch, &count);
    perpi_collider_set_sides(sim->collider, NULL, 0, false);
    sim->looked.count = 0;
    sim->looked.groups = 0;
    if (status == PERP_OK) {
        status = sim->contact_model->build(model, &sim->rules, sim->time + h, sim->pose, touch,
                                           count, &sim->looked);
    }
    if (status == PERP_OK && sim->sides.missing_count > 0) {
        status = perpi_sim_add_missing(sim, sim->time + h, h, true, &sim->looked);
    }
    perpi_sim_poses(sim);
    if (status != PERP_OK) {
        return status;
    }
    carry_impulses(&sim->next, &sim->looked);
    const perpi_contact_list list = sim->next;
    sim->next = sim->looked;
    sim->looked = list;
    return PERP_OK;
}

/* The problem at the end that the last answer led to, and how well that answer satisfies it. */
static perp_status look_again(perp_sim* sim, double h, perp_contact_residual* residual)
{
    perpi_formulation* f = sim->formulation;
    perpi_forces_remember(f, sim->model, h, sim->v_problem, sim->p_problem, sim->s, sim->s_next);
    perp_status status = advance(sim, h);
    if (status == PERP_OK && sim->stepper->look == PERPI_LOOK_GEOMETRY) {
        status = collide_at_end(sim, h);
    }
    perpi_step_input in = step_input(sim, h);
    in.q_end = sim->q_next;
    in.v_end = sim->v_next;
    if (status == PERP_OK) {
        status = sim->stepper->formulate(f, &in);
    }
    if (status == PERP_OK) {
        status = perpi_sim_room(sim, (size_t)f->problem.dof_count, (size_t)f->problem.row_count);
    }
    if (status == PERP_OK) {
        status = perpi_grow(sim->context, &sim->judged, &sim->judged_capacity,
                            perp_contact_residual_work(&f->problem), sizeof(double));
    }
    if (status != PERP_OK) {
        return status;
    }
    perpi_formulation_gather_v(f, sim->model, sim->v_next, sim->v_problem);
    perpi_formulation_gather_p(f, sim->next.item, sim->p_problem);
    perpi_formulation_gather_joints(f, sim->joint_next, sim->p_problem);
    perpi_forces_gather(f, sim->model, sim->s_next, sim->p_problem);
    *residual = perp_contact_judge(&f->problem, sim->v_problem, sim->p_problem, sim->judged);
    return PERP_OK;
}

/* Whether the last solve left the velocities that it was formulated at, but for rounding. */
static bool moves_little(const perp_sim* sim)
{
    double change = 0.0, size = 0.0;
    for (int32_t i = 0; i < sim->v_size; ++i) {
        const double w = sim->mix.weight[i], d = w * (sim->v_next[i] - sim->v_looked[i]);
        change += d * d;
        size += w * sim->v_next[i] * (w * sim->v_next[i]);
    }
    return change <= LOOK_STILL * LOOK_STILL * size;
}

/* Whether contacts are left that fall_back() would give to a simpler model. */
static bool can_fall_back(const perp_sim* sim)
{
    if (sim->formulation->problem.group_count > 0) {
        return true;
    }
    if (sim->stepper->look != PERPI_LOOK_GEOMETRY || !perpi_sim_grouped(sim)) {
        return false;
    }
    for (size_t i = 0; i < sim->next.count; ++i) {
        const uint64_t key = sim->next.item[i].key;
        const size_t at = exception_of(sim, perpi_key_shape_a(key), perpi_key_shape_b(key));
        if (at == sim->exception_count || sim->exception[at].rule != PERPI_TOUCH_PLAIN) {
            return true;
        }
    }
    return false;
}

/* The velocities that a late iteration (below) formulates the problem at next. late: iterations since it
 * became one. The three rules take turns: the answer itself, which converges where the end of the step
 * depends weakly on it; part of the way to it, where contacts alternate between features; mixing from
 * scratch, where forces are stiff or bodies turn far in a step. */
static void update_late(perp_sim* sim, int32_t late)
{
    const int32_t turn = late / TURN_LOOKS;
    if (late % TURN_LOOKS == 0) {
        perpi_mix_forget(&sim->mix);
    }
    if (turn % 3 == 1) {
        const double part = turn == 1 ? 0.5 : 0.25;
        for (int32_t i = 0; i < sim->v_size; ++i) {
            sim->v_next[i] = sim->v_looked[i] + part * (sim->v_next[i] - sim->v_looked[i]);
        }
    } else if (turn % 3 == 2 && !moves_little(sim)) {
        perpi_mix_next(&sim->mix, sim->v_looked, sim->v_next, sim->v_next);
    }
}

/* For steppers that look at the end of the step: solve, look, and solve again, until the answer
 * satisfies the laws as they are where it leads. Where that goes slowly or not at all (stiff forces),
 * the answers are mixed (mix.h). The certificate is that of the last look: what a
 * verifier finds with the recorded end of the step.
 *
 * More contacts than determine the impulses (a face that slides on a floor) have many answers, which differ
 * in the torque of friction and so in the velocities. A solver that is asked for the last digit may return
 * another one from almost the same problem, and mixing answers of different branches does not converge. So
 * an iteration that met the tolerance once and lost it again, or that takes long, is a late one: it asks
 * for less in each solve, which then stays near its first guess, accepts the first residual within the
 * tolerance, and updates velocities by update_late(). Not while a simpler contact model is left to try.
 *
 * spent: looks of this step so far; an expensive one counts as several. */
static perp_status look_until_it_holds(perp_sim* sim, double h, perp_contact_residual* residual,
                                       perp_report* report, int32_t* looks, int32_t* spent)
{
    const perp_contact_problem* P = &sim->formulation->problem;
    double before = INFINITY, least = INFINITY;
    bool slow = false, plain = true, still = false; /* plain: rounds without mixing are of use */
    int32_t late = 0;                               /* the first late iteration; 0: none yet */
    perpi_mix_forget(&sim->mix);
    for (*looks = 1;; *looks += 1) {
        perp_status status = look_again(sim, h, residual);
        if (status != PERP_OK) {
            return status;
        }
        report->residual = residual->worst;
        const double worst = residual->worst;
        const double enough = *looks < MANY_LOOKS ? LOOK_ENOUGH : sim->def.tolerance;
        if (late == 0 && (*looks >= LATE_LOOKS || (*looks >= MANY_LOOKS && least <= enough)) &&
            !can_fall_back(sim)) {
            late = *looks;
        }
        least = worst < least ? worst : least;
        if (worst <= LOOK_GOAL || (worst <= enough && (late > 0 || worst > 0.5 * before))) {
            report->outcome = PERP_OUTCOME_SOLVED;
            return PERP_OK;
        }
        *spent += 1 + P->row_count / (LOOK_CROWD * (P->dof_count > 0 ? P->dof_count : 1));
        if (*looks == MAX_LOOKS || *spent >= STEP_LOOKS) {
            break;
        }
        slow = slow || (worst > LOOK_SLOW * before && worst > LOOK_NOISE);
        plain = plain && !(still && worst > before);
        before = worst;
        memcpy(sim->v_looked, sim->v_next, (size_t)sim->v_size * sizeof *sim->v_looked);
        const int32_t iterations = report->iterations;
        const double part = LATE_PART * sim->def.tolerance, goal = solve_tolerance(sim);
        status = solve(sim, late > 0 && part > goal ? part : goal, residual, report);
        *spent += report->iterations / LOOK_ITERATIONS;
        report->iterations += iterations;
        if (status != PERP_OK) {
            return status;
        }
        still = plain && moves_little(sim);
        if (late > 0) {
            update_late(sim, *looks - late);
        } else if (slow && !still) {
            perpi_mix_next(&sim->mix, sim->v_looked, sim->v_next, sim->v_next);
        }
    }
    if (residual->worst <= sim->def.tolerance || sim->take_unsolved) {
        report->outcome =
            residual->worst <= sim->def.tolerance ? PERP_OUTCOME_SOLVED : PERP_OUTCOME_MAX_ITER;
        return PERP_OK;
    }
    report->outcome = PERP_OUTCOME_MAX_ITER; /* groups may fall back */
    char where[256];
    name_worst(sim, residual, where);
    if (where[0] == '\0') {
        name_largest(sim, where);
    }
    return perpi_fail(
        sim->context, PERP_ERROR_SOLVE,
        "step %lld (t = %.9g): the laws at the end of the step do not hold after %d iterations "
        "(residual %.3g: dynamics %.1e, normal %.1e, friction %.1e, joints %.1e%s); a smaller step "
        "may help",
        (long long)sim->step + 1, sim->time, (int)*looks, residual->worst, residual->dynamics,
        residual->normal, residual->friction, residual->joints, where);
}

/* The point and the problem that correct() kept. */
static void take_back(perp_sim* sim, size_t dofs, size_t rows)
{
    perpi_formulation* f = sim->formulation;
    memcpy(sim->v_problem, sim->keep, dofs * sizeof(double));
    memcpy(sim->p_problem, sim->keep + dofs, rows * sizeof(double));
    memcpy(f->b, sim->keep + dofs + rows, rows * sizeof(double));
    perpi_formulation_scatter_p(f, sim->p_problem, sim->next.item);
    perpi_layers_scatter(f, sim->v_problem, sim->p_problem, sim->next.item);
    perpi_formulation_scatter_joints(f, sim->model, sim->p_problem, sim->joint_next);
    memcpy(sim->v_next, sim->v, (size_t)sim->v_size * sizeof *sim->v);
    perpi_formulation_scatter_v(f, sim->model, sim->v_problem, sim->v_next);
}

/* Room for, and copy of, the answer at hand and its b. */
static perp_status keep_answer(perp_sim* sim)
{
    const perpi_formulation* f = sim->formulation;
    const size_t dofs = (size_t)f->problem.dof_count, rows = (size_t)f->problem.row_count;
    const perp_status status =
        perpi_grow(sim->context, &sim->keep, &sim->keep_capacity, dofs + 2 * rows, sizeof(double));
    if (status == PERP_OK) {
        memcpy(sim->keep, sim->v_problem, dofs * sizeof(double));
        memcpy(sim->keep + dofs, sim->p_problem, rows * sizeof(double));
        memcpy(sim->keep + dofs + rows, f->b, rows * sizeof(double));
    }
    return status;
}

/* [W14 algorithm 1], position level: as long as the joints are apart at the end of the step, the
 * step is solved again with what they lack in b. The laws of contacts, friction and motors hold in
 * every solve: no body is pushed into its neighbour, and nothing slips that should stick. The
 * Jacobians stay those of the start of the step, which is what keeps the energy. Velocity level:
 * complete_state. */
static perp_status correct(perp_sim* sim, double h, perp_contact_residual* residual,
                           perp_report* report, int32_t* corrections)
{
    perpi_formulation* f = sim->formulation;
    const size_t dofs = (size_t)f->problem.dof_count, rows = (size_t)f->problem.row_count;
    const perp_contact_residual first = *residual;
    const perp_report first_report = *report;
    double before = INFINITY;
    perp_status status = keep_answer(sim);
    while (status == PERP_OK) {
        const double error =
            perpi_formulation_error(f, sim->model, sim->q_next, sim->input, sim->p_problem);
        if (error <= PERPI_CORRECTION_GOAL ||
            (error <= PERPI_CORRECTION_ENOUGH && error > 0.5 * before)) {
            break;
        }
        if (!(error < 0.5 * before) || *corrections == MAX_CORRECTIONS) {
            /* the links turn too far in a step for this: the plain step, then projected poses */
            const int32_t iterations = report->iterations;
            take_back(sim, dofs, rows);
            *residual = first;
            *report = first_report;
            report->iterations = iterations;
            *corrections = 0;
            status = advance(sim, h);
            break;
        }
        before = error;
        perpi_formulation_bend(f, sim->model, h, sim->q_next, sim->v_problem, sim->input);
        const int32_t iterations = report->iterations;
        status = solve(sim, solve_tolerance(sim), residual, report);
        report->iterations += iterations;
        *corrections += 1;
        if (status == PERP_ERROR_SOLVE) { /* no answer closes them: the next round gives up */
            before = 0.0;
            status = PERP_OK;
        }
        if (status == PERP_OK) {
            status = advance(sim, h);
        }
    }
    return status;
}

/* Not in the first step: velocities that a scene gives need not fit the joints, and no error is closed by making
 * them fit. */
static bool limits_repair(const perp_sim* sim)
{
    return sim->step_settings.midway && sim->any_loop && !sim->kept.joints && sim->step > 0;
}

/* Whether the joints gain energy in the step at hand; projection: by what comes after its answer. */
static perp_status repair_gains(perp_sim* sim, double projection, bool* gains)
{
    const perpi_formulation* f = sim->formulation;
    const size_t dofs = (size_t)f->problem.dof_count, rows = (size_t)f->problem.row_count;
    perp_status status =
        perpi_grow(sim->context, &sim->start, &sim->start_capacity, dofs, sizeof(double));
    if (status == PERP_OK) { /* room for what may come, lest a later step allocates */
        status = perpi_grow(sim->context, &sim->keep, &sim->keep_capacity, dofs + 2 * rows,
                            sizeof(double));
    }
    *gains = false;
    if (status == PERP_OK) {
        perpi_repair_before(f, sim->model, sim->v, sim->start);
        *gains = perpi_repair_gains(f, sim->loop, sim->start, sim->v_problem, sim->p_problem,
                                    projection);
    }
    return status;
}

/* Solves the step again with errors that are closed slowly. Where that has no answer, the one at hand stands,
 * of which sim->keep has a copy. */
static perp_status limit_repair(perp_sim* sim, double h, perp_contact_residual* residual,
                                perp_report* report, int32_t* corrections)
{
    perpi_formulation* f = sim->formulation;
    const perp_contact_residual first = *residual;
    const perp_report first_report = *report;
    perpi_repair_limit(f, sim->loop, sim->start);
    perp_status status = solve(sim, solve_tolerance(sim), residual, report);
    report->iterations += first_report.iterations;
    *corrections = PERPI_REPAIR_LIMITED;
    if (status == PERP_ERROR_SOLVE) {
        take_back(sim, (size_t)f->problem.dof_count, (size_t)f->problem.row_count);
        *residual = first;
        *report = first_report;
        *corrections = 0;
        status = PERP_OK;
    }
    return status == PERP_OK ? advance(sim, h) : status;
}

/* By the errors at the start of the step. */
static perp_status limit_plain(perp_sim* sim, double h, perp_contact_residual* residual,
                               perp_report* report, int32_t* corrections)
{
    bool gains = false;
    perp_status status = repair_gains(sim, 0.0, &gains);
    if (status == PERP_OK && gains) {
        status = keep_answer(sim);
        if (status == PERP_OK) {
            status = limit_repair(sim, h, residual, report, corrections);
        }
    }
    return status;
}

/* From the velocities that solved the step to those of the state: momentum is carried, and where joints
 * are corrected, poses and velocities are projected. */
static perp_status complete_state(perp_sim* sim, double h, double deepest, int32_t corrections,
                                  perp_report* report, int32_t* moves)
{
    *moves = 0;
    if (sim->v_solved != NULL) {
        memcpy(sim->v_solved, sim->v_next, (size_t)sim->v_size * sizeof *sim->v_solved);
        if (sim->stepper->look == PERPI_LOOK_START && !sim->stepper->settles) {
            perpi_momentum_carry(sim->formulation, sim->model, sim->v_from, sim->q_next,
                                 sim->v_next);
        }
    }
    if (sim->project == NULL) {
        return PERP_OK;
    }
    const bool closes = corrections != PERPI_REPAIR_LIMITED;
    memcpy(sim->q_answer, sim->q_next, (size_t)sim->q_size * sizeof *sim->q_next);
    memcpy(sim->v_carried, sim->v_next, (size_t)sim->v_size * sizeof *sim->v_next);
    bool across = false;
    perp_status status = closes ? perpi_sim_project(sim, h, report, moves) : PERP_OK;
    if (status == PERP_OK && *moves > 0) {
        status = perpi_sim_moved_across(sim, h, deepest, &across);
    }
    const bool gains = status == PERP_OK && *moves > 0 &&
                       perpi_energy_change(sim->model, true, sim->q_answer, sim->v_carried,
                                           sim->q_next, sim->v_next) > 0.0;
    if (across || gains) { /* the joints stay open in this step, and their error says so */
        memcpy(sim->q_next, sim->q_answer, (size_t)sim->q_size * sizeof *sim->q_next);
        memcpy(sim->v_next, sim->v_carried, (size_t)sim->v_size * sizeof *sim->v_next);
        *moves = 0;
    }
    if (status == PERP_OK && *moves > 0 && !sim->stepper->settles) {
        const perpi_ledger_input in = {.f = sim->formulation,
                                       .model = sim->model,
                                       .contact = sim->next.item,
                                       .q_end = sim->q_answer,
                                       .v_state = sim->v_carried,
                                       .q_final = sim->q_next};
        status = perpi_momentum_restore(&in, &sim->momentum_work, sim->v_next);
    }
    return status;
}

/* What the records say beside the impulses. */
static perp_status finish_joints(perp_sim* sim, double h)
{
    const perp_model* model = sim->model;
    for (int32_t i = 0; i < (int32_t)model->joint_count; ++i) {
        perp_joint_record* r = &sim->joint_next[i];
        double effort;
        const perp_status status =
            perpi_joint_motor_effort(model, i, sim->time, &sim->input[i], &effort);
        if (status != PERP_OK) {
            return status;
        }
        if (effort != 0.0) {
            r->law[PERPI_LAW_MOTOR] = h * effort;
        }
        r->applied = sim->input[i].effort;
        r->target = sim->input[i].target;
        memcpy(r->turns, sim->input[i].turns, sizeof r->turns);
        perpi_joint_count_turns(sim->formulation, model, i, h, sim->q, sim->q_next, sim->v_next,
                                r->turns);
    }
    return PERP_OK;
}

/* ---- groups that could not be solved ---------------------------------------------------------------*/

/* peg -> lnc -> standard, for a pair of shapes. Standard's contacts may hold a body back at a corner for the
 * step, but let none through; corrective has no contact before bodies overlap. */
static bool simpler(perpi_touch_rule rule, perpi_touch_rule* next)
{
    *next = rule == PERPI_TOUCH_PEG ? PERPI_TOUCH_LNC : PERPI_TOUCH_PLAIN;
    return rule == PERPI_TOUCH_PEG || rule == PERPI_TOUCH_LNC;
}

/* The pair of shapes whose groups are to blame: that of the contact furthest off, or else of the
 * grouped contact that is violated most. -1 if nothing is grouped. */
static int32_t blame(const perp_sim* sim, const perp_contact_residual* residual)
{
    const int32_t worst = residual->worst_constraint;
    const perpi_formulation* f = sim->formulation;
    if (worst >= 0 && (size_t)worst < sim->next.count && sim->next.item[worst].group != 0) {
        return worst;
    }
    int32_t found = -1;
    double least = INFINITY;
    for (int32_t i = 0; i < (int32_t)sim->next.count; ++i) {
        const double u =
            perpi_formulation_speed(f, i, 0, sim->v_problem) + f->b[f->constraint[i].row];
        if (sim->next.item[i].group != 0 && (found < 0 || u < least)) {
            found = i;
            least = u;
        }
    }
    return found;
}

/* Where the exception of a pair of shapes stands, or would. */
static size_t exception_of(const perp_sim* sim, int32_t a, int32_t b)
{
    size_t at = 0;
    while (at < sim->exception_count &&
           (sim->exception[at].shape_a != a || sim->exception[at].shape_b != b)) {
        ++at;
    }
    return at;
}

perp_status perpi_sim_make_exception(perp_sim* sim, int32_t a, int32_t b, perpi_touch_rule rule)
{
    const size_t at = exception_of(sim, a, b);
    const perp_status status = perpi_grow(sim->context, &sim->exception, &sim->exception_capacity,
                                          at + 1, sizeof *sim->exception);
    if (status == PERP_OK) {
        sim->exception[at] = (perpi_touch_exception){a, b, rule};
        sim->exception_count = at == sim->exception_count ? at + 1 : sim->exception_count;
    }
    return status;
}

/* Where the end of the step is looked at, features can come and go from look to look without end, and the
 * last ones need not be in a group: every pair gets standard's contacts. False: it has them already. */
static perp_status fall_back_to_plain(perp_sim* sim, bool* done)
{
    for (size_t k = 0; k < sim->next.count; ++k) {
        const perp_contact* c = &sim->next.item[k];
        const int32_t a = perpi_key_shape_a(c->key), b = perpi_key_shape_b(c->key);
        const size_t at = exception_of(sim, a, b);
        if (at < sim->exception_count && sim->exception[at].rule == PERPI_TOUCH_PLAIN) {
            continue;
        }
        const perp_status status = perpi_sim_make_exception(sim, a, b, PERPI_TOUCH_PLAIN);
        if (status != PERP_OK) {
            return status;
        }
        if (sim->on_fallback != NULL && !*done) {
            sim->on_fallback(sim->on_fallback_user, &sim->formulation->problem, c->body_a,
                             c->body_b, "standard");
        }
        *done = true;
    }
    perpi_collider_set_rule(sim->collider, sim->contact_model->rule, sim->exception,
                            sim->exception_count);
    return PERP_OK;
}

/* Gives the pair to the next simpler model for this step, with all grouped pieces of the same two
 * bodies: one after the other they would fail one after the other. False: there is none to blame. */
static perp_status fall_back(perp_sim* sim, const perp_contact_residual* residual, bool* done)
{
    static const char* const name[] = {[PERPI_TOUCH_LNC] = "lnc", [PERPI_TOUCH_PLAIN] = "standard"};
    *done = false;
    const int32_t i = blame(sim, residual);
    if (i < 0) {
        return sim->stepper->look == PERPI_LOOK_GEOMETRY ? fall_back_to_plain(sim, done) : PERP_OK;
    }
    const perp_contact* contact = &sim->next.item[i];
    const size_t at =
        exception_of(sim, perpi_key_shape_a(contact->key), perpi_key_shape_b(contact->key));
    perpi_touch_rule rule =
        at < sim->exception_count ? sim->exception[at].rule : sim->contact_model->rule;
    if (!simpler(rule, &rule)) {
        return PERP_OK;
    }
    if (sim->on_fallback != NULL) {
        sim->on_fallback(sim->on_fallback_user, &sim->formulation->problem, contact->body_a,
                         contact->body_b, name[rule]);
    }
    for (size_t k = 0; k < sim->next.count; ++k) {
        const perp_contact* c = &sim->next.item[k];
        if (c->group == 0 || c->body_a != contact->body_a || c->body_b != contact->body_b) {
            continue;
        }
        const perp_status status = perpi_sim_make_exception(sim, perpi_key_shape_a(c->key),
                                                            perpi_key_shape_b(c->key), rule);
        if (status != PERP_OK) {
            return status;
        }
    }
    perpi_collider_set_rule(sim->collider, sim->contact_model->rule, sim->exception,
                            sim->exception_count);
    *done = true;
    return PERP_OK;
}

/* Last resort: overlap that cannot be resolved at once, because contacts push bodies out in directions
 * that exclude each other, is kept for this step. First between the two bodies furthest off, then
 * everywhere; then a step in which all stand still is an answer, unless prescribed bodies forbid it.
 * Not where the geometry is that of the end of the step. False: nothing overlaps. */
static bool keep_overlap(perp_sim* sim, const perp_contact_residual* residual)
{
    const int32_t worst = residual->worst_constraint;
    bool any = false, here = false;
    if (sim->kept.all || sim->stepper->look == PERPI_LOOK_GEOMETRY || sim->adaptive) {
        return false;
    }
    const bool known = !sim->kept.any && worst >= 0 && (size_t)worst < sim->next.count;
    const perp_contact* furthest = known ? &sim->next.item[worst] : NULL;
    for (size_t i = 0; i < sim->next.count; ++i) {
        const perp_contact* c = &sim->next.item[i];
        const bool overlaps = c->gap < 0.0 && c->group == 0 && !(c->layer.theta > 0.0);
        any = any || overlaps;
        here = here || (overlaps && known && c->body_a == furthest->body_a &&
                        c->body_b == furthest->body_b);
    }
    sim->kept.any = any;
    sim->kept.all = any && !here;
    sim->kept.body_a = here ? furthest->body_a : -1;
    sim->kept.body_b = here ? furthest->body_b : -1;
    return any;
}

static void apply_kept_overlap(perp_sim* sim)
{
    sim->kept.deepest = 0.0;
    for (size_t i = 0; sim->kept.any && i < sim->next.count; ++i) {
        perp_contact* c = &sim->next.item[i];
        const bool meant =
            sim->kept.all || (c->body_a == sim->kept.body_a && c->body_b == sim->kept.body_b);
        if (meant && c->gap < 0.0 && c->group == 0 && !(c->layer.theta > 0.0)) {
            sim->kept.deepest = -c->gap > sim->kept.deepest ? -c->gap : sim->kept.deepest;
            c->gap = 0.0;
        }
    }
}

/* A particle has no arm: what meets it acts where it is, and not where a feature that is looked for ahead of the
 * step, or an overlap that is kept, has its point. Elsewhere equal and opposite impulses would turn the pair. Not
 * where a passage was found: what is to stop it acts where the two would meet. */
static void act_on_particles(perp_sim* sim)
{
    const perp_model* model = sim->model;
    for (size_t i = 0; i < sim->next.count && sim->sides.missing_count == 0; ++i) {
        perp_contact* c = &sim->next.item[i];
        const perpi_body *a = &model->body[c->body_a], *b = &model->body[c->body_b];
        if (a->dofs == 0 || b->dofs == 0 || !(a->particle || b->particle)) {
            continue;
        }
        const vec3 n = v3_from(c->normal), at = v3_from(c->point);
        const vec3 own =
            a->particle ? sim->pose[c->body_a].x : v3_madd(sim->pose[c->body_b].x, -c->gap, n);
        const double reach = a->particle ? b->reach : a->reach;
        const double size = reach > 0.0 && isfinite(reach) ? reach : model->length;
        if (v3_norm(v3_sub(own, at)) > ROUNDING_OF_POINTS * size) { /* the others keep their bits */
            v3_to(own, c->point);
        }
    }
}

static int32_t count_active(const perpi_contact_list* list)
{
    int32_t active = 0;
    for (size_t i = 0; i < list->count; ++i) {
        active += list->item[i].impulse[0] > 0.0;
    }
    return active;
}

/* Largest overlap at the start of the step beyond soft layers; of a group the most open member tells, if
 * it is not one that matters only at the end. */
static double find_deepest(const perp_sim* sim)
{
    const perp_contact_problem* P = &sim->formulation->problem;
    double deepest = perpi_collider_deepest(sim->collider);
    deepest = sim->kept.deepest > deepest ? sim->kept.deepest : deepest;
    for (size_t i = 0; i < sim->next.count; ++i) {
        const perp_contact* c = &sim->next.item[i];
        const double depth = -c->gap - c->layer.start[0]; /* a layer may be pressed in */
        deepest = c->group == 0 && depth > deepest ? depth : deepest;
    }
    for (int32_t g = 0; g < P->group_count; ++g) {
        double most = -INFINITY;
        for (int32_t k = 0; k < P->group[g].count; ++k) {
            const double gap = sim->next.item[P->group[g].member[k]].gap;
            most = gap > most ? gap : most;
        }
        deepest = -most > deepest ? -most : deepest;
    }
    return deepest;
}

/* Size that a gap is compared with: that of the smaller body. */
static double pair_size(const perp_model* model, const perp_contact* c)
{
    const double a = model->body[c->body_a].reach, b = model->body[c->body_b].reach;
    const double smaller = a < b ? a : b;
    return smaller > 0.0 && isfinite(smaller) ? smaller : model->length;
}

/* Steppers without a gap term: only what touches stays. */
static void drop_open(perp_sim* sim)
{
    size_t kept = 0;
    for (size_t i = 0; i < sim->next.count; ++i) {
        const perp_contact* c = &sim->next.item[i];
        if (c->gap <= sim->step_settings.touch * pair_size(sim->model, c) ||
            perpi_sim_keeps_open(sim, c)) {
            sim->next.item[kept++] = *c;
        }
    }
    sim->next.count = kept;
}

/* Contacts whose pull is to be found: the step is to be one without them. */
static void drop_remembered(perp_sim* sim)
{
    size_t kept = 0;
    for (size_t i = 0; i < sim->next.count; ++i) {
        bool remembered = false;
        const perp_contact* c = &sim->next.item[i];
        for (size_t k = 0; k < sim->halves.pull_count; ++k) {
            const perpi_pull* pull = &sim->halves.pull[k];
            /* of a pair in groups all: members that are left would have to hold */
            remembered =
                remembered || pull->key == c->key ||
                (c->group != 0 && c->body_a == pull->body[0] && c->body_b == pull->body[1]);
        }
        if (!remembered) {
            sim->next.item[kept++] = sim->next.item[i];
        }
    }
    sim->next.count = kept;
}

/* What a step that is being worked out has come to. */
typedef struct worked_out {
    perp_contact_residual residual;
    perp_report report;
    int32_t rounds, fallbacks, looks, corrections;
    int32_t spent; /* looks of all attempts */
} worked_out;

/* Contacts and their solution, again with larger margins where a body came further, and with simpler
 * contact models where groups could not be solved. */
static perp_status collide_and_solve(perp_sim* sim, double h, worked_out* made)
{
    const perpi_touch* touch;
    size_t count;
    const int32_t first = made->rounds;
    bool again = false;
    perp_status status = PERP_OK;
    while (status == PERP_OK) {
        /* what the last step left overlapping is parted to the side where it was */
        status = remember_sides(sim, &sim->contacts);
        if (status != PERP_OK) {
            break;
        }
        perpi_collider_set_sides(sim->collider, sim->side, sim->side_count, false);
        status = perpi_collide(sim->collider, sim->pose, sim->margin, &touch, &count);
        perpi_collider_set_sides(sim->collider, NULL, 0, false);
        if (status != PERP_OK ||
            (made->rounds > first && !again && same_touches(&sim->next, touch, count))) {
            break;
        }
        sim->next.count = 0;
        sim->next.groups = 0;
        status = sim->contact_model->build(sim->model, &sim->rules, sim->time, sim->pose, touch,
                                           count, &sim->next);
        if (status != PERP_OK) {
            break;
        }
        if (sim->stepper->touching) {
            drop_open(sim);
        }
        if (sim->sides.missing_count > 0) {
            status = perpi_sim_add_missing(sim, sim->time, h, false, &sim->next);
            if (status != PERP_OK) {
                break;
            }
        }
        if (sim->stepper->touching) {
            perpi_sim_part_deep(sim, h);
        }
        if (sim->without_struck) {
            drop_remembered(sim);
        }
        apply_kept_overlap(sim);
        act_on_particles(sim);
        perpi_sim_offset_gaps(sim, h);
        if (sim->adaptive) {
            status = perpi_sim_keep_closed(sim, h);
            if (status != PERP_OK) {
                break;
            }
        }
        carry_impulses(&sim->contacts, &sim->next); /* the warm start */
        perpi_sim_roll(sim, h);
        if (sim->stepper->layered) {
            perpi_layers_recall(sim->model, sim->step_settings.midpoint, sim->contacts.item,
                                (int32_t)sim->contacts.count, sim->next.item,
                                (int32_t)sim->next.count);
        }
        status = formulate_and_solve(sim, h, &made->residual, &made->report);
        if (status == PERP_OK && sim->stepper->look == PERPI_LOOK_GEOMETRY) {
            /* the end of the step is on the side of its start */
            status = remember_sides(sim, &sim->next);
        }
        if (status == PERP_OK && sim->stepper->look != PERPI_LOOK_START) {
            status = look_until_it_holds(sim, h, &made->residual, &made->report, &made->looks,
                                         &made->spent);
        }
        again = false;
        if ((status == PERP_OK || status == PERP_ERROR_SOLVE) &&
            made->report.outcome != PERP_OUTCOME_SOLVED) {
            if (sim->formulation->problem.group_count > 0 ||
                (sim->stepper->look == PERPI_LOOK_GEOMETRY && perpi_sim_grouped(sim))) {
                /* pair after pair takes as many solves as there are pairs; then all at once */
                const bool many = made->fallbacks >= MANY_FALLBACKS;
                again = false;
                const perp_status tried = many ? fall_back_to_plain(sim, &again)
                                               : fall_back(sim, &made->residual, &again);
                if (tried != PERP_OK) {
                    status = tried;
                    break;
                }
            }
            again = again || keep_overlap(sim, &made->residual) || perpi_sim_keep_joints(sim);
            if (again) {
                made->fallbacks += 1;
                status = PERP_OK;
                continue;
            }
        }
        if (status == PERP_OK && made->report.outcome != PERP_OUTCOME_SOLVED &&
            perpi_sim_missing_points(sim)) {
            status = PERP_ERROR_SOLVE; /* keep_going too: simpler contacts come first */
        }
        made->rounds += 1;
        if (status != PERP_OK || made->rounds == first + MAX_ROUNDS || sim->stepper->touching ||
            sim->adaptive ||
            sim->stepper->look == PERPI_LOOK_GEOMETRY || /* has looked where it came */
            !perpi_sim_margins_exceeded(sim, h, sim->v_next)) {
            break;
        }
    }
    return status;
}

/* The step into the next state, as it would be accepted but for the side check. */
static perp_status solve_and_advance(perp_sim* sim, double h, worked_out* made)
{
    const int32_t iterations = made->report.iterations;
    perp_status status = collide_and_solve(sim, h, made);
    if (status == PERP_OK) {
        status = advance(sim, h);
    }
    made->corrections = 0;
    if (status == PERP_OK && limits_repair(sim)) {
        status = limit_plain(sim, h, &made->residual, &made->report, &made->corrections);
    }
    if (status == PERP_OK && sim->project != NULL && !sim->kept.joints && made->corrections == 0) {
        status = correct(sim, h, &made->residual, &made->report, &made->corrections);
    }
    made->report.iterations += iterations;
    return status;
}

/* Joints that are corrected: what they gain in the step, the projection after it takes. Where it does not,
 * the step is solved again from the plain one, which correct() kept. */
static perp_status limit_corrected(perp_sim* sim, double h, double deepest, worked_out* made,
                                   int32_t* moves)
{
    double projection = perpi_energy_change(sim->model, true, sim->q_answer, sim->v_carried,
                                            sim->q_next, sim->v_next);
    for (int32_t i = 0; i < (int32_t)sim->model->body_count; ++i) { /* of E + (h/2) m g . v */
        const perpi_body* body = &sim->model->body[i];
        const vec3 change = v3_sub(perpi_state_velocity(sim->model, sim->v_next, i),
                                   perpi_state_velocity(sim->model, sim->v_carried, i));
        projection += body->dofs > 0 ? 0.5 * h * body->mass * v3_dot(body->gravity, change) : 0.0;
    }
    perpi_formulation* f = sim->formulation;
    bool gains = false, across = false;
    perp_status status = repair_gains(sim, projection, &gains);
    if (status != PERP_OK || !gains) {
        return status;
    }
    take_back(sim, (size_t)f->problem.dof_count, (size_t)f->problem.row_count);
    status = limit_repair(sim, h, &made->residual, &made->report, &made->corrections);
    if (status == PERP_OK) {
        status = complete_state(sim, h, deepest, made->corrections, &made->report, moves);
    }
    if (status == PERP_OK) {
        status = perpi_sim_moved_across(sim, h, deepest, &across);
    }
    return status == PERP_OK && across
               ? perpi_fail(sim->context, PERP_ERROR_SOLVE,
                            "step %lld (t = %.9g): joints near a singular configuration carry a "
                            "body through another one; use a smaller step",
                            (long long)sim->step + 1, sim->time)
               : status;
}

static perp_status refuse_crossing(perp_sim* sim, const perpi_broad_pair* pair, int32_t solves)
{
    return perpi_fail(
        sim->context, PERP_ERROR_SOLVE,
        "step %lld (t = %.9g): body '%.60s' would pass through body '%.60s', also after "
        "%d more solves with contacts that keep them apart; use a smaller step",
        (long long)sim->step + 1, sim->time, sim->model->body[pair->body_b].name,
        sim->model->body[pair->body_a].name, (int)solves);
}

/* A solve with the constraints that the side check asked for has failed: say so. */
static perp_status explain_crossing(perp_sim* sim, const perpi_broad_pair* pair)
{
    char why[640];
    (void)snprintf(why, sizeof why, "%s", perp_context_error(sim->context));
    return perpi_fail(
        sim->context, PERP_ERROR_SOLVE,
        "%.600s (body '%.60s' would pass through body '%.60s', and this solve had the "
        "contacts that keep them apart; use a smaller step)",
        why, sim->model->body[pair->body_b].name, sim->model->body[pair->body_a].name);
}

perp_status perpi_sim_work_out_once(perp_sim* sim, double h)
{
    worked_out made = {0};
    perpi_broad_pair last = {0};
    int32_t crossings = 0;

    sim->exception_count = 0;
    sim->sides.missing_count = 0;
    sim->kept = (perpi_kept_overlap){.body_a = -1, .body_b = -1};
    perpi_collider_set_rule(sim->collider, sim->contact_model->rule, NULL, 0);
    perpi_sim_poses(sim);
    perpi_sim_start_from(sim);
    perpi_sim_joint_input(sim);
    perp_status status = perpi_sim_margins(sim, h);
    double deepest = 0.0;
    while (status == PERP_OK) {
        status = solve_and_advance(sim, h, &made);
        if (status == PERP_ERROR_SOLVE && crossings > 0) {
            bool simpler_now = false;
            const perp_status tried = perpi_sim_missing_balls(sim, &simpler_now);
            if (tried != PERP_OK) {
                return tried;
            }
            if (simpler_now) {
                made.fallbacks = 0;
                status = PERP_OK;
                continue;
            }
        }
        if (status != PERP_OK) {
            break;
        }
        deepest = find_deepest(sim);
        if (sim->adaptive || sim->without_struck) {
            break; /* these are trials */
        }
        const perpi_sim_passage* crossed = NULL;
        status = perpi_sim_check_sides(sim, h, deepest, &crossed);
        if (status != PERP_OK || crossed == NULL) {
            break;
        }
        last = crossed->pair;
        if (crossings == MAX_CROSSINGS) {
            return refuse_crossing(sim, &last, crossings);
        }
        crossings += 1;
    }
    if (status == PERP_ERROR_SOLVE && crossings > 0) {
        return explain_crossing(sim, &last);
    }
    int32_t moves = 0;
    if (status == PERP_OK) {
        status = complete_state(sim, h, deepest, made.corrections, &made.report, &moves);
    }
    if (status == PERP_OK && sim->project != NULL && limits_repair(sim) &&
        made.corrections != PERPI_REPAIR_LIMITED) {
        status = limit_corrected(sim, h, deepest, &made, &moves);
    }
    if (status == PERP_OK) {
        status = finish_joints(sim, h);
    }
    int32_t freedom = 0;
    if (status == PERP_OK && sim->stepper->settles) {
        status = perpi_sim_freedom(sim, &freedom);
    }
    if (status == PERP_OK) {
        perpi_forces_remember(sim->formulation, sim->model, h, sim->v_problem, sim->p_problem,
                              sim->s, sim->s_next);
        if (sim->offset_at >= 0) { /* the poses have it now */
            memset(sim->s_next + sim->offset_at, 0,
                   (size_t)perpi_offset_size(sim->model) * sizeof *sim->s_next);
        }
    }
    if (status != PERP_OK) {
        return status;
    }
    for (int32_t i = 0; i < sim->q_size; ++i) {
        if (!isfinite(sim->q_next[i])) {
            return perpi_fail(sim->context, PERP_ERROR_NUMERIC,
                              "step %lld (t = %.9g): body '%s' has left the range of numbers",
                              (long long)sim->step + 1, sim->time,
                              sim->model->body[i / perpi_q_stride(sim->model)].name);
        }
    }

    sim->info =
        (perp_step_info){.certificate = made.residual,
                         .report = made.report,
                         .candidates = (int32_t)sim->next.count,
                         .contacts = count_active(&sim->next),
                         .penetration = deepest,
                         .rounds = made.rounds,
                         .looks = made.looks,
                         .corrections = made.corrections,
                         .moves = moves,
                         .fallbacks = made.fallbacks + perpi_collider_crowded(sim->collider),
                         .freedom = freedom,
                         .crossings = crossings,
                         .joints_kept = sim->kept.joints ? 1 : 0,
                         .accepted_unsolved = made.report.outcome != PERP_OUTCOME_SOLVED};
    perpi_sim_joint_measure(sim, sim->q_next, sim->joint_next, sim->info.joint_error);
    return perpi_sim_account(sim, sim->formulation, h);
}

void perpi_sim_swap(perp_sim* sim)
{
    double* q = sim->q;
    double* v = sim->v;
    sim->q = sim->q_next;
    sim->v = sim->v_next;
    sim->q_next = q;
    sim->v_next = v;
    double* s = sim->s;
    sim->s = sim->s_next;
    sim->s_next = s;
    perp_joint_record* joint = sim->joint;
    sim->joint = sim->joint_next;
    sim->joint_next = joint;
    const perpi_contact_list contacts = sim->contacts;
    sim->contacts = sim->next;
    sim->next = contacts;
}

/* The worked-out step becomes the state. */
static void take_over(perp_sim* sim)
{
    perpi_sim_swap(sim);
    perp_ledger_add(&sim->ledger_total, &sim->info.ledger);
    sim->step += 1;
    if (sim->info.kind == PERP_STEP_TIME) {
        sim->tick += 1;
        sim->time = sim->adaptive ? sim->halves.time_next : perpi_sim_tick_time(sim, sim->tick);
    }
    if (sim->adaptive) {
        perpi_sim_adaptive_clock(sim);
    }
}

/* User code is told once about a step, not again after an impact that comes before it. */
static perp_status announce(perp_sim* sim)
{
    perp_status status = PERP_OK;
    if (sim->announced) {
        return PERP_OK;
    }
    if (sim->on_step != NULL) {
        status = sim->on_step(sim->on_step_user, sim);
    }
    for (size_t i = 0; status == PERP_OK && i < sim->callback_count; ++i) {
        status = sim->callback[i].fn(sim->callback[i].user, sim);
    }
    return status;
}

/* A step in time; or, where it would strike something that bounces, the impact instead. */
/* What is pressed together by friction, springs or motors is not struck. These act through the problem of
 * the step: one without the struck contacts tells how fast they would close them. */
static perp_status ask_what_pulls(perp_sim* sim, double h)
{
    perp_status status = PERP_OK;
    sim->halves.pull_count = 0;
    for (size_t i = 0; status == PERP_OK && i < sim->next.count; ++i) {
        if (sim->hit[i].e > 0.0) {
            status = perpi_sim_remember_moving(sim, &sim->next.item[i], 0.0);
        }
    }
    if (status == PERP_OK) {
        sim->without_struck = true;
        status = perpi_sim_work_out(sim, h);
        sim->without_struck = false;
    }
    if (status == PERP_OK) {
        perpi_sim_measure_gains(sim);
    } else if (status != PERP_ERROR_SOLVE) { /* no answer: nothing is known to pull */
        return status;
    }
    return perpi_sim_work_out(sim, h);
}

static perp_status work_out_fixed(perp_sim* sim)
{
    const double h = perpi_sim_tick_length(sim, sim->tick);
    const perp_step_info before = sim->info;
    bool struck = false;
    if (sim->info.kind == PERP_STEP_COMPRESSION) {
        return perpi_sim_decompress(sim);
    }
    perp_status status = perpi_sim_work_out(sim, h);
    if (status == PERP_OK && sim->impact != NULL) {
        perp_step_info found = sim->info;
        sim->info = before;
        sim->halves.pull_count = 0;
        status = perpi_sim_find_struck(sim, h, &struck);
        if (status == PERP_OK && struck) {
            status = ask_what_pulls(sim, h);
            found = sim->info;
            sim->info = before;
            if (status == PERP_OK) {
                status = perpi_sim_find_struck(sim, h, &struck);
            }
        }
        if (status == PERP_OK && struck) {
            return perpi_sim_impact(sim);
        }
        sim->info = found;
    }
    return status;
}

static perp_status work_out_step(perp_sim* sim)
{
    return sim->adaptive ? perpi_sim_work_out_adaptive(sim) : work_out_fixed(sim);
}

/* What a step works out in place although a recording keeps it: copied away, or put back. */
static void copy_records(perp_sim* sim, double* at, bool back)
{
    perpi_adaptive* a = &sim->halves;
    struct {
        double* array;
        int32_t size;
    } const part[] = {{sim->v_solved, sim->v_size},
                      {sim->adaptive ? a->q_half : NULL, sim->q_size},
                      {sim->adaptive ? a->v_half : NULL, sim->v_size},
                      {sim->adaptive ? a->s_half : NULL, sim->s_size},
                      {sim->adaptive ? a->v_end : NULL, sim->v_size}};
    for (size_t i = 0; i < sizeof part / sizeof part[0]; ++i) {
        if (part[i].array != NULL && part[i].size > 0) {
            const size_t bytes = (size_t)part[i].size * sizeof(double);
            memcpy(back ? part[i].array : at, back ? at : part[i].array, bytes);
            at += part[i].size;
        }
    }
}

/* The next state beside the present one. keep_going changes nothing until all of this has failed: a run
 * with it has the bits of one without as long as no step fails. */
static perp_status work_out(perp_sim* sim)
{
    const perp_step_info before = sim->info;
    const double h_next = sim->halves.h_next;
    const size_t room = (size_t)(3 * sim->v_size + sim->q_size + sim->s_size);
    perp_status status =
        perpi_grow(sim->context, &sim->before, &sim->before_capacity, room, sizeof *sim->before);
    if (status != PERP_OK) {
        return status;
    }
    copy_records(sim, sim->before, false);
    status = work_out_step(sim);
    if (status == PERP_ERROR_SOLVE && sim->def.keep_going) {
        sim->info = before;
        sim->halves.h_next = h_next;
        sim->take_unsolved = true;
        status = work_out_step(sim);
        sim->take_unsolved = false;
    }
    if (status != PERP_OK) { /* a failed step changes nothing */
        sim->info = before;
        sim->halves.h_next = h_next;
        copy_records(sim, sim->before, true);
    }
    return status;
}

perp_status perp_sim_step(perp_sim* sim)
{
    if (perp_sim_finished(sim)) {
        return perpi_fail(sim->context, PERP_ERROR_INPUT,
                          "the simulation has reached its duration (t = %.9g)", sim->time);
    }
    perp_status status = announce(sim);
    if (status == PERP_OK) {
        status = work_out(sim);
    }
    /* an impact is over at once: what was applied is for the step that follows */
    sim->announced = status == PERP_OK && sim->info.kind != PERP_STEP_TIME;
    if (sim->has_extra && !sim->announced) {
        memset(sim->extra, 0, 6 * sim->model->body_count * sizeof *sim->extra);
        sim->has_extra = false;
    }
    if (sim->model->joint_count > 0 && !sim->announced) {
        memset(sim->effort, 0, sim->model->joint_count * sizeof *sim->effort);
    }
    if (status == PERP_OK) {
        take_over(sim);
    }
    return status;
}

perp_status perp_sim_run(perp_sim* sim)
{
    while (!perp_sim_finished(sim)) {
        const perp_status status = perp_sim_step(sim);
        if (status != PERP_OK) {
            return status;
        }
    }
    return PERP_OK;
}
