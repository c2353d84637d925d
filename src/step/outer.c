/* src/step/outer.c - the outer iteration of steps whose laws hold at the end of the step.
 *
 * The end is not known before the step is solved. So the problem is solved, formulated at the end
 * that the solution leads to, and solved again, until the solution satisfies the laws at its own
 * end. Where this converges slowly or not at all (stiff forces), Anderson acceleration is used
 * (anderson.h). The certificate is that of the last formulation: the one that a verifier computes
 * from the recorded end of the step.
 *
 * If the contacts do not determine the impulses (a face that slides on a floor), there are many
 * solutions, which differ in the torque of friction and so in the velocities. A solver with a sharp
 * tolerance may return another one from almost the same problem, and extrapolation over different
 * branches does not converge. So an iteration that met the tolerance once and lost it again, or
 * that takes long, is a late one: it uses a looser tolerance in each solve, which then stays near
 * its first guess, accepts the first residual within the tolerance, and updates velocities by
 * update_late(). Not while a simpler contact model is left to try.
 */
#include <string.h>

#include "solve/work.h"
#include "step/force_rows.h"
#include "step/pack.h"
#include "step/step.h"

enum {
    MANY_ITERATIONS = 10,
    MAX_ITERATIONS = 200,
    STEP_ITERATIONS = 300, /* limit of all attempts at a step together; */
    CROWD = 50, /* one with more rows than this for each velocity counts more than once, */
    SOLVER_ITERATIONS = 100, /* and so does one whose solve takes more iterations */
    LATE_ITERATIONS = 80,
    TURN_ITERATIONS = 10,
    /* An iteration whose least residual is not halved in so many iterations becomes late, or ends where it cannot;
     * a late one ends after one turn of each of its rules. Of 4958 steps of random scenes that converged, the
     * residual of 5 stood still for longer. */
    STALLED = 12,
    LATE_STALLED = 3 * TURN_ITERATIONS,
};
/* The residual of the laws at the end of the step at which to stop at once, and at which to stop
 * when another iteration no longer halves it (after many iterations: the scene's tolerance). */
static const double GOAL = 1e-12;
static const double ENOUGH = 1e-10;
/* Once velocities change by less than this, acceleration only adds rounding. */
static const double STILL = 1e-10;
/* Acceleration begins at the first iteration that reduces the certificate by less than this
 * factor; fluctuations below the second are rounding of the solver. */
static const double SLOW = 0.2;
static const double NOISE = 1e-7;
/* Late iterations: tolerance of each solve, relative to the scene's. */
static const double LATE_PART = 0.1;
/* Part of the work of a step that the outer iteration may take: the rest is for the semi-implicit step. */
static const double WORK_PART = 0.5;
/* Ends at which springs have turned a body further than FAR are searched again by iterations that turn no body by more
 * than NEAR; radians. */
static const double FAR = 1.57;
static const double NEAR = 0.5;
/* The next formulation would contain the residual of a solve, so each is solved sharply. */
static double sharp_tolerance(const perpi_step* step)
{
    return GOAL < step->tolerance ? GOAL : step->tolerance;
}

/* The contacts at the end of the step, with the impulses of the iteration before. */
static perp_status find_contacts_at_end(perpi_step* step)
{
    const perpi_candidate* candidate;
    size_t count;
    perpi_contact_list* list = &step->outer.contacts;
    perpi_step_poses(step, step->to->q);
    perp_status status = perpi_find_features(step, true, &candidate, &count);
    if (status == PERP_OK) {
        status = perpi_build_contacts(step, step->from->time + step->h, candidate, count, list);
    }
    if (status == PERP_OK) {
        status = step->add_at_end(step, list);
    }
    perpi_step_poses(step, step->from->q);
    if (status != PERP_OK) {
        return status;
    }
    perpi_carry_impulses(&step->to->contacts, list);
    const perpi_contact_list before = step->to->contacts;
    step->to->contacts = *list;
    *list = before;
    return PERP_OK;
}

/* Formulates the problem at the end that the last solution led to, and computes the residual of
 * that solution. */
static perp_status formulate_at_end(perpi_step* step)
{
    perpi_formulation* f = step->formulation;
    perpi_forces_remember(f, step->model, step->h, step->v_problem, step->p_problem,
                          step->from->memory, step->to->memory);
    perp_status status = perpi_step_advance(step);
    if (status == PERP_OK && step->stepper->evaluation == PERPI_EVALUATE_GEOMETRY) {
        status = find_contacts_at_end(step);
    }
    perpi_step_input in = perpi_step_inputs(step);
    in.q_end = step->to->q;
    in.v_end = step->to->v;
    if (status == PERP_OK) {
        status = step->stepper->formulate(f, &in);
    }
    if (status == PERP_OK) {
        status = perpi_step_room(step, f);
    }
    if (status == PERP_OK) {
        status = perpi_grow(step->context, &step->outer.check, &step->outer.check_capacity,
                            perp_contact_residual_work(&f->problem), sizeof(double));
    }
    if (status == PERP_OK) {
        const perpi_point answer = {.v = step->to->v,
                                    .contact = step->to->contacts.item,
                                    .joint = step->to->joint,
                                    .memory = step->to->memory,
                                    .v_start = step->from->v};
        perpi_pack(f, step->model, &answer, step->v_problem, step->p_problem);
        step->residual = perp_contact_check_residual(&f->problem, step->v_problem, step->p_problem,
                                                     step->outer.check);
    }
    return status;
}

/* Whether the last solve changed the velocities of its formulation only by rounding. */
static bool moves_little(const perpi_step* step)
{
    double change = 0.0, size = 0.0;
    for (int32_t i = 0; i < step->v_size; ++i) {
        const double w = step->outer.anderson.weight[i],
                     d = w * (step->to->v[i] - step->outer.v[i]);
        change += d * d;
        size += w * step->to->v[i] * (w * step->to->v[i]);
    }
    return change <= STILL * STILL * size;
}

/* Whether contacts are left that could have a simpler model. */
static bool can_fall_back(const perpi_step* step)
{
    if (step->formulation->problem.group_count > 0) {
        return true;
    }
    if (step->stepper->evaluation != PERPI_EVALUATE_GEOMETRY || !step->contact_model->groups) {
        return false;
    }
    for (size_t i = 0; i < step->to->contacts.count; ++i) {
        const uint64_t key = step->to->contacts.item[i].key;
        const size_t at = perpi_exception_of(step, key);
        if (perpi_may_have_groups(step, key) &&
            (at == step->exception.count || step->exception.item[at].rule != NULL)) {
            return true;
        }
    }
    return false;
}

/* The velocities at which a late iteration formulates the next problem. late: iterations since
 * it became one. Three rules alternate: the solution itself, which converges where the end of
 * the step depends weakly on it; a part of the way to it, where contacts alternate between
 * features; restarted acceleration, where forces are stiff or bodies rotate far in a step. */
static void update_late(perpi_step* step, int32_t late)
{
    const int32_t turn = late / TURN_ITERATIONS;
    if (late % TURN_ITERATIONS == 0) {
        perpi_anderson_forget(&step->outer.anderson);
    }
    if (turn % 3 == 1) {
        const double part = turn == 1 ? 0.5 : 0.25;
        for (int32_t i = 0; i < step->v_size; ++i) {
            step->to->v[i] = step->outer.v[i] + part * (step->to->v[i] - step->outer.v[i]);
        }
    } else if (turn % 3 == 2 && !moves_little(step)) {
        perpi_anderson_next(&step->outer.anderson, step->outer.v, step->to->v, step->to->v);
    }
}

/* Progress of the iteration. */
typedef struct progress {
    double before, least; /* residuals: of the last iteration, of the best */
    bool slow;            /* acceleration is used */
    bool plain, still;    /* plain iterations are of use; the last one changed nothing */
    int32_t late;         /* the first late iteration; 0: none yet */
    double level;         /* the least residual when it was last halved, */
    int32_t halved;       /* and in which iteration */
    bool near;            /* bodies turn little from one iteration to the next */
} progress;

static perp_status refuse(perpi_step* step)
{
    const perp_contact_residual* r = &step->residual;
    char where[256];
    perpi_step_name_worst(step, true, where);
    return perpi_fail(
        step->context, PERP_ERROR_SOLVE,
        "step %lld (t = %.9g): the laws at the end of the step do not hold after %d iterations "
        "(residual %.3g: dynamics %.1e, normal %.1e, friction %.1e, joints %.1e%s); a smaller step "
        "may help",
        (long long)step->from->step + 1, step->from->time, (int)step->outer.iterations, r->worst,
        r->dynamics, r->normal, r->friction, r->joints, where);
}

/* Whether the current solution satisfies the laws at its own end. */
static bool converged(const perpi_step* step, progress* x)
{
    const int32_t i = step->outer.iterations;
    const double worst = step->residual.worst;
    const double enough = i < MANY_ITERATIONS ? ENOUGH : step->tolerance;
    if (worst <= 0.5 * x->level) {
        x->level = worst;
        x->halved = i;
    }
    const bool long_enough = i >= LATE_ITERATIONS || i - x->halved >= STALLED ||
                             (i >= MANY_ITERATIONS && x->least <= enough);
    if (x->late == 0 && long_enough && !can_fall_back(step)) {
        x->late = x->halved = i;
    }
    x->least = worst < x->least ? worst : x->least;
    return worst <= GOAL || (worst <= enough && (x->late > 0 || worst > 0.5 * x->before));
}

static bool is_stalled(const perpi_step* step, const progress* x)
{
    return step->outer.iterations - x->halved >= (x->late > 0 ? LATE_STALLED : STALLED);
}

/* Shortens the change of the velocities so that no body ends further than NEAR radians from where it ended in the
 * iteration before. */
static void stay_near(perpi_step* step)
{
    const int32_t stride = perpi_v_stride(step->model);
    double most = 0.0;
    for (int32_t i = 0; i < (int32_t)step->model->body_count; ++i) {
        const vec3 now = perpi_state_rate(step->model, step->to->v, i);
        const vec3 before = perpi_state_rate(step->model, step->outer.v, i);
        const double turn = step->h * v3_norm(v3_sub(now, before));
        most = turn > most ? turn : most;
    }
    const double part = most > NEAR ? NEAR / most : 1.0;
    for (int32_t i = 0; i < (int32_t)step->model->body_count * stride; ++i) {
        step->to->v[i] = step->outer.v[i] + part * (step->to->v[i] - step->outer.v[i]);
    }
}

/* Solves the problem at the end, and chooses the velocities to formulate the next one at. */
static perp_status iterate(perpi_step* step, progress* x)
{
    perpi_outer* outer = &step->outer;
    const double worst = step->residual.worst;
    x->slow = x->slow || (worst > SLOW * x->before && worst > NOISE);
    x->plain = x->plain && !(x->still && worst > x->before);
    x->before = worst;
    memcpy(outer->v, step->to->v, (size_t)step->v_size * sizeof *outer->v);
    const int32_t iterations = step->report.iterations;
    const double part = LATE_PART * step->tolerance, goal = sharp_tolerance(step);
    const perp_status status = perpi_step_solve_to(step, x->late > 0 && part > goal ? part : goal);
    outer->spent += step->report.iterations / SOLVER_ITERATIONS;
    step->report.iterations += iterations;
    if (status != PERP_OK) {
        return status;
    }
    x->still = x->plain && moves_little(step);
    if (x->late > 0) {
        update_late(step, outer->iterations - x->late);
    } else if (x->slow && !x->still) {
        perpi_anderson_next(&outer->anderson, outer->v, step->to->v, step->to->v);
    }
    if (x->near) {
        stay_near(step);
    }
    return PERP_OK;
}

static perp_status iterate_to_end(perpi_step* step, bool near)
{
    const perp_contact_problem* P = &step->formulation->problem;
    perpi_outer* outer = &step->outer;
    progress x = {
        .before = INFINITY, .least = INFINITY, .level = INFINITY, .plain = true, .near = near};
    perpi_anderson_forget(&outer->anderson);
    for (outer->iterations = 1;; outer->iterations += 1) {
        perp_status status = formulate_at_end(step);
        if (status != PERP_OK) {
            return status;
        }
        step->report.residual = step->residual.worst;
        if (converged(step, &x)) {
            step->report.outcome = PERP_OUTCOME_SOLVED;
            return PERP_OK;
        }
        outer->spent += 1 + P->row_count / (CROWD * (P->dof_count > 0 ? P->dof_count : 1));
        if (outer->iterations == MAX_ITERATIONS || outer->spent >= STEP_ITERATIONS ||
            is_stalled(step, &x) || perpi_contact_solver_spent(step->solver, WORK_PART)) {
            break;
        }
        status = iterate(step, &x);
        if (status != PERP_OK) {
            return status;
        }
    }
    const bool within = step->residual.worst <= step->tolerance;
    step->report.outcome = within ? PERP_OUTCOME_SOLVED : PERP_OUTCOME_MAX_ITER;
    return within || step->accept_unsolved ? PERP_OK : refuse(step); /* may fall back */
}

/* The energy of the motion before the step: kinetic energy, and that which the forces of the step would
 * give bodies at rest. */
static double energy_before(const perpi_step* step, double* v)
{
    const perpi_formulation* f = step->formulation;
    const double* M = f->M;
    double sum = 0.0;
    perpi_formulation_gather_v(f, step->model, step->from->v, v);
    for (int32_t block = 0; block < f->problem.block_count; ++block) {
        const int32_t first = f->dof[block], n = f->dof[block + 1] - first;
        for (int32_t i = 0; i < n; ++i) {
            double momentum = 0.0;
            for (int32_t k = 0; k < n; ++k) {
                momentum += M[i * n + k] * v[first + k];
            }
            const double force = f->k[first + i] - momentum;
            sum += 0.5 * (v[first + i] * momentum + force * force / M[i * n + i]);
        }
        M += n * n;
    }
    return sum;
}

/* The laws at the end of the step may hold at more than one end: features that bodies reach only because
 * they push each other there satisfy them as well, with bodies that separate while they push. By E' - E =
 * h f . v' + p . u' - |v' - v|^2_M / 2 such contacts gain up to p . u'. An end at which they gain more than
 * all of the motion before is not taken. */
static bool contacts_gain(const perpi_step* step)
{
    const perpi_formulation* f = step->formulation;
    double gain = 0.0;
    for (int32_t i = 0; i < f->contact_count; ++i) {
        const int32_t row = f->constraint[i].row;
        const double u = perpi_formulation_speed(f, i, 0, step->v_problem) + f->given[row];
        gain += step->p_problem[row] * u;
    }
    return gain > 0.0 && gain > energy_before(step, step->outer.check);
}

/* Whether springs whose forces are those of the end of the step turn a body further than FAR. */
static bool springs_turn_far(const perpi_step* step)
{
    const perp_model* model = step->model;
    bool far = false;
    for (size_t i = 0; i < model->spring_count; ++i) {
        const perpi_spring* s = &model->spring[i];
        for (int side = 0; side < 2 && !s->implicit; ++side) {
            const int32_t body = s->body[side];
            const vec3 change = body < 0 ? v3(0.0, 0.0, 0.0)
                                         : v3_sub(perpi_state_rate(model, step->to->v, body),
                                                  perpi_state_rate(model, step->from->v, body));
            far = far || step->h * v3_norm(change) > FAR;
        }
    }
    return far;
}

/* The outer iteration from the semi-implicit step. */
static perp_status solve_from_guess(perpi_step* step)
{
    const perpi_step_input in = perpi_step_inputs(step);
    perp_status status = perpi_step_formulate(step, &in, step->from->v);
    if (status == PERP_OK) {
        status = perpi_step_solve_to(step, sharp_tolerance(step));
    }
    if (status == PERP_OK && step->stepper->evaluation == PERPI_EVALUATE_GEOMETRY) {
        /* the sides at the end of the step are those of its start */
        status = perpi_remember_sides(step, &step->to->contacts);
    }
    return status == PERP_OK ? iterate_to_end(step, false) : status;
}

/* The force of a spring at the end of the step holds at many ends where it can turn a body by radians: at one after a
 * whole turn it is that of the start again, and drives the body faster in every step. The end that the motion leads to is
 * near the start. It is searched from there, by small turns. If it is not found the first one stands, unless the contacts are
 * no longer those of the start. */
static perp_status solve_near_start(perpi_step* step)
{
    memcpy(step->to->v, step->from->v, (size_t)step->v_size * sizeof *step->to->v);
    const perp_status status = iterate_to_end(step, true);
    return status == PERP_ERROR_SOLVE && step->stepper->evaluation == PERPI_EVALUATE_FORCES
               ? solve_from_guess(step)
               : status;
}

perp_status perpi_solve_at_end(perpi_step* step)
{
    perp_status status = solve_from_guess(step);
    if (status == PERP_OK && springs_turn_far(step) && !step->accept_unsolved) {
        status = solve_near_start(step);
    }
    if (status == PERP_OK && step->stepper->evaluation == PERPI_EVALUATE_GEOMETRY &&
        contacts_gain(step) && !step->accept_unsolved) {
        status = perpi_fail(step->context, PERP_ERROR_SOLVE,
                            "step %lld (t = %.9g): the laws at the end of the step hold only where "
                            "contacts add energy; a smaller step may help",
                            (long long)step->from->step + 1, step->from->time);
    }
    return status;
}
