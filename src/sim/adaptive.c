/* src/sim/adaptive.c - steps as long as the error allows, and as the next impact.
 *
 * Step doubling: a step of h and two of h/2 from the same state. The scheme is of first order, so
 * 2 (two halves) - (one whole) is of second, exact on parabolas, and is where the simulation goes on;
 * the difference of the two is the error that is held below `error`, in units of the scene's size
 * and of radians, velocities times h.
 *
 * Only what touches takes part in such a step (closed contacts): a gap up to `error`, and a normal
 * velocity so small that the bodies would come back from a flight no higher than that. A contact that
 * would open or close faster is an event. When the step ends beyond a gap of zero of an open contact,
 * or a pair meets on the way there (crossing.c: bodies follow the parabola from the state at the start to
 * the extrapolated end; the gap is then the separation along the normal of the first touch), its length
 * is found at which the gap is zero; then follows an impact (impact.c), with restitution or
 * without. Bounces lower than `error` are the end of bouncing: there would be infinitely many.
 *
 * A group of contacts, of which one must hold, is closed, open or struck as a whole. It is open as far as
 * its most open member is. Members up to `error` below zero count as closed: the group moves as the one of them
 * that opens fastest. Others, deeper in, are those of other sides: they stay in the group of a step, which may
 * bring the body past them, and take no part in an impact.
 *
 * How high a flight would be depends on what pulls the bodies together. Along the normal that may be
 * their own forces; or friction, springs, torques, motors, a neighbour's push. So where a contact that
 * touches moves faster than its own forces explain, a step without it is solved, and tells.
 *
 * The gap term of a closed contact is gap / max(h, T), T the time of a fall through `error`: a short
 * step before an event must not turn a gap of 1e-13 into a speed. For the same reason a step that is
 * shorter than the length to try closes only that part of the joints' errors.
 */
#include <string.h>

#include "sim/internal.h"
#include "step/force_rows.h"

enum { MAX_TRIALS = 200, MAX_SEARCH = 100 };
/* A gap that is zero, in sizes of the scene. */
static const double LANDED = 1e-13;
static const double THIN_PART = 0.1;    /* of the thickness of a pair */
static const double SPEED_NOISE = 1e-9; /* relative to the speeds of the two surfaces */
static const double GAIN_PART = 0.01;   /* of the error: what a step may gain, of the energy */

double perpi_sim_size(const perp_sim* sim)
{
    const perp_model* model = sim->model;
    double size = model->length;
    for (size_t i = 0; !(model->length > 0.0) && i < model->body_count; ++i) {
        size = fmax(size, v3_norm(model->body[i].pose.x)); /* only points: where they start */
    }
    return size > 0.0 ? size : 1.0;
}

static double landed(const perp_sim* sim)
{
    return LANDED * perpi_sim_size(sim);
}

/* Lengths below this are none, for a contact: `error`, but no more than a part of how thick the two are.
 * Otherwise a gap that counts as closed could lie on the other side of a thin plate. */
static double tolerance_of(const perp_sim* sim, uint64_t key)
{
    const double thick = perpi_sim_pair_thickness(sim, key);
    return fmin(sim->def.error * perpi_sim_size(sim), THIN_PART * thick);
}

/* ---- contacts: closed or open ----------------------------------------------------------------------*/

typedef struct approach {
    double u;     /* normal velocity, negative: nearer */
    double slow;  /* up to this it is none */
    double stays; /* T: the time of a fall through `error` */
} approach;

/* Normal velocity of a contact's points, by velocities v at the pose at hand. */
static double normal_speed(const perp_sim* sim, const double* v, const int32_t body[2],
                           const vec3 point[2], vec3 n, double* speeds)
{
    double u = 0.0;
    for (int side = 0; side < 2; ++side) {
        const vec3 x = perpi_state_pose(sim->model, sim->q, body[side]).x;
        const vec3 at =
            v3_add(perpi_state_velocity(sim->model, v, body[side]),
                   v3_cross(perpi_state_rate(sim->model, v, body[side]), v3_sub(point[side], x)));
        u += (side == 0 ? -1.0 : 1.0) * v3_dot(n, at);
        *speeds += v3_norm(at);
    }
    return u;
}

double perpi_sim_found_pull(const perp_sim* sim, uint64_t key)
{
    const perpi_adaptive* a = &sim->halves;
    for (size_t i = 0; i < a->pull_count; ++i) {
        if (a->pull[i].key == key) {
            return a->pull[i].pull;
        }
    }
    return 0.0;
}

static perp_status look(const perp_sim* sim, const perp_contact* c, approach* out)
{
    const perp_model* model = sim->model;
    const int32_t body[2] = {c->body_a, c->body_b};
    const vec3 n = v3_from(c->normal), on_a = v3_from(c->point);
    const vec3 point[2] = {on_a, v3_madd(on_a, c->gap, n)};
    const double tolerance = tolerance_of(sim, c->key);
    double pull = 0.0, speeds = 0.0;
    out->u = normal_speed(sim, sim->v, body, point, n, &speeds);
    for (int side = 0; side < 2; ++side) {
        const int32_t b = body[side];
        const perpi_pose pose = perpi_state_pose(model, sim->q, b);
        if (model->body[b].dofs > 0) {
            vec3 force, torque;
            const perp_status status = perpi_external_wrench(
                model, sim->time, &pose, sim->has_extra ? sim->extra : NULL, b, &force, &torque);
            if (status != PERP_OK) {
                return status;
            }
            pull += fabs(v3_dot(n, force)) / model->body[b].mass;
        }
    }
    pull = fmax(pull, perpi_sim_found_pull(sim, c->key));
    out->slow = sqrt(2.0 * pull * tolerance) + SPEED_NOISE * speeds;
    out->stays = pull > 0.0 ? sqrt(2.0 * tolerance / pull) : INFINITY;
    return PERP_OK;
}

static bool closed(const perp_sim* sim, const perp_contact* c, const approach* a)
{
    return c->gap <= tolerance_of(sim, c->key) && fabs(a->u) <= a->slow;
}

/* What a contact counts as: by itself, or by its group. */
typedef struct standing {
    double gap;  /* of its most open member */
    approach by; /* of the closed member that opens fastest */
    bool closed; /* as in closed() */
    bool member; /* the contact itself is not deeper in than `error`, or all are */
} standing;

static perp_status stand(const perp_sim* sim, const perp_contact* c, standing* out)
{
    perp_status status = look(sim, c, &out->by);
    out->gap = c->gap;
    out->closed = status == PERP_OK && closed(sim, c, &out->by);
    out->member = true;
    if (c->group == 0 || status != PERP_OK) {
        return status;
    }
    const int32_t group = c->group < 0 ? -c->group : c->group;
    const double tolerance = tolerance_of(sim, c->key);
    for (size_t i = 0; i < sim->next.count; ++i) {
        const perp_contact* other = &sim->next.item[i];
        if ((other->group == group || other->group == -group) && other->gap > out->gap) {
            out->gap = other->gap;
        }
    }
    const double least = out->gap < -tolerance ? out->gap : -tolerance;
    bool any = false;
    for (size_t i = 0; status == PERP_OK && i < sim->next.count; ++i) {
        const perp_contact* other = &sim->next.item[i];
        approach by;
        if ((other->group != group && other->group != -group) || other->gap < least) {
            continue;
        }
        status = look(sim, other, &by);
        if (!any || by.u > out->by.u) {
            out->by = by;
            any = true;
        }
    }
    out->closed = out->gap <= tolerance && fabs(out->by.u) <= out->by.slow;
    out->member = c->gap >= least;
    return status;
}

static perp_status stand_all(perp_sim* sim)
{
    perpi_adaptive* a = &sim->halves;
    perp_status status = perpi_grow(sim->context, &a->standing, &a->standing_capacity,
                                    sim->next.count * sizeof(standing), 1);
    standing* s = (standing*)(void*)a->standing;
    for (size_t i = 0; status == PERP_OK && i < sim->next.count; ++i) {
        status = stand(sim, &sim->next.item[i], &s[i]);
    }
    return status;
}

perp_status perpi_sim_keep_closed(perp_sim* sim, double h)
{
    size_t kept = 0;
    const perp_status status = stand_all(sim);
    const standing* s = (const standing*)(void*)sim->halves.standing;
    for (size_t i = 0; status == PERP_OK && i < sim->next.count; ++i) {
        perp_contact* c = &sim->next.item[i];
        const double stays = s[i].by.stays;
        if (s[i].closed) {
            c->gap =
                s[i].member && h < stays ? (isfinite(stays) ? c->gap * (h / stays) : 0.0) : c->gap;
            sim->next.item[kept++] = *c;
        }
    }
    sim->next.count = kept;
    return status;
}

/* ---- states that are put aside ---------------------------------------------------------------------*/

static perp_status keep_contacts(perp_sim* sim, perpi_contact_list* to,
                                 const perpi_contact_list* from)
{
    const perp_status status =
        perpi_grow(sim->context, &to->item, &to->capacity, from->count, sizeof *to->item);
    if (status == PERP_OK && from->count > 0) {
        memcpy(to->item, from->item, from->count * sizeof *to->item);
    }
    to->count = status == PERP_OK ? from->count : to->count;
    to->groups = from->groups;
    return status;
}

static void copy(double* to, const double* from, int32_t n)
{
    if (n > 0) {
        memcpy(to, from, (size_t)n * sizeof *to);
    }
}

static perp_status put_aside(perp_sim* sim)
{
    perpi_adaptive* a = &sim->halves;
    copy(a->q0, sim->q, sim->q_size);
    copy(a->v0, sim->v, sim->v_size);
    copy(a->s0, sim->s, sim->s_size);
    if (sim->model->joint_count > 0) {
        memcpy(a->joint0, sim->joint, sim->model->joint_count * sizeof *a->joint0);
    }
    a->time0 = sim->time;
    return keep_contacts(sim, &a->contacts0, &sim->contacts);
}

static perp_status take_back(perp_sim* sim)
{
    const perpi_adaptive* a = &sim->halves;
    copy(sim->q, a->q0, sim->q_size);
    copy(sim->v, a->v0, sim->v_size);
    copy(sim->s, a->s0, sim->s_size);
    if (sim->model->joint_count > 0) {
        memcpy(sim->joint, a->joint0, sim->model->joint_count * sizeof *a->joint0);
    }
    sim->time = a->time0;
    return keep_contacts(sim, &sim->contacts, &a->contacts0);
}

perp_status perpi_sim_adaptive_create(perp_sim* sim)
{
    perpi_adaptive* a = &sim->halves;
    perp_context* context = sim->context;
    const size_t q = (size_t)sim->q_size, v = (size_t)sim->v_size, s = (size_t)sim->s_size + 1;
    struct {
        double** array;
        size_t count;
    } arrays[] = {{&a->q0, q},      {&a->v0, v},      {&a->s0, s},      {&a->q_whole, q},
                  {&a->v_whole, v}, {&a->s_whole, s}, {&a->q_half, q},  {&a->v_half, v},
                  {&a->s_half, s},  {&a->v_end, v},   {&a->q_plain, q}, {&a->v_plain, v},
                  {&a->s_plain, s}};
    perp_status status = PERP_OK;
    for (size_t i = 0; status == PERP_OK && i < sizeof arrays / sizeof arrays[0]; ++i) {
        status = perpi_alloc(context, arrays[i].count, sizeof(double), arrays[i].array);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(context, sim->model->joint_count, sizeof *a->joint0, &a->joint0);
    }
    a->contacts0.context = context;
    a->h_next = sim->def.step;
    a->h_last = 1.0;
    perpi_sim_adaptive_clock(sim);
    return status;
}

void perpi_sim_adaptive_clock(perp_sim* sim)
{
    perpi_adaptive* a = &sim->halves;
    a->clock[0] = a->h_next;
    a->clock[1] = a->h_last;
    a->clock[2] = (double)sim->tick;
}

void perpi_sim_adaptive_clear(perp_sim* sim)
{
    perpi_adaptive* a = &sim->halves;
    memset(a->q_half, 0, (size_t)sim->q_size * sizeof *a->q_half);
    memset(a->v_half, 0, (size_t)sim->v_size * sizeof *a->v_half);
    memset(a->v_end, 0, (size_t)sim->v_size * sizeof *a->v_end);
    memset(a->s_half, 0, (size_t)sim->s_size * sizeof *a->s_half);
}

void perpi_sim_adaptive_destroy(perp_sim* sim)
{
    perpi_adaptive* a = &sim->halves;
    double* const owned[] = {a->q0,      a->v0,      a->s0,     a->q_whole, a->v_whole,
                             a->s_whole, a->q_half,  a->v_half, a->s_half,  a->v_end,
                             a->q_plain, a->v_plain, a->s_plain};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; ++i) {
        perpi_free(sim->context, owned[i]);
    }
    perpi_free(sim->context, a->joint0);
    perpi_free(sim->context, a->contacts0.item);
    perpi_free(sim->context, a->key);
    perpi_free(sim->context, a->sunk);
    perpi_free(sim->context, a->pull);
    perpi_free(sim->context, a->standing);
}

/* ---- one trial -------------------------------------------------------------------------------------*/

static void worsen(double* worst, double now)
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
    worsen(&out.certificate.dynamics, sum->certificate.dynamics);
    worsen(&out.certificate.normal, sum->certificate.normal);
    worsen(&out.certificate.friction, sum->certificate.friction);
    worsen(&out.certificate.joints, sum->certificate.joints);
    worsen(&out.certificate.worst, sum->certificate.worst);
    worsen(&out.report.residual, sum->report.residual);
    worsen(&out.penetration, sum->penetration);
    worsen(&out.momentum_error[0], sum->momentum_error[0]);
    worsen(&out.momentum_error[1], sum->momentum_error[1]);
    out.report.iterations = iterations;
    out.fallbacks += sum->fallbacks;
    if (sum->accepted_unsolved && !part->accepted_unsolved) {
        out.accepted_unsolved = true;
        out.report.outcome = sum->report.outcome;
    }
    *sum = out;
}

/* 2 (two halves) - (one whole), into the next state; returns the error. */
static double extrapolate(perp_sim* sim, double h)
{
    const perp_model* model = sim->model;
    const perpi_adaptive* a = &sim->halves;
    const int32_t qn = perpi_q_stride(model), vn = perpi_v_stride(model);
    const double size = perpi_sim_size(sim);
    double error = 0.0;
    for (int32_t i = 0; i < (int32_t)model->body_count; ++i) {
        double *q = sim->q_next + i * qn, *v = sim->v_next + i * vn;
        const double *q1 = a->q_whole + i * qn, *v1 = a->v_whole + i * vn;
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
            worsen(&error, sqrt(x) / size);
            worsen(&error, h * sqrt(w) / size);
            worsen(&error, angle);
            worsen(&error, h * sqrt(spin));
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
    /* of what springs and controllers remember, the integrals */
    const int32_t first = perpi_s_forces(model) + perpi_force_row_count(model);
    for (int32_t i = first; i < sim->s_size; ++i) {
        sim->s_next[i] += sim->s_next[i] - a->s_whole[i];
    }
    return error;
}

static perp_status remember_keys(perp_sim* sim)
{
    perpi_adaptive* a = &sim->halves;
    const size_t n = sim->next.count;
    const perp_status status =
        perpi_grow(sim->context, &a->key, &a->key_capacity, a->key_count + n, sizeof *a->key);
    for (size_t i = 0; status == PERP_OK && i < n; ++i) {
        a->key[a->key_count++] = sim->next.item[i].key;
    }
    return status;
}

static bool acted(const perpi_adaptive* a, uint64_t key)
{
    for (size_t i = 0; i < a->key_count; ++i) {
        if (a->key[i] == key) {
            return true;
        }
    }
    return false;
}

/* Where a contact stood below zero at the start: it is no event unless it goes deeper. */
static double sunk_gap(const perpi_adaptive* a, uint64_t key)
{
    for (size_t i = 0; i < a->sunk_count; ++i) {
        if (a->sunk[i].key == key) {
            return a->sunk[i].gap;
        }
    }
    return 0.0;
}

/* Features that are told by the expected turn may be found at the end of a step and not at its start. Of a
 * pair that touches, and may overlap within `error`, they are no event until they are deeper. */
static double unknown_depth(const perp_sim* sim, uint64_t key)
{
    const perpi_adaptive* a = &sim->halves;
    bool known = !perpi_sim_grouped(sim), touches = false;
    for (size_t i = 0; i < a->sunk_count; ++i) {
        known = known || a->sunk[i].key == key;
    }
    for (size_t i = 0; i < a->key_count; ++i) {
        touches = touches || perpi_key_same_shapes(a->key[i], key);
    }
    return !known && touches ? tolerance_of(sim, key) : 0.0;
}

/* Of a group: its most open member, unless one took part: contacts that act tell of their gap. */
static double group_gap(const perp_sim* sim, const perpi_touch* touch, size_t count,
                        const perpi_touch* of)
{
    const perpi_adaptive* a = &sim->halves;
    double most = -INFINITY, sunk = 0.0;
    for (size_t i = 0; i < count; ++i) { /* groups are counted within a pair of shapes */
        if (touch[i].group != of->group || touch[i].shape_a != of->shape_a ||
            touch[i].shape_b != of->shape_b) {
            continue;
        }
        const uint64_t key = perpi_touch_key(&touch[i]);
        if (acted(a, key)) {
            return INFINITY;
        }
        most = touch[i].gap > most ? touch[i].gap : most;
        sunk = sunk_gap(a, key) < sunk ? sunk_gap(a, key) : sunk;
    }
    return most - sunk + unknown_depth(sim, perpi_touch_key(of));
}

/* The smallest gap at the end of the trial among contacts that took no part in it. */
static perp_status open_gap(perp_sim* sim, double* gap)
{
    const perpi_touch* touch;
    size_t count;
    for (int32_t i = 0; i < (int32_t)sim->model->body_count; ++i) {
        sim->pose[i] = perpi_state_pose(sim->model, sim->q_next, i);
    }
    const perp_status status = perpi_collide(sim->collider, sim->pose, sim->margin, &touch, &count);
    *gap = INFINITY;
    for (size_t i = 0; status == PERP_OK && i < count; ++i) {
        const uint64_t key = perpi_touch_key(&touch[i]);
        if (touch[i].gap < *gap && touch[i].group == 0 && !acted(&sim->halves, key)) {
            *gap = fmin(*gap, touch[i].gap - sunk_gap(&sim->halves, key) + unknown_depth(sim, key));
        }
        if (touch[i].group != 0) {
            *gap = fmin(*gap, group_gap(sim, touch, count, &touch[i]));
        }
    }
    return status;
}

/* What extrapolating from the end of the second half, in q_plain and v_plain, did to the energy. */
static void account_extrapolation(perp_sim* sim, perp_ledger* ledger)
{
    const perpi_adaptive* a = &sim->halves;
    const perp_model* model = sim->model;
    ledger->extrapolation = perpi_energy_change(model, !sim->stepper->settles, a->q_plain,
                                                a->v_plain, sim->q_next, sim->v_next);
    if (model->spring_count > 0) {
        ledger->extrapolation +=
            perpi_spring_energy(model, sim->q_next) - perpi_spring_energy(model, a->q_plain);
    }
    ledger->change += ledger->extrapolation;
    perpi_ledger_close(ledger);
}

/* Where the motion is smooth, extrapolation takes back what the scheme itself did to the energy of the two
 * halves, but for terms of third order, and touches what friction took only in second order. If it gives
 * back more than half of what both took, it has returned energy that laws took out, step after step: the
 * halves jump (a contact strikes in one of them only), and 2 (halves) - (whole) is no better than they are.
 * docs/notation.md, "Adaptive steps". */
static bool gives_energy(const perp_sim* sim, const perp_ledger* l, double kinetic)
{
    const double scheme =
        l->gap + l->joint_error + l->gyroscopic + l->spring_error + l->step_loss + l->projection;
    const double laws =
        l->drag + l->springs + l->friction + l->impacts + l->joints; /* each is <= 0 */
    const double gain = scheme + l->extrapolation;
    return gain > 0.5 * (fabs(scheme) + fabs(laws)) + GAIN_PART * sim->def.error * kinetic;
}

/* The state at the end of the two halves instead. */
static void take_halves(perp_sim* sim, perp_ledger* ledger)
{
    const perpi_adaptive* a = &sim->halves;
    copy(sim->q_next, a->q_plain, sim->q_size);
    copy(sim->v_next, a->v_plain, sim->v_size);
    copy(sim->s_next, a->s_plain, sim->s_size);
    ledger->change -= ledger->extrapolation;
    ledger->extrapolation = 0.0;
    perpi_ledger_close(ledger);
}

static perp_status half_steps(perp_sim* sim, double h, perp_step_info* sum)
{
    perpi_adaptive* a = &sim->halves;
    perp_status status = perpi_sim_work_out(sim, h);
    if (status != PERP_OK) {
        return status;
    }
    *sum = sim->info;
    copy(a->q_whole, sim->q_next, sim->q_size);
    copy(a->v_whole, sim->v_next, sim->v_size);
    copy(a->s_whole, sim->s_next, sim->s_size);
    a->key_count = 0;
    status = remember_keys(sim);
    if (status == PERP_OK) {
        status = perpi_sim_work_out(sim, 0.5 * h);
    }
    if (status != PERP_OK) {
        return status;
    }
    const perp_ledger first = sim->info.ledger;
    gather_info(sum, &sim->info);
    perpi_sim_swap(sim);
    sim->time = a->time0 + 0.5 * h;
    copy(a->q_half, sim->q, sim->q_size);
    copy(a->v_half, sim->v, sim->v_size);
    copy(a->s_half, sim->s, sim->s_size);
    status = perpi_sim_work_out(sim, 0.5 * h);
    if (status == PERP_OK) {
        gather_info(sum, &sim->info);
        perp_ledger_add(&sum->ledger, &first);
        copy(a->q_plain, sim->q_next, sim->q_size);
        copy(a->v_plain, sim->v_next, sim->v_size);
        copy(a->s_plain, sim->s_next, sim->s_size);
        copy(a->v_end, sim->v_solved != NULL ? sim->v_solved : sim->v_next, sim->v_size);
        status = remember_keys(sim);
    }
    return status;
}

/* A step of length h beside the state: the next state, its error, and the smallest open gap. */
static perp_status try_step(perp_sim* sim, double h, double* error, double* gap)
{
    perp_step_info sum = {0};
    const double kinetic = perp_sim_energy(sim).kinetic;
    sim->halves.ease = perpi_adaptive_ease(sim->halves.h_next, h);
    perp_status status = half_steps(sim, h, &sum);
    if (status == PERP_OK) {
        *error = extrapolate(sim, h);
        account_extrapolation(sim, &sum.ledger);
        if (gives_energy(sim, &sum.ledger, kinetic)) {
            take_halves(sim, &sum.ledger);
        }
        status = open_gap(sim, gap);
    }
    if (status == PERP_OK) {
        status = perpi_sim_path_gap(sim, h, gap);
    }
    const perp_status back = take_back(sim);
    sim->info = sum;
    return status == PERP_OK ? back : status;
}

/* ---- the step --------------------------------------------------------------------------------------*/

/* The length at which the open gap is zero: between 0 and `high`, where it is below. Regula falsi with
 * the Illinois correction, and bisection while the lower end is not known to be open. */
static perp_status find_landing(perp_sim* sim, double high, double gap_high, double* h,
                                double* error, int32_t* trials)
{
    const double zero = landed(sim);
    double low = 0.0, gap_low = -1.0, gap = gap_high;
    int last = 0;
    for (int i = 0; i < MAX_SEARCH; ++i) {
        const bool known = gap_low > 0.0;
        double x =
            known ? low + (high - low) * (gap_low / (gap_low - gap_high)) : 0.5 * (low + high);
        if (!(x > low && x < high)) {
            x = 0.5 * (low + high);
        }
        const double end = sim->time + x;
        x = end - sim->time;
        if (!(x > low && x < high)) {
            break; /* no time lies between */
        }
        const perp_status status = try_step(sim, x, error, &gap);
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
    /* as near as times lie: the end that is not open */
    *h = high;
    *trials += 1;
    return try_step(sim, high, error, &gap);
}

perp_status perpi_sim_remember_moving(perp_sim* sim, const perp_contact* c, double u)
{
    perpi_adaptive* a = &sim->halves;
    const perp_status status =
        perpi_grow(sim->context, &a->pull, &a->pull_capacity, a->pull_count + 1, sizeof *a->pull);
    if (status == PERP_OK) {
        const vec3 n = v3_from(c->normal), on_a = v3_from(c->point);
        a->pull[a->pull_count++] = (perpi_pull){.key = c->key,
                                                .normal = n,
                                                .point = {on_a, v3_madd(on_a, c->gap, n)},
                                                .body = {c->body_a, c->body_b},
                                                .u = u};
    }
    return status;
}

void perpi_sim_measure_gains(perp_sim* sim)
{
    for (size_t i = 0; i < sim->halves.pull_count; ++i) {
        perpi_pull* p = &sim->halves.pull[i];
        double speeds = 0.0;
        const double before = normal_speed(sim, sim->v, p->body, p->point, p->normal, &speeds);
        const double after = normal_speed(sim, sim->v_next, p->body, p->point, p->normal, &speeds);
        p->pull = fmax(before - after, 0.0);
        p->gain = after - before;
        p->found = true; /* unless other contacts stop its bodies */
        for (size_t k = 0; k < sim->next.count; ++k) {
            const perp_contact* c = &sim->next.item[k];
            for (int side = 0; side < 2 && c->impulse[0] > 0.0; ++side) {
                p->found = p->found && (sim->model->body[p->body[side]].dofs == 0 ||
                                        (c->body_a != p->body[side] && c->body_b != p->body[side]));
            }
        }
    }
}

/* Accelerations of moving contacts towards each other, by a step without them. It is as long as the
 * slowest would rise if that flight were just `error` high, and no longer than a step at the start: in a
 * long one friction stops what slides. It says no more than the speed it gives: a jump within it (a
 * closed contact that is brought to rest) is no lasting pull. */
static perp_status find_pulls(perp_sim* sim, double longest)
{
    perpi_adaptive* a = &sim->halves;
    const perp_step_info before = sim->info;
    const double tolerance = sim->def.error * perpi_sim_size(sim);
    double h = fmin(longest, sim->def.step), slowest = INFINITY;
    for (size_t i = 0; i < a->pull_count; ++i) {
        slowest = fmin(slowest, fabs(a->pull[i].u));
    }
    h = h * slowest > 2.0 * tolerance ? 2.0 * tolerance / slowest : h;
    a->ease = perpi_adaptive_ease(a->h_next, h);
    const perp_status status = perpi_sim_work_out(sim, h);
    if (status == PERP_OK) {
        perpi_sim_measure_gains(sim);
    }
    for (size_t i = 0; status == PERP_OK && i < a->pull_count; ++i) {
        const double gain = a->pull[i].pull;
        a->pull[i].pull = fmin(gain / h, 0.5 * gain * gain / tolerance);
    }
    sim->info = before;
    return status == PERP_ERROR_SOLVE ? PERP_OK : status; /* no answer: nothing is known to pull */
}

/* Impacts at hand, and how far the nearest open contact lets a step go. */
static perp_status look_around(perp_sim* sim, double h, bool ask, bool* struck, double* limit)
{
    const perpi_touch* touch;
    size_t count, kept = 0;
    *struck = false;
    *limit = INFINITY;
    perpi_sim_poses(sim);
    perpi_sim_joint_input(sim);
    perpi_collider_set_rule(sim->collider, sim->contact_model->rule, NULL, 0);
    perp_status status = perpi_sim_margins(sim, h);
    if (status == PERP_OK) {
        status = perpi_collide(sim->collider, sim->pose, sim->margin, &touch, &count);
    }
    sim->next.count = 0;
    sim->next.groups = 0;
    if (status == PERP_OK) {
        status = sim->contact_model->build(sim->model, &sim->rules, sim->time, sim->pose, touch,
                                           count, &sim->next);
    }
    if (status == PERP_OK) {
        status = perpi_grow(sim->context, &sim->hit, &sim->hit_capacity, sim->next.count,
                            sizeof *sim->hit);
    }
    if (status == PERP_OK) {
        status = perpi_grow(sim->context, &sim->halves.sunk, &sim->halves.sunk_capacity,
                            sim->next.count, sizeof *sim->halves.sunk);
    }
    sim->halves.sunk_count = 0;
    if (status == PERP_OK) {
        status = stand_all(sim);
    }
    const standing* s = (const standing*)(void*)sim->halves.standing;
    for (size_t i = 0; status == PERP_OK && i < sim->next.count; ++i) {
        const perp_contact c = sim->next.item[i];
        const approach a = s[i].by;
        const double gap = s[i].gap;
        if (ask && s[i].member && gap <= tolerance_of(sim, c.key) && !s[i].closed) {
            approach own;
            status = look(sim, &c, &own);
            if (status == PERP_OK) {
                status = perpi_sim_remember_moving(sim, &c, own.u);
            }
        }
        sim->halves.sunk[sim->halves.sunk_count++] = (perpi_sunk){c.key, gap < 0.0 ? gap : 0.0};
        const bool near = gap <= 4.0 * landed(sim);
        if ((near || s[i].closed) && !s[i].member) {
            continue; /* another side */
        }
        if (near && a.u < -a.slow) {
            *struck = true;
            sim->hit[kept] = (perpi_hit){
                .e = perp_model_pair_restitution(sim->model, c.body_a, c.body_b), .struck = true};
            sim->next.item[kept++] = c;
        } else if (near || s[i].closed) {
            sim->hit[kept] = (perpi_hit){0};
            sim->next.item[kept++] = c;
        } else if (a.u < -a.slow) {
            *limit = fmin(*limit, 2.0 * gap / -a.u);
        }
    }
    sim->next.count = kept;
    return status;
}

/* Where a step of at most h ends. A rest that is longer than h but not than 2 h is shared. */
static double end_of_step(const perp_sim* sim, double h)
{
    const double left = sim->def.duration - sim->time;
    const double middle = sim->time + 0.5 * left;
    if (h >= left || !(middle > sim->time && middle < sim->def.duration)) {
        return sim->def.duration;
    }
    return h > 0.5 * left ? middle : sim->time + h;
}

perp_status perpi_sim_work_out_adaptive(perp_sim* sim)
{
    perpi_adaptive* a = &sim->halves;
    const double left = sim->def.duration - sim->time;
    double h = fmin(a->h_next, sim->def.step_max), error = 0.0, gap = INFINITY, limit = INFINITY;
    bool struck = false;
    int32_t trials = 0;
    const perp_step_kind before = sim->info.kind;
    if (sim->info.kind == PERP_STEP_COMPRESSION) {
        return perpi_sim_decompress(sim);
    }
    a->pull_count = 0;
    perp_status status = look_around(sim, fmin(h, left), true, &struck, &limit);
    if (status == PERP_OK && a->pull_count > 0) {
        status = find_pulls(sim, fmin(h, left));
        if (status == PERP_OK) {
            status = look_around(sim, fmin(h, left), false, &struck, &limit);
        }
    }
    if (status == PERP_OK && struck && sim->info.impacts_in_a_row < PERPI_IMPACTS_IN_A_ROW) {
        /* what was quiet before says nothing about the motion after */
        a->h_next = fmin(a->h_next, sim->def.step);
        return perpi_sim_impact(sim);
    }
    if (status == PERP_OK) {
        status = put_aside(sim);
    }
    double wish = h;
    while (status == PERP_OK) {
        h = fmax(fmin(wish, limit), sim->def.step_min);
        const double end = end_of_step(sim, h);
        h = end - sim->time;
        status = try_step(sim, h, &error, &gap);
        trials += 1;
        if (status != PERP_OK) {
            break;
        }
        const double factor = 0.9 * sqrt(sim->def.error / fmax(error, 1e-300));
        if (error > sim->def.error && h > sim->def.step_min && trials < MAX_TRIALS) {
            wish = h * fmax(factor, 0.2);
            continue;
        }
        /* what was cut for other reasons than the error says nothing about the next */
        wish = h < wish && error <= sim->def.error ? fmax(wish, h * fmin(factor, 3.0))
                                                   : h * fmin(fmax(factor, 0.2), 3.0);
        if (gap < -landed(sim)) {
            const double beyond = h;
            status = find_landing(sim, h, gap, &h, &error, &trials);
            /* A gap that closes at once, where nothing was to be closed or struck: features that are found
             * after the step only. Time must go on, by more each time. */
            if (status == PERP_OK && h < sim->def.step_min && before == PERP_STEP_TIME) {
                const double last = a->h_last < 1e6 * sim->def.step_min ? a->h_last : 0.0;
                h = fmin(16.0 * fmax(sim->def.step_min, last), beyond);
                h = end_of_step(sim, h) - sim->time;
                status = try_step(sim, h, &error, &gap);
                trials += 1;
            }
        }
        break;
    }
    if (status != PERP_OK) {
        return status;
    }
    a->h_next = fmin(fmax(wish, sim->def.step_min), sim->def.step_max);
    a->h_last = h;
    a->time_next = h >= left ? sim->def.duration : sim->time + h;
    sim->info.kind = PERP_STEP_TIME;
    sim->info.rounds = trials;
    perpi_sim_joint_measure(sim, sim->q_next, sim->joint_next, sim->info.joint_error);
    return PERP_OK;
}
