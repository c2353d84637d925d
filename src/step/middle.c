/* src/step/middle.c - a step with the directions of joints at its middle.
 *
 * Source     the midpoint rule with constraints at the end of the step, [Gonzalez 1999, Mechanical
 *            systems subject to holonomic constraints], [Betsch and Steinmann 2002]
 * Method     with v* the mean velocities of the step, and theta = 1/2,
 *                I_m w* - L = theta (h torque_m + sum r_m x p),  m (v* - v) = theta (h f_m + sum p),
 *                q' = q + h v*,  error(q') = 0,  v' = 2 v* - v
 *            where the index m is the middle: inertia and forces at the pose half way, and directions
 *            and arms of joints the mean of those at q and q'. Linear and angular momentum are kept to
 *            rounding, and so is the energy up to the difference between an arc and its chord. Second
 *            order in h.
 * Newton     unknowns v* and p. Of the derivative of J_m' p only the part of the arms is taken, which
 *            is block diagonal:  d(a x F) = h/2 (dw x a') x F = K dw,  K = h/2 (a' F' - (a' . F) 1), a' the
 *            arm at the end. Without it the iteration does not converge in a chain that whips.
 *
 * Only where no contact, limit or rope acts: an impact has no middle, and v' = 2 v* - v would make it
 * elastic. Such a step is one of the start. Joint friction and motors take part: rows at a bound keep it.
 * Not with springs, controllers, supports and soft layers, whose rows are laws of the end of a step: taken
 * as rows of the middle, those of springs would give twice their impulses.
 */
#include "step/middle.h"

#include <string.h>

#include "base/turn.h"
#include "linalg/pair.h"
#include "step/chord.h"
#include "step/joint_rows.h"
#include "step/pack.h"
#include "step/step.h"

enum { MAX_NEWTON = 25 };
/* Errors of joints relative to their sizes, and of the motion relative to itself: where to stop, and where to
 * stop if another iteration no longer halves them, or if they were below SQUARED before: an error of Newton's
 * method is some twenty times the square of the one before, so that what is left is rounding. That is so
 * where the error before was QUICK times the one before it: the part of the derivative that is not taken can
 * leave a rate of 1/3 or so, and what is left is then no rounding but work that the ledger does not explain. */
static const double GOAL = 1e-13;
static const double ENOUGH = 1e-11;
static const double SQUARED = 1e-9;
static const double QUICK = 0.01;
/* Below this the factors of a point serve the points after it: with them an error becomes some twenty times
 * its product with this one. */
static const double CLOSE = 1e-5;
/* h^2 omega^2 / 2 of a body that its joints pull straight, omega the frequency at which it turns to and fro:
 * beyond this a step with the directions of the start is unstable. */
static const double STIFF = 2.0;

void perpi_step_extend(perpi_step* step)
{
    const int32_t stride = perpi_v_stride(step->model);
    for (int32_t i = 0; i < (int32_t)step->model->body_count; ++i) {
        const int32_t dofs =
            perpi_body_middle(step->formulation, i) ? step->model->body[i].dofs : 0;
        for (int32_t j = i * stride; j < i * stride + dofs; ++j) {
            step->to->v[j] = 2.0 * step->to->v[j] - step->v_from[j];
        }
    }
}

/* Whether contacts, limits and ropes have no impulse in the solution of the problem at the start. */
static bool is_free(const perpi_step* step)
{
    const perpi_formulation* f = step->formulation;
    for (int32_t i = 0; i < f->constraints; ++i) {
        const perp_constraint* c = &f->constraint[i];
        const int32_t slot = i < f->contact_count ? -1 : f->place[i - f->contact_count].slot;
        const bool one_sided =
            c->kind == PERP_CONSTRAINT_CONTACT ||
            (c->kind == PERP_CONSTRAINT_BOUNDED &&
             (slot == 0 || slot == 1 + PERPI_LAW_LOWER || slot == 1 + PERPI_LAW_UPPER));
        for (int32_t r = c->row; one_sided && r < c->row + c->rows; ++r) {
            if (step->p_problem[r] != 0.0) {
                return false;
            }
        }
    }
    return true;
}

static bool has_force_rows(const perpi_step* step)
{
    const perp_model* model = step->model;
    return model->chain_count > 0 || model->spring_count > 0 || model->controller_count > 0 ||
           model->support_points > 0 || step->formulation->layer_count > 0;
}

static bool is_displaced(const perpi_step* step)
{
    const double* offset = perpi_step_offset(step);
    bool any = false;
    for (int32_t i = 0; offset != NULL && i < perpi_offset_size(step->model); ++i) {
        any = any || offset[i] != 0.0;
    }
    return any;
}

/* Of a middle step of length h, which is that of the step but where a path leads to it (follow_path). */
static perpi_step_input middle_inputs(const perpi_step* step, double h)
{
    perpi_step_input in = perpi_step_inputs(step);
    in.middle = true;
    in.h = h;
    return in;
}

/* The problem at the mean velocities in step->to->v, and its end in step->to->q. again: the problem before was
 * one of these. */
static perp_status formulate_middle(perpi_step* step, double h, bool again)
{
    perpi_step_input in = middle_inputs(step, h);
    in.again = again;
    memcpy(step->to->q, step->q_from, (size_t)step->q_size * sizeof *step->to->q);
    perp_status status = step->stepper->advance(&in, step->to->q, step->to->v);
    in.q_end = step->to->q;
    in.v_end = step->to->v;
    if (status == PERP_OK) {
        status = step->stepper->formulate(step->formulation, &in);
    }
    return status == PERP_OK ? perpi_step_room(step, step->formulation) : status;
}

/* Adds the change of the torque of a joint by the rotation of one of its bodies. F: its force. */
static void add_stiffness(const perpi_formulation* f, int32_t block, double h, vec3 a, vec3 F,
                          double* K)
{
    const int32_t n = f->dof[block + 1] - f->dof[block];
    const double along = v3_dot(a, F);
    if (n == 3) {
        K[8] -= 0.5 * h * along;
        return;
    }
    const double part = 0.5 * h;
    K[0] += part * (a.x * F.x - along);
    K[1] += part * (a.x * F.y);
    K[2] += part * (a.x * F.z);
    K[3] += part * (a.y * F.x);
    K[4] += part * (a.y * F.y - along);
    K[5] += part * (a.y * F.z);
    K[6] += part * (a.z * F.x);
    K[7] += part * (a.z * F.y);
    K[8] += part * (a.z * F.z - along);
}

/* The arm of a joint whose first rows are along the axes of the world, from its Jacobian [s e, s a x e] on
 * a body of n velocities; false: they are not. */
static inline bool arm_of_rows(int32_t linear, int32_t n, double s, const double* R, vec3* a)
{
    if (linear == 3 && n == 6) { /* unrolled */
        *a = v3(s * R[11], -s * R[5], s * R[4]);
        return R[0] == s && R[1] == 0.0 && R[2] == 0.0 && R[6] == 0.0 && R[7] == s && R[8] == 0.0 &&
               R[12] == 0.0 && R[13] == 0.0 && R[14] == s;
    }
    for (int32_t i = 0; i < linear; ++i) {
        for (int32_t j = 0; j < linear; ++j) {
            if (R[i * n + j] != (i == j ? s : 0.0)) {
                return false;
            }
        }
    }
    *a = linear == 2 ? v3(s * R[n + 2], -s * R[2], 0.0) : v3(s * R[n + 5], -s * R[5], s * R[4]);
    return n > linear;
}

/* The stiffness K of the joints at the end of the step, whose Jacobian is R. */
static void find_stiffness(const perpi_step* step, double h, const double* R, double* K)
{
    const perpi_formulation* f = step->formulation;
    const int32_t linear = step->model->dimension;
    memset(K, 0, 9 * (size_t)f->problem.block_count * sizeof *K);
    for (int32_t k = 0; k < f->joint_count; ++k) {
        const perp_constraint* c = &f->constraint[f->contact_count + k];
        const double* p = step->p_problem + c->row;
        const double* at = R + c->jac;
        for (int side = 0; f->place[k].slot == 0 && c->rows >= linear && side < 2; ++side) {
            const int32_t block = c->block[side];
            const int32_t n = block >= 0 ? f->dof[block + 1] - f->dof[block] : 0;
            const double s = side == 0 ? -1.0 : 1.0;
            vec3 a;
            if (n > linear && arm_of_rows(linear, n, s, at, &a)) {
                const vec3 F = v3(s * p[0], s * p[1], linear == 3 ? s * p[2] : 0.0);
                add_stiffness(f, block, h, a, F, K + 9 * (size_t)block);
            }
            at += (size_t)(c->rows * n);
        }
    }
}

static mat3 m3_at(const double* a)
{
    mat3 A;
    memcpy(A.m, a, sizeof A.m);
    return A;
}

/* What the derivative of I_m w - g by w has beside I_m, I_m the inertia half way: d (I w)/d(rotation) = I [w] - [I w], and
 * the term g of a body that turns by the chord. */
static mat3 momentum_slope(const perpi_step* step, const perpi_step_input* in, int32_t body, vec3 w)
{
    const mat3 I = step->formulation->inertia[body]; /* not round */
    const vec3 L = m3_mul(I, w);
    mat3 D;
    if (perpi_turns_by_chord(in, body)) {
        D = perpi_chord_slope(in, body, I, step->formulation->spin[body], w);
        for (int n = 0; n < 9; ++n) {
            D.m[n / 3][n % 3] -= I.m[n / 3][n % 3];
        }
        return D;
    }
    const mat3 cross = {{{0, -w.z, w.y}, {w.z, 0, -w.x}, {-w.y, w.x, 0}}};
    const mat3 spin = {{{0, -L.z, L.y}, {L.z, 0, -L.x}, {-L.y, L.x, 0}}};
    D = m3_mm(I, cross);
    for (int n = 0; n < 9; ++n) {
        D.m[n / 3][n % 3] = 0.5 * in->h * (D.m[n / 3][n % 3] - spin.m[n / 3][n % 3]);
    }
    return m3_mm(D, perpi_turn_derivative(v3_scale(0.5 * in->h, w)));
}

/* G: for each block d (rotation at the end) by its angular velocity, over h. K: stiffness by rotations at the end
 * -> by angular velocities, with the change of the inertia's direction. */
static void find_turns(const perpi_step* step, double h, double* G, double* K)
{
    const perpi_formulation* f = step->formulation;
    const int32_t linear = step->model->dimension;
    const perpi_step_input in = middle_inputs(step, h);
    for (int32_t i = 0; i < (int32_t)step->model->body_count; ++i) {
        const int32_t block = f->block_of[i];
        if (block < 0 || f->dof[block + 1] - f->dof[block] <= linear) {
            continue;
        }
        const double* v = step->v_problem + f->dof[block] + linear;
        const vec3 w = linear == 2 ? v3(0, 0, v[0]) : v3_from(v);
        const mat3 slope = perpi_turn_slope(&in, i, w);
        double *g = G + 9 * (size_t)block, *k = K + 9 * (size_t)block;
        if (linear == 2) {
            g[8] = slope.m[2][2];
            k[8] *= g[8];
            continue;
        }
        const vec3 turn = perpi_turn_of(&in, i, w);
        const mat3 by_turn = perpi_turn_derivative(turn);
        const mat3 end = perpi_turns_by_chord(&in, i) ? m3_mm(by_turn, slope) : by_turn;
        mat3 stiffness = m3_mm(m3_at(k), end);
        if (!perpi_inertia_round(&step->model->body[i])) {
            const mat3 D = momentum_slope(step, &in, i, w);
            for (int n = 0; n < 9; ++n) {
                stiffness.m[n / 3][n % 3] -= D.m[n / 3][n % 3];
            }
        }
        memcpy(g, end.m, sizeof end.m);
        memcpy(k, stiffness.m, sizeof stiffness.m);
    }
}

/* The rows R of joints at the end by rotations of its bodies -> by their angular velocities, over h. */
static void follow_turns(const perpi_step* step, const double* G, double* R)
{
    const perpi_formulation* f = step->formulation;
    const int32_t linear = step->model->dimension;
    for (int32_t k = 0; k < f->joint_count; ++k) {
        const perp_constraint* c = &f->constraint[f->contact_count + k];
        double* at = R + c->jac;
        for (int side = 0; side < 2 && f->place[k].slot == 0; ++side) {
            const int32_t block = c->block[side];
            const int32_t n = block >= 0 ? f->dof[block + 1] - f->dof[block] : 0;
            const double* g = G + 9 * (size_t)(block >= 0 ? block : 0);
            const mat3 turn = n == 6 ? m3_at(g) : m3_identity();
            for (int32_t r = 0; r < c->rows; ++r, at += n) {
                if (n == 6) {
                    v3_to(m3_tmul(turn, v3_from(at + 3)), at + 3);
                } else if (n == 3 && linear == 2) {
                    at[2] *= g[8];
                }
            }
        }
    }
}

/* z = M v - k - J' p */
static void unbalance(const perpi_step* step, double* z)
{
    const perpi_formulation* f = step->formulation;
    const double* M = f->M;
    for (int32_t block = 0; block < f->problem.block_count; ++block) {
        const int32_t first = f->dof[block], n = f->dof[block + 1] - first;
        const double *v = step->v_problem + first, *k = f->k + first;
        if (n == 6) { /* a body: translation is not coupled with rotation */
            for (int i = 0; i < 3; ++i) {
                const double* I = M + 6 * (3 + i) + 3;
                z[first + i] = -k[i] + M[7 * i] * v[i];
                z[first + 3 + i] = -k[3 + i] + I[0] * v[3] + I[1] * v[4] + I[2] * v[5];
            }
            M += 36;
            continue;
        }
        for (int32_t i = 0; i < n; ++i, M += n) {
            double sum = -k[i];
            for (int32_t j = 0; j < n; ++j) {
                sum += M[j] * v[j];
            }
            z[first + i] = sum;
        }
    }
    for (int32_t i = 0; i < f->constraints; ++i) {
        const perp_constraint* c = &f->constraint[i];
        const double* J = f->J + c->jac;
        for (int side = 0; side < 2; ++side) {
            const int32_t block = c->block[side];
            const int32_t n = block >= 0 ? f->dof[block + 1] - f->dof[block] : 0;
            if (n > 0) {
                perpi_subtract_rows(n, c->rows, J, step->p_problem + c->row, z + f->dof[block]);
                J += c->rows * n;
            }
        }
    }
}

/* The largest velocities, linear and angular, of the bodies and of their motion without joints. */
static void find_scales(const perpi_step* step, double scale[2])
{
    const perpi_formulation* f = step->formulation;
    const double* M = f->M;
    scale[0] = scale[1] = 0.0;
    for (int32_t block = 0; block < f->problem.block_count; ++block) {
        const int32_t first = f->dof[block], n = f->dof[block + 1] - first;
        for (int32_t i = 0; i < n; ++i) {
            double* to = &scale[i < step->model->dimension ? 0 : 1];
            const double v = fabs(step->v_problem[first + i]),
                         free = fabs(f->k[first + i] / M[i * n + i]);
            *to = *to >= v ? *to : v;
            *to = *to >= free ? *to : free;
        }
        M += n * n;
    }
}

/* The size of velocities z relative to these, the largest of both kinds. In a mechanism that only
 * slides rotations are rounding, and in one that turns about its centre of mass displacements are:
 * a kind counts at least as much as SLIGHT of the other, by the radius of gyration of the body. */
static double part_of_motion(const perpi_step* step, const double* z)
{
    static const double SLIGHT = 1e-3;
    const perpi_formulation* f = step->formulation;
    const int32_t linear = step->model->dimension;
    const double* M = f->M;
    double scale[2], part = 0.0;
    find_scales(step, scale);
    for (int32_t block = 0; block < f->problem.block_count; ++block) {
        const int32_t first = f->dof[block], n = f->dof[block + 1] - first;
        const double radius = n > linear ? sqrt(M[n * n - 1] / M[0]) : 0.0;
        for (int kind = 0; kind < 2; ++kind) {
            const double other = SLIGHT * (kind == 0 ? radius * scale[1] : scale[0] / radius);
            const double size = scale[kind] >= other ? scale[kind] : other;
            double rest = 0.0;
            for (int32_t i = kind == 0 ? 0 : linear; i < (kind == 0 ? linear : n); ++i) {
                rest = perpi_larger(rest, fabs(z[first + i]));
            }
            part = perpi_larger(part, rest == 0.0 ? 0.0 : rest / size);
        }
        M += n * n;
    }
    return part;
}

/* Arrays in step->middle. */
typedef struct middle_room {
    double *K, *G; /* 9 a block */
    double *z, *e; /* of velocities, of rows */
} middle_room;

static middle_room room_of(const perpi_step* step)
{
    const perp_contact_problem* P = &step->formulation->problem;
    double *K = step->middle, *G = K + 9 * (size_t)P->block_count;
    double* z = G + 9 * (size_t)P->block_count;
    return (middle_room){K, G, z, z + P->dof_count};
}

double* perpi_middle_path_room(const perpi_step* step)
{
    return room_of(step).e + step->formulation->problem.row_count;
}

static perp_status reserve_middle(perpi_step* step)
{
    const perp_contact_problem* P = &step->formulation->problem;
    const size_t own = 18 * (size_t)P->block_count + (size_t)P->dof_count + (size_t)P->row_count;
    const size_t path = perpi_middle_path_size(P->dof_count, P->row_count);
    const perp_status status = perpi_grow(step->context, &step->middle, &step->middle_capacity,
                                          own + path, sizeof *step->middle);
    return status == PERP_OK ? perpi_joint_system_reserve(step->system, step->formulation) : status;
}

/* Impulses of motors and friction that are at a bound up to the tolerance of a solver, or have left
 * their bounds in a step of Newton's method, are at it: rows keep what they do not satisfy
 * otherwise. Which rows these are the residual check decides. */
static void keep_bounds(perpi_step* step)
{
    static const double NEAR = 1e-6; /* of the range */
    const perpi_formulation* f = step->formulation;
    for (int32_t i = f->contact_count; i < f->contact_count + f->joint_count; ++i) {
        const perp_constraint* c = &f->constraint[i];
        for (int32_t r = c->row; c->kind == PERP_CONSTRAINT_BOUNDED && r < c->row + c->rows; ++r) {
            const double room = NEAR * (f->upper[r] - f->lower[r]);
            double* p = &step->p_problem[r];
            if (isfinite(room)) {
                *p = *p <= f->lower[r] + room   ? f->lower[r]
                     : *p >= f->upper[r] - room ? f->upper[r]
                                                : *p;
            }
        }
    }
}

/* Whether the system has rows that are not those of the joints' positions. */
static bool has_laws(const perpi_formulation* f)
{
    bool any = f->constraints > f->contact_count + f->joint_count;
    for (int32_t k = 0; k < f->joint_count; ++k) {
        any = any || f->place[k].slot != 0;
    }
    return any;
}

perp_status perpi_middle_expected(perpi_step* step, bool* expected)
{
    const perpi_formulation* f = step->formulation;
    const perp_status status = reserve_middle(step);
    const double *K = step->middle, *M = f->M;
    *expected = false;
    if (status != PERP_OK) {
        return status;
    }
    find_stiffness(step, step->h, f->J, step->middle);
    for (int32_t block = 0; block < f->problem.block_count; ++block, K += 9) {
        const int32_t n = f->dof[block + 1] - f->dof[block];
        const double pull = n == 6   ? -(K[0] + K[4] + K[8]) / (M[21] + M[28] + M[35])
                            : n == 3 ? -K[8] / M[8]
                                     : 0.0;
        *expected = *expected || pull > STIFF;
        M += n * n;
    }
    return PERP_OK;
}

/* before: errors of the two points before, the last first. */
static bool is_good(double error, const double before[2])
{
    const bool squared = before[0] <= SQUARED && before[0] <= QUICK * before[1];
    return error <= GOAL || (error <= ENOUGH && (error > 0.5 * before[0] || squared));
}

perp_status perpi_middle_unbalance(perpi_step* step, double h, double* z, double* e)
{
    perpi_formulation* f = step->formulation;
    double* R = perpi_joint_system_R(step->system);
    const perp_status status = formulate_middle(step, h, false);
    if (status == PERP_OK) {
        perpi_formulation_gather_v(f, step->model, step->to->v, step->v_problem);
        memset(e, 0, (size_t)f->rows * sizeof *e);
        memcpy(R, f->J, f->jac * sizeof *R);
        (void)perpi_formulation_end_rows(f, step->model, h, NULL, step->input, step->p_problem, e,
                                         R);
        unbalance(step, z);
    }
    return status;
}

/* Factors the equations at the formulated point, unless it is good enough. *error: of the point; infinite if
 * there are no factors. factored: the factors of an earlier point serve. */
static perp_status linearise(perpi_step* step, double h, bool solved, bool factored,
                             const double before[2], double* error, bool* good)
{
    perpi_formulation* f = step->formulation;
    perpi_joint_system* s = step->system;
    const middle_room at = room_of(step);
    double* R = perpi_joint_system_R(s);
    bool taken = factored;
    perp_status status = PERP_OK;
    *error = INFINITY;
    *good = false;
    if (f->contact_count > 0 || has_laws(f)) { /* else all rows are written below */
        memset(at.e, 0, (size_t)f->rows * sizeof *at.e);
        memcpy(R, f->J, f->jac * sizeof *R);
    }
    const double open =
        perpi_formulation_end_rows(f, step->model, h, NULL, step->input, step->p_problem, at.e, R);
    if (!factored) {
        find_stiffness(step, h, R, at.K);
        find_turns(step, h, at.G, at.K);
        status = perpi_joint_system_begin(s, f, solved ? step->p_problem : NULL, at.K, &taken);
    }
    if (status != PERP_OK || !taken) {
        return status;
    }
    unbalance(step, at.z);
    perpi_joint_system_apply(s, f, at.z);
    const double moved = part_of_motion(step, at.z);
    *error = open >= moved ? open : moved;
    *error = isfinite(open) && isfinite(moved) ? *error : INFINITY;
    if (is_good(*error, before)) {
        perpi_formulation_set_b(f, step->model, step->v_problem, at.e);
        *good = true;
        return PERP_OK;
    }
    follow_turns(step, at.G,
                 R); /* not of a good point: a projection of velocities takes R as it is */
    if (!isfinite(*error) || (!factored && !perpi_joint_system_factor(s, f, R))) {
        *error = INFINITY;
    }
    return PERP_OK;
}

/* v and p become those of a Newton step with the factors of linearise(). z: (M - K)^-1 times the unbalance of
 * the motion; e: errors of the joints / h. laws: the other rows are those of the point; else they are 0. */
static void take_newton_step(perpi_step* step, bool laws, const double* z, const double* e,
                             double* v, double* p)
{
    perpi_formulation* f = step->formulation;
    perpi_joint_system* s = step->system;
    double *r = perpi_joint_system_r(s), *R = perpi_joint_system_R(s);
    if (laws) {
        (void)perpi_joint_system_rows(s, f, v, p, r);
    }
    for (int32_t k = 0; k < f->joint_count; ++k) {
        const perp_constraint* c = &f->constraint[f->contact_count + k];
        if (f->place[k].slot == 0) {
            memcpy(r + c->row, e + c->row, (size_t)c->rows * sizeof *r);
        }
    }
    perpi_joint_system_subtract(s, f, R, z, r);
    perpi_joint_system_solve(s, f, r, v, p);
    for (int32_t i = 0; i < f->problem.dof_count; ++i) {
        v[i] -= z[i];
    }
}

/* One Newton step, unless the point is good enough. *error: of the point. */
static perp_status improve(perpi_step* step, double h, bool solved, const double before[2],
                           double* error, bool* good)
{
    perpi_formulation* f = step->formulation;
    const bool factored = before[0] > 0.0 && before[0] <= CLOSE && !has_laws(f);
    const perp_status status = linearise(step, h, solved, factored, before, error, good);
    if (status == PERP_OK && !*good && isfinite(*error)) {
        const middle_room at = room_of(step);
        take_newton_step(step, has_laws(f), at.z, at.e, step->v_problem, step->p_problem);
        perpi_formulation_scatter_v(f, step->model, step->v_problem, step->to->v);
    }
    return status;
}

perp_status perpi_middle_newton(perpi_step* step, double h, bool solved, const double before[2],
                                double* error, bool* good, const perpi_middle_slope* slope)
{
    perpi_formulation* f = step->formulation;
    perp_status status = formulate_middle(step, h, false);
    if (status != PERP_OK) {
        return status;
    }
    perpi_formulation_gather_v(f, step->model, step->to->v, step->v_problem);
    status = linearise(step, h, solved, false, before, error, good);
    if (status == PERP_OK && !*good && isfinite(*error)) {
        const middle_room at = room_of(step);
        perpi_joint_system_apply(step->system, f, slope->z);
        memset(slope->dv, 0, (size_t)f->problem.dof_count * sizeof *slope->dv);
        memset(slope->dp, 0, (size_t)f->rows * sizeof *slope->dp);
        take_newton_step(step, false, slope->z, slope->e, slope->dv, slope->dp);
        take_newton_step(step, false, at.z, at.e, step->v_problem, step->p_problem);
    }
    return status;
}

/* The residual check. Where rounding of Newton's method exceeds a sharp tolerance, velocities that balance
 * the impulses to rounding, and the problem at these. */
static perp_status accept_middle(perpi_step* step, bool solved, bool* within)
{
    enum { MAX_BALANCED = 5 };
    perpi_formulation* f = step->formulation;
    perpi_formulation_round_arms(f, step->model, step->p_problem);
    perp_status status = perpi_step_check(step, within);
    for (int i = 0; i < MAX_BALANCED && status == PERP_OK && !*within; ++i) {
        bool taken = false;
        status = perpi_joint_system_begin(step->system, f, solved ? step->p_problem : NULL, NULL,
                                          &taken);
        if (status != PERP_OK || !taken) {
            return status;
        }
        perpi_joint_system_motion(step->system, f, step->p_problem, step->v_problem);
        perpi_formulation_scatter_v(f, step->model, step->v_problem, step->to->v);
        status = formulate_middle(step, step->h, true);
        if (status == PERP_OK) {
            perpi_formulation_correct_b(f, step->model, step->h, step->to->q, step->v_problem,
                                        step->input);
            perpi_formulation_round_arms(f, step->model, step->p_problem);
            status = perpi_step_check(step, within);
        }
    }
    return status;
}

/* The first guess of the mean velocities: those of the start; turned: with the body's linear velocity turned
 * by half of its rotation, as about a fixed point. */
static void guess_mean(perpi_step* step, bool turned)
{
    const perp_model* model = step->model;
    memcpy(step->to->v, step->v_from, (size_t)step->v_size * sizeof *step->to->v);
    for (int32_t i = 0; turned && i < (int32_t)model->body_count; ++i) {
        const vec3 w = perpi_state_rate(model, step->v_from, i);
        const vec3 v = perpi_state_velocity(model, step->v_from, i);
        if (model->body[i].dofs > 0) {
            perpi_state_set_velocity(model, step->to->v, i,
                                     q4_rotate(q4_exp(v3_scale(0.5 * step->h, w)), v), w);
        }
    }
}

perp_status perpi_middle_iterate(perpi_step* step, double h, bool solved, const double* p,
                                 int32_t most, bool* good, int32_t* count)
{
    perpi_formulation* f = step->formulation;
    double before[2] = {INFINITY, INFINITY}, error = INFINITY;
    perp_status status = PERP_OK;
    *good = false;
    for (*count = 0; status == PERP_OK && *count < most; ++*count) {
        if (*count > 0 || p != NULL) {
            status = formulate_middle(step, h, *count > 0);
        }
        if (status != PERP_OK) {
            return status;
        }
        if (*count == 0 && p != NULL) {
            memcpy(step->p_problem, p, (size_t)f->rows * sizeof *p);
        }
        perpi_formulation_gather_v(f, step->model, step->to->v, step->v_problem);
        if (solved) {
            keep_bounds(step);
        }
        status = improve(step, h, solved, before, &error, good);
        if (*good || !isfinite(error)) {
            break;
        }
        before[1] = before[0];
        before[0] = *count + 2 < most ? error : 0.0; /* in the last what is enough is good */
    }
    return status;
}

/* Newton's method for the step from a first guess of its own. */
static perp_status search_middle(perpi_step* step, bool solved, bool turned, bool* good,
                                 int32_t* count)
{
    perpi_formulation* f = step->formulation;
    guess_mean(step, turned);
    perp_status status = formulate_middle(step, step->h, false);
    if (status == PERP_OK) {
        status = reserve_middle(step);
    }
    if (status != PERP_OK) {
        return status;
    }
    if (!solved || turned) {
        perpi_step_guess(step, step->from->v);
    } else {
        for (int32_t i = 0; i < f->rows; ++i) {
            step->p_problem[i] *= f->theta;
        }
    }
    return perpi_middle_iterate(step, step->h, solved, NULL, MAX_NEWTON, good, count);
}

perp_status perpi_solve_middle(perpi_step* step, bool solved, bool* done)
{
    perpi_formulation* f = step->formulation;
    *done = false;
    if (step->kept.joints || is_displaced(step) || has_force_rows(step) ||
        f->problem.group_count > 0 || (solved && !is_free(step))) {
        return PERP_OK;
    }
    bool good = false, within = false;
    int32_t count = 0;
    perp_status status = search_middle(step, solved, false, &good, &count);
    if (status == PERP_OK && !good && step->settings.joint_chosen) {
        status = search_middle(step, solved, true, &good, &count);
    }
    if (status == PERP_OK && !good && step->settings.joint_chosen && !has_laws(f)) {
        status = perpi_middle_follow(step, solved, &good, &count);
    }
    if (status != PERP_OK || !good) {
        return status;
    }
    step->report = (perp_report){
        .outcome = PERP_OUTCOME_SOLVED, .solver = PERPI_JOINT_SOLVER, .iterations = count};
    status = accept_middle(step, solved, &within);
    *done = status == PERP_OK && within;
    return status;
}
