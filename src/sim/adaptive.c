/* src/sim/adaptive.c - adaptive step length: error control and event location.
 *
 * Step doubling: a step of h and two of h/2 are computed from the same state. The scheme is of
 * first order, so 2 (two halves) - (one whole) is of second order and exact on parabolas. It is the
 * new state. The difference of the two is the error estimate, which is held below `error` in units
 * of the scene's size and of radians; velocities are multiplied by h.
 *
 * Only closed contacts take part in such a step: those with a gap up to `error` and a normal
 * velocity so small that a flight would be no higher than `error`. A contact that opens or closes
 * faster is an event. If an open contact has a negative gap at the end of the step, or a pair meets
 * within it (crossing.c: bodies follow the parabola from the state at the start to the extrapolated
 * end; the gap is then the separation along the normal of the first contact), the step length at
 * which the gap is zero is computed. An impact follows (impact.c), with or without restitution.
 * Bounces lower than `error` are not resolved, because there would be infinitely many.
 *
 * A disjunctive group of contacts is closed, open or impacting as a whole. Its gap is that of its
 * most open member. Members penetrating by up to `error` count as closed, and the group moves with
 * the one that opens fastest. Members that penetrate deeper belong to other sides of the body. They
 * stay in the group of a step, which may move the body past them, and take no part in an impact.
 *
 * The height of a flight depends on the closing acceleration (closed.c). If a contact with zero gap
 * moves faster than the forces on its bodies explain, a step without it is solved to find that
 * acceleration.
 *
 * The gap term of a closed contact is gap / max(h, T), T the time of a fall through `error`.
 * Otherwise a short step before an event would turn a gap of 1e-13 into a large speed. For the same
 * reason a step shorter than the length to try, or than the scene's first one, corrects only that part of the joint
 * errors.
 */
#include <string.h>

#include "sim/closed.h"
#include "step/force_rows.h"

enum { MAX_TRIALS = 200, MAX_SEARCH = 100 };
/* Gaps below this count as zero; relative to the size of the scene. */
static const double ZERO_GAP = 1e-13;
static const double GAIN_PART = 0.01; /* relative to the error: the energy that a step may gain */

static double zero_gap(const perp_sim* sim)
{
    return ZERO_GAP * perpi_scene_size(sim->model);
}

/* Near a singular configuration (a taut chain between two walls) closing errors of joints drives the motion: if they were
 * closed within a length that falls because of these velocities, the velocities would grow with 1/h. So they
 * are closed within the scene's first length, or longer. */
double perpi_adaptive_ease(const perp_sim* sim, double h_next, double h)
{
    const double time = fmax(h_next, sim->def.step);
    return h < time ? time / h : 1.0;
}

static void copy(double* to, const double* from, int32_t n)
{
    if (n > 0) {
        memcpy(to, from, (size_t)n * sizeof *to);
    }
}

perp_status perpi_sim_adaptive_create(perp_sim* sim)
{
    perpi_adaptive* a = &sim->halves;
    perp_context* context = sim->context;
    const size_t q = (size_t)sim->work.q_size, v = (size_t)sim->work.v_size,
                 s = (size_t)sim->work.s_size + 1;
    struct {
        double** array;
        size_t count;
    } arrays[] = {{&a->q_half, q},     {&a->v_half, v},  {&a->s_half, s},  {&a->v_end, v},
                  {&a->v_end_next, v}, {&a->q_plain, q}, {&a->v_plain, v}, {&a->s_plain, s}};
    perp_status status = PERP_OK;
    for (size_t i = 0; status == PERP_OK && i < sizeof arrays / sizeof arrays[0]; ++i) {
        status = perpi_alloc(context, arrays[i].count, sizeof(double), arrays[i].array);
    }
    if (status == PERP_OK) {
        status = perpi_trial_create(&sim->work, sim->v_solved != NULL, &a->whole);
    }
    if (status == PERP_OK) {
        status = perpi_trial_create(&sim->work, sim->v_solved != NULL, &a->half);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(context, 1, sizeof *a->standing, &a->standing);
    }
    a->h_next = sim->def.step;
    perpi_adaptive_clock(sim);
    return status;
}

void perpi_adaptive_clock(perp_sim* sim)
{
    perpi_adaptive* a = &sim->halves;
    a->clock[0] = a->h_next;
    a->clock[1] = sim->state.h_last;
    a->clock[2] = (double)sim->state.tick;
}

void perpi_adaptive_clear(perp_sim* sim)
{
    perpi_adaptive* a = &sim->halves;
    memset(a->q_half, 0, (size_t)sim->work.q_size * sizeof *a->q_half);
    memset(a->v_half, 0, (size_t)sim->work.v_size * sizeof *a->v_half);
    memset(a->v_end, 0, (size_t)sim->work.v_size * sizeof *a->v_end);
    memset(a->s_half, 0, (size_t)sim->work.s_size * sizeof *a->s_half);
}

void perpi_adaptive_commit(perp_sim* sim, bool impact)
{
    perpi_adaptive* a = &sim->halves;
    if (impact) {
        perpi_adaptive_clear(sim);
    } else {
        copy(a->q_half, a->half.state.q, sim->work.q_size);
        copy(a->v_half, a->half.state.v, sim->work.v_size);
        copy(a->s_half, a->half.state.memory, sim->work.s_size);
        copy(a->v_end, a->v_end_next, sim->work.v_size);
    }
    perpi_adaptive_clock(sim);
}

void perpi_sim_adaptive_destroy(perp_sim* sim)
{
    perpi_adaptive* a = &sim->halves;
    double* const owned[] = {a->q_half,     a->v_half,  a->s_half,  a->v_end,
                             a->v_end_next, a->q_plain, a->v_plain, a->s_plain};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; ++i) {
        perpi_free(sim->context, owned[i]);
    }
    perpi_trial_destroy(sim->context, &a->whole);
    perpi_trial_destroy(sim->context, &a->half);
    perpi_free(sim->context, a->key);
    perpi_free(sim->context, a->pushed);
    perpi_free(sim->context, a->penetration);
    if (a->standing != NULL) {
        perpi_free(sim->context, a->standing->item);
    }
    perpi_free(sim->context, a->standing);
}

/* ---- one trial step -------------------------------------------------------------------------- */

static void keep_worst(double* worst, double now)
{
    if (!(now <= *worst)) {
        *worst = now;
    }
}

/* Certificates and counts of all three solves of a step. */
static void gather_info(perp_step_info* sum, const perp_step_info* part)
{
    const int32_t iterations = sum->report.iterations + part->report.iterations;
    perp_step_info out = *part;
    keep_worst(&out.certificate.dynamics, sum->certificate.dynamics);
    keep_worst(&out.certificate.normal, sum->certificate.normal);
    keep_worst(&out.certificate.friction, sum->certificate.friction);
    keep_worst(&out.certificate.joints, sum->certificate.joints);
    keep_worst(&out.certificate.worst, sum->certificate.worst);
    keep_worst(&out.report.residual, sum->report.residual);
    keep_worst(&out.penetration, sum->penetration);
    keep_worst(&out.momentum_error[0], sum->momentum_error[0]);
    keep_worst(&out.momentum_error[1], sum->momentum_error[1]);
    out.report.iterations = iterations;
    out.fallbacks += sum->fallbacks;
    if (sum->accepted_unsolved && !part->accepted_unsolved) {
        out.accepted_unsolved = true;
        out.report.outcome = sum->report.outcome;
    }
    *sum = out;
}

/* 2 (two halves) - (one whole), into the state after the second half; returns the error. */
static double extrapolate(perp_sim* sim, double h, perpi_state* end)
{
    const perp_model* model = sim->model;
    const perpi_state* whole = &sim->halves.whole.state;
    const int32_t qn = perpi_q_stride(model), vn = perpi_v_stride(model);
    const double size = perpi_scene_size(model);
    double error = 0.0;
    for (int32_t i = 0; i < (int32_t)model->body_count; ++i) {
        double *q = end->q + i * qn, *v = end->v + i * vn;
        const double *q1 = whole->q + i * qn, *v1 = whole->v + i * vn;
        const int32_t places = model->dimension == 2 ? 2 : 3;
        double x = 0.0, w = 0.0, turn = 0.0, spin = 0.0;
        for (int32_t k = 0; k < places; ++k) {
            x += (q[k] - q1[k]) * (q[k] - q1[k]);
            w += (v[k] - v1[k]) * (v[k] - v1[k]);
        }
        for (int32_t k = places; k < qn; ++k) {
            turn += (q[k] - q1[k]) * (q[k] - q1[k]);
        }
        for (int32_t k = places; k < vn; ++k) {
            spin += (v[k] - v1[k]) * (v[k] - v1[k]);
        }
        if (model->body[i].dofs > 0) {
            const double angle = (model->dimension == 2 ? 1.0 : 2.0) * sqrt(turn);
            keep_worst(&error, sqrt(x) / size);
            keep_worst(&error, h * sqrt(w) / size);
            keep_worst(&error, angle);
            keep_worst(&error, h * sqrt(spin));
        }
        for (int32_t k = 0; k < vn; ++k) {
            v[k] += v[k] - v1[k];
        }
        for (int32_t k = 0; k < qn; ++k) {
            q[k] += q[k] - q1[k];
        }
        if (model->dimension == 3) {
            const quat unit = q4_unit((quat){q[3], q[4], q[5], q[6]});
            q[3] = unit.w;
            q[4] = unit.x;
            q[5] = unit.y;
            q[6] = unit.z;
        }
    }
    /* of the memory of springs and controllers only the integrals */
    const int32_t first = perpi_s_forces(model) + perpi_force_row_count(model);
    for (int32_t i = first; i < sim->work.s_size; ++i) {
        end->memory[i] += end->memory[i] - whole->memory[i];
    }
    return error;
}

/* last: of the second half, which leads to the end. */
static perp_status remember_keys(perp_sim* sim, const perpi_contact_list* contacts, bool last)
{
    perpi_adaptive* a = &sim->halves;
    const size_t n = contacts->count;
    perp_status status =
        perpi_grow(sim->context, &a->key, &a->key_capacity, a->key_count + n, sizeof *a->key);
    if (status == PERP_OK) {
        status = perpi_grow(sim->context, &a->pushed, &a->pushed_capacity, a->key_count + n,
                            sizeof *a->pushed);
    }
    for (size_t i = 0; status == PERP_OK && i < n; ++i) {
        a->pushed[a->key_count] = last && contacts->item[i].impulse[0] > 0.0;
        a->key[a->key_count++] = contacts->item[i].key;
    }
    return status;
}

/* The part of a contact in the trial. */
typedef enum trial_part {
    PART_NONE,
    PART_OPEN, /* no impulse up to its end: bodies that turn can close it although its linear gap is open */
    PART_PUSHED,
} trial_part;

static trial_part part_in_trial(const perpi_adaptive* a, uint64_t key)
{
    trial_part part = PART_NONE;
    for (size_t i = 0; i < a->key_count && part != PART_PUSHED; ++i) {
        if (a->key[i] == key) {
            part = a->pushed[i] ? PART_PUSHED : PART_OPEN;
        }
    }
    return part;
}

/* Gap of a contact that penetrated at the start: it is an event only if it gets deeper. */
static double initial_penetration(const perpi_adaptive* a, uint64_t key)
{
    for (size_t i = 0; i < a->penetration_count; ++i) {
        if (a->penetration[i].key == key) {
            return a->penetration[i].gap;
        }
    }
    return 0.0;
}

/* Features that are found by the expected rotation can be present at the end of a step and not
 * at its start. Those of a pair in contact, which may overlap within `error`, are an event only
 * if they get deeper. */
static double unknown_depth(const perp_sim* sim, uint64_t key)
{
    const perpi_adaptive* a = &sim->halves;
    bool known = !sim->work.contact_model->groups, candidates = false;
    for (size_t i = 0; i < a->penetration_count; ++i) {
        known = known || a->penetration[i].key == key;
    }
    for (size_t i = 0; i < a->key_count; ++i) {
        candidates = candidates || perpi_key_same_shapes(a->key[i], key);
    }
    return !known && candidates ? perpi_closed_tolerance(&sim->work, key) : 0.0;
}

/* What a contact that took part without an impulse may be deeper at the end than at the start. */
static double depth_of_open_part(const perp_sim* sim, uint64_t key, double initial)
{
    const double tolerance = perpi_closed_tolerance(&sim->work, key);
    return initial < -tolerance ? tolerance : tolerance + initial;
}

/* Gap of a group: that of its most open member. INFINITY if a member had an impulse in the step,
 * because the constraint already bounds its gap. */
static double group_gap(const perp_sim* sim, const perpi_candidate* candidate, size_t count,
                        const perpi_candidate* of)
{
    const perpi_adaptive* a = &sim->halves;
    double most = -INFINITY, deepest = 0.0;
    bool open_part = false;
    for (size_t i = 0; i < count; ++i) { /* group numbers are unique only within a pair of shapes */
        if (candidate[i].group != of->group || candidate[i].shape_a != of->shape_a ||
            candidate[i].shape_b != of->shape_b) {
            continue;
        }
        const uint64_t key = perpi_candidate_key(&candidate[i]);
        const trial_part part = part_in_trial(a, key);
        if (part == PART_PUSHED) {
            return INFINITY;
        }
        open_part = open_part || part == PART_OPEN;
        most = candidate[i].gap > most ? candidate[i].gap : most;
        deepest = initial_penetration(a, key) < deepest ? initial_penetration(a, key) : deepest;
    }
    const uint64_t key = perpi_candidate_key(of);
    return most - deepest +
           (open_part ? depth_of_open_part(sim, key, deepest) : unknown_depth(sim, key));
}

/* The smallest gap at the end of the trial among contacts that took no part in it. */
static perp_status open_gap(perp_sim* sim, double* gap)
{
    const perpi_candidate* candidate;
    size_t count;
    perpi_step_poses(&sim->work, sim->trial.state.q);
    const perp_status status =
        perpi_collide(sim->work.collider, sim->work.pose, sim->work.margin, &candidate, &count);
    *gap = INFINITY;
    for (size_t i = 0; status == PERP_OK && i < count; ++i) {
        const uint64_t key = perpi_candidate_key(&candidate[i]);
        const trial_part part = candidate[i].gap < *gap && candidate[i].group == 0
                                    ? part_in_trial(&sim->halves, key)
                                    : PART_PUSHED;
        if (part != PART_PUSHED) {
            const double initial = initial_penetration(&sim->halves, key);
            *gap = fmin(*gap, candidate[i].gap - initial +
                                  (part == PART_OPEN ? depth_of_open_part(sim, key, initial)
                                                     : unknown_depth(sim, key)));
        }
        if (candidate[i].group != 0) {
            *gap = fmin(*gap, group_gap(sim, candidate, count, &candidate[i]));
        }
    }
    return status;
}

/* Change of energy by the extrapolation from the end of the second half, which is in q_plain and
 * v_plain. */
static void account_extrapolation(perp_sim* sim, perp_ledger* ledger)
{
    const perpi_adaptive* a = &sim->halves;
    const perp_model* model = sim->model;
    ledger->extrapolation =
        perpi_energy_change(model, !sim->stepper->equilibrium_search, a->q_plain, a->v_plain,
                            sim->trial.state.q, sim->trial.state.v);
    if (model->spring_count > 0) {
        ledger->extrapolation +=
            perpi_spring_energy(model, sim->trial.state.q) - perpi_spring_energy(model, a->q_plain);
    }
    ledger->change += ledger->extrapolation;
    perpi_ledger_close(ledger);
}

/* Where the motion is smooth, extrapolation cancels the energy error of the scheme in the two
 * halves up to terms of third order, and changes the dissipation of friction only in second
 * order. If it returns more than half of what both removed, it returns energy that physical laws
 * dissipated: the halves differ by a jump (a contact impacts in one of them only), and
 * extrapolation does not improve on them. docs/notation.md, "Adaptive steps". */
static bool extrapolation_returns_energy(const perp_sim* sim, const perp_ledger* l, double kinetic)
{
    const double scheme =
        l->gap + l->joint_error + l->gyroscopic + l->spring_error + l->step_loss + l->projection;
    const double laws =
        l->drag + l->springs + l->friction + l->impacts + l->joints; /* each is <= 0 */
    const double gain = scheme + l->extrapolation;
    return gain > 0.5 * (fabs(scheme) + fabs(laws)) + GAIN_PART * sim->def.error * kinetic;
}

/* Uses the state at the end of the two halves instead of the extrapolated one. */
static void use_half_steps(perp_sim* sim, perp_ledger* ledger)
{
    const perpi_adaptive* a = &sim->halves;
    copy(sim->trial.state.q, a->q_plain, sim->work.q_size);
    copy(sim->trial.state.v, a->v_plain, sim->work.v_size);
    copy(sim->trial.state.memory, a->s_plain, sim->work.s_size);
    ledger->change -= ledger->extrapolation;
    ledger->extrapolation = 0.0;
    perpi_ledger_close(ledger);
}

/* A step of h into `whole`, and two of h/2: the first into `half`, the second into the trial. */
static perp_status half_steps(perp_sim* sim, double h, const perpi_filter* filter,
                              perp_step_info* sum)
{
    perpi_adaptive* a = &sim->halves;
    perpi_trial* end = &sim->trial;
    perp_status status =
        perpi_try_step(&sim->work, sim->stepper, &sim->state, h, filter, &a->whole);
    if (status != PERP_OK) {
        return status;
    }
    *sum = *a->whole.info;
    a->key_count = 0;
    status = remember_keys(sim, &a->whole.state.contacts, false);
    if (status == PERP_OK) {
        status = perpi_try_step(&sim->work, sim->stepper, &sim->state, 0.5 * h, filter, &a->half);
    }
    if (status != PERP_OK) {
        return status;
    }
    gather_info(sum, a->half.info);
    perpi_filter second = *filter;
    second.before = &a->half.state;
    status = perpi_try_step(&sim->work, sim->stepper, &a->half.state, 0.5 * h, &second, end);
    if (status != PERP_OK) {
        return status;
    }
    gather_info(sum, end->info);
    perp_ledger_add(&sum->ledger, &a->half.info->ledger);
    copy(a->q_plain, end->state.q, sim->work.q_size);
    copy(a->v_plain, end->state.v, sim->work.v_size);
    copy(a->s_plain, end->state.memory, sim->work.s_size);
    copy(a->v_end_next, end->v_solved != NULL ? end->v_solved : end->state.v, sim->work.v_size);
    return remember_keys(sim, &end->state.contacts, true);
}

/* The filter of a step of length h. */
static perpi_filter filter_of(perp_sim* sim, double h, bool accept_unsolved)
{
    return (perpi_filter){.closing = &sim->closing,
                          .closed = true,
                          .standing = sim->halves.standing,
                          .ease = perpi_adaptive_ease(sim, sim->halves.h_next, h),
                          .accept_unsolved = accept_unsolved};
}

/* Computes a trial step of length h: the next state, its error, and the smallest open gap. */
static perp_status try_length(perp_sim* sim, double h, bool accept_unsolved, double* error,
                              double* gap)
{
    perp_step_info sum = {0};
    perpi_trial* end = &sim->trial;
    const perpi_filter filter = filter_of(sim, h, accept_unsolved);
    const double kinetic = perp_sim_energy(sim).kinetic;
    sim->halves.ease = filter.ease;
    perp_status status = half_steps(sim, h, &filter, &sum);
    if (status != PERP_OK) {
        return status;
    }
    *error = extrapolate(sim, h, &end->state);
    account_extrapolation(sim, &sum.ledger);
    if (extrapolation_returns_energy(sim, &sum.ledger, kinetic)) {
        use_half_steps(sim, &sum.ledger);
    }
    status = open_gap(sim, gap);
    if (status == PERP_OK) { /* along the whole step */
        perpi_step_bind(&sim->work, &sim->state, h, &filter, end);
        status = perpi_path_gap(&sim->work, h, sim->halves.key, sim->halves.key_count, gap);
    }
    *end->info = sum;
    return status;
}

/* ---- the step --------------------------------------------------------------------------------------*/

/* The step length at which the open gap is zero, between 0 and `high`, where it is negative.
 * Regula falsi with the Illinois correction, and bisection while the lower end is not known to
 * be open. */
static perp_status find_contact_time(perp_sim* sim, double high, double gap_high,
                                     bool accept_unsolved, double* h, double* error,
                                     int32_t* trials)
{
    const double zero = zero_gap(sim);
    double low = 0.0, gap_low = -1.0, gap = gap_high;
    int last = 0;
    for (int i = 0; i < MAX_SEARCH; ++i) {
        const bool known = gap_low > 0.0;
        double x =
            known ? low + (high - low) * (gap_low / (gap_low - gap_high)) : 0.5 * (low + high);
        if (!(x > low && x < high)) {
            x = 0.5 * (low + high);
        }
        const double end = sim->state.time + x;
        x = end - sim->state.time;
        if (!(x > low && x < high)) {
            break; /* the bracket is one ulp wide */
        }
        const perp_status status = try_length(sim, x, accept_unsolved, error, &gap);
        *trials += 1;
        *h = x;
        if (status != PERP_OK || fabs(gap) <= zero) {
            return status;
        }
        if (gap > 0.0) {
            gap_high = last > 0 && known ? 0.5 * gap_high : gap_high;
            low = x;
            gap_low = gap;
            last = 1;
        } else {
            gap_low = last < 0 && known ? 0.5 * gap_low : gap_low;
            high = x;
            gap_high = gap;
            last = -1;
        }
    }
    /* the bracket is one ulp wide: take the closed end */
    *h = high;
    *trials += 1;
    return try_length(sim, high, accept_unsolved, error, &gap);
}

/* Closing accelerations of moving contacts, from a step without them. Its length is the time in
 * which the slowest would rise in a flight just `error` high, and at most that of the first
 * step: in a longer one friction stops sliding bodies. The acceleration is bounded by the speed
 * gained: a jump within the step (a closed contact that is brought to rest) is no lasting
 * acceleration. */
static perp_status find_closing(perp_sim* sim, double longest, bool accept_unsolved)
{
    perpi_closing_list* list = &sim->closing;
    const double tolerance = sim->def.error * perpi_scene_size(sim->model);
    double h = fmin(longest, sim->def.step), slowest = INFINITY;
    for (size_t i = 0; i < list->count; ++i) {
        slowest = fmin(slowest, fabs(list->item[i].u));
    }
    h = h * slowest > 2.0 * tolerance ? 2.0 * tolerance / slowest : h;
    const perpi_filter filter = filter_of(sim, h, accept_unsolved);
    const perp_status status =
        perpi_try_step(&sim->work, sim->stepper, &sim->state, h, &filter, &sim->trial);
    if (status == PERP_OK) {
        perpi_measure_closing(&sim->work, list);
    }
    for (size_t i = 0; status == PERP_OK && i < list->count; ++i) {
        const double gain = list->item[i].closing;
        list->item[i].closing = fmin(gain / h, 0.5 * gain * gain / tolerance);
    }
    return status == PERP_ERROR_SOLVE ? PERP_OK : status; /* no solution: nothing known */
}

/* The contacts at the start of the step. */
typedef struct surroundings {
    bool impacting; /* some contact is impacting */
    double limit;   /* upper bound of the step length by the nearest open contact */
} surroundings;

/* Whether a contact of the list takes part in an impact, and how long the step may be. ask:
 * closing accelerations of moving contacts are still to be computed. */
static perp_status classify_contact(perp_sim* sim, const perp_contact* c, const perpi_standing* s,
                                    bool ask, surroundings* out, size_t* kept)
{
    perpi_step* step = &sim->work;
    perpi_adaptive* a = &sim->halves;
    const double closed_gap = 4.0 * zero_gap(sim);
    if (ask && s->member && s->gap <= perpi_closed_tolerance(step, c->key) && !s->closed) {
        perpi_approach own;
        perp_status status = perpi_approach_of(step, c, &own);
        if (status == PERP_OK) {
            status = perpi_remember_closing(sim->context, &sim->closing, c, own.u);
        }
        if (status != PERP_OK) {
            return status;
        }
    }
    a->penetration[a->penetration_count++] =
        (perpi_penetration){c->key, s->gap < 0.0 ? s->gap : 0.0};
    const bool near = s->gap <= closed_gap, approaches = s->by.u < -s->by.slow;
    if ((near || s->closed) && !s->member) {
        return PERP_OK; /* belongs to another side of the body */
    }
    if (near && approaches) {
        const double e = perp_model_pair_restitution(sim->model, c->body_a, c->body_b);
        out->impacting = true;
        sim->impact.hit[*kept] = (perpi_hit){.e = e, .impacting = true};
        step->to->contacts.item[(*kept)++] = *c;
    } else if (near || s->closed) {
        sim->impact.hit[*kept] = (perpi_hit){0};
        step->to->contacts.item[(*kept)++] = *c;
    } else if (approaches) {
        out->limit = fmin(out->limit, 2.0 * s->gap / -s->by.u);
    }
    return PERP_OK;
}

static perp_status classify_contacts(perp_sim* sim, double h, const perpi_filter* filter, bool ask,
                                     surroundings* out)
{
    perpi_step* step = &sim->work;
    perpi_adaptive* a = &sim->halves;
    const perpi_candidate* candidate;
    size_t count, kept = 0;
    *out = (surroundings){.limit = INFINITY};
    step->stepper = sim->stepper;
    perpi_step_bind(step, &sim->state, h, filter, &sim->trial);
    perpi_contact_list* contacts = &step->to->contacts;
    perpi_step_poses(step, step->from->q);
    perpi_joint_inputs(step);
    perpi_collider_set_rule(step->collider, step->contact_model->rule, NULL, 0);
    perp_status status = perpi_find_margins(step, h);
    if (status == PERP_OK) {
        status = perpi_collide(step->collider, step->pose, step->margin, &candidate, &count);
    }
    if (status == PERP_OK) {
        status = perpi_build_contacts(step, step->from->time, candidate, count, contacts);
    }
    if (status == PERP_OK) {
        status = perpi_grow(sim->context, &sim->impact.hit, &sim->impact.hit_capacity,
                            contacts->count, sizeof *sim->impact.hit);
    }
    if (status == PERP_OK) {
        status = perpi_grow(sim->context, &a->penetration, &a->penetration_capacity,
                            contacts->count, sizeof *a->penetration);
    }
    a->penetration_count = 0;
    if (status == PERP_OK) {
        status = perpi_stand_all(step, a->standing);
    }
    for (size_t i = 0; status == PERP_OK && i < contacts->count; ++i) {
        const perp_contact c = contacts->item[i];
        status = classify_contact(sim, &c, &a->standing->item[i], ask, out, &kept);
    }
    contacts->count = status == PERP_OK ? kept : contacts->count;
    return status;
}

/* End time of a step of at most h. A remainder longer than h and up to 2 h is divided into two
 * equal steps. */
static double end_of_step(const perp_sim* sim, double h)
{
    const double left = sim->def.duration - sim->state.time;
    const double middle = sim->state.time + 0.5 * left;
    if (h >= left || !(middle > sim->state.time && middle < sim->def.duration)) {
        return sim->def.duration;
    }
    return h > 0.5 * left ? middle : sim->state.time + h;
}

/* Computes the step with the length that the error allows, into the trial. limit: upper bound by
 * the nearest open contact. */
static perp_status find_length(perp_sim* sim, double limit, bool accept_unsolved)
{
    perpi_adaptive* a = &sim->halves;
    const double left = sim->def.duration - sim->state.time;
    const perp_step_kind before = sim->info->kind;
    double wish = fmin(a->h_next, sim->def.step_max), h = wish, error = 0.0, gap = INFINITY;
    int32_t trials = 0;
    perp_status status = PERP_OK;
    while (status == PERP_OK) {
        h = fmax(fmin(wish, limit), sim->def.step_min);
        const double end = end_of_step(sim, h);
        h = end - sim->state.time;
        status = try_length(sim, h, accept_unsolved, &error, &gap);
        trials += 1;
        if (status != PERP_OK) {
            break;
        }
        const double factor = 0.9 * sqrt(sim->def.error / fmax(error, 1e-300));
        if (error > sim->def.error && h > sim->def.step_min && trials < MAX_TRIALS) {
            wish = h * fmax(factor, 0.2);
            continue;
        }
        /* a step cut for other reasons than its error gives no estimate for the next */
        wish = h < wish && error <= sim->def.error ? fmax(wish, h * fmin(factor, 3.0))
                                                   : h * fmin(fmax(factor, 0.2), 3.0);
        if (gap < -zero_gap(sim)) {
            const double beyond = h;
            status = find_contact_time(sim, h, gap, accept_unsolved, &h, &error, &trials);
            /* A gap that is negative after every step length, although no contact was closed or
             * impacting: its features are found only at the end of the step. So is that of an event right after
             * another one that no impact followed. The length grows with each such step, so that time
             * advances. */
            const double h_last = sim->state.h_last;
            const double last = h_last < 1e6 * sim->def.step_min ? h_last : 0.0;
            const double tiny = fmax(sim->def.step_min, 2.0 * last);
            if (status == PERP_OK && h < tiny && before == PERP_STEP_TIME) {
                h = fmin(16.0 * fmax(sim->def.step_min, last), beyond);
                h = end_of_step(sim, h) - sim->state.time;
                status = try_length(sim, h, accept_unsolved, &error, &gap);
                trials += 1;
            }
        }
        break;
    }
    if (status == PERP_OK) {
        perpi_trial* trial = &sim->trial;
        a->h_next = fmin(fmax(wish, sim->def.step_min), sim->def.step_max);
        trial->state.h_last = h;
        trial->state.time = h >= left ? sim->def.duration : sim->state.time + h;
        trial->info->kind = PERP_STEP_TIME;
        trial->info->rounds = trials;
        perpi_joint_measure(sim->model, trial->state.q, trial->state.joint,
                            trial->info->joint_error);
    }
    return status;
}

perp_status perpi_drive_adaptive(perp_sim* sim, bool accept_unsolved)
{
    perpi_adaptive* a = &sim->halves;
    perpi_step* step = &sim->work;
    const double left = sim->def.duration - sim->state.time;
    const double h = fmin(fmin(a->h_next, sim->def.step_max), left);
    const perpi_filter filter = filter_of(sim, h, accept_unsolved);
    surroundings around;
    sim->closing.count = 0;
    if (sim->info->kind == PERP_STEP_COMPRESSION) {
        step->stepper = sim->stepper;
        perpi_step_bind(step, &sim->state, h, &filter, &sim->trial);
        return perpi_decompression_step(step);
    }
    perp_status status = classify_contacts(sim, h, &filter, true, &around);
    if (status == PERP_OK && sim->closing.count > 0) {
        status = find_closing(sim, h, accept_unsolved);
        if (status == PERP_OK) {
            status = classify_contacts(sim, h, &filter, false, &around);
        }
    }
    if (status == PERP_OK && around.impacting &&
        sim->info->impacts_in_a_row < PERPI_IMPACTS_IN_A_ROW) {
        /* the steps before the impact give no estimate for the motion after it */
        a->h_next = fmin(a->h_next, sim->def.step);
        return perpi_impact_step(step);
    }
    return status == PERP_OK ? find_length(sim, around.limit, accept_unsolved) : status;
}
