/* src/step/formulate.c - the Stewart-Trinkle problem of one step.
 *
 * Source     [T03 (26)-(37)], [N04 30-35], [B09 (2.78)]
 * Notation   nu^{l+1} -> v;  M nu^l + p_app + p_vp -> k;  W_n', W_f' -> rows of J;
 *            psi/h + dpsi/dt -> b of a normal row;  dPsi_f/dt -> b of the friction rows
 * Departure  the friction rows are the two tangents (t, o); the polygon's directions d_j are
 *            combined from them when the problem is reformulated. Prescribed bodies are no
 *            unknowns:
 *            their velocity enters b. The gyroscopic term p_vp is implicit (state.c), and so is
 *            drag: -D v at the end of the step makes M + h D of M.
 */
#include "step/formulate.h"

#include <string.h>

#include "step/chord.h"
#include "step/force_rows.h"
#include "step/gear_rows.h"
#include "step/joint_rows.h"
#include "step/layer_ties.h"
#include "step/layers.h"
#include "step/support_rows.h"

perp_status perpi_formulation_create(perp_context* context, perpi_formulation** formulation)
{
    perpi_formulation* f = NULL;
    const perp_status status = perpi_alloc(context, 1, sizeof *f, &f);
    if (status == PERP_OK) {
        f->context = context;
        *formulation = f;
    }
    return status;
}

void perpi_formulation_destroy(perpi_formulation* f)
{
    if (f == NULL) {
        return;
    }
    perp_context* context = f->context;
    perpi_free(context, f->dof);
    perpi_free(context, f->block_of);
    perpi_free(context, f->pose);
    perpi_free(context, f->end);
    perpi_free(context, f->inertia);
    perpi_free(context, f->spin);
    perpi_free(context, f->given_v);
    perpi_free(context, f->given_w);
    perpi_free(context, f->M);
    perpi_free(context, f->k);
    perpi_free(context, f->J);
    perpi_free(context, f->b);
    perpi_free(context, f->constraint);
    perpi_free(context, f->group);
    perpi_free(context, f->member);
    perpi_free(context, f->lower);
    perpi_free(context, f->upper);
    perpi_free(context, f->compliance);
    perpi_free(context, f->b_error);
    perpi_free(context, f->given);
    perpi_free(context, f->applied);
    perpi_free(context, f->gyroscopic);
    perpi_free(context, f->hold);
    perpi_free(context, f->nearest);
    perpi_free(context, f->place);
    perpi_free(context, f->wrench);
    perpi_free(context, f->rounding);
    perpi_free(context, f->error);
    perpi_free(context, f->layer);
    perpi_free(context, f->tie);
    perpi_free(context, f->tied);
    perpi_free(context, f->view);
    perpi_free(context, f->force);
    perpi_free(context, f->check);
    perpi_free(context, f->way);
    perpi_free(context, f);
}

static perp_status grow_for_bodies(perpi_formulation* f, size_t n)
{
    perp_context* c = f->context;
    if (n <= f->body_room) {
        return PERP_OK;
    }
    perp_status status = perpi_grow(c, &f->dof, &f->dof_capacity, n + 1, sizeof *f->dof);
    if (status == PERP_OK) {
        status = perpi_grow(c, &f->block_of, &f->block_capacity, n, sizeof *f->block_of);
    }
    if (status == PERP_OK) {
        status = perpi_grow(c, &f->pose, &f->pose_capacity, n, sizeof *f->pose);
    }
    if (status == PERP_OK) {
        status = perpi_grow(c, &f->end, &f->end_capacity, n, sizeof *f->end);
    }
    if (status == PERP_OK) {
        status = perpi_grow(c, &f->inertia, &f->inertia_capacity, n, sizeof *f->inertia);
    }
    if (status == PERP_OK) {
        status = perpi_grow(c, &f->spin, &f->spin_capacity, n, sizeof *f->spin);
    }
    if (status == PERP_OK) {
        status = perpi_grow(c, &f->given_v, &f->given_v_capacity, n, sizeof *f->given_v);
    }
    if (status == PERP_OK) {
        status = perpi_grow(c, &f->given_w, &f->given_w_capacity, n, sizeof *f->given_w);
    }
    if (status == PERP_OK) {
        status = perpi_grow(c, &f->gyroscopic, &f->gyroscopic_capacity, n, sizeof *f->gyroscopic);
    }
    if (status == PERP_OK) {
        status = perpi_grow(c, &f->hold, &f->hold_capacity, n, sizeof *f->hold);
    }
    if (status == PERP_OK) {
        status = perpi_grow(c, &f->nearest, &f->nearest_capacity, n, sizeof *f->nearest);
    }
    if (status == PERP_OK) {
        status = perpi_grow(c, &f->applied, &f->applied_capacity, 6 * n, sizeof *f->applied);
    }
    if (status == PERP_OK) {
        status = perpi_grow(c, &f->M, &f->M_capacity, 36 * n, sizeof *f->M);
    }
    if (status == PERP_OK) {
        status = perpi_grow(c, &f->k, &f->k_capacity, 6 * n, sizeof *f->k);
    }
    f->body_room = status == PERP_OK ? n : f->body_room;
    return status;
}

/* Reserves the given total numbers of constraints, rows and entries of J. */
static perp_status grow_for_rows(perpi_formulation* f, size_t constraints, size_t rows, size_t jac)
{
    perp_context* c = f->context;
    perp_status status =
        perpi_grow(c, &f->constraint, &f->constraint_capacity, constraints, sizeof *f->constraint);
    if (status == PERP_OK) {
        status = perpi_grow(c, &f->J, &f->J_capacity, jac, sizeof *f->J);
    }
    struct {
        double** array;
        size_t* capacity;
    } per_row[] = {{&f->b, &f->b_capacity},
                   {&f->given, &f->given_capacity},
                   {&f->lower, &f->lower_capacity},
                   {&f->upper, &f->upper_capacity},
                   {&f->compliance, &f->compliance_capacity},
                   {&f->b_error, &f->b_error_capacity}};
    for (size_t i = 0; status == PERP_OK && i < sizeof per_row / sizeof per_row[0]; ++i) {
        status = perpi_grow(c, per_row[i].array, per_row[i].capacity, rows, sizeof(double));
    }
    return status;
}

perp_status perpi_formulation_room(perpi_formulation* f, size_t constraints, size_t rows,
                                   size_t jac)
{
    return grow_for_rows(f, (size_t)f->constraints + constraints, (size_t)f->rows + rows,
                         f->jac + jac);
}

/* Applied forces besides gravity, for the energy ledger. */
static void keep_applied(perpi_formulation* f, const perpi_body* b, int32_t body, vec3 force,
                         vec3 torque)
{
    if (f->any_applied) {
        v3_to(v3_madd(force, -b->mass, b->gravity), f->applied + 6 * (size_t)body);
        v3_to(torque, f->applied + 6 * (size_t)body + 3);
    }
}

/* Likewise for a body without inertia: M = s M^ + h D, k = s M^ v_near + h (force; torque), with M^
 * the body's mass. At v = v_near what is left of M v = k + J' p is 0 = h (f - D v) + J' p. */
static perp_status write_block_at_rest(perpi_formulation* f, const perpi_step_input* in,
                                       int32_t body, const double* extra, double* M, double* k)
{
    const perp_model* model = in->model;
    const perpi_body* b = &model->body[body];
    const double h = in->h, s = in->settings->inertia;
    const vec3 v = perpi_state_velocity(model, in->v_end, body);
    const vec3 w = perpi_state_rate(model, in->v_end, body);
    const int32_t n = b->dofs, linear = model->dimension;
    vec3 force, torque;
    const perp_status status =
        perpi_external_wrench(model, in->t, &f->pose[body], extra, body, &force, &torque);
    if (status != PERP_OK) {
        return status;
    }
    keep_applied(f, b, body, force, torque);
    memset(M, 0, (size_t)(n * n) * sizeof *M);
    for (int32_t i = 0; i < linear; ++i) {
        M[i * n + i] = s * b->mass + h * b->drag_linear;
        k[i] = s * b->mass * v3_get(v, i) + h * v3_get(force, i);
    }
    if (b->particle) {
        return PERP_OK;
    }
    const mat3 I = perpi_world_inertia(b, &f->pose[body]);
    const int32_t first = linear == 2 ? 2 : 0; /* the axes that it can rotate about */
    for (int32_t i = first; i < 3; ++i) {
        const int32_t row = linear + i - first;
        k[row] = h * v3_get(torque, i);
        for (int32_t j = first; j < 3; ++j) {
            const double I_ij = 0.5 * (I.m[i][j] + I.m[j][i]);
            M[row * n + linear + j - first] = s * I_ij;
            k[row] += s * I_ij * v3_get(w, j);
        }
        M[row * n + row] += h * b->drag_angular;
    }
    return PERP_OK;
}

/* Common input of all blocks of a problem. */
typedef struct block_input {
    perpi_evaluation evaluation;
    double t, h;
    const double *v, *extra;
} block_input;

/* Mass block and the momentum k of the free motion: k = M v + h (force; torque + gyroscopic).
 * With evaluation at the end of the step, M is that of the end, and k the momentum at the start
 * plus the forces of the end. The velocity-product term is the difference of the two inertias:
 * the unknown is the momentum at the end, so a free body conserves it for any h. */
static perp_status write_block(perpi_formulation* f, const perp_model* model, int32_t body,
                               const block_input* in, double* M, double* k)
{
    const perpi_evaluation evaluation = in->evaluation;
    const double t = in->t, h = in->h;
    const double *v_flat = in->v, *extra = in->extra;
    /* also for other purposes than a step, whose k is set afterwards: their forces have no
     * effect (h = 0) */
    const perpi_body* b = &model->body[body];
    const perpi_pose* pose = evaluation == PERPI_EVALUATE_START ? &f->pose[body] : &f->end[body];
    const vec3 v = perpi_state_velocity(model, v_flat, body);
    const vec3 w = perpi_state_rate(model, v_flat, body);
    vec3 force, torque;
    const perp_status status = perpi_external_wrench(
        model, evaluation == PERPI_EVALUATE_START ? t : t + h, pose, extra, body, &force, &torque);
    if (status != PERP_OK) {
        return status;
    }
    const int32_t n = b->dofs;
    const int32_t linear = model->dimension;
    keep_applied(f, b, body, force, torque);
    f->gyroscopic[body] = v3(0, 0, 0);
    const double mass = b->mass + h * b->drag_linear;
    const vec3 momentum = v3_madd(v3_scale(b->mass, v), h, force);
    k[0] = momentum.x, k[1] = momentum.y;
    if (n == 6) {
        double* M_i = M;
        for (int i = 0; i < 6; ++i, M_i += 6) {
            M_i[0] = M_i[1] = M_i[2] = M_i[3] = M_i[4] = M_i[5] = 0.0;
        }
        M[0] = M[7] = M[14] = mass;
        k[2] = momentum.z;
    } else {
        memset(M, 0, (size_t)(n * n) * sizeof *M);
        for (int32_t i = 0; i < linear; ++i) {
            M[i * n + i] = mass;
        }
        k[linear - 1] = linear == 3 ? momentum.z : momentum.y;
    }
    if (b->particle) {
        return PERP_OK;
    }
    if (model->dimension == 2) {
        M[8] = b->inertia.m[2][2] + h * b->drag_angular;
        k[2] = b->inertia.m[2][2] * w.z + h * torque.z;
        return PERP_OK;
    }
    const mat3 I = perpi_world_inertia(b, pose);
    vec3 spin;                    /* the angular part of k */
    if (perpi_inertia_round(b)) { /* no velocity-product term */
        spin = v3_madd(v3_scale(I.m[0][0], w), h, torque);
    } else if (evaluation == PERPI_EVALUATE_START) {
        const double part = f->midway ? perpi_spin_part(b, f->hold[body], h, w) : 1.0;
        spin = m3_mul(I, perpi_free_rate(b, pose, w, part * h, v3_scale(1.0 / part, torque)));
        f->gyroscopic[body] = v3_sub(spin, v3_madd(m3_mul(I, w), h, torque));
    } else {
        if (!f->again) { /* else q and v are those of the problem before */
            f->spin[body] = m3_mul(perpi_world_inertia(b, &f->pose[body]), w);
        }
        f->inertia[body] = I;
        spin = v3_madd(f->spin[body], h, torque);
    }
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            M[(3 + i) * 6 + 3 + j] = 0.5 * (I.m[i][j] + I.m[j][i]); /* symmetric to the bit */
        }
        M[(3 + i) * 6 + 3 + i] += h * b->drag_angular;
        k[3 + i] = v3_get(spin, i);
    }
    return PERP_OK;
}

/* Row of direction d at arm r, for a body with n dofs; sign -1 for A, +1 for B. */
static inline void write_row(int32_t dimension, int32_t n, double sign, vec3 d, vec3 r, double* row)
{
    row[0] = sign * d.x;
    row[1] = sign * d.y;
    if (dimension == 3) {
        row[2] = sign * d.z;
    }
    if (n == dimension) {
        return; /* particle */
    }
    const vec3 m = v3_cross(r, d);
    if (dimension == 2) {
        row[2] = sign * m.z;
    } else {
        row[3] = sign * m.x;
        row[4] = sign * m.y;
        row[5] = sign * m.z;
    }
}

/* Relative spin about the normal; a particle has none. */
static void write_torsion_row(int32_t dofs, double sign, vec3 n, double* row)
{
    for (int32_t i = 0; i < dofs; ++i) {
        row[i] = i < 3 ? 0.0 : sign * v3_get(n, i - 3);
    }
}

/* Relative to the radius of gyration: how far the arms of a step with geometry at the end may be
 * shifted to conserve the angular momentum of a pair. */
static const double LARGEST_ARM_SHIFT = 0.5;

/* The inertia about the body's axes of rotation; 0: it does not rotate. */
static double turning_inertia(const perp_model* model, int32_t body)
{
    const perpi_body* b = &model->body[body];
    const mat3* I = &b->inertia;
    return b->particle             ? 0.0
           : model->dimension == 2 ? I->m[2][2]
                                   : (I->m[0][0] + I->m[1][1] + I->m[2][2]) / 3.0;
}

/* Steps with their geometry at the end. The angular momentum of a body about the origin, x' x m
 * v' + I' w' with x' = x + h v', changes by x x p + arm x p, so that of a pair is conserved if x
 * + arm is the same for both. With arms to a common point from x', the relative motion of the
 * centres over the step, d = (x_B' - x_B) - (x_A' - x_A), remains. It is added to the arms in
 * proportion to the other body's inertia, so that the heavy body is turned least by it. Where
 * that would shift an arm too far, the pair slides further in a step than its size, and the
 * shift would turn the bodies and add energy: it is bounded, and the momentum account reports
 * the rest. */
static vec3 arm_shift(const perp_model* model, const perpi_pose* pose, const perpi_pose* start,
                      int32_t a, int32_t b, int side)
{
    const vec3 d = v3_sub(v3_sub(pose[b].x, start[b].x), v3_sub(pose[a].x, start[a].x));
    const double I[2] = {turning_inertia(model, a), turning_inertia(model, b)};
    double part = 1.0;
    for (int i = 0; i < 2; ++i) {
        const double moved = I[i] / (I[0] + I[1]) * v3_norm(d);
        const double most = LARGEST_ARM_SHIFT * sqrt(I[i] / model->body[i == 0 ? a : b].mass);
        part = part * moved > most ? most / moved : part;
    }
    const double share = part * I[side] / (I[0] + I[1]);
    return v3_scale(side == 0 ? -share : share, d);
}

/* Where the impulse of a contact acts on one of its bodies, from the centre of mass. Between two dynamic
 * bodies it is one point for both, in the middle of the gap: equal and opposite impulses at two points
 * would change the angular momentum of the pair by gap n x p_t. Along n the point does not matter. A
 * particle has no arm: the point is its own. Beside a prescribed body it is the body's own point.
 * start: the poses at the start of the step where `pose` is that of its end, else NULL. */
static vec3 contact_arm(const perp_model* model, const perpi_pose* pose, const perpi_pose* start,
                        const perp_contact* contact, int side)
{
    const int32_t a = contact->body_a, b = contact->body_b;
    const bool both = model->body[a].dofs > 0 && model->body[b].dofs > 0;
    const double part = !both                     ? (side == 0 ? 0.0 : 1.0)
                        : model->body[a].particle ? 0.0
                        : model->body[b].particle ? 1.0
                                                  : 0.5;
    const vec3 point =
        v3_madd(v3_from(contact->point), part * contact->gap, v3_from(contact->normal));
    const vec3 arm[2] = {v3_sub(point, pose[a].x), v3_sub(point, pose[b].x)};
    if (start == NULL || !both || (model->body[a].particle && model->body[b].particle)) {
        return arm[side];
    }
    return v3_add(arm[side], arm_shift(model, pose, start, a, b, side));
}

/* Whether a moment about the normal can act between the bodies: a dynamic particle takes none,
 * so none acts on the other body. */
static bool has_torsion(const perp_model* model, const perp_contact* contact)
{
    const perpi_body *a = &model->body[contact->body_a], *b = &model->body[contact->body_b];
    return !(a->dofs > 0 && a->particle) && !(b->dofs > 0 && b->particle);
}

/* The directions of a contact's rows: normal and tangents. */
typedef struct contact_frame {
    vec3 direction[3];
} contact_frame;

static contact_frame frame_of(const perp_contact* contact)
{
    const vec3 n = v3_from(contact->normal), t = v3_from(contact->tangent);
    return (contact_frame){{n, t, v3_cross(n, t)}};
}

/* The rows of one side with the arm r. */
static double* write_side(const perp_model* model, const perp_contact* contact,
                          const contact_frame* frame, vec3 r, int side, int32_t rows, double* J)
{
    const double sign = side == 0 ? -1.0 : 1.0;
    const int32_t dofs = model->body[side == 0 ? contact->body_a : contact->body_b].dofs;
    if (dofs == 6 && rows == 3) {
        for (int i = 0; i < 3; ++i, J += 6) {
            write_row(3, 6, sign, frame->direction[i], r, J);
        }
        return J;
    }
    for (int32_t i = 0; i < rows; ++i) {
        if (i < 3) {
            write_row(model->dimension, dofs, sign, frame->direction[i], r, J);
        } else {
            write_torsion_row(dofs, has_torsion(model, contact) ? sign : 0.0, frame->direction[0],
                              J);
        }
        J += dofs;
    }
    return J;
}

double* perpi_contact_rows(const perp_model* model, const perpi_pose* pose, const perpi_pose* start,
                           const perp_contact* contact, int side, int32_t rows, double* J)
{
    const contact_frame frame = frame_of(contact);
    return write_side(model, contact, &frame, contact_arm(model, pose, start, contact, side), side,
                      rows, J);
}

/* Whether a prescribed body does not move. */
static bool is_still(const perpi_formulation* f, int32_t body)
{
    const vec3 v = f->given_v[body], w = f->given_w[body];
    return v.x == 0.0 && v.y == 0.0 && v.z == 0.0 && w.x == 0.0 && w.y == 0.0 && w.z == 0.0;
}

/* h: of the gap term; 0: there is none. place: its soft layer; NULL: rigid. */
static void write_contact(perpi_formulation* f, const perp_model* model, const perpi_pose* pose,
                          double h, const perp_contact* contact, const perpi_layer_place* place,
                          perp_constraint* constraint)
{
    const int32_t row = f->rows;
    const size_t jac = f->jac;
    const contact_frame frame = frame_of(contact);
    const int32_t body[2] = {contact->body_a, contact->body_b};
    const perpi_pose* start = pose == f->end && !f->middle ? f->pose : NULL;
    const int32_t rows = contact->cone == PERP_CONE_NONE        ? 1
                         : contact->cone == PERP_CONE_ELLIPSOID ? 4
                                                                : model->dimension;

    *constraint = (perp_constraint){.kind = PERP_CONSTRAINT_CONTACT,
                                    .row = row,
                                    .rows = rows,
                                    .jac = jac,
                                    .cone = contact->cone,
                                    .directions = contact->directions,
                                    .mu = contact->mu,
                                    .e = {contact->e[0], contact->e[1], contact->e[2]},
                                    .key = contact->key};
    f->b[row] = h > 0.0 ? contact->gap / h + contact->drift[0] : contact->drift[0];
    f->given[row] = 0.0; /* drift[0] is the law of restitution */
    const bool driven = rows > 1 && perpi_contact_driven(model, contact);
    for (int32_t i = 1; i < rows; ++i) {
        f->b[row + i] = i < 3 ? contact->drift[i] : 0.0;
        f->given[row + i] = driven ? f->b[row + i] : 0.0;
    }
    double* J = f->J + jac;
    for (int side = 0; side < 2; ++side) {
        const int32_t own = f->block_of[body[side]];
        const bool layer = place != NULL && place->side == side;
        constraint->block[side] = own;
        if (own < 0 && !layer && is_still(f, body[side])) {
            continue; /* adds nothing */
        }
        const double sign = side == 0 ? -1.0 : 1.0;
        const vec3 r = contact_arm(model, pose, start, contact, side);
        if (layer) {
            constraint->block[side] = place->block;
            f->b[row] += contact->layer.start[0] / h;
            J = perpi_layer_rows(place, rows, J);
        } else if (own >= 0) {
            J = write_side(model, contact, &frame, r, side, rows, J);
        }
        if (own >= 0) {
            continue;
        }
        const vec3 u = v3_add(f->given_v[body[side]], v3_cross(f->given_w[body[side]], r));
        for (int32_t i = 0; i < rows; ++i) {
            const double moved = sign * (i < 3 ? v3_dot(frame.direction[i], u)
                                         : has_torsion(model, contact)
                                             ? v3_dot(frame.direction[0], f->given_w[body[side]])
                                             : 0.0);
            f->b[row + i] += moved;
            f->given[row + i] += moved;
        }
    }
}

perp_status perpi_formulation_blocks(perpi_formulation* f, size_t blocks)
{
    return grow_for_bodies(f, blocks);
}

static bool same_arms(const perpi_row* row, int side)
{
    const vec3 a = row[0].arm[side], b = row[1].arm[side], c = row[2].arm[side];
    return a.x == b.x && a.y == b.y && a.z == b.z && a.x == c.x && a.y == c.y && a.z == c.z;
}

/* Whether the first three rows are those of a point, along the axes of the world (perpi_joint_hold_point). */
static bool holds_point(const perpi_row* row, int32_t rows, int side)
{
    if (rows < 3) {
        return false;
    }
    const vec3 a = row[0].dir, b = row[1].dir, c = row[2].dir;
    return a.x == 1.0 && a.y == 0.0 && a.z == 0.0 && b.x == 0.0 && b.y == 1.0 && b.z == 0.0 &&
           c.x == 0.0 && c.y == 0.0 && c.z == 1.0 && !row[0].angular && !row[1].angular &&
           !row[2].angular && same_arms(row, side);
}

/* Their Jacobian [1, -[r]], r the arm that they share. */
static void write_point_rows(double sign, vec3 r, double* J)
{
    const vec3 s = v3_scale(sign, r);
    J[0] = J[7] = J[14] = sign;
    J[1] = J[2] = J[3] = J[6] = J[8] = J[10] = J[12] = J[13] = J[17] = 0.0;
    J[4] = s.z;
    J[5] = -s.y;
    J[9] = -s.z;
    J[11] = s.x;
    J[15] = s.y;
    J[16] = -s.x;
}

double* perpi_joint_jacobian(const perp_model* model, int32_t body, int side, const perpi_row* row,
                             int32_t rows, double* J)
{
    const perpi_body* b = &model->body[body];
    const double sign = side == 0 ? -1.0 : 1.0;
    if (b->dofs == 6 && holds_point(row, rows, side)) {
        write_point_rows(sign, row[0].arm[side], J);
        row += 3, rows -= 3, J += 18;
    }
    for (int32_t i = 0; i < rows; ++i, J += b->dofs) {
        if (!row[i].angular && b->dofs == 6) {
            write_row(3, 6, sign, row[i].dir, row[i].arm[side], J); /* unrolled */
        } else if (!row[i].angular) {
            write_row(model->dimension, b->dofs, sign, row[i].dir, row[i].arm[side], J);
        } else if (model->dimension == 2) {
            J[0] = J[1] = 0.0;
            J[b->dofs - 1] = b->particle ? 0.0 : sign * row[i].dir.z;
        } else {
            write_torsion_row(b->dofs, sign, row[i].dir, J);
        }
    }
    return J;
}

perp_status perpi_formulation_append(perpi_formulation* f, const perp_model* model,
                                     perp_constraint_kind kind, const int32_t body[2],
                                     const perpi_row* row, int32_t rows, uint64_t key)
{
    const perp_status status = grow_for_rows(f, (size_t)f->constraints + 1,
                                             (size_t)(f->rows + rows), f->jac + 12 * (size_t)rows);
    if (status != PERP_OK) {
        return status;
    }
    perp_constraint* constraint = &f->constraint[f->constraints++];
    *constraint = (perp_constraint){
        .kind = kind, .block = {-1, -1}, .row = f->rows, .rows = rows, .jac = f->jac, .key = key};
    for (int32_t i = 0; i < rows; ++i) {
        f->b[f->rows + i] = row[i].b;
        f->given[f->rows + i] = 0.0;
        f->lower[f->rows + i] = row[i].lower;
        f->upper[f->rows + i] = row[i].upper;
        f->compliance[f->rows + i] = row[i].compliance;
    }
    double* J = f->J + f->jac;
    for (int side = 0; side < 2; ++side) {
        const double sign = side == 0 ? -1.0 : 1.0;
        if (body[side] < 0) {
            continue;
        }
        constraint->block[side] = f->block_of[body[side]];
        if (constraint->block[side] >= 0) {
            J = perpi_joint_jacobian(model, body[side], side, row, rows, J);
        }
        for (int32_t i = 0; i < rows && constraint->block[side] < 0; ++i) {
            const vec3 w = f->given_w[body[side]];
            const vec3 u =
                row[i].angular ? w : v3_add(f->given_v[body[side]], v3_cross(w, row[i].arm[side]));
            f->b[f->rows + i] += sign * v3_dot(row[i].dir, u);
            f->given[f->rows + i] += sign * v3_dot(row[i].dir, u);
        }
    }
    f->jac = (size_t)(J - f->J);
    f->rows += rows;
    return PERP_OK;
}

/* The wrenches of user code with those of the explicit springs, if there are such. */
static perp_status gather_wrenches(perpi_formulation* f, const perp_model* model,
                                   const perpi_pose* pose, const double* v, const double** extra)
{
    bool any = false;
    for (size_t i = 0; i < model->spring_count; ++i) {
        any = any || !model->spring[i].implicit;
    }
    if (!any) {
        return PERP_OK;
    }
    const size_t n = 6 * model->body_count;
    const perp_status status =
        perpi_grow(f->context, &f->wrench, &f->wrench_capacity, n, sizeof *f->wrench);
    if (status != PERP_OK) {
        return status;
    }
    for (size_t i = 0; i < n; ++i) {
        f->wrench[i] = *extra != NULL ? (*extra)[i] : 0.0;
    }
    perpi_add_spring_forces(model, pose, false, v, f->wrench);
    *extra = f->wrench;
    return PERP_OK;
}

perpi_pose perpi_middle_pose(const perpi_step_input* in, const double* v, int32_t body,
                             perpi_pose pose)
{
    const perp_model* model = in->model;
    if (model->body[body].dofs == 0) {
        return pose; /* fixed, or not used */
    }
    const vec3 turn = perpi_turn_of(in, body, perpi_state_rate(model, v, body));
    pose.x = v3_madd(pose.x, 0.5 * in->h, perpi_state_velocity(model, v, body));
    pose.q = q4_unit(q4_mul(q4_exp(v3_scale(0.5, turn)), pose.q));
    pose.R = q4_matrix(pose.q);
    return pose;
}

/* The normal velocity that a side of a contact would have in the step without any contact, its spin
 * not damped. A prescribed body has the velocity of the rows of the step: a support that slows down
 * leaves what is on it. */
static double free_speed(const perpi_formulation* f, const perpi_step_input* in,
                         const perp_contact* c, int32_t i)
{
    const perpi_body* body = &in->model->body[i];
    const perpi_pose* pose = &f->pose[i];
    vec3 v = f->given_v[i], w = f->given_w[i];
    if (body->dofs > 0) {
        v = v3_madd(perpi_state_velocity(in->model, in->v, i), in->h, body->gravity);
        w = perpi_state_rate(in->model, in->v, i);
    }
    if (body->dofs == 6) {
        const double part = perpi_spin_part(body, PERPI_HOLD_PLAIN, in->h, w);
        w = perpi_free_rate(body, pose, w, part * in->h, v3(0, 0, 0));
    }
    const vec3 u = v3_add(v, v3_cross(w, v3_sub(v3_from(c->point), pose->x)));
    return v3_dot(v3_from(c->normal), u);
}

/* Whether the contact acts in the step, as far as the bodies' own motion tells. A body next to
 * another one is free. Of a group the nearest member need not act. */
static bool is_closing(const perpi_formulation* f, const perpi_step_input* in,
                       const perp_contact* c)
{
    const double rate = free_speed(f, in, c, c->body_b) - free_speed(f, in, c, c->body_a);
    return c->group == 0 && c->gap + in->h * rate < 0.0;
}

/* The bodies that have a contact with an impulse: f->nearest is one of these, or -1. */
static void find_pushed(perpi_formulation* f, int32_t bodies, const perp_contact* contact,
                        int32_t count)
{
    for (int32_t i = 0; i < bodies; ++i) {
        f->nearest[i] = -1;
    }
    for (int32_t i = 0; i < count; ++i) {
        if (contact[i].impulse[0] > 0.0) {
            f->nearest[contact[i].body_a] = f->nearest[contact[i].body_b] = i;
        }
    }
}

bool perpi_holds_expected(const perpi_formulation* f, const perp_model* model)
{
    bool any = false;
    for (size_t i = 0; i < model->body_count && !any; ++i) {
        any = f->hold[i] == PERPI_HOLD_PLAIN || f->hold[i] == PERPI_HOLD_LOST;
    }
    return any;
}

bool perpi_holds_differ(perpi_formulation* f, const perp_model* model, const perp_contact* contact,
                        int32_t count)
{
    const int32_t bodies = (int32_t)model->body_count;
    const bool any = perpi_holds_expected(f, model);
    bool differ = false;
    if (any) {
        find_pushed(f, bodies, contact, count);
    }
    for (int32_t i = 0; any && i < bodies; ++i) {
        const bool pushed = f->nearest[i] >= 0, turns = model->body[i].joints == 0;
        differ = differ || (f->hold[i] == PERPI_HOLD_PLAIN && turns && !pushed) ||
                 (f->hold[i] == PERPI_HOLD_LOST && turns && pushed);
    }
    return differ;
}

/* How the nearest contact of each body holds its spin; after the prescribed velocities. */
static void find_holds(perpi_formulation* f, const perpi_step_input* in)
{
    const int32_t bodies = (int32_t)in->model->body_count;
    if (in->hold != NULL) {
        memcpy(f->hold, in->hold, (size_t)bodies * sizeof *f->hold);
        return;
    }
    for (int32_t i = 0; i < bodies; ++i) {
        f->nearest[i] = -1;
        f->hold[i] = PERPI_HOLD_NONE;
    }
    for (int32_t i = 0; f->midway && i < in->contact_count; ++i) {
        const perp_contact* c = &in->contact[i];
        for (int side = 0; side < 2; ++side) {
            int32_t* nearest = &f->nearest[side == 0 ? c->body_a : c->body_b];
            *nearest = *nearest < 0 || c->gap < in->contact[*nearest].gap ? i : *nearest;
        }
    }
    for (int32_t i = 0; i < bodies; ++i) {
        if (f->nearest[i] >= 0) {
            const perp_contact* c = &in->contact[f->nearest[i]];
            f->hold[i] = perpi_hold_at(&in->model->body[i], &f->pose[i],
                                       perpi_state_rate(in->model, in->v, i), c->point);
            f->hold[i] = f->hold[i] == PERPI_HOLD_PLAIN && !is_closing(f, in, c) ? PERPI_HOLD_DAMPED
                                                                                 : f->hold[i];
        }
    }
    if (in->acted) {
        find_pushed(f, bodies, in->contact, in->contact_count);
    }
    for (int32_t i = 0; in->acted && i < bodies; ++i) {
        const bool lost = f->hold[i] == PERPI_HOLD_PLAIN && f->nearest[i] < 0;
        f->hold[i] = lost ? PERPI_HOLD_LOST : f->hold[i];
    }
}

/* The velocity-product term of a body that turns by the chord. */
static void add_chord_term(perpi_formulation* f, const perpi_step_input* in, int32_t i, double* k)
{
    const perpi_body* body = &in->model->body[i];
    if (perpi_inertia_round(body) || !perpi_turns_by_chord(in, i)) {
        return;
    }
    const vec3 g = perpi_chord_term(in, i, f->inertia[i], f->spin[i],
                                    perpi_state_rate(in->model, in->v_end, i));
    f->gyroscopic[i] = g;
    v3_to(v3_add(v3_from(k + 3), g), k + 3);
}

/* At the start of the step, and where it evaluates forces: its end, or its middle for the bodies that have it. */
static void write_poses(perpi_formulation* f, perpi_evaluation evaluation,
                        const perpi_step_input* in)
{
    const perp_model* model = in->model;
    const int32_t bodies = (int32_t)model->body_count;
    if (in->pose != NULL) {
        memcpy(f->pose, in->pose, (size_t)bodies * sizeof *f->pose);
    }
    for (int32_t i = 0; in->pose == NULL && i < bodies; ++i) {
        f->pose[i] = perpi_state_pose(model, in->q, i);
    }
    if (evaluation != PERPI_EVALUATE_START) {
        for (int32_t i = 0; i < bodies; ++i) {
            f->end[i] = perpi_body_middle(f, i) ? perpi_middle_pose(in, in->v_end, i, f->pose[i])
                        : f->middle             ? f->pose[i]
                                                : perpi_state_pose(model, in->q_end, i);
        }
    }
}

static perp_status write_prescribed(perpi_formulation* f, const perpi_step_input* in)
{
    perp_status status = PERP_OK;
    for (int32_t i = 0; status == PERP_OK && i < (int32_t)in->model->body_count; ++i) {
        if (in->model->body[i].dofs == 0) {
            status = perpi_prescribed_velocity(in->model, i, in->t, in->h, in->q, &f->given_v[i],
                                               &f->given_w[i]);
        }
    }
    return status;
}

/* The numbers of blocks and velocities; the rest is added later, at the latest by seal(). */
static void begin_problem(perpi_formulation* f, int32_t blocks)
{
    perp_contact_problem* P = &f->problem;
    P->block_count = blocks;
    P->dof_count = f->dof[blocks];
    P->group_count = 0;
    P->lower = P->upper = P->compliance = P->k_error = P->b_error = P->M_factor = NULL;
    f->body_dofs = f->dof[blocks];
    f->joint_count = 0; /* what follows is there in few models */
    f->tie_count = 0;
    f->supported = false;
    f->layer_count = 0;
    f->tied_count = 0;
}

/* in: for other purposes than a step only model, h, q and v are used. */
static perp_status write_bodies(perpi_formulation* f, perpi_purpose purpose,
                                perpi_evaluation evaluation, const perpi_step_input* in)
{
    const perp_model* model = in->model;
    const double t = in->t, h = in->h;
    const double *v = in->v, *extra = in->extra;
    const int32_t bodies = (int32_t)model->body_count;
    const bool step = purpose == PERPI_PURPOSE_STEP;
    perp_status status = grow_for_bodies(f, (size_t)bodies);
    if (status != PERP_OK) {
        return status;
    }
    write_poses(f, evaluation, in);
    if (step) {
        const bool end = evaluation != PERPI_EVALUATE_START;
        status = gather_wrenches(f, model, end ? f->end : f->pose, end ? in->v_end : v, &extra);
        if (status != PERP_OK) {
            return status;
        }
    }
    status = step ? write_prescribed(f, in) : PERP_OK;
    if (status != PERP_OK) {
        return status;
    }
    f->midway =
        step && (evaluation == PERPI_EVALUATE_START || f->part != NULL) && in->settings->midway;
    find_holds(f, in);
    f->any_applied = step && (extra != NULL || model->wrench_count > 0);
    /* one block for each dynamic body */
    int32_t blocks = 0;
    f->M_used = 0;
    f->dof[0] = 0;
    for (int32_t i = 0; i < bodies; ++i) {
        const bool absent = f->part != NULL && f->part[i] == PERPI_PART_ABSENT;
        const int32_t n = absent ? 0 : model->body[i].dofs;
        f->block_of[i] = n > 0 ? blocks : -1;
        if (absent) {
            f->given_v[i] = f->given_w[i] = v3(0, 0, 0);
        } else if (n == 0 && !step) {
            const bool moves = purpose != PERPI_PURPOSE_MOVE;
            f->given_v[i] = moves ? perpi_state_velocity(model, v, i) : v3(0, 0, 0);
            f->given_w[i] = moves ? perpi_state_rate(model, v, i) : v3(0, 0, 0);
        } else if (n > 0) {
            double* M = f->M + f->M_used;
            double* k = f->k + f->dof[blocks];
            const double span = step ? perpi_body_theta(f, i) * h : 0.0;
            const perpi_evaluation own =
                f->middle && !perpi_body_middle(f, i) ? PERPI_EVALUATE_START : evaluation;
            status = own == PERPI_EVALUATE_REST
                         ? write_block_at_rest(f, in, i, extra, M, k)
                         : write_block(f, model, i, &(block_input){own, t, span, v, extra}, M, k);
            if (status == PERP_OK && perpi_body_middle(f, i) && n == 6 && step) {
                add_chord_term(f, in, i, k);
            }
            for (int32_t a = 0; a < n && !step; ++a) {
                k[a] = 0.0;
                for (int32_t c = 0; c < n && purpose != PERPI_PURPOSE_MOVE; ++c) {
                    k[a] += M[a * n + c] * v[i * perpi_v_stride(model) + c];
                }
            }
            f->dof[blocks + 1] = f->dof[blocks] + n;
            f->M_used += (size_t)(n * n);
            blocks += 1;
        }
        if (status != PERP_OK) {
            return status;
        }
    }
    begin_problem(f, blocks);
    return PERP_OK;
}

static perp_status write_contacts(perpi_formulation* f, const perp_model* model,
                                  const perpi_pose* pose, double h, const perp_contact* contacts,
                                  int32_t count)
{
    const size_t n = (size_t)count;
    const perp_status status = grow_for_rows(f, n, 4 * n, 4 * 12 * n);
    if (status != PERP_OK) {
        return status;
    }
    f->contact_count = count;
    f->constraints = count;
    f->rows = 0;
    f->jac = 0;
    int32_t layer = 0; /* in the order of the contacts */
    for (int32_t i = 0; i < count; ++i) {
        perp_constraint* constraint = &f->constraint[i];
        const bool soft = layer < f->layer_count && f->layer[layer].contact == i;
        write_contact(f, model, pose, h, &contacts[i], soft ? &f->layer[layer] : NULL, constraint);
        layer += soft;
        f->rows += constraint->rows;
        for (int side = 0; side < 2; ++side) {
            const int32_t block = constraint->block[side];
            f->jac +=
                block >= 0 ? (size_t)(constraint->rows * (f->dof[block + 1] - f->dof[block])) : 0;
        }
    }
    return PERP_OK;
}

static bool has_groups(const perp_contact* contacts, int32_t count)
{
    bool any = false;
    for (int32_t i = 0; i < count && !any; ++i) {
        any = contacts[i].group != 0;
    }
    return any;
}

/* Writes the groups by their numbers; in each the contacts that may push come first. A group
 * that has lost all but one member, or all members that push, is removed. */
static perp_status write_groups(perpi_formulation* f, const perp_contact* contacts, int32_t count)
{
    int32_t highest = 0, grouped = 0;
    for (int32_t i = 0; i < count; ++i) {
        const int32_t g = contacts[i].group < 0 ? -contacts[i].group : contacts[i].group;
        highest = g > highest ? g : highest;
        grouped += g != 0;
    }
    perp_status status =
        perpi_grow(f->context, &f->group, &f->group_capacity, (size_t)highest, sizeof *f->group);
    if (status == PERP_OK) {
        status = perpi_grow(f->context, &f->member, &f->member_capacity, (size_t)grouped,
                            sizeof *f->member);
    }
    if (status != PERP_OK) {
        return status;
    }
    for (int32_t g = 0; g < highest; ++g) {
        f->group[g] = (perp_group){0};
    }
    for (int32_t i = 0; i < count; ++i) {
        const int32_t g = contacts[i].group;
        if (g != 0) {
            f->group[(g < 0 ? -g : g) - 1].count += 1;
        }
    }
    /* members in place of their group's first; primary counts those already there */
    int32_t* at = f->member;
    for (int32_t g = 0; g < highest; ++g) {
        f->group[g].member = at;
        at += f->group[g].count;
        f->group[g].count = 0;
    }
    for (int pass = 0; pass < 2; ++pass) {
        for (int32_t i = 0; i < count; ++i) {
            const int32_t g = contacts[i].group;
            if (g != 0 && (g > 0) == (pass == 0)) {
                perp_group* group = &f->group[(g < 0 ? -g : g) - 1];
                f->member[(group->member - f->member) + group->count++] = i;
                group->primary += pass == 0;
            }
        }
    }
    int32_t kept = 0;
    for (int32_t g = 0; g < highest; ++g) {
        if (f->group[g].count >= 2 && f->group[g].primary >= 1) {
            f->group[kept++] = f->group[g];
        }
    }
    f->problem.group_count = kept;
    return PERP_OK;
}

/* The arrays may have moved while they grew, so the pointers of the problem are set last. */
static void seal(perpi_formulation* f)
{
    perp_contact_problem* P = &f->problem;
    P->constraint_count = f->constraints;
    P->row_count = f->rows;
    P->dof = f->dof;
    P->M = f->M;
    P->k = f->k;
    P->J = f->J;
    P->b = f->b;
    P->constraint = f->constraint;
    P->group = f->group;
    if (f->constraints > f->contact_count) {
        const size_t rows = f->contact_count > 0
                                ? (size_t)f->constraint[f->contact_count - 1].row +
                                      (size_t)f->constraint[f->contact_count - 1].rows
                                : 0;
        if (rows > 0) { /* of the contacts: have none */
            memset(f->lower, 0, rows * sizeof *f->lower);
            memset(f->upper, 0, rows * sizeof *f->upper);
            memset(f->compliance, 0, rows * sizeof *f->compliance);
        }
        P->lower = f->lower;
        P->upper = f->upper;
        P->compliance = f->compliance;
    }
}

/* The gaps are those at the end already: with the velocities that lead there, u_n must equal gap
 * / h + drift. */
static void correct_b_of_contacts(perpi_formulation* f, const perpi_step_input* in)
{
    const size_t stride = (size_t)perpi_v_stride(in->model);
    for (int32_t i = 0; i < f->contact_count; ++i) {
        const perp_contact* contact = &in->contact[i];
        const int32_t body[2] = {contact->body_a, contact->body_b};
        const perp_constraint* c = &f->constraint[i];
        const double* J = f->J + c->jac;
        double speed = 0.0;
        for (int side = 0; side < 2; ++side) {
            const int32_t block = c->block[side];
            const double* v = in->v_end + (size_t)body[side] * stride;
            const int32_t n = block >= 0 ? f->dof[block + 1] - f->dof[block] : 0;
            for (int32_t k = 0; k < n; ++k) {
                speed += J[k] * v[k];
            }
            J += (size_t)c->rows * (size_t)n;
        }
        f->b[c->row] = contact->gap / in->h + contact->drift[0] - speed;
    }
}

/* k_error and b_error: forces of explicit springs and gaps at the end of the step are
 * differences of rounded poses. */
static perp_status write_rounding(perpi_formulation* f, const perpi_step_input* in, bool geometry)
{
    const perp_model* model = in->model;
    const size_t dofs = (size_t)f->problem.dof_count, rows = (size_t)f->rows;
    const size_t wrenches = 6 * model->body_count;
    const perp_status status = perpi_grow(f->context, &f->rounding, &f->rounding_capacity,
                                          dofs + wrenches, sizeof *f->rounding);
    if (status != PERP_OK) {
        return status;
    }
    double *k = f->rounding, *b = f->b_error, *wrench = k + dofs;
    memset(f->rounding, 0, (dofs + wrenches) * sizeof *f->rounding);
    if (rows > 0) {
        memset(b, 0, rows * sizeof *b);
    }
    perpi_add_spring_errors(model, f->end, wrench);
    for (size_t i = 0; i < model->body_count; ++i) {
        const int32_t n = model->body[i].dofs;
        for (int32_t a = 0; a < n; ++a) { /* planar: x, y, angle */
            const int32_t from = model->dimension == 2 && a == 2 ? 5 : a;
            k[f->dof[f->block_of[i]] + a] = f->theta * in->h * wrench[6 * i + (size_t)from];
        }
    }
    for (int32_t i = 0; geometry && i < f->contact_count; ++i) {
        const perp_contact* c = &in->contact[i];
        const double size = v3_norm(f->end[c->body_a].x) + v3_norm(f->end[c->body_b].x) +
                            v3_norm(v3_from(c->point));
        b[f->constraint[i].row] = PERPI_POSE_ROUNDING * size / in->h;
    }
    f->problem.k_error = k;
    f->problem.b_error = b;
    return PERP_OK;
}

/* Of a length that a joint computes from the poses of its bodies. */
static double joint_rounding(const perpi_formulation* f, const perp_model* model, int32_t k)
{
    const int32_t* body = model->joint[f->place[k].joint].body;
    double size = 0.0;
    for (int side = 0; side < 2; ++side) {
        size += body[side] >= 0 ? v3_norm(f->pose[body[side]].x) : 0.0;
    }
    return PERPI_POSE_ROUNDING * size;
}

/* Middle steps: k_error, written by perpi_formulation_round_arms. */
static perp_status reserve_rounding(perpi_formulation* f)
{
    const size_t dofs = (size_t)f->problem.dof_count;
    const perp_status status =
        perpi_grow(f->context, &f->rounding, &f->rounding_capacity, dofs, sizeof *f->rounding);
    if (status == PERP_OK) {
        memset(f->rounding, 0, dofs * sizeof *f->rounding);
        f->problem.k_error = f->rounding;
    }
    return status;
}

void perpi_formulation_round_arms(perpi_formulation* f, const perp_model* model, const double* p)
{
    const int32_t linear = model->dimension;
    memset(f->rounding, 0, (size_t)f->problem.dof_count * sizeof *f->rounding);
    for (int32_t k = 0; k < f->joint_count; ++k) {
        const perp_constraint* c = &f->constraint[f->contact_count + k];
        double impulse = 0.0;
        for (int32_t i = c->row; i < c->row + c->rows; ++i) {
            impulse += fabs(p[i]);
        }
        for (int side = 0; side < 2; ++side) {
            const int32_t block = c->block[side];
            for (int32_t i = block >= 0 ? f->dof[block] + linear : 0;
                 block >= 0 && i < f->dof[block + 1]; ++i) {
                f->rounding[i] += joint_rounding(f, model, k) * impulse;
            }
        }
    }
}

perp_status perpi_formulate_at_end(perpi_formulation* f, const perpi_step_input* in,
                                   perpi_evaluation asked)
{
    const perp_model* model = in->model;
    /* forces and inertia of the middle: those of the end of the half step f->theta h */
    const perpi_evaluation evaluation = in->middle ? PERPI_EVALUATE_FORCES : asked;
    const bool geometry = evaluation == PERPI_EVALUATE_GEOMETRY;
    f->h = in->h;
    f->theta = in->middle ? 0.5 : perpi_step_theta(in);
    f->middle = in->middle;
    f->again = in->again;
    f->rolls = in->rolls;
    f->part = in->middle ? in->part : NULL;
    f->start_v = evaluation == PERPI_EVALUATE_REST ? NULL : in->v;
    perp_status status = write_bodies(f, PERPI_PURPOSE_STEP, evaluation, in);
    const bool layers = perpi_have_layers(in);
    if (status == PERP_OK && layers) {
        status = perpi_layers_place(f, in);
    }
    if (status == PERP_OK) {
        const double h_gap = in->settings->no_gap ? 0.0 : in->h;
        status = write_contacts(f, model, geometry || in->rolls ? f->end : f->pose, h_gap,
                                in->contact, in->contact_count);
    }
    if (status == PERP_OK && geometry) {
        correct_b_of_contacts(f, in);
    }
    if (status == PERP_OK && has_groups(in->contact, in->contact_count)) {
        status = write_groups(f, in->contact, in->contact_count);
    }
    if (status == PERP_OK && model->joint_count > 0) {
        status = perpi_formulate_joints(f, model, PERPI_PURPOSE_STEP, in->t, in->h, in->q,
                                        in->middle ? in->q_end : NULL, in->joint);
    }
    if (status == PERP_OK && model->support_points > 0) {
        status = perpi_formulate_supports(f, in);
    }
    if (status == PERP_OK && layers) {
        status = perpi_formulate_layers(f, in);
    }
    if (status == PERP_OK && (model->spring_count > 0 || model->controller_count > 0)) {
        status = perpi_formulate_forces(f, model, in->t, in->h, in->q, in->joint, in->s);
    }
    if (status == PERP_OK && f->layer_count > 0) {
        status = perpi_ties_transfer(f, model, in->contact);
    }
    if (status == PERP_OK && evaluation != PERPI_EVALUATE_START) {
        status = in->middle ? reserve_rounding(f) : write_rounding(f, in, geometry);
    }
    if (status == PERP_OK) {
        seal(f);
    }
    return status;
}

perp_status perpi_formulate(perpi_formulation* f, const perpi_step_input* in)
{
    return perpi_formulate_at_end(f, in, PERPI_EVALUATE_START);
}

perp_status perpi_formulate_at_rest(perpi_formulation* f, const perpi_step_input* in)
{
    return perpi_formulate_at_end(f, in, PERPI_EVALUATE_REST);
}

perp_status perpi_formulate_other(perpi_formulation* f, const perp_model* model,
                                  perpi_purpose purpose, double h, const perpi_placed* at)
{
    const double *q = at->q, *v = at->v;
    const perp_contact* contacts = at->contact;
    const int32_t count = at->contact_count;
    const perpi_joint_input* joints = at->joint;
    PERP_ASSERT(purpose != PERPI_PURPOSE_STEP);
    const perpi_step_input in = {.model = model, .h = h, .q = q, .v = v};
    f->middle = f->rolls = f->again = false;
    f->part = NULL;
    f->start_v = purpose == PERPI_PURPOSE_IMPACT ? v : NULL;
    perp_status status = write_bodies(f, purpose, PERPI_EVALUATE_START, &in);
    if (status == PERP_OK) {
        const double h_gap = purpose == PERPI_PURPOSE_IMPACT ? 0.0 : h;
        status = write_contacts(f, model, f->pose, h_gap, contacts, count);
    }
    if (status == PERP_OK && has_groups(contacts, count)) {
        status = write_groups(f, contacts, count);
    }
    if (status == PERP_OK && model->joint_count > 0) {
        status = perpi_formulate_joints(f, model, purpose, 0.0, h, q, NULL, joints);
    }
    if (status == PERP_OK) {
        seal(f);
    }
    return status;
}

/* The velocities of a body; sizes that are known need no call. */
static inline void copy_velocities(int32_t n, const double* from, double* to)
{
    if (n == 6) {
        memcpy(to, from, 6 * sizeof *to);
    } else {
        memcpy(to, from, (size_t)n * sizeof *to);
    }
}

static inline void copy_rows(int32_t n, const double* from, double* to)
{
    if (n == 3) {
        memcpy(to, from, 3 * sizeof *to);
    } else {
        memcpy(to, from, (size_t)n * sizeof *to);
    }
}

void perpi_formulation_gather_v(const perpi_formulation* f, const perp_model* model,
                                const double* v_flat, double* v_problem)
{
    const size_t stride = (size_t)perpi_v_stride(model);
    for (size_t i = 0; i < model->body_count; ++i) {
        if (f->block_of[i] >= 0) {
            copy_velocities(model->body[i].dofs, v_flat + i * stride,
                            v_problem + f->dof[f->block_of[i]]);
        }
    }
    for (int32_t i = f->body_dofs; i < f->problem.dof_count; ++i) {
        v_problem[i] = 0.0; /* the plane of the supports does not move */
    }
    perpi_gears_gather(f, v_problem);
}

void perpi_formulation_scatter_v(const perpi_formulation* f, const perp_model* model,
                                 const double* v_problem, double* v_flat)
{
    const size_t stride = (size_t)perpi_v_stride(model);
    for (size_t i = 0; i < model->body_count; ++i) {
        if (f->block_of[i] >= 0) {
            copy_velocities(model->body[i].dofs, v_problem + f->dof[f->block_of[i]],
                            v_flat + i * stride);
        }
    }
}

void perpi_formulation_gather_p(const perpi_formulation* f, const perp_contact* contacts, double* p)
{
    for (int32_t i = 0; i < f->contact_count; ++i) {
        const perp_constraint* c = &f->constraint[i];
        copy_rows(c->rows, contacts[i].impulse, p + c->row);
        const double theta = f->rolls ? perpi_contact_theta(f, &contacts[i]) : 1.0;
        for (int32_t k = c->row; f->rolls && k < c->row + c->rows; ++k) {
            p[k] *= theta; /* impulses of contacts are those of the whole step */
        }
    }
}

void perpi_formulation_scatter_p(const perpi_formulation* f, const double* p,
                                 perp_contact* contacts)
{
    for (int32_t i = 0; i < f->contact_count; ++i) {
        const perp_constraint* c = &f->constraint[i];
        memset(contacts[i].impulse, 0, sizeof contacts[i].impulse);
        copy_rows(c->rows, p + c->row, contacts[i].impulse);
        const double theta = f->rolls ? perpi_contact_theta(f, &contacts[i]) : 1.0;
        for (int32_t k = 0; f->rolls && k < c->rows; ++k) {
            contacts[i].impulse[k] /= theta;
        }
    }
}

double perpi_formulation_speed(const perpi_formulation* f, int32_t constraint, int32_t row,
                               const double* v)
{
    const perp_constraint* c = &f->constraint[constraint];
    const double* J = f->J + c->jac;
    double u = 0.0;
    for (int side = 0; side < 2; ++side) {
        const int32_t block = c->block[side];
        if (block < 0) {
            continue;
        }
        const int32_t n = f->dof[block + 1] - f->dof[block];
        const double* J_row = J + (size_t)row * (size_t)n;
        for (int32_t i = 0; i < n; ++i) {
            u += J_row[i] * v[f->dof[block] + i];
        }
        J += (size_t)c->rows * (size_t)n;
    }
    return u;
}
