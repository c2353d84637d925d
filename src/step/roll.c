/* src/step/roll.c - a middle step of bodies that roll, spin or slide on one contact each.
 *
 * Source     the midpoint rule, as in middle.c, with the laws of contacts at the end of the step
 * Method     with v* the mean velocities of the step, and theta = 1/2,
 *                I_m w* - L = theta (h torque_m + r_m x p),  m (v* - v) = theta (h f_m + p),
 *                q' = q + h v*,  v' = 2 v* - v,  I' w' = L + h torque_m + r_m x p
 *            where the index m is the middle: inertia, forces, contact point and normal are those of the pose
 *            half way. The laws hold for u' = J' v', the relative velocity at the contact of the end,
 *                0 <= p_n  perp  u'_n + 2 gap'/h >= 0,   p_t in F(mu p_n), most dissipative for u'_t,
 *            or for the slip of the middle J_m v* where a body slides faster than friction can stop in the step.
 *            The gap term is that of the end, too, and small there: it keeps errors of the order of h^3 from
 *            adding up. Second order in h; a step loses energy of the order of h^4, and what the
 *            laws of the end have taken from an impact it does not give back, as mean velocities would.
 * Problem    rows of v*: J_m v* + b, with J_m of the middle and b (gap and drift of the contact, which are
 *            recorded) such that J_m v* + b = (u'_n + 2 gap'/h)/4 and u'_t/2 at the end that v* leads to.
 *            These have the derivative J_m by v* but for terms of the order of h w: problems are
 *            formulated at the answer of the last one until it holds at its own end. b_t = 0 for the slip of the middle.
 *
 * Only for bodies with one contact with a fixed body that approach it no faster than their own
 * acceleration allows in a step: an impact has no middle. Derivation: docs/notation.md.
 *
 * Several bodies: each that may roll has a middle step as if it were alone, because it meets no other in this step.
 * The others have a step of the start. All of them are one problem that is checked and recorded.
 */
#include "step/roll.h"

#include <string.h>

#include "step/pack.h"

enum { MAX_ITERATIONS = 30, PLAIN_ITERATIONS = 2 };
/* Residuals of the laws at the end of the step: where to stop, and where to stop if another iteration no
 * longer halves them; and where acceleration only adds rounding. */
static const double GOAL = 1e-14;
static const double ENOUGH = 1e-10;
static const double NEAR = 1e-9;
/* Of each solve. */
static const double SHARP = 1e-13;
/* Bodies that turn further in a step have the contact of the start. */
static const double LARGEST_TURN = 0.5;

static const perp_contact* find_key(const perpi_contact_list* list, uint64_t key)
{
    for (size_t i = 0; i < list->count; ++i) {
        if (list->item[i].key == key) {
            return &list->item[i];
        }
    }
    return NULL;
}

/* The dynamic body of a contact with a fixed one; -1: both are dynamic, or none. */
static int32_t body_of(const perp_model* model, const perp_contact* c)
{
    const bool a = model->body[c->body_a].dofs > 0, b = model->body[c->body_b].dofs > 0;
    return a == b ? -1 : a ? c->body_a : c->body_b;
}

/* The velocity of a body's point at a contact relative to the fixed body, towards B. x: the centre. */
static vec3 speed_at(const perp_model* model, const perp_contact* c, vec3 x, vec3 v, vec3 w)
{
    const bool second = model->body[c->body_b].dofs > 0;
    const vec3 point =
        second ? v3_madd(v3_from(c->point), c->gap, v3_from(c->normal)) : v3_from(c->point);
    return v3_scale(second ? 1.0 : -1.0, v3_add(v, v3_cross(w, v3_sub(point, x))));
}

/* ---- whether there is one --------------------------------------------------------------------------*/

/* Whether the contact acts, as far as the body's own motion tells, and how fast the body approaches it beyond
 * what weight and centripetal acceleration give in a step. */
static bool is_closing(const perpi_step* step, const perp_contact* c, int32_t body, bool* hits)
{
    const perp_model* model = step->model;
    const vec3 n = v3_from(c->normal), x = step->pose[body].x;
    const vec3 w = perpi_state_rate(model, step->from->v, body);
    const vec3 u = speed_at(model, c, x, perpi_state_velocity(model, step->from->v, body), w);
    const double sign = model->body[c->body_b].dofs > 0 ? 1.0 : -1.0;
    const double rate = v3_dot(n, u), weight = sign * v3_dot(n, model->body[body].gravity);
    const double arm = v3_norm(v3_sub(v3_from(c->point), x));
    const double own = step->h * (v3_norm(model->body[body].gravity) + v3_dot(w, w) * arm);
    const bool closing = c->gap + step->h * (rate + step->h * weight) < 0.0;
    *hits = closing && !(rate >= -own);
    return closing;
}

/* The contacts of a list that press a body. */
static int32_t count_pressing(const perpi_contact_list* list, int32_t body)
{
    int32_t count = 0;
    for (size_t k = 0; k < list->count; ++k) {
        const perp_contact* c = &list->item[k];
        count += c->impulse[0] > 0.0 && (c->body_a == body || c->body_b == body);
    }
    return count;
}

/* Whether steps of this kind are tried at all: not after an attempt with other contacts, or without a solution. */
static bool may_try(const perpi_step* step)
{
    const perpi_attempts* a = &step->attempts;
    return !(step->smooth != NULL || step->accept_unsolved || a->crossings > 0 ||
             a->fallbacks > 0 || step->exception.count > 0 || step->kept.any || step->kept.all);
}

/* Whether a body has one contact that closes, with a fixed body, and does not hit it; a second one may be
 * near (the other rim of a coin that stands up), but did not press in the last step. */
static bool may_roll(const perpi_step* step, int32_t i)
{
    const perp_model* model = step->model;
    const perpi_contact_list* list = &step->to->contacts;
    int32_t closing = 0;
    bool rolls = step->roll.able[i] != 0, hits = false;
    for (size_t k = 0; k < list->count && rolls; ++k) {
        const perp_contact* c = &list->item[k];
        if (c->body_a == i || c->body_b == i) {
            bool hit = false;
            rolls = body_of(model, c) == i && c->group == 0;
            closing += rolls && is_closing(step, c, i, &hit);
            hits = hits || hit;
        }
    }
    const double turn = step->h * v3_norm(perpi_state_rate(model, step->from->v, i));
    return rolls && closing >= 1 && closing <= 2 && !hits && turn <= LARGEST_TURN &&
           count_pressing(&step->from->contacts, i) < 2;
}

/* ---- one iteration ---------------------------------------------------------------------------------*/

static perp_status find_contacts(perpi_step* step, double t, perpi_contact_list* list)
{
    const perpi_candidate* candidate;
    size_t count;
    const perp_status status = perpi_find_features(step, true, &candidate, &count);
    return status == PERP_OK ? perpi_build_contacts(step, t, candidate, count, list) : status;
}

/* The angular velocity at the end of the step, of the momentum that w* gives. */
static vec3 rate_at_end(const perpi_step* step, int32_t body, const perpi_pose* middle,
                        const perpi_pose* end, vec3 mean)
{
    const perpi_body* b = &step->model->body[body];
    const perpi_pose start = perpi_state_pose(step->model, step->q_from, body);
    const vec3 w = perpi_state_rate(step->model, step->v_from, body);
    if (step->model->dimension == 2 || perpi_inertia_round(b)) {
        return v3_sub(v3_scale(2.0, mean), w);
    }
    const vec3 at_start = m3_mul(perpi_world_inertia(b, &start), w);
    const vec3 at_middle = m3_mul(perpi_world_inertia(b, middle), mean);
    const vec3 L = v3_sub(v3_scale(2.0, at_middle), at_start);
    return m3_mul(end->R, m3_mul(m3_inverse(b->inertia), m3_tmul(end->R, L)));
}

/* Whether a contact of the start slides so fast that friction cannot stop it in the step: friction then has
 * the direction of the mean slip, of second order. A slip that ends within the step would be reversed. */
static bool slides_on(const perpi_step* step, const perp_contact* c)
{
    const perp_model* model = step->model;
    if (c == NULL) {
        return false;
    }
    const int32_t i = body_of(model, c);
    const perpi_body* body = &model->body[i];
    const vec3 x = perpi_state_pose(model, step->q_from, i).x, n = v3_from(c->normal);
    const vec3 w = perpi_state_rate(model, step->v_from, i);
    const vec3 u = speed_at(model, c, x, perpi_state_velocity(model, step->v_from, i), w);
    const vec3 r = v3_sub(v3_from(c->point), x);
    const mat3* I = &body->inertia;
    const double least =
        model->dimension == 2 ? I->m[2][2] : fmin(I->m[0][0], fmin(I->m[1][1], I->m[2][2]));
    const double push = v3_norm(body->gravity) + v3_dot(w, w) * v3_norm(r);
    const double stop = step->h * push * (c->mu * (1.0 + body->mass * v3_dot(r, r) / least) + 1.0);
    return v3_norm(v3_madd(u, -v3_dot(n, u), n)) > stop;
}

/* b of a contact c of the middle, e the same feature at the end, into c->drift. */
static void set_drift(const perpi_step* step, perp_contact* c, const perp_contact* e)
{
    const perp_model* model = step->model;
    const perpi_step_input in = perpi_step_inputs(step);
    const int32_t body = body_of(model, c);
    const vec3 v = perpi_state_velocity(model, step->v_from, body);
    const vec3 mean = perpi_state_velocity(model, step->to->v, body);
    const vec3 turn = perpi_state_rate(model, step->to->v, body);
    const perpi_pose middle =
        perpi_middle_pose(&in, step->to->v, body, perpi_state_pose(model, step->q_from, body));
    const perpi_pose end = perpi_state_pose(model, step->to->q, body);
    const vec3 n = v3_from(c->normal), t = v3_from(c->tangent), o = v3_cross(n, t);
    const vec3 now = speed_at(model, c, middle.x, mean, turn);
    const vec3 then = speed_at(model, e, end.x, v3_sub(v3_scale(2.0, mean), v),
                               rate_at_end(step, body, &middle, &end, turn));
    const vec3 normal = v3_from(e->normal);
    const double away = v3_dot(normal, then);
    const vec3 along = v3_madd(then, -away, normal);
    c->drift[0] = 0.25 * away + 0.5 * e->gap / step->h - v3_dot(n, now) - c->gap / step->h;
    const bool slides = slides_on(step, find_key(&step->roll.start, c->key));
    c->drift[1] = slides ? 0.0 : 0.5 * v3_dot(t, along) - v3_dot(t, now);
    c->drift[2] = slides ? 0.0 : 0.5 * v3_dot(o, along) - v3_dot(o, now);
}

/* The part of a body in the problem. */
static perpi_step_part part_of(const perpi_step* step, int32_t body)
{
    return step->roll.part != NULL ? (perpi_step_part)step->roll.part[body] : PERPI_PART_MIDDLE;
}

static bool takes_part(const perpi_step* step, const perp_contact* c)
{
    const bool a = step->model->body[c->body_a].dofs > 0, b = step->model->body[c->body_b].dofs > 0;
    return (a && part_of(step, c->body_a) != PERPI_PART_ABSENT) ||
           (b && part_of(step, c->body_b) != PERPI_PART_ABSENT);
}

/* Leaves out the contacts of absent bodies. */
static void leave_out(const perpi_step* step, perpi_contact_list* list)
{
    size_t count = 0;
    for (size_t i = 0; i < list->count && step->roll.part != NULL; ++i) {
        if (takes_part(step, &list->item[i])) {
            list->item[count++] = list->item[i];
        }
    }
    list->count = step->roll.part != NULL ? count : list->count;
}

/* Absent bodies stand. */
static void hold_absent(perpi_step* step)
{
    const size_t stride = (size_t)perpi_q_stride(step->model);
    for (size_t i = 0; i < step->model->body_count && step->roll.part != NULL; ++i) {
        if (step->roll.part[i] == PERPI_PART_ABSENT) {
            memcpy(step->to->q + i * stride, step->q_from + i * stride,
                   stride * sizeof *step->to->q);
        }
    }
}

/* Contacts of the middle into step->to->contacts, and those of the end into step->roll.end, for the mean
 * velocities step->to->v. *seen: whether those that are closed at the end are there at the middle. */
static perp_status place_contacts(perpi_step* step, bool* seen)
{
    const perp_model* model = step->model;
    perpi_roll* roll = &step->roll;
    const perpi_step_input in = perpi_step_inputs(step);
    memcpy(step->to->q, step->q_from, (size_t)step->q_size * sizeof *step->to->q);
    perp_status status = step->stepper->advance(&in, step->to->q, step->to->v);
    if (status == PERP_OK) {
        hold_absent(step);
        perpi_step_poses(step, step->to->q);
        status = find_contacts(step, step->from->time + step->h, &roll->end);
    }
    for (int32_t i = 0; i < (int32_t)model->body_count; ++i) {
        const perpi_pose start = perpi_state_pose(model, step->q_from, i);
        step->pose[i] = part_of(step, i) == PERPI_PART_ABSENT
                            ? start
                            : perpi_middle_pose(&in, step->to->v, i, start);
    }
    if (status == PERP_OK) {
        status = find_contacts(step, step->from->time + 0.5 * step->h, &roll->middle);
    }
    perpi_step_poses(step, step->from->q);
    if (status != PERP_OK) {
        return status;
    }
    leave_out(step, &roll->end);
    leave_out(step, &roll->middle);
    *seen = true;
    for (size_t i = 0; i < roll->end.count; ++i) {
        const perp_contact* e = &roll->end.item[i];
        *seen = *seen && (e->gap >= 0.0 || find_key(&roll->middle, e->key) != NULL);
    }
    for (size_t i = 0; i < roll->middle.count && *seen; ++i) {
        perp_contact* c = &roll->middle.item[i];
        const perp_contact* e = find_key(&roll->end, c->key);
        *seen = body_of(model, c) >= 0 && c->group == 0;
        if (*seen && e != NULL) {
            set_drift(step, c, e);
        }
    }
    perpi_carry_impulses(&step->to->contacts, &roll->middle);
    const perpi_contact_list before = step->to->contacts;
    step->to->contacts = roll->middle;
    roll->middle = before;
    return PERP_OK;
}

static perp_status formulate_roll(perpi_step* step)
{
    perpi_step_input in = perpi_step_inputs(step);
    in.middle = in.rolls = true;
    in.part = step->roll.part;
    in.q_end = step->to->q;
    in.v_end = step->to->v;
    perp_status status = step->stepper->formulate(step->formulation, &in);
    if (status == PERP_OK) {
        status = perpi_step_room(step, step->formulation);
    }
    if (status == PERP_OK) {
        step->has_problem = true;
        perpi_step_guess(step, step->to->v);
    }
    return status;
}

/* Contacts that press only by the rounding of a solver do not press. */
static void clear_slight(perpi_step* step)
{
    static const double SLIGHT = 1e-9; /* of the largest impulse */
    const perpi_formulation* f = step->formulation;
    double largest = 0.0;
    for (int32_t i = 0; i < f->contact_count; ++i) {
        const double p = step->p_problem[f->constraint[i].row];
        largest = p > largest ? p : largest;
    }
    for (int32_t i = 0; i < f->contact_count; ++i) {
        double* p = step->p_problem + f->constraint[i].row;
        if (!(p[0] > SLIGHT * largest)) {
            memset(p, 0, (size_t)f->constraint[i].rows * sizeof *p);
        }
    }
}

/* The answer of the problem as the next mean velocities. */
static perp_status solve_roll(perpi_step* step, bool accelerated, bool* solved)
{
    perpi_outer* outer = &step->outer;
    const perp_solve_options options =
        perpi_step_options(step, SHARP < step->tolerance ? SHARP : step->tolerance);
    const int32_t iterations = step->report.iterations;
    const perp_status status =
        perp_contact_solve(step->solver, &step->formulation->problem, &options, true,
                           step->v_problem, step->p_problem, &step->residual, &step->report);
    step->report.iterations += iterations;
    *solved = status == PERP_OK && (step->report.outcome == PERP_OUTCOME_SOLVED ||
                                    step->residual.worst <= step->tolerance);
    if (!*solved) {
        return status;
    }
    clear_slight(step);
    memcpy(outer->v, step->to->v, (size_t)step->v_size * sizeof *outer->v);
    perpi_unpack(step->formulation, step->model, step->v_problem, step->p_problem,
                 step->to->contacts.item, step->to->joint);
    perpi_step_take_velocities(step);
    if (accelerated) {
        perpi_anderson_next(&outer->anderson, outer->v, step->to->v, step->to->v);
    }
    return PERP_OK;
}

/* Every body is pressed by exactly one contact. */
static bool is_pressed(const perpi_step* step)
{
    const perp_model* model = step->model;
    bool pressed = true;
    for (int32_t i = 0; i < (int32_t)model->body_count; ++i) {
        pressed = pressed && (model->body[i].dofs == 0 || part_of(step, i) == PERPI_PART_ABSENT ||
                              count_pressing(&step->to->contacts, i) == 1);
    }
    return pressed;
}

/* Whether contacts add more energy than the error of a motion that the step resolves: where the contact moves
 * far over a body (flat sides, thin rims), directions of the middle are not those of the step. */
static bool gains(const perpi_step* step)
{
    static const double MOST = 0.01; /* of the kinetic energy */
    const perpi_formulation* f = step->formulation;
    const double* M = f->M;
    double work = 0.0, kinetic = 0.0;
    for (int32_t i = 0; i < f->contact_count; ++i) {
        const int32_t row = f->constraint[i].row;
        const double* p = step->p_problem + row;
        work += p[0] * perpi_formulation_speed(f, i, 0, step->v_problem);
        for (int32_t r = 1; r < f->constraint[i].rows; ++r) { /* beside what friction takes */
            work -= p[r] * f->b[row + r];
        }
    }
    for (int32_t block = 0; block < f->problem.block_count; ++block) {
        const int32_t first = f->dof[block], n = f->dof[block + 1] - first;
        for (int32_t i = 0; i < n; ++i, M += n) {
            for (int32_t k = 0; k < n; ++k) {
                kinetic += 0.5 * step->v_problem[first + i] * M[k] * step->v_problem[first + k];
            }
        }
    }
    return !(work / f->theta <= MOST * kinetic);
}

static perp_status iterate(perpi_step* step, bool* done)
{
    double before = INFINITY;
    bool seen = true, within = false, solved = true;
    perp_status status = PERP_OK;
    step->report = (perp_report){0};
    perpi_anderson_forget(&step->outer.anderson);
    memcpy(step->to->v, step->v_from, (size_t)step->v_size * sizeof *step->to->v);
    for (int32_t i = 0; i < MAX_ITERATIONS && status == PERP_OK && solved && !*done; ++i) {
        status = place_contacts(step, &seen);
        if (status != PERP_OK || !seen) {
            return status;
        }
        status = formulate_roll(step);
        if (status == PERP_OK && i > 0) {
            status = perpi_step_check(step, &within);
            const double worst = step->residual.worst;
            *done = within && (worst <= GOAL || (worst <= ENOUGH && worst > 0.5 * before));
            before = worst;
        }
        if (status == PERP_OK && !*done) {
            status = solve_roll(step, i >= PLAIN_ITERATIONS && before > NEAR, &solved);
        }
    }
    if (*done) {
        step->report.outcome = PERP_OUTCOME_SOLVED;
        *done = is_pressed(step) && !gains(step);
    }
    return status;
}

/* ---- several bodies --------------------------------------------------------------------------------*/

static perp_status copy_contacts(const perpi_contact_list* from, perpi_contact_list* to)
{
    const perp_status status =
        perpi_grow(to->context, &to->item, &to->capacity, from->count, sizeof *to->item);
    if (status == PERP_OK && from->count > 0) {
        memcpy(to->item, from->item, from->count * sizeof *to->item);
    }
    to->count = status == PERP_OK ? from->count : 0;
    to->groups = from->groups;
    return status;
}

/* All dynamic bodies that rolled, or did not, are of these parts. */
static void set_parts(perpi_step* step, perpi_step_part rolled, perpi_step_part others)
{
    perpi_roll* roll = &step->roll;
    for (size_t i = 0; i < step->model->body_count; ++i) {
        const bool dynamic = step->model->body[i].dofs > 0;
        roll->part[i] = (uint8_t)(!dynamic               ? PERPI_PART_START
                                  : roll->rolled[i] != 0 ? rolled
                                                         : others);
    }
}

/* The contacts of the start of the bodies that take part, as those of the step. */
static perp_status take_start(perpi_step* step)
{
    const perp_status status = copy_contacts(&step->roll.start, &step->to->contacts);
    leave_out(step, &step->to->contacts);
    return status;
}

/* A middle step of one body, as if it were alone; its answer into step->roll. */
static perp_status roll_alone(perpi_step* step, int32_t body)
{
    perpi_roll* roll = &step->roll;
    const size_t stride = (size_t)perpi_v_stride(step->model);
    for (size_t i = 0; i < step->model->body_count; ++i) {
        const bool dynamic = step->model->body[i].dofs > 0;
        roll->part[i] = dynamic ? PERPI_PART_ABSENT : PERPI_PART_START;
    }
    roll->part[body] = PERPI_PART_MIDDLE;
    bool done = false;
    const int32_t iterations = step->report.iterations;
    perp_status status = take_start(step);
    if (status == PERP_OK) {
        status = iterate(step, &done);
    }
    step->report.iterations += iterations;
    const perpi_contact_list* found = &step->to->contacts;
    if (status != PERP_OK || !done) {
        return status;
    }
    status = perpi_grow(step->context, &roll->kept.item, &roll->kept.capacity,
                        roll->kept.count + found->count, sizeof *roll->kept.item);
    for (size_t i = 0; i < found->count && status == PERP_OK; ++i) {
        roll->kept.item[roll->kept.count] = found->item[i];
        roll->kept.item[roll->kept.count++].middle = 1;
    }
    memcpy(roll->v + (size_t)body * stride, step->to->v + (size_t)body * stride,
           stride * sizeof *roll->v);
    roll->rolled[body] = 1;
    return status;
}

/* The problem of the start of the bodies that do not roll. */
static perp_status solve_others(perpi_step* step, bool* solved)
{
    const int32_t iterations = step->report.iterations;
    set_parts(step, PERPI_PART_ABSENT, PERPI_PART_START);
    perp_status status = take_start(step);
    memcpy(step->to->v, step->v_from, (size_t)step->v_size * sizeof *step->to->v);
    memcpy(step->to->q, step->q_from, (size_t)step->q_size * sizeof *step->to->q);
    if (status == PERP_OK) {
        status = formulate_roll(step);
    }
    if (status == PERP_OK) {
        const perp_solve_options options = perpi_step_options(step, step->tolerance);
        status =
            perp_contact_solve(step->solver, &step->formulation->problem, &options, true,
                               step->v_problem, step->p_problem, &step->residual, &step->report);
    }
    *solved = status == PERP_OK && step->report.outcome == PERP_OUTCOME_SOLVED;
    step->report.iterations += iterations;
    if (*solved) {
        perpi_unpack(step->formulation, step->model, step->v_problem, step->p_problem,
                     step->to->contacts.item, step->to->joint);
        perpi_step_take_velocities(step);
    }
    return status;
}

/* Contacts of both kinds in their order, and the velocities of all bodies. */
static perp_status join_parts(perpi_step* step)
{
    perpi_roll* roll = &step->roll;
    perpi_contact_list *others = &step->to->contacts, *all = &roll->middle;
    const size_t stride = (size_t)perpi_v_stride(step->model);
    const perp_status status = perpi_grow(all->context, &all->item, &all->capacity,
                                          others->count + roll->kept.count, sizeof *all->item);
    if (status != PERP_OK) {
        return status;
    }
    size_t i = 0, k = 0;
    all->count = 0;
    all->groups = others->groups;
    while (i < others->count || k < roll->kept.count) {
        const bool other =
            k == roll->kept.count ||
            (i < others->count && perpi_contact_before(&others->item[i], &roll->kept.item[k]));
        all->item[all->count++] = other ? others->item[i++] : roll->kept.item[k++];
    }
    const perpi_contact_list before = *others;
    *others = *all;
    *all = before;
    for (size_t b = 0; b < step->model->body_count; ++b) {
        if (roll->rolled[b] != 0) {
            memcpy(step->to->v + b * stride, roll->v + b * stride, stride * sizeof *roll->v);
        }
    }
    return PERP_OK;
}

/* Middle steps of some bodies, each as if it were alone, and a step of the start of the others. */
static perp_status solve_parts(perpi_step* step, bool* done)
{
    perpi_roll* roll = &step->roll;
    int32_t rolled = 0, dynamic = 0;
    bool solved = true, within = false;
    perp_status status = PERP_OK;
    step->report = (perp_report){0};
    roll->kept.count = 0;
    for (int32_t i = 0; i < (int32_t)step->model->body_count && status == PERP_OK; ++i) {
        const bool may = roll->rolled[i] != 0;
        roll->rolled[i] = 0;
        status = may ? roll_alone(step, i) : PERP_OK;
        rolled += roll->rolled[i];
        dynamic += step->model->body[i].dofs > 0;
    }
    if (status != PERP_OK || rolled == 0) {
        return status;
    }
    set_parts(step, PERPI_PART_ABSENT, PERPI_PART_START);
    status = rolled < dynamic ? solve_others(step, &solved) : take_start(step);
    if (status != PERP_OK || !solved) {
        return status;
    }
    set_parts(step, PERPI_PART_MIDDLE, PERPI_PART_START);
    status = join_parts(step);
    const perpi_step_input in = perpi_step_inputs(step);
    memcpy(step->to->q, step->q_from, (size_t)step->q_size * sizeof *step->to->q);
    if (status == PERP_OK) {
        status = step->stepper->advance(&in, step->to->q, step->to->v);
    }
    if (status == PERP_OK) {
        status = formulate_roll(step);
    }
    if (status == PERP_OK) {
        status = perpi_step_check(step, &within);
    }
    if (status == PERP_OK && within) {
        step->report.outcome = PERP_OUTCOME_SOLVED;
        *done = !perpi_holds_differ(step->formulation, step->model, step->to->contacts.item,
                                    (int32_t)step->to->contacts.count);
    }
    return status;
}

/* Whether a body may roll, into step->roll.rolled of several. */
static bool find_rolling(perpi_step* step)
{
    bool any = false;
    for (int32_t i = 0; i < (int32_t)step->model->body_count; ++i) {
        const bool rolls = may_roll(step, i);
        if (step->roll.rolled != NULL) {
            step->roll.rolled[i] = rolls;
        }
        any = any || rolls;
    }
    return any;
}

perp_status perpi_solve_rolling(perpi_step* step, bool* done)
{
    *done = false;
    if (!may_try(step) || !find_rolling(step)) {
        return PERP_OK;
    }
    /* kept in case there is no middle step */
    perp_status status = copy_contacts(&step->to->contacts, &step->roll.start);
    if (status != PERP_OK) {
        return status;
    }
    status = step->roll.part != NULL ? solve_parts(step, done) : iterate(step, done);
    if (!*done) {
        const perpi_contact_list tried = step->to->contacts;
        step->to->contacts = step->roll.start;
        step->roll.start = tried;
        step->report = (perp_report){0};
    }
    return status;
}
