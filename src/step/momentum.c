/* src/step/momentum.c - conservation of momentum over a step, and the momentum account.
 *
 * A step with its inertia at the start solves I w' = I w_free + sum r x p, I w_free = L + h torque
 * + g with the velocity-product term g, and rotates the bodies by w'. Where impulses act, R' I R''
 * w' at the new orientation is not L + h torque + sum r x p. So the state keeps the momentum, not
 * the velocity:
 *     w_state = (R' I R'')^-1 (I w' - g)
 * A body without contacts and joints has w_state = w'. Midpoint steps: L' = L + (I w* - L - g) /
 * theta.
 *
 * Poses that joint_correction moves at given velocities change the angular momentum by sum dx x m v
 * and by the rotation of the inertia. It is taken about the centre of mass of the island, before
 * and after: where a contact without an impulse moves the island as a whole by d, d x P about a
 * fixed point depends on the frame of reference, and must not turn the bodies. Each island then
 * rotates as a whole about its centre of mass by the difference: this is no relative motion, so
 * joints and contacts within it and linear momentum are unchanged. Two bodies of an impact that push
 * each other while the poses of the step after it are moved are of one island.
 *
 * The account does not repeat this computation: it compares the states before and after the step
 * with the external forces. The difference is the error of contacts and joints.
 */
#include "step/momentum.h"

#include <float.h>
#include <string.h>

#include "step/force_rows.h"
#include "step/joint_rows.h"

bool perpi_momentum_differs(const perp_model* model)
{
    bool differs = false;
    for (size_t i = 0; i < model->body_count; ++i) {
        const perpi_body* body = &model->body[i];
        differs = differs || (model->dimension == 3 && body->dofs > 0 && !body->particle &&
                              !perpi_inertia_round(body));
    }
    return differs;
}

/* R (inertia) R' w, product by product. */
static vec3 spin_of(const perpi_body* body, const perpi_pose* pose, vec3 w)
{
    return m3_mul(pose->R, m3_mul(body->inertia, m3_tmul(pose->R, w)));
}

void perpi_momentum_carry(const perpi_formulation* f, const perp_model* model,
                          const double* v_start, const double* q_end, double* v)
{
    for (int32_t i = 0; model->dimension == 3 && i < (int32_t)model->body_count; ++i) {
        const perpi_body* body = &model->body[i];
        if (f->block_of[i] < 0 || body->particle || perpi_inertia_round(body)) {
            continue;
        }
        const double theta = perpi_body_theta(f, i);
        const vec3 w0 = perpi_state_rate(model, v_start, i), w1 = perpi_state_rate(model, v, i);
        vec3 L = v3_sub(spin_of(body, &f->pose[i], w1), f->gyroscopic[i]);
        if (theta != 1.0) { /* a middle step has its inertia there, and no g */
            const perpi_pose* pose = perpi_body_middle(f, i) ? &f->end[i] : &f->pose[i];
            const vec3 before = spin_of(body, &f->pose[i], w0);
            const vec3 middle = v3_add(v3_scale(1.0 - theta, w0), v3_scale(theta, w1));
            const vec3 gain = v3_sub(v3_sub(spin_of(body, pose, middle), before), f->gyroscopic[i]);
            L = v3_madd(before, 1.0 / theta, gain);
        }
        const perpi_pose end = perpi_state_pose(model, q_end, i);
        const vec3 w = m3_mul(end.R, m3_mul(m3_inverse(body->inertia), m3_tmul(end.R, L)));
        v3_to(w, v + 6 * (size_t)i + 3);
    }
}

/* ---- the account -----------------------------------------------------------------------------------*/

enum { SUMS = 21 };
typedef struct island_sum {
    double mass, centre[3]; /* mass times position at the start */
    double linear[3], linear_size;
    double angular[3], angular_size;
    double inertia[6]; /* about the centre: xx, yy, zz, xy, xz, yz */
    double moved[3];   /* the centre, by moving poses (joint_correction) */
} island_sum;
_Static_assert(sizeof(island_sum) <= SUMS * sizeof(double), "room in perpi_momentum_work.sum");

static int32_t representative(const int32_t* island, int32_t body)
{
    while (island[body] != body) {
        body = island[body];
    }
    return body;
}

/* Bodies a and b exchange an impulse; -1, or one that is not dynamic: the island is excluded. */
static void exchange(const perpi_ledger_input* in, const perpi_momentum_work* work, int32_t a,
                     int32_t b)
{
    const int32_t* block = in->f->block_of;
    const bool free_a = a >= 0 && block[a] >= 0, free_b = b >= 0 && block[b] >= 0;
    if (free_a && free_b) {
        const int32_t p = representative(work->island, a), q = representative(work->island, b);
        work->island[p > q ? p : q] = p < q ? p : q;
    } else if (free_a || free_b) {
        work->held[free_a ? a : b] = true;
    }
}

/* Whether a prescribed body had an impulse on the body in the impact before the step. */
static bool had_prescribed_impact(const perpi_ledger_input* in, int32_t i)
{
    const int32_t n = perpi_v_stride(in->model);
    bool moved = false;
    for (int32_t k = 0; k < n; ++k) {
        moved = moved || in->offset[i * n + k] != 0.0;
    }
    return moved && in->offset[n * (int32_t)in->model->body_count + i] == 0.0;
}

static void exchange_at_contacts(const perpi_ledger_input* in, const perpi_momentum_work* work,
                                 const perp_contact* contact, int32_t count)
{
    const perp_contact* last = NULL; /* contacts of a pair follow each other */
    for (int32_t i = 0; i < count; ++i) {
        const perp_contact* c = &contact[i];
        if (c->impulse[0] != 0.0 && /* without a normal impulse there is no friction */
            (last == NULL || c->body_a != last->body_a || c->body_b != last->body_b)) {
            exchange(in, work, c->body_a, c->body_b);
            last = c;
        }
    }
}

/* True: there is an island that exchanges nothing with prescribed bodies. */
static bool find_islands(const perpi_ledger_input* in, const perpi_momentum_work* work)
{
    const perpi_formulation* f = in->f;
    const perp_model* model = in->model;
    const int32_t bodies = (int32_t)model->body_count;
    for (int32_t i = 0; i < bodies; ++i) {
        work->island[i] = i;
        work->held[i] = (f->supported && model->body[i].support.points > 0) ||
                        (in->offset != NULL && had_prescribed_impact(in, i));
    }
    exchange_at_contacts(in, work, in->contact, f->contact_count);
    if (in->compression_count > 0) {
        exchange_at_contacts(in, work, in->compression, in->compression_count);
    }
    for (size_t i = 0; i < in->pushed_count; ++i) {
        exchange(in, work, in->pushed[2 * i], in->pushed[2 * i + 1]);
    }
    for (size_t i = 0; i < model->joint_count; ++i) {
        exchange(in, work, model->joint[i].body[0], model->joint[i].body[1]);
    }
    for (size_t i = 0; !in->impact && i < model->spring_count; ++i) {
        exchange(in, work, model->spring[i].body[0], model->spring[i].body[1]);
    }
    for (size_t i = 0; !in->impact && i < model->controller_count; ++i) {
        const perpi_controller* c = &model->controller[i];
        if (c->joint < 0) {
            exchange(in, work, -1, c->body);
        }
    }
    bool free = false;
    for (int32_t i = 0; i < bodies; ++i) {
        free = free || (f->block_of[i] >= 0 && !work->held[i]);
    }
    if (!free) { /* as a body on the ground */
        return false;
    }
    for (int32_t i = 0; i < bodies; ++i) {
        const int32_t root = representative(work->island, i);
        work->island[i] = root;
        work->held[root] = work->held[root] || work->held[i];
    }
    bool any = false;
    for (int32_t i = 0; i < bodies; ++i) {
        any = any || (f->block_of[i] >= 0 && !work->held[work->island[i]]);
    }
    return any;
}

static void add3(double* to, vec3 a)
{
    to[0] += a.x;
    to[1] += a.y;
    to[2] += a.z;
}

static vec3 centre_of(const perp_model* model, const double* q, int32_t i)
{
    const double* at = q + (size_t)i * (size_t)perpi_q_stride(model);
    return v3(at[0], at[1], model->dimension == 2 ? 0.0 : at[2]);
}

/* Mass and centre of mass of every island. */
static void find_centres(const perpi_ledger_input* in, const perpi_momentum_work* work,
                         const double* q, island_sum* sum)
{
    const int32_t bodies = (int32_t)in->model->body_count;
    for (int32_t i = 0; i < bodies; ++i) {
        if (in->f->block_of[i] >= 0) {
            const double mass = in->model->body[i].mass;
            sum[work->island[i]].mass += mass;
            add3(sum[work->island[i]].centre, v3_scale(mass, centre_of(in->model, q, i)));
        }
    }
    for (int32_t i = 0; i < bodies; ++i) {
        for (int k = 0; k < 3 && sum[i].mass > 0.0; ++k) {
            sum[i].centre[k] /= sum[i].mass;
        }
    }
}

/* How far moving poses from q_end to q_final displaces the centre of mass of every island. */
static void find_moved(const perpi_ledger_input* in, const perpi_momentum_work* work,
                       island_sum* sum)
{
    const int32_t bodies = (int32_t)in->model->body_count;
    for (int32_t i = 0; in->q_final != NULL && i < bodies; ++i) {
        if (in->f->block_of[i] >= 0) {
            const vec3 by =
                v3_sub(centre_of(in->model, in->q_final, i), centre_of(in->model, in->q_end, i));
            add3(sum[work->island[i]].moved, v3_scale(in->model->body[i].mass, by));
        }
    }
    for (int32_t i = 0; i < bodies; ++i) {
        for (int k = 0; k < 3 && sum[i].mass > 0.0; ++k) {
            sum[i].moved[k] /= sum[i].mass;
        }
    }
}

/* m v and the moment about `about` of a body in a state. */
static void add_state(const perp_model* model, int32_t i, const double* q, const double* v,
                      double sign, vec3 about, island_sum* sum)
{
    const perpi_body* body = &model->body[i];
    const double* at = q + (size_t)i * (size_t)perpi_q_stride(model);
    const vec3 x = model->dimension == 2 ? v3(at[0], at[1], 0.0) : v3_from(at);
    const vec3 p = v3_scale(sign * body->mass, perpi_state_velocity(model, v, i));
    const vec3 arm = v3_sub(x, about);
    vec3 L = v3_cross(arm, p);
    add3(sum->linear, p);
    sum->linear_size += v3_norm(p);
    sum->angular_size += v3_norm(arm) * v3_norm(p);
    if (!body->particle) {
        const vec3 w = perpi_state_rate(model, v, i);
        vec3 spin = v3(0, 0, sign * body->inertia.m[2][2] * w.z);
        if (model->dimension == 3) {
            const perpi_pose pose = perpi_state_pose(model, q, i);
            spin = v3_scale(sign, spin_of(body, &pose, w));
        }
        L = v3_add(L, spin);
        sum->angular_size += v3_norm(spin);
    }
    add3(sum->angular, L);
}

/* Adds an external impulse at the centre of mass, and an angular impulse. */
static void add_outside(const double* x, vec3 about, vec3 p, vec3 L, island_sum* sum)
{
    const vec3 arm = v3_sub(v3_from(x), about);
    add3(sum->linear, v3_neg(p));
    add3(sum->angular, v3_neg(v3_add(v3_cross(arm, p), L)));
    sum->linear_size += v3_norm(p);
    sum->angular_size += v3_norm(arm) * v3_norm(p) + v3_norm(L);
}

/* Poses are known to the rounding of their coordinates, and velocities that close gaps and
 * joints within a step to that over h: bodies slower than this are at rest, and their momentum
 * is no scale for an error. */
static void add_rounding(const perpi_ledger_input* in, int32_t i, vec3 about, island_sum* sum)
{
    const perpi_body* body = &in->model->body[i];
    const vec3 x = centre_of(in->model, in->q, i);
    const double size = isfinite(body->reach) ? body->reach : 0.0;
    const double momentum = body->mass * DBL_EPSILON * (v3_norm(x) + size) / in->h;
    sum->linear_size += momentum;
    sum->angular_size += momentum * (v3_norm(v3_sub(x, about)) + size);
}

/* Gravity, wrenches, explicit springs, drag over the step. With the mean velocity v* = (1 - theta) v +
 * theta v' that advances the positions, x' x v' - x x v = (x + (1 - theta) h v*) x (v' - v): forces act
 * there, which in a middle step is half way. */
static void add_forces(const perpi_ledger_input* in, int32_t i, vec3 about, island_sum* sum)
{
    const perpi_formulation* f = in->f;
    const perpi_body* body = &in->model->body[i];
    const double* at = in->v_problem + f->dof[f->block_of[i]];
    const bool planar = in->model->dimension == 2;
    const double* q = in->q + (size_t)i * (size_t)perpi_q_stride(in->model);
    const vec3 v = planar ? v3(at[0], at[1], 0.0) : v3_from(at);
    double x[3];
    v3_to(v3_madd(v3(q[0], q[1], planar ? 0.0 : q[2]), (1.0 - perpi_body_theta(f, i)) * in->h, v),
          x);
    const vec3 w = body->particle ? v3(0, 0, 0) : planar ? v3(0, 0, at[2]) : v3_from(at + 3);
    vec3 p = v3_madd(v3_scale(body->mass, body->gravity), -body->drag_linear, v);
    vec3 L = v3_scale(-body->drag_angular, w);
    if (f->any_applied) {
        p = v3_add(p, v3_from(f->applied + 6 * (size_t)i));
        L = v3_add(L, v3_from(f->applied + 6 * (size_t)i + 3));
    }
    add_outside(x, about, v3_scale(in->h, p), v3_scale(in->h, L), sum);
}

/* Implicit springs act along the directions of the start of the step, also perpendicular to the
 * line between their points: the moment that this adds is known, see docs/notation.md. */
static void add_spring_moments(const perpi_ledger_input* in, const perpi_momentum_work* work,
                               island_sum* sum)
{
    const perpi_formulation* f = in->f;
    const perp_model* model = in->model;
    int32_t index = perpi_force_constraint(f, model);
    for (size_t i = 0; i < model->spring_count; ++i) {
        const perpi_spring* s = &model->spring[i];
        if (!s->implicit) {
            continue;
        }
        const perp_constraint* c = &f->constraint[index++];
        const double* J = f->J + c->jac;
        for (int side = 0; side < 2; ++side) {
            const int32_t body = s->body[side];
            if (body < 0 || f->block_of[body] < 0) {
                continue;
            }
            const int32_t n = model->body[body].dofs, linear = model->dimension;
            double x[6] = {0};
            for (int32_t r = 0; r < c->rows; ++r) {
                for (int32_t k = 0; k < n; ++k) {
                    x[k < linear ? k : 6 - n + k] += J[r * n + k] * in->p_problem[c->row + r];
                }
            }
            J += c->rows * n;
            const int32_t root = representative(work->island, body);
            const double* q = in->q + (size_t)body * (size_t)perpi_q_stride(model);
            const double at[3] = {q[0], q[1], linear == 2 ? 0.0 : q[2]};
            add_outside(at, v3_from(sum[root].centre), v3_from(x), v3_from(x + 3), &sum[root]);
        }
    }
}

static perp_status grow_work(const perp_model* model, perpi_momentum_work* work)
{
    const size_t n = model->body_count;
    if (work->sum_capacity >= SUMS * n) { /* the last to grow */
        return PERP_OK;
    }
    perp_status status =
        perpi_grow(model->context, &work->island, &work->island_capacity, n, sizeof *work->island);
    if (status == PERP_OK) {
        status =
            perpi_grow(model->context, &work->held, &work->held_capacity, n, sizeof *work->held);
    }
    if (status == PERP_OK) {
        status = perpi_grow(model->context, &work->sum, &work->sum_capacity, SUMS * n,
                            sizeof *work->sum);
    }
    return status;
}

/* ---- projected states ------------------------------------------------------------------------------*/

/* Inertia of a body about a point. */
static void add_inertia(const perp_model* model, const double* q, int32_t i, vec3 about, double* to)
{
    const perpi_body* body = &model->body[i];
    const vec3 r = v3_sub(centre_of(model, q, i), about);
    const double m = body->mass, square = v3_dot(r, r);
    mat3 I = {{{0}}};
    if (!body->particle && model->dimension == 2) {
        I.m[2][2] = body->inertia.m[2][2];
    } else if (!body->particle) {
        const mat3 R = perpi_state_pose(model, q, i).R;
        for (int k = 0; k < 3; ++k) {
            const vec3 axis = v3(k == 0, k == 1, k == 2);
            const vec3 column = m3_mul(R, m3_mul(body->inertia, m3_tmul(R, axis)));
            for (int row = 0; row < 3; ++row) {
                I.m[row][k] = v3_get(column, row);
            }
        }
    }
    static const int at[6][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}};
    for (int k = 0; k < 6; ++k) {
        const int a = at[k][0], b = at[k][1];
        to[k] += I.m[a][b] + m * ((a == b ? square : 0.0) - v3_get(r, a) * v3_get(r, b));
    }
}

/* The angular velocity of the whole island that has the angular momentum L. Particles on a line
 * have no inertia about it: I = s (1 - d d'), and the component of L along d is ignored. */
static vec3 turn_of(int32_t dimension, const double I[6], vec3 L)
{
    const double trace = I[0] + I[1] + I[2];
    if (!(trace > 0.0)) {
        return v3(0, 0, 0);
    }
    if (dimension == 2) {
        return v3(0.0, 0.0, I[2] > 0.0 ? L.z / I[2] : 0.0);
    }
    const mat3 A = {{{I[0], I[3], I[4]}, {I[3], I[1], I[5]}, {I[4], I[5], I[2]}}};
    const double det = I[0] * (I[1] * I[2] - I[5] * I[5]) - I[3] * (I[3] * I[2] - I[5] * I[4]) +
                       I[4] * (I[3] * I[5] - I[1] * I[4]);
    return det > 1e-12 * trace * trace * trace ? m3_mul(m3_inverse(A), L)
                                               : v3_scale(2.0 / trace, L);
}

perp_status perpi_momentum_restore(const perpi_ledger_input* in, perpi_momentum_work* work,
                                   double* v)
{
    const perp_model* model = in->model;
    const int32_t bodies = (int32_t)model->body_count;
    const perp_status status = grow_work(model, work);
    if (status != PERP_OK || !find_islands(in, work)) {
        return status;
    }
    island_sum* sum = (island_sum*)work->sum;
    memset(sum, 0, model->body_count * sizeof *sum);
    find_centres(in, work, in->q_final, sum);
    find_moved(in, work, sum);
    for (int32_t i = 0; i < bodies; ++i) {
        if (in->f->block_of[i] >= 0 && !work->held[work->island[i]]) {
            island_sum* to = &sum[work->island[i]];
            const vec3 about = v3_from(to->centre);
            add_state(model, i, in->q_end, in->v_state, 1.0, v3_sub(about, v3_from(to->moved)), to);
            add_state(model, i, in->q_final, v, -1.0, about, to);
            add_inertia(model, in->q_final, i, about, to->inertia);
        }
    }
    for (int32_t i = 0; i < bodies; ++i) {
        const island_sum* of = &sum[work->island[i]];
        if (in->f->block_of[i] < 0 || work->held[work->island[i]]) {
            continue;
        }
        const vec3 w = turn_of(model->dimension, of->inertia, v3_from(of->angular));
        const vec3 arm = v3_sub(centre_of(model, in->q_final, i), v3_from(of->centre));
        const vec3 u = v3_cross(w, arm);
        const bool planar = model->dimension == 2, turns = !model->body[i].particle;
        double* at = v + (size_t)i * (planar ? 3 : 6);
        at[0] += u.x;
        at[1] += u.y;
        at[2] += planar ? (turns ? w.z : 0.0) : u.z;
        for (int k = 0; !planar && turns && k < 3; ++k) {
            at[3 + k] += v3_get(w, k);
        }
    }
    return PERP_OK;
}

perp_status perpi_momentum_account(const perpi_ledger_input* in, perpi_momentum_work* work,
                                   double error[2])
{
    const perp_model* model = in->model;
    const perpi_formulation* f = in->f;
    const int32_t bodies = (int32_t)model->body_count;
    error[0] = error[1] = 0.0;
    const perp_status status = grow_work(model, work);
    if (status != PERP_OK) {
        return status;
    }
    if (!find_islands(in, work)) {
        return PERP_OK;
    }
    island_sum* sum = (island_sum*)work->sum;
    memset(sum, 0, model->body_count * sizeof *sum);
    find_centres(in, work, in->q, sum);
    find_moved(in, work, sum);
    for (int32_t i = 0; i < bodies; ++i) {
        if (f->block_of[i] < 0 || work->held[work->island[i]]) {
            continue;
        }
        island_sum* to = &sum[work->island[i]];
        const vec3 about = v3_from(to->centre);
        const bool projected = in->q_final != NULL;
        add_state(model, i, projected ? in->q_final : in->q_end,
                  projected ? in->v_final : in->v_state, 1.0, v3_add(about, v3_from(to->moved)),
                  to);
        add_state(model, i, in->q, in->v, -1.0, about, to);
        if (!in->impact) {
            add_forces(in, i, about, to);
            add_rounding(in, i, about, to);
        }
    }
    if (!in->impact && model->spring_rows > 0) {
        add_spring_moments(in, work, sum);
    }
    for (int32_t i = 0; i < f->contact_count; ++i) {
        const perp_contact* c = &in->contact[i];
        if (f->block_of[c->body_a] < 0 || f->block_of[c->body_b] < 0) {
            continue;
        }
        island_sum* to = &sum[work->island[c->body_a]];
        const double p = v3_norm(v3(c->impulse[0], c->impulse[1], c->impulse[2]));
        to->linear_size += p;
        to->angular_size +=
            p * v3_norm(v3_sub(v3_from(c->point), v3_from(to->centre))) + fabs(c->impulse[3]);
    }
    for (int32_t i = 0; i < bodies; ++i) {
        if (f->block_of[i] < 0 || work->island[i] != i || work->held[i]) {
            continue;
        }
        const double off[2] = {v3_norm(v3_from(sum[i].linear)), v3_norm(v3_from(sum[i].angular))};
        const double size[2] = {sum[i].linear_size, sum[i].angular_size};
        for (int k = 0; k < 2; ++k) {
            const double relative = size[k] > 0.0 ? off[k] / size[k] : 0.0;
            error[k] = error[k] >= relative ? error[k] : relative; /* keeps a NaN */
        }
    }
    return PERP_OK;
}
